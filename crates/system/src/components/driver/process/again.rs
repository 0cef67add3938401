//! Killing a replica on purpose and starting it again, with the same command, ports, folder, files, environment and CPUs.

use tokio::time::Instant;

use super::{NotUp, ProcessDriver, Running};
use crate::{
    components::{
        driver::{Failure, LimitReading, child::KILL_AT_MOST},
        limits::Group,
    },
    host::{proc::Used, usage::Usage},
    problem::Problem,
};

impl Running {
    /// What it has used in all its lives; a replica that is down uses nothing more.
    pub(super) fn usage(&self) -> Option<Usage> {
        let now = if self.is_down {
            None
        } else {
            self.child.usage()
        };
        let used = match self.earlier {
            None => now?,
            Some(earlier) => {
                let now = now.unwrap_or_default();
                Used {
                    cpu: earlier + now.cpu,
                    ..now
                }
            }
        };
        Some(used.into_usage(&self.child.replica))
    }

    /// Its limits, with what it met in all its lives.
    pub(super) fn limit_reading(&self) -> LimitReading {
        let group = self.limits.group.as_ref();
        let throttled = match (
            group.and_then(Group::read_throttled),
            self.earlier_throttled,
        ) {
            (Some(now), Some(earlier)) => Some(now.plus(earlier)),
            (now, earlier) => now.or(earlier),
        };
        // A container counts over all lives of its replica.
        let throttled = self.child.container_throttled().or(throttled);
        let oom_kills = group
            .map_or(0, Group::oom_kills)
            .max(self.child.oom_kills());
        LimitReading {
            info: self.limits.info(&self.child.replica, oom_kills),
            throttled,
        }
    }
}

impl ProcessDriver {
    pub(super) async fn kill_one(&self, component: &str, number: u32) -> Result<(), Failure> {
        let name = format!("{component}-{number}");
        let mut gone = {
            let mut running = self.running.borrow_mut();
            let running = find(&mut running, &name)?;
            // The last reading of its usage; it uses almost nothing after this.
            running.earlier = running.usage().map(|used| used.cpu).or(running.earlier);
            running.earlier.get_or_insert_default();
            running.earlier_throttled = running.limit_reading().throttled;
            running.is_down = true;
            running.is_ready = false;
            running.child.kill()
        };
        if !gone.wait_at_most(KILL_AT_MOST).await {
            let seconds = KILL_AT_MOST.as_secs();
            let why = format!("{name} could not be killed within {seconds} s");
            return Err(self.blame(&name, why));
        }
        let kept = self.ports.keep(component, number);
        find(&mut self.running.borrow_mut(), &name)?.kept = kept;
        Ok(())
    }

    pub(super) async fn start_one_again(
        &self,
        component: &str,
        number: u32,
        deadline: Instant,
    ) -> Result<(), Failure> {
        let name = format!("{component}-{number}");
        let (mut start, index) = {
            let mut running = self.running.borrow_mut();
            let running = find(&mut running, &name)?;
            running.kept.clear();
            running.launch.remark("started it again here");
            let hidden = self.hidden.borrow();
            let child = (running.launch)
                .begin_again(&hidden, self.deaths.clone())
                .map_err(|why| not_started(&name, &why))?;
            running.child = child;
            running.is_down = false;
            (running.child.start_signal(), running.component)
        };
        start
            .wait_started()
            .await
            .map_err(|why| not_started(&name, &why))?;
        let component = &self.system.components[index];
        let ready = self.wait_for_one(component, number, deadline).await;
        ready.map_err(|not_up| match not_up {
            NotUp::PortTaken { failure } | NotUp::Failed(failure) => failure,
        })?;
        find(&mut self.running.borrow_mut(), &name)?.is_ready = true;
        Ok(())
    }
}

fn find<'a>(running: &'a mut [Running], name: &str) -> Result<&'a mut Running, Failure> {
    let mut running = running.iter_mut();
    running
        .find(|running| running.child.replica == name)
        .ok_or_else(|| Failure::new(format!("{name} was not started by waggle")))
}

fn not_started(name: &str, why: &Problem) -> Failure {
    Failure::new(format!("{name} could not be started again: {why}"))
}
