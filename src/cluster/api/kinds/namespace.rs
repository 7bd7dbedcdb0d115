//! `v1` Namespace.
//!
//! Source: `pkg/registry/core/namespace/strategy.go`, `pkg/apis/core/v1/defaults.go`.

use super::super::names::{self, NameRule};
use super::super::path::{Errors, Path};
use super::super::registry::{KindInfo, Strategy};
use super::super::schema::Schema;
use super::super::status::FieldError;
use super::words;
use crate::value::Value;
use crate::{list, object};

/// The kind.
pub(super) fn info() -> KindInfo {
    KindInfo {
        namespaced: false,
        returns_deleted: true,
        subresources: words(&["finalize", "status"]),
        ..super::kind("", "Namespace", "namespaces", &["ns"], Namespace)
    }
}

#[derive(Debug)]
struct Namespace;

impl Strategy for Namespace {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("Namespace")
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    /// The label that selectors of namespaces rely on.
    fn default(&self, object: &mut Value) {
        let name = object.at(&["metadata", "name"]).clone();
        if !name.str().is_empty() && object.labels().get("kubernetes.io/metadata.name") != Some(&name) {
            object.set(&["metadata", "labels", "kubernetes.io/metadata.name"], name);
        }
    }

    fn prepare_create(&self, object: &mut Value) {
        object.set(&["status"], object! { "phase" => "Active" });
        let finalizers = object.at(&["spec", "finalizers"]);
        if !finalizers.items().iter().any(|one| one.str() == "kubernetes") {
            let mut all = list!["kubernetes"];
            all.as_list_mut().extend(finalizers.items().iter().cloned());
            object.set(&["spec", "finalizers"], all);
        }
    }

    /// Finalizers change through `/finalize` alone.
    fn prepare_update(&self, object: &mut Value, old: &Value) {
        object.set(&["spec", "finalizers"], old.at(&["spec", "finalizers"]).clone());
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let at = Path::new("spec");
        for finalizer in object.at(&["spec", "finalizers"]).items() {
            let at = at.field("finalizers");
            let complaints = names::qualified_name(finalizer.str());
            if complaints.is_empty() && !finalizer.str().contains('/') && finalizer.str() != "kubernetes" {
                errors.invalid(
                    &at,
                    finalizer.str(),
                    "name is neither a standard finalizer name nor is it fully qualified",
                );
            }
            errors.each(&at, finalizer.str(), complaints);
        }
        errors.0
    }

    fn validate_update(&self, _object: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    fn validate_status(&self, object: &Value, _old: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let (phase, at) = (object.at(&["status", "phase"]), Path::new("status"));
        let wrong = match (object.is_deleting(), phase.str()) {
            (false, "Active") | (true, "Terminating") => None,
            (false, _) => Some("may only be 'Active' if `deletionTimestamp` is empty"),
            (true, _) => Some("may only be 'Terminating' if `deletionTimestamp` is not empty"),
        };
        if let Some(why) = wrong {
            errors.invalid(&at.field("Phase"), phase.str(), why);
        }
        errors.0
    }
}
