//! kube-scheduler 1.36.3: takes waiting pods one by one, finds a node for each, and binds it.

mod amounts;
mod cache;
mod cycle;
mod diagnosis;
mod evict;
mod framework;
mod memo;
mod node;
mod plugins;
mod pod;
mod preemption;
mod profile;
mod queue;
mod record;
mod terms;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use crate::api::registry::{Kind, Part};
use crate::api::store::{Change, ObjectKey};
use crate::component::{Component, Context, Planner, Work};
use crate::events::{EventSpec, Source};
use crate::object;
use crate::time::{Ties, Urgency, VirtualTime};
use crate::value::{Text, Value};
use cache::Cache;
use cycle::{Algorithm, Choice, Filters, Outcome};
use diagnosis::Diagnosis;
use framework::{ClusterEvent, Cycle, Framework};
use memo::Failure;
use node::NodeInfo;
use pod::{PodInfo, same_to_scheduler};
use preemption::Preemption;
use profile::Strategy;
use queue::Queue;

/// The profile's name; pods of another scheduler are never touched.
const PROFILE: &str = "default-scheduler";
/// How often pods that were set aside long ago are looked for.
const SWEEP: Duration = Duration::from_secs(30);

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Scheduler {
    cache: Cache,
    queue: Queue,
    algorithm: Algorithm,
    planned: bool,
    sweeping: bool,
    /// When and how urgently pods are next tried again after an error.
    retry: Option<(VirtualTime, bool)>,
}

/// What a pod is to the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Nothing: gone, ended, or of another scheduler.
    None,
    /// It waits for a node.
    Pending,
    /// It takes up room on a node.
    Assigned,
}

fn role(pod: Option<&Value>) -> Role {
    let Some(pod) = pod.filter(|pod| !pod.has_ended()) else { return Role::None };
    if !pod.at(&["spec", "nodeName"]).str().is_empty() {
        return Role::Assigned;
    }
    match pod.at(&["spec", "schedulerName"]).str() {
        PROFILE | "" => Role::Pending,
        _ => Role::None,
    }
}

impl Scheduler {
    /// A scheduler with the default profile. `ties` decides between equally good nodes.
    pub fn new(ties: Ties) -> Scheduler {
        let framework = Framework::new(plugins::default_plugins(&Strategy::default()));
        Scheduler {
            cache: Cache::default(),
            queue: Queue::default(),
            algorithm: Algorithm::new(framework, ties),
            planned: false,
            sweeping: false,
            retry: None,
        }
    }

    fn happened(&mut self, now: VirtualTime, event: &ClusterEvent<'_>) {
        self.queue.happened(&self.algorithm.framework, now, event, i64::MAX);
    }

    fn node_changed(&mut self, change: &Change, now: VirtualTime) {
        let Some(after) = &change.after else {
            if let Some(old) = self.cache.remove_node(&change.key.name) {
                self.happened(now, &ClusterEvent::NodeDelete(&old));
            }
            return;
        };
        if change.before.as_ref().is_some_and(|before| same_node(before, after)) {
            return;
        }
        let new = NodeInfo::of(after, &mut self.cache.resources);
        let Some(old) = self.cache.set_node(new.clone()) else {
            return self.happened(now, &ClusterEvent::NodeAdd(&new));
        };
        if old.unschedulable && !new.unschedulable {
            self.happened(now, &ClusterEvent::NodeTaint(&old, &new));
        }
        if old.allocatable != new.allocatable || old.allowed_pods != new.allowed_pods {
            self.happened(now, &ClusterEvent::NodeAllocatable(&old, &new));
        }
        if old.labels != new.labels {
            self.happened(now, &ClusterEvent::NodeLabel(&old, &new));
        }
        if old.taints != new.taints {
            self.happened(now, &ClusterEvent::NodeTaint(&old, &new));
        }
    }

    fn pod_changed(&mut self, change: &Change, now: VirtualTime) {
        let (was, is) = (role(change.before.as_ref()), role(change.after.as_ref()));
        let key = &change.key;
        match (was, is) {
            (Role::None, Role::None) => {}
            (_, Role::Pending) => {
                let (before, after) = (change.before.as_ref(), change.object());
                if was == Role::Pending && before.is_some_and(|before| same_to_scheduler(before, after)) {
                    return;
                }
                let pod = self.cache.read(key, after);
                self.pending_changed(pod, now);
            }
            (Role::Pending, Role::None) => {
                if let Some(queued) = self.queue.remove(key)
                    && !queued.pod.nominated.is_empty()
                {
                    self.unnominated(&queued.pod, now);
                }
            }
            (Role::Assigned, Role::None) => {
                if let Some(pod) = self.cache.remove_pod(key) {
                    self.happened(now, &ClusterEvent::PodDelete(&pod));
                }
            }
            (Role::None | Role::Pending, Role::Assigned) => self.assigned(key, change.object(), now),
            (Role::Assigned, Role::Assigned) => self.assigned_changed(change, now),
        }
    }

    fn pending_changed(&mut self, pod: PodInfo, now: VirtualTime) {
        let framework = &self.algorithm.framework;
        let Some(old) = self.queue.get(&pod.key).map(|queued| queued.pod.clone()).filter(|old| old.uid == pod.uid)
        else {
            return self.queue.add(pod, framework, now);
        };
        let new = pod.clone();
        self.queue.update(pod, framework, now, &pod_events(&old, &new));
        if !old.nominated.is_empty() && old.nominated != new.nominated {
            self.unnominated(&old, now);
        }
    }

    /// A pod gave up its claim on a node: for pods that had to give way to it this is as if it had been there.
    fn unnominated(&mut self, pod: &PodInfo, now: VirtualTime) {
        self.queue.happened(&self.algorithm.framework, now, &ClusterEvent::PodDelete(pod), pod.priority);
    }

    fn assigned(&mut self, key: &ObjectKey, pod: &Value, now: VirtualTime) {
        self.queue.remove(key);
        if self.cache.is_assumed(key, pod.uid(), pod.at(&["spec", "nodeName"]).str(), pod.labels()) {
            self.cache.confirm(key);
        } else {
            let pod = self.cache.read(key, pod);
            self.cache.add_pod(pod);
        }
        if let Some(pod) = self.cache.pod(key).cloned() {
            self.happened(now, &ClusterEvent::PodAdd(&pod));
        }
    }

    fn assigned_changed(&mut self, change: &Change, now: VirtualTime) {
        if change.before.as_ref().is_some_and(|before| same_to_scheduler(before, change.object())) {
            return;
        }
        let old = self.cache.pod(&change.key).cloned();
        let pod = self.cache.read(&change.key, change.object());
        let new = self.cache.add_pod(pod);
        for event in old.iter().flat_map(|old| pod_events(old, &new)) {
            self.happened(now, &event);
        }
    }

    /// Plans what the queue needs: a cycle when a pod is ready, a sweep when pods are set aside.
    fn plan(&mut self, plan: &mut Planner<'_>) {
        if !self.planned && self.queue.ready() {
            self.planned = true;
            plan.soon(Work::tick("schedule"));
        }
        // Without a node nothing is under way that could help, so nobody waits for the next try.
        let retry = self.queue.next_retry().map(|at| (at, self.cache.len() > 0));
        if let Some((at, awaited)) = retry.filter(|_| retry != self.retry) {
            let urgency = if awaited { Urgency::Work } else { Urgency::Background };
            plan.at(at, urgency, Work::tick("backoff"));
        }
        self.retry = retry;
        if !self.sweeping && self.queue.any_aside() {
            self.sweeping = true;
            plan.after(SWEEP, Urgency::Background, Work::tick("sweep"));
        }
    }

    fn schedule_one(&mut self, cx: &mut Context<'_>) {
        let Some(pod) = self.queue.pop() else { return };
        let Some(object) = cx.get(&pod.key).filter(|object| object.uid() == pod.uid.as_str()).cloned() else { return };
        if pod.deleting {
            self.queue.remove(&pod.key);
            let text = format!("skip schedule deleting pod: {}", pod.key);
            return event(cx, &object, true, "FailedScheduling", "Scheduling", &text);
        }
        if let Some(failure) = self.algorithm.known_failure(&pod, &mut self.cache, &self.queue.nominator) {
            return self.failed(&pod, &object, &failure, None, cx);
        }
        match self.algorithm.schedule(&pod, &mut self.cache, &cx.server.store, &self.queue.nominator) {
            Outcome::NoNodes => {
                self.queue.fail(&pod.key, cx.now);
                let text = "no nodes available to schedule pods";
                cx.decide(&pod.key, "FailedScheduling", text, Value::Null);
                report(cx, &object, "Unschedulable", text, None);
            }
            Outcome::Unfit(diagnosis, filters) => self.unfit(&pod, &object, diagnosis, &filters, cx),
            Outcome::Fit(choice) => self.bind(&pod, &object, &choice, cx),
        }
    }

    fn unfit(
        &mut self,
        pod: &Arc<PodInfo>,
        object: &Value,
        mut diagnosis: Diagnosis,
        filters: &Filters,
        cx: &mut Context<'_>,
    ) {
        let order = self.cache.order();
        let mut nominated: Option<Text> = None;
        let mut evicted = None;
        if diagnosis.pre_filter.is_some() {
            // PreFilter ended before DynamicResources, whose PostFilter then finds no state and ends PostFilter.
            diagnosis.post_filter = "not found".into();
        } else {
            let cycle = Cycle { pod, cache: &self.cache, order: &order, store: &cx.server.store };
            match preemption::preempt(&cycle, filters, &diagnosis, &self.queue.nominator) {
                Preemption::Evict(candidate) => evicted = Some(candidate),
                Preemption::Nothing { why, clear } => {
                    diagnosis.post_filter = format!("{}, preemption: {why}", plugins::NO_CLAIMS);
                    nominated = clear.then(Text::default);
                }
            }
        }
        let failure = Failure {
            text: diagnosis.sentence(&self.cache.resources).into(),
            plugins: diagnosis.plugins,
            detail: record::unfit(&self.cache, &self.algorithm.framework, &diagnosis),
        };
        if let Some(candidate) = &evicted {
            nominated = Some(self.cache.node(candidate.slot).name.clone());
        }
        self.failed(pod, object, &failure, nominated.as_deref(), cx);
        self.algorithm.remember_failure(pod, &self.cache, &diagnosis, failure);
        if let Some((candidate, node)) = evicted.as_ref().zip(nominated.as_ref()) {
            evict::outrank(cx, self.queue.nominator.on(node), pod);
            evict::evict(cx, &candidate.victims, object, node);
        }
    }

    fn failed(
        &mut self,
        pod: &PodInfo,
        object: &Value,
        failure: &Failure,
        nominated: Option<&str>,
        cx: &mut Context<'_>,
    ) {
        self.queue.reject(&pod.key, failure.plugins, cx.now);
        cx.decide(&pod.key, "FailedScheduling", failure.text.to_string(), failure.detail.clone());
        report(cx, object, "Unschedulable", &failure.text, nominated);
    }

    fn bind(&mut self, pod: &Arc<PodInfo>, object: &Value, choice: &Choice, cx: &mut Context<'_>) {
        let node = self.cache.node(choice.slot).name.clone();
        let detail = record::fit(&self.cache, &self.algorithm.framework, choice);
        self.cache.assume(pod, &node);
        match cx.bind(&pod.key, &node) {
            Ok(()) => {
                let text = format!("Successfully assigned {} to {node}", pod.key);
                event(cx, object, false, "Scheduled", "Binding", &text);
                cx.decide(&pod.key, "Scheduled", text, detail);
            }
            Err(status) => {
                let gone = self.cache.remove_pod(&pod.key);
                self.queue.fail(&pod.key, cx.now);
                if let Some(gone) = gone {
                    self.happened(cx.now, &ClusterEvent::PodDelete(&gone));
                }
                let text = format!("running Bind plugin \"DefaultBinder\": {status}");
                cx.decide(&pod.key, "FailedScheduling", text.clone(), Value::Null);
                report(cx, object, "SchedulerError", &text, None);
            }
        }
    }
}

/// Changes of a pod that may help pods that wait (`PodSchedulingPropertiesChange`).
fn pod_events<'a>(old: &'a PodInfo, new: &'a PodInfo) -> Vec<ClusterEvent<'a>> {
    let mut events = Vec::new();
    if old.labels != new.labels {
        events.push(ClusterEvent::PodLabel(old, new));
    }
    let asks = |resource| new.requests.iter().find(|(known, _)| *known == resource).map_or(0, |(_, amount)| *amount);
    if old.requests.iter().any(|(resource, amount)| *amount > asks(*resource)) {
        events.push(ClusterEvent::PodScaleDown(old, new));
    }
    if old.rules.tolerations.len() != new.rules.tolerations.len() {
        events.push(ClusterEvent::PodToleration(new));
    }
    events
}

/// Whether two states of a node are the same to the scheduler; heartbeats are.
fn same_node(before: &Value, after: &Value) -> bool {
    before.labels() == after.labels()
        && before.get("spec") == after.get("spec")
        && before.at(&["status", "allocatable"]) == after.at(&["status", "allocatable"])
        && before.at(&["status", "images"]) == after.at(&["status", "images"])
}

fn event(cx: &mut Context<'_>, pod: &Value, warning: bool, reason: &str, action: &str, message: &str) {
    cx.event(&EventSpec {
        kind: Kind::POD,
        regarding: pod,
        field_path: "",
        warning,
        reason,
        message,
        source: Source::New { controller: PROFILE, action, related: None },
    });
}

/// The event of a failed attempt, then the condition.
fn report(cx: &mut Context<'_>, pod: &Value, reason: &str, message: &str, nominated: Option<&str>) {
    event(cx, pod, true, "FailedScheduling", "Scheduling", message);
    let key = ObjectKey::of(Kind::POD, pod);
    let now = cx.now;
    let patched = cx.update(&key, Part::Status, |pod| {
        set_condition(pod, now, reason, message);
        match nominated {
            Some("") => drop(pod.remove(&["status", "nominatedNodeName"])),
            Some(node) => pod.set(&["status", "nominatedNodeName"], node),
            None => {}
        }
    });
    // A pod that went away meanwhile needs no condition.
    drop(patched);
}

/// Sets PodScheduled to False.
fn set_condition(pod: &mut Value, now: VirtualTime, reason: &str, message: &str) {
    let generation = pod.at(&["metadata", "generation"]).clone();
    let mut condition = object! {
        "type" => "PodScheduled", "status" => "False", "lastProbeTime" => Value::Null, "reason" => reason,
        "message" => message,
    };
    if !generation.is_null() {
        condition.set(&["observedGeneration"], generation);
    }
    pod.put_condition(condition, &now.rfc3339());
}

impl Component for Scheduler {
    fn name(&self) -> &'static str {
        "scheduler"
    }

    fn watches(&self) -> &'static [Kind] {
        &[Kind::NODE, Kind::POD, Kind::NAMESPACE]
    }

    fn observe(&mut self, change: &Change, plan: &mut Planner<'_>) {
        match change.key.kind {
            Kind::NODE => self.node_changed(change, plan.now),
            Kind::POD => self.pod_changed(change, plan.now),
            _ => {
                self.cache.set_namespace(&change.key.name, change.after.as_ref().map(|object| object.labels().clone()))
            }
        }
        self.plan(plan);
    }

    fn act(&mut self, work: &Work, cx: &mut Context<'_>) {
        match work.what {
            "schedule" => {
                self.planned = false;
                self.schedule_one(cx);
            }
            "backoff" => self.queue.flush(cx.now),
            _ => {
                self.sweeping = false;
                self.queue.flush_aside(&self.algorithm.framework, cx.now);
            }
        }
        self.plan(&mut cx.plan());
    }

    /// `profile`: `{strategy, resources: {name: weight}, shape: [{utilization, score}]}`, null for the default.
    fn configure(&mut self, setting: &str, value: &Value) -> Result<(), String> {
        if setting != "profile" {
            return Err(format!("the scheduler has no setting '{setting}'; it has profile"));
        }
        let strategy = Strategy::of(value)?;
        self.algorithm.replace(Framework::new(plugins::default_plugins(&strategy)));
        Ok(())
    }
}
