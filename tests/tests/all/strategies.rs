//! Tests the `proptest` strategies of every type: all validators accept the valid values and reject the
//! documents that violate one rule.

use contract_runtime::{
    Json,
    strategies::{nearly_valid_documents, valid_documents},
    violation::Violation,
};
use exchange_api::{
    Contract,
    strategies::ValueStrategies as _,
    types::{Ship, StockLot},
};
use exchange_tests::models;
use proptest::{
    arbitrary::any,
    strategy::{Strategy as _, ValueTree as _},
    test_runner::TestRunner,
};

use crate::oracle::{survives_binary, validators};

/// The number of documents per type.
const CASES: usize = 64;

/// Returns the document for the independent validator; `None` if a number is not exact as `f64`, which that
/// validator uses.
fn judged(document: &Json) -> Option<serde_json::Value> {
    survives_binary(document).then(|| serde_json::from_str(&document.to_string()).unwrap())
}

#[test]
fn valid_samples_are_accepted_by_all_validators() {
    let judges = validators();
    let mut runner = TestRunner::deterministic();
    let mut count = 0;
    for (folder, model) in models() {
        let strategy = valid_documents(model.validator());
        for _ in 0..CASES {
            let tree = strategy.new_tree(&mut runner).unwrap_or_else(|why| panic!("{}: {why}", model.name));
            let document = tree.current();
            let outcome = model.check(document.to_string().as_bytes());
            assert_eq!(outcome.failure, None, "{}: {document}", model.name);
            assert!(outcome.checked.is_empty(), "{}: {:?}\n{document}", model.name, outcome.checked);
            let written = outcome.written.unwrap_or_else(|| panic!("{}: {document}", model.name));
            assert!(written.strict_eq(&document), "{}: {document}\n{written}", model.name);
            if let Some(value) = judged(&document) {
                let judge = &judges[&folder];
                assert!(
                    judge.is_valid(&value),
                    "{}: {:?}\n{document}",
                    model.name,
                    judge.validate(&value).err()
                );
            }
            count += 1;
        }
    }
    assert!(count > 100 * CASES, "{count}");
}

#[test]
fn nearly_valid_samples_violate_one_rule() {
    let judges = validators();
    let mut runner = TestRunner::deterministic();
    for (folder, model) in models() {
        let strategy = nearly_valid_documents(model.validator());
        for _ in 0..CASES {
            let tree = strategy.new_tree(&mut runner).unwrap_or_else(|why| panic!("{}: {why}", model.name));
            let (document, broken) = tree.current();
            let outcome = model.check(document.to_string().as_bytes());
            assert!(outcome.failure.is_none(), "{}: {:?}\n{document}", model.name, outcome.failure);
            let rule = [(broken.pointer, broken.keyword.to_owned())];
            assert_eq!(outcome.checked, rule, "{}: {document}", model.name);
            // The parsed value reports the same violations.
            if let Some(typed) = outcome.typed {
                assert_eq!(typed, rule, "{}: {document}", model.name);
            }
            if let Some(value) = judged(&document) {
                assert!(!judges[&folder].is_valid(&value), "{}: {rule:?}\n{document}", model.name);
            }
        }
    }
}

/// A type offers its strategies as a method, through `any`, and as a function for nearly valid documents.
#[test]
fn types_have_their_own_strategies() {
    let mut runner = TestRunner::deterministic();
    let is_valid = |lot: StockLot| {
        assert!(lot.is_valid(), "{lot:?}");
        Ok(())
    };
    runner.run(&StockLot::valid(), is_valid).unwrap();
    runner.run(&any::<StockLot>(), is_valid).unwrap();
    let is_refused = |(document, broken): (Json, Violation)| {
        assert_eq!(Ship::VALIDATOR.validate(&document).unwrap_err().as_slice(), [broken]);
        Ok(())
    };
    runner.run(&Ship::nearly_valid(), is_refused).unwrap();
}
