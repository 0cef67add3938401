//! The pause after a trial: until the host is idle, or until a value of the machine is below or above a bound.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use waggle_results::{PhaseName, TrialInfo};
use waggle_study::Sensor;
use waggle_system::{
    components::{driver::Driver, metric_source::Source},
    http::client::HttpConnector,
};

use crate::trial::{
    Trial, TrialEnvironment, cool_down,
    cool_down::Reader,
    phases::{Abort, Allowed, Phases, SPARE},
};

/// Interval between two checks whether the host is idle.
const REST_EVERY: Duration = Duration::from_millis(100);

impl Trial<'_> {
    /// The metric that the cool-down reads, while its addresses are known; `None`: it reads none, or there are no addresses.
    pub(in crate::trial) fn cool_down_metric<D: Driver, L, W: HttpConnector>(
        &self,
        environment: &TrialEnvironment<D, L, W>,
    ) -> Option<Source<W::Connection>> {
        let until = self.context.cell.schedule.cool_down_until.as_ref()?;
        let Sensor::Metric(name) = &until.sensor else {
            return None;
        };
        let mut metrics = self.context.system.metrics.iter();
        let metric = metrics.find(|metric| metric.name == *name)?;
        let driver = &environment.driver;
        let peers = driver.peers(&metric.component, &metric.port);
        Source::new(metric, &peers, |peer| environment.http.connection(peer)).ok()
    }

    /// The trial is over and has its result, even if this is aborted.
    pub(in crate::trial) async fn cool_down<D: Driver, L, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        phases: &mut Phases,
        info: &mut TrialInfo,
        metric: Option<Source<W::Connection>>,
    ) {
        let schedule = &self.context.cell.schedule;
        let at_most = schedule.cool_down;
        let allowed = Allowed::limit(at_most + SPARE);
        let Some(until) = &schedule.cool_down_until else {
            let work = wait_until_idle(&mut environment.driver, at_most);
            phases.run(PhaseName::CoolDown, allowed, work).await.ok();
            return;
        };
        let loops = self.context.clocks.and_then(|clocks| clocks.loops);
        let mut reader = Reader::new(until, loops, metric);
        let work = async {
            let waited = cool_down::wait(until, at_most, async || reader.read().await);
            Ok::<_, Abort>(waited.await)
        };
        if let Ok(waited) = phases.run(PhaseName::CoolDown, allowed, work).await {
            info.remarks.extend(cool_down::remark(until, &waited));
            info.cool_down = Some(waited);
        }
    }
}

async fn wait_until_idle<D: Driver>(driver: &mut D, at_most: Duration) -> Result<(), Abort> {
    let deadline = Instant::now() + at_most;
    while Instant::now() < deadline && !driver.is_host_idle() {
        sleep(REST_EVERY.min(deadline.saturating_duration_since(Instant::now()))).await;
    }
    Ok(())
}
