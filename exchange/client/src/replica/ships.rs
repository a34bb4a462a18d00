//! The first synchronisation of ships: links before anything is created, for else every ship would be there twice
//! (SHP-21).

use std::collections::BTreeMap;

use exchange_api::types::{CatalogKey, ExternalId, LinkShip, Ship, ShipId};

use super::merge::ShipValues;
use crate::error::{Error, ErrorKind};

/// A ship as this side has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalShip {
    /// This side's own id.
    pub external_id: ExternalId,
    /// What it says of the ship. Its type is resolved before.
    pub values: ShipValues,
}

/// A ship that could be one of several of the exchange's: the member is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsure {
    /// This side's.
    pub local: LocalShip,
    /// Those of the same type that it could be.
    pub candidates: Vec<ShipId>,
}

/// What to do when ships are synchronised for the first time: first [`links`](Self::links), then, once all of them
/// are applied, [`create`](Self::create); ships of the exchange that are not matched are taken here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FirstShips {
    /// Linked already.
    pub linked: Vec<(LocalShip, ShipId)>,
    /// To be linked.
    pub matched: Vec<(LocalShip, ShipId)>,
    /// To be asked about; neither linked nor created before the member said which.
    pub unsure: Vec<Unsure>,
    /// At the exchange no ship can be this one.
    pub new: Vec<LocalShip>,
    /// The exchange's that nobody has here.
    pub theirs: Vec<ShipId>,
}

impl FirstShips {
    /// Matches the ships of both sides. A ship that is linked stays with its link. Ships of one type belong together
    /// by their name; what is left of a type belongs together when there is one on either side and not both are
    /// named.
    ///
    /// `theirs` is all of the exchange's ([`Freshness::is_whole`](super::Freshness::is_whole)): a snapshot that was read in
    /// part would make duplicates of the rest.
    #[must_use]
    pub fn plan(mine: impl IntoIterator<Item = LocalShip>, theirs: &[Ship]) -> Self {
        let mut plan = Self::default();
        let mut free: BTreeMap<&CatalogKey, Vec<&Ship>> = BTreeMap::new();
        let mut mine: BTreeMap<ExternalId, LocalShip> =
            mine.into_iter().map(|ship| (ship.external_id.clone(), ship)).collect();
        for ship in theirs {
            match ship.external_id.as_ref().and_then(|id| mine.remove(id)) {
                Some(local) => plan.linked.push((local, ship.ship_id.clone())),
                // Linked to a ship that is not here any more: nobody else's.
                None if ship.external_id.is_some() => plan.theirs.push(ship.ship_id.clone()),
                None => free.entry(&ship.ship_type.bt).or_default().push(ship),
            }
        }
        let mut local: BTreeMap<CatalogKey, Vec<LocalShip>> = BTreeMap::new();
        for ship in mine.into_values() {
            local.entry(ship.values.ship_type.clone()).or_default().push(ship);
        }
        for (ship_type, mine) in local {
            plan.of_type(mine, free.remove(&ship_type).unwrap_or_default());
        }
        plan.theirs.extend(free.into_values().flatten().map(|ship| ship.ship_id.clone()));
        plan
    }

    fn of_type(&mut self, mut mine: Vec<LocalShip>, mut theirs: Vec<&Ship>) {
        mine.retain(|local| {
            let Some(name) = &local.values.name else { return true };
            let named = |ship: &&Ship| ship.name.as_ref() == Some(name);
            let mut found = (0..theirs.len()).filter(|at| named(&theirs[*at]));
            match (found.next(), found.next()) {
                (Some(at), None) => {
                    self.matched.push((local.clone(), theirs.swap_remove(at).ship_id.clone()));
                    false
                }
                _ => true,
            }
        });
        let both_named =
            |mine: &LocalShip, theirs: &Ship| mine.values.name.is_some() && theirs.name.is_some();
        match (mine.as_slice(), theirs.as_slice()) {
            ([], _) => self.theirs.extend(theirs.iter().map(|ship| ship.ship_id.clone())),
            (_, []) => self.new.extend(mine),
            ([one], [other]) if !both_named(one, other) => {
                self.matched.push((one.clone(), other.ship_id.clone()));
            }
            _ => {
                let candidates: Vec<_> = theirs.iter().map(|ship| ship.ship_id.clone()).collect();
                let unsure = |local| Unsure { local, candidates: candidates.clone() };
                self.unsure.extend(mine.into_iter().map(unsure));
            }
        }
    }

    /// What the member said of a ship that could be several: one of them, or a new one. One that another ship was
    /// matched with meanwhile is refused.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when nobody asked about this ship, or it could not be that one.
    pub fn decide(&mut self, ship: &ExternalId, is: Option<&ShipId>) -> Result<(), Error> {
        let refused = || Error::new(ErrorKind::Invalid, "this is no answer to what was asked about the ship");
        let at =
            self.unsure.iter().position(|unsure| unsure.local.external_id == *ship).ok_or_else(refused)?;
        match is {
            None => self.new.push(self.unsure.remove(at).local),
            Some(is) if self.unsure[at].candidates.contains(is) => {
                self.matched.push((self.unsure.remove(at).local, is.clone()));
                self.unsure.iter_mut().for_each(|unsure| unsure.candidates.retain(|ship| ship != is));
            }
            Some(_) => return Err(refused()),
        }
        Ok(())
    }

    /// A link for every match.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when an id breaks the contract.
    pub fn links(&self) -> Result<Vec<LinkShip>, Error> {
        let link = |(local, ship): &(LocalShip, ShipId)| {
            LinkShip::builder().external_id(local.external_id.clone()).ship_id(ship.clone()).build().map_err(
                |violations| Error::caused(ErrorKind::Invalid, "no link can be made of the ship", violations),
            )
        };
        self.matched.iter().map(link).collect()
    }

    /// The ops that create what is new here. `linked` are the ships of the replica after the links were applied and
    /// the feed was read: as long as one of the matches is not among them, nothing is created.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when a link is missing, [`ErrorKind::Invalid`] when a value breaks the contract.
    pub fn create(&self, linked: &[Ship]) -> Result<Vec<exchange_api::types::UpsertShip>, Error> {
        let is_linked = |(local, id): &&(LocalShip, ShipId)| {
            let ship = linked.iter().find(|ship| ship.ship_id == *id);
            // A ship that went meanwhile needs no link.
            ship.is_none_or(|ship| ship.external_id.as_ref() == Some(&local.external_id))
        };
        if !self.matched.iter().all(|pair| is_linked(&pair)) {
            return Err(Error::new(ErrorKind::Conflict, "ships are created once every match is linked"));
        }
        self.new.iter().map(|local| local.values.upsert(local.external_id.clone(), None)).collect()
    }
}

#[cfg(test)]
mod tests {
    use exchange_api::{Contract, types::ShipName};

    use super::*;

    fn there(id: &str, ship_type: &str, name: Option<&str>, external: Option<&str>) -> Ship {
        let text = format!(
            r#"{{"shipId": "{id}", "version": 1, "shipType": {{"bt": "{ship_type}", "name": "x"}}, "insurance": {{"kind": "LTI"}}, "fitted": false, "orgUnitVersion": 0}}"#
        );
        let mut ship = Ship::parse(text.as_bytes()).unwrap();
        ship.name = name.map(|name| ShipName::new(name).unwrap());
        ship.external_id = external.map(|id| ExternalId::new(id).unwrap());
        ship
    }

    fn here(id: &str, ship_type: &str, name: Option<&str>) -> LocalShip {
        let values = ShipValues::of(&there("x", ship_type, name, None));
        LocalShip { external_id: ExternalId::new(id).unwrap(), values }
    }

    fn ids<'a>(pairs: impl IntoIterator<Item = &'a (LocalShip, ShipId)>) -> Vec<String> {
        pairs.into_iter().map(|(local, ship)| format!("{}={ship}", local.external_id)).collect()
    }

    /// SHP-21: a link for every match, and only then what is new.
    #[test]
    fn matches_are_linked_before_anything_is_created() {
        let theirs = [
            there("s1", "cutlass", Some("Bird"), None),
            there("s2", "cutlass", Some("Fish"), None),
            there("s3", "aurora", None, None),
            there("s4", "carrack", None, Some("m4")),
            there("s5", "idris", None, None),
        ];
        let mine = [
            here("m1", "cutlass", Some("Fish")),
            here("m2", "cutlass", Some("Bird")),
            here("m3", "aurora", Some("Dawn")),
            here("m4", "carrack", None),
            here("m5", "gladius", None),
        ];
        let plan = FirstShips::plan(mine, &theirs);
        assert_eq!(ids(&plan.matched), ["m3=s3", "m1=s2", "m2=s1"]);
        assert_eq!(ids(&plan.linked), ["m4=s4"]);
        assert_eq!(plan.theirs.iter().map(ToString::to_string).collect::<Vec<_>>(), ["s5"]);
        assert!(plan.unsure.is_empty());
        assert_eq!(plan.links().unwrap().len(), 3);

        assert_eq!(plan.create(&theirs).unwrap_err().kind(), ErrorKind::Conflict);
        let mut linked = theirs;
        for (local, id) in &plan.matched {
            let ship = linked.iter_mut().find(|ship| ship.ship_id == *id).unwrap();
            ship.external_id = Some(local.external_id.clone());
        }
        let created = plan.create(&linked).unwrap();
        assert_eq!(created.len(), 1);
        assert_eq!((created[0].external_id.as_str(), &created[0].ship_id), ("m5", &None));
    }

    /// SHP-21: what could be several is neither linked nor created before the member said which it is.
    #[test]
    fn what_could_be_several_is_asked() {
        let theirs = [there("s1", "cutlass", None, None), there("s2", "cutlass", None, None)];
        let mine = [here("m1", "cutlass", None), here("m2", "cutlass", Some("Bird"))];
        let mut plan = FirstShips::plan(mine, &theirs);
        assert_eq!((plan.unsure.len(), plan.matched.len(), plan.new.len()), (2, 0, 0));
        let (m1, m2) = (ExternalId::new("m1").unwrap(), ExternalId::new("m2").unwrap());
        plan.decide(&m1, Some(&theirs[1].ship_id)).unwrap();
        assert_eq!(plan.decide(&m2, Some(&theirs[1].ship_id)).unwrap_err().kind(), ErrorKind::Invalid);
        plan.decide(&m2, None).unwrap();
        assert_eq!((ids(&plan.matched), plan.new.len()), (vec!["m1=s2".to_owned()], 1));
        assert!(plan.decide(&m1, None).is_err());
        // Two that are named differently may be two ships.
        let plan = FirstShips::plan(
            [here("m1", "cutlass", Some("Bird"))],
            &[there("s1", "cutlass", Some("Fish"), None)],
        );
        assert_eq!(plan.unsure.len(), 1);
    }
}
