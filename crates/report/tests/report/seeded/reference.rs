//! What somebody else measured, with a gap.

use waggle_spec::{Reference, ReferenceColumn, ReferenceRow};

/// A column beside a number of the study.
pub(crate) fn column(name: &str, number: &str) -> ReferenceColumn {
    ReferenceColumn {
        name: name.to_owned(),
        metric: number.split('.').map(str::to_owned).collect(),
    }
}

pub(super) fn reference_info() -> Reference {
    let row = |level: &str, values: [Option<f64>; 5]| ReferenceRow {
        levels: vec![level.to_owned()],
        values: values.to_vec(),
    };
    Reference {
        title: "Table 1".to_owned(),
        source: "Measured on three servers of a lab.".to_owned(),
        match_on: vec!["writer".to_owned()],
        columns: vec![
            column("Requests", "put-readings.succeeded"),
            column("Requests/s", "put-readings.goodput"),
            column("CPU", "components.gateway.cpu"),
            column("Db delay", "delivery.delay.mean"),
            column("K delay", "delivery.broker.delay.mean"),
        ],
        rows: vec![
            row(
                "sink",
                [
                    Some(42_000.0),
                    Some(4_000.0),
                    Some(4.0),
                    Some(550e3),
                    Some(690e3),
                ],
            ),
            row(
                "telegraf",
                [Some(71_000.0), Some(7_000.0), Some(1.0), None, Some(860e3)],
            ),
        ],
    }
}
