//! Tests with random schedules of faults, with the real service in the same process and in virtual time.
//!
//! Two installations of one member read and write. Meanwhile the member and another member change data in the
//! web application, the member leaves and joins a unit and revokes capabilities, and the other member signs
//! in at either machine. Requests and responses are lost, delayed, duplicated or truncated, and clocks are
//! wrong. Programs end at any moment, and are not started for longer than the lifetime of organization data
//! or of cursors. After each schedule the network works again, and all invariants must hold.
//!
//! The variable `SCHEDULES` sets the number of schedules. `SCHEDULE_SEED` runs only the schedule of that
//! seed; if both are set, it is the first of them.

mod installation;
mod wire;

use std::{
    collections::{BTreeMap, HashSet},
    env,
    io::{self, Write},
    num::NonZero,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use exchange_client::{Lane, Replica, api::types::Quantity, changes::quantity};
use exchange_service::{
    members::UnitRole,
    sandbox::{Sandbox, SandboxAction, SandboxOptions},
};
use tracing_subscriber::fmt::MakeWriter;

use self::{
    installation::{Installation, MEMBER},
    wire::{Fault, SplitMix64, Time, held},
};
use crate::feeds::contents;

/// The number of schedules if `SCHEDULES` is not set.
const USUAL: u64 = 40;

/// The note of a lot in the pool, for which the test searches in files.
const NOTE: &str = "from the last run";

/// The member's note on booked stock, for which the test searches as well.
const OWN_NOTE: &str = "weighed by hand, twice";

/// The statistics of a schedule.
#[derive(Default)]
struct Tally {
    requests: u64,
    writes: usize,
    faults: BTreeMap<Fault, u64>,
    /// The number of times that a program was not started for at least eight days, and the number of these in
    /// which its files were searched.
    absences: u64,
    looked_in_files: u64,
    refused_cursors: u64,
}

/// FED-03, FED-09, GW-12, OST-05, OST-10, OST-14: under any faults, each change set is applied once, the
/// replica becomes equal to the service, no proof is used twice, no `Retry-After` is shortened, and no secret
/// is printed.
#[test]
fn random_faults_break_nothing() {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let (first, count) = match (number("SCHEDULE_SEED"), number("SCHEDULES")) {
        (Some(seed), count) => (seed, count.unwrap_or(1)),
        (None, count) => (1, count.unwrap_or(USUAL)),
    };
    let start = Instant::now();
    let (next, end) = (AtomicU64::new(first), first + count);
    let all = Mutex::new(Tally::default());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                break;
            }
            let failing = Failing { seed, next: &next, end };
            let one = run(seed);
            std::mem::forget(failing);
            all.lock().unwrap().add(one);
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let Tally { requests, writes, faults, absences, looked_in_files, refused_cursors } =
        all.into_inner().unwrap();
    eprintln!(
        "{count} schedules in {:?}: {requests} requests, {writes} writes, {absences} absences of which \
         {looked_in_files} left files, {refused_cursors} refused cursors, {faults:?}",
        start.elapsed()
    );
    if count >= USUAL {
        assert!(looked_in_files > 0, "no run searched files that were eight days old");
        assert!(refused_cursors > 0, "no run had an absence that exceeds the lifetime of cursors");
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.writes += other.writes;
        self.absences += other.absences;
        self.looked_in_files += other.looked_in_files;
        self.refused_cursors += other.refused_cursors;
        for (fault, times) in other.faults {
            *self.faults.entry(fault).or_default() += times;
        }
    }
}

/// Prints the seed of a failed schedule, and prevents the start of further schedules.
struct Failing<'a> {
    seed: u64,
    next: &'a AtomicU64,
    end: u64,
}

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        self.next.store(self.end, Ordering::Relaxed);
        eprintln!("to repeat it: SCHEDULE_SEED={}", self.seed);
    }
}

fn run(seed: u64) -> Tally {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    tracing::subscriber::with_default(subscriber, || runtime.block_on(schedule(seed, &log)))
}

async fn schedule(seed: u64, log: &Log) -> Tally {
    let mut dice = SplitMix64(seed);
    let options = SandboxOptions { seed: Some(seed), ..SandboxOptions::default() };
    let sandbox = Arc::new(held(Sandbox::with_options(options)).await.unwrap());
    let time = Time::from_sandbox(&sandbox);
    let in_files = dice.happens(25);
    let (mut both, mut tally) = (Vec::new(), Tally::default());
    for name in ["desk", "laptop"] {
        both.push(Installation::install(name, &sandbox, &time, SplitMix64(dice.roll()), in_files).await);
    }
    let holder = both[0].holder().await;
    let mut qualities = 1..400;
    for _ in 0..dice.below(8) + 6 {
        let which = usize::from(dice.happens(50));
        match dice.below(10) {
            0 | 1 => both[which].book_in(&holder, qualities.next().unwrap()).await,
            2 => both[which].stock_up(qualities.next().unwrap()).await,
            3 => both[which].learn(dice.pick(&["Sandbox Knife", "Sandbox Helmet", "Sandbox Rifle"])).await,
            4 => elsewhere(&sandbox, &mut dice).await,
            5 => both[which].restart().await,
            6 => both[which].set_clock_offset(dice.pick(&[0, 0, -20, 20, -400, 400, -3600, 3600])),
            7 => both[which].ask(),
            8 => {
                let weather = dice.pick(&[0, 10, 30, 60, 100, 101]);
                both[which].wire.seen().weather = weather;
            }
            9 if dice.happens(35) => both[which].change_places().await,
            9 if dice.happens(20) => both[which].allow_less().await,
            _ => {
                // This is longer than the lifetime of organization data, or of cursors (FED-08).
                absence(&mut both[which], &time, dice.pick(&[8, 8, 91])).await;
                tally.absences += 1;
                tally.looked_in_files += u64::from(in_files);
            }
        }
        let runs = Duration::from_millis(dice.pick(&[1, 700, 5_000, 60_000, 400_000]) + dice.below(1000));
        let [desk, laptop] = &mut both[..] else { unreachable!() };
        tokio::join!(desk.run(runs), laptop.run(runs));
    }
    heal(&mut both).await;
    check(&both, log, seed, &mut tally).await;
    // Changes that the member made are not applied for the other member who signs in at the same machine.
    both[0].change_places().await;
    let others = both[0].fresh().await;
    for planted in both.iter().flat_map(|one| &one.planted).filter(|planted| planted.lane == Lane::Stock) {
        let amounts = amounts(&others, Lane::Stock, planted.quality);
        assert!(amounts.is_empty(), "{seed}: {planted:?} was applied for another member: {amounts:?}");
    }
    // After a program has ended, no reference cycle keeps its resources open.
    drop((both, others, time));
    assert!(Arc::into_inner(sandbox).is_some(), "{seed}: a program's resources are still open");
    tally
}

/// Performs a random action of a member or administrator on the exchange's website.
async fn elsewhere(sandbox: &Sandbox, dice: &mut SplitMix64) {
    let product = || vec!["bp-sandbox-knife".to_owned()];
    let (who, act) = match dice.below(6) {
        0 => (MEMBER, SandboxAction::Blueprints { add: product(), remove: Vec::new() }),
        1 => ("sandbox-member-2", SandboxAction::RenameMember { name: format!("Member {}", dice.below(9)) }),
        2 => ("sandbox-member-2", SandboxAction::WithholdName { is_withheld: dice.happens(50) }),
        // The member never leaves the unit into whose pool stock is booked, because the exchange would then
        // rightly refuse pending bookings.
        3 => {
            let role = dice.happens(50).then_some(UnitRole::Member);
            (MEMBER, SandboxAction::Role { unit: "unit-iridium".to_owned(), role })
        }
        4 => (
            MEMBER,
            SandboxAction::GiveShip { ship: "ship-hauler".to_owned(), to: "sandbox-member-2".to_owned() },
        ),
        _ => {
            let name = format!("Squadron {}", dice.below(9));
            let unit = installation::UNIT.to_owned();
            ("sandbox-admin", SandboxAction::RenameUnit { unit, name, shorthand: "SQ".to_owned() })
        }
    };
    // The action fails if it was already performed before.
    let _ = held(sandbox.act(who, act)).await;
}

/// Simulates an absence of at least eight days, followed by a start without a network.
async fn absence(one: &mut Installation, time: &Time, days: u64) {
    time.skip(Duration::from_secs(days * 86_400));
    one.restart().await;
    let weather = std::mem::replace(&mut one.wire.seen().weather, 101);
    one.run(Duration::from_secs(1)).await;
    assert_eq!(one.pool(), 0, "internal data of the organization outlived seven days");
    assert!(!one.has_in_files(NOTE), "bytes of the data outlived seven days");
    // Changes that were not sent belong to the member and are not copies of organization data.
    if one.has_sent_everything().await {
        assert!(!one.has_in_files(OWN_NOTE), "the outcome of a change of the pool outlived seven days");
    }
    one.wire.seen().weather = weather;
}

/// Repairs the network, corrects the clocks, and runs both programs until no work is left.
async fn heal(both: &mut [Installation]) {
    for one in both.iter_mut() {
        one.wire.seen().weather = 0;
        one.set_clock_offset(0);
        one.come_back().await;
    }
    for _ in 0..60 {
        let mut settled = true;
        for one in both.iter_mut() {
            one.run(Duration::from_secs(120)).await;
            settled &= one.is_settled().await;
        }
        // One installation may not have read the last change of the other. The identity provider may have
        // requested a wait that ends no earlier than the next token is due.
        for one in both.iter() {
            settled = settled && one.is_settled().await;
        }
        if settled {
            return;
        }
    }
    for one in both.iter() {
        eprintln!("{}", one.unsettled().await);
    }
    panic!("work is left although the network worked for hours");
}

async fn check(both: &[Installation], log: &Log, seed: u64, tally: &mut Tally) {
    let fresh = both[0].fresh().await;
    for one in both {
        assert_eq!(contents(one.replica()), contents(&fresh), "{seed}: a replica differs from the service");
        for planted in &one.planted {
            let amounts = amounts(&fresh, planted.lane, planted.quality);
            let once = [quantity::scu("1").unwrap()];
            let is_once = amounts.len() == 1 && quantity::is_same(&amounts[0], &once[0]);
            assert!(is_once, "{seed}: {planted:?} was not applied exactly once: {amounts:?}");
        }
        let seen = one.wire.seen();
        assert!(seen.breaks.is_empty(), "{seed}: {:?}", seen.breaks);
        let (logged, files) = (log.0.lock().unwrap().text(), one.files());
        for (place, text) in
            [("shown", one.shown.as_str()), ("logged", logged.as_str()), ("in a file", files.as_str())]
        {
            assert!(!has_any(text, &seen.secrets), "{seed}: a secret is {place}");
        }
        tally.refused_cursors += seen.refused_cursors;
        tally.requests += seen.requests;
        tally.writes += one.planted.len();
        for (fault, times) in &seen.faults {
            *tally.faults.entry(*fault).or_default() += times;
        }
    }
}

/// Returns true if the string contains a secret. Secrets of one kind share a prefix, so only strings after
/// such a prefix are compared.
fn has_any(text: &str, secrets: &HashSet<String>) -> bool {
    let heads: HashSet<&str> = secrets.iter().filter_map(|secret| secret.get(..8)).collect();
    let begins = |head: &&str| {
        let mut places = text.match_indices(*head);
        places.any(|(at, _)| secrets.iter().any(|secret| text[at..].starts_with(secret.as_str())))
    };
    heads.iter().any(begins)
}

/// Returns the quantities of all stock with this quality.
fn amounts(replica: &Replica, lane: Lane, quality: i64) -> Vec<Quantity> {
    if lane == Lane::Stock {
        let lots = replica.stock().map(Result::unwrap);
        return lots.filter(|lot| lot.quality.get() == quality).map(|lot| lot.quantity).collect();
    }
    let lots = replica.org_stock().map(Result::unwrap);
    lots.filter(|lot| lot.quality.get() == quality).map(|lot| lot.quantity).collect()
}

/// The captured log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Bytes>>);

#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
