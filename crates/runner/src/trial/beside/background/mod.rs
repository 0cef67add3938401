//! Loads that run beside the measured one: they begin before its warm-up, and end when its measured phase is over.

mod sums;

use std::{future::pending, time::Duration};

use futures_util::future::{join_all, select_all};
use tokio::{sync::watch, time::timeout};
use waggle_load::Job;
use waggle_results::{BackgroundInfo, TrialInfo};
use waggle_spec::{Arrivals, LoadModel};
use waggle_study::{BackgroundLoad, Cell};
use waggle_system::components::driver::{Driver, Failure};

pub(in crate::trial) use self::sums::MeasuredLoad;
use self::sums::Sums;
use crate::{
    load::{
        counts::GeneratorSettings,
        job,
        job::{OtherLoad, Parts},
        load_run::{Load, LoadError, LoadRun},
    },
    trial::{
        TrialContext,
        beside::resend::{Content, Resend},
        load_content::{requests, targets_and_host},
        phases::{Abort, ENGINE_END_AT_MOST},
    },
};

/// Margin of a background load beyond warm-up and measured phase before it ends by itself.
const SPARE: Duration = Duration::from_secs(120);

/// The mark of their records, which are followed by nobody.
const MARK: &str = "background";

/// A background load that can be started.
pub(in crate::trial) struct BackgroundJob<'a> {
    name: String,
    pub(in crate::trial) job: Job,
    /// What the job sends.
    content: Content<'a>,
    settings: GeneratorSettings,
}

/// A background load that was started before the measured one.
struct Begun<'a, R> {
    name: String,
    run: R,
    settings: GeneratorSettings,
    /// Taken when all have begun.
    resend: Option<Resend<'a>>,
}

/// The background loads that were started before the measured one.
pub(in crate::trial) struct BegunLoads<'a, R>(Vec<Begun<'a, R>>);

/// The background loads of a trial while they run.
pub(crate) struct Background<R> {
    loads: Vec<Running<R>>,
}

struct Running<R> {
    name: String,
    run: R,
    sums: Sums,
}

/// Ends background loads, and knows how many are left.
pub(crate) struct BackgroundEnd {
    is_asked: watch::Sender<bool>,
    running: watch::Sender<usize>,
}

/// The background loads of a cell, in the order of the study.
pub(in crate::trial) fn jobs<'a, D: Driver>(
    context: TrialContext<'a>,
    driver: &D,
) -> Result<Vec<BackgroundJob<'a>>, Failure> {
    let cell: &'a Cell = context.cell;
    let mut jobs = Vec::new();
    for (index, (load, model)) in cell.running_background().enumerate() {
        let (targets, host) = targets_and_host(context, driver, &load.endpoint)?;
        let parts = Parts {
            targets,
            what: requests(context, &load.request, MARK, &host)?,
            workers: vec![worker(context, index)],
            seed: context.seed,
        };
        let job = job_of(cell, parts, load, model);
        jobs.push(BackgroundJob {
            name: load.name().to_owned(),
            settings: settings(load, model, job.sending_workers()),
            content: Box::new(move || requests(context, &load.request, MARK, &host)),
            job,
        });
    }
    Ok(jobs)
}

/// Starts the background loads, one after the other.
pub(in crate::trial) async fn start<'a, L: Load>(
    jobs: Vec<BackgroundJob<'a>>,
    load: &mut L,
) -> Result<BegunLoads<'a, L::Run>, Failure> {
    let mut begun = Vec::new();
    for BackgroundJob {
        name,
        job,
        content,
        settings,
    } in jobs
    {
        // One process sends it, whatever number of generators makes the measured load.
        let run = match load.start(job, 1).await {
            Ok(run) => run,
            Err(why) => {
                end_runs(BegunLoads(begun).into_runs()).await;
                let what = format!("the background load \"{name}\" cannot be started: {why}");
                return Err(Failure::new(what));
            }
        };
        begun.push(Begun {
            name,
            resend: Some(Resend::new(&run, content)),
            run,
            settings,
        });
    }
    Ok(BegunLoads(begun))
}

fn job_of(cell: &Cell, parts: Parts, load: &BackgroundLoad, model: &LoadModel) -> Job {
    let other = OtherLoad {
        name: load.name(),
        model: model.clone(),
        request_timeout: load.request.timeout,
        max_duration: cell.schedule.warm_up + cell.schedule.measure + SPARE,
    };
    job::other_job(cell, parts, other)
}

/// The CPU of its one worker thread: that of the next worker, if the measured load had more of them.
fn worker(context: TrialContext<'_>, index: usize) -> Option<usize> {
    let TrialContext { cell, shares, .. } = context;
    let of_load = shares.workers(cell.load_workers, cell.generators).len();
    let count = u32::try_from(of_load + index + 1).unwrap_or(u32::MAX);
    shares.workers(Some(count), 1).pop().flatten()
}

fn settings(load: &BackgroundLoad, model: &LoadModel, workers: usize) -> GeneratorSettings {
    let settings = GeneratorSettings {
        workers,
        connections: model.connections().into(),
        arrivals: Arrivals::Uniform,
        ..GeneratorSettings::default()
    };
    match model {
        LoadModel::Open { rate_per_s, .. } => GeneratorSettings {
            offered_per_s: Some(*rate_per_s),
            ..settings
        },
        _ => GeneratorSettings {
            in_flight: crate::load::counts::keeps_connections(&load.request)
                .then(|| f64::from(model.connections())),
            arrivals: Arrivals::default(),
            ..settings
        },
    }
}

/// Ends loads and waits for that: not all of the trial can be started.
pub(in crate::trial) async fn end_runs<R: LoadRun>(runs: impl IntoIterator<Item = R>) {
    let runs: Vec<R> = runs.into_iter().collect();
    for run in &runs {
        run.stop();
    }
    let runs = runs.into_iter();
    join_all(runs.map(|run| timeout(ENGINE_END_AT_MOST, run.join()))).await;
}

impl<'a, R> BegunLoads<'a, R> {
    /// What sends them with another token.
    pub(in crate::trial) fn take_resends(&mut self) -> Vec<Resend<'a>> {
        let begun = self.0.iter_mut();
        begun.filter_map(|begun| begun.resend.take()).collect()
    }

    pub(in crate::trial) fn into_runs(self) -> impl Iterator<Item = R> {
        self.0.into_iter().map(|begun| begun.run)
    }
}

impl<R: LoadRun> Background<R> {
    /// The loads that have begun, beside the measured one, which has begun as well.
    pub(in crate::trial) fn new(begun: BegunLoads<'_, R>, measured: &MeasuredLoad) -> Self {
        let loads = begun.0.into_iter();
        Self {
            loads: loads.map(|begun| begun.into_running(measured)).collect(),
        }
    }

    /// What ends them.
    pub(in crate::trial) fn end(&self) -> BackgroundEnd {
        BackgroundEnd {
            is_asked: watch::Sender::new(false),
            running: watch::Sender::new(self.loads.len()),
        }
    }

    /// Takes their intervals until they are asked to end and have ended. Returns only if one of them cannot go on.
    pub(in crate::trial) async fn follow(&mut self, end: &BackgroundEnd) -> Abort {
        let loads = self.loads.iter_mut();
        let loads: Vec<_> = loads.map(|load| Box::pin(load.follow(end))).collect();
        match loads.is_empty() {
            true => pending().await,
            false => select_all(loads).await.0.into(),
        }
    }

    /// Notes what each background load of the cell did, also of those that are absent in it.
    pub(in crate::trial) fn note(&mut self, info: &mut TrialInfo, cell: &Cell) {
        for load in &cell.background {
            let mut running = self.loads.iter_mut();
            let running = running.find(|running| running.name == load.name());
            info.background.push(BackgroundInfo {
                name: load.name().to_owned(),
                load: running.map(|running| running.sums.info()),
            });
        }
        for silent in self.loads.iter().filter(|load| load.sums.is_unanswered()) {
            info.remarks.push(format!(
                "no request of the background load \"{}\" was answered in the measured phase",
                silent.name
            ));
        }
    }

    /// The runs as they are, after a trial that was aborted.
    pub(in crate::trial) fn into_runs(self) -> impl Iterator<Item = R> {
        self.loads.into_iter().map(|load| load.run)
    }

    /// Waits until all have ended, which they were asked to.
    pub(in crate::trial) async fn join(self) -> Result<(), Failure> {
        let join = |load: Running<R>| async move {
            let ended = timeout(ENGINE_END_AT_MOST, load.run.join()).await;
            let ended = ended.unwrap_or(Err(LoadError::NotEnded));
            ended.map_err(|why| load_failure(&load.name, &why))
        };
        let ended = join_all(self.loads.into_iter().map(join)).await;
        ended.into_iter().try_for_each(|result| result.map(|_| ()))
    }
}

impl<R: LoadRun> Begun<'_, R> {
    /// The load once the measured one has begun as well.
    fn into_running(self, measured: &MeasuredLoad) -> Running<R> {
        let started = self.run.started_monotonic();
        let ahead = measured.started.saturating_sub(started);
        Running {
            sums: Sums::new(self.settings, ahead, measured),
            name: self.name,
            run: self.run,
        }
    }
}

impl<R: LoadRun> Running<R> {
    /// Returns only if the load cannot go on.
    async fn follow(&mut self, end: &BackgroundEnd) -> Failure {
        match self.follow_to_end(end).await {
            Ok(()) => {
                end.running.send_modify(|running| *running -= 1);
                pending().await
            }
            Err(failure) => failure,
        }
    }

    async fn follow_to_end(&mut self, end: &BackgroundEnd) -> Result<(), Failure> {
        let mut is_asked = end.is_asked.subscribe();
        let mut is_over = false;
        loop {
            let next = tokio::select! {
                biased;
                next = self.run.next_interval() => next.map_err(|why| load_failure(&self.name, &why))?,
                _ = is_asked.wait_for(|asked| *asked), if !is_over => {
                    is_over = true;
                    self.run.stop();
                    continue;
                }
            };
            match next {
                Some(interval) => self.sums.add(interval),
                None if is_over => return Ok(()),
                None => {
                    let name = &self.name;
                    return Err(Failure::new(format!(
                        "the background load \"{name}\" ended before the measured phase was over"
                    )));
                }
            }
            if let Some(why) = self.sums.why_unconnected() {
                let name = &self.name;
                return Err(Failure::new(format!(
                    "the background load \"{name}\" established no connection{why}"
                )));
            }
        }
    }
}

impl BackgroundEnd {
    /// The measured phase is over: nothing more is sent.
    pub(in crate::trial) fn ask(&self) {
        self.is_asked.send_replace(true);
    }

    /// Returns when the last answers have come; the loads were asked to end.
    pub(in crate::trial) async fn wait_until_over(&self) {
        let mut running = self.running.subscribe();
        if running.wait_for(|running| *running == 0).await.is_err() {
            unreachable!("its other end lives as long as this");
        }
    }
}

fn load_failure(name: &str, why: &LoadError) -> Failure {
    Failure::new(format!("the background load \"{name}\" failed: {why}"))
}
