//! Conveniences on generated types that no schema can say.

#[cfg(feature = "client")]
pub(crate) mod answers;
mod problems;
#[cfg(feature = "server")]
pub mod refusals;
mod values;
