//! `multipart/form-data` bodies (RFC 7578): files and values side by side.
//!
//! A generated struct implements [`Multipart`]: it hands its members to a [`Writer`] and takes
//! them from a [`Reader`], by name. How each member becomes parts (as text, as JSON, a list as
//! one part per element) is said by the [`Part`]s of the operation's table. Checking works on
//! the parts themselves: they are read into one JSON object, in which a file is a string of
//! one character per octet, so that `maxLength` counts octets.
//!
//! Reading takes linear time and refuses more than [`MAX_PARTS`] parts, and more than
//! [`MAX_HEADER`] bytes of headers in one part; the size of the whole is the router's limit.
//! File names are written as browsers do (`"` as `%22`, line ends as `%0D` and `%0A`, and `\` as
//! `%5C` at the end) and read back so; other characters stand as they are.

#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "the other side's half of a shared trait"))]
mod read;
#[cfg(all(test, feature = "client", feature = "server"))]
mod tests;
#[cfg_attr(not(feature = "client"), allow(dead_code, reason = "the other side's half of a shared trait"))]
mod write;

use std::fmt;

pub use bytes::Bytes;
use http::HeaderMap;

#[cfg(feature = "server")]
pub(crate) use self::read::parse;
pub use self::{read::Reader, write::Writer};
use crate::media::MediaType;
use crate::operation::{Part, PartForm, Parts};
use crate::schema::Validator;
use crate::violation::Violations;
use crate::{Json, Map};

/// So many parts are read.
pub const MAX_PARTS: usize = 1000;

/// So many bytes of headers are read in each part.
pub const MAX_HEADER: usize = 8 * 1024;

/// A file, or any part that is taken as it is.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct File {
    /// What it holds.
    pub bytes: Bytes,
    /// Its file name.
    pub name: Option<String>,
    /// Its media type; left out when writing, the contract's.
    pub media_type: Option<String>,
    /// Headers of the part beside `Content-Disposition` and `Content-Type`.
    pub headers: HeaderMap,
}

impl File {
    /// A file with a name.
    pub fn new(name: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), name: Some(name.into()), ..Self::default() }
    }

    /// The same with a media type.
    #[must_use]
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }
}

impl<B: Into<Bytes>> From<B> for File {
    fn from(bytes: B) -> Self {
        Self { bytes: bytes.into(), ..Self::default() }
    }
}

/// Size and media type: contents and names are nobody's to log.
impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("bytes", &self.bytes.len())
            .field("media_type", &self.media_type)
            .finish_non_exhaustive()
    }
}

/// A part with its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// `name` of its `Content-Disposition`; empty when it has none.
    pub name: String,
    /// The part.
    pub file: File,
}

/// A body of parts.
pub trait Multipart {
    /// Hands all members over, in order.
    fn write(&self, form: &mut Writer);

    /// Takes all members. `None` when one does not fit its type.
    fn read(form: &Reader) -> Option<Self>
    where
        Self: Sized;
}

/// Parts that no schema describes.
impl Multipart for Vec<Field> {
    fn write(&self, form: &mut Writer) {
        form.fields(self);
    }

    fn read(form: &Reader) -> Option<Self> {
        Some(form.others())
    }
}

/// The same, as clients take them.
impl Multipart for [Field] {
    fn write(&self, form: &mut Writer) {
        form.fields(self);
    }
}

/// A member that consists of files: one, perhaps one, several.
pub trait Files: Sized {
    /// Each.
    fn each(&self) -> impl Iterator<Item = &File>;

    /// The member that so many files are.
    fn of(files: Vec<File>) -> Option<Self>;
}

impl Files for File {
    fn each(&self) -> impl Iterator<Item = &File> {
        std::iter::once(self)
    }

    fn of(files: Vec<File>) -> Option<Self> {
        let mut files = files.into_iter();
        files.next().filter(|_| files.next().is_none())
    }
}

impl Files for Option<File> {
    fn each(&self) -> impl Iterator<Item = &File> {
        self.iter()
    }

    fn of(files: Vec<File>) -> Option<Self> {
        let mut files = files.into_iter();
        let first = files.next();
        files.next().is_none().then_some(first)
    }
}

impl Files for Vec<File> {
    fn each(&self) -> impl Iterator<Item = &File> {
        self.iter()
    }

    fn of(files: Vec<File>) -> Option<Self> {
        Some(files)
    }
}

/// The parts as one JSON object, as their rows say, valid when it can be.
///
/// # Errors
/// The violations of the schema, or none when a part cannot be read.
pub(crate) fn settle(
    rows: &[Part],
    fields: &[Field],
    validator: Option<Validator>,
) -> Result<Json, Option<Violations>> {
    let json = to_json(rows, fields, false).ok_or(None)?;
    let Some(validator) = validator else { return Ok(json) };
    let Err(violations) = validator.validate(&json) else { return Ok(json) };
    // A text that looks like a number may be meant as a text.
    let text = to_json(rows, fields, true).filter(|json| validator.is_valid(json));
    text.ok_or(Some(violations))
}

fn to_json(rows: &[Part], fields: &[Field], text: bool) -> Option<Json> {
    let mut object: Map<Json> = Map::new();
    for Field { name, file } in fields {
        let row = rows.iter().find(|row| row.name == name);
        let value = match row.map(|row| row.form) {
            Some(PartForm::Json) => Json::parse(&file.bytes).ok()?,
            Some(PartForm::Text(scalar)) => scalar.value(std::str::from_utf8(&file.bytes).ok()?, text),
            Some(PartForm::Binary) | None => octets(file),
        };
        let each = row.is_some_and(|row| row.parts == Parts::Each);
        let one = row.is_some_and(|row| row.parts == Parts::One);
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

/// JSON where the part says so, else one character for each octet (OpenAPI 3.1, 4.7.14: the
/// length of binary content is its number of octets).
fn octets(file: &File) -> Json {
    let media_type = file.media_type.as_deref().unwrap_or_default();
    let json = MediaType::of(media_type).is_json().then(|| Json::parse(&file.bytes).ok()).flatten();
    json.unwrap_or_else(|| Json::String(file.bytes.iter().map(|byte| char::from(*byte)).collect()))
}
