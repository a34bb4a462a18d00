//! The generators that `compare` installs itself, by `cargo install` below `target/`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    program::{run_within, succeed, text},
    style::progress,
    test::cargo,
};

/// How long a program may take to say its version.
const SOON: Duration = Duration::from_secs(20);

/// A command that crates.io has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tool {
    /// The crate, and the command.
    pub(super) name: &'static str,
    /// Exact, since what it makes is what that version makes.
    pub(super) version: &'static str,
}

/// Reads JSON Schema; the version that the report asks.
pub(super) const TYPIFY: Tool = Tool { name: "cargo-typify", version: "0.8.0" };
/// Reads OpenAPI 3.0 and 3.1.
pub(super) const OPENAPI_TO_RUST: Tool = Tool { name: "openapi-to-rust", version: "0.23.0" };

impl Tool {
    /// The command, installed into a folder unless it is there in this version.
    ///
    /// # Errors
    /// Why it cannot be had, and what that takes.
    pub(super) fn install(self, folder: &Path) -> Result<PathBuf, String> {
        let Self { name, version } = self;
        let program = folder.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let listed = fs::read_to_string(folder.join(".crates.toml")).unwrap_or_default();
        if program.is_file() && self.is_listed(&listed) {
            return Ok(program);
        }
        progress("install", &format!("{name} {version} in {}", folder.display()));
        let mut command = cargo();
        command.args(["install", "--quiet", "--locked", "--root"]).arg(folder);
        command.arg(format!("{name}@{version}"));
        succeed(&mut command).map_err(|error| {
            format!("{name} {version} could not be installed: {error}\nIt takes a way to crates.io.")
        })?;
        let mut asked = Command::new(&program);
        // `cargo typify --version`
        asked.args(name.strip_prefix("cargo-")).arg("--version");
        let said = run_within(&mut asked, SOON)?;
        if said.status.success() {
            return Ok(program);
        }
        Err(format!("{name} {version} is installed, and cannot be run: {}", text(&said.stderr).trim()))
    }

    /// Whether cargo's list of what it installed has this version.
    fn is_listed(self, list: &str) -> bool {
        list.contains(&format!("\"{} {} (", self.name, self.version))
    }
}

/// What typify's file is to be a package: its types need these.
pub(super) fn typify_package(output: &Path, name: &str) -> io::Result<()> {
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\n\
         chrono = {{ version = \"0.4\", features = [\"serde\"] }}\nregress = \"0.12\"\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\nserde_json = \"1\"\n\
         uuid = {{ version = \"1\", features = [\"serde\"] }}\n"
    );
    fs::write(output.join("Cargo.toml"), manifest)
}

/// What openapi-to-rust's modules are to be a package; it names what they need.
pub(super) fn openapi_to_rust_package(output: &Path, name: &str) -> io::Result<()> {
    let source = output.join("src");
    fs::rename(source.join("mod.rs"), source.join("lib.rs"))?;
    let needs = fs::read_to_string(source.join("REQUIRED_DEPS.toml")).unwrap_or_default();
    let head = if needs.contains("[dependencies]") { "" } else { "[dependencies]\n" };
    let manifest =
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{head}{needs}");
    fs::write(output.join("Cargo.toml"), manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_counts_in_its_version_alone() {
        let list = "[v1]\n\"openapi-to-rust 0.23.0 (registry+https://index)\" = [\"openapi-to-rust\"]\n";
        assert!(OPENAPI_TO_RUST.is_listed(list));
        assert!(!OPENAPI_TO_RUST.is_listed(&list.replace("0.23.0", "0.22.0")) && !TYPIFY.is_listed(list));
    }

    #[test]
    fn modules_become_a_package() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("mod.rs"), "pub mod types;\n").unwrap();
        fs::write(source.join("REQUIRED_DEPS.toml"), "serde = \"1\"\n").unwrap();
        openapi_to_rust_package(folder.path(), "compared").unwrap();
        assert!(source.join("lib.rs").is_file());
        let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
        assert!(
            manifest.contains("name = \"compared\"") && manifest.ends_with("[dependencies]\nserde = \"1\"\n")
        );
    }
}
