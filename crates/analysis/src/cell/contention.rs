//! What other programs used of the CPUs: in a trial, and over trials. Whether that is too much is decided by `waggle_stats`.

use waggle_results::RunInfo;
use waggle_stats::Verdict;

use crate::{recording::histogram::as_f64, trial::trial_model::TrialModel};

/// What others used over trials that came to their end.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentionModel {
    /// Trials of which it is known, or whose CPU steal is.
    pub trials: usize,
    /// Trials that it makes doubtful.
    pub contended: usize,
    /// CPUs of the machine that waggle may use.
    pub cpus: u32,
    /// Cores that other programs used; `None`: known of no trial.
    pub other_cores: Option<OtherCores>,
    /// The largest CPU steal of a trial, as a share.
    pub cpu_steal_max: f64,
}

/// Cores that other programs used, by trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OtherCores {
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    /// Trials of which it is known.
    pub trials: usize,
}

impl ContentionModel {
    /// Whether no trial was without it, so that no other trial says what the system does alone.
    #[must_use]
    pub fn is_throughout(&self) -> bool {
        self.contended > 0 && self.contended == self.trials
    }
}

/// Whether others make a trial doubtful.
#[must_use]
pub fn is_contended(trial: &TrialModel) -> bool {
    let mut reasons = trial.reasons.iter();
    reasons.any(|reason| reason.verdict == Verdict::Contended)
}

/// Of trials of one run; `None`: nothing is known of any of them.
pub(crate) fn over_trials<'a>(
    trials: impl IntoIterator<Item = &'a TrialModel>,
    info: &RunInfo,
) -> Option<ContentionModel> {
    let known = trials.into_iter().filter_map(|trial| {
        let numbers = trial.counts()?;
        let machine = numbers.machine?;
        Some((trial, machine.cpu_steal, machine.other_cores))
    });
    let known: Vec<(&TrialModel, f64, Option<f64>)> = known.collect();
    let cores: Vec<f64> = known.iter().filter_map(|(_, _, cores)| *cores).collect();
    let steal = known.iter().map(|(_, steal, _)| *steal);
    Some(ContentionModel {
        trials: known.len(),
        contended: known
            .iter()
            .filter(|(trial, ..)| is_contended(trial))
            .count(),
        cpus: info.host.cpus,
        cpu_steal_max: steal.reduce(f64::max)?,
        other_cores: other_cores(&cores),
    })
}

fn other_cores(cores: &[f64]) -> Option<OtherCores> {
    let extreme = |choose: fn(f64, f64) -> f64| cores.iter().copied().reduce(choose);
    Some(OtherCores {
        mean: cores.iter().sum::<f64>() / as_f64(cores.len() as u64),
        min: extreme(f64::min)?,
        max: extreme(f64::max)?,
        trials: cores.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_summed_up() {
        let check = |cores: &[f64], expected: Option<(f64, f64, f64)>| {
            let actual = other_cores(cores).map(|summary| (summary.mean, summary.min, summary.max));
            assert_eq!(actual, expected, "{cores:?}");
        };
        check(&[], None);
        check(&[0.5], Some((0.5, 0.5, 0.5)));
        check(&[0.25, 1.0, 0.25], Some((0.5, 0.25, 1.0)));
    }

    #[test]
    fn only_what_is_in_all_trials_is_throughout() {
        let check = |contended: usize, trials: usize, expected: bool| {
            let model = ContentionModel {
                trials,
                contended,
                cpus: 2,
                other_cores: None,
                cpu_steal_max: 0.0,
            };
            assert_eq!(model.is_throughout(), expected, "{contended} of {trials}");
        };
        check(0, 0, false);
        check(0, 3, false);
        check(2, 3, false);
        check(3, 3, true);
    }
}
