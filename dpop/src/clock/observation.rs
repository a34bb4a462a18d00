//! The measurement of a server's clock: the `Date` of a response (RFC 9110, 6.6.1 and 5.6.7) and two readings
//! of the local clocks.

use std::time::Duration;

use super::{ClockReading, TimeBounds};
use crate::UnixTime;

/// The `Date` of a response, with the local clocks before the request was sent and after the response
/// arrived.
///
/// Do not observe responses with an `Age` header: they come from a cache, and their `Date` is old (RFC 9111,
/// 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockObservation {
    date: UnixTime,
    sent: ClockReading,
    received: ClockReading,
}

/// The reason why a response cannot be used to measure the server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObservationError {
    /// The header is in none of the three date formats (RFC 9110, 5.6.7), or the date is before 1970.
    #[error("cannot measure the server's time: the Date header is not a valid date since 1970")]
    Malformed,
    /// On the monotonic clock, the response arrived before the request was sent: the readings were swapped.
    #[error(
        "cannot measure the server's time: the reading of the response is earlier than that of the request"
    )]
    Backwards,
    /// The round trip took longer than [`ClockObservation::MAX_ROUND_TRIP`] on either clock.
    #[error("cannot measure the server's time: the response took more than 60 s; use another response")]
    TooSlow,
}

impl ClockObservation {
    /// The maximum round trip of a usable response. The server's time is known only within a range as wide as
    /// the round trip, so a slower response would be too imprecise for the usual windows of up to a minute.
    pub const MAX_ROUND_TRIP: Duration = Duration::from_secs(60);

    /// Creates a measurement from a `Date`, truncated to whole seconds.
    ///
    /// # Errors
    /// Returns an error if the readings are in the wrong order or too far apart.
    pub fn new(date: UnixTime, sent: ClockReading, received: ClockReading) -> Result<Self, ObservationError> {
        let date = UnixTime::from_secs(date.as_secs());
        let observation = Self { date, sent, received };
        if received.monotonic < sent.monotonic {
            Err(ObservationError::Backwards)
        } else if observation.round_trip() > Self::MAX_ROUND_TRIP {
            Err(ObservationError::TooSlow)
        } else {
            Ok(observation)
        }
    }

    /// Creates a measurement from the value of a `Date` header.
    ///
    /// # Errors
    /// Returns an error under the conditions of [`new`](Self::new), and if the header is not a date.
    pub fn from_header(
        header: &[u8],
        sent: ClockReading,
        received: ClockReading,
    ) -> Result<Self, ObservationError> {
        Self::new(parse_date(header).ok_or(ObservationError::Malformed)?, sent, received)
    }

    /// Returns the server's `Date`.
    #[must_use]
    pub const fn date(&self) -> UnixTime {
        self.date
    }

    /// Returns the local clocks before the request was sent.
    #[must_use]
    pub const fn sent(&self) -> ClockReading {
        self.sent
    }

    /// Returns the local clocks after the response arrived.
    #[must_use]
    pub const fn received(&self) -> ClockReading {
        self.received
    }

    /// Returns the time from sending to receipt, on the clock that advanced more: the monotonic clock stops
    /// while the machine sleeps, and the wall clock may be stepped back.
    #[must_use]
    pub fn round_trip(&self) -> Duration {
        let by_wall = self.received.wall.saturating_since(self.sent.wall);
        self.received.monotonic.saturating_sub(self.sent.monotonic).max(by_wall)
    }

    /// Returns the bounds of the server's clock at receipt: the server read its clock at some moment of the
    /// round trip and truncated it to whole seconds.
    pub(super) fn server_bounds(&self) -> TimeBounds {
        TimeBounds::from_start(self.date.since_epoch(), Duration::from_secs(1) + self.round_trip())
    }
}

/// Parses a `Date` header in any of its three formats (RFC 9110, 5.6.7). Returns `None` if it is invalid or
/// before 1970.
#[must_use]
pub fn parse_date(header: &[u8]) -> Option<UnixTime> {
    let text = std::str::from_utf8(header).ok()?;
    httpdate::parse_http_date(text.trim_matches([' ', '\t'])).ok().map(UnixTime::from)
}
