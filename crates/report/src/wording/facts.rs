//! How it was measured, as pairs of term and text: what another must know to repeat it.

use waggle_results::{
    FeedInfo, FindInfo, Fresh, LoadModel, RunInfo, ScenarioInfo, ScheduleInfo, TrialOrder,
    WarmUpUntil,
};

use super::{
    search::{self, level},
    text::{self, Unit},
};
use waggle_analysis::{Model, TrialModel, as_f64, external_components, is_external};

/// One line of "how it was measured".
pub(crate) type Fact = (&'static str, String);

pub(crate) fn facts(model: &Model) -> Vec<Fact> {
    let info = &model.info;
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
        ("Load model", load_model(info.load_model).to_owned()),
        ("Response time", response_time(info).to_owned()),
        ("Schedule", schedule(info)),
        ("Order", order(info)),
        ("Estimates", estimates(&info.schedule)),
    ];
    if let Some(find) = &info.find {
        facts.push(("Search", search(find)));
    }
    if let Some(records) = &info.records_from {
        facts.push((
            "Records",
            format!(
                "from {records}; each stamped with run, worker, sequence and a time of its own"
            ),
        ));
    }
    if let Some(told) = &info.scenario {
        facts.push(("Scenario", scenario(told)));
    }
    if let Some(at) = &info.delivery_at {
        facts.push(("Delivery", delivery(at, &model.trials)));
        for (place, name) in info.on_the_way.iter().enumerate() {
            facts.push(("On the way", on_the_way(place, name, &model.trials)));
        }
    }
    if !model.disturbed.is_empty() {
        facts.push(("Disturbances", disturbances().to_owned()));
    }
    let host = &info.host;
    facts.extend([
        (
            "Host",
            format!(
                "{}: {} × {}, {} of memory, at most {} open files",
                host.name,
                host.cpus,
                host.cpu_model,
                Unit::Bytes.show(as_f64(host.memory_bytes)),
                text::count(host.open_files_max)
            ),
        ),
        ("Kernel", host.kernel.clone()),
        ("CPU pinning", pinning(info)),
    ]);
    if host.kept_awake {
        facts.push(("CPUs kept awake", kept_awake().to_owned()));
    }
    facts.extend(taken_by_host(&model.trials));
    facts.push(("Run", run(info)));
    facts
}

fn run(info: &RunInfo) -> String {
    format!(
        "started {}, waggle {}, results format {}",
        info.started_utc, info.waggle_version, info.format
    )
}

fn kept_awake() -> &'static str {
    "by a loop on each, of the idle class (SCHED_IDLE), in a process of their own whose CPU counts nowhere; where two hardware threads share \
     a core, a loop takes a share of its sibling's"
}

fn taken_by_host(trials: &[TrialModel]) -> Option<Fact> {
    let shares = trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref()?.cpus_stolen_share);
    let most = shares.reduce(f64::max)?;
    let text = format!(
        "at most {} of the CPUs' time in a measured phase",
        text::share(most)
    );
    Some(("Taken by the host", text))
}

fn disturbances() -> &'static str {
    "killed with SIGKILL, with all that it had started; started again with the same command, ports, folder, files and CPUs, its setup not \
     repeated; ready by the same check as when the system is brought up; a place of records that was killed is read anew from its \
     beginning, so that delivered is what is there in the end; steadiness, silences and growing backlogs are not judged in such a trial"
}

fn search(find: &FindInfo) -> String {
    let conditions: Vec<&str> = find
        .conditions
        .iter()
        .map(|condition| condition.text.as_str())
        .collect();
    let level = |of: f64| level(find.what, of);
    format!(
        "the highest {} with {}; from {}, doubled or halved between {} and {}, then halfway on the log scale to within {}; \
         confirmed in {} trials, at most {} trials a cell; a trial that is overloaded, incomplete or unsteady is not met, one \
         that failed, is inconsistent or was limited by the instrument is no evidence; each cell's numbers are those at the \
         highest level that holds",
        search::noun(find.what),
        conditions.join(" and "),
        level(find.from),
        level(find.at_least),
        level(find.at_most),
        text::share(find.precision),
        find.confirm,
        find.trials_at_most
    )
}

fn components(info: &RunInfo) -> String {
    let list: Vec<String> = info
        .components
        .iter()
        .map(|component| match &component.external[..] {
            [] => format!("{} ({})", component.name, component.version),
            ports => format!(
                "{} (runs already, not started by waggle: {})",
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
        let rows = text::count(feed.rows);
        format!("{} ({rows} rows from {from}, {})", feed.name, feed.order)
    };
    let feeds: Vec<String> = told.feeds.iter().map(feed).collect();
    let mut text = format!(
        "{}: each session goes one of {}",
        told.name,
        flows.join(", ")
    );
    if !feeds.is_empty() {
        text.push_str(&format!("; feeds {}", feeds.join(", ")));
    }
    text
}

fn load_model(model: LoadModel) -> &'static str {
    match model {
        LoadModel::Closed => {
            "closed: each connection sends its next request when an answer has made room"
        }
        LoadModel::Open => {
            "open: requests fall due at the rate asked for, whether answers come or not"
        }
        LoadModel::Users => "users: each user thinks between an answer and the next request",
    }
}

fn response_time(info: &RunInfo) -> &'static str {
    match info.load_model {
        _ if info.scenario.is_some() => {
            "from due to the whole answer; a session's first request is due when the session is, each later one when the answer before \
             it has come and the pause between them is over"
        }
        LoadModel::Open => {
            "from the instant a request was due to the instant its answer was whole; waiting in the client counts"
        }
        LoadModel::Closed | LoadModel::Users => {
            "from due to the whole answer; in this load model a request is due when it is sent, and no sample is made up"
        }
    }
}

fn schedule(info: &RunInfo) -> String {
    let schedule = &info.schedule;
    let is_kept_up = schedule.fresh == Fresh::Cell;
    let external = external_components(info);
    let on = if is_external(info) {
        "on the server that ran already".to_owned()
    } else if external.len() == info.components.len() {
        "on components that ran already".to_owned()
    } else {
        let on = if is_kept_up {
            "on a fresh system for each cell, kept up over its trials"
        } else if info.find.is_none() {
            "on a fresh system each"
        } else {
            "on a fresh system"
        };
        match &external[..] {
            [] => on.to_owned(),
            names => format!("{on}, but for {}, which ran already", names.join(", ")),
        }
    };
    let trials = match (&info.find, schedule.repeat) {
        (Some(_), _) => format!("each trial {on}"),
        (None, 1) => format!("1 repetition {on}"),
        (None, repeat) => format!("{repeat} repetitions {on}"),
    };
    let at_most = text::set_time_s(schedule.warm_up_at_most_s);
    let warm_up = match schedule.warm_up_until {
        WarmUpUntil::Steady => format!("until steady, at most {at_most}"),
        WarmUpUntil::Time => at_most,
        WarmUpUntil::Requests(requests) => {
            format!("{} requests, at most {at_most}", text::count(requests))
        }
    };
    let measured = match schedule.measure_requests {
        Some(requests) => format!(
            "{} requests, at most {}",
            text::count(requests),
            text::set_time_s(schedule.measure_s)
        ),
        None => text::set_time_s(schedule.measure_s),
    };
    let first = schedule.first.map_or_else(String::new, |first| {
        format!(
            ", the first {} at most {}",
            text::set_time_s(first.time_s),
            level(info.load_model.level_kind(), first.level)
        )
    });
    let fall = schedule.recovery.map(|recovery| {
        let what = info.load_model.level_kind();
        format!(
            "then {} for {} (left out), recovered with the last interval in which a request failed, no answer came, or the \
             p99 of response time was above {}; ",
            level(what, recovery.level),
            text::set_time_s(recovery.at_most_s),
            text::set_time_s(recovery.p99_us / 1e6)
        )
    });
    let fall = fall.unwrap_or_default();
    format!(
        "warm-up {warm_up}{first} (left out); measured {measured}; {fall}drain at most {}; {trials}; intervals of {}",
        text::set_time_s(schedule.drain_at_most_s),
        text::set_time_s(schedule.interval_s)
    )
}

fn order(info: &RunInfo) -> String {
    let seed = info.seed;
    let cells = match info.schedule.order {
        TrialOrder::Shuffled => format!("cell by cell, shuffled by seed {seed}"),
        TrialOrder::AsListed => "cell by cell, as listed".to_owned(),
    };
    match (&info.find, info.schedule.fresh, info.schedule.order) {
        (Some(_), ..) => {
            format!("{cells}; within a cell each level follows from the trials before it")
        }
        (None, Fresh::Cell, _) => cells,
        (None, Fresh::Trial, TrialOrder::Shuffled) => {
            format!("shuffled within each repetition by seed {seed}")
        }
        (None, Fresh::Trial, TrialOrder::AsListed) => "as listed, in each repetition".to_owned(),
    }
}

fn estimates(schedule: &ScheduleInfo) -> String {
    if schedule.repeat == 1 {
        return "single run, no uncertainty known".to_owned();
    }
    format!(
        "one observation a trial; 95 % intervals over trials; noisy where goodput's interval is wider than {} of the mean; \
         percentiles from merged histograms of three digits, never averaged within a trial",
        text::share(schedule.noisy_above)
    )
}

fn delivery(at: &str, trials: &[TrialModel]) -> String {
    let probes = || trials.iter().filter_map(|trial| trial.delivery.as_ref());
    let resolution = probes()
        .map(|delivery| delivery.resolution_ms)
        .reduce(f64::max);
    let negative: u64 = probes().map(|delivery| delivery.negative_delays).sum();
    let costs: Vec<f64> = probes()
        .filter_map(|delivery| delivery.cost_cpu_s)
        .collect();
    let mut text = format!("every accepted record looked for at {at}, by key");
    if let Some(ms) = resolution {
        text.push_str(&format!(
            "; a delay is known to within {}, the time between two looks",
            Unit::Time.show(ms * 1000.0)
        ));
    }
    text.push_str(&format!("; {} negative delays", text::count(negative)));
    if let Some(most) = costs.iter().copied().reduce(f64::max) {
        text.push_str(&format!(
            "; reading cost the store at most {} of CPU in a trial",
            Unit::Time.show(most * 1e6)
        ));
    }
    text
}

/// How one place before the last was followed.
fn on_the_way(place: usize, name: &str, trials: &[TrialModel]) -> String {
    let resolution = trials
        .iter()
        .filter_map(|trial| trial.on_the_way.get(place))
        .map(|place| place.delivery.resolution_ms)
        .reduce(f64::max);
    let mut text = format!("every accepted record looked for at {name} as well, by key");
    if let Some(ms) = resolution {
        text.push_str(&format!(
            "; a delay there is known to within {}",
            Unit::Time.show(ms * 1000.0)
        ));
    }
    text
}

fn pinning(info: &RunInfo) -> String {
    let host = &info.host;
    if host.load_cpus.is_empty() && host.system_cpus.is_empty() {
        return "none".to_owned();
    }
    let list = |cpus: &[u32]| {
        if cpus.is_empty() {
            "any".to_owned()
        } else {
            cpus.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        }
    };
    if is_external(info) {
        let load = list(&host.load_cpus);
        return format!("load on CPU {load}; the server ran already, and where is its own affair");
    }
    let external = match &external_components(info)[..] {
        [] => String::new(),
        names => format!(
            "; {} ran already, and where is their own affair",
            names.join(", ")
        ),
    };
    format!(
        "load on CPU {}, system on CPU {}{external}",
        list(&host.load_cpus),
        list(&host.system_cpus)
    )
}
