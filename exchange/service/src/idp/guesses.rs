//! Limits on guesses of user codes and passwords, on requests without a valid proof, and on new device
//! logins.
//!
//! Every attempt is counted before it is made, so concurrent attempts cannot evade a limit. A correct attempt
//! is refunded, but the count is not reset, so a success does not allow more guesses.
//! [`MemoryAttemptLimiter`] counts within one process; several processes would need another implementation of
//! [`AttemptLimiter`].

use std::fmt;
use std::time::Duration;

use dpop_bound::MaybeReady;

use crate::secrets;
use crate::shared::buckets::{DrawOutcome, RatePolicy, TokenBuckets};
use crate::time::Moment;

/// A kind of attempt. Each kind has a separate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuessAttempt {
    /// An attempt to enter a user code, counted by source address.
    CodeFromAddress,
    /// An attempt to enter one user code, counted for all addresses together.
    Code,
    /// An attempt to enter a password, counted by source address.
    PasswordFromAddress,
    /// An attempt to enter the password of one account, counted by account and source address.
    AccountPasswordFromAddress,
    /// An attempt to enter the password of one account, counted for all addresses together. The limit is
    /// high, because attempts of attackers also count against the owner.
    AccountPassword,
    /// The start of a device login, counted by source address. Many pending codes would make guessing easier.
    LoginFromAddress,
    /// A request without a valid proof, counted by source address. Each one costs a read and a signature
    /// check. The limit is high enough for many members behind one address, and for proofs that are repeated
    /// with a nonce.
    ProofFromAddress,
}

impl GuessAttempt {
    /// Returns the rate limit of this kind.
    #[must_use]
    pub const fn rate_policy(self) -> RatePolicy {
        let (at_once, one_more_in) = match self {
            Self::CodeFromAddress => (10, Duration::from_secs(60)),
            Self::Code => (10, Duration::from_secs(120)),
            Self::PasswordFromAddress => (20, Duration::from_secs(30)),
            Self::AccountPasswordFromAddress => (10, Duration::from_secs(60)),
            Self::AccountPassword => (100, Duration::from_secs(10)),
            Self::LoginFromAddress => (60, Duration::from_secs(10)),
            Self::ProofFromAddress => (600, Duration::from_millis(100)),
        };
        RatePolicy { requests: at_once, period: one_more_in.saturating_mul(at_once) }
    }
}

/// The reason an attempt is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttemptError {
    /// There were too many attempts. The next one is allowed after this time.
    #[error("too many attempts")]
    Wait(Duration),
    /// The counter is unavailable, so that no attempt is allowed.
    #[error("the counter of attempts is unavailable")]
    Unavailable,
}

/// Counts one attempt for each entry. If one entry is refused, counts none of them.
pub(crate) async fn take_all(
    guesses: &dyn AttemptLimiter,
    attempts: &[(GuessAttempt, String)],
    now: Moment,
) -> Result<(), AttemptError> {
    for (index, (attempt, name)) in attempts.iter().enumerate() {
        if let Err(error) = guesses.take_attempt(*attempt, name, now).await {
            give_back(guesses, &attempts[..index]).await;
            return Err(error);
        }
    }
    Ok(())
}

/// Refunds one attempt for each entry. An error of the counter does not change the outcome of the request.
pub(crate) async fn give_back(guesses: &dyn AttemptLimiter, attempts: &[(GuessAttempt, String)]) {
    for (attempt, name) in attempts {
        // If the refund fails, the limit is stricter for a while, which is acceptable.
        let _ = guesses.give_back(*attempt, name).await;
    }
}

/// The future that [`AttemptLimiter::take_attempt`] and [`AttemptLimiter::give_back`] return. It is ready at
/// once for counters in memory.
pub type AttemptFuture<'a> = MaybeReady<'a, Result<(), AttemptError>>;

/// A counter of attempts.
pub trait AttemptLimiter: Send + Sync + fmt::Debug {
    /// Counts one attempt for a name. A refused attempt is not counted.
    fn take_attempt<'a>(&'a self, attempt: GuessAttempt, name: &'a str, now: Moment) -> AttemptFuture<'a>;

    /// Refunds one attempt that was not a guess.
    fn give_back<'a>(&'a self, attempt: GuessAttempt, name: &'a str) -> AttemptFuture<'a>;
}

type NameHash = [u8; 16];

/// A counter of attempts in the memory of one process, for a bounded number of names.
#[derive(Debug)]
pub struct MemoryAttemptLimiter(TokenBuckets<NameHash>);

impl Default for MemoryAttemptLimiter {
    /// Creates a limiter for 65,536 names, which needs about three megabytes.
    fn default() -> Self {
        Self::with_capacity(1 << 16)
    }
}

impl MemoryAttemptLimiter {
    /// Creates a limiter for `room` names. When it is full, it drops the names that could make their next
    /// attempt soonest.
    #[must_use]
    pub fn with_capacity(room: usize) -> Self {
        Self(TokenBuckets::new(room))
    }
}

impl AttemptLimiter for MemoryAttemptLimiter {
    fn take_attempt<'a>(&'a self, attempt: GuessAttempt, name: &'a str, now: Moment) -> AttemptFuture<'a> {
        MaybeReady::ready(match self.0.draw_token(&name_key(attempt, name), attempt.rate_policy(), now) {
            DrawOutcome::Allowed { .. } => Ok(()),
            DrawOutcome::Refused { wait } => Err(AttemptError::Wait(wait)),
        })
    }

    fn give_back<'a>(&'a self, attempt: GuessAttempt, name: &'a str) -> AttemptFuture<'a> {
        self.0.give_back(&name_key(attempt, name), attempt.rate_policy());
        MaybeReady::ready(Ok(()))
    }
}

fn name_key(attempt: GuessAttempt, name: &str) -> NameHash {
    secrets::hash_prefix(&secrets::sha256_parts(&[&[attempt as u8], name.as_bytes()]))
}

/// Tests that every implementation of `AttemptLimiter` must pass.
#[cfg(test)]
pub(crate) mod contract {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    pub(crate) async fn check_every_rule<G: AttemptLimiter>(empty: impl AsyncFn() -> G) {
        check_separate_limits(&empty().await).await;
        check_success_keeps_count(&empty().await).await;
        check_all_or_none(&empty().await).await;
        check_clock_set_back(&empty().await).await;
    }

    pub(super) async fn burst(
        guesses: &impl AttemptLimiter,
        attempt: GuessAttempt,
        name: &str,
        now: Moment,
    ) -> u32 {
        let mut attempts_made = 0;
        while guesses.take_attempt(attempt, name, now).await.is_ok() {
            attempts_made += 1;
        }
        attempts_made
    }

    /// Each name has a separate limit for each kind of attempt.
    async fn check_separate_limits(guesses: &impl AttemptLimiter) {
        let all = [
            GuessAttempt::CodeFromAddress,
            GuessAttempt::Code,
            GuessAttempt::PasswordFromAddress,
            GuessAttempt::AccountPasswordFromAddress,
            GuessAttempt::AccountPassword,
            GuessAttempt::LoginFromAddress,
            GuessAttempt::ProofFromAddress,
        ];
        for attempt in all {
            let RatePolicy { requests: max_attempts, period } = attempt.rate_policy();
            let interval = period / max_attempts;
            for name in ["a", "b"] {
                assert_eq!(burst(guesses, attempt, name, NOW).await, max_attempts, "{attempt:?} {name}");
            }
            assert_eq!(guesses.take_attempt(attempt, "a", NOW).await, Err(AttemptError::Wait(interval)));
            let early = NOW.plus(interval).minus(Duration::from_millis(1));
            assert_eq!(
                guesses.take_attempt(attempt, "a", early).await,
                Err(AttemptError::Wait(Duration::from_millis(1)))
            );
            assert_eq!(burst(guesses, attempt, "a", NOW.plus(interval)).await, 1);
        }
    }

    /// A success refunds its own attempt and does not reset the count.
    async fn check_success_keeps_count(guesses: &impl AttemptLimiter) {
        for _ in 0..10 {
            guesses.take_attempt(GuessAttempt::CodeFromAddress, "a", NOW).await.unwrap();
        }
        guesses.give_back(GuessAttempt::CodeFromAddress, "a").await.unwrap();
        assert_eq!(burst(guesses, GuessAttempt::CodeFromAddress, "a", NOW).await, 1);
        guesses.give_back(GuessAttempt::CodeFromAddress, "nobody").await.unwrap();
        assert_eq!(burst(guesses, GuessAttempt::CodeFromAddress, "nobody", NOW).await, 10);
    }

    /// If one attempt of a group is refused, none of the group is counted.
    async fn check_all_or_none(guesses: &impl AttemptLimiter) {
        burst(guesses, GuessAttempt::Code, "code", NOW).await;
        let both = [(GuessAttempt::CodeFromAddress, "a".to_owned()), (GuessAttempt::Code, "code".to_owned())];
        for _ in 0..20 {
            assert!(take_all(guesses, &both, NOW).await.is_err());
        }
        assert_eq!(burst(guesses, GuessAttempt::CodeFromAddress, "a", NOW).await, 10);
        give_back(guesses, &both).await;
        assert_eq!(take_all(guesses, &both, NOW).await, Ok(()));
    }

    async fn check_clock_set_back(guesses: &impl AttemptLimiter) {
        let year = Duration::from_secs(365 * 86_400);
        burst(guesses, GuessAttempt::Code, "a", NOW.plus(year)).await;
        // Exactly one attempt is allowed.
        assert_eq!(guesses.take_attempt(GuessAttempt::Code, "a", NOW).await, Ok(()));
        let wait = guesses.take_attempt(GuessAttempt::Code, "a", NOW).await;
        assert_eq!(wait, Err(AttemptError::Wait(Duration::from_secs(120))));
    }
}

#[cfg(test)]
mod tests {
    use super::contract::burst;
    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    /// The limiter in memory passes the contract tests.
    #[tokio::test]
    async fn memory_passes_the_contract_tests() {
        contract::check_every_rule(async || MemoryAttemptLimiter::default()).await;
    }

    /// The number of names is bounded, and the name whose next attempt is farthest away is kept.
    #[tokio::test]
    async fn memory_is_bounded() {
        let guesses = MemoryAttemptLimiter::with_capacity(64);
        burst(&guesses, GuessAttempt::AccountPasswordFromAddress, "ada", NOW).await;
        for number in 0..1000 {
            guesses
                .take_attempt(GuessAttempt::AccountPasswordFromAddress, &number.to_string(), NOW)
                .await
                .unwrap();
            assert!(guesses.0.len() <= 64);
        }
        assert!(guesses.take_attempt(GuessAttempt::AccountPasswordFromAddress, "ada", NOW).await.is_err());
    }
}
