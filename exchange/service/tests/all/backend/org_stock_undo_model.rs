//! Model test of the undo of org stock, with random changes by Logisticians and holders before, between and
//! after. Undoing moves and sales never changes the totals of stock and sales, conflicting entries are not
//! changed, there is enough stock for reservations and offers, and readers have all data. Without other
//! authors, the state equals the one before the client's first op. Changes in both areas are undone back from
//! the last change set, regardless of earlier undos.

use std::collections::{BTreeMap, BTreeSet};

use exchange_service::backend::EarmarkPurpose;
use exchange_service::backend::undo::{UndoArea, UndoAuthority, UndoMode, UndoProcess, UndoSelection};
use exchange_service::feed::ChangeAuthor;
use proptest::prelude::*;
use proptest::sample::select;
use serde::Deserialize;

use super::org_stock::*;
use super::org_stock_writes::{build_op, build_partial_op};
use super::reader::Reader;
use super::stock::{LotKey, ORE, PARTS, SET, with_field};
use super::*;
use crate::support::cases;

const PLACES: [&str; 2] = ["City", "Station"];
const UNITS: [&str; 2] = ["u-1", "u-2"];
const HOLDERS: [&str; 3] = ["One", "Two", "Three"];

#[derive(Clone, Debug)]
struct OpTemplate {
    op: usize,
    entry: usize,
    /// The quarters of the entry's amount to take, rounded up to a minimum amount.
    quarters: i64,
    unit: usize,
    holder: usize,
    place: usize,
    merge: bool,
    /// Whether the earmarked amount is taken as well.
    shares: bool,
    stolen: bool,
    counted: bool,
}

#[derive(Clone, Debug)]
enum Action {
    /// A write for the first member by the client to undo (on two installations) or by another client, or by
    /// the second member.
    Write {
        who: usize,
        wishes: Vec<OpTemplate>,
    },
    Earmark {
        entry: usize,
        mission: bool,
    },
    Offer {
        entry: usize,
    },
    /// A holder sets the amount of a lot through the web pages.
    Set {
        holder: usize,
        place: usize,
        counted: bool,
        to: i64,
    },
    /// The client to undo marks up to an amount of the first member's stock as stolen or as not stolen.
    Mark {
        who: usize,
        lot: OwnLot,
    },
    /// The third member joins or leaves, or a job order is completed or reopened.
    Turn(usize),
    Undo {
        from: u8,
        to: u8,
        administrator: bool,
        /// Whether stock is undone together with org stock.
        both: bool,
    },
    Page(u8),
}

fn wish() -> impl Strategy<Value = OpTemplate> {
    let numbers = (0_usize..9, 0_usize..24, 1_i64..5, 0_usize..2, 0_usize..3, 0_usize..2);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (numbers, flags).prop_map(
        |((op, entry, quarters, unit, holder, place), (merge, shares, stolen, counted))| OpTemplate {
            op,
            entry,
            quarters,
            unit,
            holder,
            place,
            merge,
            shares,
            stolen,
            counted,
        },
    )
}

fn act() -> impl Strategy<Value = Action> {
    let wishes = || prop::collection::vec(wish(), 1..7);
    prop_oneof![
        10 => (0_usize..4, wishes()).prop_map(|(who, wishes)| Action::Write { who, wishes }),
        2 => (0_usize..24, any::<bool>()).prop_map(|(entry, mission)| Action::Earmark { entry, mission }),
        1 => (0_usize..24).prop_map(|entry| Action::Offer { entry }),
        1 => (0_usize..2, 0_usize..2, any::<bool>(), 0_i64..9)
            .prop_map(|(holder, place, counted, to)| Action::Set { holder, place, counted, to }),
        3 => (0_usize..2, own()).prop_map(|(who, lot)| Action::Mark { who, lot }),
        1 => (0_usize..4).prop_map(Action::Turn),
        4 => (0_u8..20, 0_u8..6, any::<bool>(), any::<bool>())
            .prop_map(|(from, to, administrator, both)| Action::Undo { from, to, administrator, both }),
        2 => (1_u8..4).prop_map(Action::Page),
    ]
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    version: i64,
    amount: i64,
    unit: String,
    material: String,
    jobs: BTreeMap<String, i64>,
    missions: BTreeMap<String, i64>,
}

impl Entry {
    fn lot_key(&self) -> LotKey {
        if self.material == "parts" { PARTS } else { ORE }
    }

    fn one(&self) -> i64 {
        if self.lot_key().is_counted() { 1 } else { 1000 }
    }
}

/// A lot of the first member with its target amount.
#[derive(Clone, Debug)]
struct OwnLot {
    place: usize,
    counted: bool,
    stolen: bool,
    to: i64,
}

impl OwnLot {
    fn lot_key(&self) -> LotKey {
        let lot_key = if self.counted { PARTS } else { ORE }.place(PLACES[self.place]);
        if self.stolen { lot_key.stolen() } else { lot_key }
    }
}

fn own() -> impl Strategy<Value = OwnLot> {
    (0_usize..2, any::<bool>(), any::<bool>(), 0_i64..12).prop_map(|(place, counted, stolen, to)| OwnLot {
        place,
        counted,
        stolen,
        to,
    })
}

/// A change set of the client, for the member's stock or for pools.
#[derive(Clone, Debug)]
enum Set {
    OwnLot(OwnLot),
    Pools(Vec<OpTemplate>),
}

struct OrgStockUndoModel {
    fixture: BackendFixture,
    /// The pseudonyms of members for each client, by name.
    holders: BTreeMap<&'static str, BTreeMap<&'static str, String>>,
}

fn caller_of(who: usize) -> Caller {
    [first(), second(), other_client(), other_member()][who].clone()
}

const UNDONE: [usize; 2] = [0, 1];

impl OrgStockUndoModel {
    async fn new() -> Self {
        let fixture = member_fixture().await;
        fixture.sql("UPDATE membership SET logistician = 1 WHERE member = 'm-2'").await;
        let mut holders: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (client, caller) in [("c-1", first()), ("c-2", other_client())] {
            for name in HOLDERS {
                let reference = reference(&fixture, &caller, "u-1", name).await;
                holders.entry(client).or_default().insert(name, reference);
            }
        }
        Self { fixture, holders }
    }

    async fn entries(&self) -> Vec<Entry> {
        let marks = |kind: &str| {
            format!(
                "(SELECT json_group_object(target, amount) FROM stock_earmark WHERE stock_row = r.id AND kind = '{kind}')"
            )
        };
        let sql = format!(
            "SELECT json_object('id', id, 'version', version, 'amount', amount, 'unit', unit, 'material', material, \
             'jobs', json({}), 'missions', json({})) \
             FROM stock_row r WHERE unit IS NOT NULL ORDER BY number",
            marks("job-order"),
            marks("mission")
        );
        let read = |row: &String| {
            let text = row.strip_prefix("Text(").and_then(|text| text.strip_suffix(')')).expect("a string");
            let text: String = serde_json::from_str(text).expect("valid JSON");
            serde_json::from_str(&text).expect("valid JSON")
        };
        self.fixture.rows(sql).await.iter().map(read).collect()
    }

    /// Returns the total stock and sales of each material.
    async fn sums(&self) -> Vec<String> {
        let sql = "SELECT material, sum(amount) FROM (SELECT material, amount FROM stock_row \
                   UNION ALL SELECT material, amount FROM stock_sale) GROUP BY material ORDER BY material";
        self.fixture.rows(sql).await
    }

    /// Returns pools and sales without versions, ages and offers, as lines.
    async fn stored(&self) -> Vec<String> {
        let sql = "SELECT id, member, lot, pool_lot, amount, unit, note FROM stock_row ORDER BY id";
        let mut lines = self.fixture.rows(sql).await;
        for table in
            ["stock_earmark ORDER BY 1, 2, 3", "stock_sale ORDER BY id", "mission_income ORDER BY 1, 2"]
        {
            lines.extend(self.fixture.rows(format!("SELECT * FROM {table}")).await);
        }
        lines
    }

    async fn write(&self, who: usize, wishes: &[OpTemplate], moves_only: bool) {
        let names = &self.holders[if who == 2 { "c-2" } else { "c-1" }];
        let mut entries = self.entries().await;
        let mut ops = Vec::new();
        for wish in wishes {
            let holder = &names[HOLDERS[wish.holder]];
            if !moves_only && (wish.op == 0 || entries.is_empty()) {
                let lot_key = if wish.counted { PARTS } else { ORE }.place(PLACES[wish.place]);
                let lot_key = if wish.stolen { lot_key.stolen() } else { lot_key };
                ops.push(with_field(
                    book_in(UNITS[wish.unit], holder, lot_key, 4 * wish.quarters),
                    "mergeScu",
                    json!(wish.merge),
                ));
                continue;
            }
            if entries.is_empty() {
                continue;
            }
            let lot_key = wish.entry % entries.len();
            let Entry { id, version, amount, unit, jobs, missions, .. } = &entries[lot_key];
            let (lot, one) = (entries[lot_key].lot_key(), entries[lot_key].one());
            let quantity_of = |amount: i64| quantity(lot, amount / one);
            let requested = (amount * wish.quarters / 4 / one * one).max(one);
            let named = (id.clone(), *version);
            let part = |op: &str| {
                let shares = |target_field: &str, marks: &BTreeMap<String, i64>| {
                    let marks = marks.iter().filter(|_| wish.shares);
                    let share = |(target, has): (&String, &i64)| json!({ target_field: target, "quantity": quantity_of((*has).min(requested)) });
                    Value::Array(marks.map(share).collect())
                };
                let op = build_partial_op(op, unit, &named, lot, requested / one);
                with_field(
                    with_field(op, "fromJobOrders", shares("jobOrder", jobs)),
                    "fromMissions",
                    shares("mission", missions),
                )
            };
            let merged = |op: Value| with_field(op, "mergeScu", json!(wish.merge));
            let to_unit = |op: Value| with_field(op, "toUnit", json!(UNITS[wish.unit]));
            let op = match wish.op {
                0 | 1 if !moves_only => part("book-out"),
                0..=2 => with_field(
                    with_field(part("sell"), "terminal", json!("Port")),
                    "proceeds",
                    json!(wish.quarters * 1001),
                ),
                3 | 4 => merged(with_field(
                    part("move-location"),
                    "location",
                    json!({ "name": PLACES[wish.place] }),
                )),
                5 => merged(with_field(to_unit(part("move-holder")), "holder", json!(holder))),
                6 if wish.shares => merged(to_unit(build_op("move-pool", unit, &named))),
                6 => merged(to_unit(build_partial_op("move-pool", unit, &named, lot, requested / one))),
                7 => {
                    with_field(build_op("note", unit, &named), "note", json!(format!("note-{}", wish.entry)))
                }
                _ if wish.shares => {
                    with_field(build_op("stolen", unit, &named), "stolen", json!(wish.stolen))
                }
                _ => with_field(
                    build_partial_op("stolen", unit, &named, lot, requested / one),
                    "stolen",
                    json!(wish.stolen),
                ),
            };
            ops.push(op);
            // Each entry is used once per change set, because its next version is known only after the write.
            entries.remove(lot_key);
        }
        if !ops.is_empty() {
            let response = self.fixture.post(&caller_of(who), CHANGE, json!({ "ops": ops })).await;
            assert_eq!(response.status, 200, "{}", response.body);
        }
    }

    /// Returns the first member's amount of a lot, and how much of it is free.
    async fn held(&self, lot: &OwnLot) -> (i64, i64) {
        let reserved = "max(coalesce((SELECT sum(amount) FROM stock_earmark WHERE stock_row = r.id), 0), \
                      coalesce((SELECT amount FROM stock_offer WHERE stock_row = r.id), 0))";
        let sql = format!(
            "SELECT coalesce(sum(amount), 0), coalesce(sum(max(amount - {reserved}, 0)), 0) FROM stock_row r \
             WHERE member = 'm-1' AND material = '{}' AND quality = 0 AND location = 'l-{}' AND stolen = {}",
            lot.lot_key().material,
            lot.place + 1,
            lot.stolen
        );
        let row = self.fixture.rows(sql).await.remove(0);
        let mut numbers = row.split_whitespace().map(|number| {
            let digits = number.trim_start_matches("Integer(").trim_end_matches(')');
            digits.parse::<i64>().expect("a number") / if lot.counted { 1 } else { 1000 }
        });
        (numbers.next().expect("a sum"), numbers.next().expect("a sum"))
    }

    async fn post(&self, who: usize, ops: Vec<Value>) {
        let ops: Vec<Value> = ops.into_iter().map(|op| with_field(op, "override", json!(true))).collect();
        let response = self.fixture.post(&caller_of(who), SET, json!({ "ops": ops })).await;
        assert!([200, 202].contains(&response.status), "{}", response.body);
    }

    /// Sets the amount of a lot of the first member.
    async fn set(&self, who: usize, lot: &OwnLot) {
        let (held, _) = self.held(lot).await;
        self.post(who, vec![lot.lot_key().set(held, lot.to)]).await;
    }

    /// Marks stock of the first member as stolen or not stolen: moves at most the amount `lot.to` to `lot`
    /// from the lot that differs only in this flag.
    async fn mark(&self, who: usize, lot: &OwnLot) {
        let twin = OwnLot { stolen: !lot.stolen, ..lot.clone() };
        let ((marked, _), (held, movable)) = (self.held(lot).await, self.held(&twin).await);
        let part = movable.min(lot.to);
        if part > 0 {
            let (increase, decrease) =
                (lot.lot_key().set(marked, marked + part), twin.lot_key().set(held, held - part));
            self.post(who, vec![increase, decrease]).await;
        }
    }

    /// Undoes stock and org stock, and returns the number of conflicts. At least all entries that the preview
    /// reports are reverted.
    async fn undo_both(&self, (from, to): (Moment, Moment), administrator: bool) -> usize {
        let writes = UndoSelection { client: "c-1".into(), member: MemberId::new("m-1"), from, to };
        let authority = if administrator {
            UndoAuthority::Administrator("root".to_owned())
        } else {
            UndoAuthority::Member
        };
        let run = async |mode| {
            let areas = [UndoArea::Stock, UndoArea::OrgStock];
            let undo = UndoProcess::new(writes.clone(), authority.clone(), &areas, mode);
            let done = self.fixture.backend().run_undo(undo).await.expect("the undo succeeds");
            let (done, stay): (Vec<_>, Vec<_>) = done.into_iter().partition(|outcome| outcome.result.is_ok());
            let done: BTreeSet<(UndoArea, String)> =
                done.into_iter().map(|one| (one.area, one.key)).collect();
            (done, stay.len())
        };
        let everything = self.fixture.everything().await;
        let (promised, _) = run(UndoMode::Preview).await;
        assert_eq!(self.fixture.everything().await, everything, "a preview changes nothing");
        let (done, stay) = run(UndoMode::Apply).await;
        assert!(promised.is_subset(&done), "{promised:?} {done:?}");
        assert_eq!(run(UndoMode::Apply).await, (BTreeSet::new(), stay), "a second run finds nothing");
        stay
    }

    async fn undo(&self, (from, to): (Moment, Moment), administrator: bool) -> (usize, usize) {
        let writes = UndoSelection { client: "c-1".into(), member: MemberId::new("m-1"), from, to };
        let authority = if administrator {
            UndoAuthority::Administrator("root".to_owned())
        } else {
            UndoAuthority::Member
        };
        let run = async |mode| {
            let undo = UndoProcess::new(writes.clone(), authority.clone(), &[UndoArea::OrgStock], mode);
            self.fixture.backend().run_undo(undo).await.expect("the undo succeeds")
        };
        let everything = self.fixture.everything().await;
        let promised = run(UndoMode::Preview).await;
        assert_eq!(self.fixture.everything().await, everything, "a preview changes nothing");
        let rows = async |keys: &[&str]| {
            let keys: Vec<String> = keys.iter().map(|key| format!("'{key}'")).collect();
            let keys = keys.join(", ");
            let mut rows =
                self.fixture.rows(format!("SELECT * FROM stock_row WHERE id IN ({keys}) ORDER BY id")).await;
            rows.extend(
                self.fixture.rows(format!("SELECT * FROM stock_sale WHERE id IN ({keys}) ORDER BY id")).await,
            );
            rows
        };
        let stay = promised.iter().filter(|outcome| outcome.result.is_err());
        let stay: Vec<&str> = stay.map(|outcome| &*outcome.key).collect();
        let before = rows(&stay).await;
        let done = run(UndoMode::Apply).await;
        assert_eq!(promised, done, "the result of the undo equals the preview");
        assert_eq!(rows(&stay).await, before, "conflicting entries are unchanged");
        let again = run(UndoMode::Apply).await;
        assert!(again.iter().all(|outcome| outcome.result.is_err()), "{again:?}");
        (done.len() - stay.len(), stay.len())
    }

    async fn act(&self, act: &Action) {
        match act {
            Action::Write { who, wishes } if UNDONE.contains(who) => {
                let sums = self.sums().await;
                self.write(*who, wishes, true).await;
                assert_eq!(
                    self.sums().await,
                    sums,
                    "the totals are unchanged, because the client only moves and sells"
                );
            }
            Action::Write { who, wishes } => self.write(*who, wishes, false).await,
            Action::Earmark { entry, mission } => {
                let entries = self.entries().await;
                if let Some(entry) = entries.get(entry % entries.len().max(1)) {
                    let target = if *mission {
                        (EarmarkPurpose::Mission, "mi-1")
                    } else {
                        (EarmarkPurpose::JobOrder, "j-1")
                    };
                    let author = MemberId::new("m-1");
                    let marked = self.fixture.backend().earmark_stock(
                        &author,
                        ChangeAuthor::Web,
                        &entry.id,
                        target,
                        entry.one(),
                    );
                    assert!(marked.await.expect("earmarking succeeds"));
                }
            }
            Action::Offer { entry } => {
                let entries = self.entries().await;
                if let Some(Entry { id, amount, .. }) = entries.get(entry % entries.len().max(1)) {
                    self.fixture
                        .sql(format!("INSERT OR IGNORE INTO stock_offer VALUES ('o-{id}', '{id}', {amount})"))
                        .await;
                }
            }
            Action::Set { holder, place, counted, to } => {
                let lot_key = if *counted { PARTS } else { ORE }.place(PLACES[*place]);
                let caller = [first(), other_member()][*holder].clone();
                let (items, _) = self.fixture.page(&caller, super::stock::STOCK, &mut String::new()).await;
                let matches_lot = |item: &&Value| {
                    item["material"]["bt"] == lot_key.material
                        && item["location"]["name"] == lot_key.place
                        && item["stolen"] == false
                        && item["quality"] == 0
                };
                let held = items
                    .iter()
                    .find(matches_lot)
                    .map_or(json!(0), |item| item["quantity"]["amount"].clone());
                super::stock::apply_on_web(
                    &self.fixture,
                    &format!("m-{}", holder + 1),
                    ChangeAuthor::Web,
                    vec![lot_key.set(held, *to)],
                )
                .await;
            }
            Action::Turn(0) => self.fixture.sql("DELETE FROM membership WHERE member = 'm-3'").await,
            Action::Turn(1) => {
                self.fixture
                    .sql("INSERT OR IGNORE INTO membership (member, unit) VALUES ('m-3', 'u-1')")
                    .await
            }
            Action::Turn(state) => {
                let state = ["open", "completed"][state % 2];
                self.fixture.sql(format!("UPDATE job_order SET state = '{state}' WHERE id = 'j-1'")).await;
            }
            Action::Mark { who, lot } => {
                let sums = self.sums().await;
                self.mark(*who, lot).await;
                assert_eq!(self.sums().await, sums, "the totals are unchanged");
            }
            Action::Undo { from, to, administrator, both } => {
                let now = self.fixture.clock.now();
                let seconds_ago = |seconds: u8| now.minus(Duration::from_secs(u64::from(seconds)));
                let (sums, span) =
                    (self.sums().await, (seconds_ago(*from.max(to)), seconds_ago(*from.min(to))));
                if *both {
                    self.undo_both(span, *administrator).await;
                } else {
                    self.undo(span, *administrator).await;
                }
                assert_eq!(self.sums().await, sums, "no stock is lost or duplicated");
            }
            Action::Page(_) => {}
        }
        let broken = "SELECT id FROM stock_row r WHERE amount < (SELECT coalesce(max(of_kind), 0) FROM \
                      (SELECT sum(amount) AS of_kind FROM stock_earmark WHERE stock_row = r.id GROUP BY kind)) \
                      OR amount < (SELECT coalesce(max(amount), 0) FROM stock_offer WHERE stock_row = r.id)";
        assert_eq!(
            self.fixture.rows(broken).await,
            [""; 0],
            "reservations and offers do not exceed the stock"
        );
    }
}

fn replica() -> Reader<String> {
    Reader::new(other_member(), POOLS, |lot| {
        (lot["key"].as_str().expect("a string").to_owned(), format_pool_lot(lot))
    })
}

fn blocking(run: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().expect("the runtime starts").block_on(run);
}

proptest! {
    #![proptest_config(cases(40))]

    /// FED-04, OST-20 to OST-28, OST-34 to OST-36: undo neither loses nor duplicates stock (see the module
    /// documentation).
    #[test]
    fn undo_neither_loses_nor_duplicates_stock(acts in prop::collection::vec(act(), 1..40)) {
        blocking(async {
            let (model, mut reader) = (OrgStockUndoModel::new().await, replica());
            for act in acts {
                model.fixture.clock.advance(Duration::from_secs(1));
                model.act(&act).await;
                if let Action::Page(limit) = act {
                    reader.page(&model.fixture, limit).await;
                }
            }
            reader.read_on(&model.fixture, 3).await;
            let mut new = replica();
            new.read_on(&model.fixture, 50).await;
            assert_eq!(reader.entries, new.entries, "a replica");
        });
    }

    /// A14, OST-20 to OST-28: without other authors, all changes are reverted.
    #[test]
    fn changes_without_other_authors_are_fully_reverted(
        before in prop::collection::vec(act(), 1..12),
        sets in prop::collection::vec((0_usize..2, prop::collection::vec(wish(), 1..7)), 1..10),
        administrator in select(vec![false, true]),
    ) {
        blocking(async {
            let model = OrgStockUndoModel::new().await;
            for act in before.iter().filter(|act| !matches!(act, Action::Undo { .. } | Action::Turn(_))) {
                model.fixture.clock.advance(Duration::from_secs(1));
                model.act(act).await;
            }
            model.fixture.clock.advance(DAY);
            let (from, stored) = (model.fixture.clock.now(), model.stored().await);
            for (who, wishes) in &sets {
                model.write(*who, wishes, false).await;
                model.fixture.clock.advance(Duration::from_secs(1));
            }
            let (_, stay) = model.undo((from, model.fixture.clock.now()), administrator).await;
            assert_eq!(stay, 0, "no other author wrote");
            assert_eq!(model.stored().await, stored);
        });
    }

    /// A14, STK-16, OST-20 to OST-28: both areas are undone back from the last change (see the module
    /// documentation).
    #[test]
    fn both_areas_are_reverted_from_the_last_change(
        before in prop::collection::vec(act(), 1..12),
        sets in prop::collection::vec(
            (0_usize..2, prop_oneof![
                own().prop_map(Set::OwnLot),
                prop::collection::vec(wish(), 1..7).prop_map(Set::Pools),
            ]),
            1..12,
        ),
        at_once in any::<bool>(),
        administrator in any::<bool>(),
    ) {
        blocking(async {
            let model = OrgStockUndoModel::new().await;
            for act in before.iter().filter(|act| !matches!(act, Action::Undo { .. } | Action::Turn(_))) {
                model.fixture.clock.advance(Duration::from_secs(1));
                model.act(act).await;
            }
            model.fixture.clock.advance(DAY);
            let (mut begun, stored) = (Vec::new(), model.stored().await);
            for (who, set) in &sets {
                begun.push(model.fixture.clock.now());
                match set {
                    Set::OwnLot(own) => model.set(*who, own).await,
                    Set::Pools(wishes) => model.write(*who, wishes, false).await,
                }
                model.fixture.clock.advance(Duration::from_secs(1));
            }
            let to = model.fixture.clock.now();
            if at_once && model.undo_both((begun[0], to), administrator).await == 0 {
                assert_eq!(model.stored().await, stored);
            }
            for from in begun.into_iter().rev() {
                assert_eq!(model.undo_both((from, to), administrator).await, 0, "no other author wrote");
            }
            assert_eq!(model.stored().await, stored);
        });
    }
}
