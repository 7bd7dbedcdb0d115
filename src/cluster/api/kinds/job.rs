//! `batch/v1` Job.
//!
//! Source: `pkg/apis/batch/v1/defaults.go`, `pkg/apis/batch/validation`, `pkg/registry/batch/job/strategy.go`.

use super::super::names;
use super::super::path::{Errors, Path};
use super::super::registry::{KindInfo, Strategy};
use super::super::schema::Schema;
use super::super::selector::Selector;
use super::super::status::FieldError;
use super::pod::defaults::fill;
use super::pod::{Use, validate_spec};
use super::{words, workloads};
use crate::object;
use crate::value::{Text, Value};

/// The kind.
pub(super) fn info() -> KindInfo {
    KindInfo {
        generation: true,
        categories: words(&["all"]),
        subresources: words(&["status"]),
        ..super::kind("batch", "Job", "jobs", &[], Job)
    }
}

#[derive(Debug)]
struct Job;

/// Labels that tie pods to their job, new and old ones: the job's name and its uid.
const NAMES: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];
const UIDS: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];
/// What may change in the template of a suspended job.
const DIRECTIVES: [&[&str]; 6] = [
    &["metadata", "labels"],
    &["metadata", "annotations"],
    &["spec", "nodeSelector"],
    &["spec", "affinity"],
    &["spec", "tolerations"],
    &["spec", "schedulingGates"],
];

impl Strategy for Job {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("Job")
    }

    fn default(&self, object: &mut Value) {
        let spec = object.make(&["spec"]);
        workloads::pod_template(spec);
        let map = spec.as_map_mut();
        if !map.contains_key("completions") && !map.contains_key("parallelism") {
            map.insert("completions", 1);
        }
        fill(map, "parallelism", 1);
        let limit = if map.contains_key("backoffLimitPerIndex") { i64::from(i32::MAX) } else { 6 };
        fill(map, "backoffLimit", limit);
        fill(map, "completionMode", "NonIndexed");
        fill(map, "suspend", false);
        fill(map, "manualSelector", false);
        let replace = if map.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
        fill(map, "podReplacementPolicy", replace);
        label_as_template(object);
    }

    /// A selector of its own, unless the job brings one.
    fn prepare_create(&self, object: &mut Value) {
        object.set(&["status"], Value::object());
        if object.at(&["spec", "manualSelector"]).is_true() {
            return;
        }
        let (name, uid) = (Text::from(object.name()), Text::from(object.uid()));
        let labels = object.make(&["spec", "template", "metadata", "labels"]).as_map_mut();
        for key in NAMES {
            labels.insert(key, name.clone());
        }
        for key in UIDS {
            labels.insert(key, uid.clone());
        }
        object.set(&["spec", "selector", "matchLabels", UIDS[0]], uid);
        label_as_template(object);
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        spec(&mut errors, object);
        errors.0
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Errors(self.validate(object));
        let (new, before, at) = (object.at(&["spec"]), old.at(&["spec"]), Path::new("spec"));
        let indexed = new.at(&["completionMode"]).str() == "Indexed";
        let together = indexed && new.at(&["completions"]) == new.at(&["parallelism"]);
        if !together {
            errors.immutable(&at.field("completions"), new.at(&["completions"]), before.at(&["completions"]));
        }
        errors.immutable(&at.field("selector"), new.at(&["selector"]), before.at(&["selector"]));
        template(&mut errors, &at.field("template"), new, before);
        for field in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] {
            errors.immutable(&at.field(field), new.at(&[field]), before.at(&[field]));
        }
        errors.0
    }

    fn validate_status(&self, object: &Value, _old: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let (status, at) = (object.at(&["status"]), Path::new("status"));
        for field in ["active", "succeeded", "failed", "ready", "terminating"] {
            errors.non_negative(&at.field(field), status.at(&[field]));
        }
        errors.0
    }
}

/// A job without labels has those of its template.
fn label_as_template(job: &mut Value) {
    let labels = job.at(&["spec", "template"]).labels().clone();
    if job.labels().entries().is_empty() && !labels.entries().is_empty() {
        job.set(&["metadata", "labels"], labels);
    }
}

fn spec(errors: &mut Errors, job: &Value) {
    let (spec, at) = (job.at(&["spec"]), Path::new("spec"));
    generated_selector(errors, job);
    for field in ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"] {
        errors.non_negative(&at.field(field), spec.at(&[field]));
    }
    let mode = spec.at(&["completionMode"]);
    if !["NonIndexed", "Indexed"].contains(&mode.str()) {
        errors.not_supported(&at.field("completionMode"), mode, &["NonIndexed", "Indexed"]);
    }
    if mode.str() == "Indexed" && spec.at(&["completions"]).is_null() {
        errors.required(&at.field("completions"), "when completion mode is Indexed");
    }
    let (made, place) = (spec.at(&["template"]), at.field("template"));
    workloads::template_metadata(errors, &place, made);
    validate_spec(errors, made, &place.field("spec"), Use::Template);
    let restart = made.at(&["spec", "restartPolicy"]).str();
    let place = place.field("spec");
    if restart != "OnFailure" && restart != "Never" {
        errors.required(&place.field("restartPolicy"), "valid values: \"OnFailure\", \"Never\"");
    }
    if spec.get("podFailurePolicy").is_some() && restart != "Never" {
        let why = "only \"Never\" is supported when podFailurePolicy is specified";
        errors.invalid(&place.field("restartPolicy"), restart, why);
    }
    let selector = spec.at(&["selector"]);
    if selector.is_null() {
        errors.required(&at.field("selector"), "");
    } else {
        names::label_selector(errors, &at.field("selector"), selector);
    }
    if !Selector::of_object(selector).matches(made.labels()) {
        let place = at.field("template");
        let why = "`selector` does not match template `labels`";
        errors.invalid(&place.field("metadata").field("labels"), made.labels().clone(), why);
    }
}

/// The generated labels are on the template, and the selector is the generated one.
fn generated_selector(errors: &mut Errors, job: &Value) {
    if job.at(&["spec", "manualSelector"]).is_true() || job.at(&["spec", "selector"]).is_null() {
        return;
    }
    let labels = job.at(&["spec", "template"]).labels();
    let spec = Path::new("spec");
    let template = spec.field("template");
    let place = template.field("metadata");
    let place = place.field("labels");
    for (keys, value) in [(UIDS, job.uid()), (NAMES, job.name())] {
        for key in keys.iter().rev() {
            let why = format!("must be '{value}'");
            match labels.get(key) {
                None => errors.required(&place.key(key), &why),
                Some(found) if found.str() != value => errors.invalid(&place.key(key), labels.clone(), why),
                Some(_) => {}
            }
        }
    }
    let mut expected = object! {};
    for (keys, value) in [(UIDS, job.uid()), (NAMES, job.name())] {
        keys.iter().for_each(|key| expected.set(&[key], value));
    }
    let selector = job.at(&["spec", "selector"]);
    if !Selector::of_object(selector).matches(&expected) {
        errors.invalid(&spec.field("selector"), selector.clone(), "`selector` not auto-generated");
    }
}

/// The template stays, but for where the pods of a suspended job may run and what they ask for.
fn template(errors: &mut Errors, at: &Path<'_>, new: &Value, before: &Value) {
    let (mut made, old) = (new.at(&["template"]).clone(), before.at(&["template"]));
    if made == *old {
        return;
    }
    if before.at(&["suspend"]).is_true() {
        for path in DIRECTIVES {
            match old.at(path) {
                Value::Null => drop(made.remove(path)),
                value => made.set(path, value.clone()),
            }
        }
        for list in ["containers", "initContainers"] {
            if made.at(&["spec", list]).items().len() != old.at(&["spec", list]).items().len()
                || old.at(&["spec", list]).is_null()
            {
                continue;
            }
            let containers = made.make(&["spec", list]).as_list_mut();
            for (container, old) in containers.iter_mut().zip(old.at(&["spec", list]).items()) {
                container.set(&["resources"], old.at(&["resources"]).clone());
            }
        }
    }
    if made != *old {
        errors.invalid(at, new.at(&["template"]).clone(), "field is immutable");
    }
}
