//! Derives the convention of a value from serialized examples, such as `items[0][price]=1&expand[]=a`.

use crate::{
    api::Example,
    config::{ArraySetting, NestedSetting, WireSettings},
};

/// Returns the settings that follow from the `name=value` pairs of serialized examples for the parameter or
/// field `name`. Examples without such a pair, and examples that are not serialized, are ignored.
pub(super) fn settings_from_examples(name: &str, examples: &[Example]) -> WireSettings {
    let mut found = WireSettings::default();
    for text in examples.iter().filter_map(|example| example.pairs.as_deref()) {
        let mut earlier: Vec<String> = Vec::new();
        for pair in text.trim_start_matches('?').split('&') {
            let key = pair.split('=').next().unwrap_or_default();
            let key = key.replace("%5B", "[").replace("%5D", "]").replace("%5b", "[").replace("%5d", "]");
            let Some(path) = key.strip_prefix(name).and_then(split_brackets) else { continue };
            found = found.or(settings_of_path(&path, earlier.contains(&key)));
            earlier.push(key);
        }
    }
    found
}

/// Splits the part of a name that follows the parameter's name, such as `[a][b]`, into its steps `a` and `b`.
/// Returns `None` if the brackets do not match.
fn split_brackets(below: &str) -> Option<Vec<&str>> {
    below.split_inclusive(']').map(|step| step.strip_prefix('[')?.strip_suffix(']')).collect()
}

fn settings_of_path(path: &[&str], is_repeated: bool) -> WireSettings {
    let is_index = |step: &str| !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    let (last, outer) = match path.split_last() {
        Some((last, outer)) => (*last, outer),
        None => ("a", path),
    };
    let nested = if outer.iter().any(|step| is_index(step)) {
        Some(NestedSetting::Indices)
    } else if outer.contains(&"") {
        Some(NestedSetting::Brackets)
    } else {
        // The last property name is in brackets in both notations of nested values, so either setting would
        // fit.
        (!path.is_empty() && !is_index(last) && !last.is_empty()).then_some(NestedSetting::Indices)
    };
    let arrays = match last {
        "" => Some(ArraySetting::Brackets),
        last if is_index(last) => Some(ArraySetting::Indices),
        _ if outer.contains(&"") => Some(ArraySetting::Brackets),
        _ => is_repeated.then_some(ArraySetting::Repeat),
    };
    WireSettings { nested, arrays }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::DocumentLocation;

    #[test]
    fn examples_show_the_convention() {
        let check = |text: &str, nested, arrays| {
            let pairs = Some(text.to_owned());
            let place = DocumentLocation::default();
            let example = Example { name: String::new(), place, serialized: true, pairs };
            let found = settings_from_examples("x", &[example]);
            assert_eq!(found, WireSettings { nested, arrays }, "{text}");
        };
        check("y[]=a&xy[]=b&x", None, None);
        check("x=a", None, None);
        check("x[]=a", None, Some(ArraySetting::Brackets));
        check("?x%5B0%5D=a", None, Some(ArraySetting::Indices));
        check("x=a&x=b", None, Some(ArraySetting::Repeat));
        check("x[a]=1", Some(NestedSetting::Indices), None);
        check("x[a][b]=1", Some(NestedSetting::Indices), None);
        check("x[0][a]=1&x[0][b][]=2", Some(NestedSetting::Indices), Some(ArraySetting::Brackets));
        check("x[][a]=1&x[][b]=2", Some(NestedSetting::Brackets), Some(ArraySetting::Brackets));
    }
}
