//! Create, update, delete and bind, as every caller gets them.
//!
//! Source: apiserver `pkg/registry/generic/registry/store.go`, `pkg/registry/rest/{create,update,delete}.go`.

mod bind;
mod create;
mod delete;
mod evict;
mod update;

use super::Server;
use super::registry::Kind;
use super::store::ObjectKey;
use crate::rng;
use crate::value::Value;

impl Server {
    /// A uid for a new object. It follows from the key and from how often that key was removed before.
    fn new_uid(&self, plural: &str, key: &ObjectKey) -> String {
        let removals = self.removals.get(&key_hash(key)).copied().unwrap_or(0).to_string();
        rng::uuid(self.seed, &["uid", plural, &key.namespace, &key.name, &removals])
    }

    /// Writes an object and does what follows from it.
    fn keep(&mut self, key: &ObjectKey, object: Value) -> Value {
        let kept = self.store.put(key.clone(), object);
        if key.kind == Kind::CUSTOM_RESOURCE_DEFINITION {
            self.definition_changed(&kept);
        }
        kept
    }

    /// Takes an object out; `last` is what watchers see of it.
    pub(in crate::api) fn drop_object(&mut self, key: &ObjectKey, last: Value) -> Value {
        let gone = self.store.remove(key, last).unwrap_or_default();
        if key.kind == Kind::EVENT {
            return gone;
        }
        *self.removals.entry(key_hash(key)).or_insert(0) += 1;
        if key.kind == Kind::CUSTOM_RESOURCE_DEFINITION {
            self.definition_removed(&gone);
        }
        gone
    }
}

fn key_hash(key: &ObjectKey) -> u64 {
    rng::hash(u64::from(key.kind.0), &[&key.namespace, &key.name])
}
