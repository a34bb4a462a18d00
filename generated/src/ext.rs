//! Conveniences on generated types that a schema cannot express.

#[cfg(feature = "client")]
pub(crate) mod answers;
mod problems;
#[cfg(feature = "server")]
pub mod refusals;
mod values;
