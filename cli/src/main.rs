//! The exchange in a terminal.

mod args;
mod commands;
mod config;
mod failure;
mod output;
mod table;

use std::process::ExitCode;

use clap::Parser as _;

use crate::{
    args::Cli,
    failure::{Exit, Failure},
    output::{Form, Output},
};

fn main() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    let form = if global.json { Form::Json } else { Form::People };
    let mut output = Output::new(form, global.color);
    let outcome = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let outcome = runtime.block_on(commands::run(&global, command, &mut output));
            // Nothing that blocks, such as a line that nobody types, keeps the process.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => {
            Err(Failure::new(Exit::Failed, format!("this computer gives no runtime: {error}"), "try again"))
        }
    };
    let exit = match outcome {
        Ok(exit) => output.deliver().map_or_else(|error| end(&mut output, &error.into()), |()| exit),
        Err(failure) => end(&mut output, &failure),
    };
    ExitCode::from(exit as u8)
}

/// The command came to nothing: no data leaves, and the reason is told.
fn end(output: &mut Output, failure: &Failure) -> Exit {
    output.discard();
    if failure.exit() == Exit::Interrupted {
        output.broken_off();
    }
    failure.tell(output);
    failure.exit()
}
