//! Deployments: one ReplicaSet per template, replaced step by step.
//!
//! Source: `pkg/controller/deployment/` (`deployment_controller.go`, `rolling.go`, `recreate.go`, `sync.go`,
//! `progress.go`, `util/deployment_util.go`).

mod revision;
mod scale;
mod status;

use std::time::Duration;

use imbl::{OrdMap, OrdSet};

use super::{controller_reference, event};
use crate::api::DeleteOptions;
use crate::api::registry::{Kind, Part};
use crate::api::selector::Selector;
use crate::api::store::{Change, ObjectKey};
use crate::component::{Component, Context, Planner, Work, WorkQueue, controller_key};
use crate::time::VirtualTime;
use crate::value::{Text, Value};

pub(super) const NAME: &str = "deployment-controller";
/// Changes of ReplicaSets are taken together for this long.
const TOGETHER: Duration = Duration::from_millis(1);

/// The controller.
#[derive(Clone, Debug, Default)]
pub struct DeploymentController {
    /// ReplicaSets by the uid of their Deployment.
    sets: OrdMap<Text, OrdSet<ObjectKey>>,
    /// When a look at the progress of a Deployment is planned.
    deadlines: OrdMap<ObjectKey, VirtualTime>,
    queue: WorkQueue,
}

/// One Deployment and its ReplicaSets while it is looked at.
struct Rollout {
    key: ObjectKey,
    deployment: Value,
    /// The ReplicaSet of the present template.
    new: Option<Value>,
    /// All others, oldest first.
    old: Vec<Value>,
}

impl Rollout {
    fn all(&self) -> impl Iterator<Item = &Value> {
        self.old.iter().chain(&self.new)
    }

    fn wanted(&self) -> i64 {
        self.deployment.at(&["spec", "replicas"]).as_i64().unwrap_or(1)
    }

    fn is_paused(&self) -> bool {
        self.deployment.at(&["spec", "paused"]).is_true()
    }

    fn is_rolling(&self) -> bool {
        self.deployment.at(&["spec", "strategy", "type"]).str() != "Recreate"
    }
}

/// `spec.replicas` of a ReplicaSet.
fn size(set: &Value) -> i64 {
    set.at(&["spec", "replicas"]).as_i64().unwrap_or(1)
}

/// A count in the status of a ReplicaSet.
fn count(set: &Value, field: &str) -> i64 {
    set.at(&["status", field]).int()
}

impl DeploymentController {
    fn observe_set(&mut self, change: &Change, plan: &mut Planner<'_>) {
        let owner = |set: &Value| controller_key(set, Kind::DEPLOYMENT, "Deployment");
        let before = change.before.as_ref().and_then(owner);
        let after = change.after.as_ref().and_then(owner);
        if let Some((key, uid)) = &before
            && before != after
        {
            if let Some(sets) = self.sets.get_mut(uid) {
                sets.remove(&change.key);
            }
            self.queue.add_after(key.clone(), TOGETHER, plan);
        }
        if let Some((key, uid)) = after {
            self.sets.entry(uid).or_default().insert(change.key.clone());
            self.queue.add_after(key, TOGETHER, plan);
        }
    }

    fn sync(&mut self, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(deployment) = cx.get(key).cloned() else { return };
        let selector = Selector::of_object(deployment.at(&["spec", "selector"]));
        if selector.requirements.is_empty() {
            let text = "This deployment is selecting all pods. A non-empty selector is required.";
            event(cx, NAME, key, true, "SelectingAll", text);
            return;
        }
        if !deployment.is_deleting() {
            adopt(&deployment, &selector, cx);
        }
        let keys = self.sets.get(deployment.uid()).cloned().unwrap_or_default();
        let mut old: Vec<Value> = keys.iter().filter_map(|key| cx.get(key).cloned()).collect();
        old.sort_by(|one, two| age(one).cmp(&age(two)));
        let new = revision::find_new(&deployment, &old);
        if let Some(new) = &new {
            old.retain(|set| set.uid() != new.uid());
        }
        let mut rollout = Rollout { key: key.clone(), deployment, new, old };
        if rollout.deployment.is_deleting() {
            self.report(&mut rollout, cx);
            return;
        }
        status::check_paused(&mut rollout, cx);
        if rollout.is_paused() || scale::is_scaling(&rollout) {
            revision::sync(&mut rollout, false, cx);
            scale::scale(&mut rollout, cx);
            self.report_counts(&mut rollout, cx);
        } else if rollout.is_rolling() {
            self.roll(&mut rollout, cx);
        } else {
            self.recreate(&mut rollout, cx);
        }
    }

    fn roll(&mut self, rollout: &mut Rollout, cx: &mut Context<'_>) {
        if !revision::sync(rollout, true, cx) {
            return;
        }
        if !scale::grow_new(rollout, cx) && !scale::shrink_old(rollout, cx) && status::is_complete(rollout) {
            clean_up(rollout, cx);
        }
        self.report(rollout, cx);
    }

    fn recreate(&mut self, rollout: &mut Rollout, cx: &mut Context<'_>) {
        revision::sync(rollout, false, cx);
        let mut stopping = false;
        for index in 0..rollout.old.len() {
            stopping |= scale::resize_old(rollout, index, 0, cx);
        }
        let left = |set: &Value| count(set, "replicas") + count(set, "terminatingReplicas");
        if !stopping && rollout.old.iter().all(|set| left(set) == 0) && revision::sync(rollout, true, cx) {
            let wanted = rollout.wanted();
            scale::resize_new(rollout, wanted, cx);
            if status::is_complete(rollout) {
                clean_up(rollout, cx);
            }
        }
        self.report(rollout, cx);
    }
}

/// Age first, then name.
fn age(set: &Value) -> (&str, &str) {
    (set.at(&["metadata", "creationTimestamp"]).str(), set.name())
}

/// Takes over ReplicaSets without a controller that the selector matches.
fn adopt(deployment: &Value, selector: &Selector, cx: &mut Context<'_>) {
    let sets = cx.server.store.list(Kind::REPLICA_SET, deployment.namespace());
    let free =
        sets.filter(|(_, set)| set.controller().is_none() && !set.is_deleting() && selector.matches(set.labels()));
    let keys: Vec<ObjectKey> = free.map(|(key, _)| key.clone()).collect();
    for key in keys {
        let _ = cx.update(&key, Part::Main, |set| {
            let reference = controller_reference("apps/v1", "Deployment", deployment);
            set.make(&["metadata", "ownerReferences"]).as_list_mut().push(reference);
        });
    }
}

/// Deletes empty ReplicaSets beyond `spec.revisionHistoryLimit`, oldest revisions first.
fn clean_up(rollout: &Rollout, cx: &mut Context<'_>) {
    let Some(limit) = rollout.deployment.at(&["spec", "revisionHistoryLimit"]).as_i64() else { return };
    let empty = |set: &&Value| {
        !set.is_deleting()
            && count(set, "replicas") == 0
            && size(set) == 0
            && set.at(&["metadata", "generation"]).int() <= count(set, "observedGeneration")
    };
    let alive = rollout.old.iter().filter(|set| !set.is_deleting()).count();
    let surplus = alive.saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
    let mut sets: Vec<&Value> = rollout.old.iter().filter(empty).collect();
    sets.sort_by_key(|set| revision::of(set));
    for set in sets.into_iter().take(surplus) {
        // Already gone is what is wanted.
        let _ = cx.delete(&ObjectKey::of(Kind::REPLICA_SET, set), &DeleteOptions::default());
    }
}

impl Component for DeploymentController {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watches(&self) -> &'static [Kind] {
        &[Kind::DEPLOYMENT, Kind::REPLICA_SET]
    }

    fn observe(&mut self, change: &Change, plan: &mut Planner<'_>) {
        if change.key.kind == Kind::REPLICA_SET {
            self.observe_set(change, plan);
        } else if change.after.is_some() {
            self.queue.add(change.key.clone(), plan);
        } else {
            self.sets.remove(change.object().uid());
            self.deadlines.remove(&change.key);
        }
    }

    fn act(&mut self, work: &Work, cx: &mut Context<'_>) {
        let Some(key) = &work.key else { return };
        if work.what == "progress" {
            self.deadlines.remove(key);
        } else {
            self.queue.take(key);
        }
        self.sync(key, cx);
    }
}
