//! NodeName: a pod that names its node fits there only. Such pods never reach the queue; the rule stands for pods that
//! are tried by others.

use crate::scheduler::framework::{Code, Cycle, EventKind, NodeFilter, Plugin, PreFilter, Rejection};
use crate::scheduler::node::NodeInfo;
use crate::value::Text;

#[derive(Debug)]
pub struct NodeName;

impl Plugin for NodeName {
    fn name(&self) -> &'static str {
        "NodeName"
    }

    fn pre_filter(&self, cycle: &Cycle<'_>) -> PreFilter {
        if cycle.pod.node.is_empty() {
            return PreFilter::Skip;
        }
        PreFilter::Filter(Box::new(Filter(cycle.pod.node.clone())))
    }

    fn events(&self) -> &'static [EventKind] {
        &[EventKind::NodeAdd]
    }
}

#[derive(Debug)]
struct Filter(Text);

impl NodeFilter for Filter {
    fn filter(&self, node: &NodeInfo) -> Option<Rejection> {
        (node.name != self.0).then(|| Rejection::of(Code::Unresolvable, "node(s) didn't match the requested node name"))
    }

    fn boxed(&self) -> Box<dyn NodeFilter> {
        Box::new(Filter(self.0.clone()))
    }
}
