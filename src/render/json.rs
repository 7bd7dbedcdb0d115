//! JSON as `kubectl get -o json` prints it: four spaces, sorted keys, HTML characters escaped, no managed fields.

use serde::Serialize;
use serde_json::{Map, Value};

/// The value as indented JSON without a final line end.
pub fn to_json(value: &Value) -> String {
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
    if value.serialize(&mut serializer).is_err() {
        return String::new(); // writing to memory cannot fail, and a `Value` has string keys
    }
    escape_html(&String::from_utf8_lossy(&text))
}

/// The value on one line, as it appears in JSON lines.
pub fn to_line(value: &Value) -> String {
    value.to_string()
}

/// Go's encoder keeps JSON safe inside HTML; these characters occur in strings only.
fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// A copy of a Kubernetes object, or of a list, without `metadata.managedFields`, which kubectl hides unless asked.
#[must_use]
pub fn without_managed_fields(value: &Value) -> Value {
    let mut copy = value.clone();
    hide(&mut copy);
    if let Some(Value::Array(items)) = copy.get_mut("items") {
        items.iter_mut().for_each(hide);
    }
    copy
}

fn hide(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
}

/// Several objects as the `List` that kubectl makes of them.
#[must_use]
pub fn list_of(items: Vec<Value>) -> Value {
    let mut list = Map::new();
    list.insert("apiVersion".into(), "v1".into());
    list.insert("items".into(), Value::Array(items));
    list.insert("kind".into(), "List".into());
    list.insert("metadata".into(), serde_json::json!({"resourceVersion": ""}));
    Value::Object(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn four_spaces_sorted_keys_and_empty_containers() {
        let text = to_json(&json!({"b": [1, {"x": null}], "a": {}, "c": []}));
        assert_eq!(
            text,
            "{\n    \"a\": {},\n    \"b\": [\n        1,\n        {\n            \"x\": null\n        }\n    ],\n    \"c\": []\n}"
        );
    }

    #[test]
    fn html_characters_are_escaped() {
        assert_eq!(to_json(&json!("a<b>&\u{2028}")), r#""a\u003cb\u003e\u0026\u2028""#);
    }

    #[test]
    fn managed_fields_are_hidden_in_objects_and_lists() {
        let object = json!({"metadata": {"name": "a", "managedFields": []}});
        assert_eq!(without_managed_fields(&object), json!({"metadata": {"name": "a"}}));
        let list = list_of(vec![object]);
        assert_eq!(without_managed_fields(&list)["items"][0], json!({"metadata": {"name": "a"}}));
    }
}
