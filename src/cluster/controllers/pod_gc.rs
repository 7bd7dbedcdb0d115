//! Pods of nodes that no longer exist.
//!
//! Source: `pkg/controller/podgc/gc_controller.go`.

use std::time::Duration;

use imbl::OrdSet;

use crate::api::DeleteOptions;
use crate::api::registry::{Kind, Part};
use crate::api::store::{Change, ObjectKey};
use crate::component::{Component, Context, Planner, Work};
use crate::object;
use crate::time::{Urgency, VirtualTime};
use crate::value::{Text, Value};

/// The period of sweeps.
const SWEEP: Duration = Duration::from_secs(20);
/// How long a node must be missing.
const QUARANTINE: Duration = Duration::from_secs(40);

/// The controller. It looks at pods only after a node went.
#[derive(Clone, Debug, Default)]
pub struct PodGarbageCollector {
    missing: OrdSet<Text>,
    start: Option<VirtualTime>,
}

impl Component for PodGarbageCollector {
    fn name(&self) -> &'static str {
        "pod-garbage-collector-controller"
    }

    fn watches(&self) -> &'static [Kind] {
        &[Kind::NODE]
    }

    fn start(&mut self, plan: &mut Planner<'_>) {
        self.start = Some(plan.now);
    }

    fn observe(&mut self, change: &Change, plan: &mut Planner<'_>) {
        if change.after.is_some() {
            self.missing.remove(&change.key.name);
            return;
        }
        self.missing.insert(change.key.name.clone());
        // The next sweep notices that the node is missing, the first one after the quarantine acts.
        let passed = plan.now.since(self.start.unwrap_or(plan.now));
        let noticed = SWEEP * u32::try_from(passed.as_secs() / SWEEP.as_secs() + 1).unwrap_or(u32::MAX);
        plan.after(noticed - passed + QUARANTINE, Urgency::Program, Work::on("sweep", change.key.clone()));
    }

    fn act(&mut self, work: &Work, cx: &mut Context<'_>) {
        let Some(key) = &work.key else { return };
        if self.missing.remove(&key.name).is_none() || cx.get(key).is_some() {
            return;
        }
        let bound = |pod: &Value| pod.at(&["spec", "nodeName"]).str() == key.name.as_str();
        let pods = cx.server.store.list(Kind::POD, "").filter(|(_, pod)| bound(pod));
        let keys: Vec<ObjectKey> = pods.map(|(key, _)| key.clone()).collect();
        let now = cx.now.rfc3339();
        for key in keys {
            // A pod that went in the meantime needs neither.
            let _ = cx.update(&key, Part::Status, |pod| fail(pod, &now));
            let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
            let _ = cx.delete(&key, &options);
        }
    }
}

fn fail(pod: &mut Value, now: &str) {
    if pod.has_ended() {
        return;
    }
    pod.set(&["status", "phase"], "Failed");
    let condition = object! {
        "type" => "DisruptionTarget", "status" => "True", "reason" => "DeletionByPodGC",
        "message" => "PodGC: node no longer exists", "lastProbeTime" => Value::Null, "lastTransitionTime" => now,
        "observedGeneration" => pod.at(&["metadata", "generation"]).clone(),
    };
    let conditions = pod.make(&["status", "conditions"]).as_list_mut();
    conditions.retain(|condition| condition.at(&["type"]).str() != "DisruptionTarget");
    conditions.push(condition);
}
