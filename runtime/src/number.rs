//! [`Number`]: a JSON number that keeps its text and compares by exact value.
//!
//! Amounts must leave as they came in (`12.30` is not `12.3`) and limits must be exact
//! for any length, so a number is never pushed through `f64`. Arithmetic beyond
//! comparing, rounding and divisibility is left to the caller's decimal type.

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
use decimal::{Canonical, Decimal, Rounded};
use grammar::{BUFFER, Scan, print_small, scan};

/// A JSON number: kept as text, compared, ordered and hashed by exact value.
///
/// `1`, `1.0` and `10e-1` are equal but print as they were written. Every operation
/// costs time linear in the text, also for `1e1000000000`; nothing is expanded.
///
/// Deserialises from `serde_json` only and refuses anything but a number with
/// `expected a number`. Serialises the exact text.
#[derive(Clone)]
pub struct Number(Repr);

#[derive(Clone)]
enum Repr {
    /// The value `digits / 10^scale`, where [`print_small`] gives back the text.
    Small { digits: i64, scale: u8 },
    /// Whatever does not fit: long numbers, exponents, `-0`.
    Text(Cow<'static, str>),
}

/// Why a text or float is not a JSON number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumberError {
    /// The text does not follow the number grammar of RFC 8259, section 6.
    Syntax,
    /// The float is infinite or not a number.
    NotFinite,
    /// The number has more digits, or an exponent further off, than the type has room for.
    Inexact,
}

impl Number {
    /// A whole number.
    #[inline]
    #[must_use]
    pub const fn int(value: i64) -> Self {
        Self(Repr::Small { digits: value, scale: 0 })
    }

    /// The number `digits / 10^scale`, written with exactly `scale` decimals:
    /// `decimal(1230, 2)` is `12.30`.
    #[inline]
    #[must_use]
    pub const fn decimal(digits: i64, scale: u8) -> Self {
        Self(Repr::Small { digits, scale })
    }

    /// A number of any length from a text in the program, for generated tables. What is not in
    /// the program goes through [`parse`](Self::parse).
    ///
    /// # Panics
    /// When the text is no JSON number, which the compiler says of one in a constant:
    ///
    /// ```compile_fail,E0080
    /// const LIMIT: contract_runtime::Number = contract_runtime::Number::literal("one");
    /// ```
    #[must_use]
    pub const fn literal(text: &'static str) -> Self {
        match scan(text.as_bytes()) {
            Some(Scan::Small { digits, scale }) => Self(Repr::Small { digits, scale }),
            Some(Scan::Long) => Self(Repr::Text(Cow::Borrowed(text))),
            None => panic!("a literal that is no JSON number"),
        }
    }

    /// Reads exactly the JSON number grammar: no `+`, no leading zeros, no white space.
    ///
    /// Fails with [`NumberError::Syntax`] otherwise.
    pub fn parse(text: &str) -> Result<Self, NumberError> {
        match scan(text.as_bytes()) {
            Some(Scan::Small { digits, scale }) => Ok(Self(Repr::Small { digits, scale })),
            Some(Scan::Long) => Ok(Self(Repr::Text(Cow::Owned(text.to_owned())))),
            None => Err(NumberError::Syntax),
        }
    }

    /// The text as it was written; allocates for numbers that are stored in binary.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Small { .. } => Cow::Owned(self.with_text(str::to_owned)),
            Repr::Text(text) => Cow::Borrowed(text),
        }
    }

    /// Calls `use_text` with the text, without allocating.
    pub(crate) fn with_text<R>(&self, use_text: impl FnOnce(&str) -> R) -> R {
        match &self.0 {
            Repr::Small { digits, scale } => {
                let mut buffer = [b'0'; BUFFER];
                use_text(print_small(*digits, *scale, &mut buffer))
            }
            Repr::Text(text) => use_text(text),
        }
    }

    fn with_decimal<R>(&self, use_decimal: impl FnOnce(&Decimal<'_>) -> R) -> R {
        self.with_text(|text| use_decimal(&Decimal::new(text)))
    }

    /// Whether the value has no fraction: true for `1`, `1.0` and `1e2`.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        match self.0 {
            Repr::Small { scale: 0, .. } => true,
            Repr::Small { digits, scale } => pow10(scale).map_or(digits == 0, |unit| digits % unit == 0),
            Repr::Text(_) => self.with_decimal(|number| number.is_integer()),
        }
    }

    /// The value when it is a whole number within `i64`, however it is written.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Small { digits, scale: 0 } => Some(digits),
            _ => self.as_i128().and_then(|value| i64::try_from(value).ok()),
        }
    }

    /// The value when it is a whole number within `u64`, however it is written.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_i128().and_then(|value| u64::try_from(value).ok())
    }

    /// The value when it is a whole number within `i128`, however it is written.
    #[must_use]
    pub fn as_i128(&self) -> Option<i128> {
        match self.0 {
            Repr::Small { digits, scale: 0 } => Some(digits.into()),
            Repr::Small { digits, scale } => match pow10(scale) {
                Some(unit) => (digits % unit == 0).then(|| i128::from(digits / unit)),
                None => (digits == 0).then_some(0),
            },
            Repr::Text(_) => self.with_decimal(|number| number.to_i128()),
        }
    }

    /// The greatest whole number that is not above this one, where `i128` holds it: `12` of
    /// `1.25e1`, `-1` of `-1e-9`. Costs time by the text, never by the exponent.
    #[must_use]
    pub fn floor(&self) -> Option<i128> {
        let fraction_below = *self < Self::int(0) && !self.is_integer();
        self.truncated()?.checked_sub(fraction_below.into())
    }

    /// The least whole number that is not below this one, where `i128` holds it: `13` of
    /// `1.25e1`, `0` of `-1e-9`. Costs time by the text, never by the exponent.
    #[must_use]
    pub fn ceil(&self) -> Option<i128> {
        let fraction_above = *self > Self::int(0) && !self.is_integer();
        self.truncated()?.checked_add(fraction_above.into())
    }

    /// The whole part, towards zero.
    fn truncated(&self) -> Option<i128> {
        match self.0 {
            // Beyond 18 decimals the power exceeds every magnitude.
            Repr::Small { digits, scale } => Some(pow10(scale).map_or(0, |unit| i128::from(digits / unit))),
            Repr::Text(_) => self.with_decimal(|number| number.truncated()),
        }
    }

    /// Whether the value, whole or not, lies between the least and the greatest `i64`.
    #[must_use]
    pub fn is_within_i64(&self) -> bool {
        self.is_between(i64::MIN.into(), i64::MAX.into())
    }

    /// Whether the value, whole or not, lies between zero and the greatest `u64`.
    #[must_use]
    pub fn is_within_u64(&self) -> bool {
        self.is_between(0, u64::MAX.into())
    }

    fn is_between(&self, least: i128, greatest: i128) -> bool {
        self.floor().is_some_and(|floor| floor >= least) && self.ceil().is_some_and(|ceil| ceil <= greatest)
    }

    /// The nearest `f64`; infinite beyond its range, zero below it.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        // Both operands are exact, so the one division rounds correctly.
        const EXACT: u64 = 1 << 53;
        if let Repr::Small { digits, scale } = self.0
            && digits.unsigned_abs() <= EXACT
            && let Some(unit) = pow10(scale)
            && unit.unsigned_abs() <= EXACT
        {
            return digits as f64 / unit as f64;
        }
        self.with_text(|text| text.parse().unwrap_or(f64::NAN))
    }

    /// Whether this number divided by `divisor` is a whole number, exactly.
    ///
    /// Zero is a multiple of everything but zero; nothing is a multiple of zero. Signs
    /// do not matter. Linear in this number's text for divisors of up to 37 digits.
    #[must_use]
    pub fn is_multiple_of(&self, divisor: &Self) -> bool {
        if let (&Repr::Small { digits: a, scale: sa }, &Repr::Small { digits: b, scale: sb }) =
            (&self.0, &divisor.0)
        {
            if b == 0 {
                return false;
            }
            // Both in units of the finer scale, when that fits.
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

    /// Rounds to `decimals` decimals, halves away from zero: to three decimals,
    /// `0.0005` becomes `0.001` and `-0.0005` becomes `-0.001`.
    ///
    /// A value that needs no rounding comes back with its text; any other result has
    /// exactly `decimals` decimals, and zero has no sign.
    #[must_use]
    pub fn round_half_up(&self, decimals: u8) -> Self {
        if let Repr::Small { digits, scale } = self.0 {
            return match scale.checked_sub(decimals) {
                None | Some(0) => self.clone(),
                Some(drop) => match divide_half_up(digits, drop) {
                    (_, Exactness::Exact) => self.clone(),
                    (digits, Exactness::Rounded) => Self::decimal(digits, decimals),
                },
            };
        }
        match self.with_decimal(|number| number.round_half_up(decimals)) {
            Rounded::Unchanged => self.clone(),
            Rounded::Text(text) => match Self::parse(&text) {
                Ok(number) => number,
                Err(_) => Self(Repr::Text(Cow::Owned(text))),
            },
        }
    }

    /// The value in whole units of `10^-decimals`, rounded as by
    /// [`round_half_up`](Self::round_half_up): with two decimals, `12.345` is `1235`.
    ///
    /// `None` when that does not fit an `i64`.
    #[must_use]
    pub fn scaled(&self, decimals: u8) -> Option<i64> {
        match self.0 {
            Repr::Small { digits, scale } => match scale.checked_sub(decimals) {
                Some(drop) => Some(divide_half_up(digits, drop).0),
                None if digits == 0 => Some(0),
                None => digits.checked_mul(pow10(decimals - scale)?),
            },
            Repr::Text(_) => match self.with_decimal(|number| number.round_half_up(decimals)) {
                Rounded::Unchanged => self.with_decimal(|number| number.units(decimals)),
                Rounded::Text(text) => Decimal::new(&text).units(decimals),
            },
        }
    }

    #[inline(never)]
    fn cmp_unequal_scales(&self, other: &Self) -> Ordering {
        if let (&Repr::Small { digits: a, scale: sa }, &Repr::Small { digits: b, scale: sb }) =
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

/// The powers of ten within `i64`.
const POWERS: [i64; 19] = {
    let mut powers = [1; 19];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// `10^exponent` where it fits, which is up to 18.
#[inline]
fn pow10(exponent: u8) -> Option<i64> {
    POWERS.get(usize::from(exponent)).copied()
}

enum Exactness {
    Exact,
    Rounded,
}

/// `digits / 10^drop`, halves away from zero.
fn divide_half_up(digits: i64, drop: u8) -> (i64, Exactness) {
    let magnitude = digits.unsigned_abs();
    let Some(unit) = 10_u64.checked_pow(u32::from(drop)) else {
        // 10^20 is more than twice the largest magnitude, so nothing reaches one half.
        return (0, if digits == 0 { Exactness::Exact } else { Exactness::Rounded });
    };
    let (whole, rest) = (magnitude / unit, magnitude % unit);
    if rest == 0 {
        // `digits` itself when the unit is 1, otherwise small enough for any cast.
        return (if drop == 0 { digits } else { digits.signum() * whole as i64 }, Exactness::Exact);
    }
    let rounded = whole + u64::from(rest >= unit - rest);
    (digits.signum() * rounded as i64, Exactness::Rounded)
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
            (Repr::Small { digits: a, scale: sa }, Repr::Small { digits: b, scale: sb }) if sa == sb => {
                a.cmp(b)
            }
            // Against a whole number, as most bounds are: with the bound known, two instructions.
            (Repr::Small { digits: a, scale }, Repr::Small { digits: b, scale: 0 }) => {
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
            Repr::Small { digits, scale } => Canonical::small(digits, scale),
            Repr::Text(_) => self.with_decimal(|number| number.canonical()),
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
        Self::int(value)
    }
}

impl From<i32> for Number {
    #[inline]
    fn from(value: i32) -> Self {
        Self::int(value.into())
    }
}

impl From<u32> for Number {
    #[inline]
    fn from(value: u32) -> Self {
        Self::int(value.into())
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        match i64::try_from(value) {
            Ok(value) => Self::int(value),
            Err(_) => Self(Repr::Text(Cow::Owned(value.to_string()))),
        }
    }
}

impl TryFrom<f64> for Number {
    type Error = NumberError;

    /// The shortest text that reads back as the same float: `0.1`, `1`, `1e300`, `-0`.
    ///
    /// Fails with [`NumberError::NotFinite`] for infinities and NaN.
    fn try_from(value: f64) -> Result<Self, NumberError> {
        if !value.is_finite() {
            return Err(NumberError::NotFinite);
        }
        // `Debug` switches to exponents where `Display` would write hundreds of zeros.
        let text = format!("{value:?}");
        Self::parse(text.strip_suffix(".0").unwrap_or(&text))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Repr::Small { digits, scale: 0 } => serializer.serialize_i64(digits),
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
        let text = raw::text(deserializer)?;
        let parsed = match scan(text.as_bytes()) {
            Some(Scan::Small { digits, scale }) => Self(Repr::Small { digits, scale }),
            Some(Scan::Long) => Self(Repr::Text(Cow::Owned(text.into_owned()))),
            None => return Err(raw::unexpected(&text, "a number")),
        };
        Ok(parsed)
    }
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "not a JSON number",
            Self::NotFinite => "not a finite number",
            Self::Inexact => "beyond what the type holds exactly",
        })
    }
}

impl Error for NumberError {}
