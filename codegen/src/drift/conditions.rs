//! `if`, `not`, dependencies and what is left unevaluated.

use contract_runtime::Json;

use super::{
    finding::{Comparer, Facet, Pair},
    flat::{Flat, Union},
    proof::Side,
    rules,
    subject::{Step, Use},
};
use crate::{
    schema::{Schema, SchemaId, Types, keywords::Keyword},
    together::Conj,
};

/// How deep a condition is looked into.
const DEPTH: u8 = 4;

impl<'g> Comparer<'g> {
    /// Compares what applies only sometimes.
    pub(super) fn conditions(&mut self, pair: &Pair<'g>) {
        self.ifs(pair);
        self.nots(pair);
        self.dependencies(pair);
        self.unevaluated(pair);
    }

    fn ifs(&mut self, pair: &Pair<'g>) {
        // A condition without consequences asks for nothing.
        let asks = |flat: &Flat<'g>, schema: &Schema| {
            let consequences = schema.then.into_iter().chain(schema.otherwise);
            schema.condition.is_some() && consequences.into_iter().any(|id| flat.demands(id))
        };
        let all = |flat: &Flat<'g>| flat.schemas().filter(|schema| asks(flat, schema)).collect::<Vec<_>>();
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
        new.retain(|after| {
            let unmet = self.is_unmet(pair, after);
            if unmet {
                let message = "a condition asks for more where a new member is there".to_owned();
                self.note_of(rules::CONDITION_ADDED_NEW_MEMBER, pair, Keyword::If, message);
            }
            !unmet
        });
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

    /// Whether a condition is over what the old version does not know, so that nothing of its own
    /// meets it.
    fn is_unmet(&self, pair: &Pair<'g>, holder: &Schema) -> bool {
        let asks_otherwise = holder.otherwise.is_some_and(|id| pair.new.demands(id));
        let unmet = |id| self.tests_what_is_new(pair, id);
        !asks_otherwise
            && holder.condition.is_some_and(unmet)
            && self.concerns_objects_only(pair, &[Keyword::If, Keyword::Then, Keyword::Else])
    }

    /// Whether a test of the new version holds of no object that the old one knows.
    pub(super) fn tests_what_is_new(&self, pair: &Pair<'g>, test: SchemaId) -> bool {
        let test = Flat::of(pair.new.graph, &[test]);
        self.is_unknown((&pair.old, &pair.new), &test, (pair.at.usage, DEPTH))
    }

    /// Whether what is no object loses nothing by some keywords: `required` and `properties` hold of it.
    pub(super) fn concerns_objects_only(&self, pair: &Pair<'g>, keywords: &'static [Keyword]) -> bool {
        let others = pair.old.types().and(pair.at.within).without(Types::OBJECT);
        let facet = Facet::of(keywords);
        others.is_empty()
            || self.options.proofs && {
                let (old, new) =
                    ((Side::Old, pair.old_ids.as_slice()), (Side::New, pair.new.members.as_slice()));
                self.prover(pair.at.usage).judge(old, new, others, &facet) == Some(Ok(()))
            }
    }

    /// Whether a test asks for a member or a value that the new version has and the old one does not
    /// know. Whoever sends what neither declares may send it.
    fn is_unknown(
        &self,
        (old, new): (&Flat<'g>, &Flat<'g>),
        test: &Flat<'g>,
        (usage, depth): (Use, u8),
    ) -> bool {
        let Some(deeper) = depth.checked_sub(1) else { return false };
        let mut names = test.schemas().flat_map(|schema| &schema.required);
        let unknown = |name: &String| {
            if !old.knows(name) {
                return new.offers(name);
            }
            if old.knows_sometimes(name) {
                return false;
            }
            let (before, asked) = (old.applicable(name), test.applicable(name));
            let asked = Flat::of(test.graph, &asked);
            let values = asked.values().unwrap_or_default();
            let refused = |value: &&Json| !self.prover(usage).accepts(Side::Old, &before, value);
            !values.is_empty() && values.iter().all(refused) || {
                let before = Flat::of(old.graph, &before);
                let after = Flat::of(new.graph, &new.applicable(name));
                // Of what is no object, tests of members hold.
                before.types().without(Types::OBJECT).is_empty()
                    && self.is_unknown((&before, &after), &asked, (usage, deeper))
            }
        };
        let every = |union: &Union<'g>| {
            let mut branches = union.branches.iter().map(|id| Flat::of(test.graph, &[*id]));
            branches.all(|branch| self.is_unknown((old, new), &branch, (usage, deeper)))
        };
        names.any(unknown) || test.unions().iter().any(every)
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
        new.retain(|after| {
            let unmet =
                self.tests_what_is_new(pair, *after) && self.concerns_objects_only(pair, &[Keyword::Not]);
            if unmet {
                let message = "`not` forbids something where a new member is there".to_owned();
                self.note_of(rules::NOT_ADDED_NEW_MEMBER, pair, Keyword::Not, message);
            }
            !unmet
        });
        if left.is_empty() && new.is_empty() || self.alike(pair) {
            return;
        }
        if !left.is_empty() {
            let facet = Facet::of(&[Keyword::Not]).tries(self.forbidden(pair, Side::Old, &left));
            self.set(rules::NOT_REMOVED, pair, "what `not` forbade is valid".to_owned(), facet);
        }
        if !new.is_empty() {
            let facet = Facet::of(&[Keyword::Not]).tries(self.forbidden(pair, Side::New, &new));
            self.set(rules::NOT_ADDED, pair, "`not` forbids more".to_owned(), facet);
        }
    }

    /// Values that `not` refuses and the other side may take.
    fn forbidden(&self, pair: &Pair<'g>, side: Side, nots: &[SchemaId]) -> Vec<Json> {
        if !self.options.proofs {
            return Vec::new();
        }
        let types = pair.old.types().and(pair.new.types()).and(pair.at.within);
        let samples =
            |not: &SchemaId| self.prover(pair.at.usage).samples(side, &Conj::one(*not).within(types));
        nots.iter().flat_map(samples).collect()
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
            let message = format!("`{other}` is required beside `{name}`");
            if pair.old.knows(name) || !pair.new.offers(name) {
                self.set(rules::DEPENDENCY_ADDED, pair, message, facet());
            } else {
                self.note_of(rules::DEPENDENCY_ADDED_NEW_MEMBER, pair, Keyword::DependentRequired, message);
            }
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
            if before.is_empty() && !pair.old.knows(name) && pair.new.offers(name) {
                let message = format!("beside `{name}` more is asked");
                self.note_of(rules::DEPENDENCY_ADDED_NEW_MEMBER, pair, Keyword::DependentSchemas, message);
            } else if before.is_empty() {
                self.set(rules::DEPENDENCY_ADDED, pair, format!("beside `{name}` more is asked"), facet);
            } else if after.is_empty() {
                self.set(rules::DEPENDENCY_REMOVED, pair, format!("beside `{name}` less is asked"), facet);
            } else {
                self.pair(&before, &after, &pair.at.step(Step::Part, &format!("{{beside {name}}}")));
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
                let closes = flat.graph.schema(*id).boolean == Some(false);
                flat.demands(*id) && (!closes || keyword == "unevaluatedItems")
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
                let step = if keyword == "unevaluatedItems" { Step::Element } else { Step::Member };
                self.pair(&old, &new, &pair.at.step(step, &format!("{{{keyword}}}")));
            }
        }
    }

    /// Whether the two sides accept the same, however they say it.
    pub(super) fn alike(&self, pair: &Pair<'g>) -> bool {
        self.options.proofs && self.prover(pair.at.usage).equivalent(&pair.old_ids, &pair.new_ids)
    }
}
