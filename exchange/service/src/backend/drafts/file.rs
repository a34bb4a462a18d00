//! Parses a file of blueprints that a member imports in the web interface (DRF-04). Unknown fields are
//! ignored, whatever their values.

use std::fmt;

use exchange_api::types::{CatalogKey, ItemRef, Timestamp, UexId};
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::super::connection::parse_timestamp;
use crate::time::Moment;

/// The maximum size of a file, in bytes (LIM-33).
pub const MAX_FILE_BYTES: usize = 8 << 20;
/// The maximum number of blueprints in a file (LIM-32).
const MAX_ITEMS: usize = 2000;
/// The length in characters to which the strings of a reference are truncated.
const MAX_STRING_CHARS: usize = 200;

const FORMAT: &str = "svc.blueprints";

/// The reason a file cannot be imported. The messages are shown to the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The file is larger than 8 MiB.
    #[error("The file is larger than 8 MiB. Split it.")]
    TooLarge,
    /// The file is not valid JSON, or is not an object with a list of items.
    #[error(
        "The file is not a blueprint export: it cannot be parsed. Export it again, and upload it without changes."
    )]
    Unreadable,
    /// The `format` of the file is not that of blueprint exports.
    #[error("The file is not a blueprint export: it has another format. Select a file of blueprints.")]
    Format,
    /// The `formatVersion` of the file is not 1.x.
    #[error("The file uses an unknown version of the format. Export it in version 1.")]
    Version,
    /// The file has more than 2000 blueprints.
    #[error("The file has more than 2000 blueprints. Split it.")]
    TooMany,
    /// An item has no usable reference. Contains the number of the item, starting at 1.
    #[error("Item {0} of the file does not identify a blueprint. Correct the item or remove it.")]
    NoReference(usize),
}

/// Returns the raw values of the named fields of an object. If a field occurs twice, returns its last value.
/// Returns `None` if the value is not an object.
fn parse_fields<'de, const N: usize>(
    raw: &'de RawValue,
    names: [&str; N],
) -> Option<[Option<&'de RawValue>; N]> {
    serde_json::Deserializer::from_str(raw.get()).deserialize_map(FieldVisitor(names)).ok()
}

struct FieldVisitor<'n, const N: usize>([&'n str; N]);

impl<'de, const N: usize> Visitor<'de> for FieldVisitor<'_, N> {
    type Value = [Option<&'de RawValue>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            let name = parse_string(name);
            let at = self.0.iter().position(|known| name.as_deref() == Some(*known));
            if let Some(field) = at.and_then(|at| found.get_mut(at)) {
                *field = Some(value);
            }
        }
        Ok(found)
    }
}

/// Returns the items of a list, or [`ImportError::TooMany`] if there are more than [`MAX_ITEMS`]. Further
/// items are not stored. Returns `None` if the value is not a list.
fn parse_items(raw: &RawValue) -> Option<Result<Vec<&RawValue>, ImportError>> {
    serde_json::Deserializer::from_str(raw.get()).deserialize_seq(ItemVisitor).ok()
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Result<Vec<&'de RawValue>, ImportError>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < MAX_ITEMS {
            let Some(item) = list.next_element()? else { return Ok(Ok(items)) };
            items.push(item);
        }
        let mut items = Ok(items);
        while list.next_element::<IgnoredAny>()?.is_some() {
            items = Err(ImportError::TooMany);
        }
        Ok(items)
    }
}

/// Parses a non-empty string and truncates it to [`MAX_STRING_CHARS`].
fn parse_string(raw: &RawValue) -> Option<String> {
    let text: String = serde_json::from_str(raw.get()).ok()?;
    Some(text.chars().take(MAX_STRING_CHARS).collect()).filter(|text: &String| !text.is_empty())
}

fn parse_integer(raw: &RawValue) -> Option<i64> {
    serde_json::from_str(raw.get()).ok()
}

/// Parses the blueprints of a file, in file order.
pub(super) fn parse_file(bytes: &[u8]) -> Result<Vec<(ItemRef, Option<Moment>)>, ImportError> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(ImportError::TooLarge);
    }
    // Some editors write a byte order mark at the start of a file.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let file: &RawValue = serde_json::from_slice(bytes).map_err(|_| ImportError::Unreadable)?;
    let [format, version, list] =
        parse_fields(file, ["format", "formatVersion", "items"]).ok_or(ImportError::Unreadable)?;
    let items = list.and_then(parse_items).ok_or(ImportError::Unreadable)?;
    if format.and_then(parse_string).as_deref() != Some(FORMAT) {
        return Err(ImportError::Format);
    }
    if version.is_some_and(|version| !parse_string(version).is_some_and(|version| is_known(&version))) {
        return Err(ImportError::Version);
    }
    let one = |(index, item): (usize, &RawValue)| {
        let [of, acquired_at] = parse_fields(item, ["ref", "acquiredAt"]).unwrap_or_default();
        let reference = of.and_then(parse_reference).ok_or(ImportError::NoReference(index + 1))?;
        let acquired_at = acquired_at.and_then(parse_string).and_then(|text| Timestamp::new(text).ok());
        Ok((reference, acquired_at.as_ref().and_then(parse_timestamp)))
    };
    items?.into_iter().enumerate().map(one).collect()
}

/// Parses the reference of an item. Returns `None` if the reference has no usable field.
fn parse_reference(raw: &RawValue) -> Option<ItemRef> {
    let names = ["bt", "scRecord", "scGuid", "uexId", "locKey", "name"];
    let [bt, sc_record, sc_guid, uex_id, loc_key, name] = parse_fields(raw, names)?;
    let mut builder = ItemRef::builder();
    if let Some(key) = bt.and_then(parse_string).and_then(|key| CatalogKey::new(key).ok()) {
        builder = builder.bt(key);
    }
    if let Some(record) = sc_record.and_then(parse_string) {
        builder = builder.sc_record(record);
    }
    if let Some(guid) = sc_guid.and_then(parse_string) {
        builder = builder.sc_guid(guid);
    }
    if let Some(id) = uex_id.and_then(parse_integer).and_then(|id| UexId::new(id).ok()) {
        builder = builder.uex_id(id);
    }
    if let Some(key) = loc_key.and_then(parse_string) {
        builder = builder.loc_key(key);
    }
    if let Some(name) = name.and_then(parse_string) {
        builder = builder.name(name);
    }
    builder.build().ok()
}

/// Returns true if a version is `1.` followed by digits (DRF-02).
fn is_known(version: &str) -> bool {
    let minor = version.strip_prefix("1.").unwrap_or_default();
    !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> ImportError {
        parse_file(text.as_bytes()).expect_err(text)
    }

    /// DRF-02, DRF-04: the format, the version and the items of a file are checked; other fields are not.
    #[test]
    fn only_required_fields_are_checked() {
        let file = |head: &str, items: &str| format!(r#"{{{head}"items":[{items}]}}"#);
        let known = r#""format":"svc.blueprints","#;
        for head in [
            known,
            r#""format":"svc.blueprints","formatVersion":"1.0","#,
            r#""format":"svc.blueprints","formatVersion":"1.17","later":{},"#,
            r#""format":"svc.blueprints","generator":7,"generatedAt":[],"extensions":"x","#,
        ] {
            let item = r#"{"ref":{"name":"A","bt":7,"x":[1]},"provenance":3,"acquiredAt":{},"extensions":0}"#;
            let read = parse_file(file(head, item).as_bytes()).expect(head);
            assert_eq!(read, [(ItemRef::by_name("A").unwrap(), None)]);
        }
        assert_eq!(parse_file(format!("\u{feff}{}", file(known, "")).as_bytes()), Ok(Vec::new()));
        for version in ["01.0", "2.0", "1", "1.", "1.x", "1.0.0", " 1.0", "", "11.0"] {
            let head = format!(r#"{known}"formatVersion":"{version}","#);
            assert_eq!(refused(&file(&head, "")), ImportError::Version, "{version}");
        }
        assert_eq!(refused(&file(&format!(r#"{known}"formatVersion":1.0,"#), "")), ImportError::Version);
        for format in [r#""format":"svc.stock","#, r#""format":1,"#, ""] {
            assert_eq!(refused(&file(format, "")), ImportError::Format, "{format}");
        }
        for unreadable in ["", "[]", "null", "{", r#"{"format":"svc.blueprints"}"#, "{\"items\":{}}"] {
            assert_eq!(refused(unreadable), ImportError::Unreadable, "{unreadable}");
        }
        for item in [
            r#"{"ref":{}}"#,
            r#"{"ref":"A"}"#,
            r#"{"ref":{"name":""}}"#,
            "{}",
            r#"{"ref":{"later":1}}"#,
            "7",
            "[]",
            "null",
            "\"A\"",
            "1.5",
            r#"{"ref":[{"name":"A"}]}"#,
        ] {
            let items = format!(r#"{{"ref":{{"uexId":7}}}},{item}"#);
            assert_eq!(refused(&file(known, &items)), ImportError::NoReference(2), "{item}");
        }
        let many = |count: usize| file(known, &vec![r#"{"ref":{"name":"A"}}"#; count].join(","));
        assert_eq!(parse_file(many(2000).as_bytes()).map(|items| items.len()), Ok(2000));
        assert_eq!(refused(&many(2001)), ImportError::TooMany);
        // Errors of the whole file take precedence over errors of items, wherever the invalid field is.
        let late = many(2001).replace(known, "").replace("]}", r#"],"format":"svc.stock"}"#);
        assert_eq!(refused(&late), ImportError::Format);
    }

    #[test]
    fn ignored_content_is_skipped() {
        let deep = "[".repeat(2 << 20) + &"]".repeat(2 << 20);
        for place in [
            r#""later":@,"items":[{"ref":{"bt":"b"}}]"#,
            r#""items":[{"ref":{"bt":"b","name":@},"acquiredAt":7}]"#,
        ] {
            let file = format!(r#"{{"format":"svc.blueprints",{}}}"#, place.replace('@', &deep));
            assert_eq!(parse_file(file.as_bytes()).map(|items| items.len()), Ok(1), "{place}");
        }
        // Rust cannot represent these numbers and strings, or the numbers are not integers.
        for value in
            ["1e999", "[1e999]", r#""\ud800""#, r#"["\ud800"]"#, r#"{"\ud800":1e999}"#, "1.5", "-0.0"]
        {
            for place in [
                r#""later":@,"items":[{"ref":{"bt":"b"},"later":@}],"\ud800":@"#,
                r#""items":[{"ref":{"bt":"b","name":@,"uexId":@,"later":@,"\ud800":1},"acquiredAt":@}]"#,
                r#""items":@,"items":[{"ref":@,"\ud800":@,"ref":{"bt":"b"}}]"#,
            ] {
                let file = format!(r#"{{"format":"svc.blueprints",{}}}"#, place.replace('@', value));
                let read = parse_file(file.as_bytes());
                assert_eq!(read, Ok(vec![(ItemRef::by_key("b").unwrap(), None)]), "{file}");
            }
            let item = format!(r#"{{"format":"svc.blueprints","items":[{value}]}}"#);
            assert_eq!(refused(&item), ImportError::NoReference(1), "{value}");
            let file = format!(r#"{{"format":"svc.blueprints","items":{{"x":{value}}}}}"#);
            assert_eq!(refused(&file), ImportError::Unreadable, "{value}");
        }
        let items = format!(r#"{{"format":"svc.blueprints","items":[{deep}]}}"#);
        assert_eq!(refused(&items), ImportError::NoReference(1));
        let twice = r#"{"format":"x","format":"svc.blueprints","items":[]}"#;
        assert_eq!(parse_file(twice.as_bytes()), Ok(Vec::new()), "the last of two equal fields counts");
    }

    /// LIM-33: a file of 8 MiB is accepted; a file with one more byte is rejected.
    #[test]
    fn file_size_is_limited_to_8_mib() {
        let mut file = r#"{"format":"svc.blueprints","items":[]}"#.to_owned();
        file.push_str(&" ".repeat((8 << 20) - file.len()));
        assert_eq!(parse_file(file.as_bytes()), Ok(Vec::new()));
        file.push(' ');
        assert_eq!(parse_file(file.as_bytes()), Err(ImportError::TooLarge));
    }

    #[test]
    fn invalid_acquisition_times_are_ignored() {
        for (text, moment) in [
            ("2026-02-03T04:05:06Z", Some(1_770_091_506_000)),
            ("2026-02-30T04:05:06Z", None),
            ("yesterday", None),
        ] {
            let file = format!(
                r#"{{"format":"svc.blueprints","items":[{{"ref":{{"bt":"b"}},"acquiredAt":"{text}"}}]}}"#
            );
            assert_eq!(parse_file(file.as_bytes()).unwrap()[0].1, moment.map(Moment::from_millis), "{text}");
        }
    }
}
