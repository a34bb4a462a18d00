//! The replay cache at its limits: 167 accounts have 100,000 valid proofs in total, and as many proofs expire
//! as arrive. The baseline is a simple map from (thumbprint, `jti`) to the expiry, without limits per
//! account; each second, it removes all expired entries.

#![allow(clippy::unwrap_used, reason = "a panic ends the benchmark")]

use std::{collections::HashMap, hint::black_box, time::Duration};

use divan::{Bencher, counter::ItemsCount};
use dpop_bound::{
    ProofHolder, ProofWindow, ReplayCache, Thumbprint, UnixTime,
    replay::{ReplayCandidate, ReplayError, ReplayLimits},
};

fn main() {
    divan::main();
}

const KEY: Thumbprint = Thumbprint::from_bytes([7; 32]);
const THUMBPRINT: &str = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";
const WINDOW: ProofWindow = ProofWindow::from_secs(30, 30);
const CAPS: ReplayLimits = ReplayLimits { per_account: 600, per_source: 600, total: 100_000 };
const LIVE: u32 = 100_000;
const MEMBERS: usize = 167;
/// The interval between two proofs. `LIVE` proofs arrive in 30 s; they expire at whole seconds, so all of
/// them are still valid at the end of the 30th second.
const PROOF_INTERVAL: Duration = Duration::from_nanos(30_000_000_000 / LIVE as u64);

/// An endless sequence of proofs, with the time at which each one arrives.
struct ProofSequence {
    members: Vec<String>,
    jtis: Vec<String>,
    count: u64,
}

impl ProofSequence {
    fn new() -> Self {
        let members = (0..MEMBERS).map(|i| format!("9c2a8c38-9b5c-4a2e-8d6b-{i:012}")).collect();
        // A `jti` repeats only after its previous record has expired.
        let jtis = (0..2 * LIVE).map(|i| format!("4fJ2xN8qKzT0bWvE{i:06}")).collect();
        Self { members, jtis, count: 0 }
    }

    fn now(&self) -> UnixTime {
        let nanos = self.count * u64::try_from(PROOF_INTERVAL.as_nanos()).unwrap();
        UnixTime::from_secs(1_768_435_200) + PROOF_INTERVAL / 2 + Duration::from_nanos(nanos)
    }

    fn next(&mut self) -> (ReplayCandidate<'_>, UnixTime) {
        let now = self.now();
        let at = usize::try_from(self.count).unwrap();
        self.count += 1;
        let (jti, member) = (&self.jtis[at % self.jtis.len()], &self.members[at % MEMBERS]);
        let iat = now.as_secs();
        (ReplayCandidate { key: &KEY, jti, holder: ProofHolder::Account(member), iat }, now)
    }
}

fn full() -> (ReplayCache, ProofSequence) {
    let (mut live, mut arrivals) = (ReplayCache::new(WINDOW, CAPS), ProofSequence::new());
    for _ in 0..LIVE {
        let (proof, now) = arrivals.next();
        live.admit(&proof, now).unwrap();
    }
    assert_eq!((live.proof_count(), live.holder_count()), (100_000, MEMBERS));
    (live, arrivals)
}

/// A map that removes its expired entries once a second, as in most servers.
#[derive(Default)]
struct LinearScanCache {
    ends: HashMap<(String, String), u64>,
    swept: u64,
}

impl LinearScanCache {
    fn admit(&mut self, jkt: &str, proof: &ReplayCandidate<'_>, now: UnixTime) -> bool {
        let now = now.as_secs();
        if self.swept < now {
            self.ends.retain(|_, end| *end >= now);
            self.swept = now;
        }
        let end = proof.iat + WINDOW.past.as_secs();
        self.ends.insert((jkt.to_owned(), proof.jti.to_owned()), end).is_none()
    }
}

fn naive_full() -> (LinearScanCache, ProofSequence) {
    let (mut naive, mut arrivals) = (LinearScanCache::default(), ProofSequence::new());
    for _ in 0..LIVE {
        let (proof, now) = arrivals.next();
        assert!(naive.admit(THUMBPRINT, &proof, now));
    }
    (naive, arrivals)
}

/// Each sample admits the proofs of 30 s, so that it includes the same number of expiries.
#[divan::bench_group(sample_count = 30, sample_size = 1, counters = [ItemsCount::new(LIVE)])]
mod steady_100_000 {
    use super::*;

    #[divan::bench]
    fn admit(bencher: Bencher) {
        let (mut live, mut arrivals) = full();
        bencher.bench_local(|| {
            for _ in 0..LIVE {
                let (proof, now) = arrivals.next();
                live.admit(&proof, now).unwrap();
            }
        });
    }

    #[divan::bench]
    fn admit_naive(bencher: Bencher) {
        let (mut naive, mut arrivals) = naive_full();
        bencher.bench_local(|| {
            for _ in 0..LIVE {
                let (proof, now) = arrivals.next();
                assert!(naive.admit(THUMBPRINT, &proof, now));
            }
        });
    }
}

/// Rejections, which do not change the cache.
mod refused {
    use super::*;

    #[divan::bench]
    fn replayed(bencher: Bencher) {
        let (mut live, mut arrivals) = full();
        arrivals.count -= 1;
        let now = arrivals.now();
        let mut again = arrivals.jtis.iter().take(LIVE as usize).cycle();
        bencher.bench_local(|| {
            let jti = again.next().unwrap();
            let iat = now.as_secs();
            let proof = ReplayCandidate { key: &KEY, jti, holder: ProofHolder::Account("any"), iat };
            assert_eq!(live.admit(black_box(&proof), now), Err(ReplayError::Replayed));
        });
    }

    #[divan::bench]
    fn replayed_naive(bencher: Bencher) {
        let (mut naive, mut arrivals) = naive_full();
        arrivals.count -= 1;
        let now = arrivals.now();
        let mut again = arrivals.jtis.iter().take(LIVE as usize).cycle();
        bencher.bench_local(|| {
            let jti = again.next().unwrap();
            let iat = now.as_secs();
            let proof = ReplayCandidate { key: &KEY, jti, holder: ProofHolder::Account("any"), iat };
            assert!(!naive.admit(THUMBPRINT, black_box(&proof), now));
        });
    }

    #[divan::bench]
    fn account_full(bencher: Bencher) {
        let (mut live, mut arrivals) = full();
        let mut new = (0_u32..).map(|i| format!("new {i}"));
        let now = arrivals.now();
        let member = arrivals.members.pop().unwrap();
        let iat = now.as_secs();
        let mut proof = |jti: &str| {
            let proof = ReplayCandidate { key: &KEY, jti, holder: ProofHolder::Account(&member), iat };
            live.admit(black_box(&proof), now)
        };
        // Fills the member's limit of 600; one or two proofs suffice, in place of those that have just
        // expired.
        while proof(&new.next().unwrap()).is_ok() {}
        let jti = new.next().unwrap();
        bencher.bench_local(|| assert!(matches!(proof(&jti), Err(ReplayError::AccountFull { .. }))));
    }
}

/// The slowest single calls: the first call after a pause, which removes the records that expired in the
/// pause.
#[divan::bench_group(sample_count = 20, sample_size = 1)]
mod after_a_pause {
    use super::*;

    #[divan::bench]
    fn admit_all_over(bencher: Bencher) {
        bencher.with_inputs(full).bench_local_refs(|(live, arrivals)| {
            arrivals.count *= 3;
            let (proof, now) = arrivals.next();
            live.admit(&proof, now).unwrap();
            assert_eq!(live.proof_count(), 1);
        });
    }

    #[divan::bench]
    fn admit_29_of_30_over(bencher: Bencher) {
        bencher.with_inputs(full).bench_local_refs(|(live, arrivals)| {
            arrivals.count = arrivals.count * 59 / 30;
            let (proof, now) = arrivals.next();
            live.admit(&proof, now).unwrap();
            assert!((2..10_000).contains(&live.proof_count()));
        });
    }

    #[divan::bench]
    fn admit_all_over_naive(bencher: Bencher) {
        bencher.with_inputs(naive_full).bench_local_refs(|(naive, arrivals)| {
            arrivals.count *= 3;
            let (proof, now) = arrivals.next();
            assert!(naive.admit(THUMBPRINT, &proof, now));
            assert_eq!(naive.ends.len(), 1);
        });
    }
}
