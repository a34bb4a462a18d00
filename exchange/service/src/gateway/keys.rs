//! Idempotency keys, as the gateway asks for them: each in a short write of its own.

use contract_runtime::server::Answer;
use dpop_bound::Pending;

use crate::Caller;
use crate::idempotency::{self, Claiming, Completion, Found, Terms};
use crate::ids::{ClientId, MemberId};
use crate::shared::Unavailable;
use crate::store::{Store, StoreError};
use crate::time::Moment;

/// A key that a request brings.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The client.
    pub client: ClientId,
    /// The member.
    pub member: MemberId,
    /// The key.
    pub key: String,
    /// What it stands for ([`idempotency::request_hash`]).
    pub request: [u8; 32],
    /// The number of the claim.
    pub fence: i64,
}

/// Where keys are kept.
pub trait Keys: Send + Sync {
    /// Looks for a key, and claims it when nobody has it.
    fn claim(&self, asked: Asked, terms: Terms, now: Moment) -> Pending<'_, Result<Found, Unavailable>>;

    /// Keeps a refusal, or gives the claim back when it is one that is never kept; a claim that has its answer stays
    /// as it is.
    fn settle(
        &self,
        caller: Caller,
        answer: Answer,
        now: Moment,
    ) -> Pending<'_, Result<Completion, Unavailable>>;
}

impl Keys for Store {
    fn claim(&self, asked: Asked, terms: Terms, now: Moment) -> Pending<'_, Result<Found, Unavailable>> {
        Pending::later(async move {
            // A claim means nothing without the write that completes it.
            let found = self.write_ahead(move |connection| {
                let Asked { client, member, key, request, fence } = &asked;
                let asked = Claiming { client, member, key, request: *request, fence: *fence };
                idempotency::claim(connection, &asked, &terms, now)
            });
            found.await.map_err(|error: StoreError| Unavailable::because(&error))
        })
    }

    fn settle(
        &self,
        caller: Caller,
        answer: Answer,
        now: Moment,
    ) -> Pending<'_, Result<Completion, Unavailable>> {
        Pending::later(async move {
            let settled =
                self.write(move |connection| idempotency::complete(connection, &caller, &answer, now));
            settled.await.map_err(|error: StoreError| Unavailable::because(&error))
        })
    }
}
