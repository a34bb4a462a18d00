//! Validates a value with the validation tables of a schema, and with the type generated from it.

use contract_runtime::{Contract, DocumentError, Json, schema::Validator};
use serde_json::{Value, json};

/// A schema of the suite.
pub struct Group {
    /// The validator that uses the schema's tables.
    pub validator: Validator<'static>,
    /// Parses and validates a value with the generated type.
    pub check: fn(&[u8]) -> Typed,
}

/// The results of a generated type for a value.
pub struct Typed {
    /// Whether the type can parse the value, without checking constraints.
    pub read: bool,
    /// `is_valid` of the parsed value.
    pub valid: bool,
    /// Whether parsing and validating in one step accepts the value.
    pub accepted: bool,
    /// The value as the type serializes it.
    pub written: Option<Json>,
    /// The reason if it was rejected without a violation; otherwise empty.
    pub why: String,
}

/// Parses, validates and serializes a value.
pub fn check<T: Contract>(bytes: &[u8]) -> Typed {
    let read = T::parse(bytes);
    let why = match T::parse_valid(bytes) {
        Ok(_) => None,
        Err(DocumentError::Invalid(_)) => Some(String::new()),
        Err(other) => Some(other.to_string()),
    };
    Typed {
        read: read.is_ok(),
        valid: read.as_ref().is_ok_and(Contract::is_valid),
        accepted: why.is_none(),
        written: read.ok().and_then(|value| value.to_json().ok()),
        why: why.unwrap_or_default(),
    }
}

impl Group {
    /// Returns true if the type and the tables agree: the type accepts and round-trips the values that the
    /// tables accept, and rejects all others.
    pub fn agrees(&self, bytes: &[u8]) -> bool {
        let Ok(json) = Json::parse(bytes) else { return true };
        let typed = (self.check)(bytes);
        if self.validator.is_valid(&json) {
            typed.read && typed.valid && typed.accepted && typed.written.as_ref() == Some(&json)
        } else {
            !typed.valid && !typed.accepted
        }
    }

    /// Returns the results for a value: the verdicts of the tables and of the type, whether the value
    /// round-trips, and the violations that the tables report.
    pub fn validate(&self, bytes: &[u8]) -> Value {
        let json = match Json::parse(bytes) {
            Ok(json) => json,
            Err(error) => return json!({ "why": error.to_string() }),
        };
        let found = self.validator.validate(&json);
        let typed = (self.check)(bytes);
        let found_none = found.is_ok();
        let violations = found.map_or_else(|found| found.into_vec(), |()| Vec::new());
        json!({
            "tables": found_none,
            "quick": self.validator.is_valid(&json),
            "read": typed.read,
            "valid": typed.valid,
            "accepted": typed.accepted,
            "same": typed.written.as_ref() == Some(&json),
            "written": typed.written.filter(|written| *written != json).map(|written| written.to_string()),
            "why": typed.why,
            "violations": violations,
        })
    }
}
