//! `msrv`: compiles the workspace with the oldest supported compiler.
//!
//! The version is `rust-version` in the workspace's `Cargo.toml`. It also applies to the generator and the
//! code that it generates.

use std::{path::Path, process::Command};

use crate::{
    CommandOutcome,
    program::{self, decode_output, run_checked},
    style::{report_error, report_progress},
    test::WORKSPACE_FLAGS,
};

/// The build folder. It is separate, because a different compiler rebuilds everything.
const TARGET_FOLDER: &str = "target/msrv";

pub(crate) fn run(root: &Path) -> CommandOutcome {
    let oldest = match declared_version(root) {
        Ok(oldest) => oldest,
        Err(error) => {
            report_error(&error);
            return CommandOutcome::Failed;
        }
    };
    let oldest = full_version(&oldest);
    if let Err(error) = ensure_toolchain(&oldest) {
        report_error(&error);
        return CommandOutcome::NotRun;
    }
    report_progress("msrv", &format!("cargo +{oldest} check in {TARGET_FOLDER}"));
    let mut cargo = Command::new("rustup");
    cargo.args(["run", &oldest, "cargo", "check", "--locked"]).args(WORKSPACE_FLAGS).current_dir(root);
    // These variables would select the default compiler.
    for variable in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        cargo.env_remove(variable);
    }
    match cargo.env("CARGO_TARGET_DIR", root.join(TARGET_FOLDER)).status() {
        Ok(status) if status.success() => {
            anstream::println!("Rust {oldest} compiles the workspace");
            CommandOutcome::Passed
        }
        Ok(_) => CommandOutcome::Failed,
        Err(error) => {
            report_error(&format!("cannot run rustup: {error}"));
            CommandOutcome::NotRun
        }
    }
}

/// Reads the version from the workspace's manifest.
fn declared_version(root: &Path) -> Result<String, String> {
    let path = root.join("Cargo.toml");
    let manifest = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let manifest: toml::Table = manifest.parse().map_err(|error| format!("{}: {error}", path.display()))?;
    let version = manifest.get("workspace").and_then(|all| all.get("package")?.get("rust-version")?.as_str());
    version
        .map(str::to_owned)
        .ok_or_else(|| "Cargo.toml: `workspace.package.rust-version` is missing".to_owned())
}

/// Appends `.0` if necessary: to rustup, `1.95` is the latest 1.95 release; to cargo, it is the first one.
fn full_version(version: &str) -> String {
    if version.split('.').count() == 2 { format!("{version}.0") } else { version.to_owned() }
}

fn ensure_toolchain(version: &str) -> Result<(), String> {
    let answers = || {
        let output =
            program::run_program(Command::new("rustup").args(["run", version, "rustc", "--version"]));
        output.is_ok_and(|output| is_version(&decode_output(&output.stdout), version))
    };
    if answers() {
        return Ok(());
    }
    report_progress("install", &format!("Rust {version}"));
    let mut rustup = Command::new("rustup");
    rustup.args(["toolchain", "install", version, "--profile", "minimal", "--no-self-update"]);
    let requirement = "rustup and network access are required.";
    run_checked(&mut rustup)
        .map_err(|error| format!("cannot install Rust {version}: {error}\n{requirement}"))?;
    if answers() {
        Ok(())
    } else {
        Err(format!("rustup installed another version than {version}\n{requirement}"))
    }
}

/// Returns true if the output of `rustc --version` (`rustc 1.95.0 (…)`) shows the given version.
fn is_version(output: &str, version: &str) -> bool {
    output.split_whitespace().nth(1) == Some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_exactly() {
        for (output, expect) in [
            ("rustc 1.95.0 (f2d3ce0bd 2026-03-21)\n", true),
            ("rustc 1.95.1 (0 2026-04-01)\n", false),
            ("rustc 1.96.0 (0 2026-05-01)\n", false),
            ("", false),
        ] {
            assert_eq!(is_version(output, &full_version("1.95")), expect, "{output}");
        }
        assert_eq!(full_version("1.95.2"), "1.95.2");
    }

    #[test]
    fn readme_names_the_version_of_the_manifest() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let oldest = declared_version(&root).unwrap();
        assert_eq!(oldest, env!("CARGO_PKG_RUST_VERSION"));
        let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
        for text in [format!("Rust {oldest} or newer"), format!("/rust-{oldest}%2B-")] {
            assert!(readme.contains(&text), "README.md names another version");
        }
    }
}
