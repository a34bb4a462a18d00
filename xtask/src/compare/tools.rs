//! The generators that `compare` installs with `cargo install` into a folder below `target/`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    program::{decode_output, run_checked, run_with_timeout},
    style::report_progress,
    test::cargo_command,
};

/// The time limit for printing a version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CargoTool {
    /// The name of the crate and of the program.
    pub(super) name: &'static str,
    /// The version is pinned, because the output depends on it.
    pub(super) version: &'static str,
}

/// typify, which reads JSON Schema. The package `other-generators` links the same version.
pub(super) const TYPIFY: CargoTool = CargoTool { name: "cargo-typify", version: "0.8.0" };
pub(super) const OPENAPI_TO_RUST: CargoTool = CargoTool { name: "openapi-to-rust", version: "0.23.0" };

impl CargoTool {
    /// Returns the path of the program. Installs it into the folder if this version is not there.
    ///
    /// # Errors
    /// Returns an error if the program cannot be installed or run.
    pub(super) fn ensure_installed(self, folder: &Path) -> Result<PathBuf, String> {
        let Self { name, version } = self;
        let program = folder.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let listed = fs::read_to_string(folder.join(".crates.toml")).unwrap_or_default();
        if program.is_file() && self.is_listed(&listed) {
            return Ok(program);
        }
        report_progress("install", &format!("{name} {version} in {}", folder.display()));
        let mut command = cargo_command();
        command.args(["install", "--quiet", "--locked", "--root"]).arg(folder);
        command.arg(format!("{name}@{version}"));
        run_checked(&mut command).map_err(|error| {
            format!("cannot install {name} {version}: {error}\nAccess to crates.io is required.")
        })?;
        let mut command = Command::new(&program);
        // The programs of cargo subcommands expect the subcommand first, as in
        // `cargo-typify typify --version`.
        command.args(name.strip_prefix("cargo-")).arg("--version");
        let output = run_with_timeout(&mut command, VERSION_TIMEOUT)?;
        if output.status.success() {
            return Ok(program);
        }
        Err(format!(
            "{name} {version} is installed but cannot be run: {}",
            decode_output(&output.stderr).trim()
        ))
    }

    /// Returns true if cargo's list of installed programs contains this version.
    fn is_listed(self, list: &str) -> bool {
        list.contains(&format!("\"{} {} (", self.name, self.version))
    }
}

/// Writes the manifest of a package for typify's output.
pub(super) fn write_typify_package(output: &Path, name: &str) -> io::Result<()> {
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\n\
         chrono = {{ version = \"0.4\", features = [\"serde\"] }}\nregress = \"0.12\"\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\nserde_json = \"1\"\n\
         uuid = {{ version = \"1\", features = [\"serde\"] }}\n"
    );
    fs::write(output.join("Cargo.toml"), manifest)
}

/// Turns the modules that openapi-to-rust generates into a package with the dependencies that the output
/// lists.
pub(super) fn write_openapi_to_rust_package(output: &Path, name: &str) -> io::Result<()> {
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
    fn tool_with_another_version_is_not_listed() {
        let list = "[v1]\n\"openapi-to-rust 0.23.0 (registry+https://index)\" = [\"openapi-to-rust\"]\n";
        assert!(OPENAPI_TO_RUST.is_listed(list));
        assert!(!OPENAPI_TO_RUST.is_listed(&list.replace("0.23.0", "0.22.0")) && !TYPIFY.is_listed(list));
    }

    #[test]
    fn package_is_written_for_modules() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("mod.rs"), "pub mod types;\n").unwrap();
        fs::write(source.join("REQUIRED_DEPS.toml"), "serde = \"1\"\n").unwrap();
        write_openapi_to_rust_package(folder.path(), "compared").unwrap();
        assert!(source.join("lib.rs").is_file());
        let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
        assert!(
            manifest.contains("name = \"compared\"") && manifest.ends_with("[dependencies]\nserde = \"1\"\n")
        );
    }
}
