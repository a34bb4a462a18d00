//! Model test of blueprints: random interleavings of writers of two members, readers, page sizes, failing
//! writes, default grants, retention, clock changes, and crashes at every step of a write. Each op is
//! compared with a direct interpreter, and each reader must end with the interpreter's state: no change is
//! lost, and no removed entry returns.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use exchange_api::Contract as _;
use exchange_api::types::BlueprintChangeSet;
use exchange_service::backend::{ChangeError, FaultInjector, WriteStep};
use exchange_service::feed::ChangeAuthor;
use proptest::prelude::*;
use proptest::sample::select;

use super::reader::Reader;
use super::*;
use crate::support::cases;

#[derive(Clone, Debug)]
enum Action {
    /// One of the [`writers`] adds or removes products.
    Write {
        who: usize,
        ops: Vec<(usize, bool)>,
        overrule: bool,
        end: WriteEnd,
    },
    /// Grants these products to every member, and no others.
    Defaults(u8),
    /// A reader reads one page.
    Page {
        reader: usize,
        limit: u8,
    },
    Advance(u8),
    StepBack(u16),
    Sweep(u8),
    Restore,
}

/// The outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteEnd {
    Answered,
    /// The write fails at this step.
    Fails(WriteStep),
    /// The process crashes at this step, before the commit.
    Dies(WriteStep),
    /// The process crashes after the commit and before the response.
    DiesAfter,
}

fn end(dying: bool) -> impl Strategy<Value = WriteEnd> {
    let fails = WriteStep::ALL.map(WriteEnd::Fails).to_vec();
    let dies: Vec<WriteEnd> =
        WriteStep::ALL.into_iter().map(WriteEnd::Dies).chain([WriteEnd::DiesAfter]).collect();
    prop_oneof![4 => Just(WriteEnd::Answered), 4 => select(if dying { dies } else { fails })]
}

fn act(dying: bool) -> impl Strategy<Value = Action> {
    let ops = prop::collection::vec((0_usize..8, any::<bool>()), 1..4);
    prop_oneof![
        8 => (0_usize..6, ops, any::<bool>(), end(dying))
            .prop_map(|(who, ops, overrule, end)| Action::Write { who, ops, overrule, end }),
        2 => any::<u8>().prop_map(Action::Defaults),
        10 => (0_usize..3, 1_u8..5).prop_map(|(reader, limit)| Action::Page { reader, limit }),
        2 => select(vec![1, 30, 60, 91]).prop_map(Action::Advance),
        1 => any::<u16>().prop_map(Action::StepBack),
        2 => (1_u8..4).prop_map(Action::Sweep),
        1 => Just(Action::Restore),
    ]
}

/// The expected state: members' products, default grants, and the last removals.
#[derive(Clone, Default)]
struct ExpectedState {
    own: BTreeSet<(usize, &'static str)>,
    defaults: BTreeSet<&'static str>,
    /// The time and the writer of the last removal of each member's product.
    removed: BTreeMap<(usize, &'static str), (Moment, usize)>,
    /// The time at which a default grant ended.
    ended: BTreeMap<&'static str, Moment>,
}

impl ExpectedState {
    fn set(&self, member: usize) -> BTreeMap<String, bool> {
        let own = self.own.iter().filter(|(owner, _)| *owner == member).map(|(_, key)| key);
        own.chain(&self.defaults).map(|key| ((*key).to_owned(), self.defaults.contains(key))).collect()
    }

    /// Returns the result and the reason of one op (BPR-05 to BPR-08), or an empty string if it is applied.
    fn op(&mut self, who: usize, key: &'static str, adds: bool, overrule: bool, now: Moment) -> &'static str {
        let (caller, member) = &writers()[who];
        let own = (*member, key);
        let (held, granted) = (self.own.contains(&own), self.defaults.contains(key));
        if adds {
            if held || granted {
                return "unchanged -";
            }
            if caller.is_some() && !overrule && self.was_removed_elsewhere(who, own, now) {
                return "rejected REMOVED_ELSEWHERE";
            }
            self.own.insert(own);
            self.removed.remove(&own);
            return "";
        }
        if granted {
            return "rejected DEFAULT_NOT_REMOVABLE";
        }
        if !held {
            return "unchanged -";
        }
        self.own.remove(&own);
        self.removed.insert(own, (now, who));
        ""
    }

    /// Returns true if the last removal is by another author and at most 90 days old. The last removal is the
    /// one of this change set, or else the later one by the clock, which may have been set back in between.
    fn was_removed_elsewhere(&self, who: usize, own: (usize, &'static str), now: Moment) -> bool {
        let removed = self.removed.get(&own).map(|(time, author)| (*time, Some(*author)));
        let ended = self.ended.get(own.1).map(|time| (*time, None));
        let last = match (removed, ended) {
            (Some(removed), Some(ended)) if removed.0 == now || removed.0 > ended.0 => Some(removed),
            (removed, ended) => ended.or(removed),
        };
        last.is_some_and(|(time, author)| author != Some(who) && now.since(time) <= 90 * DAY)
    }

    /// Replaces the default grants.
    fn grant(&mut self, granted: BTreeSet<&'static str>, now: Moment) {
        self.ended.retain(|key, _| !granted.contains(key));
        self.ended.extend(self.defaults.difference(&granted).map(|key| (*key, now)));
        self.defaults = granted;
    }

    /// Returns true if a removal is older than 90 days at `now`, but not at `then`. After the clock is set
    /// back, it counts again, although its tombstone may have been deleted.
    fn recalls(&self, now: Moment, then: Moment) -> bool {
        let mut removals = self.removed.values().map(|(time, _)| time).chain(self.ended.values());
        removals.any(|time| now.since(*time) > 90 * DAY && then.since(*time) <= 90 * DAY)
    }
}

/// Returns a reader of a member's blueprints by key, with whether each is a default grant.
fn reader(caller: Caller) -> Reader<bool> {
    let entry = |item: &Value| {
        (item["key"].as_str().expect("a string").to_owned(), item["isDefault"].as_bool().expect("a boolean"))
    };
    Reader::new(caller, READ, entry)
}

/// A backend that can crash. A restart opens a copy of its files.
struct CrashingBackend {
    fixture: BackendFixture,
    fate: Arc<Mutex<InjectedFault>>,
}

/// The fault to inject into a write, and the location of the files.
struct InjectedFault {
    end: WriteEnd,
    /// The parent folder, which has one folder for each start; `None` in memory.
    folders: Option<PathBuf>,
    life: usize,
}

impl InjectedFault {
    fn place(&self) -> StoreLocation {
        match &self.folders {
            Some(folders) => StoreLocation::Folder(folders.join(self.life.to_string())),
            None => StoreLocation::Memory,
        }
    }

    /// Starts the backend on a copy of the files, which contains only committed data.
    fn die(&mut self) {
        let StoreLocation::Folder(old) = self.place() else {
            panic!("only a store in a folder can be restored")
        };
        self.life += 1;
        let StoreLocation::Folder(new) = self.place() else {
            panic!("only a store in a folder can be restored")
        };
        fs::create_dir(&new).expect("the folder can be created");
        // The log is copied after the database file, so that every checkpointed page is in at least one of
        // the copies.
        for file in ["exchange.db", "exchange.db-wal"] {
            fs::copy(old.join(file), new.join(file)).expect("the file can be copied");
        }
    }
}

impl CrashingBackend {
    async fn new(folders: Option<&Path>) -> Self {
        let fate =
            InjectedFault { end: WriteEnd::Answered, folders: folders.map(Path::to_path_buf), life: 0 };
        let place = fate.place();
        let fate = Arc::new(Mutex::new(fate));
        let fault_injector = fault_injector(&fate);
        let fixture = BackendFixture::at_location(place, unguarded(), |backend| {
            backend.with_fault_injector(fault_injector)
        })
        .await;
        Self { fixture, fate }
    }

    /// Sends a write. Returns `None` if the process crashed before the response.
    async fn write(&mut self, who: usize, ops: Vec<Value>, end: WriteEnd) -> Option<BackendResponse> {
        self.fate.lock().expect("the lock is not poisoned").end = end;
        let response = match &writers()[who] {
            (Some(caller), _) => Some(self.fixture.change(caller, ops).await).filter(|one| one.status != 503),
            (None, member) => self.apply_on_web(*member, ops).await,
        };
        match end {
            WriteEnd::Answered | WriteEnd::Fails(_) => {}
            // A write without changes never reaches the step, so the process survives.
            WriteEnd::Dies(_) if response.is_some() => {}
            WriteEnd::Dies(_) => self.restart().await,
            WriteEnd::DiesAfter => {
                self.fate.lock().expect("the lock is not poisoned").die();
                self.restart().await;
            }
        }
        response
    }

    async fn apply_on_web(&self, member: usize, ops: Vec<Value>) -> Option<BackendResponse> {
        let body = json!({ "ops": ops }).to_string();
        let body = BlueprintChangeSet::parse_valid(body.as_bytes()).expect("a valid change set");
        let member = MemberId::new(MEMBERS[member]);
        match self.fixture.backend().change_blueprints(&member, ChangeAuthor::Web, body).await {
            Ok(result) => Some(BackendResponse::from_result(&result)),
            Err(ChangeError::Store(StoreError::Full)) => None,
            Err(error) => panic!("{error}"),
        }
    }

    async fn restart(&mut self) {
        let (place, clock) =
            (self.fate.lock().expect("the lock is not poisoned").place(), self.fixture.clock.clone());
        let fault_injector = fault_injector(&self.fate);
        let change = |backend: Backend| backend.with_fault_injector(fault_injector);
        self.fixture = BackendFixture::again(place, clock, unguarded(), change).await;
    }
}

fn fault_injector(fate: &Arc<Mutex<InjectedFault>>) -> FaultInjector {
    let fate = Arc::clone(fate);
    FaultInjector::new(move |step| {
        let mut fate = fate.lock().expect("the lock is not poisoned");
        match fate.end {
            WriteEnd::Fails(step_to_fail) if step_to_fail == step => Err(StoreError::Full),
            WriteEnd::Dies(step_to_fail) if step_to_fail == step => {
                fate.die();
                Err(StoreError::Full)
            }
            _ => Ok(()),
        }
    })
}

async fn run(acts: Vec<Action>, folders: Option<&Path>) {
    let mut mortal = CrashingBackend::new(folders).await;
    let mut truth =
        ExpectedState { defaults: BTreeSet::from(["BP_CORE", "BP_LAMP"]), ..ExpectedState::default() };
    let mut readers = readers().map(|(caller, member)| (reader(caller), member));
    for act in acts {
        let fixture = &mortal.fixture;
        // Two actions never have the same timestamp.
        fixture.clock.advance(Duration::from_millis(1));
        let now = fixture.clock.now();
        match act {
            Action::Write { who, ops, overrule, end } => {
                let op = |(key, adds): &(&str, bool)| match (adds, overrule) {
                    (false, _) => remove(key),
                    (true, true) => add_anyway(key),
                    (true, false) => add(key),
                };
                let names: Vec<(&'static str, bool)> =
                    ops.iter().map(|(at, adds)| (products()[*at], *adds)).collect();
                let ops = names.iter().map(op).collect();
                let (mut after, mut expected) = (truth.clone(), Vec::new());
                for (index, (key, adds)) in (0..).zip(&names) {
                    match after.op(who, key, *adds, overrule, now) {
                        "" => {}
                        end => expected.push((index, end.to_owned())),
                    }
                }
                if let Some(response) = mortal.write(who, ops, end).await {
                    assert_eq!(response.outcomes(), expected, "{who} {names:?} {overrule}");
                    assert_eq!(response.counts().0 as usize, names.len() - expected.len());
                    truth = after;
                }
            }
            Action::Defaults(bits) => {
                let products = products().into_iter().enumerate();
                let granted = products.filter(|(at, _)| bits >> at & 1 == 1).map(|(_, key)| key);
                let granted: Vec<&'static str> = granted.collect();
                truth.grant(granted.iter().copied().collect(), now);
                fixture.defaults(granted).await;
            }
            Action::Page { reader, limit } => {
                let (reader, member) = &mut readers[reader];
                if reader.page(fixture, limit).await {
                    assert_eq!(reader.entries, truth.set(*member), "the reader is at the end of the feed");
                }
                continue;
            }
            Action::Advance(days) => fixture.clock.advance(u32::from(days) * DAY),
            Action::StepBack(seconds) => {
                let step_back = Duration::from_secs(seconds.into());
                if !truth.recalls(now, now.minus(step_back)) {
                    fixture.clock.step_back(step_back);
                }
            }
            Action::Sweep(maximum) => drop(fixture.retain(maximum.into()).await),
            Action::Restore => {
                let renew = |connection: &rusqlite::Connection| {
                    exchange_service::store::epoch::renew_epoch(connection, &SystemRandom)
                };
                fixture.store.write(renew).await.expect("the new epoch is stored");
            }
        }
        for (member, caller) in [first(), other_member()].iter().enumerate() {
            let held: BTreeMap<String, bool> = mortal.fixture.held(caller).await.into_iter().collect();
            assert_eq!(held, truth.set(member), "the snapshot of {} differs", MEMBERS[member]);
        }
    }
    for (mut reader, member) in readers {
        reader.read_on(&mortal.fixture, 3).await;
        assert_eq!(reader.entries, truth.set(member), "the replica of {} differs", MEMBERS[member]);
    }
}

proptest! {
    #![proptest_config(cases(64))]

    /// BPR-05, BPR-06, BPR-07, BPR-08, BPR-10, FED-02, FED-03, FED-04, FED-05, FED-06, FED-07, FED-08,
    /// FED-09, FED-10, LIM-13, WRT-02: every reader ends with the server's state (see the module
    /// documentation).
    #[test]
    fn readers_converge_to_the_server_state(acts in prop::collection::vec(act(false), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("the runtime starts");
        runtime.block_on(run(acts, None));
    }
}

proptest! {
    // Each case uses files and is therefore slow.
    #![proptest_config(cases(12))]

    /// WRT-03, FED-08: with crashes, earlier cursors stay valid, and exactly the committed data exists.
    #[test]
    fn readers_converge_after_crashes(acts in prop::collection::vec(act(true), 1..40)) {
        let folders = tempfile::tempdir().expect("a temporary folder");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("the runtime starts");
        runtime.block_on(run(acts, Some(folders.path())));
    }
}

/// After a crash at any step, and before the response, each write exists completely or not at all.
#[tokio::test]
async fn crash_at_each_write_step_is_atomic() {
    let folders = tempfile::tempdir().expect("a temporary folder");
    let mut mortal = CrashingBackend::new(Some(folders.path())).await;
    let mut reader = reader(first());
    reader.read_on(&mortal.fixture, 9).await;
    for (lives, step) in (1..).zip(WriteStep::ALL) {
        let response = mortal.write(0, vec![add("BP_RIFLE"), add("BP_KNIFE")], WriteEnd::Dies(step)).await;
        assert!(response.is_none(), "{step:?}");
        assert_eq!(mortal.fate.lock().expect("the lock is not poisoned").life, lives);
        assert!(reader.page(&mortal.fixture, 9).await, "{step:?}: the cursor stays valid");
        assert_eq!(reader.entries.len(), 2, "{step:?}: only the default grants exist");
    }
    mortal.write(0, vec![add("BP_RIFLE"), add("BP_KNIFE")], WriteEnd::DiesAfter).await;
    assert!(reader.page(&mortal.fixture, 9).await);
    assert_eq!(reader.entries.len(), 4);
    let again = mortal.write(0, vec![add("BP_RIFLE"), add("BP_KNIFE")], WriteEnd::Answered).await;
    assert_eq!(again.expect("a response").counts(), (0, 2, 0));
}

/// WRT-03, FED-06, FED-07: with concurrent writers and readers on files, a reader that receives a sequence
/// number has received all lower ones, so following the feed never misses a change.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn feed_readers_miss_no_concurrent_write() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = StoreLocation::Folder(folder.path().to_owned());
    let fixture = Arc::new(BackendFixture::at_location(place, unguarded(), |backend| backend).await);
    let writers = [first(), second(), other_client()].into_iter().enumerate().map(|(who, caller)| {
        let fixture = Arc::clone(&fixture);
        tokio::spawn(async move {
            for round in 0..40 {
                // Each writer has its own products, so that it knows its final state.
                let key = |number: usize| format!("BP_MANY_{:03}", who * 100 + number);
                let ops = vec![add(&key(round)), add(&key(round + 1)), remove(&key(round))];
                assert_eq!(fixture.change(&caller, ops).await.status, 200);
            }
        })
    });
    let readers = (1..4_u8).map(|limit| {
        let fixture = Arc::clone(&fixture);
        tokio::spawn(async move {
            let mut reader = reader(first());
            for _ in 0..60 {
                reader.page(&fixture, limit).await;
            }
            reader
        })
    });
    let (writers, readers): (Vec<_>, Vec<_>) = (writers.collect(), readers.collect());
    for writer in writers {
        writer.await.expect("the writer does not panic");
    }
    let held: BTreeMap<String, bool> = fixture.held(&first()).await.into_iter().collect();
    let left = ["BP_CORE", "BP_LAMP", "BP_MANY_040", "BP_MANY_140", "BP_MANY_240"];
    assert_eq!(held.keys().collect::<Vec<_>>(), left);
    for reader in readers {
        let mut reader = reader.await.expect("the reader does not panic");
        reader.read_on(&fixture, 7).await;
        assert_eq!(reader.entries, held);
    }
}
