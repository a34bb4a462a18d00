//! What is left of a server's clock when the process ends: by how much it was ahead of the wall clock.
//!
//! A machine whose clock is wrong stays wrong from one process to the next; without this, the first request of
//! each would be refused for its time. It is as good as the wall clock is steady, and taken for what it is: the
//! first answer of the new process that contradicts it replaces it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Anchor, DRIFT, Interval, Reading, ServerClock, Tolerance, duration, nanos};
use crate::UnixTime;

/// One origin's clock. Nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedClock {
    /// Whose clock it is.
    pub origin: String,
    /// By how many milliseconds it was ahead of the wall clock; negative when it was behind.
    pub ahead: i64,
    /// How far it may be from that, either way, in milliseconds.
    pub uncertainty: u64,
    /// When that was so, in seconds since the epoch by the wall clock.
    pub saved_at: u64,
}

const MILLISECOND: i128 = 1_000_000;

impl SavedClock {
    /// How far in the future it may have been saved: the clock was set back a little.
    pub const MAX_AHEAD: Duration = Duration::from_secs(60);

    /// What is worth saving: nothing of a clock that the wall clock is near enough to.
    pub(super) fn of(origin: &str, clock: &ServerClock, now: Reading) -> Option<Self> {
        let run = clock.anchor?.run_to(now, clock.tolerance);
        let centre = run.bounds.centre();
        let ahead = centre - nanos(now.wall.since_epoch());
        if ahead.abs() <= nanos(clock.tolerance.corrected_beyond) {
            return None;
        }
        Some(Self {
            origin: origin.to_owned(),
            ahead: i64::try_from(ahead / MILLISECOND).ok()?,
            // A millisecond more, for what the divisions leave out.
            uncertainty: u64::try_from(run.bounds.reach_from(centre) / MILLISECOND + 1).ok()?,
            saved_at: now.wall.as_secs(),
        })
    }

    /// The clock as this process may believe it to be.
    pub(super) fn restored(&self, tolerance: Tolerance, now: Reading) -> Option<ServerClock> {
        let saved = UnixTime::from_secs(self.saved_at);
        if now.wall >= saved + tolerance.saved_for || saved > now.wall + Self::MAX_AHEAD {
            return None;
        }
        let age = nanos(now.wall.saturating_since(saved));
        let centre = nanos(now.wall.since_epoch()) + i128::from(self.ahead) * MILLISECOND;
        let server = Interval::starting(duration(centre), Duration::ZERO)
            .widened(i128::from(self.uncertainty) * MILLISECOND + age / DRIFT);
        let anchor = Some(Anchor { reading: now, server });
        Some(ServerClock { anchor, ..ServerClock::new(tolerance) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Window,
        clock::{Basis, Clocks, Observation},
    };

    const A: &str = "https://api.example";
    const B: &str = "https://id.example";
    const NOW: u64 = 1_790_000_000;

    /// A process that began so many seconds after `NOW` by a wall clock this far ahead, at its start.
    fn started(after: u64, ahead: i64) -> Reading {
        let wall = UnixTime::from_secs((NOW + after).saturating_add_signed(ahead));
        Reading { wall, monotonic: Duration::ZERO }
    }

    fn answered(clocks: &mut Clocks, origin: &str, date: u64, at: Reading) {
        clocks.observe(origin, &Observation::new(UnixTime::from_secs(date), at, at).unwrap());
    }

    /// DPP-09: the next process writes the right time at once, where the wall clock is as wrong as it was.
    #[test]
    fn the_next_process_knows_the_time() {
        for (ahead, after, expect) in
            [(-95, 0, true), (3600, 600, true), (-95, 86_399, true), (-95, 86_400, false), (2, 0, false)]
        {
            let mut clocks = Clocks::default();
            answered(&mut clocks, A, NOW, started(0, ahead));
            answered(&mut clocks, B, NOW.saturating_add_signed(ahead), started(0, ahead));
            let saved = clocks.save(started(0, ahead));
            assert!(saved.iter().all(|saved| saved.origin == A), "{saved:?}");

            let (mut next, reading) = (Clocks::default(), started(after, ahead));
            next.restore(saved, reading);
            let basis = if expect { Basis::Server } else { Basis::Unmeasured };
            assert_eq!(next.of(A).now(reading).basis, basis, "{ahead} {after}");
            let off = next.of(A).iat(reading, Window::default()).as_secs().abs_diff(NOW + after);
            assert_eq!(off <= 1, expect, "{ahead} {after}: {off}");
            assert_eq!(next.of(B).now(reading).basis, Basis::Unmeasured);
        }
    }

    /// DPP-10: a clock that was set in between makes one contradiction, and is believed.
    #[test]
    fn a_clock_that_was_set_is_believed() {
        let mut clocks = Clocks::default();
        answered(&mut clocks, A, NOW, started(0, -95));
        let (mut next, right) = (Clocks::default(), started(60, 0));
        next.restore(clocks.save(started(0, -95)), right);
        assert_eq!(next.of(A).contradictions(), 0);
        answered(&mut next, A, NOW + 60, right);
        assert_eq!(next.of(A).contradictions(), 1);
        assert_eq!(next.of(A).now(right).basis, Basis::Local);
    }

    /// What was saved gives way to what this process was told, and to the room that there is.
    #[test]
    fn what_is_known_stays() {
        let wrong = |origin: &str| SavedClock {
            origin: origin.to_owned(),
            ahead: 7_000_000,
            uncertainty: 500,
            saved_at: NOW,
        };
        let mut clocks = Clocks::new(2.try_into().unwrap(), Tolerance::default());
        let now = started(0, 0);
        answered(&mut clocks, A, NOW, now);
        clocks.restore([wrong(A), wrong(B), wrong(B), wrong("https://other.example")], now);
        assert_eq!(clocks.of(A).now(now).basis, Basis::Local);
        assert_eq!(clocks.of(B).now(now).basis, Basis::Unmeasured, "the first of the added goes first");
        assert_eq!(clocks.of("https://other.example").now(now).basis, Basis::Server);
        for ahead in [i64::MIN, i64::MAX] {
            let mut any = Clocks::default();
            any.restore([SavedClock { ahead, uncertainty: u64::MAX, saved_at: u64::MAX, ..wrong(A) }], now);
            any.restore([SavedClock { ahead, uncertainty: u64::MAX, ..wrong(A) }], now);
            let _ = any.of(A).iat(now, Window::default());
            let _ = any.save(now);
        }
    }

    #[test]
    fn a_saved_clock_is_plain_json() {
        let mut clocks = Clocks::default();
        answered(&mut clocks, A, NOW, started(0, -95));
        let text = serde_json::to_string(&clocks.save(started(0, -95))).unwrap();
        let expect =
            r#"[{"origin":"https://api.example","ahead":95500,"uncertainty":501,"saved_at":1789999905}]"#;
        assert_eq!(text, expect);
    }
}
