//! PodTopologySpread: pods of one kind are spread over domains, by their own constraints or by the system's default.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::placement::repelled;
use crate::api::registry::Kind;
use crate::api::selector::{Operator, Requirement, Selector};
use crate::api::store::ObjectKey;
use crate::scheduler::cache::Slot;
use crate::scheduler::framework::{
    ClusterEvent, Code, Cycle, EventKind, Hint, MAX_SCORE, NodeFilter, NodeScore, Plugin, PreFilter, Rejection,
};
use crate::scheduler::node::NodeInfo;
use crate::scheduler::pod::{PodInfo, Rules};
use crate::scheduler::terms::Spread;
use crate::value::{Text, Value};

#[derive(Debug)]
pub struct PodTopologySpread;

const HOSTNAME: &str = "kubernetes.io/hostname";

fn hard(rules: &Rules) -> Vec<Spread> {
    rules.spread.iter().filter(|constraint| constraint.hard).cloned().collect()
}

fn has_all_keys(node: &NodeInfo, constraints: &[Spread]) -> bool {
    constraints.iter().all(|constraint| node.label(&constraint.topology_key).is_some())
}

/// Whether the node's pods are counted for the constraint.
fn included(constraint: &Spread, rules: &Rules, node: &NodeInfo) -> bool {
    let affinity = || rules.node.as_ref().is_none_or(|required| required.matches(&node.name, &node.labels));
    (!constraint.honor_affinity || affinity())
        && (!constraint.honor_taints || !repelled(&rules.tolerations, &node.taints))
}

fn count(node: &NodeInfo, selector: &Selector, namespace: &str) -> i64 {
    if selector.requirements.is_empty() {
        return 0;
    }
    let counted =
        node.pods.iter().filter(|pod| !pod.deleting && *pod.namespace() == *namespace && selector.matches(&pod.labels));
    counted.count() as i64
}

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        "PodTopologySpread"
    }

    fn weight(&self) -> i64 {
        2
    }

    fn local(&self) -> bool {
        false
    }

    fn pre_filter(&self, cycle: &Cycle<'_>) -> PreFilter {
        let constraints = hard(&cycle.pod.rules);
        if constraints.is_empty() {
            return PreFilter::Skip;
        }
        let mut counts = vec![BTreeMap::new(); constraints.len()];
        for slot in cycle.order {
            let node = cycle.cache.node(*slot);
            if !has_all_keys(node, &constraints) {
                continue;
            }
            for (constraint, counts) in constraints.iter().zip(&mut counts) {
                if included(constraint, &cycle.pod.rules, node) {
                    let value = node.label(&constraint.topology_key).map(Value::text).unwrap_or_default();
                    *counts.entry(value).or_insert(0) += count(node, &constraint.selector, cycle.pod.namespace());
                }
            }
        }
        PreFilter::Filter(Box::new(Filter { pod: cycle.pod.clone(), constraints: constraints.into(), counts }))
    }

    fn pre_score(&self, cycle: &Cycle<'_>, nodes: &[Slot]) -> Option<Box<dyn NodeScore>> {
        Score::new(cycle, nodes).map(|score| Box::new(score) as Box<dyn NodeScore>)
    }

    fn events(&self) -> &'static [EventKind] {
        &[
            EventKind::PodAdd,
            EventKind::PodLabel,
            EventKind::PodToleration,
            EventKind::PodDelete,
            EventKind::NodeAdd,
            EventKind::NodeDelete,
            EventKind::NodeLabel,
            EventKind::NodeTaint,
        ]
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent<'_>) -> Hint {
        let constraints = hard(&pod.rules);
        let involved =
            |other: &PodInfo| other.uid == pod.uid || (other.placed() && other.namespace() == pod.namespace());
        let counted = |other: &PodInfo| constraints.iter().any(|constraint| constraint.selector.matches(&other.labels));
        match event {
            ClusterEvent::PodAdd(other) | ClusterEvent::PodDelete(other) => {
                Hint::when(involved(other) && counted(other))
            }
            ClusterEvent::PodToleration(new) => {
                Hint::when(new.uid == pod.uid && constraints.iter().any(|constraint| constraint.honor_taints))
            }
            ClusterEvent::PodLabel(old, new) => {
                let changed = |constraint: &Spread| {
                    constraint.selector.matches(&old.labels) != constraint.selector.matches(&new.labels)
                };
                Hint::when(involved(new) && constraints.iter().any(changed))
            }
            ClusterEvent::NodeAdd(node) | ClusterEvent::NodeDelete(node) => {
                Hint::when(has_all_keys(node, &constraints))
            }
            ClusterEvent::NodeLabel(old, new) | ClusterEvent::NodeTaint(old, new) => {
                let (before, after) = (has_all_keys(old, &constraints), has_all_keys(new, &constraints));
                let moved =
                    |constraint: &Spread| old.label(&constraint.topology_key) != new.label(&constraint.topology_key);
                let changed = constraints.iter().any(moved) || old.taints != new.taints;
                Hint::when(before != after || (after && changed))
            }
            _ => Hint::Skip,
        }
    }
}

/// Pods per domain, one map for each constraint.
type Counts = Vec<BTreeMap<Text, i64>>;

#[derive(Clone, Debug)]
struct Filter {
    pod: Arc<PodInfo>,
    constraints: Arc<[Spread]>,
    counts: Counts,
}

impl Filter {
    fn change(&mut self, pod: &PodInfo, node: &NodeInfo, delta: i64) {
        if pod.namespace() != self.pod.namespace() || !has_all_keys(node, &self.constraints) {
            return;
        }
        for (constraint, counts) in self.constraints.iter().zip(&mut self.counts) {
            if constraint.selector.matches(&pod.labels) && included(constraint, &self.pod.rules, node) {
                let value = node.label(&constraint.topology_key).map(Value::text).unwrap_or_default();
                *counts.entry(value).or_insert(0) += delta;
            }
        }
    }
}

impl NodeFilter for Filter {
    fn filter(&self, node: &NodeInfo) -> Option<Rejection> {
        for (constraint, counts) in self.constraints.iter().zip(&self.counts) {
            let Some(value) = node.label(&constraint.topology_key) else {
                let reason = "node(s) didn't match pod topology spread constraints (missing required label)";
                return Some(Rejection::of(Code::Unresolvable, reason));
            };
            let fewest = if counts.len() < constraint.min_domains {
                0
            } else {
                // Without any domain upstream's minimum is the largest 32-bit number.
                counts.values().copied().min().unwrap_or(i64::from(i32::MAX))
            };
            let own = i64::from(constraint.selector.matches(&self.pod.labels));
            let here = counts.get(value.str()).copied().unwrap_or(0);
            if here + own - fewest > constraint.max_skew {
                let reason = "node(s) didn't match pod topology spread constraints";
                return Some(Rejection::of(Code::Unschedulable, reason));
            }
        }
        None
    }

    fn add_pod(&mut self, pod: &PodInfo, node: &NodeInfo) {
        self.change(pod, node, 1);
    }

    fn remove_pod(&mut self, pod: &PodInfo, node: &NodeInfo) {
        self.change(pod, node, -1);
    }

    fn boxed(&self) -> Box<dyn NodeFilter> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
struct Score {
    namespace: Text,
    constraints: Vec<Spread>,
    counts: Counts,
    weights: Vec<f64>,
    ignored: BTreeSet<Text>,
    nodes: Vec<Text>,
}

impl Score {
    fn new(cycle: &Cycle<'_>, nodes: &[Slot]) -> Option<Score> {
        let rules = &cycle.pod.rules;
        let system = rules.spread.is_empty();
        let constraints: Vec<Spread> = if system {
            default_constraints(cycle)
        } else {
            rules.spread.iter().filter(|constraint| !constraint.hard).cloned().collect()
        };
        if constraints.is_empty() {
            return None;
        }
        let mut counts: Counts = vec![BTreeMap::new(); constraints.len()];
        let mut ignored = BTreeSet::new();
        for slot in nodes {
            let node = cycle.cache.node(*slot);
            if !system && !has_all_keys(node, &constraints) {
                ignored.insert(node.name.clone());
                continue;
            }
            for (constraint, counts) in constraints.iter().zip(&mut counts) {
                if constraint.topology_key != HOSTNAME {
                    let value = node.label(&constraint.topology_key).map(Value::text).unwrap_or_default();
                    counts.entry(value).or_insert(0);
                }
            }
        }
        let weight = |(constraint, counts): (&Spread, &BTreeMap<Text, i64>)| {
            let hosts = constraint.topology_key == HOSTNAME;
            let domains = if hosts { nodes.len() - ignored.len() } else { counts.len() };
            ((domains + 2) as f64).ln()
        };
        let weights = constraints.iter().zip(&counts).map(weight).collect();
        if constraints.iter().any(|constraint| constraint.topology_key != HOSTNAME) {
            Self::tally(cycle, &constraints, &mut counts, system);
        }
        let namespace = cycle.pod.namespace().clone();
        let nodes = nodes.iter().map(|slot| cycle.cache.node(*slot).name.clone()).collect();
        Some(Score { namespace, constraints, counts, weights, ignored, nodes })
    }

    fn tally(cycle: &Cycle<'_>, constraints: &[Spread], counts: &mut Counts, system: bool) {
        for slot in cycle.order {
            let node = cycle.cache.node(*slot);
            if !system && !has_all_keys(node, constraints) {
                continue;
            }
            for (constraint, counts) in constraints.iter().zip(counts.iter_mut()) {
                let value = node.label(&constraint.topology_key).map(Value::str).unwrap_or("");
                if let Some(counted) = counts.get_mut(value)
                    && included(constraint, &cycle.pod.rules, node)
                {
                    *counted += count(node, &constraint.selector, cycle.pod.namespace());
                }
            }
        }
    }
}

impl NodeScore for Score {
    fn score(&self, node: &NodeInfo) -> i64 {
        if self.ignored.contains(&node.name) {
            return 0;
        }
        let mut score = 0.0;
        for (at, constraint) in self.constraints.iter().enumerate() {
            let Some(value) = node.label(&constraint.topology_key) else { continue };
            let counted = if constraint.topology_key == HOSTNAME {
                count(node, &constraint.selector, &self.namespace)
            } else {
                self.counts[at].get(value.str()).copied().unwrap_or(0)
            };
            score += counted as f64 * self.weights[at] + (constraint.max_skew - 1) as f64;
        }
        score.round() as i64
    }

    fn normalize(&self, scores: &mut [i64]) {
        let ignored: Vec<bool> = self.nodes.iter().map(|name| self.ignored.contains(name)).collect();
        let scored = || scores.iter().zip(&ignored).filter(|(_, ignored)| !**ignored).map(|(score, _)| *score);
        let (least, most) = (scored().min().unwrap_or(0), scored().max().unwrap_or(0).max(0));
        for (score, ignored) in scores.iter_mut().zip(&ignored) {
            *score = match (ignored, most) {
                (true, _) => 0,
                (false, 0) => MAX_SCORE,
                (false, most) => MAX_SCORE * (most + least - *score) / most,
            };
        }
    }
}

/// The system's default for pods without constraints of their own that a Service or a ReplicaSet selects.
fn default_constraints(cycle: &Cycle<'_>) -> Vec<Spread> {
    let selector = default_selector(cycle);
    if selector.requirements.is_empty() {
        return Vec::new();
    }
    let soft = |topology_key: &str, max_skew| Spread {
        max_skew,
        topology_key: topology_key.into(),
        hard: false,
        selector: selector.clone(),
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
    };
    vec![soft(HOSTNAME, 3), soft("topology.kubernetes.io/zone", 5)]
}

/// `helper.DefaultSelector`: the labels of all Services that select the pod, and the selector of its ReplicaSet.
fn default_selector(cycle: &Cycle<'_>) -> Selector {
    let mut labels: BTreeMap<Text, Text> = BTreeMap::new();
    for (_, service) in cycle.store.list(Kind::SERVICE, cycle.pod.namespace()) {
        let wanted = service.at(&["spec", "selector"]);
        if !wanted.entries().is_empty() && Selector::of_labels(wanted).matches(&cycle.pod.labels) {
            labels.extend(wanted.entries().iter().map(|(key, value)| (key.clone(), value.text())));
        }
    }
    let equal = |(key, value)| Requirement { key, operator: Operator::In, values: vec![value] };
    let mut selector = Selector::default();
    selector.requirements.extend(labels.into_iter().map(equal));
    if !cycle.pod.replica_set.is_empty() {
        let key = ObjectKey::new(Kind::REPLICA_SET, cycle.pod.namespace().clone(), cycle.pod.replica_set.clone());
        if let Some(set) = cycle.store.get(&key) {
            selector.requirements.extend(Selector::of_object(set.at(&["spec", "selector"])).requirements);
        }
    }
    selector
}
