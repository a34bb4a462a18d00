//! The retention period of the organization's data, used by the replica, the demand and the outbox.

use std::time::Duration;

use dpop_bound::UnixTime;

use crate::environment::CLOCK_TOLERANCE;

/// The maximum age of org stock and demand, and of the outcomes of changes to them (LIM-38, OST-14, DEM-10).
pub const MAX_ORGANISATION_AGE: Duration = Duration::from_secs(7 * 86_400);

/// The tolerated distance of a timestamp into the future. If it is exceeded, a clock was wrong and the age of
/// the data is unknown.
const MAX_CLOCK_SKEW: Duration = CLOCK_TOLERANCE;

/// Returns true if data recorded at `since` has reached the age `max_age`, or if its age is unknown.
pub(crate) fn is_expired(since: UnixTime, now: UnixTime, max_age: Duration) -> bool {
    since > now + MAX_CLOCK_SKEW || now.saturating_since(since) >= max_age
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LIM-38, OST-14: data expires exactly at the limit, and also if the clock was set back by hours.
    #[test]
    fn data_expires_at_the_limit_or_if_age_is_unknown() {
        let since = UnixTime::from_secs(1_790_000_000);
        let check = |now: UnixTime| is_expired(since, now, MAX_ORGANISATION_AGE);
        let second = Duration::from_secs(1);
        assert!(
            !check(since)
                && !check(since + (MAX_ORGANISATION_AGE - second))
                && check(since + MAX_ORGANISATION_AGE)
        );
        assert!(!is_expired(since + MAX_CLOCK_SKEW, since, MAX_ORGANISATION_AGE));
        assert!(is_expired(since + MAX_CLOCK_SKEW + second, since, MAX_ORGANISATION_AGE));
    }
}
