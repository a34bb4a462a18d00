//! The attempt counter of a request, used for nonce retries and for clock retries.

/// The position of a transmission among the at most two attempts for one retry reason.
///
/// A request may be retried once with a nonce and once with a corrected clock. The two counters are
/// independent: a nonce challenge on the first request leaves the clock retry available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attempt {
    /// The request was not retried for this reason yet.
    First,
    /// The request was already retried for this reason.
    Retry,
}
