//! Installs packages from npm and PyPI below `target/` and reuses installed packages.
//!
//! Versions are pinned, because expected results depend on the version.

use std::{fs, path::Path, process::Command};

use serde::Deserialize;

use crate::program::{decode_output, find_python, run_checked, run_program};

/// The oldest major version of Node.js that the packages support.
const MIN_NODE_VERSION: u32 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ToolPackage {
    registry: PackageRegistry,
    name: &'static str,
    version: &'static str,
}

/// A package registry, which also determines the language of the packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackageRegistry {
    Npm,
    Pypi,
}

impl ToolPackage {
    pub(crate) const fn from_npm(name: &'static str, version: &'static str) -> Self {
        Self { registry: PackageRegistry::Npm, name, version }
    }

    /// Describes a Python package. The name must be spelled as in the name of its folder, with `_`.
    pub(crate) const fn from_pypi(name: &'static str, version: &'static str) -> Self {
        Self { registry: PackageRegistry::Pypi, name, version }
    }

    pub(crate) const fn registry(self) -> PackageRegistry {
        self.registry
    }

    pub(crate) fn label(self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// Returns the package with its version, as npm and pip expect it on the command line.
    fn requirement_spec(self) -> String {
        match self.registry {
            PackageRegistry::Npm => format!("{}@{}", self.name, self.version),
            PackageRegistry::Pypi => format!("{}=={}", self.name, self.version),
        }
    }

    /// Returns true if this version is installed in a folder.
    fn is_installed(self, folder: &Path) -> bool {
        match self.registry {
            PackageRegistry::Npm => {
                #[derive(Deserialize)]
                struct NpmManifest {
                    version: String,
                }
                let manifest = fs::read(folder.join("node_modules").join(self.name).join("package.json"));
                manifest
                    .ok()
                    .and_then(|manifest| serde_json::from_slice(&manifest).ok())
                    .is_some_and(|NpmManifest { version }| version == self.version)
            }
            PackageRegistry::Pypi => {
                folder.join("python").join(format!("{}-{}.dist-info", self.name, self.version)).is_dir()
            }
        }
    }
}

/// Checks that the interpreters exist, and installs all packages into a folder unless they are already there.
///
/// # Errors
/// Returns one message per registry. It names the missing or failed program and the next step.
pub(crate) fn install_packages(packages: &[ToolPackage], folder: &Path) -> Result<(), Vec<String>> {
    let of = |registry| packages.iter().copied().filter(move |package| package.registry == registry);
    let missing: Vec<String> = [PackageRegistry::Npm, PackageRegistry::Pypi]
        .into_iter()
        .map(|registry| (registry, of(registry).collect::<Vec<_>>()))
        .filter(|(_, packages)| !packages.is_empty())
        .filter_map(|(registry, packages)| registry.ensure_installed(&packages, folder).err())
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(missing) }
}

impl PackageRegistry {
    fn ensure_installed(self, packages: &[ToolPackage], folder: &Path) -> Result<(), String> {
        match self {
            Self::Npm => check_node()?,
            Self::Pypi => find_python().map(drop)?,
        }
        let is_there = || packages.iter().all(|package| package.is_installed(folder));
        if is_there() {
            return Ok(());
        }
        fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        let mut command = match self {
            Self::Npm => {
                let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
                npm.args(["install", "--loglevel=error", "--no-audit", "--no-fund", "--no-save", "--prefix"]);
                npm.arg(folder);
                npm
            }
            Self::Pypi => {
                let mut pip = Command::new(find_python()?);
                pip.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]);
                pip.arg(folder.join("python"));
                // Suppress pip's hints about new versions and about running as root.
                pip.env("PIP_DISABLE_PIP_VERSION_CHECK", "1").env("PIP_ROOT_USER_ACTION", "ignore");
                pip
            }
        };
        command.args(packages.iter().map(|package| package.requirement_spec()));
        run_checked(&mut command).map_err(|error| self.install_error(packages, &error))?;
        if is_there() {
            Ok(())
        } else {
            Err(self.install_error(packages, "the packages are not in the expected folder"))
        }
    }

    fn install_error(self, packages: &[ToolPackage], why: &str) -> String {
        let (tool, registry) = match self {
            Self::Npm => ("npm", "the npm registry"),
            Self::Pypi => ("pip", "PyPI"),
        };
        let names: Vec<String> = packages.iter().map(|package| package.label()).collect();
        let names = names.join(", ");
        format!("cannot install {names}: {why}\n{tool} and access to {registry} are required.")
    }

    /// Returns a command that runs a script with the packages of a folder.
    ///
    /// # Errors
    /// Returns an error if the script cannot be copied to the folder of the packages, or if Python is not
    /// installed.
    pub(crate) fn script_command(self, script: &Path, folder: &Path) -> Result<Command, String> {
        match self {
            Self::Npm => {
                // Node.js searches for packages in the folder of the script.
                let copy = folder.join(script.file_name().unwrap_or_default());
                fs::copy(script, &copy)
                    .map_err(|error| format!("cannot write {}: {error}", copy.display()))?;
                let mut node = Command::new("node");
                node.arg(copy);
                Ok(node)
            }
            Self::Pypi => {
                let mut python = Command::new(find_python()?);
                python.env("PYTHONPATH", folder.join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
                python.arg(script);
                Ok(python)
            }
        }
    }
}

/// Checks that Node.js is installed and recent enough.
pub(crate) fn check_node() -> Result<(), String> {
    let help = format!("Install Node.js {MIN_NODE_VERSION} or newer, which includes npm.");
    let output =
        run_program(Command::new("node").arg("--version")).map_err(|error| format!("{error}\n{help}"))?;
    let version = decode_output(&output.stdout);
    match parse_major_version(&version) {
        Some(MIN_NODE_VERSION..) => Ok(()),
        _ => Err(format!("Node.js is too old: {}\n{help}", version.trim())),
    }
}

/// Parses the major version from a string such as `v20.1.2`.
fn parse_major_version(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOSE: ToolPackage = ToolPackage::from_npm("jose", "1.2.3");
    const HOOKS: ToolPackage = ToolPackage::from_pypi("python_hooks", "4.5.6");

    #[test]
    fn another_version_is_not_installed() {
        let folder = tempfile::tempdir().unwrap();
        let jose = folder.path().join("node_modules/jose");
        fs::create_dir_all(&jose).unwrap();
        for package in [JOSE, HOOKS] {
            assert!(!package.is_installed(folder.path()), "{package:?}");
        }
        fs::write(jose.join("package.json"), r#"{"name":"jose","version":"0.0.1"}"#).unwrap();
        assert!(!JOSE.is_installed(folder.path()));
        fs::write(jose.join("package.json"), r#"{"name":"jose","version":"1.2.3"}"#).unwrap();
        assert!(JOSE.is_installed(folder.path()));
        fs::create_dir_all(folder.path().join("python/python_hooks-4.5.6.dist-info")).unwrap();
        assert!(HOOKS.is_installed(folder.path()));
    }

    #[test]
    fn node_versions_are_parsed() {
        for (version, expect) in
            [("v20.20.2\n", Some(20)), ("v9.1.0", Some(9)), ("20.1", None), ("", None), ("vx", None)]
        {
            assert_eq!(parse_major_version(version), expect, "{version}");
        }
    }

    #[test]
    fn install_error_contains_package_and_reason() {
        let error = PackageRegistry::Npm.install_error(&[JOSE], "no-such-program is not on PATH");
        assert!(
            error.contains("jose 1.2.3") && error.contains("no-such-program") && error.contains("npm"),
            "{error}"
        );
        assert_eq!(HOOKS.requirement_spec(), "python_hooks==4.5.6");
    }
}
