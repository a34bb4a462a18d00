//! One call over all its requests: what is sent each time, what came of it, what the caller gets.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use dpop_bound::{Htu, UnixTime};
use exchange_api::runtime::{
    client::RetryAfter,
    operation::{Operation, Repeat},
    transport::{Delivery, Partial, TransportError, TransportFault},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response,
    header::{RETRY_AFTER, USER_AGENT},
    request::Parts,
};

use super::{Inner, Patience, Terms, progress::Progress};
use crate::{
    error::{Called, Error, ErrorKind, kind_of, unanswered},
    tokens::Grant,
    verdict::{self, Judged, Said, Verdict},
    whose::Whose,
};

/// By which those who run the exchange find a call, and all its requests (GW-13).
const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");

/// What a call took: among the extensions of its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Effort {
    /// How many requests were sent.
    pub requests: u32,
    /// How many of them counted: not those that were repeated at once for a nonce or a clock.
    pub attempts: u32,
    /// How long it waited before sending.
    pub waited: Duration,
}

/// One call.
pub(super) struct Course {
    pub(super) operation: &'static Operation,
    pub(super) htu: Htu,
    pub(super) patience: Patience,
    /// By the monotonic clock: nothing is sent later.
    pub(super) deadline: Duration,
    pub(super) progress: Progress,
    pub(super) effort: Effort,
    head: Parts,
    body: Bytes,
    last: Option<Last>,
    signed: Option<Whose>,
}

/// What came last.
struct Last {
    came: Came,
    asked: Option<Duration>,
}

/// What came of one request.
pub(super) struct Came {
    pub(super) answer: Result<Response<Bytes>, TransportError>,
    pub(super) said: Said,
    pub(super) judged: Judged,
    /// It may be about a second copy of a message whose first was carried out.
    pub(super) may_be_a_copy: bool,
}

impl Came {
    pub(super) fn judge(operation: &Operation, answer: Result<Response<Bytes>, TransportError>) -> Self {
        let (said, judged) = match &answer {
            Ok(answer) => {
                let said = Said::of(answer.status(), answer.body());
                let cut = answer.extensions().get::<Partial>().map(|partial| partial.0);
                let has_no_code = answer.status().is_client_error()
                    && said.code.is_none()
                    && cut.is_some_and(|why| why != TransportFault::TooLarge);
                let judged = match verdict::of_answer(operation, answer.status(), &said, answer.body()) {
                    // Its code did not come this time; what is too large is so the next time, too.
                    Judged { verdict: Verdict::Done, health } if has_no_code => {
                        Judged { verdict: verdict::unknown(operation), health }
                    }
                    judged => judged,
                };
                (said, judged)
            }
            Err(error) => (Said::default(), verdict::of_fault(operation, error)),
        };
        Self { answer, said, judged, may_be_a_copy: false }
    }
}

impl Course {
    /// A call that begins now.
    pub(super) fn begin(
        operation: &'static Operation,
        request: Request<Bytes>,
        inner: &Inner,
    ) -> Result<Self, TransportError> {
        let unusable = |what: &'static str| {
            TransportError::new(TransportFault::Request, Delivery::NotSent)
                .with_source(Error::new(ErrorKind::Bug, what))
        };
        let (mut head, body) = request.into_parts();
        let htu = Htu::try_from(&head.uri).map_err(|_| unusable("the call has no usable address"))?;
        // Both are in the form in which they are compared.
        let path = htu.as_str().strip_prefix(inner.gateway.as_str());
        if !path.is_some_and(|path| path.starts_with('/')) {
            return Err(unusable("the call is meant for another server than the exchange"));
        }
        head.headers.insert(USER_AGENT, inner.user_agent.clone());
        if !head.headers.contains_key(CORRELATION_ID) {
            let id = inner.environment.token().map_err(|error| error.into_transport(false))?;
            let id = HeaderValue::try_from(id).map_err(|_| unusable("the id of the call is no header"))?;
            head.headers.insert(CORRELATION_ID, id);
        }
        let patience = head.extensions.get::<Patience>().copied().unwrap_or(inner.settings.patience);
        let deadline = inner.now().saturating_add(patience.time);
        let (progress, effort) = (Progress::default(), Effort::default());
        Ok(Self {
            operation,
            htu,
            patience,
            deadline,
            progress,
            effort,
            head,
            body,
            last: None,
            signed: None,
        })
    }

    pub(super) fn method(&self) -> &str {
        self.head.method.as_str()
    }

    /// The server's name or address, as spans have it.
    pub(super) fn host(&self) -> &str {
        let host = self.head.uri.host().unwrap_or_default();
        // RFC 3986, 3.2.2: the brackets of an IPv6 address are the URI's.
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The server's port, also where it is the scheme's own.
    pub(super) fn port(&self) -> u16 {
        let uri = &self.head.uri;
        uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 })
    }

    /// The same over all requests of the call.
    pub(super) fn correlation_id(&self) -> &str {
        self.head.headers.get(CORRELATION_ID).and_then(|id| id.to_str().ok()).unwrap_or_default()
    }

    /// The request, to be signed.
    pub(super) fn request(&self) -> Request<Bytes> {
        Request::from_parts(self.head.clone(), self.body.clone())
    }

    /// Remembers whose the next request is; fails where the call is not to be signed by them.
    pub(super) fn sign_by(&mut self, grant: &Grant) -> Result<(), Error> {
        self.head.extensions.get::<Terms>().map_or(Ok(()), |terms| terms.allow(grant))?;
        self.signed = Some(grant.whose.clone());
        Ok(())
    }

    /// Fails where the call is not to be sent with a proof of this time.
    pub(super) fn sign_at(&self, time: UnixTime) -> Result<(), Error> {
        self.head.extensions.get::<Terms>().map_or(Ok(()), |terms| terms.allow_at(time))
    }

    /// Remembers what came.
    pub(super) fn came(&mut self, came: Came, asked: Option<Duration>) {
        self.last = Some(Last { came, asked });
    }

    /// There is no other request: what came last, or why there was none.
    pub(super) fn give_up(self, refusal: TransportError) -> Result<Response<Bytes>, TransportError> {
        let own = refusal.cause::<Error>().map(Error::kind);
        match own {
            // Held back: what the server said itself says more.
            Some(ErrorKind::Busy | ErrorKind::Unreachable | ErrorKind::QuotaExceeded)
                if self.last.is_some() =>
            {
                self.result()
            }
            // Whatever keeps it from being sent again: an earlier request may have been carried out.
            _ if self.progress.maybe_done => {
                let what = "an answer was lost, and the call cannot be sent again to ask for it";
                let error = Error::caused(ErrorKind::OutcomeUnknown, what, refusal);
                Err(error.called(self.called()).into_transport(true))
            }
            _ => Err(refusal),
        }
    }

    /// Which call it is.
    fn called(&self) -> Called {
        Called { repeat: self.operation.repeat, correlation_id: self.correlation_id().into() }
    }

    /// What the caller gets.
    pub(super) fn result(self) -> Result<Response<Bytes>, TransportError> {
        let called = self.called();
        let (operation, maybe_done, effort) = (self.operation, self.progress.maybe_done, self.effort);
        let Some(Last { came, asked }) = self.last else {
            return Err(TransportError::new(TransportFault::Other, Delivery::NotSent));
        };
        let refused = |kind, code, answer: &Response<Bytes>| {
            Error::refused(kind, code, answer.status(), &called.correlation_id).called(called.clone())
        };
        match came.answer {
            // The last request was not carried out; an earlier one may have been. Where the last one may have been, too,
            // its answer says so itself.
            Ok(answer)
                if maybe_done
                    && !answer.status().is_success()
                    && !came.said.is_of_this_write()
                    && kind_of(came.said.code.as_ref(), answer.status()) != ErrorKind::OutcomeUnknown =>
            {
                let what = "the exchange did not say what became of it";
                let error = refused(ErrorKind::OutcomeUnknown, came.said.code, &answer).saying(what);
                Err(error.waiting(asked).into_transport(true))
            }
            Ok(answer) if came.may_be_a_copy => {
                let what =
                    "the exchange refused the proof; if a network doubled the message, it was carried out";
                Err(refused(ErrorKind::Proof, came.said.code, &answer).saying(what).into_transport(true))
            }
            // It was carried out, and what became of it cannot be read.
            Ok(answer) if came.judged.verdict == Verdict::Unknown && answer.status().is_success() => {
                let what = "the exchange gave an answer that cannot be read";
                Err(refused(ErrorKind::OutcomeUnknown, None, &answer).saying(what).into_transport(true))
            }
            Ok(answer) if came.judged.verdict == Verdict::Garbled => {
                let what = "what answered is not the exchange";
                let error = refused(ErrorKind::Protocol, None, &answer).saying(what);
                Err(error.into_transport(operation.repeat != Repeat::Safe))
            }
            Ok(mut answer) => {
                if let Some(asked) = asked {
                    say_seconds(answer.headers_mut(), asked);
                }
                answer.extensions_mut().insert(effort);
                answer.extensions_mut().insert(called);
                if let Some(signed) = self.signed {
                    answer.extensions_mut().insert(signed);
                }
                Ok(answer)
            }
            Err(error) if maybe_done && error.delivery() == Delivery::NotSent => {
                let what = "an answer was lost, and the exchange cannot be reached to ask for it again";
                let error = Error::caused(ErrorKind::OutcomeUnknown, what, error);
                Err(error.called(called).into_transport(true))
            }
            // Nobody at the exchange finds what never arrived there.
            Err(error) if error.delivery() == Delivery::NotSent => Err(error),
            Err(error) => Err(unanswered(error, called)),
        }
    }
}

/// What `Retry-After` asks for, the longest of several. A date is of the clock that `Date` shows; without that, of the
/// server's as far as it is known.
pub(crate) fn retry_after(headers: &HeaderMap, server: impl FnOnce() -> UnixTime) -> Option<Duration> {
    // Most answers ask for nothing, and nobody's clock is looked at for them.
    headers.get(RETRY_AFTER)?;
    RetryAfter::wait(headers, SystemTime::UNIX_EPOCH.checked_add(server().since_epoch())?)
}

/// Says in seconds, rounded up, what an answer asks for: whoever reads it has no clock of the server's.
pub(crate) fn say_seconds(headers: &mut HeaderMap, asked: Duration) {
    let seconds = asked.as_secs().saturating_add(u64::from(asked.subsec_nanos() > 0));
    headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
}
