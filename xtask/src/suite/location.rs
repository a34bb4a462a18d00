//! Locates the suite, which is not part of this repository: a folder that the user selects, or the copy that
//! `--fetch` downloaded below `target/`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::cli::SchemaDraft;
use crate::program::{find_python, run_checked};

/// The environment variable that contains the path of a copy of the suite.
pub(super) const SUITE_VARIABLE: &str = "JSON_SCHEMA_TEST_SUITE";

/// The message if no copy of the suite is found.
const MISSING_SUITE_HELP: &str =
    "the official JSON-Schema-Test-Suite is not part of this repository. Download a copy:
  git clone --depth 1 https://github.com/json-schema-org/JSON-Schema-Test-Suite
then pass its path:
  cargo xtask suite JSON-Schema-Test-Suite      (or JSON_SCHEMA_TEST_SUITE=JSON-Schema-Test-Suite)
Without git, from the source distribution of PyPI's jsonschema, which may be older:
  cargo xtask suite --fetch";

/// Returns the folder with `tests/` and `remotes/`: the folder from the command line, the folder from the
/// environment variable, or the downloaded copy.
///
/// # Errors
/// Returns an error with instructions if there is no copy, or if the selected folder is not a copy.
pub(super) fn find_suite(
    named: Option<&Path>,
    variable: Option<PathBuf>,
    fetched: &Path,
) -> Result<PathBuf, String> {
    let chosen = named.map(Path::to_path_buf).or(variable);
    let cases = SchemaDraft::Latest.folder();
    let is_suite = |folder: &Path| folder.join(&cases).is_dir() && folder.join("remotes").is_dir();
    match chosen.or_else(|| newest_unpacked(fetched)) {
        Some(folder) if is_suite(&folder) => Ok(folder),
        Some(folder) => {
            Err(format!("{} does not contain {cases} and remotes;\n{MISSING_SUITE_HELP}", folder.display()))
        }
        None => Err(MISSING_SUITE_HELP.to_owned()),
    }
}

/// Returns the suite in the newest source distribution that was unpacked.
fn newest_unpacked(fetched: &Path) -> Option<PathBuf> {
    let folders = fs::read_dir(fetched).ok()?.filter_map(Result::ok).map(|entry| entry.path().join("json"));
    folders.filter(|folder| folder.is_dir()).max()
}

/// Downloads and unpacks the source distribution of PyPI's `jsonschema`, which contains the suite.
///
/// # Errors
/// Returns an error if pip or tar cannot be run or fails.
pub(super) fn download_suite(into: &Path) -> Result<(), String> {
    fs::create_dir_all(into).map_err(|error| format!("cannot create {}: {error}", into.display()))?;
    let pip = ["download", "--no-binary", ":all:", "--no-deps", "--quiet", "--dest", "."];
    run_checked(
        Command::new(find_python()?).args(["-m", "pip"]).args(pip).arg("jsonschema").current_dir(into),
    )?;
    let archives = fs::read_dir(into).map_err(|error| error.to_string())?.filter_map(Result::ok);
    let archive = archives
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("jsonschema-") && name.ends_with(".tar.gz"))
        .max()
        .ok_or("pip downloaded no source distribution of jsonschema")?;
    run_checked(Command::new("tar").args(["-xzf", &archive]).current_dir(into)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create_suite(folder: &Path) {
        for part in [SchemaDraft::Latest.folder().as_str(), "remotes"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
    }

    #[test]
    fn argument_precedes_variable_and_fetched_copy() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for copy in ["named", "variable", "fetched/jsonschema-4.1.0/json", "fetched/jsonschema-4.2.0/json"] {
            create_suite(&path(copy));
        }
        let fetched = path("fetched");
        assert_eq!(find_suite(Some(&path("named")), Some(path("variable")), &fetched), Ok(path("named")));
        assert_eq!(find_suite(None, Some(path("variable")), &fetched), Ok(path("variable")));
        assert_eq!(find_suite(None, None, &fetched), Ok(path("fetched/jsonschema-4.2.0/json")));
    }

    #[test]
    fn missing_suite_error_explains_how_to_get_it() {
        let folder = tempfile::tempdir().unwrap();
        let missing = find_suite(None, None, &folder.path().join("none")).unwrap_err();
        assert!(missing.contains("git clone") && missing.contains("--fetch"), "{missing}");
        let empty = find_suite(Some(folder.path()), None, Path::new("none")).unwrap_err();
        assert!(empty.contains(&folder.path().display().to_string()), "{empty}");
    }
}
