//! Whether a refusal was about time: no answer says so, but its `Date` tells.

use std::time::Duration;

use super::{Observation, ServerClock, duration, nanos};
use crate::{Attempt, UnixTime, Window};

/// What to do after `invalid_dpop_proof`, as far as time is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AfterRefusal {
    /// Send the request once more, with a new proof and the `iat` that the clock now gives.
    RetryWithCorrectedClock,
    /// The `iat` was right; something else is wrong.
    NotTheClock,
    /// Somebody has to set the clock of the machine; sending again would not help.
    ClockUnsynchronised(ClockDoubt),
}

/// Why no time can be told that the server would accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ClockDoubt {
    /// The proof of the retry was refused too.
    #[error("the server refused a second proof, made with the corrected clock")]
    RetryRefused,
    /// The answer has no `Date`, or none that can be used.
    #[error("the server does not tell its time")]
    NoDate,
    /// The last answers contradict each other.
    #[error("the server tells another time with each answer")]
    Contradictions,
    /// The bounds of the server's time are wider than its window.
    #[error("the server's time is not known well enough")]
    TooUncertain,
}

impl ServerClock {
    /// What to do after a refusal that may be about time.
    ///
    /// `sent_iat` is that of the refused proof, `observation` what the refusal tells of the
    /// server's clock, already taken in by [`observe`](Self::observe), and `None` when it tells
    /// nothing.
    #[must_use]
    pub fn after_refusal(
        &self,
        sent_iat: UnixTime,
        observation: Option<&Observation>,
        window: Window,
        attempt: Attempt,
    ) -> AfterRefusal {
        use AfterRefusal::{ClockUnsynchronised, NotTheClock, RetryWithCorrectedClock};

        if attempt == Attempt::Retry {
            return ClockUnsynchronised(ClockDoubt::RetryRefused);
        }
        let Some(observation) = observation else {
            return ClockUnsynchronised(ClockDoubt::NoDate);
        };
        if self.contradictions >= self.tolerance.contradictions {
            return ClockUnsynchronised(ClockDoubt::Contradictions);
        }
        let half = duration((nanos(window.past) + nanos(window.future)) / 2);
        if self.now(observation.received()).uncertainty > half {
            return ClockUnsynchronised(ClockDoubt::TooUncertain);
        }
        if may_be_outside(sent_iat, observation, window) || self.is_corrected(sent_iat, observation, window) {
            return RetryWithCorrectedClock;
        }
        NotTheClock
    }

    /// Whether the clock, with what the refusal tells, would have given another `iat`. A
    /// correction is of more than is tolerated and whole seconds are left of it, so of as many at the least.
    fn is_corrected(&self, sent_iat: UnixTime, observation: &Observation, window: Window) -> bool {
        let iat = self.iat(observation.sent(), window);
        iat.saturating_since(sent_iat).max(sent_iat.saturating_since(iat))
            >= self.tolerance.corrected_beyond.max(Duration::from_secs(1))
    }
}

/// Whether the server, going by its own `Date` alone, may have found the `iat` outside its window.
/// It looked at some moment of the round trip, no later than it wrote the date.
fn may_be_outside(iat: UnixTime, observation: &Observation, window: Window) -> bool {
    let iat = nanos(iat.since_epoch());
    let date = nanos(observation.date().since_epoch());
    let earliest = date - nanos(observation.round_trip());
    let latest = date + nanos(Duration::from_secs(1));
    iat < latest - nanos(window.past) || iat > earliest + nanos(window.future)
}

#[cfg(test)]
mod tests {
    use super::{super::Reading, *};

    /// DPP-10
    #[test]
    fn what_may_be_outside_the_window() {
        // `Date` 1000 after a round trip of 2 s: looked at between 998 and 1001.
        let reading =
            |secs| Reading { wall: UnixTime::from_secs(secs), monotonic: Duration::from_secs(secs) };
        let refusal = Observation::new(UnixTime::from_secs(1000), reading(5), reading(7)).unwrap();
        for (iat, expect) in
            [(0, true), (990, true), (991, false), (1010, false), (1011, true), (u64::MAX, true)]
        {
            assert_eq!(
                may_be_outside(UnixTime::from_secs(iat), &refusal, Window::seconds(10, 12)),
                expect,
                "{iat}"
            );
        }
    }
}
