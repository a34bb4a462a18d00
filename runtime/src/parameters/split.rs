//! Splits the text of a list or an object by its style.

use super::Style;

/// The elements of a list written in one piece. Empty text is an empty list.
pub(super) fn elements(raw: &str, style: Style) -> Vec<&str> {
    if raw.is_empty() {
        return Vec::new();
    }
    match style {
        Style::SpaceDelimited => by_any(raw, &["%20", "+", " "]),
        Style::PipeDelimited => by_any(raw, &["%7C", "%7c", "|"]),
        Style::Simple | Style::Form | Style::DeepObject => raw.split(',').collect(),
    }
}

/// The members of an object written in one piece: `a,1,b,2`, or `a=1,b=2` when exploded.
/// `None` when a member has no value.
pub(super) fn members(raw: &str, style: Style, explode: bool) -> Option<Vec<(&str, &str)>> {
    let parts = elements(raw, style);
    if explode {
        return parts.into_iter().map(|part| part.split_once('=')).collect();
    }
    let pairs = parts.chunks(2).map(|pair| match pair {
        [name, value] => Some((*name, *value)),
        _ => None,
    });
    pairs.collect()
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

    #[test]
    fn each_style_has_its_separator() {
        assert_eq!(elements("a%2Cb,c", Style::Form), ["a%2Cb", "c"]);
        assert_eq!(elements("a%20b+c", Style::SpaceDelimited), ["a", "b", "c"]);
        assert_eq!(elements("a|b%7Cc", Style::PipeDelimited), ["a", "b", "c"]);
        assert!(elements("", Style::Form).is_empty());
    }

    #[test]
    fn objects_are_pairs() {
        assert_eq!(members("a,1,b,2", Style::Simple, false), Some(vec![("a", "1"), ("b", "2")]));
        assert_eq!(members("a=1,b=2", Style::Simple, true), Some(vec![("a", "1"), ("b", "2")]));
        assert_eq!(members("a,1,b", Style::Simple, false), None);
        assert_eq!(members("a", Style::Simple, true), None);
    }
}
