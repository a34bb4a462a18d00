//! [`RequestFacts`]: the facts that the stages have gathered about one request.
//!
//! Each stage adds its facts. A decision reads only these facts and the configuration.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use contract_runtime::operation::Operation;
use contract_runtime::server::{Rejection, RequestContext};
use dpop_bound::VerificationError as ProofRefusal;
use exchange_api::codes::Code;
use exchange_api::server::AnyCall;
use exchange_api::types::CorrelationId;
use http::Request;
use http::request::Parts;

use super::body::BodyPermit;
use crate::Environment;
use crate::caller::{Caller, KeyClaim};
use crate::correlation::correlation_id;
use crate::idempotency::ClaimOutcome;
use crate::idp::tokens::{TokenClaims, TokenError};
use crate::ids::InstallationId;
use crate::peer::PeerAddr;
use crate::registry::{RegisteredClient, Registry};
use crate::shared::SharedStateError;
use crate::shared::rate::DrawOutcome;
use crate::time::{Moment, Stopwatch};

/// The facts about one request. A field is `None` until its stage has run.
#[derive(Debug)]
pub struct RequestFacts {
    /// The time at which the current stage gathers its facts.
    pub now: Moment,
    /// The measurement of the time since the request was received.
    pub stopwatch: Stopwatch,
    /// The method, URI, headers and extensions.
    pub head: Arc<Parts>,
    /// The source address of the request.
    pub peer: PeerAddr,
    /// The id of the request in responses and logs (GW-13).
    pub correlation_id: CorrelationId,
    /// The operation with the method and the path of the request.
    pub operation: Option<&'static Operation>,
    /// The outcome of the rate limit of the source address.
    pub address_limit: Option<Result<DrawOutcome, SharedStateError>>,
    /// The complete body.
    pub body: Option<Result<Bytes, BodyReadError>>,
    /// The verified access token, with the key of the proof.
    pub credentials: Option<Result<VerifiedCredentials, CredentialsError>>,
    /// The client registry.
    pub registry: Option<Result<Arc<Registry>, SharedStateError>>,
    /// The revocations and the installation of the proof's key.
    pub installation_status: Option<Result<InstallationStatus, SharedStateError>>,
    /// The outcome of the limits of the client and the member.
    pub limit_outcome: Option<LimitOutcome>,
    /// The state of the member's rate limit, for the response headers.
    pub rate_status: Option<RateStatus>,
    /// The UTC day and the number of the writes that were counted against the quota.
    pub counted_writes: Option<(i64, u32)>,
    /// The reason the daily quota does not allow the ops of the change set, if any (A3).
    pub ops_quota_error: Option<OpsQuotaError>,
    /// The request after it was parsed and validated according to the contract.
    pub incoming: Option<Result<AnyCall, Rejection>>,
    /// The outcome of claiming the idempotency key.
    pub key_claim: Option<Result<ClaimOutcome, SharedStateError>>,
    /// Whether the token and the proof were removed from the head.
    credentials_removed: bool,
    /// The body before it is read. The lock is needed because a `Body` is not `Sync`; it is never contended.
    pub(super) unread_body: Mutex<Option<Body>>,
    /// The part of the body budget that the body occupies.
    pub(super) body_permit: Option<BodyPermit>,
    /// The code and the reason of the rejection, for logs and counters.
    pub(super) rejection: Option<(Code, &'static str)>,
}

/// The reason a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyReadError {
    /// The body exceeds the size limit.
    TooLarge,
    /// The body ended early or is malformed.
    Incomplete,
    /// The body was not received before its timeout.
    TooSlow,
    /// The body budget is exhausted.
    Overloaded,
}

/// A verified access token with the key of the verified proof.
#[derive(Clone, Debug)]
pub struct VerifiedCredentials {
    /// The claims of the token.
    pub token: Arc<TokenClaims>,
    /// The RFC 7638 thumbprint of the proof's key, as a string.
    pub jkt: String,
}

/// The reason the token or the proof was refused.
#[derive(Clone, Copy, Debug)]
pub enum CredentialsError {
    /// The token was refused.
    Token(TokenError),
    /// The proof was refused.
    Proof(ProofRefusal),
    /// Neither the token nor the proof was verified, because too many newcomers are waiting. The client may
    /// retry after this time.
    Overloaded(Duration),
}

/// The revocation state of a key and a client, and the installation if it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallationStatus {
    /// True if the key is revoked because its installation was disconnected (ERR-13).
    pub key_revoked: bool,
    /// True if the member disconnected the client at or after the sign-in for this token (ERR-12).
    pub client_revoked: bool,
    /// The installation and the time of its last recorded call; `None` before its first call.
    pub installation: Option<(InstallationId, Moment)>,
}

/// The outcome of the limits of stage 11.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitOutcome {
    /// The request is within all limits.
    Allowed,
    /// A rate limit is exceeded: that of the client for one member, that of the client for all members, or
    /// that of account checks. Contains the `Retry-After` delay.
    RateLimited(Duration),
    /// The daily write quota is used up.
    QuotaExceeded,
    /// The rate limiter is unavailable.
    RatesUnavailable,
    /// The write quota is unavailable.
    QuotaUnavailable,
}

/// The reason the ops of a change set could not be counted against the quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpsQuotaError {
    /// The ops would exceed the daily quota.
    Exceeded,
    /// The quota counter is unavailable.
    Unavailable,
}

/// The state of a rate limit, for the `RateLimit` headers (GW-08).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateStatus {
    /// The number of requests per 60 seconds.
    pub limit: u32,
    /// The number of requests that may be sent immediately.
    pub remaining: u32,
    /// The time until the bucket is full again.
    pub full_in: Duration,
}

impl RequestFacts {
    /// Creates the facts that are known before the first stage.
    #[must_use]
    pub fn from_request(request: Request<Body>, environment: &Environment) -> Self {
        let (head, body) = request.into_parts();
        let now = environment.now();
        Self {
            now,
            stopwatch: Stopwatch::start(),
            peer: PeerAddr::from_extensions(&head.extensions),
            correlation_id: correlation_id(&head, environment),
            operation: super::find_operation(&head.method, head.uri.path()),
            head: Arc::new(head),
            address_limit: None,
            body: None,
            credentials: None,
            registry: None,
            installation_status: None,
            limit_outcome: None,
            rate_status: None,
            counted_writes: None,
            ops_quota_error: None,
            incoming: None,
            key_claim: None,
            credentials_removed: false,
            unread_body: Mutex::new(Some(body)),
            body_permit: None,
            rejection: None,
        }
    }

    /// Returns the path of the request as sent, with its percent-encoding.
    #[must_use]
    pub fn path(&self) -> &str {
        self.head.uri.path()
    }

    /// Returns the body, or empty bytes if it was not read.
    #[must_use]
    pub fn body_bytes(&self) -> Bytes {
        self.body.as_ref().and_then(|body| body.as_ref().ok()).cloned().unwrap_or_default()
    }

    /// Returns the credentials, or `None` until they are verified.
    #[must_use]
    pub fn credentials(&self) -> Option<&VerifiedCredentials> {
        self.credentials.as_ref()?.as_ref().ok()
    }

    /// Returns the client's entry in the registry, or `None` before the registry was loaded.
    #[must_use]
    pub fn client(&self) -> Option<&RegisteredClient> {
        let registry = self.registry.as_ref()?.as_ref().ok()?;
        registry.clients.get(&self.credentials()?.token.client)
    }

    /// Returns the claim of this request on its idempotency key, if it has one.
    #[must_use]
    pub fn key_claim(&self) -> Option<&KeyClaim> {
        match self.key_claim.as_ref()? {
            Ok(ClaimOutcome::Claimed(claim)) => Some(claim),
            _ => None,
        }
    }

    /// Returns the value of a header if the header occurs exactly once and contains only visible ASCII
    /// characters.
    #[must_use]
    pub fn single_header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.headers.get_all(name).iter();
        lines.next().filter(|_| lines.next().is_none())?.to_str().ok()
    }

    /// Returns the request as a context for the generated code, without token and proof.
    #[must_use]
    pub fn context(&self) -> RequestContext {
        let head = if self.credentials_removed {
            Arc::clone(&self.head)
        } else {
            Arc::new(without_credentials(&self.head))
        };
        RequestContext::new(head, self.operation, self.body_bytes())
    }

    /// Returns the request as a context for the backend, with the caller as an extension.
    #[must_use]
    pub fn backend_context(&mut self, caller: Caller) -> RequestContext {
        self.remove_credentials();
        Arc::make_mut(&mut self.head).extensions.insert(caller);
        self.context()
    }

    /// Removes the token and the proof from the head, because later stages do not need them. After that,
    /// [`Self::context`] shares the head instead of copying it.
    pub(super) fn remove_credentials(&mut self) {
        if !self.credentials_removed {
            strip_credentials(Arc::make_mut(&mut self.head));
            self.credentials_removed = true;
        }
    }

    /// Returns the authenticated caller, or `None` until the credentials are verified.
    #[must_use]
    pub fn caller(&self) -> Option<Caller> {
        let VerifiedCredentials { token, jkt } = self.credentials()?;
        let standing = self.installation_status.as_ref().and_then(|standing| standing.as_ref().ok());
        Some(Caller {
            member: token.member.clone(),
            client: token.client.clone(),
            installation: standing
                .and_then(|standing| standing.installation.as_ref())
                .map(|(id, _)| id.clone()),
            jkt: jkt.clone(),
            scopes: token.scopes.clone(),
            auth_time: token.auth_time,
            correlation_id: self.correlation_id.as_str().to_owned(),
            claim: self.key_claim().cloned(),
        })
    }
}

fn without_credentials(head: &Parts) -> Parts {
    let mut head = head.clone();
    strip_credentials(&mut head);
    head
}

/// Removes credentials, cookies and all extensions.
fn strip_credentials(head: &mut Parts) {
    for secret in [http::header::AUTHORIZATION.as_str(), "dpop", "cookie"] {
        head.headers.remove(secret);
    }
    head.extensions.clear();
}
