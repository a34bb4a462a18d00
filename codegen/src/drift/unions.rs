//! `oneOf` and `anyOf`: branches matched by tag, by what they say, by name.

use contract_runtime::Json;

use super::{
    annotations::only_form,
    directions::Schemas,
    enumerations::{Listed, short},
    finding::{Comparer, Facet, Pair, place},
    flat::{Flat, Listing, Union, type_names},
    proof::Side,
    rules,
    subject::{Step, Subject, Use, Words},
};
use crate::{
    schema::{
        Graph, Origin, Schema, SchemaId, Types,
        keywords::{Keyword, Role},
    },
    together::Conj,
};

const UNIONS: &[Keyword] = &[Keyword::OneOf, Keyword::AnyOf];

/// A schema on one side, and the union on the other that holds it.
pub(super) struct Alternatives<'g> {
    /// The side of the union.
    pub(super) side: Side,
    union: Union<'g>,
    /// The branches that the schema became, or was, and the types of the values for which it is that one.
    forms: Vec<(SchemaId, Types)>,
}

impl Alternatives<'_> {
    /// Of `null` beside others there is no more to say than that it is valid on both sides.
    pub(super) fn compared(&self, graph: &Schemas<'_>) -> Vec<(SchemaId, Types)> {
        let is_null = |id: SchemaId| Flat::of(graph, &[id]).types() == Types::NULL;
        let forms = self.forms.iter().copied();
        forms.filter(|(form, _)| self.forms.len() == 1 || !is_null(*form)).collect()
    }
}

/// Two branches of which the new one follows the old one, and the step to them.
pub(super) type Matched = (SchemaId, SchemaId, String);

/// The branches of two unions.
pub(super) struct Matching<'g> {
    tags: Option<Tags<'g>>,
    pub(super) matched: Vec<Matched>,
    gone: Vec<SchemaId>,
    more: Vec<SchemaId>,
}

impl<'g> Comparer<'g> {
    /// One schema on one side, on the other a union that holds it beside others: the schema is
    /// compared with its branches, and the other branches came or went.
    pub(super) fn alternatives(&mut self, pair: &Pair<'g>) -> bool {
        let Some(both) = self.alternatives_of(pair) else { return false };
        let Alternatives { side, union, .. } = both;
        let added = side == Side::New;
        let graph = self.graph(side);
        let is_null = |id: SchemaId| Flat::of(graph, &[id]).types() == Types::NULL;
        let is_form = |id: SchemaId| both.forms.iter().any(|(form, _)| *form == id);
        for (at, id) in union.branches.iter().copied().enumerate().filter(|(_, id)| !is_form(*id)) {
            let is_null = is_null(id);
            let name = self::branch(graph, id, at, None);
            let (rule, word) = match (added, is_null) {
                (true, true) => (rules::NULL_ADDED, "is valid too"),
                (true, false) => (rules::BRANCH_ADDED, "is valid too"),
                (false, true) => (rules::NULL_REMOVED, "is no longer valid"),
                (false, false) => (rules::BRANCH_REMOVED, "is no longer valid"),
            };
            let message = if is_null { format!("`null` {word}") } else { format!("the form {name} {word}") };
            let (old, new) = (place(&pair.old), place(&pair.new));
            let own = Some(&graph.schema(id).place);
            let places = if added { (old, own) } else { (own, new) };
            let facet = Facet::of(Keyword::ALL).tries(self.tries((side, pair.at.usage), &[id], id, union));
            let at = if is_null { pair.at.clone() } else { pair.at.step(Step::Part, &format!("{{{name}}}")) };
            self.set_at(rule, pair, &at, places, message, facet);
        }
        self.overlap(pair, side, union);
        let at = pair.at.clone().with(around(pair, side));
        let refuses = added == (pair.at.usage == Use::Write);
        let given = if added { &pair.old_ids } else { &pair.new_ids };
        let mut absorbs = None;
        for (form, types) in both.compared(graph) {
            let form = [form];
            let (old, new): (&[SchemaId], &[SchemaId]) =
                if added { (&pair.old_ids, &form) } else { (&form, &pair.new_ids) };
            let is_absorbed = refuses
                && !self.same(old, new)
                && *absorbs.get_or_insert_with(|| self.absorbs(pair, union, given));
            let at = at.clone().within(pair.at.within.and(types));
            self.pair(old, new, &(if is_absorbed { at.harmless() } else { at }));
        }
        true
    }

    pub(super) fn alternatives_of(&mut self, pair: &Pair<'g>) -> Option<Alternatives<'g>> {
        let only = |flat: &Flat<'g>| {
            let steps = [Keyword::Ref, Keyword::AllOf, Keyword::AnyOf, Keyword::OneOf];
            let unions = flat.unions();
            let [union] = unions.as_slice() else { return None };
            let pure = union.branches.len() > 1 && flat.schemas().all(|schema| schema.decides_by(&steps));
            pure.then_some(*union)
        };
        let (side, union, one, ids) = match (only(&pair.old), only(&pair.new)) {
            (None, Some(union)) if pair.old.unions().is_empty() => {
                (Side::New, union, &pair.old, &pair.old_ids)
            }
            (Some(union), None) if pair.new.unions().is_empty() => {
                (Side::Old, union, &pair.new, &pair.new_ids)
            }
            _ => return None,
        };
        let listed = |flat: &Flat<'g>| !matches!(flat.listing(), Listing::None);
        if !one.says_something() || listed(&pair.old) || listed(&pair.new) {
            return None;
        }
        let graph = if side == Side::New { pair.new.graph } else { pair.old.graph };
        let branches = union.branches;
        if let Some(forms) = by_types(one, graph, branches) {
            return Some(Alternatives { side, union, forms });
        }
        let known = match ids.as_slice() {
            [id] => name(one.graph, *id),
            _ => None,
        };
        let named = branches.iter().find(|id| known.is_some() && name(graph, **id) == known);
        let branch = match named {
            Some(branch) => Some(*branch),
            None => branches.iter().copied().find(|id| match side {
                Side::New => self.same(ids, &[*id]),
                Side::Old => self.same(&[*id], ids),
            }),
        };
        let branch = branch.or_else(|| nearest(one, graph, branches))?;
        Some(Alternatives { side, union, forms: vec![(branch, Types::ALL)] })
    }

    /// Compares the unions that are no lists of values.
    pub(super) fn unions(&mut self, pair: &Pair<'g>, listed: &Listed) {
        let left = |flat: &Flat<'g>, done: Option<SchemaId>| {
            flat.unions().into_iter().filter(|union| Some(union.holder) != done).collect::<Vec<_>>()
        };
        let (old, mut new) = (left(&pair.old, listed.old), left(&pair.new, listed.new));
        if old.is_empty() && new.is_empty() {
            return;
        }
        if old.len() != new.len() && self.alike(pair) {
            return;
        }
        if new.len() > old.len() {
            new.retain(|union| {
                let unmet = self.asks_for_what_is_new(pair, *union, &old);
                if unmet {
                    let message = "one of several forms is asked for where a new member is there".to_owned();
                    self.note_of(rules::UNION_ADDED_NEW_MEMBER, pair, Keyword::AnyOf, message);
                }
                !unmet
            });
        }
        for at in 0..old.len().max(new.len()) {
            match (old.get(at), new.get(at)) {
                (Some(before), Some(after)) => {
                    self.one_of(pair, before, after);
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

    /// Whether one form alone may fit.
    pub(super) fn one_of(&mut self, pair: &Pair<'g>, before: &Union<'g>, after: &Union<'g>) {
        if before.one == after.one || before.branches.len() + after.branches.len() <= 2 || self.alike(pair) {
            return;
        }
        let word = |union: &Union<'g>| if union.one { "oneOf" } else { "anyOf" };
        let message = format!("`{}` was `{}`", word(after), word(before));
        let rule = if after.one { rules::UNION_NARROWED } else { rules::UNION_WIDENED };
        self.set(rule, pair, message, Facet::of(UNIONS));
    }

    /// Whether an `anyOf` was added of which one form is whatever has no member that the old version
    /// does not know.
    fn asks_for_what_is_new(&mut self, pair: &Pair<'g>, union: Union<'g>, old: &[Union<'g>]) -> bool {
        let steps = [Keyword::Ref, Keyword::AllOf, Keyword::Not];
        let is_free = |id: &SchemaId| {
            let form = Flat::of(pair.new.graph, &[*id]);
            let nots: Vec<SchemaId> = form.schemas().filter_map(|schema| schema.not).collect();
            !nots.is_empty()
                && form.schemas().all(|schema| schema.decides_by(&steps))
                && nots.iter().all(|not| self.tests_what_is_new(pair, *not))
        };
        if union.one || !union.branches.iter().any(is_free) || !self.concerns_objects_only(pair, UNIONS) {
            return false;
        }
        !old.iter().any(|before| {
            let same_count = before.branches.len() == union.branches.len();
            same_count
                && before
                    .branches
                    .iter()
                    .zip(union.branches)
                    .all(|(one, other)| self.same(&[*one], &[*other]))
        })
    }

    /// Matches the branches of two unions and compares the pairs.
    pub(super) fn branches(
        &mut self,
        pair: &Pair<'g>,
        (holder, old): (Union<'g>, &[SchemaId]),
        (other, new): (Union<'g>, &[SchemaId]),
    ) {
        let Matching { tags, matched, gone, more } = self.matching(old, new);
        let changed =
            |comparer: &Self, (before, after, _): &Matched| comparer.is_changed_here(*before, *after);
        let overlap = tags.is_none() && !holder.one && !other.one && {
            matched.iter().any(|each| changed(self, each) && self.overlaps(pair, (holder, other), each))
        };
        if overlap && self.alike(pair) {
            // Whatever a form takes no longer, another one takes.
            for each in &matched {
                let (before, after, _) = each;
                if self.same(&[*before], &[*after]) {
                    self.pair(&[*before], &[*after], &form_at(pair, each));
                }
            }
            return;
        }
        // What the whole union takes needs no look at its pairs, where there are several.
        let several = matched.iter().filter(|each| changed(self, each)).nth(1).is_some();
        let all_absorbed =
            overlap && several && self.verdict(pair, pair.at.usage, &Facet::of(UNIONS)) == Some(Ok(()));
        for each in &matched {
            let (before, after, _) = each;
            let at = form_at(pair, each);
            let is_absorbed = overlap
                && changed(self, each)
                && (all_absorbed || self.is_absorbed(pair, (holder, other), each));
            let at = if is_absorbed { at.harmless() } else { at };
            self.pair(&[*before], &[*after], &at);
        }
        // What is gone, or new, is judged by the union as a whole.
        if holder.one && other.one && tags.is_none() {
            if gone.is_empty() {
                self.overlap_more(pair, (Side::New, other), &matched, &more);
            }
            if more.is_empty() {
                self.overlap_more(pair, (Side::Old, holder), &matched, &gone);
            }
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
            let at = pair.at.step(Step::Part, &format!("{{{name}}}"));
            let place = Some(&pair.new.graph.schema(id).place);
            let from = Some(&pair.old.graph.schema(holder.holder).place);
            let ids = [pair.new_ids.as_slice(), &[id]].concat();
            let facet = Facet::of(UNIONS).tries(self.tries((Side::New, pair.at.usage), &ids, id, other));
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
            let at = pair.at.step(Step::Part, &format!("{{{name}}}"));
            let place = Some(&pair.old.graph.schema(id).place);
            let to = Some(&pair.new.graph.schema(other.holder).place);
            let ids = [pair.old_ids.as_slice(), &[id]].concat();
            let facet = Facet::of(UNIONS).tries(self.tries((Side::Old, pair.at.usage), &ids, id, holder));
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

    /// Which branches of two unions follow each other: by tag, else by what they say.
    pub(super) fn matching(&mut self, old: &[SchemaId], new: &[SchemaId]) -> Matching<'g> {
        let mut matched: Vec<Matched> = Vec::new();
        let (mut gone, mut more) = (old.to_vec(), new.to_vec());
        let tags = shared_tag((self.graph(Side::Old), &gone), (self.graph(Side::New), &more));
        if let Some((tag, before, after)) = &tags {
            for (id, value) in old.iter().zip(before) {
                if let Some(at) = after.iter().position(|other| other == value) {
                    let label = format!("{{{tag}={}}}", plain(value));
                    matched.extend(new.get(at).map(|other| (*id, *other, label)));
                }
            }
        } else {
            self.alikes(&mut gone, &mut more, &mut matched);
        }
        gone.retain(|id| !matched.iter().any(|(before, ..)| before == id));
        more.retain(|id| !matched.iter().any(|(_, after, _)| after == id));
        Matching { tags, matched, gone, more }
    }

    /// Whether two branches differ where they stand, and not only in named schemas that they lead to,
    /// which are compared by themselves.
    fn is_changed_here(&self, before: SchemaId, after: SchemaId) -> bool {
        let (old, new) = (self.graph(Side::Old), self.graph(Side::New));
        if self.identity.same(&[before], &[after]) {
            return false;
        }
        let is_named = |graph: &Graph, id: SchemaId| graph.schema(id).reference.is_some();
        if !is_named(old, before) || !is_named(new, after) {
            return true;
        }
        let (before, after) = (Flat::of(old, &[before]).members, Flat::of(new, &[after]).members);
        let mut both = before.iter().zip(&after);
        before.len() != after.len() || both.any(|(before, after)| !self.identity.alike(*before, *after))
    }

    /// Whether another branch may take what one of a matched pair takes no longer.
    fn overlaps(
        &self,
        pair: &Pair<'g>,
        (holder, other): (Union<'g>, Union<'g>),
        (before, after, _): &Matched,
    ) -> bool {
        let (given, (union, own), sides) = match pair.at.usage {
            Use::Write => (*before, (other, *after), (Side::Old, Side::New)),
            Use::Read => (*after, (holder, *before), (Side::New, Side::Old)),
        };
        let types = |side: Side, id: SchemaId| Flat::of(self.graph(side), &[id]).types();
        let given = types(sides.0, given);
        let mut others = union.branches.iter().filter(|id| **id != own);
        others.any(|id| !types(sides.1, *id).and(given).is_empty())
    }

    /// Whether all that one of a matched pair takes is taken by the union on the other side.
    fn is_absorbed(
        &mut self,
        pair: &Pair<'g>,
        (holder, other): (Union<'g>, Union<'g>),
        each: &Matched,
    ) -> bool {
        let (ids, branch, union) = match pair.at.usage {
            Use::Write => (&pair.old_ids, each.0, other),
            Use::Read => (&pair.new_ids, each.1, holder),
        };
        let giving = if pair.at.usage == Use::Write { &pair.old } else { &pair.new };
        // Of what is one of several forms and nothing else, a form says it all.
        let is_pure = giving.unions().len() == 1
            && giving
                .schemas()
                .all(|schema| schema.decides_by(&[Keyword::Ref, Keyword::AllOf, Keyword::AnyOf]));
        let given = if is_pure { vec![branch] } else { [ids.as_slice(), &[branch]].concat() };
        self.overlaps(pair, (holder, other), each) && self.absorbs(pair, union, &given)
    }

    /// Whether a union takes all of some schemas of the giving side, by whichever of its branches.
    fn absorbs(&mut self, pair: &Pair<'g>, union: Union<'g>, given: &[SchemaId]) -> bool {
        let (giving, refusing) = match pair.at.usage {
            Use::Write => (Side::Old, (Side::New, pair.new.members.as_slice())),
            Use::Read => (Side::New, (Side::Old, pair.old.members.as_slice())),
        };
        self.options.proofs
            && !union.one
            && union.branches.len() > 1
            && self.judge(((giving, given), refusing), &pair.at, &Facet::of(UNIONS)) == Some(Ok(()))
    }

    /// Values of one branch of a union.
    fn tries(
        &self,
        (side, usage): (Side, Use),
        ids: &[SchemaId],
        branch: SchemaId,
        holder: Union<'g>,
    ) -> Vec<Json> {
        if !self.options.proofs {
            return Vec::new();
        }
        self.prover(usage).samples(side, &Conj::all(ids.iter().copied()).choose(holder.holder, branch))
    }

    /// Branches without a tag: those that say the same, those of one name, those of one type,
    /// the last ones left.
    fn alikes(&mut self, gone: &mut Vec<SchemaId>, more: &mut Vec<SchemaId>, matched: &mut Vec<Matched>) {
        let (old, new) = (self.graph(Side::Old), self.graph(Side::New));
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
        take(gone, more, &mut |before, after| self.identity.same(&[before], &[after]));
        take(gone, more, &mut |before, after| {
            name(old, before).is_some_and(|known| Some(known) == name(new, after))
        });
        take(gone, more, &mut |before, after| self.same(&[before], &[after]));
        let alone = |graph: &'g Schemas<'g>, all: &[SchemaId], id: SchemaId| {
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

/// The way to two forms that follow each other.
pub(super) fn form_at(pair: &Pair<'_>, (before, after, label): &Matched) -> Subject {
    let is_only = only_form(&pair.old) == Some(*before) && only_form(&pair.new) == Some(*after);
    let words = if is_only { Words::Told } else { Words::Here };
    pair.at.step(Step::Part, label).with(words)
}

/// The branches that a schema of several types is, each for values of its own types, where these tell all of them
/// apart; none where only one of them is of its types.
fn by_types<'g>(
    one: &Flat<'g>,
    graph: &'g Schemas<'g>,
    branches: &[SchemaId],
) -> Option<Vec<(SchemaId, Types)>> {
    let mut seen = Types(0);
    let mut forms = Vec::new();
    for id in branches {
        let types = Flat::of(graph, &[*id]).types();
        if !seen.and(types).is_empty() {
            return None;
        }
        seen = seen.or(types);
        if !types.and(one.types()).is_empty() {
            forms.push((*id, types));
        }
    }
    if forms.len() < 2 {
        return None;
    }
    // What none of them is of is missed where the first one is compared.
    let (_, first) = forms.iter_mut().find(|(_, types)| *types != Types::NULL)?;
    *first = first.or(one.types().without(seen));
    Some(forms)
}

/// The one branch that has the types of a schema, and of several objects the one that shares most
/// of its members.
fn nearest<'g>(one: &Flat<'g>, graph: &'g Schemas<'g>, branches: &[SchemaId]) -> Option<SchemaId> {
    let flat = |id: SchemaId| Flat::of(graph, &[id]);
    let fits = |id: &SchemaId| !flat(*id).types().and(one.types()).is_empty();
    let fitting: Vec<SchemaId> = branches.iter().copied().filter(fits).collect();
    if let [only] = fitting.as_slice() {
        return Some(*only);
    }
    let declared = one.declared();
    let shared = |id: SchemaId| {
        let branch = flat(id);
        declared.iter().filter(|name| branch.declares(name)).count()
    };
    let mut counts: Vec<(usize, SchemaId)> = fitting.into_iter().map(|id| (shared(id), id)).collect();
    counts.sort_by_key(|(count, _)| *count);
    match counts.as_slice() {
        [.., (second, _), (first, id)] if first > second => Some(*id),
        _ => None,
    }
}

/// Where words of the forms of a union stand that is alone on one side.
pub(super) fn around(pair: &Pair<'_>, side: Side) -> Words {
    let union = if side == Side::Old { &pair.old } else { &pair.new };
    match &pair.at.words {
        Words::Told => Words::Told,
        Words::Around(_, before) => {
            Words::Around(side, before.iter().chain(&union.members).copied().collect())
        }
        Words::Here if annotated(union) => Words::Around(side, union.members.as_slice().into()),
        Words::Here => Words::Here,
    }
}

/// Whether what surrounds a union says something about its values to people.
fn annotated(flat: &Flat<'_>) -> bool {
    let says = |schema: &Schema| {
        schema.extensions.keys().any(|key| key.starts_with("x-") || key == "xml")
            || schema.keywords().any(|(keyword, _)| keyword.role() == Role::Annotation)
    };
    flat.any(says)
}

/// The name of the type behind a branch.
pub(super) fn name(graph: &Graph, id: SchemaId) -> Option<String> {
    let schema = graph.schema(id);
    let behind = schema.reference.map_or(schema, |target| graph.schema(target));
    match &behind.origin {
        Origin::Root(name) | Origin::Definition(name) | Origin::Component(name) => Some(name.clone()),
        Origin::Inline => behind.title.clone(),
    }
}

fn branch<'g>(graph: &'g Schemas<'g>, id: SchemaId, at: usize, tag: Option<(&str, &Json)>) -> String {
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

/// Branches of one side.
type Branches<'g, 'a> = (&'g Schemas<'g>, &'a [SchemaId]);
type Tags<'g> = (&'g str, Vec<&'g Json>, Vec<&'g Json>);

/// A required property whose constant tells all branches apart on both sides.
fn shared_tag<'g>((old, gone): Branches<'g, '_>, (new, more): Branches<'g, '_>) -> Option<Tags<'g>> {
    let flats = |graph: &'g Schemas<'g>, ids: &[SchemaId]| -> Vec<Flat<'g>> {
        ids.iter().map(|id| Flat::of(graph, &[*id])).collect()
    };
    let gone = flats(old, gone);
    let required = |name: &&str| gone.iter().all(|flat| flat.requires(name));
    let tags: Vec<&str> = gone.first()?.declared().into_iter().filter(required).collect();
    if tags.is_empty() {
        return None;
    }
    let more = flats(new, more);
    tags.into_iter().find_map(|tag| Some((tag, constants(&gone, tag)?, constants(&more, tag)?)))
}

fn constants<'g>(branches: &[Flat<'g>], tag: &str) -> Option<Vec<&'g Json>> {
    let mut found: Vec<&Json> = Vec::new();
    for flat in branches {
        if !flat.requires(tag) {
            return None;
        }
        let values = Flat::of(flat.graph, &flat.applicable(tag)).values()?;
        let [value] = values.as_slice() else { return None };
        if found.contains(value) {
            return None;
        }
        found.push(value);
    }
    Some(found)
}
