//! What was found out about one request so far.
//!
//! Stages fill it in their order; a decision looks at nothing else.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use contract_runtime::operation::Operation;
use contract_runtime::server::{Context, Rejection};
use dpop_bound::Refusal as ProofRefusal;
use exchange_api::codes::Code;
use exchange_api::server::Incoming;
use exchange_api::types::CorrelationId;
use http::Request;
use http::request::Parts;

use super::body::Held;
use crate::Environment;
use crate::caller::{Caller, Claim};
use crate::correlation::correlation_id;
use crate::idempotency::Found;
use crate::idp::tokens::{TokenClaims, TokenRefusal};
use crate::ids::InstallationId;
use crate::peer::Peer;
use crate::registry::{Client, Registry};
use crate::shared::Unavailable;
use crate::shared::rate::Taken;
use crate::time::Moment;

/// What is known of a request. What no stage asked about yet is `None`.
#[derive(Debug)]
pub struct Facts {
    /// The moment at which the current stage asks.
    pub now: Moment,
    /// When the request came.
    pub came: Moment,
    /// Its head.
    pub head: Arc<Parts>,
    /// Where it comes from.
    pub peer: Peer,
    /// Under which id it is known (GW-13).
    pub correlation_id: CorrelationId,
    /// The operation that its method and path name.
    pub operation: Option<&'static Operation>,
    /// What its source address has left.
    pub address: Option<Result<Taken, Unavailable>>,
    /// Its body, whole.
    pub body: Option<Result<Bytes, Unread>>,
    /// Who calls, with which key.
    pub proven: Option<Result<Proven, Unproven>>,
    /// The registry.
    pub registry: Option<Result<Arc<Registry>, Unavailable>>,
    /// What was disconnected, and which installation it is.
    pub standing: Option<Result<Standing, Unavailable>>,
    /// Whether the limits let it pass.
    pub limited: Option<Limited>,
    /// What is left of the member's limit, once it was asked.
    pub rate: Option<Rate>,
    /// Writes that were counted, and on which day.
    pub counted: Option<(i64, u32)>,
    /// The day's writes do not allow the ops of this set (A3).
    pub over_quota: Option<OverQuota>,
    /// What it asks, read once.
    pub read: Option<Result<Incoming, Rejection>>,
    /// What there is for its key.
    pub key: Option<Result<Found, Unavailable>>,
    /// Whether its head is without token and proof by now.
    sealed: bool,
    /// What is still to be read of it; a body cannot be shared, so a lock that nobody waits for is around it.
    pub(super) unread: Mutex<Option<Body>>,
    /// The room that its body takes.
    pub(super) held: Option<Held>,
    /// The code of the refusal, for logs and counters.
    pub(super) ended: Option<(Code, &'static str)>,
}

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Larger than allowed.
    TooLarge,
    /// It ended early, or was malformed.
    Incomplete,
    /// It took too long.
    TooSlow,
    /// There are too many at once.
    NoRoom,
}

/// A token, and a proof that whoever sent it has its key.
#[derive(Clone, Debug)]
pub struct Proven {
    /// What the token says.
    pub token: Arc<TokenClaims>,
    /// The key's thumbprint, as text.
    pub jkt: String,
}

/// Why there is none.
#[derive(Clone, Copy, Debug)]
pub enum Unproven {
    /// The token is not taken.
    Token(TokenRefusal),
    /// The proof is not taken.
    Proof(ProofRefusal),
    /// Neither was looked at: too many have proven nothing yet, and are to come again after this.
    Crowded(Duration),
}

/// Where an installation stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether its key was disconnected (ERR-13).
    pub key_revoked: bool,
    /// Whether the member disconnected the client after this sign-in (ERR-12).
    pub client_revoked: bool,
    /// The installation, when it called before, and when it did last.
    pub installation: Option<(InstallationId, Moment)>,
}

/// What the limits say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// It may go on.
    Passes,
    /// Too many requests: of the member's client, of the client, or account checks.
    Rate(Duration),
    /// The day's writes are used up.
    Quota,
    /// The limits cannot be asked.
    RatesUnknown,
    /// Writes cannot be counted.
    QuotaUnknown,
}

/// Why the ops of a set do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverQuota {
    /// They would exceed the day's writes.
    Exceeded,
    /// Nobody can count them.
    Unknown,
}

/// What is told in the headers of the limit (GW-08).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Requests per minute.
    pub limit: u32,
    /// How many more may come at once.
    pub remaining: u32,
    /// How long until all of them may.
    pub full_in: Duration,
}

impl Facts {
    /// What a request says by itself.
    #[must_use]
    pub fn of(request: Request<Body>, environment: &Environment) -> Self {
        let (head, body) = request.into_parts();
        let now = environment.now();
        Self {
            now,
            came: now,
            peer: Peer::of(&head.extensions),
            correlation_id: correlation_id(&head, environment),
            operation: super::operation(&head.method, head.uri.path()),
            head: Arc::new(head),
            address: None,
            body: None,
            proven: None,
            registry: None,
            standing: None,
            limited: None,
            rate: None,
            counted: None,
            over_quota: None,
            read: None,
            key: None,
            sealed: false,
            unread: Mutex::new(Some(body)),
            held: None,
            ended: None,
        }
    }

    /// Its path, as it was sent.
    #[must_use]
    pub fn path(&self) -> &str {
        self.head.uri.path()
    }

    /// The body, as far as it was read.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.body.as_ref().and_then(|body| body.as_ref().ok()).cloned().unwrap_or_default()
    }

    /// What the token says, once it is proven.
    #[must_use]
    pub fn proven(&self) -> Option<&Proven> {
        self.proven.as_ref()?.as_ref().ok()
    }

    /// The client's entry in the registry, once it was admitted.
    #[must_use]
    pub fn client(&self) -> Option<&Client> {
        let registry = self.registry.as_ref()?.as_ref().ok()?;
        registry.clients.get(&self.proven()?.token.client)
    }

    /// The claim on the request's key, while it is this request's.
    #[must_use]
    pub fn claim(&self) -> Option<&Claim> {
        match self.key.as_ref()? {
            Ok(Found::Claimed(claim)) => Some(claim),
            _ => None,
        }
    }

    /// The request's value of a header that must not repeat.
    #[must_use]
    pub fn only(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.headers.get_all(name).iter();
        lines.next().filter(|_| lines.next().is_none())?.to_str().ok()
    }

    /// For what reads requests by the contract: without token and proof, which nobody behind the gateway
    /// needs.
    #[must_use]
    pub fn context(&self) -> Context {
        let head = if self.sealed { Arc::clone(&self.head) } else { Arc::new(without_secrets(&self.head)) };
        Context::new(head, self.operation, self.bytes())
    }

    /// The same, with who calls: for the backend.
    #[must_use]
    pub fn context_of(&mut self, caller: Caller) -> Context {
        self.seal();
        Arc::make_mut(&mut self.head).extensions.insert(caller);
        self.context()
    }

    /// Forgets token and proof, which nobody asks for once they are proven: so the head need not be copied for whoever
    /// reads it by the contract.
    pub(super) fn seal(&mut self) {
        if !self.sealed {
            strip(Arc::make_mut(&mut self.head));
            self.sealed = true;
        }
    }

    /// Who calls, for the backend. `None` before the request is proven.
    #[must_use]
    pub fn caller(&self) -> Option<Caller> {
        let Proven { token, jkt } = self.proven()?;
        let standing = self.standing.as_ref().and_then(|standing| standing.as_ref().ok());
        Some(Caller {
            member: token.member.clone(),
            client: token.client.clone(),
            installation: standing.and_then(|own| own.installation.as_ref()).map(|(id, _)| id.clone()),
            jkt: jkt.clone(),
            scopes: token.scopes.clone(),
            auth_time: token.auth_time,
            correlation_id: self.correlation_id.as_str().to_owned(),
            claim: self.claim().cloned(),
        })
    }
}

fn without_secrets(head: &Parts) -> Parts {
    let mut head = head.clone();
    strip(&mut head);
    head
}

/// Leaves of a head what the contract and the backend know of.
fn strip(head: &mut Parts) {
    for secret in [http::header::AUTHORIZATION.as_str(), "dpop", "cookie"] {
        head.headers.remove(secret);
    }
    head.extensions.clear();
}
