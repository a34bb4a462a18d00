//! One value of a place that reads like those of people: every member that is declared, words,
//! dates, numbers within their bounds. A number decides what is left open, and the same number
//! decides the same. What goes wrong is made anew with less, then reckoned (`exact`) or mended
//! (`objects`), and at the end found among the values at the edges.

mod exact;
mod many;
mod objects;

use std::cell::Cell;

use contract_runtime::{Json, Map, Number};

use super::{Choice, Conj, Effort, Facts, Known, LONGEST, numbers, strings, text_of, type_of, values};
use crate::schema::{Graph, Schema, SchemaId, Types};

/// Levels of a value; below the deeper half only what is required is made.
const LEVELS: u8 = 12;
/// Places that are made before it is enough; the second half makes what is required alone.
const EFFORT: u32 = 4_000;
/// Elements and names that are tried where no two may be equal.
const TRIES: u64 = 16;
/// Letters of a text of which nothing but its length is asked.
const TEXT: u64 = 1 << 16;
/// What values at the edges cost in a branch: places, as those of `Effort::Quick`.
const EDGES: u32 = 200;

const WORDS: &[&str] = &[
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "iris", "juniper", "kestrel",
    "linden", "maple", "north", "opal", "prairie", "quartz", "river", "slate", "tundra", "umber", "violet",
    "willow", "zephyr",
];

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    /// Decides what is left open.
    pub(crate) seed: u64,
    /// Whether examples and defaults of schemas go before what is made.
    pub(crate) examples: bool,
}

/// A value that all schemas of a place accept, as far as one is found; `valid` judges parts and the whole.
pub(crate) fn one(
    graph: &Graph,
    conj: &Conj,
    implied: bool,
    wish: Wish,
    valid: &dyn Fn(SchemaId, &Json) -> bool,
) -> Option<Json> {
    let drawer = Drawer { graph, implied, valid, wish, luck: Luck::of(wish.seed), effort: Cell::new(EFFORT) };
    let holds = |value: &Json| drawer.holds(conj, value);
    let edges = |effort| drawer.edge(conj, effort, &holds);
    let sought = || {
        let value = edges(Effort::Quick).or_else(|| edges(Effort::Thorough))?;
        let holder = Facts::of(graph, conj, implied).holders.first().map(|&id| graph.schema(id));
        Some(match holder {
            Some(holder) => drawer.tagged(holder, value, &holds),
            None => value,
        })
    };
    drawer.place(conj, LEVELS).or_else(sought)
}

/// Numbers one after another that look like chance (SplitMix64).
pub(crate) struct Luck(Cell<u64>);

impl Luck {
    /// Those of a seed.
    pub(crate) const fn of(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    fn next(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `most`, which is not 0.
    pub(crate) fn below(&self, most: u64) -> u64 {
        self.next() % most.max(1)
    }

    fn index(&self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// A word.
    pub(crate) fn word(&self) -> &'static str {
        WORDS[self.index(WORDS.len())]
    }

    /// A list from some element on, around to the one before it.
    fn turned<'l, T>(&self, list: &'l [T]) -> impl Iterator<Item = &'l T> + use<'l, T> {
        let (before, from) = list.split_at(self.index(list.len()));
        from.iter().chain(before)
    }
}

/// Letters that can be read, where a class has some.
impl Choice for Luck {
    fn letter(&self, ranges: &[(char, char)]) -> Option<char> {
        let plain =
            |range: &&(char, char)| range.0.is_ascii_alphanumeric() && range.1.is_ascii_alphanumeric();
        let mut likely: Vec<(char, char)> = ranges.iter().filter(plain).copied().collect();
        // A class that leaves out a few letters holds the others.
        let wide = |(first, last): &(char, char)| *first <= 'a' && 'z' <= *last;
        likely.extend(ranges.iter().any(wide).then_some(('a', 'z')));
        if likely.is_empty() {
            likely.extend_from_slice(ranges);
        }
        let (first, last) = *likely.get(self.index(likely.len()))?;
        let width = u64::from(u32::from(last) - u32::from(first)) + 1;
        let code = u32::from(first) + u32::try_from(self.below(width)).unwrap_or(0);
        char::from_u32(code).or(Some(first))
    }

    fn branch(&self, branches: usize) -> usize {
        self.index(branches)
    }
}

struct Drawer<'g> {
    graph: &'g Graph,
    implied: bool,
    valid: &'g dyn Fn(SchemaId, &Json) -> bool,
    wish: Wish,
    luck: Luck,
    effort: Cell<u32>,
}

/// Whether a value is one.
type Holds<'h> = &'h dyn Fn(&Json) -> bool;

impl<'g> Drawer<'g> {
    fn holds(&self, conj: &Conj, value: &Json) -> bool {
        conj.within.contains(type_of(value)) && conj.ids.iter().all(|&id| (self.valid)(id, value))
    }

    /// Whether more is made than has to be.
    fn is_rich(&self, level: u8) -> bool {
        level > LEVELS / 2 && self.effort.get() > EFFORT / 2
    }

    /// A value that all schemas of a place accept.
    fn place(&self, conj: &Conj, level: u8) -> Option<Json> {
        self.effort.set(self.effort.get().checked_sub(1)?);
        let level = level.checked_sub(1)?;
        let facts = Facts::of(self.graph, conj, self.implied);
        let all: Vec<&Schema> = facts.members.iter().map(|&id| self.graph.schema(id)).collect();
        let holds = |value: &Json| self.holds(conj, value);
        if let Some(literals) = facts.literals(self.graph) {
            return self.luck.turned(&literals).copied().find(|value| holds(value)).cloned();
        }
        if self.wish.examples {
            // What refines stands last, and knows better.
            let mut given = all.iter().rev().flat_map(|s| s.examples.iter().chain(&s.default));
            if let Some(given) = given.find(|value| holds(value)) {
                return Some(given.clone());
            }
        }
        if let Some(&holder) = facts.holders.first() {
            return self.branch(conj, holder, level, &holds);
        }
        let order = [Types::OBJECT, Types::ARRAY, Types::STRING, Types::NUMBER, Types::BOOLEAN, Types::NULL];
        // Where nothing is said, a word says nothing either.
        let open = facts.types == Types::ALL;
        let first = open.then_some(Types::STRING);
        let possible = |kind: &Types| !facts.types.and(*kind).is_empty();
        first.into_iter().chain(order).filter(possible).find_map(|kind| match kind {
            Types::OBJECT => self.object(&facts, &all, level, &holds),
            Types::ARRAY => self.array(&all, level, &holds),
            Types::STRING => self.string(&all, &holds),
            Types::NUMBER => self.number(&all, facts.types.contains(Types::NUMBER), &holds),
            Types::BOOLEAN => self.luck.turned(&[true, false]).copied().map(Json::Bool).find(holds),
            _ => Some(Json::Null).filter(holds),
        })
    }

    /// A value among those at the edges.
    fn edge(&self, conj: &Conj, effort: Effort, holds: Holds<'_>) -> Option<Json> {
        let all = values(self.graph, conj, self.implied, effort, self.valid, &Known::default());
        all.into_iter().find(holds)
    }

    /// A value of one of the branches; that it is nothing is the last thing to say.
    fn branch(&self, conj: &Conj, holder: SchemaId, level: u8, holds: Holds<'_>) -> Option<Json> {
        let schema = self.graph.schema(holder);
        let branches: Vec<SchemaId> = schema.one_of.iter().chain(&schema.any_of).copied().collect();
        let null = |id: &SchemaId| Facts::of(self.graph, &Conj::one(*id), self.implied).types == Types::NULL;
        let mut turned: Vec<SchemaId> = self.luck.turned(&branches).copied().collect();
        turned.sort_by_key(null);
        let drawn = turned
            .into_iter()
            .find_map(|branch| self.place(&conj.choose(holder, branch), level).filter(|value| holds(value)));
        // Where a tag is to tell branches apart, each may accept what another one does.
        let found = drawn.or_else(|| {
            schema.discriminator.as_ref()?;
            self.effort.set(self.effort.get().checked_sub(EDGES)?);
            self.edge(conj, Effort::Quick, holds)
        });
        found.map(|value| self.tagged(schema, value, holds))
    }

    /// A value of some schemas together; a word where there are none.
    fn part(&self, ids: Vec<SchemaId>, level: u8) -> Option<Json> {
        if ids.is_empty() { Some(Json::from(self.luck.word())) } else { self.place(&Conj::all(ids), level) }
    }

    fn object(&self, facts: &Facts, all: &[&'g Schema], level: u8, holds: Holds<'_>) -> Option<Json> {
        let missing = all.iter().filter_map(|schema| schema.min_properties).max().unwrap_or(0);
        if missing > many::MOST {
            return None;
        }
        let required = facts.required(self.graph);
        let others = || all.iter().filter_map(|schema| schema.additional_properties);
        let declared = facts.declared(self.graph);
        let mut least = Map::new();
        for name in &required {
            let known = declared.iter().find(|(known, ..)| known == name);
            let ids: Vec<SchemaId> = match known {
                Some((_, always, sometimes)) if always.is_empty() => {
                    sometimes.first().copied().into_iter().collect()
                }
                Some((_, always, _)) => always.clone(),
                None => others().collect(),
            };
            least.insert((*name).to_owned(), self.part(ids, level)?);
        }
        let mut full = least.clone();
        let mut sometimes_too = Map::new();
        if self.is_rich(level) {
            for (name, always, sometimes) in declared.iter().filter(|(name, ..)| !required.contains(name)) {
                let written = |id: &SchemaId| self.graph.schema(*id).write_only;
                // Without examples not even the same members are there each time.
                let left_out = !self.wish.examples && self.luck.below(4) == 0;
                if left_out || always.iter().chain(sometimes).any(written) {
                    continue;
                }
                let only = if always.is_empty() {
                    sometimes.iter().take(1).copied().collect()
                } else {
                    always.clone()
                };
                let Some(value) = self.part(only, level) else { continue };
                let kept = if always.is_empty() { &mut sometimes_too } else { &mut full };
                kept.insert((*name).to_owned(), value);
            }
        }
        let wanted = if full.is_empty() && self.is_rich(level) { missing.max(1) } else { missing };
        for (members, wanted) in [(&mut full, wanted), (&mut least, missing)] {
            self.entries(all, wanted, level, members);
            self.counted(all, missing, level, members);
            self.further(all, missing, level, members);
        }
        let whole =
            full.iter().chain(sometimes_too.iter()).map(|(name, value)| (name.to_owned(), value.clone()));
        let whole: Map<Json> = whole.collect();
        let tried = [full, whole, least].map(Json::Object);
        let found = tried.iter().find(|value| holds(value)).cloned();
        found.or_else(|| tried.iter().find_map(|object| self.mended(facts, object, level, holds)))
    }

    /// Members that nobody declares, until there are so many.
    fn entries(&self, all: &[&'g Schema], wanted: u64, level: u8, members: &mut Map<Json>) {
        let patterns: Vec<&(String, SchemaId)> = all.iter().flat_map(|s| &s.pattern_properties).collect();
        let others: Vec<SchemaId> = all.iter().filter_map(|s| s.additional_properties).collect();
        if others.iter().any(|&id| self.graph.schema(id).boolean == Some(false)) && patterns.is_empty() {
            return;
        }
        let names: Vec<SchemaId> = all.iter().filter_map(|s| s.property_names).collect();
        // Of very many, some: the others are counted.
        let tries = if wanted > LONGEST { TRIES } else { wanted * 2 };
        for _ in 0..tries {
            if members.len() as u64 >= wanted {
                return;
            }
            let (name, ids) = match (self.luck.turned(&patterns).next(), names.as_slice()) {
                (Some((pattern, id)), _) => (text_of(pattern, 1 + self.luck.below(6), &self.luck), vec![*id]),
                (None, []) => (Some(self.luck.word().to_owned()), others.clone()),
                (None, names) => {
                    let conj = Conj::all(names.iter().copied()).within(Types::STRING);
                    let name = self.place(&conj, level).and_then(|name| name.as_str().map(str::to_owned));
                    (name, others.clone())
                }
            };
            let Some((name, value)) = name.zip(self.part(ids, level)) else { return };
            members.insert(name, value);
        }
    }

    fn array(&self, all: &[&'g Schema], level: u8, holds: Holds<'_>) -> Option<Json> {
        let least = all.iter().filter_map(|s| s.min_items).max().unwrap_or(0);
        // More than there is effort for is not even begun.
        if least > EFFORT.into() {
            return None;
        }
        let most = all.iter().filter_map(|s| s.max_items).min().unwrap_or(LONGEST.max(least));
        let prefix = all.iter().map(|s| s.prefix_items.len()).max().unwrap_or(0);
        let distinct = all.iter().any(|s| s.unique_items);
        // Lists of lists of lists multiply.
        let usual = match (self.is_rich(level), level + 2 >= LEVELS) {
            (true, true) => 1 + self.luck.below(3),
            (true, false) => 1,
            (false, _) => 0,
        };
        let length = usual.max(prefix as u64).max(least).min(most).min(EFFORT.into());
        let mut items: Vec<Json> = Vec::new();
        let wanted = all.iter().filter_map(|s| s.contains.as_ref());
        for contains in wanted {
            for _ in 0..contains.min.unwrap_or(1).min(EFFORT.into()) {
                items.extend(self.place(&Conj::one(contains.schema), level));
            }
        }
        let mut tries = 0;
        while (items.len() as u64) < length && tries < TRIES + 4 * length {
            tries += 1;
            let at = items.len();
            let ids = all.iter().filter_map(|s| s.prefix_items.get(at).copied().or(s.items)).collect();
            let Some(item) = self.part(ids, level) else { break };
            if !(distinct && items.contains(&item)) {
                items.push(item);
            }
        }
        let short = items.iter().take(usize::try_from(least).unwrap_or(usize::MAX)).cloned().collect();
        [items, short, Vec::new()].into_iter().map(Json::Array).find(holds)
    }

    fn string(&self, all: &[&'g Schema], holds: Holds<'_>) -> Option<Json> {
        let least = all.iter().filter_map(|s| s.min_length).max().unwrap_or(0);
        let most = all.iter().filter_map(|s| s.max_length).min().unwrap_or(LONGEST.max(least));
        let mut found: Vec<String> =
            all.iter().filter_map(|s| self.formatted(s.format.as_deref()?)).collect();
        let encoded = |schema: &&&Schema| {
            schema.content_encoding.as_deref().is_some_and(|name| name.starts_with("base64"))
        };
        found.extend(all.iter().find(encoded).map(|_| "aGVsbG8=".to_owned()));
        let patterns: Vec<String> =
            all.iter().filter_map(|s| s.pattern.as_deref()).map(without_looks).collect();
        if let Some(plain) = patterns.first() {
            let usual = [least, 1 + self.luck.below(8), 1, most.min(8), 0];
            found.extend(usual.into_iter().filter_map(|count| text_of(plain, count, &self.luck)));
        }
        // Also where the pattern is one that nobody checks.
        found.push(self.words(least, most));
        found.extend(strings(all));
        let drawn = found.iter().map(|text| Json::from(text.as_str())).find(holds);
        // A pattern may be found in a part of the text, and what stands around it is free.
        let padded = || {
            found.iter().find_map(|text| {
                let count = text.chars().count() as u64;
                let missing = least.checked_sub(count).filter(|missing| *missing > 0)?;
                let more = self.words(missing, most.saturating_sub(count));
                [format!("{text}{more}"), format!("{more}{text}")].map(Json::from).into_iter().find(holds)
            })
        };
        let longest = all.iter().filter_map(|s| s.max_length).min();
        let reckoned = || exact::text(&patterns, least, longest, &[]).map(Json::from).filter(holds);
        drawn.or_else(padded).or_else(reckoned)
    }

    /// Some words, as long as they may be and have to be.
    fn words(&self, least: u64, most: u64) -> String {
        let mut text = self.luck.word().to_owned();
        while (text.len() as u64) < least.min(TEXT) {
            text.push(' ');
            text.push_str(self.luck.word());
        }
        text.truncate(usize::try_from(most.max(least)).unwrap_or(usize::MAX));
        text
    }

    /// A text of a format.
    fn formatted(&self, format: &str) -> Option<String> {
        let Self { luck, .. } = self;
        let day = || format!("20{}-{:02}-{:02}", 20 + luck.below(6), 1 + luck.below(12), 1 + luck.below(28));
        let time = || format!("{:02}:{:02}:{:02}Z", luck.below(24), luck.below(60), luck.below(60));
        Some(match format {
            "date-time" => format!("{}T{}", day(), time()),
            "date" => day(),
            "time" => time(),
            "duration" => format!("P{}D", 1 + luck.below(30)),
            "uri" | "iri" | "url" | "uri-reference" | "iri-reference" => {
                format!("https://example.org/{}", luck.word())
            }
            "uuid" => {
                let (high, low) = (luck.next(), luck.next());
                let variant = 0x8000 | (low >> 48 & 0x3fff);
                let (one, two, three) = (high >> 32, high >> 16 & 0xffff, 0x4000 | (high & 0xfff));
                format!("{one:08x}-{two:04x}-{three:04x}-{variant:04x}-{:012x}", low & 0xffff_ffff_ffff)
            }
            "email" | "idn-email" => format!("{}@example.org", luck.word()),
            "hostname" | "idn-hostname" => format!("{}.example.org", luck.word()),
            "ipv4" => format!("192.0.2.{}", 1 + luck.below(254)),
            "ipv6" => format!("2001:db8::{:x}", 1 + luck.below(0xfffe)),
            "json-pointer" => format!("/{}", luck.word()),
            "byte" => "aGVsbG8=".to_owned(),
            _ => return None,
        })
    }

    fn number(&self, all: &[&'g Schema], fractions: bool, holds: Holds<'_>) -> Option<Json> {
        let whole = |bound: Option<i128>, otherwise| bound.unwrap_or(otherwise);
        let above = all.iter().flat_map(|s| {
            let exclusive = s.exclusive_minimum.as_ref().and_then(Number::floor).map(|least| least + 1);
            [s.minimum.as_ref().and_then(Number::ceil), exclusive].into_iter().flatten()
        });
        let below = all.iter().flat_map(|s| {
            let exclusive = s.exclusive_maximum.as_ref().and_then(Number::ceil).map(|most| most - 1);
            [s.maximum.as_ref().and_then(Number::floor), exclusive].into_iter().flatten()
        });
        let (above, below) = (above.max(), below.min());
        let low = whole(above, below.map_or(1, |most| most.min(1)));
        let high = whole(below, low.saturating_add(999)).min(low.saturating_add(999));
        let factor =
            all.iter().filter_map(|s| s.multiple_of.as_ref()).find_map(Number::as_i64).map_or(1, i128::from);
        let width = u64::try_from(high.saturating_sub(low)).unwrap_or(0).saturating_add(1);
        let drawn = low.saturating_add(i128::from(self.luck.below(width)));
        let multiple = drawn.div_euclid(factor.max(1)).saturating_mul(factor);
        let mut candidates = Vec::new();
        if fractions
            && drawn < high
            && let Ok(drawn) = i64::try_from(drawn)
        {
            let hundredths = i64::try_from(self.luck.below(100)).unwrap_or(0);
            candidates
                .extend(drawn.checked_mul(100).map(|all| Number::decimal(all.saturating_add(hundredths), 2)));
        }
        let near = [multiple, multiple.saturating_add(factor), drawn, low, high];
        candidates.extend(near.into_iter().filter_map(|n| i64::try_from(n).ok()).map(Number::int));
        let mut candidates: Vec<Json> = candidates.into_iter().map(Json::Number).collect();
        numbers(all, fractions, &mut candidates);
        let drawn = candidates.into_iter().find(holds);
        drawn.or_else(|| exact::number(all, fractions, &self.luck).map(Json::Number).filter(holds))
    }
}

/// A pattern without what looks around: few texts are refused by that, and no program runs it.
fn without_looks(pattern: &str) -> String {
    let mut out = String::new();
    let mut left = pattern;
    while let Some(first) = left.chars().next() {
        if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| left.starts_with(look)) {
            left = &left[group(left)..];
            continue;
        }
        // An escaped parenthesis opens nothing.
        let escaped = left.chars().nth(1).filter(|_| first == '\\').map_or(0, char::len_utf8);
        let (taken, rest) = left.split_at(first.len_utf8() + escaped);
        out.push_str(taken);
        left = rest;
    }
    out
}

/// Where the group ends with which a text begins.
fn group(text: &str) -> usize {
    let (mut depth, mut escaped, mut listed) = (0_u32, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => listed = true,
            ']' => listed = false,
            '(' if !listed => depth += 1,
            ')' if !listed => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !escaped {
            return at + letter.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chance that is none: the same seed gives the same, and every number below the limit comes.
    #[test]
    fn luck_is_of_its_seed() {
        let of = |seed| -> Vec<u64> {
            let luck = Luck::of(seed);
            (0..64).map(|_| luck.below(8)).collect()
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        assert!((0..8).all(|each| of(1).contains(&each)), "{:?}", of(1));
        assert_eq!(Luck::of(3).turned(&[1, 2, 3, 4]).count(), 4);
    }

    #[test]
    fn what_looks_around_is_left_out_of_patterns() {
        let check = |pattern, expect| assert_eq!(without_looks(pattern), expect, "{pattern}");
        check("^(?![0-9a-f]{8}(-|$))^[a-z]([a-zA-Z0-9-]*[a-z])?$", "^^[a-z]([a-zA-Z0-9-]*[a-z])?$");
        check("^[a-z]+(?<!-)(?=[)(]|\\)x)é$", "^[a-z]+é$");
        check("\\(?!a", "\\(?!a");
        check("(?!a", "");
        check("a\\", "a\\");
    }

    #[test]
    fn letters_are_such_as_can_be_read() {
        let luck = Luck::of(1);
        for _ in 0..50 {
            let any = luck.letter(&[('\u{1}', '\u{10ffff}')]);
            assert!(any.is_some_and(|each| each.is_ascii_lowercase()), "{any:?}");
            assert!(matches!(luck.letter(&[('!', '#')]), Some('!'..='#')));
        }
        assert_eq!(luck.letter(&[]), None);
    }
}
