//! Names that are like a name: suggestions, never more (RES-09).
//!
//! Candidates share three letters in a row; of those that share most, the closest by edits are kept.
//! Every step is bounded, whatever a request holds: 500 references stay cheap.

use std::collections::HashMap;

use super::names::canonical;

/// Letters of a name that are looked at.
const LONGEST: usize = 64;
/// Entries that are looked up by their letters.
const LOOKED_UP: usize = 4096;
/// Candidates whose edits are counted.
const COUNTED: usize = 24;
/// Suggestions.
pub(super) const MOST: usize = 10;

type Gram = [char; 3];

/// All names of a part of the catalogue, by their letters.
#[derive(Clone, Debug, Default)]
pub(super) struct Likeness {
    /// The letters of each name, and what has it.
    names: Vec<(Vec<char>, u32)>,
    by_gram: HashMap<Gram, Vec<u32>>,
}

impl Likeness {
    /// Adds a name of what stands at a place; one place may have several.
    pub(super) fn add(&mut self, name: &str, place: u32) {
        let letters = letters(name);
        let Ok(at) = u32::try_from(self.names.len()) else { return };
        for gram in grams(&letters) {
            self.by_gram.entry(gram).or_default().push(at);
        }
        self.names.push((letters, place));
    }

    /// The places of the names that are like this one, the closest first.
    pub(super) fn like(&self, name: &str) -> Vec<u32> {
        let query = letters(name);
        let mut lists: Vec<&Vec<u32>> =
            grams(&query).iter().filter_map(|gram| self.by_gram.get(gram)).collect();
        // What few names have says most.
        lists.sort_by_key(|list| list.len());
        let mut shared: HashMap<u32, u16> = HashMap::new();
        for at in lists.into_iter().flatten().take(LOOKED_UP) {
            *shared.entry(*at).or_default() += 1;
        }
        let mut candidates: Vec<(u32, u16)> = shared.into_iter().collect();
        candidates.sort_unstable_by(|(a, shared_a), (b, shared_b)| shared_b.cmp(shared_a).then(a.cmp(b)));
        let mut close: Vec<(usize, u32)> = candidates
            .into_iter()
            .take(COUNTED)
            .filter_map(|(at, _)| {
                let (letters, place) = self.names.get(at as usize)?;
                Some((distance(&query, letters)?, *place))
            })
            .collect();
        close.sort_unstable();
        let mut places: Vec<u32> = Vec::with_capacity(MOST);
        for (_, place) in close {
            if places.len() < MOST && !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }
}

fn letters(name: &str) -> Vec<char> {
    canonical(name).chars().take(LONGEST).collect()
}

/// Each once.
fn grams(letters: &[char]) -> Vec<Gram> {
    let mut grams: Vec<Gram> = letters.windows(3).filter_map(|gram| gram.try_into().ok()).collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// How far apart two names are; none when they are not alike: more than a quarter of the longer one
/// would have to be edited, and neither is a part of the other.
fn distance(a: &[char], b: &[char]) -> Option<usize> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let most = long.len() / 4;
    let rest = long.len() - short.len();
    let edits = if rest <= most { edits(short, long, most) } else { None };
    edits.or_else(|| long.windows(short.len().max(1)).any(|part| part == short).then_some(rest))
}

/// Letters to put in, take out or exchange, when there are at most so many.
fn edits(short: &[char], long: &[char], most: usize) -> Option<usize> {
    let mut row: Vec<usize> = (0..=long.len()).collect();
    for (line, a) in short.iter().enumerate() {
        // Beyond the band more edits are needed in any case.
        let (first, last) = (line.saturating_sub(most), (line + most + 1).min(long.len()));
        let mut diagonal = row.get(first).copied()?;
        if let Some(start) = row.get_mut(first) {
            *start = if first == 0 { line + 1 } else { usize::MAX - 1 };
        }
        let mut left = row.get(first).copied()?;
        let mut least = left;
        for (cell, b) in row.get_mut(first + 1..=last)?.iter_mut().zip(long.get(first..last)?) {
            let exchanged = diagonal + usize::from(a != b);
            diagonal = *cell;
            *cell = exchanged.min(left + 1).min(diagonal + 1);
            left = *cell;
            least = least.min(left);
        }
        // What lies behind the band is not of this line.
        if let Some(behind) = row.get_mut(last + 1) {
            *behind = usize::MAX - 1;
        }
        if least > most {
            return None;
        }
    }
    row.last().copied().filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits_of(a: &str, b: &str) -> Option<usize> {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        if a.len() <= b.len() { edits(&a, &b, 4) } else { edits(&b, &a, 4) }
    }

    /// The whole table, without a band.
    fn plain(a: &str, b: &str) -> usize {
        let b: Vec<char> = b.chars().collect();
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (line, a) in a.chars().enumerate() {
            let mut next = vec![line + 1];
            for (at, b) in b.iter().enumerate() {
                let exchanged = row[at] + usize::from(a != *b);
                next.push(exchanged.min(next[at] + 1).min(row[at + 1] + 1));
            }
            row = next;
        }
        row[b.len()]
    }

    proptest::proptest! {
        /// The band changes nothing but what it costs.
        #[test]
        fn edits_are_those_of_the_whole_table(a in "[abc]{0,12}", b in "[abc]{0,12}") {
            proptest::prop_assert_eq!(edits_of(&a, &b), Some(plain(&a, &b)).filter(|edits| *edits <= 4));
        }
    }

    #[test]
    fn the_closest_come_first_and_what_is_unlike_not_at_all() {
        let mut likeness = Likeness::default();
        let names = ["Sandbox Rifle", "Sandbox Rifles", "Sandbox Helmet", "Ore"];
        names.into_iter().zip(0..).for_each(|(name, place)| likeness.add(name, place));
        likeness.add("Helmet", 2);
        assert_eq!(likeness.like("sandbox rifel"), [0, 1]);
        assert_eq!(likeness.like("Helmet"), [2]);
        assert_eq!(likeness.like("Quantanium"), Vec::<u32>::new());
        assert_eq!(likeness.like(""), Vec::<u32>::new());
    }
}
