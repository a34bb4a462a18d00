//! The locations of the warehouse, at which stock and ships can be (RES-15, TYP-09).

use std::collections::HashMap;

use exchange_api::types::{LocationLink, LocationLinkKind, LocationRef};
use rusqlite::Connection;

use crate::store::StoreError;

/// A location of the warehouse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarehouseLocation {
    /// The internal id of the location.
    pub id: String,
    /// The display name of the location.
    pub name: String,
    /// The id of the location's city in the external catalogue (UEX).
    pub city: Option<i64>,
    /// The id of the location's space station in the external catalogue (UEX).
    pub station: Option<i64>,
}

impl WarehouseLocation {
    /// Returns the external link of the location: the link to its city or, without a city, to its space
    /// station (RES-15).
    #[must_use]
    pub fn external_link(&self) -> Option<(LocationLinkKind, i64)> {
        let city = self.city.map(|id| (LocationLinkKind::City, id));
        city.or_else(|| self.station.map(|id| (LocationLinkKind::SpaceStation, id)))
    }
}

/// An index of all locations. References resolve only to visible locations. Hidden locations can be looked up
/// by id, because older stock and ships can be there.
#[derive(Clone, Debug, Default)]
pub struct LocationIndex {
    by_name: Vec<WarehouseLocation>,
    by_id: HashMap<String, WarehouseLocation>,
    by_city: HashMap<i64, Vec<usize>>,
    by_station: HashMap<i64, Vec<usize>>,
}

impl LocationIndex {
    pub(super) fn from_table(connection: &Connection) -> Result<Self, StoreError> {
        let mut rows = connection
            .prepare_cached("SELECT id, name, city, station, hidden FROM location ORDER BY name, id")?;
        let mut rows = rows.query([])?;
        let mut places = Self::default();
        while let Some(row) = rows.next()? {
            let place = WarehouseLocation {
                id: row.get(0)?,
                name: row.get(1)?,
                city: row.get(2)?,
                station: row.get(3)?,
            };
            places.by_id.insert(place.id.clone(), place.clone());
            if row.get(4)? {
                continue;
            }
            let at = places.by_name.len();
            if let Some(city) = place.city {
                places.by_city.entry(city).or_default().push(at);
            }
            if let Some(station) = place.station {
                places.by_station.entry(station).or_default().push(at);
            }
            places.by_name.push(place);
        }
        Ok(places)
    }

    /// Returns all visible locations, sorted by name.
    #[must_use]
    pub fn visible_locations(&self) -> &[WarehouseLocation] {
        &self.by_name
    }

    /// Returns the location with an id, whether it is visible or hidden.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&WarehouseLocation> {
        self.by_id.get(id)
    }

    /// Finds the visible location to which a reference refers: by its link or, if no location has the link,
    /// by its exact name. If several locations have the link, the name selects one of them. Returns `None`
    /// unless exactly one location matches.
    #[must_use]
    pub fn find_location(&self, reference: &LocationRef) -> Option<&WarehouseLocation> {
        let name = reference.name.as_ref().map(|name| name.as_str());
        let linked: Vec<&WarehouseLocation> =
            reference.uex.as_ref().map(|link| self.find_linked(link)).unwrap_or_default();
        if let [only] = linked[..] {
            return Some(only);
        }
        let name = name?;
        let named = |place: &&WarehouseLocation| place.name == name;
        let mut found = if linked.is_empty() {
            let first = self.by_name.partition_point(|place| place.name.as_str() < name);
            self.by_name.get(first..).unwrap_or_default().iter().take_while(named).collect()
        } else {
            linked.into_iter().filter(named).collect::<Vec<_>>()
        };
        found.pop().filter(|_| found.is_empty())
    }

    fn find_linked(&self, link: &LocationLink) -> Vec<&WarehouseLocation> {
        let places = match link.kind {
            LocationLinkKind::City => &self.by_city,
            LocationLinkKind::SpaceStation => &self.by_station,
            _ => return Vec::new(),
        };
        let found = places.get(&link.id.get()).map(Vec::as_slice).unwrap_or_default();
        found.iter().filter_map(|&at| self.by_name.get(at)).collect()
    }
}
