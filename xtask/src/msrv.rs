//! `msrv`: whether the oldest compiler that the workspace names compiles it.
//!
//! `rust-version` in the workspace's `Cargo.toml` is the one place that names it; the generator and its
//! output take it from there.

use std::{path::Path, process::Command};

use crate::{
    Verdict,
    program::{self, succeed, text},
    style::{complain, progress},
    test::WHOLE,
};

/// Where it builds: another compiler than the usual one makes everything anew.
const TARGET: &str = "target/msrv";

/// Carries the command out.
pub(crate) fn run(root: &Path) -> Verdict {
    let oldest = match named(root) {
        Ok(oldest) => oldest,
        Err(error) => {
            complain(&error);
            return Verdict::ToRepair;
        }
    };
    let oldest = whole(&oldest);
    if let Err(error) = toolchain(&oldest) {
        complain(&error);
        return Verdict::NotRun;
    }
    progress("msrv", &format!("cargo +{oldest} check in {TARGET}"));
    let mut cargo = Command::new("rustup");
    cargo.args(["run", &oldest, "cargo", "check", "--locked"]).args(WHOLE).current_dir(root);
    // What this process was started with names the usual compiler.
    for variable in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        cargo.env_remove(variable);
    }
    match cargo.env("CARGO_TARGET_DIR", root.join(TARGET)).status() {
        Ok(status) if status.success() => {
            anstream::println!("Rust {oldest} compiles the workspace");
            Verdict::InOrder
        }
        Ok(_) => Verdict::ToRepair,
        Err(error) => {
            complain(&format!("cannot run rustup: {error}"));
            Verdict::NotRun
        }
    }
}

/// The version that the workspace names.
fn named(root: &Path) -> Result<String, String> {
    let path = root.join("Cargo.toml");
    let manifest = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let manifest: toml::Table = manifest.parse().map_err(|error| format!("{}: {error}", path.display()))?;
    let version = manifest.get("workspace").and_then(|all| all.get("package")?.get("rust-version")?.as_str());
    version
        .map(str::to_owned)
        .ok_or_else(|| "Cargo.toml: `workspace.package.rust-version` is missing".to_owned())
}

/// `1.95` is any 1.95 for rustup, and the first one for cargo.
fn whole(version: &str) -> String {
    if version.split('.').count() == 2 { format!("{version}.0") } else { version.to_owned() }
}

/// Makes sure that there is such a compiler.
fn toolchain(version: &str) -> Result<(), String> {
    let answers = || {
        let said = program::run(Command::new("rustup").args(["run", version, "rustc", "--version"]));
        said.is_ok_and(|said| is_of(&text(&said.stdout), version))
    };
    if answers() {
        return Ok(());
    }
    progress("install", &format!("Rust {version}"));
    let mut rustup = Command::new("rustup");
    rustup.args(["toolchain", "install", version, "--profile", "minimal", "--no-self-update"]);
    let how = "It takes rustup and the network.";
    succeed(&mut rustup).map_err(|error| format!("there is no Rust {version}: {error}\n{how}"))?;
    if answers() { Ok(()) } else { Err(format!("what rustup calls {version} is another version\n{how}")) }
}

/// Whether `rustc 1.95.0 (…)` is a 1.95.0.
fn is_of(said: &str, version: &str) -> bool {
    said.split_whitespace().nth(1) == Some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_apart() {
        for (said, expect) in [
            ("rustc 1.95.0 (f2d3ce0bd 2026-03-21)\n", true),
            ("rustc 1.95.1 (0 2026-04-01)\n", false),
            ("rustc 1.96.0 (0 2026-05-01)\n", false),
            ("", false),
        ] {
            assert_eq!(is_of(said, &whole("1.95")), expect, "{said}");
        }
        assert_eq!(whole("1.95.2"), "1.95.2");
    }

    /// The one place, and who repeats it for readers.
    #[test]
    fn readme_and_workspace_name_the_same_version() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let oldest = named(&root).unwrap();
        assert_eq!(oldest, env!("CARGO_PKG_RUST_VERSION"));
        let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
        assert!(readme.contains(&format!("Rust {oldest} or newer")), "README.md names another version");
    }
}
