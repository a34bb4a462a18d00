//! `cargo xtask …`: the commands of those who work on this repository.
//!
//! Each command is a module: it decides over plain data and prints at its end. What they share is
//! the repository as a list of files ([`repository`]), what is wrong with it ([`problem`]), programs that
//! they run ([`program`]), packages that they ask ([`packages`]) and the colours ([`style`]). There are no integration tests: they would link this program again while
//! it runs, which Windows refuses.

mod ci;
mod cli;
mod compare;
mod demo;
mod deny;
mod drift;
mod faults;
mod msrv;
mod oracles;
mod packages;
mod packaging;
mod peers;
mod problem;
mod program;
mod regen;
mod repository;
mod sandbox;
mod style;
mod suite;
mod test;
mod tidy;

use std::{path::Path, process::ExitCode};

use clap::Parser as _;

use cli::{Cli, Command};

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing is left to do.
    InOrder,
    /// Something has to be repaired; what and how was printed.
    ToRepair,
    /// The command could not be carried out; why was printed.
    NotRun,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::InOrder => Self::SUCCESS,
            Verdict::ToRepair => Self::from(1),
            Verdict::NotRun => Self::from(2),
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let root = match repository::root() {
        Ok(root) => root,
        Err(error) => {
            style::complain(&error);
            return Verdict::NotRun.into();
        }
    };
    // What panics has said so itself.
    std::panic::catch_unwind(|| run(&cli.command, &root)).unwrap_or_else(|_| Verdict::NotRun.into())
}

fn run(command: &Command, root: &Path) -> ExitCode {
    match command {
        Command::Regen(args) => regen::run(args, root).into(),
        Command::Drift(args) => {
            let around = drift::Surroundings { root, color: style::colored(&std::io::stdout()) };
            drift::run(args, around, &mut std::io::stdout(), &mut std::io::stderr())
        }
        Command::Tidy(args) => tidy::run(args, root).into(),
        Command::Test(args) => test::run(args, root).into(),
        Command::Faults => faults::run(root).into(),
        Command::Compare(args) => compare::run(args, root).into(),
        Command::Suite(args) => suite::run(args, root).into(),
        Command::Oracles(args) => oracles::run(args, root).into(),
        Command::Peers(args) => peers::run(args, root).into(),
        Command::Package => packaging::run(root).into(),
        Command::Msrv => msrv::run(root).into(),
        Command::Deny => deny::run(root).into(),
        Command::Demo => demo::run(root),
        Command::Sandbox(args) => sandbox::run(args, root),
        Command::Ci(args) => ci::run(args, root).into(),
    }
}
