//! `cargo xtask drift` and `cargo xtask drift-peer` build and run the programs of the package `xtask-drift`.

use std::{
    ffi::OsString,
    path::Path,
    process::{Command, ExitCode},
};

use crate::{
    CommandOutcome, cli::DriftPeerArgs, drift_args::DriftArgs, style::report_error, test::cargo_command,
};

/// The exit code of `drift` if the versions could not be compared.
const EXIT_FAILED: u8 = 3;

/// Runs `drift` with the arguments of this process and returns its exit code.
pub(crate) fn run(args: &DriftArgs, root: &Path) -> ExitCode {
    let needs_tls = args.against.as_ref().is_some_and(|against| against.starts_with("https://"));
    let mut cargo = cargo_command();
    cargo.args(["run", "--package", "xtask-drift"]).current_dir(root);
    if needs_tls {
        cargo.args(["--features", "https"]);
    }
    cargo.arg("--").args(own_arguments(std::env::args_os()));
    run_cargo(cargo).unwrap_or_else(|| ExitCode::from(EXIT_FAILED))
}

/// Runs `drift-peer` and returns its exit code.
pub(crate) fn run_peer(args: &DriftPeerArgs, root: &Path) -> ExitCode {
    let folder = match std::path::absolute(&args.folder) {
        Ok(folder) => folder,
        Err(error) => {
            report_error(&format!("{}: {error}", args.folder.display()));
            return CommandOutcome::NotRun.into();
        }
    };
    let mut cargo = cargo_command();
    cargo.args(["run", "--package", "xtask-drift", "--bin", "xtask-drift-peer", "--"]);
    cargo.arg(folder).current_dir(root);
    run_cargo(cargo).unwrap_or_else(|| CommandOutcome::NotRun.into())
}

/// Runs cargo and returns its exit code. If cargo cannot be started, reports the error and returns `None`.
fn run_cargo(mut cargo: Command) -> Option<ExitCode> {
    match cargo.status() {
        Ok(status) => {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            Some(code.map_or(ExitCode::FAILURE, ExitCode::from))
        }
        Err(error) => {
            report_error(&format!("cannot run cargo: {error}"));
            None
        }
    }
}

/// Returns the arguments after the name of the subcommand.
fn own_arguments(arguments: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    arguments.skip_while(|argument| argument != "drift").skip(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_after_the_subcommand_are_passed_on() {
        let passed = |arguments: &[&str]| -> Vec<OsString> {
            own_arguments(arguments.iter().map(OsString::from)).collect()
        };
        assert_eq!(passed(&["target/debug/xtask", "drift"]), Vec::<OsString>::new());
        assert_eq!(passed(&["xtask", "drift", "--against", "drift"]), ["--against", "drift"]);
    }
}
