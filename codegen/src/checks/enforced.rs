//! What enforces one keyword at one place, asked of the code that writes the checks: so what is
//! explained and reported is what is generated.

use std::{collections::BTreeSet, rc::Rc};

use super::{Checker, Scope, Trivial, check::Check, dynamic, focus::inside};
use crate::{
    formats::Mapped,
    schema::{Graph, Schema, SchemaId},
    shape::{Body, Shapes, TypeRef},
    tables::TableSet,
    together::Conj,
};

/// What enforces a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Reading fails without it, and nothing else can be built.
    Type,
    /// `is_valid` compares fields.
    Check,
    /// `is_valid` asks the tables of the schemas.
    Tables,
    /// Nothing: the owner's own type does.
    Owner,
    /// Nothing: text and bytes are handed on as they are.
    Nothing,
}

impl How {
    /// In words: `by the type`.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Type => "by the type",
            Self::Check => "by `is_valid`",
            Self::Tables => "by `is_valid` through the tables",
            Self::Owner => "by the type that replaces it",
            Self::Nothing => "by nothing",
        }
    }
}

/// Answers for a contract.
#[derive(Debug)]
pub struct Enforcement<'a> {
    scope: Scope<'a>,
    dynamic: Rc<BTreeSet<SchemaId>>,
    trivial: Trivial,
}

impl<'a> Enforcement<'a> {
    /// Prepares to answer for a contract that was shaped.
    #[must_use]
    pub fn new(
        graph: &'a Graph,
        shapes: &'a Shapes,
        tables: &'a TableSet<'a>,
        implied_objects: bool,
    ) -> Self {
        let scope = Scope::new(graph, shapes, tables, implied_objects);
        Self { scope, dynamic: Rc::new(dynamic(graph)), trivial: Trivial::default() }
    }

    /// Whether values of a type are structs, `null` aside.
    #[must_use]
    pub fn is_struct(&self, ty: &TypeRef) -> bool {
        match inside(self.scope.shapes, ty) {
            TypeRef::Named(id) => matches!(self.scope.shapes.get(*id).body, Body::Struct(_)),
            _ => false,
        }
    }

    /// What enforces a keyword of the schema `id` at a place where `conj` holds and whose type is
    /// `ty`; `part` is the schema with this keyword and those that it needs to be understood.
    #[must_use]
    pub fn how(&self, place: (&Conj, &TypeRef), id: SchemaId, keyword: &str, part: &Schema) -> How {
        let (conj, ty) = place;
        if let TypeRef::Replaced(path, _) = inside(self.scope.shapes, ty)
            && Mapped::of_path(path).is_none()
        {
            return How::Owner;
        }
        let checker = Checker::with(&self.scope, Rc::clone(&self.dynamic), Rc::clone(&self.trivial));
        match checker.keyword(id, keyword, part, ty) {
            Check::Always => How::Type,
            // Where a `$dynamicRef` can be reached the value is checked as a whole.
            _ if conj.ids.iter().any(|id| self.dynamic.contains(id)) => How::Tables,
            check if check.asks_tables() => How::Tables,
            _ => How::Check,
        }
    }
}
