//! Pods, deployments and other objects: finding and reading them.

use rhai::Dynamic;
use serde_json::Value;

use super::convert::{at, items, text};
use super::docs::Registrar;
use super::fault::{Fault, Res};
use super::listing::Listing;
use super::node::{condition, find, selector};
use super::object::{DeploymentHandle, PodHandle, target};
use super::options::kind_of;

/// Registers the verbs that look at objects, and the reads of pods and deployments.
pub fn register(registrar: &mut Registrar<'_>) {
    lists(registrar);
    finds(registrar);
    events(registrar);
    pod_reads(registrar);
    deployment_reads(registrar);
}

fn lists(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "pods() -> List",
        "Lists the pods of the current namespace, or those that a label selector selects.\nExample: submit(#{name: \"mri\", gpus: 1, labels: #{app: \"mri\"}});\n  print(pods(\"app=mri\").len());\nSee: pod, wait_running, node",
        {
            let lab = lab.clone();
            move || -> Res<Listing> { Ok(Listing::new(&lab, lab.kind("pods")?, "")) }
        },
    );
    registrar.function("pods(labels: string) -> List", "", {
        let lab = lab.clone();
        move |labels: Dynamic| -> Res<Listing> {
            Ok(Listing::new(&lab, lab.kind("pods")?, &selector("pods", &labels)?))
        }
    });
    registrar.function(
        "deployments() -> List",
        "Lists the deployments of the current namespace, or those that a label selector selects.\nExample: print(deployments());\nSee: deployment, scale",
        {
            let lab = lab.clone();
            move || -> Res<Listing> { Ok(Listing::new(&lab, lab.kind("deployments")?, "")) }
        },
    );
    registrar.function("deployments(labels: string) -> List", "", {
        let lab = lab.clone();
        move |labels: Dynamic| -> Res<Listing> {
            Ok(Listing::new(&lab, lab.kind("deployments")?, &selector("deployments", &labels)?))
        }
    });
    registrar.function(
        "list(kind: string) -> List",
        "Lists the objects of any kind in the current namespace; the kind is written as for kubectl.\nExample: print(list(\"namespaces\").names());\nSee: get, pods, nodes",
        {
            let lab = lab.clone();
            move |kind: Dynamic| -> Res<Listing> { Ok(Listing::new(&lab, lab.kind(&word("list", &kind)?)?, "")) }
        },
    );
    registrar.function(
        "list(kind: string, labels: string) -> List",
        "",
        move |kind: Dynamic, labels: Dynamic| -> Res<Listing> {
            Ok(Listing::new(&lab, lab.kind(&word("list", &kind)?)?, &selector("list", &labels)?))
        },
    );
}

/// The word of a kind.
fn word(function: &str, kind: &Dynamic) -> Result<String, Fault> {
    kind.clone().into_string().map_err(|_| {
        Fault::script(format!("{function} takes a kind (string), such as \"pods\"; got {}", kind_of(kind)))
    })
}

fn finds(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "pod(name: string) -> Pod",
        "Finds a pod of the current namespace by name.\nFails: when there is no such pod; the nearest name is told.\nExample: submit(#{name: \"mri\", gpus: 1});\n  print(pod(\"mri\").phase);\nSee: pods, submit",
        {
            let lab = lab.clone();
            move |name: Dynamic| -> Res<Dynamic> { Ok(find(&lab, "Pod", "pod", &name)?.into_script()) }
        },
    );
    registrar.function(
        "deployment(name: string) -> Deployment",
        "Finds a deployment of the current namespace by name.\nFails: when there is no such deployment; the nearest name is told.\nExample: print(exists(\"deployment/web\"));\nSee: deployments, scale, apply",
        {
            let lab = lab.clone();
            move |name: Dynamic| -> Res<Dynamic> { Ok(find(&lab, "Deployment", "deployment", &name)?.into_script()) }
        },
    );
    registrar.function(
        "get(kind: string, name: string) -> Object",
        "Finds an object of any kind by name; with the kind alone it lists them.\nFails: when the server does not know the kind or the object.\nExample: print(get(\"namespace\", \"default\").name);\nSee: list, pod, node, yaml",
        {
            let lab = lab.clone();
            move |kind: Dynamic, name: Dynamic| -> Res<Dynamic> {
                let kind = lab.kind(&word("get", &kind)?)?;
                let name = word("get", &name)?;
                let object = super::object::named(&lab, kind, &name);
                object.read()?;
                Ok(object.into_script())
            }
        },
    );
    registrar.function("get(what: string) -> Object or List", "", {
        let lab = lab.clone();
        move |what: Dynamic| -> Res<Dynamic> {
            let what = word("get", &what)?;
            if what.contains('/') {
                let object = target(&lab, &what.into(), None, "get")?;
                object.read()?;
                return Ok(object.into_script());
            }
            Ok(Dynamic::from(Listing::new(&lab, lab.kind(&what)?, "")))
        }
    });
    places(registrar);
}

fn places(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "exists(x: string or handle) -> bool",
        "Whether an object is there now; names are written kind/name.\nExample: print(exists(\"pod/mri\"));\nSee: get",
        {
            let lab = lab.clone();
            move |x: Dynamic| -> Res<bool> {
                let object = target(&lab, &x, None, "exists")?;
                let found = object.look()?.is_some();
                lab.note(&object.id(), "exists", || found.into());
                Ok(found)
            }
        },
    );
    registrar.function(
        "gpu_resource() -> string",
        "The extended resource that stands for a GPU in this lab.\nExample: print(gpu_resource());\nSee: node, lab",
        {
            let lab = lab.clone();
            move || -> String { lab.resource.borrow().clone() }
        },
    );
    registrar.function(
        "namespace() -> string",
        "Tells the current namespace, or goes to another one.\nExample: print(namespace());",
        {
            let lab = lab.clone();
            move || -> String { lab.namespace.borrow().clone() }
        },
    );
    registrar.function("namespace(name: string)", "", move |name: Dynamic| -> Res<()> {
        let name = word("namespace", &name)?;
        super::object::Object::here(&lab, lab.kind("namespaces")?, &name).read()?;
        *lab.namespace.borrow_mut() = name;
        Ok(())
    });
}

fn events(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "events() -> List",
        "Lists the events of the current namespace, or those about an object, oldest first; each is a map of type, reason, object, message, source and count.\nExample: submit(#{name: \"mri\", gpus: 1});\n  settle();\n  print(events(pod(\"mri\")));\nSee: pods, nodes",
        {
            let lab = lab.clone();
            move || -> Res<Listing> { Ok(Listing::new(&lab, lab.kind("events")?, "")) }
        },
    );
    registrar.function("events(x: string or handle) -> List", "", move |x: Dynamic| -> Res<Listing> {
        Ok(Listing::events_of(&target(&lab, &x, None, "events")?))
    });
}

fn pod_reads(registrar: &mut Registrar<'_>) {
    registrar.read(
        "Pod.phase -> string",
        "status.phase",
        "The phase: Pending, Running, Succeeded or Failed.\nExample: submit(#{name: \"mri\", gpus: 1});\n  print(pod(\"mri\").phase);",
        |pod: &PodHandle| Ok(text(&pod.0.read()?, &["status", "phase"]).to_owned()),
    );
    registrar.read(
        "Pod.node -> string",
        "spec.nodeName",
        "The node's name, empty before the pod is bound.",
        |pod: &PodHandle| Ok(text(&pod.0.read()?, &["spec", "nodeName"]).to_owned()),
    );
    registrar.read("Pod.ready -> bool", "status.conditions[Ready]", "Whether the pod is Ready.", |pod: &PodHandle| {
        Ok(condition(&pod.0.read()?, "Ready") == "True")
    });
    registrar.read(
        "Pod.reason -> string",
        "reason",
        "Why the pod is not running: of its status, of the waiting or ended container, or of PodScheduled; empty when nothing is wrong.",
        |pod: &PodHandle| Ok(why(&pod.0.read()?).0),
    );
    registrar.read(
        "Pod.message -> string",
        "message",
        "The sentence that belongs to `.reason`, such as the scheduler's.\nExample: submit(#{name: \"big\", gpus: 9});\n  settle();\n  print(pod(\"big\").message);",
        |pod: &PodHandle| Ok(why(&pod.0.read()?).1),
    );
    registrar.read(
        "Pod.gpus() -> int",
        "spec.containers[*].resources.requests[gpu]",
        "Number of GPUs that the pod asks for.",
        |pod: &PodHandle| {
            let value = pod.0.read()?;
            let sum = items(&value, &["spec", "containers"])
                .iter()
                .map(|container| {
                    super::node::quantity(container, &["resources", "requests", &pod.0.lab.resource.borrow()])
                })
                .sum::<i64>();
            Ok(sum)
        },
    );
    registrar.read(
        "Pod.deleting -> bool",
        "metadata.deletionTimestamp",
        "Whether the pod is being deleted.",
        |pod: &PodHandle| Ok(!at(&pod.0.read()?, &["metadata", "deletionTimestamp"]).is_null()),
    );
}

/// Reason and sentence for a pod that is not running.
pub fn why(pod: &Value) -> (String, String) {
    let of = |value: &Value| (text(value, &["reason"]).to_owned(), text(value, &["message"]).to_owned());
    let status = of(&pod["status"]);
    if !status.0.is_empty() {
        return status;
    }
    for container in items(pod, &["status", "containerStatuses"]) {
        for state in ["waiting", "terminated"] {
            let found = of(at(container, &["state", state]));
            if !found.0.is_empty() && found.0 != "Completed" {
                return found;
            }
        }
    }
    let unscheduled =
        |condition: &&Value| text(condition, &["type"]) == "PodScheduled" && text(condition, &["status"]) == "False";
    items(pod, &["status", "conditions"]).iter().find(unscheduled).map(of).unwrap_or_default()
}

fn deployment_reads(registrar: &mut Registrar<'_>) {
    registrar.read(
        "Deployment.replicas -> int",
        "spec.replicas",
        "How many pods are wanted.",
        |one: &DeploymentHandle| Ok(at(&one.0.read()?, &["spec", "replicas"]).as_i64().unwrap_or(0)),
    );
    registrar.read(
        "Deployment.ready -> int",
        "status.readyReplicas",
        "How many pods are Ready.",
        |one: &DeploymentHandle| Ok(at(&one.0.read()?, &["status", "readyReplicas"]).as_i64().unwrap_or(0)),
    );
    registrar.read(
        "Deployment.available -> int",
        "status.availableReplicas",
        "How many pods are available.",
        |one: &DeploymentHandle| Ok(at(&one.0.read()?, &["status", "availableReplicas"]).as_i64().unwrap_or(0)),
    );
    registrar.read(
        "Deployment.pods() -> List",
        "pods",
        "The pods that the deployment's selector selects.",
        |one: &DeploymentHandle| {
            let value = one.0.read()?;
            let labels = at(&value, &["spec", "selector", "matchLabels"]);
            let selector: Vec<String> = labels
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")))
                .collect();
            Ok(Listing::new(&one.0.lab, one.0.lab.kind("pods")?, &selector.join(",")))
        },
    );
}
