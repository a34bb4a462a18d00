//! An envelope in a file that a member imports on the web (DRF-04): only what is needed is read of it, and
//! everything else ignored, whatever it holds.

use std::fmt;

use exchange_api::types::{CatalogKey, ItemRef, Timestamp, UexId};
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::super::connection::moment;
use crate::time::Moment;

/// The largest file (LIM-33).
pub const LARGEST: usize = 8 << 20;
/// The most blueprints (LIM-32).
const MOST: usize = 2000;
/// The longest text of a reference that is looked at.
const LONGEST: usize = 200;

const FORMAT: &str = "svc.blueprints";

/// Why a file is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileRefusal {
    /// It has more than 8 MiB.
    #[error("The file is larger than 8 MiB. Split it.")]
    TooLarge,
    /// It is no JSON, or no object with a list of items.
    #[error(
        "The file is no export of blueprints: it cannot be read. Export it again, and send it as it was written."
    )]
    Unreadable,
    /// Its `format` is another one.
    #[error(
        "The file is no export of blueprints: it says that it is something else. Pick a file of blueprints."
    )]
    Format,
    /// Its `formatVersion` is no 1.x.
    #[error(
        "The file was written in a version of the format that is not known here. Export it in version 1."
    )]
    Version,
    /// It has more than 2000 blueprints.
    #[error("The file has more than 2000 blueprints. Split it.")]
    TooMany,
    /// One of its items says nothing of which blueprint it is.
    #[error("Item {0} of the file does not say which blueprint it is. Correct it, or take it out.")]
    NoReference(usize),
}

/// Fields of an object by their names, the last of two of one name; what stands in them is looked at only where it is of
/// use. None where something else than an object stands.
fn fields<'de, const N: usize>(raw: &'de RawValue, names: [&str; N]) -> Option<[Option<&'de RawValue>; N]> {
    serde_json::Deserializer::from_str(raw.get()).deserialize_map(Fields(names)).ok()
}

struct Fields<'n, const N: usize>([&'n str; N]);

impl<'de, const N: usize> Visitor<'de> for Fields<'_, N> {
    type Value = [Option<&'de RawValue>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            let name = text(name);
            let at = self.0.iter().position(|known| name.as_deref() == Some(*known));
            if let Some(field) = at.and_then(|at| found.get_mut(at)) {
                *field = Some(value);
            }
        }
        Ok(found)
    }
}

/// The items, or that there are too many: what is beyond the most is only counted. None where no list stands.
fn items(raw: &RawValue) -> Option<Result<Vec<&RawValue>, FileRefusal>> {
    serde_json::Deserializer::from_str(raw.get()).deserialize_seq(Items).ok()
}

struct Items;

impl<'de> Visitor<'de> for Items {
    type Value = Result<Vec<&'de RawValue>, FileRefusal>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < MOST {
            let Some(item) = list.next_element()? else { return Ok(Ok(items)) };
            items.push(item);
        }
        let mut items = Ok(items);
        while list.next_element::<IgnoredAny>()?.is_some() {
            items = Err(FileRefusal::TooMany);
        }
        Ok(items)
    }
}

/// A text that is not empty, no longer than what is looked at.
fn text(raw: &RawValue) -> Option<String> {
    let text: String = serde_json::from_str(raw.get()).ok()?;
    Some(text.chars().take(LONGEST).collect()).filter(|text: &String| !text.is_empty())
}

/// A whole number.
fn number(raw: &RawValue) -> Option<i64> {
    serde_json::from_str(raw.get()).ok()
}

/// The blueprints of a file, as they stand in it.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<(ItemRef, Option<Moment>)>, FileRefusal> {
    if bytes.len() > LARGEST {
        return Err(FileRefusal::TooLarge);
    }
    // Editors put a mark in front of a text.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let file: &RawValue = serde_json::from_slice(bytes).map_err(|_| FileRefusal::Unreadable)?;
    let [format, version, list] =
        fields(file, ["format", "formatVersion", "items"]).ok_or(FileRefusal::Unreadable)?;
    let items = list.and_then(items).ok_or(FileRefusal::Unreadable)?;
    if format.and_then(text).as_deref() != Some(FORMAT) {
        return Err(FileRefusal::Format);
    }
    if version.is_some_and(|version| !text(version).is_some_and(|version| is_known(&version))) {
        return Err(FileRefusal::Version);
    }
    let one = |(at, item): (usize, &RawValue)| {
        let [of, acquired_at] = fields(item, ["ref", "acquiredAt"]).unwrap_or_default();
        let reference = of.and_then(reference).ok_or(FileRefusal::NoReference(at + 1))?;
        let acquired_at = acquired_at.and_then(text).and_then(|text| Timestamp::new(text).ok());
        Ok((reference, acquired_at.as_ref().and_then(moment)))
    };
    items?.into_iter().enumerate().map(one).collect()
}

/// What an item refers to; none when no field is of use.
fn reference(raw: &RawValue) -> Option<ItemRef> {
    let names = ["bt", "scRecord", "scGuid", "uexId", "locKey", "name"];
    let [bt, sc_record, sc_guid, uex_id, loc_key, name] = fields(raw, names)?;
    let mut builder = ItemRef::builder();
    if let Some(key) = bt.and_then(text).and_then(|key| CatalogKey::new(key).ok()) {
        builder = builder.bt(key);
    }
    if let Some(record) = sc_record.and_then(text) {
        builder = builder.sc_record(record);
    }
    if let Some(guid) = sc_guid.and_then(text) {
        builder = builder.sc_guid(guid);
    }
    if let Some(id) = uex_id.and_then(number).and_then(|id| UexId::new(id).ok()) {
        builder = builder.uex_id(id);
    }
    if let Some(key) = loc_key.and_then(text) {
        builder = builder.loc_key(key);
    }
    if let Some(name) = name.and_then(text) {
        builder = builder.name(name);
    }
    builder.build().ok()
}

/// DRF-02: `1.` and digits.
fn is_known(version: &str) -> bool {
    let minor = version.strip_prefix("1.").unwrap_or_default();
    !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> FileRefusal {
        read(text.as_bytes()).expect_err(text)
    }

    /// DRF-02, DRF-04: format, version and items are checked, and nothing else is.
    #[test]
    fn only_what_is_needed_is_checked() {
        let file = |head: &str, items: &str| format!(r#"{{{head}"items":[{items}]}}"#);
        let known = r#""format":"svc.blueprints","#;
        for head in [
            known,
            r#""format":"svc.blueprints","formatVersion":"1.0","#,
            r#""format":"svc.blueprints","formatVersion":"1.17","later":{},"#,
            r#""format":"svc.blueprints","generator":7,"generatedAt":[],"extensions":"x","#,
        ] {
            let item = r#"{"ref":{"name":"A","bt":7,"x":[1]},"provenance":3,"acquiredAt":{},"extensions":0}"#;
            let read = read(file(head, item).as_bytes()).expect(head);
            assert_eq!(read, [(ItemRef::by_name("A").unwrap(), None)]);
        }
        assert_eq!(read(format!("\u{feff}{}", file(known, "")).as_bytes()), Ok(Vec::new()));
        for version in ["01.0", "2.0", "1", "1.", "1.x", "1.0.0", " 1.0", "", "11.0"] {
            let head = format!(r#"{known}"formatVersion":"{version}","#);
            assert_eq!(refused(&file(&head, "")), FileRefusal::Version, "{version}");
        }
        assert_eq!(refused(&file(&format!(r#"{known}"formatVersion":1.0,"#), "")), FileRefusal::Version);
        for format in [r#""format":"svc.stock","#, r#""format":1,"#, ""] {
            assert_eq!(refused(&file(format, "")), FileRefusal::Format, "{format}");
        }
        for unreadable in ["", "[]", "null", "{", r#"{"format":"svc.blueprints"}"#, "{\"items\":{}}"] {
            assert_eq!(refused(unreadable), FileRefusal::Unreadable, "{unreadable}");
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
            assert_eq!(refused(&file(known, &items)), FileRefusal::NoReference(2), "{item}");
        }
        let many = |count: usize| file(known, &vec![r#"{"ref":{"name":"A"}}"#; count].join(","));
        assert_eq!(read(many(2000).as_bytes()).map(|items| items.len()), Ok(2000));
        assert_eq!(refused(&many(2001)), FileRefusal::TooMany);
        // What is wrong with the file as a whole comes first, wherever it stands.
        let late = many(2001).replace(known, "").replace("]}", r#"],"format":"svc.stock"}"#);
        assert_eq!(refused(&late), FileRefusal::Format);
    }

    /// Whatever the file holds beside, however deep, is passed over.
    #[test]
    fn what_is_of_no_use_is_passed_over() {
        let deep = "[".repeat(2 << 20) + &"]".repeat(2 << 20);
        for place in [
            r#""later":@,"items":[{"ref":{"bt":"b"}}]"#,
            r#""items":[{"ref":{"bt":"b","name":@},"acquiredAt":7}]"#,
        ] {
            let file = format!(r#"{{"format":"svc.blueprints",{}}}"#, place.replace('@', &deep));
            assert_eq!(read(file.as_bytes()).map(|items| items.len()), Ok(1), "{place}");
        }
        // What no number and no text of ours can hold, or is no whole number.
        for value in
            ["1e999", "[1e999]", r#""\ud800""#, r#"["\ud800"]"#, r#"{"\ud800":1e999}"#, "1.5", "-0.0"]
        {
            for place in [
                r#""later":@,"items":[{"ref":{"bt":"b"},"later":@}],"\ud800":@"#,
                r#""items":[{"ref":{"bt":"b","name":@,"uexId":@,"later":@,"\ud800":1},"acquiredAt":@}]"#,
                r#""items":@,"items":[{"ref":@,"\ud800":@,"ref":{"bt":"b"}}]"#,
            ] {
                let file = format!(r#"{{"format":"svc.blueprints",{}}}"#, place.replace('@', value));
                let read = read(file.as_bytes());
                assert_eq!(read, Ok(vec![(ItemRef::by_key("b").unwrap(), None)]), "{file}");
            }
            let item = format!(r#"{{"format":"svc.blueprints","items":[{value}]}}"#);
            assert_eq!(refused(&item), FileRefusal::NoReference(1), "{value}");
            let file = format!(r#"{{"format":"svc.blueprints","items":{{"x":{value}}}}}"#);
            assert_eq!(refused(&file), FileRefusal::Unreadable, "{value}");
        }
        let items = format!(r#"{{"format":"svc.blueprints","items":[{deep}]}}"#);
        assert_eq!(refused(&items), FileRefusal::NoReference(1));
        let twice = r#"{"format":"x","format":"svc.blueprints","items":[]}"#;
        assert_eq!(read(twice.as_bytes()), Ok(Vec::new()), "the last one counts");
    }

    /// LIM-33: 8 MiB are taken, and one byte more is not.
    #[test]
    fn a_file_has_8_mib_at_most() {
        let mut file = r#"{"format":"svc.blueprints","items":[]}"#.to_owned();
        file.push_str(&" ".repeat((8 << 20) - file.len()));
        assert_eq!(read(file.as_bytes()), Ok(Vec::new()));
        file.push(' ');
        assert_eq!(read(file.as_bytes()), Err(FileRefusal::TooLarge));
    }

    /// A moment is read where it is one.
    #[test]
    fn moments_are_read_where_they_are_some() {
        for (text, moment) in [
            ("2026-02-03T04:05:06Z", Some(1_770_091_506_000)),
            ("2026-02-30T04:05:06Z", None),
            ("yesterday", None),
        ] {
            let file = format!(
                r#"{{"format":"svc.blueprints","items":[{{"ref":{{"bt":"b"}},"acquiredAt":"{text}"}}]}}"#
            );
            assert_eq!(read(file.as_bytes()).unwrap()[0].1, moment.map(Moment::from_millis), "{text}");
        }
    }
}
