//! The serializable form of a server's clock: its offset from the wall clock.
//!
//! A wrong wall clock is usually still wrong when the next process starts. Without the saved offset, the
//! server would reject the first request of each process. The offset is only as reliable as the wall clock,
//! so the first contradicting response of the new process replaces it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    ClockAnchor, ClockReading, ClockTolerance, DRIFT, ServerClock, TimeBounds, to_duration, to_nanos,
};
use crate::UnixTime;

/// The saved clock of one origin. Contains no secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedClock {
    /// The origin of the server.
    pub origin: String,
    /// The offset of the server's clock from the wall clock, in milliseconds; positive if the server's clock
    /// is ahead.
    pub ahead: i64,
    /// The maximum error of `ahead` in either direction, in milliseconds.
    pub uncertainty: u64,
    /// The time of the export on the wall clock, in seconds since the epoch.
    pub saved_at: u64,
}

const MILLISECOND: i128 = 1_000_000;

impl SavedClock {
    /// The maximum time by which `saved_at` may be ahead of the clock, in case the clock was set back a
    /// little.
    pub const MAX_AHEAD: Duration = Duration::from_secs(60);

    /// Exports a clock. Returns `None` if the wall clock is within the tolerance.
    pub(super) fn from_clock(origin: &str, clock: &ServerClock, now: ClockReading) -> Option<Self> {
        let run = clock.anchor?.extrapolate_to(now, clock.tolerance);
        let centre = run.bounds.midpoint();
        let ahead = centre - to_nanos(now.wall.since_epoch());
        if ahead.abs() <= to_nanos(clock.tolerance.corrected_beyond) {
            return None;
        }
        Some(Self {
            origin: origin.to_owned(),
            ahead: i64::try_from(ahead / MILLISECOND).ok()?,
            // One millisecond more, because both divisions round down.
            uncertainty: u64::try_from(run.bounds.max_distance_from(centre) / MILLISECOND + 1).ok()?,
            saved_at: now.wall.as_secs(),
        })
    }

    /// Imports the clock, or returns `None` if it is too old or too far ahead.
    pub(super) fn to_server_clock(
        &self,
        tolerance: ClockTolerance,
        now: ClockReading,
    ) -> Option<ServerClock> {
        let saved = UnixTime::from_secs(self.saved_at);
        if now.wall >= saved + tolerance.saved_for || saved > now.wall + Self::MAX_AHEAD {
            return None;
        }
        let age = to_nanos(now.wall.saturating_since(saved));
        let centre = to_nanos(now.wall.since_epoch()) + i128::from(self.ahead) * MILLISECOND;
        let server = TimeBounds::from_start(to_duration(centre), Duration::ZERO)
            .widened_by(i128::from(self.uncertainty) * MILLISECOND + age / DRIFT);
        let anchor = Some(ClockAnchor { reading: now, server });
        Some(ServerClock { anchor, ..ServerClock::new(tolerance) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ProofWindow,
        clock::{ClockObservation, EstimateBasis, ServerClocks},
    };

    const A: &str = "https://api.example";
    const B: &str = "https://id.example";
    const NOW: u64 = 1_790_000_000;

    /// Returns the readings of a process that starts `after` seconds after `NOW`, with a wall clock `ahead`
    /// seconds ahead.
    fn started(after: u64, ahead: i64) -> ClockReading {
        let wall = UnixTime::from_secs((NOW + after).saturating_add_signed(ahead));
        ClockReading { wall, monotonic: Duration::ZERO }
    }

    fn answered(clocks: &mut ServerClocks, origin: &str, date: u64, at: ClockReading) {
        clocks.observe(origin, &ClockObservation::new(UnixTime::from_secs(date), at, at).unwrap());
    }

    /// DPP-09: if the wall clock is as wrong as before, the first proof of the next process has a correct
    /// `iat`.
    #[test]
    fn saved_clock_is_used_by_the_next_process() {
        for (ahead, after, expect) in
            [(-95, 0, true), (3600, 600, true), (-95, 86_399, true), (-95, 86_400, false), (2, 0, false)]
        {
            let mut clocks = ServerClocks::default();
            answered(&mut clocks, A, NOW, started(0, ahead));
            answered(&mut clocks, B, NOW.saturating_add_signed(ahead), started(0, ahead));
            let saved = clocks.save(started(0, ahead));
            assert!(saved.iter().all(|saved| saved.origin == A), "{saved:?}");

            let (mut next, reading) = (ServerClocks::default(), started(after, ahead));
            next.restore(saved, reading);
            let basis = if expect { EstimateBasis::Server } else { EstimateBasis::Unmeasured };
            assert_eq!(next.for_origin(A).now(reading).basis, basis, "{ahead} {after}");
            let off = next.for_origin(A).iat(reading, ProofWindow::default()).as_secs().abs_diff(NOW + after);
            assert_eq!(off <= 1, expect, "{ahead} {after}: {off}");
            assert_eq!(next.for_origin(B).now(reading).basis, EstimateBasis::Unmeasured);
        }
    }

    /// DPP-10: if the wall clock was set in the meantime, one response contradicts the saved clock, and the
    /// new time is used from then on.
    #[test]
    fn changed_local_clock_replaces_the_saved_offset() {
        let mut clocks = ServerClocks::default();
        answered(&mut clocks, A, NOW, started(0, -95));
        let (mut next, right) = (ServerClocks::default(), started(60, 0));
        next.restore(clocks.save(started(0, -95)), right);
        assert_eq!(next.for_origin(A).contradictions(), 0);
        answered(&mut next, A, NOW + 60, right);
        assert_eq!(next.for_origin(A).contradictions(), 1);
        assert_eq!(next.for_origin(A).now(right).basis, EstimateBasis::Local);
    }

    /// A restored clock does not replace a measurement of this process, and the number of clocks stays
    /// limited.
    #[test]
    fn restored_clock_does_not_replace_a_measurement() {
        let incorrect = |origin: &str| SavedClock {
            origin: origin.to_owned(),
            ahead: 7_000_000,
            uncertainty: 500,
            saved_at: NOW,
        };
        let mut clocks = ServerClocks::new(2.try_into().unwrap(), ClockTolerance::default());
        let now = started(0, 0);
        answered(&mut clocks, A, NOW, now);
        clocks.restore([incorrect(A), incorrect(B), incorrect(B), incorrect("https://other.example")], now);
        assert_eq!(clocks.for_origin(A).now(now).basis, EstimateBasis::Local);
        assert_eq!(
            clocks.for_origin(B).now(now).basis,
            EstimateBasis::Unmeasured,
            "of the restored clocks, the first one is dropped first"
        );
        assert_eq!(clocks.for_origin("https://other.example").now(now).basis, EstimateBasis::Server);
        for ahead in [i64::MIN, i64::MAX] {
            let mut any = ServerClocks::default();
            any.restore(
                [SavedClock { ahead, uncertainty: u64::MAX, saved_at: u64::MAX, ..incorrect(A) }],
                now,
            );
            any.restore([SavedClock { ahead, uncertainty: u64::MAX, ..incorrect(A) }], now);
            let _ = any.for_origin(A).iat(now, ProofWindow::default());
            let _ = any.save(now);
        }
    }

    #[test]
    fn a_saved_clock_is_plain_json() {
        let mut clocks = ServerClocks::default();
        answered(&mut clocks, A, NOW, started(0, -95));
        let text = serde_json::to_string(&clocks.save(started(0, -95))).unwrap();
        let expect =
            r#"[{"origin":"https://api.example","ahead":95500,"uncertainty":501,"saved_at":1789999905}]"#;
        assert_eq!(text, expect);
    }
}
