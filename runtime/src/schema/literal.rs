//! [`Literal`]: JSON values as constants, for `const`, `enum` and tags.

use crate::Json;
use crate::Number;
use crate::text;

/// A JSON value in a table of constants.
#[derive(Debug, Clone)]
pub enum Literal<'t> {
    /// The literal `null`.
    Null,
    /// The literals `true` and `false`.
    Bool(bool),
    /// A number, which is compared by value.
    Number(Number),
    /// A string, with escape sequences decoded.
    String(&'t str),
    /// An array of literals.
    Array(&'t [Literal<'t>]),
    /// An object without duplicate names.
    Object(&'t [(&'t str, Literal<'t>)]),
}

impl Literal<'_> {
    /// Compares by JSON Schema equality (Core 4.2.2), which compares numbers by value and ignores the order
    /// of object members.
    pub fn equals(&self, value: &Json) -> bool {
        match (self, value) {
            (Literal::Null, Json::Null) => true,
            (Literal::Bool(own), Json::Bool(other)) => own == other,
            (Literal::Number(own), Json::Number(other)) => own == other,
            (Literal::String(own), Json::String(other)) => text::str_eq(own, other),
            (Literal::Array(own), Json::Array(other)) => {
                own.len() == other.len() && own.iter().zip(other).all(|(a, b)| a.equals(b))
            }
            (Literal::Object(own), Json::Object(other)) => {
                own.len() == other.len()
                    && own.iter().all(|(name, a)| other.get(name).is_some_and(|b| a.equals(b)))
            }
            _ => false,
        }
    }

    /// Returns true if both have the same JSON type (Core 4.2.1).
    pub(super) fn same_type(&self, value: &Json) -> bool {
        matches!(
            (self, value),
            (Literal::Null, Json::Null)
                | (Literal::Bool(_), Json::Bool(_))
                | (Literal::Number(_), Json::Number(_))
                | (Literal::String(_), Json::String(_))
                | (Literal::Array(_), Json::Array(_))
                | (Literal::Object(_), Json::Object(_))
        )
    }
}
