//! Sums the open demand of job orders with pure functions over needs and booked stock (DEM-03, DEM-04).

use std::collections::BTreeMap;

use crate::catalogue::VariantMatching;
use crate::catalogue::contents::EntryKind;

/// The minimum quality of stock that covers a need for good quality (DEM-02).
pub(super) const GOOD_QUALITY: i64 = 650;

/// A job order that is open or in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobOrder {
    /// Whether the blueprint of a variant also counts as a blueprint of the item.
    pub(super) matching: VariantMatching,
    pub(super) materials: Vec<MaterialNeed>,
    pub(super) items: Vec<ItemNeed>,
    pub(super) booked: Vec<BookedStock>,
}

/// An order's need for a material, in thousandths of SCU or in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MaterialNeed {
    pub(super) material: String,
    pub(super) floor: QualityFloor,
    pub(super) amount: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum QualityFloor {
    Any,
    Good,
}

/// An order's need for an item, in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ItemNeed {
    pub(super) item: String,
    pub(super) ordered: i64,
    pub(super) delivered: i64,
}

/// Stock that is earmarked to an order, in the stock's own measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BookedStock {
    pub(super) kind: EntryKind,
    pub(super) thing: String,
    pub(super) quality: i64,
    pub(super) amount: i64,
    /// Whether the order has received the stock. Delivered items are also counted in [`ItemNeed::delivered`].
    pub(super) delivered: bool,
}

/// The kind of order that causes the demand for a material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DemandOrigin {
    MaterialOrder,
    ItemOrder,
}

/// The open demand, summed over all orders. No key identifies an order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenDemand {
    pub(super) materials: BTreeMap<(String, QualityFloor, DemandOrigin), i64>,
    /// The number of pieces, by item and by whether the member can craft the item. An item can occur with
    /// both values, because only some orders accept blueprints of variants.
    pub(super) items: BTreeMap<(String, bool), i64>,
}

/// Sums the open amounts of all orders. A surplus for one order does not reduce the demand of another.
pub(super) fn sum_open_demand(
    orders: &[JobOrder],
    craftable: impl Fn(&str, VariantMatching) -> bool,
) -> OpenDemand {
    let mut open = OpenDemand::default();
    for order in orders {
        let source =
            if order.items.is_empty() { DemandOrigin::MaterialOrder } else { DemandOrigin::ItemOrder };
        let mut needs: BTreeMap<&str, [i64; 2]> = BTreeMap::new();
        for MaterialNeed { material, floor, amount } in &order.materials {
            let [any, good] = needs.entry(material).or_default();
            let need = match floor {
                QualityFloor::Any => any,
                QualityFloor::Good => good,
            };
            *need = need.saturating_add(*amount);
        }
        for (material, [any, good]) in needs {
            let (better, worse) = order.booked_of(material);
            // Each amount counts once: the surplus of good stock over the good-quality need covers the other
            // need.
            let rest = better.saturating_sub(good).max(0);
            let (good, any) = (good.saturating_sub(better), any.saturating_sub(worse).saturating_sub(rest));
            for (floor, amount) in [(QualityFloor::Good, good), (QualityFloor::Any, any)] {
                add_line(&mut open.materials, (material.to_owned(), floor, source), amount);
            }
        }
        for ItemNeed { item, ordered, delivered } in &order.items {
            let amount = ordered.saturating_sub(*delivered).saturating_sub(order.reserved_of(item));
            add_line(&mut open.items, (item.clone(), craftable(item, order.matching)), amount);
        }
    }
    open
}

impl JobOrder {
    /// Sums the booked stock of a material. Returns the amount at or above the good-quality floor and the
    /// amount below it.
    fn booked_of(&self, material: &str) -> (i64, i64) {
        let of_it = |booked: &&BookedStock| booked.kind == EntryKind::Material && booked.thing == material;
        let (better, worse): (Vec<_>, Vec<_>) =
            self.booked.iter().filter(of_it).partition(|booked| booked.quality >= GOOD_QUALITY);
        (total_amount(better), total_amount(worse))
    }

    /// Sums the pieces of an item that are reserved for the order and not delivered yet.
    fn reserved_of(&self, item: &str) -> i64 {
        let of_it = |booked: &&BookedStock| {
            booked.kind == EntryKind::Item && booked.thing == item && !booked.delivered
        };
        total_amount(self.booked.iter().filter(of_it))
    }
}

fn total_amount<'b>(booked: impl IntoIterator<Item = &'b BookedStock>) -> i64 {
    booked.into_iter().fold(0, |sum, booked| sum.saturating_add(booked.amount))
}

/// Adds an amount to a line. Omits lines without an open amount (DEM-05).
fn add_line<K: Ord>(lines: &mut BTreeMap<K, i64>, line: K, amount: i64) {
    if amount > 0 {
        let sum = lines.entry(line).or_default();
        *sum = sum.saturating_add(amount);
    }
}
