//! The command line. It parses the arguments, runs one library call, prints the result and returns an exit
//! code.

mod accepted;
#[cfg_attr(
    not(feature = "serve"),
    allow(dead_code, reason = "only `mcp`, `mock` and `test` use some of the arguments")
)]
mod args;
mod completions;
mod console;
mod drift;
mod error;
mod explain;
#[cfg_attr(not(feature = "https"), path = "cli/no_fetch.rs")]
mod fetch;
mod generate;
mod init;
#[cfg(feature = "serve")]
mod live_test;
mod lower;
#[cfg(all(feature = "mcp", feature = "serve"))]
mod mcp;
#[cfg(feature = "serve")]
mod mock;
mod project;
mod report;
#[cfg(feature = "serve")]
mod service;
mod watch;

use std::{
    io::Write as _,
    panic,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use clap::Parser as _;
use clap_complete::CompleteEnv;

use self::{
    args::{Cli, Command},
    console::Console,
    error::CommandError,
};

/// The name of the thread that runs the command. The panic hook reports only panics of this thread.
const WORKER_THREAD: &str = "contract-codegen";
/// The exit code for a panic, which is `EX_SOFTWARE` of BSD's `sysexits`.
const EXIT_INTERNAL_ERROR: u8 = 70;

/// Parses the arguments, runs the command and returns its exit code.
pub(crate) fn main() -> ExitCode {
    // For a request of a shell's completion script, prints the candidates and exits.
    CompleteEnv::with_factory(completions::command_with_candidates)
        .var(completions::COMPLETE_VARIABLE)
        .complete();
    // `parse` exits with 2 for usage errors and with 0 for `--help`.
    let cli = Cli::parse();
    let console = Console::new(cli.command.display_args());
    let code = run_guarded(move || run_command(&cli.command, &console));
    ExitCode::from(code)
}

fn run_command(command: &Command, console: &Console) -> u8 {
    let result = match command {
        Command::Init(args) => init::run_init(args, console),
        Command::Generate(args) if args.watch => watch::run_watch(&args.generate, console),
        Command::Generate(args) if args.dry_run => generate::run_dry(&args.generate, console),
        Command::Generate(args) => generate::run_generate(&args.generate, console),
        Command::Check(args) => generate::run_check(args, console),
        Command::Lower(args) => lower::run_lower(args, console),
        Command::Explain(args) => explain::run_explain(args, console),
        Command::Report(args) => report::run_report(args, console),
        Command::Drift(args) => drift::run_drift(args, console),
        #[cfg(feature = "serve")]
        Command::Mock(args) => mock::run_mock(args, console),
        #[cfg(feature = "serve")]
        Command::Test(args) => live_test::run_test(args, console),
        #[cfg(not(feature = "serve"))]
        Command::Mock(_) | Command::Test(_) => Err(CommandError::missing_serve_feature()),
        #[cfg(all(feature = "mcp", feature = "serve"))]
        Command::Mcp(args) => mcp::run_mcp(args, console),
        #[cfg(not(all(feature = "mcp", feature = "serve")))]
        Command::Mcp(_) => Err(CommandError::missing_mcp_feature()),
        Command::ConfigSchema => print_config_schema(),
        Command::Completions(args) => completions::run_completions(args),
        Command::Man(args) => completions::run_man(args, console),
    };
    result.unwrap_or_else(|failure| failure.report_to(console))
}

fn print_config_schema() -> Result<u8, CommandError> {
    std::io::stdout().write_all(CONFIG_SCHEMA.as_bytes())?;
    Ok(0)
}

impl From<std::io::Error> for CommandError {
    /// Converts the error of a failed write to standard output. Other code converts errors of file access,
    /// because their messages contain the path.
    fn from(error: std::io::Error) -> Self {
        Self::Io(format!("cannot write to standard output: {error}"))
    }
}

/// The JSON Schema of `codegen.toml`. A test of the configuration types writes this file.
const CONFIG_SCHEMA: &str = include_str!("../codegen.schema.json");

/// Runs `work` on its own thread and converts a panic to an error message that requests a bug report.
///
/// `JoinHandle::join` does not report the location of a panic, so a panic hook records it. The hook ignores
/// panics of other threads, such as proof threads, because the code that starts these threads catches the
/// panics.
fn run_guarded(work: impl FnOnce() -> u8 + Send + 'static) -> u8 {
    let panic_message = Arc::new(Mutex::new(String::new()));
    let recorded_message = Arc::clone(&panic_message);
    panic::set_hook(Box::new(move |info| {
        // The code that starts other threads catches their panics.
        if thread::current().name() == Some(WORKER_THREAD) {
            *recorded_message.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
        }
    }));
    let ran = thread::Builder::new().name(WORKER_THREAD.to_owned()).spawn(work);
    let code = match ran.map(thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(_)) => {
            let panic_message = panic_message.lock().unwrap_or_else(PoisonError::into_inner);
            console::print_stderr(&format!(
                "internal error: {panic_message}\nThis is a bug in contract-codegen {}, even if the contract is invalid. \
                 Please report it with the contract, or the part that triggers it. No output file was left incomplete.",
                env!("CARGO_PKG_VERSION")
            ));
            EXIT_INTERNAL_ERROR
        }
        Err(error) => {
            console::print_stderr(&format!("error: cannot start a thread: {error}"));
            error::EXIT_IO
        }
    };
    let _ = panic::take_hook();
    code
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn panic_is_an_internal_error() {
        assert_eq!(run_guarded(|| std::panic::panic_any("boom")), EXIT_INTERNAL_ERROR);
        assert_eq!(run_guarded(|| 3), 3);
    }
}
