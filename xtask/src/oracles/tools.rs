//! The oracles as programs: how each library is installed below `target/`, and how its script is run.
//!
//! Versions are pinned, since the known differences are those of a version; a copy of that version is reused.

use std::{fs, path::Path, process::Command};

use serde::Deserialize;

use crate::program::{python, run, succeed, text};

/// The oldest Node.js that `jose` runs on.
const NODE: u32 = 20;

/// A library that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Oracle {
    /// For JavaScript, from npm.
    Jose,
    /// For Python, from PyPI.
    Jwcrypto,
}

impl Oracle {
    pub(super) const ALL: [Self; 2] = [Self::Jose, Self::Jwcrypto];

    /// What its library, its script and its file are called.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Jose => "jose",
            Self::Jwcrypto => "jwcrypto",
        }
    }

    const fn version(self) -> &'static str {
        match self {
            Self::Jose => "6.2.17",
            Self::Jwcrypto => "1.6.1",
        }
    }

    /// Name and version.
    pub(super) fn library(self) -> String {
        format!("{} {}", self.name(), self.version())
    }

    /// The file in `dpop/vectors/`.
    pub(super) const fn script(self) -> &'static str {
        match self {
            Self::Jose => "jose.mjs",
            Self::Jwcrypto => "jwcrypto.py",
        }
    }

    /// Makes sure that the library is there, in the version that is asked for, and what runs it.
    ///
    /// # Errors
    /// Which program is missing or failed, and what to do.
    pub(super) fn install(self, folder: &Path) -> Result<(), String> {
        fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        match self {
            Self::Jose => node()?,
            Self::Jwcrypto => python().map(drop)?,
        }
        if self.is_there(folder) {
            return Ok(());
        }
        let mut command = match self {
            Self::Jose => {
                let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
                npm.args(["install", "--loglevel=error", "--no-audit", "--no-fund", "--no-save", "--prefix"]);
                npm.arg(folder).arg(format!("jose@{}", self.version()));
                npm
            }
            Self::Jwcrypto => {
                let mut pip = Command::new(python()?);
                pip.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]);
                pip.arg(folder.join("python")).arg(format!("jwcrypto=={}", self.version()));
                // Not about pip itself, nor about who runs it.
                pip.env("PIP_DISABLE_PIP_VERSION_CHECK", "1").env("PIP_ROOT_USER_ACTION", "ignore");
                pip
            }
        };
        succeed(&mut command).map_err(|error| self.not_installed(&error))?;
        if self.is_there(folder) { Ok(()) } else { Err(self.not_installed("it is not where it should be")) }
    }

    fn not_installed(self, why: &str) -> String {
        let (tool, registry) = match self {
            Self::Jose => ("npm", "npm's registry"),
            Self::Jwcrypto => ("pip", "PyPI"),
        };
        format!("{} could not be installed: {why}\nIt takes {tool} and a way to {registry}.", self.library())
    }

    /// Whether the folder has this version.
    fn is_there(self, folder: &Path) -> bool {
        match self {
            Self::Jose => {
                #[derive(Deserialize)]
                struct Package {
                    version: String,
                }
                let package = fs::read(folder.join("node_modules/jose/package.json"));
                package
                    .ok()
                    .and_then(|package| serde_json::from_slice(&package).ok())
                    .is_some_and(|Package { version }| version == self.version())
            }
            Self::Jwcrypto => {
                folder.join("python").join(format!("jwcrypto-{}.dist-info", self.version())).is_dir()
            }
        }
    }

    /// Runs the script of `vectors`: what it says of `ours`, one line a case; `theirs` is written.
    ///
    /// # Errors
    /// When it fails, with what it says.
    pub(super) fn ask(
        self,
        vectors: &Path,
        folder: &Path,
        ours: &Path,
        theirs: &Path,
    ) -> Result<String, String> {
        let script = vectors.join(self.script());
        let mut command = match self {
            Self::Jose => {
                // Node.js looks for a library beside the script that imports it.
                let beside = folder.join(self.script());
                fs::copy(&script, &beside)
                    .map_err(|error| format!("cannot write {}: {error}", beside.display()))?;
                let mut node = Command::new("node");
                node.arg(beside);
                node
            }
            Self::Jwcrypto => {
                let mut python = Command::new(python()?);
                python.env("PYTHONPATH", folder.join("python")).arg(script);
                python
            }
        };
        let said = run(command.arg(ours).arg(theirs))?;
        if !said.status.success() {
            return Err(format!("{} failed: {}\n{}", self.script(), said.status, text(&said.stderr).trim()));
        }
        Ok(text(&said.stdout))
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

    #[test]
    fn a_copy_counts_in_its_version_alone() {
        let folder = tempfile::tempdir().unwrap();
        let jose = folder.path().join("node_modules/jose");
        fs::create_dir_all(&jose).unwrap();
        for oracle in Oracle::ALL {
            assert!(!oracle.is_there(folder.path()), "{oracle:?}");
        }
        fs::write(jose.join("package.json"), r#"{"name":"jose","version":"0.0.1"}"#).unwrap();
        assert!(!Oracle::Jose.is_there(folder.path()));
        let package = format!(r#"{{"name":"jose","version":"{}"}}"#, Oracle::Jose.version());
        fs::write(jose.join("package.json"), package).unwrap();
        assert!(Oracle::Jose.is_there(folder.path()));
        let info = format!("python/jwcrypto-{}.dist-info", Oracle::Jwcrypto.version());
        fs::create_dir_all(folder.path().join(info)).unwrap();
        assert!(Oracle::Jwcrypto.is_there(folder.path()));
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
        let how = Oracle::Jose.not_installed("no-such-program is not on PATH");
        assert!(how.contains("jose 6") && how.contains("no-such-program") && how.contains("npm"), "{how}");
    }

    #[test]
    fn the_scripts_are_there() {
        let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dpop/vectors");
        for oracle in Oracle::ALL {
            let script = fs::read_to_string(vectors.join(oracle.script())).unwrap();
            assert!(script.contains(&format!("`{}`", oracle.name())), "{oracle:?}");
            let made = fs::read_to_string(vectors.join(format!("{}.json", oracle.name()))).unwrap();
            assert!(made.contains(&format!("\"by\": \"{}\"", oracle.library())), "run it with --write");
        }
    }
}
