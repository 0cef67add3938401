//! The pause after a preparation.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use waggle_study::{Settle, System, SystemMetric};
use waggle_system::{
    components::{
        driver::{Driver, Failure},
        metric_source::Source,
    },
    http::client::HttpConnector,
    problem::Problem,
};

use crate::trial::{Trial, TrialEnvironment, phases::Abort};

/// Between two readings of the metric that has to be quiet.
const SETTLE_POLL: Duration = Duration::from_millis(250);

impl Trial<'_> {
    /// Waits as long as the study says, or until a metric of the system is quiet.
    pub(super) async fn settle<D: Driver, L, W: HttpConnector>(
        &self,
        environment: &TrialEnvironment<D, L, W>,
        settle: &Settle,
    ) -> Result<(), Abort> {
        let (name, quiet_period, at_most) = match settle {
            Settle::Time(time) => {
                sleep(*time).await;
                return Ok(());
            }
            Settle::Quiet {
                metric,
                quiet_period,
                timeout,
            } => (metric, *quiet_period, *timeout),
        };
        let metric = metric(self.context.system, name)?;
        let peers = environment.driver.peers(&metric.component, &metric.port);
        let source = Source::new(metric, &peers, |peer| environment.http.connection(peer));
        let mut source = source.map_err(Failure::from)?;
        let mut last = Err(Problem("it was not read".to_owned()));
        let quiet = async {
            let mut since = Instant::now();
            loop {
                let value = source.read().await;
                if value.is_err() || value != last {
                    since = Instant::now();
                    last = value;
                } else if since.elapsed() >= quiet_period {
                    return;
                }
                sleep(SETTLE_POLL.min(quiet_period)).await;
            }
        };
        if timeout(at_most, quiet).await.is_ok() {
            return Ok(());
        }
        let seconds = at_most.as_secs_f64();
        let shown = match last {
            Ok(value) => format!("it still changes, and is {value} now"),
            Err(why) => format!("it cannot be read: {why}"),
        };
        let why = format!("metric \"{name}\" was not quiet within {seconds} s: {shown}");
        Err(Failure::new(why).into())
    }
}

fn metric<'a>(system: &'a System, name: &str) -> Result<&'a SystemMetric, Failure> {
    let entry = system.metrics.iter().find(|metric| metric.name == name);
    entry.ok_or_else(|| Failure::new(format!("the system has no metric \"{name}\"")))
}
