//! A command line for any contract: what a generated command consists of beside its table.
//!
//! The generator writes a [`Program`]: which operations are commands, what their options are called, and what
//! the contract says of them. What an argument stands for, where it goes and what may be sent stands in the table of
//! operations, as it does for clients. One run is
//!
//! ```text
//! words ─► command ─► arguments, body, credentials ─► one request ─► answer ─► the standard output
//! ```
//!
//! Commands are built when they are needed, of tables: a contract of a thousand operations compiles no slower
//! for them. Nothing is kept between two runs, no request is repeated, and nobody signs in here. Data goes to the
//! standard output, all else to the standard error, and [`Exit`] says how it ended. No credential is printed.

mod answer;
mod arguments;
mod body;
mod commands;
mod failure;
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

use self::{answer::Outlet, failure::Failure};
pub use self::{
    commands::{OPTIONS, SUBCOMMANDS},
    failure::Exit,
};
use crate::{
    client::{
        Core, ReqwestTransport,
        credentials::{ClientCredentials, Keyring, SchemeKind, Security},
    },
    operation::Operation,
    parameters::{Mark, Parameter},
    transport::{Transport, TransportError},
};

/// What a command is made of; generated.
#[derive(Clone, Copy)]
pub struct Program {
    /// What it is called.
    pub name: &'static str,
    /// `info.title`.
    pub title: &'static str,
    /// `info.version`, or empty.
    pub version: &'static str,
    /// `info.description`, or empty.
    pub about: &'static str,
    /// How its variables begin: `TICKETS` of `TICKETS_SERVER`.
    pub variables: &'static str,
    /// Where requests go unless it is said; empty where the contract names no absolute address.
    pub server: &'static str,
    /// The operations.
    pub commands: &'static [Command],
    /// What the contract says of credentials, where operations ask for any.
    pub security: Option<Security>,
    /// What the credentials are called, in the order of their schemes.
    pub credentials: &'static [Credential],
}

/// An operation as a command.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// What it is called.
    pub name: &'static str,
    /// What the contract says of it.
    pub operation: &'static Operation,
    /// `description`, or empty.
    pub about: &'static str,
    /// What its parameters are called, in their order.
    pub arguments: &'static [Argument],
    /// `description` of its body, or empty.
    pub body: &'static str,
}

/// A parameter as an option, or as a word of its own where it stands in the path.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// What it is called; empty for what is always the text of its [`Mark`], which nobody is asked for.
    pub name: &'static str,
    /// `description`, or empty.
    pub about: &'static str,
    /// The only values that it, or an element of it, can have; none when there are others.
    pub values: &'static [&'static str],
    /// `deprecated`.
    pub deprecated: bool,
    /// Whether clients leave it to their transport. There is none here that knows it, so that it may be said and need
    /// not be.
    pub supplied: bool,
}

impl Command {
    /// The parameters that somebody may give, with their rows.
    fn asked(&self) -> impl Iterator<Item = (usize, &'static Parameter, &'static Argument)> + use<> {
        let rows = self.operation.parameters.iter().zip(self.arguments).enumerate();
        let rows = rows.map(|(at, (parameter, argument))| (at, parameter, argument));
        rows.filter(|(.., argument)| !argument.name.is_empty())
    }

    /// What is always the same, by its row.
    fn constants(&self) -> impl Iterator<Item = (usize, &'static str)> + use<> {
        let rows = self.operation.parameters.iter().zip(self.arguments).enumerate();
        rows.filter_map(|(at, (parameter, argument))| match parameter.mark {
            Some(Mark::Text(text)) if argument.name.is_empty() => Some((at, text)),
            _ => None,
        })
    }
}

impl Argument {
    /// One of which nothing is said.
    pub const NONE: Self = Self { name: "", about: "", values: &[], deprecated: false, supplied: false };
}

/// A scheme of credentials as options.
#[derive(Clone, Copy, Debug)]
pub struct Credential {
    /// The option of a key, a token, or a name and a password; empty for a scheme that has none.
    pub name: &'static str,
    /// The option of a client's id and secret; empty where the contract does not say what gives tokens.
    pub client: &'static str,
    /// `description`, or empty.
    pub about: &'static str,
}

/// What a run has around it. [`Program::main`] takes that of this process; a test, or a transport that signs, is given
/// here.
pub struct Process<'a> {
    /// Variables of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The standard input.
    pub input: &'a mut dyn Read,
    /// The standard output.
    pub output: &'a mut dyn Write,
    /// The standard error.
    pub errors: &'a mut dyn Write,
    /// Whether the standard output is a terminal.
    pub terminal: bool,
    /// The time, for answers that say until when to wait.
    pub now: &'a dyn Fn() -> SystemTime,
    /// What requests go through; made when there is one. It needs streams.
    pub transport: &'a dyn Fn() -> Result<Box<dyn Transport>, TransportError>,
}

impl Program {
    /// Runs it with the words, the variables and the streams of this process.
    #[must_use]
    pub fn main(&'static self) -> ExitCode {
        let output = io::stdout();
        let mut process = Process {
            variable: &|name| std::env::var(name).ok(),
            terminal: output.is_terminal(),
            input: &mut io::stdin(),
            output: &mut output.lock(),
            errors: &mut io::stderr(),
            now: &SystemTime::now,
            transport: &|| Ok(Box::new(ReqwestTransport::new()?)),
        };
        self.run(std::env::args_os(), &mut process).into()
    }

    /// Runs it; the first word is its own name.
    ///
    /// To be called outside of an asynchronous runtime, since it has one of its own.
    pub fn run(
        &'static self,
        words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
        process: &mut Process<'_>,
    ) -> Exit {
        let matches = match commands::command(self).try_get_matches_from(words) {
            Ok(matches) => matches,
            // What was asked for (`--help`) is data, what was wrong is not.
            Err(said) if said.use_stderr() => {
                let _ = write!(process.errors, "{}", said.render());
                return Exit::Usage;
            }
            Err(said) => {
                return match print::whole(process.output, said.render().to_string().as_bytes()) {
                    Ok(()) => Exit::Done,
                    Err(_) => Exit::Failed,
                };
            }
        };
        let Some((name, own)) = matches.subcommand() else { return Exit::Usage };
        let json = own.get_flag(commands::JSON);
        let ended = match self.commands.iter().find(|row| row.name == name) {
            Some(row) => self.call(row, own, process),
            None => commands::completions(self, own, process.output),
        };
        match ended {
            Ok(()) => Exit::Done,
            Err(failure) => {
                failure.tell(json, process.errors);
                failure.exit
            }
        }
    }

    /// Makes the request of a command, sends it, and shows what is answered.
    fn call(
        &'static self,
        row: &'static Command,
        matches: &ArgMatches,
        process: &mut Process<'_>,
    ) -> Result<(), Failure> {
        deprecations(row, matches, process.errors);
        let operation = row.operation;
        let typed = matches.get_one::<String>(commands::SERVER).cloned();
        let named = typed.or_else(|| self.variable(commands::SERVER, process));
        let own = named.is_none() && !operation.servers.is_empty();
        let server = named.as_deref().unwrap_or(self.server);
        if server.is_empty() && !own {
            let help = format!("give --server URL, or set {}", self.variable_of(commands::SERVER));
            let message = "the contract does not say where its server is";
            return Err(Failure::usage(message).with_help(help));
        }
        let keyring = self.keyring(operation, matches, process)?;
        let transport = (process.transport)()?;
        let core = match keyring {
            Some(keyring) => Core::new(server, keyring.over(transport)),
            None => Core::new(server, transport),
        };
        let core = if named.is_some() { core.with_base_url_only() } else { core };
        let mut request = core.request(operation);
        for (at, text) in row.constants() {
            request = request.argument(at, text);
        }
        for (at, value) in arguments::of(row, matches)? {
            request = request.argument(at, value);
        }
        let request = body::attach(operation, matches, request, process.input)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::failed(format!("no runtime: {error}")))?;
        let mut outlet = Outlet {
            json: matches.get_flag(commands::JSON),
            file: matches.get_one::<PathBuf>(commands::OUTPUT).cloned(),
            terminal: process.terminal,
            output: process.output,
            errors: process.errors,
            now: process.now,
        };
        runtime.block_on(async {
            let sent = core.exchange(request, &answer::accepted(operation)).await;
            let answer = sent.map_err(|error| Failure::of_sending(error, row))?;
            answer::show(operation, answer, &mut outlet).await
        })
    }

    /// The variable that an option is read from when it is not typed.
    fn variable_of(&self, option: &str) -> String {
        format!("{}_{}", self.variables, option.to_uppercase().replace('-', "_"))
    }

    /// What stands in the variable of an option; what is empty is not there.
    fn variable(&self, option: &str, process: &Process<'_>) -> Option<String> {
        (process.variable)(&self.variable_of(option)).filter(|text| !text.is_empty())
    }

    /// What was said of credentials, by options or variables.
    fn keyring(
        &self,
        operation: &Operation,
        matches: &ArgMatches,
        process: &Process<'_>,
    ) -> Result<Option<Keyring>, Failure> {
        let Some(security) = self.security else { return Ok(None) };
        let said = |option: &'static str| {
            let typed = || matches.get_one::<String>(option).cloned();
            if option.is_empty() { None } else { typed().or_else(|| self.variable(option, process)) }
        };
        let mut keyring = Keyring::new(security);
        let mut clients = Vec::new();
        for (at, (scheme, credential)) in security.schemes.iter().zip(self.credentials).enumerate() {
            let token = said(credential.name);
            if let Some(text) = said(credential.client) {
                let (id, secret) = both(&text, credential.client, "ID:SECRET")?;
                let client = ClientCredentials::new(id, secret);
                keyring = keyring.client(at, client.clone());
                if token.is_none() {
                    clients.push((at, client));
                }
            }
            let Some(text) = token else { continue };
            keyring = match scheme.kind {
                SchemeKind::Basic => {
                    let (name, password) = both(&text, credential.name, "NAME:PASSWORD")?;
                    keyring.basic(at, name, password)
                }
                _ => keyring.secret(at, text),
            };
        }
        // Which alternative is shown, and with it which scopes are asked for, all of them together say.
        for (at, client) in clients {
            let scopes = keyring.scopes(operation, at);
            keyring = keyring.client(at, client.with_scopes(scopes.iter().copied()));
        }
        Ok(Some(keyring))
    }
}

/// The two halves of a credential, which is not repeated in the message.
fn both<'t>(text: &'t str, option: &str, form: &str) -> Result<(&'t str, &'t str), Failure> {
    text.split_once(':').ok_or_else(|| Failure::usage(format!("--{option} is {form}, and there is no `:`")))
}

/// Says what the contract calls deprecated of what was typed.
fn deprecations(row: &Command, matches: &ArgMatches, errors: &mut dyn Write) {
    if row.operation.deprecated {
        let _ = writeln!(errors, "note: `{}` is deprecated", row.name);
    }
    for (_, _, argument) in row.asked().filter(|(.., argument)| argument.deprecated) {
        if matches.contains_id(argument.name) {
            let _ = writeln!(errors, "note: `{}` of `{}` is deprecated", argument.name, row.name);
        }
    }
}
