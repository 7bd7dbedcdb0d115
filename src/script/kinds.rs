//! Names of kinds as users write them, and where the API serves them.

use std::rc::Rc;

use serde_json::Value;

use super::convert::{items, text};
use super::fault::Fault;
use super::lab::Lab;
use super::suggest::did_you_mean;

/// A kind of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindRef {
    /// API group, empty for core.
    pub group: String,
    /// Version used in paths.
    pub version: String,
    /// `Pod`.
    pub kind: String,
    /// `pods`.
    pub plural: String,
    /// `pod`.
    pub singular: String,
    /// `po`.
    pub short: Vec<String>,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
}

/// The kinds that need no look at discovery: group, version, kind, plural, short name, namespaced.
const BUILT_IN: &[(&str, &str, &str, &str, &str, bool)] = &[
    ("", "v1", "Pod", "pods", "po", true),
    ("", "v1", "Node", "nodes", "no", false),
    ("", "v1", "Event", "events", "ev", true),
    ("", "v1", "Namespace", "namespaces", "ns", false),
    ("", "v1", "ConfigMap", "configmaps", "cm", true),
    ("", "v1", "Secret", "secrets", "", true),
    ("", "v1", "Service", "services", "svc", true),
    ("", "v1", "ServiceAccount", "serviceaccounts", "sa", true),
    ("apps", "v1", "Deployment", "deployments", "deploy", true),
    ("apps", "v1", "ReplicaSet", "replicasets", "rs", true),
    ("apps", "v1", "DaemonSet", "daemonsets", "ds", true),
    ("apps", "v1", "StatefulSet", "statefulsets", "sts", true),
    ("batch", "v1", "Job", "jobs", "", true),
    ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc", false),
    ("coordination.k8s.io", "v1", "Lease", "leases", "", true),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", true),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", "crd", false),
];

impl KindRef {
    /// A built-in kind by its kind name.
    pub fn built_in(kind: &str) -> Option<KindRef> {
        BUILT_IN.iter().find(|known| known.2 == kind).map(KindRef::from_row)
    }

    fn from_row(row: &(&str, &str, &str, &str, &str, bool)) -> KindRef {
        let (group, version, kind, plural, short, namespaced) = *row;
        KindRef {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            plural: plural.into(),
            singular: kind.to_lowercase(),
            short: if short.is_empty() { Vec::new() } else { vec![short.into()] },
            namespaced,
        }
    }

    /// `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// How kubectl prints the kind before a name: `pod`, `deployment.apps`.
    pub fn printed(&self) -> String {
        if self.group.is_empty() { self.singular.clone() } else { format!("{}.{}", self.singular, self.group) }
    }

    /// Path of the collection, or of all namespaces when `namespace` is empty.
    pub fn path(&self, namespace: &str) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let place = if self.namespaced && !namespace.is_empty() {
            format!("/namespaces/{}", encode(namespace))
        } else {
            String::new()
        };
        format!("{root}/{}{place}/{}", self.api_version(), self.plural)
    }

    fn answers_to(&self, word: &str) -> bool {
        let (name, group) = word.split_once('.').unwrap_or((word, ""));
        let named = [&self.plural, &self.singular].contains(&&name.to_owned())
            || self.kind == name
            || self.short.iter().any(|short| short == name);
        named && (group.is_empty() || group == self.group)
    }
}

/// Percent-encodes what may not stand in a path segment or a query.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

impl Lab {
    /// The kind that a user's word means: `pod`, `pods`, `po`, `Pod`, `deployments.apps`.
    pub fn kind(&self, word: &str) -> Result<Rc<KindRef>, Fault> {
        let lower = word.to_lowercase();
        let matches = |kind: &KindRef| kind.answers_to(word) || kind.answers_to(&lower);
        if let Some(row) = BUILT_IN.iter().map(KindRef::from_row).find(|kind| matches(kind)) {
            return Ok(Rc::new(row));
        }
        self.discovered(&matches)?.ok_or_else(|| {
            let known = self.kind_names();
            Fault::script(format!(
                "the server has no resource \"{word}\"{}",
                did_you_mean(&lower, known.iter().map(String::as_str))
            ))
        })
    }

    /// The kind of a manifest.
    pub fn kind_of(&self, api_version: &str, kind: &str) -> Result<Rc<KindRef>, Fault> {
        let matches = |known: &KindRef| known.kind == kind && known.api_version() == api_version;
        if let Some(row) = BUILT_IN.iter().map(KindRef::from_row).find(|known| matches(known)) {
            return Ok(Rc::new(row));
        }
        self.discovered(&matches)?.ok_or_else(|| {
            let hint = match BUILT_IN.iter().find(|row| row.2 == kind) {
                Some(row) => format!("{kind} is served as apiVersion: {}", KindRef::from_row(row).api_version()),
                None => {
                    let kinds = BUILT_IN.iter().map(|row| row.2);
                    let near = did_you_mean(kind, kinds);
                    if near.is_empty() {
                        "install its CustomResourceDefinition first".to_owned()
                    } else {
                        near.trim_start_matches("; ").to_owned()
                    }
                }
            };
            Fault::script(format!("no matches for kind \"{kind}\" in version \"{api_version}\"")).hint(hint)
        })
    }

    /// Words for all known kinds.
    pub fn kind_names(&self) -> Vec<String> {
        let custom = self.custom_kinds();
        let mut names: Vec<String> = BUILT_IN.iter().flat_map(|row| [row.3.to_owned(), row.2.to_lowercase()]).collect();
        names.extend(custom.iter().flat_map(|kind| [kind.plural.clone(), kind.singular.clone()]));
        names
    }

    /// Asks discovery for a kind that is not built in. What was found is remembered.
    fn discovered(&self, matches: &dyn Fn(&KindRef) -> bool) -> Result<Option<Rc<KindRef>>, Fault> {
        if let Some(known) = self.custom_kinds().iter().find(|kind| matches(kind)) {
            return Ok(Some(known.clone()));
        }
        let groups = match self.get_path("/apis") {
            Ok(groups) => groups,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for group in items(&groups, &["groups"]) {
            let version = text(group, &["preferredVersion", "groupVersion"]);
            if let Ok(resources) = self.get_path(&format!("/apis/{version}")) {
                found.extend(read_resources(text(group, &["name"]), version, &resources));
            }
        }
        self.remember_kinds(&found);
        Ok(found.into_iter().find(|kind| matches(kind)))
    }
}

fn read_resources(group: &str, group_version: &str, list: &Value) -> Vec<Rc<KindRef>> {
    let version = group_version.rsplit('/').next().unwrap_or(group_version);
    items(list, &["resources"])
        .iter()
        .filter(|resource| !text(resource, &["name"]).contains('/'))
        .map(|resource| {
            let singular = match text(resource, &["singularName"]) {
                "" => text(resource, &["kind"]).to_lowercase(),
                name => name.to_owned(),
            };
            Rc::new(KindRef {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: text(resource, &["kind"]).to_owned(),
                plural: text(resource, &["name"]).to_owned(),
                singular,
                short: items(resource, &["shortNames"])
                    .iter()
                    .filter_map(|name| name.as_str().map(str::to_owned))
                    .collect(),
                namespaced: resource.get("namespaced").and_then(Value::as_bool).unwrap_or(false),
            })
        })
        .collect()
}
