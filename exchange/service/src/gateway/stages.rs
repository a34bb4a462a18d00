//! The stages of the gateway in their order (GW-01), as data.
//!
//! Each [`Stage`] declares the codes with which it may refuse a request, the resources that a refused request
//! has consumed, and the headers of the response. The gateway follows these declarations. Tests check them
//! for every pair of stages.

mod idempotency_key;
pub(super) use idempotency_key::change_set_size;
mod admission;
mod limits;
mod proof;
mod request_line;
mod schema;
mod source;

use std::future::Future;
use std::pin::Pin;

use exchange_api::codes::Code;

use super::early_response::EarlyResponse;
use super::facts::RequestFacts;
use super::ports::GatewayPorts;
use crate::config::Config;

/// One check, or several checks that the contract lists as one step.
#[derive(Debug)]
pub struct Stage {
    /// The name of the stage in the contract.
    pub name: &'static str,
    /// The codes with which the stage may refuse a request, in order of precedence.
    pub codes: &'static [Code],
    /// The effects of a rejection at this stage.
    pub effects: StageEffects,
    /// Gathers the facts for the decision. This is the only step that waits or has side effects.
    pub(super) gather: Option<StageAction>,
    /// Decides whether the request continues. This is a pure function.
    pub(super) decide: fn(&RequestFacts, &Config) -> Result<(), EarlyResponse>,
    pub(super) on_pass: Option<StageAction>,
}

/// The headers of a rejection at a stage, and the resources that the request has consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageEffects {
    /// The rejections with the header `DPoP-Nonce` (DPP-11).
    pub nonce: EffectFrequency,
    /// The rejections with the headers `RateLimit` and `RateLimit-Policy` (GW-08).
    pub rate: EffectFrequency,
    /// The rejections for which the proof is recorded as used (DPP-19).
    pub proof: EffectFrequency,
    /// The rejections for which the installation is created or updated (A32).
    pub installation: EffectFrequency,
    /// The rejections of writes that count against the daily quota (GW-07). The ops of org stock are counted
    /// at a later stage.
    pub quota: EffectFrequency,
}

/// The rejections of a stage to which an effect applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectFrequency {
    /// The effect applies to no rejection.
    Never,
    /// The effect applies to some rejections, depending on the code.
    Sometimes,
    /// The effect applies to every rejection.
    Always,
}

/// A function that gathers facts for a stage, or that runs after a request passed a stage.
pub(super) type StageAction = for<'a> fn(&'a GatewayPorts, &'a mut RequestFacts) -> StageFuture<'a>;

pub(super) type StageFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

use EffectFrequency::{Always, Never, Sometimes};

const BEFORE_TOKEN: StageEffects =
    StageEffects { nonce: Never, rate: Never, proof: Never, installation: Never, quota: Never };
const AFTER_TOKEN: StageEffects = StageEffects { nonce: Always, proof: Always, ..BEFORE_TOKEN };
const AFTER_INSTALLATION: StageEffects = StageEffects { installation: Always, ..AFTER_TOKEN };
const AFTER_QUOTA: StageEffects = StageEffects { rate: Always, quota: Always, ..AFTER_INSTALLATION };

/// The number of stages that a request for an anonymous route passes.
pub(super) const ANONYMOUS_AFTER: usize = 2;

/// The stages of GW-01, with the additions of A38. The backend's checks follow after all of them (GW-02).
pub static STAGES: [Stage; 14] = [
    Stage {
        name: "method, path and query",
        codes: &[Code::NotFound, Code::SchemaInvalid],
        effects: BEFORE_TOKEN,
        gather: None,
        decide: request_line::decide_request_line,
        on_pass: None,
    },
    Stage {
        name: "per-IP limit and body size",
        codes: &[Code::RateLimited, Code::PayloadTooLarge, Code::SchemaInvalid, Code::ServiceUnavailable],
        effects: BEFORE_TOKEN,
        gather: Some(source::read_source),
        decide: source::decide_source,
        on_pass: None,
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
        // If the provider is unreachable, the token is not verified, so the rejection has no nonce (DPP-11).
        effects: StageEffects { nonce: Sometimes, ..BEFORE_TOKEN },
        gather: Some(proof::verify_credentials),
        decide: proof::decide_credentials,
        on_pass: None,
    },
    Stage {
        name: "token audience",
        codes: &[Code::Unauthenticated],
        effects: AFTER_TOKEN,
        gather: None,
        decide: proof::decide_audience,
        on_pass: None,
    },
    Stage {
        name: "route",
        codes: &[Code::NotFound],
        effects: AFTER_TOKEN,
        gather: None,
        decide: admission::decide_route,
        on_pass: None,
    },
    Stage {
        name: "exchange switch and registry",
        codes: &[
            Code::RegistryUnavailable,
            Code::ExchangeDisabled,
            Code::ClientNotAllowed,
            Code::ClientSuspended,
        ],
        effects: AFTER_TOKEN,
        gather: Some(admission::load_registry),
        decide: admission::decide_registry,
        on_pass: None,
    },
    Stage {
        name: "installation key",
        codes: &[Code::ServiceUnavailable, Code::InstallationRevoked],
        effects: AFTER_TOKEN,
        gather: Some(admission::load_installation_status),
        decide: admission::decide_key,
        on_pass: None,
    },
    Stage {
        name: "client revocation",
        codes: &[Code::ClientRevoked],
        effects: AFTER_TOKEN,
        gather: None,
        decide: admission::decide_client,
        // A32: an installation is created or updated for a caller that passes this stage.
        on_pass: Some(admission::record_installation),
    },
    Stage {
        name: "route scope",
        codes: &[Code::ScopeMissing],
        effects: AFTER_INSTALLATION,
        gather: None,
        decide: admission::decide_scope,
        on_pass: None,
    },
    Stage {
        name: "minimum version",
        codes: &[Code::ClientVersionUnsupported],
        effects: AFTER_INSTALLATION,
        gather: None,
        decide: admission::decide_version,
        on_pass: None,
    },
    Stage {
        name: "limits and quota",
        codes: &[Code::ServiceUnavailable, Code::RateLimited, Code::QuotaExceeded],
        // Only a request that is refused because of the quota has passed the rate limit.
        effects: StageEffects { rate: Sometimes, ..AFTER_INSTALLATION },
        gather: Some(limits::apply_limits),
        decide: limits::decide_limits,
        on_pass: None,
    },
    Stage {
        name: "media type",
        codes: &[Code::UnsupportedMediaType],
        effects: AFTER_QUOTA,
        gather: None,
        decide: idempotency_key::decide_media,
        on_pass: None,
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
        // If the budget for stored responses is exhausted, the write does not consume quota (ERR-35).
        effects: StageEffects { quota: Sometimes, ..AFTER_QUOTA },
        gather: Some(idempotency_key::claim_key),
        decide: idempotency_key::decide_idempotency,
        on_pass: None,
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
        effects: AFTER_QUOTA,
        gather: Some(schema::check_ops_quota),
        decide: schema::decide_schema,
        on_pass: None,
    },
];
