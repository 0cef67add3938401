//! Starts the load of a system that is up, and what goes on beside it.

use tokio::sync::watch;
use waggle_load::DueTimes;
use waggle_results::LoadStart;
use waggle_system::{components::driver::Driver, http::client::HttpConnector};

use crate::{
    clock::Clock,
    event_sender::IntervalEvents,
    load::{
        counts::Carried,
        job,
        load_run::{Load, LoadRun},
    },
    probe::{DueInstants, Window},
    trial::{
        Trial, TrialEnvironment,
        beside::{
            background::sums::MeasuredLoad,
            companion::{LoadCourse, MeasuredJob},
            companions::Companions,
            delivery::probe_names,
            resend::Resends,
        },
        load_content::{job_of, load_content, mark, targets_and_host},
        load_phases::{LoadPhases, Progress, stop_watch::StopWatch},
        phases::Abort,
    },
};

/// A running load with its companions.
pub(super) struct Started<'a, D, L: Load, W> {
    pub(super) load: LoadPhases<'a, L::Run>,
    pub(super) companions: Companions<'a, D, L, W>,
    pub(super) course: LoadCourse,
}

/// Makes the requests, and what must be there before the load: nothing is sent yet.
pub(super) async fn set_up<'a, D: Driver, L: Load + 'a, W: HttpConnector + 'a>(
    trial: &Trial<'a>,
    environment: &TrialEnvironment<D, L, W>,
) -> Result<(MeasuredJob<'a>, Companions<'a, D, L, W>), Abort> {
    let context = trial.context;
    let driver = &environment.driver;
    trial.ensure_token(driver, &environment.http).await?;
    let before = Clock::start();
    let run = mark(before, context.position);
    let kept = &environment.prepared.kept;
    let job = job_of(context, driver, &run, kept)?;
    let (_, host) = targets_and_host(context, driver, &context.cell.endpoint)?;
    let kept = kept.clone();
    let measured = MeasuredJob {
        job,
        content: Box::new(move || load_content(context, &run, &host, &kept)),
        resends: Resends::default(),
        before,
    };
    let companions = Companions::set_up(trial, environment, &measured).await?;
    Ok((measured, companions))
}

/// Starts the loads, and what goes on beside them. If that fails, those that have begun have ended.
pub(super) async fn start<'a, D: Driver, L: Load + 'a, W: HttpConnector + 'a>(
    trial: &Trial<'a>,
    environment: &mut TrialEnvironment<D, L, W>,
    measured: MeasuredJob<'a>,
    mut companions: Companions<'a, D, L, W>,
) -> Result<Started<'a, D, L, W>, Abort> {
    let cell = trial.context.cell;
    let workers = measured.job.sending_workers();
    let due_times = DueTimes::new(&measured.job);
    let run = companions
        .start_with(measured, &mut environment.load, cell.generators)
        .await?;
    let (window, window_known) = watch::channel(None);
    let records = job::records_per_request(cell);
    let course = LoadCourse {
        // The load's own clock started a moment ago, when all of its threads were ready.
        clock: Clock::start(),
        workers,
        due_instants: due_times
            .map(|times| DueInstants::new(times, run.started_unix_ns(), records)),
        measured: MeasuredLoad {
            started: run.started_monotonic(),
            interval: cell.schedule.interval,
            window: window_known,
        },
        is_measured: watch::Sender::new(false),
        is_alone: watch::Sender::new(false),
    };
    let view = trial.view(environment);
    let noted = note_start(trial, &course);
    if let Err(abort) = noted.and_then(|()| companions.load_started(&view, &course)) {
        drop(companions.end_with(run).await);
        return Err(abort);
    }
    Ok(Started {
        load: load_phases(trial, run, window),
        companions,
        course,
    })
}

fn note_start(trial: &Trial<'_>, course: &LoadCourse) -> Result<(), Abort> {
    let cell = trial.context.cell;
    let before_last = probe_names(cell).split_last();
    trial.writer.borrow_mut().load_started(&LoadStart {
        name: cell.name(),
        steps: cell.scenario().map_or(&[], |scenario| &scenario.steps),
        intermediate_probes: before_last.map_or(&[], |(_, before)| before),
        started_unix_ns: course.clock.start_unix_ns(),
    })?;
    Ok(())
}

fn load_phases<'a, R>(
    trial: &Trial<'a>,
    run: R,
    window: watch::Sender<Option<Window>>,
) -> LoadPhases<'a, R> {
    let cell = trial.context.cell;
    LoadPhases {
        run,
        writer: trial.writer,
        events: IntervalEvents::new(trial.events.clone()),
        carried: Carried::from_cell(cell),
        inspects: cell.inspect().is_some(),
        interval: cell.schedule.interval,
        window,
        shutdown: trial.shutdown.clone(),
        stop_watch: StopWatch::new(&cell.schedule.stop_when),
        progress: Progress::new(),
    }
}
