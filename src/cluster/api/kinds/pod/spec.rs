//! The spec of a pod, alone or in a template.
//!
//! Source: `ValidatePodSpec` in `pkg/apis/core/validation/validation.go`.

use std::collections::BTreeSet;

use super::container::{self, Around};
use super::{placement, volume};
use crate::api::names;
use crate::api::path::{Errors, Path};
use crate::value::Value;

/// Where a pod's spec is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api::kinds) enum Use {
    /// As a pod.
    Pod,
    /// In a template.
    Template,
}

/// Everything about the spec of `owner` (a pod or a template), whose path is `at`.
pub(in crate::api::kinds) fn validate_spec(errors: &mut Errors, owner: &Value, at: &Path<'_>, used_as: Use) {
    let spec = owner.at(&["spec"]);
    let volumes = volume::volumes(errors, &at.field("volumes"), spec.at(&["volumes"]).items());
    let claims = resource_claims(errors, &at.field("resourceClaims"), spec.at(&["resourceClaims"]).items());
    let restart = spec.at(&["restartPolicy"]);
    let mut around =
        Around { volumes: &volumes, claims: &claims, names: BTreeSet::new(), used_as, restart: restart.str() };
    container::containers(errors, &at.field("containers"), spec.at(&["containers"]).items(), &mut around);
    container::init_containers(errors, &at.field("initContainers"), spec.at(&["initContainers"]).items(), &mut around);
    if let Some(resources) = spec.get("resources") {
        container::resources(errors, &at.field("resources"), resources, &claims);
    }
    errors.one_of(&at.field("restartPolicy"), restart, &["Always", "OnFailure", "Never"]);
    let dns = spec.at(&["dnsPolicy"]);
    errors.one_of(&at.field("dnsPolicy"), dns, &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"]);
    names::labels(errors, &at.field("nodeSelector"), spec.at(&["nodeSelector"]));
    host_network(errors, at, spec);
    pod_security_context(errors, &at.field("securityContext"), spec);
    for (index, secret) in spec.at(&["imagePullSecrets"]).items().iter().enumerate() {
        if secret.at(&["name"]).str().is_empty() && used_as == Use::Pod {
            errors.required(&at.field("imagePullSecrets").index(index).field("name"), "");
        }
    }
    placement::affinity(errors, &at.field("affinity"), spec.at(&["affinity"]));
    dns_config(errors, &at.field("dnsConfig"), spec);
    for (index, gate) in spec.at(&["readinessGates"]).items().iter().enumerate() {
        let name = gate.at(&["conditionType"]).str();
        errors.each(&at.field("readinessGates").index(index).field("conditionType"), name, names::qualified_name(name));
    }
    placement::gates(errors, &at.field("schedulingGates"), spec.at(&["schedulingGates"]).items());
    let spread = spec.at(&["topologySpreadConstraints"]).items();
    placement::spread(errors, &at.field("topologySpreadConstraints"), spread);
    small_fields(errors, at, spec);
    placement::tolerations(errors, &at.field("tolerations"), spec.at(&["tolerations"]).items());
    host_aliases(errors, &at.field("hostAliases"), spec.at(&["hostAliases"]).items());
    last_fields(errors, at, spec);
}

fn small_fields(errors: &mut Errors, at: &Path<'_>, spec: &Value) {
    for field in ["serviceAccountName", "nodeName"] {
        let name = spec.at(&[field]).str();
        if !name.is_empty() {
            errors.each(&at.field(field), name, names::dns_subdomain(name));
        }
    }
    let deadline = spec.at(&["activeDeadlineSeconds"]);
    if !deadline.is_null() && !(1..=i64::from(i32::MAX)).contains(&deadline.int()) {
        let why = names::between(1, i64::from(i32::MAX));
        errors.invalid(&at.field("activeDeadlineSeconds"), deadline.int(), why);
    }
    for field in ["hostname", "subdomain"] {
        let name = spec.at(&[field]).str();
        if !name.is_empty() {
            errors.each(&at.field(field), name, names::dns_label(name));
        }
    }
}

fn last_fields(errors: &mut Errors, at: &Path<'_>, spec: &Value) {
    for field in ["priorityClassName", "runtimeClassName"] {
        if let Some(name) = spec.at(&[field]).as_str()
            && (field == "runtimeClassName" || !name.is_empty())
        {
            errors.each(&at.field(field), name, names::dns_subdomain(name));
        }
    }
    preemption_policy(errors, &at.field("preemptionPolicy"), spec.at(&["preemptionPolicy"]));
    let overhead = spec.at(&["overhead"]);
    if !overhead.is_null() {
        let as_limits = crate::object! { "limits" => overhead };
        container::resources(errors, &at.field("overhead"), &as_limits, &BTreeSet::new());
    }
    let system = spec.at(&["os", "name"]);
    if spec.get("os").is_some() {
        errors.one_of(&at.field("os").field("name"), system, &["linux", "windows"]);
    }
}

/// `PreemptLowerPriority` or `Never`, where given.
pub(in crate::api::kinds) fn preemption_policy(errors: &mut Errors, at: &Path<'_>, policy: &Value) {
    if policy.is_null() {
        return;
    }
    match policy.str() {
        "PreemptLowerPriority" | "Never" => {}
        "" => errors.required(at, ""),
        _ => errors.not_supported(at, policy, &["PreemptLowerPriority", "Never"]),
    }
}

/// The names of the pod's resource claims.
fn resource_claims<'a>(errors: &mut Errors, at: &Path<'_>, claims: &'a [Value]) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    for (index, claim) in claims.iter().enumerate() {
        let at = at.index(index);
        let name = claim.at(&["name"]).str();
        if name.is_empty() {
            errors.required(&at.field("name"), "");
        } else if !seen.insert(name) {
            errors.duplicate(&at.field("name"), name);
        } else {
            errors.each(&at.field("name"), name, names::dns_label(name));
        }
        let (direct, template) = (claim.at(&["resourceClaimName"]), claim.at(&["resourceClaimTemplateName"]));
        if !direct.is_null() && !template.is_null() {
            let why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
            errors.invalid(&at, claim.clone(), why);
        } else if direct.is_null() && template.is_null() {
            let why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
            errors.invalid(&at, claim.clone(), why);
        }
        for (field, value) in [("resourceClaimName", direct), ("resourceClaimTemplateName", template)] {
            if let Some(name) = value.as_str() {
                errors.each(&at.field(field), name, names::dns_subdomain(name));
            }
        }
    }
    seen
}

fn id(errors: &mut Errors, at: &Path<'_>, value: &Value) {
    if !value.is_null() && !(0..=i64::from(i32::MAX)).contains(&value.int()) {
        errors.invalid(at, value.int(), names::between(0, i64::from(i32::MAX)));
    }
}

/// With the host's network, ports inside and outside are the same.
fn host_network(errors: &mut Errors, at: &Path<'_>, spec: &Value) {
    if !spec.at(&["hostNetwork"]).is_true() {
        return;
    }
    for (index, container) in spec.at(&["containers"]).items().iter().enumerate() {
        let list = at.field("containers");
        let at = list.index(index);
        for (index, port) in container.at(&["ports"]).items().iter().enumerate() {
            let (inside, host) = (port.at(&["containerPort"]).int(), port.at(&["hostPort"]).int());
            if host != inside && host != 0 {
                let at = at.field("ports");
                let why = "must match `hostPort` when `hostNetwork` is true";
                errors.invalid(&at.index(index).field("containerPort"), inside, why);
            }
        }
    }
}

fn pod_security_context(errors: &mut Errors, at: &Path<'_>, spec: &Value) {
    let context = spec.at(&["securityContext"]);
    if context.entries().is_empty() {
        return;
    }
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(errors, &at.field(field), context.at(&[field]));
    }
    for (index, group) in context.at(&["supplementalGroups"]).items().iter().enumerate() {
        id(errors, &at.field("supplementalGroups").index(index), group);
    }
    let policy = context.at(&["fsGroupChangePolicy"]);
    if !policy.is_null() && !["Always", "OnRootMismatch"].contains(&policy.str()) {
        errors.not_supported(&at.field("fsGroupChangePolicy"), policy, &["Always", "OnRootMismatch"]);
    }
    seccomp(errors, &at.field("seccompProfile"), context.at(&["seccompProfile"]));
}

fn seccomp(errors: &mut Errors, at: &Path<'_>, profile: &Value) {
    if profile.is_null() {
        return;
    }
    let kind = profile.at(&["type"]);
    match kind.str() {
        "Localhost" if profile.at(&["localhostProfile"]).str().is_empty() => {
            errors.required(&at.field("localhostProfile"), "must be set when seccomp type is Localhost");
        }
        "Localhost" => {}
        "RuntimeDefault" | "Unconfined" if !profile.at(&["localhostProfile"]).is_null() => {
            let value = profile.at(&["localhostProfile"]).clone();
            errors.invalid(&at.field("localhostProfile"), value, "can only be set when seccomp type is Localhost");
        }
        "RuntimeDefault" | "Unconfined" => {}
        "" => errors.required(&at.field("type"), "type is required when seccompProfile is set"),
        _ => errors.not_supported(&at.field("type"), kind, &["Localhost", "RuntimeDefault", "Unconfined"]),
    }
}

/// `securityContext` of a container.
pub(super) fn security_context(errors: &mut Errors, at: &Path<'_>, context: &Value) {
    if context.entries().is_empty() {
        return;
    }
    id(errors, &at.field("runAsUser"), context.at(&["runAsUser"]));
    id(errors, &at.field("runAsGroup"), context.at(&["runAsGroup"]));
    seccomp(errors, &at.field("seccompProfile"), context.at(&["seccompProfile"]));
    let mount = context.at(&["procMount"]);
    if !mount.is_null() && !["Default", "Unmasked"].contains(&mount.str()) {
        errors.not_supported(&at.field("procMount"), mount, &["Default", "Unmasked"]);
    }
    if context.at(&["allowPrivilegeEscalation"]) == &Value::Bool(false) {
        if context.at(&["privileged"]).is_true() {
            let why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            errors.invalid(at, context.clone(), why);
        }
        let added = context.at(&["capabilities", "add"]).items();
        if added.iter().any(|one| matches!(one.str(), "CAP_SYS_ADMIN")) {
            let why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            errors.invalid(at, context.clone(), why);
        }
    }
}

fn dns_config(errors: &mut Errors, at: &Path<'_>, spec: &Value) {
    let config = spec.at(&["dnsConfig"]);
    let servers = config.at(&["nameservers"]).items();
    if spec.at(&["dnsPolicy"]).str() == "None" {
        if config.is_null() {
            errors.required(at, "must provide `dnsConfig` when `dnsPolicy` is None");
        } else if servers.is_empty() {
            errors.required(
                &at.field("nameservers"),
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            );
        }
    }
    if servers.len() > 3 {
        let value: Value = servers.iter().cloned().collect();
        errors.invalid(&at.field("nameservers"), value, "must not have more than 3 nameservers");
    }
    for (index, server) in servers.iter().enumerate() {
        address(errors, &at.field("nameservers").index(index), server.str());
    }
    for (index, option) in config.at(&["options"]).items().iter().enumerate() {
        if option.at(&["name"]).str().is_empty() {
            errors.required(&at.field("options").index(index), "must not be empty");
        }
    }
}

/// An IP address.
pub(in crate::api::kinds) fn address(errors: &mut Errors, at: &Path<'_>, text: &str) {
    if text.parse::<std::net::IpAddr>().is_err() {
        errors.invalid(at, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    }
}

fn host_aliases(errors: &mut Errors, at: &Path<'_>, aliases: &[Value]) {
    for (index, alias) in aliases.iter().enumerate() {
        let at = at.index(index);
        address(errors, &at.field("ip"), alias.at(&["ip"]).str());
        for (index, name) in alias.at(&["hostnames"]).items().iter().enumerate() {
            errors.each(&at.field("hostnames").index(index), name.str(), names::dns_subdomain(name.str()));
        }
    }
}
