//! The rules of live proofs as plainly as they can be said: a list that is walked each time. What the
//! property tests hold [`LiveProofs`](super::LiveProofs) to.

use std::{collections::BTreeSet, time::Duration};

use super::{Candidate, Caps, Forgotten, Holder, LiveRefusal};
use crate::{Thumbprint, UnixTime, Window};

pub(super) struct Model {
    pub(super) window: Window,
    caps: Caps,
    records: Vec<Record>,
    /// First and last `iat` of each span of what is forgotten, in order.
    forgotten: Vec<(u64, u64)>,
}

struct Record {
    key: Thumbprint,
    jti: String,
    holder: Holder<'static>,
    iat: u64,
}

impl Model {
    pub(super) fn new(window: Window, caps: Caps) -> Self {
        Self { window, caps, records: Vec::new(), forgotten: Vec::new() }
    }

    pub(super) fn admit(&mut self, proof: &Candidate<'static>, now: UnixTime) -> Result<(), LiveRefusal> {
        self.forget(now);
        if self.end(proof.iat) < now {
            return Err(LiveRefusal::Expired);
        }
        if UnixTime::from_secs(proof.iat) > now + self.window.future {
            return Err(LiveRefusal::TooFarAhead);
        }
        if self.forgotten.iter().any(|(first, last)| (*first..=*last).contains(&proof.iat)) {
            return Err(LiveRefusal::Expired);
        }
        if self.records.iter().any(|record| record.key == *proof.key && record.jti == proof.jti) {
            return Err(LiveRefusal::Replayed);
        }
        // Just after the end of the earliest.
        let wait = |iats: &[u64]| {
            let end = self.end(*iats.iter().min().unwrap());
            end.saturating_since(now) + Duration::from_nanos(1)
        };
        let iats = self.iats_of(&proof.holder);
        match proof.holder {
            Holder::Account(_) if iats.len() >= self.caps.per_account.max(1) => {
                return Err(LiveRefusal::AccountFull { wait: wait(&iats) });
            }
            Holder::Source { .. } if iats.len() >= self.caps.per_source.max(1) => {
                return Err(LiveRefusal::SourceFull { wait: wait(&iats) });
            }
            Holder::Account(_) | Holder::Source { .. } => {}
        }
        let iats: Vec<u64> = self.records.iter().map(|record| record.iat).collect();
        if iats.len() >= self.caps.total.max(1) {
            return Err(LiveRefusal::Full { wait: wait(&iats) });
        }
        let Candidate { key, jti, holder, iat } = *proof;
        self.records.push(Record { key: *key, jti: jti.into(), holder, iat });
        Ok(())
    }

    pub(super) fn live(&self) -> usize {
        self.records.len()
    }

    pub(super) fn live_of(&self, holder: &Holder<'_>) -> usize {
        self.iats_of(holder).len()
    }

    pub(super) fn holders(&self) -> usize {
        self.records.iter().map(|record| format!("{:?}", record.holder)).collect::<BTreeSet<_>>().len()
    }

    fn end(&self, iat: u64) -> UnixTime {
        UnixTime::from_secs(iat) + self.window.past
    }

    fn iats_of(&self, holder: &Holder<'_>) -> Vec<u64> {
        self.records.iter().filter(|record| record.holder == *holder).map(|record| record.iat).collect()
    }

    fn forget(&mut self, now: UnixTime) {
        let Window { past, future } = self.window;
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
            if self.forgotten.len() > Forgotten::SPANS {
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
