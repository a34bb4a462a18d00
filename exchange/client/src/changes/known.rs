//! What a client knows of a catalogue entry, and the reference that it sends.

use exchange_api::{
    Contract as _, Map,
    types::{CatalogEntry, CatalogKey, ItemRef, UexId},
};

use crate::error::{Error, ErrorKind};

/// Everything known of a catalogue entry. All of it is sent; what is unknown is left out (TYP-03).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// The exchange's own key, from a feed or from resolve; it always wins, so store it and send it from then
    /// on (RES-13).
    pub bt: Option<CatalogKey>,
    /// The game-data record name.
    pub sc_record: Option<String>,
    /// The game entity's GUID.
    pub sc_guid: Option<String>,
    /// Id in the external catalogue.
    pub uex_id: Option<i64>,
    /// The localisation key as game data write it, with or without its leading `@`: the best there is when the
    /// name is not English.
    pub loc_key: Option<String>,
    /// The name as the game shows it.
    pub name: Option<String>,
    /// The language of the name.
    pub name_locale: Option<String>,
}

impl Known {
    /// What a feed, or resolve, says of an entry.
    #[must_use]
    pub fn entry(entry: &CatalogEntry) -> Self {
        Self { bt: Some(entry.bt.clone()), name: Some(entry.name.clone()), ..Self::default() }
    }

    /// The reference with every field that is known, the localisation key without its `@` (TYP-03). Blank
    /// texts count as unknown, and a language without a name says nothing.
    ///
    /// # Errors
    /// `Invalid` when nothing is known, or when something breaks the contract.
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
            Error::caused(ErrorKind::Invalid, "what is known makes no reference", violations)
        })?;
        Ok(reference)
    }
}

/// As [`Known::entry`].
impl From<&CatalogEntry> for Known {
    fn from(entry: &CatalogEntry) -> Self {
        Self::entry(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TYP-03: every field known, `locKey` without its `@`, and the stored `bt`.
    #[test]
    fn everything_known_is_sent() {
        let known = Known {
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
        let without = Known { bt: None, name: Some("  ".to_owned()), ..known };
        let reference = without.item_ref().unwrap();
        assert_eq!((reference.bt, reference.name, reference.name_locale), (None, None, None));
    }

    #[test]
    fn nothing_known_makes_no_reference() {
        for known in [
            Known::default(),
            Known { loc_key: Some("@".to_owned()), ..Known::default() },
            Known { sc_guid: Some("no GUID".to_owned()), ..Known::default() },
            Known { uex_id: Some(0), ..Known::default() },
        ] {
            assert_eq!(known.item_ref().unwrap_err().kind(), ErrorKind::Invalid);
        }
    }
}
