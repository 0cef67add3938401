//! `run.json` from the request: what is planned, on which machine, with which versions.

use waggle_results::{
    self as results, ArtifactInfo, AtStartInfo, BestAndWorstInfo, CellInfo, ComparedCount,
    Comparison, ComponentInfo, CountComparisonInfo, DerivedLevelInfo, ExpectedVerdict, FORMAT,
    FeedInfo, FlowInfo, Host, LevelKind, NamedText, OperatingPointsInfo, OrderedMetricInfo,
    PairInfo, RampUpInfo, ReferenceColumnInfo, ReferenceInfo, ReferenceRowInfo, RunInfo,
    ScalingInfo, ScenarioInfo, ScheduleInfo, SearchInfo, SelectionInfo, SuccessesInfo,
    SystemMetricInfo, SystemMetricUnit, ThresholdInfo, TrialKey, TrialOrder, VersionDesign,
    VersionsInfo,
};
use waggle_study::{
    BestAndWorst, Cell, CountComparison, DerivedLevel, Design, DuetCpus, FeedOrder, Level,
    LoadModel, Order, Plan, Reference, Restart, Scaling, Scenario, Sought, Study, Threshold,
    ThresholdOp, Unit, WarmUpUntil,
};
use waggle_system::now_utc;

use crate::{
    load::records::RecordFiles,
    run::request::RunRequest,
    trial::{cool_down, load_phases::recovery_info},
};

/// Facts about the machine and the components.
#[derive(Debug)]
pub(crate) struct Inventory {
    pub(crate) host: Host,
    pub(crate) components: Vec<ComponentInfo>,
    pub(crate) artifacts: Vec<ArtifactInfo>,
}

pub(crate) fn run_info(
    request: &RunRequest,
    records: &RecordFiles,
    inventory: Inventory,
) -> RunInfo {
    let study = &request.study;
    // A study has at least one cell, and its schedule is written once: cells differ in it only if a factor sets it.
    let first = &study.cells[0];
    let delivery = first.delivery.as_ref();
    let places = delivery.map_or(&[][..], |delivery| &delivery.probes);
    RunInfo {
        at_start: Some(at_start(study, &request.study_text)),
        format: FORMAT,
        waggle_version: env!("CARGO_PKG_VERSION").to_owned(),
        study: study.name.clone(),
        question: study.question.clone(),
        study_file: request.study_file.display().to_string(),
        seed: study.seed,
        started_utc: now_utc(),
        system: request.system.name.clone(),
        system_summary: request.system.summary.clone(),
        components: inventory.components,
        artifacts: inventory.artifacts,
        cells: cell_infos(study),
        order: order(&request.plan),
        added: Vec::new(),
        schedule: schedule(study, first),
        thresholds: thresholds(&study.thresholds),
        asks: study.asks.clone(),
        expect_verdict: study.expect_verdict.map(expected_verdict),
        load_model: load_model(&first.load),
        host: inventory.host,
        records_file: first
            .records()
            .map(|body| format!("{} ({} records)", body.file, records.count(body))),
        delivery_probe: places.last().cloned(),
        scenario: first.scenario().map(|checked| scenario(checked, study)),
        search: search(study),
        intermediate_probes: places
            .split_last()
            .map_or_else(Vec::new, |(_, before)| before.to_vec()),
        metrics: request
            .system
            .metrics
            .iter()
            .map(|metric| SystemMetricInfo {
                name: metric.name.clone(),
                summary: metric.summary.clone(),
                unit: metric_unit(metric.unit.of_values),
                comparison: metric.comparison.map(comparison_info),
            })
            .collect(),
        reference: study.reference.as_ref().map(reference_info),
        best_and_worst: study.best_and_worst.as_ref().map(best_and_worst_info),
        scaling: study.scaling.as_ref().map(scaling_info),
        imported: None,
        versions: versions(request),
        derived: derived_levels(study),
        left_out: request.left_out.clone(),
        selection: selection_info(study),
    }
}

/// `None`: a count.
fn metric_unit(unit: Unit) -> Option<SystemMetricUnit> {
    match unit {
        Unit::Count => None,
        Unit::Time => Some(SystemMetricUnit::Microseconds),
        Unit::Rate => Some(SystemMetricUnit::PerSecond),
        Unit::Share => Some(SystemMetricUnit::Share),
        Unit::Cpus => Some(SystemMetricUnit::Cpus),
        Unit::Bytes => Some(SystemMetricUnit::Bytes),
        Unit::ByteRate => Some(SystemMetricUnit::BytesPerSecond),
    }
}

/// The sums of what a study with this text asks.
#[must_use]
pub fn at_start(study: &Study, text: &str) -> AtStartInfo {
    let search = study.search.as_ref();
    let conditions = search.map_or(&[][..], |search| &search.conditions);
    let conditions = [&study.thresholds[..], conditions].concat();
    AtStartInfo::new(&study.question, &study.asks, &thresholds(&conditions), text)
}

/// The part of the study that was chosen; `None`: all of it.
#[must_use]
pub fn selection_info(study: &Study) -> Option<SelectionInfo> {
    let selection = study.selection.as_ref()?;
    Some(SelectionInfo {
        quick: selection.quick,
        pilot: selection.pilot,
        filters: selection.filters.clone(),
        cells: selection.cells,
    })
}

/// The two versions that the run compares.
pub(crate) fn versions(request: &RunRequest) -> Option<VersionsInfo> {
    let versions = request.study.versions.as_ref()?;
    Some(VersionsInfo {
        design: match versions.design {
            Design::Blocks => VersionDesign::Blocks,
            Design::Duet(DuetCpus::Shared) => VersionDesign::Duet,
            Design::Duet(DuetCpus::Swapped) => VersionDesign::DuetSwapped,
        },
        changes: versions.changes.clone(),
        changed_system: request.changed.as_ref().map(|changed| changed.text.clone()),
    })
}

fn reference_info(reference: &Reference) -> ReferenceInfo {
    let column = |column: &waggle_study::ReferenceColumn| ReferenceColumnInfo {
        name: column.name.clone(),
        metric: column.metric.clone(),
    };
    let row = |row: &waggle_study::ReferenceRow| ReferenceRowInfo {
        levels: row.levels.clone(),
        values: row.values.clone(),
    };
    ReferenceInfo {
        title: reference.title.clone(),
        source: reference.source.clone(),
        match_on: reference.match_on.clone(),
        columns: reference.columns.iter().map(column).collect(),
        rows: reference.rows.iter().map(row).collect(),
    }
}

fn comparison_info(compared: CountComparison) -> CountComparisonInfo {
    CountComparisonInfo {
        count: match compared.count {
            waggle_study::ComparedCount::Sent => ComparedCount::Sent,
            waggle_study::ComparedCount::Answered => ComparedCount::Answered,
            waggle_study::ComparedCount::Succeeded => ComparedCount::Succeeded,
            waggle_study::ComparedCount::Failed => ComparedCount::Failed,
        },
        tolerance: compared.tolerance,
    }
}

fn best_and_worst_info(asked: &BestAndWorst) -> BestAndWorstInfo {
    let ordered = |criterion: &waggle_study::OrderedMetric| OrderedMetricInfo {
        metric: criterion.metric.clone(),
        is_lowest_best: criterion.is_lowest_best,
    };
    let successes = |criterion: &waggle_study::Successes| SuccessesInfo {
        metric: criterion.metric.clone(),
        of: criterion.of.clone(),
    };
    BestAndWorstInfo {
        order: asked.order.iter().map(ordered).collect(),
        rows: asked.rows.clone(),
        failures: asked.failures.clone(),
        successes: asked.successes.as_ref().map(successes),
    }
}

fn scaling_info(asked: &Scaling) -> ScalingInfo {
    let pair = |pair: &waggle_study::Pair| PairInfo {
        factor: pair.factor.clone(),
        levels: pair.levels.clone(),
    };
    ScalingInfo {
        bounds: thresholds(&asked.bounds),
        pairs: asked.pairs.iter().map(pair).collect(),
    }
}

fn scenario(scenario: &Scenario, study: &Study) -> ScenarioInfo {
    let flow = |flow: &waggle_study::Flow| FlowInfo {
        name: flow.name.clone(),
        weight: flow.weight,
    };
    ScenarioInfo {
        name: scenario.name.clone(),
        file: scenario_file(study),
        steps: scenario.steps.clone(),
        flows: scenario.flows.iter().map(flow).collect(),
        feeds: scenario.feeds.iter().map(feed_info).collect(),
    }
}

fn feed_info(feed: &waggle_study::Feed) -> FeedInfo {
    FeedInfo {
        name: feed.name.clone(),
        order: match feed.order {
            FeedOrder::Cycle => results::FeedOrder::Cycle,
            FeedOrder::Random => results::FeedOrder::Random,
            FeedOrder::Once => results::FeedOrder::Once,
            FeedOrder::PerUser => results::FeedOrder::PerUser,
            FeedOrder::Zipf { .. } => results::FeedOrder::Zipf,
            FeedOrder::Recent { .. } => results::FeedOrder::Recent,
        },
        rows: feed.rows.count() as u64,
        from: feed.from.clone(),
    }
}

/// The current file of the scenario.
pub(crate) fn scenario_file(study: &Study) -> Option<NamedText> {
    study.scenario_file.as_ref().map(|file| NamedText {
        name: file.name.clone(),
        text: file.text.clone(),
    })
}

/// The cells of a study, in the form of the results.
#[must_use]
pub fn cell_infos(study: &Study) -> Vec<CellInfo> {
    study.cells.iter().map(cell_info).collect()
}

pub(crate) fn cell_info(cell: &Cell) -> CellInfo {
    let texts = |levels: &[(String, Level)]| {
        let texts = levels.iter();
        let texts = texts.map(|(name, level)| (name.clone(), level.to_string()));
        texts.collect()
    };
    CellInfo {
        cell: cell.number,
        levels: texts(&cell.levels),
        derived: texts(&cell.derived),
        name: cell.short_name.clone(),
        expect_verdict: cell.expect_verdict.map(expected_verdict),
        is_sentinel: cell.is_sentinel,
    }
}

/// The levels that each cell computes from its others.
pub(crate) fn derived_levels(study: &Study) -> Vec<DerivedLevelInfo> {
    let level = |derivation: &DerivedLevel| DerivedLevelInfo {
        name: derivation.name.clone(),
        formula: derivation.formula.clone(),
        factors: derivation.factors.clone(),
    };
    study.derived.iter().map(level).collect()
}

pub(crate) fn expected_verdict(verdict: waggle_study::ExpectedVerdict) -> ExpectedVerdict {
    match verdict {
        waggle_study::ExpectedVerdict::Unsteady => ExpectedVerdict::Unsteady,
        waggle_study::ExpectedVerdict::Overloaded => ExpectedVerdict::Overloaded,
        waggle_study::ExpectedVerdict::InstrumentLimited => ExpectedVerdict::InstrumentLimited,
        waggle_study::ExpectedVerdict::Incomplete => ExpectedVerdict::Incomplete,
        waggle_study::ExpectedVerdict::Inconsistent => ExpectedVerdict::Inconsistent,
        waggle_study::ExpectedVerdict::Failed => ExpectedVerdict::Failed,
    }
}

pub(crate) fn order(plan: &Plan) -> Vec<TrialKey> {
    plan.trials
        .iter()
        .map(|trial| TrialKey {
            cell: trial.cell,
            repetition: trial.repetition,
        })
        .collect()
}

pub(crate) fn schedule(study: &Study, first: &Cell) -> ScheduleInfo {
    let schedule = &first.schedule;
    ScheduleInfo {
        repeat: study.repeat,
        repeat_max: (study.repeat_max > study.repeat).then_some(study.repeat_max),
        order: match study.order {
            Order::Shuffled => TrialOrder::Shuffled,
            Order::AsListed => TrialOrder::AsListed,
        },
        warm_up_until: match schedule.warm_up_until {
            WarmUpUntil::Steady => results::WarmUpUntil::Steady,
            WarmUpUntil::Duration => results::WarmUpUntil::Duration,
            WarmUpUntil::Requests(requests) => results::WarmUpUntil::Requests(requests),
        },
        warm_up_timeout_s: schedule.warm_up.as_secs_f64(),
        measure_s: schedule.measure.as_secs_f64(),
        measure_requests: schedule.requests,
        drain_timeout_s: schedule.drain_timeout.as_secs_f64(),
        interval_s: schedule.interval.as_secs_f64(),
        max_ci_width: study.max_ci_width,
        restart: match study.restart {
            Restart::EveryTrial => results::Restart::EveryTrial,
            Restart::EveryCell => results::Restart::EveryCell,
        },
        recovery: recovery_info(schedule),
        ramp_up: schedule.ramp_up.map(|ramp_up| RampUpInfo {
            level: ramp_up.level,
            duration_s: ramp_up.duration.as_secs_f64(),
        }),
        cool_down_until: cool_down::until_info(schedule),
    }
}

pub(crate) fn search(study: &Study) -> Option<SearchInfo> {
    let search = study.search.as_ref()?;
    Some(SearchInfo {
        maximize: level_kind(search.maximize),
        conditions: thresholds(&search.conditions),
        start: search.start,
        min: search.min,
        max: search.max,
        precision: search.precision,
        confirmations: search.confirmations,
        max_trials: search.max_trials,
        max_connections: search.max_connections,
        operating_points: (search.operating_points.as_ref()).map(|points| OperatingPointsInfo {
            shares: points.shares.clone(),
            repeat: points.repeat,
        }),
    })
}

/// The comparison of a condition, in the form of the results.
#[must_use]
pub fn comparison(op: ThresholdOp) -> Comparison {
    match op {
        ThresholdOp::Less => Comparison::Less,
        ThresholdOp::LessOrEqual => Comparison::LessOrEqual,
        ThresholdOp::Greater => Comparison::Greater,
        ThresholdOp::GreaterOrEqual => Comparison::GreaterOrEqual,
        ThresholdOp::Equal => Comparison::Equal,
    }
}

fn thresholds(thresholds: &[Threshold]) -> Vec<ThresholdInfo> {
    let info = |threshold: &Threshold| ThresholdInfo {
        text: threshold.text.clone(),
        metric: threshold.metric.clone(),
        op: comparison(threshold.op),
        value: threshold.value,
    };
    thresholds.iter().map(info).collect()
}

fn load_model(model: &LoadModel) -> results::LoadModel {
    match model {
        LoadModel::Closed { .. } => results::LoadModel::Closed,
        LoadModel::Open { .. } => results::LoadModel::Open,
        LoadModel::Users { .. } => results::LoadModel::Users,
        LoadModel::Clients { .. } => results::LoadModel::Clients,
    }
}

/// What a study searches for, in the form of the results.
#[must_use]
pub fn level_kind(sought: Sought) -> LevelKind {
    match sought {
        Sought::Rate => LevelKind::Rate,
        Sought::Users => LevelKind::Users,
        Sought::Connections => LevelKind::Connections,
    }
}
