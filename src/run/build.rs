//! Build script: the lessons of `scripts/` become a table in the binary, so that no list is kept by hand.

use std::fmt::Write as _;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    println!("cargo::rerun-if-changed=src/run/build.rs");
    println!("cargo::rerun-if-changed=scripts");
    let mut paths = Vec::new();
    let scripts = root.join("scripts");
    let entries = if scripts.is_dir() { Some(std::fs::read_dir(scripts)?) } else { None };
    for entry in entries.into_iter().flatten() {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rhai") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut table = String::from("&[\n");
    for path in &paths {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        writeln!(table, "    Builtin {{ name: {name:?}, source: include_str!({path:?}) }},")?;
    }
    table.push_str("]\n");
    std::fs::write(PathBuf::from(std::env::var("OUT_DIR")?).join("lessons.rs"), table)?;
    Ok(())
}
