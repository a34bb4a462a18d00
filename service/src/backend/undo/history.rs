//! What the journal says of a member's entries since some moment, folded into what is left to be undone: a plain
//! function over its entries in order.

use std::cmp::Reverse;
use std::collections::HashMap;

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
}

/// Who made an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The client, within the span.
    Client,
    /// Somebody else, or the client outside the span: as people are told of it.
    Other(String),
}

/// What is known of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) key: String,
    /// The client's entries, in order; at least one.
    pub(super) ids: Vec<i64>,
    /// Who else changed it since the first of them.
    pub(super) other: Option<String>,
}

/// What was seen so far, by key, from the client's first entry on.
#[derive(Debug, Default)]
pub(super) struct History(HashMap<String, Vec<(i64, By)>>);

impl History {
    /// The next entry.
    pub(super) fn see(&mut self, seen: Seen) {
        let Seen { id, key, by, undoes } = seen;
        match (undoes, by) {
            (Some(first), _) => {
                // From that entry on it is as if nothing had happened to the key.
                if let Some(entries) = self.0.get_mut(&key) {
                    entries.retain(|(id, _)| *id < first);
                }
            }
            (None, by @ By::Client) => self.0.entry(key).or_default().push((id, by)),
            (None, by @ By::Other(_)) => {
                if let Some(entries) = self.0.get_mut(&key).filter(|entries| !entries.is_empty()) {
                    entries.push((id, by));
                }
            }
        }
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
            self.0.into_iter().map(planned).filter(|planned| !planned.ids.is_empty()).collect();
        all.sort_unstable_by_key(|planned| Reverse(planned.ids.last().copied()));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `c` is an entry of the client, `o` one of somebody else, a number one that undoes from that entry on;
    /// entries are numbered from 1.
    fn check(entries: &[&str], ids: &[i64], other: Option<&str>) {
        let mut history = History::default();
        for (id, entry) in (1..).zip(entries) {
            let undoes = entry.parse().ok();
            let by = if *entry == "c" { By::Client } else { By::Other((*entry).to_owned()) };
            history.see(Seen { id, key: "k".to_owned(), by, undoes });
        }
        let planned = history.into_planned();
        let expect = Planned { key: "k".to_owned(), ids: ids.to_vec(), other: other.map(str::to_owned) };
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

    #[test]
    fn the_latest_comes_first() {
        let mut history = History::default();
        for (id, key) in [(1, "a"), (2, "b"), (3, "c"), (4, "a")] {
            history.see(Seen { id, key: key.to_owned(), by: By::Client, undoes: None });
        }
        let keys: Vec<String> = history.into_planned().into_iter().map(|planned| planned.key).collect();
        assert_eq!(keys, ["a", "c", "b"]);
    }
}
