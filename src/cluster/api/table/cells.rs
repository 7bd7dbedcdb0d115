//! The rows of built-in kinds.
//!
//! Source: `pkg/printers/internalversion/printers.go`.

use super::super::registry::Kind;
use super::super::subresources::selector_text;
use super::{age, or_none, pod};
use crate::time::VirtualTime;
use crate::value::Value;

/// All cells of an object; kinds without a printer show name and creation time.
pub(super) fn cells(kind: Kind, object: &Value, now: VirtualTime) -> Vec<Value> {
    let name = Value::from(object.name());
    let created = object.at(&["metadata", "creationTimestamp"]);
    let age = Value::from(age::since(now, created.str()));
    let spec = |field| object.at(&["spec", field]);
    let status = |field| Value::Int(object.at(&["status", field]).int());
    match kind {
        Kind::POD => pod::cells(object, now),
        Kind::NODE => node(object, age),
        Kind::EVENT => event(object, now),
        Kind::SERVICE => service(object, age),
        Kind::NAMESPACE => vec![name, object.at(&["status", "phase"]).str().into(), age],
        Kind::CONFIG_MAP => vec![name, (keys(object, "data") + keys(object, "binaryData")).into(), age],
        Kind::SECRET => vec![name, object.at(&["type"]).str().into(), keys(object, "data").into(), age],
        Kind::SERVICE_ACCOUNT => vec![name, age],
        Kind::LEASE => vec![name, spec("holderIdentity").str().into(), age],
        Kind::DEPLOYMENT => {
            let ready = format!("{}/{}", status("readyReplicas").int(), spec("replicas").int());
            let mut cells = vec![name, ready.into(), status("updatedReplicas"), status("availableReplicas"), age];
            cells.extend(template(object));
            cells.push(selector_text(spec("selector")).into());
            cells
        }
        Kind::REPLICA_SET => {
            let desired = Value::Int(spec("replicas").int());
            let mut cells = vec![name, desired, status("replicas"), status("readyReplicas"), age];
            cells.extend(template(object));
            cells.push(or_none(&selector_text(spec("selector"))));
            cells
        }
        Kind::JOB => job(object, now, age),
        Kind::POD_DISRUPTION_BUDGET => {
            let bounds = [spec("minAvailable"), spec("maxUnavailable")].map(|bound| match bound {
                Value::Null => Value::from("N/A"),
                Value::Int(number) => Value::from(number.to_string()),
                other => other.clone(),
            });
            let [minimum, maximum] = bounds;
            vec![name, minimum, maximum, status("disruptionsAllowed"), age]
        }
        Kind::PRIORITY_CLASS => vec![
            name,
            object.at(&["value"]).int().into(),
            object.at(&["globalDefault"]).is_true().into(),
            age,
            object.at(&["preemptionPolicy"]).str().into(),
        ],
        _ => vec![name, created.clone()],
    }
}

fn keys(object: &Value, field: &str) -> usize {
    object.at(&[field]).entries().len()
}

fn template(object: &Value) -> [Value; 2] {
    let containers = object.at(&["spec", "template", "spec", "containers"]).items();
    ["name", "image"].map(|field| {
        let texts: Vec<&str> = containers.iter().map(|container| container.at(&[field]).str()).collect();
        texts.join(",").into()
    })
}

const ROLE: &str = "node-role.kubernetes.io/";

fn node(node: &Value, age: Value) -> Vec<Value> {
    let mut status = match node.condition("Ready").at(&["status"]).str() {
        "" => "Unknown".to_owned(),
        "True" => "Ready".to_owned(),
        _ => "NotReady".to_owned(),
    };
    if node.at(&["spec", "unschedulable"]).is_true() {
        status.push_str(",SchedulingDisabled");
    }
    let mut roles: Vec<&str> = Vec::new();
    for (key, value) in node.labels().entries() {
        match key.strip_prefix(ROLE) {
            Some(role) if !role.is_empty() => roles.push(role),
            None if key == "kubernetes.io/role" && !value.str().is_empty() => roles.push(value.str()),
            _ => {}
        }
    }
    roles.sort_unstable();
    roles.dedup();
    let address = |kind: &str| {
        let addresses = node.at(&["status", "addresses"]).items();
        let found = addresses.iter().find(|address| address.at(&["type"]).str() == kind);
        or_none(found.map_or("", |address| address.at(&["address"]).str()))
    };
    let info = |field| node.at(&["status", "nodeInfo", field]).str();
    let known = |text: &str| if text.is_empty() { "<unknown>".to_owned() } else { text.to_owned() };
    let mut kernel = known(info("kernelVersion"));
    if !info("architecture").is_empty() {
        kernel = format!("{kernel} ({})", info("architecture"));
    }
    vec![
        node.name().into(),
        status.into(),
        or_none(&roles.join(",")),
        age,
        info("kubeletVersion").into(),
        address("InternalIP"),
        address("ExternalIP"),
        known(info("osImage")).into(),
        kernel.into(),
        known(info("containerRuntimeVersion")).into(),
    ]
}

fn event(event: &Value, now: VirtualTime) -> Vec<Value> {
    let at = |path: &[&str]| event.at(path).str();
    let since = |time: &str, other: String| if time.is_empty() { other } else { age::since(now, time) };
    let first = since(at(&["firstTimestamp"]), age::since(now, at(&["eventTime"])));
    let series = event.at(&["series"]);
    let (last, count) = if series.is_null() {
        (since(at(&["lastTimestamp"]), first.clone()), event.at(&["count"]).int().max(1))
    } else {
        (age::since(now, at(&["series", "lastObservedTime"])), series.at(&["count"]).int())
    };
    let kind = at(&["involvedObject", "kind"]).to_lowercase();
    let target = match at(&["involvedObject", "name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let either = |one: &'static str, other: &'static str| match at(&["source", one]) {
        "" => at(&[other]),
        text => text,
    };
    let source = match (either("component", "reportingComponent"), either("host", "reportingInstance")) {
        (component, "") => component.to_owned(),
        (component, instance) => format!("{component}, {instance}"),
    };
    vec![
        last.into(),
        at(&["type"]).into(),
        at(&["reason"]).into(),
        target.into(),
        at(&["involvedObject", "fieldPath"]).into(),
        source.into(),
        at(&["message"]).trim().into(),
        first.into(),
        count.into(),
        event.name().into(),
    ]
}

fn job(job: &Value, now: VirtualTime, age: Value) -> Vec<Value> {
    let holds = |kind: &&str| job.condition(kind).at(&["status"]).str() == "True";
    let first = ["Complete", "Failed"].into_iter().find(holds);
    let second = ["Suspended", "FailureTarget", "SuccessCriteriaMet"].into_iter().find(holds);
    let status = match (first, second) {
        (Some(first), _) => first,
        _ if job.is_deleting() => "Terminating",
        (None, Some(second)) => second,
        (None, None) => "Running",
    };
    let succeeded = job.at(&["status", "succeeded"]).int();
    let parallelism = job.at(&["spec", "parallelism"]).int();
    let completions = match job.at(&["spec", "completions"]).as_i64() {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        None => format!("{succeeded}/1"),
    };
    let time = |field| VirtualTime::parse(job.at(&["status", field]).str());
    let duration = match time("startTime") {
        Some(start) => age::human(time("completionTime").unwrap_or(now).micros() - start.micros()),
        None => String::new(),
    };
    let mut cells = vec![job.name().into(), status.into(), completions.into(), duration.into(), age];
    cells.extend(template(job));
    cells.push(or_none(&selector_text(job.at(&["spec", "selector"]))));
    cells
}

fn service(service: &Value, age: Value) -> Vec<Value> {
    let spec = |field| service.at(&["spec", field]);
    let joined = |values: &Value| values.items().iter().map(Value::str).collect::<Vec<_>>().join(",");
    let external = joined(spec("externalIPs"));
    let external = match spec("type").str() {
        "ClusterIP" | "NodePort" if external.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => external,
        "LoadBalancer" if external.is_empty() => "<pending>".to_owned(),
        "LoadBalancer" => external,
        "ExternalName" => spec("externalName").str().to_owned(),
        _ => "<unknown>".to_owned(),
    };
    let port = |port: &Value| {
        let (number, protocol) = (port.at(&["port"]).int(), port.at(&["protocol"]).str());
        match port.at(&["nodePort"]).int() {
            0 => format!("{number}/{protocol}"),
            node => format!("{number}:{node}/{protocol}"),
        }
    };
    let ports: Vec<String> = spec("ports").items().iter().map(port).collect();
    let labels: Vec<String> =
        spec("selector").entries().iter().map(|(key, value)| format!("{key}={}", value.str())).collect();
    vec![
        service.name().into(),
        spec("type").str().into(),
        or_none(spec("clusterIPs").items().first().map_or("", Value::str)),
        external.into(),
        or_none(&ports.join(",")),
        age,
        or_none(&labels.join(",")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_says_how_far_it_is() {
        let now = VirtualTime::parse("2026-01-01T00:05:00Z").expect("a time");
        let cells = |status: &str, spec: &str| {
            let text = format!(r#"{{"metadata":{{"name":"j"}},"spec":{spec},"status":{status}}}"#);
            let job = Value::from_json(text.as_bytes()).expect("JSON");
            let cells = cells(Kind::JOB, &job, now);
            [1, 2, 3].map(|at| cells[at].str().to_owned()).join(" ")
        };
        let started = r#"{"startTime":"2026-01-01T00:00:00Z","succeeded":1}"#;
        assert_eq!(cells(started, r#"{"completions":3}"#), "Running 1/3 5m");
        assert_eq!(cells(started, r#"{"parallelism":4}"#), "Running 1/1 of 4 5m");
        let done = r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:00:05Z","succeeded":1,
          "conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}"#;
        assert_eq!(cells(done, r#"{"completions":1}"#), "Complete 1/1 5s");
        let waiting = r#"{"conditions":[{"type":"Suspended","status":"True"}]}"#;
        assert_eq!(cells(waiting, r#"{"completions":1}"#), "Suspended 0/1 ");
    }
}
