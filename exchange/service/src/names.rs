//! Display names: strings of visible characters within the length limits of the contract.

use std::fmt;
use std::str::FromStr;

use icu_properties::CodePointSetData;
use icu_properties::props::{BidiControl, DefaultIgnorableCodePoint};
use rusqlite::ToSql;
use rusqlite::types::ToSqlOutput;

/// A name of 1 to `MAX_CHARS` visible characters. It is validated on input, so that every page that contains
/// the name conforms to the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayName<const MAX_CHARS: usize>(String);

/// The name of an org unit (ORG-01).
pub type UnitName = DisplayName<200>;
/// The shorthand of an org unit (ORG-01).
pub type UnitShorthand = DisplayName<50>;
/// The name of a member, which is also shown for a holder of stock (OST-07).
pub type MemberName = DisplayName<200>;
/// The name of a mission (OST-07).
pub type MissionName = DisplayName<200>;

/// The error for a string that is not a valid name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name must have 1 to {0} visible characters, without leading or trailing whitespace")]
pub struct InvalidName(usize);

impl<const MAX_CHARS: usize> TryFrom<&str> for DisplayName<MAX_CHARS> {
    type Error = InvalidName;

    fn try_from(text: &str) -> Result<Self, InvalidName> {
        if is_display_name(text, MAX_CHARS) { Ok(Self(text.to_owned())) } else { Err(InvalidName(MAX_CHARS)) }
    }
}

impl<const MAX_CHARS: usize> FromStr for DisplayName<MAX_CHARS> {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        text.try_into()
    }
}

impl<const MAX_CHARS: usize> fmt::Display for DisplayName<MAX_CHARS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const MAX_CHARS: usize> ToSql for DisplayName<MAX_CHARS> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

/// Returns true if a string has 1 to `limit` characters without surrounding whitespace, and none of them is
/// invisible or changes the text direction, except for joiners between two visible characters.
pub(crate) fn is_display_name(text: &str, limit: usize) -> bool {
    (1..=limit).contains(&text.chars().count()) && text.trim() == text && has_visible_characters(text)
}

fn has_visible_characters(text: &str) -> bool {
    // A joiner needs a visible character on each side, so that two different names never look the same because
    // one of them begins or ends with a joiner or has several in a row.
    let mut joinable = false;
    for character in text.chars() {
        if is_joiner(character) {
            if !joinable {
                return false;
            }
            joinable = false;
        } else if is_invisible(character) {
            return false;
        } else {
            joinable = !character.is_whitespace();
        }
    }
    !text.chars().next_back().is_some_and(is_joiner)
}

/// Returns true for the zero-width joiner and non-joiner, with which Persian, Indic scripts and emoji are
/// spelled.
const fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}')
}

/// Returns true for characters without a visible form: control characters, line and paragraph separators,
/// bidirectional controls, and Unicode's default ignorable code points such as fillers and soft hyphens.
fn is_invisible(character: char) -> bool {
    is_control(character) || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
}

/// Returns true for control characters, line and paragraph separators, and bidirectional controls, which can
/// change the text around a name.
pub(crate) fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}')
        || CodePointSetData::new::<BidiControl>().contains(character)
}

#[cfg(test)]
mod tests {
    use exchange_api::Contract;
    use exchange_api::types::{MissionEarmark, NamedHolder, OrgUnit, RosterMember};
    use serde_json::{Value, json};

    use super::*;

    /// ORG-01, OST-07: the length limits equal those of the contract and count characters.
    #[test]
    fn name_limits_equal_the_contracts() {
        let unit = |name: &str, shorthand: &str| {
            shows::<OrgUnit>(&json!({ "id": "u", "kind": "SQUADRON", "name": name, "shorthand": shorthand }))
        };
        let reference = "r".repeat(22);
        for length in [1, 50, 51, 200, 201] {
            let text = "ä".repeat(length);
            assert_eq!(UnitName::try_from(&*text).is_ok(), unit(&text, "U"), "{length}");
            assert_eq!(UnitShorthand::try_from(&*text).is_ok(), unit("U", &text), "{length}");
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

    /// Names contain only visible characters, which are shown in the order in which they are stored.
    #[test]
    fn names_have_only_visible_characters() {
        for text in ["A", "Ä b", "日本", "שם", "R\u{b7}2", "e\u{301}"] {
            assert!(UnitShorthand::try_from(text).is_ok(), "{text:?}");
        }
        let unseen = "\n\u{7f}\u{9b}\u{ad}\u{34f}\u{61c}\u{115f}\u{17b4}\u{180e}\u{200b}\u{200e}\u{200f}\u{2028}\
            \u{2029}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{3164}\u{fe0f}\u{feff}\u{ffa0}\u{e0001}\u{e0041}\u{e0100}";
        for character in unseen.chars() {
            assert!(UnitShorthand::try_from(&*format!("A{character}b")).is_err(), "{character:?}");
        }
        for text in ["", " A", "A ", "A\0"] {
            assert!(UnitShorthand::try_from(text).is_err(), "{text:?}");
        }
        // Joiners are part of the spelling between two characters, and invisible elsewhere.
        for joiner in ['\u{200c}', '\u{200d}'] {
            assert!(UnitShorthand::try_from(&*format!("A{joiner}b")).is_ok());
            for hidden in [
                format!("{joiner}A"),
                format!("A{joiner}"),
                format!("A{joiner}{joiner}b"),
                format!("A {joiner}b"),
            ] {
                assert!(UnitShorthand::try_from(&*hidden).is_err(), "{hidden:?}");
            }
        }
    }
}
