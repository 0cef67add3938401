//! Reads the value of a sensor.

use std::{fs, time::Duration};

use tokio::time::sleep;
use waggle_study::{CoolDownUntil, Sensor};
use waggle_system::{
    components::metric_source::Source,
    host::cpu_time::{CpuClocks, Ticks},
    http::client::Connection,
    problem::Problem,
};

use super::{command, files};

/// The first idle share is that of this time.
const FIRST_IDLE: Duration = Duration::from_secs(1);

/// Reads the value again and again.
pub(crate) struct Reader<'a, N> {
    until: &'a CoolDownUntil,
    clocks: CpuClocks,
    before: Option<Ticks>,
    /// Of a metric; `None`: it cannot be read.
    source: Option<Source<N>>,
}

impl<'a, N: Connection> Reader<'a, N> {
    /// `loops` is the process of idle polling; `source` is that of the metric, if a metric is read.
    pub(crate) fn new(
        until: &'a CoolDownUntil,
        loops: Option<u32>,
        source: Option<Source<N>>,
    ) -> Self {
        Self {
            until,
            clocks: CpuClocks {
                cpus: Vec::new(),
                loops,
            },
            before: None,
            source,
        }
    }

    /// The current value, after its scale. Of several files that which is farthest from the bound.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn read(&mut self) -> Result<f64, Problem> {
        let (scale, bound) = (self.until.scale, self.until.bound);
        match &self.until.sensor {
            Sensor::File(pattern) => {
                let numbers = files::read(pattern)?;
                let scaled = numbers.into_iter().map(|number| number * scale);
                let worst = scaled.reduce(|value, other| bound.worse(value, other));
                worst.ok_or_else(|| Problem(format!("no file is {pattern}")))
            }
            Sensor::Command(command) => {
                let number = command::read(command, command::AT_MOST).await?;
                Ok(number * scale)
            }
            Sensor::Metric(name) => match &mut self.source {
                Some(source) => Ok(source.read().await? * scale),
                None => Err(Problem(format!("the metric {name} has no address"))),
            },
            Sensor::LoadAverage => {
                let path = "/proc/loadavg";
                let text = fs::read_to_string(path);
                let text = text.map_err(|problem| format!("cannot read {path}: {problem}"))?;
                files::number(&text).ok_or_else(|| Problem(format!("{path} has no number")))
            }
            Sensor::IdleCpu => self.idle().await,
        }
    }

    /// The idle share since the last reading.
    async fn idle(&mut self) -> Result<f64, Problem> {
        let before = match self.before {
            Some(before) => before,
            None => {
                let first = self.ticks()?;
                sleep(FIRST_IDLE).await;
                first
            }
        };
        let now = self.ticks()?;
        self.before = Some(now);
        let shares = now.shares_since(before);
        shares
            .map(|shares| shares.cpu_idle)
            .ok_or_else(|| Problem("the clocks of the CPUs stand still".to_owned()))
    }

    fn ticks(&self) -> Result<Ticks, Problem> {
        let ticks = self.clocks.read();
        ticks.ok_or_else(|| Problem("cannot read /proc/stat".to_owned()))
    }
}
