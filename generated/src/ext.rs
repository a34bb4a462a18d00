//! Conveniences on generated types that a schema cannot express.

#[cfg(feature = "server")]
pub mod error_responses;
mod problems;
#[cfg(feature = "client")]
pub(crate) mod responses;
pub(crate) mod values;
