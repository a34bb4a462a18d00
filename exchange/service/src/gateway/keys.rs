//! The store of idempotency keys as used by the gateway. Each access is a separate, short write transaction.

use contract_runtime::server::EncodedResponse;
use dpop_bound::MaybeReady;

use crate::Caller;
use crate::idempotency::{self, ClaimOutcome, ClaimRequest, Completion, KeyRetention};
use crate::ids::{ClientId, MemberId};
use crate::shared::SharedStateError;
use crate::store::{Store, StoreError};
use crate::time::Moment;

/// A request to claim an idempotency key.
#[derive(Clone, Debug)]
pub struct KeyRequest {
    /// The id of the client.
    pub client: ClientId,
    /// The id of the member.
    pub member: MemberId,
    /// The idempotency key, as sent.
    pub key: String,
    /// The request hash ([`idempotency::request_hash`]).
    pub request: [u8; 32],
    /// The fencing token of the claim to create.
    pub fence: i64,
}

/// A store of idempotency keys.
pub trait KeyStore: Send + Sync {
    /// Looks up a key, and claims it if it is free.
    fn claim(
        &self,
        key_request: KeyRequest,
        terms: KeyRetention,
        now: Moment,
    ) -> MaybeReady<'_, Result<ClaimOutcome, SharedStateError>>;

    /// Stores a rejection under the claimed key, or releases the claim if rejections of this kind are never
    /// stored. Does nothing if the claim already has a response.
    fn complete(
        &self,
        caller: Caller,
        response: EncodedResponse,
        now: Moment,
    ) -> MaybeReady<'_, Result<Completion, SharedStateError>>;
}

impl KeyStore for Store {
    fn claim(
        &self,
        key_request: KeyRequest,
        terms: KeyRetention,
        now: Moment,
    ) -> MaybeReady<'_, Result<ClaimOutcome, SharedStateError>> {
        MaybeReady::boxed(async move {
            // The claim does not need to be durable immediately; the write that completes it makes both
            // durable.
            let found = self.write_ahead(move |connection| {
                let KeyRequest { client, member, key, request, fence } = &key_request;
                let key_request = ClaimRequest { client, member, key, request: *request, fence: *fence };
                idempotency::claim_key(connection, &key_request, &terms, now)
            });
            found.await.map_err(|error: StoreError| SharedStateError::from_error(&error))
        })
    }

    fn complete(
        &self,
        caller: Caller,
        response: EncodedResponse,
        now: Moment,
    ) -> MaybeReady<'_, Result<Completion, SharedStateError>> {
        MaybeReady::boxed(async move {
            let settled = self
                .write(move |connection| idempotency::complete_claim(connection, &caller, &response, now));
            settled.await.map_err(|error: StoreError| SharedStateError::from_error(&error))
        })
    }
}
