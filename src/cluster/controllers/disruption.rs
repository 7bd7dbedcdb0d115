//! PodDisruptionBudgets: how many pods may go.
//!
//! Source: `pkg/controller/disruption/disruption.go`.

use std::collections::BTreeMap;
use std::time::Duration;

use imbl::OrdMap;

use super::event;
use crate::api::registry::{Kind, Part};
use crate::api::selector::Selector;
use crate::api::store::{Change, ObjectKey};
use crate::component::{Component, Context, Planner, Work, WorkQueue};
use crate::object;
use crate::time::{Urgency, VirtualTime};
use crate::value::{Text, Value};

/// Changes of pods are taken together for this long.
const TOGETHER: Duration = Duration::from_millis(1);
/// How long an evicted pod counts as gone although nobody deleted it.
const EVICTED: Duration = Duration::from_secs(120);

/// The controller.
#[derive(Clone, Debug, Default)]
pub struct DisruptionController {
    budgets: OrdMap<ObjectKey, Selector>,
    queue: WorkQueue,
}

impl DisruptionController {
    fn observe_pod(&mut self, change: &Change, plan: &mut Planner<'_>) {
        if self.budgets.is_empty() {
            return;
        }
        let counts = |pod: &Value| {
            let ready = pod.condition("Ready").at(&["status"]).clone();
            (pod.is_deleting(), ready, pod.labels().clone(), pod.at(&["status", "phase"]).clone())
        };
        let states = [change.before.as_ref(), change.after.as_ref()].map(|pod| pod.map(counts));
        if states[0] == states[1] {
            return;
        }
        let start = ObjectKey::new(Kind::POD_DISRUPTION_BUDGET, change.key.namespace.clone(), "");
        let budgets = self.budgets.range(start..).take_while(|(key, _)| key.namespace == change.key.namespace);
        let matches = |selector: &Selector| states.iter().flatten().any(|(_, _, labels, _)| selector.matches(labels));
        let keys: Vec<ObjectKey> = budgets.filter(|(_, one)| matches(one)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.queue.add_after(key, TOGETHER, plan);
        }
    }

    fn sync(&mut self, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(budget) = cx.get(key).cloned() else { return };
        let selector = Selector::of_object(budget.at(&["spec", "selector"]));
        let all = cx.server.store.list(Kind::POD, &key.namespace).map(|(_, pod)| pod);
        let pods: Vec<Value> = all.filter(|pod| selector.matches(pod.labels())).cloned().collect();
        if pods.is_empty() {
            event(cx, "controllermanager", key, false, "NoPods", "No matching pods found");
        }
        let (expected, desired) = wanted(&budget, &pods, cx);
        let evicted = evicted(&budget, &pods, cx);
        let healthy = |pod: &&Value| {
            !pod.is_deleting()
                && evicted.get(pod.name()).is_none()
                && pod.condition("Ready").at(&["status"]).str() == "True"
        };
        let current = i64::try_from(pods.iter().filter(healthy).count()).unwrap_or(i64::MAX);
        let allowed = if expected > 0 { (current - desired).max(0) } else { 0 };
        let now = cx.now.rfc3339();
        // A budget that is gone in the meantime needs no status.
        let _ = cx.update(key, Part::Status, |budget| {
            let generation = budget.at(&["metadata", "generation"]).clone();
            let condition = condition(budget, allowed > 0, &generation, &now);
            let status = budget.make(&["status"]);
            status.set(&["currentHealthy"], current);
            status.set(&["desiredHealthy"], desired);
            status.set(&["expectedPods"], expected);
            status.set(&["disruptionsAllowed"], allowed);
            status.set(&["observedGeneration"], generation);
            status.set(&["conditions"], vec![condition]);
            if evicted.entries().is_empty() {
                status.remove(&["disruptedPods"]);
            } else {
                status.set(&["disruptedPods"], evicted);
            }
        });
    }
}

fn condition(budget: &Value, allowed: bool, generation: &Value, now: &str) -> Value {
    let (status, reason) = if allowed { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let known = budget.condition("DisruptionAllowed");
    let same = known.at(&["status"]).str() == status;
    let since = if same { known.at(&["lastTransitionTime"]).clone() } else { Value::from(now) };
    object! {
        "type" => "DisruptionAllowed", "status" => status, "reason" => reason, "message" => "",
        "lastTransitionTime" => since, "observedGeneration" => generation.clone(),
    }
}

/// How many pods there should be, and how many of them have to be healthy.
fn wanted(budget: &Value, pods: &[Value], cx: &Context<'_>) -> (i64, i64) {
    let spec = budget.at(&["spec"]);
    let present = i64::try_from(pods.len()).unwrap_or(i64::MAX);
    match (spec.at(&["maxUnavailable"]), spec.at(&["minAvailable"])) {
        (Value::Null, Value::Int(least)) => (present, *least),
        (Value::Null, Value::Null) => (present, 0),
        (Value::Null, least) => {
            let expected = expected_scale(pods, cx);
            (expected, percent(least, expected))
        }
        (most, _) => {
            let expected = expected_scale(pods, cx);
            let most = if let Value::Int(most) = most { *most } else { percent(most, expected) };
            (expected, (expected - most).max(0))
        }
    }
}

/// A percentage, rounded up.
fn percent(value: &Value, total: i64) -> i64 {
    let percent: i64 = value.str().trim_end_matches('%').parse().unwrap_or(0);
    (percent * total + 99).div_euclid(100)
}

/// The sum of the sizes of the pods' controllers: the Deployment's where a ReplicaSet has one.
fn expected_scale(pods: &[Value], cx: &Context<'_>) -> i64 {
    let mut scales: BTreeMap<Text, i64> = BTreeMap::new();
    for pod in pods {
        let Some(owner) = pod.controller().filter(|owner| owner.at(&["kind"]).str() == "ReplicaSet") else { continue };
        let set = ObjectKey::new(Kind::REPLICA_SET, pod.namespace(), owner.at(&["name"]).text());
        let Some(set) = cx.get(&set).filter(|set| set.uid() == owner.at(&["uid"]).str()) else { continue };
        let above = set.controller().filter(|owner| owner.at(&["kind"]).str() == "Deployment");
        let above = above.map(|owner| ObjectKey::new(Kind::DEPLOYMENT, pod.namespace(), owner.at(&["name"]).text()));
        let top = above.and_then(|key| cx.get(&key)).unwrap_or(set);
        scales.insert(Text::from(top.uid()), top.at(&["spec", "replicas"]).as_i64().unwrap_or(1));
    }
    scales.values().sum()
}

/// Pods that were evicted and are still to be deleted. Plans a look at the moment at which that takes too long.
fn evicted(budget: &Value, pods: &[Value], cx: &mut Context<'_>) -> Value {
    let mut kept = Value::object();
    for (name, time) in budget.at(&["status", "disruptedPods"]).entries() {
        let at = VirtualTime::parse(time.str()).unwrap_or(cx.now) + EVICTED;
        let alive = pods.iter().any(|pod| pod.name() == name.as_str() && !pod.is_deleting());
        if alive && at > cx.now {
            kept.set(&[name], time.clone());
            let key = ObjectKey::of(Kind::POD_DISRUPTION_BUDGET, budget);
            cx.plan().at(at, Urgency::Background, Work::on("sync", key));
        }
    }
    kept
}

impl Component for DisruptionController {
    fn name(&self) -> &'static str {
        "disruption-controller"
    }

    fn watches(&self) -> &'static [Kind] {
        &[Kind::POD_DISRUPTION_BUDGET, Kind::POD, Kind::REPLICA_SET, Kind::DEPLOYMENT]
    }

    fn observe(&mut self, change: &Change, plan: &mut Planner<'_>) {
        match change.key.kind {
            Kind::POD => self.observe_pod(change, plan),
            Kind::POD_DISRUPTION_BUDGET => match &change.after {
                Some(budget) => {
                    let selector = Selector::of_object(budget.at(&["spec", "selector"]));
                    self.budgets.insert(change.key.clone(), selector);
                    self.queue.add(change.key.clone(), plan);
                }
                None => drop(self.budgets.remove(&change.key)),
            },
            _ => {
                let size = |object: Option<&Value>| object.map(|object| object.at(&["spec", "replicas"]).clone());
                if size(change.before.as_ref()) == size(change.after.as_ref()) || self.budgets.is_empty() {
                    return;
                }
                let keys = self.budgets.keys().filter(|key| key.namespace == change.key.namespace).cloned();
                for key in keys.collect::<Vec<_>>() {
                    self.queue.add_after(key, TOGETHER, plan);
                }
            }
        }
    }

    fn act(&mut self, work: &Work, cx: &mut Context<'_>) {
        let Some(key) = &work.key else { return };
        self.queue.take(key);
        self.sync(key, cx);
    }
}
