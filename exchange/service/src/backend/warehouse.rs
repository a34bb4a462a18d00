//! The warehouse: who holds what where, what of it is reserved, and what is offered on the Material
//! Exchange.
//!
//! Stock stands in rows. A member's rows of one [`Lot`] are what the member's clients see as one amount
//! (STK-02); a unit's rows of one lot, whoever holds them, are a lot of its pool (OST-02). Everything that
//! changes rows goes through [`write`] and [`tell`], so that both feeds hear of it.

mod earmarks;
mod measure;
mod table;

pub use earmarks::Purpose;
pub(crate) use earmarks::{Earmark, Earmarks};
pub(crate) use measure::{Measure, decimal};
pub(crate) use table::{LOT, ORG_STOCK, STOCK, by_ids, find, lot, rows, rows_of, tell, tell_pools, write};

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::catalogue::Index;
use crate::catalogue::contents::Kind;
use crate::ids::{MemberId, UnitId};
use crate::secrets;
use crate::store::limit;
use crate::time::Moment;

/// What stock is, where, and in which state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Lot {
    /// A material or an item.
    pub(crate) kind: Kind,
    /// Its key in the catalogue.
    pub(crate) material: String,
    /// How it is measured. A material whose measure changes has other lots from then on: no amount is
    /// ever read in another measure than it was booked in.
    pub(crate) measure: Measure,
    pub(crate) location: String,
    /// 0 for an item (STK-03).
    pub(crate) quality: i64,
    pub(crate) stolen: bool,
}

impl Lot {
    /// What the member's feed calls it; the same for every member.
    pub(crate) fn key(&self) -> String {
        self.hash(&[])
    }

    /// What the feed of a unit's pool calls it.
    pub(crate) fn pool_key(&self, unit: &UnitId) -> String {
        self.hash(&[unit.as_str()])
    }

    /// The same stock in the other stolen state (STK-19).
    pub(crate) fn twin(&self) -> Self {
        Self { stolen: !self.stolen, ..self.clone() }
    }

    /// What a person calls it: of what, where, at which quality.
    pub(crate) fn name(&self, index: &Index) -> String {
        let Self { kind, material, location, quality, stolen, .. } = self;
        let place = index.places().get(location).map_or(&**location, |place| &*place.name);
        let stolen = if *stolen { ", stolen" } else { "" };
        let quality = if *quality > 0 { format!(", quality {quality}") } else { String::new() };
        format!("{}, {place}{quality}{stolen}", index.name_of(*kind, material))
    }

    fn hash(&self, more: &[&str]) -> String {
        let Self { kind, material, measure, location, quality, stolen } = self;
        let mut digits = [0; 20];
        let quality = decimal_digits(*quality, &mut digits);
        let stolen = if *stolen { "stolen" } else { "" };
        let own = [kind.as_str(), material, measure.as_str(), location, quality, stolen];
        let mut all = String::with_capacity(256);
        let mut digits = [0; 20];
        for part in own.iter().chain(more) {
            // Each with its length, so that no two lots are written the same.
            all.push_str(decimal_digits(limit(part.len()), &mut digits));
            all.push(':');
            all.push_str(part);
        }
        URL_SAFE_NO_PAD.encode(secrets::head::<16>(&secrets::hash(all)))
    }
}

/// A number as text: every op of a set writes some for each lot that it names, and formatting would be most of that.
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

/// Whose a row is, beside its holder. In the order in which stock is booked out (STK-16).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keeping {
    /// The holder's own.
    Personal,
    /// Shared, and booked to no unit.
    Shared,
    /// In the pool of a unit.
    Pool(UnitId),
}

impl Keeping {
    pub(crate) const fn unit(&self) -> Option<&UnitId> {
        match self {
            Self::Pool(unit) => Some(unit),
            Self::Personal | Self::Shared => None,
        }
    }

    /// All pools alike.
    pub(crate) const fn rank(&self) -> u8 {
        match self {
            Self::Personal => 0,
            Self::Shared => 1,
            Self::Pool(_) => 2,
        }
    }
}

/// A row: an org-stock entry, when it is in a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) id: String,
    /// More than 0: thousandths of SCU, or pieces.
    pub(crate) amount: i64,
    pub(crate) keeping: Keeping,
    /// Moves once with every change set of the holder's that changes the row, and with every op on the entry
    /// that it is in a pool (A14).
    pub(crate) version: i64,
    pub(crate) note: Option<String>,
    /// How old it is, for what is booked out first.
    pub(crate) booked_at: Moment,
    /// The part that job orders, missions or donations have reserved: the largest of them, since they are
    /// reserved beside each other (OST-11).
    pub(crate) reserved: i64,
    pub(crate) offer: Option<Offer>,
    /// Its place in the order in which rows were written; none as long as it is not. One that an undo puts back is written
    /// anew, and so the youngest of its age.
    #[serde(skip)]
    pub(crate) number: Option<i64>,
}

impl Row {
    /// The less, the older it is: by when it was booked in, and of one moment by when it was written.
    pub(crate) fn age(&self) -> (Moment, i64) {
        (self.booked_at, self.number.unwrap_or(i64::MAX))
    }

    /// What can be booked out.
    pub(crate) const fn free(&self) -> i64 {
        self.amount - self.reserved
    }

    /// What nothing stands on: neither a reservation nor an offer.
    pub(crate) fn movable(&self) -> i64 {
        let offered = self.offer.as_ref().map_or(0, |offer| offer.amount);
        self.amount - self.reserved.max(offered)
    }
}

/// What a member offers of a row on the Material Exchange, at most what it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Offer {
    pub(crate) id: String,
    pub(crate) amount: i64,
}

/// A row where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) holder: &'a MemberId,
    pub(crate) lot: &'a Lot,
    /// The lot's key, where it is at hand: a hash, which is not made twice.
    pub(crate) key: Option<&'a str>,
    pub(crate) row: &'a Row,
}

/// Whether the key is at hand tells no two apart: it is the lot's.
impl PartialEq for Placed<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.holder, self.lot, self.row) == (other.holder, other.lot, other.row)
    }
}

impl<'a> Placed<'a> {
    /// What the holder's feed calls the lot.
    pub(crate) fn lot_key(&self) -> Cow<'a, str> {
        self.key.map_or_else(|| self.lot.key().into(), Cow::Borrowed)
    }

    /// Whether both stand in the same place: of one holder, in one lot, in one pool or none.
    pub(crate) fn is_beside(&self, other: &Placed<'_>) -> bool {
        (self.holder, self.lot, &self.row.keeping) == (other.holder, other.lot, &other.row.keeping)
    }
}

/// What becomes of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Booking<'a> {
    pub(crate) before: Option<Placed<'a>>,
    pub(crate) after: Option<Placed<'a>>,
}

/// Pairs what was and what is by the rows' ids, and leaves out what stayed as it was. New rows are in the order in which
/// they come, in which they are written, too: of one age the first is the oldest (STK-16).
pub(crate) fn bookings<'a>(
    before: impl IntoIterator<Item = Placed<'a>>,
    after: impl IntoIterator<Item = Placed<'a>>,
) -> Vec<Booking<'a>> {
    let before = before.into_iter().map(|placed| Booking { before: Some(placed), after: None });
    let mut all: Vec<Booking<'a>> = before.collect();
    let of = |(at, booking): (usize, &Booking<'a>)| booking.before.map(|placed| (&*placed.row.id, at));
    let places: HashMap<&str, usize> = all.iter().enumerate().filter_map(of).collect();
    for placed in after {
        match places.get(&*placed.row.id).and_then(|at| all.get_mut(*at)) {
            Some(booking) => booking.after = Some(placed),
            None => all.push(Booking { before: None, after: Some(placed) }),
        }
    }
    all.retain(|booking| booking.before != booking.after);
    all
}

/// What rows hold together.
pub(crate) fn held<'a>(rows: impl IntoIterator<Item = &'a Row>) -> i64 {
    rows.into_iter().map(|row| row.amount).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lot() -> Lot {
        Lot {
            kind: Kind::Material,
            material: "ore".to_owned(),
            measure: Measure::Scu,
            location: "city".to_owned(),
            quality: 7,
            stolen: false,
        }
    }

    /// STK-04: a row that stayed as it was is no booking, whether the key of its lot was at hand or not.
    #[test]
    fn a_key_at_hand_changes_nothing() {
        let row = Row {
            id: "r".to_owned(),
            amount: 5,
            keeping: Keeping::Personal,
            version: 1,
            note: None,
            booked_at: Moment::from_millis(0),
            reserved: 0,
            offer: None,
            number: None,
        };
        let (holder, lot) = (MemberId::new("m"), lot());
        let key = lot.key();
        let bare = Placed { holder: &holder, lot: &lot, key: None, row: &row };
        let keyed = Placed { key: Some(&key), ..bare };
        assert_eq!(bookings([bare], [keyed]), []);
        let more = Row { amount: 6, ..row.clone() };
        assert_eq!(bookings([keyed], [Placed { row: &more, ..bare }]).len(), 1);
    }

    /// STK-02, OST-02: every part of a lot tells it from others, its unit too; a twin's twin is the lot.
    #[test]
    fn every_part_of_a_lot_is_in_its_key() {
        let unit = UnitId::new("u");
        let mut keys = vec![lot().key(), lot().twin().key(), lot().pool_key(&unit)];
        keys.push(lot().pool_key(&UnitId::new("v")));
        for other in [
            Lot { kind: Kind::Item, ..lot() },
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
        assert_eq!(lot().twin().twin(), lot());
    }

    /// Keys are stored, in feeds too: what a lot is called never changes.
    #[test]
    fn a_lot_is_always_called_the_same() {
        assert_eq!(lot().key(), "FTokSaRy4m9mP_fGbQ-BQw");
        assert_eq!(lot().pool_key(&UnitId::new("u")), "xM4u0fZhlDmb8wKURxS77w");
        for number in [0, 7, 10, 1000, -1, -20, i64::MAX, i64::MIN] {
            assert_eq!(decimal_digits(number, &mut [0; 20]), number.to_string());
        }
    }
}
