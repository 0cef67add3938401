//! Turns the events of a run into the board of the live view. Finished trials are checked from disk, the running one from its
//! intervals. Does not use the terminal.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use waggle_analysis::{SearchStep, TrialSoFar, cell_so_far};
use waggle_load::Interval;
use waggle_report::wording::{causes::Place, operating_points, search::level};
use waggle_results::{PhaseName, TrialKey, finished_trials, run_info};
use waggle_runner::Event;
use waggle_stats::{Answer, Evidence};
use waggle_study::{Cell, Study};

use super::{
    lines::lasting_line,
    load_title::title,
    state::{Outline, State},
};
use crate::{
    live::{Board, CellBoard, JudgePace, Mark, PhaseNow, Shared, StudyBoard, TrialNow, ViewModel},
    trial::{
        phase::Phase,
        shape::Shape,
        sides::{Side, Sides},
        so_far::SoFar,
    },
};

/// The parts of a study that the view needs.
pub(super) struct StudyFacts {
    name: String,
    question: String,
    factors: Vec<String>,
    cells: Vec<Cell>,
    run_folder: PathBuf,
    idle_poll: bool,
}

impl StudyFacts {
    pub(super) fn new(study: &Study, run_folder: &Path, idle_poll: bool) -> Self {
        Self {
            name: study.name.clone(),
            question: study.question.clone(),
            factors: study.factors.clone(),
            cells: study.cells.clone(),
            run_folder: run_folder.to_path_buf(),
            idle_poll,
        }
    }
}

/// Checks a finished trial; `None`: it cannot be read.
pub(super) type Judge = fn(&Path, TrialKey) -> Option<TrialSoFar>;

/// A running trial, with the pace at which it is judged.
struct Followed {
    so_far: SoFar,
    pace: JudgePace,
}

/// A trial that starts.
struct TrialStart {
    key: TrialKey,
    level: Option<f64>,
    operating_share: Option<f64>,
    workers: usize,
}

/// Updates the board from the events of a run.
pub(super) struct BoardUpdater {
    pub(super) board: Shared,
    judge: Judge,
    state: State,
    facts: StudyFacts,
    running: Sides<Followed>,
    /// Finished trials, by cell.
    ended: BTreeMap<u32, Vec<TrialSoFar>>,
    /// Lines that stay on the screen after the view.
    pub(super) lasting: Vec<String>,
}

impl BoardUpdater {
    pub(super) fn new(facts: StudyFacts, outline: Outline, judge: Judge) -> Self {
        Self {
            board: Shared::new(Board {
                study: Some(study_board(&facts, &outline)),
                ..Board::default()
            }),
            judge,
            state: State::new(outline),
            facts,
            running: Sides::default(),
            ended: BTreeMap::new(),
            lasting: Vec::new(),
        }
    }

    /// Applies an event; `elapsed` is the time since the start of the view.
    pub(super) fn apply(&mut self, event: &Event, elapsed: Duration) {
        self.state.apply(event, elapsed);
        let (side, event) = Side::split(event);
        match event {
            Event::RunStarted { already_done, .. } if *already_done > 0 => self.read_ended(),
            Event::TrialStarted {
                key,
                level,
                operating_share,
                workers,
                ..
            } => self.trial_started(
                side,
                TrialStart {
                    key: *key,
                    level: *level,
                    operating_share: *operating_share,
                    workers: *workers,
                },
            ),
            Event::Phase {
                phase, expected, ..
            } if side == Side::First => {
                let phase = PhaseNow {
                    phase: *phase,
                    began: elapsed,
                    expected: *expected,
                };
                self.now(|now| now.phase = Some(phase));
            }
            Event::Interval { phase, interval } => self.interval(side, *phase, interval),
            Event::Machine { used, cpus } => {
                if let Some(followed) = self.running.side_mut(side) {
                    let so_far = &mut followed.so_far;
                    (so_far.cpus, so_far.cpu_count) = (Some(*used), *cpus);
                }
            }
            Event::TrialEnded { key, .. } => {
                self.now_is_over();
                self.trial_ended(*key);
            }
            Event::TrialsAdded(added) => {
                for trial in added {
                    self.cell(trial.key.cell, |cell| cell.planned += 1);
                }
            }
            Event::Searched(step) => self.on_search_step(step),
            Event::Found { cell, answer, .. } => self.on_search_answer(*cell, answer),
            _ => {}
        }
        if let Some(line) = lasting_line(event, &self.state) {
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

    /// Reads trials of an interrupted run in the same folder.
    fn read_ended(&mut self) {
        let folder = &self.facts.run_folder;
        let info = run_info(folder).ok();
        let finished = info.and_then(|info| finished_trials(folder, &info).ok());
        for key in finished.into_iter().flatten() {
            self.trial_ended(key);
        }
    }

    fn trial_started(&mut self, side: Side, start: TrialStart) {
        let mut cells = self.facts.cells.iter();
        let Some(index) = cells.position(|cell| cell.number == start.key.cell) else {
            return;
        };
        let mut cell = self.facts.cells[index].clone();
        if let Some(level) = start.level {
            cell.load = cell.load.at_level(level);
        }
        let shape = Shape::from_cell(&cell, start.workers);
        let shown = ViewModel::new(title(&cell), &shape);
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

    /// A trial that cannot be read gets no mark; the report explains it.
    fn trial_ended(&mut self, key: TrialKey) {
        let Some(trial) = (self.judge)(&self.facts.run_folder, key) else {
            return;
        };
        let ended = self.ended.entry(key.cell).or_default();
        let verdict = trial.verdict();
        ended.push(trial);
        let is_searched = self.state.outline.what.is_some();
        // Trials of a search have different levels, so they are not repetitions.
        let so_far = cell_so_far(if is_searched { &[] } else { ended });
        // A step of a search gets its mark from its evidence.
        let is_step = is_searched && key.repetition <= self.state.outline.repeat;
        let mark = (!is_step).then_some(Mark::Judged(verdict));
        self.cell(key.cell, |cell| {
            cell.so_far = so_far;
            cell.marks.extend(mark);
        });
    }

    fn on_search_step(&self, step: &SearchStep) {
        self.cell(step.key.cell, |cell| mark_step(cell, step));
    }

    fn on_search_answer(&self, cell: u32, answer: &Answer) {
        let Some(what) = self.state.outline.what else {
            return;
        };
        let text = match answer.holds {
            Some(held) => level(what, held.level),
            None => "none".to_owned(),
        };
        self.cell(cell, |cell| cell.found = Some(text));
    }
}

fn change_cell(study: &mut StudyBoard, number: u32, change: impl FnOnce(&mut CellBoard)) {
    let mut cells = study.cells.iter_mut();
    if let Some(cell) = cells.find(|cell| cell.number == number) {
        change(cell);
    }
}

fn mark_step(cell: &mut CellBoard, step: &SearchStep) {
    cell.marks.push(Mark::Tried(step.evidence));
    if step.evidence == Evidence::Met {
        let before = cell.met.unwrap_or(f64::NEG_INFINITY);
        cell.met = Some(before.max(step.level));
    }
}

fn study_board(facts: &StudyFacts, outline: &Outline) -> StudyBoard {
    let cell = |cell: &Cell| cell_board(cell, outline.repeat);
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

fn cell_board(cell: &Cell, planned: u32) -> CellBoard {
    let levels = cell.levels.iter();
    CellBoard {
        number: cell.number,
        levels: levels.map(|(_, level)| level.to_string()).collect(),
        planned,
        marks: Vec::new(),
        so_far: cell_so_far(&[]),
        met: None,
        found: None,
    }
}
