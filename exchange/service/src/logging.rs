//! The log of the service: one line per event, as text or JSON, filtered by level according to
//! `EXCHANGE_LOG`.

use std::env::VarError;
use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};

/// The environment variable with the log filter. The filter has the syntax of `tracing-subscriber`, such as
/// `info` or `exchange_service=debug`.
pub const LEVEL_VARIABLE: &str = "EXCHANGE_LOG";

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line, for programs.
    Json,
}

/// The reason the logger could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter is invalid.
    #[error("{LEVEL_VARIABLE}: {0}")]
    Level(String),
    /// A global subscriber is already installed.
    #[error("cannot install the logger: {0}")]
    AlreadyInstalled(#[from] TryInitError),
}

/// Installs a global subscriber that writes events to standard error in the given format.
///
/// # Errors
/// Returns a [`LogError`] if a subscriber is already installed or the filter is invalid.
pub fn install(form: LogFormat) -> Result<(), LogError> {
    let all = tracing_subscriber::fmt()
        .with_env_filter(parse_level(std::env::var(LEVEL_VARIABLE))?)
        .with_writer(std::io::stderr);
    match form {
        LogFormat::Text => all.with_ansi(std::io::stderr().is_terminal()).finish().try_init()?,
        LogFormat::Json => all.json().flatten_event(true).finish().try_init()?,
    }
    Ok(())
}

/// Parses the log filter. The default is `info` if the variable is not set.
fn parse_level(filter: Result<String, VarError>) -> Result<EnvFilter, LogError> {
    let text = match filter {
        Ok(text) => text,
        Err(VarError::NotPresent) => "info".to_owned(),
        Err(VarError::NotUnicode(_)) => return Err(LogError::Level("the value is not UTF-8".to_owned())),
    };
    EnvFilter::try_new(&text).map_err(|error| LogError::Level(error.to_string()))
}

/// Formats an error with the chain of its sources.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
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

    /// The default filter is `info`. An invalid filter is an error and does not fall back to the default.
    #[test]
    fn log_levels_are_parsed() {
        assert_eq!(parse_level(Err(VarError::NotPresent)).unwrap().to_string(), "info");
        assert_eq!(parse_level(Ok("warn,hyper=off".to_owned())).unwrap().to_string(), "hyper=off,warn");
        assert!(matches!(parse_level(Ok("exchange_service=loud".to_owned())), Err(LogError::Level(_))));
    }

    #[derive(Debug, thiserror::Error)]
    #[error("outside")]
    struct Outside(#[source] std::io::Error);

    #[test]
    fn error_includes_its_sources() {
        let error = Outside(std::io::Error::other("inside"));
        assert_eq!(error_chain(&error), "outside: inside");
    }
}
