//! `spec.volumes`.
//!
//! Source: `ValidateVolumes` in `pkg/apis/core/validation/validation.go`.

use std::collections::BTreeMap;

use crate::api::names;
use crate::api::path::{Errors, Path};
use crate::api::quantity::Quantity;
use crate::value::Value;

/// Checks the volumes and returns their names, each with whether it can be used as a block device.
pub(super) fn volumes<'a>(errors: &mut Errors, at: &Path<'_>, volumes: &'a [Value]) -> BTreeMap<&'a str, bool> {
    let mut seen = BTreeMap::new();
    for (index, volume) in volumes.iter().enumerate() {
        let at = at.index(index);
        source(errors, &at, volume);
        let name = volume.at(&["name"]).str();
        if name.is_empty() {
            errors.required(&at.field("name"), "");
            continue;
        }
        let complaints = names::dns_label(name);
        let right = complaints.is_empty();
        errors.each(&at.field("name"), name, complaints);
        let block = volume.get("persistentVolumeClaim").is_some() || volume.get("ephemeral").is_some();
        if seen.contains_key(name) {
            errors.duplicate(&at.field("name"), name);
        } else if right {
            seen.insert(name, block);
        }
    }
    seen
}

fn source(errors: &mut Errors, at: &Path<'_>, volume: &Value) {
    let mut found = 0;
    for (kind, source) in volume.entries().iter().filter(|(kind, _)| kind.as_str() != "name") {
        found += 1;
        let at = at.field(kind);
        if found > 1 {
            errors.forbidden(&at, "may not specify more than 1 volume type");
            continue;
        }
        match kind.as_str() {
            "emptyDir" if Quantity::parse(source.at(&["sizeLimit"]).str()).is_ok_and(Quantity::is_negative) => {
                errors.forbidden(&at.field("sizeLimit"), "SizeLimit field must be a valid resource quantity");
            }
            "hostPath" => host_path(errors, &at, source),
            "configMap" => named(errors, &at, source, "name"),
            "secret" => named(errors, &at, source, "secretName"),
            "persistentVolumeClaim" if source.at(&["claimName"]).str().is_empty() => {
                errors.required(&at.field("claimName"), "");
            }
            "projected" => projected(errors, &at, source),
            "downwardAPI" => mode(errors, &at, source),
            "csi" if source.at(&["driver"]).str().is_empty() => errors.required(&at.field("driver"), ""),
            "nfs" => {
                for field in ["server", "path"] {
                    if source.at(&[field]).str().is_empty() {
                        errors.required(&at.field(field), "");
                    }
                }
            }
            _ => {}
        }
    }
    if found == 0 {
        errors.required(at, "must specify a volume type");
    }
}

fn named(errors: &mut Errors, at: &Path<'_>, source: &Value, field: &str) {
    if source.at(&[field]).str().is_empty() {
        errors.required(&at.field(field), "");
    }
    mode(errors, at, source);
    for (index, item) in source.at(&["items"]).items().iter().enumerate() {
        let list = at.field("items");
        let at = list.index(index);
        if item.at(&["key"]).str().is_empty() {
            errors.required(&at.field("key"), "");
        }
        match item.at(&["path"]).str() {
            "" => errors.required(&at.field("path"), ""),
            path => local_path(errors, &at.field("path"), path),
        }
    }
}

fn mode(errors: &mut Errors, at: &Path<'_>, source: &Value) {
    let mode = source.at(&["defaultMode"]);
    if !mode.is_null() && !(0..=0o777).contains(&mode.int()) {
        let why = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.invalid(&at.field("defaultMode"), mode.int(), why);
    }
}

fn projected(errors: &mut Errors, at: &Path<'_>, source: &Value) {
    mode(errors, at, source);
    for (index, one) in source.at(&["sources"]).items().iter().enumerate() {
        let list = at.field("sources");
        let at = list.index(index);
        for (kind, inner) in one.entries() {
            match kind.as_str() {
                "configMap" | "secret" if inner.at(&["name"]).str().is_empty() => {
                    errors.required(&at.field(kind).field("name"), "");
                }
                "serviceAccountToken" if inner.at(&["path"]).str().is_empty() => {
                    errors.required(&at.field(kind).field("path"), "");
                }
                _ => {}
            }
        }
        if one.entries().len() > 1 {
            errors.forbidden(&at, "may not specify more than 1 volume type");
        }
    }
}

fn host_path(errors: &mut Errors, at: &Path<'_>, source: &Value) {
    let path = source.at(&["path"]).str();
    if path.is_empty() {
        errors.required(&at.field("path"), "");
        return;
    }
    if path.split('/').any(|part| part == "..") {
        errors.invalid(&at.field("path"), path, "must not contain '..'");
    }
    let known = ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    let kind = source.at(&["type"]);
    if !kind.is_null() && !known.contains(&kind.str()) {
        errors.not_supported(&at.field("type"), kind, &known);
    }
}

/// A path inside something: relative, and never upwards.
pub(super) fn local_path(errors: &mut Errors, at: &Path<'_>, path: &str) {
    if path.starts_with('/') {
        errors.invalid(at, path, "must be a relative path");
    }
    if path.split('/').any(|part| part == "..") {
        errors.invalid(at, path, "must not contain '..'");
    }
}
