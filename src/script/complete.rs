//! What can be completed at the prompt.

use rhai::Scope;

use super::docs::Book;
use super::input::{Wanted, wanted};
use super::kinds::KindRef;
use super::lab::Lab;

/// Words that fit at the end of `line`, sorted, and where the word begins.
pub fn complete(lab: &Lab, book: &Book, scope: &Scope<'_>, line: &str) -> (usize, Vec<String>) {
    let (start, what) = wanted(line);
    let mut words = match what {
        Wanted::Nothing => Vec::new(),
        Wanted::Name(prefix) => {
            let variables =
                scope.iter_raw().map(|(name, ..)| name.to_owned()).filter(|name| name != "it" || !prefix.is_empty());
            let functions = book.functions().into_iter().map(str::to_owned);
            begin_with(prefix, variables.chain(functions))
        }
        Wanted::Method(receiver, prefix) => match type_of(book, scope, receiver) {
            Some(name) => begin_with(prefix, book.methods(&name).into_iter().map(str::to_owned)),
            None => {
                let all = book.docs().iter().filter(|doc| !doc.receiver().is_empty()).map(|doc| doc.name().to_owned());
                begin_with(prefix, all)
            }
        },
        Wanted::Argument(function, position, prefix) => begin_with(prefix, names(lab, function, position).into_iter()),
        Wanted::Key(function, prefix) => begin_with(prefix, keys(function).iter().map(|key| (*key).to_owned())),
    };
    words.sort();
    words.dedup();
    (start, words)
}

fn begin_with(prefix: &str, words: impl Iterator<Item = String>) -> Vec<String> {
    words.filter(|word| word.starts_with(prefix)).collect()
}

/// The type of what stands before a dot: a variable's, or the declared one of the last call. Nothing is evaluated.
fn type_of(book: &Book, scope: &Scope<'_>, receiver: &str) -> Option<String> {
    if let Some((_, _, value)) = scope.iter_raw().find(|(name, ..)| *name == receiver) {
        let name = value.type_name().rsplit("::").next()?.to_owned();
        return Some(match name.as_str() {
            "NodeHandle" => "Node".into(),
            "PodHandle" => "Pod".into(),
            "DeploymentHandle" => "Deployment".into(),
            "ObjectHandle" => "Object".into(),
            "Listing" => "List".into(),
            _ => name,
        });
    }
    let head = receiver.strip_suffix(')')?;
    let mut depth = 1;
    let open = head.char_indices().rev().find_map(|(at, letter)| {
        depth += match letter {
            ')' => 1,
            '(' => -1,
            _ => 0,
        };
        (depth == 0).then_some(at)
    })?;
    let name = head[..open].rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    let is_method = head[..open].strip_suffix(name)?.trim_end().ends_with('.');
    let found = book.docs().iter().find(|doc| doc.name() == name && doc.receiver().is_empty() != is_method)?;
    Some(found.returns().to_owned())
}

/// Names of objects that an argument can take.
fn names(lab: &Lab, function: &str, position: usize) -> Vec<String> {
    let of = |kind: &str| {
        let kind = KindRef::built_in(kind);
        kind.map(|kind| lab.names(&kind, &lab.place(&kind))).unwrap_or_default()
    };
    match (function, position) {
        ("node" | "taint" | "untaint" | "cordon" | "uncordon" | "capacity", 0) => {
            let mut names = of("Node");
            names.push("kind".into());
            names
        }
        ("pod" | "finish", 0) => of("Pod"),
        ("deployment" | "scale", 0) => of("Deployment"),
        ("wait_running", 0) => [of("Pod"), of("Deployment")].concat(),
        ("get" | "list", 0) => lab.kind_names(),
        ("get", 1) => [of("Pod"), of("Node"), of("Deployment")].concat(),
        ("delete" | "events" | "label" | "patch" | "exists", 0) => {
            let prefixed = |kind: &str, prefix: &str| {
                of(kind).into_iter().map(|name| format!("{prefix}/{name}")).collect::<Vec<_>>()
            };
            [prefixed("Pod", "pod"), prefixed("Deployment", "deployment"), prefixed("Node", "node")].concat()
        }
        ("namespace", 0) => of("Namespace"),
        _ => Vec::new(),
    }
}

/// Keys of the option maps.
fn keys(function: &str) -> &'static [&'static str] {
    match function {
        "submit" => super::submit::KEYS,
        "fleet" => super::build::FLEET_KEYS,
        "lab" => super::build::LAB_KEYS,
        "scheduler" => super::build::SCHEDULER_KEYS,
        _ => &[],
    }
}
