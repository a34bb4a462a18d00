//! The clocks of servers, measured by their `Date` headers: RFC 9449, 4.3 (11) and 11.1.
//!
//! A proof counts in a window of seconds around the time of the server that checks it, so a client
//! whose clock is off is locked out. Every answer carries the server's own time (RFC 9110, 6.6.1),
//! to the second and as old as its way back. One answer therefore bounds the server's clock rather
//! than tells it: at the moment of receipt it shows `Date` at the least and `Date` + 1 s + round
//! trip at the most. [`ServerClock`] keeps such bounds, narrows them with each answer, widens them
//! with time, and tells which `iat` to write.
//!
//! Both local clocks are used. The monotonic one cannot be stepped but stops while a machine
//! sleeps, or runs too fast in a virtual one; the wall clock goes on but may be stepped. While they
//! agree, either is good; when they do not, the bounds cover what both say.
//!
//! Nothing here reads a clock or sends anything. Keep one [`ServerClock`] per origin, or
//! [`Clocks`], and never apply one server's to another. Another process has another monotonic clock: what it
//! can use is by how much a server's clock was ahead of the wall clock ([`SavedClock`]).
//!
//! ```
//! use std::time::Duration;
//! use dpop_bound::{UnixTime, Window, clock::{Observation, Reading, ServerClock}};
//!
//! // The local clocks, read before a request and after its answer.
//! let reading = |millis| Reading {
//!     wall: UnixTime::from_secs(784_111_777 - 3600) + Duration::from_millis(millis), // an hour slow
//!     monotonic: Duration::from_millis(millis),
//! };
//! let date = b"Sun, 06 Nov 1994 08:49:37 GMT";
//! let observation = Observation::from_header(date, reading(0), reading(200))?;
//!
//! let mut clock = ServerClock::default();
//! clock.observe(&observation);
//! assert_eq!(clock.iat(reading(1_000), Window::default()), UnixTime::from_secs(784_111_778));
//! # Ok::<(), dpop_bound::clock::UnusableDate>(())
//! ```

mod interval;
mod observation;
mod origins;
#[cfg(test)]
mod properties;
mod refusal;
mod saved;
#[cfg(test)]
mod tests;

use std::time::Duration;

use interval::{Interval, duration, nanos};
pub use observation::{Observation, UnusableDate, parse_date};
pub use origins::Clocks;
pub use refusal::{AfterRefusal, ClockDoubt};
pub use saved::SavedClock;

use crate::{UnixTime, Window};

/// What a client puts up with before it believes that a clock is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tolerance {
    /// The local clock is used as it is while it seems no further off than this.
    pub corrected_beyond: Duration,
    /// The monotonic clock is believed while the wall clock goes along with it to this much.
    pub agree_within: Duration,
    /// So many answers in a row that contradict what was known are too many: a stepped clock
    /// makes one, a single answer from a cache two.
    pub contradictions: u32,
    /// What an earlier process measured is of use while it is younger than this ([`SavedClock`]).
    pub saved_for: Duration,
}

/// Two seconds, two seconds, three answers, and a day.
// A30
impl Default for Tolerance {
    fn default() -> Self {
        Self {
            corrected_beyond: Duration::from_secs(2),
            agree_within: Duration::from_secs(2),
            contradictions: 3,
            saved_for: Duration::from_secs(24 * 3600),
        }
    }
}

/// How much a clock is thought to gain or lose: one part in this many, which is 500 ppm, as much as
/// NTP slews a clock.
const DRIFT: i128 = 2_000;

/// Answers that miss each other by no more than this do not contradict each other: the machines
/// behind one origin differ a little, and some servers renew their `Date` once a second only.
const SAME_WITHIN: Duration = Duration::from_secs(1);

/// Both local clocks, read at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What the wall clock shows.
    pub wall: UnixTime,
    /// How long the monotonic clock has run, from whatever beginning.
    pub monotonic: Duration,
}

/// What is known of one server's clock.
///
/// Answers are combined by intersection, so one that took long spoils nothing that a quick one
/// told. Nothing is known by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerClock {
    tolerance: Tolerance,
    anchor: Option<Anchor>,
    contradictions: u32,
}

/// What a server's clock showed at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Anchor {
    reading: Reading,
    server: Interval,
}

/// A server's time, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The most likely time; the local wall clock's when that is near enough.
    pub time: UnixTime,
    /// How far the server's clock may be from that, either way; [`Duration::MAX`] when the server
    /// was never observed.
    pub uncertainty: Duration,
    /// Where the time comes from.
    pub basis: Basis,
}

/// Where an [`Estimate`] comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Basis {
    /// The wall clock, for the server was never observed.
    Unmeasured,
    /// The wall clock, for the server's is within [`Tolerance::corrected_beyond`] of it.
    Local,
    /// The server's clock, run on by the monotonic clock since its last answer.
    Server,
    /// The wall clock with the offset that it had at the last answer, for it went apart from the
    /// monotonic clock since by more than [`Tolerance::agree_within`]: the machine slept, or one of
    /// the two was stepped or runs wrong. The uncertainty covers what either clock says.
    Reanchored,
}

impl ServerClock {
    /// A clock of which nothing is known.
    #[must_use]
    pub const fn new(tolerance: Tolerance) -> Self {
        Self { tolerance, anchor: None, contradictions: 0 }
    }

    /// Takes in what an answer tells; of several answers in the order in which they arrive.
    ///
    /// Bounds that leave no common time mean that a clock was stepped, or that the answer came
    /// from a cache: what was known is forgotten then.
    pub fn observe(&mut self, observation: &Observation) {
        let told = observation.server();
        let reading = observation.received();
        let known = self.anchor.map(|anchor| anchor.run_to(reading, self.tolerance).bounds);
        self.contradictions = match known {
            Some(known) if known.gap_to(told) > nanos(SAME_WITHIN) => self.contradictions.saturating_add(1),
            Some(_) | None => 0,
        };
        let server = known.and_then(|known| known.intersection(told)).unwrap_or(told);
        self.anchor = Some(Anchor { reading, server });
    }

    /// How many of the last answers in a row each contradicted what was known before.
    #[must_use]
    pub const fn contradictions(&self) -> u32 {
        self.contradictions
    }

    /// The server's time at a moment.
    #[must_use]
    pub fn now(&self, reading: Reading) -> Estimate {
        let Some(anchor) = self.anchor else {
            return Estimate { time: reading.wall, uncertainty: Duration::MAX, basis: Basis::Unmeasured };
        };
        let run = anchor.run_to(reading, self.tolerance);
        let wall = nanos(reading.wall.since_epoch());
        let corrected = (run.likely - wall).abs() > nanos(self.tolerance.corrected_beyond);
        let time = duration(if corrected { run.likely } else { wall });
        Estimate {
            time: UnixTime::default() + time,
            uncertainty: duration(run.bounds.reach_from(nanos(time))),
            basis: match run.agreement {
                Agreement::Apart => Basis::Reanchored,
                Agreement::Together if corrected => Basis::Server,
                Agreement::Together => Basis::Local,
            },
        }
    }

    /// The `iat` of a proof made now, in whole seconds, aimed at the middle of the server's window
    /// so that it holds for a clock that is off either way: the server's time where the window is
    /// as long on either side, 5 s before it where it is from 25 s before to 15 s after.
    #[must_use]
    pub fn iat(&self, reading: Reading, window: Window) -> UnixTime {
        let time = nanos(self.now(reading).time.since_epoch());
        let aim = (nanos(window.future) - nanos(window.past)) / 2;
        UnixTime::from_secs(duration(time + aim).as_secs())
    }
}

/// A server's clock, run on from an anchor.
struct Run {
    /// Where it stands if either of the local clocks ran right.
    bounds: Interval,
    /// Where it stands most likely.
    likely: i128,
    agreement: Agreement,
}

/// Whether the local clocks went on by the same.
enum Agreement {
    Together,
    Apart,
}

impl Anchor {
    /// Runs the server's clock on to a moment; also back, for answers may overtake each other.
    fn run_to(&self, reading: Reading, tolerance: Tolerance) -> Run {
        let by_monotonic = nanos(reading.monotonic) - nanos(self.reading.monotonic);
        let by_wall = nanos(reading.wall.since_epoch()) - nanos(self.reading.wall.since_epoch());
        let ran = |by: i128| self.server.shifted(by).widened(by.abs() / DRIFT);

        let apart = (by_monotonic - by_wall).abs() > nanos(tolerance.agree_within);
        let (agreement, believed) =
            if apart { (Agreement::Apart, by_wall) } else { (Agreement::Together, by_monotonic) };
        Run {
            bounds: ran(by_monotonic).hull(ran(by_wall)),
            likely: self.server.centre() + believed,
            agreement,
        }
    }
}
