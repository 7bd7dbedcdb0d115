//! `v1` ConfigMap, Secret and ServiceAccount.
//!
//! Source: `pkg/apis/core/validation/validation.go`, `pkg/registry/core/{configmap,secret,serviceaccount}`.

use super::super::names;
use super::super::path::{Errors, Path};
use super::super::registry::{KindInfo, Strategy};
use super::super::schema::Schema;
use super::super::status::FieldError;
use super::words;
use crate::value::Value;

/// ConfigMap.
pub(super) fn config_map() -> KindInfo {
    super::kind("", "ConfigMap", "configmaps", &["cm"], ConfigMap)
}

/// Secret.
pub(super) fn secret() -> KindInfo {
    super::kind("", "Secret", "secrets", &[], Secret)
}

/// ServiceAccount.
pub(super) fn service_account() -> KindInfo {
    KindInfo {
        returns_deleted: true,
        subresources: words(&["token"]),
        ..super::kind("", "ServiceAccount", "serviceaccounts", &["sa"], ServiceAccount)
    }
}

/// The most that all values of a ConfigMap or Secret may take, in bytes.
const SIZE: usize = 1024 * 1024;

fn keys(errors: &mut Errors, object: &Value, maps: &[&str]) {
    let mut size = 0;
    for (index, map) in maps.iter().enumerate() {
        let at = Path::new(map);
        for (key, value) in object.at(&[map]).entries() {
            errors.each(&at.key(key), key, names::config_key(key));
            if maps[index + 1..].iter().any(|other| object.at(&[other]).get(key).is_some()) {
                errors.invalid(&at.key(key), key, "duplicate of key present in binaryData");
            }
            size += if *map == "data" && maps.len() > 1 { value.str().len() } else { value.str().len() / 4 * 3 };
        }
    }
    if size > SIZE {
        errors.too_long(&Path::new(if maps.len() > 1 { "" } else { "data" }), SIZE);
    }
}

/// Once immutable, the data stay as they are.
fn immutable(errors: &mut Errors, object: &Value, old: &Value, maps: &[&str]) {
    if !old.at(&["immutable"]).is_true() {
        return;
    }
    if !object.at(&["immutable"]).is_true() {
        errors.forbidden(&Path::new("immutable"), "field is immutable when `immutable` is set");
    }
    for map in maps {
        if object.at(&[map]) != old.at(&[map]) {
            errors.forbidden(&Path::new(map), "field is immutable when `immutable` is set");
        }
    }
}

#[derive(Debug)]
struct ConfigMap;

impl Strategy for ConfigMap {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("ConfigMap")
    }

    fn prepare_create(&self, _object: &mut Value) {}

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        keys(&mut errors, object, &["data", "binaryData"]);
        errors.0
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        immutable(&mut errors, object, old, &["data", "binaryData"]);
        errors.0.extend(self.validate(object));
        errors.0
    }
}

#[derive(Debug)]
struct Secret;

impl Strategy for Secret {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("Secret")
    }

    fn default(&self, object: &mut Value) {
        if object.at(&["type"]).str().is_empty() {
            object.set(&["type"], "Opaque");
        }
    }

    /// `stringData` is written into `data` and never shown.
    fn prepare_create(&self, object: &mut Value) {
        merge_strings(object);
    }

    fn prepare_update(&self, object: &mut Value, old: &Value) {
        merge_strings(object);
        if object.at(&["type"]).str().is_empty() {
            object.set(&["type"], old.at(&["type"]).clone());
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        keys(&mut errors, object, &["data"]);
        errors.0
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        errors.immutable(&Path::new("type"), object.at(&["type"]), old.at(&["type"]));
        immutable(&mut errors, object, old, &["data"]);
        errors.0.extend(self.validate(object));
        errors.0
    }
}

fn merge_strings(secret: &mut Value) {
    let Some(strings) = secret.remove(&["stringData"]) else { return };
    for (key, value) in strings.entries() {
        secret.set(&["data", key], base64(value.str().as_bytes()));
    }
}

/// Standard base64 with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[derive(Debug)]
struct ServiceAccount;

impl Strategy for ServiceAccount {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("ServiceAccount")
    }

    fn prepare_create(&self, _object: &mut Value) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;

    #[test]
    fn string_data_is_encoded() {
        for (text, encoded) in [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("hello?>", "aGVsbG8/Pg==")] {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
        let mut secret = object! { "stringData" => object! { "k" => "v" }, "data" => object! { "a" => "YQ==" } };
        Secret.prepare_create(&mut secret);
        Secret.default(&mut secret);
        assert_eq!(secret.to_json(), r#"{"data":{"a":"YQ==","k":"dg=="},"type":"Opaque"}"#);
    }

    #[test]
    fn immutable_data_stay() {
        let old = object! { "immutable" => true, "data" => object! { "a" => "1" } };
        let new = object! { "immutable" => true, "data" => object! { "a" => "2" } };
        let errors = ConfigMap.validate_update(&new, &old);
        assert_eq!(errors[0].to_string(), "data: Forbidden: field is immutable when `immutable` is set");
        assert!(ConfigMap.validate_update(&old, &old).is_empty());
    }
}
