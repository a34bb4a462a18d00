//! Tests of overlays and merge patches on small documents.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::load::decode_document;

/// Applies an overlay. Returns the patched document, and the pointers of the changes followed by the problems
/// as `message at pointer`.
fn apply_overlay(document: &str, overlay: &str) -> (String, Vec<String>) {
    let parse = |text: &str| decode_document(SourceId(0), "a.yaml", text.as_bytes()).1.unwrap();
    let (mut document, tree) = (parse(document), parse(overlay));
    let mut problems = Diagnostics::new();
    let overlay = OverlayDocument { name: "mend.yaml", source: SourceId::overlay(0), tree: &tree };
    let overlay_edits = overlay.apply(SourceId(0), &mut document, &mut OverlayOrigins::new(), &mut problems);
    let places = overlay_edits.iter().flat_map(|edit| &edit.places).map(|place| place.pointer.clone());
    let problems = problems.iter().map(|problem| {
        let pointer = problem.place.as_ref().map(|place| place.pointer.as_str());
        format!("{} at {}", problem.message, pointer.unwrap_or_default())
    });
    (document.to_json().to_string(), places.chain(problems).collect())
}

/// Applies an overlay with one action. Returns the patched document, or the problem of the action.
fn apply_action(document: &str, action: &str) -> String {
    let (found, messages) = apply_overlay(document, &format!("overlay: 1.1.0\nactions: [{action}]"));
    let fault = messages.into_iter().find(|message| message.contains(" at /actions"));
    fault.unwrap_or(found)
}

/// If an action removes several array elements, the indexes refer to the array before the action, in whatever
/// order the JSONPath selects them.
#[test]
fn elements_are_removed_by_original_index() {
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
        assert_eq!(
            apply_action(document, &format!("{{target: \"{target}\", remove: true}}")),
            left,
            "{target}"
        );
    }
    let root_removal = apply_action("{a: 1}", "{target: $, remove: true}");
    assert_eq!(root_removal, "`$` is the whole document, which cannot be removed at /actions/0");
}

/// Each action applies to the result of the actions before it.
#[test]
fn actions_see_earlier_changes() {
    let overlay = "overlay: 1.0.0\nactions:\n  - {target: $, update: {b: {c: 1}}}\n  - {target: $.a, remove: true}\n  - {target: $.b, update: {d: [2]}}\n  - {target: $.b.d, update: 3}\n  - {target: '$.b.d[0]', remove: true}\n  - {target: $.a, update: {}}\n";
    let (found, messages) = apply_overlay("{a: 1}", overlay);
    assert_eq!(found, r#"{"b":{"c":1,"d":[3]}}"#);
    assert_eq!(messages, ["", "/a", "/b", "/b/d", "/b/d/0", "`$.a` selects nothing at /actions/5"]);
}

/// If a value is removed, its origin is dropped. The origins of other members of the same object keep their
/// locations in the overlay.
#[test]
fn remaining_values_keep_their_origin() {
    let parse = |text: &str| decode_document(SourceId(0), "a.yaml", text.as_bytes()).1.unwrap();
    let mut document = parse("{info: {}, gone: 1, list: [a, b, c], paths: {/a: {}}}");
    let tree = parse(
        "overlay: 1.0.0\nactions:\n  - {target: $.info, update: {title: T}}\n  - {target: $.list, update: [d, e]}\n  - {target: $.paths, update: {/ab: {get: {}}}}\n  - {target: $, update: {more: {a: 1, b: 2}}}\n  - {target: $.gone, remove: true}\n  - {target: '$.list[3]', remove: true}\n  - {target: \"$.paths['/a']\", remove: true}\n  - {target: $.more.a, remove: true}\n",
    );
    let (mut problems, mut origins) = (Diagnostics::new(), OverlayOrigins::new());
    let overlay = OverlayDocument { name: "mend.yaml", source: SourceId::overlay(0), tree: &tree };
    overlay.apply(SourceId(0), &mut document, &mut origins, &mut problems);
    assert_eq!(problems.iter().count(), 0, "{problems}");
    let remaining: Vec<_> =
        origins.iter().map(|(pointer, origin)| (pointer.as_str(), origin.pointer.as_str())).collect();
    assert_eq!(
        remaining,
        [
            ("/info/title", "/actions/0/update/title"),
            ("/more", "/actions/3/update/more"),
            ("/more/b", "/actions/3/update/more/b"),
            ("/paths/~1ab", "/actions/2/update/~1ab"),
            ("/paths/~1ab/get", "/actions/2/update/~1ab/get"),
        ]
    );
}

/// The message about a target that leads through a `$ref` names the reference.
#[test]
fn references_on_the_path_are_named() {
    let document = "{paths: {/a: {get: {parameters: [{name: a}, {$ref: '#/b'}], responses: {$ref: '#/c'}}}}, b: {name: b}, c: {}}";
    let get = "$.paths['/a'].get";
    for (rest, reference) in [
        (".parameters[1].name", Some(("/paths/~1a/get/parameters/1", "#/b"))),
        (".parameters[?@.name=='b']", Some(("/paths/~1a/get/parameters/1", "#/b"))),
        ("['responses']['200'].content", Some(("/paths/~1a/get/responses", "#/c"))),
        (".parameters[0].schema", None),
        (".none.name", Some(("/paths/~1a/get/responses", "#/c"))),
    ] {
        let target = format!("{get}{rest}");
        let found = apply_action(document, &format!("{{target: \"{target}\", remove: true}}"));
        let expected = match reference {
            Some((pointer, to)) => format!(
                "`{target}` selects nothing, because overlays do not follow the `$ref` at `{pointer}`; select its target `{to}` instead at /actions/0"
            ),
            None => format!("`{target}` selects nothing at /actions/0"),
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn actions_without_effect_are_rejected() {
    for action in [
        "{target: $.a, update: {b: 1}}",
        "{target: $.a, update: {}}",
        "{target: $.list, update: []}",
        "{target: $.a.b, update: 1}",
    ] {
        let found = apply_action("{a: {b: 1}, list: [1, 2, {c: 3}]}", action);
        assert!(found.ends_with("changes nothing at /actions/0"), "{action}: {found}");
    }
    assert_eq!(
        apply_action("{a: {b: 1}}", "{target: $.a.b, update: 1.0}"),
        "the update of `$.a.b` changes nothing at /actions/0"
    );
}

/// An update that would append an element that the array already contains is rejected, even if it also
/// contains new elements.
#[test]
fn existing_elements_are_rejected() {
    for (action, held) in [
        ("{target: $.list, update: 1}", "`/list` already contains `1`"),
        ("{target: $.list, update: [2, 1]}", "`/list` already contains `2`"),
        ("{target: $.list, update: [4, 1, 2]}", "`/list` already contains `1`"),
        ("{target: $, update: {list: [{c: 3}]}}", "`/list` already contains `{\"c\":3}`"),
        ("{target: $, update: {more: 1, list: [{c: 3}]}}", "`/list` already contains `{\"c\":3}`"),
        ("{target: '$.*', update: 5}", "`/other` already contains `5`"),
        ("{target: $.list, copy: '$.list[0]'}", "`/list` already contains `1`"),
    ] {
        let found = apply_action("{list: [1, 2, {c: 3}], other: [5]}", action);
        assert!(found.starts_with(held), "{action}: {found}");
    }
}

/// An update is rejected if its type differs from that of its target, or if its targets are of different
/// classes (Overlay 1.1, 4.4.3).
#[test]
fn updates_of_another_type_are_rejected() {
    for (action, expected) in [
        ("{target: $.a.b, update: {c: 1}}", "`/a/b` is a number, but the update is an object"),
        ("{target: $, update: {a: {b: [1]}}}", "`/a/b` is a number, but the update is an array"),
        ("{target: $, update: {list: 3}}", "`/list` is an array, but the update is a number"),
        ("{target: $.a, update: [1]}", "`/a` is an object, but the update is an array"),
        ("{target: $, update: 3}", "the document is an object, but the update is a number"),
        ("{target: $.list, copy: $.a.b}", r#"{"a":{"b":1},"list":[2,1]}"#),
        ("{target: $.a.b, update: text}", r#"{"a":{"b":"text"},"list":[2]}"#),
        (
            "{target: $.*, update: {c: 1}}",
            "`$.*` selects arrays and objects, but all targets of an update must be of one kind",
        ),
        ("{target: $..*, remove: true}", "{}"),
    ] {
        let found = apply_action("{a: {b: 1}, list: [2]}", action);
        assert!(found.starts_with(expected), "{action}: {found}");
    }
}

#[test]
fn overlays_are_checked_field_by_field() {
    for (overlay, expected) in [
        (
            "{overlay: 1.0, actions: [{target: $.a, remove: true}]}",
            "`overlay` must be a string, not 1.0 at /overlay",
        ),
        (
            "{overlay: 2.0.0, actions: []}",
            "unsupported Overlay version `2.0.0`: expected 1.0 or 1.1 at /overlay",
        ),
        (
            "{overlay: 1.10.0, actions: []}",
            "unsupported Overlay version `1.10.0`: expected 1.0 or 1.1 at /overlay",
        ),
        ("{overlay: 1.0.0, actions: {target: $.a}}", "`actions` must be an array, not an object at /actions"),
        ("{overlay: 1.0.0, actions: []}", "an overlay must have at least one action in `actions` at "),
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
            "an overlay with `actions` must have a version at /actions",
        ),
        (
            "[{op: add, path: /a, value: 1}]",
            "an overlay or a merge patch must be an object, not an array at ",
        ),
        ("3", "an overlay or a merge patch must be an object, not a number at "),
    ] {
        let (_, found) = apply_overlay("{a: 1}", overlay);
        assert!(found.iter().any(|found| found == expected), "{overlay}: {found:?}");
    }
    let (found, _) = apply_overlay("{a: 1}", "[{op: add, path: /a, value: 1}]");
    assert_eq!(found, r#"{"a":1}"#);
}

/// A merge patch sets, replaces and removes members as RFC 7396 requires. A part without effect is reported.
#[test]
fn merge_patches() {
    let idle = "the merge patch changes nothing here at ";
    for (document, patch, result, expected) in [
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
        assert_eq!(apply_overlay(document, patch), (result.to_owned(), expected), "{document} {patch}");
    }
}
