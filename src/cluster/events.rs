//! Events, in the two forms that real components write.
//!
//! The core recorder (kubelet, controllers; client-go `tools/record`) folds repeats of the same text by raising `count`,
//! combines many similar texts and falls silent about an object that it has told too much about;
//! the `events.k8s.io` recorder (scheduler; client-go `tools/events`) folds by type, action, reason, reporter and the
//! regarded object *with its resourceVersion*, and raises `series.count`.

mod correlate;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::api::registry::{Kind, Part};
use crate::api::store::ObjectKey;
use crate::api::{Caller, Server};
use crate::object;
use crate::rng;
use crate::time::VirtualTime;
use crate::value::{Text, Value};
use correlate::{Correlator, Recent};

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
    known: Recent<Known>,
    correlator: Correlator,
    written: u64,
}

/// An event that was seen, written or not.
#[derive(Clone, Debug)]
struct Known {
    key: ObjectKey,
    count: i64,
    first: VirtualTime,
}

/// Notes are cut at this length, in bytes.
const NOTE_LIMIT: usize = 1024;

impl Recorder {
    /// Writes or folds an event, unless its source has told too much about its object.
    pub fn record(&mut self, server: &mut Server, now: VirtualTime, event: &EventSpec<'_>) {
        if let Source::Core { component, host } = event.source {
            self.record_core(server, now, event, component, host);
            return;
        }
        let key = identity(event);
        if let Some(known) = self.known.get(key).filter(|known| server.store.get(&known.key).is_some()) {
            raise_series(server, now, &known.key.clone());
            return;
        }
        if let Some(key_written) = self.create(server, now, event, event.message, now, 1) {
            self.known.put(key, Known { key: key_written, count: 1, first: now });
        }
    }

    fn record_core(
        &mut self,
        server: &mut Server,
        now: VirtualTime,
        event: &EventSpec<'_>,
        component: &str,
        host: &str,
    ) {
        let object = event.regarding.uid();
        let kind = if event.warning { "Warning" } else { "Normal" };
        let similar = rng::hash(3, &[component, host, object, kind, event.reason]);
        let combined = self.correlator.combines(similar, event.message, now);
        let text = format!("(combined from similar events): {}", event.message);
        let (key, message) = if combined { (similar, text.as_str()) } else { (identity(event), event.message) };
        let mut known = self.known.get(key).cloned();
        if let Some(known) = &mut known {
            known.count += 1;
            self.known.put(key, known.clone());
        }
        let passes = self.correlator.passes(rng::hash(4, &[component, host, object]), now);
        let present = known.as_ref().is_some_and(|known| server.store.get(&known.key).is_some());
        match known {
            Some(known) if present => {
                if passes {
                    raise_count(server, now, &known, message);
                }
            }
            known => {
                let (count, first) = known.as_ref().map_or((1, now), |known| (known.count, known.first));
                let name = if passes { self.create(server, now, event, message, first, count) } else { None };
                // An event that was held back is remembered all the same: it counts if it is ever written.
                let nobody = || ObjectKey::new(Kind::EVENT, event.regarding.namespace(), "");
                let key_written = name.or_else(|| known.map(|known| known.key)).unwrap_or_else(nobody);
                self.known.put(key, Known { key: key_written, count, first });
            }
        }
    }

    fn create(
        &mut self,
        server: &mut Server,
        now: VirtualTime,
        event: &EventSpec<'_>,
        message: &str,
        first: VirtualTime,
        count: i64,
    ) -> Option<ObjectKey> {
        self.written += 1;
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
            "reason" => event.reason, "message" => cut(message),
        };
        match event.source {
            Source::Core { component, host } => {
                let time = Value::from(now.rfc3339());
                let mut source = object! { "component" => component };
                if !host.is_empty() {
                    source.set(&["host"], host);
                }
                made.set(&["source"], source);
                made.set(&["firstTimestamp"], first.rfc3339());
                made.set(&["lastTimestamp"], time);
                made.set(&["count"], count);
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

/// A repeat, for the core recorder. An event that vanished in between is simply not raised.
fn raise_count(server: &mut Server, now: VirtualTime, known: &Known, message: &str) {
    let Some(mut object) = server.store.get(&known.key).cloned() else { return };
    object.set(&["count"], known.count);
    object.set(&["lastTimestamp"], now.rfc3339());
    object.set(&["message"], cut(message));
    let _ = server.update(&Caller { now, manager: "event-recorder" }, &known.key, Part::Main, object);
}

/// A repeat, for the `events.k8s.io` recorder: the first one is posted at once, later ones only with the refresh after
/// 30 minutes.
fn raise_series(server: &mut Server, now: VirtualTime, key: &ObjectKey) {
    let Some(mut object) = server.store.get(key).cloned() else { return };
    let count = object.at(&["series", "count"]).as_i64().unwrap_or(1);
    let last = VirtualTime::parse(object.at(&["series", "lastObservedTime"]).str());
    if last.is_some_and(|last| now.since(last) < Duration::from_secs(30 * 60)) {
        return;
    }
    object.set(&["series", "count"], count + 1);
    object.set(&["series", "lastObservedTime"], now.rfc3339_micro());
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
    };
    let version = object.at(&["metadata", "resourceVersion"]);
    if !version.is_null() {
        reference.set(&["resourceVersion"], version.clone());
    }
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
