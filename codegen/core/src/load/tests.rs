//! Table-driven tests of the parsers. Positions are compared as `line:column`.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::tree::{DocumentNode, NodeValue};

/// Formats a tree as compact text with spans, such as `{a@1:2=1@1:6}`.
fn format_tree(text: &str, tree: &DocumentNode) -> String {
    let position = |span: Span| {
        let before = &text[..span.start as usize];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|each| *each != '\n').count() + 1;
        format!("@{line}:{column}")
    };
    let body = match &tree.value {
        NodeValue::Null => "null".to_owned(),
        NodeValue::Bool(value) => value.to_string(),
        NodeValue::Number(text) => text.clone(),
        NodeValue::String(text) => format!("{text:?}"),
        NodeValue::Array(list) => {
            format!("[{}]", list.iter().map(|each| format_tree(text, each)).collect::<Vec<_>>().join(" "))
        }
        NodeValue::Object(list) => {
            let member = |each: &ObjectMember| {
                format!("{}{}={}", each.key, position(each.key_span), format_tree(text, &each.value))
            };
            format!("{{{}}}", list.iter().map(member).collect::<Vec<_>>().join(" "))
        }
    };
    format!("{body}{}", position(tree.span))
}

thread_local! {
    /// The number of members that were inspected in searches for a key.
    pub(super) static INSPECTED_MEMBERS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Parses a document. Returns the formatted tree, or the problems as `code pointer line:column`.
fn format_outcome(name: &str, text: &[u8]) -> String {
    let (read_text, tree, problems) = decode_document(SourceId(0), name, text);
    if problems.is_empty() {
        return format_tree(&read_text, &tree.unwrap());
    }
    let format_problem = |each: &Diagnostic| {
        let place = each.place.as_ref().unwrap();
        let before = &read_text[..place.span.start as usize];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|each| *each != '\n').count() + 1;
        format!("{} {} {line}:{column}", each.code, place.pointer)
    };
    problems.iter().map(format_problem).collect::<Vec<_>>().join("; ")
}

fn check(name: &str, cases: &[(&str, &str)]) {
    let mut failures = String::new();
    for (text, expected) in cases {
        let found = format_outcome(name, text.as_bytes());
        if found != *expected {
            failures += &format!("{text:?}\n  expected {expected}\n  found    {found}\n");
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn json_values() {
    check(
        "a.json",
        &[
            ("null", "null@1:1"),
            (" true", "true@1:2"),
            ("\tfalse\n", "false@1:2"),
            ("0", "0@1:1"),
            ("-0", "-0@1:1"),
            ("-12.50e+3", "-12.50e+3@1:1"),
            ("123456789012345678901234567890.10", "123456789012345678901234567890.10@1:1"),
            (r#""a\"\\\/\b\f\n\r\tb""#, r#""a\"\\/\u{8}\u{c}\n\r\tb"@1:1"#),
            (r#""\u00e9\ud83d\ude00é""#, r#""é😀é"@1:1"#),
            (r#""\u007f""#, r#""\u{7f}"@1:1"#),
            ("[]", "[]@1:1"),
            ("[ ]", "[]@1:1"),
            ("[1,\n 2]", "[1@1:2 2@2:2]@1:1"),
            ("{}", "{}@1:1"),
            ("{\"a\": 1,\n  \"b\": [{}]}", "{a@1:2=1@1:7 b@2:3=[{}@2:9]@2:8}@1:1"),
            ("{\"é\": {\"\": null}}", "{é@1:2={@1:8=null@1:12}@1:7}@1:1"),
            ("{\"a\\nb\":1}", "{a\nb@1:2=1@1:9}@1:1"),
        ],
    );
}

#[test]
fn json_errors() {
    check(
        "a.json",
        &[
            ("", "syntax  1:1"),
            ("  \n", "syntax  2:1"),
            ("{", "syntax  1:2"),
            ("[1", "syntax  1:3"),
            ("[1,]", "syntax  1:3"),
            ("{\"a\":1,}", "syntax  1:7"),
            ("[1 2]", "syntax  1:4"),
            ("{\"a\" 1}", "syntax  1:6"),
            ("{a:1}", "syntax  1:2"),
            ("{'a':1}", "syntax  1:2"),
            ("{\"a\":'b'}", "syntax /a 1:6"),
            ("{\"a\":[0,01]}", "syntax /a/1 1:9"),
            ("1.", "syntax  1:1"),
            (".5", "syntax  1:1"),
            ("+1", "syntax  1:1"),
            ("1e", "syntax  1:1"),
            ("0x10", "syntax  1:1"),
            ("NaN", "syntax  1:1"),
            ("-Infinity", "syntax  1:1"),
            ("nul", "syntax  1:1"),
            ("nullx", "syntax  1:1"),
            ("True", "syntax  1:1"),
            ("1 1", "syntax  1:3"),
            ("{} x", "syntax  1:4"),
            ("// c\n1", "syntax  1:1"),
            ("\"a", "syntax  1:1"),
            ("\"a\tb\"", "syntax  1:3"),
            ("\"\\x\"", "syntax  1:2"),
            ("\"\\u12g4\"", "syntax  1:2"),
            ("{\"a/b\":{\"c~d\":\"\\ud800\"}}", "encoding /a~1b/c~0d 1:16"),
            ("[\"\\ud800\\u0041\"]", "encoding /0 1:3"),
            ("\"\\udc00\"", "encoding  1:2"),
            ("{\"a\":1,\"b\":2,\"a\":3}", "duplicate-key /a 1:14"),
            (
                "{\"x\":{\"a\":1,\n\"a\":{\"b\":1,\"b\":2}}}",
                "duplicate-key /x/a 2:1; duplicate-key /x/a/b 2:12",
            ),
            ("{\"\\u0061\":1,\"a\":3}", "duplicate-key /a 1:13"),
            ("\u{feff}{}", "encoding  1:1"),
        ],
    );
    assert_eq!(format_outcome("a.json", b"{\"a\": \"\xff\"}"), "encoding  1:8");
    let deep = format!("{}1{}", "[".repeat(MAX_DEPTH + 1), "]".repeat(MAX_DEPTH + 1));
    assert!(format_outcome("a.json", deep.as_bytes()).starts_with("depth /0/0"));
    let fits = format!("{}1{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    assert!(format_outcome("a.json", fits.as_bytes()).starts_with("[["));
    let wide: Vec<String> = (0..40).map(|index| format!("\"k{index}\":0")).collect();
    let text = format!("{{{},\"k3\":1,\"k39\":1}}", wide.join(","));
    assert_eq!(format_outcome("a.json", text.as_bytes()).matches("duplicate-key").count(), 2);
}

#[test]
fn yaml_values() {
    check(
        "a.yaml",
        &[
            ("a: 1\nb: two", "{a@1:1=1@1:4 b@2:1=\"two\"@2:4}@1:1"),
            ("- a\n- - b\n  - c\n", "[\"a\"@1:3 [\"b\"@2:5 \"c\"@3:5]@2:3]@1:1"),
            ("a:\n  b:\n    c: null", "{a@1:1={b@2:3={c@3:5=null@3:8}@3:5}@2:3}@1:1"),
            ("{a: [1, 2.50], b: {}}", "{a@1:2=[1@1:6 2.50@1:9]@1:5 b@1:16={}@1:19}@1:1"),
            ("é: ü\nb: ö", "{é@1:1=\"ü\"@1:4 b@2:1=\"ö\"@2:4}@1:1"),
            ("a: yes\r\nb: on\r\nc: no", "{a@1:1=\"yes\"@1:4 b@2:1=\"on\"@2:4 c@3:1=\"no\"@3:4}@1:1"),
            (
                "[true, False, TRUE, ~, Null, '']",
                "[true@1:2 false@1:8 true@1:15 null@1:21 null@1:24 \"\"@1:30]@1:1",
            ),
            ("['1', \"2\", 3]", "[\"1\"@1:2 \"2\"@1:7 3@1:12]@1:1"),
            ("200: ok\n'201': ok", "{200@1:1=\"ok\"@1:6 201@2:1=\"ok\"@2:8}@1:1"),
            (
                "v: 3.1.0\nd: 2024-01-01\nt: 12:30",
                "{v@1:1=\"3.1.0\"@1:4 d@2:1=\"2024-01-01\"@2:4 t@3:1=\"12:30\"@3:4}@1:1",
            ),
            (
                "[1e3, -0, 1_000, 0b1, e5, +, .]",
                "[1e3@1:2 -0@1:7 \"1_000\"@1:11 \"0b1\"@1:18 \"e5\"@1:23 \"+\"@1:27 \".\"@1:30]@1:1",
            ),
            ("a: |\n  x\n  y\nb: >\n  x\n  y\n", "{a@1:1=\"x\\ny\\n\"@2:3 b@4:1=\"x y\\n\"@5:3}@1:1"),
            ("a: &x {b: 1}\nc: *x", "{a@1:1={b@1:8=1@1:11}@1:4 c@2:1={b@1:8=1@1:11}@1:4}@1:1"),
            ("---\na: 1\n...\n", "{a@2:1=1@2:4}@2:1"),
            ("# comment\na: 1 # more", "{a@2:1=1@2:4}@2:1"),
            ("\"<<\": 1", "{<<@1:1=1@1:7}@1:1"),
            ("a:", "{a@1:1=null@1:2}@1:1"),
            ("just text", "\"just text\"@1:1"),
        ],
    );
}

#[test]
fn yaml_errors() {
    check(
        "a.yml",
        &[
            ("", "syntax  1:1"),
            ("# only\n", "syntax  1:1"),
            ("a: 1\na: 2", "duplicate-key /a 2:1"),
            ("x:\n  a: 1\n  b: 2\n  a: {c: 1, c: 2}", "duplicate-key /x/a 4:3; duplicate-key /x/a/c 4:13"),
            ("<<: {a: 1}", "unsupported  1:1"),
            ("a: !!str 1", "unsupported /a 1:4"),
            ("a: !x 1", "unsupported /a 1:4"),
            ("? [a]\n: 1", "unsupported  1:3"),
            ("x-a:\n  ? {b: [1]}\n  : [2, {c: 3}]\n  d: 4", "unsupported /x-a 2:5"),
            ("a: &x [1]\n*x : 2", "unsupported  2:1"),
            ("a: 0x1F", "syntax /a 1:4"),
            ("a: 0o17", "syntax /a 1:4"),
            ("a:\n  - 012", "syntax /a/0 2:5"),
            ("a: +1", "syntax /a 1:4"),
            ("a: .5", "syntax /a 1:4"),
            ("a: 1.", "syntax /a 1:4"),
            ("a: .inf", "syntax /a 1:4"),
            ("a: -.INF", "syntax /a 1:4"),
            ("a: .nan", "syntax /a 1:4"),
            ("--- 1\n--- 2", "unsupported  2:1"),
            ("a: [1", "syntax /a/1 1:6"),
            ("a: *x", "syntax /a 1:4"),
            ("a: &x [*x]", "syntax /a/0 1:8"),
            ("\u{feff}a: 1", "encoding  1:1"),
        ],
    );
    let deep = "- ".repeat(MAX_DEPTH + 5) + "1";
    let found = format_outcome("a.yaml", deep.as_bytes());
    assert!(found.starts_with("depth /0/0"), "{found}");
    // The maximum depth of nested brackets in YAML is lower than that of other collections, because the YAML
    // parser has its own limit.
    let deep = "[".repeat(256) + &"]".repeat(256);
    assert_eq!(format_outcome("a.yaml", deep.as_bytes()), "syntax  1:256");
    let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (from, to) in "abcdefghi".chars().zip("bcdefghij".chars()) {
        bomb += &format!("{to}: &{to} [{}]\n", vec![format!("*{from}"); 10].join(", "));
    }
    assert!(format_outcome("a.yaml", bomb.as_bytes()).starts_with("unsupported /"));
    // For the limit on aliases, a long string counts as several values, even if it is a key.
    let long = "x".repeat(1 << 20);
    for alias in ["*x ", "*x : 1"] {
        let bomb = format!("a: &x {long}\nb:\n{}", format!("- {alias}\n").repeat(20));
        assert!(format_outcome("a.yaml", bomb.as_bytes()).starts_with("unsupported /b"), "{alias}");
    }
    let null = format_outcome("a.yaml", b"a: &x ~\nb: {*x : 1}");
    assert_eq!(null, "{a@1:1=null@1:4 b@2:1={null@2:5=1@2:10}@2:4}@1:1");
    let half = "- ".repeat(MAX_DEPTH * 2 / 3);
    let tower = format!("a: &a\n  {half}x\nb:\n  {half}*a\n");
    let found = format_outcome("a.yaml", tower.as_bytes());
    assert!(found.starts_with("depth /"), "{found}");
}

/// Parses a YAML document. Returns its value as JSON, and the problems as `line pointer: message`.
fn parse_repaired(text: &str) -> (String, Vec<String>) {
    let (_, tree, problems) = decode_document(SourceId(0), "a.yaml", text.as_bytes());
    let line = |each: &Diagnostic| {
        let place = each.place.as_ref().unwrap();
        let line = text[..place.span.start as usize].matches('\n').count() + 1;
        format!("{line} {}: {}", place.pointer, each.message)
    };
    (tree.map(|tree| tree.to_json().to_string()).unwrap_or_default(), problems.iter().map(line).collect())
}

/// A member whose key is a collection is dropped without affecting other members. A key that is an alias of a
/// scalar is converted to a string, as a plain key is.
#[test]
fn complex_keys_are_dropped() {
    for (text, expected, count) in [
        ("? [a, {b: c}]\n: {d: e}\nf: 1\n", r#"{"f":1}"#, 1),
        ("x-a: {[a]: b, {c: d}: e, f: g}\n", r#"{"x-a":{"f":"g"}}"#, 2),
        ("? [a]\nb: 1\n", r#"{"b":1}"#, 1),
        ("a: &x {b: 1}\nc:\n  *x : 2\n  d: 3\n", r#"{"a":{"b":1},"c":{"d":3}}"#, 1),
        ("a: &x b\nc: {*x : 2}\n", r#"{"a":"b","c":{"b":2}}"#, 0),
        ("a: &x 404\nc: {*x : 2}\n", r#"{"a":404,"c":{"404":2}}"#, 0),
    ] {
        let (found, problems) = parse_repaired(text);
        assert_eq!((found.as_str(), problems.len()), (expected, count), "{text}: {problems:?}");
    }
}

#[test]
fn shallow_brackets_are_joined() {
    for (text, value, lines) in [
        ("a:\n  b: [\n  x,\n  y\n  ]\n  c: 1", r#"{"a":{"b":["x","y"],"c":1}}"#, 1),
        ("a:\n  b: [\n    x,\n  ]\n  c: 1", r#"{"a":{"b":["x"],"c":1}}"#, 0),
        ("a:\n  b: {\n  x: [1,\n  2], # why\n  y: 'it''s' }\n", r#"{"a":{"b":{"x":[1,2],"y":"it's"}}}"#, 1),
        ("a:\n  b: [ # why\n  don't, isn't\n  ]\n", r#"{"a":{"b":["don't","isn't"]}}"#, 1),
        ("a:\n  b: [\n  x\n  ]\n  c: [\n  y\n  ]\n", r#"{"a":{"b":["x"],"c":["y"]}}"#, 2),
        // A `#` in quotes does not start a comment.
        ("a:\n  b: [\"x #1\",\n\"y\"]\n", r#"{"a":{"b":["x #1","y"]}}"#, 1),
        ("a:\n  - 'k #': ['x # y', # why\n    z\n  ]\n", r##"{"a":[{"k #":["x # y","z"]}]}"##, 1),
        ("a:\n  b: [\n  x\n  ]\n  'c #': [\n  y\n  ]\n", r##"{"a":{"b":["x"],"c #":["y"]}}"##, 2),
    ] {
        let (found, problems) = parse_repaired(text);
        assert_eq!((found.as_str(), problems.len()), (value, lines), "{text}\n{problems:?}");
        let is_expected = problems.iter().all(|each| each.ends_with("must be indented more than their key"));
        assert!(is_expected, "{problems:?}");
    }
}

/// A document with 1,200 brackets whose lines are indented too little is parsed with one problem for each
/// bracket, because similar brackets are joined in the same attempt.
#[test]
fn many_shallow_brackets_need_few_parses() {
    const MANY: usize = 1_200;
    let entry = |index: usize| format!("- k{index}: [\n  a, # why\n b ]\n  t: |\n    k: [\n    x\n    ]\n");
    let text: String = (0..MANY).map(entry).collect();
    let (_, tree, problems) = decode_document(SourceId(0), "a.yaml", text.as_bytes());
    assert_eq!(problems.len(), MANY);
    let pointers = problems.iter().map(|each| each.place.as_ref().unwrap().pointer.as_str());
    assert_eq!(pointers.take(2).collect::<Vec<_>>(), ["/0/k0/0", "/1/k1/0"]);
    let last = tree.unwrap().elements().last().unwrap().to_json().to_string();
    assert_eq!(last, r#"{"k1199":["a","b"],"t":"k: [\nx\n]\n"}"#);
}

/// A bracket within a multi-line quoted scalar is not changed, although it looks like the shallow brackets
/// around it.
#[test]
fn brackets_in_block_scalars_are_unchanged() {
    let text = "a:\n  b: [\n  x\n  ]\n  t: \"text\n    k: [\n    x\n    ]\n    \"\n  c: [\n  y ]\n";
    let (found, problems) = parse_repaired(text);
    assert_eq!(found, r#"{"a":{"b":["x"],"t":"text k: [ x ] ","c":["y"]}}"#);
    assert_eq!(problems.len(), 2, "{problems:?}");
}

/// A quoted scalar whose lines are indented too little has the same value as if they were indented (YAML
/// 1.2.2, 6.5 and 7.3).
#[test]
fn shallow_quoted_scalars_are_folded() {
    for (text, value) in [
        ("a:\n  b: \"text\ncontinued\"\n  c: 1\n", r#"{"a":{"b":"text continued","c":1}}"#),
        ("a:\n    b: 'it''s  \n  so'\n    c: \"x\n y\"\n", r#"{"a":{"b":"it's so","c":"x y"}}"#),
        ("a:\n  b: \"one\n\n  \n two\n three\"\n", r#"{"a":{"b":"one\n\ntwo three"}}"#),
        ("a:\n  b: \"on\\\n e \\ \r\n two \\\\\r\nö\"\n", r#"{"a":{"b":"one   two \\ ö"}}"#),
        ("a:\n  key: [\"x\n  y\"]\n", r#"{"a":{"key":["x y"]}}"#),
        ("a:\n  b: \"\n  text\n  \"\n  c: 'further\n    in'\n", r#"{"a":{"b":" text ","c":"further in"}}"#),
    ] {
        let (found, problems) = parse_repaired(text);
        assert_eq!(found, value, "{text}\n{problems:?}");
        let is_expected = problems
            .iter()
            .all(|each| each.ends_with("the lines of a quoted string must be indented more than its key"));
        assert!(is_expected, "{problems:?}");
    }
    let (_, problems) = parse_repaired("tags: [one]\na:\n  b: \"text\n continued\"\n");
    assert_eq!(problems, ["3 /a/b: the lines of a quoted string must be indented more than its key"]);
}

/// The control characters that serve as fillers are removed only from folded scalars; elsewhere, they are
/// preserved.
#[test]
fn control_characters_are_preserved() {
    let source = r#"p: "[\x01-\x1f]\u0002""#;
    let member = r#""p":"[\u0001-\u001f]\u0002""#;
    assert_eq!(parse_repaired(source), (format!("{{{member}}}"), Vec::new()));
    let (found, problems) = parse_repaired(&format!("{source}\na:\n  b: \"one\ntwo\"\n"));
    assert_eq!((found, problems.len()), (format!("{{{member},\"a\":{{\"b\":\"one two\"}}}}"), 1));
    // A scalar that contains such a character itself is not folded, because it could not be distinguished
    // from a filler.
    let (_, problems) = parse_repaired("a:\n  b: \"on\\x01e\ntwo\"\n");
    assert_eq!(problems, ["2 /a/b: invalid indentation in quoted scalar"]);
}

/// In a flow collection, a quoted scalar is folded even if its first line is indented too little as well.
#[test]
fn quoted_scalars_in_brackets_are_folded() {
    let (found, problems) = parse_repaired("a:\n  b: [\n\"one\ntwo\", 3\n]\n");
    assert_eq!(found, r#"{"a":{"b":["one two",3]}}"#, "{problems:?}");
}

/// A quoted scalar with lines that are indented too little has the same value as one with sufficiently
/// indented lines, for all kinds of line breaks.
#[test]
fn folding_matches_the_parser() {
    for quote in ['"', '\''] {
        for gap in ["\n", " \n", "\n\n", " \n \n\t\n", "\r\n", "\r\n\r\n", "\n \\\\\n"] {
            let text = |blanks: &str| format!("a:\n  b: {quote}one{gap}{blanks}two{gap}{blanks}{quote}\n");
            let (indented, problems) = parse_repaired(&text("      "));
            let (shallow, faults) = parse_repaired(&text(""));
            assert_eq!(indented, shallow, "{:?}: {problems:?}, {faults:?}", text(""));
        }
    }
}

/// A document with an unclosed quote results in no tree and in at most two problems.
#[test]
fn unterminated_quoted_scalars_are_rejected() {
    for text in ["a:\n  b: [\n  \"never ends,\n  \"nor this\n  ]\n", "a:\n  b: 'never\nends\n"] {
        let (found, problems) = parse_repaired(text);
        assert_eq!(found, "", "{text}");
        assert!(problems.len() <= 2, "{problems:?}");
    }
}

/// The number of inspected members grows linearly with the number of keys in an object, even with duplicate
/// keys and merge keys.
#[test]
fn many_keys_take_linear_time() {
    const MANY: usize = 5_000;
    let members = |letter: char| (0..MANY).map(move |index| format!("\"{letter}{index}\": 1"));
    let repeated =
        members('a').chain(vec![format!("\"a{}\": 2", MANY - 1); MANY]).collect::<Vec<_>>().join(", ");
    let members_a = members('a').collect::<Vec<_>>().join(", ");
    let members_b = members('b').chain(members('a')).collect::<Vec<_>>().join(", ");
    for (name, text) in [
        ("a.json", format!("{{{repeated}}}")),
        ("a.yaml", format!("{{{repeated}}}")),
        ("a.yaml", format!("<<: {{{members_b}}}\n{}", members_a.replace(", ", "\n"))),
    ] {
        INSPECTED_MEMBERS.set(0);
        let (_, tree, _) = decode_document(SourceId(0), name, text.as_bytes());
        assert!(tree.unwrap().members().len() >= MANY, "{name}");
        assert!(INSPECTED_MEMBERS.get() < 8 * MANY, "{name}: {} members inspected", INSPECTED_MEMBERS.get());
    }
}

/// If a key occurs twice, the member is at the position of the first and has the value of the last. Members
/// from merge keys follow the other members.
#[test]
fn the_last_duplicate_key_is_used() {
    let few = "{\"a\": 1, \"b\": 2, \"a\": 3, \"a\": 4}";
    assert_eq!(parse_repaired(few).0, r#"{"a":4,"b":2}"#);
    let (_, tree, problems) = decode_document(SourceId(0), "a.json", few.as_bytes());
    assert_eq!((tree.unwrap().to_json().to_string().as_str(), problems.len()), (r#"{"a":4,"b":2}"#, 2));
    assert_eq!(parse_repaired("b: 1\n<<: [{a: 1, b: 2}, {a: 3, c: 4}]\n").0, r#"{"b":1,"a":1,"c":4}"#);
}

#[test]
fn sources_from_texts() {
    let sources = Sources::from_texts(&[
        ("v1/a.schema.json", "", r#"{"$id": "https://x.y/a.json"}"#),
        ("v1/b c.yaml", "", "type: string"),
        ("c.json", "https://z/c.json", r#"{"$id": "d.json"}"#),
    ])
    .unwrap();
    let uris: Vec<&str> = sources.sources.iter().map(|each| each.uri.as_str()).collect();
    assert_eq!(uris, ["https://x.y/a.json", "file:///v1/b%20c.yaml", "https://z/d.json"]);
    assert_eq!(sources.find("file:///v1/a.schema.json"), Some(SourceId(0)));
    assert_eq!(sources.find("https://x.y/a.json#"), Some(SourceId(0)));
    assert_eq!(sources.find("https://z/c.json"), Some(SourceId(2)));
    assert_eq!(sources.sources[1].digest, "fa248ef0e70c38aa1786a0b3c42235329e5bb9b5fd7535fe0f60a0144608c48f");
    assert!(Sources::from_texts(&[("a.json", "", "{")]).unwrap_err().has_errors());
}

/// Creates an empty temporary folder for one test and writes the files into it.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = std::env::temp_dir().join(format!("contract-codegen-load-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    for (file, text) in files {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

#[test]
fn folders() {
    let root = folder(
        "folders",
        &[
            ("b.json", r#"{"type": "object"}"#),
            ("a/z.yaml", "openapi: 3.1.0"),
            ("a/y.yml", "$id: https://x.y/y\n"),
            ("table.json", r#"{"codes": []}"#),
            ("fixtures/x.json", r#"{"type": "object"}"#),
            (".hidden/x.json", r#"{"type": "object"}"#),
            ("notes.txt", "type: object"),
        ],
    );
    let sources = Sources::from_files(std::slice::from_ref(&root), &[]).unwrap();
    let names: Vec<&str> = sources.sources.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(names, ["a/y.yml", "a/z.yaml", "b.json"]);
    assert_eq!(sources.sources[2].uri, "file:///b.json");
    let notes: Vec<&str> = sources.notes.iter().map(|each| each.message.as_str()).collect();
    assert_eq!(notes, ["table.json is neither a schema nor an OpenAPI document"]);

    let named =
        Sources::from_files(&[root.join("table.json"), root.join("a"), root.join("a/y.yml")], &[]).unwrap();
    let names: Vec<&str> = named.sources.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(names, ["a/y.yml", "a/z.yaml", "table.json"]);

    let missing = Sources::from_files(&[root.join("nothing.json")], &[]).unwrap_err();
    assert!(missing.render(false).starts_with("error[io]: cannot read "), "{missing}");
    let empty = Sources::from_files(&[root.join("fixtures/x.json"), root.join(".hidden")], &[]).unwrap();
    assert_eq!(empty.sources.len(), 2);
    fs::remove_dir_all(&root).unwrap();
}

/// The problems of skipped files are dropped. Only the fault of an accepted file remains.
#[test]
fn skipped_files_have_no_problems() {
    let root = folder(
        "skipped",
        &[
            ("a.yaml", "kind: Service\n---\nkind: Deployment\n"),
            ("b.yaml", "base: &base {kind: x}\nmore:\n  <<: *base\n  tag: !x 1\n"),
            ("c.json", r#"{"a": 1, "a": 2}"#),
            ("d.yaml", "type: object\n"),
            ("e.yaml", "type: object\ntype: string\n"),
        ],
    );
    let sources = Sources::from_files(std::slice::from_ref(&root), &[]).unwrap();
    let names: Vec<&str> = sources.sources.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(names, ["d.yaml", "e.yaml"]);
    let notes = sources.notes.iter().map(|each| (each.code, each.place.as_ref().map(|place| place.source)));
    let expected =
        [("skipped", None), ("skipped", None), ("skipped", None), ("duplicate-key", Some(SourceId(1)))];
    assert_eq!(notes.collect::<Vec<_>>(), expected);
    fs::remove_dir_all(&root).unwrap();
}

/// An overlay finds its document by the end of the path, which distinguishes files with the same name, or by
/// the URI. After the overlay changes the `$id`, the document has the new URI only.
#[test]
fn overlays_find_their_document() {
    let root = folder(
        "overlays",
        &[
            ("in/v1/api.json", r#"{"$id": "https://x.y/old", "type": "object"}"#),
            ("in/v2/api.json", r#"{"$id": "https://x.y/v2", "type": "object"}"#),
            ("in/v2/deep/v1/api.json", r#"{"type": "object"}"#),
            ("mend.yaml", "$id: https://x.y/new\n"),
        ],
    );
    let patched_document = |document: Option<&str>| {
        let mut sources = Sources::from_files(&[root.join("in")], &[]).unwrap();
        let overlay = OverlayEntry { file: "mend.yaml".into(), document: document.map(str::to_owned) };
        let input = InputConfig { overlays: vec![overlay], ..InputConfig::default() };
        let mut problems = Diagnostics::new();
        sources.apply_overlays(&input, &root, &|_| None, &mut problems);
        assert!(sources.files().any(|path| path == root.join("mend.yaml")));
        let found = sources.find("https://x.y/new").and_then(|id| sources.get(id));
        let name = found.map(|source| source.name.clone());
        let problem = problems.iter().next().map(|problem| problem.message.clone());
        (name.or(problem).unwrap_or_default(), sources.find("https://x.y/old").is_some())
    };
    assert_eq!(patched_document(Some("v1/api.json")), ("v1/api.json".to_owned(), false));
    assert_eq!(patched_document(Some("https://x.y/old")), ("v1/api.json".to_owned(), false));
    assert_eq!(patched_document(Some("https://x.y/v2")), ("v2/api.json".to_owned(), true));
    assert_eq!(patched_document(Some("deep/v1/api.json")), ("v2/deep/v1/api.json".to_owned(), true));
    let several = "several inputs match the document `api.json` of the overlay".to_owned();
    assert_eq!(patched_document(Some("api.json")), (several, true));
    // A path or URI with the same file name but another folder matches no document.
    for other in ["v3/api.json", "https://x.y/v3/api.json"] {
        assert_eq!(
            patched_document(Some(other)).0,
            format!("no input matches the document `{other}` of the overlay")
        );
    }
    assert_eq!(patched_document(None).0, "the overlay does not name its document");
    assert_eq!(patched_document(Some("c.json")).0, "no input matches the document `c.json` of the overlay");
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn referenced_files_are_loaded_on_demand() {
    let root = folder(
        "demand",
        &[
            ("in/main.json", r#"{"$id": "https://x.y/s/in/main.json"}"#),
            ("in/other.json", r#"{"$id": "https://x.y/s/in/other.json"}"#),
            ("in/plain.schema.json", r#"{"type": "string"}"#),
            ("in/broken.json", "{"),
            ("vendor/v/a.json", r#"{"type": "string"}"#),
            ("outside.json", r#"{"type": "string"}"#),
        ],
    );
    let mounts = [
        ("https://vendor/".to_owned(), root.join("vendor")),
        ("urn:one".to_owned(), root.join("outside.json")),
    ];
    let mut sources = Sources::from_files(&[root.join("in/main.json")], &mounts).unwrap();
    let origin = SourceId(0);
    let mut load = |uri: &str| {
        let mut problems = Diagnostics::new();
        let found = sources.load_referenced(uri, origin, &mut problems);
        (
            found,
            problems.len(),
            sources.find(uri).and_then(|id| sources.get(id)).map(|source| source.name.clone()),
        )
    };
    assert_eq!(load("https://x.y/s/in/other.json"), (true, 0, Some("other.json".to_owned())));
    assert_eq!(load("file:///plain"), (true, 0, Some("plain.schema.json".to_owned())));
    assert_eq!(load("https://x.y/s/in/plain.schema.json"), (true, 0, Some("plain.schema.json".to_owned())));
    assert_eq!(load("file:///broken.json"), (true, 1, Some("broken.json".to_owned())));
    assert_eq!(load("file:///../outside.json"), (false, 0, None));
    assert_eq!(load("file:///%2e%2e/outside.json"), (false, 0, None));
    assert_eq!(load("https://x.y/s/outside.json"), (false, 0, None));
    assert_eq!(load("https://elsewhere/a.json"), (false, 0, None));
    assert_eq!(load("https://vendor/v/a"), (true, 0, Some("vendor/v/a.json".to_owned())));
    assert_eq!(load("https://vendor/v/gone"), (false, 0, None));
    assert_eq!(sources.unused_mounts().collect::<Vec<_>>(), ["urn:one"]);
    let mut problems = Diagnostics::new();
    assert!(sources.load_referenced("urn:one", origin, &mut problems) && problems.is_empty());
    assert_eq!(sources.unused_mounts().count(), 0);
    fs::remove_dir_all(&root).unwrap();
}

/// If the folder of a mount does not exist, one error is reported, not one for each reference below the
/// mount.
#[test]
fn missing_mount_is_reported_once() {
    let reference = r#"{"allOf": [{"$ref": "https://vendor/a"}, {"$ref": "https://vendor/b"}]}"#;
    let root = folder("mount", &[("a.json", reference)]);
    let mounts = [("https://vendor/".to_owned(), root.join("vendro"))];
    let problems = Sources::from_files(&[root.join("a.json")], &mounts).unwrap_err();
    let codes: Vec<&str> = problems.iter().map(|each| each.code).collect();
    assert_eq!(codes, ["mount"], "{problems}");
    assert!(problems.to_string().contains("`https://vendor/` is mounted to "), "{problems}");
    fs::remove_dir_all(&root).unwrap();
}
