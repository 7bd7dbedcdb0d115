//! `apiextensions.k8s.io/v1` CustomResourceDefinition.
//!
//! Names are accepted and the kind is established at once.
//!
//! Source: apiextensions-apiserver `pkg/apis/apiextensions/{v1/defaults.go,validation}`,
//! `pkg/registry/customresourcedefinition/strategy.go`, `pkg/apiserver/schema/validation.go`.

use std::collections::BTreeSet;

use regex_lite::Regex;

use crate::api::kinds::{kind, words};
use crate::api::names;
use crate::api::path::{Errors, Path};
use crate::api::registry::{KindInfo, Strategy};
use crate::api::schema::Schema;
use crate::api::status::FieldError;
use crate::value::Value;
use crate::{list, object};

/// The kind.
pub fn info() -> KindInfo {
    KindInfo {
        namespaced: false,
        generation: true,
        categories: words(&["api-extensions"]),
        subresources: words(&["status"]),
        ..kind(
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            &["crd", "crds"],
            Definition,
        )
    }
}

#[derive(Debug)]
struct Definition;

impl Strategy for Definition {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("CustomResourceDefinition")
    }

    fn default(&self, object: &mut Value) {
        let kind = object.at(&["spec", "names", "kind"]).text();
        let names = object.make(&["spec", "names"]).as_map_mut();
        if names.get("singular").is_none_or(|singular| singular.str().is_empty()) {
            names.insert("singular", kind.to_lowercase());
        }
        if names.get("listKind").is_none_or(|list| list.str().is_empty()) && !kind.is_empty() {
            names.insert("listKind", format!("{kind}List"));
        }
        if object.at(&["spec", "conversion"]).is_null() {
            object.set(&["spec", "conversion"], object! { "strategy" => "None" });
        }
    }

    fn prepare_create(&self, object: &mut Value) {
        let since = object.at(&["metadata", "creationTimestamp"]).clone();
        let condition = |kind: &str, reason: &str, message: &str| {
            object! {
                "type" => kind, "status" => "True", "lastTransitionTime" => since.clone(), "reason" => reason,
                "message" => message,
            }
        };
        let conditions = list![
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ];
        let status = object! {
            "acceptedNames" => object.at(&["spec", "names"]).clone(), "conditions" => conditions,
            "storedVersions" => storage(object).into_iter().collect::<Value>(),
        };
        object.set(&["status"], status);
    }

    fn prepare_update(&self, object: &mut Value, _old: &Value) {
        let names = object.at(&["spec", "names"]).clone();
        object.set(&["status", "acceptedNames"], names);
        if let Some(version) = storage(object)
            && !object.at(&["status", "storedVersions"]).items().contains(&version)
        {
            object.make(&["status", "storedVersions"]).as_list_mut().push(version);
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        validate(object)
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Errors(validate(object));
        let at = Path::new("spec");
        for path in [&["scope"][..], &["names", "kind"], &["group"], &["names", "plural"]] {
            let full: Vec<&str> = ["spec"].iter().chain(path).copied().collect();
            errors.immutable(&at.field(&path.join(".")), object.at(&full), old.at(&full));
        }
        errors.0
    }
}

/// The version that objects are kept in.
fn storage(definition: &Value) -> Option<Value> {
    let versions = definition.at(&["spec", "versions"]).items();
    versions.iter().find(|version| version.at(&["storage"]).is_true()).map(|version| version.at(&["name"]).clone())
}

/// What is wrong with a definition, metadata apart.
pub(super) fn validate(definition: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let (spec, at) = (definition.at(&["spec"]), Path::new("spec"));
    let group = spec.at(&["group"]).str();
    let expected = format!("{}.{group}", spec.at(&["names", "plural"]).str());
    if definition.name() != expected {
        let why = "must be spec.names.plural+\".\"+spec.group";
        errors.invalid(&Path::new("metadata").field("name"), definition.name(), why);
    }
    let complaints = names::dns_subdomain(group);
    if group.is_empty() {
        errors.required(&at.field("group"), "");
    } else if !complaints.is_empty() {
        errors.invalid(&at.field("group"), group, complaints.join(","));
    } else if !group.contains('.') {
        errors.invalid(&at.field("group"), group, "should be a domain with at least one dot");
    }
    errors.one_of(&at.field("scope"), spec.at(&["scope"]), &["Cluster", "Namespaced"]);
    versions(&mut errors, &at.field("versions"), spec.at(&["versions"]));
    declared_names(&mut errors, &at.field("names"), spec.at(&["names"]));
    if spec.at(&["conversion", "strategy"]).str() != "None" {
        let strategy = spec.at(&["conversion", "strategy"]);
        let at = at.field("conversion");
        errors.one_of(&at.field("strategy"), strategy, &["None", "Webhook"]);
    }
    errors.0
}

fn versions(errors: &mut Errors, at: &Path<'_>, versions: &Value) {
    let items = versions.items();
    for (index, version) in items.iter().enumerate() {
        if version.at(&["schema", "openAPIV3Schema"]).is_null() {
            errors.required(&at.index(index).field("schema").field("openAPIV3Schema"), "");
        }
    }
    let mut seen = BTreeSet::new();
    for (index, version) in items.iter().enumerate() {
        let at = at.index(index);
        let name = version.at(&["name"]).str();
        let complaints = names::dns_1035_label(name);
        if !complaints.is_empty() {
            errors.invalid(&at.field("name"), name, complaints.join(","));
        }
        seen.insert(name);
        let schema = version.at(&["schema", "openAPIV3Schema"]);
        if !schema.is_null() {
            let mut found = Errors::default();
            let place = at.field("schema");
            structure(&mut found, &place.field("openAPIV3Schema"), schema, Level::Root);
            found.0.sort_by_cached_key(ToString::to_string);
            errors.0.extend(found.0);
        }
        for (index, column) in version.at(&["additionalPrinterColumns"]).items().iter().enumerate() {
            printer_column(errors, &at.field("additionalPrinterColumns").index(index), column);
        }
    }
    if seen.len() != items.len() {
        errors.invalid(at, versions.clone(), "must contain unique version names");
    }
    if items.iter().filter(|version| version.at(&["storage"]).is_true()).count() != 1 {
        errors.invalid(at, versions.clone(), "must have exactly one version marked as storage version");
    }
}

fn printer_column(errors: &mut Errors, at: &Path<'_>, column: &Value) {
    if column.at(&["name"]).str().is_empty() {
        errors.required(&at.field("name"), "");
    }
    let kind = column.at(&["type"]).str();
    let why = "must be one of boolean,date,integer,number,string";
    match kind {
        "" => errors.required(&at.field("type"), why),
        "boolean" | "date" | "integer" | "number" | "string" => {}
        _ => errors.invalid(&at.field("type"), kind, why),
    }
    if column.at(&["jsonPath"]).str().is_empty() {
        errors.required(&at.field("JSONPath"), "");
    }
}

fn declared_names(errors: &mut Errors, at: &Path<'_>, declared: &Value) {
    for field in ["plural", "singular", "kind", "listKind"] {
        let name = declared.at(&[field]).str();
        if name.is_empty() {
            errors.required(&at.field(field), "");
        }
    }
    for field in ["plural", "singular", "kind", "listKind"] {
        let name = declared.at(&[field]).str();
        let complaints = names::dns_1035_label(&name.to_lowercase());
        if !name.is_empty() && !complaints.is_empty() {
            // Upper case is allowed in kinds alone; the words speak of lower case all the same.
            let kind = field == "kind" || field == "listKind";
            let why = if kind { "may have mixed case, but should otherwise match: " } else { "" };
            errors.invalid(&at.field(field), name, format!("{why}{}", complaints.join(",")));
        }
    }
    for field in ["shortNames", "categories"] {
        for (index, name) in declared.at(&[field]).items().iter().enumerate() {
            let complaints = names::dns_1035_label(name.str());
            if !complaints.is_empty() {
                errors.invalid(&at.field(field).index(index), name.str(), complaints.join(","));
            }
        }
    }
    let (kind, list) = (declared.at(&["kind"]), declared.at(&["listKind"]));
    if !kind.str().is_empty() && kind == list {
        errors.invalid(&at.field("listKind"), list.clone(), "kind and listKind may not be the same");
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Field,
    Item,
}

/// Whether a schema says what every value is: a type everywhere, and sound patterns.
fn structure(errors: &mut Errors, at: &Path<'_>, schema: &Value, level: Level) {
    let kind = schema.at(&["type"]).str();
    let flag = |name| schema.at(&[name]).is_true();
    if kind == "array" && schema.at(&["items"]).is_null() {
        errors.required(&at.field("items"), "must be specified");
    }
    if !schema.at(&["items"]).is_null() {
        structure(errors, &at.field("items"), schema.at(&["items"]), Level::Item);
    }
    for (name, inner) in schema.at(&["properties"]).entries() {
        structure(errors, &at.field("properties").key(name), inner, Level::Field);
    }
    let additional = schema.at(&["additionalProperties"]);
    if !additional.is_null() && level == Level::Root {
        errors.forbidden(&at.field("additionalProperties"), "must not be used at the root");
    }
    if matches!(additional, Value::Map(_)) {
        structure(errors, &at.field("additionalProperties"), additional, Level::Field);
    }
    let embedded = flag("x-kubernetes-embedded-resource");
    let place = at.field("type");
    if embedded && kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        if kind.is_empty() {
            errors.required(&place, why);
        } else {
            errors.invalid(&place, kind, why);
        }
    } else if kind.is_empty() && !flag("x-kubernetes-int-or-string") && !flag("x-kubernetes-preserve-unknown-fields") {
        errors.required(
            &place,
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        );
    } else if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.invalid(&place, kind, "must be object at the root");
    }
    let known = ["string", "number", "integer", "boolean", "array", "object"];
    if !kind.is_empty() && !known.contains(&kind) {
        let mut sorted = known;
        sorted.sort_unstable();
        errors.not_supported(&place, schema.at(&["type"]), &sorted);
    }
    if let Some(pattern) = schema.at(&["pattern"]).as_str()
        && let Err(why) = Regex::new(pattern)
    {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        errors.invalid(&at.field("pattern"), pattern, why);
    }
}
