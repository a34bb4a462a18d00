//! The build script that the book shows, run as cargo runs one.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs, reason = "a test that cannot go on fails")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use contract_codegen::BuildScript;

fn main() -> ExitCode {
    BuildScript::new("tickets.yaml").with_config(|config| config.output.server = false).run("api.rs")
}

/// Set for the process that is the build script.
const IS_BUILD: &str = "BOOK_BUILD";

/// Run by the tests below in a process of its own, as its folder and variables are those of a build script;
/// by itself it is none.
#[test]
fn the_build_script() {
    if env::var_os(IS_BUILD).is_some() {
        assert_eq!(main(), ExitCode::SUCCESS);
    }
}

/// What the script printed: lines for cargo, and whether it succeeded.
fn run(package: &Path, out: &Path) -> (Vec<String>, bool) {
    fs::create_dir_all(out).unwrap();
    let ran = Command::new(env::current_exe().unwrap())
        .args(["--exact", "the_build_script", "--nocapture"])
        .current_dir(package)
        .env(IS_BUILD, "1")
        .env("OUT_DIR", out)
        .output()
        .unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("cargo::")).map(str::to_owned).collect();
    (lines, ran.status.success())
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// What was made and what it was made of; what was read by reference too.
#[test]
fn a_build_script_writes_one_file_and_says_what_of() {
    let package = folder("book-build");
    fs::write(
        package.join("tickets.yaml"),
        "{openapi: 3.1.0, info: {title: Tickets, version: '1'}, paths: {/t: {get: {responses: {'200': \
         {description: One., headers: {Content-Type: {schema: {type: string}}}}}}}}, components: {schemas: \
         {Ticket: {type: object, properties: {seat: {$ref: 'seat.json'}, nothing: {$ref: '#/gone'}, \
         later: {$ref: 'parts/gone.json'}, never: {$ref: 'none/gone.json'}}}}}}",
    )
    .unwrap();
    fs::create_dir_all(package.join("parts")).unwrap();
    fs::write(package.join("seat.json"), r#"{"type": "string", "maxLength": 4}"#).unwrap();
    let out = package.join("out");
    let (lines, succeeded) = run(&package, &out);
    assert!(succeeded, "{lines:?}");
    let api = fs::read_to_string(out.join("api.rs")).unwrap();
    assert!(api.contains("pub struct Ticket") && api.contains("Seat"), "{api}");
    assert_eq!(lines[0], "cargo::rerun-if-changed=tickets.yaml");
    for file in ["tickets.yaml", "seat.json"] {
        let path = lines.iter().filter_map(|line| line.strip_prefix("cargo::rerun-if-changed="));
        assert!(path.into_iter().any(|path| Path::new(path).ends_with(file) && package.join(path).exists()));
    }
    // A file that is missing is heard of by the folder that it would lie in, unless the output lies there too.
    let named = |path: &str| format!("cargo::rerun-if-changed={}", package.join(path).display());
    assert!(lines.contains(&named("parts")) && !lines.contains(&named("parts/gone.json")), "{lines:?}");
    assert!(lines.contains(&named("none/gone.json")), "{lines:?}");
    let warned: Vec<_> = lines
        .iter()
        .filter(|line| !line.contains("gone.json"))
        .filter(|line| line.starts_with("cargo::warning="))
        .collect();
    let [warned] = warned.as_slice() else { panic!("notes are no warnings: {warned:?}") };
    assert!(warned.contains("tickets.yaml:1:") && warned.contains("`gone`"), "{warned}");
}

/// Set to the `codegen.toml` of the process that is another build script.
const CONFIGURED: &str = "BOOK_BUILD_CONFIGURED";

/// As [`the_build_script`], from a `codegen.toml`.
#[test]
fn the_configured_build_script() {
    if env::var_os(CONFIGURED).is_some() {
        let _ = BuildScript::new("api/codegen.toml").run("api.rs");
    }
}

/// A file that comes to be in one of its folders is part of the contract from then on, and one that is
/// mended is tried again.
#[test]
fn a_build_script_says_which_folders_it_looks_into() {
    let package = folder("book-build-configured");
    for folder in ["api/schemas", "api/vendor", "out"] {
        fs::create_dir_all(package.join(folder)).unwrap();
    }
    let options = "inputs = [\"schemas\"]\n[mounts]\n\"https://v.example/\" = \"vendor\"\n\
                   \"https://w.example/\" = \"vendor/none/yet\"\n";
    fs::write(package.join("api/codegen.toml"), options).unwrap();
    for text in [r#"{"type": "string"}"#, "{"] {
        fs::write(package.join("api/schemas/seat.json"), text).unwrap();
        let ran = Command::new(env::current_exe().unwrap())
            .args(["--exact", "the_configured_build_script", "--nocapture"])
            .current_dir(&package)
            .env(CONFIGURED, "1")
            .env("OUT_DIR", package.join("out"))
            .output()
            .unwrap();
        let said = String::from_utf8(ran.stdout).unwrap();
        let named: Vec<&str> =
            said.lines().filter_map(|line| line.strip_prefix("cargo::rerun-if-changed=")).collect();
        assert_eq!(named[0], "api/codegen.toml");
        for folder in ["api/schemas", "api/vendor"] {
            assert!(named.iter().any(|path| Path::new(path).ends_with(folder)), "{folder}: {said}");
        }
        // What is not there would be built anew each time.
        assert!(named.iter().all(|path| package.join(path).exists()), "{said}");
    }
}

/// Whoever tells another build system asks for the list of files read.
#[test]
fn a_program_hears_what_was_read() -> Result<(), Box<dyn std::error::Error>> {
    let package = folder("book-build-program");
    let contract = package.join("tickets.yaml");
    fs::write(&contract, "{$defs: {seat: {$ref: seat.json}}}")?;
    fs::write(package.join("seat.json"), r#"{"type": "string", "maxLength": 4}"#)?;
    let target = package.join("api.rs");
    let generated = BuildScript::new(&contract).write_file(&target)?;
    let read: Vec<PathBuf> = generated.contract.sources.files().map(Path::to_path_buf).collect();
    assert!(fs::read_to_string(&target)?.contains("Seat"));
    for file in ["tickets.yaml", "seat.json"] {
        assert!(read.iter().any(|path| path.ends_with(file)), "{read:?}");
    }
    Ok(())
}

/// A contract that cannot be read fails the build, in words that cargo shows, and leaves what is there.
#[test]
fn a_build_script_fails_with_the_contract() {
    let package = folder("book-build-fails");
    let out = package.join("out");
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("api.rs"), "").unwrap();
    let (lines, succeeded) = run(&package, &out);
    assert!(!succeeded);
    let told = lines.iter().find(|line| line.starts_with("cargo::error=")).unwrap();
    assert!(told.contains("tickets.yaml"), "{told}");
    assert_eq!(lines[0], "cargo::rerun-if-changed=tickets.yaml", "mended, it is tried again");
    assert_eq!(fs::read_to_string(out.join("api.rs")).unwrap(), "");
}
