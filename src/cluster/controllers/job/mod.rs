//! Jobs: pods that run to their end.
//!
//! Source: `pkg/controller/job/job_controller.go`, `indexed_job_utils.go`, `backoff_utils.go`.
//!
//! Finished pods are counted and freed of their finalizer in one step, since nothing can fail in between here. Failure
//! and success policies and backoff limits per index are not modelled.

mod pods;
mod status;

use std::time::Duration;

use imbl::{OrdMap, OrdSet};

use super::event;
use crate::api::registry::{Kind, Part};
use crate::api::store::{Change, ObjectKey};
use crate::api::{DeleteOptions, Propagation};
use crate::component::{Component, Context, Planner, Work, WorkQueue, controller_key};
use crate::time::{Urgency, VirtualTime};
use crate::value::{Text, Value};

pub(super) const NAME: &str = "job-controller";
/// The finalizer that keeps a pod until it is counted.
const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// Changes of pods are taken together for this long.
const TOGETHER: Duration = Duration::from_millis(1);
/// The delay after the first failed pod; it doubles.
const BACKOFF: Duration = Duration::from_secs(10);
const BACKOFF_CAP: Duration = Duration::from_secs(600);

/// The controller.
#[derive(Clone, Debug, Default)]
pub struct JobController {
    /// Pods by the uid of their Job.
    pods: OrdMap<Text, OrdSet<ObjectKey>>,
    /// Failures since the last success, and when the last one was, by uid.
    failures: OrdMap<Text, (u32, VirtualTime)>,
    queue: WorkQueue,
}

/// One Job and its pods while it is looked at.
struct Round {
    key: ObjectKey,
    job: Value,
    /// The status as it will be written.
    status: Value,
    active: Vec<Value>,
    ready: usize,
    terminating: usize,
    /// Indexes that are done, of an Indexed Job.
    done: Vec<i64>,
    /// Events for after the pods were made.
    events: Vec<(bool, String, String)>,
}

impl Round {
    fn spec(&self, field: &str) -> &Value {
        self.job.at(&["spec", field])
    }

    fn is_indexed(&self) -> bool {
        self.spec("completionMode").str() == "Indexed"
    }

    fn count(&self, field: &str) -> i64 {
        self.status.at(&[field]).int()
    }
}

fn is_tracked(pod: &Value) -> bool {
    pod.at(&["metadata", "finalizers"]).items().iter().any(|finalizer| finalizer.str() == TRACKING)
}

fn untrack(pod: &mut Value) {
    let finalizers = pod.make(&["metadata", "finalizers"]).as_list_mut();
    finalizers.retain(|finalizer| finalizer.str() != TRACKING);
    if finalizers.is_empty() {
        pod.remove(&["metadata", "finalizers"]);
    }
}

/// Whether a condition of this type is true.
fn holds(status: &Value, kind: &str) -> bool {
    let conditions = status.at(&["conditions"]).items();
    conditions.iter().any(|one| one.at(&["type"]).str() == kind && one.at(&["status"]).str() == "True")
}

impl JobController {
    fn observe_pod(&mut self, change: &Change, plan: &mut Planner<'_>) {
        let owner = |pod: &Value| controller_key(pod, Kind::JOB, "Job");
        let Some((job, uid)) = owner(change.object()).or_else(|| change.before.as_ref().and_then(owner)) else {
            return;
        };
        if change.after.is_some() {
            self.pods.entry(uid).or_default().insert(change.key.clone());
        } else if let Some(pods) = self.pods.get_mut(&uid) {
            pods.remove(&change.key);
            if pods.is_empty() {
                self.pods.remove(&uid);
            }
        }
        let state = |pod: Option<&Value>| {
            pod.map(|pod| {
                let ready = pod.condition("Ready").at(&["status"]).clone();
                (pod.at(&["status", "phase"]).clone(), pod.is_deleting(), ready, is_tracked(pod))
            })
        };
        if state(change.before.as_ref()) != state(change.after.as_ref()) {
            self.queue.add_after(job, TOGETHER, plan);
            if change.object().is_deleting() && is_tracked(change.object()) {
                plan.soon(Work::on("release", change.key.clone()));
            }
        }
    }

    /// A pod whose Job is gone or going is let go.
    fn release(key: &ObjectKey, cx: &mut Context<'_>) {
        let Some((job, uid)) = cx.get(key).and_then(|pod| controller_key(pod, Kind::JOB, "Job")) else { return };
        let alive = cx.get(&job).is_some_and(|job| job.uid() == uid.as_str() && !job.is_deleting());
        if !alive {
            let _ = cx.update(key, Part::Main, untrack);
        }
    }

    fn sync(&mut self, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(job) = cx.get(key).cloned() else { return };
        let manager = job.at(&["spec", "managedBy"]).str();
        if !manager.is_empty() && manager != "kubernetes.io/job-controller" {
            return;
        }
        if holds(job.at(&["status"]), "Complete") || holds(job.at(&["status"]), "Failed") {
            self.clear_up(&job, cx);
            return;
        }
        let status = job.at(&["status"]).clone();
        let mut round = Round {
            key: key.clone(),
            job,
            status,
            active: Vec::new(),
            ready: 0,
            terminating: 0,
            done: Vec::new(),
            events: Vec::new(),
        };
        let suspended = round.spec("suspend").is_true();
        if round.status.at(&["startTime"]).is_null() && !suspended {
            round.status.set(&["startTime"], cx.now.rfc3339());
            self.plan_deadline(&round, cx);
        }
        self.count_pods(&mut round, cx);
        if let Some((reason, message)) = status::failure(&round, cx.now) {
            self.end(&mut round, "FailureTarget", "Failed", reason, message, cx);
        } else if status::is_complete(&round) {
            let text = "Reached expected number of succeeded pods";
            self.end(&mut round, "SuccessCriteriaMet", "Complete", "CompletionsReached", text, cx);
        } else {
            self.manage(&mut round, suspended, cx);
        }
        round.write(cx);
    }

    fn plan_deadline(&self, round: &Round, cx: &mut Context<'_>) {
        if let Some(seconds) = round.spec("activeDeadlineSeconds").as_i64() {
            let after = Duration::from_secs(seconds.unsigned_abs());
            cx.plan().after(after, Urgency::Program, Work::on("sync", round.key.clone()));
        }
    }

    /// Goes through the pods: counts those that ended, lists those that run.
    fn count_pods(&mut self, round: &mut Round, cx: &mut Context<'_>) {
        let uid = Text::from(round.job.uid());
        round.done = status::indexes(round.status.at(&["completedIndexes"]).str());
        let mut lenient = round.spec("podReplacementPolicy").str() != "Failed";
        lenient &= round.spec("podFailurePolicy").is_null();
        let (mut succeeded, mut failed) = (0, 0);
        for key in self.pods.get(&uid).cloned().unwrap_or_default() {
            let Some(pod) = cx.get(&key).cloned() else { continue };
            let phase = pod.at(&["status", "phase"]).str();
            if !pod.has_ended() {
                if pod.is_deleting() {
                    round.terminating += 1;
                } else {
                    round.ready += usize::from(pod.condition("Ready").at(&["status"]).str() == "True");
                    round.active.push(pod.clone());
                }
            }
            if !is_tracked(&pod) {
                continue;
            }
            if phase == "Succeeded" {
                let index = pods::index(&pod);
                let fresh = !round.is_indexed() || index.is_some_and(|index| !round.done.contains(&index));
                round.done.extend(index.filter(|_| fresh && round.is_indexed()));
                succeeded += i64::from(fresh);
                self.failures.remove(&uid);
            } else if phase == "Failed" || (lenient && pod.is_deleting()) {
                failed += 1;
                let (known, _) = self.failures.get(&uid).copied().unwrap_or((0, cx.now));
                self.failures.insert(uid.clone(), (known + 1, cx.now));
            } else {
                continue;
            }
            // Counted: it may go.
            let _ = cx.update(&key, Part::Main, untrack);
        }
        round.done.sort_unstable();
        let (succeeded, failed) = (round.count("succeeded") + succeeded, round.count("failed") + failed);
        super::set_count(&mut round.status, "succeeded", succeeded);
        super::set_count(&mut round.status, "failed", failed);
    }

    /// The Job is over: what still runs is stopped, and when nothing is left the final condition is set.
    fn end(&mut self, round: &mut Round, interim: &str, last: &str, reason: &str, message: &str, cx: &mut Context<'_>) {
        let count = round.active.len();
        let stopped = pods::delete(round, count, cx);
        round.terminating += stopped;
        status::put(&mut round.status, interim, "True", reason, message, cx.now);
        if round.terminating > 0 {
            return;
        }
        status::put(&mut round.status, last, "True", reason, message, cx.now);
        if last == "Complete" {
            round.status.set(&["completionTime"], cx.now.rfc3339());
            round.events.push((false, "Completed".to_owned(), "Job completed".to_owned()));
        } else {
            round.events.push((true, reason.to_owned(), message.to_owned()));
        }
    }

    /// Makes and removes pods as suspension, parallelism and completions ask.
    fn manage(&mut self, round: &mut Round, suspended: bool, cx: &mut Context<'_>) {
        let was = holds(&round.status, "Suspended");
        if suspended {
            let count = round.active.len();
            round.terminating += pods::delete(round, count, cx);
            if !was {
                status::put(&mut round.status, "Suspended", "True", "JobSuspended", "Job suspended", cx.now);
                round.status.remove(&["startTime"]);
                round.events.push((false, "Suspended".to_owned(), "Job suspended".to_owned()));
            }
            return;
        }
        if was {
            status::put(&mut round.status, "Suspended", "False", "JobResumed", "Job resumed", cx.now);
            round.status.set(&["startTime"], cx.now.rfc3339());
            self.plan_deadline(round, cx);
            round.events.push((false, "Resumed".to_owned(), "Job resumed".to_owned()));
        }
        let wanted = usize::try_from(status::wanted(round)).unwrap_or(0);
        if round.active.len() > wanted {
            let surplus = round.active.len() - wanted;
            round.terminating += pods::delete(round, surplus, cx);
            return;
        }
        let held = if round.spec("podReplacementPolicy").str() == "Failed" { round.terminating } else { 0 };
        let missing = wanted.saturating_sub(round.active.len() + held);
        if missing == 0 {
            return;
        }
        if let Some(at) = self.failures.get(round.job.uid()).map(|(count, last)| *last + backoff(*count))
            && at > cx.now
        {
            cx.plan().at(at, Urgency::Work, Work::on("sync", round.key.clone()));
            return;
        }
        pods::create(round, missing, cx);
    }

    /// A finished Job lets its last pods go and is deleted after its time to live.
    fn clear_up(&mut self, job: &Value, cx: &mut Context<'_>) {
        for key in self.pods.get(job.uid()).cloned().unwrap_or_default() {
            if cx.get(&key).is_some_and(is_tracked) {
                let _ = cx.update(&key, Part::Main, untrack);
            }
        }
        let Some(seconds) = job.at(&["spec", "ttlSecondsAfterFinished"]).as_i64() else { return };
        let conditions = job.at(&["status", "conditions"]).items();
        let ended = conditions.iter().find(|one| ["Complete", "Failed"].contains(&one.at(&["type"]).str()));
        let ended = ended.and_then(|one| VirtualTime::parse(one.at(&["lastTransitionTime"]).str()));
        let Some(at) = ended.map(|ended| ended + Duration::from_secs(seconds.unsigned_abs())) else { return };
        let key = ObjectKey::of(Kind::JOB, job);
        if at > cx.now {
            cx.plan().at(at, Urgency::Program, Work::on("sync", key));
            return;
        }
        let options = DeleteOptions {
            propagation: Some(Propagation::Foreground),
            uid: Some(Text::from(job.uid())),
            ..DeleteOptions::default()
        };
        // Gone already is what is wanted.
        let _ = cx.delete(&key, &options);
    }
}

fn backoff(failures: u32) -> Duration {
    BACKOFF.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(BACKOFF_CAP)
}

impl Component for JobController {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watches(&self) -> &'static [Kind] {
        &[Kind::JOB, Kind::POD]
    }

    fn observe(&mut self, change: &Change, plan: &mut Planner<'_>) {
        match (change.key.kind, &change.after) {
            (Kind::POD, _) => self.observe_pod(change, plan),
            (_, Some(job)) => {
                if job.is_deleting() {
                    for pod in self.pods.get(job.uid()).cloned().unwrap_or_default() {
                        plan.soon(Work::on("release", pod));
                    }
                }
                self.queue.add(change.key.clone(), plan);
            }
            (_, None) => {
                let uid = change.object().uid();
                self.failures.remove(uid);
                for pod in self.pods.get(uid).cloned().unwrap_or_default() {
                    plan.soon(Work::on("release", pod));
                }
            }
        }
    }

    fn act(&mut self, work: &Work, cx: &mut Context<'_>) {
        let Some(key) = &work.key else { return };
        if work.what == "release" {
            Self::release(key, cx);
        } else {
            self.queue.take(key);
            self.sync(key, cx);
        }
    }
}

impl Round {
    fn write(mut self, cx: &mut Context<'_>) {
        super::set_count(&mut self.status, "active", i64::try_from(self.active.len()).unwrap_or(i64::MAX));
        self.status.set(&["ready"], self.ready);
        self.status.set(&["terminating"], self.terminating);
        self.status.set(&["uncountedTerminatedPods"], Value::object());
        if self.is_indexed() {
            let text = status::ranges(&self.done);
            if !text.is_empty() {
                self.status.set(&["completedIndexes"], text);
            }
        }
        let status = self.status;
        // A Job that is gone in the meantime needs no status.
        let _ = cx.update(&self.key, Part::Status, |job| job.set(&["status"], status));
        for (warning, reason, message) in self.events {
            event(cx, NAME, &self.key, warning, &reason, &message);
        }
    }
}
