//! The exchange's contract gives the same bytes every time, in whatever order it is read.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on fails")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use contract_codegen::{generate::Project, render::Files};

fn project() -> Project {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas/codegen.toml");
    Project::from_config(&config).unwrap_or_else(|e| panic!("{e}"))
}

fn files(project: &Project) -> Files {
    project.generate().unwrap_or_else(|e| panic!("{e}")).files
}

/// The documents below a folder, last first.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .rev()
        .flat_map(|path| if path.is_dir() { documents(&path) } else { vec![path] })
        .collect()
}

fn assert_same(one: &Files, other: &Files) {
    let names = |files: &Files| files.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(names(one), names(other));
    for ((name, a), (_, b)) in one.iter().zip(other.iter()) {
        let line = a.lines().zip(b.lines()).position(|(a, b)| a != b);
        assert!(a == b, "{name} differs at line {:?}", line.map(|at| at + 1));
    }
}

#[test]
fn the_exchange_is_generated_the_same_in_any_order() {
    let first = files(&project());
    assert_same(&first, &files(&project()));
    let mut shuffled = project();
    let base = shuffled.base.clone();
    shuffled.config.inputs.clear();
    shuffled.inputs = documents(&base.join("exchange"));
    shuffled.inputs.push(base.join("openapi.json"));
    shuffled.config.areas.reverse();
    shuffled.config.secrets.reverse();
    assert_same(&first, &files(&shuffled));
}
