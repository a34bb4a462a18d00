//! A pair of schemas, keyword by keyword.

use super::{
    finding::{Comparer, Facet, Pair},
    flat::{Flat, Listing, Union, type_names},
    rules,
    subject::{Step, Use},
};
use crate::schema::{SchemaId, Types, keywords::Keyword};

/// How deep a union inside a union is looked into.
const DEPTH: u8 = 6;

impl<'g> Comparer<'g> {
    /// Everything about one place and all below it.
    pub(super) fn schemas(&mut self, pair: &Pair<'g>) {
        if self.alternatives(pair) {
            return;
        }
        self.annotations(pair);
        self.discriminators(pair);
        let (old, new) = (pair.old.types(), pair.new.types());
        if old.is_empty() && new.is_empty() {
            return;
        }
        if !self.texts_of_scalars(pair, old, new) && self.types(pair, old, new) {
            return;
        }
        let common = old.and(new);
        let listed = self.listing(pair);
        if !listed.whole {
            self.scalars(pair, common);
        }
        if common.contains(Types::ARRAY) {
            self.arrays(pair);
        }
        if common.contains(Types::OBJECT) {
            self.objects(pair);
        }
        self.unions(pair, &listed);
        self.conditions(pair);
    }

    /// Reports numbers and flags that became any text, where they are sent as texts: these stay valid;
    /// and any text that became numbers or flags, for those who read it. `true` when that is all that
    /// the types say.
    fn texts_of_scalars(&mut self, pair: &Pair<'g>, old: Types, new: Types) -> bool {
        if !pair.at.is_text() {
            return false;
        }
        let (rule, wide, narrow, texts) =
            if as_texts(old, new, &pair.new).is_some_and(|old| new.contains(old)) {
                (rules::TYPE_WIDENED, new, old, &pair.new)
            } else if pair.at.usage == Use::Read
                && as_texts(new, old, &pair.old).is_some_and(|new| old.contains(new))
            {
                (rules::TYPE_NARROWED, old, new, &pair.old)
            } else {
                return false;
            };
        // Of unions their branches say it.
        if texts.unions().is_empty() || wide.and(narrow).is_empty() {
            let (was, is) = (type_names(old), type_names(new));
            self.note(rule, pair, format!("the type is {is}, was {was}, which is sent as a text"));
        }
        true
    }

    /// Reports what `type` (and unions and lists of values) say; `true` when nothing is shared.
    fn types(&mut self, pair: &Pair<'g>, old: Types, new: Types) -> bool {
        if old == new {
            return false;
        }
        // A list of values on either side says more than the types of its values.
        let listed = |flat: &Flat<'g>| matches!(flat.listing(), Listing::Closed { .. });
        let silent = listed(&pair.old) || listed(&pair.new);
        let (was, is) = (type_names(old), type_names(new));
        let facet = Facet::of(&[
            Keyword::Type,
            Keyword::Enum,
            Keyword::Const,
            Keyword::OneOf,
            Keyword::AnyOf,
            Keyword::Ref,
        ]);
        let disjoint = old.and(new).is_empty();
        if old.is_empty() || new.is_empty() {
            let rule = if old.is_empty() { rules::TYPE_WIDENED } else { rules::TYPE_NARROWED };
            // Nothing is of any type where keywords contradict each other, whichever they are.
            let facet = Facet::of(Keyword::ALL).changed(Keyword::Type);
            self.set(rule, pair, format!("{is} is valid, was {was}"), facet);
        } else if new == old.or(Types::NULL) {
            self.set(
                rules::NULL_ADDED,
                pair,
                format!("`null` is valid beside {was}"),
                facet.tries([contract_runtime::Json::Null]),
            );
        } else if old == new.or(Types::NULL) {
            let tries = [contract_runtime::Json::Null];
            self.set(
                rules::NULL_REMOVED,
                pair,
                format!("`null` is no longer valid beside {is}"),
                facet.tries(tries),
            );
        } else if disjoint && silent && self.constants(pair) {
            return true;
        } else if new.contains(old) && !silent {
            self.set(rules::TYPE_WIDENED, pair, format!("the type is {is}, was {was}"), facet);
        } else if old.contains(new) && !silent {
            self.set(rules::TYPE_NARROWED, pair, format!("the type is {is}, was {was}"), facet);
        } else if !silent || disjoint {
            self.set(rules::TYPE_CHANGED, pair, format!("the type is {is}, was {was}"), facet);
        }
        disjoint
    }

    /// What holds of the same value on two sides, `[]` where nothing does: anything goes.
    pub(super) fn maybe(
        &mut self,
        old: Option<SchemaId>,
        new: Option<SchemaId>,
        pair: &Pair<'g>,
        token: &str,
    ) {
        let list = |id: Option<SchemaId>| id.into_iter().collect::<Vec<_>>();
        if old.is_some() || new.is_some() {
            self.pair(&list(old), &list(new), &pair.at.step(Step::Part, token));
        }
    }
}

/// The types of one side with texts instead of the scalars that the other side lacks, where that takes
/// their texts.
fn as_texts(own: Types, others: Types, other: &Flat<'_>) -> Option<Types> {
    let scalars = Types::NUMBER.or(Types::BOOLEAN).or(Types::INTEGER).or(Types::NULL);
    let lacking = own.and(scalars).without(others);
    // A text of nothing may stand for `null`.
    let shortest = u64::from(!lacking.contains(Types::NULL));
    let is_taken = !lacking.is_empty() && takes_any_text(other, shortest, DEPTH);
    is_taken.then(|| own.without(lacking).or(Types::STRING))
}

/// Whether every text of a length is valid.
fn takes_any_text(flat: &Flat<'_>, shortest: u64, depth: u8) -> bool {
    let idle = [
        Keyword::Ref,
        Keyword::AllOf,
        Keyword::Type,
        Keyword::MinLength,
        Keyword::AnyOf,
        Keyword::OneOf,
        // Those of arrays and objects.
        Keyword::Items,
        Keyword::PrefixItems,
        Keyword::MinItems,
        Keyword::MaxItems,
        Keyword::UniqueItems,
        Keyword::Properties,
        Keyword::PatternProperties,
        Keyword::AdditionalProperties,
        Keyword::Required,
    ];
    let Some(deeper) = depth.checked_sub(1) else { return false };
    let fits = |union: Union<'_>| {
        let branches = union.branches.iter().map(|id| Flat::of(flat.graph, &[*id]));
        let mut texts = branches.filter(|branch| branch.types().contains(Types::STRING));
        match union.one {
            true => texts
                .next()
                .is_some_and(|text| takes_any_text(&text, shortest, deeper) && texts.next().is_none()),
            false => texts.any(|text| takes_any_text(&text, shortest, deeper)),
        }
    };
    flat.types().contains(Types::STRING)
        && flat.least(|schema| schema.min_length).unwrap_or(0) <= shortest
        && flat.schemas().all(|schema| schema.decides_by(&idle))
        && flat.unions().into_iter().all(fits)
}
