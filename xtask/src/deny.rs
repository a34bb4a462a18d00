//! `deny`: licences, advisories and sources of what comes in from outside, by cargo-deny and deny.toml.

use std::path::Path;

use crate::{Verdict, program, style::complain, test};

/// What is asked; where each stands in deny.toml.
const CHECKS: [&str; 4] = ["advisories", "bans", "licenses", "sources"];

/// Carries the command out.
pub(crate) fn run(root: &Path) -> Verdict {
    let there = program::run(test::cargo().args(["deny", "--version"]).current_dir(root));
    if !there.is_ok_and(|said| said.status.success()) {
        complain(
            &"cargo-deny is not installed: `cargo install --locked cargo-deny`, which takes the network, as do advisories",
        );
        return Verdict::NotRun;
    }
    match test::cargo().args(["deny", "--workspace", "check"]).args(CHECKS).current_dir(root).status() {
        Ok(status) if status.success() => Verdict::InOrder,
        Ok(_) => Verdict::ToRepair,
        Err(error) => {
            complain(&format!("cannot run cargo: {error}"));
            Verdict::NotRun
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked for is decided in the file, and each exception names a crate that is there.
    #[test]
    fn deny_toml_decides_what_is_asked() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
        let decided: toml::Table = read("deny.toml").parse().unwrap();
        for check in CHECKS {
            assert!(decided.contains_key(check), "{check}");
        }
        let lock = read("Cargo.lock");
        for exception in decided["licenses"]["exceptions"].as_array().unwrap() {
            let line = format!("name = {}", exception["crate"]);
            assert!(lock.contains(&line), "{line}");
        }
    }
}
