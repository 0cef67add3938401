//! A shop that talks in two ways: one is quicker, up to a number of users that it does not bear.

use waggle_results::{CellInfo, FailureCount, FailureKind};
use waggle_spec::{Reference, ReferenceColumn, ReferenceRow};

use super::{Seeded, Wrong, reference::column};

impl Seeded {
    /// Two transports over six numbers of users, given out of order, with what somebody else measured of most of them.
    pub(crate) fn transports() -> Self {
        Self {
            question: "Is REST or RabbitMQ quicker between the services of a shop?".to_owned(),
            steps: vec![("browse", 0.5, 0.6), ("order", 0.5, 1.4)],
            reference: Some(reference_info()),
            wrong: vec![(6, Wrong::Slows)],
            ..Self::plain(
                &[
                    ("transport", &["rest", "rabbitmq"]),
                    ("users", &["100", "50", "150", "200", "250", "300"]),
                ],
                5,
            )
        }
    }
}

impl Seeded {
    /// The same with two trials a cell, of which one of REST's failed at 200 users, and none of its requests succeeded at 300.
    pub(crate) fn with_refusals() -> Self {
        Self {
            wrong: vec![(4, Wrong::Fails), (6, Wrong::Refuses)],
            repeat: 2,
            ..Self::transports()
        }
    }
}

/// How quick a cell is, where 1 is usual, and the share of its requests that fail.
pub(super) fn pace(cell: &CellInfo) -> (f64, f64) {
    let level = |name: &str| {
        let entry = cell.levels.iter().find(|(factor, _)| factor == name);
        entry.map(|(_, level)| level.as_str())
    };
    match (level("transport"), level("users")) {
        (Some("rest"), Some(users)) => match users {
            "50" => (1.0, 0.0),
            "100" => (1.2, 0.0),
            "150" => (1.4, 0.0),
            "200" => (1.9, 0.004),
            "250" => (0.5, 0.08),
            _ => (0.08, 0.28),
        },
        (Some(_), Some("300")) => (1.0, 0.01),
        _ => (1.0, 0.0),
    }
}

/// So many requests that fail, by kind.
pub(super) fn failures(failed: u64) -> Vec<FailureCount> {
    let (timed_out, refused) = (failed * 7 / 10, failed / 5);
    let all = [
        (FailureKind::TimedOut, timed_out),
        (FailureKind::Status(503), refused),
        (FailureKind::Reset, failed - timed_out - refused),
    ];
    let kinds = all.into_iter().filter(|(_, count)| *count > 0);
    kinds
        .map(|(kind, count)| FailureCount { kind, count })
        .collect()
}

/// By both factors; one of the twelve was not published, and one figure of another.
fn reference_info() -> Reference {
    let columns: [ReferenceColumn; 3] = [
        column("Responses/s", "shopping.goodput"),
        column("Errors", "shopping.error_rate"),
        column("Mean time", "shopping.response_time.mean"),
    ];
    let row = |transport: &str, users: &str, per_s: f64, errors: Option<f64>| ReferenceRow {
        levels: vec![transport.to_owned(), users.to_owned()],
        values: vec![
            Some(per_s),
            errors,
            errors.map(|errors| 2e3 + 60e3 * errors),
        ],
    };
    Reference {
        title: "Figure 4 of a paper".to_owned(),
        source: "Measured on four servers of somebody else's.".to_owned(),
        match_on: vec!["transport".to_owned(), "users".to_owned()],
        columns: columns.to_vec(),
        rows: vec![
            row("rest", "50", 21e3, Some(0.0)),
            row("rest", "100", 32e3, Some(0.0)),
            row("rest", "150", 41e3, Some(0.01)),
            row("rest", "200", 55e3, Some(0.05)),
            row("rest", "250", 9e3, Some(0.19)),
            row("rest", "300", 2.6e3, Some(0.28)),
            row("rabbitmq", "50", 20e3, Some(0.0)),
            row("rabbitmq", "100", 27e3, Some(0.0)),
            row("rabbitmq", "200", 29e3, None),
            row("rabbitmq", "250", 31e3, Some(0.01)),
            row("rabbitmq", "300", 34e3, Some(0.02)),
        ],
    }
}
