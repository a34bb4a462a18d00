//! What the journal says of a member's entries since some moment, folded into what is left to be undone: a plain
//! function over its entries in order.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::feed::Author;

/// An entry of the journal, as far as undoing goes by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// Its number.
    pub(super) id: i64,
    /// What it changed.
    pub(super) key: String,
    /// Who made it: nobody else than the one whose writes are to be undone, or whoever it was.
    pub(super) by: By,
    /// The first entry that it undid, with all of its key that came between.
    pub(super) undoes: Option<i64>,
    /// The key of what had been removed, and in whose place it put something else.
    pub(super) replaces: Option<String>,
}

/// Who made an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The client, within the span.
    Client,
    /// Somebody else, or the client outside the span.
    Other(Author),
}

/// What is known of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) key: String,
    /// The client's entries, in order; at least one.
    pub(super) ids: Vec<i64>,
    /// Who else changed it since the first of them.
    pub(super) other: Option<Author>,
}

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct History {
    /// By key, from the client's first entry on.
    entries: HashMap<String, Vec<(i64, By)>>,
    /// Entries by their keys that are a change of another key's entry, too: what somebody else put in its place.
    replacing: HashMap<String, (i64, String)>,
}

impl History {
    /// The next entry. Says which one it goes with, when it put something in the place of what the client removed: both
    /// are the client's then, and one is not undone without the other.
    pub(super) fn see(&mut self, seen: Seen) -> Option<i64> {
        let Seen { id, key, by, undoes, replaces } = seen;
        if let Some(first) = undoes {
            // From that entry on it is as if nothing had happened to the key.
            if let Some(entries) = self.entries.get_mut(&key) {
                entries.retain(|(id, _)| *id < first);
            }
            if let Some((replacing, replaced)) = self.replacing.get(&key)
                && *replacing >= first
                && let Some(entries) = self.entries.get_mut(replaced)
            {
                entries.retain(|(id, _)| id != replacing);
            }
            return None;
        }
        let mut removed = None;
        if let Some(replaced) = replaces
            && let Some(entries) = self.entries.get_mut(&replaced)
        {
            match (entries.last(), &by) {
                (Some((last, By::Client)), By::Client) => removed = Some(*last),
                (Some(_), By::Other(_)) => {
                    entries.push((id, by.clone()));
                    self.replacing.insert(key.clone(), (id, replaced));
                }
                _ => {}
            }
        }
        if by == By::Client {
            self.entries.entry(key).or_default().push((id, by));
        } else if let Some(entries) = self.entries.get_mut(&key).filter(|entries| !entries.is_empty()) {
            entries.push((id, by));
        }
        removed
    }

    /// What is left, the key first that the client changed last.
    pub(super) fn into_planned(self) -> Vec<Planned> {
        let planned = |(key, entries): (String, Vec<(i64, By)>)| {
            let mut planned = Planned { key, ids: Vec::new(), other: None };
            for (id, by) in entries {
                match by {
                    By::Client => planned.ids.push(id),
                    By::Other(other) => drop(planned.other.get_or_insert(other)),
                }
            }
            planned
        };
        let mut all: Vec<Planned> =
            self.entries.into_iter().map(planned).filter(|planned| !planned.ids.is_empty()).collect();
        all.sort_unstable_by_key(|planned| Reverse(planned.ids.last().copied()));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Somebody else, told from others by a name.
    fn other(name: &str) -> Author {
        Author::Client { client: name.into(), installation: "i".into() }
    }

    /// `c` is an entry of the client, `o` one of somebody else, a number one that undoes from that entry on;
    /// entries are numbered from 1.
    fn check(entries: &[&str], ids: &[i64], changed: Option<&str>) {
        let mut history = History::default();
        for (id, entry) in (1..).zip(entries) {
            let undoes = entry.parse().ok();
            let by = if *entry == "c" { By::Client } else { By::Other(other(entry)) };
            history.see(Seen { id, key: "k".to_owned(), by, undoes, replaces: None });
        }
        let planned = history.into_planned();
        let expect = Planned { key: "k".to_owned(), ids: ids.to_vec(), other: changed.map(other) };
        assert_eq!(planned, if ids.is_empty() { vec![] } else { vec![expect] }, "{entries:?}");
    }

    #[test]
    fn what_came_before_the_client_is_no_conflict_and_what_came_after_is() {
        check(&[], &[], None);
        check(&["o"], &[], None);
        check(&["o", "c"], &[2], None);
        check(&["o", "c", "c"], &[2, 3], None);
        check(&["c", "o"], &[1], Some("o"));
        check(&["c", "first", "c", "second"], &[1, 3], Some("first"));
    }

    #[test]
    fn what_was_undone_never_was() {
        check(&["c", "1"], &[], None);
        check(&["c", "1", "c"], &[3], None);
        check(&["c", "c", "2"], &[1], None);
        check(&["c", "c", "2", "1"], &[], None);
        check(&["c", "o", "2"], &[1], None);
        // What was undone began before the span.
        check(&["c", "c", "0"], &[], None);
        check(&["c", "0", "o"], &[], None);
        check(&["c", "1", "c", "o"], &[3], Some("o"));
    }

    /// Entries of `old`, or of what came in its place as `new`; numbered from 1, written as above. Then what each that
    /// came in its place goes with, and whether somebody else changed `old`.
    fn check_replaced(entries: &[&str], with: &[Option<i64>], changed: Option<&str>) {
        let (mut history, mut seen) = (History::default(), Vec::new());
        for (id, entry) in (1..).zip(entries) {
            let (key, entry) = entry.split_once(' ').expect("a key");
            let (undoes, replaces) = (entry.parse().ok(), (key == "new").then(|| "old".to_owned()));
            let by = if entry == "c" { By::Client } else { By::Other(other(entry)) };
            let is_new = replaces.is_some() && undoes.is_none();
            let with = history.see(Seen { id, key: key.to_owned(), by, undoes, replaces });
            if is_new {
                seen.push(with);
            }
        }
        assert_eq!(seen, with, "{entries:?}");
        let planned = history.into_planned().into_iter().find(|planned| planned.key == "old");
        assert_eq!(planned.and_then(|planned| planned.other), changed.map(other), "{entries:?}");
    }

    #[test]
    fn what_comes_in_the_place_of_another_goes_with_it_or_is_in_its_way() {
        check_replaced(&["old c", "new c"], &[Some(1)], None);
        check_replaced(&["old c", "new c", "new c"], &[Some(1), Some(1)], None);
        check_replaced(&["old c", "new web"], &[None], Some("web"));
        // Somebody else removed it, or the client did before the span.
        check_replaced(&["old c", "old web", "new c"], &[None], Some("web"));
        check_replaced(&["new c"], &[None], None);
        check_replaced(&["new web"], &[None], None);
        // What came is undone, or only what was done to it later; and what was removed is back.
        check_replaced(&["old c", "new web", "new 2"], &[None], None);
        check_replaced(&["old c", "new web", "new 3"], &[None], Some("web"));
        check_replaced(&["old c", "old 1", "new c"], &[None], None);
    }

    #[test]
    fn the_latest_comes_first() {
        let mut history = History::default();
        for (id, key) in [(1, "a"), (2, "b"), (3, "c"), (4, "a")] {
            history.see(Seen { id, key: key.to_owned(), by: By::Client, undoes: None, replaces: None });
        }
        let keys: Vec<String> = history.into_planned().into_iter().map(|planned| planned.key).collect();
        assert_eq!(keys, ["a", "c", "b"]);
    }
}
