//! The command line: arguments in, one library call, text and an exit code out.

#[cfg_attr(
    not(all(feature = "engines", feature = "serve")),
    allow(dead_code, reason = "what `lower` and `mock` are told")
)]
mod args;
mod drift;
mod explain;
mod failure;
mod generate;
mod init;
#[cfg(feature = "engines")]
mod lower;
#[cfg(feature = "serve")]
mod mock;
mod project;
mod report;
mod screen;

use std::{
    panic,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use clap::Parser;
#[cfg(feature = "engines")]
use contract_codegen::engines::{Engines, serve};

use self::{
    args::{Cli, Command},
    failure::Failure,
    screen::Screen,
};

/// The thread that the work is done on; what panics elsewhere is caught there.
const THREAD: &str = "contract-codegen";
/// BSD's `EX_SOFTWARE`.
const INTERNAL: u8 = 70;

/// Parses the arguments and runs the command.
pub(crate) fn main() -> ExitCode {
    // Usage errors and `--help` end here, with 2 and 0.
    let cli = Cli::parse();
    #[cfg(feature = "engines")]
    if let Command::Engine = cli.command {
        return ExitCode::from(serve());
    }
    let screen = Screen::new(cli.command.output());
    let code = guarded(move || run(&cli.command, &screen));
    ExitCode::from(code)
}

fn run(command: &Command, screen: &Screen) -> u8 {
    let result = match command {
        Command::Init(args) => init::init(args, screen),
        Command::Generate(args) => generate::generate(args, screen),
        Command::Check(args) => generate::check(args, screen),
        #[cfg(feature = "engines")]
        Command::Lower(args) => lower::lower(args, screen),
        Command::Explain(args) => explain::explain(args, screen),
        Command::Report(args) => report::report(args, screen),
        Command::Drift(args) => drift::drift(args, screen),
        #[cfg(feature = "serve")]
        Command::Mock(args) => mock::mock(args, screen),
        #[cfg(feature = "engines")]
        Command::Engine => Ok(serve()),
        #[cfg(not(feature = "serve"))]
        Command::Mock(_) => Err(Failure::without_server()),
        #[cfg(not(feature = "engines"))]
        Command::Lower(_) | Command::Engine => Err(Failure::without_engines()),
    };
    result.unwrap_or_else(|failure| failure.tell(screen))
}

/// Other generators, each run of which is this command once more.
#[cfg(feature = "engines")]
fn engines() -> Engines {
    std::env::current_exe().map_or_else(|_| Engines::here(), Engines::of)
}

impl From<std::io::Error> for Failure {
    /// Only writing to standard output fails without a path.
    fn from(error: std::io::Error) -> Self {
        Self::Io(format!("cannot write to standard output: {error}"))
    }
}

/// Runs on a thread of its own; a panic becomes a message that asks for a report.
///
/// The hook hears where it was, of which `join` says nothing, and keeps the panics of proofs quiet, which
/// are caught where proofs start.
fn guarded(work: impl FnOnce() -> u8 + Send + 'static) -> u8 {
    let said = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&said);
    panic::set_hook(Box::new(move |info| {
        // Proofs run on threads of their own.
        if thread::current().name() == Some(THREAD) {
            *heard.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
        }
    }));
    let ran = thread::Builder::new().name(THREAD.to_owned()).spawn(work);
    let code = match ran.map(thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(_)) => {
            let said = said.lock().unwrap_or_else(PoisonError::into_inner);
            screen::error_line(&format!(
                "internal error: {said}\nThis is a bug in contract-codegen {}, whatever the contract holds. \
                 Please report it with the contract, or the part of it that does it; nothing was written half.",
                env!("CARGO_PKG_VERSION")
            ));
            INTERNAL
        }
        Err(error) => {
            screen::error_line(&format!("error: cannot start a thread: {error}"));
            failure::IO
        }
    };
    let _ = panic::take_hook();
    code
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_panic_is_an_internal_error() {
        assert_eq!(guarded(|| std::panic::panic_any("boom")), INTERNAL);
        assert_eq!(guarded(|| 3), 3);
    }
}
