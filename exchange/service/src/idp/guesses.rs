//! Limits on guessing (user codes, passwords), on requests without a valid proof, and on new device logins.
//!
//! Every attempt is counted before it is made, so concurrent attempts do not evade a limit. A correct attempt is
//! returned, but does not reset the count, so a success makes no room for more guesses. [`MemoryAttemptLimiter`] counts
//! for one process; several processes would need another implementation of [`AttemptLimiter`].

use std::fmt;
use std::time::Duration;

use dpop_bound::MaybeReady;

use crate::secrets;
use crate::shared::buckets::{DrawOutcome, RatePolicy, TokenBuckets};
use crate::time::Moment;

/// The kinds of attempts, each with its own limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuessAttempt {
    /// A user code, by the source address.
    CodeFromAddress,
    /// One user code, from any address.
    Code,
    /// A password, by the source address.
    PasswordFromAddress,
    /// A password of one account, by the source address.
    AccountPasswordFromAddress,
    /// A password of one account, from any address. The limit is loose, because attackers also count against the owner.
    AccountPassword,
    /// A device login, by the source address, because many live codes make guessing easier.
    LoginFromAddress,
    /// A request without a valid proof, by the source address. Each costs a read and a signature check. The limit
    /// allows for many members behind one address, and for proofs that are repeated with a nonce.
    ProofFromAddress,
}

impl GuessAttempt {
    /// The rate limit of this kind.
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
    /// There were too many attempts; the next one is allowed after this time.
    #[error("too many attempts")]
    Wait(Duration),
    /// The counter is unavailable, so no attempt is allowed.
    #[error("attempts cannot be counted")]
    Unavailable,
}

/// Takes one attempt of each entry, or none of them.
pub(crate) async fn take_all(
    guesses: &dyn AttemptLimiter,
    attempts: &[(GuessAttempt, String)],
    now: Moment,
) -> Result<(), AttemptError> {
    for (index, (attempt, name)) in attempts.iter().enumerate() {
        if let Err(refusal) = guesses.take_attempt(*attempt, name, now).await {
            give_back(guesses, &attempts[..index]).await;
            return Err(refusal);
        }
    }
    Ok(())
}

/// Returns one attempt of each entry. A failure of the counter does not change the outcome of the request.
pub(crate) async fn give_back(guesses: &dyn AttemptLimiter, attempts: &[(GuessAttempt, String)]) {
    for (attempt, name) in attempts {
        // The limit is stricter for a while, which is acceptable.
        let _ = guesses.give_back(*attempt, name).await;
    }
}

/// The future of an attempt.
pub type AttemptFuture<'a> = MaybeReady<'a, Result<(), AttemptError>>;

/// A counter of attempts.
pub trait AttemptLimiter: Send + Sync + fmt::Debug {
    /// Takes one attempt for a name. A refused attempt is not counted.
    fn take_attempt<'a>(&'a self, attempt: GuessAttempt, name: &'a str, now: Moment) -> AttemptFuture<'a>;

    /// Returns one attempt that was not a guess.
    fn give_back<'a>(&'a self, attempt: GuessAttempt, name: &'a str) -> AttemptFuture<'a>;
}

type NameHash = [u8; 16];

/// Counts attempts in the memory of one process, for a bounded number of names.
#[derive(Debug)]
pub struct MemoryAttemptLimiter(TokenBuckets<NameHash>);

impl Default for MemoryAttemptLimiter {
    /// Creates a limiter for 65,536 names, which takes about three megabytes.
    fn default() -> Self {
        Self::with_capacity(1 << 16)
    }
}

impl MemoryAttemptLimiter {
    /// Creates a limiter for this number of names. When it is full, the names with the shortest wait are dropped.
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

/// Tests that every limiter must pass.
#[cfg(test)]
pub(crate) mod contract {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    pub(crate) async fn every_rule<G: AttemptLimiter>(empty: impl AsyncFn() -> G) {
        names_and_kinds_have_limits_of_their_own(&empty().await).await;
        a_success_resets_nothing(&empty().await).await;
        all_or_none_are_taken(&empty().await).await;
        a_clock_that_was_ahead_locks_nobody_out(&empty().await).await;
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

    /// List F: each address and each code has its own limit.
    async fn names_and_kinds_have_limits_of_their_own(guesses: &impl AttemptLimiter) {
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
            let RatePolicy { requests: most, period } = attempt.rate_policy();
            let every = period / most;
            for name in ["a", "b"] {
                assert_eq!(burst(guesses, attempt, name, NOW).await, most, "{attempt:?} {name}");
            }
            assert_eq!(guesses.take_attempt(attempt, "a", NOW).await, Err(AttemptError::Wait(every)));
            let early = NOW.plus(every).minus(Duration::from_millis(1));
            assert_eq!(
                guesses.take_attempt(attempt, "a", early).await,
                Err(AttemptError::Wait(Duration::from_millis(1)))
            );
            assert_eq!(burst(guesses, attempt, "a", NOW.plus(every)).await, 1);
        }
    }

    /// List F: a success returns its own attempt, and does not reset others.
    async fn a_success_resets_nothing(guesses: &impl AttemptLimiter) {
        for _ in 0..10 {
            guesses.take_attempt(GuessAttempt::CodeFromAddress, "a", NOW).await.unwrap();
        }
        guesses.give_back(GuessAttempt::CodeFromAddress, "a").await.unwrap();
        assert_eq!(burst(guesses, GuessAttempt::CodeFromAddress, "a", NOW).await, 1);
        guesses.give_back(GuessAttempt::CodeFromAddress, "nobody").await.unwrap();
        assert_eq!(burst(guesses, GuessAttempt::CodeFromAddress, "nobody", NOW).await, 10);
    }

    /// A refused set takes nothing, also from names with attempts left.
    async fn all_or_none_are_taken(guesses: &impl AttemptLimiter) {
        burst(guesses, GuessAttempt::Code, "code", NOW).await;
        let both = [(GuessAttempt::CodeFromAddress, "a".to_owned()), (GuessAttempt::Code, "code".to_owned())];
        for _ in 0..20 {
            assert!(take_all(guesses, &both, NOW).await.is_err());
        }
        assert_eq!(burst(guesses, GuessAttempt::CodeFromAddress, "a", NOW).await, 10);
        give_back(guesses, &both).await;
        assert_eq!(take_all(guesses, &both, NOW).await, Ok(()));
    }

    async fn a_clock_that_was_ahead_locks_nobody_out(guesses: &impl AttemptLimiter) {
        let year = Duration::from_secs(365 * 86_400);
        burst(guesses, GuessAttempt::Code, "a", NOW.plus(year)).await;
        // Exactly one is left.
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

    /// List F
    #[tokio::test]
    async fn memory_passes_the_contract_tests() {
        contract::every_rule(async || MemoryAttemptLimiter::default()).await;
    }

    /// The number of names is bounded, and the name with the longest wait is kept.
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
