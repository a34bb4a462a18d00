//! Tests that run the build script of the book in the same way as cargo does.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs, reason = "tests panic on failure")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use contract_codegen::BuildScript;

fn main() -> ExitCode {
    BuildScript::new("tickets.yaml").with_config(|config| config.output.server = false).run("api.rs")
}

/// The environment variable that makes the test process act as a build script.
const BUILD_VARIABLE: &str = "BOOK_BUILD";

/// Acts as the build script if the environment variable is set. The tests below run this function in a
/// separate process, in the folder and with the variables of a build script.
#[test]
fn the_build_script() {
    if env::var_os(BUILD_VARIABLE).is_some() {
        assert_eq!(main(), ExitCode::SUCCESS);
    }
}

/// Runs the build script. Returns the lines that it prints for cargo, and true if it succeeded.
fn run_build_script(package: &Path, out: &Path) -> (Vec<String>, bool) {
    fs::create_dir_all(out).unwrap();
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "the_build_script", "--nocapture"])
        .current_dir(package)
        .env(BUILD_VARIABLE, "1")
        .env("OUT_DIR", out)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("cargo::")).map(str::to_owned).collect();
    (lines, output.status.success())
}

fn create_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The build script writes the code and lists all files of the contract, including referenced ones.
#[test]
fn build_script_writes_one_file_and_lists_its_inputs() {
    let package = create_folder("book-build");
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
    let (lines, succeeded) = run_build_script(&package, &out);
    assert!(succeeded, "{lines:?}");
    let api = fs::read_to_string(out.join("api.rs")).unwrap();
    assert!(api.contains("pub struct Ticket") && api.contains("Seat"), "{api}");
    assert_eq!(lines[0], "cargo::rerun-if-changed=tickets.yaml");
    for file in ["tickets.yaml", "seat.json"] {
        let path = lines.iter().filter_map(|line| line.strip_prefix("cargo::rerun-if-changed="));
        assert!(path.into_iter().any(|path| Path::new(path).ends_with(file) && package.join(path).exists()));
    }
    // A missing file is tracked by its folder, unless the output is in the same folder.
    let named = |path: &str| format!("cargo::rerun-if-changed={}", package.join(path).display());
    assert!(lines.contains(&named("parts")) && !lines.contains(&named("parts/gone.json")), "{lines:?}");
    assert!(lines.contains(&named("none/gone.json")), "{lines:?}");
    let warnings: Vec<_> = lines
        .iter()
        .filter(|line| !line.contains("gone.json"))
        .filter(|line| line.starts_with("cargo::warning="))
        .collect();
    let [warning] = warnings.as_slice() else { panic!("notes must not be warnings: {warnings:?}") };
    assert!(warning.contains("tickets.yaml:1:") && warning.contains("`gone`"), "{warning}");
}

/// The environment variable that makes the test process act as a build script with a `codegen.toml`.
const CONFIGURED_VARIABLE: &str = "BOOK_BUILD_CONFIGURED";

/// Acts as a build script like [`the_build_script`], but with a `codegen.toml`.
#[test]
fn the_configured_build_script() {
    if env::var_os(CONFIGURED_VARIABLE).is_some() {
        let _ = BuildScript::new("api/codegen.toml").run("api.rs");
    }
}

/// The build script reports its input folders to cargo, even if a file in them is invalid. A new or repaired
/// file therefore triggers another run.
#[test]
fn build_script_lists_its_folders() {
    let package = create_folder("book-build-configured");
    for folder in ["api/schemas", "api/vendor", "out"] {
        fs::create_dir_all(package.join(folder)).unwrap();
    }
    let options = "inputs = [\"schemas\"]\n[mounts]\n\"https://v.example/\" = \"vendor\"\n\
                   \"https://w.example/\" = \"vendor/none/yet\"\n";
    fs::write(package.join("api/codegen.toml"), options).unwrap();
    for text in [r#"{"type": "string"}"#, "{"] {
        fs::write(package.join("api/schemas/seat.json"), text).unwrap();
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", "the_configured_build_script", "--nocapture"])
            .current_dir(&package)
            .env(CONFIGURED_VARIABLE, "1")
            .env("OUT_DIR", package.join("out"))
            .output()
            .unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let named: Vec<&str> =
            stdout.lines().filter_map(|line| line.strip_prefix("cargo::rerun-if-changed=")).collect();
        assert_eq!(named[0], "api/codegen.toml");
        for folder in ["api/schemas", "api/vendor"] {
            assert!(named.iter().any(|path| Path::new(path).ends_with(folder)), "{folder}: {stdout}");
        }
        // A missing path would trigger a rebuild every time.
        assert!(named.iter().all(|path| package.join(path).exists()), "{stdout}");
    }
}

/// Other build systems can get the list of files that were read.
#[test]
fn programs_get_the_list_of_files_read() -> Result<(), Box<dyn std::error::Error>> {
    let package = create_folder("book-build-program");
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

/// An invalid contract fails the build with an error for cargo and leaves the existing file unchanged.
#[test]
fn invalid_contract_fails_the_build() {
    let package = create_folder("book-build-fails");
    let out = package.join("out");
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("api.rs"), "").unwrap();
    let (lines, succeeded) = run_build_script(&package, &out);
    assert!(!succeeded);
    let error = lines.iter().find(|line| line.starts_with("cargo::error=")).unwrap();
    assert!(error.contains("tickets.yaml"), "{error}");
    assert_eq!(lines[0], "cargo::rerun-if-changed=tickets.yaml", "a repaired contract triggers another run");
    assert_eq!(fs::read_to_string(out.join("api.rs")).unwrap(), "");
}
