//! The topology manager: which NUMA nodes a container's resources come from, and whether the pod may start.
//!
//! Source: `pkg/kubelet/cm/topologymanager` (policies, hint merging) and `devicemanager/topology_hints.go`.

use imbl::OrdSet;

use super::device_manager::DeviceManager;
use crate::config::TopologyPolicy;
use crate::value::Text;

/// A set of NUMA nodes, bit n for node n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NumaSet(pub u64);

impl NumaSet {
    /// The nodes `0..count`.
    pub fn first(count: usize) -> NumaSet {
        NumaSet(if count >= 64 { u64::MAX } else { (1 << count) - 1 })
    }

    fn count(self) -> u32 {
        self.0.count_ones()
    }

    fn has_any(self, nodes: &[i64]) -> bool {
        nodes.iter().any(|node| (0..64).contains(node) && self.0 & (1 << node) != 0)
    }

    /// The node numbers in it.
    pub fn nodes(self) -> Vec<i64> {
        (0..64).filter(|node| self.0 & (1 << node) != 0).collect()
    }

    /// Fewer nodes, or as many with lower numbers.
    fn is_narrower_than(self, other: NumaSet) -> bool {
        (self.count(), self.0) < (other.count(), other.0)
    }
}

/// One way to serve a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The nodes; none means that any will do.
    pub affinity: Option<NumaSet>,
    /// Whether it is as narrow as the resource allows.
    pub preferred: bool,
}

impl TopologyPolicy {
    /// The merged hint of all resources on a machine with `nodes` NUMA nodes, and whether the container is admitted. Each
    /// resource gives a list of hints: `None` for no opinion, an empty list for no possible affinity.
    pub fn merge(self, nodes: usize, resources: &[Option<Vec<Hint>>]) -> (Hint, bool) {
        let all = NumaSet::first(nodes);
        let mut lists: Vec<Vec<Hint>> = resources
            .iter()
            .map(|hints| match hints {
                None => vec![Hint { affinity: None, preferred: true }],
                Some(hints) if hints.is_empty() => vec![Hint { affinity: None, preferred: false }],
                Some(hints) => hints.clone(),
            })
            .collect();
        if self == TopologyPolicy::None {
            return (Hint { affinity: None, preferred: true }, true);
        }
        if self == TopologyPolicy::SingleNumaNode {
            let single = |hint: &Hint| hint.preferred && hint.affinity.is_none_or(|nodes| nodes.count() == 1);
            lists.iter_mut().for_each(|list| list.retain(single));
        }
        let mut best = best(all, &lists);
        if self == TopologyPolicy::SingleNumaNode && best.affinity == Some(all) {
            best.affinity = None;
        }
        (best, self == TopologyPolicy::BestEffort || best.preferred)
    }
}

fn best(all: NumaSet, lists: &[Vec<Hint>]) -> Hint {
    let narrowest = |list: &Vec<Hint>| list.iter().filter_map(|hint| hint.affinity).map(NumaSet::count).min();
    let attainable = lists.iter().map(|list| narrowest(list).unwrap_or(all.count())).max().unwrap_or(0);
    let mut best: Option<Hint> = None;
    let mut at = vec![0; lists.len()];
    if lists.iter().all(|list| !list.is_empty()) {
        loop {
            let chosen: Vec<Hint> = at.iter().zip(lists).map(|(at, list)| list[*at]).collect();
            best = better(best, combine(all, &chosen), attainable);
            // The next combination, last list fastest.
            let Some(turn) = (0..at.len()).rev().find(|list| at[*list] + 1 < lists[*list].len()) else { break };
            at[turn] += 1;
            at[turn + 1..].fill(0);
        }
    }
    best.unwrap_or(Hint { affinity: Some(all), preferred: false })
}

fn combine(all: NumaSet, hints: &[Hint]) -> Hint {
    let sets: Vec<NumaSet> = hints.iter().filter_map(|hint| hint.affinity).collect();
    let merged = sets.iter().fold(all, |merged, set| NumaSet(merged.0 & set.0));
    let equal = sets.iter().all(|set| *set == sets[0]);
    Hint { affinity: Some(merged), preferred: equal && hints.iter().all(|hint| hint.preferred) }
}

/// The better of two merged hints. `attainable` is the narrowest width that every resource could agree on.
fn better(current: Option<Hint>, candidate: Hint, attainable: u32) -> Option<Hint> {
    let new = candidate.affinity.filter(|set| set.count() > 0);
    let Some(new) = new else { return current };
    let Some((current, old)) = current.and_then(|current| current.affinity.map(|old| (current, old))) else {
        return Some(candidate);
    };
    let take = match (current.preferred, candidate.preferred) {
        (false, true) => true,
        (true, false) => false,
        (true, true) => new.is_narrower_than(old),
        (false, false) => match old.count().cmp(&attainable) {
            std::cmp::Ordering::Greater => new.is_narrower_than(old),
            std::cmp::Ordering::Equal => new.count() == attainable && new.is_narrower_than(old),
            std::cmp::Ordering::Less => {
                let (new_count, old_count) = (new.count(), old.count());
                new_count <= attainable
                    && (new_count == attainable
                        || new_count > old_count
                        || (new_count == old_count && new.is_narrower_than(old)))
            }
        },
    };
    Some(if take { candidate } else { current })
}

impl DeviceManager {
    /// The hints of one resource for a container that wants `count` devices, on a machine with `nodes` NUMA nodes.
    /// `held` are the devices it has already, `reusable` those of the pod's finished init containers.
    pub fn hints(
        &self,
        resource: &str,
        count: usize,
        nodes: usize,
        held: Option<&OrdSet<Text>>,
        reusable: &OrdSet<Text>,
    ) -> Option<Vec<Hint>> {
        if !self.has_topology(resource) {
            return None;
        }
        match held {
            Some(held) if held.len() != count => Some(Vec::new()),
            Some(held) => Some(self.device_hints(resource, count, nodes, held, &OrdSet::new())),
            None => {
                let free = self.free(resource);
                if free.clone().union(reusable.clone()).len() < count {
                    return Some(Vec::new());
                }
                Some(self.device_hints(resource, count, nodes, &free, reusable))
            }
        }
    }

    fn device_hints(
        &self,
        resource: &str,
        count: usize,
        nodes: usize,
        available: &OrdSet<Text>,
        reusable: &OrdSet<Text>,
    ) -> Vec<Hint> {
        let numa = |id: &Text| self.numa_of(resource, id);
        let touches = |set: NumaSet, id: &Text| set.has_any(numa(id));
        let mut sets: Vec<NumaSet> = (1..=NumaSet::first(nodes.min(8)).0).map(NumaSet).collect();
        sets.sort_by_key(|set| (set.count(), set.0));
        let everything = self.ids(resource);
        let could = |set: &NumaSet| everything.iter().filter(|id| touches(*set, id)).count() >= count;
        let narrowest = sets.iter().find(|set| could(set)).map_or(nodes as u32, |set| set.count());
        let fits = |set: &NumaSet| {
            let placed = |id: &&Text| !numa(id).is_empty();
            let inside = reusable.iter().filter(placed).all(|id| touches(*set, id));
            let reused = reusable.iter().filter(placed).count();
            let free = available.iter().filter(|id| !reusable.contains(*id) && touches(*set, id)).count();
            inside && reused + free >= count
        };
        let hint = |set: NumaSet| Hint { affinity: Some(set), preferred: set.count() == narrowest };
        sets.into_iter().filter(fits).map(hint).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::device_manager::{Holder, Need};
    use super::*;
    use crate::plugins::{PluginDevice, PluginOptions};

    const GPU: &str = "example.com/gpu";

    fn two_and_two() -> DeviceManager {
        let mut manager = DeviceManager::default();
        manager.register(GPU, PluginOptions::default());
        let on = |id: &str, node| PluginDevice { id: id.into(), healthy: true, numa: vec![node] };
        manager.list(GPU, &[on("a", 0), on("b", 0), on("c", 1), on("d", 1)]);
        manager
    }

    #[test]
    fn s22_three_of_two_and_two_do_not_fit_one_numa_node() {
        let manager = two_and_two();
        let hints = |count| vec![manager.hints(GPU, count, 2, None, &OrdSet::new())];
        assert_eq!(hints(3)[0].as_ref().map(Vec::len), Some(1));
        assert!(!TopologyPolicy::SingleNumaNode.merge(2, &hints(3)).1);
        // Two nodes are the narrowest that three devices can have, so restricted admits them.
        assert!(TopologyPolicy::Restricted.merge(2, &hints(3)).1);
        assert!(TopologyPolicy::BestEffort.merge(2, &hints(3)).1);
        let (hint, admitted) = TopologyPolicy::SingleNumaNode.merge(2, &hints(2));
        assert_eq!((hint.affinity, admitted), (Some(NumaSet(0b01)), true));
    }

    #[test]
    fn restricted_refuses_what_would_have_fitted_on_an_empty_machine() {
        let mut manager = two_and_two();
        for (pod, hint) in [("p", 0), ("q", 1)] {
            let holder = Holder { pod: pod.into(), container: "c".into(), resource: GPU.into() };
            match manager.need(&holder, 1, Some(&[hint]), |_| true) {
                Ok(Need::Choose(candidates)) => {
                    manager.grant(&holder, &candidates.choose(&[], 0), crate::Value::Null, false)
                }
                other => panic!("{other:?}"),
            }
        }
        let hints = vec![manager.hints(GPU, 2, 2, None, &OrdSet::new())];
        assert!(!TopologyPolicy::Restricted.merge(2, &hints).1);
        let (hint, admitted) = TopologyPolicy::BestEffort.merge(2, &hints);
        assert_eq!((hint.affinity, admitted), (Some(NumaSet(0b11)), true));
    }

    #[test]
    fn resources_have_to_agree() {
        let on = |set, preferred| Hint { affinity: Some(NumaSet(set)), preferred };
        let gpu = Some(vec![on(0b10, true), on(0b11, false)]);
        let nic = Some(vec![on(0b01, true), on(0b11, false)]);
        let (hint, admitted) = TopologyPolicy::Restricted.merge(2, &[gpu.clone(), nic]);
        assert!(!admitted && !hint.preferred);
        let (hint, admitted) = TopologyPolicy::SingleNumaNode.merge(2, &[gpu, None]);
        assert_eq!((hint.affinity, admitted), (Some(NumaSet(0b10)), true));
        assert!(!TopologyPolicy::Restricted.merge(2, &[Some(vec![])]).1, "no possible affinity");
        assert!(TopologyPolicy::SingleNumaNode.merge(2, &[None]).1, "no opinion");
    }
}
