//! Verbs that change nodes: taint, untaint, cordon, uncordon, capacity.

use std::rc::Rc;

use rhai::Dynamic;
use serde_json::{Value, json};

use super::act::{Applied, merge, send};
use super::cleanup::capacity_pointer;
use super::convert::{items, text};
use super::docs::Registrar;
use super::fault::{Fault, Res};
use super::lab::Lab;
use super::object::{Object, target};
use super::options::kind_of;
use super::suggest::did_you_mean;

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Registers the verbs.
pub fn register(registrar: &mut Registrar<'_>) {
    taints(registrar);
    cordons(registrar);
    capacities(registrar);
}

fn node(lab: &Rc<Lab>, x: &Dynamic, function: &str) -> Result<Object, Fault> {
    let object = target(lab, x, Some("node"), function)?;
    if object.kind.kind == "Node" {
        Ok(object)
    } else {
        Err(Fault::script(format!("{function} takes a node; got a {}", object.kind.kind)))
    }
}

/// Key, value and effect of `key=value:Effect`.
///
/// # Errors
/// When the text has another shape.
pub fn parse_taint(written: &str) -> Result<(String, String, String), Fault> {
    let (left, effect) = written.rsplit_once(':').ok_or_else(|| {
        Fault::script(format!("\"{written}\" is no taint")).hint("write key=value:NoSchedule or key:NoSchedule")
    })?;
    if !EFFECTS.contains(&effect) {
        let near = did_you_mean(effect, EFFECTS);
        return Err(Fault::script(format!("unknown taint effect \"{effect}\"{near}"))
            .hint(format!("effects: {}", EFFECTS.join(", "))));
    }
    let (key, value) = left.split_once('=').unwrap_or((left, ""));
    Ok((key.to_owned(), value.to_owned(), effect.to_owned()))
}

fn taints(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "taint(node: string or Node, taint: string) -> Applied",
        "Adds a taint to a node, written key=value:Effect; a taint of the same key and effect is replaced.\nFails: for an unknown effect.\nExample: taint(node(\"kind\"), \"team=mri:NoSchedule\");\n  untaint(node(\"kind\"), \"team\");\nSee: untaint, cordon",
        {
            let lab = lab.clone();
            move |x: Dynamic, taint: &str| -> Res<Applied> {
                let (key, value, effect) = parse_taint(taint)?;
                let object = node(&lab, &x, "taint")?;
                let now = object.read()?;
                let mut taints: Vec<Value> = items(&now, &["spec", "taints"]).to_vec();
                taints.retain(|one| text(one, &["key"]) != key || text(one, &["effect"]) != effect);
                let mut made = json!({"key": key, "effect": effect});
                if !value.is_empty() {
                    made["value"] = value.into();
                }
                taints.push(made);
                Ok(merge(&object, "", &json!({"spec": {"taints": taints}}), "tainted")?)
            }
        },
    );
    registrar.function(
        "untaint(node: string or Node, taint: string) -> Applied",
        "Removes a taint from a node, written key, key:Effect or key=value:Effect.\nFails: when the node has no such taint.\nExample: taint(node(\"kind\"), \"team=mri:NoSchedule\");\n  untaint(node(\"kind\"), \"team=mri:NoSchedule\");\nSee: taint",
        move |x: Dynamic, taint: &str| -> Res<Applied> {
            let object = node(&lab, &x, "untaint")?;
            let now = object.read()?;
            let taints = items(&now, &["spec", "taints"]);
            let (left, effect) = taint.rsplit_once(':').map_or((taint, None), |(left, effect)| (left, Some(effect)));
            let (key, value) = left.split_once('=').map_or((left, None), |(key, value)| (key, Some(value)));
            let meant = |one: &Value| {
                text(one, &["key"]) == key
                    && value.is_none_or(|value| text(one, &["value"]) == value)
                    && effect.is_none_or(|effect| text(one, &["effect"]) == effect)
            };
            let kept: Vec<Value> = taints.iter().filter(|one| !meant(one)).cloned().collect();
            if kept.len() == taints.len() {
                let keys = taints.iter().map(|one| text(one, &["key"]));
                return Err(Fault::script(format!("taint \"{taint}\" not found{}", did_you_mean(key, keys))).into());
            }
            let kept = if kept.is_empty() { Value::Null } else { Value::Array(kept) };
            Ok(merge(&object, "", &json!({"spec": {"taints": kept}}), "untainted")?)
        },
    );
}

fn cordons(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "cordon(node: string or Node) -> Applied",
        "Marks a node as unschedulable: it takes no new pods, running ones stay.\nExample: cordon(node(\"kind\"));\n  uncordon(node(\"kind\"));\nSee: uncordon, taint",
        {
            let lab = lab.clone();
            move |x: Dynamic| -> Res<Applied> {
                let object = node(&lab, &x, "cordon")?;
                Ok(merge(&object, "", &json!({"spec": {"unschedulable": true}}), "cordoned")?)
            }
        },
    );
    registrar.function(
        "uncordon(node: string or Node) -> Applied",
        "Lets a cordoned node take pods again.\nExample: cordon(\"kind\");\n  uncordon(\"kind\");\nSee: cordon",
        move |x: Dynamic| -> Res<Applied> {
            let object = node(&lab, &x, "uncordon")?;
            Ok(merge(&object, "", &json!({"spec": {"unschedulable": null}}), "uncordoned")?)
        },
    );
}

fn capacities(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "capacity(node: string or Node, count: int) -> Applied",
        "Patches a node's status to have so many GPUs (or so much of a named resource); the kubelet copies capacity to allocatable at its next status sync, and a device plugin on the node overwrites it.\nWaits: for nothing; settle() lets the kubelet copy it.\nFails: for a negative number.\nExample: capacity(node(\"kind\"), 4);\nSee: node, settle",
        {
            let lab = lab.clone();
            move |x: Dynamic, count: Dynamic| -> Res<Applied> {
                let resource = lab.resource.borrow().clone();
                Ok(capacity(&lab, &x, &count, &resource)?)
            }
        },
    );
    registrar.function(
        "capacity(node: string or Node, count: int, resource: string) -> Applied",
        "",
        move |x: Dynamic, count: Dynamic, resource: &str| -> Res<Applied> { Ok(capacity(&lab, &x, &count, resource)?) },
    );
}

fn capacity(lab: &Rc<Lab>, x: &Dynamic, count: &Dynamic, resource: &str) -> Result<Applied, Fault> {
    let object = node(lab, x, "capacity")?;
    let amount = match count.as_int() {
        Ok(count) if count >= 0 => count.to_string(),
        Ok(count) => return Err(Fault::script(format!("capacity takes a number from 0 on; got {count}"))),
        Err(_) => count
            .clone()
            .into_string()
            .map_err(|_| Fault::script(format!("capacity takes a number of GPUs; got {}", kind_of(count))))?,
    };
    let patch = json!([{"op": "add", "path": capacity_pointer(resource), "value": amount}]);
    send(&object, "status", "application/json-patch+json", &patch, "patched")
}
