//! The binary `contract-codegen`. The module `cli` implements its subcommands.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
