//! `run.json` from the request: what is planned, on which machine, with which versions.

use waggle_results::{
    ArtifactInfo, AtStartInfo, CellInfo, ComponentInfo, FORMAT, FeedInfo, FlowInfo, Host,
    NamedText, RunInfo, ScenarioInfo, ScheduleInfo, SystemMetricInfo, SystemMetricUnit, TrialKey,
    VersionDesign, VersionsInfo,
};
use waggle_study::{Cell, Design, DuetCpus, Level, Plan, Scenario, Study, Unit};
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
        system_pods: study.system_pods.clone(),
        system_manifests: request.system.manifests.is_some(),
        components: inventory.components,
        artifacts: inventory.artifacts,
        cells: cell_infos(study),
        order: order(&request.plan),
        added: Vec::new(),
        schedule: schedule(study, first),
        thresholds: study.thresholds.clone(),
        asks: study.asks.clone(),
        expect_verdict: study.expect_verdict,
        load_model: first.load.kind(),
        host: inventory.host,
        agents: Vec::new(),
        records_file: first
            .records()
            .map(|body| format!("{} ({} records)", body.file, records.count(body))),
        delivery_probe: places.last().cloned(),
        scenario: first.scenario().map(|checked| scenario(checked, study)),
        search: study.search.clone(),
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
                comparison: metric.comparison,
            })
            .collect(),
        reference: study.reference.clone(),
        best_and_worst: study.best_and_worst.clone(),
        scaling: study.scaling.clone(),
        imported: None,
        versions: versions(request),
        derived: study.derived.clone(),
        left_out: request.left_out.clone(),
        selection: study.selection.clone(),
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
    AtStartInfo::new(&study.question, &study.asks, &conditions, text)
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
        order: feed.order,
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
        expect_verdict: cell.expect_verdict,
        is_sentinel: cell.is_sentinel,
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
        order: study.order,
        warm_up_until: schedule.warm_up_until,
        warm_up_timeout_s: schedule.warm_up.as_secs_f64(),
        measure_s: schedule.measure.as_secs_f64(),
        measure_requests: schedule.requests,
        drain_timeout_s: schedule.drain_timeout.as_secs_f64(),
        interval_s: schedule.interval.as_secs_f64(),
        max_ci_width: study.max_ci_width,
        restart: study.restart,
        recovery: recovery_info(schedule),
        ramp_up: schedule.ramp_up,
        cool_down_until: cool_down::until_info(schedule),
    }
}
