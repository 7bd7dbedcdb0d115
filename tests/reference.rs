//! `REFERENCE.md` is what the functions say about themselves, and every example in it runs.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gpulab::script::session::{Session, SessionOptions, Silent, Ties};

fn session() -> Session {
    let options = SessionOptions {
        seed: 0,
        ties: Ties::InOrder,
        plugin: true,
        namespace: "default".to_owned(),
        args: Vec::new(),
        interrupt: Arc::new(AtomicBool::new(false)),
        steps: false,
    };
    Session::new(options, Rc::new(Silent)).unwrap()
}

const HEAD: &str = "# Reference

What a script can say, by the functions' own words; the shell shows the same behind `?`. Kept by `tests/reference.rs`:
`UPDATE_SNAPSHOTS=1 cargo test --test reference` writes it anew.

";

#[test]
fn the_reference_is_what_the_functions_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("REFERENCE.md");
    let found = format!("{HEAD}{}", session().documentation("").unwrap());
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(found.lines()).position(|(kept, found)| kept != found);
    assert!(kept == found, "REFERENCE.md is out of date from line {}", differs.map_or(0, |line| line + 1));
}

#[test]
fn every_example_runs() {
    let reference = session().documentation("").unwrap();
    let examples: Vec<&str> =
        reference.split("```rhai\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() > 30, "only {} examples", examples.len());
    let mut failed = Vec::new();
    for example in examples {
        if let Err(error) = session().run("example", example, true) {
            failed.push(format!("{example}  {error} {:?}", error.hints));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
