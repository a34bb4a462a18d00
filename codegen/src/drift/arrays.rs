//! Elements: by position, behind them, counted.

use contract_runtime::Json;

use super::{
    finding::{Comparer, Facet, Pair},
    flat::Flat,
    proof::Side,
    rules,
    subject::{Step, Use},
};
use crate::{
    schema::{Contains, SchemaId, keywords::Keyword},
    together::Conj,
};

/// Longer arrays are not tried.
const MOST: u64 = 20;

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
            (false, false) => self.pair(&old, &new, &pair.at.step(Step::Element, token)),
        }
    }

    fn contains(&mut self, pair: &Pair<'g>) {
        // Of no least and no most nothing is asked, but such an element counts as looked at.
        let looks = pair.old.any(|schema| schema.unevaluated_items.is_some())
            || pair.new.any(|schema| schema.unevaluated_items.is_some());
        let all = |flat: &Flat<'g>| {
            let all = flat.schemas().filter_map(|schema| schema.contains.as_ref());
            all.filter(|contains| looks || counts(contains) != (0, u64::MAX)).collect::<Vec<_>>()
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
                (Some(old), Some(new)) => self.counted(pair, old, new, facet()),
                (None, None) => {}
            }
        }
    }

    /// Compares which and how many elements must have a certain form.
    fn counted(&mut self, pair: &Pair<'g>, old: &Contains, new: &Contains, facet: Facet) {
        let ((least, most), (fewest, greatest)) = (counts(old), counts(new));
        let (rule, message) = if !self.same(&[old.schema], &[new.schema]) {
            let message = "which or how many elements must have a certain form is different";
            (rules::CONTAINS_CHANGED, message.to_owned())
        } else if (least, most) == (fewest, greatest) {
            return;
        } else {
            let rule = match (fewest >= least && greatest <= most, fewest <= least && greatest >= most) {
                (true, _) => rules::CONTAINS_NARROWED,
                (_, true) => rules::CONTAINS_WIDENED,
                _ => rules::CONTAINS_CHANGED,
            };
            let words = |least: u64, most: u64| match most {
                u64::MAX => format!("{least} or more"),
                _ => format!("{least} to {most}"),
            };
            let message = format!(
                "{} elements must have a certain form, {} had to",
                words(fewest, greatest),
                words(least, most)
            );
            (rule, message)
        };
        let tries = self.fitting(pair, old, new);
        self.set(rule, pair, message, facet.tries(tries));
    }

    /// Arrays of elements that have the form, from none to more than is spoken of.
    fn fitting(&self, pair: &Pair<'g>, old: &Contains, new: &Contains) -> Vec<Json> {
        if !self.options.proofs {
            return Vec::new();
        }
        let (side, flat, own) = match pair.at.usage {
            Use::Read => (Side::New, &pair.new, new),
            Use::Write => (Side::Old, &pair.old, old),
        };
        let ids: Vec<SchemaId> = flat.element(None).into_iter().chain([own.schema]).collect();
        let mut elements = self.prover(pair.at.usage).samples(side, &Conj::all(ids.iter().copied()));
        elements.retain(|value| self.prover(pair.at.usage).accepts(side, &ids, value));
        let most = [old.min, old.max, new.min, new.max].into_iter().flatten().max().unwrap_or(1).min(MOST);
        (0..=usize::try_from(most).unwrap_or(1) + 1)
            .map(|count| Json::Array(elements.iter().cycle().take(count).cloned().collect()))
            .collect()
    }
}

/// How many elements must have the form, at least and at most (Validation 6.4.4 and 6.4.5).
fn counts(contains: &Contains) -> (u64, u64) {
    (contains.min.unwrap_or(1), contains.max.unwrap_or(u64::MAX))
}
