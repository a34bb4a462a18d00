//! `multipart/form-data` bodies (RFC 7578): files and values.
//!
//! A generated struct implements [`Multipart`]: it writes its fields to a [`MultipartWriter`] and reads them
//! from a [`MultipartReader`], by name. The operation's table ([`PartSpec`]) defines the encoding of each
//! field: as text, as JSON, or a list as one part per element. For validation the parts are converted into
//! one JSON object, in which a file is a string of one character per byte, so that `maxLength` counts bytes.
//!
//! Parsing takes linear time. It rejects more than [`MAX_PARTS`] parts, and more than
//! [`MAX_PART_HEADER_BYTES`] bytes of headers in one part; the router limits the size of the body. File names
//! are encoded as browsers do: `"` as `%22`, line breaks as `%0D` and `%0A`, a trailing `\` as `%5C`. Other
//! characters are unchanged.

#[cfg_attr(not(feature = "client"), allow(dead_code, reason = "only clients choose media types"))]
mod default_type;
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "the other side's half of a shared trait"))]
mod reader;
#[cfg(all(test, feature = "client", feature = "server"))]
mod tests;
#[cfg_attr(not(feature = "client"), allow(dead_code, reason = "the other side's half of a shared trait"))]
mod writer;

use std::fmt;

pub use bytes::Bytes;
use http::HeaderMap;

#[cfg(feature = "server")]
pub(crate) use self::reader::parse_parts;
pub use self::{reader::MultipartReader, writer::MultipartWriter};
use crate::media_type::MediaType;
use crate::operation::{PartCount, PartEncoding, PartSpec};
use crate::schema::Validator;
use crate::violation::Violations;
use crate::{Json, Map};

/// The maximum number of parts of a body.
pub const MAX_PARTS: usize = 1000;

/// The maximum number of header bytes of a part.
pub const MAX_PART_HEADER_BYTES: usize = 8 * 1024;

/// A file, or any part without further decoding.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct FilePart {
    /// The content of the part, without decoding.
    pub bytes: Bytes,
    /// The file name, if the part has one.
    pub name: Option<String>,
    /// The media type. For `None`, the part is sent with the media type of the contract, or with
    /// `application/octet-stream` if the contract declares none. If the contract declares only ranges such as
    /// `image/*`, the media type is derived from the extension of the file name, or is
    /// `application/octet-stream`. If the ranges contain neither, the request is rejected.
    pub media_type: Option<String>,
    /// Headers of the part other than `Content-Disposition` and `Content-Type`.
    pub headers: HeaderMap,
}

impl FilePart {
    /// Creates a part with a file name and content.
    pub fn new(name: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), name: Some(name.into()), ..Self::default() }
    }

    /// Sets the media type, replacing the one of the contract.
    #[must_use]
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }
}

impl<B: Into<Bytes>> From<B> for FilePart {
    fn from(bytes: B) -> Self {
        Self { bytes: bytes.into(), ..Self::default() }
    }
}

/// Shows only the size and the media type, because content and name may be secret.
impl fmt::Debug for FilePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilePart")
            .field("bytes", &self.bytes.len())
            .field("media_type", &self.media_type)
            .finish_non_exhaustive()
    }
}

/// A part together with the name of its field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MultipartField {
    /// The parameter `name` of the part's `Content-Disposition`; empty if it is missing.
    pub name: String,
    /// The content of the part.
    pub file: FilePart,
}

/// A type that is encoded as a multipart body.
pub trait Multipart {
    /// Writes all fields to `form` in the order of the contract.
    fn write_parts(&self, form: &mut MultipartWriter);

    /// Reads all fields; `None` if one does not fit its type.
    fn read_parts(form: &MultipartReader) -> Option<Self>
    where
        Self: Sized;
}

/// A body without a schema.
impl Multipart for Vec<MultipartField> {
    fn write_parts(&self, form: &mut MultipartWriter) {
        form.write_fields(self);
    }

    fn read_parts(form: &MultipartReader) -> Option<Self> {
        Some(form.undeclared_fields())
    }
}

/// A body without a schema, for clients.
impl Multipart for [MultipartField] {
    fn write_parts(&self, form: &mut MultipartWriter) {
        form.write_fields(self);
    }
}

/// A field that holds files: one, an optional one or several.
pub trait FileParts: Sized {
    /// Returns the files.
    fn files(&self) -> impl Iterator<Item = &FilePart>;

    /// Converts the files of a part; `None` if `Self` cannot hold that number of files.
    fn from_files(files: Vec<FilePart>) -> Option<Self>;
}

impl FileParts for FilePart {
    fn files(&self) -> impl Iterator<Item = &FilePart> {
        std::iter::once(self)
    }

    fn from_files(files: Vec<FilePart>) -> Option<Self> {
        let mut files = files.into_iter();
        files.next().filter(|_| files.next().is_none())
    }
}

impl FileParts for Option<FilePart> {
    fn files(&self) -> impl Iterator<Item = &FilePart> {
        self.iter()
    }

    fn from_files(files: Vec<FilePart>) -> Option<Self> {
        let mut files = files.into_iter();
        let first = files.next();
        files.next().is_none().then_some(first)
    }
}

impl FileParts for Vec<FilePart> {
    fn files(&self) -> impl Iterator<Item = &FilePart> {
        self.iter()
    }

    fn from_files(files: Vec<FilePart>) -> Option<Self> {
        Some(files)
    }
}

/// Finds the first part whose media type is not accepted by the row of the part, and returns this row. Parts
/// without a media type are accepted, because senders may omit the media type.
pub(crate) fn find_unaccepted<'r>(rows: &'r [PartSpec], fields: &[MultipartField]) -> Option<&'r PartSpec> {
    fields.iter().find_map(|MultipartField { name, file }| {
        let row = rows.iter().find(|row| row.name == name)?;
        (!row.accepts(file.media_type.as_deref()?)).then_some(row)
    })
}

/// Finds the first file that has no media type although the contract declares only ranges for it, such as
/// `image/*`, and returns its row. A server would treat a part without a media type as `text/plain` (RFC
/// 7578, 4.4).
#[cfg(feature = "client")]
pub(crate) fn find_untyped<'r>(rows: &'r [PartSpec], fields: &[MultipartField]) -> Option<&'r PartSpec> {
    fields.iter().filter(|field| field.file.media_type.is_none()).find_map(|field| {
        let is_ranged = |row: &&PartSpec| {
            row.encoding == PartEncoding::Binary && row.media_type.is_empty() && !row.accepted.is_empty()
        };
        rows.iter().find(|row| row.name == field.name).filter(is_ranged)
    })
}

/// Converts the parts into one JSON object by their rows. A part that can be read as different types is read
/// such that the object is valid, if possible.
///
/// # Errors
/// The violations of the schema, or `None` if a part cannot be decoded.
pub(crate) fn resolve_json(
    rows: &[PartSpec],
    fields: &[MultipartField],
    validator: Option<Validator>,
) -> Result<Json, Option<Violations>> {
    let json = parts_to_json(rows, fields, false).ok_or(None)?;
    let Some(validator) = validator else { return Ok(json) };
    let Err(violations) = validator.validate(&json) else { return Ok(json) };
    // A string that looks like a number may be meant as a string.
    let text = parts_to_json(rows, fields, true).filter(|json| validator.is_valid(json));
    text.ok_or(Some(violations))
}

fn parts_to_json(rows: &[PartSpec], fields: &[MultipartField], text: bool) -> Option<Json> {
    let mut object: Map<Json> = Map::new();
    for MultipartField { name, file } in fields {
        let row = rows.iter().find(|row| row.name == name);
        let value = match row.map(|row| row.encoding) {
            Some(PartEncoding::Json) => Json::parse(&file.bytes).ok()?,
            Some(PartEncoding::Text(scalar)) => {
                scalar.parse_value(std::str::from_utf8(&file.bytes).ok()?, text)
            }
            Some(PartEncoding::Binary) | None => octets_to_json(file),
        };
        let each = row.is_some_and(|row| row.count == PartCount::PerElement);
        let one = row.is_some_and(|row| row.count == PartCount::Single);
        match object.get_mut(name) {
            None if each => drop(object.insert(name.clone(), Json::Array(vec![value]))),
            None => drop(object.insert(name.clone(), value)),
            Some(_) if one => return None,
            Some(Json::Array(items)) => items.push(value),
            Some(first) => *first = Json::Array(vec![std::mem::take(first), value]),
        }
    }
    Some(Json::Object(object))
}

/// Returns the parsed JSON of a part with a JSON media type. Returns other content as a string of one
/// character per byte (OpenAPI 3.1, 4.7.14: the length of binary content is its number of bytes).
fn octets_to_json(file: &FilePart) -> Json {
    let media_type = file.media_type.as_deref().unwrap_or_default();
    let json = MediaType::parse(media_type).is_json().then(|| Json::parse(&file.bytes).ok()).flatten();
    json.unwrap_or_else(|| Json::String(file.bytes.iter().map(|byte| char::from(*byte)).collect()))
}
