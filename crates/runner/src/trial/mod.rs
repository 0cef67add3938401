//! One trial, from up to cool-down. The order of the phases is decided here and nowhere else.

pub(crate) mod beside;
mod context;
pub(crate) mod cool_down;
mod duet;
pub(crate) mod error;
mod execute;
mod folders;
mod load_content;
pub(crate) mod load_phases;
mod phases;
mod prepare;
mod result;
mod smoke_check;
pub(crate) mod snapshot;
mod start;
mod tear_down;

use std::cell::RefCell;

use waggle_results::{TrialEnd, TrialInfo, TrialWriter};
use waggle_system::{
    components::driver::{Driver, Failure},
    host::measuring::Measuring,
    http::client::HttpConnector,
    shutdown::Shutdown,
};

use self::phases::{Phases, Stop};
pub(crate) use self::{
    context::{Environments, RunningSystem, Trial, TrialContext, TrialEnvironment},
    duet::{Duet, Part},
};
use crate::{event_sender::Events, load::load_run::Load, trial::error::RunError};

/// How a trial ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It has a result, good or bad, that is not written yet.
    Completed(Box<Unwritten>),
    /// The caller stopped the trial; nothing of it is kept.
    Interrupted,
}

/// The result of a trial before its last file is written: until then the trial does not count.
#[derive(Debug)]
pub(crate) struct Unwritten {
    info: Box<TrialInfo>,
    writer: TrialWriter,
}

impl Unwritten {
    pub(crate) fn write(self) -> Result<TrialInfo, RunError> {
        self.writer.finish(&self.info)?;
        Ok(*self.info)
    }

    pub(crate) fn into_writer(self) -> TrialWriter {
        self.writer
    }
}

/// Runs one trial; also returns whether the system was left up.
pub(crate) async fn run<D: Driver, L: Load, W: HttpConnector>(
    environment: &mut TrialEnvironment<D, L, W>,
    context: TrialContext<'_>,
    writer: TrialWriter,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<(Ended, bool), RunError> {
    let writer = RefCell::new(writer);
    // From here on others disturb this trial.
    context.measuring.map(others_notes);
    let mut phases = Phases::new(events.clone(), shutdown.clone());
    let mut info = Box::new(result::begun_trial(context));
    let mut aborted = None;
    let trial = Trial {
        context,
        events,
        shutdown,
        writer: &writer,
    };
    let came = trial
        .run_phases(environment, &mut phases, &mut info, &mut aborted)
        .await;
    if let (Err(_), Some(duet)) = (&came, context.duet) {
        duet.fail();
    }
    let came = came.map_err(|stop| with_log(stop, &environment.driver));
    result::note_limits(&mut info, context, environment.driver.limits());
    info.pods = environment.driver.pods();
    let metric = trial.cool_down_metric(environment);
    // The next trial must not find the effects of this one.
    let has_faults = !context.cell.faults.is_empty();
    let may_stay_up = context.may_stay_up && !has_faults;
    let stays_up = may_stay_up && came.is_ok() && result::is_complete(&info);
    if stays_up {
        phases.watch_no_more();
        drop(aborted);
    } else {
        trial
            .tear_down(environment, &mut phases, &mut info, aborted)
            .await;
    }
    trial.keep_logs(&mut info);
    if !stays_up {
        trial.remove_folder(&mut info);
    }
    match came {
        Ok(()) => {}
        Err(Stop::Failed { phase, failure }) => {
            info.end = TrialEnd::Failed {
                phase,
                reason: failure.reason,
                log_tail: failure.log_tail,
            };
        }
        Err(Stop::Broken(problem)) => return Err(problem),
        // If the caller ended the load to keep its result and then stops at once, answers are not awaited.
        Err(Stop::Interrupted) if shutdown.load_is_to_end() && result::has_measured(&info) => {
            let remark = "answers under way when the load ended were not awaited";
            info.remarks.push(remark.to_owned());
        }
        Err(Stop::Interrupted | Stop::Died { .. }) => return Ok((Ended::Interrupted, false)),
    }
    if context.has_next {
        trial
            .cool_down(environment, &mut phases, &mut info, metric)
            .await;
    }
    let others = context.measuring.map(others_notes);
    info.remarks.extend(others.into_iter().flatten());
    result::redact(&mut info, context.secrets);
    info.phases = phases.phase_infos();
    let unwritten = Unwritten {
        info,
        writer: writer.into_inner(),
    };
    Ok((Ended::Completed(Box::new(unwritten)), stays_up))
}

/// Others that measured on this machine or followed this run since the last call.
fn others_notes(measuring: &Measuring) -> Vec<String> {
    let notes = [measuring.note(), measuring.follower_note()];
    notes.into_iter().flatten().collect()
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
