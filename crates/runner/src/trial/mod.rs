//! One trial, from up to cool-down. The order of the phases is decided here and nowhere else.

mod delivery;
mod disturbing;
mod left_over;
mod phases;
mod places;
mod rehearsal;
mod report;
mod resources;
mod start;
mod steadiness;
mod stop_watch;
mod under_load;
mod verify;
mod watches;
mod way;

use std::{cell::RefCell, path::Path, time::Duration};

use tokio::time::{Instant, sleep};
use waggle_results::{PhaseName, TrialInfo, TrialKey, TrialWriter};
use waggle_study::{Cell, System};

use self::{
    phases::{Allowed, Cut, Phases, Stop},
    report::Report,
    way::Trial,
};
pub(crate) use self::{
    report::now_utc,
    verify::{Target, verify},
};
use crate::{
    RunError,
    cpu_time::CpuClocks,
    cpus::Shares,
    driver::{Driver, Failure},
    events::{Events, Shutdown},
    load::Load,
    records::RecordFiles,
    secrets::Secrets,
    web::Web,
};

/// What a phase whose end is known may take beyond it before something must be wrong.
const SPARE: Duration = Duration::from_secs(15);
/// Between two looks at whether the host has come to rest.
const REST_EVERY: Duration = Duration::from_millis(100);

/// The three things that act on the world, each of which a test can replace.
#[derive(Debug)]
pub(crate) struct Means<D, L, W> {
    pub(crate) driver: D,
    pub(crate) load: L,
    pub(crate) web: W,
    /// A system that was kept up after a trial.
    pub(crate) standing: Option<Standing>,
}

/// A system that is up for its cell's next trial.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) cell: u32,
    pub(crate) secrets: Secrets,
}

/// What a trial is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    /// As it is configured for the cell.
    pub(crate) system: &'a System,
    pub(crate) secrets: &'a Secrets,
    pub(crate) cell: &'a Cell,
    pub(crate) key: TrialKey,
    pub(crate) position: u32,
    /// Of the load, where one is searched for; the cell's load has it.
    pub(crate) level: Option<f64>,
    pub(crate) seed: u64,
    pub(crate) records: &'a RecordFiles,
    /// For a server that runs already with https.
    pub(crate) tls: Option<&'a waggle_load::Tls>,
    pub(crate) shares: &'a Shares,
    /// Of the CPUs that waggle may use; `None`: nobody looks at them.
    pub(crate) clocks: Option<&'a CpuClocks>,
    /// What the engine can send with this shape of load, if that is known.
    pub(crate) possible_per_s: Option<f64>,
    /// For what the system keeps; removed after the trial.
    pub(crate) folder: &'a Path,
    /// Where the components write their logs.
    pub(crate) logs: &'a Path,
    /// Where the trial keeps them; may be the same.
    pub(crate) kept_logs: &'a Path,
    /// Another trial follows, so that the host must come to rest.
    pub(crate) has_next: bool,
    /// The system is up, since an earlier trial of the cell.
    pub(crate) is_up: bool,
    /// It may stay up for the next one.
    pub(crate) may_stay_up: bool,
}

/// How a trial ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It has a result, good or bad.
    Told(Box<TrialInfo>),
    /// The caller wanted an end; nothing of it is kept.
    Interrupted,
}

/// Runs one trial and writes it, unless it was interrupted; tells whether the system was left up.
pub(crate) async fn run<D: Driver, L: Load, W: Web>(
    means: &mut Means<D, L, W>,
    order: Order<'_>,
    writer: TrialWriter,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<(Ended, bool), RunError> {
    let writer = RefCell::new(writer);
    let mut phases = Phases::new(events.clone(), shutdown.clone());
    let mut report = Report::new(order.key, order.position);
    report.level = order.level;
    if order.is_up {
        let remark = "the system was up already, since an earlier trial of its cell";
        report.remarks.push(remark.to_owned());
    }
    let mut cut_short = None;
    let trial = Trial {
        order,
        events,
        shutdown,
        writer: &writer,
    };
    let came = trial
        .forward(means, &mut phases, &mut report, &mut cut_short)
        .await;
    let came = came.map_err(|stop| with_log(stop, &means.driver));
    // What is left of one trial must not be found by the next.
    let is_disturbed = !order.cell.disturbances.is_empty();
    let may_stay_up = order.may_stay_up && !is_disturbed;
    let stays_up = may_stay_up && came.is_ok() && report.is_complete();
    if stays_up {
        phases.watch_no_more();
    } else {
        trial
            .tear_down(means, &mut phases, &mut report, cut_short)
            .await;
    }
    trial.keep_logs(&mut report);
    if !stays_up {
        trial.remove_folder(&mut report);
    }
    match came {
        Ok(()) => {}
        Err(Stop::Failed { phase, failure }) => report.failed(phase, failure),
        Err(Stop::Broken(problem)) => return Err(problem),
        // Whoever wanted its result and then an end at once does not wait for answers.
        Err(Stop::Interrupted) if shutdown.load_is_to_end() && report.has_measured() => {
            let remark = "answers under way when the load ended were not awaited";
            report.remarks.push(remark.to_owned());
        }
        Err(Stop::Interrupted | Stop::Died { .. }) => return Ok((Ended::Interrupted, false)),
    }
    if order.has_next {
        let at_most = order.cell.schedule.cool_down;
        let allowed = Allowed {
            expected: None,
            at_most: at_most + SPARE,
        };
        // Whatever cuts it short, the trial is over and has its result.
        phases
            .run(
                PhaseName::CoolDown,
                allowed,
                cool_down(&mut means.driver, at_most),
            )
            .await
            .ok();
    }
    report.redact(order.secrets);
    let info = report.told(&phases);
    writer.into_inner().finish(&info)?;
    Ok((Ended::Told(Box::new(info)), stays_up))
}

/// A death as a failure, with the last lines of the component's log.
fn with_log<D: Driver>(stop: Stop, driver: &D) -> Stop {
    match stop {
        Stop::Died { phase, death } => {
            let reason = format!("{} ended {}", death.replica, death.how);
            Stop::Failed {
                phase,
                failure: Failure {
                    reason,
                    log_tail: driver.log_tail(&death.replica),
                },
            }
        }
        other => other,
    }
}

async fn cool_down<D: Driver>(driver: &mut D, at_most: Duration) -> Result<(), Cut> {
    let deadline = Instant::now() + at_most;
    while Instant::now() < deadline && !driver.at_rest() {
        sleep(REST_EVERY.min(deadline.saturating_duration_since(Instant::now()))).await;
    }
    Ok(())
}
