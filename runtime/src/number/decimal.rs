//! Exact arithmetic on number texts of any length, for what does not fit into binary.
//!
//! A text is taken apart in place; an exponent stays an exponent, so the cost depends on
//! the length of the text and never on the size of the value.

use std::cmp::Ordering;
use std::iter::repeat_n;

/// The value `0.DIGITS * 10^point`, with neither leading nor trailing zeros in `DIGITS`;
/// zero has no digits.
pub(super) struct Decimal<'a> {
    negative: bool,
    /// The digits before and after the decimal point of the text.
    digits: [&'a [u8]; 2],
    point: Exponent,
}

/// What rounding makes of a number.
pub(super) enum Rounded {
    /// It has no more decimals than asked for.
    Unchanged,
    /// The text of the result, with exactly the decimals asked for.
    Text(String),
}

/// What equal numbers have in common, for hashing.
#[derive(Hash)]
pub(super) enum Canonical {
    /// `digits * 10^exponent`, `digits` not divisible by ten.
    Short { negative: bool, digits: u64, exponent: i128 },
    /// Everything else; again `0.DIGITS * 10^point`.
    Long { negative: bool, digits: Vec<u8>, point: Exponent },
}

impl Canonical {
    /// The canonical form of `digits / 10^scale`.
    pub(super) fn small(digits: i64, scale: u8) -> Self {
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

impl<'a> Decimal<'a> {
    /// Takes a JSON number apart. For any other text the value is unspecified.
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

    /// The significant digits as values 0 to 9, whatever the text is.
    fn digits(&self) -> impl Iterator<Item = u8> {
        let [int, frac] = self.digits;
        int.iter().chain(frac).map(|digit| digit.wrapping_sub(b'0').min(9))
    }

    pub(super) fn cmp(&self, other: &Decimal<'_>) -> Ordering {
        let sign = |number: &Decimal<'_>| match (number.is_zero(), number.negative) {
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

    pub(super) fn canonical(&self) -> Canonical {
        let negative = self.negative;
        if let Exponent::Near(point) = self.point
            && let Some(digits) =
                self.digits().try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(digit.into()))
        {
            return Canonical::Short { negative, digits, exponent: point - self.len() as i128 };
        }
        Canonical::Long { negative, digits: self.digits().collect(), point: self.point.clone() }
    }

    /// The value as a coefficient, not divisible by ten, and the power of ten that it is multiplied
    /// by; `None` when either does not fit.
    #[cfg(feature = "rust_decimal")]
    pub(super) fn coefficient(&self) -> Option<(i128, i128)> {
        let Exponent::Near(point) = self.point else { return None };
        let digits =
            self.digits().try_fold(0_i128, |sum, digit| sum.checked_mul(10)?.checked_add(digit.into()))?;
        let exponent = point.checked_sub(i128::try_from(self.len()).ok()?)?;
        Some((if self.negative { -digits } else { digits }, exponent))
    }

    /// Zeros to append to the digits to get a whole number; `None` when there is a fraction.
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
        self.shifted(0)
    }

    /// The whole part, towards zero, where it fits.
    pub(super) fn truncated(&self) -> Option<i128> {
        if self.is_integer() {
            return self.to_i128();
        }
        let whole = match self.point {
            Exponent::Near(point) => usize::try_from(point).unwrap_or(0),
            // A far exponent upwards leaves no fraction, so this one points downwards.
            Exponent::Far { .. } => 0,
        };
        signed(self.digits().take(whole), self.negative)
    }

    /// The value in units of `10^-decimals`, where that is whole and fits.
    pub(super) fn units(&self, decimals: u8) -> Option<i64> {
        self.shifted(decimals).and_then(|units| i64::try_from(units).ok())
    }

    fn shifted(&self, decimals: u8) -> Option<i128> {
        let Some(Exponent::Near(zeros)) = self.trailing_zeros(decimals) else {
            return None;
        };
        // 10^39 exceeds the type, so more zeros than that cannot matter.
        let zeros = usize::try_from(zeros).ok().filter(|zeros| *zeros < 40)?;
        signed(self.digits().chain(repeat_n(0, zeros)), self.negative)
    }

    pub(super) fn is_multiple_of(&self, divisor: &Decimal<'_>) -> bool {
        if divisor.is_zero() {
            return false;
        }
        if self.is_zero() {
            return true;
        }
        // With a = A * 10^i and b = B * 10^j, neither A nor B divisible by ten: if i < j,
        // a / b = A / (B * 10^(j-i)) is not whole. Otherwise B must divide A * 10^(i-j).
        // Powers of ten only help against the twos and fives in B; B has fewer than four
        // of them per digit, so the exponent is cut off there.
        let enough = 4 * divisor.len();
        let (a, b) = (self.len() as i128, divisor.len() as i128);
        let Some(zeros) = self.point.plus(-a).distance(&divisor.point.plus(-b), enough) else {
            return false;
        };
        let dividend = self.digits().chain(repeat_n(0, zeros));
        if divisor.len() <= 37 {
            // Below 10^37, ten times a remainder plus a digit stays within 128 bits.
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

    pub(super) fn round_half_up(&self, decimals: u8) -> Rounded {
        if self.trailing_zeros(decimals).is_some() {
            return Rounded::Unchanged;
        }
        let decimals = usize::from(decimals);
        let kept = match self.point {
            Exponent::Near(point) => point + decimals as i128,
            Exponent::Far { .. } => -1,
        };
        // There is a fraction, so fewer digits are kept than there are.
        let mut units: Vec<u8> = self.digits().take(usize::try_from(kept).unwrap_or(0)).collect();
        let next = usize::try_from(kept).ok().and_then(|kept| self.digits().nth(kept));
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
        for (at, digit) in repeat_n(0, missing).chain(units).enumerate() {
            if at == whole {
                text.push('.');
            }
            text.push(char::from(b'0' + digit));
        }
        Rounded::Text(text)
    }
}

/// The number that the digits (values 0 to 9) write, where it fits.
fn signed(mut digits: impl Iterator<Item = u8>, negative: bool) -> Option<i128> {
    digits.try_fold(0_i128, |sum, digit| {
        let digit = i128::from(digit);
        // Counting down for negatives reaches the smallest value too.
        sum.checked_mul(10)?.checked_add(if negative { -digit } else { digit })
    })
}

/// Long division by a divisor of any length; all digits are values 0 to 9.
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

/// Where an exponent no longer counts as near.
const FAR: u128 = 10_u128.pow(37);

/// An integer of any size. `Near` below [`FAR`], `Far` from there on, so that equal
/// values have equal forms.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Exponent {
    Near(i128),
    Far {
        negative: bool,
        /// Decimal digits, values 0 to 9, no leading zero.
        magnitude: Vec<u8>,
    },
}

impl Exponent {
    /// The exponent `text`, `[+-]?[0-9]+`, plus `offset`, which is no larger than the
    /// length of a text.
    fn new(text: &str, offset: i128) -> Self {
        let negative = text.starts_with('-');
        let digits = text.trim_start_matches(['+', '-']).trim_start_matches('0');
        if digits.len() <= 36 {
            let written = digits.bytes().fold(0, |sum, digit| sum * 10 + i128::from(digit & 15));
            return Self::Near(if negative { offset - written } else { offset + written });
        }
        let magnitude = digits.bytes().map(|digit| digit & 15).collect();
        Self::far(negative, magnitude, offset)
    }

    /// The number of at least 37 digits plus a far smaller `offset`.
    fn far(negative: bool, mut magnitude: Vec<u8>, offset: i128) -> Self {
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

    /// The sum with an `offset` no larger than the length of a text.
    fn plus(&self, offset: i128) -> Self {
        match self {
            Self::Near(value) if (value + offset).unsigned_abs() < FAR => Self::Near(value + offset),
            Self::Near(value) => {
                let magnitude = (value + offset).unsigned_abs().to_string();
                Self::far(*value < 0, magnitude.bytes().map(|digit| digit & 15).collect(), 0)
            }
            Self::Far { negative, magnitude } => Self::far(*negative, magnitude.clone(), offset),
        }
    }

    /// `self - low`, cut off at `most`; `None` when negative.
    fn distance(&self, low: &Self, most: usize) -> Option<usize> {
        if let (Self::Near(high), Self::Near(low)) = (self, low) {
            return (high >= low).then(|| usize::try_from(high - low).unwrap_or(most).min(most));
        }
        if self < low {
            return None;
        }
        // Comparing is easy where subtracting is not, and `most` is small.
        let (mut reached, mut beyond) = (0, most + 1);
        while beyond - reached > 1 {
            let middle = reached + (beyond - reached) / 2;
            if low.plus(middle as i128) <= *self {
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
