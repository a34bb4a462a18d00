//! Why a command came to nothing, and the exit code that says it.

use std::{fmt, io, time::Duration};

use exchange_client::{Advice, Error, ErrorKind};
use serde::Serialize;

use crate::output::Output;

/// How a command ended; what scripts decide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// It could not be done.
    Failed = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// The member said no.
    Cancelled = 3,
    /// Nobody is signed in, or not for this.
    SignIn = 4,
    /// The exchange refuses this client or this member.
    Refused = 5,
    /// The exchange asks to wait, or a change is kept until it can be sent.
    Wait = 6,
    /// It was changed meanwhile, or has to be confirmed.
    Conflict = 7,
    /// Some of it was done.
    Partly = 8,
    /// Ctrl-C.
    Interrupted = 130,
}

/// The exit codes, as `--help` tells them.
pub(crate) const EXIT_CODES: &str = "Exit codes: 0 done, 1 it could not be done, 2 the command line or the \
    configuration is wrong, 3 cancelled by the member, 4 sign-in needed, 5 refused by policy, 6 the exchange asks to \
    wait, or a change is kept until it can be sent, 7 conflict or confirmation needed, 8 partly applied, 130 \
    interrupted.";

/// What this program has beside the store.
const OPEN_STORE: &str = "unlock the secret store of this computer, or sign in with --insecure-storage to keep the \
    secrets in a file";

/// The same where the member chose files.
const KEEP_FILES: &str = "look at the files of --insecure-storage: they have to be this account's, and nobody else's to \
    read (chmod 600)";

/// Why a command came to nothing.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The client's own error.
    Client(Error),
    /// Of this program.
    Own { exit: Exit, what: String, next: &'static str },
    /// Everything was said already; only the code is left.
    Said(Exit),
}

impl Failure {
    pub(crate) fn new(exit: Exit, what: impl Into<String>, next: &'static str) -> Self {
        Self::Own { exit, what: what.into(), next }
    }

    /// What was typed, or is configured, cannot be used.
    pub(crate) fn usage(what: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, what.to_string(), "see --help")
    }

    /// The same of what clap does not understand: what it says without the pages of help below.
    pub(crate) fn misuse(error: &clap::Error) -> Self {
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
        Self::usage(words.join(" "))
    }

    /// Ctrl-C, with what is to be known of that.
    pub(crate) fn interrupted(unfinished: Option<String>) -> Self {
        match unfinished {
            Some(what) => Self::new(Exit::Interrupted, what, "look with `outbox list`"),
            None => {
                Self::new(Exit::Interrupted, "it was broken off", "begin anew, or go on with something else")
            }
        }
    }

    pub(crate) fn file(what: &str, error: &io::Error) -> Self {
        Self::new(Exit::Failed, format!("{what}: {error}"), "check the file")
    }

    /// The same where the secrets are in files: there is no store to be unlocked then.
    pub(crate) fn with_files(self) -> Self {
        match self {
            Self::Client(error) if error.advice() == Advice::OpenSecretStore => {
                Self::new(exit_of(&error), error.message(), KEEP_FILES)
            }
            failure => failure,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Client(error) => exit_of(error),
            Self::Own { exit, .. } | Self::Said(exit) => *exit,
        }
    }

    /// What is told of it; nothing when everything was said already.
    pub(crate) fn envelope(&self) -> Option<Envelope> {
        let (message, next, code, request, wait) = match self {
            Self::Said(_) => return None,
            Self::Own { what, next, .. } => (what.clone(), *next, None, None, None),
            Self::Client(error) => {
                let code = error.code().map(|code| code.as_str().to_owned());
                let oauth = error.oauth_error().map(|error| error.as_str().to_owned());
                let request = error.correlation_id().map(str::to_owned);
                let next = match error.advice() {
                    Advice::OpenSecretStore => OPEN_STORE,
                    advice => advice.text(),
                };
                (error.message(), next, code.or(oauth), request, error.retry_after())
            }
        };
        Some(Envelope {
            code: code.unwrap_or_else(|| self.exit().name().to_owned()),
            message,
            next,
            request_id: request,
            retry_after_seconds: wait.map(whole_seconds),
            exit: self.exit() as u8,
        })
    }

    /// Tells it on the standard error, for people or as JSON.
    pub(crate) fn tell(&self, output: &mut Output) {
        let Some(told) = self.envelope() else { return };
        if output.is_json() {
            output.complain_json(&serde_json::json!({ "error": told }));
            return;
        }
        let Envelope { message, next, retry_after_seconds, .. } = told;
        output.complain(message);
        match retry_after_seconds {
            Some(seconds) => output.note(format!("  -> {next} (at least {seconds} s)")),
            None => output.note(format!("  -> {next}")),
        }
    }
}

/// An error for programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) next: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_seconds: Option<u64>,
    pub(crate) exit: u8,
}

/// Never less than was asked for (CLI-02).
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

impl Exit {
    /// The code of an error that has no other.
    const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Cancelled => "cancelled",
            Self::SignIn => "sign-in-needed",
            Self::Refused => "refused",
            Self::Wait => "wait",
            Self::Conflict => "conflict",
            Self::Partly => "partly-applied",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Client(error)
    }
}

/// The streams of this process are the only ones that are written without a name.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let what = format!("the output cannot be written: {error}");
        Self::new(Exit::Failed, what, "check where it goes")
    }
}

fn exit_of(error: &Error) -> Exit {
    match error.kind() {
        ErrorKind::SignInNeeded | ErrorKind::Ended(_) | ErrorKind::ScopeMissing | ErrorKind::CodeExpired => {
            Exit::SignIn
        }
        ErrorKind::Halted(_) | ErrorKind::NotPermitted => Exit::Refused,
        ErrorKind::Busy | ErrorKind::QuotaExceeded => Exit::Wait,
        ErrorKind::Conflict | ErrorKind::ConfirmationNeeded | ErrorKind::CursorExpired => Exit::Conflict,
        ErrorKind::Declined | ErrorKind::Cancelled => Exit::Cancelled,
        // What this side found was typed so; what the exchange found was not.
        ErrorKind::Invalid | ErrorKind::TooLarge if error.status().is_none() => Exit::Usage,
        _ => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use exchange_client::{End, Halt};

    use super::*;

    /// Every kind of failure has its exit code.
    #[test]
    fn every_failure_has_its_exit_code() {
        let exit = |kind| exit_of(&Error::new(kind, "x")) as u8;
        assert_eq!(exit(ErrorKind::SignInNeeded), 4);
        assert_eq!(exit(ErrorKind::Ended(End::Grant)), 4);
        assert_eq!(exit(ErrorKind::ScopeMissing), 4);
        assert_eq!(exit(ErrorKind::CodeExpired), 4);
        assert_eq!(exit(ErrorKind::Halted(Halt::Terms)), 5);
        assert_eq!(exit(ErrorKind::NotPermitted), 5);
        assert_eq!((exit(ErrorKind::Busy), exit(ErrorKind::QuotaExceeded)), (6, 6));
        assert_eq!((exit(ErrorKind::Conflict), exit(ErrorKind::ConfirmationNeeded)), (7, 7));
        assert_eq!((exit(ErrorKind::Declined), exit(ErrorKind::Cancelled)), (3, 3));
        assert_eq!((exit(ErrorKind::Invalid), exit(ErrorKind::TooLarge)), (2, 2));
        for kind in [ErrorKind::Unreachable, ErrorKind::OutcomeUnknown, ErrorKind::Protocol, ErrorKind::Bug] {
            assert_eq!(exit(kind), 1, "{kind:?}");
        }
    }

    /// What happened and what to do are told apart, whatever stands in either.
    #[test]
    fn what_to_do_is_told_apart() {
        for (kind, next) in [
            (ErrorKind::Unreachable, Advice::Reconnect.text()),
            (ErrorKind::Secrets, OPEN_STORE),
            (ErrorKind::Storage, Advice::CheckDisk.text()),
        ] {
            let told = Failure::from(Error::new(kind, "one; two; three")).envelope().unwrap();
            assert_eq!((&*told.message, told.next), ("one; two; three", next));
        }
    }

    /// IDP-18: nobody who chose files is told to unlock a store, and nobody else to look at files.
    #[test]
    fn advice_is_about_the_store_that_there_is() {
        let told = |kind| Failure::from(Error::new(kind, "x")).with_files().envelope().unwrap();
        let secrets = told(ErrorKind::Secrets);
        assert_eq!((secrets.next, secrets.exit), (KEEP_FILES, Exit::Failed as u8));
        assert_eq!(told(ErrorKind::Storage).next, Advice::CheckDisk.text());
    }

    /// What is wrong with a command line is one line for programs, without the help.
    #[test]
    fn misuse_is_one_line() {
        use clap::Parser as _;
        let told = |words: &[&str]| {
            let error = crate::args::Cli::try_parse_from(words).unwrap_err();
            let told = Failure::misuse(&error).envelope().unwrap();
            assert_eq!((told.exit, &*told.code, told.next), (2, "usage", "see --help"));
            told.message
        };
        let missing = told(&["exchange", "stock", "set"]);
        assert!(
            missing.starts_with("the following required arguments were not provided: --at <PLACE> --to ")
        );
        assert!(missing.ends_with(" <MATERIAL>"), "{missing}");
        assert_eq!(told(&["exchange"]), "no command was given");
        assert_eq!(told(&["exchange", "stock"]), "no command was given");
        let unknown = told(&["exchange", "stocks"]);
        assert!(unknown.starts_with("unrecognized subcommand 'stocks'"), "{unknown}");
    }

    #[test]
    fn a_wait_is_never_told_too_short() {
        assert_eq!(whole_seconds(Duration::from_millis(7001)), 8);
        assert_eq!(whole_seconds(Duration::from_secs(7)), 7);
    }
}
