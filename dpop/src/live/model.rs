//! The rules of live proofs as plainly as they can be said: a list that is walked each time. What the
//! property tests hold [`LiveProofs`](super::LiveProofs) to.

use super::{Candidate, Caps, Forgotten, LiveProofs, LiveRefusal, until_after};
use crate::{Thumbprint, UnixTime};

pub(super) struct Model {
    caps: Caps,
    records: Vec<Record>,
    /// First and last of each span of forgotten ends, in order.
    forgotten: Vec<(UnixTime, UnixTime)>,
}

#[derive(Clone, PartialEq)]
struct Record {
    key: Thumbprint,
    jti: String,
    member: Option<String>,
    end: UnixTime,
}

impl Model {
    pub(super) fn new(caps: Caps) -> Self {
        Self { caps, records: Vec::new(), forgotten: Vec::new() }
    }

    pub(super) fn admit(&mut self, proof: &Candidate<'_>, now: UnixTime) -> Result<(), LiveRefusal> {
        self.forget(now);
        let end = UnixTime::from_secs(proof.iat) + proof.lifetime;
        if end < now || self.forgotten.iter().any(|(first, last)| (*first..=*last).contains(&end)) {
            return Err(LiveRefusal::Expired);
        }
        if end > now + LiveProofs::FURTHEST_END {
            return Err(LiveRefusal::TooFarAhead);
        }
        if self.records.iter().any(|record| record.key == *proof.key && record.jti == proof.jti) {
            return Err(LiveRefusal::Replayed);
        }
        let earliest = |ends: &[UnixTime]| ends.iter().min().map(|end| until_after(*end, now));
        let ends = self.ends_of(proof.member);
        if proof.member.is_some() && ends.len() >= self.caps.per_member.max(1) {
            return Err(LiveRefusal::MemberFull { wait: earliest(&ends).unwrap() });
        }
        let ends: Vec<_> = self.records.iter().map(|record| record.end).collect();
        if ends.len() >= self.caps.total.max(1) {
            return Err(LiveRefusal::Full { wait: earliest(&ends).unwrap() });
        }
        let Candidate { key, jti, member, .. } = *proof;
        self.records.push(Record { key: *key, jti: jti.into(), member: member.map(Into::into), end });
        Ok(())
    }

    pub(super) fn live(&self) -> usize {
        self.records.len()
    }

    pub(super) fn live_of(&self, member: &str) -> usize {
        self.ends_of(Some(member)).len()
    }

    pub(super) fn members(&self) -> usize {
        let mut members: Vec<_> = self.records.iter().filter_map(|record| record.member.as_deref()).collect();
        members.sort_unstable();
        members.dedup();
        members.len()
    }

    fn ends_of(&self, member: Option<&str>) -> Vec<UnixTime> {
        let its = self.records.iter().filter(|record| record.member.as_deref() == member);
        its.map(|record| record.end).collect()
    }

    fn forget(&mut self, now: UnixTime) {
        let latest = now + LiveProofs::FURTHEST_END;
        let mut ends: Vec<_> = self.records.iter().map(|record| record.end).collect();
        ends.sort_unstable();
        let past = ends.iter().filter(|end| **end < now);
        for end in past.chain(ends.iter().rev().filter(|end| **end > latest)) {
            self.forgotten.push((*end, *end));
            self.forgotten.sort_unstable();
            self.forgotten.dedup_by(|next, before| {
                let inside = next.0 <= before.1;
                before.1 = if inside { before.1.max(next.1) } else { before.1 };
                inside
            });
            if self.forgotten.len() > Forgotten::SPANS {
                let gap = |at: usize| self.forgotten[at].0.saturating_since(self.forgotten[at - 1].1);
                let past = (1..self.forgotten.len()).filter(|at| self.forgotten[*at].1 < now);
                let closest = past.min_by_key(|at| gap(*at));
                let closest = closest.or((1..self.forgotten.len()).min_by_key(|at| gap(*at))).unwrap();
                self.forgotten[closest - 1].1 = self.forgotten.remove(closest).1;
            }
        }
        self.records.retain(|record| (now..=latest).contains(&record.end));
    }
}
