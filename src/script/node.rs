//! Nodes: what they have, what is free, who runs there.

use std::rc::Rc;

use gpulab_cluster::api::quantity::Quantity;
use rhai::{Dynamic, Map};
use serde_json::Value;

use super::convert::{at, items, text};
use super::docs::Registrar;
use super::fault::{Fault, Res};
use super::kinds::KindRef;
use super::lab::Lab;
use super::listing::Listing;
use super::object::{NodeHandle, Object, named};
use super::options::kind_of;
use super::rows::Rows;

/// Registers `nodes`, `node` and the reads of nodes.
pub fn register(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function("nodes() -> List", "Lists the nodes.\nExample: print(nodes());\nSee: node, fleet", {
        let lab = lab.clone();
        move || -> Res<Listing> { Ok(Listing::new(&lab, lab.kind("nodes")?, "")) }
    });
    registrar.function("nodes(labels: string) -> List", "", {
        let lab = lab.clone();
        move |labels: Dynamic| -> Res<Listing> {
            Ok(Listing::new(&lab, lab.kind("nodes")?, &selector("nodes", &labels)?))
        }
    });
    registrar.function(
        "node(name: string) -> Node",
        "Finds a node by name; \"kind\" is another name of the lab's own node.\nFails: when there is no such node; the nearest name is told.\nExample: print(node(\"kind\").gpus());\nSee: nodes, capacity, taint, cordon",
        move |name: Dynamic| -> Res<Dynamic> { Ok(find(&lab, "Node", "node", &name)?.into_script()) },
    );
    reads(registrar);
}

/// The selector of `pods("app=x")`.
///
/// # Errors
/// When it is no string.
pub fn selector(function: &str, labels: &Dynamic) -> Result<String, Fault> {
    labels.clone().into_string().map_err(|_| {
        Fault::script(format!("{function} takes a label selector (string); got {}", kind_of(labels)))
            .hint(format!("write {function}(\"app=mri\"), or {function}() for all"))
    })
}

/// The object of a name, which must be there.
///
/// # Errors
/// When it is not, or the argument is no name.
pub fn find(lab: &Rc<Lab>, kind: &str, function: &str, name: &Dynamic) -> Result<Object, Fault> {
    if let Some(object) = super::object::handle(name).filter(|object| object.kind.kind == kind) {
        return Ok(object);
    }
    let Ok(word) = name.clone().into_string() else {
        let mut fault = Fault::script(format!("{function} takes a name (string); got {}", kind_of(name)));
        if name.is_int() {
            fault = fault.hint(format!("the n-th of a list is {function}s()[n]"));
        }
        return Err(fault);
    };
    let kind = KindRef::built_in(kind).map_or_else(|| lab.kind(kind), |kind| Ok(Rc::new(kind)))?;
    let word = word.strip_prefix(&format!("{}/", kind.singular)).map_or(word.clone(), str::to_owned);
    let object = named(lab, kind, &word);
    object.read()?;
    Ok(object)
}

fn reads(registrar: &mut Registrar<'_>) {
    registrar.read(
        "Node.gpus() -> int",
        "status.allocatable[gpu]",
        "Number of GPUs that pods may use: the node's allocatable amount of the lab's GPU resource.\nExample: print(node(\"kind\").gpus());\nSee: capacity, free",
        |node: &NodeHandle| {
            let value = node.0.read()?;
            Ok(quantity(&value, &["status", "allocatable", &node.0.lab.resource.borrow()]))
        },
    );
    registrar.read(
        "Node.capacity() -> map",
        "status.capacity",
        "What the node has, by resource name: numbers where they are whole, texts otherwise.\nExample: print(node(\"kind\").capacity());",
        |node: &NodeHandle| Ok(amounts(at(&node.0.read()?, &["status", "capacity"]))),
    );
    registrar.read(
        "Node.allocatable() -> map",
        "status.allocatable",
        "What pods may use of the node, by resource name.\nExample: print(node(\"kind\").allocatable());",
        |node: &NodeHandle| Ok(amounts(at(&node.0.read()?, &["status", "allocatable"]))),
    );
    registrar.read(
        "Node.free() -> map",
        "status.allocatable - requests",
        "What is allocatable and not requested by a pod on the node, by resource name.\nExample: print(node(\"kind\").free());",
        |node: &NodeHandle| free(&node.0),
    );
    registrar.read(
        "Node.taints() -> Rows",
        "spec.taints",
        "The taints, as a table of key, value and effect.\nExample: print(node(\"kind\").taints());\nSee: taint, untaint",
        |node: &NodeHandle| {
            let value = node.0.read()?;
            let rows = items(&value, &["spec", "taints"]).iter().map(|taint| {
                ["key", "value", "effect"].map(|key| (key, Dynamic::from(text(taint, &[key]).to_owned()))).to_vec()
            });
            Ok(Rows::new(&["key", "value", "effect"], rows))
        },
    );
    registrar.read(
        "Node.pods() -> List",
        "pods",
        "The pods that are bound to the node, of all namespaces.\nExample: print(node(\"kind\").pods());",
        |node: &NodeHandle| Ok(pods_on(&node.0)),
    );
    registrar.read(
        "Node.ready -> bool",
        "status.conditions[Ready]",
        "Whether the node is Ready.",
        |node: &NodeHandle| Ok(condition(&node.0.read()?, "Ready") == "True"),
    );
    registrar.read(
        "Node.cordoned -> bool",
        "spec.unschedulable",
        "Whether the node takes no new pods.\nSee: cordon, uncordon",
        |node: &NodeHandle| Ok(at(&node.0.read()?, &["spec", "unschedulable"]).as_bool().unwrap_or(false)),
    );
}

fn pods_on(node: &Object) -> Listing {
    let kind = Rc::new(KindRef::built_in("Pod").unwrap_or_else(|| (*node.kind).clone()));
    Listing::new(&node.lab, kind, "").fields(&format!("spec.nodeName={}", node.name)).everywhere()
}

/// Status of a condition: `True`, `False`, `Unknown`, or empty.
pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    items(object, &["status", "conditions"])
        .iter()
        .find(|condition| text(condition, &["type"]) == kind)
        .map_or("", |condition| text(condition, &["status"]))
}

/// A quantity in whole units, 0 when it is absent.
pub fn quantity(object: &Value, path: &[&str]) -> i64 {
    amount(at(object, path)).map_or(0, Quantity::value)
}

fn amount(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}

fn amounts(resources: &Value) -> Map {
    let entries = resources.as_object().into_iter().flatten();
    entries.map(|(name, value)| (name.as_str().into(), amount(value).map_or(Dynamic::UNIT, shown))).collect()
}

/// A whole number as such, anything with a suffix as its text.
fn shown(quantity: Quantity) -> Dynamic {
    let text = quantity.to_string();
    text.parse::<i64>().map_or_else(|_| text.into(), Dynamic::from)
}

fn free(node: &Object) -> Res<Map> {
    let value = node.read()?;
    let pods = pods_on(node).values()?;
    let mut free = Map::new();
    for (name, allocatable) in at(&value, &["status", "allocatable"]).as_object().into_iter().flatten() {
        let Some(mut left) = amount(allocatable) else { continue };
        for pod in &pods {
            left = left.minus(if name == "pods" { active(pod) } else { request(pod, name) });
        }
        free.insert(name.as_str().into(), shown(left));
    }
    Ok(free)
}

/// Whether a pod has come to its end and holds nothing any more.
pub fn is_over(pod: &Value) -> bool {
    matches!(text(pod, &["status", "phase"]), "Succeeded" | "Failed")
}

fn active(pod: &Value) -> Quantity {
    Quantity::units(i64::from(!is_over(pod)))
}

/// What a pod requests of a resource: the sum over its containers, or its largest init container, plus overhead
/// (scheduler framework `PodRequests`; restartable init containers count as containers).
pub fn request(pod: &Value, resource: &str) -> Quantity {
    let none = Quantity::units(0);
    if is_over(pod) {
        return none;
    }
    let of = |container: &Value| amount(at(container, &["resources", "requests", resource])).unwrap_or(none);
    let mut sum = items(pod, &["spec", "containers"]).iter().fold(none, |sum, one| sum.plus(of(one)));
    let mut largest = none;
    let mut sidecars = none;
    for container in items(pod, &["spec", "initContainers"]) {
        if text(container, &["restartPolicy"]) == "Always" {
            sidecars = sidecars.plus(of(container));
            largest = largest.max(sidecars);
        } else {
            largest = largest.max(sidecars.plus(of(container)));
        }
    }
    sum = sum.plus(sidecars).max(largest);
    sum.plus(amount(at(pod, &["spec", "overhead", resource])).unwrap_or(none))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn requests_count_init_containers_as_the_scheduler_does() {
        let gpus = |count: &str| json!({"resources": {"requests": {"g": count}}});
        let pod = json!({"spec": {"containers": [gpus("1"), gpus("2")], "initContainers": [gpus("5")]}});
        assert_eq!(request(&pod, "g").value(), 5);
        let pod = json!({"spec": {"containers": [gpus("1"), gpus("2")], "initContainers": [gpus("1")]}});
        assert_eq!(request(&pod, "g").value(), 3);
        let mut sidecar = gpus("2");
        sidecar["restartPolicy"] = "Always".into();
        let pod = json!({"spec": {"containers": [gpus("1")], "initContainers": [sidecar, gpus("1")]}});
        assert_eq!(request(&pod, "g").value(), 3);
    }
}
