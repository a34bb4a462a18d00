//! Compares the branches that the values of a `discriminator` property select. If constants in the branches
//! select them in both versions, the comparison of the branches covers these changes. A `discriminator` does
//! not affect validity; readers use it to select a branch.

use contract_codegen_core::{
    conjunction::discriminator::discriminator_values,
    schema::{Discriminator, SchemaId},
};
use contract_runtime::Json;

use super::{
    branches::branch_type_name,
    comparison::{Comparison, SchemaPair},
    flattened::FlattenedSchema,
    rules,
};

/// The name of a discriminator property, and the branch that each of its values selects.
struct DiscriminatorMapping<'g> {
    tag: &'g str,
    /// Whether `const` or `enum` of the property in the branches, and not the `discriminator`, determines the
    /// mapping.
    by_constants: bool,
    values: Vec<(&'g str, SchemaId)>,
}

/// A comparer for the discriminators of a pair of schemas.
pub(super) struct DiscriminatorComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    pair: &'c SchemaPair<'g>,
}

impl<'c, 'g> DiscriminatorComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, pair: &'c SchemaPair<'g>) -> Self {
        Self { comparison, pair }
    }

    /// Compares the branches that the values of the discriminator property select in both versions.
    pub(super) fn compare_discriminators(&mut self) {
        let pair = self.pair;
        let discriminator =
            |flat: &FlattenedSchema<'g>| flat.find_first(|schema| schema.discriminator.as_ref());
        let tag = |flat| discriminator(flat).map(|found| found.tag.as_str());
        let (Some(was), Some(is)) = (tag(&pair.old).or(tag(&pair.new)), tag(&pair.new).or(tag(&pair.old)))
        else {
            return;
        };
        match (discriminator_mapping(&pair.old, was), discriminator_mapping(&pair.new, is)) {
            (Some(old), Some(new)) => self.compare_mappings(&old, &new),
            (None, Some(new)) if !new.by_constants => {
                let message = format!("`{is}` now selects the branch; in the old version, no property did");
                self.comparison.report_change(rules::DISCRIMINATOR_ADDED, pair, message);
            }
            (Some(old), None) if !old.by_constants => {
                let message = format!("`{was}` no longer selects the branch");
                self.comparison.report_change(rules::DISCRIMINATOR_REMOVED, pair, message);
            }
            _ => {}
        }
        self.compare_default_mapping(was, is);
    }

    /// Compares the branches that are selected if the discriminator property is missing or its value has no
    /// mapping (`defaultMapping`, OpenAPI 3.2, 4.25).
    fn compare_default_mapping(&mut self, was: &str, is: &str) {
        let pair = self.pair;
        let discriminator =
            |flat: &FlattenedSchema<'g>| flat.find_first(|schema| schema.discriminator.as_ref());
        // If the discriminator was added, removed or renamed, that is reported elsewhere.
        let (Some(old), Some(new), true) = (discriminator(&pair.old), discriminator(&pair.new), was == is)
        else {
            return;
        };
        let label = |graph, id| branch_type_name(graph, id).unwrap_or_else(|| "an unnamed branch".to_owned());
        let (rule, message) = match (old.default, new.default) {
            (Some(before), Some(after)) if !self.is_same_branch(before, after) => {
                let (was, now) = (label(pair.old.graph, before), label(pair.new.graph, after));
                let message = format!(
                    "the branch for any other or missing value of `{is}` changed from {was} to {now}"
                );
                (rules::DISCRIMINATOR_CHANGED, message)
            }
            (None, Some(after)) => {
                let message = format!(
                    "any other or missing value of `{is}` now selects {}",
                    label(pair.new.graph, after)
                );
                (rules::DISCRIMINATOR_VALUE_ADDED, message)
            }
            (Some(before), None) => {
                let was = label(pair.old.graph, before);
                let message = format!("any other or missing value of `{is}` no longer selects {was}");
                (rules::DISCRIMINATOR_VALUE_REMOVED, message)
            }
            _ => return,
        };
        self.comparison.report_change(rule, pair, message);
    }

    fn compare_mappings(&mut self, old: &DiscriminatorMapping<'g>, new: &DiscriminatorMapping<'g>) {
        let pair = self.pair;
        // If constants select the branches in both versions, they are compared together with the branches
        // that contain them.
        if old.by_constants && new.by_constants {
            return;
        }
        if old.tag != new.tag {
            let message =
                format!("the property that selects the branch changed from `{}` to `{}`", old.tag, new.tag);
            self.comparison.report_change(rules::DISCRIMINATOR_CHANGED, pair, message);
            return;
        }
        for (value, branch) in &old.values {
            let now = new.values.iter().find(|(other, _)| other == value);
            let label =
                |graph, id| branch_type_name(graph, id).unwrap_or_else(|| "the same branch".to_owned());
            let was = label(pair.old.graph, *branch);
            let (rule, message) = match now {
                Some((_, other)) if self.is_same_branch(*branch, *other) => continue,
                Some((_, other)) => {
                    let is = label(pair.new.graph, *other);
                    let message =
                        format!("the branch for `{value}` of `{}` changed from {was} to {is}", old.tag);
                    (rules::DISCRIMINATOR_CHANGED, message)
                }
                None => {
                    let message = format!("`{value}` of `{}` no longer selects {was}", old.tag);
                    (rules::DISCRIMINATOR_VALUE_REMOVED, message)
                }
            };
            self.comparison.report_change(rule, pair, message);
        }
        for (value, branch) in &new.values {
            let known =
                |this: &mut Self| old.values.iter().any(|(_, other)| this.is_same_branch(*other, *branch));
            if old.values.iter().all(|(other, _)| other != value) && known(self) {
                let form =
                    branch_type_name(pair.new.graph, *branch).unwrap_or_else(|| "a known branch".to_owned());
                let message = format!("`{value}` of `{}` now also selects {form}", new.tag);
                self.comparison.report_change(rules::DISCRIMINATOR_VALUE_ADDED, pair, message);
            }
        }
    }

    /// Returns true if two branches have the same type name or have no difference.
    fn is_same_branch(&mut self, old: SchemaId, new: SchemaId) -> bool {
        let pair = self.pair;
        let known = branch_type_name(pair.old.graph, old);
        known.is_some() && known == branch_type_name(pair.new.graph, new)
            || self.comparison.has_no_difference(&[old], &[new])
    }
}

/// Maps each value of the property `tag` to the branch that it selects. The `const` and `enum` values of the
/// branches take precedence over the `discriminator`. Returns `None` if neither the branches nor a
/// `discriminator` determine a mapping.
fn discriminator_mapping<'g>(flat: &FlattenedSchema<'g>, tag: &'g str) -> Option<DiscriminatorMapping<'g>> {
    let holder = flat.schemas().find(|schema| schema.discriminator.is_some());
    let branches: Vec<SchemaId> = match holder {
        Some(holder) => holder.one_of.iter().chain(&holder.any_of).copied().collect(),
        None => flat.unions().first().map(|union| union.branches.to_vec()).unwrap_or_default(),
    };
    if let Some(values) = constant_tag_values(flat, tag, &branches) {
        return Some(DiscriminatorMapping { tag, by_constants: true, values });
    }
    let discriminator = holder?.discriminator.as_ref()?;
    Some(DiscriminatorMapping {
        tag,
        by_constants: false,
        values: discriminator_values_by_branch(flat, discriminator, &branches),
    })
}

fn discriminator_values_by_branch<'g>(
    flat: &FlattenedSchema<'g>,
    discriminator: &'g Discriminator,
    branches: &[SchemaId],
) -> Vec<(&'g str, SchemaId)> {
    if branches.is_empty() {
        // Without branches, the discriminator selects among the schemas that extend this one with `allOf`;
        // only those that the mapping lists are known.
        return discriminator.mapping.iter().map(|(value, id)| (value.as_str(), *id)).collect();
    }
    let each = |branch: &SchemaId| {
        let values = discriminator_values(flat.graph, discriminator, *branch);
        values.into_iter().map(|value| (value, *branch)).collect::<Vec<_>>()
    };
    branches.iter().flat_map(each).collect()
}

/// Returns the strings that `const` and `enum` list for a property in each branch, each string with its
/// branch. Returns `None` if these strings do not distinguish all branches.
fn constant_tag_values<'g>(
    flat: &FlattenedSchema<'g>,
    tag: &str,
    branches: &[SchemaId],
) -> Option<Vec<(&'g str, SchemaId)>> {
    let mut all: Vec<(&str, SchemaId)> = Vec::new();
    for branch in branches {
        let one = FlattenedSchema::from_schemas(flat.graph, &[*branch]);
        for value in FlattenedSchema::from_schemas(flat.graph, &one.property_schemas(tag)).listed_values()? {
            let Json::String(text) = value else { return None };
            if all.iter().any(|(other, _)| other == text) {
                return None;
            }
            all.push((text, *branch));
        }
    }
    (!all.is_empty()).then_some(all)
}
