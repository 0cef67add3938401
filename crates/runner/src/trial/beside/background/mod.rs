//! Loads that run beside the measured one: they begin before its warm-up, and end when its measured phase is over.

pub(in crate::trial) mod sums;

use std::{mem, time::Duration};

use futures_util::future::{join_all, try_join_all};
use tokio::{sync::watch, time::timeout};
use waggle_load::Job;
use waggle_results::TrialInfo;
use waggle_spec::{Arrivals, LoadModel, LoadRole};
use waggle_study::{BackgroundLoad, Cell};
use waggle_system::components::driver::{Driver, Failure};

use self::sums::Sums;
use crate::{
    load::{
        counts::GeneratorSettings,
        job,
        job::{OtherLoad, Parts},
        load_run::{Load, LoadError, LoadRun},
        side_load::SideLoad,
    },
    trial::{
        TrialContext,
        beside::{
            companion::{Companion, Follow, LoadCourse, Part, View, Work},
            resend::{Content, Resends},
        },
        load_content::{requests, targets_and_host},
        phases::{Abort, ENGINE_END_AT_MOST},
    },
};

/// Margin of a background load beyond warm-up and measured phase before it ends by itself.
const SPARE: Duration = Duration::from_secs(120);

/// The mark of their records, which are followed by nobody.
const MARK: &str = "background";

/// A background load that can be started.
struct BackgroundJob<'a> {
    load: SideLoad,
    job: Job,
    /// What the job sends.
    content: Content<'a>,
}

/// The background loads of a trial.
pub(in crate::trial) struct Background<'a, R> {
    cell: &'a Cell,
    resends: Resends<'a>,
    /// Not started yet.
    jobs: Vec<BackgroundJob<'a>>,
    /// Started before the measured load.
    begun: Vec<Begun<R>>,
    /// Beside the measured load.
    running: Vec<Running<R>>,
}

struct Begun<R> {
    load: SideLoad,
    run: R,
}

struct Running<R> {
    run: R,
    sums: Sums,
}

impl<'a, R> Background<'a, R> {
    /// The loads of a cell, in the order of the study.
    pub(in crate::trial) fn new<D: Driver>(
        context: TrialContext<'a>,
        driver: &D,
        resends: Resends<'a>,
    ) -> Result<Self, Failure> {
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
                load: SideLoad {
                    role: LoadRole::Background,
                    name: load.name().to_owned(),
                    settings: settings(load, model, job.sending_workers()),
                    ..SideLoad::default()
                },
                content: Box::new(move || requests(context, &load.request, MARK, &host)),
                job,
            });
        }
        Ok(Self {
            cell,
            resends,
            jobs,
            begun: Vec::new(),
            running: Vec::new(),
        })
    }

    pub(in crate::trial) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().map(|job| &job.job)
    }
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
        arrivals: Arrivals::Uniform,
        ..GeneratorSettings::new(model, workers)
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

impl<D, L: Load, W> Companion<D, L, W> for Background<'_, L::Run> {
    /// One after the other.
    fn start<'t>(&'t mut self, load: &'t mut L) -> Work<'t, Result<(), Failure>> {
        Box::pin(async {
            for background in mem::take(&mut self.jobs) {
                let side_load = background.load;
                // One process sends it, whatever number of generators makes the measured load.
                let run = load.start(background.job, 1).await.map_err(|why| {
                    let name = &side_load.name;
                    let what = format!("the background load \"{name}\" cannot be started: {why}");
                    Failure::new(what)
                })?;
                self.resends.add(&run, background.content);
                self.begun.push(Begun {
                    load: side_load,
                    run,
                });
            }
            Ok(())
        })
    }

    fn load_started(&mut self, _view: &View<'_, D, W>, load: &LoadCourse) -> Result<(), Abort> {
        for begun in self.begun.drain(..) {
            let started = begun.run.started_monotonic();
            let ahead = load.measured.started.saturating_sub(started);
            self.running.push(Running {
                sums: Sums::new(begun.load, ahead, &load.measured),
                run: begun.run,
            });
        }
        Ok(())
    }

    fn follow<'t>(&'t mut self, _view: &'t View<'t, D, W>, part: Part<'t>) -> Follow<'t> {
        let Part::Load(load) = part else {
            return Follow::Nothing;
        };
        let loads = self.running.iter_mut();
        let ends = loads.map(|running| running.follow(load.is_measured.subscribe()));
        let ends = try_join_all(ends);
        Follow::UntilOver(Box::pin(async {
            ends.await.map(|_| ()).map_err(Abort::from)
        }))
    }

    /// Notes what each load of the cell did, and which are absent in it.
    fn note_load(&mut self, _view: &View<'_, D, W>, info: &mut TrialInfo) -> Result<(), Abort> {
        for running in &mut self.running {
            let sums = running.sums.sums();
            info.loads.push(sums.info());
            if sums.is_unanswered() {
                info.remarks.push(format!(
                    "no request of the background load \"{}\" was answered in the measured phase",
                    sums.load.name
                ));
            }
        }
        let loads = self.cell.background.iter();
        let absent = loads.filter(|load| load.model.is_none());
        let names = absent.map(|load| load.name().to_owned());
        info.absent_loads.extend(names);
        Ok(())
    }

    fn end(&mut self) -> Work<'_, Result<(), Failure>> {
        let begun = self.begun.drain(..);
        let begun = begun.map(|begun| (begun.load.name, begun.run));
        let running = self.running.drain(..);
        let running = running.map(|running| (running.sums.name().to_owned(), running.run));
        let loads: Vec<(String, L::Run)> = begun.chain(running).collect();
        for (_, run) in &loads {
            run.stop();
        }
        let join = |(name, run): (String, L::Run)| async move {
            let ended = timeout(ENGINE_END_AT_MOST, run.join()).await;
            let ended = ended.unwrap_or(Err(LoadError::NotEnded));
            ended.map_err(|why| load_failure(&name, &why))
        };
        Box::pin(async move {
            let ended = join_all(loads.into_iter().map(join)).await;
            ended.into_iter().try_for_each(|result| result.map(|_| ()))
        })
    }
}

impl<R: LoadRun> Running<R> {
    /// Takes its intervals until it has ended, which it is asked to when the measured phase is over.
    async fn follow(&mut self, mut is_measured: watch::Receiver<bool>) -> Result<(), Failure> {
        let name = self.sums.name().to_owned();
        let mut is_over = false;
        loop {
            let next = tokio::select! {
                biased;
                next = self.run.next_interval() => next.map_err(|why| load_failure(&name, &why))?,
                _ = is_measured.wait_for(|measured| *measured), if !is_over => {
                    is_over = true;
                    self.run.stop();
                    continue;
                }
            };
            match next {
                Some(interval) => self.sums.add(interval),
                None if is_over => return Ok(()),
                None => {
                    return Err(Failure::new(format!(
                        "the background load \"{name}\" ended before the measured phase was over"
                    )));
                }
            }
            if let Some(why) = self.sums.why_unconnected() {
                return Err(Failure::new(format!(
                    "the background load \"{name}\" established no connection{why}"
                )));
            }
        }
    }
}

fn load_failure(name: &str, why: &LoadError) -> Failure {
    Failure::new(format!("the background load \"{name}\" failed: {why}"))
}
