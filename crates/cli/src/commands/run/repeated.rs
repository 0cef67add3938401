//! `waggle run --times N --every T`: whole runs one after the other, and what they show with the run as the unit.
//!
//! The interval of one run says how its trials scatter. What differs from run to run, such as where memory lies, which other programs run
//! and what the day is like, only several runs show (design 0087).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    sync::mpsc,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use waggle_analysis::history::{HistorySettings, HostScope};
use waggle_report::wording::{format::plural, history::error};
use waggle_system::host::measuring::Measuring;

use super::{
    Finished,
    resume_command::{resume_command, run_command},
    run_once,
};
use crate::{
    arguments::Run,
    commands::history,
    inputs::runs,
    output::{self, result_files::OutputFiles, values::duration},
    process::{exit::Exit, interrupts::Interrupts},
};

/// As `waggle history` has it.
const MIN_CHANGE: f64 = 0.02;

/// Runs the study so many times.
pub(crate) fn run(
    arguments: &Run,
    times: u32,
    measuring: &Arc<Measuring>,
    interrupts: &Interrupts,
) -> Result<Exit> {
    if arguments.comparison.judgement.margin.is_some() {
        bail!(
            "--margin decides a comparison, and --times compares nothing; --metric names metrics"
        );
    }
    let every = arguments.repeated.every.unwrap_or(Duration::ZERO);
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut worst = Exit::Fine;
    for number in 1..=times {
        let begun = Instant::now();
        progress(arguments, &format!("run {number} of {times}"));
        let Finished { exit, folder } = run_once(arguments, measuring, interrupts)?;
        if exit == Exit::Interrupted {
            let rest = rest_text(arguments, Some(&folder), times - number);
            return report_interrupt(arguments, &folders, &rest);
        }
        folders.push(folder);
        worst = worst.max(exit);
        if number < times && !wait(arguments, every.saturating_sub(begun.elapsed()), interrupts) {
            let rest = rest_text(arguments, None, times - number);
            return report_interrupt(arguments, &folders, &rest);
        }
    }
    show(arguments, &folders)?;
    Ok(worst)
}

fn progress(arguments: &Run, line: &str) {
    if !arguments.quiet {
        output::print_progress(line);
    }
}

/// Waits until the next run is due; `false`: the user ends the runs.
fn wait(arguments: &Run, left: Duration, interrupts: &Interrupts) -> bool {
    let (end, ended) = mpsc::channel();
    interrupts.follow(move || {
        // Nobody waits any more once the next run has begun.
        end.send(()).ok();
    });
    if !left.is_zero() {
        let next = duration(left);
        progress(arguments, &format!("the next run begins in {next}"));
    }
    ended.recv_timeout(left).is_err()
}

/// What there is, and how the rest is run.
fn report_interrupt(arguments: &Run, folders: &[PathBuf], rest: &str) -> Result<Exit> {
    show(arguments, folders)?;
    output::print_result(rest)?;
    Ok(Exit::Interrupted)
}

/// The commands for the rest of an interrupted run, and for the runs after it.
fn rest_text(arguments: &Run, interrupted: Option<&Path>, left: u32) -> String {
    let mut text = format!(
        "{} of {} left",
        left,
        plural(arguments.repeated.times.unwrap_or(1), "run")
    );
    if let Some(folder) = interrupted {
        text += &format!(
            " after the interrupted one, which is resumed with: {}",
            resume_command(arguments, folder)
        );
    }
    if left > 0 {
        let mut words = run_command(arguments);
        if left > 1 {
            words.extend(["--times".to_owned(), left.to_string()]);
            if let Some(every) = arguments.repeated.every {
                words.extend(["--every".to_owned(), waggle_units::format_duration(every)]);
            }
        }
        let words: Vec<String> = words.iter().map(|word| runs::shell_word(word)).collect();
        text += &format!("; they are run with: {}", words.join(" "));
    }
    text + "\n"
}

/// The results over these runs, on the screen and in files.
fn show(arguments: &Run, folders: &[PathBuf]) -> Result<()> {
    let Some(last) = folders.last() else {
        return Ok(());
    };
    let settings = HistorySettings {
        min_change: MIN_CHANGE,
        metrics: arguments.comparison.judgement.metric.clone(),
        hosts: HostScope::Each,
    };
    let model = match history::of_runs(folders, &settings)? {
        Ok(model) => model,
        Err(why) => {
            return output::print_result(&format!("no results over runs: {}\n", error(&why)));
        }
    };
    let files = &arguments.comparison.files;
    let in_folder = |given: &Option<PathBuf>, name: &str| {
        Some(given.clone().unwrap_or_else(|| last.join(name)))
    };
    let files = OutputFiles {
        html: in_folder(&files.html, "runs.html"),
        markdown: in_folder(&files.markdown, "runs.md"),
        json: in_folder(&files.json, "runs.json"),
        junit: files.junit.clone(),
        summary_file: files.summary_file.clone(),
    };
    history::show(&model, &files)?;
    let page = files.html.as_deref().unwrap_or(last);
    output::print_result(&format!(
        "over {}: {}\n",
        plural(folders.len(), "run"),
        page.display()
    ))
}
