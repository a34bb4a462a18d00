//! The typed checks: `is_valid` as plain expressions over fields.
//!
//! A constraint that the type itself guarantees costs nothing; one that needs more than a look
//! at the fields (`unevaluated…`, `$dynamicRef`) is asked of the tables, value by value. So every
//! constraint is checked, and the common ones at the price of a comparison.

mod condition;
mod containers;
mod counts;
mod focus;
mod scalars;
mod texts;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use contract_runtime::Json;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{Emitter, row_literal};
use crate::{
    schema::{Graph, Schema, SchemaId, Types},
    shape::{Body, Field, KindVariant, Struct, Tagged, TypeDef, TypeId, TypeRef},
    together::{Conj, Facts},
};

use self::focus::Focus;
pub(super) use self::{condition::Check, focus::inside};
use self::{
    condition::Check::{Always, Either, Never, When},
    counts::{count_bounds, present},
    scalars::{allows, int_keywords, number_keywords},
};

/// How deep checks are written out before they go through the tables.
const DEPTH: u8 = 24;

/// How many schemas are written out for one field, or beside the fields of one type. Unions that
/// hold each other's branches would otherwise multiply, level by level.
const VISITS: u32 = 256;

/// A value in generated code, and its type.
#[derive(Clone)]
pub(super) struct Place<'a> {
    ty: &'a TypeRef,
    /// What methods and fields are called on: `self.name` or `v`.
    recv: TokenStream,
    /// A reference to it: `&self.name` or `v`.
    by_ref: TokenStream,
    /// A copy of it: `self.name` or `*v`.
    copy: TokenStream,
    /// Whether it stands in a `Box`, which methods and arguments see through, but `match` does not.
    boxed: bool,
}

impl<'a> Place<'a> {
    pub(super) fn field(ty: &'a TypeRef, path: TokenStream) -> Self {
        Self { ty, by_ref: quote!(&#path), copy: path.clone(), recv: path, boxed: false }
    }

    fn variable(ty: &'a TypeRef) -> Self {
        Self { ty, recv: quote!(value), by_ref: quote!(value), copy: quote!(*value), boxed: false }
    }

    fn own(ty: &'a TypeRef) -> Self {
        Self { ty, recv: quote!(self), by_ref: quote!(self), copy: quote!(*self), boxed: false }
    }

    fn unboxed(&self, ty: &'a TypeRef) -> Self {
        Self { ty, boxed: true, ..self.clone() }
    }

    /// As what `match` takes.
    fn matched(&self) -> TokenStream {
        let recv = &self.recv;
        if self.boxed { quote!(#recv.as_ref()) } else { self.by_ref.clone() }
    }
}

/// Text that a check looks at.
struct Text {
    /// What methods are called on.
    recv: TokenStream,
    /// As an argument of type `&str`.
    arg: TokenStream,
    /// As what `match` takes.
    matched: TokenStream,
    /// What it is known not to be.
    is_none_of: BTreeSet<String>,
}

impl Text {
    /// An expression of type `&str`.
    fn slice(tokens: TokenStream) -> Self {
        Self { recv: tokens.clone(), arg: tokens.clone(), matched: tokens, is_none_of: BTreeSet::new() }
    }

    /// A place of type `String`.
    fn owned(place: &Place<'_>) -> Self {
        let recv = &place.recv;
        Self {
            recv: recv.clone(),
            arg: place.by_ref.clone(),
            matched: quote!(#recv.as_str()),
            is_none_of: BTreeSet::new(),
        }
    }
}

/// Which types need no check, as far as it was asked; shared, since the answer takes a walk
/// through all that a type holds.
pub(super) type Trivial = Rc<RefCell<BTreeMap<TypeId, bool>>>;

/// Writes checks and remembers which types need none.
pub(super) struct Checker<'a> {
    emitter: &'a Emitter<'a>,
    trivial: Trivial,
    /// Schemas that may still be written out where we are.
    visits: Cell<u32>,
    /// Schemas from which a `$dynamicRef` can be reached. Where that leads depends on where the
    /// evaluation began (Core 8.2.3.2), so their types are not checked piece by piece.
    dynamic: Rc<BTreeSet<SchemaId>>,
    focus: Option<Focus<'a>>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(emitter: &'a Emitter<'a>, dynamic: Rc<BTreeSet<SchemaId>>, trivial: Trivial) -> Self {
        Self { emitter, trivial, visits: Cell::new(0), dynamic, focus: None }
    }

    fn graph_schema(&self, id: SchemaId) -> &'a Schema {
        match &self.focus {
            Some(focus) if focus.id == id => focus.part,
            _ => self.emitter.graph.schema(id),
        }
    }

    /// Checks a value that a closure or a pattern binds. Names shadow each other: a test looks
    /// at the innermost value alone.
    fn bound(&self, ty: &'a TypeRef, check: impl FnOnce(&Place<'a>) -> Check) -> Check {
        check(&Place::variable(ty))
    }

    /// A check that is written out if it stays small, else what `tables` says.
    fn within_reason(&self, write: impl FnOnce() -> Check, tables: impl FnOnce() -> Check) -> Check {
        let before = self.visits.replace(VISITS);
        let check = write();
        match self.visits.replace(before) {
            0 => tables(),
            _ => check,
        }
    }

    /// Whether one more schema may be written out here.
    fn visit(&self) -> bool {
        let left = self.visits.get();
        self.visits.set(left.saturating_sub(1));
        left > 1
    }

    /// The body of a type's `is_valid`.
    pub(super) fn definition(&self, id: TypeId) -> Check {
        let def = self.emitter.shapes.get(id);
        self.within_reason(|| self.written(id, def), || self.by_row(def))
    }

    fn written(&self, id: TypeId, def: &'a TypeDef) -> Check {
        let own = Place::own(self.emitter.named(id));
        if def.conj.ids.iter().any(|id| self.dynamic.contains(id)) {
            return self.by_row(def);
        }
        let mut check = match &def.body {
            Body::Struct(body) => self.struct_definition(def, body, &own),
            Body::Tagged(body) => self.tagged_definition(def, body),
            Body::ByKind(variants) => {
                let arms = variants.iter().map(|v| {
                    let name = super::ident(&v.name);
                    let conj = def.conj.within(v.types);
                    (quote!(Self::#name), self.bound(&v.ty, |place| self.conj(&conj, place, DEPTH)))
                });
                match_variants(&quote!(self), arms.collect(), None)
            }
            Body::Newtype(inner) => self.members(&def.conj, &newtype_inside(inner, &own), DEPTH),
            Body::Enum(_) | Body::Pending => self.members(&def.conj, &own, DEPTH),
        };
        if self.needs_tables(def) {
            check = check.and(self.by_row(def));
        }
        check
    }

    fn by_row(&self, def: &TypeDef) -> Check {
        let row = row_literal(self.emitter.tables.row(&def.conj));
        When(quote!(contract::holds(self, schemas::validator(#row))))
    }

    /// Whether a type's check is always true.
    pub(super) fn is_trivial(&self, id: TypeId) -> bool {
        if let Some(focus) = &self.focus {
            return focus.whole.is_trivial(id);
        }
        if let Some(&known) = self.trivial.borrow().get(&id) {
            return known;
        }
        // A type inside itself: assume that there is something to check.
        self.trivial.borrow_mut().insert(id, false);
        let trivial = matches!(self.definition(id), Always);
        self.trivial.borrow_mut().insert(id, trivial);
        trivial
    }

    /// Rules that look at what other keywords evaluated cannot be split into fields.
    fn needs_tables(&self, def: &TypeDef) -> bool {
        let facts = self.facts(&def.conj);
        facts.members.iter().chain(&facts.conditional).any(|&m| {
            let s = self.graph_schema(m);
            s.unevaluated_properties.is_some() || s.unevaluated_items.is_some()
        })
    }

    fn facts(&self, conj: &Conj) -> Facts {
        Facts::of(self.emitter.graph, conj, self.emitter.implied_objects)
    }

    fn struct_definition(&self, def: &TypeDef, body: &'a Struct, own: &Place<'a>) -> Check {
        let fields = body
            .fields
            .iter()
            .map(|field| self.at_field(field, &quote!(self), &AtField::All(&field.conj), DEPTH));
        let fields = Check::all(fields);
        let rest = self.facts(&def.conj).members.into_iter().map(|m| {
            let s = self.graph_schema(m);
            let at = |id: SchemaId| self.at_struct(id, body, own, DEPTH - 1);
            // Fields were checked above, with all that applies to them.
            self.object_keywords(s, body, own, true, DEPTH)
                .and(self.object_literals(m, s, own))
                .and(self.applicators(s, def.conj.chosen.contains(&m), &at))
        });
        fields.and(Check::all(rest))
    }

    /// `const` and `enum` at an object are for the tables.
    fn object_literals(&self, id: SchemaId, s: &Schema, place: &Place<'a>) -> Check {
        if s.enumeration.is_some() || s.constant.is_some() { self.by_tables(id, place) } else { Always }
    }

    fn applicators(&self, s: &Schema, skip_unions: bool, at: &dyn Fn(SchemaId) -> Check) -> Check {
        let mut check = Always;
        if !skip_unions && !s.any_of.is_empty() {
            check = check.and(s.any_of.iter().map(|&b| at(b)).fold(Never, Check::or));
        }
        if !skip_unions && !s.one_of.is_empty() {
            check = check.and(exactly_one(s.one_of.iter().map(|&b| at(b)).collect()));
        }
        if let Some(not) = s.not {
            check = check.and(at(not).not());
        }
        if let Some(condition) = s.condition {
            let then = s.then.map_or(Always, at);
            let otherwise = s.otherwise.map_or(Always, at);
            let condition = at(condition);
            check = check.and(match (condition, then, otherwise) {
                (_, Always, Always) => Always,
                (Always, then, _) => then,
                (Never, _, otherwise) => otherwise,
                (condition, then, Always) => condition.not().or(then),
                (condition, Always, otherwise) => condition.or(otherwise),
                (condition, then, otherwise) => {
                    let (c, t, o) = (condition.tokens(), then.tokens(), otherwise.tokens());
                    Either(quote!(if #c { #t } else { #o }))
                }
            });
        }
        check
    }

    /// Everything that a schema says about a struct.
    fn at_struct(&self, id: SchemaId, body: &'a Struct, place: &Place<'a>, depth: u8) -> Check {
        if let Some(check) = self.own_check(&Conj::one(id), place) {
            return check;
        }
        let s = self.graph_schema(id);
        if depth == 0 || is_contextual(s) || !self.visit() {
            return self.by_tables(id, place);
        }
        if s.boolean == Some(false) || s.types.is_some_and(|t| !t.contains(Types::OBJECT)) {
            return Never;
        }
        let at = |id: SchemaId| self.at_struct(id, body, place, depth - 1);
        let parts = s.reference.iter().chain(&s.all_of).map(|&part| at(part));
        let parts = Check::all(parts.collect::<Vec<_>>());
        self.object_literals(id, s, place)
            .and(self.object_keywords(s, body, place, false, depth))
            .and(parts)
            .and(self.applicators(s, false, &at))
    }

    /// The assertions about members. `own` leaves out what the fields' own checks cover.
    fn object_keywords(
        &self,
        s: &'a Schema,
        body: &'a Struct,
        place: &Place<'a>,
        own: bool,
        depth: u8,
    ) -> Check {
        let recv = &place.recv;
        let field = |name: &str| body.fields.iter().find(|f| f.wire == name);
        let mut check = Always;
        for name in &s.required {
            check = check.and(match field(name) {
                Some(f) => present(f, recv),
                None => When(quote!(#recv.extra.contains_key(#name))),
            });
        }
        for (name, property) in s.properties.iter().filter(|_| self.asks(s, "properties")) {
            check = check.and(match field(name) {
                Some(f) if own && f.conj.ids.contains(property) => Always,
                Some(f) => self.at_field(f, recv, &AtField::One(*property), depth),
                None => {
                    let row = row_literal(self.emitter.tables.row_of(*property));
                    When(quote!(#recv.extra.get(#name).is_none_or(|value| schemas::validator(#row).is_valid(value))))
                }
            });
        }
        check = check.and(self.undeclared_members(s, body, recv, depth));
        for (name, needs) in &s.dependent_required {
            let all = Check::all(needs.iter().map(|n| match field(n) {
                Some(f) => present(f, recv),
                None => When(quote!(#recv.extra.contains_key(#n))),
            }));
            let given = field(name)
                .map_or_else(|| When(quote!(#recv.extra.contains_key(#name))), |f| present(f, recv));
            check = check.and(given.not().or(all));
        }
        for (name, schema) in &s.dependent_schemas {
            let given = field(name)
                .map_or_else(|| When(quote!(#recv.extra.contains_key(#name))), |f| present(f, recv));
            let then = self.at_struct(*schema, body, place, depth - 1);
            check = check.and(given.not().or(then));
        }
        if s.min_properties.is_some() || s.max_properties.is_some() {
            check = check.and(count_bounds(s, body, recv));
        }
        check
    }

    /// `patternProperties`, `additionalProperties`, `propertyNames`.
    fn undeclared_members(&self, s: &'a Schema, body: &'a Struct, recv: &TokenStream, depth: u8) -> Check {
        let mut check = Always;
        let values_ty = body.additional.as_ref().unwrap_or(&TypeRef::Json);
        let each = |test: TokenStream| When(quote!(#recv.extra.iter().all(|(name, value)| #test)));
        for (pattern, schema) in s.pattern_properties.iter().filter(|_| self.asks(s, "patternProperties")) {
            let Some(constant) = self.emitter.tables.pattern(pattern) else { continue };
            for field in body.fields.iter().filter(|f| self.emitter.tables.is_match(pattern, &f.wire)) {
                check = check.and(self.at_field(field, recv, &AtField::One(*schema), depth));
            }
            let value = self.schema(*schema, &Place::variable(values_ty), depth - 1);
            check = check.and(match value.test() {
                Err(Always) => Always,
                Err(_) => When(quote!(!#recv.extra.keys().any(|name| schemas::#constant.is_match(name)))),
                Ok(test) => each(quote!(!schemas::#constant.is_match(name) || #test)),
            });
        }
        if let Some(additional) = s.additional_properties {
            let matched = |name: &str| {
                s.properties.iter().any(|(n, _)| n == name)
                    || s.pattern_properties.iter().any(|(p, _)| self.emitter.tables.is_match(p, name))
            };
            for field in body.fields.iter().filter(|f| !matched(&f.wire)) {
                check = check.and(self.at_field(field, recv, &AtField::One(additional), depth));
            }
            let constants: Vec<Ident> =
                s.pattern_properties.iter().filter_map(|(p, _)| self.emitter.tables.pattern(p)).collect();
            let elsewhere: Vec<&String> = s
                .properties
                .iter()
                .map(|(n, _)| n)
                .filter(|n| !body.fields.iter().any(|f| f.wire == **n))
                .collect();
            let value = self.schema(additional, &Place::variable(values_ty), depth - 1);
            let known = known_names(&elsewhere, &constants);
            let alone = elsewhere.is_empty() && constants.is_empty();
            check = check.and(match value.test() {
                Err(Always) => Always,
                Err(_) if alone => When(quote!(#recv.extra.is_empty())),
                Err(_) => When(quote!(#recv.extra.keys().all(|name| #known))),
                Ok(test) if alone => When(quote!(#recv.extra.values().all(|value| #test))),
                Ok(test) => each(quote!(#known || #test)),
            });
        }
        if let Some(names) = s.property_names {
            for field in &body.fields {
                if !self.emitter.tables.is_valid(names, &Json::String(field.wire.clone())) {
                    check = check.and(present(field, recv).not());
                }
            }
            let text = self.text_keywords(names, &Text::slice(quote!(name)), None, depth - 1);
            check =
                check.and(text.within(
                    quote!(#recv.extra.is_empty()),
                    |test| quote!(#recv.extra.keys().all(|name| #test)),
                ));
        }
        check
    }

    /// A check of a field's value, wherever it is there.
    fn at_field(&self, field: &'a Field, recv: &TokenStream, what: &AtField<'_>, depth: u8) -> Check {
        if let (true, Some(constant)) = (field.omitted, &field.constant) {
            // The value is the constant itself, so every question about it is answered now.
            return match what {
                AtField::All(_) => Always,
                AtField::One(id) => Check::known(self.emitter.tables.is_valid(*id, constant)),
            };
        }
        let check = |place: &Place<'a>| match what {
            AtField::All(conj) => self.within_reason(
                || self.conj(conj, place, depth - 1),
                || Check::all(conj.ids.iter().map(|&id| self.by_tables(id, place))),
            ),
            AtField::One(id) => self.schema(*id, place, depth - 1),
        };
        let name = super::ident(&field.name);
        if field.required {
            return check(&Place::field(&field.ty, quote!(#recv.#name)));
        }
        self.bound(&field.ty, check).within(
            quote!(#recv.#name.is_none()),
            |test| quote!(#recv.#name.as_ref().is_none_or(|value| #test)),
        )
    }

    fn tagged_definition(&self, def: &TypeDef, body: &'a Tagged) -> Check {
        let row = row_literal(self.emitter.tables.row(&def.conj));
        let branches = self.branches(body.holder);
        let arms: Vec<(TokenStream, Check)> = body
            .variants
            .iter()
            .map(|v| {
                let name = super::ident(&v.name);
                let conj = match branches.get(v.branch) {
                    Some(&branch) => def.conj.choose(body.holder, branch),
                    None => def.conj.clone(),
                };
                let check = self.bound(&v.ty, |place| self.conj(&conj, place, DEPTH));
                (quote!(Self::#name), check)
            })
            .collect();
        let unknown =
            body.open.then(|| quote!(Self::Unknown(value) => schemas::validator(#row).is_valid(value),));
        match_variants(&quote!(self), arms, unknown)
    }

    fn branches(&self, holder: SchemaId) -> &'a [SchemaId] {
        let s = self.graph_schema(holder);
        if s.one_of.is_empty() { &s.any_of } else { &s.one_of }
    }

    /// Everything that several schemas say about a value.
    pub(super) fn conj(&self, conj: &Conj, place: &Place<'a>, depth: u8) -> Check {
        if let Some(check) = self.own_check(conj, place) {
            return check;
        }
        let skip = &conj.chosen;
        Check::distinct(conj.ids.iter().map(|&id| self.schema_at(id, place, skip, depth)).collect())
    }

    /// The check that the value's own type brings, when it checks exactly this.
    fn own_check(&self, conj: &Conj, place: &Place<'a>) -> Option<Check> {
        if self.focus.is_some_and(|focus| conj.ids.contains(&focus.id)) {
            return None;
        }
        let TypeRef::Named(id) = unboxed(place.ty) else { return None };
        let def = self.emitter.shapes.get(*id);
        let same = def.conj == *conj || def.conj == self.emitter.normal(conj);
        same.then(|| self.call(*id, place))
    }

    fn call(&self, id: TypeId, place: &Place<'a>) -> Check {
        if self.is_trivial(id) {
            Always
        } else {
            let recv = &place.recv;
            When(quote!(#recv.is_valid()))
        }
    }

    fn members(&self, conj: &Conj, place: &Place<'a>, depth: u8) -> Check {
        let skip = &conj.chosen;
        Check::distinct(conj.ids.iter().map(|&id| self.keywords(id, place, skip, depth)).collect())
    }

    /// Everything that one schema says about a value.
    pub(super) fn schema(&self, id: SchemaId, place: &Place<'a>, depth: u8) -> Check {
        self.schema_at(id, place, &[], depth)
    }

    fn schema_at(&self, id: SchemaId, place: &Place<'a>, chosen: &[SchemaId], depth: u8) -> Check {
        if !chosen.contains(&id)
            && let Some(check) = self.own_check(&Conj::one(id), place)
        {
            return check;
        }
        self.keywords(id, place, chosen, depth)
    }

    /// A schema's keywords at a value whose type does not check them itself.
    fn keywords(&self, id: SchemaId, place: &Place<'a>, chosen: &[SchemaId], depth: u8) -> Check {
        let s = self.graph_schema(id);
        match s.boolean {
            Some(true) => return Always,
            Some(false) => return Never,
            None => {}
        }
        if depth == 0 || is_contextual(s) || !self.visit() {
            return self.by_tables(id, place);
        }
        let at = |id: SchemaId| self.schema_at(id, place, chosen, depth - 1);
        match place.ty {
            TypeRef::Json | TypeRef::Replaced(..) => return self.by_tables(id, place),
            TypeRef::Boxed(inner) => return self.schema_at(id, &place.unboxed(inner), chosen, depth - 1),
            TypeRef::Nullable(inner) => return self.nullable(id, inner, place, chosen, depth),
            TypeRef::Named(type_id) => {
                let def = self.emitter.shapes.get(*type_id);
                match &def.body {
                    Body::Struct(body) => {
                        return if chosen.contains(&id) {
                            self.struct_without_unions(id, body, place, depth)
                        } else {
                            self.at_struct(id, body, place, depth)
                        };
                    }
                    Body::Tagged(body) => return self.at_tagged(id, def, body, place, depth),
                    Body::ByKind(variants) => return self.at_kinds(id, def, variants, place, depth),
                    Body::Newtype(inner) => return self.at_newtype(id, inner, place, chosen, depth),
                    Body::Enum(_) => {
                        return self.text_keywords(
                            id,
                            &Text::slice(quote!()),
                            Some((*type_id, place)),
                            depth,
                        );
                    }
                    Body::Pending => return self.by_tables(id, place),
                }
            }
            _ => {}
        }
        let own = match place.ty {
            TypeRef::Bool => self.bool_keywords(s, place),
            TypeRef::Int(kind) => int_keywords(s, *kind, place),
            TypeRef::Number => number_keywords(s, place),
            TypeRef::String => return self.string_keywords(id, &Text::owned(place), chosen, depth),
            TypeRef::Secret => {
                let recv = &place.recv;
                let text = quote!(#recv.expose());
                let text = Text {
                    recv: text.clone(),
                    matched: quote!(#text.as_str()),
                    arg: text,
                    is_none_of: BTreeSet::new(),
                };
                return self.string_keywords(id, &text, chosen, depth);
            }
            TypeRef::Vec(inner) => self.vec_keywords(id, s, inner, place, depth),
            TypeRef::Map(inner) => self.map_keywords(id, s, inner, place, depth),
            TypeRef::Tuple(inner) => self.tuple_keywords(id, s, inner, place, depth),
            _ => self.by_tables(id, place),
        };
        let parts = s.reference.iter().chain(&s.all_of).map(|&part| at(part));
        let parts = Check::all(parts.collect::<Vec<_>>());
        own.and(parts).and(self.applicators(s, chosen.contains(&id), &at))
    }

    fn struct_without_unions(&self, id: SchemaId, body: &'a Struct, place: &Place<'a>, depth: u8) -> Check {
        let s = self.graph_schema(id);
        let at = |id: SchemaId| self.at_struct(id, body, place, depth - 1);
        let parts = s.reference.iter().chain(&s.all_of).map(|&part| at(part));
        let parts = Check::all(parts.collect::<Vec<_>>());
        self.object_keywords(s, body, place, false, depth).and(parts).and(self.applicators(s, true, &at))
    }

    fn at_tagged(
        &self,
        id: SchemaId,
        def: &TypeDef,
        body: &'a Tagged,
        place: &Place<'a>,
        depth: u8,
    ) -> Check {
        let name = self.emitter.mention(def);
        let arms = body
            .variants
            .iter()
            .map(|v| {
                let variant = super::ident(&v.name);
                let check = self.bound(&v.ty, |place| self.schema(id, place, depth - 1));
                (quote!(#name::#variant), check)
            })
            .collect();
        let row = row_literal(self.emitter.tables.row_of(id));
        let unknown =
            body.open.then(|| quote!(#name::Unknown(value) => schemas::validator(#row).is_valid(value),));
        match_variants(&place.matched(), arms, unknown)
    }

    fn at_kinds(
        &self,
        id: SchemaId,
        def: &TypeDef,
        variants: &'a [KindVariant],
        place: &Place<'a>,
        depth: u8,
    ) -> Check {
        let name = self.emitter.mention(def);
        let arms = variants
            .iter()
            .map(|v| {
                let variant = super::ident(&v.name);
                let check = self.bound(&v.ty, |place| self.schema(id, place, depth - 1));
                (quote!(#name::#variant), check)
            })
            .collect();
        match_variants(&place.matched(), arms, None)
    }

    fn at_newtype(
        &self,
        id: SchemaId,
        inner: &'a TypeRef,
        place: &Place<'a>,
        chosen: &[SchemaId],
        depth: u8,
    ) -> Check {
        self.schema_at(id, &newtype_inside(inner, place), chosen, depth - 1)
    }

    fn nullable(
        &self,
        id: SchemaId,
        inner: &'a TypeRef,
        place: &Place<'a>,
        chosen: &[SchemaId],
        depth: u8,
    ) -> Check {
        // The branch for null was put aside with its union; the union as a whole still allows it.
        let s = self.graph_schema(id);
        let null = if self.is_focus(s) && s.children().next().is_none() {
            allows(s, &Json::Null, Types::NULL)
        } else {
            chosen.contains(&id) || self.emitter.tables.is_valid(id, &Json::Null)
        };
        let null = Check::known(null);
        match (null, self.bound(inner, |value| self.schema_at(id, value, chosen, depth - 1))) {
            (Always, Always) => Always,
            (Never, Never) => Never,
            (null, some) => {
                let on = place.matched();
                let name = if matches!(some, Always | Never) { quote!(_) } else { quote!(value) };
                let (null, some) = (null.tokens(), some.tokens());
                When(quote!(match #on { Nullable::Null => #null, Nullable::Value(#name) => #some }))
            }
        }
    }

    fn by_tables(&self, id: SchemaId, place: &Place<'a>) -> Check {
        let (row, value) = (row_literal(self.emitter.tables.row_of(id)), &place.by_ref);
        When(match place.ty {
            TypeRef::Json => quote!(schemas::validator(#row).is_valid(#value)),
            _ => quote!(contract::holds(#value, schemas::validator(#row))),
        })
    }

    fn bool_keywords(&self, s: &Schema, place: &Place<'a>) -> Check {
        let holds = |value: bool| allows(s, &Json::Bool(value), Types::BOOLEAN);
        let copy = &place.copy;
        match (holds(false), holds(true)) {
            (true, true) => Always,
            (false, false) => Never,
            (false, true) => When(quote!(#copy)),
            (true, false) => When(quote!(!#copy)),
        }
    }
}

/// The schemas from which a `$dynamicRef` can be reached.
pub(super) fn dynamic(graph: &Graph) -> BTreeSet<SchemaId> {
    let mut parents: BTreeMap<SchemaId, Vec<SchemaId>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    let mut work = Vec::new();
    for id in graph.ids() {
        let schema = graph.schema(id);
        if schema.dynamic_reference.as_ref().is_some_and(|d| d.anchor.is_some()) {
            work.push(id);
        }
        for part in schema.children() {
            parents.entry(part).or_default().push(id);
        }
    }
    while let Some(id) = work.pop() {
        if found.insert(id) {
            work.extend(parents.get(&id).into_iter().flatten());
        }
    }
    found
}

/// What is asked of a field's value.
enum AtField<'c> {
    /// All that applies to it.
    All(&'c Conj),
    /// One schema.
    One(SchemaId),
}

/// The value inside a newtype; generated modules see each other's fields.
fn newtype_inside<'a>(inner: &'a TypeRef, place: &Place<'a>) -> Place<'a> {
    let recv = &place.recv;
    Place::field(inner, quote!(#recv.0))
}

fn unboxed(ty: &TypeRef) -> &TypeRef {
    match ty {
        TypeRef::Boxed(inner) => unboxed(inner),
        other => other,
    }
}

/// Whether a schema's verdict depends on what its siblings or callers evaluated.
fn is_contextual(s: &Schema) -> bool {
    s.dynamic_reference.is_some() || s.unevaluated_items.is_some() || s.unevaluated_properties.is_some()
}

fn exactly_one(checks: Vec<Check>) -> Check {
    let sure = checks.iter().filter(|c| matches!(c, Always)).count();
    let open: Vec<TokenStream> = checks.into_iter().filter_map(|c| c.test().ok()).collect();
    match (sure, open.as_slice()) {
        (0, []) | (2.., _) => Never,
        (1, []) => Always,
        (1, several) => When(quote!(!(#(#several)||*))),
        (0, [one]) => Either(one.clone()),
        (_, [a, b]) => When(quote!((#a) != (#b))),
        (_, several) => When(quote!([#(#several),*].into_iter().filter(|holds| *holds).count() == 1)),
    }
}

/// Whether `name` is one of these, or matches one of the patterns.
fn known_names(names: &[&String], patterns: &[Ident]) -> TokenStream {
    let names = names.iter().map(|known| quote!(name == #known));
    let known: Vec<TokenStream> =
        names.chain(patterns.iter().map(|p| quote!(schemas::#p.is_match(name)))).collect();
    quote!(#(#known)||*)
}

fn match_variants(on: &TokenStream, arms: Vec<(TokenStream, Check)>, unknown: Option<TokenStream>) -> Check {
    if unknown.is_none() && arms.iter().all(|(_, c)| matches!(c, Always)) {
        return Always;
    }
    if unknown.is_none() && arms.iter().all(|(_, c)| matches!(c, Never)) {
        return Never;
    }
    let arms = arms.into_iter().map(|(name, check)| match check.test() {
        Ok(test) => quote!(#name(value) => #test,),
        Err(known) => {
            let known = known.tokens();
            quote!(#name(_) => #known,)
        }
    });
    When(quote!(match #on { #(#arms)* #unknown }))
}
