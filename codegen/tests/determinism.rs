//! The output is the same in every run and for every input order, for the exchange and for cases with several
//! JSON and YAML files.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests panic on failure")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use contract_codegen::{
    OutputFiles, Project, Sources,
    config::{BuilderScope, Config, OutputLayout},
};

#[allow(dead_code, reason = "only the lookup functions are tested")]
#[path = "../core/build.rs"]
#[allow(clippy::print_stdout, reason = "build scripts print for cargo")]
mod build_script;

fn project() -> Project {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas/codegen.toml");
    Project::from_config(&config).unwrap_or_else(|e| panic!("{e}"))
}

fn generate_files(project: &Project) -> OutputFiles {
    project.generate().unwrap_or_else(|e| panic!("{e}")).files
}

/// Returns the documents of a folder and its subfolders in reverse order.
fn find_documents(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .rev()
        .flat_map(|path| if path.is_dir() { find_documents(&path) } else { vec![path] })
        .collect()
}

fn assert_same(one: &OutputFiles, other: &OutputFiles) {
    let names = |files: &OutputFiles| files.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(names(one), names(other));
    for ((name, a), (_, b)) in one.iter().zip(other.iter()) {
        let line = a.lines().zip(b.lines()).position(|(a, b)| a != b);
        assert!(a == b, "{name} differs at line {:?}", line.map(|index| index + 1));
    }
}

#[test]
fn exchange_output_does_not_depend_on_input_order() {
    let first = generate_files(&project());
    assert_same(&first, &generate_files(&project()));
    let mut shuffled = project();
    let base = shuffled.base.clone();
    shuffled.config.inputs.clear();
    shuffled.inputs = find_documents(&base.join("exchange"));
    shuffled.inputs.push(base.join("openapi.json"));
    shuffled.config.areas.reverse();
    shuffled.config.secrets.reverse();
    assert_same(&first, &generate_files(&shuffled));
}

/// Returns the files of a case with several files.
fn case_files(case: &str) -> Vec<PathBuf> {
    find_documents(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(case).join("input"))
}

/// Collects all permutations (Heap's algorithm).
fn collect_permutations<T: Clone>(items: &mut Vec<T>, count: usize, found: &mut Vec<Vec<T>>) {
    if count <= 1 {
        found.push(items.clone());
        return;
    }
    for index in 0..count {
        collect_permutations(items, count - 1, found);
        items.swap(if count.is_multiple_of(2) { index } else { 0 }, count - 1);
    }
}

/// The files refer to each other, and one of them is an OpenAPI document.
#[test]
fn output_of_files_does_not_depend_on_their_order() {
    for (case, count) in [("openapi_files", 5), ("ref_through_ref", 3)] {
        let mut files = case_files(case);
        assert_eq!(files.len(), count, "{case}: {files:?}");
        assert!(files.iter().any(|file| file.extension().is_some_and(|ending| ending == "yaml")));
        for layout in [OutputLayout::Crate, OutputLayout::Modules] {
            let generate = |inputs: Vec<PathBuf>| {
                let mut config = Config::default();
                config.output.layout = layout;
                config.types.builders = BuilderScope::All;
                self::generate_files(&Project { config, base: PathBuf::new(), inputs })
            };
            let first = generate(files.clone());
            let mut permutations = Vec::new();
            collect_permutations(&mut files, count, &mut permutations);
            // Every fifth of the 120 permutations of five files, and all six of three.
            for order in permutations.into_iter().step_by(if count > 3 { 5 } else { 1 }) {
                assert_same(&first, &generate(order));
            }
        }
    }
}

/// Strings are not sorted by a folder; only the list of inputs depends on their order.
#[test]
fn output_of_strings_does_not_depend_on_their_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/openapi_files/input");
    let mut texts: Vec<(String, String)> = case_files("openapi_files")
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
    let mut permutations = Vec::new();
    let count = texts.len();
    collect_permutations(&mut texts, count, &mut permutations);
    for order in permutations.iter().step_by(7) {
        assert_eq!(generate(order), first, "{:?}", order.iter().map(|(name, _)| name).collect::<Vec<_>>());
    }
}

/// Packages are siblings in a registry or a vendored folder. Their manifests are rewritten, with the original
/// in `Cargo.toml.orig`.
#[test]
fn runtime_is_found_next_to_unpacked_packages() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unpacked");
    let _ = fs::remove_dir_all(&folder);
    let own = folder.join("contract-codegen-core-0.1.0");
    let put = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("contract-codegen-core-0.1.0/Cargo.toml", "");
    // An unrelated package.
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
