//! `oneOf` and `anyOf`: branches matched by tag, by what they say, by name.

use contract_runtime::Json;

use super::{
    enumerations::{Listed, short},
    finding::{Comparer, Facet, Pair},
    flat::{Flat, Union, type_names},
    proof::Side,
    rules,
};
use crate::{
    schema::{Graph, Origin, SchemaId, Types, keywords::Keyword},
    together::Conj,
};

const UNIONS: &[Keyword] = &[Keyword::OneOf, Keyword::AnyOf];

impl<'g> Comparer<'g> {
    /// Compares the unions that are no lists of values.
    pub(super) fn unions(&mut self, pair: &Pair<'g>, listed: &Listed) {
        let left = |flat: &Flat<'g>, done: Option<SchemaId>| {
            flat.unions().into_iter().filter(|union| Some(union.holder) != done).collect::<Vec<_>>()
        };
        let (old, new) = (left(&pair.old, listed.old), left(&pair.new, listed.new));
        if old.is_empty() && new.is_empty() {
            return;
        }
        if old.len() != new.len() && self.alike(pair) {
            return;
        }
        for at in 0..old.len().max(new.len()) {
            match (old.get(at), new.get(at)) {
                (Some(before), Some(after)) => {
                    if before.one != after.one
                        && before.branches.len() + after.branches.len() > 2
                        && !self.alike(pair)
                    {
                        let word = |union: &Union<'g>| if union.one { "oneOf" } else { "anyOf" };
                        let message = format!("`{}` was `{}`", word(after), word(before));
                        let rule = if after.one { rules::UNION_NARROWED } else { rules::UNION_WIDENED };
                        self.set(rule, pair, message, Facet::of(UNIONS));
                    }
                    self.branches(pair, (*before, before.branches), (*after, after.branches));
                }
                (None, Some(_)) => {
                    self.set(
                        rules::UNION_ADDED,
                        pair,
                        "one of several forms is asked for".to_owned(),
                        Facet::of(UNIONS),
                    );
                }
                (Some(_), None) => {
                    self.set(
                        rules::UNION_REMOVED,
                        pair,
                        "no longer one of several forms is asked for".to_owned(),
                        Facet::of(UNIONS),
                    );
                }
                (None, None) => {}
            }
        }
    }

    /// Matches the branches of two unions and compares the pairs.
    pub(super) fn branches(
        &mut self,
        pair: &Pair<'g>,
        (holder, old): (Union<'g>, &[SchemaId]),
        (other, new): (Union<'g>, &[SchemaId]),
    ) {
        let mut matched: Vec<(SchemaId, SchemaId, String)> = Vec::new();
        let (mut gone, mut more) = (old.to_vec(), new.to_vec());
        let tags = shared_tag(&pair.old, &gone, &pair.new, &more);
        if let Some((tag, before, after)) = &tags {
            for (id, value) in old.iter().zip(before) {
                if let Some(at) = after.iter().position(|other| other == value) {
                    let label = format!("{{{tag}={}}}", plain(value));
                    matched.extend(new.get(at).map(|other| (*id, *other, label)));
                }
            }
        } else {
            self.alikes(pair.old.graph, &mut gone, &mut more, &mut matched);
        }
        gone.retain(|id| !matched.iter().any(|(before, ..)| before == id));
        more.retain(|id| !matched.iter().any(|(_, after, _)| after == id));
        for (before, after, label) in &matched {
            self.pair(&[*before], &[*after], &pair.at.step(label));
        }
        if gone.is_empty() && more.is_empty() || (tags.is_none() && self.alike(pair)) {
            return;
        }
        let position =
            |ids: &[SchemaId], id: SchemaId| ids.iter().position(|other| *other == id).unwrap_or(0);
        let value = |ids: &[SchemaId], values: Option<&Vec<&'g Json>>, id: SchemaId| {
            let at = ids.iter().position(|other| *other == id)?;
            values.and_then(|values| values.get(at)).copied()
        };
        for id in more {
            let tag = tags.as_ref().and_then(|(tag, _, after)| Some((*tag, value(new, Some(after), id)?)));
            let name = branch(pair.new.graph, id, position(new, id), tag);
            let at = pair.at.step(&format!("{{{name}}}"));
            let place = Some(&pair.new.graph.schema(id).place);
            let from = Some(&pair.old.graph.schema(holder.holder).place);
            let ids = [pair.new_ids.as_slice(), &[id]].concat();
            let facet = Facet::of(UNIONS).tries(self.tries(Side::New, &ids, id, other));
            self.set_at(
                rules::BRANCH_ADDED,
                pair,
                &at,
                (from, place),
                format!("the form {name} is new"),
                facet,
            );
        }
        for id in gone {
            let tag = tags.as_ref().and_then(|(tag, before, _)| Some((*tag, value(old, Some(before), id)?)));
            let name = branch(pair.old.graph, id, position(old, id), tag);
            let at = pair.at.step(&format!("{{{name}}}"));
            let place = Some(&pair.old.graph.schema(id).place);
            let to = Some(&pair.new.graph.schema(other.holder).place);
            let ids = [pair.old_ids.as_slice(), &[id]].concat();
            let facet = Facet::of(UNIONS).tries(self.tries(Side::Old, &ids, id, holder));
            self.set_at(
                rules::BRANCH_REMOVED,
                pair,
                &at,
                (place, to),
                format!("the form {name} is gone"),
                facet,
            );
        }
    }

    /// Values of one branch of a union.
    fn tries(&self, side: Side, ids: &[SchemaId], branch: SchemaId, holder: Union<'g>) -> Vec<Json> {
        if !self.options.proofs {
            return Vec::new();
        }
        self.prover.samples(side, &Conj::all(ids.iter().copied()).choose(holder.holder, branch))
    }

    /// Branches without a tag: those that say the same, those of one name, those of one type,
    /// the last ones left.
    fn alikes(
        &mut self,
        old: &Graph,
        gone: &mut Vec<SchemaId>,
        more: &mut Vec<SchemaId>,
        matched: &mut Vec<(SchemaId, SchemaId, String)>,
    ) {
        let new = &self.new.graph;
        let total = gone.len();
        let label = |at: usize| format!("{{{at}}}");
        let mut rounds: Vec<(SchemaId, SchemaId)> = Vec::new();
        let mut take = |gone: &mut Vec<SchemaId>,
                        more: &mut Vec<SchemaId>,
                        test: &mut dyn FnMut(SchemaId, SchemaId) -> bool| {
            gone.retain(|before| match more.iter().position(|after| test(*before, *after)) {
                Some(at) => {
                    rounds.push((*before, more.remove(at)));
                    false
                }
                None => true,
            });
        };
        let order = gone.clone();
        take(gone, more, &mut |before, after| self.same(&[before], &[after]));
        take(gone, more, &mut |before, after| {
            name(old, before).is_some_and(|known| Some(known) == name(new, after))
        });
        let alone = |graph: &Graph, all: &[SchemaId], id: SchemaId| {
            let types = Flat::of(graph, &[id]).types();
            let clash =
                |other: &SchemaId| *other != id && !Flat::of(graph, &[*other]).types().and(types).is_empty();
            (!all.iter().any(clash)).then_some(types)
        };
        let (before_all, after_all) = (gone.clone(), more.clone());
        take(gone, more, &mut |before, after| {
            alone(old, &before_all, before).is_some_and(|types| alone(new, &after_all, after) == Some(types))
        });
        if let ([before], [after]) = (gone.as_slice(), more.as_slice())
            && total > 0
        {
            let both = (*before, *after);
            take(gone, more, &mut |before, after| (before, after) == both);
        }
        for (before, after) in rounds {
            let at = order.iter().position(|id| *id == before).unwrap_or(0);
            matched.push((before, after, label(at)));
        }
    }
}

/// The name of the type behind a branch.
fn name(graph: &Graph, id: SchemaId) -> Option<String> {
    let schema = graph.schema(id);
    let behind = schema.reference.map_or(schema, |target| graph.schema(target));
    match &behind.origin {
        Origin::Root(name) | Origin::Definition(name) | Origin::Component(name) => Some(name.clone()),
        Origin::Inline => behind.title.clone(),
    }
}

fn branch(graph: &Graph, id: SchemaId, at: usize, tag: Option<(&str, &Json)>) -> String {
    let types = Flat::of(graph, &[id]).types();
    match tag {
        Some((tag, value)) => format!("{tag}={}", plain(value)),
        None => name(graph, id).unwrap_or_else(|| {
            if types.contains(Types::OBJECT) { format!("no. {}", at + 1) } else { type_names(types) }
        }),
    }
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| short(value), str::to_owned)
}

type Tags<'g> = (&'g str, Vec<&'g Json>, Vec<&'g Json>);

/// A required property whose constant tells all branches apart on both sides.
fn shared_tag<'g>(old: &Flat<'g>, gone: &[SchemaId], new: &Flat<'g>, more: &[SchemaId]) -> Option<Tags<'g>> {
    let first = Flat::of(old.graph, &[*gone.first()?]);
    first
        .declared()
        .into_iter()
        .find_map(|tag| Some((tag, constants(old.graph, gone, tag)?, constants(new.graph, more, tag)?)))
}

fn constants<'g>(graph: &'g Graph, ids: &[SchemaId], tag: &str) -> Option<Vec<&'g Json>> {
    let mut found: Vec<&Json> = Vec::new();
    for id in ids {
        let flat = Flat::of(graph, &[*id]);
        let values = Flat::of(graph, &flat.applicable(tag)).values()?;
        let [value] = values.as_slice() else { return None };
        if !flat.requires(tag) || found.contains(value) {
            return None;
        }
        found.push(value);
    }
    Some(found)
}
