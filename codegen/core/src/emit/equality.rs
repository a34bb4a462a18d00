//! Determines which equality traits each type implements: `Eq` and `Hash` only if all parts of the type
//! implement them.

use std::collections::BTreeSet;

use crate::{
    arena::ArenaMap,
    rust_types::EqualityTraits,
    shape::{Shapes, TypeDef, TypeId, TypeRef},
};

/// The equality traits of each type.
#[derive(Debug)]
pub(super) struct TypeEqualities {
    by_type: ArenaMap<TypeDef, EqualityTraits>,
    /// The paths of generated types outside the models, which implement all equality traits.
    generated: BTreeSet<String>,
}

impl TypeEqualities {
    /// Computes the equality traits of all types as a greatest fixpoint: a type has a trait unless one of its
    /// parts lacks it. Recursion alone therefore removes no trait.
    pub(super) fn from_shapes(shapes: &Shapes, generated: &BTreeSet<String>) -> Self {
        let known = shapes.types.map_ids(|_| EqualityTraits::Hashable);
        let mut all = Self { by_type: known, generated: generated.clone() };
        loop {
            let mut changed = false;
            for at in shapes.ids() {
                let now =
                    EqualityTraits::weakest_of(shapes.get(at).body.type_refs().map(|ty| all.equality_of(ty)));
                changed |= all.by_type[at] != now;
                all.by_type[at] = now;
            }
            if !changed {
                return all;
            }
        }
    }

    pub(super) fn equality_of_type(&self, id: TypeId) -> EqualityTraits {
        self.by_type[id]
    }

    pub(super) fn equality_of(&self, ty: &TypeRef) -> EqualityTraits {
        match ty {
            TypeRef::Named(id) => self.equality_of_type(*id),
            TypeRef::Replaced(path, _) if self.generated.contains(path) => EqualityTraits::Hashable,
            TypeRef::Replaced(..) => EqualityTraits::Partial,
            TypeRef::Secret => EqualityTraits::Full,
            TypeRef::Vec(t) | TypeRef::Map(t) | TypeRef::Nullable(t) | TypeRef::Boxed(t) => {
                self.equality_of(t)
            }
            TypeRef::Tuple(all) => EqualityTraits::weakest_of(all.iter().map(|t| self.equality_of(t))),
            TypeRef::Json | TypeRef::Bool | TypeRef::Int(_) | TypeRef::Number | TypeRef::String => {
                EqualityTraits::Hashable
            }
        }
    }
}
