//! Decides the Rust type of every schema.
//!
//! A shape is a superset: it holds every value that its schema accepts. What the type cannot
//! say (`if`/`then`, `dependentRequired`, `not`, bounds) never changes it; checks carry that.
//! A place in the contract is described by a [`Conj`]: all the schemas that hold there at once.

mod boxes;
mod build;
mod defaults;
mod families;
mod holders;
mod sweep;
mod tags;
#[cfg(test)]
mod tests;
mod text;
mod unions;
mod values;

pub(crate) use build::ENUM_LIMIT;
pub use build::shape;
pub(crate) use defaults::{Defaults, is_default};
pub(crate) use holders::Holders;
pub use text::text;
pub use unions::is_tagged;
pub(crate) use values::constants;

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::{Json, schema::Certainty};

use crate::{
    arena::{Arena, Id},
    schema::{SchemaId, Types},
    together::Conj,
};

/// A type of [`Shapes`].
pub type TypeId = Id<TypeDef>;

/// A Rust type as it stands in a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TypeRef {
    /// Any JSON value.
    Json,
    /// `bool`
    Bool,
    /// `i64` or `u64`
    Int(IntKind),
    /// An exact decimal number.
    Number,
    /// `String`
    String,
    /// A string that nothing prints.
    Secret,
    /// A type of the generated crate.
    Named(TypeId),
    /// A type of somebody else's, by path; its schema.
    Replaced(String, SchemaId),
    /// An array.
    Vec(Box<TypeRef>),
    /// An object without declared members.
    Map(Box<TypeRef>),
    /// An array of fixed length.
    Tuple(Vec<TypeRef>),
    /// A value or `null`.
    Nullable(Box<TypeRef>),
    /// Behind a pointer, where a type contains itself.
    Boxed(Box<TypeRef>),
}

impl TypeRef {
    /// Whether both are one Rust type, though of schemas that differ: several may be replaced by one path.
    #[must_use]
    pub fn is_as_rust(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Replaced(one, _), Self::Replaced(other, _)) => one == other,
            (Self::Vec(one), Self::Vec(other))
            | (Self::Map(one), Self::Map(other))
            | (Self::Nullable(one), Self::Nullable(other))
            | (Self::Boxed(one), Self::Boxed(other)) => one.is_as_rust(other),
            (Self::Tuple(one), Self::Tuple(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_as_rust(other))
            }
            (one, other) => one == other,
        }
    }
}

/// Which machine integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IntKind {
    /// `i64`
    I64,
    /// `u64`
    U64,
}

/// A generated type.
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// Its Rust name, unique in the crate.
    pub name: String,
    /// The schema that it was made for, when it is one.
    pub schema: Option<SchemaId>,
    /// All that applies to it.
    pub conj: Conj,
    /// What it looks like.
    pub body: Body,
    /// Module it stands in.
    pub area: String,
}

impl TypeDef {
    /// Whether the type is `Copy`.
    #[must_use]
    pub fn is_copy(&self) -> bool {
        match &self.body {
            Body::Enum(list) => !list.open,
            Body::Newtype(inner) => matches!(inner, TypeRef::Bool | TypeRef::Int(_)),
            Body::Pending | Body::Struct(_) | Body::Tagged(_) | Body::ByKind(_) => false,
        }
    }
}

/// What a generated type looks like.
#[derive(Clone, Debug)]
pub enum Body {
    /// Not decided yet.
    Pending,
    /// An object with declared members.
    Struct(Struct),
    /// An object whose tag says which of several it is.
    Tagged(Tagged),
    /// A value whose JSON type says which of several it is.
    ByKind(Vec<KindVariant>),
    /// A string out of a list.
    Enum(StringEnum),
    /// One value with a name and rules of its own.
    Newtype(TypeRef),
}

impl Body {
    /// The types that it holds; what is written without a field is not held.
    pub(crate) fn places(&self) -> Box<dyn Iterator<Item = &TypeRef> + '_> {
        match self {
            Self::Struct(body) => {
                Box::new(body.fields.iter().filter(|f| !f.omitted).map(|f| &f.ty).chain(&body.additional))
            }
            Self::Tagged(body) => Box::new(body.variants.iter().map(|v| &v.ty)),
            Self::ByKind(variants) => Box::new(variants.iter().map(|v| &v.ty)),
            Self::Newtype(inner) => Box::new(std::iter::once(inner)),
            Self::Enum(_) | Self::Pending => Box::new(std::iter::empty()),
        }
    }
}

/// An object with declared members.
#[derive(Clone, Debug)]
pub struct Struct {
    /// In document order, base before refinement.
    pub fields: Vec<Field>,
    /// What undeclared members hold, when the schema says so.
    pub additional: Option<TypeRef>,
}

/// A member of a [`Struct`].
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name on the wire.
    pub wire: String,
    /// Its Rust name.
    pub name: String,
    /// Type of its value.
    pub ty: TypeRef,
    /// Whether it is always there.
    pub required: bool,
    /// What applies to its value wherever the struct stands.
    pub conj: Conj,
    /// The schema that describes it.
    pub describe: Option<SchemaId>,
    /// The one value it can have.
    pub constant: Option<Json>,
    /// Whether the constant is written without a field, since it tells variants apart.
    pub omitted: bool,
}

/// A union of objects with a tag.
#[derive(Clone, Debug)]
pub struct Tagged {
    /// The schema that holds the `oneOf` or `anyOf`.
    pub holder: SchemaId,
    /// Name of the tag on the wire.
    pub tag: String,
    /// How sure it tells them apart. Where it may be missing, or is only what a `discriminator`
    /// says, readers keep an object that is none of the variants.
    pub certainty: Certainty,
    /// In document order.
    pub variants: Vec<TaggedVariant>,
    /// The index of the variant that other tags mean, and none.
    pub otherwise: Option<usize>,
    /// Whether readers keep objects with an unknown tag.
    pub open: bool,
}

/// A variant of a [`Tagged`] union.
#[derive(Clone, Debug)]
pub struct TaggedVariant {
    /// Its Rust name.
    pub name: String,
    /// The values of the tag that mean it.
    pub literals: Vec<Json>,
    /// What it holds.
    pub ty: TypeRef,
    /// Position among the holder's branches.
    pub branch: usize,
}

/// A variant that one or more JSON types mean.
#[derive(Clone, Debug)]
pub struct KindVariant {
    /// Its Rust name.
    pub name: String,
    /// The JSON types.
    pub types: Types,
    /// What it holds.
    pub ty: TypeRef,
}

/// A string out of a list.
#[derive(Clone, Debug)]
pub struct StringEnum {
    /// Wire value, Rust name, documentation.
    pub values: Vec<(String, String, Option<String>)>,
    /// Whether readers keep values that the list does not hold.
    pub open: bool,
}

/// Every type of a contract, and which type each place has.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    /// All types.
    pub types: Arena<TypeDef>,
    /// Unions that no value is by itself, in parts of other types: what they are told apart by.
    pub parts: Vec<TypeDef>,
    /// The type of each place that was asked for.
    pub places: BTreeMap<Conj, TypeRef>,
    /// Where each schema that is nothing but a reference ends.
    pub aliases: BTreeMap<SchemaId, SchemaId>,
    /// The first of the anonymous schemas that say the same, for each of the others.
    pub equals: BTreeMap<SchemaId, SchemaId>,
    /// Schemas without a name that accept everything.
    pub silent: BTreeSet<SchemaId>,
    /// Schemas of the options `open` and `closed` that made a type another than it would be.
    pub decided: BTreeSet<SchemaId>,
}

impl Shapes {
    /// The type behind an id.
    #[must_use]
    pub fn get(&self, id: TypeId) -> &TypeDef {
        &self.types[id]
    }

    /// Whether a type is known to be `Copy`; of the owner's types nothing is.
    #[must_use]
    pub fn is_copy(&self, ty: &TypeRef) -> bool {
        match ty {
            TypeRef::Bool | TypeRef::Int(_) => true,
            TypeRef::Named(id) => self.get(*id).is_copy(),
            TypeRef::Nullable(inner) => self.is_copy(inner),
            TypeRef::Tuple(inner) => inner.iter().all(|each| self.is_copy(each)),
            TypeRef::Json
            | TypeRef::Number
            | TypeRef::String
            | TypeRef::Secret
            | TypeRef::Replaced(..)
            | TypeRef::Vec(_)
            | TypeRef::Map(_)
            | TypeRef::Boxed(_) => false,
        }
    }

    /// All ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = TypeId> + use<> {
        self.types.ids()
    }

    /// How many types stand inside each other at most, whatever stands between them.
    #[must_use]
    pub fn depth(&self) -> usize {
        boxes::depth(self)
    }

    /// Follows aliases, takes the first of equals and drops what says nothing, so that equal places
    /// compare equal.
    #[must_use]
    pub fn normal(&self, conj: &Conj) -> Conj {
        self.followed(conj, |id| self.equals.get(&id).copied().unwrap_or(id))
    }

    /// The same with the schemas of the place itself: what of several is equal to a schema elsewhere says
    /// nothing of that one.
    #[must_use]
    pub(crate) fn own(&self, conj: &Conj) -> Conj {
        self.followed(conj, |id| id)
    }

    fn followed(&self, conj: &Conj, meant: impl Fn(SchemaId) -> SchemaId) -> Conj {
        let mut ids: Vec<SchemaId> = conj
            .ids
            .iter()
            .map(|id| meant(self.aliases.get(id).copied().unwrap_or(*id)))
            .filter(|id| !self.silent.contains(id))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        // A holder may stand behind a reference or in an `allOf`: it need not be one of `ids`.
        Conj { ids, chosen: conj.chosen.clone(), within: conj.within }
    }

    /// The type of a schema that was shaped.
    #[must_use]
    pub fn of(&self, schema: SchemaId) -> &TypeRef {
        let place = Conj::one(schema);
        let found = self.places.get(&place).or_else(|| self.places.get(&self.normal(&place)));
        found.unwrap_or(&TypeRef::Json)
    }
}
