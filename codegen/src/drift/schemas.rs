//! A pair of schemas, keyword by keyword.

use super::{
    finding::{Comparer, Facet, Pair},
    flat::{Listing, type_names},
    rules,
};
use crate::schema::{SchemaId, Types, keywords::Keyword};

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
        if self.texts_of_scalars(pair, old, new) || self.types(pair, old, new) {
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

    /// Reports numbers and flags that became any text, where they are sent as texts: these stay valid.
    fn texts_of_scalars(&mut self, pair: &Pair<'g>, old: Types, new: Types) -> bool {
        let scalars = Types::NUMBER.or(Types::BOOLEAN).or(Types::INTEGER);
        let any_text = |flat: &super::flat::Flat<'g>| {
            flat.types() == Types::STRING
                && flat
                    .schemas()
                    .all(|schema| schema.decides_by(&[Keyword::Ref, Keyword::AllOf, Keyword::Type]))
        };
        let becomes = !old.is_empty() && scalars.contains(old) && any_text(&pair.new);
        if !pair.at.is_text() || !becomes {
            return false;
        }
        let (was, is) = (type_names(old), type_names(new));
        let message = format!("the type is {is}, was {was}, which is sent as a text");
        self.note(rules::TYPE_WIDENED, pair, message);
        true
    }

    /// Reports what `type` (and unions and lists of values) say; `true` when nothing is shared.
    fn types(&mut self, pair: &Pair<'g>, old: Types, new: Types) -> bool {
        if old == new {
            return false;
        }
        // A list of values on either side says more than the types of its values.
        let listed = |flat: &super::flat::Flat<'g>| matches!(flat.listing(), Listing::Closed { .. });
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

    /// The two sides as lists, `[]` for one that is absent: anything goes.
    pub(super) fn maybe(
        &mut self,
        old: Option<SchemaId>,
        new: Option<SchemaId>,
        pair: &Pair<'g>,
        token: &str,
    ) {
        let list = |id: Option<SchemaId>| id.into_iter().collect::<Vec<_>>();
        if old.is_some() || new.is_some() {
            let at = if token.is_empty() { pair.at.clone() } else { pair.at.step(token) };
            self.pair(&list(old), &list(new), &at);
        }
    }
}
