//! Bases with a `discriminator` and no `oneOf`: where the owner asks for it, what is made of a base by
//! `allOf` becomes an enum with a variant for each child and one for the base itself.
//!
//! The tag decides how a value is read and never what is valid: that the base says alone.

use contract_runtime::{Json, schema::Certainty};

use super::{
    TypeId, TypeRef,
    build::Shaper,
    tags::{self, Tag},
    unions::Branch,
};
use crate::{
    schema::{Discriminator, Types},
    together::{Conj, Facts, meaning},
};

impl Shaper<'_> {
    /// The enum of a base and its children.
    pub(super) fn family(
        &mut self,
        conj: &Conj,
        facts: &Facts,
        hint: &str,
        slot: Option<TypeId>,
    ) -> Option<TypeRef> {
        let [base] = *conj.ids.as_slice() else { return None };
        let graph = self.graph;
        let discriminator = graph.schema(base).discriminator.as_ref().filter(|it| !it.family.is_empty())?;
        if conj.chosen.contains(&base) || facts.types != Types::OBJECT || facts.dynamic {
            return None;
        }
        let own = Branch::of(graph, self.options, conj, base, (discriminator.family.len(), base));
        let mut branches = Vec::new();
        let mut literals: Vec<Vec<Json>> = Vec::new();
        for (position, &id) in discriminator.family.iter().enumerate() {
            let branch = Branch::of(graph, self.options, conj, base, (position, id));
            if branch.facts.types == Types::OBJECT && !branch.facts.dynamic {
                self.means(discriminator, branch, &own, &mut branches, &mut literals);
            }
        }
        if branches.is_empty() {
            return None;
        }
        let name = slot.map_or(hint, |id| self.shapes.get(id).name.as_str());
        let base_name = format!("{name}Base");
        self.type_of(own.place(), &base_name);
        self.means(discriminator, own.clone(), &own, &mut branches, &mut literals);
        self.shapes.decided.insert(base);
        let otherwise = branches.iter().position(|each| discriminator.default == Some(each.id));
        let tag = Tag { name: &discriminator.tag, certainty: Certainty::Meant, literals, otherwise };
        Some(self.tagged(conj, base, &branches, tag, hint, slot))
    }

    /// Adds a branch with the values of the tag that mean it and none before it; one without any is
    /// left out.
    fn means(
        &self,
        discriminator: &Discriminator,
        branch: Branch,
        own: &Branch,
        branches: &mut Vec<Branch>,
        literals: &mut Vec<Vec<Json>>,
    ) {
        let values = self.values(discriminator, &branch, own).into_iter();
        let values: Vec<Json> =
            values.filter(|value| !literals.iter().flatten().any(|taken| taken == value)).collect();
        if !values.is_empty() {
            branches.push(branch);
            literals.push(values);
        }
    }

    /// The values that mean a branch: those of the mapping or its name, as far as its schemas allow
    /// them, else those that it lists itself.
    fn values(&self, discriminator: &Discriminator, branch: &Branch, own: &Branch) -> Vec<Json> {
        let meant = meaning::meant_below(self.graph, discriminator, branch.id, own.id).into_iter();
        let mut meant: Vec<Json> = meant.map(|value| Json::String(value.to_owned())).collect();
        let tag = &discriminator.tag;
        let Some(listed) = tags::constants(self.graph, self.options, tag, branch) else { return meant };
        meant.retain(|value| listed.contains(&value));
        let inherited = tags::constants(self.graph, self.options, tag, own);
        if meant.is_empty() && inherited.is_none_or(|inherited| inherited != listed) {
            meant.extend(listed.into_iter().filter(|value| value.as_str().is_some()).cloned());
        }
        meant
    }
}
