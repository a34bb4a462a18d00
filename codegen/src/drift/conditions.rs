//! `if`, `not`, dependencies and what is left unevaluated.

use super::{
    finding::{Comparer, Facet, Pair},
    flat::Flat,
    rules,
};
use crate::schema::{Schema, SchemaId, keywords::Keyword};

impl<'g> Comparer<'g> {
    /// Compares what applies only sometimes.
    pub(super) fn conditions(&mut self, pair: &Pair<'g>) {
        self.ifs(pair);
        self.nots(pair);
        self.dependencies(pair);
        self.unevaluated(pair);
    }

    fn ifs(&mut self, pair: &Pair<'g>) {
        let all =
            |flat: &Flat<'g>| flat.schemas().filter(|schema| schema.condition.is_some()).collect::<Vec<_>>();
        let (old, mut new) = (all(&pair.old), all(&pair.new));
        let facet = || Facet::of(&[Keyword::If, Keyword::Then, Keyword::Else]);
        let mut left = Vec::new();
        for before in old {
            let condition: Vec<SchemaId> = before.condition.into_iter().collect();
            let mut same =
                |after: &&'g Schema| after.condition.is_some_and(|id| self.same(&condition, &[id]));
            if let Some(at) = new.iter().position(&mut same) {
                let after = new.remove(at);
                self.maybe(before.then, after.then, pair, "{then}");
                self.maybe(before.otherwise, after.otherwise, pair, "{else}");
            } else {
                left.push(before);
            }
        }
        if left.is_empty() && new.is_empty() || self.alike(pair) {
            return;
        }
        for _ in 0..left.len().min(new.len()) {
            self.set(rules::CONDITION_CHANGED, pair, "what `if` asks is different".to_owned(), facet());
        }
        for _ in new.len()..left.len() {
            self.set(
                rules::CONDITION_REMOVED,
                pair,
                "a condition asks for nothing any more".to_owned(),
                facet(),
            );
        }
        for _ in left.len()..new.len() {
            self.set(rules::CONDITION_ADDED, pair, "a condition asks for more".to_owned(), facet());
        }
    }

    fn nots(&mut self, pair: &Pair<'g>) {
        let all = |flat: &Flat<'g>| flat.schemas().filter_map(|schema| schema.not).collect::<Vec<_>>();
        let (old, mut new) = (all(&pair.old), all(&pair.new));
        let mut left = Vec::new();
        for before in old {
            match new.iter().position(|after| self.same(&[before], &[*after])) {
                Some(at) => {
                    new.remove(at);
                }
                None => left.push(before),
            }
        }
        if left.is_empty() && new.is_empty() || self.alike(pair) {
            return;
        }
        if !left.is_empty() {
            self.set(
                rules::NOT_REMOVED,
                pair,
                "what `not` forbade is valid".to_owned(),
                Facet::of(&[Keyword::Not]),
            );
        }
        if !new.is_empty() {
            self.set(rules::NOT_ADDED, pair, "`not` forbids more".to_owned(), Facet::of(&[Keyword::Not]));
        }
    }

    fn dependencies(&mut self, pair: &Pair<'g>) {
        let required = |flat: &Flat<'g>| {
            let all = flat.schemas().flat_map(|schema| &schema.dependent_required);
            let mut pairs: Vec<(&str, &str)> = all
                .flat_map(|(name, others)| others.iter().map(|other| (name.as_str(), other.as_str())))
                // What is required anyway depends on nothing.
                .filter(|(_, other)| !flat.requires(other))
                .collect();
            pairs.sort_unstable();
            pairs.dedup();
            pairs
        };
        let (old, new) = (required(&pair.old), required(&pair.new));
        let facet = || Facet::of(&[Keyword::DependentRequired]);
        for (name, other) in new.iter().filter(|each| !old.contains(each) && !pair.old.requires(each.1)) {
            self.set(
                rules::DEPENDENCY_ADDED,
                pair,
                format!("`{other}` is required beside `{name}`"),
                facet(),
            );
        }
        for (name, other) in old.iter().filter(|each| !new.contains(each) && !pair.new.requires(each.1)) {
            self.set(
                rules::DEPENDENCY_REMOVED,
                pair,
                format!("`{other}` may be missing beside `{name}`"),
                facet(),
            );
        }
        let schemas =
            |flat: &Flat<'g>| flat.schemas().flat_map(|schema| &schema.dependent_schemas).collect::<Vec<_>>();
        let (old, new) = (schemas(&pair.old), schemas(&pair.new));
        let mut names: Vec<&String> = old.iter().chain(&new).map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        for name in names {
            let of = |all: &[&(String, SchemaId)]| {
                all.iter().filter(|(other, _)| other == name).map(|(_, id)| *id).collect::<Vec<_>>()
            };
            let (before, after) = (of(&old), of(&new));
            let facet = Facet::of(&[Keyword::DependentSchemas]);
            if before.is_empty() {
                self.set(rules::DEPENDENCY_ADDED, pair, format!("beside `{name}` more is asked"), facet);
            } else if after.is_empty() {
                self.set(rules::DEPENDENCY_REMOVED, pair, format!("beside `{name}` less is asked"), facet);
            } else {
                self.pair(&before, &after, &pair.at.step(&format!("{{beside {name}}}")));
            }
        }
    }

    fn unevaluated(&mut self, pair: &Pair<'g>) {
        type Pick = fn(&Schema) -> Option<SchemaId>;
        let properties: Pick = |schema| schema.unevaluated_properties;
        let items: Pick = |schema| schema.unevaluated_items;
        for (pick, keyword, facet) in [
            (properties, "unevaluatedProperties", Facet::of(&[Keyword::UnevaluatedProperties])),
            (items, "unevaluatedItems", Facet::of(&[Keyword::UnevaluatedItems])),
        ] {
            // `unevaluatedProperties: false` closes the object, which `objects` compares.
            let plain = |flat: &Flat<'g>, id: &SchemaId| {
                let boolean = flat.graph.schema(*id).boolean;
                boolean != Some(true) && (boolean.is_none() || keyword == "unevaluatedItems")
            };
            let all = |flat: &Flat<'g>| {
                flat.schemas().filter_map(pick).filter(|id| plain(flat, id)).collect::<Vec<_>>()
            };
            let (old, new) = (all(&pair.old), all(&pair.new));
            if old.is_empty() && !new.is_empty() {
                self.set(
                    rules::UNEVALUATED_ADDED,
                    pair,
                    format!("`{keyword}` restricts what is left"),
                    facet,
                );
            } else if !old.is_empty() && new.is_empty() {
                self.set(rules::UNEVALUATED_REMOVED, pair, format!("`{keyword}` is gone"), facet);
            } else if !old.is_empty() {
                self.pair(&old, &new, &pair.at.step(&format!("{{{keyword}}}")));
            }
        }
    }

    /// Whether the two sides accept the same, however they say it.
    pub(super) fn alike(&self, pair: &Pair<'g>) -> bool {
        self.options.proofs && self.prover.equivalent(&pair.old_ids, &pair.new_ids)
    }
}
