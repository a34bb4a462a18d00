//! What is done with an entry: whose turn it is, what an answer makes of it, what the member may do. No I/O, no
//! clock; times are milliseconds since 1970.

use std::{ops::RangeInclusive, time::Duration};

use bytes::Bytes;
use dpop_bound::UnixTime;
use exchange_api::codes::Code;

use super::{
    Policy,
    entry::{Entry, Found, Lease, State, Why},
};
use crate::{
    backoff::Backoff,
    environment::CORRECTION,
    error::{Error, ErrorKind},
    retention::is_over,
};

/// The longest wait that the exchange did not ask for: nobody has a reason to want more than a day.
const LONGEST: Duration = Duration::from_secs(25 * 3600);

/// What the clocks show that the times of an entry are of, at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// This machine's, which its processes share: of waits and of who sends.
    pub(super) wall: u64,
    /// The gateway's, as far as it is known: of keys, since that is the clock by which they are forgotten.
    pub(super) gateway: u64,
}

/// What there is to do with the first entry of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Send it.
    Send,
    /// Not yet.
    Wait(Duration),
    /// The exchange may have forgotten its key: it has to be compared.
    Compare,
    /// Nothing, before somebody says something.
    Wedged,
}

impl Entry {
    /// Brings times that a clock noted before it was set back to what is safe, counted from now: its key counts as
    /// forgotten, and a wait begins now. Says whether there were any.
    pub(super) fn set_back(&mut self, now: Now, policy: &Policy) -> bool {
        let Now { wall: now, gateway } = now;
        let ahead =
            |at: u64, most: Duration| at > now.saturating_add(as_millis(most.saturating_add(CORRECTION)));
        let mut found = false;
        if self.sent_at.is_some_and(|at| at > gateway.saturating_add(as_millis(CORRECTION))) {
            (self.sent_at, found) = (Some(0), true);
        }
        if self.last_sent_at.is_some_and(|at| ahead(at, Duration::ZERO)) {
            (self.last_sent_at, found) = (Some(now), true);
        }
        if let Some(since) = self.waits_since.filter(|at| ahead(*at, Duration::ZERO)) {
            for wait in [&mut self.not_before, &mut self.asked_until] {
                *wait = wait.map(|at| now.saturating_add(at.saturating_sub(since)));
            }
            (self.waits_since, found) = (Some(now), true);
        }
        if let Some(lease) = self.lease.as_mut().filter(|lease| ahead(lease.until, policy.lease)) {
            (lease.until, found) = (now.saturating_add(as_millis(policy.lease)), true);
        }
        found
    }

    /// `sent` is how long ago it was sent, by a clock that nobody sets; nothing when this process did not.
    pub(super) fn turn(&self, holder: &str, now: Now, sent: Option<Duration>, policy: &Policy) -> Turn {
        let Now { wall: now, gateway } = now;
        if self.state.is_wedged() || self.state == State::Done {
            return Turn::Wedged;
        }
        let others = self.lease.as_ref().filter(|lease| lease.holder != holder).map(|lease| lease.until);
        let lease = others.filter(|until| *until > now).map(|until| millis(until - now));
        let asked = self.not_before.filter(|at| *at > now).map(|at| millis(at - now));
        if let Some(wait) = lease.max(asked) {
            return Turn::Wait(wait);
        }
        let age = self.sent_at.map_or(Duration::MAX, |at| millis(gateway.saturating_sub(at)));
        let tried = self.unknowns > policy.resends || age >= policy.key_memory;
        match policy.quiet.saturating_sub(self.quiet_for(now, sent)) {
            _ if !(tried && self.may_be_applied()) => Turn::Send,
            Duration::ZERO => Turn::Compare,
            rest => Turn::Wait(rest),
        }
    }

    /// For how long nothing of it was sent: by whichever clock it is less, since one that is set forward makes no late
    /// delivery impossible.
    fn quiet_for(&self, now: u64, sent: Option<Duration>) -> Duration {
        let by_wall = self.last_sent_at.map_or(Duration::MAX, |at| millis(now.saturating_sub(at)));
        by_wall.min(sent.unwrap_or(Duration::MAX))
    }

    /// About to be sent: kept before the first byte leaves.
    pub(super) fn begin(&mut self, holder: &str, now: Now, policy: &Policy) {
        self.held = self.is_held();
        // Somebody was sending it and never said what became of it.
        self.uncertain |= self.state == State::Sending;
        self.state = State::Sending;
        self.sent_at.get_or_insert(now.gateway);
        (self.not_before, self.asked_until) = (None, None);
        self.extend(holder, now.wall, policy);
    }

    /// From when to when it may be signed under its key, by the gateway's clock. Every sending keeps to it, so the last
    /// comes less than [`Policy::key_memory`] and what clocks may be wrong by after the first, and none is of a time
    /// before the one that is noted as the first's: what is noted was thought, and is put right by the next answer.
    pub(super) fn key_holds(&self, policy: &Policy) -> Option<RangeInclusive<UnixTime>> {
        let first = UnixTime::from_millis(self.sent_at?);
        Some(first.saturating_sub(CORRECTION)..=first.saturating_add(policy.key_memory))
    }

    /// Still being sent.
    pub(super) fn extend(&mut self, holder: &str, now: u64, policy: &Policy) {
        let until = now.saturating_add(as_millis(policy.lease));
        self.last_sent_at = Some(now);
        self.lease = Some(Lease { holder: holder.to_owned(), until });
    }

    /// Its key may be forgotten by now.
    pub(super) fn expire(&mut self) {
        self.lease = None;
        self.uncertain = true;
        self.state = State::Unknown;
    }

    /// The exchange decided it.
    pub(super) fn decided(&mut self, result: Bytes, replayed: bool, now: u64) {
        self.settle(State::Done);
        self.decided_at = Some(now);
        (self.result, self.replayed, self.code) = (Some(result), replayed, None);
    }

    /// What the exchange still asks to wait before it is sent, whoever wants it to be (CLI-02).
    pub(super) fn asked_to_wait(&self, now: u64) -> Option<Duration> {
        self.asked_until.filter(|at| *at > now).map(|at| millis(at - now))
    }

    /// One that the exchange holds was sent again, and nothing came of that: it is held as before, and not sent again
    /// unasked, since each link ends the one that the member may have open. What may have been carried out is not held.
    pub(super) fn hold_on(&mut self) {
        let is_put_off = matches!(
            self.state,
            State::Pending | State::Parked(Why::SignedOut | Why::Halted | Why::Scope | Why::Fault)
        );
        if self.held && is_put_off && !self.uncertain {
            self.settle(State::Held);
        }
    }

    /// What a failure makes of it. `fraction` is a random number from 0 to below 1.
    pub(super) fn failed(&mut self, error: &Error, now: u64, fraction: f64, policy: &Policy) {
        self.lease = None;
        self.state = State::Pending;
        self.code = error.code().map(|code| code.as_str().to_owned());
        self.uncertain |= error.may_have_happened();
        match error.kind() {
            ErrorKind::Busy | ErrorKind::QuotaExceeded | ErrorKind::Unreachable | ErrorKind::Cancelled => {
                self.wait(error, now, fraction, policy)
            }
            ErrorKind::OutcomeUnknown | ErrorKind::Protocol => {
                self.unknowns = self.unknowns.saturating_add(u32::from(error.may_have_happened()));
                self.wait(error, now, fraction, policy);
            }
            // Had it been carried out, its key would have been answered with that.
            ErrorKind::Conflict if error.code() == Some(&Code::VersionConflict) => {
                self.settle(State::NeedsRebase);
            }
            ErrorKind::ConfirmationNeeded => self.settle(State::Held),
            // Who refuses it before its key is looked at says nothing of what is held under that.
            ErrorKind::Conflict | ErrorKind::Invalid | ErrorKind::TooLarge | ErrorKind::NotPermitted
                if self.held && !self.uncertain =>
            {
                self.settle(State::Held);
            }
            // A refusal of something that may have been carried out before says nothing of that.
            ErrorKind::Conflict | ErrorKind::Invalid | ErrorKind::TooLarge | ErrorKind::NotPermitted
                if self.uncertain =>
            {
                self.unknowns = policy.resends.saturating_add(1);
            }
            ErrorKind::Conflict => self.settle(State::NeedsRebase),
            ErrorKind::Invalid | ErrorKind::TooLarge | ErrorKind::NotPermitted => {
                self.settle(State::Refused);
            }
            ErrorKind::SignInNeeded | ErrorKind::Ended(_) => self.park(Why::SignedOut),
            ErrorKind::Halted(_) => self.park(Why::Halted),
            ErrorKind::ScopeMissing => self.park(Why::Scope),
            ErrorKind::Bug if error.code() == Some(&Code::IdempotencyKeyReused) => self.park(Why::KeyReused),
            ErrorKind::Proof
            | ErrorKind::Clock
            | ErrorKind::CursorExpired
            | ErrorKind::Secrets
            | ErrorKind::Storage
            | ErrorKind::Declined
            | ErrorKind::CodeExpired
            | ErrorKind::Bug => self.park(Why::Fault),
        }
        self.last_sent_at = self.uncertain.then_some(now);
        self.sent_at = self.sent_at.filter(|_| self.uncertain);
    }

    fn wait(&mut self, error: &Error, now: u64, fraction: f64, policy: &Policy) {
        self.failures = self.failures.saturating_add(1);
        // What was asked for is a floor, however long it is (CLI-02).
        let backoff = Backoff { most: policy.backoff.most.min(LONGEST), ..policy.backoff };
        let wait = backoff.after(self.failures, error.retry_after(), fraction);
        let until = |wait: Duration| now.saturating_add(as_millis(wait));
        self.not_before = Some(until(wait));
        self.asked_until = error.retry_after().map(until);
        self.waits_since = Some(now);
    }

    fn park(&mut self, why: Why) {
        self.state = State::Parked(why);
    }

    fn settle(&mut self, state: State) {
        (self.state, self.held) = (state, state == State::Held);
        (self.uncertain, self.failures, self.unknowns) = (false, 0, 0);
        (self.sent_at, self.last_sent_at) = (None, None);
        (self.not_before, self.lease) = (None, None);
    }

    /// Whether the exchange holds it. An earlier version noted that in the state alone.
    fn is_held(&self) -> bool {
        self.held || self.state == State::Held
    }

    /// Whether it may say something else: it is known not to be carried out.
    pub(super) fn may_change(&self) -> Result<(), Error> {
        match self.state {
            State::Done => Err(cannot("it is decided already")),
            _ if self.is_held() => {
                Err(cannot("the member may still confirm it: discard it on the web first"))
            }
            State::Pending | State::NeedsRebase | State::Refused | State::Parked(_) if !self.uncertain => {
                Ok(())
            }
            _ => Err(cannot("it may have been carried out: synchronise and compare first")),
        }
    }

    /// Whether it may go: nobody is sending it at the moment. `idle` says that this process sends nothing of
    /// its area.
    pub(super) fn may_go(&self, holder: &str, now: u64, idle: bool) -> Result<(), Error> {
        let is_sent = |lease: &Lease| match lease.holder == holder {
            true => !idle,
            false => lease.until > now,
        };
        match self.state == State::Sending && self.lease.as_ref().is_some_and(is_sent) {
            true => Err(Error::new(ErrorKind::Busy, "the entry of the outbox is being sent")),
            false => Ok(()),
        }
    }

    /// Says something else: it is a new write from now on, whose key is new too, and no earlier than the exchange
    /// asked.
    pub(super) fn anew(&mut self) {
        self.settle(State::Pending);
        (self.not_before, self.code) = (self.asked_until, None);
    }

    /// It is to be tried again; says whether that is a new write, which needs a new key.
    pub(super) fn retry(&mut self) -> Result<NewKey, Error> {
        match self.state {
            State::Pending => {
                // The own back-off ends; what the exchange asked for does not (CLI-02).
                (self.not_before, self.failures, self.unknowns) = (self.asked_until, 0, 0);
                Ok(NewKey::No)
            }
            // The same key for as long as the exchange knows it; then it is compared after all.
            State::Unknown => {
                (self.state, self.unknowns, self.failures) = (State::Pending, 0, 0);
                Ok(NewKey::No)
            }
            State::Parked(Why::SignedOut | Why::Halted | Why::Scope | Why::Fault) | State::Held => {
                self.held = self.is_held();
                (self.state, self.not_before) = (State::Pending, self.asked_until);
                Ok(NewKey::No)
            }
            State::Refused | State::NeedsRebase | State::Parked(Why::KeyReused) => {
                self.may_change()?;
                self.anew();
                Ok(NewKey::Yes)
            }
            State::Sending => Err(Error::new(ErrorKind::Busy, "the entry of the outbox is being sent")),
            State::Done => Err(cannot("it is decided already")),
        }
    }

    /// The feed was pulled, and somebody compared. What is missing may still be on its way, and then it would be
    /// carried out twice: that is not believed before it was quiet for long enough.
    pub(super) fn resolve(
        &mut self,
        found: Found,
        now: u64,
        sent: Option<Duration>,
        policy: &Policy,
    ) -> Result<NewKey, Error> {
        let is_quiet = self.quiet_for(now, sent) >= policy.quiet;
        let waits = self.state == State::Unknown
            || self.is_held() && !matches!(self.state, State::Sending | State::Done)
            || self.uncertain && matches!(self.state, State::Pending | State::Parked(_));
        match (waits, found) {
            (false, _) => Err(cannot("there is nothing about it to be compared")),
            (true, Found::Applied) => {
                self.settle(State::Done);
                self.decided_at = Some(now);
                Ok(NewKey::No)
            }
            (true, Found::Missing) if !is_quiet => Err(Error::new(
                ErrorKind::Busy,
                "it was sent so lately that it may still arrive: compare again later",
            )),
            (true, Found::Missing) => {
                self.anew();
                Ok(NewKey::Yes)
            }
        }
    }
}

/// Whether something was decided long enough ago to be forgotten.
pub(super) fn is_stale(decided_at: Option<u64>, now: u64, policy: &Policy) -> bool {
    let Some(at) = decided_at else { return true };
    let [at, now] = [at, now].map(|at| UnixTime::from_secs(0) + millis(at));
    is_over(at, now, policy.keep_decided)
}

/// Whether what is sent next is another write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewKey {
    Yes,
    No,
}

fn cannot(why: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, why)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(super) fn as_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
