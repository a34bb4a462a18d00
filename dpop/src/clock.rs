//! Estimates of server clocks, measured from `Date` headers: RFC 9449, 4.3 (11) and 11.1.
//!
//! A server accepts a proof only in a window of seconds around its own time, so it rejects every proof of a
//! client with a wrong clock. Every response carries the server's time (RFC 9110, 6.6.1), with a resolution
//! of one second and delayed by the network. A response therefore gives bounds: on receipt the server's clock
//! is between `Date` and `Date` + 1 s + round trip. [`ServerClock`] stores such bounds, narrows them with
//! each response, widens them as time passes, and computes the `iat` of new proofs.
//!
//! The estimate uses both local clocks. The monotonic clock cannot be stepped, but it stops while the machine
//! sleeps and may run too fast in a virtual machine. The wall clock continues during sleep, but it may be
//! stepped. If the two clocks disagree, the bounds cover both.
//!
//! This module neither reads a clock nor sends requests. Keep one [`ServerClock`] per origin, for example in
//! [`ServerClocks`], and never apply one server's clock to another server. A new process has a new monotonic
//! clock; it can reuse only the offset of a server's clock from the wall clock ([`SavedClock`]).
//!
//! ```
//! use std::time::Duration;
//! use dpop_bound::{UnixTime, ProofWindow, clock::{ClockObservation, ClockReading, ServerClock}};
//!
//! // The local clocks, read before a request and after its response.
//! let reading = |millis| ClockReading {
//!     wall: UnixTime::from_secs(784_111_777 - 3600) + Duration::from_millis(millis), // an hour slow
//!     monotonic: Duration::from_millis(millis),
//! };
//! let date = b"Sun, 06 Nov 1994 08:49:37 GMT";
//! let observation = ClockObservation::from_header(date, reading(0), reading(200))?;
//!
//! let mut clock = ServerClock::default();
//! clock.observe(&observation);
//! assert_eq!(clock.iat(reading(1_000), ProofWindow::default()), UnixTime::from_secs(784_111_778));
//! # Ok::<(), dpop_bound::clock::ObservationError>(())
//! ```

mod clock_action;
mod observation;
#[cfg(test)]
mod properties;
mod saved_clock;
mod server_clocks;
#[cfg(test)]
mod tests;
mod time_bounds;

use std::time::Duration;

pub use clock_action::{ClockAction, ClockSyncError};
pub use observation::{ClockObservation, ObservationError, parse_date};
pub use saved_clock::SavedClock;
pub use server_clocks::ServerClocks;
use time_bounds::{TimeBounds, to_duration, to_nanos};

use crate::{ProofWindow, UnixTime};

/// Thresholds for correcting the local clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClockTolerance {
    /// The local clock is used unchanged while its estimated error is at most this duration.
    pub corrected_beyond: Duration,
    /// The monotonic clock is trusted while it and the wall clock advance by the same amount, within this
    /// tolerance.
    pub agree_within: Duration,
    /// The number of consecutive contradicting responses after which the server's time counts as unknown. A
    /// stepped clock causes one contradiction, a single cached response two.
    pub contradictions: u32,
    /// The maximum age of a clock that was saved by an earlier process ([`SavedClock`]).
    pub saved_for: Duration,
}

/// `corrected_beyond` 2 s, `agree_within` 2 s, three contradictions, `saved_for` one day.
// A30
impl Default for ClockTolerance {
    fn default() -> Self {
        Self {
            corrected_beyond: Duration::from_secs(2),
            agree_within: Duration::from_secs(2),
            contradictions: 3,
            saved_for: Duration::from_secs(24 * 3600),
        }
    }
}

/// The assumed maximum drift of a clock: one part in 2,000, or 500 ppm, the maximum rate at which NTP slews a
/// clock.
const DRIFT: i128 = 2_000;

/// Bounds that are at most this far apart do not contradict each other: the machines behind one origin differ
/// a little, and some servers update their `Date` only once a second.
const SAME_WITHIN: Duration = Duration::from_secs(1);

/// Readings of both local clocks at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The time on the wall clock.
    pub wall: UnixTime,
    /// The time on the monotonic clock, since an arbitrary start.
    pub monotonic: Duration,
}

/// The estimated clock of a server.
///
/// Bounds of several responses are intersected, so a slow response does not widen the bounds of a fast one.
/// The default value contains no measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerClock {
    tolerance: ClockTolerance,
    anchor: Option<ClockAnchor>,
    contradictions: u32,
}

/// Bounds of a server's clock at one local reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClockAnchor {
    reading: ClockReading,
    server: TimeBounds,
}

/// An estimate of the current time of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeEstimate {
    /// The most likely time; equal to the local wall clock if that is close enough.
    pub time: UnixTime,
    /// The maximum deviation of the server's clock from `time`, in either direction; [`Duration::MAX`] if no
    /// response of the server was observed.
    pub uncertainty: Duration,
    /// The clock from which `time` was derived.
    pub basis: EstimateBasis,
}

/// The source of a [`TimeEstimate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EstimateBasis {
    /// The wall clock, because no response of the server was observed.
    Unmeasured,
    /// The wall clock, because the server's clock is within [`ClockTolerance::corrected_beyond`] of it.
    Local,
    /// The server's clock, advanced by the monotonic clock since the last response.
    Server,
    /// The wall clock plus its offset at the last response, because wall clock and monotonic clock have since
    /// diverged by more than [`ClockTolerance::agree_within`]: the machine slept, or a clock was stepped or
    /// is inaccurate. The uncertainty covers both clocks.
    ReanchoredToWall,
}

impl ServerClock {
    /// Creates a clock without measurements.
    #[must_use]
    pub const fn new(tolerance: ClockTolerance) -> Self {
        Self { tolerance, anchor: None, contradictions: 0 }
    }

    /// Adds the measurement of a response. Call it in the order in which the responses arrive.
    ///
    /// If the new bounds do not intersect the old ones, a clock was stepped or the response came from a
    /// cache. The new bounds then replace the old ones.
    pub fn observe(&mut self, observation: &ClockObservation) {
        let bounds = observation.server_bounds();
        let reading = observation.received();
        let known = self.anchor.map(|anchor| anchor.extrapolate_to(reading, self.tolerance).bounds);
        self.contradictions = match known {
            Some(known) if known.gap_to(bounds) > to_nanos(SAME_WITHIN) => {
                self.contradictions.saturating_add(1)
            }
            Some(_) | None => 0,
        };
        let server = known.and_then(|known| known.intersection(bounds)).unwrap_or(bounds);
        self.anchor = Some(ClockAnchor { reading, server });
    }

    /// Returns the number of most recent consecutive responses that contradicted the previous bounds.
    #[must_use]
    pub const fn contradictions(&self) -> u32 {
        self.contradictions
    }

    /// Estimates the server's time at a local reading.
    #[must_use]
    pub fn now(&self, reading: ClockReading) -> TimeEstimate {
        let Some(anchor) = self.anchor else {
            return TimeEstimate {
                time: reading.wall,
                uncertainty: Duration::MAX,
                basis: EstimateBasis::Unmeasured,
            };
        };
        let run = anchor.extrapolate_to(reading, self.tolerance);
        let wall = to_nanos(reading.wall.since_epoch());
        let corrected = (run.likely - wall).abs() > to_nanos(self.tolerance.corrected_beyond);
        let time = to_duration(if corrected { run.likely } else { wall });
        TimeEstimate {
            time: UnixTime::default() + time,
            uncertainty: to_duration(run.bounds.max_distance_from(to_nanos(time))),
            basis: match run.agreement {
                ClockAgreement::Apart => EstimateBasis::ReanchoredToWall,
                ClockAgreement::Together if corrected => EstimateBasis::Server,
                ClockAgreement::Together => EstimateBasis::Local,
            },
        }
    }

    /// Returns the `iat` for a new proof, in whole seconds. It lies in the middle of the server's window, so
    /// that it is valid even if the estimate is off in either direction: the server's time for a symmetric
    /// window, 5 s earlier for a window from 25 s before to 15 s after.
    #[must_use]
    pub fn iat(&self, reading: ClockReading, window: ProofWindow) -> UnixTime {
        let time = to_nanos(self.now(reading).time.since_epoch());
        let aim = (to_nanos(window.future) - to_nanos(window.past)) / 2;
        UnixTime::from_secs(to_duration(time + aim).as_secs())
    }
}

/// A server's clock extrapolated from an anchor to another moment.
struct Extrapolation {
    /// The bounds that hold if either local clock ran correctly.
    bounds: TimeBounds,
    /// The most likely time, in nanoseconds since the epoch.
    likely: i128,
    agreement: ClockAgreement,
}

/// The result of comparing the advances of both local clocks.
enum ClockAgreement {
    Together,
    Apart,
}

impl ClockAnchor {
    /// Extrapolates the server's clock to a moment. The moment may be earlier, because responses may overtake
    /// each other.
    fn extrapolate_to(&self, reading: ClockReading, tolerance: ClockTolerance) -> Extrapolation {
        let by_monotonic = to_nanos(reading.monotonic) - to_nanos(self.reading.monotonic);
        let by_wall = to_nanos(reading.wall.since_epoch()) - to_nanos(self.reading.wall.since_epoch());
        let ran = |by: i128| self.server.shifted_by(by).widened_by(by.abs() / DRIFT);

        let disagrees = (by_monotonic - by_wall).abs() > to_nanos(tolerance.agree_within);
        let (agreement, believed) = if disagrees {
            (ClockAgreement::Apart, by_wall)
        } else {
            (ClockAgreement::Together, by_monotonic)
        };
        Extrapolation {
            bounds: ran(by_monotonic).hull(ran(by_wall)),
            likely: self.server.midpoint() + believed,
            agreement,
        }
    }
}
