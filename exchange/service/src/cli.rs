//! What the command line says, and what comes of it.
//!
//! Exit codes: 0 done, 1 it could not be done, 2 the command line or the configuration is wrong.

mod admin;
mod data;
mod sandbox;
mod serve;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use exchange_service::logging::{self, Form, LogError};
use serde_json::json;

/// The exchange: identity provider, gateway, backend and the member's pages in one process.
#[derive(Debug, Parser)]
#[command(
    name = "exchange-service",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Start with a sandbox, which needs nothing:\n\n    exchange-service sandbox\n\n\
                  Exit codes: 0 done, 1 it could not be done, 2 the command line or the configuration is wrong."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the whole exchange on this machine, seeded, for trying clients against it.
    ///
    /// Listens on the loopback interface alone. Accounts, clients and data are those of the platform's own
    /// sandbox; passwords are public. A control interface under /_sandbox approves device logins without a
    /// browser, moves the clock, acts as a second actor and goes back to the seed.
    Sandbox(SandboxArgs),
    /// Run the exchange as a configuration file says.
    ///
    /// Every value has a default, and an environment variable of its own: EXCHANGE_LIMITS__PER_MEMBER for
    /// `per-member` of the table `limits`. `exchange-service config` prints what holds.
    ///
    /// With `role = "gateway"` and `role = "backend"` in the table `serve` two processes share the work, over one
    /// folder of data. /healthz and /readyz say how each is, a gateway's nothing of its backend's: sign-in and pages
    /// go on without it. `serve.metrics` is the address of /metrics. The log goes to standard error, one line of JSON
    /// per event, from the level that EXCHANGE_LOG says (info).
    Serve(ConfigArgs),
    /// Print the configuration that holds: defaults, file and environment together, as a file that can be served.
    ///
    /// Without a file it shows every key with its default. A value that cannot be used is named, with its key and
    /// where it stands; the exit code is 2 then.
    Config(ConfigArgs),
    /// Administer a service: clients, the switch, members, units, catalogue, terms, connections, keys, undo, audit.
    ///
    /// Works on the store that the configuration names, beside a running service or without one; a running one sees
    /// every change within five seconds. Whatever is changed is audited with the name of whoever changed it.
    #[command(
        arg_required_else_help = true,
        after_help = "A new service, from nothing to the first sign-in (once `serve` has made its store):\n\n    \
                      exchange-service admin client add stock-tool --name 'Stock Tool' \\\n        \
                      --scope exchange.connect --scope exchange.stock.read\n    \
                      exchange-service admin member add m-1 --name Ada\n    \
                      exchange-service admin member password m-1 --username ada < password.txt\n    \
                      exchange-service admin unit import units.json\n    \
                      exchange-service admin catalogue import catalogue.json\n    \
                      exchange-service admin switch on"
    )]
    Admin(admin::AdminArgs),
    /// Write all data, as it is at this moment, into one file, beside a running service.
    ///
    /// The store is only read. The file holds what signs tokens and other secrets: keep it as you keep the store.
    Backup(BackupArgs),
    /// Put a backup into a folder that has no store yet.
    ///
    /// The restored store begins another epoch: every feed cursor that was handed out before is answered
    /// 410 CURSOR_EXPIRED, so that no client misses what came after the backup. A client that refreshed its tokens
    /// since the backup has ones that the store does not know: its member signs in anew.
    ///
    /// The log of another database (exchange.db-wal) must not lie in the folder, either: it would be played into the
    /// restored one. A service that was stopped leaves none.
    Restore(RestoreArgs),
}

#[derive(Debug, Args)]
struct SandboxArgs {
    /// The port; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Keep the data in this folder; without it all is in memory and gone afterwards.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Repeat the random numbers of this seed: ids, codes and secrets come out the same in every run; only the
    /// keys that sign tokens are new.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Say where everything is in one line of JSON, the first one printed.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ConfigArgs {
    /// The configuration file (TOML); without it the one that the environment names, in EXCHANGE_CONFIG.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

impl ConfigArgs {
    /// The file. The environment is asked here and not by clap, whose usage would ask for the flag where the
    /// environment names the file.
    fn file(&self) -> Option<PathBuf> {
        let named = || std::env::var_os("EXCHANGE_CONFIG").filter(|name| !name.is_empty()).map(PathBuf::from);
        self.config.clone().or_else(named)
    }
}

#[derive(Debug, Args)]
struct BackupArgs {
    /// The folder of the store.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The file to write; it must not be there yet.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

#[derive(Debug, Args)]
struct RestoreArgs {
    /// The backup.
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The folder; it must not hold a store yet, nor what one left behind.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

/// Why a command came to nothing.
#[derive(Debug)]
enum Failure {
    /// The configuration is wrong: exit code 2.
    Configuration(String),
    /// It could not be done: exit code 1.
    Undone(String),
}

impl Failure {
    fn undone(what: &str) -> impl Fn(&dyn std::fmt::Display) -> Self {
        let what = what.to_owned();
        move |error| Self::Undone(format!("{what}: {error}"))
    }
}

/// Carries out what the command line says.
pub(crate) fn run() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return unread(&error),
    };
    let as_json = matches!(&command, Command::Admin(args) if args.json);
    let outcome = match command {
        Command::Sandbox(args) => sandbox::run(args),
        Command::Serve(args) => serve::run(&args),
        Command::Config(args) => serve::print_config(&args),
        Command::Admin(args) => admin::run(args),
        Command::Backup(args) => data::backup(&args),
        Command::Restore(args) => data::restore(&args),
    };
    let (code, text) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Configuration(text)) => (2, text),
        Err(Failure::Undone(text)) => (1, text),
    };
    complain(&if as_json {
        json!({ "error": { "message": text, "exit": code } }).to_string()
    } else {
        format!("error: {text}")
    });
    ExitCode::from(code)
}

/// What there is to say to a command line that is none, or that asks for help: as JSON where it is one of `admin` that
/// asks for it.
fn unread(error: &clap::Error) -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let is_admin = arguments.first().is_some_and(|first| first == "admin");
    // Behind `--` stand values alone.
    let asks = arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json");
    if !error.use_stderr() || !is_admin || !asks {
        error.exit();
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    complain(&json!({ "error": { "message": text, "exit": 2 } }).to_string());
    ExitCode::from(2)
}

#[allow(clippy::print_stderr, reason = "the command's own voice")]
fn complain(text: &str) {
    eprintln!("{text}");
}

/// Writes events from now on.
fn log(form: Form) -> Result<(), Failure> {
    logging::install(form).map_err(|error| match error {
        LogError::Level(_) => {
            let advice = "write a level such as info, or levels of parts: exchange_service=debug,info";
            Failure::Configuration(format!("{error}\n  -> {advice}"))
        }
        LogError::Taken(_) => Failure::Undone(error.to_string()),
    })
}

/// One line on the standard output; whoever closed it wants no more of it.
fn say(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{text}");
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
