//! The first synchronization of ships. Existing ships are linked before new ones are created, because
//! otherwise every ship would be duplicated (SHP-21).

use std::collections::BTreeMap;

use exchange_api::types::{CatalogKey, ExternalId, LinkShip, Ship, ShipId};

use super::merge::ShipValues;
use crate::error::{Error, ErrorKind};

/// A ship of the local program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalShip {
    /// The id that the local program gave the ship.
    pub external_id: ExternalId,
    /// The values of the ship. Its type is already resolved to a catalog key.
    pub values: ShipValues,
}

/// A local ship that matches several ships of the exchange, so that the member has to choose one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmbiguousShip {
    /// The local ship.
    pub local: LocalShip,
    /// Ships of the same type at the exchange, each of which may be the local ship.
    pub candidates: Vec<ShipId>,
}

/// The plan of a first synchronization. Send [`link_ops`](Self::link_ops), and after all of them are applied,
/// send [`create_ops`](Self::create_ops). Add the ships in `remote_only` locally.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShipMatchPlan {
    /// Pairs of ships that are already linked.
    pub linked: Vec<(LocalShip, ShipId)>,
    /// Pairs of ships that have to be linked.
    pub matched: Vec<(LocalShip, ShipId)>,
    /// Local ships about which the member has to decide. They are neither linked nor created before
    /// [`resolve_ambiguous`](Self::resolve_ambiguous).
    pub ambiguous: Vec<AmbiguousShip>,
    /// Local ships without a counterpart at the exchange.
    pub local_only: Vec<LocalShip>,
    /// Ships of the exchange without a local counterpart.
    pub remote_only: Vec<ShipId>,
}

impl ShipMatchPlan {
    /// Matches the local ships with the ships of the exchange.
    ///
    /// Existing links are kept. Ships of one type are matched by name. If one ship of the type then remains
    /// on each side, the two match unless both have a name.
    ///
    /// `theirs` must contain all ships of the exchange
    /// ([`AreaFreshness::is_whole`](super::AreaFreshness::is_whole)), because an incomplete snapshot would
    /// lead to duplicates.
    #[must_use]
    pub fn match_ships(mine: impl IntoIterator<Item = LocalShip>, theirs: &[Ship]) -> Self {
        let mut plan = Self::default();
        let mut free: BTreeMap<&CatalogKey, Vec<&Ship>> = BTreeMap::new();
        let mut mine: BTreeMap<ExternalId, LocalShip> =
            mine.into_iter().map(|ship| (ship.external_id.clone(), ship)).collect();
        for ship in theirs {
            match ship.external_id.as_ref().and_then(|id| mine.remove(id)) {
                Some(local) => plan.linked.push((local, ship.ship_id.clone())),
                // The ship is linked to a local ship that no longer exists.
                None if ship.external_id.is_some() => plan.remote_only.push(ship.ship_id.clone()),
                None => free.entry(&ship.ship_type.bt).or_default().push(ship),
            }
        }
        let mut local: BTreeMap<CatalogKey, Vec<LocalShip>> = BTreeMap::new();
        for ship in mine.into_values() {
            local.entry(ship.values.ship_type.clone()).or_default().push(ship);
        }
        for (ship_type, mine) in local {
            plan.match_type(mine, free.remove(&ship_type).unwrap_or_default());
        }
        plan.remote_only.extend(free.into_values().flatten().map(|ship| ship.ship_id.clone()));
        plan
    }

    fn match_type(&mut self, mut mine: Vec<LocalShip>, mut theirs: Vec<&Ship>) {
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
            ([], _) => self.remote_only.extend(theirs.iter().map(|ship| ship.ship_id.clone())),
            (_, []) => self.local_only.extend(mine),
            ([one], [other]) if !both_named(one, other) => {
                self.matched.push((one.clone(), other.ship_id.clone()));
            }
            _ => {
                let candidates: Vec<_> = theirs.iter().map(|ship| ship.ship_id.clone()).collect();
                let unsure = |local| AmbiguousShip { local, candidates: candidates.clone() };
                self.ambiguous.extend(mine.into_iter().map(unsure));
            }
        }
    }

    /// Applies the member's choice for an ambiguous ship: one of the candidates, or `None` to create a new
    /// ship. Rejects a candidate that has been matched with another ship since.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Invalid`] if the ship is not ambiguous, or if `is` is not one of its candidates.
    pub fn resolve_ambiguous(&mut self, ship: &ExternalId, is: Option<&ShipId>) -> Result<(), Error> {
        let refused = |why: &str| {
            Error::new(ErrorKind::Invalid, format!("cannot resolve the ship {}: {why}", ship.as_str()))
        };
        let at = self
            .ambiguous
            .iter()
            .position(|unsure| unsure.local.external_id == *ship)
            .ok_or_else(|| refused("it is not ambiguous"))?;
        match is {
            None => self.local_only.push(self.ambiguous.remove(at).local),
            Some(is) if self.ambiguous[at].candidates.contains(is) => {
                self.matched.push((self.ambiguous.remove(at).local, is.clone()));
                self.ambiguous.iter_mut().for_each(|unsure| unsure.candidates.retain(|ship| ship != is));
            }
            Some(_) => {
                return Err(refused(
                    "the chosen ship is not one of its candidates; choose one of them, or none",
                ));
            }
        }
        Ok(())
    }

    /// Returns a link op for each match.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Invalid`] if an id violates the contract.
    pub fn link_ops(&self) -> Result<Vec<LinkShip>, Error> {
        let link = |(local, ship): &(LocalShip, ShipId)| {
            LinkShip::builder().external_id(local.external_id.clone()).ship_id(ship.clone()).build().map_err(
                |violations| {
                    Error::with_source(ErrorKind::Invalid, "the ship link violates the contract", violations)
                },
            )
        };
        self.matched.iter().map(link).collect()
    }

    /// Returns the ops that create the ships in `local_only`. `linked` are the ships of the replica, after
    /// the links were applied and the feed was read. No op is returned while a link is missing in `linked`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Conflict`] if a link is missing, and [`ErrorKind::Invalid`] if a value violates
    /// the contract.
    pub fn create_ops(&self, linked: &[Ship]) -> Result<Vec<exchange_api::types::UpsertShip>, Error> {
        let is_linked = |(local, id): &&(LocalShip, ShipId)| {
            let ship = linked.iter().find(|ship| ship.ship_id == *id);
            // A ship that was deleted at the exchange since needs no link.
            ship.is_none_or(|ship| ship.external_id.as_ref() == Some(&local.external_id))
        };
        if let Some((local, _)) = self.matched.iter().find(|pair| !is_linked(pair)) {
            let what = format!(
                "cannot create ships: the matched ship {} is not linked yet; send the links and read the feed first",
                local.external_id.as_str()
            );
            return Err(Error::new(ErrorKind::Conflict, what));
        }
        self.local_only.iter().map(|local| local.values.to_upsert(local.external_id.clone(), None)).collect()
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
        let values = ShipValues::from_ship(&there("x", ship_type, name, None));
        LocalShip { external_id: ExternalId::new(id).unwrap(), values }
    }

    fn ids<'a>(pairs: impl IntoIterator<Item = &'a (LocalShip, ShipId)>) -> Vec<String> {
        pairs.into_iter().map(|(local, ship)| format!("{}={ship}", local.external_id)).collect()
    }

    /// SHP-21: all matches are linked before new ships are created.
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
        let plan = ShipMatchPlan::match_ships(mine, &theirs);
        assert_eq!(ids(&plan.matched), ["m3=s3", "m1=s2", "m2=s1"]);
        assert_eq!(ids(&plan.linked), ["m4=s4"]);
        assert_eq!(plan.remote_only.iter().map(ToString::to_string).collect::<Vec<_>>(), ["s5"]);
        assert!(plan.ambiguous.is_empty());
        assert_eq!(plan.link_ops().unwrap().len(), 3);

        assert_eq!(plan.create_ops(&theirs).unwrap_err().kind(), ErrorKind::Conflict);
        let mut linked = theirs;
        for (local, id) in &plan.matched {
            let ship = linked.iter_mut().find(|ship| ship.ship_id == *id).unwrap();
            ship.external_id = Some(local.external_id.clone());
        }
        let created = plan.create_ops(&linked).unwrap();
        assert_eq!(created.len(), 1);
        assert_eq!((created[0].external_id.as_str(), &created[0].ship_id), ("m5", &None));
    }

    /// SHP-21: an ambiguous ship is neither linked nor created before the member has chosen.
    #[test]
    fn ambiguous_ship_requires_a_decision() {
        let theirs = [there("s1", "cutlass", None, None), there("s2", "cutlass", None, None)];
        let mine = [here("m1", "cutlass", None), here("m2", "cutlass", Some("Bird"))];
        let mut plan = ShipMatchPlan::match_ships(mine, &theirs);
        assert_eq!((plan.ambiguous.len(), plan.matched.len(), plan.local_only.len()), (2, 0, 0));
        let (m1, m2) = (ExternalId::new("m1").unwrap(), ExternalId::new("m2").unwrap());
        plan.resolve_ambiguous(&m1, Some(&theirs[1].ship_id)).unwrap();
        assert_eq!(
            plan.resolve_ambiguous(&m2, Some(&theirs[1].ship_id)).unwrap_err().kind(),
            ErrorKind::Invalid
        );
        plan.resolve_ambiguous(&m2, None).unwrap();
        assert_eq!((ids(&plan.matched), plan.local_only.len()), (vec!["m1=s2".to_owned()], 1));
        assert!(plan.resolve_ambiguous(&m1, None).is_err());
        // Ships with two different names are not matched, because they may be different ships.
        let plan = ShipMatchPlan::match_ships(
            [here("m1", "cutlass", Some("Bird"))],
            &[there("s1", "cutlass", Some("Fish"), None)],
        );
        assert_eq!(plan.ambiguous.len(), 1);
    }
}
