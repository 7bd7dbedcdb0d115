//! Option maps with strict keys.

use std::time::Duration;

use rhai::{Dynamic, Map};
use serde_json::Value;

use super::convert::to_json;
use super::fault::Fault;
use super::suggest::did_you_mean;
use crate::backend::duration;

/// An option map of one function, read key by key.
#[derive(Debug)]
pub struct Options {
    function: &'static str,
    map: Map,
}

impl Options {
    /// Takes a map whose keys must be among `known`.
    ///
    /// # Errors
    /// For another key, with the nearest known one; for a value that is no map.
    pub fn read(function: &'static str, value: Dynamic, known: &[&str]) -> Result<Options, Fault> {
        let shape = kind_of(&value);
        let Some(map) = value.flatten().try_cast::<Map>() else {
            return Err(Fault::script(format!(
                "{function} takes a map of options, such as #{{{}: …}}; got {shape}",
                known[0]
            )));
        };
        for key in map.keys() {
            if !known.contains(&key.as_str()) {
                let near = did_you_mean(key, known.iter().copied());
                return Err(Fault::script(format!("unknown option \"{key}\"{near}"))
                    .hint(format!("options of {function}: {}", known.join(", "))));
            }
        }
        Ok(Options { function, map })
    }

    fn wrong(&self, key: &str, wanted: &str, value: &Dynamic) -> Fault {
        Fault::script(format!("option \"{key}\" of {} is {wanted}; got {}", self.function, kind_of(value)))
    }

    /// The value as it was given.
    pub fn value(&self, key: &str) -> Option<&Dynamic> {
        self.map.get(key).filter(|value| !value.is_unit())
    }

    /// The value as JSON.
    pub fn json(&self, key: &str) -> Option<Value> {
        self.value(key).map(to_json)
    }

    /// A text.
    ///
    /// # Errors
    /// When it is something else.
    pub fn text(&self, key: &str) -> Result<Option<String>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        value.clone().into_string().map(Some).map_err(|_| self.wrong(key, "a string", value))
    }

    /// A text or a number, as quantities are written.
    ///
    /// # Errors
    /// When it is something else.
    pub fn quantity(&self, key: &str) -> Result<Option<String>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match to_json(value) {
            Value::String(text) => Ok(Some(text)),
            Value::Number(number) => Ok(Some(number.to_string())),
            _ => Err(self.wrong(key, "a quantity, such as 2 or \"500m\"", value)),
        }
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    /// When it is something else.
    pub fn count(&self, key: &str) -> Result<Option<u32>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let number = value.as_int().ok().and_then(|number| u32::try_from(number).ok());
        number.map(Some).ok_or_else(|| self.wrong(key, "a whole number from 0 on", value))
    }

    /// A whole number.
    ///
    /// # Errors
    /// When it is something else.
    pub fn int(&self, key: &str) -> Result<Option<i64>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        value.as_int().map(Some).map_err(|_| self.wrong(key, "a whole number", value))
    }

    /// true or false.
    ///
    /// # Errors
    /// When it is something else.
    pub fn truth(&self, key: &str) -> Result<Option<bool>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        value.as_bool().map(Some).map_err(|_| self.wrong(key, "true or false", value))
    }

    /// A span of time.
    ///
    /// # Errors
    /// When it is something else.
    pub fn span(&self, key: &str) -> Result<Option<Duration>, Fault> {
        self.value(key).map(|value| span(value.clone())).transpose().map_err(|_| {
            let value = self.value(key).cloned().unwrap_or_default();
            self.wrong(key, "a time, such as \"30s\"", &value)
        })
    }
}

/// A span of time from an argument: `"1m30s"` or a number of seconds.
///
/// # Errors
/// When it is neither.
pub fn span(value: Dynamic) -> Result<Duration, Fault> {
    let wrong = |shown: &str| {
        Fault::script(format!("{shown} is not a span of time"))
            .hint("write \"30s\", \"5m\", \"1h30m\", or a number of seconds")
    };
    if let Ok(seconds) = value.as_int() {
        return u64::try_from(seconds).map(Duration::from_secs).map_err(|_| wrong(&seconds.to_string()));
    }
    if let Ok(seconds) = value.as_float() {
        return Duration::try_from_secs_f64(seconds).map_err(|_| wrong(&seconds.to_string()));
    }
    let shape = kind_of(&value);
    match value.flatten().into_string() {
        Ok(text) => duration::parse(&text).ok_or_else(|| wrong(&format!("\"{text}\""))),
        Err(_) => Err(wrong(&shape)),
    }
}

/// A value's type in plain words, with an article.
pub fn kind_of(value: &Dynamic) -> String {
    let name = value.type_name();
    plain_type(name.rsplit("::").next().unwrap_or(name))
}

/// A Rhai type name in plain words, with an article.
pub fn plain_type(name: &str) -> String {
    match name {
        "i64" | "INT" => "an integer".into(),
        "f64" | "FLOAT" => "a number".into(),
        "bool" => "true or false".into(),
        "()" => "nothing (`()`)".into(),
        "char" => "a character".into(),
        "Map" | "map" => "a map".into(),
        "Array" | "array" => "an array".into(),
        "Fn" | "FnPtr" => "a function".into(),
        "Dynamic" | "?" => "any value".into(),
        name if name.contains("tring") || name == "&str" => "a string".into(),
        "NodeHandle" => "a Node".into(),
        "PodHandle" => "a Pod".into(),
        "DeploymentHandle" => "a Deployment".into(),
        "ObjectHandle" => "an Object".into(),
        other if other.starts_with(['A', 'E', 'I', 'O', 'U']) => format!("an {other}"),
        other => format!("a {other}"),
    }
}
