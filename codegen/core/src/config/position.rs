//! Finds the locations of option values in the text of `codegen.toml`, for diagnostics.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::tree::Span;

/// Returns the span of a value in an option, or `None` if the file does not contain it. `option` is a path of
/// keys that are separated by periods.
pub(super) fn find_value(text: &str, option: &str, value: &str) -> Option<Span> {
    let table = DeTable::parse(text).ok()?;
    let path: Vec<&str> = option.split('.').collect();
    follow_path(table.get_ref(), &path, value)
}

/// Returns the span of a value in an option of one table in the array of tables `list`. `index` is the number
/// of the table, counted from 0.
pub(super) fn find_value_in_table(
    text: &str,
    (list, index): (&str, usize),
    option: &str,
    value: &str,
) -> Option<Span> {
    let table = DeTable::parse(text).ok()?;
    let (_, held) = table.get_ref().iter().find(|(name, _)| name.get_ref() == list)?;
    follow_path(tables_in(held).nth(index)?, &[option], value)
}

/// Returns the span of the name of a table in its first header, or `None` if there is no such table.
pub(super) fn find_table(text: &str, name: &str) -> Option<Span> {
    let table = DeTable::parse(text).ok()?;
    let key = table.get_ref().keys().find(|key| key.get_ref() == name);
    key.map(|key| to_span(key.span()))
}

/// Returns the name of the table that contains the position, such as `server` or `types.formats`. Returns `None` for an
/// option before the first table.
pub(crate) fn table_at(text: &str, offset: usize) -> Option<String> {
    let end = text[offset.min(text.len())..].find('\n').map_or(text.len(), |at| offset + at);
    let mut lines = text.get(..end)?.lines().rev();
    let own = lines.next()?.trim_start();
    let header = |line: &str| {
        let name = line.trim_start().strip_prefix('[')?.split(']').next()?.trim_start_matches('[').trim();
        // A line of a list can start with a bracket too.
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.\"' ".contains(c);
        (!name.is_empty() && name.chars().all(is_name) && line.trim_end().ends_with(']'))
            .then(|| name.to_owned())
    };
    // The key before the position may contain further tables: `server.name = 1`.
    let key = own.split('=').next().unwrap_or_default().trim();
    let dotted = key.rsplit_once('.').map(|(tables, _)| tables.trim().to_owned());
    let table = header(own).or_else(|| lines.find_map(header));
    let names: Vec<String> =
        [table, dotted.filter(|_| header(own).is_none())].into_iter().flatten().collect();
    (!names.is_empty()).then(|| names.join("."))
}

/// Follows a path of keys from a table and returns the span of `value` at its end. In an array of tables, all
/// tables are searched.
fn follow_path(table: &DeTable<'_>, path: &[&str], value: &str) -> Option<Span> {
    let (key, rest) = path.split_first()?;
    let (_, held) = table.iter().find(|(name, _)| name.get_ref() == key)?;
    if rest.is_empty() {
        find_string(held, value)
    } else {
        tables_in(held).find_map(|table| follow_path(table, rest, value))
    }
}

/// Iterates over the tables in a value: the value itself if it is a table, or the tables in an array.
fn tables_in<'v, 'i>(value: &'v Spanned<DeValue<'i>>) -> Box<dyn Iterator<Item = &'v DeTable<'i>> + 'v> {
    match value.get_ref() {
        DeValue::Table(table) => Box::new(std::iter::once(table)),
        DeValue::Array(list) => Box::new(list.iter().flat_map(tables_in)),
        _ => Box::new(std::iter::empty()),
    }
}

/// Returns the span of the string `value` in the value of an option: the whole value, an element of a list,
/// or a key or value of a table.
fn find_string(spanned: &Spanned<DeValue<'_>>, value: &str) -> Option<Span> {
    match spanned.get_ref() {
        DeValue::String(text) => (text == value).then(|| to_span(spanned.span())),
        DeValue::Boolean(flag) => (flag.to_string() == value).then(|| to_span(spanned.span())),
        DeValue::Array(list) => list.iter().find_map(|each| find_string(each, value)),
        DeValue::Table(table) => {
            let key = table.keys().find(|key| key.get_ref() == value);
            key.map(|key| to_span(key.span()))
                .or_else(|| table.values().find_map(|each| find_string(each, value)))
        }
        _ => None,
    }
}

fn to_span(range: std::ops::Range<usize>) -> Span {
    let narrow = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
    Span { start: narrow(range.start), end: narrow(range.end) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_their_table() {
        let text = "inputs = []\nclient.x = 1\n[server]\na = 1\n[types.formats]\nb = [\n  [1],\n]\nc.d = 1\n[[pages]]\ne = 1\n";
        for (part, expected) in [
            ("inputs", None),
            ("x = 1", Some("client")),
            ("a = 1", Some("server")),
            ("b = [", Some("types.formats")),
            ("d = 1", Some("types.formats.c")),
            ("e = 1", Some("pages")),
        ] {
            assert_eq!(table_at(text, text.find(part).unwrap()).as_deref(), expected, "{part}");
        }
    }

    #[test]
    fn options_are_located() {
        // The string is found in the given option, not in a comment, another option or another table.
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
            let span = find_value(text, option, value).unwrap_or_else(|| panic!("{option} {value}"));
            let (start, end) = (span.start as usize, span.end as usize);
            assert_eq!(&text[start..end], found, "{option} {value}");
            assert_eq!(text[..start].lines().count(), line, "{option} {value}");
        }
        assert_eq!(find_value(text, "open", "b"), None);
        // The value is found only in the second table, which has the index 1.
        assert_eq!(find_value_in_table(text, ("area", 0), "schemas", "ab"), None);
        assert_eq!(
            find_value_in_table(text, ("area", 1), "schemas", "ab"),
            find_value(text, "area.schemas", "ab")
        );
        assert_eq!(find_value_in_table(text, ("area", 2), "schemas", "ab"), None);
        assert_eq!(find_value(text, "area.tags", "a"), None);
        assert_eq!(find_value("open = [", "open", "a"), None);
        let types = find_table(text, "types").unwrap();
        assert_eq!(&text[types.start as usize - 1..types.end as usize + 1], "[types]");
        assert_eq!(find_table(text, "unchecked"), None);
    }
}
