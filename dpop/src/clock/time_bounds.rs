//! Lower and upper bounds of a server's clock, as signed nanoseconds since the epoch.
//!
//! Every bound is computed from the measurements of responses, with a few additions and subtractions of
//! [`Duration`]s. The longest `Duration` is less than 2⁹⁴ ns, so an `i128` cannot overflow.

use std::time::Duration;

const SECOND: u128 = 1_000_000_000;

/// The earliest and the latest possible time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeBounds {
    earliest: i128,
    latest: i128,
}

impl TimeBounds {
    /// Creates bounds from their lower bound and their width.
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

    /// Returns the narrowest bounds that contain both pairs of bounds.
    pub(super) fn hull(self, other: Self) -> Self {
        Self { earliest: self.earliest.min(other.earliest), latest: self.latest.max(other.latest) }
    }

    /// Returns the intersection, or `None` if the bounds do not overlap.
    pub(super) fn intersection(self, other: Self) -> Option<Self> {
        let earliest = self.earliest.max(other.earliest);
        let latest = self.latest.min(other.latest);
        (earliest <= latest).then_some(Self { earliest, latest })
    }

    /// Returns the gap between the two pairs of bounds; zero or negative if they overlap.
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
