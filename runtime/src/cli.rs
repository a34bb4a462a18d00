//! The runtime of generated command lines.
//!
//! The generator writes a [`CliProgram`]: the commands, their options and their help. The operation table,
//! which clients use as well, defines how arguments and bodies are encoded. A run has these steps:
//!
//! ```text
//! words ─► command ─► arguments, body, credentials ─► one request ─► response ─► standard output
//! ```
//!
//! Commands are built from tables at run time, so that compile time does not grow with the number of
//! operations. A run stores nothing, sends one request without retries, and does not sign in. Data is written
//! to standard output, everything else to standard error, and the exit code is a [`CliExit`]. No credential
//! is printed.

mod arguments;
mod body;
mod commands;
mod error;
mod output;
mod print;
#[cfg(test)]
mod tests;

use std::{
    ffi::OsString,
    io::{self, IsTerminal as _, Read, Write},
    path::PathBuf,
    process::ExitCode,
    time::SystemTime,
};

use clap::ArgMatches;

pub use self::{
    commands::{OPTIONS, SUBCOMMANDS},
    error::CliExit,
};
use self::{error::CliError, output::OutputTarget};
use crate::{
    client::{
        ApiClient, ReqwestTransport,
        credentials::{ClientCredentials, Keyring, SchemeKind, SecurityTable},
    },
    operation::Operation,
    parameters::{Parameter, RouteMatch},
    transport::{Transport, TransportError},
};

/// The definition of a command-line program. Generated.
#[derive(Clone, Copy)]
pub struct CliProgram {
    /// The name of the program.
    pub name: &'static str,
    /// The `info.title` of the contract.
    pub title: &'static str,
    /// The `info.version`, or empty.
    pub version: &'static str,
    /// The `info.description`, or empty.
    pub about: &'static str,
    /// The prefix of the program's environment variables, such as `TICKETS` in `TICKETS_SERVER`.
    pub variable_prefix: &'static str,
    /// The default base URL; empty if the contract has no absolute URL.
    pub server: &'static str,
    /// One command per operation.
    pub commands: &'static [CommandSpec],
    /// The security schemes, if operations require any.
    pub security: Option<SecurityTable>,
    /// The credential options, in the order of the security schemes.
    pub credentials: &'static [CredentialSpec],
}

/// The command of an operation.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec {
    /// The name of the command.
    pub name: &'static str,
    /// The entry of the operation in the generated table.
    pub operation: &'static Operation,
    /// The `description` of the operation, or empty.
    pub about: &'static str,
    /// The command-line arguments for the operation's parameters, in the order of the contract.
    pub arguments: &'static [ArgumentSpec],
    /// The `description` of the request body, or empty.
    pub body: &'static str,
}

/// The option for a parameter, or the positional argument if the parameter is part of the path.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentSpec {
    /// The name; empty for a parameter with a constant value ([`RouteMatch`]), which is not an option.
    pub name: &'static str,
    /// The `description` of the parameter, or empty.
    pub about: &'static str,
    /// The values that the parameter or one of its elements can have; empty if they are not enumerated.
    pub values: &'static [&'static str],
    /// Whether the contract marks the parameter as `deprecated`.
    pub deprecated: bool,
    /// Whether clients leave the parameter to their transport. The transport of the command line does not add
    /// the parameter, so the user may pass the option, but need not.
    pub supplied: bool,
}

impl CommandSpec {
    /// Returns the parameters that are arguments of the command, with their index.
    fn visible_arguments(
        &self,
    ) -> impl Iterator<Item = (usize, &'static Parameter, &'static ArgumentSpec)> + use<> {
        let rows = self.operation.parameters.iter().zip(self.arguments).enumerate();
        let rows = rows.map(|(index, (parameter, argument))| (index, parameter, argument));
        rows.filter(|(.., argument)| !argument.name.is_empty())
    }

    /// Returns the constant values of parameters, with the index of the parameter.
    fn constant_arguments(&self) -> impl Iterator<Item = (usize, &'static str)> + use<> {
        let rows = self.operation.parameters.iter().zip(self.arguments).enumerate();
        rows.filter_map(|(index, (parameter, argument))| match parameter.route_match {
            Some(RouteMatch::Equals(text)) if argument.name.is_empty() => Some((index, text)),
            _ => None,
        })
    }
}

impl ArgumentSpec {
    /// An argument without any details, for struct update syntax.
    pub const EMPTY: Self = Self { name: "", about: "", values: &[], deprecated: false, supplied: false };
}

/// The credential options of a security scheme.
#[derive(Clone, Copy, Debug)]
pub struct CredentialSpec {
    /// The name of the option for the API key, token, or user name and password; empty if the scheme takes
    /// none of these.
    pub name: &'static str,
    /// The name of the option for an OAuth client id and secret; empty if the scheme has no token endpoint.
    pub client: &'static str,
    /// The `description` of the scheme, or empty.
    pub about: &'static str,
}

/// The environment of a run. [`CliProgram::main`] uses the environment of the current process; tests, and
/// programs with a signing transport, provide their own.
pub struct ProcessContext<'a> {
    /// Looks up an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Standard input.
    pub input: &'a mut dyn Read,
    /// Standard output.
    pub output: &'a mut dyn Write,
    /// Standard error.
    pub errors: &'a mut dyn Write,
    /// Whether standard output is a terminal.
    pub is_terminal: bool,
    /// The clock, for responses with `Retry-After` as a date.
    pub now: &'a dyn Fn() -> SystemTime,
    /// Creates the transport for the request. It must support streams.
    pub transport: &'a dyn Fn() -> Result<Box<dyn Transport>, TransportError>,
}

impl CliProgram {
    /// Runs the program with the arguments, environment and standard streams of the current process.
    #[must_use]
    pub fn main(&'static self) -> ExitCode {
        let output = io::stdout();
        let mut process = ProcessContext {
            variable: &|name| std::env::var(name).ok(),
            is_terminal: output.is_terminal(),
            input: &mut io::stdin(),
            output: &mut output.lock(),
            errors: &mut io::stderr(),
            now: &SystemTime::now,
            transport: &|| Ok(Box::new(ReqwestTransport::new()?)),
        };
        self.run(std::env::args_os(), &mut process).into()
    }

    /// Runs the program with the given command line. The first of `words` is the program name.
    ///
    /// Must be called outside of an async runtime, since it starts one.
    pub fn run(
        &'static self,
        words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
        process: &mut ProcessContext<'_>,
    ) -> CliExit {
        let matches = match commands::build_command(self).try_get_matches_from(words) {
            Ok(matches) => matches,
            // Output that the user requested, such as `--help`, goes to standard output. Errors go to
            // standard error.
            Err(error) if error.use_stderr() => {
                let _ = write!(process.errors, "{}", error.render());
                return CliExit::Usage;
            }
            Err(error) => {
                return match print::write_all(process.output, error.render().to_string().as_bytes()) {
                    Ok(()) => CliExit::Done,
                    Err(_) => CliExit::Failed,
                };
            }
        };
        let Some((name, own)) = matches.subcommand() else { return CliExit::Usage };
        let json = own.get_flag(commands::JSON);
        let ended = match self.commands.iter().find(|row| row.name == name) {
            Some(row) => self.run_command(row, own, process),
            None => commands::print_completions(self, own, process.output),
        };
        match ended {
            Ok(()) => CliExit::Done,
            Err(failure) => {
                failure.print_to(json, process.errors);
                failure.exit
            }
        }
    }

    /// Builds and sends the request of a command, and shows the response.
    fn run_command(
        &'static self,
        row: &'static CommandSpec,
        matches: &ArgMatches,
        process: &mut ProcessContext<'_>,
    ) -> Result<(), CliError> {
        warn_deprecated(row, matches, process.errors);
        let operation = row.operation;
        let typed = matches.get_one::<String>(commands::SERVER).cloned();
        let named = typed.or_else(|| self.read_variable(commands::SERVER, process));
        let has_operation_servers = named.is_none() && !operation.servers.is_empty();
        let server = named.as_deref().unwrap_or(self.server);
        if server.is_empty() && !has_operation_servers {
            let help = format!("give --server URL, or set {}", self.variable_name(commands::SERVER));
            let message = "the contract defines no server URL";
            return Err(CliError::usage_error(message).with_help(help));
        }
        let keyring = self.read_credentials(operation, matches, process)?;
        let transport = (process.transport)()?;
        let core = match keyring {
            Some(keyring) => ApiClient::new(server, keyring.wrap(transport)),
            None => ApiClient::new(server, transport),
        };
        let core = if named.is_some() { core.with_base_url_only() } else { core };
        let mut request = core.request(operation);
        for (at, text) in row.constant_arguments() {
            request = request.argument(at, text);
        }
        for (at, value) in arguments::read_arguments(row, matches)? {
            request = request.argument(at, value);
        }
        let request = body::attach_body(operation, matches, request, process.input)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| CliError::failure(format!("cannot start the async runtime: {error}")))?;
        let mut outlet = OutputTarget {
            json: matches.get_flag(commands::JSON),
            file: matches.get_one::<PathBuf>(commands::OUTPUT).cloned(),
            is_terminal: process.is_terminal,
            output: process.output,
            errors: process.errors,
            now: process.now,
        };
        runtime.block_on(async {
            let sent = core.send_untyped(request, &output::accept_header(operation)).await;
            let response = sent.map_err(|error| CliError::from_send_error(error, row))?;
            output::show_response(operation, response, &mut outlet).await
        })
    }

    /// Returns the environment variable of an option.
    fn variable_name(&self, option: &str) -> String {
        format!("{}_{}", self.variable_prefix, option.to_uppercase().replace('-', "_"))
    }

    /// Returns the value of an option's environment variable, unless it is empty.
    fn read_variable(&self, option: &str, process: &ProcessContext<'_>) -> Option<String> {
        (process.variable)(&self.variable_name(option)).filter(|text| !text.is_empty())
    }

    /// Reads credentials from options and environment variables.
    fn read_credentials(
        &self,
        operation: &Operation,
        matches: &ArgMatches,
        process: &ProcessContext<'_>,
    ) -> Result<Option<Keyring>, CliError> {
        let Some(security) = self.security else { return Ok(None) };
        let read_option = |option: &'static str| {
            let typed = || matches.get_one::<String>(option).cloned();
            if option.is_empty() { None } else { typed().or_else(|| self.read_variable(option, process)) }
        };
        let mut keyring = Keyring::new(security);
        let mut clients = Vec::new();
        for (index, (scheme, credential)) in security.schemes.iter().zip(self.credentials).enumerate() {
            let token = read_option(credential.name);
            if let Some(text) = read_option(credential.client) {
                let (id, secret) = split_pair(&text, credential.client, "ID:SECRET")?;
                let client = ClientCredentials::new(id, secret);
                keyring = keyring.client(index, client.clone());
                if token.is_none() {
                    clients.push((index, client));
                }
            }
            let Some(text) = token else { continue };
            keyring = match scheme.kind {
                SchemeKind::Basic => {
                    let (name, password) = split_pair(&text, credential.name, "NAME:PASSWORD")?;
                    keyring.basic(index, name, password)
                }
                _ => keyring.secret(index, text),
            };
        }
        // The scopes to request are those of the alternative in use, which depends on all credentials
        // together.
        for (index, client) in clients {
            let scopes = keyring.scopes(operation, index);
            keyring = keyring.client(index, client.with_scopes(scopes.iter().copied()));
        }
        Ok(Some(keyring))
    }
}

/// Splits a credential at its first colon. The error does not contain the credential.
fn split_pair<'t>(text: &'t str, option: &str, form: &str) -> Result<(&'t str, &'t str), CliError> {
    text.split_once(':').ok_or_else(|| {
        CliError::usage_error(format!("--{option} must have the form {form}, but contains no `:`"))
    })
}

/// Prints a note for each deprecated operation or parameter that is used.
fn warn_deprecated(row: &CommandSpec, matches: &ArgMatches, errors: &mut dyn Write) {
    if row.operation.deprecated {
        let _ = writeln!(errors, "note: `{}` is deprecated", row.name);
    }
    for (_, _, argument) in row.visible_arguments().filter(|(.., argument)| argument.deprecated) {
        if matches.contains_id(argument.name) {
            let _ = writeln!(errors, "note: `{}` of `{}` is deprecated", argument.name, row.name);
        }
    }
}
