//! The decision whether the clock caused a rejection. The response does not state the cause, but its `Date`
//! reveals it.

use std::time::Duration;

use super::{ClockObservation, ServerClock, to_duration, to_nanos};
use crate::{Attempt, ProofWindow, UnixTime};

/// The action after an `invalid_dpop_proof` error, with regard to the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClockAction {
    /// Send the request once more, with a new proof and the `iat` of the corrected clock.
    RetryWithCorrectedClock,
    /// The `iat` was correct; the proof was rejected for another reason.
    ClockIsCorrect,
    /// The clock of the machine has to be set; a retry would not help.
    ClockUnsynchronized(ClockSyncError),
}

/// The reason why no acceptable `iat` can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ClockSyncError {
    /// The proof of the retry was also rejected.
    #[error("the server rejected a second proof, made with the corrected clock")]
    RetryRefused,
    /// The response has no usable `Date`.
    #[error("the server sent no usable Date header")]
    NoDate,
    /// The most recent responses contradict each other.
    #[error("the Date headers of the server contradict each other")]
    Contradictions,
    /// The bounds of the server's time are wider than its window.
    #[error("the server's time is not known precisely enough")]
    TooUncertain,
}

impl ServerClock {
    /// Decides what to do after a rejection that may be caused by the clock.
    ///
    /// `sent_iat` is the `iat` of the rejected proof. `observation` is the measurement of the rejection,
    /// which was already passed to [`observe`](Self::observe), or `None` if the response could not be
    /// measured.
    #[must_use]
    pub fn after_rejection(
        &self,
        sent_iat: UnixTime,
        observation: Option<&ClockObservation>,
        window: ProofWindow,
        attempt: Attempt,
    ) -> ClockAction {
        use ClockAction::{ClockIsCorrect, ClockUnsynchronized, RetryWithCorrectedClock};

        if attempt == Attempt::Retry {
            return ClockUnsynchronized(ClockSyncError::RetryRefused);
        }
        let Some(observation) = observation else {
            return ClockUnsynchronized(ClockSyncError::NoDate);
        };
        if self.contradictions >= self.tolerance.contradictions {
            return ClockUnsynchronized(ClockSyncError::Contradictions);
        }
        let half = to_duration((to_nanos(window.past) + to_nanos(window.future)) / 2);
        if self.now(observation.received()).uncertainty > half {
            return ClockUnsynchronized(ClockSyncError::TooUncertain);
        }
        if may_be_outside(sent_iat, observation, window) || self.is_corrected(sent_iat, observation, window) {
            return RetryWithCorrectedClock;
        }
        ClockIsCorrect
    }

    /// Returns true if the updated clock would have given another `iat`. The difference must reach the
    /// tolerance, and at least one second, because `iat` has whole seconds.
    fn is_corrected(&self, sent_iat: UnixTime, observation: &ClockObservation, window: ProofWindow) -> bool {
        let iat = self.iat(observation.sent(), window);
        iat.saturating_since(sent_iat).max(sent_iat.saturating_since(iat))
            >= self.tolerance.corrected_beyond.max(Duration::from_secs(1))
    }
}

/// Returns true if, according to the server's own `Date`, the server may have found the `iat` outside its
/// window. It checked the `iat` at some moment of the round trip, no later than it wrote the date.
fn may_be_outside(iat: UnixTime, observation: &ClockObservation, window: ProofWindow) -> bool {
    let iat = to_nanos(iat.since_epoch());
    let date = to_nanos(observation.date().since_epoch());
    let earliest = date - to_nanos(observation.round_trip());
    let latest = date + to_nanos(Duration::from_secs(1));
    iat < latest - to_nanos(window.past) || iat > earliest + to_nanos(window.future)
}

#[cfg(test)]
mod tests {
    use super::{super::ClockReading, *};

    /// DPP-10: an `iat` may have been outside the window if the server checked it at an unfavorable moment.
    #[test]
    fn iat_possibly_outside_the_window() {
        // The `Date` is 1000 and the round trip took 2 s, so the server checked the proof between 998 and
        // 1001.
        let reading =
            |secs| ClockReading { wall: UnixTime::from_secs(secs), monotonic: Duration::from_secs(secs) };
        let rejection = ClockObservation::new(UnixTime::from_secs(1000), reading(5), reading(7)).unwrap();
        for (iat, expect) in
            [(0, true), (990, true), (991, false), (1010, false), (1011, true), (u64::MAX, true)]
        {
            assert_eq!(
                may_be_outside(UnixTime::from_secs(iat), &rejection, ProofWindow::from_secs(10, 12)),
                expect,
                "{iat}"
            );
        }
    }
}
