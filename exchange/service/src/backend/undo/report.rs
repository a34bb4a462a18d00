//! What came of an undo, as commands and the sandbox write it for machines.

use serde_json::{Value, json};

use super::{Mode, Outcome};
use crate::ids::ClientId;

/// What became of what a client wrote, or would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Whose writes they were.
    pub client: ClientId,
    /// Whether anything was changed.
    pub mode: Mode,
    /// What became of each entry.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// How many entries were set back, or would be.
    #[must_use]
    pub fn undone(&self) -> usize {
        self.outcomes.len() - self.conflicts()
    }

    /// How many stay as they are.
    #[must_use]
    pub fn conflicts(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.end.is_err()).count()
    }

    /// All of it as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "done": "undo", "client": self.client, "dryRun": self.mode == Mode::Preview,
            "undone": self.undone(), "conflicts": self.conflicts(),
            "entries": self.outcomes.iter().map(entry).collect::<Vec<_>>(),
        })
    }
}

fn entry(Outcome { member, area, key, name, end }: &Outcome) -> Value {
    let (result, reason) = match end {
        Ok(became) => (became.as_str(), Value::Null),
        Err(hindrance) => ("conflict", json!({ "code": hindrance.as_str(), "text": hindrance.to_string() })),
    };
    json!({ "member": member, "area": area.as_str(), "key": key, "name": name, "result": result, "reason": reason })
}
