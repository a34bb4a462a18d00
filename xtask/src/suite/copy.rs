//! Where the suite is: a folder that somebody names, or one that `--fetch` unpacked.
//!
//! The suite is never part of this repository; what is fetched lies below `target/`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::cli::Draft;
use crate::program::{python, succeed};

/// The variable that names a copy.
pub(super) const VARIABLE: &str = "JSON_SCHEMA_TEST_SUITE";

/// What to do when there is no copy.
const HOW: &str = "the official JSON-Schema-Test-Suite is not part of this repository. Get a copy:
  git clone --depth 1 https://github.com/json-schema-org/JSON-Schema-Test-Suite
then name it:
  cargo xtask suite JSON-Schema-Test-Suite      (or JSON_SCHEMA_TEST_SUITE=JSON-Schema-Test-Suite)
Without git, from PyPI's jsonschema, whose copy is a little older:
  cargo xtask suite --fetch";

/// The folder with `tests/` and `remotes/`: the one that was named, the variable's, or the one
/// that was fetched before.
///
/// # Errors
/// What to do, when there is none.
pub(super) fn find(
    named: Option<&Path>,
    variable: Option<PathBuf>,
    fetched: &Path,
) -> Result<PathBuf, String> {
    let given = named.map(Path::to_path_buf).or(variable);
    let cases = Draft::Latest.folder();
    let is_suite = |folder: &Path| folder.join(&cases).is_dir() && folder.join("remotes").is_dir();
    match given.or_else(|| unpacked(fetched)) {
        Some(folder) if is_suite(&folder) => Ok(folder),
        Some(folder) => Err(format!("{} has no {cases} and remotes;\n{HOW}", folder.display())),
        None => Err(HOW.to_owned()),
    }
}

/// The suite inside of an unpacked source distribution; the newest by name.
fn unpacked(fetched: &Path) -> Option<PathBuf> {
    let folders = fs::read_dir(fetched).ok()?.filter_map(Result::ok).map(|entry| entry.path().join("json"));
    folders.filter(|folder| folder.is_dir()).max()
}

/// Unpacks the source distribution of PyPI's `jsonschema`, which carries the suite.
///
/// # Errors
/// When neither pip nor tar can be run, or one of them fails.
pub(super) fn fetch(into: &Path) -> Result<(), String> {
    fs::create_dir_all(into).map_err(|error| format!("cannot make {}: {error}", into.display()))?;
    let pip = ["download", "--no-binary", ":all:", "--no-deps", "--quiet", "--dest", "."];
    succeed(Command::new(python()?).args(["-m", "pip"]).args(pip).arg("jsonschema").current_dir(into))?;
    let archives = fs::read_dir(into).map_err(|error| error.to_string())?.filter_map(Result::ok);
    let archive = archives
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("jsonschema-") && name.ends_with(".tar.gz"))
        .max()
        .ok_or("pip downloaded no source distribution of jsonschema")?;
    succeed(Command::new("tar").args(["-xzf", &archive]).current_dir(into)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(folder: &Path) {
        for part in [Draft::Latest.folder().as_str(), "remotes"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
    }

    #[test]
    fn a_named_copy_goes_before_the_variable_and_that_before_a_fetched_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for copy in ["named", "variable", "fetched/jsonschema-4.1.0/json", "fetched/jsonschema-4.2.0/json"] {
            suite(&at(copy));
        }
        let fetched = at("fetched");
        assert_eq!(find(Some(&at("named")), Some(at("variable")), &fetched), Ok(at("named")));
        assert_eq!(find(None, Some(at("variable")), &fetched), Ok(at("variable")));
        assert_eq!(find(None, None, &fetched), Ok(at("fetched/jsonschema-4.2.0/json")));
    }

    #[test]
    fn without_a_copy_it_says_how_to_get_one() {
        let folder = tempfile::tempdir().unwrap();
        let missing = find(None, None, &folder.path().join("none")).unwrap_err();
        assert!(missing.contains("git clone") && missing.contains("--fetch"), "{missing}");
        let empty = find(Some(folder.path()), None, Path::new("none")).unwrap_err();
        assert!(empty.contains(&folder.path().display().to_string()), "{empty}");
    }
}
