//! The results of another tool as the folder of a run.
//!
//! `sources` has the cells of the command line, `survey` reads each file once to its end, `trial` reads it again, by the
//! interval, and writes it. `ab`, `k6`, `jmeter`, `vegeta`, `hey` and `columns` read the formats, and `foreign` names those without
//! single requests; `text` and `xml` name line and column of mistakes. `load_model` refuses an open load whose file shows a closed one.

mod ab;
mod columns;
mod foreign;
mod hey;
mod jmeter;
mod k6;
mod load_model;
mod request;
mod sources;
mod survey;
mod tally;
mod text;
mod timeline;
mod trial;
mod vegeta;
mod xml;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use waggle_results::{
    CellInfo, FORMAT, ImportedInfo, RunFolder, RunInfo, ScenarioInfo, ScheduleInfo, TrialKey,
    UnknownFact,
};
use waggle_spec::{LoadKind, TrialOrder, WarmUpUntil};

use self::{
    columns::Mapping,
    sources::CellSource,
    survey::{Reader, STEPS_MAX, Surveyed},
    trial::{Place, Plan, Trial},
};

/// The widest interval for which no trials would be added, as the default of studies.
const MAX_CI_WIDTH: f64 = 0.2;
const NAME_MAX: usize = 60;

/// Results of another tool, and what is known of them.
#[derive(Debug, Clone)]
pub struct Results {
    pub tool: Tool,
    /// Files, each a trial; `FACTOR=LEVEL` before files names their cell. Files of one trial are joined by a comma.
    pub sources: Vec<String>,
    /// Name of the study; `None`: that of the tool.
    pub name: Option<String>,
    /// How requests were sent.
    pub load_model: LoadKind,
    /// The start of each file, which is left out.
    pub warm_up: Duration,
    /// What the columns of a CSV file are: `WHAT=NAME:UNIT`.
    pub column: Vec<String>,
    /// Every request is a success.
    pub all_succeeded: bool,
}

/// The tool that measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Ab,
    K6,
    Jmeter,
    Vegeta,
    Hey,
    /// A CSV file of single requests.
    Csv,
}

/// Results whose files can be read to their end.
pub struct Survey<'a> {
    results: &'a Results,
    name: String,
    reader: Reader,
    cells: Vec<CellSource>,
    surveyed: Vec<Surveyed>,
    steps: Steps,
}

impl<'a> Survey<'a> {
    /// Reads the files a first time.
    ///
    /// # Errors
    /// A mistake in the sources or in a file, with its place.
    pub fn new(results: &'a Results) -> Result<Self> {
        let name = study_name(results)?;
        let reader = reader(results)?;
        let mut cells = sources::cells(&results.sources)?;
        let surveyed = survey_all(results, &reader, &mut cells)?;
        let steps = steps(&surveyed);
        Ok(Self {
            results,
            name,
            reader,
            cells,
            surveyed,
            steps,
        })
    }

    /// The name of the study.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is said before the run is written.
    pub fn remark(&self) -> Option<&str> {
        self.steps.remark.as_deref()
    }

    /// Writes the run into a hidden folder, which becomes this one, an empty one, when all is written.
    ///
    /// # Errors
    /// A file cannot be read again, or the run cannot be written; then nothing is left of it.
    pub fn write(self, folder: &Path) -> Result<()> {
        let warm_up = self.results.warm_up.as_micros();
        let plan = Plan {
            reader: &self.reader,
            name: &self.name,
            steps: &self.steps.names,
            warm_up_us: u64::try_from(warm_up).unwrap_or(u64::MAX),
        };
        write(self.results, &self.cells, self.surveyed, &plan, folder)
    }
}

fn study_name(results: &Results) -> Result<String> {
    let name = results.name.as_deref().unwrap_or(match results.tool {
        Tool::Ab => "ab",
        Tool::K6 => "k6",
        Tool::Jmeter => "jmeter",
        Tool::Vegeta => "vegeta",
        Tool::Hey => "hey",
        Tool::Csv => "csv",
    });
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(is_plain) {
        bail!("--name {name:?}: expected letters, digits, - and _, {NAME_MAX} at most");
    }
    Ok(name.to_owned())
}

fn reader(results: &Results) -> Result<Reader> {
    if results.tool != Tool::Csv && !results.column.is_empty() {
        bail!("--column requires csv");
    }
    if results.all_succeeded && !matches!(results.tool, Tool::Ab | Tool::Csv) {
        bail!("--all-succeeded is for ab and csv: other files say which requests failed");
    }
    if results.tool == Tool::Ab && results.load_model != LoadKind::Closed {
        bail!(
            "--load-model is not for ab: it keeps as many requests in flight as its -c says, which is a closed load"
        );
    }
    Ok(match results.tool {
        Tool::Ab => Reader::AbRequests,
        Tool::K6 => Reader::K6,
        Tool::Jmeter => Reader::Jmeter,
        Tool::Vegeta => Reader::Vegeta,
        Tool::Hey => Reader::Hey,
        Tool::Csv => Reader::Columns(Mapping::parse(&results.column, results.all_succeeded)?),
    })
}

/// The first pass: every mistake is found before anything is written. One for each trial, cell by cell. A file with several trials
/// becomes as many in `cells`.
fn survey_all(
    results: &Results,
    reader: &Reader,
    cells: &mut [CellSource],
) -> Result<Vec<Surveyed>> {
    let mut all = Vec::new();
    for cell in cells {
        for files in std::mem::take(&mut cell.trials) {
            let trials = match results.tool {
                Tool::Ab => survey::ab(&files, results.all_succeeded)?,
                _ => vec![survey::requests(reader, &files)?],
            };
            sources::check_count(all.len() + trials.len())?;
            cell.trials.extend(trials.iter().map(|_| files.clone()));
            all.extend(trials);
        }
    }
    Ok(all)
}

/// The steps of all trials.
struct Steps {
    /// Empty: all requests are alike.
    names: Vec<String>,
    remark: Option<String>,
}

fn steps(trials: &[Surveyed]) -> Steps {
    let mut names: Vec<String> = Vec::new();
    for trial in trials {
        if let Surveyed::Requests(requests) = trial {
            for label in &requests.labels {
                if !names.contains(label) {
                    names.push(label.clone());
                }
            }
        }
    }
    let remark = (names.len() > STEPS_MAX).then(|| {
        format!("requests have more than {STEPS_MAX} labels, so they are not shown by step")
    });
    if names.len() > STEPS_MAX || names.len() == 1 {
        names.clear();
    }
    Steps { names, remark }
}

fn write(
    results: &Results,
    cells: &[CellSource],
    surveyed: Vec<Surveyed>,
    plan: &Plan<'_>,
    folder: &Path,
) -> Result<()> {
    let name = trial::file_name(folder);
    let partial = folder.with_file_name(format!(".{name}.partial"));
    let written = write_run(results, cells, surveyed, plan, &partial).and_then(|()| {
        fs::rename(&partial, folder).with_context(|| format!("cannot rename {}", partial.display()))
    });
    if written.is_err() {
        // What is left of it is of no use; that it cannot be removed is not the problem to report.
        let _ = fs::remove_dir_all(&partial);
    }
    written
}

/// A trial with its place and its files.
type Placed<'a> = (Place, &'a [PathBuf]);

fn write_run(
    results: &Results,
    cells: &[CellSource],
    surveyed: Vec<Surveyed>,
    plan: &Plan<'_>,
    folder: &Path,
) -> Result<()> {
    let tool = tool_name(results.tool, &surveyed);
    let places = places(cells);
    let trials: Vec<Trial> = surveyed
        .into_iter()
        .map(|survey| Trial::prepare(survey, plan))
        .collect::<Result<_>>()?;
    let info = run_info(results, cells, &trials, plan, tool);
    let text = format!(
        "# Results of {tool}, imported; no study was run.\n",
        tool = tool_of(&info)
    );
    let run = RunFolder::create(folder, &info, &text, &text)?;
    for (trial, (place, files)) in trials.iter().zip(&places) {
        let trial = trial.read(plan)?;
        if results.load_model == LoadKind::Open {
            trial.check_open()?;
        }
        trial.write(run.begin(place.key)?, plan, *place, files)?;
    }
    Ok(())
}

fn tool_of(info: &RunInfo) -> &str {
    info.imported.as_ref().map_or("", |imported| &imported.tool)
}

fn tool_name(tool: Tool, trials: &[Surveyed]) -> String {
    let versions = trials.iter().filter_map(|trial| match trial {
        Surveyed::Requests(requests) => requests.summary.as_ref(),
        Surveyed::Summary(_, summary) => Some(&**summary),
    });
    let mut versions: Vec<&str> = versions.map(|summary| summary.version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    match tool {
        Tool::Ab => format!("ab {}", versions.join(", ")).trim_end().to_owned(),
        Tool::K6 => "k6".to_owned(),
        Tool::Jmeter => "JMeter".to_owned(),
        Tool::Vegeta => "vegeta".to_owned(),
        Tool::Hey => "hey".to_owned(),
        Tool::Csv => "CSV files".to_owned(),
    }
}

fn places(cells: &[CellSource]) -> Vec<Placed<'_>> {
    let trials = (1u32..).zip(cells).flat_map(|(cell, source)| {
        let repetitions = (1u32..).zip(&source.trials);
        repetitions.map(move |(repetition, files)| (TrialKey { cell, repetition }, files))
    });
    (1u32..)
        .zip(trials)
        .map(|(position, (key, files))| (Place { key, position }, files.as_slice()))
        .collect()
}

fn run_info(
    results: &Results,
    cells: &[CellSource],
    trials: &[Trial],
    plan: &Plan<'_>,
    tool: String,
) -> RunInfo {
    let places = places(cells);
    let files = places.iter().flat_map(|(_, files)| files.iter());
    let mut files: Vec<String> = files.map(|path| trial::file_name(path)).collect();
    files.dedup();
    let mut unknown: Vec<UnknownFact> = trials
        .iter()
        .flat_map(|trial| trial.unknown(plan))
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    let first = trials.iter().map(Trial::started_utc).min();
    RunInfo {
        format: FORMAT,
        waggle_version: env!("CARGO_PKG_VERSION").to_owned(),
        study: plan.name.to_owned(),
        study_file: files.join(", "),
        started_utc: first.unwrap_or_default(),
        system: "imported".to_owned(),
        system_summary: format!("the system that {tool} loaded"),
        cells: (1..)
            .zip(cells)
            .map(|(cell, source)| CellInfo {
                cell,
                levels: source.levels.clone(),
                derived: Vec::new(),
                name: None,
                expect_verdict: None,
                is_sentinel: false,
            })
            .collect(),
        order: places.iter().map(|(place, _)| place.key).collect(),
        schedule: schedule(results, cells, trials),
        load_model: results.load_model,
        scenario: (!plan.steps.is_empty()).then(|| ScenarioInfo {
            name: plan.name.to_owned(),
            file: None,
            steps: plan.steps.to_vec(),
            flows: Vec::new(),
            feeds: Vec::new(),
        }),
        imported: Some(ImportedInfo {
            tool,
            files,
            resolution_us: trials.iter().map(Trial::resolution_us).fold(0.0, f64::max),
            unknown,
        }),
        ..RunInfo::default()
    }
}

fn schedule(results: &Results, cells: &[CellSource], trials: &[Trial]) -> ScheduleInfo {
    let lengths = trials.iter().map(Trial::lengths_s);
    let (interval_s, measure_s) = lengths.fold((0.0, 0.0), |(interval, measured), length| {
        (f64::max(interval, length.0), f64::max(measured, length.1))
    });
    let most = cells.iter().map(|cell| cell.trials.len()).max();
    ScheduleInfo {
        repeat: most.and_then(|most| u32::try_from(most).ok()).unwrap_or(1),
        order: TrialOrder::AsListed,
        warm_up_until: WarmUpUntil::Duration,
        warm_up_timeout_s: results.warm_up.as_secs_f64(),
        measure_s,
        interval_s,
        max_ci_width: MAX_CI_WIDTH,
        ..ScheduleInfo::default()
    }
}
