//! Schemas: which fields a kind has, and what decoding makes of them.
//!
//! One data set serves decoding, field validation, the keys of strategic merge and server-side apply, and explanations.

mod decode;
pub mod types;

use std::sync::Arc;

use super::custom::Structural;
use super::registry::KindInfo;
use super::status::Status;
use crate::value::Value;
use decode::Decoder;
use types::{Field, Order, Shape, TypeId};

/// What an object is decoded with.
#[derive(Clone, Debug)]
pub enum Schema {
    /// Takes anything.
    Any,
    /// A built-in type.
    BuiltIn(TypeId),
    /// The schema of a CustomResourceDefinition's version.
    Custom(Arc<Structural>),
}

/// What happens to unknown and duplicate fields (`fieldValidation`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped with a warning.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

/// Brings an object that a client sent into the form the server works with: types checked, quantities canonical, nulls
/// and unknown fields dropped, fields that are always written filled with their zero values. Returns the warnings
/// beside it.
///
/// # Errors
/// 400 with the decoder's words.
pub fn decode(
    info: &KindInfo,
    version: &str,
    mut object: Value,
    mode: FieldValidation,
) -> Result<(Value, Vec<String>), Status> {
    let schema = info.strategy.schema(version);
    check_kind(info, version, &object, &schema)?;
    if object.get("kind").is_none() || object.get("apiVersion").is_none() {
        object.set(&["kind"], &info.kind);
        object.set(&["apiVersion"], group_version(&info.group, version));
    }
    let cannot = |why: &str| {
        Status::bad_request(format!("{0} in version \"{version}\" cannot be handled as a {0}: {why}", info.kind))
    };
    let (object, unknown) = match schema {
        Schema::Any => (object, Vec::new()),
        Schema::BuiltIn(id) => decode_type(id, object).map_err(|why| cannot(&why))?,
        Schema::Custom(structural) => structural.decode(object).map_err(|why| cannot(&why))?,
    };
    match mode {
        FieldValidation::Strict if !unknown.is_empty() => {
            Err(cannot(&format!("strict decoding error: {}", unknown.join(", "))))
        }
        FieldValidation::Ignore => Ok((object, Vec::new())),
        _ => Ok((object, unknown)),
    }
}

/// Decodes a value of a built-in type that is no served kind (`Binding`, `Scale`, `DeleteOptions`, …). Beside it:
/// `unknown field "x"` for each.
///
/// # Errors
/// The decoder's sentence.
pub fn decode_type(id: TypeId, object: Value) -> Result<(Value, Vec<String>), String> {
    let mut decoder = Decoder::default();
    let made = decoder.object(&Shape::Struct(id), &object)?;
    Ok((made.unwrap_or(object), decoder.unknown))
}

/// `v1` or `apps/v1`.
pub fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// Whether the body names the kind it was sent for; a built-in kind may be left out.
fn check_kind(info: &KindInfo, version: &str, object: &Value, schema: &Schema) -> Result<(), Status> {
    let (kind, api_version) = (object.at(&["kind"]).str(), object.at(&["apiVersion"]).str());
    let expected = group_version(&info.group, version);
    if matches!(schema, Schema::Custom(_)) && kind.is_empty() {
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{}'",
            info.kind,
            object.to_json()
        )));
    }
    if (kind.is_empty() || info.kind == kind) && (api_version.is_empty() || api_version == expected) {
        return Ok(());
    }
    let (group, sent) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    if matches!(schema, Schema::Custom(_)) {
        let why =
            format!("the API version in the data ({api_version}) does not match the expected API version ({expected})");
        return Err(Status::bad_request(why));
    }
    if info.kind == kind && group == info.group.as_str() && info.versions.iter().any(|known| known == sent) {
        let why =
            format!("the API version in the data ({api_version}) does not match the expected API version ({expected})");
        return Err(Status::bad_request(why));
    }
    let package =
        |group: &str| if group.is_empty() { "core" } else { group.split('.').next().unwrap_or("core") }.to_owned();
    let known = kind.is_empty() || (sent == "v1" && TypeId::named(kind).is_some());
    let why = if known {
        let kind = if kind.is_empty() { &info.kind } else { kind };
        format!("converting ({sent}.{kind}) to ({}.{}): unknown conversion", package(&info.group), info.kind)
    } else {
        format!(
            "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/api/legacyscheme/scheme.go:30\""
        )
    };
    Err(Status::bad_request(format!("{kind} in version \"{sent}\" cannot be handled as a {}: {why}", info.kind)))
}

/// A place in a schema, built-in or custom, for readers that walk an object along it (patches, field ownership,
/// explanations).
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    /// A field of a built-in type.
    Field(&'a Field),
    /// Something inside a built-in type that is no field: the object itself, a list's item, a map's value.
    Shape(&'a Shape),
    /// Inside a custom schema.
    Custom(&'a Structural),
    /// Nothing is known.
    Unknown,
}

/// How a value is merged by server-side apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merging<'a> {
    /// As a whole.
    Atomic,
    /// Member by member.
    Granular,
    /// A list of distinct values.
    Set,
    /// A list of items told apart by these keys.
    Keyed(Vec<&'a str>),
}

impl<'a> View<'a> {
    fn shape(self) -> Option<&'a Shape> {
        match self {
            View::Field(field) => Some(&field.shape),
            View::Shape(shape) => Some(shape),
            _ => None,
        }
    }

    /// The member `name` of a struct or map.
    pub fn member(self, name: &str) -> View<'a> {
        if let View::Custom(schema) = self {
            return schema.member(name).map_or(View::Unknown, View::Custom);
        }
        match self.shape() {
            Some(Shape::Struct(id) | Shape::Or(id)) => id.get().field(name).map_or(View::Unknown, View::Field),
            Some(Shape::Map(inner)) => View::Shape(inner),
            _ => View::Unknown,
        }
    }

    /// The items of a list.
    pub fn item(self) -> View<'a> {
        if let View::Custom(schema) = self {
            return schema.items().map_or(View::Unknown, View::Custom);
        }
        match self.shape() {
            Some(Shape::List(inner)) => View::Shape(inner),
            Some(or @ Shape::Or(_)) => View::Shape(or),
            _ => View::Unknown,
        }
    }

    /// How server-side apply merges what is here.
    pub fn merging(self, value: &Value) -> Merging<'a> {
        if let View::Custom(schema) = self {
            return schema.merging(value);
        }
        let is_list = matches!(value, Value::List(_));
        match self {
            View::Field(Field { order: Order::Atomic, .. }) => Merging::Atomic,
            View::Field(Field { order: Order::Set, .. }) if is_list => Merging::Set,
            View::Field(Field { order: Order::Keyed(keys), .. }) if is_list => Merging::Keyed(keys.clone()),
            _ if is_list => Merging::Atomic,
            View::Unknown => Merging::Granular,
            _ if matches!(self.shape(), Some(Shape::Any)) => Merging::Atomic,
            _ => Merging::Granular,
        }
    }
}

impl Schema {
    /// The schema of the whole object.
    pub fn root(&self) -> View<'_> {
        match self {
            Schema::Any => View::Unknown,
            Schema::BuiltIn(id) => View::Shape(id.get().shape()),
            Schema::Custom(structural) => View::Custom(structural),
        }
    }

    /// The built-in type of this name; see [`TypeId::named`].
    pub fn named(name: &str) -> Schema {
        TypeId::named(name).map_or(Schema::Any, Schema::BuiltIn)
    }
}
