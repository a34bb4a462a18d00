//! The mass-change guard: when a batch removes too much to be believed (WRT-10, LIM-21).

use std::time::Duration;

use rusqlite::{Connection, params};

use crate::config::Guard;
use crate::ids::{ClientId, MemberId};
use crate::store::{StoreError, count};
use crate::time::Moment;

/// What the guard goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removals {
    /// Of the batch.
    pub batch: u64,
    /// Of the client's batches in the window.
    pub window: u64,
    /// Entries that are there before the batch.
    pub entries: u64,
}

impl Guard {
    /// Whether a batch has to be confirmed by the member: with it there are more than 25 removals in
    /// the window, or at least 5 that are more than a fifth of what was there when it began.
    #[must_use]
    pub fn holds(&self, removals: Removals) -> bool {
        let Removals { batch, window, entries } = removals;
        let all = window.saturating_add(batch);
        let there = entries.saturating_add(window);
        let share = u64::from(self.share);
        batch > 0
            && (all > u64::from(self.removals)
                || (all >= u64::from(self.removals_of_share) && all.saturating_mul(share) > there))
    }

    /// How long removals count.
    #[must_use]
    pub const fn window(&self) -> Duration {
        Duration::from_secs(self.window_seconds)
    }
}

/// How much the client removed of a member's area in the window, by all of its installations.
pub(super) fn removed(
    connection: &Connection,
    member: &MemberId,
    area: &str,
    client: &ClientId,
    since: Moment,
) -> Result<u64, StoreError> {
    let sql = "SELECT coalesce(sum(removals), 0) FROM journal_set INDEXED BY journal_set_of_guard \
               WHERE member = ?1 AND area = ?2 AND client = ?3 AND at > ?4 AND removals > 0";
    count(connection, sql, params![member, area, client, since.millis()])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LIM-21: 25 removals pass and 26 do not; 5 pass when they are a fifth, and not when they are more.
    #[test]
    fn the_guard_holds_from_its_bounds_on() {
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
            // Nothing is removed: whatever was removed before is no reason.
            (0, 100, 0, false),
            (u64::MAX, u64::MAX, u64::MAX, true),
        ] {
            let removals = Removals { batch, window, entries };
            assert_eq!(Guard::default().holds(removals), holds, "{removals:?}");
        }
    }
}
