//! What is going on, to be shown.

use std::collections::BTreeMap;

use dpop_bound::UnixTime;

use crate::{
    error::Error,
    feed::{Area, Phase},
};

/// What is going on in every area that was due since the program started.
#[derive(Clone, Debug, Default)]
pub struct SyncStatus {
    areas: BTreeMap<Area, AreaStatus>,
}

/// What is going on in an area.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AreaStatus {
    /// What is done.
    pub doing: Doing,
    /// The trouble of the last round, if it had any. A feed that turns in circles shows here too.
    pub error: Option<Error>,
    /// When it was last read to its end, since the program started; [`Replica::freshness`](crate::Replica::freshness)
    /// knows of earlier times.
    pub read_at: Option<UnixTime>,
}

/// What is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doing {
    /// Nothing yet.
    #[default]
    Nothing,
    /// Its feed is read.
    Reading {
        /// A snapshot or the feed, once a page is there.
        phase: Option<Phase>,
        /// How many entries came so far.
        entries: u64,
    },
    /// It was read to its end.
    Waiting {
        /// When it is read again.
        until: Option<UnixTime>,
    },
    /// It could not be read, and is tried again.
    BackingOff {
        /// When.
        until: UnixTime,
    },
    /// It could not be read, and is not before the member does something: [`AreaStatus::error`] says what.
    Stopped,
}

impl SyncStatus {
    /// What is going on in an area.
    #[must_use]
    pub fn of(&self, area: Area) -> AreaStatus {
        self.areas.get(&area).cloned().unwrap_or_default()
    }

    /// Whether some area is being read.
    #[must_use]
    pub fn is_reading(&self) -> bool {
        self.areas.values().any(|area| matches!(area.doing, Doing::Reading { .. }))
    }

    pub(super) fn of_mut(&mut self, area: Area) -> &mut AreaStatus {
        self.areas.entry(area).or_default()
    }
}
