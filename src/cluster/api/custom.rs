//! Custom resources: what a CustomResourceDefinition makes of the server.
//!
//! Objects are kept in the storage version and shown in the one that is asked for; there is no conversion beyond
//! `apiVersion`. CEL rules (`x-kubernetes-validations`) are not evaluated.
//!
//! Source: apiextensions-apiserver `pkg/apiserver/customresource_handler.go`, `pkg/registry/customresource/strategy.go`.

mod definition;
mod structural;
mod validate;

use std::sync::Arc;

use super::path::{Errors, Path};
use super::registry::{Kind, KindInfo, Strategy};
use super::schema::Schema;
use super::status::FieldError;
use crate::value::{Text, Value};

pub use definition::info as definition_kind;
pub use structural::Structural;

/// The kind that a definition makes the server serve.
///
/// # Errors
/// What is wrong with the definition.
pub fn kind_of(definition: &Value) -> Result<KindInfo, Vec<FieldError>> {
    let errors = definition::validate(definition);
    if !errors.is_empty() {
        return Err(errors);
    }
    let spec = definition.at(&["spec"]);
    let names = spec.at(&["names"]);
    let served = served(spec.at(&["versions"]).items());
    let strategy = Custom { versions: served.iter().map(|version| Version::of(version)).collect() };
    let mut subresources = Vec::new();
    for (name, path) in [("scale", "scale"), ("status", "status")] {
        if served.iter().any(|version| version.at(&["subresources"]).get(path).is_some()) {
            subresources.push(Text::from(name));
        }
    }
    let words = |field| names.at(&[field]).items().iter().map(Value::text).collect();
    Ok(KindInfo {
        id: Kind(0),
        group: spec.at(&["group"]).text(),
        versions: served.iter().map(|version| version.at(&["name"]).text()).collect(),
        kind: names.at(&["kind"]).text(),
        plural: names.at(&["plural"]).text(),
        singular: names.at(&["singular"]).text(),
        short_names: words("shortNames"),
        categories: words("categories"),
        namespaced: spec.at(&["scope"]).str() == "Namespaced",
        generation: true,
        returns_deleted: false,
        create_on_update: false,
        subresources,
        strategy: Arc::new(strategy),
    })
}

/// Served versions: the one that objects are kept in first, then newest first.
fn served(versions: &[Value]) -> Vec<&Value> {
    let mut served: Vec<&Value> = versions.iter().filter(|version| version.at(&["served"]).is_true()).collect();
    served.sort_by_key(|version| {
        (!version.at(&["storage"]).is_true(), std::cmp::Reverse(rank(version.at(&["name"]).str())))
    });
    served
}

/// How Kubernetes ranks versions: stable before beta before alpha, then by number (apimachinery `pkg/version/helpers.go`).
fn rank(version: &str) -> (u8, u32, u32) {
    let Some(rest) = version.strip_prefix('v') else { return (0, 0, 0) };
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let Ok(major) = rest[..end].parse() else { return (0, 0, 0) };
    let (stage, minor) = match &rest[end..] {
        "" => (3, "0"),
        tail if tail.starts_with("beta") => (2, &tail[4..]),
        tail if tail.starts_with("alpha") => (1, &tail[5..]),
        _ => return (0, 0, 0),
    };
    minor.parse().map_or((0, 0, 0), |minor| (stage, major, minor))
}

/// One served version of a custom kind.
#[derive(Debug)]
struct Version {
    name: Text,
    schema: Arc<Structural>,
    status: bool,
    replicas: Option<Vec<Text>>,
}

impl Version {
    fn of(version: &Value) -> Version {
        let path = version.at(&["subresources", "scale", "specReplicasPath"]).as_str();
        Version {
            name: version.at(&["name"]).text(),
            schema: Arc::new(Structural::of(version.at(&["schema", "openAPIV3Schema"]))),
            status: version.at(&["subresources"]).get("status").is_some(),
            replicas: path.map(|path| path.split('.').filter(|step| !step.is_empty()).map(Text::from).collect()),
        }
    }
}

/// The rules of a custom kind.
#[derive(Debug)]
struct Custom {
    versions: Vec<Version>,
}

impl Custom {
    /// The version that the object says it is, else the one that objects are kept in.
    fn version(&self, object: &Value) -> Option<&Version> {
        let sent = object.at(&["apiVersion"]).str().rsplit('/').next().unwrap_or("");
        self.versions.iter().find(|version| version.name == sent).or(self.versions.first())
    }

    fn has_status(&self) -> bool {
        self.versions.first().is_some_and(|version| version.status)
    }
}

impl Strategy for Custom {
    fn schema(&self, version: &str) -> Schema {
        let found = self.versions.iter().find(|known| known.name == version).or(self.versions.first());
        found.map_or(Schema::Any, |version| Schema::Custom(version.schema.clone()))
    }

    fn default(&self, object: &mut Value) {
        if let Some(version) = self.version(object) {
            version.schema.fill(object);
        }
    }

    fn prepare_create(&self, object: &mut Value) {
        if self.has_status() {
            object.remove(&["status"]);
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let Some(version) = self.version(object) else { return errors.0 };
        validate::object(&mut errors, &version.schema, object);
        if let Some(path) = &version.replicas {
            let steps: Vec<&str> = path.iter().map(Text::as_str).collect();
            let replicas = object.at(&steps);
            if replicas.int() < 0 {
                let place = format!(".{}", steps.join("."));
                errors.invalid(&Path::new(&place), replicas.clone(), "should be a non-negative integer");
            }
        }
        errors.0
    }

    fn validate_status(&self, object: &Value, _old: &Value) -> Vec<FieldError> {
        self.validate(object)
    }

    /// Everything but metadata, and but the status where it is a subresource.
    fn bumps_generation(&self, object: &Value, old: &Value) -> bool {
        let counts = |key: &Text| key != "metadata" && (key != "status" || !self.has_status());
        let of = |object: &Value| object.entries().iter().filter(|(key, _)| counts(key)).cloned().collect::<Vec<_>>();
        of(object) != of(old)
    }
}

#[cfg(test)]
mod tests;
