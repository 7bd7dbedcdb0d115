//! DefaultPreemption: which pods of lower priority would have to go so that a pod fits.
//!
//! Source: `framework/preemption/preemption.go`, `framework/plugins/defaultpreemption/default_preemption.go`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::cache::Slot;
use super::cycle::{Filters, check, copy};
use super::diagnosis::{Diagnosis, available};
use super::framework::{Code, Cycle, Rejection};
use super::node::NodeInfo;
use super::pod::PodInfo;
use super::queue::Nominator;
use crate::api::registry::Kind;
use crate::api::selector::Selector;
use crate::time::VirtualTime;
use crate::value::Text;

/// `minCandidateNodesPercentage`.
const PERCENT: usize = 10;
/// `minCandidateNodesAbsolute`.
const ABSOLUTE: usize = 100;

/// What comes of it.
#[derive(Debug)]
pub enum Preemption {
    /// These pods go, then the pod may fit on the node.
    Evict(Candidate),
    /// Nothing can be done; why. Whether a nomination the pod holds is given up.
    Nothing {
        /// The text after `preemption: `.
        why: String,
        /// The nomination is given up.
        clear: bool,
    },
}

/// A node and the pods that would go from it.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The node.
    pub slot: Slot,
    /// The pods, most important first.
    pub victims: Vec<Arc<PodInfo>>,
    /// How many of them a disruption budget protects.
    violations: usize,
}

/// A PodDisruptionBudget, as far as victims are concerned.
struct Budget {
    namespace: Text,
    selector: Selector,
    allowed: i64,
    disrupted: Vec<Text>,
}

/// Looks for pods to evict for the pod of this cycle.
pub fn preempt(cycle: &Cycle<'_>, filters: &Filters, diagnosis: &Diagnosis, nominator: &Nominator) -> Preemption {
    if let Some(why) = ineligible(cycle, diagnosis) {
        return Preemption::Nothing { why: why.into(), clear: false };
    }
    let potential: Vec<Slot> = diagnosis.preemptable().collect();
    let trials = dry_run(cycle, filters, nominator, &potential);
    if let Some(best) = select(trials.candidates) {
        return Preemption::Evict(best);
    }
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = |reason: String, count| *reasons.entry(reason).or_insert(0) += count;
    for reason in trials.rejections.iter().flat_map(Rejection::reasons) {
        count(reason.text(&cycle.cache.resources), 1);
    }
    let tried = trials.rejections.len() + trials.without_victims;
    if trials.without_victims > 0 {
        count("No preemption victims found for incoming pod".into(), trials.without_victims);
    }
    if tried < diagnosis.nodes {
        count("Preemption is not helpful for scheduling".into(), diagnosis.nodes - tried);
    }
    Preemption::Nothing { why: available(diagnosis.nodes, reasons), clear: true }
}

fn ineligible(cycle: &Cycle<'_>, diagnosis: &Diagnosis) -> Option<&'static str> {
    if cycle.pod.rules.never_preempts {
        return Some("not eligible due to preemptionPolicy=Never.");
    }
    let nominated = cycle.cache.slot(&cycle.pod.nominated)?;
    let rejected = diagnosis.rejected.iter().find(|(slot, _, _)| *slot == nominated);
    if rejected.is_some_and(|(_, _, rejection)| rejection.code == Code::Unresolvable) {
        return None;
    }
    let going = |pod: &Arc<PodInfo>| pod.priority < cycle.pod.priority && pod.deleting && pod.preempted;
    let terminating = cycle.cache.node(nominated).pods.iter().any(going);
    terminating.then_some("not eligible due to a terminating pod on the nominated node.")
}

/// What came of trying nodes.
#[derive(Default)]
struct Trials {
    candidates: Vec<Candidate>,
    /// Where the pod does not fit even without its victims.
    rejections: Vec<Rejection>,
    /// How many nodes have nobody to evict.
    without_victims: usize,
}

/// Tries nodes until there are enough candidates, one of them without a violated budget. Upstream starts at a random
/// node; here it is the first.
fn dry_run(cycle: &Cycle<'_>, filters: &Filters, nominator: &Nominator, potential: &[Slot]) -> Trials {
    let mut trials = Trials::default();
    if !cycle.cache.any_below(cycle.pod.priority) {
        trials.without_victims = potential.len();
        return trials;
    }
    let enough = (potential.len() * PERCENT / 100).max(ABSOLUTE).min(potential.len());
    let budgets = budgets(cycle);
    for slot in potential {
        let node = cycle.cache.node(*slot);
        if node.pods.iter().all(|pod| pod.priority >= cycle.pod.priority) {
            trials.without_victims += 1;
            continue;
        }
        match Trial::new(cycle, filters, nominator, node).victims(&budgets) {
            Ok((victims, violations)) => trials.candidates.push(Candidate { slot: *slot, victims, violations }),
            Err(rejection) => trials.rejections.push(rejection),
        }
        let candidates = &trials.candidates;
        if candidates.len() >= enough && candidates.iter().any(|candidate| candidate.violations == 0) {
            break;
        }
    }
    trials
}

/// A node on which pods are taken away and put back.
struct Trial<'a> {
    cycle: &'a Cycle<'a>,
    nominator: &'a Nominator,
    node: NodeInfo,
    filters: Filters,
}

impl<'a> Trial<'a> {
    fn new(cycle: &'a Cycle<'a>, filters: &Filters, nominator: &'a Nominator, node: &NodeInfo) -> Trial<'a> {
        Trial { cycle, nominator, node: node.clone(), filters: copy(filters) }
    }

    fn take(&mut self, pod: &PodInfo) {
        self.node.remove(pod);
        for (_, filter) in &mut self.filters {
            filter.remove_pod(pod, &self.node);
        }
    }

    fn put(&mut self, pod: &Arc<PodInfo>) {
        self.node.add(pod.clone());
        for (_, filter) in &mut self.filters {
            filter.add_pod(pod, &self.node);
        }
    }

    fn rejection(&self) -> Option<Rejection> {
        check(self.cycle, &self.filters, self.nominator, &self.node).map(|(_, rejection)| rejection)
    }

    /// The fewest pods that have to go, those with a budget spared first, then the more important ones.
    fn victims(mut self, budgets: &[Budget]) -> Result<(Vec<Arc<PodInfo>>, usize), Rejection> {
        let priority = self.cycle.pod.priority;
        let mut lower: Vec<Arc<PodInfo>> =
            self.node.pods.iter().filter(|pod| pod.priority < priority).cloned().collect();
        for pod in &lower {
            self.take(pod);
        }
        if let Some(rejection) = self.rejection() {
            return Err(rejection);
        }
        lower.sort_by_key(|pod| importance(pod));
        let (protected, free) = split(lower, budgets);
        let mut victims = Vec::new();
        let mut violations = 0;
        for (pods, violated) in [(protected, 1), (free, 0)] {
            for pod in pods {
                self.put(&pod);
                if self.rejection().is_some() {
                    self.take(&pod);
                    victims.push(pod);
                    violations += violated;
                }
            }
        }
        victims.sort_by_key(|pod| importance(pod));
        Ok((victims, violations))
    }
}

/// More important first: higher priority, then longer running.
fn importance(pod: &PodInfo) -> (Reverse<i64>, VirtualTime) {
    (Reverse(pod.priority), pod.started.unwrap_or(VirtualTime::from_micros(i64::MAX)))
}

fn budgets(cycle: &Cycle<'_>) -> Vec<Budget> {
    let list = cycle.store.list(Kind::POD_DISRUPTION_BUDGET, "");
    let budgets = list.map(|(key, budget)| Budget {
        namespace: key.namespace.clone(),
        selector: Selector::of_object(budget.at(&["spec", "selector"])),
        allowed: budget.at(&["status", "disruptionsAllowed"]).int(),
        disrupted: budget.at(&["status", "disruptedPods"]).entries().iter().map(|(name, _)| name.clone()).collect(),
    });
    budgets.collect()
}

/// Pods whose eviction would violate a budget, and the others. Each pod uses up what its budgets allow.
fn split(pods: Vec<Arc<PodInfo>>, budgets: &[Budget]) -> (Vec<Arc<PodInfo>>, Vec<Arc<PodInfo>>) {
    let mut allowed: Vec<i64> = budgets.iter().map(|budget| budget.allowed).collect();
    pods.into_iter().partition(|pod| {
        let mut violated = false;
        if pod.labels.entries().is_empty() {
            return false;
        }
        for (budget, allowed) in budgets.iter().zip(&mut allowed) {
            // An empty selector protects nothing here, as upstream has it.
            let selects = !budget.selector.requirements.is_empty() && budget.selector.matches(&pod.labels);
            if budget.namespace != *pod.namespace() || !selects || budget.disrupted.contains(&pod.key.name) {
                continue;
            }
            *allowed -= 1;
            violated |= *allowed < 0;
        }
        violated
    })
}

/// The best candidate: fewest violated budgets, lowest highest priority, smallest sum of priorities, fewest victims,
/// latest start of the most important ones, first.
fn select(candidates: Vec<Candidate>) -> Option<Candidate> {
    let rank = |candidate: &Candidate| {
        let victims = &candidate.victims;
        let highest = victims.first().map_or(i64::MIN, |pod| pod.priority);
        let sum: i64 = victims.iter().map(|pod| pod.priority + (1 << 31)).sum();
        let top = victims.iter().filter(|pod| pod.priority == highest);
        let earliest = top.filter_map(|pod| pod.started).min();
        (candidate.violations, highest, sum, victims.len(), Reverse(earliest))
    };
    candidates.into_iter().min_by_key(rank)
}
