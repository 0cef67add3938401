//! What is shown while a load runs. A variant sees each interval with all that was seen so far, and each row.

use waggle_load::Interval;
use waggle_report::text::plain;

use super::{
    job::Planned,
    live::Live,
    summary::{Phase, Row},
    watch::{Interrupts, Watched},
};
use crate::{say, table::microseconds};

/// How a load is shown while it runs; the result comes apart from it.
#[derive(Debug)]
pub(crate) enum View {
    /// A line a row on the error stream.
    Lines,
    /// The whole terminal.
    Live(Box<Live>),
    Quiet,
}

impl View {
    /// The load has started; who looks at it may ask for its end.
    ///
    /// # Errors
    /// The terminal does not do what is needed.
    pub(crate) fn begin(
        &mut self,
        planned: &Planned,
        interrupts: &Interrupts,
    ) -> anyhow::Result<()> {
        match self {
            Self::Live(live) => live.begin(planned, interrupts.clone()),
            Self::Lines | Self::Quiet => Ok(()),
        }
    }

    /// One more interval, which `watched` has already.
    pub(crate) fn interval(
        &mut self,
        interval: &Interval,
        phase: Phase,
        planned: &Planned,
        watched: &Watched,
    ) {
        match self {
            Self::Live(live) => live.interval(interval, phase, planned, watched),
            Self::Lines | Self::Quiet => {}
        }
    }

    /// One more row.
    pub(crate) fn row(&mut self, row: &Row) {
        match self {
            Self::Lines => say::aside(&line(row)),
            Self::Live(_) | Self::Quiet => {}
        }
    }

    /// Nothing more comes; the result follows.
    pub(crate) fn end(&mut self) {
        match self {
            Self::Live(live) => live.end(),
            Self::Lines | Self::Quiet => {}
        }
    }
}

/// `  3.0 s  45.2k/s  p50 820 µs  p99 12.4 ms  50 open  3 failed`.
fn line(row: &Row) -> String {
    let time = |us: Option<u64>| us.map_or_else(|| "–".to_owned(), microseconds);
    let mut line = format!(
        "{:>6.1} s  {:>7}/s  p50 {:>7}  p99 {:>7}  {} open",
        row.start_s + row.seconds,
        plain(row.rate_per_s),
        time(row.response_p50_us),
        time(row.response_p99_us),
        row.connections_open,
    );
    if row.failed > 0 {
        line += &format!("  {} failed", row.failed);
    }
    if row.due_unsent > 0 {
        line += &format!("  {} never sent", row.due_unsent);
    }
    match row.phase {
        Phase::WarmUp => line += "  warm-up",
        Phase::Measured => {}
        Phase::Finish => line += "  last answers",
    }
    line
}
