//! `oneOf` and `anyOf`: which of them become enums, and how a reader tells the branches apart.
//!
//! A union becomes an enum only where the wire form itself says which variant a value is: by a
//! tag, by its JSON type, or by being a string out of a list. Everything else stays one struct
//! with the members of all branches, and checks decide.

use contract_runtime::{Json, schema::Certainty};

use super::{
    Body, KindVariant, Tagged, TaggedVariant, TypeId, TypeRef,
    build::{Shaper, kind_name},
    tags::{self, Tag},
};
use crate::{
    names,
    options::Options,
    schema::{Graph, Origin, SchemaId, Types},
    together::{Conj, Facts},
};

#[derive(Clone)]
pub(super) struct Branch {
    position: usize,
    pub(super) id: SchemaId,
    conj: Conj,
    pub(super) facts: Facts,
}

impl Branch {
    /// A schema that is taken at a place, for `holder`, which stands there.
    pub(super) fn of(
        graph: &Graph,
        options: &Options,
        place: &Conj,
        holder: SchemaId,
        (position, id): (usize, SchemaId),
    ) -> Self {
        let conj = place.choose(holder, id);
        let facts = Facts::of(graph, &conj, options.implied_objects);
        Self { position, id, conj, facts }
    }

    pub(super) const fn place(&self) -> &Conj {
        &self.conj
    }
}

/// Whether the wire form alone tells the branches of a union apart, whatever else they say.
#[must_use]
pub fn is_tagged(graph: &Graph, options: &Options, holder: SchemaId) -> bool {
    let schema = graph.schema(holder);
    let ids = if schema.one_of.is_empty() { &schema.any_of } else { &schema.one_of };
    let whole = Conj::one(holder);
    let types = Facts::of(graph, &whole, options.implied_objects).types;
    let branches = branches(graph, options, &whole, types, holder, ids);
    branches.iter().all(|branch| Types::OBJECT.contains(branch.facts.types) && !branch.facts.dynamic)
        && tags::required(graph, options, &branches).is_some()
}

/// The branches of a place that is of these JSON types, without those that nothing is valid under.
///
/// A branch is of no type that the whole is not of. By itself it may be: where the options take
/// `properties` for an object, a branch that says `null` in so many words still says it.
fn branches(
    graph: &Graph,
    options: &Options,
    place: &Conj,
    types: Types,
    holder: SchemaId,
    ids: &[SchemaId],
) -> Vec<Branch> {
    let branch = |(position, &id): (usize, &SchemaId)| {
        let branch = Branch::of(graph, options, place, holder, (position, id));
        if types.contains(branch.facts.types) {
            return branch;
        }
        let conj = branch.conj.within(types);
        let facts = Facts::of(graph, &conj, options.implied_objects);
        Branch { conj, facts, ..branch }
    };
    let all = ids.iter().enumerate().map(branch);
    all.filter(|branch| !branch.facts.types.is_empty()).collect()
}

/// A variant of a union with a tag, of which another type's body decides what it holds.
pub(super) struct Variant {
    union: TypeId,
    at: usize,
    branch: Branch,
    hint: String,
    tag: String,
}

impl Shaper<'_> {
    /// The type of a place with an open choice, when the choice decides the type.
    pub(super) fn union(
        &mut self,
        conj: &Conj,
        facts: &Facts,
        hint: &str,
        slot: Option<TypeId>,
    ) -> Option<TypeRef> {
        if let Some(ty) = self.family(conj, facts, hint, slot) {
            return Some(ty);
        }
        let holders = facts.holders.clone();
        holders.into_iter().find_map(|holder| self.union_at(conj, facts.types, holder, hint, slot))
    }

    fn union_at(
        &mut self,
        conj: &Conj,
        types: Types,
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
        let branches = branches(self.graph, self.options, conj, types, holder, ids);
        if branches.iter().any(|b| b.facts.dynamic) {
            return None;
        }
        if let [only] = branches.as_slice() {
            // A union of one is a union to which others will be added, when it has a tag.
            let alone = schema.any_of.len() + schema.one_of.len() == 1;
            let tagged = (alone && only.facts.types == Types::OBJECT)
                .then(|| tags::required(self.graph, self.options, &branches))
                .flatten()
                .map(|tag| self.tagged(conj, holder, &branches, tag, hint, slot));
            return Some(match tagged {
                Some(ty) => ty,
                None => self.type_of_branch(only, hint, slot),
            });
        }
        let all = |types: Types| branches.iter().all(|b| types.contains(b.facts.types));
        if all(Types::OBJECT) {
            let tag = tags::surest(self.graph, self.options, holder, &branches)?;
            Some(self.tagged(conj, holder, &branches, tag, hint, slot))
        } else if all(Types::STRING) {
            self.strings(conj, &branches, any, hint, slot)
        } else {
            self.by_kind(conj, &branches, hint, slot)
        }
    }

    fn type_of_branch(&mut self, branch: &Branch, hint: &str, slot: Option<TypeId>) -> TypeRef {
        let hint = if slot.is_some() { format!("{hint}Value") } else { hint.to_owned() };
        self.type_of(&branch.conj, &hint)
    }

    /// Objects that a member tells apart.
    pub(super) fn tagged(
        &mut self,
        conj: &Conj,
        holder: SchemaId,
        branches: &[Branch],
        tag: Tag<'_>,
        hint: &str,
        slot: Option<TypeId>,
    ) -> TypeRef {
        let Tag { name: tag, certainty, literals, otherwise } = tag;
        let id = self.slot(conj, hint, slot);
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
        for (at, ((values, branch), name)) in literals.into_iter().zip(branches).zip(rust).enumerate() {
            let hint = format!("{hint}{name}");
            let ty = self.type_of(&branch.conj, &hint);
            // Elsewhere the tag is a member like others: by itself, the branch may be without it.
            if certainty == Certainty::Required
                && let ([only], TypeRef::Named(found)) = (values.as_slice(), &ty)
            {
                let tag = tag.to_owned();
                self.variant(Variant { union: id, at, branch: branch.clone(), hint, tag }, only, *found);
            }
            variants.push(TaggedVariant { name, literals: values, ty, branch: branch.position });
        }
        // What has no tag, or is not what it says, has to be held, too.
        let open = certainty != Certainty::Required || self.keeps_unknown(conj);
        self.shapes.types[id].body =
            Body::Tagged(Tagged { holder, tag: tag.to_owned(), certainty, variants, otherwise, open });
        TypeRef::Named(id)
    }

    /// What names a variant: the text of its tag, else the schema's own name.
    fn variant_wire(&self, tag: &str, values: &[Json], branch: &Branch) -> String {
        if let [Json::String(text)] = values {
            return text.clone();
        }
        match &self.graph.schema(self.graph.schema(branch.id).reference.unwrap_or(branch.id)).origin {
            Origin::Root(name) | Origin::Definition(name) | Origin::Component(name) => name.clone(),
            Origin::Inline => match values {
                [only] => format!("{tag}-{only}"),
                _ => format!("variant-{}", branch.position + 1),
            },
        }
    }

    /// What a variant holds where one value of the tag means it: that value needs no field, so the variant takes a
    /// type whose own schemas say that value, which a base shared by several never does.
    fn variant(&mut self, variant: Variant, only: &Json, found: TypeId) {
        if self.is_constant(&self.shapes.get(found).conj.clone(), &variant.tag, only) {
            self.tags.push((found, variant.tag));
        } else {
            self.variants.push_back((variant, found));
        }
    }

    /// Makes the types of variants that a struct cannot stand for.
    pub(super) fn settle_variants(&mut self) {
        while let Some((variant, found)) = self.variants.pop_front() {
            if !matches!(self.shapes.get(found).body, Body::Struct(_)) {
                continue;
            }
            let Variant { union, at, branch, hint, tag } = variant;
            let own = self.object(&branch.conj, &branch.facts, &hint, None);
            if let TypeRef::Named(own) = own {
                self.tags.push((own, tag));
            }
            if let Body::Tagged(body) = &mut self.shapes.types[union].body
                && let Some(variant) = body.variants.get_mut(at)
            {
                variant.ty = own;
            }
        }
    }

    /// Whether a member is there at every value of a place, and is always this.
    fn is_constant(&self, conj: &Conj, name: &str, value: &Json) -> bool {
        let facts = self.facts(conj);
        let declared = facts.declared(self.graph);
        let always =
            declared.into_iter().find(|(declared, ..)| *declared == name).map(|(_, always, _)| always);
        facts.required(self.graph).contains(name)
            && always.filter(|always| !always.is_empty()).is_some_and(|always| {
                let literals = self.facts(&Conj::all(always)).literals(self.graph);
                literals.is_some_and(|literals| literals == [value])
            })
    }

    /// Takes the fields of tags away where the type says their value.
    pub(super) fn settle_tags(&mut self) {
        for (id, tag) in std::mem::take(&mut self.tags) {
            if let Body::Struct(body) = &mut self.shapes.types[id].body {
                let own = body.fields.iter_mut().filter(|field| field.wire == tag);
                own.filter(|field| field.required && field.constant.is_some())
                    .for_each(|field| field.omitted = true);
            }
        }
    }

    /// Strings: lists merge into one enum; a list beside free strings is an open one.
    fn strings(
        &mut self,
        conj: &Conj,
        branches: &[Branch],
        any: bool,
        hint: &str,
        slot: Option<TypeId>,
    ) -> Option<TypeRef> {
        let mut values = Vec::new();
        let mut free = 0;
        for branch in branches {
            let Some(literals) = branch.facts.literals(self.graph) else {
                free += 1;
                continue;
            };
            let schema = self.graph.schema(branch.id);
            let doc = schema.description.clone().or_else(|| schema.title.clone());
            let doc = doc.filter(|_| literals.len() == 1);
            values.extend(literals.into_iter().filter_map(Json::as_str).map(|v| (v.to_owned(), doc.clone())));
        }
        // An enumeration prints its values, those that it does not know too.
        if values.is_empty() || (free > 0 && !any) || self.is_secret(conj) {
            return None;
        }
        // Refined elsewhere to fewer values: those are all that can stand here.
        Some(self.string_enum(conj, values, free > 0, hint, slot))
    }

    /// Branches of different JSON types.
    fn by_kind(
        &mut self,
        conj: &Conj,
        branches: &[Branch],
        hint: &str,
        slot: Option<TypeId>,
    ) -> Option<TypeRef> {
        let kinds = [Types::NULL, Types::BOOLEAN, Types::NUMBER, Types::STRING, Types::ARRAY, Types::OBJECT];
        let mut groups: Vec<(Types, Vec<&Branch>)> = Vec::new();
        for kind in kinds {
            let holding: Vec<&Branch> =
                branches.iter().filter(|b| !b.facts.types.and(kind).is_empty()).collect();
            if !holding.is_empty() {
                groups.push((kind, holding));
            }
        }
        if groups.len() < 2 || groups.len() > 5 {
            return None;
        }
        let id = self.slot(conj, hint, slot);
        let hint = self.shapes.get(id).name.clone();
        let mut variants = Vec::new();
        for (kind, holding) in groups {
            let types = holding.iter().fold(Types::default(), |t, b| t.or(b.facts.types)).and(kind);
            let name = kind_name(types);
            let ty = match holding.as_slice() {
                [one] => self.type_of(&one.conj.within(types), &format!("{hint}{name}")),
                // Several branches of one type: what they share decides.
                _ => self.type_of(&conj.within(types), &format!("{hint}{name}")),
            };
            variants.push(KindVariant { name: name.to_owned(), types, ty });
        }
        self.shapes.types[id].body = Body::ByKind(variants);
        Some(TypeRef::Named(id))
    }
}
