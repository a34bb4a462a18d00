//! Tests of numbers against tables and against 128-bit arithmetic, and with malicious input.

use std::collections::hash_map::DefaultHasher;

use super::*;

/// A deterministic random generator (xorshift) that makes failures reproducible.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

fn number(text: &str) -> Number {
    Number::parse(text).unwrap_or_else(|_| panic!("{text} is a number"))
}

fn hash(number: &Number) -> u64 {
    let mut hasher = DefaultHasher::new();
    number.hash(&mut hasher);
    hasher.finish()
}

fn is_small(number: &Number) -> bool {
    matches!(number.0, NumberRepr::Small { .. })
}

#[test]
fn is_three_words() {
    assert_eq!(size_of::<Number>(), 24);
    assert_eq!(size_of::<Option<Number>>(), 24);
}

#[test]
fn preserves_every_spelling_and_stores_short_numbers_in_binary() {
    let cases = [
        ("0", true),
        ("-0", false),
        ("0.0", true),
        ("-0.0", false),
        ("0.000000000000000000", true),
        ("0.0000000000000000000", false),
        ("12.30", true),
        ("-12.30", true),
        ("0.05", true),
        ("-0.05", true),
        ("9223372036854775807", true),
        ("9223372036854775808", false),
        ("-9223372036854775808", true),
        ("-9223372036854775809", false),
        ("9.223372036854775807", true),
        ("-9.223372036854775808", true),
        ("18446744073709551616", false),
        ("1e5", false),
        ("1E+5", false),
        ("1.50e-5", false),
        ("123456789012345678901234567890.123", false),
    ];
    for (text, small) in cases {
        let number = number(text);
        assert_eq!(number.to_json_text(), text);
        assert_eq!(number.to_string(), text);
        assert_eq!(is_small(&number), small, "{text}");
        assert_eq!(is_small(&Number::from_literal(text)), small, "{text}");
        let read: Number = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}

#[test]
fn rejects_invalid_json_numbers() {
    let cases = [
        "",
        "-",
        "+1",
        "01",
        "-01",
        "00",
        "1.",
        ".5",
        "-.5",
        "1e",
        "1e+",
        "1e-",
        "e1",
        "1.e1",
        "1.2.3",
        "1e1.0",
        " 1",
        "1 ",
        "0x1",
        "1_000",
        "NaN",
        "Infinity",
        "-Infinity",
        "١",
        "1a",
        "1ee1",
        "--1",
        "1-",
        "\"1\"",
    ];
    for text in cases {
        assert_eq!(text.parse::<Number>(), Err(NumberError::Syntax), "{text}");
    }
}

#[test]
fn deserialization_rejects_other_types() {
    for text in [r#""1""#, "null", "true", "[1]", r#"{"a":1}"#] {
        let error = serde_json::from_str::<Number>(text).unwrap_err().to_string();
        assert!(error.contains("expected a number"), "{error}");
    }
    assert!(serde_json::from_str::<Number>("01").is_err());
    let from_value: Number = serde_json::from_value(serde_json::json!(1.5)).unwrap();
    assert_eq!(from_value, Number::from_decimal(15, 1));
    let from_stream: Number = serde_json::from_reader(&b" 1.50 "[..]).unwrap();
    assert_eq!(from_stream.to_json_text(), "1.50");
    assert_eq!(serde_json::to_value(Number::from_decimal(150, 2)).unwrap(), serde_json::json!(1.5));
}

/// The constructors panic on strings that are not JSON numbers.
#[test]
fn invalid_literal_panics() {
    for text in ["", "one", "-", ".", "e", "1e", "-e-", "\u{ff}.\u{ff}e\u{ff}", "1e+one", " 1"] {
        let result = std::panic::catch_unwind(|| Number::from_literal(text));
        assert!(result.is_err(), "{text}");
    }
}

#[test]
fn constructors() {
    const LIMIT: Number = Number::from_literal("1e400");
    assert_eq!(LIMIT.to_json_text(), "1e400");
    assert_eq!(Number::from_i64(-5).to_json_text(), "-5");
    assert_eq!(Number::from_decimal(-5, 3).to_json_text(), "-0.005");
    assert_eq!(Number::from_decimal(i64::MIN, 19).to_json_text(), "-0.9223372036854775808");
    assert_eq!(Number::from_decimal(7, 255).to_json_text().len(), 257);
    assert_eq!(Number::from_decimal(i64::MIN, 255).to_json_text().len(), 258);
    assert_eq!(Number::from(u64::MAX).to_json_text(), "18446744073709551615");
    assert_eq!(Number::from(7_u64), Number::from(7_i32));
    assert_eq!(Number::from(7_u32), Number::from(7_i64));
    for (float, text) in [
        (0.1, "0.1"),
        (1.0, "1"),
        (-0.0, "-0"),
        (1e300, "1e300"),
        (1e-7, "1e-7"),
        (123456.5, "123456.5"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
    ] {
        assert_eq!(Number::try_from(float).unwrap().to_json_text(), text);
    }
    for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(Number::try_from(float), Err(NumberError::NotFinite));
    }
}

#[test]
fn equal_values_have_equal_hashes() {
    let groups: &[&[&str]] = &[
        &["0", "-0", "0.0", "-0.00", "0e5", "0e-99999999999999999999999999999999999999999", "0.0e1"],
        &["1", "1.0", "10e-1", "0.1e1", "1e0", "1E-0", "1.000000000000000000000000000000", "100000e-5"],
        &["-12.3", "-12.30", "-123e-1", "-0.00123e4"],
        &["9223372036854775807", "9223372036854775807.0", "922337203685477580.7e1"],
        &["18446744073709551615", "1844674407370955161.5e1"],
        &[
            "123456789012345678901234567890",
            "1.2345678901234567890123456789e29",
            "12345678901234567890123456789e1",
        ],
        &["1e1000000000", "10e999999999", "0.1e1000000001", "1.0E+1000000000"],
        &[
            "1e10000000000000000000000000000000000000",
            "10e9999999999999999999999999999999999999",
            "0.1e10000000000000000000000000000000000001",
        ],
        &[
            "1e-10000000000000000000000000000000000000",
            "10e-10000000000000000000000000000000000001",
            "0.1e-9999999999999999999999999999999999999",
        ],
        &[
            "1e100000000000000000000000000000000000000000000",
            "100e99999999999999999999999999999999999999999998",
        ],
    ];
    let all: Vec<(usize, Number)> = groups
        .iter()
        .enumerate()
        .flat_map(|(group, texts)| texts.iter().map(move |text| (group, number(text))))
        .collect();
    for (left_group, left) in &all {
        for (right_group, right) in &all {
            assert_eq!(left == right, left_group == right_group, "{left} {right}");
            if left == right {
                assert_eq!(hash(left), hash(right), "{left} {right}");
            }
        }
    }
}

#[test]
fn orders() {
    let ascending = [
        "-1e10000000000000000000000000000000000000000",
        "-1e9999999999999999999999999999999999999999",
        "-1e1000000000",
        "-123456789012345678901234567890",
        "-9223372036854775808",
        "-12.31",
        "-12.3",
        "-1e-1000000000",
        "-1e-10000000000000000000000000000000000000000",
        "0",
        "1e-10000000000000000000000000000000000000001",
        "1e-10000000000000000000000000000000000000000",
        "1e-1000000000",
        "0.0999999999999999999999999999",
        "0.1",
        "0.10000000000000000000000000001",
        "1",
        "9223372036854775807",
        "9223372036854775807.1",
        "9223372036854775808",
        "1e1000000000",
        "1.1e1000000000",
        "1e9999999999999999999999999999999999999",
        "1e10000000000000000000000000000000000000",
        "1e9999999999999999999999999999999999999999",
    ];
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(number(a).cmp(&number(b)), i.cmp(&j), "{a} {b}");
        }
    }
}

/// Returns one of many spellings of `digits / 10^scale`.
fn spell(random: &mut Random, digits: i64, scale: u8) -> Number {
    let zeros = random.below(5);
    let padded = format!("{digits}{}", "0".repeat(zeros as usize));
    let exponent = -i64::from(scale) - zeros as i64;
    match random.below(4) {
        0 => Number::from_decimal(digits, scale),
        1 if digits != 0 => number(&format!("{padded}e{exponent}")),
        2 => number(&format!("{digits}.000e-{scale}")),
        _ => {
            let text = Number::from_decimal(digits, scale).to_json_text().into_owned();
            if scale == 0 { number(&text) } else { number(&(text + "00000000000000000000")) }
        }
    }
}

#[test]
fn agrees_with_128_bit_arithmetic() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for _ in 0..20_000 {
        let mut draw = || {
            // The numbers have all lengths and are often close to one another.
            let limit = 10_u64.pow(1 + random.below(15) as u32);
            let digits = random.below(limit) as i64 * if random.below(2) == 0 { 1 } else { -1 };
            let scale = random.below(19) as u8;
            let spelled = spell(&mut random, digits, scale);
            (spelled, i128::from(digits) * 10_i128.pow(18 - u32::from(scale)))
        };
        let ((a, a_exact), (b, b_exact)) = (draw(), draw());
        assert_eq!(a.cmp(&b), a_exact.cmp(&b_exact), "{a} {b}");
        if a_exact == b_exact {
            assert_eq!(hash(&a), hash(&b));
        }
        let multiple = b_exact != 0 && a_exact % b_exact == 0;
        assert_eq!(a.is_multiple_of(&b), multiple, "{a} {b}");

        let unit = 10_i128.pow(18);
        assert_eq!(a.is_integer(), a_exact % unit == 0, "{a}");
        assert_eq!(a.as_i128(), (a_exact % unit == 0).then_some(a_exact / unit), "{a}");
        assert_eq!(a.to_f64(), a.to_json_text().parse::<f64>().unwrap(), "{a}");

        let decimals = random.below(19) as u8;
        let unit = 10_i128.pow(18 - u32::from(decimals));
        let half_up = a_exact.signum() * ((a_exact.abs() + unit / 2) / unit);
        let expected = i64::try_from(half_up).ok();
        assert_eq!(a.to_scaled_i64(decimals), expected, "{a} {decimals}");
        let rounded = a.round_half_up(decimals);
        if let Some(expected) = expected {
            assert_eq!(rounded, Number::from_decimal(expected, decimals), "{a} {decimals}");
        }
        assert_eq!(rounded.round_half_up(decimals).to_json_text(), rounded.to_json_text());
        assert_eq!(number(&a.to_json_text()).to_json_text(), a.to_json_text());
    }
}

#[test]
fn rounds_halves_away_from_zero() {
    let cases = [
        ("12.3456", 3, "12.346"),
        ("0.0005", 3, "0.001"),
        ("-0.0005", 3, "-0.001"),
        ("0.00049999", 3, "0.000"),
        ("-0.0004", 3, "0.000"),
        ("2.5", 0, "3"),
        ("-2.5", 0, "-3"),
        ("2.4999999999999999999999999999", 0, "2"),
        ("0.5", 0, "1"),
        ("0.05", 0, "0"),
        ("9.9996", 3, "10.000"),
        ("99.995", 2, "100.00"),
        ("12.3", 3, "12.3"),
        ("12.3000", 3, "12.3000"),
        ("1.2345e2", 2, "1.2345e2"),
        ("1.23456e2", 2, "123.46"),
        ("5e-4", 3, "0.001"),
        ("4e-4", 3, "0.000"),
        ("5e-5", 3, "0.000"),
        ("-1e-1000000000", 3, "0.000"),
        ("1e-100000000000000000000000000000000000000000", 2, "0.00"),
        ("1e1000000000", 3, "1e1000000000"),
        ("999999999999999999999999.9995", 3, "1000000000000000000000000.000"),
        ("123456789012345678901234.56789", 3, "123456789012345678901234.568"),
        ("-9223372036854775808", 0, "-9223372036854775808"),
        ("-922337203685477580.8", 0, "-922337203685477581"),
        ("9.223372036854775807", 18, "9.223372036854775807"),
    ];
    for (text, decimals, expected) in cases {
        assert_eq!(number(text).round_half_up(decimals).to_json_text(), expected, "{text} {decimals}");
    }
    // Only the constructors can produce these scales.
    assert_eq!(Number::from_decimal(i64::MAX, 19).round_half_up(0).to_json_text(), "1");
    assert_eq!(Number::from_decimal(i64::MAX, 20).round_half_up(0).to_json_text(), "0");
    assert_eq!(Number::from_decimal(i64::MAX, 255).round_half_up(1).to_json_text(), "0.0");
}

#[test]
fn scales_to_whole_units() {
    let cases = [
        ("12.345", 2, Some(1235)),
        ("12.3456", 3, Some(12346)),
        ("-12.345", 2, Some(-1235)),
        ("12", 2, Some(1200)),
        ("1e2", 2, Some(10000)),
        ("0", 255, Some(0)),
        ("0e5", 255, Some(0)),
        ("1", 18, Some(1_000_000_000_000_000_000)),
        ("1", 19, None),
        ("9223372036854775807", 0, Some(i64::MAX)),
        ("9223372036854775808", 0, None),
        ("9223372036854775807.4", 0, Some(i64::MAX)),
        ("9223372036854775807.5", 0, None),
        ("-9223372036854775808", 0, Some(i64::MIN)),
        ("-9223372036854775808.4", 0, Some(i64::MIN)),
        ("-9223372036854775808.5", 0, None),
        ("92233720368547758.07", 2, Some(i64::MAX)),
        ("1e1000000000", 2, None),
        ("1e-1000000000", 2, Some(0)),
        ("5e-3", 2, Some(1)),
    ];
    for (text, decimals, expected) in cases {
        assert_eq!(number(text).to_scaled_i64(decimals), expected, "{text} {decimals}");
    }
}

#[test]
fn integers_at_the_edges() {
    let cases = [
        ("1.0", Some(1), Some(1), Some(1)),
        ("1e2", Some(100), Some(100), Some(100)),
        ("1.5", None, None, None),
        ("-1", Some(-1), None, Some(-1)),
        ("-0", Some(0), Some(0), Some(0)),
        ("9223372036854775807", Some(i64::MAX), Some(i64::MAX as u64), Some(i64::MAX.into())),
        ("9223372036854775808", None, Some(1 << 63), Some(1 << 63)),
        ("-9223372036854775808.000", Some(i64::MIN), None, Some(i64::MIN.into())),
        ("18446744073709551615", None, Some(u64::MAX), Some(u64::MAX.into())),
        ("18446744073709551616", None, None, Some(1 << 64)),
        ("170141183460469231731687303715884105727", None, None, Some(i128::MAX)),
        ("170141183460469231731687303715884105728", None, None, None),
        ("-170141183460469231731687303715884105728", None, None, Some(i128::MIN)),
        ("1e1000000000", None, None, None),
        ("1e-1000000000", None, None, None),
        ("0e1000000000", Some(0), Some(0), Some(0)),
    ];
    for (text, as_i64, as_u64, as_i128) in cases {
        let number = number(text);
        assert_eq!((number.as_i64(), number.as_u64(), number.as_i128()), (as_i64, as_u64, as_i128), "{text}");
    }
}

#[test]
fn floor_and_ceil() {
    const MAX: i128 = i128::MAX;
    let cases = [
        ("0", Some(0), Some(0)),
        ("-0", Some(0), Some(0)),
        ("-0.0e5", Some(0), Some(0)),
        ("12", Some(12), Some(12)),
        ("12.0", Some(12), Some(12)),
        ("12.5", Some(12), Some(13)),
        ("-12.5", Some(-13), Some(-12)),
        ("0.5", Some(0), Some(1)),
        ("-0.5", Some(-1), Some(0)),
        ("0.000000000000000000000001", Some(0), Some(1)),
        ("-0.000000000000000000000001", Some(-1), Some(0)),
        ("1.25e1", Some(12), Some(13)),
        ("-1.25E+1", Some(-13), Some(-12)),
        ("1.25e2", Some(125), Some(125)),
        ("1250e-2", Some(12), Some(13)),
        ("1200e-2", Some(12), Some(12)),
        ("1e19", Some(10_000_000_000_000_000_000), Some(10_000_000_000_000_000_000)),
        ("1e-400", Some(0), Some(1)),
        ("-1e-400", Some(-1), Some(0)),
        ("170141183460469231731687303715884105727", Some(MAX), Some(MAX)),
        ("170141183460469231731687303715884105727.5", Some(MAX), None),
        ("170141183460469231731687303715884105728", None, None),
        ("-170141183460469231731687303715884105728", Some(i128::MIN), Some(i128::MIN)),
        ("-170141183460469231731687303715884105728.5", None, Some(i128::MIN)),
        ("1e400", None, None),
        ("-1e1000000000", None, None),
        ("1e-1000000000", Some(0), Some(1)),
        ("-1e-99999999999999999999999999999999999999999999", Some(-1), Some(0)),
        ("1e99999999999999999999999999999999999999999999", None, None),
    ];
    for (text, floor, ceil) in cases {
        assert_eq!((number(text).floor(), number(text).ceil()), (floor, ceil), "{text}");
    }
    // These scales exceed the powers of ten that fit into `i64`.
    assert_eq!(Number::from_decimal(i64::MAX, 200).ceil(), Some(1));
    assert_eq!(Number::from_decimal(i64::MIN, 200).floor(), Some(-1));
    assert_eq!(Number::from_decimal(i64::MIN, 19).ceil(), Some(0));
    assert_eq!(Number::from_decimal(0, 200).ceil(), Some(0));
}

#[test]
fn floor_and_ceil_agree_with_128_bit_arithmetic() {
    let mut random = Random(7);
    for _ in 0..20_000 {
        let digits = random.next() as i64 >> random.below(63);
        let scale = random.below(18) as u8;
        let unit = 10_i128.pow(scale.into());
        let floor = i128::from(digits).div_euclid(unit);
        let ceil = -(-i128::from(digits)).div_euclid(unit);
        let spelt = spell(&mut random, digits, scale);
        assert_eq!((spelt.floor(), spelt.ceil()), (Some(floor), Some(ceil)), "{spelt}");
    }
}

#[test]
fn ranges_of_integer_types() {
    let cases = [
        ("1.25e1", true, true),
        ("-0.5", true, false),
        ("-0", true, true),
        ("9223372036854775807", true, true),
        ("9223372036854775807.5", false, true),
        ("-9223372036854775808", true, false),
        ("-9223372036854775808.5", false, false),
        ("1e19", false, true),
        ("1.8446744073709551615e19", false, true),
        ("18446744073709551615.5", false, false),
        ("-1e19", false, false),
        ("1e1000000000", false, false),
    ];
    for (text, signed, unsigned) in cases {
        let number = number(text);
        assert_eq!((number.is_within_i64(), number.is_within_u64()), (signed, unsigned), "{text}");
    }
}

#[test]
fn divisibility() {
    let long = "1234567890123456789012345678901234567891";
    let product = format!("{long}{long}");
    let one_off = format!("{long}{}", long.replace('1', "2"));
    let cases = [
        ("0.3", "0.1", true),
        ("1.1", "0.01", true),
        ("0.075", "0.05", false),
        ("19.99", "0.01", true),
        ("19.999", "0.01", false),
        ("7", "0", false),
        ("0", "0", false),
        ("0", "7", true),
        ("-9223372036854775808", "-1", true),
        ("-6", "4", false),
        ("1e1000000000", "7", false),
        ("7e1000000000", "7", true),
        ("1e1000000000", "1024", true),
        ("1e1000000000", "1e-1000000000", true),
        ("1e-1000000000", "1", false),
        ("3e-1000000000", "3e-1000000001", true),
        ("1e2", "16", false),
        ("1e4", "16", true),
        ("1e3", "16", false),
        (
            "1e10000000000000000000000000000000000000000003",
            "1e10000000000000000000000000000000000000000000",
            true,
        ),
        (
            "1e10000000000000000000000000000000000000000003",
            "16e10000000000000000000000000000000000000000000",
            false,
        ),
        (
            "1e10000000000000000000000000000000000000000004",
            "16e10000000000000000000000000000000000000000000",
            true,
        ),
        (
            "1e10000000000000000000000000000000000000000000",
            "1e10000000000000000000000000000000000000000001",
            false,
        ),
        ("1e10000000000000000000000000000000000000000000", "512", true),
        ("1e10000000000000000000000000000000000000000000", "3", false),
        ("1e-10000000000000000000000000000000000000000000", "3", false),
        ("123456789012345678901234567890", "12345678901234567890123456789", true),
        ("123456789012345678901234567891", "12345678901234567890123456789", false),
        ("12345678901234567890", "18446744073709551615", false),
        ("36893488147419103230", "18446744073709551615", true),
        (product.as_str(), long, true),
        (one_off.as_str(), long, false),
        (long, product.as_str(), false),
    ];
    for (a, b, expected) in cases {
        assert_eq!(number(a).is_multiple_of(&number(b)), expected, "{a} {b}");
    }
}

#[test]
fn hostile_input_costs_linear_time() {
    let digits = "7".repeat(1_000_000);
    let texts = [format!("{digits}.{digits}"), format!("1e{digits}"), format!("-1.{digits}e-{digits}")];
    for text in &texts {
        let number = number(text);
        assert_eq!(number.cmp(&number.clone()), Ordering::Equal);
        assert_eq!(hash(&number), hash(&number.clone()));
        assert_eq!(number.as_i128(), None);
        assert_eq!(number.to_f64().is_sign_negative(), text.starts_with('-'));
        assert!(!number.is_multiple_of(&Number::from_decimal(99, 2)), "the exponent is not expanded");
        let _ = number.to_scaled_i64(3);
        let _ = number.round_half_up(3);
    }
}
