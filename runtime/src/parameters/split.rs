//! Splits the text of a list or an object by its style, still encoded.

use super::{Parameter, Style};

/// The elements of a list written in one piece. Empty text is an empty list. `None` when the
/// text is not of the style.
pub(super) fn elements<'a>(raw: &'a str, parameter: &Parameter) -> Option<Vec<&'a str>> {
    if parameter.style == Style::Matrix && parameter.explode {
        let parts = raw.strip_prefix(';')?.split(';');
        return parts.map(|part| named(part, parameter.name)).collect();
    }
    let raw = value(raw, parameter)?;
    if raw.is_empty() {
        return Some(Vec::new());
    }
    Some(match parameter.style {
        Style::SpaceDelimited => by_any(raw, &["%20", "+", " "]),
        Style::PipeDelimited => by_any(raw, &["%7C", "%7c", "|"]),
        Style::Label if parameter.explode => raw.split('.').collect(),
        _ => raw.split(',').collect(),
    })
}

/// The members of an object written in one piece: `a,1,b,2`, or `a=1,b=2` when exploded.
/// `None` when a member has no value.
pub(super) fn members<'a>(raw: &'a str, parameter: &Parameter) -> Option<Vec<(&'a str, &'a str)>> {
    if parameter.style == Style::Matrix && parameter.explode {
        let parts = raw.strip_prefix(';')?.split(';');
        return Some(parts.map(|part| part.split_once('=').unwrap_or((part, ""))).collect());
    }
    let parts = elements(raw, parameter)?;
    if parameter.explode {
        return parts.into_iter().map(|part| part.split_once('=')).collect();
    }
    let pairs = parts.chunks(2).map(|pair| match pair {
        [name, value] => Some((*name, *value)),
        _ => None,
    });
    pairs.collect()
}

/// What follows the style's beginning.
pub(super) fn value<'a>(raw: &'a str, parameter: &Parameter) -> Option<&'a str> {
    match parameter.style {
        Style::Label => raw.strip_prefix('.'),
        Style::Matrix => named(raw.strip_prefix(';')?, parameter.name),
        _ => Some(raw),
    }
}

/// The value of `name=value` or `name`.
fn named<'a>(part: &'a str, name: &str) -> Option<&'a str> {
    let (own, value) = part.split_once('=').unwrap_or((part, ""));
    (super::query::decode_percent(own)? == name).then_some(value)
}

fn by_any<'a>(raw: &'a str, separators: &[&str]) -> Vec<&'a str> {
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

    const fn row(style: Style, explode: bool) -> Parameter {
        Parameter { name: "n", style, explode, ..Parameter::QUERY }
    }

    #[test]
    fn each_style_has_its_separator() {
        let check = |raw: &str, style, explode, expect: Option<&[&str]>| {
            assert_eq!(elements(raw, &row(style, explode)).as_deref(), expect, "{raw}");
        };
        check("a%2Cb,c", Style::Form, false, Some(&["a%2Cb", "c"]));
        check("a%20b+c", Style::SpaceDelimited, false, Some(&["a", "b", "c"]));
        check("a|b%7Cc", Style::PipeDelimited, false, Some(&["a", "b", "c"]));
        check("", Style::Form, false, Some(&[]));
        check(".a,b.c", Style::Label, false, Some(&["a", "b.c"]));
        check(".a.b%2Ec", Style::Label, true, Some(&["a", "b%2Ec"]));
        check(";n=a,b", Style::Matrix, false, Some(&["a", "b"]));
        check(";n=a;n;%6E=c", Style::Matrix, true, Some(&["a", "", "c"]));
        check(";n=a;m=b", Style::Matrix, true, None);
        check("a", Style::Label, false, None);
    }

    #[test]
    fn objects_are_pairs() {
        let check = |raw: &str, style, explode, expect: Option<&[(&str, &str)]>| {
            assert_eq!(members(raw, &row(style, explode)).as_deref(), expect, "{raw}");
        };
        check("a,1,b,2", Style::Simple, false, Some(&[("a", "1"), ("b", "2")]));
        check("a=1,b=2", Style::Simple, true, Some(&[("a", "1"), ("b", "2")]));
        check(".a=1.b=2", Style::Label, true, Some(&[("a", "1"), ("b", "2")]));
        check(";a=1;b", Style::Matrix, true, Some(&[("a", "1"), ("b", "")]));
        check("a,1,b", Style::Simple, false, None);
        check("a", Style::Simple, true, None);
    }
}
