//! CustomResourceDefinitions change what is served.

use super::registry::{Kind, KindInfo};
use super::store::ObjectKey;
use super::{Server, custom};
use crate::value::Value;

impl Server {
    /// Serves, or serves anew, what a definition that was written says.
    pub(super) fn definition_changed(&mut self, definition: &Value) {
        let Ok(info) = custom::kind_of(definition) else { return };
        match self.registry.resource(&info.group, &info.plural).map(|served| served.id) {
            Some(kind) if self.registry.is_custom(kind) && !info.versions.is_empty() => {
                self.registry.replace(kind, info);
            }
            Some(kind) if self.registry.is_custom(kind) => self.registry.remove(kind),
            // A definition does not take a built-in kind's place.
            Some(_) => {}
            None if info.versions.is_empty() => {}
            None => drop(self.registry.add(info)),
        }
    }

    /// Stops serving what a removed definition said; its objects go with it.
    pub(super) fn definition_removed(&mut self, definition: &Value) {
        let spec = definition.at(&["spec"]);
        let served = self.registry.resource(spec.at(&["group"]).str(), spec.at(&["names", "plural"]).str());
        let Some(kind) = served.map(|served| served.id).filter(|kind| self.registry.is_custom(*kind)) else { return };
        let objects: Vec<(ObjectKey, Value)> =
            self.store.list(kind, "").map(|(key, object)| (key.clone(), object.clone())).collect();
        for (key, object) in objects {
            self.drop_object(&key, object);
        }
        self.registry.remove(kind);
    }

    /// The definition of a custom kind.
    pub(super) fn definition(&self, info: &KindInfo) -> Option<&Value> {
        let name = format!("{}.{}", info.plural, info.group);
        self.store.get(&ObjectKey::new(Kind::CUSTOM_RESOURCE_DEFINITION, "", name))
    }
}
