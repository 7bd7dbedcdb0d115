//! Update, of the object and of its parts.

use super::super::admission;
use super::super::names;
use super::super::registry::{Kind, KindInfo, Part};
use super::super::status::{FieldError, Status};
use super::super::store::ObjectKey;
use super::super::{Caller, Server};
use crate::value::Value;

impl Server {
    /// Changes a part of an object; `object` is the whole object as the caller wants it. A change that changes nothing
    /// is not written.
    ///
    /// # Errors
    /// 404, 409 for an old resourceVersion or another uid, 422 for wrong fields.
    pub fn update(
        &mut self,
        caller: &Caller<'_>,
        key: &ObjectKey,
        part: Part,
        mut object: Value,
    ) -> Result<Value, Status> {
        let info = self.registry.info(key.kind).clone();
        let Some(before) = self.store.get(key).cloned() else {
            if info.create_on_update && part == Part::Main {
                object.remove(&["metadata", "resourceVersion"]);
                return self.create(caller, key.kind, &key.namespace, object);
            }
            return Err(Status::not_found(info.resource(), &key.name));
        };
        let custom = self.registry.is_custom(key.kind);
        check_uid(&info, custom, key, &object, &before)?;
        if part == Part::Main {
            info.strategy.default(&mut object);
            admission::admit_update(self, caller, key.kind, &mut object, &before)?;
        }
        check_version(&info, custom, key, &object, &before)?;
        let mut object = assemble(&info, custom, part, object, &before);
        keep_metadata(key, &mut object, &before);
        if part == Part::Main {
            info.strategy.prepare_update(&mut object, &before);
            if info.generation && info.strategy.bumps_generation(&object, &before) {
                let generation = before.at(&["metadata", "generation"]).int();
                object.set(&["metadata", "generation"], generation + 1);
            }
        }
        let mut errors = new_finalizers(&object, &before);
        errors.extend(names::validate_metadata_update(&object, &before));
        errors.extend(match part {
            Part::Main => info.strategy.validate_update(&object, &before),
            Part::Status => info.strategy.validate_status(&object, &before),
            _ => Vec::new(),
        });
        if !errors.is_empty() {
            return Err(Status::invalid(&info.group, &info.kind, &key.name, &errors));
        }
        if goes_with_update(key.kind, &object, &before) {
            // The change itself is never written: watchers see the last kept state go.
            self.drop_object(key, before);
            return Ok(object);
        }
        if object == before {
            return Ok(before);
        }
        let kept = self.keep(key, object);
        if key.kind == Kind::EVENT {
            self.expire_later(caller.now, key.clone());
        }
        Ok(kept)
    }
}

fn check_uid(info: &KindInfo, custom: bool, key: &ObjectKey, object: &Value, before: &Value) -> Result<(), Status> {
    let (uid, kept) = (object.uid(), before.uid());
    if uid.is_empty() || uid == kept {
        return Ok(());
    }
    // Where etcd keeps them: two kinds have historic names, custom ones their group before them.
    let folder = match key.kind {
        Kind::NODE => "minions".to_owned(),
        Kind::SERVICE => "services/specs".to_owned(),
        _ if custom => format!("{}/{}", info.group, info.plural),
        _ => info.plural.to_string(),
    };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{folder}/{}{}{}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {uid}, UID in object meta: {kept}",
        key.namespace,
        if key.namespace.is_empty() { "" } else { "/" },
        key.name
    );
    Err(Status::conflict(info.resource(), &key.name, &why))
}

/// An update without resourceVersion is unconditional, except where the kind forbids it.
fn check_version(info: &KindInfo, custom: bool, key: &ObjectKey, object: &Value, before: &Value) -> Result<(), Status> {
    let version = object.at(&["metadata", "resourceVersion"]);
    if matches!(version.str(), "" | "0") {
        let conditional =
            custom || matches!(key.kind, Kind::LEASE | Kind::POD_DISRUPTION_BUDGET | Kind::CUSTOM_RESOURCE_DEFINITION);
        if !conditional {
            return Ok(());
        }
        let error = FieldError::invalid("metadata.resourceVersion", &Value::Int(0), "must be specified for an update");
        return Err(Status::invalid(&info.group, &info.kind, &key.name, &[error]));
    }
    if version != before.at(&["metadata", "resourceVersion"]) {
        return Err(Status::modified(info.resource(), &key.name));
    }
    Ok(())
}

/// Takes from `object` only what `part` may change.
fn assemble(info: &KindInfo, custom: bool, part: Part, mut object: Value, before: &Value) -> Value {
    match part {
        Part::Main => {
            if info.has("status") {
                match before.get("status") {
                    Some(status) => object.set(&["status"], status.clone()),
                    None => drop(object.remove(&["status"])),
                }
            }
            object
        }
        Part::Status => {
            let mut made = before.clone();
            match object.get("status") {
                Some(status) => made.set(&["status"], status.clone()),
                None => drop(made.remove(&["status"])),
            }
            if !custom && info.id != Kind::CUSTOM_RESOURCE_DEFINITION {
                let metadata = object.at(&["metadata"]).clone();
                made.set(&["metadata"], metadata);
                match info.id {
                    Kind::POD => take(&mut made, before, &["metadata", "ownerReferences"]),
                    Kind::DEPLOYMENT => take(&mut made, before, &["metadata", "labels"]),
                    _ => {}
                }
            }
            made
        }
        Part::Other("finalize") => {
            let mut made = before.clone();
            take(&mut made, &object, &["spec", "finalizers"]);
            made
        }
        Part::Scale | Part::Other(_) => object,
    }
}

/// Makes `path` of `object` what it is in `from`, absent if it is absent there.
fn take(object: &mut Value, from: &Value, path: &[&str]) {
    let value = from.at(path);
    if value.is_null() {
        object.remove(path);
    } else if object.at(path) != value {
        object.set(path, value.clone());
    }
}

/// What no update changes (apiserver `rest.BeforeUpdate`).
fn keep_metadata(key: &ObjectKey, object: &mut Value, before: &Value) {
    // What is already right is not written: metadata that stays shared is known to be unchanged.
    if object.name() != key.name.as_str() {
        object.set(&["metadata", "name"], key.name.clone());
    }
    object.remove(&["metadata", "managedFields"]);
    for field in [
        "namespace",
        "uid",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "resourceVersion",
        "selfLink",
    ] {
        take(object, before, &["metadata", field]);
    }
    for field in ["apiVersion", "kind"] {
        take(object, before, &[field]);
    }
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let empty = match object.at(&["metadata", field]) {
            Value::Map(map) => map.is_empty(),
            Value::List(list) => list.is_empty(),
            Value::Null => object.at(&["metadata"]).get(field).is_some(),
            _ => false,
        };
        if empty {
            object.remove(&["metadata", field]);
        }
    }
}

/// An object that is being deleted gets no new finalizers. Upstream checks this twice per write, and shows both causes.
fn new_finalizers(object: &Value, before: &Value) -> Vec<FieldError> {
    if !before.is_deleting() {
        return Vec::new();
    }
    let old = before.at(&["metadata", "finalizers"]).items();
    let mut added: Vec<&str> = object
        .at(&["metadata", "finalizers"])
        .items()
        .iter()
        .filter(|finalizer| !old.contains(finalizer))
        .map(Value::str)
        .collect();
    if added.is_empty() {
        return Vec::new();
    }
    added.sort_unstable();
    let quoted: Vec<String> = added.iter().map(|one| format!("{one:?}")).collect();
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        quoted.join(", ")
    );
    let error = FieldError::forbidden("metadata.finalizers", detail);
    vec![error.clone(), error]
}

/// Whether this update removes the object (apiserver `ShouldDeleteDuringUpdate`).
fn goes_with_update(kind: Kind, object: &Value, before: &Value) -> bool {
    before.is_deleting()
        && object.at(&["metadata", "finalizers"]).items().is_empty()
        && before.at(&["metadata", "deletionGracePeriodSeconds"]).int() == 0
        && (kind != Kind::NAMESPACE || object.at(&["spec", "finalizers"]).items().is_empty())
}
