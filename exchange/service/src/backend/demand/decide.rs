//! What job orders come to: a plain function over what they need and what is booked to them (DEM-03, DEM-04).

use std::collections::BTreeMap;

use crate::catalogue::Matching;
use crate::catalogue::contents::Kind;

/// The least quality that counts for a good-quality requirement (DEM-02).
pub(super) const GOOD: i64 = 650;

/// A job order that is open or in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Whether blueprints of variants count.
    pub(super) matching: Matching,
    pub(super) materials: Vec<Material>,
    pub(super) items: Vec<Item>,
    pub(super) booked: Vec<Booked>,
}

/// What an order needs of a material: thousandths of SCU, or pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Material {
    pub(super) material: String,
    pub(super) floor: Floor,
    pub(super) amount: i64,
}

/// Which quality counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Floor {
    Any,
    Good,
}

/// What is ordered in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) item: String,
    pub(super) ordered: i64,
    pub(super) delivered: i64,
}

/// Stock that is reserved for an order, in the measure of what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Booked {
    pub(super) kind: Kind,
    pub(super) thing: String,
    pub(super) quality: i64,
    pub(super) amount: i64,
    /// Whether the order took it: of items it is among the delivered ones then.
    pub(super) delivered: bool,
}

/// Where the demand for a material comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    MaterialOrder,
    ItemOrder,
}

/// What is still to be had. Nothing here tells one order from another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) materials: BTreeMap<(String, Floor, Source), i64>,
    /// By the item, and whether the member can make it: an order that counts variants can be served by a
    /// blueprint that another one cannot.
    pub(super) items: BTreeMap<(String, bool), i64>,
}

/// Sums over orders what each of them still lacks: what one has too much serves no other.
pub(super) fn open(orders: &[Order], craftable: impl Fn(&str, Matching) -> bool) -> Open {
    let mut open = Open::default();
    for order in orders {
        let source = if order.items.is_empty() { Source::MaterialOrder } else { Source::ItemOrder };
        let mut needs: BTreeMap<&str, [i64; 2]> = BTreeMap::new();
        for Material { material, floor, amount } in &order.materials {
            let [any, good] = needs.entry(material).or_default();
            let need = match floor {
                Floor::Any => any,
                Floor::Good => good,
            };
            *need = need.saturating_add(*amount);
        }
        for (material, [any, good]) in needs {
            let (better, worse) = order.booked_of(material);
            // Stock counts once: what the good requirement leaves of it serves the other one.
            let rest = better.saturating_sub(good).max(0);
            let (good, any) = (good.saturating_sub(better), any.saturating_sub(worse).saturating_sub(rest));
            for (floor, amount) in [(Floor::Good, good), (Floor::Any, any)] {
                add(&mut open.materials, (material.to_owned(), floor, source), amount);
            }
        }
        for Item { item, ordered, delivered } in &order.items {
            let amount = ordered.saturating_sub(*delivered).saturating_sub(order.reserved_of(item));
            add(&mut open.items, (item.clone(), craftable(item, order.matching)), amount);
        }
    }
    open
}

impl Order {
    /// Stock of a material that is booked to it: at or above the floor of good quality, and below it.
    fn booked_of(&self, material: &str) -> (i64, i64) {
        let of_it = |booked: &&Booked| booked.kind == Kind::Material && booked.thing == material;
        let (better, worse): (Vec<_>, Vec<_>) =
            self.booked.iter().filter(of_it).partition(|booked| booked.quality >= GOOD);
        (sum(better), sum(worse))
    }

    /// Pieces of an item that are reserved for it, and not delivered yet.
    fn reserved_of(&self, item: &str) -> i64 {
        let of_it = |booked: &&Booked| booked.kind == Kind::Item && booked.thing == item && !booked.delivered;
        sum(self.booked.iter().filter(of_it))
    }
}

fn sum<'b>(booked: impl IntoIterator<Item = &'b Booked>) -> i64 {
    booked.into_iter().fold(0, |sum, booked| sum.saturating_add(booked.amount))
}

/// Lines with nothing open are left out (DEM-05).
fn add<K: Ord>(lines: &mut BTreeMap<K, i64>, line: K, amount: i64) {
    if amount > 0 {
        let sum = lines.entry(line).or_default();
        *sum = sum.saturating_add(amount);
    }
}
