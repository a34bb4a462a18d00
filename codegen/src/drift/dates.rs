//! Calendar dates without a time of day: the expiry of accepted changes, and the sunset of deprecated
//! elements. Nothing here reads the clock; callers pass the current date.

use std::{fmt, str::FromStr};

use contract_runtime::timestamp::{Timestamp, format_unix_seconds};

const SECONDS_PER_DAY: i64 = 86_400;

/// A date of the Gregorian calendar in the years 0 to 9999, such as `2026-11-30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CalendarDate {
    days_since_1970: i64,
}

impl CalendarDate {
    /// Returns the date in UTC of a Unix time. Returns `None` outside the years 0 to 9999.
    #[must_use]
    pub fn from_unix_seconds(seconds: i64) -> Option<Self> {
        format_unix_seconds(seconds)?;
        Some(Self { days_since_1970: seconds.div_euclid(SECONDS_PER_DAY) })
    }
}

impl FromStr for CalendarDate {
    type Err = String;

    /// Parses a date in the form `YYYY-MM-DD` (RFC 3339, `full-date`).
    ///
    /// # Errors
    /// Returns a message if the string has another form or the day does not exist.
    fn from_str(text: &str) -> Result<Self, String> {
        let midnight = format!("{text}T00:00:00Z");
        let parsed = Timestamp::parse(&midnight).filter(|_| text.len() == 10);
        let days = parsed.map(|time| time.unix_seconds().div_euclid(SECONDS_PER_DAY));
        days.map(|days_since_1970| Self { days_since_1970 })
            .ok_or_else(|| format!("`{text}` is not a date of the form YYYY-MM-DD"))
    }
}

impl fmt::Display for CalendarDate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format_unix_seconds(self.days_since_1970 * SECONDS_PER_DAY).unwrap_or_default();
        formatter.write_str(text.get(..10).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_parsed_ordered_and_printed() {
        for valid in ["1969-12-31", "2024-02-29", "2026-11-30", "9999-12-31"] {
            assert_eq!(valid.parse::<CalendarDate>().map(|date| date.to_string()).as_deref(), Ok(valid));
        }
        for invalid in ["2026-02-29", "2026-13-01", "2026-1-01", "26-01-01", "2026-01-01T00:00:00Z", ""] {
            assert!(invalid.parse::<CalendarDate>().is_err(), "{invalid}");
        }
        let date = |text: &str| text.parse::<CalendarDate>();
        assert!(date("2025-12-31") < date("2026-01-01") && date("2026-09-30") < date("2026-10-01"));
    }

    #[test]
    fn dates_of_unix_times_are_in_utc() {
        let date = |seconds| CalendarDate::from_unix_seconds(seconds).map(|date| date.to_string());
        assert_eq!(date(86_399).as_deref(), Some("1970-01-01"));
        assert_eq!(date(86_400).as_deref(), Some("1970-01-02"));
        assert_eq!(date(-1).as_deref(), Some("1969-12-31"));
        assert_eq!(date(i64::MAX / 2), None);
    }
}
