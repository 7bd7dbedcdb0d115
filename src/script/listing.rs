//! Lists of objects: live tables that ask the API whenever they are looked at.

use std::rc::Rc;

use rhai::{Array, Dynamic, FnPtr, NativeCallContext};
use serde_json::Value;

use super::convert::{text, to_script};
use super::docs::{Noun, Registrar};
use super::fault::{Fault, Res};
use super::kinds::KindRef;
use super::lab::Lab;
use super::object::{Object, handle};
use super::options::kind_of;
use super::suggest::did_you_mean;

/// A list of objects of one kind.
#[derive(Clone, Debug)]
pub struct Listing {
    lab: Rc<Lab>,
    kind: Rc<KindRef>,
    namespace: String,
    labels: String,
    fields: String,
    /// Only these names, in this order; set by `filter`.
    only: Option<Rc<Vec<String>>>,
}

impl Listing {
    /// All objects of a kind in the current namespace, or those that labels select.
    pub fn new(lab: &Rc<Lab>, kind: Rc<KindRef>, labels: &str) -> Listing {
        let namespace = lab.place(&kind);
        Listing { lab: lab.clone(), kind, namespace, labels: labels.to_owned(), fields: String::new(), only: None }
    }

    /// The same with a field selector.
    #[must_use]
    pub fn fields(mut self, fields: &str) -> Listing {
        self.fields = fields.to_owned();
        self
    }

    /// The same across all namespaces.
    #[must_use]
    pub fn everywhere(mut self) -> Listing {
        self.namespace = String::new();
        self
    }

    /// The events about an object.
    pub fn events_of(object: &Object) -> Listing {
        let kind = Rc::new(KindRef::built_in("Event").unwrap_or_else(|| (*object.kind).clone()));
        let fields = format!("involvedObject.kind={},involvedObject.name={}", object.kind.kind, object.name);
        // Events of objects without a namespace are kept in `default`.
        let namespace = if object.namespace.is_empty() { "default" } else { &object.namespace };
        Listing {
            lab: object.lab.clone(),
            kind,
            namespace: namespace.to_owned(),
            labels: String::new(),
            fields,
            only: None,
        }
    }

    /// What the list shows now.
    ///
    /// # Errors
    /// What the API says.
    pub fn values(&self) -> Result<Vec<Value>, Fault> {
        let mut values = self.lab.list(&self.kind, &self.namespace, &self.labels, &self.fields)?;
        if let Some(only) = &self.only {
            let place = |value: &Value| only.iter().position(|name| name == text(value, &["metadata", "name"]));
            values.retain(|value| place(value).is_some());
            values.sort_by_key(place);
        }
        if self.kind.kind == "Event" {
            values.sort_by_key(event_order);
        }
        Ok(values)
    }

    /// The path of the list with its selectors.
    pub fn path(&self) -> String {
        super::lab::list_path(&self.kind, &self.namespace, &self.labels, &self.fields)
    }

    /// The kind of the objects.
    pub fn kind(&self) -> &Rc<KindRef> {
        &self.kind
    }

    /// Whether it covers all namespaces.
    pub fn is_everywhere(&self) -> bool {
        self.kind.namespaced && self.namespace.is_empty()
    }

    fn handles(&self) -> Result<Vec<Dynamic>, Fault> {
        Ok(self.values()?.iter().map(|value| self.element(value)).collect())
    }

    /// An element: a handle, or for events the event itself as a map.
    fn element(&self, value: &Value) -> Dynamic {
        if self.kind.kind == "Event" {
            event_map(value)
        } else {
            Object::of(&self.lab, self.kind.clone(), value).into_script()
        }
    }

    fn names(&self) -> Result<Vec<String>, Fault> {
        Ok(self.values()?.iter().map(|value| text(value, &["metadata", "name"]).to_owned()).collect())
    }
}

impl Noun for Listing {
    fn id(&self) -> String {
        let selectors: Vec<&str> =
            [&self.labels, &self.fields].into_iter().map(String::as_str).filter(|one| !one.is_empty()).collect();
        if selectors.is_empty() {
            self.kind.plural.clone()
        } else {
            format!("{} ({})", self.kind.plural, selectors.join(","))
        }
    }
    fn lab(&self) -> &Rc<Lab> {
        &self.lab
    }
}

/// When an event was last seen, then the order of writing.
fn event_order(event: &Value) -> (String, u64) {
    let seen =
        [&["lastTimestamp"][..], &["series", "lastObservedTime"], &["eventTime"], &["metadata", "creationTimestamp"]]
            .into_iter()
            .map(|path| text(event, path))
            .find(|time| !time.is_empty())
            .unwrap_or("");
    // Microseconds of `eventTime` and whole seconds of the others compare by the second.
    let second = seen.get(..19).unwrap_or(seen).to_owned();
    (second, text(event, &["metadata", "resourceVersion"]).parse().unwrap_or(0))
}

/// An event in the words of a user.
fn event_map(event: &Value) -> Dynamic {
    let about = &event["involvedObject"];
    let object = format!("{}/{}", text(about, &["kind"]).to_lowercase(), text(about, &["name"]));
    let source = match text(event, &["source", "component"]) {
        "" => text(event, &["reportingComponent"]),
        component => component,
    };
    let count = event["count"].as_i64().or_else(|| event["series"]["count"].as_i64()).unwrap_or(1);
    let map: rhai::Map = [
        ("type", text(event, &["type"]).into()),
        ("reason", text(event, &["reason"]).into()),
        ("object", object.into()),
        ("message", text(event, &["message"]).into()),
        ("source", source.into()),
        ("count", count.into()),
        ("obj", to_script(event)),
    ]
    .into_iter()
    .map(|(key, value): (&str, Dynamic)| (key.into(), value))
    .collect();
    map.into()
}

/// Iterates over what a list shows at the start of the loop.
impl IntoIterator for Listing {
    type Item = Res<Dynamic>;
    type IntoIter = std::vec::IntoIter<Res<Dynamic>>;
    fn into_iter(self) -> Self::IntoIter {
        match self.handles() {
            Ok(handles) => handles.into_iter().map(Ok).collect::<Vec<_>>().into_iter(),
            Err(error) => vec![Err(error.into())].into_iter(),
        }
    }
}

/// Registers the type.
pub fn register(registrar: &mut Registrar<'_>) {
    let engine = &mut *registrar.engine;
    engine.register_type_with_name::<Listing>("List");
    engine.register_iterator_result::<Listing, Dynamic>();
    engine.register_fn("to_string", |list: &mut Listing| -> Res<String> { Ok(super::show::listing(list)?) });
    engine.register_fn("to_debug", |list: &mut Listing| -> Res<String> { Ok(super::show::listing(list)?) });
    engine.register_indexer_get(|list: &mut Listing, index: i64| -> Res<Dynamic> { Ok(nth(list, index)?) });
    engine.register_indexer_get(|list: &mut Listing, name: &str| -> Res<Dynamic> { Ok(by_name(list, name)?) });
    registrar.read(
        "List.len() -> int",
        "len",
        "Number of objects in the list now.\nExample: print(nodes().len());",
        |list: &Listing| Ok(list.values()?.len() as i64),
    );
    registrar.read(
        "List.names() -> array",
        "names",
        "Names of the objects in the list now.\nExample: print(nodes().names());",
        |list: &Listing| Ok(list.names()?.into_iter().map(Dynamic::from).collect::<Array>()),
    );
    registrar.read(
        "List.is_empty() -> bool",
        "is_empty",
        "Whether the list shows nothing now.\nExample: expect(pods().is_empty(), \"no pods yet\");",
        |list: &Listing| Ok(list.values()?.is_empty()),
    );
    registrar.function("List.obj() -> array", "All objects as an array of maps.", |list: &mut Listing| -> Res<Array> {
        Ok(list.values()?.iter().map(to_script).collect())
    });
    registrar.function(
        "List.contains(name: string) -> bool",
        "Whether an object of that name is in the list.",
        |list: &mut Listing, name: Dynamic| -> Res<bool> {
            let wanted = handle(&name).map_or_else(|| name.to_string(), |object| object.name);
            Ok(list.names()?.contains(&wanted))
        },
    );
    closures(registrar);
}

fn closures(registrar: &mut Registrar<'_>) {
    registrar.function(
        "List.filter(keep: |x| bool) -> List",
        "The objects for which the closure holds now, as a list.\nExample: print(pods().filter(|p| p.phase == \"Running\").len());",
        |context: NativeCallContext, list: &mut Listing, keep: FnPtr| -> Res<Listing> {
            let mut names = Vec::new();
            for value in list.values()? {
                if truth(&keep.call_within_context::<Dynamic>(&context, (list.element(&value),))?, "filter")? {
                    names.push(text(&value, &["metadata", "name"]).to_owned());
                }
            }
            Ok(Listing { only: Some(Rc::new(names)), ..list.clone() })
        },
    );
    registrar.function(
        "List.map(make: |x| value) -> array",
        "What the closure makes of each object.\nExample: print(nodes().map(|n| n.gpus()));",
        |context: NativeCallContext, list: &mut Listing, make: FnPtr| -> Res<Array> {
            list.handles()?.into_iter().map(|element| make.call_within_context(&context, (element,))).collect()
        },
    );
    registrar.function(
        "List.all(holds: |x| bool) -> bool",
        "Whether the closure holds for every object.\nExample: expect(nodes().all(|n| n.ready), \"all nodes are ready\");",
        |context: NativeCallContext, list: &mut Listing, holds: FnPtr| -> Res<bool> {
            for element in list.handles()? {
                if !truth(&holds.call_within_context::<Dynamic>(&context, (element,))?, "all")? {
                    return Ok(false);
                }
            }
            Ok(true)
        },
    );
    registrar.function(
        "List.some(holds: |x| bool) -> bool",
        "Whether the closure holds for at least one object.\nExample: expect(!pods().some(|p| p.phase == \"Failed\"), \"nothing failed\");",
        |context: NativeCallContext, list: &mut Listing, holds: FnPtr| -> Res<bool> {
            for element in list.handles()? {
                if truth(&holds.call_within_context::<Dynamic>(&context, (element,))?, "some")? {
                    return Ok(true);
                }
            }
            Ok(false)
        },
    );
}

/// The truth that a closure returned.
pub fn truth(value: &Dynamic, function: &str) -> Result<bool, Fault> {
    value.flatten_clone().as_bool().map_err(|_| {
        Fault::script(format!("the closure of {function} must return true or false; it returned {}", kind_of(value)))
    })
}

fn nth(list: &Listing, index: i64) -> Result<Dynamic, Fault> {
    let values = list.values()?;
    let at = usize::try_from(if index < 0 { index + values.len() as i64 } else { index }).ok();
    at.and_then(|at| values.get(at)).map(|value| list.element(value)).ok_or_else(|| {
        let count = values.len();
        Fault::script(format!("there is no element {index}: the list of {} has {count}", list.kind.plural))
    })
}

fn by_name(list: &Listing, name: &str) -> Result<Dynamic, Fault> {
    let values = list.values()?;
    let find = |value: &&Value| text(value, &["metadata", "name"]) == name;
    values.iter().find(find).map(|value| list.element(value)).ok_or_else(|| {
        let names: Vec<&str> = values.iter().map(|value| text(value, &["metadata", "name"])).collect();
        Fault::script(format!("no {} \"{name}\" in the list{}", list.kind.singular, did_you_mean(name, names)))
    })
}
