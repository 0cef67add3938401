//! Makes the steps that a view is told from the events of the runner, and what only this process knows: the study, and the trials on
//! disk.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use waggle_analysis::{SearchStep, Shortfall, TrialSoFar, cell_so_far};
use waggle_report::wording::search::{level, sentence, shortfall};
use waggle_results::{TrialKey, finished_trials, run_info};
use waggle_runner::Event;
use waggle_spec::LevelKind;
use waggle_stats::Answer;
use waggle_study::{Cell, Study};

use super::{CellJudged, EndedTrial, Judged, Progress, StartedTrial};
use crate::{commands::run::load_title::title, trial::shape::Shape};

/// Checks a finished trial; `None`: it cannot be read.
pub(in crate::commands::run) type Judge = fn(&Path, TrialKey) -> Option<TrialSoFar>;

/// Reads the events of one run.
pub(in crate::commands::run) struct EventReader {
    cells: Vec<Cell>,
    run_folder: PathBuf,
    judge: Judge,
    /// What a search maximizes.
    what: Option<LevelKind>,
    /// Finished trials, by cell.
    ended: BTreeMap<u32, Vec<TrialSoFar>>,
}

impl EventReader {
    pub(in crate::commands::run) fn new(study: &Study, run_folder: &Path, judge: Judge) -> Self {
        Self {
            cells: study.cells.clone(),
            run_folder: run_folder.to_path_buf(),
            judge,
            what: study.search.as_ref().map(|search| search.maximize),
            ended: BTreeMap::new(),
        }
    }

    /// What a view is told of an event; `None`: nothing, because it is not of the study.
    pub(in crate::commands::run) fn read(&mut self, event: &Event) -> Option<Progress> {
        Some(match event {
            Event::RunStarted {
                trials,
                already_done,
                expected,
            } => Progress::RunStarted {
                trials: *trials,
                already_done: *already_done,
                expected: *expected,
                ended: match already_done {
                    0 => Vec::new(),
                    _ => self.read_ended(),
                },
            },
            Event::TrialStarted { .. } => Progress::TrialStarted(Box::new(self.start(event)?)),
            Event::TrialEnded {
                key,
                failure,
                goodput_per_s,
            } => Progress::TrialEnded {
                key: *key,
                failure: failure.clone(),
                goodput_per_s: *goodput_per_s,
                judged: self.judge(*key),
            },
            Event::Searched(step) => search_step(step),
            Event::Found {
                cell,
                answer,
                why,
                not_needed,
            } => self.answer(*cell, answer, why.first(), *not_needed)?,
            Event::Partner(event) => Progress::Partner(Box::new(self.read(event)?)),
            event => unchanged_step(event)?,
        })
    }

    fn start(&self, event: &Event) -> Option<StartedTrial> {
        let Event::TrialStarted {
            position,
            key,
            levels,
            level,
            operating_share,
            workers,
        } = event
        else {
            return None;
        };
        let mut cell = self
            .cells
            .iter()
            .find(|cell| cell.number == key.cell)?
            .clone();
        if let Some(level) = level {
            cell.load = cell.load.at_level(*level);
        }
        Some(StartedTrial {
            position: *position,
            key: *key,
            levels: levels.clone(),
            level: *level,
            operating_share: *operating_share,
            title: title(&cell),
            shape: Shape::from_cell(&cell, *workers),
        })
    }

    /// The trials of an interrupted run in the same folder.
    fn read_ended(&mut self) -> Vec<EndedTrial> {
        let info = run_info(&self.run_folder).ok();
        let finished = info.and_then(|info| finished_trials(&self.run_folder, &info).ok());
        let finished = finished.into_iter().flatten();
        finished
            .filter_map(|key| {
                let judged = self.judge(key)?;
                Some(EndedTrial { key, judged })
            })
            .collect()
    }

    /// A trial that cannot be read gets no mark; the report explains it.
    fn judge(&mut self, key: TrialKey) -> Option<Judged> {
        let trial = (self.judge)(&self.run_folder, key)?;
        let verdict = trial.verdict();
        let ended = self.ended.entry(key.cell).or_default();
        ended.push(trial);
        let cell = match self.what {
            Some(_) => None,
            None => CellJudged::from_cell(&cell_so_far(ended)),
        };
        Some(Judged { verdict, cell })
    }

    fn answer(
        &self,
        cell: u32,
        answer: &Answer,
        why: Option<&Shortfall>,
        not_needed: u32,
    ) -> Option<Progress> {
        let what = self.what?;
        let why = why.map(shortfall);
        Some(Progress::Found {
            cell,
            answer: match answer.holds {
                Some(held) => level(what, held.level),
                None => "none".to_owned(),
            },
            sentence: sentence(what, answer, why.as_deref(), &format!("cell {cell}")),
            not_needed,
        })
    }
}

fn search_step(step: &SearchStep) -> Progress {
    Progress::Searched {
        key: step.key,
        level: step.level,
        evidence: step.evidence,
        why: step.why.iter().map(shortfall).collect(),
    }
}

/// Events that a view is told as they are.
fn unchanged_step(event: &Event) -> Option<Progress> {
    Some(match event.clone() {
        Event::Calibrating(shape) => Progress::Calibrating(shape),
        Event::WaitingForServer { url, why, at_most } => {
            Progress::WaitingForServer { url, why, at_most }
        }
        Event::WaitingForQuiet {
            other_cores,
            cpus,
            at_most,
        } => Progress::WaitingForQuiet {
            other_cores,
            cpus,
            at_most,
        },
        Event::Phase {
            phase, expected, ..
        } => Progress::Phase { phase, expected },
        Event::Interval { phase, interval } => Progress::Interval {
            phase,
            interval: Arc::clone(&interval),
        },
        Event::Machine { used, cpus } => Progress::Machine { used, cpus },
        Event::FaultBegan { kind, name } => Progress::FaultBegan { kind, name },
        Event::UpAgain { name, after } => Progress::UpAgain { name, after },
        Event::Preparing {
            load,
            done,
            sessions,
            retries,
        } => Progress::Preparing {
            load,
            done,
            sessions,
            retries,
        },
        Event::Draining { visible, accepted } => Progress::Draining { visible, accepted },
        Event::TrialsAdded(added) => Progress::TrialsAdded(added),
        Event::Notice(text) => Progress::Notice(text),
        Event::Warning(text) => Progress::Warning(text),
        Event::RunStarted { .. }
        | Event::TrialStarted { .. }
        | Event::TrialEnded { .. }
        | Event::Searched(_)
        | Event::Found { .. }
        | Event::Partner(_) => return None,
    })
}
