//! Which types have `Eq` and `Hash`: those whose members all have.

use std::collections::BTreeSet;

use crate::{
    arena::ById,
    rust_types::Equality,
    shape::{Shapes, TypeDef, TypeId, TypeRef},
};

/// The answer for each type of a contract.
#[derive(Debug)]
pub(super) struct Equalities {
    known: ById<TypeDef, Equality>,
    /// Paths of types beside the models.
    generated: BTreeSet<String>,
}

impl Equalities {
    /// Every type is taken for the best until a member says otherwise, so that types inside
    /// themselves are no obstacle. `generated` are paths of types beside the models, which have
    /// both.
    pub(super) fn of(shapes: &Shapes, generated: &BTreeSet<String>) -> Self {
        let known = shapes.types.map(|_| Equality::Hashed);
        let mut all = Self { known, generated: generated.clone() };
        loop {
            let mut changed = false;
            for at in shapes.ids() {
                let now = Equality::of_all(shapes.get(at).body.places().map(|ty| all.of_place(ty)));
                changed |= all.known[at] != now;
                all.known[at] = now;
            }
            if !changed {
                return all;
            }
        }
    }

    pub(super) fn of_type(&self, id: TypeId) -> Equality {
        self.known[id]
    }

    pub(super) fn of_place(&self, ty: &TypeRef) -> Equality {
        match ty {
            TypeRef::Named(id) => self.of_type(*id),
            TypeRef::Replaced(path, _) if self.generated.contains(path) => Equality::Hashed,
            TypeRef::Replaced(..) => Equality::Compared,
            TypeRef::Secret => Equality::Equal,
            TypeRef::Vec(t) | TypeRef::Map(t) | TypeRef::Nullable(t) | TypeRef::Boxed(t) => self.of_place(t),
            TypeRef::Tuple(all) => Equality::of_all(all.iter().map(|t| self.of_place(t))),
            TypeRef::Json | TypeRef::Bool | TypeRef::Int(_) | TypeRef::Number | TypeRef::String => {
                Equality::Hashed
            }
        }
    }
}
