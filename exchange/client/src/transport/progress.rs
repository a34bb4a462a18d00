//! Where a call stands, and what comes next: the counting of attempts, pure.

use exchange_api::runtime::operation::{Operation, Repeat};

use super::Patience;
use crate::verdict::Verdict;

/// A write whose outcome nobody knows is sent so often again under its key; then the feed tells.
const UNKNOWN_RESENDS: u32 = 3;
/// An answer that cannot be read is asked for so often again.
const GARBLED_RESENDS: u32 = 2;

/// Where a call stands.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// How many requests counted.
    attempts: u32,
    renewals: u32,
    unknowns: u32,
    garbled: u32,
    /// Whether the exchange may have carried it out already.
    pub(super) maybe_done: bool,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The caller gets what came.
    Stop,
    /// With another token, at once.
    Renew,
    /// The same again, after a back-off for so many failures in a row.
    Again {
        /// At least one.
        failures: u32,
    },
}

impl Progress {
    /// What comes after a verdict.
    pub(super) fn after(&mut self, verdict: Verdict, operation: &Operation, patience: &Patience) -> Next {
        let writes = operation.repeat != Repeat::Safe;
        let goes_on = match verdict {
            Verdict::Done => return Next::Stop,
            Verdict::Renew => {
                self.renewals += 1;
                return if self.renewals == 1 { Next::Renew } else { Next::Stop };
            }
            Verdict::Wait => true,
            Verdict::Unknown => {
                self.unknowns += 1;
                self.maybe_done |= writes;
                !writes || self.unknowns <= UNKNOWN_RESENDS
            }
            Verdict::Garbled => {
                self.garbled += 1;
                self.garbled <= GARBLED_RESENDS
            }
        };
        self.attempts += 1;
        if goes_on && self.attempts < patience.attempts {
            Next::Again { failures: self.attempts }
        } else {
            Next::Stop
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use exchange_api::operations::OperationId;

    use super::*;
    use crate::pace::Asked;

    const MANY: Patience = Patience::new(99, Duration::MAX, Asked::ByProgram);

    /// How many requests a call of this operation makes of the same verdict for ever.
    fn requests(operation: OperationId, verdict: Verdict, patience: &Patience) -> u32 {
        let mut progress = Progress::default();
        let mut requests = 1;
        while progress.after(verdict, operation.operation(), patience) != Next::Stop {
            requests += 1;
        }
        requests
    }

    #[test]
    fn every_way_to_go_on_ends() {
        use OperationId::{StockRead, StockWrite};
        assert_eq!(requests(StockRead, Verdict::Done, &MANY), 1);
        assert_eq!(requests(StockRead, Verdict::Renew, &MANY), 2);
        assert_eq!(requests(StockRead, Verdict::Garbled, &MANY), 3);
        assert_eq!(requests(StockRead, Verdict::Unknown, &MANY), 99);
        assert_eq!(requests(StockWrite, Verdict::Unknown, &MANY), 4);
        assert_eq!(requests(StockWrite, Verdict::Wait, &MANY), 99);
        assert_eq!(requests(StockWrite, Verdict::Wait, &Patience::INTERACTIVE), 3);
    }
}
