//! The report of an undo as JSON, for commands and the sandbox.

use serde_json::{Value, json};

use super::{UndoMode, UndoOutcome};
use crate::ids::ClientId;

/// The outcomes of an undo or of its preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoReport {
    /// The client that made the undone writes.
    pub client: ClientId,
    /// Whether the undo wrote anything.
    pub mode: UndoMode,
    /// The outcomes of all entries, sorted by member.
    pub outcomes: Vec<UndoOutcome>,
}

impl UndoReport {
    /// Returns the number of entries that were reverted, or would be.
    #[must_use]
    pub fn reverted_count(&self) -> usize {
        self.outcomes.len() - self.conflict_count()
    }

    /// Returns the number of entries that stay as they are.
    #[must_use]
    pub fn conflict_count(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.result.is_err()).count()
    }

    /// Serializes the report with counts and entries.
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
        Err(hindrance) => ("conflict", json!({ "code": hindrance.as_str(), "text": hindrance.to_string() })),
    };
    json!({ "member": member, "area": area.as_str(), "key": key, "name": name, "result": result, "reason": reason })
}
