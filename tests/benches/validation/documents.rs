//! The benchmark documents: large ones, as clients and the service send them.

use contract_runtime::Contract;
use exchange_api::types::{BlueprintPage, StockChangeSet, StockPage};

/// A benchmark document.
pub(crate) trait Document {
    /// The generated type that parses the document.
    type Type: Contract;

    /// Returns the document as valid JSON.
    fn text() -> String;

    /// Returns the document with an error in every entry.
    fn broken() -> String;
}

/// A change set of 500 ops with decimal amounts, names, links and op ids.
pub(crate) struct ChangeSet;

impl Document for ChangeSet {
    type Type = StockChangeSet;

    fn text() -> String {
        let ops: Vec<String> = (0..500)
            .map(|i| {
                let material = match i % 3 {
                    0 => format!(r#"{{"bt":"material-{i:04}"}}"#),
                    1 => format!(r#"{{"scRecord":"Ore_Agricium_{i}","locKey":"items_commodities_agricium_{i}"}}"#),
                    _ => format!(r#"{{"name":"Agricium (Ore) {i}","nameLocale":"en"}}"#),
                };
                let location = match i % 2 {
                    0 => r#"{"name":"Area 18"}"#.to_owned(),
                    _ => format!(r#"{{"uex":{{"kind":"SPACE_STATION","id":{}}},"name":"Port {i}"}}"#, i + 1),
                };
                let (amount, before, unit) = if i % 5 == 0 {
                    (format!("{i}"), "12".to_owned(), "PIECE")
                } else {
                    (format!("{i}.125"), format!("{i}.5"), "SCU")
                };
                format!(
                    r#"{{"op":"set-quantity","opId":"op-{i}","material":{material},"location":{location},"quality":{},"stolen":false,"quantity":{{"amount":{amount},"unit":"{unit}"}},"expectedQuantity":{{"amount":{before},"unit":"{unit}"}}}}"#,
                    i * 2
                )
            })
            .collect();
        format!(r#"{{"ops":[{}],"dryRun":false}}"#, ops.join(","))
    }

    /// Each op has a quality above the maximum, and most have an unknown unit.
    fn broken() -> String {
        Self::text().replace(r#""quality":"#, r#""quality":99999"#).replace(r#""SCU""#, r#""BOX""#)
    }
}

/// A page of 500 blueprints with timestamps, provenance and extensions.
pub(crate) struct Page;

impl Document for Page {
    type Type = BlueprintPage;

    fn text() -> String {
        let items: Vec<String> = (0..500)
            .map(|i| {
                format!(
                    r#"{{"key":"bp-{i:05}","ref":{{"bt":"bp-{i:05}","name":"Quartz Lens {i}"}},"isDefault":false,"acquiredAt":"2025-11-20T18:04:{:02}Z","provenance":{{"source":"log","observedAt":"2025-11-20T18:04:09.{i:03}Z"}},"note":"From the north mine","extensions":{{"org.example.cargo-tool":{{"colour":"teal","pinned":true,"tags":["ore","night run"]}}}}}}"#,
                    i % 60
                )
            })
            .collect();
        format!(r#"{{"items":[{}],"removed":[],"nextCursor":"f:0190a1:77","hasMore":true}}"#, items.join(","))
    }

    /// Each blueprint has an invalid timestamp.
    fn broken() -> String {
        Self::text().replace("18:04:09", "18-04-09")
    }
}

/// A page of 1,000 tombstones.
pub(crate) struct Tombstones;

impl Document for Tombstones {
    type Type = StockPage;

    fn text() -> String {
        let removed: Vec<String> = (0..1000)
            .map(|i| {
                let by = match i % 2 {
                    0 => r#"{"channel":"web"}"#.to_owned(),
                    _ => format!(r#"{{"channel":"client","clientId":"hangar-companion","installationId":"inst-81f0-{i}"}}"#),
                };
                format!(r#"{{"key":"lot-{i:05}","removedAt":"2025-11-20T18:04:{:02}Z","removedBy":{by}}}"#, i % 60)
            })
            .collect();
        format!(
            r#"{{"items":[],"removed":[{}],"nextCursor":"f:0190a1:77","hasMore":true}}"#,
            removed.join(",")
        )
    }

    /// Each tombstone has an invalid timestamp.
    fn broken() -> String {
        Self::text().replace("T18:", "X18:")
    }
}
