//! Model test of moves between lots, with random changes by others and random spans to undo. The undone
//! client only re-marks stock and moves it, several lots at once, so that undoing it never changes the total
//! of a material; only others' bookings do. Row versions are never reused.

use exchange_service::backend::StockOwnership;
use exchange_service::backend::undo::{UndoArea, UndoAuthority, UndoMode, UndoProcess, UndoSelection};
use exchange_service::feed::ChangeAuthor;
use proptest::prelude::*;

use super::stock::{At, GUN, ORE, SET, on_the_web, rebook, with};
use super::*;
use crate::kit::cases;

/// The lots of the member; moves connect lots of the same material.
fn lots() -> [At; 8] {
    let [ore, gun] = [ORE, GUN].map(|at| at.place("Station"));
    [ORE, ORE.stolen(), ORE.quality(7), ore, ore.quality(7), GUN, GUN.stolen(), gun]
}

/// Two installations of the undone client, another client, and the web.
const WHO: usize = 4;

#[derive(Clone, Debug)]
enum Act {
    /// Moves in one batch: source, destination, maximum amount.
    Move {
        who: usize,
        moves: Vec<(usize, usize, i64)>,
    },
    /// Sets a lot, by an author other than the undone client.
    Book {
        web: bool,
        lot: usize,
        to: i64,
    },
    /// Reserves a part of one row.
    Reserve(usize),
    /// Offers a part of one row.
    Offer(usize),
    /// Moves stock into a pool of a unit that the member may leave.
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

fn act() -> impl Strategy<Value = Act> {
    let lot = || 0..lots().len();
    let moves = || prop::collection::vec((lot(), lot(), 1_i64..9), 1..6);
    prop_oneof![
        9 => (0..WHO, moves()).prop_map(|(who, moves)| Act::Move { who, moves }),
        4 => (any::<bool>(), lot(), 0_i64..9).prop_map(|(web, lot, to)| Act::Book { web, lot, to }),
        1 => lot().prop_map(Act::Reserve),
        1 => lot().prop_map(Act::Offer),
        1 => (lot(), 1_usize..4).prop_map(|(lot, unit)| Act::Rebook { lot, unit }),
        1 => any::<bool>().prop_map(Act::Leave),
        4 => (0_u8..20, 0_u8..6, any::<bool>())
            .prop_map(|(from, to, administrator)| Act::Undo { from, to, administrator }),
    ]
}

struct World {
    bench: Bench,
    /// Expected totals by material.
    sums: BTreeMap<&'static str, i64>,
    /// Every seen row version, with its content.
    versions: BTreeMap<String, String>,
}

/// A lot's rows in a query.
fn rows_of(at: At) -> String {
    let At { material, place, quality, stolen } = at;
    let (place, stolen) = (if place == "City" { "l-1" } else { "l-2" }, i32::from(stolen));
    format!(
        "FROM stock_row r WHERE r.member = 'm-1' AND r.material = '{material}' AND r.location = '{place}' \
         AND r.quality = {quality} AND r.stolen = {stolen}"
    )
}

/// Formats an amount in the lot's measure.
fn one(at: At) -> i64 {
    if at.is_counted() { 1 } else { 1000 }
}

impl World {
    /// Returns the number from a query.
    async fn number(&self, sql: String) -> i64 {
        let rows = self.bench.rows(sql).await;
        let number = rows[0].strip_prefix("Integer(").and_then(|text| text.strip_suffix(')'));
        number.expect("a number").parse().expect("a number")
    }

    async fn amount(&self, at: At) -> i64 {
        self.number(format!("SELECT coalesce(sum(amount), 0) {}", rows_of(at))).await / one(at)
    }

    /// Returns the free amount without offers.
    async fn movable(&self, at: At) -> i64 {
        let stands = "max(coalesce((SELECT sum(amount) FROM stock_earmark WHERE stock_row = r.id), 0), \
                      coalesce((SELECT amount FROM stock_offer WHERE stock_row = r.id), 0))";
        let sql = format!("SELECT coalesce(sum(amount - {stands}), 0) {}", rows_of(at));
        self.number(sql).await / one(at)
    }

    async fn write(&self, who: usize, ops: Vec<Value>) {
        let ops: Vec<Value> = ops.into_iter().map(|op| with(op, "override", json!(true))).collect();
        let count = ops.len();
        match who {
            3 => assert_eq!(on_the_web(&self.bench, "m-1", ChangeAuthor::Web, ops).await, count as i64),
            who => drop(self.bench.check(&[first(), second(), other_client()][who], SET, ops, &[]).await),
        }
    }

    async fn act(&mut self, act: Act) {
        match act {
            Act::Move { who, moves } => {
                let (mut given, mut change) = (BTreeMap::new(), BTreeMap::<At, i64>::new());
                for (from, to, most) in moves {
                    let (from, to) = (lots()[from], lots()[to]);
                    if from != to && from.material == to.material {
                        let given: &mut i64 = given.entry(from).or_default();
                        let part = (self.movable(from).await - *given).min(most);
                        *given += part;
                        *change.entry(from).or_default() -= part;
                        *change.entry(to).or_default() += part;
                    }
                }
                let mut ops = Vec::new();
                for (at, by) in change.into_iter().filter(|(_, by)| *by != 0) {
                    let held = self.amount(at).await;
                    ops.push(at.set(held, held + by));
                }
                if !ops.is_empty() {
                    self.write(who, ops).await;
                }
            }
            Act::Book { web, lot, to } => {
                let at = lots()[lot];
                let held = self.amount(at).await;
                let reserved = "(SELECT sum(amount) FROM stock_earmark WHERE stock_row = r.id)";
                let sql = format!("SELECT coalesce(sum({reserved}), 0) {}", rows_of(at));
                let to = to.max(self.number(sql).await / one(at));
                if to != held {
                    self.write(if web { 3 } else { 2 }, vec![at.set(held, to)]).await;
                    *self.sums.entry(at.material).or_default() += to - held;
                }
            }
            Act::Reserve(lot) => {
                let (rows, one) = (rows_of(lots()[lot]), one(lots()[lot]));
                let sql = format!(
                    "INSERT OR IGNORE INTO stock_earmark SELECT id, 'mission', 'x', {one}, 0 {rows} LIMIT 1"
                );
                self.bench.sql(sql).await;
            }
            Act::Offer(lot) => {
                let (rows, one) = (rows_of(lots()[lot]), one(lots()[lot]));
                let sql =
                    format!("INSERT OR IGNORE INTO stock_offer SELECT 'o-' || id, id, {one} {rows} LIMIT 1");
                self.bench.sql(sql).await;
            }
            Act::Rebook { lot, unit } => {
                if self.amount(lots()[lot]).await > 0 {
                    let keeping = StockOwnership::Pool(format!("u-{unit}").into());
                    rebook(&self.bench, lots()[lot], keeping).await;
                }
            }
            Act::Leave(leaves) => {
                let sql = if leaves {
                    "DELETE FROM membership WHERE member = 'm-1'"
                } else {
                    "INSERT OR IGNORE INTO membership (member, unit) VALUES ('m-1', 'u-1')"
                };
                self.bench.sql(sql).await;
            }
            Act::Undo { from, to, administrator } => self.undo(from, to, administrator).await,
        }
    }

    async fn undo(&mut self, from: u8, to: u8, administrator: bool) {
        let now = self.bench.clock.now();
        let ago = |seconds: u8| now.minus(Duration::from_secs(u64::from(seconds)));
        let writes = UndoSelection {
            client: "c-1".into(),
            member: MemberId::new("m-1"),
            from: ago(from.max(to)),
            to: ago(from.min(to)),
        };
        let word = if administrator {
            UndoAuthority::Administrator("root".to_owned())
        } else {
            UndoAuthority::Member
        };
        let run = async |mode| {
            let undo = UndoProcess::new(writes.clone(), word.clone(), &[UndoArea::Stock], mode);
            self.bench.backend().run_undo(undo).await.expect("an undo")
        };
        let promised = run(UndoMode::Preview).await;
        let done = run(UndoMode::Apply).await;
        assert_eq!(promised, done);
        let again = run(UndoMode::Apply).await;
        assert!(again.iter().all(|outcome| outcome.result.is_err()), "{again:?}");
    }

    async fn check(&mut self) {
        for at in [ORE, GUN] {
            let sql =
                format!("SELECT coalesce(sum(amount), 0) FROM stock_row WHERE material = '{}'", at.material);
            let sum = self.number(sql).await / one(at);
            assert_eq!(sum, self.sums.get(at.material).copied().unwrap_or(0), "{}", at.material);
        }
        let sql =
            "SELECT id || '@' || version, lot || ' ' || amount || ' ' || coalesce(unit, '') FROM stock_row";
        for row in self.bench.rows(sql).await {
            let (version, is) = row.split_once(' ').expect("two columns");
            let was = self.versions.entry(version.to_owned()).or_insert_with(|| is.to_owned());
            assert_eq!(was, is, "{version}");
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    /// STK-13, STK-16, STK-19, STK-20, STK-21: see the module documentation.
    #[test]
    fn what_was_moved_is_neither_lost_nor_doubled(acts in prop::collection::vec(act(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let bench = Bench::unguarded().await;
            let mut world = World { bench, sums: BTreeMap::new(), versions: BTreeMap::new() };
            for act in acts {
                world.bench.clock.advance(Duration::from_secs(1));
                world.act(act).await;
                world.check().await;
            }
        });
    }
}
