//! Idempotency keys: the first response to a write is stored, and is returned again if the request is
//! repeated (GW-10).
//!
//! A key is *claimed* in a separate short write, before the body is validated. It is *completed* in the
//! transaction of the write itself, so either both the effect and its stored response exist or neither does.
//! In between, requests with the same key get `409 IDEMPOTENCY_IN_PROGRESS`.
//!
//! A claim is a lease. If it expires before it is completed, its reserved bytes are released, and the next
//! request may claim the key with another *fence* (fencing token). If the first attempt is still running, it
//! then fails to complete its claim and rolls back its write.
//!
//! The backend completes every success response, because only the backend can do so in the transaction of the
//! write. The gateway completes its own rejections, and the error responses of writes that were rolled back,
//! in a separate write.
//!
//! The store contains the hash of the key, the hash of the request and the bytes of the response. A claim
//! reserves bytes (LIM-20), and its completion replaces the reservation with the actual size.

mod budget;
mod claims;
mod stored_responses;
#[cfg(test)]
mod tests;

pub use budget::KeyRetention;
pub use claims::{
    ClaimOutcome, ClaimRequest, Completion, claim_key, complete_claim, expire_keys, request_hash,
};
pub use stored_responses::is_stored;
