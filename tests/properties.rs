//! Laws that hold whatever is asked of the embedded cluster, seen through `kube::Client`.

#[path = "parity/kubectl.rs"]
mod kubectl;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use gpulab::backend::embedded::Embedded;
use gpulab_cluster::Config;
use gpulab_cluster::time::Ties;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kubectl::Kubectl;
use proptest::prelude::*;
use serde_json::Value;

const GPU: &str = "nvidia.com/gpu";
const DEVICE: &str = "simulator.accelerator-fleet.io/gpu";

/// Something that a user does.
#[derive(Clone, Debug)]
enum Deed {
    /// A pod that asks for GPUs and tenths of a CPU.
    Submit {
        gpus: u32,
        tenths: u32,
        tolerates: bool,
    },
    /// A pod that asks for devices of the node with the plugin.
    Hold(u32),
    /// A Deployment of one-GPU pods.
    Deploy(u32),
    /// Changes the replicas of one of the Deployments.
    Scale(usize, u32),
    /// Deletes one of the Deployments.
    Undeploy(usize),
    /// Deletes one of the pods.
    Delete(usize),
    Taint(usize),
    Untaint(usize),
    Cordon(usize),
    Uncordon(usize),
    /// Lets seconds pass.
    Wait(u64),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        4 => (0_u32..4, 1_u32..30, any::<bool>()).prop_map(|(gpus, tenths, tolerates)| Deed::Submit { gpus, tenths, tolerates }),
        2 => (0_u32..3).prop_map(Deed::Hold),
        1 => (0_u32..5).prop_map(Deed::Deploy),
        1 => (0_usize..3, 0_u32..5).prop_map(|(of, replicas)| Deed::Scale(of, replicas)),
        1 => (0_usize..3).prop_map(Deed::Undeploy),
        2 => (0_usize..8).prop_map(Deed::Delete),
        1 => (0_usize..2).prop_map(Deed::Taint),
        1 => (0_usize..2).prop_map(Deed::Untaint),
        1 => (0_usize..2).prop_map(Deed::Cordon),
        1 => (0_usize..2).prop_map(Deed::Uncordon),
        3 => (0_u64..20).prop_map(Deed::Wait),
    ];
    proptest::collection::vec(deed, 1..14)
}

/// Two nodes of four and two GPUs beside the one that is always there.
struct Lab {
    kubectl: Kubectl,
    pods: usize,
    deployments: usize,
}

impl Lab {
    async fn open(seed: u64, ties: Ties) -> Lab {
        let embedded = Embedded::new(&Config { seed, ties, ..Config::default() });
        let lab = Lab {
            kubectl: Kubectl { client: embedded.client(), embedded, names: BTreeMap::new() },
            pods: 0,
            deployments: 0,
        };
        for (name, gpus) in [("n0", 4), ("n1", 2)] {
            let amounts = format!("{{cpu: \"4\", memory: 16Gi, pods: \"110\", {GPU}: \"{gpus}\"}}");
            let node = format!(
                "{{apiVersion: v1, kind: Node, metadata: {{name: {name}, annotations: {{kwok.x-k8s.io/node: fake}}}}, status: {{capacity: {amounts}, allocatable: {amounts}}}}}"
            );
            lab.kubectl.create(&node, false).await.expect("a node");
        }
        lab.pass(10);
        lab
    }

    fn pass(&self, seconds: u64) {
        self.kubectl.embedded.with(|world| world.advance(Duration::from_secs(seconds)));
    }

    async fn act(&mut self, deed: &Deed) {
        let command = match deed {
            Deed::Submit { gpus, tenths, tolerates } => {
                let toleration = if *tolerates { "[{operator: Exists}]" } else { "[]" };
                let resources = format!("{{requests: {{cpu: {}m}}, limits: {{{GPU}: {gpus}}}}}", tenths * 100);
                return self.submit(&resources, toleration).await;
            }
            Deed::Hold(devices) => return self.submit(&format!("{{limits: {{{DEVICE}: {devices}}}}}"), "[]").await,
            Deed::Deploy(replicas) => {
                let name = format!("d{}", self.deployments);
                self.deployments += 1;
                let template = format!(
                    "{{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: [{{name: c, image: i:1, resources: {{limits: {{{GPU}: 1}}}}}}]}}}}"
                );
                let deployment = format!(
                    "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}}}, spec: {{replicas: {replicas}, selector: {{matchLabels: {{app: {name}}}}}, template: {template}}}}}"
                );
                return self.kubectl.create(&deployment, true).await.expect("a deployment");
            }
            Deed::Wait(seconds) => return self.pass(*seconds),
            Deed::Scale(of, replicas) => format!("scale deploy/d{of} --replicas={replicas}"),
            Deed::Undeploy(of) => format!("delete deploy d{of}"),
            Deed::Delete(pod) => format!("delete pod p{pod}"),
            Deed::Taint(node) => format!("taint node n{node} a=b:NoSchedule"),
            Deed::Untaint(node) => format!("taint node n{node} a-"),
            Deed::Cordon(node) => format!("cordon n{node}"),
            Deed::Uncordon(node) => format!("uncordon n{node}"),
        };
        // Deleting what is not there, or tainting twice, is refused; that is no law here.
        let _refused = self.kubectl.run(&command, "").await;
    }

    async fn submit(&mut self, resources: &str, tolerations: &str) {
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p{}}}, spec: {{tolerations: {tolerations}, terminationGracePeriodSeconds: 2, containers: [{{name: c, image: i:1, resources: {resources}}}]}}}}",
            self.pods
        );
        self.pods += 1;
        self.kubectl.create(&pod, true).await.expect("a pod");
    }

    async fn list(&self, plural: &str) -> Vec<Value> {
        self.kubectl.list(&kubectl::path(plural, None).expect("a known kind")).await
    }

    /// Everything there is, as bytes.
    async fn bytes(&self) -> String {
        let mut bytes = String::new();
        for kind in ["nodes", "pods", "namespaces", "deployments", "replicasets", "events"] {
            for object in self.list(kind).await {
                bytes.push_str(&format!("{object}\n"));
            }
        }
        bytes
    }

    /// Fails when a device is held twice.
    async fn no_device_is_held_twice(&self) {
        let mut held = BTreeSet::new();
        for pod in self.list("pods").await {
            let statuses = pod["status"]["containerStatuses"].as_array().cloned().unwrap_or_default();
            let running = statuses.iter().filter(|status| status["state"]["running"].is_object());
            for device in
                running.flat_map(|status| status["allocatedResourcesStatus"][0]["resources"].as_array()).flatten()
            {
                assert!(held.insert(device["resourceID"].to_string()), "{device} is held twice");
            }
        }
    }

    /// Fails when a Deployment has not the pods that it asks for, or a deleted one left pods behind.
    async fn deployments_have_their_pods(&self) {
        let pods = self.list("pods").await;
        let owned = pods.iter().filter(|pod| pod["metadata"]["ownerReferences"].is_array());
        let mut asked = 0;
        for deployment in self.list("deployments").await {
            let name = &deployment["metadata"]["name"];
            let replicas = deployment["spec"]["replicas"].as_u64().expect("replicas");
            let its = owned.clone().filter(|pod| pod["metadata"]["labels"]["app"] == *name);
            assert_eq!(its.count() as u64, replicas, "pods of {name}");
            assert_eq!(deployment["status"]["replicas"].as_u64().unwrap_or(0), replicas, "status of {name}");
            asked += replicas;
        }
        assert_eq!(owned.count() as u64, asked, "pods of Deployments that are gone");
    }

    /// Fails when a node carries more than it can.
    async fn no_node_is_overfull(&self) {
        let pods = self.list("pods").await;
        for node in self.list("nodes").await {
            let name = node["metadata"]["name"].as_str().expect("a name");
            let bound = pods.iter().filter(|pod| pod["spec"]["nodeName"] == name);
            let live = bound.filter(|pod| !matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded")));
            for resource in ["cpu", GPU, DEVICE] {
                let asked: u64 = live
                    .clone()
                    .map(|pod| thousandths(&pod["spec"]["containers"][0]["resources"]["requests"][resource]))
                    .sum();
                let there = thousandths(&node["status"]["allocatable"][resource]);
                assert!(asked <= there, "{name}: {asked} of {there} thousandths of {resource}");
            }
        }
    }
}

fn thousandths(quantity: &Value) -> u64 {
    match quantity.as_str().unwrap_or("0").strip_suffix('m') {
        Some(thousandths) => thousandths.parse().expect("a number"),
        None => quantity.as_str().unwrap_or("0").parse::<u64>().expect("a number") * 1000,
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

async fn played(seed: u64, ties: Ties, deeds: &[Deed]) -> Lab {
    let mut lab = Lab::open(seed, ties).await;
    for deed in deeds {
        lab.act(deed).await;
    }
    lab.pass(30);
    lab
}

/// By name: what a client knows that listed first and then applied every event of a watch.
async fn followed(deeds: &[Deed]) -> (BTreeMap<String, Value>, BTreeMap<String, Value>) {
    let mut lab = Lab::open(0, Ties::InOrder).await;
    let (before, after) = deeds.split_at(deeds.len() / 2);
    for deed in before {
        lab.act(deed).await;
    }
    let api: Api<Pod> = Api::namespaced(lab.kubectl.client.clone(), "default");
    let list = api.list(&ListParams::default()).await.expect("a list");
    let version = list.metadata.resource_version.expect("a version");
    let named = |pod: &Pod| (pod.metadata.name.clone().expect("a name"), serde_json::to_value(pod).expect("JSON"));
    let mut known: BTreeMap<String, Value> = list.items.iter().map(named).collect();
    let mut watch = api.watch(&WatchParams::default(), &version).await.expect("a watch").boxed();
    for deed in after {
        lab.act(deed).await;
    }
    lab.pass(10);
    while let Some(event) = watch.next().now_or_never() {
        match event.expect("an open watch").expect("an event") {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => known.extend([named(&pod)]),
            WatchEvent::Deleted(pod) => drop(known.remove(&named(&pod).0)),
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => panic!("{}", status.message),
        }
    }
    let now = api.list(&ListParams::default()).await.expect("a list").items.iter().map(named).collect();
    (known, now)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_seed_gives_the_same_bytes(deeds in deeds(), seed in any::<u64>()) {
        for ties in [Ties::InOrder, Ties::Shuffled(seed)] {
            let twice = [0, 1].map(|_| run(async { played(seed, ties, &deeds).await.bytes().await }));
            prop_assert_eq!(&twice[0], &twice[1]);
            prop_assert!(twice[0].contains("gpulab-control-plane"));
        }
    }

    #[test]
    fn no_node_is_overfull_and_deployments_get_their_pods(deeds in deeds(), seed in any::<u64>()) {
        run(async {
            let mut lab = Lab::open(seed, Ties::Shuffled(seed)).await;
            for deed in &deeds {
                lab.act(deed).await;
                lab.no_node_is_overfull().await;
                lab.no_device_is_held_twice().await;
            }
            lab.pass(60);
            lab.no_node_is_overfull().await;
            lab.no_device_is_held_twice().await;
            lab.deployments_have_their_pods().await;
        });
    }

    #[test]
    fn a_list_and_every_event_since_give_the_list_of_now(deeds in deeds()) {
        let (known, now) = run(followed(&deeds));
        prop_assert_eq!(known, now);
    }
}
