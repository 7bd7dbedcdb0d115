//! Verbs that build the world: lab, fleet, scheduler.

use std::rc::Rc;

use gpulab_cluster::world::{Devices, LabNode};
use rhai::Dynamic;
use serde_json::{Value, json};

use super::act::{Applied, create, locate};
use super::convert::to_json;
use super::docs::Registrar;
use super::fault::{Fault, Res};
use super::lab::Lab;
use super::nodes::parse_taint;
use super::options::Options;
use super::suggest::did_you_mean;

/// Options of `lab`.
pub const LAB_KEYS: &[&str] = &["nodes", "gpus", "resource", "plugin", "seed"];
/// Options of `fleet`.
pub const FLEET_KEYS: &[&str] = &["gpus", "name", "labels", "cpu", "memory", "taints", "resource"];
/// Options of `scheduler`.
pub const SCHEDULER_KEYS: &[&str] = &["strategy", "resources", "shape"];

/// Registers the verbs.
pub fn register(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "lab(options: map) -> ()",
        "Replaces the whole world by a new one: nodes (1), gpus per node (4), resource, plugin (true: a device plugin advertises the GPUs), seed.\nFails: on a real cluster.\nExample: lab(#{nodes: 2, gpus: 8});\n  print(nodes());\nSee: fleet, capacity",
        {
            let lab = lab.clone();
            move |options: Dynamic| -> Res<()> { Ok(rebuild(&lab, options)?) }
        },
    );
    registrar.function("fleet(count: int) -> Applied", "", {
        let lab = lab.clone();
        move |count: i64| -> Res<Applied> { Ok(fleet(&lab, count, rhai::Map::new().into())?) }
    });
    registrar.function(
        "fleet(count: int, options: map) -> Applied",
        "Adds nodes that need no machine: they are Ready at once and their pods start at once. Options: gpus (8; an array gives each node its own), name (\"gpu-node\"), labels, cpu (32), memory (\"256Gi\"), taints, resource.\nExample: fleet(2, #{gpus: [4, 2]});\n  print(nodes());\nSee: lab, nodes",
        {
            let lab = lab.clone();
            move |count: i64, options: Dynamic| -> Res<Applied> { Ok(fleet(&lab, count, options)?) }
        },
    );
    registrar.function(
        "scheduler(options: map) -> ()",
        "Chooses how the scheduler scores nodes: strategy (\"LeastAllocated\", \"MostAllocated\", \"RequestedToCapacityRatio\"), resources (a map of resource name to weight), shape (an array of #{utilization, score}).\nFails: on a real cluster; for an unknown strategy.\nExample: scheduler(#{strategy: \"MostAllocated\"});\nSee: fleet",
        move |options: Dynamic| -> Res<()> { Ok(scheduler(&lab, options)?) },
    );
}

/// Names as kind gives them.
fn node_name(index: u32) -> String {
    match index {
        0 => "gpulab-control-plane".into(),
        1 => "gpulab-worker".into(),
        more => format!("gpulab-worker{more}"),
    }
}

fn embedded_only<'a>(lab: &'a Rc<Lab>, function: &str) -> Result<&'a dyn crate::backend::Control, Fault> {
    lab.backend.control().ok_or_else(|| {
        Fault::script(format!(
            "{function} works on the embedded backend only: a real cluster is not rebuilt by a script"
        ))
    })
}

fn rebuild(lab: &Rc<Lab>, options: Dynamic) -> Result<(), Fault> {
    let options = Options::read("lab", options, LAB_KEYS)?;
    let control = embedded_only(lab, "lab")?;
    let mut config = control.config();
    let resource = options.text("resource")?.unwrap_or_else(|| "simulator.accelerator-fleet.io/gpu".into());
    let gpus = options.count("gpus")?.unwrap_or(4);
    let plugin = options.truth("plugin")?.unwrap_or(true);
    let devices = plugin.then(|| Devices { resource: resource.clone(), count: gpus, prefix: "sim-gpu-".into() });
    config.nodes = (0..options.count("nodes")?.unwrap_or(1))
        .map(|index| LabNode { name: node_name(index), devices: devices.clone(), ..LabNode::default() })
        .collect();
    if let Some(seed) = options.int("seed")? {
        config.seed = seed.cast_unsigned();
    }
    control.replace(&config);
    lab.journal.borrow_mut().clear();
    *lab.resource.borrow_mut() = resource;
    *lab.namespace.borrow_mut() = "default".into();
    lab.boot();
    Ok(())
}

impl Lab {
    /// Lets a new world start: its nodes become Ready.
    pub fn boot(&self) {
        if let Some(control) = self.backend.control() {
            control.settle(std::time::Duration::from_secs(60), &mut |step| self.record_step(step));
        }
    }
}

fn fleet(lab: &Rc<Lab>, count: i64, options: Dynamic) -> Result<Applied, Fault> {
    let options = Options::read("fleet", options, FLEET_KEYS)?;
    let Ok(count) = u32::try_from(count) else {
        return Err(Fault::script(format!("fleet takes a number of nodes from 0 on; got {count}")));
    };
    let name = options.text("name")?.unwrap_or_else(|| "gpu-node".into());
    let resource = options.text("resource")?.unwrap_or_else(|| lab.resource.borrow().clone());
    let mut made = Vec::new();
    for index in 0..count {
        let name = format!("{name}-{}", index + 1);
        let mut node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": {"kubernetes.io/hostname": name},
            },
            "spec": {},
        });
        if let Some(Value::Object(labels)) = options.json("labels") {
            for (key, value) in labels {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                node["metadata"]["labels"][key] = value.into();
            }
        }
        if let Some(taints) = options.json("taints") {
            node["spec"]["taints"] = self::taints(taints)?;
        }
        let mut has = json!({
            "cpu": options.quantity("cpu")?.unwrap_or_else(|| "32".into()),
            "memory": options.quantity("memory")?.unwrap_or_else(|| "256Gi".into()),
            "pods": "110",
        });
        let gpus = gpus_of(&options, index)?;
        if gpus > 0 {
            has[&resource] = gpus.to_string().into();
        }
        node["status"] = json!({"capacity": has, "allocatable": has});
        let object = locate(lab, &mut node)?;
        made.push((create(&object, &node)?, "created"));
    }
    Ok(Applied::new(made))
}

/// The GPUs of the n-th node: one number for all, or one each (the last one counts for the rest).
fn gpus_of(options: &Options, index: u32) -> Result<i64, Fault> {
    let wrong = || Fault::script("option \"gpus\" of fleet is a number from 0 on, or an array of such numbers");
    let number = match options.json("gpus") {
        None => return Ok(8),
        Some(Value::Array(list)) => list.get(index as usize).or(list.last()).and_then(Value::as_i64),
        Some(one) => one.as_i64(),
    };
    number.filter(|number| *number >= 0).ok_or_else(wrong)
}

fn taints(value: Value) -> Result<Value, Fault> {
    let list = match value {
        Value::Array(items) => items,
        one => vec![one],
    };
    let mut taints = Vec::new();
    for one in list {
        taints.push(match one {
            Value::String(written) => {
                let (key, value, effect) = parse_taint(&written)?;
                if value.is_empty() {
                    json!({"key": key, "effect": effect})
                } else {
                    json!({"key": key, "value": value, "effect": effect})
                }
            }
            other => other,
        });
    }
    Ok(Value::Array(taints))
}

const STRATEGIES: [&str; 3] = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];

fn scheduler(lab: &Rc<Lab>, options: Dynamic) -> Result<(), Fault> {
    let profile = to_json(&options);
    let options = Options::read("scheduler", options, SCHEDULER_KEYS)?;
    if let Some(strategy) = options.text("strategy")?
        && !STRATEGIES.contains(&strategy.as_str())
    {
        let near = did_you_mean(&strategy, STRATEGIES);
        return Err(Fault::script(format!("unknown strategy \"{strategy}\"{near}"))
            .hint(format!("strategies: {}", STRATEGIES.join(", "))));
    }
    let control = lab.backend.control().ok_or_else(|| {
        Fault::script(
            "scheduler works on the embedded backend only: a real cluster's scheduler reads its own configuration file",
        )
    })?;
    control.configure("scheduler", "profile", &profile).map_err(Fault::script)?;
    lab.journal.borrow_mut().touch_profile();
    Ok(())
}
