//! Tests that indexed text is deserialized with the same results as by `serde_json`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::*;

#[derive(Debug, PartialEq, Deserialize)]
enum Choice {
    Unit,
    One(Vec<i32>),
    Two(i32, String),
    Named { a: Option<bool> },
}

#[derive(Debug, PartialEq, Deserialize)]
struct Named {
    a: Option<Box<Named>>,
    #[serde(default)]
    b: Vec<(u8, f64)>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Newtype(i128);

#[derive(Debug, PartialEq, Deserialize)]
struct Nothing;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Any {
    Number(i64),
    Text(char),
    Named(Named),
    Rest(serde_json::Value),
}

const TEXTS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-1",
    "12.5e3",
    "18446744073709551615",
    "-170141183460469231731687303715884105728",
    r#""""#,
    r#""x""#,
    r#""Unit""#,
    r#""a \" \\ \u00e9 ]}""#,
    "[]",
    "[ ]",
    "{}",
    "{ }",
    "[1]",
    r#"[1, "]", {"a": [ ] }, [[], [2]], null, "\"" ]"#,
    "[[1, 2.5],[3,4]]",
    "[1,2,3]",
    r#"{"One":[1,2]}"#,
    r#"{"Two":[1,"b"]}"#,
    r#"{"Two":[1]}"#,
    r#"{"Named":{"a":null}}"#,
    r#"{"Named":{"a":true},"Unit":null}"#,
    r#"{"a":null}"#,
    r#"{"a":{"a":{"a":null,"b":[[1,2],[3,4.0]]}},"b":[]}"#,
    "{\n\t\"a\" : null ,\r\n \"b\" : [ [ 1 , 2 ] ] }",
    r#"{"a":1,"a":2}"#,
    r#"{"\u0061":null,"b":[[0,0]],"more":{"x":[{},[]]}}"#,
    r#"[null, {"a":null}]"#,
];

/// Deserializes with the index and with `serde_json`, and compares the results without positions, which only
/// `serde_json` reports.
fn check<'de, T: Deserialize<'de> + PartialEq + Debug>(text: &'de str) {
    let described = |error: Error| crate::read::describe_error(&error);
    let expected = serde_json::from_str::<T>(text).map_err(described);
    assert_eq!(read_indexed(text, PhantomData::<T>).map_err(described), expected, "{text}");
}

#[test]
fn every_type_parses_the_same_with_an_index() {
    for text in TEXTS {
        check::<serde_json::Value>(text);
        check::<bool>(text);
        check::<u64>(text);
        check::<i8>(text);
        check::<f64>(text);
        check::<char>(text);
        check::<String>(text);
        check::<Cow<'_, str>>(text);
        check::<()>(text);
        check::<Nothing>(text);
        check::<Newtype>(text);
        check::<Choice>(text);
        check::<Any>(text);
        check::<Named>(text);
        check::<Option<Vec<Option<serde_json::Value>>>>(text);
        check::<Vec<Choice>>(text);
        check::<BTreeMap<String, serde_json::Value>>(text);
        check::<(u8, u8)>(text);
        check::<[serde_json::Value; 2]>(text);
        let raw = |text| read_indexed(text, PhantomData::<Box<RawValue>>).unwrap();
        assert_eq!(raw(text).get(), *text);
        let raw = |text| {
            read_indexed(text, PhantomData::<Vec<&RawValue>>)
                .map(|all| all.iter().map(|one| one.get()).collect::<Vec<_>>())
        };
        let expected = serde_json::from_str::<Vec<&RawValue>>(text).ok();
        assert_eq!(raw(text).ok(), expected.map(|all| all.iter().map(|one| one.get()).collect()), "{text}");
    }
}

/// The index requires valid JSON. Invalid text produces an error and no panic.
#[test]
fn invalid_json_is_an_error() {
    for text in
        ["", "[", "{", "[1", r#"{"a"#, r#"{"a""#, r#"{"a":"#, r#"{"a":["#, "[[]", r#"["a"#, "x", r#""a"#]
    {
        assert!(read_indexed(text, PhantomData::<serde_json::Value>).is_err(), "{text}");
    }
}

#[test]
fn the_previous_index_is_restored() {
    struct Within(&'static str);
    impl<'de> DeserializeSeed<'de> for Within {
        type Value = ();
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            let text = super::super::read_raw_text(deserializer)?;
            assert!(is_indexed(&text) && !is_indexed(self.0));
            assert!(read_indexed(self.0, PhantomData::<Vec<Vec<u8>>>).is_ok());
            assert!(read_indexed("[x]", PhantomData::<Vec<u8>>).is_err());
            assert!(is_indexed(&text) && !is_indexed(self.0));
            let Cow::Borrowed(text) = text else { panic!("copied") };
            assert!(read_indexed(text, PhantomData::<Vec<Vec<u8>>>).is_ok());
            Ok(())
        }
    }
    let text = "[[1],[2]]".to_owned();
    read_indexed(&text, Within("[[3],[]]")).unwrap();
    assert!(!is_indexed(&text));
}
