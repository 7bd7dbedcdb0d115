//! Objects and the log of their changes.

use imbl::{OrdMap, Vector};

use super::registry::Kind;
use crate::{Text, Value};

/// Where an object is kept. Order is the order of lists: kind, namespace, name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// What it is.
    pub kind: Kind,
    /// Empty for cluster-scoped kinds.
    pub namespace: Text,
    /// `metadata.name`.
    pub name: Text,
}

impl ObjectKey {
    /// The key of `name` in `namespace` (empty for cluster-scoped kinds).
    pub fn new(kind: Kind, namespace: impl Into<Text>, name: impl Into<Text>) -> ObjectKey {
        ObjectKey { kind, namespace: namespace.into(), name: name.into() }
    }

    /// The key of an object.
    pub fn of(kind: Kind, object: &Value) -> ObjectKey {
        let metadata = object.at(&["metadata"]);
        ObjectKey { kind, namespace: metadata.at(&["namespace"]).text(), name: metadata.at(&["name"]).text() }
    }
}

impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{}", self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// One entry of the log.
#[derive(Clone, Debug)]
pub struct Change {
    /// The revision that this change made.
    pub revision: u64,
    /// Which object.
    pub key: ObjectKey,
    /// The object before; none when it was created.
    pub before: Option<Value>,
    /// The object after; none when it was removed.
    pub after: Option<Value>,
    /// For a removal: the last state, carrying the revision of the removal.
    pub last: Option<Value>,
}

impl Change {
    /// The state this change leaves, or the last one before removal.
    pub fn object(&self) -> &Value {
        static NULL: Value = Value::Null;
        self.after.as_ref().or(self.last.as_ref()).unwrap_or(&NULL)
    }
}

/// All objects, one revision counter and the recent changes. Cloning is a snapshot and costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Store {
    objects: OrdMap<ObjectKey, Value>,
    log: Vector<Change>,
    revision: u64,
    compacted: u64,
}

/// How many changes the log keeps; older ones answer 410 to watches.
const LOG: usize = 10_000;

impl Store {
    /// The revision of the last change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Changes up to this revision are forgotten.
    pub fn compacted(&self) -> u64 {
        self.compacted
    }

    /// The object under `key`.
    pub fn get(&self, key: &ObjectKey) -> Option<&Value> {
        self.objects.get(key)
    }

    /// Objects of a kind in one namespace, or in all of them when `namespace` is empty, by key.
    pub fn list<'a>(&'a self, kind: Kind, namespace: &'a str) -> impl Iterator<Item = (&'a ObjectKey, &'a Value)> {
        self.list_after(ObjectKey::new(kind, namespace, ""))
            .take_while(move |(key, _)| key.kind == kind && (namespace.is_empty() || key.namespace == namespace))
    }

    /// All objects from `start` on, by key.
    pub fn list_after(&self, start: ObjectKey) -> impl Iterator<Item = (&ObjectKey, &Value)> {
        self.objects.range(start..)
    }

    /// The objects as they were at an earlier revision, found by taking back what followed. Ask for no revision below
    /// [`Store::compacted`].
    pub fn at(&self, revision: u64) -> Store {
        let mut earlier = Store { objects: self.objects.clone(), revision, ..Store::default() };
        for change in self.log.iter().rev().take_while(|change| change.revision > revision) {
            match &change.before {
                Some(before) => earlier.objects.insert(change.key.clone(), before.clone()),
                None => earlier.objects.remove(&change.key),
            };
        }
        earlier
    }

    /// Puts an object, sets its `resourceVersion` and logs the change. Returns what is now kept.
    pub fn put(&mut self, key: ObjectKey, mut object: Value) -> Value {
        self.revision += 1;
        object.set(&["metadata", "resourceVersion"], self.revision.to_string());
        let before = self.objects.insert(key.clone(), object.clone());
        self.record(Change { revision: self.revision, key, before, after: Some(object.clone()), last: None });
        object
    }

    /// Removes an object. `last` is its final state as watchers shall see it; returns it with the revision of the
    /// removal.
    pub fn remove(&mut self, key: &ObjectKey, mut last: Value) -> Option<Value> {
        let before = self.objects.remove(key)?;
        self.revision += 1;
        last.set(&["metadata", "resourceVersion"], self.revision.to_string());
        self.record(Change {
            revision: self.revision,
            key: key.clone(),
            before: Some(before),
            after: None,
            last: Some(last.clone()),
        });
        Some(last)
    }

    /// Changes after `revision`, oldest first. Ask for no revision below [`Store::compacted`].
    pub fn since(&self, revision: u64) -> impl Iterator<Item = &Change> {
        let skip = usize::try_from(revision.saturating_sub(self.compacted)).unwrap_or(usize::MAX);
        self.log.iter().skip(skip.min(self.log.len()))
    }

    /// The change at position `revision + 1`, for readers that keep a cursor.
    pub fn next(&self, revision: u64) -> Option<&Change> {
        self.log.get(usize::try_from(revision.checked_sub(self.compacted)?).ok()?)
    }

    fn record(&mut self, change: Change) {
        self.log.push_back(change);
    }

    /// Forgets old changes beyond the limit. Called when every component has seen the whole log, never in between.
    pub fn trim(&mut self) {
        while self.log.len() > LOG {
            self.log.pop_front();
            self.compacted += 1;
        }
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}
