//! `apps/v1` Deployment and ReplicaSet.
//!
//! Source: `pkg/apis/apps/v1/defaults.go`, `pkg/apis/apps/validation`, `pkg/registry/apps`.

use super::super::names;
use super::super::path::{Errors, Path};
use super::super::registry::{KindInfo, Strategy};
use super::super::schema::Schema;
use super::super::selector::Selector;
use super::super::status::FieldError;
use super::pod::defaults::{fill, template};
use super::pod::{Use, validate_spec};
use super::words;
use crate::object;
use crate::value::Value;

/// Deployment.
pub(super) fn deployment() -> KindInfo {
    scaled("Deployment", "deployments", "deploy", Deployment)
}

/// ReplicaSet.
pub(super) fn replica_set() -> KindInfo {
    scaled("ReplicaSet", "replicasets", "rs", ReplicaSet)
}

fn scaled(kind: &str, plural: &str, short: &str, strategy: impl Strategy + 'static) -> KindInfo {
    KindInfo {
        generation: true,
        categories: words(&["all"]),
        subresources: words(&["scale", "status"]),
        ..super::kind("apps", kind, plural, &[short], strategy)
    }
}

#[derive(Debug)]
struct Deployment;

impl Strategy for Deployment {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("Deployment")
    }

    fn default(&self, object: &mut Value) {
        let spec = object.make(&["spec"]);
        pod_template(spec);
        let map = spec.as_map_mut();
        fill(map, "replicas", 1);
        fill(map, "revisionHistoryLimit", 10);
        fill(map, "progressDeadlineSeconds", 600);
        let strategy = map.entry("strategy", Value::object).as_map_mut();
        fill(strategy, "type", "RollingUpdate");
        if strategy.get("type").is_some_and(|kind| kind.str() == "RollingUpdate") {
            let rolling = strategy.entry("rollingUpdate", Value::object).as_map_mut();
            fill(rolling, "maxUnavailable", "25%");
            fill(rolling, "maxSurge", "25%");
        }
    }

    fn prepare_create(&self, object: &mut Value) {
        object.set(&["status"], Value::object());
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let (spec, at) = (object.at(&["spec"]), Path::new("spec"));
        errors.non_negative(&at.field("replicas"), spec.at(&["replicas"]));
        selector(&mut errors, &at, spec, "empty selector is invalid for deployment");
        pods(&mut errors, &at, spec);
        strategy(&mut errors, &at.field("strategy"), spec.at(&["strategy"]));
        errors.non_negative(&at.field("minReadySeconds"), spec.at(&["minReadySeconds"]));
        errors.non_negative(&at.field("revisionHistoryLimit"), spec.at(&["revisionHistoryLimit"]));
        let deadline = spec.at(&["progressDeadlineSeconds"]);
        if !deadline.is_null() {
            let at = at.field("progressDeadlineSeconds");
            errors.non_negative(&at, deadline);
            if deadline.int() <= spec.at(&["minReadySeconds"]).int() {
                errors.invalid(&at, deadline.int(), "must be greater than minReadySeconds");
            }
        }
        errors.0
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Errors(self.validate(object));
        let at = Path::new("spec");
        errors.immutable(&at.field("selector"), object.at(&["spec", "selector"]), old.at(&["spec", "selector"]));
        errors.0
    }

    fn validate_status(&self, object: &Value, _old: &Value) -> Vec<FieldError> {
        counts(object, &["updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"])
    }

    /// Annotations count, since the revision is among them.
    fn bumps_generation(&self, object: &Value, old: &Value) -> bool {
        let annotations = ["metadata", "annotations"];
        object.get("spec") != old.get("spec") || object.at(&annotations) != old.at(&annotations)
    }
}

#[derive(Debug)]
struct ReplicaSet;

impl Strategy for ReplicaSet {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("ReplicaSet")
    }

    fn default(&self, object: &mut Value) {
        let spec = object.make(&["spec"]);
        pod_template(spec);
        fill(spec.as_map_mut(), "replicas", 1);
    }

    fn prepare_create(&self, object: &mut Value) {
        object.set(&["status"], object! { "replicas" => 0 });
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let (spec, at) = (object.at(&["spec"]), Path::new("spec"));
        errors.non_negative(&at.field("replicas"), spec.at(&["replicas"]));
        errors.non_negative(&at.field("minReadySeconds"), spec.at(&["minReadySeconds"]));
        selector(&mut errors, &at, spec, "empty selector is invalid for deployment");
        pods(&mut errors, &at, spec);
        errors.0
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Errors(self.validate(object));
        let at = Path::new("spec");
        errors.immutable(&at.field("selector"), object.at(&["spec", "selector"]), old.at(&["spec", "selector"]));
        errors.0
    }

    fn validate_status(&self, object: &Value, _old: &Value) -> Vec<FieldError> {
        counts(object, &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"])
    }
}

/// Defaults of `spec.template`.
pub(super) fn pod_template(spec: &mut Value) {
    if let Some(pod) = spec.at_mut(&["template", "spec"]) {
        template(pod);
    }
}

/// A selector that is there, not empty and well-formed.
fn selector(errors: &mut Errors, at: &Path<'_>, spec: &Value, empty: &str) {
    let (selector, at) = (spec.at(&["selector"]), at.field("selector"));
    if selector.is_null() {
        errors.required(&at, "");
        return;
    }
    names::label_selector(errors, &at, selector);
    if selector.at(&["matchLabels"]).entries().is_empty() && selector.at(&["matchExpressions"]).items().is_empty() {
        errors.invalid(&at, selector.clone(), empty);
    }
}

/// The template: its labels match the selector, its pods are valid and restart always.
fn pods(errors: &mut Errors, at: &Path<'_>, spec: &Value) {
    let (made, at) = (spec.at(&["template"]), at.field("template"));
    let selector = Selector::of_object(spec.at(&["selector"]));
    let labels = made.labels();
    if !selector.requirements.is_empty() && !selector.matches(labels) {
        let labels = if labels.is_null() { Value::Null } else { labels.clone() };
        errors.invalid(&at.field("metadata").field("labels"), labels, "`selector` does not match template `labels`");
    }
    template_metadata(errors, &at, made);
    validate_spec(errors, made, &at.field("spec"), Use::Template);
    let policy = made.at(&["spec", "restartPolicy"]);
    if policy.str() != "Always" {
        errors.not_supported(&at.field("spec").field("restartPolicy"), policy, &["Always"]);
    }
    if !made.at(&["spec", "activeDeadlineSeconds"]).is_null() {
        let why = "activeDeadlineSeconds in ReplicaSet is not Supported";
        errors.forbidden(&at.field("spec").field("activeDeadlineSeconds"), why);
    }
}

/// Labels and annotations of a pod template.
pub(super) fn template_metadata(errors: &mut Errors, at: &Path<'_>, template: &Value) {
    names::labels(errors, &at.field("labels"), template.labels());
    names::annotations(errors, &at.field("annotations"), template.at(&["metadata", "annotations"]));
}

fn strategy(errors: &mut Errors, at: &Path<'_>, strategy: &Value) {
    let (kind, rolling) = (strategy.at(&["type"]), strategy.at(&["rollingUpdate"]));
    match kind.str() {
        "Recreate" if !rolling.is_null() => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            errors.forbidden(&at.field("rollingUpdate"), why);
        }
        "Recreate" => {}
        "RollingUpdate" if rolling.is_null() => {
            errors.required(&at.field("rollingUpdate"), "this should be defaulted and never be nil");
        }
        "RollingUpdate" => {
            let at = at.field("rollingUpdate");
            let (down, up) = (rolling.at(&["maxUnavailable"]), rolling.at(&["maxSurge"]));
            count_or_percent(errors, &at.field("maxUnavailable"), down);
            count_or_percent(errors, &at.field("maxSurge"), up);
            if is_zero(down) && is_zero(up) {
                let why = "may not be 0 when `maxSurge` is 0";
                errors.invalid(&at.field("maxUnavailable"), down.clone(), why);
            }
            at_most_100(errors, &at.field("maxUnavailable"), down);
        }
        _ => errors.not_supported(at, strategy, &["Recreate", "RollingUpdate"]),
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim_end_matches('%').parse() == Ok(0),
        _ => value.int() == 0,
    }
}

/// A count that is not negative, or a percentage.
pub(super) fn count_or_percent(errors: &mut Errors, at: &Path<'_>, value: &Value) {
    match value {
        Value::String(text) => {
            let digits = text.strip_suffix('%').unwrap_or("");
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                let message = "a valid percent string must be a numeric string followed by an ending '%'";
                errors.invalid(at, value.clone(), names::pattern(message, "[0-9]+%", &["1%", "93%"]));
            }
        }
        _ => errors.non_negative(at, value),
    }
}

/// A percentage of at most 100.
pub(super) fn at_most_100(errors: &mut Errors, at: &Path<'_>, value: &Value) {
    let percent = value.as_str().and_then(|text| text.strip_suffix('%')?.parse::<i64>().ok());
    if percent.is_some_and(|percent| percent > 100) {
        errors.invalid(at, value.clone(), "must not be greater than 100%");
    }
}

/// Counters of a status: none is negative, none is more than `replicas`.
fn counts(object: &Value, fields: &[&str]) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let (status, at) = (object.at(&["status"]), Path::new("status"));
    errors.non_negative(&at.field("replicas"), status.at(&["replicas"]));
    for field in fields {
        errors.non_negative(&at.field(field), status.at(&[field]));
    }
    errors.non_negative(&at.field("observedGeneration"), status.at(&["observedGeneration"]));
    for field in fields.iter().filter(|field| **field != "unavailableReplicas") {
        if status.at(&[field]).int() > status.at(&["replicas"]).int() {
            errors.invalid(&at.field(field), status.at(&[field]).int(), "cannot be greater than status.replicas");
        }
    }
    if status.at(&["availableReplicas"]).int() > status.at(&["readyReplicas"]).int() {
        let value = status.at(&["availableReplicas"]).int();
        errors.invalid(&at.field("availableReplicas"), value, "cannot be greater than readyReplicas");
    }
    errors.0
}
