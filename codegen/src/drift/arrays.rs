//! Elements: by position, behind them, counted.

use super::{
    finding::{Comparer, Facet, Pair},
    flat::Flat,
    rules,
};
use crate::schema::{SchemaId, keywords::Keyword};

impl<'g> Comparer<'g> {
    /// Compares two arrays.
    pub(super) fn arrays(&mut self, pair: &Pair<'g>) {
        let prefix = pair.old.prefix().max(pair.new.prefix());
        for at in 0..prefix {
            self.element(pair, Some(at), &at.to_string());
        }
        self.element(pair, None, "*");
        self.contains(pair);
    }

    fn element(&mut self, pair: &Pair<'g>, index: Option<usize>, token: &str) {
        let (old, new) = (pair.old.element(index), pair.new.element(index));
        if old.is_empty() && new.is_empty() {
            return;
        }
        let none = |flat: &Flat<'g>, ids: &[SchemaId]| {
            ids.iter().any(|id| flat.graph.schema(*id).boolean == Some(false))
        };
        let facet = || Facet::of(&[Keyword::Items, Keyword::PrefixItems]);
        match (none(&pair.old, &old), none(&pair.new, &new)) {
            (true, true) => {}
            (false, true) => {
                self.set(rules::ITEMS_CLOSED, pair, format!("elements at `{token}` are refused"), facet());
            }
            (true, false) => {
                self.set(rules::ITEMS_OPENED, pair, format!("elements at `{token}` are valid"), facet());
            }
            (false, false) => self.pair(&old, &new, &pair.at.step(token)),
        }
    }

    fn contains(&mut self, pair: &Pair<'g>) {
        let all = |flat: &Flat<'g>| {
            flat.schemas().filter_map(|schema| schema.contains.as_ref()).collect::<Vec<_>>()
        };
        let (old, new) = (all(&pair.old), all(&pair.new));
        let facet = || Facet::of(&[Keyword::Contains, Keyword::MinContains, Keyword::MaxContains]);
        for at in 0..old.len().max(new.len()) {
            match (old.get(at), new.get(at)) {
                (None, Some(_)) => {
                    self.set(
                        rules::CONTAINS_ADDED,
                        pair,
                        "some elements must have a certain form".to_owned(),
                        facet(),
                    );
                }
                (Some(_), None) => {
                    self.set(
                        rules::CONTAINS_REMOVED,
                        pair,
                        "no element needs a certain form".to_owned(),
                        facet(),
                    );
                }
                (Some(old), Some(new)) => {
                    let counts = (old.min, old.max) == (new.min, new.max);
                    if !counts || !self.same(&[old.schema], &[new.schema]) {
                        let message =
                            "which or how many elements must have a certain form is different".to_owned();
                        self.set(rules::CONTAINS_CHANGED, pair, message, facet());
                    }
                }
                (None, None) => {}
            }
        }
    }
}
