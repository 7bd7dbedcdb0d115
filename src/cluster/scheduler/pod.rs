//! What the scheduler keeps of a pod.

use std::sync::Arc;

use super::amounts::{Requests, Resources, pod_requests};
use super::terms::{HostPort, PodAffinity, PreferredNode, Spread};
use crate::api::placement::{NodeRequirement, Toleration};
use crate::api::store::ObjectKey;
use crate::time::VirtualTime;
use crate::value::{Text, Value};

/// The rules of a pod's placement. Pods of one template share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// `spec.schedulerName`.
    pub scheduler: Text,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `nodeSelector` and required node affinity.
    pub node: Option<NodeRequirement>,
    /// Wishes about nodes.
    pub preferred_nodes: Vec<PreferredNode>,
    /// Affinity between pods.
    pub affinity: Option<PodAffinity>,
    /// Spread constraints of the pod itself.
    pub spread: Vec<Spread>,
    /// Ports of the node.
    pub ports: Vec<HostPort>,
    /// Images of all containers and image volumes, with a tag.
    pub images: Vec<Text>,
    /// Number of containers, init containers included.
    pub containers: i64,
    /// `spec.preemptionPolicy` is `Never`.
    pub never_preempts: bool,
    /// Claims of volumes.
    pub claims: Vec<Text>,
}

/// What the scheduler keeps of a pod.
#[derive(Clone, Debug)]
pub struct PodInfo {
    /// Where it is in the store.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Text,
    /// `metadata.labels`.
    pub labels: Value,
    /// `spec.priority`.
    pub priority: i64,
    /// What it asks for.
    pub requests: Requests,
    /// cpu and memory as they count in scores.
    pub non_zero: [i64; 2],
    /// `spec.nodeName`.
    pub node: Text,
    /// `status.nominatedNodeName`.
    pub nominated: Text,
    /// The ReplicaSet that controls it.
    pub replica_set: Text,
    /// `status.startTime`, for the choice of victims.
    pub started: Option<VirtualTime>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether the scheduler itself evicted it.
    pub preempted: bool,
    /// Whether scheduling gates are left.
    pub gated: bool,
    /// The rules of its placement.
    pub rules: Arc<Rules>,
}

impl PodInfo {
    /// Reads a pod. `last` is the set of rules read last: pods of one template share it.
    pub fn of(key: &ObjectKey, pod: &Value, resources: &mut Resources, last: &mut Arc<Rules>) -> PodInfo {
        let spec = pod.at(&["spec"]);
        let (requests, non_zero) = pod_requests(spec, resources);
        let rules = Rules::of(pod, spec);
        if **last != rules {
            *last = Arc::new(rules);
        }
        let owner = pod.controller().filter(|owner| owner.at(&["kind"]).str() == "ReplicaSet");
        let disrupted = pod.condition("DisruptionTarget");
        PodInfo {
            key: key.clone(),
            uid: pod.at(&["metadata", "uid"]).text(),
            labels: pod.labels().clone(),
            priority: spec.at(&["priority"]).int(),
            requests,
            non_zero,
            node: spec.at(&["nodeName"]).text(),
            nominated: pod.at(&["status", "nominatedNodeName"]).text(),
            replica_set: owner.map(|owner| owner.at(&["name"]).text()).unwrap_or_default(),
            started: VirtualTime::parse(pod.at(&["status", "startTime"]).str()),
            deleting: pod.is_deleting(),
            preempted: disrupted.at(&["reason"]).str() == "PreemptionByScheduler"
                && disrupted.at(&["status"]).str() == "True",
            gated: !spec.at(&["schedulingGates"]).items().is_empty(),
            rules: last.clone(),
        }
    }

    /// Its namespace.
    pub fn namespace(&self) -> &Text {
        &self.key.namespace
    }

    /// Whether it is on a node or has one in prospect.
    pub fn placed(&self) -> bool {
        !self.node.is_empty() || !self.nominated.is_empty()
    }
}

impl Rules {
    fn of(pod: &Value, spec: &Value) -> Rules {
        let containers = spec.at(&["containers"]).items();
        let init = spec.at(&["initContainers"]).items();
        let volumes = spec.at(&["volumes"]).items();
        let images = init.iter().chain(containers).map(|container| container.at(&["image"]));
        let images = images.chain(volumes.iter().map(|volume| volume.at(&["image", "reference"])));
        let claims = volumes.iter().map(|volume| volume.at(&["persistentVolumeClaim", "claimName"]));
        Rules {
            scheduler: spec.at(&["schedulerName"]).text(),
            tolerations: spec.at(&["tolerations"]).items().iter().map(Toleration::of).collect(),
            node: NodeRequirement::of(spec),
            preferred_nodes: PreferredNode::all(spec),
            affinity: PodAffinity::of(spec, &pod.at(&["metadata", "namespace"]).text()),
            spread: Spread::all(spec, pod.labels()),
            ports: HostPort::all(spec),
            images: images.filter(|image| !image.is_null()).map(|image| tagged(image.text())).collect(),
            containers: (containers.len() + init.len()) as i64,
            never_preempts: spec.at(&["preemptionPolicy"]).str() == "Never",
            claims: claims.filter(|claim| !claim.is_null()).map(Value::text).collect(),
        }
    }
}

/// An image name without a tag means `:latest`.
fn tagged(image: Text) -> Text {
    let after = image.rfind(':').map_or(0, |at| at + 1);
    if after <= image.rfind('/').map_or(0, |at| at + 1) { Text::from(format!("{image}:latest")) } else { image }
}

/// Whether two states of a pod are the same to the scheduler.
pub fn same_to_scheduler(before: &Value, after: &Value) -> bool {
    let status = |pod: &Value, field: &str| pod.at(&["status", field]).text();
    before.get("spec") == after.get("spec")
        && before.labels() == after.labels()
        && before.is_deleting() == after.is_deleting()
        && before.has_ended() == after.has_ended()
        && status(before, "nominatedNodeName") == status(after, "nominatedNodeName")
        && status(before, "startTime") == status(after, "startTime")
        && before.condition("DisruptionTarget") == after.condition("DisruptionTarget")
}
