//! `waggle load`: a load on one URL, as the trial of a study with one cell.
//!
//! Flags and the URL become a study, whose text can be saved (`study`). The runner runs it, with `--search` as a `search`. `follow`
//! follows its events: `crate::trial` adds up and checks intervals, rows are written and shown (at a terminal with `crate::live`). At its
//! end the trial is read from the run folder and becomes one plain value with its conditions (`result`), which is rendered as text and
//! by serde.

mod follow;
pub(super) mod result;
mod search;
mod study;
#[cfg(test)]
pub(crate) mod tests;

use std::{io::IsTerminal, sync::Arc};

use anyhow::{Context, Result};
use waggle_convert::Target;
use waggle_spec::Threshold;
use waggle_stats::Verdict;
use waggle_system::host::measuring::Measuring;

use self::{
    follow::{
        drive::{self, Environment, Followed},
        outcome::{self, ResultInputs},
        series::Series,
        view::{LiveView, View},
    },
    result::{
        conditions,
        render::{self, Colours},
        search_result,
        summary::{self, LoadResult},
    },
    search::SearchLoad,
    study::{
        planned::{self, PlanInputs, Planned},
        run_folders::RunFolders,
        scenario,
    },
};
use crate::{
    arguments::{
        load::{Load, Output},
        parse::SearchVariable,
        target::{ReachedServer, reach},
    },
    inputs::runs::{self, NewRun},
    live, output,
    process::{
        exit::{Exit, INTERRUPTED},
        folders as process_folders,
        interrupts::Interrupts,
    },
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
    let search = search::conditions(&flags.search, &steps)?;
    let new = new_folder(flags)?;
    let folders = match (&new, &flags.output.save) {
        (Some(new), _) => RunFolders::in_new(new.folder()),
        (None, Some(Some(folder))) => RunFolders::new(Some(folder.clone())),
        (None, _) => RunFolders::new(None),
    };
    let reached = reach(&target, &flags.way.connect_to, REACH)?;
    let measuring = Arc::new(Measuring::new(
        process_folders::measuring().as_deref(),
        &format!("waggle load {}", target.authority),
    ));
    let beside = measuring.note();
    let to = Destination {
        beside: beside.as_deref(),
        measuring: &measuring,
        target: &target,
        reached: &reached,
        folders: &folders,
    };
    match flags.search.maximize {
        Some(what) => find(flags, what, search, to),
        None => run_load(flags, &thresholds, to),
    }
}

/// Prints the folder of a saved run.
fn report_saved(flags: &Load, planned: &Planned, folders: &RunFolders) {
    if let Some(folder) = folders.saved_folder()
        && !flags.output.quiet
    {
        let folder = folder.display();
        if planned.keeps_bytes {
            output::print_progress(
                "the body is not text: it is saved unchanged, including any secrets",
            );
        }
        output::print_progress(&format!(
            "saved in {folder}: `waggle report {folder}` writes its report, `waggle run {folder}/study.yaml` repeats it"
        ));
    }
}

/// The target of a load, and the folders of its run.
#[derive(Debug, Clone, Copy)]
struct Destination<'a> {
    /// What is said of another waggle that measures.
    beside: Option<&'a str>,
    measuring: &'a Arc<Measuring>,
    target: &'a Target,
    reached: &'a ReachedServer,
    folders: &'a RunFolders,
}

/// The folder of a run that is saved under the name of a load.
fn new_folder(flags: &Load) -> Result<Option<NewRun>> {
    match flags.output.save {
        Some(None) => {
            let way_on = "--save=FOLDER saves the run elsewhere";
            runs::new_run(std::path::Path::new(RUNS), NAME, way_on).map(Some)
        }
        Some(Some(_)) | None => Ok(None),
    }
}

fn run_load(flags: &Load, thresholds: &[Threshold], to: Destination<'_>) -> Result<Exit> {
    let planned = planned::make_plan(
        flags,
        PlanInputs {
            target: to.target,
            reached: to.reached,
            thresholds,
            search: None,
            folders: to.folders,
        },
    )?;
    let output = &flags.output;
    let mut series = Series::create(output.csv.as_deref(), output.hdr.as_deref())?;
    let mut view = view(output, to.target);
    let interrupts = interrupts(to.folders)?;
    let environment = environment(flags, to, &interrupts);
    let followed = drive::drive(&planned, &mut series, &mut view, environment);
    let followed = followed.inspect_err(|_| to.folders.give_up())?;
    let Some(Followed { load, rows }) = followed else {
        output::print_progress("ended before anything was measured: the load has no result");
        return Ok(Exit::Interrupted);
    };
    let inputs = ResultInputs {
        url: &to.target.url,
        settings: planned.settings.clone(),
        thresholds,
        // Those of others that measure are in the trial.
        remarks: to.reached.remark.iter().cloned().collect(),
        interrupted: interrupts.count() > 0,
        intervals: output.series.then_some(rows),
    };
    report_saved(flags, &planned, to.folders);
    let result = outcome::result(&planned, &load, inputs);
    show(&result, output.json)?;
    Ok(exit(&result))
}

fn environment<'a>(
    flags: &Load,
    to: Destination<'a>,
    interrupts: &'a Interrupts,
) -> Environment<'a> {
    Environment {
        folders: to.folders,
        reached: to.reached,
        beside: to.beside,
        measuring: to.measuring,
        interrupts,
        idle_poll: flags.way.idle_poll,
    }
}

/// Requests to end the load. The third one ends the program.
fn interrupts(folders: &RunFolders) -> Result<Interrupts> {
    let temporary = folders.temporary().to_path_buf();
    let interrupts = Interrupts::new(move || {
        live::give_back();
        std::fs::remove_dir_all(&temporary).ok();
        std::process::exit(INTERRUPTED.into());
    });
    interrupts.listen()?;
    Ok(interrupts)
}

/// The live view is not used if JSON goes to the terminal.
fn view(output: &Output, target: &Target) -> View {
    let is_looked_at = !output.json || !std::io::stdout().is_terminal();
    if output.quiet {
        View::Quiet
    } else if !output.no_live && is_looked_at && live::fits() {
        View::Live(Box::new(LiveView::new(&target.url)))
    } else {
        View::Lines
    }
}

/// `--search`: prints each step, then the answer.
fn find(
    flags: &Load,
    what: SearchVariable,
    conditions: Vec<Threshold>,
    to: Destination<'_>,
) -> Result<Exit> {
    let quiet = flags.output.quiet;
    let mut flags = flags.clone();
    let search = search::search_settings(&mut flags, what, conditions)?;
    let inputs = PlanInputs {
        target: to.target,
        reached: to.reached,
        thresholds: &[],
        search: Some(&search),
        folders: to.folders,
    };
    let planned = planned::make_plan(&flags, inputs)?;
    let interrupts = interrupts(to.folders)?;
    let environment = environment(&flags, to, &interrupts);
    let kind = what.level_kind();
    let url = &to.target.url;
    // Steps are a part of the text, and progress beside the JSON: printed once, as they come. A closed pipe is noticed at the end.
    let print = |line: &str| match (quiet, flags.output.json) {
        (true, _) => {}
        (false, true) => output::print_progress(line),
        (false, false) => drop(output::print_text(&format!("{line}\n"))),
    };
    let conditions = search.conditions.iter();
    let conditions: Vec<String> = conditions.map(|condition| condition.text.clone()).collect();
    print(&search_result::heading(url, kind, &conditions));
    if let Some(note) = to.beside {
        print(&format!("note: {note}"));
    }
    let load = SearchLoad {
        planned: &planned,
        search: &search,
        url,
        environment,
    };
    let result = load.run(|step| print(&search_result::line(kind, step)));
    let result = result.inspect_err(|_| to.folders.give_up())?;
    report_saved(&flags, &planned, to.folders);
    if flags.output.json {
        print_json(&result)?;
    } else {
        output::print_text(&match quiet {
            true => search_result::text(&result),
            false => format!("{}\n", result.answer),
        })?;
    }
    Ok(search::exit(&result))
}

fn print_json(result: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(result).context("cannot write the result as JSON")?;
    output::print_result(&format!("{text}\n"))
}

fn show(result: &LoadResult, as_json: bool) -> Result<()> {
    if as_json {
        return print_json(result);
    }
    let wanted = std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    let colours = if wanted { Colours::On } else { Colours::Off };
    output::print_text(&render::text(result, colours))
}

/// Whether a verdict is of a doubt, and not of a fact.
fn is_doubt(verdict: &str) -> bool {
    [Verdict::InstrumentLimited, Verdict::Unsteady]
        .iter()
        .any(|doubt| doubt.name() == verdict)
}

/// An interrupt takes precedence, and the verdict over thresholds. What a doubt leaves open is known: with thresholds it counts only if
/// it leaves one of them undecided.
fn exit(result: &LoadResult) -> Exit {
    let is_undecided = result
        .thresholds
        .iter()
        .any(|threshold| threshold.undecided);
    let is_believed = match result.verdict.as_str() {
        verdict if verdict == Verdict::Valid.name() => true,
        // It points one way as well, and the machine of a CI job is seldom quiet.
        verdict if verdict == Verdict::Contended.name() => true,
        verdict if is_doubt(verdict) => !result.thresholds.is_empty(),
        _ => false,
    };
    let is_shown = |condition: &summary::ThresholdResult| !condition.holds && !condition.undecided;
    if result.interrupted {
        Exit::Interrupted
    } else if result.verdict == Verdict::Failed.name() {
        // What failed is a fact: conditions on it are decided all the same.
        match result.thresholds.iter().any(is_shown) {
            true => Exit::Threshold,
            false => Exit::TrialFailed,
        }
    } else if is_undecided || !is_believed {
        Exit::NotValid
    } else if result.thresholds.iter().any(|threshold| !threshold.holds) {
        Exit::Threshold
    } else {
        Exit::Fine
    }
}
