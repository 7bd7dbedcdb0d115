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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabNode {
    /// `metadata.name`.
    pub name: String,
    /// Devices that its device plugin advertises; `None` when no plugin runs.
    pub devices: Option<Devices>,
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
            }],
        }
    }
}
