//! The locally known fields of a catalog entry, from which a reference is built.

use exchange_api::{
    Contract as _, Map,
    types::{CatalogEntry, CatalogKey, ItemRef, UexId},
};

use crate::error::{Error, ErrorKind};

/// The known fields of a catalog entry. All of them are sent, and unknown fields are omitted (TYP-03).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownItem {
    /// The exchange's key of the entry, from a feed or from a resolved reference. It takes precedence over
    /// the other fields, so store it and send it from then on (RES-13).
    pub bt: Option<CatalogKey>,
    /// The game-data record name.
    pub sc_record: Option<String>,
    /// The game entity's GUID.
    pub sc_guid: Option<String>,
    /// The id in the external catalog.
    pub uex_id: Option<i64>,
    /// The localization key as in the game data, with or without its leading `@`. Prefer it if the name is
    /// not English.
    pub loc_key: Option<String>,
    /// The name as the game displays it.
    pub name: Option<String>,
    /// The language of the name.
    pub name_locale: Option<String>,
}

impl KnownItem {
    /// Copies the fields of an entry that comes from a feed or from a resolved reference.
    #[must_use]
    pub fn from_entry(entry: &CatalogEntry) -> Self {
        Self { bt: Some(entry.bt.clone()), name: Some(entry.name.clone()), ..Self::default() }
    }

    /// Builds the reference from all known fields, with the localization key without its `@` (TYP-03). Blank
    /// strings count as unknown, and a language without a name is dropped.
    ///
    /// # Errors
    /// Returns `Invalid` if no field is known, or if a field violates the contract.
    pub fn item_ref(self) -> Result<ItemRef, Error> {
        let text =
            |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let loc_key = text(self.loc_key).map(|key| key.trim_start_matches('@').to_owned());
        let name = text(self.name);
        let reference = ItemRef {
            bt: self.bt,
            sc_record: text(self.sc_record),
            sc_guid: text(self.sc_guid),
            uex_id: self.uex_id.map(UexId::new).transpose()?,
            loc_key: text(loc_key),
            name_locale: text(self.name_locale).filter(|_| name.is_some()),
            name,
            extensions: None,
            extra: Map::new(),
        };
        reference.validate().map_err(|violations| {
            Error::with_source(
                ErrorKind::Invalid,
                "the known fields do not form a valid reference",
                violations,
            )
        })?;
        Ok(reference)
    }
}

/// Converts an entry as [`KnownItem::from_entry`] does.
impl From<&CatalogEntry> for KnownItem {
    fn from(entry: &CatalogEntry) -> Self {
        Self::from_entry(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TYP-03: a reference contains every known field, `locKey` without its `@`, and the stored `bt`.
    #[test]
    fn all_known_fields_are_sent() {
        let known = KnownItem {
            bt: Some("material-7".parse().unwrap()),
            sc_record: Some("sandbox_ore_raw".to_owned()),
            sc_guid: Some("5b0c0003-0000-4000-8000-000000000001".to_owned()),
            uex_id: Some(992_001),
            loc_key: Some("@items_commodities_ore".to_owned()),
            name: Some("Erz".to_owned()),
            name_locale: Some("de".to_owned()),
        };
        let json = known.clone().item_ref().unwrap().to_json().unwrap();
        let text = |name: &str| json.as_object().unwrap().get(name).map(ToString::to_string);
        for (name, value) in [
            ("bt", "\"material-7\""),
            ("scRecord", "\"sandbox_ore_raw\""),
            ("scGuid", "\"5b0c0003-0000-4000-8000-000000000001\""),
            ("uexId", "992001"),
            ("locKey", "\"items_commodities_ore\""),
            ("name", "\"Erz\""),
            ("nameLocale", "\"de\""),
        ] {
            assert_eq!(text(name).as_deref(), Some(value), "{name}");
        }
        let without = KnownItem { bt: None, name: Some("  ".to_owned()), ..known };
        let reference = without.item_ref().unwrap();
        assert_eq!((reference.bt, reference.name, reference.name_locale), (None, None, None));
    }

    #[test]
    fn unknown_item_has_no_reference() {
        for known in [
            KnownItem::default(),
            KnownItem { loc_key: Some("@".to_owned()), ..KnownItem::default() },
            KnownItem { sc_guid: Some("no GUID".to_owned()), ..KnownItem::default() },
            KnownItem { uex_id: Some(0), ..KnownItem::default() },
        ] {
            assert_eq!(known.item_ref().unwrap_err().kind(), ErrorKind::Invalid);
        }
    }
}
