//! The errors of commands, with their exit codes.

use std::{borrow::Cow, collections::BTreeMap, fmt, io, time::Duration};

use exchange_client::{Advice, Error, ErrorKind, api::Json};
use serde::Serialize;

use crate::output::{InterruptNotice, Output};

/// The exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ExitStatus {
    /// The command succeeded.
    Success = 0,
    /// The command failed for a reason that has no other exit code.
    Failure = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// The member cancelled the command.
    Cancelled = 3,
    /// The member is not signed in, or the connection lacks a scope.
    SignInRequired = 4,
    /// The exchange refuses this client or this member by policy.
    Refused = 5,
    /// The client has to wait before it retries, or a change is stored until it can be sent.
    RetryLater = 6,
    /// The data has changed in the meantime, or the member has to confirm the change.
    Conflict = 7,
    /// Only some parts of the command succeeded.
    PartialSuccess = 8,
    /// Ctrl-C interrupted the command.
    Interrupted = 130,
}

/// The list of exit codes in `--help`.
pub(crate) const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 invalid command line or \
    configuration, 3 cancelled by the member, 4 sign-in needed, 5 refused by policy, 6 retry later, \
    or a change is stored until it can be sent, 7 conflict or confirmation needed, 8 partly applied, 130 \
    interrupted.";

/// The advice for an unusable secret store. It mentions an option of this program.
const UNLOCK_STORE_ADVICE: &str = "unlock the secret store of this computer, or sign in with --insecure-storage to keep the \
    secrets in a file";

/// The advice for an unusable file store.
const FILE_STORE_ADVICE: &str = "check the files of --insecure-storage: this account has to own them, and no other account may \
    read them (chmod 600)";

/// An error that ended a command.
#[derive(Clone, Debug)]
pub(crate) enum CommandError {
    /// An error of the client library.
    Client(Error),
    /// An error of the client library for a call that the outbox does not store.
    Call(Box<FailedCall>),
    /// An error that this program detected.
    Cli { exit: ExitStatus, message: String, advice: Cow<'static, str>, idempotency_key: Option<String> },
    /// The error was already printed, so only its exit code is kept.
    Reported(ExitStatus),
}

/// The error of a call that is sent once and that the outbox does not store.
#[derive(Clone, Debug)]
pub(crate) struct FailedCall {
    error: Error,
    advice: Option<Cow<'static, str>>,
    idempotency_key: Option<String>,
    /// The parts of the response that the user requested.
    excerpt: ResponseExcerpt,
}

/// The parts of an error response that are printed.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResponseExcerpt {
    pub(crate) head: Option<ResponseHead>,
    /// The problem document, including properties that the contract does not describe.
    pub(crate) problem: Option<Json>,
}

/// Status and headers of a response.
#[derive(Clone, Debug)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    /// The status code with its reason phrase.
    pub(crate) status_line: String,
    /// The header fields. Several values of one name are joined as in HTTP (RFC 9110, 5.3).
    pub(crate) headers: BTreeMap<String, String>,
}

impl ResponseHead {
    /// Formats the status and the headers, one per line.
    pub(crate) fn to_text(&self) -> String {
        let lines = self.headers.iter().map(|(name, value)| format!("\n{name}: {value}"));
        self.status_line.clone() + &lines.collect::<String>()
    }
}

impl ResponseExcerpt {
    fn print(&self, output: &mut Output) {
        if let Some(head) = &self.head {
            output.print_note(head.to_text());
        }
        if let Some(problem) = &self.problem {
            output.print_note_json(problem);
        }
    }
}

impl FailedCall {
    pub(crate) const fn new(error: Error) -> Self {
        let excerpt = ResponseExcerpt { head: None, problem: None };
        Self { error, advice: None, idempotency_key: None, excerpt }
    }

    /// Adds the idempotency key if the call may have been applied, because then only a retry with this key is
    /// safe (GW-12).
    pub(crate) fn with_idempotency_key(self, key: Option<&str>) -> Self {
        match key.filter(|_| self.error.may_have_been_applied()) {
            Some(key) => {
                Self { advice: Some(retry_advice(key).into()), idempotency_key: Some(key.to_owned()), ..self }
            }
            None => self,
        }
    }

    /// Adds advice if the call may have been applied.
    pub(crate) fn with_advice(self, advice: &'static str) -> Self {
        if self.error.may_have_been_applied() { Self { advice: Some(advice.into()), ..self } } else { self }
    }

    /// Adds the parts of the response that are printed with the error.
    pub(crate) fn with_excerpt(self, excerpt: ResponseExcerpt) -> Self {
        Self { excerpt, ..self }
    }
}

impl From<FailedCall> for CommandError {
    fn from(call: FailedCall) -> Self {
        Self::Call(Box::new(call))
    }
}

/// Returns the advice for a call that may have been applied with this key. The exchange stores a key for 24
/// hours (LIM-22).
pub(crate) fn retry_advice(key: &str) -> String {
    format!(
        "repeat it unchanged within 23 hours with --idempotency-key {key}, so that it is carried out only once; \
         after that, check first whether it was carried out"
    )
}

impl CommandError {
    pub(crate) fn new(
        exit: ExitStatus,
        message: impl Into<String>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Cli { exit, message: message.into(), advice: advice.into(), idempotency_key: None }
    }

    /// Creates the error for an invalid argument or configuration.
    pub(crate) fn from_usage_error(what: impl fmt::Display) -> Self {
        Self::new(ExitStatus::Usage, what.to_string(), "see --help")
    }

    /// Creates the error for a command line that clap rejects. The message is on one line and does not
    /// include the usage.
    pub(crate) fn from_clap_error(error: &clap::Error) -> Self {
        let text = error.to_string();
        let what = match error.kind() {
            clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "no command was given",
            _ => text
                .split("\n\nUsage:")
                .next()
                .and_then(|text| text.split("\n\nFor more").next())
                .unwrap_or(&text),
        };
        let words: Vec<&str> = what.strip_prefix("error: ").unwrap_or(what).split_whitespace().collect();
        Self::from_usage_error(words.join(" "))
    }

    /// Creates the error for Ctrl-C, with the interrupt notice of the command, if any.
    pub(crate) fn from_interrupt(notice: Option<InterruptNotice>) -> Self {
        match notice {
            Some(InterruptNotice { message, advice, idempotency_key }) => {
                Self::Cli { exit: ExitStatus::Interrupted, message, advice: advice.into(), idempotency_key }
            }
            None => Self::new(
                ExitStatus::Interrupted,
                "interrupted",
                "run the command again if it is still needed",
            ),
        }
    }

    /// Creates the error for a file among the arguments that cannot be read, or whose content is invalid.
    pub(crate) fn from_input_file(file: &std::path::Path, reason: impl fmt::Display) -> Self {
        let name = if file == std::path::Path::new("-") {
            "standard input".into()
        } else {
            file.display().to_string()
        };
        Self::new(ExitStatus::Usage, format!("{name}: {reason}"), "check the file")
    }

    pub(crate) fn from_io_error(what: &str, error: &io::Error) -> Self {
        Self::new(ExitStatus::Failure, format!("{what}: {error}"), "check the file")
    }

    /// Replaces the advice to unlock the secret store if the member uses the file store.
    pub(crate) fn with_file_store_advice(self) -> Self {
        match self {
            Self::Client(error) if error.advice() == Advice::OpenSecretStore => {
                Self::new(exit_status_for(&error), error.message(), FILE_STORE_ADVICE)
            }
            Self::Call(call) if call.error.advice() == Advice::OpenSecretStore => {
                let advice = call.advice.clone().or(Some(FILE_STORE_ADVICE.into()));
                FailedCall { advice, ..*call }.into()
            }
            failure => failure,
        }
    }

    pub(crate) fn exit_status(&self) -> ExitStatus {
        match self {
            Self::Client(error) => exit_status_for(error),
            Self::Call(call) => exit_status_for(&call.error),
            Self::Cli { exit, .. } | Self::Reported(exit) => *exit,
        }
    }

    /// Returns the report to print, or `None` if the error was already printed.
    pub(crate) fn to_report(&self) -> Option<ErrorReport> {
        Some(match self {
            Self::Reported(_) => return None,
            Self::Cli { exit, message, advice, idempotency_key } => ErrorReport {
                idempotency_key: idempotency_key.clone(),
                ..ErrorReport::new(*exit, message.clone(), advice.clone())
            },
            Self::Client(error) => ErrorReport::from_client_error(error),
            Self::Call(call) => {
                let FailedCall { error, advice, idempotency_key, excerpt } = &**call;
                let report = ErrorReport::from_client_error(error);
                let (status, headers) = excerpt.head.clone().map(|head| (head.status, head.headers)).unzip();
                let problem = excerpt.problem.clone();
                let next = advice.clone().unwrap_or(report.next);
                ErrorReport {
                    next,
                    idempotency_key: idempotency_key.clone(),
                    headers,
                    problem,
                    status,
                    ..report
                }
            }
        })
    }

    /// Prints the error on the standard error, as text or as JSON.
    pub(crate) fn print(&self, output: &mut Output) {
        let Some(report) = self.to_report() else { return };
        if output.is_json() {
            output.print_error_json(&ErrorDocument { error: &report });
            return;
        }
        let ErrorReport { message, next, retry_after_seconds, .. } = report;
        output.print_error(message);
        if let Self::Call(call) = self {
            call.excerpt.print(output);
        }
        match retry_after_seconds {
            Some(seconds) => output.print_note(format!("  -> {next} (at least {seconds} s)")),
            None => output.print_note(format!("  -> {next}")),
        }
    }
}

/// The JSON form of an error.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorReport {
    pub(crate) code: String,
    pub(crate) exit: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) headers: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idempotency_key: Option<String>,
    pub(crate) message: String,
    pub(crate) next: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
}

/// The JSON document on the standard error. It is serialized directly, without `serde_json::Value`, because a
/// problem document may contain numbers of any size.
#[derive(Serialize)]
struct ErrorDocument<'a> {
    error: &'a ErrorReport,
}

impl ErrorReport {
    fn new(exit: ExitStatus, message: String, next: Cow<'static, str>) -> Self {
        Self {
            code: exit.error_code().to_owned(),
            exit: exit as u8,
            headers: None,
            idempotency_key: None,
            message,
            next,
            problem: None,
            request_id: None,
            retry_after_seconds: None,
            status: None,
        }
    }

    fn from_client_error(error: &Error) -> Self {
        let code = error.code().map(|code| code.as_str().to_owned());
        let oauth = error.oauth_error().map(|error| error.as_str().to_owned());
        let next = match error.advice() {
            Advice::OpenSecretStore => UNLOCK_STORE_ADVICE,
            advice => advice.message(),
        };
        let report = Self::new(exit_status_for(error), error.message(), next.into());
        Self {
            code: code.or(oauth).unwrap_or(report.code),
            request_id: error.correlation_id().map(str::to_owned),
            retry_after_seconds: error.retry_after().map(whole_seconds),
            ..report
        }
    }
}

/// Rounds up to whole seconds, so that no retry is too early (CLI-02).
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

impl ExitStatus {
    /// Returns the error code for an error that has no code from the exchange.
    const fn error_code(self) -> &'static str {
        match self {
            Self::Success => "done",
            Self::Failure => "failed",
            Self::Usage => "usage",
            Self::Cancelled => "cancelled",
            Self::SignInRequired => "sign-in-needed",
            Self::Refused => "refused",
            Self::RetryLater => "wait",
            Self::Conflict => "conflict",
            Self::PartialSuccess => "partly-applied",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        Self::Client(error)
    }
}

/// I/O errors without a file name come only from the standard streams of this process.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        let what = format!("cannot write the output: {error}");
        Self::new(ExitStatus::Failure, what, "check the destination of the output")
    }
}

fn exit_status_for(error: &Error) -> ExitStatus {
    match error.kind() {
        ErrorKind::SignInNeeded | ErrorKind::Ended(_) | ErrorKind::ScopeMissing | ErrorKind::CodeExpired => {
            ExitStatus::SignInRequired
        }
        ErrorKind::Halted(_) | ErrorKind::NotPermitted => ExitStatus::Refused,
        ErrorKind::Busy | ErrorKind::QuotaExceeded => ExitStatus::RetryLater,
        ErrorKind::Conflict | ErrorKind::ConfirmationNeeded | ErrorKind::CursorExpired => {
            ExitStatus::Conflict
        }
        ErrorKind::Declined | ErrorKind::Cancelled => ExitStatus::Cancelled,
        // Without a status, the client rejected the arguments; with a status, the exchange rejected them.
        ErrorKind::Invalid | ErrorKind::TooLarge if error.status().is_none() => ExitStatus::Usage,
        _ => ExitStatus::Failure,
    }
}

#[cfg(test)]
mod tests {
    use exchange_client::{EndReason, HaltReason};

    use super::*;

    /// Every kind of error has its exit code.
    #[test]
    fn every_failure_has_its_exit_code() {
        let exit = |kind| exit_status_for(&Error::new(kind, "x")) as u8;
        assert_eq!(exit(ErrorKind::SignInNeeded), 4);
        assert_eq!(exit(ErrorKind::Ended(EndReason::GrantRevoked)), 4);
        assert_eq!(exit(ErrorKind::ScopeMissing), 4);
        assert_eq!(exit(ErrorKind::CodeExpired), 4);
        assert_eq!(exit(ErrorKind::Halted(HaltReason::TermsNotAccepted)), 5);
        assert_eq!(exit(ErrorKind::NotPermitted), 5);
        assert_eq!((exit(ErrorKind::Busy), exit(ErrorKind::QuotaExceeded)), (6, 6));
        assert_eq!((exit(ErrorKind::Conflict), exit(ErrorKind::ConfirmationNeeded)), (7, 7));
        assert_eq!((exit(ErrorKind::Declined), exit(ErrorKind::Cancelled)), (3, 3));
        assert_eq!((exit(ErrorKind::Invalid), exit(ErrorKind::TooLarge)), (2, 2));
        for kind in [ErrorKind::Unreachable, ErrorKind::OutcomeUnknown, ErrorKind::Protocol, ErrorKind::Bug] {
            assert_eq!(exit(kind), 1, "{kind:?}");
        }
    }

    /// Message and advice stay separate, whatever characters the message contains.
    #[test]
    fn message_and_advice_are_separate() {
        for (kind, next) in [
            (ErrorKind::Unreachable, Advice::Reconnect.message()),
            (ErrorKind::Secrets, UNLOCK_STORE_ADVICE),
            (ErrorKind::Storage, Advice::CheckDisk.message()),
        ] {
            let report = CommandError::from(Error::new(kind, "one; two; three")).to_report().unwrap();
            assert_eq!((&*report.message, &*report.next), ("one; two; three", next));
        }
    }

    /// IDP-18: the advice is about files if the member uses the file store, and about the secret store
    /// otherwise.
    #[test]
    fn advice_matches_the_secret_store() {
        let report =
            |kind| CommandError::from(Error::new(kind, "x")).with_file_store_advice().to_report().unwrap();
        let secrets = report(ErrorKind::Secrets);
        assert_eq!((&*secrets.next, secrets.exit), (FILE_STORE_ADVICE, ExitStatus::Failure as u8));
        let called =
            CommandError::from(FailedCall::new(Error::new(ErrorKind::Secrets, "x"))).with_file_store_advice();
        assert_eq!(called.to_report().unwrap().next, FILE_STORE_ADVICE);
        assert_eq!(report(ErrorKind::Storage).next, Advice::CheckDisk.message());
    }

    /// The error of an invalid command line is one line and does not include the usage.
    #[test]
    fn usage_error_is_one_line() {
        use clap::Parser as _;
        let report = |words: &[&str]| {
            let error = crate::args::Cli::try_parse_from(words).unwrap_err();
            let report = CommandError::from_clap_error(&error).to_report().unwrap();
            assert_eq!((report.exit, &*report.code, &*report.next), (2, "usage", "see --help"));
            report.message
        };
        let missing = report(&["exchange", "stock", "set"]);
        assert!(
            missing.starts_with("the following required arguments were not provided: --at <PLACE> --to ")
        );
        assert!(missing.ends_with(" <MATERIAL>"), "{missing}");
        assert_eq!(report(&["exchange"]), "no command was given");
        assert_eq!(report(&["exchange", "stock"]), "no command was given");
        let unknown = report(&["exchange", "stocks"]);
        assert!(unknown.starts_with("unrecognized subcommand 'stocks'"), "{unknown}");
    }

    #[test]
    fn waits_are_rounded_up() {
        assert_eq!(whole_seconds(Duration::from_millis(7001)), 8);
        assert_eq!(whole_seconds(Duration::from_secs(7)), 7);
    }
}
