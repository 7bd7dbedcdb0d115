//! Verbs that change objects: apply, patch, delete, scale, label.

use std::rc::Rc;

use rhai::{Dynamic, Map};
use serde_json::{Value, json};

use super::convert::{at, text, to_json};
use super::docs::Registrar;
use super::fault::{Fault, Res};
use super::lab::{Lab, MANAGER};
use super::listing::Listing;
use super::manifest;
use super::merge::{LAST_APPLIED, difference, three_way, with_last_applied};
use super::object::{Object, target};
use super::options::{Options, kind_of};

/// What a verb did to each of several objects; prints as kubectl does.
#[derive(Clone, Debug)]
pub struct Applied {
    done: Rc<Vec<(Object, &'static str)>>,
    targets: Rc<Vec<Object>>,
}

impl Applied {
    /// Objects, each with what was done to it.
    pub fn new(done: Vec<(Object, &'static str)>) -> Applied {
        let targets = done.iter().map(|(object, _)| object.clone()).collect();
        Applied { done: Rc::new(done), targets: Rc::new(targets) }
    }

    /// The objects.
    pub fn objects(&self) -> &[Object] {
        &self.targets
    }

    /// `pod/a created`, one line each.
    pub fn lines(&self) -> String {
        self.done.iter().map(|(object, did)| format!("{} {did}", object.id())).collect::<Vec<_>>().join("\n")
    }
}

impl IntoIterator for Applied {
    type Item = Dynamic;
    type IntoIter = std::vec::IntoIter<Dynamic>;
    fn into_iter(self) -> Self::IntoIter {
        self.targets.iter().cloned().map(Object::into_script).collect::<Vec<_>>().into_iter()
    }
}

/// Registers the verbs.
pub fn register(registrar: &mut Registrar<'_>) {
    applied(registrar);
    changes(registrar);
    deletes(registrar);
    scales(registrar);
}

fn applied(registrar: &mut Registrar<'_>) {
    let engine = &mut *registrar.engine;
    engine.register_type_with_name::<Applied>("Applied");
    engine.register_iterator::<Applied>();
    engine.register_fn("to_string", |applied: &mut Applied| applied.lines());
    engine.register_fn("to_debug", |applied: &mut Applied| applied.lines());
    engine.register_indexer_get(|applied: &mut Applied, index: i64| -> Res<Dynamic> {
        let object = usize::try_from(index).ok().and_then(|at| applied.targets.get(at).cloned());
        Ok(object.map(Object::into_script).ok_or_else(|| {
            Fault::script(format!("there is no element {index}: {} objects were touched", applied.targets.len()))
        })?)
    });
    registrar
        .function("Applied.len() -> int", "Number of objects.", |applied: &mut Applied| applied.targets.len() as i64);
    registrar.function("Applied.names() -> array", "Names of the objects.", |applied: &mut Applied| -> rhai::Array {
        applied.targets.iter().map(|object| object.name.clone().into()).collect()
    });
    let lab = registrar.lab.clone();
    registrar.function(
        "apply(manifest: string or map) -> Applied",
        "Creates the objects of a manifest, or changes them to it, as kubectl apply does: fields that an earlier apply set and that are gone from the manifest are removed.\nFails: with the API server's words for unknown fields and wrong values.\nExample: apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: plan}, data: {wing: north}}`);\nSee: submit, patch, delete, yaml",
        move |manifest: Dynamic| -> Res<Applied> {
            let mut done = Vec::new();
            for object in manifests(&lab, &manifest)? {
                done.push(apply(&lab, object)?);
            }
            Ok(Applied::new(done))
        },
    );
}

/// The objects of an argument: a text, the name of a file, a map, or an array of maps.
///
/// # Errors
/// When it holds none.
pub fn manifests(lab: &Lab, manifest: &Dynamic) -> Result<Vec<Value>, Fault> {
    let value = manifest.flatten_clone();
    if let Ok(text) = value.clone().into_string() {
        return manifest::parse(&from_file(lab, text)?);
    }
    match to_json(&value) {
        Value::Array(items) => {
            let mut objects = Vec::new();
            for item in items {
                objects.extend(manifest::open(item)?);
            }
            Ok(objects)
        }
        object @ Value::Object(_) => manifest::open(object),
        _ => Err(Fault::script(format!("a manifest is YAML or JSON text or a map; got {}", kind_of(&value)))),
    }
}

/// The text of a manifest, or of the file that it names (beside the running script).
fn from_file(lab: &Lab, text: String) -> Result<String, Fault> {
    if text.contains(['\n', '{', ':']) || ![".yaml", ".yml", ".json"].iter().any(|end| text.ends_with(end)) {
        return Ok(text);
    }
    let file = lab.directory.borrow().clone().unwrap_or_default().join(&text);
    std::fs::read_to_string(&file).map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        };
        Fault::script(format!("cannot read the manifest {}: {why}", file.display()))
    })
}

/// The object that a manifest is about, with its namespace filled in.
///
/// # Errors
/// When the server does not know the kind, or there is no name.
pub fn locate(lab: &Rc<Lab>, manifest: &mut Value) -> Result<Object, Fault> {
    let kind = lab.kind_of(text(manifest, &["apiVersion"]), text(manifest, &["kind"]))?;
    if kind.namespaced && text(manifest, &["metadata", "namespace"]).is_empty() {
        let namespace = lab.namespace.borrow().clone();
        if !manifest["metadata"].is_object() {
            manifest["metadata"] = json!({});
        }
        manifest["metadata"]["namespace"] = namespace.into();
    }
    Ok(Object::of(lab, kind, manifest))
}

fn apply(lab: &Rc<Lab>, mut wanted: Value) -> Result<(Object, &'static str), Fault> {
    let object = locate(lab, &mut wanted)?;
    if object.name.is_empty() {
        return Err(if text(&wanted, &["metadata", "generateName"]).is_empty() {
            Fault::script("the manifest has no metadata.name")
        } else {
            Fault::script("cannot use generate name with apply").hint("submit(manifest) takes generateName")
        });
    }
    let wanted = with_last_applied(wanted);
    let Some(live) = object.look()? else {
        create(&object, &wanted)?;
        return Ok((object, "created"));
    };
    let last = text(&live, &["metadata", "annotations", LAST_APPLIED]);
    let last: Value = serde_json::from_str(last).unwrap_or_default();
    let custom = lab.custom_kinds().contains(&object.kind);
    let merged = three_way(&last, &live, &wanted, !custom);
    let Some(patch) = difference(&live, &merged) else { return Ok((object, "unchanged")) };
    object.touch(Some(&live));
    let after = object.patch("", "application/merge-patch+json", &patch)?;
    let same = at(&after, &["metadata", "resourceVersion"]) == at(&live, &["metadata", "resourceVersion"]);
    Ok((object, if same { "unchanged" } else { "configured" }))
}

/// Creates an object.
///
/// # Errors
/// What the API says.
pub fn create(object: &Object, manifest: &Value) -> Result<Object, Fault> {
    let path = format!("{}?fieldManager={MANAGER}&fieldValidation=Strict", object.kind.path(&object.namespace));
    let made = object.lab.request("POST", &path, "application/json", Some(manifest))?;
    let object = Object::of(&object.lab, object.kind.clone(), &made);
    object.touch(None);
    Ok(object)
}

fn changes(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "patch(x: string or handle, change: map) -> Applied",
        "Patches an object with a map (as kubectl patch does) or with an array of JSON patch operations; a third argument names a part such as \"status\".\nFails: with the API server's words.\nExample: patch(node(\"kind\"), #{metadata: #{annotations: #{note: \"inspected\"}}});\nSee: label, apply, capacity",
        {
            let lab = lab.clone();
            move |x: Dynamic, change: Dynamic| -> Res<Applied> { Ok(patch(&lab, &x, &change, "")?) }
        },
    );
    registrar.function("patch(x: string or handle, change: map, part: string) -> Applied", "", {
        let lab = lab.clone();
        move |x: Dynamic, change: Dynamic, part: &str| -> Res<Applied> { Ok(patch(&lab, &x, &change, part)?) }
    });
    registrar.function(
        "label(x: string or handle, labels: map) -> Applied",
        "Sets labels of an object; a label set to () is removed.\nExample: label(node(\"kind\"), #{wing: \"north\"});\n  label(node(\"kind\"), #{wing: ()});\nSee: patch, taint",
        move |x: Dynamic, labels: Dynamic| -> Res<Applied> {
            let object = target(&lab, &x, None, "label")?;
            let Some(labels) = labels.flatten_clone().try_cast::<Map>() else {
                return Err(Fault::script(format!("label takes a map of labels, such as #{{wing: \"north\"}}; got {}", kind_of(&labels))).into());
            };
            let value = |value: &Dynamic| if value.is_unit() { Value::Null } else { value.to_string().into() };
            let labels: Value = labels.iter().map(|(key, label)| (key.to_string(), value(label))).collect::<serde_json::Map<_, _>>().into();
            Ok(merge(&object, "", &json!({"metadata": {"labels": labels}}), "labeled")?)
        },
    );
}

fn patch(lab: &Rc<Lab>, x: &Dynamic, change: &Dynamic, part: &str) -> Result<Applied, Fault> {
    let object = target(lab, x, None, "patch")?;
    let body = to_json(change);
    let content = match &body {
        Value::Array(_) => "application/json-patch+json",
        Value::Object(_) if lab.custom_kinds().contains(&object.kind) => "application/merge-patch+json",
        Value::Object(_) => "application/strategic-merge-patch+json",
        _ => {
            return Err(Fault::script(format!("patch takes a map or an array of operations; got {}", kind_of(change))));
        }
    };
    send(&object, part, content, &body, "patched")
}

/// Sends a merge patch.
///
/// # Errors
/// What the API says.
pub fn merge(object: &Object, part: &str, body: &Value, did: &'static str) -> Result<Applied, Fault> {
    send(object, part, "application/merge-patch+json", body, did)
}

/// Sends a patch, noting how the object was before.
///
/// # Errors
/// What the API says.
pub fn send(object: &Object, part: &str, content: &str, body: &Value, did: &'static str) -> Result<Applied, Fault> {
    let before = object.read()?;
    object.touch(Some(&before));
    let after = object.patch(part, content, body)?;
    let same = at(&after, &["metadata", "resourceVersion"]) == at(&before, &["metadata", "resourceVersion"]);
    let did = if same && part.is_empty() && did == "patched" { "patched (no change)" } else { did };
    Ok(Applied::new(vec![(object.clone(), did)]))
}

fn deletes(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "delete(x: string, handle or list) -> Applied",
        "Asks the API to delete an object, or every object of a list; options are grace (seconds), propagation (\"Foreground\", \"Background\", \"Orphan\").\nWaits: for nothing; pods leave after their grace period when time passes.\nFails: when there is no such object.\nExample: submit(#{name: \"mri\", gpus: 1});\n  delete(\"pod/mri\");\nSee: finish, settle",
        {
            let lab = lab.clone();
            move |x: Dynamic| -> Res<Applied> { Ok(delete(&lab, &x, &json!({"propagationPolicy": "Background"}))?) }
        },
    );
    registrar.function(
        "delete(x: string, handle or list, options: map) -> Applied",
        "",
        move |x: Dynamic, options: Dynamic| -> Res<Applied> {
            if options.is_string() {
                // kubectl's order of words.
                let id = format!("{}/{}", x, options);
                return Ok(delete(&lab, &id.into(), &json!({"propagationPolicy": "Background"}))?);
            }
            let options = Options::read("delete", options, &["grace", "propagation"])?;
            let mut body =
                json!({"propagationPolicy": options.text("propagation")?.unwrap_or_else(|| "Background".into())});
            if let Some(grace) = options.span("grace")? {
                body["gracePeriodSeconds"] = grace.as_secs().into();
            }
            Ok(delete(&lab, &x, &body)?)
        },
    );
}

fn delete(lab: &Rc<Lab>, x: &Dynamic, options: &Value) -> Result<Applied, Fault> {
    let value = x.flatten_clone();
    let objects = if let Some(list) = value.read_lock::<Listing>() {
        list.values()?.iter().map(|value| Object::of(lab, list.kind().clone(), value)).collect()
    } else if let Some(applied) = value.read_lock::<Applied>() {
        applied.objects().to_vec()
    } else {
        vec![target(lab, &value, None, "delete")?]
    };
    let mut done = Vec::new();
    for object in objects {
        let before = object.read()?;
        object.touch(Some(&before));
        lab.request("DELETE", &object.path(), "application/json", Some(options))?;
        done.push((object, "deleted"));
    }
    Ok(Applied::new(done))
}

fn scales(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "scale(x: string or handle, replicas: int) -> Applied",
        "Sets the number of replicas of a deployment or replica set.\nWaits: for nothing; pods come and go when time passes.\nExample: print(exists(\"deployment/web\"));\nSee: deployment, wait_running",
        move |x: Dynamic, replicas: Dynamic| -> Res<Applied> {
            let bare = x.clone().into_string().is_ok_and(|name| !name.contains('/'));
            let object = target(&lab, &x, bare.then_some("deployment"), "scale")?;
            let Ok(count) = replicas.as_int() else {
                return Err(Fault::script(format!("scale takes a number of replicas; got {}", kind_of(&replicas))).into());
            };
            let before = object.read()?;
            object.touch(Some(&before));
            object.patch("scale", "application/merge-patch+json", &json!({"spec": {"replicas": count}}))?;
            Ok(Applied::new(vec![(object, "scaled")]))
        },
    );
}
