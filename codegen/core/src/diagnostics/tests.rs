//! Tests that compare rendered diagnostics as text.

use super::*;
use crate::resolve::tests::resolve_graph;

fn rendered(files: &[(&str, &str)]) -> String {
    resolve_graph(files).1.render(false)
}

fn check(found: &str, expected: &str) {
    assert_eq!(found, expected, "\n{found}");
}

#[test]
fn single_error_has_an_excerpt() {
    let found = rendered(&[(
        "v1/lot.json",
        "{\n  \"type\": \"object\",\n  \"properties\": {\n    \"a\": {\"minLength\": \"3\"}\n  }\n}\n",
    )]);
    check(
        &found,
        r##"error[invalid-schema]: `minLength` must be a whole number of at least 0, not
  │ "3"
   ╭─[v1/lot.json:4:24]
 3 │   "properties": {
 4 │     "a": {"minLength": "3"}
   ·                        ─┬─
   ·                         ╰── #/properties/a/minLength
 5 │   }
   ╰────
  help: remove the quotes

1 error
"##,
    );
}

#[test]
fn errors_first_with_labels() {
    let found = rendered(&[("a.yaml", "$defs:\n  b: {$anchor: x, enum: []}\n  c: {$anchor: x}\n")]);
    check(
        &found,
        r##"error[duplicate-anchor]: the anchor `x` already names another schema of this
  │ resource
   ╭─[a.yaml:3:16]
 2 │   b: {$anchor: x, enum: []}
 3 │   c: {$anchor: x}
   ·                ┬
   ·                ╰── #/$defs/c/$anchor
   ╰────
   first here: a.yaml:2:6 #/$defs/b

warning[invalid-schema]: an empty `enum` accepts nothing
   ╭─[a.yaml:2:25]
 1 │ $defs:
 2 │   b: {$anchor: x, enum: []}
   ·                         ─┬
   ·                          ╰── #/$defs/b/enum
 3 │   c: {$anchor: x}
   ╰────

1 error, 1 warning
"##,
    );
}

#[test]
fn long_lines_are_shortened() {
    let filler: Vec<String> =
        (0..5_000).map(|index| format!("\"k{index}\":{{\"type\":\"string\"}}")).collect();
    let text = format!(
        "{{\"$defs\":{{{},\"bad\":{{\"type\":\"strng\"}},{}}}}}",
        filler.join(","),
        filler.join(",").replace("\"k", "\"j")
    );
    let found = rendered(&[("a.json", &text)]);
    check(
        &found,
        r##"error[invalid-schema]: `strng` is not a type of JSON Schema 2020-12
   ╭─[a.json:1:128915]
 1 │ …tring"},"bad":{"type":"strng"},"j0":{"type":"string"},"j1":{"type"…
   ·                        ───┬───
   ·                           ╰── #/$defs/bad/type
   ╰────
  help: did you mean `string`?

1 error
"##,
    );
    assert!(found.lines().all(|line| line.chars().count() <= 80), "{found}");
}

#[test]
fn diagnostics_without_location_have_no_excerpt() {
    let mut problems = Diagnostics::new();
    problems.push(
        Diagnostic::error(
            "io",
            "cannot read a file whose name is so long that the message has to be wrapped onto a second line",
        )
        .help("look"),
    );
    problems.push(Diagnostic::warning("x", "w").with_place(DocumentLocation {
        source: SourceId(7),
        pointer: "/a".to_owned(),
        ..DocumentLocation::default()
    }));
    check(
        &problems.render(false),
        r##"error[io]: cannot read a file whose name is so long that the message has to
  │ be wrapped onto a second line
  help: look

warning[x]: w
   at #/a

1 error, 1 warning
"##,
    );
    check(
        &rendered(&[("a.json", "")]),
        "error[syntax]: the document is empty\n   ╭─[a.json:1:1]\n 1 │ \n   · ▲\n   · ╰── #\n   ╰────\n\n1 error\n",
    );
}

#[test]
fn json_lines_have_one_object_per_diagnostic() {
    let (_, problems) = resolve_graph(&[("a.json", "{\"é\": 1,\n \"type\": \"strng\"}")]);
    check(
        &problems.json_lines(),
        r##"{"severity":"error","code":"unknown-keyword","message":"`é` is not a keyword of JSON Schema 2020-12","file":"a.json","pointer":"/é","line":1,"column":2,"help":"start the name of a custom keyword with `x-`","mend":null}
{"severity":"error","code":"invalid-schema","message":"`strng` is not a type of JSON Schema 2020-12","file":"a.json","pointer":"/type","line":2,"column":10,"help":"did you mean `string`?","mend":"any type is accepted"}
"##,
    );
}

#[test]
fn selected_diagnostics_have_locations() {
    let (_, problems) = resolve_graph(&[("a.json", "{\"é\": 1,\n \"type\": \"strng\"}")]);
    let lines = problems.with_code("unknown-keyword").single_lines();
    let [(_, line)] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(line.starts_with("a.json:1:2 #/é: unknown-keyword: "), "{line}");
}

#[test]
fn colors_and_order() {
    let (_, problems) =
        resolve_graph(&[("b.json", r#"{"enum": [], "type": 1}"#), ("a.json", r#"{"type": 1}"#)]);
    let list: Vec<_> = problems
        .iter()
        .map(|each| (each.code, each.severity, each.place.as_ref().map(|place| place.source.0)))
        .collect();
    assert_eq!(
        list,
        [
            ("invalid-schema", Severity::Error, Some(1)),
            ("invalid-schema", Severity::Error, Some(0)),
            ("invalid-schema", Severity::Warning, Some(0)),
        ]
    );
    let mut twice = problems.clone();
    twice.append(problems.clone());
    twice.sort();
    assert_eq!(twice.len(), 3);
    assert!(!problems.render(false).contains('\u{1b}'));
    if std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) {
        assert!(problems.render(true).contains('\u{1b}'));
    }
}

#[test]
fn many_diagnostics_of_a_kind_are_counted() {
    let mut diagnostics = Diagnostics::new();
    for number in 0..20 {
        diagnostics
            .push(Diagnostic::warning("body", format!("body of `op{number}`: not read (field `f{number}`)")));
    }
    diagnostics.push(Diagnostic::warning("body", "body of `x`: another thing"));
    diagnostics.push(Diagnostic::error("body", "body of `x`: not read (field `f`)"));
    let brief = diagnostics.render_brief(false);
    assert_eq!(brief.matches("not read").count(), 2, "{brief}");
    assert!(brief.contains("warning[body]: 17 more of this kind; --verbose shows all\n"), "{brief}");
    assert!(brief.contains("another thing") && brief.ends_with("1 error, 21 warnings\n"), "{brief}");
    assert_eq!(diagnostics.render(false).matches("not read").count(), 21);
    assert_eq!(diagnostics.json_lines().lines().count(), 22);
}

/// The policy `Warn` turns a fault into a warning that mentions the fallback, and does not change other
/// diagnostics. The policy `Deny` changes nothing.
#[test]
fn fault_policy_lowers_faults() {
    let fault = || Diagnostic::error("body", "`a` is no body").with_fallback("it is left out");
    let mut diagnostics = Diagnostics::new();
    diagnostics.extend([
        fault(),
        Diagnostic::error("body", "nothing is"),
        Diagnostic::warning("body", "odd"),
    ]);
    assert!(diagnostics.has_fatal() && fault().severity == Severity::Error && !fault().is_fatal());
    let mut denied = diagnostics.clone();
    denied.apply_fault_policy(FaultPolicy::Deny);
    assert!(denied.iter().eq(&diagnostics));
    // The policy is applied twice, because the second time must have no effect.
    diagnostics.apply_fault_policy(FaultPolicy::Warn);
    diagnostics.apply_fault_policy(FaultPolicy::Warn);
    let summaries: Vec<_> = diagnostics.iter().map(|each| (each.severity, each.message.as_str())).collect();
    let expected = [
        (Severity::Warning, "`a` is no body; it is left out"),
        (Severity::Error, "nothing is"),
        (Severity::Warning, "odd"),
    ];
    assert_eq!(summaries, expected);
    diagnostics.retain(|each| each.severity != Severity::Error);
    assert!(
        diagnostics
            .render(false)
            .ends_with("2 warnings; one is a fault, which `faults = \"deny\"` rejects\n")
    );
}

/// In the brief format, only the first of several warnings of one kind has an excerpt; two others are shown
/// with their locations, and the rest is counted.
#[test]
fn warnings_of_a_kind_are_grouped() {
    let list = "{\"a\": 1,\n\"b\": 1,\n\"c\": 1,\n\"d\": 1,\n\"e\": 1}";
    let (.., problems) = crate::resolve::tests::resolve_files_with(
        crate::resolve::UnknownKeywordPolicy::Warn,
        &[("a.json", list)],
    );
    let brief = problems.render_brief(false);
    assert_eq!(brief.matches("is not a keyword").count(), 1, "{brief}");
    assert!(brief.contains("   also: a.json:2:1 #/b\n   also: a.json:3:1 #/c\n"), "{brief}");
    assert!(brief.contains("2 more of this kind"), "{brief}");
}

#[test]
fn full_format_shows_all_labels() {
    let place =
        |index: usize| DocumentLocation { pointer: format!("/{index}"), ..DocumentLocation::default() };
    let places: Vec<DocumentLocation> = (1..=6).map(place).collect();
    let mut diagnostics = Diagnostics::new();
    diagnostics
        .push(Diagnostic::note("nullable", "7 of them").with_place(place(0)).with_related_places(&places));
    let brief = diagnostics.render_brief(false);
    assert_eq!(brief.matches("also: ").count(), 3, "{brief}");
    assert!(brief.contains("   3 more places; --verbose shows all\n"), "{brief}");
    let full = diagnostics.render(false);
    assert!(full.matches("also: ").count() == 6 && !full.contains("more places"), "{full}");
}
