//! Builds the checks of enums whose variants have content, and of nullable values.

use contract_runtime::Json;

use super::{
    CheckBuilder, MAX_DEPTH, TypedPlace,
    check::{
        Check::{self, Always, Never},
        ValuePlace, ValueTest, VariantArm,
    },
    scalars::allows_value,
};
use crate::{
    schema::{SchemaId, TypeSet},
    shape::{KindVariant, ObjectUnion, TypeDef, TypeId, TypeRef},
};

impl<'a> CheckBuilder<'a> {
    pub(super) fn objects_definition(&self, id: TypeId, def: &TypeDef, body: &'a ObjectUnion) -> Check {
        let branches = self.branches_of(body.holder);
        let objects = body.variants.iter().map(|v| {
            let conj = match v.conjunction(&body.conj, body.holder, branches) {
                Some(conj) if body.has_reliable_tag() => conj,
                // In a family, which is an enum of a base schema and the schemas that extend it, this is the
                // variant of the base.
                None if self.is_family_base(body.holder, v.branch) => {
                    body.conj.choose_branch(body.holder, body.holder)
                }
                // The tag may be missing or wrong in a value that user code builds. Therefore, any branch may
                // accept the content.
                _ => def.conj.within(body.conj.within),
            };
            variant_arm(&v.name, self.conjunction_check(&conj, &TypedPlace::bound_value(&v.ty), MAX_DEPTH))
        });
        let others = body.others.iter().map(|v| self.kind_arm(def, v));
        let unknown = body.open.then(|| def.conj.ids.clone());
        variants_check(ValuePlace::Own, false, id, objects.chain(others).collect(), unknown)
    }

    pub(super) fn kinds_definition(&self, id: TypeId, def: &TypeDef, all: &'a [KindVariant]) -> Check {
        let arms = all.iter().map(|v| self.kind_arm(def, v));
        variants_check(ValuePlace::Own, false, id, arms.collect(), None)
    }

    fn kind_arm(&self, def: &TypeDef, variant: &'a KindVariant) -> VariantArm {
        let conj = def.conj.within(variant.types);
        let place = TypedPlace::bound_value(&variant.ty);
        variant_arm(&variant.name, self.conjunction_check(&conj, &place, MAX_DEPTH))
    }

    /// Returns true if `branch` is the index of the base schema `holder` itself. In a family, this index
    /// follows those of the schemas that extend the base.
    fn is_family_base(&self, holder: SchemaId, branch: usize) -> bool {
        let family = self.graph_schema(holder).family_members();
        !family.is_empty() && family.len() == branch
    }

    fn branches_of(&self, holder: SchemaId) -> &'a [SchemaId] {
        let s = self.graph_schema(holder);
        if s.one_of.is_empty() { &s.any_of } else { &s.one_of }
    }

    pub(super) fn objects_check(
        &self,
        id: SchemaId,
        of: TypeId,
        body: &'a ObjectUnion,
        at: &TypedPlace<'a>,
        depth: u8,
    ) -> Check {
        let arms = body.contents().map(|(name, ty)| {
            variant_arm(name, self.schema_check(id, &TypedPlace::bound_value(ty), depth - 1))
        });
        let unknown = body.open.then(|| vec![id]);
        variants_check(at.place.clone(), at.boxed, of, arms.collect(), unknown)
    }

    pub(super) fn kinds_check(
        &self,
        id: SchemaId,
        of: TypeId,
        all: &'a [KindVariant],
        at: &TypedPlace<'a>,
        depth: u8,
    ) -> Check {
        let arms = all
            .iter()
            .map(|v| variant_arm(&v.name, self.schema_check(id, &TypedPlace::bound_value(&v.ty), depth - 1)));
        variants_check(at.place.clone(), at.boxed, of, arms.collect(), None)
    }

    pub(super) fn nullable_check(
        &self,
        id: SchemaId,
        inner: &'a TypeRef,
        at: &TypedPlace<'a>,
        chosen: &[SchemaId],
        depth: u8,
    ) -> Check {
        // For a single examined keyword without subschemas, only this keyword determines if `null` is valid.
        // Otherwise, the whole schema does. If its union is already replaced by a branch, `null` is valid,
        // because the type is nullable only due to another branch.
        let s = self.graph_schema(id);
        let null = if self.is_focus(s) && s.child_schemas().next().is_none() {
            allows_value(s, &Json::Null, TypeSet::NULL)
        } else {
            chosen.contains(&id) || self.scope.tables.is_valid(id, &Json::Null)
        };
        match (null, self.schema_at(id, &TypedPlace::bound_value(inner), chosen, depth - 1)) {
            (true, Always) => Always,
            (false, Never) => Never,
            (null, value) => {
                let (at, boxed) = (at.place.clone(), at.boxed);
                ValueTest::Nullable { at, boxed, null, value: Box::new(value) }.into()
            }
        }
    }
}

fn variant_arm(variant: &str, check: Check) -> VariantArm {
    VariantArm { variant: variant.to_owned(), check }
}

fn variants_check(
    at: ValuePlace,
    boxed: bool,
    of: TypeId,
    arms: Vec<VariantArm>,
    unknown: Option<Vec<SchemaId>>,
) -> Check {
    if unknown.is_none() && arms.iter().all(|arm| arm.check == Always) {
        return Always;
    }
    if unknown.is_none() && arms.iter().all(|arm| arm.check == Never) {
        return Never;
    }
    ValueTest::Variants { at, boxed, of, arms, unknown }.into()
}
