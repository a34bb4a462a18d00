//! The four areas that have a feed, and what is particular to the entries of each.

use std::fmt;

use exchange_api::{
    Contract,
    call_views::FeedRead,
    calls::{
        BlueprintsRead, BlueprintsReadCall, OrgStockRead, OrgStockReadCall, ShipsRead, ShipsReadCall,
        StockRead, StockReadCall,
    },
    scopes::Scope,
    types::{Blueprint, OrgStockLot, OrgStockPage, OrgUnit, Ship, StockLot},
    views::FeedPage,
};

use super::commit::Row;
use crate::error::{Error, ErrorKind};

/// An area with a feed.
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
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Blueprints, Self::Stock, Self::Ships, Self::OrgStock];

    /// Its name in files, spans and status: `blueprints`, `stock`, `ships`, `org-stock`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blueprints => "blueprints",
            Self::Stock => "stock",
            Self::Ships => "ships",
            Self::OrgStock => "org-stock",
        }
    }

    /// The area of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|area| area.name() == name)
    }

    /// What a token needs for its feed.
    #[must_use]
    pub const fn scope(self) -> Scope {
        match self {
            Self::Blueprints => Scope::ExchangeBlueprintsRead,
            Self::Stock => Scope::ExchangeStockRead,
            Self::Ships => Scope::ExchangeHangarRead,
            Self::OrgStock => Scope::ExchangeOrgstockRead,
        }
    }

    /// Whether it is internal data of the organisation, which is kept for 7 days at most (OST-14).
    #[must_use]
    pub const fn is_of_organisation(self) -> bool {
        matches!(self, Self::OrgStock)
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What of the exchange is kept here: the areas, and the demand of the organisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Collection {
    /// The entries of an area, and what was kept to merge them.
    Area(Area),
    /// The demand of the organisation.
    Demand,
}

impl Collection {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Area(Area::Blueprints),
        Self::Area(Area::Stock),
        Self::Area(Area::Ships),
        Self::Area(Area::OrgStock),
        Self::Demand,
    ];

    /// Those that are kept for 7 days at most (LIM-38).
    pub const OF_ORGANISATION: [Self; 2] = [Self::Area(Area::OrgStock), Self::Demand];

    /// Its name: that of the area, or `demand`.
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

/// What an area's feed consists of. Implemented for the four types of the contract, and for nothing else.
pub trait Entry: Contract + Clone + fmt::Debug + PartialEq + Sync + sealed::Sealed + 'static {
    /// The area.
    const AREA: Area;

    /// The call that reads a page.
    type Read: FeedRead<Success = Self::Page>;

    /// The page.
    type Page: FeedPage<Item = Self> + Send;

    /// The call for the first page.
    fn first_page() -> Self::Read;

    /// Under which key the feed names it. Opaque (CON-07).
    fn key(&self) -> &str;

    /// The units of the pools that the member reads now, where pages tell them (OST-04).
    fn units(_page: &Self::Page) -> Option<&[OrgUnit]> {
        None
    }

    /// As it is kept.
    ///
    /// # Errors
    /// Never for what came from the exchange: every value of the contract can be written.
    fn to_row(&self) -> Result<Row, Error> {
        Ok(Row { key: self.key().into(), unit: None, body: written(self)?, details: None })
    }

    /// As it came.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`] when somebody else wrote the row.
    fn of_row(row: &Row) -> Result<Self, Error> {
        parsed(&row.body)
    }
}

impl Entry for Blueprint {
    const AREA: Area = Area::Blueprints;
    type Read = BlueprintsReadCall;
    type Page = exchange_api::types::BlueprintPage;

    fn first_page() -> Self::Read {
        BlueprintsReadCall { options: BlueprintsRead::default() }
    }

    fn key(&self) -> &str {
        self.key.as_str()
    }
}

impl Entry for StockLot {
    const AREA: Area = Area::Stock;
    type Read = StockReadCall;
    type Page = exchange_api::types::StockPage;

    fn first_page() -> Self::Read {
        StockReadCall { options: StockRead::default() }
    }

    fn key(&self) -> &str {
        self.key.as_str()
    }
}

impl Entry for Ship {
    const AREA: Area = Area::Ships;
    type Read = ShipsReadCall;
    type Page = exchange_api::types::ShipPage;

    fn first_page() -> Self::Read {
        ShipsReadCall { options: ShipsRead::default() }
    }

    // A20: a ship's tombstone has its `shipId` as key.
    fn key(&self) -> &str {
        self.ship_id.as_str()
    }
}

/// What each holder has is kept apart from the lot: it goes when its scope goes (OST-10), and the lot stays.
impl Entry for OrgStockLot {
    const AREA: Area = Area::OrgStock;
    type Read = OrgStockReadCall;
    type Page = OrgStockPage;

    fn first_page() -> Self::Read {
        OrgStockReadCall { options: OrgStockRead::default() }
    }

    fn key(&self) -> &str {
        self.key.as_str()
    }

    fn units(page: &Self::Page) -> Option<&[OrgUnit]> {
        Some(&page.units)
    }

    fn to_row(&self) -> Result<Row, Error> {
        let details = self.entries.as_ref().map(written).transpose()?;
        let (key, unit) = (self.key().into(), Some(self.unit.id.as_str().into()));
        let body = match &details {
            None => written(self)?,
            Some(_) => written(&Self { entries: None, ..self.clone() })?,
        };
        Ok(Row { key, unit, body, details })
    }

    fn of_row(row: &Row) -> Result<Self, Error> {
        let (Some(details), Some((b'}', lot))) = (&row.details, row.body.split_last()) else {
            return parsed(&row.body);
        };
        // A lot has members, so there is one before the comma.
        parsed(&[lot, br#","entries":"#, details, b"}"].concat())
    }
}

fn written<T: serde::Serialize + ?Sized>(value: &T) -> Result<Box<[u8]>, Error> {
    serde_json::to_vec(value)
        .map(Vec::into_boxed_slice)
        .map_err(|_| Error::new(ErrorKind::Storage, "an entry cannot be written"))
}

/// Without what was wrong with it, which might show what the row holds.
fn parsed<T: Contract>(bytes: &[u8]) -> Result<T, Error> {
    T::parse(bytes).map_err(|_| Error::new(ErrorKind::Storage, "an entry that is kept cannot be read"))
}

mod sealed {
    use super::{Blueprint, OrgStockLot, Ship, StockLot};

    pub trait Sealed {}

    impl Sealed for Blueprint {}
    impl Sealed for StockLot {}
    impl Sealed for Ship {}
    impl Sealed for OrgStockLot {}
}
