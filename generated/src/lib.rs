//! The API of the exchange: models, validators, client and server interface, all generated
//! from the contract in `schemas/`.

#[path = "generated/root.rs"]
#[rustfmt::skip]
mod generated;

pub use contract_runtime::{Contract, Json, Map, Nullable, Number, Secret};
pub use generated::*;
