//! The polling schedule of a device login (RFC 8628, 3.3 to 3.5). It is pure state without clock or network.

use std::time::Duration;

use dpop_bound::clock::ClockReading;

/// The time that each `slow_down` adds to the interval permanently (ERR-44).
const SLOW_DOWN_STEP: Duration = Duration::from_secs(5);
/// The time between polls in percent of the interval. Timers of virtual machines may run up to a third fast,
/// and servers that count whole seconds reject a poll after exactly the interval.
const PADDING_PERCENT: u32 = 120;
/// The time between polls in percent of the interval after the first `slow_down`.
const SLOWED_PADDING_PERCENT: u32 = 140;
/// The minimum interval between two polls.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The schedule of one device login.
#[derive(Clone, Debug)]
pub(crate) struct PollSchedule {
    interval: Duration,
    expires_in: Duration,
    started_at: ClockReading,
    /// The time of the next poll, by the monotonic clock.
    next_poll: Duration,
    slow_downs: u32,
    /// The number of consecutive failures.
    failures: u32,
}

/// The next action of the login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollAction {
    /// Wait for this duration, then request the next action.
    Wait(Duration),
    /// Poll the provider.
    Poll,
    /// Stop: the code has expired.
    Expired,
}

/// The result of a poll that did not end the login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollResult {
    /// The member has not decided yet (ERR-43).
    Pending,
    /// The client polls too fast (ERR-44).
    SlowDown,
    /// The request failed, or the response did not come from the provider. The value is its `Retry-After`.
    Failed(Option<Duration>),
}

/// A hint for the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollHint {
    /// The provider sent `slow_down` twice although every poll waited longer than required: the clock of this
    /// machine seems to run fast.
    ClockRunsFast,
}

impl PollSchedule {
    pub(crate) fn new(interval: Duration, expires_in: Duration, now: ClockReading) -> Self {
        let mut polling = Self {
            interval: interval.max(MIN_INTERVAL),
            expires_in,
            started_at: now,
            next_poll: now.monotonic,
            slow_downs: 0,
            failures: 0,
        };
        polling.next_poll = polling.next_poll.saturating_add(polling.padded_interval());
        polling
    }

    pub(crate) fn next_action(&self, now: ClockReading) -> PollAction {
        let left = self.remaining(now);
        if left.is_zero() {
            return PollAction::Expired;
        }
        match self.next_poll.saturating_sub(now.monotonic) {
            Duration::ZERO => PollAction::Poll,
            wait => PollAction::Wait(wait.min(left)),
        }
    }

    /// Records the result of a poll and schedules the next poll from now on. After a suspend there is
    /// therefore one poll instead of a burst.
    pub(crate) fn record_result(&mut self, polled: PollResult, now: ClockReading) -> Option<PollHint> {
        let mut remark = None;
        let mut wait = Duration::ZERO;
        match polled {
            PollResult::Pending => self.failures = 0,
            PollResult::SlowDown => {
                self.failures = 0;
                self.slow_downs = self.slow_downs.saturating_add(1);
                self.interval = self.interval.saturating_add(SLOW_DOWN_STEP);
                if self.slow_downs == 2 {
                    remark = Some(PollHint::ClockRunsFast);
                }
            }
            PollResult::Failed(asked) => {
                self.failures = self.failures.saturating_add(1);
                wait = asked.unwrap_or_default();
            }
        }
        // RFC 8628, 3.5: exponential back-off while polls fail, and the regular interval afterwards.
        let pause = self.padded_interval().saturating_mul(1 << self.failures.saturating_sub(1).min(2));
        self.next_poll = now.monotonic.saturating_add(pause.max(wait));
        remark
    }

    /// Delays the next poll by at least this duration from now, because of a `Retry-After` (CLI-02).
    pub(crate) fn delay_by(&mut self, wait: Duration, now: ClockReading) {
        self.next_poll = self.next_poll.max(now.monotonic.saturating_add(wait));
    }

    /// Returns the remaining lifetime of the code.
    ///
    /// The elapsed time is that of the clock that advanced less, because the other one may have been set
    /// forward or may run fast. If the machine was suspended, the result may be too long, but then the
    /// provider reports that the code has expired. The result is zero at the latest after twice the lifetime
    /// by the monotonic clock.
    pub(crate) fn remaining(&self, now: ClockReading) -> Duration {
        let steady = now.monotonic.saturating_sub(self.started_at.monotonic);
        let wall = now.wall.saturating_since(self.started_at.wall);
        if steady >= self.expires_in.saturating_mul(2) {
            return Duration::ZERO;
        }
        self.expires_in.saturating_sub(steady.min(wall))
    }

    /// Returns the time until the next poll.
    pub(crate) fn until_next_poll(&self, now: ClockReading) -> Duration {
        self.next_poll.saturating_sub(now.monotonic)
    }

    fn padded_interval(&self) -> Duration {
        let percent = if self.slow_downs == 0 { PADDING_PERCENT } else { SLOWED_PADDING_PERCENT };
        self.interval.saturating_mul(percent) / 100
    }
}

#[cfg(test)]
mod tests {
    use dpop_bound::UnixTime;

    use super::*;

    fn at(monotonic: u64, wall: u64) -> ClockReading {
        ClockReading {
            wall: UnixTime::from_secs(1_790_000_000 + wall),
            monotonic: Duration::from_secs(monotonic),
        }
    }

    fn even(seconds: u64) -> ClockReading {
        at(seconds, seconds)
    }

    fn polling(interval: u64) -> PollSchedule {
        PollSchedule::new(Duration::from_secs(interval), Duration::from_secs(600), even(0))
    }

    fn wait(seconds: u64) -> PollAction {
        PollAction::Wait(Duration::from_secs(seconds))
    }

    /// IDP-14, ERR-43: every poll, including the first, waits 20 % longer than the interval.
    #[test]
    fn polls_wait_a_fifth_longer_than_the_interval() {
        let mut polling = polling(5);
        assert_eq!(polling.next_action(even(0)), wait(6));
        assert_eq!(polling.next_action(even(5)), wait(1));
        assert_eq!(polling.next_action(even(6)), PollAction::Poll);
        assert_eq!(polling.record_result(PollResult::Pending, even(7)), None);
        assert_eq!(polling.next_action(even(7)), wait(6));
        assert_eq!(self::polling(0).next_action(even(0)), PollAction::Wait(Duration::from_millis(1200)));
    }

    /// ERR-44: each `slow_down` adds five seconds permanently, and the second one returns a hint.
    #[test]
    fn slow_down_is_permanent() {
        let mut polling = polling(5);
        assert_eq!(polling.record_result(PollResult::SlowDown, even(6)), None);
        assert_eq!(polling.next_action(even(6)), wait(14));
        assert_eq!(polling.record_result(PollResult::Pending, even(20)), None);
        assert_eq!(polling.next_action(even(20)), wait(14));
        assert_eq!(polling.record_result(PollResult::SlowDown, even(34)), Some(PollHint::ClockRunsFast));
        assert_eq!(polling.next_action(even(34)), wait(21));
        assert_eq!(polling.record_result(PollResult::SlowDown, even(55)), None);
        assert_eq!(polling.next_action(even(55)), wait(28));
    }

    /// Failed polls back off, and the next poll is never earlier than `Retry-After`.
    #[test]
    fn failures_slow_polling_until_it_succeeds() {
        let mut polling = polling(5);
        for pause in [6, 12, 24, 24] {
            assert_eq!(polling.record_result(PollResult::Failed(None), even(0)), None);
            assert_eq!(polling.next_action(even(0)), wait(pause));
        }
        polling.record_result(PollResult::Failed(Some(Duration::from_secs(60))), even(0));
        assert_eq!(polling.next_action(even(0)), wait(60));
        polling.record_result(PollResult::Failed(Some(Duration::from_secs(1))), even(0));
        assert_eq!(polling.next_action(even(0)), wait(24));
        polling.record_result(PollResult::Pending, even(0));
        assert_eq!(polling.next_action(even(0)), wait(6));
    }

    /// CLI-02: a `Retry-After` delays the next poll after any result, and never shortens the time between
    /// polls.
    #[test]
    fn poll_waits_for_retry_after() {
        for polled in [PollResult::Pending, PollResult::SlowDown, PollResult::Failed(None)] {
            let mut polling = polling(5);
            polling.record_result(polled, even(6));
            polling.delay_by(Duration::from_secs(30), even(6));
            polling.delay_by(Duration::from_secs(1), even(6));
            assert_eq!(
                (polling.next_action(even(6)), polling.next_action(even(36))),
                (wait(30), PollAction::Poll)
            );
        }
        let mut polling = polling(5);
        polling.record_result(PollResult::Pending, even(6));
        polling.delay_by(Duration::from_secs(1), even(6));
        assert_eq!(polling.next_action(even(6)), wait(6));
    }

    /// ERR-46: there is no poll after the code has expired, and no wait beyond its expiry.
    #[test]
    fn polling_ends_when_the_code_expires() {
        let mut polling = polling(5);
        polling.record_result(PollResult::Pending, even(596));
        assert_eq!(polling.next_action(even(596)), wait(4));
        assert_eq!(polling.next_action(even(600)), PollAction::Expired);
        assert_eq!(polling.remaining(even(590)), Duration::from_secs(10));
    }

    /// After a suspend or a change of the clock there is one poll, and the next one follows after the usual
    /// interval.
    #[test]
    fn suspend_is_followed_by_one_poll() {
        // If the monotonic clock stopped during the suspend, the wait continues.
        let mut polling = polling(5);
        assert_eq!(polling.next_action(at(3, 300)), wait(3));
        // If the monotonic clock continued, there is one poll, and the next one follows after the interval.
        assert_eq!(polling.next_action(at(300, 3)), PollAction::Poll);
        polling.record_result(PollResult::Pending, at(300, 3));
        assert_eq!(polling.next_action(at(300, 3)), wait(6));
        // A changed wall clock neither ends the login early nor prolongs it indefinitely.
        assert_eq!(polling.next_action(at(310, 90_000)), PollAction::Poll);
        assert_eq!(polling.next_action(at(1200, 0)), PollAction::Expired);
    }
}
