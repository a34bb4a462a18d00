//! How fast the whole client may send: one budget of requests, what servers asked for, and a breaker that sends
//! one request at a time while nothing gets through. Decides and remembers; reads no clock and waits for nobody.

use std::time::Duration;

use exchange_api::{codes::Code, runtime::operation::Operation};

pub(crate) use crate::gates::Scope;
use crate::{backoff::Backoff, gates::Gates, whose::Whose};

/// So many failures in a row are an outage: one may be a connection that had grown old.
const OUTAGE: u32 = 2;
/// For so long requests are sent half as fast after `DPOP_PROOF_LIMIT` (ERR-09).
const SLOW_FOR: Duration = Duration::from_secs(60);

/// How many requests may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// So many a minute for long.
    pub per_minute: u32,
    /// So many at once after a rest.
    pub burst: u32,
}

/// A hundred a minute, twenty at once: no more in any minute than the 120 that the exchange allows, which one
/// source address shares (LIM-18).
impl Default for Budget {
    fn default() -> Self {
        Self { per_minute: 100, burst: 20 }
    }
}

/// Times are of the monotonic clock.
#[derive(Debug)]
pub(crate) struct Pace {
    budget: Budget,
    backoff: Backoff,
    left: f64,
    filled: Duration,
    slow_until: Duration,
    gates: Gates,
    failures: u32,
    failed: Duration,
    closed_until: Duration,
    probing: bool,
    unreachable: bool,
}

/// Whether a request may leave.
#[derive(Debug, PartialEq)]
pub(crate) enum Pass {
    /// Now.
    Go(Going),
    /// Not before this.
    Wait(Duration, Held),
    /// Another request is trying whether the server is back.
    Probing,
}

/// A request that may leave; to be given back with [`Pace::came_back`], whatever becomes of it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a probe that never comes back holds up all others"]
pub(crate) struct Going {
    at: Duration,
    probe: bool,
}

/// Why a request is held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The exchange asked for it, by this code.
    Asked(Option<Code>),
    /// Nothing got through a moment ago; whether there was a connection.
    Down { unreachable: bool },
    /// The budget of this side.
    Budget,
}

/// What became of a request, as far as others are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// The exchange answered.
    Up,
    /// Nothing got through.
    Down { unreachable: bool },
    /// It was never sent.
    Unsent,
    /// It was given up before an answer came.
    Unknown,
}

/// Who wants a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// The member, who is waiting: during an outage it may try anew after five seconds.
    ByMember,
    /// The program itself.
    ByProgram,
}

impl Pace {
    /// `gates` are what the exchange asked for already, and where what it asks for from now on is put.
    pub(crate) fn new(budget: Budget, backoff: Backoff, gates: Gates, now: Duration) -> Self {
        Self {
            budget,
            backoff,
            left: f64::from(budget.burst.max(1)),
            filled: now,
            slow_until: Duration::ZERO,
            gates,
            failures: 0,
            failed: Duration::ZERO,
            closed_until: Duration::ZERO,
            probing: false,
            unreachable: false,
        }
    }

    /// Other limits from now on. What was used up is.
    pub(crate) fn limit(&mut self, budget: Budget, backoff: Backoff, now: Duration) {
        self.fill(now);
        let burst = |budget: Budget| f64::from(budget.burst.max(1));
        // What was used beyond a smaller one is still to be made up for.
        self.left = (self.left + burst(budget) - burst(self.budget)).min(burst(budget));
        (self.budget, self.backoff) = (budget, backoff);
    }

    /// Whether a request of this operation may leave, for whoever is signed in.
    pub(crate) fn pass(
        &mut self,
        operation: &Operation,
        whose: Option<&Whose>,
        asked: Asked,
        now: Duration,
    ) -> Pass {
        if let Some((until, code)) = self.gates.hold(operation, whose, now) {
            return Pass::Wait(until, Held::Asked(code));
        }
        let probe = self.failures >= OUTAGE;
        if probe {
            let until = match asked {
                Asked::ByMember => self.closed_until.min(self.failed.saturating_add(self.backoff.first)),
                Asked::ByProgram => self.closed_until,
            };
            if self.probing {
                return Pass::Probing;
            }
            if now < until {
                return Pass::Wait(until, Held::Down { unreachable: self.unreachable });
            }
        }
        self.fill(now);
        if self.left < 1.0 {
            let missing = (1.0 - self.left) / self.rate(now);
            // One nanosecond more, so that nobody comes back too early for a rounding.
            let wait = Duration::try_from_secs_f64(missing).unwrap_or(SLOW_FOR) + Duration::from_nanos(1);
            return Pass::Wait(now.saturating_add(wait), Held::Budget);
        }
        self.left -= 1.0;
        self.probing |= probe;
        Pass::Go(Going { at: now, probe })
    }

    /// What became of a request. `fraction` is a random number from 0 to below 1.
    ///
    /// Whether those who are held back may look again.
    pub(crate) fn came_back(&mut self, going: Going, health: Health, now: Duration, fraction: f64) -> bool {
        let changed = going.probe || self.failures > 0 || health == Health::Unsent;
        if going.probe {
            self.probing = false;
        }
        match health {
            Health::Up => {
                self.failures = 0;
                self.closed_until = Duration::ZERO;
            }
            Health::Down { unreachable } => {
                // Those that were on their way together fail together: that is one failure.
                let same = self.failures > 0 && going.at < self.failed;
                if !same {
                    self.failures = self.failures.saturating_add(1);
                    self.closed_until = now.saturating_add(self.backoff.after(self.failures, None, fraction));
                }
                self.failed = self.failed.max(now);
                self.unreachable = unreachable;
            }
            Health::Unsent => self.left = (self.left + 1.0).min(f64::from(self.budget.burst)),
            // A probe that found nothing out: the same step once more, or a server that stalls would be asked as often as
            // callers lose patience.
            Health::Unknown if going.probe => {
                self.closed_until = now.saturating_add(self.backoff.after(self.failures, None, fraction));
                self.failed = self.failed.max(now);
            }
            Health::Unknown => {}
        }
        changed
    }

    /// A server asks to wait until a moment, in its answer to a call of somebody's.
    pub(crate) fn asked(
        &mut self,
        scope: Scope,
        code: Option<Code>,
        whose: Option<&Whose>,
        until: Duration,
        now: Duration,
    ) {
        if code == Some(Code::DpopProofLimit) {
            self.fill(now);
            self.left = self.left.min(0.0);
            self.slow_until = now.max(until).saturating_add(SLOW_FOR);
        }
        self.gates.asked(scope, code, whose, until);
    }

    /// Adds what has become free.
    fn fill(&mut self, now: Duration) {
        let since = now.saturating_sub(self.filled);
        let slow = self.slow_until.min(now).saturating_sub(self.filled);
        let usual = since.saturating_sub(slow);
        let rate = f64::from(self.budget.per_minute.max(1)) / 60.0;
        self.left += rate * (usual.as_secs_f64() + slow.as_secs_f64() / 2.0);
        self.left = self.left.min(f64::from(self.budget.burst.max(1)));
        self.filled = self.filled.max(now);
    }

    /// Requests a second.
    fn rate(&self, now: Duration) -> f64 {
        let rate = f64::from(self.budget.per_minute.max(1)) / 60.0;
        if now < self.slow_until { rate / 2.0 } else { rate }
    }
}

#[cfg(test)]
mod tests {
    use exchange_api::operations::OperationId;

    use super::*;

    const READ: &Operation = OperationId::StockRead.operation();
    const WRITE: &Operation = OperationId::StockWrite.operation();
    const DOWN: Health = Health::Down { unreachable: true };

    fn pace() -> Pace {
        Pace::new(Budget::default(), Backoff::default(), Gates::default(), Duration::ZERO)
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn go(pace: &mut Pace, now: Duration) -> Going {
        match pace.pass(READ, None, Asked::ByProgram, now) {
            Pass::Go(going) => going,
            other => panic!("{other:?} at {now:?}"),
        }
    }

    fn until(pace: &mut Pace, operation: &Operation, now: u64) -> Option<u64> {
        match pace.pass(operation, None, Asked::ByProgram, at(now)) {
            Pass::Wait(until, _) => Some(until.as_secs()),
            _ => None,
        }
    }

    /// How many requests leave in so many seconds by somebody who always has one.
    fn sent(pace: &mut Pace, from: Duration, for_: Duration) -> usize {
        let (mut now, mut sent) = (from, 0);
        while now < from + for_ {
            match pace.pass(READ, None, Asked::ByProgram, now) {
                Pass::Go(going) => {
                    sent += 1;
                    pace.came_back(going, Health::Up, now, 0.0);
                }
                Pass::Wait(until, _) => now = until,
                Pass::Probing => panic!("nobody probes"),
            }
        }
        sent
    }

    #[test]
    fn a_minute_has_room_for_no_more_than_the_exchange_allows() {
        let mut pace = pace();
        assert!((119..=120).contains(&sent(&mut pace, at(0), at(60))));
        assert!((99..=100).contains(&sent(&mut pace, at(60), at(60))));
    }

    /// Who sets other limits gives nobody a second budget.
    #[test]
    fn other_limits_give_nothing_anew() {
        let mut pace = pace();
        let burst = |burst| Budget { burst, ..Budget::default() };
        assert_eq!(sent(&mut pace, at(0), Duration::from_nanos(1)), 20);
        for more in [20, 30, 20, 5, 20] {
            pace.limit(burst(more), Backoff::default(), at(0));
        }
        assert!(until(&mut pace, READ, 0).is_some());
        pace.limit(burst(30), Backoff::default(), at(0));
        assert_eq!(sent(&mut pace, at(0), Duration::from_nanos(1)), 10);
        let slow = Budget { per_minute: 6, burst: 30 };
        pace.limit(slow, Backoff::default(), at(0));
        assert_eq!(until(&mut pace, READ, 0), Some(10));
    }

    /// ERR-09: more slowly, for a minute after what was asked for.
    #[test]
    fn a_proof_limit_halves_the_pace() {
        let mut pace = pace();
        pace.asked(Scope::Everything, Some(Code::DpopProofLimit), None, at(10), at(0));
        assert_eq!(until(&mut pace, READ, 0), Some(10));
        assert_eq!(until(&mut pace, READ, 9), Some(10));
        // What became free meanwhile at half the rate, and half the rate.
        assert_eq!(sent(&mut pace, at(10), at(60)), 8 + 50);
        assert_eq!(sent(&mut pace, at(70), at(60)), 100);
    }

    /// CLI-02: what is asked of one code holds back all whom it concerns.
    #[test]
    fn nobody_goes_before_the_server_wants_it() {
        let mut pace = pace();
        pace.asked(Scope::Writes, Some(Code::ExchangeBudgetExhausted), None, at(100), at(0));
        pace.asked(Scope::Operation("account_check".into()), Some(Code::RateLimited), None, at(3600), at(0));
        assert_eq!((until(&mut pace, READ, 1), until(&mut pace, WRITE, 1)), (None, Some(100)));
        pace.asked(Scope::Everything, Some(Code::RateLimited), None, at(50), at(1));
        pace.asked(Scope::Everything, Some(Code::RateLimited), None, at(40), at(1));
        assert_eq!((until(&mut pace, READ, 2), until(&mut pace, WRITE, 2)), (Some(50), Some(100)));
        let check = OperationId::AccountCheck.operation();
        assert_eq!((until(&mut pace, READ, 50), until(&mut pace, check, 100)), (None, Some(3600)));
        assert_eq!(until(&mut pace, WRITE, 100), None);
    }

    #[test]
    fn one_failure_is_no_outage_and_two_are() {
        let mut pace = pace();
        let first = go(&mut pace, at(0));
        pace.came_back(first, DOWN, at(1), 0.0);
        let second = go(&mut pace, at(6));
        let third = go(&mut pace, at(6));
        pace.came_back(second, DOWN, at(7), 0.0);
        pace.came_back(third, DOWN, at(8), 0.0);
        // The second failure, 10 s: the third was on its way already.
        let expect = Pass::Wait(at(17), Held::Down { unreachable: true });
        assert_eq!(pace.pass(READ, None, Asked::ByProgram, at(8)), expect);
        // A member does not wait as long, but no shorter than the first step.
        assert_eq!(
            pace.pass(READ, None, Asked::ByMember, at(8)),
            Pass::Wait(at(13), Held::Down { unreachable: true })
        );
        let probe = go(&mut pace, at(17));
        assert_eq!(pace.pass(READ, None, Asked::ByMember, at(30)), Pass::Probing);
        pace.came_back(probe, DOWN, at(40), 0.0);
        assert_eq!(until(&mut pace, READ, 40), Some(60));
        let probe = go(&mut pace, at(60));
        pace.came_back(probe, Health::Up, at(61), 0.0);
        assert!(matches!(
            pace.pass(READ, None, Asked::ByProgram, at(61)),
            Pass::Go(Going { probe: false, .. })
        ));
    }

    /// LIM-16: a probe that its caller gave up is no reason for the next one to go at once, nor one to wait for longer.
    #[test]
    fn a_probe_that_was_given_up_begins_its_step_anew() {
        let mut pace = pace();
        for now in [0, 10] {
            let going = go(&mut pace, at(now));
            pace.came_back(going, DOWN, at(now), 0.0);
        }
        for probed in [20, 32] {
            let probe = go(&mut pace, at(probed));
            assert!(pace.came_back(probe, Health::Unknown, at(probed + 2), 0.0));
            assert_eq!(until(&mut pace, READ, probed + 2), Some(probed + 12));
            let by_member = pace.pass(READ, None, Asked::ByMember, at(probed + 2));
            assert_eq!(by_member, Pass::Wait(at(probed + 7), Held::Down { unreachable: true }));
        }
        let probe = go(&mut pace, at(44));
        pace.came_back(probe, Health::Up, at(45), 0.0);
        // What is no probe tells nothing by that.
        let going = go(&mut pace, at(46));
        pace.came_back(going, Health::Unknown, at(47), 0.0);
        assert!(matches!(
            pace.pass(READ, None, Asked::ByProgram, at(47)),
            Pass::Go(Going { probe: false, .. })
        ));
    }

    /// A probe that was not sent lets another try.
    #[test]
    fn a_probe_that_was_not_sent_costs_nothing() {
        let mut pace = pace();
        for now in [0, 10] {
            let going = go(&mut pace, at(now));
            pace.came_back(going, DOWN, at(now), 0.0);
        }
        let left = pace.left;
        let probe = go(&mut pace, at(20));
        pace.came_back(probe, Health::Unsent, at(20), 0.0);
        assert!(pace.left > left);
        assert!(matches!(
            pace.pass(READ, None, Asked::ByProgram, at(20)),
            Pass::Go(Going { probe: true, .. })
        ));
    }

    /// ERR-09: for ever is a long time, and no fault.
    #[test]
    fn a_wait_without_end_is_one() {
        let mut pace = pace();
        pace.asked(Scope::Everything, Some(Code::DpopProofLimit), None, Duration::MAX, at(1));
        assert!(matches!(pace.pass(READ, None, Asked::ByProgram, at(2)), Pass::Wait(Duration::MAX, _)));
        let check = OperationId::AccountCheck.operation();
        assert_eq!(Scope::of(Some(&Code::ExchangeDisabled), check), Some(Scope::Everything));
        assert_eq!(Scope::of(Some(&Code::RateLimited), check), Some(Scope::only(check)));
    }
}
