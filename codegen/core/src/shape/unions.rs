//! Decides which `oneOf` and `anyOf` unions become enums, and how a parser selects the variant.
//!
//! A union becomes an enum if the variant can be determined: by a tag, by the JSON type, as a string from a
//! list, or by the properties of an object. A union of objects that declare the same properties becomes one
//! struct, and checks validate which of the properties are required.

use std::collections::BTreeMap;

use contract_runtime::{Json, schema::TagCertainty};

use super::{
    KindVariant, ObjectForm, ObjectUnion, ObjectVariant, StructBody, TypeBody, TypeId, TypeRef,
    VariantSelector, VariantTag,
    build::{JSON_KINDS, ShapeBuilder, kind_name},
    tags::{self, UnionTag},
};
use crate::{
    conjunction::{SchemaConjunction, SchemaFacts},
    names,
    options::SchemaOptions,
    schema::{SchemaGraph, SchemaId, SchemaOrigin, TypeSet, keywords::Keyword},
};

/// The maximum number of variants that are distinguished by their properties. Parsing compares an object with
/// each of them.
const MAX_MEMBER_VARIANTS: usize = 100;

/// The maximum depth of nested unions whose branches become variants of one enum.
const MAX_INNER_UNIONS: u8 = 8;

/// The maximum number of branch names of an inner union that are joined to form the name of a variant.
const MAX_JOINED_NAMES: usize = 3;

#[derive(Clone)]
pub(super) struct UnionBranch {
    position: usize,
    pub(super) id: SchemaId,
    /// The inner unions that contain the branch, each with its chosen branch.
    inner: Vec<(SchemaId, SchemaId)>,
    conj: SchemaConjunction,
    pub(super) facts: SchemaFacts,
}

impl UnionBranch {
    /// Creates a branch of the union in `holder`: the given conjunction with the branch `id` chosen.
    pub(super) fn new(
        graph: &SchemaGraph,
        options: &SchemaOptions,
        place: &SchemaConjunction,
        holder: SchemaId,
        (position, id): (usize, SchemaId),
    ) -> Self {
        let conj = place.choose_branch(holder, id);
        let facts = SchemaFacts::from_conjunction(graph, &conj, options.implied_objects);
        Self { position, id, inner: Vec::new(), conj, facts }
    }

    pub(super) const fn conjunction(&self) -> &SchemaConjunction {
        &self.conj
    }
}

/// Returns true if all branches of the union in `holder` are objects and a tag that every branch requires
/// distinguishes them.
#[must_use]
pub fn is_tagged_union(graph: &SchemaGraph, options: &SchemaOptions, holder: SchemaId) -> bool {
    let schema = graph.schema(holder);
    let ids = if schema.one_of.is_empty() { &schema.any_of } else { &schema.one_of };
    let whole = SchemaConjunction::from_schema(holder);
    let types = SchemaFacts::from_conjunction(graph, &whole, options.implied_objects).types;
    let branches = possible_branches(graph, options, &whole, types, holder, ids);
    branches
        .iter()
        .all(|branch| TypeSet::OBJECT.contains(branch.facts.types) && !branch.facts.has_dynamic_reference)
        && tags::required_tag(graph, options, &branches).is_some()
}

/// Returns the branches of a union, restricted to `types`. Branches that accept no value are omitted.
///
/// With `implied-objects`, a branch may allow more types than the whole conjunction, because the branch may explicitly
/// allow `null`.
fn possible_branches(
    graph: &SchemaGraph,
    options: &SchemaOptions,
    place: &SchemaConjunction,
    types: TypeSet,
    holder: SchemaId,
    ids: &[SchemaId],
) -> Vec<UnionBranch> {
    let branch = |(position, &id): (usize, &SchemaId)| {
        let branch = UnionBranch::new(graph, options, place, holder, (position, id));
        if types.contains(branch.facts.types) {
            return branch;
        }
        let conj = branch.conj.within(types);
        let facts = SchemaFacts::from_conjunction(graph, &conj, options.implied_objects);
        UnionBranch { conj, facts, ..branch }
    };
    let all = ids.iter().enumerate().map(branch);
    all.filter(|branch| !branch.facts.types.is_empty()).collect()
}

/// A variant of a tagged union that may need a separate type for its content. This is decided after the
/// bodies of all types are built.
pub(super) struct PendingVariant {
    union: TypeId,
    at: usize,
    branch: UnionBranch,
    hint: String,
    tag: String,
}

impl ShapeBuilder<'_> {
    /// Returns the type of a conjunction that contains a union without a chosen branch, or `None` if the
    /// union does not become an enum.
    pub(super) fn union_type(
        &mut self,
        conj: &SchemaConjunction,
        facts: &SchemaFacts,
        hint: &str,
        slot: Option<TypeId>,
    ) -> Option<TypeRef> {
        if let Some(ty) = self.family_type(conj, facts, hint, slot) {
            return Some(ty);
        }
        let holders = facts.open_unions.clone();
        holders.into_iter().find_map(|holder| self.union_at(conj, facts.types, holder, hint, slot))
    }

    fn union_at(
        &mut self,
        conj: &SchemaConjunction,
        types: TypeSet,
        holder: SchemaId,
        hint: &str,
        slot: Option<TypeId>,
    ) -> Option<TypeRef> {
        let schema = self.graph.schema(holder);
        let (ids, any) = if schema.one_of.is_empty() {
            (&schema.any_of, true)
        } else if schema.any_of.is_empty() {
            (&schema.one_of, false)
        } else {
            return None;
        };
        let branches = possible_branches(self.graph, self.options, conj, types, holder, ids);
        if branches.iter().any(|b| b.facts.has_dynamic_reference) {
            return None;
        }
        if let [only] = branches.as_slice() {
            // A union with a single branch that has a tag becomes an enum, because the contract will probably
            // add further branches.
            let alone = schema.any_of.len() + schema.one_of.len() == 1;
            let tagged = (alone && only.facts.types == TypeSet::OBJECT)
                .then(|| tags::required_tag(self.graph, self.options, &branches))
                .flatten()
                .map(|tag| self.tagged_union(conj, holder, &branches, tag, hint, slot));
            return Some(match tagged {
                Some(ty) => ty,
                None => self.type_of_branch(only, hint, slot),
            });
        }
        let all = |types: TypeSet| branches.iter().all(|b| types.contains(b.facts.types));
        if all(TypeSet::OBJECT) {
            self.object_union(conj, holder, &branches, hint, slot)
        } else if all(TypeSet::STRING) {
            self.string_union(conj, &branches, any, hint, slot)
        } else {
            self.kind_union(conj, &branches, hint, slot)
        }
    }

    /// Builds the enum for a union of objects. Returns `None` if neither a tag nor the properties of an object
    /// select the variant. If possible, the branches of inner unions without a name are variants too.
    fn object_union(
        &mut self,
        conj: &SchemaConjunction,
        holder: SchemaId,
        branches: &[UnionBranch],
        hint: &str,
        slot: Option<TypeId>,
    ) -> Option<TypeRef> {
        // The values of a `discriminator` name the direct branches.
        let all = match self.graph.schema(holder).discriminator {
            None => self.leaf_branches(branches, MAX_INNER_UNIONS),
            Some(_) => branches.to_vec(),
        };
        let leaves = (all.len() > branches.len())
            .then(|| self.union_of_branches(conj, holder, &all, hint, slot))
            .flatten();
        leaves.or_else(|| self.union_of_branches(conj, holder, branches, hint, slot))
    }

    /// Replaces each branch that is only a union of objects by the branches of this union.
    fn leaf_branches(&self, branches: &[UnionBranch], depth: u8) -> Vec<UnionBranch> {
        let leaves = |branch: &UnionBranch| -> Option<Vec<UnionBranch>> {
            let schema = self.graph.schema(branch.id);
            let ids = match (schema.any_of.as_slice(), schema.one_of.as_slice()) {
                (ids, []) | ([], ids) => ids,
                _ => return None,
            };
            if depth == 0 || schema.discriminator.is_some() || !self.is_plain_union(branch.id) {
                return None;
            }
            let types = TypeSet::OBJECT;
            let found = possible_branches(self.graph, self.options, &branch.conj, types, branch.id, ids);
            if found.len() < 2 || found.iter().any(|leaf| leaf.facts.has_dynamic_reference) {
                return None;
            }
            let found = found.into_iter().map(|leaf| {
                let inner = branch.inner.iter().copied().chain([(branch.id, leaf.id)]).collect();
                UnionBranch { position: branch.position, inner, ..leaf }
            });
            Some(self.leaf_branches(&found.collect::<Vec<_>>(), depth - 1))
        };
        branches.iter().flat_map(|branch| leaves(branch).unwrap_or_else(|| vec![branch.clone()])).collect()
    }

    fn union_of_branches(
        &mut self,
        conj: &SchemaConjunction,
        holder: SchemaId,
        branches: &[UnionBranch],
        hint: &str,
        slot: Option<TypeId>,
    ) -> Option<TypeRef> {
        let tag = tags::strongest_tag(self.graph, self.options, holder, branches);
        let Some(tag) = tag else { return self.member_union(conj, holder, branches, None, hint, slot) };
        // Without a `discriminator`, an object that lacks an optional tag is a value of the branch that
        // accepts it.
        let has_discriminator = self.graph.schema(holder).discriminator.is_some();
        let by_form = (tag.certainty == TagCertainty::Present && !has_discriminator)
            .then(|| self.member_union(conj, holder, branches, Some(&tag), hint, slot))
            .flatten();
        Some(by_form.unwrap_or_else(|| self.tagged_union(conj, holder, branches, tag, hint, slot)))
    }

    fn type_of_branch(&mut self, branch: &UnionBranch, hint: &str, slot: Option<TypeId>) -> TypeRef {
        let hint = if slot.is_some() { format!("{hint}Value") } else { hint.to_owned() };
        self.type_of(&branch.conj, &hint)
    }

    /// Builds the enum for a union of objects that the tag distinguishes.
    pub(super) fn tagged_union(
        &mut self,
        conj: &SchemaConjunction,
        holder: SchemaId,
        branches: &[UnionBranch],
        tag: UnionTag<'_>,
        hint: &str,
        slot: Option<TypeId>,
    ) -> TypeRef {
        let UnionTag { name: tag, certainty, literals, otherwise } = tag;
        let id = self.type_slot(conj, hint, slot);
        let hint = self.shapes.get(id).name.clone();
        let wires: Vec<String> = literals
            .iter()
            .zip(branches)
            .map(|(values, branch)| self.variant_wire(tag, values, branch))
            .collect();
        let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
        let mut rust: Vec<String> = wires.iter().map(|w| names::variant_name(w)).collect();
        names::reserve_unknown(&mut rust);
        names::make_distinct(&wires, &mut rust);
        let mut variants = Vec::new();
        for (at, ((values, branch), name)) in literals.iter().zip(branches).zip(rust).enumerate() {
            let hint = format!("{hint}{name}");
            let ty = self.type_of(&branch.conj, &hint);
            // If the tag is not required, the branch may accept objects without it, so the field is kept.
            if certainty == TagCertainty::Required
                && let ([only], TypeRef::Named(found)) = (values.as_slice(), &ty)
            {
                let tag = tag.to_owned();
                self.queue_variant(
                    PendingVariant { union: id, at, branch: branch.clone(), hint, tag },
                    only,
                    *found,
                );
            }
            variants.push(ObjectVariant { name, ty, branch: branch.position, inner: branch.inner.clone() });
        }
        // If the tag is not required, the type must also be able to hold objects without it and objects whose
        // content contradicts it.
        let open = certainty != TagCertainty::Required || self.keeps_unknown(conj);
        let tag = VariantTag { name: tag.to_owned(), certainty, literals, default_variant: otherwise };
        let selector = VariantSelector::Tag(tag);
        let (conj, others) = (conj.clone(), Vec::new());
        let union = ObjectUnion { holder, selector, optional_tag: None, variants, open, conj, others };
        self.shapes.types[id].body = TypeBody::Objects(union);
        TypeRef::Named(id)
    }

    /// Builds the enum for a union of objects without a tag, or with a tag that objects may lack. The properties of an
    /// object select the variant. Returns `None` if the branches declare the same properties, if a branch declares no
    /// properties of its own, or if there are too many branches.
    fn member_union(
        &mut self,
        conj: &SchemaConjunction,
        holder: SchemaId,
        branches: &[UnionBranch],
        tag: Option<&UnionTag<'_>>,
        hint: &str,
        slot: Option<TypeId>,
    ) -> Option<TypeRef> {
        let properties = |facts: &SchemaFacts| -> BTreeMap<&str, SchemaConjunction> {
            let place =
                |always: Vec<SchemaId>| self.shapes.normalize(&SchemaConjunction::from_schemas(always));
            let declared = facts.declared_properties(self.graph).into_iter();
            declared.map(|(name, always, _)| (name, place(always))).collect()
        };
        let each: Vec<_> = branches.iter().map(|branch| properties(&branch.facts)).collect();
        let mut shared = properties(&self.facts_of(conj));
        shared.retain(|_, place| !place.ids.is_empty());
        // A branch that declares no further properties only restricts the properties that all branches have.
        let own = |all: &BTreeMap<&str, SchemaConjunction>| {
            all.iter().any(|(name, place)| shared.get(name) != Some(place))
        };
        let forms = branches.iter().map(|branch| ObjectForm::of_branch(self.graph, self.options, branch));
        let mut forms: Vec<ObjectForm> = forms.collect();
        for rule in forms.iter_mut().flat_map(|form| &mut form.members) {
            rule.is_tag = tag.is_some_and(|tag| tag.name == rule.name);
        }
        // A branch that accepts only the empty object is distinct, although it declares no properties.
        let mut distinct = each.iter().zip(&forms).map(|(all, form)| own(all) || form.is_empty_object());
        if branches.len() > MAX_MEMBER_VARIANTS
            || !distinct.all(|distinct| distinct)
            || each.windows(2).all(|two| two[0] == two[1])
        {
            return None;
        }
        let wires = match tag {
            Some(tag) => {
                let wire = |(values, branch): (&Vec<Json>, _)| self.variant_wire(tag.name, values, branch);
                tag.literals.iter().zip(branches).map(wire).collect()
            }
            None => self.member_variant_names(branches, &forms),
        };
        let id = self.type_slot(conj, hint, slot);
        let hint = self.shapes.get(id).name.clone();
        let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
        let mut rust: Vec<String> = wires.iter().map(|wire| names::variant_name(wire)).collect();
        names::reserve_unknown(&mut rust);
        names::make_distinct(&wires, &mut rust);
        let variants = branches.iter().zip(rust).map(|(branch, name)| {
            let hint = format!("{hint}{name}");
            let ty = match self.type_of(&branch.conj, &hint) {
                // Readers need the validator of every variant, which only a generated type has.
                TypeRef::Map(_) => {
                    let id = self.type_slot(&branch.conj, &hint, None);
                    let body = StructBody { fields: Vec::new(), additional: None };
                    self.shapes.types[id].body = TypeBody::Struct(body);
                    TypeRef::Named(id)
                }
                ty => ty,
            };
            ObjectVariant { name, ty, branch: branch.position, inner: branch.inner.clone() }
        });
        let variants = variants.collect();
        let open = self.keeps_unknown(conj);
        let selector = VariantSelector::Members(forms);
        let optional_tag = tag.map(|tag| VariantTag {
            name: tag.name.to_owned(),
            certainty: tag.certainty,
            literals: tag.literals.clone(),
            default_variant: None,
        });
        let (conj, others) = (conj.clone(), Vec::new());
        let union = ObjectUnion { holder, selector, optional_tag, variants, open, conj, others };
        self.shapes.types[id].body = TypeBody::Objects(union);
        Some(TypeRef::Named(id))
    }

    /// Returns the name of a schema, or of the schema that it references.
    fn schema_name(&self, id: SchemaId) -> Option<&str> {
        match &self.graph.schema(self.graph.schema(id).reference.unwrap_or(id)).origin {
            SchemaOrigin::Root(name) | SchemaOrigin::Definition(name) | SchemaOrigin::Component(name) => {
                Some(name)
            }
            SchemaOrigin::Inline => None,
        }
    }

    /// Returns the names of the variants of a union without a tag. A variant is named after the name or title
    /// of its schema, or after the branches of an inner union, or else after the first property that no other
    /// branch declares. Required properties are preferred.
    fn member_variant_names(&self, branches: &[UnionBranch], forms: &[ObjectForm]) -> Vec<String> {
        let named = branches.iter().zip(forms).enumerate().map(|(index, (branch, form))| {
            let schema = self.graph.schema(self.graph.schema(branch.id).reference.unwrap_or(branch.id));
            if let Some(name) = self.schema_name(branch.id) {
                return name.to_owned();
            }
            if let Some(title) = &schema.title {
                return title.clone();
            }
            let inner = if schema.one_of.is_empty() { &schema.any_of } else { &schema.one_of };
            let inner: Option<Vec<&str>> = inner.iter().map(|id| self.schema_name(*id)).collect();
            if let Some(inner) = inner.filter(|inner| (1..=MAX_JOINED_NAMES).contains(&inner.len())) {
                return inner.join("-or-");
            }
            if form.is_empty_object() {
                return "empty".to_owned();
            }
            let is_own = |name: &str| {
                let mut others = forms.iter().enumerate().filter(|(other, _)| *other != index);
                others.all(|(_, other)| other.members.iter().all(|rule| rule.name != name))
            };
            let mut own = form.members.iter().filter(|rule| is_own(&rule.name));
            let first = own.clone().find(|rule| rule.required).or_else(|| own.next());
            first.map_or_else(|| format!("variant-{}", branch.position + 1), |rule| rule.name.clone())
        });
        named.collect()
    }

    /// Returns the text from which the name of a variant is derived: its only tag value if that is a string,
    /// or else the name of its schema, or else a generated text.
    fn variant_wire(&self, tag: &str, values: &[Json], branch: &UnionBranch) -> String {
        if let [Json::String(text)] = values {
            return text.clone();
        }
        match (self.schema_name(branch.id), values) {
            (Some(name), _) => name.to_owned(),
            (None, [only]) => format!("{tag}-{only}"),
            (None, _) => format!("variant-{}", branch.position + 1),
        }
    }

    /// Schedules the removal of the tag field from a variant. `only` is the only tag value that selects the variant. If
    /// the type `found` of the variant allows no other tag value, the field is removed from `found`. Otherwise, for
    /// example if several variants share a base type, [`Self::resolve_variants`] builds a separate struct for the
    /// variant.
    fn queue_variant(&mut self, variant: PendingVariant, only: &Json, found: TypeId) {
        if self.is_constant(&self.shapes.get(found).conj.clone(), &variant.tag, only) {
            self.tag_fields.push((found, variant.tag));
        } else {
            self.pending_variants.push_back((variant, found));
        }
    }

    /// Builds a separate struct for each queued variant, because its tag field cannot be removed from the struct that
    /// it shares with other variants.
    pub(super) fn resolve_variants(&mut self) {
        while let Some((variant, found)) = self.pending_variants.pop_front() {
            if !matches!(self.shapes.get(found).body, TypeBody::Struct(_)) {
                continue;
            }
            let PendingVariant { union, at, branch, hint, tag } = variant;
            let own = self.object_type(&branch.conj, &branch.facts, &hint, None);
            if let TypeRef::Named(own) = own {
                self.tag_fields.push((own, tag));
            }
            if let TypeBody::Objects(body) = &mut self.shapes.types[union].body
                && let Some(variant) = body.variants.get_mut(at)
            {
                variant.ty = own;
            }
        }
    }

    /// Returns true if a property is required and has the given constant value in a conjunction.
    fn is_constant(&self, conj: &SchemaConjunction, name: &str, value: &Json) -> bool {
        let facts = self.facts_of(conj);
        let declared = facts.declared_properties(self.graph);
        let always =
            declared.into_iter().find(|(declared, ..)| *declared == name).map(|(_, always, _)| always);
        facts.required_names(self.graph).contains(name)
            && always.filter(|always| !always.is_empty()).is_some_and(|always| {
                let literals =
                    self.facts_of(&SchemaConjunction::from_schemas(always)).allowed_literals(self.graph);
                literals.is_some_and(|literals| literals == [value])
            })
    }

    /// Marks the tag fields of the recorded structs as omitted if the tag is required and has a single value.
    pub(super) fn omit_tag_fields(&mut self) {
        for (id, tag) in std::mem::take(&mut self.tag_fields) {
            if let TypeBody::Struct(body) = &mut self.shapes.types[id].body {
                let own = body.fields.iter_mut().filter(|field| field.wire == tag);
                own.filter(|field| field.required && field.constant.is_some())
                    .for_each(|field| field.omitted = true);
            }
        }
    }

    /// Builds the enum for a union of strings. Several lists of values become one enum. A list together with
    /// an unrestricted string becomes an open enum, which keeps unlisted values.
    fn string_union(
        &mut self,
        conj: &SchemaConjunction,
        branches: &[UnionBranch],
        any: bool,
        hint: &str,
        slot: Option<TypeId>,
    ) -> Option<TypeRef> {
        let mut values = Vec::new();
        let mut free = 0;
        for branch in branches {
            let Some(literals) = branch.facts.allowed_literals(self.graph) else {
                free += 1;
                continue;
            };
            let schema = self.graph.schema(branch.id);
            let doc = schema.description.clone().or_else(|| schema.title.clone());
            let doc = doc.filter(|_| literals.len() == 1);
            values.extend(literals.into_iter().filter_map(Json::as_str).map(|v| (v.to_owned(), doc.clone())));
        }
        // An enum prints its values, including unknown ones, so it cannot be used for secrets.
        if values.is_empty() || (free > 0 && !any) || self.is_secret(conj) {
            return None;
        }
        // If another schema of the conjunction allows fewer values, the enum contains only these.
        Some(self.string_enum_type(conj, values, free > 0, hint, slot))
    }

    /// Builds the enum for a union whose branches have different JSON types, with one variant for each JSON
    /// type.
    fn kind_union(
        &mut self,
        conj: &SchemaConjunction,
        branches: &[UnionBranch],
        hint: &str,
        slot: Option<TypeId>,
    ) -> Option<TypeRef> {
        let kinds = [TypeSet::NULL].into_iter().chain(JSON_KINDS);
        let mut groups = Vec::new();
        for kind in kinds {
            let holding: Vec<&UnionBranch> =
                branches.iter().filter(|b| !b.facts.types.intersection(kind).is_empty()).collect();
            if !holding.is_empty() {
                let items = self.item_types(kind, &holding);
                groups.push((kind, holding, items));
            }
        }
        let several_lists = groups.iter().any(|(.., items)| items.is_some());
        if (groups.len() < 2 && !several_lists) || groups.len() > 5 {
            return None;
        }
        let id = self.type_slot(conj, hint, slot);
        let hint = self.shapes.get(id).name.clone();
        let mut variants = Vec::new();
        let mut objects = None;
        for (kind, holding, items) in groups {
            if let Some(items) = items {
                for (branch, items) in holding.into_iter().zip(items) {
                    let (name, conj) = (list_name(items), branch.conj.within(kind));
                    let ty = self.type_of(&conj, &format!("{hint}{name}"));
                    variants.push(KindVariant { name, types: kind, items, conj, ty });
                }
                continue;
            }
            let types =
                holding.iter().fold(TypeSet::default(), |t, b| t.union(b.facts.types)).intersection(kind);
            let name = kind_name(types);
            let conj = match holding.as_slice() {
                [one] => one.conj.within(types),
                // If several branches have the same JSON type, they share a variant, whose type is that of
                // the whole conjunction for this JSON type.
                _ => conj.within(types),
            };
            if kind == TypeSet::OBJECT && (holding.len() > 1 || self.is_plain_union(holding[0].id)) {
                objects = self.inner_objects(&conj, &hint, id);
                if objects.is_some() {
                    continue;
                }
            }
            let ty = self.type_of(&conj, &format!("{hint}{name}"));
            // An object is named after its schema, as it is beside other objects.
            let own = match holding.as_slice() {
                [one] if TypeSet::OBJECT.contains(one.facts.types) => self.schema_name(one.id),
                _ => None,
            };
            let own = own.map(names::variant_name).filter(|own| {
                own != "Unknown" && !variants.iter().any(|other: &KindVariant| other.name == *own)
            });
            let name = own.unwrap_or_else(|| name.to_owned());
            variants.push(KindVariant { name, types, items: TypeSet::ALL, conj, ty });
        }
        self.shapes.types[id].body = match objects {
            Some(union) => TypeBody::Objects(ObjectUnion { others: variants, ..union }.with_distinct_names()),
            None => TypeBody::ByKind(variants),
        };
        Some(TypeRef::Named(id))
    }

    /// Builds the variants for the objects of the union that becomes the type `id`. Returns `None` if all objects
    /// have the same type.
    fn inner_objects(&mut self, conj: &SchemaConjunction, hint: &str, id: TypeId) -> Option<ObjectUnion> {
        let facts = self.facts_of(conj);
        let &[holder] = facts.open_unions.as_slice() else { return None };
        let schema = self.graph.schema(holder);
        let ids = match (schema.any_of.as_slice(), schema.one_of.as_slice()) {
            (ids, []) | ([], ids) => ids,
            _ => return None,
        };
        let branches = possible_branches(self.graph, self.options, conj, TypeSet::OBJECT, holder, ids);
        if branches.len() < 2 || branches.iter().any(|branch| branch.facts.has_dynamic_reference) {
            return None;
        }
        self.object_union(conj, holder, &branches, hint, Some(id))?;
        match std::mem::replace(&mut self.shapes.types[id].body, TypeBody::Pending) {
            TypeBody::Objects(union) => Some(union),
            _ => None,
        }
    }

    /// Returns true if a schema is only a list of alternatives: it has no name, and only its branches and its
    /// `type` can make a value invalid.
    fn is_plain_union(&self, id: SchemaId) -> bool {
        self.names.name_of(id).is_none()
            && self.graph.schema(id).is_constrained_only_by(&[Keyword::AnyOf, Keyword::OneOf, Keyword::Type])
    }

    /// Returns, for each of at least two array branches, the JSON types of its elements. Returns `None` if two branches
    /// share a type or if the types of a branch are unknown, because elements then do not distinguish the branches.
    fn item_types(&self, kind: TypeSet, branches: &[&UnionBranch]) -> Option<Vec<TypeSet>> {
        if kind != TypeSet::ARRAY || branches.len() < 2 {
            return None;
        }
        let items = |branch: &&UnionBranch| {
            let schemas = || branch.facts.unconditional_schemas(self.graph);
            if schemas().any(|schema| !schema.prefix_items.is_empty()) {
                return None;
            }
            let items = SchemaConjunction::from_schemas(schemas().filter_map(|schema| schema.items));
            let types = self.facts_of(&items).types;
            (!types.is_empty()).then_some(types)
        };
        let items: Vec<TypeSet> = branches.iter().map(items).collect::<Option<_>>()?;
        let is_unique =
            |kind: &TypeSet| items.iter().filter(|types| !types.intersection(*kind).is_empty()).count() < 2;
        let kinds = JSON_KINDS.iter().chain([&TypeSet::NULL]);
        kinds.into_iter().all(is_unique).then_some(items)
    }
}

/// Returns the name of a variant for arrays with elements of these types, such as `TextList` or
/// `BoolOrNumberList`.
fn list_name(items: TypeSet) -> String {
    let kinds = JSON_KINDS.into_iter().map(|kind| items.intersection(kind)).filter(|types| !types.is_empty());
    let names: Vec<&str> = kinds.map(kind_name).collect();
    if names.is_empty() { "NullList".to_owned() } else { format!("{}List", names.join("Or")) }
}
