//! `policy/v1` PodDisruptionBudget.
//!
//! Source: `pkg/apis/policy/validation`, `pkg/registry/policy/poddisruptionbudget`.

use super::super::names;
use super::super::path::{Errors, Path};
use super::super::registry::{KindInfo, Strategy};
use super::super::schema::Schema;
use super::super::status::FieldError;
use super::{words, workloads};
use crate::object;
use crate::value::Value;

/// PodDisruptionBudget.
pub(super) fn info() -> KindInfo {
    KindInfo {
        generation: true,
        subresources: words(&["status"]),
        ..super::kind("policy", "PodDisruptionBudget", "poddisruptionbudgets", &["pdb"], Budget)
    }
}

#[derive(Debug)]
struct Budget;

impl Strategy for Budget {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("PodDisruptionBudget")
    }

    fn prepare_create(&self, object: &mut Value) {
        object.set(
            &["status"],
            object! { "currentHealthy" => 0, "desiredHealthy" => 0, "disruptionsAllowed" => 0, "expectedPods" => 0 },
        );
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let (spec, at) = (object.at(&["spec"]), Path::new("spec"));
        let (least, most) = (spec.at(&["minAvailable"]), spec.at(&["maxUnavailable"]));
        if !least.is_null() && !most.is_null() {
            errors.invalid(&at, spec.clone(), "minAvailable and maxUnavailable cannot be both set");
        }
        for (field, value) in [("minAvailable", least), ("maxUnavailable", most)] {
            if !value.is_null() {
                workloads::count_or_percent(&mut errors, &at.field(field), value);
                workloads::at_most_100(&mut errors, &at.field(field), value);
            }
        }
        names::label_selector(&mut errors, &at.field("selector"), spec.at(&["selector"]));
        let policy = spec.at(&["unhealthyPodEvictionPolicy"]);
        let known = ["AlwaysAllow", "IfHealthyBudget"];
        if !policy.is_null() && !known.contains(&policy.str()) {
            errors.not_supported(&at.field("unhealthyPodEvictionPolicy"), policy, &known);
        }
        errors.0
    }
}
