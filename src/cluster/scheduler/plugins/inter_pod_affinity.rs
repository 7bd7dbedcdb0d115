//! InterPodAffinity: pods that want or rule out each other's company in a domain.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;

use crate::scheduler::cache::{Cache, Slot};
use crate::scheduler::framework::{
    ClusterEvent, Code, Cycle, EventKind, Hint, MAX_SCORE, NodeFilter, NodeScore, Plugin, PreFilter, Rejection,
};
use crate::scheduler::node::NodeInfo;
use crate::scheduler::pod::PodInfo;
use crate::scheduler::terms::{PodAffinity, PodTerm};
use crate::value::{Text, Value};

#[derive(Debug)]
pub struct InterPodAffinity;

/// How many pods (or how much weight) a domain holds, by label and value.
type Domains = BTreeMap<(Text, Text), i64>;

fn change(domains: &mut Domains, node: &NodeInfo, key: &Text, amount: i64) {
    if let Some(value) = node.label(key) {
        let pair = (key.clone(), value.text());
        let count = domains.entry(pair.clone()).or_insert(0);
        *count += amount;
        if *count == 0 {
            domains.remove(&pair);
        }
    }
}

fn holds(domains: &Domains, node: &NodeInfo, key: &Text) -> bool {
    node.label(key).is_some_and(|value| domains.get(&(key.clone(), value.text())).is_some_and(|count| *count > 0))
}

/// The affinity of a pod; nothing when it has none.
fn affinity(pod: &PodInfo) -> &PodAffinity {
    static NONE: PodAffinity = PodAffinity { required: Vec::new(), anti: Vec::new(), preferred: Vec::new() };
    pod.rules.affinity.as_ref().unwrap_or(&NONE)
}

fn all_match(terms: &[PodTerm], pod: &PodInfo, namespace: &Value) -> bool {
    !terms.is_empty() && terms.iter().all(|term| term.matches(&pod.labels, pod.namespace(), namespace))
}

impl Plugin for InterPodAffinity {
    fn name(&self) -> &'static str {
        "InterPodAffinity"
    }

    fn weight(&self) -> i64 {
        2
    }

    fn local(&self) -> bool {
        false
    }

    fn pre_filter(&self, cycle: &Cycle<'_>) -> PreFilter {
        let own = affinity(cycle.pod);
        let bare = own.required.is_empty() && own.anti.is_empty();
        if bare && !cycle.cache.any_anti_affinity() {
            return PreFilter::Skip;
        }
        let mut filter = Filter {
            pod: cycle.pod.clone(),
            namespaces: Namespaces::of(cycle, bare),
            existing: Domains::new(),
            with: Domains::new(),
            without: Domains::new(),
        };
        for slot in cycle.order {
            let node = cycle.cache.node(*slot);
            if bare && node.with_anti == 0 {
                continue;
            }
            for pod in &node.pods {
                filter.change(pod, node, 1);
            }
        }
        if bare && filter.existing.is_empty() {
            return PreFilter::Skip;
        }
        PreFilter::Filter(Box::new(filter))
    }

    fn pre_score(&self, cycle: &Cycle<'_>, _nodes: &[Slot]) -> Option<Box<dyn NodeScore>> {
        let own = affinity(cycle.pod);
        if own.preferred.is_empty() && !cycle.cache.any_affinity() {
            return None;
        }
        let mut score = Score { domains: BTreeMap::new() };
        for slot in cycle.order {
            let node = cycle.cache.node(*slot);
            if own.preferred.is_empty() && node.with_affinity == 0 {
                continue;
            }
            for pod in &node.pods {
                score.count(cycle, pod, node);
            }
        }
        (!score.domains.is_empty()).then(|| Box::new(score) as Box<dyn NodeScore>)
    }

    fn events(&self) -> &'static [EventKind] {
        &[EventKind::PodAdd, EventKind::PodLabel, EventKind::PodDelete, EventKind::NodeAdd, EventKind::NodeLabel]
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent<'_>) -> Hint {
        let own = affinity(pod);
        // Hints do not look up namespaces (upstream passes no namespace labels here).
        let wanted = |other: &PodInfo| all_match(&own.required, other, &Value::Null);
        let ruled_out = |other: &PodInfo| all_match(&own.anti, other, &Value::Null);
        let value = |node: &NodeInfo, term: &PodTerm| node.label(&term.topology_key).map(Value::text);
        match event {
            ClusterEvent::PodLabel(old, new) => {
                let helps = (!wanted(old) && wanted(new)) || (ruled_out(old) && !ruled_out(new));
                Hint::when(new.uid == pod.uid || (new.placed() && helps))
            }
            ClusterEvent::PodAdd(other) => Hint::when(other.placed() && wanted(other)),
            ClusterEvent::PodDelete(other) => {
                let theirs = all_match(&affinity(other).anti, pod, &Value::Null);
                Hint::when(other.placed() && (ruled_out(other) || theirs))
            }
            ClusterEvent::NodeAdd(node) => {
                Hint::when(!own.anti.is_empty() || own.required.iter().any(|term| value(node, term).is_some()))
            }
            ClusterEvent::NodeLabel(old, new) => {
                let joins = |term: &PodTerm| value(new, term).is_some() && value(old, term) != value(new, term);
                let leaves = |term: &PodTerm| value(old, term).is_some() && value(old, term) != value(new, term);
                Hint::when(own.required.iter().any(joins) || own.anti.iter().any(leaves))
            }
            _ => Hint::Skip,
        }
    }
}

/// Labels of the namespaces that can matter in this cycle.
#[derive(Clone, Debug)]
struct Namespaces {
    own: Value,
    others: OrdMap<Text, Value>,
}

impl Namespaces {
    fn of(cycle: &Cycle<'_>, own_only: bool) -> Namespaces {
        let own = cycle.cache.namespace(cycle.pod.namespace()).clone();
        let others = if own_only { OrdMap::new() } else { cycle.cache.all_namespaces() };
        Namespaces { own, others }
    }

    fn get(&self, name: &str) -> &Value {
        static NULL: Value = Value::Null;
        self.others.get(name).unwrap_or(&NULL)
    }
}

#[derive(Clone, Debug)]
struct Filter {
    pod: Arc<PodInfo>,
    namespaces: Namespaces,
    /// Pods whose own rules keep this pod out.
    existing: Domains,
    /// Pods that this pod wants near.
    with: Domains,
    /// Pods that this pod rules out.
    without: Domains,
}

impl Filter {
    fn change(&mut self, other: &PodInfo, node: &NodeInfo, amount: i64) {
        for term in &affinity(other).anti {
            if term.matches(&self.pod.labels, self.pod.namespace(), &self.namespaces.own) {
                change(&mut self.existing, node, &term.topology_key, amount);
            }
        }
        let own = affinity(&self.pod);
        let namespace = self.namespaces.get(other.namespace());
        if all_match(&own.required, other, namespace) {
            for term in &own.required {
                change(&mut self.with, node, &term.topology_key, amount);
            }
        }
        for term in &own.anti {
            if term.matches(&other.labels, other.namespace(), namespace) {
                change(&mut self.without, node, &term.topology_key, amount);
            }
        }
    }

    fn has_company(&self, node: &NodeInfo) -> bool {
        let terms = &affinity(&self.pod).required;
        if terms.iter().any(|term| node.label(&term.topology_key).is_none()) {
            return false;
        }
        terms.iter().all(|term| holds(&self.with, node, &term.topology_key))
            // The first of a group that wants its own company may start it.
            || (self.with.is_empty() && all_match(terms, &self.pod, &self.namespaces.own))
    }
}

impl NodeFilter for Filter {
    fn filter(&self, node: &NodeInfo) -> Option<Rejection> {
        if !self.has_company(node) {
            return Some(Rejection::of(Code::Unresolvable, "node(s) didn't match pod affinity rules"));
        }
        if affinity(&self.pod).anti.iter().any(|term| holds(&self.without, node, &term.topology_key)) {
            return Some(Rejection::of(Code::Unschedulable, "node(s) didn't match pod anti-affinity rules"));
        }
        let kept_out = |((key, value), count): (&(Text, Text), &i64)| {
            *count > 0 && node.label(key).is_some_and(|found| found.str() == value.as_str())
        };
        let reason = "node(s) didn't satisfy existing pods anti-affinity rules";
        let small = self.existing.len() < node.labels.entries().len();
        let out = if small {
            self.existing.iter().any(kept_out)
        } else {
            node.labels.entries().iter().any(|(key, _)| holds(&self.existing, node, key))
        };
        out.then(|| Rejection::of(Code::Unschedulable, reason))
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

/// The weight of each domain, by label.
#[derive(Debug)]
struct Score {
    domains: BTreeMap<Text, BTreeMap<Text, i64>>,
}

/// What a required term of a pod that is there is worth (default `hardPodAffinityWeight`).
const HARD_WEIGHT: i64 = 1;

impl Score {
    fn count(&mut self, cycle: &Cycle<'_>, other: &PodInfo, node: &NodeInfo) {
        let cache: &Cache = cycle.cache;
        let pod = cycle.pod;
        for term in &affinity(pod).preferred {
            if term.matches(&other.labels, other.namespace(), cache.namespace(other.namespace())) {
                self.weigh(node, &term.topology_key, term.weight);
            }
        }
        let theirs = affinity(other);
        let required = theirs.required.iter().map(|term| (term, HARD_WEIGHT));
        let namespace = cache.namespace(pod.namespace());
        for (term, weight) in required.chain(theirs.preferred.iter().map(|term| (term, term.weight))) {
            if term.matches(&pod.labels, pod.namespace(), namespace) {
                self.weigh(node, &term.topology_key, weight);
            }
        }
    }

    fn weigh(&mut self, node: &NodeInfo, key: &Text, weight: i64) {
        if let Some(value) = node.label(key) {
            *self.domains.entry(key.clone()).or_default().entry(value.text()).or_insert(0) += weight;
        }
    }
}

impl NodeScore for Score {
    fn score(&self, node: &NodeInfo) -> i64 {
        let weight = |(key, weights): (&Text, &BTreeMap<Text, i64>)| weights.get(node.label(key)?.str()).copied();
        self.domains.iter().filter_map(weight).sum()
    }

    fn normalize(&self, scores: &mut [i64]) {
        let (least, most) = (scores.iter().copied().min().unwrap_or(0), scores.iter().copied().max().unwrap_or(0));
        let range = most - least;
        for score in scores {
            *score = match range {
                0 => 0,
                _ => (MAX_SCORE as f64 * ((*score - least) as f64 / range as f64)) as i64,
            };
        }
    }
}
