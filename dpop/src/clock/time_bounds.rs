//! Bounds of a moment on a server's clock, as signed nanoseconds since the epoch.
//!
//! The longest [`Duration`] is less than 2⁹⁴ ns, and all bounds lie within those of some response. A few
//! additions and subtractions therefore cannot overflow an `i128`.

use std::time::Duration;

const SECOND: u128 = 1_000_000_000;

/// The earliest and the latest possible value of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeBounds {
    earliest: i128,
    latest: i128,
}

impl TimeBounds {
    /// Creates bounds with this start and this length.
    pub(super) fn from_start(earliest: Duration, length: Duration) -> Self {
        let earliest = to_nanos(earliest);
        Self { earliest, latest: earliest + to_nanos(length) }
    }

    pub(super) const fn midpoint(self) -> i128 {
        self.earliest + (self.latest - self.earliest) / 2
    }

    pub(super) const fn shifted_by(self, by: i128) -> Self {
        Self { earliest: self.earliest + by, latest: self.latest + by }
    }

    pub(super) const fn widened_by(self, by: i128) -> Self {
        Self { earliest: self.earliest - by, latest: self.latest + by }
    }

    /// Returns the smallest bounds that contain both.
    pub(super) fn hull(self, other: Self) -> Self {
        Self { earliest: self.earliest.min(other.earliest), latest: self.latest.max(other.latest) }
    }

    /// Returns the common part of both, if there is any.
    pub(super) fn intersection(self, other: Self) -> Option<Self> {
        let earliest = self.earliest.max(other.earliest);
        let latest = self.latest.min(other.latest);
        (earliest <= latest).then_some(Self { earliest, latest })
    }

    /// Returns the gap between the two; zero or negative if they overlap.
    pub(super) fn gap_to(self, other: Self) -> i128 {
        self.earliest.max(other.earliest) - self.latest.min(other.latest)
    }

    /// Returns the distance of a moment from the farther bound.
    pub(super) fn max_distance_from(self, moment: i128) -> i128 {
        (moment - self.earliest).max(self.latest - moment)
    }
}

/// Converts a duration to signed nanoseconds.
pub(super) const fn to_nanos(length: Duration) -> i128 {
    // Less than 2⁹⁴, so the sign bit stays clear.
    length.as_nanos() as i128
}

/// Converts nanoseconds to a duration. Negative values become zero, too large ones [`Duration::MAX`].
pub(super) fn to_duration(nanos: i128) -> Duration {
    let nanos = u128::try_from(nanos).unwrap_or(0);
    match u64::try_from(nanos / SECOND) {
        Ok(seconds) => Duration::new(seconds, (nanos % SECOND) as u32),
        Err(_) => Duration::MAX,
    }
}
