//! The times of removed records, as a small set of time spans. A proof whose record was removed would
//! otherwise be accepted again when the clock is set back or the window is widened (RFC 9449, 11.1).

use super::RetentionWindow;

/// At most [`ForgottenTimes::MAX_SPANS`] closed, disjoint, sorted spans of `iat` that contain every inserted
/// time.
///
/// A span may also contain times that were never inserted. When there are too many spans, two neighbors are
/// merged: first those in the past, where proofs are invalid anyway, and among those the closest ones. A time
/// that is an hour ahead therefore stays separate.
#[derive(Debug, Default)]
pub(super) struct ForgottenTimes(Vec<TimeSpan>);

#[derive(Clone, Copy, Debug)]
struct TimeSpan {
    first: u64,
    last: u64,
}

impl ForgottenTimes {
    /// One span for the past, and enough spans for more clock steps than any machine should have.
    pub(super) const MAX_SPANS: usize = 8;

    /// Returns true if a record with this `iat` may have been removed.
    pub(super) fn contains(&self, iat: u64) -> bool {
        self.0.iter().any(|span| (span.first..=span.last).contains(&iat))
    }

    /// Inserts the time of a record that was removed.
    pub(super) fn insert(&mut self, iat: u64, retention: RetentionWindow) {
        if self.contains(iat) {
            return;
        }
        let at = self.0.partition_point(|span| span.last < iat);
        self.0.insert(at, TimeSpan { first: iat, last: iat });
        if self.0.len() > Self::MAX_SPANS {
            self.merge_closest_spans(retention);
        }
    }

    #[cfg(test)]
    pub(super) fn span_count(&self) -> usize {
        self.0.len()
    }

    fn merge_closest_spans(&mut self, retention: RetentionWindow) {
        let pairs = self.0.iter().zip(self.0.iter().skip(1)).enumerate();
        let order =
            pairs.map(|(index, (a, b))| (!retention.is_expired(b.last), b.first.abs_diff(a.last), index));
        if let Some((_, _, index)) = order.min() {
            let after = self.0.remove(index + 1);
            self.0[index].last = after.last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProofWindow, UnixTime};

    const NOW: u64 = 500;

    /// Inserts the times and asserts which seconds from 0 to `end` are rejected.
    #[track_caller]
    fn check(name: &str, added: impl IntoIterator<Item = u64>, end: u64, expect: &[u64]) {
        let mut forgotten = ForgottenTimes::default();
        let retention =
            RetentionWindow { window: ProofWindow::from_secs(0, 0), now: UnixTime::from_secs(NOW) };
        added.into_iter().for_each(|iat| forgotten.insert(iat, retention));
        let refused: Vec<u64> = (0..=end).filter(|iat| forgotten.contains(*iat)).collect();
        assert_eq!(refused, expect, "{name}");
        assert!(forgotten.0.len() <= ForgottenTimes::MAX_SPANS, "{name}");
    }

    /// DPP-18: the closest spans are merged, and no inserted time is lost.
    #[test]
    fn closest_spans_are_joined_without_losing_times() {
        check("nothing", [], 9, &[]);
        check("the ends alone", [3, 1, 3, 6], 9, &[1, 3, 6]);
        check("as many as there are spans", (0..8).map(|i| 2 * i), 15, &[0, 2, 4, 6, 8, 10, 12, 14]);
        check(
            "one more: the first of the closest are joined",
            (0..9).map(|i| 2 * i),
            17,
            &[0, 1, 2, 4, 6, 8, 10, 12, 14, 16],
        );
        check("inside a span", (0..9).map(|i| 2 * i).chain([1]), 3, &[0, 1, 2]);
        check(
            "far ahead stays apart, whatever the past is",
            [900, 906].into_iter().chain((0..100).map(|i| 5 * i)),
            1000,
            &(0..=470).chain([475, 480, 485, 490, 495, 900, 906]).collect::<Vec<_>>(),
        );
        check(
            "the past is joined before the closest",
            [501, 502, 0, 100, 200, 300, 400, 450, 499],
            503,
            &[0, 100, 200, 300, 400].into_iter().chain(450..=499).chain([501, 502]).collect::<Vec<_>>(),
        );
        check(
            "the closest when one is past",
            (499..=507).rev().chain([509]),
            510,
            &[499, 500, 501, 502, 503, 504, 505, 506, 507, 509],
        );
    }
}
