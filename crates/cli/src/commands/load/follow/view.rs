//! Progress of a running load: lines, the live view, or nothing.

use std::time::Instant;

use waggle_load::Interval;
use waggle_report::wording::format::plain;

use crate::{
    commands::load::{
        result::{render, summary::Row},
        study::planned::Planned,
    },
    live::{Board, JudgePace, KeyActions, Live, Shared, Title, ViewModel},
    output::{self, values::microseconds},
    process::interrupts::Interrupts,
    trial::{phase::Phase, so_far::SoFar},
};

/// How the progress of a load is shown; the result is separate.
#[derive(Debug)]
pub(crate) enum View {
    /// A line per row on the error stream.
    Lines,
    /// The live view.
    Live(Box<LiveView>),
    Quiet,
}

impl View {
    /// Starts to show the load; keys of the live view go to `interrupts`.
    ///
    /// # Errors
    /// The terminal lacks a capability.
    pub(crate) fn begin(
        &mut self,
        planned: &Planned,
        interrupts: &Interrupts,
    ) -> anyhow::Result<()> {
        match self {
            Self::Live(live_view) => live_view.begin(planned, interrupts),
            Self::Lines | Self::Quiet => Ok(()),
        }
    }

    /// Shows an interval that `so_far` includes already.
    pub(crate) fn interval(&mut self, interval: &Interval, phase: Phase, so_far: &SoFar) {
        match self {
            Self::Live(live_view) => live_view.interval(interval, phase, so_far),
            Self::Lines | Self::Quiet => {}
        }
    }

    /// Shows a row.
    pub(crate) fn row(&mut self, row: &Row) {
        match self {
            Self::Lines => output::print_progress(&line(row)),
            Self::Live(_) | Self::Quiet => {}
        }
    }

    /// Ends the view, before the result is printed.
    pub(crate) fn end(&mut self) {
        match self {
            Self::Live(live_view) => live_view.live = None,
            Self::Lines | Self::Quiet => {}
        }
    }
}

/// The live view of a load.
#[derive(Debug)]
pub(crate) struct LiveView {
    url: String,
    live: Option<(Live, Shared)>,
    pace: JudgePace,
}

impl LiveView {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            live: None,
            pace: JudgePace::new(),
        }
    }

    fn begin(&mut self, planned: &Planned, interrupts: &Interrupts) -> anyhow::Result<()> {
        let engine_cpus = planned.pinned.clone();
        let keys = KeyActions {
            end: interrupts.clone(),
            leave: None,
        };
        let board = Shared::new(Board {
            study: None,
            trial: ViewModel::new(title(&self.url, planned), &planned.shape),
            partner: None,
        });
        let live = Live::start(&board, keys, engine_cpus, Instant::now())?;
        self.live = Some((live, board));
        Ok(())
    }

    fn interval(&mut self, interval: &Interval, phase: Phase, so_far: &SoFar) {
        let Some((_, board)) = &self.live else {
            return;
        };
        let pace = &mut self.pace;
        board.update(|board| board.trial.follow(interval, phase, so_far, pace));
    }
}

pub(crate) fn title(url: &str, planned: &Planned) -> Title {
    let settings = &planned.settings;
    Title {
        request: format!(
            "{} {url}{}",
            render::sent_text(settings),
            render::protocol_text(settings)
        ),
        settings: render::load(settings.model, settings),
        length: planned.measure.map(|measure| planned.warm_up + measure),
    }
}

/// `  3.0 s  45.2k/s  p50 820 µs  p99 12.4 ms  50 open  3 failed`; no rate of the last answers.
fn line(row: &Row) -> String {
    let time = |us: Option<u64>| us.map_or_else(|| "–".to_owned(), microseconds);
    let rate = match row.phase {
        // Answers that come while nothing is sent have no rate of the load.
        Phase::Finish => "finish".to_owned(),
        Phase::WarmUp | Phase::Measured => format!("{}/s", plain(row.goodput_per_s)),
    };
    let mut line = format!(
        "{:>6.1} s  {rate:>9}  p50 {:>7}  p99 {:>7}  {} open",
        row.start_s + row.seconds,
        time(row.response_p50_us),
        time(row.response_p99_us),
        row.connections_open,
    );
    if row.failed > 0 {
        line += &format!("  {} failed", row.failed);
    }
    if row.skipped > 0 {
        line += &format!("  {} skipped", row.skipped);
    }
    match row.phase {
        Phase::WarmUp => line += "  warm-up",
        Phase::Measured => {}
        Phase::Finish => line += "  last answers: nothing is sent any more",
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{Phase, line};
    use crate::{
        commands::load::follow::series,
        trial::generated::{CALM, interval},
    };

    #[test]
    fn last_answers_have_no_rate() {
        let gathered = interval(0, CALM, &mut 0);
        let shown = |phase| line(&series::row(&gathered, phase));
        assert!(shown(Phase::Measured).contains("/s  p50"));
        let last = shown(Phase::Finish);
        assert!(
            !last.contains("/s") && last.contains("  finish  p50"),
            "{last}"
        );
    }
}
