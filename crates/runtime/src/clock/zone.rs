//! How far the machine's own time zone is ahead of UTC: what a person at this machine means by `15:00`.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// What the machine's zone is ahead of UTC at that instant, in seconds. A machine that names no zone is in UTC.
#[must_use]
pub fn utc_offset_s(at_ms: i64) -> i32 {
    let at = Timestamp::from_millisecond(at_ms).unwrap_or_default();
    TimeZone::system().to_offset(at).seconds()
}
