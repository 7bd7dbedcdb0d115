//! Strategic merge patch: lists of built-in kinds are merged by key, with directives.
//!
//! Source: apimachinery `pkg/util/strategicpatch/patch.go`.

use crate::api::schema::View;
use crate::api::schema::types::Field;
use crate::api::status::Status;
use crate::value::{Map, Text, Value};

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder/";
const DELETE: &str = "$deleteFromPrimitiveList/";

/// Applies a patch to an object of this schema.
pub(super) fn apply(schema: View<'_>, current: &Value, patch: Value) -> Result<Value, Status> {
    let Value::Map(patch) = patch else { return Ok(current.clone()) };
    map(schema, &current.as_map().cloned().unwrap_or_default(), patch).map(Value::Map)
}

fn bad(what: &str) -> Status {
    Status::bad_request(format!("Invalid patch format of {what}"))
}

/// An error that the handler does not know: 500 without a reason.
fn unknown(what: String) -> Status {
    Status::new(500, "", what)
}

fn map(schema: View<'_>, original: &Map, mut patch: Map) -> Result<Map, Status> {
    match patch.remove(DIRECTIVE).as_ref().map(Value::str) {
        None => {}
        Some("replace") => return Ok(patch),
        Some("delete") => return Ok(Map::new()),
        Some(other) => return Err(unknown(format!("unknown patch type: {other} in map"))),
    }
    let mut made = original.clone();
    if let Some(kept) = patch.remove(RETAIN) {
        retain(&mut made, &patch, &kept)?;
    }
    ordered(schema, &mut made, &mut patch)?;
    for (key, value) in &patch {
        if let Some(list) = key.strip_prefix(DELETE) {
            let Value::List(gone) = value else { return Err(bad("primitive list")) };
            if let Some(Value::List(items)) = made.get(list) {
                let left: Vec<Value> = items.iter().filter(|item| !gone.contains(item)).cloned().collect();
                made.insert(list, left);
            }
            continue;
        }
        let view = schema.member(key);
        match (made.get(key).cloned(), value) {
            (_, Value::Null) => {
                made.remove(key);
            }
            (Some(Value::Map(before)), Value::Map(patch)) => {
                made.insert(key, map(view, &before, patch.clone())?);
            }
            (Some(Value::List(before)), Value::List(patch)) => {
                let merged = match merge_key(view) {
                    Some(merge) => list(view, &before, patch, merge)?,
                    None => patch.to_vec(),
                };
                made.insert(key, merged);
            }
            _ => {
                match clean(value) {
                    Some(value) => made.insert(key, value),
                    None => made.remove(key),
                };
            }
        }
    }
    Ok(made)
}

fn merge_key(view: View<'_>) -> Option<&'static str> {
    match view {
        View::Field(Field { merge, .. }) => *merge,
        _ => None,
    }
}

/// `$retainKeys`: everything else goes; the patch may set only what it retains.
fn retain(made: &mut Map, patch: &Map, kept: &Value) -> Result<(), Status> {
    let Value::List(kept) = kept else { return Err(bad("retainKeys")) };
    let is_kept = |key: &Text| kept.iter().any(|one| one.as_str() == Some(key));
    if patch.iter().any(|(key, _)| !key.starts_with('$') && !is_kept(key)) {
        return Err(bad("retainKeys"));
    }
    made.retain(|key, _| is_kept(key));
    Ok(())
}

/// `$setElementOrder/x`: merges the list `x` and orders it; both are taken out of the patch.
fn ordered(schema: View<'_>, made: &mut Map, patch: &mut Map) -> Result<(), Status> {
    let orders: Vec<(Text, Value)> = patch
        .iter()
        .filter(|(key, _)| key.starts_with(ORDER))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for (directive, order) in orders {
        patch.remove(&directive);
        let Value::List(order) = order else { return Err(bad("setElementOrder list")) };
        let key = &directive[ORDER.len()..];
        let view = schema.member(key);
        let merge = merge_key(view);
        let before = made.get(key).map(Value::items).unwrap_or_default().to_vec();
        let change = patch.get(key).map(Value::items).unwrap_or_default().to_vec();
        in_order(&change, &order, merge.unwrap_or(""))?;
        let merged = match (made.contains_key(key), patch.contains_key(key), merge) {
            (false, false, _) => continue,
            (true, false, _) => before.clone(),
            (false, true, _) => change.iter().filter_map(clean).collect(),
            (true, true, Some(merge)) => list(view, &before, &change, merge)?,
            (true, true, None) => change,
        };
        patch.remove(key);
        made.insert(key, arranged(merged, &order, &before, merge.unwrap_or("")));
    }
    Ok(())
}

/// The items of a patch must come in the order that the directive names.
fn in_order(change: &[Value], order: &[Value], key: &str) -> Result<(), Status> {
    let mut from = 0;
    for item in change.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        match order[from..].iter().position(|one| same(one, item, key)) {
            Some(at) => from += at + 1,
            None => {
                let (change, order) = (go_list(change), go_list(order));
                let why =
                    format!("The order in patch list:\n{change}\n doesn't match $setElementOrder list:\n{order}\n");
                return Err(unknown(why));
            }
        }
    }
    Ok(())
}

fn list(view: View<'_>, original: &[Value], patch: &[Value], key: &str) -> Result<Vec<Value>, Status> {
    if !original.iter().chain(patch).any(|item| matches!(item, Value::Map(_))) {
        let mut merged: Vec<Value> = Vec::new();
        for item in original.iter().chain(patch) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        return Ok(arranged(merged, patch, original, ""));
    }
    let (original, patch) = special(original, patch, key)?;
    let mut merged = original.clone();
    for item in &patch {
        let Value::Map(change) = item else { return Err(unknown("expected a map in a list of maps".into())) };
        if change.get(key).is_none() {
            return Err(no_key(item, key));
        }
        match merged.iter_mut().find(|known| same(known, item, key)) {
            Some(known) => {
                let before = known.as_map().cloned().unwrap_or_default();
                *known = Value::Map(map(view.item(), &before, change.clone())?);
            }
            None => merged.extend(clean(item)),
        }
    }
    Ok(arranged(merged, &patch, &original, key))
}

/// Carries out `$patch` items of a list: what is left of the original, and the items that are to be merged.
fn special(original: &[Value], patch: &[Value], key: &str) -> Result<(Vec<Value>, Vec<Value>), Status> {
    let mut left = original.to_vec();
    let mut items = Vec::new();
    let mut replace = false;
    for item in patch {
        match item.get(DIRECTIVE).map(Value::str) {
            None => items.push(item.clone()),
            Some("delete") if item.get(key).is_none() => return Err(no_key(item, key)),
            Some("delete") => left.retain(|known| !same(known, item, key)),
            Some("replace") => replace = true,
            Some("merge") => return Err(unknown(format!("expecting a directive other than merge in {}", go(item)))),
            Some(other) => return Err(unknown(format!("unknown patch type: {other} in map"))),
        }
    }
    if replace { Ok((items, Vec::new())) } else { Ok((left, items)) }
}

fn no_key(item: &Value, key: &str) -> Status {
    unknown(format!("map: {} does not contain declared merge key: {key}", go(item)))
}

/// Whether two items are the same one: by key, or by value when there is none.
fn same(one: &Value, two: &Value, key: &str) -> bool {
    if key.is_empty() { one == two } else { one.get(key).is_some() && one.get(key) == two.get(key) }
}

/// Items of the patch in the patch's order, the others in the server's; where both are known to the server its order
/// decides, else the patch's items come first.
fn arranged(merged: Vec<Value>, patch: &[Value], server: &[Value], key: &str) -> Vec<Value> {
    let place = |list: &[Value], item: &Value| list.iter().position(|one| same(one, item, key));
    let (mut ours, mut theirs): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| place(patch, item).is_some());
    ours.sort_by_key(|item| place(patch, item));
    theirs.sort_by_key(|item| place(server, item));
    let mut made = Vec::with_capacity(ours.len() + theirs.len());
    let (mut ours, mut theirs) = (ours.into_iter().peekable(), theirs.into_iter().peekable());
    while let (Some(our), Some(their)) = (ours.peek(), theirs.peek()) {
        let first = match (place(server, their), place(server, our)) {
            (Some(their), Some(our)) => their < our,
            _ => false,
        };
        made.extend(if first { theirs.next() } else { ours.next() });
    }
    made.extend(ours.chain(theirs));
    made
}

/// A new value without nulls and directives; none when the directive says delete.
fn clean(value: &Value) -> Option<Value> {
    match value {
        Value::Map(map) => {
            if map.get(DIRECTIVE).is_some_and(|directive| directive.str() == "delete") {
                return None;
            }
            let kept = map.iter().filter(|(key, value)| !value.is_null() && !is_directive(key));
            Some(Value::Map(kept.filter_map(|(key, value)| Some((key.clone(), clean(value)?))).collect()))
        }
        Value::List(items) => Some(items.iter().filter_map(clean).collect()),
        _ => Some(value.clone()),
    }
}

fn is_directive(key: &str) -> bool {
    key == DIRECTIVE || key == RETAIN || key.starts_with(ORDER) || key.starts_with(DELETE)
}

fn go_list(items: &[Value]) -> String {
    go(&items.iter().cloned().collect())
}

/// A value as Go's `%v` prints it.
fn go(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.to_string(),
        Value::List(items) => format!("[{}]", items.iter().map(go).collect::<Vec<_>>().join(" ")),
        Value::Map(map) => {
            let members: Vec<String> = map.iter().map(|(key, value)| format!("{key}:{}", go(value))).collect();
            format!("map[{}]", members.join(" "))
        }
        _ => value.to_json(),
    }
}
