//! Turns the steps of a run into the board of the live view. The running trial is checked from its intervals. Does not use the
//! terminal.

#[cfg(test)]
mod tests;

use std::time::Duration;

use waggle_analysis::cell_so_far;
use waggle_load::Interval;
use waggle_report::wording::{causes::Place, operating_points};
use waggle_results::{PhaseName, TrialKey};
use waggle_stats::Evidence;

use super::{
    lines::lasting_line,
    progress::{CellFacts, Judged, Progress, StartedTrial, StudyFacts},
    state::State,
};
use crate::{
    live::{Board, CellBoard, JudgePace, Mark, PhaseNow, Shared, StudyBoard, TrialNow, ViewModel},
    trial::{
        phase::Phase,
        sides::{Side, Sides},
        so_far::SoFar,
    },
};

/// A running trial, with the pace at which it is judged.
struct Followed {
    so_far: SoFar,
    pace: JudgePace,
}

/// Updates the board from the events of a run.
pub(super) struct BoardUpdater {
    pub(super) board: Shared,
    state: State,
    facts: StudyFacts,
    running: Sides<Followed>,
    /// Lines that stay on the screen after the view.
    pub(super) lasting: Vec<String>,
}

impl BoardUpdater {
    pub(super) fn new(facts: StudyFacts) -> Self {
        Self::on_board(Shared::new(Board::default()), facts)
    }

    /// Forgets what it was told, and shows this study from its beginning.
    pub(super) fn begin_again(&mut self, facts: StudyFacts) {
        *self = Self::on_board(self.board.clone(), facts);
    }

    fn on_board(board: Shared, facts: StudyFacts) -> Self {
        let new = Board {
            study: Some(study_board(&facts)),
            ..Board::default()
        };
        board.update(|board| *board = new);
        Self {
            board,
            state: State::new(facts.outline.clone()),
            facts,
            running: Sides::default(),
            lasting: Vec::new(),
        }
    }

    /// Shows a line that is not of the run.
    pub(super) fn note(&self, text: &str) {
        self.study(|study| study.notes.push(text.to_owned()));
    }

    /// Applies a step; `elapsed` is the time since the start of the run.
    pub(super) fn apply(&mut self, progress: &Progress, elapsed: Duration) {
        self.state.apply(progress, elapsed);
        let (side, progress) = progress.split();
        match progress {
            Progress::RunStarted { ended, .. } => {
                for trial in ended {
                    self.trial_ended(trial.key, &trial.judged);
                }
            }
            Progress::TrialStarted(trial) => self.trial_started(side, trial),
            Progress::Phase { phase, expected } if side == Side::First => {
                let phase = PhaseNow {
                    phase: *phase,
                    began: elapsed,
                    expected: *expected,
                };
                self.now(|now| now.phase = Some(phase));
            }
            Progress::Interval { phase, interval } => self.interval(side, *phase, interval),
            Progress::Machine { used, cpus } => {
                if let Some(followed) = self.running.side_mut(side) {
                    let so_far = &mut followed.so_far;
                    (so_far.cpus, so_far.cpu_count) = (Some(*used), *cpus);
                }
            }
            Progress::TrialEnded { key, judged, .. } => {
                self.now_is_over();
                if let Some(judged) = judged {
                    self.trial_ended(*key, judged);
                }
            }
            Progress::TrialsAdded(added) => {
                for trial in added {
                    self.cell(trial.key.cell, |cell| cell.planned += 1);
                }
            }
            Progress::Searched {
                key,
                level,
                evidence,
                ..
            } => self.cell(key.cell, |cell| mark_step(cell, *level, *evidence)),
            Progress::Found { cell, answer, .. } => {
                self.cell(*cell, |cell| cell.found = Some(answer.clone()));
            }
            _ => {}
        }
        if let Some(line) = lasting_line(progress, &self.state) {
            self.study(|study| study.notes.push(line.trim().to_owned()));
            self.lasting.push(line);
        }
        let (trials, done) = (self.state.trials, self.state.done);
        let left = self.state.time_left(elapsed);
        self.study(|study| {
            (study.trials, study.done) = (trials, done);
            (study.left, study.left_at) = (left, elapsed);
        });
        let phase_text = self.phase_text();
        self.now(|now| now.phase_text = phase_text);
    }

    /// The text of a phase without load.
    fn phase_text(&self) -> String {
        let now = self.state.running.main_trial();
        let now = now.filter(|now| !now.has_figures_of_load);
        now.map(|now| now.figures.clone()).unwrap_or_default()
    }

    fn study(&self, change: impl FnOnce(&mut StudyBoard)) {
        self.board.update(|board| {
            if let Some(study) = &mut board.study {
                change(study);
            }
        });
    }

    fn now(&self, change: impl FnOnce(&mut TrialNow)) {
        self.study(|study| {
            if let Some(now) = &mut study.now {
                change(now);
            }
        });
    }

    fn now_is_over(&mut self) {
        self.running.end();
        self.study(|study| study.now = None);
    }

    fn cell(&self, number: u32, change: impl FnOnce(&mut CellBoard)) {
        self.study(|study| change_cell(study, number, change));
    }

    fn trial_started(&mut self, side: Side, start: &StartedTrial) {
        let mut cells = self.facts.cells.iter();
        let Some(index) = cells.position(|cell| cell.number == start.key.cell) else {
            return;
        };
        let shape = start.shape.clone();
        let shown = ViewModel::new(start.title.clone(), &shape);
        let mut so_far = SoFar::new(shape);
        so_far.idle_poll = self.facts.idle_poll;
        so_far.place = Place::Study;
        let pace = JudgePace::new();
        self.running.start(side, Followed { so_far, pace });
        if side == Side::Partner {
            self.board.update(|board| board.partner = Some(shown));
            self.now(|now| now.partner = Some(index));
            return;
        }
        let repeat = self.state.outline.repetitions();
        let level = self
            .state
            .running
            .main_trial()
            .and_then(|now| now.level.clone());
        let repetition = start.key.repetition;
        let which = match (level, start.operating_share) {
            (Some(level), Some(share)) => format!("{level}, {}", operating_points::place(share)),
            (Some(level), None) => format!("{level}, trial {repetition} of at most {repeat}"),
            (None, _) => format!("repetition {repetition} of {repeat}"),
        };
        let now = TrialNow {
            cell: index,
            partner: None,
            which,
            phase: None,
            phase_text: String::new(),
        };
        self.board.update(|board| board.begin(shown, now));
    }

    fn interval(&mut self, side: Side, phase: PhaseName, interval: &Interval) {
        let Some(Followed { so_far, pace }) = self.running.side_mut(side) else {
            return;
        };
        let phase = match phase {
            PhaseName::WarmUp => Phase::WarmUp,
            PhaseName::Measure => Phase::Measured,
            // As in the report, metrics include only the measured phase.
            PhaseName::Recovery => {
                let finish = Phase::Finish;
                self.board
                    .update(|board| board.side_mut(side).add_uncounted(interval, finish));
                return;
            }
            // The last answers, in a phase of any length: no rate.
            _ => return,
        };
        so_far.add(interval, phase);
        self.board
            .update(|board| board.side_mut(side).follow(interval, phase, so_far, pace));
    }

    fn trial_ended(&mut self, key: TrialKey, judged: &Judged) {
        // A step of a search gets its mark from its evidence.
        let is_searched = self.state.outline.what.is_some();
        let is_step = is_searched && key.repetition <= self.state.outline.repeat;
        let mark = (!is_step).then_some(Mark::Judged(judged.verdict));
        self.cell(key.cell, |cell| {
            cell.so_far = judged.cell_so_far();
            cell.marks.extend(mark);
        });
    }
}

fn change_cell(study: &mut StudyBoard, number: u32, change: impl FnOnce(&mut CellBoard)) {
    let mut cells = study.cells.iter_mut();
    if let Some(cell) = cells.find(|cell| cell.number == number) {
        change(cell);
    }
}

fn mark_step(cell: &mut CellBoard, level: f64, evidence: Evidence) {
    cell.marks.push(Mark::Tried(evidence));
    if evidence == Evidence::Met {
        let before = cell.met.unwrap_or(f64::NEG_INFINITY);
        cell.met = Some(before.max(level));
    }
}

fn study_board(facts: &StudyFacts) -> StudyBoard {
    let outline = &facts.outline;
    let cell = |cell: &CellFacts| cell_board(cell, outline.repeat);
    StudyBoard {
        name: facts.name.clone(),
        question: facts.question.clone(),
        searched: outline.what,
        factors: facts.factors.clone(),
        cells: facts.cells.iter().map(cell).collect(),
        left: Duration::ZERO,
        ..StudyBoard::default()
    }
}

fn cell_board(cell: &CellFacts, planned: u32) -> CellBoard {
    CellBoard {
        number: cell.number,
        levels: cell.levels.clone(),
        planned,
        marks: Vec::new(),
        so_far: cell_so_far(&[]),
        met: None,
        found: None,
    }
}
