//! The row of a pod.
//!
//! Source: `pkg/printers/internalversion/printers.go` (`printPod`).

use super::{age, or_none};
use crate::time::VirtualTime;
use crate::value::Value;
use crate::{list, object};

/// What the containers of a pod add up to.
#[derive(Default)]
struct Sum {
    reason: String,
    ready: usize,
    restarts: i64,
    last: Option<VirtualTime>,
}

impl Sum {
    fn restarted(&mut self, container: &Value) {
        self.restarts += container.at(&["restartCount"]).int();
        let finished = container.at(&["lastState", "terminated", "finishedAt"]);
        self.last = self.last.max(VirtualTime::parse(finished.str()));
    }
}

/// All cells of a pod.
pub(super) fn cells(pod: &Value, now: VirtualTime) -> Vec<Value> {
    let total = pod.at(&["spec", "containers"]).items().len() + sidecars(pod).len();
    let mut sum = Sum { reason: first_reason(pod), ..Sum::default() };
    let (initializing, mut resting) = init_containers(pod, &mut sum);
    if !initializing || pod.condition("Initialized").at(&["status"]).str() == "True" {
        resting.ready = sum.ready;
        resting.reason = std::mem::take(&mut sum.reason);
        containers(pod, &mut resting);
        sum = resting;
    }
    if pod.is_deleting() {
        let ended = pod.has_ended();
        if pod.at(&["status", "reason"]).str() == "NodeLost" {
            sum.reason = "Unknown".into();
        } else if !ended {
            sum.reason = "Terminating".into();
        }
    }
    let restarts = match sum.last {
        Some(last) if sum.restarts != 0 => {
            format!("{} ({} ago)", sum.restarts, age::human(now.micros() - last.micros()))
        }
        _ => sum.restarts.to_string(),
    };
    let ip = pod.at(&["status", "podIPs"]).items().first().map_or("", |first| first.at(&["ip"]).str());
    vec![
        pod.name().into(),
        format!("{}/{total}", sum.ready).into(),
        sum.reason.into(),
        restarts.into(),
        age::since(now, pod.at(&["metadata", "creationTimestamp"]).str()).into(),
        or_none(ip),
        or_none(pod.at(&["spec", "nodeName"]).str()),
        or_none(pod.at(&["status", "nominatedNodeName"]).str()),
        gates(pod).into(),
    ]
}

/// A row's conditions: pods that have ended are marked.
pub(super) fn conditions(pod: &Value) -> Option<Value> {
    let (reason, message) = match pod.at(&["status", "phase"]).str() {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(list![object! { "type" => "Completed", "status" => "True", "reason" => reason, "message" => message }])
}

fn first_reason(pod: &Value) -> String {
    if pod.condition("PodScheduled").at(&["reason"]).str() == "SchedulingGated" {
        return "SchedulingGated".into();
    }
    let status = pod.at(&["status"]);
    match status.at(&["reason"]).str() {
        "" => status.at(&["phase"]).str().to_owned(),
        reason => reason.to_owned(),
    }
}

/// Names of init containers that keep running.
fn sidecars(pod: &Value) -> Vec<&str> {
    let init = pod.at(&["spec", "initContainers"]).items().iter();
    init.filter(|container| container.at(&["restartPolicy"]).str() == "Always")
        .map(|container| container.at(&["name"]).str())
        .collect()
}

/// Looks at init containers; says whether the pod is still initializing, and what its sidecars add up to.
fn init_containers(pod: &Value, sum: &mut Sum) -> (bool, Sum) {
    let sidecars = sidecars(pod);
    let total = pod.at(&["spec", "initContainers"]).items().len();
    let mut resting = Sum::default();
    for (at, container) in pod.at(&["status", "initContainerStatuses"]).items().iter().enumerate() {
        sum.restarted(container);
        let sidecar = sidecars.contains(&container.at(&["name"]).str());
        if sidecar {
            resting.restarted(container);
        }
        let terminated = container.at(&["state", "terminated"]);
        let waiting = container.at(&["state", "waiting", "reason"]).str();
        if !terminated.is_null() && terminated.at(&["exitCode"]).int() == 0 {
            continue;
        }
        if sidecar && container.at(&["started"]).is_true() {
            sum.ready += usize::from(container.at(&["ready"]).is_true());
            continue;
        }
        sum.reason = if !terminated.is_null() {
            format!("Init:{}", ended(terminated))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{at}/{total}")
        };
        return (true, resting);
    }
    (false, resting)
}

fn ended(terminated: &Value) -> String {
    match (terminated.at(&["reason"]).str(), terminated.at(&["signal"]).int()) {
        ("", 0) => format!("ExitCode:{}", terminated.at(&["exitCode"]).int()),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// Looks at the containers from last to first, so that the first one's reason wins.
fn containers(pod: &Value, sum: &mut Sum) {
    let (mut running, mut error) = (false, String::new());
    for container in pod.at(&["status", "containerStatuses"]).items().iter().rev() {
        sum.restarted(container);
        let state = container.at(&["state"]);
        let waiting = state.at(&["waiting", "reason"]).str();
        let terminated = state.at(&["terminated"]);
        if !waiting.is_empty() {
            sum.reason = waiting.to_owned();
        } else if !terminated.is_null() {
            sum.reason = ended(terminated);
            if terminated.at(&["exitCode"]).int() != 0 {
                error.clone_from(&sum.reason);
            }
        } else if container.at(&["ready"]).is_true() && !state.at(&["running"]).is_null() {
            running = true;
            sum.ready += 1;
        }
    }
    if sum.reason == "Completed" {
        if running && pod.condition("Ready").at(&["status"]).str() == "True" {
            sum.reason = "Running".into();
        } else if !error.is_empty() {
            sum.reason = error;
        } else if running {
            sum.reason = "NotReady".into();
        }
    }
}

fn gates(pod: &Value) -> String {
    let gates = pod.at(&["spec", "readinessGates"]).items();
    if gates.is_empty() {
        return "<none>".into();
    }
    let met = |gate: &&Value| pod.condition(gate.at(&["conditionType"]).str()).at(&["status"]).str() == "True";
    format!("{}/{}", gates.iter().filter(met).count(), gates.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(pod: &str) -> String {
        let pod = Value::from_json(pod.as_bytes()).expect("JSON");
        let cells = cells(&pod, VirtualTime::EPOCH);
        format!("{} {} {}", cells[1].str(), cells[2].str(), cells[3].str())
    }

    #[test]
    fn the_status_says_what_matters_most() {
        let two = r#""spec":{"containers":[{"name":"a"},{"name":"b"}]}"#;
        for (pod, cells) in [
            (format!(r#"{{{two},"status":{{"phase":"Pending"}}}}"#), "0/2 Pending 0"),
            (format!(r#"{{{two},"status":{{"phase":"Failed","reason":"OutOfcpu"}}}}"#), "0/2 OutOfcpu 0"),
            (
                format!(
                    r#"{{{two},"status":{{"phase":"Pending","conditions":[{{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}}]}}}}"#
                ),
                "0/2 SchedulingGated 0",
            ),
            (
                format!(
                    r#"{{{two},"status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"False"}}],"containerStatuses":[
                      {{"name":"a","state":{{"terminated":{{"exitCode":0,"reason":"Completed"}}}}}},
                      {{"name":"b","ready":true,"restartCount":2,"state":{{"running":{{}}}}}}]}}}}"#
                ),
                "1/2 NotReady 2",
            ),
            (
                format!(
                    r#"{{{two},"metadata":{{"deletionTimestamp":"2026-01-01T00:00:00Z"}},"status":{{"phase":"Running"}}}}"#
                ),
                "0/2 Terminating 0",
            ),
            (
                r#"{"spec":{"containers":[{"name":"a"}],"initContainers":[{"name":"i"},{"name":"j"}]},"status":{"phase":"Pending",
                  "initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":0}}},{"name":"j","state":{"waiting":{"reason":"PodInitializing"}}}]}}"#
                    .to_owned(),
                "0/1 Init:1/2 0",
            ),
        ] {
            assert_eq!(status(&pod), cells, "{pod}");
        }
    }
}
