//! What of an observation is a fact, and what only has a shape.
//!
//! Shapes: UIDs, random suffixes, template hashes, addresses, container ids, digests, times. Everything else is a fact.
//! Facts are kept per thing (an object, or what events speak of): the object, the events about it in order per source,
//! and, for a thing whose name was generated, the events of others that mention it. Things whose names were generated
//! from the same prefix form a class and are interchangeable.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::{Map, Value, json};

/// Things of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct Thing {
    /// The name as recorded.
    pub name: String,
    /// `{object, events: {source: […]}, mentioned: {source: […]}}`.
    pub facts: Value,
}

/// Everything that an observation says, by class.
pub type Facts = BTreeMap<String, Vec<Thing>>;

/// Repetitions of these say only that something waits: at least one is a fact, how many is a race.
const REPEATED: [&str; 3] = ["FailedScheduling", "Pending", "Suspended"];

/// The letters of generated suffixes (`k8s.io/apimachinery/pkg/util/rand`).
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Splits an observation into facts.
pub fn facts(observation: &Value) -> Facts {
    let words = Words::of(observation);
    let mut things: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    things.insert("devices".into(), devices(observation));
    for (kind, objects) in observation.as_object().expect("an observation") {
        for object in objects.as_array().expect("a list").iter().filter(|_| kind != "events") {
            let key = format!("{}/{}", text(object, "/kind"), text(object, "/metadata/name"));
            things.entry(key).or_default().insert("object".into(), words.shaped(&strip(object)));
        }
    }
    let events = list(&observation["events"]);
    for event in events {
        let thing = things.entry(text(event, "/object").to_owned()).or_default();
        append(
            thing,
            "events",
            text(event, "/source"),
            json!({
                "type": event["type"], "reason": event["reason"], "count": event["count"],
                "message": words.shaped(&event["message"]),
            }),
        );
    }
    let generated: Vec<String> = things.keys().filter(|key| class(key).is_some()).cloned().collect();
    for event in events {
        for key in generated.iter().filter(|key| *key != text(event, "/object")) {
            let name = key.split_once('/').expect("a kind").1;
            if text(event, "/message").contains(name) {
                let about = format!("{} {}", words.word(text(event, "/object")), text(event, "/reason"));
                let message = words.shaped(&event["message"]);
                append(things.get_mut(key).expect("a thing"), "mentioned", &about, message);
            }
        }
    }
    let mut facts = Facts::new();
    for (key, mut thing) in things {
        thing.entry("events").or_insert_with(|| json!({}));
        let own = thing.get("object").map(|object| text(object, "/spec/nodeName").to_owned()).unwrap_or_default();
        let class = class(&key).unwrap_or(&key);
        let things = facts.entry(words.word(class)).or_default();
        things.push(Thing { name: key, facts: placed(Value::Object(thing), &own) });
    }
    facts
}

/// Which device a pod got is random; how many are held is a fact, and so is that none is held twice.
fn devices(observation: &Value) -> Map<String, Value> {
    let mut places = Vec::new();
    for pod in list(&observation["pods"]).iter().filter(|pod| pod["status"]["phase"] == "Running") {
        let held =
            list(&pod["status"]["containerStatuses"]).iter().flat_map(|of| list(&of["allocatedResourcesStatus"]));
        let devices = held.flat_map(|held| list(&held["resources"]));
        places.extend(devices.map(|device| format!("{}/{}", pod["spec"]["nodeName"], device["resourceID"])));
    }
    let different = places.iter().collect::<BTreeSet<_>>().len();
    Map::from_iter([("object".to_owned(), json!({ "held": places.len(), "different": different }))])
}

/// The items of a list that may be absent.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

/// Adds to the list under `section` and `of`; what only repeats the last entry is dropped.
fn append(thing: &mut Map<String, Value>, section: &str, of: &str, fact: Value) {
    let lists = thing.entry(section).or_insert_with(|| json!({})).as_object_mut().expect("a map");
    let list = lists.entry(of).or_insert_with(|| json!([])).as_array_mut().expect("a list");
    if REPEATED.contains(&text(&fact, "/reason")) {
        let fact = json!({ "type": fact["type"], "reason": fact["reason"], "message": fact["message"] });
        if list.last() != Some(&fact) {
            list.push(fact);
        }
    } else {
        list.push(fact);
    }
}

/// A node that a `Scheduled` event names must be the pod's; which one, the pod says.
fn placed(mut facts: Value, node: &str) -> Value {
    if let Some(events) = facts.pointer_mut("/events/default-scheduler").and_then(Value::as_array_mut) {
        for event in events.iter_mut().filter(|event| event["reason"] == "Scheduled") {
            if let Some(start) = text(event, "/message").strip_suffix(&format!(" to {node}")) {
                event["message"] = format!("{start} to <its node>").into();
            }
        }
    }
    facts
}

/// The key without its generated suffix, with a star instead; none if the name was given.
pub fn class(key: &str) -> Option<&str> {
    let (stem, suffix) = key.strip_prefix("Pod/")?.rsplit_once('-')?;
    let generated = suffix.len() == 5 && suffix.bytes().all(|letter| ALPHABET.contains(&letter));
    generated.then(|| &key[.."Pod/".len() + stem.len() + 1])
}

/// What the recorder left out.
fn strip(object: &Value) -> Value {
    let mut object = object.clone();
    if let (true, Some(status)) = (object["kind"] == "Node", object["status"].as_object_mut()) {
        status.remove("nodeInfo");
        status.remove("images");
    }
    // While a pod without limits terminates, this may show what the control group says: an artefact.
    if object["metadata"]["deletionTimestamp"].is_string()
        && let Some(status) = object["status"].as_object_mut()
    {
        status.remove("resources");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["managedFields", "resourceVersion", "creationTimestamp", "selfLink"] {
            metadata.remove(field);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    }
    object
}

/// What stands for the words of one observation that only have a shape.
struct Words {
    /// Names with generated parts, longest first, and what stands for them.
    names: Vec<(String, String)>,
    uids: BTreeMap<String, String>,
}

impl Words {
    fn of(observation: &Value) -> Words {
        let mut names = BTreeMap::new();
        let mut uids = BTreeMap::new();
        let lists = observation.as_object().expect("an observation").iter();
        let objects = lists.flat_map(|(_, objects)| objects.as_array().expect("a list"));
        for object in objects {
            let hash = text(object, "/metadata/labels/pod-template-hash");
            if !hash.is_empty() {
                let revision = text(object, "/metadata/annotations/deployment.kubernetes.io~1revision");
                let name = names.entry(hash.to_owned()).or_insert_with(String::new);
                if !revision.is_empty() || name.is_empty() {
                    *name = format!("<hash {}>", if revision.is_empty() { "1" } else { revision });
                }
            }
            for key in [
                format!("{}/{}", text(object, "/kind"), text(object, "/metadata/name")),
                text(object, "/object").to_owned(),
            ] {
                if let Some(stem) = class(&key) {
                    names.insert(key["Pod/".len()..].to_owned(), format!("{}*", &stem["Pod/".len()..]));
                }
            }
            let uid = text(object, "/metadata/uid");
            if is_uid(uid) {
                uids.insert(uid.to_owned(), format!("{}/{}", text(object, "/kind"), text(object, "/metadata/name")));
            }
        }
        let mut names: Vec<(String, String)> = names.into_iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Words { names, uids }
    }

    /// A string with shapes in place of what was generated.
    fn word(&self, word: &str) -> String {
        if let Some(owner) = self.uids.get(word) {
            return format!("<uid of {}>", self.word(owner));
        }
        if word.contains(' ') {
            let shaped = word.split(' ').map(|part| if is_uid(part) { self.word(part) } else { part.to_owned() });
            return self.named(&shaped.collect::<Vec<_>>().join(" "));
        }
        if let Some(shape) = shape(word) {
            return shape;
        }
        let word = self.named(word);
        match word.strip_prefix("kube-api-access-") {
            Some(suffix) if suffix.len() == 5 => "kube-api-access-<suffix>".into(),
            _ => word,
        }
    }

    fn named(&self, word: &str) -> String {
        let mut word = word.to_owned();
        for (name, shape) in &self.names {
            if word.contains(name.as_str()) {
                word = word.replace(name.as_str(), shape);
            }
        }
        word
    }

    fn shaped(&self, value: &Value) -> Value {
        match value {
            Value::String(word) => self.word(word).into(),
            Value::Array(list) => list.iter().map(|item| self.shaped(item)).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(key, item)| match key.as_str() {
                    "resourceID" => (key.clone(), "<device>".into()),
                    _ => (self.word(key), self.shaped(item)),
                })
                .collect(),
            other => other.clone(),
        }
    }
}

fn is_uid(word: &str) -> bool {
    let groups: Vec<&str> = word.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12] && groups.iter().all(|group| is_hex(group))
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|letter| letter.is_ascii_hexdigit())
}

/// The shape of a string that is only compared by shape.
fn shape(word: &str) -> Option<String> {
    if is_uid(word) {
        return Some("<uid>".into());
    }
    if word.len() >= 20 && word.ends_with('Z') && word.parse::<jiff::Timestamp>().is_ok() {
        return Some(if word.len() == 20 { "<time>" } else { "<precise time>" }.into());
    }
    if word.parse::<IpAddr>().is_ok() {
        return Some("<address>".into());
    }
    ["://", "sha256:"].iter().find_map(|mark| {
        let (start, id) = word.rsplit_once(mark)?;
        (id.len() == 64 && is_hex(id)).then(|| format!("{start}{mark}<id>"))
    })
}
