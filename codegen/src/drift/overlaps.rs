//! Compares the overlaps of branches, that is, the values that a `oneOf` refuses because they match two
//! branches.

use std::collections::{BTreeMap, BTreeSet};

use contract_codegen_core::schema::{SchemaId, TypeSet, keywords::Keyword};

use super::{
    branches::BranchMatch,
    comparison::{Comparison, SchemaPair},
    directions::VersionSchemas,
    flattened::{FlattenedSchema, SchemaUnion},
    proof::VersionSide,
    rules::{self, DriftRule},
    site::ValueUse,
    verdicts::{GivenAndRefusing, KeywordFacet},
};

/// The maximum number of pairs of branches for which proofs are attempted.
const MAX_PROVED_PAIRS: usize = 200;
/// The maximum number of pairs of branches that are checked with [`is_disjoint`]. If a union has more pairs,
/// all pairs count as overlapping.
const MAX_SCREENED_PAIRS: usize = 200_000;

/// A comparer for the overlaps between the branches of a pair of unions.
pub(super) struct OverlapComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    pair: &'c SchemaPair<'g>,
}

impl<'c, 'g> OverlapComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, pair: &'c SchemaPair<'g>) -> Self {
        Self { comparison, pair }
    }

    /// Reports values that match two branches of a `oneOf` that only one version contains. If the `oneOf`
    /// replaced a schema, such values became invalid. If a schema replaced the `oneOf`, such values became
    /// valid. `side` is the version with the union.
    pub(super) fn compare_overlap(&mut self, side: VersionSide, union: SchemaUnion<'g>) {
        let pair = self.pair;
        let (rule, value_use, message) = match side {
            VersionSide::New => (
                rules::UNION_NARROWED,
                ValueUse::Write,
                "values that match two branches of `oneOf` are no longer valid",
            ),
            VersionSide::Old => (
                rules::UNION_WIDENED,
                ValueUse::Read,
                "values that match two branches are now valid, because `oneOf` was removed",
            ),
        };
        if union.one && pair.site.value_use == value_use {
            let all = union.branches.iter().copied().collect();
            self.report_overlap(
                rule,
                side,
                &possibly_overlapping_pairs(self.comparison.graph(side), union, &all),
                message,
            );
        }
    }

    /// Reports values that match two branches of a `oneOf` in only one version, because branches were added,
    /// removed or changed. `side` is that version. `further` contains its branches without a match in the
    /// other version.
    pub(super) fn compare_branch_overlaps(
        &mut self,
        (side, union): (VersionSide, SchemaUnion<'g>),
        matches: &[BranchMatch],
        further: &[SchemaId],
    ) {
        let pair = self.pair;
        let (rule, value_use, message) = match side {
            VersionSide::New => (
                rules::UNION_NARROWED,
                ValueUse::Write,
                "more values match two branches of `oneOf` and are therefore no longer valid",
            ),
            VersionSide::Old => (
                rules::UNION_WIDENED,
                ValueUse::Read,
                "fewer values match two branches of `oneOf`; the others are now valid",
            ),
        };
        if !union.one || pair.site.value_use != value_use {
            return;
        }
        let of_side =
            |(before, after): (SchemaId, SchemaId)| if side == VersionSide::New { after } else { before };
        let changed: Vec<(SchemaId, SchemaId)> = matches
            .iter()
            .map(|each| (each.old, each.new))
            .filter(|(before, after)| !self.comparison.identity().is_identical(&[*before], &[*after]))
            .collect();
        let changed: Vec<(SchemaId, SchemaId)> = changed
            .into_iter()
            .filter(|(before, after)| !self.comparison.has_no_value_difference(&[*before], &[*after]))
            .collect();
        let affected: BTreeSet<SchemaId> =
            further.iter().copied().chain(changed.iter().copied().map(of_side)).collect();
        let mut overlapping = possibly_overlapping_pairs(self.comparison.graph(side), union, &affected);
        if overlapping.is_empty() {
            return;
        }
        let narrower: BTreeSet<SchemaId> =
            changed.into_iter().filter(|both| !self.may_accept_more(side, *both)).map(of_side).collect();
        overlapping
            .retain(|pair| pair.iter().any(|branch| affected.contains(branch) && !narrower.contains(branch)));
        self.report_overlap(rule, side, &overlapping, message);
    }

    /// Returns true if a branch in the version `side` may accept a value that the corresponding branch in the
    /// other version refuses.
    fn may_accept_more(&mut self, side: VersionSide, (before, after): (SchemaId, SchemaId)) -> bool {
        let pair = self.pair;
        let (old, new) = ((VersionSide::Old, &[before][..]), (VersionSide::New, &[after][..]));
        let (wide, narrow) = if side == VersionSide::New { (new, old) } else { (old, new) };
        let site = pair.site.clone().restricted_to(TypeSet::ALL);
        let schemas = GivenAndRefusing { giving: wide, refusing: narrow };
        let verdict = self.comparison.judge_values(schemas, &site, &KeywordFacet::new(Keyword::ALL));
        match (verdict, side) {
            (Some(verdict), _) => verdict.is_err(),
            // A new branch accepts more if the old branch cannot read all of its values.
            (None, VersionSide::New) => !self.comparison.can_read(&[before], &[after]),
            (None, VersionSide::Old) => !self.comparison.has_no_difference(&[before], &[after]),
        }
    }

    /// Reports `rule` if branches of one version overlap for a value that the other version accepts. `side` is
    /// the version whose branches may overlap; `overlapping` contains the pairs of these branches. If a proof
    /// finds a value that matches both branches of a pair, the value is reported as the witness. Reports
    /// nothing if a proof shows that there is no such value, or that both versions accept the same values.
    fn report_overlap(
        &mut self,
        rule: &'static DriftRule,
        side: VersionSide,
        overlapping: &[[SchemaId; 2]],
        message: &str,
    ) {
        let pair = self.pair;
        let giving = match side {
            VersionSide::New => (VersionSide::Old, pair.old_ids.as_slice()),
            VersionSide::Old => (VersionSide::New, pair.new_ids.as_slice()),
        };
        if overlapping.is_empty() {
            return;
        }
        let prover = self.comparison.enabled_prover(pair.site.value_use);
        let prover = prover.filter(|_| overlapping.len() <= MAX_PROVED_PAIRS);
        let verdict = prover.and_then(|prover| prover.prove_no_overlap(giving, side, overlapping));
        if verdict == Some(Ok(())) || verdict.is_none() && self.comparison.is_proven_equivalent(pair) {
            return;
        }
        self.comparison.report_with_verdict(
            rule,
            pair,
            message.to_owned(),
            &KeywordFacet::new(&[Keyword::OneOf]),
            verdict,
        );
    }
}

/// Returns the pairs of branches that may overlap and that contain at least one of the branches in `some`.
fn possibly_overlapping_pairs<'g>(
    graph: &'g VersionSchemas<'g>,
    union: SchemaUnion<'_>,
    some: &BTreeSet<SchemaId>,
) -> Vec<[SchemaId; 2]> {
    let forms: Vec<(SchemaId, bool)> =
        union.branches.iter().map(|form| (*form, some.contains(form))).collect();
    let pairs = forms.iter().enumerate().flat_map(|(at, (one, is_selected))| {
        let others = forms.iter().skip(at + 1).filter(move |(_, other)| *is_selected || *other);
        others.map(move |(other, _)| [*one, *other])
    });
    let mut candidates: Vec<[SchemaId; 2]> = pairs.take(MAX_SCREENED_PAIRS + 1).collect();
    if !candidates.is_empty() && candidates.len() <= MAX_SCREENED_PAIRS {
        let flats: BTreeMap<SchemaId, FlattenedSchema<'_>> = union
            .branches
            .iter()
            .map(|form| (*form, FlattenedSchema::from_schemas(graph, &[*form])))
            .collect();
        candidates.retain(|[one, other]| match (flats.get(one), flats.get(other)) {
            (Some(one), Some(other)) => !is_disjoint(graph, one, other),
            _ => true,
        });
    }
    candidates
}

/// Returns true if a simple check shows that two branches accept no common value. The check considers their
/// types, their listed values, properties with different values, and properties that one branch requires and
/// the other forbids.
fn is_disjoint<'g>(
    graph: &'g VersionSchemas<'g>,
    one: &FlattenedSchema<'g>,
    other: &FlattenedSchema<'g>,
) -> bool {
    let common = one.types().intersection(other.types());
    let disjoint = |one: &FlattenedSchema<'_>, other: &FlattenedSchema<'_>| match (
        one.listed_values(),
        other.listed_values(),
    ) {
        (Some(some), Some(others)) => !some.iter().any(|value| others.contains(value)),
        _ => false,
    };
    let member = |flat: &FlattenedSchema<'g>, name: &str| {
        FlattenedSchema::from_schemas(graph, &flat.property_schemas(name))
    };
    let distinguishes = |name: &&str| {
        other.requires_property(name)
            && one.requires_property(name)
            && disjoint(&member(one, name), &member(other, name))
    };
    let forbids = |one: &FlattenedSchema<'_>, other: &FlattenedSchema<'_>| {
        let mut required = one.schemas().flat_map(|schema| &schema.required);
        required.any(|name| {
            other.property_schemas(name).iter().any(|id| graph.schema(*id).boolean == Some(false))
        })
    };
    let by_member =
        || one.declared_names().iter().any(distinguishes) || forbids(one, other) || forbids(other, one);
    common.is_empty() || disjoint(one, other) || common == TypeSet::OBJECT && by_member()
}
