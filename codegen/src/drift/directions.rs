//! What both versions say, as each direction sees it.
//!
//! A read-only member that `required` names may be missing from requests, and a write-only one from
//! answers (OpenAPI 3.0, 4.7.24.2). No judge of values knows of directions, so it is shown schemas that
//! ask for no more than their direction does.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    rc::Rc,
};

use super::{
    flat::Flat,
    proof::{Grounds, Prover, Side},
    subject::Use,
    texts::Programs,
};
use crate::schema::{Graph, Schema, SchemaId};

/// The schemas of one version, and what is known about the patterns of their names.
#[derive(Debug)]
pub(super) struct Schemas<'g> {
    graph: Cow<'g, Graph>,
    pub(super) programs: Rc<Programs>,
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
    pub(super) fn of(old: &'g Graph, new: &'g Graph) -> Self {
        let programs = Rc::<Programs>::default();
        let side = |graph| Schemas { graph: Cow::Borrowed(graph), programs: Rc::clone(&programs) };
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
            let mut graph = schemas.graph.clone();
            for (id, names) in left_out {
                graph.to_mut().schemas[id].required.retain(|name| !names.contains(name));
            }
            (is_other, Schemas { graph, programs: Rc::clone(&schemas.programs) })
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
    pub(super) fn of(old: &'g Graph, new: &'g Graph) -> Self {
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

/// Whether what a schema describes is never sent in a direction.
pub(super) const fn is_never_sent(schema: &Schema, usage: Use) -> bool {
    match usage {
        Use::Read => schema.write_only,
        Use::Write => schema.read_only,
    }
}

/// The members that schemas ask for and a direction does without: by what all says together that stands
/// around a schema, in one place at least.
fn left_out(schemas: &Schemas<'_>, usage: Use) -> BTreeMap<SchemaId, BTreeSet<String>> {
    let mut all: BTreeMap<SchemaId, BTreeSet<String>> = BTreeMap::new();
    let marked = |id: &SchemaId| is_never_sent(schemas.schema(*id), usage);
    let marked: Vec<SchemaId> = schemas.ids().filter(marked).collect();
    if marked.is_empty() {
        return all;
    }
    let mut holders: BTreeMap<SchemaId, Vec<SchemaId>> = BTreeMap::new();
    for id in schemas.ids() {
        let schema = schemas.schema(id);
        let initial = schema.dynamic_reference.as_ref().map(|dynamic| dynamic.initial);
        for part in schema.reference.into_iter().chain(initial).chain(schema.all_of.iter().copied()) {
            holders.entry(part).or_default().push(id);
        }
    }
    let spread = |mut waiting: Vec<SchemaId>| {
        let mut reached = BTreeSet::new();
        while let Some(id) = waiting.pop() {
            if reached.insert(id) {
                waiting.extend(holders.get(&id).into_iter().flatten().copied());
            }
        }
        reached
    };
    let marked = spread(marked);
    let holds = |id: &SchemaId| {
        let schema = schemas.schema(*id);
        let named = schema.properties.iter().chain(&schema.pattern_properties).map(|(_, id)| *id);
        named.chain(schema.additional_properties).any(|id| marked.contains(&id))
    };
    for id in spread(schemas.ids().filter(holds).collect()) {
        let flat = Flat::of(schemas, &[id]);
        for (member, schema) in flat.members.iter().zip(flat.schemas()) {
            for name in schema.required.iter().filter(|name| flat.does_without(name, usage)) {
                all.entry(*member).or_default().insert(name.clone());
            }
        }
    }
    all
}
