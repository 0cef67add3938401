//! `waggle load`: a load on one URL, as the trial of a study with one cell.
//!
//! Flags (`arguments`, `parse`) and the URL (`target`) become a study (`planned`, with `model`, `request`, `scenario` and `transport`),
//! whose text (`study`) can be saved (`place`). The runner runs it, with `--search` as a `search`. `watch` follows its events:
//! `crate::trial` adds up and checks intervals, `series` writes them, `view` shows them (at a terminal with `crate::live`). `result` makes
//! one plain value (`summary`), with its `conditions`, which `text` and serde render.

pub(crate) mod arguments;
mod conditions;
pub(crate) mod found;
mod model;
pub(crate) mod parse;
mod place;
mod planned;
mod request;
mod result;
mod scenario;
mod search;
mod series;
mod steps;
mod study;
pub(crate) mod summary;
pub(crate) mod target;
#[cfg(test)]
pub(crate) mod tests;
mod text;
#[cfg(test)]
mod texts;
mod transport;
mod view;
mod watch;

use std::io::IsTerminal;

use anyhow::{Context, Result};
use waggle_study::Threshold;

use self::{
    arguments::Load,
    parse::SoughtName,
    place::Place,
    planned::{Around, Planned},
    result::Beside,
    series::Series,
    summary::LoadResult,
    target::{Reached, Target},
    text::Colours,
    view::{Looked, View},
    watch::Way,
};
use crate::{
    exit::{Exit, INTERRUPTED},
    files,
    interrupts::Interrupts,
    live, say,
};

/// Timeout of the first connection.
const REACH: std::time::Duration = std::time::Duration::from_secs(5);
/// Folder of saved runs, and the name of a run of a load.
const RUNS: &str = "runs";
const NAME: &str = "load";

pub(crate) fn run(flags: &Load) -> Result<Exit> {
    let target = Target::parse(&flags.url)?;
    let steps = scenario::step_names(flags, &target)?;
    let thresholds = conditions::conditions("--threshold", &flags.judged.thresholds, &steps)?;
    let sought = search::conditions(&flags.search, &steps)?;
    let place = Place::new(kept_in(flags)?);
    let reached = target.reach(&flags.way.connect_to, REACH)?;
    let to = To {
        target: &target,
        reached: &reached,
        place: &place,
    };
    match flags.search.maximize {
        Some(what) => find(flags, (what, sought), to),
        None => run_load(flags, &thresholds, to),
    }
}

/// Prints the folder of a saved run.
fn tell_kept(flags: &Load, planned: &Planned, place: &Place) {
    if let Some(folder) = place.saved_folder()
        && !flags.output.quiet
    {
        let folder = folder.display();
        if planned.keeps_bytes {
            say::print_progress(
                "the body is not text: it is saved unchanged, including any secrets",
            );
        }
        say::print_progress(&format!(
            "saved in {folder}: `waggle report {folder}` writes its report, `waggle run {folder}/study.yaml` repeats it"
        ));
    }
}

/// The target of a load, and the folders of its run.
#[derive(Debug, Clone, Copy)]
struct To<'a> {
    target: &'a Target,
    reached: &'a Reached,
    place: &'a Place,
}

/// The folder of a saved run.
fn kept_in(flags: &Load) -> Result<Option<std::path::PathBuf>> {
    match &flags.output.save {
        None => Ok(None),
        Some(Some(folder)) => Ok(Some(folder.clone())),
        Some(None) => files::new_run(std::path::Path::new(RUNS), NAME).map(Some),
    }
}

fn run_load(flags: &Load, thresholds: &[Threshold], to: To<'_>) -> Result<Exit> {
    let planned = planned::make_plan(
        flags,
        Around {
            target: to.target,
            reached: to.reached,
            thresholds,
            sought: None,
            place: to.place,
        },
    )?;
    let output = &flags.output;
    let mut series = Series::create(output.csv.as_deref(), output.hdr.as_deref())?;
    let mut view = view(output, to.target);
    let interrupts = interrupts(to.place)?;
    let watched = watch::watch(
        &planned,
        (&mut series, &mut view),
        way(flags, to, &interrupts),
    );
    let watched = watched.inspect_err(|_| to.place.give_up())?;
    let beside = Beside {
        url: &to.target.url,
        settings: planned.settings.clone(),
        thresholds,
        remarks: to.reached.remark.iter().cloned().collect(),
        with_series: output.series,
    };
    tell_kept(flags, &planned, to.place);
    let result = result::result(&planned, watched, beside);
    show(&result, output.json)?;
    Ok(exit(&result))
}

fn way<'a>(flags: &Load, to: To<'a>, interrupts: &'a Interrupts) -> Way<'a> {
    Way {
        place: to.place,
        reached: to.reached,
        interrupts,
        idle_poll: flags.way.idle_poll,
    }
}

/// Requests to end the load. The third one ends the program.
fn interrupts(place: &Place) -> Result<Interrupts> {
    let temporary = place.temporary().to_path_buf();
    let interrupts = Interrupts::new(move || {
        live::give_back();
        std::fs::remove_dir_all(&temporary).ok();
        std::process::exit(INTERRUPTED.into());
    });
    interrupts.listen()?;
    Ok(interrupts)
}

/// The live view is not used if JSON goes to the terminal.
fn view(output: &arguments::Output, target: &Target) -> View {
    let is_looked_at = !output.json || !std::io::stdout().is_terminal();
    if output.quiet {
        View::Quiet
    } else if !output.no_live && is_looked_at && live::fits() {
        View::Live(Box::new(Looked::new(&target.url)))
    } else {
        View::Lines
    }
}

/// `--search`: prints each step, then the answer.
fn find(
    flags: &Load,
    (what, conditions): (SoughtName, Vec<Threshold>),
    to: To<'_>,
) -> Result<Exit> {
    let quiet = flags.output.quiet;
    let mut flags = flags.clone();
    let sought = search::search_settings(&mut flags, what, conditions)?;
    let around = Around {
        target: to.target,
        reached: to.reached,
        thresholds: &[],
        sought: Some(&sought),
        place: to.place,
    };
    let planned = planned::make_plan(&flags, around)?;
    let interrupts = interrupts(to.place)?;
    let way = way(&flags, to, &interrupts);
    let found = search::run(&planned, (&sought, &to.target.url), way, |step| {
        if !quiet {
            say::print_progress(&found::line(what.level_kind(), step));
        }
    });
    let found = found.inspect_err(|_| to.place.give_up())?;
    tell_kept(&flags, &planned, to.place);
    let text = if flags.output.json {
        serde_json::to_string_pretty(&found).context("cannot write the result as JSON")? + "\n"
    } else {
        // Steps that were printed to the same terminal are not repeated.
        let told = !quiet && std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        found::text(&found, if told { &[] } else { &found.steps })
    };
    say::result(&text)?;
    Ok(search::exit(&found))
}

fn show(result: &LoadResult, as_json: bool) -> Result<()> {
    let text = if as_json {
        serde_json::to_string_pretty(result).context("cannot write the result as JSON")? + "\n"
    } else {
        let wanted = std::io::stdout().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
        text::text(result, if wanted { Colours::On } else { Colours::Off })
    };
    say::result(&text)
}

/// An interrupt takes precedence over the verdict, and the verdict over thresholds, which need a valid result.
fn exit(result: &LoadResult) -> Exit {
    if result.interrupted {
        Exit::Interrupted
    } else if result.verdict != waggle_stats::Verdict::Valid.name() {
        Exit::NotValid
    } else if result.thresholds.iter().any(|threshold| !threshold.holds) {
        Exit::Threshold
    } else {
        Exit::Fine
    }
}
