//! The status of a synchronization, which a program can display.

use std::collections::BTreeMap;

use dpop_bound::UnixTime;

use crate::{
    error::Error,
    feed::{Area, FeedPhase},
};

/// The status of each area that was read since the program started.
#[derive(Clone, Debug, Default)]
pub struct SyncStatus {
    areas: BTreeMap<Area, AreaStatus>,
}

/// The status of an area.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AreaStatus {
    /// The current activity.
    pub activity: AreaActivity,
    /// The error of the last round, if any. This includes the error of a feed that is in a loop.
    pub error: Option<Error>,
    /// The time when the area was last read to its end since the program started.
    /// [`Replica::freshness`](crate::Replica::freshness) includes earlier times.
    pub read_at: Option<UnixTime>,
}

/// The activity of an area.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AreaActivity {
    /// The area was not read yet, or its last read was abandoned.
    #[default]
    NotStarted,
    /// The feed is being read.
    Reading {
        /// The part of the feed that is being read; known after the first page.
        phase: Option<FeedPhase>,
        /// The number of entries read so far.
        entries: u64,
    },
    /// The area was read to its end.
    Waiting {
        /// The time of the next read; `None` if no read is scheduled.
        until: Option<UnixTime>,
    },
    /// The last read failed and will be retried.
    BackingOff {
        /// The time of the next attempt.
        until: UnixTime,
    },
    /// The last read failed and is not retried before the member acts; see [`AreaStatus::error`].
    Stopped,
}

impl SyncStatus {
    /// Returns the status of an area.
    #[must_use]
    pub fn area(&self, area: Area) -> AreaStatus {
        self.areas.get(&area).cloned().unwrap_or_default()
    }

    /// Returns true if an area is being read.
    #[must_use]
    pub fn is_reading(&self) -> bool {
        self.areas.values().any(|area| matches!(area.activity, AreaActivity::Reading { .. }))
    }

    pub(super) fn area_mut(&mut self, area: Area) -> &mut AreaStatus {
        self.areas.entry(area).or_default()
    }
}
