//! Admission of a bound pod on its node: devices first, then the scheduler's checks once more.
//!
//! Source: `pkg/kubelet/lifecycle/predicate.go`, `pkg/kubelet/cm/devicemanager/manager.go`.

use std::collections::BTreeSet;

use super::pod::Devices;
use super::resources::{Amounts, of_pod};
use super::{Node, Plugin};
use crate::api::quantity::Quantity;
use crate::api::selector::Selector;
use crate::value::{Text, Value};
use gpulab_device::Health;

/// Why a pod may not run: `status.reason`, and the sentence of the event.
#[derive(Debug)]
pub(super) struct Rejection {
    pub(super) reason: String,
    pub(super) message: String,
}

/// Admits a pod; gives the devices that each container gets, init containers first.
pub(super) fn admit(state: &Node, node: &Value, pod: &Value) -> Result<Vec<Devices>, Rejection> {
    let devices = allocate(state, pod)?;
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
    Ok(devices)
}

fn allocate(state: &Node, pod: &Value) -> Result<Vec<Devices>, Rejection> {
    let spec = pod.at(&["spec"]);
    let (initial, apps) = (spec.at(&["initContainers"]).items(), spec.at(&["containers"]).items());
    let Some(plugin) = &state.devices else { return Ok(vec![Devices::new(); initial.len() + apps.len()]) };
    let mut taken: BTreeSet<Text> = state.runs.values().flat_map(|run| run.devices(&plugin.resource)).collect();
    let mut reusable = BTreeSet::new();
    let mut given = Vec::new();
    for (position, container) in initial.iter().chain(apps).enumerate() {
        let limit = container.at(&["resources", "limits", &plugin.resource]);
        let count = Quantity::parse(limit.str()).map_or(0, Quantity::value);
        let ids = choose(plugin, &taken, &reusable, usize::try_from(count).unwrap_or(0))?;
        for id in &ids {
            reusable.remove(id);
            taken.insert(id.clone());
        }
        // A finished init container leaves its devices to the containers after it; a sidecar keeps them.
        if position < initial.len() && container.at(&["restartPolicy"]).str() != "Always" {
            reusable.extend(ids.iter().cloned());
        }
        given.push(if ids.is_empty() { Devices::new() } else { vec![(plugin.resource.clone(), ids)] });
    }
    Ok(given)
}

fn choose(
    plugin: &Plugin,
    taken: &BTreeSet<Text>,
    reusable: &BTreeSet<Text>,
    count: usize,
) -> Result<Vec<Text>, Rejection> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let refuse = |why: String| {
        Err(Rejection {
            reason: "UnexpectedAdmissionError".to_owned(),
            message: format!("Allocate failed due to {why}, which is unexpected"),
        })
    };
    let resource = &plugin.resource;
    if plugin.allocatable() == 0 {
        return refuse(format!("no healthy devices present; cannot allocate unhealthy devices {resource}"));
    }
    let mut ids: Vec<Text> = reusable.iter().take(count).cloned().collect();
    let missing = count - ids.len();
    let healthy = plugin.inventory.devices().iter().filter(|device| device.health == Health::Healthy);
    let free: Vec<Text> = healthy.map(|device| Text::from(&device.id)).filter(|id| !taken.contains(id)).collect();
    if free.len() < missing {
        return refuse(format!(
            "requested number of devices unavailable for {resource}. Requested: {missing}, Available: {}",
            free.len()
        ));
    }
    ids.extend(free.into_iter().take(missing));
    Ok(ids)
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
        if state.devices.as_ref().is_some_and(|plugin| plugin.resource == name) {
            capacity = capacity.max(used + number(*wanted));
        }
        if number(*wanted) + used > capacity {
            return refuse(name, number(*wanted), used, capacity);
        }
    }
    Ok(())
}

fn selects(pod: &Value, node: &Value) -> bool {
    let labels = node.labels();
    let spec = pod.at(&["spec"]);
    if !Selector::of_labels(spec.at(&["nodeSelector"])).matches(labels) {
        return false;
    }
    let required =
        spec.at(&["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"]);
    let holds = |expressions: &Value, subject: &Value| {
        let mut expressions = expressions.items().iter();
        expressions.all(|one| Selector::expression(one).is_some_and(|requirement| requirement.matches(subject)))
    };
    let fields = crate::object! { "metadata.name" => node.name() };
    required.is_null()
        || required.items().iter().any(|term| {
            let (labelled, named) = (term.at(&["matchExpressions"]), term.at(&["matchFields"]));
            let empty = labelled.items().is_empty() && named.items().is_empty();
            !empty && holds(labelled, labels) && holds(named, &fields)
        })
}

fn tolerates(pod: &Value, node: &Value) -> bool {
    let tolerations = pod.at(&["spec", "tolerations"]).items();
    let taints = node.at(&["spec", "taints"]).items().iter();
    taints.filter(|taint| taint.at(&["effect"]).str() == "NoExecute").all(|taint| {
        tolerations.iter().any(|toleration| {
            let (key, effect) = (toleration.at(&["key"]).str(), toleration.at(&["effect"]).str());
            (effect.is_empty() || effect == "NoExecute")
                && (key.is_empty() || key == taint.at(&["key"]).str())
                && (toleration.at(&["operator"]).str() == "Exists"
                    || toleration.at(&["value"]).str() == taint.at(&["value"]).str())
        })
    })
}
