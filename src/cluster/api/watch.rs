//! Watches: what a client has seen, and what it has to see next.

use std::sync::Arc;

use super::Server;
use super::http::Target;
use super::list::Selection;
use super::negotiate::Form;
use super::status::Status;
use crate::object;
use crate::time::VirtualTime;
use crate::value::Value;

/// How often a watch that allows bookmarks gets one, in microseconds.
const BOOKMARK_EVERY: i64 = 60_000_000;

/// One open watch.
#[derive(Clone, Debug)]
pub struct Watch {
    view: Arc<View>,
    /// Changes up to this revision were delivered.
    revision: u64,
    /// Events that were known when the watch began.
    first: Vec<Value>,
    ends: bool,
    /// Whether it waits for a revision that does not exist yet.
    ahead: bool,
    bookmarked: VirtualTime,
    /// Whether a Table's columns were sent.
    headed: bool,
}

/// What a watch looks at, and how it is shown.
#[derive(Debug)]
pub(super) struct View {
    pub(super) target: Target,
    pub(super) selection: Selection,
    pub(super) form: Form,
    pub(super) bookmarks: bool,
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// With all present objects.
    Present,
    /// With all present objects and a bookmark after them.
    PresentMarked,
    /// After this revision.
    After(u64),
}

impl Watch {
    pub(super) fn open(server: &Server, now: VirtualTime, view: View, start: Start) -> Watch {
        let revision = server.store.revision();
        let mut watch = Watch {
            view: Arc::new(view),
            revision,
            first: Vec::new(),
            ends: false,
            ahead: matches!(start, Start::After(after) if after > revision),
            bookmarked: now,
            headed: false,
        };
        match start {
            Start::After(after) if after < server.store.compacted() => watch.expire(after, server.store.compacted()),
            Start::After(after) => watch.revision = after,
            Start::Present | Start::PresentMarked => {
                let view = watch.view.clone();
                let selected = server.store.list(view.target.info.id, &view.target.namespace);
                for (_, object) in selected.filter(|(_, object)| view.selection.matches(object)) {
                    let event = watch.event(server, now, "ADDED", object);
                    watch.first.push(event);
                }
            }
        }
        if start == Start::PresentMarked {
            let mut bookmark = watch.bookmark(server);
            let annotations = object! { "k8s.io/initial-events-end" => "true" };
            bookmark.set(&["object", "metadata", "annotations"], annotations);
            watch.first.push(bookmark);
        }
        watch
    }

    /// The events that happened since the last poll, oldest first. The flag says that the stream ends after them.
    pub fn poll(&mut self, server: &Server, now: VirtualTime) -> (Vec<Value>, bool) {
        let mut events = std::mem::take(&mut self.first);
        if self.ends {
            return (events, true);
        }
        let revision = server.store.revision();
        self.ahead &= self.revision > revision;
        // What was delivered and is not there any more was taken back: the client has to list anew.
        let taken_back = self.revision > revision && !self.ahead;
        if self.revision < server.store.compacted() || taken_back {
            self.expire(self.revision, server.store.compacted());
            events.append(&mut self.first);
            return (events, true);
        }
        let view = self.view.clone();
        let (kind, namespace) = (view.target.info.id, &view.target.namespace);
        while let Some(change) = server.store.next(self.revision) {
            self.revision = change.revision;
            if change.key.kind != kind || (!namespace.is_empty() && change.key.namespace != *namespace) {
                continue;
            }
            let selects = |object: &Option<Value>| object.as_ref().is_some_and(|object| view.selection.matches(object));
            let (kind, object) = match (selects(&change.before), selects(&change.after)) {
                (false, false) => continue,
                (false, true) => ("ADDED", change.object().clone()),
                (true, true) => ("MODIFIED", change.object().clone()),
                // Gone, or no longer selected: the last selected state with the revision of the change.
                (true, false) => {
                    let last = if change.after.is_some() { &change.before } else { &change.last };
                    let mut last = last.clone().unwrap_or_default();
                    last.set(&["metadata", "resourceVersion"], change.revision.to_string());
                    ("DELETED", last)
                }
            };
            let event = self.event(server, now, kind, &object);
            events.push(event);
        }
        if view.bookmarks && now.micros() - self.bookmarked.micros() >= BOOKMARK_EVERY {
            self.bookmarked = now;
            events.push(self.bookmark(server));
        }
        self.ends = !server.registry.serves(kind);
        (events, self.ends)
    }

    fn expire(&mut self, asked: u64, compacted: u64) {
        let status = Status::expired(format!("too old resource version: {asked} ({compacted})"));
        self.first.push(object! { "type" => "ERROR", "object" => status.to_value() });
        self.ends = true;
    }

    fn event(&mut self, server: &Server, now: VirtualTime, kind: &str, object: &Value) -> Value {
        let mut shown = server.show(&self.view.target, self.view.form, now, object);
        if matches!(self.view.form, Form::Table(_)) {
            if self.headed {
                shown.set(&["columnDefinitions"], Value::Null);
            }
            self.headed = true;
        }
        object! { "type" => kind, "object" => shown }
    }

    fn bookmark(&self, server: &Server) -> Value {
        let revision = self.revision.min(server.store.revision()).to_string();
        let object = match self.view.form {
            Form::Object => {
                let target = &self.view.target;
                object! {
                    "kind" => target.info.kind.clone(), "apiVersion" => target.api_version(),
                    "metadata" => object! { "resourceVersion" => revision },
                }
            }
            Form::Partial => object! {
                "kind" => "PartialObjectMetadata", "apiVersion" => "meta.k8s.io/v1",
                "metadata" => object! { "resourceVersion" => revision },
            },
            Form::Table(_) => object! {
                "kind" => "Table", "apiVersion" => "meta.k8s.io/v1",
                "metadata" => object! { "resourceVersion" => revision }, "columnDefinitions" => Value::Null,
                "rows" => Value::from(Vec::new()),
            },
        };
        object! { "type" => "BOOKMARK", "object" => object }
    }
}
