//! Points in time and the validity window of proofs, as plain data. This module reads no clock.

use std::{
    fmt,
    ops::Add,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// A point in time since the Unix epoch, with nanosecond resolution.
///
/// Times before 1970 cannot be represented. The caller reads the clock, for example with
/// `UnixTime::from(SystemTime::now())`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixTime(Duration);

impl UnixTime {
    /// Creates a time from whole seconds since the epoch, the unit of `iat`.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(Duration::from_secs(secs))
    }

    /// Creates a time from whole milliseconds since the epoch.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// Returns the duration since the epoch.
    #[must_use]
    pub const fn since_epoch(self) -> Duration {
        self.0
    }

    /// Returns the whole seconds since the epoch, rounded down.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0.as_secs()
    }

    /// Returns the duration since `earlier`, or zero if `earlier` is later than this time.
    #[must_use]
    pub fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// Adds a duration. Saturates at the latest representable time.
    #[must_use]
    pub fn saturating_add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by))
    }

    /// Subtracts a duration. Saturates at the epoch.
    #[must_use]
    pub fn saturating_sub(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(by))
    }
}

/// Converts a time; one before 1970 becomes the epoch.
impl From<SystemTime> for UnixTime {
    fn from(time: SystemTime) -> Self {
        Self(time.duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

impl Add<Duration> for UnixTime {
    type Output = Self;

    fn add(self, by: Duration) -> Self {
        self.saturating_add(by)
    }
}

/// Formats the time as seconds since the epoch.
impl fmt::Display for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_secs_f64().fmt(f)
    }
}

/// The maximum distance of `iat` from the verifier's time, both bounds included.
///
/// RFC 9449, 4.3 (11) and 11.1 leave the size to the server: seconds, or a few minutes. A server uses the
/// same window for all proofs: the window of its replay store
/// ([`ReplayStore::window`](crate::ReplayStore::window)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProofWindow {
    /// The maximum age of a proof.
    pub past: Duration,
    /// The maximum time by which `iat` may be ahead of the verifier's clock.
    pub future: Duration,
}

/// The position of an `iat` relative to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IatTiming {
    /// Before the window.
    TooOld,
    /// In the window, including its bounds.
    Within,
    /// After the window.
    TooEarly,
}

impl ProofWindow {
    /// Creates a window of whole seconds.
    #[must_use]
    pub const fn from_secs(past: u64, future: u64) -> Self {
        Self { past: Duration::from_secs(past), future: Duration::from_secs(future) }
    }

    /// Classifies an `iat`. Both bounds are included, and fractions of a second of `now` count.
    pub(crate) fn classify_iat(self, iat: u64, now: UnixTime) -> IatTiming {
        let iat = UnixTime::from_secs(iat);
        if now.saturating_since(iat) > self.past {
            IatTiming::TooOld
        } else if iat.saturating_since(now) > self.future {
            IatTiming::TooEarly
        } else {
            IatTiming::Within
        }
    }

    /// Returns the duration from `now` until a proof with this `iat` has expired: its last valid moment plus
    /// one nanosecond.
    pub(crate) fn wait_until_expired(self, iat: u64, now: UnixTime) -> Duration {
        let end = UnixTime::from_secs(iat) + self.past;
        end.saturating_since(now).saturating_add(Duration::from_nanos(1))
    }
}

/// 30 s on either side: enough for a slightly wrong clock and a slow network, and a short time to remember
/// proofs.
impl Default for ProofWindow {
    fn default() -> Self {
        Self::from_secs(30, 30)
    }
}
