//! What was killed in mid-trial, how long that took, and what it cost: a trial's own figures, and a cell's over its trials.

use waggle_results::{DisturbanceInfo, FailureCount, FailureKind, PhaseName, Trial};
use waggle_stats::Estimate;

use crate::{FindModel, TrialModel, distribution::by_kind, judge};

/// One trial in which something was killed.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialDisturbed {
    /// In the order of the kills; seconds count from the start of the measured phase.
    pub disturbances: Vec<DisturbanceInfo>,
    /// Start of the measured phase, in seconds since the start of the load.
    pub measured_from_s: f64,
    /// `None`: the measured phase did not come to its end.
    pub silence: Option<Silence>,
    /// Failed requests of the whole load.
    pub failed: u64,
    pub failures: Vec<FailureCount>,
}

/// The longest time without a success from the first kill to the end of the measured phase, in whole intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Silence {
    pub us: f64,
    /// It lasted to the end, so that nobody knows how long it would have been.
    pub to_the_end: bool,
}

/// A cell in whose trials something was killed.
#[derive(Debug, Clone, PartialEq)]
pub struct CellDisturbed {
    pub cell: u32,
    /// In the order of their instants; none where no trial of it counts.
    pub kills: Vec<Kill>,
    pub silence_us: Option<Estimate>,
    /// The silence of one trial at least lasted to the end of its measured phase.
    pub silence_to_the_end: bool,
    /// Failed requests of the whole load, over the counted trials, the most frequent kind first.
    pub failed: u64,
    pub failures: Vec<(FailureKind, u64)>,
}

/// One kill over the trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Kill {
    /// `orders-0`.
    pub replica: String,
    /// From the start of the measured phase.
    pub at_us: Option<Estimate>,
    /// From the kill until it was ready again.
    pub ready_after_us: Option<Estimate>,
}

/// `None` where nothing was killed.
pub(crate) fn of_trial(trial: &Trial) -> Option<TrialDisturbed> {
    let first = trial.info.disturbances.first()?;
    let measure = trial.info.phase(PhaseName::Measure);
    let measured_from_s = measure.map_or(0.0, |measure| measure.start_s);
    let silence = measure.filter(|_| trial.info.measured.seconds > 0.0);
    let totals = &trial.info.totals;
    Some(TrialDisturbed {
        disturbances: trial.info.disturbances.clone(),
        measured_from_s,
        silence: silence
            .map(|measure| silence_of(trial, measured_from_s + first.killed_s, measure.end_s)),
        failed: totals.failed,
        failures: totals.failures.clone(),
    })
}

/// An interval in which something succeeded is none of it, however much of it was silent.
fn silence_of(trial: &Trial, from_s: f64, to_s: f64) -> Silence {
    let (mut longest, mut now) = (0.0_f64, 0.0_f64);
    for row in trial.intervals_within(from_s, to_s) {
        now = if row.counts.succeeded == 0 {
            now + row.counts.seconds
        } else {
            0.0
        };
        longest = longest.max(now);
    }
    Silence {
        us: longest * 1e6,
        to_the_end: now > 0.0 && now >= longest,
    }
}

/// In words, for what is not judged: `orders-0 was killed at 5 s of the measured phase`.
pub(crate) fn in_words(disturbances: &[DisturbanceInfo]) -> Vec<String> {
    let one = |of: &DisturbanceInfo| {
        let at = crate::text::three(of.killed_s);
        format!("{} was killed at {at} s of the measured phase", of.name())
    };
    disturbances.iter().map(one).collect()
}

/// Every cell that was disturbed, in the order of the trials. Its figures are of the trials that its other numbers rest on: of a
/// search, those at the highest level that holds, for a kill under less load costs less.
pub(crate) fn cells(trials: &[TrialModel], find: Option<&FindModel>) -> Vec<CellDisturbed> {
    let mut numbers: Vec<u32> = trials
        .iter()
        .filter(|trial| trial.disturbed.is_some())
        .map(|trial| trial.key.cell)
        .collect();
    numbers.dedup();
    let of = |cell: u32| {
        let own = trials.iter().filter(|trial| trial.key.cell == cell);
        let own = own.filter(|trial| find.is_none_or(|find| find.is_at_answer(trial.key)));
        let counted = own.filter(|trial| trial.counts().is_some());
        let counted: Vec<&TrialDisturbed> = counted
            .filter_map(|trial| trial.disturbed.as_ref())
            .collect();
        of_cell(cell, &counted)
    };
    numbers.into_iter().map(of).collect()
}

fn of_cell(cell: u32, counted: &[&TrialDisturbed]) -> CellDisturbed {
    let silences: Vec<Silence> = counted.iter().filter_map(|trial| trial.silence).collect();
    let lengths: Vec<f64> = silences.iter().map(|silence| silence.us).collect();
    CellDisturbed {
        cell,
        kills: kills(counted),
        silence_us: judge::estimate(&lengths),
        silence_to_the_end: silences.iter().any(|silence| silence.to_the_end),
        failed: counted.iter().map(|trial| trial.failed).sum(),
        failures: by_kind(counted.iter().flat_map(|trial| &trial.failures)),
    }
}

/// Each kill of a replica with the same one in the other trials: its first, its second, and so on.
fn kills(counted: &[&TrialDisturbed]) -> Vec<Kill> {
    let mut found: Vec<((String, usize), Vec<&DisturbanceInfo>)> = Vec::new();
    for trial in counted {
        for (place, one) in trial.disturbances.iter().enumerate() {
            let name = one.name();
            let before = trial.disturbances[..place].iter();
            let key = (
                name.clone(),
                before.filter(|other| other.name() == name).count(),
            );
            match found.iter_mut().find(|(known, _)| *known == key) {
                Some((_, same)) => same.push(one),
                None => found.push((key, vec![one])),
            }
        }
    }
    let kill = |((replica, _), same): ((String, usize), Vec<&DisturbanceInfo>)| {
        let at: Vec<f64> = same.iter().map(|one| one.killed_s * 1e6).collect();
        let ready = same
            .iter()
            .filter_map(|one| Some((one.ready_s? - one.killed_s) * 1e6));
        Kill {
            replica,
            at_us: judge::estimate(&at),
            ready_after_us: judge::estimate(&ready.collect::<Vec<_>>()),
        }
    };
    found.into_iter().map(kill).collect()
}
