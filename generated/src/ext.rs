//! Conveniences on generated types that no schema can say.

#[cfg(feature = "server")]
mod refusals;
mod values;
