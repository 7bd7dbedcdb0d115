//! JSON values and script values.

use rhai::{Array, Dynamic, Map};
use serde_json::Value;

/// The script value of a JSON value; null becomes `()`.
pub fn to_script(value: &Value) -> Dynamic {
    match value {
        Value::Null => Dynamic::UNIT,
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(float)) => float.into(),
            (None, None) => Dynamic::UNIT,
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(to_script).collect::<Array>().into(),
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| (key.as_str().into(), to_script(value))).collect::<Map>().into()
        }
    }
}

/// The JSON value of a script value; types that JSON does not have become their text.
pub fn to_json(value: &Dynamic) -> Value {
    let value = value.flatten_clone();
    if value.is_unit() {
        return Value::Null;
    }
    if let Ok(truth) = value.as_bool() {
        return truth.into();
    }
    if let Ok(whole) = value.as_int() {
        return whole.into();
    }
    if let Ok(float) = value.as_float() {
        return float.into();
    }
    if let Some(text) = value.read_lock::<rhai::ImmutableString>() {
        return text.as_str().into();
    }
    if let Some(items) = value.read_lock::<Array>() {
        return items.iter().map(to_json).collect();
    }
    if let Some(map) = value.read_lock::<Map>() {
        return map.iter().map(|(key, value)| (key.to_string(), to_json(value))).collect();
    }
    value.to_string().into()
}

/// The value at the end of `path`; null when any step is missing.
pub fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().try_fold(value, |value, key| value.get(key)).unwrap_or(&Value::Null)
}

/// The string at the end of `path`, or the empty one.
pub fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).as_str().unwrap_or("")
}

/// The list at the end of `path`, or the empty one.
pub fn items<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path).as_array().map_or(&[], Vec::as_slice)
}
