//! `deny`: checks licenses, advisories and sources of dependencies with cargo-deny and deny.toml.

use std::path::Path;

use crate::{CommandOutcome, program, style::report_error, test};

const CHECKS: [&str; 4] = ["advisories", "bans", "licenses", "sources"];

pub(crate) fn run(root: &Path) -> CommandOutcome {
    let there = program::run_program(test::cargo_command().args(["deny", "--version"]).current_dir(root));
    if !there.is_ok_and(|output| output.status.success()) {
        report_error(
            &"cargo-deny is not installed: run `cargo install --locked cargo-deny`; it needs network access, also to read advisories",
        );
        return CommandOutcome::NotRun;
    }
    match test::cargo_command().args(["deny", "--workspace", "check"]).args(CHECKS).current_dir(root).status()
    {
        Ok(status) if status.success() => CommandOutcome::Passed,
        Ok(_) => CommandOutcome::Failed,
        Err(error) => {
            report_error(&format!("cannot run cargo: {error}"));
            CommandOutcome::NotRun
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `deny.toml` has a section for each check, and each license exception is for a crate of the lock file.
    #[test]
    fn deny_toml_configures_each_check() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
        let config: toml::Table = read("deny.toml").parse().unwrap();
        for check in CHECKS {
            assert!(config.contains_key(check), "{check}");
        }
        let lock = read("Cargo.lock");
        for exception in config["licenses"]["exceptions"].as_array().unwrap() {
            let line = format!("name = {}", exception["crate"]);
            assert!(lock.contains(&line), "{line}");
        }
    }
}
