//! The scheduling plugins, one file each.

mod balanced_allocation;
mod dynamic_resources;
mod image_locality;
mod inter_pod_affinity;
mod node_affinity;
mod node_name;
mod node_ports;
mod node_resources_fit;
mod node_unschedulable;
mod pod_topology_spread;
mod scheduling_gates;
mod taint_toleration;
mod volume_binding;

use super::framework::{MAX_SCORE, Plugin};
use super::profile::Strategy;

pub use dynamic_resources::NO_CLAIMS;

/// The plugins of a profile, in the order of `apis/config/v1/default_plugins.go`. PrioritySort is the order of the
/// queue, DefaultPreemption is [`super::preemption`], DefaultBinder is the last step of the cycle; the volume plugins
/// beside VolumeBinding, NodeDeclaredFeatures and GangScheduling have nothing to check in a lab without volumes, declared
/// features and pod groups.
pub fn default_plugins(strategy: &Strategy) -> Vec<Box<dyn Plugin>> {
    vec![
        Box::new(scheduling_gates::SchedulingGates),
        Box::new(node_unschedulable::NodeUnschedulable),
        Box::new(node_name::NodeName),
        Box::new(taint_toleration::TaintToleration),
        Box::new(node_affinity::NodeAffinity),
        Box::new(node_ports::NodePorts),
        Box::new(node_resources_fit::NodeResourcesFit::new(strategy.clone())),
        Box::new(volume_binding::VolumeBinding),
        Box::new(pod_topology_spread::PodTopologySpread),
        Box::new(inter_pod_affinity::InterPodAffinity),
        Box::new(balanced_allocation::NodeResourcesBalancedAllocation),
        Box::new(image_locality::ImageLocality),
    ]
}

/// `helper.DefaultNormalizeScore`: the highest becomes 100, the others follow; reversed on demand.
fn normalize(scores: &mut [i64], reverse: bool) {
    let highest = scores.iter().copied().max().unwrap_or(0);
    for score in scores {
        *score = if highest == 0 { 0 } else { MAX_SCORE * *score / highest };
        if reverse {
            *score = MAX_SCORE - *score;
        }
    }
}
