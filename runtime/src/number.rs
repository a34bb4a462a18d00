//! [`Number`]: a JSON number that preserves its spelling and compares by exact value.
//!
//! Amounts must be sent exactly as they were received (`12.30` is not `12.3`), and limits must be exact for
//! numbers of any length. Therefore a number is never converted to `f64` internally. Only comparison,
//! rounding and divisibility are implemented; for other arithmetic, use a decimal library through the
//! features `bigdecimal` and `rust_decimal`.

#[cfg(any(feature = "bigdecimal", feature = "rust_decimal"))]
mod convert;
mod decimal;
mod grammar;
#[cfg(test)]
pub(crate) mod tests;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::raw;
use decimal::{CanonicalNumber, DecimalParts, RoundedNumber};
use grammar::{BUFFER_SIZE, ScannedNumber, print_small, scan_number};

/// A JSON number. It is stored as written, and compared, ordered and hashed by its exact value.
///
/// `1`, `1.0` and `10e-1` are equal, but print as they were written. Every operation takes time linear in the
/// length of the number, even for `1e1000000000`, because exponents are never expanded.
///
/// Can be deserialized only by `serde_json`. Other JSON types fail with `expected a number`. Serialization
/// preserves the exact spelling.
#[derive(Clone)]
pub struct Number(NumberRepr);

#[derive(Clone)]
enum NumberRepr {
    /// The value `digits / 10^scale`, for numbers that [`print_small`] prints exactly as written.
    Small { digits: i64, scale: u8 },
    /// All other numbers, such as long numbers, numbers with exponents, and `-0`.
    Text(Cow<'static, str>),
}

/// The reason why a string, float or decimal cannot be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumberError {
    /// The string does not match the number grammar of RFC 8259, section 6.
    Syntax,
    /// The float is infinite or not a number.
    NotFinite,
    /// The number has more digits, or a larger exponent, than the target type can hold.
    Inexact,
}

impl Number {
    /// Creates an integer.
    #[inline]
    #[must_use]
    pub const fn from_i64(value: i64) -> Self {
        Self(NumberRepr::Small { digits: value, scale: 0 })
    }

    /// Creates the number `digits / 10^scale`, written with exactly `scale` decimals. For example,
    /// `from_decimal(1230, 2)` is `12.30`.
    #[inline]
    #[must_use]
    pub const fn from_decimal(digits: i64, scale: u8) -> Self {
        Self(NumberRepr::Small { digits, scale })
    }

    /// Creates a number of any length from a string constant, for generated tables. Use
    /// [`parse`](Self::parse) for strings from any other source.
    ///
    /// # Panics
    /// Panics if the string is not a JSON number. In a constant, this is a compile error:
    ///
    /// ```compile_fail,E0080
    /// const LIMIT: contract_runtime::Number = contract_runtime::Number::from_literal("one");
    /// ```
    #[must_use]
    pub const fn from_literal(text: &'static str) -> Self {
        match scan_number(text.as_bytes()) {
            Some(ScannedNumber::Small { digits, scale }) => Self(NumberRepr::Small { digits, scale }),
            Some(ScannedNumber::Long) => Self(NumberRepr::Text(Cow::Borrowed(text))),
            None => panic!("the literal is not a JSON number"),
        }
    }

    /// Parses a string that matches the JSON number grammar, which has no `+`, no leading zeros and no white
    /// space.
    ///
    /// Fails with [`NumberError::Syntax`] otherwise.
    pub fn parse(text: &str) -> Result<Self, NumberError> {
        match scan_number(text.as_bytes()) {
            Some(ScannedNumber::Small { digits, scale }) => Ok(Self(NumberRepr::Small { digits, scale })),
            Some(ScannedNumber::Long) => Ok(Self(NumberRepr::Text(Cow::Owned(text.to_owned())))),
            None => Err(NumberError::Syntax),
        }
    }

    /// Returns the number as written. Allocates if the number is stored in binary.
    #[must_use]
    pub fn to_json_text(&self) -> Cow<'_, str> {
        match &self.0 {
            NumberRepr::Small { .. } => Cow::Owned(self.with_text(str::to_owned)),
            NumberRepr::Text(text) => Cow::Borrowed(text),
        }
    }

    /// Calls `use_text` with the number as written, without allocating.
    pub(crate) fn with_text<R>(&self, use_text: impl FnOnce(&str) -> R) -> R {
        match &self.0 {
            NumberRepr::Small { digits, scale } => {
                let mut buffer = [b'0'; BUFFER_SIZE];
                use_text(print_small(*digits, *scale, &mut buffer))
            }
            NumberRepr::Text(text) => use_text(text),
        }
    }

    fn with_decimal<R>(&self, use_decimal: impl FnOnce(&DecimalParts<'_>) -> R) -> R {
        self.with_text(|text| use_decimal(&DecimalParts::new(text)))
    }

    /// Returns true if the value has no fraction, as in `1`, `1.0` and `1e2`.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        match self.0 {
            NumberRepr::Small { scale: 0, .. } => true,
            NumberRepr::Small { digits, scale } => {
                pow10(scale).map_or(digits == 0, |unit| digits % unit == 0)
            }
            NumberRepr::Text(_) => self.with_decimal(|number| number.is_integer()),
        }
    }

    /// Returns the value if it is an integer within the range of `i64`, regardless of its spelling.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            NumberRepr::Small { digits, scale: 0 } => Some(digits),
            _ => self.as_i128().and_then(|value| i64::try_from(value).ok()),
        }
    }

    /// Returns the value if it is an integer within the range of `u64`, regardless of its spelling.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_i128().and_then(|value| u64::try_from(value).ok())
    }

    /// Returns the value if it is an integer within the range of `i128`, regardless of its spelling.
    #[must_use]
    pub fn as_i128(&self) -> Option<i128> {
        match self.0 {
            NumberRepr::Small { digits, scale: 0 } => Some(digits.into()),
            NumberRepr::Small { digits, scale } => match pow10(scale) {
                Some(unit) => (digits % unit == 0).then(|| i128::from(digits / unit)),
                None => (digits == 0).then_some(0),
            },
            NumberRepr::Text(_) => self.with_decimal(|number| number.to_i128()),
        }
    }

    /// Returns the greatest integer less than or equal to this number, if it fits into `i128`. For example,
    /// `1.25e1` returns `12`, and `-1e-9` returns `-1`. Takes time linear in the length of the number,
    /// regardless of the exponent.
    #[must_use]
    pub fn floor(&self) -> Option<i128> {
        let fraction_below = *self < Self::from_i64(0) && !self.is_integer();
        self.to_i128_truncated()?.checked_sub(fraction_below.into())
    }

    /// Returns the least integer greater than or equal to this number, if it fits into `i128`. For example,
    /// `1.25e1` returns `13`, and `-1e-9` returns `0`. Takes time linear in the length of the number,
    /// regardless of the exponent.
    #[must_use]
    pub fn ceil(&self) -> Option<i128> {
        let fraction_above = *self > Self::from_i64(0) && !self.is_integer();
        self.to_i128_truncated()?.checked_add(fraction_above.into())
    }

    /// Returns the integer part, rounded toward zero.
    fn to_i128_truncated(&self) -> Option<i128> {
        match self.0 {
            // With more than 18 decimals, the power of ten exceeds the magnitude of any `digits`.
            NumberRepr::Small { digits, scale } => {
                Some(pow10(scale).map_or(0, |unit| i128::from(digits / unit)))
            }
            NumberRepr::Text(_) => self.with_decimal(|number| number.to_i128_truncated()),
        }
    }

    /// Returns true if the value lies between `i64::MIN` and `i64::MAX`, even if it has a fraction.
    #[must_use]
    pub fn is_within_i64(&self) -> bool {
        self.is_between(i64::MIN.into(), i64::MAX.into())
    }

    /// Returns true if the value lies between zero and `u64::MAX`, even if it has a fraction.
    #[must_use]
    pub fn is_within_u64(&self) -> bool {
        self.is_between(0, u64::MAX.into())
    }

    fn is_between(&self, least: i128, greatest: i128) -> bool {
        self.floor().is_some_and(|floor| floor >= least) && self.ceil().is_some_and(|ceil| ceil <= greatest)
    }

    /// Returns the nearest `f64`. The result is infinite if the value is too large and zero if it is too
    /// small.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        // Both operands are exact, so the single division rounds correctly.
        const EXACT: u64 = 1 << 53;
        if let NumberRepr::Small { digits, scale } = self.0
            && digits.unsigned_abs() <= EXACT
            && let Some(unit) = pow10(scale)
            && unit.unsigned_abs() <= EXACT
        {
            return digits as f64 / unit as f64;
        }
        self.with_text(|text| text.parse().unwrap_or(f64::NAN))
    }

    /// Returns true if this number divided by `divisor` is exactly an integer.
    ///
    /// Zero is a multiple of every number except zero, and no number is a multiple of zero. Signs are
    /// ignored. Takes time linear in the length of this number if the divisor has at most 37 digits.
    #[must_use]
    pub fn is_multiple_of(&self, divisor: &Self) -> bool {
        if let (&NumberRepr::Small { digits: a, scale: sa }, &NumberRepr::Small { digits: b, scale: sb }) =
            (&self.0, &divisor.0)
        {
            if b == 0 {
                return false;
            }
            // Compares in units of the larger scale, if both numbers fit.
            let scaled = if sa <= sb {
                pow10(sb - sa).and_then(|unit| a.checked_mul(unit)).map(|a| (a, b))
            } else {
                pow10(sa - sb).and_then(|unit| b.checked_mul(unit)).map(|b| (a, b))
            };
            if let Some((a, b)) = scaled {
                return a.wrapping_rem(b) == 0;
            }
        }
        self.with_decimal(|number| divisor.with_decimal(|divisor| number.is_multiple_of(divisor)))
    }

    /// Rounds to `decimals` decimals, half away from zero. For example, with three decimals `0.0005` becomes
    /// `0.001`, and `-0.0005` becomes `-0.001`.
    ///
    /// A value that needs no rounding keeps its spelling. Any other result has exactly `decimals` decimals,
    /// and a result of zero has no sign.
    #[must_use]
    pub fn round_half_up(&self, decimals: u8) -> Self {
        if let NumberRepr::Small { digits, scale } = self.0 {
            return match scale.checked_sub(decimals) {
                None | Some(0) => self.clone(),
                Some(drop) => match divide_half_up(digits, drop) {
                    (_, RoundingOutcome::Exact) => self.clone(),
                    (digits, RoundingOutcome::Rounded) => Self::from_decimal(digits, decimals),
                },
            };
        }
        match self.with_decimal(|number| number.round_half_up(decimals)) {
            RoundedNumber::Unchanged => self.clone(),
            RoundedNumber::Text(text) => match Self::parse(&text) {
                Ok(number) => number,
                Err(_) => Self(NumberRepr::Text(Cow::Owned(text))),
            },
        }
    }

    /// Returns the value in units of `10^-decimals`, rounded like [`round_half_up`](Self::round_half_up). For
    /// example, with two decimals `12.345` returns `1235`.
    ///
    /// Returns `None` if the result does not fit into `i64`.
    #[must_use]
    pub fn to_scaled_i64(&self, decimals: u8) -> Option<i64> {
        match self.0 {
            NumberRepr::Small { digits, scale } => match scale.checked_sub(decimals) {
                Some(drop) => Some(divide_half_up(digits, drop).0),
                None if digits == 0 => Some(0),
                None => digits.checked_mul(pow10(decimals - scale)?),
            },
            NumberRepr::Text(_) => match self.with_decimal(|number| number.round_half_up(decimals)) {
                RoundedNumber::Unchanged => self.with_decimal(|number| number.to_scaled_i64(decimals)),
                RoundedNumber::Text(text) => DecimalParts::new(&text).to_scaled_i64(decimals),
            },
        }
    }

    #[inline(never)]
    fn cmp_unequal_scales(&self, other: &Self) -> Ordering {
        if let (&NumberRepr::Small { digits: a, scale: sa }, &NumberRepr::Small { digits: b, scale: sb }) =
            (&self.0, &other.0)
            && let (Some(ua), Some(ub)) = (pow10(sb.saturating_sub(sa)), pow10(sa.saturating_sub(sb)))
        {
            return match (a.checked_mul(ua), b.checked_mul(ub)) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => (i128::from(a) * i128::from(ua)).cmp(&(i128::from(b) * i128::from(ub))),
            };
        }
        self.with_decimal(|a| other.with_decimal(|b| a.cmp(b)))
    }
}

/// All powers of ten that fit into `i64`.
const POWERS: [i64; 19] = {
    let mut powers = [1; 19];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// Returns `10^exponent` if it fits into `i64`, which is true for exponents up to 18.
#[inline]
fn pow10(exponent: u8) -> Option<i64> {
    POWERS.get(usize::from(exponent)).copied()
}

enum RoundingOutcome {
    Exact,
    Rounded,
}

/// Divides `digits` by `10^drop`, rounding half away from zero.
fn divide_half_up(digits: i64, drop: u8) -> (i64, RoundingOutcome) {
    let magnitude = digits.unsigned_abs();
    let Some(unit) = 10_u64.checked_pow(u32::from(drop)) else {
        // 10^20 is more than twice the largest magnitude, so every quotient is below one half.
        return (0, if digits == 0 { RoundingOutcome::Exact } else { RoundingOutcome::Rounded });
    };
    let (whole, rest) = (magnitude / unit, magnitude % unit);
    if rest == 0 {
        // The result is `digits` itself if the unit is 1, and otherwise small enough for the cast.
        return (if drop == 0 { digits } else { digits.signum() * whole as i64 }, RoundingOutcome::Exact);
    }
    let rounded = whole + u64::from(rest >= unit - rest);
    (digits.signum() * rounded as i64, RoundingOutcome::Rounded)
}

impl PartialEq for Number {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (NumberRepr::Small { digits: a, scale: sa }, NumberRepr::Small { digits: b, scale: sb })
                if sa == sb =>
            {
                a.cmp(b)
            }
            // Fast path for integers, which most bounds are: two instructions if the bound is constant.
            (NumberRepr::Small { digits: a, scale }, NumberRepr::Small { digits: b, scale: 0 }) => {
                match pow10(*scale).and_then(|unit| b.checked_mul(unit)) {
                    Some(b) => a.cmp(&b),
                    None => self.cmp_unequal_scales(other),
                }
            }
            _ => self.cmp_unequal_scales(other),
        }
    }
}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let canonical = match self.0 {
            NumberRepr::Small { digits, scale } => CanonicalNumber::from_scaled(digits, scale),
            NumberRepr::Text(_) => self.with_decimal(|number| number.to_canonical()),
        };
        canonical.hash(state);
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.pad(text))
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| write!(f, "Number({text})"))
    }
}

impl FromStr for Number {
    type Err = NumberError;

    fn from_str(text: &str) -> Result<Self, NumberError> {
        Self::parse(text)
    }
}

impl From<i64> for Number {
    #[inline]
    fn from(value: i64) -> Self {
        Self::from_i64(value)
    }
}

impl From<i32> for Number {
    #[inline]
    fn from(value: i32) -> Self {
        Self::from_i64(value.into())
    }
}

impl From<u32> for Number {
    #[inline]
    fn from(value: u32) -> Self {
        Self::from_i64(value.into())
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        match i64::try_from(value) {
            Ok(value) => Self::from_i64(value),
            Err(_) => Self(NumberRepr::Text(Cow::Owned(value.to_string()))),
        }
    }
}

impl TryFrom<f64> for Number {
    type Error = NumberError;

    /// Converts into the shortest number that parses to the same float, such as `0.1`, `1`, `1e300`, or `-0`.
    ///
    /// Fails with [`NumberError::NotFinite`] for infinities and NaN.
    fn try_from(value: f64) -> Result<Self, NumberError> {
        if !value.is_finite() {
            return Err(NumberError::NotFinite);
        }
        // `Debug` uses exponents for values for which `Display` would write hundreds of zeros.
        let text = format!("{value:?}");
        Self::parse(text.strip_suffix(".0").unwrap_or(&text))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            NumberRepr::Small { digits, scale: 0 } => serializer.serialize_i64(digits),
            _ => self.with_text(|text| {
                serde_json::from_str::<&RawValue>(text)
                    .map_err(|_| S::Error::custom("a number literal is not a JSON number"))?
                    .serialize(serializer)
            }),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = raw::read_raw_text(deserializer)?;
        let parsed = match scan_number(text.as_bytes()) {
            Some(ScannedNumber::Small { digits, scale }) => Self(NumberRepr::Small { digits, scale }),
            Some(ScannedNumber::Long) => Self(NumberRepr::Text(Cow::Owned(text.into_owned()))),
            None => return Err(raw::type_mismatch(&text, "a number")),
        };
        Ok(parsed)
    }
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "not a JSON number",
            Self::NotFinite => "not a finite number",
            Self::Inexact => "not exactly representable in the target type",
        })
    }
}

impl Error for NumberError {}
