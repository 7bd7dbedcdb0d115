//! NodeUnschedulable: a cordoned node takes no new pods, except those that tolerate the taint that stands for it.

use crate::api::placement::{Taint, tolerated};
use crate::scheduler::framework::{
    ClusterEvent, Code, Cycle, EventKind, Hint, NodeFilter, Plugin, PreFilter, Rejection,
};
use crate::scheduler::node::NodeInfo;
use crate::scheduler::pod::PodInfo;

#[derive(Debug)]
pub struct NodeUnschedulable;

fn tolerates(pod: &PodInfo) -> bool {
    let taint = Taint { key: "node.kubernetes.io/unschedulable".into(), value: "".into(), effect: "NoSchedule".into() };
    tolerated(&pod.rules.tolerations, &taint)
}

impl Plugin for NodeUnschedulable {
    fn name(&self) -> &'static str {
        "NodeUnschedulable"
    }

    fn pre_filter(&self, cycle: &Cycle<'_>) -> PreFilter {
        if !cycle.cache.any_unschedulable() || tolerates(cycle.pod) {
            return PreFilter::Skip;
        }
        PreFilter::Filter(Box::new(Filter))
    }

    fn events(&self) -> &'static [EventKind] {
        &[EventKind::NodeAdd, EventKind::NodeTaint, EventKind::PodToleration]
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent<'_>) -> Hint {
        match event {
            ClusterEvent::NodeAdd(node) => Hint::when(!node.unschedulable),
            ClusterEvent::NodeTaint(old, new) => Hint::when(old.unschedulable && !new.unschedulable),
            ClusterEvent::PodToleration(new) => Hint::when(new.uid == pod.uid && tolerates(new)),
            _ => Hint::Skip,
        }
    }
}

#[derive(Debug)]
struct Filter;

impl NodeFilter for Filter {
    fn filter(&self, node: &NodeInfo) -> Option<Rejection> {
        node.unschedulable.then(|| Rejection::of(Code::Unresolvable, "node(s) were unschedulable"))
    }

    fn boxed(&self) -> Box<dyn NodeFilter> {
        Box::new(Filter)
    }
}
