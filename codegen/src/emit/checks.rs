//! The typed checks: `is_valid` as plain expressions over fields.
//!
//! A constraint that the type itself guarantees costs nothing; one that needs more than a look
//! at the fields (`unevaluated…`, `$dynamicRef`) is asked of the tables, value by value. So every
//! constraint is checked, and the common ones at the price of a comparison.

use std::{cell::RefCell, collections::BTreeMap};

use contract_runtime::{Json, Number};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::{Emitter, row_literal};
use crate::{
    schema::{Schema, SchemaId, Types},
    shape::{Body, Conj, Facts, Field, IntKind, KindVariant, Struct, Tagged, TypeDef, TypeId, TypeRef},
    tables::number_tokens,
};

/// How deep checks are written out before they go through the tables.
const DEPTH: u8 = 24;

/// What is known about a condition.
#[derive(Clone, Debug)]
pub(super) enum Check {
    /// The type guarantees it.
    Always,
    /// The type excludes it.
    Never,
    /// An expression of type `bool` that `&&` may follow.
    When(TokenStream),
    /// Alternatives: `||` stands at the top.
    Either(TokenStream),
}

use Check::{Always, Either, Never, When};

impl Check {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Never, _) | (_, Never) => Never,
            (Always, c) | (c, Always) => c,
            (a, b) => {
                let (a, b) = (a.operand(), b.operand());
                When(quote!(#a && #b))
            }
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Always, _) | (_, Always) => Always,
            (Never, c) | (c, Never) => c,
            (a, b) => {
                let (a, b) = (a.tokens(), b.tokens());
                Either(quote!(#a || #b))
            }
        }
    }

    fn not(self) -> Self {
        match self {
            Always => Never,
            Never => Always,
            c => {
                let c = c.tokens();
                When(match absent(&c).or_else(|| differs(&c)) {
                    Some(opposite) => opposite,
                    None if is_call(&c) => quote!(!#c),
                    None => quote!(!(#c)),
                })
            }
        }
    }

    fn all(checks: impl IntoIterator<Item = Self>) -> Self {
        checks.into_iter().fold(Always, Self::and)
    }

    fn known(holds: bool) -> Self {
        if holds { Always } else { Never }
    }

    /// The expression, when there is something to evaluate.
    fn test(self) -> Result<TokenStream, Self> {
        match self {
            When(c) | Either(c) => Ok(c),
            known => Err(known),
        }
    }

    /// As an expression.
    pub(super) fn tokens(self) -> TokenStream {
        match self {
            Always => quote!(true),
            Never => quote!(false),
            When(c) | Either(c) => c,
        }
    }

    /// As an operand of `&&`.
    fn operand(self) -> TokenStream {
        match self {
            Either(c) => quote!((#c)),
            other => other.tokens(),
        }
    }

    /// Puts an expression into a bigger one; what is known already is answered by `never`.
    fn within(self, never: TokenStream, build: impl FnOnce(TokenStream) -> TokenStream) -> Self {
        match self.test() {
            Ok(test) => When(build(test)),
            Err(Always) => Always,
            Err(_) => When(never),
        }
    }
}

/// `….is_none()` for an expression that is `….is_some()` and nothing else.
fn absent(tokens: &TokenStream) -> Option<TokenStream> {
    let mut all: Vec<_> = tokens.clone().into_iter().collect();
    let at = all.len().checked_sub(2)?;
    match &all[at] {
        proc_macro2::TokenTree::Ident(i) if i == "is_some" && is_call(tokens) => {}
        _ => return None,
    }
    all[at] = super::ident("is_none").into();
    Some(all.into_iter().collect())
}

/// `a != b` for an expression that is `a == b` and nothing else.
fn differs(tokens: &TokenStream) -> Option<TokenStream> {
    let all: Vec<_> = tokens.clone().into_iter().collect();
    let is = |t: &proc_macro2::TokenTree, c: char| matches!(t, proc_macro2::TokenTree::Punct(p) if p.as_char() == c);
    let at = all.windows(2).position(|w| is(&w[0], '=') && is(&w[1], '='))?;
    let (left, right) = (&all[..at], &all[at + 2..]);
    let plain = |side: &[proc_macro2::TokenTree]| !side.iter().any(|t| ['&', '|', '=', '!', '<', '>'].iter().any(|c| is(t, *c)));
    if !plain(left) || !plain(right) {
        return None;
    }
    Some(quote!(#(#left)* != #(#right)*))
}

/// Whether an expression is a path or a call without operators, so that `!` binds to all of it.
fn is_call(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().enumerate().all(|(i, t)| match t {
        proc_macro2::TokenTree::Ident(i) => i != "match" && i != "if",
        proc_macro2::TokenTree::Group(_) => true,
        // `matches!(…)` is a call too; a leading `!` is not.
        proc_macro2::TokenTree::Punct(p) => matches!(p.as_char(), '.' | ':') || (i > 0 && p.as_char() == '!'),
        proc_macro2::TokenTree::Literal(_) => false,
    })
}

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
}

impl<'a> Place<'a> {
    pub(super) fn field(ty: &'a TypeRef, path: TokenStream) -> Self {
        Self { ty, by_ref: quote!(&#path), copy: path.clone(), recv: path }
    }

    fn variable(ty: &'a TypeRef) -> Self {
        Self { ty, recv: quote!(value), by_ref: quote!(value), copy: quote!(*value) }
    }

    fn own(ty: &'a TypeRef) -> Self {
        Self { ty, recv: quote!(self), by_ref: quote!(self), copy: quote!(*self) }
    }

    fn retyped(&self, ty: &'a TypeRef) -> Self {
        Self { ty, ..self.clone() }
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
}

impl Text {
    /// An expression of type `&str`.
    fn slice(tokens: TokenStream) -> Self {
        Self { recv: tokens.clone(), arg: tokens.clone(), matched: tokens }
    }

    /// A place of type `String`.
    fn owned(place: &Place<'_>) -> Self {
        let recv = &place.recv;
        Self { recv: recv.clone(), arg: place.by_ref.clone(), matched: quote!(#recv.as_str()) }
    }
}

/// Writes checks and remembers which types need none.
pub(super) struct Checker<'a> {
    emitter: &'a Emitter<'a>,
    trivial: RefCell<BTreeMap<TypeId, bool>>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(emitter: &'a Emitter<'a>) -> Self {
        Self { emitter, trivial: RefCell::default() }
    }

    fn graph_schema(&self, id: SchemaId) -> &'a Schema {
        self.emitter.graph.schema(id)
    }

    /// Checks a value that a closure or a pattern binds. Names shadow each other: a test looks
    /// at the innermost value alone.
    fn bound(&self, ty: &'a TypeRef, check: impl FnOnce(&Place<'a>) -> Check) -> Check {
        check(&Place::variable(ty))
    }

    /// The body of a type's `is_valid`.
    pub(super) fn definition(&self, id: TypeId) -> Check {
        let def = self.emitter.shapes.get(id);
        let own = Place::own(self.emitter.named(id));
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
            let row = row_literal(self.emitter.tables.row(&def.conj));
            check = check.and(When(quote!(contract::holds(self, schemas::validator(#row)))));
        }
        check
    }

    /// Whether a type's check is always true.
    pub(super) fn is_trivial(&self, id: TypeId) -> bool {
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
            s.unevaluated_properties.is_some() || s.unevaluated_items.is_some() || s.dynamic_reference.is_some()
        })
    }

    fn facts(&self, conj: &Conj) -> Facts {
        Facts::of(self.emitter.graph, conj, self.emitter.implied_objects)
    }

    fn struct_definition(&self, def: &TypeDef, body: &'a Struct, own: &Place<'a>) -> Check {
        let fields = body.fields.iter().map(|field| {
            self.at_field(field, &quote!(self), &AtField::All(&field.conj), DEPTH)
        });
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
        if s.enumeration.is_some() || s.constant.is_some() {
            self.by_tables(id, place)
        } else {
            Always
        }
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
        let s = self.graph_schema(id);
        if depth == 0 || is_contextual(s) {
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
    fn object_keywords(&self, s: &'a Schema, body: &'a Struct, place: &Place<'a>, own: bool, depth: u8) -> Check {
        let recv = &place.recv;
        let field = |name: &str| body.fields.iter().find(|f| f.wire == name);
        let mut check = Always;
        for name in &s.required {
            check = check.and(match field(name) {
                Some(f) => present(f, recv),
                None => When(quote!(#recv.extra.contains_key(#name))),
            });
        }
        for (name, property) in &s.properties {
            check = check.and(match field(name) {
                Some(f) if own && f.conj.ids.contains(property) => Always,
                Some(f) => self.at_field(f, recv, &AtField::One(*property), depth),
                None => {
                    let row = row_literal(property.0);
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
            let given = field(name).map_or_else(|| When(quote!(#recv.extra.contains_key(#name))), |f| present(f, recv));
            check = check.and(given.not().or(all));
        }
        for (name, schema) in &s.dependent_schemas {
            let given = field(name).map_or_else(|| When(quote!(#recv.extra.contains_key(#name))), |f| present(f, recv));
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
        for (pattern, schema) in &s.pattern_properties {
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
            let known = quote!(#(name == #elsewhere ||)* #(schemas::#constants.is_match(name) ||)*);
            let alone = elsewhere.is_empty() && constants.is_empty();
            check = check.and(match value.test() {
                Err(Always) => Always,
                Err(_) if alone => When(quote!(#recv.extra.is_empty())),
                Err(_) => When(quote!(#recv.extra.keys().all(|name| #known false))),
                Ok(test) if alone => When(quote!(#recv.extra.values().all(|value| #test))),
                Ok(test) => each(quote!(#known #test)),
            });
        }
        if let Some(names) = s.property_names {
            for field in &body.fields {
                if !self.emitter.tables.is_valid(names, &Json::String(field.wire.clone())) {
                    check = check.and(present(field, recv).not());
                }
            }
            let text = self.text_keywords(names, &Text::slice(quote!(name)), None, depth - 1);
            check = check.and(text.within(quote!(#recv.extra.is_empty()), |test| {
                quote!(#recv.extra.keys().all(|name| #test))
            }));
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
            AtField::All(conj) => self.conj(conj, place, depth - 1),
            AtField::One(id) => self.schema(*id, place, depth - 1),
        };
        let name = super::ident(&field.name);
        if field.required {
            return check(&Place::field(&field.ty, quote!(#recv.#name)));
        }
        self.bound(&field.ty, check).within(quote!(#recv.#name.is_none()), |test| {
            quote!(#recv.#name.as_ref().is_none_or(|value| #test))
        })
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
        let unknown = body.open.then(|| quote!(Self::Unknown(value) => schemas::validator(#row).is_valid(value),));
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
        Check::all(conj.ids.iter().map(|&id| self.schema_at(id, place, skip, depth)))
    }

    /// The check that the value's own type brings, when it checks exactly this.
    fn own_check(&self, conj: &Conj, place: &Place<'a>) -> Option<Check> {
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
        Check::all(conj.ids.iter().map(|&id| self.keywords(id, place, skip, depth)))
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
        if depth == 0 || is_contextual(s) {
            return self.by_tables(id, place);
        }
        let at = |id: SchemaId| self.schema_at(id, place, chosen, depth - 1);
        match place.ty {
            TypeRef::Json | TypeRef::Replaced(..) => return self.by_tables(id, place),
            TypeRef::Boxed(inner) => return self.schema_at(id, &place.retyped(inner), chosen, depth - 1),
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
                        return self.text_keywords(id, &Text::slice(quote!()), Some((*type_id, place)), depth);
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
                let text = Text { recv: text.clone(), matched: quote!(#text.as_str()), arg: text };
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
        self.object_keywords(s, body, place, false, depth)
            .and(parts)
            .and(self.applicators(s, true, &at))
    }

    fn at_tagged(&self, id: SchemaId, def: &TypeDef, body: &'a Tagged, place: &Place<'a>, depth: u8) -> Check {
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
        let row = row_literal(id.0);
        let unknown = body
            .open
            .then(|| quote!(#name::Unknown(value) => schemas::validator(#row).is_valid(value),));
        match_variants(&place.by_ref, arms, unknown)
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
        match_variants(&place.by_ref, arms, None)
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
        let null = Check::known(chosen.contains(&id) || self.emitter.tables.is_valid(id, &Json::Null));
        match (null, self.bound(inner, |value| self.schema_at(id, value, chosen, depth - 1))) {
            (Always, Always) => Always,
            (Never, Never) => Never,
            (null, some) => {
                let on = &place.by_ref;
                let name = if matches!(some, Always | Never) { quote!(_) } else { quote!(value) };
                let (null, some) = (null.tokens(), some.tokens());
                When(quote!(match #on { Nullable::Null => #null, Nullable::Value(#name) => #some }))
            }
        }
    }

    fn by_tables(&self, id: SchemaId, place: &Place<'a>) -> Check {
        let (row, value) = (row_literal(id.0), &place.by_ref);
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

    fn string_keywords(&self, id: SchemaId, text: &Text, chosen: &[SchemaId], depth: u8) -> Check {
        let s = self.graph_schema(id);
        if depth == 0 {
            let (row, text) = (row_literal(id.0), &text.arg);
            return When(quote!(contract::holds(#text, schemas::validator(#row))));
        }
        let at = |id: SchemaId| self.string_keywords(id, text, chosen, depth - 1);
        let parts = s.reference.iter().chain(&s.all_of).map(|&part| at(part));
        let parts = Check::all(parts.collect::<Vec<_>>());
        self.text_assertions(s, text).and(parts).and(self.applicators(s, chosen.contains(&id), &at))
    }

    /// A schema at a text, or at a value of a string enumeration.
    fn text_keywords(
        &self,
        id: SchemaId,
        text: &Text,
        of: Option<(TypeId, &Place<'a>)>,
        depth: u8,
    ) -> Check {
        let Some((type_id, place)) = of else {
            return self.string_keywords(id, text, &[], depth);
        };
        let def = self.emitter.shapes.get(type_id);
        let Body::Enum(list) = &def.body else { return self.by_tables(id, place) };
        // Listed values are judged now; only an unknown one has to be looked at.
        let name = self.emitter.mention(def);
        let valid = |wire: &str| self.emitter.tables.is_valid(id, &Json::String(wire.to_owned()));
        let (good, bad): (Vec<_>, Vec<_>) = list.values.iter().partition(|(wire, ..)| valid(wire));
        let unknown = list.open.then(|| {
            self.string_keywords(id, &Text::slice(quote!(text)), &[], depth)
        });
        let variants = |values: &[&(String, String, Option<String>)]| {
            let names: Vec<_> = values.iter().map(|(_, rust, _)| super::ident(rust)).collect();
            quote!(#(#name::#names)|*)
        };
        let on = &place.recv;
        match (good.is_empty(), bad.is_empty(), unknown) {
            (_, true, None | Some(Always)) => Always,
            (true, _, None | Some(Never)) => Never,
            (_, true, Some(unknown)) => unknown.within(quote!(#on.unknown().is_none()), |test| {
                quote!(#on.unknown().is_none_or(|text| #test))
            }),
            (_, false, None) => {
                let names = if good.len() <= bad.len() { variants(&good) } else { variants(&bad) };
                let on = &place.by_ref;
                let test = quote!(matches!(#on, #names));
                if good.len() <= bad.len() { When(test) } else { When(quote!(!#test)) }
            }
            (_, false, Some(unknown)) => {
                let known = self.string_keywords(id, &Text::slice(quote!(#on.as_str())), &[], depth);
                if matches!(unknown, Always | Never) { known.and(unknown) } else { known }
            }
        }
    }

    fn text_assertions(&self, s: &Schema, text: &Text) -> Check {
        let Text { recv, arg, matched } = text;
        let mut check = types_allow(s, Types::STRING);
        if let Some(list) = literal_list(s) {
            let values: Vec<&str> = list.iter().filter_map(|v| v.as_str()).collect();
            check = check.and(match values.as_slice() {
                [] => Never,
                [one] => When(quote!(#recv == #one)),
                several => When(quote!(matches!(#matched, #(#several)|*))),
            });
        }
        if let Some(min) = s.min_length.filter(|&m| m > 0) {
            check = check.and(When(if min == 1 {
                quote!(!#recv.is_empty())
            } else {
                let min = Literal::u64_unsuffixed(min);
                quote!(char_count_at_least(#arg, #min))
            }));
        }
        if let Some(max) = s.max_length {
            let max = Literal::u64_unsuffixed(max);
            check = check.and(When(quote!(char_count_at_most(#arg, #max))));
        }
        if let Some(pattern) = s.pattern.as_ref().and_then(|p| self.emitter.tables.pattern(p)) {
            check = check.and(When(quote!(schemas::#pattern.is_match(#arg))));
        }
        check
    }

    fn vec_keywords(&self, id: SchemaId, s: &'a Schema, inner: &'a TypeRef, place: &Place<'a>, depth: u8) -> Check {
        let recv = &place.recv;
        let mut check = types_allow(s, Types::ARRAY);
        if literal_list(s).is_some() || s.contains.is_some() || !s.prefix_items.is_empty() {
            return check.and(self.by_tables(id, place));
        }
        check = check.and(length(s.min_items, s.max_items, recv));
        if s.unique_items {
            let by_ref = &place.by_ref;
            check = check.and(When(quote!(contract::all_distinct(#by_ref))));
        }
        if let Some(items) = s.items {
            let element = self.bound(inner, |value| self.schema(items, value, depth - 1));
            check = check.and(element.within(quote!(#recv.is_empty()), |test| {
                quote!(#recv.iter().all(|value| #test))
            }));
        }
        check
    }

    fn tuple_keywords(&self, id: SchemaId, s: &'a Schema, inner: &'a [TypeRef], place: &Place<'a>, depth: u8) -> Check {
        if literal_list(s).is_some() || s.contains.is_some() || s.unique_items {
            return self.by_tables(id, place);
        }
        let count = inner.len() as u64;
        let fits = s.min_items.is_none_or(|m| count >= m) && s.max_items.is_none_or(|m| count <= m);
        let recv = &place.recv;
        let elements = inner.iter().enumerate().map(|(i, ty)| {
            let index = Literal::usize_unsuffixed(i);
            let place = Place::field(ty, quote!(#recv.#index));
            match s.prefix_items.get(i).copied().or(s.items) {
                Some(schema) => self.schema(schema, &place, depth - 1),
                None => Always,
            }
        });
        let elements = Check::all(elements.collect::<Vec<_>>());
        types_allow(s, Types::ARRAY).and(Check::known(fits)).and(elements)
    }

    fn map_keywords(&self, id: SchemaId, s: &'a Schema, inner: &'a TypeRef, place: &Place<'a>, depth: u8) -> Check {
        let recv = &place.recv;
        if literal_list(s).is_some() || !s.dependent_schemas.is_empty() {
            return self.by_tables(id, place);
        }
        let mut check = types_allow(s, Types::OBJECT).and(length(s.min_properties, s.max_properties, recv));
        for name in &s.required {
            check = check.and(When(quote!(#recv.contains_key(#name))));
        }
        for (name, needs) in &s.dependent_required {
            if !needs.is_empty() {
                check = check.and(Either(quote!(!#recv.contains_key(#name) || #(#recv.contains_key(#needs))&&*)));
            }
        }
        let at = |id: SchemaId| self.bound(inner, |value| self.schema(id, value, depth - 1));
        for (name, property) in &s.properties {
            check = check.and(at(*property).within(quote!(!#recv.contains_key(#name)), |test| {
                quote!(#recv.get(#name).is_none_or(|value| #test))
            }));
        }
        let constants: Vec<Ident> =
            s.pattern_properties.iter().filter_map(|(p, _)| self.emitter.tables.pattern(p)).collect();
        for ((_, schema), constant) in s.pattern_properties.iter().zip(&constants) {
            let never = quote!(!#recv.keys().any(|name| schemas::#constant.is_match(name)));
            check = check.and(at(*schema).within(never, |test| {
                quote!(#recv.iter().all(|(name, value)| !schemas::#constant.is_match(name) || #test))
            }));
        }
        if let Some(additional) = s.additional_properties {
            let declared: Vec<&String> = s.properties.iter().map(|(n, _)| n).collect();
            let known = quote!(#(name == #declared ||)* #(schemas::#constants.is_match(name) ||)*);
            let alone = declared.is_empty() && constants.is_empty();
            check = check.and(match at(additional).test() {
                Err(Always) => Always,
                Err(_) if alone => When(quote!(#recv.is_empty())),
                Err(_) => When(quote!(#recv.keys().all(|name| #known false))),
                Ok(test) if alone => When(quote!(#recv.values().all(|value| #test))),
                Ok(test) => When(quote!(#recv.iter().all(|(name, value)| #known #test))),
            });
        }
        if let Some(names) = s.property_names {
            let text = self.text_keywords(names, &Text::slice(quote!(name)), None, depth - 1);
            check = check.and(text.within(quote!(#recv.is_empty()), |test| {
                quote!(#recv.keys().all(|name| #test))
            }));
        }
        check
    }
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

fn present(field: &Field, recv: &TokenStream) -> Check {
    if field.required {
        return Always;
    }
    let name = super::ident(&field.name);
    When(quote!(#recv.#name.is_some()))
}

fn count_bounds(s: &Schema, body: &Struct, recv: &TokenStream) -> Check {
    let always = body.fields.iter().filter(|f| f.required).count();
    let always = Literal::usize_unsuffixed(always);
    let sometimes: Vec<Ident> =
        body.fields.iter().filter(|f| !f.required).map(|f| super::ident(&f.name)).collect();
    let count = quote!((#always + #recv.extra.len() #(+ usize::from(#recv.#sometimes.is_some()))*));
    let min = s.min_properties.map(|m| {
        let m = Literal::u64_unsuffixed(m);
        When(quote!(#count >= #m))
    });
    let max = s.max_properties.map(|m| {
        let m = Literal::u64_unsuffixed(m);
        When(quote!(#count <= #m))
    });
    Check::all(min.into_iter().chain(max))
}

fn length(min: Option<u64>, max: Option<u64>, recv: &TokenStream) -> Check {
    let mut check = Always;
    if let Some(min) = min.filter(|&m| m > 0) {
        check = check.and(When(if min == 1 {
            quote!(!#recv.is_empty())
        } else {
            let min = Literal::u64_unsuffixed(min);
            quote!(#recv.len() >= #min)
        }));
    }
    if let Some(max) = max {
        check = check.and(When(if max == 0 {
            quote!(#recv.is_empty())
        } else {
            let max = Literal::u64_unsuffixed(max);
            quote!(#recv.len() <= #max)
        }));
    }
    check
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

fn types_allow(s: &Schema, own: Types) -> Check {
    Check::known(s.types.is_none_or(|t| !t.and(own).is_empty()))
}

/// Whether `type`, `const` and `enum` of one schema object allow a value.
fn allows(s: &Schema, value: &Json, types: Types) -> bool {
    s.types.is_none_or(|t| !t.and(types).is_empty())
        && s.constant.as_ref().is_none_or(|c| c == value)
        && s.enumeration.as_ref().is_none_or(|e| e.contains(value))
}

/// What `const` and `enum` of one schema object leave.
fn literal_list(s: &Schema) -> Option<Vec<&Json>> {
    match (&s.constant, &s.enumeration) {
        (None, None) => None,
        (Some(c), None) => Some(vec![c]),
        (None, Some(e)) => Some(e.iter().collect()),
        (Some(c), Some(e)) => Some(e.iter().filter(|v| *v == c).collect()),
    }
}

fn int_keywords(s: &Schema, kind: IntKind, place: &Place<'_>) -> Check {
    let value = &place.copy;
    let mut check = types_allow(s, Types::INTEGER);
    if let Some(list) = literal_list(s) {
        let numbers: Vec<Literal> = list
            .iter()
            .filter_map(|v| v.as_number().and_then(Number::as_i128))
            .filter(|n| within(kind, *n))
            .map(Literal::i128_unsuffixed)
            .collect();
        check = check.and(match numbers.as_slice() {
            [] => Never,
            [one] => When(quote!(#value == #one)),
            several => When(quote!(matches!(#value, #(#several)|*))),
        });
    }
    let bounds = [
        (&s.minimum, true, false),
        (&s.exclusive_minimum, true, true),
        (&s.maximum, false, false),
        (&s.exclusive_maximum, false, true),
    ];
    for (bound, lower, exclusive) in bounds {
        if let Some(bound) = bound {
            check = check.and(int_bound(bound, lower, exclusive, kind, value));
        }
    }
    if let Some(divisor) = &s.multiple_of {
        check = check.and(match divisor.as_i64() {
            Some(1) => Always,
            Some(d) if d > 1 => {
                let d = Literal::i64_unsuffixed(d);
                When(quote!(#value % #d == 0))
            }
            _ => {
                let d = number_tokens(divisor);
                When(quote!(Number::from(#value).is_multiple_of(&#d)))
            }
        });
    }
    check
}

fn within(kind: IntKind, n: i128) -> bool {
    match kind {
        IntKind::I64 => i64::try_from(n).is_ok(),
        IntKind::U64 => u64::try_from(n).is_ok(),
    }
}

fn int_bound(bound: &Number, lower: bool, exclusive: bool, kind: IntKind, value: &TokenStream) -> Check {
    let exact = bound.as_i128();
    // The whole number that the bound comes to.
    let Some(limit) = exact.or_else(|| floor(bound).map(|f| if lower { f + 1 } else { f })) else {
        let bound = number_tokens(bound);
        let op = match (lower, exclusive) {
            (true, false) => quote!(>=),
            (true, true) => quote!(>),
            (false, false) => quote!(<=),
            (false, true) => quote!(<),
        };
        return When(quote!(Number::from(#value) #op #bound));
    };
    let limit = match (exact.is_some() && exclusive, lower) {
        (true, true) => limit + 1,
        (true, false) => limit - 1,
        _ => limit,
    };
    let (least, most) = match kind {
        IntKind::I64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        IntKind::U64 => (0, i128::from(u64::MAX)),
    };
    let literal = Literal::i128_unsuffixed(limit);
    match lower {
        true if limit <= least => Always,
        true if limit > most => Never,
        true => When(quote!(#value >= #literal)),
        false if limit >= most => Always,
        false if limit < least => Never,
        false => When(quote!(#value <= #literal)),
    }
}

fn floor(n: &Number) -> Option<i128> {
    let text = n.text();
    let (whole, _) = text.split_once('.')?;
    let towards_zero: i128 = whole.parse().ok()?;
    Some(if text.starts_with('-') { towards_zero - 1 } else { towards_zero })
}

fn number_keywords(s: &Schema, place: &Place<'_>) -> Check {
    let (recv, by_ref) = (&place.recv, &place.by_ref);
    let mut check = match s.types {
        Some(t) if t.and(Types::NUMBER).is_empty() => return Never,
        Some(t) if t.and(Types::NUMBER) == Types::INTEGER => When(quote!(#recv.is_integer())),
        _ => Always,
    };
    if let Some(list) = literal_list(s) {
        let numbers: Vec<TokenStream> = list.iter().filter_map(|v| v.as_number()).map(number_tokens).collect();
        check = check.and(match numbers.as_slice() {
            [] => Never,
            several => When(quote!([#(#several),*].contains(#by_ref))),
        });
    }
    let copy = &place.copy;
    let mut bound = |bound: &Option<Number>, op: TokenStream| {
        if let Some(bound) = bound {
            let bound = number_tokens(bound);
            check = std::mem::replace(&mut check, Always).and(When(quote!(#copy #op #bound)));
        }
    };
    bound(&s.minimum, quote!(>=));
    bound(&s.exclusive_minimum, quote!(>));
    bound(&s.maximum, quote!(<=));
    bound(&s.exclusive_maximum, quote!(<));
    if let Some(divisor) = &s.multiple_of {
        check = check.and(When(if divisor.as_i64() == Some(1) {
            quote!(#recv.is_integer())
        } else {
            let divisor = number_tokens(divisor);
            quote!(#recv.is_multiple_of(&#divisor))
        }));
    }
    check
}
