//! Admission: what the server adds to objects and refuses on other grounds than their own fields.
//!
//! The plugins run in upstream's order (`pkg/kubeapiserver/options/plugins.go`): NamespaceLifecycle, ServiceAccount,
//! TaintNodesByCondition, Priority, DefaultTolerationSeconds. PodTopologyLabels acts on bindings, in the verb.

mod pod;

use super::registry::Kind;
use super::status::Status;
use super::store::ObjectKey;
use super::{Caller, Server};
use crate::value::Value;
use crate::{list, object};

/// Admission of a new object; may change it.
///
/// # Errors
/// 403 or 404 with the words of the plugin that refuses.
pub fn admit_create(server: &Server, _caller: &Caller<'_>, kind: Kind, object: &mut Value) -> Result<(), Status> {
    namespace(server, kind, object, true)?;
    match kind {
        Kind::POD => pod::admit(server, object),
        Kind::PRIORITY_CLASS => one_default(server, object),
        Kind::NODE => {
            not_ready(object);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// TaintNodesByCondition: a new node takes no pods until the node controller has seen that it is ready.
fn not_ready(node: &mut Value) {
    const KEY: &str = "node.kubernetes.io/not-ready";
    let is_it = |taint: &Value| taint.at(&["key"]).str() == KEY && taint.at(&["effect"]).str() == "NoSchedule";
    if !node.at(&["spec", "taints"]).items().iter().any(is_it) {
        let taint = object! { "effect" => "NoSchedule", "key" => KEY };
        node.make(&["spec", "taints"]).as_list_mut().push(taint);
    }
}

/// Admission of a change of the main resource; may change the object.
///
/// # Errors
/// 403 or 404 with the words of the plugin that refuses.
pub fn admit_update(
    server: &Server,
    _caller: &Caller<'_>,
    kind: Kind,
    object: &mut Value,
    before: &Value,
) -> Result<(), Status> {
    namespace(server, kind, before, false)?;
    match kind {
        Kind::POD => pod::admit_update(object, before),
        Kind::PRIORITY_CLASS => return one_default(server, object),
        _ => {}
    }
    Ok(())
}

/// Namespaces that may not be deleted (admission plugin NamespaceLifecycle).
const PROTECTED: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Admission of a deletion.
///
/// # Errors
/// 403 with the words of the plugin that refuses.
pub fn admit_delete(server: &Server, _caller: &Caller<'_>, key: &ObjectKey) -> Result<(), Status> {
    if key.kind == Kind::NAMESPACE && PROTECTED.contains(&key.name.as_str()) {
        let resource = server.registry.info(key.kind).resource();
        return Err(Status::forbidden(resource, &key.name, "this namespace may not be deleted"));
    }
    Ok(())
}

/// NamespaceLifecycle: objects live in namespaces that exist, and new ones not in those that are on their way out.
fn namespace(server: &Server, kind: Kind, object: &Value, new: bool) -> Result<(), Status> {
    let info = server.registry.info(kind);
    if !info.namespaced {
        return Ok(());
    }
    let name = object.namespace();
    let Some(namespace) = server.store.get(&ObjectKey::new(Kind::NAMESPACE, "", name)) else {
        return Err(Status::not_found(server.registry.info(Kind::NAMESPACE).resource(), name));
    };
    let terminating = namespace.is_deleting() || namespace.at(&["status", "phase"]).str() == "Terminating";
    if !new || !terminating {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {name} because it is being terminated");
    let mut status = Status::forbidden(info.resource(), object.name(), &why);
    let cause = object! {
        "reason" => "NamespaceTerminating", "message" => format!("namespace {name} is being terminated"),
        "field" => "metadata.namespace",
    };
    status.details.set(&["causes"], list![cause]);
    Err(status)
}

/// Priority, for classes: at most one is the default.
fn one_default(server: &Server, class: &Value) -> Result<(), Status> {
    if !class.at(&["globalDefault"]).is_true() {
        return Ok(());
    }
    match pod::default_class(server) {
        Some(default) if default.name() != class.name() => {
            let name = default.name();
            let why = format!("PriorityClass {name} is already marked as default. Only one default can exist");
            let resource = server.registry.info(Kind::PRIORITY_CLASS).resource();
            Err(Status::forbidden(resource, class.name(), &why))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
