//! Round trips of several thousand numbers of all kinds through both decimal types.

use std::str::FromStr;

use super::*;

/// Returns numbers with signs, many digits, decimal points, leading and trailing zeros and exponents. The
/// sequence is the same in every run.
fn texts() -> impl Iterator<Item = String> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = move |end: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % end
    };
    (0..20_000).map(move |_| {
        let mut text = String::from(if below(2) == 0 { "-" } else { "" });
        let digits = |min: u64, max: u64, text: &mut String, below: &mut dyn FnMut(u64) -> u64| {
            for at in 0..min + below(max + 1 - min) {
                let zero = below(3) == 0 && !(at == 0 && min == 1);
                text.push(char::from(b'0' + if zero { 0 } else { 1 + below(9) as u8 }));
            }
        };
        if below(4) == 0 {
            text.push('0');
        } else {
            digits(1, 32, &mut text, &mut below);
        }
        if below(2) == 0 {
            text.push('.');
            digits(1, 32, &mut text, &mut below);
        }
        if below(3) == 0 {
            text.push_str(["e", "E-", "e+"][below(3) as usize]);
            text.push_str(&below(60).to_string());
        }
        text
    })
}

#[cfg(feature = "rust_decimal")]
mod fixed {
    use rust_decimal::Decimal;

    use super::*;

    #[test]
    fn fitting_numbers_keep_their_value_others_fail() {
        let (mut held, mut refused) = (0, 0);
        for text in texts() {
            let number = Number::parse(&text).unwrap();
            match Decimal::try_from(&number) {
                Ok(decimal) => {
                    held += 1;
                    assert_eq!(Number::from(decimal), number, "{text}");
                    // Written decimals are preserved. Only exponents are expanded.
                    if !text.contains(['e', 'E']) && Decimal::from_str_exact(&text).is_ok() {
                        assert_eq!(
                            decimal.scale() as usize,
                            text.split_once('.').map_or(0, |(_, f)| f.len())
                        );
                    }
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error, NumberError::Inexact);
                    // A number is rejected only if the decimal library cannot represent it exactly either.
                    assert!(Decimal::from_str_exact(&text).is_err(), "{text}");
                }
            }
        }
        assert!(held > 5_000 && refused > 5_000, "{held} held, {refused} refused");
    }

    #[test]
    fn bounds_are_exact() {
        let check = |text: &str, expected: Option<&str>| {
            let found = Decimal::try_from(Number::parse(text).unwrap()).ok().map(|d| d.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("12.30", Some("12.30"));
        check("79228162514264337593543950335", Some("79228162514264337593543950335"));
        check("79228162514264337593543950336", None);
        check("7.9228162514264337593543950335e28", Some("79228162514264337593543950335"));
        check("1e28", Some("10000000000000000000000000000"));
        check("1e29", None);
        check("1e-28", Some("0.0000000000000000000000000001"));
        check("1e-29", None);
        check("1.00000000000000000000000000000000000", Some("1"));
        check("0e999999999999", Some("0"));
        check("1e99999999999999999999999999999999999999999", None);
    }
}

#[cfg(feature = "bigdecimal")]
mod big {
    use bigdecimal::BigDecimal;

    use super::*;

    #[test]
    fn every_number_round_trips() {
        for text in texts() {
            let number = Number::parse(&text).unwrap();
            let decimal = BigDecimal::try_from(&number).unwrap();
            assert_eq!(decimal, BigDecimal::from_str(&text).unwrap(), "{text}");
            let back = Number::from(&decimal);
            assert_eq!(back, number, "{text}");
            // A decimal cannot represent the sign of `-0`.
            let is_plain = !text.contains(['e', 'E']) && number != Number::from_i64(0);
            assert!(!is_plain || back.to_json_text() == text, "{text}");
        }
    }

    #[test]
    fn exponents_stay_exponents() {
        let check = |text: &str, expected: &str| {
            let decimal = BigDecimal::try_from(Number::parse(text).unwrap()).unwrap();
            assert_eq!(Number::from(decimal).to_json_text(), expected);
        };
        check("1e1000000000", "1e1000000000");
        check("1.50e-1000000000", "150e-1000000002");
        check("-0.05", "-0.05");
        let beyond = Number::parse("1e9999999999999999999999").unwrap();
        assert_eq!(BigDecimal::try_from(beyond), Err(NumberError::Inexact));
    }
}
