//! Model test of the undo of moves between lots, with random changes by other authors and random spans. The
//! client to undo only re-marks stock and moves it, several lots at once. Undoing its writes therefore never
//! changes the total of a material; only bookings of other authors do. Row versions are never reused.

use exchange_service::backend::StockOwnership;
use exchange_service::backend::undo::{UndoArea, UndoAuthority, UndoMode, UndoProcess, UndoSelection};
use exchange_service::feed::ChangeAuthor;
use proptest::prelude::*;

use super::stock::{GUN, LotKey, ORE, SET, apply_on_web, rebook, with_field};
use super::*;
use crate::support::cases;

/// Returns the lots of the member. Moves connect lots of the same material.
fn lots() -> [LotKey; 8] {
    let [ore, gun] = [ORE, GUN].map(|lot_key| lot_key.place("Station"));
    [ORE, ORE.stolen(), ORE.quality(7), ore, ore.quality(7), GUN, GUN.stolen(), gun]
}

/// The number of writers: two installations of the client to undo, another client, and the web pages.
const WHO: usize = 4;

#[derive(Clone, Debug)]
enum Action {
    /// Moves amounts in one batch; each move has a source, a destination and a maximum amount.
    Move {
        who: usize,
        moves: Vec<(usize, usize, i64)>,
    },
    /// Sets the amount of a lot, by an author other than the client to undo.
    Book {
        web: bool,
        lot: usize,
        to: i64,
    },
    /// Reserves a part of a row.
    Reserve(usize),
    /// Offers a part of a row.
    Offer(usize),
    /// Rebooks stock into the pool of a unit that the member may leave.
    Rebook {
        lot: usize,
        unit: usize,
    },
    /// The member leaves or rejoins the unit.
    Leave(bool),
    Undo {
        from: u8,
        to: u8,
        administrator: bool,
    },
}

fn act() -> impl Strategy<Value = Action> {
    let lot = || 0..lots().len();
    let moves = || prop::collection::vec((lot(), lot(), 1_i64..9), 1..6);
    prop_oneof![
        9 => (0..WHO, moves()).prop_map(|(who, moves)| Action::Move { who, moves }),
        4 => (any::<bool>(), lot(), 0_i64..9).prop_map(|(web, lot, to)| Action::Book { web, lot, to }),
        1 => lot().prop_map(Action::Reserve),
        1 => lot().prop_map(Action::Offer),
        1 => (lot(), 1_usize..4).prop_map(|(lot, unit)| Action::Rebook { lot, unit }),
        1 => any::<bool>().prop_map(Action::Leave),
        4 => (0_u8..20, 0_u8..6, any::<bool>())
            .prop_map(|(from, to, administrator)| Action::Undo { from, to, administrator }),
    ]
}

struct MoveHarness {
    fixture: BackendFixture,
    /// The expected totals by material.
    sums: BTreeMap<&'static str, i64>,
    /// All row versions that were seen, with their content.
    versions: BTreeMap<String, String>,
}

/// Returns the SQL condition for the rows of a lot.
fn rows_of(lot_key: LotKey) -> String {
    let LotKey { material, place, quality, stolen } = lot_key;
    let (place, stolen) = (if place == "City" { "l-1" } else { "l-2" }, i32::from(stolen));
    format!(
        "FROM stock_row r WHERE r.member = 'm-1' AND r.material = '{material}' AND r.location = '{place}' \
         AND r.quality = {quality} AND r.stolen = {stolen}"
    )
}

/// Returns the smallest amount that an op can move: a piece, or one SCU in thousandths.
fn one(lot_key: LotKey) -> i64 {
    if lot_key.is_counted() { 1 } else { 1000 }
}

impl MoveHarness {
    /// Returns the number that a query selects.
    async fn number(&self, sql: String) -> i64 {
        let rows = self.fixture.rows(sql).await;
        let number = rows[0].strip_prefix("Integer(").and_then(|text| text.strip_suffix(')'));
        number.expect("a number").parse().expect("a number")
    }

    async fn amount(&self, lot_key: LotKey) -> i64 {
        self.number(format!("SELECT coalesce(sum(amount), 0) {}", rows_of(lot_key))).await / one(lot_key)
    }

    /// Returns the amount of a lot that is neither reserved nor offered.
    async fn movable(&self, lot_key: LotKey) -> i64 {
        let reserved = "max(coalesce((SELECT sum(amount) FROM stock_earmark WHERE stock_row = r.id), 0), \
                      coalesce((SELECT amount FROM stock_offer WHERE stock_row = r.id), 0))";
        let sql = format!("SELECT coalesce(sum(amount - {reserved}), 0) {}", rows_of(lot_key));
        self.number(sql).await / one(lot_key)
    }

    async fn write(&self, who: usize, ops: Vec<Value>) {
        let ops: Vec<Value> = ops.into_iter().map(|op| with_field(op, "override", json!(true))).collect();
        let count = ops.len();
        match who {
            3 => assert_eq!(apply_on_web(&self.fixture, "m-1", ChangeAuthor::Web, ops).await, count as i64),
            who => drop(self.fixture.check(&[first(), second(), other_client()][who], SET, ops, &[]).await),
        }
    }

    async fn act(&mut self, act: Action) {
        match act {
            Action::Move { who, moves } => {
                let (mut taken_amounts, mut change) = (BTreeMap::new(), BTreeMap::<LotKey, i64>::new());
                for (from, to, limit) in moves {
                    let (from, to) = (lots()[from], lots()[to]);
                    if from != to && from.material == to.material {
                        let taken_amounts: &mut i64 = taken_amounts.entry(from).or_default();
                        let part = (self.movable(from).await - *taken_amounts).min(limit);
                        *taken_amounts += part;
                        *change.entry(from).or_default() -= part;
                        *change.entry(to).or_default() += part;
                    }
                }
                let mut ops = Vec::new();
                for (lot_key, by) in change.into_iter().filter(|(_, by)| *by != 0) {
                    let held = self.amount(lot_key).await;
                    ops.push(lot_key.set(held, held + by));
                }
                if !ops.is_empty() {
                    self.write(who, ops).await;
                }
            }
            Action::Book { web, lot, to } => {
                let lot_key = lots()[lot];
                let held = self.amount(lot_key).await;
                let reserved = "(SELECT sum(amount) FROM stock_earmark WHERE stock_row = r.id)";
                let sql = format!("SELECT coalesce(sum({reserved}), 0) {}", rows_of(lot_key));
                let to = to.max(self.number(sql).await / one(lot_key));
                if to != held {
                    self.write(if web { 3 } else { 2 }, vec![lot_key.set(held, to)]).await;
                    *self.sums.entry(lot_key.material).or_default() += to - held;
                }
            }
            Action::Reserve(lot) => {
                let (rows, one) = (rows_of(lots()[lot]), one(lots()[lot]));
                let sql = format!(
                    "INSERT OR IGNORE INTO stock_earmark SELECT id, 'mission', 'x', {one}, 0 {rows} LIMIT 1"
                );
                self.fixture.sql(sql).await;
            }
            Action::Offer(lot) => {
                let (rows, one) = (rows_of(lots()[lot]), one(lots()[lot]));
                let sql =
                    format!("INSERT OR IGNORE INTO stock_offer SELECT 'o-' || id, id, {one} {rows} LIMIT 1");
                self.fixture.sql(sql).await;
            }
            Action::Rebook { lot, unit } => {
                if self.amount(lots()[lot]).await > 0 {
                    let keeping = StockOwnership::Pool(format!("u-{unit}").into());
                    rebook(&self.fixture, lots()[lot], keeping).await;
                }
            }
            Action::Leave(leaves) => {
                let sql = if leaves {
                    "DELETE FROM membership WHERE member = 'm-1'"
                } else {
                    "INSERT OR IGNORE INTO membership (member, unit) VALUES ('m-1', 'u-1')"
                };
                self.fixture.sql(sql).await;
            }
            Action::Undo { from, to, administrator } => self.undo(from, to, administrator).await,
        }
    }

    async fn undo(&mut self, from: u8, to: u8, administrator: bool) {
        let now = self.fixture.clock.now();
        let seconds_ago = |seconds: u8| now.minus(Duration::from_secs(u64::from(seconds)));
        let writes = UndoSelection {
            client: "c-1".into(),
            member: MemberId::new("m-1"),
            from: seconds_ago(from.max(to)),
            to: seconds_ago(from.min(to)),
        };
        let authority = if administrator {
            UndoAuthority::Administrator("root".to_owned())
        } else {
            UndoAuthority::Member
        };
        let run = async |mode| {
            let undo = UndoProcess::new(writes.clone(), authority.clone(), &[UndoArea::Stock], mode);
            self.fixture.backend().run_undo(undo).await.expect("the undo succeeds")
        };
        let promised = run(UndoMode::Preview).await;
        let done = run(UndoMode::Apply).await;
        assert_eq!(promised, done);
        let again = run(UndoMode::Apply).await;
        assert!(again.iter().all(|outcome| outcome.result.is_err()), "{again:?}");
    }

    async fn check(&mut self) {
        for lot_key in [ORE, GUN] {
            let sql = format!(
                "SELECT coalesce(sum(amount), 0) FROM stock_row WHERE material = '{}'",
                lot_key.material
            );
            let sum = self.number(sql).await / one(lot_key);
            assert_eq!(sum, self.sums.get(lot_key.material).copied().unwrap_or(0), "{}", lot_key.material);
        }
        let sql =
            "SELECT id || '@' || version, lot || ' ' || amount || ' ' || coalesce(unit, '') FROM stock_row";
        for row in self.fixture.rows(sql).await {
            let (version, content) = row.split_once(' ').expect("two columns");
            let known_content = self.versions.entry(version.to_owned()).or_insert_with(|| content.to_owned());
            assert_eq!(known_content, content, "{version}");
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    /// STK-13, STK-16, STK-19, STK-20, STK-21: undoing moves preserves the totals (see the module
    /// documentation).
    #[test]
    fn undoing_moves_preserves_totals(acts in prop::collection::vec(act(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("the runtime starts");
        runtime.block_on(async {
            let fixture = BackendFixture::unguarded().await;
            let mut harness = MoveHarness { fixture, sums: BTreeMap::new(), versions: BTreeMap::new() };
            for act in acts {
                harness.fixture.clock.advance(Duration::from_secs(1));
                harness.act(act).await;
                harness.check().await;
            }
        });
    }
}
