//! Generated types and their validators. The first byte of the input selects the type.

use contract_runtime::{Contract, DocumentError, Json};
use exchange_api::types::{Problem, ServiceDocument, ShipChangeSet, ShipPage, StockChangeSet, StockPage};

/// Parses, validates and serializes a document.
pub fn run(data: &[u8]) {
    let Some((kind, document)) = data.split_first() else { return };
    match kind % 6 {
        0 => check::<StockChangeSet>(document),
        1 => check::<ShipChangeSet>(document),
        2 => check::<Problem>(document),
        3 => check::<ShipPage>(document),
        4 => check::<StockPage>(document),
        _ => check::<ServiceDocument>(document),
    }
}

fn check<T: Contract>(document: &[u8]) {
    let read = match T::parse(document) {
        Ok(read) => read,
        Err(DocumentError::Invalid(violations)) => {
            assert!(violations.iter().next().is_some(), "invalid without a violation");
            return;
        }
        Err(_) => return,
    };
    let written = read.to_json().expect("a parsed value can be serialized");
    // These are three equivalent ways to validate the document.
    let valid = read.is_valid();
    assert_eq!(valid, read.validate().is_ok(), "{written}");
    assert_eq!(valid, T::VALIDATOR.is_valid(&written), "{written}");
    assert_eq!(valid, T::parse_valid(document).is_ok(), "{written}");
    let _ = read.undeclared_members(100);
    let source = Json::parse(document).expect("a document that a type parses is JSON");
    assert_eq!(source, written, "the document is serialized unchanged");
}
