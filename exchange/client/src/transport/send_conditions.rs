//! Conditions for sending a call, which are checked against the grant that signs it.

use std::ops::RangeInclusive;

use dpop_bound::UnixTime;

use crate::{
    error::{Error, ErrorKind},
    ownership::{Ownership, OwnershipMatch},
    token_source::AccessGrant,
};

/// The conditions under which a call may be sent. They are in the extensions of its request. A call without
/// conditions may always be sent.
#[derive(Clone, Debug)]
pub(crate) struct SendConditions {
    /// The owner of the call. It must not be signed with a token of another member.
    pub(crate) owner: Ownership,
    /// The range in which the time of the proof must be. The gateway rejects proofs with a wrong time, so
    /// this enforces a time range by the gateway's clock, even if the local clocks are changed.
    pub(crate) proof_time: Option<RangeInclusive<UnixTime>>,
}

impl SendConditions {
    /// Checks that the grant belongs to the owner of the call. Otherwise fails before anything is sent,
    /// because the session may belong to another member by now, and a write is meant for one account only.
    pub(super) fn check_owner(&self, grant: &AccessGrant) -> Result<(), Error> {
        match self.owner.compare_with(&grant.owner) {
            OwnershipMatch::Same => Ok(()),
            // The owner of a connection that ended without an installation id can never be determined.
            OwnershipMatch::Unknown if self.owner.installation.is_some() => {
                let what = "the owner of the new connection is not known yet";
                Err(Error::new(ErrorKind::Busy, what))
            }
            OwnershipMatch::Other | OwnershipMatch::Unknown | OwnershipMatch::Unowned => {
                let what = "another member is signed in now";
                Err(Error::new(ErrorKind::SignInNeeded, what))
            }
        }
    }

    /// Checks that the time of a proof is in the permitted range. Otherwise fails before anything is sent.
    pub(super) fn check_proof_time(&self, time: UnixTime) -> Result<(), Error> {
        if self.proof_time.as_ref().is_none_or(|allowed| allowed.contains(&time)) {
            return Ok(());
        }
        let what = "the estimate of the exchange's clock has changed: the client decides again whether to resend the change";
        Err(Error::new(ErrorKind::Busy, what))
    }
}
