//! Determines which types can implement `Default`: structs and newtypes whose required fields all implement
//! it.

use crate::{
    arena::ArenaMap,
    shape::{Shapes, TypeBody, TypeDef, TypeRef},
};

/// Returns true if the path in a derive list is the standard `Default`, which enums cannot derive.
pub(crate) fn is_default_path(path: &str) -> bool {
    matches!(path.trim_start_matches("::"), "Default" | "std::default::Default" | "core::default::Default")
}

/// The types of a contract that can implement `Default`.
#[derive(Debug)]
pub(crate) struct DefaultableTypes {
    by_type: ArenaMap<TypeDef, bool>,
}

impl DefaultableTypes {
    /// Determines which types can implement `Default`. This is a least fixpoint: a type counts only after all
    /// its required fields count, so the default of a recursive type is finite.
    pub(crate) fn from_shapes(shapes: &Shapes) -> Self {
        let mut all = Self { by_type: shapes.types.map_ids(|_| false) };
        loop {
            let mut changed = false;
            for at in shapes.ids() {
                let now = all.has_default(&shapes.get(at).body);
                changed |= all.by_type[at] != now;
                all.by_type[at] = now;
            }
            if !changed {
                return all;
            }
        }
    }

    /// Returns true if a type with this body can implement `Default`. Enums have no default value.
    pub(crate) fn has_default(&self, body: &TypeBody) -> bool {
        match body {
            TypeBody::Struct(body) => {
                body.fields.iter().filter(|f| f.required && !f.omitted).all(|f| self.type_has_default(&f.ty))
            }
            TypeBody::Newtype(inner) => self.type_has_default(inner),
            TypeBody::Objects(_) | TypeBody::ByKind(_) | TypeBody::Enum(_) | TypeBody::Pending => false,
        }
    }

    fn type_has_default(&self, ty: &TypeRef) -> bool {
        match ty {
            TypeRef::Named(id) => self.by_type[*id],
            // The traits of types from outside the generated crate are unknown.
            TypeRef::Replaced(..) | TypeRef::Number | TypeRef::Secret => false,
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => self.type_has_default(inner),
            // `std` implements `Default` for tuples of up to twelve elements.
            TypeRef::Tuple(all) => all.len() <= 12 && all.iter().all(|each| self.type_has_default(each)),
            TypeRef::Json
            | TypeRef::Bool
            | TypeRef::Int(_)
            | TypeRef::String
            | TypeRef::Vec(_)
            | TypeRef::Map(_) => true,
        }
    }
}
