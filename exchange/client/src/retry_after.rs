//! The table of a server's waits. A wait is a period in which requests of a certain scope must not be sent,
//! because the server sent a `Retry-After`. Each entry has a scope, an end and an owner, and can be saved for
//! the next process (CLI-02). The table is pure state that reads no clock and never blocks.

use std::{
    borrow::Cow,
    cmp::Reverse,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use dpop_bound::{UnixTime, clock::ClockReading};
use exchange_api::{
    codes::Code,
    runtime::operation::{Operation, RepeatSafety},
};
use serde::{Deserialize, Serialize};

use crate::{
    ownership::{Ownership, OwnershipMatch},
    token_source::BoxFuture,
};

/// The maximum wait that is saved for the next process, because no connection lasts longer (LIM-08). The
/// exchange sends `Retry-After` times of up to a day (LIM-19). A longer wait applies until this process ends
/// (CLI-02).
const MAX_SAVED_WAIT: Duration = Duration::from_secs(90 * 86_400);
/// The minimum interval between two reads of the `Retry-After` times that other processes saved.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum number of saved waits. An error code has at most one for each scope and owner.
const MAX_SAVED_ENTRIES: usize = 32;

/// The set of operations to which a `Retry-After` applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum WaitScope {
    /// Every call of the client.
    Everything,
    /// Writes that count towards the daily quota.
    Writes,
    /// The operation with this id.
    Operation(Cow<'static, str>),
}

impl WaitScope {
    /// Returns the scope of the `Retry-After` in an error response; `None` if it applies only to the call
    /// itself.
    pub(crate) fn for_code(code: Option<&Code>, operation: &'static Operation) -> Option<Self> {
        match code {
            // An op of org stock counts as a write (OST-18), so smaller writes may still fit if a change set
            // does not.
            Some(Code::QuotaExceeded) if operation.id == "org_stock_write" => {
                Some(Self::for_operation(operation))
            }
            Some(Code::QuotaExceeded | Code::ExchangeBudgetExhausted) => Some(Self::Writes),
            // ERR-36 concerns only large change sets, and ERR-25 concerns only one idempotency key.
            Some(Code::RelayBusy | Code::IdempotencyInProgress) => None,
            // Account checks have a separate limit, whose `Retry-After` may be hours.
            Some(Code::RateLimited) if operation.id == "account_check" => {
                Some(Self::for_operation(operation))
            }
            _ => Some(Self::Everything),
        }
    }

    /// Returns true if the wait applies to only one member: the quota of daily writes (LIM-19), handle checks
    /// (LIM-05), and live proofs (ERR-09). A wait for all calls may be due to a limit of the source address
    /// (LIM-04).
    fn is_per_member(&self, code: Option<&Code>) -> bool {
        match code {
            Some(Code::QuotaExceeded | Code::DpopProofLimit) => true,
            Some(Code::RateLimited) => matches!(self, Self::Operation(_)),
            _ => false,
        }
    }

    /// Creates the scope of a single operation.
    pub(crate) const fn for_operation(operation: &'static Operation) -> Self {
        Self::Operation(Cow::Borrowed(operation.id))
    }

    fn applies_to(&self, operation: &Operation) -> bool {
        match self {
            Self::Everything => true,
            Self::Writes => operation.repeat == RepeatSafety::Keyed,
            Self::Operation(id) => operation.id == *id,
        }
    }
}

/// A wait that the server requested.
#[derive(Clone, Debug, PartialEq)]
struct RetryAfterEntry {
    scope: WaitScope,
    /// The end of the wait, by the monotonic clock.
    until: Duration,
    code: Option<Code>,
    /// The only owner to whom the wait applies; `None` if it applies to every member.
    owner: Option<Ownership>,
}

impl RetryAfterEntry {
    /// Returns true if both waits have the same scope, code, and owner.
    fn has_same_key(&self, other: &Self) -> bool {
        (&self.scope, &self.code, &self.owner) == (&other.scope, &other.code, &other.owner)
    }
}

/// Returns true if a wait of the owner `wait_owner` applies to a request of the owner `requester`.
///
/// A new connection may belong to the same member until its installation is known, so the wait applies
/// (CLI-02). If a connection ended before its installation was known, its owner cannot be determined, so the
/// wait does not apply.
fn applies_to_owner(wait_owner: &Ownership, requester: Option<&Ownership>) -> bool {
    requester.is_some_and(|requester| match wait_owner.compare_with(requester) {
        OwnershipMatch::Same => true,
        OwnershipMatch::Unknown => wait_owner.installation.is_some(),
        OwnershipMatch::Other | OwnershipMatch::Unowned => false,
    })
}

/// The waits that one server requested. Clones share the table. Every request checks it before it is sent.
#[derive(Clone, Default)]
pub(crate) struct RetryAfterTable(Arc<RetryAfterInner>);

#[derive(Default)]
struct RetryAfterInner {
    entries: Mutex<Vec<RetryAfterEntry>>,
    /// The function that is called when a new wait has to be saved.
    change_hook: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// The function that reads the waits that other processes saved.
    reload_hook: OnceLock<Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>>,
    /// The time of the last reload, in milliseconds of the monotonic clock plus one; 0 if there was no
    /// reload.
    last_reload: AtomicU64,
}

impl RetryAfterTable {
    fn lock_entries(&self) -> MutexGuard<'_, Vec<RetryAfterEntry>> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the function that is called after every new wait. Later calls have no effect.
    pub(crate) fn set_change_hook(&self, hook: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.change_hook.set(Box::new(hook));
    }

    /// Sets the function that reads the waits of other processes. Later calls have no effect.
    pub(crate) fn set_reload_hook(&self, hook: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) {
        let _ = self.0.reload_hook.set(Box::new(hook));
    }

    /// Returns a future that reads the `Retry-After` times saved by other processes. The caller awaits it
    /// before it sends a request. Returns `None` if there is no reload hook, or if the last reload was less
    /// than [`RELOAD_INTERVAL`] ago.
    pub(crate) fn reload_if_due(&self, now: Duration) -> Option<BoxFuture<'static, ()>> {
        let hook = self.0.reload_hook.get()?;
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (now, before) = (millis(now).saturating_add(1), self.0.last_reload.load(Ordering::Relaxed));
        if before != 0 && now.saturating_sub(before) < millis(RELOAD_INTERVAL) {
            return None;
        }
        self.0.last_reload.store(now, Ordering::Relaxed);
        Some(hook())
    }

    /// Records a wait from the response to a call of `owner`. `until` is a time of the monotonic clock.
    pub(crate) fn record_wait(
        &self,
        scope: WaitScope,
        code: Option<Code>,
        owner: Option<&Ownership>,
        until: Duration,
    ) {
        let owner = owner.filter(|_| scope.is_per_member(code.as_ref())).cloned();
        self.insert_entry(RetryAfterEntry { scope, until, code, owner });
        self.notify_change();
    }

    fn notify_change(&self) {
        if let Some(hook) = self.0.change_hook.get() {
            hook();
        }
    }

    fn insert_entry(&self, new: RetryAfterEntry) {
        let mut gates = self.lock_entries();
        match gates.iter_mut().find(|entry| entry.has_same_key(&new)) {
            Some(entry) => entry.until = entry.until.max(new.until),
            None => gates.push(new),
        }
    }

    /// Returns the end and the error code of the longest wait that applies to a request of this operation by
    /// this owner; `None` if the request may be sent now.
    pub(crate) fn find_wait(
        &self,
        operation: &Operation,
        owner: Option<&Ownership>,
        now: Duration,
    ) -> Option<(Duration, Option<Code>)> {
        let mut gates = self.lock_entries();
        gates.retain(|entry| entry.until > now);
        let concerns = |entry: &&RetryAfterEntry| {
            entry.scope.applies_to(operation)
                && entry.owner.as_ref().is_none_or(|wait_owner| applies_to_owner(wait_owner, owner))
        };
        let entry = gates.iter().filter(concerns).max_by_key(|entry| entry.until)?;
        Some((entry.until, entry.code.clone()))
    }

    /// Stores the installation id in the recorded waits of a connection, once it is known.
    pub(crate) fn set_installation(&self, connection: &str, installation: &str) {
        let mut found = false;
        for owner in self.lock_entries().iter_mut().filter_map(|entry| entry.owner.as_mut()) {
            if owner.is_connection(connection) {
                owner.installation = Some(installation.into());
                found = true;
            }
        }
        if found {
            self.notify_change();
        }
    }

    /// Removes the waits that apply to single members, after a disconnection (CLI-06).
    pub(crate) fn forget_members(&self) {
        self.lock_entries().retain(|entry| entry.owner.is_none());
    }

    /// Returns the remaining waits, to be saved for the next process.
    pub(crate) fn to_saved(&self, now: ClockReading) -> SavedRetryAfterTable {
        let gates = self.lock_entries();
        let saved = gates.iter().filter(|entry| entry.until > now.monotonic).map(|entry| {
            let left = entry.until.saturating_sub(now.monotonic).min(MAX_SAVED_WAIT);
            let code = entry.code.as_ref().map(ToString::to_string);
            SavedRetryAfterEntry::with_remaining(
                now.wall,
                left,
                entry.scope.clone(),
                code,
                entry.owner.clone(),
            )
        });
        SavedRetryAfterTable(saved.collect())
    }

    /// Adds the waits that another process saved. If the wall clock was set back since, their remaining time
    /// is unknown, and a wait with the same key that this process already has takes precedence.
    pub(crate) fn restore_saved(&self, saved: &SavedRetryAfterTable, now: ClockReading) {
        for entry in &saved.0 {
            let Some(left) = entry.remaining(now.wall) else { continue };
            let code = entry.code.as_deref().map(Code::from);
            let until = now.monotonic.saturating_add(left);
            let new = RetryAfterEntry { scope: entry.scope.clone(), until, code, owner: entry.owner.clone() };
            if !(entry.is_ahead(now.wall) && self.lock_entries().iter().any(|entry| entry.has_same_key(&new)))
            {
                self.insert_entry(new);
            }
        }
    }
}

impl fmt::Debug for RetryAfterTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RetryAfterTable").field(&*self.lock_entries()).finish()
    }
}

/// The saved form of a [`RetryAfterTable`]. It contains no secrets, and identifies members only by ids that
/// the [`ConnectionNotes`](crate::state_folder::ConnectionNotes) contain as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SavedRetryAfterTable(Vec<SavedRetryAfterEntry>);

/// A saved wait. `saved_at` and `until` are milliseconds since 1970 by the wall clock of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedRetryAfterEntry {
    scope: WaitScope,
    code: Option<String>,
    #[serde(rename = "noted")]
    saved_at: u64,
    until: u64,
    #[serde(rename = "of", default, skip_serializing_if = "Option::is_none")]
    owner: Option<Ownership>,
}

impl SavedRetryAfterEntry {
    fn with_remaining(
        wall: UnixTime,
        left: Duration,
        scope: WaitScope,
        code: Option<String>,
        owner: Option<Ownership>,
    ) -> Self {
        let millis = |time: UnixTime| u64::try_from(time.since_epoch().as_millis()).unwrap_or(u64::MAX);
        // The end is rounded up, so that no request is sent too early.
        let until = millis(wall.saturating_add(left)).saturating_add(1);
        Self { scope, code, saved_at: millis(wall), until, owner }
    }

    /// Returns the remaining wait. It is never longer than at the time of saving, even if the wall clock was
    /// changed since. Returns `None` if the wait has ended, or if it is longer than a wait that this program
    /// saves.
    fn remaining(&self, wall: UnixTime) -> Option<Duration> {
        let [saved_at, until] = [self.saved_at, self.until].map(UnixTime::from_millis);
        let delay = until.saturating_since(saved_at);
        if delay > MAX_SAVED_WAIT.saturating_add(Duration::from_secs(1)) {
            return None;
        }
        let left = until.saturating_since(wall).min(delay);
        (!left.is_zero()).then_some(left)
    }

    /// Returns true if the wall clock was set back since the wait was saved.
    fn is_ahead(&self, wall: UnixTime) -> bool {
        UnixTime::from_millis(self.saved_at) > wall
    }
}

impl SavedRetryAfterTable {
    /// Merges the saved waits with those of this process. If both have the same key, the longer wait applies.
    /// A saved wait whose time stamp is ahead of the wall clock never replaces a wait of this process.
    pub(crate) fn merge_with(self, newer: Self, wall: UnixTime) -> Self {
        let mut all = newer.0;
        for other in self.0 {
            let Some(left) = other.remaining(wall) else { continue };
            let is_ahead = other.is_ahead(wall);
            let other =
                SavedRetryAfterEntry::with_remaining(wall, left, other.scope, other.code, other.owner);
            let is_same = |entry: &&mut SavedRetryAfterEntry| {
                entry.scope == other.scope && entry.code == other.code && entry.owner == other.owner
            };
            match all.iter_mut().find(is_same) {
                Some(entry) if is_ahead || entry.until >= other.until => {}
                Some(entry) => *entry = other,
                None => all.push(other),
            }
        }
        all.sort_by_key(|entry| Reverse(entry.until));
        all.truncate(MAX_SAVED_ENTRIES);
        Self(all)
    }

    /// Removes the waits that apply to single members.
    pub(crate) fn without_members(mut self) -> Self {
        self.0.retain(|entry| entry.owner.is_none());
        self
    }

    /// Returns true if the wall clock was set back since a wait was saved. Such a wait has to be saved again,
    /// because otherwise every new process starts it with its full length.
    pub(crate) fn is_ahead(&self, wall: UnixTime) -> bool {
        self.0.iter().any(|entry| entry.is_ahead(wall))
    }
}

#[cfg(test)]
mod tests {
    use exchange_api::operations::OperationId;

    use super::*;

    const READ: &Operation = OperationId::StockRead.operation();
    const WRITE: &Operation = OperationId::StockWrite.operation();
    /// The wall clock time at the start of a process, in seconds since 1970.
    const NOW: u64 = 1_790_000_000;

    /// Returns the clocks of a process that has run for `monotonic` seconds.
    fn at(monotonic: u64, wall: u64) -> ClockReading {
        ClockReading { wall: UnixTime::from_secs(wall), monotonic: Duration::from_secs(monotonic) }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Returns the remaining wait of an operation in whole seconds, for a process that reads this saved
    /// table.
    fn remaining_wait(saved: &SavedRetryAfterTable, operation: &Operation, now: ClockReading) -> u64 {
        let next = RetryAfterTable::default();
        next.restore_saved(saved, now);
        let hold = next.find_wait(operation, None, now.monotonic);
        hold.map_or(0, |(until, _)| until.saturating_sub(now.monotonic).as_secs())
    }

    /// Returns the table that a process saves if it receives a `Retry-After` at `NOW` and then ends.
    fn saved(scope: WaitScope, code: Option<Code>, wait: u64) -> SavedRetryAfterTable {
        let gates = RetryAfterTable::default();
        gates.record_wait(scope, code, None, seconds(500 + wait));
        gates.to_saved(at(500, NOW))
    }

    /// CLI-02: a wait applies to its whole scope, and the longest of several waits applies.
    #[test]
    fn wait_applies_to_its_scope() {
        let gates = RetryAfterTable::default();
        gates.record_wait(WaitScope::Writes, Some(Code::ExchangeBudgetExhausted), None, seconds(100));
        gates.record_wait(WaitScope::for_operation(READ), Some(Code::RateLimited), None, seconds(50));
        gates.record_wait(WaitScope::for_operation(READ), Some(Code::RateLimited), None, seconds(40));
        let until =
            |operation, now| gates.find_wait(operation, None, seconds(now)).map(|(until, _)| until.as_secs());
        assert_eq!((until(READ, 49), until(READ, 50)), (Some(50), None));
        assert_eq!((until(WRITE, 99), until(WRITE, 100)), (Some(100), None));
    }

    /// OST-18, ERR-34: org stock counts ops, so the exhausted quota of a change set does not delay other
    /// writes.
    #[test]
    fn org_stock_quota_delays_only_org_stock() {
        let org_stock = OperationId::OrgStockWrite.operation();
        let scope = |operation| WaitScope::for_code(Some(&Code::QuotaExceeded), operation);
        assert_eq!(
            (scope(org_stock), scope(WRITE)),
            (Some(WaitScope::for_operation(org_stock)), Some(WaitScope::Writes))
        );
        let gates = RetryAfterTable::default();
        gates.record_wait(WaitScope::for_operation(org_stock), Some(Code::QuotaExceeded), None, seconds(60));
        let is_waiting = |operation| gates.find_wait(operation, None, seconds(0)).is_some();
        assert_eq!((is_waiting(org_stock), is_waiting(WRITE), is_waiting(READ)), (true, false, false));
    }

    /// CLI-02: the next process waits for the remaining time, and reports the original error code.
    #[test]
    fn next_process_waits_for_the_rest() {
        let saved = saved(WaitScope::Everything, Some(Code::ServiceUnavailable), 600);
        let saved = serde_json::from_slice(&serde_json::to_vec(&saved).unwrap()).unwrap();
        for (after, left) in [(0, 600), (100, 500), (599, 1), (601, 0), (90_000, 0)] {
            assert_eq!(remaining_wait(&saved, READ, at(7, NOW + after)), left, "{after}");
        }
        let next = RetryAfterTable::default();
        next.restore_saved(&saved, at(7, NOW));
        assert_eq!(next.find_wait(WRITE, None, seconds(7)).unwrap().1, Some(Code::ServiceUnavailable));
    }

    /// If the wall clock was set back, a wait does not become longer, and it gets shorter each time it is
    /// saved again.
    #[test]
    fn clock_set_back_does_not_prolong_waits() {
        let written = saved(WaitScope::Everything, None, 600);
        let earlier = NOW - 86_400;
        assert!(
            written.is_ahead(UnixTime::from_secs(earlier)) && !written.is_ahead(UnixTime::from_secs(NOW))
        );
        assert_eq!(remaining_wait(&written, READ, at(0, earlier)), 600);
        // This process waits for a part of the time and saves the remaining time.
        let process = RetryAfterTable::default();
        process.restore_saved(&written, at(0, earlier));
        let now = at(100, earlier + 100);
        let written = written.merge_with(process.to_saved(now), now.wall);
        assert_eq!(remaining_wait(&written, READ, at(0, earlier + 100)), 500);
        assert_eq!(remaining_wait(&written, READ, at(0, earlier + 700)), 0);
        // A process that has no wait with the same key keeps the saved one.
        let late = saved(WaitScope::Writes, None, 60)
            .merge_with(SavedRetryAfterTable::default(), UnixTime::from_secs(earlier));
        assert_eq!(remaining_wait(&late, WRITE, at(0, earlier)), 60);
        assert_eq!(remaining_wait(&late, WRITE, at(0, earlier + 61)), 0);
    }

    /// CLI-02, LIM-08: a wait of several days is saved, up to the lifetime of a connection. An invalid entry
    /// has no effect.
    #[test]
    fn saved_waits_end_with_the_connection_lifetime() {
        let day = 24 * 3600;
        let week = saved(WaitScope::Everything, None, 7 * day);
        assert_eq!(
            (remaining_wait(&week, READ, at(0, NOW)), remaining_wait(&week, READ, at(0, NOW + 6 * day))),
            (7 * day, day)
        );
        assert_eq!(remaining_wait(&saved(WaitScope::Writes, None, 400 * day), WRITE, at(0, NOW)), 90 * day);
        assert_eq!(
            remaining_wait(&saved(WaitScope::Writes, None, 400 * day), WRITE, at(0, NOW + 90 * day + 1)),
            0
        );
        let gates = RetryAfterTable::default();
        gates.record_wait(WaitScope::Everything, None, None, Duration::MAX);
        assert_eq!(remaining_wait(&gates.to_saved(at(1, NOW)), READ, at(0, NOW)), 90 * day);
        for (noted, until) in
            [(0, u64::MAX), (NOW * 1000, u64::MAX), (u64::MAX, u64::MAX), (u64::MAX, 0), (0, NOW)]
        {
            let json = format!(r#"[{{"scope":"everything","code":null,"noted":{noted},"until":{until}}}]"#);
            let absurd: SavedRetryAfterTable = serde_json::from_str(&json).unwrap();
            assert_eq!(remaining_wait(&absurd, READ, at(0, NOW)), 0, "{json}");
            assert_eq!(
                absurd.merge_with(SavedRetryAfterTable::default(), UnixTime::from_secs(NOW)),
                SavedRetryAfterTable::default()
            );
        }
    }

    /// Merging the waits of several processes loses none, up to the maximum number.
    #[test]
    fn waits_of_several_processes_are_merged() {
        let wall = UnixTime::from_secs(NOW);
        let both =
            saved(WaitScope::Writes, None, 60).merge_with(saved(WaitScope::Everything, None, 30), wall);
        assert_eq!(
            (remaining_wait(&both, WRITE, at(0, NOW)), remaining_wait(&both, READ, at(0, NOW))),
            (60, 30)
        );
        for (there, own) in [(60, 30), (30, 60)] {
            let longer =
                saved(WaitScope::Writes, None, there).merge_with(saved(WaitScope::Writes, None, own), wall);
            assert_eq!((remaining_wait(&longer, WRITE, at(0, NOW)), longer.0.len()), (60, 1));
        }
        let many =
            (0..100).map(|n| saved(WaitScope::Everything, Some(Code::from(format!("CODE_{n}"))), 100 + n));
        let many = many.fold(SavedRetryAfterTable::default(), |there, own| there.merge_with(own, wall));
        assert_eq!((many.0.len(), remaining_wait(&many, READ, at(0, NOW))), (MAX_SAVED_ENTRIES, 199));
    }

    fn owner(connection: &str, installation: Option<&str>) -> Ownership {
        Ownership { connection: Some(connection.into()), installation: installation.map(Into::into) }
    }

    /// LIM-05, LIM-19, CLI-02: the wait of one member applies to all connections of this member in every
    /// process, but not to other members. The wait of a source address applies to every member.
    #[test]
    fn quota_of_one_member_does_not_delay_others() {
        const CHECK: &Operation = OperationId::AccountCheck.operation();
        let gates = RetryAfterTable::default();
        let first = owner("c-1", None);
        gates.record_wait(WaitScope::Writes, Some(Code::QuotaExceeded), Some(&first), seconds(60));
        gates.record_wait(
            WaitScope::for_operation(CHECK),
            Some(Code::RateLimited),
            Some(&first),
            seconds(50),
        );
        gates.record_wait(WaitScope::Everything, Some(Code::RateLimited), Some(&first), seconds(5));
        gates.set_installation("c-1", "i-1");
        let saved = serde_json::to_vec(&gates.to_saved(at(0, NOW))).unwrap();
        let saved: SavedRetryAfterTable = serde_json::from_slice(&saved).unwrap();
        let restored = RetryAfterTable::default();
        restored.restore_saved(&saved, at(0, NOW));
        let saved_again = saved.clone().merge_with(restored.to_saved(at(0, NOW)), UnixTime::from_secs(NOW));
        assert_eq!(saved_again.0.len(), 3);
        for gates in [gates, restored] {
            let wait = |operation, now: Option<Ownership>| {
                let hold = gates.find_wait(operation, now.as_ref(), seconds(0));
                hold.map(|(until, _)| until.as_secs())
            };
            for same in [owner("c-1", None), owner("c-2", Some("i-1")), owner("c-2", None)] {
                assert_eq!((wait(WRITE, Some(same.clone())), wait(CHECK, Some(same))), (Some(60), Some(50)));
            }
            for other in [Some(owner("c-2", Some("i-2"))), None] {
                assert_eq!((wait(WRITE, other.clone()), wait(CHECK, other)), (Some(5), Some(5)));
            }
            gates.forget_members();
            assert_eq!(wait(WRITE, Some(owner("c-1", Some("i-1")))), Some(5));
        }
        assert_eq!(remaining_wait(&saved.without_members(), WRITE, at(0, NOW)), 5);
        // The owner of a connection that ended without an installation id is unknown.
        let gates = RetryAfterTable::default();
        gates.record_wait(
            WaitScope::Writes,
            Some(Code::QuotaExceeded),
            Some(&owner("c-1", None)),
            seconds(60),
        );
        assert!(gates.find_wait(WRITE, Some(&owner("c-2", Some("i-1"))), seconds(0)).is_none());
    }
}
