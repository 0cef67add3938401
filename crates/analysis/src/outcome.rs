//! Which numbers of a trial are looked at as outcomes: over factors, over the levels of one, of two levels against each other.

use waggle_metrics::{Metric, NamedMetric, Statistic, Unit, Wish};

use crate::{CellModel, TrialModel, metric};

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

impl Outcome<'_> {
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

    /// The outcome in each trial of a cell that came to its end.
    pub(crate) fn of_cell(&self, cell: &CellModel, trials: &[TrialModel]) -> Vec<f64> {
        let own = trials.iter().filter(|trial| trial.key.cell == cell.cell);
        own.filter(|trial| trial.counts().is_some())
            .filter_map(|trial| metric::in_trial(&self.named, trial))
            .collect()
    }
}

/// In the order in which they are shown: what was reached, how late, at what cost.
pub(crate) fn outcomes<'a>(
    cells: &[&'a CellModel],
    delivery_probe: Option<&str>,
) -> Vec<Outcome<'a>> {
    let mut all = vec![
        outcome(Metric::Goodput, None, None),
        outcome(Metric::ResponseTime, Some(Statistic::P50), None),
        outcome(Metric::ResponseTime, Some(Statistic::P99), None),
    ];
    for probe in intermediate_probes(cells) {
        all.extend(delays(Some(probe)));
    }
    all.extend(delays(None).map(|last| Outcome {
        name: match delivery_probe {
            Some(probe) => format!("{} at {probe}", last.name),
            None => last.name,
        },
        ..last
    }));
    all.push(outcome(Metric::SystemCpuPerRequest, None, None));
    all
}

fn delays(at: Option<&str>) -> [Outcome<'_>; 2] {
    [Statistic::P50, Statistic::P99].map(|statistic| outcome(Metric::Delay, Some(statistic), at))
}

fn outcome(metric: Metric, statistic: Option<Statistic>, of: Option<&str>) -> Outcome<'_> {
    let named = NamedMetric {
        statistic,
        of,
        ..NamedMetric::of_all(metric)
    };
    Outcome {
        name: named.heading(),
        named,
    }
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
