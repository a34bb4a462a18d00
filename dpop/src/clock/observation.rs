//! What one answer tells of its server's clock: its `Date` (RFC 9110, 6.6.1 and 5.6.7) between two local readings.

use std::time::Duration;

use super::{Interval, Reading};
use crate::UnixTime;

/// An answer's `Date`, and the local clocks before the request was sent and after the answer came.
///
/// Leave out answers with an `Age` header: a cache gave them, and their `Date` is old
/// (RFC 9111, 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    date: UnixTime,
    sent: Reading,
    received: Reading,
}

/// Why an answer tells nothing of its server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableDate {
    /// The header is none of the three forms of a date (RFC 9110, 5.6.7), or is before 1970.
    #[error("the Date header is no date")]
    Malformed,
    /// On the monotonic clock the answer came before the request was sent: the readings were
    /// mixed up.
    #[error("the answer was received before its request was sent")]
    Backwards,
    /// The answer took longer than [`Observation::LONGEST`] on either clock.
    #[error("the answer took too long to tell the time")]
    TooSlow,
}

impl Observation {
    /// The longest way there and back of an answer that tells anything: its bounds are as far
    /// apart, and no window is longer than this.
    pub const LONGEST: Duration = Duration::from_secs(60);

    /// An answer with this `Date`, cut to whole seconds.
    ///
    /// # Errors
    /// When the readings cannot be those of one request, or lie too far apart.
    pub fn new(date: UnixTime, sent: Reading, received: Reading) -> Result<Self, UnusableDate> {
        let date = UnixTime::from_secs(date.as_secs());
        let observation = Self { date, sent, received };
        if received.monotonic < sent.monotonic {
            Err(UnusableDate::Backwards)
        } else if observation.round_trip() > Self::LONGEST {
            Err(UnusableDate::TooSlow)
        } else {
            Ok(observation)
        }
    }

    /// An answer with this `Date` header.
    ///
    /// # Errors
    /// As [`new`](Self::new), and when the header is no date.
    pub fn from_header(header: &[u8], sent: Reading, received: Reading) -> Result<Self, UnusableDate> {
        Self::new(parse_date(header).ok_or(UnusableDate::Malformed)?, sent, received)
    }

    /// The server's `Date`.
    #[must_use]
    pub const fn date(&self) -> UnixTime {
        self.date
    }

    /// The local clocks before the request was sent.
    #[must_use]
    pub const fn sent(&self) -> Reading {
        self.sent
    }

    /// The local clocks after the answer came.
    #[must_use]
    pub const fn received(&self) -> Reading {
        self.received
    }

    /// From sending to receipt, on the clock that went farther: the monotonic one stands still
    /// while the machine sleeps, the wall clock may be stepped back.
    #[must_use]
    pub fn round_trip(&self) -> Duration {
        let by_wall = self.received.wall.saturating_since(self.sent.wall);
        self.received.monotonic.saturating_sub(self.sent.monotonic).max(by_wall)
    }

    /// What the server's clock showed at receipt: `Date` was written at some moment of the round
    /// trip, and leaves out up to a second.
    pub(super) fn server(&self) -> Interval {
        Interval::starting(self.date.since_epoch(), Duration::from_secs(1) + self.round_trip())
    }
}

/// The time in a `Date` header, in any of the three forms (RFC 9110, 5.6.7); `None` when it is
/// none of them, or before 1970.
#[must_use]
pub fn parse_date(header: &[u8]) -> Option<UnixTime> {
    let text = std::str::from_utf8(header).ok()?;
    httpdate::parse_http_date(text.trim_matches([' ', '\t'])).ok().map(UnixTime::from)
}
