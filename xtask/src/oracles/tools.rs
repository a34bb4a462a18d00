//! The oracles as programs: which package each is, and how its script is run.

use std::path::Path;

use crate::{
    packages::Package,
    program::{run, text},
};

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

    /// Versions are pinned, since the known differences are those of a version.
    pub(super) const fn package(self) -> Package {
        match self {
            Self::Jose => Package::npm("jose", "6.2.17"),
            Self::Jwcrypto => Package::pypi("jwcrypto", "1.6.1"),
        }
    }

    /// The file in `dpop/vectors/`.
    pub(super) const fn script(self) -> &'static str {
        match self {
            Self::Jose => "jose.mjs",
            Self::Jwcrypto => "jwcrypto.py",
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
        let mut command = self.package().registry().script(&vectors.join(self.script()), folder)?;
        let said = run(command.arg(ours).arg(theirs))?;
        if !said.status.success() {
            return Err(format!("{} failed: {}\n{}", self.script(), said.status, text(&said.stderr).trim()));
        }
        Ok(text(&said.stdout))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_scripts_are_there() {
        let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dpop/vectors");
        for oracle in Oracle::ALL {
            let script = fs::read_to_string(vectors.join(oracle.script())).unwrap();
            assert!(script.contains(&format!("`{}`", oracle.name())), "{oracle:?}");
            let made = fs::read_to_string(vectors.join(format!("{}.json", oracle.name()))).unwrap();
            assert!(
                made.contains(&format!("\"by\": \"{}\"", oracle.package().label())),
                "run it with --write"
            );
        }
    }
}
