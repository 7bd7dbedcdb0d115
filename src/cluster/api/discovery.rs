//! What the server says about itself: version, health, groups and resources.
//!
//! Source: apiserver `pkg/endpoints/discovery`, `pkg/server/routes`.

use std::sync::Arc;

use super::Server;
use super::negotiate;
use super::registry::{Kind, KindInfo};
use super::request::{Body, Request, Response};
use super::status::Status;
use crate::value::{Text, Value};
use crate::{list, object};

/// Built-in groups in the order in which a real server registers them; custom ones follow.
const GROUPS: [&str; 9] = [
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "batch",
    "policy",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
];

/// Resources that only answer and keep nothing: group, resource, singular, kind.
const REVIEWS: [(&str, &str, &str, &str); 3] = [
    ("authentication.k8s.io", "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview"),
    ("authorization.k8s.io", "selfsubjectaccessreviews", "selfsubjectaccessreview", "SelfSubjectAccessReview"),
    ("authorization.k8s.io", "selfsubjectrulesreviews", "selfsubjectrulesreview", "SelfSubjectRulesReview"),
];

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The answer outside of resources: discovery, version, health.
pub(super) fn answer(server: &Server, request: &Request, segments: &[&str]) -> Response {
    let found = match segments {
        [] => Some(Response::json(200, object! { "paths" => paths(server) })),
        [check @ ("healthz" | "livez" | "readyz")] if request.query.contains("verbose") => {
            return text(200, &format!("[+]ping ok\n{check} check passed\n"));
        }
        ["healthz" | "livez" | "readyz"] | ["healthz" | "livez" | "readyz", "ping"] => return text(200, "ok"),
        ["version"] => Some(Response::json(200, version())),
        ["api"] if aggregated(request) => Some(aggregate(vec![core_group(server)])),
        ["apis"] if aggregated(request) => {
            Some(aggregate(groups(server).iter().map(|group| aggregated_group(server, group)).collect()))
        }
        ["api"] => Some(Response::json(200, core_versions())),
        ["apis"] => Some(Response::json(200, group_list(server))),
        ["api", version] => resource_list(server, "", version).map(|list| Response::json(200, list)),
        ["apis", group] if !versions(server, group).is_empty() => {
            let mut described = group_value(server, group);
            described.set(&["kind"], "APIGroup");
            described.set(&["apiVersion"], "v1");
            Some(Response::json(200, described))
        }
        ["apis", group, version] => resource_list(server, group, version).map(|list| Response::json(200, list)),
        _ => None,
    };
    match found {
        Some(_) if !matches!(request.method.as_str(), "GET" | "HEAD" | "") => {
            let refused = Status::method_not_allowed();
            Response::json(refused.code, refused.to_value())
        }
        Some(found) => found,
        None => page_not_found(),
    }
}

/// `/version`. The suffix says that this is no real server.
fn version() -> Value {
    object! {
        "major" => "1", "minor" => "36", "emulationMajor" => "1", "emulationMinor" => "36",
        "minCompatibilityMajor" => "1", "minCompatibilityMinor" => "35", "gitVersion" => "v1.36.3+gpulab",
        "gitCommit" => "", "gitTreeState" => "", "buildDate" => "1970-01-01T00:00:00Z", "goVersion" => "none",
        "compiler" => "rustc", "platform" => "gpulab/embedded",
    }
}

fn text(status: u16, text: &str) -> Response {
    Response {
        status,
        content_type: "text/plain; charset=utf-8".into(),
        headers: Vec::new(),
        body: Body::Text(text.to_owned()),
    }
}

/// 404 as Go's router says it.
pub(super) fn page_not_found() -> Response {
    text(404, "404 page not found\n")
}

/// Whether anything is served in this group and version.
pub(super) fn serves(server: &Server, group: &str, version: &str) -> bool {
    versions(server, group).iter().any(|known| known == version)
}

/// Served versions of a group, best first.
fn versions(server: &Server, group: &str) -> Vec<Text> {
    let mut found: Vec<Text> = Vec::new();
    if REVIEWS.iter().any(|review| review.0 == group) {
        found.push("v1".into());
    }
    for info in server.registry.iter().filter(|info| info.group == group) {
        for version in &info.versions {
            if !found.contains(version) {
                found.push(version.clone());
            }
        }
    }
    found.sort_by_cached_key(|version| std::cmp::Reverse(rank(version)));
    found
}

/// How Kubernetes ranks versions: stable, then beta, then alpha, higher numbers first; other names last.
fn rank(version: &str) -> (u8, u32, u32, std::cmp::Reverse<String>) {
    let unknown = (0, 0, 0, std::cmp::Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else { return unknown };
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let Ok(major) = rest[..end].parse() else { return unknown };
    let (stage, minor) = match &rest[end..] {
        "" => (3, "0"),
        tail => match (tail.strip_prefix("beta"), tail.strip_prefix("alpha")) {
            (Some(minor), _) => (2, minor),
            (_, Some(minor)) => (1, minor),
            _ => return unknown,
        },
    };
    match minor.parse() {
        Ok(minor) => (stage, major, minor, std::cmp::Reverse(String::new())),
        Err(_) => unknown,
    }
}

fn groups(server: &Server) -> Vec<Text> {
    let mut groups: Vec<Text> = GROUPS.iter().map(|group| Text::from(*group)).collect();
    for info in server.registry.iter() {
        if !info.group.is_empty() && !groups.contains(&info.group) {
            groups.push(info.group.clone());
        }
    }
    groups
}

fn paths(server: &Server) -> Value {
    let mut paths: Vec<String> = ["/api", "/api/v1", "/apis", "/apis/", "/healthz", "/livez", "/readyz", "/version"]
        .into_iter()
        .chain(["/healthz/ping", "/livez/ping", "/readyz/ping"])
        .map(str::to_owned)
        .collect();
    for group in groups(server) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions(server, &group).iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.sort();
    paths.into_iter().map(Value::from).collect()
}

fn core_versions() -> Value {
    object! {
        "kind" => "APIVersions", "versions" => list!["v1"],
        "serverAddressByClientCIDRs" => list![
            object! { "clientCIDR" => "0.0.0.0/0", "serverAddress" => "127.0.0.1:6443" }
        ],
    }
}

fn group_value(server: &Server, group: &str) -> Value {
    let version = |version: &Text| object! { "groupVersion" => format!("{group}/{version}"), "version" => version };
    let versions: Vec<Value> = versions(server, group).iter().map(version).collect();
    let preferred = versions.first().cloned().unwrap_or_default();
    object! { "name" => group, "versions" => versions, "preferredVersion" => preferred }
}

fn group_list(server: &Server) -> Value {
    let groups: Value = groups(server).iter().map(|group| group_value(server, group)).collect();
    object! { "kind" => "APIGroupList", "apiVersion" => "v1", "groups" => groups }
}

/// A resource or subresource as discovery names it.
struct Entry {
    resource: Text,
    subresource: Text,
    singular: Text,
    namespaced: bool,
    /// Group and version of the kind where they are not those of the list.
    foreign: Option<(&'static str, &'static str)>,
    kind: Text,
    verbs: &'static [&'static str],
    short_names: Vec<Text>,
    categories: Vec<Text>,
}

const ALL_VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const NAMESPACE_VERBS: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
/// Custom kinds are listed in an order of their own (apiextensions-apiserver `customresource_discovery_controller.go`).
const CUSTOM_VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

fn entries(server: &Server, group: &str, version: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (_, resource, singular, kind) in REVIEWS.into_iter().filter(|review| review.0 == group && version == "v1") {
        entries.push(Entry {
            resource: resource.into(),
            subresource: Text::default(),
            singular: singular.into(),
            namespaced: false,
            foreign: None,
            kind: kind.into(),
            verbs: &["create"],
            short_names: Vec::new(),
            categories: Vec::new(),
        });
    }
    let served = |info: &&Arc<KindInfo>| info.group == group && info.versions.iter().any(|known| known == version);
    for info in server.registry.iter().filter(served) {
        entries.push(Entry {
            resource: info.plural.clone(),
            subresource: Text::default(),
            singular: info.singular.clone(),
            namespaced: info.namespaced,
            foreign: None,
            kind: info.kind.clone(),
            verbs: match info.id {
                Kind::NAMESPACE => NAMESPACE_VERBS,
                id if server.registry.is_custom(id) => CUSTOM_VERBS,
                _ => ALL_VERBS,
            },
            short_names: info.short_names.clone(),
            categories: info.categories.clone(),
        });
        let mut parts = info.subresources.clone();
        parts.sort();
        entries.extend(parts.into_iter().map(|part| subresource(info, part)));
    }
    entries
}

fn subresource(info: &KindInfo, part: Text) -> Entry {
    let (foreign, kind, verbs): (_, Text, &[&str]) = match part.as_str() {
        "binding" => (None, "Binding".into(), &["create"]),
        "eviction" => (Some(("policy", "v1")), "Eviction".into(), &["create"]),
        "scale" => (Some(("autoscaling", "v1")), "Scale".into(), &["get", "patch", "update"]),
        "log" => (None, info.kind.clone(), &["get"]),
        "finalize" => (None, info.kind.clone(), &["update"]),
        _ => (None, info.kind.clone(), &["get", "patch", "update"]),
    };
    Entry {
        resource: info.plural.clone(),
        subresource: part,
        singular: Text::default(),
        namespaced: info.namespaced,
        foreign,
        kind,
        verbs,
        short_names: Vec::new(),
        categories: Vec::new(),
    }
}

fn texts<'a>(texts: impl IntoIterator<Item = &'a Text>) -> Value {
    texts.into_iter().map(Value::from).collect()
}

fn resource_list(server: &Server, group: &str, version: &str) -> Option<Value> {
    if !serves(server, group, version) {
        return None;
    }
    let resource = |entry: &Entry| {
        let name = match entry.subresource.as_str() {
            "" => entry.resource.clone(),
            part => Text::from(format!("{}/{part}", entry.resource)),
        };
        let mut resource = object! {
            "name" => name, "singularName" => entry.singular.clone(), "namespaced" => entry.namespaced,
            "kind" => entry.kind.clone(), "verbs" => verbs(entry),
        };
        if let Some((group, version)) = entry.foreign {
            resource.set(&["group"], group);
            resource.set(&["version"], version);
        }
        add_names(&mut resource, entry);
        resource
    };
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let resources: Value = entries(server, group, version).iter().map(resource).collect();
    let mut list = object! { "kind" => "APIResourceList", "groupVersion" => group_version, "resources" => resources };
    if !group.is_empty() {
        list.set(&["apiVersion"], "v1");
    }
    Some(list)
}

fn verbs(entry: &Entry) -> Value {
    entry.verbs.iter().map(|verb| Value::from(*verb)).collect()
}

fn add_names(resource: &mut Value, entry: &Entry) {
    if !entry.short_names.is_empty() {
        resource.set(&["shortNames"], texts(&entry.short_names));
    }
    if !entry.categories.is_empty() {
        resource.set(&["categories"], texts(&entry.categories));
    }
}

/// Whether a client asks for the aggregated form before the legacy one.
fn aggregated(request: &Request) -> bool {
    for (media, parameters) in negotiate::entries(&request.accept) {
        let parameter = |name: &str| parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        match (media, parameter("as")) {
            ("application/json", None) => return false,
            ("application/json", Some("APIGroupDiscoveryList"))
                if parameter("g") == Some("apidiscovery.k8s.io") && parameter("v") == Some("v2") =>
            {
                return true;
            }
            _ => {}
        }
    }
    false
}

fn aggregate(items: Vec<Value>) -> Response {
    let list = object! {
        "kind" => "APIGroupDiscoveryList", "apiVersion" => "apidiscovery.k8s.io/v2", "metadata" => Value::object(),
        "items" => items,
    };
    Response {
        content_type: AGGREGATED.into(),
        headers: vec![("Vary", "Accept".into()), ("Cache-Control", "public".into())],
        ..Response::json(200, list)
    }
}

fn core_group(server: &Server) -> Value {
    object! { "metadata" => Value::object(), "versions" => list![aggregated_version(server, "", "v1")] }
}

fn aggregated_group(server: &Server, group: &str) -> Value {
    let versions = versions(server, group);
    let versions: Value = versions.iter().map(|version| aggregated_version(server, group, version)).collect();
    object! { "metadata" => object! { "name" => group }, "versions" => versions }
}

fn aggregated_version(server: &Server, group: &str, version: &str) -> Value {
    let response_kind = |entry: &Entry| {
        let (group, version) = entry.foreign.unwrap_or(("", ""));
        object! { "group" => group, "version" => version, "kind" => entry.kind.clone() }
    };
    let mut resources: Vec<Value> = Vec::new();
    for entry in entries(server, group, version) {
        if entry.subresource.is_empty() {
            let mut resource = object! {
                "resource" => entry.resource.clone(), "responseKind" => response_kind(&entry),
                "scope" => if entry.namespaced { "Namespaced" } else { "Cluster" },
                "singularResource" => entry.singular.clone(), "verbs" => verbs(&entry),
            };
            add_names(&mut resource, &entry);
            resources.push(resource);
        } else if let Some(resource) = resources.last_mut() {
            let part = object! {
                "subresource" => entry.subresource.clone(), "responseKind" => response_kind(&entry),
                "verbs" => verbs(&entry),
            };
            resource.make(&["subresources"]).as_list_mut().push(part);
        }
    }
    object! { "version" => version, "resources" => resources, "freshness" => "Current" }
}
