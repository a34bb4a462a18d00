//! Model test of demand: random units, orders, stock and blueprints. The results are compared with a direct
//! interpreter of the specification, which computes in thousandths and pieces.
//!
//! `MODEL_CASES` sets the number of cases.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::select;

use super::demand::{DEMAND, PRODUCTS};
use super::*;
use crate::support::cases;

const UNITS: usize = 4;
const MATERIALS: [(&str, &str); 3] = [("metal", "SCU"), ("ore", "SCU"), ("parts", "PIECE")];
const ITEMS: [&str; 2] = ["gun", "ores"];

#[derive(Clone, Debug)]
struct Unit {
    shares: bool,
    /// The index of the parent unit, which is smaller than the unit's own index.
    above: Option<usize>,
    /// Whether the member leads the unit; `None` if the member does not belong to it.
    member: Option<bool>,
}

#[derive(Clone, Debug)]
struct Order {
    unit: usize,
    state: &'static str,
    variants: bool,
    /// The required amounts by material and by whether good quality is required.
    materials: BTreeMap<(usize, bool), i64>,
    /// The ordered and the delivered number of pieces by item.
    items: BTreeMap<usize, (i64, i64)>,
    booked: Vec<OrderBooking>,
}

#[derive(Clone, Debug)]
struct OrderBooking {
    /// The index of a material; higher numbers are items.
    thing: usize,
    quality: i64,
    amount: i64,
    delivered: bool,
}

fn unit(number: usize) -> impl Strategy<Value = Unit> {
    let above = if number == 0 { Just(None).boxed() } else { prop::option::of(0..number).boxed() };
    (any::<bool>(), above, prop::option::of(any::<bool>())).prop_map(|(shares, above, member)| Unit {
        shares,
        above,
        member,
    })
}

fn booked() -> impl Strategy<Value = OrderBooking> {
    let quality = select(vec![0, 649, 650, 1000]);
    (0..MATERIALS.len() + ITEMS.len(), quality, 1_i64..6, any::<bool>())
        .prop_map(|(thing, quality, amount, delivered)| OrderBooking { thing, quality, amount, delivered })
}

fn order() -> impl Strategy<Value = Order> {
    let state = select(vec!["open", "open", "in-progress", "completed", "cancelled"]);
    let materials = prop::collection::btree_map((0..MATERIALS.len(), any::<bool>()), 1_i64..12, 0..4);
    let items = prop::collection::btree_map(0..ITEMS.len(), (1_i64..9, 0_i64..5), 0..2);
    (0..UNITS, state, any::<bool>(), materials, items, prop::collection::vec(booked(), 0..6)).prop_map(
        |(unit, state, variants, materials, items, booked)| Order {
            unit,
            state,
            variants,
            materials,
            items,
            booked,
        },
    )
}

/// Returns the expected lines of either kind, or `None` if the demand is withheld.
fn expected(units: &[Unit], orders: &[Order], held: &BTreeSet<usize>) -> Option<BTreeSet<String>> {
    let is_above = |upper: usize, lower: usize| {
        let mut index = lower;
        while let Some(next) = units[index].above {
            if next == upper {
                return true;
            }
            index = next;
        }
        false
    };
    let permitted = units.iter().enumerate().any(|(number, unit)| {
        unit.shares
            && (unit.member.is_some()
                || (0..UNITS).any(|upper| units[upper].member == Some(true) && is_above(upper, number)))
    });
    if !permitted {
        return None;
    }
    let (mut materials, mut items) = (BTreeMap::new(), BTreeMap::new());
    for order in orders {
        let is_open = order.state == "open" || order.state == "in-progress";
        if !is_open || units[order.unit].member.is_none() {
            continue;
        }
        let source = if order.items.is_empty() { "material-order" } else { "item-order" };
        for thing in 0..MATERIALS.len() {
            let mut good_amount = order.materials.get(&(thing, true)).copied().unwrap_or(0);
            let mut any = order.materials.get(&(thing, false)).copied().unwrap_or(0);
            for booked in order.booked.iter().filter(|booked| booked.thing == thing) {
                for _ in 0..booked.amount {
                    if good_amount > 0 && booked.quality >= 650 {
                        good_amount -= 1;
                    } else if any > 0 {
                        any -= 1;
                    }
                }
            }
            *materials.entry((thing, 650, source)).or_insert(0) += good_amount;
            *materials.entry((thing, 0, source)).or_insert(0) += any;
        }
        for (item, (ordered, delivered)) in &order.items {
            let mut open = *ordered;
            for _ in 0..*delivered {
                open -= 1;
            }
            for booked in &order.booked {
                if booked.thing == MATERIALS.len() + item && !booked.delivered {
                    open -= booked.amount;
                }
            }
            let craftable = held.contains(item) || (order.variants && !held.is_empty());
            if open > 0 {
                *items.entry((*item, craftable)).or_insert(0) += open;
            }
        }
    }
    let mut lines = BTreeSet::new();
    for ((thing, floor, source), amount) in materials {
        let (id, unit) = MATERIALS[thing];
        if amount > 0 {
            lines.insert(format!("{id} {floor} {amount} {unit} {source}"));
        }
    }
    lines.extend(
        items.into_iter().map(|((item, craftable), amount)| format!("{} {amount} {craftable}", ITEMS[item])),
    );
    Some(lines)
}

/// Returns SQL that writes the same data to the store, where SCU amounts are whole numbers.
fn seed_sql(units: &[Unit], orders: &[Order], held: &BTreeSet<usize>) -> String {
    let mut sql = String::from("DELETE FROM membership; DELETE FROM unit;");
    for (number, unit) in units.iter().enumerate() {
        let above = unit.above.map_or("NULL".to_owned(), |above| format!("'u-{above}'"));
        sql += &format!(
            "INSERT INTO unit (id, name, shorthand, kind, profit_sharing, above)
             VALUES ('u-{number}', 'U', 'U', 'SQUADRON', {}, {above});",
            unit.shares
        );
        if let Some(leads) = unit.member {
            sql += &format!(
                "INSERT INTO membership (member, unit, leadership) VALUES ('m-1', 'u-{number}', {leads});"
            );
        }
    }
    let scale =
        |thing: usize| if MATERIALS.get(thing).is_some_and(|(_, unit)| *unit == "SCU") { 1000 } else { 1 };
    for (number, order) in orders.iter().enumerate() {
        sql += &format!(
            "INSERT INTO job_order VALUES ('o-{number}', {number}, 'u-{}', '{}', {});",
            order.unit, order.state, order.variants
        );
        for ((thing, is_good), amount) in &order.materials {
            let (id, amount) = (MATERIALS[*thing].0, amount * scale(*thing));
            sql += &format!(
                "INSERT INTO job_order_material VALUES ('o-{number}', '{id}', {is_good}, {amount});"
            );
        }
        for (item, (ordered, delivered)) in &order.items {
            let id = ITEMS[*item];
            sql +=
                &format!("INSERT INTO job_order_item VALUES ('o-{number}', '{id}', {ordered}, {delivered});");
        }
        for (index, OrderBooking { thing, quality, amount, delivered }) in order.booked.iter().enumerate() {
            let (kind, id, unit) = match MATERIALS.get(*thing) {
                Some((id, unit)) => ("MATERIAL", *id, *unit),
                None => ("ITEM", ITEMS[thing - MATERIALS.len()], "PIECE"),
            };
            let amount = amount * scale(*thing);
            sql += &format!(
                "INSERT INTO stock_row (id, member, lot, kind, material, measure, location, quality, stolen, amount,
                 shared, version, booked_at) VALUES ('s-{number}-{index}', 'm-2', 'lot', '{kind}', '{id}', '{unit}',
                 'l-1', {quality}, 0, {amount}, 0, 1, 0);
                 INSERT INTO stock_earmark (stock_row, kind, target, amount, delivered)
                 VALUES ('s-{number}-{index}', 'job-order', 'o-{number}', {amount}, {delivered});"
            );
        }
    }
    for item in held {
        let product = ["BP_RIFLE", "BP_KNIFE"][*item];
        sql += &format!("INSERT INTO blueprint (member, product) VALUES ('m-1', '{product}');");
    }
    sql
}

fn parse_lines(body: &Value) -> Option<BTreeSet<String>> {
    let list = |name: &str| body[name].as_array().expect("an array").clone();
    if body.get("reason").is_some() {
        assert!(list("materials").is_empty() && list("items").is_empty());
        return None;
    }
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let mut lines = Vec::new();
    for line in list("materials") {
        let (open, bt) = (&line["openQuantity"], text(&line["material"]["bt"]));
        let (unit, source) = (text(&open["unit"]), text(&line["source"]));
        lines.push(format!("{bt} {} {} {unit} {source}", line["minQuality"], open["amount"]));
    }
    for line in list("items") {
        let (open, bt) = (&line["openQuantity"]["amount"], text(&line["item"]["bt"]));
        lines.push(format!("{bt} {open} {}", line["craftableByMe"]));
    }
    let count = lines.len();
    let lines: BTreeSet<String> = lines.into_iter().collect();
    assert_eq!(lines.len(), count, "a line occurs twice");
    Some(lines)
}

proptest! {
    #![proptest_config(cases(40))]

    /// DEM-02, DEM-03, DEM-04, DEM-05, DEM-06, DEM-08: the demand equals that of the interpreter (see the
    /// module documentation).
    #[test]
    fn demand_matches_the_reference_interpreter(
        units in (unit(0), unit(1), unit(2), unit(3)),
        orders in prop::collection::vec(order(), 0..7),
        held in prop::collection::btree_set(0..ITEMS.len(), 0..=ITEMS.len()),
    ) {
        let units = [units.0, units.1, units.2, units.3];
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("the runtime starts");
        runtime.block_on(async {
            let fixture = BackendFixture::new().await;
            fixture.sql(PRODUCTS).await;
            fixture.sql(seed_sql(&units, &orders, &held)).await;
            assert_eq!(parse_lines(&fixture.get(&first(), DEMAND).await.body), expected(&units, &orders, &held));
        });
    }
}
