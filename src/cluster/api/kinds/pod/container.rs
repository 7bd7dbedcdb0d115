//! Containers: names, images, ports, environment, mounts, probes and resources.
//!
//! Source: `pkg/apis/core/validation/validation.go`, `pkg/apis/core/v1/helper/helpers.go`.

use std::collections::{BTreeMap, BTreeSet};

use super::spec::Use;
use crate::api::names;
use crate::api::path::{Errors, Path};
use crate::api::quantity::Quantity;
use crate::value::Value;

/// What containers refer to.
pub(super) struct Around<'a> {
    /// Volumes by name; true for persistent ones.
    pub volumes: &'a BTreeMap<&'a str, bool>,
    /// Names of the pod's resource claims.
    pub claims: &'a BTreeSet<&'a str>,
    /// Names of containers seen so far.
    pub names: BTreeSet<&'a str>,
    /// Whether this is a pod or a template.
    pub used_as: Use,
    /// The pod's grace period, for probes that have their own.
    pub restart: &'a str,
}

/// `spec.containers`.
pub(super) fn containers<'a>(errors: &mut Errors, at: &Path<'_>, list: &'a [Value], around: &mut Around<'a>) {
    if list.is_empty() {
        errors.required(at, "");
        return;
    }
    for (index, container) in list.iter().enumerate() {
        let at = at.index(index);
        common(errors, &at, container, around);
        hooks_and_probes(errors, &at, container);
    }
    host_ports(errors, at, list);
}

/// `spec.initContainers`; those that restart always are sidecars and may have probes.
pub(super) fn init_containers<'a>(errors: &mut Errors, at: &Path<'_>, list: &'a [Value], around: &mut Around<'a>) {
    for (index, container) in list.iter().enumerate() {
        let at = at.index(index);
        common(errors, &at, container, around);
        let policy = container.at(&["restartPolicy"]);
        if policy.str() == "Always" {
            hooks_and_probes(errors, &at, container);
            continue;
        }
        if !policy.is_null() && !["Never", "OnFailure"].contains(&policy.str()) {
            errors.not_supported(&at.field("restartPolicy"), policy, &["Always", "Never", "OnFailure"]);
        }
        for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if container.get(field).is_some() {
                errors.forbidden(&at.field(field), "may not be set for init containers without restartPolicy=Always");
            }
        }
    }
    host_ports(errors, at, list);
}

fn common<'a>(errors: &mut Errors, at: &Path<'_>, container: &'a Value, around: &mut Around<'a>) {
    let name = container.at(&["name"]).str();
    if name.is_empty() {
        errors.required(&at.field("name"), "");
    } else {
        errors.each(&at.field("name"), name, names::dns_label(name));
        if !around.names.insert(name) {
            errors.duplicate(&at.field("name"), name);
        }
    }
    let image = container.at(&["image"]).str();
    if image.is_empty() {
        errors.required(&at.field("image"), "");
    } else if around.used_as == Use::Pod && image != image.trim() {
        errors.invalid(&at.field("image"), image, "must not have leading or trailing whitespace");
    }
    let policy = container.at(&["terminationMessagePolicy"]);
    errors.one_of(&at.field("terminationMessagePolicy"), policy, &["FallbackToLogsOnError", "File"]);
    ports(errors, &at.field("ports"), container.at(&["ports"]).items());
    environment(errors, &at.field("env"), container.at(&["env"]).items());
    environment_from(errors, &at.field("envFrom"), container.at(&["envFrom"]).items());
    mounts(errors, at, container, around.volumes);
    let pull = container.at(&["imagePullPolicy"]);
    errors.one_of(&at.field("imagePullPolicy"), pull, &["Always", "IfNotPresent", "Never"]);
    resources(errors, &at.field("resources"), container.at(&["resources"]), around.claims);
    super::spec::security_context(errors, &at.field("securityContext"), container.at(&["securityContext"]));
    resize_policy(errors, &at.field("resizePolicy"), container, around.restart);
}

fn resize_policy(errors: &mut Errors, at: &Path<'_>, container: &Value, restart: &str) {
    let mut seen = BTreeSet::new();
    for (index, policy) in container.at(&["resizePolicy"]).items().iter().enumerate() {
        let (name, what) = (policy.at(&["resourceName"]), policy.at(&["restartPolicy"]));
        if !seen.insert(name.str()) {
            errors.duplicate(&at.index(index), name.clone());
        }
        if !["cpu", "memory"].contains(&name.str()) {
            errors.one_of(at, name, &["cpu", "memory"]);
        }
        errors.one_of(at, what, &["NotRequired", "RestartContainer"]);
        if restart == "Never" && what.str() == "RestartContainer" {
            errors.invalid(&at.index(index), what.clone(), "must be 'NotRequired' when `restartPolicy` is 'Never'");
        }
    }
}

fn ports(errors: &mut Errors, at: &Path<'_>, ports: &[Value]) {
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let at = at.index(index);
        let name = port.at(&["name"]).str();
        if !name.is_empty() {
            let complaints = names::port_name(name);
            if complaints.is_empty() && !seen.insert(name) {
                errors.duplicate(&at.field("name"), name);
            }
            errors.each(&at.field("name"), name, complaints);
        }
        let number = port.at(&["containerPort"]).int();
        if number == 0 {
            errors.required(&at.field("containerPort"), "");
        } else if !(1..=65535).contains(&number) {
            errors.invalid(&at.field("containerPort"), number, names::between(1, 65535));
        }
        let host = port.at(&["hostPort"]).int();
        if host != 0 && !(1..=65535).contains(&host) {
            errors.invalid(&at.field("hostPort"), host, names::between(1, 65535));
        }
        errors.one_of(&at.field("protocol"), port.at(&["protocol"]), &["SCTP", "TCP", "UDP"]);
    }
}

/// Two containers may not claim the same port of the host.
fn host_ports(errors: &mut Errors, at: &Path<'_>, containers: &[Value]) {
    let mut seen = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        for (port_index, port) in container.at(&["ports"]).items().iter().enumerate() {
            let host = port.at(&["hostPort"]).int();
            if host == 0 {
                continue;
            }
            let claim = format!("{}/{}/{host}", port.at(&["protocol"]).str(), port.at(&["hostIP"]).str());
            if seen.contains(&claim) {
                let at = at.index(index);
                errors.duplicate(&at.field("ports").index(port_index).field("hostPort"), claim.as_str());
            }
            seen.insert(claim);
        }
    }
}

fn environment(errors: &mut Errors, at: &Path<'_>, variables: &[Value]) {
    for (index, variable) in variables.iter().enumerate() {
        let at = at.index(index);
        let name = variable.at(&["name"]).str();
        if name.is_empty() {
            errors.required(&at.field("name"), "");
        } else if name.chars().any(|letter| !(' '..='~').contains(&letter) || letter == '=') {
            let why =
                "a valid environment variable name must consist only of printable ASCII characters other than '='";
            errors.invalid(&at.field("name"), name, why);
        }
        let from = variable.at(&["valueFrom"]);
        if from.is_null() {
            continue;
        }
        let at = at.field("valueFrom");
        if from.entries().is_empty() {
            let why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
            errors.invalid(&at, "", why);
        } else if !variable.at(&["value"]).str().is_empty() {
            errors.invalid(&at, "", "may not be specified when `value` is not empty");
        } else if from.entries().len() > 1 {
            errors.invalid(&at, "", "may not have more than one field specified at a time");
        }
        for source in ["configMapKeyRef", "secretKeyRef"] {
            let reference = from.at(&[source]);
            if reference.is_null() {
                continue;
            }
            let at = at.field(source);
            if reference.at(&["name"]).str().is_empty() {
                errors.required(&at.field("name"), "");
            }
            match reference.at(&["key"]).str() {
                "" => errors.required(&at.field("key"), ""),
                key => errors.each(&at.field("key"), key, names::config_key(key)),
            }
        }
    }
}

fn environment_from(errors: &mut Errors, at: &Path<'_>, sources: &[Value]) {
    for (index, source) in sources.iter().enumerate() {
        let at = at.index(index);
        let kinds = ["configMapRef", "secretRef"].map(|kind| (kind, source.at(&[kind])));
        match kinds.iter().filter(|(_, reference)| !reference.is_null()).count() {
            0 => errors.invalid(&at, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => errors.invalid(&at, "", "may not have more than one field specified at a time"),
        }
        for (kind, reference) in kinds {
            if !reference.is_null() && reference.at(&["name"]).str().is_empty() {
                errors.required(&at.field(kind).field("name"), "");
            }
        }
    }
}

fn mounts(errors: &mut Errors, at: &Path<'_>, container: &Value, volumes: &BTreeMap<&str, bool>) {
    let mut points = BTreeSet::new();
    for (index, mount) in container.at(&["volumeMounts"]).items().iter().enumerate() {
        let list = at.field("volumeMounts");
        let at = list.index(index);
        let name = mount.at(&["name"]);
        if name.str().is_empty() {
            errors.required(&at.field("name"), "");
        } else if !volumes.contains_key(name.str()) {
            errors.not_found(&at.field("name"), name);
        }
        let point = mount.at(&["mountPath"]).str();
        if point.is_empty() {
            errors.required(&at.field("mountPath"), "");
        }
        if !points.insert(point) {
            errors.invalid(&at.field("mountPath"), point, "must be unique");
        }
        let (sub, expression) = (mount.at(&["subPath"]).str(), mount.at(&["subPathExpr"]).str());
        if !sub.is_empty() {
            super::volume::local_path(errors, &at.field("subPath"), sub);
        }
        if !expression.is_empty() {
            if !sub.is_empty() {
                errors.invalid(&at.field("subPathExpr"), expression, "subPathExpr and subPath are mutually exclusive");
            }
            super::volume::local_path(errors, &at.field("subPathExpr"), expression);
        }
        let propagation = mount.at(&["mountPropagation"]);
        let known = ["Bidirectional", "HostToContainer", "None"];
        if !propagation.is_null() && !known.contains(&propagation.str()) {
            errors.not_supported(&at.field("mountPropagation"), propagation, &known);
        }
    }
    for (index, device) in container.at(&["volumeDevices"]).items().iter().enumerate() {
        let list = at.field("volumeDevices");
        let at = list.index(index);
        let (name, path) = (device.at(&["name"]), device.at(&["devicePath"]).str());
        match volumes.get(name.str()) {
            _ if name.str().is_empty() => errors.required(&at.field("name"), ""),
            None => errors.not_found(&at.field("name"), name),
            Some(false) => {
                let why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                errors.invalid(&at.field("name"), name.clone(), why);
            }
            Some(true) => {}
        }
        if path.is_empty() {
            errors.required(&at.field("devicePath"), "");
        }
    }
}

fn hooks_and_probes(errors: &mut Errors, at: &Path<'_>, container: &Value) {
    for name in ["postStart", "preStop"] {
        let hook = container.at(&["lifecycle", name]);
        if !hook.is_null() {
            handler(errors, &at.field("lifecycle").field(name), hook, &["exec", "httpGet", "tcpSocket", "sleep"]);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = container.at(&[name]);
        if probe.is_null() {
            continue;
        }
        let at = at.field(name);
        handler(errors, &at, probe, &["exec", "httpGet", "tcpSocket", "grpc"]);
        let fields = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];
        for field in fields {
            errors.non_negative(&at.field(field), probe.at(&[field]));
        }
        let grace = probe.at(&["terminationGracePeriodSeconds"]);
        if name == "readinessProbe" && !grace.is_null() {
            let why = "must not be set for readinessProbes";
            errors.invalid(&at.field("terminationGracePeriodSeconds"), grace.clone(), why);
        } else if !grace.is_null() && grace.int() <= 0 {
            errors.invalid(&at.field("terminationGracePeriodSeconds"), grace.clone(), "must be greater than 0");
        }
        if name != "readinessProbe" && !matches!(probe.at(&["successThreshold"]).int(), 0 | 1) {
            errors.invalid(&at.field("successThreshold"), probe.at(&["successThreshold"]).clone(), "must be 1");
        }
    }
}

fn handler(errors: &mut Errors, at: &Path<'_>, handler: &Value, kinds: &[&str]) {
    let mut found = 0;
    for kind in kinds {
        let action = handler.at(&[kind]);
        if action.is_null() {
            continue;
        }
        found += 1;
        let at = at.field(kind);
        if found > 1 {
            errors.forbidden(&at, "may not specify more than 1 handler type");
            continue;
        }
        match *kind {
            "exec" if action.at(&["command"]).items().is_empty() => errors.required(&at.field("command"), ""),
            "httpGet" => {
                if action.at(&["path"]).str().is_empty() {
                    errors.required(&at.field("path"), "");
                }
                port(errors, &at.field("port"), action.at(&["port"]));
                let scheme = action.at(&["scheme"]);
                if !["HTTP", "HTTPS"].contains(&scheme.str()) {
                    errors.not_supported(&at.field("scheme"), scheme, &["HTTP", "HTTPS"]);
                }
            }
            "tcpSocket" | "grpc" => port(errors, &at.field("port"), action.at(&["port"])),
            _ => {}
        }
    }
    if found == 0 {
        errors.required(at, "must specify a handler type");
    }
}

fn port(errors: &mut Errors, at: &Path<'_>, port: &Value) {
    match port {
        Value::String(name) => errors.each(at, name, names::port_name(name)),
        number if !(1..=65535).contains(&number.int()) => {
            errors.invalid(at, number.int(), names::between(1, 65535));
        }
        _ => {}
    }
}

/// `resources` of a container.
pub(super) fn resources(errors: &mut Errors, at: &Path<'_>, resources: &Value, claims: &BTreeSet<&str>) {
    let (limits, requests) = (resources.at(&["limits"]), resources.at(&["requests"]));
    let (limit_path, request_path) = (at.field("limits"), at.field("requests"));
    let (mut huge, mut plain) = (false, false);
    let mut note = |name: &str| {
        huge |= name.starts_with("hugepages-");
        plain |= name == "cpu" || name == "memory";
    };
    for (name, quantity) in limits.entries() {
        note(name);
        container_resource(errors, &limit_path.key(name), name, quantity);
    }
    for (name, quantity) in requests.entries() {
        note(name);
        container_resource(errors, &request_path.key(name), name, quantity);
        let overcommit = is_native(name) && !name.starts_with("hugepages-");
        let Some(limit) = limits.get(name) else {
            if !overcommit {
                errors.required(&limit_path, "Limit must be set for non overcommitable resources");
            }
            continue;
        };
        if limit == quantity {
            continue;
        }
        let amount = |value: &Value| Quantity::parse(value.str()).unwrap_or(Quantity::units(0));
        let (asked, most) = (amount(quantity), amount(limit));
        if asked != most && !overcommit {
            errors.invalid(&request_path, quantity, format!("must be equal to {name} limit of {}", limit.str()));
        } else if asked > most {
            let why = format!("must be less than or equal to {name} limit of {}", limit.str());
            errors.invalid(&request_path, quantity, why);
        }
    }
    if huge && !plain {
        errors.forbidden(at, "HugePages require cpu or memory");
    }
    for (index, claim) in resources.at(&["claims"]).items().iter().enumerate() {
        let list = at.field("claims");
        let name = claim.at(&["name"]);
        if name.str().is_empty() {
            errors.required(&list.index(index).field("name"), "");
        } else if !claims.contains(name.str()) {
            errors.not_found(&list.index(index).field("name"), name);
        }
    }
}

fn container_resource(errors: &mut Errors, at: &Path<'_>, name: &str, quantity: &Value) {
    let complaints = names::qualified_name(name);
    let qualified = complaints.is_empty();
    errors.each(at, name, complaints);
    if !name.contains('/') {
        if qualified && !is_standard(name) {
            errors.invalid(at, name, "must be a standard resource type or fully qualified");
        }
        if !is_container_standard(name) {
            errors.invalid(at, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.invalid(at, name, "doesn't follow extended resource name standard");
    }
    resource_quantity(errors, at, name, quantity);
}

/// Quantities are not negative, and whole for extended resources.
pub(in crate::api::kinds) fn resource_quantity(errors: &mut Errors, at: &Path<'_>, name: &str, quantity: &Value) {
    let Ok(amount) = Quantity::parse(quantity.str()) else { return };
    if amount.is_negative() {
        errors.invalid(at, quantity, "must be greater than or equal to 0");
    }
    if (is_extended(name) || name == "pods") && amount.milli_value() % 1000 != 0 {
        errors.invalid(at, quantity, "must be an integer");
    }
}

fn is_standard(name: &str) -> bool {
    let more = [
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "storage",
        "requests.storage",
        "services.nodeports",
        "services.loadbalancers",
    ];
    is_container_standard(name) || name.starts_with("requests.hugepages-") || more.contains(&name)
}

fn is_container_standard(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
}

/// Without a domain, or in one of Kubernetes' own.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// A resource of somebody else: with a domain, not `requests.…`, and short enough for a quota to name it.
pub(in crate::api::kinds) fn is_extended(name: &str) -> bool {
    // `requests.` is put before the domain, which may be 253 letters long.
    let prefix = name.split('/').next().unwrap_or("").len() + "requests.".len();
    !is_native(name) && !name.starts_with("requests.") && prefix <= 253 && names::qualified_name(name).is_empty()
}
