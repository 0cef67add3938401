//! `waggle history`: the metrics of a study over the runs of a folder.

use std::{
    num::NonZero,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use waggle_analysis::{
    Series,
    history::{
        HistoryError, HistoryModel, HistoryOutcome, HistorySettings, HostScope, NamedRun,
        UnreadableRun, history,
    },
    model,
};
use waggle_report::{
    history_html, history_json, history_junit, history_markdown, history_terminal,
    wording::history::{error, sentences},
};
use waggle_results::{ReadError, Run, RunInfo, parallel_map, run_info};

use crate::{
    arguments::History,
    commands::compare,
    output::{
        self,
        result_files::{OutputFiles, StandardOutput, Texts},
    },
    process::exit::Exit,
};

/// Runs of a history; of more, `--last` takes the newest.
const MAX_RUNS: usize = 1_000;

/// What was found in the folder.
#[derive(Default)]
struct Folder {
    runs: Vec<FoundRun>,
    unreadable: Vec<UnreadableRun>,
}

struct FoundRun {
    path: PathBuf,
    info: RunInfo,
}

pub(crate) fn run(arguments: &History) -> Result<Exit> {
    arguments.files.check(StandardOutput::Free)?;
    let settings = HistorySettings {
        min_change: arguments.min_change,
        metrics: arguments.metric.clone(),
        hosts: match arguments.all_hosts {
            true => HostScope::Together,
            false => HostScope::Each,
        },
    };
    let folder = find_runs(&arguments.folder)?.select(arguments)?;
    let (runs, unreadable) = folder.read()?;
    let mut model = match history(runs, &settings) {
        Ok(model) => model,
        Err(why) => bail!("{}", error(&why)),
    };
    model.unreadable = unreadable;
    show(&model, &arguments.files)
}

/// The history of these runs.
pub(crate) fn of_runs(
    paths: &[PathBuf],
    settings: &HistorySettings,
) -> Result<Result<HistoryModel, HistoryError>> {
    let mut folder = Folder::default();
    for path in paths {
        folder.add(path);
    }
    let (runs, unreadable) = folder.read()?;
    Ok(history(runs, settings).map(|model| HistoryModel {
        unreadable,
        ..model
    }))
}

/// Writes the files that are asked for, and prints the history.
pub(crate) fn show(model: &HistoryModel, files: &OutputFiles) -> Result<Exit> {
    let version = env!("CARGO_PKG_VERSION");
    files.write(&Texts {
        html: &|| history_html(model, version),
        markdown: &|| history_markdown(model, version),
        json: &|| history_json(model),
        junit: &|| history_junit(model),
        short: &|| sentences(model).join(" "),
    })?;
    if !files.has_stdout() {
        output::print_text(&format!("{}\n", history_terminal(model, output::width())))?;
    }
    Ok(exit(model))
}

/// As of a comparison: 3 if something is worse, whatever else is undecided.
fn exit(model: &HistoryModel) -> Exit {
    match model.outcome() {
        HistoryOutcome::NoChange | HistoryOutcome::Better => Exit::Fine,
        HistoryOutcome::Worse => Exit::Threshold,
        HistoryOutcome::Undecided => Exit::NotValid,
    }
}

/// Every run of a folder, whichever study it is of.
fn find_runs(path: &Path) -> Result<Folder> {
    let mut folder = Folder::default();
    for path in compare::list_runs(path)? {
        folder.add(&path);
    }
    if folder.runs.is_empty() {
        let why = folder.unreadable.first().map(|run| run.why.clone());
        bail!("no run can be read: {}", why.unwrap_or_default());
    }
    folder.runs.sort_by(|a, b| {
        let started = |run: &FoundRun| (run.info.started_utc.clone(), run.path.clone());
        started(a).cmp(&started(b))
    });
    Ok(folder)
}

fn unreadable(path: &Path, why: &ReadError) -> UnreadableRun {
    UnreadableRun {
        name: name(path),
        why: why.to_string(),
    }
}

/// The last part of a path.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

impl Folder {
    fn add(&mut self, path: &Path) {
        match run_info(path) {
            Ok(info) => self.runs.push(FoundRun {
                path: path.to_owned(),
                info,
            }),
            Err(why) => self.unreadable.push(unreadable(path, &why)),
        }
    }

    /// The runs of one study that are asked for.
    fn select(mut self, arguments: &History) -> Result<Self> {
        let study = match &arguments.study {
            Some(study) => study.clone(),
            None => self.only_study()?,
        };
        let studies = self.studies();
        self.runs.retain(|run| run.info.study == study);
        if self.runs.is_empty() {
            bail!(
                "{} has no run of {study}, but of {}",
                arguments.folder.display(),
                studies.join(", ")
            );
        }
        if let Some(since) = &arguments.since {
            self.runs.retain(|run| run.info.started_utc >= *since);
            if self.runs.is_empty() {
                bail!("no run of {study} started at or after {since}, UTC");
            }
        }
        let count = self.runs.len();
        let last = arguments.last.map_or(count, NonZero::get);
        self.runs.drain(..count.saturating_sub(last));
        if self.runs.len() > MAX_RUNS {
            bail!("{count} runs are more than {MAX_RUNS}: take the newest with --last or --since");
        }
        Ok(self)
    }

    fn only_study(&self) -> Result<String> {
        match self.studies().as_slice() {
            [only] => Ok(only.clone()),
            several => bail!(
                "the runs are of different studies, {}: name one with --study",
                several.join(", ")
            ),
        }
    }

    /// In the order in which they first come.
    fn studies(&self) -> Vec<String> {
        let mut studies: Vec<String> = Vec::new();
        for run in &self.runs {
            if !studies.contains(&run.info.study) {
                studies.push(run.info.study.clone());
            }
        }
        studies
    }

    /// The results of each run, and those that are damaged.
    fn read(mut self) -> Result<(Vec<NamedRun>, Vec<UnreadableRun>)> {
        let read = parallel_map(&self.runs, |entry| read_run(&entry.path));
        let mut runs = Vec::new();
        let mut first_error = None;
        for (entry, read) in self.runs.iter().zip(read) {
            match read {
                Ok(run) => runs.push(run),
                Err(why) => {
                    self.unreadable.push(unreadable(&entry.path, &why));
                    first_error.get_or_insert(why);
                }
            }
        }
        match first_error {
            Some(why) if runs.is_empty() => Err(why).context("no run can be read"),
            _ => Ok((runs, self.unreadable)),
        }
    }
}

fn read_run(path: &Path) -> Result<NamedRun, ReadError> {
    let mut model = model(&Run::read(path)?);
    // What only charts over the time of a trial show; it would fill the memory.
    for trial in &mut model.trials {
        trial.series = Series::default();
    }
    let name = name(path);
    Ok(NamedRun { name, model })
}
