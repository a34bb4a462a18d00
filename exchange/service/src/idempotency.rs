//! Idempotency keys: the first answer to a write is kept, and given again to whoever repeats it (GW-10).
//!
//! A key is *claimed* in a short write of its own before the body is looked at, and *completed* in the
//! transaction of the write that it stands for, so that there is never an effect without its answer nor an
//! answer without its effect. In between, whoever comes with the same key is told to wait
//! (`409 IDEMPOTENCY_IN_PROGRESS`). A claim is a lease: when nobody completes it, its room is free after its end and
//! its key is the next one's, under another number, the *fence*; the first attempt, should it still be on its way,
//! then finds that it has lost and undoes its write.
//!
//! The backend completes every success itself, since only it can do so in the write's transaction; what the gateway
//! refuses, and refusals that undid a write, the gateway completes in a write of its own.
//!
//! Kept are the key's hash, the request's hash and the answer's bytes. Room is reserved by the claim
//! (LIM-20) and settled by the answer.

mod answers;
mod budget;
mod claims;
#[cfg(test)]
mod tests;

pub use answers::is_kept;
pub use budget::Terms;
pub use claims::{Claiming, Completion, Found, claim, complete, expire, request_hash};
