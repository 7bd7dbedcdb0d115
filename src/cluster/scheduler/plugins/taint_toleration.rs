//! TaintToleration: taints that a pod does not tolerate keep it away, or make a node less welcome.

use std::sync::Arc;

use super::normalize;
use crate::api::placement::{Toleration, repelled, tolerated};
use crate::scheduler::cache::Slot;
use crate::scheduler::framework::{
    ClusterEvent, Code, Cycle, EventKind, Hint, NodeFilter, NodeScore, Plugin, PreFilter, Rejection,
};
use crate::scheduler::node::NodeInfo;
use crate::scheduler::pod::{PodInfo, Rules};

#[derive(Debug)]
pub struct TaintToleration;

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }

    fn weight(&self) -> i64 {
        3
    }

    fn pre_filter(&self, cycle: &Cycle<'_>) -> PreFilter {
        if !cycle.cache.any_tainted() {
            return PreFilter::Skip;
        }
        PreFilter::Filter(Box::new(Filter(cycle.pod.rules.clone())))
    }

    fn pre_score(&self, cycle: &Cycle<'_>, _nodes: &[Slot]) -> Option<Box<dyn NodeScore>> {
        let wishes = cycle.pod.rules.tolerations.iter().filter(|toleration| toleration.may_prefer());
        Some(Box::new(Score(wishes.cloned().collect())))
    }

    fn events(&self) -> &'static [EventKind] {
        &[EventKind::NodeAdd, EventKind::NodeTaint, EventKind::PodToleration]
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent<'_>) -> Hint {
        let kept_away = |node: &NodeInfo| repelled(&pod.rules.tolerations, &node.taints);
        match event {
            ClusterEvent::NodeAdd(node) => Hint::when(!kept_away(node)),
            ClusterEvent::NodeTaint(old, new) => Hint::when(kept_away(old) && !kept_away(new)),
            ClusterEvent::PodToleration(new) => Hint::when(new.uid == pod.uid),
            _ => Hint::Skip,
        }
    }
}

#[derive(Debug)]
struct Filter(Arc<Rules>);

impl NodeFilter for Filter {
    fn filter(&self, node: &NodeInfo) -> Option<Rejection> {
        repelled(&self.0.tolerations, &node.taints)
            .then(|| Rejection::of(Code::Unresolvable, "node(s) had untolerated taint(s)"))
    }

    fn boxed(&self) -> Box<dyn NodeFilter> {
        Box::new(Filter(self.0.clone()))
    }
}

#[derive(Debug)]
struct Score(Vec<Toleration>);

impl NodeScore for Score {
    fn score(&self, node: &NodeInfo) -> i64 {
        let unwelcome =
            node.taints.iter().filter(|taint| taint.effect == "PreferNoSchedule" && !tolerated(&self.0, taint));
        unwelcome.count() as i64
    }

    fn normalize(&self, scores: &mut [i64]) {
        normalize(scores, true);
    }
}
