//! The log: one line per event, as text or JSON, by the level that `EXCHANGE_LOG` says.

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

/// Writes events to the standard error output from now on.
///
/// # Errors
/// When somebody does already.
pub fn install(form: Form) -> Result<(), TryInitError> {
    let level = EnvFilter::try_from_env(LEVEL).unwrap_or_else(|_| EnvFilter::new("info"));
    let all = tracing_subscriber::fmt().with_env_filter(level).with_writer(std::io::stderr);
    match form {
        Form::Text => all.with_ansi(std::io::stderr().is_terminal()).finish().try_init(),
        Form::Json => all.json().flatten_event(true).finish().try_init(),
    }
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

    #[derive(Debug, thiserror::Error)]
    #[error("outside")]
    struct Outside(#[source] std::io::Error);

    #[test]
    fn an_error_says_what_it_came_from() {
        let error = Outside(std::io::Error::other("inside"));
        assert_eq!(causes(&error), "outside: inside");
    }
}
