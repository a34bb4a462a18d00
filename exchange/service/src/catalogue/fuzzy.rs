//! Fuzzy matching of names, which is used only for suggestions (RES-09).
//!
//! A candidate is a name that shares trigrams with the query. The candidates that share the most trigrams are
//! compared with the query, and those with the smallest edit distances are returned. Every step is bounded,
//! so a request with 500 references remains cheap.

use std::collections::HashMap;

use super::names::canonical_name;

/// The maximum number of characters of a name that are compared.
const MAX_CHARS: usize = 64;
/// The maximum number of postings that are read from the trigram lists.
const MAX_LOOKUPS: usize = 4096;
/// The maximum number of candidates whose edit distance is computed.
const MAX_CANDIDATES: usize = 24;
/// The maximum number of suggestions.
pub(super) const MAX_SUGGESTIONS: usize = 10;

type Trigram = [char; 3];

/// A trigram index of the names of all entries of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct FuzzyIndex {
    /// The characters of each name, and the position of the entry.
    names: Vec<(Vec<char>, u32)>,
    by_trigram: HashMap<Trigram, Vec<u32>>,
}

impl FuzzyIndex {
    /// Adds a name of the entry at the position `place`. An entry can have several names.
    pub(super) fn add_name(&mut self, name: &str, place: u32) {
        let letters = canonical_chars(name);
        let Ok(at) = u32::try_from(self.names.len()) else { return };
        for gram in unique_trigrams(&letters) {
            self.by_trigram.entry(gram).or_default().push(at);
        }
        self.names.push((letters, place));
    }

    /// Returns the positions of the entries with similar names, best match first.
    pub(super) fn find_similar(&self, name: &str) -> Vec<u32> {
        let query = canonical_chars(name);
        let mut lists: Vec<&Vec<u32>> =
            unique_trigrams(&query).iter().filter_map(|gram| self.by_trigram.get(gram)).collect();
        // The rarest trigrams come first, because they narrow the candidates most.
        lists.sort_by_key(|list| list.len());
        let mut shared: HashMap<u32, u16> = HashMap::new();
        for index in lists.into_iter().flatten().take(MAX_LOOKUPS) {
            *shared.entry(*index).or_default() += 1;
        }
        let mut candidates: Vec<(u32, u16)> = shared.into_iter().collect();
        candidates.sort_unstable_by(|(a, shared_a), (b, shared_b)| shared_b.cmp(shared_a).then(a.cmp(b)));
        let mut close: Vec<(usize, u32)> = candidates
            .into_iter()
            .take(MAX_CANDIDATES)
            .filter_map(|(index, _)| {
                let (letters, place) = self.names.get(index as usize)?;
                Some((edit_distance(&query, letters)?, *place))
            })
            .collect();
        close.sort_unstable();
        let mut places: Vec<u32> = Vec::with_capacity(MAX_SUGGESTIONS);
        for (_, place) in close {
            if places.len() < MAX_SUGGESTIONS && !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }
}

fn canonical_chars(name: &str) -> Vec<char> {
    canonical_name(name).chars().take(MAX_CHARS).collect()
}

/// Returns the distinct trigrams of a name.
fn unique_trigrams(letters: &[char]) -> Vec<Trigram> {
    let mut grams: Vec<Trigram> = letters.windows(3).filter_map(|gram| gram.try_into().ok()).collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// Returns the edit distance of two names. Returns `None` if the names are not similar: neither contains the
/// other, and the distance exceeds a quarter of the length of the longer name.
fn edit_distance(a: &[char], b: &[char]) -> Option<usize> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let limit = long.len() / 4;
    let rest = long.len() - short.len();
    let edits = if rest <= limit { bounded_edits(short, long, limit) } else { None };
    edits.or_else(|| long.windows(short.len().max(1)).any(|part| part == short).then_some(rest))
}

/// Returns the Levenshtein distance of two names if it is at most `limit`.
fn bounded_edits(short: &[char], long: &[char], limit: usize) -> Option<usize> {
    let mut row: Vec<usize> = (0..=long.len()).collect();
    for (line, a) in short.iter().enumerate() {
        // Cells outside of this band need more than `limit` edits.
        let (first, last) = (line.saturating_sub(limit), (line + limit + 1).min(long.len()));
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
        // The cell after the band still has a value of the previous line.
        if let Some(behind) = row.get_mut(last + 1) {
            *behind = usize::MAX - 1;
        }
        if least > limit {
            return None;
        }
    }
    row.last().copied().filter(|edits| *edits <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits_of(a: &str, b: &str) -> Option<usize> {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        if a.len() <= b.len() { bounded_edits(&a, &b, 4) } else { bounded_edits(&b, &a, 4) }
    }

    /// Computes the distance with the complete table, without a band.
    fn plain(a: &str, b: &str) -> usize {
        let b: Vec<char> = b.chars().collect();
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (line, a) in a.chars().enumerate() {
            let mut next = vec![line + 1];
            for (index, b) in b.iter().enumerate() {
                let exchanged = row[index] + usize::from(a != *b);
                next.push(exchanged.min(next[index] + 1).min(row[index + 1] + 1));
            }
            row = next;
        }
        row[b.len()]
    }

    proptest::proptest! {
        /// The restriction to a band does not change the distance.
        #[test]
        fn banded_distance_equals_the_full_table(a in "[abc]{0,12}", b in "[abc]{0,12}") {
            proptest::prop_assert_eq!(edits_of(&a, &b), Some(plain(&a, &b)).filter(|edits| *edits <= 4));
        }
    }

    #[test]
    fn closest_names_come_first_and_unlike_ones_are_omitted() {
        let mut likeness = FuzzyIndex::default();
        let names = ["Sandbox Rifle", "Sandbox Rifles", "Sandbox Helmet", "Ore"];
        names.into_iter().zip(0..).for_each(|(name, place)| likeness.add_name(name, place));
        likeness.add_name("Helmet", 2);
        assert_eq!(likeness.find_similar("sandbox rifel"), [0, 1]);
        assert_eq!(likeness.find_similar("Helmet"), [2]);
        assert_eq!(likeness.find_similar("Quantanium"), Vec::<u32>::new());
        assert_eq!(likeness.find_similar(""), Vec::<u32>::new());
    }
}
