//! Model test of stock: random interleavings of client writes, changes through the web pages, reservations,
//! offers, transfers and reads for two members, compared with a direct interpreter of the eight checks and of
//! booking. Every op and row matches, no amount is negative, no reservation or offer exceeds its row, and
//! readers have exactly the lots of their member.

mod rows;

use std::collections::BTreeMap;

use exchange_api::Contract as _;
use exchange_api::types::StockChangeSet;
use exchange_service::backend::StockOwnership;
use exchange_service::feed::ChangeAuthor;
use proptest::prelude::*;
use proptest::sample::select;

use super::reader::Reader;
use super::stock::*;
use super::*;
use crate::support::{cases, ops};
use rows::{Age, Row, RowOwnership, Rows};

/// Returns the lots of the model, including lots that differ only in the stolen marker.
fn all() -> Vec<LotKey> {
    let plain = [ORE, ORE.place("Station"), METAL.quality(7), PARTS, GUN];
    plain.into_iter().flat_map(|lot_key| [lot_key, lot_key.stolen()]).collect()
}

/// An op before the current amount of its lot is known.
#[derive(Clone, Debug)]
struct OpTemplate {
    lot: usize,
    /// The target amount, in thousandths of SCU or in pieces.
    to: i64,
    /// Whether the client's expected amount is stale.
    stale: bool,
    overrule: bool,
}

#[derive(Clone, Debug)]
enum Action {
    /// One of the [`writers`].
    Write {
        who: usize,
        templates: Vec<OpTemplate>,
        dry: bool,
    },
    /// Moves a lot: a decrease and the matching increase in one batch.
    Move {
        who: usize,
        from: usize,
        to: usize,
    },
    Rebook {
        member: usize,
        lot: usize,
        keeping: usize,
    },
    Reserve {
        member: usize,
        lot: usize,
    },
    Release,
    Offer {
        member: usize,
        lot: usize,
    },
    /// A member transfers a lot to the other member.
    Give {
        member: usize,
        lot: usize,
    },
    Marking(bool),
    Page {
        reader: usize,
        limit: u8,
    },
    Advance(u8),
    Sweep,
}

fn wish() -> impl Strategy<Value = OpTemplate> {
    let target = select(vec![0, 0, 1, 2, 3, 5, 8, 2500, 40_000]);
    (0_usize..10, target, prop::bool::weighted(0.1), any::<bool>())
        .prop_map(|(lot, target, stale, overrule)| OpTemplate { lot, to: target, stale, overrule })
}

/// Generates a member, more often the first one, whose stock therefore accumulates.
fn member() -> impl Strategy<Value = usize> {
    select(vec![0, 0, 1])
}

fn act() -> impl Strategy<Value = Action> {
    prop_oneof![
        10 => (0_usize..6, ops(wish), prop::bool::weighted(0.1))
            .prop_map(|(who, templates, dry)| Action::Write { who, templates, dry }),
        3 => (0_usize..6, 0_usize..10, 0_usize..10).prop_map(|(who, from, to)| Action::Move { who, from, to }),
        3 => (member(), 0_usize..10, 0_usize..4)
            .prop_map(|(member, lot, keeping)| Action::Rebook { member, lot, keeping }),
        2 => (member(), 0_usize..10).prop_map(|(member, lot)| Action::Reserve { member, lot }),
        1 => Just(Action::Release),
        2 => (member(), 0_usize..10).prop_map(|(member, lot)| Action::Offer { member, lot }),
        1 => (member(), 0_usize..10).prop_map(|(member, lot)| Action::Give { member, lot }),
        1 => any::<bool>().prop_map(Action::Marking),
        6 => (0_usize..3, 1_u8..5).prop_map(|(reader, limit)| Action::Page { reader, limit }),
        1 => select(vec![1, 45, 91]).prop_map(Action::Advance),
        1 => Just(Action::Sweep),
    ]
}

/// The expected state.
#[derive(Default)]
struct Oracle {
    members: [MemberLots; 2],
    no_marking: bool,
}

/// One member's lots.
#[derive(Clone, Default)]
struct MemberLots {
    rows: Rows,
    /// The amounts of lots after the ops so far, before these are booked.
    wanted: BTreeMap<LotKey, i64>,
    /// The time at which a lot was last emptied, and the writer.
    emptied: BTreeMap<LotKey, (Moment, usize)>,
}

impl MemberLots {
    fn held(&self, lot_key: LotKey) -> i64 {
        self.wanted.get(&lot_key).copied().unwrap_or_else(|| self.rows.held(lot_key))
    }

    fn reserved(&self, lot_key: LotKey) -> i64 {
        self.rows.reserved(lot_key)
    }

    fn lots(&self) -> BTreeMap<LotKey, i64> {
        self.rows.lots()
    }

    /// Books the net changes of a batch.
    fn book(&mut self, now: Moment) {
        let targets = std::mem::take(&mut self.wanted);
        let changes = targets.into_iter().map(|(lot_key, to)| (lot_key, to - self.rows.held(lot_key)));
        let changes = changes.filter(|(_, by)| *by != 0).collect();
        self.rows.book(&changes, now);
    }
}

impl Oracle {
    /// Returns the result and the reason of one op, or an empty string if it is applied.
    fn set(
        &mut self,
        who: usize,
        lot_key: LotKey,
        expected: i64,
        to: i64,
        overrule: bool,
        now: Moment,
    ) -> &'static str {
        if lot_key.stolen && to > 0 && self.no_marking {
            return "rejected STOLEN_MARKING_DISABLED";
        }
        let (caller, member) = &writers()[who];
        let shelves = &mut self.members[*member];
        let held = shelves.held(lot_key);
        if held != expected {
            return "rejected VERSION_CONFLICT";
        }
        if held == to {
            return "unchanged -";
        }
        if held == 0
            && caller.is_some()
            && !overrule
            && let Some((then, by)) = shelves.emptied.get(&lot_key)
            && *by != who
            && now.since(*then) <= 90 * DAY
        {
            return "rejected REMOVED_ELSEWHERE";
        }
        if to < held && held - to > held - shelves.reserved(lot_key) {
            return "rejected STOCK_EARMARKED";
        }
        shelves.wanted.insert(lot_key, to);
        if to == 0 {
            shelves.emptied.insert(lot_key, (now, who));
        }
        ""
    }
}

fn lot(item: &Value) -> (LotKey, i64) {
    let matches_lot = |lot_key: &&LotKey| {
        item["material"]["bt"] == lot_key.material
            && item["location"]["name"] == lot_key.place
            && item["quality"] == lot_key.quality
            && item["stolen"] == lot_key.stolen
    };
    let lot_key = *all().iter().find(matches_lot).unwrap_or_else(|| panic!("no such lot: {item}"));
    let thousandths = if lot_key.is_counted() { 1.0 } else { 1000.0 };
    let amount = item["quantity"]["amount"].as_f64().expect("a number");
    (lot_key, (amount * thousandths).round() as i64)
}

fn reader(caller: Caller) -> Reader<(LotKey, i64)> {
    let entry = |item: &Value| (item["key"].as_str().expect("a string").to_owned(), lot(item));
    Reader::new(caller, STOCK, entry)
}

/// Returns the lots of a replica, and asserts that each occurs once.
fn has(reader: &Reader<(LotKey, i64)>) -> BTreeMap<LotKey, i64> {
    let lots: BTreeMap<LotKey, i64> = reader.entries.values().copied().collect();
    assert_eq!(lots.len(), reader.entries.len(), "each lot occurs once");
    lots
}

/// The backend under test and the model's expected state.
struct StockModel {
    fixture: BackendFixture,
    oracle: Oracle,
}

fn number(amount: i64, lot_key: LotKey) -> Value {
    if lot_key.is_counted() { json!(amount) } else { json!(amount as f64 / 1000.0) }
}

fn amount(to: i64, lot_key: LotKey) -> i64 {
    // Lots that are counted in pieces have smaller amounts.
    if lot_key.is_counted() { to % 100 } else { to }
}

impl StockModel {
    /// Sends a batch and compares the result of each op with the interpreter's.
    async fn write(&mut self, who: usize, templates: &[OpTemplate], dry: bool) {
        let (all, now) = (all(), self.fixture.clock.now());
        let before = self.offers().await;
        let (caller, member) = writers()[who].clone();
        let backup = self.oracle.members.clone();
        let (mut ops, mut expected, mut applied) = (Vec::new(), Vec::new(), 0_u64);
        for (index, wish) in templates.iter().enumerate() {
            let lot_key = all[wish.lot];
            let to = amount(wish.to, lot_key);
            let seen = self.oracle.members[member].held(lot_key) + i64::from(wish.stale);
            let op = lot_key.set(number(seen, lot_key), number(to, lot_key));
            ops.push(with_field(op, "override", json!(wish.overrule)));
            match self.oracle.set(who, lot_key, seen, to, wish.overrule, now) {
                "" => applied += 1,
                end => expected.push((index as u64, end.to_owned())),
            }
        }
        let body = json!({ "ops": ops, "dryRun": dry });
        let result = match caller {
            Some(caller) => self.fixture.post(&caller, SET, body.clone()).await,
            None => {
                let body =
                    StockChangeSet::parse_valid(body.to_string().as_bytes()).expect("a valid change set");
                let member = MemberId::new(MEMBERS[member]);
                let changed = self.fixture.backend().change_stock(&member, ChangeAuthor::Web, body);
                BackendResponse::from_result(&changed.await.expect("the change succeeds"))
            }
        };
        assert_eq!(result.outcomes(), expected, "{body}");
        assert_eq!(result.counts().0, applied);
        let after = self.offers().await;
        if dry {
            self.oracle.members = backup;
            assert_eq!(before, after);
            return;
        }
        self.oracle.members[member].book(now);
        let ended = before.keys().filter(|id| !after.contains_key(*id)).count();
        let lowered = before
            .iter()
            .filter(|(id, old_amount)| after.get(*id).is_some_and(|new_amount| new_amount < *old_amount))
            .count();
        assert_eq!(
            (&result.body["offersRemoved"], &result.body["offersReduced"]),
            (&json!(ended), &json!(lowered))
        );
    }

    async fn offers(&self) -> BTreeMap<String, i64> {
        let rows = self.fixture.rows("SELECT id, amount FROM stock_offer").await;
        let one = |row: &String| {
            let (id, amount) = row.split_once(' ').expect("two columns");
            let amount = amount.trim_start_matches("Integer(").trim_end_matches(')');
            (id.to_owned(), amount.parse().expect("a number"))
        };
        rows.iter().map(one).collect()
    }

    /// Returns the stored rows by member and lot, oldest first, with their ages.
    async fn rows(&self) -> BTreeMap<(usize, LotKey), Vec<(Age, Row)>> {
        let reserved = "coalesce((SELECT max(amount) FROM stock_earmark WHERE stock_row = r.id), 0)";
        let offered = "coalesce((SELECT amount FROM stock_offer WHERE stock_row = r.id), 0)";
        let sql = format!(
            "SELECT member = 'm-2', lot, CASE WHEN NOT shared THEN 0 WHEN unit IS NULL THEN 1 \
             ELSE 1 + substr(unit, 3) END, booked_at, number, amount, {reserved}, {offered} \
             FROM stock_row r ORDER BY booked_at, number"
        );
        let mut rows: BTreeMap<(usize, LotKey), Vec<(Age, Row)>> = BTreeMap::new();
        let lots = self.lots_by_key().await;
        for row in self.fixture.rows(sql).await {
            let columns: Vec<&str> = row.split(' ').collect();
            let number = |column: usize| -> i64 {
                let digits = columns[column].trim_start_matches("Integer(").trim_end_matches(')');
                digits.parse().expect("a number")
            };
            let ownership = match number(2) {
                0 => RowOwnership::Personal,
                1 => RowOwnership::Shared,
                unit => RowOwnership::Pool(unit as usize - 1),
            };
            let age = (Moment::from_millis(number(3)), Some(number(4)));
            let row = Row { amount: number(5), ownership, reserved: number(6), offered: number(7) };
            let lot_key = lots[columns[1].trim_start_matches("Text(\"").trim_end_matches("\")")];
            rows.entry((number(0) as usize, lot_key)).or_default().push((age, row));
        }
        rows
    }

    /// Returns the model's lots by their keys in the feed.
    async fn lots_by_key(&self) -> BTreeMap<String, LotKey> {
        let mut lots = BTreeMap::new();
        for caller in [first(), other_member()] {
            let (items, _) = self.fixture.page(&caller, STOCK, &mut String::new()).await;
            lots.extend(
                items.iter().map(|item| (item["key"].as_str().expect("a string").to_owned(), lot(item).0)),
            );
        }
        lots
    }

    async fn key(&self, member: usize, lot: usize) -> Option<String> {
        let (lot_key, caller) = (all()[lot], [first(), other_member()][member].clone());
        if self.oracle.members[member].held(lot_key) == 0 {
            None
        } else {
            Some(key(&self.fixture, &caller, lot_key).await)
        }
    }

    /// Asserts the invariants. A row that was inserted again takes its new age from the store.
    async fn check(&mut self) {
        let mut rows = self.rows().await;
        for (member, shelves) in self.oracle.members.iter_mut().enumerate() {
            for lot_key in all() {
                let (actual, should) =
                    (rows.remove(&(member, lot_key)).unwrap_or_default(), shelves.rows.of_mut(lot_key));
                let shown = |rows: &[(Age, Row)]| {
                    rows.iter().map(|((lot_key, _), row)| (*lot_key, row.clone())).collect::<Vec<_>>()
                };
                assert_eq!(shown(&actual), shown(should), "{lot_key:?} of {}", MEMBERS[member]);
                let mut ages = should.iter().zip(&actual).map(|((was, _), (actual, _))| (was, actual));
                let is_kept = |(was, actual): (&Age, &Age)| was.1.is_none() || was == actual;
                assert!(ages.all(is_kept), "{should:?} {actual:?}");
                *should = actual;
            }
        }
        assert_eq!(rows, BTreeMap::new(), "there are no other lots");
        let broken = "SELECT 'reserved', r.id FROM stock_row r JOIN stock_earmark e ON e.stock_row = r.id \
                      GROUP BY r.id, e.kind HAVING sum(e.amount) > r.amount \
                      UNION ALL SELECT 'offered', r.id FROM stock_row r JOIN stock_offer o \
                      ON o.stock_row = r.id WHERE o.amount > r.amount \
                      UNION ALL SELECT 'lost', o.id FROM stock_offer o WHERE o.stock_row NOT IN \
                      (SELECT id FROM stock_row)";
        assert_eq!(self.fixture.rows(broken).await, [""; 0]);
        for (caller, member) in readers() {
            let (items, _) = self.fixture.page(&caller, STOCK, &mut String::new()).await;
            let lots: BTreeMap<LotKey, i64> = items.iter().map(lot).collect();
            assert_eq!(lots.len(), items.len(), "each lot occurs once");
            assert_eq!(lots, self.oracle.members[member].lots());
        }
    }
}

async fn run(acts: Vec<Action>) {
    let mut harness = StockModel { fixture: BackendFixture::unguarded().await, oracle: Oracle::default() };
    let mut readers = readers().map(|(caller, member)| (reader(caller), member));
    for act in acts {
        match act {
            Action::Write { who, templates, dry } => harness.write(who, &templates, dry).await,
            Action::Move { who, from, to } => {
                let (from_at, to_at) = (all()[from], all()[to]);
                let (_, member) = writers()[who];
                let shelves = &harness.oracle.members[member];
                let (held, target_amount) = (shelves.held(from_at), shelves.held(to_at));
                if held == 0 || from == to || from_at.material != to_at.material {
                    continue;
                }
                let total: i64 = shelves.lots().values().sum();
                let wish = |lot, to| OpTemplate { lot, to, stale: false, overrule: true };
                // Moves fewer pieces, so that no sum exceeds the maximum.
                if to_at.is_counted() && held + target_amount >= 100 {
                    continue;
                }
                let clash = shelves.reserved(from_at) > 0 || (harness.oracle.no_marking && to_at.stolen);
                if clash {
                    continue;
                }
                harness.write(who, &[wish(from, 0), wish(to, held + target_amount)], false).await;
                let after: i64 = harness.oracle.members[member].lots().values().sum();
                assert_eq!(after, total, "the totals are unchanged");
            }
            Action::Rebook { member, lot, keeping } => {
                let Some(key) = harness.key(member, lot).await else { continue };
                let (keeping, ownership) = match keeping {
                    0 => (StockOwnership::Personal, RowOwnership::Personal),
                    1 => (StockOwnership::Shared, RowOwnership::Shared),
                    unit => {
                        (StockOwnership::Pool(format!("u-{}", unit - 1).into()), RowOwnership::Pool(unit - 1))
                    }
                };
                let rows = harness.oracle.members[member].rows.of_mut(all()[lot]);
                rows.iter_mut().for_each(|(_, row)| row.ownership = ownership);
                let member = MemberId::new(MEMBERS[member]);
                let rebooked =
                    harness.fixture.backend().rebook_stock(&member, ChangeAuthor::Web, &key, keeping).await;
                assert!(rebooked.expect("the rebooking succeeds"));
            }
            Action::Reserve { member, lot } => {
                let Some(key) = harness.key(member, lot).await else { continue };
                let of_lot = format!("member = '{}' AND lot = '{key}'", MEMBERS[member]);
                harness
                    .fixture
                    .sql(format!(
                        "INSERT OR IGNORE INTO stock_earmark SELECT id, 'mission', 'm', min(amount, 2), 0 \
                         FROM stock_row WHERE {of_lot} ORDER BY number LIMIT 1"
                    ))
                    .await;
                let rows = harness.oracle.members[member].rows.of_mut(all()[lot]);
                let first = rows.iter_mut().min_by_key(|((_, number), _)| *number);
                if let Some((_, row)) = first.filter(|(_, row)| row.reserved == 0) {
                    row.reserved = row.amount.min(2);
                }
            }
            Action::Release => {
                harness.fixture.sql("DELETE FROM stock_earmark").await;
                for shelves in &mut harness.oracle.members {
                    for lot_key in all() {
                        shelves.rows.of_mut(lot_key).iter_mut().for_each(|(_, row)| row.reserved = 0);
                    }
                }
            }
            Action::Offer { member, lot } => {
                let Some(key) = harness.key(member, lot).await else { continue };
                harness
                    .fixture
                    .sql(format!(
                        "INSERT OR IGNORE INTO stock_offer SELECT id || '-o', id, (amount + 1) / 2 \
                         FROM stock_row WHERE member = '{}' AND lot = '{key}' ORDER BY number DESC LIMIT 1",
                        MEMBERS[member]
                    ))
                    .await;
                let rows = harness.oracle.members[member].rows.of_mut(all()[lot]);
                let last = rows.iter_mut().max_by_key(|((_, number), _)| *number);
                if let Some((_, row)) = last.filter(|(_, row)| row.offered == 0) {
                    row.offered = (row.amount + 1) / 2;
                }
            }
            Action::Give { member, lot } => {
                let (lot_key, other) = (all()[lot], 1 - member);
                let Some(key) = harness.key(member, lot).await else { continue };
                if harness.oracle.members[member].reserved(lot_key) > 0 {
                    continue;
                }
                let (from, to) = (MemberId::new(MEMBERS[member]), MemberId::new(MEMBERS[other]));
                let outcome = harness.fixture.backend().give_stock(&from, ChangeAuthor::Web, &key, &to).await;
                assert!(outcome.expect("the transfer succeeds"));
                let rows = std::mem::take(harness.oracle.members[member].rows.of_mut(lot_key));
                harness.oracle.members[other].rows.get(lot_key, rows);
                let emptied = (harness.fixture.clock.now(), web_writer_of(member));
                harness.oracle.members[member].emptied.insert(lot_key, emptied);
            }
            Action::Marking(is_enabled) => {
                harness.oracle.no_marking = !is_enabled;
                let value = if is_enabled { "on" } else { "off" };
                harness
                    .fixture
                    .sql(format!(
                        "INSERT INTO setting (name, value) VALUES ('stolen-marking', '{value}') \
                         ON CONFLICT (name) DO UPDATE SET value = excluded.value"
                    ))
                    .await;
            }
            Action::Page { reader, limit } => {
                let (reader, member) = &mut readers[reader];
                if reader.page(&harness.fixture, limit).await {
                    assert_eq!(
                        has(reader),
                        harness.oracle.members[*member].lots(),
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
            has(&reader),
            harness.oracle.members[member].lots(),
            "the replica of {} differs",
            MEMBERS[member]
        );
    }
}

proptest! {
    #![proptest_config(cases(500))]

    /// STK-02, STK-04, STK-09, STK-10, STK-11, STK-12, STK-13, STK-15, STK-16, STK-17, STK-19, FED-04,
    /// FED-06, WRT-02, WRT-04: the stock equals that of the interpreter (see the module documentation).
    #[test]
    fn stock_matches_the_reference_interpreter(acts in prop::collection::vec(act(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("the runtime starts");
        runtime.block_on(run(acts));
    }
}
