//! Metrics of a system in a unit of their own: the catalogue has them as counts.

use crate::{
    CATALOGUE, Metric, NamedMetric,
    row::{OverTrials, Row, Subject, Unit, Wish},
};

/// The rows of system metrics in one unit, with its name at the end of their columns.
macro_rules! rows_in {
    ($unit:expr, $end:literal) => {
        [
            row_in($unit, Metric::SystemMetricMean, concat!("mean_", $end)),
            row_in($unit, Metric::SystemMetricMax, concat!("max_", $end)),
            row_in($unit, Metric::SystemMetricEnd, concat!("end_", $end)),
        ]
    };
}

static ROWS: [[Row; 3]; 6] = [
    rows_in!(Unit::Time, "us"),
    rows_in!(Unit::Rate, "per_s"),
    rows_in!(Unit::Share, "share"),
    rows_in!(Unit::Cpus, "cpus"),
    rows_in!(Unit::Bytes, "bytes"),
    rows_in!(Unit::ByteRate, "bytes_per_s"),
];

const fn row_in(unit: Unit, metric: Metric, column: &'static str) -> Row {
    let (name, heading, over_trials) = match metric {
        Metric::SystemMetricMean => ("mean", "Mean", OverTrials::Mean),
        Metric::SystemMetricMax => ("max", "Maximum", OverTrials::Max),
        _ => ("end", "Last value", OverTrials::Max),
    };
    Row {
        metric,
        subject: Subject::SystemMetric,
        name,
        statistics: &[],
        unit,
        heading,
        wish: Wish::Neither,
        over_trials,
        column,
    }
}

impl NamedMetric<'_> {
    /// The same metric of a system in another unit. Every other metric has the unit of its row.
    #[must_use]
    pub fn in_own_unit(self, unit: Unit) -> Self {
        if self.row.subject != Subject::SystemMetric {
            return self;
        }
        let system_rows = ROWS.iter().flatten();
        let mut rows = system_rows.chain(CATALOGUE);
        let row = rows.find(|row| row.metric == self.row.metric && row.unit == unit);
        Self {
            row: row.unwrap_or(self.row),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve;

    #[test]
    fn rows_differ_from_the_catalogue_in_unit_and_column_only() {
        for row in ROWS.iter().flatten() {
            let mut catalogue = CATALOGUE.iter();
            let count = catalogue.find(|count| count.metric == row.metric).unwrap();
            let same = Row {
                unit: count.unit,
                column: count.column,
                ..*row
            };
            assert_eq!(same, *count);
            assert!(row.column.starts_with(count.column), "{}", row.column);
        }
    }

    #[test]
    fn a_metric_of_a_system_has_the_unit_that_it_is_given() {
        let check = |path: &[&str], unit: Unit, expected: (Unit, &str)| {
            let named = resolve(path).unwrap().in_own_unit(unit);
            assert_eq!((named.row.unit, &*named.column()), expected, "{path:?}");
        };
        let heap = ["metrics", "heap", "max"];
        check(&heap, Unit::Bytes, (Unit::Bytes, "metric_heap_max_bytes"));
        check(&heap, Unit::Count, (Unit::Count, "metric_heap_max"));
        check(&heap, Unit::Time, (Unit::Time, "metric_heap_max_us"));
        check(
            &["put", "goodput"],
            Unit::Bytes,
            (Unit::Rate, "put.goodput_per_s"),
        );
    }
}
