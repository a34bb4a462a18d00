//! The warehouse: stock rows with their holders, locations, reservations and offers on the Material Exchange.
//!
//! Clients see a member's rows of one [`Lot`] as one amount (STK-02). The rows of one lot in a unit's pool,
//! of all holders, are a lot of the pool (OST-02). All changes of rows go through [`write_bookings`] and
//! [`publish_bookings`], so that the feeds of members and pools are complete.

mod earmarks;
mod measure;
mod table;

pub use earmarks::EarmarkPurpose;
pub(crate) use earmarks::{Earmark, EarmarkSet};
pub(crate) use measure::{Measure, trimmed_decimal};
pub(crate) use table::{
    LOT, ORG_STOCK, STOCK, find_lot, load_lot_rows, load_rows_by_id, load_rows_by_lot, publish_bookings,
    publish_pools, read_lot, write_bookings,
};

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::catalogue::CatalogueIndex;
use crate::catalogue::contents::EntryKind;
use crate::ids::{MemberId, UnitId};
use crate::secrets;
use crate::store::sql_limit;
use crate::time::Moment;

/// The properties of stock: kind, material, measure, location, quality and stolen flag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Lot {
    pub(crate) kind: EntryKind,
    /// The catalogue key of the material or item.
    pub(crate) material: String,
    /// The unit of measurement. If the measure of a material changes, new stock is booked into other lots, so
    /// an amount is never interpreted in a measure other than the one in which it was booked.
    pub(crate) measure: Measure,
    pub(crate) location: String,
    /// The quality; always 0 for an item (STK-03).
    pub(crate) quality: i64,
    pub(crate) stolen: bool,
}

impl Lot {
    /// Returns the lot's key in the feeds of members. It is the same for every member.
    pub(crate) fn key(&self) -> String {
        self.hash(&[])
    }

    /// Returns the lot's key in the feed of a unit's pool.
    pub(crate) fn pool_key(&self, unit: &UnitId) -> String {
        self.hash(&[unit.as_str()])
    }

    /// Returns the same lot with the opposite stolen flag (STK-19).
    pub(crate) fn stolen_twin(&self) -> Self {
        Self { stolen: !self.stolen, ..self.clone() }
    }

    /// Formats the display name from material, location, quality and stolen flag.
    pub(crate) fn display_name(&self, index: &CatalogueIndex) -> String {
        let name = index.name_of(self.kind, &self.material);
        format!("{name}, {}{}", self.place_name(index), self.name_suffix())
    }

    /// Formats the display name as [`Self::display_name`] does, without the location.
    pub(crate) fn name_without_place(&self, index: &CatalogueIndex) -> String {
        format!("{}{}", index.name_of(self.kind, &self.material), self.name_suffix())
    }

    /// Returns the name of the location.
    pub(crate) fn place_name(&self, index: &CatalogueIndex) -> String {
        index
            .locations()
            .get(&self.location)
            .map_or_else(|| self.location.clone(), |place| place.name.clone())
    }

    fn name_suffix(&self) -> String {
        let stolen = if self.stolen { ", stolen" } else { "" };
        let quality = if self.quality > 0 { format!(", quality {}", self.quality) } else { String::new() };
        format!("{quality}{stolen}")
    }

    fn hash(&self, more: &[&str]) -> String {
        let Self { kind, material, measure, location, quality, stolen } = self;
        let mut digits = [0; 20];
        let quality = decimal_digits(*quality, &mut digits);
        let stolen = if *stolen { "stolen" } else { "" };
        let parts = [kind.as_str(), material, measure.as_str(), location, quality, stolen];
        let mut all = String::with_capacity(256);
        let mut digits = [0; 20];
        for part in parts.iter().chain(more) {
            // Each part is prefixed with its length, so that different lots have different hash inputs.
            all.push_str(decimal_digits(sql_limit(part.len()), &mut digits));
            all.push(':');
            all.push_str(part);
        }
        URL_SAFE_NO_PAD.encode(secrets::hash_prefix::<16>(&secrets::sha256(all)))
    }
}

/// Formats a number without allocation. Each op computes several lot keys, and `format!` would dominate the
/// cost.
fn decimal_digits(number: i64, digits: &mut [u8; 20]) -> &str {
    let (mut left, mut at) = (number.unsigned_abs(), digits.len());
    for (place, digit) in digits.iter_mut().enumerate().rev() {
        if left == 0 && at < 20 {
            if number < 0 {
                *digit = b'-';
                at = place;
            }
            break;
        }
        *digit = b'0' + u8::try_from(left % 10).unwrap_or_default();
        (left, at) = (left / 10, place);
    }
    digits.get(at..).and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default()
}

/// The kind of ownership of a stock row. The variants are in the order in which stock is booked out (STK-16).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StockOwnership {
    /// The personal stock of the holder.
    Personal,
    /// Stock that the holder shares without assigning it to a unit.
    Shared,
    /// Stock in the pool of a unit.
    Pool(UnitId),
}

impl StockOwnership {
    pub(crate) const fn pool_unit(&self) -> Option<&UnitId> {
        match self {
            Self::Pool(unit) => Some(unit),
            Self::Personal | Self::Shared => None,
        }
    }

    /// Returns the rank in the order of booking out. All pools have the same rank.
    pub(crate) const fn booking_rank(&self) -> u8 {
        match self {
            Self::Personal => 0,
            Self::Shared => 1,
            Self::Pool(_) => 2,
        }
    }
}

/// A stock row. A row in a pool is an org-stock entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StockRow {
    pub(crate) id: String,
    /// The amount in thousandths of SCU, or in pieces. Invariant: greater than 0.
    pub(crate) amount: i64,
    pub(crate) keeping: StockOwnership,
    /// The version. It is incremented once per change set of the holder that changes the row, and once per op
    /// on the pool entry (A14).
    pub(crate) version: i64,
    pub(crate) note: Option<String>,
    /// The time at which the row was booked in. Older rows are booked out first.
    pub(crate) booked_at: Moment,
    /// The reserved amount: the largest of the totals for job orders, missions and donations, which overlap
    /// (OST-11).
    pub(crate) reserved: i64,
    pub(crate) offer: Option<StockOffer>,
    /// The row's insertion number; `None` before the row is written. A restored row gets a new number, so it
    /// is the newest of the rows with the same booking time.
    #[serde(skip)]
    pub(crate) number: Option<i64>,
}

impl StockRow {
    /// Returns the sort key for age: the booking time, then the insertion number.
    pub(crate) fn age_key(&self) -> (Moment, i64) {
        (self.booked_at, self.number.unwrap_or(i64::MAX))
    }

    /// Returns the unreserved amount, which can be booked out.
    pub(crate) const fn free_amount(&self) -> i64 {
        self.amount - self.reserved
    }

    /// Returns the amount that is neither reserved nor offered.
    pub(crate) fn movable_amount(&self) -> i64 {
        let offered = self.offer.as_ref().map_or(0, |offer| offer.amount);
        self.amount - self.reserved.max(offered)
    }
}

/// An offer of a row's stock on the Material Exchange. The offered amount is at most the amount of the row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StockOffer {
    pub(crate) id: String,
    pub(crate) amount: i64,
}

/// A stock row with its holder and lot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedRow<'a> {
    pub(crate) holder: &'a MemberId,
    pub(crate) lot: &'a Lot,
    /// The lot's key, if it is already known; this saves computing its hash.
    pub(crate) key: Option<&'a str>,
    pub(crate) row: &'a StockRow,
}

/// Compares all fields except `key`, which is derived from the lot.
impl PartialEq for PlacedRow<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.holder, self.lot, self.row) == (other.holder, other.lot, other.row)
    }
}

impl<'a> PlacedRow<'a> {
    /// Returns the lot's key in the holder's feed.
    pub(crate) fn lot_key(&self) -> Cow<'a, str> {
        self.key.map_or_else(|| self.lot.key().into(), Cow::Borrowed)
    }

    /// Returns true if both rows have the same holder, lot and ownership.
    pub(crate) fn is_same_place(&self, other: &PlacedRow<'_>) -> bool {
        (self.holder, self.lot, &self.row.keeping) == (other.holder, other.lot, &other.row.keeping)
    }
}

/// The states of a row before and after a change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RowBooking<'a> {
    pub(crate) before: Option<PlacedRow<'a>>,
    pub(crate) after: Option<PlacedRow<'a>>,
}

/// Pairs the rows before and after a change by id, and omits unchanged rows. New rows keep their order,
/// because they are inserted in this order: among rows with the same booking time, the first one counts as
/// the oldest (STK-16).
pub(crate) fn pair_bookings<'a>(
    before: impl IntoIterator<Item = PlacedRow<'a>>,
    after: impl IntoIterator<Item = PlacedRow<'a>>,
) -> Vec<RowBooking<'a>> {
    let before = before.into_iter().map(|placed| RowBooking { before: Some(placed), after: None });
    let mut all: Vec<RowBooking<'a>> = before.collect();
    let of =
        |(index, booking): (usize, &RowBooking<'a>)| booking.before.map(|placed| (&*placed.row.id, index));
    let places: HashMap<&str, usize> = all.iter().enumerate().filter_map(of).collect();
    for placed in after {
        match places.get(&*placed.row.id).and_then(|index| all.get_mut(*index)) {
            Some(booking) => booking.after = Some(placed),
            None => all.push(RowBooking { before: None, after: Some(placed) }),
        }
    }
    all.retain(|booking| booking.before != booking.after);
    all
}

pub(crate) fn total_amount<'a>(rows: impl IntoIterator<Item = &'a StockRow>) -> i64 {
    rows.into_iter().map(|row| row.amount).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lot() -> Lot {
        Lot {
            kind: EntryKind::Material,
            material: "ore".to_owned(),
            measure: Measure::Scu,
            location: "city".to_owned(),
            quality: 7,
            stolen: false,
        }
    }

    /// STK-04: an unchanged row is omitted, whether or not the key of its lot was already known.
    #[test]
    fn precomputed_key_does_not_change_the_result() {
        let row = StockRow {
            id: "r".to_owned(),
            amount: 5,
            keeping: StockOwnership::Personal,
            version: 1,
            note: None,
            booked_at: Moment::from_millis(0),
            reserved: 0,
            offer: None,
            number: None,
        };
        let (holder, lot) = (MemberId::new("m"), lot());
        let key = lot.key();
        let bare = PlacedRow { holder: &holder, lot: &lot, key: None, row: &row };
        let keyed = PlacedRow { key: Some(&key), ..bare };
        assert_eq!(pair_bookings([bare], [keyed]), []);
        let more = StockRow { amount: 6, ..row.clone() };
        assert_eq!(pair_bookings([keyed], [PlacedRow { row: &more, ..bare }]).len(), 1);
    }

    /// STK-02, OST-02: every property of a lot affects its key, as does the unit of a pool.
    #[test]
    fn every_property_of_a_lot_affects_its_key() {
        let unit = UnitId::new("u");
        let mut keys = vec![lot().key(), lot().stolen_twin().key(), lot().pool_key(&unit)];
        keys.push(lot().pool_key(&UnitId::new("v")));
        for other in [
            Lot { kind: EntryKind::Item, ..lot() },
            Lot { material: "or".to_owned(), location: "ecity".to_owned(), ..lot() },
            Lot { measure: Measure::Piece, ..lot() },
            Lot { location: "cit".to_owned(), ..lot() },
            Lot { quality: 8, ..lot() },
        ] {
            keys.push(other.key());
        }
        assert!(keys.iter().all(|key| key.len() == 22), "{keys:?}");
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
        assert_eq!(lot().stolen_twin().stolen_twin(), lot());
    }

    /// Keys never change, because they are stored in tables and feeds.
    #[test]
    fn lot_keys_are_stable() {
        assert_eq!(lot().key(), "FTokSaRy4m9mP_fGbQ-BQw");
        assert_eq!(lot().pool_key(&UnitId::new("u")), "xM4u0fZhlDmb8wKURxS77w");
        for number in [0, 7, 10, 1000, -1, -20, i64::MAX, i64::MIN] {
            assert_eq!(decimal_digits(number, &mut [0; 20]), number.to_string());
        }
    }
}
