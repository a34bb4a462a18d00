//! DPoP for both sides of a connection, without I/O.

pub mod nonce;
pub mod time;

pub use nonce::Nonce;
pub use time::{UnixTime, Window};
