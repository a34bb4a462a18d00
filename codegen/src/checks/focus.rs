//! One keyword at a time: what a check comes to when a schema says nothing else.

use std::{cell::Cell, rc::Rc};

use super::{
    At, Checker, DEPTH, VISITS,
    check::Check::{self, Always},
};
use crate::{
    schema::{Schema, SchemaId},
    shape::{Body, Shapes, TypeRef},
};

/// One keyword of one schema, when it is asked what it alone comes to.
#[derive(Clone, Copy)]
pub(super) struct Focus<'a> {
    pub(super) id: SchemaId,
    keyword: &'a str,
    /// The schema with this keyword and those that it needs to be understood.
    pub(super) part: &'a Schema,
    /// The checker of the whole contract.
    pub(super) whole: &'a Checker<'a>,
}

impl<'a> Checker<'a> {
    /// What is left to check of one keyword at a value of a type; `part` is the schema with this
    /// keyword and those that it needs to be understood.
    pub(super) fn keyword(
        &'a self,
        id: SchemaId,
        keyword: &'a str,
        part: &'a Schema,
        ty: &'a TypeRef,
    ) -> Check {
        let focus = Some(Focus { id, keyword, part, whole: self });
        let checker = Self {
            scope: self.scope,
            trivial: Rc::clone(&self.trivial),
            lenient: Rc::clone(&self.lenient),
            visits: Cell::new(VISITS),
            dynamic: Rc::clone(&self.dynamic),
            writable: self.writable,
            focus,
        };
        // A tag says which branch of its own union is meant; the branches' rules are theirs.
        if let TypeRef::Named(named) = inside(self.scope.shapes, ty)
            && let Body::Tagged(body) = &self.scope.shapes.get(*named).body
            && body.holder == id
            && !body.open
            && matches!(keyword, "oneOf" | "anyOf")
        {
            return Always;
        }
        checker.keywords(id, &At::bound(ty), &[], DEPTH)
    }

    pub(super) fn is_focus(&self, s: &Schema) -> bool {
        self.focus.is_some_and(|focus| std::ptr::eq(focus.part, s))
    }

    /// Whether a keyword of a schema is asked for, and not only there for another's sake.
    pub(super) fn asks(&self, s: &Schema, keyword: &str) -> bool {
        !self.is_focus(s) || self.focus.is_some_and(|focus| focus.keyword == keyword)
    }
}

/// The type behind pointers, `null` and the names of newtypes.
pub(super) fn inside<'t>(shapes: &'t Shapes, mut ty: &'t TypeRef) -> &'t TypeRef {
    // A newtype around itself is a pending body, so this ends.
    for _ in 0..32 {
        ty = match ty {
            TypeRef::Boxed(inner) | TypeRef::Nullable(inner) => inner,
            TypeRef::Named(id) => match &shapes.get(*id).body {
                Body::Newtype(inner) => inner,
                _ => return ty,
            },
            _ => return ty,
        };
    }
    ty
}
