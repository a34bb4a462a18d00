//! The way from a type to what a JSON Pointer names in its values.

use contract_runtime::pointer;

use super::{Given, Unfit, Wanted};
use crate::{
    schema::Types,
    shape::{Body, Field, TypeRef, text},
    together::Conj,
};

/// The steps from a type to what it holds at a pointer.
#[derive(Clone, Debug)]
pub struct Route {
    /// The pointer.
    pub pointer: String,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// To a field of a struct.
    Field {
        /// Its name.
        name: String,
        /// Whether it may be absent.
        optional: bool,
    },
    /// To a value that may be `null`.
    Nullable,
    /// Through a pointer.
    Boxed,
    /// To what a type with a name of its own holds.
    Inner,
}

/// Where a route ends.
pub(super) struct End<'a> {
    route: Route,
    ty: &'a TypeRef,
    /// What applies there; nothing is known of the whole body.
    conj: Option<&'a Conj>,
}

impl Given<'_> {
    /// Follows a pointer; `within` says what it points into.
    pub(super) fn route<'t>(
        &'t self,
        start: &'t TypeRef,
        pointer: &str,
        option: &'static str,
        within: &str,
    ) -> Result<End<'t>, Unfit> {
        let no_pointer = || {
            let help = "a JSON Pointer is empty, or begins with `/`: `/meta/next`";
            Unfit::new(
                option,
                pointer,
                format!("cannot be asked for `{pointer}`, which is no JSON Pointer"),
                help,
            )
        };
        let tokens: Option<Vec<_>> =
            pointer::tokens(pointer).and_then(|tokens| tokens.map(pointer::unescape).collect());
        let mut route = Route { pointer: pointer.to_owned(), steps: Vec::new() };
        let (mut ty, mut conj) = (start, None);
        for token in tokens.ok_or_else(no_pointer)? {
            ty = self.unwrapped(ty, &mut route.steps);
            let fields = self.fields(ty).ok_or_else(|| {
                let message = format!("has no member `{token}` at `{pointer}` in {within}");
                Unfit::new(
                    option,
                    pointer,
                    message,
                    format!("`{}` declares no members", text(self.shapes, ty)),
                )
            })?;
            let field =
                fields.iter().find(|field| field.wire == token && !field.omitted).ok_or_else(|| {
                    let message = format!("has no member `{token}` at `{pointer}` in {within}");
                    let has: Vec<String> = fields.iter().map(|field| format!("`{}`", field.wire)).collect();
                    Unfit::new(
                        option,
                        pointer,
                        message,
                        format!("`{}` has {}", text(self.shapes, ty), has.join(", ")),
                    )
                })?;
            route.steps.push(Step::Field { name: field.name.clone(), optional: !field.required });
            (ty, conj) = (&field.ty, Some(&field.conj));
        }
        Ok(End { route, ty, conj })
    }

    /// The same for an array: the route to its elements, and what they are.
    pub(super) fn list(&self, end: End<'_>) -> Result<(Route, TypeRef), Unfit> {
        let End { mut route, ty, .. } = end;
        match self.unwrapped(ty, &mut route.steps) {
            TypeRef::Vec(item) => Ok((route, (**item).clone())),
            other => {
                let what = if route.pointer.is_empty() {
                    "its answer".to_owned()
                } else {
                    format!("`{}`", route.pointer)
                };
                let message = format!("has no array there: {what} is `{}`", text(self.shapes, other));
                let help = "name the member that holds the items: `items = \"/data\"`";
                Err(Unfit::new("items", &route.pointer, message, help))
            }
        }
    }

    /// The same for a single value.
    pub(super) fn leaf(
        &self,
        start: &TypeRef,
        pointer: &str,
        option: &'static str,
        within: &str,
        wanted: Wanted,
    ) -> Result<Route, Unfit> {
        let End { route, ty, conj } = self.route(start, pointer, option, within)?;
        let types = conj.map_or(Types::default(), |conj| self.facts(conj).types.without(Types::NULL));
        if !types.and(wanted.types()).is_empty() {
            return Ok(route);
        }
        let message = format!(
            "has `{}` where {} is needed: `{pointer}` in {within}",
            text(self.shapes, ty),
            wanted.words()
        );
        Err(Unfit::new(option, pointer, message, format!("name a member that is {}", wanted.words())))
    }

    /// What stands behind pointers, `null` and names.
    fn unwrapped<'t>(&'t self, ty: &'t TypeRef, steps: &mut Vec<Step>) -> &'t TypeRef {
        let (inner, step) = match ty {
            TypeRef::Boxed(inner) => (&**inner, Step::Boxed),
            TypeRef::Nullable(inner) => (&**inner, Step::Nullable),
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                Body::Newtype(inner) if !is_scalar(inner) => (inner, Step::Inner),
                _ => return ty,
            },
            _ => return ty,
        };
        steps.push(step);
        self.unwrapped(inner, steps)
    }

    fn fields(&self, ty: &TypeRef) -> Option<&[Field]> {
        let TypeRef::Named(id) = ty else { return None };
        match &self.shapes.get(*id).body {
            Body::Struct(body) => Some(&body.fields),
            _ => None,
        }
    }
}

/// Whether a type of one value keeps it to itself.
const fn is_scalar(ty: &TypeRef) -> bool {
    matches!(ty, TypeRef::String | TypeRef::Secret | TypeRef::Int(_) | TypeRef::Number)
}
