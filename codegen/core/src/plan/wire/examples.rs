//! Derives the convention of a value from serialized examples, such as `items[0][price]=1&expand[]=a`.

use std::{borrow::Cow, collections::HashSet};

use contract_runtime::Json;

use crate::{
    api::Example,
    config::{ArraySetting, NestedSetting, WireSettings},
};

/// Returns the settings that follow from the `name=value` pairs of serialized examples for the parameter or
/// field `name` of this style. Examples without such a pair, and examples that are not serialized, are ignored.
///
/// `nested` follows only from pairs that other notations do not produce: members of lists, nested members, and
/// JSON in a member. With the style `form`, it also follows from one name in brackets, because objects
/// would otherwise have no brackets.
pub(super) fn settings_from_examples(name: &str, style: &str, examples: &[Example]) -> WireSettings {
    let mut found = WireSettings::default();
    let mut has_member = false;
    for text in examples.iter().filter_map(|example| example.pairs.as_deref()) {
        let mut earlier: HashSet<String> = HashSet::new();
        for pair in text.trim_start_matches('?').split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (key, value) = (decode_query(key), decode_query(value));
            let Some(path) = key.strip_prefix(name).and_then(split_brackets) else { continue };
            let is_repeated = earlier.contains(&*key);
            has_member |= path.iter().any(|step| is_member(step));
            found = found.or(WireSettings {
                nested: nested_setting(&path, is_repeated, &value),
                arrays: array_setting(&path, is_repeated),
            });
            earlier.insert(key.into_owned());
        }
    }
    // The member is in brackets in both notations of nested values, so either setting fits.
    let in_brackets = (style == "form" && has_member).then_some(NestedSetting::Indices);
    WireSettings { nested: found.nested.or(in_brackets), ..found }
}

/// Decodes `+` and percent-encoded bytes. An invalid escape stays unchanged, because many examples are not encoded. If
/// the result is not UTF-8, the whole string is returned unchanged.
fn decode_query(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = match byte {
            b'%' => after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()),
            _ => None,
        };
        let decoded =
            code.filter(|code| !code.starts_with('+')).and_then(|code| u8::from_str_radix(code, 16).ok());
        rest = if decoded.is_some() { after.get(2..).unwrap_or_default() } else { after };
        bytes.push(decoded.unwrap_or(if byte == b'+' { b' ' } else { byte }));
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Splits the part of a name that follows the parameter's name, such as `[a][b]`, into its steps `a` and `b`.
/// Returns `None` if the brackets do not match.
fn split_brackets(below: &str) -> Option<Vec<&str>> {
    below.split_inclusive(']').map(|step| step.strip_prefix('[')?.strip_suffix(']')).collect()
}

fn is_index(step: &str) -> bool {
    !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true if a step is the name of a member, and not the brackets of a list element.
fn is_member(step: &str) -> bool {
    !step.is_empty() && !is_index(step)
}

fn nested_setting(path: &[&str], is_repeated: bool, value: &str) -> Option<NestedSetting> {
    let (last, outer) = path.split_last()?;
    if outer.iter().any(|step| is_index(step)) {
        Some(NestedSetting::Indices)
    } else if outer.contains(&"") || (is_repeated && is_member(last)) {
        // A member that is repeated is that of another element, or a list of scalars, which `brackets` encodes
        // in the same way.
        Some(NestedSetting::Brackets)
    } else if is_member(last) && is_json_structure(value) {
        Some(NestedSetting::Json)
    } else {
        (is_member(last) && !outer.is_empty()).then_some(NestedSetting::Indices)
    }
}

fn is_json_structure(value: &str) -> bool {
    value.starts_with(['{', '[']) && Json::parse(value.as_bytes()).is_ok()
}

fn array_setting(path: &[&str], is_repeated: bool) -> Option<ArraySetting> {
    let (last, outer) = match path.split_last() {
        Some((last, outer)) => (*last, outer),
        None => ("a", path),
    };
    match last {
        "" => Some(ArraySetting::Brackets),
        last if is_index(last) => Some(ArraySetting::Indices),
        _ if outer.contains(&"") => Some(ArraySetting::Brackets),
        _ => is_repeated.then_some(ArraySetting::Repeat),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::DocumentLocation;

    fn settings(name: &str, style: &str, text: &str) -> WireSettings {
        let pairs = Some(text.to_owned());
        let place = DocumentLocation::default();
        let example = Example { name: String::new(), place, serialized: true, pairs };
        settings_from_examples(name, style, &[example])
    }

    #[test]
    fn examples_show_the_convention() {
        let check = |text: &str, nested, arrays| {
            for style in ["form", "deepObject"] {
                assert_eq!(settings("x", style, text), WireSettings { nested, arrays }, "{style} {text}");
            }
        };
        check("y[]=a&xy[]=b&x", None, None);
        check("x=a", None, None);
        check("x[]=a", None, Some(ArraySetting::Brackets));
        check("?x%5B0%5D=a", None, Some(ArraySetting::Indices));
        check("x=a&x=b", None, Some(ArraySetting::Repeat));
        check("x[a][b]=1", Some(NestedSetting::Indices), None);
        check("x[0][a]=1&x[0][b][]=2", Some(NestedSetting::Indices), Some(ArraySetting::Brackets));
        check("x[][a]=1&x[][b]=2", Some(NestedSetting::Brackets), Some(ArraySetting::Brackets));
        check("x[a]=1&x[b]=2&x[a]=3", Some(NestedSetting::Brackets), Some(ArraySetting::Repeat));
        check("x[a]=1&x[b][c]=2&x[d]={\"e\":1}", Some(NestedSetting::Indices), None);
    }

    /// A name in brackets shows how an object is encoded, but not how the values inside of it are encoded.
    #[test]
    fn one_name_in_brackets_is_weak_evidence() {
        let nested = |style: &str, text: &str| settings("x", style, text).nested;
        assert_eq!(nested("deepObject", "x[a]=1"), None);
        assert_eq!(nested("deepObject", "x[a][]=1"), None);
        assert_eq!(nested("form", "x[a]=1"), Some(NestedSetting::Indices));
        assert_eq!(nested("form", "x[a][]=1"), Some(NestedSetting::Indices));
        assert_eq!(nested("form", "x[a]=1&x[b][][c]=2"), Some(NestedSetting::Brackets));
        for text in ["x[a]={\"from\":1}", "x%5Ba%5D=%7B%22from%22%3A+1%7D", "x[b]=1&x[a]=[1]"] {
            assert_eq!(nested("deepObject", text), Some(NestedSetting::Json), "{text}");
        }
        assert_eq!(nested("deepObject", "x[a]={from"), None);
    }

    #[test]
    fn names_are_decoded() {
        let brackets = WireSettings { nested: None, arrays: Some(ArraySetting::Brackets) };
        assert_eq!(settings("é x", "form", "%c3%A9+x%5b%5D=1"), brackets);
        assert_eq!(settings("é x", "form", "é x[]=1"), brackets);
        assert_eq!(settings("100%", "form", "100%[]=1"), brackets);
    }
}
