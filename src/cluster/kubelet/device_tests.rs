use std::time::Duration;

use super::tests::{GPU, NODE, amounts, events, patch, pod, run, settle, status, world};
use crate::api::registry::Kind;
use crate::api::store::ObjectKey;
use crate::config::{Topology, TopologyPolicy};
use crate::plugins::{NodeMessage, PluginDevice, PluginOptions};
use crate::value::Value;
use crate::{Config, World};

fn listed(sick: &[usize]) -> NodeMessage {
    let device = |number: usize| PluginDevice {
        id: format!("sim-gpu-{number}").into(),
        healthy: !sick.contains(&number),
        numa: vec![],
    };
    NodeMessage::Listed { resource: GPU.into(), devices: (0..4).map(device).collect() }
}

fn stopped() -> NodeMessage {
    NodeMessage::Stopped { resource: GPU.into() }
}

fn registered() -> NodeMessage {
    NodeMessage::Registered { resource: GPU.into(), options: PluginOptions::default() }
}

fn tell(world: &mut World, message: &NodeMessage) {
    world.tell(NODE, message).unwrap();
}

/// Ids and health words that the pod's first container shows.
fn shown(world: &World, key: &ObjectKey) -> Vec<(String, String)> {
    let status = status(world, key);
    let Some(container) = status.at(&["containerStatuses"]).items().first().cloned() else { return Vec::new() };
    let Some(entry) = container.at(&["allocatedResourcesStatus"]).items().first().cloned() else { return Vec::new() };
    assert_eq!(entry.at(&["name"]).str(), GPU);
    let word = |device: &Value, field: &str| device.at(&[field]).str().to_owned();
    let devices = entry.at(&["resources"]).items().iter();
    devices.map(|device| (word(device, "resourceID"), word(device, "health"))).collect()
}

fn number(id: &str) -> usize {
    id.strip_prefix("sim-gpu-").unwrap().parse().unwrap()
}

fn pair(capacity: &str, allocatable: &str) -> (String, String) {
    (capacity.to_owned(), allocatable.to_owned())
}

#[test]
fn devices_are_held_by_one_pod_each_and_a_pod_that_finds_none_is_rejected() {
    let mut world = world(true);
    let first = run(&mut world, pod("first", "1"), NODE);
    let second = run(&mut world, pod("second", "1"), NODE);
    let third = run(&mut world, pod("direct", "3"), NODE);
    settle(&mut world);
    assert_ne!(shown(&world, &first), shown(&world, &second));
    let text = "Allocate failed due to requested number of devices unavailable for simulator.accelerator-fleet.io/gpu. \
                Requested: 3, Available: 2, which is unexpected";
    let rejected = status(&world, &third);
    assert_eq!(rejected.at(&["reason"]).str(), "UnexpectedAdmissionError");
    assert_eq!(rejected.at(&["message"]).str(), format!("Pod was rejected: {text}"));
    let fields: Vec<&str> = rejected.entries().iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(fields, ["message", "observedGeneration", "phase", "qosClass", "reason", "startTime"]);
    assert_eq!(events(&world, "direct"), [format!("UnexpectedAdmissionError x1 {text}")]);
}

#[test]
fn a_sick_device_shows_in_its_pod_at_once_and_in_the_node_at_the_next_look() {
    let mut world = world(true);
    let key = run(&mut world, pod("holder", "1"), NODE);
    settle(&mut world);
    let held = number(&shown(&world, &key)[0].0);
    tell(&mut world, &listed(&[held]));
    assert_eq!(shown(&world, &key)[0].1, "Unhealthy");
    assert_eq!(amounts(&world), pair("4", "4"), "not yet looked at");
    assert!(world.next_work().is_some(), "a look is due");
    settle(&mut world);
    assert_eq!(amounts(&world), pair("4", "3"));
    assert_eq!(status(&world, &key).at(&["phase"]).str(), "Running");
    assert_eq!(world.server.store.get(&key).unwrap().condition("Ready").at(&["status"]).str(), "True");
    tell(&mut world, &listed(&[]));
    settle(&mut world);
    assert_eq!((amounts(&world), shown(&world, &key)[0].1.as_str()), (pair("4", "4"), "Healthy"));
}

#[test]
fn a_message_that_says_nothing_new_moves_nothing() {
    let mut world = world(true);
    let before = world.server.store.revision();
    tell(&mut world, &listed(&[]));
    assert_eq!((world.next_work(), world.server.store.revision()), (None, before));
}

#[test]
fn a_dead_plugin_leaves_capacity_for_five_minutes_and_pods_for_good() {
    let mut world = world(true);
    let holder = run(&mut world, pod("holder", "1"), NODE);
    settle(&mut world);
    tell(&mut world, &stopped());
    settle(&mut world);
    assert_eq!(amounts(&world), pair("4", "0"));
    assert_eq!(shown(&world, &holder)[0].1, "Healthy", "the pods' status does not follow");
    let waits = run(&mut world, pod("waits", "1"), NODE);
    settle(&mut world);
    let text = "Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices \
                simulator.accelerator-fleet.io/gpu, which is unexpected";
    assert_eq!(status(&world, &waits).at(&["message"]).str(), text);
    world.advance(Duration::from_secs(320));
    assert_eq!(amounts(&world), pair("0", "0"));
    assert_eq!(status(&world, &holder).at(&["phase"]).str(), "Running");
    tell(&mut world, &registered());
    tell(&mut world, &listed(&[]));
    settle(&mut world);
    assert_eq!(amounts(&world), pair("4", "4"));
    let three = run(&mut world, pod("three", "3"), NODE);
    settle(&mut world);
    assert!(!shown(&world, &three).contains(&shown(&world, &holder)[0]), "the holder keeps its device");
}

#[test]
fn a_resource_whose_plugin_is_gone_for_good_fails_one_pod() {
    let mut world = world(true);
    let holder = run(&mut world, pod("holder", "1"), NODE);
    settle(&mut world);
    let caller = crate::api::Caller { now: world.now(), manager: "test" };
    world.server.delete(&caller, &holder, &crate::api::DeleteOptions::default()).unwrap();
    tell(&mut world, &stopped());
    world.advance(Duration::from_secs(320));
    patch(&mut world, &ObjectKey::new(Kind::NODE, "", NODE), &["status", "capacity", GPU], "4");
    settle(&mut world);
    assert_eq!(amounts(&world), pair("4", "4"));
    let one = run(&mut world, pod("one", "1"), NODE);
    let two = run(&mut world, pod("two", "1"), NODE);
    settle(&mut world);
    let text = "Pod was rejected: Allocate failed due to cannot allocate unregistered device \
                simulator.accelerator-fleet.io/gpu, which is unexpected";
    assert_eq!(status(&world, &one).at(&["message"]).str(), text);
    assert_eq!(status(&world, &two).at(&["phase"]).str(), "Running");
}

#[test]
fn a_restart_of_the_kubelet_keeps_running_pods_and_forgets_devices_until_the_plugin_returns() {
    let mut world = world(true);
    let key = run(&mut world, pod("holder", "2"), NODE);
    settle(&mut world);
    let before = shown(&world, &key);
    tell(&mut world, &NodeMessage::KubeletRestart);
    settle(&mut world);
    assert_eq!(amounts(&world), pair("0", "0"));
    assert!(events(&world, NODE).contains(&"Starting x1 Starting kubelet.".to_owned()));
    tell(&mut world, &registered());
    tell(&mut world, &listed(&[]));
    settle(&mut world);
    assert_eq!(amounts(&world), pair("4", "4"));
    assert_eq!((status(&world, &key).at(&["phase"]).str(), shown(&world, &key)), ("Running", before));
    let other = run(&mut world, pod("other", "3"), NODE);
    settle(&mut world);
    assert_eq!(status(&world, &other).at(&["reason"]).str(), "UnexpectedAdmissionError", "two are still held");
}

#[test]
fn s21_a_restart_without_a_checkpoint_forgets_patched_capacity() {
    let mut world = world(false);
    patch(&mut world, &ObjectKey::new(Kind::NODE, "", NODE), &["status", "capacity", GPU], "4");
    settle(&mut world);
    assert_eq!(amounts(&world), pair("4", "4"));
    tell(&mut world, &NodeMessage::KubeletRestart);
    settle(&mut world);
    assert_eq!(amounts(&world), pair("0", "0"));
}

#[test]
fn s22_the_scheduler_does_not_know_numa_and_the_node_refuses() {
    let mut config = Config::default();
    config.nodes[0].topology = Topology { policy: TopologyPolicy::SingleNumaNode, pod_scope: false, numa_nodes: 2 };
    let mut world = World::new(&config);
    let wide = run(&mut world, pod("wide", "3"), NODE);
    let narrow = run(&mut world, pod("narrow", "2"), NODE);
    settle(&mut world);
    let refused = status(&world, &wide);
    assert_eq!(refused.at(&["reason"]).str(), "TopologyAffinityError");
    let text = "Resources cannot be allocated with Topology locality";
    assert_eq!(refused.at(&["message"]).str(), format!("Pod was rejected: {text}"));
    assert_eq!(events(&world, "wide"), [format!("TopologyAffinityError x1 {text}")]);
    let devices: Vec<usize> = shown(&world, &narrow).iter().map(|(id, _)| number(id)).collect();
    assert!(devices == [0, 1] || devices == [2, 3], "{devices:?}");
}

#[test]
fn an_unknown_node_is_refused() {
    let mut world = world(true);
    assert_eq!(world.tell("nowhere", &stopped()), Err("node 'nowhere' has no kubelet".to_owned()));
}
