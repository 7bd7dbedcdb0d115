use std::time::Duration;

use crate::api::Caller;
use crate::api::registry::{Kind, Part};
use crate::api::store::ObjectKey;
use crate::value::Value;
use crate::world::{Config, World};
use crate::{list, object};

pub(super) const NODE: &str = "gpulab-control-plane";
pub(super) const GPU: &str = "simulator.accelerator-fleet.io/gpu";

pub(super) fn world(plugin: bool) -> World {
    let mut config = Config::default();
    if !plugin {
        config.nodes[0].devices = None;
    }
    World::new(&config)
}

pub(super) fn pod(name: &str, gpus: &str) -> Value {
    object! {
        "apiVersion" => "v1", "kind" => "Pod",
        "metadata" => object! { "name" => name, "namespace" => "default" },
        "spec" => object! {
            "restartPolicy" => "Never", "terminationGracePeriodSeconds" => 30,
            "containers" => list![object! {
                "name" => "c", "image" => "registry.k8s.io/pause:3.10",
                "resources" => object! {
                    "limits" => object! { GPU => gpus }, "requests" => object! { GPU => gpus },
                },
            }],
        },
        "status" => object! { "phase" => "Pending", "qosClass" => "BestEffort" },
    }
}

pub(super) fn run(world: &mut World, pod: Value, node: &str) -> ObjectKey {
    let caller = Caller { now: world.now(), manager: "test" };
    let made = world.server.create(&caller, Kind::POD, "default", pod).unwrap();
    let key = ObjectKey::of(Kind::POD, &made);
    world.server.bind(&caller, &key, node).unwrap();
    world.react();
    key
}

pub(super) fn settle(world: &mut World) {
    assert!(world.settle(Duration::from_secs(60)), "the world does not come to rest");
}

pub(super) fn patch(world: &mut World, key: &ObjectKey, path: &[&str], value: &str) {
    let mut object = world.server.store.get(key).unwrap().clone();
    object.set(path, value);
    let caller = Caller { now: world.now(), manager: "test" };
    let part = if path[0] == "status" { Part::Status } else { Part::Main };
    world.server.update(&caller, key, part, object).unwrap();
    world.react();
}

pub(super) fn amounts(world: &World) -> (String, String) {
    let node = world.server.store.get(&ObjectKey::new(Kind::NODE, "", NODE)).unwrap();
    let amount = |part: &str| node.at(&["status", part, GPU]).str().to_owned();
    (amount("capacity"), amount("allocatable"))
}

pub(super) fn events(world: &World, name: &str) -> Vec<String> {
    let events = world.server.store.list(Kind::EVENT, "").map(|(_, event)| event);
    let about = events.filter(|event| event.at(&["involvedObject", "name"]).str() == name);
    let mut lines: Vec<String> = about
        .map(|event| {
            format!("{} x{} {}", event.at(&["reason"]).str(), event.at(&["count"]).int(), event.at(&["message"]).str())
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn the_default_node_is_ready_with_its_devices_at_the_first_moment() {
    let world = world(true);
    let node = world.server.store.get(&ObjectKey::new(Kind::NODE, "", NODE)).unwrap();
    assert_eq!(amounts(&world), ("4".to_owned(), "4".to_owned()));
    assert_eq!(node.at(&["status", "allocatable", "memory"]).str(), "24581252Ki");
    let kinds: Vec<&str> =
        node.at(&["status", "conditions"]).items().iter().map(|one| one.at(&["type"]).str()).collect();
    assert_eq!(kinds, ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]);
    assert_eq!(world.next_work(), None);
}

#[test]
fn patched_capacity_is_copied_at_the_next_look_and_patched_allocatable_is_overwritten() {
    let mut world = world(false);
    let key = ObjectKey::new(Kind::NODE, "", NODE);
    world.advance(Duration::from_secs(13));
    patch(&mut world, &key, &["status", "capacity", GPU], "4");
    assert_eq!(amounts(&world), ("4".to_owned(), String::new()));
    assert_eq!(world.next_work(), Some(Config::default().epoch + Duration::from_secs(20)));
    settle(&mut world);
    assert_eq!(amounts(&world), ("4".to_owned(), "4".to_owned()));
    patch(&mut world, &key, &["status", "allocatable", GPU], "2");
    settle(&mut world);
    assert_eq!(amounts(&world), ("4".to_owned(), "4".to_owned()));
    patch(&mut world, &key, &["status", "capacity", GPU], "2");
    settle(&mut world);
    assert_eq!(amounts(&world), ("2".to_owned(), "2".to_owned()));
}

#[test]
fn a_plugin_overwrites_patched_capacity() {
    let mut world = world(true);
    patch(&mut world, &ObjectKey::new(Kind::NODE, "", NODE), &["status", "capacity", GPU], "9");
    settle(&mut world);
    assert_eq!(amounts(&world), ("4".to_owned(), "4".to_owned()));
}

#[test]
fn heartbeats_are_written_every_five_minutes_only() {
    let mut world = world(true);
    let key = ObjectKey::new(Kind::NODE, "", NODE);
    let version = |world: &World| world.server.store.get(&key).unwrap().at(&["metadata", "resourceVersion"]).clone();
    let before = version(&world);
    world.advance(Duration::from_secs(299));
    assert_eq!(version(&world), before);
    world.advance(Duration::from_secs(1));
    assert_ne!(version(&world), before);
}

/// Keys and words of a status, with everything that differs from run to run replaced by its type.
fn shape(value: &Value) -> String {
    fn erase(value: &Value, key: &str) -> Value {
        match value {
            Value::Map(map) => Value::Map(map.iter().map(|(key, value)| (key.clone(), erase(value, key))).collect()),
            Value::List(items) => items.iter().map(|item| erase(item, key)).collect(),
            Value::String(_) if ["ip", "podIP", "hostIP", "containerID", "imageID"].contains(&key) => "…".into(),
            Value::String(text) if text.starts_with("kube-api-access-") => "kube-api-access".into(),
            Value::String(text) if crate::VirtualTime::parse(text).is_some() => "time".into(),
            other => other.clone(),
        }
    }
    erase(value, "").to_json()
}

const RUNNING: &str = r#"{
 "allocatedResources": {"simulator.accelerator-fleet.io/gpu": "1"},
 "conditions": [
  {"lastProbeTime": null, "lastTransitionTime": "time", "observedGeneration": 1, "status": "True", "type": "PodReadyToStartContainers"},
  {"lastProbeTime": null, "lastTransitionTime": "time", "observedGeneration": 1, "status": "True", "type": "Initialized"},
  {"lastProbeTime": null, "lastTransitionTime": "time", "observedGeneration": 1, "status": "True", "type": "Ready"},
  {"lastProbeTime": null, "lastTransitionTime": "time", "observedGeneration": 1, "status": "True", "type": "ContainersReady"},
  {"lastProbeTime": null, "lastTransitionTime": "time", "observedGeneration": 1, "status": "True", "type": "PodScheduled"}
 ],
 "containerStatuses": [{
  "allocatedResources": {"simulator.accelerator-fleet.io/gpu": "1"}, "containerID": "…",
  "image": "registry.k8s.io/pause:3.10", "imageID": "…", "lastState": {}, "name": "c", "ready": true,
  "resources": {"limits": {"simulator.accelerator-fleet.io/gpu": "1"}, "requests": {"simulator.accelerator-fleet.io/gpu": "1"}},
  "restartCount": 0, "started": true, "state": {"running": {"startedAt": "time"}},
  "user": {"linux": {"gid": 0, "supplementalGroups": [0], "uid": 0}},
  "volumeMounts": [{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access", "readOnly": true, "recursiveReadOnly": "Disabled"}]
 }],
 "hostIP": "…", "hostIPs": [{"ip": "…"}], "observedGeneration": 1, "phase": "Running", "podIP": "…", "podIPs": [{"ip": "…"}],
 "qosClass": "BestEffort",
 "resources": {"limits": {"simulator.accelerator-fleet.io/gpu": "1"}, "requests": {"simulator.accelerator-fleet.io/gpu": "1"}},
 "startTime": "time"
}"#;

const FLEET: &str = r#"{
 "conditions": [
  {"lastProbeTime": null, "lastTransitionTime": "time", "status": "True", "type": "Initialized"},
  {"lastProbeTime": null, "lastTransitionTime": "time", "status": "True", "type": "Ready"},
  {"lastProbeTime": null, "lastTransitionTime": "time", "status": "True", "type": "ContainersReady"},
  {"lastProbeTime": null, "lastTransitionTime": "time", "status": "True", "type": "PodScheduled"}
 ],
 "containerStatuses": [{
  "image": "registry.k8s.io/pause:3.10", "imageID": "…", "lastState": {}, "name": "c", "ready": true, "restartCount": 0,
  "state": {"running": {"startedAt": "time"}}
 }],
 "hostIP": "…", "phase": "Running", "podIP": "…", "podIPs": [{"ip": "…"}], "qosClass": "BestEffort", "startTime": "time"
}"#;

pub(super) fn status(world: &World, key: &ObjectKey) -> Value {
    world.server.store.get(key).unwrap().at(&["status"]).clone()
}

fn phase(world: &World, key: &ObjectKey) -> String {
    status(world, key).at(&["phase"]).str().to_owned()
}

fn fleet_node(world: &mut World, name: &str) -> ObjectKey {
    let amounts = object! { "cpu" => "32", "memory" => "256Gi", "nvidia.com/gpu" => "4", "pods" => "110" };
    let node = object! {
        "apiVersion" => "v1", "kind" => "Node",
        "metadata" => object! { "name" => name, "annotations" => object! { super::FLEET_NODE => "fake" } },
        "status" => object! { "capacity" => amounts.clone(), "allocatable" => amounts },
    };
    let caller = Caller { now: world.now(), manager: "test" };
    world.server.create(&caller, Kind::NODE, "", node).unwrap();
    world.react();
    ObjectKey::new(Kind::NODE, "", name)
}

#[test]
fn a_pod_on_a_lab_node_starts_within_a_second_with_the_recorded_status_and_events() {
    let mut world = world(false);
    let key = run(&mut world, pod("one", "1"), NODE);
    while status(&world, &key).at(&["containerStatuses"]).is_null() {
        world.step();
    }
    let creating = status(&world, &key);
    assert_eq!(
        creating.at(&["containerStatuses"]).items()[0].at(&["state", "waiting", "reason"]).str(),
        "ContainerCreating"
    );
    let unready = creating.at(&["conditions"]).items()[2].at(&["message"]).str();
    assert_eq!(unready, "containers with unready status: [c]");
    settle(&mut world);
    assert_eq!(world.now(), Config::default().epoch + Duration::from_secs(1));
    assert_eq!(shape(&status(&world, &key)), shape(&Value::from_json(RUNNING.as_bytes()).unwrap()));
    assert_eq!(
        events(&world, "one"),
        [
            "Created x1 Container created",
            "Pulled x1 Container image \"registry.k8s.io/pause:3.10\" already present on machine and can be accessed by the pod",
            "Started x1 Container started",
        ]
    );
}

#[test]
fn a_patched_resource_that_is_used_up_is_out_of_resource() {
    let mut world = world(false);
    patch(&mut world, &ObjectKey::new(Kind::NODE, "", NODE), &["status", "capacity", GPU], "4");
    settle(&mut world);
    run(&mut world, pod("first", "3"), NODE);
    let second = run(&mut world, pod("second", "2"), NODE);
    settle(&mut world);
    let rejected = status(&world, &second);
    assert_eq!(rejected.at(&["reason"]).str(), format!("OutOf{GPU}"));
    let text = format!("Node didn't have enough resource: {GPU}, requested: 2, used: 3, capacity: 4");
    assert_eq!(rejected.at(&["message"]).str(), format!("Pod was rejected: {text}"));
}

#[test]
fn a_program_ends_after_its_time_with_its_code_and_the_world_does_not_wait_for_it() {
    let mut world = world(false);
    let mut short = pod("short", "1");
    short.set(&["metadata", "annotations"], object! { super::RUNS => "5m", super::EXIT_CODE => "3" });
    let key = run(&mut world, short, NODE);
    settle(&mut world);
    assert_eq!(world.next_expected(), Some(Config::default().epoch + Duration::from_secs(301)));
    world.advance(Duration::from_secs(300));
    let ended = status(&world, &key);
    assert_eq!(ended.at(&["phase"]).str(), "Failed");
    let terminated = ended.at(&["containerStatuses"]).items()[0].at(&["state", "terminated"]).clone();
    assert_eq!((terminated.at(&["exitCode"]).int(), terminated.at(&["reason"]).str()), (3, "Error"));
    let reasons: Vec<&str> = ended.at(&["conditions"]).items().iter().map(|one| one.at(&["reason"]).str()).collect();
    assert_eq!(reasons, ["", "", "PodFailed", "PodFailed", ""]);
}

#[test]
fn finish_ends_a_running_pod_as_its_program_would() {
    let mut world = world(false);
    let key = run(&mut world, pod("long", "1"), NODE);
    fleet_node(&mut world, "a");
    let other = run(&mut world, pod("fleet", "1"), "a");
    settle(&mut world);
    patch(&mut world, &key, &["metadata", "annotations", super::FINISH], "0");
    patch(&mut world, &other, &["metadata", "annotations", super::FINISH], "1");
    settle(&mut world);
    assert_eq!((phase(&world, &key).as_str(), phase(&world, &other).as_str()), ("Succeeded", "Failed"));
}

#[test]
fn a_crashing_container_restarts_at_once_and_then_ever_later() {
    let mut world = world(false);
    let mut crash = pod("crash", "1");
    crash.set(&["spec", "restartPolicy"], "Always");
    crash.set(&["metadata", "annotations"], object! { super::RUNS => "1s", super::EXIT_CODE => "1" });
    let key = run(&mut world, crash, NODE);
    // Started at 1 s, ended at 2 s, again from 3 s to 4 s, then held back for 10 s, ended at 15 s, held back for 20 s.
    world.advance(Duration::from_secs(14));
    let container = status(&world, &key).at(&["containerStatuses"]).items()[0].clone();
    assert_eq!(container.at(&["restartCount"]).int(), 2);
    world.advance(Duration::from_secs(1));
    let container = status(&world, &key).at(&["containerStatuses"]).items()[0].clone();
    assert_eq!(container.at(&["state", "waiting", "reason"]).str(), "CrashLoopBackOff");
    let uid = world.server.store.get(&key).unwrap().uid().to_owned();
    let text = format!("back-off 20s restarting failed container=c pod=crash_default({uid})");
    assert_eq!(container.at(&["state", "waiting", "message"]).str(), text);
    assert_eq!(container.at(&["lastState", "terminated", "exitCode"]).int(), 1);
    assert_eq!(phase(&world, &key), "Running");
    assert_eq!(world.next_work(), None);
    let text = format!("BackOff x2 Back-off restarting failed container c in pod crash_default({uid})");
    assert!(events(&world, "crash").contains(&text), "{:?}", events(&world, "crash"));
}

#[test]
fn fleet_nodes_are_ready_at_once_and_their_pods_run_at_once() {
    let mut world = world(false);
    let node = fleet_node(&mut world, "a");
    let key = run(&mut world, pod("one", "1"), "a");
    settle(&mut world);
    assert_eq!(world.now(), Config::default().epoch);
    assert_eq!(shape(&status(&world, &key)), shape(&Value::from_json(FLEET.as_bytes()).unwrap()));
    assert_eq!(status(&world, &key).at(&["podIP"]).str(), "10.1.0.0");
    assert_eq!(events(&world, "one"), [""; 0]);
    let status = status(&world, &node);
    let kinds: Vec<&str> = status.at(&["conditions"]).items().iter().map(|one| one.at(&["type"]).str()).collect();
    assert_eq!(kinds, ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"]);
    assert_eq!(status.at(&["phase"]).str(), "Running");
}

#[test]
fn a_jobs_pod_on_a_fleet_node_completes_unless_it_is_held() {
    let mut world = world(false);
    fleet_node(&mut world, "a");
    let mut job = object! { "metadata" => object! { "name" => "j" }, "spec" => object! { "managedBy" => "test/none" } };
    job.set(&["spec", "template", "spec"], pod("x", "1").at(&["spec"]).clone());
    let caller = Caller { now: world.now(), manager: "test" };
    let job = world.server.create(&caller, Kind::JOB, "default", job).unwrap();
    let owner = object! {
        "apiVersion" => "batch/v1", "kind" => "Job", "name" => "j", "uid" => job.uid(), "controller" => true,
    };
    let mut free = pod("free", "1");
    free.set(&["metadata", "ownerReferences"], list![owner]);
    let mut held = free.clone();
    held.set(&["metadata", "name"], "held");
    held.set(&["metadata", "annotations"], object! { super::HOLD => "yes" });
    let (free, held) = (run(&mut world, free, "a"), run(&mut world, held, "a"));
    settle(&mut world);
    assert_eq!((phase(&world, &free).as_str(), phase(&world, &held).as_str()), ("Succeeded", "Running"));
    let container = status(&world, &free).at(&["containerStatuses"]).items()[0].clone();
    assert_eq!(container.at(&["state", "terminated", "reason"]).str(), "Completed");
    assert!(!container.at(&["ready"]).is_true() && !container.at(&["started"]).is_null());
}

fn delete(world: &mut World, key: &ObjectKey, grace: Option<i64>) {
    let caller = Caller { now: world.now(), manager: "test" };
    let options = crate::api::DeleteOptions { grace_period_seconds: grace, ..Default::default() };
    world.server.delete(&caller, key, &options).unwrap();
    world.react();
}

/// Seconds since the beginning.
fn clock(world: &World) -> u64 {
    world.now().since(Config::default().epoch).as_secs()
}

#[test]
fn a_deleted_pod_is_told_to_stop_ends_and_goes() {
    let mut world = world(false);
    let key = run(&mut world, pod("one", "1"), NODE);
    settle(&mut world);
    delete(&mut world, &key, None);
    let mut phases = Vec::new();
    while let Some(pod) = world.server.store.get(&key) {
        phases.push(pod.at(&["status", "phase"]).str().to_owned());
        world.step();
    }
    phases.dedup();
    // The program of a pause container ends at once with 0.
    assert_eq!((phases, clock(&world)), (vec!["Running".to_owned(), "Succeeded".to_owned()], 2));
    assert!(events(&world, "one").contains(&"Killing x1 Stopping container c".to_owned()));
}

#[test]
fn a_program_that_ignores_the_signal_is_killed_after_its_grace() {
    let mut world = world(false);
    let mut deaf = pod("deaf", "1");
    deaf.set(&["spec", "terminationGracePeriodSeconds"], 12);
    let command = list!["/bin/sh", "-c", "trap '' TERM; while true; do sleep 1; done"];
    let mut containers = deaf.at(&["spec", "containers"]).clone();
    containers.as_list_mut()[0].set(&["command"], command);
    deaf.set(&["spec", "containers"], containers);
    let key = run(&mut world, deaf, NODE);
    settle(&mut world);
    delete(&mut world, &key, None);
    world.advance(Duration::from_secs(11));
    assert_eq!(phase(&world, &key), "Running");
    assert!(status(&world, &key).at(&["conditions"]).items()[2].at(&["status"]).str() == "True");
    let mut last = Value::Null;
    while let Some(pod) = world.server.store.get(&key) {
        last = pod.clone();
        world.step();
    }
    let ended = last.at(&["status", "containerStatuses"]).items()[0].at(&["state", "terminated"]).clone();
    assert_eq!((ended.at(&["exitCode"]).int(), ended.at(&["reason"]).str()), (137, "Error"));
    assert_eq!((last.at(&["status", "phase"]).str(), clock(&world)), ("Failed", 13));
}

#[test]
fn a_second_deletion_shortens_the_grace_and_zero_removes_at_once() {
    let mut world = world(false);
    let mut deaf = pod("deaf", "1");
    let mut containers = deaf.at(&["spec", "containers"]).clone();
    containers.as_list_mut()[0].set(&["command"], list!["sleep", "3600"]);
    deaf.set(&["spec", "containers"], containers);
    let key = run(&mut world, deaf.clone(), NODE);
    settle(&mut world);
    delete(&mut world, &key, None);
    world.advance(Duration::from_secs(5));
    delete(&mut world, &key, Some(4));
    while world.server.store.get(&key).is_some() {
        world.step();
    }
    assert_eq!(clock(&world), 10);
    let key = run(&mut world, deaf, NODE);
    settle(&mut world);
    delete(&mut world, &key, Some(0));
    assert!(world.server.store.get(&key).is_none());
    settle(&mut world);
}

#[test]
fn pods_with_a_terminal_phase_or_without_a_node_go_at_once_and_fleet_pods_soon() {
    let mut world = world(false);
    fleet_node(&mut world, "a");
    let done = run(&mut world, pod("done", "1"), NODE);
    let fleet = run(&mut world, pod("fleet", "1"), "a");
    settle(&mut world);
    patch(&mut world, &done, &["metadata", "annotations", super::FINISH], "0");
    settle(&mut world);
    delete(&mut world, &done, None);
    assert!(world.server.store.get(&done).is_none());
    let before = clock(&world);
    delete(&mut world, &fleet, None);
    assert!(world.server.store.get(&fleet).unwrap().is_deleting());
    settle(&mut world);
    assert!(world.server.store.get(&fleet).is_none());
    assert_eq!(clock(&world), before);
}

#[test]
fn the_node_checks_selector_and_noexecute_taints_once_more() {
    let mut world = world(true);
    let node = ObjectKey::new(Kind::NODE, "", NODE);
    let mut tainted = world.server.store.get(&node).unwrap().clone();
    let taint = |effect: &str| object! { "key" => "team", "value" => "mri", "effect" => effect };
    tainted.set(&["spec", "taints"], list![taint("NoSchedule"), taint("NoExecute")]);
    let caller = Caller { now: world.now(), manager: "test" };
    world.server.update(&caller, &node, Part::Main, tainted).unwrap();
    world.react();
    let intolerant = run(&mut world, pod("intolerant", "1"), NODE);
    let mut tolerant = pod("tolerant", "1");
    let toleration = object! { "key" => "team", "operator" => "Exists", "effect" => "NoExecute" };
    tolerant.set(&["spec", "tolerations"], list![toleration.clone()]);
    let tolerant = run(&mut world, tolerant, NODE);
    let mut elsewhere = pod("elsewhere", "1");
    elsewhere.set(&["spec", "nodeSelector", "wing"], "west");
    elsewhere.set(&["spec", "tolerations"], list![toleration]);
    let elsewhere = run(&mut world, elsewhere, NODE);
    settle(&mut world);
    for (key, reason, text) in [
        (intolerant, "TaintToleration", "node(s) had taints that the pod didn't tolerate"),
        (elsewhere, "NodeAffinity", "node(s) didn't match Pod's node affinity/selector"),
    ] {
        let rejected = status(&world, &key);
        assert_eq!(rejected.at(&["reason"]).str(), reason);
        let message = format!("Pod was rejected: Predicate {reason} failed: {text}");
        assert_eq!(rejected.at(&["message"]).str(), message);
    }
    assert_eq!(status(&world, &tolerant).at(&["phase"]).str(), "Running");
}
