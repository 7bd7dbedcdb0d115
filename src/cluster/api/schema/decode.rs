//! Brings a JSON tree into the form that Go's decoder and encoder would make of it.
//!
//! A subtree that is already in that form is not touched: it stays shared with the caller's copy.
//! Source of the words: `sigs.k8s.io/json`, apimachinery `pkg/runtime/serializer/json`.

use super::types::{Field, Keep, Shape, Type};
use crate::api::quantity::{Quantity, QuantityError};
use crate::time::VirtualTime;
use crate::value::{Map, Text, Value};

/// Where the decoder is: a chain on the stack, so that nothing is built until an error needs it.
#[derive(Clone, Copy)]
struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
    owner: &'static str,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Index(usize),
}

impl<'a> Place<'a> {
    fn field(&'a self, name: &'a str, owner: &'static str) -> Place<'a> {
        Place { parent: Some(self), step: Step::Field(name), owner }
    }

    fn item(&'a self, at: usize) -> Place<'a> {
        Place { parent: Some(self), step: Step::Index(at), owner: self.owner }
    }

    /// `spec.containers[0].name`, or without indices.
    fn path(&self, indices: bool) -> String {
        let mut path = self.parent.map(|parent| parent.path(indices)).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Field(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            Step::Index(at) if indices => path.push_str(&format!("[{at}]")),
            Step::Index(_) => {}
        }
        path
    }
}

/// A decoder that collects unknown fields.
#[derive(Default)]
pub(super) struct Decoder {
    /// `unknown field "spec.foo"`, in the order they were met.
    pub unknown: Vec<String>,
}

/// What becomes of a decoded value: `None` when it is right as it is.
type Made = Result<Option<Value>, String>;

impl Decoder {
    /// Decodes a whole object of this shape.
    pub fn object(&mut self, shape: &Shape, value: &Value) -> Made {
        let root = Place { parent: None, step: Step::Root, owner: "" };
        self.value(shape, value, &root)
    }

    fn value(&mut self, shape: &Shape, value: &Value, place: &Place<'_>) -> Made {
        match (shape, value) {
            (Shape::Any, _) => Ok(None),
            (_, Value::Null) => Ok(Some(shape.zero())),
            (Shape::Struct(id), Value::Map(map)) => self.structure(id.get(), map, place),
            (Shape::List(inner), Value::List(items)) => self.list(inner, items, place),
            (Shape::Map(inner), Value::Map(map)) => self.map(inner, map, place),
            (Shape::Or(id), Value::Map(map)) => self.structure(id.get(), map, place),
            (Shape::Or(_), Value::List(items)) => self.list(shape, items, place),
            (Shape::Or(_) | Shape::IntOrString, Value::Bool(_) | Value::String(_) | Value::Int(_)) => Ok(None),
            (Shape::String(_), Value::String(_))
            | (Shape::Bool, Value::Bool(_))
            | (Shape::Int64, Value::Int(_))
            | (Shape::Float, Value::Int(_) | Value::Float(_)) => Ok(None),
            (Shape::Int32, Value::Int(number)) if i32::try_from(*number).is_ok() => Ok(None),
            (Shape::Quantity, Value::String(text)) => quantity(text),
            (Shape::Quantity, Value::Int(number)) => {
                Ok(Some(quantity(&number.to_string())?.unwrap_or_else(|| Value::from(number.to_string()))))
            }
            (Shape::Quantity, Value::Float(number)) => {
                Ok(Some(quantity(&number.to_string())?.unwrap_or_else(|| Value::from(number.to_string()))))
            }
            (Shape::Quantity, _) => Err(QuantityError::Format.to_string()),
            (Shape::Time, Value::String(text)) => time(text, false),
            (Shape::MicroTime, Value::String(text)) => time(text, true),
            (Shape::Duration, Value::String(_)) => Ok(None),
            (Shape::Bytes, Value::String(text)) => base64(text),
            _ => Err(mismatch(shape, value, place)),
        }
    }

    fn structure(&mut self, of: &'static Type, map: &Map, place: &Place<'_>) -> Made {
        let mut made: Option<Vec<(Text, Value)>> = None;
        for (at, (key, member)) in map.iter().enumerate() {
            let so_far = || map.iter().take(at).cloned().collect::<Vec<_>>();
            let Some(field) = of.field(key) else {
                self.unknown.push(format!("unknown field \"{}\"", place.field(key, of.name).path(true)));
                made.get_or_insert_with(so_far);
                continue;
            };
            match self.member(field, member, &place.field(key, of.name))? {
                Member::Same => {
                    if let Some(made) = &mut made {
                        made.push((key.clone(), member.clone()));
                    }
                }
                Member::Other(value) => made.get_or_insert_with(so_far).push((key.clone(), value)),
                Member::Gone => {
                    made.get_or_insert_with(so_far);
                }
            }
        }
        let absent = of.always().filter(|field| !map.contains_key(&field.name));
        let mut absent = absent.map(|field| (field.name.clone(), field.shape.zero())).peekable();
        if absent.peek().is_some() {
            made.get_or_insert_with(|| map.iter().cloned().collect()).extend(absent);
        }
        Ok(made.map(|entries| Value::Map(entries.into_iter().collect())))
    }

    fn member(&mut self, field: &Field, member: &Value, place: &Place<'_>) -> Result<Member, String> {
        if member.is_null() && field.keep != Keep::Always {
            return Ok(Member::Gone);
        }
        if member.is_null() && matches!(field.shape, Shape::Time | Shape::MicroTime | Shape::List(_) | Shape::Map(_)) {
            return Ok(Member::Same);
        }
        let made = self.value(&field.shape, member, place)?;
        if field.keep == Keep::NonZero && is_zero(&field.shape, made.as_ref().unwrap_or(member)) {
            return Ok(Member::Gone);
        }
        Ok(made.map_or(Member::Same, Member::Other))
    }

    fn list(&mut self, inner: &Shape, items: &[Value], place: &Place<'_>) -> Made {
        let mut made: Option<Vec<Value>> = None;
        for (at, item) in items.iter().enumerate() {
            match self.value(inner, item, &place.item(at))? {
                Some(value) => made.get_or_insert_with(|| items[..at].to_vec()).push(value),
                None => {
                    if let Some(made) = &mut made {
                        made.push(item.clone());
                    }
                }
            }
        }
        Ok(made.map(Value::from))
    }

    fn map(&mut self, inner: &Shape, map: &Map, place: &Place<'_>) -> Made {
        let mut made: Option<Map> = None;
        for (key, member) in map {
            if let Some(value) = self.value(inner, member, &place.field(key, place.owner))? {
                made.get_or_insert_with(|| map.clone()).insert(key, value);
            }
        }
        Ok(made.map(Value::Map))
    }
}

enum Member {
    Same,
    Other(Value),
    Gone,
}

fn is_zero(shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (Shape::IntOrString | Shape::Quantity | Shape::Any | Shape::Or(_), _) => value.is_null(),
        (_, Value::Null | Value::Bool(false) | Value::Int(0)) => true,
        (_, Value::Float(number)) => *number == 0.0,
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::List(items)) => items.is_empty(),
        (_, Value::Map(map)) => map.is_empty(),
        _ => false,
    }
}

/// The decoder's sentence for a value of the wrong type.
fn mismatch(shape: &Shape, value: &Value, place: &Place<'_>) -> String {
    let found = match value {
        Value::Bool(_) => "bool".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::List(_) => "array".to_owned(),
        Value::Map(_) => "object".to_owned(),
        Value::Int(number) if *shape == Shape::Int32 => format!("number {number}"),
        Value::Float(number) if matches!(shape, Shape::Int32 | Shape::Int64) => format!("number {number}"),
        _ => "number".to_owned(),
    };
    let path = place.path(false);
    if path.is_empty() {
        return format!("json: cannot unmarshal {found} into Go value of type {}", go_type(shape));
    }
    format!("json: cannot unmarshal {found} into Go struct field {}.{path} of type {}", place.owner, go_type(shape))
}

fn go_type(shape: &Shape) -> String {
    match shape {
        Shape::String(name) => (*name).to_owned(),
        Shape::Bool => "bool".to_owned(),
        Shape::Int32 => "int32".to_owned(),
        Shape::Int64 => "int64".to_owned(),
        Shape::Float => "float64".to_owned(),
        Shape::Time | Shape::MicroTime | Shape::Duration => "string".to_owned(),
        Shape::IntOrString => "intstr.IntOrString".to_owned(),
        Shape::Quantity => "resource.Quantity".to_owned(),
        Shape::Bytes => "[]uint8".to_owned(),
        Shape::Any => "interface {}".to_owned(),
        Shape::Struct(id) | Shape::Or(id) => format!("v1.{}", id.get().name),
        Shape::List(inner) => format!("[]{}", go_type(inner)),
        Shape::Map(inner) if **inner == Shape::Quantity => "v1.ResourceList".to_owned(),
        Shape::Map(inner) => format!("map[string]{}", go_type(inner)),
    }
}

fn quantity(text: &str) -> Made {
    // What most quantities look like is canonical already.
    if text.len() <= 3 && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        return Ok(None);
    }
    let canonical = Quantity::parse(text).map_err(|error| error.to_string())?.to_string();
    Ok((canonical != text).then(|| Value::from(canonical)))
}

fn time(text: &str, micro: bool) -> Made {
    let parsed = VirtualTime::parse(text).ok_or_else(|| {
        let layout = if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
        format!("parsing time {text:?} as {layout:?}: cannot parse {text:?} as \"2006\"")
    })?;
    if !micro && text.len() == 20 && text.ends_with('Z') && text.as_bytes()[10] == b'T' {
        return Ok(None);
    }
    let canonical = if micro { parsed.rfc3339_micro() } else { parsed.rfc3339() };
    Ok((canonical != text).then(|| Value::from(canonical)))
}

fn base64(text: &str) -> Made {
    let body = text.trim_end_matches('=');
    let bad = body.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/'));
    match bad {
        Some(at) => Err(format!("illegal base64 data at input byte {at}")),
        None if !text.len().is_multiple_of(4) || text.len() - body.len() > 2 => {
            Err(format!("illegal base64 data at input byte {}", text.len() / 4 * 4))
        }
        None => Ok(None),
    }
}
