//! The times of forgotten records: what keeps a forgotten proof from being accepted again when the clock
//! steps back, or the window is widened (RFC 9449, 11.1). A few spans; which records they had is not known any
//! more.

use super::Held;

/// At most [`Forgotten::SPANS`] closed spans of `iat`, in order and apart, that hold every one ever added.
///
/// Between two of one span may lie times that were never added. Spans of the past are joined first,
/// for there nothing counts anyway, and of those, as of the others, the closest. So a time that lies an
/// hour ahead stays by itself, however long it was quiet before.
#[derive(Debug, Default)]
pub(super) struct Forgotten(Vec<Span>);

#[derive(Clone, Copy, Debug)]
struct Span {
    first: u64,
    last: u64,
}

impl Forgotten {
    /// One for the past, and room for one clock accident more than any machine should have.
    pub(super) const SPANS: usize = 8;

    /// Whether a record with this `iat` may have been forgotten.
    pub(super) fn contains(&self, iat: u64) -> bool {
        self.0.iter().any(|span| (span.first..=span.last).contains(&iat))
    }

    /// Adds the time of a record that is not held any more.
    pub(super) fn add(&mut self, iat: u64, held: Held) {
        if self.contains(iat) {
            return;
        }
        let at = self.0.partition_point(|span| span.last < iat);
        self.0.insert(at, Span { first: iat, last: iat });
        if self.0.len() > Self::SPANS {
            self.join_two(held);
        }
    }

    #[cfg(test)]
    pub(super) fn spans(&self) -> usize {
        self.0.len()
    }

    fn join_two(&mut self, held: Held) {
        let pairs = self.0.iter().zip(self.0.iter().skip(1)).enumerate();
        let order = pairs.map(|(at, (a, b))| (!held.is_over(b.last), b.first.abs_diff(a.last), at));
        if let Some((_, _, at)) = order.min() {
            let after = self.0.remove(at + 1);
            self.0[at].last = after.last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{UnixTime, Window};

    const NOW: u64 = 500;

    /// After adding these seconds: which seconds from 0 to `upto` are refused.
    #[track_caller]
    fn check(name: &str, added: impl IntoIterator<Item = u64>, upto: u64, expect: &[u64]) {
        let mut forgotten = Forgotten::default();
        let held = Held { window: Window::seconds(0, 0), now: UnixTime::from_secs(NOW) };
        added.into_iter().for_each(|iat| forgotten.add(iat, held));
        let refused: Vec<u64> = (0..=upto).filter(|iat| forgotten.contains(*iat)).collect();
        assert_eq!(refused, expect, "{name}");
        assert!(forgotten.0.len() <= Forgotten::SPANS, "{name}");
    }

    /// DPP-18
    #[test]
    fn the_closest_spans_are_joined_and_no_time_is_lost() {
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
