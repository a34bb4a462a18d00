//! Runs an undo on the backend's store, with one transaction per step.

use rusqlite::Connection;

use super::super::Backend;
use super::{
    StoreAccess, UndoArea, UndoAuthority, UndoError, UndoMode, UndoOutcome, UndoProcess, UndoSelection,
};
use crate::ids::MemberId;
use crate::shares::SharePermit;

impl Backend {
    /// Undoes or previews a client's writes at the member's request. The changes have the channel `web`. Only
    /// one undo or preview can run per member.
    ///
    /// # Errors
    /// Returns [`UndoError::InProgress`] if another undo or preview is running, and
    /// [`UndoError::Interrupted`] if the undo failed after some pieces were committed. With any other error,
    /// nothing was written.
    pub async fn undo_writes(
        &self,
        writes: UndoSelection,
        areas: &[UndoArea],
        mode: UndoMode,
    ) -> Result<Vec<UndoOutcome>, UndoError> {
        let turn = self.active_undos.try_acquire(writes.member.clone(), 1).ok_or(UndoError::InProgress)?;
        self.step_through(UndoProcess::new(writes, UndoAuthority::Member, areas, mode), Some(turn)).await
    }

    /// Runs any undo, even if others are running for the same member.
    ///
    /// # Errors
    /// Returns the same errors as [`undo_writes`](Self::undo_writes), except `InProgress`.
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
            // The permit moves into each step. If the caller drops the future, other undos of the member are
            // blocked until the current step has ended.
            let step = move |connection: &Connection| {
                let Backend { catalogue, environment, fault_injector, .. } = &backend;
                undo.run_step(connection, catalogue, environment, fault_injector).map(|()| (undo, turn))
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
