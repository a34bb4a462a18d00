//! Matches the branches of two unions and describes individual branches.

use contract_codegen_core::{
    conjunction::SchemaConjunction,
    schema::{SchemaGraph, SchemaId, SchemaOrigin, TypeSet, keywords::Keyword},
};
use contract_runtime::Json;

use super::{
    annotations::single_non_null_branch,
    comparison::{Comparison, SchemaPair},
    directions::VersionSchemas,
    enumerations::format_value,
    flattened::{FlattenedSchema, SchemaUnion, type_names},
    proof::VersionSide,
    site::{AnnotationSource, ComparisonSite, StepKind, ValueUse},
    verdicts::{GivenAndRefusing, KeywordFacet, SideSchemas},
};

pub(super) const UNION_KEYWORDS: &[Keyword] = &[Keyword::OneOf, Keyword::AnyOf];

/// Two corresponding branches, and the label of their path segment.
#[derive(Clone, Debug)]
pub(super) struct BranchMatch {
    pub(super) old: SchemaId,
    pub(super) new: SchemaId,
    pub(super) label: String,
}

/// The tag of two unions, that is, a property that has a different constant in each branch. Contains the name
/// of the property and the constants of the branches in their order.
pub(super) struct BranchTags<'g> {
    name: &'g str,
    old_values: Vec<&'g Json>,
    new_values: Vec<&'g Json>,
}

impl<'g> BranchTags<'g> {
    /// Returns the name of the tag, and its constant in the branch at `position` in the union of one version.
    pub(super) fn tag_at(&self, side: VersionSide, position: usize) -> Option<(&'g str, &'g Json)> {
        let values = if side == VersionSide::Old { &self.old_values } else { &self.new_values };
        values.get(position).map(|value| (self.name, *value))
    }
}

/// The pairs of matched branches of two unions, and the branches of each union without a match.
pub(super) struct BranchMatching<'g> {
    pub(super) tags: Option<BranchTags<'g>>,
    pub(super) matches: Vec<BranchMatch>,
    pub(super) removed: Vec<SchemaId>,
    pub(super) added: Vec<SchemaId>,
}

/// Matches the branches of two unions by their tags or, if there are none, by their content.
pub(super) fn match_branches<'g>(
    comparison: &mut Comparison<'g>,
    old: &[SchemaId],
    new: &[SchemaId],
) -> BranchMatching<'g> {
    let graphs = (comparison.graph(VersionSide::Old), comparison.graph(VersionSide::New));
    let tags = find_shared_tag((graphs.0, old), (graphs.1, new));
    let matches = match &tags {
        Some(tags) => match_by_tag(tags, old, new),
        None => match_by_content(comparison, old, new),
    };
    let mut removed = old.to_vec();
    removed.retain(|id| !matches.iter().any(|each| each.old == *id));
    let mut added = new.to_vec();
    added.retain(|id| !matches.iter().any(|each| each.new == *id));
    BranchMatching { tags, matches, removed, added }
}

fn match_by_tag(tags: &BranchTags<'_>, old: &[SchemaId], new: &[SchemaId]) -> Vec<BranchMatch> {
    let pairs = old.iter().zip(&tags.old_values).filter_map(|(old, value)| {
        let position = tags.new_values.iter().position(|other| other == value)?;
        let label = format!("{{{}={}}}", tags.name, plain_value(value));
        new.get(position).map(|new| BranchMatch { old: *old, new: *new, label })
    });
    pairs.collect()
}

/// Matches branches without a tag, in this order: identical branches, branches with the same name, branches
/// without a difference, and branches with the same types. If one branch of each union remains, these two are
/// matched.
fn match_by_content(comparison: &mut Comparison<'_>, old: &[SchemaId], new: &[SchemaId]) -> Vec<BranchMatch> {
    let (old_graph, new_graph) = (comparison.graph(VersionSide::Old), comparison.graph(VersionSide::New));
    let mut matcher = BranchMatcher { old: old.to_vec(), new: new.to_vec(), pairs: Vec::new() };
    matcher.match_if(|old, new| comparison.identity().is_identical(&[old], &[new]));
    matcher.match_if(|old, new| {
        branch_type_name(old_graph, old).is_some_and(|name| Some(name) == branch_type_name(new_graph, new))
    });
    matcher.match_if(|old, new| comparison.has_no_difference(&[old], &[new]));
    let (old_left, new_left) = (matcher.old.clone(), matcher.new.clone());
    matcher.match_if(|old, new| {
        exclusive_types(old_graph, &old_left, old)
            .is_some_and(|types| exclusive_types(new_graph, &new_left, new) == Some(types))
    });
    if let ([_], [_]) = (matcher.old.as_slice(), matcher.new.as_slice()) {
        matcher.match_if(|_, _| true);
    }
    let pairs = matcher.pairs.into_iter().map(|(before, after)| {
        let position = old.iter().position(|id| *id == before).unwrap_or(0);
        BranchMatch { old: before, new: after, label: format!("{{{position}}}") }
    });
    pairs.collect()
}

/// The branches that are not matched yet, and the matches found so far.
struct BranchMatcher {
    old: Vec<SchemaId>,
    new: Vec<SchemaId>,
    pairs: Vec<(SchemaId, SchemaId)>,
}

impl BranchMatcher {
    fn match_if(&mut self, mut is_match: impl FnMut(SchemaId, SchemaId) -> bool) {
        let Self { old, new, pairs } = self;
        old.retain(|before| match new.iter().position(|after| is_match(*before, *after)) {
            Some(position) => {
                pairs.push((*before, new.remove(position)));
                false
            }
            None => true,
        });
    }
}

/// Returns the types of a branch if no other branch accepts any of them.
fn exclusive_types<'g>(
    graph: &'g VersionSchemas<'g>,
    branches: &[SchemaId],
    branch: SchemaId,
) -> Option<TypeSet> {
    let types = FlattenedSchema::from_schemas(graph, &[branch]).types();
    let shares_types = |other: &SchemaId| {
        *other != branch
            && !FlattenedSchema::from_schemas(graph, &[*other]).types().intersection(types).is_empty()
    };
    (!branches.iter().any(shares_types)).then_some(types)
}

/// Returns a property that is required and has a different constant in each branch, in both versions. Returns
/// `None` if there is no such property.
fn find_shared_tag<'g>(
    (old_graph, old): (&'g VersionSchemas<'g>, &[SchemaId]),
    (new_graph, new): (&'g VersionSchemas<'g>, &[SchemaId]),
) -> Option<BranchTags<'g>> {
    let flatten_all = |graph: &'g VersionSchemas<'g>, ids: &[SchemaId]| -> Vec<FlattenedSchema<'g>> {
        ids.iter().map(|id| FlattenedSchema::from_schemas(graph, &[*id])).collect()
    };
    let old = flatten_all(old_graph, old);
    let is_required = |name: &&str| old.iter().all(|branch| branch.requires_property(name));
    let names: Vec<&str> = old.first()?.declared_names().into_iter().filter(is_required).collect();
    if names.is_empty() {
        return None;
    }
    let new = flatten_all(new_graph, new);
    names.into_iter().find_map(|name| {
        let (old_values, new_values) = (distinct_tag_values(&old, name)?, distinct_tag_values(&new, name)?);
        Some(BranchTags { name, old_values, new_values })
    })
}

fn distinct_tag_values<'g>(branches: &[FlattenedSchema<'g>], tag: &str) -> Option<Vec<&'g Json>> {
    let mut found: Vec<&Json> = Vec::new();
    for branch in branches {
        if !branch.requires_property(tag) {
            return None;
        }
        let values =
            FlattenedSchema::from_schemas(branch.graph, &branch.property_schemas(tag)).listed_values()?;
        let [value] = values.as_slice() else { return None };
        if found.contains(value) {
            return None;
        }
        found.push(value);
    }
    Some(found)
}

/// Returns true if a proof shows that a union of the receiving version accepts all values of the sending
/// version's schemas `ids`. Returns false if the union is not an `anyOf` with several branches.
pub(super) fn union_absorbs<'g>(
    comparison: &mut Comparison<'g>,
    pair: &SchemaPair<'g>,
    union: SchemaUnion<'g>,
    ids: &[SchemaId],
) -> bool {
    let schemas = match pair.site.value_use {
        ValueUse::Write => GivenAndRefusing {
            giving: (VersionSide::Old, ids),
            refusing: (VersionSide::New, &pair.new.schema_ids),
        },
        ValueUse::Read => GivenAndRefusing {
            giving: (VersionSide::New, ids),
            refusing: (VersionSide::Old, &pair.old.schema_ids),
        },
    };
    !union.one
        && union.branches.len() > 1
        && comparison.judge_values(schemas, &pair.site, &KeywordFacet::new(UNION_KEYWORDS)) == Some(Ok(()))
}

/// Returns sample values that one branch of a union accepts. `ids` are the schemas that contain the union.
/// Returns none if proofs are disabled.
pub(super) fn sample_branch<'g>(
    comparison: &Comparison<'g>,
    value_use: ValueUse,
    (side, ids): SideSchemas<'_>,
    branch: SchemaId,
    union: SchemaUnion<'g>,
) -> Vec<Json> {
    let Some(prover) = comparison.enabled_prover(value_use) else { return Vec::new() };
    let conjunction = SchemaConjunction::from_schemas(ids.iter().copied());
    prover.sample_values(side, &conjunction.choose_branch(union.holder, branch))
}

/// Returns the comparison site of two corresponding branches. If both are the only branches other than
/// `null`, the site excludes their annotations, which are compared with those of the unions.
pub(super) fn branch_site(pair: &SchemaPair<'_>, branch: &BranchMatch) -> ComparisonSite {
    let is_only = single_non_null_branch(&pair.old) == Some(branch.old)
        && single_non_null_branch(&pair.new) == Some(branch.new);
    let annotations = if is_only { AnnotationSource::AlreadyCompared } else { AnnotationSource::Site };
    pair.site.below(StepKind::Part, &branch.label).with_annotations(annotations)
}

/// Returns the name of the type to which a branch refers, or the title of an inline branch.
pub(super) fn branch_type_name(graph: &SchemaGraph, id: SchemaId) -> Option<String> {
    let schema = graph.schema(id);
    let target = schema.reference.map_or(schema, |target| graph.schema(target));
    match &target.origin {
        SchemaOrigin::Root(name) | SchemaOrigin::Definition(name) | SchemaOrigin::Component(name) => {
            Some(name.clone())
        }
        SchemaOrigin::Inline => target.title.clone(),
    }
}

/// Returns the label of a branch: its tag if there is one, otherwise its name, its types or its position.
pub(super) fn branch_label<'g>(
    graph: &'g VersionSchemas<'g>,
    id: SchemaId,
    position: usize,
    tag: Option<(&str, &Json)>,
) -> String {
    if let Some((name, value)) = tag {
        return format!("{name}={}", plain_value(value));
    }
    branch_type_name(graph, id).unwrap_or_else(|| {
        let types = FlattenedSchema::from_schemas(graph, &[id]).types();
        if types.contains(TypeSet::OBJECT) { format!("no. {}", position + 1) } else { type_names(types) }
    })
}

fn plain_value(value: &Json) -> String {
    value.as_str().map_or_else(|| format_value(value), str::to_owned)
}
