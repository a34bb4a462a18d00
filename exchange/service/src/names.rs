//! Names that people tell apart: as many characters as the contract shows of them, all of which are seen.

use std::fmt;
use std::str::FromStr;

use icu_properties::CodePointSetData;
use icu_properties::props::{BidiControl, DefaultIgnorableCodePoint};
use rusqlite::ToSql;
use rusqlite::types::ToSqlOutput;

/// A name of 1 to `MOST` characters, checked where it comes in, so that every page that shows it is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name<const MOST: usize>(String);

/// What an org unit is called (ORG-01).
pub type UnitName = Name<200>;
/// What an org unit is called for short (ORG-01).
pub type Shorthand = Name<50>;
/// What a member is called, as a holder of stock too (OST-07).
pub type MemberName = Name<200>;
/// What a mission is called (OST-07).
pub type MissionName = Name<200>;

/// A text is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name is 1 to {0} characters that are seen, without blanks around it")]
pub struct NoName(usize);

impl<const MOST: usize> TryFrom<&str> for Name<MOST> {
    type Error = NoName;

    fn try_from(text: &str) -> Result<Self, NoName> {
        if is_name(text, MOST) { Ok(Self(text.to_owned())) } else { Err(NoName(MOST)) }
    }
}

impl<const MOST: usize> FromStr for Name<MOST> {
    type Err = NoName;

    fn from_str(text: &str) -> Result<Self, NoName> {
        text.try_into()
    }
}

impl<const MOST: usize> fmt::Display for Name<MOST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const MOST: usize> ToSql for Name<MOST> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

/// Whether a text has 1 to so many characters, none of which is invisible or turns the others around.
pub(crate) fn is_name(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.chars().count()) && text.trim() == text && !text.chars().any(is_unseen)
}

/// Whether nobody sees a character: controls, the ends of lines and paragraphs, what changes the direction of others, and
/// what Unicode shows as nothing, such as joiners, fillers and soft hyphens.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}')
        || CodePointSetData::new::<BidiControl>().contains(character)
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
}

#[cfg(test)]
mod tests {
    use exchange_api::Contract;
    use exchange_api::types::{MissionEarmark, NamedHolder, OrgUnit, RosterMember};
    use serde_json::{Value, json};

    use super::*;

    /// ORG-01, OST-07: a name is as long as the contract shows it wherever it does, counted in characters.
    #[test]
    fn a_name_is_what_the_contract_can_show() {
        let unit = |name: &str, shorthand: &str| {
            shows::<OrgUnit>(&json!({ "id": "u", "kind": "SQUADRON", "name": name, "shorthand": shorthand }))
        };
        let reference = "r".repeat(22);
        for length in [1, 50, 51, 200, 201] {
            let text = "ä".repeat(length);
            assert_eq!(UnitName::try_from(&*text).is_ok(), unit(&text, "U"), "{length}");
            assert_eq!(Shorthand::try_from(&*text).is_ok(), unit("U", &text), "{length}");
            let holder = shows::<NamedHolder>(&json!({ "withheld": false, "name": text, "ref": reference }));
            let member = shows::<RosterMember>(&json!({ "name": text, "ref": reference }));
            assert_eq!(MemberName::try_from(&*text).is_ok(), holder && member, "{length}");
            let quantity = json!({ "amount": 1, "unit": "SCU" });
            let mission = shows::<MissionEarmark>(&json!({ "id": "m", "name": text, "quantity": quantity }));
            assert_eq!(MissionName::try_from(&*text).is_ok(), mission, "{length}");
        }
    }

    fn shows<T: Contract>(value: &Value) -> bool {
        T::parse_valid(value.to_string().as_bytes()).is_ok()
    }

    /// All of a name is seen, in the order in which it is written.
    #[test]
    fn a_name_is_seen() {
        for text in ["A", "Ä b", "日本", "שם", "R\u{b7}2", "e\u{301}"] {
            assert!(Shorthand::try_from(text).is_ok(), "{text:?}");
        }
        let unseen = "\n\u{7f}\u{9b}\u{ad}\u{34f}\u{61c}\u{115f}\u{17b4}\u{180e}\u{200b}\u{200d}\u{200e}\u{200f}\u{2028}\
            \u{2029}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{3164}\u{fe0f}\u{feff}\u{ffa0}\u{e0001}\u{e0041}\u{e0100}";
        for character in unseen.chars() {
            assert!(Shorthand::try_from(&*format!("A{character}b")).is_err(), "{character:?}");
        }
        for text in ["", " A", "A "] {
            assert!(Shorthand::try_from(text).is_err(), "{text:?}");
        }
    }
}
