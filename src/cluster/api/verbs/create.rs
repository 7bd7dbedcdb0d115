//! Create.

use super::super::admission;
use super::super::names;
use super::super::registry::{Kind, KindInfo};
use super::super::status::Status;
use super::super::store::ObjectKey;
use super::super::{Caller, Server};
use crate::rng;
use crate::value::{Text, Value};

/// Characters of `generateName` that are kept before the suffix (apiserver `names/generate.go`).
const PREFIX: usize = 58;
/// Tries to find a free generated name (apiserver `store.go`).
const TRIES: usize = 8;

impl Server {
    /// Creates an object: names, metadata, defaults, admission, validation, in this order.
    ///
    /// # Errors
    /// 404 for a missing namespace, 403 from admission, 409 for a taken name, 422 for wrong fields.
    pub fn create(
        &mut self,
        caller: &Caller<'_>,
        kind: Kind,
        namespace: &str,
        mut object: Value,
    ) -> Result<Value, Status> {
        let info = self.registry.info(kind).clone();
        let versioned = !object.at(&["metadata", "resourceVersion"]).str().is_empty();
        if object.at(&["apiVersion"]).is_null() {
            object.set(&["apiVersion"], info.api_version());
        }
        object.set(&["kind"], info.kind.clone());
        self.name_new(&info, namespace, &mut object)?;
        let key = ObjectKey::of(kind, &object);
        let uid = self.new_uid(&info.plural, &key);
        fill_metadata(&info, caller, uid, &mut object);
        info.strategy.default(&mut object);
        admission::admit_create(self, caller, kind, &mut object)?;
        info.strategy.prepare_create(&mut object);
        let mut errors = names::validate_metadata(&info, &object);
        errors.extend(info.strategy.validate(&object));
        if !errors.is_empty() {
            return Err(Status::invalid(&info.group, &info.kind, &key.name, &errors));
        }
        if versioned {
            return Err(Status::new(500, "", "resourceVersion should not be set on objects to be created"));
        }
        if self.store.get(&key).is_some() {
            return Err(Status::already_exists(info.resource(), &key.name));
        }
        if self.registry.is_custom(kind) {
            // Defaults and validation go by the version that was sent; kept is another one.
            object.set(&["apiVersion"], info.api_version());
        }
        let kept = self.keep(&key, object);
        if kind == Kind::EVENT {
            self.expire_later(caller.now, key);
        }
        Ok(kept)
    }

    /// Puts namespace and name; a missing name is made from `generateName`.
    fn name_new(&mut self, info: &KindInfo, namespace: &str, object: &mut Value) -> Result<(), Status> {
        if info.namespaced {
            object.set(&["metadata", "namespace"], namespace);
        } else {
            object.remove(&["metadata", "namespace"]);
        }
        if !object.name().is_empty() {
            return Ok(());
        }
        let prefix = object.at(&["metadata", "generateName"]).text();
        if prefix.is_empty() {
            return Ok(());
        }
        let cut = (0..=prefix.len().min(PREFIX)).rev().find(|end| prefix.is_char_boundary(*end)).unwrap_or(0);
        let mut name = Text::default();
        for _ in 0..TRIES {
            let ordinal = self.ordinal(rng::hash(u64::from(info.id.0), &[namespace, &prefix])).to_string();
            let suffix = rng::suffix(self.seed, &["name", &info.plural, namespace, &prefix, &ordinal], 5);
            name = Text::from(format!("{}{suffix}", &prefix[..cut]));
            if self.store.get(&ObjectKey::new(info.id, namespace_of(info, namespace), name.clone())).is_none() {
                object.set(&["metadata", "name"], name);
                return Ok(());
            }
        }
        Err(no_unique_name(info, &name))
    }
}

fn namespace_of<'a>(info: &KindInfo, namespace: &'a str) -> &'a str {
    if info.namespaced { namespace } else { "" }
}

/// What the server alone decides (apiserver `rest.FillObjectMetaSystemFields`).
fn fill_metadata(info: &KindInfo, caller: &Caller<'_>, uid: String, object: &mut Value) {
    let metadata = object.make(&["metadata"]).as_map_mut();
    for absent in [
        "resourceVersion",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "managedFields",
        "generation",
    ] {
        metadata.remove(absent);
    }
    metadata.insert("uid", uid);
    metadata.insert("creationTimestamp", caller.now.rfc3339());
    if info.generation {
        metadata.insert("generation", 1);
    }
}

fn no_unique_name(info: &KindInfo, name: &str) -> Status {
    let mut status = Status::already_exists(info.resource(), name);
    status.message.push_str(", the server was not able to generate a unique name for the object");
    status.details.set(&["retryAfterSeconds"], 1);
    status
}
