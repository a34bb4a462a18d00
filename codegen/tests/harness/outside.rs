//! A type that a contract's owner wrote, for the case `replaced`.

use contract_runtime::read::Read;
use serde::{Deserializer, Serialize};

/// A temperature as it came.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Temperature(pub String);

impl<'de> Read<'de> for Temperature {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::read(deserializer).map(Self)
    }
}
