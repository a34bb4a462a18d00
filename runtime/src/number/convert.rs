//! To and from the decimals that others reckon with: exact, or an error; nothing is ever rounded.

#[cfg(test)]
mod tests;

use super::{Number, NumberError};

/// A JSON number as `digits * 10^-scale`, in the digits that it is written with.
#[cfg(feature = "bigdecimal")]
struct Written {
    /// With a sign, without a point.
    digits: String,
    scale: i128,
}

#[cfg(feature = "bigdecimal")]
impl Written {
    fn of(text: &str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent: i128 = exponent.parse().ok()?;
        let scale = i128::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        Some(Self { digits: [whole, fraction].concat(), scale })
    }
}

#[cfg(feature = "rust_decimal")]
mod fixed {
    use rust_decimal::Decimal;

    use super::{Number, NumberError};

    /// The text of a decimal: no exponent, as many decimals as it has.
    impl From<Decimal> for Number {
        fn from(value: Decimal) -> Self {
            Self::of_text(value.to_string())
        }
    }

    /// The same value, with the decimals that the text has where there is room for them.
    impl TryFrom<&Number> for Decimal {
        type Error = NumberError;

        /// Fails with [`NumberError::Inexact`] for more than 28 decimals or a coefficient beyond 96
        /// bits, zeros at the end aside.
        fn try_from(number: &Number) -> Result<Self, NumberError> {
            number.with_text(|text| as_written(text).or_else(|| shortest(number)).ok_or(NumberError::Inexact))
        }
    }

    impl TryFrom<Number> for Decimal {
        type Error = NumberError;

        fn try_from(number: Number) -> Result<Self, NumberError> {
            Self::try_from(&number)
        }
    }

    /// All digits of the text, if it has no exponent.
    fn as_written(text: &str) -> Option<Decimal> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits: i128 = [whole, fraction].concat().parse().ok()?;
        Decimal::try_from_i128_with_scale(digits, u32::try_from(fraction.len()).ok()?).ok()
    }

    /// The digits that matter.
    fn shortest(number: &Number) -> Option<Decimal> {
        let (digits, exponent) = number.with_decimal(|decimal| decimal.coefficient())?;
        match u32::try_from(exponent) {
            // Beyond 38 nothing but zero, which has no exponent, could fit.
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
mod big {
    use bigdecimal::{BigDecimal, num_bigint::BigInt};

    use super::{Number, NumberError, Written};

    /// So many zeros after the point are written out; beyond, an exponent is shorter.
    const ZEROS: usize = 40;

    /// The digits of a decimal, with an exponent where plain digits would be long.
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
            let plain = usize::try_from(scale).ok().filter(|scale| *scale <= digits.len() + ZEROS);
            Self::of_text(match plain {
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

    /// The same value in the digits of the text.
    impl TryFrom<&Number> for BigDecimal {
        type Error = NumberError;

        /// Fails with [`NumberError::Inexact`] for an exponent beyond 64 bits. A short text can be a
        /// very large number: who adds to `1e1000000` writes a million digits.
        fn try_from(number: &Number) -> Result<Self, NumberError> {
            let exact = number.with_text(|text| {
                let Written { digits, scale } = Written::of(text)?;
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
    /// A number that is written already.
    fn of_text(text: String) -> Self {
        Self::parse(&text).unwrap_or_else(|_| Self(super::Repr::Text(text.into())))
    }
}
