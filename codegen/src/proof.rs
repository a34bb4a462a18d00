//! Whether every generated type can hold all that its schema accepts.
//!
//! [`accepted`] says as a JSON Schema what reading a type lets through. First
//! `jsonschema::canonical` is asked whether that covers the source schema. What it cannot say is
//! tried with instances: they are made from the schema, checked valid by our tables, and have to
//! pass what the type accepts. A value that does not is a gap: a bug in `shape`.

mod accepted;
mod engine;
mod source;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use contract_runtime::Json;

pub use self::accepted::accepted;
use crate::{
    generate::Contract,
    load::Sources,
    resolve::{ResolveOptions, UnknownKeywords, resolve},
    schema::{SchemaId, Types},
    shape::{TypeDef, TypeId},
    stack::deep,
    tables::{TableSet, patterns},
    together::{sample, type_of},
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
pub fn prove(contract: &Contract, mut seen: impl FnMut(usize) + Send) -> Vec<(TypeId, Proof)> {
    let holder = Holder::new(contract);
    let each = |(index, id)| {
        seen(index);
        (id, judge(contract, id, holder.as_ref()))
    };
    deep(|| contract.shapes.ids().enumerate().map(each).collect())
}

fn judge(contract: &Contract, id: TypeId, holder: Option<&Holder>) -> Proof {
    let def = contract.shapes.get(id);
    let written = |assumed: bool| {
        let source = source::document(contract, def, assumed)?;
        Some((accepted::document(&contract.shapes, id, assumed), source))
    };
    if let Some((wide, narrow)) = written(false)
        && engine::covers(wide, narrow) == Some(true)
    {
        return Proof::Proven;
    }
    let assumed = written(true).and_then(|(wide, narrow)| engine::covers(wide, narrow));
    if assumed == Some(true) {
        return Proof::Assumed;
    }
    let Some(holder) = holder else { return Proof::Skipped("what the types accept cannot be evaluated") };
    let samples = samples(contract, def);
    let gap = samples.iter().find(|value| !holder.holds(id, value));
    match (gap, samples.len()) {
        (Some(value), _) => Proof::Gap(Some(value.clone())),
        (None, _) if assumed == Some(false) => Proof::Gap(None),
        (None, 0) => Proof::Skipped("no valid value was found"),
        (None, count) => Proof::Tested(count),
    }
}

/// Valid values of a type's schema, made deterministically: least, most, every branch.
#[must_use]
pub fn samples(contract: &Contract, def: &TypeDef) -> Vec<Json> {
    let part = |id: SchemaId, value: &Json| contract.tables.is_valid(id, value);
    let values = sample::values(&contract.graph, &def.conj, contract.options.implied_objects, &part);
    let valid = |value: &Json| {
        let within = def.conj.within.contains(type_of(value)) || def.conj.within == Types::ALL;
        within && def.conj.ids.iter().all(|&id| contract.tables.is_valid(id, value))
    };
    values.into_iter().filter(valid).collect()
}

/// What all types accept, as tables that our own evaluator runs.
struct Holder {
    tables: TableSet,
    rows: BTreeMap<TypeId, SchemaId>,
}

impl Holder {
    fn new(contract: &Contract) -> Option<Self> {
        let text = accepted::all(&contract.shapes).to_string();
        let mut sources = Sources::from_texts(&[("accepted.json", "urn:accepted", &text)]).ok()?;
        let options = ResolveOptions { unknown_keywords: UnknownKeywords::Deny, ..ResolveOptions::default() };
        let (graph, _, diagnostics) = resolve(&mut sources, &options);
        if diagnostics.has_errors() {
            return None;
        }
        let rows = contract.shapes.ids().map(|id| {
            let location = format!("/$defs/{}", accepted::key(id));
            Some((id, graph.ids().find(|&row| graph.schema(row).location == location)?))
        });
        let rows = rows.collect::<Option<_>>()?;
        let tables = TableSet::new(&graph, &crate::shape::Shapes::default(), patterns(&graph).0);
        Some(Self { tables, rows })
    }

    fn holds(&self, id: TypeId, value: &Json) -> bool {
        self.rows.get(&id).is_some_and(|&row| self.tables.is_valid(row, value))
    }
}
