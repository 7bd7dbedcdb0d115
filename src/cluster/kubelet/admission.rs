//! Admission of a bound pod on its node: devices first, then the scheduler's checks once more.
//!
//! Source: `pkg/kubelet/lifecycle/predicate.go`, `pkg/kubelet/cm/devicemanager/manager.go`.

use super::resources::{Amounts, of_pod};
use super::{Node, devices};
use crate::api::placement::{NodeRequirement, Taint, Toleration, tolerated};
use crate::api::quantity::Quantity;
use crate::component::Context;
use crate::value::{Text, Value};

/// Why a pod may not run: `status.reason`, and the sentence of the event.
#[derive(Debug)]
pub(super) struct Rejection {
    pub(super) reason: String,
    pub(super) message: String,
}

/// Admits a pod: its containers get their devices, then the scheduler's checks are made once more.
pub(super) fn admit(state: &mut Node, node: &Value, pod: &Value, cx: &mut Context<'_>) -> Result<(), Rejection> {
    devices::allocate(state, node.name(), pod, cx)?;
    check(state, node, pod)
}

/// The checks that follow the allocation of devices.
pub(super) fn check(state: &Node, node: &Value, pod: &Value) -> Result<(), Rejection> {
    check_resources(state, node, pod)?;
    let predicate = |reason: &str, text: &str| {
        Err(Rejection { reason: reason.to_owned(), message: format!("Predicate {reason} failed: {text}") })
    };
    if !selects(pod, node) {
        return predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
    }
    if !tolerates(pod, node) {
        return predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate");
    }
    Ok(())
}

fn check_resources(state: &Node, node: &Value, pod: &Value) -> Result<(), Rejection> {
    let allocatable = node.at(&["status", "allocatable"]);
    let amount = |name: &str| Quantity::parse(allocatable.at(&[name]).str()).unwrap_or(Quantity::units(0));
    let active: Vec<&Amounts> = state.runs.values().filter(|run| run.is_active()).map(|run| &run.requests).collect();
    let refuse = |name: &str, requested: i64, used: i64, capacity: i64| {
        Err(Rejection {
            reason: format!("OutOf{name}"),
            message: format!(
                "Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {capacity}"
            ),
        })
    };
    let (pods, most) = (i64::try_from(active.len()).unwrap_or(i64::MAX), amount("pods").value());
    if pods + 1 > most {
        return refuse("pods", 1, pods, most);
    }
    let wants = of_pod(pod, "requests");
    let known = ["cpu", "memory", "ephemeral-storage"];
    let others = wants.keys().map(Text::as_str).filter(|name| !known.contains(name));
    for name in known.into_iter().chain(others.clone()) {
        let Some(wanted) = wants.get(name).filter(|wanted| !wanted.is_zero()) else { continue };
        // What the node does not list is left out: the pod then runs without it.
        if allocatable.get(name).is_none() {
            continue;
        }
        let number = |quantity: Quantity| if name == "cpu" { quantity.milli_value() } else { quantity.value() };
        let used: i64 = active.iter().filter_map(|requests| requests.get(name)).map(|used| number(*used)).sum();
        let mut capacity = number(amount(name));
        // The node counts for at least what its devices are given out for, this pod's among them.
        if state.manager.held_by(pod.uid()).any(|(holder, _)| holder.resource == name) {
            capacity = capacity.max(used + number(*wanted));
        }
        if number(*wanted) + used > capacity {
            return refuse(name, number(*wanted), used, capacity);
        }
    }
    Ok(())
}

fn selects(pod: &Value, node: &Value) -> bool {
    NodeRequirement::of(pod.at(&["spec"])).is_none_or(|required| required.matches(node.name(), node.labels()))
}

/// A pod that is bound already has to tolerate NoExecute taints only.
fn tolerates(pod: &Value, node: &Value) -> bool {
    let tolerations: Vec<Toleration> = pod.at(&["spec", "tolerations"]).items().iter().map(Toleration::of).collect();
    let mut taints = node.at(&["spec", "taints"]).items().iter().map(Taint::of);
    taints.all(|taint| taint.effect != "NoExecute" || tolerated(&tolerations, &taint))
}
