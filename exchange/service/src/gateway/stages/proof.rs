//! Stages 3 and 4: verify the access token, the proof of possession of its key, and the audience of the
//! token.
//!
//! The proof is checked in the order of the DPoP library: format and signature, nonce, claims, replay
//! (DPP-15, DPP-16). The token is verified before the proof, because the proof is bound to the token.

use dpop_bound::{
    Es256, ExpectedRequest, KeyBinding, ProofHolder, RequestTarget, SignedProof, Thumbprint, TokenHash,
    VerificationError,
};
use exchange_api::error_responses::{PlainCode, TimedCode};

use super::StageFuture;
use crate::config::Config;
use crate::gateway::early_response::{EarlyResponse, StageRejection};
use crate::gateway::facts::{CredentialsError, RequestFacts, VerifiedCredentials};
use crate::gateway::newcomers;
use crate::gateway::ports::GatewayPorts;
use crate::idp::tokens::TokenError;
use crate::time::Moment;

pub(super) fn verify_credentials<'a>(
    ports: &'a GatewayPorts,
    facts: &'a mut RequestFacts,
) -> StageFuture<'a> {
    Box::pin(async move {
        let last = ports.recent_sources.last_proven(facts.peer);
        let proven = verify_request(ports, facts, last).await;
        match &proven {
            Ok(_) => {
                ports.recent_sources.record_proof(facts.peer, last, facts.now);
                facts.remove_credentials();
            }
            Err(error) if is_forged(error) => ports.recent_sources.forget(facts.peer),
            Err(_) => {}
        }
        facts.credentials = Some(proven);
    })
}

async fn verify_request(
    ports: &GatewayPorts,
    facts: &RequestFacts,
    last: Option<Moment>,
) -> Result<VerifiedCredentials, CredentialsError> {
    let head = &facts.head;
    let presented = dpop_bound::http::parse_credentials(&head.headers)
        .map_err(|error| CredentialsError::Proof(error.into()))?;
    newcomers::admit_newcomer(ports, last, facts.now).await.map_err(CredentialsError::Overloaded)?;
    let hash = TokenHash::from_token(presented.token);
    let token = ports
        .tokens
        .verify_token(presented.token, &hash, facts.now)
        .await
        .map_err(CredentialsError::Token)?;
    let bound = match &token.jkt {
        Some(jkt) => {
            Some(jkt.parse::<Thumbprint>().map_err(|_| CredentialsError::Token(TokenError::Malformed))?)
        }
        None => None,
    };
    let proof = |error: VerificationError| CredentialsError::Proof(error);
    let signed =
        SignedProof::verify_signature(presented.proof, &Es256).map_err(|error| proof(error.into()))?;
    let now = facts.now.to_unix_time();
    ports.nonces.check_nonce(signed.nonce(), now).map_err(|error| proof(error.into()))?;
    let checked = signed
        .check_claims(&ExpectedRequest {
            method: head.method.as_str(),
            target: RequestTarget::Request(&ports.origin, head.uri.path()),
            now,
            window: ports.proofs.window(),
            binding: KeyBinding::Token { hash: &hash, jkt: bound.as_ref() },
        })
        .map_err(|error| proof(error.into()))?;
    let candidate = checked.replay_candidate(ProofHolder::Account(token.member.as_str()));
    ports.proofs.admit(&candidate, now).await.map_err(|error| proof(error.into()))?;
    Ok(VerifiedCredentials { jkt: checked.thumbprint().to_string(), token })
}

/// Returns true if the token or the proof is malformed or forged. No genuine client sends such credentials.
fn is_forged(error: &CredentialsError) -> bool {
    use TokenError::{Algorithm, Key, Malformed, Signature, WrongType};
    match error {
        CredentialsError::Token(error) => {
            matches!(error, Malformed | WrongType | Algorithm | Key | Signature)
        }
        CredentialsError::Proof(error) => matches!(error, VerificationError::Format(_)),
        CredentialsError::Overloaded(_) => false,
    }
}

pub(super) fn decide_credentials(facts: &RequestFacts, _: &Config) -> Result<(), EarlyResponse> {
    match &facts.credentials {
        Some(Ok(_)) => Ok(()),
        Some(Err(CredentialsError::Token(error))) => Err(StageRejection::from_token_error(*error).into()),
        Some(Err(CredentialsError::Proof(error))) => Err(StageRejection::from_proof_error(error).into()),
        Some(Err(CredentialsError::Overloaded(wait))) => {
            Err(StageRejection::from_timed_code(TimedCode::ServiceUnavailable, *wait)
                .without_nonce()
                .with_reason("newcomer-limit")
                .into())
        }
        None => Err(StageRejection::from_code(PlainCode::Unauthenticated).into()),
    }
}

/// Requires that the token's audience is the gateway (IDP-07).
pub(super) fn decide_audience(facts: &RequestFacts, config: &Config) -> Result<(), EarlyResponse> {
    match facts.credentials() {
        Some(proven) if proven.token.is_for(&config.audience) => Ok(()),
        _ => {
            let why = "the token is not for this server";
            Err(StageRejection::invalid_token(PlainCode::Unauthenticated, why).into())
        }
    }
}
