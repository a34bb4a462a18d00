//! `cargo xtask …`: the development commands of this repository.
//!
//! Each command is a module with a function `run`, which computes a result as plain data and prints it at the
//! end. Shared modules: the files of the repository ([`repository`]), rule violations ([`violation`]),
//! external programs ([`program`]), packages from npm and PyPI ([`packages`]) and terminal styles
//! ([`style`]). There are no integration tests, because they would link this program while it runs, which
//! Windows does not allow.

mod background;
mod browser;
mod ci;
mod cli;
mod compare;
mod demo;
mod deny;
mod drift;
#[allow(
    dead_code,
    reason = "`xtask-drift` reads the values; this program parses them for help and usage errors"
)]
#[path = "../drift/src/args.rs"]
mod drift_args;
mod faults;
mod msrv;
mod oracles;
mod packages;
mod packaging;
mod peers;
mod playground;
mod program;
mod regen;
mod release;
mod repository;
mod sandbox;
mod site;
mod style;
mod suite;
mod test;
mod tidy;
mod vendors;
mod violation;

use std::{path::Path, process::ExitCode};

use clap::Parser as _;

use cli::{Cli, XtaskCommand};

/// The result of a command, which determines its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandOutcome {
    Passed,
    /// Something has to be fixed. The command has printed the problem and its fix.
    Failed,
    /// The command could not run. It has printed the reason.
    NotRun,
}

impl From<CommandOutcome> for ExitCode {
    fn from(verdict: CommandOutcome) -> Self {
        match verdict {
            CommandOutcome::Passed => Self::SUCCESS,
            CommandOutcome::Failed => Self::from(1),
            CommandOutcome::NotRun => Self::from(2),
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let root = match repository::workspace_root() {
        Ok(root) => root,
        Err(error) => {
            style::report_error(&error);
            return CommandOutcome::NotRun.into();
        }
    };
    // The panic handler has already printed the message.
    std::panic::catch_unwind(|| run_command(&cli.command, &root))
        .unwrap_or_else(|_| CommandOutcome::NotRun.into())
}

fn run_command(command: &XtaskCommand, root: &Path) -> ExitCode {
    match command {
        XtaskCommand::Regen(args) => regen::run(args, root).into(),
        XtaskCommand::Drift(args) => drift::run(args, root),
        XtaskCommand::DriftPeer(args) => drift::run_peer(args, root),
        XtaskCommand::Tidy(args) => tidy::run(args, root).into(),
        XtaskCommand::Test(args) => test::run(args, root).into(),
        XtaskCommand::Faults => faults::run(root).into(),
        XtaskCommand::Compare(args) => compare::run(args, root).into(),
        XtaskCommand::Vendors(args) => vendors::run(args, root).into(),
        XtaskCommand::Suite(args) => suite::run(args, root).into(),
        XtaskCommand::Oracles(args) => oracles::run(args, root).into(),
        XtaskCommand::Peers(args) => peers::run(args, root).into(),
        XtaskCommand::Package => packaging::run(root).into(),
        XtaskCommand::ReleaseCheck(args) => release::run_check(args, root).into(),
        XtaskCommand::ReleaseFiles(args) => release::run_files(args, root).into(),
        XtaskCommand::Playground(args) => playground::run(args, root).into(),
        XtaskCommand::Browser(args) => browser::run(args, root).into(),
        XtaskCommand::Site => site::run(root).into(),
        XtaskCommand::Msrv => msrv::run(root).into(),
        XtaskCommand::Deny => deny::run(root).into(),
        XtaskCommand::Demo => demo::run(root),
        XtaskCommand::Sandbox(args) => sandbox::run(args, root),
        XtaskCommand::Ci(args) => ci::run(args, root).into(),
    }
}
