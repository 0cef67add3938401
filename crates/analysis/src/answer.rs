//! The answer to the study's question: which cell it is of, whether that may be believed, and what limits there.

use waggle_results::{LoadModel, RunInfo};
use waggle_stats::{ACHIEVED_MIN, Estimate, GENERATOR_BUSY, Verdict};

use crate::{CellModel, CellSearch, INSTRUMENT, SearchModel, bottleneck::cpus_of_system};

/// From this share of the CPUs that the system was given on, its CPU is what limits.
const CPU_FULL: f64 = 0.9;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerOf {
    /// No trial came to its end.
    Nothing,
    /// The cell with the highest goodput of those that may be believed, else of all.
    Highest(Highest),
    /// Cells whose level was searched for, the highest level first.
    Searches(Vec<u32>),
}

/// The cell with the highest goodput, beside the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Highest {
    /// Else no cell may be believed.
    pub is_believed: bool,
    /// The cell from which records could be read soonest; `None` where that is not known of the highest.
    pub quickest: Option<u32>,
    /// A cell that showed more and may not be believed.
    pub more: Option<u32>,
}

/// What limits in a cell, as far as a number shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub by: LimitedBy,
    /// Cores that all components used together, and the CPUs that they could use.
    pub system_cores: f64,
    pub system_cpus: u32,
    /// The component that used most of it, with its cores; `None` where there is one component.
    pub most: Option<(String, f64)>,
    /// Share of its CPU that the busiest worker of the load generator used.
    pub generator_utilization: f64,
}

/// What a limit is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedBy {
    SystemCpu,
    /// The load generator was near its own limit (method, rule 9).
    Generator,
    /// No CPU was full, and all that was asked for was answered: no more was asked for.
    Asked,
    /// No CPU was full; what the users asked for, or waiting.
    UsersOrWaiting,
    /// No CPU was full; waiting for disk, locks or answers.
    Waiting,
}

pub(crate) fn answer(info: &RunInfo, cells: &[CellModel], search: Option<&SearchModel>) -> Answer {
    if let Some(search) = search {
        return of_search(info, cells, search);
    }
    let Some(any) = highest(cells.iter()) else {
        return Answer {
            verdict: cells.iter().filter_map(|cell| cell.verdict).max(),
            cell: None,
            of: AnswerOf::Nothing,
            limit: None,
        };
    };
    let best = highest(cells.iter().filter(|cell| cell.is_believed()));
    let shown = best.unwrap_or(any);
    Answer {
        verdict: shown.verdict,
        cell: Some(shown.cell),
        of: AnswerOf::Highest(Highest {
            is_believed: best.is_some(),
            quickest: quickest(cells, shown, best.is_some()),
            more: (any.cell != shown.cell).then_some(any.cell),
        }),
        limit: limit(shown, info),
    }
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

fn highest<'a>(cells: impl Iterator<Item = &'a CellModel>) -> Option<&'a CellModel> {
    cells
        .filter(|cell| cell.goodput.is_some())
        .max_by(|a, b| point(a.goodput.as_ref()).total_cmp(&point(b.goodput.as_ref())))
}

fn point(estimate: Option<&Estimate>) -> f64 {
    estimate.map_or(f64::NEG_INFINITY, |estimate| estimate.point)
}

fn quickest(cells: &[CellModel], best: &CellModel, only_believed: bool) -> Option<u32> {
    best.delay.p99.estimate?;
    let quickest = cells
        .iter()
        .filter(|cell| !only_believed || cell.is_believed())
        .filter(|cell| cell.delay.p99.estimate.is_some())
        .min_by(|a, b| {
            point(a.delay.p99.estimate.as_ref()).total_cmp(&point(b.delay.p99.estimate.as_ref()))
        })?;
    Some(quickest.cell)
}

/// Names the limit only where a number shows it.
fn limit(cell: &CellModel, info: &RunInfo) -> Option<Limit> {
    let components = || {
        let all = cell.component_cores.iter();
        all.filter(|(component, _)| component != INSTRUMENT)
    };
    let (busiest, cores) = components().max_by(|a, b| a.1.point.total_cmp(&b.1.point))?;
    let system_cores: f64 = components().map(|(_, cores)| cores.point).sum();
    let system_cpus = cpus_of_system(info);
    let generator_utilization = cell.generator_utilization.unwrap_or(0.0);
    Some(Limit {
        by: if system_cores >= CPU_FULL * f64::from(system_cpus) {
            LimitedBy::SystemCpu
        } else if generator_utilization >= GENERATOR_BUSY {
            LimitedBy::Generator
        } else {
            beside_cpus(cell, info)
        },
        system_cores,
        system_cpus,
        most: (components().count() > 1).then(|| (busiest.clone(), cores.point)),
        generator_utilization,
    })
}

/// What limits where no CPU does: of load that comes by itself it is that no more came, as long as all of it was answered.
fn beside_cpus(cell: &CellModel, info: &RunInfo) -> LimitedBy {
    let answered = cell
        .achieved_ratio
        .is_some_and(|share| share >= ACHIEVED_MIN);
    match info.load_model {
        LoadModel::Open if answered => LimitedBy::Asked,
        LoadModel::Users => LimitedBy::UsersOrWaiting,
        LoadModel::Open | LoadModel::Closed => LimitedBy::Waiting,
    }
}
