//! Model test of ships: random interleavings of installations and web pages of two members, transfers,
//! renamed units, ending memberships and readers, compared with a direct interpreter of the ops. Every op and
//! ship matches, no link is duplicated, and readers have exactly the ships of their member.

use exchange_api::Contract as _;
use exchange_api::types::ShipChangeSet;
use exchange_service::feed::ChangeAuthor;
use exchange_service::ids::UnitId;
use proptest::prelude::*;
use proptest::sample::select;

use super::reader::Reader;
use super::ships::*;
use super::*;
use crate::support::{cases, ops};

/// An op before the existing ships to which it refers are chosen.
#[derive(Clone, Debug)]
enum OpTemplate {
    Link { external: usize, ship: usize },
    Upsert(Box<Upsert>),
    Remove { ship: usize, stale: bool },
}

#[derive(Clone, Debug)]
struct Upsert {
    external: usize,
    ship: Option<usize>,
    stale: bool,
    /// The index of the type; 2 resolves to nothing.
    ship_type: usize,
    name: usize,
    months: Option<i64>,
    /// The index of the location: 0 is none, 3 is unknown.
    place: usize,
    fitted: Option<bool>,
    /// Whether the unit is omitted, `null`, the first unit, or one to which the member does not belong.
    unit: usize,
    /// Whether the unit's counter is omitted, current or stale.
    counter: usize,
    overrule: bool,
}

#[derive(Clone, Debug)]
enum Action {
    /// One of the [`writers`].
    Write {
        who: usize,
        wishes: Vec<OpTemplate>,
        dry: bool,
    },
    /// A member transfers a ship to the other member; it may belong to either.
    Give {
        member: usize,
        ship: usize,
    },
    Rename(u8),
    /// A member joins or leaves units; each bit is a unit.
    Units {
        member: usize,
        bits: u8,
    },
    Page {
        reader: usize,
        limit: u8,
    },
    Advance(u8),
    Sweep,
}

fn upsert() -> impl Strategy<Value = Upsert> {
    let fields = (0_usize..7, 0_usize..3, select(vec![None, Some(0), Some(12)]), 0_usize..9);
    let ship = prop_oneof![1 => Just(None), 2 => (0_usize..8).prop_map(Some)];
    let unit = (0_usize..4, select(vec![0_usize, 1, 1, 1, 2]));
    let flags = (prop::bool::weighted(0.1), any::<Option<bool>>(), any::<bool>());
    (0_usize..4, ship, fields, unit, flags).prop_map(|(external, ship, fields, unit, flags)| Upsert {
        external,
        ship,
        stale: flags.0,
        ship_type: [0, 0, 0, 1, 1, 1, 2][fields.0],
        name: fields.1,
        months: fields.2,
        place: [0, 0, 0, 1, 1, 2, 2, 2, 3][fields.3],
        fitted: flags.1,
        unit: unit.0,
        counter: unit.1,
        overrule: flags.2,
    })
}

fn wish() -> impl Strategy<Value = OpTemplate> {
    prop_oneof![
        2 => (0_usize..4, 0_usize..8).prop_map(|(external, ship)| OpTemplate::Link { external, ship }),
        5 => upsert().prop_map(|upsert| OpTemplate::Upsert(Box::new(upsert))),
        2 => (0_usize..8, prop::bool::weighted(0.1)).prop_map(|(ship, stale)| OpTemplate::Remove { ship, stale }),
    ]
}

fn act() -> impl Strategy<Value = Action> {
    prop_oneof![
        12 => (0_usize..6, ops(wish), prop::bool::weighted(0.1))
            .prop_map(|(who, wishes, dry)| Action::Write { who, wishes, dry }),
        2 => (0_usize..2, 0_usize..8).prop_map(|(member, ship)| Action::Give { member, ship }),
        1 => any::<u8>().prop_map(Action::Rename),
        2 => (0_usize..2, 0_u8..8).prop_map(|(member, bits)| Action::Units { member, bits }),
        6 => (0_usize..3, 1_u8..5).prop_map(|(reader, limit)| Action::Page { reader, limit }),
        1 => select(vec![1, 45, 91]).prop_map(Action::Advance),
        1 => Just(Action::Sweep),
    ]
}

const UNITS: [&str; 3] = ["u-1", "u-2", "u-3"];
const TYPES: [&str; 3] = ["hauler", "miner", "none"];
const PLACES: [&str; 4] = ["", "City", "Station", "Cellar"];

/// The expected ship, without ids.
#[derive(Clone, Debug, Default, PartialEq)]
struct ShipState {
    ship_type: String,
    name: Option<String>,
    months: Option<i64>,
    place: Option<String>,
    fitted: bool,
    unit: Option<String>,
    counter: i64,
    version: i64,
}

fn is_on_the_web(who: usize) -> bool {
    writers()[who].0.is_none()
}

/// The expected state of one member. A new ship has a placeholder id until the service's id is known.
#[derive(Clone, Default)]
struct Oracle {
    ships: BTreeMap<String, ShipState>,
    gone: BTreeMap<String, (Moment, usize)>,
    /// The ships by installation and external id.
    links: BTreeMap<(usize, String), String>,
    units: BTreeSet<String>,
    /// The ships that the current batch updated or removed.
    changed: BTreeSet<String>,
    created: usize,
}

impl Oracle {
    fn link_of(&self, who: usize, ship: &str) -> Option<String> {
        let mut links =
            self.links.iter().filter(|((installation, _), to)| *installation == who && *to == ship);
        links.next().map(|((_, external), _)| external.clone())
    }

    fn set_link(&mut self, who: usize, external: &str, ship: &str) {
        if !is_on_the_web(who) {
            self.links.insert((who, external.to_owned()), ship.to_owned());
        }
    }

    fn link(&mut self, who: usize, external: &str, ship: &str) -> &'static str {
        if !self.ships.contains_key(ship) {
            return "unmatched UNMATCHED";
        }
        match self.link_of(who, ship) {
            Some(link) if link == external => "unchanged -",
            Some(_) => "rejected LINK_TARGET_TAKEN",
            None if is_on_the_web(who) => "unchanged -",
            None => {
                self.set_link(who, external, ship);
                ""
            }
        }
    }

    fn foreign_remover(&self, ship: &str, now: Moment) -> Option<usize> {
        self.gone.get(ship).filter(|(time, _)| now.since(*time) <= 90 * DAY).map(|(_, author)| *author)
    }

    fn remove(&mut self, who: usize, ship: &str, version: i64, now: Moment) -> &'static str {
        if self.changed.contains(ship) {
            return "rejected VERSION_CONFLICT";
        }
        let Some(plain) = self.ships.get(ship) else {
            return if self.foreign_remover(ship, now).is_some() {
                "unchanged -"
            } else {
                "unmatched UNMATCHED"
            };
        };
        if plain.version != version {
            return "rejected VERSION_CONFLICT";
        }
        self.remove_ship(ship, who, now);
        self.changed.insert(ship.to_owned());
        ""
    }

    fn remove_ship(&mut self, ship: &str, author: usize, now: Moment) -> Option<ShipState> {
        self.links.retain(|_, to| to != ship);
        let removed = self.ships.remove(ship)?;
        self.gone.insert(ship.to_owned(), (now, author));
        Some(removed)
    }

    /// Adds a transferred ship with the next version and without external ids.
    fn receive_ship(&mut self, ship: &str, received: ShipState) {
        self.ships.insert(ship.to_owned(), ShipState { version: received.version + 1, ..received });
    }

    fn upsert(&mut self, who: usize, op: &UpsertBody, now: Moment) -> &'static str {
        let UpsertBody { upsert, external, ship, version, counter } = op;
        let linked =
            ship.as_ref().filter(|ship| self.ships.contains_key(*ship) || self.changed.contains(*ship));
        let remover = ship.as_ref().and_then(|ship| self.foreign_remover(ship, now));
        if ship.is_some() && linked.is_none() && remover.is_none() {
            return "unmatched UNMATCHED";
        }
        if upsert.ship_type == 2 {
            return "unmatched UNMATCHED";
        }
        if upsert.place == 3 {
            return "rejected LOCATION_UNKNOWN";
        }
        let updated = ShipState {
            ship_type: TYPES[upsert.ship_type].to_owned(),
            name: [None, Some("Bertha"), Some("Clara")][upsert.name].map(str::to_owned),
            months: upsert.months,
            place: Some(PLACES[upsert.place].to_owned()).filter(|place| !place.is_empty()),
            ..ShipState::default()
        };
        let unit = match upsert.unit {
            1 => Some(None),
            2 => Some(Some("u-1".to_owned())),
            3 => Some(Some("u-3".to_owned())),
            _ => None,
        };
        let Some(ship) = linked else {
            if self.links.contains_key(&(who, external.clone())) {
                return "rejected VERSION_CONFLICT";
            }
            if remover.is_some_and(|author| author != who) && !is_on_the_web(who) && !upsert.overrule {
                return "rejected REMOVED_ELSEWHERE";
            }
            let only = if self.units.len() == 1 { self.units.first().cloned() } else { None };
            let unit = unit.unwrap_or(only);
            if unit.as_ref().is_some_and(|unit| !self.units.contains(unit)) {
                return "rejected ORG_UNIT_NOT_ALLOWED";
            }
            self.created += 1;
            let id = format!("new-{}", self.created);
            let fitted = upsert.fitted.unwrap_or(false);
            self.ships.insert(id.clone(), ShipState { fitted, unit, counter: 1, version: 1, ..updated });
            self.changed.insert(id.clone());
            self.set_link(who, external, &id);
            return "";
        };
        let Some(old) = self.ships.get(ship).cloned().filter(|_| !self.changed.contains(ship)) else {
            return "rejected VERSION_CONFLICT";
        };
        if old.version != *version {
            return "rejected VERSION_CONFLICT";
        }
        let link = self.link_of(who, ship);
        if link.as_ref().is_some_and(|link| link != external) {
            return "rejected LINK_TARGET_TAKEN";
        }
        let mut new = ShipState {
            fitted: upsert.fitted.unwrap_or(old.fitted),
            unit: old.unit.clone(),
            counter: old.counter,
            version: old.version,
            ..updated
        };
        let differs = new != old;
        if let Some(unit) = unit.filter(|unit| *unit != old.unit) {
            if unit.as_ref().is_some_and(|unit| !self.units.contains(unit)) {
                return "rejected ORG_UNIT_NOT_ALLOWED";
            }
            if *counter != Some(old.counter) {
                return "rejected ORG_UNIT_VERSION_CONFLICT";
            }
            new.unit = unit;
            new.counter += 1;
        }
        new.version += i64::from(differs);
        if new == old && (link.is_some() || is_on_the_web(who)) {
            return "unchanged -";
        }
        if new != old {
            self.changed.insert(ship.clone());
        }
        self.ships.insert(ship.clone(), new);
        self.set_link(who, external, ship);
        ""
    }

    /// Returns the ships that an installation sees by id, each with its external id.
    fn shown(&self, who: usize) -> BTreeMap<String, (Option<String>, ShipState)> {
        let one = |(id, plain): (&String, &ShipState)| (id.clone(), (self.link_of(who, id), plain.clone()));
        self.ships.iter().map(one).collect()
    }
}

/// An upsert with the ids and versions that it sends.
struct UpsertBody {
    upsert: Upsert,
    external: String,
    ship: Option<String>,
    version: i64,
    counter: Option<i64>,
}

fn plain(item: &Value) -> (String, (Option<String>, ShipState)) {
    let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let number = |pointer: &str| item.pointer(pointer).and_then(Value::as_i64);
    let plain = ShipState {
        ship_type: text("/shipType/bt").expect("a type"),
        name: text("/name"),
        months: number("/insurance/months"),
        place: text("/location/name"),
        fitted: item["fitted"] == true,
        unit: text("/orgUnit/id"),
        counter: number("/orgUnitVersion").expect("a counter"),
        version: number("/version").expect("a version"),
    };
    (text("/shipId").expect("an id"), (text("/externalId"), plain))
}

fn reader(caller: Caller) -> Reader<ShipState> {
    let entry = |item: &Value| {
        let (id, (_, plain)) = plain(item);
        (id, plain)
    };
    Reader::new(caller, SHIPS, entry)
}

/// The backend under test and the model's expected state.
struct ShipsModel {
    fixture: BackendFixture,
    /// The expected states, by member.
    oracles: [Oracle; 2],
    /// All ids that were ever seen, and some unknown ones.
    ids: Vec<String>,
}

impl ShipsModel {
    fn id(&self, index: usize) -> String {
        self.ids[index % self.ids.len()].clone()
    }

    async fn write(&mut self, who: usize, wishes: &[OpTemplate], dry: bool) {
        let now = self.fixture.clock.now();
        let (caller, member) = writers()[who].clone();
        let backup = self.oracles[member].clone();
        self.oracles[member].changed.clear();
        let (mut ops, mut expected) = (Vec::new(), Vec::new());
        for (index, wish) in wishes.iter().enumerate() {
            let (op, end) = self.one(who, wish, &backup, now);
            ops.push(op);
            if !end.is_empty() {
                expected.push((index as u64, end.to_owned()));
            }
        }
        let body = json!({ "ops": ops, "dryRun": dry });
        let result = match caller {
            Some(caller) => self.fixture.post(&caller, FLY, body.clone()).await,
            None => {
                let body =
                    ShipChangeSet::parse_valid(body.to_string().as_bytes()).expect("a valid change set");
                let member = MemberId::new(MEMBERS[member]);
                let changed = self.fixture.backend().change_ships(&member, ChangeAuthor::Web, body).await;
                BackendResponse::from_result(&changed.expect("the change succeeds"))
            }
        };
        assert_eq!(result.outcomes(), expected, "{body}");
        if dry {
            self.oracles[member] = backup;
        } else {
            self.learn_ids(who).await;
        }
    }

    /// Returns one op and the interpreter's result for it.
    fn one(&mut self, who: usize, wish: &OpTemplate, before: &Oracle, now: Moment) -> (Value, &'static str) {
        let external = |index: &usize| format!("e-{index}");
        let (_, member) = writers()[who];
        match wish {
            OpTemplate::Link { external: index, ship } => {
                let (external, ship) = (external(index), self.id(*ship));
                let op = json!({ "op": "link", "externalId": external, "shipId": ship });
                (op, self.oracles[member].link(who, &external, &ship))
            }
            OpTemplate::Remove { ship, stale } => {
                let ship = self.id(*ship);
                let version = before.ships.get(&ship).map_or(1, |plain| plain.version) + i64::from(*stale);
                let op = json!({ "op": "remove", "shipId": ship, "version": version });
                (op, self.oracles[member].remove(who, &ship, version, now))
            }
            OpTemplate::Upsert(upsert) => {
                let ship_id = upsert.ship.map(|index| self.id(index));
                let old = ship_id.as_ref().and_then(|ship| before.ships.get(ship));
                let version = old.map_or(1, |plain| plain.version) + i64::from(upsert.stale);
                let current = old.map_or(1, |plain| plain.counter);
                let counter = [None, Some(current), Some(current + 1)][upsert.counter];
                let sent = UpsertBody {
                    external: external(&upsert.external),
                    ship: ship_id,
                    version,
                    counter,
                    upsert: (**upsert).clone(),
                };
                (written(&sent), self.oracles[member].upsert(who, &sent, now))
            }
        }
    }

    /// Replaces the placeholder ids of new ships by the service's ids.
    async fn learn_ids(&mut self, who: usize) {
        let (caller, member) = writers()[who].clone();
        let oracle = &mut self.oracles[member];
        let new_ids: Vec<String> = oracle.ships.keys().filter(|id| id.starts_with("new-")).cloned().collect();
        if new_ids.is_empty() {
            return;
        }
        let reader = caller.unwrap_or_else(|| [first(), other_member()][member].clone());
        let (items, _) = self.fixture.page(&reader, SHIPS, &mut String::new()).await;
        for new_id in new_ids {
            let link = oracle.link_of(who, &new_id);
            let is_it = |item: &&Value| {
                let (id, (external, shown)) = plain(item);
                !self.ids.contains(&id) && external == link && oracle.ships[&new_id] == shown
            };
            let (id, _) = plain(items.iter().find(is_it).expect("the new ship is returned"));
            let ship = oracle.ships.remove(&new_id).expect("the ship exists");
            oracle.ships.insert(id.clone(), ship);
            for to in oracle.links.values_mut().filter(|to| **to == new_id) {
                to.clone_from(&id);
            }
            self.ids.push(id);
        }
    }

    /// Asserts the invariants.
    async fn check(&self) {
        for (who, (caller, member)) in writers().into_iter().enumerate() {
            let Some(caller) = caller else { continue };
            let (items, _) = self.fixture.page(&caller, SHIPS, &mut String::new()).await;
            let shown: BTreeMap<String, (Option<String>, ShipState)> = items.iter().map(plain).collect();
            assert_eq!(shown, self.oracles[member].shown(who));
            let links: Vec<&String> = shown.values().filter_map(|(link, _)| link.as_ref()).collect();
            assert_eq!(links.iter().collect::<BTreeSet<_>>().len(), links.len(), "a link is duplicated");
        }
    }
}

fn written(sent: &UpsertBody) -> Value {
    let UpsertBody { upsert, external, ship, version, counter } = sent;
    let mut op =
        with_field(super::ships::ship(external), "shipType", json!({ "bt": TYPES[upsert.ship_type] }));
    if let Some(months) = upsert.months {
        op["insurance"] = json!({ "kind": "MONTHS", "months": months });
    }
    if let Some(ship) = ship {
        (op["shipId"], op["version"]) = (json!(ship), json!(version));
    }
    if let Some(name) = [None, Some("Bertha"), Some("Clara")][upsert.name] {
        op["name"] = json!(name);
    }
    if upsert.place > 0 {
        op["location"] = json!({ "name": PLACES[upsert.place] });
    }
    if let Some(fitted) = upsert.fitted {
        op["fitted"] = json!(fitted);
    }
    match upsert.unit {
        1 => op["orgUnit"] = json!(null),
        2 => op["orgUnit"] = json!("u-1"),
        3 => op["orgUnit"] = json!("u-3"),
        _ => {}
    }
    if let Some(counter) = counter {
        op["orgUnitVersion"] = json!(counter);
    }
    with_field(op, "override", json!(upsert.overrule))
}

async fn run(acts: Vec<Action>) {
    let in_units = |units: &[&str]| Oracle {
        units: units.iter().map(|unit| (*unit).to_owned()).collect(),
        ..Oracle::default()
    };
    let oracles = [in_units(&["u-1"]), in_units(&["u-1", "u-2"])];
    let mut harness =
        ShipsModel { fixture: BackendFixture::unguarded().await, oracles, ids: vec!["nobodys".to_owned()] };
    let mut readers = readers().map(|(caller, member)| (reader(caller), member));
    for act in acts {
        let now = harness.fixture.clock.now();
        match act {
            Action::Write { who, wishes, dry } => harness.write(who, &wishes, dry).await,
            Action::Give { member, ship } => {
                let (id, other) = (harness.id(ship), 1 - member);
                let (from, to) = (MemberId::new(MEMBERS[member]), MemberId::new(MEMBERS[other]));
                let outcome = harness.fixture.backend().give_ship(&from, ChangeAuthor::Web, &id, &to).await;
                let removed = harness.oracles[member].remove_ship(&id, web_writer_of(member), now);
                assert_eq!(outcome.expect("the transfer succeeds"), removed.is_some());
                if let Some(removed) = removed {
                    harness.oracles[other].receive_ship(&id, removed);
                }
            }
            Action::Rename(number) => {
                let (unit, name) = (UnitId::new("u-1"), format!("Unit {number}"));
                let renamed = harness
                    .fixture
                    .backend()
                    .rename_unit(&unit, named(&name), named(&format!("U{number}")))
                    .await;
                assert!(renamed.expect("the renaming succeeds"));
            }
            Action::Units { member, bits } => {
                let units = UNITS.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
                harness.oracles[member].units = units.map(|(_, unit)| (*unit).to_owned()).collect();
                let member_id = MEMBERS[member];
                harness.fixture.sql(format!("DELETE FROM membership WHERE member = '{member_id}'")).await;
                for unit in &harness.oracles[member].units {
                    let sql =
                        format!("INSERT INTO membership (member, unit) VALUES ('{member_id}', '{unit}')");
                    harness.fixture.sql(sql).await;
                }
            }
            Action::Page { reader, limit } => {
                let (reader, member) = &mut readers[reader];
                if reader.page(&harness.fixture, limit).await {
                    assert_eq!(
                        reader.entries, harness.oracles[*member].ships,
                        "the reader is at the end of the feed"
                    );
                }
                continue;
            }
            Action::Advance(days) => harness.fixture.clock.advance(u32::from(days) * DAY),
            Action::Sweep => drop(harness.fixture.retain(3).await),
        }
        harness.check().await;
    }
    for (mut reader, member) in readers {
        reader.read_on(&harness.fixture, 3).await;
        assert_eq!(
            reader.entries, harness.oracles[member].ships,
            "the replica of {} differs",
            MEMBERS[member]
        );
    }
}

proptest! {
    #![proptest_config(cases(500))]

    /// SHP-03, SHP-05, SHP-07, SHP-08, SHP-09, SHP-10, SHP-12, SHP-13, SHP-14, SHP-15, SHP-16, SHP-17,
    /// SHP-18, SHP-19, FED-04, FED-06, WRT-02, WRT-04: the ships equal those of the interpreter (see the
    /// module documentation).
    #[test]
    fn ships_match_the_reference_interpreter(acts in prop::collection::vec(act(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("the runtime starts");
        runtime.block_on(run(acts));
    }
}
