//! How long to wait before a request is sent again (LIM-16, CLI-02).

use std::time::Duration;

/// Starts at 5 seconds, doubles up to 5 minutes, with jitter of up to a tenth; never less than the server
/// asked for (LIM-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The first wait.
    pub first: Duration,
    /// The longest wait that is not asked for by the server.
    pub most: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_secs(5), most: Duration::from_secs(300) }
    }
}

impl Backoff {
    /// The wait after so many failures in a row, at least one. `asked` is what `Retry-After` said, which is a
    /// floor and never cut; `fraction` is a random number from 0 to below 1.
    #[must_use]
    pub fn after(&self, failures: u32, asked: Option<Duration>, fraction: f64) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        let step = self.first.saturating_mul(doubled).min(self.most);
        let own = jittered(step, fraction).min(self.most);
        asked.map_or(own, |asked| own.max(jittered(asked, fraction)))
    }
}

/// Up to a tenth longer, never shorter.
fn jittered(time: Duration, fraction: f64) -> Duration {
    let share = fraction.clamp(0.0, 1.0) / 10.0;
    // Beyond what a float can hold nobody lives to see the jitter.
    Duration::try_from_secs_f64(time.as_secs_f64() * share).map_or(time, |more| time.saturating_add(more))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LIM-16: 5 s, doubled, 5 minutes at most.
    #[test]
    fn waits_double_from_five_seconds_to_five_minutes() {
        let waits = |fraction| (1..9).map(move |n| Backoff::default().after(n, None, fraction).as_secs_f64());
        assert_eq!(waits(0.0).collect::<Vec<_>>(), [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]);
        assert_eq!(waits(0.5).collect::<Vec<_>>(), [5.25, 10.5, 21.0, 42.0, 84.0, 168.0, 300.0, 300.0]);
        assert_eq!(Backoff::default().after(u32::MAX, None, 0.0), Duration::from_secs(300));
        assert_eq!(Backoff::default().after(0, None, 0.0), Duration::from_secs(5));
    }

    /// CLI-02: `Retry-After` is a floor, whatever the back-off would be.
    #[test]
    fn what_the_server_asks_for_is_never_cut() {
        let wait = |failures, asked, fraction| {
            Backoff::default().after(failures, Some(Duration::from_secs(asked)), fraction).as_secs_f64()
        };
        assert_eq!(wait(1, 3600, 0.0), 3600.0);
        assert_eq!(wait(1, 3600, 0.5), 3780.0);
        assert_eq!(wait(3, 7, 0.0), 20.0);
        assert!(Backoff::default().after(1, Some(Duration::MAX), 0.9) == Duration::MAX);
    }
}
