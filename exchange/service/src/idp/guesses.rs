//! Limits on guessing: user codes, passwords, proofs, and how many logins somebody starts.
//!
//! A narrow seam: one process counts in memory ([`InMemory`]), several would count together. Every attempt
//! is paid for before it is made, so that many at once are no way around; a right one is given back,
//! and nothing else is, so that a success in between never makes room for more guesses.

use std::fmt;
use std::time::Duration;

use dpop_bound::Pending;

use crate::secrets;
use crate::shared::buckets::{Buckets, Policy, Taken};
use crate::time::Moment;

/// What is counted, each with a limit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attempt {
    /// A user code, by the address it is typed at.
    CodeAt,
    /// One user code, by whomever.
    Code,
    /// A password, by the address it is typed at.
    PasswordAt,
    /// A password of one account, by the address it is typed at.
    PasswordOf,
    /// A password of one account, wherever it is typed: loosely, since strangers count for its owner, too.
    PasswordAnywhere,
    /// A device login, by the address that starts it: codes that nobody needs make guessing easier.
    LoginAt,
    /// A request that proves nothing, by the address that sends it: each costs a look into the store and the check of a
    /// signature. Many members may stand behind one address, and a proof may have to be signed anew with a nonce.
    ProofAt,
}

impl Attempt {
    /// How many there may be.
    #[must_use]
    pub const fn policy(self) -> Policy {
        let (at_once, one_more_in) = match self {
            Self::CodeAt => (10, Duration::from_secs(60)),
            Self::Code => (10, Duration::from_secs(120)),
            Self::PasswordAt => (20, Duration::from_secs(30)),
            Self::PasswordOf => (10, Duration::from_secs(60)),
            Self::PasswordAnywhere => (100, Duration::from_secs(10)),
            Self::LoginAt => (60, Duration::from_secs(10)),
            Self::ProofAt => (600, Duration::from_millis(100)),
        };
        Policy { requests: at_once, period: one_more_in.saturating_mul(at_once) }
    }
}

/// Why an attempt may not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMany {
    /// There were too many; after this long one more may be made.
    #[error("too many attempts")]
    Wait(Duration),
    /// Nobody can tell, so none may be made.
    #[error("attempts cannot be counted")]
    Unavailable,
}

/// Takes one attempt of each of these, or of none of them.
pub(crate) async fn take_all(
    guesses: &dyn Guesses,
    attempts: &[(Attempt, String)],
    now: Moment,
) -> Result<(), TooMany> {
    for (at, (attempt, name)) in attempts.iter().enumerate() {
        if let Err(refusal) = guesses.take(*attempt, name, now).await {
            give_back(guesses, &attempts[..at]).await;
            return Err(refusal);
        }
    }
    Ok(())
}

/// Gives one attempt of each of these back. That nobody can count them now is no reason to refuse what was decided.
pub(crate) async fn give_back(guesses: &dyn Guesses, attempts: &[(Attempt, String)]) {
    for (attempt, name) in attempts {
        // One attempt fewer for a while is nothing that anybody is refused for now.
        let _ = guesses.give_back(*attempt, name).await;
    }
}

/// Whether an attempt may be made.
pub type Counting<'a> = Pending<'a, Result<(), TooMany>>;

/// Where attempts are counted.
pub trait Guesses: Send + Sync + fmt::Debug {
    /// Takes one attempt by this name, or says how long to wait; what is refused is not counted.
    fn take<'a>(&'a self, attempt: Attempt, name: &'a str, now: Moment) -> Counting<'a>;

    /// Gives one attempt back: it was no guess.
    fn give_back<'a>(&'a self, attempt: Attempt, name: &'a str) -> Counting<'a>;
}

type Name = [u8; 16];

/// Counts in the memory of one process, with room for so many names.
#[derive(Debug)]
pub struct InMemory(Buckets<Name>);

impl Default for InMemory {
    /// Room for 65,536 names: some three megabytes.
    fn default() -> Self {
        Self::with_room(1 << 16)
    }
}

impl InMemory {
    /// With room for so many names. When it is used up, those who have to wait least are forgotten.
    #[must_use]
    pub fn with_room(room: usize) -> Self {
        Self(Buckets::new(room))
    }
}

impl Guesses for InMemory {
    fn take<'a>(&'a self, attempt: Attempt, name: &'a str, now: Moment) -> Counting<'a> {
        Pending::ready(match self.0.draw(&key(attempt, name), attempt.policy(), now) {
            Taken::Allowed { .. } => Ok(()),
            Taken::Refused { wait } => Err(TooMany::Wait(wait)),
        })
    }

    fn give_back<'a>(&'a self, attempt: Attempt, name: &'a str) -> Counting<'a> {
        self.0.give_back(&key(attempt, name), attempt.policy());
        Pending::ready(Ok(()))
    }
}

fn key(attempt: Attempt, name: &str) -> Name {
    secrets::head(&secrets::hash_of(&[&[attempt as u8], name.as_bytes()]))
}

/// The rules of every count, as tests.
#[cfg(test)]
pub(crate) mod contract {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    /// All of them.
    pub(crate) async fn every_rule<G: Guesses>(empty: impl AsyncFn() -> G) {
        names_and_kinds_have_limits_of_their_own(&empty().await).await;
        a_success_resets_nothing(&empty().await).await;
        all_or_none_are_taken(&empty().await).await;
        a_clock_that_was_ahead_locks_nobody_out(&empty().await).await;
    }

    pub(super) async fn burst(guesses: &impl Guesses, attempt: Attempt, name: &str, now: Moment) -> u32 {
        let mut made = 0;
        while guesses.take(attempt, name, now).await.is_ok() {
            made += 1;
        }
        made
    }

    /// List F: guessing per address and per code, each for itself.
    async fn names_and_kinds_have_limits_of_their_own(guesses: &impl Guesses) {
        let all = [
            Attempt::CodeAt,
            Attempt::Code,
            Attempt::PasswordAt,
            Attempt::PasswordOf,
            Attempt::PasswordAnywhere,
            Attempt::LoginAt,
            Attempt::ProofAt,
        ];
        for attempt in all {
            let Policy { requests: most, period } = attempt.policy();
            let every = period / most;
            for name in ["a", "b"] {
                assert_eq!(burst(guesses, attempt, name, NOW).await, most, "{attempt:?} {name}");
            }
            assert_eq!(guesses.take(attempt, "a", NOW).await, Err(TooMany::Wait(every)));
            let early = NOW.plus(every).minus(Duration::from_millis(1));
            assert_eq!(guesses.take(attempt, "a", early).await, Err(TooMany::Wait(Duration::from_millis(1))));
            assert_eq!(burst(guesses, attempt, "a", NOW.plus(every)).await, 1);
        }
    }

    /// List F: a success gives back its own attempt, and does not reset the others.
    async fn a_success_resets_nothing(guesses: &impl Guesses) {
        for _ in 0..10 {
            guesses.take(Attempt::CodeAt, "a", NOW).await.unwrap();
        }
        guesses.give_back(Attempt::CodeAt, "a").await.unwrap();
        assert_eq!(burst(guesses, Attempt::CodeAt, "a", NOW).await, 1);
        guesses.give_back(Attempt::CodeAt, "nobody").await.unwrap();
        assert_eq!(burst(guesses, Attempt::CodeAt, "nobody", NOW).await, 10);
    }

    /// What is refused takes nothing, not even of the names that had something left.
    async fn all_or_none_are_taken(guesses: &impl Guesses) {
        burst(guesses, Attempt::Code, "code", NOW).await;
        let both = [(Attempt::CodeAt, "a".to_owned()), (Attempt::Code, "code".to_owned())];
        for _ in 0..20 {
            assert!(take_all(guesses, &both, NOW).await.is_err());
        }
        assert_eq!(burst(guesses, Attempt::CodeAt, "a", NOW).await, 10);
        give_back(guesses, &both).await;
        assert_eq!(take_all(guesses, &both, NOW).await, Ok(()));
    }

    async fn a_clock_that_was_ahead_locks_nobody_out(guesses: &impl Guesses) {
        let year = Duration::from_secs(365 * 86_400);
        burst(guesses, Attempt::Code, "a", NOW.plus(year)).await;
        // One is left, and no more than one.
        assert_eq!(guesses.take(Attempt::Code, "a", NOW).await, Ok(()));
        let wait = guesses.take(Attempt::Code, "a", NOW).await;
        assert_eq!(wait, Err(TooMany::Wait(Duration::from_secs(120))));
    }
}

#[cfg(test)]
mod tests {
    use super::contract::burst;
    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    /// List F
    #[tokio::test]
    async fn memory_keeps_the_rules() {
        contract::every_rule(async || InMemory::default()).await;
    }

    /// However many names there are, there are never more than there is room for, and the one that has to
    /// wait longest is not forgotten.
    #[tokio::test]
    async fn its_memory_is_bounded() {
        let guesses = InMemory::with_room(64);
        burst(&guesses, Attempt::PasswordOf, "ada", NOW).await;
        for number in 0..1000 {
            guesses.take(Attempt::PasswordOf, &number.to_string(), NOW).await.unwrap();
            assert!(guesses.0.len() <= 64);
        }
        assert!(guesses.take(Attempt::PasswordOf, "ada", NOW).await.is_err());
    }
}
