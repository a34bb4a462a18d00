//! Points in time and the window in which a proof counts, as plain data: nothing here reads a clock.

use std::{
    fmt,
    ops::Add,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// A point in time on some clock that counts from the Unix epoch, to the nanosecond.
///
/// Times before 1970 do not exist. What a clock says comes from the caller, who reads it once
/// where it reads all its clocks: `UnixTime::from(SystemTime::now())`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixTime(Duration);

impl UnixTime {
    /// A whole number of seconds since the epoch, as `iat` has it.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(Duration::from_secs(secs))
    }

    /// A whole number of milliseconds since the epoch.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// What has passed since the epoch.
    #[must_use]
    pub const fn since_epoch(self) -> Duration {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0.as_secs()
    }

    /// How long after `earlier` this is; zero when it is before.
    #[must_use]
    pub fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// This much later; the last representable moment when that is beyond it.
    #[must_use]
    pub fn saturating_add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by))
    }

    /// This much earlier; the epoch when that is before it.
    #[must_use]
    pub fn saturating_sub(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(by))
    }
}

/// A time before 1970 becomes the epoch.
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

/// Seconds since the epoch.
impl fmt::Display for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_secs_f64().fmt(f)
    }
}

/// How far `iat` may be from the verifier's own time, both bounds included.
///
/// RFC 9449, 4.3 (11) and 11.1 leave the window to the server: seconds, or a few minutes. A server has one for
/// all its proofs, and it belongs to the store of those that were accepted
/// ([`ReplayStore::window`](crate::ReplayStore::window)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// How old a proof may be.
    pub past: Duration,
    /// How far ahead of the verifier's clock it may be.
    pub future: Duration,
}

/// Where an `iat` lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// Too far in the past.
    Old,
    /// In the window.
    Within,
    /// Too far in the future.
    Early,
}

impl Window {
    /// A window of whole seconds.
    #[must_use]
    pub const fn seconds(past: u64, future: u64) -> Self {
        Self { past: Duration::from_secs(past), future: Duration::from_secs(future) }
    }

    /// Where an `iat` lies. Both bounds count; the verifier's fraction of a second does, too.
    pub(crate) fn timing(self, iat: u64, now: UnixTime) -> Timing {
        let iat = UnixTime::from_secs(iat);
        if now.saturating_since(iat) > self.past {
            Timing::Old
        } else if iat.saturating_since(now) > self.future {
            Timing::Early
        } else {
            Timing::Within
        }
    }

    /// From `now` to the first moment after the end of a proof: the end itself still counts, and time is in
    /// nanoseconds.
    pub(crate) fn wait(self, iat: u64, now: UnixTime) -> Duration {
        let end = UnixTime::from_secs(iat) + self.past;
        end.saturating_since(now).saturating_add(Duration::from_nanos(1))
    }
}

/// 30 s either side: room for a clock that is a little off and a slow way, and little to remember.
impl Default for Window {
    fn default() -> Self {
        Self::seconds(30, 30)
    }
}
