//! The state machine of an entry. It decides when an entry is sent, how a response changes its state, and
//! which calls of the program it permits. It has no I/O and no clock; times are milliseconds since 1970.

use std::{ops::RangeInclusive, time::Duration};

use bytes::Bytes;
use dpop_bound::UnixTime;
use exchange_api::codes::Code;

use super::{
    OutboxPolicy,
    entry::{ComparisonResult, EntryState, OutboxEntry, ParkReason, SendLease},
};
use crate::{
    backoff::Backoff,
    environment::CLOCK_TOLERANCE,
    error::{Error, ErrorKind},
    retention::is_expired,
};

/// The maximum back-off if the exchange sent no `Retry-After`.
const MAX_OWN_WAIT: Duration = Duration::from_secs(25 * 3600);

/// The clock readings on which the times of an entry are based, in milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockReadings {
    /// The time of this machine's clock, which its processes share. It is used for waits and leases.
    pub(super) wall: u64,
    /// The estimated time of the gateway's clock. It is used for keys, which expire by that clock.
    pub(super) gateway: u64,
}

/// The next action for the first entry of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendDecision {
    /// Send the entry now.
    Send,
    /// Wait for this duration.
    Wait(Duration),
    /// Compare the entry with the feed, because the exchange may have deleted the key.
    Compare,
    /// Do nothing until the program calls a method of the outbox.
    Blocked,
}

impl OutboxEntry {
    /// Corrects times that were recorded before the clock was set back: the key counts as expired, and waits
    /// start again now. Returns true if a time was changed.
    pub(super) fn correct_for_clock(&mut self, now: ClockReadings, policy: &OutboxPolicy) -> bool {
        let ClockReadings { wall: now, gateway } = now;
        let ahead =
            |at: u64, max: Duration| at > now.saturating_add(to_millis(max.saturating_add(CLOCK_TOLERANCE)));
        let mut found = false;
        if self.sent_at.is_some_and(|at| at > gateway.saturating_add(to_millis(CLOCK_TOLERANCE))) {
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
        if let Some(lease) = self.lease.as_mut().filter(|lease| ahead(lease.until, policy.lease_duration)) {
            (lease.until, found) = (now.saturating_add(to_millis(policy.lease_duration)), true);
        }
        found
    }

    /// Decides the next action. `sent` is the time since this process sent the entry, by the monotonic clock;
    /// `None` if it did not.
    pub(super) fn decide_send(
        &self,
        holder: &str,
        now: ClockReadings,
        sent: Option<Duration>,
        policy: &OutboxPolicy,
    ) -> SendDecision {
        let ClockReadings { wall: now, gateway } = now;
        if self.state.needs_intervention() || self.state == EntryState::Done {
            return SendDecision::Blocked;
        }
        let others = self.lease.as_ref().filter(|lease| lease.holder != holder).map(|lease| lease.until);
        let lease = others.filter(|until| *until > now).map(|until| millis(until - now));
        let requested_wait = self.not_before.filter(|at| *at > now).map(|at| millis(at - now));
        if let Some(wait) = lease.max(requested_wait) {
            return SendDecision::Wait(wait);
        }
        let age = self.sent_at.map_or(Duration::MAX, |at| millis(gateway.saturating_sub(at)));
        let tried = self.unknowns > policy.max_resends || age >= policy.key_lifetime;
        match policy.quiet_period.saturating_sub(self.quiet_duration(now, sent)) {
            _ if !(tried && self.may_be_applied()) => SendDecision::Send,
            Duration::ZERO => SendDecision::Compare,
            rest => SendDecision::Wait(rest),
        }
    }

    /// Returns the time since the last request: `sent`, the time measured by this process, or the time on the
    /// wall clock, whichever is shorter. If the wall clock was set forward, its value is too large, while the
    /// request may still arrive.
    fn quiet_duration(&self, now: u64, sent: Option<Duration>) -> Duration {
        let by_wall = self.last_sent_at.map_or(Duration::MAX, |at| millis(now.saturating_sub(at)));
        by_wall.min(sent.unwrap_or(Duration::MAX))
    }

    /// Marks the entry as being sent. The entry must be stored before the first byte is sent.
    pub(super) fn begin_sending(&mut self, holder: &str, now: ClockReadings, policy: &OutboxPolicy) {
        self.held = self.is_held();
        // Another process was sending the entry and did not record an outcome.
        self.uncertain |= self.state == EntryState::Sending;
        self.state = EntryState::Sending;
        self.sent_at.get_or_insert(now.gateway);
        (self.not_before, self.asked_until) = (None, None);
        self.extend_lease(holder, now.wall, policy);
    }

    /// Returns the period in which requests under the current key may be signed, by the gateway's clock.
    /// Because all requests respect it, the last one is sent less than [`OutboxPolicy::key_lifetime`] plus
    /// the clock tolerance after the first, and none is signed before the recorded time of the first request.
    /// The current time is an estimate, which the next response corrects.
    pub(super) fn key_validity(&self, policy: &OutboxPolicy) -> Option<RangeInclusive<UnixTime>> {
        let first = UnixTime::from_millis(self.sent_at?);
        Some(first.saturating_sub(CLOCK_TOLERANCE)..=first.saturating_add(policy.key_lifetime))
    }

    /// Renews the lease of an entry that is being sent.
    pub(super) fn extend_lease(&mut self, holder: &str, now: u64, policy: &OutboxPolicy) {
        let until = now.saturating_add(to_millis(policy.lease_duration));
        self.last_sent_at = Some(now);
        self.lease = Some(SendLease { holder: holder.to_owned(), until });
    }

    /// Marks the outcome as unknown, because the exchange may have deleted the key.
    pub(super) fn mark_unknown(&mut self) {
        self.lease = None;
        self.uncertain = true;
        self.state = EntryState::Unknown;
    }

    /// Records the decision of the exchange.
    pub(super) fn mark_decided(&mut self, result: Bytes, replayed: bool, now: u64) {
        self.move_to_state(EntryState::Done);
        self.decided_at = Some(now);
        (self.result, self.replayed, self.code) = (Some(result), replayed, None);
    }

    /// Returns the remaining `Retry-After` time of the exchange, which no call of the program shortens
    /// (CLI-02).
    pub(super) fn requested_wait(&self, now: u64) -> Option<Duration> {
        self.asked_until.filter(|at| *at > now).map(|at| millis(at - now))
    }

    /// Restores the held state after the entry was sent again without a decision. A held change set is sent
    /// again only when the member requests it, because each new link invalidates the link that the member may
    /// have open. A change set that may have been applied is not held.
    pub(super) fn restore_hold(&mut self) {
        let is_put_off = matches!(
            self.state,
            EntryState::Pending
                | EntryState::Parked(
                    ParkReason::SignedOut | ParkReason::Halted | ParkReason::Scope | ParkReason::Fault
                )
        );
        if self.held && is_put_off && !self.uncertain {
            self.move_to_state(EntryState::Held);
        }
    }

    /// Changes the state according to a failed request. `fraction` is a random number in `0.0..1.0`.
    pub(super) fn apply_failure(&mut self, error: &Error, now: u64, fraction: f64, policy: &OutboxPolicy) {
        self.lease = None;
        self.state = EntryState::Pending;
        self.code = error.code().map(|code| code.as_str().to_owned());
        self.uncertain |= error.may_have_been_applied();
        match error.kind() {
            ErrorKind::Busy | ErrorKind::QuotaExceeded | ErrorKind::Unreachable | ErrorKind::Cancelled => {
                self.schedule_retry(error, now, fraction, policy)
            }
            ErrorKind::OutcomeUnknown | ErrorKind::Protocol => {
                self.unknowns = self.unknowns.saturating_add(u32::from(error.may_have_been_applied()));
                self.schedule_retry(error, now, fraction, policy);
            }
            // The exchange has decided the change set, and would repeat the same response under the key.
            ErrorKind::Unreadable => self.mark_unknown(),
            // If an earlier request had been applied, the exchange would have returned its result under the
            // key.
            ErrorKind::Conflict if error.code() == Some(&Code::VersionConflict) => {
                self.move_to_state(EntryState::NeedsRebase);
            }
            ErrorKind::ConfirmationNeeded => self.move_to_state(EntryState::Held),
            // An error response before the lookup of the key does not change the held change set.
            ErrorKind::Conflict | ErrorKind::Invalid | ErrorKind::TooLarge | ErrorKind::NotPermitted
                if self.held && !self.uncertain =>
            {
                self.move_to_state(EntryState::Held);
            }
            // This error response does not show whether an earlier request was applied.
            ErrorKind::Conflict | ErrorKind::Invalid | ErrorKind::TooLarge | ErrorKind::NotPermitted
                if self.uncertain =>
            {
                self.unknowns = policy.max_resends.saturating_add(1);
            }
            ErrorKind::Conflict => self.move_to_state(EntryState::NeedsRebase),
            ErrorKind::Invalid | ErrorKind::TooLarge | ErrorKind::NotPermitted => {
                self.move_to_state(EntryState::Refused);
            }
            ErrorKind::SignInNeeded | ErrorKind::Ended(_) => self.park_for(ParkReason::SignedOut),
            ErrorKind::Halted(_) => self.park_for(ParkReason::Halted),
            ErrorKind::ScopeMissing => self.park_for(ParkReason::Scope),
            ErrorKind::Bug if error.code() == Some(&Code::IdempotencyKeyReused) => {
                self.park_for(ParkReason::KeyReused)
            }
            ErrorKind::Proof
            | ErrorKind::Clock
            | ErrorKind::CursorExpired
            | ErrorKind::Secrets
            | ErrorKind::Storage
            | ErrorKind::Declined
            | ErrorKind::CodeExpired
            | ErrorKind::Bug => self.park_for(ParkReason::Fault),
        }
        self.last_sent_at = self.uncertain.then_some(now);
        self.sent_at = self.sent_at.filter(|_| self.uncertain);
    }

    fn schedule_retry(&mut self, error: &Error, now: u64, fraction: f64, policy: &OutboxPolicy) {
        self.failures = self.failures.saturating_add(1);
        // `Retry-After` is a lower bound without a maximum (CLI-02).
        let backoff = Backoff { max: policy.backoff.max.min(MAX_OWN_WAIT), ..policy.backoff };
        let wait = backoff.delay_after(self.failures, error.retry_after(), fraction);
        let until = |wait: Duration| now.saturating_add(to_millis(wait));
        self.not_before = Some(until(wait));
        self.asked_until = error.retry_after().map(until);
        self.waits_since = Some(now);
    }

    fn park_for(&mut self, why: ParkReason) {
        self.state = EntryState::Parked(why);
    }

    fn move_to_state(&mut self, state: EntryState) {
        (self.state, self.held) = (state, state == EntryState::Held);
        (self.uncertain, self.failures, self.unknowns) = (false, 0, 0);
        (self.sent_at, self.last_sent_at) = (None, None);
        (self.not_before, self.lease) = (None, None);
    }

    /// Returns true if the exchange holds the change set. Earlier versions recorded this only in the state.
    fn is_held(&self) -> bool {
        self.held || self.state == EntryState::Held
    }

    /// Returns an error unless the entry is known not to be applied. Only such an entry may be edited.
    pub(super) fn check_editable(&self) -> Result<(), Error> {
        match self.state {
            EntryState::Done => Err(invalid_request("the entry is already decided")),
            _ if self.is_held() => {
                Err(invalid_request("the member may still confirm the entry: discard it on the web first"))
            }
            EntryState::Pending | EntryState::NeedsRebase | EntryState::Refused | EntryState::Parked(_)
                if !self.uncertain =>
            {
                Ok(())
            }
            _ => Err(invalid_request("the entry may have been applied: synchronize and compare first")),
        }
    }

    /// Returns an error if the entry is being sent. `idle` is true if this process is not sending in the
    /// area.
    pub(super) fn check_removable(&self, holder: &str, now: u64, idle: bool) -> Result<(), Error> {
        let is_sent = |lease: &SendLease| match lease.holder == holder {
            true => !idle,
            false => lease.until > now,
        };
        match self.state == EntryState::Sending && self.lease.as_ref().is_some_and(is_sent) {
            true => Err(Error::new(ErrorKind::Busy, "the outbox entry is being sent")),
            false => Ok(()),
        }
    }

    /// Resets the entry to a new write. It needs a new key, and still respects the exchange's `Retry-After`
    /// time.
    pub(super) fn reset_as_new_write(&mut self) {
        self.move_to_state(EntryState::Pending);
        (self.not_before, self.code) = (self.asked_until, None);
    }

    /// Prepares another attempt. Returns the key that it needs: a new write needs a new one.
    pub(super) fn prepare_retry(&mut self) -> Result<KeyUse, Error> {
        match self.state {
            EntryState::Pending => {
                // Ends the back-off, but not the exchange's `Retry-After` time (CLI-02).
                (self.not_before, self.failures, self.unknowns) = (self.asked_until, 0, 0);
                Ok(KeyUse::Same)
            }
            // Keeps the key while the exchange still stores it. After that, a comparison is needed.
            EntryState::Unknown => {
                (self.state, self.unknowns, self.failures) = (EntryState::Pending, 0, 0);
                Ok(KeyUse::Same)
            }
            EntryState::Parked(
                ParkReason::SignedOut | ParkReason::Halted | ParkReason::Scope | ParkReason::Fault,
            )
            | EntryState::Held => {
                self.held = self.is_held();
                (self.state, self.not_before) = (EntryState::Pending, self.asked_until);
                Ok(KeyUse::Same)
            }
            EntryState::Refused | EntryState::NeedsRebase | EntryState::Parked(ParkReason::KeyReused) => {
                self.check_editable()?;
                self.reset_as_new_write();
                Ok(KeyUse::New)
            }
            EntryState::Sending => Err(Error::new(ErrorKind::Busy, "the outbox entry is being sent")),
            EntryState::Done => Err(invalid_request("the entry is already decided")),
        }
    }

    /// Applies the result of a feed comparison. A missing change may still be in flight and would then be
    /// applied twice, so `Missing` is rejected until the quiet period has ended.
    pub(super) fn resolve_outcome(
        &mut self,
        found: ComparisonResult,
        now: u64,
        sent: Option<Duration>,
        policy: &OutboxPolicy,
    ) -> Result<KeyUse, Error> {
        let is_quiet = self.quiet_duration(now, sent) >= policy.quiet_period;
        let waits = self.state == EntryState::Unknown
            || self.is_held() && !matches!(self.state, EntryState::Sending | EntryState::Done)
            || self.uncertain && matches!(self.state, EntryState::Pending | EntryState::Parked(_));
        match (waits, found) {
            (false, _) => Err(invalid_request(
                "the outcome of the entry is not in doubt, so there is nothing to resolve",
            )),
            (true, ComparisonResult::Applied) => {
                self.move_to_state(EntryState::Done);
                self.decided_at = Some(now);
                Ok(KeyUse::Same)
            }
            (true, ComparisonResult::Missing) if !is_quiet => {
                Err(Error::new(ErrorKind::Busy, "the last request may still arrive: compare again later"))
            }
            (true, ComparisonResult::Missing) => {
                self.reset_as_new_write();
                Ok(KeyUse::New)
            }
        }
    }
}

/// Returns true if the retention period of a decided entry has expired.
pub(super) fn is_retention_over(decided_at: Option<u64>, now: u64, policy: &OutboxPolicy) -> bool {
    let Some(at) = decided_at else { return true };
    let [at, now] = [at, now].map(|at| UnixTime::from_secs(0) + millis(at));
    is_expired(at, now, policy.decided_retention)
}

/// The idempotency key of the next request: a new write needs a new key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyUse {
    New,
    Same,
}

fn invalid_request(why: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, why)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(super) fn to_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
