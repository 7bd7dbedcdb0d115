//! Who may import whom.

use crate::code::Source;

/// Leaves that every room of the root crate may use.
const LEAVES: &[&str] = &["cli", "config", "error", "event"];

/// What each room of the root crate may use beside itself and the leaves.
const ROOT: &[(&str, &[&str])] = &[
    ("shell", &["run", "script", "render"]),
    ("run", &["script", "render"]),
    ("script", &["backend", "render"]),
    ("backend", &[]),
    ("render", &[]),
    ("cli", &[]),
    ("config", &[]),
    ("error", &[]),
    ("event", &[]),
];

/// What each room of the cluster may use. Rooms that are not listed are components: see [`COMPONENT`].
const CLUSTER: &[(&str, &[&str])] = &[
    ("value", &[]),
    ("rng", &[]),
    ("time", &["rng"]),
    ("api", &["time", "rng", "value"]),
    ("trace", &["api", "time", "value"]),
    ("events", &["api", "time", "rng", "value", "trace"]),
    ("config", &["time"]),
    ("plugins", &["value"]),
    ("component", &["api", "events", "plugins", "time", "rng", "trace", "value"]),
];

/// What a scheduler, a kubelet or a controller may use: never each other.
const COMPONENT: &[&str] = &["api", "component", "config", "events", "plugins", "time", "rng", "trace", "value"];

/// Other crates of the workspace, and who may use them.
const CRATES: &[(&str, &[&str])] = &[
    ("gpulab_cluster", &["src/backend/", "src/script/", "src/cluster/", "tests/", "benches/"]),
    ("gpulab_device", &["src/backend/", "src/cluster/", "plugin/", "tests/"]),
    ("gpulab_plugin", &["src/backend/", "plugin/", "tests/"]),
];

/// The imports of a file that go against the arrows.
pub fn faults(source: &Source) -> Vec<String> {
    let mut faults = Vec::new();
    if source.name.ends_with("/tests.rs") || source.name.contains("/tests/") {
        return faults; // tests look from outside
    }
    for (line, target) in targets(source) {
        if let Some(fault) = forbidden(&source.name, &target) {
            faults.push(format!("{}:{line}: {fault}", source.name));
        }
    }
    for (name, users) in CRATES {
        let used = source.code.lines().position(|line| line.contains(&format!("{name}::")));
        let allowed = users.iter().any(|user| source.name.starts_with(user))
            || source.name.starts_with("src/render/") && *name == "gpulab_cluster" && only_trace(source);
        if let (Some(line), false) = (used, allowed) {
            faults.push(format!("{}:{}: must not use {name}", source.name, line + 1));
        }
    }
    faults
}

fn only_trace(source: &Source) -> bool {
    source.code.matches("gpulab_cluster::").count() == source.code.matches("gpulab_cluster::trace").count()
}

fn forbidden(name: &str, target: &str) -> Option<String> {
    let (rooms, path, component) = match name.strip_prefix("src/cluster/") {
        Some(path) => (CLUSTER, path, true),
        None => (ROOT, name.strip_prefix("src/")?, false),
    };
    let room = path.split(['/', '.']).next()?;
    if room == target || matches!(room, "lib" | "main" | "world" | "tests" | "benches") {
        return None;
    }
    let listed = rooms.iter().find(|(name, _)| *name == room).map(|(_, targets)| *targets);
    let allowed = match listed {
        Some(targets) => targets.contains(&target) || !component && (LEAVES.contains(&target)),
        None if component => COMPONENT.contains(&target),
        None => return Some(format!("`{room}` is not a room of the house")),
    };
    (!allowed).then(|| format!("`{room}` must not use `{target}`"))
}

/// Every `crate::room` and every `super::` that leads to the top, with its line.
fn targets(source: &Source) -> Vec<(usize, String)> {
    let code = source.code.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut found = Vec::new();
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    for (at, word) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$')) {
            continue;
        }
        for room in heads(&code[at + word.len()..]) {
            found.push((line(at), room));
        }
    }
    for (at, text) in code.match_indices("super::").filter(|(at, _)| !code[..*at].ends_with("super::")) {
        let supers = code[at..].len() - code[at..].trim_start_matches(text).len();
        let steps = supers / text.len();
        // Indented imports stand in a module of their own, one level deeper.
        let start = code[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let inner = usize::from(code[start..at].starts_with(' ') && code[start..at].trim_start().starts_with("use"));
        if depth(&source.name) + inner == steps {
            found.extend(heads(&code[at + supers..]).into_iter().map(|room| (line(at), room)));
        }
    }
    found
}

/// Levels of modules between the top of the crate and this file.
fn depth(name: &str) -> usize {
    let path = name.strip_prefix("src/cluster/").or_else(|| name.strip_prefix("src/")).unwrap_or(name);
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/').count()
}

/// The first segments of a path or of a braced group; names of items at the top of the crate begin in upper case or are
/// macros, and do not count.
fn heads(text: &str) -> Vec<String> {
    let ident = |text: &str| -> Option<String> {
        let text = text.trim_start();
        let name: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let module = name.starts_with(|c: char| c.is_lowercase())
            && text[name.len()..].trim_start().starts_with([':', ',', '}', ';']);
        (module && !matches!(name.as_str(), "self" | "object" | "list")).then_some(name)
    };
    let Some(group) = text.strip_prefix('{') else { return ident(text).into_iter().collect() };
    let mut heads = Vec::new();
    let mut depth = 1;
    let mut start = true;
    for (at, c) in group.char_indices() {
        if start && !c.is_whitespace() {
            heads.extend(ident(&group[at..]));
            start = false;
        }
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => start = true,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

#[test]
fn arrows_point_down() {
    let fault = |name: &str, text: &str| faults(&Source::new(name, text)).join("; ");
    assert_eq!(fault("src/run/x.rs", "use crate::script::session::Session;\nuse crate::error::Error;"), "");
    assert_eq!(
        fault("src/run/x.rs", "use crate::{error::Error, shell::{self, repl}};"),
        "src/run/x.rs:1: `run` must not use `shell`"
    );
    assert_eq!(fault("src/run/x.rs", "\nuse super::super::shell;"), "src/run/x.rs:2: `run` must not use `shell`");
    assert_eq!(fault("src/run/x.rs", "use super::lesson;\nmod tests {\n    use super::*;\n}"), "");
    assert_eq!(fault("src/render/x.rs", "use gpulab_cluster::trace::Trace;"), "");
    assert_eq!(
        fault("src/render/x.rs", "use gpulab_cluster::World;"),
        "src/render/x.rs:1: must not use gpulab_cluster"
    );
    let cluster = |text: &str| fault("src/cluster/scheduler/queue.rs", text);
    assert_eq!(
        cluster("use crate::kubelet::X;"),
        "src/cluster/scheduler/queue.rs:1: `scheduler` must not use `kubelet`"
    );
    assert_eq!(cluster("use crate::api::X; use crate::{Value, object}; use super::cycle;"), "");
    assert_eq!(
        fault("src/cluster/api/x.rs", "use crate::component::X;"),
        "src/cluster/api/x.rs:1: `api` must not use `component`"
    );
    assert_eq!(fault("src/cluster/world.rs", "use crate::kubelet::X;"), "");
}
