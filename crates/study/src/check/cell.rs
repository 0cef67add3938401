//! One cell of a study: its load, what is sent, its phases and faults, checked against the configured system.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};

use waggle_spec::{LoadModel, LoadStage, Protocol};

use crate::{
    Cell, Delivery, HeaderLimits, Level, Limits, Preparation, Schedule, System, What, check,
    check::{Around, Checker},
    configure::Configured,
    levels::Levels,
    mistake::{Finding, Position},
    parts::{
        delivery::{Carries, delivery},
        faults::{Stage, faults},
        limits::{Limited, limits},
        network::network,
        schedule::{self, ScheduleContext},
        search::apply_search_max,
    },
    raw,
};

/// One of the study's cells.
#[derive(Clone, Copy)]
pub(crate) struct CellRow<'a> {
    /// Counted from 1.
    pub number: u32,
    pub levels: &'a Levels,
    /// How many of the levels are those of factors; the others are derived.
    pub factors: usize,
}

/// One cell; `None` if something in it is wrong, which is reported.
pub(crate) fn cell(
    checker: &mut Checker<'_>,
    raw: &mut raw::Study,
    row: CellRow<'_>,
    system: Option<&System>,
) -> Option<Cell> {
    let levels = row.levels;
    let (of_factors, derived) = levels.split_at(row.factors.min(levels.len()));
    let set = raw.system.as_ref().and_then(|system| system.set.as_ref());
    let parameters = system.map(|system| check::parameters(checker, set, levels, system));
    // A study can name only what exists in this configuration.
    let present = system.zip(parameters.as_ref());
    let present = present.map(|(system, parameters)| system.configure(parameters));
    let configured = configure(system, present.as_ref(), parameters.as_ref());
    let limits = configured.map(|configured| limits_of(checker, raw, levels, configured));
    let system = present.as_ref();
    let preparation = preparation(checker, raw, system);
    let network = (raw.network).check(|given| network(checker, given, system, raw.system.as_ref()));
    let mut load = raw.load.take();
    if let (Some(load), Some(search)) = (&mut load, raw.search.value()) {
        apply_search_max(checker, search, load);
    }
    let model = load.as_ref().and_then(|load| check::load(checker, load));
    let stages = (load.as_ref()).and_then(|load| check::stages(checker, load, model.as_ref()));
    let checked = load.as_ref().zip(model.as_ref());
    let generators = checked.map(|(load, model)| check::generators(checker, load, model));
    let load_workers = checked.and_then(|(load, model)| check::load_workers(checker, load, model));
    let of_request = (load.as_ref()).and_then(|load| Carries::of_request(checker, load));
    let has_search = raw.search.is_some();
    let what = load
        .as_mut()
        .and_then(|load| content(checker, load, system, model.as_ref(), has_search));
    let load = load.as_ref();
    let connections = load.and_then(|load| connection_settings(checker, load, what.as_ref()));
    let protocol = connections.as_ref().map(|settings| settings.protocol);
    let background = check::background(checker, raw.background.take(), system, protocol);
    let carries = records_of(what.as_ref(), of_request);
    let delivery = delivery(checker, &raw.delivery, system, carries);
    let followed = delivery.as_ref().and_then(Option::as_ref);
    let measured = MeasuredLoad {
        model: model.as_ref(),
        stages: stages.as_deref(),
        delivery: followed,
    };
    let schedule = schedule(checker, raw, system, &measured);
    let stage = stage(raw, configured, schedule.as_ref());
    let faults = faults(checker, &raw.faults, stage);
    let (what, endpoint) = what?;
    let connections = connections?;
    Some(Cell {
        number: row.number,
        levels: without_positions(of_factors),
        derived: without_positions(derived),
        short_name: None,
        expect_verdict: None,
        is_sentinel: false,
        version: None,
        parameters: parameters?,
        limits: limits?,
        preparation: preparation?,
        network: network?,
        load: model?,
        stages: stages?,
        generators: generators?,
        load_workers,
        protocol: connections.protocol,
        connect_timeout: connections.connect_timeout,
        header_limits: connections.header_limits,
        source_addresses: connections.source_addresses,
        endpoint,
        what,
        background: background?,
        schedule: schedule?,
        faults: faults?,
        delivery: delivery?,
    })
}

fn configure<'a>(
    whole: Option<&'a System>,
    present: Option<&'a System>,
    parameters: Option<&'a BTreeMap<String, Level>>,
) -> Option<Configured<'a>> {
    Some(Configured {
        whole: whole?,
        present: present?,
        parameters: parameters?,
    })
}

/// The limits of components.
fn limits_of(
    checker: &mut Checker<'_>,
    raw: &raw::Study,
    levels: &Levels,
    system: Configured<'_>,
) -> BTreeMap<String, Limits> {
    let of_system = raw.system.as_ref();
    let limited = Limited {
        system,
        external: &raw::external_names(of_system, Some(system.whole)),
        set: of_system.and_then(|used| used.set.as_ref()),
        levels,
    };
    let given = of_system.and_then(|used| used.limits.value());
    limits(checker, given, limited)
}

/// How connections of the load are opened.
struct ConnectionSettings {
    protocol: Protocol,
    connect_timeout: Duration,
    header_limits: HeaderLimits,
    source_addresses: Vec<IpAddr>,
}

fn connection_settings(
    checker: &mut Checker<'_>,
    load: &raw::Load,
    what: Option<&(What, String)>,
) -> Option<ConnectionSettings> {
    let connect_timeout = check::connect_timeout(checker, load, what);
    let header_limits = check::header_limits(checker, load);
    let source_addresses = check::source_addresses(checker, load);
    let protocol = check::protocol(checker, load, what);
    Some(ConnectionSettings {
        protocol: protocol?,
        connect_timeout: connect_timeout?,
        header_limits: header_limits?,
        source_addresses: source_addresses?,
    })
}

/// What the phases depend on; each part is `None` if it has a mistake, and there may be no delivery.
struct MeasuredLoad<'a> {
    model: Option<&'a LoadModel>,
    stages: Option<&'a [LoadStage]>,
    delivery: Option<&'a Delivery>,
}

/// The phases, checked against the system, the delivery and the load.
fn schedule(
    checker: &mut Checker<'_>,
    raw: &raw::Study,
    system: Option<&System>,
    measured: &MeasuredLoad<'_>,
) -> Option<Schedule> {
    let (interval, sampling_interval) = schedule::intervals(checker, &raw.schedule);
    let context = ScheduleContext {
        interval,
        sampling_interval,
        delivery: measured.delivery,
        load: measured.model,
        stages: check::duration_of_stages(checker, measured.stages, measured.model),
        system,
        of_system: raw.system.as_ref(),
        is_external: system.map(|system| system.external.is_some()),
    };
    schedule::schedule(checker, raw.schedule.content()?, &context)
}

/// What the faults must fit.
fn stage<'a>(
    raw: &'a raw::Study,
    system: Option<Configured<'a>>,
    schedule: Option<&Schedule>,
) -> Stage<'a> {
    let keys = raw.schedule.value();
    Stage {
        system,
        of_system: raw.system.as_ref(),
        measure: schedule.map(|schedule| schedule.measure),
        has_recovery: keys.is_some_and(|keys| keys.recovery.is_some()),
        delivery: raw.delivery.value(),
    }
}

/// The records that are sent: of the checked load if it has any, else of its text.
fn records_of(what: Option<&(What, String)>, of_request: Option<Carries>) -> Option<Carries> {
    what.and_then(|(what, _)| Carries::of_sent(what))
        .or(of_request)
}

/// What is done before the load; `None` if something in it is wrong.
fn preparation(
    checker: &mut Checker<'_>,
    raw: &mut raw::Study,
    system: Option<&System>,
) -> Option<Option<Preparation>> {
    match &mut raw.prepare {
        Some(raw) => check::preparation(checker, raw, system).map(Some),
        None => checker.value_or_default(None, &["prepare"], None),
    }
}

fn without_positions(levels: &[(String, Level, Position)]) -> Vec<(String, Level)> {
    let named = levels.iter();
    named
        .map(|(name, level, _)| (name.clone(), level.clone()))
        .collect()
}

/// What is sent, and the endpoint that receives it, with what the load says of its connections.
fn content(
    checker: &mut Checker<'_>,
    load: &mut raw::Load,
    system: Option<&System>,
    model: Option<&LoadModel>,
    has_search: bool,
) -> Option<(What, String)> {
    let mut what = request_or_scenario(checker, load, system, model);
    check::apply_keep_alive(checker, load, what.as_mut());
    check::refuse_with_clients(checker, load, what.as_ref(), has_search);
    what
}

/// What is sent, and the endpoint that receives it: a request or a scenario, not both.
fn request_or_scenario(
    checker: &mut Checker<'_>,
    load: &mut raw::Load,
    system: Option<&System>,
    model: Option<&LoadModel>,
) -> Option<(What, String)> {
    const PATH: [&str; 2] = ["load", "scenario"];
    match (load.request.take(), load.scenario.take()) {
        (Some(_), Some(_)) => {
            let finding = Finding::new(checker.key(&PATH), "load has both request and scenario");
            checker.report(finding.with_expected("one of the two"));
            None
        }
        (Some(raw), None) => {
            let path = ["load", "request"];
            let endpoint = check::endpoint(checker, raw.endpoint.as_deref(), system, &path);
            let request = check::request(checker, raw, Around { path: &path, model });
            Some((What::Request(Box::new(request?)), endpoint?))
        }
        (None, Some(raw)) => {
            check::refuse_pipelining(checker, model);
            let endpoint = check::endpoint(checker, raw.endpoint.as_deref(), system, &PATH);
            let around = Around { path: &PATH, model };
            let scenario = check::scenario(checker, raw, around);
            Some((What::Scenario(Arc::new(scenario?)), endpoint?))
        }
        (None, None) => {
            if !checker.is_invalid(&["load", "request"]) && !checker.is_invalid(&PATH) {
                let finding =
                    Finding::new(checker.key(&["load"]), "load does not say what is sent");
                checker.report(finding.with_expected("request or scenario"));
            }
            None
        }
    }
}
