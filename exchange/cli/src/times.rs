//! Formats times for people.

use jiff::{Timestamp, tz::TimeZone};

/// The time zone of times in text output. JSON output always has the times of the contract, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeDisplay {
    /// Times are printed as in the contract: RFC 3339, in UTC.
    Utc,
    /// Times are printed in the time zone of this computer, with their offset from UTC.
    Local,
}

impl TimeDisplay {
    /// Formats a time of the contract. A string that is not a time stays unchanged.
    pub(crate) fn format(self, timestamp: &str) -> String {
        match (self, timestamp.parse::<Timestamp>()) {
            (Self::Local, Ok(time)) => {
                time.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S %:z").to_string()
            }
            _ => timestamp.to_owned(),
        }
    }
}
