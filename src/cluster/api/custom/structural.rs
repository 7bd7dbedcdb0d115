//! Structural schemas: what a definition says about the fields of its objects.
//!
//! Source: apiextensions-apiserver `pkg/apiserver/schema`.

use regex_lite::Regex;

use crate::api::schema::types::TypeId;
use crate::api::schema::{Merging, decode_type};
use crate::value::{Map, Text, Value};

/// A schema and those below it.
#[derive(Debug, Default)]
pub struct Structural {
    /// `object`, `string`, …; empty when not said.
    pub kind: Text,
    /// Whether null is a value.
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded: bool,
    /// Put where nothing is given.
    pub default: Option<Value>,
    /// By name.
    pub properties: Vec<(Text, Structural)>,
    /// Of members that are not among the properties; `Some` also for `additionalProperties: true`.
    pub additional: Option<Box<Structural>>,
    /// Of a list's items.
    pub items: Option<Box<Structural>>,
    /// `x-kubernetes-list-type`.
    pub list_type: Text,
    /// `x-kubernetes-list-map-keys`.
    pub list_keys: Vec<Text>,
    /// `x-kubernetes-map-type: atomic`.
    pub atomic: bool,
    /// What values must be beyond their type.
    pub limits: Limits,
}

/// Value validations.
#[derive(Debug, Default)]
pub struct Limits {
    /// Members that must be there.
    pub required: Vec<Text>,
    /// The only values.
    pub values: Vec<Value>,
    /// Least number, and whether it is excluded.
    pub minimum: Option<(f64, bool)>,
    /// Greatest number, and whether it is excluded.
    pub maximum: Option<(f64, bool)>,
    /// The number is a multiple of this.
    pub multiple: Option<f64>,
    /// Least and greatest number of characters.
    pub length: (Option<i64>, Option<i64>),
    /// Least and greatest number of items.
    pub count: (Option<i64>, Option<i64>),
    /// Least and greatest number of members.
    pub members: (Option<i64>, Option<i64>),
    /// No item twice.
    pub unique: bool,
    /// What text must match, with the pattern as written.
    pub pattern: Option<(Text, Option<Regex>)>,
    /// `date-time` and others.
    pub format: Text,
    /// All must hold.
    pub all_of: Vec<Structural>,
    /// One must hold.
    pub any_of: Vec<Structural>,
    /// Exactly one must hold.
    pub one_of: Vec<Structural>,
    /// Must not hold.
    pub not: Option<Box<Structural>>,
}

impl Structural {
    /// Reads an `openAPIV3Schema`. The schema was validated before.
    pub fn of(schema: &Value) -> Structural {
        let flag = |name| schema.at(&[name]).is_true();
        let additional = match schema.at(&["additionalProperties"]) {
            Value::Bool(true) => Some(Box::new(Structural { preserve: true, ..Structural::default() })),
            inner @ Value::Map(_) => Some(Box::new(Structural::of(inner))),
            _ => None,
        };
        let properties = schema.at(&["properties"]).entries().iter();
        Structural {
            kind: schema.at(&["type"]).text(),
            nullable: flag("nullable"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            preserve: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            default: schema.get("default").cloned(),
            properties: properties.map(|(name, inner)| (name.clone(), Structural::of(inner))).collect(),
            additional,
            items: schema.get("items").map(|items| Box::new(Structural::of(items))),
            list_type: schema.at(&["x-kubernetes-list-type"]).text(),
            list_keys: schema.at(&["x-kubernetes-list-map-keys"]).items().iter().map(Value::text).collect(),
            atomic: schema.at(&["x-kubernetes-map-type"]).str() == "atomic",
            limits: Limits::of(schema),
        }
    }

    /// The schema of a member, among the properties or beyond them.
    pub fn member(&self, name: &str) -> Option<&Structural> {
        let found = self.properties.binary_search_by(|(known, _)| known.as_str().cmp(name));
        found.ok().map(|at| &self.properties[at].1).or(self.additional.as_deref())
    }

    /// The schema of a list's items.
    pub fn items(&self) -> Option<&Structural> {
        self.items.as_deref()
    }

    /// How server-side apply merges a value here.
    pub fn merging(&self, value: &Value) -> Merging<'_> {
        match (value, self.list_type.as_str()) {
            (Value::List(_), "set") => Merging::Set,
            (Value::List(_), "map") => Merging::Keyed(self.list_keys.iter().map(Text::as_str).collect()),
            (Value::List(_), _) => Merging::Atomic,
            _ if self.atomic => Merging::Atomic,
            _ => Merging::Granular,
        }
    }

    /// Decodes a whole object: metadata as every object has them, fields that the schema does not know dropped.
    pub(in crate::api) fn decode(&self, object: Value) -> Result<(Value, Vec<String>), String> {
        let mut unknown = Vec::new();
        let mut map = object.as_map().cloned().unwrap_or_default();
        if let (Some(metadata), Some(id)) = (map.get("metadata").cloned(), TypeId::named("ObjectMeta")) {
            let (metadata, fields) = decode_type(id, metadata)?;
            unknown.extend(fields.iter().map(|field| field.replacen('"', "\"metadata.", 1)));
            map.insert("metadata", metadata);
        }
        let pruned = self.prune_map(&map, "", true, &mut unknown);
        unknown.sort();
        Ok((Value::Map(pruned), unknown))
    }

    fn prune(&self, value: &Value, path: &str, unknown: &mut Vec<String>) -> Value {
        match value {
            Value::Map(map) => Value::Map(self.prune_map(map, path, self.embedded, unknown)),
            Value::List(items) => {
                let items = items.iter().enumerate().map(|(at, item)| match (&self.items, self.preserve) {
                    (Some(schema), _) => schema.prune(item, &format!("{path}[{at}]"), unknown),
                    (None, true) => item.clone(),
                    (None, false) => Structural::default().prune(item, &format!("{path}[{at}]"), unknown),
                });
                items.collect()
            }
            _ => value.clone(),
        }
    }

    fn prune_map(&self, map: &Map, path: &str, resource: bool, unknown: &mut Vec<String>) -> Map {
        let mut made = Vec::with_capacity(map.len());
        for (key, value) in map {
            if resource && ["apiVersion", "kind", "metadata"].contains(&key.as_str()) {
                made.push((key.clone(), value.clone()));
                continue;
            }
            let place = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
            match self.member(key) {
                // A null that is no value is as good as absent.
                Some(schema) if value.is_null() && !schema.nullable => {}
                Some(schema) => made.push((key.clone(), schema.prune(value, &place, unknown))),
                None if self.preserve => made.push((key.clone(), value.clone())),
                None => unknown.push(format!("unknown field \"{place}\"")),
            }
        }
        made.into_iter().collect()
    }

    /// Puts defaults where nothing is given.
    pub(in crate::api) fn fill(&self, value: &mut Value) {
        if !self.defaults_anything() {
            return;
        }
        match value {
            Value::Map(map) => {
                for (name, schema) in &self.properties {
                    let absent = map.get(name).is_none_or(|value| value.is_null() && !schema.nullable);
                    if let (true, Some(default)) = (absent, &schema.default) {
                        map.insert(name, default);
                    }
                    if schema.defaults_anything()
                        && let Some(member) = map.get_mut(name)
                    {
                        schema.fill(member);
                    }
                }
                if let Some(additional) = self.additional.as_deref().filter(|schema| schema.defaults_anything()) {
                    let known = |key: &Text| self.properties.iter().any(|(name, _)| name == key);
                    map.values_mut().filter(|(key, _)| !known(key)).for_each(|(_, member)| additional.fill(member));
                }
            }
            Value::List(items) => {
                if let Some(schema) = &self.items {
                    std::sync::Arc::make_mut(items).iter_mut().for_each(|item| schema.fill(item));
                }
            }
            _ => {}
        }
    }

    fn defaults_anything(&self) -> bool {
        let inner =
            self.properties.iter().map(|(_, schema)| schema).chain(self.additional.as_deref()).chain(self.items());
        inner.into_iter().any(|schema| schema.default.is_some() || schema.defaults_anything())
    }
}

impl Limits {
    fn of(schema: &Value) -> Limits {
        let whole = |name| schema.at(&[name]).as_i64();
        let bound =
            |name, exclusive| number(schema.at(&[name])).map(|bound| (bound, schema.at(&[exclusive]).is_true()));
        let several = |name| schema.at(&[name]).items().iter().map(Structural::of).collect();
        Limits {
            required: schema.at(&["required"]).items().iter().map(Value::text).collect(),
            values: schema.at(&["enum"]).items().to_vec(),
            minimum: bound("minimum", "exclusiveMinimum"),
            maximum: bound("maximum", "exclusiveMaximum"),
            multiple: number(schema.at(&["multipleOf"])),
            length: (whole("minLength"), whole("maxLength")),
            count: (whole("minItems"), whole("maxItems")),
            members: (whole("minProperties"), whole("maxProperties")),
            unique: schema.at(&["uniqueItems"]).is_true(),
            pattern: schema.at(&["pattern"]).as_str().map(|text| (Text::from(text), Regex::new(text).ok())),
            format: schema.at(&["format"]).text(),
            all_of: several("allOf"),
            any_of: several("anyOf"),
            one_of: several("oneOf"),
            not: schema.get("not").map(|not| Box::new(Structural::of(not))),
        }
    }
}

/// Any number as a float.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}
