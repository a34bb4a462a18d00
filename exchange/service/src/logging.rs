//! The log: one line per event, as text or JSON, by the level that `EXCHANGE_LOG` says.

use std::env::VarError;
use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};

/// What the level is taken from, in the syntax of `tracing-subscriber`: `info`, `exchange_service=debug`.
pub const LEVEL: &str = "EXCHANGE_LOG";

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// Why nothing is logged.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// What says the level cannot be read.
    #[error("{LEVEL}: {0}")]
    Level(String),
    /// Somebody else writes events already.
    #[error("cannot write a log: {0}")]
    Taken(#[from] TryInitError),
}

/// Writes events to the standard error output from now on.
///
/// # Errors
/// When somebody does already, or the level cannot be read.
pub fn install(form: Form) -> Result<(), LogError> {
    let all =
        tracing_subscriber::fmt().with_env_filter(level(std::env::var(LEVEL))?).with_writer(std::io::stderr);
    match form {
        Form::Text => all.with_ansi(std::io::stderr().is_terminal()).finish().try_init()?,
        Form::Json => all.json().flatten_event(true).finish().try_init()?,
    }
    Ok(())
}

/// The level that is asked for; `info` where none is.
fn level(asked: Result<String, VarError>) -> Result<EnvFilter, LogError> {
    let text = match asked {
        Ok(text) => text,
        Err(VarError::NotPresent) => "info".to_owned(),
        Err(VarError::NotUnicode(_)) => return Err(LogError::Level("no UTF-8".to_owned())),
    };
    EnvFilter::try_new(&text).map_err(|error| LogError::Level(error.to_string()))
}

/// An error with everything that it came from, which its own text leaves out.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a level it is `info`; one that cannot be read is refused, and not taken for none.
    #[test]
    fn levels_are_read() {
        assert_eq!(level(Err(VarError::NotPresent)).unwrap().to_string(), "info");
        assert_eq!(level(Ok("warn,hyper=off".to_owned())).unwrap().to_string(), "hyper=off,warn");
        assert!(matches!(level(Ok("exchange_service=loud".to_owned())), Err(LogError::Level(_))));
    }

    #[derive(Debug, thiserror::Error)]
    #[error("outside")]
    struct Outside(#[source] std::io::Error);

    #[test]
    fn an_error_says_what_it_came_from() {
        let error = Outside(std::io::Error::other("inside"));
        assert_eq!(causes(&error), "outside: inside");
    }
}
