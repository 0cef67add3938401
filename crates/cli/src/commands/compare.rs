//! `waggle compare`: two runs, or two folders of runs, against each other.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use waggle_analysis::{
    Model,
    compare::{CompareModel, CompareSettings, NamedRuns, Outcomes, compare},
    model,
};
use waggle_report::{
    compare_html, compare_json, compare_junit, compare_markdown, compare_terminal,
    wording::compare::{error, sentences},
};
use waggle_results::Run;

use crate::{
    arguments::Compare,
    inputs::runs,
    output::{
        self,
        result_files::{OutputFiles, StandardOutput, Texts},
    },
    process::exit::Exit,
};

/// Runs of one side; more are not read.
const MAX_RUNS: usize = 200;

pub(crate) fn run(arguments: &Compare) -> Result<Exit> {
    let sides = [arguments.first.as_path(), arguments.second.as_path()];
    arguments.files.check(StandardOutput::Free)?;
    compare_folders(
        sides,
        &arguments.judgement.settings(),
        &arguments.files,
        None,
    )
}

/// Compares two runs, or two folders of runs, and shows that; `run`: the run that was made for it.
pub(crate) fn compare_folders(
    sides: [&Path; 2],
    settings: &CompareSettings,
    files: &OutputFiles,
    run: Option<&Model>,
) -> Result<Exit> {
    show(&comparison(sides, settings)?, files, run)
}

/// Compares two runs, or two folders of runs.
pub(crate) fn comparison(
    [first, second]: [&Path; 2],
    settings: &CompareSettings,
) -> Result<CompareModel> {
    let [first_name, second_name] = names(first, second);
    refuse_same_runs(&run_folders(first)?, &run_folders(second)?)?;
    let sides = [read_side(first)?, read_side(second)?];
    let first = NamedRuns {
        name: &first_name,
        runs: &sides[0],
    };
    let second = NamedRuns {
        name: &second_name,
        runs: &sides[1],
    };
    let comparison = compare(first, second, settings);
    comparison.map_err(|why| anyhow!("{}", error(&why)))
}

/// A run does not differ from itself.
fn refuse_same_runs(first: &[PathBuf], second: &[PathBuf]) -> Result<()> {
    let first_runs: Vec<PathBuf> = first
        .iter()
        .filter_map(|run| fs::canonicalize(run).ok())
        .collect();
    let mut others = second.iter();
    let same = others.find(|run| fs::canonicalize(run).is_ok_and(|run| first_runs.contains(&run)));
    match same {
        Some(run) => bail!(
            "{} is on both sides: compare two different runs",
            run.display()
        ),
        None => Ok(()),
    }
}

/// Writes the files that are asked for, and prints the comparison.
/// `run`: the run that was made for it.
pub(crate) fn show(
    comparison: &CompareModel,
    files: &OutputFiles,
    run: Option<&Model>,
) -> Result<Exit> {
    let version = env!("CARGO_PKG_VERSION");
    files.write(&Texts {
        html: &|| compare_html(comparison, version),
        markdown: &|| compare_markdown(comparison, version),
        json: &|| compare_json(comparison),
        junit: &|| compare_junit(comparison, run),
        short: &|| sentences(comparison).join(" "),
    })?;
    if !files.has_stdout() {
        output::print_text(&format!(
            "{}\n",
            compare_terminal(comparison, output::width())
        ))?;
    }
    Ok(exit(comparison))
}

/// 3 if something is worse, whatever else is undecided.
fn exit(comparison: &CompareModel) -> Exit {
    match comparison.outcome() {
        Outcomes::Same | Outcomes::Better => Exit::Fine,
        Outcomes::Worse => Exit::Threshold,
        Outcomes::Undecided => Exit::NotValid,
    }
}

/// The last part of each path in which the two differ.
fn names(first: &Path, second: &Path) -> [String; 2] {
    let (first_parts, other) = (parts_from_end(first), parts_from_end(second));
    let differing = first_parts.iter().zip(&other).find(|(a, b)| a != b);
    match differing {
        Some((a, b)) => [a.clone(), b.clone()],
        None => ["first".to_owned(), "second".to_owned()],
    }
}

fn parts_from_end(path: &Path) -> Vec<String> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let parts = path.components().rev();
    parts
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect()
}

/// A run, or every run of a folder.
fn read_side(path: &Path) -> Result<Vec<Model>> {
    let folders = run_folders(path)?;
    let read = |folder: &PathBuf| {
        let run = Run::read(folder);
        let run = run.with_context(|| format!("cannot compare {}", folder.display()))?;
        Ok(model(&run))
    };
    folders.iter().map(read).collect()
}

/// The runs of a side.
pub(crate) fn run_folders(path: &Path) -> Result<Vec<PathBuf>> {
    let folders = list_runs(path)?;
    match folders.len() {
        count if count > MAX_RUNS => bail!(
            "{} has {count} runs: at most {MAX_RUNS} are compared",
            path.display()
        ),
        _ => Ok(folders),
    }
}

/// The run at a path, or every run of a folder.
pub(crate) fn list_runs(path: &Path) -> Result<Vec<PathBuf>> {
    if waggle_results::is_run(path) {
        return Ok(vec![path.to_owned()]);
    }
    let folders = runs::runs_in(path)?;
    match folders.len() {
        0 => bail!(
            "{} is no run and has no runs in it: give the folder that waggle run printed, or a folder of such folders",
            path.display()
        ),
        _ => Ok(folders),
    }
}
