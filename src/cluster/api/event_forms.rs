//! Events have two forms over one storage: `v1` and `events.k8s.io/v1`, which renames fields.
//!
//! Source: `pkg/apis/events/v1/conversion.go`.

use crate::value::{Map, Value};

/// `events.k8s.io/v1` name and `v1` name of the renamed fields.
const RENAMED: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

/// The kept form of an event that came as `events.k8s.io/v1`.
pub(super) fn to_core(event: &Value) -> Value {
    let mut core = rename(event, |name| find(name, |(new, _)| new, |(_, old)| old));
    core.set(&["apiVersion"], "v1");
    core
}

/// The `events.k8s.io/v1` form of a kept event.
pub(super) fn to_new(event: &Value) -> Value {
    let mut new = rename(event, |name| find(name, |(_, old)| old, |(new, _)| new));
    new.set(&["apiVersion"], "events.k8s.io/v1");
    new
}

fn find(
    name: &str,
    from: impl Fn((&'static str, &'static str)) -> &'static str,
    to: impl Fn((&'static str, &'static str)) -> &'static str,
) -> Option<&'static str> {
    RENAMED.into_iter().find(|pair| from(*pair) == name).map(to)
}

fn rename(event: &Value, to: impl Fn(&str) -> Option<&'static str>) -> Value {
    let renamed = event.entries().iter().map(|(name, value)| match to(name) {
        Some(other) => (other.into(), value.clone()),
        None => (name.clone(), value.clone()),
    });
    Value::Map(renamed.collect::<Map>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;

    #[test]
    fn both_ways_give_the_same_event() {
        let core = object! {
            "apiVersion" => "v1", "message" => "m", "involvedObject" => object! { "name" => "p" },
            "count" => 2, "metadata" => object! { "name" => "e" },
        };
        let new = to_new(&core);
        assert_eq!(
            new.to_json(),
            r#"{"apiVersion":"events.k8s.io/v1","deprecatedCount":2,"metadata":{"name":"e"},"note":"m","regarding":{"name":"p"}}"#
        );
        assert_eq!(to_core(&new), core);
    }
}
