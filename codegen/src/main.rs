//! The command `contract-codegen`: typed Rust from any OpenAPI or JSON Schema contract.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
