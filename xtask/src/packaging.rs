//! `package`: creates the package of every crate without building it.

use std::{fs, path::Path};

use crate::{
    CommandOutcome,
    program::{self, decode_output},
    style::{SUCCESS, format_count, report_error},
    test,
};

const TARGET_FOLDER: &str = "target/packages";
/// The maximum size of a compressed package in bytes. Packages should not contain test data.
const MAX_PACKAGE_BYTES: u64 = 1 << 20;

pub(crate) fn run(root: &Path) -> CommandOutcome {
    let folder = root.join(TARGET_FOLDER);
    // Remove the packages of earlier versions, which would be counted as well.
    let _ = fs::remove_dir_all(folder.join("package"));
    let mut cargo = test::cargo_command();
    cargo.args(["package", "--workspace", "--no-verify", "--allow-dirty", "--offline"]);
    let output = match program::run_program(cargo.env("CARGO_TARGET_DIR", &folder).current_dir(root)) {
        Ok(output) => output,
        Err(error) => {
            report_error(&error);
            return CommandOutcome::NotRun;
        }
    };
    let messages = decode_output(&output.stderr);
    if !output.status.success() || has_warning(&messages) {
        report_error(&messages.trim_end());
        return CommandOutcome::Failed;
    }
    let packages = match package_sizes(&folder.join("package")) {
        Ok(packages) => packages,
        Err(error) => {
            report_error(&format!("{}: {error}", folder.display()));
            return CommandOutcome::NotRun;
        }
    };
    for (name, bytes) in &packages {
        anstream::println!("{:>9} {name}", format!("{} KiB", bytes.div_ceil(1024)));
    }
    let large = oversized_packages(&packages);
    for name in &large {
        let limit = MAX_PACKAGE_BYTES / 1024;
        report_error(&format!(
            "the package of {name} is larger than {limit} KiB: exclude files that are not code with `exclude` in its Cargo.toml"
        ));
    }
    if !large.is_empty() {
        return CommandOutcome::Failed;
    }
    anstream::println!("{SUCCESS}packaged{SUCCESS:#} {}", format_count(packages.len(), "crate"));
    CommandOutcome::Passed
}

/// Returns true if cargo printed a warning.
fn has_warning(messages: &str) -> bool {
    messages.lines().any(|line| line.starts_with("warning"))
}

/// Returns the name of each package and its size in bytes, sorted by name.
fn package_sizes(folder: &Path) -> std::io::Result<Vec<(String, u64)>> {
    let mut sizes = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".crate") {
            sizes.push((name.to_owned(), entry.metadata()?.len()));
        }
    }
    sizes.sort();
    Ok(sizes)
}

fn oversized_packages(packages: &[(String, u64)]) -> Vec<&str> {
    packages.iter().filter(|(_, bytes)| *bytes > MAX_PACKAGE_BYTES).map(|(name, _)| name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_detected() {
        assert!(!has_warning("   Packaging xtask v0.1.0\n    Packaged 46 files, 312.4KiB\n"));
        assert!(has_warning("warning: manifest has no documentation, homepage or repository\n   Packaging"));
    }

    #[test]
    fn only_crate_files_are_measured() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b-0.1.0.crate"), vec![0; 1025]).unwrap();
        fs::write(folder.path().join("a-0.1.0.crate"), "").unwrap();
        fs::write(folder.path().join("Cargo.lock"), "").unwrap();
        let sizes = package_sizes(folder.path()).unwrap();
        assert_eq!(sizes, [("a-0.1.0".to_owned(), 0), ("b-0.1.0".to_owned(), 1025)]);
        assert!(oversized_packages(&sizes).is_empty());
        assert_eq!(oversized_packages(&[("c".to_owned(), MAX_PACKAGE_BYTES + 1)]), ["c"]);
    }
}
