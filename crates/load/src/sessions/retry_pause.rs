//! Whether a failed request is sent again, and when.

use super::cookies::date;
use crate::protocol::answer_state::values_of;
use crate::{
    failure::Failure,
    machine::clock::{NS_PER_S, whole_nanoseconds},
    scenario::model::Retries,
};

/// Statuses that say that a later request may succeed.
const PASSING: [u16; 7] = [408, 425, 429, 500, 502, 503, 504];

impl Retries {
    /// The pause before a request is sent again, in nanoseconds; `None`: it is not. `tries`: how often it was sent.
    pub(crate) fn pause_after(&self, failure: Failure, tries: u32) -> Option<u64> {
        if tries > self.max || !self.applies(failure) {
            return None;
        }
        let first = whole_nanoseconds(self.pause);
        let doubled = first.saturating_mul(1 << tries.saturating_sub(1).min(32));
        Some(doubled.min(whole_nanoseconds(self.pause_max)))
    }

    /// The same for an answer, whose header `Retry-After` counts (RFC 9110, 10.2.3). `unix`: nanoseconds since 1970.
    pub(crate) fn pause_after_answer(
        &self,
        failure: Failure,
        tries: u32,
        head: &[u8],
        unix: u64,
    ) -> Option<u64> {
        let pause = self.pause_after(failure, tries)?;
        let asked = retry_after(head, unix);
        Some(asked.map_or(pause, |asked| asked.min(whole_nanoseconds(self.pause_max))))
    }

    fn applies(&self, failure: Failure) -> bool {
        match failure {
            Failure::Status(status) => self.any_answer || PASSING.contains(&status),
            Failure::WrongBody
            | Failure::CheckFailed
            | Failure::NotCaptured
            | Failure::BodyNotKept => self.any_answer,
            Failure::Refused
            | Failure::ConnectFailed
            | Failure::NoPort
            | Failure::Reset
            | Failure::TimedOut
            | Failure::Malformed
            | Failure::Handshake(_)
            | Failure::Protocol => true,
            // No answer to a step; sessions have no clients, and their answers are not inspected.
            Failure::UnsolicitedAnswer
            | Failure::ClientEnded
            | Failure::TooManyRounds
            | Failure::Inspection(_) => false,
        }
    }
}

/// Nanoseconds until the instant that an answer names, as seconds or as a date.
fn retry_after(head: &[u8], unix: u64) -> Option<u64> {
    let value = values_of(head, b"retry-after").next()?;
    let text = std::str::from_utf8(value).ok()?;
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(seconds.saturating_mul(NS_PER_S));
    }
    let instant = u64::try_from(date(value)?).ok()?.saturating_mul(NS_PER_S);
    Some(instant.saturating_sub(unix))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const RETRIES: Retries = Retries {
        max: 4,
        pause: Duration::from_millis(100),
        pause_max: Duration::from_secs(60),
        any_answer: false,
    };
    const MS: u64 = 1_000_000;

    #[test]
    fn pauses_double_and_end() {
        let check = |failure, tries, expected: Option<u64>| {
            let pause = RETRIES.pause_after(failure, tries);
            assert_eq!(pause, expected.map(|ms| ms * MS), "{failure:?} {tries}");
        };
        check(Failure::TimedOut, 1, Some(100));
        check(Failure::Reset, 2, Some(200));
        check(Failure::Status(503), 4, Some(800));
        check(Failure::Status(503), 5, None);
        check(Failure::Status(409), 1, None);
        check(Failure::CheckFailed, 1, None);
        let any = Retries {
            any_answer: true,
            max: u32::MAX,
            ..RETRIES
        };
        assert_eq!(any.pause_after(Failure::Status(404), 1), Some(100 * MS));
        assert_eq!(any.pause_after(Failure::Reset, 99), Some(60_000 * MS));
    }

    #[test]
    fn the_servers_own_pause_counts() {
        let check = |line: &str, unix: u64, expected: u64| {
            let head = format!("HTTP/1.1 429 Too Many Requests\r\n{line}\r\n\r\n");
            let failure = Failure::Status(429);
            let pause = RETRIES.pause_after_answer(failure, 1, head.as_bytes(), unix * NS_PER_S);
            assert_eq!(pause, Some(expected * MS), "{line}");
        };
        check("Retry-After: 2", 0, 2_000);
        check("retry-after: 0", 0, 0);
        check("Retry-After: 3600", 0, 60_000);
        check("Retry-After: Thu, 01 Jan 1970 00:00:30 GMT", 20, 10_000);
        check("Retry-After: Thu, 01 Jan 1970 00:00:30 GMT", 40, 0);
        check("Retry-After: soon", 0, 100);
        check("X: 1", 0, 100);
    }
}
