//! The typed checks: what has to hold of a value's fields, beyond what its type guarantees.
//!
//! A constraint that the type itself guarantees costs nothing; one that needs more than a look
//! at the fields (`unevaluated…`, `$dynamicRef`) is asked of the tables, value by value. So every
//! constraint is checked, and the common ones at the price of a comparison.
//!
//! What comes out is data, a [`Check`]. `emit` writes it as the body of `is_valid`, [`evaluate`]
//! finds out what that says of a value, [`enforced`] what it does about one keyword.

mod check;
mod containers;
mod counts;
pub mod enforced;
#[cfg(test)]
pub mod evaluate;
mod focus;
mod scalars;
mod structs;
mod texts;
mod unions;
mod writable;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use contract_runtime::schema::Certainty;

pub use self::check::{Check, Counted, Form, Numeric, Order, Place, Test, Text};
pub(crate) use self::scalars::{bounds, whole_limit};
use self::{
    check::Check::{Always, Never},
    focus::Focus,
    scalars::{bool_keywords, int_keywords, number_keywords},
    writable::Unwritable,
};
use crate::{
    arena::ById,
    formats::Mapped,
    schema::{Graph, Schema, SchemaId},
    shape::{Body, Shapes, TypeDef, TypeId, TypeRef},
    tables::TableSet,
    together::{Conj, Facts},
};

/// How deep checks are written out before they go through the tables.
const DEPTH: u8 = 24;

/// How many schemas are written out for one field, or beside the fields of one type. Unions that
/// hold each other's branches would otherwise multiply, level by level.
const VISITS: u32 = 256;

/// What checks are made from.
#[derive(Debug)]
pub struct Scope<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes,
    tables: &'a TableSet<'a>,
    implied_objects: bool,
    /// Every type as it stands in a field.
    named: ById<TypeDef, TypeRef>,
    /// Where every type stands, as equal places compare.
    places: ById<TypeDef, Conj>,
    /// Schemas with a union whose tag leaves a doubt about what else a value is.
    doubtful: BTreeSet<SchemaId>,
    unwritable: Unwritable,
}

impl<'a> Scope<'a> {
    /// The checks of a contract that was shaped.
    #[must_use]
    pub fn new(
        graph: &'a Graph,
        shapes: &'a Shapes,
        tables: &'a TableSet<'a>,
        implied_objects: bool,
    ) -> Self {
        let named = shapes.types.map(TypeRef::Named);
        let places = shapes.types.map(|id| shapes.normal(&shapes.get(id).conj));
        let doubtful = shapes.types.iter().chain(&shapes.parts).filter_map(|def| match &def.body {
            Body::Tagged(body) if body.certainty != Certainty::Required => Some(body.holder),
            _ => None,
        });
        let doubtful = doubtful.collect();
        let unwritable = Unwritable::of(shapes);
        Self { graph, shapes, tables, implied_objects, named, places, doubtful, unwritable }
    }

    /// The check of every type.
    #[must_use]
    pub fn checks(&self) -> Checks {
        let lenient = Checker::with(self, Rc::new(dynamic(self.graph)), Trivial::default());
        let checker = Checker { writable: true, trivial: Trivial::default(), ..lenient };
        Checks { by_type: self.shapes.types.map(|id| checker.definition(id)) }
    }
}

/// The checks of a contract.
#[derive(Clone, Debug)]
pub struct Checks {
    by_type: ById<TypeDef, Check>,
}

impl Checks {
    /// What a type has to check.
    #[must_use]
    pub fn of(&self, id: TypeId) -> &Check {
        &self.by_type[id]
    }
}

/// A value whose type is known.
#[derive(Clone)]
struct At<'a> {
    ty: &'a TypeRef,
    place: Place,
    /// Whether it stands in a `Box`, which methods and arguments see through, but `match` does not.
    boxed: bool,
}

impl<'a> At<'a> {
    const fn new(ty: &'a TypeRef, place: Place) -> Self {
        Self { ty, place, boxed: false }
    }

    /// What a closure or a pattern binds. Names shadow each other: a test looks at the innermost
    /// value alone.
    const fn bound(ty: &'a TypeRef) -> Self {
        Self::new(ty, Place::Bound)
    }
}

/// Which types need no check, as far as it was asked; shared, since the answer takes a walk
/// through all that a type holds.
type Trivial = Rc<RefCell<BTreeMap<TypeId, bool>>>;

/// Writes checks and remembers which types need none.
struct Checker<'a> {
    scope: &'a Scope<'a>,
    trivial: Trivial,
    /// The same where what cannot be written may pass.
    lenient: Trivial,
    /// Schemas that may still be written out where we are.
    visits: Cell<u32>,
    /// Schemas from which a `$dynamicRef` can be reached. Where that leads depends on where the
    /// evaluation began (Core 8.2.3.2), so their types are not checked piece by piece.
    dynamic: Rc<BTreeSet<SchemaId>>,
    /// Whether what cannot be written is refused, which no keyword asks for.
    writable: bool,
    focus: Option<Focus<'a>>,
}

impl<'a> Checker<'a> {
    fn with(scope: &'a Scope<'a>, dynamic: Rc<BTreeSet<SchemaId>>, trivial: Trivial) -> Self {
        let lenient = Rc::clone(&trivial);
        Self { scope, trivial, lenient, visits: Cell::new(0), dynamic, writable: false, focus: None }
    }

    fn graph_schema(&self, id: SchemaId) -> &'a Schema {
        match &self.focus {
            Some(focus) if focus.id == id => focus.part,
            _ => self.scope.graph.schema(id),
        }
    }

    fn facts(&self, conj: &Conj) -> Facts {
        Facts::of(self.scope.graph, conj, self.scope.implied_objects)
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

    /// Whether the branch that was taken of a schema's union says all that the union asks.
    fn settles(&self, chosen: &[SchemaId], id: SchemaId) -> bool {
        chosen.contains(&id) && !self.scope.doubtful.contains(&id)
    }

    /// What a type has to check.
    fn definition(&self, id: TypeId) -> Check {
        let def = self.scope.shapes.get(id);
        self.within_reason(|| self.written(id, def), || by_row(def))
    }

    fn written(&self, id: TypeId, def: &'a TypeDef) -> Check {
        let own = At::new(&self.scope.named[id], Place::Own);
        if def.conj.ids.iter().any(|id| self.dynamic.contains(id)) {
            return by_row(def);
        }
        let check = match &def.body {
            Body::Struct(body) => self.struct_definition(def, body, &own),
            Body::Tagged(body) => self.tagged_definition(id, def, body),
            Body::ByKind(variants) => self.kinds_definition(id, def, variants),
            Body::Newtype(inner) => self.members(&def.conj, &At::new(inner, Place::Own.inside()), DEPTH),
            Body::Enum(_) | Body::Pending => self.members(&def.conj, &own, DEPTH),
        };
        let check = if self.needs_tables(def) { check.and(by_row(def)) } else { check };
        if self.writable { self.writable(check, &own) } else { check }
    }

    /// Whether a type's check is always true.
    fn is_trivial(&self, id: TypeId) -> bool {
        if let Some(focus) = &self.focus {
            return focus.whole.is_trivial(id);
        }
        if let Some(&known) = self.trivial.borrow().get(&id) {
            return known;
        }
        // A type inside itself: assume that there is something to check.
        self.trivial.borrow_mut().insert(id, false);
        let trivial = self.definition(id) == Always;
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

    fn applicators(&self, s: &Schema, skip_unions: bool, at: &dyn Fn(SchemaId) -> Check) -> Check {
        let mut check = Always;
        if !skip_unions && !s.any_of.is_empty() {
            check = check.and(s.any_of.iter().map(|&b| at(b)).fold(Never, Check::or));
        }
        if !skip_unions && !s.one_of.is_empty() {
            check = check.and(Check::exactly_one(s.one_of.iter().map(|&b| at(b)).collect()));
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
                (condition, then, otherwise) => Check::If(Box::new([condition, then, otherwise])),
            });
        }
        check
    }

    /// Everything that several schemas say about a value.
    fn conj(&self, conj: &Conj, at: &At<'a>, depth: u8) -> Check {
        if let Some(check) = self.own_check(conj, at) {
            return check;
        }
        let skip = &conj.chosen;
        Check::distinct(conj.ids.iter().map(|&id| self.schema_at(id, at, skip, depth)).collect())
    }

    /// The check that the value's own type brings, when it checks exactly this.
    fn own_check(&self, conj: &Conj, at: &At<'a>) -> Option<Check> {
        if self.focus.is_some_and(|focus| conj.ids.contains(&focus.id)) {
            return None;
        }
        let TypeRef::Named(id) = unboxed(at.ty) else { return None };
        let def = self.scope.shapes.get(*id);
        let same = def.conj == *conj || self.scope.places[*id] == self.scope.shapes.normal(conj);
        same.then(|| match self.is_trivial(*id) {
            true => Always,
            false => Test::Valid(at.place.clone()).into(),
        })
    }

    fn members(&self, conj: &Conj, at: &At<'a>, depth: u8) -> Check {
        let skip = &conj.chosen;
        Check::distinct(conj.ids.iter().map(|&id| self.keywords(id, at, skip, depth)).collect())
    }

    /// Everything that one schema says about a value.
    fn schema(&self, id: SchemaId, at: &At<'a>, depth: u8) -> Check {
        self.schema_at(id, at, &[], depth)
    }

    fn schema_at(&self, id: SchemaId, at: &At<'a>, chosen: &[SchemaId], depth: u8) -> Check {
        if !chosen.contains(&id)
            && let Some(check) = self.own_check(&Conj::one(id), at)
        {
            return check;
        }
        self.keywords(id, at, chosen, depth)
    }

    /// A schema's keywords at a value whose type does not check them itself.
    fn keywords(&self, id: SchemaId, at: &At<'a>, chosen: &[SchemaId], depth: u8) -> Check {
        let s = self.graph_schema(id);
        match s.boolean {
            Some(true) => return Always,
            Some(false) => return Never,
            None => {}
        }
        if depth == 0 || is_contextual(s) || !self.visit() {
            return self.by_tables(id, at);
        }
        let own = match at.ty {
            TypeRef::Boxed(inner) => {
                let at = At { ty: inner, place: at.place.clone(), boxed: true };
                return self.schema_at(id, &at, chosen, depth - 1);
            }
            TypeRef::Nullable(inner) => return self.nullable(id, inner, at, chosen, depth),
            TypeRef::Named(type_id) => return self.named(id, *type_id, at, chosen, depth),
            TypeRef::String => {
                return self.string_keywords(id, &Text::String(at.place.clone()), chosen, depth);
            }
            TypeRef::Secret => {
                return self.string_keywords(id, &Text::Secret(at.place.clone()), chosen, depth);
            }
            TypeRef::Replaced(path, _) if let Some(name) = Mapped::of_path(path) => {
                let text = Text::Formatted(at.place.clone(), name.to_owned());
                return self.string_keywords(id, &text, chosen, depth);
            }
            TypeRef::Json | TypeRef::Replaced(..) => return self.by_tables(id, at),
            TypeRef::Bool => bool_keywords(s, &at.place),
            TypeRef::Int(kind) => int_keywords(s, *kind, &at.place),
            TypeRef::Number => number_keywords(s, &at.place),
            TypeRef::Vec(inner) => self.vec_keywords(id, s, inner, at, depth),
            TypeRef::Map(inner) => self.map_keywords(id, s, inner, at, depth),
            TypeRef::Tuple(inner) => self.tuple_keywords(id, s, inner, at, depth),
        };
        let again = |id: SchemaId| self.schema_at(id, at, chosen, depth - 1);
        let parts = s.reference.iter().chain(&s.all_of).map(|&part| again(part));
        let parts = Check::all(parts.collect::<Vec<_>>());
        own.and(parts).and(self.applicators(s, self.settles(chosen, id), &again))
    }

    /// A schema at a value of a type that has a name.
    fn named(&self, id: SchemaId, of: TypeId, at: &At<'a>, chosen: &[SchemaId], depth: u8) -> Check {
        match &self.scope.shapes.get(of).body {
            Body::Struct(body) if self.settles(chosen, id) => self.struct_without_unions(id, body, at, depth),
            Body::Struct(body) => self.at_struct(id, body, at, depth),
            Body::Tagged(body) => self.at_tagged(id, of, body, at, depth),
            Body::ByKind(variants) => self.at_kinds(id, of, variants, at, depth),
            // Generated modules see each other's fields.
            Body::Newtype(inner) => self.schema_at(id, &At::new(inner, at.place.inside()), chosen, depth - 1),
            Body::Enum(list) => self.enum_keywords(id, of, list, at, depth),
            Body::Pending => self.by_tables(id, at),
        }
    }

    fn by_tables(&self, id: SchemaId, at: &At<'a>) -> Check {
        let form = if *at.ty == TypeRef::Json { Form::Json } else { Form::Typed };
        Test::Tables(at.place.clone(), form, vec![id]).into()
    }
}

/// What the tables say of a value of a type as a whole.
fn by_row(def: &TypeDef) -> Check {
    Test::Tables(Place::Own, Form::Typed, def.conj.ids.clone()).into()
}

/// The schemas from which a `$dynamicRef` can be reached.
fn dynamic(graph: &Graph) -> BTreeSet<SchemaId> {
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
