//! When a device login asks again, and when it is over (RFC 8628, 3.3 to 3.5): no clock, no network.

use std::time::Duration;

use dpop_bound::clock::Reading;

/// What a `slow_down` adds to the interval, for good (ERR-44).
const SLOWER: Duration = Duration::from_secs(5);
/// By how much longer than the interval is waited, in percent: timers of virtual machines run up to a third
/// fast, and servers that count whole seconds find a poll after exactly five too early.
const LONGER: u32 = 120;
/// The same after a server said that it was too fast.
const STILL_LONGER: u32 = 140;
/// Nobody is asked more often than once a second.
const LEAST: Duration = Duration::from_secs(1);

/// A device login between its answer and its end.
#[derive(Clone, Debug)]
pub(crate) struct Polling {
    interval: Duration,
    expires_in: Duration,
    begun: Reading,
    /// By the monotonic clock.
    due: Duration,
    slow_downs: u32,
    /// In a row.
    failures: u32,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing, for so long; then ask anew what to do.
    Wait(Duration),
    /// Ask the provider.
    Poll,
    /// The code's time is over.
    Expired,
}

/// What a poll came to, as long as it decided nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    /// Not decided yet (ERR-43).
    Pending,
    /// Too fast (ERR-44).
    SlowDown,
    /// No answer, or none of the provider's own; with what `Retry-After` said.
    Failed(Option<Duration>),
}

/// What there is to say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remark {
    /// A server that finds polls too fast for the second time, though each waited longer than it had to: the
    /// clock of this machine runs fast.
    ClockRunsFast,
}

impl Polling {
    pub(crate) fn new(interval: Duration, expires_in: Duration, now: Reading) -> Self {
        let mut polling = Self {
            interval: interval.max(LEAST),
            expires_in,
            begun: now,
            due: now.monotonic,
            slow_downs: 0,
            failures: 0,
        };
        polling.due = polling.due.saturating_add(polling.pause());
        polling
    }

    pub(crate) fn step(&self, now: Reading) -> Step {
        let left = self.left(now);
        if left.is_zero() {
            return Step::Expired;
        }
        match self.due.saturating_sub(now.monotonic) {
            Duration::ZERO => Step::Poll,
            wait => Step::Wait(wait.min(left)),
        }
    }

    /// Takes in what a poll came to. The next one is due from now on and not from when this one was: after a
    /// suspend there is one poll, and no burst of those that were missed.
    pub(crate) fn answered(&mut self, polled: Polled, now: Reading) -> Option<Remark> {
        let mut remark = None;
        let mut wait = Duration::ZERO;
        match polled {
            Polled::Pending => self.failures = 0,
            Polled::SlowDown => {
                self.failures = 0;
                self.slow_downs = self.slow_downs.saturating_add(1);
                self.interval = self.interval.saturating_add(SLOWER);
                if self.slow_downs == 2 {
                    remark = Some(Remark::ClockRunsFast);
                }
            }
            Polled::Failed(asked) => {
                self.failures = self.failures.saturating_add(1);
                wait = asked.unwrap_or_default();
            }
        }
        // RFC 8628, 3.5: more slowly while there is no answer, as before once there is one again.
        let pause = self.pause().saturating_mul(1 << self.failures.saturating_sub(1).min(2));
        self.due = now.monotonic.saturating_add(pause.max(wait));
        remark
    }

    /// What came asks to wait so long, whatever else it said: the next poll is no earlier (CLI-02).
    pub(crate) fn asked(&mut self, wait: Duration, now: Reading) {
        self.due = self.due.max(now.monotonic.saturating_add(wait));
    }

    /// How long the code still holds.
    ///
    /// By the clock of the two that went less far: one may have been set, the other may run fast, and after a
    /// suspend the provider tells. Where they disagree altogether, twice the time ends it.
    pub(crate) fn left(&self, now: Reading) -> Duration {
        let steady = now.monotonic.saturating_sub(self.begun.monotonic);
        let wall = now.wall.saturating_since(self.begun.wall);
        if steady >= self.expires_in.saturating_mul(2) {
            return Duration::ZERO;
        }
        self.expires_in.saturating_sub(steady.min(wall))
    }

    /// How long until the next poll.
    pub(crate) fn next(&self, now: Reading) -> Duration {
        self.due.saturating_sub(now.monotonic)
    }

    fn pause(&self) -> Duration {
        let percent = if self.slow_downs == 0 { LONGER } else { STILL_LONGER };
        self.interval.saturating_mul(percent) / 100
    }
}

#[cfg(test)]
mod tests {
    use dpop_bound::UnixTime;

    use super::*;

    fn at(monotonic: u64, wall: u64) -> Reading {
        Reading { wall: UnixTime::from_secs(1_790_000_000 + wall), monotonic: Duration::from_secs(monotonic) }
    }

    fn even(seconds: u64) -> Reading {
        at(seconds, seconds)
    }

    fn polling(interval: u64) -> Polling {
        Polling::new(Duration::from_secs(interval), Duration::from_secs(600), even(0))
    }

    fn wait(seconds: u64) -> Step {
        Step::Wait(Duration::from_secs(seconds))
    }

    /// IDP-14, ERR-43: a fifth longer than the interval, also before the first poll.
    #[test]
    fn polls_wait_a_fifth_longer_than_the_interval() {
        let mut polling = polling(5);
        assert_eq!(polling.step(even(0)), wait(6));
        assert_eq!(polling.step(even(5)), wait(1));
        assert_eq!(polling.step(even(6)), Step::Poll);
        assert_eq!(polling.answered(Polled::Pending, even(7)), None);
        assert_eq!(polling.step(even(7)), wait(6));
        assert_eq!(self::polling(0).step(even(0)), Step::Wait(Duration::from_millis(1200)));
    }

    /// ERR-44: five seconds more for good each time, and a hint at the second.
    #[test]
    fn slow_down_is_for_good() {
        let mut polling = polling(5);
        assert_eq!(polling.answered(Polled::SlowDown, even(6)), None);
        assert_eq!(polling.step(even(6)), wait(14));
        assert_eq!(polling.answered(Polled::Pending, even(20)), None);
        assert_eq!(polling.step(even(20)), wait(14));
        assert_eq!(polling.answered(Polled::SlowDown, even(34)), Some(Remark::ClockRunsFast));
        assert_eq!(polling.step(even(34)), wait(21));
        assert_eq!(polling.answered(Polled::SlowDown, even(55)), None);
        assert_eq!(polling.step(even(55)), wait(28));
    }

    /// Without an answer it asks on, more slowly; never earlier than it is told to.
    #[test]
    fn failures_slow_it_down_while_they_last() {
        let mut polling = polling(5);
        for pause in [6, 12, 24, 24] {
            assert_eq!(polling.answered(Polled::Failed(None), even(0)), None);
            assert_eq!(polling.step(even(0)), wait(pause));
        }
        polling.answered(Polled::Failed(Some(Duration::from_secs(60))), even(0));
        assert_eq!(polling.step(even(0)), wait(60));
        polling.answered(Polled::Failed(Some(Duration::from_secs(1))), even(0));
        assert_eq!(polling.step(even(0)), wait(24));
        polling.answered(Polled::Pending, even(0));
        assert_eq!(polling.step(even(0)), wait(6));
    }

    /// CLI-02: no earlier than it is told to, also by what is no failure, and no later for that than it would be.
    #[test]
    fn a_poll_waits_as_long_as_it_is_asked_to() {
        for polled in [Polled::Pending, Polled::SlowDown, Polled::Failed(None)] {
            let mut polling = polling(5);
            polling.answered(polled, even(6));
            polling.asked(Duration::from_secs(30), even(6));
            polling.asked(Duration::from_secs(1), even(6));
            assert_eq!((polling.step(even(6)), polling.step(even(36))), (wait(30), Step::Poll));
        }
        let mut polling = polling(5);
        polling.answered(Polled::Pending, even(6));
        polling.asked(Duration::from_secs(1), even(6));
        assert_eq!(polling.step(even(6)), wait(6));
    }

    /// ERR-46: nothing is asked for after the end, and a wait never goes beyond it.
    #[test]
    fn it_ends_with_its_code() {
        let mut polling = polling(5);
        polling.answered(Polled::Pending, even(596));
        assert_eq!(polling.step(even(596)), wait(4));
        assert_eq!(polling.step(even(600)), Step::Expired);
        assert_eq!(polling.left(even(590)), Duration::from_secs(10));
    }

    /// A machine that slept, or whose clock was set: one poll, then the usual pace.
    #[test]
    fn a_suspend_is_followed_by_one_poll() {
        // The monotonic clock stood still: the wait goes on.
        let mut polling = polling(5);
        assert_eq!(polling.step(at(3, 300)), wait(3));
        // It went on: one poll, and no more before the next interval.
        assert_eq!(polling.step(at(300, 3)), Step::Poll);
        polling.answered(Polled::Pending, at(300, 3));
        assert_eq!(polling.step(at(300, 3)), wait(6));
        // Set forward or back: nothing ends early, and nothing lasts for ever.
        assert_eq!(polling.step(at(310, 90_000)), Step::Poll);
        assert_eq!(polling.step(at(1200, 0)), Step::Expired);
    }
}
