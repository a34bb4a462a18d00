//! Compares objects: declared and required properties, patterns, and undeclared properties.

use contract_codegen_core::{
    schema::{SchemaId, TypeSet, keywords::Keyword},
    tree::{DocumentLocation, escape_token},
};

use super::{
    comparison::{Comparison, SchemaPair, flattened_place},
    flattened::{ClosedNames, FlattenedSchema},
    rules::{self, DriftRule},
    site::{ComparisonSite, StepKind, ValueUse},
    verdicts::KeywordFacet,
};

const CLOSING_KEYWORDS: &[Keyword] = &[
    Keyword::AdditionalProperties,
    Keyword::UnevaluatedProperties,
    Keyword::Properties,
    Keyword::PatternProperties,
];

const PROPERTY_KEYWORDS: &[Keyword] =
    &[Keyword::Properties, Keyword::PatternProperties, Keyword::AdditionalProperties];

/// A comparer for the object keywords of a pair of schemas.
pub(super) struct ObjectComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    pair: &'c SchemaPair<'g>,
}

impl<'c, 'g> ObjectComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, pair: &'c SchemaPair<'g>) -> Self {
        Self { comparison, pair }
    }

    pub(super) fn compare_objects(&mut self) {
        let pair = self.pair;
        let mut names = pair.old.declared_names();
        for name in pair.new.declared_names() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for name in &names {
            match (pair.old.declares_property(name), pair.new.declares_property(name)) {
                (true, true) => {
                    self.compare_required(name);
                    let (old, new) = (pair.old.property_schemas(name), pair.new.property_schemas(name));
                    let at = pair.site.below(StepKind::Member, &escape_token(name));
                    let idle = [&pair.old, &pair.new].map(|flat| flat.is_never_sent(name, at.value_use));
                    self.comparison.compare_schemas(
                        &old,
                        &new,
                        &if idle == [true; 2] { at.with_harmless_differences() } else { at },
                    );
                }
                (false, _) => self.compare_added_property(name),
                (true, false) => self.compare_removed_property(name),
            }
        }
        let undeclared = |flat: &FlattenedSchema<'g>| {
            let all = flat.schemas().flat_map(|schema| &schema.required).map(String::as_str);
            all.filter(|name| !names.contains(name)).collect::<Vec<_>>()
        };
        let mut required = undeclared(&pair.old);
        for name in undeclared(&pair.new) {
            if !required.contains(&name) {
                required.push(name);
            }
        }
        required.sort_unstable();
        required.dedup();
        for name in required {
            self.compare_required(name);
        }
        self.compare_pattern_properties();
        self.compare_undeclared();
        let names = |flat: &FlattenedSchema<'g>| {
            flat.schemas().filter_map(|schema| schema.property_names).collect::<Vec<_>>()
        };
        let (old, new) = (names(&pair.old), names(&pair.new));
        if !old.is_empty() || !new.is_empty() {
            // Property names are always strings.
            self.comparison.compare_schemas(
                &old,
                &new,
                &pair.site.below(StepKind::Part, "{names}").restricted_to(TypeSet::STRING),
            );
        }
    }

    fn compare_required(&mut self, name: &str) {
        let pair = self.pair;
        let usage = pair.site.value_use;
        let (old, new) =
            (pair.old.requires_in_direction(name, usage), pair.new.requires_in_direction(name, usage));
        let (rule, message) = match (old, new) {
            (false, true) => {
                // If `required` lists the property in the old version as well, it was required in only one
                // direction (OpenAPI 3.0).
                let why = if pair.old.requires_property(name) { " in both directions" } else { "" };
                (rules::PROPERTY_REQUIRED, format!("`{name}` became required{why}"))
            }
            (true, false) => (rules::PROPERTY_OPTIONAL, format!("`{name}` may now be missing")),
            _ => return,
        };
        let at = pair.site.below(StepKind::Member, &escape_token(name));
        let places = (property_place(&pair.old, name), property_place(&pair.new, name));
        self.report_requirement(rule, (name, &at), places, message);
    }

    /// Reports a property that became required or optional. If `required` lists the property in both versions
    /// or in neither, only the direction of the requirement changed (OpenAPI 3.0). Such a change is reported
    /// without a proof.
    fn report_requirement(
        &mut self,
        rule: &'static DriftRule,
        (name, at): (&str, &ComparisonSite),
        places: (Option<&DocumentLocation>, Option<&DocumentLocation>),
        message: String,
    ) {
        let pair = self.pair;
        if pair.old.requires_property(name) == pair.new.requires_property(name) {
            self.comparison.report_change_at(rule, at, places, message);
        } else {
            self.comparison.report_restriction_at(
                rule,
                pair,
                at,
                places,
                message,
                KeywordFacet::new(&[Keyword::Required]),
            );
        }
    }

    fn compare_added_property(&mut self, name: &str) {
        let pair = self.pair;
        let at = property_site(pair, name);
        let places = (flattened_place(&pair.old), property_place(&pair.new, name));
        let was_required = pair.old.requires_in_direction(name, at.value_use);
        let is_required = pair.new.requires_in_direction(name, at.value_use);
        // In the old version, branches that do not declare the property accept any value of it.
        let sometimes = pair.old.mentions_conditionally(name) && is_restricted_property(&pair.new, name);
        if is_required && !was_required {
            let message = format!("`{name}` is new and required");
            self.report_requirement(rules::PROPERTY_ADDED_REQUIRED, (name, &at), places, message);
        } else if was_required && !is_required {
            self.compare_required(name);
        } else if pair.old.is_closed_for(name) {
            let message = format!("`{name}` is new in an object that allowed no undeclared properties");
            self.comparison.report_restriction_at(
                rules::PROPERTY_ADDED_CLOSED,
                pair,
                &at,
                places,
                message,
                KeywordFacet::new(CLOSING_KEYWORDS),
            );
        } else if !sometimes {
            self.comparison.report_change_at(
                rules::PROPERTY_ADDED,
                &at,
                places,
                format!("`{name}` is new and optional"),
            );
        }
        if sometimes {
            let message = format!("`{name}` is declared for all branches instead of some");
            let facet = KeywordFacet::new(PROPERTY_KEYWORDS);
            self.comparison.report_restriction_at(
                rules::PROPERTY_DECLARED_ALWAYS,
                pair,
                &at,
                places,
                message,
                facet,
            );
        }
        // A pattern or `additionalProperties` may have restricted an undeclared property.
        let before = self.restricting_schemas(&pair.old, name);
        if !before.is_empty() {
            let after = pair.new.property_schemas(name);
            self.comparison.compare_schemas(&before, &after, &at);
        }
    }

    fn compare_removed_property(&mut self, name: &str) {
        let pair = self.pair;
        let at = property_site(pair, name);
        let after = self.restricting_schemas(&pair.new, name);
        if !after.is_empty() {
            self.compare_required(name);
            let before = pair.old.property_schemas(name);
            self.comparison.compare_schemas(&before, &after, &at);
            return;
        }
        let places = (property_place(&pair.old, name), flattened_place(&pair.new));
        let before = pair.old.property_schemas(name);
        let branches = branch_property_schemas(&pair.new, name);
        let is_same = |after: &Vec<SchemaId>| self.comparison.has_no_difference(&before, after);
        if branches.as_ref().is_some_and(|branches| branches.iter().all(is_same)) {
            // Each branch declares the property as the old version did.
            self.compare_required(name);
            for after in branches.iter().flatten() {
                self.comparison.compare_schemas(&before, after, &at);
            }
            return;
        }
        if pair.new.mentions_conditionally(name) && is_restricted_property(&pair.old, name) {
            let message = match branches {
                Some(_) => format!("the schema of `{name}` now depends on the branch"),
                None => format!("`{name}` is declared for some branches instead of all"),
            };
            let facet = KeywordFacet::new(PROPERTY_KEYWORDS);
            self.comparison.report_restriction_at(
                rules::PROPERTY_DECLARED_SOMETIMES,
                pair,
                &at,
                places,
                message,
                facet,
            );
            self.compare_required(name);
            return;
        }
        let before = FlattenedSchema::from_schemas(pair.old.graph, &pair.old.property_schemas(name));
        if before.any_schema(|schema| schema.deprecated) {
            self.comparison.report_change_at(
                rules::PROPERTY_RESERVED_REMOVED,
                &at,
                places,
                format!("the deprecated `{name}` is no longer declared"),
            );
        } else if pair.old.requires_property(name) {
            self.comparison.report_change_at(
                rules::PROPERTY_REMOVED_REQUIRED,
                &at,
                places,
                format!("the required `{name}` was removed"),
            );
        } else {
            self.comparison.report_change_at(
                rules::PROPERTY_REMOVED,
                &at,
                places,
                format!("the optional `{name}` was removed"),
            );
        }
    }

    /// Returns the schemas that restrict the values of an undeclared property, such as those of
    /// `patternProperties` and `additionalProperties`.
    fn restricting_schemas(&self, flat: &FlattenedSchema<'g>, name: &str) -> Vec<SchemaId> {
        let mut ids = flat.property_schemas(name);
        ids.retain(|id| flat.is_restrictive(*id));
        ids
    }

    fn compare_pattern_properties(&mut self) {
        let pair = self.pair;
        let all = |flat: &FlattenedSchema<'g>| {
            flat.schemas().flat_map(|schema| &schema.pattern_properties).collect::<Vec<_>>()
        };
        let (old, new) = (all(&pair.old), all(&pair.new));
        // `compare_undeclared` compares patterns that match every name.
        let programs = &pair.old.graph.programs;
        let of_some = |(pattern, _): &&&(String, SchemaId)| !programs.matches_every_string(pattern);
        let mut patterns: Vec<(&String, &String)> = Vec::new();
        for (pattern, _) in old.iter().filter(of_some) {
            if !patterns.iter().any(|(known, _)| *known == pattern) {
                patterns.push((pattern, pattern));
            }
        }
        for (pattern, _) in new.iter().filter(of_some) {
            if patterns.iter().any(|(_, known)| *known == pattern) {
                continue;
            }
            // Two patterns that match the same names are compared as one pattern.
            let is_removed = |known: &String| !new.iter().any(|(other, _)| other == known);
            let same = |(known, _): &&mut (&String, &String)| {
                is_removed(known) && programs.are_equal_patterns(known, pattern)
            };
            match patterns.iter_mut().find(same) {
                Some((known, other)) => {
                    *other = pattern;
                    let message = format!(
                        "the name pattern changed from `{known}` to `{pattern}`, which matches the same names"
                    );
                    self.comparison.report_keyword_change(
                        rules::PATTERN_REWRITTEN,
                        pair,
                        Keyword::PatternProperties,
                        message,
                    );
                }
                None => patterns.push((pattern, pattern)),
            }
        }
        for (pattern, renamed) in patterns {
            // Every pattern that matches all of these names applies to them.
            let described = |all: &[&(String, SchemaId)], pattern: &str| {
                let holds = |(other, _): &&&(String, SchemaId)| programs.is_included(pattern, other);
                all.iter().filter(holds).map(|(_, id)| *id).collect::<Vec<_>>()
            };
            let (mut before, mut after) = (described(&old, pattern), described(&new, renamed));
            let at = pair.site.below(StepKind::Member, &format!("{{{pattern}}}"));
            let places = (flattened_place(&pair.old), flattened_place(&pair.new));
            if before.is_empty() && pair.old.is_closed() {
                let message = format!(
                    "properties that match `{pattern}` are now valid; they were rejected as undeclared"
                );
                let facet = KeywordFacet::new(CLOSING_KEYWORDS);
                self.comparison.report_restriction_at(
                    rules::PATTERN_PROPERTIES_ADDED,
                    pair,
                    &at,
                    places,
                    message,
                    facet,
                );
            } else if after.is_empty() && pair.new.is_closed() {
                let message = format!("properties that match `{pattern}` are no longer valid");
                let facet = KeywordFacet::new(CLOSING_KEYWORDS);
                self.comparison.report_restriction_at(
                    rules::PATTERN_PROPERTIES_REMOVED,
                    pair,
                    &at,
                    places,
                    message,
                    facet,
                );
            } else {
                // In a version without a pattern for these names, they are undeclared properties.
                if before.is_empty() {
                    before = pair.old.additional_schemas();
                }
                if after.is_empty() {
                    after = pair.new.additional_schemas();
                }
                self.comparison.compare_schemas(&before, &after, &at);
            }
        }
    }

    fn compare_undeclared(&mut self) {
        let pair = self.pair;
        match (pair.old.is_closed(), pair.new.is_closed()) {
            (false, true) => {
                self.comparison.report_restriction(
                    rules::OBJECT_CLOSED,
                    pair,
                    "undeclared properties are now rejected".to_owned(),
                    KeywordFacet::new(CLOSING_KEYWORDS),
                );
            }
            (true, false) => {
                self.comparison.report_restriction(
                    rules::OBJECT_OPENED,
                    pair,
                    "undeclared properties are now valid".to_owned(),
                    KeywordFacet::new(CLOSING_KEYWORDS),
                );
            }
            (true, true) => self.compare_closed_names(),
            (false, false) => {
                let (old, new) = (pair.old.additional_schemas(), pair.new.additional_schemas());
                if !old.is_empty() || !new.is_empty() {
                    self.comparison.compare_schemas(&old, &new, &pair.site.below(StepKind::Member, "{*}"));
                }
            }
        }
    }

    /// Compares the declared property names if both versions forbid undeclared properties.
    fn compare_closed_names(&mut self) {
        let pair = self.pair;
        let closings = |flat: &FlattenedSchema<'g>, other: &FlattenedSchema<'g>| {
            let mut all: Vec<ClosedNames<'g>> = flat.closed_name_sets().into_iter().collect();
            // Properties and patterns that only one version declares are reported elsewhere.
            let is_own = |name: &str| flat.declares_property(name) && !other.may_declare(name);
            let matches = |flat: &FlattenedSchema<'g>, pattern: &str| {
                flat.any_schema(|schema| schema.pattern_properties.iter().any(|(known, _)| known == pattern))
            };
            for closing in &mut all {
                closing.names.retain(|name| !is_own(name));
                closing.patterns.retain(|pattern| !matches(flat, pattern) || matches(other, pattern));
            }
            all.sort();
            all.dedup();
            all
        };
        if closings(&pair.old, &pair.new) == closings(&pair.new, &pair.old) {
            return;
        }
        let facet = KeywordFacet::new(CLOSING_KEYWORDS);
        let verdict = self.comparison.find_verdict(pair, pair.site.value_use, &facet);
        if verdict == Some(Ok(())) || verdict.is_none() && self.comparison.is_proven_equivalent(pair) {
            return;
        }
        let (rule, message) = match pair.site.value_use {
            ValueUse::Read => {
                (rules::OBJECT_OPENED, "properties that a closed schema rejected as undeclared are now valid")
            }
            ValueUse::Write => {
                (rules::OBJECT_CLOSED, "a closed schema now rejects some properties as undeclared")
            }
        };
        self.comparison.report_with_verdict(rule, pair, message.to_owned(), &facet, verdict);
    }
}

/// Returns the location of a property, or of the object if the property is not declared.
fn property_place<'g>(flat: &FlattenedSchema<'g>, name: &str) -> Option<&'g DocumentLocation> {
    let declared = flat.schemas().flat_map(|schema| &schema.properties).find(|(other, _)| other == name);
    declared.map(|(_, id)| &flat.graph.schema(*id).place).or_else(|| flattened_place(flat))
}

/// Returns the comparison site of a property. If the sending version never sends the property in the
/// direction of the site, differences at the site are marked as harmless.
fn property_site(pair: &SchemaPair<'_>, name: &str) -> ComparisonSite {
    let at = pair.site.below(StepKind::Member, &escape_token(name));
    let giving = if at.value_use == ValueUse::Write { &pair.old } else { &pair.new };
    if giving.is_never_sent(name, at.value_use) { at.with_harmless_differences() } else { at }
}

/// Returns true if any schema can refuse values of a property.
fn is_restricted_property(flat: &FlattenedSchema<'_>, name: &str) -> bool {
    flat.property_schemas(name).iter().any(|id| flat.can_reject(*id))
}

/// Returns the schemas of a property in each branch of a union, if all branches declare it. Returns `None` if
/// there is no such union.
fn branch_property_schemas<'g>(flat: &FlattenedSchema<'g>, name: &str) -> Option<Vec<Vec<SchemaId>>> {
    let declared = |id: &SchemaId| {
        let branch = FlattenedSchema::from_schemas(flat.graph, &[*id]);
        branch.declares_property(name).then(|| branch.property_schemas(name))
    };
    flat.unions()
        .into_iter()
        .find_map(|union| union.branches.iter().map(declared).collect::<Option<Vec<Vec<SchemaId>>>>())
}
