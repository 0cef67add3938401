//! Runs a load in the runner and follows its events: adds up intervals, writes rows, shows progress.

use std::{path::Path, time::SystemTime};

use anyhow::{Context, Result, anyhow, bail};
use tokio::sync::{mpsc, watch};
use waggle_analysis::SearchStep;
use waggle_load::Interval;
use waggle_results::{PhaseName, TrialEnd, TrialInfo, TrialKey};
use waggle_runner::{CpuUse, Event, RunRequest};
use waggle_stats::Findings;

use super::{
    series::{self, Series},
    view::View,
};
use crate::{
    arguments::target::ReachedServer,
    commands::load::{
        result::summary::Row,
        study::{planned::Planned, run_folders::RunFolders},
    },
    process::{folders, interrupts::Interrupts},
    trial::{aggregate::Aggregator, phase::Phase, shape::Shape, so_far::SoFar},
};

/// Maximum number of rows in the series of the JSON.
const ROWS_MAX: usize = 100_000;
/// Capacity of the event channel.
const EVENTS_MAX: usize = 1024;

/// The observed data of a load.
#[derive(Debug)]
pub(crate) struct Observations {
    pub(crate) started: SystemTime,
    pub(crate) so_far: SoFar,
    pub(crate) rows: Vec<Row>,
    /// The trial in the results of the run; `None`: it did not end.
    pub(crate) info: Option<TrialInfo>,
    /// Findings of the checks.
    pub(crate) findings: Option<Findings>,
}

/// The environment of a load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Environment<'a> {
    pub(crate) folders: &'a RunFolders,
    pub(crate) reached: &'a ReachedServer,
    /// What is said of another waggle that measures.
    pub(crate) beside: Option<&'a str>,
    pub(crate) interrupts: &'a Interrupts,
    pub(crate) idle_poll: bool,
}

impl Environment<'_> {
    /// What is said of the machine and of the server before the load.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let beside = self.beside.map(str::to_owned);
        self.reached.remark.iter().cloned().chain(beside).collect()
    }
}

/// Runs the load to its end, or to the first request to end it. Then the last answers are awaited; a second request ends it
/// immediately.
///
/// # Errors
/// The load cannot be started, or a file cannot be written.
pub(crate) fn drive(
    planned: &Planned,
    series: &mut Series,
    view: &mut View,
    environment: Environment<'_>,
) -> Result<Observations> {
    let (enough, end_load) = watch::channel(false);
    let (at_once, shutdown) = watch::channel(false);
    let stop = at_once.clone();
    environment.interrupts.follow(move || {
        if enough.send_replace(true) {
            stop.send_replace(true);
        }
    });
    let request = RunRequest {
        end_load: Some(end_load),
        ..request(planned, environment)?
    };
    let mut driver = Driver::new(planned, series, view, environment);
    run(request, &at_once, shutdown, |event| driver.follow(event))?;
    let mut observed = driver.end()?;
    observed.so_far.interrupted = environment.interrupts.count() > 0;
    if observed.info.is_none() && !observed.so_far.interrupted {
        bail!("the load did not end regularly");
    }
    Ok(observed)
}

/// A finished trial of a search, with its evidence.
pub(crate) struct Step {
    pub(crate) showed: SearchStep,
    pub(crate) observed: Observations,
}

/// Runs a search to its end or to the first request to end it; calls `on_step` for each trial.
///
/// # Errors
/// As [`drive()`].
pub(crate) fn drive_search(
    planned: &Planned,
    environment: Environment<'_>,
    on_step: impl FnMut(Step),
) -> Result<()> {
    let (at_once, shutdown) = watch::channel(false);
    let stop = at_once.clone();
    environment.interrupts.follow(move || {
        stop.send_replace(true);
    });
    let (mut series, mut view) = (Series::create(None, None)?, View::Quiet);
    let mut follower = SearchFollower {
        driver: Driver::new(planned, &mut series, &mut view, environment),
        ended: None,
        on_step,
    };
    let request = request(planned, environment)?;
    run(request, &at_once, shutdown, |event| follower.follow(event))
}

struct SearchFollower<'a, F> {
    driver: Driver<'a>,
    /// The trial that has ended, until its step of the search is known.
    ended: Option<Observations>,
    on_step: F,
}

impl<F: FnMut(Step)> SearchFollower<'_, F> {
    fn follow(&mut self, event: &Event) -> Result<()> {
        self.driver.follow(event)?;
        match event {
            Event::TrialEnded { .. } => self.ended = Some(self.driver.take_watched()?),
            Event::Searched(showed) => {
                let observed = self
                    .ended
                    .take()
                    .context("a trial without an end was searched")?;
                (self.on_step)(Step {
                    showed: showed.clone(),
                    observed,
                });
            }
            _ => {}
        }
        Ok(())
    }
}

fn request(planned: &Planned, environment: Environment<'_>) -> Result<RunRequest> {
    let program = std::env::current_exe().context("cannot determine the path of this program")?;
    Ok(RunRequest {
        plan: waggle_study::plan(&planned.study),
        left_out: Vec::new(),
        study: planned.study.clone(),
        study_text: planned.text.clone(),
        // Files in flags are relative to the current folder.
        study_file: "load.yaml".into(),
        system: planned.system.clone(),
        system_text: String::new(),
        system_folder: ".".into(),
        changed: None,
        run_folder: environment.folders.run_folder()?,
        resume: false,
        program_folders: Vec::new(),
        artifacts_folder: folders::artifacts(),
        snapshots_folder: None,
        created_folder: None,
        // A quick load is not calibrated.
        calibration_file: None,
        supervisor: program,
        idle_poll: environment.idle_poll,
        cpus: CpuUse::Free {
            engine: planned.pinned.clone(),
        },
        cgroups: waggle_system::CGROUPS.into(),
        server_at: Some(environment.reached.address),
        sample_limits: waggle_runner::SampleLimits::default(),
        measuring: None,
        end_load: None,
    })
}

/// Runs the runner and calls `follow` for each event. If `follow` fails, the load is ended and its end awaited, so nothing writes
/// to the run folder afterwards.
fn run(
    request: RunRequest,
    at_once: &watch::Sender<bool>,
    shutdown: watch::Receiver<bool>,
    mut follow: impl FnMut(&Event) -> Result<()>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let (sender, mut events) = mpsc::channel(EVENTS_MAX);
    runtime.block_on(async {
        let follow = async {
            let mut followed = Ok(());
            while let Some(event) = events.recv().await {
                if followed.is_ok() {
                    followed = follow(&event);
                    if followed.is_err() {
                        at_once.send_replace(true);
                    }
                }
            }
            followed
        };
        let run = waggle_runner::run(request, sender, shutdown);
        let (ended, followed) = tokio::join!(run, follow);
        followed?;
        ended?;
        Ok(())
    })
}

/// The observed data of a load with these intervals.
#[cfg(test)]
pub(crate) fn replay(planned: &Planned, intervals: &[Interval]) -> Observations {
    let mut series = Series::create(None, None).expect("there is nothing to create");
    let mut view = View::Quiet;
    let mut driver = Driver {
        planned,
        series: &mut series,
        view: &mut view,
        environment: None,
        observed: Observations::new(planned.shape.clone()),
        rows: Aggregator::new(planned.row),
        phase: Phase::WarmUp,
        has_ended: false,
    };
    let end = planned.measure.map(|measure| planned.warm_up + measure);
    for interval in intervals {
        let phase = if interval.start < planned.warm_up {
            Phase::WarmUp
        } else if end
            .is_some_and(|end| interval.start + planned.study.cells[0].schedule.interval / 2 >= end)
        {
            Phase::Finish
        } else {
            Phase::Measured
        };
        driver
            .take(interval, phase)
            .expect("there is nothing to write");
    }
    driver.end().expect("there is nothing to write")
}

impl Observations {
    fn new(shape: Shape) -> Self {
        Self {
            started: SystemTime::now(),
            so_far: SoFar::new(shape),
            rows: Vec::new(),
            info: None,
            findings: None,
        }
    }
}

struct Driver<'a> {
    planned: &'a Planned,
    series: &'a mut Series,
    view: &'a mut View,
    /// `None`: no load runs.
    environment: Option<Environment<'a>>,
    observed: Observations,
    rows: Aggregator,
    phase: Phase,
    /// Whether a trial has ended. After that, a trial that cannot start does not end the search.
    has_ended: bool,
}

impl<'a> Driver<'a> {
    fn new(
        planned: &'a Planned,
        series: &'a mut Series,
        view: &'a mut View,
        environment: Environment<'a>,
    ) -> Self {
        Self {
            planned,
            series,
            view,
            environment: Some(environment),
            observed: Observations::new(planned.shape.clone()),
            rows: Aggregator::new(planned.row),
            phase: Phase::WarmUp,
            has_ended: false,
        }
    }

    fn follow(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::RunStarted { .. } => match self.environment {
                Some(environment) => environment.folders.keep(&self.planned.needed),
                None => Ok(()),
            },
            Event::TrialStarted { level, workers, .. } => {
                self.observed = Observations::new(self.shape_at(*level, *workers));
                self.observed.so_far.idle_poll = self
                    .environment
                    .is_some_and(|environment| environment.idle_poll);
                self.rows = Aggregator::new(self.planned.row);
                self.phase = Phase::WarmUp;
                Ok(())
            }
            Event::Phase {
                phase: PhaseName::WarmUp,
                ..
            } => self.begin(),
            Event::Interval { phase, interval } => match phase {
                PhaseName::WarmUp => self.take(interval, Phase::WarmUp),
                PhaseName::Measure => self.take(interval, Phase::Measured),
                _ => self.take(interval, Phase::Finish),
            },
            Event::Machine { used, cpus } => {
                let so_far = &mut self.observed.so_far;
                (so_far.cpus, so_far.cpu_count) = (Some(*used), *cpus);
                Ok(())
            }
            Event::TrialEnded { key, .. } => self.on_trial_end(*key),
            _ => Ok(()),
        }
    }

    /// The shape of the load at a level of the search.
    fn shape_at(&self, level: Option<f64>, workers: usize) -> Shape {
        let Some(level) = level else {
            return self.planned.shape.clone();
        };
        let cell = &self.planned.study.cells[0];
        let cell = waggle_study::Cell {
            load: cell.load.at_level(level),
            ..cell.clone()
        };
        Shape {
            tls_hint: self.planned.shape.tls_hint,
            ..Shape::from_cell(&cell, workers)
        }
    }

    /// The load starts.
    fn begin(&mut self) -> Result<()> {
        self.observed.started = SystemTime::now();
        self.series.begin(self.observed.started)?;
        match self.environment {
            Some(environment) => self.view.begin(self.planned, environment.interrupts),
            None => Ok(()),
        }
    }

    fn take(&mut self, interval: &Interval, phase: Phase) -> Result<()> {
        if phase != self.phase {
            self.close_row()?;
            self.phase = phase;
        }
        let so_far = &mut self.observed.so_far;
        so_far.add(interval, phase);
        self.view.interval(interval, phase, so_far);
        match self.rows.add(interval) {
            Some(gathered) => self.row(&gathered),
            None => Ok(()),
        }
    }

    fn close_row(&mut self) -> Result<()> {
        match self.rows.rest() {
            Some(gathered) => self.row(&gathered),
            None => Ok(()),
        }
    }

    fn row(&mut self, gathered: &Interval) -> Result<()> {
        let row = series::row(gathered, self.phase);
        self.series.row(&row, gathered)?;
        self.view.row(&row);
        if self.observed.rows.len() < ROWS_MAX {
            self.observed.rows.push(row);
        }
        Ok(())
    }

    /// Reads the result of the trial, which has data that intervals lack.
    fn on_trial_end(&mut self, key: TrialKey) -> Result<()> {
        let Some(environment) = self.environment else {
            return Ok(());
        };
        let run = environment.folders.run_folder()?;
        let info = trial_info(&run, key)?;
        if let TrialEnd::Failed { reason, .. } = &info.end
            && info.phase(PhaseName::WarmUp).is_none()
            && !self.has_ended
        {
            bail!("{reason}");
        }
        self.has_ended = true;
        self.observed.findings = Some(waggle_analysis::findings(&run, key)?);
        self.observed.so_far.end(&info);
        self.observed.info = Some(info);
        Ok(())
    }

    /// Takes the data of a finished trial; another one may follow.
    fn take_watched(&mut self) -> Result<Observations> {
        self.close_row()?;
        let shape = self.planned.shape.clone();
        Ok(std::mem::replace(
            &mut self.observed,
            Observations::new(shape),
        ))
    }

    fn end(mut self) -> Result<Observations> {
        self.close_row()?;
        self.series.end()?;
        self.view.end();
        Ok(self.observed)
    }
}

/// The results of a trial on disk.
fn trial_info(run_folder: &Path, key: TrialKey) -> Result<TrialInfo> {
    waggle_results::trial_info(run_folder, key)?
        .ok_or_else(|| anyhow!("{} has no {key}", run_folder.display()))
}
