//! The garbage collector: dependents follow their owners.
//!
//! Source: `pkg/controller/garbagecollector/garbagecollector.go`, `graph_builder.go`.

use imbl::{OrdMap, OrdSet};

use super::event_about;
use crate::api::registry::{Kind, Part};
use crate::api::store::{Change, ObjectKey};
use crate::api::{DeleteOptions, Propagation};
use crate::component::{Component, Context, Planner, Work};
use crate::value::{Text, Value};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// The controller.
#[derive(Clone, Debug, Default)]
pub struct GarbageCollector {
    /// By uid.
    owners: OrdMap<Text, Owner>,
}

/// An object that others name as their owner.
#[derive(Clone, Debug, Default)]
struct Owner {
    dependents: OrdSet<ObjectKey>,
    /// Whether it was seen to exist, so that further dependents need no look.
    verified: bool,
    /// Its key while it waits for its dependents to go.
    waiting: Option<ObjectKey>,
}

/// How an owner stands, as seen from a dependent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It exists.
    Solid,
    /// It does not exist.
    Dangling,
    /// It waits for this dependent to go.
    Waiting,
    /// Its kind is unknown here, so nothing can be said.
    Unknown,
}

fn references(object: Option<&Value>) -> &[Value] {
    object.map_or(&[], |object| object.at(&["metadata", "ownerReferences"]).items())
}

fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    object.at(&["metadata", "finalizers"]).items().iter().any(|one| one.str() == finalizer)
}

impl GarbageCollector {
    fn index(&mut self, change: &Change, plan: &mut Planner<'_>) {
        let (before, after) = (references(change.before.as_ref()), references(change.after.as_ref()));
        if before.is_empty() && after.is_empty() {
            return;
        }
        let named = |references: &[Value], uid: &str| references.iter().any(|one| one.at(&["uid"]).str() == uid);
        for reference in before {
            let uid = reference.at(&["uid"]).text();
            if named(after, &uid) {
                continue;
            }
            let Some(owner) = self.owners.get_mut(&uid) else { continue };
            owner.dependents.remove(&change.key);
            if let Some(key) = owner.waiting.clone() {
                plan.soon(Work::on("foreground", key));
            } else if owner.dependents.is_empty() {
                self.owners.remove(&uid);
            }
        }
        for reference in after {
            let uid = reference.at(&["uid"]).text();
            if named(before, &uid) {
                continue;
            }
            let owner = self.owners.entry(uid).or_default();
            owner.dependents.insert(change.key.clone());
            if !owner.verified {
                plan.soon(Work::on("collect", change.key.clone()));
            }
        }
    }

    fn owner_gone(&mut self, uid: &str, plan: &mut Planner<'_>) {
        let Some(owner) = self.owners.get_mut(uid) else { return };
        (owner.verified, owner.waiting) = (false, None);
        for dependent in &owner.dependents {
            plan.soon(Work::on("collect", dependent.clone()));
        }
    }

    fn standing(&self, object: &Value, reference: &Value, cx: &mut Context<'_>) -> (Standing, bool) {
        let kind = cx.server.registry.kind(reference.at(&["apiVersion"]).str(), reference.at(&["kind"]).str()).cloned();
        let Some(kind) = kind else { return (Standing::Unknown, false) };
        if kind.namespaced && object.namespace().is_empty() {
            return (Standing::Unknown, true);
        }
        let namespace = if kind.namespaced { object.namespace() } else { "" };
        let key = ObjectKey::new(kind.id, namespace, reference.at(&["name"]).text());
        let standing = match cx.get(&key).filter(|owner| owner.uid() == reference.at(&["uid"]).str()) {
            None => Standing::Dangling,
            Some(owner) => {
                let waits = owner.is_deleting() && has_finalizer(owner, FOREGROUND);
                if waits && reference.at(&["blockOwnerDeletion"]).is_true() {
                    Standing::Waiting
                } else {
                    Standing::Solid
                }
            }
        };
        (standing, false)
    }

    /// Deletes an object whose owners are all gone, or drops the references to those that are.
    fn collect(&mut self, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(object) = cx.get(key).cloned() else { return };
        if object.is_deleting() && !has_finalizer(&object, FOREGROUND) {
            return;
        }
        let references = object.at(&["metadata", "ownerReferences"]).items();
        let mut standings = Vec::new();
        for reference in references {
            let (standing, outside) = self.standing(&object, reference, cx);
            if outside {
                let text = format!(
                    "ownerRef [{}/{}, namespace: {}, name: {}, uid: {}] does not exist in namespace \"\"",
                    reference.at(&["apiVersion"]).str(),
                    reference.at(&["kind"]).str(),
                    object.namespace(),
                    reference.at(&["name"]).str(),
                    reference.at(&["uid"]).str()
                );
                event_about(
                    cx,
                    "garbage-collector-controller",
                    key.kind,
                    &object,
                    true,
                    "OwnerRefInvalidNamespace",
                    &text,
                );
            }
            if standing == Standing::Solid
                && let Some(owner) = self.owners.get_mut(reference.at(&["uid"]).str())
            {
                owner.verified = true;
            }
            standings.push(standing);
        }
        let any = |wanted| standings.contains(&wanted);
        if references.is_empty() || any(Standing::Unknown) {
            return;
        }
        if any(Standing::Solid) {
            if any(Standing::Dangling) || any(Standing::Waiting) {
                let gone: Vec<&str> = references
                    .iter()
                    .zip(&standings)
                    .filter(|(_, standing)| **standing != Standing::Solid)
                    .map(|(reference, _)| reference.at(&["uid"]).str())
                    .collect();
                let _ = cx.update(key, Part::Main, |object| drop_references(object, &gone));
            }
            return;
        }
        let dependents = self.owners.get(object.uid()).is_some_and(|owner| !owner.dependents.is_empty());
        let propagation = if has_finalizer(&object, ORPHAN) {
            Propagation::Orphan
        } else if has_finalizer(&object, FOREGROUND) || (any(Standing::Waiting) && dependents) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        let options = DeleteOptions {
            propagation: Some(propagation),
            uid: Some(Text::from(object.uid())),
            resource_version: Some(object.at(&["metadata", "resourceVersion"]).text()),
            ..DeleteOptions::default()
        };
        // Refused only if the object changed or went away, and then there is a newer change to look at.
        let _ = cx.delete(key, &options);
    }

    /// An object that waits for its dependents: they are deleted, and the last one sets it free.
    fn foreground(&mut self, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(object) = cx.get(key).cloned() else { return };
        if !object.is_deleting() || !has_finalizer(&object, FOREGROUND) {
            return;
        }
        let dependents = self.owners.get(object.uid()).map(|owner| owner.dependents.clone()).unwrap_or_default();
        let blocks = |dependent: &Value| {
            let mut references = dependent.at(&["metadata", "ownerReferences"]).items().iter();
            references.any(|one| one.at(&["uid"]).str() == object.uid() && one.at(&["blockOwnerDeletion"]).is_true())
        };
        let blocking: Vec<ObjectKey> =
            dependents.into_iter().filter(|dependent| cx.get(dependent).is_some_and(blocks)).collect();
        if blocking.is_empty() {
            remove_finalizer(key, FOREGROUND, cx);
            return;
        }
        if let Some(owner) = self.owners.get_mut(object.uid()) {
            owner.waiting = Some(key.clone());
        }
        for dependent in blocking {
            self.collect(&dependent, cx);
        }
    }

    /// An object whose dependents stay.
    fn orphan(&mut self, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(object) = cx.get(key).cloned() else { return };
        if !object.is_deleting() || !has_finalizer(&object, ORPHAN) {
            return;
        }
        let dependents = self.owners.get(object.uid()).map(|owner| owner.dependents.clone()).unwrap_or_default();
        for dependent in dependents {
            let _ = cx.update(&dependent, Part::Main, |dependent| drop_references(dependent, &[object.uid()]));
        }
        remove_finalizer(key, ORPHAN, cx);
    }
}

fn drop_references(object: &mut Value, uids: &[&str]) {
    let references = object.make(&["metadata", "ownerReferences"]).as_list_mut();
    references.retain(|reference| !uids.contains(&reference.at(&["uid"]).str()));
    if references.is_empty() {
        object.remove(&["metadata", "ownerReferences"]);
    }
}

fn remove_finalizer(key: &ObjectKey, finalizer: &str, cx: &mut Context<'_>) {
    // Gone already is what is wanted.
    let _ = cx.update(key, Part::Main, |object| {
        let finalizers = object.make(&["metadata", "finalizers"]).as_list_mut();
        finalizers.retain(|one| one.str() != finalizer);
        if finalizers.is_empty() {
            object.remove(&["metadata", "finalizers"]);
        }
    });
}

impl Component for GarbageCollector {
    fn name(&self) -> &'static str {
        "garbage-collector-controller"
    }

    fn watches(&self) -> &'static [Kind] {
        &[]
    }

    fn observe(&mut self, change: &Change, plan: &mut Planner<'_>) {
        if change.key.kind == Kind::EVENT {
            return;
        }
        self.index(change, plan);
        match &change.after {
            None => self.owner_gone(change.object().uid(), plan),
            Some(object) if object.is_deleting() => {
                for (finalizer, what) in [(FOREGROUND, "foreground"), (ORPHAN, "orphan")] {
                    if has_finalizer(object, finalizer) {
                        plan.soon(Work::on(what, change.key.clone()));
                    }
                }
            }
            Some(_) => {}
        }
    }

    fn act(&mut self, work: &Work, cx: &mut Context<'_>) {
        let Some(key) = &work.key else { return };
        match work.what {
            "foreground" => self.foreground(key, cx),
            "orphan" => self.orphan(key, cx),
            _ => self.collect(key, cx),
        }
    }
}
