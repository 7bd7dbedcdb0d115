//! Values against a structural schema.
//!
//! Source of the words: `k8s.io/kube-openapi` `pkg/validation/{validate,errors}`; their mapping to field errors:
//! apiextensions-apiserver `pkg/apiserver/validation/validation.go`.

use super::structural::{Structural, number};
use crate::api::path::{Errors, Path};
use crate::api::status::{FieldError, FieldErrorKind};
use crate::time::VirtualTime;
use crate::value::Value;

/// A whole object.
pub(super) fn object(errors: &mut Errors, schema: &Structural, object: &Value) {
    schema_errors(errors, schema, None, object);
    for (name, value) in object.entries() {
        if let Some(member) = schema.member(name).filter(|_| name != "metadata") {
            lists(errors, member, &Path::new(name), value);
        }
    }
}

fn below<'a>(at: Option<&'a Path<'a>>, name: &'a str) -> Path<'a> {
    at.map_or_else(|| Path::new(name), |at| at.field(name))
}

fn text(at: Option<&Path<'_>>) -> String {
    at.map(ToString::to_string).unwrap_or_default()
}

fn invalid(errors: &mut Errors, at: Option<&Path<'_>>, value: &Value, why: &str) {
    let path = text(at);
    errors.0.push(FieldError::invalid(path.as_str(), value, format!("{path} in body {why}")));
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Int(_) => "integer",
        Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    }
}

fn schema_errors(errors: &mut Errors, schema: &Structural, at: Option<&Path<'_>>, value: &Value) {
    if value.is_null() && schema.nullable {
        return;
    }
    if !has_type(schema, value) {
        let wanted = if schema.int_or_string { "integer,string" } else { schema.kind.as_str() };
        let (path, found) = (text(at), type_name(value));
        let detail = format!("{path} in body must be of type {wanted}: \"{found}\"");
        let kind = FieldErrorKind::TypeInvalid(format!("\"{found}\""));
        errors.0.push(FieldError { field: path, kind, detail });
        if value.is_null() {
            return;
        }
    }
    composition(errors, schema, at, value);
    match value {
        Value::String(text) => string(errors, schema, at, text, value),
        Value::Int(_) | Value::Float(_) => numbers(errors, schema, at, value),
        Value::List(items) => list(errors, schema, at, items),
        _ => {}
    }
    let allowed = &schema.limits.values;
    if !allowed.is_empty() && !allowed.contains(value) {
        let texts: Vec<String> =
            allowed.iter().map(|one| one.as_str().map_or_else(|| one.to_json(), str::to_owned)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        errors.0.push(FieldError::not_supported(text(at), value, &texts));
    }
    if let Value::Map(map) = value {
        members(errors, schema, at, map.len(), value);
    }
}

fn has_type(schema: &Structural, value: &Value) -> bool {
    if schema.int_or_string {
        return matches!(value, Value::Int(_) | Value::String(_));
    }
    match (schema.kind.as_str(), value) {
        ("", _) => true,
        ("integer", Value::Float(number)) => number.fract() == 0.0,
        ("number", Value::Int(_)) => true,
        (kind, value) => kind == type_name(value),
    }
}

fn string(errors: &mut Errors, schema: &Structural, at: Option<&Path<'_>>, content: &str, value: &Value) {
    let limits = &schema.limits;
    let length = content.chars().count() as i64;
    if let Some(most) = limits.length.1.filter(|most| length > *most) {
        let bytes = if most == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {most} {bytes}");
        errors.0.push(FieldError { field: text(at), kind: FieldErrorKind::TooLong, detail });
    }
    if let Some(least) = limits.length.0.filter(|least| length < *least) {
        invalid(errors, at, value, &format!("should be at least {least} chars long"));
    }
    if let Some((pattern, Some(regex))) = &limits.pattern
        && !regex.is_match(content)
    {
        invalid(errors, at, value, &format!("should match '{pattern}'"));
    }
    if limits.format == "date-time" && VirtualTime::parse(content).is_none() {
        let path = text(at);
        let detail = format!("{path} in body must be of type date-time: {}", value.to_json());
        errors.0.push(FieldError { field: path, kind: FieldErrorKind::TypeInvalid(value.to_json()), detail });
    }
}

fn numbers(errors: &mut Errors, schema: &Structural, at: Option<&Path<'_>>, value: &Value) {
    let Some(amount) = number(value) else { return };
    let limits = &schema.limits;
    if let Some(factor) = limits.multiple.filter(|factor| (amount / factor).fract() != 0.0) {
        invalid(errors, at, value, &format!("should be a multiple of {factor}"));
    }
    match limits.maximum {
        Some((most, true)) if amount >= most => invalid(errors, at, value, &format!("should be less than {most}")),
        Some((most, false)) if amount > most => {
            invalid(errors, at, value, &format!("should be less than or equal to {most}"));
        }
        _ => {}
    }
    match limits.minimum {
        Some((least, true)) if amount <= least => {
            invalid(errors, at, value, &format!("should be greater than {least}"));
        }
        Some((least, false)) if amount < least => {
            invalid(errors, at, value, &format!("should be greater than or equal to {least}"));
        }
        _ => {}
    }
}

fn too_many(errors: &mut Errors, at: Option<&Path<'_>>, count: usize, most: i64) {
    let items = if most == 1 { "item" } else { "items" };
    let detail = format!("must have at most {most} {items}");
    errors.0.push(FieldError { field: text(at), kind: FieldErrorKind::TooMany(count), detail });
}

fn list(errors: &mut Errors, schema: &Structural, at: Option<&Path<'_>>, items: &[Value]) {
    let root = Path::new("");
    let place = at.unwrap_or(&root);
    if let Some(inner) = &schema.items {
        for (index, item) in items.iter().enumerate() {
            schema_errors(errors, inner, Some(&place.index(index)), item);
        }
    }
    let whole: Value = items.iter().cloned().collect();
    if let Some(least) = schema.limits.count.0.filter(|least| (items.len() as i64) < *least) {
        let count = Value::Int(items.len() as i64);
        invalid(errors, at, &count, &format!("should have at least {least} items"));
    }
    if let Some(most) = schema.limits.count.1.filter(|most| items.len() as i64 > *most) {
        too_many(errors, at, items.len(), most);
    }
    if schema.limits.unique && (1..items.len()).any(|index| items[..index].contains(&items[index])) {
        invalid(errors, at, &whole, "shouldn't contain duplicates");
    }
}

fn members(errors: &mut Errors, schema: &Structural, at: Option<&Path<'_>>, count: usize, value: &Value) {
    let limits = &schema.limits;
    if let Some(least) = limits.members.0.filter(|least| (count as i64) < *least) {
        let count = Value::Int(count as i64);
        invalid(errors, at, &count, &format!("should have at least {least} properties"));
    }
    if let Some(most) = limits.members.1.filter(|most| count as i64 > *most) {
        too_many(errors, at, count, most);
    }
    for name in limits.required.iter().filter(|name| value.get(name).is_none()) {
        errors.required(&below(at, name), "");
    }
    for (name, member) in value.entries() {
        // The metadata of the object itself was checked before.
        if at.is_none() && name == "metadata" {
            continue;
        }
        if let Some(inner) = schema.member(name) {
            schema_errors(errors, inner, Some(&below(at, name)), member);
        }
    }
}

/// `allOf`, `anyOf`, `oneOf` and `not`. Their own complaints have no field upstream.
fn composition(errors: &mut Errors, schema: &Structural, at: Option<&Path<'_>>, value: &Value) {
    let try_one = |schema: &Structural| {
        let mut tried = Errors::default();
        schema_errors(&mut tried, schema, at, value);
        tried.0
    };
    let path = text(at);
    let mut complain = |why: &str| {
        let detail = format!("\"{path}\" must {why}");
        errors.0.push(FieldError::invalid("<nil>", &Value::from(""), detail));
    };
    let limits = &schema.limits;
    let mut found = Vec::new();
    if !limits.any_of.is_empty() {
        let tried: Vec<Vec<FieldError>> = limits.any_of.iter().map(try_one).collect();
        if tried.iter().all(|tried| !tried.is_empty()) {
            complain("validate at least one schema (anyOf)");
            found.extend(tried.into_iter().min_by_key(Vec::len).into_iter().flatten());
        }
    }
    if !limits.one_of.is_empty() {
        let right = limits.one_of.iter().filter(|one| try_one(one).is_empty()).count();
        match right {
            1 => {}
            0 => complain("validate one and only one schema (oneOf). Found none valid"),
            _ => complain(&format!("validate one and only one schema (oneOf). Found {right} valid alternatives")),
        }
    }
    let all: Vec<FieldError> = limits.all_of.iter().flat_map(try_one).collect();
    if !all.is_empty() {
        complain("validate all the schemas (allOf)");
        found.extend(all);
    }
    if limits.not.as_deref().is_some_and(|not| try_one(not).is_empty()) {
        complain("not validate the schema (not)");
    }
    errors.0.extend(found);
}

/// Lists of type `set` and `map` hold nothing twice (`pkg/apiserver/schema/listtype`).
fn lists(errors: &mut Errors, schema: &Structural, at: &Path<'_>, value: &Value) {
    match value {
        Value::Map(map) => {
            for (name, member) in map {
                if let Some(inner) = schema.member(name) {
                    lists(errors, inner, &at.field(name), member);
                }
            }
        }
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let key = key_of(schema, item);
                if key
                    .as_ref()
                    .is_some_and(|key| items[..index].iter().any(|one| key_of(schema, one).as_ref() == Some(key)))
                {
                    errors.duplicate(&at.index(index), key.unwrap_or_default());
                }
                if let Some(inner) = schema.items() {
                    lists(errors, inner, &at.index(index), item);
                }
            }
        }
        _ => {}
    }
}

/// What tells an item from the others.
fn key_of(schema: &Structural, item: &Value) -> Option<Value> {
    match schema.list_type.as_str() {
        "set" => Some(item.clone()),
        "map" => {
            let keys = schema.list_keys.iter();
            Some(Value::Map(keys.filter_map(|key| Some((key.clone(), item.get(key)?.clone()))).collect()))
        }
        _ => None,
    }
}
