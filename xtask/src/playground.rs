//! `playground`: builds the static folder of the playground, and tests it in Chromium.
//!
//! Entry point: [`run`]. The crate `contract-playground` is compiled to WebAssembly, `wasm-bindgen` writes its
//! JavaScript, and `build.mjs` in `codegen/playground/web` bundles the page. The tests are beside the page.
//! `site` copies the result.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    CommandOutcome,
    cli::PlaygroundArgs,
    packages,
    program::{decode_output, run_checked, run_program},
    site::{self, PLAYGROUND_FOLDER},
    style::{SUCCESS, report_error, report_progress},
    test,
};

const WEB_FOLDER: &str = "codegen/playground/web";
/// The output of wasm-bindgen.
const GENERATOR_FOLDER: &str = "target/playground-generator";
const PACKAGE: &str = "contract-playground";
const TARGET: &str = "wasm32-unknown-unknown";
/// Arguments for cargo, separated by spaces, for toolchains without the target.
const CARGO_ARGS_VARIABLE: &str = "PLAYGROUND_CARGO_ARGS";
/// The path of Chromium for the tests.
pub(crate) const CHROMIUM_VARIABLE: &str = "CHROMIUM";
/// The names of Chromium on different systems.
const CHROMIUM_PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The problem that stopped the command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PlaygroundError {
    /// A build or a test failed.
    Faulty(String),
    /// Programs or targets are missing, one message each.
    Missing(Vec<String>),
}

pub(crate) fn run(args: &PlaygroundArgs, root: &Path) -> CommandOutcome {
    match build_and_test(args, root) {
        Ok(()) => {
            let tested = if args.test { ", tests passed" } else { "" };
            anstream::println!("{SUCCESS}built{SUCCESS:#} {PLAYGROUND_FOLDER}/index.html{tested}");
            CommandOutcome::Passed
        }
        Err(PlaygroundError::Faulty(reason)) => {
            report_error(&reason);
            CommandOutcome::Failed
        }
        Err(PlaygroundError::Missing(reasons)) => {
            reasons.iter().for_each(|reason| report_error(reason));
            CommandOutcome::NotRun
        }
    }
}

fn build_and_test(args: &PlaygroundArgs, root: &Path) -> Result<(), PlaygroundError> {
    let cargo_args = env::var(CARGO_ARGS_VARIABLE).unwrap_or_default();
    let chromium = find_requirements(args, root, &cargo_args).map_err(PlaygroundError::Missing)?;
    report_progress("build", &format!("{PACKAGE} for {TARGET}"));
    let module = build_module(root, &cargo_args)?;
    report_progress("bind", "wasm-bindgen");
    let mut bindgen = Command::new("wasm-bindgen");
    bindgen
        .args(["--target", "web", "--no-typescript", "--remove-name-section", "--out-dir"])
        .arg(root.join(GENERATOR_FOLDER));
    run_checked(bindgen.arg(module)).map_err(PlaygroundError::Faulty)?;
    report_progress("packages", &format!("npm ci in {WEB_FOLDER}"));
    let web = root.join(WEB_FOLDER);
    let mut install = npm_command(&web);
    install.args(["ci", "--prefer-offline", "--loglevel=error", "--no-audit", "--no-fund"]);
    run_checked(&mut install).map_err(|error| {
        PlaygroundError::Missing(vec![format!(
            "cannot install the packages of {WEB_FOLDER}: {error}\nnpm and access to the npm registry are required."
        )])
    })?;
    report_progress("bundle", PLAYGROUND_FOLDER);
    let mut bundle = npm_command(&web);
    bundle.args(["run", "--silent", "build", "--"]);
    bundle.arg(root.join(GENERATOR_FOLDER)).arg(root.join(PLAYGROUND_FOLDER));
    bundle.env("REPOSITORY", site::repository_address(root)?.unwrap_or_default());
    run_checked(&mut bundle).map_err(PlaygroundError::Faulty)?;
    let Some(chromium) = chromium else { return Ok(()) };
    report_progress("test", &format!("types, and {WEB_FOLDER}/test in {}", chromium.display()));
    for script in ["types", "test"] {
        let mut npm = npm_command(&web);
        npm.args(["run", "--silent", script]);
        npm.env(CHROMIUM_VARIABLE, &chromium).env("PLAYGROUND", root.join(PLAYGROUND_FOLDER));
        let status = npm.stdin(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(PlaygroundError::Faulty(format!("npm run {script} failed; see its output")));
        }
    }
    Ok(())
}

/// Checks all requirements, so that all missing ones are reported at once. Returns the path of Chromium if
/// the tests are requested.
fn find_requirements(
    args: &PlaygroundArgs,
    root: &Path,
    cargo_args: &str,
) -> Result<Option<PathBuf>, Vec<String>> {
    let mut missing: Vec<String> = [check_target(cargo_args), check_bindgen(root), packages::check_node()]
        .into_iter()
        .filter_map(Result::err)
        .collect();
    let chromium = if args.test { find_chromium().map(Some) } else { Ok(None) };
    match chromium {
        Ok(chromium) if missing.is_empty() => Ok(chromium),
        Ok(_) => Err(missing),
        Err(error) => {
            missing.push(error);
            Err(missing)
        }
    }
}

/// Checks that the standard library of the target is installed, unless cargo builds it.
fn check_target(cargo_args: &str) -> Result<(), String> {
    if cargo_args.contains("build-std") {
        return Ok(());
    }
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut rustc = Command::new(compiler);
    rustc.args(["--print", "target-libdir", "--target", TARGET]);
    let folder = run_program(&mut rustc).map(|output| decode_output(&output.stdout));
    if folder.is_ok_and(|folder| Path::new(folder.trim()).is_dir()) {
        return Ok(());
    }
    Err(format!(
        "the target {TARGET} is not installed: run `rustup target add {TARGET}`\n\
         For a toolchain without it, set {CARGO_ARGS_VARIABLE}, for example to `-Zbuild-std=std,panic_abort`."
    ))
}

/// Checks that the command `wasm-bindgen` has the version of the library in the lock file.
fn check_bindgen(root: &Path) -> Result<(), String> {
    let lock = fs::read_to_string(root.join("Cargo.lock")).map_err(|error| format!("Cargo.lock: {error}"))?;
    let version = locked_version(&lock, "wasm-bindgen")
        .ok_or_else(|| "Cargo.lock contains no wasm-bindgen".to_owned())?;
    let found = run_program(Command::new("wasm-bindgen").arg("--version"));
    let found = found.map(|output| decode_output(&output.stdout)).unwrap_or_default();
    if found.trim() == format!("wasm-bindgen {version}") {
        return Ok(());
    }
    let problem = match found.trim() {
        "" => "wasm-bindgen is not on PATH".to_owned(),
        other => format!("wasm-bindgen {version} is required, but {other} is installed"),
    };
    Err(format!("{problem}: run `cargo install --locked wasm-bindgen-cli@{version}`"))
}

/// Returns the version of a package in a lock file.
fn locked_version(lock: &str, package: &str) -> Option<String> {
    let lock: toml::Table = lock.parse().ok()?;
    let packages = lock.get("package")?.as_array()?;
    let found =
        packages.iter().find(|each| each.get("name").and_then(toml::Value::as_str) == Some(package))?;
    found.get("version")?.as_str().map(str::to_owned)
}

/// Returns the path of Chromium: that of the environment variable, or the first program on PATH.
pub(crate) fn find_chromium() -> Result<PathBuf, String> {
    let named = env::var_os(CHROMIUM_VARIABLE).map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let mut candidates = CHROMIUM_PROGRAMS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .filter(|program| program.is_file());
    named.filter(|program| program.is_file()).or_else(|| candidates.next()).ok_or_else(|| {
        format!("Chromium is not on PATH\nInstall it, or set {CHROMIUM_VARIABLE} to the path of Chromium or Chrome.")
    })
}

/// Compiles the module, optimized for size. Returns its path.
fn build_module(root: &Path, cargo_args: &str) -> Result<PathBuf, PlaygroundError> {
    let mut cargo = test::cargo_command();
    cargo.args(["build", "--package", PACKAGE, "--lib", "--profile", "playground", "--target", TARGET]);
    cargo.args(["--locked", "--message-format=json-render-diagnostics"]);
    cargo.args(cargo_args.split_whitespace()).current_dir(root);
    let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| PlaygroundError::Faulty(format!("cannot run cargo: {error}")))?;
    let messages = decode_output(&output.stdout);
    let mut modules = messages.lines().filter_map(|line| module_path(&serde_json::from_str(line).ok()?));
    let module = modules.next_back().filter(|_| output.status.success());
    module.ok_or_else(|| PlaygroundError::Faulty(format!("cannot build {PACKAGE}; see the output of cargo")))
}

/// Returns the path of the WebAssembly module if the message from cargo reports that it was built.
fn module_path(message: &Value) -> Option<PathBuf> {
    let names = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
    let is_it = message["target"]["name"] == PACKAGE.replace('-', "_");
    names.filter(|_| is_it).find(|name| name.ends_with(".wasm")).map(PathBuf::from)
}

fn npm_command(folder: &Path) -> Command {
    let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    npm.current_dir(folder).env("npm_config_update_notifier", "false");
    npm
}

impl From<String> for PlaygroundError {
    fn from(reason: String) -> Self {
        Self::Faulty(reason)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn version_of_the_lock_file_is_found() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n\n[[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.9\"\n";
        assert_eq!(locked_version(lock, "wasm-bindgen").as_deref(), Some("0.2.9"));
        assert_eq!(locked_version(lock, "b"), None);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap();
        assert!(locked_version(&lock, "wasm-bindgen").is_some());
        assert!(root.join(site::PLAYGROUND_SOURCE).is_file());
    }

    #[test]
    fn module_is_found_in_the_messages_of_cargo() {
        let message =
            |name: &str, file: &str| json!({ "target": { "name": name }, "filenames": ["a.rlib", file] });
        assert_eq!(module_path(&message("contract_playground", "a/b.wasm")), Some(PathBuf::from("a/b.wasm")));
        assert_eq!(module_path(&message("contract_playground", "a/b.d")), None);
        assert_eq!(module_path(&message("other", "a/b.wasm")), None);
        assert_eq!(module_path(&json!({ "reason": "build-finished" })), None);
    }

    /// If cargo builds the standard library, the target need not be installed.
    #[test]
    fn toolchain_without_the_target_is_accepted() {
        assert_eq!(check_target("-Zbuild-std=std,panic_abort"), Ok(()));
    }
}
