//! Which numbers of a trial are looked at as outcomes: over factors, over the levels of one, of two levels against each other.

use waggle_metrics::{Metric, NamedMetric, Statistic, Subject, Unit, Wish};
use waggle_results::RunInfo;
use waggle_spec::TimeKind;

use waggle_stats::{Range, Sample};

use crate::{
    cell::{
        asked_metrics::{asked_metrics, headline},
        cell_model::CellModel,
    },
    info::metric_path,
    metric::{
        aggregate,
        known::{Known, open_biases},
        number::Number,
        scale::scale,
        trial_value, windows,
    },
    trial::trial_model::TrialModel,
};

/// A number of each trial.
pub(crate) struct Outcome<'a> {
    pub(crate) named: NamedMetric<'a>,
    /// With the probe where records must arrive.
    pub(crate) name: String,
}

/// Which way an outcome is wished for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Higher,
    Quicker,
    Cheaper,
    FewerErrors,
}

impl<'a> Outcome<'a> {
    fn new(named: NamedMetric<'a>) -> Self {
        Self {
            name: named.heading(),
            named,
        }
    }

    /// With the name of the probe where records must arrive, if it is measured there.
    fn with_probe_name(self, info: &RunInfo) -> Self {
        let is_last = self.named.row.subject == Subject::Probe && self.named.of.is_none();
        match &info.delivery_probe {
            Some(probe) if is_last => Self {
                name: format!("{} at {probe}", self.name),
                ..self
            },
            _ => self,
        }
    }

    pub(crate) fn matches(&self, metric: Metric, statistic: Option<Statistic>) -> bool {
        self.named.row.metric == metric
            && self.named.statistic == statistic
            && self.named.of.is_none()
    }

    pub(crate) fn better(&self) -> Better {
        match (self.named.row.metric, self.named.row.wish) {
            (Metric::SystemCpuPerRequest, _) => Better::Cheaper,
            (_, Wish::More) => Better::Higher,
            (_, Wish::Less | Wish::Neither) => Better::Quicker,
        }
    }

    pub(crate) fn unit(&self) -> Unit {
        self.named.row.unit
    }

    /// Whether the trials of a cell show the outcome: not if it is that of a few windows of a sample.
    pub(crate) fn is_shown(&self, cell: &CellModel, trials: &[TrialModel]) -> bool {
        let cell_trials: Vec<&TrialModel> = counted_trials(cell, trials).collect();
        windows::too_few_windows(&self.named, &cell_trials).is_none()
    }

    /// The outcome in each trial of a cell that came to its end, with all values that the doubts of the cell leave possible; none of what
    /// they do not show: nothing is concluded from it.
    pub(crate) fn samples(&self, cell: &CellModel, trials: &[TrialModel]) -> Vec<Sample> {
        let counted: Vec<&TrialModel> = counted_trials(cell, trials).collect();
        let biases = open_biases(&self.named, &counted, &cell.own_reasons());
        let mut samples = self.measured_samples(cell, trials);
        for sample in &mut samples {
            let range = Range::new((sample.least, sample.most), biases.iter().copied());
            (sample.least, sample.most) = (range.low, range.high);
        }
        samples
    }

    /// The same without the doubts of the cell.
    pub(crate) fn measured_samples(&self, cell: &CellModel, trials: &[TrialModel]) -> Vec<Sample> {
        if !self.is_shown(cell, trials) {
            return Vec::new();
        }
        let counted = counted_trials(cell, trials);
        counted.filter_map(|trial| self.sample(trial)).collect()
    }

    fn sample(&self, trial: &TrialModel) -> Option<Sample> {
        let bounded = trial_value::range_in_trial(&self.named, trial)?;
        Some(Sample {
            repetition: trial.info.key.repetition,
            least: bounded.low,
            value: bounded.value,
            most: bounded.high,
        })
    }

    /// The outcome of a cell over its trials.
    pub(crate) fn number(&self, cell: &CellModel, trials: &[TrialModel]) -> Option<Number> {
        aggregate::over_trials(
            &self.named,
            &counted_trials(cell, trials).collect::<Vec<_>>(),
        )
    }

    /// The same with all values that the system can have.
    pub(crate) fn known_value(&self, cell: &CellModel, trials: &[TrialModel]) -> Option<Known> {
        let counted: Vec<&TrialModel> = counted_trials(cell, trials).collect();
        Known::over_trials(&self.named, &counted, &cell.own_reasons())
    }

    /// The outcome over trials that came to their end.
    pub(crate) fn number_of(&self, trials: &[&TrialModel]) -> Option<Number> {
        aggregate::over_trials(&self.named, trials)
    }

    /// What it can tell apart in the trials of these cells; 0: not known.
    pub(crate) fn resolution(&self, cells: &[&CellModel], trials: &[TrialModel]) -> f64 {
        let cell_trials = cells.iter().flat_map(|cell| counted_trials(cell, trials));
        scale(&self.named, &cell_trials.collect::<Vec<_>>()).resolution
    }

    /// Whether the study asks about it.
    pub(crate) fn is_asked(&self, asked: &[NamedMetric<'_>]) -> bool {
        let is_same = |metric: &NamedMetric<'_>| {
            metric.row.metric == self.named.row.metric
                && metric.statistic == self.named.statistic
                && metric.of == self.named.of
        };
        asked.iter().any(is_same)
    }
}

/// Cells with the trials of all of them.
#[derive(Clone, Copy)]
pub(crate) struct CellTrials<'a> {
    pub(crate) cells: &'a [CellModel],
    pub(crate) trials: &'a [TrialModel],
}

/// The trials of a cell that came to their end.
pub(crate) fn counted_trials<'a>(
    cell: &CellModel,
    trials: &'a [TrialModel],
) -> impl Iterator<Item = &'a TrialModel> + use<'a> {
    let cell_trials = trials_of_cell(cell.cell, trials).iter();
    cell_trials.filter(|trial| trial.counts().is_some())
}

/// The trials of a cell, among trials that are sorted by cell.
pub(crate) fn trials_of_cell(cell: u32, trials: &[TrialModel]) -> &[TrialModel] {
    let from = trials.partition_point(|trial| trial.info.key.cell < cell);
    let to = trials.partition_point(|trial| trial.info.key.cell <= cell);
    &trials[from..to]
}

/// In the order in which they are shown: what was reached, how late, at what cost.
///
/// What the study asks about comes first.
pub(crate) fn outcomes<'a>(cells: &[&'a CellModel], info: &'a RunInfo) -> Vec<Outcome<'a>> {
    with_usual(headline_outcomes(info), cells, info)
}

/// The same with other metrics in place of what the study asks about.
pub(crate) fn outcomes_with<'a>(
    asked: &[NamedMetric<'a>],
    cells: &'a [CellModel],
    info: &'a RunInfo,
) -> Vec<Outcome<'a>> {
    let asked = asked.iter().map(|named| Outcome::new(*named));
    let asked = asked.map(|outcome| outcome.with_probe_name(info)).collect();
    with_usual(asked, &cells.iter().collect::<Vec<_>>(), info)
}

fn with_usual<'a>(
    mut all: Vec<Outcome<'a>>,
    cells: &[&'a CellModel],
    info: &'a RunInfo,
) -> Vec<Outcome<'a>> {
    for outcome in usual_outcomes(cells).map(|outcome| outcome.with_probe_name(info)) {
        if !all.iter().any(|known| known.named == outcome.named) {
            all.push(outcome);
        }
    }
    all
}

/// What the study asks about.
pub(crate) fn headline_outcomes(info: &RunInfo) -> Vec<Outcome<'_>> {
    let asked = headline(info).into_iter().map(Outcome::new);
    asked.map(|outcome| outcome.with_probe_name(info)).collect()
}

/// What thresholds name and the study does not ask about otherwise, each with the places of its thresholds.
pub(crate) fn threshold_outcomes(info: &RunInfo) -> Vec<(Outcome<'_>, Vec<usize>)> {
    let asked = headline(info);
    let mut outcomes = Vec::new();
    for named in asked_metrics(info) {
        if asked.contains(&named) {
            continue;
        }
        let all = info.thresholds.iter().enumerate();
        let thresholds = all.filter(|(_, threshold)| {
            metric_path::without_names(&threshold.metric, info) == Some(named)
        });
        let places = thresholds.map(|(place, _)| place).collect();
        outcomes.push((Outcome::new(named).with_probe_name(info), places));
    }
    outcomes
}

fn usual_outcomes<'a>(cells: &[&'a CellModel]) -> impl Iterator<Item = Outcome<'a>> {
    let mut all = vec![
        outcome(Metric::Goodput, None, None),
        outcome(Metric::Time(TimeKind::Response), Some(Statistic::P50), None),
        outcome(Metric::Time(TimeKind::Response), Some(Statistic::P99), None),
    ];
    for probe in intermediate_probes(cells) {
        all.extend(delays(Some(probe)));
    }
    all.extend(delays(None));
    all.push(outcome(Metric::SystemCpuPerRequest, None, None));
    all.into_iter()
}

fn delays(probe: Option<&str>) -> [Outcome<'_>; 2] {
    [Statistic::P50, Statistic::P99].map(|statistic| outcome(Metric::Delay, Some(statistic), probe))
}

fn outcome(metric: Metric, statistic: Option<Statistic>, name: Option<&str>) -> Outcome<'_> {
    Outcome::new(NamedMetric {
        statistic,
        of: name,
        ..NamedMetric::of_all(metric)
    })
}

/// Every intermediate probe of any cell, in its order.
fn intermediate_probes<'a>(cells: &[&'a CellModel]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for probe in cells.iter().flat_map(|cell| &cell.intermediate_probes) {
        if !names.contains(&probe.name.as_str()) {
            names.push(&probe.name);
        }
    }
    names
}
