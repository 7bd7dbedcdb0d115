//! Admission: what the server adds to objects and refuses on other grounds than their own fields.

use super::registry::Kind;
use super::status::Status;
use super::store::ObjectKey;
use super::{Caller, Server};
use crate::value::Value;

/// Admission of a new object; may change it.
///
/// # Errors
/// 403 or 404 with the words of the plugin that refuses.
pub fn admit_create(_server: &Server, _caller: &Caller<'_>, _kind: Kind, _object: &mut Value) -> Result<(), Status> {
    Ok(())
}

/// Admission of a change; may change the object.
///
/// # Errors
/// 403 or 404 with the words of the plugin that refuses.
pub fn admit_update(
    _server: &Server,
    _caller: &Caller<'_>,
    _kind: Kind,
    _object: &mut Value,
    _before: &Value,
) -> Result<(), Status> {
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
