//! Handles: names of objects. Every read asks the API, so that a handle is never stale.

use std::rc::Rc;

use rhai::{Dynamic, Engine, Map};
use serde_json::Value;

use super::act::Applied;
use super::convert::{at, items, text, to_script};
use super::docs::{Noun, Registrar};
use super::fault::{Fault, Res};
use super::kinds::{KindRef, encode};
use super::lab::Lab;
use super::listing::Listing;
use super::options::kind_of;
use super::suggest::did_you_mean;

/// A named object.
#[derive(Clone, Debug)]
pub struct Object {
    /// Where it lives.
    pub lab: Rc<Lab>,
    /// Its kind.
    pub kind: Rc<KindRef>,
    /// Its namespace, empty for kinds without.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Object {
    /// An object of a kind in the current namespace.
    pub fn here(lab: &Rc<Lab>, kind: Rc<KindRef>, name: &str) -> Object {
        let namespace = lab.place(&kind);
        Object { lab: lab.clone(), kind, namespace, name: name.to_owned() }
    }

    /// The object of a manifest or an answer.
    pub fn of(lab: &Rc<Lab>, kind: Rc<KindRef>, value: &Value) -> Object {
        let namespace = text(value, &["metadata", "namespace"]).to_owned();
        Object { lab: lab.clone(), kind, namespace, name: text(value, &["metadata", "name"]).to_owned() }
    }

    /// `pod/a`, `deployment.apps/a`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.kind.printed(), self.name)
    }

    /// The object's path.
    pub fn path(&self) -> String {
        format!("{}/{}", self.kind.path(&self.namespace), encode(&self.name))
    }

    /// The object as it is now.
    ///
    /// # Errors
    /// When it is not there, with the nearest name that is.
    pub fn read(&self) -> Result<Value, Fault> {
        self.lab.get_path(&self.path()).map_err(|error| if error.is_not_found() { self.missing(error) } else { error })
    }

    /// The object as it is now, if it is there.
    ///
    /// # Errors
    /// When the API refuses for another reason.
    pub fn look(&self) -> Result<Option<Value>, Fault> {
        match self.lab.get_path(&self.path()) {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn missing(&self, error: Fault) -> Fault {
        let names = self.lab.names(&self.kind, &self.namespace);
        let near = did_you_mean(&self.name, names.iter().map(String::as_str));
        let place = if self.namespace.is_empty() { String::new() } else { format!(" in namespace {}", self.namespace) };
        let mut fault = Fault { message: format!("no {} \"{}\"{place}{near}", self.kind.singular, self.name), ..error };
        if near.is_empty() {
            fault.hints.push(match names.as_slice() {
                [] => format!("there are no {} at all{place}", self.kind.plural),
                few if few.len() <= 5 => format!("there are: {}", few.join(", ")),
                many => format!("there are {}, among them {}", many.len(), many[..3].join(", ")),
            });
        }
        fault
    }

    /// Notes the object in the journal before it is touched.
    pub fn touch(&self, before: Option<&Value>) {
        self.lab.journal.borrow_mut().touch(&self.kind, &self.namespace, &self.name, before);
    }

    /// Sends a patch of the object or of a part of it (`status`).
    ///
    /// # Errors
    /// What the API says.
    pub fn patch(&self, part: &str, content_type: &str, patch: &Value) -> Result<Value, Fault> {
        let part = if part.is_empty() { String::new() } else { format!("/{part}") };
        let path = format!("{}{part}?fieldManager={}&fieldValidation=Strict", self.path(), super::lab::MANAGER);
        self.lab
            .request("PATCH", &path, content_type, Some(patch))
            .map_err(|error| if error.is_not_found() { self.missing(error) } else { error })
    }

    /// The script value: the handle type of the kind.
    pub fn into_script(self) -> Dynamic {
        match (self.kind.group.as_str(), self.kind.kind.as_str()) {
            ("", "Node") => Dynamic::from(NodeHandle(self)),
            ("", "Pod") => Dynamic::from(PodHandle(self)),
            ("apps", "Deployment") => Dynamic::from(DeploymentHandle(self)),
            _ => Dynamic::from(ObjectHandle(self)),
        }
    }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $handle:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $handle(pub Object);

        impl Noun for $handle {
            fn id(&self) -> String {
                self.0.id()
            }
            fn lab(&self) -> &Rc<Lab> {
                &self.0.lab
            }
        }

        impl Named for $handle {
            fn object(&self) -> &Object {
                &self.0
            }
        }
    )*};
}

/// A handle.
pub trait Named: Noun {
    /// What it names.
    fn object(&self) -> &Object;
}

handles!(
    /// A node.
    NodeHandle,
    /// A pod.
    PodHandle,
    /// A deployment.
    DeploymentHandle,
    /// An object of any other kind.
    ObjectHandle
);

/// The object that an argument names: a handle, `"pod/a"`, one of applied objects, or (with `kind`) a bare name.
///
/// # Errors
/// When it names none.
pub fn target(lab: &Rc<Lab>, value: &Dynamic, kind: Option<&str>, function: &str) -> Result<Object, Fault> {
    let value = value.flatten_clone();
    if let Some(object) = handle(&value) {
        return Ok(object);
    }
    if let Some(applied) = value.read_lock::<Applied>()
        && let [one] = applied.objects()
    {
        return Ok(one.clone());
    }
    let Ok(word) = value.clone().into_string() else {
        let wanted = kind.map_or_else(
            || "an object or its name, such as \"pod/a\"".to_owned(),
            |kind| format!("a {kind} or its name"),
        );
        return Err(Fault::script(format!("{function} takes {wanted}; got {}", kind_of(&value))));
    };
    match (word.split_once('/'), kind) {
        (Some((kind, name)), _) => Ok(Object::here(lab, lab.kind(kind)?, name)),
        (None, Some(kind)) => Ok(named(lab, lab.kind(kind)?, &word)),
        (None, None) => guess(lab, &word, function),
    }
}

/// The object of a bare name of a known kind; `kind` is another name of the lab's node.
pub fn named(lab: &Rc<Lab>, kind: Rc<KindRef>, name: &str) -> Object {
    if kind.kind == "Node" && name == "kind" {
        let names = lab.names(&kind, "");
        let exact = names.iter().any(|known| known == "kind");
        if let (false, Some(first)) = (exact, lab_node(&names)) {
            return Object::here(lab, kind, first);
        }
    }
    Object::here(lab, kind, name)
}

fn lab_node(names: &[String]) -> Option<&str> {
    let control_plane = names.iter().find(|name| name.ends_with("control-plane"));
    control_plane.or(names.first()).map(String::as_str)
}

/// A bare name where any kind is possible: the one pod, deployment, job or node of that name.
fn guess(lab: &Rc<Lab>, name: &str, function: &str) -> Result<Object, Fault> {
    let mut found = Vec::new();
    let mut known = Vec::new();
    for kind in ["Pod", "Deployment", "Node"] {
        let Some(kind) = KindRef::built_in(kind) else { continue };
        let object = named(lab, Rc::new(kind), name);
        let names = lab.names(&object.kind, &object.namespace);
        if names.contains(&object.name) {
            found.push(object);
        }
        known.extend(names);
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            let near = did_you_mean(name, known.iter().map(String::as_str));
            Err(Fault::script(format!("{function}: there is no pod, deployment or node \"{name}\"{near}"))
                .hint("write kind/name for other kinds, such as \"replicaset/a\""))
        }
        _ => {
            let ids: Vec<String> = found.iter().map(Object::id).collect();
            Err(Fault::script(format!("\"{name}\" is ambiguous: {}", ids.join(", "))))
        }
    }
}

/// The object of a handle.
pub fn handle(value: &Dynamic) -> Option<Object> {
    let value = value.flatten_clone();
    if let Some(node) = value.read_lock::<NodeHandle>() {
        return Some(node.0.clone());
    }
    if let Some(pod) = value.read_lock::<PodHandle>() {
        return Some(pod.0.clone());
    }
    if let Some(deployment) = value.read_lock::<DeploymentHandle>() {
        return Some(deployment.0.clone());
    }
    value.read_lock::<ObjectHandle>().map(|object| object.0.clone())
}

/// Registers the handle types and what all of them share.
pub fn register(registrar: &mut Registrar<'_>) {
    common::<NodeHandle>(registrar, "Node", &NODE);
    common::<PodHandle>(registrar, "Pod", &POD);
    common::<DeploymentHandle>(registrar, "Deployment", &DEPLOYMENT);
    common::<ObjectHandle>(registrar, "Object", &OBJECT);
}

/// Signatures of the shared reads; they must be literals, so each type has its own.
struct Shared {
    name: &'static str,
    namespace: &'static str,
    kind: &'static str,
    exists: &'static str,
    labels: &'static str,
    annotations: &'static str,
    obj: &'static str,
    events: &'static str,
    conditions: &'static str,
}

macro_rules! shared {
    ($constant:ident, $receiver:literal) => {
        const $constant: Shared = Shared {
            name: concat!($receiver, ".name -> string"),
            namespace: concat!($receiver, ".namespace -> string"),
            kind: concat!($receiver, ".kind -> string"),
            exists: concat!($receiver, ".exists() -> bool"),
            labels: concat!($receiver, ".labels() -> map"),
            annotations: concat!($receiver, ".annotations() -> map"),
            obj: concat!($receiver, ".obj() -> map"),
            events: concat!($receiver, ".events() -> Events"),
            conditions: concat!($receiver, ".conditions() -> Rows"),
        };
    };
}

shared!(NODE, "Node");
shared!(POD, "Pod");
shared!(DEPLOYMENT, "Deployment");
shared!(OBJECT, "Object");

fn common<T: Named + rhai::Variant>(registrar: &mut Registrar<'_>, receiver: &str, shared: &Shared) {
    let engine: &mut Engine = registrar.engine;
    engine.register_type_with_name::<T>(receiver);
    engine.register_fn("to_string", |handle: &mut T| handle.object().name.clone());
    engine.register_fn("to_debug", |handle: &mut T| handle.id());
    engine.register_fn("==", |one: &mut T, two: T| same(one.object(), two.object()));
    engine.register_fn("!=", |one: &mut T, two: T| !same(one.object(), two.object()));
    registrar.read(shared.name, "metadata.name", "The name.", |handle: &T| Ok(handle.object().name.clone()));
    registrar.read(shared.namespace, "metadata.namespace", "The namespace, empty for kinds without.", |handle: &T| {
        Ok(handle.object().namespace.clone())
    });
    registrar.read(shared.kind, "kind", "The kind, such as `Pod`.", |handle: &T| Ok(handle.object().kind.kind.clone()));
    registrar.read(shared.exists, "exists", "Whether the object is there now.", |handle: &T| {
        Ok(handle.object().look()?.is_some())
    });
    registrar.read(shared.labels, "metadata.labels", "The labels, as a map.", |handle: &T| {
        part(handle.object(), &["metadata", "labels"])
    });
    registrar.read(shared.annotations, "metadata.annotations", "The annotations, as a map.", |handle: &T| {
        part(handle.object(), &["metadata", "annotations"])
    });
    registrar.read(shared.obj, "metadata.resourceVersion", "The whole object as a map, as it is now.", |handle: &T| {
        part(handle.object(), &[])
    });
    registrar.read(shared.events, "events", "The events about the object, oldest first.", |handle: &T| {
        Ok(Listing::events_of(handle.object()))
    });
    registrar.read(
        shared.conditions,
        "status.conditions",
        "The conditions of the status, as a table.",
        |handle: &T| conditions(handle.object()),
    );
}

fn same(one: &Object, two: &Object) -> bool {
    one.kind == two.kind && one.namespace == two.namespace && one.name == two.name
}

/// A part of the object as a map; an absent one is empty.
pub fn part(object: &Object, path: &[&str]) -> Res<Map> {
    let value = object.read()?;
    Ok(to_script(at(&value, path)).try_cast::<Map>().unwrap_or_default())
}

fn conditions(object: &Object) -> Res<super::rows::Rows> {
    let value = object.read()?;
    let rows = items(&value, &["status", "conditions"]).iter().map(|condition| {
        ["type", "status", "reason", "message"].map(|key| (key, to_script(at(condition, &[key])))).to_vec()
    });
    Ok(super::rows::Rows::new(&["type", "status", "reason", "message"], rows))
}
