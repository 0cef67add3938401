//! Runs a load in the runner and follows its events: adds up intervals, writes rows, shows progress.

use std::{sync::Arc, time::SystemTime};

use anyhow::{Context, Result, bail};
use tokio::sync::{mpsc, watch};
use waggle_analysis::{EndedLoad, SearchStep};
use waggle_load::Interval;
use waggle_results::{PhaseName, Run, TrialEnd, TrialKey};
use waggle_runner::{CpuUse, Event, RunRequest, counts::tls_obstacle_of_trial};
use waggle_system::host::measuring::Measuring;

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
    trial::{aggregate::Aggregator, judge::Fruitless, phase::Phase, shape::Shape, so_far::SoFar},
};

/// Maximum number of rows in the series of the JSON.
const ROWS_MAX: usize = 100_000;
/// Capacity of the event channel.
const EVENTS_MAX: usize = 1024;

/// A load that was followed to its end.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) load: EndedLoad,
    pub(crate) rows: Vec<Row>,
}

/// The environment of a load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Environment<'a> {
    pub(crate) folders: &'a RunFolders,
    pub(crate) reached: &'a ReachedServer,
    /// What is said of another waggle that measures.
    pub(crate) beside: Option<&'a str>,
    pub(crate) measuring: &'a Arc<Measuring>,
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
/// immediately. `None`: it did so before anything was measured.
///
/// # Errors
/// The load cannot be started, or a file cannot be written.
pub(crate) fn drive(
    planned: &Planned,
    series: &mut Series,
    view: &mut View,
    environment: Environment<'_>,
) -> Result<Option<Followed>> {
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
    let followed = driver.end()?;
    if followed.is_none() && environment.interrupts.count() == 0 {
        bail!("the load did not end regularly");
    }
    Ok(followed)
}

/// A finished trial of a search, with its evidence.
pub(crate) struct Step {
    pub(crate) showed: SearchStep,
    pub(crate) load: EndedLoad,
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
        on_step,
    };
    let request = request(planned, environment)?;
    run(request, &at_once, shutdown, |event| follower.follow(event))
}

struct SearchFollower<'a, F> {
    driver: Driver<'a>,
    on_step: F,
}

impl<F: FnMut(Step)> SearchFollower<'_, F> {
    fn follow(&mut self, event: &Event) -> Result<()> {
        self.driver.follow(event)?;
        if let Event::Searched(showed) = event {
            let ended = self.driver.ended.take();
            (self.on_step)(Step {
                showed: showed.clone(),
                load: ended.context("a trial without an end was searched")?,
            });
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
        cluster_notes_folder: None,
        in_pod: None,
        keeps_failed_pods: false,
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
        measuring: Some(Arc::clone(environment.measuring)),
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

struct Driver<'a> {
    planned: &'a Planned,
    series: &'a mut Series,
    view: &'a mut View,
    environment: Environment<'a>,
    so_far: SoFar,
    /// The last trial that has ended.
    ended: Option<EndedLoad>,
    gathered: Aggregator,
    rows: Vec<Row>,
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
            environment,
            so_far: SoFar::new(planned.shape.clone()),
            ended: None,
            gathered: Aggregator::new(planned.row),
            rows: Vec::new(),
            phase: Phase::WarmUp,
            has_ended: false,
        }
    }

    fn follow(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::RunStarted { .. } => self.environment.folders.keep(&self.planned.needed),
            Event::TrialStarted { level, workers, .. } => {
                self.so_far = SoFar::new(self.shape_at(*level, *workers));
                self.so_far.idle_poll = self.environment.idle_poll;
                (self.gathered, self.rows) = (Aggregator::new(self.planned.row), Vec::new());
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
                (self.so_far.cpus, self.so_far.cpu_count) = (Some(*used), *cpus);
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
        self.series.begin(SystemTime::now())?;
        self.view.begin(self.planned, self.environment.interrupts)
    }

    fn take(&mut self, interval: &Interval, phase: Phase) -> Result<()> {
        if phase != self.phase {
            self.close_row()?;
            self.phase = phase;
        }
        self.so_far.add(interval, phase);
        self.view.interval(interval, phase, &self.so_far);
        match self.gathered.add(interval) {
            Some(gathered) => self.row(&gathered),
            None => Ok(()),
        }
    }

    fn close_row(&mut self) -> Result<()> {
        match self.gathered.rest() {
            Some(gathered) => self.row(&gathered),
            None => Ok(()),
        }
    }

    fn row(&mut self, gathered: &Interval) -> Result<()> {
        let row = series::row(gathered, self.phase);
        self.series.row(&row, gathered)?;
        self.view.row(&row);
        if self.rows.len() < ROWS_MAX {
            self.rows.push(row);
        }
        Ok(())
    }

    /// Reads the result of the trial.
    fn on_trial_end(&mut self, key: TrialKey) -> Result<()> {
        self.close_row()?;
        let run = Run::read_with_trial(&self.environment.folders.run_folder()?, key)?;
        let was_ended = self.environment.interrupts.count() > 0;
        let load = ended_load(run, &self.planned.shape, was_ended);
        let load = load.with_context(|| format!("{key} has no result"))?;
        let info = &load.trial.info;
        if let TrialEnd::Failed { reason, .. } = &info.end
            && info.phase(PhaseName::WarmUp).is_none()
            && !self.has_ended
        {
            bail!("{reason}");
        }
        self.has_ended = true;
        self.ended = Some(load);
        Ok(())
    }

    fn end(mut self) -> Result<Option<Followed>> {
        self.close_row()?;
        self.series.end()?;
        self.view.end();
        let rows = self.rows;
        Ok(self.ended.map(|load| Followed { load, rows }))
    }
}

/// The load of a run that was read with one trial. One without a success has failed, which a trial of a study has not.
pub(crate) fn ended_load(run: Run, shape: &Shape, was_ended: bool) -> Option<EndedLoad> {
    let Run {
        info, mut trials, ..
    } = run;
    let mut trial = trials.pop()?;
    let fruitless = Fruitless {
        answered: &trial.answer_sums().counts,
        totals: &trial.info.totals,
        obstacle: tls_obstacle_of_trial(&trial.info),
        was_ended_in_warm_up: was_ended && trial.info.measured.seconds == 0.0,
    };
    if let Some(reason) = fruitless.reason(shape)
        && trial.info.phase(PhaseName::WarmUp).is_some()
    {
        trial.info.end = TrialEnd::Failed {
            phase: PhaseName::Measure,
            reason,
            log_tail: Vec::new(),
        };
    }
    Some(EndedLoad::new(info, trial))
}
