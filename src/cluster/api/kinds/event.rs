//! Events: kept as `v1`, served as `events.k8s.io/v1` too, where some fields have other names.
//!
//! Source: `pkg/apis/core/validation/events.go`, `pkg/apis/events/v1/conversion.go`.

use super::super::path::{Errors, Path};
use super::super::registry::{KindInfo, Strategy};
use super::super::schema::Schema;
use super::super::status::FieldError;
use crate::value::{Text, Value};

/// The kind, as `v1`.
pub(super) fn info() -> KindInfo {
    KindInfo { create_on_update: true, ..super::kind("", "Event", "events", &["ev"], Event) }
}

/// Fields with two names: in `v1`, and in `events.k8s.io/v1`.
const NAMES: [(&str, &str); 8] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("apiVersion", "apiVersion"),
];

/// The event as `events.k8s.io/v1` shows it.
pub fn to_events_v1(event: &Value) -> Value {
    let mut made = renamed(event, |name| NAMES.iter().find(|(core, _)| *core == name).map(|(_, other)| *other));
    made.set(&["apiVersion"], "events.k8s.io/v1");
    made
}

/// The `v1` form of an event that came as `events.k8s.io/v1`.
pub fn from_events_v1(event: &Value) -> Value {
    let mut made = renamed(event, |name| NAMES.iter().find(|(_, other)| *other == name).map(|(core, _)| *core));
    made.set(&["apiVersion"], "v1");
    for (name, zero) in [("involvedObject", Value::object()), ("source", Value::object())] {
        if made.get(name).is_none() {
            made.set(&[name], zero);
        }
    }
    for name in ["firstTimestamp", "lastTimestamp", "eventTime"] {
        if made.get(name).is_none() {
            made.set(&[name], Value::Null);
        }
    }
    for name in ["reportingComponent", "reportingInstance"] {
        if made.get(name).is_none() {
            made.set(&[name], "");
        }
    }
    made
}

fn renamed(event: &Value, name: impl Fn(&str) -> Option<&'static str>) -> Value {
    let entries = event.entries().iter();
    Value::Map(entries.map(|(key, value)| (name(key).map_or(key.clone(), Text::from), value.clone())).collect())
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
