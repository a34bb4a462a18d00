//! Where options stand in the text of `codegen.toml`.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::tree::Span;

/// The place of a value of an option; `None` where there is no such option, or no such value.
pub(super) fn find(text: &str, option: &str, value: &str) -> Option<Span> {
    let table = DeTable::parse(text).ok()?;
    let path: Vec<&str> = option.split('.').collect();
    below(table.get_ref(), &path, value)
}

/// The same in one of the tables of a list, by name and number.
pub(super) fn find_in(text: &str, (list, index): (&str, usize), option: &str, value: &str) -> Option<Span> {
    let table = DeTable::parse(text).ok()?;
    let (_, held) = table.get_ref().iter().find(|(name, _)| name.get_ref() == list)?;
    below(each(held).nth(index)?, &[option], value)
}

/// The name of a table, where it stands first.
pub(super) fn find_table(text: &str, name: &str) -> Option<Span> {
    let table = DeTable::parse(text).ok()?;
    let key = table.get_ref().keys().find(|key| key.get_ref() == name);
    key.map(|key| span(key.span()))
}

/// Follows the keys of a path; lists of tables are looked through one by one.
fn below(table: &DeTable<'_>, path: &[&str], value: &str) -> Option<Span> {
    let (key, rest) = path.split_first()?;
    let (_, held) = table.iter().find(|(name, _)| name.get_ref() == key)?;
    if rest.is_empty() { within(held, value) } else { each(held).find_map(|table| below(table, rest, value)) }
}

/// The tables that a value is or lists.
fn each<'v, 'i>(value: &'v Spanned<DeValue<'i>>) -> Box<dyn Iterator<Item = &'v DeTable<'i>> + 'v> {
    match value.get_ref() {
        DeValue::Table(table) => Box::new(std::iter::once(table)),
        DeValue::Array(list) => Box::new(list.iter().flat_map(each)),
        _ => Box::new(std::iter::empty()),
    }
}

/// A text in what an option holds: itself, an element of a list, a key or a value of a table.
fn within(held: &Spanned<DeValue<'_>>, value: &str) -> Option<Span> {
    match held.get_ref() {
        DeValue::String(text) => (text == value).then(|| span(held.span())),
        DeValue::Boolean(said) => (said.to_string() == value).then(|| span(held.span())),
        DeValue::Array(list) => list.iter().find_map(|each| within(each, value)),
        DeValue::Table(table) => {
            let key = table.keys().find(|key| key.get_ref() == value);
            key.map(|key| span(key.span())).or_else(|| table.values().find_map(|each| within(each, value)))
        }
        _ => None,
    }
}

fn span(range: std::ops::Range<usize>) -> Span {
    let narrow = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
    Span { start: narrow(range.start), end: narrow(range.end) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_where_they_stand() {
        // Comments, other options and other tables name the same texts.
        let text = r##"
# open = ["a"], secrets = ["b"]
secrets = ['b', "a"]
open = [
  "c", # "a"
  "a",
]
mounts = { "a" = "c" }
[types]
unchecked = ["#/open"]
[[area]]
name = "open"
schemas = ["a"]
[[area]]
name = "b"
schemas = ["\u0061b"]
[operations]
include = [{ tag = "a" }, { path = "/a", operation = "b" }]
[output]
client = false
"##;
        for (option, value, line, found) in [
            ("open", "a", 6, "\"a\""),
            ("secrets", "a", 3, "\"a\""),
            ("secrets", "b", 3, "'b'"),
            ("mounts", "a", 8, "\"a\""),
            ("types.unchecked", "#/open", 10, "\"#/open\""),
            ("area.name", "b", 15, "\"b\""),
            ("area.schemas", "a", 13, "\"a\""),
            ("area.schemas", "ab", 16, "\"\\u0061b\""),
            ("operations.include", "b", 18, "\"b\""),
            ("output.client", "false", 20, "false"),
        ] {
            let span = find(text, option, value).unwrap_or_else(|| panic!("{option} {value}"));
            let (start, end) = (span.start as usize, span.end as usize);
            assert_eq!(&text[start..end], found, "{option} {value}");
            assert_eq!(text[..start].lines().count(), line, "{option} {value}");
        }
        assert_eq!(find(text, "open", "b"), None);
        // The second area has a schema of this name, the first has not.
        assert_eq!(find_in(text, ("area", 0), "schemas", "ab"), None);
        assert_eq!(find_in(text, ("area", 1), "schemas", "ab"), find(text, "area.schemas", "ab"));
        assert_eq!(find_in(text, ("area", 2), "schemas", "ab"), None);
        assert_eq!(find(text, "area.tags", "a"), None);
        assert_eq!(find("open = [", "open", "a"), None);
        let types = find_table(text, "types").unwrap();
        assert_eq!(&text[types.start as usize - 1..types.end as usize + 1], "[types]");
        assert_eq!(find_table(text, "unchecked"), None);
    }
}
