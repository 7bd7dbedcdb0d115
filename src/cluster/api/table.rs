//! Tables: what `kubectl get` prints, made by the server.

use super::Server;
use super::http::Target;
use crate::object;
use crate::time::VirtualTime;
use crate::value::Value;

/// A `meta.k8s.io/v1` Table of objects of one kind.
pub(super) fn table(
    _server: &Server,
    _target: &Target,
    _now: VirtualTime,
    items: &[Value],
    metadata: Value,
    row_object: impl Fn(&Value) -> Value,
) -> Value {
    let rows = items.iter().map(|item| object! { "cells" => crate::list![item.name()], "object" => row_object(item) });
    object! {
        "kind" => "Table", "apiVersion" => "meta.k8s.io/v1", "metadata" => metadata,
        "columnDefinitions" => Value::from(Vec::new()), "rows" => rows.collect::<Value>(),
    }
}
