//! The searches of a run: what each trial showed of the level it had, and the answer of each cell.

use waggle_metrics::{Metric, Unit};
use waggle_results::{ReadError, Run, RunInfo, Trial, TrialKey};
use waggle_spec::{LevelKind, LoadKind, Threshold, TimeKind};
use waggle_stats::{
    Answer, Backlog, Evidence, Finding, Levels, PoolUse, Reason, Search, SearchTrial, Settings,
    SystemFinding, Verdict,
};

use crate::{
    cell::{
        cell_model::{self, CellModel},
        decision::Decision,
        threshold::{self, ThresholdCell},
    },
    info::{
        factor::counted_unit,
        metric_path::{self, unit},
    },
    recording::histogram::as_f64,
    trial::{
        limits,
        trial_model::{self, TrialModel},
    },
};

/// What was searched for, and what was found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchModel {
    pub info: waggle_spec::Search,
    /// In the study's order.
    pub cells: Vec<CellSearch>,
}

/// The search of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellSearch {
    pub cell: u32,
    pub answer: Answer,
    /// In the order in which they were made.
    pub steps: Vec<SearchStep>,
}

/// One trial of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchStep {
    pub key: TrialKey,
    pub level: f64,
    /// By all trials of the search.
    pub evidence: Evidence,
    /// What the search is told of it.
    pub tried: SearchTrial,
    /// Why it is not met.
    pub why: Vec<Shortfall>,
    /// The number that each condition names, in the order of the conditions; in the unit of the condition's value.
    pub numbers: Vec<Option<f64>>,
}

/// Why a trial of a search does not show that its level holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Shortfall {
    /// The trial may not be believed.
    Reason(Reason),
    /// A condition does not hold: as written in the study, what its number is counted in, and what there was of it.
    Condition {
        text: String,
        unit: Unit,
        cell: ThresholdCell,
    },
}

impl CellSearch {
    /// Why the search went no higher.
    #[must_use]
    pub fn shortfalls(&self) -> &[Shortfall] {
        shortfalls_at_limit(&self.answer, &self.steps)
    }

    fn is_at_answer(&self, key: TrialKey) -> bool {
        let step = self.steps.iter().find(|step| step.key == key);
        let Some((step, held)) = step.zip(self.answer.holds) else {
            return false;
        };
        // Read from a text a level may differ in its last digit.
        let is_near = (step.level - held.level).abs() <= 1e-9 * held.level;
        is_near && step.evidence == Evidence::Met
    }
}

/// Why a search went no higher, by the steps that it was told, in their order.
#[must_use]
pub fn shortfalls_at_limit<'a>(answer: &Answer, steps: &'a [SearchStep]) -> &'a [Shortfall] {
    let by = answer.stopped_by.and_then(|place| steps.get(place));
    by.map_or(&[], |step| &step.why)
}

impl SearchModel {
    /// The trials of a cell at the highest level that holds.
    pub fn trials_at_highest_level(&self, cell: u32, trials: &[TrialModel]) -> Vec<TrialModel> {
        trials
            .iter()
            .filter(|trial| trial.info.key.cell == cell && self.is_at_answer(trial.info.key))
            .cloned()
            .collect()
    }

    /// Whether it is one of the trials that the answer of its cell rests on.
    pub fn is_at_answer(&self, key: TrialKey) -> bool {
        self.of_cell(key.cell)
            .is_some_and(|search| search.is_at_answer(key))
    }

    pub fn of_cell(&self, number: u32) -> Option<&CellSearch> {
        self.cells.iter().find(|search| search.cell == number)
    }
}

/// What one trial of a run shows of the level it had; [`SearchStep::tried`] is what [`waggle_stats::Search`] is told of it.
///
/// # Errors
/// Where the run cannot be read, or has no such trial of a search.
pub fn evidence(run: &std::path::Path, key: TrialKey) -> Result<SearchStep, ReadError> {
    let none = |problem: &str| ReadError::Folder {
        path: run.to_owned(),
        problem: format!("{key} {problem}"),
    };
    let read = Run::read_with_trial(run, key)?;
    let raw = read.trials.first().ok_or_else(|| none("has no result"))?;
    let asked = read.info.search.as_ref();
    let asked = asked.ok_or_else(|| none("is of a run that searches nothing"))?;
    let mut model = trial_model::trial(raw, &read.info, counted_unit(&read.info));
    if let Some(numbers) = &mut model.numbers {
        limits::note_unthrottled_components(numbers);
    }
    step(&read.info, asked, &model, raw).ok_or_else(|| none("has no level"))
}

/// The searches of a run, each with its trials in their order.
pub(crate) fn searches(
    info: &RunInfo,
    trials: &[TrialModel],
    raw: &[Trial],
) -> Option<SearchModel> {
    let asked = info.search.as_ref()?;
    let mut cells = Vec::new();
    for cell in &info.cells {
        let of_cell = trials
            .iter()
            .filter(|trial| trial.info.key.cell == cell.cell);
        let of_cell =
            of_cell.filter(|trial| asked.operating_point(trial.info.key.repetition).is_none());
        let mut steps: Vec<SearchStep> = of_cell
            .filter_map(|trial| {
                let raw = raw.iter().find(|raw| raw.info.key == trial.info.key)?;
                step(info, asked, trial, raw)
            })
            .collect();
        // Settings that cannot be searched come from no study of ours.
        let mut search = Search::new(settings(asked))?;
        for step in &steps {
            search.report(step.tried);
        }
        for (step, evidence) in steps.iter_mut().zip(search.evidence()) {
            step.evidence = evidence;
        }
        cells.push(CellSearch {
            cell: cell.cell,
            answer: search.answer(),
            steps,
        });
    }
    Some(SearchModel {
        info: asked.clone(),
        cells,
    })
}

/// The level of a cell at a share of the capacity that its search found; `None`: it found none, or has not ended.
#[must_use]
pub fn operating_level(asked: &waggle_spec::Search, answer: &Answer, share: f64) -> Option<f64> {
    Some(levels(asked).at_share(answer.capacity()?, share))
}

fn levels(asked: &waggle_spec::Search) -> Levels {
    match asked.maximize {
        LevelKind::Rate => Levels::Fine,
        LevelKind::Users | LevelKind::Connections => Levels::Whole,
    }
}

fn settings(asked: &waggle_spec::Search) -> Settings {
    Settings {
        start: asked.start,
        min: asked.min,
        max: asked.max,
        precision: asked.precision,
        confirmations: asked.confirmations,
        max_trials: asked.max_trials,
        max_connections: asked.max_connections,
        levels: levels(asked),
    }
}

/// What a trial with this verdict shows. A doubt that can only point one way decides nothing if the conditions hold all the same, or
/// fail all the same.
fn evidence_of(verdict: Verdict, conditions: &[ThresholdCell]) -> Evidence {
    let is_failing = conditions
        .iter()
        .any(|condition| condition.held == Decision::Fails);
    // More trials do not narrow the range in which a delay is known, nor show what windows do not, so the level is not shown to hold.
    let is_unresolved = |condition: &ThresholdCell| {
        matches!(
            condition.reason,
            Some(threshold::Shortcoming::Within(..) | threshold::Shortcoming::Windows(_))
        )
    };
    let fails = is_failing || conditions.iter().any(is_unresolved);
    let holds = conditions
        .iter()
        .all(|condition| condition.held == Decision::Holds);
    match verdict {
        Verdict::InstrumentLimited if holds => Evidence::Met,
        Verdict::InstrumentLimited if is_failing => Evidence::NotMet,
        Verdict::Contended if is_failing => Evidence::NotMet,
        // With the CPUs to itself the system may hold the level.
        Verdict::Contended if !holds => Evidence::Unsteady,
        verdict => Evidence::from_verdict(verdict, !fails),
    }
}

/// What waiting for a free connection makes worse. Failures are not among them.
const WAITED_FOR: [Metric; 7] = [
    Metric::Time(TimeKind::Response),
    Metric::ClientWaitTime,
    Metric::AchievedRatio,
    Metric::Goodput,
    Metric::Throughput,
    Metric::Skipped,
    Metric::SessionsGoodput,
];

/// How the load's pool of connections was used; `None`: the load has none beside its level, or measured nothing.
fn pool_use(
    info: &RunInfo,
    trial: &TrialModel,
    raw: &Trial,
    conditions: &[(&Threshold, &ThresholdCell)],
) -> Option<PoolUse> {
    let generator = raw.info.generator.as_ref()?;
    let numbers = trial.numbers.as_ref()?;
    if info.load_model != LoadKind::Open {
        return None;
    }
    let is_waited_for = |(condition, cell): &(&Threshold, &ThresholdCell)| match cell.held {
        Decision::Holds => true,
        _ => metric_path::metric(&condition.metric)
            .is_some_and(|metric| WAITED_FOR.contains(&metric)),
    };
    let mut overloads = trial
        .reasons
        .iter()
        .filter(|reason| matches!(reason.verdict, Verdict::Overloaded | Verdict::Incomplete));
    // A scenario, or a load that opens a connection for each request, has at least one for each request in flight.
    let in_flight_max = generator
        .in_flight_max
        .unwrap_or(generator.connections_asked);
    Some(PoolUse {
        in_flight_max: as_f64(in_flight_max),
        in_flight_mean: generator.in_flight_mean,
        service_mean_us: numbers.times[TimeKind::Service].as_ref()?.mean_us?,
        may_be_limit: raw.info.stopped.is_none()
            && conditions.iter().all(is_waited_for)
            && overloads.all(is_of_requests),
    })
}

fn is_of_requests(reason: &Reason) -> bool {
    matches!(
        reason.finding,
        Finding::System(
            SystemFinding::Unanswered { .. }
                | SystemFinding::Grew {
                    what: Backlog::Requests,
                    ..
                }
        )
    )
}

/// Connections that a load in search of a rate had.
fn connections(asked: &waggle_spec::Search, raw: &Trial) -> Option<u32> {
    let generator = raw.info.generator.as_ref()?;
    let asked_for = u32::try_from(generator.connections_asked).ok()?;
    (asked.maximize == LevelKind::Rate && asked_for > 0).then_some(asked_for)
}

/// `None` for a trial without a level.
fn step(
    info: &RunInfo,
    asked: &waggle_spec::Search,
    trial: &TrialModel,
    raw: &Trial,
) -> Option<SearchStep> {
    let level = trial.info.level?;
    let cell_info = info.cell(trial.info.key.cell)?;
    let alone: CellModel = cell_model::cell(
        cell_info,
        None,
        info,
        std::slice::from_ref(trial),
        std::slice::from_ref(raw),
    );
    let held: Vec<_> = asked
        .conditions
        .iter()
        .map(|condition| threshold::in_cell(condition, &alone))
        .collect();
    let verdict = alone.verdict.unwrap_or(trial.verdict);
    let evidence = match raw.info.stopped {
        // It has shown what the study wanted to know before its time was up.
        Some(_) => Evidence::NotMet,
        None => evidence_of(verdict, &held),
    };
    let conditions: Vec<_> = asked.conditions.iter().zip(&held).collect();
    let tried = SearchTrial {
        level,
        evidence,
        connections: connections(asked, raw),
        pool: pool_use(info, trial, raw, &conditions),
        lag_us: trial
            .numbers
            .as_ref()
            .map(|numbers| numbers.generator.lag_p99_us),
    };
    let reasons = trial.reasons.iter();
    let mut why: Vec<Shortfall> = reasons
        .filter(|reason| reason.verdict == verdict && evidence != Evidence::Met)
        .cloned()
        .map(Shortfall::Reason)
        .collect();
    if why.is_empty() {
        let conditions = asked.conditions.iter().zip(&held);
        let failing =
            conditions.filter(|(_, threshold_cell)| threshold_cell.held != Decision::Holds);
        why = failing
            .map(|(condition, threshold_cell)| Shortfall::Condition {
                text: condition.text.clone(),
                unit: unit(&condition.metric, &info.metrics),
                cell: threshold_cell.clone(),
            })
            .collect();
    }
    Some(SearchStep {
        key: trial.info.key,
        level,
        evidence,
        tried,
        why,
        numbers: asked
            .conditions
            .iter()
            .map(|condition| alone.value(&condition.metric))
            .collect(),
    })
}
