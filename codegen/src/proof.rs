//! Whether every generated type can hold all that its schema accepts.
//!
//! [`accepted`] says as a JSON Schema what reading a type lets through. First
//! `jsonschema::canonical` is asked whether that covers the source schema. What it cannot say is
//! tried with instances: they are made from the schema, checked valid by our tables, and have to
//! be read by the type and written back equal. A value that does not is a gap: a bug in `shape`.
//! [`structure`] is the part of it that costs next to nothing.

mod accepted;
mod source;
pub(crate) mod structure;
#[cfg(test)]
mod tests;

use contract_runtime::Json;

use self::accepted::accepted;
#[cfg(feature = "proofs")]
use crate::canonical::Engine;
use crate::{
    held,
    reading::Reading,
    schema::{SchemaId, Types, document::Writer},
    shape::{TypeDef, TypeId, TypeRef},
    stack::deep,
    tables::{Shelves, TableSet},
    together::{
        sample::{self, Effort, Known},
        type_of,
    },
};

/// What is known about a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Every value that the schema accepts can be held.
    Proven,
    /// Every one, given what the options assume: integers within 64 bits, `properties` mean an object.
    Assumed,
    /// Nobody knows, but so many valid values can be held.
    Tested(usize),
    /// The schema accepts something that cannot be held; a value, if one was found.
    Gap(Option<Json>),
    /// Nothing could be said, and why.
    Skipped(&'static str),
}

impl Proof {
    /// The word for it: `proven`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Assumed => "assumed",
            Self::Tested(_) => "tested",
            Self::Gap(_) => "gap",
            Self::Skipped(_) => "skipped",
        }
    }
}

/// Judges every type of a contract, in the order of the types.
///
/// `seen` is called before each with how many are done, for who shows progress.
#[must_use]
pub fn prove(contract: &Reading, mut seen: impl FnMut(usize) + Send) -> Vec<(TypeId, Proof)> {
    deep(|| {
        let shelves = Shelves::default();
        let tables = contract.tables(&shelves);
        #[allow(clippy::let_unit_value, reason = "without the feature `proofs` an engine is nothing")]
        let engine = Engine::default();
        let mut seen_before = Seen { writer: Writer::new(&contract.graph, 's'), known: Known::default() };
        let count = contract.shapes.types.len();
        // Of very many types each is tried with fewer instances.
        let places = u32::try_from(PLACES / count.max(1)).unwrap_or(u32::MAX);
        let effort = if count > MANY { Effort::Within(places) } else { Effort::Thorough };
        let each = |(index, id)| {
            seen(index);
            (id, judge(contract, &tables, &engine, (id, effort), &mut seen_before))
        };
        contract.shapes.ids().enumerate().map(each).collect()
    })
}

/// What was found out about types before.
#[derive(Debug)]
struct Seen<'g> {
    writer: Writer<'g>,
    known: Known,
}

#[cfg(feature = "proofs")]
fn covers(engine: &Engine, wide: serde_json::Value, narrow: serde_json::Value) -> Option<bool> {
    engine.covers(&engine.read(wide)?, &engine.read(narrow)?)
}

/// Nobody is there to be asked: every type is tried with instances.
#[cfg(not(feature = "proofs"))]
type Engine = ();

#[cfg(not(feature = "proofs"))]
fn covers(_: &Engine, _: serde_json::Value, _: serde_json::Value) -> Option<bool> {
    None
}

/// Places that are looked at for the instances of all types together, where there are many.
const PLACES: usize = 1_500_000;
/// So many.
const MANY: usize = 2_000;

fn judge(
    contract: &Reading,
    tables: &TableSet<'_>,
    engine: &Engine,
    (id, effort): (TypeId, Effort),
    seen: &mut Seen<'_>,
) -> Proof {
    let def = contract.shapes.get(id);
    let written = |assumed: bool| {
        let source = source::document(contract, &seen.writer, def, assumed)?;
        Some((accepted(&contract.shapes, id, assumed), source))
    };
    if let Some((wide, narrow)) = written(false)
        && covers(engine, wide, narrow) == Some(true)
    {
        return Proof::Proven;
    }
    let assumed = written(true).and_then(|(wide, narrow)| covers(engine, wide, narrow));
    if assumed == Some(true) {
        return Proof::Assumed;
    }
    let samples = sampled(contract, tables, def, effort, &seen.known);
    let gap = samples.iter().find(|value| !holds(contract, id, value));
    match (gap, samples.len()) {
        (Some(value), _) => Proof::Gap(Some(value.clone())),
        (None, _) if assumed == Some(false) => Proof::Gap(None),
        (None, 0) => Proof::Skipped("no valid value was found"),
        (None, count) => Proof::Tested(count),
    }
}

/// Valid values of a type's schema, made deterministically: least, most, every branch. `tables` are
/// the contract's.
#[cfg(test)]
pub(crate) fn samples(contract: &Reading, tables: &TableSet<'_>, def: &TypeDef, effort: Effort) -> Vec<Json> {
    sampled(contract, tables, def, effort, &Known::default())
}

fn sampled(
    contract: &Reading,
    tables: &TableSet<'_>,
    def: &TypeDef,
    effort: Effort,
    known: &Known,
) -> Vec<Json> {
    let part = |id: SchemaId, value: &Json| tables.is_valid(id, value);
    let implied = contract.options.implied_objects;
    let values = sample::values(&contract.graph, &def.conj, implied, effort, &part, known);
    let valid = |value: &Json| {
        let within = def.conj.within.contains(type_of(value)) || def.conj.within == Types::ALL;
        within && def.conj.ids.iter().all(|&id| tables.is_valid(id, value))
    };
    values.into_iter().filter(valid).collect()
}

/// Whether a type reads a value and writes it back equal.
fn holds(contract: &Reading, id: TypeId, value: &Json) -> bool {
    let held = held::read(&contract.shapes, &TypeRef::Named(id), value);
    held.is_some_and(|held| held::write(&contract.shapes, &held) == *value)
}
