//! What the API version fills into pods and pod templates.
//!
//! Source: `pkg/apis/core/v1/defaults.go`.

use std::sync::OnceLock;

use crate::value::{Map, Value};

/// Puts a value under an absent (or empty) key.
pub(in crate::api) fn fill(map: &mut Map, key: &str, value: impl Into<Value>) {
    match map.get(key) {
        None | Some(Value::Null) => {
            map.insert(key, value);
        }
        Some(Value::String(text)) if text.is_empty() => {
            map.insert(key, value);
        }
        _ => {}
    }
}

/// Defaults of a Pod: those of its spec, and what belongs to the Pod alone.
pub(super) fn pod(object: &mut Value) {
    let spec = object.make(&["spec"]);
    template(spec);
    let host = spec.at(&["hostNetwork"]).is_true();
    let spec = spec.as_map_mut();
    fill(spec, "enableServiceLinks", true);
    for list in ["containers", "initContainers"] {
        if let Some(Value::List(items)) = spec.get_mut(list) {
            let needs = items.iter().any(|one| host || one.at(&["resources"]).get("limits").is_some());
            if needs {
                std::sync::Arc::make_mut(items).iter_mut().for_each(|container| container_of_pod(container, host));
            }
        }
    }
    if spec.get("resources").is_some_and(|resources| resources.get("limits").is_some()) {
        let resources = spec.entry("resources", Value::object);
        requests_from_limits(resources);
    }
}

fn container_of_pod(container: &mut Value, host: bool) {
    if container.at(&["resources"]).get("limits").is_some() {
        requests_from_limits(container.make(&["resources"]));
    }
    if host && !container.at(&["ports"]).items().is_empty() {
        for port in container.make(&["ports"]).as_list_mut() {
            let number = port.at(&["containerPort"]).clone();
            if port.at(&["hostPort"]).int() == 0 && number.int() != 0 {
                port.set(&["hostPort"], number);
            }
        }
    }
}

/// Requests that are not given are those of the limits.
fn requests_from_limits(resources: &mut Value) {
    let limits = resources.at(&["limits"]).clone();
    if resources.get("requests").is_none() {
        resources.set(&["requests"], limits);
        return;
    }
    let requests = resources.make(&["requests"]).as_map_mut();
    for (name, quantity) in limits.entries() {
        if !requests.contains_key(name) {
            requests.insert(name, quantity);
        }
    }
}

/// Defaults of a pod's or template's spec.
pub(in crate::api) fn template(spec: &mut Value) {
    let spec = spec.as_map_mut();
    // Gate GenericWorkload is off: the field is known and dropped.
    if spec.contains_key("schedulingGroup") {
        spec.remove("schedulingGroup");
    }
    let account = spec.get("serviceAccountName").or(spec.get("serviceAccount")).cloned();
    if let Some(account) = account.filter(|account| !account.str().is_empty()) {
        fill(spec, "serviceAccountName", account.clone());
        spec.insert("serviceAccount", account);
    }
    static SPEC: OnceLock<Map> = OnceLock::new();
    spec.fill(SPEC.get_or_init(|| {
        let entries: [(&str, Value); 5] = [
            ("dnsPolicy", "ClusterFirst".into()),
            ("restartPolicy", "Always".into()),
            ("schedulerName", "default-scheduler".into()),
            ("securityContext", Value::object()),
            ("terminationGracePeriodSeconds", 30.into()),
        ];
        entries.into_iter().collect()
    }));
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        if let Some(Value::List(items)) = spec.get_mut(list) {
            std::sync::Arc::make_mut(items).iter_mut().for_each(container);
        }
    }
    if let Some(Value::List(items)) = spec.get_mut("volumes") {
        std::sync::Arc::make_mut(items).iter_mut().for_each(volume);
    }
}

fn container(container: &mut Value) {
    let Value::Map(container) = container else { return };
    static CONTAINER: [OnceLock<Map>; 2] = [OnceLock::new(), OnceLock::new()];
    let latest = is_latest(container.get("image").map(Value::str).unwrap_or(""));
    container.fill(CONTAINER[usize::from(latest)].get_or_init(|| {
        let entries: [(&str, Value); 4] = [
            ("imagePullPolicy", if latest { "Always" } else { "IfNotPresent" }.into()),
            ("resources", Value::object()),
            ("terminationMessagePath", "/dev/termination-log".into()),
            ("terminationMessagePolicy", "File".into()),
        ];
        entries.into_iter().collect()
    }));
    if let Some(ports) = container.get_mut("ports") {
        for port in ports.as_list_mut() {
            fill(port.as_map_mut(), "protocol", "TCP");
        }
    }
    if container.get("env").is_some_and(|env| env.items().iter().any(|one| one.get("valueFrom").is_some())) {
        for variable in container.entry("env", || Value::Null).as_list_mut() {
            field_ref(variable.at_mut(&["valueFrom"]));
            if let Some(Value::Map(reference)) = variable.at_mut(&["valueFrom", "fileKeyRef"]) {
                fill(reference, "optional", false);
            }
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(Value::Map(probe)) = container.get_mut(name) {
            for (field, value) in
                [("failureThreshold", 3), ("periodSeconds", 10), ("successThreshold", 1), ("timeoutSeconds", 1)]
            {
                fill(probe, field, value);
            }
            if let Some(Value::Map(grpc)) = probe.get_mut("grpc")
                && !grpc.contains_key("service")
            {
                grpc.insert("service", "");
            }
            http_get(probe);
        }
    }
    for name in ["postStart", "preStop"] {
        let hook = container.get_mut("lifecycle").and_then(|lifecycle| lifecycle.at_mut(&[name]));
        if let Some(Value::Map(hook)) = hook {
            http_get(hook);
        }
    }
}

fn http_get(action: &mut Map) {
    if let Some(Value::Map(get)) = action.get_mut("httpGet") {
        fill(get, "path", "/");
        fill(get, "scheme", "HTTP");
    }
}

fn field_ref(of: Option<&mut Value>) {
    if let Some(Value::Map(reference)) = of.and_then(|of| of.at_mut(&["fieldRef"])) {
        fill(reference, "apiVersion", "v1");
    }
}

/// Whether the image's tag is `latest`, said or meant.
fn is_latest(image: &str) -> bool {
    let (named, digest) = image.split_once('@').map_or((image, false), |(named, _)| (named, true));
    let last = named.rsplit('/').next().unwrap_or("");
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => !digest && !last.is_empty() && !named.bytes().any(|byte| byte.is_ascii_uppercase()),
    }
}

fn volume(volume: &mut Value) {
    let Value::Map(volume) = volume else { return };
    if volume.len() == 1 && volume.contains_key("name") {
        volume.insert("emptyDir", Value::object());
        return;
    }
    for source in ["configMap", "downwardAPI", "projected", "secret"] {
        if let Some(Value::Map(source)) = volume.get_mut(source) {
            fill(source, "defaultMode", 420);
        }
    }
    if let Some(Value::Map(path)) = volume.get_mut("hostPath")
        && !path.contains_key("type")
    {
        path.insert("type", "");
    }
    if let Some(downward) = volume.get_mut("downwardAPI") {
        downward_items(downward);
    }
    if let Some(projected) = volume.get_mut("projected")
        && projected.at(&["sources"]).items().iter().any(needs_defaults)
    {
        for source in projected.make(&["sources"]).as_list_mut() {
            if let Some(Value::Map(token)) = source.at_mut(&["serviceAccountToken"]) {
                fill(token, "expirationSeconds", 3600);
            }
            if let Some(downward) = source.at_mut(&["downwardAPI"]) {
                downward_items(downward);
            }
        }
    }
    if let Some(Value::Map(claim)) =
        volume.get_mut("ephemeral").and_then(|ephemeral| ephemeral.at_mut(&["volumeClaimTemplate", "spec"]))
    {
        fill(claim, "volumeMode", "Filesystem");
    }
}

/// Whether a projected source lacks something; most were made complete and stay shared.
fn needs_defaults(source: &Value) -> bool {
    let items = source.at(&["downwardAPI", "items"]).items();
    let token = source.at(&["serviceAccountToken"]);
    (!token.is_null() && token.get("expirationSeconds").is_none())
        || items.iter().any(|item| item.get("fieldRef").is_some_and(|field| field.get("apiVersion").is_none()))
}

fn downward_items(downward: &mut Value) {
    if downward.at(&["items"]).items().iter().any(|item| item.get("fieldRef").is_some()) {
        for item in downward.make(&["items"]).as_list_mut() {
            field_ref(Some(item));
        }
    }
}
