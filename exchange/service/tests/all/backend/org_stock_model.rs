//! Model test of org stock: random interleavings of Logisticians, holders on the web pages, roles, names and
//! readers, compared with a direct interpreter of the eight ops. Every op and entry matches, no stock is lost
//! or negative, there is enough stock for reservations and offers, and every reader has exactly the data that
//! it may see.

mod oracle;

use std::collections::{BTreeMap, BTreeSet};

use exchange_api::Contract as _;
use exchange_api::types::StockChangeSet;
use exchange_service::backend::{EarmarkPurpose, StockOwnership};
use exchange_service::feed::ChangeAuthor;
use exchange_service::members::UnitRole;
use proptest::prelude::*;
use proptest::sample::select;

use super::org_stock::*;
use super::reader::Reader;
use super::stock::{LotKey, STOCK};
use super::*;
use crate::support::{cases, ops};
use oracle::{Entry, MEMBERS, MISSIONS, ModelRole, ORDERS, Op, Oracle, Shares, UNITS, format_amount, places};

/// An op before the existing entries to which it refers are chosen.
#[derive(Clone, Debug)]
struct OpTemplate {
    op: usize,
    entry: usize,
    /// The amount, in thousandths of SCU or in pieces.
    amount: i64,
    lot: usize,
    to_unit: usize,
    /// The index of the holder; the highest one is unknown.
    holder: usize,
    /// Bits that determine which earmarks are named, and how they are wrong.
    shares: u8,
    /// Bits: merge, stolen, whole entry, wrong unit, stale version. The last two apply only if a group of
    /// bits is set.
    flags: u8,
    note: Option<String>,
}

#[derive(Clone, Debug)]
enum Action {
    /// A write by member one with either client, or by member two.
    Write {
        who: usize,
        wishes: Vec<OpTemplate>,
        dry: bool,
    },
    /// A change by a holder through the web pages, where only lots are visible.
    Set {
        holder: usize,
        lot: usize,
        to: i64,
    },
    Rebook {
        holder: usize,
        lot: usize,
        to: usize,
    },
    Earmark {
        entry: usize,
        purpose: usize,
        target: usize,
        amount: i64,
    },
    Offer {
        entry: usize,
        amount: i64,
    },
    Role {
        member: usize,
        unit: usize,
        role: usize,
    },
    Withhold {
        member: usize,
        is_withheld: bool,
    },
    Rename {
        member: usize,
    },
    RenameMission {
        mission: usize,
    },
    Marking(bool),
    Page {
        reader: usize,
        limit: u8,
    },
    Own {
        limit: u8,
    },
    Advance(u8),
    Sweep,
}

fn wish() -> impl Strategy<Value = OpTemplate> {
    let amount = select(vec![0, 1, 2, 3, 4, 5, 1000, 1500, 2500, 7001, 40_000]);
    let note = select(vec![None, Some(" "), Some("note-a"), Some("note-b")]);
    let numbers = (0_usize..11, 0_usize..24, amount, 0_usize..10, 0_usize..2, 0_usize..4);
    (numbers, any::<u8>(), any::<u8>(), note).prop_map(|(numbers, shares, flags, note)| {
        let (op, entry, amount, lot, to_unit, holder) = numbers;
        let note = note.map(str::to_owned);
        OpTemplate { op, entry, amount, lot, to_unit, holder, shares, flags, note }
    })
}

fn act() -> impl Strategy<Value = Action> {
    let some = || select(vec![0, 1, 2, 3, 1000, 2500, 9000]);
    prop_oneof![
        12 => (0_usize..3, ops(wish), prop::bool::weighted(0.1))
            .prop_map(|(who, wishes, dry)| Action::Write { who, wishes, dry }),
        3 => (0_usize..3, 0_usize..10, some()).prop_map(|(holder, lot, to)| Action::Set { holder, lot, to }),
        3 => (0_usize..3, 0_usize..10, 0_usize..4).prop_map(|(holder, lot, to)| Action::Rebook { holder, lot, to }),
        4 => (0_usize..24, 0_usize..3, 0_usize..2, some())
            .prop_map(|(entry, purpose, target, amount)| Action::Earmark { entry, purpose, target, amount }),
        2 => (0_usize..24, some()).prop_map(|(entry, amount)| Action::Offer { entry, amount }),
        2 => (0_usize..3, 0_usize..2, 0_usize..4).prop_map(|(member, unit, role)| Action::Role { member, unit, role }),
        1 => (0_usize..3, any::<bool>()).prop_map(|(member, is_withheld)| Action::Withhold { member, is_withheld }),
        1 => (0_usize..3).prop_map(|member| Action::Rename { member }),
        1 => (0_usize..2).prop_map(|mission| Action::RenameMission { mission }),
        1 => any::<bool>().prop_map(Action::Marking),
        6 => (0_usize..4, 1_u8..4).prop_map(|(reader, limit)| Action::Page { reader, limit }),
        2 => (1_u8..4).prop_map(|limit| Action::Own { limit }),
        1 => select(vec![1, 45, 91]).prop_map(Action::Advance),
        1 => Just(Action::Sweep),
    ]
}

/// Returns a writer with its member.
fn writer(who: usize) -> (Caller, usize) {
    match who {
        0 => (first(), 0),
        1 => (other_client(), 0),
        _ => (other_member(), 1),
    }
}

/// Returns a reader with its member, and whether it sees entries.
fn reads(reader: usize) -> (Caller, usize, bool) {
    match reader {
        0 => (first(), 0, true),
        1 => (other_member(), 1, true),
        2 => (third_member(), 2, true),
        _ => {
            let mut narrow = other_client();
            narrow.scopes.remove("exchange.orgstock.details");
            (narrow, 0, false)
        }
    }
}

fn amount(lot_key: LotKey, amount: i64) -> Value {
    let number = if lot_key.is_counted() { json!(amount) } else { json!(amount as f64 / 1000.0) };
    quantity(lot_key, number)
}

/// The backend under test and the model's expected state.
struct OrgStockModel {
    fixture: BackendFixture,
    oracle: Oracle,
    /// The pseudonyms of each client.
    names: BTreeMap<(&'static str, usize), String>,
    renamed: usize,
}

impl OrgStockModel {
    async fn new() -> Self {
        let fixture = member_fixture().await;
        let mut oracle = Oracle {
            names: MEMBERS.map(|member| format!("Name-of-{}-0", &member[2..])).to_vec(),
            missions: vec!["Convoy".to_owned(), "Raid".to_owned()],
            ..Oracle::default()
        };
        fixture.sql("UPDATE member SET name = 'Name-of-' || substr(id, 3) || '-0'").await;
        for (member, unit) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)] {
            oracle
                .roles
                .insert((member, unit), if member == 0 { ModelRole::Logistician } else { ModelRole::Member });
        }
        let mut names = BTreeMap::new();
        for (client, caller) in [("c-1", first()), ("c-2", other_client())] {
            for member in 0..MEMBERS.len() {
                let name = &oracle.names[member];
                names.insert((client, member), reference(&fixture, &caller, "u-1", name).await);
            }
        }
        let pseudonyms: BTreeSet<&String> = names.values().collect();
        assert_eq!(pseudonyms.len(), 6, "two clients have the same pseudonym for a member");
        Self { fixture, oracle, names, renamed: 0 }
    }

    /// Creates an op that fits the current state.
    fn op(&self, wish: &OpTemplate) -> Op {
        let bit = |index: u8| wish.flags & (1 << index) != 0;
        let (merge, stolen, part) = (bit(0), bit(1), bit(2));
        let (wrong_unit, stale) = (bit(3) && bit(4) && bit(5), bit(5) && bit(6) && bit(7));
        let lot_key = places()[wish.lot];
        let unit = if wrong_unit { wish.to_unit } else { wish.entry % 2 };
        let known_entries: Vec<&Entry> =
            self.oracle.entries.iter().filter(|entry| !entry.id.is_empty()).collect();
        if wish.op < 3 || known_entries.is_empty() {
            let amount = if lot_key.is_counted() { wish.amount % 10 } else { wish.amount };
            let order = if lot_key.material == "ore" { "j-1" } else { ORDERS[wish.to_unit + 1] };
            let few = |share: u8| {
                if wish.shares & share != 0 { amount / 2 + i64::from(wish.shares & 64 != 0) } else { 0 }
            };
            let mut shares = Shares::default();
            if wish.shares & 1 != 0 {
                shares.jobs.push((order.to_owned(), few(1)));
            }
            for (mission, bit) in MISSIONS.iter().zip([2, 4]) {
                if wish.shares & bit != 0 {
                    shares.missions.push(((*mission).to_owned(), few(bit)));
                }
            }
            let holder = (wish.holder < 3).then_some(wish.holder);
            return Op::BookIn { unit, holder, at: lot_key, amount, note: wish.note.clone(), shares, merge };
        }
        let from = known_entries[wish.entry % known_entries.len()];
        let unit = if wrong_unit { wish.to_unit } else { from.unit.unwrap_or(wish.to_unit) };
        let (entry, version) = (from.id.clone(), from.version + if stale { 1 } else { 0 });
        let amount = match wish.amount {
            40_000 => from.amount,
            amount if from.at.is_counted() => amount % 10,
            amount => amount,
        };
        let mut shares = Shares::default();
        let some = |has: &BTreeMap<String, i64>, bit: u8| -> Vec<(String, i64)> {
            let named_targets = has.iter().filter(|_| wish.shares & bit != 0);
            let over = i64::from(wish.shares & 0b111_0000 == 0b111_0000);
            named_targets.map(|(target, earmarked)| (target.clone(), amount.min(*earmarked) + over)).collect()
        };
        shares.jobs = some(&from.jobs, 1);
        shares.missions = some(&from.missions, 2);
        if wish.shares & 0b1100_1000 == 0b1100_1000 {
            shares.missions.push(("mi-2".to_owned(), 0));
        }
        let (to_unit, holder) = (wish.to_unit, (wish.holder < 3).then_some(wish.holder));
        match wish.op {
            3 | 4 => Op::BookOut { unit, entry, version, amount, shares },
            5 => Op::Sell { unit, entry, version, amount, shares, proceeds: i64::from(wish.flags) * 997 },
            6 => {
                let place = [Some("City"), Some("Station"), Some("Station"), None][wish.holder];
                Op::MoveLocation { unit, entry, version, amount, shares, place, merge }
            }
            7 => Op::MoveHolder { unit, entry, version, amount, shares, to_unit, holder, merge },
            8 => Op::MovePool { unit, entry, version, amount: part.then_some(amount), to_unit, merge },
            9 => Op::Note { unit, entry, version, note: wish.note.clone() },
            _ => Op::Stolen { unit, entry, version, stolen, amount: part.then_some(amount) },
        }
    }

    /// Converts the op to the contract's JSON; `measured` is a lot with the unit of its amount.
    fn json(&self, client: &'static str, op: &Op, measured: LotKey) -> Value {
        let name = |holder: &Option<usize>| match holder {
            Some(holder) => json!(self.names[&(client, *holder)]),
            // No member has this pseudonym for this client.
            None => json!(self.names[&(if client == "c-1" { "c-2" } else { "c-1" }, 0)]),
        };
        let location = |place: &Option<&str>| json!({ "name": place.unwrap_or("Cellar") });
        let named = |op: &str, unit: &usize, entry: &str, version: &i64| json!({ "op": op, "unit": UNITS[*unit], "entry": entry, "version": version });
        let set_fields = |mut op: Value, list: &[(&str, Value)]| {
            list.iter().for_each(|(name, value)| op[*name] = value.clone());
            op
        };
        let parts = |target_field: &str, list: &[(String, i64)]| -> Value {
            list.iter()
                .map(|(target, part)| json!({ target_field: target, "quantity": amount(measured, *part) }))
                .collect()
        };
        let taken = |shares: &Shares| {
            [
                ("fromJobOrders", parts("jobOrder", &shares.jobs)),
                ("fromMissions", parts("mission", &shares.missions)),
            ]
        };
        match op {
            Op::BookIn { unit, holder, at: lot, amount: how_much, note, shares, merge } => {
                let op = json!({
                    "op": "book-in", "unit": UNITS[*unit], "holder": name(holder), "material": { "bt": lot.material },
                    "location": { "name": lot.place }, "quality": lot.quality, "stolen": lot.stolen,
                    "quantity": amount(*lot, *how_much), "mergeScu": merge,
                    "jobOrders": parts("jobOrder", &shares.jobs), "missions": parts("mission", &shares.missions),
                });
                if let Some(note) = note { set_fields(op, &[("note", json!(note))]) } else { op }
            }
            Op::BookOut { unit, entry, version, amount: part, shares } => {
                let op = set_fields(named("book-out", unit, entry, version), &taken(shares));
                set_fields(op, &[("quantity", amount(measured, *part))])
            }
            Op::Sell { unit, entry, version, amount: part, shares, proceeds } => {
                let op = set_fields(named("sell", unit, entry, version), &taken(shares));
                let sale = [("terminal", json!("Port")), ("proceeds", json!(proceeds))];
                set_fields(set_fields(op, &sale), &[("quantity", amount(measured, *part))])
            }
            Op::MoveLocation { unit, entry, version, amount: part, shares, place, merge } => {
                let op = set_fields(named("move-location", unit, entry, version), &taken(shares));
                let destination = [
                    ("location", location(place)),
                    ("mergeScu", json!(merge)),
                    ("quantity", amount(measured, *part)),
                ];
                set_fields(op, &destination)
            }
            Op::MoveHolder { unit, entry, version, amount: part, shares, to_unit, holder, merge } => {
                let op = set_fields(named("move-holder", unit, entry, version), &taken(shares));
                let destination = [
                    ("toUnit", json!(UNITS[*to_unit])),
                    ("holder", name(holder)),
                    ("mergeScu", json!(merge)),
                ];
                set_fields(set_fields(op, &destination), &[("quantity", amount(measured, *part))])
            }
            Op::MovePool { unit, entry, version, amount: part, to_unit, merge } => {
                let op = named("move-pool", unit, entry, version);
                let op = set_fields(op, &[("toUnit", json!(UNITS[*to_unit])), ("mergeScu", json!(merge))]);
                if let Some(part) = part {
                    set_fields(op, &[("quantity", amount(measured, *part))])
                } else {
                    op
                }
            }
            Op::Note { unit, entry, version, note } => {
                let op = named("note", unit, entry, version);
                if let Some(note) = note { set_fields(op, &[("note", json!(note))]) } else { op }
            }
            Op::Stolen { unit, entry, version, stolen, amount: part } => {
                let op = set_fields(named("stolen", unit, entry, version), &[("stolen", json!(stolen))]);
                if let Some(part) = part {
                    set_fields(op, &[("quantity", amount(measured, *part))])
                } else {
                    op
                }
            }
        }
    }

    /// Sends a change set and compares the result of each op with the interpreter's.
    async fn write(&mut self, who: usize, wishes: &[OpTemplate], dry: bool) {
        let (caller, member) = writer(who);
        let client = if who == 1 { "c-2" } else { "c-1" };
        let before = self.oracle.clone();
        let (mut ops, mut expected, mut balance) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (index, wish) in wishes.iter().enumerate() {
            let op = self.op(wish);
            let (id, change) = match &op {
                Op::BookIn { at, amount, .. } => {
                    ops.push(self.json(client, &op, *at));
                    (None, (*at, *amount))
                }
                Op::BookOut { entry, amount, .. } | Op::Sell { entry, amount, .. } => {
                    (Some(entry), (places()[0], -amount))
                }
                Op::MoveLocation { entry, .. }
                | Op::MoveHolder { entry, .. }
                | Op::MovePool { entry, .. } => (Some(entry), (places()[0], 0)),
                Op::Note { entry, .. } | Op::Stolen { entry, .. } => (Some(entry), (places()[0], 0)),
            };
            let mut at = change.0;
            if let Some(id) = id {
                let own = self.oracle.entries.iter().find(|entry| entry.id == *id).expect("the entry exists");
                at = own.at;
                ops.push(self.json(client, &op, own.at));
            }
            match self.oracle.op(member, &op) {
                Ok(()) => *balance.entry(at.material).or_insert(0) += change.1,
                Err(end) => expected.push((index as u64, end.to_owned())),
            }
        }
        self.oracle.settle();
        let body = json!({ "ops": ops, "dryRun": dry });
        let sums = self.sums().await;
        let result = self.fixture.post(&caller, CHANGE, body.clone()).await;
        assert_eq!(result.outcomes(), expected, "{body:#}");
        assert_eq!(result.counts().0 as usize, wishes.len() - expected.len());
        if dry {
            self.oracle = before;
            balance.clear();
        }
        let notices = std::mem::take(&mut self.oracle.sent_notices);
        let expected_notices: Vec<String> =
            notices.iter().map(|(member, kind)| format!("{} {kind}", MEMBERS[*member])).collect();
        assert_eq!(
            self.texts("SELECT member || ' ' || kind FROM notice ORDER BY member, kind").await,
            expected_notices
        );
        self.fixture.sql("DELETE FROM notice").await;
        let mut after = sums;
        for (material, difference) in balance {
            *after.entry(material.to_owned()).or_default() += difference;
        }
        after.retain(|_, sum| *sum != 0);
        assert_eq!(self.sums().await, after, "the totals are unchanged");
    }

    async fn texts(&self, sql: &str) -> Vec<String> {
        let rows = self.fixture.rows(sql).await;
        rows.iter().map(|row| row.trim_start_matches("Text(\"").trim_end_matches("\")").to_owned()).collect()
    }

    /// Returns the total stock of each material, personal and in pools.
    async fn sums(&self) -> BTreeMap<String, i64> {
        let rows = self.texts("SELECT material || ' ' || sum(amount) FROM stock_row GROUP BY material").await;
        let one = |row: String| {
            let (material, sum) = row.split_once(' ').expect("two words");
            (material.to_owned(), sum.parse().expect("a number"))
        };
        rows.into_iter().map(one).collect()
    }

    /// Chooses an entry that is in a pool.
    fn pick(&self, entry: usize) -> Option<usize> {
        let pool: Vec<usize> = (0..self.oracle.entries.len())
            .filter(|index| self.oracle.entries[*index].unit.is_some())
            .collect();
        (!pool.is_empty()).then(|| pool[entry % pool.len()])
    }

    async fn act(&mut self, act: Action) {
        let (backend, web) = (self.fixture.backend().clone(), ChangeAuthor::Web);
        let id = |member: usize| MemberId::new(MEMBERS[member]);
        match act {
            Action::Write { who, wishes, dry } => self.write(who, &wishes, dry).await,
            Action::Set { holder, lot, to } => {
                let lot_key = places()[lot];
                let to = if lot_key.is_counted() { to % 10 } else { to };
                let own = |entry: &&Entry| entry.holder == holder && entry.at == lot_key;
                let held: i64 = self.oracle.entries.iter().filter(own).map(|entry| entry.amount).sum();
                let mut op = lot_key.set(0, 0);
                (op["expectedQuantity"], op["quantity"]) = (amount(lot_key, held), amount(lot_key, to));
                let body = json!({ "ops": [op] }).to_string();
                let body = StockChangeSet::parse_valid(body.as_bytes()).expect("a valid change set");
                let changed =
                    backend.change_stock(&id(holder), web, body).await.expect("the change succeeds");
                let end = changed.results.iter().flatten().next().map_or_else(String::new, |one| {
                    format!(
                        "{} {}",
                        one.result,
                        one.reason.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string)
                    )
                });
                assert_eq!(end, self.oracle.set(holder, lot_key, to).err().unwrap_or_default());
            }
            Action::Rebook { holder, lot, to } => {
                let lot_key = places()[lot];
                let (keeping, unit) = match to {
                    0 => (StockOwnership::Personal, None),
                    1 => (StockOwnership::Shared, None),
                    to => (StockOwnership::Pool(UNITS[to - 2].into()), Some(to - 2)),
                };
                let place = if lot_key.place == "City" { "l-1" } else { "l-2" };
                let sql = format!(
                    "SELECT lot FROM stock_row WHERE member = '{}' AND material = '{}' AND location = '{place}' \
                     AND quality = {} AND stolen = {} LIMIT 1",
                    MEMBERS[holder], lot_key.material, lot_key.quality, lot_key.stolen
                );
                let Some(key) = self.texts(&sql).await.into_iter().next() else { return };
                assert!(
                    backend
                        .rebook_stock(&id(holder), web, &key, keeping)
                        .await
                        .expect("the rebooking succeeds")
                );
                for entry in &mut self.oracle.entries {
                    let is = (entry.unit, entry.shared) == (unit, to > 0);
                    if entry.holder == holder && entry.at == lot_key && !is {
                        (entry.unit, entry.shared, entry.version) = (unit, to > 0, entry.version + 1);
                    }
                }
            }
            Action::Earmark { entry, purpose, target, amount } => {
                let Some(lot_key) = self.pick(entry) else { return };
                let entry = &mut self.oracle.entries[lot_key];
                let mut marked = entry.clone();
                let (purpose, target) = match purpose {
                    0 => (EarmarkPurpose::JobOrder, ORDERS[target]),
                    1 => (EarmarkPurpose::Mission, MISSIONS[target]),
                    _ => (EarmarkPurpose::Donation, "donation-secret"),
                };
                match purpose {
                    EarmarkPurpose::JobOrder => drop(marked.jobs.insert(target.to_owned(), amount)),
                    EarmarkPurpose::Mission => drop(marked.missions.insert(target.to_owned(), amount)),
                    EarmarkPurpose::Donation => marked.donated = amount,
                }
                marked.jobs.retain(|_, amount| *amount > 0);
                marked.missions.retain(|_, amount| *amount > 0);
                let fits = marked.standing() <= marked.amount;
                let done = backend.earmark_stock(&id(0), web, &entry.id, (purpose, target), amount).await;
                assert_eq!(done.expect("earmarking succeeds"), fits);
                if fits && marked != *entry {
                    *entry = Entry { version: marked.version + 1, ..marked };
                }
            }
            Action::Offer { entry, amount } => {
                let Some(lot_key) = self.pick(entry) else { return };
                let entry = &mut self.oracle.entries[lot_key];
                if entry.offer == 0 && amount > 0 && amount <= entry.amount {
                    entry.offer = amount;
                    let sql = format!("INSERT INTO stock_offer VALUES ('{0}-o', '{0}', {amount})", entry.id);
                    self.fixture.sql(sql).await;
                }
            }
            Action::Role { member, unit, role } => {
                let roles =
                    [None, Some(UnitRole::Member), Some(UnitRole::Logistician), Some(UnitRole::Leader)];
                let had_role = self.oracle.roles.remove(&(member, unit));
                let set = backend.set_role(&id(member), &UNITS[unit].into(), roles[role]).await;
                assert_eq!(set.expect("the role can be set"), had_role.is_some() || role > 0);
                match role {
                    0 => None,
                    1 => self.oracle.roles.insert((member, unit), ModelRole::Member),
                    _ => self.oracle.roles.insert((member, unit), ModelRole::Logistician),
                };
            }
            Action::Withhold { member, is_withheld } => {
                let is = if is_withheld {
                    self.oracle.withheld.insert(member)
                } else {
                    self.oracle.withheld.remove(&member)
                };
                assert_eq!(
                    backend.withhold_name(&id(member), is_withheld).await.expect("the change succeeds"),
                    is
                );
            }
            Action::Rename { member } => {
                self.renamed += 1;
                let name = format!("Name-of-{}-{}", &MEMBERS[member][2..], self.renamed);
                assert!(
                    backend.rename_member(&id(member), named(&name)).await.expect("the renaming succeeds")
                );
                self.oracle.names[member] = name;
            }
            Action::RenameMission { mission } => {
                self.renamed += 1;
                let name = format!("Mission {}", self.renamed);
                assert!(
                    backend
                        .rename_mission(MISSIONS[mission], named(&name))
                        .await
                        .expect("the renaming succeeds")
                );
                self.oracle.missions[mission] = name;
            }
            Action::Marking(is_enabled) => {
                self.oracle.no_marking = !is_enabled;
                let value = if is_enabled { "on" } else { "off" };
                let sql = format!(
                    "INSERT INTO setting (name, value) VALUES ('stolen-marking', '{value}') \
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value"
                );
                self.fixture.sql(sql).await;
            }
            Action::Advance(days) => self.fixture.clock.advance(u32::from(days) * DAY),
            Action::Sweep => drop(self.fixture.retain(3).await),
            Action::Page { .. } | Action::Own { .. } => unreachable!("the caller handles actions of readers"),
        }
    }

    /// Compares every row with the interpreter's, and stores the ids of new rows in the model.
    async fn settle(&mut self) {
        let rows = self.fixture.store.read(|connection| {
            let mut rows = connection.prepare(
                "SELECT r.id, r.number, r.member, r.material, r.location, r.quality, r.stolen, r.unit, r.shared, \
                 r.amount, r.version, r.note, r.booked_at, coalesce(o.amount, 0) FROM stock_row r \
                 LEFT JOIN stock_offer o ON o.stock_row = r.id ORDER BY r.number",
            )?;
            let mut marks = connection.prepare("SELECT kind, target, amount FROM stock_earmark WHERE stock_row = ?1")?;
            let mut rows = rows.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let (member, material): (String, String) = (row.get(2)?, row.get(3)?);
                let (place, quality): (String, i64) = (row.get(4)?, row.get(5)?);
                let place = if place == "l-1" { "City" } else { "Station" };
                let stolen: bool = row.get(6)?;
                let matches_lot = |lot_key: &&LotKey| (lot_key.material, lot_key.quality, lot_key.stolen) == (&*material, quality, stolen);
                let unit: Option<String> = row.get(7)?;
                let mut entry = Entry {
                    id: row.get(0)?,
                    number: row.get(1)?,
                    holder: MEMBERS.iter().position(|one| *one == member).expect("a known member"),
                    at: places().iter().find(matches_lot).expect("the lot exists").place(place),
                    unit: unit.map(|unit| UNITS.iter().position(|one| *one == unit).expect("a known unit")),
                    shared: row.get(8)?,
                    amount: row.get(9)?,
                    version: row.get(10)?,
                    note: row.get(11)?,
                    jobs: BTreeMap::new(),
                    missions: BTreeMap::new(),
                    donated: 0,
                    offer: row.get(13)?,
                    booked: row.get(12)?,
                };
                let mut marks = marks.query([&entry.id])?;
                while let Some(mark) = marks.next()? {
                    let (kind, target, amount): (String, String, i64) = (mark.get(0)?, mark.get(1)?, mark.get(2)?);
                    match kind.as_str() {
                        "job-order" => drop(entry.jobs.insert(target, amount)),
                        "mission" => drop(entry.missions.insert(target, amount)),
                        _ => entry.donated = amount,
                    }
                }
                found.push(entry);
            }
            Ok::<_, StoreError>(found)
        });
        let mut rows = rows.await.expect("the read succeeds");
        assert_eq!(rows.len(), self.oracle.entries.len(), "{rows:#?}\n{:#?}", self.oracle.entries);
        for entry in &mut self.oracle.entries {
            let matches_row = |row: &Entry| match entry.id.as_str() {
                "" => Entry { id: String::new(), number: i64::MAX, ..row.clone() } == *entry,
                id => row.id == id,
            };
            let lot_key =
                rows.iter().position(matches_row).unwrap_or_else(|| panic!("no {entry:#?} in {rows:#?}"));
            let row = rows.remove(lot_key);
            (entry.id, entry.number) = (row.id.clone(), row.number);
            assert_eq!(row, *entry);
            assert!(row.amount > 0 && row.standing() <= row.amount && row.offer <= row.amount, "{row:?}");
        }
    }

    /// Asserts that each reader sees exactly the data that it may see.
    async fn check(&self) {
        for reader in 0..4 {
            let (caller, member, details) = reads(reader);
            let response = self.fixture.get(&caller, &format!("{POOLS}?limit=1000")).await;
            let items = response.body["items"].as_array().expect("an array");
            let mut shown_lots: Vec<String> = items.iter().map(format_pool_lot).collect();
            shown_lots.sort();
            assert_eq!(shown_lots, self.oracle.view(member, details), "{reader}");
            self.is_private(reader, &String::from_utf8(response.bytes).expect("valid UTF-8"));
            for entry in items.iter().filter_map(|lot| lot["entries"].as_array()).flatten() {
                let Some(name) = entry["holder"]["name"].as_str() else { continue };
                let holder = self.oracle.names.iter().position(|one| one == name).expect("a known member");
                let client = if caller.client.as_str() == "c-1" { "c-1" } else { "c-2" };
                assert_eq!(entry["holder"]["ref"], self.names[&(client, holder)]);
            }
        }
    }

    /// Asserts that a page contains no string that the reader must not receive.
    fn is_private(&self, reader: usize, page: &str) {
        let (caller, member, details) = reads(reader);
        let mut secrets = vec!["donation-secret".to_owned()];
        secrets.extend(MEMBERS.map(|member| format!("\"{member}\"")));
        secrets.extend(self.oracle.withheld.iter().map(|member| self.oracle.names[*member].clone()));
        let others = self.names.iter().filter(|((client, _), _)| *client != caller.client.as_str());
        secrets.extend(others.map(|(_, name)| name.clone()));
        let role_in = |unit: usize| self.oracle.roles.get(&(member, unit));
        if !details || (0..UNITS.len()).all(|unit| role_in(unit) != Some(&ModelRole::Logistician)) {
            secrets
                .extend(["Name-of", "note-", "holder", "Mission ", "Convoy", "\"j-1\""].map(str::to_owned));
        }
        let names = ["First Unit", "Second Unit"];
        secrets.extend(
            (0..UNITS.len()).filter(|unit| role_in(*unit).is_none()).map(|unit| names[unit].to_owned()),
        );
        for secret in secrets {
            assert!(!page.contains(&secret), "{reader} reads {secret}: {page}");
        }
        // OST-12: the ids of a withheld holder's entries have nothing in common.
        let page: Value = serde_json::from_str(page).expect("valid JSON");
        let lots = page["items"].as_array().into_iter().flatten();
        let entries = lots.filter_map(|lot| lot["entries"].as_array()).flatten();
        let withheld = entries.filter(|entry| entry["holder"]["withheld"] == true);
        let mut heads = BTreeSet::new();
        for id in withheld.map(|entry| entry["id"].as_str().expect("a string")) {
            assert!(heads.insert(&id[..8]), "{reader} receives two ids that begin with {}", &id[..8]);
        }
    }

    /// Returns the sums of a member's holdings, as the member sees them.
    fn own(&self, holder: usize) -> BTreeMap<String, String> {
        let mut sums: BTreeMap<LotKey, i64> = BTreeMap::new();
        for entry in self.oracle.entries.iter().filter(|entry| entry.holder == holder) {
            *sums.entry(entry.at).or_default() += entry.amount;
        }
        let one = |(lot_key, sum): (LotKey, i64)| {
            (
                format!("{} {} {} {}", lot_key.material, lot_key.place, lot_key.quality, lot_key.stolen),
                format_amount(lot_key, sum),
            )
        };
        sums.into_iter().map(one).collect()
    }
}

fn pool_reader(reader: usize) -> Reader<String> {
    let entry = |item: &Value| (item["key"].as_str().expect("a string").to_owned(), format_pool_lot(item));
    let keeps = |lot: &String, page: &Value| {
        let units = page["units"].as_array().expect("an array");
        units.iter().any(|unit| lot.starts_with(&format!("{} ", unit["id"].as_str().expect("a string"))))
    };
    Reader::new(reads(reader).0, POOLS, entry).keeping(keeps)
}

fn own_reader() -> Reader<(String, String)> {
    let entry = |item: &Value| {
        let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).expect("a string");
        let lot = format!(
            "{} {} {} {}",
            text("/material/bt"),
            text("/location/name"),
            item["quality"],
            item["stolen"]
        );
        (text("/key").to_owned(), (lot, item["quantity"]["amount"].to_string()))
    };
    Reader::new(other_member(), STOCK, entry)
}

fn has(reader: &Reader<String>) -> Vec<String> {
    let mut lots: Vec<String> = reader.entries.values().cloned().collect();
    lots.sort();
    lots
}

async fn run(acts: Vec<Action>) {
    let mut harness = OrgStockModel::new().await;
    let mut readers: Vec<Reader<String>> = (0..4).map(pool_reader).collect();
    let mut own = own_reader();
    for act in acts {
        harness.fixture.clock.advance(Duration::from_secs(1));
        harness.oracle.now = harness.fixture.clock.now().as_millis();
        match act {
            Action::Page { reader, limit } => {
                let (_, member, details) = reads(reader);
                let up_to_now = readers[reader].page(&harness.fixture, limit).await;
                harness.is_private(reader, &readers[reader].last);
                if up_to_now {
                    assert_eq!(
                        has(&readers[reader]),
                        harness.oracle.view(member, details),
                        "the reader is at the end of the feed"
                    );
                }
                continue;
            }
            Action::Own { limit } => {
                if own.page(&harness.fixture, limit).await {
                    assert_eq!(own.entries.values().cloned().collect::<BTreeMap<_, _>>(), harness.own(1));
                }
                continue;
            }
            act => harness.act(act).await,
        }
        harness.settle().await;
        harness.check().await;
    }
    for (reader, replica) in readers.iter_mut().enumerate() {
        let (_, member, details) = reads(reader);
        replica.read_on(&harness.fixture, 3).await;
        assert_eq!(has(replica), harness.oracle.view(member, details), "a replica");
    }
    own.read_on(&harness.fixture, 3).await;
    assert_eq!(own.entries.values().cloned().collect::<BTreeMap<_, _>>(), harness.own(1));
    let income =
        harness.texts("SELECT mission || ' ' || sum(amount) FROM mission_income GROUP BY mission").await;
    harness.oracle.income.retain(|_, sum| *sum > 0);
    let expected: Vec<String> =
        harness.oracle.income.iter().map(|(mission, sum)| format!("{mission} {sum}")).collect();
    assert_eq!(income, expected);
    let proceeds = harness.fixture.rows("SELECT coalesce(sum(proceeds), 0) FROM stock_sale").await;
    assert_eq!(proceeds, [format!("Integer({})", harness.oracle.proceeds)]);
}

proptest! {
    #![proptest_config(cases(500))]

    /// OST-01, OST-02, OST-03, OST-05, OST-06, OST-07, OST-08, OST-09, OST-11, OST-12, OST-13, OST-17, OST-19
    /// to OST-29, OST-31 to OST-39, A14, A15, A34, FED-04, FED-06, WRT-02, WRT-04: the pools equal those of
    /// the interpreter (see the module documentation).
    #[test]
    fn pools_match_the_reference_interpreter(acts in prop::collection::vec(act(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("the runtime starts");
        runtime.block_on(run(acts));
    }
}
