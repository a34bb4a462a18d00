//! Builds all types of a contract. The entry point is [`build_shapes`]. Its steps are: allocate the named
//! types, build their bodies, build the types that operations use, build the variants that depend on other
//! bodies, and insert boxes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use contract_runtime::{Json, Number};

use super::{
    IntKind, KindVariant, Shapes, StringEnum, StructBody, StructField, TypeBody, TypeDef, TypeId, TypeRef,
    boxes,
    enum_annotations::{ValueAnnotation, integer_constants},
    machine_integers::machine_kind,
    unions::PendingVariant,
    unused_types,
};
use crate::{
    api::OpenApiDocument,
    conjunction::{SchemaConjunction, SchemaFacts},
    names,
    naming::{self, TypeNames},
    options::SchemaOptions,
    schema::{Schema, SchemaGraph, SchemaId, SchemaOrigin, TypeSet},
};

/// Returns the names of an object's fields, derived from `labels`, the names of the properties in the contract
/// or in `x-rust-name`. `extra` is reserved for the generator. Names that differ only in case get prefixes: `a`
/// and `A` become `lower_a` and `upper_a`.
fn field_names(wires: &[&str], labels: &[&str]) -> Vec<String> {
    let plain: Vec<String> = labels.iter().map(|label| names::variant_name(label)).collect();
    let mut words = plain.clone();
    names::make_distinct(wires, &mut words);
    let mut order: Vec<usize> = (0..wires.len()).collect();
    order.sort_by_key(|&i| wires[i]);
    let mut out = vec![String::new(); wires.len()];
    let mut taken = BTreeSet::new();
    for i in order {
        let base = match names::field_name(if words[i] == plain[i] { labels[i] } else { &words[i] }) {
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

/// Builds the types of every named schema and of every schema that the operations use.
#[must_use]
pub fn build_shapes(
    graph: &SchemaGraph,
    api: &OpenApiDocument,
    options: &SchemaOptions,
    names: TypeNames,
) -> Shapes {
    let shapes = Shapes {
        aliases: names.aliases.clone(),
        equals: names.equals.clone(),
        unconstrained: names.unconstrained.clone(),
        duplicate_names: names.duplicate_names(),
        ..Shapes::default()
    };
    let mut shaper = ShapeBuilder {
        graph,
        options,
        shapes,
        names,
        types_by_place: BTreeMap::new(),
        pending_bodies: VecDeque::new(),
        in_progress: BTreeSet::new(),
        pending_variants: VecDeque::new(),
        tag_fields: Vec::new(),
    };
    let mut named: Vec<SchemaId> = shaper.names.named().collect();
    named.sort_by_cached_key(|&id| graph.absolute_location(id));
    for id in named {
        shaper.shape_place(id, "");
    }
    shaper.fill_bodies();
    for (id, hint) in naming::type_places(api) {
        shaper.shape_place(id, &hint);
    }
    shaper.resolve_variants();
    shaper.omit_tag_fields();
    let mut shapes = shaper.shapes;
    shapes.places.extend(shaper.types_by_place);
    let places = naming::type_places(api).into_iter().map(|(id, _)| id).collect();
    shapes.unexchanged = naming::unexchanged_schemas(graph, api);
    unused_types::remove_unused_types(graph, &mut shapes, &places);
    unused_types::retain_unreachable(graph, &mut shapes);
    boxes::insert_boxes(&mut shapes);
    shapes
}

/// The maximum number of variants of an enum; a longer list becomes a checked string. The compiler compares
/// all pairs of `match` arms, including those in derived code: 10,000 arms require 2.7 GB of memory.
pub(crate) const MAX_ENUM_VARIANTS: usize = 1000;

/// The JSON types other than `null`. Integers are treated as numbers.
pub(super) const JSON_KINDS: [TypeSet; 5] =
    [TypeSet::BOOLEAN, TypeSet::NUMBER, TypeSet::STRING, TypeSet::ARRAY, TypeSet::OBJECT];

pub(super) struct ShapeBuilder<'a> {
    pub(super) graph: &'a SchemaGraph,
    pub(super) options: &'a SchemaOptions,
    pub(super) shapes: Shapes,
    pub(super) names: TypeNames,
    types_by_place: BTreeMap<SchemaConjunction, TypeRef>,
    /// The named types that have no body yet. Bodies are built later, so that the result does not depend on
    /// the order of references.
    pending_bodies: VecDeque<TypeId>,
    /// The anonymous conjunctions whose types are being built, to detect recursion.
    in_progress: BTreeSet<SchemaConjunction>,
    /// The variants whose content type is selected after the bodies of all other types are built. The second element is
    /// the type of the branch, which is used if the variant needs no separate type.
    pub(super) pending_variants: VecDeque<(PendingVariant, TypeId)>,
    /// The structs that are variants of a tagged union, each with the name of the tag. They need no field for
    /// the tag, because the variant determines its value.
    pub(super) tag_fields: Vec<(TypeId, String)>,
}

impl ShapeBuilder<'_> {
    fn shape_place(&mut self, id: SchemaId, hint: &str) {
        let ty = self.type_of(&SchemaConjunction::from_schema(id), hint);
        self.shapes.places.insert(SchemaConjunction::from_schema(id), ty);
    }

    /// Builds the bodies of the named types in `pending_bodies`.
    fn fill_bodies(&mut self) {
        while let Some(id) = self.pending_bodies.pop_front() {
            let TypeDef { name, conj, .. } = self.shapes.get(id);
            let (name, conj) = (name.clone(), conj.clone());
            match self.shape_anonymous(&conj, &name, Some(id)) {
                TypeRef::Named(same) if same == id => {}
                inner => self.shapes.types[id].body = TypeBody::Newtype(inner),
            }
        }
    }

    pub(super) fn facts_of(&self, conj: &SchemaConjunction) -> SchemaFacts {
        SchemaFacts::from_conjunction(self.graph, conj, self.options.implied_objects)
    }

    /// Returns the type of a conjunction, and builds it if necessary. If the type needs a name and its schema
    /// has none, the name is derived from `hint`.
    pub(super) fn type_of(&mut self, place_of: &SchemaConjunction, hint: &str) -> TypeRef {
        let conj = self.shapes.normalize(place_of);
        if let Some(path) = conj.ids.iter().find_map(|id| Some((self.options.replace.get(id)?, *id))) {
            return TypeRef::Replaced(path.0.clone(), path.1);
        }
        if let Some(known) = self.types_by_place.get(&conj) {
            return known.clone();
        }
        let ty = match conj.ids.as_slice() {
            [] => TypeRef::Json,
            [id] if self.names.name_of(*id).is_some()
                && conj.chosen.is_empty()
                && conj.within == TypeSet::ALL =>
            {
                return self.allocate_named(*id, &conj);
            }
            // If an anonymous conjunction contains itself, the inner occurrence has the type `Json`, because
            // there is no named type to which it could refer.
            _ if self.in_progress.contains(&conj) => return TypeRef::Json,
            _ => {
                self.in_progress.insert(conj.clone());
                let place = match conj.ids.as_slice() {
                    [id] if conj.chosen.is_empty() && conj.within == TypeSet::ALL => self.names.hint(*id),
                    _ => None,
                };
                let hint = place.unwrap_or(hint).to_owned();
                // A single schema is replaced by the first of the schemas that are equal to it, after which
                // the shared type is named. A conjunction of several schemas keeps its own schemas.
                let own = if conj.ids.len() > 1 { self.shapes.normalize_own(place_of) } else { conj.clone() };
                let ty = match self.reuse_named(&own) {
                    Some(ty) => ty,
                    None => self.anonymous_type(&own, &hint),
                };
                self.in_progress.remove(&conj);
                ty
            }
        };
        self.types_by_place.insert(conj, ty.clone());
        ty
    }

    fn allocate_named(&mut self, id: SchemaId, conj: &SchemaConjunction) -> TypeRef {
        let name = self.names.name_of(id).unwrap_or_default().to_owned();
        // If the configuration names an inline schema, its type is as nullable as without the name: the name is
        // that of the type without `null`.
        let facts = self.facts_of(conj);
        let rest = facts.types.difference(TypeSet::NULL);
        let is_any = facts.types == TypeSet::ALL && facts.open_unions.is_empty();
        let is_inline = self.graph.schema(id).origin == SchemaOrigin::Inline;
        let splits_null = is_inline && rest != facts.types && !rest.is_empty() && !is_any;
        let own = if splits_null { conj.within(rest) } else { conj.clone() };
        let type_id = self.allocate_type(name, Some(id), &own);
        self.types_by_place.insert(own, TypeRef::Named(type_id));
        self.pending_bodies.push_back(type_id);
        if !splits_null {
            return TypeRef::Named(type_id);
        }
        let ty = TypeRef::Nullable(Box::new(TypeRef::Named(type_id)));
        self.types_by_place.insert(conj.clone(), ty.clone());
        ty
    }

    pub(super) fn allocate_type(
        &mut self,
        name: String,
        schema: Option<SchemaId>,
        conj: &SchemaConjunction,
    ) -> TypeId {
        let area = conj
            .ids
            .iter()
            .rev()
            .find_map(|id| self.options.areas.get(id))
            .cloned()
            .unwrap_or_else(|| "models".to_owned());
        self.shapes.types.push(TypeDef { name, schema, conj: conj.clone(), body: TypeBody::Pending, area })
    }

    /// Returns the type of a named schema in the conjunction if the other schemas only restrict the values of this
    /// type. In this case, no new type is needed.
    fn reuse_named(&mut self, conj: &SchemaConjunction) -> Option<TypeRef> {
        let facts = self.facts_of(conj);
        let candidates: Vec<SchemaId> =
            facts.unconditional.iter().copied().filter(|id| self.names.name_of(*id).is_some()).collect();
        for candidate in candidates.into_iter().rev() {
            let base = SchemaConjunction::from_schema(candidate);
            let known = self.facts_of(&base);
            // A nullable type is not reused, because the conjunction may exclude `null`.
            if known.types.contains(TypeSet::NULL) {
                continue;
            }
            // The type of the base is not reused if it allows JSON types that the conjunction excludes,
            // because values would then need only one of its variants.
            let is_excluded = |kind: &TypeSet| {
                !known.types.intersection(*kind).is_empty() && facts.types.intersection(*kind).is_empty()
            };
            if JSON_KINDS.iter().any(is_excluded) {
                continue;
            }
            // The type of the base is not reused if the conjunction selects one of its branches or JSON
            // types, because it also covers the others.
            if conj.chosen.contains(&candidate)
                || known.open_unions.iter().any(|holder| conj.chosen.contains(holder))
                || !conj.within.contains(known.types)
            {
                continue;
            }
            let added: Vec<SchemaId> =
                facts.unconditional.iter().copied().filter(|id| !known.unconditional.contains(id)).collect();
            if added.iter().all(|&id| self.only_refines(id, &base, conj, 8)) {
                let ty = self.type_of(&base, "");
                return Some(if facts.types.contains(TypeSet::NULL) {
                    TypeRef::Nullable(Box::new(ty))
                } else {
                    ty
                });
            }
        }
        None
    }

    /// Returns true if a schema only restricts the values that the type of `base` can hold.
    fn only_refines(
        &self,
        id: SchemaId,
        base: &SchemaConjunction,
        place: &SchemaConjunction,
        depth: u8,
    ) -> bool {
        if depth == 0 {
            return false;
        }
        let schema = self.graph.schema(id);
        let base_facts = self.facts_of(base);
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
        let declared = base_facts.declared_properties(self.graph);
        for (name, property) in &schema.properties {
            let Some((_, always, sometimes)) = declared.iter().find(|(n, ..)| n == name) else {
                return false;
            };
            let under = SchemaConjunction::from_schemas(always.iter().chain(sometimes).copied());
            if !self.refines_place(*property, &under, depth - 1) {
                return false;
            }
        }
        if let Some(items) = schema.items {
            let under: Vec<_> =
                base_facts.unconditional.iter().filter_map(|&m| self.graph.schema(m).items).collect();
            if under.is_empty()
                || !self.refines_place(items, &SchemaConjunction::from_schemas(under), depth - 1)
            {
                return false;
            }
        }
        if !schema.prefix_items.is_empty()
            || schema.additional_properties.is_some_and(|a| {
                !self.graph.schema(a).is_unconstrained() && self.graph.schema(a).boolean != Some(false)
            })
        {
            return false;
        }
        // An `enum` that restricts a plain string becomes a separate enum type.
        if schema.enumeration.as_ref().is_some_and(|e| e.len() > 1)
            && base_facts.allowed_literals(self.graph).is_none()
        {
            return false;
        }
        let parts = schema.reference.iter().chain(&schema.all_of);
        parts.chain(&schema.then).chain(&schema.otherwise).all(|&part| {
            base_facts.unconditional.contains(&part) || self.only_refines(part, base, place, depth - 1)
        })
    }

    /// Returns true if the schema of a property or of elements only restricts the values that the type of
    /// `under` can hold.
    fn refines_place(&self, id: SchemaId, under: &SchemaConjunction, depth: u8) -> bool {
        let mut members = self.facts_of(&SchemaConjunction::from_schema(id)).unconditional;
        let known = self.facts_of(under).unconditional;
        members.retain(|m| !known.contains(m));
        if known.iter().all(|&k| self.graph.schema(k).is_unconstrained()) {
            return members.is_empty();
        }
        members.iter().all(|&m| self.only_refines(m, under, under, depth))
    }

    pub(super) fn anonymous_type(&mut self, conj: &SchemaConjunction, hint: &str) -> TypeRef {
        self.shape_anonymous(conj, hint, None)
    }

    /// Selects and builds the type of a conjunction. A struct or enum becomes the body of the type `slot` or,
    /// if `slot` is `None`, of a new type.
    fn shape_anonymous(&mut self, conj: &SchemaConjunction, hint: &str, slot: Option<TypeId>) -> TypeRef {
        if conj.ids.iter().any(|id| self.options.unconstructible.contains(id)) {
            return TypeRef::Json;
        }
        let facts = self.facts_of(conj);
        if facts.has_dynamic_reference || facts.types.is_empty() || facts.types == TypeSet::NULL {
            return TypeRef::Json;
        }
        if facts.types.contains(TypeSet::NULL) {
            let rest = facts.types.difference(TypeSet::NULL);
            if facts.types == TypeSet::ALL && facts.open_unions.is_empty() {
                return TypeRef::Json;
            }
            let inner = self.type_of_or_slot(&conj.within(rest), hint, slot);
            return match inner {
                TypeRef::Json => TypeRef::Json,
                inner => TypeRef::Nullable(Box::new(inner)),
            };
        }
        if let Some(ty) = self.union_type(conj, &facts, hint, slot) {
            return ty;
        }
        let possible: Vec<TypeSet> =
            JSON_KINDS.into_iter().filter(|k| !facts.types.intersection(*k).is_empty()).collect();
        match possible.as_slice() {
            [one] => self.single_kind(*one, conj, &facts, hint, slot),
            [] | [_, _, _, _, _] => TypeRef::Json,
            several => self.shape_kinds(several, conj, &facts, hint, slot),
        }
    }

    fn type_of_or_slot(&mut self, conj: &SchemaConjunction, hint: &str, slot: Option<TypeId>) -> TypeRef {
        // A nullable named schema is a newtype around `Nullable`, whose content is anonymous.
        let hint = if slot.is_some() { format!("{hint}Value") } else { hint.to_owned() };
        self.type_of(conj, &hint)
    }

    fn shape_kinds(
        &mut self,
        kinds: &[TypeSet],
        conj: &SchemaConjunction,
        facts: &SchemaFacts,
        hint: &str,
        slot: Option<TypeId>,
    ) -> TypeRef {
        let id = self.type_slot(conj, hint, slot);
        let hint = self.shapes.get(id).name.clone();
        let mut variants = Vec::new();
        for &kind in kinds {
            let types = facts.types.intersection(kind);
            let name = kind_name(types);
            let conj = conj.within(types);
            let ty = self.type_of(&conj, &format!("{hint}{name}"));
            variants.push(KindVariant { name: name.to_owned(), types, items: TypeSet::ALL, conj, ty });
        }
        self.shapes.types[id].body = TypeBody::ByKind(variants);
        TypeRef::Named(id)
    }

    /// Returns the type that receives the body of a conjunction: `slot`, or a new anonymous type if `slot` is `None`.
    /// The names of nested types start with the name of this type.
    pub(super) fn type_slot(&mut self, conj: &SchemaConjunction, hint: &str, slot: Option<TypeId>) -> TypeId {
        if let Some(id) = slot {
            return id;
        }
        let place = self.shapes.normalize(conj);
        let name = self.names.take(&place.ids, hint);
        let id = self.allocate_type(name, None, conj);
        self.types_by_place.insert(place, TypeRef::Named(id));
        id
    }

    fn single_kind(
        &mut self,
        kind: TypeSet,
        conj: &SchemaConjunction,
        facts: &SchemaFacts,
        hint: &str,
        slot: Option<TypeId>,
    ) -> TypeRef {
        if kind == TypeSet::BOOLEAN {
            TypeRef::Bool
        } else if kind == TypeSet::NUMBER {
            self.integer_enum_type(conj, facts, hint, slot)
        } else if kind == TypeSet::STRING {
            self.string_type(conj, facts, hint, slot)
        } else if kind == TypeSet::ARRAY {
            self.array_type(facts, hint)
        } else {
            self.object_type(conj, facts, hint, slot)
        }
    }

    /// Returns the type of a number. A list of integers without a name becomes a newtype with constants, as a
    /// list of strings becomes an enum. For a named schema, the caller creates the newtype.
    fn integer_enum_type(
        &mut self,
        conj: &SchemaConjunction,
        facts: &SchemaFacts,
        hint: &str,
        slot: Option<TypeId>,
    ) -> TypeRef {
        let number = self.number_type(facts);
        let is_list = || integer_constants(self.graph, facts).len() > 1;
        if slot.is_some() || !matches!(number, TypeRef::Int(_)) || !is_list() {
            return number;
        }
        let id = self.type_slot(conj, hint, None);
        self.shapes.types[id].body = TypeBody::Newtype(number);
        TypeRef::Named(id)
    }

    fn number_type(&self, facts: &SchemaFacts) -> TypeRef {
        if !facts.types.intersection(TypeSet::NUMBER.difference(TypeSet::INTEGER)).is_empty() {
            return TypeRef::Number;
        }
        let literals = facts.allowed_literals(self.graph).unwrap_or_default();
        let mut literals = literals.into_iter().filter_map(Json::as_number);
        if literals.any(|n| n.is_integer() && n.as_i64().is_none()) {
            return TypeRef::Number;
        }
        let schemas: Vec<&Schema> = facts.unconditional.iter().map(|&m| self.graph.schema(m)).collect();
        let format = |name: &str| schemas.iter().any(|s| s.format.as_deref() == Some(name));
        let below = schemas.iter().flat_map(|s| s.minimum.iter().chain(&s.exclusive_minimum));
        let above = schemas.iter().flat_map(|s| s.maximum.iter().chain(&s.exclusive_maximum));
        let bounded = |fits: fn(&Number) -> bool| below.clone().any(fits) && above.clone().any(fits);
        // Returns true if the bounds allow at least one integer from `least` to `greatest`.
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
            (reached(i64::MIN.into(), i64::MAX.into()), reached(Number::from_i64(0), u64::MAX.into()));
        if let Some(kind) = machine_kind(self.graph, self.options, facts) {
            return TypeRef::Int(kind);
        }
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

    fn string_type(
        &mut self,
        conj: &SchemaConjunction,
        facts: &SchemaFacts,
        hint: &str,
        slot: Option<TypeId>,
    ) -> TypeRef {
        // Enums and types to which formats are mapped would print the secret.
        if self.is_secret(conj) {
            return TypeRef::Secret;
        }
        let Some(values) = facts.allowed_literals(self.graph) else {
            if let Some(values) =
                self.extensible_values(conj).filter(|values| values.len() <= MAX_ENUM_VARIANTS)
            {
                let values = values.into_iter().map(|value| (value, None)).collect();
                return self.string_enum_type(conj, values, true, hint, slot);
            }
            return self.format_type(facts).unwrap_or(TypeRef::String);
        };
        let values: Vec<&str> = values.into_iter().filter_map(Json::as_str).collect();
        if values.is_empty() || values.len() > MAX_ENUM_VARIANTS {
            return TypeRef::String;
        }
        let values = values.into_iter().map(|v| (v.to_owned(), None)).collect();
        self.string_enum_type(conj, values, false, hint, slot)
    }

    pub(super) fn string_enum_type(
        &mut self,
        conj: &SchemaConjunction,
        values: Vec<(String, Option<String>)>,
        open: bool,
        hint: &str,
        slot: Option<TypeId>,
    ) -> TypeRef {
        let open = self.keeps_unknown(conj) || open;
        let id = self.type_slot(conj, hint, slot);
        let mut seen = BTreeSet::new();
        let values: Vec<_> = values.into_iter().filter(|(v, _)| seen.insert(v.clone())).collect();
        let wires: Vec<&str> = values.iter().map(|(v, _)| v.as_str()).collect();
        let annotations: Vec<_> = wires.iter().map(|wire| self.value_annotation(conj, wire)).collect();
        let name = |(wire, annotation): (&&str, &ValueAnnotation)| {
            names::variant_name(annotation.name.as_deref().unwrap_or(wire))
        };
        let mut rust: Vec<String> = wires.iter().zip(&annotations).map(name).collect();
        names::reserve_unknown(&mut rust);
        names::make_distinct(&wires, &mut rust);
        let documented = values.iter().zip(rust).zip(annotations);
        let values = documented
            .map(|(((w, d), r), annotation)| (w.clone(), r, d.clone().or(annotation.description)))
            .collect();
        self.shapes.types[id].body = TypeBody::Enum(StringEnum { values, open });
        TypeRef::Named(id)
    }

    /// Returns true if the type of a conjunction keeps enum values and variants that the contract does not
    /// list. By default, it keeps them if the value may occur in a response. The options `open` and `closed`
    /// override this.
    pub(super) fn keeps_unknown(&mut self, conj: &SchemaConjunction) -> bool {
        let by_default = !conj.ids.iter().any(|id| self.options.requests.contains(id));
        let members = self.facts_of(conj).unconditional;
        let list = if by_default { &self.options.closed } else { &self.options.open };
        let decided: Vec<SchemaId> = members.into_iter().filter(|id| list.contains(id)).collect();
        let other = !decided.is_empty();
        self.shapes.used_overrides.extend(decided);
        by_default != other
    }

    /// Returns the type to which the configuration maps the `format` of a string, if it does.
    fn format_type(&self, facts: &SchemaFacts) -> Option<TypeRef> {
        let formats = &self.options.formats;
        let mapped = |id: &SchemaId| Some((formats.for_schema(self.graph.schema(*id))?, *id));
        let (mapped, id) = facts.unconditional.iter().find_map(mapped)?;
        Some(TypeRef::Replaced(mapped.type_path(), id))
    }

    fn array_type(&mut self, facts: &SchemaFacts, hint: &str) -> TypeRef {
        let graph = self.graph;
        let schemas: Vec<&Schema> = facts.unconditional.iter().map(|&m| graph.schema(m)).collect();
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
                .map(|(i, &p)| self.type_of(&SchemaConjunction::from_schema(p), &format!("{hint}Item{i}")))
                .collect();
            return if closed && full && !others && (1..=8).contains(&length) {
                TypeRef::Tuple(elements)
            } else {
                TypeRef::Vec(Box::new(TypeRef::Json))
            };
        }
        let items = SchemaConjunction::from_schemas(schemas.iter().filter_map(|s| s.items));
        TypeRef::Vec(Box::new(self.type_of(&items, &element)))
    }

    pub(super) fn object_type(
        &mut self,
        conj: &SchemaConjunction,
        facts: &SchemaFacts,
        hint: &str,
        slot: Option<TypeId>,
    ) -> TypeRef {
        let graph = self.graph;
        let declared = facts.declared_properties(graph);
        if declared.is_empty() {
            let values = self.additional_type(facts, hint).unwrap_or(TypeRef::Json);
            return TypeRef::Map(Box::new(values));
        }
        let id = self.type_slot(conj, hint, slot);
        let hint = &self.shapes.get(id).name.clone();
        let additional = self.additional_type(facts, hint);
        let required = facts.required_names(graph);
        let wires: Vec<&str> = declared.iter().map(|(n, ..)| *n).collect();
        let label = |(wire, always, sometimes): &(&'_ str, Vec<SchemaId>, Vec<SchemaId>)| {
            let mut schemas = always.iter().chain(sometimes).map(|id| self.graph.schema(*id));
            schemas.find_map(Schema::rust_name).map_or_else(|| (*wire).to_owned(), str::to_owned)
        };
        let labels: Vec<String> = declared.iter().map(label).collect();
        let rust = field_names(&wires, &labels.iter().map(String::as_str).collect::<Vec<_>>());
        let mut fields = Vec::new();
        for ((wire, always, sometimes), name) in declared.into_iter().zip(rust) {
            let inner = format!("{hint}{}", names::variant_name(wire));
            let place = SchemaConjunction::from_schemas(always.iter().copied());
            let ty = if always.is_empty() && self.declared_by_every_branch(facts, wire) {
                let options: BTreeSet<TypeRef> = sometimes
                    .iter()
                    .map(|&s| self.type_of(&SchemaConjunction::from_schema(s), &inner))
                    .collect();
                match options.iter().next() {
                    Some(only) if options.len() == 1 => only.clone(),
                    _ => TypeRef::Json,
                }
            } else if always.is_empty() {
                // The property is declared only in a condition. If the condition does not hold, the property
                // may have any value.
                TypeRef::Json
            } else {
                self.type_of(&place, &inner)
            };
            let literals = self.facts_of(&place).allowed_literals(graph);
            let constant = match literals.as_deref() {
                Some([only]) if !always.is_empty() => Some((*only).clone()),
                _ => None,
            };
            let applies = SchemaConjunction::from_schemas(always.iter().chain(&sometimes).copied());
            let ty = if self.is_secret(&applies) { into_secret(ty) } else { ty };
            fields.push(StructField {
                wire: wire.to_owned(),
                name,
                ty,
                required: required.contains(wire),
                conj: place,
                described_by: always.last().or(sometimes.first()).copied(),
                constant,
                omitted: false,
            });
        }
        self.shapes.types[id].body = TypeBody::Struct(StructBody { fields, additional });
        TypeRef::Named(id)
    }

    /// Returns true if all branches of at least one union declare the property. One of the declarations then always
    /// applies.
    fn declared_by_every_branch(&self, facts: &SchemaFacts, wire: &str) -> bool {
        facts.open_unions.iter().any(|&holder| {
            let schema = self.graph.schema(holder);
            [&schema.one_of, &schema.any_of].into_iter().any(|branches| {
                !branches.is_empty()
                    && branches.iter().all(|&branch| {
                        let members = self.facts_of(&SchemaConjunction::from_schema(branch)).unconditional;
                        members
                            .iter()
                            .any(|&m| self.graph.schema(m).properties.iter().any(|(n, _)| n == wire))
                    })
            })
        })
    }

    /// Returns true if the configuration marks a schema that applies to the value as secret, unconditionally,
    /// conditionally or in a branch.
    pub(super) fn is_secret(&self, place: &SchemaConjunction) -> bool {
        let secrets = &self.options.secrets;
        if secrets.is_empty() {
            return false;
        }
        let facts = self.facts_of(place);
        facts.unconditional.iter().chain(&facts.conditional).any(|id| secrets.contains(id))
    }

    /// Returns the type of undeclared properties, or `None` if they are kept as `Json`.
    fn additional_type(&mut self, facts: &SchemaFacts, hint: &str) -> Option<TypeRef> {
        let graph = self.graph;
        let schemas: Vec<&Schema> = facts.unconditional.iter().map(|&m| graph.schema(m)).collect();
        let patterns: Vec<SchemaId> =
            schemas.iter().flat_map(|s| s.pattern_properties.iter().map(|(_, id)| *id)).collect();
        let given: Vec<SchemaId> = schemas.iter().filter_map(|s| s.additional_properties).collect();
        let name = format!("{hint}Value");
        match (patterns.as_slice(), given.as_slice()) {
            ([], []) => None,
            // Undeclared properties have a type only if a single schema applies to all of them.
            ([], [one]) => match graph.schema(*one).boolean {
                Some(_) => None,
                None => Some(self.type_of(&SchemaConjunction::from_schema(*one), &name)),
            },
            ([one], [closed]) if graph.schema(*closed).boolean == Some(false) => {
                Some(self.type_of(&SchemaConjunction::from_schema(*one), &name))
            }
            _ => None,
        }
        .filter(|ty| *ty != TypeRef::Json)
        .filter(|_| {
            // In a conjunction, `additionalProperties` of one schema also applies to properties that another
            // schema declares. The type is used only if a single schema constrains undeclared properties.
            let holders = schemas
                .iter()
                .filter(|s| s.additional_properties.is_some() || !s.pattern_properties.is_empty());
            holders.count() == 1
        })
    }
}

fn into_secret(ty: TypeRef) -> TypeRef {
    match ty {
        TypeRef::String => TypeRef::Secret,
        TypeRef::Nullable(inner) => TypeRef::Nullable(Box::new(into_secret(*inner))),
        other => other,
    }
}

/// Returns the name of the variant for a JSON type.
pub(super) fn kind_name(types: TypeSet) -> &'static str {
    if types == TypeSet::NULL {
        "Null"
    } else if types == TypeSet::BOOLEAN {
        "Bool"
    } else if types == TypeSet::INTEGER {
        "Integer"
    } else if !types.intersection(TypeSet::NUMBER).is_empty() {
        "Number"
    } else if types == TypeSet::STRING {
        "Text"
    } else if types == TypeSet::ARRAY {
        "List"
    } else {
        "Object"
    }
}
