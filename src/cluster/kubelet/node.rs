//! Registration, status and lease of lab nodes.
//!
//! Source: `pkg/kubelet/kubelet_node_status.go`, `pkg/kubelet/nodestatus/setters.go`.

use std::time::Duration;

use super::{Kubelet, Node};
use crate::api::quantity::Quantity;
use crate::api::registry::{Kind, Part};
use crate::api::store::ObjectKey;
use crate::component::{Context, Work};
use crate::events::{EventSpec, Source};
use crate::time::{Urgency, VirtualTime};
use crate::value::{Text, Value};
use crate::{list, object, rng};

/// `nodeStatusUpdateFrequency`, and the period of lease renewals.
const STATUS: Duration = Duration::from_secs(10);
/// `nodeStatusReportFrequency`: without another reason, heartbeats are written this often.
const REPORT: Duration = Duration::from_secs(300);
/// `nodeLeaseDurationSeconds`.
const LEASE_SECONDS: i64 = 40;
/// What the machine has.
const MACHINE: [(&str, &str); 5] =
    [("cpu", "2"), ("hugepages-1Gi", "0"), ("hugepages-2Mi", "0"), ("memory", "24683652Ki"), ("pods", "110")];
/// The hard eviction threshold of memory, kept from allocatable.
const RESERVED_MEMORY: i64 = 100 << 20;

/// The internal address of lab node number `index`.
pub(super) fn address(index: usize) -> String {
    format!("10.88.0.{}", index + 1)
}

impl Kubelet {
    /// Puts a node in place as it is long after its kubelet started.
    pub(super) fn register(&mut self, name: &Text, cx: &mut Context<'_>) {
        let Some(state) = self.nodes.get_mut(name) else { return };
        let status = initial_status(state, name, cx);
        let node = object! {
            "apiVersion" => "v1", "kind" => "Node",
            "metadata" => object! {
                "name" => name,
                "labels" => object! {
                    "beta.kubernetes.io/arch" => "amd64", "beta.kubernetes.io/os" => "linux",
                    "kubernetes.io/arch" => "amd64", "kubernetes.io/hostname" => name, "kubernetes.io/os" => "linux",
                },
                "annotations" => object! { "volumes.kubernetes.io/controller-managed-attach-detach" => "true" },
            },
            "spec" => object! {},
            "status" => status.clone(),
        };
        // A node of this name cannot be there yet; if creation is refused there is nothing to run.
        let Ok(node) = cx.create(Kind::NODE, "", node) else { return };
        let key = ObjectKey::of(Kind::NODE, &node);
        let _ = cx.update(&key, Part::Status, |node| node.set(&["status"], status));
        let lease = object! {
            "apiVersion" => "coordination.k8s.io/v1", "kind" => "Lease",
            "metadata" => object! {
                "name" => name, "namespace" => "kube-node-lease",
                "ownerReferences" => list![object! {
                    "apiVersion" => "v1", "kind" => "Node", "name" => name, "uid" => node.uid(),
                }],
            },
            "spec" => object! {
                "holderIdentity" => name, "leaseDurationSeconds" => LEASE_SECONDS,
                "renewTime" => cx.now.rfc3339_micro(),
            },
        };
        let _ = cx.create(Kind::LEASE, "kube-node-lease", lease);
        state.next_status = cx.now + STATUS;
        state.reported = cx.now;
        cx.plan().after(STATUS, Urgency::Background, Work::on("status", key.clone()));
        cx.plan().after(STATUS, Urgency::Background, Work::on("lease", key));
    }

    /// Renews the lease of a node.
    pub(super) fn renew_lease(&mut self, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(state) = self.nodes.get(&key.name) else { return };
        if !state.stopped {
            let lease = ObjectKey::new(Kind::LEASE, "kube-node-lease", &key.name);
            let now = cx.now.rfc3339_micro();
            let _ = cx.update(&lease, Part::Main, |lease| lease.set(&["spec", "renewTime"], now));
        }
        cx.plan().after(STATUS, Urgency::Background, Work::on("lease", key.clone()));
    }

    /// Looks at a node's status and writes it when something changed or the last report is old.
    pub(super) fn sync_node(&mut self, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(state) = self.nodes.get_mut(&key.name) else { return };
        if cx.now < state.next_status {
            return;
        }
        state.next_status = cx.now + STATUS;
        state.copying = false;
        cx.plan().after(STATUS, Urgency::Background, Work::on("status", key.clone()));
        if state.stopped {
            return;
        }
        if std::mem::take(&mut state.resuming) {
            self.resume(&key.name, cx);
        }
        let Some(state) = self.nodes.get_mut(&key.name) else { return };
        let Some(node) = cx.get(key).cloned() else { return };
        let mut status = node.at(&["status"]).clone();
        set_resources(state, &mut status, cx.now);
        state.removed.clear();
        state.manager.counts(cx.now);
        set_conditions(&mut status, cx.now);
        let changed = resources_differ(&status, &node) || conditions_differ(&status, &node);
        if changed || cx.now.since(state.reported) >= REPORT {
            state.reported = cx.now;
            let conditions = status.make(&["conditions"]);
            for condition in conditions.as_list_mut() {
                condition.set(&["lastHeartbeatTime"], cx.now.rfc3339());
            }
            let _ = cx.update(key, Part::Status, |node| node.set(&["status"], status));
        }
        let unschedulable = node.at(&["spec", "unschedulable"]).is_true();
        if unschedulable != state.unschedulable {
            state.unschedulable = unschedulable;
            let reason = if unschedulable { "NodeNotSchedulable" } else { "NodeSchedulable" };
            record(&node, reason, cx);
        }
        if node.condition("Ready").at(&["status"]).str() != "True" {
            record(&node, "NodeReady", cx);
        }
    }
}

/// The events of a kubelet that starts on a node that is there already.
pub(super) fn started(node: &Value, cx: &mut Context<'_>) {
    tell(node, "Starting", "Starting kubelet.", cx);
    for reason in ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"] {
        record(node, reason, cx);
    }
    tell(node, "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods", cx);
}

fn record(node: &Value, reason: &str, cx: &mut Context<'_>) {
    tell(node, reason, &format!("Node {} status is now: {reason}", node.name()), cx);
}

fn tell(node: &Value, reason: &str, message: &str, cx: &mut Context<'_>) {
    // The kubelet knows its node by name only and puts that in place of the uid.
    let mut regarding = node.clone();
    regarding.set(&["metadata", "uid"], node.name());
    regarding.remove(&["metadata", "resourceVersion"]);
    cx.event(&EventSpec {
        kind: Kind::NODE,
        regarding: &regarding,
        field_path: "",
        warning: false,
        reason,
        message,
        source: Source::Core { component: "kubelet", host: node.name() },
    });
}

/// Whether the next look at the node will change its capacity or allocatable.
pub(super) fn needs_sync(state: &Node, node: &Value, now: VirtualTime) -> bool {
    let mut status = node.at(&["status"]).clone();
    set_resources(state, &mut status, now);
    resources_differ(&status, node)
}

fn resources_differ(status: &Value, node: &Value) -> bool {
    ["capacity", "allocatable"].iter().any(|part| status.at(&[part]) != node.at(&["status", part]))
}

fn conditions_differ(status: &Value, node: &Value) -> bool {
    status.at(&["conditions"]) != node.at(&["status", "conditions"])
}

/// Capacity and allocatable as the kubelet computes them, starting from what the object says.
fn set_resources(state: &Node, status: &mut Value, now: VirtualTime) {
    for (resource, amount) in MACHINE {
        status.set(&["capacity", resource], amount);
    }
    let counts = state.manager.clone().counts(now);
    for (resource, count) in &counts.capacity {
        status.set(&["capacity", resource], count.to_string());
    }
    for resource in state.removed.iter().chain(&counts.removed) {
        status.set(&["capacity", resource], "0");
    }
    let capacity = status.at(&["capacity"]).clone();
    let allocatable = status.make(&["allocatable"]).as_map_mut();
    allocatable.retain(|resource, _| !resource.contains('/') || capacity.get(resource).is_some());
    for (resource, amount) in capacity.entries() {
        let amount = match resource.as_str() {
            "memory" => {
                let total = Quantity::parse(amount.str()).unwrap_or(Quantity::units(0));
                let left = total.minus(Quantity::units(RESERVED_MEMORY));
                Value::from(if left.is_negative() { "0".to_owned() } else { left.to_string() })
            }
            _ => amount.clone(),
        };
        allocatable.insert(resource, amount);
    }
    for (resource, count) in &counts.allocatable {
        allocatable.insert(resource, count.to_string());
    }
}

/// Conditions of a healthy node, in the kubelet's order: type, status, reason, message.
const CONDITIONS: [(&str, &str, &str, &str); 4] = [
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
];

/// Makes the conditions those of a healthy node; heartbeats stay as they are.
fn set_conditions(status: &mut Value, now: VirtualTime) {
    let conditions = status.make(&["conditions"]).as_list_mut();
    for (kind, healthy, reason, message) in CONDITIONS {
        let found = conditions.iter_mut().find(|condition| condition.at(&["type"]).str() == kind);
        match found {
            Some(condition) if condition.at(&["status"]).str() == healthy => {}
            Some(condition) => {
                condition.set(&["status"], healthy);
                condition.set(&["reason"], reason);
                condition.set(&["message"], message);
                condition.set(&["lastTransitionTime"], now.rfc3339());
            }
            None => conditions.push(object! {
                "type" => kind, "status" => healthy, "reason" => reason, "message" => message,
                "lastHeartbeatTime" => now.rfc3339(), "lastTransitionTime" => now.rfc3339(),
            }),
        }
    }
}

fn initial_status(state: &Node, name: &Text, cx: &Context<'_>) -> Value {
    let seed = cx.server.seed();
    let machine = rng::uuid(seed, &["machine", name]).replace('-', "");
    let handler = |name: &str| {
        object! {
            "name" => name,
            "features" => object! { "recursiveReadOnlyMounts" => true, "userNamespaces" => false },
        }
    };
    let mut status = object! {
        "addresses" => list![
            object! { "type" => "InternalIP", "address" => address(state.index) },
            object! { "type" => "Hostname", "address" => name },
        ],
        "daemonEndpoints" => object! { "kubeletEndpoint" => object! { "Port" => 10250 } },
        "declaredFeatures" => list![
            "ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling",
            "InPlacePodVerticalScalingInitContainers", "RestartAllContainersOnContainerExits",
        ],
        "features" => object! { "supplementalGroupsPolicy" => true },
        "runtimeHandlers" => list![handler(""), handler("runc")],
        "nodeInfo" => object! {
            "architecture" => "amd64", "bootID" => rng::uuid(seed, &["boot", name]),
            "containerRuntimeVersion" => "containerd://2.2.0", "kernelVersion" => "6.12.0",
            "kubeProxyVersion" => "", "kubeletVersion" => "v1.36.3", "machineID" => machine,
            "operatingSystem" => "linux", "osImage" => "Debian GNU/Linux 12 (bookworm)",
            "systemUUID" => rng::uuid(seed, &["system", name]),
        },
    };
    set_resources(state, &mut status, cx.now);
    set_conditions(&mut status, cx.now);
    status
}
