//! Three-way merge of one entry: what both sides agreed on last, what it is on this side, what it is at the exchange.
//!
//! Nothing is ever removed that was not agreed on before: with no baseline, as at the first synchronisation, entries
//! are only added, on either side.

use exchange_api::{
    Nullable,
    types::{
        CatalogKey, ExternalId, Insurance, ItemRef, Location, LocationRef, OrgUnitVersion, Quantity, Ship,
        ShipName, UnitId, UpsertShip,
    },
};

use super::Removal;
use crate::error::{Error, ErrorKind};

/// What is to be done about an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Merge<T> {
    /// Nothing: both sides have the same. Note that they agree.
    Same,
    /// Take it here.
    Take(T),
    /// Drop it here: the exchange has it no more.
    Drop,
    /// Send it, and take it here where it differs.
    Send(T),
    /// Remove it at the exchange.
    Remove,
    /// Ask the member.
    Ask(Question),
}

/// What only the member can decide.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Question {
    /// Both sides changed these differently.
    Differs(Vec<&'static str>),
    /// It is gone here, and changed at the exchange.
    GoneHere,
    /// It was changed here, and removed elsewhere; what is sent anyway needs `override` (WRT-14).
    GoneThere,
}

/// What a member can say of a ship.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShipValues {
    /// Its type.
    pub ship_type: CatalogKey,
    /// Its name.
    pub name: Option<ShipName>,
    /// How it is insured.
    pub insurance: Insurance,
    /// Where it is.
    pub location: Option<Location>,
    /// Whether it is fitted.
    pub fitted: bool,
    /// The unit that it belongs to. Names of units are the exchange's: by id alone they are compared (SHP-04).
    pub org_unit: Option<UnitId>,
}

impl ShipValues {
    /// Those of a ship of the exchange.
    #[must_use]
    pub fn of(ship: &Ship) -> Self {
        Self {
            ship_type: ship.ship_type.bt.clone(),
            name: ship.name.clone(),
            insurance: ship.insurance.clone(),
            location: ship.location.clone(),
            fitted: ship.fitted,
            org_unit: ship.org_unit.as_ref().map(|unit| unit.id.clone()),
        }
    }

    /// The op that gives them to a ship of the exchange, or makes a ship of them. All of them stand in it, since what
    /// is left out would be cleared (SHP-11); the unit of a ship that is there only where it is another, with its own
    /// counter (SHP-13), and that of a new one always, since one that is left out is the member's only unit (SHP-12).
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when a value breaks the contract.
    pub fn upsert(&self, external_id: ExternalId, ship: Option<&Ship>) -> Result<UpsertShip, Error> {
        let ship_type = ItemRef::by_key(self.ship_type.as_str()).map_err(invalid)?;
        let mut op = UpsertShip::builder().external_id(external_id).ship_type(ship_type);
        op = op.insurance(self.insurance.clone()).fitted(self.fitted);
        let mut op = op.build().map_err(invalid)?;
        op.name = self.name.clone();
        op.location = self.location.as_ref().map(reference);
        match ship {
            None => op.org_unit = Some(self.org_unit.clone().map_or(Nullable::Null, Nullable::Value)),
            Some(ship) => {
                op.ship_id = Some(ship.ship_id.clone());
                op.version = Some(ship.version);
                if ship.org_unit.as_ref().map(|unit| &unit.id) != self.org_unit.as_ref() {
                    let unit = self.org_unit.clone();
                    op.org_unit = Some(unit.map_or(Nullable::Null, Nullable::Value));
                    op.org_unit_version = Some(OrgUnitVersion::clone(&ship.org_unit_version));
                }
            }
        }
        Ok(op)
    }
}

fn invalid(violations: exchange_api::runtime::violation::Violations) -> Error {
    Error::caused(ErrorKind::Invalid, "no op can be made of the ship", violations)
}

fn reference(location: &Location) -> LocationRef {
    LocationRef {
        uex: location.uex.clone(),
        name: Some(location.name.clone()),
        extra: exchange_api::Map::new(),
    }
}

/// Merges a ship: value by value, so that a name given here and a place changed there are both kept.
#[must_use]
pub fn merge_ship(
    base: Option<&ShipValues>,
    mine: Option<&ShipValues>,
    theirs: Option<&ShipValues>,
    removal: Option<&Removal>,
) -> Merge<ShipValues> {
    merge(base, mine, theirs, removal, same_ship, |base, mine, theirs| {
        let mut differs = Vec::new();
        let mut three = Three { differs: &mut differs };
        let values = ShipValues {
            ship_type: three.of("shipType", base, mine, theirs, |ship| &ship.ship_type, PartialEq::eq),
            name: three.of("name", base, mine, theirs, |ship| &ship.name, PartialEq::eq),
            insurance: three.of("insurance", base, mine, theirs, |ship| &ship.insurance, PartialEq::eq),
            location: three.of("location", base, mine, theirs, |ship| &ship.location, same_location),
            fitted: three.of("fitted", base, mine, theirs, |ship| &ship.fitted, PartialEq::eq),
            org_unit: three.of("orgUnit", base, mine, theirs, |ship| &ship.org_unit, PartialEq::eq),
        };
        if differs.is_empty() { Ok(values) } else { Err(differs) }
    })
}

/// Merges what a lot holds. Amounts are compared as the exchange stores them, to three decimals (TYP-06); a lot that
/// holds nothing is none.
#[must_use]
pub fn merge_lot(
    base: Option<&Quantity>,
    mine: Option<&Quantity>,
    theirs: Option<&Quantity>,
    removal: Option<&Removal>,
) -> Merge<Quantity> {
    fn some(quantity: Option<&Quantity>) -> Option<&Quantity> {
        quantity.filter(|quantity| quantity.thousandths() != Some(0))
    }
    merge(some(base), some(mine), some(theirs), removal, Quantity::equals_stored, |base, mine, theirs| {
        let is_base = |side: &Quantity| base.is_some_and(|base| base.equals_stored(side));
        match (is_base(mine), is_base(theirs)) {
            (true, _) => Ok(theirs.clone()),
            (_, true) => Ok(mine.clone()),
            _ => Err(vec!["quantity"]),
        }
    })
}

/// Merges whether the member has a blueprint.
#[must_use]
pub fn merge_blueprint(base: bool, mine: bool, theirs: bool, removal: Option<&Removal>) -> Merge<()> {
    let held = |held: bool| held.then_some(&());
    merge(held(base), held(mine), held(theirs), removal, |(), ()| true, |_, (), ()| Ok(()))
}

fn merge<T: Clone>(
    base: Option<&T>,
    mine: Option<&T>,
    theirs: Option<&T>,
    removal: Option<&Removal>,
    same: impl Fn(&T, &T) -> bool,
    unite: impl Fn(Option<&T>, &T, &T) -> Result<T, Vec<&'static str>>,
) -> Merge<T> {
    match (base, mine, theirs) {
        (_, None, None) => Merge::Same,
        (None, Some(mine), None) => Merge::Send(mine.clone()),
        (None, None, Some(theirs)) => Merge::Take(theirs.clone()),
        (Some(base), Some(mine), None) => match removal {
            _ if same(base, mine) => Merge::Drop,
            // TYP-16: nobody else removed it, so nobody has to be asked.
            Some(Removal { own: true, .. }) => Merge::Send(mine.clone()),
            _ => Merge::Ask(Question::GoneThere),
        },
        (Some(base), None, Some(theirs)) if same(base, theirs) => Merge::Remove,
        (Some(_), None, Some(_)) => Merge::Ask(Question::GoneHere),
        (_, Some(mine), Some(theirs)) if same(mine, theirs) => Merge::Same,
        (base, Some(mine), Some(theirs)) => match unite(base, mine, theirs) {
            Ok(both) if same(&both, theirs) => Merge::Take(both),
            Ok(both) => Merge::Send(both),
            Err(differs) => Merge::Ask(Question::Differs(differs)),
        },
    }
}

struct Three<'a> {
    differs: &'a mut Vec<&'static str>,
}

impl Three<'_> {
    fn of<V: Clone>(
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

/// By the link where both have one, as the exchange finds a place (TYP-09).
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
        ShipValues::of(&ship(body))
    }

    const NAMED: &str = r#", "name": "Bird""#;
    const PLACED: &str = r#", "location": {"name": "Area 18", "uex": {"kind": "CITY", "id": 4}}"#;
    const OF_UNIT: &str =
        r#", "orgUnit": {"id": "u-1", "name": "One", "shorthand": "1", "kind": "SQUADRON"}"#;

    #[test]
    fn changes_of_different_values_are_both_kept() {
        let (base, named, placed) = (values(""), values(NAMED), values(PLACED));
        let Merge::Send(both) = merge_ship(Some(&base), Some(&named), Some(&placed), None) else {
            panic!("neither is lost");
        };
        assert_eq!(both, values(&format!("{NAMED}{PLACED}")));
    }

    #[test]
    fn what_both_changed_differently_is_asked() {
        let other = values(r#", "name": "Fish""#);
        let asked = merge_ship(Some(&values("")), Some(&values(NAMED)), Some(&other), None);
        assert_eq!(asked, Merge::Ask(Question::Differs(vec!["name"])));
        let first = merge_ship(None, Some(&values(NAMED)), Some(&values(PLACED)), None);
        assert_eq!(first, Merge::Ask(Question::Differs(vec!["name", "location"])));
    }

    /// SHP-04: the unit as it is called now is no change of the ship, and its counter goes with it alone.
    #[test]
    fn a_renamed_unit_changes_nothing_and_another_one_is_sent_with_its_counter() {
        let renamed = OF_UNIT.replace("One", "Uno");
        let (base, theirs) = (values(OF_UNIT), values(&renamed));
        assert_eq!(merge_ship(Some(&base), Some(&base), Some(&theirs), None), Merge::Same);
        let id = || ExternalId::new("mine-1").unwrap();
        let op = base.upsert(id(), Some(&ship(&renamed))).unwrap();
        assert_eq!((op.org_unit, op.org_unit_version), (None, None));
        let op = values("").upsert(id(), Some(&ship(&renamed))).unwrap();
        assert_eq!(op.org_unit, Some(Nullable::Null));
        assert_eq!(op.org_unit_version.map(|version| version.to_string()).as_deref(), Some("9"));
        // SHP-12: a new one that belongs to no unit would get the member's only one.
        assert_eq!(values("").upsert(id(), None).unwrap().org_unit, Some(Nullable::Null));
    }

    /// SHP-11: leaving one out would clear it.
    #[test]
    fn an_upsert_has_all_current_values() {
        let there = ship(&format!("{NAMED}{PLACED}"));
        let op = ShipValues { fitted: true, ..ShipValues::of(&there) }
            .upsert(ExternalId::new("mine-1").unwrap(), Some(&there))
            .unwrap();
        let text = op.to_json().unwrap().to_string();
        for part in
            [r#""name":"Bird""#, r#""id":4"#, r#""kind":"LTI""#, r#""bt":"cutlass""#, r#""version":4"#]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    /// TYP-06: 12.3456 equals a stored 12.346.
    #[test]
    fn amounts_are_merged_as_the_exchange_stores_them() {
        let scu = |text: &str| Quantity::scu(Number::parse(text).unwrap()).unwrap();
        let (sent, stored, other) = (scu("12.3456"), scu("12.346"), scu("12.345"));
        assert_eq!(merge_lot(None, Some(&sent), Some(&stored), None), Merge::Same);
        assert_eq!(merge_lot(Some(&sent), Some(&other), Some(&stored), None), Merge::Send(other.clone()));
        assert_eq!(merge_lot(Some(&stored), Some(&sent), Some(&other), None), Merge::Take(other.clone()));
        let asked = merge_lot(Some(&scu("1")), Some(&scu("2")), Some(&scu("3")), None);
        assert_eq!(asked, Merge::Ask(Question::Differs(vec!["quantity"])));
        // An empty lot is none.
        assert_eq!(merge_lot(Some(&scu("1")), Some(&scu("0.0004")), Some(&scu("1.0")), None), Merge::Remove);
    }

    /// TYP-16: an own removal is no removal elsewhere, so nobody is asked. And without a baseline nothing is removed.
    #[test]
    fn nothing_is_removed_that_was_not_agreed_on() {
        assert_eq!(merge_blueprint(false, true, false, None), Merge::Send(()));
        assert_eq!(merge_blueprint(false, false, true, None), Merge::Take(()));
        assert_eq!(merge_blueprint(true, false, true, None), Merge::Remove);
        assert_eq!(merge_blueprint(true, true, false, None), Merge::Drop);
        let (base, mine) = (values(""), values(NAMED));
        let own = Removal { key: "s-1".into(), own: true };
        assert_eq!(merge_ship(Some(&base), Some(&mine), None, None), Merge::Ask(Question::GoneThere));
        assert_eq!(merge_ship(Some(&base), Some(&mine), None, Some(&own)), Merge::Send(mine.clone()));
        assert_eq!(merge_ship(Some(&base), None, Some(&mine), None), Merge::Ask(Question::GoneHere));
    }
}
