//! `waggle plan`: which trials would run, in which order and for how long.

mod agents;
mod commands;
mod details;
mod pods;
mod power;
mod times;
mod words;

use std::fmt::Write;

use anyhow::Result;
use waggle_report::wording::{
    format::{self, plural},
    search::level,
};
use waggle_runner::RecordFiles;
use waggle_spec::{LoadModel, Restart, Search, TrialOrder, WarmUpUntil};
use waggle_study::{Cell, Fault, FaultAction, Study, System};
use waggle_units::format_duration;

use self::words::range;
use crate::{
    arguments::Plan,
    inputs::{
        left_out,
        study::{self, Loaded},
    },
    output::{self, values::duration},
    process::exit::Exit,
};

pub(crate) fn run(arguments: &Plan) -> Result<Exit> {
    output::print_text(&plan_study(arguments)?.text)?;
    Ok(Exit::Fine)
}

/// A plan with what it is of.
#[cfg_attr(
    not(feature = "mcp"),
    expect(dead_code, reason = "the command prints the text alone")
)]
pub(crate) struct Planned {
    pub(crate) loaded: Loaded,
    pub(crate) plan: waggle_study::Plan,
    /// As the command prints it.
    pub(crate) text: String,
}

/// # Errors
/// The study, its system or a file that it names has a mistake.
pub(crate) fn plan_study(arguments: &Plan) -> Result<Planned> {
    let mut loaded = study::load_to_show(&arguments.choice)?;
    let left_out = left_out::find(&loaded)?;
    let mut lines = left_out::lines(&loaded, &left_out);
    // The plan may be read on another machine than that of the run.
    if left_out::remove(&mut loaded, &left_out).is_err() {
        lines.push("no cell can be run here; this is the plan of all of them".to_owned());
    }
    let study = &arguments.choice.study;
    RecordFiles::read(&loaded.study, study)
        .map_err(|why| study::records_error(why, study, &loaded.study_source))?;
    lines.extend(missing_value(&loaded, arguments));
    lines.extend(pods::lines(&loaded.study, &loaded.system));
    let is_foreign = !loaded.foreign.is_empty();
    let has_pods = loaded.study.system_pods.is_some() || loaded.system.manifests.is_some();
    lines.extend(agents::lines(&loaded.study, study, is_foreign, has_pods));
    for (path, objection) in &loaded.foreign {
        let path = path.display();
        lines.push(format!(
            "cannot be run here unless --trust names it: {path}, for {objection}"
        ));
    }
    let commands = match arguments.commands || !loaded.foreign.is_empty() {
        true => commands::commands(&loaded),
        false => Vec::new(),
    };
    let plan = waggle_study::plan(&loaded.study);
    let notes = Notes {
        lines,
        sum: waggle_runner::at_start(&loaded.study, &loaded.study_source.text).digest(),
        power: power::lines(&loaded.study, arguments)?,
    };
    let mut text = listing(&loaded, &plan, &notes);
    if !commands.is_empty() {
        let _ = writeln!(text, "\n{}", commands.join("\n"));
    }
    Ok(Planned { loaded, plan, text })
}

/// The first value that still has to be set: a secret that was not written, or a value from outside that is not here. The plan may be read where secrets are not.
fn missing_value(loaded: &Loaded, arguments: &Plan) -> Option<String> {
    let mut study = loaded.study.clone();
    let file = &arguments.choice.study;
    let why = study::check_marks(loaded, file)
        .and_then(|()| study::take_values(&mut study, file, &loaded.study_source))
        .err()?;
    Some(format!("cannot be run here yet: {why}"))
}

/// What is said beside the plan.
struct Notes {
    /// Cells that are left out, values that are missing.
    lines: Vec<String>,
    /// Of question, asks and thresholds.
    sum: String,
    /// Which difference is shown.
    power: Vec<String>,
}

/// The plan as text: the cells, then the trials in their order.
fn listing(loaded: &Loaded, plan: &waggle_study::Plan, notes: &Notes) -> String {
    let (study, system) = (&loaded.study, &loaded.system);
    let mut text = String::new();
    let order = match (study.order, study.restart) {
        (TrialOrder::Shuffled, Restart::EveryTrial) => {
            format!("shuffled within each repetition, {}", seed(study))
        }
        (TrialOrder::Shuffled, Restart::EveryCell) => {
            format!("cell by cell, shuffled, {}", seed(study))
        }
        (TrialOrder::AsListed, Restart::EveryTrial) => "as listed".to_owned(),
        (TrialOrder::AsListed, Restart::EveryCell) => "cell by cell, as listed".to_owned(),
    };
    let _ = writeln!(text, "study {}: {}", study.name, study.question);
    let _ = writeln!(text, "question, asks and thresholds: SHA-256 {}", notes.sum);
    let _ = writeln!(text, "{}", loaded.system_line());
    for component in &study.external {
        let _ = writeln!(text, "external, not started by waggle: {component}");
    }
    for line in details::details(study).iter().chain(&notes.lines) {
        let _ = writeln!(text, "{line}");
    }
    text.push_str(&kept_up(study, system));
    if let Some(settings) = &study.search {
        search(&mut text, study, system, settings, plan);
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
    text.push_str(&times::excluded_times(study, system));
    if study.repeat_max > study.repeat {
        let _ = writeln!(
            text,
            "further repetitions of cells with an interval wider than {} %, as long as they end within {}",
            study.max_ci_width * 100.0,
            duration(plan.adding_limit)
        );
    }
    for line in &notes.power {
        let _ = writeln!(text, "{line}");
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

/// Whether the system is started for each cell or for each trial.
fn kept_up(study: &Study, system: &System) -> String {
    if study.restart == Restart::EveryCell && system.external.is_none() {
        let has_faults = |cell: &Cell| !cell.faults.is_empty();
        let but = match study.cells.iter().any(has_faults) {
            true => ", and for each trial of cells with faults",
            false => "",
        };
        return format!("the system is started once for each cell{but}\n");
    }
    String::new()
}

/// `seed 7`, or that each run has a new one, with that of the plan.
fn seed(study: &Study) -> String {
    match study.has_own_seed {
        true => format!("seed {}", study.seed),
        false => format!("a new order for each run (this one: --seed {})", study.seed),
    }
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
    let cell_trials = plan.trials.len() - of_sentinel;
    let trials = match most > cell_trials {
        true => format!("{cell_trials} to {most} trials"),
        false => plural(cell_trials, "trial"),
    };
    match of_sentinel {
        0 => trials,
        count => format!("{trials}, and {count} or more of the sentinel"),
    }
}

/// Without the sentinel's.
pub(crate) fn own_cells(study: &Study) -> usize {
    study.cells.iter().filter(|cell| !cell.is_sentinel).count()
}

/// The trials of a search depend on its results, so only their maximum number is known.
fn search(
    text: &mut String,
    study: &Study,
    system: &System,
    settings: &Search,
    plan: &waggle_study::Plan,
) {
    let level = |value: f64| level(settings.maximize, value);
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
        "start {}, min {}, max {}, precision {} %, {}{}",
        level(settings.start),
        level(settings.min),
        level(settings.max),
        settings.precision * 100.0,
        plural(settings.confirmations, "confirmation"),
        settings
            .max_connections
            .map_or_else(String::new, |most| format!(
                ", up to {}",
                plural(most, "connection")
            ))
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
    text.push_str(&times::excluded_times(study, system));
    let steps = plan.trials.iter();
    let steps = steps.filter(|trial| trial.repetition <= settings.max_trials);
    let mut order: Vec<u32> = steps.map(|trial| trial.cell).collect();
    order.dedup();
    let order: Vec<String> = order.iter().map(ToString::to_string).collect();
    let how = match study.order {
        TrialOrder::Shuffled => format!("shuffled, {}", seed(study)),
        TrialOrder::AsListed => "as listed".to_owned(),
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
    let name = fault.name();
    let moment = format!("{} into the measured phase", format_duration(fault.at));
    match &fault.action {
        FaultAction::Kill { restart_after } => format!(
            "{name} is killed {moment} and restarted {} later",
            format_duration(*restart_after)
        ),
        FaultAction::Upgrade { set, .. } if set.is_empty() => {
            format!("the pods of {name} are replaced {moment}")
        }
        FaultAction::Upgrade { set, .. } => {
            let set = set.iter().map(|(name, level)| format!("{name}={level}"));
            let set = set.collect::<Vec<_>>().join(" ");
            format!("{name} is upgraded {moment}: {set}")
        }
        FaultAction::Drain => format!("the node of {name} is drained {moment}"),
    }
}

/// `, then 100/s for 30 s (control of 20 s in the warm-up)`, if the cell has a recovery phase.
fn fall(cell: &Cell) -> String {
    let Some(recovery) = &cell.schedule.recovery else {
        return String::new();
    };
    let what = cell.load.kind().level_kind();
    let control = recovery.control.map_or_else(String::new, |control| {
        format!(" (control of {} in the warm-up)", duration(control))
    });
    format!(
        ", then {} for {}{control}",
        level(what, recovery.level),
        duration(recovery.duration)
    )
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
