//! What a run comes to: whether its question is answered, and its thresholds hold.

use waggle_metrics::Metric;
use waggle_results::RunInfo;
use waggle_spec::ExpectedVerdict;
use waggle_stats::{Answer as SearchAnswer, Verdict};

use crate::{
    cell::{cell_model::CellModel, decision::Decision},
    info::metric_path,
    run::run_model::Model,
};

/// What a run comes to, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conclusion {
    /// What was asked is answered, and every threshold holds. Doubts are in the verdicts.
    Answered,
    /// A threshold is shown not to hold, or a cell has another verdict than expected.
    Failed,
    /// The counts do not add up, accepted records are missing although nothing is said about them, no cell has a value or a bound of
    /// what was asked, or what was asked stays open.
    Open,
    /// A trial failed, or no request of the run succeeded and no threshold is shown not to hold: something broke, and more trials or a wider look would not help.
    TrialFailed,
}

/// Cells that have a doubt, by verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubtful {
    pub cells: usize,
    pub of: usize,
}

impl Model {
    /// What the run comes to. `is_strict`: every doubt counts, and every cell that was left
    /// out.
    #[must_use]
    pub fn conclusion(&self, is_strict: bool) -> Conclusion {
        let of_thresholds = self
            .thresholds
            .iter()
            .map(|threshold| match threshold.held {
                Decision::Holds => Conclusion::Answered,
                Decision::Fails => Conclusion::Failed,
                Decision::Undecided => Conclusion::Open,
            });
        let of_cells = self
            .cells_that_ran()
            .map(|cell| self.conclusion_of_cell(cell, is_strict));
        let of_points = self
            .operating_points
            .iter()
            .flat_map(|point| point.model.cells_that_ran())
            .map(|cell| self.conclusion_of_cell(cell, is_strict));
        let of_search = self.search.iter().flat_map(|search| &search.cells);
        let of_search = of_search.map(|search| conclusion_of_search(&search.answer));
        let is_whole = !is_strict || self.info.left_out.is_empty();
        let of_left_out = (!is_whole).then_some(Conclusion::Open);
        let of_cells = of_cells.chain(of_points);
        let all = of_thresholds.chain(of_cells).chain(of_search);
        let worst = all.chain(of_left_out).max();
        if worst != Some(Conclusion::TrialFailed) && self.is_without_success() {
            return self.conclusion_without_success();
        }
        let is_known =
            self.search.is_some() || self.cells_that_ran().any(|cell| self.is_as_expected(cell));
        match worst {
            Some(worst) if is_known => worst,
            worst => worst.unwrap_or(Conclusion::Open).max(Conclusion::Open),
        }
    }

    /// Whether no request succeeded in any cell that ran, and the study expects of none what it came to.
    fn is_without_success(&self) -> bool {
        let mut cells = self.cells_that_ran();
        let is_fruitless = |cell: &CellModel| cell.succeeded == 0 && !self.is_expected(cell);
        self.cells_that_ran().next().is_some() && cells.all(is_fruitless)
    }

    /// If the failures break a threshold, they are what the study asks about, and their number is a fact.
    fn conclusion_without_success(&self) -> Conclusion {
        let mut thresholds = self.thresholds.iter();
        match thresholds.any(|threshold| threshold.held == Decision::Fails) {
            true => Conclusion::Failed,
            false => Conclusion::TrialFailed,
        }
    }

    /// How many cells that ran have a verdict other than `valid`, or than expected. That a trial failed is no doubt.
    #[must_use]
    pub fn doubtful(&self) -> Doubtful {
        let is_fine = |cell: &&CellModel| {
            matches!(cell.verdict, Some(Verdict::Valid | Verdict::Failed)) || self.is_expected(cell)
        };
        Doubtful {
            cells: self.cells_that_ran().filter(|cell| !is_fine(cell)).count(),
            of: self.cells_that_ran().count(),
        }
    }

    /// Whether it has the verdict that the study expects of it, if it expects one other than `valid`.
    fn is_expected(&self, cell: &CellModel) -> bool {
        cell.verdict.is_some() && self.expected_verdict(cell) == cell.verdict
    }

    /// Cells that have not run do not count.
    fn cells_that_ran(&self) -> impl Iterator<Item = &CellModel> {
        self.cells.iter().filter(|cell| cell.verdict.is_some())
    }

    /// Of the cell alone.
    fn required_verdict(&self, cell: &CellModel) -> Option<Verdict> {
        let mut cells = self.info.cells.iter();
        let cell_info = cells.find(|candidate| candidate.cell == cell.cell)?;
        cell_info.expect_verdict.map(expected_verdict)
    }

    /// Of the cell, else of the study, whose cells may have it or be valid.
    fn expected_verdict(&self, cell: &CellModel) -> Option<Verdict> {
        let of_study = || self.info.expect_verdict.map(expected_verdict);
        self.required_verdict(cell).or_else(of_study)
    }

    fn is_as_expected(&self, cell: &CellModel) -> bool {
        match self.required_verdict(cell) {
            Some(required) => cell.verdict == Some(required),
            None if self.expected_verdict(cell) == cell.verdict => true,
            // That records are missing is a fact, and a threshold decides what it means.
            None if cell.verdict == Some(Verdict::Incomplete) => asks_for_missing(&self.info),
            None => cell.is_known(),
        }
    }

    /// What a cell adds to what the run comes to.
    #[must_use]
    pub fn conclusion_of_cell(&self, cell: &CellModel, is_strict: bool) -> Conclusion {
        let has = |verdict: Verdict| {
            let mut reasons = cell.reasons.iter();
            reasons.any(|reason| reason.reason.verdict == verdict)
        };
        let is_missing = has(Verdict::Incomplete) && !asks_for_missing(&self.info);
        match (self.required_verdict(cell), cell.verdict) {
            (_, verdict) if verdict == self.expected_verdict(cell) => Conclusion::Answered,
            _ if has(Verdict::Failed) => Conclusion::TrialFailed,
            _ if has(Verdict::Inconsistent) || is_missing => Conclusion::Open,
            (Some(_), Some(Verdict::Valid)) => Conclusion::Failed,
            (Some(_), _) => Conclusion::Open,
            (None, Some(verdict)) if is_strict && verdict != Verdict::Valid => Conclusion::Open,
            (None, _) => Conclusion::Answered,
        }
    }
}

/// The verdict that a cell with this expectation has.
#[must_use]
pub fn expected_verdict(expected: ExpectedVerdict) -> Verdict {
    match expected {
        ExpectedVerdict::Unsteady => Verdict::Unsteady,
        ExpectedVerdict::Overloaded => Verdict::Overloaded,
        ExpectedVerdict::InstrumentLimited => Verdict::InstrumentLimited,
        ExpectedVerdict::Incomplete => Verdict::Incomplete,
        ExpectedVerdict::Inconsistent => Verdict::Inconsistent,
        ExpectedVerdict::Failed => Verdict::Failed,
    }
}

/// A search that shows nothing but what the load generator can do is open; one in which no level holds fails.
#[must_use]
pub fn conclusion_of_search(answer: &SearchAnswer) -> Conclusion {
    if answer.is_open() {
        Conclusion::Open
    } else if answer.holds.is_none() {
        Conclusion::Failed
    } else {
        Conclusion::Answered
    }
}

/// Whether a threshold decides about missing records.
fn asks_for_missing(info: &RunInfo) -> bool {
    let mut thresholds = info.thresholds.iter();
    thresholds.any(|threshold| {
        matches!(
            metric_path::metric(&threshold.metric),
            Some(Metric::Missing | Metric::LossRate | Metric::Delivered)
        )
    })
}
