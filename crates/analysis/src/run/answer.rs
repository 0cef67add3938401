//! The answer to the study's question: which cell it is of, how far that is known, and what limits there.
//!
//! Cells are compared by all values that the system can have: the interval of the metric, opened by the doubts about this metric. A cell
//! is left out only if nothing is known of the metric there. Rates: docs/design/0088-answers-by-ranges.md.

use waggle_metrics::{Metric, Unit, Wish};
use waggle_results::RunInfo;
use waggle_spec::LoadKind;
use waggle_stats::{
    ACHIEVED_MIN, GENERATOR_BUSY, MetricVerdict, OTHER_CPU_MAX, Range, Sample, TrialsNeeded,
    Verdict,
};

use crate::{
    cell::{
        cell_model::CellModel,
        cpu_capacity::{CPU_FULL, CpuCapacity},
        outcome::{CellTrials, Outcome, headline_outcomes, threshold_outcomes},
    },
    factors::together::ORDER,
    info::{instrument::INSTRUMENT, system_kind::is_duet},
    metric::number::Number,
    recording::histogram::as_f64,
    run::search::{CellSearch, SearchModel},
    trial::{bottleneck::cpus_of_system, trial_model::TrialModel},
};

/// Two cells by themselves differ up to this p-value.
const ALONE: f64 = 0.05;
/// Pairs of cells of which each is compared.
const PAIRS_MAX: usize = 2_000;

/// The answer, and how far it may be believed.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Of the cell that the answer speaks of; `None`: nothing was measured.
    pub verdict: Option<Verdict>,
    /// Number of that cell.
    pub cell: Option<u32>,
    pub of: AnswerOf,
    /// What limits in that cell; `None` where the CPU of no component is known.
    pub limit: Option<Limit>,
}

/// What the answer is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerOf {
    /// No trial came to its end.
    Nothing,
    /// Each metric that the study asks about, over all cells, then those that thresholds alone name; the first one's best cell is the
    /// answer's.
    Metrics(Vec<MetricAnswer>),
    /// Cells whose level was searched for, the highest level first.
    Searches(Vec<u32>),
}

/// One metric that the study asks about, or that a threshold names.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricAnswer {
    /// `Response time p99`, with the probe for a delay.
    pub name: String,
    pub metric: Metric,
    pub unit: Unit,
    pub wish: Wish,
    pub role: AnswerRole,
    /// In how many of the cells that have the metric something is known of it. Of none: all of them are looked at.
    pub known: usize,
    pub of: usize,
    /// The best, by what is wished for.
    pub best: CellValue,
    /// The worst, if more than one cell is looked at.
    pub worst: Option<CellValue>,
    /// Cells of which it is not shown that the best one is better.
    pub tied: Vec<TiedCell>,
    /// How many pairs of cells were compared.
    pub comparisons: usize,
}

/// A cell of which it is not shown that the best one is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TiedCell {
    pub value: CellValue,
    /// The two by themselves differ; among so many comparisons that may be chance.
    pub is_alone: bool,
    /// Trials of each of the two that would show it; `None`: more than are run, or trials do not show it.
    pub trials_needed: Option<TrialsNeeded>,
}

/// Why an answer speaks of a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerRole {
    /// The study asks about it.
    Asked,
    /// Only these thresholds of the study name it, by their places.
    Threshold(Vec<usize>),
}

/// A metric in one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellValue {
    pub cell: u32,
    pub number: Number,
    /// All values that the system can have.
    pub range: Range,
    pub verdict: MetricVerdict,
}

impl CellValue {
    /// Whether the system's own value may be any amount above the measured one.
    #[must_use]
    pub fn is_open_above(&self) -> bool {
        self.range.high.is_infinite()
    }

    /// Whether nothing bounds the system's own value from below.
    #[must_use]
    pub fn is_open_below(&self) -> bool {
        self.range.low.is_infinite()
    }
}

/// What limits in a cell, as far as a number shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub by: LimitedBy,
    /// Cores that all components used together, and the CPUs that they could use.
    pub system_cores: f64,
    pub system_cpus: Option<u32>,
    /// The component that used most of it, with its cores; `None` where there is one component.
    pub most: Option<(String, f64)>,
    /// Share of its CPU that the busiest worker of the load generator used.
    pub generator_utilization: f64,
    /// What a request or record costs where the system's CPU limits a closed load.
    pub cpu_capacity: Option<CpuCapacity>,
}

/// What a limit is by.
#[derive(Debug, Clone, PartialEq)]
pub enum LimitedBy {
    SystemCpu,
    /// All replicas of a component together used as many CPUs as their limits allow.
    ComponentLimit {
        component: String,
        cores: f64,
        cpus: f64,
    },
    /// The load generator was near its own limit (method, rule 9).
    Generator,
    /// No CPU was full, and all that was asked for was answered: no more was asked for.
    Asked,
    /// No CPU of the system was full, and other programs used so many cores of the machine.
    OtherPrograms {
        cores: f64,
    },
    /// No CPU was full; what the users asked for, or waiting.
    UsersOrWaiting,
    /// No CPU was full; waiting for disk, locks or answers.
    Waiting,
    /// No CPU was full; opening the connections of clients, which wait in the queue of a listener.
    Connecting,
}

pub(crate) fn answer(
    info: &RunInfo,
    cells: &[CellModel],
    trials: &[TrialModel],
    search: Option<&SearchModel>,
) -> Answer {
    if let Some(search) = search {
        return of_search(info, cells, search);
    }
    let answer =
        |outcome: &Outcome<'_>, role: AnswerRole| metric_answer(outcome, role, cells, trials);
    let asked = headline_outcomes(info);
    let of_asked = asked
        .iter()
        .filter_map(|outcome| answer(outcome, AnswerRole::Asked));
    let of_thresholds = threshold_outcomes(info);
    let of_thresholds = of_thresholds
        .iter()
        .filter_map(|(outcome, places)| answer(outcome, AnswerRole::Threshold(places.clone())));
    let metrics: Vec<MetricAnswer> = of_asked.chain(of_thresholds).collect();
    let Some(first) = metrics.first() else {
        return Answer {
            verdict: cells.iter().filter_map(|cell| cell.verdict).max(),
            cell: None,
            of: AnswerOf::Nothing,
            limit: None,
        };
    };
    let shown = cells.iter().find(|cell| cell.cell == first.best.cell);
    Answer {
        verdict: shown.and_then(|cell| cell.verdict),
        cell: Some(first.best.cell),
        limit: shown.and_then(|cell| limit(cell, info)),
        of: AnswerOf::Metrics(metrics),
    }
}

/// `None` if no cell has the metric.
fn metric_answer(
    outcome: &Outcome<'_>,
    role: AnswerRole,
    cells: &[CellModel],
    trials: &[TrialModel],
) -> Option<MetricAnswer> {
    let row = outcome.named.row;
    let all = cells.iter();
    let all: Vec<CellValue> = all
        .filter_map(|cell| cell_value(outcome, cell, trials))
        .collect();
    let is_known = |value: &&CellValue| value.verdict != MetricVerdict::Unknown;
    let known: Vec<CellValue> = all.iter().filter(is_known).copied().collect();
    let shown = if known.is_empty() { &all } else { &known };
    let best = best_of(shown, row.wish)?;
    let data = CellTrials { cells, trials };
    let (tied, comparisons) = indistinguishable_cells(outcome, shown, best, data);
    Some(MetricAnswer {
        name: outcome.name.clone(),
        metric: row.metric,
        unit: row.unit,
        wish: row.wish,
        role,
        known: known.len(),
        of: all.len(),
        best,
        worst: worst_of(shown, row.wish).filter(|worst| worst.cell != best.cell),
        tied,
        comparisons,
    })
}

fn cell_value(outcome: &Outcome<'_>, cell: &CellModel, trials: &[TrialModel]) -> Option<CellValue> {
    let known = outcome.known_value(cell, trials)?;
    Some(CellValue {
        cell: cell.cell,
        number: known.number,
        range: known.range,
        verdict: known.verdict(),
    })
}

/// More is better unless less is wished for.
fn best_of(values: &[CellValue], wish: Wish) -> Option<CellValue> {
    let by_point = |a: &&CellValue, b: &&CellValue| a.number.point().total_cmp(&b.number.point());
    let values = values.iter();
    match wish {
        Wish::Less => values.min_by(by_point).copied(),
        Wish::More | Wish::Neither => values.rev().max_by(by_point).copied(),
    }
}

fn worst_of(values: &[CellValue], wish: Wish) -> Option<CellValue> {
    match wish {
        Wish::Less => best_of(values, Wish::More),
        Wish::More | Wish::Neither => best_of(values, Wish::Less),
    }
}

/// Cells that cannot be told from the best one. Any cell could have come out best, so every pair counts as a comparison.
///
/// Of many cells only the comparisons with the best one are made, each at its share of the error rate (Bonferroni): it is never less
/// strict than Holm's procedure over all pairs.
fn indistinguishable_cells(
    outcome: &Outcome<'_>,
    shown: &[CellValue],
    best: CellValue,
    data: CellTrials<'_>,
) -> (Vec<TiedCell>, usize) {
    let candidates: Vec<&CellModel> = data
        .cells
        .iter()
        .filter(|cell| shown.iter().any(|value| value.cell == cell.cell))
        .collect();
    let resolution = outcome.resolution(&candidates, data.trials);
    let samples: Vec<(u32, Vec<Sample>)> = candidates
        .iter()
        .map(|cell| (cell.cell, outcome.samples(cell, data.trials)))
        .collect();
    // A ratio to nothing has no test, but its inverse may have one.
    let p_value = |a: &[Sample], b: &[Sample]| {
        let ratio = waggle_stats::ratio(a, b, resolution);
        let tested = ratio.or_else(|| waggle_stats::ratio(b, a, resolution))?;
        tested.p_value
    };
    let pairs = samples.len() * samples.len().saturating_sub(1) / 2;
    let limit = if pairs <= PAIRS_MAX {
        let pairs = (0..samples.len()).flat_map(|a| (a + 1..samples.len()).map(move |b| (a, b)));
        let all: Vec<f64> = pairs
            .filter_map(|(a, b)| p_value(&samples[a].1, &samples[b].1))
            .collect();
        waggle_stats::rejection_limit(&all, ORDER)
    } else {
        ORDER / as_f64(pairs as u64)
    };
    let Some((_, first)) = samples.iter().find(|(cell, _)| *cell == best.cell) else {
        return (Vec::new(), pairs);
    };
    let mut tied = Vec::new();
    for (cell, other) in samples.iter().filter(|(cell, _)| *cell != best.cell) {
        let p_value = p_value(first, other);
        let value = shown.iter().find(|value| value.cell == *cell);
        let is_tied = p_value.is_none_or(|p_value| p_value > limit);
        tied.extend(value.filter(|_| is_tied).map(|value| TiedCell {
            value: *value,
            is_alone: p_value.is_some_and(|p_value| p_value <= ALONE),
            trials_needed: waggle_stats::trials_to_differ(first, other, resolution, limit),
        }));
    }
    (tied, pairs)
}

fn of_search(info: &RunInfo, cells: &[CellModel], search: &SearchModel) -> Answer {
    let mut searches: Vec<(&CellModel, &CellSearch)> = cells
        .iter()
        .filter_map(|cell| Some((cell, search.of_cell(cell.cell)?)))
        .collect();
    let held = |search: &CellSearch| search.answer.holds.map_or(0.0, |held| held.level);
    searches.sort_by(|a, b| held(b.1).total_cmp(&held(a.1)));
    let best = searches
        .first()
        .map(|(cell, _)| *cell)
        .filter(|cell| cell.verdict.is_some());
    Answer {
        verdict: best.and_then(|cell| cell.verdict),
        cell: best.map(|cell| cell.cell),
        of: AnswerOf::Searches(searches.iter().map(|(cell, _)| cell.cell).collect()),
        limit: best.and_then(|cell| limit(cell, info)),
    }
}

/// Names the limit only where a number shows it.
fn limit(cell: &CellModel, info: &RunInfo) -> Option<Limit> {
    // Of two versions at the same time each is limited by the other.
    if is_duet(info) {
        return None;
    }
    let components = || {
        let all = cell.component_cores.iter();
        all.filter(|(component, _)| component != INSTRUMENT)
    };
    let (busiest, cores) = components().max_by(|a, b| a.1.point.total_cmp(&b.1.point))?;
    let system_cores: f64 = components().map(|(_, cores)| cores.point).sum();
    let system_cpus = cpus_of_system(info);
    let generator_utilization = cell.generator_utilization.unwrap_or(0.0);
    Some(Limit {
        by: if system_cpus.is_some_and(|cpus| system_cores >= CPU_FULL * f64::from(cpus)) {
            LimitedBy::SystemCpu
        } else if let Some(limited) = component_limit(cell) {
            limited
        } else if generator_utilization >= GENERATOR_BUSY {
            LimitedBy::Generator
        } else if let Some(cores) = cores_of_others(cell, info) {
            LimitedBy::OtherPrograms { cores }
        } else {
            beside_cpus(cell, info)
        },
        system_cores,
        system_cpus,
        most: (components().count() > 1).then(|| (busiest.clone(), cores.point)),
        generator_utilization,
        cpu_capacity: cell.cpu_capacity.clone(),
    })
}

/// The component that is closest to its limit of CPUs, if it is near it.
fn component_limit(cell: &CellModel) -> Option<LimitedBy> {
    let cores_of = |component: &str| {
        let mut used = cell.whole_component_cores.iter();
        used.find(|(name, _)| name == component)
    };
    let limited = cell.component_limits.iter().filter_map(|limit| {
        let cpus = limit.cpus?.cpus * as_f64(limit.replicas as u64);
        let (component, cores) = cores_of(&limit.component)?;
        Some((component.clone(), cores.point, cpus))
    });
    let near = limited.filter(|(_, cores, cpus)| *cores >= CPU_FULL * cpus);
    let (component, cores, cpus) = near.max_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)))?;
    Some(LimitedBy::ComponentLimit {
        component,
        cores,
        cpus,
    })
}

/// Cores that other programs used; `None`: few, or not known.
fn cores_of_others(cell: &CellModel, info: &RunInfo) -> Option<f64> {
    let others = cell.contention.as_ref()?.other_cores?.mean;
    (others >= OTHER_CPU_MAX * f64::from(info.host.cpus)).then_some(others)
}

/// What limits where no CPU does: of load that comes by itself it is that no more came, as long as all of it was answered.
fn beside_cpus(cell: &CellModel, info: &RunInfo) -> LimitedBy {
    let answered = cell
        .achieved_ratio
        .is_some_and(|share| share >= ACHIEVED_MIN);
    match info.load_model {
        LoadKind::Open if answered => LimitedBy::Asked,
        LoadKind::Users => LimitedBy::UsersOrWaiting,
        LoadKind::Clients => LimitedBy::Connecting,
        LoadKind::Open | LoadKind::Closed => LimitedBy::Waiting,
    }
}
