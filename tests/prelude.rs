//! Tests of the prelude, written in the language: every file of `prelude/tests`, found by walking.

use std::rc::Rc;
use std::sync::Arc;

use gpulab::script::session::{Session, SessionOptions, Silent};

#[test]
fn the_prelude_keeps_its_promises() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("prelude/tests");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap();
        let options = SessionOptions {
            seed: 0,
            plugin: true,
            namespace: "default".into(),
            args: Vec::new(),
            interrupt: Arc::default(),
            steps: false,
            ties: gpulab_cluster::time::Ties::InOrder,
        };
        let mut session = Session::new(options, Rc::new(Silent)).unwrap();
        if let Err(error) = session.run(&file.display().to_string(), &source, true) {
            panic!("{}: {error:?}", file.display());
        }
    }
}
