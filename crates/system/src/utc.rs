//! The time of day as results have it.

/// The current time in UTC, as RFC 3339 to the second.
pub fn now_utc() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}
