//! `Retry-After` (RFC 9110, 10.2.3): seconds, or a date in any of the three forms of HTTP.

use std::time::{Duration, SystemTime};

use http::{
    HeaderMap,
    header::{DATE, RETRY_AFTER},
};

use crate::moment::{days_of, days_since_1970};

/// When to ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// After so long.
    Delay(Duration),
    /// At this time of the server's clock.
    At(SystemTime),
}

impl RetryAfter {
    /// What the headers of an answer say; nothing when they say it in another form. Of several lines,
    /// such as a proxy's beside the server's, the longest wait counts: never shorter is right. A date
    /// beside seconds is compared by the answer's `Date`, and counts as the longer where there is none.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        Self::longest(headers, theirs(headers).unwrap_or(SystemTime::UNIX_EPOCH))
    }

    /// The longest wait of all lines that can be read, from a moment of the server's clock.
    fn longest(headers: &HeaderMap, now: SystemTime) -> Option<Self> {
        let lines = headers.get_all(RETRY_AFTER).iter();
        let read = lines.filter_map(|line| Self::parse(line.to_str().ok()?));
        read.max_by_key(|after| after.from(now))
    }

    /// How long the headers of an answer that came just now ask to wait. A date is of the server's
    /// clock: it is understood by the answer's `Date`, and by the clock of this side, `now`, where
    /// there is none.
    #[must_use]
    pub fn wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
        let now = theirs(headers).unwrap_or(now);
        Some(Self::longest(headers, now)?.from(now))
    }

    /// Reads the value of the header. Of several numbers of seconds, as lines that a proxy joined (RFC 9110,
    /// 5.3), the largest counts.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let seconds = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            // RFC 9110 sets no bound; what no clock can hold is the longest wait there is.
            plain.then(|| text.parse().unwrap_or(u64::MAX))
        };
        match text.split(',').map(|one| seconds(one.trim())).collect::<Option<Vec<u64>>>() {
            Some(all) => all.into_iter().max().map(|longest| Self::Delay(Duration::from_secs(longest))),
            None => date(text.trim()).map(Self::At),
        }
    }

    /// How long to wait from a moment of the server's clock; nothing when that is over.
    #[must_use]
    pub fn from(self, now: SystemTime) -> Duration {
        match self {
            Self::Delay(delay) => delay,
            Self::At(time) => time.duration_since(now).unwrap_or(Duration::ZERO),
        }
    }
}

/// The server's clock, as an answer shows it once.
fn theirs(headers: &HeaderMap) -> Option<SystemTime> {
    let mut lines = headers.get_all(DATE).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    date(line.to_str().ok()?.trim())
}

/// RFC 9110, 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`,
/// `Sun Nov  6 08:49:37 1994`. A year of two digits is of the hundred years up to 2069.
fn date(text: &str) -> Option<SystemTime> {
    let words: Vec<&str> = text.split([' ', ',', '-']).filter(|word| !word.is_empty()).collect();
    let (day, month, year, time) = match words.as_slice() {
        [_, day, month, year, time, "GMT"] => (day, month, year, time),
        [_, month, day, time, year] => (day, month, year, time),
        _ => return None,
    };
    let number = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        let plain = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse::<i64>().ok()).flatten()
    };
    let (day, year) = (
        number(day, 1..=2)?,
        match year.len() {
            2 => number(year, 2..=2).map(|year| if year < 70 { 2000 + year } else { 1900 + year })?,
            _ => number(year, 4..=4)?,
        },
    );
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = i64::try_from(MONTHS.iter().position(|name| name == month)?).ok()? + 1;
    let mut parts = time.split(':').map(|part| number(part, 2..=2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some()
        || year < 1970
        || !(1..=days_of(year, month)).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let days = days_since_1970(year, month, day);
    let seconds = u64::try_from(((days * 24 + hour) * 60 + minute) * 60 + second).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Option<RetryAfter> {
        Some(RetryAfter::At(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)))
    }

    #[test]
    fn seconds_and_the_three_forms_of_dates_are_read() {
        let check = |text: &str, expect| assert_eq!(RetryAfter::parse(text), expect, "{text}");
        check("120", Some(RetryAfter::Delay(Duration::from_secs(120))));
        check(" 0 ", Some(RetryAfter::Delay(Duration::ZERO)));
        check("99999999999999999999", Some(RetryAfter::Delay(Duration::from_secs(u64::MAX))));
        check("7, 3600,8", Some(RetryAfter::Delay(Duration::from_secs(3600))));
        check("Sun, 06 Nov 1994 08:49:37 GMT", at(784_111_777));
        check("Sunday, 06-Nov-94 08:49:37 GMT", at(784_111_777));
        check("Sun Nov  6 08:49:37 1994", at(784_111_777));
        check("Thu, 01 Jan 1970 00:00:00 GMT", at(0));
        check("Thu, 29 Feb 2024 23:59:60 GMT", at(1_709_251_200));
        check("Fri, 31 Dec 9999 23:59:59 GMT", at(253_402_300_799));
        for none in [
            "",
            "-1",
            "1.5",
            "soon",
            "7, soon",
            "Wed, 29 Feb 2023 00:00:00 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
        ] {
            check(none, None);
        }
    }

    #[test]
    fn what_is_over_asks_for_no_wait() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let wait = |text: &str| RetryAfter::parse(text).map(|after| after.from(now).as_secs());
        assert_eq!(wait("Thu, 01 Jan 1970 00:01:00 GMT"), Some(0));
        assert_eq!(wait("Thu, 01 Jan 1970 00:02:00 GMT"), Some(20));
        assert_eq!(wait("7"), Some(7));
        let mut headers = HeaderMap::new();
        headers.append(RETRY_AFTER, http::HeaderValue::from_static("7"));
        assert!(RetryAfter::of(&headers).is_some());
    }

    /// A proxy that adds a line of its own takes nothing away from what the server asks for.
    #[test]
    fn of_several_lines_the_longest_counts() {
        let check = |lines: &[&'static str], shown: Option<&'static str>, expect: Option<u64>| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(RETRY_AFTER, http::HeaderValue::from_static(line));
            }
            if let Some(shown) = shown {
                headers.insert(DATE, http::HeaderValue::from_static(shown));
            }
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
            let wait = RetryAfter::wait(&headers, now).map(|wait| wait.as_secs());
            assert_eq!(wait, expect, "{lines:?}");
            let of =
                RetryAfter::of(&headers).map(|after| after.from(theirs(&headers).unwrap_or(now)).as_secs());
            assert_eq!(of, expect, "{lines:?}");
        };
        let at = "Thu, 01 Jan 1970 00:03:00 GMT";
        check(&["7", "8"], None, Some(8));
        check(&["8", "soon", "7"], None, Some(8));
        check(&["soon", ""], None, None);
        check(&[at, "7"], None, Some(80));
        check(&["7", at], Some("Thu, 01 Jan 1970 00:02:50 GMT"), Some(10));
        check(&["70", at], Some("Thu, 01 Jan 1970 00:02:50 GMT"), Some(70));
    }

    /// Whatever the clock of this side says, which may be hours off.
    #[test]
    fn a_date_is_of_the_servers_clock() {
        let wait = |date: &'static str, after: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(DATE, http::HeaderValue::from_static(date));
            headers.insert(RETRY_AFTER, http::HeaderValue::from_static(after));
            let wait = RetryAfter::wait(&headers, SystemTime::UNIX_EPOCH + Duration::from_secs(100));
            wait.map(|wait| wait.as_secs())
        };
        let at = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:17 GMT", at), Some(20));
        assert_eq!(wait("Sun, 06 Nov 1994 08:50:00 GMT", at), Some(0));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:17 GMT", "7"), Some(7));
        assert_eq!(wait("yesterday", "Thu, 01 Jan 1970 00:02:00 GMT"), Some(20));
        assert_eq!(RetryAfter::wait(&HeaderMap::new(), SystemTime::UNIX_EPOCH), None);
    }
}
