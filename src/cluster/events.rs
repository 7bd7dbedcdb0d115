//! Events, in the two forms that real components write.
//!
//! The core recorder (kubelet, controllers; client-go `tools/record`) folds repeats of the same text by raising `count`;
//! the `events.k8s.io` recorder (scheduler; client-go `tools/events`) folds by type, action, reason, reporter and the
//! regarded object *with its resourceVersion*, and raises `series.count`.

use std::time::Duration;

use imbl::{OrdMap, Vector};

use crate::api::registry::{Kind, Part};
use crate::api::store::ObjectKey;
use crate::api::{Caller, Server};
use crate::object;
use crate::rng;
use crate::time::VirtualTime;
use crate::value::{Text, Value};

/// Who reports.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// The core recorder.
    Core {
        /// `kubelet`, `replicaset-controller`, …
        component: &'a str,
        /// The node for kubelets, empty otherwise.
        host: &'a str,
    },
    /// The `events.k8s.io` recorder.
    New {
        /// `default-scheduler` (the profile's name).
        controller: &'a str,
        /// `Scheduling`, `Binding`, `Preempting`.
        action: &'a str,
        /// A second object, such as the preemptor.
        related: Option<(Kind, &'a Value)>,
    },
}

/// An event to record.
#[derive(Clone, Copy, Debug)]
pub struct EventSpec<'a> {
    /// Kind of the regarded object.
    pub kind: Kind,
    /// The regarded object.
    pub regarding: &'a Value,
    /// `spec.containers{c}` for container events, empty otherwise.
    pub field_path: &'a str,
    /// Whether the type is `Warning` rather than `Normal`.
    pub warning: bool,
    /// CamelCase reason.
    pub reason: &'a str,
    /// The sentence.
    pub message: &'a str,
    /// Who reports.
    pub source: Source<'a>,
}

/// The recorders' memory of what they wrote.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    known: OrdMap<u64, ObjectKey>,
    order: Vector<u64>,
    written: u64,
}

/// How many events the recorders remember for folding (client-go's LRU size).
const REMEMBERED: usize = 4096;
/// Core recorder: repeats within this time fold (client-go's aggregation works on live events; the API keeps them 1 h).
const NOTE_LIMIT: usize = 1024;

impl Recorder {
    /// Writes or folds an event.
    pub fn record(&mut self, server: &mut Server, now: VirtualTime, event: &EventSpec<'_>) {
        let key = identity(event);
        if let Some(known) = self.known.get(&key).cloned()
            && server.store.get(&known).is_some()
        {
            fold(server, now, &known, event);
            return;
        }
        self.written += 1;
        let written = self.create(server, now, event);
        if let Some(written) = written {
            self.known.insert(key, written);
            self.order.push_back(key);
            if self.order.len() > REMEMBERED
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
        }
    }

    fn create(&self, server: &mut Server, now: VirtualTime, event: &EventSpec<'_>) -> Option<ObjectKey> {
        let namespace = match event.regarding.namespace() {
            "" => "default",
            namespace => namespace,
        };
        // Real names end in nanoseconds; the ordinal stands for the part that virtual time does not have.
        let stamp = (now.micros() as u64).wrapping_mul(1000).wrapping_add(self.written % 1000);
        let name = format!("{}.{stamp:016x}", event.regarding.name());
        let mut made = object! {
            "apiVersion" => "v1", "kind" => "Event",
            "metadata" => object! { "name" => name.as_str(), "namespace" => namespace },
            "involvedObject" => reference(server, event.kind, event.regarding, event.field_path),
            "type" => if event.warning { "Warning" } else { "Normal" },
            "reason" => event.reason, "message" => cut(event.message),
        };
        match event.source {
            Source::Core { component, host } => {
                let time = Value::from(now.rfc3339());
                let mut source = object! { "component" => component };
                if !host.is_empty() {
                    source.set(&["host"], host);
                }
                made.set(&["source"], source);
                made.set(&["firstTimestamp"], time.clone());
                made.set(&["lastTimestamp"], time);
                made.set(&["count"], 1);
                made.set(&["eventTime"], Value::Null);
                made.set(&["reportingComponent"], component);
                made.set(&["reportingInstance"], host);
            }
            Source::New { controller, action, related } => {
                made.set(&["source"], Value::object());
                made.set(&["firstTimestamp"], Value::Null);
                made.set(&["lastTimestamp"], Value::Null);
                made.set(&["eventTime"], now.rfc3339_micro());
                made.set(&["action"], action);
                made.set(&["reportingComponent"], controller);
                made.set(&["reportingInstance"], format!("{controller}-gpulab-control-plane"));
                if let Some((kind, object)) = related {
                    made.set(&["related"], reference(server, kind, object, ""));
                }
            }
        }
        let caller = Caller { now, manager: "event-recorder" };
        let kept = server.create(&caller, Kind::EVENT, namespace, made).ok()?;
        Some(ObjectKey::of(Kind::EVENT, &kept))
    }
}

fn fold(server: &mut Server, now: VirtualTime, key: &ObjectKey, event: &EventSpec<'_>) {
    let Some(mut object) = server.store.get(key).cloned() else { return };
    match event.source {
        Source::Core { .. } => {
            let count = object.at(&["count"]).int();
            object.set(&["count"], count + 1);
            object.set(&["lastTimestamp"], now.rfc3339());
        }
        Source::New { .. } => {
            let count = object.at(&["series", "count"]).as_i64().unwrap_or(1);
            // The first fold is posted at once, later ones only with the refresh after 30 minutes.
            let last = VirtualTime::parse(object.at(&["series", "lastObservedTime"]).str());
            if last.is_some_and(|last| now.since(last) < Duration::from_secs(30 * 60)) {
                return;
            }
            object.set(&["series", "count"], count + 1);
            object.set(&["series", "lastObservedTime"], now.rfc3339_micro());
        }
    }
    // An event that vanished in between is simply not raised.
    let _ = server.update(&Caller { now, manager: "event-recorder" }, key, Part::Main, object);
}

fn identity(event: &EventSpec<'_>) -> u64 {
    let uid = event.regarding.uid();
    let name = event.regarding.name();
    let kind = if event.warning { "Warning" } else { "Normal" };
    match event.source {
        Source::Core { component, host } => {
            rng::hash(1, &[component, host, name, uid, event.field_path, kind, event.reason, event.message])
        }
        Source::New { controller, action, related } => {
            let version = event.regarding.at(&["metadata", "resourceVersion"]).str();
            let related = related.map_or("", |(_, object)| object.uid());
            rng::hash(2, &[controller, action, name, uid, version, kind, event.reason, related])
        }
    }
}

fn reference(server: &Server, kind: Kind, object: &Value, field_path: &str) -> Value {
    let info = server.registry.info(kind);
    let mut reference = object! {
        "kind" => info.kind.clone(), "apiVersion" => info.api_version(), "name" => object.name(), "uid" => object.uid(),
        "resourceVersion" => object.at(&["metadata", "resourceVersion"]).clone(),
    };
    if !object.namespace().is_empty() {
        reference.set(&["namespace"], object.namespace());
    }
    if !field_path.is_empty() {
        reference.set(&["fieldPath"], field_path);
    }
    reference
}

/// Notes longer than 1024 bytes are cut and end in ` ...` (core validation, `events.go`).
fn cut(message: &str) -> Text {
    if message.len() <= NOTE_LIMIT {
        return Text::from(message);
    }
    let end = (0..=NOTE_LIMIT - 4).rev().find(|end| message.is_char_boundary(*end)).unwrap_or(0);
    Text::from(format!("{} ...", &message[..end]))
}
