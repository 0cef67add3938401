//! One trial, from up to cool-down. The order of the phases is decided here and nowhere else.

mod delivery;
mod disturbing;
mod left_over;
mod order;
mod phases;
mod places;
mod rehearsal;
mod report;
mod resources;
mod start;
mod steadiness;
mod stop_watch;
mod system_metrics;
mod under_load;
mod verify;
mod way;

use std::{cell::RefCell, time::Duration};

use tokio::time::{Instant, sleep};
use waggle_results::{PhaseName, TrialInfo, TrialWriter};

pub(crate) use self::{
    order::{Means, Order, Standing},
    verify::{Target, verify},
};
use self::{
    phases::{Allowed, Cut, Phases, SPARE, Stop},
    report::Report,
    way::Trial,
};
use crate::{
    RunError,
    driver::{Driver, Failure},
    events::{Events, Shutdown},
    load::Load,
    web::Web,
};

/// Between two looks at whether the host has come to rest.
const REST_EVERY: Duration = Duration::from_millis(100);

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
    let is_disturbed = !order.cell.faults.is_empty();
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
        Err(Stop::Failed { phase, failure }) => report.set_failure(phase, failure),
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
    let info = report.to_info(&phases);
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
