//! `pods/binding`.

use super::super::registry::Kind;
use super::super::status::{Resource, Status};
use super::super::store::ObjectKey;
use super::super::{Caller, Server};
use crate::object;
use crate::value::{Map, Value};

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";

impl Server {
    /// Binds a pod to a node (`pods/binding`). The node need not exist; zone and region labels of one that exists are
    /// copied to the pod (admission plugin PodTopologyLabels).
    ///
    /// # Errors
    /// 404, 409 when the pod is bound, being deleted or gated.
    pub fn bind(&mut self, caller: &Caller<'_>, key: &ObjectKey, node: &str) -> Result<(), Status> {
        self.bind_with(caller, key, node, &Value::object())
    }

    /// As [`Server::bind`], with a Binding object whose metadata says more.
    pub(in crate::api) fn bind_with(
        &mut self,
        caller: &Caller<'_>,
        key: &ObjectKey,
        node: &str,
        binding: &Value,
    ) -> Result<(), Status> {
        let Some(mut pod) = self.store.get(key).cloned() else {
            return Err(Status::not_found(self.registry.info(key.kind).resource(), &key.name));
        };
        let name = &key.name;
        let bound = pod.at(&["spec", "nodeName"]).str();
        let why = if pod.is_deleting() {
            Some(format!("pod {name} is being deleted, cannot be assigned to a host"))
        } else if !bound.is_empty() {
            Some(format!("pod {name} is already assigned to node {bound:?}"))
        } else if !pod.at(&["spec", "schedulingGates"]).items().is_empty() {
            Some(format!("pod {name} has non-empty .spec.schedulingGates"))
        } else {
            None
        };
        if let Some(why) = why {
            return Err(Status::conflict(Resource { group: "", plural: "pods/binding" }, name, &why));
        }
        pod.set(&["spec", "nodeName"], node);
        pod.remove(&["status", "nominatedNodeName"]);
        merge(&mut pod, "annotations", binding.at(&["metadata", "annotations"]).as_map());
        merge(&mut pod, "labels", self.topology(node).as_ref());
        set_condition(caller, &mut pod, object! { "type" => "PodScheduled", "status" => "True" });
        // Binding writes past the strategy, so the generation stays.
        self.keep(key, pod);
        Ok(())
    }

    fn topology(&self, node: &str) -> Option<Map> {
        let labels = self.store.get(&ObjectKey::new(Kind::NODE, "", node))?.labels();
        let copied: Map = [ZONE, REGION].into_iter().filter_map(|key| Some((key, labels.get(key)?.clone()))).collect();
        (!copied.is_empty()).then_some(copied)
    }
}

fn merge(pod: &mut Value, field: &str, values: Option<&Map>) {
    for (key, value) in values.into_iter().flatten() {
        pod.set(&["metadata", field, key], value.clone());
    }
}

/// Sets a pod condition as the server does: it knows no generation and keeps the one that was observed.
pub(super) fn set_condition(caller: &Caller<'_>, pod: &mut Value, mut condition: Value) {
    let observed = pod.condition(condition.at(&["type"]).str()).at(&["observedGeneration"]).clone();
    if !observed.is_null() {
        condition.set(&["observedGeneration"], observed);
    }
    condition.set(&["lastProbeTime"], Value::Null);
    pod.put_condition(condition, &caller.now.rfc3339());
}
