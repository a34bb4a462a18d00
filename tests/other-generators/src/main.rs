//! `other-generators DOCUMENT…` prints as Markdown which constructs of a contract progenitor and typify keep,
//! drop or reject. The generators run in child processes of the same program.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the command prints its results")]

use std::{path::PathBuf, process::ExitCode};

use contract_codegen::Project;
use other_generators::{GeneratorRunner, SUBCOMMAND, run_generators, serve_request};

fn main() -> ExitCode {
    let inputs: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if inputs.first().is_some_and(|first| first.as_os_str() == SUBCOMMAND) {
        return ExitCode::from(serve_request());
    }
    if inputs.is_empty() {
        eprintln!("usage: other-generators DOCUMENT…");
        return ExitCode::from(2);
    }
    let contract = match (Project { inputs, ..Project::default() }).read_contract() {
        Ok(contract) => contract,
        Err(diagnostics) => {
            eprint!("{diagnostics}");
            return ExitCode::from(3);
        }
    };
    let runner =
        std::env::current_exe().map_or_else(|_| GeneratorRunner::in_process(), GeneratorRunner::with_program);
    for report in run_generators(&contract, &runner) {
        println!("{report}");
    }
    ExitCode::SUCCESS
}
