//! A common interface of all generated types.

use contract_runtime::{Contract, DocumentError, Json, schema::Validator, violation::Violations};

/// The sorted pairs of pointer and keyword of all violations.
pub type Found = Vec<(String, String)>;

/// A generated type, with its schema and a function that checks documents.
#[derive(Clone, Debug)]
pub struct Model {
    /// The name of the Rust type.
    pub name: &'static str,
    /// The table-driven validator, which does not use the type.
    pub validator: Validator<'static>,
    /// Parses, validates and serializes a document.
    pub check: fn(&[u8]) -> Outcome,
}

/// The results of checking a document.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The serialized value, if parsing succeeded.
    pub written: Option<Json>,
    /// The violations of the typed value, if parsing succeeded.
    pub typed: Option<Found>,
    /// The violations of `parse_valid`; empty if the document is valid.
    pub checked: Found,
    /// The parse error, unless it reports violations.
    pub failure: Option<String>,
}

/// Lists the models of the types in a module.
macro_rules! models {
    ($module:ident: $($name:ident),* $(,)?) => {
        vec![$(crate::model::Model {
            name: stringify!($name),
            validator: <$module::types::$name as contract_runtime::Contract>::VALIDATOR,
            check: crate::model::check::<$module::types::$name>,
        }),*]
    };
}
pub(crate) use models;

/// Returns the sorted pairs of pointer and keyword of violations.
pub fn pairs(violations: &Violations) -> Found {
    let mut pairs: Found = violations.iter().map(|v| (v.pointer.clone(), v.keyword.to_owned())).collect();
    pairs.sort();
    pairs.dedup();
    pairs
}

/// Checks a document with a type.
pub fn check<T: Contract + Clone + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> Outcome {
    let read = T::parse(bytes);
    if let Ok(value) = &read {
        // Every generated type implements `Clone`, `PartialEq` and `Debug`.
        assert!(value.clone() == *value, "{value:?}");
    }
    let typed = read.as_ref().ok().map(|v| {
        let found = v.validate().map_or_else(|e| pairs(&e), |()| Vec::new());
        // The typed check decides whether a value is valid, and the tables list the violations, so both must
        // agree.
        let tables = T::VALIDATOR.validate(&v.to_json().unwrap());
        assert_eq!(v.is_valid(), tables.is_ok(), "typed check and tables differ on {v:?}: {tables:?}");
        found
    });
    let (checked, failure) = match T::parse_valid(bytes) {
        Ok(_) => (Vec::new(), None),
        Err(DocumentError::Invalid(violations)) => (pairs(&violations), None),
        Err(other) => (Vec::new(), Some(other.to_string())),
    };
    Outcome { written: read.ok().and_then(|v| v.to_json().ok()), typed, checked, failure }
}
