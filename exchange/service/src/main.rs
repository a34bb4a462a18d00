//! The entry point of the command `exchange-service`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
