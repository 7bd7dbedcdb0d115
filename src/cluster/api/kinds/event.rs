//! Events, as they are kept (`v1`).
//!
//! Source: `pkg/apis/core/validation/events.go`.

use super::super::path::{Errors, Path};
use super::super::registry::{KindInfo, Strategy};
use super::super::schema::Schema;
use super::super::status::FieldError;
use crate::value::Value;

/// The kind, as `v1`.
pub(super) fn info() -> KindInfo {
    KindInfo { create_on_update: true, ..super::kind("", "Event", "events", &["ev"], Event) }
}

#[derive(Debug)]
struct Event;

impl Strategy for Event {
    fn schema(&self, version: &str) -> Schema {
        Schema::named(if version == "events.k8s.io/v1" { "events.Event" } else { "Event" })
    }

    fn prepare_create(&self, _object: &mut Value) {}

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let involved = object.at(&["involvedObject", "namespace"]).str();
        let namespace = object.namespace();
        let at = Path::new("involvedObject");
        // Events about cluster-scoped objects live in `default`.
        if involved.is_empty() {
            if !["", "default", "kube-system"].contains(&namespace) {
                errors.invalid(&at.field("namespace"), involved, "does not match event.namespace");
            }
        } else if involved != namespace {
            errors.invalid(&at.field("namespace"), involved, "does not match event.namespace");
        }
        errors.0
    }
}
