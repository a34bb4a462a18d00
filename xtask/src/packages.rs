//! Packages of npm and PyPI that a command asks or runs: installed below `target/`, in the versions that are
//! named, and reused from there.
//!
//! Versions are exact, since what a package is known to say is what that version says.

use std::{fs, path::Path, process::Command};

use serde::Deserialize;

use crate::program::{python, run, succeed, text};

/// The oldest Node.js that the packages run on.
const NODE: u32 = 20;

/// A package in one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    registry: Registry,
    name: &'static str,
    version: &'static str,
}

/// Where packages come from, and what runs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Registry {
    /// For JavaScript.
    Npm,
    /// For Python.
    Pypi,
}

impl Package {
    /// A package for JavaScript.
    pub(crate) const fn npm(name: &'static str, version: &'static str) -> Self {
        Self { registry: Registry::Npm, name, version }
    }

    /// A package for Python; the name as its folder has it, with `_`.
    pub(crate) const fn pypi(name: &'static str, version: &'static str) -> Self {
        Self { registry: Registry::Pypi, name, version }
    }

    /// Where it comes from.
    pub(crate) const fn registry(self) -> Registry {
        self.registry
    }

    /// Name and version.
    pub(crate) fn label(self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// As it is asked for on a command line.
    fn requirement(self) -> String {
        match self.registry {
            Registry::Npm => format!("{}@{}", self.name, self.version),
            Registry::Pypi => format!("{}=={}", self.name, self.version),
        }
    }

    /// Whether the folder has this version.
    fn is_there(self, folder: &Path) -> bool {
        match self.registry {
            Registry::Npm => {
                #[derive(Deserialize)]
                struct Manifest {
                    version: String,
                }
                let manifest = fs::read(folder.join("node_modules").join(self.name).join("package.json"));
                manifest
                    .ok()
                    .and_then(|manifest| serde_json::from_slice(&manifest).ok())
                    .is_some_and(|Manifest { version }| version == self.version)
            }
            Registry::Pypi => {
                folder.join("python").join(format!("{}-{}.dist-info", self.name, self.version)).is_dir()
            }
        }
    }
}

/// Makes sure that all of them are in the folder, and there is what runs them.
///
/// # Errors
/// Which program is missing or failed, and what to do: one for each registry.
pub(crate) fn install(packages: &[Package], folder: &Path) -> Result<(), Vec<String>> {
    let of = |registry| packages.iter().copied().filter(move |package| package.registry == registry);
    let missing: Vec<String> = [Registry::Npm, Registry::Pypi]
        .into_iter()
        .map(|registry| (registry, of(registry).collect::<Vec<_>>()))
        .filter(|(_, packages)| !packages.is_empty())
        .filter_map(|(registry, packages)| registry.install(&packages, folder).err())
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(missing) }
}

impl Registry {
    fn install(self, packages: &[Package], folder: &Path) -> Result<(), String> {
        match self {
            Self::Npm => node()?,
            Self::Pypi => python().map(drop)?,
        }
        let is_there = || packages.iter().all(|package| package.is_there(folder));
        if is_there() {
            return Ok(());
        }
        fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let mut command = match self {
            Self::Npm => {
                let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
                npm.args(["install", "--loglevel=error", "--no-audit", "--no-fund", "--no-save", "--prefix"]);
                npm.arg(folder);
                npm
            }
            Self::Pypi => {
                let mut pip = Command::new(python()?);
                pip.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]);
                pip.arg(folder.join("python"));
                // Not about pip itself, nor about who runs it.
                pip.env("PIP_DISABLE_PIP_VERSION_CHECK", "1").env("PIP_ROOT_USER_ACTION", "ignore");
                pip
            }
        };
        command.args(packages.iter().map(|package| package.requirement()));
        succeed(&mut command).map_err(|error| self.not_installed(packages, &error))?;
        if is_there() { Ok(()) } else { Err(self.not_installed(packages, "not all is where it should be")) }
    }

    fn not_installed(self, packages: &[Package], why: &str) -> String {
        let (tool, registry) = match self {
            Self::Npm => ("npm", "npm's registry"),
            Self::Pypi => ("pip", "PyPI"),
        };
        let names: Vec<String> = packages.iter().map(|package| package.label()).collect();
        let names = names.join(", ");
        format!("{names} could not be installed: {why}\nIt takes {tool} and a way to {registry}.")
    }

    /// What runs a script with the packages of a folder.
    ///
    /// # Errors
    /// When the script cannot be put where it finds them, or there is no Python.
    pub(crate) fn script(self, script: &Path, folder: &Path) -> Result<Command, String> {
        match self {
            Self::Npm => {
                // Node.js looks for a package beside the script that imports it.
                let beside = folder.join(script.file_name().unwrap_or_default());
                fs::copy(script, &beside)
                    .map_err(|error| format!("cannot write {}: {error}", beside.display()))?;
                let mut node = Command::new("node");
                node.arg(beside);
                Ok(node)
            }
            Self::Pypi => {
                let mut python = Command::new(python()?);
                python.env("PYTHONPATH", folder.join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
                python.arg(script);
                Ok(python)
            }
        }
    }
}

/// Whether there is a Node.js, not too old.
fn node() -> Result<(), String> {
    let how = format!("Install Node.js {NODE} or newer, which brings npm.");
    let said = run(Command::new("node").arg("--version")).map_err(|error| format!("{error}\n{how}"))?;
    let version = text(&said.stdout);
    match major(&version) {
        Some(NODE..) => Ok(()),
        _ => Err(format!("node is too old: {}\n{how}", version.trim())),
    }
}

/// `v20.1.2`
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOSE: Package = Package::npm("jose", "1.2.3");
    const HOOKS: Package = Package::pypi("python_hooks", "4.5.6");

    #[test]
    fn a_copy_counts_in_its_version_alone() {
        let folder = tempfile::tempdir().unwrap();
        let jose = folder.path().join("node_modules/jose");
        fs::create_dir_all(&jose).unwrap();
        for package in [JOSE, HOOKS] {
            assert!(!package.is_there(folder.path()), "{package:?}");
        }
        fs::write(jose.join("package.json"), r#"{"name":"jose","version":"0.0.1"}"#).unwrap();
        assert!(!JOSE.is_there(folder.path()));
        fs::write(jose.join("package.json"), r#"{"name":"jose","version":"1.2.3"}"#).unwrap();
        assert!(JOSE.is_there(folder.path()));
        fs::create_dir_all(folder.path().join("python/python_hooks-4.5.6.dist-info")).unwrap();
        assert!(HOOKS.is_there(folder.path()));
    }

    #[test]
    fn versions_of_node() {
        for (version, expect) in
            [("v20.20.2\n", Some(20)), ("v9.1.0", Some(9)), ("20.1", None), ("", None), ("vx", None)]
        {
            assert_eq!(major(version), expect, "{version}");
        }
    }

    #[test]
    fn what_could_not_be_installed_says_why() {
        let how = Registry::Npm.not_installed(&[JOSE], "no-such-program is not on PATH");
        assert!(
            how.contains("jose 1.2.3") && how.contains("no-such-program") && how.contains("npm"),
            "{how}"
        );
        assert_eq!(HOOKS.requirement(), "python_hooks==4.5.6");
    }
}
