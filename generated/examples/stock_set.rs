//! Creates and validates a stock change set with three ops, two of which are a move.
//!
//! `cargo run -p exchange-api --example stock_set`

#![allow(clippy::print_stdout, reason = "the example prints its results")]

use exchange_api::{
    Contract, Number,
    types::{ItemRef, LocationRef, OpId, Quality, Quantity, SetQuantity, StockChangeSet},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agricium = ItemRef::by_key("mat-agricium")?;
    let quality = Quality::new(650)?;
    let scu = |text: &str| -> Result<Quantity, Box<dyn std::error::Error>> {
        Ok(Quantity::scu(Number::parse(text)?)?)
    };
    let lot = |place: &str| -> Result<_, Box<dyn std::error::Error>> {
        Ok(SetQuantity::builder()
            .material(agricium.clone())
            .location(LocationRef::by_name(place)?)
            .quality(quality)
            .stolen(false))
    };

    // A move consists of a decrease and an increase in one set. In two separate sets, the decrease would
    // count as a removal (STK-20).
    let fall = lot("Area 18")?.expected_quantity(scu("12.5")?).quantity(scu("0")?).build()?;
    let rise = lot("Lorville")?.expected_quantity(scu("3")?).quantity(scu("15.5")?).build()?;
    let found = lot("Orison")?
        .op_id(OpId::new("found-1")?)
        .expected_quantity(scu("0")?)
        .quantity(scu("0.125")?)
        .build()?;

    let set = StockChangeSet::builder().ops([fall, rise, found]).dry_run(true).build()?;
    println!("{}", serde_json::to_string_pretty(&set)?);

    // Violations have locations, never values.
    let mut broken = set;
    broken.ops.clear();
    match broken.validate() {
        Ok(()) => println!("valid"),
        Err(violations) => println!("{violations}"),
    }
    Ok(())
}
