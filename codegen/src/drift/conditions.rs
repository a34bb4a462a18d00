//! Compares `if`, `not`, the dependency keywords and the `unevaluated…` keywords.

use contract_codegen_core::{
    conjunction::SchemaConjunction,
    schema::{Schema, SchemaId, TypeSet, keywords::Keyword},
};
use contract_runtime::Json;

use super::{
    comparison::{Comparison, SchemaPair},
    flattened::{FlattenedSchema, SchemaUnion},
    proof::VersionSide,
    rules,
    site::{StepKind, ValueUse},
    verdicts::KeywordFacet,
};

/// The maximum nesting depth of conditions that are analyzed. A condition at a greater depth is assumed to
/// match values of the old version.
const MAX_CONDITION_DEPTH: u8 = 4;

/// A comparer for `if`, `not`, the dependency keywords and the `unevaluated…` keywords of a pair of schemas.
pub(super) struct ConditionComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    pair: &'c SchemaPair<'g>,
}

impl<'c, 'g> ConditionComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, pair: &'c SchemaPair<'g>) -> Self {
        Self { comparison, pair }
    }

    /// Compares `if`, `not`, the dependency keywords and the `unevaluated…` keywords.
    pub(super) fn compare_conditions(&mut self) {
        self.compare_if();
        self.compare_not();
        self.compare_dependencies();
        self.compare_unevaluated();
    }

    fn compare_if(&mut self) {
        let pair = self.pair;
        // A condition has no effect if neither `then` nor `else` restricts anything.
        let has_effect = |flat: &FlattenedSchema<'g>, schema: &Schema| {
            let consequences = schema.then.into_iter().chain(schema.otherwise);
            schema.condition.is_some() && consequences.into_iter().any(|id| flat.can_reject(id))
        };
        let all = |flat: &FlattenedSchema<'g>| {
            flat.schemas().filter(|schema| has_effect(flat, schema)).collect::<Vec<_>>()
        };
        let (old, mut new) = (all(&pair.old), all(&pair.new));
        let facet = || KeywordFacet::new(&[Keyword::If, Keyword::Then, Keyword::Else]);
        let mut left = Vec::new();
        for before in old {
            let condition: Vec<SchemaId> = before.condition.into_iter().collect();
            let mut same = |after: &&'g Schema| {
                after.condition.is_some_and(|id| self.comparison.has_no_difference(&condition, &[id]))
            };
            if let Some(at) = new.iter().position(&mut same) {
                let after = new.remove(at);
                self.compare_optional_parts(before.then, after.then, "{then}");
                self.compare_optional_parts(before.otherwise, after.otherwise, "{else}");
            } else {
                left.push(before);
            }
        }
        new.retain(|after| {
            let is_new = self.tests_only_new_properties(after);
            if is_new {
                let message = "a new `if` restricts only objects with new properties".to_owned();
                self.comparison.report_keyword_change(
                    rules::CONDITION_ADDED_NEW_MEMBER,
                    pair,
                    Keyword::If,
                    message,
                );
            }
            !is_new
        });
        if left.is_empty() && new.is_empty() || self.comparison.is_proven_equivalent(pair) {
            return;
        }
        for _ in 0..left.len().min(new.len()) {
            self.comparison.report_restriction(
                rules::CONDITION_CHANGED,
                pair,
                "an `if` condition changed".to_owned(),
                facet(),
            );
        }
        for _ in new.len()..left.len() {
            self.comparison.report_restriction(
                rules::CONDITION_REMOVED,
                pair,
                "an `if` condition was removed".to_owned(),
                facet(),
            );
        }
        for _ in left.len()..new.len() {
            self.comparison.report_restriction(
                rules::CONDITION_ADDED,
                pair,
                "an `if` condition is new".to_owned(),
                facet(),
            );
        }
    }

    /// Returns true if the condition of a schema of the new version restricts no value of the old version. In
    /// this case, its `if` matches only objects with properties or values that the old version does not
    /// declare.
    fn tests_only_new_properties(&self, holder: &Schema) -> bool {
        let pair = self.pair;
        let has_else = holder.otherwise.is_some_and(|id| pair.new.can_reject(id));
        let is_new = |id| self.matches_no_known_object(id);
        !has_else
            && holder.condition.is_some_and(is_new)
            && self.restricts_only_objects(&[Keyword::If, Keyword::Then, Keyword::Else])
    }

    /// Returns true if a condition of the new version matches no object that the old version describes.
    pub(super) fn matches_no_known_object(&self, test: SchemaId) -> bool {
        let pair = self.pair;
        let test = FlattenedSchema::from_schemas(pair.new.graph, &[test]);
        self.requires_unknown_property(
            (&pair.old, &pair.new),
            &test,
            (pair.site.value_use, MAX_CONDITION_DEPTH),
        )
    }

    /// Returns true if the given keywords of the new version refuse no value of the old version except
    /// objects. This is certain if the old version accepts only objects. Otherwise, a proof must show that
    /// the keywords refuse no value of the other types.
    pub(super) fn restricts_only_objects(&self, keywords: &'static [Keyword]) -> bool {
        let pair = self.pair;
        let others = pair.old.types().intersection(pair.site.types).difference(TypeSet::OBJECT);
        let facet = KeywordFacet::new(keywords);
        others.is_empty()
            || self.comparison.enabled_prover(pair.site.value_use).is_some_and(|prover| {
                let (old, new) = (
                    (VersionSide::Old, pair.old_ids.as_slice()),
                    (VersionSide::New, pair.new.schema_ids.as_slice()),
                );
                prover.prove_accepted(old, new, others, &facet) == Some(Ok(()))
            })
    }

    /// Returns true if a condition requires a property or a value that only the new version declares.
    /// Properties that neither version declares do not count, because clients may send them.
    fn requires_unknown_property(
        &self,
        (old, new): (&FlattenedSchema<'g>, &FlattenedSchema<'g>),
        test: &FlattenedSchema<'g>,
        (value_use, depth): (ValueUse, u8),
    ) -> bool {
        let Some(depth_below) = depth.checked_sub(1) else { return false };
        let mut names = test.schemas().flat_map(|schema| &schema.required);
        let is_unknown = |name: &String| {
            if !old.mentions_property(name) {
                return new.may_declare(name);
            }
            if old.mentions_conditionally(name) {
                return false;
            }
            let (before, tested) = (old.property_schemas(name), test.property_schemas(name));
            let tested = FlattenedSchema::from_schemas(test.graph, &tested);
            let values = tested.listed_values().unwrap_or_default();
            let is_rejected = |value: &&Json| {
                !self.comparison.prover(value_use).accepts_value(VersionSide::Old, &before, value)
            };
            !values.is_empty() && values.iter().all(is_rejected) || {
                let before = FlattenedSchema::from_schemas(old.graph, &before);
                let after = FlattenedSchema::from_schemas(new.graph, &new.property_schemas(name));
                // Conditions on properties accept every value that is not an object.
                before.types().difference(TypeSet::OBJECT).is_empty()
                    && self.requires_unknown_property((&before, &after), &tested, (value_use, depth_below))
            }
        };
        let all_branches = |union: &SchemaUnion<'g>| {
            let mut branches =
                union.branches.iter().map(|id| FlattenedSchema::from_schemas(test.graph, &[*id]));
            branches
                .all(|branch| self.requires_unknown_property((old, new), &branch, (value_use, depth_below)))
        };
        names.any(is_unknown) || test.unions().iter().any(all_branches)
    }

    fn compare_not(&mut self) {
        let pair = self.pair;
        let all =
            |flat: &FlattenedSchema<'g>| flat.schemas().filter_map(|schema| schema.not).collect::<Vec<_>>();
        let (old, mut new) = (all(&pair.old), all(&pair.new));
        let mut left = Vec::new();
        for before in old {
            match new.iter().position(|after| self.comparison.has_no_difference(&[before], &[*after])) {
                Some(at) => {
                    new.remove(at);
                }
                None => left.push(before),
            }
        }
        new.retain(|after| {
            let is_new = self.matches_no_known_object(*after) && self.restricts_only_objects(&[Keyword::Not]);
            if is_new {
                let message = "a new `not` restricts only objects with new properties".to_owned();
                self.comparison.report_keyword_change(
                    rules::NOT_ADDED_NEW_MEMBER,
                    pair,
                    Keyword::Not,
                    message,
                );
            }
            !is_new
        });
        if left.is_empty() && new.is_empty() || self.comparison.is_proven_equivalent(pair) {
            return;
        }
        if !left.is_empty() {
            let facet = KeywordFacet::new(&[Keyword::Not])
                .with_candidates(self.sample_forbidden_values(VersionSide::Old, &left));
            self.comparison.report_restriction(
                rules::NOT_REMOVED,
                pair,
                "values that `not` rejected are now valid".to_owned(),
                facet,
            );
        }
        if !new.is_empty() {
            let facet = KeywordFacet::new(&[Keyword::Not])
                .with_candidates(self.sample_forbidden_values(VersionSide::New, &new));
            self.comparison.report_restriction(
                rules::NOT_ADDED,
                pair,
                "`not` now rejects more values".to_owned(),
                facet,
            );
        }
    }

    /// Returns sample values that `not` refuses in one version, because they match one of the schemas in
    /// `nots`. The other version may accept these values.
    fn sample_forbidden_values(&self, side: VersionSide, nots: &[SchemaId]) -> Vec<Json> {
        let pair = self.pair;
        let Some(prover) = self.comparison.enabled_prover(pair.site.value_use) else { return Vec::new() };
        let types = pair.old.types().intersection(pair.new.types()).intersection(pair.site.types);
        let samples =
            |not: &SchemaId| prover.sample_values(side, &SchemaConjunction::from_schema(*not).within(types));
        nots.iter().flat_map(samples).collect()
    }

    fn compare_dependencies(&mut self) {
        let pair = self.pair;
        let required = |flat: &FlattenedSchema<'g>| {
            let all = flat.schemas().flat_map(|schema| &schema.dependent_required);
            let mut pairs: Vec<(&str, &str)> = all
                .flat_map(|(name, others)| others.iter().map(|other| (name.as_str(), other.as_str())))
                // If a property is always required, it does not depend on another property.
                .filter(|(_, other)| !flat.requires_property(other))
                .collect();
            pairs.sort_unstable();
            pairs.dedup();
            pairs
        };
        let (old, new) = (required(&pair.old), required(&pair.new));
        let facet = || KeywordFacet::new(&[Keyword::DependentRequired]);
        for (name, other) in
            new.iter().filter(|each| !old.contains(each) && !pair.old.requires_property(each.1))
        {
            let message = format!("`{other}` is now required if `{name}` is present");
            if pair.old.mentions_property(name) || !pair.new.may_declare(name) {
                self.comparison.report_restriction(rules::DEPENDENCY_ADDED, pair, message, facet());
            } else {
                self.comparison.report_keyword_change(
                    rules::DEPENDENCY_ADDED_NEW_MEMBER,
                    pair,
                    Keyword::DependentRequired,
                    message,
                );
            }
        }
        for (name, other) in
            old.iter().filter(|each| !new.contains(each) && !pair.new.requires_property(each.1))
        {
            self.comparison.report_restriction(
                rules::DEPENDENCY_REMOVED,
                pair,
                format!("`{other}` may now be missing if `{name}` is present"),
                facet(),
            );
        }
        let schemas = |flat: &FlattenedSchema<'g>| {
            flat.schemas().flat_map(|schema| &schema.dependent_schemas).collect::<Vec<_>>()
        };
        let (old, new) = (schemas(&pair.old), schemas(&pair.new));
        let mut names: Vec<&String> = old.iter().chain(&new).map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        for name in names {
            let of = |all: &[&(String, SchemaId)]| {
                all.iter().filter(|(other, _)| other == name).map(|(_, id)| *id).collect::<Vec<_>>()
            };
            let (before, after) = (of(&old), of(&new));
            let facet = KeywordFacet::new(&[Keyword::DependentSchemas]);
            if before.is_empty() && !pair.old.mentions_property(name) && pair.new.may_declare(name) {
                let message = format!("objects with `{name}` are now restricted further");
                self.comparison.report_keyword_change(
                    rules::DEPENDENCY_ADDED_NEW_MEMBER,
                    pair,
                    Keyword::DependentSchemas,
                    message,
                );
            } else if before.is_empty() {
                self.comparison.report_restriction(
                    rules::DEPENDENCY_ADDED,
                    pair,
                    format!("objects with `{name}` are now restricted further"),
                    facet,
                );
            } else if after.is_empty() {
                self.comparison.report_restriction(
                    rules::DEPENDENCY_REMOVED,
                    pair,
                    format!("objects with `{name}` are now restricted less"),
                    facet,
                );
            } else {
                self.comparison.compare_schemas(
                    &before,
                    &after,
                    &pair.site.below(StepKind::Part, &format!("{{beside {name}}}")),
                );
            }
        }
    }

    fn compare_unevaluated(&mut self) {
        let pair = self.pair;
        type SchemaAccessor = fn(&Schema) -> Option<SchemaId>;
        let properties: SchemaAccessor = |schema| schema.unevaluated_properties;
        let items: SchemaAccessor = |schema| schema.unevaluated_items;
        for (pick, keyword, facet) in [
            (properties, "unevaluatedProperties", KeywordFacet::new(&[Keyword::UnevaluatedProperties])),
            (items, "unevaluatedItems", KeywordFacet::new(&[Keyword::UnevaluatedItems])),
        ] {
            // `unevaluatedProperties: false` closes the object; the module `objects` compares it.
            let plain = |flat: &FlattenedSchema<'g>, id: &SchemaId| {
                let closes = flat.graph.schema(*id).boolean == Some(false);
                flat.can_reject(*id) && (!closes || keyword == "unevaluatedItems")
            };
            let all = |flat: &FlattenedSchema<'g>| {
                flat.schemas().filter_map(pick).filter(|id| plain(flat, id)).collect::<Vec<_>>()
            };
            let (old, new) = (all(&pair.old), all(&pair.new));
            if old.is_empty() && !new.is_empty() {
                self.comparison.report_restriction(
                    rules::UNEVALUATED_ADDED,
                    pair,
                    format!("`{keyword}` is new"),
                    facet,
                );
            } else if !old.is_empty() && new.is_empty() {
                self.comparison.report_restriction(
                    rules::UNEVALUATED_REMOVED,
                    pair,
                    format!("`{keyword}` was removed"),
                    facet,
                );
            } else if !old.is_empty() {
                let step = if keyword == "unevaluatedItems" { StepKind::Element } else { StepKind::Member };
                self.comparison.compare_schemas(
                    &old,
                    &new,
                    &pair.site.below(step, &format!("{{{keyword}}}")),
                );
            }
        }
    }

    /// Compares two optional schemas that apply to the same value. An absent schema accepts everything.
    fn compare_optional_parts(&mut self, old: Option<SchemaId>, new: Option<SchemaId>, token: &str) {
        let pair = self.pair;
        let list = |id: Option<SchemaId>| id.into_iter().collect::<Vec<_>>();
        if old.is_some() || new.is_some() {
            self.comparison.compare_schemas(&list(old), &list(new), &pair.site.below(StepKind::Part, token));
        }
    }
}
