//! Extends checks to reject values that cannot be serialized, here called unwritable.
//!
//! User code can build a struct whose undeclared properties contain the name of a declared one. Serializing
//! it would produce a duplicate property, so the check of the struct rejects such a value. However, that
//! check is not called if constraints are expanded inline, or if one of several branches suffices. The check
//! of each type therefore also tests the values nested in it, unless it already calls their checks. Parsed
//! values always pass these tests, usually at the cost of testing if there are any undeclared properties.

use std::{collections::BTreeSet, rc::Rc};

use super::{
    CheckBuilder, TypedPlace,
    check::{
        Check::{self, All, Always, Any, ExactlyOne, Never, Not},
        PlaceForm, ValuePlace, ValueTest, VariantArm,
    },
    counts::emptiness_check,
};
use crate::{
    formats::MappedFormat,
    shape::{Shapes, StructBody, StructField, TypeBody, TypeId, TypeRef},
};

/// The maximum depth of nested types for which the tests of nested values are expanded inline. Deeper values
/// are tested with [`ValueTest::Writable`].
const MAX_WRITABLE_DEPTH: u8 = 3;

/// The types of which some values cannot be serialized.
#[derive(Clone, Debug, Default)]
pub(super) struct UnwritableTypes(BTreeSet<TypeId>);

impl UnwritableTypes {
    pub(super) fn from_shapes(shapes: &Shapes) -> Self {
        let mut found = Self::default();
        loop {
            let before = found.0.len();
            let more = shapes.ids().filter(|id| found.has_body(&shapes.get(*id).body));
            let more: Vec<TypeId> = more.collect();
            found.0.extend(more);
            if found.0.len() == before {
                return found;
            }
        }
    }

    fn has_body(&self, body: &TypeBody) -> bool {
        match body {
            // A struct without declared properties cannot have duplicates.
            TypeBody::Struct(body) => {
                !body.fields.is_empty() || body.additional.as_ref().is_some_and(|ty| self.contains(ty))
            }
            TypeBody::Objects(body) => body.contents().any(|(_, ty)| self.contains(ty)),
            TypeBody::ByKind(variants) => variants.iter().any(|variant| self.contains(&variant.ty)),
            TypeBody::Newtype(inner) => self.contains(inner),
            TypeBody::Enum(_) | TypeBody::Pending => false,
        }
    }

    /// Returns true if some values of the type cannot be serialized.
    fn contains(&self, ty: &TypeRef) -> bool {
        match ty {
            TypeRef::Named(id) => self.0.contains(id),
            TypeRef::Vec(inner) | TypeRef::Map(inner) | TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => {
                self.contains(inner)
            }
            TypeRef::Tuple(inner) => inner.iter().any(|ty| self.contains(ty)),
            // The serialization of types from outside the generated crate may fail. The type of a mapped
            // format holds a string, which can always be serialized.
            TypeRef::Replaced(path, _) => MappedFormat::name_from_path(path).is_none(),
            TypeRef::Json
            | TypeRef::Bool
            | TypeRef::Int(_)
            | TypeRef::Number
            | TypeRef::String
            | TypeRef::Secret => false,
        }
    }
}

impl<'a> CheckBuilder<'a> {
    /// Returns a check that requires `check` and also rejects values that cannot be serialized.
    pub(super) fn require_writable(&self, check: Check, at: &TypedPlace<'a>) -> Check {
        self.require_writable_given(&[], check, at)
    }

    /// Returns a check that requires `check` and rejects values that cannot be serialized, unless one of the
    /// checks `beside` already rejects them. The caller combines the result with `beside`.
    fn require_writable_given(&self, beside: &[&Check], check: Check, at: &TypedPlace<'a>) -> Check {
        let missing = self.missing_writable(&[beside, &[&check]].concat(), at, MAX_WRITABLE_DEPTH);
        if missing == Always {
            return check;
        }
        let at = &self.unwrap_place(at.clone());
        // If one of several alternatives must hold, each is extended separately. An alternative that calls
        // the check of the value's type needs no further test.
        let each = |all: Vec<Check>| all.into_iter().map(|one| self.require_writable_given(beside, one, at));
        match check {
            Any(mut all) if self.is_choice(&all, at) => {
                // Alternatives that already reject such values come first.
                all.sort_by_key(|one| !self.implies_writable(one, at, MAX_WRITABLE_DEPTH));
                each(all).fold(Never, Check::or)
            }
            ExactlyOne(all) if self.is_choice(&all, at) => Check::exactly_one(each(all).collect()),
            All(mut all) => {
                let choice =
                    |check: &Check| matches!(check, Any(all) | ExactlyOne(all) if self.is_choice(all, at));
                let Some(choice) = all.iter().position(choice).map(|choice| all.remove(choice)) else {
                    return All(all).merge(&missing);
                };
                let beside: Vec<&Check> = beside.iter().copied().chain(&all).collect();
                let choice = self.require_writable_given(&beside, choice, at);
                Check::all(all).and(choice)
            }
            Check::Test(ValueTest::Variants { at: place, boxed, of, arms, unknown }) if place == at.place => {
                let arms = arms.into_iter().zip(self.variants_of(of)).map(|(arm, ty)| VariantArm {
                    check: self.require_writable(arm.check, &TypedPlace::bound_value(ty)),
                    variant: arm.variant,
                });
                ValueTest::Variants { at: place, boxed, of, arms: arms.collect(), unknown }.into()
            }
            Check::Test(ValueTest::Nullable { at: place, boxed, null, value }) if place == at.place => {
                let value = match at.ty {
                    TypeRef::Nullable(inner) => {
                        self.require_writable(*value, &TypedPlace::bound_value(inner))
                    }
                    _ => *value,
                };
                ValueTest::Nullable { at: place, boxed, null, value: Box::new(value) }.into()
            }
            check => check.merge(&missing),
        }
    }

    /// Returns the place and type of the value inside boxes and newtypes.
    fn unwrap_place(&self, mut at: TypedPlace<'a>) -> TypedPlace<'a> {
        while let TypeRef::Boxed(_) | TypeRef::Named(_) = at.ty {
            at = match at.ty {
                TypeRef::Boxed(inner) => TypedPlace { ty: inner, boxed: true, ..at },
                TypeRef::Named(id) => match &self.scope.shapes.get(*id).body {
                    TypeBody::Newtype(inner) => TypedPlace::new(inner, at.place.newtype_value()),
                    _ => break,
                },
                _ => break,
            };
        }
        at
    }

    /// Returns true if at least one of several alternatives already rejects every value that cannot be
    /// serialized. In this case, extending each alternative separately saves tests.
    fn is_choice(&self, all: &[Check], at: &TypedPlace<'a>) -> bool {
        all.iter().any(|one| self.implies_writable(one, at, MAX_WRITABLE_DEPTH))
    }

    /// Returns true if a check rejects every value that cannot be serialized.
    fn implies_writable(&self, check: &Check, at: &TypedPlace<'a>, depth: u8) -> bool {
        match check {
            Always | Not(_) => false,
            Never => true,
            All(_) => self.missing_writable(&[check], at, depth) == Always,
            Any(all) | ExactlyOne(all) => all.iter().all(|one| self.implies_writable(one, at, depth)),
            Check::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.implies_writable(otherwise, at, depth)
                    && (self.implies_writable(then, at, depth) || self.implies_writable(condition, at, depth))
            }
            Check::Test(
                ValueTest::Valid(place)
                | ValueTest::Writable(place)
                | ValueTest::Tables(place, PlaceForm::Typed, _),
            ) => *place == at.place,
            Check::Test(_) => self.missing_writable(&[check], at, depth) == Always,
        }
    }

    /// Returns the test that must be added to the checks in `given` to reject values that cannot be
    /// serialized, or `Always` if they already do so.
    fn missing_writable(&self, given: &[&Check], at: &TypedPlace<'a>, depth: u8) -> Check {
        if !self.scope.unwritable.contains(at.ty) {
            return Always;
        }
        let given = &flatten_all(given);
        let whole = |check: &&Check| match check {
            Any(_) | ExactlyOne(_) | Check::If(_) | Never => self.implies_writable(check, at, depth),
            Check::Test(
                ValueTest::Valid(of) | ValueTest::Writable(of) | ValueTest::Tables(of, PlaceForm::Typed, _),
            ) => *of == at.place,
            _ => false,
        };
        if given.iter().any(whole) {
            return Always;
        }
        let place = &at.place;
        match at.ty {
            TypeRef::Boxed(inner) => self.missing_writable(
                given,
                &TypedPlace { ty: inner, place: place.clone(), boxed: true },
                depth,
            ),
            TypeRef::Nullable(inner) => {
                let given = inner_of(given, |test| match test {
                    ValueTest::Nullable { at, value, .. } if at == place => Some(&**value),
                    _ => None,
                });
                self.missing_writable(&given, &TypedPlace::bound_value(inner), depth).wrap_in(
                    Always,
                    |value| ValueTest::Nullable { at: place.clone(), boxed: at.boxed, null: true, value },
                )
            }
            TypeRef::Vec(inner) => {
                let given = inner_of(given, |test| match test {
                    ValueTest::Elements(at, element) if at == place => Some(&**element),
                    _ => None,
                });
                let element = self.missing_writable(&given, &TypedPlace::bound_value(inner), depth);
                element.wrap_in(Always, |element| ValueTest::Elements(place.clone(), element))
            }
            TypeRef::Map(inner) => self.missing_values(given, place, inner, depth),
            TypeRef::Tuple(inner) => Check::all(inner.iter().enumerate().map(|(index, ty)| {
                self.missing_writable(given, &TypedPlace::new(ty, place.element(index)), depth)
            })),
            TypeRef::Named(id) => match depth.checked_sub(1) {
                Some(depth) => match self.missing_named(given, at, *id, depth) {
                    missing
                        if missing != Always
                            && *place != ValuePlace::Own
                            && self.is_trivial_otherwise(*id) =>
                    {
                        ValueTest::Valid(place.clone()).into()
                    }
                    missing => missing,
                },
                None if self.is_trivial_otherwise(*id) => ValueTest::Valid(place.clone()).into(),
                None => ValueTest::Writable(place.clone()).into(),
            },
            _ => ValueTest::Writable(place.clone()).into(),
        }
    }

    /// Returns true if the check of a type accepts every value that can be serialized.
    fn is_trivial_otherwise(&self, id: TypeId) -> bool {
        Self::new(self.scope, Rc::clone(&self.dynamic), Rc::clone(&self.lenient)).is_trivial(id)
    }

    fn missing_named(&self, given: &[&Check], at: &TypedPlace<'a>, id: TypeId, depth: u8) -> Check {
        let place = &at.place;
        match &self.scope.shapes.get(id).body {
            TypeBody::Struct(body) => {
                let fields = body.fields.iter().filter(|field| !field.omitted);
                let fields = Check::all(fields.map(|field| self.missing_field(given, place, field, depth)));
                let apart = missing_apart(given, place, id, body);
                let rest = body
                    .additional
                    .as_ref()
                    .map_or(Always, |ty| self.missing_values(given, &place.rest(), ty, depth));
                fields.and(rest).and(apart)
            }
            TypeBody::Newtype(inner) => {
                self.missing_writable(given, &TypedPlace::new(inner, place.newtype_value()), depth)
            }
            TypeBody::Objects(_) | TypeBody::ByKind(_) => self.missing_variants(given, at, id, depth),
            TypeBody::Enum(_) | TypeBody::Pending => Always,
        }
    }

    fn missing_field(&self, given: &[&Check], of: &ValuePlace, field: &'a StructField, depth: u8) -> Check {
        let place = of.field(&field.name);
        if field.required {
            return self.missing_writable(given, &TypedPlace::new(&field.ty, place), depth);
        }
        if given.contains(&&Check::from(ValueTest::IsPresent(place.clone())).not()) {
            return Always;
        }
        let given = inner_of(given, |test| match test {
            ValueTest::IfPresent(at, value) if *at == place => Some(&**value),
            _ => None,
        });
        let value = self.missing_writable(&given, &TypedPlace::bound_value(&field.ty), depth);
        value.wrap_in(Always, |value| ValueTest::IfPresent(place, value))
    }

    fn missing_values(&self, given: &[&Check], place: &ValuePlace, inner: &'a TypeRef, depth: u8) -> Check {
        if given.contains(&&emptiness_check(place)) {
            return Always;
        }
        let given = inner_of(given, |test| match test {
            ValueTest::Values(at, value) | ValueTest::Members(at, value) if at == place => Some(&**value),
            _ => None,
        });
        let value = self.missing_writable(&given, &TypedPlace::bound_value(inner), depth);
        value.wrap_in(Always, |value| ValueTest::Values(place.clone(), value))
    }

    fn missing_variants(&self, given: &[&Check], at: &TypedPlace<'a>, id: TypeId, depth: u8) -> Check {
        let body = &self.scope.shapes.get(id).body;
        let each = self.variants_of(id).into_iter().enumerate().map(|(index, ty)| {
            let given = inner_of(given, |test| match test {
                ValueTest::Variants { at: place, arms, .. } if *place == at.place => {
                    arms.get(index).map(|arm| &arm.check)
                }
                _ => None,
            });
            self.missing_writable(&given, &TypedPlace::bound_value(ty), depth)
        });
        let each: Vec<Check> = each.collect();
        if each.iter().all(|check| *check == Always) {
            return Always;
        }
        let (names, is_open): (Vec<&str>, bool) = match body {
            TypeBody::Objects(body) => (body.contents().map(|(name, _)| name).collect(), body.open),
            TypeBody::ByKind(variants) => {
                (variants.iter().map(|variant| variant.name.as_str()).collect(), false)
            }
            _ => return Always,
        };
        let arms =
            names.into_iter().zip(each).map(|(name, check)| VariantArm { variant: name.to_owned(), check });
        let (arms, unknown) = (arms.collect(), is_open.then(Vec::new));
        ValueTest::Variants { at: at.place.clone(), boxed: at.boxed, of: id, arms, unknown }.into()
    }

    /// Returns the type of each variant's content, in the order of the enum's variants.
    fn variants_of(&self, id: TypeId) -> Vec<&'a TypeRef> {
        match &self.scope.shapes.get(id).body {
            TypeBody::Objects(body) => body.contents().map(|(_, ty)| ty).collect(),
            TypeBody::ByKind(variants) => variants.iter().map(|variant| &variant.ty).collect(),
            _ => Vec::new(),
        }
    }
}

/// Returns the test that no undeclared property has a declared name, unless the checks in `given` imply it.
fn missing_apart(given: &[&Check], place: &ValuePlace, id: TypeId, body: &StructBody) -> Check {
    let apart = Check::from(ValueTest::RestIsDisjoint(place.clone(), id));
    let is_given =
        body.fields.is_empty() || given.contains(&&emptiness_check(&place.rest())) || given.contains(&&apart);
    if is_given { Always } else { apart }
}

/// Flattens nested conjunctions into a list of checks.
fn flatten_all<'c>(given: &[&'c Check]) -> Vec<&'c Check> {
    let each = given.iter().flat_map(|check| match check {
        All(all) => flatten_all(&all.iter().collect::<Vec<_>>()),
        one => vec![*one],
    });
    each.collect()
}

/// Returns the inner checks of all tests in `given` that `inner` selects.
fn inner_of<'c>(given: &[&'c Check], inner: impl Fn(&'c ValueTest) -> Option<&'c Check>) -> Vec<&'c Check> {
    let tests = given.iter().filter_map(|check| match check {
        Check::Test(test) => inner(test),
        _ => None,
    });
    tests.collect()
}
