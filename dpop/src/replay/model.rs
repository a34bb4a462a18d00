//! A reference model of the replay cache: a list that is scanned for each proof. The property tests compare
//! [`ReplayCache`](super::ReplayCache) with it.

use std::{collections::BTreeSet, time::Duration};

use super::{ForgottenTimes, ProofHolder, ReplayCandidate, ReplayError, ReplayLimits};
use crate::{ProofWindow, Thumbprint, UnixTime};

pub(super) struct ReplayModel {
    pub(super) window: ProofWindow,
    limits: ReplayLimits,
    records: Vec<ModelRecord>,
    /// The ranges of `iat` in which records were removed, each as its first and last `iat`, in ascending
    /// order.
    forgotten: Vec<(u64, u64)>,
}

struct ModelRecord {
    key: Thumbprint,
    jti: String,
    holder: ProofHolder<'static>,
    iat: u64,
}

impl ReplayModel {
    pub(super) fn new(window: ProofWindow, limits: ReplayLimits) -> Self {
        Self { window, limits, records: Vec::new(), forgotten: Vec::new() }
    }

    pub(super) fn admit(
        &mut self,
        proof: &ReplayCandidate<'static>,
        now: UnixTime,
    ) -> Result<(), ReplayError> {
        self.remove_expired(now);
        if self.expires_at(proof.iat) < now {
            return Err(ReplayError::Expired);
        }
        if UnixTime::from_secs(proof.iat) > now + self.window.future {
            return Err(ReplayError::TooFarAhead);
        }
        if self.forgotten.iter().any(|(first, last)| (*first..=*last).contains(&proof.iat)) {
            return Err(ReplayError::Expired);
        }
        if self.records.iter().any(|record| record.key == *proof.key && record.jti == proof.jti) {
            return Err(ReplayError::Replayed);
        }
        // The wait ends one nanosecond after the oldest record has expired.
        let wait = |iats: &[u64]| {
            let end = self.expires_at(*iats.iter().min().unwrap());
            end.saturating_since(now) + Duration::from_nanos(1)
        };
        let iats = self.iats_of(&proof.holder);
        match proof.holder {
            ProofHolder::Account(_) if iats.len() >= self.limits.per_account.max(1) => {
                return Err(ReplayError::AccountFull { wait: wait(&iats) });
            }
            ProofHolder::Source { .. } if iats.len() >= self.limits.per_source.max(1) => {
                return Err(ReplayError::SourceFull { wait: wait(&iats) });
            }
            ProofHolder::Account(_) | ProofHolder::Source { .. } => {}
        }
        let iats: Vec<u64> = self.records.iter().map(|record| record.iat).collect();
        if iats.len() >= self.limits.total.max(1) {
            return Err(ReplayError::Full { wait: wait(&iats) });
        }
        let ReplayCandidate { key, jti, holder, iat } = *proof;
        self.records.push(ModelRecord { key: *key, jti: jti.into(), holder, iat });
        Ok(())
    }

    pub(super) fn proof_count(&self) -> usize {
        self.records.len()
    }

    pub(super) fn proof_count_for(&self, holder: &ProofHolder<'_>) -> usize {
        self.iats_of(holder).len()
    }

    pub(super) fn holder_count(&self) -> usize {
        self.records.iter().map(|record| format!("{:?}", record.holder)).collect::<BTreeSet<_>>().len()
    }

    fn expires_at(&self, iat: u64) -> UnixTime {
        UnixTime::from_secs(iat) + self.window.past
    }

    fn iats_of(&self, holder: &ProofHolder<'_>) -> Vec<u64> {
        self.records.iter().filter(|record| record.holder == *holder).map(|record| record.iat).collect()
    }

    fn remove_expired(&mut self, now: UnixTime) {
        let ProofWindow { past, future } = self.window;
        let latest = now + future + past + future;
        let over = |iat: &u64| UnixTime::from_secs(*iat) + past < now;
        let ahead = |iat: &u64| UnixTime::from_secs(*iat) > latest;
        let mut iats: Vec<u64> = self.records.iter().map(|record| record.iat).collect();
        iats.sort_unstable();
        let gone: Vec<u64> =
            iats.iter().copied().filter(over).chain(iats.iter().rev().copied().filter(ahead)).collect();
        for iat in gone {
            self.forgotten.push((iat, iat));
            self.forgotten.sort_unstable();
            self.forgotten.dedup_by(|next, before| {
                let inside = next.0 <= before.1;
                before.1 = if inside { before.1.max(next.1) } else { before.1 };
                inside
            });
            if self.forgotten.len() > ForgottenTimes::MAX_SPANS {
                let gap = |at: usize| self.forgotten[at].0 - self.forgotten[at - 1].1;
                let past = (1..self.forgotten.len()).filter(|at| over(&self.forgotten[*at].1));
                let closest = past.min_by_key(|at| gap(*at));
                let closest = closest.or((1..self.forgotten.len()).min_by_key(|at| gap(*at))).unwrap();
                self.forgotten[closest - 1].1 = self.forgotten.remove(closest).1;
            }
        }
        self.records.retain(|record| !over(&record.iat) && !ahead(&record.iat));
    }
}
