//! The rate limiter of a session: a token bucket, the `Retry-After` times of the exchange, and a circuit
//! breaker that sends one probe at a time during an outage. It is pure state that reads no clock and never
//! blocks.

use std::time::Duration;

use exchange_api::{codes::Code, runtime::operation::Operation};

pub(crate) use crate::retry_after::WaitScope;
use crate::{backoff::Backoff, ownership::Ownership, retry_after::RetryAfterTable};

/// The number of consecutive failures that count as an outage. A single failure may be due to a stale
/// connection.
const OUTAGE_FAILURES: u32 = 2;
/// The duration for which the rate is halved after `DPOP_PROOF_LIMIT` (ERR-09).
const SLOWDOWN_DURATION: Duration = Duration::from_secs(60);

/// The maximum request rate: a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// The sustained number of requests per minute.
    pub per_minute: u32,
    /// The number of requests that may be sent at once after an idle period.
    pub burst: u32,
}

/// The default is 100 requests per minute with bursts of 20. This stays within the 120 requests per minute
/// that the exchange permits for a source address (LIM-18).
impl Default for RateLimit {
    fn default() -> Self {
        Self { per_minute: 100, burst: 20 }
    }
}

/// The rate limiter. All times are by the monotonic clock.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    set_limit: RateLimit,
    backoff: Backoff,
    tokens: f64,
    refilled_at: Duration,
    slow_until: Duration,
    retry_after: RetryAfterTable,
    failures: u32,
    last_failure: Duration,
    open_until: Duration,
    probing: bool,
    unreachable: bool,
}

/// The result of requesting a permit.
#[derive(Debug, PartialEq)]
pub(crate) enum AcquireResult {
    /// The request may be sent now.
    Granted(SendPermit),
    /// The request must not be sent before this time.
    Wait(Duration, WaitReason),
    /// Another request is already probing the server, which had an outage.
    ProbeInProgress,
}

/// A permit for one request. It must be released with [`RateLimiter::release`] in every case.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "an unreleased probe blocks all other requests"]
pub(crate) struct SendPermit {
    sent_at: Duration,
    is_probe: bool,
}

/// The reason a request has to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WaitReason {
    /// The exchange sent a `Retry-After`, with this error code.
    RetryAfter(Option<Code>),
    /// Recent requests failed. `unreachable` is true if no connection could be made.
    Outage { unreachable: bool },
    /// The local rate limit is exhausted.
    RateLimit,
}

/// The state of the server that the result of a request indicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerHealth {
    /// The server responded.
    Up,
    /// The request failed. `unreachable` is true if no connection could be made.
    Down { unreachable: bool },
    /// The request was not sent.
    Unsent,
    /// The call was dropped before a response arrived.
    Unknown,
}

/// The initiator of a call. It determines how long the call waits during an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallInitiator {
    /// The member, who is waiting for the result. During an outage the call may probe the server after the
    /// initial back-off of 5 seconds.
    Member,
    /// The program: during an outage the call waits for the full back-off.
    Program,
}

impl RateLimiter {
    /// Creates a limiter. `gates` contains the `Retry-After` times so far, and receives new ones.
    pub(crate) fn new(budget: RateLimit, backoff: Backoff, gates: RetryAfterTable, now: Duration) -> Self {
        Self {
            set_limit: budget,
            backoff,
            tokens: f64::from(budget.burst.max(1)),
            refilled_at: now,
            slow_until: Duration::ZERO,
            retry_after: gates,
            failures: 0,
            last_failure: Duration::ZERO,
            open_until: Duration::ZERO,
            probing: false,
            unreachable: false,
        }
    }

    /// Changes the limits without refilling the bucket.
    pub(crate) fn set_limit(&mut self, budget: RateLimit, backoff: Backoff, now: Duration) {
        self.refill(now);
        let burst = |budget: RateLimit| f64::from(budget.burst.max(1));
        // Tokens that were used from a larger bucket are subtracted from a smaller one as well.
        self.tokens = (self.tokens + burst(budget) - burst(self.set_limit)).min(burst(budget));
        (self.set_limit, self.backoff) = (budget, backoff);
    }

    /// Requests a permit for a request of this operation by this owner.
    pub(crate) fn try_acquire(
        &mut self,
        operation: &Operation,
        owner: Option<&Ownership>,
        initiator: CallInitiator,
        now: Duration,
    ) -> AcquireResult {
        if let Some((until, code)) = self.retry_after.find_wait(operation, owner, now) {
            return AcquireResult::Wait(until, WaitReason::RetryAfter(code));
        }
        let probe = self.failures >= OUTAGE_FAILURES;
        if probe {
            let until = match initiator {
                CallInitiator::Member => {
                    self.open_until.min(self.last_failure.saturating_add(self.backoff.initial))
                }
                CallInitiator::Program => self.open_until,
            };
            if self.probing {
                return AcquireResult::ProbeInProgress;
            }
            if now < until {
                return AcquireResult::Wait(until, WaitReason::Outage { unreachable: self.unreachable });
            }
        }
        self.refill(now);
        if self.tokens < 1.0 {
            let missing = (1.0 - self.tokens) / self.tokens_per_second(now);
            // One nanosecond is added so that rounding never wakes the caller too early.
            let wait =
                Duration::try_from_secs_f64(missing).unwrap_or(SLOWDOWN_DURATION) + Duration::from_nanos(1);
            return AcquireResult::Wait(now.saturating_add(wait), WaitReason::RateLimit);
        }
        self.tokens -= 1.0;
        self.probing |= probe;
        AcquireResult::Granted(SendPermit { sent_at: now, is_probe: probe })
    }

    /// Releases a permit and records the result of the request. `fraction` is a random number in `0.0..1.0`.
    ///
    /// Returns true if waiting requests should check the limiter again.
    pub(crate) fn release(
        &mut self,
        going: SendPermit,
        health: ServerHealth,
        now: Duration,
        fraction: f64,
    ) -> bool {
        let changed = going.is_probe || self.failures > 0 || health == ServerHealth::Unsent;
        if going.is_probe {
            self.probing = false;
        }
        match health {
            ServerHealth::Up => {
                self.failures = 0;
                self.open_until = Duration::ZERO;
            }
            ServerHealth::Down { unreachable } => {
                // Requests that were in flight at the same time fail together and count as one failure.
                let same = self.failures > 0 && going.sent_at < self.last_failure;
                if !same {
                    self.failures = self.failures.saturating_add(1);
                    self.open_until =
                        now.saturating_add(self.backoff.delay_after(self.failures, None, fraction));
                }
                self.last_failure = self.last_failure.max(now);
                self.unreachable = unreachable;
            }
            ServerHealth::Unsent => self.tokens = (self.tokens + 1.0).min(f64::from(self.set_limit.burst)),
            // A dropped probe has no result, so the current back-off step is repeated. Otherwise, each caller
            // that stops waiting would cause another probe of a stalled server.
            ServerHealth::Unknown if going.is_probe => {
                self.open_until = now.saturating_add(self.backoff.delay_after(self.failures, None, fraction));
                self.last_failure = self.last_failure.max(now);
            }
            ServerHealth::Unknown => {}
        }
        changed
    }

    /// Records a `Retry-After` from the response to a call of this owner.
    pub(crate) fn record_wait(
        &mut self,
        scope: WaitScope,
        code: Option<Code>,
        owner: Option<&Ownership>,
        until: Duration,
        now: Duration,
    ) {
        if code == Some(Code::DpopProofLimit) {
            self.refill(now);
            self.tokens = self.tokens.min(0.0);
            self.slow_until = now.max(until).saturating_add(SLOWDOWN_DURATION);
        }
        self.retry_after.record_wait(scope, code, owner, until);
    }

    /// Adds the tokens that have accumulated since the last refill.
    fn refill(&mut self, now: Duration) {
        let since = now.saturating_sub(self.refilled_at);
        let slow = self.slow_until.min(now).saturating_sub(self.refilled_at);
        let usual = since.saturating_sub(slow);
        let rate = f64::from(self.set_limit.per_minute.max(1)) / 60.0;
        self.tokens += rate * (usual.as_secs_f64() + slow.as_secs_f64() / 2.0);
        self.tokens = self.tokens.min(f64::from(self.set_limit.burst.max(1)));
        self.refilled_at = self.refilled_at.max(now);
    }

    /// Returns the current rate in requests per second.
    fn tokens_per_second(&self, now: Duration) -> f64 {
        let rate = f64::from(self.set_limit.per_minute.max(1)) / 60.0;
        if now < self.slow_until { rate / 2.0 } else { rate }
    }
}

#[cfg(test)]
mod tests {
    use exchange_api::operations::OperationId;

    use super::*;

    const READ: &Operation = OperationId::StockRead.operation();
    const WRITE: &Operation = OperationId::StockWrite.operation();
    const DOWN: ServerHealth = ServerHealth::Down { unreachable: true };

    fn pace() -> RateLimiter {
        RateLimiter::new(RateLimit::default(), Backoff::default(), RetryAfterTable::default(), Duration::ZERO)
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn go(pace: &mut RateLimiter, now: Duration) -> SendPermit {
        match pace.try_acquire(READ, None, CallInitiator::Program, now) {
            AcquireResult::Granted(going) => going,
            other => panic!("{other:?} at {now:?}"),
        }
    }

    fn until(pace: &mut RateLimiter, operation: &Operation, now: u64) -> Option<u64> {
        match pace.try_acquire(operation, None, CallInitiator::Program, at(now)) {
            AcquireResult::Wait(until, _) => Some(until.as_secs()),
            _ => None,
        }
    }

    /// Returns the number of requests that a caller sends in this period if it always has requests to send.
    fn sent(pace: &mut RateLimiter, from: Duration, for_: Duration) -> usize {
        let (mut now, mut sent) = (from, 0);
        while now < from + for_ {
            match pace.try_acquire(READ, None, CallInitiator::Program, now) {
                AcquireResult::Granted(going) => {
                    sent += 1;
                    pace.release(going, ServerHealth::Up, now, 0.0);
                }
                AcquireResult::Wait(until, _) => now = until,
                AcquireResult::ProbeInProgress => panic!("no probe is in flight"),
            }
        }
        sent
    }

    #[test]
    fn requests_per_minute_stay_within_the_limit() {
        let mut pace = pace();
        assert!((119..=120).contains(&sent(&mut pace, at(0), at(60))));
        assert!((99..=100).contains(&sent(&mut pace, at(60), at(60))));
    }

    /// Changing the limits does not refill the bucket.
    #[test]
    fn changed_limits_do_not_refill_the_bucket() {
        let mut pace = pace();
        let burst = |burst| RateLimit { burst, ..RateLimit::default() };
        assert_eq!(sent(&mut pace, at(0), Duration::from_nanos(1)), 20);
        for more in [20, 30, 20, 5, 20] {
            pace.set_limit(burst(more), Backoff::default(), at(0));
        }
        assert!(until(&mut pace, READ, 0).is_some());
        pace.set_limit(burst(30), Backoff::default(), at(0));
        assert_eq!(sent(&mut pace, at(0), Duration::from_nanos(1)), 10);
        let slow = RateLimit { per_minute: 6, burst: 30 };
        pace.set_limit(slow, Backoff::default(), at(0));
        assert_eq!(until(&mut pace, READ, 0), Some(10));
    }

    /// ERR-09: after the `Retry-After` time, the rate is halved for a minute.
    #[test]
    fn proof_limit_halves_the_rate() {
        let mut pace = pace();
        pace.record_wait(WaitScope::Everything, Some(Code::DpopProofLimit), None, at(10), at(0));
        assert_eq!(until(&mut pace, READ, 0), Some(10));
        assert_eq!(until(&mut pace, READ, 9), Some(10));
        // At first, tokens have accumulated at half the rate; then requests are sent at half the rate.
        assert_eq!(sent(&mut pace, at(10), at(60)), 8 + 50);
        assert_eq!(sent(&mut pace, at(70), at(60)), 100);
    }

    /// CLI-02: the `Retry-After` of an error code applies to the whole scope of the code.
    #[test]
    fn waits_apply_to_their_whole_scope() {
        let mut pace = pace();
        pace.record_wait(WaitScope::Writes, Some(Code::ExchangeBudgetExhausted), None, at(100), at(0));
        pace.record_wait(
            WaitScope::Operation("account_check".into()),
            Some(Code::RateLimited),
            None,
            at(3600),
            at(0),
        );
        assert_eq!((until(&mut pace, READ, 1), until(&mut pace, WRITE, 1)), (None, Some(100)));
        pace.record_wait(WaitScope::Everything, Some(Code::RateLimited), None, at(50), at(1));
        pace.record_wait(WaitScope::Everything, Some(Code::RateLimited), None, at(40), at(1));
        assert_eq!((until(&mut pace, READ, 2), until(&mut pace, WRITE, 2)), (Some(50), Some(100)));
        let check = OperationId::AccountCheck.operation();
        assert_eq!((until(&mut pace, READ, 50), until(&mut pace, check, 100)), (None, Some(3600)));
        assert_eq!(until(&mut pace, WRITE, 100), None);
    }

    #[test]
    fn two_failures_are_an_outage() {
        let mut pace = pace();
        let first = go(&mut pace, at(0));
        pace.release(first, DOWN, at(1), 0.0);
        let second = go(&mut pace, at(6));
        let third = go(&mut pace, at(6));
        pace.release(second, DOWN, at(7), 0.0);
        pace.release(third, DOWN, at(8), 0.0);
        // The second failure causes a back-off of 10 s, because the third request was already in flight.
        let expect = AcquireResult::Wait(at(17), WaitReason::Outage { unreachable: true });
        assert_eq!(pace.try_acquire(READ, None, CallInitiator::Program, at(8)), expect);
        // A member waits less, but at least for the first back-off step.
        assert_eq!(
            pace.try_acquire(READ, None, CallInitiator::Member, at(8)),
            AcquireResult::Wait(at(13), WaitReason::Outage { unreachable: true })
        );
        let probe = go(&mut pace, at(17));
        assert_eq!(
            pace.try_acquire(READ, None, CallInitiator::Member, at(30)),
            AcquireResult::ProbeInProgress
        );
        pace.release(probe, DOWN, at(40), 0.0);
        assert_eq!(until(&mut pace, READ, 40), Some(60));
        let probe = go(&mut pace, at(60));
        pace.release(probe, ServerHealth::Up, at(61), 0.0);
        assert!(matches!(
            pace.try_acquire(READ, None, CallInitiator::Program, at(61)),
            AcquireResult::Granted(SendPermit { is_probe: false, .. })
        ));
    }

    /// LIM-16: after a dropped probe the back-off step is repeated; it is neither skipped nor extended.
    #[test]
    fn dropped_probe_repeats_its_backoff_step() {
        let mut pace = pace();
        for now in [0, 10] {
            let going = go(&mut pace, at(now));
            pace.release(going, DOWN, at(now), 0.0);
        }
        for probed in [20, 32] {
            let probe = go(&mut pace, at(probed));
            assert!(pace.release(probe, ServerHealth::Unknown, at(probed + 2), 0.0));
            assert_eq!(until(&mut pace, READ, probed + 2), Some(probed + 12));
            let by_member = pace.try_acquire(READ, None, CallInitiator::Member, at(probed + 2));
            assert_eq!(
                by_member,
                AcquireResult::Wait(at(probed + 7), WaitReason::Outage { unreachable: true })
            );
        }
        let probe = go(&mut pace, at(44));
        pace.release(probe, ServerHealth::Up, at(45), 0.0);
        // Dropping a request that is not a probe has no effect.
        let going = go(&mut pace, at(46));
        pace.release(going, ServerHealth::Unknown, at(47), 0.0);
        assert!(matches!(
            pace.try_acquire(READ, None, CallInitiator::Program, at(47)),
            AcquireResult::Granted(SendPermit { is_probe: false, .. })
        ));
    }

    /// If a probe was not sent, another request may probe.
    #[test]
    fn unsent_probe_costs_nothing() {
        let mut pace = pace();
        for now in [0, 10] {
            let going = go(&mut pace, at(now));
            pace.release(going, DOWN, at(now), 0.0);
        }
        let left = pace.tokens;
        let probe = go(&mut pace, at(20));
        pace.release(probe, ServerHealth::Unsent, at(20), 0.0);
        assert!(pace.tokens > left);
        assert!(matches!(
            pace.try_acquire(READ, None, CallInitiator::Program, at(20)),
            AcquireResult::Granted(SendPermit { is_probe: true, .. })
        ));
    }

    /// ERR-09: an infinite `Retry-After` causes no overflow.
    #[test]
    fn infinite_wait_does_not_overflow() {
        let mut pace = pace();
        pace.record_wait(WaitScope::Everything, Some(Code::DpopProofLimit), None, Duration::MAX, at(1));
        assert!(matches!(
            pace.try_acquire(READ, None, CallInitiator::Program, at(2)),
            AcquireResult::Wait(Duration::MAX, _)
        ));
        let check = OperationId::AccountCheck.operation();
        assert_eq!(WaitScope::for_code(Some(&Code::ExchangeDisabled), check), Some(WaitScope::Everything));
        assert_eq!(
            WaitScope::for_code(Some(&Code::RateLimited), check),
            Some(WaitScope::for_operation(check))
        );
    }
}
