//! The one error of this crate: what happened, what the exchange called it, and what to do next.

use std::{borrow::Cow, error::Error as StdError, fmt, sync::Arc, time::Duration};

use exchange_api::{
    Error as CallError, RefusedCall,
    codes::{Action, Code},
    oauth_errors::{LoginAction, OauthError},
    runtime::{
        client::{Reason, RetryAfter},
        operation::Repeat,
        transport::{Delivery, TransportError, TransportFault},
        violation::Violations,
    },
    types::Problem,
};
use http::StatusCode;

use crate::state::{Advice, End, Halt};

#[cfg(test)]
mod tests;

/// Why something did not happen. Cheap to clone; prints one line, and nothing that a body, an address or a
/// store holds.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    what: Cow<'static, str>,
    code: Option<Code>,
    oauth: Option<OauthError>,
    status: Option<StatusCode>,
    correlation_id: Option<Box<str>>,
    retry_after: Option<Duration>,
    problem: Option<Box<Problem>>,
    violations: Option<Violations>,
    may_have_happened: bool,
    /// What sending the call again does, where the transport said which call it was.
    repeat: Option<Repeat>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// Which call an answer, or none, is of: what the transport knows of that, and they do not say.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    /// What sending it again does.
    pub(crate) repeat: Repeat,
    /// By which those who run the exchange find it (GW-13).
    pub(crate) correlation_id: Box<str>,
}

/// Why there is no answer to a call that was sent.
#[derive(Debug)]
struct Unanswered {
    called: Called,
    error: TransportError,
}

/// What kind of failure it is: what a program decides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Nobody is signed in here, or the exchange does not take the tokens.
    SignInNeeded,
    /// The connection is over (IDP-25): a new device login, when the member asks.
    Ended(End),
    /// The client stops altogether until the member did something (CLI-04).
    Halted(Halt),
    /// The connection has not this capability: a device login with more scopes, if the member wants it.
    ScopeMissing,
    /// The member may not do this; everything else goes on.
    NotPermitted,
    /// It breaks the contract, and was not carried out: never to be sent again unchanged.
    Invalid,
    /// More than is taken at once.
    TooLarge,
    /// Somebody changed it meanwhile: pull, merge, send under a new key.
    Conflict,
    /// Held until the member confirms it ([`Error::problem`] has the link, a secret).
    ConfirmationNeeded,
    /// The feed goes no further from there: read a snapshot.
    CursorExpired,
    /// The exchange asks to wait; nothing was carried out.
    Busy,
    /// The day's writes are used up ([`Error::retry_after`] says until when); reads go on.
    QuotaExceeded,
    /// There is no way to the server; nothing was sent.
    Unreachable,
    /// Nobody can tell whether it was carried out; for a read: there is no answer.
    OutcomeUnknown,
    /// The proof was refused, and another would be.
    Proof,
    /// The clock of this machine has to be set (DPP-10).
    Clock,
    /// An answer that is none of the exchange's: a proxy, another server, a redirection.
    Protocol,
    /// The secret store cannot be used.
    Secrets,
    /// The local files cannot be used.
    Storage,
    /// The member declined the device login (ERR-45).
    Declined,
    /// The code of the device login is used up (ERR-46).
    CodeExpired,
    /// It was given up on this side.
    Cancelled,
    /// This program did what it must not.
    Bug,
}

impl ErrorKind {
    /// What the member is told, where that is not for the refusal itself to say (CLI-04).
    #[must_use]
    pub const fn text(self) -> Option<&'static str> {
        match self {
            Self::Halted(halt) => Some(halt.text()),
            Self::Ended(end) => Some(end.text()),
            Self::ConfirmationNeeded => {
                Some("so much would be removed that the exchange waits for you to confirm it")
            }
            Self::Clock => Some("the clock of this computer is wrong"),
            Self::QuotaExceeded => Some("the changes of this day are used up; reading goes on"),
            Self::Declined => Some("the sign-in was declined"),
            Self::CodeExpired => Some("the code of the sign-in is too old"),
            _ => None,
        }
    }
}

impl Error {
    /// An error of this side. `what` is one line without anything secret.
    #[must_use]
    pub fn new(kind: ErrorKind, what: impl Into<Cow<'static, str>>) -> Self {
        Self::of(Inner::new(kind, what))
    }

    /// With what lies behind it, whose text must hold nothing secret: it is printed.
    #[must_use]
    pub fn caused(
        kind: ErrorKind,
        what: impl Into<Cow<'static, str>>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        let source: Box<dyn StdError + Send + Sync> = source.into();
        Self::of(Inner { source: Some(source.into()), ..Inner::new(kind, what) })
    }

    /// What the identity provider answered.
    #[must_use]
    pub fn of_oauth(error: OauthError, status: StatusCode, retry_after: Option<Duration>) -> Self {
        let kind = match (error.action(), &error) {
            (_, OauthError::ExpiredToken) => ErrorKind::CodeExpired,
            (Some(LoginAction::EndConnection), _) => ErrorKind::Ended(End::Grant),
            (Some(LoginAction::StopLogin), _) => ErrorKind::Declined,
            (Some(LoginAction::StopClient), _) => ErrorKind::Halted(Halt::NotRegistered),
            (Some(LoginAction::PollAgain | LoginAction::PollSlower), _) => ErrorKind::Busy,
            (Some(LoginAction::RetryWithNonce), _) => ErrorKind::Proof,
            (Some(LoginAction::FixAndRetryOnce), OauthError::InvalidDpopProof) => ErrorKind::Proof,
            (Some(LoginAction::Bug | LoginAction::FixAndRetryOnce | LoginAction::RestartLogin), _) => {
                ErrorKind::Bug
            }
            (None, _) => by_status(status),
        };
        // Whatever else stands there is not for a log.
        let plain = |text: &str| {
            text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        let name = Some(error.as_str()).filter(|text| plain(text)).unwrap_or("an error without a name");
        let what = match kind.text() {
            Some(text) => format!("{text} ({name})"),
            None => format!("the identity provider refused: {name}"),
        };
        Self::of(Inner { oauth: Some(error), status: Some(status), retry_after, ..Inner::new(kind, what) })
    }

    /// An answer that is nobody's refusal in a known form, by its status.
    pub(crate) fn of_answer(
        kind: ErrorKind,
        what: impl Into<Cow<'static, str>>,
        status: StatusCode,
        retry_after: Option<Duration>,
    ) -> Self {
        Self::of(Inner { status: Some(status), retry_after, ..Inner::new(kind, what) })
    }

    /// A refusal of the exchange, told of by its head.
    pub(crate) fn refused(
        kind: ErrorKind,
        code: Option<Code>,
        status: StatusCode,
        correlation_id: &str,
    ) -> Self {
        let what: Cow<'static, str> = match (kind.text(), &code, code.as_ref().and_then(Code::title)) {
            (Some(text), ..) => text.into(),
            (None, Some(code), Some(title)) => {
                format!("the server refused: {code} ({}): {title}", status.as_u16()).into()
            }
            (None, ..) => format!("the server refused: {status}").into(),
        };
        let id = Some(correlation_id).filter(|id| !id.is_empty()).map(Into::into);
        Self::of(Inner { code, status: Some(status), correlation_id: id, ..Inner::new(kind, what) })
    }

    /// A call that was not sent: it is too early for it, by so much.
    pub(crate) fn held(kind: ErrorKind, what: &'static str, code: Option<Code>, wait: Duration) -> Self {
        Self::of(Inner { code, retry_after: Some(wait), ..Inner::new(kind, what) })
    }

    /// The same in other words.
    pub(crate) fn saying(self, what: &'static str) -> Self {
        self.with(|inner| inner.what = what.into())
    }

    /// The same with what the server asked for.
    pub(crate) fn waiting(self, asked: Option<Duration>) -> Self {
        self.with(|inner| inner.retry_after = asked)
    }

    /// The same of this call.
    pub(crate) fn called(self, called: Called) -> Self {
        self.with(|inner| {
            inner.repeat = Some(called.repeat);
            inner.correlation_id.get_or_insert(called.correlation_id);
        })
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// A refusal of this side on its way through the generated client, out of which it comes as it went in;
    /// `maybe_sent`: whether the exchange may have had the request.
    pub(crate) fn into_transport(self, maybe_sent: bool) -> TransportError {
        let delivery = if maybe_sent { Delivery::Unknown } else { Delivery::NotSent };
        TransportError::new(TransportFault::Declined, delivery).with_source(self)
    }

    fn of(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// What a program decides by.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What the exchange called it, also when nobody here knows the code.
    #[must_use]
    pub fn code(&self) -> Option<&Code> {
        self.0.code.as_ref()
    }

    /// What the identity provider called it.
    #[must_use]
    pub fn oauth_error(&self) -> Option<&OauthError> {
        self.0.oauth.as_ref()
    }

    /// The status, when there was an answer.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.0.status
    }

    /// By which those who run the exchange find the call (GW-13).
    #[must_use]
    pub fn correlation_id(&self) -> Option<&str> {
        self.0.correlation_id.as_deref()
    }

    /// How long the server asked to wait, counted from the answer; never shorter is right (CLI-02).
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Whether the exchange may have carried out what the call asked for, all the same. A write of which that is so is
    /// sent again under its own key and with its own bytes, or looked for in the feed, and never sent anew (GW-12).
    ///
    /// It stands beside the kind: a proof may be refused because a copy of the same message came first, and was carried
    /// out, while the same refusal of the identity provider comes before anything is sent to the exchange. So it is of
    /// every [`ErrorKind::OutcomeUnknown`], and of what answers in the exchange's place.
    #[must_use]
    pub fn may_have_happened(&self) -> bool {
        self.0.may_have_happened
    }

    /// The refusal itself. Its `confirmationUrl` is a secret: open it for the member, never log or keep it
    /// (WRT-11).
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.0.problem.as_deref()
    }

    /// Where a request breaks the contract, when this side found it.
    #[must_use]
    pub fn violations(&self) -> Option<&Violations> {
        self.0.violations.as_ref()
    }

    /// What happened, where, the code where the text has it not already, and the id of the call: what is printed, without
    /// the advice at its end. For programs that show what to do in a place of its own.
    #[must_use]
    pub fn message(&self) -> String {
        let Inner { what, code, correlation_id, .. } = &*self.0;
        let mut message = what.clone().into_owned();
        if let Some(pointer) = self.first_pointer() {
            message += &format!(", first at {pointer}");
        }
        if let Some(code) = code.as_ref().filter(|code| !what.contains(code.as_str())) {
            message += &format!(" ({code})");
        }
        if let Some(id) = correlation_id.as_deref().filter(|id| !what.contains(*id)) {
            message += &format!(" [correlation id {id}]");
        }
        message
    }

    /// What to do next.
    #[must_use]
    pub fn advice(&self) -> Advice {
        match self.kind() {
            ErrorKind::SignInNeeded | ErrorKind::Ended(_) => Advice::SignIn,
            ErrorKind::Halted(halt) => halt.advice(),
            ErrorKind::ScopeMissing => Advice::SignInForMore,
            ErrorKind::NotPermitted => Advice::Nothing,
            ErrorKind::Invalid => Advice::Correct,
            ErrorKind::TooLarge => Advice::SendLess,
            ErrorKind::Conflict | ErrorKind::CursorExpired => Advice::Synchronise,
            ErrorKind::ConfirmationNeeded => Advice::Confirm,
            ErrorKind::Busy | ErrorKind::QuotaExceeded => Advice::Wait,
            // What answers in the exchange's place is most often a network that asks for a login of its own.
            ErrorKind::Unreachable | ErrorKind::Protocol => Advice::Reconnect,
            ErrorKind::OutcomeUnknown if self.has_no_key() => Advice::TryAgain,
            ErrorKind::OutcomeUnknown => Advice::LeaveItRunning,
            ErrorKind::Clock => Advice::SetClock,
            ErrorKind::Secrets => Advice::OpenSecretStore,
            ErrorKind::Storage => Advice::CheckDisk,
            ErrorKind::Declined | ErrorKind::CodeExpired | ErrorKind::Cancelled => Advice::StartAgain,
            // It stays the same write under its key, which tells what became of it.
            ErrorKind::Proof | ErrorKind::Bug if self.may_have_happened() => Advice::LeaveItRunning,
            ErrorKind::Proof | ErrorKind::Bug => Advice::Report,
        }
    }

    /// Whether the call is known to be a read, or another one that no key is sent with.
    fn has_no_key(&self) -> bool {
        self.0.repeat.is_some_and(|repeat| repeat != Repeat::Keyed)
    }
}

impl Inner {
    fn new(kind: ErrorKind, what: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            what: what.into(),
            code: None,
            oauth: None,
            status: None,
            correlation_id: None,
            retry_after: None,
            problem: None,
            violations: None,
            may_have_happened: kind == ErrorKind::OutcomeUnknown,
            repeat: None,
            source: None,
        }
    }
}

/// Whether what was answered so may be carried out: nobody said what became of it, or the first request under its key
/// is still being carried out.
fn may_be_done(kind: ErrorKind, code: Option<&Code>) -> bool {
    matches!(kind, ErrorKind::OutcomeUnknown | ErrorKind::Protocol)
        || code == Some(&Code::IdempotencyInProgress)
}

/// What a code asks of a client (the registry's `action`); a code that nobody here knows goes by its status
/// (CON-12).
#[must_use]
pub fn kind_of(code: Option<&Code>, status: StatusCode) -> ErrorKind {
    let Some((code, action)) = code.and_then(|code| Some((code, code.action()?))) else {
        return by_status(status);
    };
    match action {
        Action::RefreshOnce => ErrorKind::SignInNeeded,
        Action::Bug => ErrorKind::Bug,
        Action::RetryWithNonceOrStop => ErrorKind::Proof,
        Action::WaitAndResend => ErrorKind::Busy,
        Action::NewLoginWithScope => ErrorKind::ScopeMissing,
        Action::EndConnection => ErrorKind::Ended(End::Client),
        Action::EndConnectionAndKey => ErrorKind::Ended(End::Installation),
        Action::StopClient => ErrorKind::Halted(Halt::of(code)),
        Action::StopArea => match code {
            Code::SchemaInvalid => ErrorKind::Invalid,
            Code::PayloadTooLarge | Code::BatchTooLarge => ErrorKind::TooLarge,
            Code::QuotaExceeded => ErrorKind::QuotaExceeded,
            _ => ErrorKind::NotPermitted,
        },
        Action::PullAndMerge => ErrorKind::Conflict,
        Action::Confirm => ErrorKind::ConfirmationNeeded,
        Action::ReadSnapshot => ErrorKind::CursorExpired,
        Action::OutcomeUnknown => ErrorKind::OutcomeUnknown,
    }
}

fn by_status(status: StatusCode) -> ErrorKind {
    match status.as_u16() {
        401 => ErrorKind::SignInNeeded,
        403 => ErrorKind::NotPermitted,
        408 | 425 | 429 | 503 => ErrorKind::Busy,
        409 => ErrorKind::Conflict,
        410 => ErrorKind::CursorExpired,
        413 => ErrorKind::TooLarge,
        400..500 => ErrorKind::Invalid,
        500..600 => ErrorKind::OutcomeUnknown,
        _ => ErrorKind::Protocol,
    }
}

/// Once, where a call of the generated client comes back: everything else of this crate knows [`Error`] alone.
impl From<CallError<Problem>> for Error {
    fn from(error: CallError<Problem>) -> Self {
        let (code, correlation_id) = (error.code(), error.correlation_id().map(String::into_boxed_str));
        let (status, what) = (error.status(), error.describe());
        let retry_after = error.retry_after().and_then(|after| match after {
            RetryAfter::Delay(delay) => Some(delay),
            // The transport, which knows the server's clock, has made seconds of a date.
            RetryAfter::At(_) => None,
        });
        let about = |kind: ErrorKind| {
            let what = kind.text().map_or_else(|| Cow::Owned(what.clone()), Cow::Borrowed);
            let may_have_happened = may_be_done(kind, code.as_ref());
            let (code, correlation_id) = (code.clone(), correlation_id.clone());
            Inner { code, status, correlation_id, retry_after, may_have_happened, ..Inner::new(kind, what) }
        };
        match error {
            CallError::Transport(error) => Self::of_transport(error),
            CallError::Answer(answer) => {
                let kind = kind_of(code.as_ref(), answer.status);
                let repeat = answer.extensions.get::<Called>().map(|called| called.repeat);
                Self::of(Inner { problem: Some(Box::new(answer.into_body())), repeat, ..about(kind) })
            }
            CallError::Unreadable(answer) => {
                let kind = match (&code, answer.status) {
                    (None, status) if status.is_client_error() => match by_status(status) {
                        kind @ (ErrorKind::Busy | ErrorKind::TooLarge) => kind,
                        // A proxy's page: nothing that it says is the exchange's word.
                        _ => ErrorKind::Protocol,
                    },
                    (None, status) if status.is_success() => match answer.reason {
                        Reason::Syntax { .. } | Reason::Missing | Reason::Encoding => {
                            ErrorKind::OutcomeUnknown
                        }
                        _ => ErrorKind::Protocol,
                    },
                    _ => kind_of(code.as_ref(), answer.status),
                };
                // Whatever it was, the call is one that those who run the exchange can find, and is sent again or not.
                let called = answer.extensions.get::<Called>().cloned();
                let error = Self::of(about(kind));
                match called {
                    Some(called) => error.called(called),
                    None => error,
                }
            }
            CallError::InvalidRequest(violations) => {
                Self::of(Inner { violations: Some(violations), ..about(ErrorKind::Invalid) })
            }
            _ => Self::of(about(ErrorKind::Protocol)),
        }
    }
}

impl Error {
    /// What became of a request that got no answer. A refusal of this side, which found its way through the
    /// generated client, comes out as it went in, with what the transport says of this request.
    #[must_use]
    pub fn of_transport(error: TransportError) -> Self {
        let may_have_happened = error.delivery() == Delivery::Unknown;
        if let Some(own) = error.cause::<Self>() {
            return own.clone().with(|inner| inner.may_have_happened = may_have_happened);
        }
        let called = error.cause::<Unanswered>().map(|unanswered| unanswered.called.clone());
        let kind = match (error.fault(), error.delivery()) {
            (TransportFault::Request, _) => ErrorKind::Bug,
            (TransportFault::TooLarge, _) => ErrorKind::Protocol,
            (TransportFault::Declined, _) => ErrorKind::Cancelled,
            (_, Delivery::NotSent) => ErrorKind::Unreachable,
            (_, Delivery::Unknown) => ErrorKind::OutcomeUnknown,
        };
        let what = error.to_string();
        let error = Self::caused(kind, what, error).with(|inner| inner.may_have_happened = may_have_happened);
        match called {
            Some(called) => error.called(called),
            None => error,
        }
    }
}

/// The same absence of an answer, of this call.
pub(crate) fn unanswered(error: TransportError, called: Called) -> TransportError {
    let (fault, delivery) = (error.fault(), error.delivery());
    TransportError::new(fault, delivery).with_source(Unanswered { called, error })
}

/// What stands behind the words for the fault: the id of the call, after the reason where there is one.
impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = self.error.source() {
            write!(f, "{why}, ")?;
        }
        write!(f, "correlation id {}", self.called.correlation_id)
    }
}

impl StdError for Unanswered {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.error)
    }
}

/// One line: the [message](Error::message), and what to do.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())?;
        match (self.advice(), self.retry_after()) {
            (Advice::Wait, Some(wait)) => write!(f, "; wait {}, then try again", Span(wait)),
            (advice, _) => write!(f, "; {}", advice.text()),
        }
    }
}

impl Error {
    /// The first place that a refusal names, as far as it is made of nothing but names and numbers.
    fn first_pointer(&self) -> Option<&str> {
        let pointer = self.problem()?.errors.as_ref()?.first()?.pointer.as_str();
        Some(pointer).filter(|pointer| is_plain(pointer))
    }
}

/// Whether a pointer is made of nothing but names and numbers: nothing that could be a value is printed.
pub(crate) fn is_plain(pointer: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte);
    (1..=100).contains(&pointer.len()) && pointer.bytes().all(plain)
}

/// A time as people say it, rounded up.
struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs() + u64::from(self.0.subsec_nanos() > 0);
        match seconds {
            0..120 => write!(f, "{seconds} s"),
            120..7200 => write!(f, "{} min", seconds.div_ceil(60)),
            _ => write!(f, "{} h", seconds.div_ceil(3600)),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}: {self})", self.kind())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
