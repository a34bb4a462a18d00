//! The error type of this crate: [`Error`], its [`ErrorKind`], and the advice for the member.

use std::{borrow::Cow, error::Error as StdError, fmt, sync::Arc, time::Duration};

use exchange_api::{
    Error as CallError, ProblemErrorExt,
    codes::{Action, Code},
    oauth_errors::{LoginAction, OauthError},
    runtime::{
        client::{RetryAfter, UnexpectedReason},
        operation::RepeatSafety,
        transport::{Delivery, TransportError, TransportFault},
        violation::Violations,
    },
    types::Problem,
};
use http::StatusCode;

use crate::state::{Advice, EndReason, HaltReason};

#[cfg(test)]
mod tests;

/// The error of a failed operation. Cloning is cheap.
///
/// `Display` prints one line: the message, the code, the correlation id, and the advice. It never contains a
/// request body, an address, or a stored value.
#[derive(Clone)]
pub struct Error(Arc<ErrorInner>);

#[derive(Clone)]
struct ErrorInner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    code: Option<Code>,
    oauth: Option<OauthError>,
    status: Option<StatusCode>,
    correlation_id: Option<Box<str>>,
    retry_after: Option<Duration>,
    problem: Option<Box<Problem>>,
    violations: Option<Violations>,
    may_have_been_applied: bool,
    /// The repeat safety of the call's operation, if the transport recorded it.
    repeat: Option<RepeatSafety>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The call to which a response or a transport error belongs.
#[derive(Clone, Debug)]
pub(crate) struct CallIdentity {
    /// The effect of sending the call a second time.
    pub(crate) repeat: RepeatSafety,
    /// The id by which the operators of the exchange find the call (GW-13).
    pub(crate) correlation_id: Box<str>,
}

/// A transport error with the identity of its call.
#[derive(Debug)]
struct UnansweredCall {
    call: CallIdentity,
    error: TransportError,
}

/// The category of a failure, by which a program decides its reaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No member is signed in, or the exchange rejects the tokens.
    SignInNeeded,
    /// The connection has ended (IDP-25). A new device login is needed, at the member's request.
    Ended(EndReason),
    /// The client sends nothing until the member has acted (CLI-04).
    Halted(HaltReason),
    /// The connection lacks a capability. A device login with more scopes grants it.
    ScopeMissing,
    /// The member is not permitted to perform this operation. Other operations are unaffected.
    NotPermitted,
    /// The request violates the contract and was not applied. Never send it again unchanged.
    Invalid,
    /// The request exceeds a size limit.
    TooLarge,
    /// The resource changed in the meantime: pull, merge, and send under a new key.
    Conflict,
    /// The exchange holds the change until the member confirms it. [`Error::problem`] has the link, which is
    /// a secret.
    ConfirmationNeeded,
    /// The feed cannot continue from this cursor: read a new snapshot.
    CursorExpired,
    /// The server requests that the client waits (`Retry-After`). The request was not applied, unless
    /// [`Error::may_have_been_applied`] returns true.
    Busy,
    /// The quota of writes is exhausted; it is renewed after [`Error::retry_after`]. Reads continue to work.
    QuotaExceeded,
    /// The server cannot be reached. The request was not sent.
    Unreachable,
    /// A write may or may not have been applied; a read has no response.
    OutcomeUnknown,
    /// The server rejected the DPoP proof and would reject a new proof as well.
    Proof,
    /// The clock of this machine is wrong: the member has to set it (DPP-10).
    Clock,
    /// The response is not a valid response of the exchange: a proxy or another server sent it, it is a
    /// redirect, or it is malformed.
    Protocol,
    /// The exchange processed the call, but its response lacks a required member or contains an invalid one.
    /// The client keeps its state: a feed stays at its position, and a write has to be compared with the
    /// feed.
    Unreadable,
    /// The secret store cannot be used.
    Secrets,
    /// A local file or folder cannot be used.
    Storage,
    /// The member declined the device login (ERR-45).
    Declined,
    /// The code of the device login has expired (ERR-46).
    CodeExpired,
    /// The client canceled the operation.
    Cancelled,
    /// A defect of this program, or a violated precondition.
    Bug,
}

impl ErrorKind {
    /// Returns the message for the member, for kinds whose message does not depend on the response (CLI-04).
    #[must_use]
    pub const fn message(self) -> Option<&'static str> {
        match self {
            Self::Halted(halt) => Some(halt.message()),
            Self::Ended(end) => Some(end.message()),
            Self::ConfirmationNeeded => Some("the change removes so much that you have to confirm it"),
            Self::Clock => Some("the clock of this computer is wrong"),
            Self::QuotaExceeded => Some("the daily quota of changes is used up; reading still works"),
            Self::Declined => Some("the sign-in was declined"),
            Self::CodeExpired => Some("the code of the sign-in has expired"),
            _ => None,
        }
    }
}

impl Error {
    /// Creates an error that was detected by the client. `what` is one line without secrets.
    #[must_use]
    pub fn new(kind: ErrorKind, what: impl Into<Cow<'static, str>>) -> Self {
        Self::from_inner(ErrorInner::new(kind, what))
    }

    /// Creates an error with a source. The message of the source is printed, so it must not contain secrets.
    #[must_use]
    pub fn with_source(
        kind: ErrorKind,
        what: impl Into<Cow<'static, str>>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        let source: Box<dyn StdError + Send + Sync> = source.into();
        Self::from_inner(ErrorInner { source: Some(source.into()), ..ErrorInner::new(kind, what) })
    }

    /// Creates an error from an OAuth error response of the identity provider.
    #[must_use]
    pub fn from_oauth_error(error: OauthError, status: StatusCode, retry_after: Option<Duration>) -> Self {
        let kind = match (error.action(), &error) {
            (_, OauthError::ExpiredToken) => ErrorKind::CodeExpired,
            (Some(LoginAction::EndConnection), _) => ErrorKind::Ended(EndReason::GrantRevoked),
            (Some(LoginAction::StopLogin), _) => ErrorKind::Declined,
            (Some(LoginAction::StopClient), _) => ErrorKind::Halted(HaltReason::NotRegistered),
            (Some(LoginAction::PollAgain | LoginAction::PollSlower), _) => ErrorKind::Busy,
            (Some(LoginAction::RetryWithNonce), _) => ErrorKind::Proof,
            (Some(LoginAction::FixAndRetryOnce), OauthError::InvalidDpopProof) => ErrorKind::Proof,
            (Some(LoginAction::Bug | LoginAction::FixAndRetryOnce | LoginAction::RestartLogin), _) => {
                ErrorKind::Bug
            }
            (None, _) => error_kind_for_status(status),
        };
        // Any other string could contain data that must not be logged.
        let plain = |text: &str| {
            text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        let name = Some(error.as_str()).filter(|text| plain(text)).unwrap_or("an unnamed error");
        let what = match kind.message() {
            Some(text) => format!("{text} ({name})"),
            None => format!("the identity provider rejected the request: {name}"),
        };
        Self::from_inner(ErrorInner {
            oauth: Some(error),
            status: Some(status),
            retry_after,
            ..ErrorInner::new(kind, what)
        })
    }

    /// Creates an error from a response that is not an error document of the exchange or the identity
    /// provider.
    pub(crate) fn from_status(
        kind: ErrorKind,
        what: impl Into<Cow<'static, str>>,
        status: StatusCode,
        retry_after: Option<Duration>,
    ) -> Self {
        Self::from_inner(ErrorInner { status: Some(status), retry_after, ..ErrorInner::new(kind, what) })
    }

    /// Creates an error from the code in an error response of the exchange.
    pub(crate) fn from_error_code(
        kind: ErrorKind,
        code: Option<Code>,
        status: StatusCode,
        correlation_id: &str,
    ) -> Self {
        let what: Cow<'static, str> = match (kind.message(), &code, code.as_ref().and_then(Code::title)) {
            (Some(text), ..) => text.into(),
            (None, Some(code), Some(title)) => {
                format!("the server rejected the request: {code} ({}): {title}", status.as_u16()).into()
            }
            (None, ..) => format!("the server rejected the request: {status}").into(),
        };
        let id = Some(correlation_id).filter(|id| !id.is_empty()).map(Into::into);
        Self::from_inner(ErrorInner {
            code,
            status: Some(status),
            correlation_id: id,
            ..ErrorInner::new(kind, what)
        })
    }

    /// Creates an error for a call that was not sent, because the client has to wait this long first.
    pub(crate) fn not_sent_yet(
        kind: ErrorKind,
        what: &'static str,
        code: Option<Code>,
        wait: Duration,
    ) -> Self {
        Self::from_inner(ErrorInner { code, retry_after: Some(wait), ..ErrorInner::new(kind, what) })
    }

    /// Replaces the message.
    pub(crate) fn with_message(self, what: &'static str) -> Self {
        self.update(|inner| inner.message = what.into())
    }

    /// Replaces the minimum wait that [`Error::retry_after`] returns.
    pub(crate) fn with_retry_after(self, retry_after: Option<Duration>) -> Self {
        self.update(|inner| inner.retry_after = retry_after)
    }

    /// Adds the identity of the call.
    pub(crate) fn with_call(self, called: CallIdentity) -> Self {
        self.update(|inner| {
            inner.repeat = Some(called.repeat);
            inner.correlation_id.get_or_insert(called.correlation_id);
        })
    }

    fn update(mut self, change: impl FnOnce(&mut ErrorInner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Wraps the error in a transport error, so that it passes through the generated client unchanged.
    /// `maybe_sent` is true if the exchange may have received the request.
    pub(crate) fn into_transport(self, maybe_sent: bool) -> TransportError {
        let delivery = if maybe_sent { Delivery::Unknown } else { Delivery::NotSent };
        TransportError::new(TransportFault::Declined, delivery).with_source(self)
    }

    fn from_inner(inner: ErrorInner) -> Self {
        Self(Arc::new(inner))
    }

    /// Returns the category of the failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the code from the exchange, including codes that are unknown to this version.
    #[must_use]
    pub fn code(&self) -> Option<&Code> {
        self.0.code.as_ref()
    }

    /// Returns the OAuth error from the identity provider.
    #[must_use]
    pub fn oauth_error(&self) -> Option<&OauthError> {
        self.0.oauth.as_ref()
    }

    /// Returns the status of the response, if there was one.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.0.status
    }

    /// Returns the id by which the operators of the exchange find the call (GW-13).
    #[must_use]
    pub fn correlation_id(&self) -> Option<&str> {
        self.0.correlation_id.as_deref()
    }

    /// Returns the minimum time that the client has to wait, counted from the response (`Retry-After`,
    /// CLI-02).
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Returns true if the exchange may have applied the call despite the error.
    ///
    /// Such a write must be sent again unchanged under its own key, or its effect looked up in the feed.
    /// Never send it under a new key (GW-12).
    ///
    /// The flag is independent of the kind. For example, the exchange may reject a proof because a duplicate
    /// of the message arrived first and was applied, whereas the identity provider rejects a proof before
    /// anything is sent to the exchange. The flag is true for every [`ErrorKind::OutcomeUnknown`] and for
    /// responses that did not come from the exchange.
    #[must_use]
    pub fn may_have_been_applied(&self) -> bool {
        self.0.may_have_been_applied
    }

    /// Returns the problem document of the response. Its `confirmationUrl` is a secret: open it for the
    /// member, and never log or store it (WRT-11).
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.0.problem.as_deref()
    }

    /// Returns the violations of a request that the client rejected before sending it.
    #[must_use]
    pub fn violations(&self) -> Option<&Violations> {
        self.0.violations.as_ref()
    }

    /// Returns the line that `Display` prints, but without the advice: the message, the first location, the
    /// code, and the correlation id. Use it in programs that show the advice separately.
    #[must_use]
    pub fn message(&self) -> String {
        let ErrorInner { message: what, code, correlation_id, .. } = &*self.0;
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

    /// Returns the next step for the member.
    #[must_use]
    pub fn advice(&self) -> Advice {
        match self.kind() {
            ErrorKind::SignInNeeded | ErrorKind::Ended(_) => Advice::SignIn,
            ErrorKind::Halted(halt) => halt.advice(),
            ErrorKind::ScopeMissing => Advice::SignInWithMoreScopes,
            ErrorKind::NotPermitted => Advice::Continue,
            ErrorKind::Invalid => Advice::Correct,
            ErrorKind::TooLarge => Advice::SendLess,
            ErrorKind::Conflict | ErrorKind::CursorExpired => Advice::Synchronise,
            ErrorKind::ConfirmationNeeded => Advice::Confirm,
            ErrorKind::Busy | ErrorKind::QuotaExceeded => Advice::Wait,
            // A response that is not from the exchange is usually the login page of a network.
            ErrorKind::Unreachable | ErrorKind::Protocol => Advice::Reconnect,
            ErrorKind::Unreadable if self.has_no_idempotency_key() => Advice::Report,
            ErrorKind::Unreadable => Advice::Synchronise,
            ErrorKind::OutcomeUnknown if self.has_no_idempotency_key() => Advice::TryAgain,
            ErrorKind::OutcomeUnknown => Advice::WaitForOutcome,
            ErrorKind::Clock => Advice::SetClock,
            ErrorKind::Secrets => Advice::OpenSecretStore,
            ErrorKind::Storage => Advice::CheckDisk,
            ErrorKind::Declined | ErrorKind::CodeExpired | ErrorKind::Cancelled => Advice::StartAgain,
            // The outbox sends the write again under its key. The response then shows the outcome.
            ErrorKind::Proof | ErrorKind::Bug if self.may_have_been_applied() => Advice::WaitForOutcome,
            ErrorKind::Proof | ErrorKind::Bug => Advice::Report,
        }
    }

    /// Returns true if the call is known to have no idempotency key, as reads do.
    fn has_no_idempotency_key(&self) -> bool {
        self.0.repeat.is_some_and(|repeat| repeat != RepeatSafety::Keyed)
    }
}

impl ErrorInner {
    fn new(kind: ErrorKind, what: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: what.into(),
            code: None,
            oauth: None,
            status: None,
            correlation_id: None,
            retry_after: None,
            problem: None,
            violations: None,
            may_have_been_applied: kind == ErrorKind::OutcomeUnknown,
            repeat: None,
            source: None,
        }
    }
}

/// Returns true if a call with an error of this kind and code may have been applied: its outcome is unknown,
/// or the first request under its key is still being processed.
fn may_have_been_applied(kind: ErrorKind, code: Option<&Code>) -> bool {
    matches!(kind, ErrorKind::OutcomeUnknown | ErrorKind::Protocol | ErrorKind::Unreadable)
        || code == Some(&Code::IdempotencyInProgress)
}

/// Returns the kind that follows from the registry's `action` of the code. An unknown code is classified by
/// the status (CON-12).
#[must_use]
pub fn error_kind_for_code(code: Option<&Code>, status: StatusCode) -> ErrorKind {
    let Some((code, action)) = code.and_then(|code| Some((code, code.action()?))) else {
        return error_kind_for_status(status);
    };
    match action {
        Action::RefreshOnce => ErrorKind::SignInNeeded,
        Action::Bug => ErrorKind::Bug,
        Action::RetryWithNonceOrStop => ErrorKind::Proof,
        Action::WaitAndResend => ErrorKind::Busy,
        Action::NewLoginWithScope => ErrorKind::ScopeMissing,
        Action::EndConnection => ErrorKind::Ended(EndReason::ClientDisconnected),
        Action::EndConnectionAndKey => ErrorKind::Ended(EndReason::InstallationDisconnected),
        Action::StopClient => ErrorKind::Halted(HaltReason::from_code(code)),
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

fn error_kind_for_status(status: StatusCode) -> ErrorKind {
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

/// Returns the kind of an error response that does not come from the exchange, such as the page of a proxy.
fn error_kind_without_code(status: StatusCode) -> ErrorKind {
    match error_kind_for_status(status) {
        kind @ (ErrorKind::Busy | ErrorKind::TooLarge) => kind,
        _ if status.is_client_error() => ErrorKind::Protocol,
        kind => kind,
    }
}

/// Converts an error of the generated client. All other code of this crate uses only [`Error`].
impl From<CallError<Problem>> for Error {
    fn from(error: CallError<Problem>) -> Self {
        let (code, correlation_id) = (error.code(), error.correlation_id().map(String::into_boxed_str));
        let (status, what) = (error.status(), error.describe());
        let retry_after = error.retry_after().and_then(|after| match after {
            RetryAfter::Delay(delay) => Some(delay),
            // The transport has already converted a date to seconds by the server's clock.
            RetryAfter::At(_) => None,
        });
        let about = |kind: ErrorKind| {
            let what = kind.message().map_or_else(|| Cow::Owned(what.clone()), Cow::Borrowed);
            let may_have_been_applied = may_have_been_applied(kind, code.as_ref());
            let (code, correlation_id) = (code.clone(), correlation_id.clone());
            ErrorInner {
                code,
                status,
                correlation_id,
                retry_after,
                may_have_been_applied,
                ..ErrorInner::new(kind, what)
            }
        };
        match error {
            CallError::Transport(error) => Self::from_transport_error(error),
            CallError::ErrorResponse(answer) => {
                let kind = match &code {
                    // Without a code, the body is not a problem of the exchange.
                    None => error_kind_without_code(answer.status()),
                    Some(code) => error_kind_for_code(Some(code), answer.status()),
                };
                let repeat = answer.extensions().get::<CallIdentity>().map(|called| called.repeat);
                Self::from_inner(ErrorInner {
                    problem: code.is_some().then(|| Box::new(answer.into_body())),
                    repeat,
                    ..about(kind)
                })
            }
            CallError::UnexpectedResponse(answer) => {
                let kind = match (&code, answer.status()) {
                    (None, status) if status.is_client_error() => error_kind_without_code(status),
                    (None, status) if status.is_success() => match answer.reason() {
                        UnexpectedReason::Syntax { .. }
                        | UnexpectedReason::MissingBody
                        | UnexpectedReason::Encoding => ErrorKind::OutcomeUnknown,
                        UnexpectedReason::Shape { .. } | UnexpectedReason::TooDeep => ErrorKind::Unreadable,
                        _ => ErrorKind::Protocol,
                    },
                    _ => error_kind_for_code(code.as_ref(), answer.status()),
                };
                // In every case, the operators can find the call by its id, and the repeat safety of its
                // operation applies.
                let called = answer.extensions().get::<CallIdentity>().cloned();
                let error = Self::from_inner(about(kind));
                match called {
                    Some(called) => error.with_call(called),
                    None => error,
                }
            }
            CallError::InvalidRequest(violations) => {
                Self::from_inner(ErrorInner { violations: Some(violations), ..about(ErrorKind::Invalid) })
            }
            _ => Self::from_inner(about(ErrorKind::Protocol)),
        }
    }
}

impl Error {
    /// Converts the transport error of a request without a response. If the source is an [`Error`] of this
    /// crate, returns that error, updated with the delivery state of this request.
    #[must_use]
    pub fn from_transport_error(error: TransportError) -> Self {
        let may_have_been_applied = error.delivery() == Delivery::Unknown;
        if let Some(inner_error) = error.downcast_source::<Self>() {
            return inner_error.clone().update(|inner| inner.may_have_been_applied = may_have_been_applied);
        }
        let called = error.downcast_source::<UnansweredCall>().map(|unanswered| unanswered.call.clone());
        let kind = match (error.fault(), error.delivery()) {
            (TransportFault::Request, _) => ErrorKind::Bug,
            (TransportFault::TooLarge, _) => ErrorKind::Protocol,
            (TransportFault::Declined, _) => ErrorKind::Cancelled,
            (_, Delivery::NotSent) => ErrorKind::Unreachable,
            (_, Delivery::Unknown) => ErrorKind::OutcomeUnknown,
        };
        let what = error.to_string();
        let error = Self::with_source(kind, what, error)
            .update(|inner| inner.may_have_been_applied = may_have_been_applied);
        match called {
            Some(called) => error.with_call(called),
            None => error,
        }
    }
}

/// Adds the identity of the call to a transport error.
pub(crate) fn attach_call(error: TransportError, called: CallIdentity) -> TransportError {
    let (fault, delivery) = (error.fault(), error.delivery());
    TransportError::new(fault, delivery).with_source(UnansweredCall { call: called, error })
}

/// Prints the reason, if one is known, and the correlation id.
impl fmt::Display for UnansweredCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = self.error.source() {
            write!(f, "{why}, ")?;
        }
        write!(f, "correlation id {}", self.call.correlation_id)
    }
}

impl StdError for UnansweredCall {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.error)
    }
}

/// Prints the [message](Error::message) and the advice in one line.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())?;
        match (self.advice(), self.retry_after()) {
            (Advice::Wait, Some(wait)) => write!(f, "; wait {}, then try again", WaitDisplay(wait)),
            (advice, _) => write!(f, "; {}", advice.message()),
        }
    }
}

impl Error {
    /// Returns the location of the first violation in the problem document, if it can be printed safely.
    fn first_pointer(&self) -> Option<&str> {
        let pointer = self.problem()?.errors.as_ref()?.first()?.pointer.as_str();
        Some(pointer).filter(|pointer| is_safe_pointer(pointer))
    }
}

/// Returns true if a JSON Pointer consists of plain names and numbers, so that printing it reveals no value.
pub(crate) fn is_safe_pointer(pointer: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte);
    (1..=100).contains(&pointer.len()) && pointer.bytes().all(plain)
}

/// Formats a duration in seconds, minutes, or hours, rounded up.
struct WaitDisplay(Duration);

impl fmt::Display for WaitDisplay {
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
