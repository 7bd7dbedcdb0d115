//! `v1` Pod.
//!
//! Source: `pkg/registry/core/pod/strategy.go`.

mod container;
pub(super) mod defaults;
mod placement;
mod qos;
mod spec;
mod update;
mod volume;

use super::super::path::{Errors, Path};
use super::super::registry::{KindInfo, Strategy};
use super::super::schema::Schema;
use super::super::status::FieldError;
use super::words;
use crate::value::Value;
use crate::{list, object};

pub(super) use container::resource_quantity;
pub(super) use spec::{Use, preemption_policy, validate_spec};

/// The kind.
pub(super) fn info() -> KindInfo {
    KindInfo {
        generation: true,
        returns_deleted: true,
        categories: words(&["all"]),
        subresources: words(&["binding", "ephemeralcontainers", "eviction", "log", "resize", "status"]),
        ..super::kind("", "Pod", "pods", &["po"], Pod)
    }
}

#[derive(Debug)]
struct Pod;

impl Strategy for Pod {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("Pod")
    }

    fn default(&self, object: &mut Value) {
        defaults::pod(object);
    }

    fn prepare_create(&self, object: &mut Value) {
        label_keys(object);
        let mut status = object! { "phase" => "Pending", "qosClass" => qos::class(object) };
        if !object.at(&["spec", "schedulingGates"]).items().is_empty() {
            status.set(&["conditions"], vec![gated()]);
        }
        object.set(&["status"], status);
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        validate_spec(&mut errors, object, &Path::new("spec"), Use::Pod);
        let at = Path::new("spec");
        if !object.at(&["spec", "ephemeralContainers"]).items().is_empty() {
            errors.forbidden(&at.field("ephemeralContainers"), "cannot be set on create");
        }
        errors.0
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        update::validate(object, old)
    }

    fn validate_status(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        update::validate_status(object, old)
    }
}

/// `matchLabelKeys` and `mismatchLabelKeys` become requirements on the pod's own values (KEP-3633, KEP-3243).
fn label_keys(pod: &mut Value) {
    let labels = pod.labels().clone();
    let extend = |of: &mut Value| {
        for (keys, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
            let values: Vec<Value> = of
                .at(&[keys])
                .items()
                .iter()
                .filter_map(|key| {
                    let value = labels.get(key.str())?;
                    Some(object! { "key" => key, "operator" => operator, "values" => list![value] })
                })
                .collect();
            if !values.is_empty() && of.get("labelSelector").is_some() {
                of.make(&["labelSelector", "matchExpressions"]).as_list_mut().extend(values);
            }
        }
    };
    if let Some(spread) = pod.at_mut(&["spec", "topologySpreadConstraints"]) {
        spread.as_list_mut().iter_mut().for_each(extend);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(rules) = pod.at_mut(&["spec", "affinity", kind]) else { continue };
        if let Some(required) = rules.at_mut(&["requiredDuringSchedulingIgnoredDuringExecution"]) {
            required.as_list_mut().iter_mut().for_each(extend);
        }
        if let Some(preferred) = rules.at_mut(&["preferredDuringSchedulingIgnoredDuringExecution"]) {
            preferred.as_list_mut().iter_mut().filter_map(|term| term.at_mut(&["podAffinityTerm"])).for_each(extend);
        }
    }
}

/// The condition of a pod that is created with scheduling gates.
fn gated() -> Value {
    object! {
        "type" => "PodScheduled", "status" => "False", "reason" => "SchedulingGated", "lastProbeTime" => Value::Null,
        "lastTransitionTime" => Value::Null,
        "message" => "Scheduling is blocked due to non-empty scheduling gates",
    }
}

#[cfg(test)]
mod tests;
