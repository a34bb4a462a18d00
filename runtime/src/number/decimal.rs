//! Exact arithmetic on decimal numbers of any length, for numbers that have no binary representation.
//!
//! A number is split into digits and exponent in place, without expanding the exponent. The cost depends on
//! the length of the number and never on the magnitude of its value.

use std::cmp::Ordering;
use std::iter::repeat_n;

/// The value `0.DIGITS * 10^point`, where `DIGITS` has neither leading nor trailing zeros. Zero has no
/// digits.
pub(super) struct DecimalParts<'a> {
    negative: bool,
    /// The written digits before and after the decimal point.
    digits: [&'a [u8]; 2],
    point: Exponent,
}

/// The result of rounding a number.
pub(super) enum RoundedNumber {
    /// The number has no more decimals than requested.
    Unchanged,
    /// The printed result, with exactly the requested number of decimals.
    Text(String),
}

/// The canonical form that equal numbers share, for hashing.
#[derive(Hash)]
pub(super) enum CanonicalNumber {
    /// `digits * 10^exponent`, where `digits` is not divisible by ten.
    Short { negative: bool, digits: u64, exponent: i128 },
    /// All other numbers, as `0.DIGITS * 10^point`.
    Long { negative: bool, digits: Vec<u8>, point: Exponent },
}

impl CanonicalNumber {
    /// Returns the canonical form of `digits / 10^scale`.
    pub(super) fn from_scaled(digits: i64, scale: u8) -> Self {
        let negative = digits < 0;
        let mut digits = digits.unsigned_abs();
        let mut exponent = -i128::from(scale);
        if digits == 0 {
            exponent = 0;
        }
        while digits != 0 && digits.is_multiple_of(10) {
            digits /= 10;
            exponent += 1;
        }
        Self::Short { negative, digits, exponent }
    }
}

impl<'a> DecimalParts<'a> {
    /// Splits a JSON number. For any other string the result is unspecified.
    pub(super) fn new(text: &'a str) -> Self {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (int, frac) = mantissa.split_once('.').unwrap_or((mantissa, ""));

        let mut point = int.len() as i128;
        let (mut int, mut frac) = (int.as_bytes(), frac.as_bytes());
        while let [b'0', rest @ ..] = int {
            int = rest;
            point -= 1;
        }
        while int.is_empty()
            && let [b'0', rest @ ..] = frac
        {
            frac = rest;
            point -= 1;
        }
        while let [rest @ .., b'0'] = frac {
            frac = rest;
        }
        while frac.is_empty()
            && let [rest @ .., b'0'] = int
        {
            int = rest;
        }
        if int.is_empty() && frac.is_empty() {
            return Self { negative: false, digits: [int, frac], point: Exponent::Near(0) };
        }
        Self { negative, digits: [int, frac], point: Exponent::new(exponent, point) }
    }

    fn len(&self) -> usize {
        self.digits[0].len() + self.digits[1].len()
    }

    fn is_zero(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the significant digits as values from 0 to 9.
    fn digits(&self) -> impl Iterator<Item = u8> {
        let [int, frac] = self.digits;
        int.iter().chain(frac).map(|digit| digit.wrapping_sub(b'0').min(9))
    }

    pub(super) fn cmp(&self, other: &DecimalParts<'_>) -> Ordering {
        let sign = |number: &DecimalParts<'_>| match (number.is_zero(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let by_magnitude = || self.point.cmp(&other.point).then_with(|| self.digits().cmp(other.digits()));
        match sign(self).cmp(&sign(other)) {
            Ordering::Equal if self.negative => by_magnitude().reverse(),
            Ordering::Equal => by_magnitude(),
            unequal => unequal,
        }
    }

    pub(super) fn to_canonical(&self) -> CanonicalNumber {
        let negative = self.negative;
        if let Exponent::Near(point) = self.point
            && let Some(digits) =
                self.digits().try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(digit.into()))
        {
            return CanonicalNumber::Short { negative, digits, exponent: point - self.len() as i128 };
        }
        CanonicalNumber::Long { negative, digits: self.digits().collect(), point: self.point.clone() }
    }

    /// Returns the value as a coefficient that is not divisible by ten, and the exponent of its power of ten.
    /// Returns `None` if either does not fit.
    #[cfg(feature = "rust_decimal")]
    pub(super) fn to_coefficient(&self) -> Option<(i128, i128)> {
        let Exponent::Near(point) = self.point else { return None };
        let digits =
            self.digits().try_fold(0_i128, |sum, digit| sum.checked_mul(10)?.checked_add(digit.into()))?;
        let exponent = point.checked_sub(i128::try_from(self.len()).ok()?)?;
        Some((if self.negative { -digits } else { digits }, exponent))
    }

    /// Returns the number of zeros that must be appended to the digits to get the value times `10^shift`.
    /// Returns `None` if that product has a fraction.
    fn trailing_zeros(&self, shift: u8) -> Option<Exponent> {
        if self.is_zero() {
            return Some(Exponent::Near(0));
        }
        match &self.point {
            Exponent::Near(point) => {
                let zeros = point + i128::from(shift) - self.len() as i128;
                (zeros >= 0).then_some(Exponent::Near(zeros))
            }
            Exponent::Far { negative: true, .. } => None,
            far => Some(far.clone()),
        }
    }

    pub(super) fn is_integer(&self) -> bool {
        self.trailing_zeros(0).is_some()
    }

    pub(super) fn to_i128(&self) -> Option<i128> {
        self.to_scaled_i128(0)
    }

    /// Returns the integer part, rounded toward zero, if it fits into `i128`.
    pub(super) fn to_i128_truncated(&self) -> Option<i128> {
        if self.is_integer() {
            return self.to_i128();
        }
        let whole = match self.point {
            Exponent::Near(point) => usize::try_from(point).unwrap_or(0),
            // A number with a far positive exponent has no fraction, so this exponent is negative.
            Exponent::Far { .. } => 0,
        };
        fold_digits(self.digits().take(whole), self.negative)
    }

    /// Returns the value in units of `10^-decimals`, if it is an integer that fits into `i64`.
    pub(super) fn to_scaled_i64(&self, decimals: u8) -> Option<i64> {
        self.to_scaled_i128(decimals).and_then(|units| i64::try_from(units).ok())
    }

    fn to_scaled_i128(&self, decimals: u8) -> Option<i128> {
        let Some(Exponent::Near(zeros)) = self.trailing_zeros(decimals) else {
            return None;
        };
        // 10^39 exceeds the range of `i128`, so more zeros cannot fit.
        let zeros = usize::try_from(zeros).ok().filter(|zeros| *zeros < 40)?;
        fold_digits(self.digits().chain(repeat_n(0, zeros)), self.negative)
    }

    pub(super) fn is_multiple_of(&self, divisor: &DecimalParts<'_>) -> bool {
        if divisor.is_zero() {
            return false;
        }
        if self.is_zero() {
            return true;
        }
        // Let a = A * 10^i and b = B * 10^j, where neither A nor B is divisible by ten. If i < j, then a / b
        // = A / (B * 10^(j-i)) is not an integer. Otherwise B must divide A * 10^(i-j). Powers of ten only
        // cancel the factors two and five in B. B has fewer than four of them per digit, so the exponent can
        // be capped at that number.
        let enough = 4 * divisor.len();
        let (a, b) = (self.len() as i128, divisor.len() as i128);
        let Some(zeros) =
            self.point.add_offset(-a).saturating_distance(&divisor.point.add_offset(-b), enough)
        else {
            return false;
        };
        let dividend = self.digits().chain(repeat_n(0, zeros));
        if divisor.len() <= 37 {
            // With a divisor below 10^37, ten times a remainder plus a digit fits into 128 bits.
            let divisor = divisor.digits().fold(0_u128, |sum, digit| sum * 10 + u128::from(digit));
            if let Ok(small) = u64::try_from(divisor)
                && small < u64::MAX / 16
            {
                return dividend.fold(0, |rest, digit| (rest * 10 + u64::from(digit)) % small) == 0;
            }
            return dividend.fold(0, |rest, digit| (rest * 10 + u128::from(digit)) % divisor) == 0;
        }
        let divisor: Vec<u8> = divisor.digits().collect();
        long_remainder_is_zero(dividend, &divisor)
    }

    pub(super) fn round_half_up(&self, decimals: u8) -> RoundedNumber {
        if self.trailing_zeros(decimals).is_some() {
            return RoundedNumber::Unchanged;
        }
        let decimals = usize::from(decimals);
        let kept_digits = match self.point {
            Exponent::Near(point) => point + decimals as i128,
            Exponent::Far { .. } => -1,
        };
        // The number has a fraction, so not all digits are kept.
        let mut units: Vec<u8> = self.digits().take(usize::try_from(kept_digits).unwrap_or(0)).collect();
        let next = usize::try_from(kept_digits).ok().and_then(|kept_digits| self.digits().nth(kept_digits));
        if next.is_some_and(|digit| digit >= 5) {
            let nines = units.iter().rev().take_while(|digit| **digit == 9).count();
            let stay = units.len() - nines;
            units[stay..].fill(0);
            match units[..stay].last_mut() {
                Some(last) => *last += 1,
                None => units.insert(0, 1),
            }
        }
        let mut text = String::with_capacity(units.len() + decimals + 3);
        if self.negative && units.iter().any(|digit| *digit != 0) {
            text.push('-');
        }
        let missing = (decimals + 1).saturating_sub(units.len());
        let whole = missing + units.len() - decimals;
        for (index, digit) in repeat_n(0, missing).chain(units).enumerate() {
            if index == whole {
                text.push('.');
            }
            text.push(char::from(b'0' + digit));
        }
        RoundedNumber::Text(text)
    }
}

/// Returns the number with these decimal digits (values from 0 to 9), if it fits into `i128`.
fn fold_digits(mut digits: impl Iterator<Item = u8>, negative: bool) -> Option<i128> {
    digits.try_fold(0_i128, |sum, digit| {
        let digit = i128::from(digit);
        // Subtracts the digits of a negative number, so that `i128::MIN` can be reached.
        sum.checked_mul(10)?.checked_add(if negative { -digit } else { digit })
    })
}

/// Performs long division by a divisor of any length. All digits are values from 0 to 9. Returns true if the
/// remainder is zero.
fn long_remainder_is_zero(dividend: impl Iterator<Item = u8>, divisor: &[u8]) -> bool {
    let width = divisor.len() + 1;
    let padded: Vec<u8> = std::iter::once(0).chain(divisor.iter().copied()).collect();
    let mut rest = vec![0_u8; width];
    for digit in dividend {
        rest.rotate_left(1);
        rest[width - 1] = digit;
        while rest >= padded {
            let mut borrow = 0;
            for (left, right) in rest.iter_mut().zip(&padded).rev() {
                let (value, lend) = match left.checked_sub(right + borrow) {
                    Some(value) => (value, 0),
                    None => (*left + 10 - right - borrow, 1),
                };
                *left = value;
                borrow = lend;
            }
        }
    }
    rest.iter().all(|digit| *digit == 0)
}

/// The minimum magnitude of a far exponent.
const MIN_FAR: u128 = 10_u128.pow(37);

/// An integer of any size. It is `Near` below [`MIN_FAR`] and `Far` otherwise, so that equal values have
/// equal representations.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Exponent {
    Near(i128),
    Far {
        negative: bool,
        /// The decimal digits as values from 0 to 9, without a leading zero.
        magnitude: Vec<u8>,
    },
}

impl Exponent {
    /// Parses the exponent `text`, which matches `[+-]?[0-9]+`, and adds `offset`. The offset is at most the
    /// length of a number.
    fn new(text: &str, offset: i128) -> Self {
        let negative = text.starts_with('-');
        let digits = text.trim_start_matches(['+', '-']).trim_start_matches('0');
        if digits.len() <= 36 {
            let written = digits.bytes().fold(0, |sum, digit| sum * 10 + i128::from(digit & 15));
            return Self::Near(if negative { offset - written } else { offset + written });
        }
        let magnitude = digits.bytes().map(|digit| digit & 15).collect();
        Self::from_digits(negative, magnitude, offset)
    }

    /// Creates a number from at least 37 digits and adds `offset`, which has a much smaller magnitude.
    fn from_digits(negative: bool, mut magnitude: Vec<u8>, offset: i128) -> Self {
        let mut carry = if negative { -offset } else { offset };
        for digit in magnitude.iter_mut().rev() {
            if carry == 0 {
                break;
            }
            let sum = i128::from(*digit) + carry;
            *digit = sum.rem_euclid(10) as u8;
            carry = sum.div_euclid(10);
        }
        if carry > 0 {
            magnitude.insert(0, carry as u8);
        }
        let zeros = magnitude.iter().take_while(|digit| **digit == 0).count();
        magnitude.drain(..zeros);
        if magnitude.len() > 37 {
            return Self::Far { negative, magnitude };
        }
        let value = magnitude.iter().fold(0, |sum, digit| sum * 10 + i128::from(*digit));
        Self::Near(if negative { -value } else { value })
    }

    /// Adds an `offset`, which is at most the length of a number.
    fn add_offset(&self, offset: i128) -> Self {
        match self {
            Self::Near(value) if (value + offset).unsigned_abs() < MIN_FAR => Self::Near(value + offset),
            Self::Near(value) => {
                let magnitude = (value + offset).unsigned_abs().to_string();
                Self::from_digits(*value < 0, magnitude.bytes().map(|digit| digit & 15).collect(), 0)
            }
            Self::Far { negative, magnitude } => Self::from_digits(*negative, magnitude.clone(), offset),
        }
    }

    /// Returns `self - low`, capped at `max`, or `None` if it is negative.
    fn saturating_distance(&self, low: &Self, max: usize) -> Option<usize> {
        if let (Self::Near(high), Self::Near(low)) = (self, low) {
            return (high >= low).then(|| usize::try_from(high - low).unwrap_or(max).min(max));
        }
        if self < low {
            return None;
        }
        // Bisects by comparisons, because far exponents cannot be subtracted. `max` is small.
        let (mut reached, mut beyond) = (0, max + 1);
        while beyond - reached > 1 {
            let middle = reached + (beyond - reached) / 2;
            if low.add_offset(middle as i128) <= *self {
                reached = middle;
            } else {
                beyond = middle;
            }
        }
        Some(reached)
    }
}

impl Ord for Exponent {
    fn cmp(&self, other: &Self) -> Ordering {
        let far = |negative: bool| {
            if negative { Ordering::Less } else { Ordering::Greater }
        };
        match (self, other) {
            (Self::Near(a), Self::Near(b)) => a.cmp(b),
            (Self::Far { negative, .. }, Self::Near(_)) => far(*negative),
            (Self::Near(_), Self::Far { negative, .. }) => far(*negative).reverse(),
            (Self::Far { negative: false, .. }, Self::Far { negative: true, .. }) => Ordering::Greater,
            (Self::Far { negative: true, .. }, Self::Far { negative: false, .. }) => Ordering::Less,
            (Self::Far { negative, magnitude: a }, Self::Far { magnitude: b, .. }) => {
                let magnitudes = a.len().cmp(&b.len()).then_with(|| a.cmp(b));
                if *negative { magnitudes.reverse() } else { magnitudes }
            }
        }
    }
}

impl PartialOrd for Exponent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
