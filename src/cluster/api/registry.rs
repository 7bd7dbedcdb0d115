//! The kinds that the API server serves: names, versions, subresources and the rules of each kind.

use std::fmt::Debug;
use std::sync::Arc;

use imbl::{OrdMap, Vector};

use super::names::NameRule;
use super::schema::Schema;
use super::status::{FieldError, Resource};
use crate::{Text, Value};

/// A served kind, as an index into the [`Registry`]. Built-in kinds have constants; custom kinds follow them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub u16);

/// What may be addressed below an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The object itself.
    Main,
    /// `/status`.
    Status,
    /// `/scale`.
    Scale,
    /// Another subresource, by name (`binding`, `eviction`, `finalize`, …).
    Other(&'static str),
}

/// The rules of one kind. Every method has the default that fits a kind without rules of its own.
///
/// Source of the split: apiserver `pkg/registry/rest/{create,update}.go` and the `strategy.go` of each kind.
pub trait Strategy: Debug + Send + Sync {
    /// Fills what the API version defaults (`pkg/apis/*/v1/defaults.go`).
    fn default(&self, _object: &mut Value) {}
    /// Drops what a client may not set on create (status, counters).
    fn prepare_create(&self, object: &mut Value) {
        object.remove(&["status"]);
    }
    /// What is wrong with a new object. Metadata is checked by the server before this is called.
    fn validate(&self, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }
    /// Resets what a client may not change through the main resource. Status is already that of `old`.
    fn prepare_update(&self, _object: &mut Value, _old: &Value) {}
    /// What is wrong with a change of the main resource.
    fn validate_update(&self, object: &Value, _old: &Value) -> Vec<FieldError> {
        self.validate(object)
    }
    /// What is wrong with a change of the status.
    fn validate_status(&self, _object: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }
    /// Whether the change counts as a new generation (metadata and status apart).
    fn bumps_generation(&self, object: &Value, old: &Value) -> bool {
        object.get("spec") != old.get("spec")
    }
    /// How objects may be called.
    fn name_rule(&self) -> NameRule {
        NameRule::Subdomain
    }
    /// The schema the kind is decoded with in `version`.
    fn schema(&self, _version: &str) -> Schema {
        Schema::Any
    }
}

/// A served kind.
#[derive(Clone, Debug)]
pub struct KindInfo {
    /// Its index.
    pub id: Kind,
    /// API group, empty for core.
    pub group: Text,
    /// Versions in order of preference; the first is the one objects are kept in.
    pub versions: Vec<Text>,
    /// `Pod`.
    pub kind: Text,
    /// `pods`.
    pub plural: Text,
    /// `pod`.
    pub singular: Text,
    /// `po`.
    pub short_names: Vec<Text>,
    /// `all`.
    pub categories: Vec<Text>,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Whether objects carry a generation.
    pub generation: bool,
    /// Whether DELETE answers with the object (registry flag ReturnDeletedObject).
    pub returns_deleted: bool,
    /// Whether PUT may create (strategy AllowCreateOnUpdate).
    pub create_on_update: bool,
    /// Subresources: `status`, `scale`, `binding`, `eviction`, …
    pub subresources: Vec<Text>,
    /// The rules.
    pub strategy: Arc<dyn Strategy>,
}

impl KindInfo {
    /// `v1` or `apps/v1`, of the version that objects are kept in.
    pub fn api_version(&self) -> Text {
        if self.group.is_empty() {
            self.versions[0].clone()
        } else {
            Text::from(format!("{}/{}", self.group, self.versions[0]))
        }
    }

    /// How messages name the resource.
    pub fn resource(&self) -> Resource<'_> {
        Resource { group: &self.group, plural: &self.plural }
    }

    /// Whether `name` is served below objects of this kind.
    pub fn has(&self, subresource: &str) -> bool {
        self.subresources.iter().any(|known| known == subresource)
    }
}

/// All served kinds.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    kinds: Vector<Arc<KindInfo>>,
    by_resource: OrdMap<(Text, Text), Arc<KindInfo>>,
    builtin: usize,
}

impl Registry {
    /// Adds a kind; its `id` is set to the next free index. A removed kind's index is not used again.
    pub fn add(&mut self, mut info: KindInfo) -> Kind {
        let id = Kind(self.kinds.len() as u16);
        info.id = id;
        let info = Arc::new(info);
        self.by_resource.insert((info.group.clone(), info.plural.clone()), info.clone());
        self.kinds.push_back(info);
        id
    }

    /// Declares all kinds so far built-in; those added later are custom.
    pub fn seal(&mut self) {
        self.builtin = self.kinds.len();
    }

    /// Whether a CustomResourceDefinition made this kind.
    pub fn is_custom(&self, kind: Kind) -> bool {
        usize::from(kind.0) >= self.builtin
    }

    /// Serves a kind under a second group and version, from the same storage.
    pub fn alias(&mut self, kind: Kind, group: &str, version: &str) {
        let mut info = (**self.info(kind)).clone();
        info.group = group.into();
        info.versions = vec![version.into()];
        self.by_resource.insert((info.group.clone(), info.plural.clone()), Arc::new(info));
    }

    /// Replaces what is known of a kind (a changed CustomResourceDefinition).
    pub fn replace(&mut self, id: Kind, mut info: KindInfo) {
        info.id = id;
        let info = Arc::new(info);
        self.by_resource.insert((info.group.clone(), info.plural.clone()), info.clone());
        self.kinds[usize::from(id.0)] = info;
    }

    /// Stops serving a kind.
    pub fn remove(&mut self, id: Kind) {
        let info = self.info(id).clone();
        self.by_resource.remove(&(info.group.clone(), info.plural.clone()));
    }

    /// What is known of a kind.
    pub fn info(&self, kind: Kind) -> &Arc<KindInfo> {
        &self.kinds[usize::from(kind.0)]
    }

    /// The kind of a group's resource (plural name).
    pub fn resource(&self, group: &str, plural: &str) -> Option<&Arc<KindInfo>> {
        self.by_resource.get(&(Text::from(group), Text::from(plural)))
    }

    /// Whether a kind is still served.
    pub fn serves(&self, kind: Kind) -> bool {
        let info = self.info(kind);
        self.resource(&info.group, &info.plural).is_some_and(|served| served.id == kind)
    }

    /// The kind named by `apiVersion` and `kind`.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<&Arc<KindInfo>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.iter()
            .find(|info| info.group == group && info.kind == kind && info.versions.iter().any(|known| known == version))
    }

    /// Served kinds, by group and plural.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<KindInfo>> {
        self.by_resource.values()
    }
}
