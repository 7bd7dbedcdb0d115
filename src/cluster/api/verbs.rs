//! Create, update, delete and bind, as every caller gets them.
//!
//! Source: apiserver `pkg/registry/generic/registry/store.go`, `pkg/registry/rest`.

use super::registry::{Kind, Part};
use super::status::Status;
use super::store::ObjectKey;
use super::{Caller, DeleteOptions, Server, admission};
use crate::rng;
use crate::value::Value;

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
        if info.namespaced {
            object.set(&["metadata", "namespace"], namespace);
        }
        if object.name().is_empty() {
            let prefix = object.at(&["metadata", "generateName"]).str().to_owned();
            let purpose = format!("{}/{namespace}/{prefix}", info.plural);
            let ordinal = self.ordinal(&purpose).to_string();
            let suffix = rng::suffix(self.seed, &["name", &purpose, &ordinal], 5);
            object.set(&["metadata", "name"], format!("{prefix}{suffix}"));
        }
        let key = ObjectKey::of(kind, &object);
        if self.store.get(&key).is_some() {
            return Err(Status::already_exists(info.resource(), &key.name));
        }
        let purpose = format!("uid/{}/{key}", info.plural);
        let ordinal = self.ordinal(&purpose).to_string();
        object.set(&["metadata", "uid"], rng::uuid(self.seed, &[&purpose, &ordinal]));
        object.set(&["metadata", "creationTimestamp"], caller.now.rfc3339());
        if info.generation {
            object.set(&["metadata", "generation"], 1);
        }
        info.strategy.prepare_create(&mut object);
        info.strategy.default(&mut object);
        admission::admit_create(self, caller, kind, &mut object)?;
        let errors = info.strategy.validate(&object);
        if !errors.is_empty() {
            return Err(Status::invalid(&info.group, &info.kind, &key.name, &errors));
        }
        Ok(self.store.put(key, object))
    }

    /// Changes a part of an object.
    ///
    /// # Errors
    /// 404, 409 for an old resourceVersion, 422 for wrong fields.
    pub fn update(
        &mut self,
        _caller: &Caller<'_>,
        key: &ObjectKey,
        part: Part,
        mut object: Value,
    ) -> Result<Value, Status> {
        let info = self.registry.info(key.kind).clone();
        let Some(before) = self.store.get(key).cloned() else {
            return Err(Status::not_found(info.resource(), &key.name));
        };
        if part == Part::Status {
            let status = object.at(&["status"]).clone();
            object = before.clone();
            object.set(&["status"], status);
        }
        if info.generation && info.strategy.bumps_generation(&object, &before) {
            let generation = before.at(&["metadata", "generation"]).int();
            object.set(&["metadata", "generation"], generation + 1);
        }
        if object.is_deleting() && object.at(&["metadata", "finalizers"]).items().is_empty() && key.kind != Kind::POD {
            return Ok(self.store.remove(key, object).unwrap_or_default());
        }
        Ok(self.store.put(key.clone(), object))
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// 404, 409 for a failed precondition.
    pub fn delete(&mut self, _caller: &Caller<'_>, key: &ObjectKey, _options: &DeleteOptions) -> Result<Value, Status> {
        let info = self.registry.info(key.kind).clone();
        let Some(before) = self.store.get(key).cloned() else {
            return Err(Status::not_found(info.resource(), &key.name));
        };
        Ok(self.store.remove(key, before).unwrap_or_default())
    }

    /// Binds a pod to a node (`pods/binding`).
    ///
    /// # Errors
    /// 404, 409 when the pod is bound, being deleted or gated.
    pub fn bind(&mut self, caller: &Caller<'_>, key: &ObjectKey, node: &str) -> Result<(), Status> {
        let Some(mut pod) = self.store.get(key).cloned() else {
            return Err(Status::not_found(self.registry.info(key.kind).resource(), &key.name));
        };
        pod.set(&["spec", "nodeName"], node);
        let condition = crate::object! {
            "type" => "PodScheduled", "status" => "True", "lastProbeTime" => Value::Null,
            "lastTransitionTime" => caller.now.rfc3339(),
        };
        let conditions = pod.make(&["status", "conditions"]).as_list_mut();
        conditions.retain(|condition| condition.at(&["type"]).str() != "PodScheduled");
        conditions.push(condition);
        self.store.put(key.clone(), pod);
        Ok(())
    }
}
