//! The commands of a transcript, as the requests that kubectl makes of them.

use std::collections::BTreeMap;
use std::time::Duration;

use gpulab::backend::embedded::Embedded;
use kube::core::Status;
use serde_json::{Value, json};

/// Kind, plural, the other names it answers to, API path, whether it lives in a namespace.
const KINDS: [(&str, &str, &[&str], &str, bool); 10] = [
    ("Node", "nodes", &["node"], "/api/v1", false),
    ("Pod", "pods", &["pod"], "/api/v1", true),
    ("Namespace", "namespaces", &["namespace"], "/api/v1", false),
    ("ConfigMap", "configmaps", &["configmap"], "/api/v1", true),
    ("Deployment", "deployments", &["deployment", "deploy", "deployment.apps"], "/apis/apps/v1", true),
    ("ReplicaSet", "replicasets", &["replicaset", "rs"], "/apis/apps/v1", true),
    ("Job", "jobs", &["job", "job.batch"], "/apis/batch/v1", true),
    ("PodDisruptionBudget", "poddisruptionbudgets", &["poddisruptionbudget", "pdb"], "/apis/policy/v1", true),
    ("PriorityClass", "priorityclasses", &["priorityclass"], "/apis/scheduling.k8s.io/v1", false),
    ("Event", "events", &["event"], "/api/v1", true),
];

/// Types of patches.
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// Makes requests through a `kube::Client` of the embedded cluster.
pub struct Kubectl {
    pub embedded: Embedded,
    pub client: kube::Client,
    /// What pods of the recording are called here.
    pub names: BTreeMap<String, String>,
}

/// What a command comes to: `Err` with the words that kubectl prints.
pub type Outcome = Result<(), String>;

impl Kubectl {
    /// Runs a command line without the word `kubectl`; `input` is what it reads from standard input.
    pub async fn run(&self, command: &str, input: &str) -> Outcome {
        let words: Vec<&str> = command.split(' ').collect();
        let flags: BTreeMap<&str, &str> =
            words.iter().filter_map(|word| word.strip_prefix("--")?.split_once('=')).collect();
        let (verb, rest) = (words[0], &words[1..]);
        match (verb, rest) {
            ("patch", _) => self.patch(command, &words, &flags).await,
            ("delete", [kind, name, ..]) => self.delete(kind, name, &flags).await,
            ("scale", [target, ..]) => {
                let (kind, name) = target.split_once('/').expect("kind/name");
                let replicas: u32 = flags["replicas"].parse().expect("a number");
                let path = format!("{}/scale", path(kind, Some(name))?);
                self.ask("PATCH", &path, MERGE, &json!({ "spec": { "replicas": replicas } })).await
            }
            ("taint", ["node", name, taint]) => self.taint(name, taint).await,
            ("label", ["node", name, ..]) => {
                let label = words[3..].join(" ");
                let (key, value) = match label.split_once('=') {
                    Some((key, value)) => (key, json!(value)),
                    None => (label.strip_suffix('-').expect("key-"), Value::Null),
                };
                let path = path("node", Some(name))?;
                self.ask("PATCH", &path, MERGE, &json!({ "metadata": { "labels": { key: value } } })).await
            }
            ("cordon", [name]) => self.cordon(name, json!(true)).await,
            ("uncordon", [name]) => self.cordon(name, Value::Null).await,
            ("drain", [name, ..]) => self.drain(name, &flags).await,
            ("get", [kind, name]) => self.ask("GET", &path(kind, Some(name))?, "", &Value::Null).await,
            ("get", [kind]) => self.ask("GET", &path(kind, None)?, "", &Value::Null).await,
            ("create", ["poddisruptionbudget", name, ..]) => {
                let (key, value) = flags["selector"].split_once('=').expect("key=value");
                let least: u32 = flags["min-available"].parse().expect("a number");
                let budget = json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": name },
                    "spec": { "minAvailable": least, "selector": { "matchLabels": { key: value } } } });
                self.ask("POST", &path("pdb", None)?, "application/json", &budget).await
            }
            ("create", ["-f", "-"]) => self.create(input, false).await,
            _ => panic!("no such command here: kubectl {command}"),
        }
    }

    /// `kubectl apply` of manifests that do not exist yet (`last-applied`), or `kubectl create` of them.
    pub async fn create(&self, manifests: &str, apply: bool) -> Outcome {
        let documents: Vec<Value> = serde_saphyr::from_multiple(manifests).expect("YAML");
        for mut object in documents {
            let kind = object["kind"].as_str().expect("a kind").to_owned();
            let known = KINDS.iter().find(|known| known.0 == kind).ok_or("error: no matches for kind")?;
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
            if known.4 {
                object["metadata"]["namespace"] = namespace.clone().into();
            }
            if apply {
                let before = object.to_string();
                object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = before.into();
            }
            let scope = if known.4 { format!("/namespaces/{namespace}") } else { String::new() };
            let path = format!("{}{scope}/{}?fieldManager=kubectl&fieldValidation=Strict", known.3, known.1);
            self.request("POST", &path, "application/json", &object)
                .await
                .map_err(|status| printed(&status, "error when creating \"STDIN\": "))?;
        }
        Ok(())
    }

    async fn patch(&self, command: &str, words: &[&str], flags: &BTreeMap<&str, &str>) -> Outcome {
        let (_, body) = command.split_once(" -p ").expect("a patch");
        let body = serde_json::from_str(body).expect("JSON");
        let content = match flags.get("type") {
            Some(&"json") => JSON_PATCH,
            Some(&"merge") => MERGE,
            _ => STRATEGIC,
        };
        let mut path = path(words[1], Some(words[2]))?;
        if let Some(subresource) = flags.get("subresource") {
            path = format!("{path}/{subresource}");
        }
        self.ask("PATCH", &path, content, &body).await
    }

    async fn delete(&self, kind: &str, name: &str, flags: &BTreeMap<&str, &str>) -> Outcome {
        let mut options = json!({ "propagationPolicy": "Background" });
        if let Some(grace) = flags.get("grace-period") {
            options["gracePeriodSeconds"] = grace.parse::<u32>().expect("seconds").into();
        }
        let mut names =
            vec![self.names.get(&format!("Pod/{name}")).map_or(name, |here| &here["Pod/".len()..]).to_owned()];
        if name == "--all" {
            let items = self.list(&path(kind, None)?).await;
            names = items.iter().map(|item| item["metadata"]["name"].as_str().expect("a name").to_owned()).collect();
        }
        for name in names {
            self.ask("DELETE", &path(kind, Some(&name))?, "application/json", &options).await?;
        }
        Ok(())
    }

    async fn taint(&self, name: &str, taint: &str) -> Outcome {
        let path = path("node", Some(name))?;
        let node = self.request("GET", &path, "", &Value::Null).await.map_err(|status| printed(&status, ""))?;
        let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        let key = taint.split(['=', ':', '-']).next().expect("a key");
        if let Some(key) = taint.strip_suffix('-') {
            taints.retain(|taint| taint["key"] != key);
        } else {
            let (assignment, effect) = taint.split_once(':').expect("an effect");
            if !["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect) {
                return Err(format!("error: invalid taint effect: {effect}, unsupported taint effect"));
            }
            let (key, value) = assignment.split_once('=').unwrap_or((key, ""));
            taints.push(json!({ "effect": effect, "key": key, "value": value }));
        }
        let taints = if taints.is_empty() { Value::Null } else { taints.into() };
        self.ask("PATCH", &path, STRATEGIC, &json!({ "spec": { "taints": taints } })).await
    }

    async fn cordon(&self, name: &str, unschedulable: Value) -> Outcome {
        let path = path("node", Some(name))?;
        self.ask("PATCH", &path, STRATEGIC, &json!({ "spec": { "unschedulable": unschedulable } })).await
    }

    /// Cordons, then evicts; what a budget forbids is tried again every five seconds until the timeout.
    async fn drain(&self, name: &str, flags: &BTreeMap<&str, &str>) -> Outcome {
        self.cordon(name, json!(true)).await?;
        self.embedded.with(|world| world.advance(Duration::from_millis(100)));
        let selector =
            flags.get("pod-selector").map(|selector| format!("&labelSelector={}", selector.replace('=', "%3D")));
        let query = format!("?fieldSelector=spec.nodeName%3D{name}{}", selector.unwrap_or_default());
        let mut waiting = self.list(&format!("{}{query}", path("pod", None)?)).await;
        let mut left: u64 = flags["timeout"].trim_end_matches('s').parse().expect("seconds");
        loop {
            let mut refused = Vec::new();
            for pod in waiting {
                let name = pod["metadata"]["name"].as_str().expect("a name");
                let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": name, "namespace": "default" } });
                let path = format!("{}/eviction", path("pod", Some(name))?);
                match self.request("POST", &path, "application/json", &eviction).await {
                    Err(status) if status.code == 429 => refused.push(pod),
                    Err(status) if status.code != 404 => return Err(printed(&status, "")),
                    // A budget that was just written makes the server wait this long before it looks again.
                    _ => self.embedded.with(|world| world.advance(Duration::from_millis(500))),
                }
            }
            waiting = refused;
            if waiting.is_empty() {
                return Ok(());
            }
            let pause = left.min(5);
            self.embedded.with(|world| world.advance(Duration::from_secs(pause)));
            left -= pause;
            if left == 0 {
                return Err("error: unable to drain node".into());
            }
        }
    }

    async fn ask(&self, method: &str, path: &str, content: &str, body: &Value) -> Outcome {
        self.request(method, path, content, body).await.map(drop).map_err(|status| printed(&status, ""))
    }

    /// The items of a list; none where the server does not know the kind.
    pub async fn list(&self, path: &str) -> Vec<Value> {
        match self.request("GET", path, "", &Value::Null).await {
            Ok(list) => list["items"].as_array().expect("items").clone(),
            Err(status) if status.code == 404 => Vec::new(),
            Err(status) => panic!("GET {path}: {}", status.message),
        }
    }

    /// One request.
    pub async fn request(&self, method: &str, path: &str, content: &str, body: &Value) -> Result<Value, Box<Status>> {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = http::Request::builder().method(method).uri(path).header("content-type", content).body(bytes);
        match self.client.request(request.expect("a request")).await {
            Ok(answer) => Ok(answer),
            Err(kube::Error::Api(status)) => Err(status),
            Err(other) => panic!("{method} {path}: {other}"),
        }
    }
}

/// The path of a collection or an object in `default`, by any name of the kind.
pub fn path(kind: &str, name: Option<&str>) -> Result<String, String> {
    let known = KINDS.iter().find(|known| known.1 == kind || known.2.contains(&kind));
    let (_, plural, _, group, namespaced) =
        known.ok_or_else(|| format!("error: the server doesn't have a resource type \"{kind}\""))?;
    let scope = if *namespaced { "/namespaces/default" } else { "" };
    Ok(format!("{group}{scope}/{plural}{}", name.map(|name| format!("/{name}")).unwrap_or_default()))
}

/// How kubectl prints what the server refuses.
fn printed(status: &Status, what: &str) -> String {
    let details = status.details.as_ref();
    let causes = details.map(|details| details.causes.as_slice()).unwrap_or_default();
    if status.reason == "Invalid" && !causes.is_empty() {
        let (kind, name) = details.map(|details| (details.kind.as_str(), details.name.as_str())).expect("details");
        // What follows the first line is a generated difference.
        let first = |text: &str| text.lines().next().unwrap_or("").to_owned();
        let lines: Vec<String> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, first(&cause.message))).collect();
        return match lines.as_slice() {
            [line] => format!("The {kind} \"{name}\" is invalid: {line}"),
            _ => format!("The {kind} \"{name}\" is invalid: \n* {}", lines.join("\n* ")),
        };
    }
    format!("Error from server ({}): {what}{}", status.reason, status.message)
}
