//! The `exchange` command: the exchange in a terminal, for members.

mod args;
mod commands;
mod config;
mod error;
mod output;
mod table;
mod times;

use std::{env, process::ExitCode};

use clap::Parser as _;

use crate::{
    args::Cli,
    error::{CommandError, ExitStatus},
    output::{ColorChoice, Output, OutputFormat},
};

fn main() -> ExitCode {
    let Cli { global, command } = match Cli::try_parse() {
        Ok(typed) => typed,
        Err(error) => return ExitCode::from(report_usage_error(&error)),
    };
    let form = if global.json { OutputFormat::Json } else { OutputFormat::Text };
    let mut output = Output::new(form, global.color).with_local_time(global.local_time);
    let outcome = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let outcome = runtime.block_on(commands::run_command(&global, command, &mut output));
            // Blocking tasks, such as reading the standard input, must not delay the exit.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(CommandError::new(
            ExitStatus::Failure,
            format!("cannot start the async runtime: {error}"),
            "try again",
        )),
    };
    let exit = match outcome {
        Ok(exit) => {
            output.flush_data().map_or_else(|error| finish_with_error(&mut output, &error.into()), |()| exit)
        }
        Err(failure) => finish_with_error(&mut output, &failure),
    };
    ExitCode::from(exit as u8)
}

/// Prints the error of a failed command and discards its data.
fn finish_with_error(output: &mut Output, failure: &CommandError) -> ExitStatus {
    output.discard_data();
    match failure.exit_status() {
        // In JSON output, an interruption is one line of JSON, like every other error.
        ExitStatus::Interrupted if output.is_json() => {
            CommandError::from_interrupt(output.take_interrupt_notice()).print(output);
        }
        ExitStatus::Interrupted => output.print_interrupt_notice(),
        _ => failure.print(output),
    }
    failure.exit_status()
}

/// Prints help, or the error of an invalid command line. Because the arguments could not be parsed, `--json`
/// is looked up among the words before `--`.
fn report_usage_error(error: &clap::Error) -> u8 {
    let mut words = env::args_os().skip(1).take_while(|word| word != "--");
    if error.exit_code() == 0 || !words.any(|word| word == "--json") {
        // A closed standard stream is not reported.
        let _ = error.print();
        return u8::try_from(error.exit_code()).unwrap_or(ExitStatus::Usage as u8);
    }
    let failure = CommandError::from_clap_error(error);
    failure.print(&mut Output::new(OutputFormat::Json, ColorChoice::Never));
    failure.exit_status() as u8
}
