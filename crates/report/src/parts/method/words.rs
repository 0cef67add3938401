//! How it was measured, as pairs of term and text: what a reader needs to repeat it.

use waggle_analysis::{Model, TrialModel, as_f64, external_components, is_external, ran_already};
use waggle_results::{
    FeedInfo, ImportedInfo, QuietWaitInfo, RecoveryInfo, RunInfo, ScenarioInfo, ScheduleInfo,
};
use waggle_spec::{LevelKind, LoadKind, Restart, Search, TrialOrder, WarmUpUntil};
use waggle_stats::OTHER_CPU_MAX;

use super::{agents, artifacts, design, faults, http, network, pods, tls};
use crate::{
    parts::{
        capacity::{
            operating_points,
            search::{self, words::level},
        },
        opening::{asked_before, power},
        system::delivery::followed,
    },
    words::{
        fact::Fact,
        format::{self, Unit},
        imported,
    },
};

pub(crate) fn facts(model: &Model) -> Vec<Fact> {
    let info = &model.info;
    if let Some(imported) = &info.imported {
        return imported_facts(info, imported);
    }
    let mut facts = vec![
        (
            "Study",
            format!(
                "{} (file {}), seed {}",
                info.study, info.study_file, info.seed
            ),
        ),
        (
            "System",
            format!("{}: {}", info.system, info.system_summary),
        ),
        ("Components", components(info)),
        ("Artifacts", artifacts::artifacts(info)),
        ("Cells", design::cells(model)),
        ("Load model", load_model(info.load_model).to_owned()),
        ("Response time", response_time(info).to_owned()),
        ("Schedule", schedule(info)),
        ("Order", order(info)),
        ("Statistics", statistics(&info.schedule)),
    ];
    let known = [asked_before::fact(model), power::fact(model)];
    facts.extend(known.into_iter().flatten());
    facts.retain(|(term, text)| !["Artifacts", "Cells"].contains(term) || !text.is_empty());
    if let Some(asked) = &info.search {
        facts.push(("Search", search(asked)));
    }
    if let Some(records) = &info.records_file {
        let text = "each with run, worker, sequence number and its own timestamp";
        facts.push(("Records", format!("from {records}; {text}")));
    }
    if let Some(told) = &info.scenario {
        facts.push(("Scenario", scenario(told)));
    }
    if let Some(probe) = &info.delivery_probe {
        facts.push(("Delivery", followed::at_last_probe(probe, &model.trials)));
        for (place, name) in info.intermediate_probes.iter().enumerate() {
            facts.push((
                "Intermediate probe",
                followed::at_intermediate_probe(place, name, &model.trials),
            ));
        }
    }
    facts.extend(faults::fact(model));
    facts.extend(http::fact(model));
    facts.extend(tls::fact(model).into_iter().chain(network::fact(model)));
    facts.extend(cool_down(model));
    facts.extend([
        ("Host", host(info)),
        ("Kernel", info.host.kernel.clone()),
        ("CPU pinning", pinning(info)),
    ]);
    facts.extend(agents::facts(model));
    facts.extend(pods::facts(model));
    if info.host.idle_poll {
        facts.push(("Idle polling", idle_polling().to_owned()));
    }
    facts.extend(cpu_steal(&model.trials));
    facts.extend(other_programs(model));
    facts.extend(quiet_waits(&model.trials));
    facts.push(("Run", run(info)));
    facts
}

fn host(info: &RunInfo) -> String {
    let host = &info.host;
    format!(
        "{}: {} × {}, {} of memory, limit of {} open files",
        host.name,
        host.cpus,
        host.cpu_model,
        Unit::Bytes.show(as_f64(host.memory_bytes)),
        format::count(host.open_files_max)
    )
}

/// Of a run that another tool measured.
fn imported_facts(info: &RunInfo, imported: &ImportedInfo) -> Vec<Fact> {
    let repetitions = match info.schedule.repeat {
        1 => "1 file per cell".to_owned(),
        most => format!("up to {most} files per cell, a trial each"),
    };
    let intervals = format::set_time_s(info.schedule.interval_s);
    vec![
        ("Measured by", imported.tool.clone()),
        ("Files", imported.files.join(", ")),
        (
            "Load model",
            imported::load_model(info.load_model).to_owned(),
        ),
        ("Response time", imported::RESPONSE_TIME.to_owned()),
        (
            "Schedule",
            format!(
                "warm-up {} (not in the results); {repetitions}; intervals of {intervals} or more",
                imported::warm_up(info)
            ),
        ),
        ("Statistics", statistics(&info.schedule)),
        ("Not known", imported::unknown(&imported.unknown)),
        ("Run", run(info)),
    ]
}

fn run(info: &RunInfo) -> String {
    format!(
        "started {}, waggle {}, results format {}",
        info.started_utc, info.waggle_version, info.format
    )
}

fn idle_polling() -> &'static str {
    "one loop per CPU of the idle class (SCHED_IDLE), in a separate process whose CPU time is not counted; if two hardware threads share a \
     core, a loop slows the other thread"
}

/// What cool-downs waited for, and how long.
fn cool_down(model: &Model) -> Option<Fact> {
    let until = model.info.schedule.cool_down_until.as_ref()?;
    let mut text = format!(
        "until {} is {}, polled every {}, timeout {}",
        until.value,
        until.bound,
        format::set_time_s(until.poll_interval_s),
        format::set_time_s(until.timeout_s)
    );
    let trials = model.trials.iter();
    let waited: Vec<_> = trials
        .filter_map(|trial| trial.info.cool_down.as_ref())
        .collect();
    let times = || waited.iter().map(|wait| wait.waited_s);
    if let (Some(shortest), Some(longest)) = (times().reduce(f64::min), times().reduce(f64::max)) {
        let late = waited.iter().filter(|wait| !wait.is_reached).count();
        text.push_str(&format!(
            "; {shortest:.1} s to {longest:.1} s after each trial but the last; timeout reached after {late} of {}",
            waited.len()
        ));
    }
    Some(("Cool-down", text))
}

fn cpu_steal(trials: &[TrialModel]) -> Option<Fact> {
    let shares = trials
        .iter()
        .filter_map(|trial| Some(trial.numbers.as_ref()?.machine?.cpu_steal));
    let most = shares.reduce(f64::max)?;
    let text = format!(
        "at most {} of the CPU time in a measured phase",
        format::share(most)
    );
    Some(("CPU steal", text))
}

fn other_programs(model: &Model) -> Option<Fact> {
    let contention = model.contention.as_ref()?;
    let cores = contention.other_cores?;
    let text = format!(
        "{} of {} CPUs on average, {} to {} by trial; from {} of the CPUs on a trial is contended",
        format::three_digits(cores.mean),
        contention.cpus,
        format::three_digits(cores.min),
        format::three_digits(cores.max),
        format::set_share(OTHER_CPU_MAX)
    );
    Some(("CPU used by other programs", text))
}

/// How trials waited for a quiet machine before their start.
fn quiet_waits(trials: &[TrialModel]) -> Option<Fact> {
    let waits: Vec<QuietWaitInfo> = trials
        .iter()
        .filter_map(|trial| trial.info.quiet_wait)
        .collect();
    let in_vain = waits.iter().filter(|wait| !wait.is_quiet).count();
    let waited_s: f64 = waits.iter().map(|wait| wait.waited_s).sum();
    let text = format!(
        "{} of {} trials waited until other programs used less than {} of the CPUs, {} in all, {in_vain} of them in vain",
        waits.len(),
        trials.len(),
        format::set_share(OTHER_CPU_MAX),
        format::time_s(waited_s)
    );
    (!waits.is_empty()).then_some(("Waits for a quiet machine", text))
}

fn search(asked: &Search) -> String {
    let conditions: Vec<&str> = asked
        .conditions
        .iter()
        .map(|condition| condition.text.as_str())
        .collect();
    let level = |value: f64| level(asked.maximize, value);
    format!(
        "the highest {} with {}; starts at {}, doubles or halves between {} and {}, then bisects on the log scale to a precision of {}; \
         {} confirmations, at most {} trials per cell; in a trial that is overloaded or incomplete the conditions fail; an unsteady trial \
         is repeated; a trial that failed or is inconsistent is no evidence, nor is one in which a limit of the load generator leaves a \
         condition open; {}the fitted level is that of half of the trials; the results of a cell are those at its highest holding \
         level{}",
        search::words::noun(asked.maximize),
        conditions.join(" and "),
        level(asked.start),
        level(asked.min),
        level(asked.max),
        format::share(asked.precision),
        asked.confirmations,
        asked.max_trials,
        asked.max_connections.map_or_else(String::new, |most| format!(
            "a trial in which the connections of the load were the limit, and not the system, is repeated with more, {} at most; ",
            format::count(most)
        )),
        operating_points::words::methodology(asked)
    )
}

fn components(info: &RunInfo) -> String {
    let list: Vec<String> = info
        .components
        .iter()
        .map(|component| match &component.external[..] {
            [] => format!("{} ({})", component.name, component.version),
            ports => format!(
                "{} (external, not started by waggle: {})",
                component.name,
                ports.join("; ")
            ),
        })
        .collect();
    if list.is_empty() {
        "none started by waggle".to_owned()
    } else {
        list.join(", ")
    }
}

fn scenario(told: &ScenarioInfo) -> String {
    let flows: Vec<String> = told
        .flows
        .iter()
        .map(|flow| format!("{} (weight {})", flow.name, flow.weight))
        .collect();
    let feed = |feed: &FeedInfo| {
        let from = feed.from.as_deref().unwrap_or("the study");
        let rows = format::count(feed.rows);
        format!("{} ({rows} rows from {from}, {})", feed.name, feed.order)
    };
    let feeds: Vec<String> = told.feeds.iter().map(feed).collect();
    let mut text = format!(
        "{}: each session follows one of {}",
        told.name,
        flows.join(", ")
    );
    if !feeds.is_empty() {
        text.push_str(&format!("; feeds {}", feeds.join(", ")));
    }
    text
}

fn load_model(model: LoadKind) -> &'static str {
    match model {
        LoadKind::Closed => "closed: each connection sends its next request after an answer",
        LoadKind::Open => {
            "open: requests fall due at the configured rate, whether answers come or not"
        }
        LoadKind::Users => {
            "users: each user waits for the think time between an answer and the next request"
        }
        LoadKind::Clients => {
            "clients: each sends a number of requests over its own connections, one after the other on each, and ends; all begin at once"
        }
    }
}

fn response_time(info: &RunInfo) -> &'static str {
    match info.load_model {
        _ if info.scenario.is_some() => {
            "from due to the complete answer; the first request of a session is due at the start of the session, each later one after the \
             previous answer and the think time"
        }
        LoadKind::Open => {
            "from the instant at which a request was due to its complete answer, so client-side wait time counts"
        }
        LoadKind::Closed | LoadKind::Users | LoadKind::Clients => {
            "from due to the complete answer; in this load model a request is due when it is sent, and no sample is added"
        }
    }
}

fn schedule(info: &RunInfo) -> String {
    let schedule = &info.schedule;
    let is_kept_up = schedule.restart == Restart::EveryCell;
    let external = external_components(info);
    let on = if is_external(info) {
        "on the external server".to_owned()
    } else if ran_already(info) {
        "on external components".to_owned()
    } else {
        let on = if is_kept_up {
            "on a system that is restarted for every cell"
        } else {
            "on a system that is restarted for every trial"
        };
        match &external[..] {
            [] => on.to_owned(),
            names => format!("{on}, except the external {}", names.join(", ")),
        }
    };
    let trials = match (&info.search, schedule.repeat, schedule.max_repetitions()) {
        (Some(_), ..) => format!("trials {on}"),
        (None, 1, 1) => format!("1 repetition {on}"),
        (None, repeat, max) if max > repeat => format!(
            "{repeat} to {max} repetitions {on}; trials added: {}",
            info.added.len()
        ),
        (None, repeat, _) => format!("{repeat} repetitions {on}"),
    };
    let timeout = format::set_time_s(schedule.warm_up_timeout_s);
    let warm_up = match schedule.warm_up_until {
        WarmUpUntil::Steady => format!("until steady, timeout {timeout}"),
        WarmUpUntil::Duration => timeout,
        WarmUpUntil::Requests(requests) => {
            format!("{} requests, timeout {timeout}", format::count(requests))
        }
    };
    let measured = match schedule.measure_requests {
        Some(requests) => format!(
            "{} requests, timeout {}",
            format::count(requests),
            format::set_time_s(schedule.measure_s)
        ),
        None => format::set_time_s(schedule.measure_s),
    };
    let ramp_up = schedule.ramp_up.map_or_else(String::new, |ramp_up| {
        format!(
            ", of which ramp-up {} at {} or less",
            format::set_time_s(ramp_up.duration.as_secs_f64()),
            level(info.load_model.level_kind(), ramp_up.level)
        )
    });
    let what = info.load_model.level_kind();
    let (control, recovery) = schedule
        .recovery
        .map_or_else(Default::default, |phase| recovery(what, phase));
    // Without delivery nothing is waited for.
    let drain = (schedule.drain_timeout_s > 0.0).then(|| {
        let timeout = format::set_time_s(schedule.drain_timeout_s);
        format!("drain timeout {timeout}; ")
    });
    let drain = drain.unwrap_or_default();
    format!(
        "warm-up {warm_up}{ramp_up}{control} (not in the results); measured phase {measured}; {recovery}{drain}{trials}; intervals of {}",
        format::set_time_s(schedule.interval_s)
    )
}

/// The control, as a part of the warm-up, and the phase with what recovered means.
fn recovery(what: LevelKind, recovery: RecoveryInfo) -> (String, String) {
    let dropped = level(what, recovery.level);
    let bad = format!(
        "a request failed, no answer came, or the p99 of response time was above {}",
        format::set_time_s(recovery.p99_us / 1e6)
    );
    let (control, recovered) = match recovery.control {
        Some(control) => (
            format!(
                ", of which control {} at {dropped}",
                format::set_time_s(control.end_s - control.start_s)
            ),
            format!(
                "recovered at the end of the last bad interval after which no more are bad than the control's share explains (the 95 % \
                 quantile); bad: {bad}; unknown if at least half of the control's intervals were bad"
            ),
        ),
        None => (
            String::new(),
            format!("recovered at the end of the last interval in which {bad}"),
        ),
    };
    let duration = format::set_time_s(recovery.duration_s);
    let phase =
        format!("then recovery at {dropped} for {duration} (not in the results; {recovered}); ");
    (control, phase)
}

fn order(info: &RunInfo) -> String {
    let seed = info.seed;
    let cells = match info.schedule.order {
        TrialOrder::Shuffled => format!("cell by cell, shuffled by seed {seed}"),
        TrialOrder::AsListed => "cell by cell, as listed".to_owned(),
    };
    match (&info.search, info.schedule.restart, info.schedule.order) {
        (Some(search), ..) => {
            let points = match (search.operating_points.is_some(), info.schedule.restart) {
                (false, _) => "",
                (true, Restart::EveryCell) => "; then its trials at shares of its capacity",
                (true, Restart::EveryTrial) => {
                    "; trials at shares of the capacity are after all searches, repetition by repetition"
                }
            };
            format!("{cells}; within a cell each level depends on the trials before it{points}")
        }
        (None, Restart::EveryCell, _) => cells,
        (None, Restart::EveryTrial, TrialOrder::Shuffled) => {
            format!("shuffled within each repetition by seed {seed}")
        }
        (None, Restart::EveryTrial, TrialOrder::AsListed) => {
            "as listed, in each repetition".to_owned()
        }
    }
}

fn statistics(schedule: &ScheduleInfo) -> String {
    if schedule.max_repetitions() == 1 {
        return "one trial per cell, no intervals".to_owned();
    }
    format!(
        "one observation per trial; geometric means with 95 % intervals (Student's t on logarithms), not narrower than the resolution; \
         of this run only (waggle run --times: over runs), pointwise in tables; sentences about differences hold together with 95 % (Holm); \
         trials are added up to the largest number if the interval of a metric that is asked about is wider than {} of it; percentiles from \
         merged histograms of three digits, never averaged within a trial",
        format::share(schedule.max_ci_width)
    )
}

fn pinning(info: &RunInfo) -> String {
    let host = &info.host;
    if host.load_cpus.is_empty() && host.system_cpus.is_empty() {
        return "none".to_owned();
    }
    let list = |cpus: &[u32]| {
        let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        cpus.join(", ")
    };
    let load = match info.agents.is_empty() {
        true if host.load_cpus.is_empty() => "load not pinned".to_owned(),
        true => format!("load on CPU {}", list(&host.load_cpus)),
        false => "load by agents, not pinned".to_owned(),
    };
    if is_external(info) {
        return format!("{load}; the external server is not pinned by waggle");
    }
    let external = match &external_components(info)[..] {
        [] => String::new(),
        names => format!("; external and not pinned by waggle: {}", names.join(", ")),
    };
    if ran_already(info) {
        return format!("{load}{external}");
    }
    let system = match host.system_cpus.is_empty() {
        true if info.system_pods.is_some() || info.system_manifests => {
            "system of pods, not pinned by waggle".to_owned()
        }
        true => "system not pinned".to_owned(),
        false => format!("system on CPU {}", list(&host.system_cpus)),
    };
    format!("{load}, {system}{external}")
}
