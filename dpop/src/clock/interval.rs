//! Bounds of a moment on a server's clock, in nanoseconds since the epoch and signed.
//!
//! The longest [`Duration`] is less than 2⁹⁴ ns, and the bounds that are kept lie within those of
//! some answer: a few sums and differences stay far from the ends of an `i128`.

use std::time::Duration;

const SECOND: u128 = 1_000_000_000;

/// What a moment is at the least and at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    earliest: i128,
    latest: i128,
}

impl Interval {
    /// From a time on, for so long.
    pub(super) fn starting(earliest: Duration, length: Duration) -> Self {
        let earliest = nanos(earliest);
        Self { earliest, latest: earliest + nanos(length) }
    }

    pub(super) const fn centre(self) -> i128 {
        self.earliest + (self.latest - self.earliest) / 2
    }

    pub(super) const fn shifted(self, by: i128) -> Self {
        Self { earliest: self.earliest + by, latest: self.latest + by }
    }

    pub(super) const fn widened(self, by: i128) -> Self {
        Self { earliest: self.earliest - by, latest: self.latest + by }
    }

    /// The shortest that holds both.
    pub(super) fn hull(self, other: Self) -> Self {
        Self { earliest: self.earliest.min(other.earliest), latest: self.latest.max(other.latest) }
    }

    /// What both hold.
    pub(super) fn intersection(self, other: Self) -> Option<Self> {
        let earliest = self.earliest.max(other.earliest);
        let latest = self.latest.min(other.latest);
        (earliest <= latest).then_some(Self { earliest, latest })
    }

    /// How much lies between the two; nothing, or less, when they meet.
    pub(super) fn gap_to(self, other: Self) -> i128 {
        self.earliest.max(other.earliest) - self.latest.min(other.latest)
    }

    /// How far the farther end is from a moment.
    pub(super) fn reach_from(self, moment: i128) -> i128 {
        (moment - self.earliest).max(self.latest - moment)
    }
}

/// A length of time, to be signed.
pub(super) const fn nanos(length: Duration) -> i128 {
    // Less than 2⁹⁴, so the sign bit stays clear.
    length.as_nanos() as i128
}

/// A length of time; nothing when it is negative, the longest there is when it is longer.
pub(super) fn duration(nanos: i128) -> Duration {
    let nanos = u128::try_from(nanos).unwrap_or(0);
    match u64::try_from(nanos / SECOND) {
        Ok(seconds) => Duration::new(seconds, (nanos % SECOND) as u32),
        Err(_) => Duration::MAX,
    }
}
