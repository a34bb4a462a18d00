//! Why a command came to nothing, and the exit code that says it.

use std::{io, io::Write, process::ExitCode};

use http::StatusCode;

use super::{Command, commands, print};
use crate::{
    Json, Map, Number,
    client::{
        SendError,
        credentials::{Missing, NoToken},
    },
    transport::{Delivery, TransportError, TransportFault},
    violation::Violations,
};

/// How a command ended; what scripts decide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// It could not be done.
    Failed = 1,
    /// The command line, or the body, is wrong; nothing was sent.
    Usage = 2,
    /// Credentials are missing, or the server, or who gives tokens, takes others (`401`).
    SignIn = 4,
    /// The server refuses (`4XX`).
    Refused = 5,
    /// The server asks to wait (`429` or `503` with `Retry-After`).
    Wait = 6,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command came to nothing.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    message: String,
    help: Option<String>,
    status: Option<StatusCode>,
    /// Whole seconds.
    retry_after: Option<u64>,
    violations: Option<Box<Violations>>,
    /// What the server said of it.
    body: Option<Box<Json>>,
}

impl Failure {
    fn new(exit: Exit, message: impl Into<String>) -> Self {
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

    /// It could not be done.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// What was typed cannot be used.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Something breaks the contract, and was not sent.
    pub(super) fn invalid(what: &str, violations: Violations) -> Self {
        let message = format!("{what} breaks the contract, and nothing was sent");
        Self { violations: Some(Box::new(violations)), ..Self::usage(message) }
    }

    /// The server says no, or nothing that the contract describes.
    pub(super) fn answered(status: StatusCode, wait: Option<u64>, body: Option<Json>) -> Self {
        let exit = match status.as_u16() {
            429 | 503 if wait.is_some() => Exit::Wait,
            401 => Exit::SignIn,
            400..=499 => Exit::Refused,
            _ => Exit::Failed,
        };
        let message = match wait {
            Some(seconds) => format!("the server answered {status}, and asks to wait {seconds} s"),
            None => format!("the server answered {status}"),
        };
        Self { status: Some(status), retry_after: wait, body: body.map(Box::new), ..Self::new(exit, message) }
    }

    /// What went wrong before there was an answer.
    pub(super) fn of_sending(error: SendError, row: &Command) -> Self {
        match error {
            SendError::Transport(error) => {
                let acted = error.delivery() == Delivery::Unknown && !row.operation.repeat.is_harmless();
                let failure = Self::from(error);
                if acted { failure.with_help("it may have been carried out all the same") } else { failure }
            }
            SendError::InvalidRequest(violations) => {
                let name = |pointer: &str| {
                    let name = pointer.split('/').nth(1).unwrap_or_default();
                    commands::typed(row, &name.replace("~1", "/").replace("~0", "~"))
                };
                let named: Option<Vec<String>> = violations.iter().map(|each| name(&each.pointer)).collect();
                match named {
                    Some(mut names) => {
                        names.dedup();
                        Self::invalid(&names.join(", "), violations)
                    }
                    None => Self::invalid("the request", violations),
                }
            }
        }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Tells it on the standard error, for people or as one line of JSON. Who closed that does not want to know.
    pub(super) fn tell(&self, json: bool, errors: &mut dyn Write) {
        let text = if json { print::compact(&self.as_json()) } else { print::clean(&self.as_text()) };
        let _ = print::whole(errors, format!("{}\n", text.trim_end()).as_bytes());
    }

    fn as_text(&self) -> String {
        let mut out = format!("error: {}\n", self.message);
        for violation in self.violations.iter().flat_map(|all| all.iter()) {
            out += &format!("  {violation}\n");
        }
        if let Some(body) = &self.body {
            let shown = match &**body {
                Json::String(text) => text.clone(),
                body => print::readable(body),
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

impl From<TransportError> for Failure {
    fn from(error: TransportError) -> Self {
        let sign_in = |why: String| Self::new(Exit::SignIn, why).with_help("see `--help`, under Credentials");
        if let Some(missing) = error.cause::<Missing>() {
            return sign_in(missing.to_string());
        }
        if let Some(none) = error.cause::<NoToken>().filter(|none| none.is_client_refused()) {
            return sign_in(none.to_string());
        }
        match error.fault() {
            TransportFault::Request => Self::usage(error.to_string()),
            _ => Self::failed(error.to_string()),
        }
    }
}

/// The streams of the process are the only ones that are written without a name.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::failed(format!("the output cannot be written: {error}"))
    }
}
