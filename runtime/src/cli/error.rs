//! Errors and exit codes of commands.

use std::{io, io::Write, process::ExitCode};

use http::StatusCode;

use super::{CommandSpec, commands, print};
use crate::{
    Json, Map, Number,
    client::{
        SendError,
        credentials::{MissingCredentials, TokenError},
    },
    transport::{Delivery, TransportError, TransportFault},
    violation::Violations,
};

/// The exit code of a command, for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CliExit {
    /// The command succeeded.
    Done = 0,
    /// The command failed.
    Failed = 1,
    /// The command line or the body is invalid; nothing was sent.
    Usage = 2,
    /// Credentials are missing, or were rejected by the server (`401`) or the token endpoint.
    Unauthorized = 4,
    /// The server rejected the request (`4XX`).
    Rejected = 5,
    /// The server requests a delay before a retry (`429` or `503` with `Retry-After`).
    RetryLater = 6,
}

impl From<CliExit> for ExitCode {
    fn from(exit: CliExit) -> Self {
        Self::from(exit as u8)
    }
}

/// The error of a command.
#[derive(Debug)]
pub(super) struct CliError {
    pub(super) exit: CliExit,
    message: String,
    help: Option<String>,
    status: Option<StatusCode>,
    /// The delay that the server requests, in whole seconds.
    retry_after: Option<u64>,
    violations: Option<Box<Violations>>,
    /// The body of the error response.
    body: Option<Box<Json>>,
}

impl CliError {
    fn new(exit: CliExit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            help: None,
            status: None,
            retry_after: None,
            violations: None,
            body: None,
        }
    }

    /// Creates an error for a command that failed.
    pub(super) fn failure(message: impl Into<String>) -> Self {
        Self::new(CliExit::Failed, message)
    }

    /// Creates an error for an invalid command line.
    pub(super) fn usage_error(message: impl Into<String>) -> Self {
        Self::new(CliExit::Usage, message)
    }

    /// Creates an error for input that violates the contract.
    pub(super) fn contract_violation(what: &str, violations: Violations) -> Self {
        let message = format!("{what} violates the contract; nothing was sent");
        Self { violations: Some(Box::new(violations)), ..Self::usage_error(message) }
    }

    /// Creates the error for an error response or an undocumented response.
    pub(super) fn error_response(status: StatusCode, wait: Option<u64>, body: Option<Json>) -> Self {
        let exit = match status.as_u16() {
            429 | 503 if wait.is_some() => CliExit::RetryLater,
            401 => CliExit::Unauthorized,
            400..=499 => CliExit::Rejected,
            _ => CliExit::Failed,
        };
        let message = match wait {
            Some(seconds) => format!("the server returned {status} and requires a wait of {seconds} s"),
            None => format!("the server returned {status}"),
        };
        Self { status: Some(status), retry_after: wait, body: body.map(Box::new), ..Self::new(exit, message) }
    }

    /// Converts an error that occurred before a response was received.
    pub(super) fn from_send_error(error: SendError, row: &CommandSpec) -> Self {
        match error {
            SendError::Transport(error) => {
                let acted = error.delivery() == Delivery::Unknown && !row.operation.repeat.is_harmless();
                let failure = Self::from(error);
                if acted { failure.with_help("the operation may have been executed") } else { failure }
            }
            SendError::InvalidRequest(violations) => {
                let name = |pointer: &str| {
                    let name = pointer.split('/').nth(1).unwrap_or_default();
                    commands::option_for_parameter(row, &name.replace("~1", "/").replace("~0", "~"))
                };
                let named: Option<Vec<String>> = violations.iter().map(|each| name(&each.pointer)).collect();
                match named {
                    Some(mut names) => {
                        names.dedup();
                        Self::contract_violation(&names.join(", "), violations)
                    }
                    None => Self::contract_violation("the request", violations),
                }
            }
        }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Prints the error to standard error, as text or as one line of JSON. If standard error is closed,
    /// nothing is printed.
    pub(super) fn print_to(&self, json: bool, errors: &mut dyn Write) {
        let text =
            if json { print::to_compact(&self.as_json()) } else { print::escape_text(&self.as_text()) };
        let _ = print::write_all(errors, format!("{}\n", text.trim_end()).as_bytes());
    }

    fn as_text(&self) -> String {
        let mut out = format!("error: {}\n", self.message);
        for violation in self.violations.iter().flat_map(|all| all.iter()) {
            out += &format!("  {violation}\n");
        }
        if let Some(body) = &self.body {
            let shown = match &**body {
                Json::String(text) => text.clone(),
                body => print::to_yaml(body),
            };
            shown.lines().for_each(|line| out += &format!("  {line}\n"));
        }
        if let Some(help) = &self.help {
            out += &format!("  -> {help}\n");
        }
        out
    }

    fn as_json(&self) -> Json {
        let mut error: Map<Json> = Map::new();
        let mut add = |name: &str, value: Option<Json>| {
            if let Some(value) = value {
                error.insert(name.to_owned(), value);
            }
        };
        let number = |value: u64| Number::parse(&value.to_string()).map_or(Json::Null, Json::Number);
        add("message", Some(self.message.as_str().into()));
        add("next", self.help.as_deref().map(Json::from));
        add("status", self.status.map(|status| number(status.as_u16().into())));
        add("retryAfterSeconds", self.retry_after.map(number));
        let violations = self.violations.as_ref().and_then(|all| serde_json::to_vec(all).ok());
        add("violations", violations.and_then(|all| Json::parse(&all).ok()));
        add("body", self.body.as_deref().cloned());
        add("exit", Some(number(self.exit as u64)));
        let mut all: Map<Json> = Map::new();
        all.insert("error".to_owned(), Json::Object(error));
        Json::Object(all)
    }
}

impl From<TransportError> for CliError {
    fn from(error: TransportError) -> Self {
        let sign_in =
            |why: String| Self::new(CliExit::Unauthorized, why).with_help("see `--help`, under Credentials");
        if let Some(missing) = error.downcast_source::<MissingCredentials>() {
            return sign_in(missing.to_string());
        }
        if let Some(none) = error.downcast_source::<TokenError>().filter(|none| none.is_client_refused()) {
            return sign_in(none.to_string());
        }
        match error.fault() {
            TransportFault::Request => Self::usage_error(error.to_string()),
            _ => Self::failure(error.to_string()),
        }
    }
}

/// Only errors of the standard streams are converted by this implementation; errors of files name the file.
impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        Self::failure(format!("cannot write the output: {error}"))
    }
}
