//! NodeAffinity: `nodeSelector`, required and preferred node affinity.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::normalize;
use crate::scheduler::cache::Slot;
use crate::scheduler::framework::{
    ClusterEvent, Code, Cycle, EventKind, Hint, NodeFilter, NodeScore, Plugin, PreFilter, Rejection,
};
use crate::scheduler::node::NodeInfo;
use crate::scheduler::pod::{PodInfo, Rules};
use crate::value::Text;

#[derive(Debug)]
pub struct NodeAffinity;

/// Whether a node satisfies what the pod requires of nodes.
fn matches(rules: &Rules, node: &NodeInfo) -> bool {
    rules.node.as_ref().is_none_or(|required| required.matches(&node.name, &node.labels))
}

/// The nodes that every alternative names; none when one leaves the name open.
fn named(rules: &Rules) -> Option<BTreeSet<Text>> {
    let terms = rules.node.as_ref()?.terms.as_ref().filter(|terms| !terms.is_empty())?;
    let mut names = BTreeSet::new();
    for term in terms {
        names.extend(term.names()?);
    }
    Some(names)
}

impl Plugin for NodeAffinity {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }

    fn weight(&self) -> i64 {
        2
    }

    fn pre_filter(&self, cycle: &Cycle<'_>) -> PreFilter {
        let rules = &cycle.pod.rules;
        if rules.node.is_none() {
            return PreFilter::Skip;
        }
        let filter = Box::new(Filter(rules.clone()));
        match named(rules) {
            Some(names) if names.is_empty() => PreFilter::Reject("pod affinity terms conflict".into()),
            Some(names) => PreFilter::Narrow(filter, names),
            None => PreFilter::Filter(filter),
        }
    }

    fn pre_score(&self, cycle: &Cycle<'_>, _nodes: &[Slot]) -> Option<Box<dyn NodeScore>> {
        let rules = &cycle.pod.rules;
        (!rules.preferred_nodes.is_empty()).then(|| Box::new(Score(rules.clone())) as Box<dyn NodeScore>)
    }

    fn events(&self) -> &'static [EventKind] {
        &[EventKind::NodeAdd, EventKind::NodeLabel]
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent<'_>) -> Hint {
        match event {
            ClusterEvent::NodeAdd(node) => Hint::when(matches(&pod.rules, node)),
            ClusterEvent::NodeLabel(old, new) => Hint::when(!matches(&pod.rules, old) && matches(&pod.rules, new)),
            _ => Hint::Skip,
        }
    }
}

#[derive(Debug)]
struct Filter(Arc<Rules>);

impl NodeFilter for Filter {
    fn filter(&self, node: &NodeInfo) -> Option<Rejection> {
        (!matches(&self.0, node))
            .then(|| Rejection::of(Code::Unresolvable, "node(s) didn't match Pod's node affinity/selector"))
    }

    fn boxed(&self) -> Box<dyn NodeFilter> {
        Box::new(Filter(self.0.clone()))
    }
}

#[derive(Debug)]
struct Score(Arc<Rules>);

impl NodeScore for Score {
    fn score(&self, node: &NodeInfo) -> i64 {
        let wishes = self.0.preferred_nodes.iter().filter(|wish| wish.term.matches(&node.name, &node.labels));
        wishes.map(|wish| wish.weight).sum()
    }

    fn normalize(&self, scores: &mut [i64]) {
        normalize(scores, false);
    }
}
