//! Model test of the mass-change guard: random interleavings of two clients (one of them on two devices) and
//! the web pages, over three areas and several days, compared with a list of each client's changes. A batch
//! is held if and only if the removals of a day exceed the limit, and a held batch has no effect.

use exchange_service::feed::ChangeAuthor;
use proptest::prelude::*;
use proptest::sample::select;

use super::ships::{FLY, SHIPS, ship, with_field};
use super::stock::{GUN, LotKey, METAL, ORE, PARTS, SET};
use super::*;
use crate::support::cases;

const HOUR: Duration = Duration::from_secs(3600);
/// The maximum number of removals that is always applied.
const MAX_FREE_REMOVALS: u64 = 7;
/// The minimum number of removals that is held if they exceed a third of the entries.
const SOME: u64 = 3;
const REMOVAL_SHARE_DIVISOR: u64 = 3;

fn lots() -> [LotKey; 10] {
    let [elsewhere, better] = [ORE.place("Station"), ORE.quality(7)];
    let metals = [METAL, METAL.place("Station"), METAL.quality(7)];
    [
        ORE,
        ORE.stolen(),
        elsewhere,
        better,
        metals[0],
        metals[1],
        metals[2],
        PARTS,
        PARTS.place("Station"),
        GUN,
    ]
}

#[derive(Clone, Debug)]
enum Action {
    /// Sets the amounts of lots, in this order.
    Stock(usize, Vec<(usize, i64)>),
    /// Adds products (`true`) or removes them (`false`).
    Blueprints(usize, Vec<(usize, bool)>),
    /// Changes ships, which are created if they are missing: no change, another name, another type, both, or
    /// removal.
    Ships(usize, Vec<(usize, Change)>),
    /// Advances the clock by this many hours.
    Advance(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Name,
    Type,
    Both,
    Gone,
}

fn act() -> impl Strategy<Value = Action> {
    let who = || select(vec![0_usize, 0, 1, 2, 3]);
    let lots = prop::collection::vec((0_usize..10, select(vec![0_i64, 0, 1, 2, 10, 19, 20, 21, 50])), 1..9);
    let products = prop::collection::vec((0_usize..12, prop::bool::weighted(0.6)), 1..9);
    let change = select(vec![Change::Name, Change::Type, Change::Both, Change::Gone]);
    let ships = prop::collection::btree_map(0_usize..9, change, 1..7);
    prop_oneof![
        8 => (who(), lots).prop_map(|(who, lots)| Action::Stock(who, lots)),
        4 => (who(), products).prop_map(|(who, products)| Action::Blueprints(who, products)),
        4 => (who(), ships).prop_map(|(who, ships)| Action::Ships(who, ships.into_iter().collect())),
        3 => select(vec![1_u32, 5, 12, 23, 24]).prop_map(Action::Advance),
    ]
}

/// A client's change of one entry.
#[derive(Clone, Debug)]
struct ClientChange {
    client: &'static str,
    area: &'static str,
    entry: String,
    at: Moment,
    /// The amount before the change.
    before: i64,
    /// The amount by which the change raised the entry.
    raised: i64,
    is_removal: bool,
}

/// A ship of the model.
#[derive(Clone, Debug)]
struct ModelShip {
    id: String,
    version: i64,
    name: String,
    is_miner: bool,
    /// The external id of the ship for each writer.
    links: BTreeMap<usize, String>,
}

struct GuardModel {
    fixture: BackendFixture,
    log: Vec<ClientChange>,
    held: BTreeMap<LotKey, i64>,
    products: BTreeSet<usize>,
    ships: BTreeMap<usize, ModelShip>,
    created: usize,
    /// The number of held batches.
    holds: usize,
}

/// Returns a writer: two installations of one client, another client, or the web pages (without a client).
fn writer(who: usize) -> Option<(Caller, &'static str)> {
    match who {
        0 => Some((first(), "c-1")),
        1 => Some((second(), "c-1")),
        2 => Some((other_client(), "c-2")),
        _ => None,
    }
}

impl GuardModel {
    /// Returns the changes of a client within the last day, in order.
    fn day(&self, client: &str, area: &str) -> Vec<&ClientChange> {
        let now = self.fixture.clock.now();
        let is_of =
            |did: &&ClientChange| did.client == client && did.area == area && now.since(did.at) < 24 * HOUR;
        self.log.iter().filter(is_of).collect()
    }

    /// Sends ops and returns whether they were applied. `entries_before` is the number of entries before the
    /// ops, and `did` contains their expected effects.
    async fn write(
        &mut self,
        who: usize,
        (area, uri): (&'static str, &str),
        ops: Vec<Value>,
        entries_before: usize,
        did: Vec<(String, i64, i64, bool)>,
    ) -> bool {
        let Some((caller, client)) = writer(who) else {
            let body = json!({ "ops": ops }).to_string();
            let (backend, member) = (self.fixture.backend(), MemberId::new("m-1"));
            macro_rules! change {
                ($change:ident) => {
                    backend
                        .$change(&member, ChangeAuthor::Web, parsed(&body))
                        .await
                        .expect("the change succeeds")
                };
            }
            let result = match area {
                "stock" => change!(change_stock),
                "ships" => change!(change_ships),
                _ => change!(change_blueprints),
            };
            assert_eq!(result.counts().not_applied, 0, "{ops:?}");
            return true;
        };
        let new = did.iter().filter(|(.., is_removal)| *is_removal).count() as u64;
        let before = self.day(client, area).iter().filter(|did| did.is_removal).count() as u64;
        let entry_count = before + new;
        let is_too_much = entry_count > MAX_FREE_REMOVALS
            || (entry_count >= SOME && entry_count * REMOVAL_SHARE_DIVISOR > entries_before as u64 + before);
        let shown = format!("{ops:?}");
        // WRT-04: a dry run is never held.
        let dry_response =
            self.fixture.post(&caller, uri, json!({ "ops": ops.clone(), "dryRun": true })).await;
        assert_eq!(dry_response.status, 200, "{shown}");
        let response = self.fixture.post(&caller, uri, json!({ "ops": ops })).await;
        if new > 0 && is_too_much {
            assert_eq!(
                (response.status, response.code()),
                (409, "MASS_CHANGE_CONFIRMATION_REQUIRED"),
                "{shown}"
            );
            self.holds += 1;
            return false;
        }
        assert_eq!(
            (response.status, response.counts().2),
            (200, 0),
            "{new} and {before} of {entries_before}: {shown}"
        );
        let time = self.fixture.clock.now();
        let did = did.into_iter();
        self.log.extend(did.map(|(entry, before, raised, is_removal)| ClientChange {
            client,
            area,
            entry,
            at: time,
            before,
            raised,
            is_removal,
        }));
        true
    }

    async fn stock(&mut self, who: usize, wishes: &[(usize, i64)]) {
        let mut now = self.held.clone();
        let (mut ops, mut first) = (Vec::new(), Vec::new());
        for (lot, to) in wishes {
            let lot_key = lots()[*lot];
            let held = now.get(&lot_key).copied().unwrap_or(0);
            ops.push(with_field(lot_key.set(held, *to), "override", json!(true)));
            if held != *to && !first.contains(&lot_key) {
                first.push(lot_key);
            }
            now.insert(lot_key, *to);
        }
        now.retain(|_, held| *held > 0);
        let day = writer(who).map(|(_, client)| self.day(client, "stock")).unwrap_or_default();
        let held = |lots: &BTreeMap<LotKey, i64>, lot_key: &LotKey| lots.get(lot_key).copied().unwrap_or(0);
        // STK-21: increases of a material cover its decreases, in the order of the batch.
        let mut rises: BTreeMap<&str, i64> = BTreeMap::new();
        for lot_key in &first {
            *rises.entry(lot_key.material).or_default() +=
                (held(&now, lot_key) - held(&self.held, lot_key)).max(0);
        }
        let mut did = Vec::new();
        for lot_key in &first {
            let (old_amount, new_amount) = (held(&self.held, lot_key), held(&now, lot_key));
            let cover = rises.entry(lot_key.material).or_default();
            let is_move = old_amount > new_amount && *cover >= old_amount - new_amount;
            if is_move {
                *cover -= old_amount - new_amount;
            }
            // STK-22: the amount is compared with the one before the client's first change of the day, plus
            // what the client added since then; each lot counts once.
            let name = format!("{lot_key:?}");
            let mut own = day.iter().filter(|did| did.entry == name);
            let is_counted = own.clone().any(|did| did.is_removal);
            let raised: i64 = own.clone().map(|did| did.raised).sum();
            let base = own.next().map_or(old_amount, |did| did.before + raised);
            let is_cut = old_amount > new_amount && (new_amount == 0 || new_amount * 10 <= base);
            if old_amount != new_amount || new_amount == 0 {
                let raised = (new_amount - old_amount).max(0);
                did.push((name, old_amount, raised, is_cut && !is_move && !is_counted));
            }
        }
        let entries_before = self.held.len();
        if self.write(who, ("stock", SET), ops, entries_before, did).await {
            self.held = now;
        }
    }

    async fn blueprints(&mut self, who: usize, wishes: &[(usize, bool)]) {
        let key = |product: usize| format!("BP_MANY_{product:03}");
        let mut now = self.products.clone();
        let mut ops = Vec::new();
        for (product, adds) in wishes {
            if *adds {
                now.insert(*product);
                ops.push(add_anyway(&key(*product)));
            } else {
                now.remove(product);
                ops.push(remove(&key(*product)));
            }
        }
        let did = self.products.difference(&now).map(|product| (key(*product), 1, 0, true));
        let did =
            did.chain(now.difference(&self.products).map(|product| (key(*product), 0, 0, false))).collect();
        // Two entries are default grants.
        let entries_before = self.products.len() + 2;
        if self.write(who, ("blueprints", WRITE), ops, entries_before, did).await {
            self.products = now;
        }
    }

    async fn ships(&mut self, who: usize, wishes: &[(usize, Change)]) {
        let (mut now, mut ops, mut did) = (self.ships.clone(), Vec::new(), Vec::new());
        for (number, change) in wishes {
            self.created += 1;
            let new_name = format!("n-{}", self.created);
            let types = ["hauler", "miner"];
            let external = format!("e-{}", self.created);
            let Some(ModelShip { id, version, name, is_miner, mut links }) = now.get(number).cloned() else {
                ops.push(with_field(ship(&external), "name", json!(new_name)));
                let links = BTreeMap::from([(who, external)]);
                let known =
                    ModelShip { id: String::new(), version: 1, name: new_name, is_miner: false, links };
                now.insert(*number, known);
                continue;
            };
            if *change == Change::Gone {
                ops.push(json!({ "op": "remove", "shipId": id, "version": version }));
                now.remove(number);
                did.push((id, 1, 0, true));
                continue;
            }
            let name = if *change == Change::Type { name } else { new_name };
            let is_miner = is_miner != (*change != Change::Name);
            let mut op = with_field(ship(links.entry(who).or_insert(external)), "shipId", json!(id));
            op = with_field(with_field(op, "version", json!(version)), "name", json!(name));
            ops.push(with_field(op, "shipType", json!({ "bt": types[usize::from(is_miner)] })));
            did.push((id.clone(), 1, 0, *change == Change::Both));
            now.insert(*number, ModelShip { id, version: version + 1, name, is_miner, links });
        }
        let entries_before = self.ships.len();
        if self.write(who, ("ships", FLY), ops, entries_before, did).await {
            self.ships = now;
        }
    }

    /// Compares all data with the model, and stores the ids of new ships in the model.
    async fn check(&mut self) {
        let held: BTreeSet<String> =
            self.fixture.held(&first()).await.into_iter().map(|(key, _)| key).collect();
        let products = self.products.iter().map(|product| format!("BP_MANY_{product:03}"));
        assert_eq!(held, products.chain(["BP_CORE".to_owned(), "BP_LAMP".to_owned()]).collect());
        let (items, _) = self.fixture.page(&first(), super::stock::STOCK, &mut String::new()).await;
        assert_eq!(items.len(), self.held.len());
        let (items, _) = self.fixture.page(&first(), SHIPS, &mut String::new()).await;
        assert_eq!(items.len(), self.ships.len());
        for item in items {
            let is_named = |ship: &&mut ModelShip| item["name"] == ship.name.as_str();
            let ship = self.ships.values_mut().find(is_named).expect("the ship exists");
            ship.id = item["shipId"].as_str().expect("a string").to_owned();
            assert_eq!(
                (&item["version"], &item["shipType"]["bt"] == "miner"),
                (&json!(ship.version), ship.is_miner)
            );
        }
    }
}

fn parsed<T: exchange_api::Contract>(body: &str) -> T {
    T::parse_valid(body.as_bytes()).expect("a valid change set")
}

/// Runs the actions and returns the number of held batches.
async fn run(acts: Vec<Action>) -> usize {
    let mut config = Config::default();
    config.guard.removals = MAX_FREE_REMOVALS as u32;
    config.guard.removals_of_share = SOME as u32;
    config.guard.share = REMOVAL_SHARE_DIVISOR as u32;
    let fixture = BackendFixture::with_config(config, |backend| backend).await;
    let (held, products, ships) = Default::default();
    let mut harness = GuardModel { fixture, log: Vec::new(), held, products, ships, created: 0, holds: 0 };
    for act in acts {
        // Two writes never have the same timestamp.
        harness.fixture.clock.advance(Duration::from_millis(1));
        match act {
            Action::Stock(who, wishes) => harness.stock(who, &wishes).await,
            Action::Blueprints(who, wishes) => harness.blueprints(who, &wishes).await,
            Action::Ships(who, wishes) => harness.ships(who, &wishes).await,
            Action::Advance(hours) => harness.fixture.clock.advance(hours * HOUR),
        }
        harness.check().await;
    }
    harness.holds
}

proptest! {
    #![proptest_config(cases(200))]

    /// STK-21, STK-22, SHP-22, WRT-04, WRT-10, LIM-21: the guard holds exactly the batches that the model
    /// holds (see the module documentation).
    #[test]
    fn guard_matches_the_reference_interpreter(acts in prop::collection::vec(act(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("the runtime starts");
        runtime.block_on(run(acts));
    }
}

/// The generated cases include batches that the guard holds.
#[tokio::test]
async fn generated_cases_reach_the_guard() {
    let lots = |amount| (0..6).map(|lot| (lot, amount)).collect();
    assert_eq!(run(vec![Action::Stock(0, lots(20)), Action::Stock(1, lots(0))]).await, 1);
}
