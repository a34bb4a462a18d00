//! Until when a server does not want to be asked: what `Retry-After` said, whom it concerns, and how the next
//! process hears of it (CLI-02). Decides and remembers; reads no clock and waits for nobody.

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

use dpop_bound::{UnixTime, clock::Reading};
use exchange_api::{
    codes::Code,
    runtime::operation::{Operation, Repeat},
};
use serde::{Deserialize, Serialize};

use crate::{
    tokens::Later,
    whose::{Belongs, Whose},
};

/// A wait is handed to the next process for no longer than this: no connection lasts longer (LIM-08). The longest that
/// the exchange asks for is until the next day begins (LIM-19), but nobody is asked earlier than they said (CLI-02); what
/// is longer than this ends with the process.
const LONGEST: Duration = Duration::from_secs(90 * 86_400);
/// What other processes are told meanwhile is heard before a request leaves, unless it was no longer ago than this.
const PAUSE: Duration = Duration::from_secs(1);
/// So many waits are handed on: there are as many as codes that hold something back, and no server makes more.
const MOST: usize = 32;

/// Whom a `Retry-After` is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Scope {
    /// Every call of the client: limits are per member.
    Everything,
    /// Writes that count.
    Writes,
    /// One operation, by its id.
    Operation(Cow<'static, str>),
}

impl Scope {
    /// Whom a refusal of the exchange is for; `None`: for its own call alone.
    pub(crate) fn of(code: Option<&Code>, operation: &'static Operation) -> Option<Self> {
        match code {
            // A set of org stock counts by its ops (OST-18): where it has no room, smaller writes may have.
            Some(Code::QuotaExceeded) if operation.id == "org_stock_write" => Some(Self::only(operation)),
            Some(Code::QuotaExceeded | Code::ExchangeBudgetExhausted) => Some(Self::Writes),
            // ERR-36: of large change sets; ERR-25: of this key.
            Some(Code::RelayBusy | Code::IdempotencyInProgress) => None,
            // Limits of its own, hours long.
            Some(Code::RateLimited) if operation.id == "account_check" => Some(Self::only(operation)),
            _ => Some(Self::Everything),
        }
    }

    /// Whether it is one member's, and nobody else's who signs in here: the day's writes (LIM-19), checks of handles
    /// (LIM-05), live proofs (ERR-09). What is asked of all calls may be asked of an address (LIM-04).
    fn is_of_member(&self, code: Option<&Code>) -> bool {
        match code {
            Some(Code::QuotaExceeded | Code::DpopProofLimit) => true,
            Some(Code::RateLimited) => matches!(self, Self::Operation(_)),
            _ => false,
        }
    }

    /// This operation alone.
    pub(crate) const fn only(operation: &'static Operation) -> Self {
        Self::Operation(Cow::Borrowed(operation.id))
    }

    fn has(&self, operation: &Operation) -> bool {
        match self {
            Self::Everything => true,
            Self::Writes => operation.repeat == Repeat::Keyed,
            Self::Operation(id) => operation.id == *id,
        }
    }
}

/// Until when a server does not want to hear of something.
#[derive(Clone, Debug, PartialEq)]
struct Gate {
    scope: Scope,
    /// By the monotonic clock.
    until: Duration,
    code: Option<Code>,
    /// Whom alone it holds back.
    of: Option<Whose>,
}

impl Gate {
    /// Whether both are about the same, of whichever length.
    fn is_same(&self, other: &Self) -> bool {
        (&self.scope, &self.code, &self.of) == (&other.scope, &other.code, &other.of)
    }
}

/// Whether what was asked of one holds back who is signed in now. A new connection may be the same member's until it is
/// known whose it is, and nobody is asked too early (CLI-02); of one that ended without a name nobody will tell.
fn holds_back(of: &Whose, now: Option<&Whose>) -> bool {
    now.is_some_and(|now| match of.belongs_to(now) {
        Belongs::Own => true,
        Belongs::Unknown => of.installation.is_some(),
        Belongs::Anothers | Belongs::Nobodys => false,
    })
}

/// What one server asked for. Cloning shares it: whoever asks the server looks here first.
#[derive(Clone, Default)]
pub(crate) struct Gates(Arc<Inner>);

#[derive(Default)]
struct Inner {
    gates: Mutex<Vec<Gate>>,
    /// What is done whenever there is more to be written down.
    hook: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// What hears of other processes.
    hears: OnceLock<Box<dyn Fn() -> Later<'static, ()> + Send + Sync>>,
    /// When that was done last: milliseconds of the monotonic clock, and one more; 0 when it never was.
    heard: AtomicU64,
}

impl Gates {
    fn list(&self) -> MutexGuard<'_, Vec<Gate>> {
        self.0.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does this whenever the server asked for something. The first that is given counts.
    pub(crate) fn whenever_asked(&self, hook: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.hook.set(Box::new(hook));
    }

    /// Hears so what other processes were told. The first that is given counts.
    pub(crate) fn hears_by(&self, hears: impl Fn() -> Later<'static, ()> + Send + Sync + 'static) {
        let _ = self.0.hears.set(Box::new(hears));
    }

    /// What is to be waited for before a request leaves: other processes may have been told to wait since this one looked.
    /// Nothing where it looked a moment ago, or there are none.
    pub(crate) fn hear(&self, now: Duration) -> Option<Later<'static, ()>> {
        let hears = self.0.hears.get()?;
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (now, before) = (millis(now).saturating_add(1), self.0.heard.load(Ordering::Relaxed));
        if before != 0 && now.saturating_sub(before) < millis(PAUSE) {
            return None;
        }
        self.0.heard.store(now, Ordering::Relaxed);
        Some(hears())
    }

    /// The server asks to wait until a moment of the monotonic clock, in its answer to a call of somebody's.
    pub(crate) fn asked(&self, scope: Scope, code: Option<Code>, whose: Option<&Whose>, until: Duration) {
        let of = whose.filter(|_| scope.is_of_member(code.as_ref())).cloned();
        self.put(Gate { scope, until, code, of });
        self.tell();
    }

    fn tell(&self) {
        if let Some(hook) = self.0.hook.get() {
            hook();
        }
    }

    fn put(&self, new: Gate) {
        let mut gates = self.list();
        match gates.iter_mut().find(|gate| gate.is_same(&new)) {
            Some(gate) => gate.until = gate.until.max(new.until),
            None => gates.push(new),
        }
    }

    /// Until when a request of this operation is held back, and by which code; nothing when it may leave. `whose` it
    /// is: of who is signed in.
    pub(crate) fn hold(
        &self,
        operation: &Operation,
        whose: Option<&Whose>,
        now: Duration,
    ) -> Option<(Duration, Option<Code>)> {
        let mut gates = self.list();
        gates.retain(|gate| gate.until > now);
        let concerns = |gate: &&Gate| {
            gate.scope.has(operation) && gate.of.as_ref().is_none_or(|of| holds_back(of, whose))
        };
        let gate = gates.iter().filter(concerns).max_by_key(|gate| gate.until)?;
        Some((gate.until, gate.code.clone()))
    }

    /// It is known now what the exchange calls the installation of a connection.
    pub(crate) fn named(&self, connection: &str, installation: &str) {
        let mut found = false;
        for of in self.list().iter_mut().filter_map(|gate| gate.of.as_mut()) {
            if of.is_connection(connection) {
                of.installation = Some(installation.into());
                found = true;
            }
        }
        if found {
            self.tell();
        }
    }

    /// What is one member's goes: they disconnected (CLI-06).
    pub(crate) fn forget_members(&self) {
        self.list().retain(|gate| gate.of.is_none());
    }

    /// What the next process has to know.
    pub(crate) fn save(&self, now: Reading) -> SavedGates {
        let gates = self.list();
        let saved = gates.iter().filter(|gate| gate.until > now.monotonic).map(|gate| {
            let left = gate.until.saturating_sub(now.monotonic).min(LONGEST);
            let code = gate.code.as_ref().map(ToString::to_string);
            SavedGate::counted_from(now.wall, left, gate.scope.clone(), code, gate.of.clone())
        });
        SavedGates(saved.collect())
    }

    /// What an earlier process was told, or another one meanwhile. Of what a clock wrote that was ahead of ours nobody knows
    /// how much is left, and where this process counted that down itself it knows better.
    pub(crate) fn restore(&self, saved: &SavedGates, now: Reading) {
        for gate in &saved.0 {
            let Some(left) = gate.left(now.wall) else { continue };
            let code = gate.code.as_deref().map(Code::from);
            let until = now.monotonic.saturating_add(left);
            let new = Gate { scope: gate.scope.clone(), until, code, of: gate.of.clone() };
            if !(gate.is_ahead(now.wall) && self.list().iter().any(|gate| gate.is_same(&new))) {
                self.put(new);
            }
        }
    }
}

impl fmt::Debug for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gates").field(&*self.list()).finish()
    }
}

/// What one server asked for, as it is written down: no secret, and nothing of a member's but that they write or ask
/// much, under the ids that the session's notes have too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SavedGates(Vec<SavedGate>);

/// Both moments in milliseconds since 1970, by the wall clock of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedGate {
    scope: Scope,
    code: Option<String>,
    noted: u64,
    until: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<Whose>,
}

impl SavedGate {
    fn counted_from(
        wall: UnixTime,
        left: Duration,
        scope: Scope,
        code: Option<String>,
        of: Option<Whose>,
    ) -> Self {
        let millis = |time: UnixTime| u64::try_from(time.since_epoch().as_millis()).unwrap_or(u64::MAX);
        // Nobody comes back too early for a rounding.
        let until = millis(wall.saturating_add(left)).saturating_add(1);
        Self { scope, code, noted: millis(wall), until, of }
    }

    /// How much is left of it: never more than there was when it was written down, wherever the wall clock was set
    /// to since. `None` when it is over, or longer than anything that is written down here.
    fn left(&self, wall: UnixTime) -> Option<Duration> {
        let [noted, until] = [self.noted, self.until].map(UnixTime::from_millis);
        let whole = until.saturating_since(noted);
        if whole > LONGEST.saturating_add(Duration::from_secs(1)) {
            return None;
        }
        let left = until.saturating_since(wall).min(whole);
        (!left.is_zero()).then_some(left)
    }

    /// Whether the wall clock was set back since.
    fn is_ahead(&self, wall: UnixTime) -> bool {
        UnixTime::from_millis(self.noted) > wall
    }
}

impl SavedGates {
    /// What there was, and what this process knows beside it: of two waits for one thing the longer one, of one
    /// that a clock wrote that was ahead of ours the one that was counted down since.
    pub(crate) fn and(self, own: Self, wall: UnixTime) -> Self {
        let mut all = own.0;
        for other in self.0 {
            let Some(left) = other.left(wall) else { continue };
            let is_ahead = other.is_ahead(wall);
            let other = SavedGate::counted_from(wall, left, other.scope, other.code, other.of);
            let is_same = |gate: &&mut SavedGate| {
                gate.scope == other.scope && gate.code == other.code && gate.of == other.of
            };
            match all.iter_mut().find(is_same) {
                Some(gate) if is_ahead || gate.until >= other.until => {}
                Some(gate) => *gate = other,
                None => all.push(other),
            }
        }
        all.sort_by_key(|gate| Reverse(gate.until));
        all.truncate(MOST);
        Self(all)
    }

    /// Without what is one member's.
    pub(crate) fn without_members(mut self) -> Self {
        self.0.retain(|gate| gate.of.is_none());
        self
    }

    /// Whether the wall clock was set back since one of them was written down: until it is written down anew, every
    /// process begins with all of it.
    pub(crate) fn is_ahead(&self, wall: UnixTime) -> bool {
        self.0.iter().any(|gate| gate.is_ahead(wall))
    }
}

#[cfg(test)]
mod tests {
    use exchange_api::operations::OperationId;

    use super::*;

    const READ: &Operation = OperationId::StockRead.operation();
    const WRITE: &Operation = OperationId::StockWrite.operation();
    /// Where the wall clock stands when a process begins.
    const NOW: u64 = 1_790_000_000;

    /// A process that has run for so long, at a wall clock that shows so much.
    fn at(monotonic: u64, wall: u64) -> Reading {
        Reading { wall: UnixTime::from_secs(wall), monotonic: Duration::from_secs(monotonic) }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// How long this operation is held back by what another process wrote down, in whole seconds.
    fn held(saved: &SavedGates, operation: &Operation, now: Reading) -> u64 {
        let next = Gates::default();
        next.restore(saved, now);
        let hold = next.hold(operation, None, now.monotonic);
        hold.map_or(0, |(until, _)| until.saturating_sub(now.monotonic).as_secs())
    }

    /// One process that was asked to wait so long at `NOW`, and ended at once.
    fn saved(scope: Scope, code: Option<Code>, wait: u64) -> SavedGates {
        let gates = Gates::default();
        gates.asked(scope, code, None, seconds(500 + wait));
        gates.save(at(500, NOW))
    }

    /// CLI-02: what is asked of one code holds back all whom it concerns, and the longer of two waits counts.
    #[test]
    fn a_gate_holds_back_whom_it_is_for() {
        let gates = Gates::default();
        gates.asked(Scope::Writes, Some(Code::ExchangeBudgetExhausted), None, seconds(100));
        gates.asked(Scope::only(READ), Some(Code::RateLimited), None, seconds(50));
        gates.asked(Scope::only(READ), Some(Code::RateLimited), None, seconds(40));
        let until =
            |operation, now| gates.hold(operation, None, seconds(now)).map(|(until, _)| until.as_secs());
        assert_eq!((until(READ, 49), until(READ, 50)), (Some(50), None));
        assert_eq!((until(WRITE, 99), until(WRITE, 100)), (Some(100), None));
    }

    /// OST-18, ERR-34: org stock counts by its ops, so that a refusal of its set says nothing of other writes.
    #[test]
    fn a_quota_without_room_for_org_stock_is_a_gate_for_it_alone() {
        let org_stock = OperationId::OrgStockWrite.operation();
        let scope = |operation| Scope::of(Some(&Code::QuotaExceeded), operation);
        assert_eq!((scope(org_stock), scope(WRITE)), (Some(Scope::only(org_stock)), Some(Scope::Writes)));
        let gates = Gates::default();
        gates.asked(Scope::only(org_stock), Some(Code::QuotaExceeded), None, seconds(60));
        let held = |operation| gates.hold(operation, None, seconds(0)).is_some();
        assert_eq!((held(org_stock), held(WRITE), held(READ)), (true, false, false));
    }

    /// CLI-02: a process waits for what is left of what an earlier one was told, by the code that it was told.
    #[test]
    fn the_next_process_waits_for_the_rest() {
        let saved = saved(Scope::Everything, Some(Code::ServiceUnavailable), 600);
        let saved = serde_json::from_slice(&serde_json::to_vec(&saved).unwrap()).unwrap();
        for (after, left) in [(0, 600), (100, 500), (599, 1), (601, 0), (90_000, 0)] {
            assert_eq!(held(&saved, READ, at(7, NOW + after)), left, "{after}");
        }
        let next = Gates::default();
        next.restore(&saved, at(7, NOW));
        assert_eq!(next.hold(WRITE, None, seconds(7)).unwrap().1, Some(Code::ServiceUnavailable));
    }

    /// A wall clock that was set back makes no wait longer than it was; written down anew, it is counted down.
    #[test]
    fn a_clock_that_was_set_back_makes_no_wait_longer() {
        let written = saved(Scope::Everything, None, 600);
        let earlier = NOW - 86_400;
        assert!(
            written.is_ahead(UnixTime::from_secs(earlier)) && !written.is_ahead(UnixTime::from_secs(NOW))
        );
        assert_eq!(held(&written, READ, at(0, earlier)), 600);
        // This process waits for a while, and writes down what is left.
        let process = Gates::default();
        process.restore(&written, at(0, earlier));
        let now = at(100, earlier + 100);
        let written = written.and(process.save(now), now.wall);
        assert_eq!(held(&written, READ, at(0, earlier + 100)), 500);
        assert_eq!(held(&written, READ, at(0, earlier + 700)), 0);
        // One that was not here when it was set back and knows of nothing keeps it, once.
        let late = saved(Scope::Writes, None, 60).and(SavedGates::default(), UnixTime::from_secs(earlier));
        assert_eq!(held(&late, WRITE, at(0, earlier)), 60);
        assert_eq!(held(&late, WRITE, at(0, earlier + 61)), 0);
    }

    /// CLI-02, LIM-08: days are waited for over processes too, up to as long as a connection lasts; what nobody can have
    /// written holds nothing back.
    #[test]
    fn nothing_is_handed_on_for_longer_than_a_connection_lasts() {
        let day = 24 * 3600;
        let week = saved(Scope::Everything, None, 7 * day);
        assert_eq!((held(&week, READ, at(0, NOW)), held(&week, READ, at(0, NOW + 6 * day))), (7 * day, day));
        assert_eq!(held(&saved(Scope::Writes, None, 400 * day), WRITE, at(0, NOW)), 90 * day);
        assert_eq!(held(&saved(Scope::Writes, None, 400 * day), WRITE, at(0, NOW + 90 * day + 1)), 0);
        let gates = Gates::default();
        gates.asked(Scope::Everything, None, None, Duration::MAX);
        assert_eq!(held(&gates.save(at(1, NOW)), READ, at(0, NOW)), 90 * day);
        for (noted, until) in
            [(0, u64::MAX), (NOW * 1000, u64::MAX), (u64::MAX, u64::MAX), (u64::MAX, 0), (0, NOW)]
        {
            let json = format!(r#"[{{"scope":"everything","code":null,"noted":{noted},"until":{until}}}]"#);
            let absurd: SavedGates = serde_json::from_str(&json).unwrap();
            assert_eq!(held(&absurd, READ, at(0, NOW)), 0, "{json}");
            assert_eq!(absurd.and(SavedGates::default(), UnixTime::from_secs(NOW)), SavedGates::default());
        }
    }

    /// Several processes write beside each other: nothing of another's is lost, and there is an end to it.
    #[test]
    fn what_several_processes_were_told_is_kept_together() {
        let wall = UnixTime::from_secs(NOW);
        let both = saved(Scope::Writes, None, 60).and(saved(Scope::Everything, None, 30), wall);
        assert_eq!((held(&both, WRITE, at(0, NOW)), held(&both, READ, at(0, NOW))), (60, 30));
        for (there, own) in [(60, 30), (30, 60)] {
            let longer = saved(Scope::Writes, None, there).and(saved(Scope::Writes, None, own), wall);
            assert_eq!((held(&longer, WRITE, at(0, NOW)), longer.0.len()), (60, 1));
        }
        let many = (0..100).map(|n| saved(Scope::Everything, Some(Code::from(format!("CODE_{n}"))), 100 + n));
        let many = many.fold(SavedGates::default(), |there, own| there.and(own, wall));
        assert_eq!((many.0.len(), held(&many, READ, at(0, NOW))), (MOST, 199));
    }

    fn whose(connection: &str, installation: Option<&str>) -> Whose {
        Whose { connection: Some(connection.into()), installation: installation.map(Into::into) }
    }

    /// LIM-05, LIM-19, CLI-02: what one member used up holds back nobody else, and the same member under every connection
    /// of theirs, in every process that knows of it; what an address used up holds back all who are behind it.
    #[test]
    fn what_one_member_used_up_holds_back_nobody_else() {
        const CHECK: &Operation = OperationId::AccountCheck.operation();
        let gates = Gates::default();
        let first = whose("c-1", None);
        gates.asked(Scope::Writes, Some(Code::QuotaExceeded), Some(&first), seconds(60));
        gates.asked(Scope::only(CHECK), Some(Code::RateLimited), Some(&first), seconds(50));
        gates.asked(Scope::Everything, Some(Code::RateLimited), Some(&first), seconds(5));
        gates.named("c-1", "i-1");
        let saved = serde_json::to_vec(&gates.save(at(0, NOW))).unwrap();
        let saved: SavedGates = serde_json::from_slice(&saved).unwrap();
        let restored = Gates::default();
        restored.restore(&saved, at(0, NOW));
        let saved_again = saved.clone().and(restored.save(at(0, NOW)), UnixTime::from_secs(NOW));
        assert_eq!(saved_again.0.len(), 3);
        for gates in [gates, restored] {
            let held = |operation, now: Option<Whose>| {
                let hold = gates.hold(operation, now.as_ref(), seconds(0));
                hold.map(|(until, _)| until.as_secs())
            };
            for same in [whose("c-1", None), whose("c-2", Some("i-1")), whose("c-2", None)] {
                assert_eq!((held(WRITE, Some(same.clone())), held(CHECK, Some(same))), (Some(60), Some(50)));
            }
            for other in [Some(whose("c-2", Some("i-2"))), None] {
                assert_eq!((held(WRITE, other.clone()), held(CHECK, other)), (Some(5), Some(5)));
            }
            gates.forget_members();
            assert_eq!(held(WRITE, Some(whose("c-1", Some("i-1")))), Some(5));
        }
        assert_eq!(held(&saved.without_members(), WRITE, at(0, NOW)), 5);
        // Of a connection that ended before it had a name nobody will tell whose it was.
        let gates = Gates::default();
        gates.asked(Scope::Writes, Some(Code::QuotaExceeded), Some(&whose("c-1", None)), seconds(60));
        assert!(gates.hold(WRITE, Some(&whose("c-2", Some("i-1"))), seconds(0)).is_none());
    }
}
