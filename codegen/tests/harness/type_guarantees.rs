//! Tests of guarantees of generated types beyond parsing, validation and serialization.

use contract_runtime::{Contract, DocumentError, Json, Nullable};

use crate::{compiled, model::pairs};

fn parse<T: Contract>(text: &str) -> T {
    T::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn unknown_members_are_preserved_and_reported() {
    use compiled::refine_base::types::ShipPage;
    let text = r#"{"items":[{"id":"a","hull":"h","odd":1.50}],"hasMore":true,"total":1,"a/b":null}"#;
    let page: ShipPage = parse(text);
    assert_eq!(page.undeclared_members(9), ["/a~1b", "/items/0/odd"]);
    assert_eq!(page.undeclared_members(1).len(), 1);
    assert_eq!(page.extra.get("a/b"), Some(&Json::Null));
    assert_eq!(page.to_json().unwrap(), Json::parse(text.as_bytes()).unwrap());
    assert!(page.is_valid());
}

#[test]
fn members_of_additional_properties_are_declared() {
    let typed: compiled::additional_typed::types::Input = parse(r#"{"name":"n","a":{"value":1,"x":2}}"#);
    assert_eq!(typed.undeclared_members(9), ["/a/x"]);
    let patterns: compiled::pattern_with_properties::types::Input = parse(r#"{"x-a":"b","free":1}"#);
    assert_eq!(patterns.undeclared_members(9), ["/free"]);
}

#[test]
fn absent_null_and_value_are_distinct() {
    use compiled::tri_state::types::Input;
    let may = |text: &str| parse::<Input>(text).may;
    assert_eq!(may(r#"{"must":null}"#), None);
    assert_eq!(may(r#"{"must":null,"may":null}"#), Some(Nullable::Null));
    assert_eq!(may(r#"{"must":null,"may":3}"#), Some(Nullable::Value(3)));
    assert_eq!(parse::<Input>(r#"{"must":"a"}"#).must, Nullable::Value("a".to_owned()));
}

#[test]
fn null_is_rejected_for_optional_fields() {
    let error = compiled::optional_not_nullable::types::Input::parse(br#"{"text":null}"#).unwrap_err();
    let DocumentError::Invalid(violations) = error else { panic!("{error}") };
    assert_eq!(pairs(&violations), [("/text".to_owned(), "type".to_owned())]);
}

#[test]
fn open_enums_preserve_unknown_values() {
    use compiled::enum_open::types::{Input, InputCode};
    let code = parse::<Input>(r#"{"code":"new one"}"#).code.unwrap();
    assert_eq!((code.unknown(), code.to_string().as_str()), (Some("new one"), "new one"));
    assert_eq!(InputCode::from("A_B"), InputCode::AB);
    assert!(InputCode::ALL.contains(&InputCode::C));
    // A listed value may have the same name as the variant for unknown values.
    assert_eq!(InputCode::from("UNKNOWN").unknown(), None);
}

/// CON-12: unknown variants in responses are preserved, and validators report them.
#[test]
fn open_unions_preserve_unknown_variants() {
    use compiled::union_open::types::{Event, Input};
    let text = r#"{"events":[{"rank":1.50,"type":"promoted"}]}"#;
    let input: Input = parse(text);
    let events = input.events.as_deref().unwrap();
    assert!(matches!(events, [Event::Unknown(Json::Object(_))]), "{events:?}");
    assert!(!input.is_valid());
    assert_eq!(input.to_json().unwrap(), Json::parse(text.as_bytes()).unwrap());
}

/// An object without a tag is parsed as one of the variants whose tag is optional. Its properties select the
/// variant; if several variants declare them, validation decides. An object with a tag that no branch lists
/// is parsed as the unknown variant.
#[test]
fn objects_without_an_optional_tag_are_read_by_their_properties() {
    use compiled::union_optional_tag::types::{Category, Part, Transfer};
    let category = |text: &str| parse::<Transfer>(&format!(r#"{{"category":{text}}}"#)).category.unwrap();
    assert!(matches!(category(r#"{"priority":"fast"}"#), Category::Bank(_)));
    assert!(matches!(category(r#"{"account":"7","priority":"yesterday"}"#), Category::Internal(_)));
    assert!(matches!(category(r#"{"type":"iban","account":"7"}"#), Category::Bank(_)));
    assert!(matches!(category(r#"{"type":"internal"}"#), Category::Unknown(_)));
    assert!(matches!(category(r#"{"type":"card"}"#), Category::Unknown(_)));
    let parts = parse::<Transfer>(r#"{"parts":[{"url":"a"},{"text":"a"},{"kind":"text"}]}"#).parts.unwrap();
    assert!(matches!(parts.as_slice(), [Part::Image(_), Part::Image(_), Part::Text(_)]), "{parts:?}");
}

/// A value of one variant is valid if it matches another branch. It is invalid if it cannot be serialized.
#[test]
fn unserializable_variants_are_invalid() {
    use compiled::union_optional_tag::types::{Category, Internal};
    let internal = |extra| Category::Internal(Internal { type_: None, account: "a".to_owned(), extra });
    let twice = internal([("account".to_owned(), Json::Bool(true))].into_iter().collect());
    assert!(twice.to_json().is_err());
    assert!(!twice.is_valid());
    let both = internal([("priority".to_owned(), Json::Bool(true))].into_iter().collect());
    assert!(both.is_valid());
}

/// A value that cannot be serialized makes its container invalid, because every valid value can be
/// serialized. In the two cases of this test, the nested type itself has no constraints.
#[test]
fn unserializable_values_make_their_containers_invalid() {
    use compiled::{nullable_any_of, tri_state};
    let mut of_field: tri_state::types::Input = parse(r#"{"must":null,"inner":{"a":"b"}}"#);
    let mut of_map: nullable_any_of::types::Input = parse(r#"{"files":{"x":{"content":"b"}}}"#);
    assert!(of_field.is_valid() && of_map.is_valid());
    let twice = |name: &str| [(name.to_owned(), Json::Null)].into_iter().collect();
    let Some(Nullable::Value(inner)) = &mut of_field.inner else { panic!("{of_field:?}") };
    inner.extra = twice("a");
    let Some(Nullable::Value(file)) = of_map.files.as_mut().unwrap().get_mut("x") else {
        panic!("{of_map:?}")
    };
    file.extra = twice("content");
    let results = [of_field.validate(), of_map.validate()].map(Result::unwrap_err);
    for violations in results {
        assert_eq!(pairs(&violations), [(String::new(), "unwritable".to_owned())]);
    }
    assert!(of_field.to_json().is_err() && of_map.to_json().is_err());
}

/// `defaultMapping` applies to unknown and missing tags (OpenAPI 3.2, 4.25).
#[test]
fn unknown_tags_select_the_default_mapping() {
    use compiled::openapi_32::types::Medium;
    assert!(matches!(parse::<Medium>(r#"{"pages":3}"#), Medium::Paper(_)));
    assert!(matches!(parse::<Medium>(r#"{"kind":"scroll","pages":3}"#), Medium::Paper(_)));
    assert!(matches!(parse::<Medium>(r#"{"kind":"Disc","minutes":3}"#), Medium::Disc(_)));
    let invalid = parse::<Medium>(r#"{"kind":"scroll","pages":"many"}"#);
    assert!(matches!(&invalid, Medium::Unknown(_)) && !invalid.is_valid(), "{invalid:?}");
}

/// A value is parsed as the child that its tag selects, or otherwise as the base type.
#[test]
fn families_parse_values_as_their_children() {
    use compiled::union_family::types::Pet;
    let pet = |text: &str| parse::<Pet>(text);
    assert!(matches!(pet(r#"{"kind":"cat","lives":3}"#), Pet::Cat(_)));
    assert!(matches!(pet(r#"{"kind":"Puppy","weeks":3}"#), Pet::Puppy(_)));
    assert!(matches!(pet(r#"{"kind":"owl"}"#), Pet::Bird(_)));
    assert!(matches!(pet(r#"{"kind":"animal"}"#), Pet::Animal(_)));
    assert!(matches!(pet(r#"{"kind":"Eel"}"#), Pet::Eel(_)));
    assert!(matches!(pet(r#"{"kind":"Pet"}"#), Pet::Unknown(_)));
    assert!(matches!(pet(r#"{"kind":"cat"}"#), Pet::Unknown(_)));
    let many = pet(r#"{"kind":"cat","lives":12}"#);
    let Pet::Cat(cat) = &many else { panic!("{many:?}") };
    assert!(many.is_valid() && !cat.is_valid());
}

#[test]
fn closed_unions_reject_unknown_variants() {
    use compiled::union_closed::types::{Event, Input};
    let error = Input::parse(br#"{"events":[{"type":"promoted"}]}"#).unwrap_err();
    assert!(matches!(error, DocumentError::Invalid(_)), "{error}");
    let input: Input = parse(r#"{"events":[{"type":"left"}]}"#);
    assert!(matches!(input.events.as_deref().unwrap(), [Event::Left(_)]));
}

/// A constant is an enum with one value, so adding a second value changes neither the type of the constant
/// nor that of its field.
#[test]
fn constants_are_enums_of_one_value() {
    use compiled::const_members::types::{Input, InputVersion};
    let text = r#"{"version":"2.0","kind":"b","count":3,"on":true,"name":"n"}"#;
    let input: Input = parse(text);
    assert_eq!(input.version.unknown(), Some("2.0"));
    assert!(!input.is_valid() && InputVersion::ALL.len() == 1);
    let violations = input.validate().unwrap_err();
    assert_eq!(pairs(&violations), [("/version".to_owned(), "const".to_owned())]);
    assert_eq!(input.to_json().unwrap(), Json::parse(text.as_bytes()).unwrap());
}

#[test]
fn types_with_hashable_members_implement_eq_and_hash() {
    fn assert_hash<T: Eq + std::hash::Hash>() {}
    assert_hash::<compiled::const_members::types::Input>();
    assert_hash::<compiled::union_open::types::Event>();
    assert_hash::<compiled::recursive::types::Input>();
}

#[test]
fn secrets_are_never_printed() {
    use compiled::secrets::types::{Input, Token};
    let text = r#"{"password":"hidden-pass","token":"hidden-tok","pin":"hidden-pin","list":["hidden-a"],"maybe":"hidden-b","nullable":"hidden-c","user":"me"}"#;
    let input: Input = parse(text);
    let printed = format!("{input:?} {:#?} {:?}", input, input.token);
    assert!(!printed.contains("hidden") && printed.contains("me"), "{printed}");
    let token = Token::new("hidden-tok").unwrap();
    assert_eq!(format!("{token} {token:?}").matches("hidden").count(), 0);
    assert_eq!((token.expose(), input.password.expose().as_str()), ("hidden-tok", "hidden-pass"));
    let builder = Input::builder().password("hidden".to_owned()).token(token);
    assert!(!format!("{builder:?}").contains("hidden"), "{builder:?}");
    // The serialized form contains the secrets.
    assert_eq!(input.to_json().unwrap(), Json::parse(text.as_bytes()).unwrap());
}

/// The `Debug` output hides the content of unknown variants. A value that cannot be parsed as its known variant
/// becomes `Unknown`, with its secrets as plain JSON.
#[test]
fn unknown_variants_do_not_print_secrets() {
    use compiled::secrets_union::types::{Either, Event, Own, Step};
    let event: Event = parse(r#"{"kind":"opened","token":"s3cr3t","count":"x"}"#);
    assert!(matches!(event, Event::Unknown(_)));
    assert_eq!(format!("{event:?}"), r#"Unknown { kind: "opened", .. }"#);
    let step: Step = parse(r#"{"do":"go","with":[{"kind":"opened","token":"s3cr3t"}]}"#);
    assert_eq!(format!("{step:?}"), r#"Unknown { do: "go", .. }"#);
    let known = parse::<Step>(r#"{"do":"wait","then":[{"kind":"opened","token":"s3cr3t","count":7}]}"#);
    // These secrets are in a narrowing schema, in branches, in conditions and in items.
    let own: Own = parse(r#""s3cr3t""#);
    let either: Either = parse(r#"{"key":"s3cr3t","codes":["s3cr3t"],"late":"s3cr3t"}"#);
    let printed = format!("{known:?} {own:?} {either:?}");
    assert!(!printed.contains("s3cr3t") && printed.contains("Some(7)"), "{printed}");
}

#[test]
fn builders_report_missing_and_invalid_fields() {
    use compiled::tri_state::types::Input;
    let missing = Input::builder().build().unwrap_err();
    assert_eq!(pairs(&missing), [("/must".to_owned(), "required".to_owned())]);
    let wrong = Input::builder().must(Nullable::Null).may(9).build().unwrap_err();
    assert_eq!(pairs(&wrong), [("/may".to_owned(), "maximum".to_owned())]);
    let null =
        Input::builder().must(Nullable::Null).may(Nullable::Null).list(Nullable::Null).build().unwrap();
    assert_eq!(null.to_json().unwrap(), Json::parse(br#"{"must":null,"may":null,"list":null}"#).unwrap());
}

#[test]
fn builders_fill_in_constants() {
    use compiled::const_members::types::{Input, Kind};
    let built = Input::builder().name("n".to_owned()).build().unwrap();
    assert_eq!(
        (built.version.as_str(), built.kind, built.count, built.on, built.off),
        ("1.0", Kind::B, 3, true, None)
    );
}

#[test]
fn unrepresentable_integers_have_their_own_error() {
    let error =
        compiled::number_whole::types::Input::parse(br#"{"list":[1, 9223372036854775808]}"#).unwrap_err();
    let is_at = |expected| matches!(&error, DocumentError::Unrepresentable { pointer, line: 1, .. } if pointer == expected);
    assert!(is_at("/list/1"), "{error:?}");
}

/// A valid integer outside of the type of its format does not wrap, and its location is reported. The tables
/// accept it.
#[test]
fn integers_outside_of_a_machine_type_are_unrepresentable() {
    use compiled::number_machine::types::Input;
    for (member, pointer) in [
        (r#""signed":2147483648"#, "/signed"),
        (r#""signed":-2147483649.0"#, "/signed"),
        (r#""unsigned":-1"#, "/unsigned"),
        (r#""unsigned":4294967296"#, "/unsigned"),
        (r#""large":-1"#, "/large"),
        (r#""long":9223372036854775808"#, "/long"),
        (r#""text":2147483648"#, "/text"),
        (r#""list":[0,4294967295,-7]"#, "/list/2"),
        (r#""by":{"a":-1,"b":1e10}"#, "/by/b"),
    ] {
        let signed = if pointer == "/signed" { "" } else { r#""signed":1,"# };
        let text = format!(r#"{{{signed}{member},"fixed":3}}"#);
        Input::VALIDATOR
            .validate(&Json::parse(text.as_bytes()).unwrap())
            .unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let error = Input::parse(text.as_bytes()).unwrap_err();
        let is_at = matches!(&error, DocumentError::Unrepresentable { pointer: at, .. } if at == pointer);
        assert!(is_at, "{text}: {error:?}");
    }
    let read = Input::parse_valid(br#"{"signed":7.0,"fixed":3e0,"unsigned":3e9}"#).unwrap();
    let types: (i32, Option<u32>, u64, Option<i64>) = (read.signed, read.unsigned, read.fixed, read.beyond);
    assert_eq!(types, (7, Some(3_000_000_000), 3, None));
    assert_eq!(read.to_json().unwrap().to_string(), r#"{"signed":7,"fixed":3,"unsigned":3000000000}"#);
    assert_eq!(Input::builder().signed(1).build().unwrap().fixed, 3);
}

/// Integers of an inline `enum` have a type with constants, which converts from integers and strings and keeps
/// other values when it is parsed.
#[test]
fn inline_integer_enums_have_constants() {
    use compiled::enum_integers::types::{Input, InputLevel, InputMaybe, InputSky};
    let input = Input::parse(br#"{"level":7,"sky":18,"maybe":2}"#).unwrap();
    assert!(!input.is_valid() && input.level.get() == 7 && input.sky == Some(InputSky::HeavyRain));
    assert_eq!(input.maybe, Some(Nullable::Value(InputMaybe::VALUE_2)));
    assert_eq!(input.to_json().unwrap().to_string(), r#"{"level":7,"sky":18,"maybe":2}"#);
    assert_eq!(Input::new(InputLevel::VALUE_MINUS_2).sky_or_default(), InputSky::HeavyRain);
    assert_eq!(InputLevel::ALL, [InputLevel::VALUE_1, InputLevel::VALUE_MINUS_2, InputLevel::VALUE_30]);
    assert_eq!(
        ("-2".parse(), InputLevel::try_from(30)),
        (Ok(InputLevel::VALUE_MINUS_2), Ok(InputLevel::VALUE_30))
    );
    assert!("2".parse::<InputLevel>().is_err() && "x".parse::<InputLevel>().is_err());
    assert!(InputLevel::try_from(2).is_err() && InputLevel::VALUE_30.to_string() == "30");
    assert_eq!(InputSky::ALL, [InputSky::Sunny, InputSky::HeavyRain]);
    assert_eq!((InputSky::from(42), "18".parse()), (InputSky::Sunny, Ok(InputSky::HeavyRain)));
    let unlisted = InputSky::from(7);
    assert_eq!((unlisted.get(), unlisted.unknown(), unlisted.to_string()), (7, Some(7), "7".to_owned()));
    assert!(!unlisted.is_known() && !unlisted.is_valid() && InputSky::HeavyRain < InputSky::Sunny);
    assert!(matches!(InputSky::parse(b"7"), Ok(InputSky::Unknown(7))));
}

/// A member that only one branch declares may have any value if another branch matches. The type can hold
/// every such document.
#[test]
fn members_of_one_branch_are_unrestricted_in_others() {
    let text = r#"{"radius":1,"width":"wide"}"#;
    let read = compiled::union_superset::types::Input::parse_valid(text.as_bytes()).unwrap();
    assert_eq!(read.to_json().unwrap().to_string(), text);
}

#[test]
fn unions_convert_from_their_variants() {
    use compiled::mutually_recursive::types::{Expression, Literal};
    let literal: Literal = parse(r#"{"kind":"literal","value":1.0}"#);
    let expression = Expression::from(literal);
    assert_eq!(expression.to_json().unwrap().to_string(), r#"{"kind":"literal","value":1.0}"#);
}

#[test]
fn duplicate_members_are_rejected() {
    for text in [r#"{"text":"a","text":"a"}"#, r#"{"x":1,"x":2}"#] {
        let result = compiled::optional_not_nullable::types::Input::parse(text.as_bytes());
        assert!(matches!(result, Err(DocumentError::NotJson(_))), "{result:?}");
    }
}

#[test]
fn replaced_types_are_used() {
    use crate::outside::Temperature;
    let input: compiled::replaced::types::Input =
        parse(r#"{"temperature":"21 °C","outside":null,"inline":"x"}"#);
    assert_eq!(input.temperature, Temperature("21 °C".to_owned()));
    assert_eq!(input.outside, Some(Nullable::Null));
    assert_eq!(input.inline, Some(Temperature("x".to_owned())));
}

#[test]
fn numbers_preserve_their_spelling() {
    let input: compiled::number_decimals::types::Input = parse(r#"{"price":1.10,"tenth":1e0}"#);
    assert_eq!(input.to_json().unwrap().to_string(), r#"{"price":1.10,"tenth":1e0}"#);
}

#[test]
fn names_from_the_configuration_are_used() {
    use compiled::names_by_config::types::{Choice, Inner, Outer, Renamed};
    let outer: Outer = parse(r#"{"a":"r","b":{"c":"x"}}"#);
    let (renamed, inner): (Option<Renamed>, Option<Inner>) = (outer.a, outer.b);
    assert_eq!((renamed.unwrap().as_str(), inner.unwrap().c), ("r", Some(Choice::X)));
}
