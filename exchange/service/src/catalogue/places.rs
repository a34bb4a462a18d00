//! Locations: the only places at which stock or a ship can be (RES-15, TYP-09).

use std::collections::HashMap;

use exchange_api::types::{LocationLink, LocationLinkKind, LocationRef};
use rusqlite::Connection;

use crate::store::StoreError;

/// A location of the warehouse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The service's own key.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The external catalogue's id of its city.
    pub city: Option<i64>,
    /// The external catalogue's id of its space station.
    pub station: Option<i64>,
}

impl Place {
    /// The link that answers show: a city's wins over a space station's (RES-15).
    #[must_use]
    pub fn link(&self) -> Option<(LocationLinkKind, i64)> {
        let city = self.city.map(|id| (LocationLinkKind::City, id));
        city.or_else(|| self.station.map(|id| (LocationLinkKind::SpaceStation, id)))
    }
}

/// All locations: those that are not hidden can be named, the others only be looked up, for what was
/// there before they were hidden.
#[derive(Clone, Debug, Default)]
pub struct Places {
    by_name: Vec<Place>,
    by_id: HashMap<String, Place>,
    by_city: HashMap<i64, Vec<usize>>,
    by_station: HashMap<i64, Vec<usize>>,
}

impl Places {
    pub(super) fn read(connection: &Connection) -> Result<Self, StoreError> {
        let mut rows = connection
            .prepare_cached("SELECT id, name, city, station, hidden FROM location ORDER BY name, id")?;
        let mut rows = rows.query([])?;
        let mut places = Self::default();
        while let Some(row) = rows.next()? {
            let place = Place { id: row.get(0)?, name: row.get(1)?, city: row.get(2)?, station: row.get(3)? };
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

    /// All that are not hidden, ordered by name.
    #[must_use]
    pub fn all(&self) -> &[Place] {
        &self.by_name
    }

    /// The location of a key, hidden or not.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Place> {
        self.by_id.get(id)
    }

    /// The location that a reference names: by its link, then by its exact name. Of several with one
    /// link, the one of the name that came along; none when that does not tell.
    #[must_use]
    pub fn find(&self, reference: &LocationRef) -> Option<&Place> {
        let name = reference.name.as_ref().map(|name| name.as_str());
        let linked: Vec<&Place> = reference.uex.as_ref().map(|link| self.linked(link)).unwrap_or_default();
        if let [only] = linked[..] {
            return Some(only);
        }
        let name = name?;
        let named = |place: &&Place| place.name == name;
        let mut found = if linked.is_empty() {
            let first = self.by_name.partition_point(|place| place.name.as_str() < name);
            self.by_name.get(first..).unwrap_or_default().iter().take_while(named).collect()
        } else {
            linked.into_iter().filter(named).collect::<Vec<_>>()
        };
        found.pop().filter(|_| found.is_empty())
    }

    fn linked(&self, link: &LocationLink) -> Vec<&Place> {
        let places = match link.kind {
            LocationLinkKind::City => &self.by_city,
            LocationLinkKind::SpaceStation => &self.by_station,
            _ => return Vec::new(),
        };
        let found = places.get(&link.id.get()).map(Vec::as_slice).unwrap_or_default();
        found.iter().filter_map(|&at| self.by_name.get(at)).collect()
    }
}
