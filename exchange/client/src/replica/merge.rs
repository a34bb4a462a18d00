//! The three-way merge of one entry: its last common version (baseline), its local version, and its version
//! at the exchange.
//!
//! Without a baseline, as in the first synchronization, the merge only adds entries on either side and never
//! removes any.

use exchange_api::{
    Nullable,
    types::{
        CatalogKey, ExternalId, Insurance, ItemRef, Location, LocationRef, Quantity, Ship, ShipName, UnitId,
        UpsertShip,
    },
};

use super::RemovalRecord;
use crate::error::{Error, ErrorKind};

/// The action that results from a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeAction<T> {
    /// Record the baseline, because both sides are equal.
    Same,
    /// Store the exchange's version locally.
    Take(T),
    /// Delete the entry locally, because the exchange deleted it.
    Drop,
    /// Send this version, and store it locally if it differs from the local version.
    Send(T),
    /// Delete the entry at the exchange.
    Remove,
    /// Let the member decide.
    AskMember(MergeConflict),
}

/// A conflict that only the member can decide.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeConflict {
    /// Both sides changed these fields to different values.
    FieldsDiffer(Vec<&'static str>),
    /// The entry was deleted locally and changed at the exchange.
    DeletedLocally,
    /// The entry was changed locally, and another writer deleted it at the exchange. To send it, `override`
    /// is required (WRT-14).
    DeletedRemotely,
}

/// The values of a ship that a member can set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShipValues {
    /// The catalog key of the ship type.
    pub ship_type: CatalogKey,
    /// The name given by the member.
    pub name: Option<ShipName>,
    /// The insurance of the ship.
    pub insurance: Insurance,
    /// The location of the ship.
    pub location: Option<Location>,
    /// True if the ship is fitted.
    pub fitted: bool,
    /// The unit that the ship belongs to. Units are compared by id, because their names may be changed at the
    /// exchange (SHP-04).
    pub org_unit: Option<UnitId>,
}

impl ShipValues {
    /// Returns the values of a ship from the feed.
    #[must_use]
    pub fn from_ship(ship: &Ship) -> Self {
        Self {
            ship_type: ship.ship_type.bt.clone(),
            name: ship.name.clone(),
            insurance: ship.insurance.clone(),
            location: ship.location.clone(),
            fitted: ship.fitted,
            org_unit: ship.org_unit.as_ref().map(|unit| unit.id.clone()),
        }
    }

    /// Builds the op that sets these values on `ship`, or creates a ship with them if `ship` is `None`.
    ///
    /// The op contains all values, because a missing value would be cleared (SHP-11). The unit of an existing
    /// ship is included only if it changes, together with the ship's unit counter (SHP-13). The unit of a new
    /// ship is always included, because a missing unit stands for the member's only unit (SHP-12).
    ///
    /// # Errors
    /// Returns [`ErrorKind::Invalid`] if a value violates the contract.
    pub fn to_upsert(&self, external_id: ExternalId, ship: Option<&Ship>) -> Result<UpsertShip, Error> {
        let ship_type = ItemRef::by_key(self.ship_type.as_str()).map_err(ship_op_error)?;
        let mut op = UpsertShip::builder().external_id(external_id).ship_type(ship_type);
        op = op.insurance(self.insurance.clone()).fitted(self.fitted);
        let mut op = op.build().map_err(ship_op_error)?;
        op.name = self.name.clone();
        op.location = self.location.as_ref().map(location_reference);
        match ship {
            None => op.org_unit = Some(self.org_unit.clone().map_or(Nullable::Null, Nullable::Value)),
            Some(ship) => {
                op.ship_id = Some(ship.ship_id.clone());
                op.version = Some(ship.version);
                if ship.org_unit.as_ref().map(|unit| &unit.id) != self.org_unit.as_ref() {
                    let unit = self.org_unit.clone();
                    op.org_unit = Some(unit.map_or(Nullable::Null, Nullable::Value));
                    op.org_unit_version = ship.org_unit_version;
                }
            }
        }
        Ok(op)
    }
}

fn ship_op_error(violations: exchange_api::runtime::violation::Violations) -> Error {
    Error::with_source(ErrorKind::Invalid, "the ship values violate the contract", violations)
}

fn location_reference(location: &Location) -> LocationRef {
    LocationRef {
        uex: location.uex.clone(),
        name: Some(location.name.clone()),
        extra: exchange_api::Map::new(),
    }
}

/// Merges a ship field by field, so that, for example, a local change of the name and a remote change of the
/// location are both kept.
#[must_use]
pub fn merge_ship(
    base: Option<&ShipValues>,
    mine: Option<&ShipValues>,
    theirs: Option<&ShipValues>,
    removal: Option<&RemovalRecord>,
) -> MergeAction<ShipValues> {
    merge_entry(base, mine, theirs, removal, same_ship, |base, mine, theirs| {
        let mut differs = Vec::new();
        let mut three = ThreeWayMerge { differs: &mut differs };
        let values = ShipValues {
            ship_type: three.merge_field(
                "shipType",
                base,
                mine,
                theirs,
                |ship| &ship.ship_type,
                PartialEq::eq,
            ),
            name: three.merge_field("name", base, mine, theirs, |ship| &ship.name, PartialEq::eq),
            insurance: three.merge_field(
                "insurance",
                base,
                mine,
                theirs,
                |ship| &ship.insurance,
                PartialEq::eq,
            ),
            location: three.merge_field("location", base, mine, theirs, |ship| &ship.location, same_location),
            fitted: three.merge_field("fitted", base, mine, theirs, |ship| &ship.fitted, PartialEq::eq),
            org_unit: three.merge_field("orgUnit", base, mine, theirs, |ship| &ship.org_unit, PartialEq::eq),
        };
        if differs.is_empty() { Ok(values) } else { Err(differs) }
    })
}

/// Merges the quantity of a lot. Amounts are compared as the exchange stores them, with three decimals
/// (TYP-06). An empty lot counts as absent.
#[must_use]
pub fn merge_lot(
    base: Option<&Quantity>,
    mine: Option<&Quantity>,
    theirs: Option<&Quantity>,
    removal: Option<&RemovalRecord>,
) -> MergeAction<Quantity> {
    fn some(quantity: Option<&Quantity>) -> Option<&Quantity> {
        quantity.filter(|quantity| quantity.thousandths() != Some(0))
    }
    merge_entry(
        some(base),
        some(mine),
        some(theirs),
        removal,
        Quantity::equals_stored,
        |base, mine, theirs| {
            let is_base = |side: &Quantity| base.is_some_and(|base| base.equals_stored(side));
            match (is_base(mine), is_base(theirs)) {
                (true, _) => Ok(theirs.clone()),
                (_, true) => Ok(mine.clone()),
                _ => Err(vec!["quantity"]),
            }
        },
    )
}

/// Merges the presence of a blueprint.
#[must_use]
pub fn merge_blueprint(
    base: bool,
    mine: bool,
    theirs: bool,
    removal: Option<&RemovalRecord>,
) -> MergeAction<()> {
    let present = |is_present: bool| is_present.then_some(&());
    merge_entry(present(base), present(mine), present(theirs), removal, |(), ()| true, |_, (), ()| Ok(()))
}

fn merge_entry<T: Clone>(
    base: Option<&T>,
    mine: Option<&T>,
    theirs: Option<&T>,
    removal: Option<&RemovalRecord>,
    same: impl Fn(&T, &T) -> bool,
    unite: impl Fn(Option<&T>, &T, &T) -> Result<T, Vec<&'static str>>,
) -> MergeAction<T> {
    match (base, mine, theirs) {
        (_, None, None) => MergeAction::Same,
        (None, Some(mine), None) => MergeAction::Send(mine.clone()),
        (None, None, Some(theirs)) => MergeAction::Take(theirs.clone()),
        (Some(base), Some(mine), None) => match removal {
            _ if same(base, mine) => MergeAction::Drop,
            // TYP-16: this installation removed the entry, so there is no conflict with another writer.
            Some(RemovalRecord { is_own: true, .. }) => MergeAction::Send(mine.clone()),
            _ => MergeAction::AskMember(MergeConflict::DeletedRemotely),
        },
        (Some(base), None, Some(theirs)) if same(base, theirs) => MergeAction::Remove,
        (Some(_), None, Some(_)) => MergeAction::AskMember(MergeConflict::DeletedLocally),
        (_, Some(mine), Some(theirs)) if same(mine, theirs) => MergeAction::Same,
        (base, Some(mine), Some(theirs)) => match unite(base, mine, theirs) {
            Ok(both) if same(&both, theirs) => MergeAction::Take(both),
            Ok(both) => MergeAction::Send(both),
            Err(differs) => MergeAction::AskMember(MergeConflict::FieldsDiffer(differs)),
        },
    }
}

struct ThreeWayMerge<'a> {
    differs: &'a mut Vec<&'static str>,
}

impl ThreeWayMerge<'_> {
    fn merge_field<V: Clone>(
        &mut self,
        name: &'static str,
        base: Option<&ShipValues>,
        mine: &ShipValues,
        theirs: &ShipValues,
        value: impl Fn(&ShipValues) -> &V,
        same: impl Fn(&V, &V) -> bool,
    ) -> V {
        let (mine, theirs) = (value(mine), value(theirs));
        let is_base = |side: &V| base.is_some_and(|base| same(value(base), side));
        if !same(mine, theirs) && !is_base(mine) && !is_base(theirs) {
            self.differs.push(name);
        }
        if is_base(theirs) { mine.clone() } else { theirs.clone() }
    }
}

fn same_ship(a: &ShipValues, b: &ShipValues) -> bool {
    let plain = |ship: &ShipValues| ShipValues { location: None, ..ship.clone() };
    plain(a) == plain(b) && same_location(&a.location, &b.location)
}

/// Compares locations by their catalog link if both have one, which is how the exchange looks up a location
/// (TYP-09), otherwise by name.
fn same_location(a: &Option<Location>, b: &Option<Location>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => match (&a.uex, &b.uex) {
            (Some(a), Some(b)) => (&a.kind, &a.id) == (&b.kind, &b.id),
            _ => a.name == b.name,
        },
        (a, b) => a.is_none() && b.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use exchange_api::{Contract, Number};

    use super::*;

    fn ship(body: &str) -> Ship {
        Ship::parse(format!(r#"{{"shipId": "s-1", "version": 4, "shipType": {{"bt": "cutlass", "name": "Cutlass"}}, "insurance": {{"kind": "LTI"}}, "fitted": false, "orgUnitVersion": 9{body}}}"#).as_bytes()).unwrap()
    }

    fn values(body: &str) -> ShipValues {
        ShipValues::from_ship(&ship(body))
    }

    const NAMED: &str = r#", "name": "Bird""#;
    const PLACED: &str = r#", "location": {"name": "Area 18", "uex": {"kind": "CITY", "id": 4}}"#;
    const OF_UNIT: &str =
        r#", "orgUnit": {"id": "u-1", "name": "One", "shorthand": "1", "kind": "SQUADRON"}"#;

    #[test]
    fn changes_of_different_fields_are_merged() {
        let (base, named, placed) = (values(""), values(NAMED), values(PLACED));
        let MergeAction::Send(both) = merge_ship(Some(&base), Some(&named), Some(&placed), None) else {
            panic!("both changes are kept");
        };
        assert_eq!(both, values(&format!("{NAMED}{PLACED}")));
    }

    #[test]
    fn conflicting_changes_require_a_decision() {
        let other = values(r#", "name": "Fish""#);
        let action = merge_ship(Some(&values("")), Some(&values(NAMED)), Some(&other), None);
        assert_eq!(action, MergeAction::AskMember(MergeConflict::FieldsDiffer(vec!["name"])));
        let first = merge_ship(None, Some(&values(NAMED)), Some(&values(PLACED)), None);
        assert_eq!(first, MergeAction::AskMember(MergeConflict::FieldsDiffer(vec!["name", "location"])));
    }

    /// SHP-04: a unit that was renamed does not change its ships, and `org_unit_version` is sent only if the
    /// ship's unit changes.
    #[test]
    fn renamed_unit_is_no_change_of_the_ship() {
        let renamed = OF_UNIT.replace("One", "Uno");
        let (base, theirs) = (values(OF_UNIT), values(&renamed));
        assert_eq!(merge_ship(Some(&base), Some(&base), Some(&theirs), None), MergeAction::Same);
        let id = || ExternalId::new("mine-1").unwrap();
        let op = base.to_upsert(id(), Some(&ship(&renamed))).unwrap();
        assert_eq!((op.org_unit, op.org_unit_version), (None, None));
        let op = values("").to_upsert(id(), Some(&ship(&renamed))).unwrap();
        assert_eq!(op.org_unit, Some(Nullable::Null));
        assert_eq!(op.org_unit_version.map(|version| version.to_string()).as_deref(), Some("9"));
        // SHP-12: without an explicit null, a new ship would be assigned to the member's only unit.
        assert_eq!(values("").to_upsert(id(), None).unwrap().org_unit, Some(Nullable::Null));
    }

    /// SHP-11: an upsert has all values, because the exchange clears a missing value.
    #[test]
    fn upsert_has_all_current_values() {
        let there = ship(&format!("{NAMED}{PLACED}"));
        let op = ShipValues { fitted: true, ..ShipValues::from_ship(&there) }
            .to_upsert(ExternalId::new("mine-1").unwrap(), Some(&there))
            .unwrap();
        let text = op.to_json().unwrap().to_string();
        for part in
            [r#""name":"Bird""#, r#""id":4"#, r#""kind":"LTI""#, r#""bt":"cutlass""#, r#""version":4"#]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    /// TYP-06: an amount of 12.3456 equals a stored amount of 12.346.
    #[test]
    fn amounts_are_merged_as_stored() {
        let scu = |text: &str| Quantity::scu(Number::parse(text).unwrap()).unwrap();
        let (sent, stored, other) = (scu("12.3456"), scu("12.346"), scu("12.345"));
        assert_eq!(merge_lot(None, Some(&sent), Some(&stored), None), MergeAction::Same);
        assert_eq!(
            merge_lot(Some(&sent), Some(&other), Some(&stored), None),
            MergeAction::Send(other.clone())
        );
        assert_eq!(
            merge_lot(Some(&stored), Some(&sent), Some(&other), None),
            MergeAction::Take(other.clone())
        );
        let action = merge_lot(Some(&scu("1")), Some(&scu("2")), Some(&scu("3")), None);
        assert_eq!(action, MergeAction::AskMember(MergeConflict::FieldsDiffer(vec!["quantity"])));
        // An empty lot counts as absent.
        assert_eq!(
            merge_lot(Some(&scu("1")), Some(&scu("0.0004")), Some(&scu("1.0")), None),
            MergeAction::Remove
        );
    }

    /// TYP-16: a removal by this installation is not a conflict. Without a baseline, the merge removes
    /// nothing.
    #[test]
    fn nothing_is_removed_without_a_baseline() {
        assert_eq!(merge_blueprint(false, true, false, None), MergeAction::Send(()));
        assert_eq!(merge_blueprint(false, false, true, None), MergeAction::Take(()));
        assert_eq!(merge_blueprint(true, false, true, None), MergeAction::Remove);
        assert_eq!(merge_blueprint(true, true, false, None), MergeAction::Drop);
        let (base, mine) = (values(""), values(NAMED));
        let removal = RemovalRecord { key: "s-1".into(), is_own: true };
        assert_eq!(
            merge_ship(Some(&base), Some(&mine), None, None),
            MergeAction::AskMember(MergeConflict::DeletedRemotely)
        );
        assert_eq!(
            merge_ship(Some(&base), Some(&mine), None, Some(&removal)),
            MergeAction::Send(mine.clone())
        );
        assert_eq!(
            merge_ship(Some(&base), None, Some(&mine), None),
            MergeAction::AskMember(MergeConflict::DeletedLocally)
        );
    }
}
