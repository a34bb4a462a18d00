//! Why a command came to nothing, and the exit code that says it.

use std::{borrow::Cow, collections::BTreeMap, fmt, io, time::Duration};

use exchange_client::{Advice, Error, ErrorKind, api::Json};
use serde::Serialize;

use crate::output::{Output, Unfinished};

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
    /// The same of one call, with what is known of that here.
    Call(Box<Call>),
    /// Of this program.
    Own { exit: Exit, what: String, next: Cow<'static, str>, key: Option<String> },
    /// Everything was said already; only the code is left.
    Said(Exit),
}

/// What came of a call that the client sends once for the command, and does not keep.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    error: Error,
    next: Option<Cow<'static, str>>,
    key: Option<String>,
    /// What the member asked to see of the answer.
    shown: Shown,
}

/// What is shown of an answer that is a refusal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) head: Option<Head>,
    /// The body, as far as the contract describes it.
    pub(crate) problem: Option<Json>,
}

/// Status and headers of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// The status with its words.
    pub(crate) line: String,
    /// Those of one name in one line, as HTTP joins them (RFC 9110, 5.3).
    pub(crate) headers: BTreeMap<String, String>,
}

impl Head {
    /// As people read it.
    pub(crate) fn lines(&self) -> String {
        let lines = self.headers.iter().map(|(name, value)| format!("\n{name}: {value}"));
        self.line.clone() + &lines.collect::<String>()
    }
}

impl Shown {
    fn tell(&self, output: &mut Output) {
        if let Some(head) = &self.head {
            output.note(head.lines());
        }
        if let Some(problem) = &self.problem {
            output.note_json(problem);
        }
    }
}

impl Call {
    pub(crate) const fn new(error: Error) -> Self {
        let shown = Shown { head: None, problem: None };
        Self { error, next: None, key: None, shown }
    }

    /// Where it may have been carried out under this key, it is to be repeated under it and no other (GW-12).
    pub(crate) fn under(self, key: Option<&str>) -> Self {
        match key.filter(|_| self.error.may_have_happened()) {
            Some(key) => Self { next: Some(repeat_under(key).into()), key: Some(key.to_owned()), ..self },
            None => self,
        }
    }

    /// Where it may have been carried out, this is to be known before it is repeated.
    pub(crate) fn or_beware(self, next: &'static str) -> Self {
        if self.error.may_have_happened() { Self { next: Some(next.into()), ..self } } else { self }
    }

    /// With this of the answer.
    pub(crate) fn showing(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }
}

impl From<Call> for Failure {
    fn from(call: Call) -> Self {
        Self::Call(Box::new(call))
    }
}

/// What to do about a call that may have been carried out under a key, which is remembered for 24 hours (LIM-22).
pub(crate) fn repeat_under(key: &str) -> String {
    format!(
        "repeat it unchanged within 23 hours with --idempotency-key {key}, under which it is done once; later, look \
         first whether it was done"
    )
}

impl Failure {
    pub(crate) fn new(exit: Exit, what: impl Into<String>, next: impl Into<Cow<'static, str>>) -> Self {
        Self::Own { exit, what: what.into(), next: next.into(), key: None }
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
    pub(crate) fn interrupted(unfinished: Option<Unfinished>) -> Self {
        match unfinished {
            Some(Unfinished { what, next, key }) => {
                Self::Own { exit: Exit::Interrupted, what, next: next.into(), key }
            }
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
            Self::Call(call) if call.error.advice() == Advice::OpenSecretStore => {
                let next = call.next.clone().or(Some(KEEP_FILES.into()));
                Call { next, ..*call }.into()
            }
            failure => failure,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Client(error) => exit_of(error),
            Self::Call(call) => exit_of(&call.error),
            Self::Own { exit, .. } | Self::Said(exit) => *exit,
        }
    }

    /// What is told of it; nothing when everything was said already.
    pub(crate) fn envelope(&self) -> Option<Envelope> {
        Some(match self {
            Self::Said(_) => return None,
            Self::Own { exit, what, next, key } => {
                Envelope { idempotency_key: key.clone(), ..Envelope::new(*exit, what.clone(), next.clone()) }
            }
            Self::Client(error) => Envelope::of(error),
            Self::Call(call) => {
                let Call { error, next, key, shown } = &**call;
                let told = Envelope::of(error);
                let (status, headers) = shown.head.clone().map(|head| (head.status, head.headers)).unzip();
                let problem = shown.problem.clone();
                let next = next.clone().unwrap_or(told.next);
                Envelope { next, idempotency_key: key.clone(), headers, problem, status, ..told }
            }
        })
    }

    /// Tells it on the standard error, for people or as JSON.
    pub(crate) fn tell(&self, output: &mut Output) {
        let Some(told) = self.envelope() else { return };
        if output.is_json() {
            output.complain_json(&Told { error: &told });
            return;
        }
        let Envelope { message, next, retry_after_seconds, .. } = told;
        output.complain(message);
        if let Self::Call(call) = self {
            call.shown.tell(output);
        }
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

/// An error as it stands on the standard error. Written as it is: what a problem holds may be no number of this program's.
#[derive(Serialize)]
struct Told<'a> {
    error: &'a Envelope,
}

impl Envelope {
    fn new(exit: Exit, message: String, next: Cow<'static, str>) -> Self {
        Self {
            code: exit.name().to_owned(),
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

    fn of(error: &Error) -> Self {
        let code = error.code().map(|code| code.as_str().to_owned());
        let oauth = error.oauth_error().map(|error| error.as_str().to_owned());
        let next = match error.advice() {
            Advice::OpenSecretStore => OPEN_STORE,
            advice => advice.text(),
        };
        let told = Self::new(exit_of(error), error.message(), next.into());
        Self {
            code: code.or(oauth).unwrap_or(told.code),
            request_id: error.correlation_id().map(str::to_owned),
            retry_after_seconds: error.retry_after().map(whole_seconds),
            ..told
        }
    }
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
            assert_eq!((&*told.message, &*told.next), ("one; two; three", next));
        }
    }

    /// IDP-18: nobody who chose files is told to unlock a store, and nobody else to look at files.
    #[test]
    fn advice_is_about_the_store_that_there_is() {
        let told = |kind| Failure::from(Error::new(kind, "x")).with_files().envelope().unwrap();
        let secrets = told(ErrorKind::Secrets);
        assert_eq!((&*secrets.next, secrets.exit), (KEEP_FILES, Exit::Failed as u8));
        let called = Failure::from(Call::new(Error::new(ErrorKind::Secrets, "x"))).with_files();
        assert_eq!(called.envelope().unwrap().next, KEEP_FILES);
        assert_eq!(told(ErrorKind::Storage).next, Advice::CheckDisk.text());
    }

    /// What is wrong with a command line is one line for programs, without the help.
    #[test]
    fn misuse_is_one_line() {
        use clap::Parser as _;
        let told = |words: &[&str]| {
            let error = crate::args::Cli::try_parse_from(words).unwrap_err();
            let told = Failure::misuse(&error).envelope().unwrap();
            assert_eq!((told.exit, &*told.code, &*told.next), (2, "usage", "see --help"));
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
