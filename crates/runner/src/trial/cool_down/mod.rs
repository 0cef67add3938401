//! Waiting between two trials until a value of the machine is below or above a bound.

mod command;
mod files;
mod pause;
mod sensors;

#[cfg(test)]
mod tests;

use std::time::Duration;

pub(crate) use sensors::Reader;
use tokio::time::{Instant, sleep};
use waggle_results::{CoolDownInfo, CoolDownUntilInfo};
use waggle_study::{CoolDownUntil, Schedule, Sensor, Study};
use waggle_system::{http::client::HttpConnection, problem::Problem};

use crate::trial::error::RunError;

/// Reads the value, after its scale, until its bound holds, at most so long. A value that cannot be read does not end the wait.
pub(crate) async fn wait(
    until: &CoolDownUntil,
    at_most: Duration,
    mut read: impl AsyncFnMut() -> Result<f64, Problem>,
) -> CoolDownInfo {
    let start = Instant::now();
    let deadline = start + at_most;
    loop {
        let reading = read().await;
        let is_reached = reading
            .as_ref()
            .is_ok_and(|value| until.bound.holds(*value));
        let now = Instant::now();
        if is_reached || now >= deadline {
            return CoolDownInfo {
                waited_s: (now - start).as_secs_f64(),
                value: reading.as_ref().ok().copied(),
                problem: reading.err().map(|problem| problem.to_string()),
                is_reached,
            };
        }
        sleep(until.poll_interval.min(deadline - now)).await;
    }
}

/// What is worth a line in the report: that the time was over.
pub(crate) fn remark(until: &CoolDownUntil, info: &CoolDownInfo) -> Option<String> {
    if info.is_reached {
        return None;
    }
    let state = match (info.value, &info.problem) {
        (Some(value), _) => format!("was {}, not {}", round_value(value), until.bound),
        (None, Some(problem)) => format!("could not be read: {problem}"),
        (None, None) => "was not read".to_owned(),
    };
    Some(format!(
        "the cool-down after this trial ended at its timeout, after {:.1} s: {} {state}",
        info.waited_s,
        until.value_name()
    ))
}

/// A product of a scale may be off in its last digits.
fn round_value(value: f64) -> f64 {
    const DIGITS: f64 = 1e6;
    let quotient = (value * DIGITS).round() / DIGITS;
    if quotient.is_finite() {
        quotient
    } else {
        value
    }
}

/// What the schedule says of it, for the results.
pub(crate) fn until_info(schedule: &Schedule) -> Option<CoolDownUntilInfo> {
    let until = schedule.cool_down_until.as_ref()?;
    Some(CoolDownUntilInfo {
        value: until.value_name(),
        bound: until.bound.to_string(),
        poll_interval_s: until.poll_interval.as_secs_f64(),
        timeout_s: schedule.cool_down.as_secs_f64(),
    })
}

/// Reads each sensor of the study once, before anything is started. Metrics are those of components that need not run yet.
///
/// # Errors
/// A sensor that cannot be read, with what may be done.
pub(crate) async fn check_sensors(study: &Study) -> Result<(), RunError> {
    let mut checked: Vec<&Sensor> = Vec::new();
    for cell in &study.cells {
        let Some(until) = &cell.schedule.cool_down_until else {
            continue;
        };
        if checked.contains(&&until.sensor) || matches!(until.sensor, Sensor::Metric(_)) {
            continue;
        }
        checked.push(&until.sensor);
        let mut reader = Reader::<HttpConnection>::new(until, None, None);
        reader.read().await.map_err(|why| RunError::Sensor {
            key: until.sensor.key(),
            why: why.to_string(),
            remedy: remedy(&until.sensor),
        })?;
    }
    Ok(())
}

/// What may be done if a sensor cannot be read.
fn remedy(sensor: &Sensor) -> &'static str {
    match sensor {
        Sensor::File(_) => {
            "name a file of this machine, or wait for load_average or idle_cpu, which need no sensor"
        }
        Sensor::Command(_) => {
            "the command must end with exit code 0 within 10 s, and its output begin with a number"
        }
        Sensor::Metric(_) => "the component must run and have the metric",
        Sensor::LoadAverage | Sensor::IdleCpu => {
            "/proc must be readable; or wait for a file or command"
        }
    }
}
