//! Compiles the code that is generated from mutated and random documents. Of each kind, it uses the first
//! `COUNT` (300) accepted documents, starting with number `FIRST` (0). In addition, it compiles two chains of
//! many types. All of them are modules of one package in which warnings are errors.
//!
//! `cargo run -p contract-codegen --example mutants -- [COUNT] [FIRST]`. The package remains in
//! `target/mutants`. Module `m4711` is the document of `MUTATION=4711` in `tests/mutations.rs`, and `r4711`
//! that of `RANDOM=4711` in `src/tests/random.rs`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    reason = "a tool panics on unexpected errors"
)]

#[allow(dead_code, reason = "shared with the tests of the cases")]
#[path = "../tests/harness/folder.rs"]
mod folder;
#[path = "../tests/harness/mutants.rs"]
mod mutants;
#[path = "../tests/harness/mutate.rs"]
mod mutate;
#[allow(dead_code, reason = "shared with the tests of random contracts")]
#[path = "../tests/harness/random.rs"]
mod random;
#[path = "../tests/harness/split_mix.rs"]
mod split_mix;

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use contract_codegen::OutputFiles;

/// The number of types that are nested directly and in arrays.
const CHAIN: usize = 400;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().unwrap());
    let (count, first) = (arguments.next().unwrap_or(300), arguments.next().unwrap_or(0));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/mutants");
    let _ = fs::remove_dir_all(folder.join("src"));
    fs::create_dir_all(folder.join("src")).unwrap();
    let seeds = mutants::seeds();
    let good = (first..).filter_map(|number| {
        let generated = mutants::generate(&mutants::document(number, &seeds)).ok()?;
        Some((format!("m{number}"), generated.files))
    });
    let mut root = root_source();
    let random = (first..).filter_map(|number| {
        let generated = mutants::generate(&random::document(number).text).ok()?;
        Some((format!("r{number}"), generated.files))
    });
    let count_of_each = usize::try_from(count).unwrap();
    let chains = [
        generate_chain("chain", |link| link.to_owned()),
        generate_chain("arrays", |link| format!(r#"{{"type":"array","items":{link}}}"#)),
    ];
    for (name, files) in good.take(count_of_each).chain(random.take(count_of_each)).chain(chains) {
        add_module(&folder, &mut root, &name, &files);
    }
    fs::write(folder.join("src/lib.rs"), root).unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::write(folder.join("Cargo.toml"), manifest_source(&workspace)).unwrap();
    // The package uses the same dependency versions as the workspace.
    fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let status = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--all-features"])
        .env("CARGO_TARGET_DIR", workspace.join("target/mutants/target"))
        .current_dir(&folder)
        .status()
        .unwrap();
    println!(
        "{count} documents from number {first}: {}",
        if status.success() { "all compile" } else { "some do not compile, see above" }
    );
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn root_source() -> String {
    "#![deny(warnings)]\n\
     // The crate root needs this according to the note `foreign-names` of the generator.\n\
     #![allow(confusable_idents, mixed_script_confusables, uncommon_codepoints)]\n\
     #![allow(dead_code, clippy::all, reason = \"mutated contracts produce such code\")]\n\
     #![recursion_limit = \"4096\"]\n"
        .to_owned()
}

fn manifest_source(workspace: &Path) -> String {
    let runtime = workspace.canonicalize().unwrap().join("runtime");
    format!(
        "[package]\nname = \"mutants\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         contract-runtime = {{ path = {runtime:?}, features = [\"client\", \"server\"] }}\n\
         serde = \"1\"\naxum = {{ version = \"0.8\", default-features = false }}\nbytes = \"1\"\nhttp = \"1\"\n\n\
         [features]\nclient = []\nserver = []\n\n[workspace]\n"
    )
}

fn add_module(folder: &Path, root: &mut String, name: &str, files: &OutputFiles) {
    let module: PathBuf = folder.join("src").join(name);
    fs::create_dir_all(&module).unwrap();
    for (file, text) in files.iter() {
        fs::write(module.join(file), text).unwrap();
    }
    let _ = writeln!(root, "#[path = \"{name}/root.rs\"]\npub mod {name};");
}

/// Generates more nested types than the default recursion limit of the compiler allows. `between` returns the
/// schema that connects two of them.
fn generate_chain(name: &str, between: impl Fn(&str) -> String) -> (String, OutputFiles) {
    let link = |at: usize| {
        let next = if at + 1 < CHAIN {
            format!(r#""next":{},"#, between(&format!(r##"{{"$ref":"#/$defs/link{}"}}"##, at + 1)))
        } else {
            String::new()
        };
        format!(
            r#""link{at}":{{"type":"object","properties":{{{next}"value":{{"type":"integer","minimum":{at}}}}}}}"#
        )
    };
    let links: Vec<String> = (0..CHAIN).map(link).collect();
    let text = format!(r##"{{"$ref":"#/$defs/link0","$defs":{{{}}}}}"##, links.join(","));
    let generated = mutants::generate(&text).unwrap_or_else(|problems| panic!("{problems}"));
    (name.to_owned(), generated.files)
}
