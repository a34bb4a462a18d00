//! What both versions say, as each direction sees it.
//!
//! In OpenAPI 3.0 a read-only member that `required` names may be missing from requests, and a write-only one from
//! answers; each version is taken by its own letter. No judge of values knows of directions, so it is shown
//! schemas that ask for no more than their direction does, each in its place.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    rc::Rc,
};

use super::{
    Version,
    flat::Flat,
    proof::{Grounds, Prover, Side},
    subject::Use,
    texts::Programs,
};
use crate::{
    directions::{Direction, OneWay},
    resolve::is_openapi_30,
    schema::{Graph, Schema, SchemaId},
};

/// The schemas of one version, what is known about the patterns of their names, and what of them is sent in one
/// direction alone.
#[derive(Debug)]
pub(super) struct Schemas<'g> {
    graph: Cow<'g, Graph>,
    pub(super) programs: Rc<Programs>,
    pub(super) one_way: Rc<OneWay>,
    /// What asks for less where something else stands around it, and the schema that it is a copy of.
    copies: BTreeMap<SchemaId, SchemaId>,
}

impl Schemas<'_> {
    /// Whether a member is never sent in a direction, by all that the `properties` of one place say of it.
    pub(super) fn is_never_sent(&self, said: &[SchemaId], usage: Use) -> bool {
        self.one_way.sent(said).is_some_and(|sent| sent != direction(usage))
    }

    /// Schemas that hold of one value, as they are there: what is a part of another one of them is what that one
    /// leads to.
    pub(super) fn of_place<'i>(&self, ids: &'i [SchemaId]) -> Cow<'i, [SchemaId]> {
        if self.copies.is_empty() || ids.len() < 2 {
            return Cow::Borrowed(ids);
        }
        let part = |id: &SchemaId| self.copies.get(id).copied().unwrap_or(*id);
        let parts = |id: SchemaId| -> BTreeSet<SchemaId> {
            Flat::of(self, &[id]).members.iter().filter(|part| **part != id).map(part).collect()
        };
        let inner: BTreeSet<SchemaId> = ids.iter().flat_map(|id| parts(*id)).collect();
        let outer: Vec<SchemaId> = ids.iter().copied().filter(|id| !inner.contains(id)).collect();
        if outer.len() == ids.len() { Cow::Borrowed(ids) } else { Cow::Owned(Flat::of(self, &outer).members) }
    }
}

impl Deref for Schemas<'_> {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        &self.graph
    }
}

/// The schemas of both versions.
pub(super) struct Sides<'g> {
    old: Schemas<'g>,
    new: Schemas<'g>,
}

impl<'g> Sides<'g> {
    pub(super) fn of(old: &'g Version, new: &'g Version) -> Self {
        let programs = Rc::<Programs>::default();
        let side = |version: &'g Version| Schemas {
            graph: Cow::Borrowed(&version.graph),
            programs: Rc::clone(&programs),
            one_way: Rc::new(OneWay::of(&version.graph, |source| is_openapi_30(&version.sources, source))),
            copies: BTreeMap::new(),
        };
        Self { old: side(old), new: side(new) }
    }

    pub(super) const fn get(&self, side: Side) -> &Schemas<'g> {
        match side {
            Side::Old => &self.old,
            Side::New => &self.new,
        }
    }

    /// The same as a direction sees it; `None` where that is no different.
    pub(super) fn seen(&self, usage: Use) -> Option<Self> {
        let of = |schemas: &Schemas<'g>| {
            let left_out = left_out(schemas, usage);
            let is_other = !left_out.is_empty();
            let (mut graph, mut copies) = (schemas.graph.clone(), BTreeMap::new());
            if is_other {
                (graph, copies) = Relaxing::of(schemas, &left_out).run();
            }
            let (programs, one_way) = (Rc::clone(&schemas.programs), Rc::clone(&schemas.one_way));
            (is_other, Schemas { graph, programs, one_way, copies })
        };
        let ((old_is_other, old), (new_is_other, new)) = (of(&self.old), of(&self.new));
        (old_is_other || new_is_other).then_some(Self { old, new })
    }
}

/// What both versions say, and what of it is no different for the directions.
pub(super) struct Directions<'g> {
    pub(super) plain: Sides<'g>,
    read: Option<Sides<'g>>,
    write: Option<Sides<'g>>,
}

impl<'g> Directions<'g> {
    pub(super) fn of(old: &'g Version, new: &'g Version) -> Self {
        let plain = Sides::of(old, new);
        let (read, write) = (plain.seen(Use::Read), plain.seen(Use::Write));
        Self { plain, read, write }
    }
}

/// Who answers for each direction.
pub(super) struct Provers<'g> {
    plain: Prover<'g>,
    read: Option<Prover<'g>>,
    write: Option<Prover<'g>>,
}

impl<'g> Provers<'g> {
    pub(super) fn new(directions: &'g Directions<'g>, [plain, read, write]: &'g [Grounds<'g>; 3]) -> Self {
        let prover =
            |sides: &'g Option<Sides<'g>>, grounds| sides.as_ref().map(|sides| Prover::new(sides, grounds));
        Self {
            plain: Prover::new(&directions.plain, plain),
            read: prover(&directions.read, read),
            write: prover(&directions.write, write),
        }
    }

    /// The direction, where it sees anything else than what is written.
    pub(super) fn view(&self, usage: Use) -> Option<Use> {
        self.own(usage).map(|_| usage)
    }

    pub(super) fn of(&self, usage: Use) -> &Prover<'g> {
        self.own(usage).unwrap_or(&self.plain)
    }

    const fn own(&self, usage: Use) -> Option<&Prover<'g>> {
        match usage {
            Use::Read => self.read.as_ref(),
            Use::Write => self.write.as_ref(),
        }
    }
}

/// Who what is used so goes to.
const fn direction(usage: Use) -> Direction {
    match usage {
        Use::Read => Direction::Answer,
        Use::Write => Direction::Request,
    }
}

/// Names that schemas ask for.
type Asked = BTreeMap<SchemaId, BTreeSet<String>>;

/// For each schema the members that it and its parts ask for and a direction does without.
fn left_out(schemas: &Schemas<'_>, usage: Use) -> BTreeMap<SchemaId, Asked> {
    let mut all: BTreeMap<SchemaId, Asked> = BTreeMap::new();
    for (whole, asked) in schemas.one_way.wholes() {
        for asked in asked.iter().filter(|asked| asked.direction != direction(usage)) {
            let names = all.entry(whole).or_default().entry(asked.by).or_default();
            names.insert(asked.name.clone());
        }
    }
    all
}

/// Takes names out of `required`: where a schema is a part of several others, in a copy for those that do without
/// what it asks for elsewhere.
struct Relaxing<'a, 'g> {
    schemas: &'a Schemas<'g>,
    left_out: &'a BTreeMap<SchemaId, Asked>,
    graph: Graph,
    made: BTreeMap<(SchemaId, Asked), SchemaId>,
    copies: BTreeMap<SchemaId, SchemaId>,
}

impl<'a, 'g> Relaxing<'a, 'g> {
    fn of(schemas: &'a Schemas<'g>, left_out: &'a BTreeMap<SchemaId, Asked>) -> Self {
        let graph = Graph::clone(schemas);
        Self { schemas, left_out, graph, made: BTreeMap::new(), copies: BTreeMap::new() }
    }

    fn run(mut self) -> (Cow<'g, Graph>, BTreeMap<SchemaId, SchemaId>) {
        for (id, asked) in self.left_out {
            self.graph.schemas[*id] = self.relaxed(*id, asked);
        }
        (Cow::Owned(self.graph), self.copies)
    }

    fn relaxed(&mut self, id: SchemaId, asked: &Asked) -> Schema {
        let mut schema = self.schemas.schema(id).clone();
        if let Some(names) = asked.get(&id) {
            schema.required.retain(|name| !names.contains(name));
        }
        schema.reference = schema.reference.map(|part| self.part(part, asked));
        schema.all_of = schema.all_of.iter().map(|part| self.part(*part, asked)).collect();
        schema
    }

    /// A part as it is in a schema that does without these names.
    fn part(&mut self, id: SchemaId, asked: &Asked) -> SchemaId {
        let parts = Flat::of(self.schemas, &[id]).members;
        let own: Asked = parts.iter().filter_map(|part| Some((*part, asked.get(part)?.clone()))).collect();
        if self.left_out.get(&id).map_or(own.is_empty(), |alone| *alone == own) {
            return id;
        }
        let key = (id, own);
        if let Some(made) = self.made.get(&key) {
            return *made;
        }
        let schema = self.relaxed(id, &key.1);
        let made = self.graph.schemas.push(schema);
        self.copies.insert(made, id);
        self.made.insert(key, made);
        made
    }
}
