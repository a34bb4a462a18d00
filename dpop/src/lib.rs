//! DPoP for both sides of a connection, without I/O.

pub mod challenge;
pub mod clock;
pub mod nonce;
pub mod time;

pub use challenge::{Challenge, DpopChallenge, DpopError};
pub use clock::ServerClock;
pub use nonce::Nonce;
pub use time::{UnixTime, Window};
