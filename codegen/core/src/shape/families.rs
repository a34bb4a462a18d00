//! Builds the enums of families. A family is a base schema with a `discriminator` and without `oneOf`,
//! together with its children, which are the schemas that extend it by `allOf`. If the configuration selects
//! the base, it becomes an enum with one variant for each child and one for the base itself.
//!
//! The tag selects the variant that parses a value. The schema of the base determines if the value is valid.

use contract_runtime::{Json, schema::TagCertainty};

use super::{
    TypeId, TypeRef,
    build::ShapeBuilder,
    tags::{self, UnionTag},
    unions::UnionBranch,
};
use crate::{
    conjunction::{SchemaConjunction, SchemaFacts, discriminator},
    schema::{Discriminator, TypeSet},
};

impl ShapeBuilder<'_> {
    /// Builds the enum of a base and its children. Returns `None` if the conjunction is not the base of a
    /// family that the configuration selects.
    pub(super) fn family_type(
        &mut self,
        conj: &SchemaConjunction,
        facts: &SchemaFacts,
        hint: &str,
        slot: Option<TypeId>,
    ) -> Option<TypeRef> {
        let [base] = *conj.ids.as_slice() else { return None };
        let graph = self.graph;
        let discriminator = graph.schema(base).discriminator.as_ref().filter(|it| !it.family.is_empty())?;
        if conj.chosen.contains(&base) || facts.types != TypeSet::OBJECT || facts.has_dynamic_reference {
            return None;
        }
        let own = UnionBranch::new(graph, self.options, conj, base, (discriminator.family.len(), base));
        let mut branches = Vec::new();
        let mut literals: Vec<Vec<Json>> = Vec::new();
        for (position, &id) in discriminator.family.iter().enumerate() {
            let branch = UnionBranch::new(graph, self.options, conj, base, (position, id));
            if branch.facts.types == TypeSet::OBJECT && !branch.facts.has_dynamic_reference {
                self.add_branch(discriminator, branch, &own, &mut branches, &mut literals);
            }
        }
        if branches.is_empty() {
            return None;
        }
        let name = slot.map_or(hint, |id| self.shapes.get(id).name.as_str());
        let base_name = format!("{name}Base");
        self.type_of(own.conjunction(), &base_name);
        self.add_branch(discriminator, own.clone(), &own, &mut branches, &mut literals);
        self.shapes.used_overrides.insert(base);
        let otherwise = branches.iter().position(|each| discriminator.default == Some(each.id));
        let tag = UnionTag { name: &discriminator.tag, certainty: TagCertainty::Hint, literals, otherwise };
        Some(self.tagged_union(conj, base, &branches, tag, hint, slot))
    }

    /// Adds a branch with those of its tag values that no earlier branch has. If no value remains, the branch
    /// is skipped.
    fn add_branch(
        &self,
        discriminator: &Discriminator,
        branch: UnionBranch,
        own: &UnionBranch,
        branches: &mut Vec<UnionBranch>,
        literals: &mut Vec<Vec<Json>>,
    ) {
        let values = self.branch_values(discriminator, &branch, own).into_iter();
        let values: Vec<Json> =
            values.filter(|value| !literals.iter().flatten().any(|taken| taken == value)).collect();
        if !values.is_empty() {
            branches.push(branch);
            literals.push(values);
        }
    }

    /// Returns the tag values that select a branch. These are its entries in the `mapping`, or else its
    /// schema name, without values that its schemas exclude. If none remains, these are the strings that its
    /// schemas enumerate for the tag, unless the base enumerates the same values.
    fn branch_values(
        &self,
        discriminator: &Discriminator,
        branch: &UnionBranch,
        own: &UnionBranch,
    ) -> Vec<Json> {
        let meant = discriminator::subtype_values(self.graph, discriminator, branch.id, own.id).into_iter();
        let mut meant: Vec<Json> = meant.map(|value| Json::String(value.to_owned())).collect();
        let tag = &discriminator.tag;
        let Some(listed) = tags::allowed_tag_values(self.graph, self.options, tag, branch) else {
            return meant;
        };
        meant.retain(|value| listed.contains(&value));
        let inherited = tags::allowed_tag_values(self.graph, self.options, tag, own);
        if meant.is_empty() && inherited.is_none_or(|inherited| inherited != listed) {
            meant.extend(listed.into_iter().filter(|value| value.as_str().is_some()).cloned());
        }
        meant
    }
}
