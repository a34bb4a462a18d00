//! The mass-change guard: detects batches that remove too many entries (WRT-10, LIM-21).

use std::time::Duration;

use rusqlite::{Connection, params};

use crate::config::GuardConfig;
use crate::ids::{ClientId, MemberId};
use crate::store::{StoreError, query_count};
use crate::time::Moment;

/// The counts from which the guard decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemovalCounts {
    /// The number of removals in the batch.
    pub batch: u64,
    /// The number of removals in the client's earlier batches within the window.
    pub window: u64,
    /// The number of entries in the area before the batch.
    pub entries: u64,
}

impl GuardConfig {
    /// Returns true if the member has to confirm the batch. By default, this is the case if the batch and the
    /// window together have more than 25 removals. It is also the case if they have at least 5 removals and
    /// these exceed a fifth of the entries at the start of the window.
    #[must_use]
    pub fn holds_batch(&self, removals: RemovalCounts) -> bool {
        let RemovalCounts { batch, window, entries } = removals;
        let total = window.saturating_add(batch);
        let entry_count = entries.saturating_add(window);
        let share = u64::from(self.share);
        batch > 0
            && (total > u64::from(self.removals)
                || (total >= u64::from(self.removals_of_share) && total.saturating_mul(share) > entry_count))
    }

    /// Returns the length of the window, the period in which removals are counted.
    #[must_use]
    pub const fn window(&self) -> Duration {
        Duration::from_secs(self.window_seconds)
    }
}

/// Counts the removals that all installations of a client made in an area of a member since a moment.
pub(super) fn count_removals(
    connection: &Connection,
    member: &MemberId,
    area: &str,
    client: &ClientId,
    since: Moment,
) -> Result<u64, StoreError> {
    let sql = "SELECT coalesce(sum(removals), 0) FROM journal_set INDEXED BY journal_set_of_guard \
               WHERE member = ?1 AND area = ?2 AND client = ?3 AND at > ?4 AND removals > 0";
    query_count(connection, sql, params![member, area, client, since.as_millis()])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LIM-21: a batch of 25 removals passes, and one of 26 is held. Five removals pass if they are exactly a
    /// fifth of the entries, and are held if they are more.
    #[test]
    fn guard_holds_above_its_bounds() {
        for (batch, window, entries, holds) in [
            (25, 0, 1000, false),
            (26, 0, 1000, true),
            (1, 25, 1000, true),
            (1, 24, 1000, false),
            (5, 0, 25, false),
            (5, 0, 24, true),
            (4, 0, 4, false),
            (1, 4, 21, false),
            (1, 4, 20, true),
            // A batch without removals passes, however many earlier removals there are.
            (0, 100, 0, false),
            (u64::MAX, u64::MAX, u64::MAX, true),
        ] {
            let removals = RemovalCounts { batch, window, entries };
            assert_eq!(GuardConfig::default().holds_batch(removals), holds, "{removals:?}");
        }
    }
}
