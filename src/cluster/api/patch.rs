//! JSON patch, merge patch and strategic merge patch as pure functions.
//!
//! Source: apiserver `pkg/endpoints/handlers/patch.go`.

mod strategic;

use super::registry::KindInfo;
use super::schema::Schema;
use super::status::{FieldError, Status};
use crate::value::{Map, Value};

/// RFC 6902.
pub const JSON: &str = "application/json-patch+json";
/// RFC 7386.
pub const MERGE: &str = "application/merge-patch+json";
/// Lists merged by key; built-in kinds only.
pub const STRATEGIC: &str = "application/strategic-merge-patch+json";
/// Server-side apply, which is not done here.
pub const APPLY: &str = "application/apply-patch+yaml";

/// Operations that one JSON patch may have.
const OPERATIONS: usize = 10_000;

/// The object that `patch` makes of `current`. `content_type` chooses the kind of patch.
///
/// # Errors
/// 400 for a body that is no patch, 415 for an unknown type, 422 for a failed JSON patch, 500 for a list element
/// without its merge key, with the server's words.
pub fn apply(
    info: &KindInfo,
    version: &str,
    content_type: &str,
    current: &Value,
    patch: &[u8],
) -> Result<Value, Status> {
    let schema = info.strategy.schema(version);
    let content_type = content_type.split(';').next().unwrap_or("").trim();
    match content_type {
        JSON => json(current, patch),
        MERGE => Ok(merge(current, &read(patch)?)),
        STRATEGIC if matches!(schema, Schema::BuiltIn(_)) => strategic::apply(schema.root(), current, read(patch)?),
        STRATEGIC => Err(Status::new(
            415,
            "UnsupportedMediaType",
            format!(
                "the body of the request was in an unknown format - accepted media types include: {JSON}, {MERGE}, {APPLY}"
            ),
        )),
        _ => Err(Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type").with_details(Value::object())),
    }
}

/// The refusal of an object that a patch made and that does not decode: 422 on the field `patch`, with the decoder's
/// words.
pub fn undecodable(info: &KindInfo, patched: &Value, refusal: Status) -> Status {
    let Some((_, why)) = refusal.message.split_once(&format!("cannot be handled as a {}: ", info.kind)) else {
        return refusal;
    };
    let error = FieldError::invalid("patch", &Value::from(patched.to_json()), why);
    let status = Status::invalid("", "", "", &[error]);
    let causes = status.details.at(&["causes"]).clone();
    status.with_details(crate::object! { "causes" => causes })
}

fn read(patch: &[u8]) -> Result<Value, Status> {
    let bad = |why: String| Status::bad_request(format!("error decoding patch: {why}"));
    let value = Value::from_json(patch).map_err(|error| bad(error.to_string()))?;
    match &value {
        Value::Map(_) => Ok(value),
        Value::Null => Ok(Value::object()),
        Value::List(_) => Err(bad("json: cannot unmarshal array into Go value of type map[string]interface {}".into())),
        Value::String(_) => {
            Err(bad("json: cannot unmarshal string into Go value of type map[string]interface {}".into()))
        }
        _ => Err(bad("json: cannot unmarshal number into Go value of type map[string]interface {}".into())),
    }
}

fn json(current: &Value, patch: &[u8]) -> Result<Value, Status> {
    let operations: json_patch::Patch =
        serde_json::from_slice(patch).map_err(|error| Status::bad_request(error.to_string()))?;
    if operations.len() > OPERATIONS {
        let count = operations.len();
        let why = format!("The allowed maximum operations in a JSON patch is {OPERATIONS}, got {count}");
        return Err(Status::new(413, "RequestEntityTooLarge", format!("Request entity too large: {why}")));
    }
    let mut tree = serde_json::Value::from(current);
    json_patch::patch(&mut tree, &operations).map_err(|_| {
        Status::new(422, "Invalid", "the server rejected our request due to an error in our request")
            .with_details(Value::object())
    })?;
    Ok(Value::from(tree))
}

/// RFC 7386: objects are merged, null removes, everything else replaces.
pub fn merge(current: &Value, patch: &Value) -> Value {
    let Value::Map(patch) = patch else { return patch.clone() };
    let mut made = current.as_map().cloned().unwrap_or_else(Map::new);
    for (key, value) in patch {
        if value.is_null() {
            made.remove(key);
        } else {
            let merged = merge(made.get(key).unwrap_or(&Value::Null), value);
            made.insert(key, merged);
        }
    }
    Value::Map(made)
}

#[cfg(test)]
mod tests;
