//! The order of checks (GW-01), as data.
//!
//! Each [`Stage`] declares the codes that it may refuse with, and what a refused request has consumed and which headers
//! its response carries. The driver follows these declarations. The tests check both against every pair of stages.

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

/// One check, or several that the contract lists together.
#[derive(Debug)]
pub struct Stage {
    /// The stage's name in the contract.
    pub name: &'static str,
    /// The codes that the stage refuses with, in order of precedence.
    pub codes: &'static [Code],
    /// The effects of a refusal at this stage.
    pub effects: StageEffects,
    /// Gathers the facts for the decision. The only step that waits or has effects.
    pub(super) gather: Option<StageAction>,
    /// Decides whether the request continues. A pure function.
    pub(super) decide: fn(&RequestFacts, &Config) -> Result<(), EarlyResponse>,
    pub(super) on_pass: Option<StageAction>,
}

/// Headers of a refusal at a stage, and resources that the request has consumed by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageEffects {
    /// `DPoP-Nonce` (DPP-11).
    pub nonce: EffectFrequency,
    /// `RateLimit` and `RateLimit-Policy` (GW-08).
    pub rate: EffectFrequency,
    /// Whether the proof is recorded as used (DPP-19).
    pub proof: EffectFrequency,
    /// Whether the installation is created or updated (A32).
    pub installation: EffectFrequency,
    /// Whether a write is counted against the daily quota (GW-07). Org stock counts its ops later.
    pub quota: EffectFrequency,
}

/// How often an effect applies to the refusals of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectFrequency {
    /// To no refusal.
    Never,
    /// To some refusals, depending on the code.
    Sometimes,
    /// To every refusal.
    Always,
}

/// A function that gathers facts for a stage.
pub(super) type StageAction = for<'a> fn(&'a GatewayPorts, &'a mut RequestFacts) -> StageFuture<'a>;

pub(super) type StageFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

use EffectFrequency::{Always, Never, Sometimes};

const BEFORE_TOKEN: StageEffects =
    StageEffects { nonce: Never, rate: Never, proof: Never, installation: Never, quota: Never };
const AFTER_TOKEN: StageEffects = StageEffects { nonce: Always, proof: Always, ..BEFORE_TOKEN };
const AFTER_INSTALLATION: StageEffects = StageEffects { installation: Always, ..AFTER_TOKEN };
const AFTER_QUOTA: StageEffects = StageEffects { rate: Always, quota: Always, ..AFTER_INSTALLATION };

/// The number of stages that also apply to anonymous routes.
pub(super) const ANONYMOUS_AFTER: usize = 2;

/// The stages of GW-01, with the additions of A38. Checks of the backend follow after all of them (GW-02).
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
        // If the provider is unreachable the token is not read, so the refusal carries no nonce (DPP-11).
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
        // A32: a caller that passes this stage gets an installation.
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
        // Only quota refusals have passed the rate limit.
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
        // If the response budget is exhausted the write does not consume quota (ERR-35).
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
