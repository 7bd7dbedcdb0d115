//! How a world begins: what components may know of it.

use crate::time::{Ties, VirtualTime};

/// Node annotation whose value `fake` makes a fleet node: ready at once, its pods run at once.
pub const FLEET_NODE: &str = "kwok.x-k8s.io/node";

/// How a world begins.
#[derive(Clone, Debug)]
pub struct Config {
    /// Everything random follows from this.
    pub seed: u64,
    /// The first moment.
    pub epoch: VirtualTime,
    /// Who decides among entries of the same moment.
    pub ties: Ties,
    /// The nodes that exist from the start, each with a kubelet.
    pub nodes: Vec<LabNode>,
}

/// A node that the lab brings along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabNode {
    /// `metadata.name`.
    pub name: String,
    /// Devices that its device plugin advertises; `None` when no plugin runs.
    pub devices: Option<Devices>,
    /// How its kubelet aligns devices.
    pub topology: Topology,
}

/// The topology manager's configuration of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// `--topology-manager-policy`.
    pub policy: TopologyPolicy,
    /// Whether a pod is aligned as a whole (`--topology-manager-scope=pod`) rather than container by container.
    pub pod_scope: bool,
    /// NUMA nodes of the machine; 0 counts as 1.
    pub numa_nodes: u32,
}

/// `--topology-manager-policy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopologyPolicy {
    /// Devices come from anywhere.
    #[default]
    None,
    /// The best alignment is taken, whatever it is.
    BestEffort,
    /// Only an alignment as narrow as the resources allow is admitted.
    Restricted,
    /// Only one NUMA node is admitted.
    SingleNumaNode,
}

impl TopologyPolicy {
    /// The policy of this name, as the kubelet's flag spells it.
    pub fn parse(name: &str) -> Option<TopologyPolicy> {
        Some(match name {
            "none" => TopologyPolicy::None,
            "best-effort" => TopologyPolicy::BestEffort,
            "restricted" => TopologyPolicy::Restricted,
            "single-numa-node" => TopologyPolicy::SingleNumaNode,
            _ => return None,
        })
    }
}

/// What a node's plugin advertises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    /// Extended resource name.
    pub resource: String,
    /// Number of devices.
    pub count: u32,
    /// Device ids are this and a number from 0 on.
    pub prefix: String,
}

impl Default for Config {
    /// The default world: one node with four devices.
    fn default() -> Config {
        Config {
            seed: 0,
            epoch: VirtualTime::EPOCH,
            ties: Ties::InOrder,
            nodes: vec![LabNode {
                name: "gpulab-control-plane".into(),
                devices: Some(Devices {
                    resource: "simulator.accelerator-fleet.io/gpu".into(),
                    count: 4,
                    prefix: "sim-gpu-".into(),
                }),
                topology: Topology::default(),
            }],
        }
    }
}
