//! Model test of undo: random interleavings of two clients and the web pages of two members, and undo runs
//! over random spans, compared with a list of writes from which the undone ones are deleted. Without
//! conflicts, the state is as if the undone writes had never happened. A conflict requires a later write by
//! another author. Replicas have all data.

use exchange_api::Contract as _;
use exchange_api::types::BlueprintChangeSet;
use exchange_service::backend::StockOwnership;
use exchange_service::backend::undo::{
    UndoArea, UndoAuthority, UndoConflict, UndoMode, UndoOutcome, UndoProcess, UndoSelection,
};
use exchange_service::feed::ChangeAuthor;
use proptest::prelude::*;

use super::reader::Reader;
use super::ships::{FLY, SHIPS, ship, with_field};
use super::stock::{GUN, LotKey, METAL, ORE, PARTS, SET, STOCK};
use super::*;
use crate::support::cases;

const PRODUCTS: [&str; 4] = ["BP_RIFLE", "BP_HELMET", "BP_KNIFE", "BP_ARMS"];
const WEB: usize = 3;

/// Returns the lots of the model: some differ only in the stolen marker, in the location or in the quality.
fn places() -> [LotKey; 9] {
    let ores = [ORE, ORE.stolen(), ORE.place("Station"), ORE.quality(7)];
    let [ore, stolen, elsewhere, better] = ores;
    [ore, stolen, elsewhere, better, METAL, METAL.place("Station"), PARTS, GUN, GUN.stolen()]
}

#[derive(Clone, Debug)]
enum Action {
    Blueprint {
        member: usize,
        who: usize,
        product: usize,
        add: bool,
    },
    /// Sets amounts of lots, each lot at most once.
    Stock {
        member: usize,
        who: usize,
        wishes: BTreeMap<usize, i64>,
    },
    /// Creates, renames or removes a ship, or creates a removed one again.
    Ship {
        member: usize,
        who: usize,
        ship: usize,
        act: usize,
    },
    Rebook(usize),
    Give(usize),
    Page(usize, u8),
    Undo {
        member: usize,
        client: usize,
        /// The beginning of the span, in seconds before the current time.
        from: u8,
        to: u8,
        areas: usize,
    },
}

fn act() -> impl Strategy<Value = Action> {
    let (member, who) = (|| 0_usize..2, || 0_usize..4);
    let wishes = || prop::collection::btree_map(0_usize..9, prop::sample::select(vec![0, 1, 3, 8, 20]), 1..6);
    prop_oneof![
        6 => (member(), who(), 0_usize..4, any::<bool>())
            .prop_map(|(member, who, product, add)| Action::Blueprint { member, who, product, add }),
        8 => (member(), who(), wishes()).prop_map(|(member, who, wishes)| Action::Stock { member, who, wishes }),
        6 => (member(), who(), 0_usize..4, 0_usize..7)
            .prop_map(|(member, who, ship, act)| Action::Ship { member, who, ship, act }),
        1 => (0_usize..9).prop_map(Action::Rebook),
        1 => (0_usize..9).prop_map(Action::Give),
        2 => (0_usize..6, 1_u8..4).prop_map(|(reader, limit)| Action::Page(reader, limit)),
        4 => (member(), 0_usize..2, 0_u8..30, 0_u8..8, 1_usize..8)
            .prop_map(|(member, client, from, to, areas)| Action::Undo { member, client, from, to, areas }),
    ]
}

/// The identity of an entry in the model: its member, its area, and a name.
type EntryName = (usize, UndoArea, String);

/// A write: the new state of an entry, with time and client.
#[derive(Clone, Debug)]
struct Write {
    name: EntryName,
    value: Option<String>,
    client: Option<&'static str>,
    at: Moment,
    /// The number of the write's change set.
    act: usize,
    /// The removed entry that this write replaced, if any.
    instead: Option<EntryName>,
}

struct UndoModel {
    fixture: BackendFixture,
    /// Every write that was not undone, in execution order.
    log: Vec<Write>,
    /// The model's entry for each key of the service that has been returned so far.
    keys: BTreeMap<String, EntryName>,
    created: usize,
    act: usize,
}

fn number(value: Option<&String>) -> i64 {
    value.map_or(0, |amount| amount.parse().expect("a number"))
}

/// Returns the key and the visible state of an entry.
fn seen(item: &Value) -> (String, String) {
    let text = |name: &str| item[name].as_str().map(str::to_owned);
    if let Some(id) = text("shipId") {
        return (id, text("name").expect("a name"));
    }
    let key = text("key").expect("a key");
    match item.get("quantity") {
        Some(quantity) => (key, quantity["amount"].to_string()),
        None => (key, text("acquiredAt").unwrap_or_else(|| "default".to_owned())),
    }
}

fn member(number: usize) -> MemberId {
    MemberId::new(["m-1", "m-2"][number])
}

/// Returns a writer of a member, or `None` for the member's web pages.
fn writer(number: usize, who: usize) -> Option<Caller> {
    match (number, who) {
        (_, WEB) => None,
        (0, who) => Some([first(), second(), other_client()][who].clone()),
        _ => Some(other_member()),
    }
}

fn client(number: usize, who: usize) -> Option<&'static str> {
    match (number, who) {
        (_, WEB) => None,
        (0, 2) => Some("c-2"),
        _ => Some("c-1"),
    }
}

fn reader(number: usize) -> Reader<String> {
    let caller = if number < 3 { first() } else { other_member() };
    Reader::new(caller, [READ, STOCK, SHIPS][number % 3], seen)
}

const AREAS: [UndoArea; 3] = [UndoArea::Blueprints, UndoArea::Stock, UndoArea::Ships];

impl UndoModel {
    fn value(&self, name: &EntryName) -> Option<String> {
        self.log.iter().rev().find(|write| write.name == *name).and_then(|write| write.value.clone())
    }

    fn note(&mut self, name: EntryName, value: Option<String>, client: Option<&'static str>) {
        let time = self.fixture.clock.now();
        self.log.push(Write { name, value, client, at: time, act: self.act, instead: None });
    }

    /// Returns all existing entries.
    fn all(&self) -> BTreeMap<EntryName, String> {
        let names: BTreeSet<EntryName> = self.log.iter().map(|write| write.name.clone()).collect();
        names.into_iter().filter_map(|name| Some((name.clone(), self.value(&name)?))).collect()
    }

    async fn post(&self, number: usize, who: usize, area: UndoArea, body: Value) {
        let web = async |body: String| {
            let (backend, member) = (self.fixture.backend(), member(number));
            match area {
                UndoArea::Blueprints => {
                    let body = BlueprintChangeSet::parse_valid(body.as_bytes()).expect("a valid change set");
                    backend.change_blueprints(&member, ChangeAuthor::Web, body).await
                }
                UndoArea::Stock => {
                    let body = exchange_api::types::StockChangeSet::parse_valid(body.as_bytes());
                    backend.change_stock(&member, ChangeAuthor::Web, body.expect("a valid change set")).await
                }
                UndoArea::Ships => {
                    let body = exchange_api::types::ShipChangeSet::parse_valid(body.as_bytes());
                    backend.change_ships(&member, ChangeAuthor::Web, body.expect("a valid change set")).await
                }
                UndoArea::OrgStock => unreachable!("org stock has a separate model test"),
            }
        };
        let uri = match area {
            UndoArea::Blueprints => WRITE,
            UndoArea::Stock => SET,
            UndoArea::Ships => FLY,
            UndoArea::OrgStock => unreachable!("org stock has a separate model test"),
        };
        let refused = match writer(number, who) {
            Some(caller) => {
                let response = self.fixture.post(&caller, uri, body).await;
                assert_eq!(response.status, 200, "{}", response.body);
                response.counts().2
            }
            None => web(body.to_string()).await.expect("the change succeeds").counts().not_applied as u64,
        };
        assert_eq!(refused, 0);
    }

    async fn blueprint(&mut self, number: usize, who: usize, product: usize, add: bool) {
        let name = (number, UndoArea::Blueprints, PRODUCTS[product].to_owned());
        let time = self.fixture.clock.now().to_string();
        let (op, value) = if add {
            let op = json!({ "op": "add", "ref": { "bt": PRODUCTS[product] }, "acquiredAt": time, "override": true });
            (op, Some(time))
        } else {
            (remove(PRODUCTS[product]), None)
        };
        self.post(number, who, UndoArea::Blueprints, json!({ "ops": [op] })).await;
        if self.value(&name).is_some() != value.is_some() {
            self.note(name, value, client(number, who));
        }
    }

    fn lot(number: usize, lot: usize) -> EntryName {
        (number, UndoArea::Stock, format!("{:?}", places()[lot]))
    }

    fn amount(&self, name: &EntryName) -> i64 {
        number(self.value(name).as_ref())
    }

    async fn stock(&mut self, number: usize, who: usize, wishes: &BTreeMap<usize, i64>) {
        let mut ops = Vec::new();
        for (lot, to) in wishes {
            let held = self.amount(&Self::lot(number, *lot));
            ops.push(with_field(places()[*lot].set(held, *to), "override", json!(true)));
        }
        self.post(number, who, UndoArea::Stock, json!({ "ops": ops })).await;
        for (lot, to) in wishes {
            let name = Self::lot(number, *lot);
            if self.amount(&name) != *to {
                self.note(name, (*to > 0).then(|| to.to_string()), client(number, who));
            }
        }
    }

    /// Returns the member's existing or removed ships with their ids.
    fn ships(&self, number: usize, are_there: bool) -> Vec<(EntryName, String)> {
        let existing = self.all();
        let mine = |(key, name): (&String, &EntryName)| {
            (name.0 == number && name.1 == UndoArea::Ships && existing.contains_key(name) == are_there)
                .then(|| (name.clone(), key.clone()))
        };
        self.keys.iter().filter_map(mine).collect()
    }

    async fn ship(&mut self, number: usize, who: usize, choice: usize, act: usize) {
        self.created += 1;
        let (ships, removed) = (self.ships(number, true), self.ships(number, false));
        let existing = ships.get(choice).filter(|_| (1..5).contains(&act));
        let instead = removed.get(choice).filter(|_| act >= 5);
        let (name, key) = match existing {
            Some((name, key)) => (name.clone(), Some(key.clone())),
            None => ((number, UndoArea::Ships, format!("e-{}", self.created)), None),
        };
        let new_name = format!("n-{}", self.created);
        let op = with_field(ship(&name.2), "name", json!(new_name));
        let (op, value) = match &key {
            None => {
                let op = match instead {
                    // An upsert of a removed ship may have any version (A13).
                    Some((_, removed)) => {
                        with_field(with_field(op, "shipId", json!(removed)), "version", json!(1))
                    }
                    None => op,
                };
                (with_field(op, "override", json!(true)), Some(new_name))
            }
            Some(key) => {
                let caller =
                    writer(number, who).unwrap_or_else(|| if number == 0 { first() } else { other_member() });
                let (items, _) = self.fixture.page(&caller, SHIPS, &mut String::new()).await;
                let item = items.iter().find(|item| item["shipId"] == key.as_str()).expect("the ship exists");
                let version = item["version"].clone();
                if act == 1 {
                    (json!({ "op": "remove", "shipId": key, "version": version }), None)
                } else {
                    (with_field(with_field(op, "shipId", json!(key)), "version", version), Some(new_name))
                }
            }
        };
        self.post(number, who, UndoArea::Ships, json!({ "ops": [op] })).await;
        self.note(name, value, client(number, who));
        if let (Some((removed, _)), Some(write)) = (instead, self.log.last_mut()) {
            write.instead = Some(removed.clone());
        }
    }

    async fn rebook(&mut self, lot: usize) {
        let name = Self::lot(0, lot);
        let Some(value) = self.value(&name) else { return };
        let key = self.key(&name);
        // Each change uses another unit, so that it is not a repetition.
        self.created += 1;
        let unit = StockOwnership::Pool(format!("u-{}", 1 + self.created % 3).into());
        let is_new = !self
            .fixture
            .rows(format!(
                "SELECT 1 FROM stock_row WHERE member = 'm-1' AND lot = '{key}' AND unit IS NOT 'u-{}'",
                1 + self.created % 3
            ))
            .await
            .is_empty();
        let rebooked = self.fixture.backend().rebook_stock(&member(0), ChangeAuthor::Web, &key, unit).await;
        assert!(rebooked.expect("the rebooking succeeds"));
        if is_new {
            self.note(name, Some(value), None);
        }
    }

    async fn give(&mut self, lot: usize) {
        let (name, theirs) = (Self::lot(0, lot), Self::lot(1, lot));
        let Some(value) = self.value(&name) else { return };
        let key = self.key(&name);
        let outcome =
            self.fixture.backend().give_stock(&member(0), ChangeAuthor::Web, &key, &member(1)).await;
        assert!(outcome.expect("the transfer succeeds"));
        let sum = self.amount(&theirs) + value.parse::<i64>().expect("a number");
        self.note(name, None, None);
        self.note(theirs, Some(sum.to_string()), None);
    }

    fn key(&self, name: &EntryName) -> String {
        let key = self.keys.iter().find(|(_, one)| *one == name).expect("the key was returned before").0;
        key.split('@').next().expect("a key").to_owned()
    }

    async fn undo(
        &mut self,
        number: usize,
        client: &'static str,
        span: (Moment, Moment),
        areas: &[UndoArea],
    ) {
        let (from, to) = span;
        let writes = || UndoSelection { client: client.into(), member: member(number), from, to };
        let run = async |mode| {
            let outcomes = if number == 0 {
                self.fixture.backend().undo_writes(writes(), areas, mode).await
            } else {
                let undo =
                    UndoProcess::new(writes(), UndoAuthority::Administrator("root".to_owned()), areas, mode);
                self.fixture.backend().run_undo(undo).await
            };
            outcomes.expect("the undo succeeds")
        };
        let before = self.fixture.everything().await;
        let promised = run(UndoMode::Preview).await;
        assert_eq!(self.fixture.everything().await, before, "a preview changes nothing");
        let done = run(UndoMode::Apply).await;
        assert_eq!(promised, done, "the result of the undo equals the preview");
        let again = run(UndoMode::Apply).await;
        assert!(again.iter().all(|outcome| outcome.result.is_err()), "{again:?}");

        let names: BTreeSet<EntryName> = self.log.iter().map(|write| write.name.clone()).collect();
        // Entries that already have their previous state also count as undone, because the rows of a lot may
        // differ.
        let (mut clean, mut same, mut conflicts) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut halves = Vec::new();
        for name in names.into_iter().filter(|name| name.0 == number && areas.contains(&name.1)) {
            let is_meant =
                |write: &&Write| write.client == Some(client) && write.at >= from && write.at <= to;
            let mine: Vec<&Write> = self.log.iter().filter(|write| write.name == name).collect();
            let Some(begin) = mine.iter().position(is_meant) else { continue };
            halves.extend(self.halves(&name, &mine[begin..], is_meant));
            let replaces =
                |write: &&Write| write.act > mine[begin].act && write.instead.as_ref() == Some(&name);
            if mine[begin..].iter().all(is_meant)
                && self.log.iter().filter(replaces).all(|write| is_meant(&write))
            {
                let previous = begin.checked_sub(1).and_then(|index| mine[index].value.clone());
                if previous != self.value(&name) {
                    clean.insert(name);
                } else {
                    same.insert(name);
                }
            } else {
                conflicts.insert(name);
            }
        }
        let describe_outcome = |outcome: &UndoOutcome| {
            let key = format!("{}@{number}", outcome.key);
            self.keys
                .get(&key)
                .or_else(|| self.keys.get(&outcome.key))
                .expect("the key was returned before")
                .clone()
        };
        let (mut set_back, mut stayed, mut hindered) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for outcome in &done {
            let name = describe_outcome(outcome);
            let is_new = match &outcome.result {
                Ok(_) => set_back.insert(name),
                Err(UndoConflict::ChangedSince(Some(_))) => stayed.insert(name),
                // A member rebooked the stock through the web pages into the pool of a unit to which the
                // member does not belong.
                Err(UndoConflict::UnitLeft) => hindered.insert(name),
                Err(UndoConflict::LinkedEntryKept) => {
                    let mut others = halves.iter().filter(|(one, _)| *one == name).map(|(_, other)| other);
                    let other = others.next().expect("the other side of the move");
                    let is_told = |outcome: &&UndoOutcome| {
                        describe_outcome(outcome) == *other && outcome.result.is_err()
                    };
                    assert!(
                        done.iter().any(|outcome| is_told(&outcome)),
                        "{name:?} is linked with {other:?}, which was reverted"
                    );
                    hindered.insert(name)
                }
                Err(conflict) => panic!("{conflict}: {outcome:?}"),
            };
            assert!(is_new, "an entry is reported twice");
        }
        assert_eq!(stayed, conflicts, "{client} {from} {to}");
        let stays = |name: &EntryName| stayed.contains(name) || hindered.contains(name);
        for (one, other) in &halves {
            assert_eq!(stays(one), stays(other), "{one:?} {other:?}");
        }
        clean.retain(|name| !stays(name));
        same.retain(|name| !stays(name));
        assert_eq!(&set_back - &same, clean, "{client} {from} {to}");
        self.log.retain(|write| {
            !((clean.contains(&write.name) || same.contains(&write.name))
                && write.client == Some(client)
                && write.at >= from
                && write.at <= to)
        });
    }

    /// Returns the pairs of an entry and another entry that a write of the client linked with it (the other
    /// side of a move, or a replaced ship), in both orders.
    fn halves(
        &self,
        name: &EntryName,
        writes: &[&Write],
        is_meant: impl Fn(&&Write) -> bool,
    ) -> Vec<(EntryName, EntryName)> {
        let mut others: Vec<EntryName> = Vec::new();
        for write in writes.iter().filter(|write| is_meant(write)) {
            if name.1 == UndoArea::Stock {
                others.extend(self.moved_with(write, &is_meant));
            }
            if let Some(replaced) = &write.instead {
                // The pair does not count if another author replaced the ship before.
                let counts = |one: &&Write| {
                    one.act < write.act
                        && (one.name == *replaced
                            || (one.instead.as_ref() == Some(replaced) && !is_meant(one)))
                };
                let before = self.log.iter().rfind(counts);
                others.extend(before.filter(&is_meant).map(|_| replaced.clone()));
            }
        }
        others.into_iter().flat_map(|other| [(name.clone(), other.clone()), (other, name.clone())]).collect()
    }

    /// Returns the other lots of the smallest move that contains a write. Decreased and increased lots form a
    /// move in three rounds: lots that differ only in the stolen mark, then lots at other locations, then
    /// lots of other qualities. A move whose decreases and increases are equal gets no lots in later rounds.
    fn moved_with(&self, write: &Write, is_meant: impl Fn(&&Write) -> bool) -> Vec<EntryName> {
        let lot_of = |name: &EntryName| {
            let matches_name = |lot_key: &LotKey| format!("{lot_key:?}") == name.2;
            places().into_iter().find(matches_name).expect("the lot exists")
        };
        let net_change = |write: &Write| {
            let mut before = self.log.iter().rev().skip_while(|one| one.act >= write.act);
            let previous = before.find(|one| one.name == write.name).and_then(|one| one.value.clone());
            number(write.value.as_ref()) - number(previous.as_ref())
        };
        let of_act = self.log.iter().filter(|one| {
            one.act == write.act && one.name.0 == write.name.0 && one.name.1 == UndoArea::Stock
        });
        // Each element is a set of lots with their net change.
        let mut sets: Vec<(Vec<EntryName>, i64)> =
            of_act.filter(&is_meant).map(|one| (vec![one.name.clone()], net_change(one))).collect();
        let nears: [fn(LotKey) -> LotKey; 3] = [
            |lot_key| LotKey { stolen: false, ..lot_key },
            |lot_key| LotKey { stolen: false, place: "", ..lot_key },
            |lot_key| LotKey { stolen: false, place: "", quality: 0, ..lot_key },
        ];
        for is_near_key in nears {
            let mut left = std::mem::take(&mut sets);
            // Changes with the same sign do not form a move.
            while let Some((names, sum)) = left.pop() {
                let is_near =
                    |other: &Vec<EntryName>| is_near_key(lot_of(&other[0])) == is_near_key(lot_of(&names[0]));
                let (mut near_by, rest): (Vec<_>, Vec<_>) =
                    left.into_iter().partition(|(other, net)| sum != 0 && *net != 0 && is_near(other));
                left = rest;
                near_by.push((names, sum));
                if near_by.iter().any(|(_, sum)| *sum > 0) && near_by.iter().any(|(_, sum)| *sum < 0) {
                    let sum = near_by.iter().map(|(_, sum)| sum).sum();
                    sets.push((near_by.into_iter().flat_map(|(names, _)| names).collect(), sum));
                } else {
                    sets.extend(near_by);
                }
            }
        }
        let own = sets.into_iter().find(|(names, _)| names.contains(&write.name));
        own.into_iter().flat_map(|(names, _)| names).filter(|name| *name != write.name).collect()
    }

    /// Compares all data with the model, and stores the service's keys in the model.
    async fn check(&mut self) {
        let mut found: BTreeMap<EntryName, String> = BTreeMap::new();
        for number in 0..6 {
            let (caller, uri) =
                (if number < 3 { first() } else { other_member() }, [READ, STOCK, SHIPS][number % 3]);
            let (area, index) = (AREAS[number % 3], number / 3);
            let (items, _) = self.fixture.page(&caller, uri, &mut String::new()).await;
            for item in items.iter().filter(|item| item["isDefault"] != true) {
                let (key, value) = seen(item);
                let name = match area {
                    UndoArea::Blueprints => (index, area, key.clone()),
                    UndoArea::Stock => {
                        let matches_lot = |lot_key: &&LotKey| {
                            item["material"]["bt"] == lot_key.material
                                && item["location"]["name"] == lot_key.place
                                && item["quality"] == lot_key.quality
                                && item["stolen"] == lot_key.stolen
                        };
                        (
                            index,
                            area,
                            format!("{:?}", places().iter().find(matches_lot).expect("the lot exists")),
                        )
                    }
                    UndoArea::Ships => match self.keys.get(&key) {
                        Some(name) => name.clone(),
                        None => (index, area, self.log.last().expect("the log is not empty").name.2.clone()),
                    },
                    UndoArea::OrgStock => unreachable!("org stock has a separate model test"),
                };
                // Lots and blueprints of different members can have the same keys.
                let key = if area == UndoArea::Ships { key } else { format!("{key}@{index}") };
                assert_eq!(self.keys.entry(key).or_insert_with(|| name.clone()), &name);
                assert_eq!(found.insert(name, value), None, "an entry is reported twice");
            }
        }
        assert_eq!(found, self.all());
    }
}

async fn run(acts: Vec<Action>) {
    let fixture = BackendFixture::unguarded().await;
    let (log, keys) = (Vec::new(), BTreeMap::new());
    let mut harness = UndoModel { fixture, log, keys, created: 0, act: 0 };
    let mut readers: Vec<Reader<String>> = (0..6).map(reader).collect();
    for act in acts {
        harness.fixture.clock.advance(Duration::from_secs(1));
        harness.act += 1;
        match act {
            Action::Blueprint { member, who, product, add } => {
                harness.blueprint(member, who, product, add).await
            }
            Action::Stock { member, who, wishes } => harness.stock(member, who, &wishes).await,
            Action::Ship { member, who, ship, act } => harness.ship(member, who, ship, act).await,
            Action::Rebook(lot) => harness.rebook(lot).await,
            Action::Give(lot) => harness.give(lot).await,
            Action::Page(reader, limit) => {
                readers[reader].page(&harness.fixture, limit).await;
                continue;
            }
            Action::Undo { member, client, from, to, areas } => {
                let now = harness.fixture.clock.now();
                let seconds_ago = |seconds: u8| now.minus(Duration::from_secs(u64::from(seconds)));
                let span = (seconds_ago(from.max(to)), seconds_ago(from.min(to)));
                let areas: Vec<UndoArea> =
                    (0..3).filter(|index| areas & (1 << index) != 0).map(|index| AREAS[index]).collect();
                harness.undo(member, ["c-1", "c-2"][client], span, &areas).await;
            }
        }
        harness.check().await;
    }
    for (number, reader) in readers.iter_mut().enumerate() {
        reader.read_on(&harness.fixture, 3).await;
        let mut new = self::reader(number);
        new.read_on(&harness.fixture, 50).await;
        assert_eq!(reader.entries, new.entries, "a replica");
    }
}

proptest! {
    #![proptest_config(cases(60))]

    /// FED-04, FED-06, STK-13, SHP-07: undone writes leave no trace (see the module documentation).
    #[test]
    fn undone_writes_leave_no_trace(acts in prop::collection::vec(act(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("the runtime starts");
        runtime.block_on(run(acts));
    }
}
