//! Proofs at the token and the revocation endpoint: checked before the grant is looked at (IDP-22).

use std::sync::Arc;

use dpop_bound::claims::ClaimRefusal;
use dpop_bound::live::LiveRefusal;
use dpop_bound::nonce::{Nonce, NonceKey};
use dpop_bound::{
    Binding, Es256, Expected, Holder, Htu, NonceIssuer, ReplayStore, SignedProof, Target, Thumbprint,
};
use exchange_api::oauth_errors::OauthError;
use http::HeaderMap;

use super::refusal::Refusal;
use crate::config::Profile;
use crate::peer::Peer;
use crate::time::Moment;

/// What checks them.
pub(super) struct Proofs {
    profile: Profile,
    live: Arc<dyn ReplayStore>,
    nonces: NonceIssuer,
}

/// Where a request came to, and from whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    /// The endpoint's address, which `htu` has to be (DPP-08).
    pub(super) endpoint: &'a Htu,
    /// The source.
    pub(super) peer: Peer,
    /// The client, which is known: one that a request only claims is no bound on anything.
    pub(super) client: &'a str,
}

impl Proofs {
    /// With the key of nonces of all who share the proofs.
    pub(super) fn new(profile: Profile, live: Arc<dyn ReplayStore>, key: &NonceKey) -> Self {
        Self { profile, live, nonces: NonceIssuer::new(key, "idp") }
    }

    /// The nonce that an answer carries, where the profile has nonces.
    pub(super) fn nonce(&self, now: Moment) -> Option<Nonce> {
        match self.profile {
            Profile::Keycloak => None,
            Profile::Rfc9449 => Some(self.nonces.issue(now.unix())),
        }
    }

    /// The key of the request's proof, once the proof is checked and remembered.
    pub(super) async fn check(
        &self,
        headers: &HeaderMap,
        asked: Asked<'_>,
        now: Moment,
    ) -> Result<Thumbprint, Refusal> {
        let checked = self.read(headers, asked.endpoint, now).map_err(|refusal| self.refuse(refusal))?;
        let holder = Holder::Source { address: asked.peer.0, client: asked.client };
        let admitted = self.live.admit(&checked.candidate(holder), now.unix()).await;
        admitted.map_err(|refusal| self.refuse(refusal.into()))?;
        Ok(*checked.thumbprint())
    }

    fn read(
        &self,
        headers: &HeaderMap,
        endpoint: &Htu,
        now: Moment,
    ) -> Result<dpop_bound::claims::CheckedProof, dpop_bound::Refusal> {
        let signed = SignedProof::read(dpop_bound::http::proof(headers)?, &Es256)?;
        if self.profile == Profile::Rfc9449 {
            self.nonces.check(signed.nonce(), now.unix())?;
        }
        Ok(signed.check(&Expected {
            method: "POST",
            target: Target::Url(endpoint),
            now: now.unix(),
            window: self.live.window(),
            binding: Binding::AnyKey,
        })?)
    }

    /// The refusal in the words of the profile.
    fn refuse(&self, refusal: dpop_bound::Refusal) -> Refusal {
        if let dpop_bound::Refusal::Live(live) = refusal {
            match live {
                LiveRefusal::AccountFull { wait } | LiveRefusal::SourceFull { wait } => {
                    return Refusal::Wait(wait);
                }
                LiveRefusal::Full { wait } => return Refusal::Unavailable(wait),
                LiveRefusal::Unavailable => return Refusal::Unavailable(std::time::Duration::from_secs(60)),
                _ => {}
            }
        }
        let error = match refusal {
            dpop_bound::Refusal::Nonce(_) => OauthError::UseDpopNonce,
            _ if self.profile == Profile::Keycloak && is_about_time(&refusal) => OauthError::InvalidRequest,
            _ => OauthError::InvalidDpopProof,
        };
        Refusal::new(error, format!("DPoP: {refusal}"))
    }
}

const fn is_about_time(refusal: &dpop_bound::Refusal) -> bool {
    matches!(
        refusal,
        dpop_bound::Refusal::Claim(ClaimRefusal::Old | ClaimRefusal::Early)
            | dpop_bound::Refusal::Live(LiveRefusal::Expired | LiveRefusal::TooFarAhead)
    )
}
