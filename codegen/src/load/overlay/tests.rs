//! Overlays and merge patches over small documents.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::load::read;

/// What an overlay makes of a document, and what is said of it: messages with their pointers.
fn mended(document: &str, overlay: &str) -> (String, Vec<String>) {
    let parse = |text: &str| read(SourceId(0), "a.yaml", text.as_bytes()).1.unwrap();
    let (mut document, tree) = (parse(document), parse(overlay));
    let mut problems = Diagnostics::new();
    let overlay = Overlay { name: "mend.yaml", source: SourceId::overlay(0), tree: &tree };
    let mends = overlay.apply(SourceId(0), &mut document, &mut Origins::new(), &mut problems);
    let places = mends.iter().flat_map(|mend| &mend.places).map(|place| place.pointer.clone());
    let problems = problems.iter().map(|problem| {
        let pointer = problem.place.as_ref().map(|place| place.pointer.as_str());
        format!("{} at {}", problem.message, pointer.unwrap_or_default())
    });
    (document.to_json().to_string(), places.chain(problems).collect())
}

/// One action over a document.
fn acted(document: &str, action: &str) -> String {
    let (found, said) = mended(document, &format!("overlay: 1.1.0\nactions: [{action}]"));
    let fault = said.into_iter().find(|said| said.contains(" at /actions"));
    fault.unwrap_or(found)
}

/// Indices are those of the document, in whatever order a path selects them.
#[test]
fn elements_are_removed_where_they_were_selected() {
    let ten = "{a: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}";
    for (document, target, left) in [
        ("{a: [a, b, c]}", "$.a[1,0]", r#"{"a":["c"]}"#),
        ("{a: [a, b, c]}", "$.a[::-1]", r#"{"a":[]}"#),
        ("{a: [a, b, c]}", "$.a[-1,0]", r#"{"a":["b"]}"#),
        ("{a: [a, b, c]}", "$.a[0,0]", r#"{"a":["b","c"]}"#),
        (ten, "$.a[9,10,2]", r#"{"a":[0,1,3,4,5,6,7,8,11]}"#),
        ("{a: [[1, 2], [3]]}", "$..[0]", r#"{"a":[[]]}"#),
        ("{a: {b: {c: 1}}}", "$..*", "{}"),
        ("{a/b: 1, c~d: 2, e: 3}", "$['a/b','c~d']", r#"{"e":3}"#),
    ] {
        assert_eq!(acted(document, &format!("{{target: \"{target}\", remove: true}}")), left, "{target}");
    }
    let whole = acted("{a: 1}", "{target: $, remove: true}");
    assert_eq!(whole, "`$` is the whole document, which cannot be removed at /actions/0");
}

/// What an action does is there for the next one.
#[test]
fn actions_see_what_was_done_before() {
    let overlay = "overlay: 1.0.0\nactions:\n  - {target: $, update: {b: {c: 1}}}\n  - {target: $.a, remove: true}\n  - {target: $.b, update: {d: [2]}}\n  - {target: $.b.d, update: 3}\n  - {target: '$.b.d[0]', remove: true}\n  - {target: $.a, update: {}}\n";
    let (found, said) = mended("{a: 1}", overlay);
    assert_eq!(found, r#"{"b":{"c":1,"d":[3]}}"#);
    assert_eq!(said, ["", "/a", "/b", "/b/d", "/b/d/0", "`$.a` selects nothing any more at /actions/5"]);
}

/// What is removed takes its own origin along, and moves what follows it in a list, nothing else.
#[test]
fn what_stays_is_known_to_come_from_the_overlay() {
    let parse = |text: &str| read(SourceId(0), "a.yaml", text.as_bytes()).1.unwrap();
    let mut document = parse("{info: {}, gone: 1, list: [a, b, c], paths: {/a: {}}}");
    let tree = parse(
        "overlay: 1.0.0\nactions:\n  - {target: $.info, update: {title: T}}\n  - {target: $.list, update: [d, e]}\n  - {target: $.paths, update: {/ab: {get: {}}}}\n  - {target: $, update: {more: {a: 1, b: 2}}}\n  - {target: $.gone, remove: true}\n  - {target: '$.list[3]', remove: true}\n  - {target: \"$.paths['/a']\", remove: true}\n  - {target: $.more.a, remove: true}\n",
    );
    let (mut problems, mut origins) = (Diagnostics::new(), Origins::new());
    let overlay = Overlay { name: "mend.yaml", source: SourceId::overlay(0), tree: &tree };
    overlay.apply(SourceId(0), &mut document, &mut origins, &mut problems);
    assert_eq!(problems.iter().count(), 0, "{problems}");
    let known: Vec<_> = origins.iter().map(|(at, from)| (at.as_str(), from.pointer.as_str())).collect();
    assert_eq!(
        known,
        [
            ("/info/title", "/actions/0/update/title"),
            ("/more", "/actions/3/update/more"),
            ("/more/b", "/actions/3/update/more/b"),
            ("/paths/~1ab", "/actions/2/update/~1ab"),
            ("/paths/~1ab/get", "/actions/2/update/~1ab/get"),
        ]
    );
}

#[test]
fn actions_that_change_nothing_are_refused() {
    for action in [
        "{target: $.a, update: {b: 1}}",
        "{target: $.a, update: {}}",
        "{target: $.list, update: []}",
        "{target: $.a.b, update: 1}",
    ] {
        let found = acted("{a: {b: 1}, list: [1, 2, {c: 3}]}", action);
        assert!(found.ends_with("has all this already at /actions/0"), "{action}: {found}");
    }
    assert_eq!(
        acted("{a: {b: 1}}", "{target: $.a.b, update: 1.0}"),
        "`$.a.b` has all this already at /actions/0"
    );
}

/// An entry that came to be there would stand in its list twice, whatever comes with it.
#[test]
fn entries_that_are_there_are_refused() {
    for (action, held) in [
        ("{target: $.list, update: 1}", "`/list` holds this already: `1`"),
        ("{target: $.list, update: [2, 1]}", "`/list` holds this already: `2`"),
        ("{target: $.list, update: [4, 1, 2]}", "`/list` holds this already: `1`"),
        ("{target: $, update: {list: [{c: 3}]}}", "`/list` holds this already: `{\"c\":3}`"),
        ("{target: $, update: {more: 1, list: [{c: 3}]}}", "`/list` holds this already: `{\"c\":3}`"),
        ("{target: '$.*', update: 5}", "`/other` holds this already: `5`"),
        ("{target: $.list, copy: '$.list[0]'}", "`/list` holds this already: `1`"),
    ] {
        let found = acted("{list: [1, 2, {c: 3}], other: [5]}", action);
        assert!(found.starts_with(held), "{action}: {found}");
    }
}

/// Overlay 1.1, 4.4.3: an update is of the kind of what it is merged with, and of one kind everywhere.
#[test]
fn updates_of_another_kind_are_refused() {
    for (action, said) in [
        ("{target: $.a.b, update: {c: 1}}", "`/a/b` is a number, and what is given is an object"),
        ("{target: $, update: {a: {b: [1]}}}", "`/a/b` is a number, and what is given is an array"),
        ("{target: $, update: {list: 3}}", "`/list` is an array, and what is given is a number"),
        ("{target: $.a, update: [1]}", "`/a` is an object, and what is given is an array"),
        ("{target: $, update: 3}", "the document is an object, and what is given is a number"),
        ("{target: $.list, copy: $.a.b}", r#"{"a":{"b":1},"list":[2,1]}"#),
        ("{target: $.a.b, update: text}", r#"{"a":{"b":"text"},"list":[2]}"#),
        (
            "{target: $.*, update: {c: 1}}",
            "`$.*` selects arrays and objects, and an update is for one of these",
        ),
        ("{target: $..*, remove: true}", "{}"),
    ] {
        let found = acted("{a: {b: 1}, list: [2]}", action);
        assert!(found.starts_with(said), "{action}: {found}");
    }
}

#[test]
fn overlays_are_checked_field_by_field() {
    for (overlay, said) in [
        (
            "{overlay: 1.0, actions: [{target: $.a, remove: true}]}",
            "`overlay` must be a string, not 1.0 at /overlay",
        ),
        ("{overlay: 2.0.0, actions: []}", "Overlay `2.0.0`: versions 1.0 and 1.1 are read at /overlay"),
        ("{overlay: 1.10.0, actions: []}", "Overlay `1.10.0`: versions 1.0 and 1.1 are read at /overlay"),
        ("{overlay: 1.0.0, actions: {target: $.a}}", "`actions` must be an array, not an object at /actions"),
        ("{overlay: 1.0.0, actions: []}", "an overlay without `actions` at "),
        (
            "{overlay: 1.0.0, extend: x, actions: [{target: $.a, remove: true}]}",
            "an overlay has no field `extend` at /extend",
        ),
        (
            "{overlay: 1.0.0, actions: [{target: $.a, removed: true, update: 2}]}",
            "an action has no field `removed` at /actions/0/removed",
        ),
        (
            "{overlay: 1.0.0, actions: [{target: $.a, remove: yes}]}",
            "`remove` must be `true` or `false` at /actions/0",
        ),
        (
            "{actions: [{target: $.a, remove: true}]}",
            "`actions` without the version of the overlay at /actions",
        ),
        (
            "[{op: add, path: /a, value: 1}]",
            "an overlay or a merge patch must be an object, not an array at ",
        ),
        ("3", "an overlay or a merge patch must be an object, not a number at "),
    ] {
        let (_, found) = mended("{a: 1}", overlay);
        assert!(found.iter().any(|found| found == said), "{overlay}: {found:?}");
    }
    let (found, _) = mended("{a: 1}", "[{op: add, path: /a, value: 1}]");
    assert_eq!(found, r#"{"a":1}"#);
}

/// RFC 7396, and what changes nothing.
#[test]
fn merge_patches() {
    let idle = "a merge patch that changes nothing here any more at ";
    for (document, patch, left, said) in [
        ("{a: 1}", "{a: 2, b: 3}", r#"{"a":2,"b":3}"#, vec!["/a".to_owned(), "/b".to_owned()]),
        (
            "{a: 1, b: 2, c: 3}",
            "{a: null, c: null, d: 4}",
            r#"{"b":2,"d":4}"#,
            vec!["/a".into(), "/c".into(), "/d".into()],
        ),
        ("{a: 1}", "{}", r#"{"a":1}"#, vec![idle.to_owned()]),
        ("{a: {b: 1}}", "{a: {}}", r#"{"a":{"b":1}}"#, vec![format!("{idle}/a")]),
        ("{a: {b: 1}}", "{a: {b: 1}}", r#"{"a":{"b":1}}"#, vec![format!("{idle}/a/b")]),
        ("{a: 1}", "{b: null}", r#"{"a":1}"#, vec![format!("{idle}/b")]),
        ("{a: text}", "{a: {}}", r#"{"a":{}}"#, vec!["/a".to_owned()]),
        ("{a: text}", "{a: {b: {c: 1, d: null}}}", r#"{"a":{"b":{"c":1}}}"#, vec!["/a".to_owned()]),
        ("{}", "{a: {b: null}, c: [null]}", r#"{"a":{},"c":[null]}"#, vec!["/a".to_owned(), "/c".to_owned()]),
        ("{a: [1, 2]}", "{a: [1]}", r#"{"a":[1]}"#, vec!["/a".to_owned()]),
    ] {
        assert_eq!(mended(document, patch), (left.to_owned(), said), "{document} {patch}");
    }
}
