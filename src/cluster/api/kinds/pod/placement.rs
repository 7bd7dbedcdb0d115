//! What decides where a pod may run: affinity, tolerations, spreading and gates.
//!
//! Source: `pkg/apis/core/validation/validation.go`.

use std::collections::BTreeSet;

use crate::api::names;
use crate::api::path::{Errors, Path};
use crate::value::Value;

/// `spec.affinity`.
pub(super) fn affinity(errors: &mut Errors, at: &Path<'_>, affinity: &Value) {
    let node = affinity.at(&["nodeAffinity"]);
    if !node.is_null() {
        node_affinity(errors, &at.field("nodeAffinity"), node);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let rules = affinity.at(&[kind]);
        if rules.is_null() {
            continue;
        }
        let at = at.field(kind);
        for (index, term) in rules.at(&[REQUIRED]).items().iter().enumerate() {
            pod_term(errors, &at.field(REQUIRED).index(index), term);
        }
        for (index, term) in rules.at(&[PREFERRED]).items().iter().enumerate() {
            let list = at.field(PREFERRED);
            let at = list.index(index);
            weight(errors, &at, term);
            pod_term(errors, &at.field("podAffinityTerm"), term.at(&["podAffinityTerm"]));
        }
    }
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

fn weight(errors: &mut Errors, at: &Path<'_>, term: &Value) {
    let weight = term.at(&["weight"]).int();
    if !(1..=100).contains(&weight) {
        errors.invalid(&at.field("weight"), weight, "must be in the range 1-100");
    }
}

fn node_affinity(errors: &mut Errors, at: &Path<'_>, affinity: &Value) {
    let required = affinity.at(&[REQUIRED]);
    if !required.is_null() {
        let at = at.field(REQUIRED);
        node_selector(errors, &at, required);
    }
    for (index, term) in affinity.at(&[PREFERRED]).items().iter().enumerate() {
        let list = at.field(PREFERRED);
        let at = list.index(index);
        if !(1..=100).contains(&term.at(&["weight"]).int()) {
            weight(errors, &at, term);
        }
        node_term(errors, &at.field("preference"), term.at(&["preference"]));
    }
}

/// A node selector: terms that are alternatives.
pub(in crate::api::kinds) fn node_selector(errors: &mut Errors, at: &Path<'_>, selector: &Value) {
    let terms = selector.at(&["nodeSelectorTerms"]).items();
    if terms.is_empty() {
        errors.required(&at.field("nodeSelectorTerms"), "must have at least one node selector term");
    }
    for (index, term) in terms.iter().enumerate() {
        node_term(errors, &at.field("nodeSelectorTerms").index(index), term);
    }
}

fn node_term(errors: &mut Errors, at: &Path<'_>, term: &Value) {
    for (index, expression) in term.at(&["matchExpressions"]).items().iter().enumerate() {
        let list = at.field("matchExpressions");
        let at = list.index(index);
        let values = expression.at(&["values"]).items();
        let operator = expression.at(&["operator"]);
        match operator.str() {
            "In" | "NotIn" if values.is_empty() => {
                errors.required(&at.field("values"), "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.forbidden(&at.field("values"), why);
            }
            "Gt" | "Lt" if values.len() != 1 => {
                errors.required(&at.field("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            _ => errors.invalid(&at.field("operator"), operator.str(), "not a valid selector operator"),
        }
        let key = expression.at(&["key"]).str();
        errors.each(&at.field("key"), key, names::qualified_name(key));
        for (index, value) in values.iter().enumerate() {
            errors.each(&at.field("values").index(index), value.str(), names::label_value(value.str()));
        }
    }
    for (index, expression) in term.at(&["matchFields"]).items().iter().enumerate() {
        let list = at.field("matchFields");
        let at = list.index(index);
        let (values, operator) = (expression.at(&["values"]).items(), expression.at(&["operator"]));
        match operator.str() {
            "In" | "NotIn" if values.len() != 1 => {
                let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                errors.required(&at.field("values"), why);
            }
            "In" | "NotIn" => {}
            _ => errors.invalid(&at.field("operator"), operator.str(), "not a valid selector operator"),
        }
        let key = expression.at(&["key"]).str();
        if key != "metadata.name" {
            errors.invalid(&at.field("key"), key, "not a valid field selector key");
            continue;
        }
        for (index, value) in values.iter().enumerate() {
            errors.each(&at.field("values").index(index), value.str(), names::dns_subdomain(value.str()));
        }
    }
}

fn pod_term(errors: &mut Errors, at: &Path<'_>, term: &Value) {
    for selector in ["labelSelector", "namespaceSelector"] {
        names::label_selector(errors, &at.field(selector), term.at(&[selector]));
    }
    match_label_keys(errors, at, term);
    for (index, namespace) in term.at(&["namespaces"]).items().iter().enumerate() {
        errors.each(&at.field("namespace").index(index), namespace.str(), names::dns_label(namespace.str()));
    }
    let key = term.at(&["topologyKey"]).str();
    if key.is_empty() {
        errors.required(&at.field("topologyKey"), "can not be empty");
    }
    errors.each(&at.field("topologyKey"), key, names::qualified_name(key));
}

fn match_label_keys(errors: &mut Errors, at: &Path<'_>, of: &Value) {
    for list in ["matchLabelKeys", "mismatchLabelKeys"] {
        let keys = of.at(&[list]).items();
        if !keys.is_empty() && of.at(&["labelSelector"]).is_null() {
            errors.forbidden(&at.field(list), "must not be specified when labelSelector is not set");
        }
        for (index, key) in keys.iter().enumerate() {
            errors.each(&at.field(list).index(index), key.str(), names::qualified_name(key.str()));
        }
    }
}

/// `spec.topologySpreadConstraints`.
pub(super) fn spread(errors: &mut Errors, at: &Path<'_>, constraints: &[Value]) {
    let mut seen = BTreeSet::new();
    for (index, constraint) in constraints.iter().enumerate() {
        let at = at.index(index);
        let skew = constraint.at(&["maxSkew"]).int();
        if skew <= 0 {
            errors.invalid(&at.field("maxSkew"), skew, "must be greater than zero");
        }
        let (key, action) = (constraint.at(&["topologyKey"]).str(), constraint.at(&["whenUnsatisfiable"]));
        if key.is_empty() {
            errors.required(&at.field("topologyKey"), "can not be empty");
        }
        errors.each(&at.field("topologyKey"), key, names::qualified_name(key));
        let known = ["DoNotSchedule", "ScheduleAnyway"];
        if !known.contains(&action.str()) {
            errors.not_supported(&at.field("whenUnsatisfiable"), action, &known);
        }
        if !seen.insert((key, action.str())) {
            let pair = format!("{{{key}, {}}}", action.str());
            errors.duplicate(&at.field("{topologyKey, whenUnsatisfiable}"), pair.as_str());
        }
        let least = constraint.at(&["minDomains"]);
        if !least.is_null() {
            if least.int() <= 0 {
                errors.invalid(&at.field("minDomains"), least.int(), "must be greater than zero");
            }
            if action.str() != "DoNotSchedule" {
                let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}", action.str());
                errors.invalid(&at.field("minDomains"), least.int(), why);
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            let policy = constraint.at(&[field]);
            if !policy.is_null() && !["Honor", "Ignore"].contains(&policy.str()) {
                errors.not_supported(&at.field(field), policy, &["Honor", "Ignore"]);
            }
        }
        match_label_keys(errors, &at, constraint);
        names::label_selector(errors, &at.field("labelSelector"), constraint.at(&["labelSelector"]));
    }
}

/// `spec.schedulingGates`.
pub(super) fn gates(errors: &mut Errors, at: &Path<'_>, gates: &[Value]) {
    let mut seen = BTreeSet::new();
    for (index, gate) in gates.iter().enumerate() {
        let name = gate.at(&["name"]).str();
        errors.each(&at.index(index), name, names::qualified_name(name));
        if !seen.insert(name) {
            errors.duplicate(&at.index(index), name);
        }
    }
}

/// `spec.tolerations`.
pub(super) fn tolerations(errors: &mut Errors, at: &Path<'_>, tolerations: &[Value]) {
    for (index, toleration) in tolerations.iter().enumerate() {
        let at = at.index(index);
        let (key, effect) = (toleration.at(&["key"]).str(), toleration.at(&["effect"]));
        let (operator, value) = (toleration.at(&["operator"]), toleration.at(&["value"]).str());
        if !key.is_empty() {
            errors.each(&at.field("key"), key, names::qualified_name(key));
        }
        if key.is_empty() && operator.str() != "Exists" {
            let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.invalid(&at.field("operator"), operator.str(), why);
        }
        let seconds = toleration.at(&["tolerationSeconds"]);
        if !seconds.is_null() && effect.str() != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.invalid(&at.field("effect"), effect.str(), why);
        }
        match operator.str() {
            "Equal" | "" => errors.each(&at.field("operator"), value, names::label_value(value)),
            "Exists" if !value.is_empty() => {
                errors.invalid(
                    &at.field("operator"),
                    toleration.clone(),
                    "value must be empty when `operator` is 'Exists'",
                );
            }
            "Exists" => {}
            _ => errors.not_supported(&at.field("operator"), operator, &["Equal", "Exists"]),
        }
        let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        if !effect.str().is_empty() && !known.contains(&effect.str()) {
            errors.not_supported(&at.field("effect"), effect, &known);
        }
    }
}
