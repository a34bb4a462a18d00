//! What a check says Ok of can be written.
//!
//! A struct that keeps other members can be built in code with one that it declares among them,
//! and is not written then: the member would stand there twice. A type says no to such a value
//! of its own by itself; but where a rule is written out at a place, or one branch of several is
//! enough, the type that stands there is not asked. So every type sees to all that stands in it,
//! as far as nothing in its check does so already. What was read is never found wanting here,
//! and mostly pays for a look at whether there are other members at all.

use std::{collections::BTreeSet, rc::Rc};

use super::{
    At, Checker,
    check::{
        Arm,
        Check::{self, All, Always, Any, Never, Not, One},
        Form, Place, Test,
    },
    counts::empty,
};
use crate::{
    formats::Mapped,
    shape::{Body, Field, Shapes, Struct, TypeId, TypeRef},
};

/// How many types deep it is written out what could not be written before the value is asked as a
/// whole.
const DEPTH: u8 = 3;

/// The types with values that cannot be written.
#[derive(Clone, Debug, Default)]
pub(super) struct Unwritable(BTreeSet<TypeId>);

impl Unwritable {
    pub(super) fn of(shapes: &Shapes) -> Self {
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

    fn has_body(&self, body: &Body) -> bool {
        match body {
            // Without a member of its own it has none twice.
            Body::Struct(body) => {
                !body.fields.is_empty() || body.additional.as_ref().is_some_and(|ty| self.has(ty))
            }
            Body::Tagged(body) => body.variants.iter().any(|variant| self.has(&variant.ty)),
            Body::ByKind(variants) => variants.iter().any(|variant| self.has(&variant.ty)),
            Body::Newtype(inner) => self.has(inner),
            Body::Enum(_) | Body::Pending => false,
        }
    }

    /// Whether there are such values of a type.
    fn has(&self, ty: &TypeRef) -> bool {
        match ty {
            TypeRef::Named(id) => self.0.contains(id),
            TypeRef::Vec(inner) | TypeRef::Map(inner) | TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => {
                self.has(inner)
            }
            TypeRef::Tuple(inner) => inner.iter().any(|ty| self.has(ty)),
            // What somebody else's type refuses is theirs to say; that of a format is its text.
            TypeRef::Replaced(path, _) => Mapped::of_path(path).is_none(),
            TypeRef::Json
            | TypeRef::Bool
            | TypeRef::Int(_)
            | TypeRef::Number
            | TypeRef::String
            | TypeRef::Secret => false,
        }
    }
}

impl<'a> Checker<'a> {
    /// A check that says no to what cannot be written, too.
    pub(super) fn writable(&self, check: Check, at: &At<'a>) -> Check {
        self.writable_beside(&[], check, at)
    }

    /// The same where other things are said beside it.
    fn writable_beside(&self, beside: &[&Check], check: Check, at: &At<'a>) -> Check {
        let missing = self.missing(&[beside, &[&check]].concat(), at, DEPTH);
        if missing == Always {
            return check;
        }
        let at = &self.bare(at.clone());
        // Each alternative by itself: those that ask the type need nothing more.
        let each = |all: Vec<Check>| all.into_iter().map(|one| self.writable_beside(beside, one, at));
        match check {
            Any(mut all) if self.is_choice(&all, at) => {
                // What was read is mostly what its type says.
                all.sort_by_key(|one| !self.implies(one, at, DEPTH));
                each(all).fold(Never, Check::or)
            }
            One(all) if self.is_choice(&all, at) => Check::exactly_one(each(all).collect()),
            All(mut all) => {
                let choice = |check: &Check| matches!(check, Any(all) | One(all) if self.is_choice(all, at));
                let Some(choice) = all.iter().position(choice).map(|choice| all.remove(choice)) else {
                    return All(all).joined(&missing);
                };
                let beside: Vec<&Check> = beside.iter().copied().chain(&all).collect();
                let choice = self.writable_beside(&beside, choice, at);
                Check::all(all).and(choice)
            }
            Check::Test(Test::Variants { at: place, boxed, of, arms, unknown }) if place == at.place => {
                let arms = arms.into_iter().zip(self.variants_of(of)).map(|(arm, ty)| Arm {
                    check: self.writable(arm.check, &At::bound(ty)),
                    variant: arm.variant,
                });
                Test::Variants { at: place, boxed, of, arms: arms.collect(), unknown }.into()
            }
            Check::Test(Test::Nullable { at: place, boxed, null, value }) if place == at.place => {
                let value = match at.ty {
                    TypeRef::Nullable(inner) => self.writable(*value, &At::bound(inner)),
                    _ => *value,
                };
                Test::Nullable { at: place, boxed, null, value: Box::new(value) }.into()
            }
            check => check.joined(&missing),
        }
    }

    /// The value behind pointers and the names of newtypes.
    fn bare(&self, mut at: At<'a>) -> At<'a> {
        while let TypeRef::Boxed(_) | TypeRef::Named(_) = at.ty {
            at = match at.ty {
                TypeRef::Boxed(inner) => At { ty: inner, boxed: true, ..at },
                TypeRef::Named(id) => match &self.scope.shapes.get(*id).body {
                    Body::Newtype(inner) => At::new(inner, at.place.inside()),
                    _ => break,
                },
                _ => break,
            };
        }
        at
    }

    /// Whether one of several alternatives asks the type already.
    fn is_choice(&self, all: &[Check], at: &At<'a>) -> bool {
        all.iter().any(|one| self.implies(one, at, DEPTH))
    }

    /// Whether a check holds of nothing that cannot be written.
    fn implies(&self, check: &Check, at: &At<'a>, depth: u8) -> bool {
        match check {
            Always | Not(_) => false,
            Never => true,
            All(_) => self.missing(&[check], at, depth) == Always,
            Any(all) | One(all) => all.iter().all(|one| self.implies(one, at, depth)),
            Check::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.implies(otherwise, at, depth)
                    && (self.implies(then, at, depth) || self.implies(condition, at, depth))
            }
            Check::Test(Test::Valid(place) | Test::Writable(place) | Test::Tables(place, Form::Typed, _)) => {
                *place == at.place
            }
            Check::Test(_) => self.missing(&[check], at, depth) == Always,
        }
    }

    /// What has to hold, beside what was said, of a value that can be written.
    fn missing(&self, said: &[&Check], at: &At<'a>, depth: u8) -> Check {
        if !self.scope.unwritable.has(at.ty) {
            return Always;
        }
        let said = &flat(said);
        let whole = |check: &&Check| match check {
            Any(_) | One(_) | Check::If(_) | Never => self.implies(check, at, depth),
            Check::Test(Test::Valid(of) | Test::Writable(of) | Test::Tables(of, Form::Typed, _)) => {
                *of == at.place
            }
            _ => false,
        };
        if said.iter().any(whole) {
            return Always;
        }
        let place = &at.place;
        match at.ty {
            TypeRef::Boxed(inner) => {
                self.missing(said, &At { ty: inner, place: place.clone(), boxed: true }, depth)
            }
            TypeRef::Nullable(inner) => {
                let said = inner_of(said, |test| match test {
                    Test::Nullable { at, value, .. } if at == place => Some(&**value),
                    _ => None,
                });
                self.missing(&said, &At::bound(inner), depth).within(Always, |value| Test::Nullable {
                    at: place.clone(),
                    boxed: at.boxed,
                    null: true,
                    value,
                })
            }
            TypeRef::Vec(inner) => {
                let said = inner_of(said, |test| match test {
                    Test::Elements(at, element) if at == place => Some(&**element),
                    _ => None,
                });
                let element = self.missing(&said, &At::bound(inner), depth);
                element.within(Always, |element| Test::Elements(place.clone(), element))
            }
            TypeRef::Map(inner) => self.missing_values(said, place, inner, depth),
            TypeRef::Tuple(inner) => Check::all(
                inner
                    .iter()
                    .enumerate()
                    .map(|(index, ty)| self.missing(said, &At::new(ty, place.element(index)), depth)),
            ),
            TypeRef::Named(id) => match depth.checked_sub(1) {
                Some(depth) => match self.missing_named(said, at, *id, depth) {
                    missing if missing != Always && *place != Place::Own && self.asks_nothing_else(*id) => {
                        Test::Valid(place.clone()).into()
                    }
                    missing => missing,
                },
                None if self.asks_nothing_else(*id) => Test::Valid(place.clone()).into(),
                None => Test::Writable(place.clone()).into(),
            },
            _ => Test::Writable(place.clone()).into(),
        }
    }

    /// Whether a type says no to nothing but what cannot be written.
    fn asks_nothing_else(&self, id: TypeId) -> bool {
        Self::with(self.scope, Rc::clone(&self.dynamic), Rc::clone(&self.lenient)).is_trivial(id)
    }

    fn missing_named(&self, said: &[&Check], at: &At<'a>, id: TypeId, depth: u8) -> Check {
        let place = &at.place;
        match &self.scope.shapes.get(id).body {
            Body::Struct(body) => {
                let fields = body.fields.iter().filter(|field| !field.omitted);
                let fields = Check::all(fields.map(|field| self.missing_field(said, place, field, depth)));
                let apart = missing_apart(said, place, id, body);
                let rest = body
                    .additional
                    .as_ref()
                    .map_or(Always, |ty| self.missing_values(said, &place.rest(), ty, depth));
                fields.and(rest).and(apart)
            }
            Body::Newtype(inner) => self.missing(said, &At::new(inner, place.inside()), depth),
            Body::Tagged(_) | Body::ByKind(_) => self.missing_variants(said, at, id, depth),
            Body::Enum(_) | Body::Pending => Always,
        }
    }

    fn missing_field(&self, said: &[&Check], of: &Place, field: &'a Field, depth: u8) -> Check {
        let place = of.field(&field.name);
        if field.required {
            return self.missing(said, &At::new(&field.ty, place), depth);
        }
        if said.contains(&&Check::from(Test::There(place.clone())).not()) {
            return Always;
        }
        let said = inner_of(said, |test| match test {
            Test::IfThere(at, value) if *at == place => Some(&**value),
            _ => None,
        });
        let value = self.missing(&said, &At::bound(&field.ty), depth);
        value.within(Always, |value| Test::IfThere(place, value))
    }

    fn missing_values(&self, said: &[&Check], place: &Place, inner: &'a TypeRef, depth: u8) -> Check {
        if said.contains(&&empty(place)) {
            return Always;
        }
        let said = inner_of(said, |test| match test {
            Test::Values(at, value) | Test::Members(at, value) if at == place => Some(&**value),
            _ => None,
        });
        let value = self.missing(&said, &At::bound(inner), depth);
        value.within(Always, |value| Test::Values(place.clone(), value))
    }

    fn missing_variants(&self, said: &[&Check], at: &At<'a>, id: TypeId, depth: u8) -> Check {
        let body = &self.scope.shapes.get(id).body;
        let each = self.variants_of(id).into_iter().enumerate().map(|(index, ty)| {
            let said = inner_of(said, |test| match test {
                Test::Variants { at: place, arms, .. } if *place == at.place => {
                    arms.get(index).map(|arm| &arm.check)
                }
                _ => None,
            });
            self.missing(&said, &At::bound(ty), depth)
        });
        let each: Vec<Check> = each.collect();
        if each.iter().all(|check| *check == Always) {
            return Always;
        }
        let (names, is_open): (Vec<&String>, bool) = match body {
            Body::Tagged(body) => (body.variants.iter().map(|variant| &variant.name).collect(), body.open),
            Body::ByKind(variants) => (variants.iter().map(|variant| &variant.name).collect(), false),
            _ => return Always,
        };
        let arms = names.into_iter().zip(each).map(|(name, check)| Arm { variant: name.clone(), check });
        let (arms, unknown) = (arms.collect(), is_open.then(Vec::new));
        Test::Variants { at: at.place.clone(), boxed: at.boxed, of: id, arms, unknown }.into()
    }

    /// What the variants of an enum hold.
    fn variants_of(&self, id: TypeId) -> Vec<&'a TypeRef> {
        match &self.scope.shapes.get(id).body {
            Body::Tagged(body) => body.variants.iter().map(|variant| &variant.ty).collect(),
            Body::ByKind(variants) => variants.iter().map(|variant| &variant.ty).collect(),
            _ => Vec::new(),
        }
    }
}

/// Whether a struct's other members could have the name of one that it declares.
fn missing_apart(said: &[&Check], place: &Place, id: TypeId, body: &Struct) -> Check {
    let apart = Check::from(Test::Apart(place.clone(), id));
    let is_said = body.fields.is_empty() || said.contains(&&empty(&place.rest())) || said.contains(&&apart);
    if is_said { Always } else { apart }
}

/// Everything that holds, where several do.
fn flat<'c>(said: &[&'c Check]) -> Vec<&'c Check> {
    let each = said.iter().flat_map(|check| match check {
        All(all) => flat(&all.iter().collect::<Vec<_>>()),
        one => vec![*one],
    });
    each.collect()
}

/// What tests of one kind say of the value that they bind.
fn inner_of<'c>(said: &[&'c Check], inner: impl Fn(&'c Test) -> Option<&'c Check>) -> Vec<&'c Check> {
    let tests = said.iter().filter_map(|check| match check {
        Check::Test(test) => inner(test),
        _ => None,
    });
    tests.collect()
}
