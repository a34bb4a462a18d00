//! What every generated type can do: be read, be checked, tell what nobody declared.

#[cfg(test)]
mod tests;
mod unheld;

use std::fmt;

use serde::{
    Serialize,
    de::{self, Deserializer, Visitor},
};

use crate::{
    Json, Map, Nullable, Number, Secret, depth,
    json::{JsonError, JsonErrorKind},
    read::{self, Read},
    schema::Validator,
    violation::{Path, Violation, Violations},
};

pub(crate) use unheld::too_large;

/// A type of a contract.
///
/// Reading is tolerant: unknown members are kept, unknown values of open enumerations too, and
/// a broken limit is no reason to fail. Checking is strict and separate.
pub trait Contract: Serialize + for<'de> Read<'de> + ReportUndeclared + Send {
    /// The type's schema.
    const VALIDATOR: Validator<'static>;

    /// Whether every constraint of the schema holds. Fast: looks at the typed value alone.
    fn is_valid(&self) -> bool;

    /// Checks every constraint of the schema.
    ///
    /// # Errors
    /// All violations, as the schema itself reports them.
    fn validate(&self) -> Result<(), Violations> {
        if self.is_valid() {
            return Ok(());
        }
        let found = check_json(self, Self::VALIDATOR);
        agree(&found, Self::VALIDATOR);
        found
    }

    /// JSON Pointers of at most `limit` members that no schema declares.
    fn undeclared(&self, limit: usize) -> Vec<String> {
        let mut found = Undeclared { limit, pointers: Vec::new() };
        self.report_undeclared(&Path::Root, &mut found);
        found.pointers
    }

    /// Reads a JSON document, whatever limits it breaks.
    ///
    /// # Errors
    /// [`Rejected::NotJson`] when it is no JSON document, [`Rejected::TooDeep`] beyond
    /// [`depth::DEFAULT`] levels, otherwise when it does not fit the type:
    /// [`Rejected::Invalid`] with the violations of the schema.
    fn parse(bytes: &[u8]) -> Result<Self, Rejected> {
        Self::parse_within(bytes, depth::DEFAULT)
    }

    /// The same with a bound of the caller's own: at most `depth` arrays and objects in one
    /// another, and never more than [`depth::MAX`].
    ///
    /// # Errors
    /// As [`Contract::parse`].
    fn parse_within(bytes: &[u8], depth: usize) -> Result<Self, Rejected> {
        read::document(bytes, depth).map_err(|error| {
            let reads = |json: &Json| read::document::<Self>(json.to_string().as_bytes(), depth).is_ok();
            Rejected::of(bytes, depth, Some(Self::VALIDATOR), &error, &reads)
        })
    }

    /// Reads a JSON document and checks every constraint of the schema.
    ///
    /// # Errors
    /// As [`Contract::parse`], and [`Rejected::Invalid`] when a constraint does not hold.
    fn parse_valid(bytes: &[u8]) -> Result<Self, Rejected> {
        let value = Self::parse(bytes)?;
        if value.is_valid() {
            return Ok(value);
        }
        // The document says the same as the value, and is written already.
        let found = match Json::parse(bytes) {
            Ok(json) => Self::VALIDATOR.validate(&json),
            Err(_) => check_json(&value, Self::VALIDATOR),
        };
        agree(&found, Self::VALIDATOR);
        found.map_err(Rejected::Invalid).map(|()| value)
    }

    /// The value as JSON, numbers exact.
    ///
    /// # Errors
    /// When a type of the caller's own refuses to be serialised.
    fn to_json(&self) -> Result<Json, serde_json::Error> {
        to_json(self)
    }
}

/// Why a document was not read.
#[derive(Clone, Debug, PartialEq)]
pub enum Rejected {
    /// Not a JSON document.
    NotJson(JsonError),
    /// Nested deeper than the reader was told to follow; nothing is said about the document.
    TooDeep(JsonError),
    /// A JSON document that breaks its schema.
    Invalid(Violations),
    /// A valid document that the type cannot hold, at a line and column of the text.
    Unrepresentable {
        /// JSON Pointer of the first value that is beyond it, a whole number of more than 64 bits; `""` where it is
        /// for something else.
        pointer: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(error) => write!(f, "not a JSON document: {error}"),
            Self::TooDeep(error) => write!(f, "the document is not read so deep: {error}"),
            Self::Invalid(violations) => write!(f, "the document breaks its schema:\n{violations}"),
            Self::Unrepresentable { pointer, line, column } if pointer.is_empty() => {
                write!(f, "the document is valid, but its type cannot hold it (line {line}, column {column})")
            }
            Self::Unrepresentable { pointer, .. } => {
                write!(f, "the document is valid, but its type cannot hold the value at {pointer}")
            }
        }
    }
}

impl std::error::Error for Rejected {}

impl Rejected {
    /// Finds out why `bytes` could not be read: serde knows a line, the schema knows a pointer, and `reads`, which
    /// says whether another document could be, tells of a valid one what its type cannot hold.
    pub(crate) fn of(
        bytes: &[u8],
        depth: usize,
        validator: Option<Validator<'_>>,
        error: &serde_json::Error,
        reads: &dyn Fn(&Json) -> bool,
    ) -> Self {
        let json = match Json::parse_within(bytes, depth) {
            Ok(json) => json,
            Err(error) => return Self::of_text(error),
        };
        match validator.map(|validator| validator.validate(&json)) {
            Some(Err(violations)) => Self::Invalid(violations),
            Some(Ok(())) | None => Self::Unrepresentable {
                pointer: too_large(&json, reads).unwrap_or_default(),
                line: error.line(),
                column: error.column(),
            },
        }
    }

    /// Of what is no JSON, or nests too deeply.
    pub(crate) fn of_text(error: JsonError) -> Self {
        if error.kind == JsonErrorKind::TooDeep { Self::TooDeep(error) } else { Self::NotJson(error) }
    }
}

/// A value in which members may stand that no schema declares.
pub trait ReportUndeclared {
    /// Adds the pointers of members that no schema declares, at and below `at`; none unless a type
    /// says otherwise.
    fn report_undeclared(&self, at: &Path<'_>, found: &mut Undeclared) {
        let _ = (at, found);
    }
}

impl<T: ReportUndeclared> ReportUndeclared for Option<T> {
    fn report_undeclared(&self, at: &Path<'_>, found: &mut Undeclared) {
        if let Some(value) = self {
            value.report_undeclared(at, found);
        }
    }
}

impl<T: ReportUndeclared> ReportUndeclared for Nullable<T> {
    fn report_undeclared(&self, at: &Path<'_>, found: &mut Undeclared) {
        if let Self::Value(value) = self {
            value.report_undeclared(at, found);
        }
    }
}

impl<T: ReportUndeclared> ReportUndeclared for Box<T> {
    fn report_undeclared(&self, at: &Path<'_>, found: &mut Undeclared) {
        self.as_ref().report_undeclared(at, found);
    }
}

impl<T: ReportUndeclared> ReportUndeclared for Vec<T> {
    fn report_undeclared(&self, at: &Path<'_>, found: &mut Undeclared) {
        for (i, element) in self.iter().enumerate() {
            if found.is_full() {
                return;
            }
            element.report_undeclared(&at.index(i), found);
        }
    }
}

impl<T: ReportUndeclared> ReportUndeclared for Map<T> {
    fn report_undeclared(&self, at: &Path<'_>, found: &mut Undeclared) {
        for (name, value) in self.iter() {
            if found.is_full() {
                return;
            }
            value.report_undeclared(&at.key(name), found);
        }
    }
}

macro_rules! report_nothing {
    ($($type:ty),*) => {$(
        impl ReportUndeclared for $type {}
    )*};
}

// What stands beside types with members, in a tuple or behind a name.
report_nothing!(Json, Number, String, bool, i64, u64);

impl<T> ReportUndeclared for Secret<T> {}

macro_rules! report_tuple {
    ($($name:ident $index:tt)*) => {
        impl<$($name: ReportUndeclared),*> ReportUndeclared for ($($name,)*) {
            fn report_undeclared(&self, at: &Path<'_>, found: &mut Undeclared) {
                $(self.$index.report_undeclared(&at.index($index), found);)*
            }
        }
    };
}

report_tuple!(T0 0);
report_tuple!(T0 0 T1 1);
report_tuple!(T0 0 T1 1 T2 2);
report_tuple!(T0 0 T1 1 T2 2 T3 3);
report_tuple!(T0 0 T1 1 T2 2 T3 3 T4 4);
report_tuple!(T0 0 T1 1 T2 2 T3 3 T4 4 T5 5);
report_tuple!(T0 0 T1 1 T2 2 T3 3 T4 4 T5 5 T6 6);
report_tuple!(T0 0 T1 1 T2 2 T3 3 T4 4 T5 5 T6 6 T7 7);

/// The members that no schema declares, as far as they were looked for.
#[derive(Debug)]
pub struct Undeclared {
    limit: usize,
    pointers: Vec<String>,
}

impl Undeclared {
    /// Adds the members of one object.
    pub fn members(&mut self, at: &Path<'_>, extra: &Map<Json>) {
        for name in extra.keys() {
            if self.is_full() {
                return;
            }
            self.pointers.push(at.key(name).pointer());
        }
    }

    /// Adds one member.
    pub fn member(&mut self, at: &Path<'_>, name: &str) {
        if !self.is_full() {
            self.pointers.push(at.key(name).pointer());
        }
    }

    /// Whether nothing more is looked for.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.pointers.len() >= self.limit
    }
}

/// A text that is not among the values of a closed enumeration; holds the enumeration's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownValue(pub &'static str);

impl fmt::Display for UnknownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a value of {}", self.0)
    }
}

impl std::error::Error for UnknownValue {}

/// Reads a JSON string and makes something of it.
///
/// # Errors
/// When the value is no string, or as `make` does.
pub fn read_text<'de, D: Deserializer<'de>, T, E: fmt::Display>(
    deserializer: D,
    make: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    struct Text<F>(F);
    impl<T, E: fmt::Display, F: FnOnce(&str) -> Result<T, E>> Visitor<'_> for Text<F> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }
        fn visit_str<R: de::Error>(self, text: &str) -> Result<T, R> {
            (self.0)(text).map_err(R::custom)
        }
    }
    deserializer.deserialize_str(Text(make))
}

/// The violations for members that a builder was not given.
#[must_use]
pub fn missing(validator: Validator<'_>, given: &[(&str, bool)]) -> Violations {
    let violation =
        |pointer: String| Violation { pointer, keyword: "required", schema: validator.location().into() };
    let root = Path::Root;
    let all = given.iter().filter(|(_, given)| !given);
    let all = all.map(|(name, _)| violation(root.key(name).pointer())).collect();
    Violations::new(all).unwrap_or_else(|| Violations::one(violation(String::new())))
}

/// Whether a value satisfies a schema; for the rules that a type cannot be asked directly.
pub fn holds<T: Serialize + ?Sized>(value: &T, validator: Validator<'_>) -> bool {
    to_json(value).is_ok_and(|json| validator.is_valid(&json))
}

/// Whether a value can be written: nothing in it has a member twice.
#[must_use]
pub fn is_writable<T: Serialize + ?Sized>(value: &T) -> bool {
    serde_json::to_writer(std::io::sink(), value).is_ok()
}

/// Whether a text is among those of a list sorted by their bytes.
#[must_use]
pub fn one_of(text: &str, sorted: &[&str]) -> bool {
    sorted.binary_search(&text).is_ok()
}

/// Whether no two elements are equal (Validation 6.4.3).
pub fn all_distinct<T: Serialize>(elements: &[T]) -> bool {
    if elements.len() < 2 {
        return true;
    }
    let mut seen = std::collections::HashSet::with_capacity(elements.len());
    elements.iter().all(|element| to_json(element).is_ok_and(|json| seen.insert(json)))
}

/// What the tables say of a value, which may be one that cannot be written.
pub(crate) fn check_json<T: Serialize + ?Sized>(
    value: &T,
    validator: Validator<'_>,
) -> Result<(), Violations> {
    let gave_up = |keyword| {
        Violations::one(Violation { pointer: String::new(), keyword, schema: validator.location().into() })
    };
    let text = serde_json::to_vec(value).map_err(|_| gave_up("unwritable"))?;
    let json = Json::of_written(&text).map_err(|error| match error.kind {
        JsonErrorKind::TooDeep => gave_up("depth"),
        _ => gave_up("unwritable"),
    })?;
    validator.validate(&json)
}

/// The two checks of a value are one contract: where the type says no, the tables say why.
fn agree(found: &Result<(), Violations>, validator: Validator<'_>) {
    debug_assert!(found.is_err(), "a type refuses what its schema allows: {}", validator.location());
}

/// Whatever depth the value has: nobody sent it.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Json, serde_json::Error> {
    let text = serde_json::to_vec(value)?;
    Json::of_written(&text).map_err(serde::ser::Error::custom)
}
