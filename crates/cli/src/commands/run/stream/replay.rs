//! The state so far, as the lines that make it: what has ended, and of the running trial its phases and bounded intervals.

use std::mem::{Discriminant, discriminant};

use waggle_results::PhaseName;

use super::message::{Line, Message, line};
use crate::{commands::run::progress::Progress, trial::sides::Side};

/// Intervals of the running trial; above it, neighbours are merged in pairs.
pub(super) const INTERVALS_MAX: usize = 240;
/// Warnings and other notes; above it, the oldest is left out.
pub(super) const NOTES_MAX: usize = 1_000;

/// The lines of the state so far.
#[derive(Debug, Default)]
pub(super) struct Replay {
    lasting: Vec<Lasting>,
    notes: usize,
    trial: Vec<OfTrial>,
    intervals: usize,
}

#[derive(Debug)]
struct Lasting {
    is_note: bool,
    line: Line,
}

/// A step of the running trials.
#[derive(Debug)]
struct OfTrial {
    side: Side,
    kind: Kind,
    line: Line,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// All of them count.
    Each,
    Interval(PhaseName),
    /// The last one of its kind counts.
    Latest(Discriminant<Progress>),
}

impl Replay {
    /// Adds a step with its line.
    pub(super) fn add(&mut self, step: &Progress, line: &Line) {
        let (side, step) = step.split();
        let kind = match step {
            Progress::RunStarted { .. }
            | Progress::TrialsAdded(_)
            | Progress::Searched { .. }
            | Progress::Found { .. } => return self.add_lasting(false, line),
            Progress::TrialEnded { .. } => {
                self.forget_trial();
                return self.add_lasting(false, line);
            }
            Progress::Calibrating(_)
            | Progress::WaitingForServer { .. }
            | Progress::Notice(_)
            | Progress::Warning(_)
            | Progress::Partner(_) => return self.add_lasting(true, line),
            Progress::TrialStarted(_) => {
                if side == Side::First {
                    self.forget_trial();
                }
                Kind::Each
            }
            Progress::Phase { .. } => Kind::Each,
            Progress::Interval { phase, .. } => Kind::Interval(*phase),
            Progress::WaitingForQuiet { .. }
            | Progress::Machine { .. }
            | Progress::FaultBegan { .. }
            | Progress::UpAgain { .. }
            | Progress::Preparing { .. }
            | Progress::Draining { .. } => Kind::Latest(discriminant(step)),
        };
        if matches!(kind, Kind::Latest(_)) {
            self.trial
                .retain(|before| (before.side, before.kind) != (side, kind));
        }
        self.intervals += usize::from(matches!(kind, Kind::Interval(_)));
        self.trial.push(OfTrial {
            side,
            kind,
            line: line.clone(),
        });
        if self.intervals > INTERVALS_MAX {
            self.merge_pairs();
        }
    }

    /// All lines, in their order.
    pub(super) fn lines(&self) -> impl Iterator<Item = &Line> {
        let lasting = self.lasting.iter().map(|lasting| &lasting.line);
        lasting.chain(self.trial.iter().map(|step| &step.line))
    }

    fn forget_trial(&mut self) {
        self.trial.clear();
        self.intervals = 0;
    }

    fn add_lasting(&mut self, is_note: bool, line: &Line) {
        let line = line.clone();
        self.lasting.push(Lasting { is_note, line });
        self.notes += usize::from(is_note);
        if self.notes > NOTES_MAX
            && let Some(oldest) = self.lasting.iter().position(|lasting| lasting.is_note)
        {
            self.lasting.remove(oldest);
            self.notes -= 1;
        }
    }

    /// Merges each interval with the next one of its load and phase.
    fn merge_pairs(&mut self) {
        let mut merged: Vec<OfTrial> = Vec::with_capacity(self.trial.len());
        // For each side the index of an interval that has no partner yet.
        let mut single: [Option<usize>; 2] = [None; 2];
        for step in self.trial.drain(..) {
            if !matches!(step.kind, Kind::Interval(_)) {
                merged.push(step);
                continue;
            }
            let slot = &mut single[usize::from(step.side == Side::Partner)];
            let before = slot.take().filter(|index| merged[*index].kind == step.kind);
            match before
                .and_then(|index| Some((index, merged_line(&merged[index].line, &step.line)?)))
            {
                Some((index, line)) => merged[index].line = line,
                None => {
                    *slot = Some(merged.len());
                    merged.push(step);
                }
            }
        }
        self.trial = merged;
        let intervals = self.trial.iter();
        self.intervals = intervals
            .filter(|step| matches!(step.kind, Kind::Interval(_)))
            .count();
    }
}

/// Two intervals as one line, with the time of the later one.
fn merged_line(first: &Line, second: &Line) -> Option<Line> {
    let (mut first, second) = (read(first)?, read(second)?);
    let Message::Step { step: earlier, .. } = &mut first else {
        return None;
    };
    let Message::Step {
        elapsed_us,
        mut step,
    } = second
    else {
        return None;
    };
    let (
        Progress::Interval {
            interval: earlier, ..
        },
        Progress::Interval {
            interval: later, ..
        },
    ) = (inner(earlier), inner(&mut step))
    else {
        return None;
    };
    std::sync::Arc::make_mut(earlier).follow(later);
    *later = earlier.clone();
    Some(line(&Message::Step { elapsed_us, step }))
}

fn inner(step: &mut Progress) -> &mut Progress {
    match step {
        Progress::Partner(step) => step,
        step => step,
    }
}

fn read(line: &Line) -> Option<Message> {
    serde_json::from_str(line).ok()
}
