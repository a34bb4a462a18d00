//! Compares the unions of a pair of schemas: `oneOf` and `anyOf` in both versions.

use contract_codegen_core::schema::{SchemaGraph, SchemaId, keywords::Keyword};

use super::{
    branches::{
        BranchMatch, BranchMatching, BranchTags, UNION_KEYWORDS, branch_label, branch_site, match_branches,
        sample_branch, union_absorbs,
    },
    comparison::{Comparison, SchemaPair},
    conditions::ConditionComparer,
    enumerations::EnumerationOutcome,
    flattened::{FlattenedSchema, SchemaUnion},
    overlaps::OverlapComparer,
    proof::VersionSide,
    rules,
    site::{StepKind, ValueUse},
    verdicts::KeywordFacet,
};

/// A union, and those of its branches that are compared.
#[derive(Clone, Copy)]
pub(super) struct UnionBranches<'b, 'g> {
    pub(super) union: SchemaUnion<'g>,
    pub(super) branches: &'b [SchemaId],
}

/// A comparer for the unions of a pair of schemas.
pub(super) struct UnionComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    pair: &'c SchemaPair<'g>,
}

impl<'c, 'g> UnionComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, pair: &'c SchemaPair<'g>) -> Self {
        Self { comparison, pair }
    }

    /// Compares the unions of both versions in their order. Skips the unions in `listed`, which list values
    /// and were compared as enumerations.
    pub(super) fn compare_unions(&mut self, listed: &EnumerationOutcome) {
        let pair = self.pair;
        let other_unions = |flat: &FlattenedSchema<'g>, holder: Option<SchemaId>| {
            flat.unions().into_iter().filter(|union| Some(union.holder) != holder).collect::<Vec<_>>()
        };
        let old = other_unions(&pair.old, listed.old_holder);
        let mut new = other_unions(&pair.new, listed.new_holder);
        if old.is_empty() && new.is_empty() {
            return;
        }
        if old.len() != new.len() && self.comparison.is_proven_equivalent(pair) {
            return;
        }
        if new.len() > old.len() {
            new.retain(|union| {
                let is_harmless = self.allows_known_objects(*union, &old);
                if is_harmless {
                    let message = "a new `anyOf` restricts only objects with new properties".to_owned();
                    let rule = rules::UNION_ADDED_NEW_MEMBER;
                    self.comparison.report_keyword_change(rule, pair, Keyword::AnyOf, message);
                }
                !is_harmless
            });
        }
        for position in 0..old.len().max(new.len()) {
            let (rule, message) = match (old.get(position), new.get(position)) {
                (Some(old), Some(new)) => {
                    self.compare_union_kind(old, new);
                    self.compare_branches(
                        UnionBranches { union: *old, branches: old.branches },
                        UnionBranches { union: *new, branches: new.branches },
                    );
                    continue;
                }
                (None, Some(_)) => (rules::UNION_ADDED, "values must now match one of several branches"),
                (Some(_), None) => {
                    (rules::UNION_REMOVED, "values no longer have to match one of several branches")
                }
                (None, None) => continue,
            };
            let facet = KeywordFacet::new(UNION_KEYWORDS);
            self.comparison.report_restriction(rule, pair, message.to_owned(), facet);
        }
    }

    /// Reports a union that changed from `anyOf` to `oneOf`, or the reverse.
    pub(super) fn compare_union_kind(&mut self, old: &SchemaUnion<'g>, new: &SchemaUnion<'g>) {
        let pair = self.pair;
        if old.one == new.one
            || old.branches.len() + new.branches.len() <= 2
            || self.comparison.is_proven_equivalent(pair)
        {
            return;
        }
        let keyword = |union: &SchemaUnion<'g>| if union.one { "oneOf" } else { "anyOf" };
        let message = format!("the union changed from `{}` to `{}`", keyword(old), keyword(new));
        let rule = if new.one { rules::UNION_NARROWED } else { rules::UNION_WIDENED };
        self.comparison.report_restriction(rule, pair, message, KeywordFacet::new(UNION_KEYWORDS));
    }

    /// Returns true if an added `anyOf` restricts only objects with properties that only the new version
    /// declares. One of its branches must accept all other objects.
    fn allows_known_objects(&mut self, union: SchemaUnion<'g>, old: &[SchemaUnion<'g>]) -> bool {
        const KEYWORDS: [Keyword; 3] = [Keyword::Ref, Keyword::AllOf, Keyword::Not];
        let pair = self.pair;
        let conditions = ConditionComparer::new(self.comparison, pair);
        let accepts_known_objects = |id: &SchemaId| {
            let branch = FlattenedSchema::from_schemas(pair.new.graph, &[*id]);
            let negated: Vec<SchemaId> = branch.schemas().filter_map(|schema| schema.not).collect();
            !negated.is_empty()
                && branch.schemas().all(|schema| schema.is_constrained_only_by(&KEYWORDS))
                && negated.iter().all(|id| conditions.matches_no_known_object(*id))
        };
        if union.one
            || !union.branches.iter().any(accepts_known_objects)
            || !conditions.restricts_only_objects(UNION_KEYWORDS)
        {
            return false;
        }
        let mut is_known = |old: &SchemaUnion<'g>| {
            let mut pairs = old.branches.iter().zip(union.branches);
            old.branches.len() == union.branches.len()
                && pairs.all(|(old, new)| self.comparison.has_no_difference(&[*old], &[*new]))
        };
        !old.iter().any(&mut is_known)
    }

    /// Matches the branches of two unions, compares each pair, and reports added and removed branches.
    pub(super) fn compare_branches(&mut self, old: UnionBranches<'_, 'g>, new: UnionBranches<'_, 'g>) {
        let pair = self.pair;
        let unions = (old.union, new.union);
        let matching = match_branches(self.comparison, old.branches, new.branches);
        let is_untagged = matching.tags.is_none();
        let matches = &matching.matches;
        let overlaps = is_untagged
            && !unions.0.one
            && !unions.1.one
            && matches.iter().any(|each| self.has_local_change(each) && self.may_overlap(unions, each));
        if overlaps && self.comparison.is_proven_equivalent(pair) {
            // The unions accept the same values, because another branch accepts those that a branch no longer
            // accepts. Only equal branches are compared further, for their annotations.
            for each in matches {
                if self.comparison.has_no_difference(&[each.old], &[each.new]) {
                    self.comparison.compare_schemas(&[each.old], &[each.new], &branch_site(pair, each));
                }
            }
            return;
        }
        self.compare_matches(unions, matches, overlaps);
        // If branches were both added and removed, the proofs for them consider the overlaps in the whole
        // union.
        if unions.0.one && unions.1.one && is_untagged {
            let mut overlaps = OverlapComparer::new(self.comparison, pair);
            if matching.removed.is_empty() {
                overlaps.compare_branch_overlaps((VersionSide::New, unions.1), matches, &matching.added);
            }
            if matching.added.is_empty() {
                overlaps.compare_branch_overlaps((VersionSide::Old, unions.0), matches, &matching.removed);
            }
        }
        if matching.removed.is_empty() && matching.added.is_empty()
            || (is_untagged && self.comparison.is_proven_equivalent(pair))
        {
            return;
        }
        self.report_added_and_removed(old, new, &matching);
    }

    /// Compares corresponding branches. `overlaps` is true if other branches may accept the values that a
    /// changed branch no longer accepts. If a proof shows that they do, the differences of the changed branch
    /// are harmless.
    fn compare_matches(
        &mut self,
        unions: (SchemaUnion<'g>, SchemaUnion<'g>),
        matches: &[BranchMatch],
        overlaps: bool,
    ) {
        let pair = self.pair;
        // If the union of the receiving version is proven to accept all values, its branches need no separate
        // proof.
        let has_several_changes = matches.iter().filter(|each| self.has_local_change(each)).nth(1).is_some();
        let facet = KeywordFacet::new(UNION_KEYWORDS);
        let are_all_absorbed = overlaps
            && has_several_changes
            && self.comparison.find_verdict(pair, pair.site.value_use, &facet) == Some(Ok(()));
        for each in matches {
            let site = branch_site(pair, each);
            let is_absorbed = overlaps
                && self.has_local_change(each)
                && (are_all_absorbed || self.is_absorbed_by_union(unions, each));
            let site = if is_absorbed { site.with_harmless_differences() } else { site };
            self.comparison.compare_schemas(&[each.old], &[each.new], &site);
        }
    }

    fn report_added_and_removed(
        &mut self,
        old: UnionBranches<'_, 'g>,
        new: UnionBranches<'_, 'g>,
        matching: &BranchMatching<'g>,
    ) {
        let pair = self.pair;
        let old_holder = Some(&pair.old.graph.schema(old.union.holder).place);
        let new_holder = Some(&pair.new.graph.schema(new.union.holder).place);
        for id in &matching.added {
            let place = Some(&pair.new.graph.schema(*id).place);
            let (name, facet) = self.describe_branch(VersionSide::New, new, *id, matching.tags.as_ref());
            let site = pair.site.below(StepKind::Part, &format!("{{{name}}}"));
            let message = format!("the branch {name} is new");
            let places = (old_holder, place);
            self.comparison.report_restriction_at(rules::BRANCH_ADDED, pair, &site, places, message, facet);
        }
        for id in &matching.removed {
            let place = Some(&pair.old.graph.schema(*id).place);
            let (name, facet) = self.describe_branch(VersionSide::Old, old, *id, matching.tags.as_ref());
            let site = pair.site.below(StepKind::Part, &format!("{{{name}}}"));
            let message = format!("the branch {name} was removed");
            let places = (place, new_holder);
            self.comparison.report_restriction_at(rules::BRANCH_REMOVED, pair, &site, places, message, facet);
        }
    }

    /// Returns the label of a branch in one version, and a facet with sample values of the branch.
    fn describe_branch(
        &self,
        side: VersionSide,
        branches: UnionBranches<'_, 'g>,
        id: SchemaId,
        tags: Option<&BranchTags<'g>>,
    ) -> (String, KeywordFacet) {
        let pair = self.pair;
        let (graph, ids) = match side {
            VersionSide::Old => (pair.old.graph, &pair.old_ids),
            VersionSide::New => (pair.new.graph, &pair.new_ids),
        };
        let position = branches.branches.iter().position(|other| *other == id);
        let tag = position.and_then(|position| tags?.tag_at(side, position));
        let name = branch_label(graph, id, position.unwrap_or(0), tag);
        let ids = [ids.as_slice(), &[id]].concat();
        let value_use = pair.site.value_use;
        let candidates = sample_branch(self.comparison, value_use, (side, &ids), id, branches.union);
        (name, KeywordFacet::new(UNION_KEYWORDS).with_candidates(candidates))
    }

    /// Returns true if two branches differ. If both branches are references, differences in subschemas of the
    /// referenced schemas do not count, because these subschemas are compared separately.
    fn has_local_change(&self, branch: &BranchMatch) -> bool {
        let (old, new) = (self.comparison.graph(VersionSide::Old), self.comparison.graph(VersionSide::New));
        let identity = self.comparison.identity();
        if identity.is_identical(&[branch.old], &[branch.new]) {
            return false;
        }
        let is_named = |graph: &SchemaGraph, id: SchemaId| graph.schema(id).reference.is_some();
        if !is_named(old, branch.old) || !is_named(new, branch.new) {
            return true;
        }
        let old_ids = FlattenedSchema::from_schemas(old, &[branch.old]).schema_ids;
        let new_ids = FlattenedSchema::from_schemas(new, &[branch.new]).schema_ids;
        let mut pairs = old_ids.iter().zip(&new_ids);
        old_ids.len() != new_ids.len() || pairs.any(|(old, new)| !identity.has_same_content(*old, *new))
    }

    /// Returns true if the receiving version has another branch that accepts a type of the sending version's
    /// branch. Such a branch may accept the values that the matched branch no longer accepts.
    fn may_overlap(
        &self,
        (old_union, new_union): (SchemaUnion<'g>, SchemaUnion<'g>),
        branch: &BranchMatch,
    ) -> bool {
        let ((giving, given), (refusing, own), union) = match self.pair.site.value_use {
            ValueUse::Write => ((VersionSide::Old, branch.old), (VersionSide::New, branch.new), new_union),
            ValueUse::Read => ((VersionSide::New, branch.new), (VersionSide::Old, branch.old), old_union),
        };
        let types = |side: VersionSide, id: SchemaId| {
            FlattenedSchema::from_schemas(self.comparison.graph(side), &[id]).types()
        };
        let given = types(giving, given);
        let mut others = union.branches.iter().filter(|id| **id != own);
        others.any(|id| !types(refusing, *id).intersection(given).is_empty())
    }

    /// Returns true if the union of the receiving version is proven to accept all values of one branch of the
    /// sending version. `branch` is the matched pair to which this branch belongs.
    fn is_absorbed_by_union(
        &mut self,
        unions: (SchemaUnion<'g>, SchemaUnion<'g>),
        branch: &BranchMatch,
    ) -> bool {
        const KEYWORDS: [Keyword; 3] = [Keyword::Ref, Keyword::AllOf, Keyword::AnyOf];
        let pair = self.pair;
        let (giving, ids, id, union) = match pair.site.value_use {
            ValueUse::Write => (&pair.old, &pair.old_ids, branch.old, unions.1),
            ValueUse::Read => (&pair.new, &pair.new_ids, branch.new, unions.0),
        };
        // Without other keywords, only the branch itself restricts the values.
        let is_pure = giving.unions().len() == 1
            && giving.schemas().all(|schema| schema.is_constrained_only_by(&KEYWORDS));
        let given = if is_pure { vec![id] } else { [ids.as_slice(), &[id]].concat() };
        self.may_overlap(unions, branch) && union_absorbs(self.comparison, pair, union, &given)
    }
}
