//! Points in time with a resolution of milliseconds, and clocks.
//!
//! This is the only module that reads the system clock.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dpop_bound::UnixTime;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use serde::{Deserialize, Serialize};

/// A point in time, stored as milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(i64);

impl Moment {
    /// Creates a moment from milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Creates a moment from seconds since the Unix epoch.
    #[must_use]
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Returns the milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the whole seconds since the Unix epoch, rounded down, as in `iat` and `exp`.
    #[must_use]
    pub const fn as_secs(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Returns the number of the UTC day since the Unix epoch.
    #[must_use]
    pub const fn utc_day(self) -> i64 {
        self.0.div_euclid(86_400_000)
    }

    /// Returns the start of the next UTC day.
    #[must_use]
    pub const fn next_midnight(self) -> Self {
        Self((self.utc_day() + 1).saturating_mul(86_400_000))
    }

    /// Returns the duration since `earlier`, or zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Adds a duration, and saturates at the maximum.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Subtracts a duration, and saturates at the minimum.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Formats the moment as an HTTP date (RFC 9110, section 5.6.7), rounded down to the second.
    #[must_use]
    pub fn http_date(self) -> String {
        let bounded = self.0.clamp(0, Timestamp::MAX.as_millisecond());
        let timestamp = Timestamp::from_millisecond(bounded).unwrap_or(Timestamp::UNIX_EPOCH);
        DateTimePrinter::new()
            .timestamp_to_rfc9110_string(&timestamp)
            .unwrap_or_else(|_| "Thu, 01 Jan 1970 00:00:00 GMT".to_owned())
    }

    /// Converts the moment into the type of the DPoP library, which cannot represent times before the epoch.
    #[must_use]
    pub fn to_unix_time(self) -> UnixTime {
        UnixTime::from_millis(u64::try_from(self.0).unwrap_or(0))
    }
}

impl Moment {
    /// Formats the moment for display, such as `2026-11-22 13:19 UTC`.
    #[must_use]
    pub fn to_the_minute(self) -> String {
        let text = self.to_string();
        match text.get(..16) {
            Some(minute) => format!("{} UTC", minute.replace('T', " ")),
            None => text,
        }
    }
}

/// Formats the moment according to RFC 3339, in UTC, with a fraction only if it has milliseconds (CON-06).
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounded = self.0.clamp(Timestamp::MIN.as_millisecond(), Timestamp::MAX.as_millisecond());
        match Timestamp::from_millisecond(bounded) {
            Ok(timestamp) => timestamp.fmt(f),
            Err(_) => f.write_str("1970-01-01T00:00:00Z"),
        }
    }
}

/// The error for a string that is neither a day nor a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a day such as 2026-11-22, which begins at 00:00 UTC, or a moment such as 2026-11-22T13:00:00Z"
)]
pub struct MomentParseError;

/// Parses a UTC day, or a moment with a UTC offset (RFC 3339).
impl FromStr for Moment {
    type Err = MomentParseError;

    fn from_str(text: &str) -> Result<Self, MomentParseError> {
        let day = || format!("{text}T00:00:00Z").parse::<Timestamp>();
        let read = if text.len() == 10 { day() } else { text.parse() };
        read.map(|timestamp| Self(timestamp.as_millisecond())).map_err(|_| MomentParseError)
    }
}

/// Returns a duration in whole seconds, rounded up.
#[must_use]
pub fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0))
}

/// Returns the value of `Retry-After` for a delay: whole seconds, rounded up, at least 1 (ERR-09).
#[must_use]
pub fn retry_after(wait: Duration) -> u64 {
    whole_seconds(wait).max(1)
}

/// A measurement of elapsed time by the monotonic clock, which corrections of the system time do not affect.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts a measurement.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the time since the start.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// Returns the time since the start in whole microseconds, as in log lines.
    #[must_use]
    pub fn elapsed_micros(self) -> u64 {
        u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// A source of the current time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Returns the current time.
    fn now(&self) -> Moment;
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that is set by its owner. It stands still at a fixed time, or runs at an offset from another
/// clock. Clones share the offset.
#[derive(Clone, Debug)]
pub struct ManualClock {
    base: Arc<dyn Clock>,
    offset: Arc<AtomicI64>,
}

impl ManualClock {
    /// Creates a clock that stays at a moment until it is advanced.
    #[must_use]
    pub fn fixed_at(time: Moment) -> Self {
        Self { base: Arc::new(FixedClock(time)), offset: Arc::default() }
    }

    /// Creates a clock that runs at an adjustable offset from another clock.
    #[must_use]
    pub fn offset_from(base: Arc<dyn Clock>) -> Self {
        Self { base, offset: Arc::default() }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.offset.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }

    /// Sets the clock back, as when the system clock is corrected.
    pub fn step_back(&self, by: Duration) {
        self.offset.fetch_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Moment {
        Moment(self.base.now().0.saturating_add(self.offset.load(Ordering::SeqCst)))
    }
}

#[derive(Clone, Copy, Debug)]
struct FixedClock(Moment);

impl Clock for FixedClock {
    fn now(&self) -> Moment {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CON-06: moments are formatted in UTC with `Z`, without loss of precision.
    #[test]
    fn moments_are_written_in_utc() {
        assert_eq!(Moment::from_secs(1_790_000_000).to_string(), "2026-09-21T14:13:20Z");
        assert_eq!(Moment::from_millis(1_790_000_000_250).to_string(), "2026-09-21T14:13:20.25Z");
        assert_eq!(Moment::from_millis(-1).to_string(), "1969-12-31T23:59:59.999Z");
        assert_eq!(Moment::from_millis(1_790_000_000_250).to_the_minute(), "2026-09-21 14:13 UTC");
    }

    #[test]
    fn typed_moments_are_parsed() {
        let read = |text: &str| text.parse::<Moment>().map(|moment| moment.to_string());
        assert_eq!(read("2026-11-22").as_deref(), Ok("2026-11-22T00:00:00Z"));
        assert_eq!(read("2026-11-22T13:00:00+01:00").as_deref(), Ok("2026-11-22T12:00:00Z"));
        assert_eq!(read("2026-11-22T13:00:00.25Z").as_deref(), Ok("2026-11-22T13:00:00.25Z"));
        for none in ["", "yesterday", "2026-11-22T13:00", "2026-02-30", "22.11.2026", "1790000000"] {
            assert_eq!(read(none), Err(MomentParseError), "{none}");
        }
    }

    /// DPP-09: the `Date` header, from which clients compute the offset of their clocks, has the format of
    /// HTTP dates.
    #[test]
    fn http_dates_are_formatted() {
        assert_eq!(Moment::from_millis(1_790_000_000_999).http_date(), "Mon, 21 Sep 2026 14:13:20 GMT");
        assert_eq!(Moment::from_secs(-5).http_date(), "Thu, 01 Jan 1970 00:00:00 GMT");
    }

    /// LIM-19: a day of the write quota starts at 00:00 UTC.
    #[test]
    fn day_starts_at_midnight_utc() {
        let last = Moment::from_millis(86_399_999);
        assert_eq!((last.utc_day(), last.next_midnight().utc_day()), (0, 1));
        assert_eq!(last.next_midnight().since(last), Duration::from_millis(1));
        assert_eq!(Moment::from_millis(-1).utc_day(), -1);
    }

    /// ERR-09, GW-08: durations are rounded up to whole seconds.
    #[test]
    fn waits_are_rounded_up() {
        for (millis, whole, wait) in [(0, 0, 1), (1, 1, 1), (1000, 1, 1), (1001, 2, 2)] {
            let duration = Duration::from_millis(millis);
            assert_eq!((whole_seconds(duration), retry_after(duration)), (whole, wait));
        }
    }

    #[test]
    fn manual_clock_moves_only_when_advanced() {
        let clock = ManualClock::fixed_at(Moment::from_secs(10));
        let shared = clock.clone();
        clock.advance(Duration::from_secs(5));
        assert_eq!(shared.now(), Moment::from_secs(15));
        shared.step_back(Duration::from_secs(1));
        assert_eq!(clock.now(), Moment::from_secs(14));
    }
}
