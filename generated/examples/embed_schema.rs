//! Embeds types of the contract in a custom schema, with the documentation and the rules of the exchange.
//!
//! `cargo run -p exchange-api --features schemars --example embed_schema`

#![allow(clippy::print_stdout, reason = "the example prints its results")]

use exchange_api::types::{LocationRef, Quantity};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};

/// A request for a material.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Wanted {
    /// The location of the material.
    at: LocationRef,
    /// The required quantity.
    quantity: Quantity,
    /// The highest price, in whole credits.
    price: Option<u32>,
}

fn main() -> Result<(), serde_json::Error> {
    let schema = schema_for!(Wanted).to_value();
    // The rules of the contract are included under the names of its types.
    assert_eq!(schema["properties"]["quantity"]["$ref"], "#/$defs/Quantity");
    assert!(schema["$defs"]["Quantity"]["description"].is_string());
    assert_eq!(schema["$defs"]["LocationRef"]["anyOf"][0]["required"][0], "uex");
    println!("{}", serde_json::to_string_pretty(&schema)?);
    Ok(())
}
