//! Fleet nodes: no loops, no events, one status write per pod.
//!
//! Shapes and rules are those of the stand-in nodes that the evidence was recorded with: a node is ready as soon as it is
//! seen, a pod runs as soon as it is bound, a Job's pod completes after about a second, a deleted pod goes at once.

use std::time::Duration;

use imbl::{OrdMap, OrdSet};

use super::{EXIT_CODE, FINISH, FLEET_NODE, HOLD, RUNS, program};
use crate::api::DeleteOptions;
use crate::api::registry::{Kind, Part};
use crate::api::store::{Change, ObjectKey};
use crate::component::{Context, Planner, Work};
use crate::time::{Urgency, VirtualTime};
use crate::value::{Text, Value};
use crate::{list, object};

/// How long a Job's pod runs.
const JOB: Duration = Duration::from_secs(1);
/// The address of every fleet node.
const ADDRESS: &str = "10.88.0.9";

/// What is known of the fleet.
#[derive(Clone, Debug, Default)]
pub(super) struct Fleet {
    nodes: OrdSet<Text>,
    /// Pods bound to a node that nobody knows (yet).
    unclaimed: OrdMap<Text, OrdSet<ObjectKey>>,
    addresses: u32,
    shared: Option<Shared>,
}

/// Parts of the last status written, for pods that start in the same second.
#[derive(Clone, Debug)]
struct Shared {
    second: i64,
    time: Value,
    conditions: Value,
    /// The containers that `statuses` was made for.
    containers: Vec<(Text, Text)>,
    statuses: Value,
}

impl Fleet {
    pub(super) fn observe_node(&mut self, change: &Change, plan: &mut Planner<'_>) {
        let name = &change.key.name;
        match &change.after {
            None => drop(self.nodes.remove(name)),
            Some(node) => {
                if !self.nodes.contains(name) && node.annotation(FLEET_NODE) == Some("fake") {
                    self.nodes.insert(name.clone());
                    plan.soon(Work::on("register", change.key.clone()));
                }
            }
        }
    }

    pub(super) fn observe_pod(&mut self, node: &Text, change: &Change, plan: &mut Planner<'_>) {
        let Some(pod) = &change.after else {
            if let Some(waiting) = self.unclaimed.get_mut(node) {
                waiting.remove(&change.key);
            }
            return;
        };
        if !self.nodes.contains(node) {
            self.unclaimed.entry(node.clone()).or_default().insert(change.key.clone());
            return;
        }
        let was = |path: &[&str]| change.before.as_ref().map_or(&Value::Null, |before| before.at(path)).clone();
        if pod.is_deleting() {
            if was(&["metadata", "deletionTimestamp"]).is_null() {
                plan.soon(Work::on("fleet delete", change.key.clone()));
            }
        } else if was(&["spec", "nodeName"]).is_null() {
            plan.soon(Work::on("fleet start", change.key.clone()));
        } else {
            let finish = pod.at(&["metadata", "annotations", FINISH]);
            if !finish.is_null() && *finish != was(&["metadata", "annotations", FINISH]) {
                plan.soon(Work::on("fleet finish", change.key.clone()));
            }
        }
    }

    pub(super) fn act_node(&mut self, key: &ObjectKey, cx: &mut Context<'_>) {
        let now = cx.now.rfc3339();
        let _ = cx.update(key, Part::Status, |node| register(node, &now));
        let node = cx.get(key).map(|node| node.uid().to_owned()).unwrap_or_default();
        let lease = object! {
            "apiVersion" => "coordination.k8s.io/v1", "kind" => "Lease",
            "metadata" => object! {
                "name" => &key.name, "namespace" => "kube-node-lease",
                "ownerReferences" => list![object! {
                    "apiVersion" => "v1", "kind" => "Node", "name" => &key.name, "uid" => node,
                }],
            },
            "spec" => object! {
                "holderIdentity" => "fleet", "leaseDurationSeconds" => 40, "renewTime" => cx.now.rfc3339_micro(),
            },
        };
        let _ = cx.create(Kind::LEASE, "kube-node-lease", lease);
        for pod in self.unclaimed.remove(&key.name).unwrap_or_default() {
            cx.plan().soon(Work::on("fleet start", pod));
        }
    }

    pub(super) fn act_pod(&mut self, what: &str, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(pod) = cx.get(key).cloned() else { return };
        match what {
            "fleet delete" => remove(&pod, key, cx),
            "fleet start" if pod.is_deleting() => remove(&pod, key, cx),
            "fleet start" => self.start(&pod, key, cx),
            "fleet finish" => {
                let code = program::exit_code(pod.annotation(FINISH));
                self.finish(&pod, key, code, cx);
            }
            // An entry made for an earlier pod of this name comes too early for this one.
            "fleet exit" if ends_at(&pod).is_some_and(|at| at <= cx.now) => {
                let code = program::exit_code(pod.annotation(EXIT_CODE));
                self.finish(&pod, key, code, cx);
            }
            _ => {}
        }
    }

    fn start(&mut self, pod: &Value, key: &ObjectKey, cx: &mut Context<'_>) {
        let phase = pod.at(&["status", "phase"]).str();
        if phase != "Pending" && !phase.is_empty() {
            return;
        }
        let status = self.running(pod, cx.now);
        if cx.update(key, Part::Status, |pod| pod.set(&["status"], status)).is_err() {
            return;
        }
        if let Some((length, urgency)) = run_time(pod) {
            // Times of the API are whole seconds; the entry must not come before the end that they tell.
            cx.plan().after(length, urgency, Work::on("fleet exit", key.clone()));
        }
    }

    fn shared(&mut self, pod: &Value, now: VirtualTime) -> &Shared {
        let containers = pod.at(&["spec", "containers"]).items();
        let fits = self.shared.as_ref().is_some_and(|shared| {
            shared.second == now.seconds()
                && shared.containers.len() == containers.len()
                && shared.containers.iter().zip(containers).all(|((name, image), container)| {
                    container.at(&["name"]).str() == name.as_str() && container.at(&["image"]).str() == image.as_str()
                })
        });
        if !fits {
            self.shared = None;
        }
        self.shared.get_or_insert_with(|| {
            let time = Value::from(now.rfc3339());
            let condition = |kind: &str| {
                object! {
                    "type" => kind, "status" => "True", "lastProbeTime" => Value::Null,
                    "lastTransitionTime" => time.clone(),
                }
            };
            let status = |container: &Value| {
                object! {
                    "name" => container.at(&["name"]).clone(), "image" => container.at(&["image"]).clone(),
                    "imageID" => "", "lastState" => object! {}, "ready" => true, "restartCount" => 0,
                    "state" => object! { "running" => object! { "startedAt" => time.clone() } },
                }
            };
            Shared {
                second: now.seconds(),
                conditions: ["Initialized", "Ready", "ContainersReady", "PodScheduled"]
                    .map(condition)
                    .into_iter()
                    .collect(),
                containers: containers
                    .iter()
                    .map(|container| (container.at(&["name"]).text(), container.at(&["image"]).text()))
                    .collect(),
                statuses: containers.iter().map(status).collect(),
                time,
            }
        })
    }

    fn running(&mut self, pod: &Value, now: VirtualTime) -> Value {
        let number = self.addresses;
        self.addresses += 1;
        let ip = Value::from(format!("10.{}.{}.{}", 1 + (number >> 16), (number >> 8) & 255, number & 255));
        let before = pod.at(&["status"]);
        let shared = self.shared(pod, now);
        let mut conditions = shared.conditions.clone();
        let foreign = |condition: &&Value| {
            !["PodScheduled", "Initialized", "Ready", "ContainersReady"].contains(&condition.at(&["type"]).str())
        };
        let others: Vec<Value> = before.at(&["conditions"]).items().iter().filter(foreign).cloned().collect();
        if !others.is_empty() {
            conditions = others.into_iter().chain(conditions.items().iter().cloned()).collect();
        }
        let mut status = object! {
            "conditions" => conditions, "containerStatuses" => shared.statuses.clone(), "hostIP" => ADDRESS,
            "phase" => "Running", "podIP" => ip.clone(), "podIPs" => list![object! { "ip" => ip }],
            "qosClass" => before.at(&["qosClass"]).clone(), "startTime" => shared.time.clone(),
        };
        let initial = pod.at(&["spec", "initContainers"]).items();
        if !initial.is_empty() {
            let time = shared.time.clone();
            let done = initial.iter().map(|container| {
                object! {
                    "name" => container.at(&["name"]).clone(), "image" => container.at(&["image"]).clone(),
                    "imageID" => "", "lastState" => object! {}, "ready" => true, "restartCount" => 0,
                    "state" => terminated(0, &time, &time),
                }
            });
            status.set(&["initContainerStatuses"], done.collect::<Value>());
        }
        status
    }

    /// Ends the pod's programs: the pod is over, or its containers start again when the restart policy says so.
    fn finish(&mut self, pod: &Value, key: &ObjectKey, code: i64, cx: &mut Context<'_>) {
        if pod.at(&["status", "phase"]).str() != "Running" || pod.is_deleting() {
            return;
        }
        let now = Value::from(cx.now.rfc3339());
        let again = program::restarts(pod.at(&["spec", "restartPolicy"]).str(), code);
        let _ = cx.update(key, Part::Status, |pod| {
            for status in pod.make(&["status", "containerStatuses"]).as_list_mut() {
                let started = status.at(&["state", "running", "startedAt"]).clone();
                let ended = terminated(code, &started, &now);
                if again {
                    let restarts = status.at(&["restartCount"]).int();
                    status.set(&["restartCount"], restarts + 1);
                    status.set(&["lastState"], ended);
                    status.set(&["state"], object! { "running" => object! { "startedAt" => now.clone() } });
                } else {
                    status.set(&["state"], ended);
                    status.set(&["ready"], false);
                    status.set(&["started"], false);
                }
            }
            if !again {
                pod.set(&["status", "phase"], if code == 0 { "Succeeded" } else { "Failed" });
            }
        });
        if again && let Some((length, urgency)) = run_time(pod) {
            cx.plan().after(length, urgency, Work::on("fleet exit", key.clone()));
        }
    }
}

fn remove(pod: &Value, key: &ObjectKey, cx: &mut Context<'_>) {
    let _ = cx.update(key, Part::Main, |pod| {
        pod.remove(&["metadata", "finalizers"]);
    });
    let options =
        DeleteOptions { grace_period_seconds: Some(0), uid: Some(Text::from(pod.uid())), ..DeleteOptions::default() };
    let _ = cx.delete(key, &options);
}

/// How long the pod's programs run, and whether the world waits for their end.
fn run_time(pod: &Value) -> Option<(Duration, Urgency)> {
    if let Some(length) = pod.annotation(RUNS).and_then(program::duration) {
        return Some((length, Urgency::Program));
    }
    let job = pod.controller().is_some_and(|owner| owner.at(&["kind"]).str() == "Job");
    (job && pod.annotation(HOLD).is_none()).then_some((JOB, Urgency::Work))
}

fn ends_at(pod: &Value) -> Option<VirtualTime> {
    let (length, _) = run_time(pod)?;
    let container = pod.at(&["status", "containerStatuses"]).items().first()?;
    Some(VirtualTime::parse(container.at(&["state", "running", "startedAt"]).str())? + length)
}

fn terminated(code: i64, started: &Value, finished: &Value) -> Value {
    object! {
        "terminated" => object! {
            "exitCode" => code, "reason" => if code == 0 { "Completed" } else { "Error" },
            "startedAt" => started.clone(), "finishedAt" => finished.clone(),
        },
    }
}

/// Conditions of a fleet node, in order: type, status, reason, message.
const CONDITIONS: [(&str, &str, &str, &str); 5] = [
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
];

fn register(node: &mut Value, now: &str) {
    let now = Value::from(now);
    let condition = |(kind, status, reason, message): (&str, &str, &str, &str)| {
        object! {
            "type" => kind, "status" => status, "reason" => reason, "message" => message,
            "lastHeartbeatTime" => now.clone(), "lastTransitionTime" => now.clone(),
        }
    };
    let status = node.make(&["status"]).as_map_mut();
    status.insert("conditions", CONDITIONS.map(condition).into_iter().collect::<Value>());
    status.insert("phase", "Running");
    let defaults = [
        ("addresses", list![object! { "type" => "InternalIP", "address" => ADDRESS }]),
        ("daemonEndpoints", object! { "kubeletEndpoint" => object! { "Port" => 0 } }),
        ("capacity", object! { "cpu" => "1k", "memory" => "1Ti", "pods" => "1M" }),
        (
            "nodeInfo",
            object! {
                "architecture" => "amd64", "bootID" => "", "containerRuntimeVersion" => "kwok-0.7.0",
                "kernelVersion" => "kwok-0.7.0", "kubeProxyVersion" => "kwok-0.7.0", "kubeletVersion" => "kwok-0.7.0",
                "machineID" => "", "operatingSystem" => "linux", "osImage" => "", "systemUUID" => "",
            },
        ),
    ];
    for (key, value) in defaults {
        let present = status.get(key).is_some_and(|known| !known.entries().is_empty() || !known.items().is_empty());
        let empty = key == "nodeInfo" || key == "daemonEndpoints";
        if !present || empty {
            status.insert(key, value);
        }
    }
    if status.get("allocatable").is_none_or(|known| known.entries().is_empty()) {
        let capacity = status.get("capacity").cloned().unwrap_or_default();
        status.insert("allocatable", capacity);
    }
}
