//! A contract gives the same bytes every time, in whatever order it is read: the exchange's, and
//! documents of several files in JSON and YAML.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on fails")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use contract_codegen::{
    OutputFiles, Project, Sources,
    config::{BuilderScope, Config, OutputLayout},
};

#[allow(dead_code, reason = "it is asked where it looks, not run")]
#[path = "../core/build.rs"]
#[allow(clippy::print_stdout, reason = "cargo is told by it")]
mod build_script;

fn project() -> Project {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas/codegen.toml");
    Project::from_config(&config).unwrap_or_else(|e| panic!("{e}"))
}

fn files(project: &Project) -> OutputFiles {
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

fn assert_same(one: &OutputFiles, other: &OutputFiles) {
    let names = |files: &OutputFiles| files.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
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

/// The files of a case that has several.
fn several(case: &str) -> Vec<PathBuf> {
    documents(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(case).join("input"))
}

/// Every order of a few things (Heap's algorithm).
fn orders<T: Clone>(items: &mut Vec<T>, count: usize, found: &mut Vec<Vec<T>>) {
    if count <= 1 {
        found.push(items.clone());
        return;
    }
    for at in 0..count {
        orders(items, count - 1, found);
        items.swap(if count.is_multiple_of(2) { at } else { 0 }, count - 1);
    }
}

/// JSON and YAML files that refer to each other, an OpenAPI document among them.
#[test]
fn files_of_json_and_yaml_are_generated_the_same_in_every_order() {
    for (case, count) in [("openapi_files", 5), ("ref_through_ref", 3)] {
        let mut files = several(case);
        assert_eq!(files.len(), count, "{case}: {files:?}");
        assert!(files.iter().any(|file| file.extension().is_some_and(|ending| ending == "yaml")));
        for layout in [OutputLayout::Crate, OutputLayout::Modules] {
            let generate = |inputs: Vec<PathBuf>| {
                let mut config = Config::default();
                config.output.layout = layout;
                config.types.builders = BuilderScope::All;
                self::files(&Project { config, base: PathBuf::new(), inputs })
            };
            let first = generate(files.clone());
            let mut all = Vec::new();
            orders(&mut files, count, &mut all);
            // Every fifth of the 120 orders of five files, all six of three.
            for order in all.into_iter().step_by(if count > 3 { 5 } else { 1 }) {
                assert_same(&first, &generate(order));
            }
        }
    }
}

/// Texts come without a folder that could sort them: only the list of inputs keeps their order.
#[test]
fn texts_are_generated_the_same_in_every_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/openapi_files/input");
    let mut texts: Vec<(String, String)> = several("openapi_files")
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&folder).unwrap().to_string_lossy().replace('\\', "/");
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    let generate = |texts: &[(String, String)]| {
        let texts: Vec<(&str, &str, &str)> =
            texts.iter().map(|(name, text)| (name.as_str(), "", text.as_str())).collect();
        let project = Project::default();
        let contract = project.analyze_sources(Sources::from_texts(&texts).unwrap()).unwrap();
        let generated = project.generate_from(contract).unwrap_or_else(|e| panic!("{e}"));
        let files = generated.files.iter().filter(|(name, _)| *name != "src/lib.rs");
        files.map(|(name, text)| (name.to_owned(), text.to_owned())).collect::<Vec<_>>()
    };
    let first = generate(&texts);
    assert!(first.len() > 5);
    let mut all = Vec::new();
    let count = texts.len();
    orders(&mut texts, count, &mut all);
    for order in all.iter().step_by(7) {
        assert_eq!(generate(order), first, "{:?}", order.iter().map(|(name, _)| name).collect::<Vec<_>>());
    }
}

/// Packages lie beside one another, as a registry's are unpacked or in a vendored folder; their
/// manifests were rewritten, and the first one lies beside.
#[test]
fn the_runtime_is_found_wherever_packages_are_unpacked() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unpacked");
    let _ = fs::remove_dir_all(&folder);
    let own = folder.join("contract-codegen-core-0.1.0");
    let put = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("contract-codegen-core-0.1.0/Cargo.toml", "");
    // Somebody else's.
    put("runtime/Cargo.toml", "name = \"runtime\"\n");
    assert_eq!(build_script::home(&own, "0.1.0"), None);
    put("contract-runtime/Cargo.toml", "name = \"contract-runtime\"\n");
    assert_eq!(build_script::home(&own, "0.1.0"), Some(own.join("../contract-runtime")));
    put("contract-runtime-0.1.0/Cargo.toml", "# rewritten\n");
    put("contract-runtime-0.1.0/Cargo.toml.orig", "name = \"contract-runtime\"\n");
    let home = build_script::home(&own, "0.1.0").unwrap();
    assert_eq!(home, own.join("../contract-runtime-0.1.0"));
    assert_eq!(build_script::written(&home).unwrap(), "name = \"contract-runtime\"\n");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("core");
    assert_eq!(build_script::home(&here, "0.1.0"), Some(here.join("../../runtime")));
}
