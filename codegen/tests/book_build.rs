//! The build script that the book shows, run as cargo runs one.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs, reason = "a test that cannot go on fails")]

use std::{
    env, fs,
    path::Path,
    process::{Command, ExitCode},
};

use contract_codegen::Build;

fn main() -> ExitCode {
    Build::of("tickets.yaml").with(|config| config.output.server = false).run("api.rs")
}

/// Run by the tests below in a process of its own, as its folder and variables are those of a build script.
#[test]
#[ignore = "it is a build script, which the others run"]
fn the_build_script() {
    assert_eq!(main(), ExitCode::SUCCESS);
}

/// What the script printed: lines for cargo, and whether it succeeded.
fn run(package: &Path, out: &Path) -> (Vec<String>, bool) {
    fs::create_dir_all(out).unwrap();
    let ran = Command::new(env::current_exe().unwrap())
        .args(["--exact", "the_build_script", "--ignored", "--nocapture"])
        .current_dir(package)
        .env("OUT_DIR", out)
        .output()
        .unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("cargo::")).map(str::to_owned).collect();
    (lines, ran.status.success())
}

fn folder(name: &str) -> std::path::PathBuf {
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
        "{openapi: 3.1.0, info: {title: Tickets, version: '1'}, paths: {}, components: {schemas: {Ticket: \
         {type: object, properties: {seat: {$ref: 'seat.json'}, nothing: {$ref: '#/gone'}}}}}}",
    )
    .unwrap();
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
    let warned = lines.iter().find(|line| line.starts_with("cargo::warning=")).unwrap();
    assert!(warned.contains("tickets.yaml:1:") && warned.contains("`gone`"), "{warned}");
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
