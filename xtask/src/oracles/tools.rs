//! The JOSE libraries that serve as oracles for DPoP proofs, with the package and the script of each.

use std::path::Path;

use crate::{
    packages::ToolPackage,
    program::{decode_output, run_program},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OracleLibrary {
    /// `jose` for JavaScript, from npm.
    Jose,
    /// `jwcrypto` for Python, from PyPI.
    Jwcrypto,
}

impl OracleLibrary {
    pub(super) const ALL: [Self; 2] = [Self::Jose, Self::Jwcrypto];

    /// Returns the name of the library, which is also the name of its script and of its vector file.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Jose => "jose",
            Self::Jwcrypto => "jwcrypto",
        }
    }

    /// Returns the package. Its version is pinned, because the known differences depend on it.
    pub(super) const fn package(self) -> ToolPackage {
        match self {
            Self::Jose => ToolPackage::from_npm("jose", "6.2.17"),
            Self::Jwcrypto => ToolPackage::from_pypi("jwcrypto", "1.6.1"),
        }
    }

    /// Returns the file name of the script in `dpop/vectors/`.
    pub(super) const fn script_name(self) -> &'static str {
        match self {
            Self::Jose => "jose.mjs",
            Self::Jwcrypto => "jwcrypto.py",
        }
    }

    /// Runs the script, which writes the library's proofs to `theirs`. Returns the library's results for
    /// `ours`, one line per case.
    ///
    /// # Errors
    /// Returns an error with the script's error output if the script fails.
    pub(super) fn verify_vectors(
        self,
        vectors: &Path,
        folder: &Path,
        ours: &Path,
        theirs: &Path,
    ) -> Result<String, String> {
        let mut command =
            self.package().registry().script_command(&vectors.join(self.script_name()), folder)?;
        let output = run_program(command.arg(ours).arg(theirs))?;
        if !output.status.success() {
            return Err(format!(
                "{} failed: {}\n{}",
                self.script_name(),
                output.status,
                decode_output(&output.stderr).trim()
            ));
        }
        Ok(decode_output(&output.stdout))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn scripts_and_vectors_name_their_package() {
        let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dpop/vectors");
        for oracle in OracleLibrary::ALL {
            let script = fs::read_to_string(vectors.join(oracle.script_name())).unwrap();
            assert!(script.contains(&format!("`{}`", oracle.name())), "{oracle:?}");
            let content = fs::read_to_string(vectors.join(format!("{}.json", oracle.name()))).unwrap();
            assert!(
                content.contains(&format!("\"by\": \"{}\"", oracle.package().label())),
                "run it with --write"
            );
        }
    }
}
