//! What may change in a pod.
//!
//! Source: `ValidatePodUpdate` and `ValidatePodStatusUpdate` in `pkg/apis/core/validation/validation.go`.

use crate::api::names;
use crate::api::path::{Errors, Path};
use crate::api::status::FieldError;
use crate::value::Value;

use super::spec::{Use, validate_spec};

/// The fields that may change, as the refusal lists them.
const MAY_CHANGE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
                          `spec.tolerations` (only additions to existing tolerations),\
                          `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// What is wrong with a change of a pod.
pub(super) fn validate(pod: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let (spec, before, at) = (pod.at(&["spec"]), old.at(&["spec"]), Path::new("spec"));
    if spec.as_map().zip(before.as_map()).is_some_and(|(one, two)| one.same(two)) {
        return errors.0;
    }
    validate_spec(&mut errors, pod, &at, Use::Pod);
    for list in ["containers", "initContainers"] {
        if spec.at(&[list]).items().len() != before.at(&[list]).items().len() {
            errors.forbidden(&at.field(list), "pod updates may not add or remove containers");
            return errors.0;
        }
    }
    if !deadline(&mut errors, &at.field("activeDeadlineSeconds"), spec, before) {
        return errors.0;
    }
    tolerations(&mut errors, &at.field("tolerations"), spec, before);
    gates(&mut errors, &at.field("schedulingGates"), spec, before);
    if spec == before {
        return errors.0;
    }
    let mut munged = munged(spec, before);
    if !before.at(&["schedulingGates"]).items().is_empty() {
        gated(&mut errors, &at, &mut munged, before);
    }
    if munged != *before {
        let mut differences = String::new();
        differ(&mut differences, "spec", before, &munged);
        errors.forbidden(&at, format!("pod updates may not change fields other than {MAY_CHANGE}\n{differences}"));
    }
    errors.0
}

/// The new spec with everything that may change set back.
fn munged(spec: &Value, before: &Value) -> Value {
    let mut munged = spec.clone();
    let mut back = |path: &[&str]| match before.at(path) {
        Value::Null => {
            munged.remove(path);
        }
        value => munged.set(path, value.clone()),
    };
    back(&["activeDeadlineSeconds"]);
    back(&["tolerations"]);
    back(&["schedulingGates"]);
    if before.at(&["terminationGracePeriodSeconds"]).int() < 0 && spec.at(&["terminationGracePeriodSeconds"]).int() == 1
    {
        back(&["terminationGracePeriodSeconds"]);
    }
    for list in ["containers", "initContainers"] {
        if spec.at(&[list]) == before.at(&[list]) {
            continue;
        }
        let containers = munged.make(&[list]).as_list_mut();
        for (container, before) in containers.iter_mut().zip(before.at(&[list]).items()) {
            container.set(&["image"], before.at(&["image"]).clone());
        }
    }
    munged
}

/// From nothing to a number, or from a number to a smaller one. Says whether to go on.
fn deadline(errors: &mut Errors, at: &Path<'_>, spec: &Value, before: &Value) -> bool {
    let (new, old) = (spec.at(&["activeDeadlineSeconds"]), before.at(&["activeDeadlineSeconds"]));
    match (new.as_i64(), old.as_i64()) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            errors.invalid(at, new, names::between(0, i64::from(i32::MAX)));
            return false;
        }
        (Some(new), Some(old)) if old < new => {
            errors.invalid(at, new, "must be less than or equal to previous value");
            return false;
        }
        (None, Some(_)) => errors.invalid(at, Value::Null, "must not update from a positive integer to nil value"),
        _ => {}
    }
    true
}

fn tolerations(errors: &mut Errors, at: &Path<'_>, spec: &Value, before: &Value) {
    let same = |one: &Value, two: &Value| {
        ["key", "operator", "value", "effect"].iter().all(|field| one.at(&[field]) == two.at(&[field]))
    };
    let new = spec.at(&["tolerations"]).items();
    for old in before.at(&["tolerations"]).items() {
        if !new.iter().any(|one| same(one, old)) {
            errors.forbidden(at, "existing toleration can not be modified except its tolerationSeconds");
            return;
        }
    }
}

fn gates(errors: &mut Errors, at: &Path<'_>, spec: &Value, before: &Value) {
    let old = before.at(&["schedulingGates"]).items();
    for (index, gate) in spec.at(&["schedulingGates"]).items().iter().enumerate() {
        let name = gate.at(&["name"]).str();
        if !old.iter().any(|one| one.at(&["name"]).str() == name) {
            let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.forbidden(&at.index(index).field("name"), why);
        }
    }
}

/// A gated pod may become pickier about nodes.
fn gated(errors: &mut Errors, at: &Path<'_>, munged: &mut Value, before: &Value) {
    let (new, old) = (munged.at(&["nodeSelector"]).clone(), before.at(&["nodeSelector"]));
    if new != *old {
        if old.entries().iter().any(|(key, value)| new.get(key) != Some(value)) {
            let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
            errors.invalid(&at.field("nodeSelector"), new, why);
        }
        set_back(munged, before, &["nodeSelector"]);
    }
    let (path, required) = (["affinity", "nodeAffinity"], "requiredDuringSchedulingIgnoredDuringExecution");
    let (new, old) = (munged.at(&path).clone(), before.at(&path).clone());
    if new == old {
        return;
    }
    let place = at.field("affinity");
    let place = place.field("nodeAffinity");
    let place = place.field(required);
    let before_terms = old.at(&[required, "nodeSelectorTerms"]).items();
    let terms = new.at(&[required, "nodeSelectorTerms"]).items();
    if !before_terms.is_empty() {
        if terms.len() != before_terms.len() {
            let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
            errors.invalid(&place.field("nodeSelectorTerms"), new.at(&[required, "nodeSelectorTerms"]).clone(), why);
        }
        for (index, (term, before)) in terms.iter().zip(before_terms).enumerate() {
            let grown = ["matchExpressions", "matchFields"].iter().all(|list| {
                let items = term.at(&[list]).items();
                before.at(&[list]).items().iter().all(|one| items.contains(one))
            });
            if !grown {
                let list = place.field("nodeSelectorTerms");
                errors.invalid(
                    &list.index(index),
                    term.clone(),
                    "only additions are allowed (no mutations or deletions)",
                );
            }
        }
    }
    set_back(munged, before, &path);
    if munged.at(&["affinity"]).entries().is_empty() && before.at(&["affinity"]).is_null() {
        munged.remove(&["affinity"]);
    }
}

fn set_back(munged: &mut Value, before: &Value, path: &[&str]) {
    match before.at(path) {
        Value::Null => {
            munged.remove(path);
        }
        value => munged.set(path, value.clone()),
    }
}

/// Lists the leaves that differ, old and new, one a line.
fn differ(text: &mut String, path: &str, old: &Value, new: &Value) {
    if old == new {
        return;
    }
    if let (Value::Map(one), Value::Map(two)) = (old, new) {
        for (key, value) in one {
            differ(text, &format!("{path}.{key}"), value, two.get(key).unwrap_or(&Value::Null));
        }
        for (key, value) in two.iter().filter(|(key, _)| !one.contains_key(key)) {
            differ(text, &format!("{path}.{key}"), &Value::Null, value);
        }
        return;
    }
    for (sign, value) in [('-', old), ('+', new)] {
        if !value.is_null() {
            text.push_str(&format!("{sign}{path}: {}\n", value.to_json()));
        }
    }
}

/// What is wrong with a change of a pod's status.
pub(super) fn validate_status(pod: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let at = Path::new("status");
    let nominated = pod.at(&["status", "nominatedNodeName"]).str();
    if !nominated.is_empty() {
        errors.each(&at.field("nominatedNodeName"), nominated, names::dns_subdomain(nominated));
    }
    let (node, before) = (pod.at(&["spec", "nodeName"]), old.at(&["spec", "nodeName"]));
    if node != before {
        errors.forbidden(&at.field("nodeName"), "may not be changed directly");
    }
    errors.0
}
