//! A load by itself, at its end: one trial of a run, with all of its answers.

use waggle_metrics::resolve_in_load;
use waggle_results::{CountsRow, IntervalSums, RunInfo, Trial};
use waggle_spec::LoadKind;

use crate::{
    info::factor::Counted,
    metric::trial_value::in_trial,
    recording::histogram::as_f64,
    trial::{
        step::TrialStep,
        trial_model::{self, TrialModel, TrialNumbers},
    },
};

/// A load that has ended. Its counts are of the measured phase and of the answers after it, so that each request is in one of them;
/// its rates are of the measured phase, and its goodput is of requests.
#[derive(Debug)]
pub struct EndedLoad {
    pub run: RunInfo,
    pub trial: Trial,
    /// Of the measured phase and of the answers after it.
    pub sums: IntervalSums,
    pub model: TrialModel,
}

impl EndedLoad {
    #[must_use]
    pub fn new(run: RunInfo, trial: Trial) -> Self {
        let sums = trial.answer_sums();
        let mut model = trial_model::trial(&trial, &run, Counted::Requests);
        let mut numbers = model.numbers.unwrap_or_default();
        if run.load_model == LoadKind::Open && numbers.counts.seconds > 0.0 {
            let due_per_s = as_f64(trial.info.measured.due) / numbers.counts.seconds;
            numbers.generator.offered_per_s.get_or_insert(due_per_s);
        }
        model.numbers = Some(with_answers(numbers, &sums));
        Self {
            run,
            trial,
            sums,
            model,
        }
    }

    /// Zero where nothing was measured.
    ///
    /// # Panics
    /// If they were removed from the model.
    #[must_use]
    pub fn numbers(&self) -> &TrialNumbers {
        let numbers = self.model.numbers.as_ref();
        numbers.expect("a load that has ended has numbers")
    }

    /// The value of a metric; what is sent has no name in its path.
    #[must_use]
    pub fn value(&self, path: &[String]) -> Option<f64> {
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        in_trial(&resolve_in_load(&parts)?, &self.model)
    }
}

/// The numbers of a measured phase, with the counts of these sums.
fn with_answers(numbers: TrialNumbers, sums: &IntervalSums) -> TrialNumbers {
    let steps = numbers.steps.into_iter().zip(&sums.steps);
    TrialNumbers {
        counts: CountsRow {
            seconds: numbers.counts.seconds,
            ..sums.counts.clone()
        },
        sessions: numbers.sessions.and(Some(sums.sessions)),
        steps: steps
            .map(|(step, counts)| TrialStep {
                counts: counts.clone(),
                ..step
            })
            .collect(),
        ..numbers
    }
}
