//! The command `contract-codegen`: typed Rust from any OpenAPI 3.1 or JSON Schema contract.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
