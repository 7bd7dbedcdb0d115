//! Evicting pods for a pod of higher priority.
//!
//! Source: `framework/preemption/executor.go`. Upstream deletes in the background; here it is done when the attempt ends,
//! after the preemptor has been nominated.

use std::sync::Arc;

use super::PROFILE;
use super::pod::PodInfo;
use crate::api::DeleteOptions;
use crate::api::registry::{Kind, Part};
use crate::component::Context;
use crate::events::{EventSpec, Source};
use crate::object;
use crate::value::Value;

/// Takes the nomination to the node away from pods of lower priority; they would be in the way.
pub fn outrank(cx: &mut Context<'_>, nominated: &[Arc<PodInfo>], pod: &PodInfo) {
    for other in nominated.iter().filter(|other| other.priority < pod.priority) {
        let cleared = cx.update(&other.key, Part::Status, |other| drop(other.remove(&["status", "nominatedNodeName"])));
        // A pod that went away meanwhile is in nobody's way.
        drop(cleared);
    }
}

/// Marks each victim, deletes it with its own grace period, and says so.
pub fn evict(cx: &mut Context<'_>, victims: &[Arc<PodInfo>], preemptor: &Value, node: &str) {
    for victim in victims {
        let Some(object) = cx.get(&victim.key).filter(|object| object.uid() == victim.uid.as_str()).cloned() else {
            continue;
        };
        // One that is on its way already needs no second call.
        if object.is_deleting() {
            continue;
        }
        let now = Value::from(cx.now.rfc3339());
        let marked = cx.update(&victim.key, Part::Status, |victim| mark(victim, now));
        if marked.and_then(|_| cx.delete(&victim.key, &DeleteOptions::default())).is_err() {
            continue;
        }
        cx.event(&EventSpec {
            kind: Kind::POD,
            regarding: &object,
            field_path: "",
            warning: false,
            reason: "Preempted",
            message: &format!("Preempted by pod {} on node {node}", preemptor.uid()),
            source: Source::New { controller: PROFILE, action: "Preempting", related: Some((Kind::POD, preemptor)) },
        });
    }
}

fn mark(victim: &mut Value, now: Value) {
    let generation = victim.at(&["metadata", "generation"]).clone();
    let mut condition = object! {
        "type" => "DisruptionTarget", "status" => "True", "lastProbeTime" => Value::Null, "lastTransitionTime" => now,
        "reason" => "PreemptionByScheduler",
        "message" => format!("{PROFILE}: preempting to accommodate a higher priority pod"),
    };
    if !generation.is_null() {
        condition.set(&["observedGeneration"], generation);
    }
    let conditions = victim.make(&["status", "conditions"]).as_list_mut();
    conditions.retain(|known| known.at(&["type"]).str() != "DisruptionTarget");
    // The strategic merge patch of the real scheduler puts a new condition in front.
    conditions.insert(0, condition);
}
