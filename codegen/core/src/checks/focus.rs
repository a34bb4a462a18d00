//! Builds the check of a single keyword, as if its schema contained only this keyword and the keywords that
//! it depends on. [`super::enforcement`] uses this to determine the mechanism that enforces the keyword.

use std::{cell::Cell, rc::Rc};

use super::{
    CheckBuilder, MAX_DEPTH, MAX_VISITS, TypedPlace,
    check::Check::{self, Always},
};
use crate::{
    schema::{Schema, SchemaId},
    shape::{Shapes, TypeBody, TypeRef},
};

/// The keyword for which a [`CheckBuilder`] builds a check in isolation.
#[derive(Clone, Copy)]
pub(super) struct KeywordFocus<'a> {
    pub(super) id: SchemaId,
    keyword: &'a str,
    /// The schema reduced to this keyword and the keywords that it depends on.
    pub(super) part: &'a Schema,
    pub(super) whole: &'a CheckBuilder<'a>,
}

impl<'a> CheckBuilder<'a> {
    /// Builds the check that one keyword requires in addition to the type of the value. `part` is the schema
    /// reduced to this keyword and the keywords that it depends on.
    pub(super) fn keyword_check(
        &'a self,
        id: SchemaId,
        keyword: &'a str,
        part: &'a Schema,
        ty: &'a TypeRef,
    ) -> Check {
        let focus = Some(KeywordFocus { id, keyword, part, whole: self });
        let checker = Self {
            scope: self.scope,
            trivial: Rc::clone(&self.trivial),
            lenient: Rc::clone(&self.lenient),
            visits: Cell::new(MAX_VISITS),
            dynamic: Rc::clone(&self.dynamic),
            writable: self.writable,
            focus,
        };
        // If a tag selects the variant, the type enforces the union itself. The constraints inside of the
        // branches are reported for the branches.
        if let TypeRef::Named(named) = unwrap_type(self.scope.shapes, ty)
            && let TypeBody::Objects(body) = &self.scope.shapes.get(*named).body
            && body.holder == id
            && !body.open
            && body.others.is_empty()
            && body.has_reliable_tag()
            && matches!(keyword, "oneOf" | "anyOf")
        {
            return Always;
        }
        checker.keyword_checks(id, &TypedPlace::bound_value(ty), &[], MAX_DEPTH)
    }

    pub(super) fn is_focus(&self, s: &Schema) -> bool {
        self.focus.is_some_and(|focus| std::ptr::eq(focus.part, s))
    }

    /// Returns true if the check of `s` includes `keyword`. If `s` is the schema in focus, only the keyword
    /// in focus is checked; the keywords that it depends on are present, but not checked.
    pub(super) fn includes_keyword(&self, s: &Schema, keyword: &str) -> bool {
        !self.is_focus(s) || self.focus.is_some_and(|focus| focus.keyword == keyword)
    }
}

/// Returns the type inside boxes, nullable types and newtypes.
pub(super) fn unwrap_type<'t>(shapes: &'t Shapes, mut ty: &'t TypeRef) -> &'t TypeRef {
    // The number of steps is limited, because a newtype could contain itself.
    for _ in 0..32 {
        ty = match ty {
            TypeRef::Boxed(inner) | TypeRef::Nullable(inner) => inner,
            TypeRef::Named(id) => match &shapes.get(*id).body {
                TypeBody::Newtype(inner) => inner,
                _ => return ty,
            },
            _ => return ty,
        };
    }
    ty
}
