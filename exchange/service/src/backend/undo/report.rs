//! The JSON report of an undo, for the commands and the sandbox.

use serde_json::{Value, json};

use super::{UndoMode, UndoOutcome};
use crate::ids::ClientId;

/// The outcomes of an undo or of its preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoReport {
    /// The client whose writes were undone.
    pub client: ClientId,
    /// Whether the undo wrote its results or was a preview.
    pub mode: UndoMode,
    /// The outcomes of all entries, sorted by member.
    pub outcomes: Vec<UndoOutcome>,
}

impl UndoReport {
    /// Returns the number of entries that were reverted or, in a preview, would be reverted.
    #[must_use]
    pub fn reverted_count(&self) -> usize {
        self.outcomes.len() - self.conflict_count()
    }

    /// Returns the number of entries that are not reverted because of a conflict.
    #[must_use]
    pub fn conflict_count(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.result.is_err()).count()
    }

    /// Converts the report into JSON with counts and entries.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "done": "undo", "client": self.client, "dryRun": self.mode == UndoMode::Preview,
            "undone": self.reverted_count(), "conflicts": self.conflict_count(),
            "entries": self.outcomes.iter().map(entry_json).collect::<Vec<_>>(),
        })
    }
}

fn entry_json(UndoOutcome { member, area, key, name, result: end }: &UndoOutcome) -> Value {
    let (result, reason) = match end {
        Ok(became) => (became.as_str(), Value::Null),
        Err(conflict) => ("conflict", json!({ "code": conflict.as_str(), "text": conflict.to_string() })),
    };
    json!({ "member": member, "area": area.as_str(), "key": key, "name": name, "result": result, "reason": reason })
}
