//! Converts an amount of the contract to the decimal type of another crate, computes with it, and converts it
//! back.
//!
//! `cargo run -p exchange-api --features rust_decimal --example decimals`

use exchange_api::{Number, types::Quantity};
use rust_decimal::Decimal;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let price = Decimal::try_from(Number::parse("12.30")?)?;
    assert_eq!(Number::from(price * Decimal::from(3)).to_json_text(), "36.90");

    let quantity: Quantity = serde_json::from_str(r#"{"amount": 1.250, "unit": "SCU"}"#)?;
    let doubled = Decimal::try_from(quantity.amount.get())? * Decimal::TWO;
    assert_eq!(Number::from(doubled).to_json_text(), "2.500");
    Ok(())
}
