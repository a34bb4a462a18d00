//! Writes values as parameters, by style and explode (OpenAPI 3.1, 4.8.12; RFC 6570).

use std::fmt::Write as _;

use super::{Location, Parameter, Scalar, Shape, Style, scalar::in_digits};
use crate::{Json, Map, violation::Path};

/// Why a value has no text here: JSON Pointer below the parameter, and the JSON Schema
/// keyword that comes closest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inexpressible {
    pub(crate) pointer: String,
    pub(crate) keyword: &'static str,
}

type Written<T = ()> = Result<T, Inexpressible>;

fn no<T>(at: &Path<'_>, keyword: &'static str) -> Written<T> {
    Err(Inexpressible { pointer: at.pointer(), keyword })
}

/// `name=value` for each pair of a query, a form or a cookie, encoded. None for `null`.
pub(crate) fn pairs(parameter: &Parameter, value: &Json) -> Written<Vec<(String, String)>> {
    let value = &*in_digits(parameter.shape, value);
    is_told_apart(parameter, value, parameter.explode)?;
    let mut out = Vec::new();
    let name = parameter.encode_name(parameter.name);
    match value {
        Json::Null => {}
        _ if matches!(parameter.shape, Shape::Json) => {
            out.push((name, parameter.encode(&value.to_string(), &[])));
        }
        Json::Array(items) if parameter.explode => {
            if items.is_empty() && parameter.required {
                return no(&Path::Root, "minItems");
            }
            for (at, item) in items.iter().enumerate() {
                let text = element(item, &Path::Root.index(at))?;
                out.push((name.clone(), parameter.encode(&text, &[])));
            }
        }
        Json::Object(members) if parameter.style == Style::DeepObject => {
            deep(parameter, parameter.shape, &name, members, &Path::Root, &mut out)?;
            needs_a_member(parameter, &out)?;
        }
        Json::Object(members) if parameter.explode => {
            for (member, text) in texts(members)? {
                if !parameter.shape.looks_for(member) {
                    return no(&Path::Root.key(member), "additionalProperties");
                }
                out.push((parameter.encode_name(member), parameter.encode(&text, &[])));
            }
            needs_a_member(parameter, &out)?;
        }
        Json::Array(items) if items.is_empty() && !parameter.required => {}
        _ => out.push((name, joined(parameter, value)?)),
    }
    if parameter.style == Style::Cookie {
        out.iter().try_for_each(|(name, value)| in_cookie(name, value))?;
    }
    Ok(out)
}

/// Whether a cookie can hold a name and a value as they are (RFC 6265, 4.1.1); commas stand between
/// the elements of lists.
fn in_cookie(name: &str, value: &str) -> Written {
    let octet = |byte: u8| byte.is_ascii_graphic() && !br#"";\"#.contains(&byte);
    let is_name = !name.is_empty() && name.bytes().all(|byte| octet(byte) && byte != b'=');
    if is_name && value.bytes().all(octet) { Ok(()) } else { no(&Path::Root, "pattern") }
}

/// A member of a form, by its row where there is one.
pub(crate) fn field(fields: &[Parameter], name: &str, value: &Json) -> Written<Vec<(String, String)>> {
    match fields.iter().find(|field| field.name == name) {
        Some(row) => pairs(row, value),
        None => other_pairs(name, value),
    }
}

/// The text of a whole query; `None` where there is none.
pub(crate) fn whole(parameter: &Parameter, value: &Json) -> Written<Option<String>> {
    let text = match (parameter.shape, value) {
        (_, Json::Null) => return Ok(None),
        (Shape::Form(fields, _), Json::Object(members)) => {
            let mut each = Vec::new();
            for (name, value) in members.iter() {
                let below = |at: Inexpressible| Inexpressible {
                    pointer: Path::Root.key(name).pointer() + &at.pointer,
                    keyword: at.keyword,
                };
                let pairs = field(fields, name, value).map_err(below)?;
                each.extend(pairs.into_iter().map(|(name, value)| format!("{name}={value}")));
            }
            each.join("&")
        }
        (Shape::Json, _) => encoded(&value.to_string(), &[]),
        _ => encoded(&element(value, &Path::Root)?, &[]),
    };
    match (text.is_empty(), parameter.required, parameter.shape) {
        (false, ..) => Ok(Some(text)),
        (true, false, _) => Ok(None),
        (true, true, Shape::Form(..)) => no(&Path::Root, "minProperties"),
        (true, true, _) => no(&Path::Root, "minLength"),
    }
}

/// A field that no row names: a list repeats its name, a list or object inside is JSON text.
pub(crate) fn other_pairs(name: &str, value: &Json) -> Written<Vec<(String, String)>> {
    let one = |value: &Json| Ok((encoded(name, &[]), encoded(&element(value, &Path::Root)?, &[])));
    match value {
        Json::Null => Ok(Vec::new()),
        Json::Array(items) => items.iter().map(one).collect(),
        single => Ok(vec![one(single)?]),
    }
}

/// What stands in the place of `{name}`.
pub(crate) fn path(parameter: &Parameter, value: &Json) -> Written<String> {
    let value = &*in_digits(parameter.shape, value);
    is_told_apart(parameter, value, false)?;
    let name = encoded(parameter.name, &[]);
    let (first, between) = match parameter.style {
        Style::Label => (".", if parameter.explode { "." } else { "," }),
        Style::Matrix => (";", if parameter.explode { ";" } else { "," }),
        _ => ("", ","),
    };
    let reserved: &[u8] = if between == "." { b"." } else { b"" };
    let matrix = parameter.style == Style::Matrix;
    let pair = |name: &str, value: &str| match (matrix, value) {
        (true, "") => name.to_owned(),
        _ => format!("{name}={value}"),
    };
    let body = match value {
        Json::Null => return no(&Path::Root, "type"),
        Json::Array(items) if parameter.explode && !matches!(parameter.shape, Shape::Json) => {
            let each = items.iter().enumerate().map(|(at, item)| {
                let text = encoded(&element(item, &Path::Root.index(at))?, reserved);
                Ok(if matrix { pair(&name, &text) } else { text })
            });
            let each: Vec<String> = each.collect::<Written<_>>()?;
            if each.is_empty() {
                return no(&Path::Root, "minItems");
            }
            if each == [""] {
                return no(&Path::Root.index(0), "minLength");
            }
            each.join(between)
        }
        Json::Object(members) if parameter.explode && !matches!(parameter.shape, Shape::Json) => {
            let each = texts(members)?.into_iter();
            let each = each.map(|(name, text)| pair(&encoded(name, reserved), &encoded(&text, reserved)));
            let each: Vec<String> = each.collect();
            if each.is_empty() {
                return no(&Path::Root, "minProperties");
            }
            each.join(between)
        }
        value => {
            let text = joined(parameter, value)?;
            if matrix { pair(&name, &text) } else { text }
        }
    };
    Ok(format!("{first}{body}"))
}

/// The text of a header; `None` for a header that is left out.
pub(crate) fn header(parameter: &Parameter, value: &Json) -> Written<Option<String>> {
    let value = &*in_digits(parameter.shape, value);
    is_told_apart(parameter, value, false)?;
    let plain = |text: String, at: &Path<'_>, part: bool| {
        let separated = part && text.contains(',');
        if text.trim() != text || separated { no(at, "pattern") } else { Ok(text) }
    };
    let text = match value {
        Json::Null => return Ok(None),
        _ if matches!(parameter.shape, Shape::Json) => value.to_string(),
        Json::Array(items) if items.is_empty() && !parameter.required => return Ok(None),
        Json::Array(items) => {
            let each = items.iter().enumerate().map(|(at, item)| {
                let at = Path::Root.index(at);
                plain(element(item, &at)?, &at, true)
            });
            let each: Vec<String> = each.collect::<Written<_>>()?;
            if each == [""] {
                return no(&Path::Root.index(0), "minLength");
            }
            each.join(",")
        }
        Json::Object(members) => {
            let mut each = Vec::new();
            for (name, text) in texts(members)? {
                let at = Path::Root.key(name);
                let text = plain(text, &at, true)?;
                let name = plain(name.to_owned(), &at, true)?;
                if parameter.explode && name.contains('=') {
                    return no(&at, "propertyNames");
                }
                each.push(if parameter.explode {
                    format!("{name}={text}")
                } else {
                    format!("{name},{text}")
                });
            }
            each.join(",")
        }
        single => plain(element(single, &Path::Root)?, &Path::Root, false)?,
    };
    Ok(Some(text))
}

/// Whether a value that may be anything is told from plain text where it is read: a list is, where it
/// repeats its name.
fn is_told_apart(parameter: &Parameter, value: &Json, repeats: bool) -> Written {
    let anything = matches!(parameter.shape, Shape::Scalar(Scalar::Any));
    match value {
        Json::Object(_) if anything => no(&Path::Root, "type"),
        Json::Array(items) if anything && !repeats && !items.is_empty() => no(&Path::Root, "type"),
        _ => Ok(()),
    }
}

impl Shape {
    /// Whether a member is looked for where each has a place of its own.
    fn looks_for(self, name: &str) -> bool {
        let is_object = |shape: &Self| matches!(shape, Self::Object(_) | Self::Map(..));
        match self {
            Self::Object(fields) => fields.iter().any(|(field, _)| *field == name),
            Self::OneOf(shapes) => {
                let mut objects = shapes.iter().filter(|shape| is_object(shape)).peekable();
                objects.peek().is_none() || objects.any(|shape| shape.looks_for(name))
            }
            _ => true,
        }
    }

    /// What a member stands for, where that is said.
    fn member(self, name: &str) -> Option<Self> {
        let (fields, others) = match self {
            Self::Object(fields) => (fields, None),
            Self::Map(fields, others) => (fields, Some(Self::Scalar(others))),
            _ => return None,
        };
        fields.iter().find(|(field, _)| *field == name).map(|(_, shape)| *shape).or(others)
    }
}

impl Parameter {
    fn encode_name(&self, name: &str) -> String {
        if self.style == Style::Cookie { name.to_owned() } else { encoded(name, &[]) }
    }

    /// Percent-encodes a value, beside the unreserved characters all that the parameter may
    /// leave: what a query can hold and no separator is (RFC 3986, 3.4).
    fn encode(&self, text: &str, reserved: &[u8]) -> String {
        if self.style == Style::Cookie {
            return text.to_owned();
        }
        if !self.allow_reserved || self.location != Location::Query {
            return encoded(text, reserved);
        }
        let mut out = String::with_capacity(text.len());
        for character in text.chars() {
            let kept = matches!(
                character,
                ':' | '/' | '?' | '[' | ']' | '@' | '!' | '$' | '\'' | '(' | ')' | '*' | ',' | ';' | '='
            );
            if kept && !reserved.iter().any(|byte| char::from(*byte) == character) {
                out.push(character);
            } else {
                out.push_str(&encoded(character.encode_utf8(&mut [0; 4]), &[]));
            }
        }
        out
    }
}

/// A value as one text: a list and an object with the style's separator.
fn joined(parameter: &Parameter, value: &Json) -> Written<String> {
    let (separator, taken) = match parameter.style {
        Style::SpaceDelimited => ("%20", ' '),
        Style::PipeDelimited => ("%7C", '|'),
        _ => (",", ','),
    };
    // A comma inside of an element is encoded; other separators look the same either way, and a cookie
    // encodes nothing.
    let encodes = taken == ',' && parameter.style != Style::Cookie;
    let part = |text: &str, at: &Path<'_>| {
        let lost = !encodes && text.contains(taken);
        if lost { no(at, "pattern") } else { Ok(parameter.encode(text, b",")) }
    };
    match value {
        _ if matches!(parameter.shape, Shape::Json) => Ok(parameter.encode(&value.to_string(), b",")),
        Json::Array(items) => {
            let each = items.iter().enumerate().map(|(at, item)| {
                let at = Path::Root.index(at);
                part(&element(item, &at)?, &at)
            });
            let each: Vec<String> = each.collect::<Written<_>>()?;
            if each == [""] {
                return no(&Path::Root.index(0), "minLength");
            }
            Ok(each.join(separator))
        }
        Json::Object(members) => {
            let mut each = Vec::new();
            for (name, text) in texts(members)? {
                let at = Path::Root.key(name);
                each.push(part(name, &at)?);
                each.push(part(&text, &at)?);
            }
            Ok(each.join(separator))
        }
        // A separator inside of a plain value that might be a list is encoded as well.
        single => {
            let reserved: &[u8] = if parameter.explode { b"" } else { b"," };
            let text = element(single, &Path::Root)?;
            let may_be_list = matches!(parameter.shape, Shape::OneOf(_)) && !parameter.explode;
            if may_be_list && !encodes && text.contains(taken) {
                return no(&Path::Root, "pattern");
            }
            Ok(parameter.encode(&text, reserved))
        }
    }
}

/// `name[a]=1`, `name[a][b]=2`, `name[c]=3&name[c]=4`.
fn deep(
    parameter: &Parameter,
    shape: Shape,
    name: &str,
    members: &Map<Json>,
    at: &Path<'_>,
    out: &mut Vec<(String, String)>,
) -> Written {
    for (member, value) in members.iter() {
        let at = at.key(member);
        if member.contains(['[', ']']) {
            return no(&at, "propertyNames");
        }
        let name = format!("{name}%5B{}%5D", encoded(member, &[]));
        let shape = shape.member(member).unwrap_or(Shape::Scalar(Scalar::Any));
        let is_json = matches!(shape, Shape::Json | Shape::Scalar(Scalar::Json));
        match value {
            Json::Null => {}
            Json::Object(members) if !members.is_empty() => {
                deep(parameter, shape, &name, members, &at, out)?;
            }
            // One of a list alone looks like itself.
            Json::Array(items) if !(items.iter().any(is_nested) || (is_json && items.len() == 1)) => {
                for (index, item) in items.iter().enumerate() {
                    let text = element(item, &at.index(index))?;
                    out.push((name.clone(), parameter.encode(&text, &[])));
                }
            }
            other => out.push((name, parameter.encode(&element(other, &at)?, &[]))),
        }
    }
    Ok(())
}

fn needs_a_member(parameter: &Parameter, pairs: &[(String, String)]) -> Written {
    if pairs.is_empty() && parameter.required { no(&Path::Root, "minProperties") } else { Ok(()) }
}

/// The members of an object as text; those that are `null` are left out.
fn texts(members: &Map<Json>) -> Written<Vec<(&str, String)>> {
    let present = members.iter().filter(|(_, value)| !value.is_null());
    present.map(|(name, value)| Ok((name, element(value, &Path::Root.key(name))?))).collect()
}

/// One value as text: lists and objects as JSON.
fn element(value: &Json, at: &Path<'_>) -> Written<String> {
    match value {
        Json::Null => no(at, "type"),
        Json::String(text) => Ok(text.clone()),
        other => Ok(other.to_string()),
    }
}

const fn is_nested(value: &Json) -> bool {
    matches!(value, Json::Array(_) | Json::Object(_))
}

/// Percent-encodes everything but unreserved characters (RFC 3986, 2.3), and of those the
/// ones that are reserved here.
pub(crate) fn encoded(text: &str, reserved: &[u8]) -> String {
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

    #[test]
    fn only_unreserved_characters_stay() {
        assert_eq!(encoded("aZ09-._~", &[]), "aZ09-._~");
        assert_eq!(encoded("a/b?c#d&e=f+g %", &[]), "a%2Fb%3Fc%23d%26e%3Df%2Bg%20%25");
        assert_eq!(encoded("é.", b"."), "%C3%A9%2E");
    }

    /// The rows of the table in OpenAPI 3.1, 4.8.12.3.
    #[test]
    fn each_style_is_written_as_openapi_says() {
        const NAMED: Parameter = Parameter { name: "color", ..Parameter::QUERY };
        let values = [r#""""#, r#""blue""#, r#"["blue","black","brown"]"#, r#"{"R":100,"G":200,"B":150}"#];
        let check = |style, explode, expect: [&str; 4]| {
            for (value, expect) in values.into_iter().zip(expect) {
                let value = Json::parse(value.as_bytes()).unwrap();
                let row = Parameter { style, explode, ..NAMED };
                let text = match style {
                    Style::Simple | Style::Label | Style::Matrix => path(&row, &value).unwrap(),
                    _ => {
                        let pairs = pairs(&row, &value).unwrap();
                        let each: Vec<_> =
                            pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
                        each.join("&")
                    }
                };
                assert_eq!(text, expect, "{style:?} {explode}");
            }
        };
        let objects = "R,100,G,200,B,150";
        check(Style::Simple, false, ["", "blue", "blue,black,brown", objects]);
        check(Style::Simple, true, ["", "blue", "blue,black,brown", "R=100,G=200,B=150"]);
        check(Style::Label, false, [".", ".blue", ".blue,black,brown", &format!(".{objects}")]);
        check(Style::Label, true, [".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"]);
        let matrix = |value: &str| format!(";color={value}");
        check(Style::Matrix, false, [";color", ";color=blue", &matrix("blue,black,brown"), &matrix(objects)]);
        check(
            Style::Matrix,
            true,
            [";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"],
        );
        check(
            Style::Form,
            false,
            ["color=", "color=blue", "color=blue,black,brown", &format!("color={objects}")],
        );
        check(
            Style::Form,
            true,
            ["color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"],
        );
        let spaced = |separator: &str| objects.replace(',', separator);
        check(
            Style::SpaceDelimited,
            false,
            ["color=", "color=blue", "color=blue%20black%20brown", &format!("color={}", spaced("%20"))],
        );
        check(
            Style::PipeDelimited,
            false,
            ["color=", "color=blue", "color=blue%7Cblack%7Cbrown", &format!("color={}", spaced("%7C"))],
        );
        let deep = "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150";
        check(Style::DeepObject, true, ["color=", "color=blue", "color=blue&color=black&color=brown", deep]);
    }

    #[test]
    fn reserved_characters_stay_where_they_may() {
        const ROW: Parameter = Parameter { name: "q", allow_reserved: true, ..Parameter::QUERY };
        let written =
            |row: &Parameter, value: &str| pairs(row, &Json::parse(value.as_bytes()).unwrap()).unwrap();
        assert_eq!(written(&ROW, r#""a/b?c=d,&e+#%""#), [("q".into(), "a/b?c=d,%26e%2B%23%25".into())]);
        let joined = Parameter { explode: false, ..ROW };
        assert_eq!(written(&joined, r#"["a,b","c/d"]"#), [("q".into(), "a%2Cb,c/d".into())]);
    }

    #[test]
    fn what_has_no_text_is_refused() {
        let check = |row: Parameter, value: &str, pointer: &str, keyword: &'static str| {
            let value = Json::parse(value.as_bytes()).unwrap();
            let error = match row.location {
                Location::Path => path(&row, &value).map(drop),
                Location::Header => header(&row, &value).map(drop),
                _ => pairs(&row, &value).map(drop),
            };
            assert_eq!(error, Err(Inexpressible { pointer: pointer.to_owned(), keyword }), "{value}");
        };
        let query = Parameter { required: true, ..Parameter::QUERY };
        let joined = |style| Parameter { style, explode: false, ..query };
        check(query, "[]", "", "minItems");
        check(query, "{}", "", "minProperties");
        check(query, "[null]", "/0", "type");
        check(joined(Style::Form), r#"[""]"#, "/0", "minLength");
        check(joined(Style::PipeDelimited), r#"["a|b"]"#, "/0", "pattern");
        check(joined(Style::SpaceDelimited), r#"["a","b c"]"#, "/1", "pattern");
        check(Parameter { style: Style::DeepObject, ..query }, r#"{"a":{"b[":1}}"#, "/a/b[", "propertyNames");
        check(Parameter::HEADER, r#"" a""#, "", "pattern");
        check(Parameter::HEADER, r#"["a,b"]"#, "/0", "pattern");
        check(Parameter { explode: true, ..Parameter::HEADER }, r#"{"a=b":1}"#, "/a=b", "propertyNames");
        check(Parameter::PATH, "null", "", "type");
        // What no server looks for, and what looks like a text.
        let closed = Shape::Object(&[("a", Shape::Scalar(Scalar::Text))]);
        check(Parameter { shape: closed, ..query }, r#"{"a":"1","b":2}"#, "/b", "additionalProperties");
        let either = Shape::OneOf(const { &[Shape::Scalar(Scalar::Text), Shape::Object(&[])] });
        check(Parameter { shape: either, ..query }, r#"{"b":2}"#, "/b", "additionalProperties");
        let anything = Shape::Scalar(Scalar::Any);
        check(Parameter { shape: anything, ..query }, r#"{"a":1}"#, "", "type");
        check(Parameter { shape: anything, ..joined(Style::Form) }, "[1,2]", "", "type");
        check(Parameter { shape: anything, ..Parameter::PATH }, "[1,2]", "", "type");
        check(Parameter { shape: anything, ..Parameter::HEADER }, "[1,2]", "", "type");
        check(Parameter { explode: true, ..Parameter::PATH }, "[]", "", "minItems");
    }
}
