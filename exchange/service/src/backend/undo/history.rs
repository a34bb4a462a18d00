//! Folds the journal of a member's area into the entries that are left to undo. Pure functions over the
//! journal's entries in order.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::feed::ChangeAuthor;

/// The fields of a journal entry that the fold depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JournalEvent {
    pub(super) id: i64,
    pub(super) key: String,
    pub(super) by: EventAuthor,
    /// The first journal entry that this one undoes, together with all later ones of the same key.
    pub(super) undoes: Option<i64>,
    /// The key of the removed entry that this one replaces.
    pub(super) replaces: Option<String>,
}

/// The author of a journal entry, relative to the selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EventAuthor {
    /// The selected client, within the span.
    Client,
    /// Another author, or the client outside the span.
    Other(ChangeAuthor),
}

/// An entry of the area that is to be reverted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedEntry {
    pub(super) key: String,
    /// Journal ids of the client's changes in order; never empty.
    pub(super) ids: Vec<i64>,
    /// The first other author who changed the entry after the client's first change.
    pub(super) other: Option<ChangeAuthor>,
}

#[derive(Debug, Default)]
pub(super) struct JournalFold {
    /// Changes by key, from the client's first one on.
    entries: HashMap<String, Vec<(i64, EventAuthor)>>,
    /// By the key of a replacement by another author: its journal id and the key of the entry that it
    /// replaced.
    replacing: HashMap<String, (i64, String)>,
}

impl JournalFold {
    /// Adds the next journal entry. Returns the id of the client's removal if the entry replaces what the
    /// client removed. Both changes are the client's then, and must be undone together.
    pub(super) fn record_event(&mut self, seen: JournalEvent) -> Option<i64> {
        let JournalEvent { id, key, by, undoes, replaces } = seen;
        if let Some(first) = undoes {
            // The undo cancels all changes of the key from `first` on.
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
                (Some((last, EventAuthor::Client)), EventAuthor::Client) => removed = Some(*last),
                (Some(_), EventAuthor::Other(_)) => {
                    entries.push((id, by.clone()));
                    self.replacing.insert(key.clone(), (id, replaced));
                }
                _ => {}
            }
        }
        if by == EventAuthor::Client {
            self.entries.entry(key).or_default().push((id, by));
        } else if let Some(entries) = self.entries.get_mut(&key).filter(|entries| !entries.is_empty()) {
            entries.push((id, by));
        }
        removed
    }

    /// Returns the entries that are left to undo, sorted by the client's last change, latest first.
    pub(super) fn into_planned(self) -> Vec<PlannedEntry> {
        let planned = |(key, entries): (String, Vec<(i64, EventAuthor)>)| {
            let mut planned = PlannedEntry { key, ids: Vec::new(), other: None };
            for (id, by) in entries {
                match by {
                    EventAuthor::Client => planned.ids.push(id),
                    EventAuthor::Other(other) => drop(planned.other.get_or_insert(other)),
                }
            }
            planned
        };
        let mut all: Vec<PlannedEntry> =
            self.entries.into_iter().map(planned).filter(|planned| !planned.ids.is_empty()).collect();
        all.sort_unstable_by_key(|planned| Reverse(planned.ids.last().copied()));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An author other than the client, identified by a name.
    fn other(name: &str) -> ChangeAuthor {
        ChangeAuthor::Client { client: name.into(), installation: "i".into() }
    }

    /// Checks the fold of journal entries with ids from 1: `c` is by the client, a number undoes from that id
    /// on, everything else is by another author.
    fn check(entries: &[&str], ids: &[i64], changed: Option<&str>) {
        let mut history = JournalFold::default();
        for (id, entry) in (1..).zip(entries) {
            let undoes = entry.parse().ok();
            let by = if *entry == "c" { EventAuthor::Client } else { EventAuthor::Other(other(entry)) };
            history.record_event(JournalEvent { id, key: "k".to_owned(), by, undoes, replaces: None });
        }
        let planned = history.into_planned();
        let expect = PlannedEntry { key: "k".to_owned(), ids: ids.to_vec(), other: changed.map(other) };
        assert_eq!(planned, if ids.is_empty() { vec![] } else { vec![expect] }, "{entries:?}");
    }

    #[test]
    fn only_later_foreign_changes_are_conflicts() {
        check(&[], &[], None);
        check(&["o"], &[], None);
        check(&["o", "c"], &[2], None);
        check(&["o", "c", "c"], &[2, 3], None);
        check(&["c", "o"], &[1], Some("o"));
        check(&["c", "first", "c", "second"], &[1, 3], Some("first"));
    }

    #[test]
    fn undone_changes_are_ignored() {
        check(&["c", "1"], &[], None);
        check(&["c", "1", "c"], &[3], None);
        check(&["c", "c", "2"], &[1], None);
        check(&["c", "c", "2", "1"], &[], None);
        check(&["c", "o", "2"], &[1], None);
        // The undone changes started before the span.
        check(&["c", "c", "0"], &[], None);
        check(&["c", "0", "o"], &[], None);
        check(&["c", "1", "c", "o"], &[3], Some("o"));
    }

    /// Checks journal entries for the keys `old` and `new`, which replaces `old`. Ids and notation as in
    /// `check`. `with` lists the removal that each replacement is linked to, `changed` the other author of
    /// `old`.
    fn check_replaced(entries: &[&str], with: &[Option<i64>], changed: Option<&str>) {
        let (mut history, mut seen) = (JournalFold::default(), Vec::new());
        for (id, entry) in (1..).zip(entries) {
            let (key, entry) = entry.split_once(' ').expect("a key");
            let (undoes, replaces) = (entry.parse().ok(), (key == "new").then(|| "old".to_owned()));
            let by = if entry == "c" { EventAuthor::Client } else { EventAuthor::Other(other(entry)) };
            let is_new = replaces.is_some() && undoes.is_none();
            let with = history.record_event(JournalEvent { id, key: key.to_owned(), by, undoes, replaces });
            if is_new {
                seen.push(with);
            }
        }
        assert_eq!(seen, with, "{entries:?}");
        let planned = history.into_planned().into_iter().find(|planned| planned.key == "old");
        assert_eq!(planned.and_then(|planned| planned.other), changed.map(other), "{entries:?}");
    }

    #[test]
    fn replacement_is_undone_with_its_original_or_conflicts() {
        check_replaced(&["old c", "new c"], &[Some(1)], None);
        check_replaced(&["old c", "new c", "new c"], &[Some(1), Some(1)], None);
        check_replaced(&["old c", "new web"], &[None], Some("web"));
        // Another author removed it, or the client did so before the span.
        check_replaced(&["old c", "old web", "new c"], &[None], Some("web"));
        check_replaced(&["new c"], &[None], None);
        check_replaced(&["new web"], &[None], None);
        // The replacement is undone, or only a later change of it; and the removed entry was restored.
        check_replaced(&["old c", "new web", "new 2"], &[None], None);
        check_replaced(&["old c", "new web", "new 3"], &[None], Some("web"));
        check_replaced(&["old c", "old 1", "new c"], &[None], None);
    }

    #[test]
    fn latest_change_is_undone_first() {
        let mut history = JournalFold::default();
        for (id, key) in [(1, "a"), (2, "b"), (3, "c"), (4, "a")] {
            history.record_event(JournalEvent {
                id,
                key: key.to_owned(),
                by: EventAuthor::Client,
                undoes: None,
                replaces: None,
            });
        }
        let keys: Vec<String> = history.into_planned().into_iter().map(|planned| planned.key).collect();
        assert_eq!(keys, ["a", "c", "b"]);
    }
}
