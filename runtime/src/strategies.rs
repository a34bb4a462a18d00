//! [`proptest`] strategies for generated types: valid values, and documents that violate one constraint.
//!
//! Strategies are derived from the tables that validate the types. They therefore follow the schema: members,
//! branches, bounds, and patterns by their compiled programs. Each value is validated before it is returned.
//! Failures shrink: optional members are removed, arrays and strings become shorter, numbers become smaller,
//! and unions use earlier branches. The result remains valid.
//!
//! ```
//! use contract_runtime::{Json, schema::*, strategies};
//! use proptest::{strategy::Strategy, test_runner::TestRunner};
//!
//! static TABLES: SchemaTables<'_> = SchemaTables {
//!     schemas: &[Schema { resource: ResourceId(0), location: "", keywords: &[Keyword::Type(TypeSet::STRING), Keyword::MinLength(3)] }],
//!     resources: &[SchemaResource { uri: "https://a.example/name", dynamic_anchors: &[] }],
//! };
//! let name = Validator::new(&TABLES, SchemaId(0));
//! TestRunner::default()
//!     .run(&strategies::valid_documents(name), |document| {
//!         assert!(document.as_str().is_some_and(|text| text.chars().count() >= 3));
//!         Ok(())
//!     })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod constraints;
mod document_strategy;
mod mutation;
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

use self::document_strategy::DocumentStrategy;
use crate::{Contract, Json, schema::Validator, violation::Violation};

/// Proptest strategies of a generated type.
pub trait ValueStrategies: Contract + Debug + Sized + 'static {
    /// Returns a strategy for values that `validate` accepts.
    fn valid() -> BoxedStrategy<Self> {
        let read = |document: Json| Self::parse_valid(document.to_string().as_bytes()).ok();
        valid_documents(Self::VALIDATOR)
            .prop_filter_map("not a valid document that the type can represent", read)
            .boxed()
    }

    /// Returns a strategy for documents that violate exactly one constraint, paired with the violation.
    ///
    /// The result is JSON and not `Self`, because the type cannot represent all of these documents. For a
    /// type that accepts every document, proptest fails with the error that too many values were rejected.
    fn nearly_valid() -> BoxedStrategy<(Json, Violation)> {
        nearly_valid_documents(Self::VALIDATOR)
    }
}

impl<T: Contract + Debug + 'static> ValueStrategies for T {}

/// Returns a strategy for documents that a schema accepts.
pub fn valid_documents(validator: Validator<'static>) -> BoxedStrategy<Json> {
    DocumentStrategy::for_schema(validator).boxed()
}

/// Returns a strategy for documents that violate exactly one constraint of a schema, paired with the
/// violation.
pub fn nearly_valid_documents(validator: Validator<'static>) -> BoxedStrategy<(Json, Violation)> {
    let broken =
        move |(document, choice): (Json, u32)| mutation::break_one_rule(validator, &document, choice);
    (valid_documents(validator), any::<u32>())
        .prop_filter_map("no mutation violates exactly one constraint", broken)
        .boxed()
}
