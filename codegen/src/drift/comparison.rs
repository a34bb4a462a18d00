//! The state of a comparison, which all comparers share. It handles the recursion into subschemas, nested
//! comparisons, proofs and findings.
//!
//! Each part of a contract has its own comparer, such as `ObjectComparer` or `OperationComparer`. A comparer
//! finds the differences of its part, reports them with the `report_…` methods of [`Comparison`], and passes
//! subschemas to [`Comparison::compare_schemas`].
//!
//! A *site* is a location at which schemas are compared ([`ComparisonSite`]). A *finding* is a reported
//! difference. A *facet* is the group of keywords that one difference concerns ([`KeywordFacet`]). A *nested
//! comparison* finds out whether two schemas differ, for example to match the branches of unions, and reports
//! nothing.

use std::collections::{BTreeSet, HashMap};

use contract_codegen_core::{
    schema::{
        SchemaId, TypeSet,
        keywords::{Keyword, KeywordValue},
    },
    tree::{DocumentLocation, escape_token},
};
use contract_runtime::Json;

use super::{
    ChangeLevel, CompareOptions, ContractChange, ContractVersion,
    apis::ApiComparer,
    difference_cache::DifferenceCache,
    directions::{DirectionViews, VersionSchemas},
    findings::{ComparedSchemas, FindingLog, LevelPair, NewFinding, PlacePair, ProofOutcome},
    flattened::FlattenedSchema,
    identity::SchemaIdentity,
    lifecycle,
    locations::LocationPair,
    named::NamedSchemaComparer,
    proof::{ProofVerdict, SchemaProver, TableStores, VersionSide},
    rules::{self, DriftRule},
    schemas::SchemaComparer,
    site::{AnnotationSource, ComparisonSite, StepKind, StringScope, ValueUse},
    verdicts::{GivenAndRefusing, KeywordFacet, VerdictCache},
    whole_values::{WholeValueCache, WholeValueChecker, Witness},
    witness_search::{VisitedPair, WitnessSearch},
};

/// The schemas that apply to one location in the old and in the new version.
#[derive(Clone, Debug)]
pub(super) struct SchemaPair<'g> {
    /// The schemas of the old version, flattened and restricted to the types of the site.
    pub(super) old: FlattenedSchema<'g>,
    pub(super) new: FlattenedSchema<'g>,
    /// The schemas of the old version before they were flattened.
    pub(super) old_ids: Vec<SchemaId>,
    pub(super) new_ids: Vec<SchemaId>,
    pub(super) site: ComparisonSite,
}

/// The question that a nested comparison answers with yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum NestedQuestion {
    /// Do the schemas differ in anything other than annotations?
    Differs,
    /// Do the schemas differ in anything that may affect the accepted values?
    DiffersInValues,
    /// Do the differences break readers? With `proofs`, a proof may show that they do not.
    Breaks { proofs: bool },
}

/// The question of the nested comparison in progress, and its current answer. `is_answered_yes` becomes true when the
/// comparison finds the first difference for which the answer is yes.
#[derive(Clone, Copy, Debug)]
struct OpenQuestion {
    question: NestedQuestion,
    is_answered_yes: bool,
}

/// The key of a compared pair: both lists of schemas, sorted, and the properties of the site that affect the
/// result.
#[derive(Clone, PartialEq, Eq, Hash)]
struct PairKey {
    old: Vec<SchemaId>,
    new: Vec<SchemaId>,
    value_use: ValueUse,
    types: TypeSet,
    is_harmless: bool,
    string_scope: StringScope,
    annotations: AnnotationSource,
}

impl PairKey {
    fn new(old: &[SchemaId], new: &[SchemaId], site: &ComparisonSite) -> Self {
        Self {
            old: sorted_ids(old),
            new: sorted_ids(new),
            value_use: site.value_use,
            types: site.types,
            is_harmless: site.is_harmless,
            string_scope: site.string_scope,
            annotations: site.annotations.clone(),
        }
    }
}

/// A step from a pair of schemas to a pair of corresponding subschemas, with its path segment.
struct SubschemaStep {
    old: SchemaId,
    new: SchemaId,
    /// The kind of step and the path segment. `None` for a reference, which adds no path segment.
    step: Option<(StepKind, String)>,
}

/// The state of a comparison of two contract versions.
pub(super) struct Comparison<'g> {
    old: &'g ContractVersion,
    new: &'g ContractVersion,
    options: CompareOptions,
    directions: &'g DirectionViews<'g>,
    identity: SchemaIdentity,
    verdicts: VerdictCache<'g>,
    findings: FindingLog<'g>,
    /// The node in the path graph of each pair that was compared.
    compared: HashMap<PairKey, usize>,
    /// The pairs that were compared keyword by keyword. The witness search tries values for them.
    visited: Vec<VisitedPair>,
    /// The nodes of the path graph whose schemas describe whole values, as opposed to parts such as branches.
    value_nodes: BTreeSet<usize>,
    /// The results of nested comparisons. The key consists of the question and the compared pair.
    nested_results: DifferenceCache<(NestedQuestion, PairKey)>,
    /// The question of the nested comparison in progress; `None` outside of nested comparisons.
    open_question: Option<OpenQuestion>,
    whole_values: WholeValueCache,
}

impl<'g> Comparison<'g> {
    pub(super) fn new(
        old: &'g ContractVersion,
        new: &'g ContractVersion,
        directions: &'g DirectionViews<'g>,
        stores: &'g [TableStores<'g>; 3],
        options: &CompareOptions,
    ) -> Self {
        Self {
            old,
            new,
            options: *options,
            directions,
            identity: SchemaIdentity::from_sides(&directions.plain),
            verdicts: VerdictCache::new(directions, stores),
            findings: FindingLog::new(old, new),
            compared: HashMap::new(),
            visited: Vec::new(),
            value_nodes: BTreeSet::new(),
            nested_results: DifferenceCache::default(),
            open_question: None,
            whole_values: WholeValueCache::default(),
        }
    }

    /// Compares the contracts and returns all changes.
    pub(super) fn compare_contracts(mut self) -> Vec<ContractChange> {
        ApiComparer::new(&mut self).compare_apis();
        NamedSchemaComparer::new(&mut self).compare_named_schemas();
        let visited = std::mem::take(&mut self.visited);
        self.correct_proofs(0);
        let found_by_rules = self.findings.count();
        WitnessSearch::new(&mut self).search_witnesses(visited);
        self.correct_proofs(found_by_rules);
        self.findings.into_changes()
    }
}

impl Comparison<'_> {
    /// Checks the proofs of the findings from the position `first` on against whole values.
    fn correct_proofs(&mut self, first: usize) {
        let corrections = WholeValueChecker::new(self).find_corrections(first);
        self.findings.apply_corrections(corrections);
    }
}

/// Accessors for the compared versions.
impl<'g> Comparison<'g> {
    pub(super) const fn whole_value_cache(&self) -> &WholeValueCache {
        &self.whole_values
    }

    pub(super) const fn versions(&self) -> (&'g ContractVersion, &'g ContractVersion) {
        (self.old, self.new)
    }

    pub(super) const fn graph(&self, side: VersionSide) -> &'g VersionSchemas<'g> {
        self.directions.plain.get(side)
    }

    pub(super) const fn identity(&self) -> &SchemaIdentity {
        &self.identity
    }
}

/// Methods that compare pairs of schemas recursively.
impl<'g> Comparison<'g> {
    /// Compares two lists of schemas that apply to the values at a site, and records the differences. If a
    /// pair with an equal [`PairKey`] was compared before, only the path to this site is recorded. A nested
    /// comparison records nothing; it only sets the result of `open_question`.
    pub(super) fn compare_schemas(&mut self, old: &[SchemaId], new: &[SchemaId], site: &ComparisonSite) {
        let is_answered = self.open_question.is_some_and(|open| open.is_answered_yes);
        if is_answered || self.is_unchanged(old, new, site) {
            return;
        }
        let key = PairKey::new(old, new, site);
        if let Some(OpenQuestion { question, .. }) = self.open_question {
            self.compare_nested((question, key), (old, new), site);
            return;
        }
        let is_value = self.is_value_site(site);
        let known = self.compared.get(&key).copied();
        let node = match known {
            Some(node) => {
                self.findings.add_path(node, site);
                node
            }
            None => {
                let schemas = ComparedSchemas {
                    old: old.to_vec(),
                    new: new.to_vec(),
                    value_use: site.value_use,
                    types: site.types,
                };
                self.findings.add_pair(site, schemas)
            }
        };
        if is_value {
            self.value_nodes.insert(node);
        }
        if known.is_none() {
            self.compared.insert(key, node);
            self.compare_new_pair(old, new, &site.at_node(Some(node)));
        }
    }

    /// Returns true if two lists of schemas are identical and their comparison includes no annotations of
    /// surrounding schemas.
    pub(super) fn is_unchanged(&self, old: &[SchemaId], new: &[SchemaId], site: &ComparisonSite) -> bool {
        !matches!(site.annotations, AnnotationSource::EnclosingUnion(..))
            && self.identity.is_identical(old, new)
    }

    fn compare_nested(
        &mut self,
        key: (NestedQuestion, PairKey),
        (old, new): (&[SchemaId], &[SchemaId]),
        site: &ComparisonSite,
    ) {
        let known = self.nested_results.begin_comparison(&key);
        if known.is_none() {
            // A nested comparison records no findings, so it needs no paths.
            self.compare_new_pair(old, new, &site.at_node(site.node));
        }
        if let Some(open) = &mut self.open_question {
            open.is_answered_yes |= known == Some(true);
            if known.is_none() {
                self.nested_results.finish_comparison(key, open.is_answered_yes);
            }
        }
    }

    /// Compares a pair that was not compared before.
    fn compare_new_pair(&mut self, old: &[SchemaId], new: &[SchemaId], site: &ComparisonSite) {
        if let ([before], [after]) = (old, new)
            && site.types == TypeSet::ALL
            && site.annotations == AnnotationSource::Site
            && let Some(steps) = self.unchanged_steps(*before, *after)
        {
            for SubschemaStep { old, new, step } in steps {
                let site = match step {
                    None => site.clone(),
                    // A property that neither version sends in this direction cannot break anything.
                    Some((StepKind::Member, token)) if self.is_never_sent(old, new, site.value_use) => {
                        site.below(StepKind::Member, &token).with_harmless_differences()
                    }
                    Some((step, token)) => site.below(step, &token),
                };
                self.compare_schemas(&[old], &[new], &site);
            }
            return;
        }
        let pair = self.flatten_pair(old, new, site);
        let is_nested = self.open_question.is_some();
        // The witness search uses validation tables, which cannot validate values that are sent as plain
        // strings.
        if let (Some(node), false) = (site.node, is_nested || site.is_plain_string() || site.is_harmless) {
            self.visited.push(VisitedPair { site: site.clone(), node, old: old.to_vec(), new: new.to_vec() });
        }
        SchemaComparer::new(self, &pair).compare_keywords();
    }

    /// Returns true if neither version sends a property in a direction, because it is `readOnly` or
    /// `writeOnly`.
    fn is_never_sent(&self, old: SchemaId, new: SchemaId, value_use: ValueUse) -> bool {
        let is_unsent = |side, id| self.graph(side).is_never_sent(&[id], value_use);
        is_unsent(VersionSide::Old, old) && is_unsent(VersionSide::New, new)
    }

    /// Flattens the schemas that apply to one location in the old and in the new version.
    pub(super) fn flatten_pair(
        &self,
        old_ids: &[SchemaId],
        new_ids: &[SchemaId],
        site: &ComparisonSite,
    ) -> SchemaPair<'g> {
        let old = FlattenedSchema::from_schemas(self.graph(VersionSide::Old), old_ids);
        let new = FlattenedSchema::from_schemas(self.graph(VersionSide::New), new_ids);
        let (whole_old, whole_new) = (old.with_single_branches(), new.with_single_branches());
        let has_union = |flat: &FlattenedSchema<'g>| !flat.unions().is_empty();
        let have_unions =
            (has_union(whole_old.as_ref().unwrap_or(&old)), has_union(whole_new.as_ref().unwrap_or(&new)));
        // A union with one branch is treated as that branch, unless the other version has a union with more
        // branches.
        let old = if have_unions == (false, true) { old } else { whole_old.unwrap_or(old) };
        let new = if have_unions == (true, false) { new } else { whole_new.unwrap_or(new) };
        SchemaPair {
            old: old.restricted_to(site.types),
            new: new.restricted_to(site.types),
            old_ids: old_ids.to_vec(),
            new_ids: new_ids.to_vec(),
            site: site.clone(),
        }
    }

    /// Returns the pairs of corresponding subschemas of two schemas that otherwise have the same content.
    /// Only these pairs remain to be compared. Returns `None` if the content differs or a keyword requires a
    /// full comparison. This is the fast path for the unchanged part of a large contract.
    fn unchanged_steps(&self, old: SchemaId, new: SchemaId) -> Option<Vec<SubschemaStep>> {
        if !self.identity.has_same_content(old, new) {
            return None;
        }
        let (before, after) = (self.old.graph.schema(old), self.new.graph.schema(new));
        let followed = [Keyword::Ref, Keyword::Properties, Keyword::Items];
        let is_other = |(keyword, _): (Keyword, KeywordValue<'_>)| {
            keyword.role().applies_schemas() && !followed.contains(&keyword)
        };
        // A reference must be compared together with its sibling keywords.
        let has_siblings = before.reference.is_some() && before.keywords().nth(1).is_some();
        let types = before.types.unwrap_or(TypeSet::ALL);
        let is_idle = !before.properties.is_empty() && !types.contains(TypeSet::OBJECT)
            || before.items.is_some() && !types.contains(TypeSet::ARRAY);
        if has_siblings || is_idle || before.keywords().any(is_other) {
            return None;
        }
        let mut steps = Vec::new();
        let mut add = |old: Option<SchemaId>, new: Option<SchemaId>, step: Option<(StepKind, String)>| {
            steps.extend(old.zip(new).map(|(old, new)| SubschemaStep { old, new, step }));
        };
        add(before.reference, after.reference, None);
        for ((name, old), (_, new)) in before.properties.iter().zip(&after.properties) {
            // The prover considers `required` together with the property's schema.
            if before.required.contains(name) && !self.identity.is_identical(&[*old], &[*new]) {
                return None;
            }
            add(Some(*old), Some(*new), Some((StepKind::Member, escape_token(name).into_owned())));
        }
        add(before.items, after.items, Some((StepKind::Element, "*".to_owned())));
        Some(steps)
    }

    /// Returns true if the schemas at a site describe whole values, as opposed to parts such as branches.
    fn is_value_site(&self, site: &ComparisonSite) -> bool {
        let is_in_value = || site.node.is_none_or(|node| self.value_nodes.contains(&node));
        if site.path.is_empty() { is_in_value() } else { !site.is_part }
    }
}

/// Methods for nested comparisons, which record no findings.
impl Comparison<'_> {
    /// Returns true if two lists of schemas have no difference other than in annotations.
    pub(super) fn has_no_difference(&mut self, old: &[SchemaId], new: &[SchemaId]) -> bool {
        let options = CompareOptions { within_major: false, proofs: false, ..self.options };
        !self.answer_question(NestedQuestion::Differs, old, new, options)
    }

    /// Returns true if two lists of schemas have no difference that may affect the accepted values. Other
    /// differences, such as in a `discriminator`, are ignored.
    pub(super) fn has_no_value_difference(&mut self, old: &[SchemaId], new: &[SchemaId]) -> bool {
        let options = CompareOptions { within_major: false, proofs: false, ..self.options };
        !self.answer_question(NestedQuestion::DiffersInValues, old, new, options)
    }

    /// Returns true if readers of the old schemas can read all values of the new schemas, that is, if a
    /// nested comparison finds no breaking change for readers.
    pub(super) fn can_read(&mut self, old: &[SchemaId], new: &[SchemaId]) -> bool {
        let options = CompareOptions { within_major: false, ..self.options };
        !self.answer_question(NestedQuestion::Breaks { proofs: options.proofs }, old, new, options)
    }

    /// Runs a nested comparison and returns true if the answer to its question is yes.
    fn answer_question(
        &mut self,
        question: NestedQuestion,
        old: &[SchemaId],
        new: &[SchemaId],
        options: CompareOptions,
    ) -> bool {
        let outer = self.open_question.replace(OpenQuestion { question, is_answered_yes: false });
        let options = std::mem::replace(&mut self.options, options);
        self.compare_schemas(old, new, &ComparisonSite::new("", ValueUse::Read));
        self.options = options;
        std::mem::replace(&mut self.open_question, outer).is_some_and(|open| open.is_answered_yes)
    }
}

/// Methods that prove or refute differences.
impl<'g> Comparison<'g> {
    /// Returns the prover for a direction, regardless of whether proofs are enabled.
    pub(super) fn prover(&self, value_use: ValueUse) -> &SchemaProver<'g> {
        self.verdicts.prover(value_use)
    }

    /// Returns the prover for a direction, or `None` if proofs are disabled.
    pub(super) fn enabled_prover(&self, value_use: ValueUse) -> Option<&SchemaProver<'g>> {
        self.options.proofs.then(|| self.prover(value_use))
    }

    /// Decides whether the facet's keywords refuse a value that is sent in a direction. For readers, the
    /// keywords are those of the old version, and the values are those of the new version. For writers, it is
    /// the reverse. Returns `None` if no decision is possible or proofs are disabled.
    pub(super) fn find_verdict(
        &mut self,
        pair: &SchemaPair<'g>,
        value_use: ValueUse,
        facet: &KeywordFacet,
    ) -> Option<ProofVerdict> {
        // Readers break if the new version accepts values that the old version refuses.
        let schemas = match value_use {
            ValueUse::Read => GivenAndRefusing {
                giving: (VersionSide::New, &pair.new_ids),
                refusing: (VersionSide::Old, &pair.old.schema_ids),
            },
            ValueUse::Write => GivenAndRefusing {
                giving: (VersionSide::Old, &pair.old_ids),
                refusing: (VersionSide::New, &pair.new.schema_ids),
            },
        };
        self.judge_values(schemas, &pair.site, facet)
    }

    /// Decides whether the facet's keywords of the receiving version refuse a value that the sending version
    /// accepts. Returns `None` if no decision is possible or proofs are disabled.
    pub(super) fn judge_values(
        &mut self,
        schemas: GivenAndRefusing<'_>,
        site: &ComparisonSite,
        facet: &KeywordFacet,
    ) -> Option<ProofVerdict> {
        if self.options.proofs { self.verdicts.judge_values(schemas, site, facet) } else { None }
    }

    /// Returns true if both versions are proven to accept the same values.
    pub(super) fn is_proven_equivalent(&self, pair: &SchemaPair<'g>) -> bool {
        let prover = self.enabled_prover(pair.site.value_use);
        prover.is_some_and(|prover| prover.are_equivalent(&pair.old_ids, &pair.new_ids))
    }

    /// Returns true if the change is proven to be only a rewrite, that is, if the facet's keywords of neither
    /// version refuse a value of the other version.
    fn is_equivalent_rewrite(
        &mut self,
        pair: &SchemaPair<'g>,
        value_use: ValueUse,
        facet: &KeywordFacet,
    ) -> bool {
        // These keywords state requirements of their branches. If the keywords are absent in one version, other
        // keywords of that version may state the same requirements, or none.
        const BRANCHING: [Keyword; 4] = [Keyword::OneOf, Keyword::AnyOf, Keyword::If, Keyword::Properties];
        let is_branching = facet.keywords.iter().any(|keyword| BRANCHING.contains(keyword));
        let prover = self.enabled_prover(value_use).filter(|_| is_branching);
        if prover.is_some_and(|prover| prover.are_distinguished(&pair.old_ids, &pair.new_ids)) {
            return false;
        }
        let facet = KeywordFacet::new(facet.keywords);
        [value_use.reversed(), value_use]
            .into_iter()
            .all(|value_use| self.find_verdict(pair, value_use, &facet) == Some(Ok(())))
    }
}

/// Methods that record findings.
impl<'g> Comparison<'g> {
    /// Records a change outside of schemas, such as of an operation or a server, with the levels of the rule
    /// for readers and for writers.
    pub(super) fn report_contract_change(
        &mut self,
        rule: &'static DriftRule,
        places: PlacePair<'_>,
        subject: &str,
        message: String,
    ) {
        let levels = LevelPair { readers: rule.readers, writers: rule.writers, reason: None };
        self.report_levels(rule, levels, places, subject, message);
    }

    /// Records a change of a webhook or a callback, with the levels of the rule for webhooks. If the rule has
    /// no such levels, its levels for operations are used.
    pub(super) fn report_webhook_change(
        &mut self,
        rule: &'static DriftRule,
        places: PlacePair<'_>,
        subject: &str,
        message: String,
    ) {
        let (readers, writers, reason) = match rules::webhook_levels(rule.id) {
            Some(levels) => (levels.readers, levels.writers, Some(levels.reason)),
            None => (rule.readers, rule.writers, None),
        };
        let levels = LevelPair { readers, writers, reason };
        self.report_levels(rule, levels, places, subject, message);
    }

    fn report_levels(
        &mut self,
        rule: &'static DriftRule,
        levels: LevelPair,
        places: PlacePair<'_>,
        subject: &str,
        message: String,
    ) {
        let levels = LevelPair {
            readers: self.raise_within_major(rule, levels.readers),
            writers: self.raise_within_major(rule, levels.writers),
            ..levels
        };
        let site = ComparisonSite::new(subject, ValueUse::Read);
        self.record_change(rule, levels, &site, places, message);
    }

    /// Records whether the old version declares an operation as unstable, which affects the removal of the
    /// components that it uses.
    pub(super) fn mark_operation_stability(&mut self, label: &str, place: &DocumentLocation) {
        if lifecycle::is_unstable_element(self.old, place) {
            self.findings.mark_unstable_operation(label);
        }
    }

    /// Records a change without a proof. If the change removes an element whose lifecycle allows the removal
    /// (see [`lifecycle`]), its levels are at most `Additive`.
    fn record_change(
        &mut self,
        rule: &'static DriftRule,
        mut levels: LevelPair,
        site: &ComparisonSite,
        places: PlacePair<'_>,
        message: String,
    ) {
        let today = self.options.today;
        let removal = places.0.and_then(|place| lifecycle::judge_removal(rule, self.old, place, today));
        if removal.as_ref().is_some_and(|removal| removal.is_allowed) {
            let LevelPair { readers, writers, .. } = levels;
            let highest = ChangeLevel::Additive;
            levels = LevelPair { readers: readers.min(highest), writers: writers.min(highest), ..levels };
        }
        let locations = self.locate_places(places, (None, None));
        let finding = NewFinding { rule, levels, locations, message, proof: None, removal };
        self.record_finding(finding, site);
    }

    /// Records a change of a schema with the levels of the rule, without a proof.
    pub(super) fn report_change(&mut self, rule: &'static DriftRule, pair: &SchemaPair<'g>, message: String) {
        let places = (flattened_place(&pair.old), flattened_place(&pair.new));
        self.report_change_at(rule, &pair.site, places, message);
    }

    /// Records a change like [`Comparison::report_change`], at another site.
    pub(super) fn report_change_at(
        &mut self,
        rule: &'static DriftRule,
        site: &ComparisonSite,
        places: PlacePair<'_>,
        message: String,
    ) {
        let levels = self.direction_levels(rule, site.value_use);
        self.record_change(rule, levels, site, places, message);
    }

    /// Records a change like [`Comparison::report_change`], located at a keyword.
    pub(super) fn report_keyword_change(
        &mut self,
        rule: &'static DriftRule,
        pair: &SchemaPair<'g>,
        keyword: Keyword,
        message: String,
    ) {
        let levels = self.direction_levels(rule, pair.site.value_use);
        let facet = KeywordFacet::new(&[]).with_changed_keyword(keyword);
        let locations = self.locate_keyword(pair, &facet);
        let finding = NewFinding { rule, levels, locations, message, proof: None, removal: None };
        self.record_finding(finding, &pair.site);
    }

    /// Records a change of the accepted values. Tries to prove the effect of the facet's keywords; the proof
    /// may lower the level of the change or find a witness.
    pub(super) fn report_restriction(
        &mut self,
        rule: &'static DriftRule,
        pair: &SchemaPair<'g>,
        message: String,
        facet: KeywordFacet,
    ) {
        let verdict = self.verdict_for_rule(rule, pair, &pair.site, &facet);
        self.report_with_verdict(rule, pair, message, &facet, verdict);
    }

    /// Records a change like [`Comparison::report_restriction`], at another site. The proof uses the schemas
    /// of `pair`.
    pub(super) fn report_restriction_at(
        &mut self,
        rule: &'static DriftRule,
        pair: &SchemaPair<'g>,
        site: &ComparisonSite,
        places: PlacePair<'_>,
        message: String,
        facet: KeywordFacet,
    ) {
        let verdict = self.verdict_for_rule(rule, pair, site, &facet);
        let locations = self.locate_places(places, (None, None));
        let (level, proof) = self.decide_level(rule, pair, site, &facet, verdict);
        let levels = direction_level(site.value_use, level);
        let finding = NewFinding { rule, levels, locations, message, proof, removal: None };
        self.record_finding(finding, site);
    }

    /// Records a change of the accepted values whose verdict is already known.
    pub(super) fn report_with_verdict(
        &mut self,
        rule: &'static DriftRule,
        pair: &SchemaPair<'g>,
        message: String,
        facet: &KeywordFacet,
        verdict: Option<ProofVerdict>,
    ) {
        let locations = self.locate_keyword(pair, facet);
        let (level, proof) = self.decide_level(rule, pair, &pair.site, facet, verdict);
        let levels = direction_level(pair.site.value_use, level);
        let finding = NewFinding { rule, levels, locations, message, proof, removal: None };
        self.record_finding(finding, &pair.site);
    }

    /// Tries to prove whether a change breaks clients. Returns `None` if the rule is not breaking in the
    /// direction of the site, or if the proof does not succeed.
    fn verdict_for_rule(
        &mut self,
        rule: &'static DriftRule,
        pair: &SchemaPair<'g>,
        site: &ComparisonSite,
        facet: &KeywordFacet,
    ) -> Option<ProofVerdict> {
        let needs_proof = rule_level(rule, site.value_use) == ChangeLevel::Breaking && !site.is_harmless;
        if needs_proof { self.find_verdict(pair, site.value_use, facet) } else { None }
    }

    /// Returns the level of a change of the accepted values, and the outcome of its proof. The level is
    /// `Same` if the change is proven to be only a rewrite, `Additive` if the verdict states that no value is
    /// refused, and otherwise the level of the rule.
    fn decide_level(
        &mut self,
        rule: &'static DriftRule,
        pair: &SchemaPair<'g>,
        site: &ComparisonSite,
        facet: &KeywordFacet,
        verdict: Option<ProofVerdict>,
    ) -> (ChangeLevel, Option<ProofOutcome>) {
        let proven = |value: Option<Json>| {
            let witness = value.map(|value| Witness { value, site: pair.site.clone(), whole: None });
            Some(ProofOutcome { is_proven: true, witness })
        };
        let (level, proof) = match verdict {
            Some(Ok(())) => (ChangeLevel::Additive, proven(None)),
            Some(Err(found)) => (rule_level(rule, site.value_use), proven(found)),
            None => {
                let level = rule_level(rule, site.value_use);
                let needs_proof = level == ChangeLevel::Breaking;
                (level, needs_proof.then_some(ProofOutcome { is_proven: false, witness: None }))
            }
        };
        if site.is_harmless {
            return (level, None);
        }
        let is_rewrite = level == ChangeLevel::Additive
            && self.open_question.is_none()
            && self.is_equivalent_rewrite(pair, site.value_use, facet);
        if is_rewrite { (ChangeLevel::Same, proven(None)) } else { (level, proof) }
    }

    /// Returns the levels of a change that is recorded without a proof.
    fn direction_levels(&self, rule: &DriftRule, value_use: ValueUse) -> LevelPair {
        direction_level(value_use, self.raise_within_major(rule, rule_level(rule, value_use)))
    }

    /// Returns the given level of a change. The removal of a declared element within a major version gets the
    /// level `Breaking`, unless the given level is `Same` (Semantic Versioning, item 8).
    fn raise_within_major(&self, rule: &DriftRule, level: ChangeLevel) -> ChangeLevel {
        let is_raised =
            rule.is_breaking_within_major && self.options.within_major && level > ChangeLevel::Same;
        if is_raised { ChangeLevel::Breaking } else { level }
    }

    /// Records a finding. In a nested comparison, the finding is not recorded; it only decides the open
    /// question.
    fn record_finding(&mut self, mut finding: NewFinding, site: &ComparisonSite) {
        let highest = if site.is_harmless { ChangeLevel::Additive } else { ChangeLevel::Breaking };
        let LevelPair { readers, writers, .. } = &mut finding.levels;
        (*readers, *writers) = ((*readers).min(highest), (*writers).min(highest));
        let Some(open) = &mut self.open_question else {
            self.findings.record(finding, site);
            return;
        };
        open.is_answered_yes |= match open.question {
            NestedQuestion::DiffersInValues if rules::VALUE_NEUTRAL.contains(&finding.rule.id) => false,
            NestedQuestion::Differs | NestedQuestion::DiffersInValues => {
                finding.rule.readers.max(finding.rule.writers) > ChangeLevel::Same
            }
            NestedQuestion::Breaks { .. } => finding.levels.readers == ChangeLevel::Breaking,
        };
    }

    /// Returns the location of the changed keyword in each version. For a version that does not contain the
    /// keyword, returns the location of its schema.
    fn locate_keyword(&mut self, pair: &SchemaPair<'g>, facet: &KeywordFacet) -> LocationPair {
        if self.open_question.is_some() {
            return (None, None);
        }
        let old = facet.find_changed_keyword(&pair.old, &pair.new);
        let new = facet.find_changed_keyword(&pair.new, &pair.old);
        let place = |found: Option<(&'g DocumentLocation, Keyword)>, flat: &FlattenedSchema<'g>| {
            found.map(|(place, _)| place).or_else(|| flattened_place(flat))
        };
        let keyword = |found: Option<(&'g DocumentLocation, Keyword)>| found.map(|(_, keyword)| keyword);
        let places = (place(old, &pair.old), place(new, &pair.new));
        self.locate_places(places, (keyword(old), keyword(new)))
    }

    fn locate_places(
        &mut self,
        places: PlacePair<'_>,
        keywords: (Option<Keyword>, Option<Keyword>),
    ) -> LocationPair {
        // A nested comparison needs no locations.
        if self.open_question.is_some() { (None, None) } else { self.findings.locate(places, keywords) }
    }

    pub(super) const fn findings_mut(&mut self) -> &mut FindingLog<'g> {
        &mut self.findings
    }

    pub(super) const fn findings(&self) -> &FindingLog<'g> {
        &self.findings
    }

    /// Returns true if the schemas of a node describe whole values, as opposed to parts such as branches.
    pub(super) fn is_value_node(&self, node: usize) -> bool {
        self.value_nodes.contains(&node)
    }
}

/// Returns the level of a rule for one direction.
const fn rule_level(rule: &DriftRule, value_use: ValueUse) -> ChangeLevel {
    match value_use {
        ValueUse::Read => rule.readers,
        ValueUse::Write => rule.writers,
    }
}

/// Returns a pair of levels. The role that `value_use` selects, readers or writers, gets the given level; the
/// other role gets `Same`.
const fn direction_level(value_use: ValueUse, level: ChangeLevel) -> LevelPair {
    match value_use {
        ValueUse::Read => LevelPair { readers: level, writers: ChangeLevel::Same, reason: None },
        ValueUse::Write => LevelPair { readers: ChangeLevel::Same, writers: level, reason: None },
    }
}

/// Returns the location of a flattened schema, which is the location of its outermost schema that is not only
/// a reference.
pub(super) fn flattened_place<'g>(flat: &FlattenedSchema<'g>) -> Option<&'g DocumentLocation> {
    let is_more = |schema: &&contract_codegen_core::schema::Schema| {
        schema.reference.is_none() || !schema.is_constrained_only_by(&[Keyword::Ref])
    };
    flat.schemas().find(is_more).or_else(|| flat.schemas().next()).map(|schema| &schema.place)
}

fn sorted_ids(ids: &[SchemaId]) -> Vec<SchemaId> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids
}
