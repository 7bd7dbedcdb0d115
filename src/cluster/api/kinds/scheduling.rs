//! `scheduling.k8s.io/v1` PriorityClass and `coordination.k8s.io/v1` Lease.
//!
//! Source: `pkg/apis/scheduling/validation`, `pkg/apis/coordination/validation`.

use super::super::path::{Errors, Path};
use super::super::registry::{KindInfo, Strategy};
use super::super::schema::Schema;
use super::super::status::FieldError;
use super::pod::preemption_policy;
use crate::value::Value;

/// PriorityClass.
pub(super) fn priority_class() -> KindInfo {
    KindInfo {
        namespaced: false,
        generation: true,
        ..super::kind("scheduling.k8s.io", "PriorityClass", "priorityclasses", &["pc"], PriorityClass)
    }
}

/// Lease.
pub(super) fn lease() -> KindInfo {
    KindInfo { create_on_update: true, ..super::kind("coordination.k8s.io", "Lease", "leases", &[], Lease) }
}

/// The highest value of a class that is not the system's.
const HIGHEST: i64 = 1_000_000_000;

/// The classes that the system brings, and their values.
pub(crate) const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

#[derive(Debug)]
struct PriorityClass;

impl Strategy for PriorityClass {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("PriorityClass")
    }

    fn default(&self, object: &mut Value) {
        if object.get("preemptionPolicy").is_none() {
            object.set(&["preemptionPolicy"], "PreemptLowerPriority");
        }
    }

    fn prepare_create(&self, _object: &mut Value) {}

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let (name, value) = (object.name(), object.at(&["value"]).int());
        let metadata = Path::new("metadata");
        if name.starts_with("system-") {
            let known = SYSTEM_CLASSES.iter().find(|(system, _)| *system == name);
            let wrong = match known {
                None => Some("only standard priority classes are allowed".to_owned()),
                Some((_, right)) if *right != value => Some(format!("value of {name} PriorityClass must be {right}")),
                Some(_) if object.at(&["globalDefault"]).is_true() => {
                    Some(format!("globalDefault of {name} PriorityClass must be false"))
                }
                Some(_) => None,
            };
            if let Some(wrong) = wrong {
                let why = "priority class names with 'system-' prefix are reserved for system use only. error";
                errors.forbidden(&metadata.field("name"), format!("{why}: {wrong}"));
            }
        } else if value > HIGHEST {
            let why = format!("maximum allowed value of a user defined priority is {HIGHEST}");
            errors.forbidden(&Path::new("value"), why);
        }
        preemption_policy(&mut errors, &Path::new("preemptionPolicy"), object.at(&["preemptionPolicy"]));
        errors.0
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        if object.at(&["value"]).int() != old.at(&["value"]).int() {
            errors.forbidden(&Path::new("value"), "may not be changed in an update.");
        }
        errors.immutable(
            &Path::new("preemptionPolicy"),
            object.at(&["preemptionPolicy"]),
            old.at(&["preemptionPolicy"]),
        );
        errors.0
    }

    fn bumps_generation(&self, _object: &Value, _old: &Value) -> bool {
        false
    }
}

#[derive(Debug)]
struct Lease;

impl Strategy for Lease {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("Lease")
    }

    fn prepare_create(&self, _object: &mut Value) {}

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let (spec, at) = (object.at(&["spec"]), Path::new("spec"));
        let seconds = spec.at(&["leaseDurationSeconds"]);
        if !seconds.is_null() && seconds.int() <= 0 {
            errors.invalid(&at.field("leaseDurationSeconds"), seconds.int(), "must be greater than 0");
        }
        let turns = spec.at(&["leaseTransitions"]);
        if turns.int() < 0 {
            errors.invalid(&at.field("leaseTransitions"), turns.int(), "must be greater than or equal to 0");
        }
        errors.0
    }
}
