//! The exchange in a terminal.

mod args;
mod commands;
mod config;
mod failure;
mod output;
mod table;

use std::{env, process::ExitCode};

use clap::Parser as _;

use crate::{
    args::Cli,
    failure::{Exit, Failure},
    output::{Color, Form, Output},
};

fn main() -> ExitCode {
    let Cli { global, command } = match Cli::try_parse() {
        Ok(typed) => typed,
        Err(error) => return ExitCode::from(not_understood(&error)),
    };
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
    match failure.exit() {
        // One line for programs, as of whatever else comes to nothing.
        Exit::Interrupted if output.is_json() => {
            Failure::interrupted(output.take_unfinished()).tell(output);
        }
        Exit::Interrupted => output.broken_off(),
        _ => failure.tell(output),
    }
    failure.exit()
}

/// A command line that says nothing, or asks for help. Whether an answer for programs is wanted is looked for in the
/// words themselves, as far as they are options.
fn not_understood(error: &clap::Error) -> u8 {
    let mut words = env::args_os().skip(1).take_while(|word| word != "--");
    if error.exit_code() == 0 || !words.any(|word| word == "--json") {
        // Whoever closed the stream does not want to know.
        let _ = error.print();
        return u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8);
    }
    let failure = Failure::misuse(error);
    failure.tell(&mut Output::new(Form::Json, Color::Never));
    failure.exit() as u8
}
