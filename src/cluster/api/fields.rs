//! Field selectors: `status.phase=Running,spec.nodeName!=n1`.
//!
//! Source: apimachinery `pkg/fields`, `pkg/apis/*/v1/conversion.go`.

use super::registry::{Kind, KindInfo};
use super::status::Status;
use crate::value::Value;

/// A parsed field selector; all terms must hold.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug)]
struct Term {
    path: Vec<String>,
    equal: bool,
    value: String,
}

impl FieldSelector {
    /// Whether it selects everything.
    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether `object` is selected.
    pub(super) fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| (read(object, &term.path) == term.value) == term.equal)
    }

    /// Parses the `fieldSelector` parameter for a kind.
    ///
    /// # Errors
    /// 400 for a malformed selector or a field that the kind does not select by.
    pub(super) fn parse(text: &str, info: &KindInfo, custom: bool) -> Result<FieldSelector, Status> {
        let mut terms = Vec::new();
        for part in split(text) {
            if part.is_empty() {
                continue;
            }
            let Some((label, equal, value)) = term(&part) else {
                return Err(Status::bad_request(format!("invalid selector: '{text}'; can't understand '{part}'")));
            };
            if !supported(info, label) {
                return Err(Status::bad_request(unsupported(info, custom, label)));
            }
            let path = storage_path(info, label);
            terms.push(Term {
                path,
                equal,
                value: value.replace("\\,", ",").replace("\\=", "=").replace("\\\\", "\\"),
            });
        }
        Ok(FieldSelector { terms })
    }
}

/// Splits at commas that no backslash precedes.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut escaped) = (Vec::new(), String::new(), false);
    for letter in text.chars() {
        if letter == ',' && !escaped {
            parts.push(std::mem::take(&mut part));
            continue;
        }
        escaped = letter == '\\' && !escaped;
        part.push(letter);
    }
    parts.push(part);
    parts
}

/// Key, whether equal or not, and value of `a=b`, `a==b` or `a!=b`.
fn term(text: &str) -> Option<(&str, bool, &str)> {
    for (at, letter) in text.char_indices() {
        let rest = &text[at..];
        if let Some(value) = rest.strip_prefix("!=") {
            return Some((&text[..at], false, value));
        }
        if letter == '=' {
            return Some((&text[..at], true, rest.strip_prefix("==").unwrap_or(&rest[1..])));
        }
    }
    None
}

fn own_fields(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::POD => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        Kind::NODE => &["spec.unschedulable"],
        Kind::NAMESPACE => &["status.phase"],
        Kind::SECRET => &["type"],
        Kind::SERVICE => &["spec.clusterIP", "spec.type"],
        Kind::JOB => &["status.successful"],
        Kind::EVENT => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        _ => &[],
    }
}

/// `events.k8s.io/v1` selects by its own names.
const EVENT_ALIASES: [(&str, &str); 9] = [
    ("regarding.kind", "involvedObject.kind"),
    ("regarding.namespace", "involvedObject.namespace"),
    ("regarding.name", "involvedObject.name"),
    ("regarding.uid", "involvedObject.uid"),
    ("regarding.apiVersion", "involvedObject.apiVersion"),
    ("regarding.resourceVersion", "involvedObject.resourceVersion"),
    ("regarding.fieldPath", "involvedObject.fieldPath"),
    ("reportingController", "reportingComponent"),
    ("reason", "reason"),
];

fn supported(info: &KindInfo, label: &str) -> bool {
    if matches!(label, "metadata.name" | "metadata.namespace") {
        return true;
    }
    if info.group == "events.k8s.io" {
        return label == "type" || EVENT_ALIASES.iter().any(|(alias, _)| *alias == label);
    }
    own_fields(info.id).contains(&label)
}

fn storage_path(info: &KindInfo, label: &str) -> Vec<String> {
    let label = match EVENT_ALIASES.iter().find(|(alias, _)| info.group == "events.k8s.io" && *alias == label) {
        Some((_, stored)) => stored,
        None => label,
    };
    label.split('.').map(str::to_owned).collect()
}

fn unsupported(info: &KindInfo, custom: bool, label: &str) -> String {
    if custom || !own_fields(info.id).is_empty() {
        format!("field label not supported: {label}")
    } else {
        format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    }
}

/// The field as the selector compares it: text as it is, booleans as words, absent ones as their zero value.
fn read(object: &Value, path: &[String]) -> String {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let value = match path.as_slice() {
        ["source"] => match object.at(&["source", "component"]) {
            Value::Null => object.at(&["reportingComponent"]),
            component => component,
        },
        // The selector's name for the number of pods that succeeded.
        ["status", "successful"] => object.at(&["status", "succeeded"]),
        ["status", "podIPs"] => object.at(&["status", "podIP"]),
        path => object.at(path),
    };
    match value {
        Value::String(text) => text.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        _ if matches!(path.last(), Some(&("unschedulable" | "hostNetwork"))) => "false".to_owned(),
        _ if path.last() == Some(&"successful") => "0".to_owned(),
        _ => String::new(),
    }
}
