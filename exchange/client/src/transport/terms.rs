//! What else has to be so when a call is signed: looked at with the very grant that signs it.

use std::ops::RangeInclusive;

use dpop_bound::UnixTime;

use crate::{
    error::{Error, ErrorKind},
    tokens::Grant,
    whose::{Belongs, Whose},
};

/// Under what a call may be sent. Among the extensions of its request; a call without any may always be.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// Whose call it is: it is signed with nobody else's token.
    pub(crate) whose: Whose,
    /// What its proof may say the time is. The gateway takes no proof but one whose time is right by its own clock, so
    /// this is kept by that clock, whatever the clocks here were set to meanwhile.
    pub(crate) signed_at: Option<RangeInclusive<UnixTime>>,
}

impl Terms {
    /// Fails, before anything is sent, where this grant is not the one that they are about. A session may become
    /// another member's at any time, and what is written can stand in one account alone.
    pub(super) fn allow(&self, grant: &Grant) -> Result<(), Error> {
        match self.whose.belongs_to(&grant.whose) {
            Belongs::Own => Ok(()),
            // Of a call of a connection that never had a name nobody will tell.
            Belongs::Unknown if self.whose.installation.is_some() => {
                let what =
                    "it is not known yet whose the new connection is, and so not whether this is theirs";
                Err(Error::new(ErrorKind::Busy, what))
            }
            Belongs::Anothers | Belongs::Unknown | Belongs::Nobodys => {
                let what = "somebody else signed in than who this is for";
                Err(Error::new(ErrorKind::SignInNeeded, what))
            }
        }
    }

    /// Fails, before anything is sent, where a proof says another time than they allow.
    pub(super) fn allow_at(&self, time: UnixTime) -> Result<(), Error> {
        if self.signed_at.as_ref().is_none_or(|allowed| allowed.contains(&time)) {
            return Ok(());
        }
        let what = "the exchange's clock shows another time than was thought: whether the change may be sent again \
                    is decided anew";
        Err(Error::new(ErrorKind::Busy, what))
    }
}
