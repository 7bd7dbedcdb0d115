//! A world whose pods are bound by the test, so that controllers are tested without a scheduler.

mod budgets;
mod collection;
mod deployments;
mod jobs;
mod nodes;
mod random;

use std::time::Duration;

use crate::api::Caller;
use crate::api::registry::{Kind, Part};
use crate::api::store::ObjectKey;
use crate::value::Value;
use crate::world::{Config, World};
use crate::{list, object};

const NODE: &str = "gpulab-control-plane";
const GPU: &str = "simulator.accelerator-fleet.io/gpu";

fn world() -> World {
    let mut config = Config::default();
    config.nodes[0].devices = None;
    World::new(&config)
}

fn create(world: &mut World, kind: Kind, namespace: &str, object: Value) -> ObjectKey {
    let caller = Caller { now: world.now(), manager: "test" };
    let made = world.server.create(&caller, kind, namespace, object).unwrap();
    world.react();
    ObjectKey::of(kind, &made)
}

fn change(world: &mut World, key: &ObjectKey, part: Part, how: impl FnOnce(&mut Value)) {
    let mut object = get(world, key);
    how(&mut object);
    let caller = Caller { now: world.now(), manager: "test" };
    world.server.update(&caller, key, part, object).unwrap();
    world.react();
}

fn delete(world: &mut World, key: &ObjectKey) {
    let caller = Caller { now: world.now(), manager: "test" };
    world.server.delete(&caller, key, &crate::api::DeleteOptions::default()).unwrap();
    world.react();
}

fn get(world: &World, key: &ObjectKey) -> Value {
    world.server.store.get(key).unwrap().clone()
}

fn settle(world: &mut World) {
    assert!(world.settle(Duration::from_secs(600)), "the world does not come to rest");
}

fn all(world: &World, kind: Kind) -> Vec<Value> {
    world.server.store.list(kind, "default").map(|(_, object)| object.clone()).collect()
}

fn active(world: &World) -> Vec<Value> {
    let mut pods = all(world, Kind::POD);
    pods.retain(|pod| !pod.is_deleting() && !["Succeeded", "Failed"].contains(&pod.at(&["status", "phase"]).str()));
    pods
}

/// Binds up to `count` waiting pods to the node and lets the world come to rest.
fn bind(world: &mut World, count: usize) {
    let waiting = active(world).into_iter().filter(|pod| pod.at(&["spec", "nodeName"]).str().is_empty());
    for pod in waiting.take(count).collect::<Vec<_>>() {
        let caller = Caller { now: world.now(), manager: "test" };
        world.server.bind(&caller, &ObjectKey::of(Kind::POD, &pod), NODE).unwrap();
    }
    world.react();
    settle(world);
}

fn template(app: &str, image: &str) -> Value {
    object! {
        "metadata" => object! { "labels" => object! { "app" => app } },
        "spec" => object! {
            "containers" => list![object! {
                "name" => "scan", "image" => image,
                "resources" => object! { "limits" => object! { GPU => "1" }, "requests" => object! { GPU => "1" } },
            }],
            "restartPolicy" => "Always", "terminationGracePeriodSeconds" => 1,
        },
    }
}

fn deployment(name: &str, replicas: i64) -> Value {
    object! {
        "apiVersion" => "apps/v1", "kind" => "Deployment",
        "metadata" => object! { "name" => name, "namespace" => "default" },
        "spec" => object! {
            "replicas" => replicas, "progressDeadlineSeconds" => 600, "revisionHistoryLimit" => 10,
            "selector" => object! { "matchLabels" => object! { "app" => name } },
            "strategy" => object! {
                "type" => "RollingUpdate",
                "rollingUpdate" => object! { "maxSurge" => "25%", "maxUnavailable" => "25%" },
            },
            "template" => template(name, "registry.k8s.io/pause:3.10"),
        },
    }
}

fn events(world: &World, kind: &str) -> Vec<String> {
    let events = all(world, Kind::EVENT);
    let about = events.iter().filter(|event| event.at(&["involvedObject", "kind"]).str() == kind);
    let mut lines: Vec<String> =
        about.map(|event| format!("{} {}", event.at(&["reason"]).str(), event.at(&["message"]).str())).collect();
    lines.sort();
    lines
}

/// `type=status/reason` of the conditions, in order.
fn conditions(object: &Value) -> Vec<String> {
    let conditions = object.at(&["status", "conditions"]).items().iter();
    conditions
        .map(|one| format!("{}={}/{}", one.at(&["type"]).str(), one.at(&["status"]).str(), one.at(&["reason"]).str()))
        .collect()
}

/// A status without its conditions, as JSON.
fn counts(object: &Value) -> String {
    let mut status = object.at(&["status"]).clone();
    status.remove(&["conditions"]);
    status.to_json()
}
