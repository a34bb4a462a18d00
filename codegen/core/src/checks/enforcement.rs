//! Determines whether the Rust type, `is_valid` or the validation tables enforce a keyword for a value. The
//! decision follows from the check that would be generated for the keyword, so that explanations and reports
//! agree with the generated code.

use std::{collections::BTreeSet, rc::Rc};

use super::{
    CheckBuilder, CheckScope, TrivialTypes, check::Check, focus::unwrap_type, schemas_reaching_dynamic_ref,
};
use crate::{
    conjunction::SchemaConjunction,
    formats::MappedFormat,
    schema::{Schema, SchemaGraph, SchemaId},
    shape::{Shapes, TypeBody, TypeRef},
    tables::TableSet,
};

/// The mechanism that enforces a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EnforcedBy {
    /// The type: other values cannot be parsed or constructed.
    Type,
    /// The method `is_valid`, by comparisons of fields.
    Check,
    /// The method `is_valid`, by evaluating the validation tables.
    Tables,
    /// A type from outside the generated crate that replaces the schema.
    Owner,
    /// Nothing, because the value is a string or bytes that are passed through unchanged, such as a text
    /// body.
    Nothing,
}

impl EnforcedBy {
    /// Returns a phrase for messages, such as `by the type`.
    #[must_use]
    pub const fn as_phrase(self) -> &'static str {
        match self {
            Self::Type => "by the type",
            Self::Check => "by `is_valid`",
            Self::Tables => "by `is_valid` through the tables",
            Self::Owner => "by the type that replaces it",
            Self::Nothing => "by nothing",
        }
    }
}

/// Determines the mechanism that enforces each keyword of a contract: the Rust type, the comparisons in
/// `is_valid`, or the validation tables.
#[derive(Debug)]
pub struct Enforcement<'a> {
    scope: CheckScope<'a>,
    dynamic: Rc<BTreeSet<SchemaId>>,
    trivial: TrivialTypes,
}

impl<'a> Enforcement<'a> {
    /// Creates an `Enforcement` for a contract. `shapes` are its selected types and `tables` its validation
    /// tables.
    #[must_use]
    pub fn new(
        graph: &'a SchemaGraph,
        shapes: &'a Shapes,
        tables: &'a TableSet<'a>,
        implied_objects: bool,
    ) -> Self {
        let scope = CheckScope::new(graph, shapes, tables, implied_objects);
        Self {
            scope,
            dynamic: Rc::new(schemas_reaching_dynamic_ref(graph)),
            trivial: TrivialTypes::default(),
        }
    }

    /// Returns true if the type inside boxes, nullable types and newtypes is a struct.
    #[must_use]
    pub fn is_struct(&self, ty: &TypeRef) -> bool {
        match unwrap_type(self.scope.shapes, ty) {
            TypeRef::Named(id) => matches!(self.scope.shapes.get(*id).body, TypeBody::Struct(_)),
            _ => false,
        }
    }

    /// Returns the mechanism that enforces a keyword of the schema `id`. `place` contains the schemas and the
    /// Rust type of the value. `part` is the schema reduced to this keyword and the keywords that it depends
    /// on.
    #[must_use]
    pub fn enforced_by(
        &self,
        place: (&SchemaConjunction, &TypeRef),
        id: SchemaId,
        keyword: &str,
        part: &Schema,
    ) -> EnforcedBy {
        let (conj, ty) = place;
        if let TypeRef::Replaced(path, _) = unwrap_type(self.scope.shapes, ty)
            && MappedFormat::name_from_path(path).is_none()
        {
            return EnforcedBy::Owner;
        }
        let checker = CheckBuilder::new(&self.scope, Rc::clone(&self.dynamic), Rc::clone(&self.trivial));
        match checker.keyword_check(id, keyword, part, ty) {
            Check::Always => EnforcedBy::Type,
            // If a `$dynamicRef` is reachable from one of the schemas, the validation tables check the whole
            // value.
            _ if conj.ids.iter().any(|id| self.dynamic.contains(id)) => EnforcedBy::Tables,
            check if check.uses_tables() => EnforcedBy::Tables,
            _ => EnforcedBy::Check,
        }
    }
}
