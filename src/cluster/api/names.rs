//! Names, labels and the other metadata that every object has.
//!
//! Source: apimachinery `pkg/api/validate/content`, `pkg/util/validation`, `pkg/api/validation/objectmeta.go`.

use super::path::{Errors, Path};
use super::registry::KindInfo;
use super::status::FieldError;
use crate::value::{Text, Value};

/// How the objects of a kind may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameRule {
    /// Labels joined by dots.
    #[default]
    Subdomain,
    /// One label.
    Label,
    /// One label that starts with a letter.
    Dns1035,
    /// A path segment: anything but `.`, `..`, `/` and `%`.
    Segment,
}

impl NameRule {
    /// What is wrong with `name`. A `prefix` may end in a dash, since a suffix follows.
    pub fn check(self, name: &str, prefix: bool) -> Vec<String> {
        let masked;
        let name = if prefix && name.len() > 1 && name.ends_with('-') {
            masked = format!("{}a", &name[..name.len() - 2]);
            &masked
        } else {
            name
        };
        match self {
            NameRule::Subdomain => dns_subdomain(name),
            NameRule::Label => dns_label(name),
            NameRule::Dns1035 => dns_1035_label(name),
            NameRule::Segment => segment(name),
        }
    }
}

/// What is wrong with the metadata of a new object.
pub fn validate_metadata(info: &KindInfo, object: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let (metadata, at) = (object.at(&["metadata"]), Path::new("metadata"));
    let rule = info.strategy.name_rule();
    let generate = metadata.at(&["generateName"]).str();
    if !generate.is_empty() {
        errors.each(&at.field("generateName"), generate, rule.check(generate, true));
    }
    let name = metadata.at(&["name"]).str();
    if name.is_empty() {
        errors.required(&at.field("name"), "name or generateName is required");
    } else {
        errors.each(&at.field("name"), name, rule.check(name, false));
    }
    let namespace = metadata.at(&["namespace"]).str();
    match (info.namespaced, namespace.is_empty()) {
        (true, true) => errors.required(&at.field("namespace"), ""),
        (true, false) => errors.each(&at.field("namespace"), namespace, dns_label(namespace)),
        (false, false) => errors.forbidden(&at.field("namespace"), "not allowed on this type"),
        (false, true) => {}
    }
    errors.non_negative(&at.field("generation"), metadata.at(&["generation"]));
    labels(&mut errors, &at.field("labels"), metadata.at(&["labels"]));
    annotations(&mut errors, &at.field("annotations"), metadata.at(&["annotations"]));
    owners(&mut errors, &at.field("ownerReferences"), metadata.at(&["ownerReferences"]));
    finalizers(&mut errors, &at.field("finalizers"), metadata.at(&["finalizers"]));
    errors.0
}

/// What is wrong with a change of an object's metadata; new finalizers of a deleted object are the caller's matter.
pub fn validate_metadata_update(object: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let (metadata, before, at) = (object.at(&["metadata"]), old.at(&["metadata"]), Path::new("metadata"));
    if metadata.as_map().zip(before.as_map()).is_some_and(|(one, two)| one.same(two)) {
        return errors.0;
    }
    if metadata.at(&["generation"]).int() < before.at(&["generation"]).int() {
        errors.invalid(&at.field("generation"), metadata.at(&["generation"]).int(), "must not be decremented");
    }
    for name in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        errors.immutable(&at.field(name), metadata.at(&[name]), before.at(&[name]));
    }
    labels(&mut errors, &at.field("labels"), metadata.at(&["labels"]));
    annotations(&mut errors, &at.field("annotations"), metadata.at(&["annotations"]));
    owners(&mut errors, &at.field("ownerReferences"), metadata.at(&["ownerReferences"]));
    errors.0
}

/// Labels: qualified keys, values of at most 63 letters. Every complaint is about the map, not the key.
pub(super) fn labels(errors: &mut Errors, at: &Path<'_>, labels: &Value) {
    for (key, value) in labels.entries() {
        errors.each(at, key, qualified_name(key));
        errors.each(at, value.str(), label_value(value.str()));
    }
}

/// At most 256 KiB of annotations with qualified keys.
pub(super) fn annotations(errors: &mut Errors, at: &Path<'_>, annotations: &Value) {
    let mut size = 0;
    for (key, value) in annotations.entries() {
        size += key.len() + value.str().len();
        let complaints = if key.bytes().any(|byte| byte.is_ascii_uppercase()) {
            qualified_name(&key.to_lowercase())
        } else {
            qualified_name(key)
        };
        errors.each(at, key, complaints);
    }
    if size > 256 * 1024 {
        errors.too_long(at, 256 * 1024);
    }
}

fn owners(errors: &mut Errors, at: &Path<'_>, owners: &Value) {
    let mut controller: Option<String> = None;
    for owner in owners.items() {
        let (api_version, kind) = (owner.at(&["apiVersion"]).str(), owner.at(&["kind"]).str());
        if api_version.is_empty() || api_version.ends_with('/') {
            errors.invalid(&at.field("apiVersion"), api_version, "version must not be empty");
        }
        for name in ["kind", "name", "uid"] {
            if owner.at(&[name]).str().is_empty() {
                errors.invalid(&at.field(name), "", "must not be empty");
            }
        }
        if api_version == "v1" && kind == "Event" {
            errors.invalid(at, owner.clone(), "/v1, Kind=Event is disallowed from being an owner");
        }
        if owner.at(&["controller"]).is_true() {
            let this = format!("{kind}/{}", owner.at(&["name"]).str());
            match &controller {
                Some(first) => {
                    let why = "Only one reference can have Controller set to true. Found \"true\" in references for";
                    errors.invalid(at, owners.clone(), format!("{why} {first} and {this}"));
                }
                None => controller = Some(this),
            }
        }
    }
}

fn finalizers(errors: &mut Errors, at: &Path<'_>, finalizers: &Value) {
    let has = |name: &str| finalizers.items().iter().any(|one| one.str() == name);
    for finalizer in finalizers.items() {
        errors.each(at, finalizer.str(), qualified_name(finalizer.str()));
    }
    if has("orphan") && has("foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.invalid(at, finalizers.clone(), why);
    }
}

/// A label selector object.
pub(super) fn label_selector(errors: &mut Errors, at: &Path<'_>, selector: &Value) {
    labels(errors, &at.field("matchLabels"), selector.at(&["matchLabels"]));
    for (index, expression) in selector.at(&["matchExpressions"]).items().iter().enumerate() {
        let (list, key) = (at.field("matchExpressions"), expression.at(&["key"]).str());
        let at = list.index(index);
        let values = expression.at(&["values"]).items();
        match expression.at(&["operator"]).str() {
            "In" | "NotIn" if values.is_empty() => {
                errors.required(&at.field("values"), "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "In" | "NotIn" => {}
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                errors.forbidden(
                    &at.field("values"),
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                );
            }
            "Exists" | "DoesNotExist" => {}
            other => errors.invalid(&at.field("operator"), other, "not a valid selector operator"),
        }
        errors.each(&at.field("key"), key, qualified_name(key));
        for (index, value) in values.iter().enumerate() {
            errors.each(&at.field("values").index(index), value.str(), label_value(value.str()));
        }
    }
}

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// `msg (e.g. 'a', or 'b', regex used for validation is 'pattern')`, spaced as upstream spaces it.
pub(super) fn pattern(message: &str, pattern: &str, examples: &[&str]) -> String {
    let quoted: Vec<String> = examples.iter().map(|one| format!("'{one}', ")).collect();
    format!("{message} (e.g. {}regex used for validation is '{pattern}')", quoted.join(" or "))
}

fn too_long(most: usize) -> String {
    format!("must be no more than {most} characters")
}

/// `must be between a and b, inclusive`.
pub(super) fn between(least: i64, most: i64) -> String {
    format!("must be between {least} and {most}, inclusive")
}

fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            alphanumeric(*first) && alphanumeric(*last) && bytes.iter().all(|byte| alphanumeric(*byte) || *byte == b'-')
        }
        _ => false,
    }
}

fn is_key(text: &str) -> bool {
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            first.is_ascii_alphanumeric()
                && last.is_ascii_alphanumeric()
                && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        }
        _ => false,
    }
}

/// RFC 1123 label.
pub(super) fn dns_label(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if text.len() > 63 {
        complaints.push(too_long(63));
    }
    if !is_label(text) {
        complaints.push(if text.split('.').all(is_label) {
            "must not contain dots".to_owned()
        } else {
            let message = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                           start and end with an alphanumeric character";
            pattern(message, LABEL, &["my-name", "123-abc"])
        });
    }
    complaints
}

/// RFC 1123 subdomain.
pub(super) fn dns_subdomain(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if text.len() > 253 {
        complaints.push(too_long(253));
    }
    if !text.split('.').all(is_label) {
        let message = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                       must start and end with an alphanumeric character";
        complaints.push(pattern(message, SUBDOMAIN, &["example.com"]));
    }
    complaints
}

/// RFC 1035 label.
pub(super) fn dns_1035_label(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if text.len() > 63 {
        complaints.push(too_long(63));
    }
    if !is_label(text) || text.starts_with(|first: char| first.is_ascii_digit()) {
        let message = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                       alphabetic character, and end with an alphanumeric character";
        complaints.push(pattern(message, "[a-z]([-a-z0-9]*[a-z0-9])?", &["my-name", "abc-123"]));
    }
    complaints
}

/// `[prefix/]name`, the form of label keys, resource names and finalizers.
pub(super) fn qualified_name(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let message = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                   character";
    let shape = || pattern(message, KEY, &["MyName", "my.name", "123-abc"]);
    let name = match text.split_once('/') {
        None => text,
        Some((_, rest)) if rest.contains('/') => {
            let why = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {} {why}", shape())];
        }
        Some(("", name)) => {
            complaints.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            complaints.extend(dns_subdomain(prefix).into_iter().map(|why| format!("prefix part {why}")));
            name
        }
    };
    if name.is_empty() {
        complaints.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        complaints.push(format!("name part {}", too_long(63)));
    }
    if !is_key(name) {
        complaints.push(format!("name part {}", shape()));
    }
    complaints
}

/// A label's value.
pub(super) fn label_value(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if text.len() > 63 {
        complaints.push(too_long(63));
    }
    if !text.is_empty() && !is_key(text) {
        let message = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                       must start and end with an alphanumeric character";
        complaints.push(pattern(message, &format!("({KEY})?"), &["MyValue", "my_value", "12345"]));
    }
    complaints
}

/// The key of a ConfigMap or Secret.
pub(super) fn config_key(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if text.len() > 253 {
        complaints.push(too_long(253));
    }
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
        let message = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        complaints.push(pattern(message, "[-._a-zA-Z0-9]+", &["key.name", "KEY_NAME", "key-name"]));
    }
    match text {
        "." => complaints.push("must not be '.'".to_owned()),
        ".." => complaints.push("must not be '..'".to_owned()),
        _ if text.starts_with("..") => complaints.push("must not start with '..'".to_owned()),
        _ => {}
    }
    complaints
}

/// The name of a port.
pub(super) fn port_name(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if text.len() > 15 {
        complaints.push(too_long(15));
    }
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if text.is_empty() || !text.bytes().all(fits) {
        complaints.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        complaints.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        complaints.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        complaints.push("must not begin or end with a hyphen".to_owned());
    }
    complaints
}

fn segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    ['/', '%'].into_iter().filter(|sign| text.contains(*sign)).map(|sign| format!("may not contain '{sign}'")).collect()
}

/// Joins a group and a name as messages do: `pods` or `deployments.apps`.
pub fn qualified(name: &str, group: &str) -> Text {
    if group.is_empty() { Text::from(name) } else { Text::from(format!("{name}.{group}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_the_server_takes_them() {
        for (name, right) in [("a", true), ("a.b-c", true), ("A", false), ("a..b", false), ("-a", false), ("", false)] {
            assert_eq!(dns_subdomain(name).is_empty(), right, "{name}");
        }
        assert_eq!(dns_label("a.b"), ["must not contain dots"]);
        assert_eq!(dns_label(&"a".repeat(64)), ["must be no more than 63 characters"]);
        assert!(NameRule::Subdomain.check("gen-", true).is_empty());
        assert!(!NameRule::Subdomain.check("gen-", false).is_empty());
        assert!(!NameRule::Dns1035.check("1a", false).is_empty());
    }

    #[test]
    fn label_keys_say_what_is_wrong() {
        assert_eq!(
            qualified_name("bad key"),
            ["name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
              alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
              '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"]
        );
        assert!(qualified_name("nvidia.com/gpu").is_empty());
        assert_eq!(qualified_name("/x"), ["prefix part must be non-empty"]);
        assert_eq!(qualified_name("a/b/c").len(), 1);
        assert_eq!(qualified_name("a/").len(), 2);
        assert!(label_value("").is_empty() && label_value("A_b.c").is_empty() && !label_value("a b").is_empty());
    }
}
