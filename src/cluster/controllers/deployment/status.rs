//! The status of a Deployment and its conditions.

use std::time::Duration;

use super::super::set_count;
use super::scale::max_unavailable;
use super::{DeploymentController, Rollout, count, size};
use crate::api::registry::Part;
use crate::component::{Context, Work};
use crate::object;
use crate::time::{Urgency, VirtualTime};
use crate::value::Value;

const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const AVAILABLE: &str = "NewReplicaSetAvailable";

fn condition(kind: &str, status: &str, reason: &str, message: &str, now: VirtualTime) -> Value {
    object! {
        "type" => kind, "status" => status, "reason" => reason, "message" => message,
        "lastUpdateTime" => now.rfc3339(), "lastTransitionTime" => now.rfc3339(),
    }
}

fn find<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status.at(&["conditions"]).items().iter().find(|condition| condition.at(&["type"]).str() == kind)
}

fn take(status: &mut Value, kind: &str) {
    if find(status, kind).is_some() {
        let conditions = status.make(&["conditions"]).as_list_mut();
        conditions.retain(|condition| condition.at(&["type"]).str() != kind);
    }
}

/// Replaces a condition: it moves to the end of the list, unless status and reason are what they were.
fn put(status: &mut Value, mut condition: Value) {
    let kind = condition.at(&["type"]).str().to_owned();
    if let Some(known) = find(status, &kind) {
        if known.at(&["status"]) == condition.at(&["status"]) {
            if known.at(&["reason"]) == condition.at(&["reason"]) {
                return;
            }
            let since = known.at(&["lastTransitionTime"]).clone();
            condition.set(&["lastTransitionTime"], since);
        }
        take(status, &kind);
    }
    status.make(&["conditions"]).as_list_mut().push(condition);
}

/// The progress deadline, unless there is none.
fn deadline(deployment: &Value) -> Option<Duration> {
    let seconds = deployment.at(&["spec", "progressDeadlineSeconds"]).as_i64()?;
    (seconds != i64::from(i32::MAX)).then(|| Duration::from_secs(seconds.unsigned_abs()))
}

/// Writes a Progressing condition at once.
pub(super) fn set_progressing(rollout: &mut Rollout, status: &str, reason: &str, message: &str, cx: &mut Context<'_>) {
    if deadline(&rollout.deployment).is_none() {
        return;
    }
    let condition = condition("Progressing", status, reason, message, cx.now);
    let updated = cx.update(&rollout.key, Part::Status, |deployment| put(deployment.make(&["status"]), condition));
    if let Ok(updated) = updated {
        rollout.deployment = updated;
    }
}

/// Writes a Progressing condition if there is none yet.
pub(super) fn progressing_once(rollout: &mut Rollout, reason: &str, message: &str, cx: &mut Context<'_>) {
    if rollout.deployment.condition("Progressing").is_null() {
        set_progressing(rollout, "True", reason, message, cx);
    }
}

/// Marks a pause and its end in the Progressing condition, so that a deadline does not count across it.
pub(super) fn check_paused(rollout: &mut Rollout, cx: &mut Context<'_>) {
    let reason = rollout.deployment.condition("Progressing").at(&["reason"]).str().to_owned();
    if reason == TIMED_OUT {
        return;
    }
    match (rollout.is_paused(), reason == "DeploymentPaused") {
        (true, false) => set_progressing(rollout, "Unknown", "DeploymentPaused", "Deployment is paused", cx),
        (false, true) => set_progressing(rollout, "Unknown", "DeploymentResumed", "Deployment is resumed", cx),
        _ => {}
    }
}

/// The counts of a Deployment, and whether enough pods are available.
fn counts(rollout: &Rollout, now: VirtualTime) -> Value {
    let sum = |field: &str| rollout.all().map(|set| count(set, field)).sum::<i64>();
    let mut status = rollout.deployment.at(&["status"]).clone();
    let available = sum("availableReplicas");
    let wanted: i64 = rollout.all().map(size).sum();
    set_count(&mut status, "replicas", sum("replicas"));
    set_count(&mut status, "updatedReplicas", rollout.new.as_ref().map_or(0, |set| count(set, "replicas")));
    set_count(&mut status, "readyReplicas", sum("readyReplicas"));
    set_count(&mut status, "availableReplicas", available);
    set_count(&mut status, "unavailableReplicas", (wanted - available).max(0));
    let known = rollout.all().all(|set| !set.at(&["status", "terminatingReplicas"]).is_null());
    if known {
        status.set(&["terminatingReplicas"], sum("terminatingReplicas"));
    } else {
        status.remove(&["terminatingReplicas"]);
    }
    status.set(&["observedGeneration"], rollout.deployment.at(&["metadata", "generation"]).clone());
    let availability = if available >= rollout.wanted() - max_unavailable(rollout) {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    put(&mut status, condition("Available", availability.0, availability.1, availability.2, now));
    status
}

fn complete(rollout: &Rollout, status: &Value) -> bool {
    let wanted = rollout.wanted();
    ["updatedReplicas", "replicas", "availableReplicas"].iter().all(|field| status.at(&[field]).int() == wanted)
        && status.at(&["observedGeneration"]).int() >= rollout.deployment.at(&["metadata", "generation"]).int()
}

/// Whether the rollout is over as far as the status says.
pub(super) fn is_complete(rollout: &Rollout) -> bool {
    complete(rollout, rollout.deployment.at(&["status"]))
}

fn progresses(old: &Value, new: &Value) -> bool {
    let count = |status: &Value, field: &str| status.at(&[field]).int();
    let stale = |status: &Value| count(status, "replicas") - count(status, "updatedReplicas");
    ["updatedReplicas", "readyReplicas", "availableReplicas"].iter().any(|field| count(new, field) > count(old, field))
        || stale(new) < stale(old)
}

impl DeploymentController {
    /// Writes the counts only (a paused or just scaled Deployment).
    pub(super) fn report_counts(&mut self, rollout: &mut Rollout, cx: &mut Context<'_>) {
        let status = counts(rollout, cx.now);
        self.write(rollout, status, cx);
    }

    /// Writes counts and progress.
    pub(super) fn report(&mut self, rollout: &mut Rollout, cx: &mut Context<'_>) {
        let mut status = counts(rollout, cx.now);
        judge(rollout, &mut status, cx.now);
        let failures = || rollout.all().map(|set| set.condition("ReplicaFailure"));
        let failure = rollout.new.iter().map(|set| set.condition("ReplicaFailure")).chain(failures());
        match failure.into_iter().find(|failure| !failure.is_null()) {
            Some(failure) => {
                let (reason, message) = (failure.at(&["reason"]).str(), failure.at(&["message"]).str());
                put(&mut status, condition("ReplicaFailure", failure.at(&["status"]).str(), reason, message, cx.now));
            }
            None => take(&mut status, "ReplicaFailure"),
        }
        self.write(rollout, status, cx);
    }

    fn write(&mut self, rollout: &mut Rollout, status: Value, cx: &mut Context<'_>) {
        self.watch_deadline(rollout, &status, cx);
        // A Deployment that is gone in the meantime needs no status.
        let _ = cx.update(&rollout.key, Part::Status, |deployment| deployment.set(&["status"], status));
    }

    /// Plans a look at the moment at which the rollout will have taken too long.
    fn watch_deadline(&mut self, rollout: &Rollout, status: &Value, cx: &mut Context<'_>) {
        let Some(deadline) = deadline(&rollout.deployment) else { return };
        let Some(progress) = find(status, "Progressing") else { return };
        if complete(rollout, status) || [TIMED_OUT, AVAILABLE].contains(&progress.at(&["reason"]).str()) {
            return;
        }
        let Some(since) = VirtualTime::parse(progress.at(&["lastUpdateTime"]).str()) else { return };
        let at = since + deadline + Duration::from_secs(1);
        if self.deadlines.get(&rollout.key).is_none_or(|planned| *planned < at) {
            self.deadlines.insert(rollout.key.clone(), at);
            cx.plan().at(at, Urgency::Background, Work::on("progress", rollout.key.clone()));
        }
    }
}

/// Sets the Progressing condition by what has changed.
fn judge(rollout: &Rollout, status: &mut Value, now: VirtualTime) {
    let Some(deadline) = deadline(&rollout.deployment) else {
        take(status, "Progressing");
        return;
    };
    let current = rollout.deployment.condition("Progressing").clone();
    let settled = status.at(&["replicas"]).int() == status.at(&["updatedReplicas"]).int();
    if settled && current.at(&["reason"]).str() == AVAILABLE {
        return;
    }
    let subject = match &rollout.new {
        Some(set) => format!("ReplicaSet \"{}\"", set.name()),
        None => format!("Deployment \"{}\"", rollout.key.name),
    };
    let since = VirtualTime::parse(current.at(&["lastUpdateTime"]).str());
    if complete(rollout, status) {
        let message = format!("{subject} has successfully progressed.");
        put(status, condition("Progressing", "True", AVAILABLE, &message, now));
    } else if progresses(rollout.deployment.at(&["status"]), status) {
        let message = format!("{subject} is progressing.");
        let mut condition = condition("Progressing", "True", "ReplicaSetUpdated", &message, now);
        if current.at(&["status"]).str() == "True" {
            condition.set(&["lastTransitionTime"], current.at(&["lastTransitionTime"]).clone());
        }
        // Taken out first: progress always moves the condition and renews its time.
        take(status, "Progressing");
        put(status, condition);
    } else if since.is_some_and(|since| now.since(since) > deadline) && current.at(&["reason"]).str() != AVAILABLE {
        let message = format!("{subject} has timed out progressing.");
        put(status, condition("Progressing", "False", TIMED_OUT, &message, now));
    }
}
