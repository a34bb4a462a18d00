//! What enforces one keyword at one place, asked of the code that writes the checks: so what is
//! explained and reported is what is generated.

use std::{collections::BTreeSet, rc::Rc};

use proc_macro2::{TokenStream, TokenTree};

use super::{
    Emitter,
    checks::{Check, Checker, Trivial, dynamic, inside},
};
use crate::{
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
        }
    }
}

/// Answers for a contract.
#[derive(Debug)]
pub struct Enforcement<'a> {
    emitter: Emitter<'a>,
    dynamic: Rc<BTreeSet<SchemaId>>,
    trivial: Trivial,
}

impl<'a> Enforcement<'a> {
    /// Prepares to answer for a contract that was shaped.
    #[must_use]
    pub fn new(graph: &'a Graph, shapes: &'a Shapes, tables: &'a TableSet, implied_objects: bool) -> Self {
        let emitter = Emitter::new(graph, shapes, tables, implied_objects, BTreeSet::new());
        Self { emitter, dynamic: Rc::new(dynamic(graph)), trivial: Trivial::default() }
    }

    /// Whether values of a type are structs, `null` aside.
    #[must_use]
    pub fn is_struct(&self, ty: &TypeRef) -> bool {
        match inside(&self.emitter, ty) {
            TypeRef::Named(id) => matches!(self.emitter.shapes.get(*id).body, Body::Struct(_)),
            _ => false,
        }
    }

    /// What enforces a keyword of the schema `id` at a place where `conj` holds and whose type is
    /// `ty`; `part` is the schema with this keyword and those that it needs to be understood.
    #[must_use]
    pub fn how(&self, place: (&Conj, &TypeRef), id: SchemaId, keyword: &str, part: &Schema) -> How {
        let (conj, ty) = place;
        if matches!(inside(&self.emitter, ty), TypeRef::Replaced(..)) {
            return How::Owner;
        }
        let checker = Checker::new(&self.emitter, Rc::clone(&self.dynamic), Rc::clone(&self.trivial));
        match checker.keyword(id, keyword, part, ty) {
            Check::Always => How::Type,
            // Where a `$dynamicRef` can be reached the value is checked as a whole.
            _ if conj.ids.iter().any(|id| self.dynamic.contains(id)) => How::Tables,
            Check::When(test) | Check::Either(test) if asks_tables(test.clone()) => How::Tables,
            Check::Never | Check::When(_) | Check::Either(_) => How::Check,
        }
    }
}

/// Whether an expression calls for a validator.
fn asks_tables(test: TokenStream) -> bool {
    test.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "validator",
        TokenTree::Group(group) => asks_tables(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
