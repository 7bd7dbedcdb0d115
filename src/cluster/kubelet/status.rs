//! The status that a lab node's kubelet writes for a pod.
//!
//! Source: `pkg/kubelet/kubelet_pods.go` (generateAPIPodStatus), `pkg/kubelet/status/generate.go`.

use super::admission::Rejection;
use super::device_manager::DeviceManager;
use super::pod::{Container, Run, Stage, State, full_name};
use super::program;
use super::resources::{of_pod, to_value};
use crate::time::VirtualTime;
use crate::value::Value;
use crate::{list, object, rng};
use gpulab_device::Health;

/// Condition types that the kubelet owns, in its order. Those of others come first.
const OWNED: [&str; 5] = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];

/// 64 hexadecimal digits, for container and image ids.
pub(super) fn hex(seed: u64, parts: &[&str]) -> String {
    (0..2).map(|half: u64| rng::uuid(seed ^ (half << 63), parts).replace('-', "")).collect()
}

/// The whole status of a pod that was not admitted.
pub(super) fn rejected(pod: &Value, rejection: &Rejection, now: VirtualTime) -> Value {
    object! {
        "phase" => "Failed", "reason" => rejection.reason.as_str(),
        "message" => format!("Pod was rejected: {}", rejection.message),
        "qosClass" => pod.at(&["status", "qosClass"]).clone(), "startTime" => now.rfc3339(),
        "observedGeneration" => pod.at(&["metadata", "generation"]).clone(),
    }
}

/// The status of a pod that runs or ran.
pub(super) fn of(run: &Run, pod: &Value, manager: &DeviceManager, now: VirtualTime) -> Value {
    let phase = phase(run);
    let mut status = pod.at(&["status"]).clone();
    status.set(&["phase"], phase);
    status.set(&["observedGeneration"], pod.at(&["metadata", "generation"]).clone());
    status.set(&["conditions"], conditions(run, phase, pod, now));
    status.set(&["startTime"], run.admitted.rfc3339());
    status.set(&["hostIP"], run.host.as_str());
    status.set(&["hostIPs"], list![object! { "ip" => run.host.as_str() }]);
    if !matches!(run.stage, Stage::Starting(_)) {
        status.set(&["podIP"], run.ip.as_str());
        status.set(&["podIPs"], list![object! { "ip" => run.ip.as_str() }]);
    }
    let (requests, limits) = (of_pod(pod, "requests"), of_pod(pod, "limits"));
    if !requests.is_empty() {
        status.set(&["allocatedResources"], to_value(&requests));
        status.set(&["resources", "requests"], to_value(&requests));
    }
    if !limits.is_empty() {
        status.set(&["resources", "limits"], to_value(&limits));
    }
    for (specs, containers, field) in
        [("initContainers", &run.init, "initContainerStatuses"), ("containers", &run.containers, "containerStatuses")]
    {
        let specs = pod.at(&["spec", specs]).items();
        if !specs.is_empty() {
            let pairs = containers.iter().zip(specs);
            let statuses = pairs.map(|(container, spec)| container_status(container, spec, run, pod, manager));
            status.set(&[field], statuses.collect::<Value>());
        }
    }
    status
}

fn phase(run: &Run) -> &'static str {
    match run.stage {
        Stage::Starting(_) => "Pending",
        Stage::Running | Stage::Stopping(_) => "Running",
        Stage::Ended => {
            let good = |container: &Container| matches!(container.state, State::Ended { code: 0, .. });
            if run.containers.iter().all(good) { "Succeeded" } else { "Failed" }
        }
    }
}

fn conditions(run: &Run, phase: &str, pod: &Value, now: VirtualTime) -> Value {
    let names = |wanted: &dyn Fn(&Container) -> bool, all: &[Container]| {
        let names: Vec<&str> = all.iter().filter(|one| wanted(one)).map(|one| one.name.as_str()).collect();
        names.join(" ")
    };
    let unready = names(&|container| !matches!(container.state, State::Running { .. }), &run.containers);
    let waiting = names(&|container| matches!(container.state, State::Waiting), &run.init);
    let (good, bad) = (("True", "", String::new()), |reason, message| ("False", reason, message));
    let over = phase == "Succeeded" || phase == "Failed";
    let ready = match phase {
        "Succeeded" => bad("PodCompleted", String::new()),
        "Failed" => bad("PodFailed", String::new()),
        _ if unready.is_empty() => good.clone(),
        _ => bad("ContainersNotReady", format!("containers with unready status: [{unready}]")),
    };
    let wanted = OWNED.map(|kind| match kind {
        "PodReadyToStartContainers" if over || phase == "Pending" => bad("", String::new()),
        "Initialized" if phase == "Succeeded" => ("True", "PodCompleted", String::new()),
        "Initialized" if !waiting.is_empty() => {
            bad("ContainersNotInitialized", format!("containers with incomplete status: [{waiting}]"))
        }
        "Ready" => gated(pod, ready.clone()),
        "ContainersReady" => ready.clone(),
        _ => good.clone(),
    });
    let before = pod.at(&["status", "conditions"]).items();
    let others = before.iter().filter(|condition| !OWNED.contains(&condition.at(&["type"]).str())).cloned();
    let owned = OWNED.iter().zip(wanted).map(|(kind, (status, reason, message))| {
        let old = pod.condition(kind);
        let same = old.at(&["status"]).str() == status;
        let since = if same { old.at(&["lastTransitionTime"]).clone() } else { Value::from(now.rfc3339()) };
        let mut condition = object! {
            "type" => *kind, "status" => status, "lastProbeTime" => Value::Null, "lastTransitionTime" => since,
            "observedGeneration" => pod.at(&["metadata", "generation"]).clone(),
        };
        if !reason.is_empty() {
            condition.set(&["reason"], reason);
        }
        if !message.is_empty() {
            condition.set(&["message"], message);
        }
        condition
    });
    others.chain(owned).collect()
}

/// Readiness with the pod's readiness gates taken into account.
fn gated(pod: &Value, ready: (&'static str, &'static str, String)) -> (&'static str, &'static str, String) {
    let gates = pod.at(&["spec", "readinessGates"]).items().iter();
    let closed = gates.map(|gate| gate.at(&["conditionType"]).str()).filter_map(|gate| {
        let condition = pod.condition(gate);
        match condition.at(&["status"]).str() {
            "True" => None,
            "" => Some(format!("corresponding condition of pod readiness gate \"{gate}\" does not exist.")),
            _ => Some(format!(
                "the status of pod readiness gate \"{gate}\" is not \"True\", but {}",
                condition.at(&["status"]).str()
            )),
        }
    });
    let closed: Vec<String> = closed.collect();
    if ready.0 == "True" && !closed.is_empty() {
        return ("False", "ReadinessGatesNotReady", closed.join(", "));
    }
    ready
}

fn container_status(container: &Container, spec: &Value, run: &Run, pod: &Value, manager: &DeviceManager) -> Value {
    let last = container.last.clone().map_or_else(Value::object, |last| object! { "terminated" => last });
    let mut status = object! {
        "name" => spec.at(&["name"]).clone(), "image" => spec.at(&["image"]).clone(), "imageID" => "",
        "ready" => false, "started" => false, "restartCount" => container.restarts, "lastState" => last,
    };
    let mounts = spec.at(&["volumeMounts"]).items();
    if !mounts.is_empty() {
        status.set(&["volumeMounts"], mounts.iter().map(mount).collect::<Value>());
    }
    let id = match &container.state {
        State::Waiting => {
            let reason = if run.init.is_empty() { "ContainerCreating" } else { "PodInitializing" };
            status.set(&["state", "waiting", "reason"], reason);
            return status;
        }
        State::Running { id, since, .. } => {
            status.set(&["ready"], true);
            status.set(&["started"], true);
            status.set(&["state", "running", "startedAt"], since.rfc3339());
            Value::from(format!("containerd://{id}"))
        }
        State::Ended { terminated, held, .. } => {
            match held {
                Some(held) => {
                    let (name, pod) = (&container.name, full_name(pod));
                    let held = program::text(*held);
                    let message = format!("back-off {held} restarting failed container={name} pod={pod}");
                    let waiting = object! { "reason" => "CrashLoopBackOff", "message" => message };
                    status.set(&["state", "waiting"], waiting);
                    status.set(&["lastState"], object! { "terminated" => terminated.clone() });
                }
                None => status.set(&["state", "terminated"], terminated.clone()),
            }
            if container.sidecar || run.init.iter().any(|one| one.name == container.name) {
                status.set(&["ready"], terminated.at(&["exitCode"]).int() == 0);
            }
            terminated.at(&["containerID"]).clone()
        }
    };
    if id.is_null() {
        return status;
    }
    status.set(&["containerID"], id);
    status.set(&["imageID"], format!("sha256:{}", hex(0, &["image", spec.at(&["image"]).str()])));
    add_resources(&mut status, container, spec, run, manager);
    status
}

fn add_resources(status: &mut Value, container: &Container, spec: &Value, run: &Run, manager: &DeviceManager) {
    let resources = spec.at(&["resources"]);
    status.set(&["resources"], if resources.is_null() { Value::object() } else { resources.clone() });
    if !resources.at(&["requests"]).entries().is_empty() {
        status.set(&["allocatedResources"], resources.at(&["requests"]).clone());
    }
    let user = |field: &str| spec.at(&["securityContext", field]).int();
    let group = user("runAsGroup");
    status.set(
        &["user", "linux"],
        object! { "uid" => user("runAsUser"), "gid" => group, "supplementalGroups" => list![group] },
    );
    let held = manager.health_of(&run.uid, &container.name);
    if !held.is_empty() {
        let word = |healthy: bool| if healthy { Health::Healthy } else { Health::Unhealthy }.as_str();
        let entries = held.iter().map(|(resource, devices)| {
            let items = devices.iter().map(|(id, healthy)| object! { "resourceID" => id, "health" => word(*healthy) });
            object! { "name" => resource, "resources" => items.collect::<Value>() }
        });
        status.set(&["allocatedResourcesStatus"], entries.collect::<Value>());
    }
}

fn mount(mount: &Value) -> Value {
    let mut status = object! { "name" => mount.at(&["name"]).clone(), "mountPath" => mount.at(&["mountPath"]).clone() };
    if mount.at(&["readOnly"]).is_true() {
        status.set(&["readOnly"], true);
        status.set(&["recursiveReadOnly"], "Disabled");
    }
    status
}
