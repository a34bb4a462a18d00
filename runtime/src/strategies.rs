//! Values of generated types for tests of properties, by [`proptest`]: valid ones, and documents that
//! break one rule.
//!
//! What a type accepts is read from the tables that check it, so that strategies hold whatever the
//! contract says: members, branches, bounds, patterns by their own programs. Each value is checked
//! before it is given. Failures shrink: members that may be missing go, lists and texts get shorter,
//! numbers smaller, unions take earlier branches, and what is left is valid all the same.
//!
//! ```
//! use contract_runtime::{Json, schema::*, strategies};
//! use proptest::{strategy::Strategy, test_runner::TestRunner};
//!
//! static TABLES: Tables<'_> = Tables {
//!     schemas: &[Schema { resource: ResourceId(0), location: "", keywords: &[Keyword::Type(Types::STRING), Keyword::MinLength(3)] }],
//!     resources: &[Resource { uri: "https://a.example/name", dynamic_anchors: &[] }],
//! };
//! let name = Validator::new(&TABLES, SchemaId(0));
//! TestRunner::default()
//!     .run(&strategies::valid_documents(name), |document| {
//!         assert!(document.as_str().is_some_and(|text| text.chars().count() >= 3));
//!         Ok(())
//!     })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod breaks;
mod facts;
mod place;
mod scalars;

#[cfg(test)]
mod tests;

use std::fmt::Debug;

#[doc(hidden)]
pub use proptest;
use proptest::{
    arbitrary::any,
    strategy::{BoxedStrategy, Strategy},
};

use self::place::Place;
use crate::{Contract, Json, schema::Validator, violation::Violation};

/// Strategies for a generated type.
pub trait Strategies: Contract + Debug + Sized + 'static {
    /// Values of which `validate` finds nothing wrong.
    fn valid() -> BoxedStrategy<Self> {
        let read = |document: Json| Self::parse_valid(document.to_string().as_bytes()).ok();
        valid_documents(Self::VALIDATOR).prop_filter_map("a valid document that the type holds", read).boxed()
    }

    /// Documents that break one rule of the type and no other, with that rule.
    ///
    /// They are no values of the type: it could not hold all of them. Of a type that accepts every
    /// document there are none: whoever asks for one gets the error of proptest that too many were
    /// rejected.
    fn nearly_valid() -> BoxedStrategy<(Json, Violation)> {
        nearly_valid_documents(Self::VALIDATOR)
    }
}

impl<T: Contract + Debug + 'static> Strategies for T {}

/// Documents that a schema accepts.
pub fn valid_documents(validator: Validator<'static>) -> BoxedStrategy<Json> {
    Place::root(validator).boxed()
}

/// Documents that break one rule of a schema and no other, with that rule.
pub fn nearly_valid_documents(validator: Validator<'static>) -> BoxedStrategy<(Json, Violation)> {
    let broken = move |(document, choice): (Json, u32)| breaks::broken(validator, &document, choice);
    (valid_documents(validator), any::<u32>())
        .prop_filter_map("a document that breaks one rule", broken)
        .boxed()
}
