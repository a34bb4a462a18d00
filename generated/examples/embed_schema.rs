//! A schema of one's own in which types of the contract stand: what a tool or an interface around the
//! exchange publishes says of them what the exchange says.
//!
//! `cargo run -p exchange-api --features schemars --example embed_schema`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use exchange_api::types::{LocationRef, Quantity};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};

/// Where to look for a material, and how much of it is wanted.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Wanted {
    /// Where it is to be had.
    at: LocationRef,
    /// How much of it.
    quantity: Quantity,
    /// What to pay for it at most, in whole credits.
    price: Option<u32>,
}

fn main() -> Result<(), serde_json::Error> {
    let schema = schema_for!(Wanted).to_value();
    // The contract's rules are there, by its types' names.
    assert_eq!(schema["properties"]["quantity"]["$ref"], "#/$defs/Quantity");
    assert!(schema["$defs"]["Quantity"]["description"].is_string());
    assert_eq!(schema["$defs"]["LocationRef"]["anyOf"][0]["required"][0], "uex");
    println!("{}", serde_json::to_string_pretty(&schema)?);
    Ok(())
}
