//! Proofs and witnesses for differences that look breaking.
//!
//! In each direction, one version is the *sending* version and the other the *receiving* one: readers of the
//! old version receive values of the new version, and writers of the old version send values to the new one.
//! In code, the sending version is called `giving`, and the receiving version `refusing`.
//!
//! Two questions decide whether a difference breaks clients:
//!
//! * Do the changed keywords of the receiving version accept every value that the sending version accepts?
//!   If so, the difference is harmless. `canonical` (experimental) decides this.
//! * Is there a value that the sending version accepts and those keywords refuse? If so, the difference is
//!   breaking, and the value is reported as a witness, provided that the runtime's validation tables agree.
//!   Generated code is tested against the same tables.
//!
//! Automata decide patterns and lengths of strings (`strings`). If no engine can decide, the level of the
//! rule remains.

use std::{
    cell::{OnceCell, RefCell},
    collections::HashMap,
};

use contract_codegen_core::{
    conjunction::{
        SchemaConjunction,
        sample::{self, SampleEffort},
        type_of,
    },
    schema::{
        SchemaGraph, SchemaId, TypeSet,
        document::{self, SchemaDocumentWriter, to_exact_value},
        keywords::{Keyword, vocabulary},
    },
    tables::{TableArenas, TablePlan, TableSet},
};
use contract_runtime::Json;
use jsonschema::Validator;
use serde_json::Value;

use super::{
    directions::{SchemaVersions, VersionSchemas},
    flattened::FlattenedSchema,
    formats::{self, FORMAT_KEYWORDS},
    site::ValueUse,
    strings::{self, InclusionVerdict},
    verdicts::KeywordFacet,
};
use crate::canonical::{CanonicalForm, ContainmentChecker};

/// The maximum length of a string in a witness, in bytes.
const MAX_WITNESS_BYTES: usize = 300;
/// The maximum number of pairs of branches for which many sample values are generated. If there are more
/// pairs, fewer values are generated for each pair.
const MAX_THOROUGH_PAIRS: usize = 20;

/// One of the two compared versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum VersionSide {
    /// The old version.
    Old,
    /// The new version.
    New,
}

/// A cache of data that is derived from schemas of one version. An entry is `None` if the derivation failed.
type SideCache<T> = RefCell<HashMap<(VersionSide, Vec<SchemaId>), Option<T>>>;

/// A prover for statements about the values that the versions accept. It caches the results.
pub(super) struct SchemaProver<'g> {
    sides: &'g SchemaVersions<'g>,
    engine: ContainmentChecker,
    old_writer: SchemaDocumentWriter<'g>,
    new_writer: SchemaDocumentWriter<'g>,
    normal_forms: SideCache<CanonicalForm>,
    validators: SideCache<Validator>,
    /// The results of equivalence proofs, by the schemas of both versions.
    equivalences: RefCell<HashMap<[Vec<SchemaId>; 2], bool>>,
    old_tables: LazyTables<'g>,
    new_tables: LazyTables<'g>,
}

/// The storage from which the validation tables of both versions borrow.
#[derive(Default)]
pub(super) struct TableStores<'g> {
    old: TableStore<'g>,
    new: TableStore<'g>,
}

/// The storage from which the validation tables of one version borrow.
#[derive(Default)]
struct TableStore<'g> {
    plan: OnceCell<TablePlan>,
    arenas: TableArenas<'g>,
}

/// The validation tables of one version, built at the first use.
struct LazyTables<'g> {
    store: &'g TableStore<'g>,
    table_set: OnceCell<TableSet<'g>>,
}

impl<'g> LazyTables<'g> {
    fn get_tables(&self, graph: &'g SchemaGraph) -> &TableSet<'g> {
        self.table_set.get_or_init(|| {
            let plan = self.store.plan.get_or_init(|| TablePlan::from_graph(graph));
            plan.build_tables(graph, &self.store.arenas)
        })
    }
}

/// The result of a proof. `Ok` means that no value is refused. `Err` means that a value is refused; it
/// contains such a value, if one was found.
pub(super) type ProofVerdict = Result<(), Option<Json>>;

impl<'g> SchemaProver<'g> {
    pub(super) fn new(sides: &'g SchemaVersions<'g>, tables: &'g TableStores<'g>) -> Self {
        let built = |store| LazyTables { store, table_set: OnceCell::new() };
        Self {
            sides,
            engine: ContainmentChecker::default(),
            old_writer: SchemaDocumentWriter::new(sides.get(VersionSide::Old), 'o'),
            new_writer: SchemaDocumentWriter::new(sides.get(VersionSide::New), 'n'),
            normal_forms: RefCell::default(),
            validators: RefCell::default(),
            equivalences: RefCell::default(),
            old_tables: built(&tables.old),
            new_tables: built(&tables.new),
        }
    }

    pub(super) const fn graph(&self, side: VersionSide) -> &'g VersionSchemas<'g> {
        self.sides.get(side)
    }

    /// Returns true if a value is valid under each of the given schemas of one version, according to the
    /// runtime's validation tables.
    pub(super) fn accepts_value(&self, side: VersionSide, ids: &[SchemaId], value: &Json) -> bool {
        let tables = match side {
            VersionSide::Old => &self.old_tables,
            VersionSide::New => &self.new_tables,
        };
        let tables = tables.get_tables(self.graph(side));
        self.graph(side).without_nested_parts(ids).iter().all(|id| tables.is_valid(*id, value))
    }

    const fn document_writer(&self, side: VersionSide) -> &SchemaDocumentWriter<'g> {
        match side {
            VersionSide::Old => &self.old_writer,
            VersionSide::New => &self.new_writer,
        }
    }

    /// Decides whether the strings that one schema accepts satisfy the given string keywords of another
    /// schema.
    pub(super) fn decide_strings(
        &self,
        given: &FlattenedSchema<'g>,
        accepting: &FlattenedSchema<'g>,
        keywords: &[Keyword],
    ) -> InclusionVerdict {
        given.graph.programs.decide_inclusion(given, accepting, keywords)
    }

    /// Returns true if two patterns are proven to match the same strings.
    pub(super) fn matches_same_strings(&self, one: &str, other: &str) -> bool {
        self.graph(VersionSide::Old).programs.are_equal_patterns(one, other)
    }

    /// Decides whether the receiving version's keywords of the facet accept every value of the given types that
    /// the sending version accepts. Returns `None` if no decision is possible.
    pub(super) fn prove_accepted(
        &self,
        (giving, given): (VersionSide, &[SchemaId]),
        (refusing, refuser): (VersionSide, &[SchemaId]),
        within: TypeSet,
        facet: &KeywordFacet,
    ) -> Option<ProofVerdict> {
        let mut tries = facet.candidates.clone();
        if strings::are_string_keywords(facet.keywords) {
            let flat =
                |side: VersionSide, ids: &[SchemaId]| FlattenedSchema::from_schemas(self.graph(side), ids);
            match self.decide_strings(&flat(giving, given), &flat(refusing, refuser), facet.keywords) {
                InclusionVerdict::Holds => return Some(Ok(())),
                InclusionVerdict::Fails(text) if text.len() <= MAX_WITNESS_BYTES => {
                    tries.insert(0, Json::String(text))
                }
                InclusionVerdict::Fails(_) | InclusionVerdict::Unknown(_) => {}
            }
        }
        let barrier = self.keywords_document((refusing, refuser), facet)?;
        let conj = SchemaConjunction::from_schemas(given.iter().copied()).within(within);
        let witness = |values: Vec<Json>| {
            let fitting = values.into_iter().filter(|value| within.contains(type_of(value)));
            self.find_witness((giving, given), (refusing, refuser), &barrier, fitting)
        };
        if let Some(found) = witness(tries).or_else(|| witness(self.sample_values(giving, &conj))) {
            return Some(Err(Some(found)));
        }
        if facet.keywords == FORMAT_KEYWORDS {
            // The engine treats all formats as unrelated, although one format may include another.
            let flat =
                |side: VersionSide, ids: &[SchemaId]| FlattenedSchema::from_schemas(self.graph(side), ids);
            return formats::implies_formats_of(&flat(giving, given), &flat(refusing, refuser))
                .then_some(Ok(()));
        }
        // The schema is restricted to the types of the sent values, because the engine can decide typed
        // schemas more often.
        let types = FlattenedSchema::from_schemas(self.graph(giving), given).types().intersection(within);
        let barrier = self.engine.canonicalize(document::restrict_types(barrier, types))?;
        let whole = || {
            self.engine.canonicalize(document::restrict_types(
                self.document_writer(giving).write_conjunction(given)?,
                within,
            ))
        };
        let wholes = &mut *self.normal_forms.borrow_mut();
        // Restricted types are rare, so their normal form is not cached.
        let own = if within == TypeSet::ALL { None } else { Some(whole()?) };
        let whole = match &own {
            Some(whole) => whole,
            None => wholes.entry((giving, given.to_vec())).or_insert_with(whole).as_ref()?,
        };
        let covers = self.engine.check_coverage(&barrier, whole)?;
        Some(if covers { Ok(()) } else { Err(None) })
    }

    /// Returns a candidate of the facet that the sending version accepts and that the facet's keywords of the
    /// receiving version refuse.
    pub(super) fn find_refused_candidate(
        &self,
        given: (VersionSide, &[SchemaId]),
        refuser: (VersionSide, &[SchemaId]),
        within: TypeSet,
        facet: &KeywordFacet,
    ) -> Option<Json> {
        let barrier = self.keywords_document(refuser, facet)?;
        let fitting = facet.candidates.iter().filter(|value| within.contains(type_of(value)));
        self.find_witness(given, refuser, &barrier, fitting.cloned())
    }

    /// Creates a schema document that contains only the facet's keywords of the given schemas. If the facet
    /// includes an `unevaluated…` keyword and the schemas use one, the document contains all keywords of the
    /// schemas, because `unevaluated…` depends on adjacent keywords.
    fn keywords_document(
        &self,
        (refusing, refuser): (VersionSide, &[SchemaId]),
        facet: &KeywordFacet,
    ) -> Option<Value> {
        let writer = self.document_writer(refusing);
        let refuser = &*self.graph(refusing).without_nested_parts(refuser);
        let spread = facet.keywords.iter().any(|keyword| keyword.vocabulary() == vocabulary::UNEVALUATED)
            && refuser.iter().any(|id| writer.has_unevaluated_keywords(*id));
        if spread {
            writer.write_conjunction(refuser)
        } else {
            writer.write_keywords(refuser, facet.keywords)
        }
    }

    /// Decides whether all of the given pairs of branches are disjoint, that is, whether no value of the
    /// sending version matches both branches of a pair. `side` is the version that contains the branches.
    /// Returns `None` if no decision is possible.
    pub(super) fn prove_no_overlap(
        &self,
        (giving, given): (VersionSide, &[SchemaId]),
        side: VersionSide,
        pairs: &[[SchemaId; 2]],
    ) -> Option<ProofVerdict> {
        let writer = self.document_writer(side);
        let whole = build_validator(&self.document_writer(giving).write_conjunction(given)?);
        let effort =
            if pairs.len() > MAX_THOROUGH_PAIRS { SampleEffort::Quick } else { SampleEffort::Thorough };
        for both in pairs {
            let distinguishes = |value: &Json| {
                self.accepts_value(giving, given, value) && self.accepts_value(side, both, value)
            };
            let is_confirmed = |value: &Json| {
                let fits = || build_validator(&writer.write_conjunction(both)?);
                let (Some(value), Some(whole), Some(fits)) = (to_exact_value(value), &whole, fits()) else {
                    return false;
                };
                whole.is_valid(&value) && fits.is_valid(&value)
            };
            let mut samples =
                self.sample_with_effort(side, &SchemaConjunction::from_schemas(*both), effort).into_iter();
            if let Some(found) = samples.find(|value| distinguishes(value) && is_confirmed(value)) {
                return Some(Err(Some(found)));
            }
        }
        let whole = self.engine.canonicalize(self.document_writer(giving).write_conjunction(given)?)?;
        for both in pairs {
            let apart = self.engine.canonicalize(writer.write_negation(both)?)?;
            if !self.engine.check_coverage(&apart, &whole)? {
                return Some(Err(None));
            }
        }
        Some(Ok(()))
    }

    /// Returns a value that the sending version accepts and the receiving version refuses. The value contains
    /// only properties that the sending version describes.
    pub(super) fn find_refused_value(
        &self,
        (giving, given): (VersionSide, &[SchemaId]),
        (refusing, refuser): (VersionSide, &[SchemaId]),
        (usage, within): (ValueUse, TypeSet),
        effort: SampleEffort,
    ) -> Option<Json> {
        let conj = |ids: &[SchemaId]| SchemaConjunction::from_schemas(ids.iter().copied()).within(within);
        let own = self.sample_with_effort(giving, &conj(given), effort).into_iter();
        // A boundary value of the receiving version may be inside the range of the sending version.
        let all = own.chain(self.sample_with_effort(refusing, &conj(refuser), effort));
        let distinguishes = |value: &Json| {
            within.contains(type_of(value))
                && self.accepts_value(giving, given, value)
                && !self.accepts_value(refusing, refuser, value)
        };
        let mut witnesses = all
            .filter(|value| distinguishes(value) && self.describes_value((giving, given), usage, value))
            .peekable();
        witnesses.peek()?;
        let read = |side: VersionSide, ids: &[SchemaId]| {
            build_validator(&self.document_writer(side).write_conjunction(ids)?)
        };
        match (read(giving, given), read(refusing, refuser)) {
            (Some(whole), Some(barrier)) => witnesses.find(|value| {
                to_exact_value(value).is_some_and(|value| whole.is_valid(&value) && !barrier.is_valid(&value))
            }),
            // If a schema is too large for a document, or the other validator does not support it, the tables
            // alone decide.
            _ => witnesses.next(),
        }
    }

    /// Returns true if both versions are proven to accept exactly the same values.
    pub(super) fn are_equivalent(&self, old: &[SchemaId], new: &[SchemaId]) -> bool {
        // The result is cached, because both directions need it.
        let key = [old.to_vec(), new.to_vec()];
        if let Some(known) = self.equivalences.borrow().get(&key) {
            return *known;
        }
        let found = self.prove_equivalence(old, new);
        self.equivalences.borrow_mut().insert(key, found);
        found
    }

    fn prove_equivalence(&self, old: &[SchemaId], new: &[SchemaId]) -> bool {
        if self.are_distinguished(old, new) {
            return false;
        }
        let read = |side: VersionSide, ids: &[SchemaId]| {
            self.engine.canonicalize(self.document_writer(side).write_conjunction(ids)?)
        };
        let (Some(old), Some(new)) = (read(VersionSide::Old, old), read(VersionSide::New, new)) else {
            return false;
        };
        let covers = |wide: &CanonicalForm, narrow: &CanonicalForm| {
            self.engine.check_coverage(wide, narrow) == Some(true)
        };
        covers(&old, &new) && covers(&new, &old)
    }

    /// Returns true if one of the sample values is valid in only one version.
    pub(super) fn are_distinguished(&self, old: &[SchemaId], new: &[SchemaId]) -> bool {
        // The engine is slow for unions, and a sample value may show a difference immediately.
        let distinguishes = |value: &Json| {
            self.accepts_value(VersionSide::Old, old, value)
                != self.accepts_value(VersionSide::New, new, value)
        };
        let finds_witness = |side: VersionSide, ids: &[SchemaId], effort: SampleEffort| {
            let conj = SchemaConjunction::from_schemas(ids.iter().copied());
            self.sample_with_effort(side, &conj, effort).iter().any(distinguishes)
        };
        let has_union = |side: VersionSide, ids: &[SchemaId]| {
            !FlattenedSchema::from_schemas(self.graph(side), ids).unions().is_empty()
        };
        let efforts: &[SampleEffort] =
            match has_union(VersionSide::Old, old) || has_union(VersionSide::New, new) {
                true => &[SampleEffort::Quick, SampleEffort::Thorough],
                false => &[SampleEffort::Quick],
            };
        let is_distinguished = |effort: &SampleEffort| {
            finds_witness(VersionSide::Old, old, *effort) || finds_witness(VersionSide::New, new, *effort)
        };
        efforts.iter().any(is_distinguished)
    }

    /// Returns true if the receiving version is proven to accept every value of the given types that the
    /// sending version accepts.
    pub(super) fn is_covered(
        &self,
        (giving, given): (VersionSide, &[SchemaId]),
        (refusing, refuser): (VersionSide, &[SchemaId]),
        within: TypeSet,
    ) -> bool {
        let read = |side: VersionSide, ids: &[SchemaId]| {
            let document = self.document_writer(side).write_conjunction(ids)?;
            self.engine.canonicalize(document::restrict_types(document, within))
        };
        let (Some(narrow), Some(wide)) = (read(giving, given), read(refusing, refuser)) else { return false };
        self.engine.check_coverage(&wide, &narrow) == Some(true)
    }

    /// Returns boundary values (edge cases) of the given schemas in one version.
    pub(super) fn sample_values(&self, side: VersionSide, conj: &SchemaConjunction) -> Vec<Json> {
        self.sample_with_effort(side, conj, SampleEffort::Thorough)
    }

    pub(super) fn sample_with_effort(
        &self,
        side: VersionSide,
        conj: &SchemaConjunction,
        effort: SampleEffort,
    ) -> Vec<Json> {
        let part = |id: SchemaId, value: &Json| self.accepts_value(side, &[id], value);
        sample::edge_values(self.graph(side), conj, false, effort, &part, &sample::SampleCache::default())
    }

    /// Returns the first value in `tries` that the sending version accepts and the receiving version refuses,
    /// according to the validation tables and to `jsonschema`. `barrier` is a schema document with the
    /// keywords that must refuse the value.
    fn find_witness(
        &self,
        (giving, given): (VersionSide, &[SchemaId]),
        (refusing, refuser): (VersionSide, &[SchemaId]),
        barrier: &Value,
        tries: impl Iterator<Item = Json>,
    ) -> Option<Json> {
        let distinguishes = |value: &Json| {
            self.accepts_value(giving, given, value) && !self.accepts_value(refusing, refuser, value)
        };
        let mut witnesses = tries.filter(distinguishes).peekable();
        // Validators are built only if the tables find a candidate.
        witnesses.peek()?;
        let barrier = build_validator(barrier)?;
        let mut validators = self.validators.borrow_mut();
        let whole = validators.entry((giving, given.to_vec())).or_insert_with(|| {
            let document = self.document_writer(giving).write_conjunction(given)?;
            build_validator(&document)
        });
        let whole = whole.as_ref()?;
        let is_confirmed = |value: &Json| {
            to_exact_value(value).is_some_and(|value| whole.is_valid(&value) && !barrier.is_valid(&value))
        };
        witnesses.find(is_confirmed)
    }
}

pub(super) fn build_validator(document: &Value) -> Option<Validator> {
    // The documents contain only asserted formats.
    jsonschema::options().should_validate_formats(true).build(document).ok()
}
