//! `gpus()`: how many GPUs every node has, may give away, and has left.

use std::collections::BTreeMap;
use std::rc::Rc;

use rhai::Dynamic;
use serde_json::Value;

use super::convert::{at, text};
use super::docs::Registrar;
use super::fault::{Fault, Res};
use super::lab::Lab;
use super::node::{quantity, request};
use super::rows::Rows;

/// Registers the verb.
pub fn register(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "gpus() -> Rows",
        "The GPUs of every node: a table of name, resource, capacity, allocatable and free (allocatable less what pods ask for; below zero on an overbooked node).\nExample: print(gpus());\nSee: nodes, node, capacity",
        move || -> Res<Rows> { Ok(table(&lab)?) },
    );
}

fn table(lab: &Rc<Lab>) -> Result<Rows, Fault> {
    let nodes = lab.list(&*lab.kind("nodes")?, "", "", "")?;
    let pods = lab.list(&*lab.kind("pods")?, "", "", "")?;
    let mut guests: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for pod in &pods {
        guests.entry(text(pod, &["spec", "nodeName"])).or_default().push(pod);
    }
    let mut rows = Vec::new();
    for node in &nodes {
        let name = text(node, &["metadata", "name"]);
        let here = guests.get(name).map_or(&[][..], Vec::as_slice);
        let resources =
            at(node, &["status", "capacity"]).as_object().into_iter().flatten().map(|(resource, _)| resource);
        let found: Vec<&String> = resources.filter(|resource| is_gpu(lab, resource)).collect();
        for resource in &found {
            rows.push(row(node, name, resource, here));
        }
        if found.is_empty() {
            rows.push(row(node, name, "<none>", &[]));
        }
    }
    Ok(Rows::new(&["name", "resource", "capacity", "allocatable", "free"], rows))
}

fn row(node: &Value, name: &str, resource: &str, here: &[&Value]) -> Vec<(&'static str, Dynamic)> {
    let of = |part: &str| quantity(node, &["status", part, resource]);
    let used: i64 = here.iter().map(|pod| request(pod, resource).value()).sum();
    vec![
        ("name", name.to_owned().into()),
        ("resource", resource.to_owned().into()),
        ("capacity", of("capacity").into()),
        ("allocatable", of("allocatable").into()),
        ("free", (of("allocatable") - used).into()),
    ]
}

/// Whether a resource stands for GPUs or parts of them: `nvidia.com/gpu`, `nvidia.com/mig-1g.10gb`, the lab's own.
fn is_gpu(lab: &Lab, resource: &str) -> bool {
    let kind = resource.split_once('/').map_or("", |(_, kind)| kind);
    kind == "gpu" || kind.starts_with("gpu.") || kind.starts_with("mig-") || *lab.resource.borrow() == *resource
}
