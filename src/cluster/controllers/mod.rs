//! The controllers, one file each. They meet only in the store.

pub mod deployment;
pub mod disruption;
pub mod garbage_collector;
pub mod job;
pub mod namespace;
pub mod node_lifecycle;
pub mod pod_gc;
pub mod replica_set;
#[cfg(test)]
mod tests;

use crate::api::registry::Kind;
use crate::api::store::ObjectKey;
use crate::component::Context;
use crate::events::{EventSpec, Source};
use crate::object;
use crate::value::Value;

/// The controller reference to `owner` for `metadata.ownerReferences`.
fn controller_reference(api_version: &str, kind: &str, owner: &Value) -> Value {
    object! {
        "apiVersion" => api_version, "kind" => kind, "name" => owner.name(), "uid" => owner.uid(),
        "controller" => true, "blockOwnerDeletion" => true,
    }
}

/// Sends a core event of the controller `component` about the object under `key`.
fn event(cx: &mut Context<'_>, component: &str, key: &ObjectKey, warning: bool, reason: &str, message: &str) {
    let Some(object) = cx.get(key).cloned() else { return };
    event_about(cx, component, key.kind, &object, warning, reason, message);
}

/// Sends a core event of the controller `component` about an object.
fn event_about(
    cx: &mut Context<'_>,
    component: &str,
    kind: Kind,
    object: &Value,
    warning: bool,
    reason: &str,
    message: &str,
) {
    cx.event(&EventSpec {
        kind,
        regarding: object,
        field_path: "",
        warning,
        reason,
        message,
        source: Source::Core { component, host: "" },
    });
}

/// Puts a count into a status; a zero is left out, as `omitempty` does.
fn set_count(status: &mut Value, field: &str, count: i64) {
    if count == 0 {
        status.remove(&[field]);
    } else {
        status.set(&[field], count);
    }
}
