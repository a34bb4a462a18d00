//! Hand-written types for the cases `replaced` and `formats`.

use contract_runtime::read::ReadJson;
use serde::{Deserializer, Serialize};

/// A temperature with its original spelling.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Temperature(pub String);

impl<'de> ReadJson<'de> for Temperature {
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::read_json(deserializer).map(Self)
    }
}

/// A number that is written with a prefix, for the case `formats`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sku(pub u32);

impl Sku {
    /// Parses a string such as `S-17`.
    ///
    /// # Errors
    /// Returns an error if the number after the prefix is invalid.
    pub fn read(text: &str) -> Result<Self, std::num::ParseIntError> {
        text.strip_prefix("S-").unwrap_or("no number").parse().map(Self)
    }

    /// Returns the string with the prefix.
    #[must_use]
    pub fn write(&self) -> String {
        format!("S-{}", self.0)
    }
}
