//! Which types can have a `Default`: structs and newtypes all of whose members have one.

use crate::{
    arena::ById,
    shape::{Body, Shapes, TypeDef, TypeRef},
};

/// Whether a path that is derived is the standard library's `Default`, which no enumeration can have.
pub(crate) fn is_default(path: &str) -> bool {
    matches!(path.trim_start_matches("::"), "Default" | "std::default::Default" | "core::default::Default")
}

/// The answer for each type of a contract.
#[derive(Debug)]
pub(crate) struct Defaults {
    known: ById<TypeDef, bool>,
}

impl Defaults {
    /// No type has one until all of its members have, so that a type inside itself has one only where
    /// making it comes to an end.
    pub(crate) fn of(shapes: &Shapes) -> Self {
        let mut all = Self { known: shapes.types.map(|_| false) };
        loop {
            let mut changed = false;
            for at in shapes.ids() {
                let now = all.of_body(&shapes.get(at).body);
                changed |= all.known[at] != now;
                all.known[at] = now;
            }
            if !changed {
                return all;
            }
        }
    }

    /// Whether a type that looks like this can have one. No value of an enum is the usual one.
    pub(crate) fn of_body(&self, body: &Body) -> bool {
        match body {
            Body::Struct(body) => {
                body.fields.iter().filter(|f| f.required && !f.omitted).all(|f| self.of_place(&f.ty))
            }
            Body::Newtype(inner) => self.of_place(inner),
            Body::Tagged(_) | Body::ByKind(_) | Body::Enum(_) | Body::Pending => false,
        }
    }

    fn of_place(&self, ty: &TypeRef) -> bool {
        match ty {
            TypeRef::Named(id) => self.known[*id],
            // Of the owner's types nothing is known.
            TypeRef::Replaced(..) | TypeRef::Number | TypeRef::Secret => false,
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => self.of_place(inner),
            // `std` has it for so many.
            TypeRef::Tuple(all) => all.len() <= 12 && all.iter().all(|each| self.of_place(each)),
            TypeRef::Json
            | TypeRef::Bool
            | TypeRef::Int(_)
            | TypeRef::String
            | TypeRef::Vec(_)
            | TypeRef::Map(_) => true,
        }
    }
}
