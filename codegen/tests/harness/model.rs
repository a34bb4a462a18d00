//! Every generated type behind one interface.

use contract_runtime::{Contract, DocumentError, Json, schema::Validator, violation::Violations};

/// Pointer and keyword of each violation, sorted.
pub type Found = Vec<(String, String)>;

/// A generated type: its schema, and how to try a document with it.
#[derive(Clone, Debug)]
pub struct Model {
    /// Rust name.
    pub name: &'static str,
    /// The tables, asked without the type.
    pub validator: Validator<'static>,
    /// Reads, checks and writes a document.
    pub check: fn(&[u8]) -> Outcome,
}

/// What became of a document.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The document as the type writes it, when it could be read at all.
    pub written: Option<Json>,
    /// What the typed value says of itself, when it could be read.
    pub typed: Option<Found>,
    /// What reading and checking in one go says; empty when the document is valid.
    pub checked: Found,
    /// Why reading failed, when no violation explains it.
    pub failure: Option<String>,
}

/// The models of the types of a module.
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

/// Pairs of a list of violations, sorted.
pub fn pairs(violations: &Violations) -> Found {
    let mut all: Found = violations.iter().map(|v| (v.pointer.clone(), v.keyword.to_owned())).collect();
    all.sort();
    all.dedup();
    all
}

/// Tries a document.
pub fn check<T: Contract + Clone + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> Outcome {
    let read = T::parse(bytes);
    if let Ok(value) = &read {
        // Every value can be copied, compared and shown.
        assert!(value.clone() == *value, "{value:?}");
    }
    let typed = read.as_ref().ok().map(|v| {
        let found = v.validate().map_or_else(|e| pairs(&e), |()| Vec::new());
        // The typed check decides; the tables only explain. They must say the same.
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
