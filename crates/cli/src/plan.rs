//! `waggle plan`: which trials would run, in which order and for how long.

use std::{borrow::Cow, collections::BTreeSet, fmt::Write};

use anyhow::Result;
use waggle_report::wording::{
    self,
    format::{self, plural},
    search::level,
};
use waggle_results::LevelKind;
use waggle_runner::{RecordFiles, level_kind};
use waggle_study::{
    BackgroundLoad, Cell, Fault, LoadModel, Order, Restart, Search, Study, System, WarmUpUntil,
};
use waggle_units::format_duration;

use crate::{
    arguments::Plan,
    exit::Exit,
    files::{self, Loaded},
    left_out, output,
    table::duration,
};

pub(crate) fn run(arguments: &Plan) -> Result<Exit> {
    let mut loaded = files::load(&arguments.choice)?;
    let left_out = left_out::find(&loaded)?;
    let mut lines = left_out::lines(&loaded, &left_out);
    // The plan may be read on another machine than that of the run.
    if left_out::remove(&mut loaded, &left_out).is_err() {
        lines.push("no cell can be run here; this is the plan of all of them".to_owned());
    }
    let study = &arguments.choice.study;
    RecordFiles::read(&loaded.study, study)
        .map_err(|why| files::records_error(why, study, &loaded.study_source))?;
    lines.extend(missing_value(&loaded, arguments));
    let plan = waggle_study::plan(&loaded.study);
    output::print_text(&listing(&loaded.study, &loaded.system, &plan, &lines))?;
    Ok(Exit::Fine)
}

/// The first value from outside that the study needs and that is not here. The plan may be read where secrets are not.
fn missing_value(loaded: &Loaded, arguments: &Plan) -> Option<String> {
    let mut study = loaded.study.clone();
    let why =
        files::take_values(&mut study, &arguments.choice.study, &loaded.study_source).err()?;
    Some(format!("cannot be run here yet: {why}"))
}

/// The plan as text: the cells, then the trials in their order.
fn listing(
    study: &Study,
    system: &System,
    plan: &waggle_study::Plan,
    left_out: &[String],
) -> String {
    let mut text = String::new();
    let order = match (study.order, study.restart) {
        (Order::Shuffled, Restart::EveryTrial) => {
            format!("shuffled within each repetition, seed {}", study.seed)
        }
        (Order::Shuffled, Restart::EveryCell) => {
            format!("cell by cell, shuffled, seed {}", study.seed)
        }
        (Order::AsListed, Restart::EveryTrial) => "as listed".to_owned(),
        (Order::AsListed, Restart::EveryCell) => "cell by cell, as listed".to_owned(),
    };
    let _ = writeln!(text, "study {}: {}", study.name, study.question);
    let _ = writeln!(text, "system {}", study.system);
    for component in &study.external {
        let _ = writeln!(text, "external, not started by waggle: {component}");
    }
    for line in details(study).iter().chain(left_out) {
        let _ = writeln!(text, "{line}");
    }
    if study.restart == Restart::EveryCell && system.external.is_none() {
        let has_faults = |cell: &Cell| !cell.faults.is_empty();
        let but = match study.cells.iter().any(has_faults) {
            true => ", and for each trial of cells with faults",
            false => "",
        };
        let _ = writeln!(text, "the system is started once for each cell{but}");
    }
    if let Some(settings) = &study.search {
        search(&mut text, study, settings, plan);
        cells(&mut text, study);
        return text;
    }
    let _ = writeln!(
        text,
        "{} × {} = {}, {order}",
        plural(own_cells(study), "cell"),
        repetitions(study),
        trials(study, plan)
    );
    let _ = writeln!(
        text,
        "{} {}, {} at most",
        certainty(study),
        range(duration(plan.expected), duration(plan.expected_max)),
        duration(plan.at_most)
    );
    if study.repeat_max > study.repeat {
        let _ = writeln!(
            text,
            "further repetitions of cells with an interval wider than {} %, as long as they end within {}",
            study.max_ci_width * 100.0,
            duration(plan.adding_limit)
        );
    }
    cells(&mut text, study);
    let _ = writeln!(text, "\ntrials, in the order of execution");
    for trial in &plan.trials {
        let cell = study.cells.iter().find(|cell| cell.number == trial.cell);
        let shown = cell.map(levels).unwrap_or_default();
        let line = format!(
            "  {:>3}  repetition {}  cell {:>2}  {shown}",
            trial.position, trial.repetition, trial.cell
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// How sure it is how long the trials take: what clients take is not known before, and phases that end with a number of requests
/// may be over sooner than their timeouts.
fn certainty(study: &Study) -> &'static str {
    let is_counted = |cell: &Cell| {
        let warm_up = matches!(cell.schedule.warm_up_until, WarmUpUntil::Requests(_));
        warm_up || cell.schedule.requests.is_some()
    };
    if study.cells.iter().any(|cell| cell.load.is_clients()) {
        return "at least";
    }
    match study.cells.iter().any(is_counted) {
        true => "up to",
        false => "about",
    }
}

/// What holds for cells and is not in the list of them.
fn details(study: &Study) -> Vec<String> {
    let derived = study.derived.iter();
    let derived = derived.map(|one| format!("derived {} = {}", one.name, one.formula.trim()));
    let lines = derived.chain(cool_downs(study)).chain(limits(study));
    lines
        .chain(networks(study))
        .chain(preparation(study))
        .chain(inspections(study))
        .chain(background(study))
        .collect()
}

/// `answers to list are inspected: time to the first byte, …`, in each way that a cell has.
fn inspections(study: &Study) -> BTreeSet<String> {
    let line = |cell: &Cell| {
        let inspect = cell.inspect()?;
        let items = inspect.count.as_ref().map_or_else(String::new, |names| {
            let path = ["$"].into_iter().chain(names.iter().map(String::as_str));
            format!(", elements of {}", path.collect::<Vec<_>>().join("."))
        });
        Some(format!(
            "answers to {} are inspected: time to the first byte, bytes before and after decompression{items}",
            cell.name()
        ))
    };
    study.cells.iter().filter_map(line).collect()
}

/// `each trial has a network of its own: 100 Mbit/s …`; of several kinds how many there are, and the first.
fn networks(study: &Study) -> Option<String> {
    let networks = study.cells.iter().filter_map(|cell| {
        let network = cell.network.as_ref()?;
        let info = waggle_runner::network_info(network);
        Some((cell.number, Cow::Owned(info)))
    });
    match &wording::network::kinds(networks)[..] {
        [] => None,
        [(only, _)] => Some(format!("each trial has a network of its own: {only}")),
        [(first, _), others @ ..] => Some(format!(
            "each trial has a network of its own, of {} kinds, from: {first}",
            others.len() + 1
        )),
    }
}

/// `each replica of registry has at most 0.25 to 1.5 CPUs, 512 MiB`, for each component that a cell limits.
fn limits(study: &Study) -> Vec<String> {
    let cells = || study.cells.iter().flat_map(|cell| &cell.limits);
    let components: BTreeSet<&str> = cells().map(|(name, _)| name.as_str()).collect();
    let line = |component: &str| {
        let limits = cells().filter(|(name, _)| *name == component);
        let limits = limits.map(|(_, limits)| limits);
        let mut cpus: Vec<f64> = limits.clone().filter_map(|one| one.cpus).collect();
        cpus.sort_by(f64::total_cmp);
        let memory = limits.filter_map(|one| one.memory);
        let (least, most) = (memory.clone().min(), memory.max());
        let cpus = ends(
            cpus.first().copied().zip(cpus.last().copied()),
            wording::limits::cpus,
        );
        let memory = ends(least.zip(most), wording::limits::memory);
        let amounts: Vec<String> = cpus.into_iter().chain(memory).collect();
        format!(
            "each replica of {component} has at most {}",
            amounts.join(", ")
        )
    };
    components.into_iter().map(line).collect()
}

/// The least and the most as text.
fn ends<T>(ends: Option<(T, T)>, text: fn(T) -> String) -> Option<String> {
    ends.map(|(least, most)| range(text(least), text(most)))
}

/// How the system is prepared: the loads with the fewest and the most sessions of all cells.
fn preparation(study: &Study) -> Vec<String> {
    let cells = || study.cells.iter().flat_map(|cell| &cell.preparation);
    let Some(first) = cells().next() else {
        return Vec::new();
    };
    let sessions = |index: usize| {
        let loads = cells().filter_map(move |one| one.loads.get(index));
        let sessions = loads.map(|load| load.sessions);
        let (min, max) = (sessions.clone().min(), sessions.max());
        let [min, max] = [min, max].map(|count| format::count(count.unwrap_or(0)));
        range(min, max)
    };
    let loads = first.loads.iter().enumerate();
    let loads: Vec<String> = loads
        .map(|(index, load)| format!("{} ({} sessions)", load.name(), sessions(index)))
        .collect();
    let how = match (&study.grow, first.snapshot) {
        (Some(factor), _) => format!("; it grows with {factor}"),
        (None, true) => "; it is kept as a snapshot".to_owned(),
        (None, false) => String::new(),
    };
    vec![format!("prepared by {}{how}", loads.join(", "))]
}

/// `beside the load lists: connections 1 to 4; absent in 2 of 6 cells`, for each background load.
fn background(study: &Study) -> Vec<String> {
    let Some(first) = study.cells.first() else {
        return Vec::new();
    };
    let line = |(index, load): (usize, &BackgroundLoad)| {
        let all = study.cells.iter().filter(|cell| !cell.is_sentinel);
        let models = all.filter_map(move |cell| Some(&cell.background.get(index)?.model));
        let ends = |amounts: Vec<f64>, unit: &str| {
            let ends = [f64::min, f64::max].map(|end| amounts.iter().copied().reduce(end));
            let [least, most] = ends.map(|amount| amount.map(|amount| format!("{amount}{unit}")));
            Some(range(least?, most?))
        };
        let connections = models.clone().filter_map(|model| match model {
            Some(LoadModel::Closed { connections, .. }) => Some(f64::from(*connections)),
            _ => None,
        });
        let rates = models.clone().filter_map(|model| match model {
            Some(LoadModel::Open { rate_per_s, .. }) => Some(*rate_per_s),
            _ => None,
        });
        let amounts = [
            ends(connections.collect(), "").map(|text| format!("connections {text}")),
            ends(rates.collect(), "/s").map(|text| format!("rate {text}")),
        ];
        let amounts: Vec<String> = amounts.into_iter().flatten().collect();
        let (all, absent) = (
            models.clone().count(),
            models.filter(|model| model.is_none()).count(),
        );
        let absent = match absent {
            0 => String::new(),
            absent => format!("; absent in {absent} of {}", plural(all, "cell")),
        };
        let amounts = amounts.join(" or ");
        format!("beside the load {}: {amounts}{absent}", load.name())
    };
    first.background.iter().enumerate().map(line).collect()
}

/// `3 to 8 repetitions`.
fn repetitions(study: &Study) -> String {
    match study.repeat_max > study.repeat {
        true => format!("{} to {} repetitions", study.repeat, study.repeat_max),
        false => plural(study.repeat, "repetition"),
    }
}

/// `36 to 96 trials`.
fn trials(study: &Study, plan: &waggle_study::Plan) -> String {
    let most = own_cells(study) * study.repeat_max as usize;
    let of_sentinel = plan
        .trials
        .iter()
        .filter(|trial| trial.is_of_sentinel(study));
    let of_sentinel = of_sentinel.count();
    let own = plan.trials.len() - of_sentinel;
    let trials = match most > own {
        true => format!("{own} to {most} trials"),
        false => plural(own, "trial"),
    };
    match of_sentinel {
        0 => trials,
        count => format!("{trials}, and {count} or more of the sentinel"),
    }
}

/// Without the sentinel's.
fn own_cells(study: &Study) -> usize {
    study.cells.iter().filter(|cell| !cell.is_sentinel).count()
}

/// `4 min to 5 min`, or one of them if both are the same.
fn range(low: String, high: String) -> String {
    match low == high {
        true => low,
        false => format!("{low} to {high}"),
    }
}

/// The trials of a search depend on its results, so only their maximum number is known.
fn search(text: &mut String, study: &Study, settings: &Search, plan: &waggle_study::Plan) {
    let level = |of: f64| level(level_kind(settings.maximize), of);
    let conditions: Vec<&str> = settings
        .conditions
        .iter()
        .map(|condition| condition.text.as_str())
        .collect();
    let _ = writeln!(
        text,
        "finds the highest {} with {}",
        settings.maximize.name(),
        conditions.join(" and ")
    );
    let _ = writeln!(
        text,
        "start {}, min {}, max {}, precision {} %, {}",
        level(settings.start),
        level(settings.min),
        level(settings.max),
        settings.precision * 100.0,
        plural(settings.confirmations, "confirmation")
    );
    let _ = writeln!(
        text,
        "{} × at most {} = at most {}",
        plural(study.cells.len(), "cell"),
        plural(settings.max_trials, "trial"),
        plural(study.cells.len() * settings.max_trials as usize, "trial")
    );
    if let Some(points) = &settings.operating_points {
        let shares = points.shares.iter().map(|share| format::set_share(*share));
        let shares: Vec<String> = shares.collect();
        let _ = writeln!(
            text,
            "then at {} of each cell's capacity: {} × {} = {}",
            shares.join(" and at "),
            plural(study.cells.len(), "cell"),
            plural(points.trials(), "trial"),
            plural(study.cells.len() * points.trials() as usize, "trial")
        );
    }
    let _ = writeln!(
        text,
        "about {} at most, {} if every timeout is reached",
        duration(plan.expected),
        duration(plan.at_most)
    );
    let steps = plan.trials.iter();
    let steps = steps.filter(|trial| trial.repetition <= settings.max_trials);
    let mut order: Vec<u32> = steps.map(|trial| trial.cell).collect();
    order.dedup();
    let order: Vec<String> = order.iter().map(ToString::to_string).collect();
    let how = match study.order {
        Order::Shuffled => format!("shuffled, seed {}", study.seed),
        Order::AsListed => "as listed".to_owned(),
    };
    let _ = writeln!(text, "cells in the order {} ({how})", order.join(", "));
}

fn cells(text: &mut String, study: &Study) {
    let _ = writeln!(text, "\ncells");
    let names = study.cells.iter().map(levels);
    let widest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    let gap = if widest > 0 { "  " } else { "" };
    for cell in &study.cells {
        let _ = writeln!(
            text,
            "  {:>3}  {:<widest$}{gap}{}{}",
            cell.number,
            levels(cell),
            load(&cell.load),
            fall(cell)
        );
        for fault in &cell.faults {
            let _ = writeln!(text, "       {}", fault_text(fault));
        }
    }
}

/// `orders-0 is killed 5s into the measured phase and restarted 2s later`.
fn fault_text(fault: &Fault) -> String {
    format!(
        "{} is killed {} into the measured phase and restarted {} later",
        fault.name(),
        format_duration(fault.at),
        format_duration(fault.restart_after)
    )
}

/// `, then 100/s for 30 s (control of 20 s in the warm-up)`, if the cell has a recovery phase.
fn fall(cell: &Cell) -> String {
    let Some(recovery) = &cell.schedule.recovery else {
        return String::new();
    };
    let what = match cell.load {
        LoadModel::Open { .. } => LevelKind::Rate,
        LoadModel::Closed { .. } | LoadModel::Clients { .. } => LevelKind::Connections,
        LoadModel::Users { .. } => LevelKind::Users,
    };
    let control = recovery.control.map_or_else(String::new, |control| {
        format!(" (control of {} in the warm-up)", duration(control))
    });
    format!(
        ", then {} for {}{control}",
        level(what, recovery.level),
        duration(recovery.duration)
    )
}

/// What cool-downs wait for, each once: `cool-down until the load average is at most 0.5, polled every 5s, at most 5m`.
fn cool_downs(study: &Study) -> BTreeSet<String> {
    let line = |cell: &Cell| {
        let until = cell.schedule.cool_down_until.as_ref()?;
        let at_most = format_duration(cell.schedule.cool_down);
        Some(format!("cool-down {until}, at most {at_most}"))
    };
    study.cells.iter().filter_map(line).collect()
}

/// `connections=10 pipelining=50`.
fn levels(cell: &Cell) -> String {
    cell.all_levels()
        .map(|(name, level)| format!("{name}={level}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// `closed, 10 connections × 50 in flight`.
pub(crate) fn load(model: &LoadModel) -> String {
    match model {
        LoadModel::Closed {
            connections,
            pipelining,
        } => format!(
            "closed, {} × {pipelining} in flight",
            plural(*connections, "connection")
        ),
        LoadModel::Open {
            rate_per_s,
            connections,
            pipelining,
            ..
        } => {
            let connections = plural(*connections, "connection");
            let rate = set_rate(*rate_per_s);
            format!("open, {rate}/s over {connections} × {pipelining}")
        }
        LoadModel::Users { users, .. } => plural(*users, "user"),
        LoadModel::Clients {
            clients,
            connections,
            requests,
            ..
        } => format!(
            "{} with {} and {} each",
            plural(*clients, "client"),
            plural(*connections, "connection"),
            plural(*requests, "request")
        ),
    }
}

/// A rate as it was set: whole, with its decimals, or of an endless fraction (100/m) as much as is needed to know it.
fn set_rate(per_s: f64) -> String {
    match per_s.to_string() {
        endless if endless.len() > RATE_MAX_LENGTH => format::three_digits(per_s),
        _ if per_s.fract() == 0.0 => format::amount(per_s),
        shown => shown,
    }
}

/// Digits of a rate that a person sets.
const RATE_MAX_LENGTH: usize = 12;
