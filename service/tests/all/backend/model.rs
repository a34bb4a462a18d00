//! Any interleaving of writers, readers, page sizes, writes that fail, default grants, retention and clocks, and
//! of processes that die at every labelled point of a write: whoever reads to the end has what the server has;
//! nothing is lost, nothing comes back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use exchange_service::backend::{Interruption, Step};
use proptest::prelude::*;
use proptest::sample::select;

use super::reader::Reader;
use super::*;
use crate::kit::cases;

#[derive(Clone, Debug)]
enum Act {
    /// An installation adds or removes.
    Write {
        who: usize,
        ops: Vec<(usize, bool)>,
        overrule: bool,
        end: End,
    },
    /// These products are granted to everybody.
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

/// How a write ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Answered,
    /// It fails at this step.
    Fails(Step),
    /// The process dies at this step, before the write is committed.
    Dies(Step),
    /// The process dies when the write is committed and not answered.
    DiesAfter,
}

fn end(dying: bool) -> impl Strategy<Value = End> {
    let fails = Step::ALL.map(End::Fails).to_vec();
    let dies: Vec<End> = Step::ALL.into_iter().map(End::Dies).chain([End::DiesAfter]).collect();
    prop_oneof![4 => Just(End::Answered), 4 => select(if dying { dies } else { fails })]
}

fn act(dying: bool) -> impl Strategy<Value = Act> {
    let ops = prop::collection::vec((0_usize..8, any::<bool>()), 1..4);
    prop_oneof![
        8 => (0_usize..3, ops, any::<bool>(), end(dying))
            .prop_map(|(who, ops, overrule, end)| Act::Write { who, ops, overrule, end }),
        2 => any::<u8>().prop_map(Act::Defaults),
        10 => (0_usize..3, 1_u8..5).prop_map(|(reader, limit)| Act::Page { reader, limit }),
        2 => select(vec![1, 30, 60, 91]).prop_map(Act::Advance),
        1 => any::<u16>().prop_map(Act::StepBack),
        2 => (1_u8..4).prop_map(Act::Sweep),
        1 => Just(Act::Restore),
    ]
}

/// What the server has to have: the member's own products, and the default ones.
#[derive(Default)]
struct Truth {
    own: BTreeSet<String>,
    defaults: BTreeSet<String>,
}

impl Truth {
    fn set(&self) -> BTreeMap<String, bool> {
        let all = self.own.iter().chain(&self.defaults);
        all.map(|key| (key.clone(), self.defaults.contains(key))).collect()
    }

    /// What an applied op does.
    fn apply(&mut self, key: &str, adds: bool) {
        if adds {
            self.own.insert(key.to_owned())
        } else {
            self.own.remove(key)
        };
    }
}

/// Blueprints by key, and whether each is default.
fn reader() -> Reader<bool> {
    let entry = |item: &Value| {
        (item["key"].as_str().expect("a text").to_owned(), item["isDefault"].as_bool().expect("a flag"))
    };
    Reader::new(first(), READ, entry)
}

/// A backend that may die: what it would find after that is a copy of its files.
struct Mortal {
    bench: Bench,
    fate: Arc<Mutex<Fate>>,
}

/// What a write is in for, and where the files are.
struct Fate {
    end: End,
    /// Each life has a folder of its own in it; none in memory.
    folders: Option<PathBuf>,
    life: usize,
}

impl Fate {
    fn place(&self) -> Place {
        match &self.folders {
            Some(folders) => Place::Folder(folders.join(self.life.to_string())),
            None => Place::Memory,
        }
    }

    /// The next life begins with the files as they are: what is not committed is in nobody's files for good.
    fn die(&mut self) {
        let Place::Folder(old) = self.place() else { panic!("what is in memory does not come back") };
        self.life += 1;
        let Place::Folder(new) = self.place() else { panic!("as before") };
        fs::create_dir(&new).expect("a folder");
        // The log after the file that it is written into: whatever is moved meanwhile is in both.
        for file in ["exchange.db", "exchange.db-wal"] {
            fs::copy(old.join(file), new.join(file)).expect("a copy");
        }
    }
}

impl Mortal {
    async fn new(folders: Option<&Path>) -> Self {
        let fate = Fate { end: End::Answered, folders: folders.map(Path::to_path_buf), life: 0 };
        let place = fate.place();
        let fate = Arc::new(Mutex::new(fate));
        let interruption = interruption(&fate);
        let bench = Bench::at(place, unguarded(), |backend| backend.interrupted(interruption)).await;
        Self { bench, fate }
    }

    /// Writes; none when nobody was there to answer.
    async fn write(&mut self, caller: &Caller, ops: Vec<Value>, end: End) -> Option<Answered> {
        self.fate.lock().expect("a fate").end = end;
        let answered = self.bench.change(caller, ops).await;
        match end {
            End::Answered | End::Fails(_) => {}
            // A write that changes nothing passes no such step: its process lives on.
            End::Dies(_) if answered.status != 503 => {}
            End::Dies(_) => self.live_again().await,
            End::DiesAfter => {
                self.fate.lock().expect("a fate").die();
                self.live_again().await;
            }
        }
        (answered.status != 503).then_some(answered)
    }

    async fn live_again(&mut self) {
        let (place, clock) = (self.fate.lock().expect("a fate").place(), self.bench.clock.clone());
        let interruption = interruption(&self.fate);
        let change = |backend: Backend| backend.interrupted(interruption);
        self.bench = Bench::again(place, clock, unguarded(), change).await;
    }
}

fn interruption(fate: &Arc<Mutex<Fate>>) -> Interruption {
    let fate = Arc::clone(fate);
    Interruption::new(move |step| {
        let mut fate = fate.lock().expect("a fate");
        match fate.end {
            End::Fails(at) if at == step => Err(StoreError::Full),
            End::Dies(at) if at == step => {
                fate.die();
                Err(StoreError::Full)
            }
            _ => Ok(()),
        }
    })
}

async fn run(acts: Vec<Act>, folders: Option<&Path>) {
    let mut mortal = Mortal::new(folders).await;
    let mut truth = Truth { defaults: ["BP_CORE", "BP_LAMP"].map(str::to_owned).into(), ..Truth::default() };
    let mut readers = [reader(), reader(), reader()];
    let writers = [first(), second(), other_client()];
    for act in acts {
        let bench = &mortal.bench;
        match act {
            Act::Write { who, ops, overrule, end } => {
                let names: Vec<(&str, bool)> =
                    ops.iter().map(|(at, adds)| (products()[*at], *adds)).collect();
                let op = |(key, adds): &(&str, bool)| match (adds, overrule) {
                    (false, _) => remove(key),
                    (true, true) => add_anyway(key),
                    (true, false) => add(key),
                };
                let ops = names.iter().map(op).collect();
                let Some(answered) = mortal.write(&writers[who], ops, end).await else { continue };
                let ended: BTreeSet<u64> = answered.outcomes().into_iter().map(|(index, _)| index).collect();
                for (index, (key, adds)) in (0..).zip(names) {
                    if !ended.contains(&index) {
                        truth.apply(key, adds);
                    }
                }
            }
            Act::Defaults(bits) => {
                let granted: Vec<&'static str> = products()
                    .into_iter()
                    .enumerate()
                    .filter(|(at, _)| bits >> at & 1 == 1)
                    .map(|(_, key)| key)
                    .collect();
                truth.defaults = granted.iter().map(|key| (*key).to_owned()).collect();
                bench.defaults(granted).await;
            }
            Act::Page { reader, limit } => {
                let reader = &mut readers[reader];
                if reader.page(bench, limit).await {
                    assert_eq!(reader.entries, truth.set(), "at the end of the feed");
                }
            }
            Act::Advance(days) => bench.clock.advance(u32::from(days) * DAY),
            Act::StepBack(seconds) => bench.clock.step_back(Duration::from_secs(seconds.into())),
            Act::Sweep(most) => drop(bench.retain(most.into()).await),
            Act::Restore => {
                let renew = |connection: &rusqlite::Connection| {
                    exchange_service::store::epoch::renew(connection, &SystemRandom)
                };
                bench.store.write(renew).await.expect("an epoch");
            }
        }
    }
    let bench = &mortal.bench;
    let held: BTreeMap<String, bool> = bench.held(&first()).await.into_iter().collect();
    assert_eq!(held, truth.set(), "a snapshot");
    for mut reader in readers {
        reader.read_on(bench, 3).await;
        assert_eq!(reader.entries, truth.set(), "a replica");
    }
}

proptest! {
    #![proptest_config(cases(64))]

    /// FED-02, FED-03, FED-04, FED-05, FED-06, FED-07, FED-08, FED-09, FED-10, BPR-10, LIM-13: see the
    /// head of this file.
    #[test]
    fn whoever_reads_to_the_end_has_what_the_server_has(acts in prop::collection::vec(act(false), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(run(acts, None));
    }
}

proptest! {
    // Each has files, and waits for them.
    #![proptest_config(cases(12))]

    /// WRT-03, FED-08: the same, and processes die: cursors of before go on, what was committed
    /// is there, and nothing else.
    #[test]
    fn whoever_reads_to_the_end_has_what_survived(acts in prop::collection::vec(act(true), 1..40)) {
        let folders = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(run(acts, Some(folders.path())));
    }
}

/// A process that dies at each step, and one that dies with its answer: each write is there whole or not at all.
#[tokio::test]
async fn every_step_is_one_to_die_at() {
    let folders = tempfile::tempdir().expect("a folder");
    let mut mortal = Mortal::new(Some(folders.path())).await;
    let mut reader = reader();
    reader.read_on(&mortal.bench, 9).await;
    for (lives, step) in (1..).zip(Step::ALL) {
        let answered = mortal.write(&first(), vec![add("BP_RIFLE"), add("BP_KNIFE")], End::Dies(step)).await;
        assert!(answered.is_none(), "{step:?}");
        assert_eq!(mortal.fate.lock().expect("a fate").life, lives);
        assert!(reader.page(&mortal.bench, 9).await, "{step:?}: the cursor goes on");
        assert_eq!(reader.entries.len(), 2, "{step:?}: the default ones");
    }
    mortal.write(&first(), vec![add("BP_RIFLE"), add("BP_KNIFE")], End::DiesAfter).await;
    assert!(reader.page(&mortal.bench, 9).await);
    assert_eq!(reader.entries.len(), 4);
    let again = mortal.write(&first(), vec![add("BP_RIFLE"), add("BP_KNIFE")], End::Answered).await;
    assert_eq!(again.expect("an answer").counts(), (0, 2, 0));
}

/// WRT-03, FED-06, FED-07: writers and readers at the same time, over files and threads: every number that a
/// reader sees has all those below it, so that a reader who only follows never misses a change.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_follow_writers_at_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = Place::Folder(folder.path().to_owned());
    let bench = Arc::new(Bench::at(place, unguarded(), |backend| backend).await);
    let writers = [first(), second(), other_client()].into_iter().enumerate().map(|(who, caller)| {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move {
            for round in 0..40 {
                // Each its own products, so that it knows what it left behind.
                let key = |number: usize| format!("BP_MANY_{:03}", who * 100 + number);
                let ops = vec![add(&key(round)), add(&key(round + 1)), remove(&key(round))];
                assert_eq!(bench.change(&caller, ops).await.status, 200);
            }
        })
    });
    let readers = (1..4_u8).map(|limit| {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move {
            let mut reader = reader();
            for _ in 0..60 {
                reader.page(&bench, limit).await;
            }
            reader
        })
    });
    let (writers, readers): (Vec<_>, Vec<_>) = (writers.collect(), readers.collect());
    for writer in writers {
        writer.await.expect("a writer");
    }
    let held: BTreeMap<String, bool> = bench.held(&first()).await.into_iter().collect();
    let left = ["BP_CORE", "BP_LAMP", "BP_MANY_040", "BP_MANY_140", "BP_MANY_240"];
    assert_eq!(held.keys().collect::<Vec<_>>(), left);
    for reader in readers {
        let mut reader = reader.await.expect("a reader");
        reader.read_on(&bench, 7).await;
        assert_eq!(reader.entries, held);
    }
}
