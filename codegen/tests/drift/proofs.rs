//! Tests of proofs: a change is proven only by a whole value that one version accepts and the other rejects.

use contract_codegen::drift::{ChangeLevel, ContractChange};
use serde_json::Value;

use crate::rules::{A, B, S, changes, document, operation, schema};

/// An object whose property `months` is required for one of the values of `kind`.
const CONDITIONAL: &str = r#"{"type":"object","required":["mode"],
    "properties":{"mode":{"enum":["FREE","PAID"]},"price":{"type":"integer"}},
    "if":{"properties":{"mode":{"const":"PAID"}}},"then":{"required":["price"]}}"#;
/// The same object as a union of its two forms. It accepts any `price` for `FREE`.
const UNION: &str = r#"{"oneOf":[
    {"type":"object","required":["mode"],"properties":{"mode":{"const":"FREE"}}},
    {"type":"object","required":["mode","price"],"properties":{"mode":{"const":"PAID"},"price":{"type":"integer"}}}]}"#;

fn levels(found: &[ContractChange]) -> (ChangeLevel, ChangeLevel) {
    let worst = |level: fn(&ContractChange) -> ChangeLevel| found.iter().map(level).max().unwrap_or(S);
    (worst(|change| change.readers), worst(|change| change.writers))
}

/// Compares two schemas, and checks each proof with the `jsonschema` crate on the whole body.
fn compare_checked(old: &str, new: &str) -> Vec<ContractChange> {
    let validator = |text: &str| jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap();
    let (by_old, by_new) = (validator(old), validator(new));
    let found = changes(&schema(old), &schema(new), false);
    for change in &found {
        let Some(whole) = &change.whole_witness else {
            assert!(change.witness.is_none(), "{change:?}");
            continue;
        };
        let whole: Value = serde_json::from_str(whole).unwrap();
        assert_ne!(by_old.is_valid(&whole), by_new.is_valid(&whole), "{change:?}");
    }
    found
}

#[test]
fn objects_are_compared_with_the_whole_union() {
    let found = compare_checked(CONDITIONAL, UNION);
    assert_eq!(levels(&found).1, A, "{found:?}");
    // The union accepts fewer values for readers of the old version if the versions are exchanged.
    let found = compare_checked(UNION, CONDITIONAL);
    assert_eq!(levels(&found).0, A, "{found:?}");
    // Inside of another object, the completed value contains the properties around the union.
    let wrap = |inner: &str| {
        format!(
            r#"{{"type":"object","required":["id","plan"],"properties":{{"id":{{"type":"integer"}},"plan":{inner}}}}}"#
        )
    };
    let found = compare_checked(&wrap(CONDITIONAL), &wrap(UNION));
    assert_eq!(levels(&found).1, A, "{found:?}");
    let listed = |inner: &str| format!(r#"{{"type":"array","items":{inner}}}"#);
    let found = compare_checked(&listed(CONDITIONAL), &listed(UNION));
    assert_eq!(levels(&found).1, A, "{found:?}");
}

/// Each pair contains a break of writers that another part of the body does not absorb.
#[test]
fn proofs_contain_the_whole_body() {
    for (rule, old, new) in [
        (
            "enum-value-removed",
            r#"{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"m":{"type":"array","items":{"enum":["a","b"]}}}}"#,
            r#"{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"m":{"type":"array","items":{"enum":["a"]}}}}"#,
        ),
        (
            "maximum-lowered",
            r#"{"anyOf":[{"type":"object","required":["t"],"properties":{"t":{"const":"x"},"n":{"type":"integer","maximum":9}}},{"type":"string"}]}"#,
            r#"{"anyOf":[{"type":"object","required":["t"],"properties":{"t":{"const":"x"},"n":{"type":"integer","maximum":5}}},{"type":"string"}]}"#,
        ),
        (
            "property-required",
            r#"{"type":"object","properties":{"p":{"type":"object","properties":{"a":{"type":"string"}}}}}"#,
            r#"{"type":"object","properties":{"p":{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}}}"#,
        ),
    ] {
        let found = compare_checked(old, new);
        let breaking =
            found.iter().find(|change| change.writers == B).unwrap_or_else(|| panic!("{rule}: {found:?}"));
        assert!(breaking.proven && breaking.whole_witness.is_some(), "{rule}: {breaking:?}");
    }
}

/// A union that requires fewer properties than the object before accepts more values, although it accepts all
/// old ones.
#[test]
fn unions_that_accept_more_values_are_not_the_same() {
    let old = r#"{"type":"object","required":["mail","phone"],"properties":{"mail":{"type":"string"},"phone":{"type":"string"}}}"#;
    let branch = |name: &str| {
        format!(
            r#"{{"type":"object","required":["{name}"],"properties":{{"mail":{{"type":"string"}},"phone":{{"type":"string"}}}}}}"#
        )
    };
    let new = format!(r#"{{"anyOf":[{},{}]}}"#, branch("mail"), branch("phone"));
    let found = compare_checked(old, &new);
    assert_eq!(levels(&found), (B, A), "{found:?}");
    assert!(found.iter().all(|change| !change.message.contains("the same values")), "{found:?}");
    // All branches declare both properties as before.
    assert!(found.iter().all(|change| !change.rule.starts_with("property-declared")), "{found:?}");
}

/// A discriminator in a branch does not affect the values of the union around it.
#[test]
fn inner_discriminators_do_not_affect_the_outer_union() {
    let contract = |discriminator: &str| {
        let shape = |name: &str| {
            format!(
                r#"{{"type":"object","required":["sort","{name}"],"properties":{{"sort":{{"type":"string"}},"{name}":{{"type":"string"}}}}}}"#
            )
        };
        let reference = |name: &str| format!(r##"{{"$ref":"#/components/schemas/{name}"}}"##);
        let content = format!(
            r#""content":{{"application/json":{{"schema":{{"oneOf":[{},{}]}}}}}}"#,
            reference("Box"),
            reference("Bag")
        );
        format!(
            r#"{{"openapi":"3.1.0","info":{{"title":"t","version":"1.0.0"}},"paths":{{"/x":{{"post":{{"requestBody":{{{content}}},"responses":{{"200":{{"description":"",{content}}}}}}}}}}},"components":{{"schemas":{{
                "Box":{{"type":"object","required":["id"],"properties":{{"id":{{"type":"string"}},"inner":{{"oneOf":[{},{}]{discriminator}}}}}}},
                "Bag":{{"type":"object","required":["id"],"properties":{{"id":{{"type":"string"}}}}}},
                "Round":{},"Square":{}}}}}}}"#,
            reference("Round"),
            reference("Square"),
            shape("radius"),
            shape("side"),
        )
    };
    let (without, with) = (contract(""), contract(r#","discriminator":{"propertyName":"sort"}"#));
    let rules =
        |old: &str, new: &str| changes(old, new, false).iter().map(|change| change.rule).collect::<Vec<_>>();
    assert_eq!(rules(&without, &with), ["discriminator-added"]);
    assert_eq!(rules(&with, &without), ["discriminator-removed"]);
}

/// `x-extensible-enum` and a union of listed values and other strings make the same type.
#[test]
fn known_values_of_extensible_enums_are_compared() {
    let extensible = |values: &str| {
        format!(
            r#"{{"type":"object","properties":{{"s":{{"type":"string","x-extensible-enum":[{values}]}}}}}}"#
        )
    };
    let union = |values: &str| {
        format!(
            r#"{{"type":"object","properties":{{"s":{{"anyOf":[{{"enum":[{values}]}},{{"type":"string"}}]}}}}}}"#
        )
    };
    let (one, two) = (r#""low""#, r#""low","high""#);
    for (old, new) in [
        (extensible(two), extensible(one)),
        (union(two), union(one)),
        (extensible(two), union(one)),
        (union(two), extensible(one)),
    ] {
        let found = changes(&schema(&old), &schema(&new), false);
        assert!(
            found.iter().any(|change| change.rule == "enum-value-removed-open" && change.writers == B),
            "{old} {new} {found:?}"
        );
        assert!(found.iter().all(|change| change.rule != "extension-changed"), "{old} {new} {found:?}");
        let found = changes(&schema(&new), &schema(&old), false);
        assert!(found.iter().any(|change| change.rule == "enum-value-added-open"), "{old} {new} {found:?}");
    }
}

/// If several scopes remain, any of them suffices.
#[test]
fn removed_scope_alternative_lists_all_remaining_ones() {
    let secured = |alternatives: &str| {
        document(&format!(r#""paths":{{"/x":{{"get":{{"security":[{alternatives}],"responses":{{}}}}}}}}"#))
    };
    let found = changes(
        &secured(r#"{"s":["a"]},{"s":["b"]},{"s":["c"]}"#),
        &secured(r#"{"s":["b"]},{"s":["c"]}"#),
        false,
    );
    let messages: Vec<_> = found
        .iter()
        .filter(|change| change.rule == "scope-required")
        .map(|change| change.difference.as_str())
        .collect();
    assert_eq!(messages, ["tokens of `s` with `a` stop working: `s` with `b`, or `s` with `c` is required"]);
}

#[test]
fn changed_defaults_are_explained_by_their_meaning() {
    let found = changes(
        &operation(
            r#""parameters":[{"name":"q","in":"query","schema":{"type":"integer","default":1}}],"responses":{}"#,
        ),
        &operation(
            r#""parameters":[{"name":"q","in":"query","schema":{"type":"integer","default":2}}],"responses":{}"#,
        ),
        false,
    );
    let changed = found.iter().find(|change| change.rule == "default-changed").unwrap();
    assert!(
        changed.message.ends_with("writers of the old version that omit the value rely on the old default"),
        "{changed:?}"
    );
}

/// A media range that replaces a media type, or the reverse, is one change.
#[test]
fn replaced_media_ranges_are_reported_once() {
    let body = |media: &str| format!(r#""{media}":{{"schema":{{"type":"string"}}}}"#);
    let request = |media: &str| operation(&format!(r#""requestBody":{{"content":{{{}}}}}"#, body(media)));
    let response = |media: &str| {
        operation(&format!(r#""responses":{{"200":{{"description":"","content":{{{}}}}}}}"#, body(media)))
    };
    let differences = |old: &str, new: &str| {
        let found = changes(old, new, false).into_iter();
        found.map(|change| (change.rule, change.difference)).collect::<Vec<_>>()
    };
    let (range, json) = ("*/*", "application/json");
    let one = |rule, message: &str| vec![(rule, message.to_owned())];
    assert_eq!(
        differences(&request(range), &request(json)),
        one("request-media-type-removed", "`*/*` was narrowed to `application/json`")
    );
    assert_eq!(differences(&request(json), &request(range)), one("request-media-type-added", "`*/*` is new"));
    assert_eq!(
        differences(&response(range), &response(json)),
        one("response-narrowed", "`*/*` was narrowed to `application/json`")
    );
    assert_eq!(
        differences(&response(json), &response(range)),
        one("response-media-type-removed", "`application/json` was widened to `*/*`")
    );
}
