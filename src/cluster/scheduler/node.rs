//! What the scheduler keeps of a node: one line of a table that the cycle walks.

use std::sync::Arc;

use super::amounts::{Amounts, Resources};
use super::pod::PodInfo;
use crate::api::placement::Taint;
use crate::value::{Text, Value};

/// What the scheduler keeps of a node.
#[derive(Clone, Debug, Default)]
pub struct NodeInfo {
    /// `metadata.name`.
    pub name: Text,
    /// `metadata.labels`.
    pub labels: Value,
    /// `spec.taints`.
    pub taints: Arc<[Taint]>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `status.allocatable`; capacity is never looked at.
    pub allocatable: Amounts,
    /// `status.allocatable.pods`.
    pub allowed_pods: i64,
    /// Sum of what its pods ask for.
    pub requested: Amounts,
    /// The same for cpu and memory as they count in scores.
    pub non_zero: [i64; 2],
    /// Its pods, in order of arrival.
    pub pods: Vec<Arc<PodInfo>>,
    /// How many of them have affinity to pods.
    pub with_affinity: u32,
    /// How many of them rule company out.
    pub with_anti: u32,
    /// Images and their sizes in bytes.
    pub images: Arc<[(Text, i64)]>,
    /// Whether the Node object exists; pods may be bound to a name that has none.
    pub present: bool,
}

impl NodeInfo {
    /// Reads a Node object.
    pub fn of(node: &Value, resources: &mut Resources) -> NodeInfo {
        let (allocatable, allowed_pods) = Amounts::of_allocatable(node.at(&["status", "allocatable"]), resources);
        let images = node.at(&["status", "images"]).items().iter().flat_map(|image| {
            let size = image.at(&["sizeBytes"]).int();
            image.at(&["names"]).items().iter().map(move |name| (name.text(), size))
        });
        NodeInfo {
            name: node.at(&["metadata", "name"]).text(),
            labels: node.labels().clone(),
            taints: node.at(&["spec", "taints"]).items().iter().map(Taint::of).collect(),
            unschedulable: node.at(&["spec", "unschedulable"]).is_true(),
            allocatable,
            allowed_pods,
            images: images.collect(),
            present: true,
            ..NodeInfo::default()
        }
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&Value> {
        self.labels.get(key)
    }

    /// Region and zone, the key of the node tree.
    pub fn zone(&self) -> Text {
        let label = |new: &str, old: &str| self.label(new).or(self.label(old)).map(Value::str).unwrap_or("");
        let region = label("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region");
        let zone = label("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone");
        if region.is_empty() && zone.is_empty() { Text::default() } else { Text::from(format!("{region}:\0:{zone}")) }
    }

    /// Adds a pod's share.
    pub fn add(&mut self, pod: Arc<PodInfo>) {
        self.count(&pod, 1);
        self.pods.push(pod);
    }

    /// Takes a pod's share away.
    pub fn remove(&mut self, pod: &PodInfo) {
        if let Some(at) = self.pods.iter().position(|known| known.uid == pod.uid) {
            let known = self.pods.remove(at);
            self.count(&known, -1);
        }
    }

    fn count(&mut self, pod: &PodInfo, sign: i64) {
        self.requested.add(&pod.requests, sign);
        self.non_zero[0] += sign * pod.non_zero[0];
        self.non_zero[1] += sign * pod.non_zero[1];
        if let Some(affinity) = &pod.rules.affinity {
            self.with_affinity = self.with_affinity.wrapping_add_signed(sign as i32);
            if !affinity.anti.is_empty() {
                self.with_anti = self.with_anti.wrapping_add_signed(sign as i32);
            }
        }
    }
}
