//! A run's folder → [`Run`]: every file is checked, every mistake has file and line. Nothing is judged.

mod series;

use std::{
    fs,
    path::{Path, PathBuf},
};

use hdrhistogram::Histogram;
use waggle_spec::{StepTimes, TimeKind, Times};

use self::series::{Series, bytes, in_file, refuse_link};
use crate::{
    BacklogRow, HistogramLog, IntervalRow, IntervalSums, LogTail, Note, ProbeInfo, ProbeLogs,
    ReadError, ResourceRow, RunInfo, StepCounts, StepInfo, SystemMetricRow, TextError, TrialEnd,
    TrialInfo, TrialKey,
    files::{
        folder,
        names::{
            ARRIVAL_DELAY, BACKLOG, DELIVERY_DELAY, EARLIEST_DELAY, EARLIEST_END_TO_END_DELAY,
            END_TO_END_DELAY, INTERVALS, LOGS, METRICS, RESOURCES, RUN_FILE, STUDY_FILE,
            SYSTEM_FILE, TRIAL_FILE, TRIALS, folder_name, probe_folder, step_folder, times_file,
        },
        notes::read_notes,
        parse,
    },
    log_tail::log_tails,
    parallel_map,
};

/// How much is read; a larger file is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// `run.json`, `trial.json`, `study.yaml`, `system.yaml`.
    pub document_max_bytes: u64,
    /// `.ndjson` and `.hlog`.
    pub series_max_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            document_max_bytes: 16 << 20,
            series_max_bytes: 512 << 20,
        }
    }
}

/// A run as it is on disk.
#[derive(Debug, Clone)]
pub struct Run {
    pub path: PathBuf,
    pub info: RunInfo,
    /// As the user gave it.
    pub study_text: String,
    pub system_text: String,
    /// Whether a waggle wrote to it when it was read: trials may follow.
    pub is_being_written: bool,
    /// What people have noted on it, the oldest first.
    pub notes: Vec<Note>,
    /// Those that have a result, in the order of execution.
    pub trials: Vec<Trial>,
}

/// One trial as it is on disk. Histograms are in microseconds; their logs have one entry for each interval.
#[derive(Debug, Clone)]
pub struct Trial {
    pub path: PathBuf,
    pub info: TrialInfo,
    pub intervals: Vec<IntervalRow>,
    pub resources: Vec<ResourceRow>,
    pub backlog: Vec<BacklogRow>,
    /// Empty if they were not noted.
    pub times: Times<HistogramLog>,
    /// `None` if delivery was not followed.
    pub delivery_delay: Option<Histogram<u64>>,
    /// From sent until a record may have been visible: [`Trial::delivery_delay`] is until it was seen, so that the true delay
    /// lies between the two.
    pub earliest_delay: Option<Histogram<u64>>,
    /// From due until visible; `None` if requests fall due when they are sent.
    pub end_to_end_delay: Option<Histogram<u64>>,
    /// From due until it may have been visible.
    pub earliest_end_to_end_delay: Option<Histogram<u64>>,
    /// From sent until the store of the probe where records must arrive had them; `None` if the probe does not know that.
    pub arrival_delay: Option<Histogram<u64>>,
    /// In the order of [`TrialInfo::intermediate_probes`].
    pub intermediate_probes: Vec<ProbeLogs>,
    pub metrics: Vec<SystemMetricRow>,
    /// In the order of [`TrialInfo::steps`].
    pub steps: Vec<StepTimes<HistogramLog>>,
    /// The ends of the components' logs, by name.
    pub logs: Vec<LogTail>,
}

impl Run {
    /// Reads the folder of a run, within the default [`Limits`].
    ///
    /// # Errors
    /// If it is no run, has another format, or a file is damaged.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Self::read_within(path, Limits::default())
    }

    /// Reads the folder of a run.
    ///
    /// # Errors
    /// If it is no run, has another format, or a file is damaged or larger than the limits allow.
    pub fn read_within(path: &Path, limits: Limits) -> Result<Self, ReadError> {
        let info = run_info_within(path, limits)?;
        let folders = trial_folders(path, &info, limits)?;
        Self::from_folders(path, info, &folders, limits)
    }

    /// Reads the folder of a run with the one trial, if it has a result; the others are not read.
    ///
    /// # Errors
    /// If it is no run, has another format, or a file is damaged or larger than the default limits allow.
    pub fn read_with_trial(path: &Path, key: TrialKey) -> Result<Self, ReadError> {
        let limits = Limits::default();
        let info = run_info_within(path, limits)?;
        let folder = trial_folder(path, &info, key, limits)?;
        Self::from_folders(path, info, folder.as_slice(), limits)
    }

    /// With the trials of these folders.
    fn from_folders(
        path: &Path,
        info: RunInfo,
        folders: &[(PathBuf, TrialInfo)],
        limits: Limits,
    ) -> Result<Self, ReadError> {
        let trials = parallel_map(folders, |(folder, trial)| {
            read_trial(folder.clone(), trial.clone(), limits)
        });
        let trials = trials.into_iter().collect::<Result<_, _>>()?;
        Ok(Self {
            path: path.to_owned(),
            study_text: document(&path.join(STUDY_FILE), limits)?,
            system_text: document(&path.join(SYSTEM_FILE), limits)?,
            is_being_written: folder::is_being_written(path),
            notes: read_notes(path),
            trials,
            info,
        })
    }
}

impl Trial {
    /// The intervals whose middle lies in `from_s..to_s`.
    pub fn intervals_within(&self, from_s: f64, to_s: f64) -> impl Iterator<Item = &IntervalRow> {
        self.intervals
            .iter()
            .filter(move |row| (from_s..to_s).contains(&(row.start_s + row.counts.seconds / 2.0)))
    }

    /// The counts of the measured phase and of the answers after it; none if the trial did not get that far.
    #[must_use]
    pub fn answer_sums(&self) -> IntervalSums {
        let (from_s, to_s) = self.info.answers_within();
        let mut sums = IntervalSums::default();
        for row in self.intervals_within(from_s, to_s) {
            sums.counts.follow(&row.counts);
            sums.steps.resize_with(row.steps.len(), StepCounts::default);
            for (sum, step) in sums.steps.iter_mut().zip(&row.steps) {
                sum.follow(step);
            }
            sums.sessions.follow(row.sessions.unwrap_or_default());
        }
        sums
    }

    /// The histograms of the measured phase and of the answers after it; empty ones if the trial did not get that far.
    #[must_use]
    pub fn measured_histograms(&self) -> Times<Histogram<u64>> {
        merge_range(&self.times, self.info.answers_within())
    }
}

/// The histograms of a stretch of time, each added up.
#[must_use]
pub fn merge_range<const N: usize>(
    logs: &Times<HistogramLog, N>,
    (from_s, to_s): (f64, f64),
) -> Times<Histogram<u64>, N> {
    Times::from_fn(|kind| logs[kind].merge_range(from_s, to_s))
}

/// `run.json` alone.
///
/// # Errors
/// If the folder is no run, has another format, or the file is damaged.
pub fn run_info(path: &Path) -> Result<RunInfo, ReadError> {
    run_info_within(path, Limits::default())
}

fn document(file: &Path, limits: Limits) -> Result<String, ReadError> {
    let bytes = bytes(file, limits.document_max_bytes)?;
    let text = parse::utf8(&bytes).map_err(in_file(file))?;
    Ok(text.to_owned())
}

fn run_info_within(path: &Path, limits: Limits) -> Result<RunInfo, ReadError> {
    let file = path.join(RUN_FILE);
    if !file.exists() {
        return Err(ReadError::NotARun {
            path: path.to_owned(),
        });
    }
    parse::read_run_info(&bytes(&file, limits.document_max_bytes)?).map_err(in_file(&file))
}

/// `trial.json` of one trial; `None`: it has no result. The others are not read.
///
/// # Errors
/// If the folder is no run, has another format, or a file is damaged.
pub fn trial_info(path: &Path, key: TrialKey) -> Result<Option<TrialInfo>, ReadError> {
    let folder = trial_folder(path, &run_info(path)?, key, Limits::default())?;
    Ok(folder.map(|(_, trial)| trial))
}

/// The trials of a run that have a result, in the order of execution; another process may be writing the run.
/// # Errors
/// A result cannot be read.
pub fn finished_trials(path: &Path, info: &RunInfo) -> Result<Vec<TrialKey>, ReadError> {
    let folders = trial_folders(path, info, Limits::default())?;
    Ok(folders.into_iter().map(|(_, trial)| trial.key).collect())
}

/// Whether a trial that ended has no result.
///
/// # Errors
/// As [`finished_trials`].
pub(crate) fn has_failed_trial(path: &Path, info: &RunInfo) -> Result<bool, ReadError> {
    let folders = trial_folders(path, info, Limits::default())?;
    Ok(folders
        .iter()
        .any(|(_, trial)| matches!(trial.end, TrialEnd::Failed { .. })))
}

/// The folders that have a `trial.json`, in the order of execution. Hidden ones are interrupted trials.
fn trial_folders(
    path: &Path,
    info: &RunInfo,
    limits: Limits,
) -> Result<Vec<(PathBuf, TrialInfo)>, ReadError> {
    let trials = path.join(TRIALS);
    let failed = |problem| ReadError::Io {
        path: trials.clone(),
        problem,
    };
    if !trials.exists() {
        return Ok(Vec::new());
    }
    refuse_link(&trials)?;
    let mut folders = Vec::new();
    for entry in fs::read_dir(&trials).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            folders.push((entry.path(), name));
        }
    }
    let pairs = parallel_map(&folders, |(folder, name)| {
        Ok(trial_in(info, folder, name, limits)?.map(|trial| (folder.clone(), trial)))
    });
    let pairs = pairs.into_iter().collect::<Result<Vec<_>, ReadError>>()?;
    let mut pairs: Vec<(PathBuf, TrialInfo)> = pairs.into_iter().flatten().collect();
    pairs.sort_by_key(|(_, trial)| trial.position);
    Ok(pairs)
}

/// The folder of the one trial, if it has a result. Its name follows from the trial's position in the order.
fn trial_folder(
    path: &Path,
    info: &RunInfo,
    key: TrialKey,
    limits: Limits,
) -> Result<Option<(PathBuf, TrialInfo)>, ReadError> {
    let Some(position) = info.position(key) else {
        return Ok(None);
    };
    let name = folder_name(key, position);
    let trials = path.join(TRIALS);
    refuse_link(&trials)?;
    let folder = trials.join(&name);
    Ok(trial_in(info, &folder, &name, limits)?.map(|trial| (folder, trial)))
}

/// `None` if the trial has no result.
fn trial_in(
    info: &RunInfo,
    folder: &Path,
    name: &str,
    limits: Limits,
) -> Result<Option<TrialInfo>, ReadError> {
    let file = folder.join(TRIAL_FILE);
    if !file.exists() {
        return Ok(None);
    }
    refuse_link(folder)?;
    let trial = parse::read_trial_info(&bytes(&file, limits.document_max_bytes)?)
        .map_err(in_file(&file))?;
    check_place(info, &trial, name).map_err(|problem| ReadError::Folder {
        path: folder.to_owned(),
        problem,
    })?;
    Ok(Some(trial))
}

fn check_place(info: &RunInfo, trial: &TrialInfo, name: &str) -> Result<(), String> {
    if info.position(trial.key) != Some(trial.position) {
        return Err(format!(
            "{} at position {} is not in the order of {RUN_FILE}",
            trial.key, trial.position
        ));
    }
    let expected = folder_name(trial.key, trial.position);
    if name == expected {
        Ok(())
    } else {
        Err(format!("{TRIAL_FILE} is that of {expected}"))
    }
}

fn read_trial(folder: PathBuf, info: TrialInfo, limits: Limits) -> Result<Trial, ReadError> {
    let series = Series {
        folder: &folder,
        max_bytes: limits.series_max_bytes,
    };
    let intervals = series.read(INTERVALS, parse::read_intervals)?;
    check_steps(&folder, &info, &intervals)?;
    let of_step = |(index, step): (usize, &StepInfo)| {
        step_logs(&series, &step_folder(index, &step.name), intervals.len())
    };
    let steps = info.steps.iter().enumerate().map(of_step);
    let of_probe = |(index, account): (usize, &ProbeInfo)| {
        series.probe_logs(&probe_folder(index, &account.delivery.probe))
    };
    let probes = info.intermediate_probes.iter().enumerate().map(of_probe);
    Ok(Trial {
        steps: steps.collect::<Result<_, ReadError>>()?,
        intermediate_probes: probes.collect::<Result<_, ReadError>>()?,
        metrics: series.read(METRICS, parse::read_metrics)?,
        times: Times::try_from_fn(|kind| times_log(&series, kind, intervals.len()))?,
        info,
        resources: series.read(RESOURCES, parse::read_resources)?,
        backlog: series.read(BACKLOG, parse::read_backlog)?,
        delivery_delay: series.delay(DELIVERY_DELAY)?,
        earliest_delay: series.delay(EARLIEST_DELAY)?,
        end_to_end_delay: series.delay(END_TO_END_DELAY)?,
        earliest_end_to_end_delay: series.delay(EARLIEST_END_TO_END_DELAY)?,
        arrival_delay: series.delay(ARRIVAL_DELAY)?,
        logs: log_tails(&folder.join(LOGS)),
        intervals,
        path: folder,
    })
}

/// What not every load has may have no file.
fn times_log(
    series: &Series<'_>,
    kind: TimeKind,
    intervals: usize,
) -> Result<HistogramLog, ReadError> {
    let name = times_file(kind);
    match kind.is_of_every_load() || series.folder.join(&name).exists() {
        true => series.histograms(&name, intervals),
        false => Ok(HistogramLog::default()),
    }
}

fn step_logs(
    series: &Series<'_>,
    folder: &str,
    intervals: usize,
) -> Result<StepTimes<HistogramLog>, ReadError> {
    Times::try_from_fn(|kind| {
        series.histograms(&format!("{folder}/{}", times_file(kind)), intervals)
    })
}

/// Checks that each interval has every step.
fn check_steps(
    folder: &Path,
    info: &TrialInfo,
    intervals: &[IntervalRow],
) -> Result<(), ReadError> {
    let odd = (1..)
        .zip(intervals)
        .find(|(_, row)| row.steps.len() != info.steps.len());
    match odd {
        None => Ok(()),
        Some((line, row)) => Err(ReadError::Text {
            path: folder.join(INTERVALS),
            problem: TextError::at_line(
                line,
                format!(
                    "counts of {} steps, but {} steps in {TRIAL_FILE}",
                    row.steps.len(),
                    info.steps.len()
                ),
            ),
        }),
    }
}
