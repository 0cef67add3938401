//! One cell of a study: its load, what is sent, its phases and faults, checked against the configured system.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};

use waggle_spec::{LoadModel, LoadStage, Protocol};

use crate::{
    Cell, Delivery, HeaderLimits, Level, Limits, Preparation, Schedule, System, What,
    at::{At, Key, Place},
    check,
    check::Checker,
    configure::Configured,
    levels::Levels,
    mistake::{Finding, Position},
    parts::{
        delivery::{Carries, delivery},
        faults::{Stage, faults},
        limits::{Limited, limits},
        load::{self, Load},
        network::network,
        request::{endpoint, request},
        scenario::scenario,
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
    let set = raw.system.value().and_then(|system| system.set.value());
    let parameters = system.map(|system| check::parameters(checker, set, levels, system));
    // A study can name only what exists in this configuration.
    let present = system.zip(parameters.as_ref());
    let present = present.map(|(system, parameters)| system.configure(parameters));
    let configured = configure(system, present.as_ref(), parameters.as_ref());
    let limits = configured.map(|configured| limits_of(checker, raw, levels, configured));
    let system = present.as_ref();
    let preparation = preparation(checker, raw, system);
    let network = (raw.network).check(|given| network(checker, given, system, raw.system.value()));
    let mut load = raw.load.take();
    apply_search_max(checker, &raw.search, load.as_mut());
    let keys = load.as_ref().map(|load| &load.value);
    let model = keys.and_then(|keys| load::load_model(checker, keys));
    let stages =
        keys.and_then(|keys| load::stages(checker, &keys.stages, &keys.rate, model.as_ref()));
    let checked = keys.zip(model.as_ref());
    let generators =
        checked.map(|(keys, model)| load::generators(checker, keys, &raw.agents, model));
    let load_workers = checked.and_then(|(keys, model)| load::load_workers(checker, keys, model));
    let of_request = keys.and_then(Carries::of_request);
    let search = raw.search.place();
    let what = load
        .as_ref()
        .and_then(|load| content(checker, load, system, model.as_ref(), search));
    let load = load.as_ref().map(|load| &load.value);
    let connections = load.and_then(|load| connection_settings(checker, load, what.as_ref()));
    let background = check::background(checker, &mut raw.background, system);
    let carries = records_of(what.as_ref(), of_request);
    let delivery = delivery(checker, &raw.delivery, system, carries);
    let followed = delivery.as_ref().and_then(Option::as_ref);
    let measured = MeasuredLoad {
        keys: load,
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
    let of_system = raw.system.value();
    let limited = Limited {
        system,
        external: &raw::external_names(of_system, Some(system.whole)),
        set: of_system.and_then(|used| used.set.value()),
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
    keys: &Load,
    what: Option<&(What, String)>,
) -> Option<ConnectionSettings> {
    let connect_timeout = load::connect_timeout(checker, keys, what);
    let header_limits = load::header_limits(checker, keys);
    let source_addresses = load::source_addresses(checker, &keys.source_addresses);
    let protocol = keys.protocol.or_default(Protocol::Http1);
    Some(ConnectionSettings {
        protocol: protocol?,
        connect_timeout: connect_timeout?,
        header_limits: header_limits?,
        source_addresses: source_addresses?,
    })
}

/// What the phases depend on; each part is `None` if it has a mistake, and there may be no delivery.
struct MeasuredLoad<'a> {
    keys: Option<&'a Load>,
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
        stages: measured.keys.and_then(|keys| {
            load::duration_of_stages(&keys.stages, measured.stages, measured.model)
        }),
        system,
        of_system: raw.system.value(),
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
        of_system: raw.system.value(),
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
    raw: &raw::Study,
    system: Option<&System>,
) -> Option<Option<Preparation>> {
    match &raw.prepare {
        Key::Missing => Some(None),
        Key::Invalid => {
            checker.kept = None;
            None
        }
        Key::Given(given) => check::preparation(checker, &given.value, system).map(Some),
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
    load: &At<Load>,
    system: Option<&System>,
    model: Option<&LoadModel>,
    search: Option<&Place>,
) -> Option<(What, String)> {
    let mut what = request_or_scenario(checker, load, system, model);
    let is_scenario = matches!(what, Some((What::Scenario(_), _)));
    let scenario = load.value.scenario.place().filter(|_| is_scenario);
    load::apply_keep_alive(checker, &load.value, what.as_mut());
    load::refuse_with_clients(checker, &load.value, scenario, search);
    what
}

/// What is sent, and the endpoint that receives it: a request or a scenario, not both.
fn request_or_scenario(
    checker: &mut Checker<'_>,
    At { place, value: load }: &At<Load>,
    system: Option<&System>,
    model: Option<&LoadModel>,
) -> Option<(What, String)> {
    let finding = match (load.request.content(), load.scenario.content()) {
        (Some(At { place, value }), None) => {
            let endpoint = endpoint(checker, &value.endpoint, place, system);
            let request = request(checker, value, model);
            return Some((What::Request(Box::new(request?)), endpoint?));
        }
        (None, Some(given)) => {
            let endpoint = endpoint(checker, &given.value.endpoint, &given.place, system);
            let secured = system.zip(endpoint.as_ref());
            let is_encrypted = secured.map(|(system, endpoint)| system.is_encrypted(endpoint));
            load::refuse_pipelining(checker, load, model, is_encrypted);
            let scenario = scenario(checker, given, model);
            return Some((What::Scenario(Arc::new(scenario?)), endpoint?));
        }
        (Some(_), Some(scenario)) => {
            let finding = Finding::new(scenario.place.key, "load has both request and scenario");
            finding.with_expected("one of the two")
        }
        (None, None) if load.request.is_invalid() || load.scenario.is_invalid() => return None,
        (None, None) => {
            let mistake = place.key_mistake("does not say what is sent");
            mistake.with_expected("request or scenario")
        }
    };
    checker.report(finding);
    None
}
