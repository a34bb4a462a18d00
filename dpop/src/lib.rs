//! DPoP for both sides of a connection, without I/O.

pub mod live;
pub mod nonce;
pub mod time;

pub use live::{Caps, LiveProofs, Presented, Refused};
pub use nonce::Nonce;
pub use time::{UnixTime, Window};
