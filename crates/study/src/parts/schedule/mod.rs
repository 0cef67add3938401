//! The part `schedule` of a study: the phases of a trial, and how often each cell is tried.

mod cool_down;
mod drain;
mod intervals;
mod level;
mod measure;
mod phase;
mod recovery;
mod repeat;
mod sentinel;
mod stop_when;
mod warm_up;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{Restart, TrialOrder};

use self::{
    cool_down::{CoolDown, cool_down},
    drain::{Drain, drain},
    measure::{Measured, measure, refuse_unknown_length, requests_of},
    recovery::{Before, Recovery, recovery},
    repeat::Repeat,
    sentinel::{Sentinel, sentinel},
    stop_when::{StopWhen, stop_when},
    warm_up::{WarmUp, ramp_up, ramp_up_key, warm_up},
};
pub(crate) use self::{
    intervals::intervals,
    phase::{PHASE, PHASE_OR_NONE, ScheduleContext},
};
pub use self::{
    phase::{MAX_INTERVALS, MAX_PHASE},
    warm_up::{MIN_STEADY_INTERVALS, MIN_WARM_UP_INTERVALS},
};
use crate::{
    at::{At, Key},
    check::Checker,
    raw::DurationText,
};

/// The phases of a trial, and how often each cell is tried.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Schedule {
    /// Load before measuring: a time, or what ends it; until steady, at most 20s, by default.
    pub warm_up: Key<WarmUp>,
    /// The measured phase: a time, or `{ requests: 10000 }`. With `load.stages` the rest of them by default, else required.
    pub measure: Key<Measured>,
    /// Length of one histogram interval; by default 1s, and 250ms or 100ms if `measure` is shorter than 12s. `measure` is a whole
    /// number of them.
    pub interval: Key<DurationText>,
    /// Time between two samples of CPU, memory and the system's metrics; 1s by default.
    pub sampling_interval: Key<DurationText>,
    /// Load after the measured phase at a lower level, to see how soon the system recovers; none by default. For load.model open
    /// and users, with a warm-up of fixed duration.
    pub recovery: Key<Recovery>,
    /// Ends a trial early: each entry is a metric that is above its bound for some time, in the warm-up or the measured phase.
    /// For system.url an error rate of 50% for 5s by default, else nothing; `[]`: nothing.
    pub stop_when: Key<Vec<At<StopWhen>>>,
    /// How long records are awaited after the load has stopped; 30s by default if delivery is followed.
    pub drain: Key<Drain>,
    /// How long the system may take until it is ready, or a server that is given by its URL until it accepts connections; 30s by default,
    /// of a server 5s.
    pub ready_timeout: Key<DurationText>,
    /// The longest wait before each trial until other programs use less than 15% of the CPUs: 10s by default, 0s: none. All waits of a
    /// run take at most a tenth of its planned time, and after two in vain there is none.
    pub quiet_timeout: Key<DurationText>,
    /// Pause between two trials: the longest that it is waited until the CPUs of the machine are idle, or `{ until, poll_interval,
    /// timeout }`; none by default.
    pub cool_down: Key<CoolDown>,
    /// Trials of each cell: a number, or `{ min, max, max_ci_width }`; 3 to 8 by default.
    pub repeat: Key<Repeat>,
    /// Order of the cells within each repetition; shuffled by default.
    pub order: Key<TrialOrder>,
    /// Runs the first cell again every so many trials, to show whether the host drifts; these trials are in no other result. None by
    /// default.
    pub sentinel: Key<Sentinel>,
    /// How often the system is started from scratch; for every trial by default.
    pub restart: Key<Restart>,
}

const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// The same of a server that runs already, which need not start.
const SERVER_TIMEOUT: Duration = Duration::from_secs(5);
const QUIET_TIMEOUT: Duration = Duration::from_secs(10);

/// The phases.
pub(crate) fn schedule(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<Schedule>,
    context: &ScheduleContext<'_>,
) -> Option<crate::Schedule> {
    let requests = requests_of(&keys.measure);
    let warm_up = warm_up(checker, &keys.warm_up, requests, context);
    let ramp_up =
        ramp_up_key(&keys.warm_up).check(|given| ramp_up(checker, given, context, warm_up));
    if warm_up.is_some() && matches!(keys.measure.value(), Some(Measured::Requests(_))) {
        refuse_unknown_length(checker, keys.recovery.place());
    }
    let measure =
        warm_up.and_then(|warm_up| measure(checker, &keys.measure, place, context, warm_up.time));
    if context.stages.is_some() {
        refuse_other_levels(checker, keys);
    }
    let before = Before {
        keys: &keys.warm_up,
        phase: warm_up,
        ramp_up,
    };
    let recovery = (keys.recovery).check(|given| recovery(checker, given, context, before));
    let stop_when = stop_when(checker, &keys.stop_when, context.is_external);
    let drain = drain(checker, &keys.drain, place, context.delivery);
    let default = match context.is_external {
        Some(true) => SERVER_TIMEOUT,
        _ => READY_TIMEOUT,
    };
    let findings = &mut checker.findings;
    let ready_timeout = keys.ready_timeout.check_bounds(default, PHASE, findings);
    let quiet_timeout = &keys.quiet_timeout;
    let quiet_timeout = quiet_timeout.check_bounds(QUIET_TIMEOUT, PHASE_OR_NONE, findings);
    let cool_down = cool_down(checker, &keys.cool_down, context);
    let warm_up = warm_up?;
    let (drain_timeout, drain_quiet_period) = drain?;
    let (cool_down, cool_down_until) = cool_down?;
    Some(crate::Schedule {
        warm_up_until: warm_up.until,
        warm_up: warm_up.time,
        ramp_up: ramp_up?,
        measure: measure?,
        requests,
        interval: context.interval?,
        sampling_interval: context.sampling_interval?,
        recovery: recovery?,
        stop_when: stop_when?,
        drain_timeout,
        drain_quiet_period,
        ready_timeout: ready_timeout?,
        quiet_timeout: quiet_timeout?,
        cool_down,
        cool_down_until,
    })
}

/// Reports a phase that sets a level of its own in a study whose stages set every level.
fn refuse_other_levels(checker: &mut Checker<'_>, keys: &Schedule) {
    let ramp_up = ramp_up_key(&keys.warm_up).place();
    for place in [ramp_up, keys.recovery.place()].into_iter().flatten() {
        let mistake = place.key_mistake("sets a level, but load.stages set every level");
        checker.report(mistake.with_expected("one more stage"));
    }
}

impl Schedule {
    /// The order of the trials; the same for every cell.
    pub(crate) fn order(&self) -> TrialOrder {
        self.order.value().copied().unwrap_or(TrialOrder::Shuffled)
    }

    /// How often the system is started from scratch; the same for every cell.
    pub(crate) fn restart(&self) -> Restart {
        self.restart.value().copied().unwrap_or_default()
    }

    /// After how many trials the sentinel is run.
    pub(crate) fn sentinel(&self, checker: &mut Checker<'_>, has_search: bool) -> Option<u32> {
        sentinel(checker, &self.sentinel, self.restart(), has_search)
    }
}
