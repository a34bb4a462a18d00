//! Runs an undo on the backend's store, each step in a transaction of its own.

use rusqlite::Connection;

use super::super::Backend;
use super::{
    StoreAccess, UndoArea, UndoAuthority, UndoError, UndoMode, UndoOutcome, UndoProcess, UndoSelection,
};
use crate::ids::MemberId;
use crate::shares::SharePermit;

impl Backend {
    /// Undoes a client's writes for the member, or previews it, at the member's own request. The changes have
    /// the channel `web`. Only one undo or preview runs per member.
    ///
    /// # Errors
    /// [`UndoError::InProgress`] if one is running. [`UndoError::Interrupted`] if the undo failed after
    /// committing pieces; with all other errors, nothing was written.
    pub async fn undo_writes(
        &self,
        writes: UndoSelection,
        areas: &[UndoArea],
        mode: UndoMode,
    ) -> Result<Vec<UndoOutcome>, UndoError> {
        let turn = self.active_undos.try_acquire(writes.member.clone(), 1).ok_or(UndoError::InProgress)?;
        self.step_through(UndoProcess::new(writes, UndoAuthority::Member, areas, mode), Some(turn)).await
    }

    /// Runs any undo, without the limit of one at a time.
    ///
    /// # Errors
    /// As [`undo_writes`](Self::undo_writes).
    pub async fn run_undo(&self, undo: UndoProcess) -> Result<Vec<UndoOutcome>, UndoError> {
        self.step_through(undo, None).await
    }

    async fn step_through(
        &self,
        mut undo: UndoProcess,
        mut turn: Option<SharePermit<MemberId>>,
    ) -> Result<Vec<UndoOutcome>, UndoError> {
        let mut has_written = false;
        while let Some(access) = undo.next_access() {
            let backend = self.clone();
            // The share moves into each step, so an abandoned undo blocks the member until the step has
            // ended.
            let step = move |connection: &Connection| {
                let Backend { catalogue, environment, fault_injector: interruption, .. } = &backend;
                undo.run_step(connection, catalogue, environment, interruption).map(|()| (undo, turn))
            };
            let stepped = match access {
                StoreAccess::Read => self.store.read(step).await,
                StoreAccess::Write => self.store.write(step).await,
            };
            (undo, turn) = stepped.map_err(|error: UndoError| match has_written {
                true => UndoError::Interrupted(Box::new(error)),
                false => error,
            })?;
            has_written |= access == StoreAccess::Write;
        }
        Ok(undo.into_outcomes())
    }
}
