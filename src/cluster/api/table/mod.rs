//! Tables: what `kubectl get` prints, made by the server.
//!
//! Source: apiserver `pkg/endpoints/handlers/response.go`, `pkg/printers`.

pub mod age;
mod cells;
mod custom;
mod pod;

use super::Server;
use super::http::Target;
use super::registry::Kind;
use crate::object;
use crate::time::VirtualTime;
use crate::value::Value;

/// Column definitions, recorded from a real server. A kind, then its columns: name, type, format, priority and
/// description; `$name` and `$age` stand for texts that most kinds share, `*` for kinds without columns of their own.
const COLUMNS: &str = include_str!("columns.txt");

/// A `meta.k8s.io/v1` Table of objects of one kind.
pub(super) fn table(
    server: &Server,
    target: &Target,
    now: VirtualTime,
    items: &[Value],
    metadata: Value,
    row_object: impl Fn(&Value) -> Value,
) -> Value {
    let kind = target.info.id;
    let printers = server.registry.is_custom(kind).then(|| {
        let definition = server.definition(&target.info);
        definition.map_or_else(Vec::new, |definition| custom::printers(definition, &target.version))
    });
    let columns = match &printers {
        Some(printers) => custom::columns(printers),
        None => columns(&target.info.kind),
    };
    let row = |item: &Value| {
        let cells = match &printers {
            Some(printers) => custom::cells(printers, item, now),
            None => cells::cells(kind, item, now),
        };
        let mut row = object! { "cells" => cells, "object" => row_object(item) };
        if kind == Kind::POD
            && let Some(conditions) = pod::conditions(item)
        {
            row.set(&["conditions"], conditions);
        }
        row
    };
    object! {
        "kind" => "Table", "apiVersion" => "meta.k8s.io/v1", "metadata" => metadata, "columnDefinitions" => columns,
        "rows" => items.iter().map(row).collect::<Value>(),
    }
}

fn columns(kind: &str) -> Value {
    let mut columns = lines(kind).peekable();
    let columns: Vec<&str> = if columns.peek().is_some() { columns.collect() } else { lines("*").collect() };
    let parse = |line: &str| {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or("");
        let (name, kind, format, priority, description) = (next(), next(), next(), next(), next());
        let shared = description.starts_with('$');
        let description = if shared { described(description) } else { description };
        column(name, kind, format, priority.parse().unwrap_or(0), description)
    };
    columns.into_iter().map(parse).collect()
}

/// The lines of [`COLUMNS`] below `head`.
fn lines(head: &str) -> impl Iterator<Item = &'static str> {
    let mut lines = COLUMNS.lines().skip_while(move |line| *line != head);
    lines.next();
    lines.map_while(|line| line.strip_prefix('\t'))
}

/// A text that several columns share.
fn described(name: &str) -> &'static str {
    lines(name).next().unwrap_or("")
}

fn column(name: &str, kind: &str, format: &str, priority: i64, description: &str) -> Value {
    object! {
        "name" => name, "type" => kind, "format" => format, "priority" => priority,
        "description" => description.replace("\\n", "\n"),
    }
}

fn or_none(text: &str) -> Value {
    if text.is_empty() { "<none>".into() } else { text.into() }
}
