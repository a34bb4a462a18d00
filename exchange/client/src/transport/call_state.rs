//! The state of one call, from its first to its last request: the parts of the request, the deadline, the
//! last response, and the result.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use dpop_bound::{Htu, UnixTime};
use exchange_api::runtime::{
    client::RetryAfter,
    operation::{Operation, RepeatSafety},
    transport::{Delivery, PartialBody, TransportError, TransportFault},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response,
    header::{RETRY_AFTER, USER_AGENT},
    request::Parts,
};

use super::{RetryPolicy, SendConditions, TransportInner, call_progress::CallProgress};
use crate::{
    error::{CallIdentity, Error, ErrorKind, attach_call, error_kind_for_code},
    ownership::Ownership,
    token_source::AccessGrant,
    verdict::{self, ErrorBody, ResponseAssessment, Verdict},
};

/// The request header with the correlation id, by which the operators of the exchange find all requests of a
/// call (GW-13).
const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");

/// Statistics of a call, which are in the extensions of its response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallStats {
    /// The number of requests that were sent.
    pub requests: u32,
    /// The number of attempts, without requests that were repeated immediately because of a nonce or a clock.
    pub attempts: u32,
    /// The total time for which the call waited before its requests were sent.
    pub waited: Duration,
}

/// The state of one call.
pub(super) struct CallState {
    pub(super) operation: &'static Operation,
    pub(super) htu: Htu,
    pub(super) patience: RetryPolicy,
    /// The time after which no request is sent, by the monotonic clock.
    pub(super) deadline: Duration,
    pub(super) progress: CallProgress,
    pub(super) stats: CallStats,
    head: Parts,
    body: Bytes,
    last_outcome: Option<LastOutcome>,
    signed_owner: Option<Ownership>,
}

/// The last response, with its `Retry-After`.
struct LastOutcome {
    outcome: RequestOutcome,
    parse_retry_after: Option<Duration>,
}

/// The result of one request.
pub(super) struct RequestOutcome {
    pub(super) response: Result<Response<Bytes>, TransportError>,
    pub(super) error_body: ErrorBody,
    pub(super) assessment: ResponseAssessment,
    /// True if the response may belong to a duplicate of a message that was applied.
    pub(super) may_be_replay: bool,
}

impl RequestOutcome {
    pub(super) fn from_response(
        operation: &Operation,
        response: Result<Response<Bytes>, TransportError>,
    ) -> Self {
        let (error_body, assessment) = match &response {
            Ok(response) => {
                let error_body = ErrorBody::parse(response.status(), response.body());
                let cut = response.extensions().get::<PartialBody>().map(|partial| partial.0);
                let has_no_code = response.status().is_client_error()
                    && error_body.code.is_none()
                    && cut.is_some_and(|why| why != TransportFault::TooLarge);
                let assessment = match verdict::assess_response(
                    operation,
                    response.status(),
                    &error_body,
                    response.body(),
                ) {
                    // The response has lost its error code. If the body was too large, it would be too
                    // large again.
                    ResponseAssessment { verdict: Verdict::Done, health } if has_no_code => {
                        ResponseAssessment { verdict: verdict::unknown_verdict(operation), health }
                    }
                    assessment => assessment,
                };
                (error_body, assessment)
            }
            Err(error) => (ErrorBody::default(), verdict::assess_fault(operation, error)),
        };
        Self { response, error_body, assessment, may_be_replay: false }
    }
}

impl CallState {
    /// Creates the state of a call that starts now.
    pub(super) fn new(
        operation: &'static Operation,
        request: Request<Bytes>,
        inner: &TransportInner,
    ) -> Result<Self, TransportError> {
        let unusable = |what: &'static str| {
            TransportError::new(TransportFault::Request, Delivery::NotSent)
                .with_source(Error::new(ErrorKind::Bug, what))
        };
        let (mut head, body) = request.into_parts();
        let htu = Htu::try_from(&head.uri).map_err(|_| unusable("the call has an invalid URL"))?;
        // Both URLs are normalized, so their strings can be compared.
        let path = htu.as_str().strip_prefix(inner.gateway.as_str());
        if !path.is_some_and(|path| path.starts_with('/')) {
            return Err(unusable("the URL of the call is not on the exchange"));
        }
        head.headers.insert(USER_AGENT, inner.user_agent.clone());
        if !head.headers.contains_key(CORRELATION_ID) {
            let id = inner.environment.random_token().map_err(|error| error.into_transport(false))?;
            let id = HeaderValue::try_from(id)
                .map_err(|_| unusable("the correlation id is not a valid header value"))?;
            head.headers.insert(CORRELATION_ID, id);
        }
        let patience = head.extensions.get::<RetryPolicy>().copied().unwrap_or(inner.settings.retry_policy);
        let deadline = inner.now().saturating_add(patience.time_limit);
        let (progress, effort) = (CallProgress::default(), CallStats::default());
        Ok(Self {
            operation,
            htu,
            patience,
            deadline,
            progress,
            stats: effort,
            head,
            body,
            last_outcome: None,
            signed_owner: None,
        })
    }

    pub(super) fn method(&self) -> &str {
        self.head.method.as_str()
    }

    /// Returns the host for the fields of spans.
    pub(super) fn host(&self) -> &str {
        let host = self.head.uri.host().unwrap_or_default();
        // RFC 3986, 3.2.2: the brackets of an IPv6 address belong to the URI, not to the host.
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// Returns the port, even if it is the default port of the scheme.
    pub(super) fn port(&self) -> u16 {
        let uri = &self.head.uri;
        uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 })
    }

    /// Returns the correlation id, which is the same for all requests of the call.
    pub(super) fn correlation_id(&self) -> &str {
        self.head.headers.get(CORRELATION_ID).and_then(|id| id.to_str().ok()).unwrap_or_default()
    }

    /// Returns a copy of the unsigned request.
    pub(super) fn build_request(&self) -> Request<Bytes> {
        Request::from_parts(self.head.clone(), self.body.clone())
    }

    /// Records the owner of the next request. Fails if the call must not be signed for this owner.
    pub(super) fn set_signer(&mut self, grant: &AccessGrant) -> Result<(), Error> {
        self.head.extensions.get::<SendConditions>().map_or(Ok(()), |terms| terms.check_owner(grant))?;
        self.signed_owner = Some(grant.owner.clone());
        Ok(())
    }

    /// Fails if the call must not be sent with a proof of this time.
    pub(super) fn check_proof_time(&self, time: UnixTime) -> Result<(), Error> {
        self.head.extensions.get::<SendConditions>().map_or(Ok(()), |terms| terms.check_proof_time(time))
    }

    /// Records the outcome of the last request.
    pub(super) fn set_outcome(&mut self, outcome: RequestOutcome, retry_after: Option<Duration>) {
        self.last_outcome = Some(LastOutcome { outcome, parse_retry_after: retry_after });
    }

    /// Ends a call that cannot be retried. Returns the last response, or the reason if there is none.
    pub(super) fn give_up(self, rejection: TransportError) -> Result<Response<Bytes>, TransportError> {
        let error_kind = rejection.downcast_source::<Error>().map(Error::kind);
        match error_kind {
            // The client did not send the request, so an earlier response of the server is more specific.
            Some(ErrorKind::Busy | ErrorKind::Unreachable | ErrorKind::QuotaExceeded)
                if self.last_outcome.is_some() =>
            {
                self.into_result()
            }
            // An earlier request may have been applied, whatever the reason is.
            _ if self.progress.maybe_applied => {
                let what = "a response was lost, and the call cannot be resent";
                let error = Error::with_source(ErrorKind::OutcomeUnknown, what, rejection);
                Err(error.with_call(self.identity()).into_transport(true))
            }
            _ => Err(rejection),
        }
    }

    /// Returns the identity of this call.
    fn identity(&self) -> CallIdentity {
        CallIdentity { repeat: self.operation.repeat, correlation_id: self.correlation_id().into() }
    }

    /// Returns the final result of the call.
    pub(super) fn into_result(self) -> Result<Response<Bytes>, TransportError> {
        let called = self.identity();
        let (operation, maybe_done, effort) = (self.operation, self.progress.maybe_applied, self.stats);
        let Some(LastOutcome { outcome: came, parse_retry_after: retry_after }) = self.last_outcome else {
            return Err(TransportError::new(TransportFault::Other, Delivery::NotSent));
        };
        let refused = |kind, code, response: &Response<Bytes>| {
            Error::from_error_code(kind, code, response.status(), &called.correlation_id)
                .with_call(called.clone())
        };
        match came.response {
            // The last request was not applied, but an earlier one may have been. If the last one may have
            // been applied as well, its response reports this.
            Ok(response)
                if maybe_done
                    && !response.status().is_success()
                    && !came.error_body.excludes_earlier_success()
                    && error_kind_for_code(came.error_body.code.as_ref(), response.status())
                        != ErrorKind::OutcomeUnknown =>
            {
                let what = "the exchange did not report the outcome of the call";
                let error =
                    refused(ErrorKind::OutcomeUnknown, came.error_body.code, &response).with_message(what);
                Err(error.with_retry_after(retry_after).into_transport(true))
            }
            Ok(response) if came.may_be_replay => {
                let what = "the exchange rejected the proof; if the network duplicated the message, it was carried out";
                Err(refused(ErrorKind::Proof, came.error_body.code, &response)
                    .with_message(what)
                    .into_transport(true))
            }
            // The call was applied, but its result cannot be read.
            Ok(response) if came.assessment.verdict == Verdict::Unknown && response.status().is_success() => {
                let what = "the response of the exchange cannot be parsed";
                Err(refused(ErrorKind::OutcomeUnknown, None, &response)
                    .with_message(what)
                    .into_transport(true))
            }
            Ok(response) if came.assessment.verdict == Verdict::Unreadable => {
                let what = "the response is not from the exchange";
                let error = refused(ErrorKind::Protocol, None, &response).with_message(what);
                Err(error.into_transport(operation.repeat != RepeatSafety::Safe))
            }
            Ok(mut response) => {
                if let Some(retry_after) = retry_after {
                    set_retry_after_seconds(response.headers_mut(), retry_after);
                }
                response.extensions_mut().insert(effort);
                response.extensions_mut().insert(called);
                if let Some(signed) = self.signed_owner {
                    response.extensions_mut().insert(signed);
                }
                Ok(response)
            }
            Err(error) if maybe_done && error.delivery() == Delivery::NotSent => {
                let what = "a response was lost, and the exchange cannot be reached";
                let error = Error::with_source(ErrorKind::OutcomeUnknown, what, error);
                Err(error.with_call(called).into_transport(true))
            }
            // The operators cannot find a request that never arrived.
            Err(error) if error.delivery() == Delivery::NotSent => Err(error),
            Err(error) => Err(attach_call(error, called)),
        }
    }
}

/// Returns the longest `Retry-After` of the headers. A date is relative to the `Date` header, or to `server`,
/// the estimated time of the server, if there is no `Date`.
pub(crate) fn parse_retry_after(headers: &HeaderMap, server: impl FnOnce() -> UnixTime) -> Option<Duration> {
    // Most responses have no such header, and then the server's clock is not needed.
    headers.get(RETRY_AFTER)?;
    RetryAfter::wait_from_headers(headers, SystemTime::UNIX_EPOCH.checked_add(server().since_epoch())?)
}

/// Replaces `Retry-After` by a number of seconds, rounded up, because callers have no access to the server's
/// clock.
pub(crate) fn set_retry_after_seconds(headers: &mut HeaderMap, retry_after: Duration) {
    let seconds = retry_after.as_secs().saturating_add(u64::from(retry_after.subsec_nanos() > 0));
    headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
}
