//! `other-generators DOCUMENT…` prints as Markdown which constructs of a contract progenitor and typify keep,
//! drop or reject. It serves itself as the process in which these generators run.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

use std::{path::PathBuf, process::ExitCode};

use contract_codegen::Project;
use other_generators::{Engines, SUBCOMMAND, opinions, serve};

fn main() -> ExitCode {
    let inputs: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if inputs.first().is_some_and(|first| first.as_os_str() == SUBCOMMAND) {
        return ExitCode::from(serve());
    }
    if inputs.is_empty() {
        eprintln!("usage: other-generators DOCUMENT…");
        return ExitCode::from(2);
    }
    let contract = match (Project { inputs, ..Project::default() }).read_contract() {
        Ok(contract) => contract,
        Err(problems) => {
            eprint!("{problems}");
            return ExitCode::from(3);
        }
    };
    let engines = std::env::current_exe().map_or_else(|_| Engines::here(), Engines::of);
    for opinion in opinions(&contract, &engines) {
        println!("{opinion}");
    }
    ExitCode::SUCCESS
}
