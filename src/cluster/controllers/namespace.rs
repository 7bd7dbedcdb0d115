//! Namespaces: what a new one gets, and how a deleted one is emptied.
//!
//! Source: `pkg/controller/namespace/deletion/namespaced_resources_deleter.go`, `status_condition_utils.go`,
//! `pkg/controller/serviceaccount/serviceaccounts_controller.go`, `pkg/controller/certificates/rootcacertpublisher`.

use std::collections::BTreeMap;

use imbl::OrdSet;

use crate::api::DeleteOptions;
use crate::api::bootstrap;
use crate::api::registry::{Kind, Part};
use crate::api::store::{Change, ObjectKey};
use crate::component::{Component, Context, Planner, Work, WorkQueue};
use crate::object;
use crate::time::VirtualTime;
use crate::value::{Text, Value};

/// The controller.
#[derive(Clone, Debug, Default)]
pub struct NamespaceController {
    terminating: OrdSet<Text>,
    queue: WorkQueue,
}

impl NamespaceController {
    /// Gives a namespace its ServiceAccount and the cluster's certificate.
    fn furnish(key: &ObjectKey, cx: &mut Context<'_>) {
        let account = ObjectKey::new(Kind::SERVICE_ACCOUNT, &key.name, "default");
        if cx.get(&account).is_none() {
            // Refused only if the namespace goes away at this moment.
            let _ =
                cx.create(Kind::SERVICE_ACCOUNT, &key.name, object! { "metadata" => object! { "name" => "default" } });
        }
        let authority = ObjectKey::new(Kind::CONFIG_MAP, &key.name, "kube-root-ca.crt");
        if cx.get(&authority).is_none() {
            let _ = cx.create(Kind::CONFIG_MAP, &key.name, bootstrap::root_ca());
        }
    }

    /// Deletes what is in a namespace: pods first, everything else when they are gone, then the namespace itself.
    fn empty(key: &ObjectKey, cx: &mut Context<'_>) {
        let pods: Vec<ObjectKey> = contents(&key.name, cx).into_iter().filter(|key| key.kind == Kind::POD).collect();
        delete(&pods, cx);
        if contents(&key.name, cx).iter().all(|key| key.kind != Kind::POD) {
            delete(&contents(&key.name, cx), cx);
        }
        let left = contents(&key.name, cx);
        report(key, &left, cx);
        if left.is_empty() {
            let _ = cx.update(key, Part::Other("finalize"), |namespace| {
                namespace.set(&["spec", "finalizers"], Vec::new());
            });
        }
    }
}

/// Everything in a namespace.
fn contents(namespace: &str, cx: &Context<'_>) -> Vec<ObjectKey> {
    let kinds: std::collections::BTreeSet<Kind> =
        cx.server.registry.iter().filter(|info| info.namespaced).map(|info| info.id).collect();
    let store = &cx.server.store;
    kinds.into_iter().flat_map(|kind| store.list(kind, namespace).map(|(key, _)| key.clone())).collect()
}

fn delete(keys: &[ObjectKey], cx: &mut Context<'_>) {
    for key in keys {
        if cx.get(key).is_some_and(|object| !object.is_deleting()) {
            // Gone in the meantime is what is wanted.
            let _ = cx.delete(key, &DeleteOptions::default());
        }
    }
}

/// Writes the five conditions that tell how far the deletion is.
fn report(key: &ObjectKey, left: &[ObjectKey], cx: &mut Context<'_>) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut finalizers: BTreeMap<String, usize> = BTreeMap::new();
    for key in left {
        let info = cx.server.registry.info(key.kind);
        *counts.entry(format!("{}.{}", info.plural, info.group)).or_insert(0) += 1;
        let object = cx.get(key).map(|object| object.at(&["metadata", "finalizers"]).clone()).unwrap_or_default();
        for finalizer in object.items() {
            *finalizers.entry(finalizer.str().to_owned()).or_insert(0) += 1;
        }
    }
    let join = |counts: &BTreeMap<String, usize>, middle: &str| {
        let parts: Vec<String> =
            counts.iter().map(|(name, count)| format!("{name} {middle} {count} resource instances")).collect();
        parts.join(", ")
    };
    let remaining = (!counts.is_empty()).then(|| format!("Some resources are remaining: {}", join(&counts, "has")));
    let held = (!finalizers.is_empty())
        .then(|| format!("Some content in the namespace has finalizers remaining: {}", join(&finalizers, "in")));
    let conditions = [
        ("NamespaceDeletionDiscoveryFailure", "", None, "ResourcesDiscovered", "All resources successfully discovered"),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "",
            None,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "",
            None,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining",
            "SomeResourcesRemain",
            remaining,
            "ContentRemoved",
            "All content successfully removed",
        ),
        (
            "NamespaceFinalizersRemaining",
            "SomeFinalizersRemain",
            held,
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    ];
    let now = cx.now;
    let _ = cx.update(key, Part::Status, |namespace| {
        for (kind, reason, problem, fine_reason, fine) in conditions {
            match problem {
                Some(problem) => set_condition(namespace, kind, "True", reason, &problem, now),
                None => set_condition(namespace, kind, "False", fine_reason, fine, now),
            }
        }
    });
}

fn set_condition(namespace: &mut Value, kind: &str, status: &str, reason: &str, message: &str, now: VirtualTime) {
    let conditions = namespace.make(&["status", "conditions"]).as_list_mut();
    let known = conditions.iter_mut().find(|condition| condition.at(&["type"]).str() == kind);
    if known
        .as_ref()
        .is_some_and(|known| known.at(&["status"]).str() == status && known.at(&["message"]).str() == message)
    {
        return;
    }
    let condition = object! {
        "type" => kind, "status" => status, "reason" => reason, "message" => message,
        "lastTransitionTime" => now.rfc3339(),
    };
    match known {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
}

impl Component for NamespaceController {
    fn name(&self) -> &'static str {
        "namespace-controller"
    }

    fn watches(&self) -> &'static [Kind] {
        &[]
    }

    fn observe(&mut self, change: &Change, plan: &mut Planner<'_>) {
        if change.key.kind == Kind::NAMESPACE {
            match &change.after {
                None => drop(self.terminating.remove(&change.key.name)),
                Some(namespace) if namespace.is_deleting() => {
                    if self.terminating.insert(change.key.name.clone()).is_none() {
                        self.queue.add(change.key.clone(), plan);
                    }
                }
                Some(_) if change.before.is_none() => self.queue.add(change.key.clone(), plan),
                Some(_) => {}
            }
            return;
        }
        if change.after.is_some() {
            return;
        }
        // Something went: a namespace may now be empty, or lacks what every namespace has.
        let furniture = matches!(change.key.kind, Kind::SERVICE_ACCOUNT | Kind::CONFIG_MAP);
        if furniture || self.terminating.contains(&change.key.namespace) {
            self.queue.add(ObjectKey::new(Kind::NAMESPACE, "", &change.key.namespace), plan);
        }
    }

    fn act(&mut self, work: &Work, cx: &mut Context<'_>) {
        let Some(key) = &work.key else { return };
        self.queue.take(key);
        match cx.get(key).map(Value::is_deleting) {
            Some(true) => Self::empty(key, cx),
            Some(false) => Self::furnish(key, cx),
            None => {}
        }
    }
}
