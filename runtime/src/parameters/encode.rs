//! Encodes values as parameters, according to `style` and `explode` (OpenAPI 3.1, 4.8.12; RFC 6570).

use std::fmt::Write as _;

pub(super) use super::encode_header::{EncodeResult, unencodable, value_to_string};
pub(crate) use super::encode_header::{ParameterEncodingError, write_header};
use super::{
    Parameter, ParameterLocation, ParameterStyle, ValueShape,
    bracket_writer::write_brackets,
    encode_header::{check_distinguishable, member_strings},
    scalar::normalize_integers,
};
use crate::{Json, violation::InstancePath};

/// Encodes a value as `name=value` pairs of a query, a form or a cookie. Returns no pairs for `null`.
pub(crate) fn write_pairs(parameter: &Parameter, value: &Json) -> EncodeResult<Vec<(String, String)>> {
    let value = &*normalize_integers(parameter.shape, value);
    if let Some(convention) = parameter.bracket_convention() {
        return write_brackets(parameter, convention, value);
    }
    check_distinguishable(parameter, value, parameter.explode)?;
    let mut out = Vec::new();
    let name = parameter.encode_name(parameter.name);
    match value {
        Json::Null => {}
        _ if matches!(parameter.shape, ValueShape::Json) => {
            out.push((name, parameter.encode_value(&value.to_string(), &[])));
        }
        Json::Array(items) if parameter.explode => {
            if items.is_empty() && parameter.required {
                return unencodable(&InstancePath::Root);
            }
            for (index, item) in items.iter().enumerate() {
                let text = value_to_string(item, &InstancePath::Root.index(index))?;
                out.push((name.clone(), parameter.encode_value(&text, &[])));
            }
        }
        Json::Object(members) if parameter.explode => {
            for (member, text) in member_strings(members)? {
                if !parameter.shape.has_member(member) {
                    return unencodable(&InstancePath::Root.key(member));
                }
                out.push((parameter.encode_name(member), parameter.encode_value(&text, &[])));
            }
            require_member(parameter, &out)?;
        }
        Json::Array(items) if items.is_empty() && !parameter.required => {}
        _ => out.push((name, write_joined(parameter, value)?)),
    }
    if parameter.style == ParameterStyle::Cookie {
        out.iter().try_for_each(|(name, value)| check_cookie_octets(name, value))?;
    }
    Ok(out)
}

/// Checks that a cookie can contain a name and a value unencoded (RFC 6265, 4.1.1). Commas are allowed as
/// well, because they separate the elements of lists.
fn check_cookie_octets(name: &str, value: &str) -> EncodeResult {
    let octet = |byte: u8| byte.is_ascii_graphic() && !br#"";\"#.contains(&byte);
    let is_name = !name.is_empty() && name.bytes().all(|byte| octet(byte) && byte != b'=');
    if is_name && value.bytes().all(octet) { Ok(()) } else { unencodable(&InstancePath::Root) }
}

/// Encodes a field of a form as declared in `fields`, or as an undeclared field.
pub(crate) fn write_field(
    fields: &[Parameter],
    name: &str,
    value: &Json,
) -> EncodeResult<Vec<(String, String)>> {
    match fields.iter().find(|field| field.name == name) {
        // A field that is present is encoded even if its value is empty.
        Some(row) if row.wire.is_some() || row.style == ParameterStyle::DeepObject => {
            write_pairs(&Parameter { required: true, ..*row }, value)
        }
        Some(row) => write_pairs(row, value),
        None => write_undeclared_field(name, value),
    }
}

/// Encodes a complete query string. Returns `None` if there is none.
pub(crate) fn write_query_string(parameter: &Parameter, value: &Json) -> EncodeResult<Option<String>> {
    let text = match (parameter.shape, value) {
        (_, Json::Null) => return Ok(None),
        (ValueShape::Form(fields, _), Json::Object(members)) => {
            let mut each = Vec::new();
            for (name, value) in members.iter() {
                let below = |at: ParameterEncodingError| ParameterEncodingError {
                    pointer: InstancePath::Root.key(name).to_pointer() + &at.pointer,
                };
                let pairs = write_field(fields, name, value).map_err(below)?;
                each.extend(pairs.into_iter().map(|(name, value)| format!("{name}={value}")));
            }
            each.join("&")
        }
        (ValueShape::Json, _) => percent_encode(&value.to_string(), &[]),
        _ => percent_encode(&value_to_string(value, &InstancePath::Root)?, &[]),
    };
    match (text.is_empty(), parameter.required) {
        (false, _) => Ok(Some(text)),
        (true, false) => Ok(None),
        (true, true) => unencodable(&InstancePath::Root),
    }
}

/// Encodes an undeclared field. A list repeats the name, and nested lists and objects are encoded as JSON.
pub(crate) fn write_undeclared_field(name: &str, value: &Json) -> EncodeResult<Vec<(String, String)>> {
    let one = |value: &Json| {
        Ok((percent_encode(name, &[]), percent_encode(&value_to_string(value, &InstancePath::Root)?, &[])))
    };
    match value {
        Json::Null => Ok(Vec::new()),
        Json::Array(items) => items.iter().map(one).collect(),
        single => Ok(vec![one(single)?]),
    }
}

/// Encodes the value of the placeholder `{name}`.
pub(crate) fn write_path(parameter: &Parameter, value: &Json) -> EncodeResult<String> {
    let value = &*normalize_integers(parameter.shape, value);
    check_distinguishable(parameter, value, false)?;
    let name = percent_encode(parameter.name, &[]);
    let (first, between) = match parameter.style {
        ParameterStyle::Label => (".", if parameter.explode { "." } else { "," }),
        ParameterStyle::Matrix => (";", if parameter.explode { ";" } else { "," }),
        _ => ("", ","),
    };
    let reserved: &[u8] = if between == "." { b"." } else { b"" };
    let matrix = parameter.style == ParameterStyle::Matrix;
    let pair = |name: &str, value: &str| match (matrix, value) {
        (true, "") => name.to_owned(),
        _ => format!("{name}={value}"),
    };
    let body = match value {
        Json::Null => return unencodable(&InstancePath::Root),
        Json::Array(items) if parameter.explode && !matches!(parameter.shape, ValueShape::Json) => {
            let each = items.iter().enumerate().map(|(index, item)| {
                let text =
                    percent_encode(&value_to_string(item, &InstancePath::Root.index(index))?, reserved);
                Ok(if matrix { pair(&name, &text) } else { text })
            });
            let each: Vec<String> = each.collect::<EncodeResult<_>>()?;
            if each.is_empty() {
                return unencodable(&InstancePath::Root);
            }
            if each == [""] {
                return unencodable(&InstancePath::Root.index(0));
            }
            each.join(between)
        }
        Json::Object(members) if parameter.explode && !matches!(parameter.shape, ValueShape::Json) => {
            let each = member_strings(members)?.into_iter();
            let each = each
                .map(|(name, text)| pair(&percent_encode(name, reserved), &percent_encode(&text, reserved)));
            let each: Vec<String> = each.collect();
            if each.is_empty() {
                return unencodable(&InstancePath::Root);
            }
            each.join(between)
        }
        value => {
            let text = write_joined(parameter, value)?;
            if matrix { pair(&name, &text) } else { text }
        }
    };
    Ok(format!("{first}{body}"))
}

impl ValueShape {
    /// Returns true if servers read a member with this name when members are encoded separately.
    fn has_member(self, name: &str) -> bool {
        let is_object = |shape: &Self| matches!(shape, Self::Object(_) | Self::Map(..) | Self::MapOf(..));
        match self {
            Self::Object(fields) => fields.iter().any(|(field, _)| *field == name),
            Self::OneOf(shapes) => {
                let mut objects = shapes.iter().filter(|shape| is_object(shape)).peekable();
                objects.peek().is_none() || objects.any(|shape| shape.has_member(name))
            }
            _ => true,
        }
    }
}

impl Parameter {
    fn encode_name(&self, name: &str) -> String {
        if self.style == ParameterStyle::Cookie { name.to_owned() } else { percent_encode(name, &[]) }
    }

    /// Percent-encodes a value. Unreserved characters are kept, and so are reserved characters that the
    /// parameter allows, that a query can contain and that are not separators (RFC 3986, 3.4).
    pub(super) fn encode_value(&self, text: &str, reserved: &[u8]) -> String {
        if self.style == ParameterStyle::Cookie {
            return text.to_owned();
        }
        if !self.allow_reserved || self.location != ParameterLocation::Query {
            return percent_encode(text, reserved);
        }
        let mut out = String::with_capacity(text.len());
        for character in text.chars() {
            let is_unchanged = matches!(
                character,
                ':' | '/' | '?' | '[' | ']' | '@' | '!' | '$' | '\'' | '(' | ')' | '*' | ',' | ';' | '='
            );
            if is_unchanged && !reserved.iter().any(|byte| char::from(*byte) == character) {
                out.push(character);
            } else {
                out.push_str(&percent_encode(character.encode_utf8(&mut [0; 4]), &[]));
            }
        }
        out
    }
}

/// Encodes a value as one string, with the separator of the style.
fn write_joined(parameter: &Parameter, value: &Json) -> EncodeResult<String> {
    let (separator, taken) = match parameter.style {
        ParameterStyle::SpaceDelimited => ("%20", ' '),
        ParameterStyle::PipeDelimited => ("%7C", '|'),
        _ => (",", ','),
    };
    // A comma in an element is percent-encoded. Other separators cannot be distinguished from data, and
    // cookies are not encoded.
    let encodes = taken == ',' && parameter.style != ParameterStyle::Cookie;
    let part = |text: &str, at: &InstancePath<'_>| {
        let lost = !encodes && text.contains(taken);
        if lost { unencodable(at) } else { Ok(parameter.encode_value(text, b",")) }
    };
    match value {
        _ if matches!(parameter.shape, ValueShape::Json) => {
            Ok(parameter.encode_value(&value.to_string(), b","))
        }
        Json::Array(items) => {
            let each = items.iter().enumerate().map(|(at, item)| {
                let at = InstancePath::Root.index(at);
                part(&value_to_string(item, &at)?, &at)
            });
            let each: Vec<String> = each.collect::<EncodeResult<_>>()?;
            if each == [""] {
                return unencodable(&InstancePath::Root.index(0));
            }
            Ok(each.join(separator))
        }
        Json::Object(members) => {
            let mut each = Vec::new();
            for (name, text) in member_strings(members)? {
                let at = InstancePath::Root.key(name);
                each.push(part(name, &at)?);
                each.push(part(&text, &at)?);
            }
            Ok(each.join(separator))
        }
        // A separator in a scalar is encoded as well, because the value could be read as a list.
        single => {
            let reserved: &[u8] = if parameter.explode { b"" } else { b"," };
            let text = value_to_string(single, &InstancePath::Root)?;
            let may_be_list = matches!(parameter.shape, ValueShape::OneOf(_)) && !parameter.explode;
            if may_be_list && !encodes && text.contains(taken) {
                return unencodable(&InstancePath::Root);
            }
            Ok(parameter.encode_value(&text, reserved))
        }
    }
}

fn require_member(parameter: &Parameter, pairs: &[(String, String)]) -> EncodeResult {
    if pairs.is_empty() && parameter.required { unencodable(&InstancePath::Root) } else { Ok(()) }
}

/// Percent-encodes all characters except unreserved ones (RFC 3986, 2.3). The characters in `reserved` are
/// encoded even if they are unreserved.
pub(crate) fn percent_encode(text: &str, reserved: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~'
                if !reserved.contains(&byte) =>
            {
                out.push(char::from(byte));
            }
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::ScalarType;

    #[test]
    fn only_unreserved_characters_are_kept() {
        assert_eq!(percent_encode("aZ09-._~", &[]), "aZ09-._~");
        assert_eq!(percent_encode("a/b?c#d&e=f+g %", &[]), "a%2Fb%3Fc%23d%26e%3Df%2Bg%20%25");
        assert_eq!(percent_encode("é.", b"."), "%C3%A9%2E");
    }

    /// Each style is encoded as the table in OpenAPI 3.1, 4.8.12.3 shows.
    #[test]
    fn each_style_is_encoded_as_in_openapi() {
        const NAMED: Parameter = Parameter { name: "color", ..Parameter::QUERY };
        let values = [r#""""#, r#""blue""#, r#"["blue","black","brown"]"#, r#"{"R":100,"G":200,"B":150}"#];
        let check = |style, explode, expect: [&str; 4]| {
            for (value, expect) in values.into_iter().zip(expect) {
                let value = Json::parse(value.as_bytes()).unwrap();
                let row = Parameter { style, explode, ..NAMED };
                let text = match style {
                    ParameterStyle::Simple | ParameterStyle::Label | ParameterStyle::Matrix => {
                        write_path(&row, &value).unwrap()
                    }
                    _ => {
                        let pairs = write_pairs(&row, &value).unwrap();
                        let each: Vec<_> =
                            pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
                        each.join("&")
                    }
                };
                assert_eq!(text, expect, "{style:?} {explode}");
            }
        };
        let objects = "R,100,G,200,B,150";
        check(ParameterStyle::Simple, false, ["", "blue", "blue,black,brown", objects]);
        check(ParameterStyle::Simple, true, ["", "blue", "blue,black,brown", "R=100,G=200,B=150"]);
        check(ParameterStyle::Label, false, [".", ".blue", ".blue,black,brown", &format!(".{objects}")]);
        check(ParameterStyle::Label, true, [".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"]);
        let matrix = |value: &str| format!(";color={value}");
        check(
            ParameterStyle::Matrix,
            false,
            [";color", ";color=blue", &matrix("blue,black,brown"), &matrix(objects)],
        );
        check(
            ParameterStyle::Matrix,
            true,
            [";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"],
        );
        check(
            ParameterStyle::Form,
            false,
            ["color=", "color=blue", "color=blue,black,brown", &format!("color={objects}")],
        );
        check(
            ParameterStyle::Form,
            true,
            ["color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"],
        );
        let spaced = |separator: &str| objects.replace(',', separator);
        check(
            ParameterStyle::SpaceDelimited,
            false,
            ["color=", "color=blue", "color=blue%20black%20brown", &format!("color={}", spaced("%20"))],
        );
        check(
            ParameterStyle::PipeDelimited,
            false,
            ["color=", "color=blue", "color=blue%7Cblack%7Cbrown", &format!("color={}", spaced("%7C"))],
        );
        let deep = "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150";
        check(
            ParameterStyle::DeepObject,
            true,
            ["color=", "color=blue", "color%5B%5D=blue&color%5B%5D=black&color%5B%5D=brown", deep],
        );
    }

    #[test]
    fn allowed_reserved_characters_are_kept() {
        const ROW: Parameter = Parameter { name: "q", allow_reserved: true, ..Parameter::QUERY };
        let written =
            |row: &Parameter, value: &str| write_pairs(row, &Json::parse(value.as_bytes()).unwrap()).unwrap();
        assert_eq!(written(&ROW, r#""a/b?c=d,&e+#%""#), [("q".into(), "a/b?c=d,%26e%2B%23%25".into())]);
        let joined = Parameter { explode: false, ..ROW };
        assert_eq!(written(&joined, r#"["a,b","c/d"]"#), [("q".into(), "a%2Cb,c/d".into())]);
    }

    #[test]
    fn unencodable_values_are_rejected() {
        let check = |row: Parameter, value: &str, pointer: &str| {
            let value = Json::parse(value.as_bytes()).unwrap();
            let error = match row.location {
                ParameterLocation::Path => write_path(&row, &value).map(drop),
                ParameterLocation::Header => write_header(&row, &value).map(drop),
                _ => write_pairs(&row, &value).map(drop),
            };
            assert_eq!(error, Err(ParameterEncodingError { pointer: pointer.to_owned() }), "{value}");
        };
        let query = Parameter { required: true, ..Parameter::QUERY };
        let joined = |style| Parameter { style, explode: false, ..query };
        check(query, "[]", "");
        check(query, "{}", "");
        check(query, "[null]", "/0");
        check(joined(ParameterStyle::Form), r#"[""]"#, "/0");
        check(joined(ParameterStyle::PipeDelimited), r#"["a|b"]"#, "/0");
        check(joined(ParameterStyle::SpaceDelimited), r#"["a","b c"]"#, "/1");
        check(Parameter { style: ParameterStyle::DeepObject, ..query }, r#"{"a":{"b[":1}}"#, "/a/b[");
        check(Parameter::HEADER, r#"" a""#, "");
        check(Parameter::HEADER, r#"["a,b"]"#, "/0");
        check(Parameter { explode: true, ..Parameter::HEADER }, r#"{"a=b":1}"#, "/a=b");
        check(Parameter::PATH, "null", "");
        // Servers do not read the undeclared member, and the string would be read as another type.
        let closed = ValueShape::Object(&[("a", ValueShape::Scalar(ScalarType::Text))]);
        check(Parameter { shape: closed, ..query }, r#"{"a":"1","b":2}"#, "/b");
        let either =
            ValueShape::OneOf(const { &[ValueShape::Scalar(ScalarType::Text), ValueShape::Object(&[])] });
        check(Parameter { shape: either, ..query }, r#"{"b":2}"#, "/b");
        let anything = ValueShape::Scalar(ScalarType::Any);
        check(Parameter { shape: anything, ..query }, r#"{"a":1}"#, "");
        check(Parameter { shape: anything, ..joined(ParameterStyle::Form) }, "[1,2]", "");
        check(Parameter { shape: anything, ..Parameter::PATH }, "[1,2]", "");
        check(Parameter { shape: anything, ..Parameter::HEADER }, "[1,2]", "");
        check(Parameter { explode: true, ..Parameter::PATH }, "[]", "");
    }
}
