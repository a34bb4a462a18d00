//! Tests of removals that `x-sunset` or `x-stability` allow.

use contract_codegen::drift::{
    ChangeLevel, CompareOptions, ContractChange, ContractVersion, compare,
    report::{self, ReportOptions},
};

/// Creates a contract. With `with_elements`, it contains an operation, a parameter, a property and a named
/// schema, each of which declares `members`.
fn document(members: &str, with_elements: bool) -> String {
    let (operation, parameter, property, schema) = match with_elements {
        true => (
            format!(
                "  /old:\n    get:\n      operationId: old\n      {members}\n      responses: {{'204': {{description: x}}}}\n"
            ),
            format!("{{name: q, in: query, schema: {{type: string}}, {members}}}"),
            format!("p: {{type: string, {members}}}"),
            format!("    Unused: {{type: string, {members}}}\n"),
        ),
        false => Default::default(),
    };
    let members = |text: String| text.replace("\n      ", ", ");
    format!(
        "openapi: 3.1.0
info: {{title: T, version: 1.0.0}}
paths:
{operation}  /x:
    get:
      operationId: x
      parameters: [{}]
      responses:
        '200':
          description: x
          content: {{application/json: {{schema: {{$ref: '#/components/schemas/A'}}}}}}
components:
  schemas:
    A:
      type: object
      properties: {{{}}}
{}",
        members(parameter),
        members(property),
        members(schema.trim_end().to_owned()) + "\n",
    )
}

fn version(text: &str) -> ContractVersion {
    ContractVersion::from_strings(&[("a.yaml", "", text)])
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

/// Returns the changes that report the removal of the four elements of [`document`], which declare `members`.
fn removals(members: &str, today: Option<&str>) -> Vec<ContractChange> {
    let options =
        CompareOptions { today: today.map(|date| date.parse().unwrap()), ..CompareOptions::default() };
    let (old, new) = (version(&document(members, true)), version(&document(members, false)));
    let mut found = compare(&old, &new, &options).changes;
    found.retain(|change| change.rule.contains("removed"));
    assert_eq!(found.len(), 4, "{found:#?}");
    found
}

/// Checks for each removal that it is breaking if `is_breaking` is true and not breaking otherwise, and that
/// its message contains `note`.
fn check(members: &str, today: Option<&str>, is_breaking: bool, note: &str) {
    for change in removals(members, today) {
        assert_eq!(change.level() == ChangeLevel::Breaking, is_breaking, "{members}: {change:#?}");
        assert!(change.message.contains(note), "{members}: {}", change.message);
        assert!(!change.difference.contains("x-s"), "{change:#?}");
    }
}

#[test]
fn removal_is_breaking_until_the_sunset_has_passed() {
    let sunset = "deprecated: true\n      x-sunset: 2026-03-31";
    let allowed = "; its `x-sunset` 2026-03-31 has passed, so its removal is not breaking";
    check(sunset, Some("2026-04-01"), false, allowed);
    check(sunset, Some("2026-03-31"), true, "; its `x-sunset` 2026-03-31 has not passed; ");
    // A library call without a date cannot decide.
    check(sunset, None, true, "");
    check(&sunset.replace("03-31", "03-31T10:00:00Z"), Some("2026-04-01"), false, allowed);
}

#[test]
fn invalid_sunsets_have_no_effect() {
    let invalid = "deprecated: true\n      x-sunset: soon";
    check(invalid, Some("2026-04-01"), true, "has no effect: `soon` is not a date");
    for members in ["x-sunset: 2026-03-31", "deprecated: false\n      x-sunset: 2026-03-31"] {
        check(members, Some("2026-04-01"), true, "`x-sunset` has no effect without `deprecated: true`");
    }
}

#[test]
fn removal_of_unstable_elements_is_not_breaking() {
    for stability in ["x-stability: alpha", "x-stability-level: draft", "x-stability: Experimental"] {
        check(stability, None, false, "so its removal is not breaking");
    }
    for stability in ["x-stability: beta", "x-stability-level: stable", "x-stability: 1"] {
        check(stability, None, true, "");
    }
}

/// A part of an element without its own stability has the stability of the nearest element around it.
#[test]
fn stability_applies_to_the_parts_of_an_element() {
    let document = |stability: &str, own: &str| {
        format!(
            "openapi: 3.1.0\ninfo: {{title: T, version: 1.0.0}}\npaths:\n  /x:\n    get:\n      operationId: x\n      \
             x-stability: {stability}\n      parameters: [{own}]\n      responses: {{'204': {{description: x}}}}\n"
        )
    };
    let level = |stability: &str, own: &str| {
        let parameter = format!("{{name: q, in: query, schema: {{type: string}}{own}}}");
        let old = version(&document(stability, &parameter));
        let found = compare(&old, &version(&document(stability, "")), &CompareOptions::default()).changes;
        found.iter().find(|change| change.rule == "parameter-removed").unwrap().level()
    };
    assert_eq!(level("alpha", ""), ChangeLevel::Additive);
    assert_eq!(level("stable", ""), ChangeLevel::Breaking);
    assert_eq!(level("alpha", ", x-stability: stable"), ChangeLevel::Breaking);
}

/// Returns the removals of a parameter from two operations with the given stabilities, and of a property that
/// both use. The parameter and the property are in components and declare `own`.
fn component_removals(stabilities: [&str; 2], own: &str) -> Vec<ContractChange> {
    let document = |with_elements: bool| {
        let (parameters, property) = match with_elements {
            true => ("[{$ref: '#/components/parameters/Q'}]", format!("p: {{type: string{own}}}")),
            false => ("[]", String::new()),
        };
        let operation = |path: &str, stability: &str| {
            format!(
                "  /{path}:\n    get:\n      operationId: {path}\n      x-stability: {stability}\n      parameters: {parameters}\n      \
                 responses:\n        '200':\n          description: x\n          content: {{application/json: {{schema: \
                 {{$ref: '#/components/schemas/A'}}}}}}\n"
            )
        };
        version(&format!(
            "openapi: 3.1.0\ninfo: {{title: T, version: 1.0.0}}\npaths:\n{}{}components:\n  parameters:\n    Q: \
             {{name: q, in: query, schema: {{type: string}}{own}}}\n  schemas:\n    A: {{type: object, properties: \
             {{{property}}}}}\n",
            operation("a", stabilities[0]),
            operation("b", stabilities[1]),
        ))
    };
    let mut found = compare(&document(true), &document(false), &CompareOptions::default()).changes;
    found.retain(|change| ["parameter-removed", "property-removed"].contains(&change.rule));
    found.sort_by(|one, other| (one.rule, &one.subject).cmp(&(other.rule, &other.subject)));
    found
}

/// A component has the stability of the operations that use it, unless it declares its own.
#[test]
fn stability_applies_to_components_that_only_unstable_operations_use() {
    let note = "; only unstable operations use it, so its removal is not breaking";
    let check_levels = |stabilities, own: &str, expected: [ChangeLevel; 3]| {
        let changes = component_removals(stabilities, own);
        let levels: Vec<ChangeLevel> = changes.iter().map(ContractChange::level).collect();
        assert_eq!(levels, expected, "{stabilities:?}{own}: {changes:#?}");
        for change in changes {
            let is_allowed = change.level() == ChangeLevel::Additive;
            assert_eq!(change.message.ends_with(note), is_allowed, "{}", change.message);
        }
    };
    let (allowed, breaking) = (ChangeLevel::Additive, ChangeLevel::Breaking);
    check_levels(["alpha", "draft"], "", [allowed; 3]);
    // The parameters of two operations are removed separately; the property has two uses.
    check_levels(["alpha", "stable"], "", [allowed, breaking, breaking]);
    check_levels(["stable", "alpha"], "", [breaking, allowed, breaking]);
    check_levels(["beta", "beta"], "", [breaking; 3]);
    check_levels(["alpha", "alpha"], ", x-stability: stable", [breaking; 3]);
}

#[test]
fn explanation_of_a_removal_mentions_the_lifecycle() {
    let text = report::explain_rule(Some("operation-removed")).unwrap();
    assert!(text.contains("`x-sunset` date that has passed"), "{text}");
    let text = report::explain_rule(Some("pattern-removed")).unwrap();
    assert!(!text.contains("x-sunset"), "{text}");
    let (old, new) =
        (version(&document("x-stability: alpha", true)), version(&document("x-stability: alpha", false)));
    let drift = compare(&old, &new, &CompareOptions::default());
    let view = ReportOptions { within_major: true, ..ReportOptions::default() };
    assert_eq!(report::exit_code(&drift, &view), 1, "{}", report::render_text(&drift, &view));
}
