//! The API server: objects, kinds, verbs, watches and the words of its errors.

pub mod admission;
mod base64url;
pub mod bootstrap;
mod crds;
pub mod custom;
mod discovery;
mod event_forms;
mod fields;
mod go_json;
mod http;
pub mod kinds;
mod list;
pub mod names;
mod negotiate;
mod options;
pub mod patch;
mod path;
pub mod placement;
pub mod quantity;
pub mod registry;
pub mod request;
pub mod schema;
pub mod selector;
pub mod status;
pub mod store;
mod subresources;
mod table;
mod verbs;
pub mod watch;

use imbl::{OrdMap, Vector};

use crate::value::Text;
use bootstrap::Expiry;
use registry::Registry;
use store::Store;

/// Who writes, and when.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// The moment of the write.
    pub now: crate::time::VirtualTime,
    /// The field manager.
    pub manager: &'a str,
}

/// How dependents are treated when an object is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// The object goes, the garbage collector follows.
    #[default]
    Background,
    /// Dependents go first.
    Foreground,
    /// Dependents stay and lose the reference.
    Orphan,
}

/// Options of a DELETE.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// Seconds; `None` takes the object's own.
    pub grace_period_seconds: Option<i64>,
    /// `None` takes the kind's default (background).
    pub propagation: Option<Propagation>,
    /// The uid the object must have.
    pub uid: Option<Text>,
    /// The resourceVersion the object must have.
    pub resource_version: Option<Text>,
    /// Nothing is kept.
    pub dry_run: bool,
}

/// The API server's state. Requests of clients arrive through [`request`]; components call the
/// verbs directly. Both take the same path below decoding.
#[derive(Clone, Debug)]
pub struct Server {
    /// The objects.
    pub store: Store,
    /// The served kinds.
    pub registry: Registry,
    seed: u64,
    ordinals: OrdMap<u64, u32>,
    removals: OrdMap<u64, u32>,
    expiring: Vector<Expiry>,
}

impl Server {
    /// A server without objects that serves the built-in kinds. All generated names and uids follow from `seed`.
    pub fn new(seed: u64) -> Server {
        let mut registry = Registry::default();
        kinds::register(&mut registry);
        registry.seal();
        registry.alias(registry::Kind::EVENT, "events.k8s.io", "v1");
        Server {
            store: Store::default(),
            registry,
            seed,
            ordinals: OrdMap::new(),
            removals: OrdMap::new(),
            expiring: Vector::new(),
        }
    }

    /// The seed that names are derived from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The next number for a purpose: 1, 2, 3, …
    fn ordinal(&mut self, purpose: u64) -> u32 {
        let count = self.ordinals.entry(purpose).or_insert(0);
        *count += 1;
        *count
    }
}
