//! What fits two forms of a `oneOf`, which refuses it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    directions::Schemas,
    finding::{Comparer, Facet, Pair},
    flat::{Flat, Union},
    proof::Side,
    rules::{self, Rule},
    subject::Use,
};
use crate::schema::{SchemaId, Types, keywords::Keyword};

/// More pairs of forms than this are not looked into.
const MOST: usize = 200;
/// And of more than this nobody asks whether it is plain that nothing fits both.
const MOST_LOOKED_AT: usize = 200_000;

impl<'g> Comparer<'g> {
    /// One schema became one form of a `oneOf`, or was: what fits two forms is not valid there.
    pub(super) fn overlap(&mut self, pair: &Pair<'g>, side: Side, union: Union<'g>) {
        let (rule, usage, message) = match side {
            Side::New => (rules::UNION_NARROWED, Use::Write, "what fits two forms of `oneOf` is not valid"),
            Side::Old => (rules::UNION_WIDENED, Use::Read, "what fits two forms is valid without `oneOf`"),
        };
        if union.one && pair.at.usage == usage {
            let all = union.branches.iter().copied().collect();
            self.overlapping(rule, pair, side, &near(self.graph(side), union, &all), message);
        }
    }

    /// Forms of a `oneOf` of one side that take more than those of the other, or that it does not have,
    /// refuse what fits one form alone there.
    pub(super) fn overlap_more(
        &mut self,
        pair: &Pair<'g>,
        (side, union): (Side, Union<'g>),
        matched: &[(SchemaId, SchemaId, String)],
        more: &[SchemaId],
    ) {
        let (rule, usage, message) = match side {
            Side::New => (
                rules::UNION_NARROWED,
                Use::Write,
                "what fits two forms of `oneOf` is not valid, and more fits two",
            ),
            Side::Old => (
                rules::UNION_WIDENED,
                Use::Read,
                "what fits two forms of `oneOf` is not valid, and less fits two",
            ),
        };
        if !union.one || pair.at.usage != usage {
            return;
        }
        let own = |(before, after): (SchemaId, SchemaId)| if side == Side::New { after } else { before };
        let changed: Vec<(SchemaId, SchemaId)> = matched
            .iter()
            .map(|(before, after, _)| (*before, *after))
            .filter(|(before, after)| !self.identity.same(&[*before], &[*after]))
            .collect();
        let some: BTreeSet<SchemaId> = more.iter().copied().chain(changed.iter().copied().map(own)).collect();
        let mut asked = near(self.graph(side), union, &some);
        if asked.is_empty() {
            return;
        }
        let narrower: BTreeSet<SchemaId> =
            changed.into_iter().filter(|both| !self.is_wider(pair, side, *both)).map(own).collect();
        asked.retain(|forms| forms.iter().any(|form| some.contains(form) && !narrower.contains(form)));
        self.overlapping(rule, pair, side, &asked, message);
    }

    /// Whether the form of a side may take what that of the other refuses.
    fn is_wider(&mut self, pair: &Pair<'g>, side: Side, (before, after): (SchemaId, SchemaId)) -> bool {
        let (old, new) = ((Side::Old, &[before][..]), (Side::New, &[after][..]));
        let (wide, narrow) = if side == Side::New { (new, old) } else { (old, new) };
        let at = pair.at.clone().within(Types::ALL);
        let verdict = match self.options.proofs {
            true => self.judge((wide, narrow), &at, &Facet::of(Keyword::ALL)),
            false => None,
        };
        match (verdict, side) {
            (Some(verdict), _) => verdict.is_err(),
            // Whoever reads it would meet what was refused.
            (None, Side::New) => !self.reads(&[before], &[after]),
            (None, Side::Old) => !self.same(&[before], &[after]),
        }
    }

    /// Looks for what the other side takes and fits two forms.
    fn overlapping(
        &mut self,
        rule: &'static Rule,
        pair: &Pair<'g>,
        side: Side,
        asked: &[[SchemaId; 2]],
        message: &str,
    ) {
        let giving = match side {
            Side::New => (Side::Old, pair.old_ids.as_slice()),
            Side::Old => (Side::New, pair.new_ids.as_slice()),
        };
        if asked.is_empty() {
            return;
        }
        let verdict = match self.options.proofs && asked.len() <= MOST {
            true => self.prover(pair.at.usage).fits_two(giving, side, asked),
            false => None,
        };
        if verdict == Some(Ok(())) || verdict.is_none() && self.alike(pair) {
            return;
        }
        self.set_by(rule, pair, message.to_owned(), &Facet::of(&[Keyword::OneOf]), verdict);
    }
}

/// Pairs of forms, one of them among some, of which it is not plain that nothing fits both.
fn near<'g>(graph: &'g Schemas<'g>, union: Union<'_>, some: &BTreeSet<SchemaId>) -> Vec<[SchemaId; 2]> {
    let forms: Vec<(SchemaId, bool)> =
        union.branches.iter().map(|form| (*form, some.contains(form))).collect();
    let pairs = forms.iter().enumerate().flat_map(|(at, (one, is_asked))| {
        let others = forms.iter().skip(at + 1).filter(move |(_, other)| *is_asked || *other);
        others.map(move |(other, _)| [*one, *other])
    });
    let mut asked: Vec<[SchemaId; 2]> = pairs.take(MOST_LOOKED_AT + 1).collect();
    if !asked.is_empty() && asked.len() <= MOST_LOOKED_AT {
        let flats: BTreeMap<SchemaId, Flat<'_>> =
            union.branches.iter().map(|form| (*form, Flat::of(graph, &[*form]))).collect();
        asked.retain(|[one, other]| match (flats.get(one), flats.get(other)) {
            (Some(one), Some(other)) => !apart(graph, one, other),
            _ => true,
        });
    }
    asked
}

/// Whether it is plain that nothing fits two forms: by their types, their values, a member whose values
/// tell them apart, or one that the one asks for and the other forbids.
fn apart<'g>(graph: &'g Schemas<'g>, one: &Flat<'g>, other: &Flat<'g>) -> bool {
    let common = one.types().and(other.types());
    let disjoint = |one: &Flat<'_>, other: &Flat<'_>| match (one.values(), other.values()) {
        (Some(some), Some(others)) => !some.iter().any(|value| others.contains(value)),
        _ => false,
    };
    let member = |flat: &Flat<'g>, name: &str| Flat::of(graph, &flat.applicable(name));
    let tells = |name: &&str| {
        other.requires(name) && one.requires(name) && disjoint(&member(one, name), &member(other, name))
    };
    let forbids = |one: &Flat<'_>, other: &Flat<'_>| {
        let mut required = one.schemas().flat_map(|schema| &schema.required);
        required.any(|name| other.applicable(name).iter().any(|id| graph.schema(*id).boolean == Some(false)))
    };
    let by_member = || one.declared().iter().any(tells) || forbids(one, other) || forbids(other, one);
    common.is_empty() || disjoint(one, other) || common == Types::OBJECT && by_member()
}
