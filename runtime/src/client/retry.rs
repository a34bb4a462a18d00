//! Parses `Retry-After` (RFC 9110, 10.2.3), which is a number of seconds or a date in one of the three HTTP
//! formats.

use std::time::{Duration, SystemTime};

use http::{
    HeaderMap,
    header::{DATE, RETRY_AFTER},
};

/// The time from which a request may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// A delay after the response.
    Delay(Duration),
    /// A time by the server's clock.
    At(SystemTime),
}

impl RetryAfter {
    /// Parses the header. Returns `None` if no line of it is valid.
    ///
    /// If there are several lines, for example because a proxy added one, the longest delay counts. To
    /// compare a date with a number of seconds, the `Date` of the response is used. Without `Date`, the date
    /// counts as the longer delay.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        Self::longest_wait(headers, server_date(headers).unwrap_or(SystemTime::UNIX_EPOCH))
    }

    /// Returns the longest delay of all valid lines. `now` is a time by the server's clock.
    fn longest_wait(headers: &HeaderMap, now: SystemTime) -> Option<Self> {
        let lines = headers.get_all(RETRY_AFTER).iter();
        let read = lines.filter_map(|line| Self::parse(line.to_str().ok()?));
        read.max_by_key(|after| after.wait_from(now))
    }

    /// Returns the delay that the headers of a response request, if the response was just received. A date is
    /// converted relative to the `Date` of the response, or to the local clock `now` if there is none.
    #[must_use]
    pub fn wait_from_headers(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
        let now = server_date(headers).unwrap_or(now);
        Some(Self::longest_wait(headers, now)?.wait_from(now))
    }

    /// Parses a value of the header. If it contains several numbers of seconds, which a proxy may have joined
    /// (RFC 9110, 5.3), the largest counts.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let seconds = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            // RFC 9110 sets no upper bound. A number that is too large is capped.
            plain.then(|| text.parse().unwrap_or(u64::MAX))
        };
        match text.split(',').map(|one| seconds(one.trim())).collect::<Option<Vec<u64>>>() {
            Some(all) => all.into_iter().max().map(|max| Self::Delay(Duration::from_secs(max))),
            None => parse_http_date(text.trim()).map(Self::At),
        }
    }

    /// Returns the delay from `now`, which is a time by the server's clock. Returns zero if the date has
    /// passed.
    #[must_use]
    pub fn wait_from(self, now: SystemTime) -> Duration {
        match self {
            Self::Delay(delay) => delay,
            Self::At(time) => time.duration_since(now).unwrap_or(Duration::ZERO),
        }
    }
}

/// Returns the time by the server's clock, if `Date` occurs exactly once.
fn server_date(headers: &HeaderMap) -> Option<SystemTime> {
    let mut lines = headers.get_all(DATE).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    parse_http_date(line.to_str().ok()?.trim())
}

/// Parses a date in one of the three formats of RFC 9110, 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`,
/// `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`. Years of two digits are from 1970 to 2069.
fn parse_http_date(text: &str) -> Option<SystemTime> {
    if let Ok(time) = httpdate::parse_http_date(text) {
        return Some(time);
    }
    // RFC 9110 allows leap seconds, but the library rejects them. A leap second is one second after `:59`.
    let before = httpdate::parse_http_date(&text.replacen(":60 ", ":59 ", 1)).ok()?;
    before.checked_add(Duration::from_secs(1)).filter(|_| text.contains(":60 "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Option<RetryAfter> {
        Some(RetryAfter::At(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)))
    }

    #[test]
    fn seconds_and_three_date_formats_are_parsed() {
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
    fn past_date_needs_no_wait() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let wait = |text: &str| RetryAfter::parse(text).map(|after| after.wait_from(now).as_secs());
        assert_eq!(wait("Thu, 01 Jan 1970 00:01:00 GMT"), Some(0));
        assert_eq!(wait("Thu, 01 Jan 1970 00:02:00 GMT"), Some(20));
        assert_eq!(wait("7"), Some(7));
        let mut headers = HeaderMap::new();
        headers.append(RETRY_AFTER, http::HeaderValue::from_static("7"));
        assert!(RetryAfter::from_headers(&headers).is_some());
    }

    /// If there are several values, the longest delay counts, so that a line that a proxy adds does not
    /// shorten the server's delay.
    #[test]
    fn longest_of_several_values_counts() {
        let check = |lines: &[&'static str], shown: Option<&'static str>, expect: Option<u64>| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(RETRY_AFTER, http::HeaderValue::from_static(line));
            }
            if let Some(shown) = shown {
                headers.insert(DATE, http::HeaderValue::from_static(shown));
            }
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
            let wait = RetryAfter::wait_from_headers(&headers, now).map(|wait| wait.as_secs());
            assert_eq!(wait, expect, "{lines:?}");
            let of = RetryAfter::from_headers(&headers)
                .map(|after| after.wait_from(server_date(&headers).unwrap_or(now)).as_secs());
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

    /// A date is relative to the `Date` of the response, because the local clock may differ by hours.
    #[test]
    fn date_is_relative_to_the_server_clock() {
        let wait = |date: &'static str, after: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(DATE, http::HeaderValue::from_static(date));
            headers.insert(RETRY_AFTER, http::HeaderValue::from_static(after));
            let wait =
                RetryAfter::wait_from_headers(&headers, SystemTime::UNIX_EPOCH + Duration::from_secs(100));
            wait.map(|wait| wait.as_secs())
        };
        let at = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:17 GMT", at), Some(20));
        assert_eq!(wait("Sun, 06 Nov 1994 08:50:00 GMT", at), Some(0));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:17 GMT", "7"), Some(7));
        assert_eq!(wait("yesterday", "Thu, 01 Jan 1970 00:02:00 GMT"), Some(20));
        assert_eq!(RetryAfter::wait_from_headers(&HeaderMap::new(), SystemTime::UNIX_EPOCH), None);
    }
}
