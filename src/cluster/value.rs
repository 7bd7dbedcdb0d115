//! The tree that every API object is kept in.
//!
//! A pod of 3.6 kB JSON takes 36 kB as `serde_json::Value` and about 6 kB here: keys and frequent words are shared
//! with a table of known words, lists and maps are shared with every copy until one of them writes (copy on write).
//! Cloning a `Value` is therefore one reference count, which is what makes snapshots, the watch log and caches cheap.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// An immutable, shared string. Words of the Kubernetes API share one allocation in the whole process.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Text(Arc<str>);

impl Ord for Text {
    fn cmp(&self, other: &Text) -> Ordering {
        // Keys of objects mostly share their namespace.
        if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Text) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Text {
    /// The text as a plain string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Words that occur in nearly every object: field names, enum values, names of the lab.
const KNOWN: &str = include_str!("words.txt");

struct Words {
    slots: Vec<Option<Text>>,
}

impl Words {
    const SLOTS: usize = 4096;

    fn table() -> &'static Words {
        static TABLE: OnceLock<Words> = OnceLock::new();
        TABLE.get_or_init(|| {
            let mut words = Words { slots: vec![None; Self::SLOTS] };
            for word in KNOWN.split_ascii_whitespace() {
                let mut at = Self::slot(word);
                while words.slots[at].as_ref().is_some_and(|known| known.as_str() != word) {
                    at = (at + 1) % Self::SLOTS;
                }
                words.slots[at] = Some(Text(Arc::from(word)));
            }
            words
        })
    }

    fn slot(word: &str) -> usize {
        let hash = word
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        (hash ^ (hash >> 29)) as usize % Self::SLOTS
    }

    fn find(&self, word: &str) -> Option<&Text> {
        let mut at = Self::slot(word);
        while let Some(known) = &self.slots[at] {
            if known.as_str() == word {
                return Some(known);
            }
            at = (at + 1) % Self::SLOTS;
        }
        None
    }
}

impl From<&str> for Text {
    fn from(word: &str) -> Text {
        if word.len() <= 48
            && let Some(known) = Words::table().find(word)
        {
            return known.clone();
        }
        Text(Arc::from(word))
    }
}

impl From<String> for Text {
    fn from(word: String) -> Text {
        Text::from(word.as_str())
    }
}

impl From<&String> for Text {
    fn from(word: &String) -> Text {
        Text::from(word.as_str())
    }
}

impl From<&Text> for Text {
    fn from(word: &Text) -> Text {
        word.clone()
    }
}

impl Default for Text {
    fn default() -> Text {
        Text::from("")
    }
}

impl Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Maps up to this size are searched from end to end.
const SMALL: usize = 24;

/// A JSON object with its keys in byte order.
#[derive(Clone, Default)]
pub struct Map(Arc<Vec<(Text, Value)>>);

impl Map {
    /// An empty map.
    pub fn new() -> Map {
        Map::default()
    }

    fn position(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_str().cmp(key))
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        // In a small map the lengths, which lie side by side, rule out nearly all keys.
        if self.0.len() <= SMALL {
            return self.0.iter().find(|(known, _)| known.as_str() == key).map(|(_, value)| value);
        }
        self.position(key).ok().map(|at| &self.0[at].1)
    }

    /// The value under `key`, for change; the map stops being shared.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let at = self.position(key).ok()?;
        Some(&mut Arc::make_mut(&mut self.0)[at].1)
    }

    /// Whether `key` is present, with whatever value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Puts `value` under `key` and returns what was there.
    pub fn insert(&mut self, key: impl Into<Text>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        let at = self.position(&key);
        let entries = Arc::make_mut(&mut self.0);
        match at {
            Ok(at) => Some(std::mem::replace(&mut entries[at].1, value)),
            Err(at) => {
                entries.insert(at, (key, value));
                None
            }
        }
    }

    /// Takes `key` out and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.position(key).ok()?;
        Some(Arc::make_mut(&mut self.0).remove(at).1)
    }

    /// The value under `key`; `default()` is put there first when it is absent.
    pub fn entry(&mut self, key: &str, default: impl FnOnce() -> Value) -> &mut Value {
        let at = match self.position(key) {
            Ok(at) => at,
            Err(at) => {
                Arc::make_mut(&mut self.0).insert(at, (Text::from(key), default()));
                at
            }
        };
        &mut Arc::make_mut(&mut self.0)[at].1
    }

    /// Puts the entries of `defaults` here whose keys are absent or null, in one pass.
    pub fn fill(&mut self, defaults: &Map) {
        if defaults.iter().all(|(key, _)| self.get(key).is_some_and(|value| !value.is_null())) {
            return;
        }
        let mine = Arc::try_unwrap(std::mem::take(&mut self.0)).unwrap_or_else(|shared| shared.to_vec());
        let mut made = Vec::with_capacity(mine.len() + defaults.len());
        let mut defaults = defaults.iter().peekable();
        for (key, value) in mine {
            made.extend(std::iter::from_fn(|| defaults.next_if(|default| default.0 < key)).cloned());
            match defaults.next_if(|default| default.0 == key) {
                Some(default) if value.is_null() => made.push(default.clone()),
                _ => made.push((key, value)),
            }
        }
        made.extend(defaults.cloned());
        self.0 = Arc::new(made);
    }

    /// Keys and values in key order.
    pub fn iter(&self) -> std::slice::Iter<'_, (Text, Value)> {
        self.0.iter()
    }

    /// Keeps the entries for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&Text, &mut Value) -> bool) {
        Arc::make_mut(&mut self.0).retain_mut(|(key, value)| keep(key, value));
    }

    /// Keys and values for change, in key order; keys must not be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = (&Text, &mut Value)> {
        Arc::make_mut(&mut self.0).iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both are the same allocation (then they are equal without a look inside).
    pub fn same(&self, other: &Map) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<K: Into<Text>, V: Into<Value>> FromIterator<(K, V)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Map {
        let mut entries: Vec<(Text, Value)> =
            entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        if !entries.is_sorted_by(|one, two| one.0 < two.0) {
            // Stable, so that the last of equal keys wins, as JSON decoders do.
            entries.sort_by(|one, two| one.0.cmp(&two.0));
            let mut kept: Vec<(Text, Value)> = Vec::with_capacity(entries.len());
            for entry in entries {
                match kept.last_mut() {
                    Some(last) if last.0 == entry.0 => *last = entry,
                    _ => kept.push(entry),
                }
            }
            entries = kept;
        }
        entries.shrink_to_fit();
        Map(Arc::new(entries))
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = &'a (Text, Value);
    type IntoIter = std::slice::Iter<'a, (Text, Value)>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Map) -> bool {
        self.same(other) || self.0 == other.0
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(key, value)| (key, value))).finish()
    }
}

/// A JSON value.
#[derive(Clone, Default)]
pub enum Value {
    /// JSON null.
    #[default]
    Null,
    /// true or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A string.
    String(Text),
    /// An array.
    List(Arc<Vec<Value>>),
    /// An object.
    Map(Map),
}

static NULL: Value = Value::Null;

impl Value {
    /// An empty object.
    pub fn object() -> Value {
        Value::Map(Map::new())
    }

    /// The member `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Map(map) => map.get(key),
            _ => None,
        }
    }

    /// The value at the end of `path`; null when any step is missing.
    pub fn at(&self, path: &[&str]) -> &Value {
        path.iter().try_fold(self, |value, key| value.get(key)).unwrap_or(&NULL)
    }

    /// The value at the end of `path` for change; objects on the way are made when missing (and replace anything that
    /// is not an object).
    pub fn make(&mut self, path: &[&str]) -> &mut Value {
        path.iter().fold(self, |value, key| value.as_map_mut().entry(key, || Value::Null))
    }

    /// The value at the end of `path` for change, if it is there.
    pub fn at_mut(&mut self, path: &[&str]) -> Option<&mut Value> {
        path.iter().try_fold(self, |value, key| match value {
            Value::Map(map) => map.get_mut(key),
            _ => None,
        })
    }

    /// Puts `value` at the end of `path`.
    pub fn set(&mut self, path: &[&str], value: impl Into<Value>) {
        *self.make(path) = value.into();
    }

    /// Takes the value at the end of `path` away.
    pub fn remove(&mut self, path: &[&str]) -> Option<Value> {
        let (last, before) = path.split_last()?;
        if self.at(path).is_null() && self.at(before).get(last).is_none() {
            return None;
        }
        match self.at_mut(before)? {
            Value::Map(map) => map.remove(last),
            _ => None,
        }
    }

    /// The object inside; any other value becomes an empty object first.
    pub fn as_map_mut(&mut self) -> &mut Map {
        if !matches!(self, Value::Map(_)) {
            *self = Value::object();
        }
        match self {
            Value::Map(map) => map,
            _ => unreachable!("made an object above"),
        }
    }

    /// The list inside; any other value becomes an empty list first.
    pub fn as_list_mut(&mut self) -> &mut Vec<Value> {
        if !matches!(self, Value::List(_)) {
            *self = Value::List(Arc::default());
        }
        match self {
            Value::List(list) => Arc::make_mut(list),
            _ => unreachable!("made a list above"),
        }
    }

    /// The object inside, if this is one.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Members of the object, none for any other value.
    pub fn entries(&self) -> &[(Text, Value)] {
        match self {
            Value::Map(map) => &map.0,
            _ => &[],
        }
    }

    /// Elements of the list, none for any other value.
    pub fn items(&self) -> &[Value] {
        match self {
            Value::List(list) => list,
            _ => &[],
        }
    }

    /// The string inside.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The string inside, or the empty string.
    pub fn str(&self) -> &str {
        self.as_str().unwrap_or("")
    }

    /// The shared string inside, or the empty one.
    pub fn text(&self) -> Text {
        match self {
            Value::String(text) => text.clone(),
            _ => Text::default(),
        }
    }

    /// The whole number inside.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The whole number inside, or 0.
    pub fn int(&self) -> i64 {
        self.as_i64().unwrap_or(0)
    }

    /// The truth value inside.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// Whether this is `true`.
    pub fn is_true(&self) -> bool {
        matches!(self, Value::Bool(true))
    }

    /// Whether this is null (or was missing).
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Parses JSON text.
    ///
    /// # Errors
    /// The decoder's own words when the text is not JSON.
    pub fn from_json(text: &[u8]) -> Result<Value, serde_json::Error> {
        serde_json::from_slice(text)
    }

    /// Compact JSON text with keys in byte order.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| unreachable!("string keys always serialize"))
    }
}

/// Reads of the metadata that every object has.
impl Value {
    /// `metadata.name`, or the empty string.
    pub fn name(&self) -> &str {
        self.at(&["metadata", "name"]).str()
    }

    /// `metadata.namespace`, or the empty string.
    pub fn namespace(&self) -> &str {
        self.at(&["metadata", "namespace"]).str()
    }

    /// `metadata.uid`, or the empty string.
    pub fn uid(&self) -> &str {
        self.at(&["metadata", "uid"]).str()
    }

    /// `metadata.labels`.
    pub fn labels(&self) -> &Value {
        self.at(&["metadata", "labels"])
    }

    /// `metadata.annotations.<key>`.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.at(&["metadata", "annotations", key]).as_str()
    }

    /// Whether `metadata.deletionTimestamp` is set.
    pub fn is_deleting(&self) -> bool {
        !self.at(&["metadata", "deletionTimestamp"]).is_null()
    }

    /// Whether this is a pod that has come to its end.
    pub fn has_ended(&self) -> bool {
        matches!(self.at(&["status", "phase"]).str(), "Succeeded" | "Failed")
    }

    /// The owner reference with `controller: true`.
    pub fn controller(&self) -> Option<&Value> {
        self.at(&["metadata", "ownerReferences"]).items().iter().find(|owner| owner.at(&["controller"]).is_true())
    }

    /// The condition of this type in `status.conditions`; null if there is none.
    pub fn condition(&self, kind: &str) -> &Value {
        let conditions = self.at(&["status", "conditions"]).items();
        conditions.iter().find(|condition| condition.at(&["type"]).str() == kind).unwrap_or(&NULL)
    }
}

impl Value {
    /// Puts a condition in place of the one of its type, or at the end (`podutil.UpdatePodCondition`). The time of
    /// transition is `now` unless the status is what it was.
    pub fn put_condition(&mut self, mut condition: Value, now: &str) {
        let before = self.condition(condition.at(&["type"]).str());
        let same = !before.is_null() && before.at(&["status"]) == condition.at(&["status"]);
        let since = if same { before.at(&["lastTransitionTime"]).clone() } else { now.into() };
        condition.set(&["lastTransitionTime"], since);
        let conditions = self.make(&["status", "conditions"]).as_list_mut();
        match conditions.iter_mut().find(|one| one.at(&["type"]) == condition.at(&["type"])) {
            Some(place) => *place = condition,
            None => conditions.push(condition),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(one), Value::Bool(two)) => one == two,
            (Value::Int(one), Value::Int(two)) => one == two,
            (Value::Float(one), Value::Float(two)) => one == two,
            (Value::String(one), Value::String(two)) => one == two,
            (Value::List(one), Value::List(two)) => Arc::ptr_eq(one, two) || one == two,
            (Value::Map(one), Value::Map(two)) => one == two,
            _ => false,
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

macro_rules! from {
    ($($type:ty => |$value:ident| $make:expr;)*) => {$(
        impl From<$type> for Value {
            fn from($value: $type) -> Value { $make }
        }
    )*};
}

from! {
    bool => |value| Value::Bool(value);
    i64 => |value| Value::Int(value);
    i32 => |value| Value::Int(i64::from(value));
    u32 => |value| Value::Int(i64::from(value));
    usize => |value| Value::Int(value as i64);
    f64 => |value| Value::Float(value);
    &str => |value| Value::String(Text::from(value));
    String => |value| Value::String(Text::from(value));
    &String => |value| Value::String(Text::from(value));
    Text => |value| Value::String(value);
    &Text => |value| Value::String(value.clone());
    Map => |value| Value::Map(value);
    Vec<Value> => |value| Value::List(Arc::new(value));
    &Value => |value| value.clone();
}

impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Value {
        Value::List(Arc::new(items.into_iter().collect()))
    }
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Value {
        match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(truth) => Value::Bool(truth),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(whole) => Value::Int(whole),
                None => Value::Float(number.as_f64().unwrap_or(f64::MAX)),
            },
            serde_json::Value::String(text) => Value::from(text),
            serde_json::Value::Array(items) => items.into_iter().map(Value::from).collect(),
            serde_json::Value::Object(members) => Value::Map(members.into_iter().collect()),
        }
    }
}

impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> serde_json::Value {
        match value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(truth) => serde_json::Value::Bool(*truth),
            Value::Int(number) => serde_json::Value::from(*number),
            Value::Float(number) => serde_json::Value::from(*number),
            Value::String(text) => serde_json::Value::from(text.as_str()),
            Value::List(items) => items.iter().map(serde_json::Value::from).collect(),
            Value::Map(map) => {
                serde_json::Value::Object(map.iter().map(|(key, value)| (key.to_string(), value.into())).collect())
            }
        }
    }
}

/// Builds a [`Value`] from literal keys: `object! { "name" => name, "count" => 1 }`.
#[macro_export]
macro_rules! object {
    ($($key:expr => $value:expr),* $(,)?) => {
        {
            let members: Vec<($crate::Text, $crate::Value)> = vec![$(($crate::Text::from($key), $crate::Value::from($value))),*];
            $crate::Value::Map(members.into_iter().collect())
        }
    };
}

/// Builds a list [`Value`]: `list![a, b]`.
#[macro_export]
macro_rules! list {
    ($($item:expr),* $(,)?) => {
        $crate::Value::from(vec![$($crate::Value::from($item)),*])
    };
}

mod wire;

#[cfg(test)]
mod tests;
