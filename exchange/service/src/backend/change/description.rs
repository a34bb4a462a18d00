//! The effects of a change set as text, for the page on which the member confirms a held batch.

use serde::{Deserialize, Serialize};

/// All changes of a batch, and the ops that are not applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchDescription {
    /// The changed entries, removals first.
    pub changes: Vec<EntryChange>,
    /// The ops that are not applied, in the order of the batch.
    pub refused: Vec<RefusedOp>,
}

impl BatchDescription {
    /// Returns the number of entries that are removed.
    #[must_use]
    pub fn removed_count(&self) -> usize {
        self.changes.iter().filter(|change| change.removed).count()
    }

    /// Returns the number of entries that are added or changed.
    #[must_use]
    pub fn written_count(&self) -> usize {
        self.changes.len() - self.removed_count()
    }
}

/// The change of one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryChange {
    /// The display name of the entry.
    pub name: String,
    /// The name of the place where the entry is.
    pub place: Option<String>,
    /// The amount or the details before the change.
    pub before: Option<String>,
    /// The amount or the details after the change.
    pub after: Option<String>,
    /// Whether the entry is removed, in whole or in part.
    pub removed: bool,
}

impl EntryChange {
    /// Creates a description that contains only a name.
    #[must_use]
    pub fn named(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

/// An op that is not applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedOp {
    /// The display name of the entry to which the op refers.
    pub name: String,
    /// The reason, as in the contract, such as `STOCK_EARMARKED`.
    pub reason: String,
}
