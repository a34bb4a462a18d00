//! Checks that each generated type can hold every value that its schema accepts.
//!
//! `accepted_schema` describes the values that a type can hold as a JSON Schema. A [`ContainmentCheck`] that
//! the caller provides then decides if that schema covers the source schema. If it cannot decide, the type is
//! tested with sample values that the validation tables accept. Each value must survive a round trip through
//! the type unchanged. A value that does not is a gap, which is a bug in `shape`. `structure` performs a
//! cheap subset of these checks.

mod accepted_schema;
mod source_schema;
pub(crate) mod structure;
#[cfg(test)]
mod tests;

use contract_runtime::Json;

use self::accepted_schema::accepted_schema;
use crate::{
    analyzed_contract::AnalyzedContract,
    conjunction::{
        sample::{self, SampleCache, SampleEffort},
        type_of,
    },
    schema::{SchemaId, TypeSet, document::SchemaDocumentWriter},
    shape::{TypeDef, TypeId, TypeRef},
    stack::run_on_deep_stack,
    tables::{TableArenas, TableSet},
    typed_value,
};

/// The result of checking that one type can hold every value that its schema accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeProof {
    /// The type can hold every value that the schema accepts.
    Proven,
    /// The type can hold every value under the assumptions of the options: integers fit into 64 bits, and
    /// `properties` describe an object.
    Assumed,
    /// The containment check was undecided, but each of the sample values round-trips, that is, it is parsed
    /// as the type and serialized unchanged. Contains the number of these values.
    Tested(usize),
    /// The schema accepts a value that the type cannot hold. Contains the value, if one was found.
    Gap(Option<Json>),
    /// The type was not checked, for the given reason.
    Skipped(&'static str),
}

impl TypeProof {
    /// Returns the result as a word, such as `proven`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Assumed => "assumed",
            Self::Tested(_) => "tested",
            Self::Gap(_) => "gap",
            Self::Skipped(_) => "skipped",
        }
    }
}

/// A function that returns true if the first schema document accepts every value that the second one accepts,
/// and `None` if it cannot decide.
pub type ContainmentCheck<'a> =
    dyn Fn(serde_json::Value, serde_json::Value) -> Option<bool> + Send + Sync + 'a;

/// Checks for every type of a contract that it can hold every value that its schema accepts. The results are
/// in the order of the types.
///
/// `is_contained` decides if one schema document accepts every value that another one accepts. `seen` is
/// called before each type with the number of types that are already checked, for progress reports.
#[must_use]
pub fn prove_types(
    contract: &AnalyzedContract,
    is_contained: &ContainmentCheck<'_>,
    mut seen: impl FnMut(usize) + Send,
) -> Vec<(TypeId, TypeProof)> {
    run_on_deep_stack(|| {
        let arenas = TableArenas::default();
        let tables = contract.build_tables(&arenas);
        let mut seen_before = ProofCache {
            writer: SchemaDocumentWriter::new(&contract.graph, 's'),
            samples: SampleCache::default(),
        };
        let count = contract.shapes.types.len();
        // In large contracts, fewer samples are generated for each type.
        let places = u32::try_from(MAX_TOTAL_PLACES / count.max(1)).unwrap_or(u32::MAX);
        let effort =
            if count > LARGE_CONTRACT_TYPES { SampleEffort::Within(places) } else { SampleEffort::Thorough };
        let each = |(index, id)| {
            seen(index);
            (id, prove_type(contract, &tables, is_contained, (id, effort), &mut seen_before))
        };
        contract.shapes.ids().enumerate().map(each).collect()
    })
}

/// The data that is computed once and used for the checks of all types.
#[derive(Debug)]
struct ProofCache<'g> {
    writer: SchemaDocumentWriter<'g>,
    samples: SampleCache,
}

/// The maximum number of values visited while sampling all types of a large contract.
const MAX_TOTAL_PLACES: usize = 1_500_000;
/// The number of types above which a contract is treated as large.
const LARGE_CONTRACT_TYPES: usize = 2_000;

fn prove_type(
    contract: &AnalyzedContract,
    tables: &TableSet<'_>,
    is_contained: &ContainmentCheck<'_>,
    (id, effort): (TypeId, SampleEffort),
    seen: &mut ProofCache<'_>,
) -> TypeProof {
    let def = contract.shapes.get(id);
    let written = |assumed: bool| {
        let source = source_schema::source_document(contract, &seen.writer, def, assumed)?;
        Some((accepted_schema(&contract.shapes, id, assumed), source))
    };
    if let Some((wide, narrow)) = written(false)
        && is_contained(wide, narrow) == Some(true)
    {
        return TypeProof::Proven;
    }
    let assumed = written(true).and_then(|(wide, narrow)| is_contained(wide, narrow));
    if assumed == Some(true) {
        return TypeProof::Assumed;
    }
    let samples = cached_samples(contract, tables, def, effort, &seen.samples);
    let gap = samples.iter().find(|value| !round_trips(contract, id, value));
    match (gap, samples.len()) {
        (Some(value), _) => TypeProof::Gap(Some(value.clone())),
        (None, _) if assumed == Some(false) => TypeProof::Gap(None),
        (None, 0) => TypeProof::Skipped("no valid value was found"),
        (None, count) => TypeProof::Tested(count),
    }
}

/// Returns valid sample values of a type's schema: minimum, maximum and values for each branch. The result is
/// deterministic. `tables` must be the validation tables of the contract.
#[cfg(test)]
pub(crate) fn valid_samples(
    contract: &AnalyzedContract,
    tables: &TableSet<'_>,
    def: &TypeDef,
    effort: SampleEffort,
) -> Vec<Json> {
    cached_samples(contract, tables, def, effort, &SampleCache::default())
}

fn cached_samples(
    contract: &AnalyzedContract,
    tables: &TableSet<'_>,
    def: &TypeDef,
    effort: SampleEffort,
    known: &SampleCache,
) -> Vec<Json> {
    let part = |id: SchemaId, value: &Json| tables.is_valid(id, value);
    let implied = contract.options.implied_objects;
    let values = sample::edge_values(&contract.graph, &def.conj, implied, effort, &part, known);
    let valid = |value: &Json| {
        let within = def.conj.within.contains(type_of(value)) || def.conj.within == TypeSet::ALL;
        within && def.conj.ids.iter().all(|&id| tables.is_valid(id, value))
    };
    values.into_iter().filter(valid).collect()
}

/// Returns true if a value can be parsed as the type and is serialized unchanged.
fn round_trips(contract: &AnalyzedContract, id: TypeId, value: &Json) -> bool {
    let typed = typed_value::read_value(&contract.shapes, &TypeRef::Named(id), value);
    typed.is_some_and(|typed| typed_value::write_value(&contract.shapes, &typed) == *value)
}
