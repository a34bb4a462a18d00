//! Matches media types of two versions regardless of their spelling.

use std::collections::BTreeMap;

use contract_codegen_core::api::MediaType;

/// The key by which media types are compared: type and subtype in lower case, and the significant parameters.
pub(super) type MediaTypeKey = (String, BTreeMap<String, String>);

/// Returns the media type in `all` that has the name `name` or, if there is none, the same
/// [`media_type_key`].
pub(super) fn find_equivalent<'g>(all: &'g [MediaType], name: &str) -> Option<&'g MediaType> {
    let literal = all.iter().find(|media| media.name.eq_ignore_ascii_case(name));
    literal.or_else(|| {
        let key = media_type_key(name);
        all.iter().find(|media| media_type_key(&media.name) == key)
    })
}

/// Returns the key of a media type. All parameters are significant, except `charset` of JSON, which has no
/// meaning (RFC 8259, 11), and `charset=utf-8` of other types, which is the default.
pub(super) fn media_type_key(name: &str) -> MediaTypeKey {
    let essence = contract_runtime::media_type::MediaType::parse(name);
    let parameters = essence.parameters().filter_map(|(key, value)| {
        let key = key.to_ascii_lowercase();
        let is_significant = key != "charset" || !(essence.is_json() || value.eq_ignore_ascii_case("utf-8"));
        let value = if key == "charset" { value.to_ascii_lowercase() } else { value.into_owned() };
        is_significant.then_some((key, value))
    });
    let parameters = parameters.collect();
    (essence.essence().trim().to_ascii_lowercase(), parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_type_spellings_are_equal() {
        let check = |one: &str, other: &str, same: bool| {
            assert_eq!(media_type_key(one) == media_type_key(other), same, "{one} {other}");
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
