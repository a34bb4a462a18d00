//! The attempts of one call, and the next step after each verdict. This module is pure state without I/O.

use exchange_api::runtime::operation::{Operation, RepeatSafety};

use super::RetryPolicy;
use crate::verdict::Verdict;

/// The maximum number of retries of a write with an unknown outcome. After that, the outcome can be found in
/// the feed.
const MAX_UNKNOWN_RESENDS: u32 = 3;
/// The maximum number of retries of a read whose response is unreadable.
const MAX_UNREADABLE_RESENDS: u32 = 2;

/// The counters that limit the attempts of a call.
#[derive(Debug, Default)]
pub(super) struct CallProgress {
    /// The number of requests that counted as attempts.
    attempts: u32,
    renewals: u32,
    unknown_outcomes: u32,
    unreadable_responses: u32,
    /// True if the exchange may have applied the call.
    pub(super) maybe_applied: bool,
}

/// The next step of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    /// Return the last response to the caller.
    Stop,
    /// Renew the token and retry immediately.
    RenewToken,
    /// Retry after a back-off for this number of failures.
    Resend {
        /// The number of consecutive failures, at least 1.
        failures: u32,
    },
}

impl CallProgress {
    /// Returns the next step after a verdict.
    pub(super) fn next_step(
        &mut self,
        verdict: Verdict,
        operation: &Operation,
        patience: &RetryPolicy,
    ) -> NextStep {
        let writes = operation.repeat != RepeatSafety::Safe;
        let goes_on = match verdict {
            Verdict::Done => return NextStep::Stop,
            Verdict::RenewToken => {
                self.renewals += 1;
                return if self.renewals == 1 { NextStep::RenewToken } else { NextStep::Stop };
            }
            Verdict::Wait => true,
            Verdict::Unknown => {
                self.unknown_outcomes += 1;
                self.maybe_applied |= writes;
                !writes || self.unknown_outcomes <= MAX_UNKNOWN_RESENDS
            }
            Verdict::Unreadable => {
                self.unreadable_responses += 1;
                self.unreadable_responses <= MAX_UNREADABLE_RESENDS
            }
        };
        self.attempts += 1;
        if goes_on && self.attempts < patience.max_attempts {
            NextStep::Resend { failures: self.attempts }
        } else {
            NextStep::Stop
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use exchange_api::operations::OperationId;

    use super::*;
    use crate::rate_limiter::CallInitiator;

    const MANY_ATTEMPTS: RetryPolicy = RetryPolicy::new(99, Duration::MAX, CallInitiator::Program);

    /// Returns the number of requests of a call if each of them gets the same verdict.
    fn requests(operation: OperationId, verdict: Verdict, patience: &RetryPolicy) -> u32 {
        let mut progress = CallProgress::default();
        let mut requests = 1;
        while progress.next_step(verdict, operation.operation(), patience) != NextStep::Stop {
            requests += 1;
        }
        requests
    }

    #[test]
    fn every_retry_path_ends() {
        use OperationId::{StockRead, StockWrite};
        assert_eq!(requests(StockRead, Verdict::Done, &MANY_ATTEMPTS), 1);
        assert_eq!(requests(StockRead, Verdict::RenewToken, &MANY_ATTEMPTS), 2);
        assert_eq!(requests(StockRead, Verdict::Unreadable, &MANY_ATTEMPTS), 3);
        assert_eq!(requests(StockRead, Verdict::Unknown, &MANY_ATTEMPTS), 99);
        assert_eq!(requests(StockWrite, Verdict::Unknown, &MANY_ATTEMPTS), 4);
        assert_eq!(requests(StockWrite, Verdict::Wait, &MANY_ATTEMPTS), 99);
        assert_eq!(requests(StockWrite, Verdict::Wait, &RetryPolicy::INTERACTIVE), 3);
    }
}
