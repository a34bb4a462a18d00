//! Builds all types: those that have names and then their bodies, those of operations, variants that wait for others,
//! boxes last.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use contract_runtime::{Json, Number};

use super::{
    Body, Field, IntKind, KindVariant, Shapes, StringEnum, Struct, TypeDef, TypeId, TypeRef, boxes, sweep,
    unions::Variant, values::Said,
};
use crate::{
    api::Api,
    names,
    naming::{self, Names},
    options::Options,
    schema::{Graph, Schema, SchemaId, Types},
    together::{Conj, Facts},
};

/// The names of an object's fields; `extra` is the generator's own. What tells clashing members
/// apart is said in words: `a` and `A` are `lower_a` and `upper_a`.
fn field_names(wires: &[&str]) -> Vec<String> {
    let plain: Vec<String> = wires.iter().map(|wire| names::variant_name(wire)).collect();
    let mut words = plain.clone();
    names::make_distinct(wires, &mut words);
    let mut order: Vec<usize> = (0..wires.len()).collect();
    order.sort_by_key(|&i| wires[i]);
    let mut out = vec![String::new(); wires.len()];
    let mut taken = BTreeSet::new();
    for i in order {
        let base = match names::field_name(if words[i] == plain[i] { wires[i] } else { &words[i] }) {
            name if name == "extra" => "extra_field".to_owned(),
            name => name,
        };
        let mut name = base.clone();
        let mut number = 1u32;
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{}_{number}", base.trim_end_matches('_'));
        }
        out[i] = name;
    }
    out
}

/// Shapes every schema that has a name, and every place of the operations.
#[must_use]
pub fn shape(graph: &Graph, api: &Api, options: &Options, names: Names) -> Shapes {
    let shapes = Shapes {
        aliases: names.aliases.clone(),
        equals: names.equals.clone(),
        silent: names.silent.clone(),
        ..Shapes::default()
    };
    let mut shaper = Shaper {
        graph,
        options,
        shapes,
        names,
        bodies: BTreeMap::new(),
        waiting: VecDeque::new(),
        open: BTreeSet::new(),
        variants: VecDeque::new(),
        tags: Vec::new(),
    };
    let mut named: Vec<SchemaId> = shaper.names.named().collect();
    named.sort_by_cached_key(|&id| graph.location(id));
    for id in named {
        shaper.place(id, "");
    }
    shaper.fill();
    for (id, hint) in naming::places(api) {
        shaper.place(id, &hint);
    }
    shaper.settle_variants();
    shaper.settle_tags();
    let mut shapes = shaper.shapes;
    shapes.places.extend(shaper.bodies);
    sweep::sweep(graph, &mut shapes, &naming::places(api).into_iter().map(|(id, _)| id).collect());
    boxes::insert(&mut shapes);
    shapes
}

/// The most variants of an enumeration; a longer list is text that is checked. The compiler compares
/// every arm of a `match`, derived ones too, with every other: 10,000 take it 2.7 GB.
pub(crate) const ENUM_LIMIT: usize = 1000;

pub(super) struct Shaper<'a> {
    pub(super) graph: &'a Graph,
    pub(super) options: &'a Options,
    pub(super) shapes: Shapes,
    names: Names,
    bodies: BTreeMap<Conj, TypeRef>,
    /// Types that have names and no bodies yet: those are made by themselves, so that nothing depends on which
    /// of several was seen first.
    waiting: VecDeque<TypeId>,
    /// Anonymous places whose types are being made.
    open: BTreeSet<Conj>,
    /// Variants whose types wait for the bodies of others.
    pub(super) variants: VecDeque<(Variant, TypeId)>,
    /// Structs that are variants of a union, and the tag whose value they stand for.
    pub(super) tags: Vec<(TypeId, String)>,
}

impl Shaper<'_> {
    fn place(&mut self, id: SchemaId, hint: &str) {
        let ty = self.type_of(&Conj::one(id), hint);
        self.shapes.places.insert(Conj::one(id), ty);
    }

    /// Makes the bodies of types that have names.
    fn fill(&mut self) {
        while let Some(id) = self.waiting.pop_front() {
            let TypeDef { name, conj, .. } = self.shapes.get(id);
            let (name, conj) = (name.clone(), conj.clone());
            match self.anonymous_at(&conj, &name, Some(id)) {
                TypeRef::Named(same) if same == id => {}
                inner => self.shapes.types[id].body = Body::Newtype(inner),
            }
        }
    }

    pub(super) fn facts(&self, conj: &Conj) -> Facts {
        Facts::of(self.graph, conj, self.options.implied_objects)
    }

    /// The type of a place; `hint` names it when it needs a name of its own.
    pub(super) fn type_of(&mut self, place_of: &Conj, hint: &str) -> TypeRef {
        let conj = self.shapes.normal(place_of);
        if let Some(path) = conj.ids.iter().find_map(|id| Some((self.options.replace.get(id)?, *id))) {
            return TypeRef::Replaced(path.0.clone(), path.1);
        }
        if let Some(known) = self.bodies.get(&conj) {
            return known.clone();
        }
        let ty = match conj.ids.as_slice() {
            [] => TypeRef::Json,
            [id] if self.names.of(*id).is_some() && conj.chosen.is_empty() && conj.within == Types::ALL => {
                return self.named(*id, &conj);
            }
            // A place inside itself that has no name to break the circle: any value fits there.
            _ if self.open.contains(&conj) => return TypeRef::Json,
            _ => {
                self.open.insert(conj.clone());
                let place = match conj.ids.as_slice() {
                    [id] if conj.chosen.is_empty() && conj.within == Types::ALL => self.names.hint(*id),
                    _ => None,
                };
                let hint = place.unwrap_or(hint).to_owned();
                // One schema is told by the first of its equals, which has the name; of several that
                // say something together, none is meant to be elsewhere.
                let own = if conj.ids.len() > 1 { self.shapes.own(place_of) } else { conj.clone() };
                let ty = match self.reused(&own) {
                    Some(ty) => ty,
                    None => self.anonymous(&own, &hint),
                };
                self.open.remove(&conj);
                ty
            }
        };
        self.bodies.insert(conj, ty.clone());
        ty
    }

    fn named(&mut self, id: SchemaId, conj: &Conj) -> TypeRef {
        let name = self.names.of(id).unwrap_or_default().to_owned();
        let type_id = self.allocate(name, Some(id), conj);
        let ty = TypeRef::Named(type_id);
        self.bodies.insert(conj.clone(), ty.clone());
        self.waiting.push_back(type_id);
        ty
    }

    pub(super) fn allocate(&mut self, name: String, schema: Option<SchemaId>, conj: &Conj) -> TypeId {
        let area = conj
            .ids
            .iter()
            .rev()
            .find_map(|id| self.options.areas.get(id))
            .cloned()
            .unwrap_or_else(|| "models".to_owned());
        self.shapes.types.push(TypeDef { name, schema, conj: conj.clone(), body: Body::Pending, area })
    }

    /// A type that already has a name and holds all that this place accepts.
    fn reused(&mut self, conj: &Conj) -> Option<TypeRef> {
        let facts = self.facts(conj);
        let candidates: Vec<SchemaId> =
            facts.members.iter().copied().filter(|id| self.names.of(*id).is_some()).collect();
        for candidate in candidates.into_iter().rev() {
            let base = Conj::one(candidate);
            let known = self.facts(&base);
            // The base may allow null where this place does not, or the other way round.
            if known.types.contains(Types::NULL) {
                continue;
            }
            // One branch or one JSON type of the base: the base's type is all of them together.
            if conj.chosen.contains(&candidate)
                || known.holders.iter().any(|holder| conj.chosen.contains(holder))
                || !conj.within.contains(known.types)
            {
                continue;
            }
            let added: Vec<SchemaId> =
                facts.members.iter().copied().filter(|id| !known.members.contains(id)).collect();
            if added.iter().all(|&id| self.only_refines(id, &base, conj, 8)) {
                let ty = self.type_of(&base, "");
                return Some(if facts.types.contains(Types::NULL) {
                    TypeRef::Nullable(Box::new(ty))
                } else {
                    ty
                });
            }
        }
        None
    }

    /// Whether a schema only narrows what the type of `base` can hold.
    fn only_refines(&self, id: SchemaId, base: &Conj, place: &Conj, depth: u8) -> bool {
        if depth == 0 {
            return false;
        }
        let schema = self.graph.schema(id);
        let base_facts = self.facts(base);
        let chosen = place.chosen.contains(&id);
        if schema.dynamic_reference.is_some() {
            return false;
        }
        if !chosen
            && schema
                .any_of
                .iter()
                .chain(&schema.one_of)
                .any(|&branch| !self.only_refines(branch, base, place, depth - 1))
        {
            return false;
        }
        let declared = base_facts.declared(self.graph);
        for (name, property) in &schema.properties {
            let Some((_, always, sometimes)) = declared.iter().find(|(n, ..)| n == name) else {
                return false;
            };
            let under = Conj::all(always.iter().chain(sometimes).copied());
            if !self.refines_place(*property, &under, depth - 1) {
                return false;
            }
        }
        if let Some(items) = schema.items {
            let under: Vec<_> =
                base_facts.members.iter().filter_map(|&m| self.graph.schema(m).items).collect();
            if under.is_empty() || !self.refines_place(items, &Conj::all(under), depth - 1) {
                return false;
            }
        }
        if !schema.prefix_items.is_empty()
            || schema.additional_properties.is_some_and(|a| {
                !self.graph.schema(a).says_nothing() && self.graph.schema(a).boolean != Some(false)
            })
        {
            return false;
        }
        // A list of strings out of a plain string is worth a type of its own.
        if schema.enumeration.as_ref().is_some_and(|e| e.len() > 1)
            && base_facts.literals(self.graph).is_none()
        {
            return false;
        }
        let parts = schema.reference.iter().chain(&schema.all_of);
        parts.chain(&schema.then).chain(&schema.otherwise).all(|&part| {
            base_facts.members.contains(&part) || self.only_refines(part, base, place, depth - 1)
        })
    }

    /// The same question for a member of an object or the elements of an array.
    fn refines_place(&self, id: SchemaId, under: &Conj, depth: u8) -> bool {
        let mut members = self.facts(&Conj::one(id)).members;
        let known = self.facts(under).members;
        members.retain(|m| !known.contains(m));
        if known.iter().all(|&k| self.graph.schema(k).says_nothing()) {
            return members.is_empty();
        }
        members.iter().all(|&m| self.only_refines(m, under, under, depth))
    }

    pub(super) fn anonymous(&mut self, conj: &Conj, hint: &str) -> TypeRef {
        self.anonymous_at(conj, hint, None)
    }

    /// The structure of a place; a struct or enum goes into `slot`, or into a new type.
    fn anonymous_at(&mut self, conj: &Conj, hint: &str, slot: Option<TypeId>) -> TypeRef {
        if conj.ids.iter().any(|id| self.options.endless.contains(id)) {
            return TypeRef::Json;
        }
        let facts = self.facts(conj);
        if facts.dynamic || facts.types.is_empty() || facts.types == Types::NULL {
            return TypeRef::Json;
        }
        if facts.types.contains(Types::NULL) {
            let rest = facts.types.without(Types::NULL);
            if facts.types == Types::ALL && facts.holders.is_empty() {
                return TypeRef::Json;
            }
            let inner = self.type_of_or_slot(&conj.within(rest), hint, slot);
            return match inner {
                TypeRef::Json => TypeRef::Json,
                inner => TypeRef::Nullable(Box::new(inner)),
            };
        }
        if let Some(ty) = self.union(conj, &facts, hint, slot) {
            return ty;
        }
        let kinds = [Types::BOOLEAN, Types::NUMBER, Types::STRING, Types::ARRAY, Types::OBJECT];
        let possible: Vec<Types> = kinds.into_iter().filter(|k| !facts.types.and(*k).is_empty()).collect();
        match possible.as_slice() {
            [one] => self.single_kind(*one, conj, &facts, hint, slot),
            [] | [_, _, _, _, _] => TypeRef::Json,
            several => self.kinds(several, conj, &facts, hint, slot),
        }
    }

    fn type_of_or_slot(&mut self, conj: &Conj, hint: &str, slot: Option<TypeId>) -> TypeRef {
        // A nullable named schema is a newtype around the nullable; its inside is anonymous.
        let hint = if slot.is_some() { format!("{hint}Value") } else { hint.to_owned() };
        self.type_of(conj, &hint)
    }

    fn kinds(
        &mut self,
        kinds: &[Types],
        conj: &Conj,
        facts: &Facts,
        hint: &str,
        slot: Option<TypeId>,
    ) -> TypeRef {
        let id = self.slot(conj, hint, slot);
        let hint = self.shapes.get(id).name.clone();
        let mut variants = Vec::new();
        for &kind in kinds {
            let types = facts.types.and(kind);
            let name = kind_name(types);
            let ty = self.type_of(&conj.within(types), &format!("{hint}{name}"));
            variants.push(KindVariant { name: name.to_owned(), types, ty });
        }
        self.shapes.types[id].body = Body::ByKind(variants);
        TypeRef::Named(id)
    }

    /// The type that a place fills; what stands inside is named after it.
    pub(super) fn slot(&mut self, conj: &Conj, hint: &str, slot: Option<TypeId>) -> TypeId {
        if let Some(id) = slot {
            return id;
        }
        let place = self.shapes.normal(conj);
        let name = self.names.take(&place.ids, hint);
        let id = self.allocate(name, None, conj);
        self.bodies.insert(place, TypeRef::Named(id));
        id
    }

    fn single_kind(
        &mut self,
        kind: Types,
        conj: &Conj,
        facts: &Facts,
        hint: &str,
        slot: Option<TypeId>,
    ) -> TypeRef {
        if kind == Types::BOOLEAN {
            TypeRef::Bool
        } else if kind == Types::NUMBER {
            self.number(facts)
        } else if kind == Types::STRING {
            self.string(conj, facts, hint, slot)
        } else if kind == Types::ARRAY {
            self.array(facts, hint)
        } else {
            self.object(conj, facts, hint, slot)
        }
    }

    fn number(&self, facts: &Facts) -> TypeRef {
        if !facts.types.and(Types::NUMBER.without(Types::INTEGER)).is_empty() {
            return TypeRef::Number;
        }
        let literals = facts.literals(self.graph).unwrap_or_default();
        let mut literals = literals.into_iter().filter_map(Json::as_number);
        if literals.any(|n| n.is_integer() && n.as_i64().is_none()) {
            return TypeRef::Number;
        }
        let schemas: Vec<&Schema> = facts.members.iter().map(|&m| self.graph.schema(m)).collect();
        let format = |name: &str| schemas.iter().any(|s| s.format.as_deref() == Some(name));
        let below = schemas.iter().flat_map(|s| s.minimum.iter().chain(&s.exclusive_minimum));
        let above = schemas.iter().flat_map(|s| s.maximum.iter().chain(&s.exclusive_maximum));
        let bounded = |fits: fn(&Number) -> bool| below.clone().any(fits) && above.clone().any(fits);
        // No `i64` is at least 1e19, or above its greatest: a type for such values has to be another one.
        let reached = |least: Number, greatest: Number| {
            let reaches = |s: &&Schema| {
                s.minimum.iter().all(|n| *n <= greatest)
                    && s.exclusive_minimum.iter().all(|n| *n < greatest)
                    && s.maximum.iter().all(|n| *n >= least)
                    && s.exclusive_maximum.iter().all(|n| *n > least)
            };
            schemas.iter().all(reaches)
        };
        let (i64s, u64s) =
            (reached(i64::MIN.into(), i64::MAX.into()), reached(Number::int(0), u64::MAX.into()));
        let beyond = || !i64s || below.clone().chain(above.clone()).any(|n| !n.is_within_i64());
        if i64s && (bounded(Number::is_within_i64) || format("int64") || format("int32")) {
            TypeRef::Int(IntKind::I64)
        } else if u64s && (bounded(Number::is_within_u64) || format("uint64")) {
            TypeRef::Int(IntKind::U64)
        } else if self.options.exact_integers || beyond() {
            TypeRef::Number
        } else {
            TypeRef::Int(IntKind::I64)
        }
    }

    fn string(&mut self, conj: &Conj, facts: &Facts, hint: &str, slot: Option<TypeId>) -> TypeRef {
        // An enumeration would print its values, and a type of a format may.
        if self.is_secret(conj) {
            return TypeRef::Secret;
        }
        let Some(values) = facts.literals(self.graph) else {
            if let Some(values) = self.extensible(conj).filter(|values| values.len() <= ENUM_LIMIT) {
                let values = values.into_iter().map(|value| (value, None)).collect();
                return self.string_enum(conj, values, true, hint, slot);
            }
            return self.formatted(facts).unwrap_or(TypeRef::String);
        };
        let values: Vec<&str> = values.into_iter().filter_map(Json::as_str).collect();
        if values.is_empty() || values.len() > ENUM_LIMIT {
            return TypeRef::String;
        }
        let values = values.into_iter().map(|v| (v.to_owned(), None)).collect();
        self.string_enum(conj, values, false, hint, slot)
    }

    pub(super) fn string_enum(
        &mut self,
        conj: &Conj,
        values: Vec<(String, Option<String>)>,
        open: bool,
        hint: &str,
        slot: Option<TypeId>,
    ) -> TypeRef {
        let open = self.keeps_unknown(conj) || open;
        let id = self.slot(conj, hint, slot);
        let mut seen = BTreeSet::new();
        let values: Vec<_> = values.into_iter().filter(|(v, _)| seen.insert(v.clone())).collect();
        let wires: Vec<&str> = values.iter().map(|(v, _)| v.as_str()).collect();
        let said: Vec<_> = wires.iter().map(|wire| self.said(conj, wire)).collect();
        let name = |(wire, said): (&&str, &Said)| names::variant_name(said.name.as_deref().unwrap_or(wire));
        let mut rust: Vec<String> = wires.iter().zip(&said).map(name).collect();
        names::reserve_unknown(&mut rust);
        names::make_distinct(&wires, &mut rust);
        let documented = values.iter().zip(rust).zip(said);
        let values =
            documented.map(|(((w, d), r), said)| (w.clone(), r, d.clone().or(said.description))).collect();
        self.shapes.types[id].body = Body::Enum(StringEnum { values, open });
        TypeRef::Named(id)
    }

    /// Whether readers keep a value that the contract does not list: wherever it may stand in an
    /// answer, unless the owner says otherwise.
    pub(super) fn keeps_unknown(&mut self, conj: &Conj) -> bool {
        let by_default = !conj.ids.iter().any(|id| self.options.requests.contains(id));
        let members = self.facts(conj).members;
        let list = if by_default { &self.options.closed } else { &self.options.open };
        let decided: Vec<SchemaId> = members.into_iter().filter(|id| list.contains(id)).collect();
        let other = !decided.is_empty();
        self.shapes.decided.extend(decided);
        by_default != other
    }

    /// The type of a text's format.
    fn formatted(&self, facts: &Facts) -> Option<TypeRef> {
        let formats = &self.options.formats;
        let mapped = |id: &SchemaId| Some((formats.of(self.graph.schema(*id))?, *id));
        let (mapped, id) = facts.members.iter().find_map(mapped)?;
        Some(TypeRef::Replaced(mapped.path(), id))
    }

    fn array(&mut self, facts: &Facts, hint: &str) -> TypeRef {
        let graph = self.graph;
        let schemas: Vec<&Schema> = facts.members.iter().map(|&m| graph.schema(m)).collect();
        let element = format!("{hint}Item");
        if let Some(with) = schemas.iter().find(|s| !s.prefix_items.is_empty()) {
            let length = with.prefix_items.len();
            let closed = with.items.is_some_and(|i| graph.schema(i).boolean == Some(false))
                || schemas.iter().any(|s| s.max_items == Some(length as u64));
            let full = schemas.iter().any(|s| s.min_items.is_some_and(|m| m >= length as u64));
            let others = schemas.iter().any(|s| {
                s.prefix_items != with.prefix_items
                    && (!s.prefix_items.is_empty()
                        || s.items.is_some_and(|i| graph.schema(i).boolean != Some(false)))
            });
            let elements: Vec<TypeRef> = with
                .prefix_items
                .iter()
                .enumerate()
                .map(|(i, &p)| self.type_of(&Conj::one(p), &format!("{hint}Item{i}")))
                .collect();
            return if closed && full && !others && (1..=8).contains(&length) {
                TypeRef::Tuple(elements)
            } else {
                TypeRef::Vec(Box::new(TypeRef::Json))
            };
        }
        let items = Conj::all(schemas.iter().filter_map(|s| s.items));
        TypeRef::Vec(Box::new(self.type_of(&items, &element)))
    }

    pub(super) fn object(&mut self, conj: &Conj, facts: &Facts, hint: &str, slot: Option<TypeId>) -> TypeRef {
        let graph = self.graph;
        let declared = facts.declared(graph);
        if declared.is_empty() {
            let values = self.additional(facts, hint).unwrap_or(TypeRef::Json);
            return TypeRef::Map(Box::new(values));
        }
        let id = self.slot(conj, hint, slot);
        let hint = &self.shapes.get(id).name.clone();
        let additional = self.additional(facts, hint);
        let required = facts.required(graph);
        let wires: Vec<&str> = declared.iter().map(|(n, ..)| *n).collect();
        let rust = field_names(&wires);
        let mut fields = Vec::new();
        for ((wire, always, sometimes), name) in declared.into_iter().zip(rust) {
            let inner = format!("{hint}{}", names::variant_name(wire));
            let place = Conj::all(always.iter().copied());
            let ty = if always.is_empty() && self.declared_by_every_branch(facts, wire) {
                let options: BTreeSet<TypeRef> =
                    sometimes.iter().map(|&s| self.type_of(&Conj::one(s), &inner)).collect();
                match options.iter().next() {
                    Some(only) if options.len() == 1 => only.clone(),
                    _ => TypeRef::Json,
                }
            } else if always.is_empty() {
                // Where the condition does not hold, the member may be anything.
                TypeRef::Json
            } else {
                self.type_of(&place, &inner)
            };
            let literals = self.facts(&place).literals(graph);
            let constant = match literals.as_deref() {
                Some([only]) if !always.is_empty() => Some((*only).clone()),
                _ => None,
            };
            let applies = Conj::all(always.iter().chain(&sometimes).copied());
            let ty = if self.is_secret(&applies) { secret(ty) } else { ty };
            fields.push(Field {
                wire: wire.to_owned(),
                name,
                ty,
                required: required.contains(wire),
                conj: place,
                describe: always.last().or(sometimes.first()).copied(),
                constant,
                omitted: false,
            });
        }
        self.shapes.types[id].body = Body::Struct(Struct { fields, additional });
        TypeRef::Named(id)
    }

    /// Whether some union declares a member in all its branches, so that it always applies.
    fn declared_by_every_branch(&self, facts: &Facts, wire: &str) -> bool {
        facts.holders.iter().any(|&holder| {
            let schema = self.graph.schema(holder);
            [&schema.one_of, &schema.any_of].into_iter().any(|branches| {
                !branches.is_empty()
                    && branches.iter().all(|&branch| {
                        let members = self.facts(&Conj::one(branch)).members;
                        members
                            .iter()
                            .any(|&m| self.graph.schema(m).properties.iter().any(|(n, _)| n == wire))
                    })
            })
        })
    }

    /// Whether the owner calls secret what stands at a place: always, under a condition, or where a
    /// branch is taken.
    pub(super) fn is_secret(&self, place: &Conj) -> bool {
        let secrets = &self.options.secrets;
        if secrets.is_empty() {
            return false;
        }
        let facts = self.facts(place);
        facts.members.iter().chain(&facts.conditional).any(|id| secrets.contains(id))
    }

    /// What members that nobody declared hold, when the schema gives them a type.
    fn additional(&mut self, facts: &Facts, hint: &str) -> Option<TypeRef> {
        let graph = self.graph;
        let schemas: Vec<&Schema> = facts.members.iter().map(|&m| graph.schema(m)).collect();
        let patterns: Vec<SchemaId> =
            schemas.iter().flat_map(|s| s.pattern_properties.iter().map(|(_, id)| *id)).collect();
        let given: Vec<SchemaId> = schemas.iter().filter_map(|s| s.additional_properties).collect();
        let name = format!("{hint}Value");
        match (patterns.as_slice(), given.as_slice()) {
            ([], []) => None,
            // Typed only when one place decides for every member that is left.
            ([], [one]) => match graph.schema(*one).boolean {
                Some(_) => None,
                None => Some(self.type_of(&Conj::one(*one), &name)),
            },
            ([one], [closed]) if graph.schema(*closed).boolean == Some(false) => {
                Some(self.type_of(&Conj::one(*one), &name))
            }
            _ => None,
        }
        .filter(|ty| *ty != TypeRef::Json)
        .filter(|_| {
            // With declared members elsewhere in the conjunction `additionalProperties` speaks
            // about those too; only a schema that declares all of them leaves the rest typed.
            let holders = schemas
                .iter()
                .filter(|s| s.additional_properties.is_some() || !s.pattern_properties.is_empty());
            holders.count() == 1
        })
    }
}

fn secret(ty: TypeRef) -> TypeRef {
    match ty {
        TypeRef::String => TypeRef::Secret,
        TypeRef::Nullable(inner) => TypeRef::Nullable(Box::new(secret(*inner))),
        other => other,
    }
}

/// The name of a variant that stands for a JSON type.
pub(super) fn kind_name(types: Types) -> &'static str {
    if types == Types::NULL {
        "Null"
    } else if types == Types::BOOLEAN {
        "Bool"
    } else if types == Types::INTEGER {
        "Integer"
    } else if !types.and(Types::NUMBER).is_empty() {
        "Number"
    } else if types == Types::STRING {
        "Text"
    } else if types == Types::ARRAY {
        "List"
    } else {
        "Object"
    }
}
