//! Compares a schema in one version with a union in the other version. One branch of the union corresponds to
//! the schema, or several branches correspond to its types.

use contract_codegen_core::schema::{
    Schema, SchemaId, TypeSet,
    keywords::{Keyword, KeywordRole},
};

use super::{
    branches::{branch_label, branch_type_name, sample_branch, union_absorbs},
    comparison::{Comparison, SchemaPair, flattened_place},
    directions::VersionSchemas,
    flattened::{FlattenedSchema, SchemaUnion, ValueListing},
    overlaps::OverlapComparer,
    proof::VersionSide,
    rules,
    site::{AnnotationSource, StepKind, ValueUse},
    verdicts::KeywordFacet,
};

/// A schema in one version that corresponds to branches of a union in the other version.
pub(super) struct UnionAlternatives<'g> {
    /// The version with the union.
    pub(super) side: VersionSide,
    union: SchemaUnion<'g>,
    /// The branches that correspond to the schema, each with the types for which the branch is compared with
    /// the schema.
    branches: Vec<(SchemaId, TypeSet)>,
}

impl UnionAlternatives<'_> {
    /// Returns the branches to compare with the schema. If several branches correspond to it, the branch for
    /// `null` is omitted, because `null` is valid in both versions.
    pub(super) fn compared_branches(&self, graph: &VersionSchemas<'_>) -> Vec<(SchemaId, TypeSet)> {
        let branches = self.branches.iter().copied();
        branches.filter(|(branch, _)| self.branches.len() == 1 || !is_null(graph, *branch)).collect()
    }
}

/// Compares a schema with the corresponding branches of a union in the other version. Reports the other
/// branches as added or removed. Returns false if [`find_alternatives`] finds no such union.
pub(super) fn compare_alternatives<'g>(comparison: &mut Comparison<'g>, pair: &SchemaPair<'g>) -> bool {
    let Some(alternatives) = find_alternatives(comparison, pair) else { return false };
    let UnionAlternatives { side, union, .. } = alternatives;
    let comparer = &mut AlternativeComparer { comparison, pair, alternatives };
    comparer.report_further_branches();
    OverlapComparer::new(comparer.comparison, pair).compare_overlap(side, union);
    comparer.compare_corresponding_branches();
    true
}

struct AlternativeComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    pair: &'c SchemaPair<'g>,
    alternatives: UnionAlternatives<'g>,
}

impl AlternativeComparer<'_, '_> {
    /// Reports each branch that does not correspond to the schema: as added if the new version contains the
    /// union, otherwise as removed.
    fn report_further_branches(&mut self) {
        let pair = self.pair;
        let UnionAlternatives { side, union, .. } = self.alternatives;
        let graph = self.comparison.graph(side);
        let is_added = side == VersionSide::New;
        for (position, id) in union.branches.iter().copied().enumerate() {
            if self.alternatives.branches.iter().any(|(branch, _)| *branch == id) {
                continue;
            }
            let is_null = is_null(graph, id);
            let name = branch_label(graph, id, position, None);
            let (rule, effect) = match (is_added, is_null) {
                (true, true) => (rules::NULL_ADDED, "is now valid, too"),
                (true, false) => (rules::BRANCH_ADDED, "is now valid, too"),
                (false, true) => (rules::NULL_REMOVED, "is no longer valid"),
                (false, false) => (rules::BRANCH_REMOVED, "is no longer valid"),
            };
            let message =
                if is_null { format!("`null` {effect}") } else { format!("the branch {name} {effect}") };
            let (old, new) = (flattened_place(&pair.old), flattened_place(&pair.new));
            let place = Some(&graph.schema(id).place);
            let places = if is_added { (old, place) } else { (place, new) };
            let candidates = sample_branch(self.comparison, pair.site.value_use, (side, &[id]), id, union);
            let facet = KeywordFacet::new(Keyword::ALL).with_candidates(candidates);
            let site = if is_null {
                pair.site.clone()
            } else {
                pair.site.below(StepKind::Part, &format!("{{{name}}}"))
            };
            self.comparison.report_restriction_at(rule, pair, &site, places, message, facet);
        }
    }

    fn compare_corresponding_branches(&mut self) {
        let pair = self.pair;
        let UnionAlternatives { side, union, .. } = self.alternatives;
        let is_added = side == VersionSide::New;
        let site = pair.site.clone().with_annotations(annotation_source(pair, side));
        let is_refusing = is_added == (pair.site.value_use == ValueUse::Write);
        let ids = if is_added { &pair.old_ids } else { &pair.new_ids };
        let mut absorbs = None;
        for (branch, types) in self.alternatives.compared_branches(self.comparison.graph(side)) {
            let branch = [branch];
            let (old, new): (&[SchemaId], &[SchemaId]) =
                if is_added { (&pair.old_ids, &branch) } else { (&branch, &pair.new_ids) };
            let is_absorbed = is_refusing
                && !self.comparison.has_no_difference(old, new)
                && *absorbs.get_or_insert_with(|| union_absorbs(self.comparison, pair, union, ids));
            let site = site.clone().restricted_to(pair.site.types.intersection(types));
            let site = if is_absorbed { site.with_harmless_differences() } else { site };
            self.comparison.compare_schemas(old, new, &site);
        }
    }
}

/// Returns the union that only one version contains, with those of its branches that correspond to the schema
/// of the other version. Returns `None` if there is no such union, if no branch corresponds to the schema, or
/// if one version lists its values.
pub(super) fn find_alternatives<'g>(
    comparison: &mut Comparison<'g>,
    pair: &SchemaPair<'g>,
) -> Option<UnionAlternatives<'g>> {
    let (side, union, schema, ids) = match (pure_union(&pair.old), pure_union(&pair.new)) {
        (None, Some(union)) if pair.old.unions().is_empty() => {
            (VersionSide::New, union, &pair.old, &pair.old_ids)
        }
        (Some(union), None) if pair.new.unions().is_empty() => {
            (VersionSide::Old, union, &pair.new, &pair.new_ids)
        }
        _ => return None,
    };
    let is_listed = |flat: &FlattenedSchema<'g>| !matches!(flat.value_listing(), ValueListing::None);
    if !schema.restricts_values() || is_listed(&pair.old) || is_listed(&pair.new) {
        return None;
    }
    let graph = if side == VersionSide::New { pair.new.graph } else { pair.old.graph };
    if let Some(branches) = branches_by_type(schema, graph, union.branches) {
        return Some(UnionAlternatives { side, union, branches });
    }
    let name = match ids.as_slice() {
        [id] => branch_type_name(schema.graph, *id),
        _ => None,
    };
    let has_name = |id: &SchemaId| name.is_some() && branch_type_name(graph, *id) == name;
    let is_same = |id: &SchemaId| match side {
        VersionSide::New => comparison.has_no_difference(ids, &[*id]),
        VersionSide::Old => comparison.has_no_difference(&[*id], ids),
    };
    let branches = || union.branches.iter().copied();
    let branch = branches().find(has_name).or_else(|| branches().find(is_same));
    let branch = branch.or_else(|| most_similar_branch(schema, graph, union.branches))?;
    Some(UnionAlternatives { side, union, branches: vec![(branch, TypeSet::ALL)] })
}

/// Returns the union if the schema consists only of one union with several branches, otherwise `None`.
fn pure_union<'g>(flat: &FlattenedSchema<'g>) -> Option<SchemaUnion<'g>> {
    const KEYWORDS: [Keyword; 4] = [Keyword::Ref, Keyword::AllOf, Keyword::AnyOf, Keyword::OneOf];
    let unions = flat.unions();
    let [union] = unions.as_slice() else { return None };
    let is_pure =
        union.branches.len() > 1 && flat.schemas().all(|schema| schema.is_constrained_only_by(&KEYWORDS));
    is_pure.then_some(*union)
}

fn is_null(graph: &VersionSchemas<'_>, id: SchemaId) -> bool {
    FlattenedSchema::from_schemas(graph, &[id]).types() == TypeSet::NULL
}

/// Returns the branches that accept at least one type of the schema, each with the types that the branch
/// accepts. Returns `None` if two branches accept the same type, or if fewer than two branches are found.
fn branches_by_type<'g>(
    schema: &FlattenedSchema<'g>,
    graph: &'g VersionSchemas<'g>,
    branches: &[SchemaId],
) -> Option<Vec<(SchemaId, TypeSet)>> {
    let mut seen = TypeSet(0);
    let mut corresponding = Vec::new();
    for id in branches {
        let types = FlattenedSchema::from_schemas(graph, &[*id]).types();
        if !seen.intersection(types).is_empty() {
            return None;
        }
        seen = seen.union(types);
        if !types.intersection(schema.types()).is_empty() {
            corresponding.push((*id, types));
        }
    }
    if corresponding.len() < 2 {
        return None;
    }
    // Types of the schema that no branch accepts are compared with the first branch, so that they are
    // reported once.
    let (_, first) = corresponding.iter_mut().find(|(_, types)| *types != TypeSet::NULL)?;
    *first = first.union(schema.types().difference(seen));
    Some(corresponding)
}

/// Returns the branch that shares a type with a schema. If several branches do, returns the branch that
/// declares the most properties of the schema, or `None` if two of them declare equally many.
fn most_similar_branch<'g>(
    schema: &FlattenedSchema<'g>,
    graph: &'g VersionSchemas<'g>,
    branches: &[SchemaId],
) -> Option<SchemaId> {
    let flatten = |id: SchemaId| FlattenedSchema::from_schemas(graph, &[id]);
    let shares_types = |id: &SchemaId| !flatten(*id).types().intersection(schema.types()).is_empty();
    let possible: Vec<SchemaId> = branches.iter().copied().filter(shares_types).collect();
    if let [only] = possible.as_slice() {
        return Some(*only);
    }
    let declared = schema.declared_names();
    let shared = |id: SchemaId| {
        let branch = flatten(id);
        declared.iter().filter(|name| branch.declares_property(name)).count()
    };
    let mut counts: Vec<(usize, SchemaId)> = possible.into_iter().map(|id| (shared(id), id)).collect();
    counts.sort_by_key(|(count, _)| *count);
    match counts.as_slice() {
        [.., (second, _), (first, id)] if first > second => Some(*id),
        _ => None,
    }
}

/// Returns the source of annotations for the branches of a union that only the version `side` contains.
pub(super) fn annotation_source(pair: &SchemaPair<'_>, side: VersionSide) -> AnnotationSource {
    let union = if side == VersionSide::Old { &pair.old } else { &pair.new };
    match &pair.site.annotations {
        AnnotationSource::AlreadyCompared => AnnotationSource::AlreadyCompared,
        AnnotationSource::EnclosingUnion(_, before) => {
            AnnotationSource::EnclosingUnion(side, before.iter().chain(&union.schema_ids).copied().collect())
        }
        AnnotationSource::Site if has_annotations(union) => {
            AnnotationSource::EnclosingUnion(side, union.schema_ids.as_slice().into())
        }
        AnnotationSource::Site => AnnotationSource::Site,
    }
}

/// Returns true if the schemas that contain a union have annotations outside of its branches.
fn has_annotations(flat: &FlattenedSchema<'_>) -> bool {
    let has_annotation = |schema: &Schema| {
        schema.extensions.keys().any(|key| key.starts_with("x-") || key == "xml")
            || schema.keywords().any(|(keyword, _)| keyword.role() == KeywordRole::Annotation)
    };
    flat.any_schema(has_annotation)
}
