//! A change set of 500 ops: checking it, and from bytes to a checked value; the `jsonschema`
//! crate and serde's derive beside ours.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on stops")]

use std::{fs, hint::black_box};

use contract_runtime::{Contract, Json};
use divan::{Bencher, counter::BytesCount};
use exchange_api::types::StockChangeSet;
use exchange_tests::schemas;
use serde::Deserialize;

fn main() {
    divan::main();
}

/// 500 ops as a client sends them: decimals, names, links, op ids.
fn document() -> String {
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

fn oracle() -> jsonschema::Validator {
    let mut registry = jsonschema::Registry::new();
    for entry in fs::read_dir(schemas().join("exchange/v1")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
        let uri = schema["$id"].as_str().unwrap().to_owned();
        registry = registry.add(uri, schema).unwrap();
    }
    let registry = registry.prepare().unwrap();
    let reference = serde_json::json!({ "$ref": StockChangeSet::VALIDATOR.location() });
    jsonschema::options().with_registry(&registry).build(&reference).unwrap()
}

/// What serde's derive makes of the same document: the way most clients read it today.
mod derived {
    #![allow(dead_code, unreachable_pub, reason = "read, never looked at: reading is what is measured")]

    use serde::Deserialize;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct ChangeSet {
        pub ops: Vec<Op>,
        pub dry_run: Option<bool>,
    }

    #[derive(Deserialize)]
    #[serde(tag = "op", rename_all = "kebab-case")]
    pub enum Op {
        SetQuantity(SetQuantity),
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct SetQuantity {
        pub op_id: Option<String>,
        pub material: ItemRef,
        pub location: LocationRef,
        pub quality: u16,
        pub stolen: bool,
        pub quantity: Quantity,
        pub expected_quantity: Quantity,
        pub r#override: Option<bool>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct ItemRef {
        pub bt: Option<String>,
        pub sc_record: Option<String>,
        pub sc_guid: Option<String>,
        pub uex_id: Option<i64>,
        pub loc_key: Option<String>,
        pub name: Option<String>,
        pub name_locale: Option<String>,
    }

    #[derive(Deserialize)]
    pub struct LocationRef {
        pub uex: Option<Link>,
        pub name: Option<String>,
    }

    #[derive(Deserialize)]
    pub struct Link {
        pub kind: String,
        pub id: i64,
    }

    #[derive(Deserialize)]
    pub struct Quantity {
        pub amount: f64,
        pub unit: String,
    }
}

mod check_500_ops {
    use super::*;

    #[divan::bench]
    fn typed(bencher: Bencher) {
        let set = StockChangeSet::parse_valid(document().as_bytes()).unwrap();
        bencher.bench_local(|| black_box(&set).validate());
    }

    #[divan::bench]
    fn tables(bencher: Bencher) {
        let set = Json::parse(document().as_bytes()).unwrap();
        bencher.bench_local(|| StockChangeSet::VALIDATOR.is_valid(black_box(&set)));
    }

    #[divan::bench]
    fn jsonschema(bencher: Bencher) {
        let (validator, set) = (oracle(), serde_json::from_str(&document()).unwrap());
        assert!(validator.is_valid(&set));
        bencher.bench_local(|| validator.is_valid(black_box(&set)));
    }
}

mod bytes_to_checked_value {
    use super::*;

    #[divan::bench]
    fn ours(bencher: Bencher) {
        let text = document();
        bencher
            .counter(BytesCount::new(text.len()))
            .bench_local(|| StockChangeSet::parse_valid(black_box(text.as_bytes())).unwrap());
    }

    #[divan::bench]
    fn value_jsonschema_from_value(bencher: Bencher) {
        let (text, validator) = (document(), oracle());
        bencher.counter(BytesCount::new(text.len())).bench_local(|| {
            let value: serde_json::Value = serde_json::from_slice(black_box(text.as_bytes())).unwrap();
            assert!(validator.is_valid(&value));
            derived::ChangeSet::deserialize(value).unwrap()
        });
    }

    #[divan::bench]
    fn derive_without_any_check(bencher: Bencher) {
        let text = document();
        bencher.counter(BytesCount::new(text.len())).bench_local(|| {
            serde_json::from_slice::<derived::ChangeSet>(black_box(text.as_bytes())).unwrap()
        });
    }

    #[divan::bench]
    fn parsing_alone(bencher: Bencher) {
        let text = document();
        bencher
            .counter(BytesCount::new(text.len()))
            .bench_local(|| StockChangeSet::parse(black_box(text.as_bytes())).unwrap());
    }
}
