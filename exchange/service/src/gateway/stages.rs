//! The order of checks (GW-01), as data.
//!
//! Each [`Stage`] says which codes it may refuse with and what a request that it refuses has cost and
//! carries. The driver goes by what is declared here; the tests take every pair of stages and hold both
//! to it.

mod key;
pub(super) use key::ops;
mod limits;
mod line;
mod proof;
mod schema;
mod source;
mod standing;

use std::future::Future;
use std::pin::Pin;

use exchange_api::codes::Code;

use super::ending::Ending;
use super::facts::Facts;
use super::ports::Ports;
use crate::config::Config;

/// One check, or a few that the contract names together.
#[derive(Debug)]
pub struct Stage {
    /// Its name in the contract's order.
    pub name: &'static str,
    /// The codes that it refuses with, in its own order.
    pub codes: &'static [Code],
    /// What a request that is refused here carries and has cost.
    pub effects: Effects,
    /// Finds out what the decision needs: the only part that waits, or changes anything.
    pub(super) ask: Option<Ask>,
    /// Whether the request goes on: pure.
    pub(super) decide: fn(&Facts, &Config) -> Result<(), Ending>,
    /// What happens because it goes on.
    pub(super) then: Option<Ask>,
}

/// What a refusal of a stage carries, and what the request has cost by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects {
    /// `DPoP-Nonce` (DPP-11).
    pub nonce: Given,
    /// `RateLimit` and `RateLimit-Policy` (GW-08).
    pub rate: Given,
    /// Whether the proof has taken room (DPP-19).
    pub proof: Given,
    /// Whether the key's installation was made or seen (A32).
    pub installation: Given,
    /// Whether a write is counted against the day's quota (GW-07); org stock counts its ops later.
    pub quota: Given,
}

/// Whether something is given, or taken, at a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// By none of its refusals.
    Never,
    /// By some: the refusal says which.
    Sometimes,
    /// By all.
    Always,
}

/// What a stage finds out.
pub(super) type Ask = for<'a> fn(&'a Ports, &'a mut Facts) -> Asking<'a>;

/// It is on its way.
pub(super) type Asking<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

use Given::{Always, Never, Sometimes};

const UNREAD: Effects =
    Effects { nonce: Never, rate: Never, proof: Never, installation: Never, quota: Never };
const READ: Effects = Effects { nonce: Always, proof: Always, ..UNREAD };
const KNOWN: Effects = Effects { installation: Always, ..READ };
const COUNTED: Effects = Effects { rate: Always, quota: Always, ..KNOWN };

/// Behind so many stages the anonymous routes are answered.
pub(super) const ANONYMOUS_AFTER: usize = 2;

/// GW-01, with the places that A38 adds. What the backend checks comes after all of them (GW-02).
pub static STAGES: [Stage; 14] = [
    Stage {
        name: "method, path and query",
        codes: &[Code::NotFound, Code::SchemaInvalid],
        effects: UNREAD,
        ask: None,
        decide: line::decide,
        then: None,
    },
    Stage {
        name: "per-IP limit and body size",
        codes: &[Code::RateLimited, Code::PayloadTooLarge, Code::SchemaInvalid, Code::ServiceUnavailable],
        effects: UNREAD,
        ask: Some(source::ask),
        decide: source::decide,
        then: None,
    },
    Stage {
        name: "token and proof",
        codes: &[
            Code::Unauthenticated,
            Code::DpopRequired,
            Code::DpopInvalid,
            Code::DpopProofLimit,
            Code::ServiceUnavailable,
        ],
        // A provider that cannot be reached is answered before the token is read (DPP-11).
        effects: Effects { nonce: Sometimes, ..UNREAD },
        ask: Some(proof::ask),
        decide: proof::decide,
        then: None,
    },
    Stage {
        name: "token audience",
        codes: &[Code::Unauthenticated],
        effects: READ,
        ask: None,
        decide: proof::decide_audience,
        then: None,
    },
    Stage {
        name: "route",
        codes: &[Code::NotFound],
        effects: READ,
        ask: None,
        decide: standing::decide_route,
        then: None,
    },
    Stage {
        name: "exchange switch and registry",
        codes: &[
            Code::RegistryUnavailable,
            Code::ExchangeDisabled,
            Code::ClientNotAllowed,
            Code::ClientSuspended,
        ],
        effects: READ,
        ask: Some(standing::ask_registry),
        decide: standing::decide_registry,
        then: None,
    },
    Stage {
        name: "installation key",
        codes: &[Code::ServiceUnavailable, Code::InstallationRevoked],
        effects: READ,
        ask: Some(standing::ask_standing),
        decide: standing::decide_key,
        then: None,
    },
    Stage {
        name: "client revocation",
        codes: &[Code::ClientRevoked],
        effects: READ,
        ask: None,
        decide: standing::decide_client,
        // A32: whoever came so far is an installation.
        then: Some(standing::see),
    },
    Stage {
        name: "route scope",
        codes: &[Code::ScopeMissing],
        effects: KNOWN,
        ask: None,
        decide: standing::decide_scope,
        then: None,
    },
    Stage {
        name: "minimum version",
        codes: &[Code::ClientVersionUnsupported],
        effects: KNOWN,
        ask: None,
        decide: standing::decide_version,
        then: None,
    },
    Stage {
        name: "limits and quota",
        codes: &[Code::ServiceUnavailable, Code::RateLimited, Code::QuotaExceeded],
        // Only what is refused for the quota has passed the limit.
        effects: Effects { rate: Sometimes, ..KNOWN },
        ask: Some(limits::ask),
        decide: limits::decide,
        then: None,
    },
    Stage {
        name: "media type",
        codes: &[Code::UnsupportedMediaType],
        effects: COUNTED,
        ask: None,
        decide: key::decide_media,
        then: None,
    },
    Stage {
        name: "Idempotency-Key",
        codes: &[
            Code::IdempotencyKeyMissing,
            Code::SchemaInvalid,
            Code::ServiceUnavailable,
            Code::IdempotencyKeyReused,
            Code::IdempotencyInProgress,
            Code::ExchangeBudgetExhausted,
            Code::QuotaExceeded,
        ],
        // Without room for its answer a write costs nothing (ERR-35).
        effects: Effects { quota: Sometimes, ..COUNTED },
        ask: Some(key::ask),
        decide: key::decide,
        then: None,
    },
    Stage {
        name: "schema of the body",
        codes: &[
            Code::SchemaInvalid,
            Code::BatchTooLarge,
            Code::CursorExpired,
            Code::QuotaExceeded,
            Code::ServiceUnavailable,
        ],
        effects: COUNTED,
        ask: Some(schema::ask),
        decide: schema::decide,
        then: None,
    },
];
