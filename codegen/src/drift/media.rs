//! Media types of two versions: which of them are one, however they are written.

use std::collections::BTreeMap;

use crate::api::MediaType;

/// What tells a media type from others: type and subtype, and parameters.
pub(super) type Meaning = (String, BTreeMap<String, String>);

/// The entry that a name means among others: the same text, else what says the same.
pub(super) fn find<'g>(all: &'g [MediaType], name: &str) -> Option<&'g MediaType> {
    let literal = all.iter().find(|media| media.name.eq_ignore_ascii_case(name));
    literal.or_else(|| {
        let wanted = meaning(name);
        all.iter().find(|media| meaning(&media.name) == wanted)
    })
}

/// Type and subtype, which have no case, and the parameters that tell types apart. `charset` tells
/// nothing of JSON (RFC 8259, 11), and UTF-8 is what texts are in where nothing else is said.
pub(super) fn meaning(name: &str) -> Meaning {
    let essence = contract_runtime::media::MediaType::of(name);
    let parameters = essence.parameters().filter_map(|(key, value)| {
        let key = key.to_ascii_lowercase();
        let said = key != "charset" || !(essence.is_json() || value.eq_ignore_ascii_case("utf-8"));
        let value = if key == "charset" { value.to_ascii_lowercase() } else { value.into_owned() };
        said.then_some((key, value))
    });
    let parameters = parameters.collect();
    (essence.essence().trim().to_ascii_lowercase(), parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_type_are_one() {
        let check = |one: &str, other: &str, same: bool| {
            assert_eq!(meaning(one) == meaning(other), same, "{one} {other}");
        };
        check("application/json", "application/json; charset=utf-8", true);
        check("application/json;charset=latin1", "Application/JSON", true);
        check("application/problem+json", "application/problem+json;charset=UTF-8", true);
        check("text/csv", "text/csv; charset=\"UTF-8\"", true);
        check("text/csv", "text/csv; charset=latin1", false);
        check("text/csv; charset=latin1", "text/csv;charset=Latin1", true);
        check("text/csv;header=present", "text/csv ; Header=\"present\"", true);
        check("text/csv;header=present", "text/csv", false);
        check("application/json;version=1", "application/json;version=2", false);
        check("a/b;x=1;y=2", "a/b; y=2; x=1", true);
        check("a/b;x=\"1;y=2\"", "a/b; x = \"1;y=2\"", true);
        check("a/b;x=\"1;y=2\"", "a/b;x=\"1;y=3\"", false);
        check("a/b;x=\"1;y=2\"", "a/b;x=\"1\";y=2", false);
        check("application/json", "text/json", false);
    }
}
