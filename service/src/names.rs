//! Names that people tell apart: as many characters as the contract shows of them, all of which are seen.

use std::fmt;

use rusqlite::ToSql;
use rusqlite::types::ToSqlOutput;

/// A name of 1 to `MOST` characters, checked where it comes in, so that every page that shows it is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name<const MOST: usize>(String);

/// What an org unit is called (ORG-01).
pub type UnitName = Name<200>;
/// What an org unit is called for short (ORG-01).
pub type Shorthand = Name<50>;
/// What a holder of stock is called (OST-07).
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

/// Whether nobody sees a character: controls, what has no width, what changes the direction of others.
fn is_unseen(character: char) -> bool {
    let without_width = |character| matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    character.is_control() || without_width(character)
}

#[cfg(test)]
mod tests {
    use exchange_api::Contract as _;
    use exchange_api::types::OrgUnit;

    use super::*;

    /// ORG-01, OST-07: a name is as long as the contract shows it, counted in characters, and is seen.
    #[test]
    fn a_name_is_what_the_contract_can_show() {
        for (text, is) in
            [("A", true), ("Ä b", true), ("", false), (" A", false), ("A ", false), ("A\u{202e}b", false)]
        {
            assert_eq!(Shorthand::try_from(text).is_ok(), is, "{text:?}");
        }
        let unit = |name: &str, shorthand: &str| {
            OrgUnit::parse_valid(
                format!(r#"{{"id":"u","kind":"SQUADRON","name":"{name}","shorthand":"{shorthand}"}}"#)
                    .as_bytes(),
            )
            .is_ok()
        };
        for length in [1, 50, 51, 200, 201] {
            let text = "ä".repeat(length);
            assert_eq!(UnitName::try_from(&*text).is_ok(), unit(&text, "U"), "{length}");
            assert_eq!(Shorthand::try_from(&*text).is_ok(), unit("U", &text), "{length}");
        }
    }
}
