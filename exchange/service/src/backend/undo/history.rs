//! Combines the journal of a member's area into the entries that remain to be undone, with pure functions
//! over the journal's entries in order.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::feed::ChangeAuthor;

/// The fields of a journal entry from which the entries to undo are determined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JournalEvent {
    pub(super) id: i64,
    pub(super) key: String,
    pub(super) by: EventAuthor,
    /// The first journal entry that this one undoes. All later entries with the same key are also undone.
    pub(super) undoes: Option<i64>,
    /// The key of the removed entry that the new entry replaces.
    pub(super) replaces: Option<String>,
}

/// The author of a journal entry, relative to the selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EventAuthor {
    /// The selected client, within the time span.
    Client,
    /// Another author, or the selected client outside the time span.
    Other(ChangeAuthor),
}

/// An entry of the area to revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedEntry {
    pub(super) key: String,
    /// The journal ids of the client's changes, in order; never empty.
    pub(super) ids: Vec<i64>,
    /// The first other author who changed the entry after the client's first change.
    pub(super) other: Option<ChangeAuthor>,
}

#[derive(Debug, Default)]
pub(super) struct JournalFold {
    /// The changes by key, starting with the client's first one.
    entries: HashMap<String, Vec<(i64, EventAuthor)>>,
    /// Replacements that other authors made. The key is that of the new entry; the value is the journal id of
    /// the replacement and the key of the entry that it replaced.
    replacing: HashMap<String, (i64, String)>,
}

impl JournalFold {
    /// Adds the next journal entry. If the client created an entry in place of one that it had removed,
    /// returns the journal id of the removal. The two changes must be undone together.
    pub(super) fn record_event(&mut self, seen: JournalEvent) -> Option<i64> {
        let JournalEvent { id, key, by, undoes, replaces } = seen;
        if let Some(first) = undoes {
            // The undo cancels all changes of the key, starting with `first`.
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

    /// Returns the entries that remain to be undone, sorted by the client's last change, newest first.
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

    /// Returns an author other than the selected client.
    fn other(name: &str) -> ChangeAuthor {
        ChangeAuthor::Client { client: name.into(), installation: "i".into() }
    }

    /// Checks the result for journal entries with ids from 1. `c` is a change by the client, a number is an
    /// undo of that id and all later ones, and any other string is a change by another author.
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
        // The changes that were undone include some from before the time span.
        check(&["c", "c", "0"], &[], None);
        check(&["c", "0", "o"], &[], None);
        check(&["c", "1", "c", "o"], &[3], Some("o"));
    }

    /// Checks journal entries for the keys `old` and `new`, where `new` replaces `old`. The ids and the
    /// notation are those of `check`. `with` contains the id of the removal to which each replacement is
    /// linked, and `changed` the other author who changed `old`.
    fn check_replaced(entries: &[&str], with: &[Option<i64>], changed: Option<&str>) {
        let (mut history, mut seen) = (JournalFold::default(), Vec::new());
        for (id, entry) in (1..).zip(entries) {
            let (key, entry) = entry.split_once(' ').expect("the entry has a key");
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
        // Another author removed the entry, or the client removed it before the time span.
        check_replaced(&["old c", "old web", "new c"], &[None], Some("web"));
        check_replaced(&["new c"], &[None], None);
        check_replaced(&["new web"], &[None], None);
        // The replacement was undone; only a later change of it was undone; the removed entry was restored.
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
