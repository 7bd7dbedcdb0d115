//! The scheduler in a world: nodes and pods come through the API server, outcomes are read from it.

mod golden;
mod parity;
mod plugins;
mod preempting;
mod properties;
mod queueing;

use std::time::Duration;

use crate::api::Caller;
use crate::api::registry::{Kind, Part};
use crate::api::store::ObjectKey;
use crate::object;
use crate::time::Ties;
use crate::value::{Map, Value};
use crate::world::{Config, World};

/// The extended resource of most tests.
const GPU: &str = "nvidia.com/gpu";

/// A world without nodes of its own.
struct Lab {
    world: World,
}

impl Lab {
    fn new() -> Lab {
        Lab::with(Ties::InOrder)
    }

    fn with(ties: Ties) -> Lab {
        let mut lab = Lab { world: World::new(&Config { ties, nodes: Vec::new(), ..Config::default() }) };
        let key = ObjectKey::new(Kind::NAMESPACE, "", "default");
        if lab.world.server.store.get(&key).is_none() {
            let namespace = object! {
                "apiVersion" => "v1", "kind" => "Namespace", "metadata" => object! { "name" => "default" },
            };
            lab.create(Kind::NAMESPACE, "", namespace);
        }
        lab
    }

    fn create(&mut self, kind: Kind, namespace: &str, object: Value) -> Value {
        let caller = Caller { now: self.world.now(), manager: "test" };
        let made = self.world.server.create(&caller, kind, namespace, object).expect("created");
        self.world.react();
        made
    }

    fn update(&mut self, kind: Kind, namespace: &str, name: &str, part: Part, change: impl FnOnce(&mut Value)) {
        let key = ObjectKey::new(kind, namespace, name);
        let mut object = self.world.server.store.get(&key).expect("there").clone();
        change(&mut object);
        let caller = Caller { now: self.world.now(), manager: "test" };
        self.world.server.update(&caller, &key, part, object).expect("updated");
        self.world.react();
    }

    fn delete(&mut self, kind: Kind, namespace: &str, name: &str) {
        let key = ObjectKey::new(kind, namespace, name);
        let caller = Caller { now: self.world.now(), manager: "test" };
        let options = crate::api::DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
        self.world.server.delete(&caller, &key, &options).expect("deleted");
        self.world.react();
    }

    /// A fleet node.
    fn node(&mut self, name: &str, labels: &[(&str, &str)], allocatable: &[(&str, &str)]) {
        self.node_with(name, labels, allocatable, |_| {});
    }

    fn node_with(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        allocatable: &[(&str, &str)],
        change: impl FnOnce(&mut Value),
    ) {
        let mut all: Map = [("cpu", "32"), ("memory", "256Gi"), ("pods", "110")].into_iter().collect();
        for (name, amount) in allocatable {
            all.insert(*name, *amount);
        }
        let mut labels: Map = labels.iter().copied().collect();
        labels.insert("kubernetes.io/hostname", name);
        let mut node = object! {
            "apiVersion" => "v1", "kind" => "Node",
            "metadata" => object! {
                "name" => name, "labels" => labels,
                "annotations" => object! { "kwok.x-k8s.io/node" => "fake" },
            },
            "spec" => Value::object(),
            "status" => object! { "capacity" => all.clone(), "allocatable" => all },
        };
        change(&mut node);
        self.create(Kind::NODE, "", node);
        self.settle();
    }

    /// Creates a pod and lets the world come to rest.
    fn pod(&mut self, name: &str, requests: &[(&str, &str)], change: impl FnOnce(&mut Value)) {
        let mut pod = pod(name, requests);
        change(&mut pod);
        self.submit(pod);
        self.settle();
    }

    /// Creates a pod. A priority in it is taken for that of a class, which is made when it is new.
    fn submit(&mut self, mut pod: Value) {
        if let Some(priority) = pod.remove(&["spec", "priority"]) {
            let policy = pod.remove(&["spec", "preemptionPolicy"]).unwrap_or("PreemptLowerPriority".into());
            let name = format!("p{}-{}", priority.int(), policy.str().to_lowercase());
            if self.world.server.store.get(&ObjectKey::new(Kind::PRIORITY_CLASS, "", name.as_str())).is_none() {
                let class = object! {
                    "apiVersion" => "scheduling.k8s.io/v1", "kind" => "PriorityClass",
                    "metadata" => object! { "name" => name.as_str() }, "value" => priority,
                    "preemptionPolicy" => policy,
                };
                self.create(Kind::PRIORITY_CLASS, "", class);
            }
            pod.set(&["spec", "priorityClassName"], name);
        }
        self.create(Kind::POD, "default", pod);
    }

    fn settle(&mut self) {
        assert!(self.world.settle(Duration::from_secs(60)), "the world comes to rest");
    }

    fn get(&self, name: &str) -> &Value {
        self.world.server.store.get(&ObjectKey::new(Kind::POD, "default", name)).expect("the pod")
    }

    /// The node of a pod, empty while it waits.
    fn place(&self, name: &str) -> &str {
        self.get(name).at(&["spec", "nodeName"]).str()
    }

    /// Why a pod waits.
    fn why(&self, name: &str) -> &str {
        assert_eq!(self.place(name), "", "{name} has a node");
        self.get(name).condition("PodScheduled").at(&["message"]).str()
    }

    /// Reasons and messages of the scheduler's events about a pod, in order.
    fn events(&self, name: &str) -> Vec<(String, String)> {
        let events = self.world.server.store.list(Kind::EVENT, "default").map(|(_, event)| event);
        let about = events.filter(|event| {
            event.at(&["involvedObject", "name"]).str() == name
                && event.at(&["reportingComponent"]).str() == "default-scheduler"
        });
        let text = |event: &Value, field: &str| event.at(&[field]).str().to_owned();
        about.map(|event| (text(event, "reason"), text(event, "message"))).collect()
    }

    /// How often the scheduler tried a pod in vain.
    fn failures(&self, name: &str) -> usize {
        let key = ObjectKey::new(Kind::POD, "default", name);
        self.world.trace.about(&key).filter(|decision| decision.reason == "FailedScheduling").count()
    }
}

/// A pod whose requests of extended resources are limits too.
fn pod(name: &str, requests: &[(&str, &str)]) -> Value {
    let limits: Map = requests.iter().filter(|(name, _)| name.contains('/')).copied().collect();
    let requests: Map = requests.iter().copied().collect();
    object! {
        "apiVersion" => "v1", "kind" => "Pod",
        "metadata" => object! { "name" => name, "labels" => object! { "app" => name } },
        "spec" => object! {
            "terminationGracePeriodSeconds" => 0,
            "containers" => crate::list![object! {
                "name" => "c", "image" => "registry.k8s.io/pause:3.10",
                "resources" => object! { "requests" => requests, "limits" => limits },
            }],
        },
    }
}

/// Asks for the nodes of the lab, as the recorded pods do.
fn in_lab(pod: &mut Value) {
    pod.set(&["spec", "nodeSelector"], object! { "lab" => "yes" });
}
