//! `package`: every crate as it would be handed to a registry, without building it.

use std::{fs, path::Path};

use crate::{
    Verdict,
    program::{self, text},
    style::{GOOD, complain, count},
    test,
};

/// Where the packages are made, below the build's own folder.
const TARGET: &str = "target/packages";
/// The largest package, compressed: who depends on a crate downloads its code, not what it is tested with.
const LARGEST: u64 = 1 << 20;

/// Carries the command out.
pub(crate) fn run(root: &Path) -> Verdict {
    let folder = root.join(TARGET);
    // What a version before this one made is none of these.
    let _ = fs::remove_dir_all(folder.join("package"));
    let mut cargo = test::cargo();
    cargo.args(["package", "--workspace", "--no-verify", "--allow-dirty", "--offline"]);
    let said = match program::run(cargo.env("CARGO_TARGET_DIR", &folder).current_dir(root)) {
        Ok(said) => said,
        Err(error) => {
            complain(&error);
            return Verdict::NotRun;
        }
    };
    let told = text(&said.stderr);
    if !said.status.success() || warns(&told) {
        complain(&told.trim_end());
        return Verdict::ToRepair;
    }
    let packages = match packages(&folder.join("package")) {
        Ok(packages) => packages,
        Err(error) => {
            complain(&format!("{}: {error}", folder.display()));
            return Verdict::NotRun;
        }
    };
    for (name, bytes) in &packages {
        anstream::println!("{:>9} {name}", format!("{} KiB", bytes.div_ceil(1024)));
    }
    let large = too_large(&packages);
    for name in &large {
        let limit = LARGEST / 1024;
        complain(&format!(
            "{name} has more than {limit} KiB: leave out what is not code by `exclude` in its Cargo.toml"
        ));
    }
    if !large.is_empty() {
        return Verdict::ToRepair;
    }
    anstream::println!("{GOOD}packaged{GOOD:#} {}", count(packages.len(), "crate"));
    Verdict::InOrder
}

/// Whether cargo has a word to say that nobody should have to read.
fn warns(told: &str) -> bool {
    told.lines().any(|line| line.starts_with("warning"))
}

/// Name and size of each package, by name.
fn packages(folder: &Path) -> std::io::Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".crate") {
            found.push((name.to_owned(), entry.metadata()?.len()));
        }
    }
    found.sort();
    Ok(found)
}

fn too_large(packages: &[(String, u64)]) -> Vec<&str> {
    packages.iter().filter(|(_, bytes)| *bytes > LARGEST).map(|(name, _)| name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_found_among_what_is_told() {
        assert!(!warns("   Packaging xtask v0.1.0\n    Packaged 46 files, 312.4KiB\n"));
        assert!(warns("warning: manifest has no documentation, homepage or repository\n   Packaging"));
    }

    #[test]
    fn only_packages_are_weighed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b-0.1.0.crate"), vec![0; 1025]).unwrap();
        fs::write(folder.path().join("a-0.1.0.crate"), "").unwrap();
        fs::write(folder.path().join("Cargo.lock"), "").unwrap();
        let found = packages(folder.path()).unwrap();
        assert_eq!(found, [("a-0.1.0".to_owned(), 0), ("b-0.1.0".to_owned(), 1025)]);
        assert!(too_large(&found).is_empty());
        assert_eq!(too_large(&[("c".to_owned(), LARGEST + 1)]), ["c"]);
    }
}
