//! Verbs that show: print, table, yaml, json, explain; and args and exit.

use std::rc::Rc;

use rhai::{Array, Dynamic, Map};
use serde_json::Value;

use super::act::Applied;
use super::convert::{items, text, to_json};
use super::docs::{Book, Noun, Registrar};
use super::fault::{Fault, Res, Stop, stop};
use super::listing::Listing;
use super::object::{Object, handle};
use super::rows::Rows;
use crate::render::json::{list_of, without_managed_fields};
use crate::render::table::{TableOptions, align, table_text};

/// Registers the verbs.
pub fn register(registrar: &mut Registrar<'_>) {
    prints(registrar);
    dumps(registrar);
    process(registrar);
}

/// Registers `explain`, which knows the whole book.
pub fn register_explain(registrar: &mut Registrar<'_>, book: Rc<std::cell::OnceCell<Book>>) {
    registrar.function(
        "explain(name: string) -> string",
        "Explains a function or a method (Node.gpus).\nFails: when there is nothing of that name; the nearest name is told.\nExample: print(explain(\"pods\"));\nSee: list",
        move |name: &str| -> Res<String> {
            let Some(book) = book.get() else { return Ok(String::new()) };
            let known = book.markdown(name).filter(|_| !name.is_empty());
            Ok(known.ok_or_else(|| {
                let near = if name.contains('.') { String::new() } else { book.near(name) };
                Fault::script(format!("nothing is known about \"{name}\"{near}"))
                    .hint("explain(\"pods\") explains a function, explain(\"Node.gpus\") a method")
            })?)
        },
    );
}

fn prints(registrar: &mut Registrar<'_>) {
    // The engine hands what these return to the print callback.
    registrar.function(
        "print(x: any) -> ()",
        "Shows a value: text as it is, lists as tables, maps as YAML.\nExample: print(nodes());\nSee: table, yaml, json",
        |value: Dynamic| -> Res<String> { Ok(value_text(&value)?) },
    );
    for_collections(registrar);
    registrar.function(
        "table(x: list or array of maps) -> string",
        "The table of a list, or of an array of maps (columns by name, or those that are named).\nExample: print(table([#{node: \"a\", gpus: 4}, #{node: \"b\", gpus: 2}]));\nSee: print",
        |value: Dynamic| -> Res<String> {
            let value = value.flatten();
            if let Some(rows) = value.read_lock::<Array>() {
                return Ok(maps_table(&rows, columns_of(&rows)));
            }
            Ok(value_text(&value)?)
        },
    );
    registrar.function(
        "table(x: array of maps, columns: array) -> string",
        "",
        |rows: Array, columns: Array| -> String {
            maps_table(&rows, columns.iter().map(ToString::to_string).collect())
        },
    );
}

fn for_collections(registrar: &mut Registrar<'_>) {
    registrar.engine.register_fn("print", |value: Array| -> Res<String> { Ok(value_text(&value.into())?) });
    registrar.engine.register_fn("print", |text: rhai::ImmutableString| clean(&text));
    registrar.engine.register_fn("print", |value: Map| -> Res<String> { Ok(value_text(&value.into())?) });
}

fn dumps(registrar: &mut Registrar<'_>) {
    registrar.function(
        "yaml(x: any) -> string",
        "The YAML of an object, a list or a value, as kubectl get -o yaml prints it.\nExample: print(yaml(node(\"kind\")));\nSee: json, print",
        |value: Dynamic| -> Res<String> { Ok(crate::render::yaml::to_yaml(&dump(&value)?).trim_end().to_owned()) },
    );
    registrar.function(
        "json(x: any) -> string",
        "The JSON of an object, a list or a value, as kubectl get -o json prints it.\nExample: print(json(node(\"kind\").free()));\nSee: yaml",
        |value: Dynamic| -> Res<String> { Ok(crate::render::json::to_json(&dump(&value)?)) },
    );
}

/// The JSON value behind a script value: objects are read.
fn dump(value: &Dynamic) -> Result<Value, Fault> {
    let value = value.flatten_clone();
    if let Some(object) = handle(&value) {
        return Ok(without_managed_fields(&object.read()?));
    }
    if let Some(list) = value.read_lock::<Listing>() {
        let objects = list.values()?.iter().map(|object| typed(object, &list)).collect();
        return Ok(list_of(objects));
    }
    if let Some(applied) = value.read_lock::<Applied>() {
        let objects: Result<Vec<Value>, Fault> =
            applied.objects().iter().map(|object| Ok(without_managed_fields(&object.read()?))).collect();
        return Ok(list_of(objects?));
    }
    if let Some(rows) = value.read_lock::<Rows>() {
        return Ok(rows.rows().iter().map(|row| to_json(&Dynamic::from(row.clone()))).collect());
    }
    Ok(to_json(&value))
}

/// Elements of a list answer have no kind of their own.
fn typed(object: &Value, list: &Listing) -> Value {
    let mut object = without_managed_fields(object);
    object["apiVersion"] = list.kind().api_version().into();
    object["kind"] = list.kind().kind.clone().into();
    object
}

fn process(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "args() -> array",
        "The arguments that were given to the script after --.\nExample: print(args().len());",
        move || -> Array { lab.args.iter().map(|one| one.clone().into()).collect() },
    );
    registrar.function(
        "exit(code: int) -> ()",
        "Ends the script with an exit code from 0 to 125; what the script made is cleaned up.",
        |code: i64| -> Res<()> {
            match u8::try_from(code).ok().filter(|code| *code <= 125) {
                Some(code) => Err(stop(Stop::Exit(code))),
                None => Err(Fault::script(format!("exit takes a code from 0 to 125; got {code}")).into()),
            }
        },
    );
    registrar.function("exit() -> ()", "", || -> Res<()> { Err(stop(Stop::Exit(0))) });
}

/// What `print` shows of a value, without a final line end.
///
/// # Errors
/// When an object cannot be read.
pub fn value_text(value: &Dynamic) -> Result<String, Fault> {
    let value = value.flatten_clone();
    if value.is_unit() {
        return Ok(String::new());
    }
    if let Some(object) = handle(&value) {
        return object_table(&object);
    }
    if let Some(list) = value.read_lock::<Listing>() {
        return listing(&list);
    }
    if let Some(rows) = value.read_lock::<Rows>() {
        return Ok(rows.table());
    }
    if let Some(applied) = value.read_lock::<Applied>() {
        return Ok(applied.lines());
    }
    if let Some(moment) = value.read_lock::<super::time::Moment>() {
        return Ok(moment.to_string());
    }
    if let Some(fault) = value.read_lock::<Fault>() {
        return Ok(clean(&fault.message));
    }
    if let Some(rows) = value.read_lock::<Array>() {
        return array_text(&rows);
    }
    if let Some(map) = value.read_lock::<Map>() {
        let json = to_json(&Dynamic::from(map.clone()));
        return Ok(if map.is_empty() {
            "{}".into()
        } else {
            crate::render::yaml::to_yaml(&json).trim_end().to_owned()
        });
    }
    Ok(clean(&value.to_string()))
}

fn array_text(rows: &Array) -> Result<String, Fault> {
    if !rows.is_empty() && rows.iter().all(|row| row.is_map()) {
        return Ok(maps_table(rows, columns_of(rows)));
    }
    if rows.iter().any(|row| handle(row).is_some()) {
        let ids: Vec<String> =
            rows.iter().map(|row| handle(row).map_or_else(|| row.to_string(), |object| object.id())).collect();
        return Ok(format!("[{}]", ids.join(", ")));
    }
    let items: Vec<String> = rows.iter().map(|item| to_json(item).to_string()).collect();
    Ok(clean(&format!("[{}]", items.join(", "))))
}

/// Without control characters other than line ends and tabs: text from elsewhere must not steer the terminal.
pub fn clean(text: &str) -> String {
    if text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t') {
        return text.to_owned();
    }
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// The keys of maps in alphabetical order, after the name.
fn columns_of(rows: &Array) -> Vec<String> {
    let maps = rows.iter().filter_map(|row| row.flatten_clone().try_cast::<Map>());
    let mut keys: Vec<String> = maps.flat_map(|map| map.into_keys()).map(|key| key.to_string()).collect();
    keys.sort_by_key(|key| (key != "name", key.clone()));
    keys.dedup();
    keys
}

/// A table of maps with these columns.
fn maps_table(rows: &Array, keys: Vec<String>) -> String {
    let maps: Vec<Map> = rows.iter().filter_map(|row| row.flatten_clone().try_cast::<Map>()).collect();
    let columns: Vec<String> = keys.iter().map(|key| key.to_uppercase()).collect();
    let cell = |value: Option<&Dynamic>| value.map(cell_text).unwrap_or_default();
    let cells = maps.iter().map(|map| keys.iter().map(|key| cell(map.get(key.as_str()))).collect()).collect();
    table(&columns, cells)
}

/// A list in a cell is its elements, as labels and ports are in kubectl's tables.
fn cell_text(value: &Dynamic) -> String {
    match value.flatten_clone().into_array() {
        Ok(elements) => elements.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        Err(_) if value.is_unit() => String::new(),
        Err(_) => value.to_string(),
    }
}

/// Columns and rows as kubectl aligns them.
pub fn table(columns: &[String], rows: Vec<Vec<String>>) -> String {
    let lines: Vec<Vec<String>> =
        std::iter::once(columns.to_vec()).chain(rows).map(|row| row.iter().map(|cell| clean(cell)).collect()).collect();
    align(&lines).trim_end().to_owned()
}

fn object_table(object: &Object) -> Result<String, Fault> {
    // A missing object is an error with suggestions rather than an empty table.
    object.read()?;
    let table = object.lab.get_table(&object.path())?;
    Ok(clean(table_text(&table, &TableOptions::default()).trim_end()))
}

/// The table of a list.
///
/// # Errors
/// When it cannot be read.
pub fn listing(list: &Listing) -> Result<String, Fault> {
    let values = list.values()?;
    if values.is_empty() {
        let lab = list.lab();
        let place = if list.kind().namespaced && !list.is_everywhere() {
            format!(" in {} namespace", lab.namespace.borrow())
        } else {
            String::new()
        };
        return Ok(format!("No resources found{place}."));
    }
    let mut table = list.lab().get_table(&list.path())?;
    let place = |row: &Value| {
        let name = text(row, &["object", "metadata", "name"]);
        let namespace = text(row, &["object", "metadata", "namespace"]);
        values.iter().position(|value| {
            text(value, &["metadata", "name"]) == name && text(value, &["metadata", "namespace"]) == namespace
        })
    };
    let mut rows: Vec<Value> = items(&table, &["rows"]).iter().filter(|row| place(row).is_some()).cloned().collect();
    rows.sort_by_key(|row| place(row));
    table["rows"] = rows.into();
    let options = TableOptions { namespaces: list.is_everywhere(), ..TableOptions::default() };
    Ok(clean(table_text(&table, &options).trim_end()))
}
