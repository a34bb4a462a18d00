//! Tests of formats with Rust types in the compiled case `formats`.

use contract_runtime::{
    Contract, Json,
    json_schema::SchemaGenerator,
    parameters::{ParameterReader, QueryPairs},
    violation::Violation,
};

use proptest::test_runner::TestRunner;

use crate::{
    apis::formats::{
        formats::{Byte, DateTime, Uuid, XSku},
        operations::OperationId,
        strategies::ValueStrategies as _,
        types::Booking,
    },
    outside::Sku,
};

const ODD: &str = r#"{"id":"none","at":"2026-01-01t12:00:00.500+02:00"}"#;

/// A string that cannot be parsed is preserved and reported with its pointer, and other fields are not
/// affected.
#[test]
fn unparsable_strings_are_preserved_and_reported() {
    let booking = Booking::parse(ODD.as_bytes()).unwrap();
    assert_eq!(booking.id.0.get(), None);
    assert_eq!(booking.id.0.as_str(), "none");
    assert_eq!(booking.at.get().unwrap().to_string(), "2026-01-01T10:00:00.5Z");
    assert_eq!(booking.to_json().unwrap().to_string(), ODD);
    assert!(!booking.is_valid());
    let violations = booking.validate().unwrap_err().into_vec();
    let found: Vec<_> = violations.iter().map(|each| (each.pointer.as_str(), each.keyword)).collect();
    assert_eq!(found, [("/id", "format")]);
}

#[test]
fn values_and_strings_convert_to_each_other() {
    let id = uuid::Uuid::from_u128(7);
    assert_eq!(Uuid::from(id).as_str(), "00000000-0000-0000-0000-000000000007");
    assert_eq!(Uuid::new(&id).into_value(), Some(id));
    assert_eq!("00000000-0000-0000-0000-000000000007".parse::<Uuid>().unwrap(), Uuid::new(&id));
    assert!("7".parse::<Uuid>().is_err());
    assert_eq!(Byte::new(&b"foob".to_vec()), "Zm9vYg==");
    assert_eq!(XSku::new(&Sku(17)), "S-17");
    let at = DateTime::parse("2026-01-01T00:00:00Z");
    assert_eq!(format!("{at:?} {at}"), "DateTime(\"2026-01-01T00:00:00Z\") 2026-01-01T00:00:00Z");
}

/// Two spellings of one value are equal and have the same hash. Strings without a value are compared as
/// strings.
#[test]
fn formats_are_compared_by_value() {
    use std::{collections::HashSet, hash::Hash};

    fn check<T: Eq + Hash>(one: T, other: T, is_equal: bool) {
        assert_eq!(one == other, is_equal);
        assert_eq!(HashSet::from([one, other]).len(), if is_equal { 1 } else { 2 });
    }
    let id = Uuid::parse("2eb8aa08-aa98-11ea-b4aa-73b441d16380");
    check(id.clone(), Uuid::parse("2EB8AA08-AA98-11EA-B4AA-73B441D16380"), true);
    check(id.clone(), Uuid::parse("2eb8aa08-aa98-11ea-b4aa-73b441d16381"), false);
    check(id, Uuid::parse("none"), false);
    check(Uuid::parse("none"), Uuid::parse("NONE"), false);
    let at = DateTime::parse("2026-01-01T00:00:00Z");
    check(at, DateTime::parse("2026-01-01T01:00:00+01:00"), true);
    // The type of the contract's owner need not be comparable.
    check(XSku::parse("S-17"), XSku::parse("S-017"), false);
}

#[test]
fn types_and_formats_publish_their_schemas() {
    let schema = SchemaGenerator::default().into_root_schema_for::<Booking>().to_value();
    assert_eq!(schema["properties"]["at"]["format"], "date-time");
    assert_eq!(schema["properties"]["id"]["$ref"], "#/$defs/Id");
    assert_eq!(schema["$defs"]["Id"]["description"], "Which booking.");
    let format = SchemaGenerator::default().subschema_for::<Uuid>().to_value();
    assert_eq!(format.to_string(), r#"{"format":"uuid","type":"string"}"#);
}

#[test]
fn strategies_generate_valid_format_values() {
    let mut runner = TestRunner::deterministic();
    let is_valid = |booking: Booking| {
        assert!(booking.id.0.get().is_some() && booking.is_valid(), "{booking:?}");
        Ok(())
    };
    runner.run(&Booking::valid(), is_valid).unwrap();
    let is_rejected = |(document, broken): (Json, Violation)| {
        assert_eq!(Booking::VALIDATOR.validate(&document).unwrap_err().as_slice(), [broken]);
        Ok(())
    };
    runner.run(&Booking::nearly_valid(), is_rejected).unwrap();
}

/// The tables validate parameters before these are converted to typed values.
#[test]
fn parameters_with_an_invalid_format_are_rejected() {
    let check = |uri: &str, expected: &[(&str, &str)]| {
        let operation = OperationId::BookingsRead.operation();
        let (parts, ()) = http::Request::get(uri).body(()).unwrap().into_parts();
        let query = QueryPairs::parse(parts.uri.query().unwrap_or_default()).unwrap();
        let sources = ParameterReader {
            template: operation.path,
            parameters: operation.parameters,
            parts: &parts,
            query: &query,
        };
        let faults = sources.read_all().err().unwrap_or_default();
        let found: Vec<_> = faults.iter().map(|fault| (fault.pointer.as_str(), fault.keyword)).collect();
        assert_eq!(found, expected, "{uri}");
    };
    let id = "2eb8aa08-aa98-11ea-b4aa-73b441d16380";
    check(&format!("/bookings/{id}?since=2026-01-01T00:00:00Z&from=192.0.2.1"), &[]);
    check(
        "/bookings/7?since=2026-01-01&from=192.0.2.1&from=x",
        &[("/id", "format"), ("/since", "format"), ("/from/1", "format")],
    );
}
