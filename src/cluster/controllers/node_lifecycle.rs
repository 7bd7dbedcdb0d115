//! Nodes as the control plane sees them: registration, taints by condition, and kubelets that fall silent.
//!
//! Source: `pkg/controller/nodelifecycle/node_lifecycle_controller.go`, `pkg/controller/util/node/controller_utils.go`,
//! `pkg/controller/ttl/ttl_controller.go`.

use std::time::Duration;

use imbl::OrdMap;

use super::event_about;
use crate::api::registry::{Kind, Part};
use crate::api::store::{Change, ObjectKey};
use crate::component::{Component, Context, Planner, Work, WorkQueue};
use crate::config::FLEET_NODE;
use crate::object;
use crate::time::{Urgency, VirtualTime};
use crate::value::{Text, Value};

const NAME: &str = "node-controller";
/// How long taints lag behind what they follow. The scheduler is faster: it sees an uncordoned node with its taint.
const TAINTING: Duration = Duration::from_millis(5);
/// `nodeMonitorPeriod`.
const MONITOR: Duration = Duration::from_secs(5);
/// `nodeMonitorGracePeriod`.
const GRACE: Duration = Duration::from_secs(50);
/// `nodeStartupGracePeriod`: for a node that never told its status.
const STARTUP_GRACE: Duration = Duration::from_secs(60);
const TTL: &str = "node.alpha.kubernetes.io/ttl";
/// Up to how many nodes kubelets may cache secrets for how long: least, most, seconds.
const TTLS: [(usize, usize, &str); 5] =
    [(0, 100, "0"), (90, 500, "15"), (450, 1000, "30"), (900, 2000, "60"), (1800, usize::MAX, "300")];
/// Taints by condition: type, status, key.
const TAINTS: [(&str, &str, &str); 6] = [
    ("Ready", "False", "node.kubernetes.io/not-ready"),
    ("Ready", "Unknown", "node.kubernetes.io/unreachable"),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
];
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The controller.
#[derive(Clone, Debug, Default)]
pub struct NodeLifecycle {
    /// How many nodes there are, and which row of [`TTLS`] applies.
    count: usize,
    row: usize,
    /// Nodes that may fall silent, and when they were heard last. Fleet nodes never do.
    heard: OrdMap<Text, VirtualTime>,
    /// Nodes without an event that tells of them.
    unannounced: OrdMap<Text, ()>,
    /// Last states of nodes that went.
    removed: OrdMap<Text, Value>,
    queue: WorkQueue,
}

impl NodeLifecycle {
    fn observe_node(&mut self, change: &Change, plan: &mut Planner<'_>) {
        let name = &change.key.name;
        let Some(node) = &change.after else {
            self.resize(self.count.saturating_sub(1));
            self.heard.remove(name);
            self.removed.insert(name.clone(), change.object().clone());
            plan.soon(Work::on("remove", change.key.clone()));
            return;
        };
        if change.before.is_none() {
            self.resize(self.count + 1);
            self.unannounced.insert(name.clone(), ());
        }
        if node.annotation(FLEET_NODE) != Some("fake") {
            let beat = |node: &Value| node.condition("Ready").at(&["lastHeartbeatTime"]).clone();
            if change.before.as_ref().is_none_or(|before| beat(before) != beat(node)) {
                self.heard.insert(name.clone(), plan.now);
            }
        }
        let (add, remove) = taints(node);
        if change.before.is_none() || node.annotation(TTL).is_none() {
            self.queue.add(change.key.clone(), plan);
        } else if !add.is_empty() || !remove.is_empty() {
            plan.after(TAINTING, Urgency::Work, Work::on("sync", change.key.clone()));
        }
    }

    fn resize(&mut self, count: usize) {
        self.count = count;
        while count > TTLS[self.row].1 {
            self.row += 1;
        }
        while count < TTLS[self.row].0 {
            self.row -= 1;
        }
    }

    fn sync(&mut self, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(node) = cx.get(key).cloned() else { return };
        let (add, remove) = taints(&node);
        let (now, seconds) = (cx.now.rfc3339(), TTLS[self.row].2);
        // A node that is gone in the meantime needs nothing.
        let _ = cx.update(key, Part::Main, |node| {
            if node.annotation(TTL).is_none() {
                node.set(&["metadata", "annotations", TTL], seconds);
            }
            if add.is_empty() && remove.is_empty() {
                return;
            }
            let taints = node.make(&["spec", "taints"]).as_list_mut();
            for key in add {
                taints.push(object! { "key" => key, "effect" => "NoSchedule", "timeAdded" => now.as_str() });
            }
            taints.retain(|taint| !is_no_schedule(taint) || !remove.contains(&taint.at(&["key"]).str()));
            if taints.is_empty() {
                node.remove(&["spec", "taints"]);
            }
        });
        if self.unannounced.remove(&key.name).is_some() {
            let text = format!("Node {0} event: Registered Node {0} in Controller", key.name);
            event_about(cx, NAME, Kind::NODE, &node, false, "RegisteredNode", &text);
        }
    }

    /// Looks for nodes that were not heard of for too long.
    fn monitor(&mut self, cx: &mut Context<'_>) {
        for (name, heard) in self.heard.clone() {
            let key = ObjectKey::new(Kind::NODE, "", &name);
            let Some(node) = cx.get(&key).cloned() else { continue };
            let ready = node.condition("Ready").at(&["status"]).str();
            let grace = if ready.is_empty() { STARTUP_GRACE } else { GRACE };
            if ready == "Unknown" || cx.now <= heard + grace {
                continue;
            }
            let now = cx.now.rfc3339();
            let _ = cx.update(&key, Part::Status, |node| silence(node, &now));
            if ready == "True" {
                let text = format!("Node {name} status is now: NodeNotReady");
                event_about(cx, NAME, Kind::NODE, &node, false, "NodeNotReady", &text);
                mark_pods(&name, &now, cx);
            }
        }
        cx.plan().after(MONITOR, Urgency::Background, Work::tick("monitor"));
    }
}

fn is_no_schedule(taint: &Value) -> bool {
    taint.at(&["effect"]).str() == "NoSchedule"
}

/// Which NoSchedule taints a node lacks and which it has too many, of those that follow from its state.
fn taints(node: &Value) -> (Vec<&'static str>, Vec<&'static str>) {
    let mut wanted: Vec<&str> = Vec::new();
    for condition in node.at(&["status", "conditions"]).items() {
        let (kind, status) = (condition.at(&["type"]).str(), condition.at(&["status"]).str());
        wanted.extend(TAINTS.iter().filter(|taint| (taint.0, taint.1) == (kind, status)).map(|taint| taint.2));
    }
    if node.at(&["spec", "unschedulable"]).is_true() {
        wanted.push(UNSCHEDULABLE);
    }
    let present = node.at(&["spec", "taints"]).items();
    let has = |key: &str| present.iter().any(|taint| is_no_schedule(taint) && taint.at(&["key"]).str() == key);
    let own = TAINTS.iter().map(|taint| taint.2).chain([UNSCHEDULABLE]);
    let surplus = own.filter(|key| has(key) && !wanted.contains(key)).collect();
    wanted.retain(|key| !has(key));
    (wanted, surplus)
}

/// Makes the conditions of a silent node unknown.
fn silence(node: &mut Value, now: &str) {
    let created = node.at(&["metadata", "creationTimestamp"]).clone();
    let conditions = node.make(&["status", "conditions"]).as_list_mut();
    for kind in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
        match conditions.iter_mut().find(|condition| condition.at(&["type"]).str() == kind) {
            None => conditions.push(object! {
                "type" => kind, "status" => "Unknown", "reason" => "NodeStatusNeverUpdated",
                "message" => "Kubelet never posted node status.", "lastHeartbeatTime" => created.clone(),
                "lastTransitionTime" => now,
            }),
            Some(condition) if condition.at(&["status"]).str() != "Unknown" => {
                condition.set(&["status"], "Unknown");
                condition.set(&["reason"], "NodeStatusUnknown");
                condition.set(&["message"], "Kubelet stopped posting node status.");
                condition.set(&["lastTransitionTime"], now);
            }
            Some(_) => {}
        }
    }
}

/// Pods on a node that fell silent are no longer ready.
fn mark_pods(node: &str, now: &str, cx: &mut Context<'_>) {
    let bound = |pod: &Value| pod.at(&["spec", "nodeName"]).str() == node;
    let pods = cx.server.store.list(Kind::POD, "").filter(|(_, pod)| bound(pod));
    let pods: Vec<(ObjectKey, Value)> = pods.map(|(key, pod)| (key.clone(), pod.clone())).collect();
    for (key, pod) in pods {
        if pod.condition("Ready").at(&["status"]).str() != "True" {
            continue;
        }
        let _ = cx.update(&key, Part::Status, |pod| {
            for condition in pod.make(&["status", "conditions"]).as_list_mut() {
                if condition.at(&["type"]).str() == "Ready" {
                    condition.set(&["status"], "False");
                    condition.set(&["lastTransitionTime"], now);
                }
            }
        });
        event_about(cx, NAME, Kind::POD, &pod, true, "NodeNotReady", "Node is not ready");
    }
}

impl Component for NodeLifecycle {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watches(&self) -> &'static [Kind] {
        &[Kind::NODE, Kind::LEASE]
    }

    fn start(&mut self, plan: &mut Planner<'_>) {
        plan.after(MONITOR, Urgency::Background, Work::tick("monitor"));
    }

    fn boot(&mut self, _cx: &mut Context<'_>) {
        // The first nodes registered long ago; their events have expired.
        self.unannounced = OrdMap::new();
    }

    fn observe(&mut self, change: &Change, plan: &mut Planner<'_>) {
        if change.key.kind == Kind::NODE {
            self.observe_node(change, plan);
        } else if change.after.is_some()
            && &*change.key.namespace == "kube-node-lease"
            && let Some(heard) = self.heard.get_mut(&change.key.name)
        {
            *heard = plan.now;
        }
    }

    fn act(&mut self, work: &Work, cx: &mut Context<'_>) {
        match (&work.key, work.what) {
            (None, _) => self.monitor(cx),
            (Some(key), "remove") => {
                let Some(node) = self.removed.remove(&key.name) else { return };
                let text = format!("Node {0} event: Removing Node {0} from Controller", key.name);
                event_about(cx, NAME, Kind::NODE, &node, false, "RemovingNode", &text);
            }
            (Some(key), _) => {
                self.queue.take(key);
                self.sync(key, cx);
            }
        }
    }
}
