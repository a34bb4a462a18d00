//! What a client moved between lots, whoever else changes them and whichever span is undone: nothing is lost, nothing
//! is there twice. The client that is undone only re-marks stock, so that undoing it never changes what there is of a
//! material; what others book changes it by that much. No row has a version twice.

use exchange_service::backend::Keeping;
use exchange_service::backend::undo::{Mode, Undo, UndoArea, Word, Writes};
use exchange_service::feed::Author;
use proptest::prelude::*;

use super::stock::{At, GUN, ORE, SET, on_the_web, rebook, with};
use super::*;
use crate::kit::cases;

const PLACES: [At; 2] = [ORE, GUN];

/// Two installations of the client that is undone, another client, and the web.
const WHO: usize = 4;

#[derive(Clone, Debug)]
enum Act {
    /// Re-marks up to so much.
    Move {
        who: usize,
        place: usize,
        to_stolen: bool,
        most: i64,
    },
    /// Sets a lot, by anybody but the client that is undone.
    Book {
        web: bool,
        place: usize,
        stolen: bool,
        to: i64,
    },
    /// Reserves a part of one row.
    Reserve {
        place: usize,
        stolen: bool,
    },
    /// Offers a part of one row.
    Offer {
        place: usize,
        stolen: bool,
    },
    /// Into a pool, which the member may be about to leave.
    Rebook {
        place: usize,
        stolen: bool,
        unit: usize,
    },
    Undo {
        from: u8,
        to: u8,
        administrator: bool,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let (place, stolen) = (|| 0..PLACES.len(), any::<bool>);
    prop_oneof![
        9 => (0..WHO, place(), stolen(), 1_i64..9)
            .prop_map(|(who, place, to_stolen, most)| Act::Move { who, place, to_stolen, most }),
        4 => (any::<bool>(), place(), stolen(), 0_i64..9)
            .prop_map(|(web, place, stolen, to)| Act::Book { web, place, stolen, to }),
        1 => (place(), stolen()).prop_map(|(place, stolen)| Act::Reserve { place, stolen }),
        1 => (place(), stolen()).prop_map(|(place, stolen)| Act::Offer { place, stolen }),
        1 => (place(), stolen(), 1_usize..4)
            .prop_map(|(place, stolen, unit)| Act::Rebook { place, stolen, unit }),
        4 => (0_u8..20, 0_u8..6, any::<bool>())
            .prop_map(|(from, to, administrator)| Act::Undo { from, to, administrator }),
    ]
}

struct World {
    bench: Bench,
    /// What there is of each material.
    sums: BTreeMap<usize, i64>,
    /// Each version of each row that was seen, and what it was.
    versions: BTreeMap<String, String>,
}

fn lot(place: usize, stolen: bool) -> At {
    if stolen { PLACES[place].stolen() } else { PLACES[place] }
}

/// A lot's rows in a query.
fn rows_of(place: usize, stolen: bool) -> String {
    let stolen = i32::from(stolen);
    format!(
        "FROM stock_row r WHERE r.member = 'm-1' AND r.material = '{}' AND r.stolen = {stolen}",
        PLACES[place].material
    )
}

/// One of its own kind of amount.
fn one(place: usize) -> i64 {
    if PLACES[place].is_counted() { 1 } else { 1000 }
}

impl World {
    /// A number that a query gives.
    async fn number(&self, sql: String) -> i64 {
        let rows = self.bench.rows(sql).await;
        let number = rows[0].strip_prefix("Integer(").and_then(|text| text.strip_suffix(')'));
        number.expect("a number").parse().expect("a number")
    }

    async fn amount(&self, place: usize, stolen: bool) -> i64 {
        self.number(format!("SELECT coalesce(sum(amount), 0) {}", rows_of(place, stolen))).await / one(place)
    }

    /// What nothing stands on.
    async fn movable(&self, place: usize, stolen: bool) -> i64 {
        let stands = "max(coalesce((SELECT sum(amount) FROM stock_earmark WHERE stock_row = r.id), 0), \
                      coalesce((SELECT amount FROM stock_offer WHERE stock_row = r.id), 0))";
        let sql = format!("SELECT coalesce(sum(amount - {stands}), 0) {}", rows_of(place, stolen));
        self.number(sql).await / one(place)
    }

    async fn write(&self, who: usize, ops: Vec<Value>) {
        let ops: Vec<Value> = ops.into_iter().map(|op| with(op, "override", json!(true))).collect();
        let count = ops.len();
        match who {
            3 => assert_eq!(on_the_web(&self.bench, "m-1", Author::Web, ops).await, count as i64),
            who => drop(self.bench.check(&[first(), second(), other_client()][who], SET, ops, &[]).await),
        }
    }

    async fn act(&mut self, act: Act) {
        match act {
            Act::Move { who, place, to_stolen, most } => {
                let part = self.movable(place, !to_stolen).await.min(most);
                if part > 0 {
                    let (from, to) =
                        (self.amount(place, !to_stolen).await, self.amount(place, to_stolen).await);
                    let ops = vec![
                        lot(place, to_stolen).set(to, to + part),
                        lot(place, !to_stolen).set(from, from - part),
                    ];
                    self.write(who, ops).await;
                }
            }
            Act::Book { web, place, stolen, to } => {
                let held = self.amount(place, stolen).await;
                let reserved = "(SELECT sum(amount) FROM stock_earmark WHERE stock_row = r.id)";
                let sql = format!("SELECT coalesce(sum({reserved}), 0) {}", rows_of(place, stolen));
                let to = to.max(self.number(sql).await / one(place));
                if to != held {
                    self.write(if web { 3 } else { 2 }, vec![lot(place, stolen).set(held, to)]).await;
                    *self.sums.entry(place).or_default() += to - held;
                }
            }
            Act::Reserve { place, stolen } => {
                let (rows, one) = (rows_of(place, stolen), one(place));
                let sql = format!(
                    "INSERT OR IGNORE INTO stock_earmark SELECT id, 'mission', 'x', {one}, 0 {rows} LIMIT 1"
                );
                self.bench.sql(sql).await;
            }
            Act::Offer { place, stolen } => {
                let (rows, one) = (rows_of(place, stolen), one(place));
                let sql =
                    format!("INSERT OR IGNORE INTO stock_offer SELECT 'o-' || id, id, {one} {rows} LIMIT 1");
                self.bench.sql(sql).await;
            }
            Act::Rebook { place, stolen, unit } => {
                if self.amount(place, stolen).await > 0 {
                    let keeping = Keeping::Pool(format!("u-{unit}").into());
                    rebook(&self.bench, lot(place, stolen), keeping).await;
                }
            }
            Act::Undo { from, to, administrator } => self.undo(from, to, administrator).await,
        }
    }

    async fn undo(&mut self, from: u8, to: u8, administrator: bool) {
        let now = self.bench.clock.now();
        let ago = |seconds: u8| now.minus(Duration::from_secs(u64::from(seconds)));
        let writes = Writes {
            client: "c-1".into(),
            member: MemberId::new("m-1"),
            from: ago(from.max(to)),
            to: ago(from.min(to)),
        };
        let word = if administrator { Word::Administrator("root".to_owned()) } else { Word::Member };
        let run = async |mode| {
            let undo = Undo::new(writes.clone(), word.clone(), &[UndoArea::Stock], mode);
            self.bench.backend().undo_for(undo).await.expect("an undo")
        };
        let promised = run(Mode::Preview).await;
        let done = run(Mode::Apply).await;
        assert_eq!(promised, done);
        let again = run(Mode::Apply).await;
        assert!(again.iter().all(|outcome| outcome.end.is_err()), "{again:?}");
    }

    async fn check(&mut self) {
        for (place, at) in PLACES.iter().enumerate() {
            let sum = self.amount(place, false).await + self.amount(place, true).await;
            assert_eq!(sum, self.sums.get(&place).copied().unwrap_or(0), "{at:?}");
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

    /// STK-13, STK-16, STK-19: see the head of this file.
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
