//! One scheduling cycle: which node a pod gets, or why none.
//!
//! Source: `schedule_one.go`.

use std::sync::Arc;

use super::cache::{Cache, Slot};
use super::diagnosis::Diagnosis;
use super::framework::{Cycle, Framework, NodeFilter, PreFilter, Rejection};
use super::memo::{COLUMNS, Failure, Memo, Memos};
use super::node::NodeInfo;
use super::pod::PodInfo;
use super::queue::Nominator;
use crate::api::store::Store;
use crate::rng;
use crate::time::Ties;

/// With at most this many nodes everything about a decision is kept, else only its outcome.
pub const DETAILED: usize = 64;

/// The filters that have something to check in this cycle, with the index of their plugin.
pub type Filters = Vec<(usize, Box<dyn NodeFilter>)>;

/// What one plugin thought of the nodes that passed.
#[derive(Clone, Debug)]
pub struct Scores {
    /// Index of the plugin.
    pub plugin: usize,
    /// Raw scores, in the order of the nodes.
    pub raw: Vec<i64>,
    /// Normalised scores, before the weight.
    pub normalized: Vec<i64>,
}

/// Where a pod goes.
#[derive(Debug)]
pub struct Choice {
    /// The node.
    pub slot: Slot,
    /// Nodes that passed, in order.
    pub feasible: Vec<Slot>,
    /// The sum of weighted scores of each of them; empty when there was nothing to compare.
    pub totals: Vec<i64>,
    /// What each plugin thought, when details are kept.
    pub scores: Vec<Scores>,
    /// Nodes that were turned down on the way.
    pub rejected: Vec<(Slot, usize, Rejection)>,
}

/// How a cycle ends.
#[derive(Debug)]
pub enum Outcome {
    /// There is no node at all.
    NoNodes,
    /// No node passes; the filters are kept for preemption.
    Unfit(Diagnosis, Filters),
    /// A node was chosen.
    Fit(Choice),
}

/// How many passing nodes are enough (`numFeasibleNodesToFind`).
pub fn feasible_nodes_to_find(nodes: usize) -> usize {
    if nodes < 100 {
        return nodes;
    }
    let percent = (50_usize.saturating_sub(nodes / 125)).max(5);
    (nodes * percent / 100).max(100)
}

/// The state that a cycle leaves to the next, and what it works with.
#[derive(Clone, Debug)]
pub struct Algorithm {
    /// The plugins.
    pub framework: Framework,
    next_start: usize,
    ties: Ties,
    memos: Memos,
}

impl Algorithm {
    /// With these plugins.
    pub fn new(framework: Framework, ties: Ties) -> Algorithm {
        Algorithm { framework, next_start: 0, ties, memos: Memos::default() }
    }

    /// Other plugins from now on.
    pub fn replace(&mut self, framework: Framework) {
        self.framework = framework;
        self.memos = Memos::default();
    }

    /// How an attempt for `pod` is known to fail, because one of its class just failed and nothing has changed since.
    pub fn known_failure(&mut self, pod: &PodInfo, cache: &mut Cache, nominator: &Nominator) -> Option<Failure> {
        let (epoch, dirty) = cache.changes();
        self.memos.forget(epoch, &dirty);
        if nominator.is_empty() { self.memos.failure(pod) } else { None }
    }

    /// Remembers how an attempt failed, where a pod of the same class would fare the same.
    pub fn remember_failure(&mut self, pod: &PodInfo, cache: &Cache, diagnosis: &Diagnosis, failure: Failure) {
        // A pod's labels matter when others rule company out, its uid when there is somebody to evict.
        if diagnosis.local && !cache.any_anti_affinity() && !cache.any_below(pod.priority) {
            self.memos.of(pod).failure = Some(failure);
        }
    }

    /// Finds a node for `pod`.
    pub fn schedule(&mut self, pod: &Arc<PodInfo>, cache: &mut Cache, store: &Store, nominator: &Nominator) -> Outcome {
        let order = cache.order();
        if order.is_empty() {
            return Outcome::NoNodes;
        }
        let (epoch, dirty) = cache.changes();
        self.memos.forget(epoch, &dirty);
        let (order, cache) = (order.as_slice(), &*cache);
        let cycle = Cycle { pod, cache, order, store };
        let mut diagnosis = Diagnosis { nodes: order.len(), ..Diagnosis::default() };

        // 1. PreFilter: every plugin says what it will check.
        let (filters, narrowed) = match self.pre_filter(&cycle, &mut diagnosis) {
            Some(prepared) => prepared,
            None => return Outcome::Unfit(diagnosis, Vec::new()),
        };
        // 2. A nominated node is tried alone.
        let nominated = cache.slot(&pod.nominated).filter(|_| !pod.nominated.is_empty());
        if let Some(slot) = nominated
            && check(&cycle, &filters, nominator, cache.node(slot)).is_none()
        {
            return Outcome::Fit(Choice::only(slot));
        }
        // 3. Filter, from where the last cycle stopped, until enough nodes pass.
        let nodes = narrowed.as_deref().unwrap_or(order);
        let Algorithm { framework, next_start, memos, .. } = self;
        let memo = memos.of(pod);
        let local = nominator.is_empty() && filters.iter().all(|(at, _)| framework.plugins[*at].local());
        let search =
            Search { cycle: &cycle, filters: &filters, nominator, nodes, start: *next_start % nodes.len().max(1) };
        let feasible = if local { search.remembering(memo, &mut diagnosis) } else { search.plainly(&mut diagnosis) };
        *next_start = (*next_start + feasible.len() + diagnosis.turned_down) % order.len();
        diagnosis.local = local;
        if feasible.is_empty() {
            return Outcome::Unfit(diagnosis, filters);
        }
        if feasible.len() == 1 {
            return Outcome::Fit(Choice { rejected: diagnosis.rejected, ..Choice::only(feasible[0]) });
        }
        // 4. Score, normalise, weigh, sum.
        let (totals, scores) = score(framework, &cycle, &feasible, memo);
        // 5. The highest sum wins.
        let slot = feasible[self.best(&cycle, &feasible, &totals)];
        Outcome::Fit(Choice { slot, feasible, totals, scores, rejected: diagnosis.rejected })
    }

    /// The filters of this cycle and, when a plugin leaves only some nodes, those. `None`: a plugin turned the pod down.
    fn pre_filter(&self, cycle: &Cycle<'_>, diagnosis: &mut Diagnosis) -> Option<(Filters, Option<Vec<Slot>>)> {
        let mut filters: Filters = Vec::new();
        let mut narrowed: Option<Vec<Slot>> = None;
        let mut narrowing = Vec::new();
        for (at, plugin) in self.framework.plugins.iter().enumerate() {
            match plugin.pre_filter(cycle) {
                PreFilter::Skip => {}
                PreFilter::Filter(filter) => filters.push((at, filter)),
                PreFilter::Narrow(filter, names) => {
                    filters.push((at, filter));
                    narrowing.push(plugin.name());
                    diagnosis.plugins |= 1 << at;
                    let slots = names.iter().filter_map(|name| cycle.cache.slot(name));
                    let slots = slots.filter(|slot| narrowed.as_ref().is_none_or(|before| before.contains(slot)));
                    narrowed = Some(slots.collect());
                }
                PreFilter::Reject(text) => {
                    diagnosis.pre_filter = Some(text);
                    diagnosis.plugins = 1 << at;
                    return None;
                }
            }
        }
        if !narrowing.is_empty() {
            narrowing.sort_unstable();
            diagnosis.absent = Some(format!("node(s) didn't satisfy plugin(s) [{}]", narrowing.join(" ")));
        }
        Some((filters, narrowed))
    }

    /// Among equals the first that passed, which is what the recordings show; with shuffled ties any of them.
    fn best(&self, cycle: &Cycle<'_>, feasible: &[Slot], totals: &[i64]) -> usize {
        let highest = totals.iter().copied().max().unwrap_or(0);
        let mut equal = totals.iter().enumerate().filter(|(_, total)| **total == highest).map(|(at, _)| at);
        let chosen = match self.ties {
            Ties::InOrder => equal.next(),
            Ties::Shuffled(seed) => {
                let draw = |at: &usize| rng::hash(seed, &[&cycle.pod.uid, &cycle.cache.node(feasible[*at]).name]);
                equal.min_by_key(draw)
            }
        };
        chosen.unwrap_or(0)
    }
}

/// The walk over nodes.
struct Search<'a> {
    cycle: &'a Cycle<'a>,
    filters: &'a Filters,
    nominator: &'a Nominator,
    nodes: &'a [Slot],
    start: usize,
}

impl Search<'_> {
    fn order(&self) -> impl Iterator<Item = Slot> {
        self.nodes[self.start..].iter().chain(&self.nodes[..self.start]).copied()
    }

    /// Passing nodes, each one checked anew.
    fn plainly(&self, diagnosis: &mut Diagnosis) -> Vec<Slot> {
        let enough = feasible_nodes_to_find(self.nodes.len());
        let mut feasible = Vec::with_capacity(enough);
        let mut table = self.cycle.cache.walk();
        for slot in self.order() {
            let Some(node) = table.get(slot as usize) else { continue };
            match check(self.cycle, self.filters, self.nominator, node) {
                None => {
                    feasible.push(slot);
                    if feasible.len() == enough {
                        break;
                    }
                }
                Some((plugin, rejection)) => diagnosis.reject(slot, plugin, rejection),
            }
        }
        feasible
    }

    /// Passing nodes by what is known of them; reasons are only found out when somebody will see them.
    fn remembering(&self, memo: &mut Memo, diagnosis: &mut Diagnosis) -> Vec<Slot> {
        let enough = feasible_nodes_to_find(self.nodes.len());
        let mut feasible = Vec::with_capacity(enough);
        let mut table = self.cycle.cache.walk();
        let mut visited = 0;
        for slot in self.order() {
            visited += 1;
            let fits = memo.verdict(slot).unwrap_or_else(|| {
                let fits = table.get(slot as usize).is_some_and(|node| run(self.filters, node).is_none());
                memo.judge(slot, fits);
                fits
            });
            if fits {
                feasible.push(slot);
                if feasible.len() == enough {
                    break;
                }
            }
        }
        if feasible.is_empty() || self.cycle.order.len() <= DETAILED {
            for slot in self.order().take(visited) {
                if let Some((plugin, rejection)) = table.get(slot as usize).and_then(|node| run(self.filters, node)) {
                    diagnosis.reject(slot, plugin, rejection);
                }
            }
        }
        diagnosis.turned_down = visited - feasible.len();
        feasible
    }
}

/// Weighted sums, and what each plugin thought when details are kept.
fn score(framework: &Framework, cycle: &Cycle<'_>, feasible: &[Slot], memo: &mut Memo) -> (Vec<i64>, Vec<Scores>) {
    let scorers = framework.plugins.iter().enumerate().filter(|(_, plugin)| plugin.weight() > 0);
    let scorers = scorers.filter_map(|(at, plugin)| Some((at, plugin.local(), plugin.pre_score(cycle, feasible)?)));
    let scorers: Vec<_> = scorers.collect();
    let local: Vec<_> =
        scorers.iter().filter(|(_, local, _)| *local).take(COLUMNS).map(|(_, _, scorer)| scorer).collect();
    let mut columns = vec![Vec::with_capacity(feasible.len()); local.len()];
    let mut table = cycle.cache.walk();
    for slot in feasible {
        let scores = memo.scores(*slot, || {
            let mut scores = [0; COLUMNS];
            if let Some(node) = table.get(*slot as usize) {
                for (score, scorer) in scores.iter_mut().zip(&local) {
                    *score = scorer.score(node) as i32;
                }
            }
            scores
        });
        for (column, score) in columns.iter_mut().zip(scores) {
            column.push(i64::from(score));
        }
    }
    let mut columns = columns.into_iter();
    let (mut totals, mut kept) = (vec![0; feasible.len()], Vec::new());
    let detailed = cycle.order.len() <= DETAILED;
    for (at, local, scorer) in &scorers {
        let known = if *local { columns.next() } else { None };
        let mut scores =
            known.unwrap_or_else(|| feasible.iter().map(|slot| scorer.score(cycle.cache.node(*slot))).collect());
        let raw = if detailed { scores.clone() } else { Vec::new() };
        scorer.normalize(&mut scores);
        let weight = framework.plugins[*at].weight();
        for (total, score) in totals.iter_mut().zip(&scores) {
            *total += score * weight;
        }
        if detailed {
            kept.push(Scores { plugin: *at, raw, normalized: scores });
        }
    }
    (totals, kept)
}

impl Choice {
    fn only(slot: Slot) -> Choice {
        Choice { slot, feasible: vec![slot], totals: Vec::new(), scores: Vec::new(), rejected: Vec::new() }
    }
}

/// Whether the pod passes on a node. Pods of at least its priority that are nominated to the node count as if they were
/// there; it must also pass without them, for they may never come.
pub fn check(
    cycle: &Cycle<'_>,
    filters: &Filters,
    nominator: &Nominator,
    node: &NodeInfo,
) -> Option<(usize, Rejection)> {
    let nominated: Vec<Arc<PodInfo>> = nominator.above(&node.name, cycle.pod);
    if !nominated.is_empty() {
        let (mut node, mut filters) = (node.clone(), copy(filters));
        for pod in nominated {
            for (_, filter) in &mut filters {
                filter.add_pod(&pod, &node);
            }
            node.add(pod);
        }
        if let Some(rejected) = run(&filters, &node) {
            return Some(rejected);
        }
    }
    run(filters, node)
}

/// The first rejection of the filters in order.
fn run(filters: &Filters, node: &NodeInfo) -> Option<(usize, Rejection)> {
    filters.iter().find_map(|(plugin, filter)| filter.filter(node).map(|rejection| (*plugin, rejection)))
}

/// A copy to try changes on.
pub fn copy(filters: &Filters) -> Filters {
    filters.iter().map(|(plugin, filter)| (*plugin, filter.boxed())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_at_fewer_of_many_nodes() {
        // The parity table's case S13, and the examples of the reference.
        for (nodes, found) in [(10, 10), (99, 99), (100, 100), (1000, 420), (5000, 500), (6000, 300)] {
            assert_eq!(feasible_nodes_to_find(nodes), found, "{nodes}");
        }
    }
}
