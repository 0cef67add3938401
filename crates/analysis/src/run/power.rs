//! Which differences a run could have shown, or planned repetitions will show: by the scatter of trials in the same cells.
//!
//! A run's own scatter says what it could have shown; that of earlier runs, of the same study on the same host, what the next one can.

use waggle_metrics::{Metric, Unit};
use waggle_results::parallel_map;
use waggle_stats::{Design, Scale, TrialScatter};

use crate::{
    cell::{
        cell_model::CellModel,
        outcome::{Outcome, headline_outcomes},
    },
    run::run_model::Model,
};

/// Differences that a reader may plan for, the largest first.
const DIFFERENCES: [f64; 7] = [1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01];
/// A smaller difference is named if it is smaller than this share of the one that is found.
const CLEARLY_SMALLER: f64 = 0.75;

/// What runs of a study can show.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerModel {
    pub between: Between,
    /// The metrics that the study asks about and whose scatter is known.
    pub metrics: Vec<MetricPower>,
}

/// What a difference is between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// Two cells of the run.
    Cells,
    /// The only cell of the run, and that of another run with as many trials.
    Runs,
}

/// What can be shown of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricPower {
    pub name: String,
    /// As in files.
    pub column: String,
    pub metric: Metric,
    pub unit: Unit,
    pub scatter: TrialScatter,
    /// Trials of a cell: planned, or the fewest that one has.
    pub trials: usize,
    /// The smallest difference that they find in 80 of 100 runs, as a share: 0.25 is a ratio of 1.25 or 0.8. `None` of one trial.
    pub smallest: Option<f64>,
    /// How many trials of a cell find a clearly smaller difference, and which one; `None` if no number within reason does.
    pub more: Option<(usize, f64)>,
}

/// Earlier runs, and what they show of the next one.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedPower {
    pub power: PowerModel,
    /// How many runs it rests on.
    pub runs: usize,
}

/// The levels of a cell.
type Levels = Vec<(String, String)>;

/// Which difference a run could have shown. `None` of a search, or if no cell has two trials.
#[must_use]
pub fn power(model: &Model) -> Option<PowerModel> {
    if model.search.is_some() {
        return None;
    }
    let cells: Vec<&CellModel> = model.cells.iter().collect();
    let between = compared_pair(cells.len());
    let outcomes = headline_outcomes(&model.info);
    let sources = [(model, cells)];
    let metrics = parallel_map(&outcomes, |outcome| {
        let trials = fewest_trials(outcome, model)?;
        let scatter = scatter(outcome, &sources, between)?;
        Some(metric_power(outcome, scatter, trials))
    });
    PowerModel::new(between, metrics.into_iter().flatten().collect())
}

/// Of any cell, with the metric.
fn fewest_trials(outcome: &Outcome<'_>, model: &Model) -> Option<usize> {
    let cells = model.cells.iter();
    let samples = cells.map(|cell| outcome.samples(cell, &model.trials));
    samples.map(|samples| samples.len()).min()
}

/// Which difference so many repetitions of these cells show, by the scatter in earlier runs of them. `None` if these have no two
/// trials of such a cell, or search for a level.
#[must_use]
pub fn planned_power(earlier: &[Model], cells: &[Levels], trials: usize) -> Option<PlannedPower> {
    let has_cells = |model: &Model| !cells_with_levels(model, cells).is_empty();
    let runs: Vec<&Model> = earlier
        .iter()
        .filter(|model| model.search.is_none() && has_cells(model))
        .collect();
    let newest = runs.iter().max_by_key(|model| &model.info.started_utc)?;
    let between = compared_pair(cells.len());
    let sources: Vec<(&Model, Vec<&CellModel>)> = runs
        .iter()
        .map(|model| (*model, cells_with_levels(model, cells)))
        .collect();
    let metric = |outcome: Outcome<'_>| {
        let scatter = scatter(&outcome, &sources, between)?;
        Some(metric_power(&outcome, scatter, trials))
    };
    let outcomes = headline_outcomes(&newest.info).into_iter();
    let power = PowerModel::new(between, outcomes.filter_map(metric).collect())?;
    Some(PlannedPower {
        power,
        runs: runs.len(),
    })
}

fn compared_pair(cells: usize) -> Between {
    match cells {
        0 | 1 => Between::Runs,
        _ => Between::Cells,
    }
}

fn cells_with_levels<'a>(model: &'a Model, cells: &[Levels]) -> Vec<&'a CellModel> {
    let is_planned = |cell: &&CellModel| cells.contains(&cell.levels);
    model.cells.iter().filter(is_planned).collect()
}

/// The scatter of a metric's trials over runs, each of which has its own levels.
fn scatter(
    outcome: &Outcome<'_>,
    sources: &[(&Model, Vec<&CellModel>)],
    between: Between,
) -> Option<TrialScatter> {
    let runs = sources.iter();
    let runs = runs.filter_map(|(model, cells)| run_scatter(outcome, model, cells, between));
    let pooled = TrialScatter::pool(&runs.collect::<Vec<_>>())?;
    (pooled.deviation > 0.0).then_some(pooled)
}

fn run_scatter(
    outcome: &Outcome<'_>,
    model: &Model,
    cells: &[&CellModel],
    between: Between,
) -> Option<TrialScatter> {
    let groups = cells
        .iter()
        .map(|cell| outcome.samples(cell, &model.trials));
    let scale = Scale::from_resolution(outcome.resolution(cells, &model.trials));
    match between {
        Between::Cells => TrialScatter::from_groups(&groups.collect::<Vec<_>>(), scale),
        // Repetitions of another run are no pairs of these.
        Between::Runs => {
            let alone = groups.map(|group| TrialScatter::from_groups(&[group], scale));
            TrialScatter::pool(&alone.flatten().collect::<Vec<_>>())
        }
    }
}

fn metric_power(outcome: &Outcome<'_>, scatter: TrialScatter, trials: usize) -> MetricPower {
    let smallest = scatter.smallest_difference(trials);
    let limit = smallest.map_or(f64::INFINITY, |smallest| CLEARLY_SMALLER * smallest);
    let smaller = DIFFERENCES
        .into_iter()
        .filter(|difference| *difference <= limit);
    let more = smaller.map_while(|difference| Some((scatter.trials_for(difference)?, difference)));
    MetricPower {
        name: outcome.name.clone(),
        column: outcome.named.column(),
        metric: outcome.named.row.metric,
        unit: outcome.unit(),
        trials,
        smallest,
        // Of a single trial: the difference that few more find.
        more: more.into_iter().find(|(needed, _)| *needed > trials),
        scatter,
    }
}

impl PowerModel {
    fn new(between: Between, metrics: Vec<MetricPower>) -> Option<Self> {
        (!metrics.is_empty()).then_some(Self { between, metrics })
    }
}

impl MetricPower {
    /// Whether trials are compared repetition by repetition.
    #[must_use]
    pub fn is_paired(&self) -> bool {
        self.scatter.design == Design::Pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::simulated_run::{Scatter, Simulated, share};

    fn simulated_model(repetitions: u32, ratio: f64) -> Simulated {
        Simulated {
            scatter: Scatter::Host,
            repetitions,
            ratio,
        }
    }

    fn levels(model: &Model) -> Vec<Levels> {
        model.cells.iter().map(|cell| cell.levels.clone()).collect()
    }

    #[test]
    fn a_run_says_which_difference_it_could_have_shown() {
        let run_power = power(&simulated_model(3, 1.0).model(1)).unwrap();
        assert_eq!(run_power.between, Between::Cells);
        let [goodput] = run_power.metrics.as_slice() else {
            panic!("{run_power:?}");
        };
        assert_eq!(
            (goodput.column.as_str(), goodput.trials, goodput.is_paired()),
            ("goodput_per_s", 3, true)
        );
        // Trials scatter by 5 %, and the host by 20 %, which pairs do not see.
        assert!(
            (0.035..0.07).contains(&goodput.scatter.deviation),
            "{goodput:?}"
        );
        assert_eq!(goodput.scatter.degrees, 22.0);
        let (more, difference) = goodput.more.unwrap();
        assert!(more > 3 && difference < goodput.smallest.unwrap());
    }

    /// What the plan promises from a pilot: cells that differ by so much are found to in four of five runs. Here by the test of one
    /// pair that was chosen before; the family of a report's sentences asks for more.
    #[test]
    fn what_a_pilot_promises_is_found() {
        let rate = share(400, |seed| {
            let pilot = simulated_model(3, 1.0).model(seed);
            let planned = planned_power(std::slice::from_ref(&pilot), &levels(&pilot), 5);
            let smallest = planned.unwrap().power.metrics[0].smallest.unwrap();
            let run = simulated_model(5, 1.0 + smallest).model(seed + 100_000);
            let goodput = &headline_outcomes(&run.info)[0];
            let samples = |cell: usize| goodput.samples(&run.cells[cell], &run.trials);
            let ratio = waggle_stats::ratio(&samples(6), &samples(0), 0.0).unwrap();
            ratio.p_value.unwrap() <= 0.05
        });
        // Of 400 a rate of 80 % shows as 74 to 86 % in 997 of 1,000 cases.
        assert!((0.74..=0.86).contains(&rate), "{rate}");
    }

    #[test]
    fn runs_without_the_cells_show_nothing() {
        let run = simulated_model(3, 1.0).model(1);
        let all = levels(&run);
        let runs = [run.clone(), simulated_model(3, 1.0).model(2)];
        let planned = planned_power(&runs, &all, 3).unwrap();
        assert_eq!(planned.runs, 2);
        assert_eq!(planned.power.metrics[0].scatter.degrees, 44.0);
        assert_eq!(planned_power(&[], &all, 3), None);
        let other = [vec![("variant".to_owned(), "newest".to_owned())]];
        assert_eq!(planned_power(&runs, &other, 3), None);
        // Of one cell the other run is another one: nothing is paired.
        let alone = planned_power(&runs, &all[..1], 3).unwrap().power;
        assert_eq!(
            (alone.between, alone.metrics[0].is_paired()),
            (Between::Runs, false)
        );
        assert!(alone.metrics[0].scatter.deviation > 0.1);
        let once = simulated_model(1, 1.0).model(1);
        assert_eq!(power(&once), None);
    }
}
