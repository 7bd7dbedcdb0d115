//! What the server says about itself: version, health, groups and resources.

use super::Server;
use super::request::{Body, Request, Response};
use crate::object;

/// The answer outside of groups: discovery, version, health.
pub(super) fn answer(_server: &Server, _request: &Request, segments: &[&str]) -> Response {
    match segments {
        ["healthz" | "livez" | "readyz", ..] => text(200, "ok"),
        ["version"] => Response::json(200, version()),
        _ => page_not_found(),
    }
}

fn version() -> crate::Value {
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

/// Groups that have no kept kinds, only reviews.
const REVIEWS: [&str; 2] = ["authentication.k8s.io", "authorization.k8s.io"];

/// Whether any kind is served in this group and version.
pub(super) fn serves(server: &Server, group: &str, version: &str) -> bool {
    (REVIEWS.contains(&group) && version == "v1")
        || server.registry.iter().any(|info| info.group == group && info.versions.iter().any(|known| known == version))
}
