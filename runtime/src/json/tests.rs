//! Tests of the parser against tables and `serde_json`, and tests of pointers, equality and printing.

use std::collections::HashSet;

use serde_json::Value;

use super::*;
use crate::number::tests::Random;

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn parse_error(text: &[u8]) -> JsonError {
    match Json::parse(text) {
        Ok(_) => panic!("{} was accepted", String::from_utf8_lossy(text)),
        Err(error) => error,
    }
}

#[test]
fn fits_four_words() {
    assert_eq!(size_of::<Json>(), 32);
}

#[test]
fn accepts_valid_documents() {
    let cases = [
        ("null", "null"),
        (" true ", "true"),
        ("\t\r\n false\n", "false"),
        ("0", "0"),
        ("-0", "-0"),
        ("12.30", "12.30"),
        ("1E400", "1E400"),
        ("[]", "[]"),
        ("[ ]", "[]"),
        ("{}", "{}"),
        ("{ }", "{}"),
        ("[1 , 2,3 ]", "[1,2,3]"),
        ("[[],[[]],{}]", "[[],[[]],{}]"),
        (r#"{"b":1 , "a" : [null]}"#, r#"{"b":1,"a":[null]}"#),
        (r#"{"":0}"#, r#"{"":0}"#),
        (r#"{"a":1,"A":2}"#, r#"{"a":1,"A":2}"#),
        (r#""""#, r#""""#),
        (r#""ä€😀""#, r#""ä€😀""#),
        (r#""\u00e4\u20AC\ud83d\uDE00""#, r#""ä€😀""#),
        (r#""\"\\\/\b\f\n\r\t""#, r#""\"\\/\b\f\n\r\t""#),
        (r#""\u0000\u001f\u007f""#, "\"\\u0000\\u001f\u{7f}\""),
        ("\"\u{2028}\u{FEFF}\"", "\"\u{2028}\u{FEFF}\""),
        (r#""\uFFFF\uE000\uD7FF""#, "\"\u{FFFF}\u{E000}\u{D7FF}\""),
        (r#""\\u0041""#, r#""\\u0041""#),
    ];
    for (text, printed) in cases {
        let value = json(text);
        assert_eq!(value.to_string(), printed);
        assert_eq!(serde_json::to_string(&value).unwrap(), printed);
        assert!(serde_json::from_str::<Json>(text).unwrap().strict_eq(&value));
        assert!(json(printed).strict_eq(&value));
        assert_eq!(text.parse::<Json>().unwrap(), value);
    }
}

#[test]
fn rejects_invalid_documents() {
    use JsonErrorKind::*;
    let cases: &[(&[u8], JsonErrorKind, usize, &str)] = &[
        (b"", UnexpectedEnd, 0, ""),
        (b"  ", UnexpectedEnd, 2, ""),
        (b"\xEF\xBB\xBF1", ByteOrderMark, 0, ""),
        (b"\xFF", NotUtf8, 0, ""),
        (b"\"\xC3\"", NotUtf8, 1, ""),
        (b"\"\xED\xA0\x80\"", NotUtf8, 1, ""),
        (b"\"\xC0\x80\"", NotUtf8, 1, ""),
        (b"nul", UnexpectedEnd, 3, ""),
        (b"nulL", UnexpectedCharacter, 3, ""),
        (b"True", UnexpectedCharacter, 0, ""),
        (b"NaN", UnexpectedCharacter, 0, ""),
        (b"Infinity", UnexpectedCharacter, 0, ""),
        (b"+1", UnexpectedCharacter, 0, ""),
        (b".5", UnexpectedCharacter, 0, ""),
        (b"'a'", UnexpectedCharacter, 0, ""),
        (b"//", UnexpectedCharacter, 0, ""),
        (b"\x0C1", UnexpectedCharacter, 0, ""),
        ("\u{A0}1".as_bytes(), UnexpectedCharacter, 0, ""),
        (b"01", InvalidNumber, 0, ""),
        (b"-", InvalidNumber, 0, ""),
        (b"1.", InvalidNumber, 0, ""),
        (b"1e", InvalidNumber, 0, ""),
        (b"[1-2]", InvalidNumber, 1, "/0"),
        (b"0x1", TrailingCharacters, 1, ""),
        (b"1 2", TrailingCharacters, 2, ""),
        (b"nullnull", TrailingCharacters, 4, ""),
        (b"[]]", TrailingCharacters, 2, ""),
        (b"{}x", TrailingCharacters, 2, ""),
        (b"1\0", TrailingCharacters, 1, ""),
        (b"[", UnexpectedEnd, 1, "/0"),
        (b"[1", UnexpectedEnd, 2, ""),
        (b"[1,", UnexpectedEnd, 3, "/1"),
        (b"[1,]", UnexpectedCharacter, 3, "/1"),
        (b"[,1]", UnexpectedCharacter, 1, "/0"),
        (b"[1 2]", UnexpectedCharacter, 3, ""),
        (b"[1}", UnexpectedCharacter, 2, ""),
        (b"]", UnexpectedCharacter, 0, ""),
        (b"{", UnexpectedEnd, 1, ""),
        (b"{\"a\"", UnexpectedEnd, 4, ""),
        (b"{\"a\":", UnexpectedEnd, 5, "/a"),
        (b"{\"a\":1", UnexpectedEnd, 6, ""),
        (b"{\"a\":1,", UnexpectedEnd, 7, ""),
        (b"{\"a\":1,}", UnexpectedCharacter, 7, ""),
        (b"{\"a\" 1}", UnexpectedCharacter, 5, ""),
        (b"{a:1}", UnexpectedCharacter, 1, ""),
        (b"{1:1}", UnexpectedCharacter, 1, ""),
        (b"{,}", UnexpectedCharacter, 1, ""),
        (b"{\"a\":1]", UnexpectedCharacter, 6, ""),
        (b"\"", UnexpectedEnd, 1, ""),
        (b"\"a", UnexpectedEnd, 2, ""),
        (b"\"\\", UnexpectedEnd, 2, ""),
        (b"\"\\u12", UnexpectedEnd, 5, ""),
        (b"\"\\u12G4\"", InvalidEscape, 1, ""),
        (b"\"\\u+123\"", InvalidEscape, 1, ""),
        (b"\"a\\x\"", InvalidEscape, 2, ""),
        (b"\"\\'\"", InvalidEscape, 1, ""),
        (b"\"\\U0041\"", InvalidEscape, 1, ""),
        ("\"\\u00é0\"".as_bytes(), InvalidEscape, 1, ""),
        (b"\"\\uD800\"", LoneSurrogate, 1, ""),
        (b"\"\\uDC00\"", LoneSurrogate, 1, ""),
        (b"\"\\uD800\\n\"", LoneSurrogate, 1, ""),
        (b"\"\\uD800x\"", LoneSurrogate, 1, ""),
        (b"\"\\uD800\\uD800\"", LoneSurrogate, 1, ""),
        (b"\"\\uD800\\u0041\"", LoneSurrogate, 1, ""),
        (b"\"\\uDC00\\uD800\"", LoneSurrogate, 1, ""),
        (b"\"\\uD800\\u00", UnexpectedEnd, 11, ""),
        (b"\"a\nb\"", ControlCharacter, 2, ""),
        (b"\"\0\"", ControlCharacter, 1, ""),
        (b"{\"a\tb\":1}", ControlCharacter, 3, ""),
        (b"{\"a\":1,\"a\":1}", DuplicateMember, 7, "/a"),
        (b"{\"a\":1,\"\\u0061\":2}", DuplicateMember, 7, "/a"),
        (b"[0,{\"x\":{\"a/b~c\":1,\"a/b~c\":1}}]", DuplicateMember, 19, "/1/x/a~1b~0c"),
    ];
    for (text, kind, offset, pointer) in cases {
        let error = parse_error(text);
        let shown = String::from_utf8_lossy(text);
        assert_eq!((error.kind, error.offset, error.pointer.as_str()), (*kind, *offset, *pointer), "{shown}");
        assert!(serde_json::from_slice::<Json>(text).is_err(), "{shown}");
    }
}

#[test]
fn errors_have_positions_but_no_data() {
    let error = parse_error("{\n \"geheim\": [\"ä€\", tru€]}".as_bytes());
    assert_eq!((error.line, error.column, error.pointer.as_str()), (2, 22, "/geheim/1"));
    assert_eq!(error.to_string(), "unexpected character at line 2, column 22");
    let error = serde_json::from_str::<Json>(r#"{"geheim": 1, "geheim": 2}"#).unwrap_err().to_string();
    assert!(error.starts_with("duplicate member") && !error.contains("geheim"), "{error}");
}

#[test]
fn limits_depth() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}"), (r#"[{"a":"#, "}]")] {
        let levels = |count: usize| format!("{}1{}", open.repeat(count), close.repeat(count));
        let pair = open.len() == 6;
        let max_levels = if pair { depth::DEFAULT_DEPTH / 2 } else { depth::DEFAULT_DEPTH };
        assert_eq!(json(&levels(max_levels)).to_string(), levels(max_levels));
        assert_eq!(parse_error(levels(max_levels + 1).as_bytes()).kind, JsonErrorKind::TooDeep);
        // Custom limits apply, both below the capacity of an ordinary stack and far above it.
        for bound in [6, 2_000] {
            let within =
                |text: String| Json::parse_with_depth(text.as_bytes(), bound).map_err(|error| error.kind);
            let max_levels = if pair { bound / 2 } else { bound };
            assert_eq!(within(levels(max_levels)).map(|json| json.to_string()), Ok(levels(max_levels)));
            assert_eq!(within(levels(max_levels + 1)), Err(JsonErrorKind::TooDeep));
        }
    }
    let error = parse_error(&b"[".repeat(1_000_000));
    assert_eq!((error.kind, error.offset), (JsonErrorKind::TooDeep, depth::DEFAULT_DEPTH));
    assert!(serde_json::from_str::<Json>(&"[".repeat(100_000)).is_err());
    assert!(serde_json::from_str::<Json>(&format!("{}{}", "[".repeat(200), "]".repeat(200))).is_err());
}

#[test]
fn large_objects_are_not_quadratic() {
    let members: Vec<String> = (0..100_000).map(|n| format!("\"{n}\":{n}")).collect();
    let value = json(&format!("{{{}}}", members.join(",")));
    assert_eq!(value.pointer("/99999"), Some(&99_999.into()));
    let repeated = format!("{{{},\"7\":0}}", members.join(","));
    assert_eq!(parse_error(repeated.as_bytes()).kind, JsonErrorKind::DuplicateMember);
}

/// Returns a random document whose numbers `serde_json` represents exactly.
fn document(random: &mut Random, depth: u64) -> Json {
    match random.below(if depth == 0 { 5 } else { 7 }) {
        0 => Json::Null,
        1 => Json::Bool(random.below(2) == 0),
        2 => (random.next() as i64 >> random.below(64)).into(),
        3 => Json::Number(Number::from_decimal(
            random.below(2_000_000) as i64 - 1_000_000,
            1 + random.below(4) as u8,
        )),
        4 => Json::String(text(random)),
        5 => Json::Array((0..random.below(5)).map(|_| document(random, depth - 1)).collect()),
        _ => {
            Json::Object((0..random.below(30)).map(|_| (text(random), document(random, depth - 1))).collect())
        }
    }
}

fn text(random: &mut Random) -> String {
    let alphabet = ['a', 'b', '"', '\\', '/', '\n', '\u{1}', '\u{7f}', 'ä', '€', '😀', ' '];
    (0..random.below(6)).map(|_| alphabet[random.below(alphabet.len() as u64) as usize]).collect()
}

#[test]
fn agrees_with_serde_json_on_random_documents() {
    let mut random = Random(42);
    for _ in 0..3000 {
        let value = document(&mut random, 3);
        let text = value.to_string();
        assert_eq!(serde_json::to_string(&value).unwrap(), text);
        assert!(json(&text).strict_eq(&value), "{text}");
        let reference: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(Json::from(value.to_value()), value, "{text}");
        assert_eq!(Json::from(&reference), value, "{text}");
        assert_eq!(Json::from(reference.clone()), value, "{text}");
        let pretty = serde_json::to_vec_pretty(&reference).unwrap();
        assert_eq!(Json::parse(&pretty).unwrap(), value, "{text}");
        assert_eq!(serde_json::from_value::<Json>(reference).unwrap(), value, "{text}");
    }
}

#[test]
fn agrees_with_serde_json_on_damaged_documents() {
    let mut random = Random(7);
    for _ in 0..20_000 {
        let mut bytes = document(&mut random, 2).to_string().into_bytes();
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(3) {
            0 => bytes.truncate(at),
            1 => bytes[at] = b"{}[]\",:\\ue1-.x\x01\xC3"[random.below(16) as usize],
            _ => bytes.insert(at, b"{}[]\",:\\ue1-.x\x01\xC3"[random.below(16) as usize]),
        }
        let shown = String::from_utf8_lossy(&bytes);
        match (Json::parse(&bytes), serde_json::from_slice::<Value>(&bytes)) {
            (Ok(own), Ok(reference)) => {
                // The float that `serde_json` parses may differ from the nearest float in the last digit.
                assert_eq!(rounded(&own), rounded(&Json::from(reference)), "{shown}");
            }
            (Err(_), Err(_)) => {}
            // This parser is stricter than `serde_json` for some inputs, and others exceed the range of
            // `f64`.
            (Err(error), Ok(_)) => {
                assert_eq!(error.kind, JsonErrorKind::DuplicateMember, "{shown}")
            }
            (Ok(_), Err(error)) => {
                assert!(error.to_string().contains("number out of range"), "{shown}: {error}")
            }
        }
    }
}

/// Rounds all numbers to a few digits, so that differences in the last digit of a float do not matter.
fn rounded(value: &Json) -> Json {
    match value {
        Json::Number(number) => Json::from(format!("{:.9e}", number.to_f64())),
        Json::Array(items) => Json::Array(items.iter().map(rounded).collect()),
        Json::Object(members) => members
            .iter()
            .map(|(name, value)| (name.to_owned(), rounded(value)))
            .collect::<JsonObject>()
            .into(),
        other => other.clone(),
    }
}

#[test]
fn follows_pointers() {
    // The examples of RFC 6901, 5 are resolved.
    let value = json(
        r#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8,"~1":9}"#,
    );
    let cases = [
        ("", Some(value.to_string())),
        ("/foo", Some(r#"["bar","baz"]"#.to_owned())),
        ("/foo/0", Some(r#""bar""#.to_owned())),
        ("/", Some("0".to_owned())),
        ("/a~1b", Some("1".to_owned())),
        ("/c%d", Some("2".to_owned())),
        ("/e^f", Some("3".to_owned())),
        ("/g|h", Some("4".to_owned())),
        ("/i\\j", Some("5".to_owned())),
        ("/k\"l", Some("6".to_owned())),
        ("/ ", Some("7".to_owned())),
        ("/m~0n", Some("8".to_owned())),
        ("/~01", Some("9".to_owned())),
        ("foo", None),
        ("/foo/2", None),
        ("/foo/00", None),
        ("/foo/01", None),
        ("/foo/-", None),
        ("/foo/+1", None),
        ("/foo/", None),
        ("/foo/0/0", None),
        ("/foo/99999999999999999999999", None),
        ("/m~n", None),
        ("/m~2n", None),
        ("/m~", None),
        ("/m~é", None),
        ("/nothing", None),
    ];
    for (pointer, expected) in cases {
        assert_eq!(value.pointer(pointer).map(Json::to_string), expected, "{pointer}");
    }
}

#[test]
fn compares_by_value_and_strictly() {
    let cases = [
        ("1", "1.0", true, false),
        ("1.0", "1.0", true, true),
        ("[1,2]", "[2,1]", false, false),
        (r#"{"a":1,"b":[2]}"#, r#"{"b":[2],"a":1}"#, true, true),
        (r#"{"a":1,"b":[2]}"#, r#"{"b":[2.0],"a":1}"#, true, false),
        (r#"{"a":1}"#, r#"{"a":1,"b":1}"#, false, false),
        (r#"{"a":null}"#, "{}", false, false),
        ("[]", "{}", false, false),
        ("\"1\"", "1", false, false),
        ("0", "false", false, false),
        ("\"\\u0061\"", "\"a\"", true, true),
    ];
    for (a, b, equal, strictly) in cases {
        let (a, b) = (json(a), json(b));
        assert_eq!((a == b, a.strict_eq(&b)), (equal, strictly), "{a} {b}");
        assert_eq!(HashSet::from([a.clone(), b.clone()]).len(), if equal { 1 } else { 2 }, "{a} {b}");
    }
}

#[test]
fn accessors_match_the_type() {
    let kinds = [
        JsonType::Null,
        JsonType::Boolean,
        JsonType::Number,
        JsonType::String,
        JsonType::Array,
        JsonType::Object,
    ];
    let values =
        [Json::Null, true.into(), 1.into(), "a".into(), vec![Json::Null].into(), JsonObject::new().into()];
    for (kind, value) in kinds.into_iter().zip(values) {
        assert_eq!(value.json_type(), kind);
        assert_eq!(JsonType::from_json_text(&value.to_string()), kind);
        let is = [
            value.is_null(),
            value.as_bool().is_some(),
            value.as_number().is_some(),
            value.as_str().is_some(),
            value.as_array().is_some(),
            value.as_object().is_some(),
        ];
        assert_eq!(is, kinds.map(|other| other == kind), "{kind}");
    }
}

#[test]
fn conversion_to_serde_json_loses_only_what_is_documented() {
    let cases = [
        ("12.30", "12.3"),
        ("1e2", "100"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "18446744073709552000.0"),
        ("1e400", "null"),
    ];
    for (text, expected) in cases {
        let reference: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(json(text).to_value(), reference, "{text}");
    }
    let integer = Json::from(serde_json::json!(u64::MAX));
    assert_eq!(integer.to_string(), "18446744073709551615");
}

/// A deeply nested value can be used on the caller's stack, even if the parser needed a larger stack.
#[test]
fn deep_values_are_usable_on_the_current_stack() {
    let levels = |count: usize| "[".repeat(count) + &"]".repeat(count);
    let million = Json::parse_with_depth(levels(1_000_000).as_bytes(), 1_000_000);
    assert_eq!(million.unwrap_err().kind, JsonErrorKind::TooDeep);
    let text = levels(depth::MAX_DEPTH);
    let deepest = Json::parse_with_depth(text.as_bytes(), usize::MAX).unwrap();
    let copy = deepest.clone();
    assert!(copy == deepest && copy.strict_eq(&deepest));
    assert_eq!(copy.to_string(), text);
    assert!(format!("{deepest:?}").len() > text.len());
}

/// Member names round-trip, even if there are more distinct names than slots in the name cache, and even if
/// the capacity of an object is derived from an object of a different size.
#[test]
fn member_names_round_trip() {
    let mut names: Vec<String> = (0..200_u32).map(|at| format!("n{}", at * at)).collect();
    names.extend(["", "a", "ab", "ba", "a\u{e4}", "\"", "\n", "aa"].map(str::to_owned));
    let values = |count: usize, first: usize| {
        let of = |at: usize| (names[(first + at) % names.len()].clone(), Json::from(at as i64));
        Json::Object((0..count).map(of).collect())
    };
    let objects: Vec<Json> = (0..600).map(|at| values([1, 7, 2, 40, 0, 5][at % 6], at * 3)).collect();
    let document = Json::Array(objects);
    assert_eq!(Json::parse(document.to_string().as_bytes()), Ok(document.clone()));
    let twice = document.to_string().replace("\"n4\"", "\"n1\"");
    assert!(Json::parse(twice.as_bytes()).is_err_and(|error| error.kind == JsonErrorKind::DuplicateMember));
}
