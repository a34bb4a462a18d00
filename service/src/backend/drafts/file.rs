//! An envelope in a file that a member imports on the web (DRF-04): only what is needed is read of it, and
//! everything else ignored, whatever it holds.

use std::fmt;
use std::marker::PhantomData;

use exchange_api::types::{CatalogKey, ItemRef, Timestamp, UexId};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

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

/// What is read of an object, field by field; the last of two of one name counts.
trait Object: Default {
    /// Reads the value of a field; none for one that is of no use, which is passed over.
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<Option<()>, A::Error>;
}

/// An object, or none where something else stands. What is passed over is never held in memory.
struct Maybe<T>(Option<T>);

impl<'de, T: Object> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading(PhantomData)).map(Self)
    }
}

struct Reading<T>(PhantomData<T>);

/// Everything that is no object, list or text: passed over.
macro_rules! pass_over_plain {
    ($($visit:ident: $type:ty),+) => {
        $(fn $visit<E>(self, _: $type) -> Result<Self::Value, E> {
            Ok(None)
        })+

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(None)
        }
    };
}

impl<'de, T: Object> Visitor<'de> for Reading<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    pass_over_plain!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<T>, A::Error> {
        let mut object = T::default();
        while let Some(name) = map.next_key::<String>()? {
            if object.read(&name, &mut map)?.is_none() {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Some(object))
    }
}

#[derive(Default)]
struct File {
    format: Option<Plain>,
    version: Option<Option<Plain>>,
    items: Option<Items>,
}

impl Object for File {
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<Option<()>, A::Error> {
        match name {
            "format" => self.format = map.next_value::<Loose>()?.0,
            "formatVersion" => self.version = Some(map.next_value::<Loose>()?.0),
            "items" => self.items = Some(map.next_value()?),
            _ => return Ok(None),
        }
        Ok(Some(()))
    }
}

/// The items, or that there are too many: what is beyond the most is only counted.
struct Items(Result<Vec<Item>, FileRefusal>);

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ReadingItems)
    }
}

struct ReadingItems;

impl<'de> Visitor<'de> for ReadingItems {
    type Value = Items;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Items, A::Error> {
        let mut items = Vec::new();
        while items.len() < MOST {
            let Some(Maybe(item)) = list.next_element::<Maybe<Item>>()? else { return Ok(Items(Ok(items))) };
            items.push(item.unwrap_or_default());
        }
        let mut items = Ok(items);
        while list.next_element::<IgnoredAny>()?.is_some() {
            items = Err(FileRefusal::TooMany);
        }
        Ok(Items(items))
    }
}

#[derive(Default)]
struct Item {
    reference: Option<Fields>,
    acquired_at: Option<Plain>,
}

impl Object for Item {
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<Option<()>, A::Error> {
        match name {
            "ref" => self.reference = map.next_value::<Maybe<Fields>>()?.0,
            "acquiredAt" => self.acquired_at = map.next_value::<Loose>()?.0,
            _ => return Ok(None),
        }
        Ok(Some(()))
    }
}

#[derive(Default)]
struct Fields {
    bt: Option<Plain>,
    sc_record: Option<Plain>,
    sc_guid: Option<Plain>,
    uex_id: Option<Plain>,
    loc_key: Option<Plain>,
    name: Option<Plain>,
}

impl Object for Fields {
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<Option<()>, A::Error> {
        let field = match name {
            "bt" => &mut self.bt,
            "scRecord" => &mut self.sc_record,
            "scGuid" => &mut self.sc_guid,
            "uexId" => &mut self.uex_id,
            "locKey" => &mut self.loc_key,
            "name" => &mut self.name,
            _ => return Ok(None),
        };
        *field = map.next_value::<Loose>()?.0;
        Ok(Some(()))
    }
}

/// A text, no longer than what is looked at, or a whole number.
enum Plain {
    Text(String),
    Number(i64),
}

/// A value of any type, of which only texts and whole numbers are of use.
struct Loose(Option<Plain>);

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReadingPlain).map(Self)
    }
}

struct ReadingPlain;

impl<'de> Visitor<'de> for ReadingPlain {
    type Value = Option<Plain>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    pass_over_plain!(visit_bool: bool, visit_f64: f64);

    fn visit_i64<E>(self, number: i64) -> Result<Option<Plain>, E> {
        Ok(Some(Plain::Number(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Option<Plain>, E> {
        Ok(i64::try_from(number).ok().map(Plain::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Option<Plain>, E> {
        Ok(Some(Plain::Text(text.chars().take(LONGEST).collect())))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Plain>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

impl Plain {
    /// As a text that is not empty.
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text).filter(|text| !text.is_empty()),
            Self::Number(_) => None,
        }
    }

    const fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

/// The blueprints of a file, as they stand in it.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<(ItemRef, Option<Moment>)>, FileRefusal> {
    if bytes.len() > LARGEST {
        return Err(FileRefusal::TooLarge);
    }
    // Editors put a mark in front of a text.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let read: Result<Maybe<File>, _> = serde_json::from_slice(bytes);
    let Ok(Maybe(Some(File { format, version, items: Some(Items(items)) }))) = read else {
        return Err(FileRefusal::Unreadable);
    };
    if format.and_then(Plain::text).as_deref() != Some(FORMAT) {
        return Err(FileRefusal::Format);
    }
    if let Some(version) = version
        && !version.and_then(Plain::text).is_some_and(|version| is_known(&version))
    {
        return Err(FileRefusal::Version);
    }
    let one = |(at, Item { reference, acquired_at }): (usize, Item)| {
        let acquired_at = acquired_at.and_then(Plain::text).and_then(|text| Timestamp::new(text).ok());
        let reference = reference.and_then(Fields::reference).ok_or(FileRefusal::NoReference(at + 1))?;
        Ok((reference, acquired_at.as_ref().and_then(moment)))
    };
    items?.into_iter().enumerate().map(one).collect()
}

/// DRF-02: `1.` and digits.
fn is_known(version: &str) -> bool {
    let minor = version.strip_prefix("1.").unwrap_or_default();
    !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit())
}

impl Fields {
    /// None when no field is of use.
    fn reference(self) -> Option<ItemRef> {
        let text = |plain: Option<Plain>| plain.and_then(Plain::text);
        let mut builder = ItemRef::builder();
        if let Some(key) = text(self.bt).and_then(|key| CatalogKey::new(key).ok()) {
            builder = builder.bt(key);
        }
        if let Some(record) = text(self.sc_record) {
            builder = builder.sc_record(record);
        }
        if let Some(guid) = text(self.sc_guid) {
            builder = builder.sc_guid(guid);
        }
        if let Some(id) = self.uex_id.as_ref().and_then(Plain::number).and_then(|id| UexId::new(id).ok()) {
            builder = builder.uex_id(id);
        }
        if let Some(key) = text(self.loc_key) {
            builder = builder.loc_key(key);
        }
        if let Some(name) = text(self.name) {
            builder = builder.name(name);
        }
        builder.build().ok()
    }
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
