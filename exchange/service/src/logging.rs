//! The log of the service: one line per event, as text or JSON, filtered by level.
//!
//! The log belongs to the whole process: [`install`] is called once. The level can change while the process runs
//! ([`LogControl`]).

use std::borrow::Cow;
use std::env::VarError;
use std::fmt;
use std::io::IsTerminal as _;
use std::sync::OnceLock;

use aws_lc_rs::hmac;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};

use crate::Environment;
use crate::ids::MemberId;
use crate::secrets;
use crate::store::{Store, StoreError, ensure_key};

/// The environment variable with the log filter, which overrides the configured one. The filter has the syntax
/// of `tracing-subscriber`, such as `info` or `exchange_service=debug`.
pub const LEVEL_VARIABLE: &str = "EXCHANGE_LOG";

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line, for programs.
    Json,
}

/// The reason the logger could not be installed, or its level could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter in the environment variable is invalid.
    #[error("{LEVEL_VARIABLE}: {0}")]
    Level(String),
    /// The configured filter is invalid.
    #[error("log.level: {0}")]
    Config(String),
    /// A global subscriber is already installed.
    #[error("cannot install the logger: {0}")]
    AlreadyInstalled(#[from] TryInitError),
}

/// A handle with which the level of the log can be changed.
pub struct LogControl {
    set_filter: Box<dyn Fn(EnvFilter) -> Result<(), String> + Send + Sync>,
    /// Whether the environment variable sets the level.
    is_overridden: bool,
}

impl fmt::Debug for LogControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogControl").field("is_overridden", &self.is_overridden).finish_non_exhaustive()
    }
}

impl LogControl {
    /// Sets the configured level. Does nothing if the environment variable overrides it.
    ///
    /// # Errors
    /// Returns [`LogError::Config`] for an invalid filter. The previous filter is kept.
    pub fn set_level(&self, level: &str) -> Result<(), LogError> {
        if self.is_overridden {
            return Ok(());
        }
        (self.set_filter)(parse_config_level(level)?).map_err(LogError::Config)
    }
}

/// Installs a global subscriber that writes events to standard error in the given format. The environment
/// variable [`LEVEL_VARIABLE`] overrides the level.
///
/// # Errors
/// Returns a [`LogError`] if a subscriber is already installed or the filter is invalid.
pub fn install(form: LogFormat, level: &str) -> Result<LogControl, LogError> {
    let from_environment = parse_variable(std::env::var(LEVEL_VARIABLE))?;
    let is_overridden = from_environment.is_some();
    let filter = from_environment.map_or_else(|| parse_config_level(level), Ok)?;
    let all = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let set_filter: Box<dyn Fn(EnvFilter) -> Result<(), String> + Send + Sync> = match form {
        LogFormat::Text => {
            let all = all.with_ansi(std::io::stderr().is_terminal()).with_filter_reloading();
            let handle = all.reload_handle();
            all.finish().try_init()?;
            Box::new(move |filter| handle.reload(filter).map_err(|error| error.to_string()))
        }
        LogFormat::Json => {
            let all = all.json().flatten_event(true).with_filter_reloading();
            let handle = all.reload_handle();
            all.finish().try_init()?;
            Box::new(move |filter| handle.reload(filter).map_err(|error| error.to_string()))
        }
    };
    Ok(LogControl { set_filter, is_overridden })
}

/// Checks a configured log filter.
///
/// # Errors
/// Returns the reason the filter is invalid.
pub(crate) fn check_level(level: &str) -> Result<(), String> {
    match parse_config_level(level) {
        Err(LogError::Config(reason)) => Err(reason),
        _ => Ok(()),
    }
}

fn parse_config_level(level: &str) -> Result<EnvFilter, LogError> {
    EnvFilter::try_new(level).map_err(|error| LogError::Config(error.to_string()))
}

/// Parses the log filter of the environment variable. Returns `None` if the variable is not set.
fn parse_variable(filter: Result<String, VarError>) -> Result<Option<EnvFilter>, LogError> {
    match filter {
        Ok(text) => EnvFilter::try_new(&text).map(Some).map_err(|error| LogError::Level(error.to_string())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(LogError::Level("the value is not UTF-8".to_owned())),
    }
}

/// The key of the pseudonyms of members in the log; unset if log lines contain ids.
static PSEUDONYM_KEY: OnceLock<hmac::Key> = OnceLock::new();

/// Makes all log lines of this process contain pseudonyms of members instead of ids. Cannot be undone. The key
/// is in the store, so that the pseudonyms are the same after a restart.
///
/// # Errors
/// Returns a [`StoreError`] if the key cannot be read or created.
pub async fn use_pseudonyms(store: &Store, environment: &Environment) -> Result<(), StoreError> {
    let environment = environment.clone();
    let key =
        store.write(move |connection| ensure_key(connection, environment.random(), "log-pseudonyms")).await?;
    // If the key is already set, another call has read the same key.
    let _ = PSEUDONYM_KEY.set(key);
    Ok(())
}

/// Returns the string that identifies a member in log lines.
pub(crate) fn member_label(member: &MemberId) -> Cow<'_, str> {
    match PSEUDONYM_KEY.get() {
        None => Cow::Borrowed(member.as_str()),
        Some(key) => Cow::Owned(pseudonym(key, member)),
    }
}

fn pseudonym(key: &hmac::Key, member: &MemberId) -> String {
    let mut text = secrets::hmac_base64(key, &[member.as_str()]);
    // 96 bits suffice to distinguish members.
    text.truncate(16);
    text.insert_str(0, "p-");
    text
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

    /// An invalid filter is an error and does not fall back to the default.
    #[test]
    fn log_levels_are_parsed() {
        assert!(parse_variable(Err(VarError::NotPresent)).unwrap().is_none());
        let filter = parse_variable(Ok("warn,hyper=off".to_owned())).unwrap().unwrap();
        assert_eq!(filter.to_string(), "hyper=off,warn");
        assert!(matches!(parse_variable(Ok("exchange_service=loud".to_owned())), Err(LogError::Level(_))));
        assert_eq!(check_level("info,exchange_service=debug"), Ok(()));
        assert!(check_level("exchange_service=loud").is_err());
    }

    /// A pseudonym does not contain the id, is the same each time, and differs between members and services.
    #[test]
    fn pseudonyms_are_stable_and_keyed() {
        let key = |byte| hmac::Key::new(hmac::HMAC_SHA256, &[byte; 32]);
        let (one, two) = (MemberId::new("member-1"), MemberId::new("member-2"));
        let label = pseudonym(&key(1), &one);
        assert_eq!(label, pseudonym(&key(1), &one));
        assert_eq!(label.len(), 18);
        assert!(!label.contains("member"), "{label}");
        assert_ne!(label, pseudonym(&key(1), &two));
        assert_ne!(label, pseudonym(&key(2), &one));
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
