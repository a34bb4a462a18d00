//! Selects the Rust type of every schema.
//!
//! A type holds every value that its schema accepts, and may hold others. Constraints that a type cannot
//! express (`if`/`then`, `dependentRequired`, `not`, bounds) do not change the type; the `checks` stage
//! enforces them. A type is selected for a [`SchemaConjunction`], which is the set of all schemas that apply
//! to a value. The entry point is [`build_shapes`].

mod boxes;
mod build;
mod containment;
mod defaults;
mod display;
mod enum_annotations;
mod families;
mod machine_integers;
mod object_form;
mod tags;
#[cfg(test)]
mod tests;
mod type_aliases;
mod unions;
mod unused_types;

pub(crate) use build::MAX_ENUM_VARIANTS;
pub use build::build_shapes;
pub(crate) use containment::ContainmentIndex;
pub(crate) use defaults::{DefaultableTypes, is_default_path};
pub use display::{display_place_type, display_type};
pub use enum_annotations::{IntegerVariant, integer_variants};
pub(crate) use enum_annotations::{integer_constants, named_constants};
pub(crate) use machine_integers::{add_machine_bounds, machine_kind_of};
pub use object_form::{MemberRule, ObjectForm};
pub use type_aliases::{find_aliases, place_alias};
pub use unions::is_tagged_union;

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::{Json, Number, schema::TagCertainty};

use crate::{
    arena::{Arena, Id},
    conjunction::{SchemaConjunction, may_have_type},
    schema::{SchemaGraph, SchemaId, TypeSet},
};

/// The id of a type in [`Shapes`].
pub type TypeId = Id<TypeDef>;

/// A use of a Rust type, as in the declaration of a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TypeRef {
    /// Any JSON value.
    Json,
    /// `bool`.
    Bool,
    /// A machine integer such as `i64`.
    Int(IntKind),
    /// An exact decimal number.
    Number,
    /// `String`.
    String,
    /// A string that is redacted when printed.
    Secret,
    /// A type of the generated crate.
    Named(TypeId),
    /// A type from outside the generated crate, with its path and the schema that it replaces.
    Replaced(String, SchemaId),
    /// An array of any length.
    Vec(Box<TypeRef>),
    /// A map, for an object without declared properties. Contains the type of its values.
    Map(Box<TypeRef>),
    /// An array of fixed length.
    Tuple(Vec<TypeRef>),
    /// The Rust type `Nullable`: a value of the given type or `null`.
    Nullable(Box<TypeRef>),
    /// A boxed type, which is used if a type would otherwise contain itself.
    Boxed(Box<TypeRef>),
}

impl TypeRef {
    /// Returns the type inside the box, or the type itself if it is not boxed.
    #[must_use]
    pub fn unboxed(&self) -> &Self {
        match self {
            Self::Boxed(inner) => inner,
            other => other,
        }
    }

    /// Adds the ids of the generated types that this type contains: its own id, or those of its elements.
    pub(crate) fn collect_named(&self, found: &mut Vec<TypeId>) {
        match self {
            Self::Named(id) => found.push(*id),
            Self::Vec(inner) | Self::Map(inner) | Self::Nullable(inner) | Self::Boxed(inner) => {
                inner.collect_named(found);
            }
            Self::Tuple(all) => all.iter().for_each(|each| each.collect_named(found)),
            Self::Json
            | Self::Bool
            | Self::Int(_)
            | Self::Number
            | Self::String
            | Self::Secret
            | Self::Replaced(..) => {}
        }
    }

    /// Returns true if generated code writes both types as the same Rust type. Unlike `==`, this ignores which schema
    /// a [`Replaced`](Self::Replaced) type stands for, because the same path may replace several schemas.
    #[must_use]
    pub fn is_same_rust_type(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Replaced(one, _), Self::Replaced(other, _)) => one == other,
            (Self::Vec(one), Self::Vec(other))
            | (Self::Map(one), Self::Map(other))
            | (Self::Nullable(one), Self::Nullable(other))
            | (Self::Boxed(one), Self::Boxed(other)) => one.is_same_rust_type(other),
            (Self::Tuple(one), Self::Tuple(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| one.is_same_rust_type(other))
            }
            (one, other) => one == other,
        }
    }
}

/// The machine integer type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IntKind {
    /// `i32`.
    I32,
    /// `u32`.
    U32,
    /// `i64`.
    I64,
    /// `u64`.
    U64,
}

impl IntKind {
    /// Returns the name of the Rust type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
        }
    }

    /// Returns the smallest value of the type.
    #[must_use]
    pub fn least(self) -> i128 {
        match self {
            Self::I32 => i32::MIN.into(),
            Self::I64 => i64::MIN.into(),
            Self::U32 | Self::U64 => 0,
        }
    }

    /// Returns the greatest value of the type.
    #[must_use]
    pub fn greatest(self) -> i128 {
        match self {
            Self::I32 => i32::MAX.into(),
            Self::U32 => u32::MAX.into(),
            Self::I64 => i64::MAX.into(),
            Self::U64 => u64::MAX.into(),
        }
    }

    /// Returns true if the value is in the range of the type.
    #[must_use]
    pub fn contains(self, value: i128) -> bool {
        (self.least()..=self.greatest()).contains(&value)
    }

    /// Returns the integer if it is in the range of the type.
    #[must_use]
    pub fn value_of(self, number: &Number) -> Option<i128> {
        number.as_i128().filter(|value| self.contains(*value))
    }
}

/// A generated type, with the schemas that describe its values.
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// The Rust name of the type, which is unique in the generated crate.
    pub name: String,
    /// The named schema that the type represents. `None` for an anonymous type.
    pub schema: Option<SchemaId>,
    /// The schemas that apply to values of the type.
    pub conj: SchemaConjunction,
    /// The structure of the type.
    pub body: TypeBody,
    /// The module that contains the type.
    pub area: String,
}

impl TypeDef {
    /// Returns true if the generated type derives `Copy`. This is the case for closed string enums and for
    /// newtypes of `bool` and integers.
    #[must_use]
    pub fn is_copy(&self) -> bool {
        match &self.body {
            TypeBody::Enum(list) => !list.open,
            TypeBody::Newtype(inner) => matches!(inner, TypeRef::Bool | TypeRef::Int(_)),
            TypeBody::Pending | TypeBody::Struct(_) | TypeBody::Objects(_) | TypeBody::ByKind(_) => false,
        }
    }
}

/// The structure of a generated type.
#[derive(Clone, Debug)]
pub enum TypeBody {
    /// The structure is not selected yet.
    Pending,
    /// An object with declared properties.
    Struct(StructBody),
    /// An enum of objects. A tag or other properties of the object select the variant. The enum may also have
    /// variants for other JSON types.
    Objects(ObjectUnion),
    /// An enum whose variant is selected by the JSON type of the value.
    ByKind(Vec<KindVariant>),
    /// A string from a list of values.
    Enum(StringEnum),
    /// A single value that has its own name and constraints.
    Newtype(TypeRef),
}

impl TypeBody {
    /// Iterates over the types that the body contains: those of fields and undeclared properties, of
    /// variants, or of a newtype's content. Omitted fields are skipped.
    pub(crate) fn type_refs(&self) -> Box<dyn Iterator<Item = &TypeRef> + '_> {
        match self {
            Self::Struct(body) => {
                Box::new(body.fields.iter().filter(|f| !f.omitted).map(|f| &f.ty).chain(&body.additional))
            }
            Self::Objects(body) => Box::new(body.contents().map(|(_, ty)| ty)),
            Self::ByKind(variants) => Box::new(variants.iter().map(|v| &v.ty)),
            Self::Newtype(inner) => Box::new(std::iter::once(inner)),
            Self::Enum(_) | Self::Pending => Box::new(std::iter::empty()),
        }
    }
}

/// The structure of an object with declared properties.
#[derive(Clone, Debug)]
pub struct StructBody {
    /// The fields in document order. Fields of a schema that is included by `$ref` or `allOf` precede those
    /// of the including schema.
    pub fields: Vec<StructField>,
    /// The type of undeclared properties. `None` if they are kept as `Json`.
    pub additional: Option<TypeRef>,
}

/// A field of a [`StructBody`].
#[derive(Clone, Debug)]
pub struct StructField {
    /// The property name on the wire.
    pub wire: String,
    /// The Rust name of the field.
    pub name: String,
    /// The type of the value, without `Option`.
    pub ty: TypeRef,
    /// True if the property is always present.
    pub required: bool,
    /// The schemas that always apply to the value.
    pub conj: SchemaConjunction,
    /// The schema whose description documents the field.
    pub described_by: Option<SchemaId>,
    /// The only value that the property can have.
    pub constant: Option<Json>,
    /// True if the struct has no field for the property, because its value is constant and selects the
    /// variant of a union.
    pub omitted: bool,
}

/// The structure of an enum whose variants are objects, and possibly values of other JSON types.
#[derive(Clone, Debug)]
pub struct ObjectUnion {
    /// The schema with the `oneOf` or `anyOf`.
    pub holder: SchemaId,
    /// The method by which the variant of an object is selected.
    pub selector: VariantSelector,
    /// A tag that objects may lack. It is set only if the forms of the variants select the variant. If an
    /// object has the tag, validation selects the branch by the value of the tag.
    pub optional_tag: Option<VariantTag>,
    /// The variants in document order.
    pub variants: Vec<ObjectVariant>,
    /// True if objects that match no variant are kept.
    pub open: bool,
    /// The schemas that apply to the objects: those of the type or, if the union is inside a branch of the
    /// type, those of this branch.
    pub conj: SchemaConjunction,
    /// The variants for other JSON types. Empty if all values are objects.
    pub others: Vec<KindVariant>,
}

impl ObjectUnion {
    /// Iterates over the names and types of all variants. The variants of objects precede those of other JSON
    /// types.
    pub fn contents(&self) -> impl Iterator<Item = (&str, &TypeRef)> {
        let objects = self.variants.iter().map(|v| (v.name.as_str(), &v.ty));
        objects.chain(self.others.iter().map(|v| (v.name.as_str(), &v.ty)))
    }

    /// Renames variants of objects that have the name of a variant of another JSON type, such as `Text`.
    fn with_distinct_names(mut self) -> Self {
        for index in 0..self.variants.len() {
            while self.contents().filter(|(name, _)| *name == self.variants[index].name).count() > 1 {
                self.variants[index].name.push_str("Object");
            }
        }
        self
    }

    /// Iterates over the types of all variants, in the order of [`contents`](Self::contents).
    pub(crate) fn content_types_mut(&mut self) -> impl Iterator<Item = &mut TypeRef> {
        let objects = self.variants.iter_mut().map(|v| &mut v.ty);
        objects.chain(self.others.iter_mut().map(|v| &mut v.ty))
    }

    /// Returns the tag, if the union has one.
    #[must_use]
    pub fn tag(&self) -> Option<&VariantTag> {
        match &self.selector {
            VariantSelector::Tag(tag) => Some(tag),
            VariantSelector::Members(_) => None,
        }
    }

    /// Returns true if every valid object has a tag and the tag alone determines the variant.
    #[must_use]
    pub fn has_reliable_tag(&self) -> bool {
        self.tag().is_some_and(|tag| tag.certainty == TagCertainty::Required)
    }

    /// Returns true if parsing may select a variant although the schema of its branch rejects the object.
    #[must_use]
    pub fn is_loose(&self) -> bool {
        self.tag().is_none_or(|tag| tag.certainty == TagCertainty::Hint)
    }
}

/// The method by which the variant of an object is selected.
#[derive(Clone, Debug)]
pub enum VariantSelector {
    /// By the value of a property.
    Tag(VariantTag),
    /// By the names, JSON types and constants of the properties. Contains one form for each variant.
    Members(Vec<ObjectForm>),
}

/// A property whose value selects a variant.
#[derive(Clone, Debug)]
pub struct VariantTag {
    /// The property name.
    pub name: String,
    /// The reliability with which the tag identifies the variant. If the tag is optional or comes only from a
    /// `discriminator`, objects that match no variant are kept.
    pub certainty: TagCertainty,
    /// For each variant, the tag values that select it.
    pub literals: Vec<Vec<Json>>,
    /// The index of the variant that unmapped or missing tag values select.
    pub default_variant: Option<usize>,
}

/// A variant of an [`ObjectUnion`].
#[derive(Clone, Debug)]
pub struct ObjectVariant {
    /// The Rust name of the variant.
    pub name: String,
    /// The type of the variant's content.
    pub ty: TypeRef,
    /// The index of the variant's branch in the `oneOf` or `anyOf` of [`ObjectUnion::holder`]. For the base
    /// of a family, the number of its children.
    pub branch: usize,
    /// The inner unions that contain the variant's branch, each with its chosen branch. Usually empty.
    pub inner: Vec<(SchemaId, SchemaId)>,
}

impl ObjectVariant {
    /// Returns the conjunction of the variant: `objects` with the variant's branches chosen, in the union of
    /// `holder` and in the inner unions. `branches` are the branches of `holder`. Returns `None` for the base
    /// of a family.
    #[must_use]
    pub fn conjunction(
        &self,
        objects: &SchemaConjunction,
        holder: SchemaId,
        branches: &[SchemaId],
    ) -> Option<SchemaConjunction> {
        let outer = objects.choose_branch(holder, *branches.get(self.branch)?);
        Some(self.inner.iter().fold(outer, |conj, (holder, branch)| conj.choose_branch(*holder, *branch)))
    }
}

/// A variant that one or more JSON types select.
#[derive(Clone, Debug)]
pub struct KindVariant {
    /// The Rust name of the variant.
    pub name: String,
    /// The JSON types that select the variant.
    pub types: TypeSet,
    /// The JSON types of array elements that select this variant, if several variants are arrays. If only one
    /// variant is an array, this is the set of all types. An empty array selects the first array variant.
    pub items: TypeSet,
    /// The schemas that apply to values of the variant.
    pub conj: SchemaConjunction,
    /// The type of the variant's content.
    pub ty: TypeRef,
}

impl KindVariant {
    /// Returns true if the variant is selected for a value.
    #[must_use]
    pub fn selects(&self, json: &Json) -> bool {
        let first = json.as_array().and_then(<[Json]>::first);
        may_have_type(json, self.types) && first.is_none_or(|first| may_have_type(first, self.items))
    }
}

/// The structure of a string enum.
#[derive(Clone, Debug)]
pub struct StringEnum {
    /// The wire value, the Rust name and the documentation of each value.
    pub values: Vec<(String, String, Option<String>)>,
    /// True if values that are not listed are kept.
    pub open: bool,
}

/// An alternative name of a generated type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeAlias<'a> {
    /// The Rust name of the alias. It is unique in the generated crate.
    pub name: &'a str,
    /// The generated type to which the alias refers.
    pub target: TypeId,
}

/// All types of a contract, and the type of each conjunction of schemas.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    /// All generated types.
    pub types: Arena<TypeDef>,
    /// The definitions of unused union types, which were removed from [`types`](Self::types). The validation
    /// tables still need the tags of these unions.
    pub parts: Vec<TypeDef>,
    /// The type of each conjunction for which a type was selected.
    pub places: BTreeMap<SchemaConjunction, TypeRef>,
    /// The final target of each schema that is a bare reference.
    pub aliases: BTreeMap<SchemaId, SchemaId>,
    /// For each of several equal anonymous schemas, the first of them.
    pub equals: BTreeMap<SchemaId, SchemaId>,
    /// The names for all but the first of several equal anonymous schemas. They become aliases of the first
    /// schema's type.
    pub duplicate_names: BTreeMap<SchemaId, String>,
    /// Anonymous schemas that accept every value.
    pub unconstrained: BTreeSet<SchemaId>,
    /// The schemas in the options `open` and `closed` for which the option had an effect.
    pub used_overrides: BTreeSet<SchemaId>,
    /// The schemas that only media types contain which are not exchanged. They have neither types nor table rows.
    pub unexchanged: BTreeSet<SchemaId>,
}

impl Shapes {
    /// Returns the type with the given id.
    #[must_use]
    pub fn get(&self, id: TypeId) -> &TypeDef {
        &self.types[id]
    }

    /// Returns true if a type is known to be `Copy`. For types from outside the generated crate, this is
    /// unknown.
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

    /// Returns the alias that the schema `place` gives to the named type in `ty`. Several equal anonymous schemas
    /// share the type of the first one, and each of the others has an alias for it. Returns `None` if `place` has no
    /// such alias, or if `ty` contains no named type.
    #[must_use]
    pub fn alias_at(&self, graph: &SchemaGraph, ty: &TypeRef, place: SchemaId) -> Option<TypeAlias<'_>> {
        let place = self.aliases.get(&place).copied().unwrap_or(place);
        match ty {
            TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => self.alias_at(graph, inner, place),
            TypeRef::Vec(inner) => self.alias_at(graph, inner, graph.schema(place).items?),
            TypeRef::Map(inner) => self.alias_at(graph, inner, graph.schema(place).additional_properties?),
            TypeRef::Named(target) => {
                let name = self.duplicate_names.get(&place)?;
                let is_shared = self.get(*target).conj.ids.as_slice() == [*self.equals.get(&place)?];
                is_shared.then_some(TypeAlias { name, target: *target })
            }
            _ => None,
        }
    }

    /// Iterates over the ids of all types, in the order of [`types`](Self::types).
    pub fn ids(&self) -> impl Iterator<Item = TypeId> + use<> {
        self.types.ids()
    }

    /// Returns the maximum nesting depth of types, including nesting through boxes, arrays and maps.
    #[must_use]
    pub fn nesting_depth(&self) -> usize {
        boxes::nesting_depth(self)
    }

    /// Returns the conjunction in a form in which equivalent conjunctions are equal: aliases are resolved,
    /// each of several equal schemas is replaced by the first one, and schemas that accept every value are
    /// removed.
    #[must_use]
    pub fn normalize(&self, conj: &SchemaConjunction) -> SchemaConjunction {
        self.resolve_ids(conj, |id| self.equals.get(&id).copied().unwrap_or(id))
    }

    /// Normalizes like [`Self::normalize`], but does not replace a schema by an equal schema elsewhere. This
    /// is used for conjunctions of several schemas.
    #[must_use]
    pub(crate) fn normalize_own(&self, conj: &SchemaConjunction) -> SchemaConjunction {
        self.resolve_ids(conj, |id| id)
    }

    fn resolve_ids(
        &self,
        conj: &SchemaConjunction,
        meant: impl Fn(SchemaId) -> SchemaId,
    ) -> SchemaConjunction {
        let mut ids: Vec<SchemaId> = conj
            .ids
            .iter()
            .map(|id| meant(self.aliases.get(id).copied().unwrap_or(*id)))
            .filter(|id| !self.unconstrained.contains(id))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        // `chosen` is not filtered by `ids`: the schema with the union may be the target of a reference or
        // part of an `allOf`.
        SchemaConjunction { ids, chosen: conj.chosen.clone(), within: conj.within }
    }

    /// Returns the type of a schema, or [`TypeRef::Json`] if no type was selected for it.
    #[must_use]
    pub fn type_of_schema(&self, schema: SchemaId) -> &TypeRef {
        let place = SchemaConjunction::from_schema(schema);
        let found = self.places.get(&place).or_else(|| self.places.get(&self.normalize(&place)));
        found.unwrap_or(&TypeRef::Json)
    }
}
