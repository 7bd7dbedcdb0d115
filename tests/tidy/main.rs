//! The house rules, checked: who may import whom, sizes, lesson headers, stray files.

mod code;
mod imports;

use std::path::{Path, PathBuf};
use std::process::Command;

use code::Source;
use gpulab::run::lesson::{BUILTIN, Script};

const LONGEST_FILE: usize = 700;
const LONGEST_FUNCTION: usize = 70;
const LONGEST_MAIN: usize = 20;

/// Everything that may lie at the top of the repository.
const TOP: &[&str] = &[
    ".ci",
    ".dockerignore",
    ".gitignore",
    "ARCHITECTURE.md",
    "Cargo.lock",
    "Cargo.toml",
    "Dockerfile",
    "LICENSE",
    "README.md",
    "REFERENCE.md",
    "benches",
    "clippy.toml",
    "plugin",
    "prelude",
    "rustfmt.toml",
    "scripts",
    "src",
    "tests",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The files of the project, relative to its root: what git tracks, or without git what lies there.
fn files() -> Vec<String> {
    let git = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    let listed =
        git.ok().filter(|git| git.status.success()).map(|git| String::from_utf8_lossy(&git.stdout).into_owned());
    let tracked: Vec<String> =
        listed.unwrap_or_default().split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if !tracked.is_empty() {
        return tracked.into_iter().filter(|name| root().join(name).is_file()).collect();
    }
    let mut found = Vec::new();
    walk(&root(), "", &mut found);
    found
}

fn walk(directory: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).expect("a folder of the project is readable") {
        let entry = entry.expect("a folder of the project is readable");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if name == "target" || name == ".git" {
            continue;
        }
        if entry.path().is_dir() {
            walk(&entry.path(), &format!("{name}/"), found);
        } else {
            found.push(name);
        }
    }
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).expect("a text of the project is readable")
}

/// What people write; generated files begin by saying so.
fn rust() -> Vec<Source> {
    let names = files().into_iter().filter(|name| name.ends_with(".rs"));
    let texts = names.map(|name| (read(&name), name)).filter(|(text, _)| !text.starts_with("// Generated"));
    texts.map(|(text, name)| Source::new(&name, &text)).collect()
}

fn nothing(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn nothing_stray_at_the_top() {
    let mut tops: Vec<String> =
        files().iter().map(|name| name.split('/').next().unwrap_or_default().to_owned()).collect();
    tops.dedup();
    let stray: Vec<String> = tops.into_iter().filter(|name| !TOP.contains(&name.as_str())).collect();
    nothing(&stray);
}

#[test]
fn files_and_functions_fit_a_sitting_and_a_page() {
    let mut faults = Vec::new();
    for name in files().iter().filter(|name| name.ends_with(".rs") || name.ends_with(".rhai")) {
        let text = read(name);
        let lines = text.lines().count();
        if lines > LONGEST_FILE && !text.starts_with("// Generated") {
            faults.push(format!("{name}: {lines} lines, at most {LONGEST_FILE}"));
        }
        if name.ends_with("src/main.rs") && !name.starts_with("plugin/") && lines > LONGEST_MAIN {
            faults.push(format!("{name}: {lines} lines, at most {LONGEST_MAIN}"));
        }
    }
    for source in rust() {
        for (function, line, length) in source.functions() {
            if length > LONGEST_FUNCTION {
                faults.push(format!(
                    "{}:{line}: `{function}` has {length} lines, at most {LONGEST_FUNCTION}",
                    source.name
                ));
            }
        }
    }
    nothing(&faults);
}

#[test]
fn imports_follow_the_arrows() {
    nothing(&rust().iter().flat_map(imports::faults).collect::<Vec<_>>());
}

#[test]
fn only_the_printer_prints() {
    let mut faults = Vec::new();
    for source in rust() {
        let allowed = source.name == "src/render/printer.rs"
            || source.name.ends_with("/main.rs")
            || source.name.ends_with("/build.rs")
            || source.name.starts_with("tests/")
            || source.name.starts_with("benches/")
            || source.name.contains("/tests/")
            || source.name.contains("/benches/");
        for (number, line) in source.code.lines().enumerate() {
            let prints = ["println!", "print!", "eprintln!", "eprint!", "dbg!"].iter().any(|call| has_word(line, call));
            if prints && !allowed {
                faults.push(format!("{}:{}: prints", source.name, number + 1));
            }
            if line.contains("#[allow(") || line.contains("#![allow(") {
                faults.push(format!("{}:{}: `allow`; use `expect` with a reason", source.name, number + 1));
            }
        }
    }
    nothing(&faults);
}

/// Whether the call stands in the line, not only as the end of a longer name.
fn has_word(line: &str, call: &str) -> bool {
    line.match_indices(call).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let manifests: Vec<String> = files().into_iter().filter(|name| name.ends_with("Cargo.toml")).collect();
    assert_eq!(manifests.len(), 4, "{manifests:?}");
    for name in manifests {
        let text = read(&name);
        assert!(text.contains("[lints]\nworkspace = true"), "{name} does not take the lints of the workspace");
    }
}

#[test]
fn the_cluster_stays_pure() {
    let text = read("src/cluster/Cargo.toml");
    for unwanted in
        ["tokio", "hyper", "tonic", "reqwest", "rhai", "rustyline", "kube", "tower", "rand", "futures", "async"]
    {
        let depends = text
            .lines()
            .any(|line| line.starts_with(&format!("{unwanted} ")) || line.starts_with(&format!("{unwanted}.")));
        assert!(!depends, "the cluster must not depend on {unwanted}");
    }
}

#[test]
fn lessons_are_complete() {
    let mut faults = Vec::new();
    for lesson in BUILTIN {
        let (number, rest) = lesson.name.split_once('-').unwrap_or_default();
        if number.len() != 2 || number.parse::<u32>().is_err() || rest.is_empty() {
            faults.push(format!("{}: the name is not `NN-name`", lesson.name));
        }
        match Script::parse(lesson.name, lesson.source) {
            Ok(Script { header: Some(header), .. }) => {
                if !header.question.ends_with('?') {
                    faults.push(format!("{}: the question does not ask", lesson.name));
                }
            }
            Ok(_) => faults.push(format!("{}: no header", lesson.name)),
            Err(error) => faults.push(format!("{}: {error}", lesson.name)),
        }
        let calls = |name: &str| lesson.source.matches(&format!("{name}(")).count();
        if calls("finding") < 2 {
            faults.push(format!("{}: fewer than two findings", lesson.name));
        }
        if calls("predict") < 1 {
            faults.push(format!("{}: no prediction", lesson.name));
        }
    }
    let numbers: Vec<&str> = BUILTIN.iter().map(|lesson| lesson.number()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "two lessons have one number: {numbers:?}");
    nothing(&faults);
}

#[test]
fn no_text_knows_a_machine() {
    // Joined here, so that this file does not know one either.
    let places = ["/work", "/root", "/home", "/Users", "/tmp/wt"].map(|place| format!("{place}/"));
    let mut faults = Vec::new();
    for name in files() {
        let Ok(text) = std::fs::read_to_string(root().join(&name)) else { continue };
        for (number, line) in text.lines().enumerate() {
            let starts_path =
                |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '}'));
            for place in &places {
                if line.match_indices(place.as_str()).any(|(at, _)| starts_path(at)) {
                    faults.push(format!("{name}:{}: knows {place}", number + 1));
                }
            }
        }
    }
    nothing(&faults);
}
