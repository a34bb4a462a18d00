//! Generated types and their validators. The first byte chooses the type.

use contract_runtime::{Contract, DocumentError, Json};
use exchange_api::types::{Problem, ServiceDocument, ShipChangeSet, ShipPage, StockChangeSet, StockPage};

/// Reads, checks and writes a document.
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
    let written = read.to_json().expect("what was read can be written");
    // Three equivalent ways to validate.
    let valid = read.is_valid();
    assert_eq!(valid, read.validate().is_ok(), "{written}");
    assert_eq!(valid, T::VALIDATOR.is_valid(&written), "{written}");
    assert_eq!(valid, T::parse_valid(document).is_ok(), "{written}");
    let _ = read.undeclared_members(100);
    let source = Json::parse(document).expect("what a type reads is JSON");
    assert_eq!(source, written, "it comes back as it was");
}
