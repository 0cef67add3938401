//! Waiting for a quiet machine before a trial: until other programs leave the CPUs alone, for a while and not again and again
//! (docs/design/0084).

use std::{cell::Cell, time::Duration};

use tokio::time::{Instant, sleep};
use waggle_results::QuietWaitInfo;
use waggle_stats::OTHER_CPU_MAX;
use waggle_study::Plan;

use crate::host::cpu_time::CpuReading;

/// Length of a look at the CPUs: 25 of the kernel's ticks on each.
const LOOK: Duration = Duration::from_millis(250);
/// All waits of a run take at most this share of its planned time.
const OF_RUN_MAX: f64 = 0.1;
/// After so many waits in vain the run does not wait any more: these programs will stay.
const IN_VAIN_MAX: u32 = 2;

/// The waits of one run.
#[derive(Debug)]
pub struct QuietWaits {
    left: Cell<Duration>,
    in_vain: Cell<u32>,
}

impl QuietWaits {
    pub fn new(plan: &Plan) -> Self {
        Self {
            left: Cell::new(plan.expected.mul_f64(OF_RUN_MAX)),
            in_vain: Cell::new(0),
        }
    }

    /// Waits at most `timeout` until others use little CPU; `on_wait` is called if they do not at once. `None`: there was nothing to
    /// wait for, no time, or nothing is known of the CPUs.
    pub async fn wait(
        &self,
        timeout: Duration,
        read: impl Fn() -> Option<CpuReading>,
        on_wait: impl AsyncFnOnce(QuietWaitInfo, Duration),
    ) -> Option<QuietWaitInfo> {
        let at_most = timeout.min(self.left.get());
        if at_most < LOOK || self.in_vain.get() >= IN_VAIN_MAX {
            return None;
        }
        let start = Instant::now();
        let mut before = read()?;
        let mut on_wait = Some(on_wait);
        loop {
            sleep(LOOK).await;
            let waited = start.elapsed();
            self.left.set(self.left.get().saturating_sub(LOOK));
            let now = read()?;
            let other_cores = now.other_cores_since(before)?;
            before = now;
            let is_quiet = other_cores < OTHER_CPU_MAX * f64::from(now.cpus);
            let info = QuietWaitInfo {
                waited_s: waited.as_secs_f64(),
                other_cores,
                cpus: now.cpus,
                is_quiet,
            };
            let has_waited = on_wait.is_none();
            if is_quiet {
                return has_waited.then_some(info);
            }
            if waited + LOOK > at_most {
                self.in_vain.set(self.in_vain.get() + 1);
                return Some(info);
            }
            if let Some(on_wait) = on_wait.take() {
                on_wait(info, at_most).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::cpu_time::Ticks;

    /// Waits before each trial, of 100 s of planned time, on a machine of two CPUs whose other programs use so many cores until so
    /// many seconds, and then none. In order: the seconds waited and whether it was quiet then.
    async fn check(cores: f64, until_s: f64, trials: usize, expected: &[Option<(f64, bool)>]) {
        let plan = Plan {
            trials: Vec::new(),
            expected: Duration::from_secs(100),
            expected_max: Duration::from_secs(100),
            adding_limit: Duration::ZERO,
            at_most: Duration::from_secs(100),
        };
        let waits = QuietWaits::new(&plan);
        let begin = Instant::now();
        let read = || Some(reading(begin.elapsed().as_secs_f64(), cores, until_s));
        let mut actual = Vec::new();
        for _ in 0..trials {
            let info = waits
                .wait(Duration::from_secs(4), read, async |_, _| {})
                .await;
            actual.push(info.map(|info| (info.waited_s, info.is_quiet)));
        }
        assert_eq!(actual, expected, "{cores} until {until_s}");
    }

    pub(crate) fn reading(seconds: f64, cores: f64, until_s: f64) -> CpuReading {
        let per_s = 1_000.0;
        let busy = cores * seconds.min(until_s) * per_s;
        let all = 2.0 * seconds * per_s;
        let ticks = |value: f64| {
            let ticks = Duration::from_secs_f64(value.round() / 1e3).as_millis();
            u64::try_from(ticks).unwrap()
        };
        CpuReading {
            ticks: Ticks {
                all: ticks(all),
                idle: ticks(all - busy),
                stolen: 0,
            },
            cpus: 2,
            own: Duration::ZERO,
            system: Duration::ZERO,
            is_whole: false,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_waits_for_a_while_and_not_again_and_again() {
        // A quiet machine, and one with little to do.
        check(0.0, 0.0, 2, &[None, None]).await;
        check(0.25, 1e9, 2, &[None, None]).await;
        // A program that ends.
        check(1.0, 1.0, 2, &[Some((1.25, true)), None]).await;
        // One that does not: after two waits in vain nothing is waited for.
        let vain = Some((4.0, false));
        check(1.0, 1e9, 4, &[vain, vain, None, None]).await;
        // 40 looks are a tenth of the run.
        let mut all = vec![None; 45];
        check(0.0, 0.0, 45, &all).await;
        all.truncate(3);
        check(1.0, 9.0, 3, &[vain, vain, None]).await;
    }
}
