//! `waggle load`: one quick load on one URL, judged like a trial of a study.
//!
//! Flags (`arguments`, `parse`) and the URL (`target`) become a job (`job`, with `model`, `request` or `scenario`, and
//! `transport`); `watch` follows it and has `crate::trial` add its intervals up and judge them, `series` writes them,
//! `view` shows them (at a terminal by `crate::live`); `result` makes the one plain value (`summary`), held against
//! `conditions`, which `text` and serde render.

pub(crate) mod arguments;
mod conditions;
mod cpus;
pub(crate) mod found;
mod job;
mod model;
mod parse;
mod request;
mod result;
mod scenario;
mod search;
mod series;
mod steps;
pub(crate) mod summary;
mod target;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod transport;
mod view;
mod watch;

use std::io::IsTerminal;

use anyhow::{Context, Result};
use waggle_runner::{Awake, cpu_time::CpuClocks};
use waggle_study::Threshold;

use self::{
    arguments::Load,
    parse::SoughtName,
    result::Beside,
    series::Series,
    summary::LoadResult,
    target::{Reached, Target},
    text::Colours,
    view::{Looked, View},
};
use crate::{
    exit::{Exit, INTERRUPTED},
    interrupts::Interrupts,
    live, say,
};

/// Longest wait for the first connection.
const REACH: std::time::Duration = std::time::Duration::from_secs(5);

pub(crate) fn run(flags: &Load) -> Result<Exit> {
    let target = Target::parse(&flags.url)?;
    let steps = scenario::step_names(flags, &target)?;
    let thresholds = conditions::conditions("--threshold", &flags.judged.thresholds, &steps)?;
    let sought = search::conditions(&flags.search, &steps)?;
    // Lives until the result is told.
    let awake = awake(flags)?;
    let clocks = CpuClocks {
        cpus: waggle_runner::cpus::allowed(),
        loops: awake.as_ref().map(Awake::pid),
    };
    let reached = target.reach(&flags.way.connect_to, REACH)?;
    if let Some(what) = flags.search.find {
        return find(flags, (what, &sought), (&target, &reached, &clocks));
    }
    let planned = job::planned(flags, &target, reached.address)?;
    let output = &flags.output;
    let mut series = Series::create(output.csv.as_deref(), output.hdr.as_deref())?;
    let mut view = view(output, &target);
    let shown = (&mut series, &mut view);
    let watched = watch::watch(&planned, shown, &interrupts()?, &clocks)?;
    let beside = Beside {
        url: &target.url,
        thresholds: &thresholds,
        remarks: reached.remark.into_iter().collect(),
        with_series: output.series,
        time_bound_us: None,
    };
    let result = result::result(&planned, watched, beside);
    show(&result, output.json)?;
    Ok(exit(&result))
}

/// Wishes to end the load. The third ends the program.
fn interrupts() -> Result<Interrupts> {
    let interrupts = Interrupts::new(|| {
        live::give_back();
        std::process::exit(INTERRUPTED.into());
    });
    interrupts.listen()?;
    Ok(interrupts)
}

/// The loops that keep the CPUs awake, where that is asked for.
fn awake(flags: &Load) -> Result<Option<Awake>> {
    if !flags.way.keep_awake {
        return Ok(None);
    }
    let program = std::env::current_exe().context("cannot tell where this program lies")?;
    Ok(Some(Awake::start(&program)?))
}

/// Where JSON goes to the terminal itself, nobody is taken to look on.
fn view(output: &arguments::Output, target: &Target) -> View {
    let is_looked_at = !output.json || !std::io::stdout().is_terminal();
    if output.quiet {
        View::Quiet
    } else if !output.no_live && is_looked_at && live::fits() {
        View::Live(Box::new(Looked::at(&target.url)))
    } else {
        View::Lines
    }
}

/// `--find`: each step as it goes, then the answer.
fn find(
    flags: &Load,
    (what, conditions): (SoughtName, &[Threshold]),
    to: (&Target, &Reached, &CpuClocks),
) -> Result<Exit> {
    let quiet = flags.output.quiet;
    let found = search::run(flags, (what, conditions), to, |step| {
        if !quiet {
            say::aside(&found::line(what.level_kind(), step));
        }
    })?;
    let text = if flags.output.json {
        serde_json::to_string_pretty(&found).context("cannot write the result as JSON")? + "\n"
    } else {
        // What was told on the way to the same screen is not said again.
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

/// An interrupt wins over the verdict, the verdict over conditions, which count on valid results only.
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
