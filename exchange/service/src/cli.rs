//! The command line: arguments, commands and exit codes.
//!
//! Exit codes: 0 for success, 1 for a failure, 2 for an invalid command line or configuration.

mod admin;
mod data;
mod sandbox;
mod serve;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use exchange_service::logging::{self, LogControl, LogError, LogFormat};
use serde_json::json;

/// The exchange: identity provider, gateway, backend and the members' web pages in one process.
#[derive(Debug, Parser)]
#[command(
    name = "exchange-service",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Start with a sandbox, which needs no configuration:\n\n    exchange-service sandbox\n\n\
                  Exit codes: 0 success, 1 failure, 2 invalid command line or configuration."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the whole exchange on this machine with seed data, to try clients against it.
    ///
    /// Listens on the loopback interface only. The accounts, clients and data are those of the platform's own
    /// sandbox, and the passwords are public. A control interface under /_sandbox approves device logins
    /// without a browser, moves the clock, makes changes as another author, and resets the data to the seed.
    Sandbox(SandboxArgs),
    /// Run the exchange with a configuration file.
    ///
    /// Every value has a default and an environment variable. For `per-member` in the table `limits`, the
    /// variable is EXCHANGE_LIMITS__PER_MEMBER. `exchange-service config` prints the effective configuration.
    ///
    /// With `role = "gateway"` and `role = "backend"` in the table `serve`, two processes share the work on
    /// one data folder. /healthz and /readyz report the state of each process. A gateway does not report the
    /// state of its backend, because sign-in and the web pages work without it. `serve.metrics` sets the
    /// address of /metrics. The log is written to standard error, one JSON object per event, and is filtered
    /// by `log.level`, which EXCHANGE_LOG overrides.
    ///
    /// A second process on the same data folder is refused, unless both have --shared-folder.
    #[command(
        after_help = "Signals:\n  TERM, INT  stop after the drain time; a second signal ends the drain time\n  \
                           HUP        reload the certificate, log.level and the registry of clients"
    )]
    Serve(ServeArgs),
    /// Print the effective configuration: defaults, file and environment combined, as a valid configuration file.
    ///
    /// Every key has its documentation as a comment, and keys that are not set are commented out. Without a
    /// configuration file, prints every key with its default. An invalid value is reported with its
    /// key and source, and the exit code is 2.
    Config(PrintConfigArgs),
    /// Administer a service: clients, on/off switch, members, units, catalogue, terms, connections, keys, undo, audit.
    ///
    /// Works on the store of the configuration, whether or not the service is running. A running service
    /// applies every change within five seconds. Each change is recorded in the audit with the
    /// administrator's name.
    #[command(
        arg_required_else_help = true,
        after_help = "Set up a new service, once `serve` has created its store:\n\n    \
                      exchange-service admin client add stock-tool --name 'Stock Tool' \\\n        \
                      --scope exchange.connect --scope exchange.stock.read\n    \
                      exchange-service admin member add m-1 --name Ada\n    \
                      exchange-service admin member password m-1 --username ada < password.txt\n    \
                      exchange-service admin unit import units.json\n    \
                      exchange-service admin catalogue import catalogue.json\n    \
                      exchange-service admin switch on"
    )]
    Admin(admin::AdminArgs),
    /// Write a consistent copy of all data to one file, even while the service is running.
    ///
    /// The store is only read. The file contains signing keys and other secrets: protect it in the same way
    /// as the store.
    Backup(BackupArgs),
    /// Restore a backup into a folder without a store.
    ///
    /// The restored store begins a new epoch: every earlier feed cursor gets 410 CURSOR_EXPIRED, so that no
    /// client misses changes. The store does not know tokens that clients refreshed after the backup, so the
    /// members of these clients must sign in again.
    ///
    /// The folder must not contain the write-ahead log of another database (exchange.db-wal), because the log
    /// would be applied to the restored database. A service that was stopped cleanly leaves no log.
    Restore(RestoreArgs),
}

#[derive(Debug, Args)]
struct SandboxArgs {
    /// The port; 0 selects a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Keep the data in this folder. By default, the data is kept in memory and is lost when the sandbox
    /// ends.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The seed of the random numbers. With the same seed, ids, codes and secrets are the same in every run;
    /// signing keys are always new.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// First print the addresses, as one line of JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug, Args)]
struct ConfigArgs {
    /// The configuration file (TOML). Defaults to the environment variable EXCHANGE_CONFIG.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct PrintConfigArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Print the JSON Schema of the configuration file instead, for editors.
    #[arg(long)]
    schema: bool,
}

#[derive(Debug, Args)]
struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Serve the data folder together with other processes of the same role, which must also have this option.
    ///
    /// Each process counts rate limits for itself, and a proof can be used once in each process.
    #[arg(long)]
    shared_folder: bool,
}

impl ConfigArgs {
    /// Returns the path of the configuration file. The environment variable is read here and not by clap. If
    /// clap read it and the variable were set, usage messages would show the flag as required.
    fn config_path(&self) -> Option<PathBuf> {
        let named = || std::env::var_os("EXCHANGE_CONFIG").filter(|name| !name.is_empty()).map(PathBuf::from);
        self.config.clone().or_else(named)
    }
}

#[derive(Debug, Args)]
struct BackupArgs {
    /// The folder of the store.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The file to write. It must not exist yet.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

#[derive(Debug, Args)]
struct RestoreArgs {
    /// The backup file.
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The target folder. It must not contain a store or files of one.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

/// The reason a command failed.
#[derive(Debug)]
enum CommandError {
    /// The command line or configuration is invalid: exit code 2.
    Configuration(String),
    /// The command failed: exit code 1.
    Failed(String),
}

impl CommandError {
    fn failed(what: &str) -> impl Fn(&dyn std::fmt::Display) -> Self {
        let what = what.to_owned();
        move |error| Self::Failed(format!("{what}: {error}"))
    }
}

/// Parses the command line and runs the command.
pub(crate) fn run() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return report_usage_error(&error),
    };
    let as_json = matches!(&command, Command::Admin(args) if args.json);
    let outcome = match command {
        Command::Sandbox(args) => sandbox::run_sandbox(args),
        Command::Serve(args) => serve::run_serve(&args),
        Command::Config(args) => serve::print_config(&args),
        Command::Admin(args) => admin::run_admin(args),
        Command::Backup(args) => data::run_backup(&args),
        Command::Restore(args) => data::run_restore(&args),
    };
    let (code, text) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(CommandError::Configuration(text)) => (2, text),
        Err(CommandError::Failed(text)) => (1, text),
    };
    print_error(&if as_json {
        json!({ "error": { "message": text, "exit": code } }).to_string()
    } else {
        format!("error: {text}")
    });
    ExitCode::from(code)
}

/// Prints the error of an invalid command line, or the requested help. For an `admin` command with `--json`,
/// the error is JSON.
fn report_usage_error(error: &clap::Error) -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let is_admin = arguments.first().is_some_and(|first| first == "admin");
    // After `--`, all arguments are values.
    let asks = arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json");
    if !error.use_stderr() || !is_admin || !asks {
        error.exit();
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    print_error(&json!({ "error": { "message": text, "exit": 2 } }).to_string());
    ExitCode::from(2)
}

#[allow(clippy::print_stderr, reason = "errors are printed to standard error")]
fn print_error(text: &str) {
    eprintln!("{text}");
}

/// Installs the logger and maps its errors to exit codes.
fn init_log(form: LogFormat, level: &str) -> Result<LogControl, CommandError> {
    logging::install(form, level).map_err(|error| match error {
        LogError::Level(_) | LogError::Config(_) => {
            let advice = "write a level such as info, or levels by module: exchange_service=debug,info";
            CommandError::Configuration(format!("{error}\n  -> {advice}"))
        }
        LogError::AlreadyInstalled(_) => CommandError::Failed(error.to_string()),
    })
}

/// Prints a line to standard output. Ignores errors, such as a closed pipe.
fn print_line(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{text}");
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// Calls a function for a command and all of its subcommands.
    fn for_each_command(command: &clap::Command, check: &mut impl FnMut(&clap::Command)) {
        check(command);
        command.get_subcommands().for_each(|command| for_each_command(command, check));
    }

    /// Splits the examples in a help text into words. A backslash continues a line. Pipes and redirections end an
    /// example.
    fn examples(help: &str) -> Vec<Vec<String>> {
        let joined = help.replace("\\\n", " ");
        let commands = joined.lines().filter_map(|line| Some(&line[line.find("exchange-service ")?..]));
        let is_example = |line: &&str| !line.contains("` ");
        let words = |line: &str| {
            let mut words = vec![String::new()];
            let mut is_quoted = false;
            for letter in line.chars() {
                match letter {
                    '\'' => is_quoted = !is_quoted,
                    ' ' if !is_quoted => words.push(String::new()),
                    '<' | '>' | '|' if !is_quoted => break,
                    letter => words.last_mut().unwrap().push(letter),
                }
            }
            words.retain(|word| !word.is_empty());
            words
        };
        commands.filter(is_example).map(words).collect()
    }

    /// Help examples can be copied: the command line accepts them, and no terminal with 80 columns wraps them.
    #[test]
    fn help_examples_can_be_copied() {
        let mut count = 0;
        for_each_command(&Cli::command(), &mut |command| {
            for help in [command.get_after_help(), command.get_after_long_help()].into_iter().flatten() {
                let help = help.to_string();
                for line in help.lines().filter(|line| line.starts_with("    ")) {
                    assert!(line.chars().count() < 80, "{}: {line}", command.get_name());
                }
                for example in examples(&help) {
                    count += 1;
                    if let Err(error) = Cli::try_parse_from(&example) {
                        panic!("{example:?}: {error}");
                    }
                }
            }
        });
        assert!(count >= 15, "{count} examples");
    }

    #[test]
    fn command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }
}
