//! Asking for GPUs: submit and finish.

use std::rc::Rc;

use rhai::Dynamic;
use serde_json::{Value, json};

use super::act::{Applied, create, locate, manifests, merge};
use super::convert::to_json;
use super::docs::Registrar;
use super::fault::{Fault, Res};
use super::lab::Lab;
use super::manifest;
use super::nodes::parse_taint;
use super::object::{Object, target};
use super::options::{Options, kind_of};
use crate::backend::duration;

/// Options of `submit`.
pub const KEYS: &[&str] = &[
    "name",
    "gpus",
    "resource",
    "cpu",
    "memory",
    "priority",
    "runs",
    "exit",
    "labels",
    "annotations",
    "node_selector",
    "tolerations",
    "affinity",
    "image",
    "command",
    "args",
    "pods",
    "queue",
    "restart",
    "grace",
    "spread",
];

/// How long the container runs, for the kubelets of the lab.
pub const RUNS: &str = "gpulab.dev/runs";
/// With which code it ends.
pub const EXIT_CODE: &str = "gpulab.dev/exit-code";
/// Asks the lab's kubelet to end the pod's program now.
pub const FINISH: &str = "gpulab.dev/finish";

/// Registers the verbs.
pub fn register(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "submit(job: map or manifest) -> Pod",
        "Asks for GPUs: a map such as #{name, gpus} makes one Pod of exactly that name; a manifest is taken as it is. Options: name, gpus, resource, cpu, memory, priority, runs (\"5m\"), exit, labels, annotations, node_selector, tolerations, affinity, image, command, args, restart, grace, spread.\nWaits: for nothing; the scheduler acts when time passes.\nFails: when the name is taken, an option is unknown, or the API server refuses a value.\nExample: submit(#{name: \"mri\", gpus: 1});\n  wait_running(\"mri\");\nSee: finish, wait_running, wait_pending, apply",
        {
            let lab = lab.clone();
            move |job: Dynamic| -> Res<Dynamic> { Ok(submit(&lab, job)?) }
        },
    );
    registrar.function(
        "submit(job: map or manifest, queue: string)",
        "",
        move |_job: Dynamic, queue: Dynamic| -> Res<Dynamic> { Err(no_kueue(&queue.to_string()).into()) },
    );
    finish(registrar);
}

fn no_kueue(queue: &str) -> Fault {
    Fault::script(format!("cannot submit to queue \"{queue}\": Kueue is not installed in this cluster"))
        .hint("submit(job) without a queue goes straight to the scheduler")
}

fn submit(lab: &Rc<Lab>, job: Dynamic) -> Result<Dynamic, Fault> {
    let is_manifest = match to_json(&job) {
        Value::Object(map) => map.contains_key("kind") || map.contains_key("apiVersion"),
        _ => true,
    };
    if is_manifest {
        let mut made = Vec::new();
        for mut manifest in manifests(lab, &job)? {
            let object = locate(lab, &mut manifest)?;
            made.push(create(&object, &manifest)?);
        }
        return Ok(match made.len() {
            1 => made.remove(0).into_script(),
            _ => Dynamic::from(Applied::new(made.into_iter().map(|object| (object, "created")).collect())),
        });
    }
    let options = Options::read("submit", job, KEYS)?;
    let Some(name) = options.text("name")? else {
        return Err(Fault::script("submit needs a name").hint("submit(#{name: \"mri\", gpus: 1})"));
    };
    if let Some(queue) = options.text("queue")? {
        return Err(no_kueue(&queue));
    }
    let pods = options.count("pods")?;
    let pod = pod(lab, &name, &options)?;
    let mut manifest = match pods {
        None => pod,
        Some(count) => job_of(&name, &pod, count),
    };
    let object = locate(lab, &mut manifest)?;
    Ok(create(&object, &manifest)?.into_script())
}

/// A Job of `count` pods, all at once.
fn job_of(name: &str, pod: &Value, count: u32) -> Value {
    let mut metadata = pod["metadata"].clone();
    if let Some(map) = metadata.as_object_mut() {
        map.retain(|key, _| key == "labels" || key == "annotations");
    }
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"parallelism": count, "completions": count, "template": {"metadata": metadata, "spec": pod["spec"]}},
    })
}

fn pod(lab: &Rc<Lab>, name: &str, options: &Options) -> Result<Value, Fault> {
    let mut pod = manifest::pod(name, &lab.namespace.borrow());
    resources(lab, options, &mut pod["spec"]["containers"][0])?;
    for (key, at) in [("labels", "/metadata/labels"), ("annotations", "/metadata/annotations")] {
        if let Some(values) = options.json(key) {
            put(&mut pod, at, strings(key, values)?);
        }
    }
    if let Some(selector) = options.json("node_selector") {
        put(&mut pod, "/spec/nodeSelector", strings("node_selector", selector)?);
    }
    if let Some(priority) = options.value("priority") {
        let Ok(class) = priority.clone().into_string() else {
            return Err(Fault::script(format!(
                "option \"priority\" of submit is the name of a PriorityClass; got {}",
                kind_of(priority)
            ))
            .hint("apply a PriorityClass with that value first and give its name"));
        };
        put(&mut pod, "/spec/priorityClassName", class.into());
    }
    if let Some(tolerations) = options.json("tolerations") {
        put(&mut pod, "/spec/tolerations", self::tolerations(tolerations)?);
    }
    for (key, at) in [
        ("affinity", "/spec/affinity"),
        ("spread", "/spec/topologySpreadConstraints"),
        ("command", "/spec/containers/0/command"),
        ("args", "/spec/containers/0/args"),
    ] {
        if let Some(value) = options.json(key) {
            put(&mut pod, at, if matches!(key, "command" | "args") { words(value) } else { value });
        }
    }
    for (key, at) in [("image", "/spec/containers/0/image"), ("restart", "/spec/restartPolicy")] {
        if let Some(value) = options.text(key)? {
            put(&mut pod, at, value.into());
        }
    }
    if let Some(grace) = options.span("grace")? {
        put(&mut pod, "/spec/terminationGracePeriodSeconds", grace.as_secs().into());
    }
    if let Some(runs) = options.span("runs")? {
        pod["metadata"]["annotations"][RUNS] = duration::exact(runs).into();
    }
    if let Some(code) = options.count("exit")? {
        pod["metadata"]["annotations"][EXIT_CODE] = code.to_string().into();
    }
    Ok(pod)
}

fn resources(lab: &Rc<Lab>, options: &Options, container: &mut Value) -> Result<(), Fault> {
    let resource = options.text("resource")?.unwrap_or_else(|| lab.resource.borrow().clone());
    if let Some(gpus) = options.quantity("gpus")? {
        container["resources"]["limits"][&resource] = gpus.into();
    }
    for key in ["cpu", "memory"] {
        if let Some(amount) = options.quantity(key)? {
            container["resources"]["requests"][key] = amount.into();
        }
    }
    Ok(())
}

/// Puts a value at a JSON pointer of which all but the last step exist, or can be made as objects.
fn put(object: &mut Value, pointer: &str, value: Value) {
    let mut here = object;
    for step in pointer.split('/').skip(1) {
        here = match step.parse::<usize>() {
            Ok(index) => &mut here[index],
            Err(_) => &mut here[step],
        };
    }
    *here = value;
}

/// A map whose values are texts, as labels are.
fn strings(key: &str, values: Value) -> Result<Value, Fault> {
    let Value::Object(map) = values else {
        return Err(Fault::script(format!("option \"{key}\" of submit is a map, such as #{{app: \"mri\"}}")));
    };
    let text = |value: Value| match value {
        Value::String(_) => value,
        other => other.to_string().into(),
    };
    Ok(map.into_iter().map(|(key, value)| (key, text(value))).collect::<serde_json::Map<_, _>>().into())
}

fn words(value: Value) -> Value {
    match value {
        Value::String(line) => line.split_whitespace().collect::<Vec<_>>().into(),
        other => other,
    }
}

/// Tolerations as maps, or written as taints: `key=value:Effect`, `key`.
fn tolerations(value: Value) -> Result<Value, Fault> {
    let list = match value {
        Value::Array(items) => items,
        one => vec![one],
    };
    let mut made = Vec::new();
    for one in list {
        made.push(match one {
            Value::String(written) if written.contains(':') => {
                let (key, value, effect) = parse_taint(&written)?;
                if value.is_empty() {
                    json!({"key": key, "operator": "Exists", "effect": effect})
                } else {
                    json!({"key": key, "operator": "Equal", "value": value, "effect": effect})
                }
            }
            Value::String(key) => json!({"key": key, "operator": "Exists"}),
            other => other,
        });
    }
    Ok(Value::Array(made))
}

fn finish(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "finish(x: string or Pod) -> Applied",
        "Ends a running pod's program as it would end itself, with exit code 0 or the given one.\nWaits: for nothing; the kubelet acts when time passes.\nFails: on a cluster whose programs are real.\nExample: submit(#{name: \"mri\", gpus: 1});\n  wait_running(\"mri\");\n  finish(\"mri\");\nSee: submit, delete",
        {
            let lab = lab.clone();
            move |x: Dynamic| -> Res<Applied> { Ok(end(&lab, &x, 0)?) }
        },
    );
    registrar.function(
        "finish(x: string or Pod, exit: int) -> Applied",
        "",
        move |x: Dynamic, exit: i64| -> Res<Applied> {
            if !(0..=255).contains(&exit) {
                return Err(Fault::script(format!("an exit code is between 0 and 255; got {exit}")).into());
            }
            Ok(end(&lab, &x, exit)?)
        },
    );
}

fn end(lab: &Rc<Lab>, x: &Dynamic, exit: i64) -> Result<Applied, Fault> {
    let pod: Object = target(lab, x, Some("pod"), "finish")?;
    if pod.kind.kind != "Pod" {
        return Err(Fault::script(format!("finish takes a pod; got a {}", pod.kind.kind)));
    }
    merge(&pod, "", &json!({"metadata": {"annotations": {FINISH: exit.to_string()}}}), "finishes")
}
