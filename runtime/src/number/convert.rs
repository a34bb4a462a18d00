//! Conversions to and from the decimal types of other crates. They never round a value; an inexact conversion
//! fails.

#[cfg(test)]
mod tests;

use super::{Number, NumberError};

/// A JSON number as `digits * 10^-scale`, with the digits as written.
#[cfg(feature = "bigdecimal")]
struct ScaledDigits {
    /// An optional sign and the digits without a point.
    digits: String,
    scale: i128,
}

#[cfg(feature = "bigdecimal")]
impl ScaledDigits {
    fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent: i128 = exponent.parse().ok()?;
        let scale = i128::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        Some(Self { digits: [whole, fraction].concat(), scale })
    }
}

#[cfg(feature = "rust_decimal")]
mod rust_decimal_impls {
    use rust_decimal::Decimal;

    use super::{Number, NumberError};

    /// Prints the decimal without an exponent and with all of its decimal places.
    impl From<Decimal> for Number {
        fn from(value: Decimal) -> Self {
            Self::from_printed(value.to_string())
        }
    }

    /// Converts a number and keeps its decimal places, including trailing zeros. If they do not fit into a
    /// `Decimal`, trailing zeros are dropped.
    impl TryFrom<&Number> for Decimal {
        type Error = NumberError;

        /// Fails with [`NumberError::Inexact`] if the number, without trailing zeros, has more than 28
        /// decimals or a coefficient of more than 96 bits.
        fn try_from(number: &Number) -> Result<Self, NumberError> {
            number.with_text(|text| {
                decimal_with_written_scale(text)
                    .or_else(|| decimal_with_shortest_scale(number))
                    .ok_or(NumberError::Inexact)
            })
        }
    }

    impl TryFrom<Number> for Decimal {
        type Error = NumberError;

        fn try_from(number: Number) -> Result<Self, NumberError> {
            Self::try_from(&number)
        }
    }

    /// Converts all written digits. Returns `None` for a number with an exponent.
    fn decimal_with_written_scale(text: &str) -> Option<Decimal> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits: i128 = [whole, fraction].concat().parse().ok()?;
        Decimal::try_from_i128_with_scale(digits, u32::try_from(fraction.len()).ok()?).ok()
    }

    /// Converts only the significant digits.
    fn decimal_with_shortest_scale(number: &Number) -> Option<Decimal> {
        let (digits, exponent) = number.with_decimal(|decimal| decimal.to_coefficient())?;
        match u32::try_from(exponent) {
            // An exponent beyond 38 could only fit for zero, whose exponent is always zero.
            Ok(zeros) => {
                let digits = digits.checked_mul(10_i128.checked_pow(zeros)?)?;
                Decimal::try_from_i128_with_scale(digits, 0).ok()
            }
            Err(_) => {
                let scale = u32::try_from(exponent.checked_neg()?).ok()?;
                Decimal::try_from_i128_with_scale(digits, scale).ok()
            }
        }
    }
}

#[cfg(feature = "bigdecimal")]
mod bigdecimal_impls {
    use bigdecimal::{BigDecimal, num_bigint::BigInt};

    use super::{Number, NumberError, ScaledDigits};

    /// The maximum number of leading zeros in plain notation. Beyond it, an exponent is shorter.
    const MAX_PLAIN_ZEROS: usize = 40;

    /// Prints the digits of the decimal, with an exponent if plain notation would be too long.
    impl From<BigDecimal> for Number {
        fn from(value: BigDecimal) -> Self {
            Self::from(&value)
        }
    }

    impl From<&BigDecimal> for Number {
        fn from(value: &BigDecimal) -> Self {
            let (digits, scale) = value.as_bigint_and_scale();
            let text = digits.to_string();
            let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
            let plain = usize::try_from(scale).ok().filter(|scale| *scale <= digits.len() + MAX_PLAIN_ZEROS);
            Self::from_printed(match plain {
                Some(0) => text,
                Some(scale) => {
                    let zeros = "0".repeat((scale + 1).saturating_sub(digits.len()));
                    let padded = [&zeros, digits].concat();
                    let (whole, fraction) = padded.split_at(padded.len() - scale);
                    format!("{sign}{whole}.{fraction}")
                }
                None => format!("{sign}{digits}e{}", -i128::from(scale)),
            })
        }
    }

    /// Converts all digits as written.
    impl TryFrom<&Number> for BigDecimal {
        type Error = NumberError;

        /// Fails with [`NumberError::Inexact`] if the exponent has more than 64 bits. Note that a short input
        /// can be a very large number: an addition to `1e1000000` produces a million digits.
        fn try_from(number: &Number) -> Result<Self, NumberError> {
            let exact = number.with_text(|text| {
                let ScaledDigits { digits, scale } = ScaledDigits::parse(text)?;
                let digits = BigInt::parse_bytes(digits.as_bytes(), 10)?;
                Some(BigDecimal::new(digits, i64::try_from(scale).ok()?))
            });
            exact.ok_or(NumberError::Inexact)
        }
    }

    impl TryFrom<Number> for BigDecimal {
        type Error = NumberError;

        fn try_from(number: Number) -> Result<Self, NumberError> {
            Self::try_from(&number)
        }
    }
}

impl Number {
    /// Creates a number from the output of a decimal type.
    fn from_printed(text: String) -> Self {
        Self::parse(&text).unwrap_or_else(|_| Self(super::NumberRepr::Text(text.into())))
    }
}
