//! [`Timestamp`]: the instant of an RFC 3339 date-time, for comparing strings by their instants.
//!
//! An instant has many representations, such as `00:00:00Z`, `00:00:00.0z` and `01:00:00+01:00`. Their
//! lexicographic order differs from their order in time: `00:00:00.5Z` sorts before `00:00:00Z`. A timestamp
//! borrows from the string and is parsed when it is compared. Types store and serialize the string.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// An exact instant in UTC, with any number of fraction digits and with leap seconds.
///
/// Ordered by time. Two timestamps are equal if they denote the same instant, regardless of their spelling.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp<'t> {
    /// The minutes since 1970-01-01T00:00Z. Offsets are always whole minutes.
    minutes: i64,
    /// The second within the minute, from 0 to 60, where 60 is a leap second.
    second: u8,
    /// The fraction digits without trailing zeros, so that their lexicographic order is the numeric order.
    fraction: &'t str,
}

impl<'t> Timestamp<'t> {
    /// Parses an RFC 3339 date-time with any offset. `T` and `Z` are accepted in either case (RFC 3339, 5.6).
    ///
    /// Returns `None` for any other string, for a day that does not exist, and for second 60 unless it is at
    /// the end of a day in UTC.
    #[must_use]
    pub fn parse(text: &'t str) -> Option<Self> {
        let (date, rest) = text.split_at_checked(10)?;
        let [year, month, day] = parse_triple(date, '-')?;
        let rest = rest.strip_prefix(['T', 't'])?;
        let (time, rest) = rest.split_at_checked(8)?;
        let [hour, minute, second] = parse_triple(time, ':')?;
        let (fraction, offset) = match rest.strip_prefix('.') {
            Some(rest) => {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                rest.split_at_checked(digits).filter(|_| digits > 0)?
            }
            None => ("", rest),
        };
        let day_exists = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
        if !day_exists || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let minutes =
            days_since_1970(year, month, day) * 1440 + hour * 60 + minute - parse_offset_minutes(offset)?;
        if second == 60 && minutes.rem_euclid(1440) != 1439 {
            return None;
        }
        let second = u8::try_from(second).ok()?;
        Some(Self { minutes, second, fraction: fraction.trim_end_matches('0') })
    }

    /// Returns the whole seconds since 1970-01-01T00:00:00Z in Unix time, in which a leap second has the same
    /// number as the second after it.
    #[must_use]
    pub const fn unix_seconds(&self) -> i64 {
        self.minutes * 60 + self.second as i64
    }

    /// Returns the nanoseconds within the second. Further digits are truncated.
    #[must_use]
    pub fn subsec_nanos(&self) -> u32 {
        let digits = self.fraction.bytes().map(|digit| u32::from(digit - b'0'));
        digits.chain(std::iter::repeat(0)).take(9).fold(0, |sum, digit| sum * 10 + digit)
    }
}

impl fmt::Debug for Timestamp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Moment({}.{:09})", self.unix_seconds(), self.subsec_nanos())
    }
}

/// Compares two strings by their instants. Strings that are not date-times sort last, by their bytes.
#[must_use]
pub fn compare_timestamps(a: &str, b: &str) -> Ordering {
    comparison_key(a).cmp(&comparison_key(b))
}

/// Hashes a string consistently with [`compare_timestamps`].
pub fn hash_timestamp<H: Hasher>(text: &str, state: &mut H) {
    comparison_key(text).hash(state);
}

fn comparison_key(text: &str) -> Result<Timestamp<'_>, &str> {
    Timestamp::parse(text).ok_or(text)
}

/// Parses three groups of two or four digits, separated by `mark`.
fn parse_triple(text: &str, mark: char) -> Option<[i64; 3]> {
    let mut parts = text.split(mark).map(parse_digits);
    let found = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(found)
}

/// Parses two or four ASCII digits. Rejects signs, spaces and the digits of other scripts. The lengths of the
/// groups are determined by the total length: if the year has three digits, the month has three as well,
/// which fails.
fn parse_digits(digits: &str) -> Option<i64> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    (plain && matches!(digits.len(), 2 | 4)).then(|| digits.parse().ok())?
}

/// Parses an offset and returns it in minutes east of UTC.
fn parse_offset_minutes(offset: &str) -> Option<i64> {
    if matches!(offset, "Z" | "z") {
        return Some(0);
    }
    let (sign, rest) = offset.split_at_checked(1)?;
    let sign = match sign {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (parse_digits(hours)?, parse_digits(minutes)?);
    (rest.len() == 5 && hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub(crate) const fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the number of days from 1970-01-01 to a day of the proleptic Gregorian calendar, for the years 0
/// to 9999.
pub(crate) const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March here, so that the leap day is the last day of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // The five months from March on have 153 days in total, and so have the next five.
    let before_month = (153 * month + 2) / 5;
    year * 365 + leap_days + before_month + day - 719_469
}

/// Formats seconds since 1970-01-01T00:00:00Z as an RFC 3339 date-time in UTC. [`Timestamp::unix_seconds`]
/// returns the same number for the result. Returns `None` outside the years 0 to 9999.
#[must_use]
pub fn format_unix_seconds(unix_seconds: i64) -> Option<String> {
    let (days, second) = (unix_seconds.div_euclid(86_400) + 719_468, unix_seconds.rem_euclid(86_400));
    // The calendar repeats in cycles of 400 years, which start on 1 March here.
    let (cycle, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let year = Some(cycle * 400 + year).filter(|year| (0..=9999).contains(year))?;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering::{Equal, Greater, Less};

    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59Z", -1),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2000-03-01T00:00:00Z", 951_868_800),
            ("2038-01-19T03:14:07Z", 2_147_483_647),
            ("0001-01-01T00:00:00Z", -62_135_596_800),
            ("0000-02-29T00:00:00Z", -62_162_121_600),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
            ("2026-01-02T03:04:05+14:00", 1_767_272_645),
            ("2026-01-02T03:04:05-00:30", 1_767_324_845),
        ] {
            assert_eq!(Timestamp::parse(text).map(|m| m.unix_seconds()), Some(seconds), "{text}");
        }
    }

    /// The day numbers of 800 years are consecutive.
    #[test]
    fn no_day_is_missed_or_counted_twice() {
        let mut before = days_since_1970(1600, 1, 1) - 1;
        for year in 1600..2400 {
            for month in 1..=12 {
                for day in 1..=days_in_month(year, month) {
                    assert_eq!(days_since_1970(year, month, day), before + 1, "{year}-{month}-{day}");
                    before += 1;
                }
            }
        }
    }

    #[test]
    fn strings_compare_by_instant() {
        for (a, b, expected) in [
            ("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00Z", Greater),
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000z", Equal),
            ("2026-01-01t00:00:00+00:00", "2026-01-01T00:00:00Z", Equal),
            ("2026-01-01T01:00:00+01:00", "2025-12-31T23:00:00-01:00", Equal),
            ("2026-01-01T00:00:00.10Z", "2026-01-01T00:00:00.1Z", Equal),
            ("2026-01-01T00:00:00.09Z", "2026-01-01T00:00:00.1Z", Less),
            (
                "2026-01-01T00:00:00.12345678901234567890123Z",
                "2026-01-01T00:00:00.12345678901234567890124Z",
                Less,
            ),
            ("2016-12-31T23:59:60.5Z", "2016-12-31T23:59:59.9Z", Greater),
            ("2016-12-31T23:59:60.5Z", "2017-01-01T00:00:00Z", Less),
            ("2017-01-01T00:59:60+01:00", "2016-12-31T23:59:60Z", Equal),
            ("9999-12-31T23:59:59Z", "2026-02-30T00:00:00Z", Less),
            ("2026-02-30T00:00:00Z", "2026-02-30T00:00:00.0Z", Greater),
            ("soon", "soon", Equal),
        ] {
            assert_eq!(
                (compare_timestamps(a, b), compare_timestamps(b, a)),
                (expected, expected.reverse()),
                "{a} {b}"
            );
            let hashed = |text: &str| {
                let mut state = std::collections::hash_map::DefaultHasher::new();
                hash_timestamp(text, &mut state);
                state.finish()
            };
            assert_eq!(hashed(a) == hashed(b), expected == Equal, "{a} {b}");
        }
    }

    #[test]
    fn nanoseconds_are_padded_and_cut() {
        for (text, expected) in
            [("Z", 0), (".5Z", 500_000_000), (".000000001Z", 1), (".1234567899Z", 123_456_789)]
        {
            let text = format!("2026-01-01T00:00:00{text}");
            assert_eq!(Timestamp::parse(&text).map(|m| m.subsec_nanos()), Some(expected), "{text}");
        }
    }

    #[test]
    fn rejects_invalid_date_times() {
        for text in [
            "",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01 00:00:00Z",
            "2026-1-01T00:00:00Z",
            "026-001-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T23:59:60+01:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00,5Z",
            "2026-01-01T00:00:00.5",
            "2026-01-01T00:00:00ZZ",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+00:60",
            "2026-01-01T00:00:00+0000",
            "2026-01-01T00:00:00+00:0000",
            "+026-01-01T00:00:00Z",
            "٢٠٢٦-01-01T00:00:00Z",
            "2026-01-01T00:00:00Zé",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn formatted_seconds_parse_back() {
        assert_eq!(format_unix_seconds(0).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(format_unix_seconds(-1).as_deref(), Some("1969-12-31T23:59:59Z"));
        assert_eq!(format_unix_seconds(951_782_400).as_deref(), Some("2000-02-29T00:00:00Z"));
        assert_eq!(format_unix_seconds(253_402_300_799).as_deref(), Some("9999-12-31T23:59:59Z"));
        assert_eq!(format_unix_seconds(-62_167_219_200).as_deref(), Some("0000-01-01T00:00:00Z"));
        assert_eq!(
            (
                format_unix_seconds(253_402_300_800),
                format_unix_seconds(-62_167_219_201),
                format_unix_seconds(i64::MAX)
            ),
            (None, None, None)
        );
        // The test covers every day of two 400-year cycles, each at a different time of day.
        for day in -150_000_i64..150_000 {
            let seconds = day * 86_400 + (day * 7919).rem_euclid(86_400);
            let text = format_unix_seconds(seconds).unwrap();
            assert_eq!(Timestamp::parse(&text).map(|moment| moment.unix_seconds()), Some(seconds), "{text}");
        }
    }
}
