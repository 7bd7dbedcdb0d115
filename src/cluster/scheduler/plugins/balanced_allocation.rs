//! NodeResourcesBalancedAllocation: a node is better when the pod makes its cpu and memory more evenly used. Since 1.36
//! the balance with the pod is compared with the one without it.

use crate::scheduler::amounts::{CPU, MEMORY};
use crate::scheduler::cache::Slot;
use crate::scheduler::framework::{Cycle, MAX_SCORE, NodeScore, Plugin};
use crate::scheduler::node::NodeInfo;

#[derive(Debug)]
pub struct NodeResourcesBalancedAllocation;

impl Plugin for NodeResourcesBalancedAllocation {
    fn name(&self) -> &'static str {
        "NodeResourcesBalancedAllocation"
    }

    fn weight(&self) -> i64 {
        1
    }

    fn pre_score(&self, cycle: &Cycle<'_>, _nodes: &[Slot]) -> Option<Box<dyn NodeScore>> {
        let of = |resource| {
            let found = cycle.pod.requests.iter().find(|(known, _)| *known == resource);
            found.map_or(0, |(_, amount)| *amount)
        };
        let requests = [of(CPU), of(MEMORY)];
        (requests != [0, 0]).then(|| Box::new(Score(requests)) as Box<dyn NodeScore>)
    }
}

#[derive(Debug)]
struct Score([i64; 2]);

impl NodeScore for Score {
    fn score(&self, node: &NodeInfo) -> i64 {
        let whole = [node.allocatable.get(CPU), node.allocatable.get(MEMORY)];
        let used = [node.requested.get(CPU), node.requested.get(MEMORY)];
        combine(balance([used[0] + self.0[0], used[1] + self.0[1]], whole), balance(used, whole))
    }
}

fn combine(with: i64, without: i64) -> i64 {
    MAX_SCORE / 2 + (MAX_SCORE / 2 + with - without) / 2
}

fn balance(used: [i64; 2], whole: [i64; 2]) -> i64 {
    let fraction = |at: usize| (used[at] as f64 / whole[at] as f64).min(1.0);
    let deviation = match (whole[0], whole[1]) {
        (0, _) | (_, 0) => 0.0,
        _ => ((fraction(0) - fraction(1)) / 2.0).abs(),
    };
    ((1.0 - deviation) * MAX_SCORE as f64) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_change_of_balance_counts() {
        // The parity table's case S16.
        for (before, after, score) in [(50, 100, 100), (100, 50, 50), (75, 50, 62), (100, 75, 62)] {
            assert_eq!(combine(after, before), score, "{before} to {after}");
        }
    }

    #[test]
    fn a_small_pod_on_a_big_empty_node_disturbs_the_balance_by_a_point() {
        let whole = [32_000, 256 << 30];
        assert_eq!(combine(balance([100, 0], whole), balance([0, 0], whole)), 74);
        assert_eq!(combine(balance([200, 0], whole), balance([100, 0], whole)), 75);
    }
}
