//! Compares the validators with the `jsonschema` crate and with serde's derive in one run: validation,
//! reporting all violations of an invalid document, and parsing with validation.

#![allow(clippy::unwrap_used, reason = "a panic ends the benchmark")]

#[path = "validation/derived.rs"]
mod derived;
#[path = "validation/documents.rs"]
mod documents;
#[path = "validation/oracle.rs"]
mod oracle;

use std::hint::black_box;

use contract_runtime::{Contract, Json};
use divan::{Bencher, counter::BytesCount};
use documents::{ChangeSet, Document, Page, Tombstones};
use exchange_api::types::{StockPage, Timestamp};
use oracle::{errors, oracle};
use serde::Deserialize;

fn main() {
    divan::main();
}

fn oracle_of<D: Document>() -> jsonschema::Validator {
    oracle(&D::Type::VALIDATOR.schema_location())
}

#[divan::bench_group]
mod check {
    use super::*;

    #[divan::bench(types = [ChangeSet, Page, Tombstones])]
    fn typed<D: Document>(bencher: Bencher) {
        let value = D::Type::parse_valid(D::text().as_bytes()).unwrap();
        bencher.bench_local(|| black_box(&value).validate());
    }

    #[divan::bench(types = [ChangeSet, Page, Tombstones])]
    fn tables<D: Document>(bencher: Bencher) {
        let value = Json::parse(D::text().as_bytes()).unwrap();
        assert!(D::Type::VALIDATOR.is_valid(&value));
        bencher.bench_local(|| D::Type::VALIDATOR.is_valid(black_box(&value)));
    }

    #[divan::bench(types = [ChangeSet, Page, Tombstones])]
    fn jsonschema<D: Document>(bencher: Bencher) {
        let (validator, value) = (oracle_of::<D>(), serde_json::from_str(&D::text()).unwrap());
        assert!(validator.is_valid(&value));
        bencher.bench_local(|| validator.is_valid(black_box(&value)));
    }
}

/// Measures the worst request body: every entry is invalid, and every violation is reported.
#[divan::bench_group]
mod refuse_from_bytes {
    use super::*;

    #[divan::bench(types = [ChangeSet, Page, Tombstones])]
    fn ours<D: Document>(bencher: Bencher) {
        let text = D::broken();
        bencher
            .counter(BytesCount::new(text.len()))
            .bench_local(|| D::Type::parse_valid(black_box(text.as_bytes())).map(|_| ()).unwrap_err());
    }

    #[divan::bench(types = [ChangeSet, Page, Tombstones])]
    fn jsonschema<D: Document>(bencher: Bencher) {
        let (text, validator) = (D::broken(), oracle_of::<D>());
        bencher.counter(BytesCount::new(text.len())).bench_local(|| {
            let found = errors(&validator, black_box(text.as_bytes()));
            assert!(found.len() >= 500);
            found
        });
    }
}

#[divan::bench_group]
mod bytes_to_checked_value {
    use super::*;

    #[divan::bench(types = [ChangeSet, Page, Tombstones])]
    fn ours<D: Document>(bencher: Bencher) {
        let text = D::text();
        bencher
            .counter(BytesCount::new(text.len()))
            .bench_local(|| D::Type::parse_valid(black_box(text.as_bytes())).unwrap());
    }

    #[divan::bench(types = [ChangeSet, Page, Tombstones])]
    fn value_and_jsonschema<D: Document>(bencher: Bencher) {
        let (text, validator) = (D::text(), oracle_of::<D>());
        bencher.counter(BytesCount::new(text.len())).bench_local(|| {
            let value: serde_json::Value = serde_json::from_slice(black_box(text.as_bytes())).unwrap();
            assert!(validator.is_valid(&value));
            value
        });
    }

    #[divan::bench(types = [ChangeSet, Page, Tombstones])]
    fn parsing_alone<D: Document>(bencher: Bencher) {
        let text = D::text();
        bencher
            .counter(BytesCount::new(text.len()))
            .bench_local(|| D::Type::parse(black_box(text.as_bytes())).unwrap());
    }

    #[divan::bench]
    fn value_jsonschema_from_value(bencher: Bencher) {
        let (text, validator) = (ChangeSet::text(), oracle_of::<ChangeSet>());
        bencher.counter(BytesCount::new(text.len())).bench_local(|| {
            let value: serde_json::Value = serde_json::from_slice(black_box(text.as_bytes())).unwrap();
            assert!(validator.is_valid(&value));
            derived::ChangeSet::deserialize(value).unwrap()
        });
    }

    #[divan::bench]
    fn derive_tagged_without_any_check(bencher: Bencher) {
        let text = ChangeSet::text();
        bencher.counter(BytesCount::new(text.len())).bench_local(|| {
            serde_json::from_slice::<derived::ChangeSet>(black_box(text.as_bytes())).unwrap()
        });
    }

    #[divan::bench]
    fn derive_plain_without_any_check(bencher: Bencher) {
        let text = ChangeSet::text();
        bencher.counter(BytesCount::new(text.len())).bench_local(|| {
            serde_json::from_slice::<derived::PlainChangeSet>(black_box(text.as_bytes())).unwrap()
        });
    }
}

/// Validates one string with one pattern: with the tables, and with `jsonschema`.
#[divan::bench_group]
mod pattern {
    use super::*;

    const TIMESTAMP: &str = "2025-11-20T18:04:09.123456Z";
    const CURSOR: &str = "f:0190a1:77:0190a2f0-5e0f-7cc1-9d5e-0a1b2c3d4e5f";

    fn cursor() -> contract_runtime::schema::Validator<'static> {
        let page = StockPage::parse(br#"{"items":[],"removed":[],"nextCursor":"a","hasMore":true}"#).unwrap();
        validator_of(&page.next_cursor)
    }

    fn validator_of<T: Contract>(_: &T) -> contract_runtime::schema::Validator<'static> {
        T::VALIDATOR
    }

    fn ours(bencher: Bencher, validator: contract_runtime::schema::Validator<'_>, text: &str) {
        let value = Json::from(text);
        assert!(validator.is_valid(&value));
        bencher.bench_local(|| validator.is_valid(black_box(&value)));
    }

    fn theirs(bencher: Bencher, location: &str, text: &str) {
        let (validator, value) = (oracle(location), serde_json::Value::from(text));
        assert!(validator.is_valid(&value));
        bencher.bench_local(|| validator.is_valid(black_box(&value)));
    }

    #[divan::bench]
    fn timestamp_ours(bencher: Bencher) {
        ours(bencher, Timestamp::VALIDATOR, TIMESTAMP);
    }

    #[divan::bench]
    fn timestamp_jsonschema(bencher: Bencher) {
        theirs(bencher, &Timestamp::VALIDATOR.schema_location(), TIMESTAMP);
    }

    #[divan::bench]
    fn cursor_ours(bencher: Bencher) {
        ours(bencher, cursor(), CURSOR);
    }

    #[divan::bench]
    fn cursor_jsonschema(bencher: Bencher) {
        theirs(bencher, &cursor().schema_location(), CURSOR);
    }
}
