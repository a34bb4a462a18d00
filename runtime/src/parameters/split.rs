//! Splits the encoded string of a list or an object by its style, without decoding it.

use super::{Parameter, ParameterStyle};

/// Splits a list that is encoded as one string. An empty string is an empty list. Returns `None` if the
/// string is not valid in the style.
pub(super) fn split_elements<'a>(raw: &'a str, parameter: &Parameter) -> Option<Vec<&'a str>> {
    if parameter.style == ParameterStyle::Matrix && parameter.explode {
        let parts = raw.strip_prefix(';')?.split(';');
        return parts.map(|part| strip_name(part, parameter.name)).collect();
    }
    let raw = strip_style_prefix(raw, parameter)?;
    if raw.is_empty() {
        return Some(Vec::new());
    }
    Some(match parameter.style {
        ParameterStyle::SpaceDelimited => split_by_any(raw, &["%20", "+", " "]),
        ParameterStyle::PipeDelimited => split_by_any(raw, &["%7C", "%7c", "|"]),
        ParameterStyle::Label if parameter.explode => raw.split('.').collect(),
        _ => raw.split(',').collect(),
    })
}

/// Splits an object that is encoded as one string: `a,1,b,2`, or `a=1,b=2` if exploded. Returns `None` if a
/// member has no value.
pub(super) fn split_members<'a>(raw: &'a str, parameter: &Parameter) -> Option<Vec<(&'a str, &'a str)>> {
    if parameter.style == ParameterStyle::Matrix && parameter.explode {
        let parts = raw.strip_prefix(';')?.split(';');
        return Some(parts.map(|part| part.split_once('=').unwrap_or((part, ""))).collect());
    }
    let parts = split_elements(raw, parameter)?;
    if parameter.explode {
        return parts.into_iter().map(|part| part.split_once('=')).collect();
    }
    let pairs = parts.chunks(2).map(|pair| match pair {
        [name, value] => Some((*name, *value)),
        _ => None,
    });
    pairs.collect()
}

/// Removes the prefix that the style requires.
pub(super) fn strip_style_prefix<'a>(raw: &'a str, parameter: &Parameter) -> Option<&'a str> {
    match parameter.style {
        ParameterStyle::Label => raw.strip_prefix('.'),
        ParameterStyle::Matrix => strip_name(raw.strip_prefix(';')?, parameter.name),
        _ => Some(raw),
    }
}

/// Returns the value of `name=value`, or an empty string for `name`.
fn strip_name<'a>(part: &'a str, name: &str) -> Option<&'a str> {
    let (part_name, value) = part.split_once('=').unwrap_or((part, ""));
    (super::query::decode_percent(part_name)? == name).then_some(value)
}

fn split_by_any<'a>(raw: &'a str, separators: &[&str]) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut rest = raw;
    loop {
        let next = separators
            .iter()
            .filter_map(|separator| rest.find(separator).map(|at| (at, separator.len())))
            .min();
        match next {
            Some((at, length)) => {
                parts.push(&rest[..at]);
                rest = &rest[at + length..];
            }
            None => {
                parts.push(rest);
                return parts;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn row(style: ParameterStyle, explode: bool) -> Parameter {
        Parameter { name: "n", style, explode, ..Parameter::QUERY }
    }

    #[test]
    fn each_style_has_its_separator() {
        let check = |raw: &str, style, explode, expect: Option<&[&str]>| {
            assert_eq!(split_elements(raw, &row(style, explode)).as_deref(), expect, "{raw}");
        };
        check("a%2Cb,c", ParameterStyle::Form, false, Some(&["a%2Cb", "c"]));
        check("a%20b+c", ParameterStyle::SpaceDelimited, false, Some(&["a", "b", "c"]));
        check("a|b%7Cc", ParameterStyle::PipeDelimited, false, Some(&["a", "b", "c"]));
        check("", ParameterStyle::Form, false, Some(&[]));
        check(".a,b.c", ParameterStyle::Label, false, Some(&["a", "b.c"]));
        check(".a.b%2Ec", ParameterStyle::Label, true, Some(&["a", "b%2Ec"]));
        check(";n=a,b", ParameterStyle::Matrix, false, Some(&["a", "b"]));
        check(";n=a;n;%6E=c", ParameterStyle::Matrix, true, Some(&["a", "", "c"]));
        check(";n=a;m=b", ParameterStyle::Matrix, true, None);
        check("a", ParameterStyle::Label, false, None);
    }

    #[test]
    fn objects_are_pairs() {
        let check = |raw: &str, style, explode, expect: Option<&[(&str, &str)]>| {
            assert_eq!(split_members(raw, &row(style, explode)).as_deref(), expect, "{raw}");
        };
        check("a,1,b,2", ParameterStyle::Simple, false, Some(&[("a", "1"), ("b", "2")]));
        check("a=1,b=2", ParameterStyle::Simple, true, Some(&[("a", "1"), ("b", "2")]));
        check(".a=1.b=2", ParameterStyle::Label, true, Some(&[("a", "1"), ("b", "2")]));
        check(";a=1;b", ParameterStyle::Matrix, true, Some(&[("a", "1"), ("b", "")]));
        check("a,1,b", ParameterStyle::Simple, false, None);
        check("a", ParameterStyle::Simple, true, None);
    }
}
