//! JSON values as constants, for `const`, `enum` and tags.

use crate::Json;
use crate::Number;
use crate::text;

/// A JSON value that a table can hold.
#[derive(Debug, Clone)]
pub enum Literal<'t> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, equal by its value.
    Number(Number),
    /// A string.
    String(&'t str),
    /// An array.
    Array(&'t [Literal<'t>]),
    /// An object; no name stands twice.
    Object(&'t [(&'t str, Literal<'t>)]),
}

impl Literal<'_> {
    /// Equality by Core 4.2.2: numbers by value, objects without order.
    pub fn equals(&self, value: &Json) -> bool {
        match (self, value) {
            (Literal::Null, Json::Null) => true,
            (Literal::Bool(own), Json::Bool(other)) => own == other,
            (Literal::Number(own), Json::Number(other)) => own == other,
            (Literal::String(own), Json::String(other)) => text::same(own, other),
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

    /// Whether both are of one of the six types of JSON (Core 4.2.1).
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
