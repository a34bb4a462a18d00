//! Objects of hundreds of members: names that chance gives too seldom and a search too slowly are counted, and
//! a few values stand under all of them.

use std::collections::BTreeMap;

use contract_runtime::{Json, Map};
use regex_syntax::hir::Hir;

use super::{Drawer, Facts, TRIES, WORDS, objects::Rules, without_looks};
use crate::{
    schema::{Schema, SchemaId, Types},
    together::{
        Conj,
        sample::{LARGEST, LONGEST, spelled, weight},
    },
};

/// The most members of an object; one that asks for more is not even begun.
pub(super) const MOST: u64 = 10_000;
/// Values that stand under the names of one kind, in turn.
const VALUES: usize = 8;

/// How names are made of a number.
enum Way {
    /// As a pattern says.
    Spelled(Hir),
    /// Digits behind a text.
    Digits(String),
    /// Letters behind a text.
    Letters(String),
    /// Digits before a text.
    Before(String),
    /// As the schemas of names say.
    Drawn(Conj),
}

impl Drawer<'_> {
    /// Members of counted names, until there are so many; none where few are wanted.
    pub(super) fn counted(&self, all: &[&Schema], wanted: u64, level: u8, members: &mut Map<Json>) {
        if wanted <= WORDS.len() as u64 || wanted > MOST || members.len() as u64 >= wanted {
            return;
        }
        let rules = Rules::of(all);
        let within = Conj::all(rules.names.iter().copied()).within(Types::STRING);
        let facts = Facts::of(self.graph, &within, self.implied);
        let least = facts.schemas(self.graph).filter_map(|schema| schema.min_length).max().unwrap_or(0);
        let Ok(least) = usize::try_from(least.min(LONGEST)) else { return };
        let own = facts.schemas(self.graph).filter_map(|schema| schema.pattern.as_deref());
        let patterns = all.iter().flat_map(|schema| &schema.pattern_properties);
        let patterns = patterns.map(|(pattern, _)| pattern.as_str()).chain(own);
        let patterns = patterns.filter_map(|pattern| regex_syntax::parse(&without_looks(pattern)).ok());
        let patterns: Vec<Hir> = patterns.collect();
        let mut stems: Vec<String> =
            patterns.iter().filter_map(|pattern| spelled(pattern, 1, &self.luck)).collect();
        stems.extend([self.luck.word().to_owned(), String::new()]);
        let mut ways: Vec<Way> = patterns.into_iter().map(Way::Spelled).collect();
        for stem in stems {
            ways.extend([Way::Digits(stem.clone()), Way::Letters(stem.clone()), Way::Before(stem)]);
        }
        let drawn = if rules.names.is_empty() { Vec::new() } else { vec![Way::Drawn(within)] };
        let mut values: BTreeMap<Vec<SchemaId>, Vec<Json>> = BTreeMap::new();
        for (name, value) in members.iter() {
            values.entry(rules.applicable(name)).or_default().push(value.clone());
        }
        let most = LARGEST / wanted;
        for value in values.values_mut() {
            value.retain(|value| weight(value) <= most);
        }
        for ways in [ways, drawn] {
            let mut ways: Vec<(Way, u64)> = ways.into_iter().map(|way| (way, 0)).collect();
            let mut number = 0;
            while !ways.is_empty() {
                for (way, vain) in &mut ways {
                    if members.len() as u64 >= wanted {
                        return;
                    }
                    let name = self.name(way, number, least, level);
                    let is_name = |name: &String| {
                        let json = Json::from(name.as_str());
                        !members.contains_key(name) && rules.names.iter().all(|id| (self.valid)(*id, &json))
                    };
                    let value = name.filter(is_name).and_then(|name| {
                        let known = values.entry(rules.applicable(&name));
                        let known = known.or_insert_with_key(|ids| self.some(ids, most, level));
                        Some((known.get(members.len() % known.len().max(1))?.clone(), name))
                    });
                    *vain = if value.is_some() { 0 } else { *vain + 1 };
                    members.extend(value.map(|(value, name)| (name, value)));
                }
                ways.retain(|(_, vain)| *vain < 4 * TRIES);
                number += 1;
            }
        }
    }

    fn name(&self, way: &Way, number: u64, least: usize, level: u8) -> Option<String> {
        let width = |stem: &str| least.saturating_sub(stem.chars().count());
        match way {
            Way::Spelled(pattern) => spelled(pattern, 1 + number % 8, &self.luck),
            Way::Digits(stem) => Some(format!("{stem}{number:0>width$}", width = width(stem))),
            Way::Letters(stem) => Some(format!("{stem}{:a>width$}", letters(number), width = width(stem))),
            Way::Before(stem) => Some(format!("{number:0>width$}{stem}", width = width(stem))),
            Way::Drawn(conj) => self.place(conj, level)?.as_str().map(str::to_owned),
        }
    }

    /// A few values that are no larger than there is room for so many of them.
    fn some(&self, ids: &[SchemaId], most: u64, level: u8) -> Vec<Json> {
        let drawn = (0..VALUES).map_while(|_| self.part(ids.to_vec(), level));
        drawn.filter(|value| weight(value) <= most).collect()
    }
}

/// A number of the digits `a` to `z`.
fn letters(number: u64) -> String {
    let digits = std::iter::successors(Some(number), |left| left.checked_div(26).filter(|left| *left > 0));
    let digits = digits.map(|left| char::from(b'a' + u8::try_from(left % 26).unwrap_or(0)));
    digits.collect::<Vec<_>>().into_iter().rev().collect()
}
