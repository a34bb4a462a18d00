//! [`Contract`]: the trait of all generated types, for parsing, validation and detection of undeclared
//! members.

mod lists;
#[cfg(test)]
mod tests;
mod unrepresentable;

use std::fmt;

use serde::{
    Serialize,
    de::{self, Deserializer, Visitor},
};

use crate::{
    Json, Map, Nullable, Number, Secret, depth,
    json::{JsonError, JsonErrorKind},
    read::{self, ReadJson},
    schema::Validator,
    violation::{InstancePath, Violation, Violations},
};

pub use lists::IntoList;
pub(crate) use unrepresentable::find_unrepresentable;

/// A type generated from a schema.
///
/// Parsing is tolerant: it keeps unknown members and unknown values of open enumerations, and it accepts
/// values that violate constraints. Validation is strict and separate.
pub trait Contract: Serialize + for<'de> ReadJson<'de> + ReportUndeclared + Send {
    /// The validator of the type's schema.
    const VALIDATOR: Validator<'static>;

    /// Returns true if every constraint of the schema holds. This check is fast, because it inspects only the
    /// typed value and does not convert it to JSON.
    fn is_valid(&self) -> bool;

    /// Validates the value against every constraint of the schema.
    ///
    /// # Errors
    /// Returns all violations of the schema.
    fn validate(&self) -> Result<(), Violations> {
        if self.is_valid() {
            return Ok(());
        }
        let found = validate_serialized(self, Self::VALIDATOR);
        debug_assert_rejected(&found, Self::VALIDATOR);
        found
    }

    /// Returns the JSON Pointers of at most `limit` members that no schema declares.
    fn undeclared_members(&self, limit: usize) -> Vec<String> {
        let mut found = UndeclaredMembers { limit, pointers: Vec::new() };
        self.report_undeclared(&InstancePath::Root, &mut found);
        found.pointers
    }

    /// Parses a JSON document without checking constraints.
    ///
    /// # Errors
    /// [`DocumentError::NotJson`] if the input is not a JSON document, and [`DocumentError::TooDeep`] beyond
    /// [`depth::DEFAULT_DEPTH`] levels. If the document does not fit the type, [`DocumentError::Invalid`]
    /// with the violations of the schema, or [`DocumentError::Unrepresentable`] if there are none.
    fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        Self::parse_with_depth(bytes, depth::DEFAULT_DEPTH)
    }

    /// Parses like [`Contract::parse`], but with a custom limit for nested arrays and objects. The limit is
    /// capped at [`depth::MAX_DEPTH`].
    ///
    /// # Errors
    /// Same as [`Contract::parse`].
    fn parse_with_depth(bytes: &[u8], depth: usize) -> Result<Self, DocumentError> {
        read::read_document(bytes, depth).map_err(|error| {
            let reads = |json: &Json| read::read_document::<Self>(json.to_string().as_bytes(), depth).is_ok();
            DocumentError::diagnose(bytes, depth, Some(Self::VALIDATOR), &error, &reads)
        })
    }

    /// Parses a JSON document and validates it against every constraint of the schema.
    ///
    /// # Errors
    /// Same as [`Contract::parse`], and [`DocumentError::Invalid`] if a constraint does not hold.
    fn parse_valid(bytes: &[u8]) -> Result<Self, DocumentError> {
        let value = Self::parse(bytes)?;
        if value.is_valid() {
            return Ok(value);
        }
        // The document is equivalent to the value and is already serialized.
        let found = match Json::parse(bytes) {
            Ok(json) => Self::VALIDATOR.validate(&json),
            Err(_) => validate_serialized(&value, Self::VALIDATOR),
        };
        debug_assert_rejected(&found, Self::VALIDATOR);
        found.map_err(DocumentError::Invalid).map(|()| value)
    }

    /// Reads the value from JSON without checking constraints, as [`Contract::parse`] does for a document.
    ///
    /// # Errors
    /// [`DocumentError::Invalid`] with the violations of the schema if the JSON does not fit the type, or
    /// [`DocumentError::Unrepresentable`] if there are none.
    fn from_json(json: &Json) -> Result<Self, DocumentError> {
        Self::parse_with_depth(json.to_string().as_bytes(), depth::MAX_DEPTH)
    }

    /// Converts the value to JSON with exact numbers.
    ///
    /// # Errors
    /// Fails if a custom `Serialize` implementation returns an error.
    fn to_json(&self) -> Result<Json, serde_json::Error> {
        to_json(self)
    }
}

impl Json {
    /// Reads the value as a generated type, a `String`, an integer, or a `Vec` or [`Map`] of these.
    /// Constraints are not checked.
    ///
    /// # Errors
    /// [`DocumentError::Unrepresentable`] if the type cannot represent the value.
    pub fn read_as<T: for<'de> ReadJson<'de> + Send>(&self) -> Result<T, DocumentError> {
        let (text, depth) = (self.to_string(), depth::MAX_DEPTH);
        let reads = |json: &Self| read::read_document::<T>(json.to_string().as_bytes(), depth).is_ok();
        read::read_document(text.as_bytes(), depth)
            .map_err(|error| DocumentError::diagnose(text.as_bytes(), depth, None, &error, &reads))
    }
}

impl Map<Json> {
    /// Reads the value of `key` as a type, as [`Json::read_as`] does. Returns `None` if there is no such
    /// member.
    ///
    /// This reads members that a contract does not declare: `pet.extra.get_as::<String>("owner")`.
    ///
    /// # Errors
    /// [`DocumentError::Unrepresentable`] if the type cannot represent the value.
    pub fn get_as<T: for<'de> ReadJson<'de> + Send>(&self, key: &str) -> Result<Option<T>, DocumentError> {
        self.get(key).map(Json::read_as).transpose()
    }
}

/// The reason why a document cannot be parsed into a type.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentError {
    /// The input is not a JSON document.
    NotJson(JsonError),
    /// The document is nested deeper than the limit of the parser; it was not examined further.
    TooDeep(JsonError),
    /// The JSON document violates its schema.
    Invalid(Violations),
    /// The document is valid, but the type cannot represent it. The fields locate the error.
    Unrepresentable {
        /// The JSON Pointer of the first integer with more than 64 bits if that is the reason, otherwise
        /// `""`.
        pointer: String,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
    },
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(error) => write!(f, "not a JSON document: {error}"),
            Self::TooDeep(error) => write!(f, "the document exceeds the depth limit: {error}"),
            Self::Invalid(violations) => write!(f, "the document violates its schema:\n{violations}"),
            Self::Unrepresentable { pointer, line, column } if pointer.is_empty() => {
                write!(
                    f,
                    "the document is valid, but its type cannot represent it (line {line}, column {column})"
                )
            }
            Self::Unrepresentable { pointer, .. } => {
                write!(f, "the document is valid, but its type cannot represent the value at {pointer}")
            }
        }
    }
}

impl std::error::Error for DocumentError {}

impl DocumentError {
    /// Determines why `bytes` could not be parsed. Serde reports a line, and the schema reports a pointer. If
    /// the document is valid, the function calls `reads` with modified documents to find the value that the
    /// type cannot represent.
    pub(crate) fn diagnose(
        bytes: &[u8],
        depth: usize,
        validator: Option<Validator<'_>>,
        error: &serde_json::Error,
        reads: &dyn Fn(&Json) -> bool,
    ) -> Self {
        let json = match Json::parse_with_depth(bytes, depth) {
            Ok(json) => json,
            Err(error) => return Self::from_json_error(error),
        };
        match validator.map(|validator| validator.validate(&json)) {
            Some(Err(violations)) => Self::Invalid(violations),
            Some(Ok(())) | None => Self::Unrepresentable {
                pointer: find_unrepresentable(&json, reads).unwrap_or_default(),
                line: error.line(),
                column: error.column(),
            },
        }
    }

    /// Converts a syntax error.
    pub(crate) fn from_json_error(error: JsonError) -> Self {
        if error.kind == JsonErrorKind::TooDeep { Self::TooDeep(error) } else { Self::NotJson(error) }
    }
}

/// A value that may contain members that no schema declares.
pub trait ReportUndeclared {
    /// Adds the pointers of undeclared members at and below `at`. The default implementation adds none.
    fn report_undeclared(&self, at: &InstancePath<'_>, found: &mut UndeclaredMembers) {
        let _ = (at, found);
    }
}

impl<T: ReportUndeclared> ReportUndeclared for Option<T> {
    fn report_undeclared(&self, at: &InstancePath<'_>, found: &mut UndeclaredMembers) {
        if let Some(value) = self {
            value.report_undeclared(at, found);
        }
    }
}

impl<T: ReportUndeclared> ReportUndeclared for Nullable<T> {
    fn report_undeclared(&self, at: &InstancePath<'_>, found: &mut UndeclaredMembers) {
        if let Self::Value(value) = self {
            value.report_undeclared(at, found);
        }
    }
}

impl<T: ReportUndeclared> ReportUndeclared for Box<T> {
    fn report_undeclared(&self, at: &InstancePath<'_>, found: &mut UndeclaredMembers) {
        self.as_ref().report_undeclared(at, found);
    }
}

impl<T: ReportUndeclared> ReportUndeclared for Vec<T> {
    fn report_undeclared(&self, at: &InstancePath<'_>, found: &mut UndeclaredMembers) {
        for (i, element) in self.iter().enumerate() {
            if found.is_full() {
                return;
            }
            element.report_undeclared(&at.index(i), found);
        }
    }
}

impl<T: ReportUndeclared> ReportUndeclared for Map<T> {
    fn report_undeclared(&self, at: &InstancePath<'_>, found: &mut UndeclaredMembers) {
        for (name, value) in self.iter() {
            if found.is_full() {
                return;
            }
            value.report_undeclared(&at.key(name), found);
        }
    }
}

macro_rules! no_undeclared_members {
    ($($type:ty),*) => {$(
        impl ReportUndeclared for $type {}
    )*};
}

// Types without members that can be combined with types that have members, in a tuple or by a type alias.
no_undeclared_members!(Json, Number, String, bool, i32, u32, i64, u64);

impl<T> ReportUndeclared for Secret<T> {}

macro_rules! report_tuple {
    ($($name:ident $index:tt)*) => {
        impl<$($name: ReportUndeclared),*> ReportUndeclared for ($($name,)*) {
            fn report_undeclared(&self, at: &InstancePath<'_>, found: &mut UndeclaredMembers) {
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

/// A collector of the JSON Pointers of undeclared members, with a limit.
#[derive(Debug)]
pub struct UndeclaredMembers {
    limit: usize,
    pointers: Vec<String>,
}

impl UndeclaredMembers {
    /// Adds all members of an object.
    pub fn add_all(&mut self, at: &InstancePath<'_>, extra: &Map<Json>) {
        for name in extra.keys() {
            if self.is_full() {
                return;
            }
            self.pointers.push(at.key(name).to_pointer());
        }
    }

    /// Adds one member of an object.
    pub fn add_member(&mut self, at: &InstancePath<'_>, name: &str) {
        if !self.is_full() {
            self.pointers.push(at.key(name).to_pointer());
        }
    }

    /// Returns true if the limit is reached.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.pointers.len() >= self.limit
    }
}

/// The error for a string that is not a value of an enumeration or format. Contains the name of the Rust
/// type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownValue(pub &'static str);

impl fmt::Display for UnknownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a value of {}", self.0)
    }
}

impl std::error::Error for UnknownValue {}

/// Deserializes a JSON string and converts it.
///
/// # Errors
/// Fails if the value is not a string, or if `make` returns an error.
pub fn read_string<'de, D: Deserializer<'de>, T, E: fmt::Display>(
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

/// Returns the violations for required members that were not set on a builder.
#[must_use]
pub fn missing_members(validator: Validator<'_>, members: &[(&str, bool)]) -> Violations {
    let violation = |pointer: String| Violation::new(pointer, "required", validator.schema_location());
    let root = InstancePath::Root;
    let all = members.iter().filter(|(_, is_set)| !is_set);
    let all = all.map(|(name, _)| violation(root.key(name).to_pointer())).collect();
    Violations::new(all).unwrap_or_else(|| Violations::from_violation(violation(String::new())))
}

/// Returns true if a value satisfies a schema. Used for constraints that a type cannot check directly.
pub fn satisfies_schema<T: Serialize + ?Sized>(value: &T, validator: Validator<'_>) -> bool {
    to_json(value).is_ok_and(|json| validator.is_valid(&json))
}

/// Returns true if a value can be serialized, that is, if no object in it has a duplicate member.
#[must_use]
pub fn is_serializable<T: Serialize + ?Sized>(value: &T) -> bool {
    serde_json::to_writer(std::io::sink(), value).is_ok()
}

/// Returns true if a list contains the string. The list must be sorted by bytes.
#[must_use]
pub fn contains_sorted(text: &str, sorted: &[&str]) -> bool {
    sorted.binary_search(&text).is_ok()
}

/// Returns true if no two elements are equal by JSON Schema equality (Validation 6.4.3).
pub fn all_distinct<T: Serialize>(elements: &[T]) -> bool {
    if elements.len() < 2 {
        return true;
    }
    let mut seen = std::collections::HashSet::with_capacity(elements.len());
    elements.iter().all(|element| to_json(element).is_ok_and(|json| seen.insert(json)))
}

/// Validates the serialized form of a value. A value that cannot be serialized is a violation.
pub(crate) fn validate_serialized<T: Serialize + ?Sized>(
    value: &T,
    validator: Validator<'_>,
) -> Result<(), Violations> {
    let gave_up =
        |keyword| Violations::from_violation(Violation::new("", keyword, validator.schema_location()));
    let text = serde_json::to_vec(value).map_err(|_| gave_up("unwritable"))?;
    let json = Json::parse_unlimited(&text).map_err(|error| match error.kind {
        JsonErrorKind::TooDeep => gave_up("depth"),
        _ => gave_up("unwritable"),
    })?;
    validator.validate(&json)
}

/// Asserts that the type check and the schema agree that the value is invalid.
fn debug_assert_rejected(found: &Result<(), Violations>, validator: Validator<'_>) {
    debug_assert!(
        found.is_err(),
        "a type rejects a value that its schema accepts: {}",
        validator.schema_location()
    );
}

/// Converts a value to JSON without a depth limit, because this program built the value.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Json, serde_json::Error> {
    let text = serde_json::to_vec(value)?;
    Json::parse_unlimited(&text).map_err(serde::ser::Error::custom)
}
