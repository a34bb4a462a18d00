//! Exponential back-off between the attempts of a request (LIM-16, CLI-02).

use std::time::Duration;

/// An exponential back-off: it starts at 5 seconds, doubles up to 5 minutes, adds up to 10 % jitter, and is
/// never shorter than `Retry-After` (LIM-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first failure.
    pub initial: Duration,
    /// The upper bound of the computed delay. A longer `Retry-After` still applies.
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial: Duration::from_secs(5), max: Duration::from_secs(300) }
    }
}

impl Backoff {
    /// Returns the delay after this number of consecutive failures (0 counts as 1).
    ///
    /// `retry_after` is the value of `Retry-After`; the delay is never shorter. `fraction` is a random number
    /// in `0.0..1.0` that determines the jitter.
    #[must_use]
    pub fn delay_after(&self, failures: u32, retry_after: Option<Duration>, fraction: f64) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        let step = self.initial.saturating_mul(doubled).min(self.max);
        let delay = add_jitter(step, fraction).min(self.max);
        retry_after.map_or(delay, |retry_after| delay.max(add_jitter(retry_after, fraction)))
    }
}

/// Lengthens a duration by up to 10 %.
fn add_jitter(time: Duration, fraction: f64) -> Duration {
    let share = fraction.clamp(0.0, 1.0) / 10.0;
    // The jitter is skipped for durations that `f64` seconds cannot represent.
    Duration::try_from_secs_f64(time.as_secs_f64() * share).map_or(time, |more| time.saturating_add(more))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LIM-16: the delay starts at 5 s, doubles with each failure, and never exceeds 5 minutes plus jitter.
    #[test]
    fn waits_double_from_five_seconds_to_five_minutes() {
        let waits =
            |fraction| (1..9).map(move |n| Backoff::default().delay_after(n, None, fraction).as_secs_f64());
        assert_eq!(waits(0.0).collect::<Vec<_>>(), [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]);
        assert_eq!(waits(0.5).collect::<Vec<_>>(), [5.25, 10.5, 21.0, 42.0, 84.0, 168.0, 300.0, 300.0]);
        assert_eq!(Backoff::default().delay_after(u32::MAX, None, 0.0), Duration::from_secs(300));
        assert_eq!(Backoff::default().delay_after(0, None, 0.0), Duration::from_secs(5));
    }

    /// CLI-02: `Retry-After` is a lower bound of the delay, even if it is longer than the maximum back-off.
    #[test]
    fn retry_after_is_a_lower_bound() {
        let wait = |failures, retry_after, fraction| {
            Backoff::default()
                .delay_after(failures, Some(Duration::from_secs(retry_after)), fraction)
                .as_secs_f64()
        };
        assert_eq!(wait(1, 3600, 0.0), 3600.0);
        assert_eq!(wait(1, 3600, 0.5), 3780.0);
        assert_eq!(wait(3, 7, 0.0), 20.0);
        assert!(Backoff::default().delay_after(1, Some(Duration::MAX), 0.9) == Duration::MAX);
    }
}
