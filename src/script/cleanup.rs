//! Leaving the cluster as it was found: what a script made goes, what it changed comes back.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use super::convert::{at, text};
use super::fault::Fault;
use super::kinds::{KindRef, encode};
use super::lab::Lab;

/// What a script touched, in the order of the first touch.
#[derive(Debug, Default)]
pub struct Journal {
    entries: Vec<Entry>,
    /// Whether another scheduler profile was chosen.
    profile: bool,
    /// What happened to nodes outside the API.
    broken: Vec<Broken>,
}

/// What happened to a node outside the API, as it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The health of a device.
    Health {
        /// The node.
        node: String,
        /// The device.
        id: String,
        /// Whether it was healthy.
        healthy: bool,
    },
    /// A device plugin that ran.
    Plugin(String),
    /// A node that was up.
    Power(String),
}

impl Broken {
    fn same_thing(&self, other: &Broken) -> bool {
        match (self, other) {
            (Broken::Health { node, id, .. }, Broken::Health { node: other, id: device, .. }) => {
                (node, id) == (other, device)
            }
            _ => self == other,
        }
    }
}

#[derive(Debug)]
struct Entry {
    kind: Rc<KindRef>,
    namespace: String,
    name: String,
    /// How it was before the first touch; `None` when it was not there.
    before: Option<Value>,
}

impl Journal {
    /// Notes an object before it is touched. Only the first touch counts.
    pub fn touch(&mut self, kind: &Rc<KindRef>, namespace: &str, name: &str, before: Option<&Value>) {
        let known = |entry: &Entry| entry.kind == *kind && entry.namespace == namespace && entry.name == name;
        if !self.entries.iter().any(known) {
            self.entries.push(Entry {
                kind: kind.clone(),
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                before: before.cloned(),
            });
        }
    }

    /// Notes that another scheduler profile is chosen.
    pub fn touch_profile(&mut self) {
        self.profile = true;
    }

    /// Notes what happens to a node outside the API. Only the first touch counts.
    pub fn touch_machine(&mut self, before: Broken) {
        if !self.broken.iter().any(|known| known.same_thing(&before)) {
            self.broken.push(before);
        }
    }

    /// Forgets everything (the world was replaced).
    pub fn clear(&mut self) {
        *self = Journal::default();
    }
}

impl Lab {
    /// Undoes what the script did, newest first. What is already undone is left alone.
    ///
    /// # Errors
    /// The first thing that could not be undone; the rest is undone all the same.
    pub fn clean_up(&self) -> Result<(), Fault> {
        let Journal { entries, profile, broken } = self.journal.take();
        let mut first = Ok(());
        for before in broken.iter().rev() {
            let mended = self.mend(before);
            first = first.and(mended);
        }
        if let Some(control) = self.backend.control().filter(|_| profile) {
            let chosen = control.configure("scheduler", "profile", &json!({})).map_err(Fault::script);
            first = first.and(chosen);
        }
        let mut pods_left = true;
        for entry in entries.iter().rev() {
            if pods_left && entry.kind.kind == "Node" {
                // Pods leave through the kubelet of their node, so they go first.
                self.come_to_rest();
                pods_left = false;
            }
            let path = format!("{}/{}", entry.kind.path(&entry.namespace), encode(&entry.name));
            let undone = match &entry.before {
                None => self.undo_create(entry, &path),
                Some(before) => self.undo_change(entry, &path, before),
            };
            if let Err(error) = undone
                && first.is_ok()
            {
                first = Err(error);
            }
        }
        if !entries.is_empty() || !broken.is_empty() {
            self.come_to_rest();
        }
        first
    }

    /// Pods leave gracefully; a world that cannot come to rest stays as it is after two minutes.
    fn come_to_rest(&self) {
        if let Some(control) = self.backend.control() {
            control.settle(Duration::from_secs(120), &mut |step| self.record_step(step));
        }
    }

    fn undo_create(&self, entry: &Entry, path: &str) -> Result<(), Fault> {
        // A lesson's pods need no grace; their programs are gone anyway.
        let grace = if entry.kind.kind == "Pod" { "?gracePeriodSeconds=0" } else { "" };
        match self.request("DELETE", &format!("{path}{grace}"), "", None) {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    fn undo_change(&self, entry: &Entry, path: &str, before: &Value) -> Result<(), Fault> {
        let now = match self.get_path(path) {
            Ok(now) => now,
            Err(error) if error.is_not_found() => {
                let mut again = before.clone();
                for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"] {
                    if let Some(metadata) = again.get_mut("metadata").and_then(Value::as_object_mut) {
                        metadata.remove(field);
                    }
                }
                return self
                    .request("POST", &entry.kind.path(&entry.namespace), "application/json", Some(&again))
                    .map(|_| ());
            }
            Err(error) => return Err(error),
        };
        let mut patch = json!({});
        for key in ["labels", "annotations"] {
            let part = super::merge::difference(at(&now, &["metadata", key]), at(before, &["metadata", key]));
            if let Some(part) = part {
                patch["metadata"][key] = part;
            }
        }
        for (key, wanted) in before.as_object().into_iter().flatten() {
            if !matches!(key.as_str(), "metadata" | "status" | "apiVersion" | "kind")
                && let Some(part) = super::merge::difference(at(&now, &[key]), wanted)
            {
                patch[key] = part;
            }
        }
        if patch != json!({}) {
            self.request("PATCH", path, "application/merge-patch+json", Some(&patch))?;
        }
        if entry.kind.kind == "Node" { self.restore_capacity(path, &now, before) } else { Ok(()) }
    }

    fn restore_capacity(&self, path: &str, now: &Value, before: &Value) -> Result<(), Fault> {
        let (now, before) = (at(now, &["status", "capacity"]), at(before, &["status", "capacity"]));
        let mut patch = Vec::new();
        for name in now.as_object().into_iter().flatten().map(|(name, _)| name) {
            if before.get(name).is_none() {
                patch.push(json!({"op": "remove", "path": capacity_pointer(name)}));
            }
        }
        for (name, amount) in before.as_object().into_iter().flatten() {
            if text(now, &[name]) != amount.as_str().unwrap_or("") {
                patch.push(json!({"op": "add", "path": capacity_pointer(name), "value": amount}));
            }
        }
        if patch.is_empty() {
            return Ok(());
        }
        let path = format!("{path}/status");
        self.request("PATCH", &path, "application/json-patch+json", Some(&Value::Array(patch))).map(|_| ())
    }
}

/// The JSON pointer of a resource in a node's capacity.
pub fn capacity_pointer(resource: &str) -> String {
    format!("/status/capacity/{}", resource.replace('~', "~0").replace('/', "~1"))
}
