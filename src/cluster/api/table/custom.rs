//! The columns and rows of custom kinds, as their definition declares them.
//!
//! Source: apiextensions-apiserver `pkg/registry/customresource/tableconvertor`.

use super::{age, column, described};
use crate::time::VirtualTime;
use crate::value::Value;

/// The printer columns of one version of a CustomResourceDefinition.
pub(super) fn printers(definition: &Value, version: &str) -> Vec<Value> {
    let versions = definition.at(&["spec", "versions"]).items();
    let served = versions.iter().find(|one| one.at(&["name"]).str() == version);
    served.map_or_else(Vec::new, |served| served.at(&["additionalPrinterColumns"]).items().to_vec())
}

/// Column definitions: the name, then what is declared, or the age when nothing is.
pub(super) fn columns(printers: &[Value]) -> Value {
    let mut columns = vec![column("Name", "string", "name", 0, described("$name"))];
    if printers.is_empty() {
        columns.push(column("Age", "date", "", 0, described("$age")));
    }
    for printer in printers {
        let text = |field| printer.at(&[field]).str();
        let description = match text("description") {
            "" if !printer.at(&["jsonPath"]).str().is_empty() => {
                format!("Custom resource definition column (in JSONPath format): {}", text("jsonPath"))
            }
            description => description.to_owned(),
        };
        let priority = printer.at(&["priority"]).int();
        columns.push(column(text("name"), text("type"), text("format"), priority, &description));
    }
    columns.into()
}

/// The cells of a custom object.
pub(super) fn cells(printers: &[Value], object: &Value, now: VirtualTime) -> Vec<Value> {
    let mut cells = vec![Value::from(object.name())];
    if printers.is_empty() {
        cells.push(age::since(now, object.at(&["metadata", "creationTimestamp"]).str()).into());
    }
    cells.extend(printers.iter().map(|printer| {
        let found = find(object, printer.at(&["jsonPath"]).str());
        let Some(value) = found.filter(|value| !value.is_null()) else { return Value::Null };
        match (printer.at(&["type"]).str(), value) {
            ("string", Value::String(text)) => text.into(),
            ("string", other) => other.to_json().into(),
            ("integer", Value::Int(number)) => Value::Int(*number),
            ("integer", Value::Float(number)) => Value::Int(*number as i64),
            ("number", number @ (Value::Int(_) | Value::Float(_))) => number.clone(),
            ("boolean", truth @ Value::Bool(_)) => truth.clone(),
            ("date", Value::String(text)) if VirtualTime::parse(text).is_none() => "<invalid>".into(),
            ("date", Value::String(text)) => age::since(now, text).into(),
            _ => Value::Null,
        }
    }));
    cells
}

/// The first value at a simple JSONPath: `.a.b`, `['a']`, `[0]`, `[*]`, `[?(@.type=="x")]`.
fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let path = path.trim();
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        // A backslash escapes a dot inside a key.
        let mut key = rest[..end].to_owned();
        let mut after = &rest[end..];
        while let (Some(start), Some(more)) = (key.strip_suffix('\\'), after.strip_prefix('.')) {
            let end = more.find(['.', '[']).unwrap_or(more.len());
            key = format!("{start}.{}", &more[..end]);
            after = &more[end..];
        }
        let next = if key.is_empty() { Some(value) } else { value.get(&key) };
        return find(next?, after);
    }
    let Some(rest) = path.strip_prefix('[') else { return path.is_empty().then_some(value) };
    let end = rest.find(']')?;
    let (inside, after) = (&rest[..end], &rest[end + 1..]);
    if let Some(condition) = inside.strip_prefix("?(@").and_then(|inside| inside.strip_suffix(')')) {
        let (field, wanted) = condition.split_once("==")?;
        let wanted = wanted.trim().trim_matches(['"', '\'']);
        let holds = |item: &&Value| match find(item, field.trim()) {
            Some(Value::String(text)) => text.as_str() == wanted,
            Some(other) => other.to_json() == wanted,
            None => false,
        };
        return find(value.items().iter().find(holds)?, after);
    }
    let key = inside.trim_matches(['"', '\'']);
    let next = match key {
        "*" => value.items().first(),
        _ if key.len() < inside.len() => value.get(key),
        _ => value.items().get(key.parse::<usize>().ok()?),
    };
    find(next?, after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{list, object};

    #[test]
    fn paths() {
        let object = object! {
            "a" => object! { "b.c" => 1, "d" => list![object! { "t" => "x", "s" => "no" }, object! { "t" => "y", "s" => "yes" }] },
        };
        for (path, found) in [
            (".a.d[1].s", Some("yes")),
            (".a.d[?(@.t==\"y\")].s", Some("yes")),
            (".a.d[?(@.t=='x')].s", Some("no")),
            (".a['d'][0].t", Some("x")),
            (".a.d[*].t", Some("x")),
            (".a.d[?(@.t=='z')].s", None),
            (".a.x", None),
        ] {
            assert_eq!(find(&object, path).map(Value::str), found, "{path}");
        }
        assert_eq!(find(&object, ".a.b\\.c").map(Value::int), Some(1));
    }
}
