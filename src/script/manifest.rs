//! Manifests: YAML (several documents) or JSON text, or a map, read as kubectl reads them.

use serde_json::{Value, json};

use super::fault::Fault;
use crate::error::Kind;

/// The objects of a manifest text. `kind: List` is opened.
///
/// # Errors
/// When the text is no YAML, or a document is no object with `apiVersion` and `kind`.
pub fn parse(text: &str) -> Result<Vec<Value>, Fault> {
    let options = serde_saphyr::options! {
        legacy_octal_numbers: true,
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::Error,
        with_snippet: false,
    };
    let documents: Vec<Value> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(|error| not_yaml(&error.to_string()))?;
    let mut objects = Vec::new();
    for document in documents {
        objects.extend(open(document)?);
    }
    if objects.is_empty() {
        return Err(Fault::script("no objects passed to apply"));
    }
    Ok(objects)
}

fn not_yaml(error: &str) -> Fault {
    let line = error.lines().next().unwrap_or(error).trim_end_matches('.');
    Fault::new(Kind::Script, format!("the manifest is not valid YAML: {line}"))
        .hint("YAML is indented by spaces; a manifest starts with apiVersion: and kind:")
}

/// The objects of one document.
///
/// # Errors
/// As [`parse`].
pub fn open(document: Value) -> Result<Vec<Value>, Fault> {
    let kind = match &document {
        Value::Null => return Ok(Vec::new()),
        Value::Object(fields) => fields.get("kind").and_then(Value::as_str).unwrap_or(""),
        other => {
            return Err(Fault::script(format!(
                "a manifest is an object with apiVersion and kind; got {}",
                shape(other)
            )));
        }
    };
    if kind.is_empty() {
        return Err(
            Fault::script("Object 'Kind' is missing in the manifest").hint("add `kind: Pod` and `apiVersion: v1`")
        );
    }
    if document.get("apiVersion").and_then(Value::as_str).unwrap_or("").is_empty() {
        return Err(Fault::script("Object 'apiVersion' is missing in the manifest")
            .hint(format!("add `apiVersion:`; a {kind} is served as {}", served_as(kind))));
    }
    if kind == "List" {
        let items = document.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut opened = Vec::new();
        for item in items {
            opened.extend(open(item)?);
        }
        return Ok(opened);
    }
    Ok(vec![document])
}

fn served_as(kind: &str) -> String {
    super::kinds::KindRef::built_in(kind).map_or_else(|| "its group/version".into(), |known| known.api_version())
}

fn shape(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        _ => "a plain value",
    }
}

/// The pod that `submit` makes of a map's fields.
pub fn pod(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_is_read_as_kubectl_reads_it() {
        let text = "# a comment\napiVersion: v1\nkind: A\nspec: {a: y, b: on, c: \"y\", d: 010, e: 0x10, f: ~, g: 1e3, h: No, i: 2026-01-01, j: 1_000}\n---\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: B}\n- {apiVersion: v1, kind: C}\n";
        let read = parse(text).unwrap();
        let kinds: Vec<&str> = read.iter().map(|object| object["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["A", "B", "C"]);
        let wanted = json!({"a": true, "b": true, "c": "y", "d": 8, "e": 16, "f": null, "g": 1000.0, "h": false,
            "i": "2026-01-01", "j": 1000});
        assert_eq!(read[0]["spec"], wanted);
        assert_eq!(parse("{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}").unwrap().len(), 1);
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        for (text, wanted) in [
            ("a: [", "not valid YAML"),
            ("apiVersion: v1\nkind: A\nkind: B\n", "not valid YAML"),
            ("- 1\n", "got a list"),
            ("metadata: {name: a}\n", "'Kind' is missing"),
            ("kind: Pod\n", "'apiVersion' is missing"),
            ("", "no objects"),
        ] {
            let message = parse(text).unwrap_err().message;
            assert!(message.contains(wanted), "{text}: {message}");
        }
    }
}
