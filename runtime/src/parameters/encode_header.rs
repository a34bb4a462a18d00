//! Encodes values as headers: parameters of clients, and response headers of servers.

use super::{Parameter, ScalarType, ValueShape, scalar::normalize_integers};
use crate::{Json, Map, violation::InstancePath};

/// The error of a value that cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParameterEncodingError {
    /// A JSON Pointer below the parameter.
    pub(crate) pointer: String,
}

pub(super) type EncodeResult<T = ()> = Result<T, ParameterEncodingError>;

pub(super) fn unencodable<T>(at: &InstancePath<'_>) -> EncodeResult<T> {
    Err(ParameterEncodingError { pointer: at.to_pointer() })
}

/// Encodes a header. Returns `None` if the header is omitted.
pub(crate) fn write_header(parameter: &Parameter, value: &Json) -> EncodeResult<Option<String>> {
    let value = &*normalize_integers(parameter.shape, value);
    check_distinguishable(parameter, value, false)?;
    let plain = |text: String, at: &InstancePath<'_>, part: bool| {
        let separated = part && text.contains(',');
        if text.trim() != text || separated { unencodable(at) } else { Ok(text) }
    };
    let text = match value {
        Json::Null => return Ok(None),
        _ if matches!(parameter.shape, ValueShape::Json) => value.to_string(),
        Json::Array(items) if items.is_empty() && !parameter.required => return Ok(None),
        Json::Array(items) => {
            let each = items.iter().enumerate().map(|(at, item)| {
                let at = InstancePath::Root.index(at);
                plain(value_to_string(item, &at)?, &at, true)
            });
            let each: Vec<String> = each.collect::<EncodeResult<_>>()?;
            if each == [""] {
                return unencodable(&InstancePath::Root.index(0));
            }
            each.join(",")
        }
        Json::Object(members) => {
            let mut each = Vec::new();
            for (name, text) in member_strings(members)? {
                let at = InstancePath::Root.key(name);
                let text = plain(text, &at, true)?;
                let name = plain(name.to_owned(), &at, true)?;
                if parameter.explode && name.contains('=') {
                    return unencodable(&at);
                }
                each.push(if parameter.explode {
                    format!("{name}={text}")
                } else {
                    format!("{name},{text}")
                });
            }
            each.join(",")
        }
        single => plain(value_to_string(single, &InstancePath::Root)?, &InstancePath::Root, false)?,
    };
    Ok(Some(text))
}

/// Checks that a value can be distinguished from a string if the schema allows any type. A list can be
/// distinguished only if it repeats the name.
pub(super) fn check_distinguishable(parameter: &Parameter, value: &Json, repeats: bool) -> EncodeResult {
    let anything = matches!(parameter.shape, ValueShape::Scalar(ScalarType::Any));
    match value {
        Json::Object(_) if anything => unencodable(&InstancePath::Root),
        Json::Array(items) if anything && !repeats && !items.is_empty() => unencodable(&InstancePath::Root),
        _ => Ok(()),
    }
}

/// Converts the members of an object into strings. Members that are `null` are omitted.
pub(super) fn member_strings(members: &Map<Json>) -> EncodeResult<Vec<(&str, String)>> {
    let present = members.iter().filter(|(_, value)| !value.is_null());
    present.map(|(name, value)| Ok((name, value_to_string(value, &InstancePath::Root.key(name))?))).collect()
}

/// Converts a value into a string. Lists and objects are converted into JSON.
pub(super) fn value_to_string(value: &Json, at: &InstancePath<'_>) -> EncodeResult<String> {
    match value {
        Json::Null => unencodable(at),
        Json::String(text) => Ok(text.clone()),
        other => Ok(other.to_string()),
    }
}
