//! Typed response headers.
//!
//! A generated type has a method for each header that the contract declares for the responses of an operation.
//! The methods parse the headers of a response on request, so that an invalid header affects neither the
//! response nor other headers.

use std::fmt;

use http::HeaderMap;

use crate::{
    parameters::{Parameter, ScalarType, ValueShape},
    read::{ReadJson, read_typed},
};

/// The response headers that the contract declares. Generated for each operation with such headers.
///
/// ```
/// use contract_runtime::client::{HeaderMap, InvalidHeader, ReceivedHeaders, ResponseHeaders};
/// use contract_runtime::parameters::{Parameter, ScalarType, ValueShape};
///
/// struct ListIssuesHeaders<'a>(ReceivedHeaders<'a>);
///
/// impl ListIssuesHeaders<'_> {
///     fn x_next_page(&self) -> Result<Option<i64>, InvalidHeader> {
///         const NEXT_PAGE: Parameter = Parameter {
///             name: "X-Next-Page",
///             shape: ValueShape::Scalar(ScalarType::Integer(None)),
///             ..Parameter::HEADER
///         };
///         self.0.optional(&NEXT_PAGE)
///     }
/// }
///
/// impl ResponseHeaders for ListIssuesHeaders<'_> {
///     type Borrowed<'a> = ListIssuesHeaders<'a>;
///
///     fn from_received(headers: ReceivedHeaders<'_>) -> ListIssuesHeaders<'_> {
///         ListIssuesHeaders(headers)
///     }
/// }
///
/// let mut headers = HeaderMap::new();
/// headers.insert("x-next-page", "2".parse()?);
/// assert_eq!(ListIssuesHeaders::from_headers(&headers).x_next_page()?, Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ResponseHeaders {
    /// This type, with the lifetime of the response from which it borrows.
    type Borrowed<'a>;

    /// Wraps the headers of a response.
    fn from_received(headers: ReceivedHeaders<'_>) -> Self::Borrowed<'_>;

    /// Returns the typed headers of a response, such as those of an error response.
    fn from_headers(headers: &HeaderMap) -> Self::Borrowed<'_> {
        Self::from_received(ReceivedHeaders(headers))
    }
}

/// The headers of a response before they are parsed.
#[derive(Clone, Copy)]
pub struct ReceivedHeaders<'a>(&'a HeaderMap);

impl ReceivedHeaders<'_> {
    /// Parses a header that every response contains.
    ///
    /// # Errors
    /// If the header is missing or does not have the type `T`.
    pub fn required<T: for<'de> ReadJson<'de> + Send>(&self, row: &Parameter) -> Result<T, InvalidHeader> {
        required_header(self.0, row)
    }

    /// Parses a header that a response may lack. An empty value counts as absent if the type has no empty
    /// value.
    ///
    /// # Errors
    /// If the header does not have the type `T`.
    pub fn optional<T: for<'de> ReadJson<'de> + Send>(
        &self,
        row: &Parameter,
    ) -> Result<Option<T>, InvalidHeader> {
        optional_header(self.0, row)
    }
}

/// Shows only the number of headers, because the headers may contain secrets.
impl fmt::Debug for ReceivedHeaders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedHeaders").field("headers", &self.0.len()).finish()
    }
}

/// The error of a response header that is missing, or whose value does not have its type. It does not contain
/// the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidHeader {
    name: &'static str,
    is_missing: bool,
    expected: Option<&'static str>,
}

impl InvalidHeader {
    /// Returns the name of the header.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns true if the response does not contain the header although the contract requires it.
    #[must_use]
    pub const fn is_missing(&self) -> bool {
        self.is_missing
    }
}

impl fmt::Display for InvalidHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match self.expected {
            _ if self.is_missing => write!(f, "the response has no header `{name}`"),
            Some(expected) => write!(f, "the response header `{name}` is not {expected}"),
            None => write!(f, "the response header `{name}` does not have the type of the contract"),
        }
    }
}

impl std::error::Error for InvalidHeader {}

fn required_header<T: for<'de> ReadJson<'de> + Send>(
    headers: &HeaderMap,
    row: &Parameter,
) -> Result<T, InvalidHeader> {
    let missing = InvalidHeader { name: row.name, is_missing: true, expected: None };
    let value = combined_value(headers, row)?.ok_or(missing)?;
    parse_value(row, &value)
}

fn optional_header<T: for<'de> ReadJson<'de> + Send>(
    headers: &HeaderMap,
    row: &Parameter,
) -> Result<Option<T>, InvalidHeader> {
    let Some(value) = combined_value(headers, row)? else { return Ok(None) };
    match parse_value(row, &value) {
        Err(_) if value.is_empty() => Ok(None),
        parsed => parsed.map(Some),
    }
}

fn parse_value<T: for<'de> ReadJson<'de> + Send>(row: &Parameter, value: &str) -> Result<T, InvalidHeader> {
    row.read_header(value).find_map(|json| read_typed(&json)).ok_or_else(|| invalid(row))
}

/// Returns the value of a header. Several lines form one list (RFC 9110, 5.3).
fn combined_value(headers: &HeaderMap, row: &Parameter) -> Result<Option<String>, InvalidHeader> {
    let mut lines = headers.get_all(row.name).iter().map(|line| std::str::from_utf8(line.as_bytes()));
    let Some(first) = lines.next() else { return Ok(None) };
    let mut value = first.map_err(|_| invalid(row))?.trim().to_owned();
    for line in lines {
        value.push_str(", ");
        value.push_str(line.map_err(|_| invalid(row))?.trim());
    }
    Ok(Some(value))
}

const fn invalid(row: &Parameter) -> InvalidHeader {
    let expected = match row.shape {
        ValueShape::Scalar(ScalarType::Integer(_)) => Some("an integer"),
        ValueShape::Scalar(ScalarType::Number) => Some("a number"),
        ValueShape::Scalar(ScalarType::Boolean) => Some("`true` or `false`"),
        ValueShape::Json => Some("JSON"),
        _ => None,
    };
    InvalidHeader { name: row.name, is_missing: false, expected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Json;

    fn headers(lines: &[(&'static str, &'static [u8])]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, http::HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    const INTEGER: Parameter = Parameter {
        name: "X-Next-Page",
        shape: ValueShape::Scalar(ScalarType::Integer(None)),
        ..Parameter::HEADER
    };
    const TEXT: Parameter = Parameter { name: "Link", ..Parameter::HEADER };

    #[test]
    fn headers_have_the_types_of_the_contract() {
        let all = headers(&[("x-next-page", b" 2 "), ("link", b"<a>; rel=next"), ("LINK", b"<b>; rel=last")]);
        assert_eq!(optional_header(&all, &INTEGER), Ok(Some(2_i64)));
        assert_eq!(required_header(&all, &INTEGER), Ok(2_i64));
        assert_eq!(required_header(&all, &TEXT), Ok("<a>; rel=next, <b>; rel=last".to_owned()));
        let list = |shape| Parameter { name: "X-Ids", shape, ..Parameter::HEADER };
        let ids = headers(&[("x-ids", b"1, 2"), ("x-ids", b"3")]);
        let integers = ValueShape::Array(ScalarType::Integer(None));
        assert_eq!(required_header(&ids, &list(integers)), Ok(vec![1_i64, 2, 3]));
        let members: &'static [(&'static str, ValueShape)] = &[("a", INTEGER.shape)];
        let object = Parameter { explode: true, ..list(ValueShape::Object(members)) };
        let read = required_header::<Json>(&headers(&[("x-ids", b"a=1,b=2")]), &object);
        assert_eq!(read.unwrap().to_string(), r#"{"a":1,"b":"2"}"#);
        // The type selects one of several readings of a value.
        let any = list(ValueShape::Scalar(ScalarType::Any));
        let seven = headers(&[("x-ids", b"7")]);
        assert_eq!(required_header(&seven, &any), Ok(7_i64));
        assert_eq!(required_header(&seven, &any), Ok("7".to_owned()));
        let json = required_header::<Json>(&headers(&[("x-ids", br#"{"a":1}"#)]), &list(ValueShape::Json));
        assert_eq!(json.unwrap().to_string(), r#"{"a":1}"#);
    }

    #[test]
    fn missing_and_empty_headers_are_distinguished() {
        let none = HeaderMap::new();
        assert_eq!(optional_header::<i64>(&none, &INTEGER), Ok(None));
        let missing = required_header::<i64>(&none, &INTEGER).unwrap_err();
        assert!(missing.is_missing());
        assert_eq!(missing.to_string(), "the response has no header `X-Next-Page`");
        let empty = headers(&[("x-next-page", b""), ("link", b"")]);
        assert_eq!(optional_header::<i64>(&empty, &INTEGER), Ok(None));
        assert_eq!(optional_header(&empty, &TEXT), Ok(Some(String::new())));
        assert!(!required_header::<i64>(&empty, &INTEGER).unwrap_err().is_missing());
    }

    #[test]
    fn errors_name_the_header_and_not_its_value() {
        let all = headers(&[("x-next-page", b"two"), ("link", b"\xff")]);
        let error = optional_header::<i64>(&all, &INTEGER).unwrap_err();
        assert_eq!((error.name(), error.is_missing()), ("X-Next-Page", false));
        assert_eq!(error.to_string(), "the response header `X-Next-Page` is not an integer");
        let error = optional_header::<String>(&all, &TEXT).unwrap_err();
        assert_eq!(error.to_string(), "the response header `Link` does not have the type of the contract");
    }
}
