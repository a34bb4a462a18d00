//! Which types have `Eq` and `Hash`: those whose members all have.

use std::collections::BTreeSet;

use crate::{
    arena::ById,
    shape::{Body, Shapes, TypeDef, TypeId, TypeRef},
};

/// How values of a type can be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Is {
    /// `PartialEq` alone: a type of the owner's, of which no more is known.
    Compared,
    /// `Eq`, but no `Hash`: secrets have no hash that anybody could see.
    Equal,
    /// `Eq` and `Hash`.
    Hashed,
}

/// The answer for each type of a contract.
#[derive(Debug)]
pub(super) struct Equality(ById<TypeDef, Is>);

impl Equality {
    /// Every type is taken for the best until a member says otherwise, so that types inside
    /// themselves are no obstacle. `generated` are paths of types beside the models, which have
    /// both.
    pub(super) fn of(shapes: &Shapes, generated: &BTreeSet<String>) -> Self {
        let mut known = Self(shapes.types.map(|_| Is::Hashed));
        loop {
            let mut changed = false;
            for at in shapes.ids() {
                let def = shapes.get(at);
                let secret = def.secret && matches!(def.body, Body::Newtype(_));
                let most = if secret { Is::Equal } else { Is::Hashed };
                let now = members(&def.body).map(|ty| known.of_place(ty, generated)).fold(most, Is::min);
                changed |= known.0[at] != now;
                known.0[at] = now;
            }
            if !changed {
                return known;
            }
        }
    }

    pub(super) fn of_type(&self, id: TypeId) -> Is {
        self.0[id]
    }

    fn of_place(&self, ty: &TypeRef, generated: &BTreeSet<String>) -> Is {
        match ty {
            TypeRef::Named(id) => self.of_type(*id),
            TypeRef::Replaced(path, _) if generated.contains(path) => Is::Hashed,
            TypeRef::Replaced(..) => Is::Compared,
            TypeRef::Secret => Is::Equal,
            TypeRef::Vec(t) | TypeRef::Map(t) | TypeRef::Nullable(t) | TypeRef::Boxed(t) => {
                self.of_place(t, generated)
            }
            TypeRef::Tuple(all) => all.iter().map(|t| self.of_place(t, generated)).fold(Is::Hashed, Is::min),
            TypeRef::Json | TypeRef::Bool | TypeRef::Int(_) | TypeRef::Number | TypeRef::String => Is::Hashed,
        }
    }
}

/// The types that a body holds.
fn members(body: &Body) -> Box<dyn Iterator<Item = &TypeRef> + '_> {
    match body {
        Body::Struct(body) => {
            Box::new(body.fields.iter().filter(|f| !f.omitted).map(|f| &f.ty).chain(&body.additional))
        }
        Body::Tagged(body) => Box::new(body.variants.iter().map(|v| &v.ty)),
        Body::ByKind(variants) => Box::new(variants.iter().map(|v| &v.ty)),
        Body::Newtype(inner) => Box::new(std::iter::once(inner)),
        Body::Enum(_) | Body::Pending => Box::new(std::iter::empty()),
    }
}
