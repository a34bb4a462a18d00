//! Proofs and witnesses.
//!
//! Two questions are asked of a difference that looks breaking. Does everything that one side
//! accepts pass the keywords that changed on the other (`canonical`, experimental)? Then it
//! breaks nobody. Is there a value that one side accepts and those keywords refuse? Then it
//! does, and the value is shown once the runtime's own tables, which generated code is checked
//! by, say the same of it. Patterns and lengths of texts are decided by automata (`texts`).
//! Whatever an engine cannot say leaves the cautious verdict.

use std::{
    cell::{OnceCell, RefCell},
    collections::HashMap,
};

use contract_runtime::Json;
use jsonschema::Validator;
use serde_json::Value;

use super::{
    directions::{Schemas, Sides},
    finding::Facet,
    flat::Flat,
    formats::{self, FORMATS},
    subject::Use,
    texts::{self, Decided},
};
use crate::{
    canonical::{Engine, Normal},
    schema::{
        Graph, SchemaId, Types,
        document::{self, Writer, exact},
        keywords::{Keyword, vocabulary},
    },
    tables::{Shelves, TablePlan, TableSet},
    together::{
        Conj,
        sample::{self, Effort},
        type_of,
    },
};

/// Longer texts are no help, in bytes.
const LONGEST: usize = 300;
/// Of more pairs of forms than this each is looked into for a short time only.
const MANY: usize = 20;

/// Which version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    /// The old one.
    Old,
    /// The new one.
    New,
}

/// What was built from schemas of one side; `None` where that failed.
type Known<T> = RefCell<HashMap<(Side, Vec<SchemaId>), Option<T>>>;

/// Answers about both graphs, remembered.
pub(super) struct Prover<'g> {
    sides: &'g Sides<'g>,
    engine: Engine,
    old_writer: Writer<'g>,
    new_writer: Writer<'g>,
    wholes: Known<Normal>,
    validators: Known<Validator>,
    /// By the schemas of both sides.
    equivalents: RefCell<HashMap<[Vec<SchemaId>; 2], bool>>,
    old_tables: Built<'g>,
    new_tables: Built<'g>,
}

/// What the tables of both sides stand on.
#[derive(Default)]
pub(super) struct Grounds<'g> {
    old: Ground<'g>,
    new: Ground<'g>,
}

/// What the tables of one side stand on.
#[derive(Default)]
struct Ground<'g> {
    plan: OnceCell<TablePlan>,
    shelves: Shelves<'g>,
}

/// The tables of one side, built when somebody asks them.
struct Built<'g> {
    ground: &'g Ground<'g>,
    tables: OnceCell<TableSet<'g>>,
}

impl<'g> Built<'g> {
    fn tables(&self, graph: &'g Graph) -> &TableSet<'g> {
        self.tables.get_or_init(|| {
            let plan = self.ground.plan.get_or_init(|| TablePlan::of_graph(graph));
            plan.build(graph, &self.ground.shelves)
        })
    }
}

/// `Ok`: nothing is lost. `Err`: something is, with a value if one was found.
pub(super) type Verdict = Result<(), Option<Json>>;

impl<'g> Prover<'g> {
    pub(super) fn new(sides: &'g Sides<'g>, grounds: &'g Grounds<'g>) -> Self {
        let built = |ground| Built { ground, tables: OnceCell::new() };
        Self {
            sides,
            engine: Engine::default(),
            old_writer: Writer::new(sides.get(Side::Old), 'o'),
            new_writer: Writer::new(sides.get(Side::New), 'n'),
            wholes: RefCell::default(),
            validators: RefCell::default(),
            equivalents: RefCell::default(),
            old_tables: built(&grounds.old),
            new_tables: built(&grounds.new),
        }
    }

    pub(super) const fn graph(&self, side: Side) -> &'g Schemas<'g> {
        self.sides.get(side)
    }

    /// Whether the runtime accepts a value by all of some schemas.
    pub(super) fn accepts(&self, side: Side, ids: &[SchemaId], value: &Json) -> bool {
        let tables = match side {
            Side::Old => &self.old_tables,
            Side::New => &self.new_tables,
        };
        let tables = tables.tables(self.graph(side));
        self.graph(side).of_place(ids).iter().all(|id| tables.is_valid(*id, value))
    }

    const fn writer(&self, side: Side) -> &Writer<'g> {
        match side {
            Side::Old => &self.old_writer,
            Side::New => &self.new_writer,
        }
    }

    /// Whether the texts of one side pass the keywords about texts of the other.
    pub(super) fn texts(&self, given: &Flat<'g>, taken: &Flat<'g>, keywords: &[Keyword]) -> Decided {
        given.graph.programs.decide(given, taken, keywords)
    }

    /// Whether two patterns match the same texts; `false` when nobody knows.
    pub(super) fn same_texts(&self, one: &str, other: &str) -> bool {
        self.graph(Side::Old).programs.equal(one, other)
    }

    /// Whether all that `giving` accepts of some types passes the facet's keywords of `refusing`;
    /// `None` when nobody knows.
    pub(super) fn judge(
        &self,
        (giving, given): (Side, &[SchemaId]),
        (refusing, refuser): (Side, &[SchemaId]),
        within: Types,
        facet: &Facet,
    ) -> Option<Verdict> {
        let mut tries = facet.tries.clone();
        if texts::about_texts(facet.keywords) {
            let flat = |side: Side, ids: &[SchemaId]| Flat::of(self.graph(side), ids);
            match self.texts(&flat(giving, given), &flat(refusing, refuser), facet.keywords) {
                Decided::Holds => return Some(Ok(())),
                Decided::Fails(text) if text.len() <= LONGEST => tries.insert(0, Json::String(text)),
                Decided::Fails(_) | Decided::Unknown(_) => {}
            }
        }
        let barrier = self.barrier((refusing, refuser), facet)?;
        let conj = Conj::all(given.iter().copied()).within(within);
        let witness = |values: Vec<Json>| {
            let fitting = values.into_iter().filter(|value| within.contains(type_of(value)));
            self.witness((giving, given), (refusing, refuser), &barrier, fitting)
        };
        if let Some(found) = witness(tries).or_else(|| witness(self.samples(giving, &conj))) {
            return Some(Err(Some(found)));
        }
        if facet.keywords == FORMATS {
            // The engine knows no format that is a kind of another one.
            let flat = |side: Side, ids: &[SchemaId]| Flat::of(self.graph(side), ids);
            return formats::holds(&flat(giving, given), &flat(refusing, refuser)).then_some(Ok(()));
        }
        // What is given has certain types only, and the engine decides a typed barrier more often.
        let types = Flat::of(self.graph(giving), given).types().and(within);
        let barrier = self.engine.read(document::typed(barrier, types))?;
        let whole = || self.engine.read(document::typed(self.writer(giving).whole(given)?, within));
        let wholes = &mut *self.wholes.borrow_mut();
        // Where not all types can be is asked of few places, each time anew.
        let own = if within == Types::ALL { None } else { Some(whole()?) };
        let whole = match &own {
            Some(whole) => whole,
            None => wholes.entry((giving, given.to_vec())).or_insert_with(whole).as_ref()?,
        };
        let covers = self.engine.covers(&barrier, whole)?;
        Some(if covers { Ok(()) } else { Err(None) })
    }

    /// A value to try that `giving` accepts and a facet's keywords of `refusing` refuse.
    pub(super) fn tried(
        &self,
        given: (Side, &[SchemaId]),
        refuser: (Side, &[SchemaId]),
        within: Types,
        facet: &Facet,
    ) -> Option<Json> {
        let barrier = self.barrier(refuser, facet)?;
        let fitting = facet.tries.iter().filter(|value| within.contains(type_of(value)));
        self.witness(given, refuser, &barrier, fitting.cloned())
    }

    /// The keywords of a facet alone, as they stand in some schemas.
    fn barrier(&self, (refusing, refuser): (Side, &[SchemaId]), facet: &Facet) -> Option<Value> {
        let writer = self.writer(refusing);
        let refuser = &*self.graph(refusing).of_place(refuser);
        // What is unevaluated depends on everything beside it.
        let spread = facet.keywords.iter().any(|keyword| keyword.vocabulary() == vocabulary::UNEVALUATED)
            && refuser.iter().any(|id| writer.looks_around(*id));
        if spread { writer.whole(refuser) } else { writer.only(refuser, facet.keywords) }
    }

    /// Whether nothing that `giving` accepts fits both schemas of a pair of the other side; `None` when
    /// nobody knows.
    pub(super) fn fits_two(
        &self,
        (giving, given): (Side, &[SchemaId]),
        side: Side,
        pairs: &[[SchemaId; 2]],
    ) -> Option<Verdict> {
        let writer = self.writer(side);
        let whole = validator(&self.writer(giving).whole(given)?);
        let effort = if pairs.len() > MANY { Effort::Quick } else { Effort::Thorough };
        for both in pairs {
            let tells = |value: &Json| self.accepts(giving, given, value) && self.accepts(side, both, value);
            let shows = |value: &Json| {
                let fits = || validator(&writer.whole(both)?);
                let (Some(value), Some(whole), Some(fits)) = (exact(value), &whole, fits()) else {
                    return false;
                };
                whole.is_valid(&value) && fits.is_valid(&value)
            };
            let mut samples = self.sampled(side, &Conj::all(*both), effort).into_iter();
            if let Some(found) = samples.find(|value| tells(value) && shows(value)) {
                return Some(Err(Some(found)));
            }
        }
        let whole = self.engine.read(self.writer(giving).whole(given)?)?;
        for both in pairs {
            let apart = self.engine.read(writer.never_together(both)?)?;
            if !self.engine.covers(&apart, &whole)? {
                return Some(Err(None));
            }
        }
        Some(Ok(()))
    }

    /// A value that `giving` accepts, with members that it speaks of alone, and that `refusing` refuses.
    pub(super) fn refused(
        &self,
        (giving, given): (Side, &[SchemaId]),
        (refusing, refuser): (Side, &[SchemaId]),
        (usage, within): (Use, Types),
        effort: Effort,
    ) -> Option<Json> {
        let conj = |ids: &[SchemaId]| Conj::all(ids.iter().copied()).within(within);
        let own = self.sampled(giving, &conj(given), effort).into_iter();
        // What is at the edge there may be inside here.
        let all = own.chain(self.sampled(refusing, &conj(refuser), effort));
        let tells = |value: &Json| {
            within.contains(type_of(value))
                && self.accepts(giving, given, value)
                && !self.accepts(refusing, refuser, value)
        };
        let mut telling =
            all.filter(|value| tells(value) && self.speaks_of((giving, given), usage, value)).peekable();
        telling.peek()?;
        let read = |side: Side, ids: &[SchemaId]| validator(&self.writer(side).whole(ids)?);
        match (read(giving, given), read(refusing, refuser)) {
            (Some(whole), Some(barrier)) => telling.find(|value| {
                exact(value).is_some_and(|value| whole.is_valid(&value) && !barrier.is_valid(&value))
            }),
            // Too much to write out, or nothing that another judge reads: the tables say it alone.
            _ => telling.next(),
        }
    }

    /// Whether both accept exactly the same; `false` when nobody knows.
    pub(super) fn equivalent(&self, old: &[SchemaId], new: &[SchemaId]) -> bool {
        // Both directions ask.
        let key = [old.to_vec(), new.to_vec()];
        if let Some(known) = self.equivalents.borrow().get(&key) {
            return *known;
        }
        let found = self.are_equivalent(old, new);
        self.equivalents.borrow_mut().insert(key, found);
        found
    }

    fn are_equivalent(&self, old: &[SchemaId], new: &[SchemaId]) -> bool {
        // The engine takes its time over unions, and a value may tell at once.
        let tells = |value: &Json| self.accepts(Side::Old, old, value) != self.accepts(Side::New, new, value);
        let is_told = |side: Side, ids: &[SchemaId], effort: Effort| {
            let conj = Conj::all(ids.iter().copied());
            self.sampled(side, &conj, effort).iter().any(tells)
        };
        let has_union = |side: Side, ids: &[SchemaId]| !Flat::of(self.graph(side), ids).unions().is_empty();
        let efforts: &[Effort] = match has_union(Side::Old, old) || has_union(Side::New, new) {
            true => &[Effort::Quick, Effort::Thorough],
            false => &[Effort::Quick],
        };
        let tried = |effort: &Effort| is_told(Side::Old, old, *effort) || is_told(Side::New, new, *effort);
        if efforts.iter().any(tried) {
            return false;
        }
        let read = |side: Side, ids: &[SchemaId]| self.engine.read(self.writer(side).whole(ids)?);
        let (Some(old), Some(new)) = (read(Side::Old, old), read(Side::New, new)) else { return false };
        let covers = |wide: &Normal, narrow: &Normal| self.engine.covers(wide, narrow) == Some(true);
        covers(&old, &new) && covers(&new, &old)
    }

    /// Values at the edges of what a place of one side allows.
    pub(super) fn samples(&self, side: Side, conj: &Conj) -> Vec<Json> {
        self.sampled(side, conj, Effort::Thorough)
    }

    fn sampled(&self, side: Side, conj: &Conj, effort: Effort) -> Vec<Json> {
        let part = |id: SchemaId, value: &Json| self.accepts(side, &[id], value);
        sample::values(self.graph(side), conj, false, effort, &part, &sample::Known::default())
    }

    /// A value that `giving` accepts and the barrier refuses, by both engines.
    fn witness(
        &self,
        (giving, given): (Side, &[SchemaId]),
        (refusing, refuser): (Side, &[SchemaId]),
        barrier: &Value,
        tries: impl Iterator<Item = Json>,
    ) -> Option<Json> {
        let tells =
            |value: &Json| self.accepts(giving, given, value) && !self.accepts(refusing, refuser, value);
        let mut telling = tries.filter(tells).peekable();
        // Validators are built only for values that the tables tell apart.
        telling.peek()?;
        let barrier = validator(barrier)?;
        let mut validators = self.validators.borrow_mut();
        let whole = validators.entry((giving, given.to_vec())).or_insert_with(|| {
            let document = self.writer(giving).whole(given)?;
            validator(&document)
        });
        let whole = whole.as_ref()?;
        let shows = |value: &Json| {
            exact(value).is_some_and(|value| whole.is_valid(&value) && !barrier.is_valid(&value))
        };
        telling.find(shows)
    }
}

pub(super) fn validator(document: &Value) -> Option<Validator> {
    // A document has no format but those that are asserted.
    jsonschema::options().should_validate_formats(true).build(document).ok()
}
