//! ImageLocality: nodes that have the pod's images already are a little better.

use std::sync::Arc;

use crate::scheduler::cache::Slot;
use crate::scheduler::framework::{Cycle, MAX_SCORE, NodeScore, Plugin};
use crate::scheduler::node::NodeInfo;
use crate::scheduler::pod::Rules;

#[derive(Debug)]
pub struct ImageLocality;

const MB: i64 = 1024 * 1024;
/// Less than this in bytes counts as nothing.
const LEAST: i64 = 23 * MB;
/// More than this in bytes per container counts as this.
const MOST: i64 = 1000 * MB;

impl Plugin for ImageLocality {
    fn name(&self) -> &'static str {
        "ImageLocality"
    }

    fn weight(&self) -> i64 {
        1
    }

    fn pre_score(&self, cycle: &Cycle<'_>, _nodes: &[Slot]) -> Option<Box<dyn NodeScore>> {
        let rules = &cycle.pod.rules;
        let spread = |image| cycle.cache.image_nodes(image).map_or(0.0, f64::from) / cycle.cache.len() as f64;
        let spread: Vec<f64> = rules.images.iter().map(|image| spread(image)).collect();
        // No image is anywhere: every node gets 0, as it would without this plugin.
        if spread.iter().all(|share| *share == 0.0) {
            return None;
        }
        Some(Box::new(Score { rules: rules.clone(), spread }))
    }
}

#[derive(Debug)]
struct Score {
    rules: Arc<Rules>,
    spread: Vec<f64>,
}

impl NodeScore for Score {
    fn score(&self, node: &NodeInfo) -> i64 {
        let size = |image| node.images.iter().find(|(name, _)| name == image).map_or(0, |(_, size)| *size);
        let shares = self.rules.images.iter().zip(&self.spread);
        let sum: i64 = shares.map(|(image, share)| (size(image) as f64 * share) as i64).sum();
        let most = MOST * self.rules.containers;
        MAX_SCORE * (sum.clamp(LEAST, most.max(LEAST)) - LEAST) / (most - LEAST).max(1)
    }
}
