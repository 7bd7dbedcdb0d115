//! NodeResourcesFit: whether what a pod asks for is left on a node, and how full the node would be.

use std::sync::Arc;

use crate::scheduler::amounts::{CPU, MEMORY, Requests};
use crate::scheduler::cache::Slot;
use crate::scheduler::framework::{
    ClusterEvent, Code, Cycle, EventKind, Hint, MAX_SCORE, NodeFilter, NodeScore, Plugin, PreFilter, Reason, Rejection,
};
use crate::scheduler::node::NodeInfo;
use crate::scheduler::pod::PodInfo;
use crate::scheduler::profile::{Shape, Strategy, StrategyType};

#[derive(Debug)]
pub struct NodeResourcesFit {
    strategy: Arc<Strategy>,
}

impl NodeResourcesFit {
    pub fn new(strategy: Strategy) -> NodeResourcesFit {
        NodeResourcesFit { strategy: Arc::new(strategy) }
    }
}

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &'static str {
        "NodeResourcesFit"
    }

    fn weight(&self) -> i64 {
        1
    }

    fn pre_filter(&self, cycle: &Cycle<'_>) -> PreFilter {
        PreFilter::Filter(Box::new(Filter(cycle.pod.clone())))
    }

    fn pre_score(&self, cycle: &Cycle<'_>, _nodes: &[Slot]) -> Option<Box<dyn NodeScore>> {
        Some(Box::new(Score::new(self.strategy.clone(), cycle)))
    }

    fn events(&self) -> &'static [EventKind] {
        &[EventKind::PodDelete, EventKind::PodScaleDown, EventKind::NodeAdd, EventKind::NodeAllocatable]
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent<'_>) -> Hint {
        match event {
            ClusterEvent::PodDelete(gone) => Hint::when(gone.placed()),
            ClusterEvent::PodScaleDown(old, new) => {
                let less = |resource| amount(&old.requests, resource) > amount(&new.requests, resource);
                let helps = !new.node.is_empty() && pod.requests.iter().any(|(resource, _)| less(*resource));
                Hint::when(new.uid == pod.uid || helps)
            }
            ClusterEvent::NodeAdd(node) => Hint::when(fits_empty(pod, node)),
            ClusterEvent::NodeAllocatable(old, new) => {
                let rose = |resource| new.allocatable.get(resource) > old.allocatable.get(resource);
                let more =
                    new.allowed_pods > old.allowed_pods || pod.requests.iter().any(|(resource, _)| rose(*resource));
                Hint::when(more && fits_empty(pod, new))
            }
            _ => Hint::Skip,
        }
    }
}

fn amount(requests: &Requests, resource: u16) -> i64 {
    requests.iter().find(|(known, _)| *known == resource).map_or(0, |(_, amount)| *amount)
}

/// Whether the node without any pod could take the pod.
fn fits_empty(pod: &PodInfo, node: &NodeInfo) -> bool {
    node.allowed_pods >= 1 && pod.requests.iter().all(|(resource, amount)| *amount <= node.allocatable.get(*resource))
}

#[derive(Debug)]
struct Filter(Arc<PodInfo>);

impl Filter {
    #[cold]
    fn explain(&self, node: &NodeInfo) -> Option<Rejection> {
        let mut code = Code::Unschedulable;
        let mut reasons = Vec::new();
        if node.pods.len() as i64 + 1 > node.allowed_pods {
            reasons.push(Reason::Text("Too many pods"));
        }
        for (resource, amount) in &self.0.requests {
            let whole = node.allocatable.get(*resource);
            if *amount > whole - node.requested.get(*resource) {
                reasons.push(Reason::Insufficient(*resource));
                if *amount > whole {
                    code = Code::Unresolvable;
                }
            }
        }
        let mut reasons = reasons.into_iter();
        reasons.next().map(|reason| Rejection { code, reason, more: reasons.collect() })
    }
}

impl NodeFilter for Filter {
    fn filter(&self, node: &NodeInfo) -> Option<Rejection> {
        let left = |resource| node.allocatable.get(resource) - node.requested.get(resource);
        let fits = (node.pods.len() as i64) < node.allowed_pods
            && self.0.requests.iter().all(|(resource, amount)| *amount <= left(*resource));
        if fits { None } else { self.explain(node) }
    }

    fn boxed(&self) -> Box<dyn NodeFilter> {
        Box::new(Filter(self.0.clone()))
    }
}

/// One resource of the scoring strategy.
#[derive(Debug)]
struct Scored {
    resource: u16,
    weight: i64,
    request: i64,
}

#[derive(Debug)]
struct Score {
    strategy: Arc<Strategy>,
    scored: Vec<Scored>,
}

impl Score {
    fn new(strategy: Arc<Strategy>, cycle: &Cycle<'_>) -> Score {
        let known = strategy.resources.iter().filter_map(|(name, weight)| {
            let resource = cycle.cache.resources.find(name)?;
            let request = match resource {
                CPU => cycle.pod.non_zero[0],
                MEMORY => cycle.pod.non_zero[1],
                _ => amount(&cycle.pod.requests, resource),
            };
            // A scalar resource that the pod does not ask for has no say.
            (request > 0 || resource <= crate::scheduler::amounts::EPHEMERAL).then_some(Scored {
                resource,
                weight: *weight,
                request,
            })
        });
        let scored = known.collect();
        Score { strategy, scored }
    }
}

impl NodeScore for Score {
    fn score(&self, node: &NodeInfo) -> i64 {
        let (mut sum, mut weights) = (0, 0);
        for scored in &self.scored {
            let whole = node.allocatable.get(scored.resource);
            if whole == 0 {
                continue;
            }
            let used = match scored.resource {
                CPU => node.non_zero[0],
                MEMORY => node.non_zero[1],
                resource => node.requested.get(resource),
            };
            let used = used + scored.request;
            let score = match &self.strategy.kind {
                StrategyType::LeastAllocated => least(used, whole),
                StrategyType::MostAllocated => used.min(whole) * MAX_SCORE / whole,
                StrategyType::RequestedToCapacityRatio(shape) => {
                    let score = ratio(shape, used, whole);
                    if score <= 0 {
                        continue;
                    }
                    score
                }
            };
            sum += score * scored.weight;
            weights += scored.weight;
        }
        if weights == 0 {
            return 0;
        }
        match self.strategy.kind {
            StrategyType::RequestedToCapacityRatio(_) => (sum as f64 / weights as f64).round() as i64,
            _ => sum / weights,
        }
    }
}

fn least(used: i64, whole: i64) -> i64 {
    if used > whole { 0 } else { (whole - used) * MAX_SCORE / whole }
}

/// The shape's score at the utilisation `used` of `whole`, in integers as `helper/shape_score.go` reckons it.
fn ratio(shape: &Shape, used: i64, whole: i64) -> i64 {
    let at = if used > whole { 100 } else { used * 100 / whole };
    let mut before: Option<&(i64, i64)> = None;
    for point in shape {
        if at <= point.0 {
            return match before {
                None => point.1,
                Some(low) => low.1 + (point.1 - low.1) * (at - low.0) / (point.0 - low.0),
            };
        }
        before = Some(point);
    }
    before.map_or(0, |last| last.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_is_linear_between_its_points() {
        let shape = vec![(0, 0), (50, 100), (100, 20)];
        let scores: Vec<i64> = [0, 25, 50, 75, 100, 120].iter().map(|used| ratio(&shape, *used, 100)).collect();
        assert_eq!(scores, [0, 50, 100, 60, 20, 20]);
    }
}
