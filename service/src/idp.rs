//! The identity provider: OAuth with the device grant, every token bound to a key.
//!
//! It knows nothing of the exchange's areas but their scopes.

pub mod tokens;
