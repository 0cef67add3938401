//! Lines about who was refused and what was changed: JSON on stderr, one a line, never one per accepted request.

use std::{
    io::Write,
    net::IpAddr,
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::Serialize;

/// Lines in a second of what anybody can cause; further ones are counted and not written.
const LINES_MAX: u64 = 10;

/// Writes audit lines within their limit.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    second: AtomicU64,
    written: AtomicU64,
    left_out: AtomicU64,
}

/// What happened.
#[derive(Debug, Serialize)]
#[serde(tag = "audit", rename_all = "snake_case")]
pub(crate) enum Event<'a> {
    /// A request was refused.
    Refused { status: u16, detail: &'a str },
    /// A topic was created.
    TopicCreated { topic: &'a str },
    /// A topic was deleted from the embedded store, with its records.
    TopicDeleted { topic: &'a str },
    /// A new version of the file of clients is in force.
    ClientsChanged(Changes),
    /// A TLS connection did not come about.
    HandshakeFailed { detail: &'a str },
}

impl Event<'_> {
    /// Whether somebody without rights can cause it: what such clients do must not hide what is done with rights.
    fn is_limited(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::HandshakeFailed { .. })
    }
}

/// Names of clients whose credentials, rights or budgets have changed.
#[derive(Debug, Serialize)]
pub(crate) struct Changes {
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
    pub(super) changed: Vec<String>,
}

impl Changes {
    pub(super) fn is_any(&self) -> bool {
        !(self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty())
    }
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    event: Event<'a>,
    /// Seconds since 1970.
    time: u64,
    /// The address, or the network of 64 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<&'a str>,
    /// Lines that were left out before this one.
    #[serde(skip_serializing_if = "is_zero")]
    left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Audit {
    pub(crate) fn write(&self, event: Event<'_>, client: Option<IpAddr>, identity: Option<&str>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = now.map_or(0, |since| since.as_secs());
        if event.is_limited() && !self.is_due(time) {
            return;
        }
        let line = Line {
            event,
            time,
            client,
            identity,
            left_out: self.left_out.swap(0, Ordering::Relaxed),
        };
        let text = serde_json::to_string(&line).expect("strings and numbers are always JSON");
        // A closed stderr cannot be reported anywhere.
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    /// Counts a line; whether it is to be written.
    fn is_due(&self, second: u64) -> bool {
        if self.second.swap(second, Ordering::Relaxed) != second {
            self.written.store(0, Ordering::Relaxed);
        }
        let is_due = self.written.fetch_add(1, Ordering::Relaxed) < LINES_MAX;
        if !is_due {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_limited_by_the_second() {
        let audit = Audit::default();
        let due = |second: u64| (0..30).filter(|_| audit.is_due(second)).count();
        assert_eq!((due(1), due(1), due(2)), (10, 0, 10));
        assert_eq!(audit.left_out.load(Ordering::Relaxed), 20 + 30 + 20);
    }

    #[test]
    fn what_needs_a_right_is_always_written() {
        let refused = Event::Refused {
            status: 401,
            detail: "no token",
        };
        let failed = Event::HandshakeFailed { detail: "no TLS" };
        assert!(refused.is_limited() && failed.is_limited());
        assert!(!Event::TopicCreated { topic: "t" }.is_limited());
        assert!(!Event::TopicDeleted { topic: "t" }.is_limited());
    }
}
