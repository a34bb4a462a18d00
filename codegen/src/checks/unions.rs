//! Checks of enums with a variant for each case, and of what may be `null`.

use contract_runtime::{Json, schema::Certainty};

use super::{
    At, Checker, DEPTH,
    check::{
        Arm,
        Check::{self, Always, Never},
        Place, Test,
    },
    scalars::allows,
};
use crate::{
    schema::{SchemaId, Types},
    shape::{KindVariant, Tagged, TypeDef, TypeId, TypeRef},
};

impl<'a> Checker<'a> {
    pub(super) fn tagged_definition(&self, id: TypeId, def: &TypeDef, body: &'a Tagged) -> Check {
        let branches = self.branches(body.holder);
        let arms = body.variants.iter().map(|v| {
            let conj = match branches.get(v.branch) {
                Some(&branch) if body.certainty == Certainty::Required => {
                    def.conj.choose(body.holder, branch)
                }
                // The base of a family, by itself.
                None if self.is_own(body.holder, v.branch) => def.conj.choose(body.holder, body.holder),
                // A value that was not read may be without the tag, or what its tag does not say.
                _ => def.conj.clone(),
            };
            arm(&v.name, self.conj(&conj, &At::bound(&v.ty), DEPTH))
        });
        let unknown = body.open.then(|| def.conj.ids.clone());
        variants(Place::Own, false, id, arms.collect(), unknown)
    }

    pub(super) fn kinds_definition(&self, id: TypeId, def: &TypeDef, all: &'a [KindVariant]) -> Check {
        let arms = all.iter().map(|v| {
            let conj = def.conj.within(v.types);
            arm(&v.name, self.conj(&conj, &At::bound(&v.ty), DEPTH))
        });
        variants(Place::Own, false, id, arms.collect(), None)
    }

    /// Whether a branch of a family is the base.
    fn is_own(&self, holder: SchemaId, branch: usize) -> bool {
        let family = self.graph_schema(holder).family();
        !family.is_empty() && family.len() == branch
    }

    fn branches(&self, holder: SchemaId) -> &'a [SchemaId] {
        let s = self.graph_schema(holder);
        if s.one_of.is_empty() { &s.any_of } else { &s.one_of }
    }

    pub(super) fn at_tagged(
        &self,
        id: SchemaId,
        of: TypeId,
        body: &'a Tagged,
        at: &At<'a>,
        depth: u8,
    ) -> Check {
        let arms = body.variants.iter().map(|v| arm(&v.name, self.schema(id, &At::bound(&v.ty), depth - 1)));
        let unknown = body.open.then(|| vec![id]);
        variants(at.place.clone(), at.boxed, of, arms.collect(), unknown)
    }

    pub(super) fn at_kinds(
        &self,
        id: SchemaId,
        of: TypeId,
        all: &'a [KindVariant],
        at: &At<'a>,
        depth: u8,
    ) -> Check {
        let arms = all.iter().map(|v| arm(&v.name, self.schema(id, &At::bound(&v.ty), depth - 1)));
        variants(at.place.clone(), at.boxed, of, arms.collect(), None)
    }

    pub(super) fn nullable(
        &self,
        id: SchemaId,
        inner: &'a TypeRef,
        at: &At<'a>,
        chosen: &[SchemaId],
        depth: u8,
    ) -> Check {
        // The branch for null was put aside with its union; the union as a whole still allows it.
        let s = self.graph_schema(id);
        let null = if self.is_focus(s) && s.children().next().is_none() {
            allows(s, &Json::Null, Types::NULL)
        } else {
            chosen.contains(&id) || self.scope.tables.is_valid(id, &Json::Null)
        };
        match (null, self.schema_at(id, &At::bound(inner), chosen, depth - 1)) {
            (true, Always) => Always,
            (false, Never) => Never,
            (null, value) => {
                let (at, boxed) = (at.place.clone(), at.boxed);
                Test::Nullable { at, boxed, null, value: Box::new(value) }.into()
            }
        }
    }
}

fn arm(variant: &str, check: Check) -> Arm {
    Arm { variant: variant.to_owned(), check }
}

fn variants(at: Place, boxed: bool, of: TypeId, arms: Vec<Arm>, unknown: Option<Vec<SchemaId>>) -> Check {
    if unknown.is_none() && arms.iter().all(|arm| arm.check == Always) {
        return Always;
    }
    if unknown.is_none() && arms.iter().all(|arm| arm.check == Never) {
        return Never;
    }
    Test::Variants { at, boxed, of, arms, unknown }.into()
}
