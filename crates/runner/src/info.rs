//! `run.json` from the request: what is planned, on which machine, with which versions.

use waggle_results::{
    self as results, CellInfo, Comparison, ComponentInfo, FORMAT, FeedInfo, FindInfo, FirstInfo,
    FlowInfo, Host, LevelKind, NamedText, PublishedColumnInfo, PublishedInfo, PublishedRowInfo,
    RecoveryInfo, RunInfo, ScenarioInfo, ScheduleInfo, ThresholdInfo, TrialKey, TrialOrder,
    WatchInfo,
};
use waggle_study::{
    Cell, FeedOrder, Fresh, LoadModel, Order, Plan, Published, Recovery, Scenario, Sought, Study,
    Threshold, ThresholdOp, WarmUpUntil,
};

use crate::{clock::now_utc, records::RecordFiles, request::RunRequest};

/// What had to be found out on the machine.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) host: Host,
    pub(crate) components: Vec<ComponentInfo>,
}

pub(crate) fn run_info(request: &RunRequest, records: &RecordFiles, found: Found) -> RunInfo {
    let study = &request.study;
    // A study has at least one cell, and its schedule is written once: cells differ in it only where a factor says so.
    let first = &study.cells[0];
    let delivery = first.measure.delivery.as_ref();
    let places = delivery.map_or(&[][..], |delivery| &delivery.at);
    RunInfo {
        format: FORMAT,
        waggle_version: env!("CARGO_PKG_VERSION").to_owned(),
        study: study.name.clone(),
        question: study.question.clone(),
        study_file: request.study_file.display().to_string(),
        seed: study.seed,
        started_utc: now_utc(),
        system: request.system.name.clone(),
        system_summary: request.system.summary.clone(),
        components: found.components,
        cells: cells(study),
        order: order(&request.plan),
        schedule: schedule(study, first),
        thresholds: thresholds(&study.thresholds),
        load_model: load_model(&first.load),
        host: found.host,
        records_from: first
            .records()
            .map(|body| format!("{} ({} records)", body.from, records.count(body))),
        delivery_at: places.last().cloned(),
        scenario: first.scenario().map(|told| scenario(told, study)),
        find: find(study),
        on_the_way: places
            .split_last()
            .map_or_else(Vec::new, |(_, before)| before.to_vec()),
        watches: request
            .system
            .metrics
            .iter()
            .map(|metric| WatchInfo {
                name: metric.name.clone(),
                summary: metric.summary.clone(),
            })
            .collect(),
        published: study.published.as_ref().map(reference_info),
    }
}

fn reference_info(published: &Published) -> PublishedInfo {
    let column = |column: &waggle_study::PublishedColumn| PublishedColumnInfo {
        name: column.name.clone(),
        number: column.number.clone(),
    };
    let row = |row: &waggle_study::PublishedRow| PublishedRowInfo {
        levels: row.levels.clone(),
        values: row.values.clone(),
    };
    PublishedInfo {
        title: published.title.clone(),
        source: published.source.clone(),
        by: published.by.clone(),
        columns: published.columns.iter().map(column).collect(),
        rows: published.rows.iter().map(row).collect(),
    }
}

fn scenario(scenario: &Scenario, study: &Study) -> ScenarioInfo {
    let feed = |feed: &waggle_study::Feed| FeedInfo {
        name: feed.name.clone(),
        order: match feed.order {
            FeedOrder::Cycle => results::FeedOrder::Cycle,
            FeedOrder::Random => results::FeedOrder::Random,
            FeedOrder::Once => results::FeedOrder::Once,
            FeedOrder::PerUser => results::FeedOrder::PerUser,
        },
        rows: feed.table.rows.len() as u64,
        from: feed.from.clone(),
    };
    let flow = |flow: &waggle_study::Flow| FlowInfo {
        name: flow.name.clone(),
        weight: flow.weight,
    };
    ScenarioInfo {
        name: scenario.name.clone(),
        file: scenario_file(study),
        steps: scenario.steps.clone(),
        flows: scenario.flows.iter().map(flow).collect(),
        feeds: scenario.feeds.iter().map(feed).collect(),
    }
}

/// The file of the scenario as it is now.
pub(crate) fn scenario_file(study: &Study) -> Option<NamedText> {
    study.scenario_file.as_ref().map(|file| NamedText {
        name: file.name.clone(),
        text: file.text.clone(),
    })
}

pub(crate) fn cells(study: &Study) -> Vec<CellInfo> {
    let levels = |cell: &Cell| {
        cell.levels
            .iter()
            .map(|(factor, level)| (factor.clone(), level.to_string()))
            .collect()
    };
    study
        .cells
        .iter()
        .map(|cell| CellInfo {
            cell: cell.number,
            levels: levels(cell),
        })
        .collect()
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
        order: match study.order {
            Order::Shuffled => TrialOrder::Shuffled,
            Order::AsListed => TrialOrder::AsListed,
        },
        warm_up_until: match schedule.warm_up_until {
            WarmUpUntil::Steady => results::WarmUpUntil::Steady,
            WarmUpUntil::Time => results::WarmUpUntil::Time,
            WarmUpUntil::Requests(requests) => results::WarmUpUntil::Requests(requests),
        },
        warm_up_at_most_s: schedule.warm_up_at_most.as_secs_f64(),
        measure_s: schedule.measure.as_secs_f64(),
        measure_requests: schedule.requests,
        drain_at_most_s: schedule.drain_at_most.as_secs_f64(),
        interval_s: first.measure.interval.as_secs_f64(),
        noisy_above: study.noisy_above,
        fresh: match study.fresh {
            Fresh::Trial => results::Fresh::Trial,
            Fresh::Cell => results::Fresh::Cell,
        },
        recovery: schedule.recovery.as_ref().map(recovery),
        first: schedule.first.map(|first| FirstInfo {
            level: first.level,
            time_s: first.time.as_secs_f64(),
        }),
    }
}

/// What is asked of the time after the load has fallen, as results have it.
pub(crate) fn recovery(recovery: &Recovery) -> RecoveryInfo {
    RecoveryInfo {
        level: recovery.level,
        p99_us: recovery.p99.as_secs_f64() * 1e6,
        at_most_s: recovery.at_most.as_secs_f64(),
    }
}

pub(crate) fn find(study: &Study) -> Option<FindInfo> {
    study.find.as_ref().map(|find| FindInfo {
        what: level_kind(find.what),
        conditions: thresholds(&find.conditions),
        from: find.from,
        at_least: find.at_least,
        at_most: find.at_most,
        precision: find.precision,
        confirm: find.confirm,
        trials_at_most: find.trials_at_most,
    })
}

/// How a condition compares, as results have it.
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
    let told = |threshold: &Threshold| ThresholdInfo {
        text: threshold.text.clone(),
        number: threshold.number.clone(),
        op: comparison(threshold.op),
        value: threshold.value,
    };
    thresholds.iter().map(told).collect()
}

fn load_model(model: &LoadModel) -> results::LoadModel {
    match model {
        LoadModel::Closed { .. } => results::LoadModel::Closed,
        LoadModel::Open { .. } => results::LoadModel::Open,
        LoadModel::Users { .. } => results::LoadModel::Users,
    }
}

/// What a study searches for, as results have it.
#[must_use]
pub fn level_kind(sought: Sought) -> LevelKind {
    match sought {
        Sought::Rate => LevelKind::Rate,
        Sought::Users => LevelKind::Users,
        Sought::Connections => LevelKind::Connections,
    }
}
