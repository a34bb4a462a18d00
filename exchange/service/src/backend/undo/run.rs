//! An undo as the backend runs it: one step after the other, each of them a read or a write of its own.

use rusqlite::Connection;

use super::super::Backend;
use super::{Access, Mode, Outcome, Undo, UndoArea, UndoError, Word, Writes};
use crate::ids::MemberId;
use crate::shares::Share;

impl Backend {
    /// Undoes what a client wrote for the member within a span, on the member's own word, as changes on the web; or
    /// says what that would do. One at a time for a member.
    ///
    /// # Errors
    /// [`UndoError::CutOff`] when pieces of it are done; each other one with nothing done.
    pub async fn undo(
        &self,
        writes: Writes,
        areas: &[UndoArea],
        mode: Mode,
    ) -> Result<Vec<Outcome>, UndoError> {
        let turn = self.undoing.take(writes.member.clone(), 1).ok_or(UndoError::UnderWay)?;
        self.step_through(Undo::new(writes, Word::Member, areas, mode), Some(turn)).await
    }

    /// The same on anybody's word, whatever else is under way.
    ///
    /// # Errors
    /// As [`undo`](Self::undo).
    pub async fn undo_for(&self, undo: Undo) -> Result<Vec<Outcome>, UndoError> {
        self.step_through(undo, None).await
    }

    async fn step_through(
        &self,
        mut undo: Undo,
        mut turn: Option<Share<MemberId>>,
    ) -> Result<Vec<Outcome>, UndoError> {
        let mut has_written = false;
        while let Some(access) = undo.next_access() {
            let backend = self.clone();
            // The turn goes with each step: one that nobody waits for any more is under way until it ends.
            let step = move |connection: &Connection| {
                let Backend { catalogue, environment, interruption, .. } = &backend;
                undo.step(connection, catalogue, environment, interruption).map(|()| (undo, turn))
            };
            let stepped = match access {
                Access::Read => self.store.read(step).await,
                Access::Write => self.store.write(step).await,
            };
            (undo, turn) = stepped.map_err(|error: UndoError| match has_written {
                true => UndoError::CutOff(Box::new(error)),
                false => error,
            })?;
            has_written |= access == Access::Write;
        }
        Ok(undo.into_outcomes())
    }
}
