//! The four areas with a feed, and the properties of their entries.

use std::fmt;

use exchange_api::{
    Contract,
    call_views::FeedRead,
    calls::{
        BlueprintsReadCall, BlueprintsReadOptions, OrgStockReadCall, OrgStockReadOptions, ShipsReadCall,
        ShipsReadOptions, StockReadCall, StockReadOptions,
    },
    scopes::Scope,
    types::{Blueprint, OrgStockLot, OrgStockPage, OrgUnit, Ship, StockLot},
    views::FeedPage,
};

use super::commit::ReplicaRow;
use crate::error::{Error, ErrorKind};

/// An area of the exchange with a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Area {
    /// The member's blueprints.
    Blueprints,
    /// The member's stock.
    Stock,
    /// The member's ships.
    Ships,
    /// The pools of the units that the member belongs to.
    OrgStock,
}

impl Area {
    /// All areas.
    pub const ALL: [Self; 4] = [Self::Blueprints, Self::Stock, Self::Ships, Self::OrgStock];

    /// Returns the name used in files, spans and status: `blueprints`, `stock`, `ships` or `org-stock`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blueprints => "blueprints",
            Self::Stock => "stock",
            Self::Ships => "ships",
            Self::OrgStock => "org-stock",
        }
    }

    /// Returns the area with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|area| area.name() == name)
    }

    /// Returns the scope that a token needs to read the feed.
    #[must_use]
    pub const fn scope(self) -> Scope {
        match self {
            Self::Blueprints => Scope::ExchangeBlueprintsRead,
            Self::Stock => Scope::ExchangeStockRead,
            Self::Ships => Scope::ExchangeHangarRead,
            Self::OrgStock => Scope::ExchangeOrgstockRead,
        }
    }

    /// Returns true for internal data of the organization, which may be kept for at most 7 days (OST-14).
    #[must_use]
    pub const fn is_organization_data(self) -> bool {
        matches!(self, Self::OrgStock)
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A collection that is stored locally: an area, or the demand of the organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Collection {
    /// The entries of an area and their merge baselines.
    Area(Area),
    /// The demand of the organization.
    Demand,
}

impl Collection {
    /// All collections.
    pub const ALL: [Self; 5] = [
        Self::Area(Area::Blueprints),
        Self::Area(Area::Stock),
        Self::Area(Area::Ships),
        Self::Area(Area::OrgStock),
        Self::Demand,
    ];

    /// The collections that may be kept for 7 days (LIM-38).
    pub const ORGANIZATION: [Self; 2] = [Self::Area(Area::OrgStock), Self::Demand];

    /// Returns the name of the area, or `demand`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Area(area) => area.name(),
            Self::Demand => "demand",
        }
    }
}

impl fmt::Display for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The entry type of an area's feed. This trait is sealed: it is implemented only for the four types of the
/// contract.
pub trait FeedEntry: Contract + Clone + fmt::Debug + PartialEq + Sync + sealed::Sealed + 'static {
    /// The area whose feed contains these entries.
    const AREA: Area;

    /// The API call that reads a page.
    type Read: FeedRead<Success = Self::Page>;

    /// The page type of the feed.
    type Page: FeedPage<Item = Self> + Send;

    /// Returns the call for the first page of a snapshot.
    fn first_page() -> Self::Read;

    /// Returns the key of the entry in the feed. Keys are opaque strings (CON-07).
    fn key(&self) -> &str;

    /// Returns the units of the pools that the member may read, if pages list them (OST-04).
    fn units(_page: &Self::Page) -> Option<&[OrgUnit]> {
        None
    }

    /// Serializes the entry for a store.
    ///
    /// # Errors
    /// Never fails for an entry received from the exchange, because all values of the contract can be
    /// serialized.
    fn to_row(&self) -> Result<ReplicaRow, Error> {
        Ok(ReplicaRow { key: self.key().into(), unit: None, body: encode_value(self)?, details: None })
    }

    /// Parses an entry from a store.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the row is corrupt.
    fn from_row(row: &ReplicaRow) -> Result<Self, Error> {
        decode_value(&row.body)
    }
}

impl FeedEntry for Blueprint {
    const AREA: Area = Area::Blueprints;
    type Read = BlueprintsReadCall;
    type Page = exchange_api::types::BlueprintPage;

    fn first_page() -> Self::Read {
        BlueprintsReadCall { options: BlueprintsReadOptions::default() }
    }

    fn key(&self) -> &str {
        self.key.as_str()
    }
}

impl FeedEntry for StockLot {
    const AREA: Area = Area::Stock;
    type Read = StockReadCall;
    type Page = exchange_api::types::StockPage;

    fn first_page() -> Self::Read {
        StockReadCall { options: StockReadOptions::default() }
    }

    fn key(&self) -> &str {
        self.key.as_str()
    }
}

impl FeedEntry for Ship {
    const AREA: Area = Area::Ships;
    type Read = ShipsReadCall;
    type Page = exchange_api::types::ShipPage;

    fn first_page() -> Self::Read {
        ShipsReadCall { options: ShipsReadOptions::default() }
    }

    // A20: the key in a ship's tombstone is the `shipId`.
    fn key(&self) -> &str {
        self.ship_id.as_str()
    }
}

/// The holders' entries of a lot are stored separately, because they are deleted when the scope for details
/// is lost (OST-10).
impl FeedEntry for OrgStockLot {
    const AREA: Area = Area::OrgStock;
    type Read = OrgStockReadCall;
    type Page = OrgStockPage;

    fn first_page() -> Self::Read {
        OrgStockReadCall { options: OrgStockReadOptions::default() }
    }

    fn key(&self) -> &str {
        self.key.as_str()
    }

    fn units(page: &Self::Page) -> Option<&[OrgUnit]> {
        Some(&page.units)
    }

    fn to_row(&self) -> Result<ReplicaRow, Error> {
        let details = self.entries.as_ref().map(encode_value).transpose()?;
        let (key, unit) = (self.key().into(), Some(self.unit.id.as_str().into()));
        let body = match &details {
            None => encode_value(self)?,
            Some(_) => encode_value(&Self { entries: None, ..self.clone() })?,
        };
        Ok(ReplicaRow { key, unit, body, details })
    }

    fn from_row(row: &ReplicaRow) -> Result<Self, Error> {
        let (Some(details), Some((b'}', lot))) = (&row.details, row.body.split_last()) else {
            return decode_value(&row.body);
        };
        // A lot has at least one property, so the inserted property needs a comma.
        decode_value(&[lot, br#","entries":"#, details, b"}"].concat())
    }
}

fn encode_value<T: serde::Serialize + ?Sized>(value: &T) -> Result<Box<[u8]>, Error> {
    serde_json::to_vec(value)
        .map(Vec::into_boxed_slice)
        .map_err(|_| Error::new(ErrorKind::Storage, "an entry cannot be serialized"))
}

/// Parses a stored entry. The error omits the cause, because the cause might contain stored values.
fn decode_value<T: Contract>(bytes: &[u8]) -> Result<T, Error> {
    T::parse(bytes).map_err(|_| Error::new(ErrorKind::Storage, "corrupt stored entry: cannot be parsed"))
}

mod sealed {
    use super::{Blueprint, OrgStockLot, Ship, StockLot};

    pub trait Sealed {}

    impl Sealed for Blueprint {}
    impl Sealed for StockLot {}
    impl Sealed for Ship {}
    impl Sealed for OrgStockLot {}
}
