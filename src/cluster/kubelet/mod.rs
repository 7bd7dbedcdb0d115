//! The kubelets of all nodes, as one component.
//!
//! Lab nodes (those of the configuration) have a full kubelet: status and lease loops, admission, containers with run
//! times and exit codes, graceful deletion. Fleet nodes (annotation [`FLEET_NODE`]) have the cheap one that fake nodes
//! have in the real world: ready at once, pods run at once, no events. Any other node has no kubelet.

mod admission;
mod device_manager;
#[cfg(test)]
mod device_tests;
mod devices;
mod fleet;
mod node;
mod pod;
mod program;
mod resources;
mod status;
#[cfg(test)]
mod tests;
mod topology;

use std::sync::Arc;
use std::time::Duration;

use imbl::OrdMap;

use crate::api::registry::Kind;
use crate::api::store::{Change, ObjectKey};
use crate::component::{Component, Context, Planner, Work, WorkQueue};
pub use crate::config::FLEET_NODE;
use crate::config::{Config, LabNode, Topology};
use crate::plugins::NodeMessage;
use crate::time::VirtualTime;
use crate::value::{Text, Value};
use device_manager::DeviceManager;

/// Pod annotation: how long every container runs before its program ends, as a Go duration (`90s`, `5m`, `1h30m`).
/// Without it a container runs until it is stopped.
pub const RUNS: &str = "gpulab.dev/runs";
/// Pod annotation: the exit code of a program that ends by itself. Default 0.
pub const EXIT_CODE: &str = "gpulab.dev/exit-code";
/// Pod annotation, set on a running pod: the programs of its containers end now with this exit code. A new value ends
/// them again if they were restarted.
pub const FINISH: &str = "gpulab.dev/finish";
/// Pod annotation: a Job's pod on a fleet node does not end by itself.
pub const HOLD: &str = "hold";

/// How long a container takes from admission to running.
const START: Duration = Duration::from_secs(1);
/// How long the kubelet takes to notice that a container has ended (the relist period of PLEG).
const NOTICE: Duration = Duration::from_secs(1);

/// The component.
#[derive(Clone, Debug)]
pub struct Kubelet {
    nodes: OrdMap<Text, Node>,
    fleet: fleet::Fleet,
    queue: WorkQueue,
    addresses: u32,
}

/// What one lab node's kubelet knows.
#[derive(Clone, Debug)]
struct Node {
    /// Position among the lab nodes, for addresses.
    index: usize,
    manager: DeviceManager,
    topology: Topology,
    /// Resources whose capacity the next status has to set to 0.
    removed: Vec<Text>,
    /// When the next look at the node's status is due.
    next_status: VirtualTime,
    /// When the status was last written.
    reported: VirtualTime,
    /// Whether a patched capacity waits for that look.
    copying: bool,
    /// Whether the node was unschedulable at the last look.
    unschedulable: bool,
    /// Whether the kubelet does nothing at all (the node is down).
    stopped: bool,
    /// Whether the kubelet comes back and has to look at all its pods at the next tick.
    resuming: bool,
    runs: OrdMap<ObjectKey, Arc<pod::Run>>,
}

impl Kubelet {
    /// The kubelets of the configured nodes, and of every fleet node to come.
    pub fn new(config: &Config) -> Kubelet {
        let node = |(index, node): (usize, &LabNode)| {
            let state = Node {
                index,
                manager: devices::manager(node),
                topology: node.topology,
                removed: Vec::new(),
                next_status: config.epoch,
                reported: config.epoch,
                copying: false,
                unschedulable: false,
                stopped: false,
                resuming: false,
                runs: OrdMap::new(),
            };
            (Text::from(&node.name), state)
        };
        Kubelet {
            nodes: config.nodes.iter().enumerate().map(node).collect(),
            fleet: fleet::Fleet::default(),
            queue: WorkQueue::default(),
            addresses: 1,
        }
    }

    fn observe_pod(&mut self, change: &Change, plan: &mut Planner<'_>) {
        let pod = change.object();
        let Value::String(node) = pod.at(&["spec", "nodeName"]) else { return };
        match self.nodes.get_mut(node) {
            Some(state) if change.after.is_none() => drop(state.runs.remove(&change.key)),
            Some(_) => self.queue.add(change.key.clone(), plan),
            None => self.fleet.observe_pod(node, change, plan),
        }
    }

    fn observe_node(&mut self, change: &Change, plan: &mut Planner<'_>) {
        let Some(state) = self.nodes.get_mut(&change.key.name) else {
            self.fleet.observe_node(change, plan);
            return;
        };
        if let Some(object) = &change.after
            && !state.copying
            && !state.stopped
            && node::needs_sync(state, object, plan.now)
        {
            state.copying = true;
            plan.at(state.next_status, crate::time::Urgency::Work, Work::on("status", change.key.clone()));
        }
    }
}

impl Component for Kubelet {
    fn name(&self) -> &'static str {
        "kubelet"
    }

    fn watches(&self) -> &'static [Kind] {
        &[Kind::NODE, Kind::POD]
    }

    fn boot(&mut self, cx: &mut Context<'_>) {
        let names: Vec<Text> = self.nodes.keys().cloned().collect();
        for name in names {
            self.register(&name, cx);
        }
    }

    fn observe(&mut self, change: &Change, plan: &mut Planner<'_>) {
        match change.key.kind {
            Kind::POD => self.observe_pod(change, plan),
            Kind::NODE => self.observe_node(change, plan),
            _ => {}
        }
    }

    fn act(&mut self, work: &Work, cx: &mut Context<'_>) {
        let Some(key) = &work.key else { return };
        match (key.kind, work.what) {
            (Kind::NODE, "status") => self.sync_node(key, cx),
            (Kind::NODE, "lease") => self.renew_lease(key, cx),
            (Kind::NODE, _) => self.fleet.act_node(key, cx),
            (_, "sync") => {
                self.queue.take(key);
                self.sync_pod(key, cx);
            }
            (_, "start" | "exit" | "restart" | "stop" | "remove") => self.act_pod(work.what, key, cx),
            _ => self.fleet.act_pod(work.what, key, cx),
        }
    }

    fn receive(&mut self, node: &str, message: &NodeMessage, cx: &mut Context<'_>) -> Result<(), String> {
        self.hear(node, message, cx)
    }
}

/// Sends a core event of the kubelet on `node`.
fn event(cx: &mut Context<'_>, node: &str, pod: &Value, field_path: &str, warning: bool, reason: &str, message: &str) {
    cx.event(&crate::events::EventSpec {
        kind: Kind::POD,
        regarding: pod,
        field_path,
        warning,
        reason,
        message,
        source: crate::events::Source::Core { component: "kubelet", host: node },
    });
}
