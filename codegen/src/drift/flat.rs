//! What several schemas say together about one place, `$ref` and `allOf` followed.

use std::collections::BTreeSet;

use contract_runtime::{Json, Number};

use super::{directions::Schemas, subject::Use};
use crate::{
    schema::{Graph, Schema, SchemaId, Types, keywords::Keyword},
    together::{Conj, Facts, type_of},
};

/// How deep a union inside a union is looked into.
const DEPTH: u8 = 6;

/// A conjunction of schemas, flattened.
#[derive(Clone, Debug)]
pub(super) struct Flat<'g> {
    pub(super) graph: &'g Schemas<'g>,
    facts: Facts,
    /// Every schema that applies without condition, the outermost first.
    pub(super) members: Vec<SchemaId>,
    /// Those of them whose union has one form, which is among them.
    settled: Vec<SchemaId>,
}

/// One `oneOf` or `anyOf`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Union<'g> {
    pub(super) holder: SchemaId,
    pub(super) one: bool,
    pub(super) branches: &'g [SchemaId],
}

/// The end of a range of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound<'g> {
    pub(super) value: &'g Number,
    pub(super) exclusive: bool,
}

/// What a schema that forbids undeclared names sees.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Closing<'g> {
    pub(super) names: BTreeSet<&'g str>,
    pub(super) patterns: BTreeSet<&'g str>,
    /// Whether anything goes by a schema of its own.
    others: bool,
    /// Whether some of them are seen only where a branch or a condition holds.
    at_times: bool,
}

impl<'g> Closing<'g> {
    fn of(graph: &'g Graph, seen: impl IntoIterator<Item = &'g Schema>, at_times: bool) -> Self {
        let (mut names, mut patterns, mut others) = (BTreeSet::new(), BTreeSet::new(), false);
        for schema in seen {
            names.extend(schema.properties.iter().map(|(name, _)| name.as_str()));
            patterns.extend(schema.pattern_properties.iter().map(|(pattern, _)| pattern.as_str()));
            others |= schema.additional_properties.is_some_and(|id| graph.schema(id).boolean != Some(false));
        }
        Self { names, patterns, others, at_times }
    }
}

/// A list of valid values.
#[derive(Clone, Debug)]
pub(super) enum Listing<'g> {
    /// There is none.
    None,
    /// Nothing else is valid. `holder` is the union that lists them, if no `enum` does.
    Closed { values: Vec<&'g Json>, holder: Option<Union<'g>> },
    /// A union of listed values and of branches that take others of their kind.
    Open { values: Vec<&'g Json>, rest: Vec<SchemaId>, holder: Union<'g> },
}

impl<'g> Flat<'g> {
    pub(super) fn of(graph: &'g Schemas<'g>, ids: &[SchemaId]) -> Self {
        let mut ids = ids.to_vec();
        let facts = loop {
            let facts = Facts::of(graph, &Conj::all(ids.iter().copied()), false);
            // What a `$dynamicRef` leads to without the dynamic scope is compared as what it says.
            let initial = facts.members.iter().filter_map(|id| graph.schema(*id).dynamic_reference.as_ref());
            let more: Vec<SchemaId> =
                initial.map(|dynamic| dynamic.initial).filter(|id| !facts.members.contains(id)).collect();
            if more.is_empty() {
                break facts;
            }
            ids.extend(more);
        };
        let members = facts.members.iter().rev().copied().collect();
        Self { graph, facts, members, settled: Vec::new() }
    }

    /// The same with the form of each union that has one alone; `None` where there is no such union.
    pub(super) fn whole(&self) -> Option<Self> {
        let mut members = self.members.clone();
        let mut conj = Conj::all(members.iter().copied());
        let mut at = 0;
        while let Some(holder) = members.get(at).copied() {
            at += 1;
            let schema = self.graph.schema(holder);
            if let ([form], []) | ([], [form]) = (schema.one_of.as_slice(), schema.any_of.as_slice()) {
                conj = conj.choose(holder, *form);
                add(&mut members, &Flat::of(self.graph, &[*form]).members);
            }
        }
        if conj.chosen.is_empty() {
            return None;
        }
        let facts = Facts::of(self.graph, &conj, false);
        let whole = Self { graph: self.graph, facts, members, settled: conj.chosen };
        Some(whole.within(self.types()))
    }

    /// The same with schemas that are inside.
    pub(super) fn around(&self, inner: &[SchemaId]) -> Self {
        let mut members = self.members.clone();
        add(&mut members, &Flat::of(self.graph, inner).members);
        let flat = Flat::of(self.graph, &members);
        Self { members, settled: self.settled.clone(), ..flat }
    }

    /// The same where only values of some types can be.
    pub(super) fn within(mut self, types: Types) -> Self {
        self.facts.types = self.facts.types.and(types);
        self
    }

    /// Whether a value can be invalid here, or a member or element of it.
    pub(super) fn says_something(&self) -> bool {
        let idle = [Keyword::Ref, Keyword::AllOf];
        self.facts.dynamic || self.any(|schema| !schema.decides_by(&idle))
    }

    pub(super) fn schemas(&self) -> impl Iterator<Item = &'g Schema> + '_ {
        let graph = self.graph;
        self.members.iter().map(move |id| graph.schema(*id))
    }

    /// The first answer, from the outside in.
    pub(super) fn first<T>(&self, pick: impl Fn(&'g Schema) -> Option<T>) -> Option<T> {
        self.schemas().find_map(pick)
    }

    pub(super) fn any(&self, test: impl Fn(&'g Schema) -> bool) -> bool {
        self.schemas().any(test)
    }

    pub(super) fn least(&self, pick: impl Fn(&'g Schema) -> Option<u64>) -> Option<u64> {
        self.schemas().filter_map(pick).max()
    }

    pub(super) fn most(&self, pick: impl Fn(&'g Schema) -> Option<u64>) -> Option<u64> {
        self.schemas().filter_map(pick).min()
    }

    /// Distinct texts, sorted.
    pub(super) fn texts(&self, pick: impl Fn(&'g Schema) -> Option<&'g String>) -> Vec<&'g str> {
        let texts: BTreeSet<&str> = self.schemas().filter_map(pick).map(String::as_str).collect();
        texts.into_iter().collect()
    }

    pub(super) fn lower(&self) -> Option<Bound<'g>> {
        let closed =
            |schema: &'g Schema| schema.minimum.as_ref().map(|value| Bound { value, exclusive: false });
        let open = |schema: &'g Schema| {
            schema.exclusive_minimum.as_ref().map(|value| Bound { value, exclusive: true })
        };
        let all = self.schemas().filter_map(closed).chain(self.schemas().filter_map(open));
        all.max_by(|left, right| (left.value, left.exclusive).cmp(&(right.value, right.exclusive)))
    }

    pub(super) fn upper(&self) -> Option<Bound<'g>> {
        let closed =
            |schema: &'g Schema| schema.maximum.as_ref().map(|value| Bound { value, exclusive: false });
        let open = |schema: &'g Schema| {
            schema.exclusive_maximum.as_ref().map(|value| Bound { value, exclusive: true })
        };
        let all = self.schemas().filter_map(closed).chain(self.schemas().filter_map(open));
        all.min_by(|left, right| (left.value, !left.exclusive).cmp(&(right.value, !right.exclusive)))
    }

    /// The values that `enum` and `const` leave.
    pub(super) fn values(&self) -> Option<Vec<&'g Json>> {
        self.facts.literals(self.graph)
    }

    pub(super) fn unions(&self) -> Vec<Union<'g>> {
        let mut unions = Vec::new();
        for (id, schema) in self.members.iter().zip(self.schemas()) {
            for (one, branches) in [(true, &schema.one_of), (false, &schema.any_of)] {
                if !branches.is_empty() && !self.settled.contains(id) {
                    unions.push(Union { holder: *id, one, branches });
                }
            }
        }
        unions
    }

    /// Whether there is a union that is no list of values, and is compared by its branches.
    pub(super) fn has_branches(&self) -> bool {
        let unions = self.unions();
        let listed = if unions.is_empty() { Listing::None } else { self.listing() };
        let holder = match listed {
            Listing::Closed { holder, .. } => holder.map(|union| union.holder),
            Listing::None | Listing::Open { .. } => None,
        };
        unions.iter().any(|union| Some(union.holder) != holder)
    }

    /// The types that values may have, unions and listed values considered.
    pub(super) const fn types(&self) -> Types {
        self.facts.types
    }

    /// The list of values that this place has, however it is written.
    pub(super) fn listing(&self) -> Listing<'g> {
        if let Some(values) = self.values() {
            return Listing::Closed { values, holder: None };
        }
        for union in self.unions() {
            let mut values = Vec::new();
            let mut others = Vec::new();
            for id in union.branches {
                match Flat::of(self.graph, &[*id]).finite(DEPTH) {
                    Some(more) => values.extend(more),
                    None => others.push(*id),
                }
            }
            // `null` alone is no enumeration.
            let kinds = values
                .iter()
                .fold(Types::default(), |all, value| all.or(type_of(value)))
                .without(Types::NULL);
            if kinds.is_empty() {
                continue;
            }
            let mut seen = Vec::new();
            values.retain(|value| {
                !seen.contains(value) && {
                    seen.push(*value);
                    true
                }
            });
            if others.is_empty() {
                return Listing::Closed { values, holder: Some(union) };
            }
            let same_kind = |id: &SchemaId| !Flat::of(self.graph, &[*id]).types().and(kinds).is_empty();
            if others.iter().all(same_kind) {
                return Listing::Open { values, rest: others, holder: union };
            }
        }
        Listing::None
    }

    /// All values, where there are finitely many that are written out.
    fn finite(&self, depth: u8) -> Option<Vec<&'g Json>> {
        const NULL: &Json = &Json::Null;
        if let Some(values) = self.values() {
            return Some(values);
        }
        if self.types() == Types::NULL {
            return Some(vec![NULL]);
        }
        let unions = self.unions();
        let [union] = unions.as_slice() else { return None };
        if depth == 0 {
            return None;
        }
        let of = |id: &SchemaId| Flat::of(self.graph, &[*id]).finite(depth - 1);
        union.branches.iter().map(of).collect::<Option<Vec<_>>>().map(|lists| lists.concat())
    }

    /// Names that `properties` declares, in order.
    pub(super) fn declared(&self) -> Vec<&'g str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.schemas().flat_map(|schema| &schema.properties) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    pub(super) fn declares(&self, name: &str) -> bool {
        self.any(|schema| schema.properties.iter().any(|(other, _)| other == name))
    }

    /// Whether a member of that name is spoken of, always or sometimes.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.schemas().any(|schema| self.speaks_of(schema, name)) || self.knows_sometimes(name)
    }

    /// Whether a branch, `then` or `else` speaks of a member.
    pub(super) fn knows_sometimes(&self, name: &str) -> bool {
        self.facts.conditional.iter().any(|id| self.speaks_of(self.graph.schema(*id), name))
    }

    /// Whether a schema declares or requires a member, or asks something of one of its name.
    fn speaks_of(&self, schema: &Schema, name: &str) -> bool {
        let mut own = self.own(schema, name).peekable();
        schema.required.iter().any(|other| other == name)
            || own.peek().is_some()
            || schema.additional_properties.is_some_and(|id| self.restricts(id))
    }

    /// What a schema asks of a member of that name by `properties` and patterns.
    fn own<'s>(&'s self, schema: &'s Schema, name: &'s str) -> impl Iterator<Item = SchemaId> + 's {
        let own = schema.properties.iter().filter(move |(other, _)| other == name);
        let programs = &self.graph.programs;
        let matching = schema.pattern_properties.iter();
        own.chain(matching.filter(move |(pattern, _)| programs.matches(pattern, name))).map(|(_, id)| *id)
    }

    /// Whether a member is declared, always or sometimes.
    pub(super) fn offers(&self, name: &str) -> bool {
        let declares = |schema: &Schema| schema.properties.iter().any(|(other, _)| other == name);
        self.any(declares) || self.facts.conditional.iter().any(|id| declares(self.graph.schema(*id)))
    }

    pub(super) fn requires(&self, name: &str) -> bool {
        self.any(|schema| schema.required.iter().any(|other| other == name))
    }

    /// Every schema that a property of that name must satisfy (Core 10.3.2).
    pub(super) fn applicable(&self, name: &str) -> Vec<SchemaId> {
        let mut ids = Vec::new();
        for schema in self.schemas() {
            let before = ids.len();
            ids.extend(self.own(schema, name));
            if ids.len() == before {
                ids.extend(schema.additional_properties);
            }
        }
        ids
    }

    /// Every schema that properties of undeclared names must satisfy, `false` left out.
    pub(super) fn additional(&self) -> Vec<SchemaId> {
        let all = self.schemas().flat_map(|schema| match self.of_every_name(schema).collect::<Vec<_>>() {
            ids if ids.is_empty() => schema.additional_properties.into_iter().collect(),
            ids => ids,
        });
        all.filter(|id| self.graph.schema(*id).boolean.is_none()).collect()
    }

    /// Whether a schema says more than that everything is valid, or that nothing is.
    pub(super) fn restricts(&self, id: SchemaId) -> bool {
        self.graph.schema(id).boolean.is_none() && self.demands(id)
    }

    /// Whether a schema can make a value invalid.
    pub(super) fn demands(&self, id: SchemaId) -> bool {
        Flat::of(self.graph, &[id]).says_something()
    }

    /// Whether undeclared names are forbidden.
    pub(super) fn closed(&self) -> bool {
        let closes = |schema: &'g Schema| {
            let mut every = self.of_every_name(schema).peekable();
            match every.peek() {
                Some(_) => every.any(|id| self.forbids(id)),
                None => {
                    let others = [schema.additional_properties, schema.unevaluated_properties];
                    others.into_iter().flatten().any(|id| self.forbids(id))
                }
            }
        };
        self.any(closes)
    }

    /// Whether a member of an undeclared name is forbidden.
    pub(super) fn closed_for(&self, name: &str) -> bool {
        let asked = self.applicable(name);
        self.closed() && (asked.is_empty() || asked.into_iter().any(|id| self.forbids(id)))
    }

    fn forbids(&self, id: SchemaId) -> bool {
        self.graph.schema(id).boolean == Some(false)
    }

    /// What a schema asks of members of whatever name by its patterns.
    fn of_every_name<'s>(&'s self, schema: &'s Schema) -> impl Iterator<Item = SchemaId> + 's {
        let all = schema.pattern_properties.iter();
        all.filter(|(pattern, _)| self.graph.programs.matches_all(pattern)).map(|(_, id)| *id)
    }

    /// Whether a direction does without a member.
    pub(super) fn does_without(&self, name: &str, usage: Use) -> bool {
        let named = self.schemas().flat_map(|schema| &schema.properties).filter(|(other, _)| other == name);
        let said: Vec<SchemaId> = named.map(|(_, id)| *id).collect();
        self.graph.is_never_sent(&said, usage)
    }

    /// Whether a direction asks for a member.
    pub(super) fn needs(&self, name: &str, usage: Use) -> bool {
        let is_idle = self.does_without(name, usage);
        let one_way = &self.graph.one_way;
        let asks = |schema: &Schema| !is_idle || !one_way.holds_in(schema.place.source);
        self.any(|schema| asks(schema) && schema.required.iter().any(|other| other == name))
    }

    /// What each schema that forbids undeclared names sees: names and patterns, and whether some of them
    /// only at times. `additionalProperties` sees those beside it (Core 10.3.2.3), `unevaluatedProperties`
    /// those below it too (Core 11.3).
    pub(super) fn closings(&self) -> BTreeSet<Closing<'g>> {
        let graph = self.graph;
        let forbids = |id: Option<SchemaId>| id.is_some_and(|id| graph.schema(id).boolean == Some(false));
        let mut all = BTreeSet::new();
        for (id, schema) in self.members.iter().zip(self.schemas()) {
            let mut every = self.of_every_name(schema).peekable();
            if every.peek().is_some() {
                // It sees nothing: what is declared is refused too.
                if every.any(|id| self.forbids(id)) {
                    all.insert(Closing::of(graph, [], false));
                }
                continue;
            }
            if forbids(schema.additional_properties) {
                all.insert(Closing::of(graph, [schema], false));
            }
            if forbids(schema.unevaluated_properties) {
                let below = Flat::of(graph, &[*id]);
                let below = below.whole().unwrap_or(below);
                let sometimes = &below.facts.conditional;
                let seen = below.members.iter().chain(sometimes).map(|id| graph.schema(*id));
                all.insert(Closing::of(graph, seen, !sometimes.is_empty()));
            }
        }
        all
    }

    /// Every schema that the element at an index must satisfy; `None` asks for those behind all
    /// prefixes.
    pub(super) fn element(&self, index: Option<usize>) -> Vec<SchemaId> {
        let pick =
            |schema: &'g Schema| index.and_then(|at| schema.prefix_items.get(at).copied()).or(schema.items);
        self.schemas().filter_map(pick).collect()
    }

    /// The length of the longest `prefixItems`.
    pub(super) fn prefix(&self) -> usize {
        self.schemas().map(|schema| schema.prefix_items.len()).max().unwrap_or(0)
    }
}

/// Adds those that are not there yet.
fn add(members: &mut Vec<SchemaId>, more: &[SchemaId]) {
    let new: Vec<SchemaId> = more.iter().copied().filter(|id| !members.contains(id)).collect();
    members.extend(new);
}

/// `string or null`.
pub(super) fn type_names(types: Types) -> String {
    if types == Types::ALL {
        return "anything".to_owned();
    }
    let mut names = types.names();
    names.reverse();
    if names.is_empty() { "nothing".to_owned() } else { names.join(" or ") }
}
