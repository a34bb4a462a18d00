//! Builds the check of each generated type: the conditions that its schemas require and that the Rust type
//! alone does not guarantee.
//!
//! A constraint that the type guarantees requires no check. A constraint that depends on more than the fields
//! (`unevaluated…`, `$dynamicRef`) is evaluated by the validation tables. All other constraints become
//! comparisons.
//!
//! The result is data, a [`Check`]: `emit` prints it as the body of `is_valid`, `evaluate` evaluates it for
//! a value, and [`enforcement`] reports its effect for one keyword.

mod check;
mod containers;
mod counts;
pub mod enforcement;
#[cfg(test)]
pub mod evaluate;
mod focus;
mod scalars;
mod strings;
mod structs;
mod unions;
mod writable;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

pub use self::check::{
    Check, ComparisonOperator, CountOperand, NumberOperand, PlaceForm, StringOperand, ValuePlace, ValueTest,
};
pub(crate) use self::scalars::{integer_limit, numeric_bounds};
use self::{
    check::Check::{Always, Never},
    focus::KeywordFocus,
    scalars::{bool_keywords, int_keywords, number_keywords},
    writable::UnwritableTypes,
};
use crate::{
    arena::ArenaMap,
    conjunction::{SchemaConjunction, SchemaFacts},
    formats::MappedFormat,
    schema::{Schema, SchemaGraph, SchemaId},
    shape::{Shapes, TypeBody, TypeDef, TypeId, TypeRef, integer_variants},
    tables::TableSet,
};

/// The maximum nesting depth of schemas that are checked inline, that is, by comparisons in `is_valid`.
/// Deeper schemas are checked by the validation tables.
const MAX_DEPTH: u8 = 24;

/// The maximum number of schemas that are expanded inline for one field, or for the constraints of one type
/// outside its fields. Without a limit, the number would multiply with each level of nested unions.
const MAX_VISITS: u32 = 256;

/// The graph, types and tables of a contract, from which checks are built, and data derived from them.
#[derive(Debug)]
pub struct CheckScope<'a> {
    graph: &'a SchemaGraph,
    shapes: &'a Shapes,
    tables: &'a TableSet<'a>,
    implied_objects: bool,
    type_refs: ArenaMap<TypeDef, TypeRef>,
    /// The normalized conjunction of each type. A value with the same conjunction needs only the check of its
    /// type.
    places: ArenaMap<TypeDef, SchemaConjunction>,
    /// The schemas with a union for which no required tag determines the variant.
    loosely_tagged: BTreeSet<SchemaId>,
    unwritable: UnwritableTypes,
}

impl<'a> CheckScope<'a> {
    /// Creates the scope for a contract. `shapes` are its selected types and `tables` its validation tables.
    #[must_use]
    pub fn new(
        graph: &'a SchemaGraph,
        shapes: &'a Shapes,
        tables: &'a TableSet<'a>,
        implied_objects: bool,
    ) -> Self {
        let named = shapes.types.map_ids(TypeRef::Named);
        let places = shapes.types.map_ids(|id| shapes.normalize(&shapes.get(id).conj));
        let doubtful = shapes.types.iter().chain(&shapes.parts).filter_map(|def| match &def.body {
            TypeBody::Objects(body) if !body.has_reliable_tag() => Some(body),
            _ => None,
        });
        let doubtful = doubtful.flat_map(|body| {
            let inner = body.variants.iter().flat_map(|v| &v.inner).map(|(holder, _)| *holder);
            inner.chain([body.holder])
        });
        let doubtful = doubtful.collect();
        let unwritable = UnwritableTypes::from_shapes(shapes);
        Self {
            graph,
            shapes,
            tables,
            implied_objects,
            type_refs: named,
            places,
            loosely_tagged: doubtful,
            unwritable,
        }
    }

    /// Builds the check of every type of the contract. The checks also reject values that cannot be
    /// serialized.
    #[must_use]
    pub fn build_checks(&self) -> TypeChecks {
        let lenient = CheckBuilder::new(
            self,
            Rc::new(schemas_reaching_dynamic_ref(self.graph)),
            TrivialTypes::default(),
        );
        let checker = CheckBuilder { writable: true, trivial: TrivialTypes::default(), ..lenient };
        TypeChecks { by_type: self.shapes.types.map_ids(|id| checker.type_check(id)) }
    }
}

/// The checks of all types of a contract.
#[derive(Clone, Debug)]
pub struct TypeChecks {
    by_type: ArenaMap<TypeDef, Check>,
}

impl TypeChecks {
    /// Returns the check of a type, which becomes the body of its method `is_valid`.
    #[must_use]
    pub fn for_type(&self, id: TypeId) -> &Check {
        &self.by_type[id]
    }
}

/// A value that generated code can access: its Rust type and the expression for it.
#[derive(Clone)]
struct TypedPlace<'a> {
    ty: &'a TypeRef,
    place: ValuePlace,
    /// True if the value is in a `Box`: method calls and arguments dereference it automatically, but `match`
    /// does not.
    boxed: bool,
}

impl<'a> TypedPlace<'a> {
    const fn new(ty: &'a TypeRef, place: ValuePlace) -> Self {
        Self { ty, place, boxed: false }
    }

    /// Creates the place of the value that a closure or pattern binds as `value`. Bindings shadow each other,
    /// so a test can access only the innermost one.
    const fn bound_value(ty: &'a TypeRef) -> Self {
        Self::new(ty, ValuePlace::Bound)
    }
}

/// A cache that stores for each type whether its check is trivial, that is, whether it always succeeds.
type TrivialTypes = Rc<RefCell<BTreeMap<TypeId, bool>>>;

/// The builder of checks for the types of one [`CheckScope`].
struct CheckBuilder<'a> {
    scope: &'a CheckScope<'a>,
    trivial: TrivialTypes,
    /// The cache for checks that accept values that cannot be serialized (`writable` is false).
    lenient: TrivialTypes,
    /// The number of schemas that may still be expanded in the current check.
    visits: Cell<u32>,
    /// The schemas from which a `$dynamicRef` is reachable. The target of the reference depends on where the
    /// evaluation began (Core 8.2.3.2), so the types of these schemas are not checked field by field.
    dynamic: Rc<BTreeSet<SchemaId>>,
    /// True if the built checks also reject values that cannot be serialized, although no keyword requires
    /// this.
    writable: bool,
    focus: Option<KeywordFocus<'a>>,
}

impl<'a> CheckBuilder<'a> {
    fn new(scope: &'a CheckScope<'a>, dynamic: Rc<BTreeSet<SchemaId>>, trivial: TrivialTypes) -> Self {
        let lenient = Rc::clone(&trivial);
        Self { scope, trivial, lenient, visits: Cell::new(0), dynamic, writable: false, focus: None }
    }

    fn graph_schema(&self, id: SchemaId) -> &'a Schema {
        match &self.focus {
            Some(focus) if focus.id == id => focus.part,
            _ => self.scope.graph.schema(id),
        }
    }

    fn facts_of(&self, conj: &SchemaConjunction) -> SchemaFacts {
        SchemaFacts::from_conjunction(self.scope.graph, conj, self.scope.implied_objects)
    }

    /// Returns the inline check that `write` builds. If it expands [`MAX_VISITS`] schemas or more, returns
    /// the result of `tables` instead, which is a check by the validation tables.
    fn bounded_check(&self, write: impl FnOnce() -> Check, tables: impl FnOnce() -> Check) -> Check {
        let before = self.visits.replace(MAX_VISITS);
        let check = write();
        match self.visits.replace(before) {
            0 => tables(),
            _ => check,
        }
    }

    /// Counts one schema that is expanded inline. Returns false if the limit [`MAX_VISITS`] is reached.
    fn take_visit(&self) -> bool {
        let left = self.visits.get();
        self.visits.set(left.saturating_sub(1));
        left > 1
    }

    /// Returns true if the `oneOf` or `anyOf` of schema `id` needs no check. This requires that `chosen` contains the
    /// schema, so that one branch replaces the union, and that a required tag determines this branch.
    fn is_decided_by_tag(&self, chosen: &[SchemaId], id: SchemaId) -> bool {
        chosen.contains(&id) && !self.scope.loosely_tagged.contains(&id)
    }

    /// Builds the inline check of a type, or a check by the validation tables if the inline check would be
    /// too large.
    fn type_check(&self, id: TypeId) -> Check {
        let def = self.scope.shapes.get(id);
        self.bounded_check(|| self.write_type_check(id, def), || row_check(def))
    }

    fn write_type_check(&self, id: TypeId, def: &'a TypeDef) -> Check {
        let own = TypedPlace::new(&self.scope.type_refs[id], ValuePlace::Own);
        if def.conj.ids.iter().any(|id| self.dynamic.contains(id)) {
            return row_check(def);
        }
        let check = match &def.body {
            TypeBody::Struct(body) => self.struct_definition(def, body, &own),
            TypeBody::Objects(body) => self.objects_definition(id, def, body),
            TypeBody::ByKind(variants) => self.kinds_definition(id, def, variants),
            TypeBody::Newtype(inner) => self.conjunction_keywords(
                &def.conj,
                &TypedPlace::new(inner, self.newtype_content(def, inner, &ValuePlace::Own)),
                MAX_DEPTH,
            ),
            TypeBody::Enum(_) | TypeBody::Pending => self.conjunction_keywords(&def.conj, &own, MAX_DEPTH),
        };
        let check = if self.needs_tables(def) { check.and(row_check(def)) } else { check };
        if self.writable { self.require_writable(check, &own) } else { check }
    }

    /// Returns the place of the content of a newtype.
    fn newtype_content(&self, def: &TypeDef, inner: &TypeRef, place: &ValuePlace) -> ValuePlace {
        let is_enumeration = matches!(inner, TypeRef::Int(_))
            && integer_variants(self.scope.graph, &self.facts_of(&def.conj), inner).is_some();
        if is_enumeration { place.integer() } else { place.newtype_value() }
    }

    /// Returns true if the check of a type always succeeds. Generated code does not call such a check.
    fn is_trivial(&self, id: TypeId) -> bool {
        if let Some(focus) = &self.focus {
            return focus.whole.is_trivial(id);
        }
        if let Some(&known) = self.trivial.borrow().get(&id) {
            return known;
        }
        // While the check of a type is built, a recursive reference to the type is treated as if the check
        // were not trivial.
        self.trivial.borrow_mut().insert(id, false);
        let trivial = self.type_check(id) == Always;
        self.trivial.borrow_mut().insert(id, trivial);
        trivial
    }

    /// Returns true if a schema of the type uses an `unevaluated…` keyword. These keywords depend on the
    /// results of other keywords, so only the validation tables can check them.
    fn needs_tables(&self, def: &TypeDef) -> bool {
        let facts = self.facts_of(&def.conj);
        facts.unconditional.iter().chain(&facts.conditional).any(|&m| {
            let s = self.graph_schema(m);
            s.unevaluated_properties.is_some() || s.unevaluated_items.is_some()
        })
    }

    fn applicator_checks(&self, s: &Schema, skip_unions: bool, at: &dyn Fn(SchemaId) -> Check) -> Check {
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

    /// Builds a check that the value `at` satisfies all schemas of a conjunction.
    fn conjunction_check(&self, conj: &SchemaConjunction, at: &TypedPlace<'a>, depth: u8) -> Check {
        if let Some(check) = self.own_check(conj, at) {
            return check;
        }
        let skip = &conj.chosen;
        Check::all_distinct(conj.ids.iter().map(|&id| self.schema_at(id, at, skip, depth)).collect())
    }

    /// If the check of the value's type covers exactly the schemas of `conj`, returns a call of that check,
    /// or `Always` if the check is trivial.
    fn own_check(&self, conj: &SchemaConjunction, at: &TypedPlace<'a>) -> Option<Check> {
        if self.focus.is_some_and(|focus| conj.ids.contains(&focus.id)) {
            return None;
        }
        let TypeRef::Named(id) = strip_boxes(at.ty) else { return None };
        let def = self.scope.shapes.get(*id);
        let same = def.conj == *conj || self.scope.places[*id] == self.scope.shapes.normalize(conj);
        same.then(|| match self.is_trivial(*id) {
            true => Always,
            false => ValueTest::Valid(at.place.clone()).into(),
        })
    }

    fn conjunction_keywords(&self, conj: &SchemaConjunction, at: &TypedPlace<'a>, depth: u8) -> Check {
        let skip = &conj.chosen;
        Check::all_distinct(conj.ids.iter().map(|&id| self.keyword_checks(id, at, skip, depth)).collect())
    }

    /// Builds a check that the value `at` satisfies a schema.
    fn schema_check(&self, id: SchemaId, at: &TypedPlace<'a>, depth: u8) -> Check {
        self.schema_at(id, at, &[], depth)
    }

    fn schema_at(&self, id: SchemaId, at: &TypedPlace<'a>, chosen: &[SchemaId], depth: u8) -> Check {
        if !chosen.contains(&id)
            && let Some(check) = self.own_check(&SchemaConjunction::from_schema(id), at)
        {
            return check;
        }
        self.keyword_checks(id, at, chosen, depth)
    }

    /// Builds the check of a schema's keywords for a value. It does not call the check of the value's type.
    fn keyword_checks(&self, id: SchemaId, at: &TypedPlace<'a>, chosen: &[SchemaId], depth: u8) -> Check {
        let s = self.graph_schema(id);
        match s.boolean {
            Some(true) => return Always,
            Some(false) => return Never,
            None => {}
        }
        if depth == 0 || is_contextual(s) || !self.take_visit() {
            return self.table_check(id, at);
        }
        let own = match at.ty {
            TypeRef::Boxed(inner) => {
                let at = TypedPlace { ty: inner, place: at.place.clone(), boxed: true };
                return self.schema_at(id, &at, chosen, depth - 1);
            }
            TypeRef::Nullable(inner) => return self.nullable_check(id, inner, at, chosen, depth),
            TypeRef::Named(type_id) => return self.named_type_checks(id, *type_id, at, chosen, depth),
            TypeRef::String => {
                return self.string_keywords(id, &StringOperand::String(at.place.clone()), chosen, depth);
            }
            TypeRef::Secret => {
                return self.string_keywords(id, &StringOperand::Secret(at.place.clone()), chosen, depth);
            }
            TypeRef::Replaced(path, _) if let Some(name) = MappedFormat::name_from_path(path) => {
                let text = StringOperand::Formatted(at.place.clone(), name.to_owned());
                return self.string_keywords(id, &text, chosen, depth);
            }
            TypeRef::Json | TypeRef::Replaced(..) => return self.table_check(id, at),
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
        own.and(parts).and(self.applicator_checks(s, self.is_decided_by_tag(chosen, id), &again))
    }

    /// Builds a check that a value of the named type `of` satisfies a schema, without calling the check of
    /// the type.
    fn named_type_checks(
        &self,
        id: SchemaId,
        of: TypeId,
        at: &TypedPlace<'a>,
        chosen: &[SchemaId],
        depth: u8,
    ) -> Check {
        match &self.scope.shapes.get(of).body {
            TypeBody::Struct(body) if self.is_decided_by_tag(chosen, id) => {
                self.struct_without_unions(id, body, at, depth)
            }
            TypeBody::Struct(body) => self.struct_check(id, body, at, depth),
            TypeBody::Objects(body) => self.objects_check(id, of, body, at, depth),
            TypeBody::ByKind(variants) => self.kinds_check(id, of, variants, at, depth),
            // The content of a newtype is accessed directly: generated modules can access each other's
            // private fields.
            TypeBody::Newtype(inner) => {
                let content = self.newtype_content(self.scope.shapes.get(of), inner, &at.place);
                self.schema_at(id, &TypedPlace::new(inner, content), chosen, depth - 1)
            }
            TypeBody::Enum(list) => self.enum_keywords(id, of, list, at, depth),
            TypeBody::Pending => self.table_check(id, at),
        }
    }

    fn table_check(&self, id: SchemaId, at: &TypedPlace<'a>) -> Check {
        let form = if *at.ty == TypeRef::Json { PlaceForm::Json } else { PlaceForm::Typed };
        ValueTest::Tables(at.place.clone(), form, vec![id]).into()
    }
}

/// Returns a check that validates a value of a type as a whole with the validation tables.
fn row_check(def: &TypeDef) -> Check {
    ValueTest::Tables(ValuePlace::Own, PlaceForm::Typed, def.conj.ids.clone()).into()
}

/// Returns the schemas from which a `$dynamicRef` is reachable.
fn schemas_reaching_dynamic_ref(graph: &SchemaGraph) -> BTreeSet<SchemaId> {
    let mut parents: BTreeMap<SchemaId, Vec<SchemaId>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    let mut work = Vec::new();
    for id in graph.ids() {
        let schema = graph.schema(id);
        if schema.dynamic_reference.as_ref().is_some_and(|d| d.anchor.is_some()) {
            work.push(id);
        }
        for part in schema.child_schemas() {
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

fn strip_boxes(ty: &TypeRef) -> &TypeRef {
    match ty {
        TypeRef::Boxed(inner) => strip_boxes(inner),
        other => other,
    }
}

/// Returns true if the result of a schema depends on other schemas that apply to the same value, or on the
/// references by which the evaluation reached the schema.
fn is_contextual(s: &Schema) -> bool {
    s.dynamic_reference.is_some() || s.unevaluated_items.is_some() || s.unevaluated_properties.is_some()
}
