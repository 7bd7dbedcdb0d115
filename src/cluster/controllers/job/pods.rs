//! The pods of a Job.

use super::super::{controller_reference, event};
use super::{NAME, Round, TRACKING, untrack};
use crate::api::DeleteOptions;
use crate::api::registry::{Kind, Part};
use crate::api::store::ObjectKey;
use crate::component::Context;
use crate::value::{Text, Value};
use crate::{list, object};

const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Pods made in one look.
const BURST: usize = 500;

/// The completion index of a pod of an Indexed Job.
pub(super) fn index(pod: &Value) -> Option<i64> {
    pod.annotation(INDEX)?.parse().ok()
}

/// Makes pods in batches of 1, 2, 4, …; stops at the first batch with an error.
pub(super) fn create(round: &mut Round, count: usize, cx: &mut Context<'_>) {
    let count = count.min(BURST);
    let mut free = free_indexes(round, count).into_iter();
    let (mut left, mut batch, mut failed) = (count, 1, false);
    while left > 0 && !failed {
        for _ in 0..batch.min(left) {
            let pod = pod(round, free.next());
            match cx.create(Kind::POD, &round.key.namespace, pod) {
                Ok(made) => {
                    let text = format!("Created pod: {}", made.name());
                    event(cx, NAME, &round.key, false, "SuccessfulCreate", &text);
                    round.active.push(made);
                }
                Err(error) => {
                    let text = format!("Error creating: {}", error.message);
                    event(cx, NAME, &round.key, true, "FailedCreate", &text);
                    failed = true;
                }
            }
        }
        left -= batch.min(left);
        batch *= 2;
    }
}

/// The lowest indexes that are neither done nor under way; none unless the Job is Indexed.
fn free_indexes(round: &Round, count: usize) -> Vec<i64> {
    if !round.is_indexed() {
        return Vec::new();
    }
    let under_way: Vec<i64> = round.active.iter().filter_map(index).collect();
    let all = 0..round.spec("completions").int();
    all.filter(|index| !round.done.contains(index) && !under_way.contains(index)).take(count).collect()
}

fn pod(round: &Round, index: Option<i64>) -> Value {
    let template = round.spec("template");
    let mut metadata = template.at(&["metadata"]).clone();
    metadata.set(&["namespace"], &round.key.namespace);
    metadata.set(&["generateName"], format!("{}-", round.key.name));
    metadata.set(&["ownerReferences"], list![controller_reference("batch/v1", "Job", &round.job)]);
    metadata.make(&["finalizers"]).as_list_mut().push(TRACKING.into());
    let mut spec = template.at(&["spec"]).clone();
    if let Some(index) = index {
        let text = index.to_string();
        metadata.set(&["generateName"], format!("{}-{index}-", round.key.name));
        metadata.set(&["labels", INDEX], text.as_str());
        metadata.set(&["annotations", INDEX], text);
        spec.set(&["hostname"], format!("{}-{index}", round.key.name));
        for field in ["initContainers", "containers"] {
            if spec.at(&[field]).items().is_empty() {
                continue;
            }
            for container in spec.make(&[field]).as_list_mut() {
                tell_index(container);
            }
        }
    }
    object! { "apiVersion" => "v1", "kind" => "Pod", "metadata" => metadata, "spec" => spec }
}

fn tell_index(container: &mut Value) {
    let variable = "JOB_COMPLETION_INDEX";
    let known = container.at(&["env"]).items().iter().any(|one| one.at(&["name"]).str() == variable);
    if !known {
        let source = object! {
            "fieldRef" => object! { "apiVersion" => "v1", "fieldPath" => format!("metadata.labels['{INDEX}']") },
        };
        container.make(&["env"]).as_list_mut().push(object! { "name" => variable, "valueFrom" => source });
    }
}

/// Stops pods without counting them as failed, unready and young ones first; gives how many are now ending.
pub(super) fn delete(round: &mut Round, count: usize, cx: &mut Context<'_>) -> usize {
    let rank = |pod: &Value| {
        let running = pod.at(&["status", "phase"]).str() == "Running";
        let ready = pod.condition("Ready").at(&["status"]).str() == "True";
        (running, ready, std::cmp::Reverse(pod.at(&["metadata", "creationTimestamp"]).text()))
    };
    round.active.sort_by_cached_key(rank);
    let kept = round.active.split_off(count.min(round.active.len()));
    let mut ending = 0;
    for pod in std::mem::replace(&mut round.active, kept) {
        let key = ObjectKey::of(Kind::POD, &pod);
        let _ = cx.update(&key, Part::Main, untrack);
        let options = DeleteOptions { uid: Some(Text::from(pod.uid())), ..DeleteOptions::default() };
        if cx.delete(&key, &options).is_ok() {
            event(cx, NAME, &round.key, false, "SuccessfulDelete", &format!("Deleted pod: {}", pod.name()));
        }
        round.ready -= usize::from(pod.condition("Ready").at(&["status"]).str() == "True");
        ending += usize::from(cx.get(&key).is_some());
    }
    ending
}
