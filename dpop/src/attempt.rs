//! How often a request was sent for one reason: what both of a client's decisions to resend ask.

/// Which of at most two.
///
/// A request may be sent again once for a nonce and once for the clock. Each is counted
/// by itself: a challenge on the first request does not use up the other reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attempt {
    /// The request was not sent again for this reason yet.
    First,
    /// It was.
    Retry,
}
