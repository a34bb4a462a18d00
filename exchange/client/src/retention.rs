//! How long what is the organisation's is kept here, in whatever it is: one span, and one way to tell that it is over.

use std::time::Duration;

use dpop_bound::UnixTime;

use crate::environment::CORRECTION;

/// How long copies of org stock and demand, and what became of changes of it, are kept at most (LIM-38, OST-14, DEM-10).
pub const ORGANISATION_FOR: Duration = Duration::from_secs(7 * 86_400);

/// A time that lies further ahead was noted by a clock that was wrong, and tells no age.
const AHEAD: Duration = CORRECTION;

/// Whether what may be kept for so long has been, since it was noted. Where nobody can tell how long that is, it has.
pub(crate) fn is_over(since: UnixTime, now: UnixTime, most: Duration) -> bool {
    since > now + AHEAD || now.saturating_since(since) >= most
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LIM-38, OST-14: at the moment itself; and by a clock that was set back by hours.
    #[test]
    fn a_span_is_over_at_its_end_and_where_nobody_can_tell() {
        let since = UnixTime::from_secs(1_790_000_000);
        let check = |now: UnixTime| is_over(since, now, ORGANISATION_FOR);
        let second = Duration::from_secs(1);
        assert!(
            !check(since) && !check(since + (ORGANISATION_FOR - second)) && check(since + ORGANISATION_FOR)
        );
        assert!(!is_over(since + AHEAD, since, ORGANISATION_FOR));
        assert!(is_over(since + AHEAD + second, since, ORGANISATION_FOR));
    }
}
