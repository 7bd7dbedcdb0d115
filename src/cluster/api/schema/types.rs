//! The fields of the built-in types, read from one compact text per group of types.
//!
//! A line is `name[flags] [type] [modifiers]`. Flags say what Go's encoder does with an absent or zero value: none:
//! a zero value is not written; `?`: a pointer, zero and absent differ; `!`: always written. Types: `str` (the default,
//! `str:v1.X` with the name of its Go type), `bool`, `int32`, `int64`, `float64`, `time`, `microtime`, `duration`,
//! `intstr`, `quantity`, `bytes`, `any`, `[T]`, `{T}`, the name of a type, or `T|bool` for a union.
//! Modifiers: `map:keys`, `set`, `atomic` (server-side apply), `merge[:key]`, `retain` (strategic merge patch).
//!
//! Source of the facts: the published types of Kubernetes 1.36.3 (`k8s.io/api`, `apimachinery`, `apiextensions`).

use std::sync::OnceLock;

use crate::value::{Text, Value};

const TEXTS: [&str; 6] = [
    include_str!("meta.txt"),
    include_str!("pod.txt"),
    include_str!("volumes.txt"),
    include_str!("core.txt"),
    include_str!("workloads.txt"),
    include_str!("extensions.txt"),
];

const ENUMS: &str = include_str!("enums.txt");

/// A built-in type, by its place in the table. Cheap to copy; its fields are read on first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeId(u16);

/// The fields of a type.
#[derive(Debug)]
pub struct Type {
    /// The name of the type in Go, which the decoder's errors use.
    pub name: &'static str,
    /// Its fields by name.
    pub fields: Vec<Field>,
    /// The names alone, which a search skims.
    names: Vec<Text>,
    /// Places of the fields that are always written.
    always: Vec<usize>,
    shape: Shape,
    zero: OnceLock<Value>,
}

/// One field.
#[derive(Debug)]
pub struct Field {
    /// Its name in JSON.
    pub name: Text,
    /// What happens to absent and zero values.
    pub keep: Keep,
    /// What it holds.
    pub shape: Shape,
    /// How lists (and maps) are merged by server-side apply.
    pub order: Order,
    /// The key of strategic merge; `Some("")` for lists of primitives that merge.
    pub merge: Option<&'static str>,
    /// Whether strategic merge understands `$retainKeys` here by default.
    pub retain: bool,
}

/// What the encoder does with a field that is absent or zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Zero values are not written.
    NonZero,
    /// Zero and absent differ.
    Pointer,
    /// Always written; absent becomes zero.
    Always,
}

/// How server-side apply merges a list, a map or a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Not said: lists are atomic, maps and structs granular.
    Default,
    /// Replaced as a whole.
    Atomic,
    /// A list of distinct values.
    Set,
    /// A list of items told apart by these keys.
    Keyed(Vec<&'static str>),
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Text; with the name of its Go type.
    String(&'static str),
    /// true or false.
    Bool,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// Any number.
    Float,
    /// RFC 3339 in seconds.
    Time,
    /// RFC 3339 in microseconds.
    MicroTime,
    /// Go's `1m0s`.
    Duration,
    /// A whole number or text.
    IntOrString,
    /// A resource quantity.
    Quantity,
    /// Base64.
    Bytes,
    /// Any JSON.
    Any,
    /// A type of the table.
    Struct(TypeId),
    /// A list.
    List(Box<Shape>),
    /// A map from strings.
    Map(Box<Shape>),
    /// A type, or something else than an object that is taken as it is (`JSONSchemaPropsOrBool` and the like).
    Or(TypeId),
}

struct Slot {
    name: &'static str,
    body: &'static str,
    parsed: OnceLock<Type>,
}

fn table() -> &'static [Slot] {
    static TABLE: OnceLock<Vec<Slot>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut slots = Vec::with_capacity(256);
        for text in TEXTS {
            let blocks = text.split("\n\n").filter_map(|block| block.strip_prefix("type "));
            slots.extend(blocks.map(|block| {
                let (name, body) = block.split_once('\n').unwrap_or((block.trim_end(), ""));
                Slot { name, body, parsed: OnceLock::new() }
            }));
        }
        slots.sort_by_key(|slot| slot.name);
        slots
    })
}

impl TypeId {
    /// The type of this name; types of `events.k8s.io` are called `events.Event`.
    pub fn named(name: &str) -> Option<TypeId> {
        table().binary_search_by_key(&name, |slot| slot.name).ok().map(|at| TypeId(at as u16))
    }

    /// Its fields.
    pub fn get(self) -> &'static Type {
        let slot = &table()[usize::from(self.0)];
        slot.parsed.get_or_init(|| {
            let fields: Vec<Field> = slot.body.lines().filter(|line| !line.is_empty()).map(field).collect();
            Type {
                name: slot.name.rsplit('.').next().unwrap_or(slot.name),
                names: fields.iter().map(|field| field.name.clone()).collect(),
                always: (0..fields.len()).filter(|at| fields[*at].keep == Keep::Always).collect(),
                fields,
                shape: Shape::Struct(self),
                zero: OnceLock::new(),
            }
        })
    }
}

impl Type {
    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        // Lengths, which lie side by side, rule out nearly all.
        self.names.iter().position(|known| known.as_str() == name).map(|at| &self.fields[at])
    }

    /// Fields that are always written.
    pub(super) fn always(&self) -> impl Iterator<Item = &Field> {
        self.always.iter().map(|at| &self.fields[*at])
    }

    /// The type as a shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What the encoder writes for a value nobody set.
    pub fn zero(&self) -> &Value {
        self.zero
            .get_or_init(|| Value::Map(self.always().map(|field| (field.name.clone(), field.shape.zero())).collect()))
    }
}

impl Shape {
    /// The zero value, as the encoder writes it.
    pub fn zero(&self) -> Value {
        match self {
            Shape::String(_) => Value::from(""),
            Shape::Bool => Value::Bool(false),
            Shape::Int32 | Shape::Int64 | Shape::Float | Shape::IntOrString => Value::Int(0),
            Shape::Quantity => Value::from("0"),
            Shape::Duration => Value::from("0s"),
            Shape::Struct(id) => id.get().zero().clone(),
            _ => Value::Null,
        }
    }

    /// What the field or item `name` of this holds.
    pub fn step(&self, name: &str) -> Option<&Shape> {
        match self {
            Shape::Struct(id) | Shape::Or(id) => id.get().field(name).map(|field| &field.shape),
            Shape::Map(inner) => Some(inner),
            _ => None,
        }
    }
}

/// The values of an enumerated string type (`v1.PullPolicy`), if it is one.
pub fn enumeration(go_type: &str) -> Option<Vec<&'static str>> {
    let name = go_type.rsplit('.').next()?;
    let line = ENUMS.lines().find_map(|line| line.strip_prefix("enum ")?.strip_prefix(name)?.strip_prefix(' '))?;
    Some(line.split(' ').collect())
}

fn field(line: &'static str) -> Field {
    let mut words = line.split(' ');
    let head = words.next().unwrap_or("");
    let name = head.trim_end_matches(['?', '!']);
    let keep = match &head[name.len()..] {
        "" => Keep::NonZero,
        "?" => Keep::Pointer,
        _ => Keep::Always,
    };
    let shape = shape(words.next().unwrap_or("str"));
    let mut made = Field { name: name.into(), keep, shape, order: Order::Default, merge: None, retain: false };
    for word in words {
        match word.split_once(':').unwrap_or((word, "")) {
            ("map", keys) => made.order = Order::Keyed(keys.split(',').collect()),
            ("set", _) => made.order = Order::Set,
            ("atomic", _) => made.order = Order::Atomic,
            ("merge", key) => made.merge = Some(key),
            ("retain", _) => made.retain = true,
            _ => {}
        }
    }
    made
}

fn shape(word: &'static str) -> Shape {
    if let Some(inner) = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Shape::List(Box::new(shape(inner)));
    }
    if let Some(inner) = word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        return Shape::Map(Box::new(shape(inner)));
    }
    match word {
        "str" => Shape::String("string"),
        "bool" => Shape::Bool,
        "int32" => Shape::Int32,
        "int64" => Shape::Int64,
        "float64" => Shape::Float,
        "time" => Shape::Time,
        "microtime" => Shape::MicroTime,
        "duration" => Shape::Duration,
        "intstr" => Shape::IntOrString,
        "quantity" => Shape::Quantity,
        "bytes" => Shape::Bytes,
        "any" => Shape::Any,
        _ => match (word.strip_prefix("str:"), word.split_once('|')) {
            (Some(go_type), _) => Shape::String(go_type),
            (None, Some((name, _))) => TypeId::named(name).map_or(Shape::Any, Shape::Or),
            (None, None) => TypeId::named(word).map_or(Shape::Any, Shape::Struct),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_read_and_sorted() {
        let mut fields = 0;
        for (at, slot) in table().iter().enumerate() {
            let parsed = TypeId(at as u16).get();
            assert!(parsed.fields.is_sorted_by(|one, two| one.name < two.name), "{}", slot.name);
            fields += parsed.fields.len();
            for line in slot.body.lines().filter(|line| !line.is_empty()) {
                let word = line.split(' ').nth(1).unwrap_or("str").trim_matches(['[', ']', '{', '}']);
                let name = word.split('|').next().unwrap_or(word);
                let known = !name.starts_with(|first: char| first.is_ascii_uppercase() || name.starts_with("events."))
                    || TypeId::named(name).is_some();
                assert!(known, "{}: {line}", slot.name);
            }
        }
        assert!(fields > 1000, "{fields}");
    }

    #[test]
    fn facts_of_a_container() {
        let container = TypeId::named("Container").expect("known").get();
        let ports = container.field("ports").expect("known");
        assert_eq!(ports.order, Order::Keyed(vec!["containerPort", "protocol"]));
        assert_eq!(ports.merge, Some("containerPort"));
        assert_eq!(container.zero().to_json(), r#"{"name":"","resources":{}}"#);
        assert_eq!(enumeration("v1.PullPolicy"), Some(vec!["Always", "Never", "IfNotPresent"]));
        assert_eq!(enumeration("v1.Pull"), None);
    }
}
