//! NodePorts: two pods cannot take the same port of a node.

use std::sync::Arc;

use crate::scheduler::framework::{
    ClusterEvent, Code, Cycle, EventKind, Hint, NodeFilter, Plugin, PreFilter, Rejection,
};
use crate::scheduler::node::NodeInfo;
use crate::scheduler::pod::{PodInfo, Rules};

#[derive(Debug)]
pub struct NodePorts;

fn conflict(one: &Rules, two: &Rules) -> bool {
    one.ports.iter().any(|port| two.ports.iter().any(|other| port.conflicts(other)))
}

impl Plugin for NodePorts {
    fn name(&self) -> &'static str {
        "NodePorts"
    }

    fn pre_filter(&self, cycle: &Cycle<'_>) -> PreFilter {
        if cycle.pod.rules.ports.is_empty() {
            return PreFilter::Skip;
        }
        PreFilter::Filter(Box::new(Filter(cycle.pod.rules.clone())))
    }

    fn events(&self) -> &'static [EventKind] {
        &[EventKind::PodDelete, EventKind::NodeAdd]
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent<'_>) -> Hint {
        match event {
            ClusterEvent::PodDelete(gone) => Hint::when(gone.placed() && conflict(&pod.rules, &gone.rules)),
            _ => Hint::Queue,
        }
    }
}

#[derive(Debug)]
struct Filter(Arc<Rules>);

impl NodeFilter for Filter {
    fn filter(&self, node: &NodeInfo) -> Option<Rejection> {
        node.pods
            .iter()
            .any(|pod| conflict(&self.0, &pod.rules))
            .then(|| Rejection::of(Code::Unschedulable, "node(s) didn't have free ports for the requested pod ports"))
    }

    fn boxed(&self) -> Box<dyn NodeFilter> {
        Box::new(Filter(self.0.clone()))
    }
}
