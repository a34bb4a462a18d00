//! Stages 3 and 4: the token, the proof of its key, and whom the token is for.
//!
//! The proof's order is that of the DPoP library: form and signature, then the nonce, then the claims,
//! then whether it was seen before (DPP-15, DPP-16). The token is judged before, since a proof says
//! nothing without one.

use dpop_bound::{Binding, Es256, Expected, Holder, Refusal, SignedProof, Target, Thumbprint, TokenHash};
use exchange_api::refusals::{PlainCode, TimedCode};

use super::Asking;
use crate::config::Config;
use crate::gateway::ending::{Ending, Refused};
use crate::gateway::facts::{Facts, Proven, Unproven};
use crate::gateway::newcomers;
use crate::gateway::ports::Ports;
use crate::idp::tokens::TokenRefusal;
use crate::time::Moment;

pub(super) fn ask<'a>(ports: &'a Ports, facts: &'a mut Facts) -> Asking<'a> {
    Box::pin(async move {
        let last = ports.known.last(facts.peer);
        let proven = prove(ports, facts, last).await;
        match &proven {
            Ok(_) => {
                ports.known.note(facts.peer, last, facts.now);
                facts.seal();
            }
            Err(unproven) if is_forged(unproven) => ports.known.forget(facts.peer),
            Err(_) => {}
        }
        facts.proven = Some(proven);
    })
}

async fn prove(ports: &Ports, facts: &Facts, last: Option<Moment>) -> Result<Proven, Unproven> {
    let head = &facts.head;
    let presented =
        dpop_bound::http::presented(&head.headers).map_err(|refusal| Unproven::Proof(refusal.into()))?;
    newcomers::admit(ports, last, facts.now).await.map_err(Unproven::Crowded)?;
    let hash = TokenHash::of(presented.token);
    let token = ports.tokens.verify(presented.token, &hash, facts.now).await.map_err(Unproven::Token)?;
    let bound = match &token.jkt {
        Some(jkt) => Some(jkt.parse::<Thumbprint>().map_err(|_| Unproven::Token(TokenRefusal::Malformed))?),
        None => None,
    };
    let proof = |refusal: Refusal| Unproven::Proof(refusal);
    let signed = SignedProof::read(presented.proof, &Es256).map_err(|refusal| proof(refusal.into()))?;
    let now = facts.now.unix();
    ports.nonces.check(signed.nonce(), now).map_err(|refusal| proof(refusal.into()))?;
    let checked = signed
        .check(&Expected {
            method: head.method.as_str(),
            target: Target::Request(&ports.origin, head.uri.path()),
            now,
            window: ports.proofs.window(),
            binding: Binding::Token { hash: &hash, jkt: bound.as_ref() },
        })
        .map_err(|refusal| proof(refusal.into()))?;
    let candidate = checked.candidate(Holder::Account(token.member.as_str()));
    ports.proofs.admit(&candidate, now).await.map_err(|refusal| proof(refusal.into()))?;
    Ok(Proven { jkt: checked.thumbprint().to_string(), token })
}

/// Whether a token or proof was never any: no client of a member sends such a one.
fn is_forged(unproven: &Unproven) -> bool {
    use TokenRefusal::{Algorithm, Key, Malformed, Signature, Type};
    match unproven {
        Unproven::Token(refusal) => matches!(refusal, Malformed | Type | Algorithm | Key | Signature),
        Unproven::Proof(refusal) => matches!(refusal, Refusal::Form(_)),
        Unproven::Crowded(_) => false,
    }
}

pub(super) fn decide(facts: &Facts, _: &Config) -> Result<(), Ending> {
    match &facts.proven {
        Some(Ok(_)) => Ok(()),
        Some(Err(Unproven::Token(refusal))) => Err(Refused::of_judgement(*refusal).into()),
        Some(Err(Unproven::Proof(refusal))) => Err(Refused::of_proof(refusal).into()),
        Some(Err(Unproven::Crowded(wait))) => {
            Err(Refused::timed(TimedCode::ServiceUnavailable, *wait).quiet().because("crowded").into())
        }
        None => Err(Refused::plain(PlainCode::Unauthenticated).into()),
    }
}

/// IDP-07: a token of the issuer that is not for the gateway.
pub(super) fn decide_audience(facts: &Facts, config: &Config) -> Result<(), Ending> {
    match facts.proven() {
        Some(proven) if proven.token.is_for(&config.audience) => Ok(()),
        _ => {
            let why = "the token is not for this server";
            Err(Refused::of_token(PlainCode::Unauthenticated, why).into())
        }
    }
}
