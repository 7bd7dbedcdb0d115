//! ReplicaSets: as many active pods as wanted.
//!
//! Source: `pkg/controller/replicaset/replica_set.go`, `replica_set_utils.go`, `pkg/controller/controller_utils.go`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use imbl::{OrdMap, OrdSet};

use super::{controller_reference, event, set_count};
use crate::api::DeleteOptions;
use crate::api::registry::{Kind, Part};
use crate::api::selector::Selector;
use crate::api::store::{Change, ObjectKey};
use crate::component::{Component, Context, Planner, Work, WorkQueue, controller_key};
use crate::time::{Urgency, VirtualTime};
use crate::value::{Text, Value};
use crate::{list, object};

const NAME: &str = "replicaset-controller";
/// Pods created or deleted in one sync.
const BURST: usize = 500;
/// Changes of pods are taken together for this long, as watches and work queues do in effect.
const TOGETHER: Duration = Duration::from_millis(1);
/// The first delay after a failed sync; it doubles.
const RETRY: Duration = Duration::from_millis(5);

/// The controller.
#[derive(Clone, Debug, Default)]
pub struct ReplicaSetController {
    sets: OrdMap<ObjectKey, Entry>,
    /// Pods by the uid of their controller.
    groups: OrdMap<Text, Group>,
    queue: WorkQueue,
}

/// What is known of a ReplicaSet.
#[derive(Clone, Debug)]
struct Entry {
    uid: Text,
    selector: Arc<Selector>,
    /// Labels of the template.
    labels: Value,
    /// Pods without a controller that the selector matches.
    orphans: OrdSet<ObjectKey>,
    /// Own pods that the selector no longer matches.
    strays: OrdSet<ObjectKey>,
    failures: u32,
}

/// Pods of one controller, with running counts.
#[derive(Clone, Debug, Default)]
struct Group {
    pods: OrdMap<Text, PodView>,
    active: i64,
    ready: i64,
    labelled: i64,
    terminating: i64,
}

/// What counts of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PodView {
    active: bool,
    ready: bool,
    labelled: bool,
    terminating: bool,
}

impl PodView {
    fn of(pod: &Value, template: &Value) -> PodView {
        let over = pod.has_ended();
        let active = !over && !pod.is_deleting();
        let labels = pod.labels();
        PodView {
            active,
            ready: active && pod.condition("Ready").at(&["status"]).str() == "True",
            labelled: active && template.entries().iter().all(|(key, value)| labels.get(key) == Some(value)),
            terminating: !over && pod.is_deleting(),
        }
    }
}

impl Group {
    fn count(&mut self, view: PodView, sign: i64) {
        self.active += sign * i64::from(view.active);
        self.ready += sign * i64::from(view.ready);
        self.labelled += sign * i64::from(view.labelled);
        self.terminating += sign * i64::from(view.terminating);
    }

    /// Replaces what is known of a pod and says whether that makes a difference.
    fn set(&mut self, name: &Text, view: Option<PodView>) -> bool {
        let before = match view {
            Some(view) => {
                self.count(view, 1);
                self.pods.insert(name.clone(), view)
            }
            None => self.pods.remove(name),
        };
        if let Some(before) = before {
            self.count(before, -1);
        }
        before != view
    }
}

impl ReplicaSetController {
    fn observe_set(&mut self, change: &Change, plan: &mut Planner<'_>) {
        let Some(set) = &change.after else {
            self.sets.remove(&change.key);
            self.groups.remove(change.object().uid());
            return;
        };
        let labels = set.at(&["spec", "template", "metadata", "labels"]);
        let known = self.sets.get(&change.key).is_some_and(|entry| entry.uid == set.uid() && entry.labels == *labels);
        if !known {
            let entry = Entry {
                uid: Text::from(set.uid()),
                selector: Arc::new(Selector::of_object(set.at(&["spec", "selector"]))),
                labels: labels.clone(),
                orphans: OrdSet::new(),
                strays: OrdSet::new(),
                failures: 0,
            };
            self.sets.insert(change.key.clone(), entry);
            plan.soon(Work::on("adopt", change.key.clone()));
        }
        self.queue.add(change.key.clone(), plan);
    }

    fn observe_pod(&mut self, change: &Change, plan: &mut Planner<'_>) {
        let owner = |pod: &Value| controller_key(pod, Kind::REPLICA_SET, "ReplicaSet");
        let before = change.before.as_ref().and_then(owner);
        let after = change.after.as_ref().and_then(owner);
        if let Some((key, uid)) = &before
            && before != after
            && let Some(group) = self.groups.get_mut(uid)
        {
            group.set(&change.key.name, None);
            self.queue.add_after(key.clone(), TOGETHER, plan);
        }
        let Some(pod) = &change.after else { return };
        match &after {
            Some((key, uid)) => {
                let entry = self.sets.get_mut(key).filter(|entry| entry.uid == *uid);
                if let Some(entry) = entry
                    && !pod.is_deleting()
                    && !entry.selector.matches(pod.labels())
                {
                    entry.strays.insert(change.key.clone());
                }
                let template = self.sets.get(key).map_or(Value::Null, |entry| entry.labels.clone());
                let view = PodView::of(pod, &template);
                let changed = self.groups.entry(uid.clone()).or_default().set(&change.key.name, Some(view));
                if changed || before != after {
                    self.queue.add_after(key.clone(), TOGETHER, plan);
                }
            }
            None if pod.controller().is_none() && !pod.is_deleting() => self.find_parent(&change.key, pod, plan),
            None => {}
        }
    }

    /// Offers a pod without a controller to the ReplicaSets of its namespace.
    fn find_parent(&mut self, key: &ObjectKey, pod: &Value, plan: &mut Planner<'_>) {
        if self.sets.is_empty() {
            return;
        }
        let start = ObjectKey::new(Kind::REPLICA_SET, key.namespace.clone(), "");
        let sets = self.sets.range(start..).take_while(|(set, _)| set.namespace == key.namespace);
        let parents: Vec<ObjectKey> =
            sets.filter(|(_, entry)| entry.selector.matches(pod.labels())).map(|(set, _)| set.clone()).collect();
        for parent in parents {
            if let Some(entry) = self.sets.get_mut(&parent) {
                entry.orphans.insert(key.clone());
            }
            self.queue.add(parent, plan);
        }
    }

    /// Looks once for pods that a new ReplicaSet finds already there.
    fn look_around(&mut self, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(entry) = self.sets.get_mut(key) else { return };
        for (pod_key, pod) in cx.server.store.list(Kind::POD, &key.namespace) {
            if pod.controller().is_none() && !pod.is_deleting() && entry.selector.matches(pod.labels()) {
                entry.orphans.insert(pod_key.clone());
            }
        }
        if !entry.orphans.is_empty() {
            self.queue.add(key.clone(), &mut cx.plan());
        }
    }

    fn sync(&mut self, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(set) = cx.get(key).cloned() else { return };
        self.claim(key, &set, cx);
        let group = self.groups.get(set.uid()).cloned().unwrap_or_default();
        let wanted = set.at(&["spec", "replicas"]).as_i64().unwrap_or(1);
        let difference = group.active - wanted;
        let failure = if set.is_deleting() || difference == 0 {
            None
        } else if difference < 0 {
            create_pods(key, &set, usize::try_from(-difference).unwrap_or(0).min(BURST), cx)
        } else {
            delete_pods(key, &set, &group, usize::try_from(difference).unwrap_or(0).min(BURST), cx)
        };
        let Some(entry) = self.sets.get_mut(key) else { return };
        match &failure {
            Some(_) => {
                let delay = RETRY * 2_u32.pow(entry.failures.min(17));
                entry.failures += 1;
                cx.plan().after(delay, Urgency::Background, Work::on("sync", key.clone()));
            }
            None => entry.failures = 0,
        }
        let (available, next) = available(&set, &group, cx);
        if let Some(at) = next {
            cx.plan().at(at, Urgency::Work, Work::on("sync", key.clone()));
        }
        let moment = cx.now.rfc3339();
        // A ReplicaSet that is gone in the meantime needs no status.
        let _ = cx.update(key, Part::Status, |now| {
            let mut status = status(&set, &group, available);
            set_failure(&mut status, failure.as_ref(), difference, &moment);
            now.set(&["status"], status);
        });
    }

    /// Adopts matching orphans and releases pods that no longer match.
    fn claim(&mut self, key: &ObjectKey, set: &Value, cx: &mut Context<'_>) {
        let Some(entry) = self.sets.get_mut(key) else { return };
        let (orphans, strays) = (std::mem::take(&mut entry.orphans), std::mem::take(&mut entry.strays));
        let selector = entry.selector.clone();
        for pod in orphans.iter().filter(|_| !set.is_deleting()) {
            let _ = cx.update(pod, Part::Main, |pod| {
                if pod.controller().is_none() && !pod.is_deleting() && selector.matches(pod.labels()) {
                    let reference = controller_reference("apps/v1", "ReplicaSet", set);
                    pod.make(&["metadata", "ownerReferences"]).as_list_mut().push(reference);
                }
            });
        }
        for pod in &strays {
            let _ = cx.update(pod, Part::Main, |pod| {
                if !selector.matches(pod.labels()) {
                    let owners = pod.make(&["metadata", "ownerReferences"]).as_list_mut();
                    owners.retain(|owner| owner.at(&["uid"]).str() != set.uid());
                    if owners.is_empty() {
                        pod.remove(&["metadata", "ownerReferences"]);
                    }
                }
            });
        }
    }
}

impl Component for ReplicaSetController {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watches(&self) -> &'static [Kind] {
        &[Kind::REPLICA_SET, Kind::POD]
    }

    fn observe(&mut self, change: &Change, plan: &mut Planner<'_>) {
        match change.key.kind {
            Kind::REPLICA_SET => self.observe_set(change, plan),
            _ => self.observe_pod(change, plan),
        }
    }

    fn act(&mut self, work: &Work, cx: &mut Context<'_>) {
        let Some(key) = &work.key else { return };
        if work.what == "adopt" {
            self.look_around(key, cx);
        } else {
            self.queue.take(key);
            self.sync(key, cx);
        }
    }
}

/// Creates pods in batches of 1, 2, 4, …; stops at the first batch with an error and gives that.
fn create_pods(key: &ObjectKey, set: &Value, count: usize, cx: &mut Context<'_>) -> Option<String> {
    let template = set.at(&["spec", "template"]);
    let mut metadata = object! {
        "generateName" => format!("{}-", key.name), "namespace" => &key.namespace,
        "ownerReferences" => list![controller_reference("apps/v1", "ReplicaSet", set)],
    };
    for field in ["labels", "annotations", "finalizers"] {
        let value = template.at(&["metadata", field]);
        if !value.is_null() {
            metadata.set(&[field], value.clone());
        }
    }
    let pod = object! {
        "apiVersion" => "v1", "kind" => "Pod", "metadata" => metadata, "spec" => template.at(&["spec"]).clone(),
    };
    let (mut left, mut batch) = (count, 1);
    while left > 0 {
        let mut failure = None;
        for _ in 0..batch.min(left) {
            match cx.create(Kind::POD, &key.namespace, pod.clone()) {
                Ok(made) => {
                    event(cx, NAME, key, false, "SuccessfulCreate", &format!("Created pod: {}", made.name()));
                }
                Err(error) => {
                    event(cx, NAME, key, true, "FailedCreate", &format!("Error creating: {}", error.message));
                    failure = Some(error.message);
                }
            }
        }
        if failure.is_some() {
            return failure;
        }
        left -= batch.min(left);
        batch *= 2;
    }
    None
}

fn delete_pods(key: &ObjectKey, set: &Value, group: &Group, count: usize, cx: &mut Context<'_>) -> Option<String> {
    let names = group.pods.iter().filter(|(_, view)| view.active).map(|(name, _)| name);
    let keys: Vec<ObjectKey> = names.map(|name| ObjectKey::new(Kind::POD, &key.namespace, name)).collect();
    let mut pods: Vec<Value> = keys.iter().filter_map(|key| cx.get(key).cloned()).collect();
    if count < pods.len() {
        let crowd = crowd(set, cx);
        let rank = |pod: &Value| crowd.get(pod.at(&["spec", "nodeName"]).str()).copied().unwrap_or(0);
        let now = cx.now;
        pods.sort_by(|one, two| order(one, rank(one), two, rank(two), now));
    }
    let mut failure = None;
    for pod in pods.into_iter().take(count) {
        let options = DeleteOptions { uid: Some(Text::from(pod.uid())), ..DeleteOptions::default() };
        match cx.delete(&ObjectKey::of(Kind::POD, &pod), &options) {
            Ok(_) => event(cx, NAME, key, false, "SuccessfulDelete", &format!("Deleted pod: {}", pod.name())),
            Err(error) if error.code == 404 => {}
            Err(error) => {
                event(cx, NAME, key, true, "FailedDelete", &format!("Error deleting: {}", error.message));
                failure = Some(error.message);
            }
        }
    }
    failure
}

/// Active pods by node, over all ReplicaSets that have the same owner as this one.
fn crowd(set: &Value, cx: &Context<'_>) -> BTreeMap<Text, usize> {
    let owner = set.controller().map(|owner| owner.at(&["uid"]).text());
    let same = |other: &Value| match (&owner, other.controller()) {
        (Some(owner), Some(theirs)) => theirs.at(&["uid"]).str() == owner.as_str(),
        _ => other.uid() == set.uid(),
    };
    let siblings = cx.server.store.list(Kind::REPLICA_SET, set.namespace()).filter(|(_, other)| same(other));
    let uids: Vec<Text> = siblings.map(|(_, other)| Text::from(other.uid())).collect();
    let mut crowd = BTreeMap::new();
    for (_, pod) in cx.server.store.list(Kind::POD, set.namespace()) {
        let mine =
            pod.controller().is_some_and(|owner| uids.iter().any(|uid| owner.at(&["uid"]).str() == uid.as_str()));
        if mine && PodView::of(pod, &Value::Null).active {
            *crowd.entry(pod.at(&["spec", "nodeName"]).text()).or_insert(0) += 1;
        }
    }
    crowd
}

/// Which of two pods is deleted first (`ActivePodsWithRanks`).
fn order(one: &Value, one_rank: usize, two: &Value, two_rank: usize, now: VirtualTime) -> Ordering {
    let assigned = |pod: &Value| !pod.at(&["spec", "nodeName"]).str().is_empty();
    let phase = |pod: &Value| match pod.at(&["status", "phase"]).str() {
        "Running" => 2,
        "Unknown" => 1,
        _ => 0,
    };
    let ready = |pod: &Value| pod.condition("Ready").at(&["status"]).str() == "True";
    let cost = |pod: &Value| {
        pod.annotation("controller.kubernetes.io/pod-deletion-cost")
            .and_then(|cost| cost.parse::<i64>().ok())
            .unwrap_or(0)
    };
    let restarts = |pod: &Value, field: &str| {
        let counts = pod.at(&["status", field]).items().iter().map(|status| status.at(&["restartCount"]).int());
        counts.max().unwrap_or(0)
    };
    // Ages count by powers of two, so that pods of about the same age are picked without a pattern.
    let age = |time: &str| {
        VirtualTime::parse(time).map_or(-1, |time| match now.since(time).as_nanos() {
            0 => -1,
            nanos => i64::from(nanos.ilog2()),
        })
    };
    let ready_age = |pod: &Value| age(pod.condition("Ready").at(&["lastTransitionTime"]).str());
    let created_age = |pod: &Value| age(pod.at(&["metadata", "creationTimestamp"]).str());
    let mut order = assigned(one)
        .cmp(&assigned(two))
        .then(phase(one).cmp(&phase(two)))
        .then(ready(one).cmp(&ready(two)))
        .then(cost(one).cmp(&cost(two)))
        .then(two_rank.cmp(&one_rank));
    if order == Ordering::Equal && ready(one) && ready(two) {
        let transition = |pod: &Value| pod.condition("Ready").at(&["lastTransitionTime"]).text();
        order = ready_age(one).cmp(&ready_age(two));
        if order == Ordering::Equal && transition(one) != transition(two) {
            order = one.uid().cmp(two.uid());
        }
    }
    order
        .then_with(|| restarts(two, "containerStatuses").cmp(&restarts(one, "containerStatuses")))
        .then_with(|| created_age(one).cmp(&created_age(two)))
        .then_with(|| one.uid().cmp(two.uid()))
}

/// How many pods are available, and when the next one becomes so.
fn available(set: &Value, group: &Group, cx: &Context<'_>) -> (i64, Option<VirtualTime>) {
    let least = set.at(&["spec", "minReadySeconds"]).int();
    if least <= 0 {
        return (group.ready, None);
    }
    let least = Duration::from_secs(least.unsigned_abs());
    let (mut count, mut next) = (0, None);
    for (name, _) in group.pods.iter().filter(|(_, view)| view.ready) {
        let Some(pod) = cx.get(&ObjectKey::new(Kind::POD, set.namespace(), name)) else { continue };
        let since = VirtualTime::parse(pod.condition("Ready").at(&["lastTransitionTime"]).str()).unwrap_or(cx.now);
        if since + least <= cx.now {
            count += 1;
        } else {
            next = Some(next.map_or(since + least, |known: VirtualTime| known.min(since + least)));
        }
    }
    (count, next)
}

fn status(set: &Value, group: &Group, available: i64) -> Value {
    let mut status = set.at(&["status"]).clone();
    status.set(&["replicas"], group.active);
    set_count(&mut status, "fullyLabeledReplicas", group.labelled);
    set_count(&mut status, "readyReplicas", group.ready);
    set_count(&mut status, "availableReplicas", available);
    status.set(&["terminatingReplicas"], group.terminating);
    status.set(&["observedGeneration"], set.at(&["metadata", "generation"]).clone());
    status
}

fn set_failure(status: &mut Value, failure: Option<&String>, difference: i64, now: &str) {
    let conditions = status.at(&["conditions"]).items();
    let known = conditions.iter().any(|condition| condition.at(&["type"]).str() == "ReplicaFailure");
    match failure {
        Some(message) if !known => {
            let condition = object! {
                "type" => "ReplicaFailure", "status" => "True", "message" => message, "lastTransitionTime" => now,
                "reason" => if difference < 0 { "FailedCreate" } else { "FailedDelete" },
            };
            status.make(&["conditions"]).as_list_mut().push(condition);
        }
        None if known => {
            let conditions = status.make(&["conditions"]).as_list_mut();
            conditions.retain(|condition| condition.at(&["type"]).str() != "ReplicaFailure");
            if conditions.is_empty() {
                status.remove(&["conditions"]);
            }
        }
        _ => {}
    }
}
