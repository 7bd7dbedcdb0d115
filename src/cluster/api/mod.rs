//! The API server: objects, kinds, verbs, watches and the words of its errors.

pub mod admission;
pub mod kinds;
pub mod patch;
pub mod quantity;
pub mod registry;
pub mod request;
pub mod schema;
pub mod selector;
pub mod status;
pub mod store;
mod verbs;
pub mod watch;

use imbl::OrdMap;

use crate::time::VirtualTime;
use crate::value::Text;
use registry::Registry;
use store::Store;

/// Who writes, and when.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// The moment of the write.
    pub now: VirtualTime,
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

/// The API server's state. Requests of clients arrive through [`request`](crate::api::request); components call the
/// verbs directly. Both take the same path below decoding.
#[derive(Clone, Debug)]
pub struct Server {
    /// The objects.
    pub store: Store,
    /// The served kinds.
    pub registry: Registry,
    seed: u64,
    ordinals: OrdMap<Text, u64>,
}

impl Server {
    /// A server without objects that serves the built-in kinds. All generated names and uids follow from `seed`.
    pub fn new(seed: u64) -> Server {
        let mut registry = Registry::default();
        kinds::register(&mut registry);
        Server { store: Store::default(), registry, seed, ordinals: OrdMap::new() }
    }

    /// The seed that names are derived from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The next number for `purpose`: 1, 2, 3, …
    fn ordinal(&mut self, purpose: &str) -> u64 {
        let count = self.ordinals.entry(Text::from(purpose)).or_insert(0);
        *count += 1;
        *count
    }
}

impl Server {
    /// Answers one request of a client at the moment `now`.
    pub fn answer(&mut self, _now: VirtualTime, _request: &request::Request) -> request::Response {
        request::Response::json(404, status::Status::no_resource().to_value())
    }
}
