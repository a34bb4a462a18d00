//! An envelope in a file that a member imports on the web (DRF-04): only what is needed is read of it, and
//! everything else ignored, whatever it holds.

use exchange_api::types::{CatalogKey, ItemRef, Timestamp, UexId};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::connection::moment;
use crate::time::Moment;

/// The largest file (LIM-33).
pub(super) const LARGEST: usize = 8 << 20;
/// The most blueprints (LIM-32).
const MOST: usize = 2000;
/// The longest text of a reference that is looked at.
const LONGEST: usize = 200;

const FORMAT: &str = "svc.blueprints";

/// Why a file is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileRefusal {
    /// It has more than 8 MiB.
    #[error("The file is larger than 8 MiB.")]
    TooLarge,
    /// It is no JSON, or no object with a list of items.
    #[error("The file is no export of blueprints: it cannot be read.")]
    Unreadable,
    /// Its `format` is another one.
    #[error("The file is no export of blueprints: it says that it is something else.")]
    Format,
    /// Its `formatVersion` is no 1.x.
    #[error("The file was written in a version of the format that is not known here.")]
    Version,
    /// It has more than 2000 blueprints.
    #[error("The file has more than 2000 blueprints. Split it.")]
    TooMany,
    /// One of its items says nothing of which blueprint it is.
    #[error("Item {0} of the file does not say which blueprint it is.")]
    NoReference(usize),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    format: Option<Loose>,
    format_version: Option<Loose>,
    items: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    #[serde(rename = "ref")]
    reference: Option<Reference>,
    acquired_at: Option<Loose>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Reference {
    Fields(Box<Fields>),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    bt: Option<Loose>,
    sc_record: Option<Loose>,
    sc_guid: Option<Loose>,
    uex_id: Option<Loose>,
    loc_key: Option<Loose>,
    name: Option<Loose>,
}

/// A value of any type, of which only texts and whole numbers are of use.
#[derive(Deserialize)]
#[serde(untagged)]
enum Loose {
    Text(String),
    Number(i64),
    Other(IgnoredAny),
}

impl Loose {
    /// As a text that is neither empty nor longer than anything that is looked up.
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text.chars().take(LONGEST).collect()),
            _ => None,
        }
    }

    const fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
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
    let file: File = serde_json::from_slice(bytes).map_err(|_| FileRefusal::Unreadable)?;
    if file.format.and_then(Loose::text).as_deref() != Some(FORMAT) {
        return Err(FileRefusal::Format);
    }
    if let Some(version) = file.format_version
        && !version.text().is_some_and(|version| is_known(&version))
    {
        return Err(FileRefusal::Version);
    }
    if file.items.len() > MOST {
        return Err(FileRefusal::TooMany);
    }
    let one = |(at, item): (usize, Item)| {
        let reference = match item.reference {
            Some(Reference::Fields(fields)) => fields.reference(),
            Some(Reference::Other(_)) | None => None,
        };
        let acquired_at = item.acquired_at.and_then(Loose::text).and_then(|text| Timestamp::new(text).ok());
        let reference = reference.ok_or(FileRefusal::NoReference(at + 1))?;
        Ok((reference, acquired_at.as_ref().and_then(moment)))
    };
    file.items.into_iter().enumerate().map(one).collect()
}

/// DRF-02: `1.` and digits.
fn is_known(version: &str) -> bool {
    let minor = version.strip_prefix("1.").unwrap_or_default();
    !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit())
}

impl Fields {
    /// None when no field is of use.
    fn reference(self) -> Option<ItemRef> {
        let text = |loose: Option<Loose>| loose.and_then(Loose::text);
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
        if let Some(id) = self.uex_id.as_ref().and_then(Loose::number).and_then(|id| UexId::new(id).ok()) {
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
        for item in
            [r#"{"ref":{}}"#, r#"{"ref":"A"}"#, r#"{"ref":{"name":""}}"#, "{}", r#"{"ref":{"later":1}}"#]
        {
            let items = format!(r#"{{"ref":{{"uexId":7}}}},{item}"#);
            assert_eq!(refused(&file(known, &items)), FileRefusal::NoReference(2), "{item}");
        }
        let many = |count: usize| file(known, &vec![r#"{"ref":{"name":"A"}}"#; count].join(","));
        assert_eq!(read(many(2000).as_bytes()).map(|items| items.len()), Ok(2000));
        assert_eq!(refused(&many(2001)), FileRefusal::TooMany);
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
