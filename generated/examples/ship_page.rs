//! Parses a page of ships from a newer exchange. The page contains a kind of org unit and a field that this
//! version does not know; both are preserved and serialized unchanged.
//!
//! `cargo run -p exchange-api --example ship_page`

#![allow(clippy::print_stdout, reason = "the example prints its results")]

use exchange_api::{Contract, Json, types::ShipPage};

const ANSWER: &str = r#"{
  "items": [
    {
      "shipId": "ship-1", "version": 4, "fitted": true, "orgUnitVersion": 2,
      "shipType": { "bt": "type-9", "name": "Caterpillar" },
      "insurance": { "kind": "MONTHS", "months": 6 },
      "orgUnit": { "id": "unit-3", "name": "Survey", "shorthand": "SVY", "kind": "EXPEDITION" }
    },
    {
      "shipId": "ship-2", "version": 1, "fitted": false, "orgUnitVersion": 0,
      "shipType": { "bt": "type-2", "name": "Prospector" },
      "insurance": { "kind": "LTI" },
      "cargoCapacity": { "amount": 32.50, "unit": "SCU" }
    }
  ],
  "removed": [],
  "nextCursor": "v1.ships.42",
  "hasMore": false
}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let page = ShipPage::parse(ANSWER.as_bytes())?;
    for ship in page.items.iter().flatten() {
        let unit = match &ship.org_unit {
            Some(unit) => unit.kind.unknown().map_or_else(
                || unit.name.clone(),
                |kind| format!("{} (a kind of unit that is new to us: {kind})", unit.name),
            ),
            None => "no org unit".to_owned(),
        };
        println!("{}: {}, {unit}", ship.ship_id, ship.ship_type.name);
        for field in ship.extra.keys() {
            println!("  new field kept: {field}");
        }
    }
    println!("valid for this version: {}", page.is_valid());
    println!("undeclared: {:?}", page.undeclared_members(50));

    let written = page.to_json()?;
    assert!(written.strict_eq(&Json::parse(ANSWER.as_bytes())?), "numbers keep their spelling");
    println!("written back unchanged");
    Ok(())
}
