//! The phases of a trial, and how often each cell is tried.
// long: the keys of the schedule, each with its own rules

use std::time::Duration;

use waggle_spec::{LoadModel, RampUp, Restart, TrialOrder, WarmUpUntil};
use waggle_units::format_duration;

use super::{
    Checker,
    cool_down::{OfSystem, cool_down},
    level::GivenLevel,
    path_text,
    recovery::recovery,
    stages::{refuse_other_levels, refuse_phases_after_stages},
    stop_when::stop_when,
};
use crate::{Delivery, Schedule, mistake::Finding, raw};

/// Fewest intervals for a test of steadiness.
pub const MIN_STEADY_INTERVALS: u32 = 4;
/// Fewest intervals that show that a system is steady; a warm-up that may end when steady must be that long.
pub const MIN_WARM_UP_INTERVALS: u32 = 8;
/// Most histogram intervals of a phase that is counted in them.
pub const MAX_INTERVALS: u32 = 100_000;
/// Longest time of a phase.
pub const MAX_PHASE: Duration = Duration::from_secs(24 * 3600);
/// Shortest and longest time of a phase.
pub(super) const PHASE: (Duration, Duration) = (Duration::from_millis(10), MAX_PHASE);

/// Bounds of a histogram interval and of a sampling interval.
const INTERVAL: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(60));
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
/// Defaults for a measured phase of fewer than [`WANTED_INTERVALS`] seconds, the first of which it is a multiple.
const SHORT_INTERVALS: [Duration; 2] = [Duration::from_millis(250), Duration::from_millis(100)];
/// With so many the test of steadiness has something to go by.
const WANTED_INTERVALS: u32 = 12;
const WARM_UP_TIMEOUT: Duration = Duration::from_secs(20);
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
const QUIET_PERIOD: Duration = Duration::from_secs(2);
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// The same of a server that runs already, which need not start.
const SERVER_TIMEOUT: Duration = Duration::from_secs(5);
const QUIET_TIMEOUT: Duration = Duration::from_secs(10);
/// Fewest and most trials of a cell, by default.
const REPEAT: (u32, u32) = (3, 8);
/// Widest 95 % interval of a metric that the study asks about before a cell needs no further trial, by default.
const MAX_CI_WIDTH: f64 = 0.2;
const MEASURE_TIMEOUT: Duration = Duration::from_secs(3600);
const MEASURE: [&str; 2] = ["schedule", "measure"];
const WARM_UP: [&str; 2] = ["schedule", "warm_up"];
const RAMP_UP: [&str; 3] = ["schedule", "warm_up", "ramp_up"];

/// The parts of a study that its schedule must fit; a field is `None` if its part is missing or has a mistake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScheduleContext<'a> {
    pub interval: Option<Duration>,
    pub sampling_interval: Option<Duration>,
    pub delivery: Option<&'a Delivery>,
    pub load: Option<&'a LoadModel>,
    /// How long the stages of the load take; `None`: it has none.
    pub stages: Option<Duration>,
    /// The configured system, and the part of the study that names it.
    pub system: OfSystem<'a>,
    /// Whether the load goes to a server that runs already; `None`: not known.
    pub is_external: Option<bool>,
}

/// The phases.
pub(crate) fn schedule(
    checker: &mut Checker<'_>,
    raw: &raw::Schedule,
    context: &ScheduleContext<'_>,
) -> Option<Schedule> {
    let warm_up = warm_up(checker, raw, context);
    let ramp_up = match ramp_up_of(raw) {
        Some(given) => ramp_up(checker, given, context, warm_up).map(Some),
        None => checker.value_or_default(None, &RAMP_UP, None),
    };
    let measure = warm_up.and_then(|(_, time)| measure_phase(checker, raw, context, time));
    if context.stages.is_some() {
        refuse_other_levels(checker, raw);
    }
    let recovery = match &raw.recovery {
        Some(given) => recovery(checker, raw, given, context, (warm_up, ramp_up)).map(Some),
        None => checker.value_or_default(None, &["schedule", "recovery"], None),
    };
    let stop_when = stop_when(checker, raw, context.is_external);
    let drain = drain(checker, raw, context.delivery);
    let path = ["schedule", "ready_timeout"];
    let default = match context.is_external {
        Some(true) => SERVER_TIMEOUT,
        _ => READY_TIMEOUT,
    };
    let ready_timeout = checker.duration(raw.ready_timeout, &path, default, PHASE);
    let path = ["schedule", "quiet_timeout"];
    let bounds = (Duration::ZERO, MAX_PHASE);
    let quiet_timeout = checker.duration(raw.quiet_timeout, &path, QUIET_TIMEOUT, bounds);
    let cool_down = cool_down(checker, raw.cool_down.as_ref(), context.system);
    let (warm_up_until, warm_up) = warm_up?;
    let (drain_timeout, drain_quiet_period) = drain?;
    let (cool_down, cool_down_until) = cool_down?;
    Some(Schedule {
        warm_up_until,
        warm_up,
        ramp_up: ramp_up?,
        measure: measure?,
        requests: requests_of(raw),
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

/// The histogram interval and the sampling interval.
pub(crate) fn intervals(
    checker: &mut Checker<'_>,
    raw: Option<&raw::Schedule>,
) -> (Option<Duration>, Option<Duration>) {
    let default = default_interval(raw);
    let path = ["schedule", "interval"];
    let given = raw.and_then(|raw| raw.interval);
    let interval = checker.duration(given, &path, default, INTERVAL);
    let path = ["schedule", "sampling_interval"];
    let given = raw.and_then(|raw| raw.sampling_interval);
    let sampling_interval = checker.duration(given, &path, DEFAULT_INTERVAL, INTERVAL);
    (interval, sampling_interval)
}

/// The histogram interval of a schedule that does not give it.
fn default_interval(raw: Option<&raw::Schedule>) -> Duration {
    let measured = match raw.and_then(|raw| raw.measure.as_ref()) {
        Some(raw::Measured::Time(raw::DurationText(time))) => *time,
        Some(raw::Measured::Requests(_)) | None => return DEFAULT_INTERVAL,
    };
    if measured >= DEFAULT_INTERVAL * WANTED_INTERVALS {
        return DEFAULT_INTERVAL;
    }
    let is_divisor = |interval: &Duration| {
        measured >= *interval && measured.as_nanos().is_multiple_of(interval.as_nanos())
    };
    let divisor = SHORT_INTERVALS.into_iter().find(is_divisor);
    divisor.unwrap_or(DEFAULT_INTERVAL)
}

/// The order of the trials; the same for every cell.
pub(crate) fn order(raw: &raw::Schedule) -> TrialOrder {
    raw.order.unwrap_or(TrialOrder::Shuffled)
}

/// The fewest and the most trials, the same for every cell; nothing if they contradict each other, which is reported.
pub(crate) fn repetitions(checker: &mut Checker<'_>, raw: &raw::Schedule) -> Option<(u32, u32)> {
    let until = match &raw.repeat {
        Some(raw::Repeat::Times(times)) => return Some((*times, *times)),
        Some(raw::Repeat::Until(until)) => until,
        None => return Some(REPEAT),
    };
    let (min, max) = match (until.min, until.max) {
        (Some(min), max) => (min, max.unwrap_or(REPEAT.1.max(min))),
        (None, Some(max)) => (REPEAT.0.min(max), max),
        (None, None) => REPEAT,
    };
    if max < min {
        let what = format!("schedule.repeat.max is {max}, less than min");
        let position = checker.position_of(&["schedule", "repeat", "max"]);
        checker.report(Finding::new(position, what).with_expected(format!("at least {min}")));
        return None;
    }
    Some((min, max))
}

/// The time after which no repetition is added, if the study has one.
pub(crate) fn max_duration(raw: Option<&raw::Schedule>) -> Option<Duration> {
    match raw.and_then(|raw| raw.repeat.as_ref()) {
        Some(raw::Repeat::Until(until)) => until.max_duration.map(|raw::DurationText(time)| time),
        Some(raw::Repeat::Times(_)) | None => None,
    }
}

/// How wide the interval of a metric that the study asks about may be in a cell that needs no further trial; the same for every cell.
pub(crate) fn max_ci_width(raw: Option<&raw::Schedule>) -> f64 {
    match raw.and_then(|raw| raw.repeat.as_ref()) {
        Some(raw::Repeat::Until(until)) => until.max_ci_width.map(|raw::Width(width)| width),
        Some(raw::Repeat::Times(_)) | None => None,
    }
    .unwrap_or(MAX_CI_WIDTH)
}

/// How often the system is started from scratch; the same for every cell.
pub(crate) fn restart(raw: Option<&raw::Schedule>) -> Restart {
    raw.and_then(|raw| raw.restart).unwrap_or_default()
}

/// What ends the warm-up, and how long it takes at most.
fn warm_up(
    checker: &mut Checker<'_>,
    raw: &raw::Schedule,
    context: &ScheduleContext<'_>,
) -> Option<(WarmUpUntil, Duration)> {
    let (until, time, path) = match &raw.warm_up {
        Some(raw::WarmUp::Time(raw::DurationText(time))) => {
            (Some(WarmUpUntil::Duration), Some(*time), &WARM_UP[..])
        }
        Some(raw::WarmUp::Until(given)) => {
            let until = warm_up_end(checker, given, context.stages.is_some());
            let (time, path) = warm_up_time(checker, given, until?);
            (until, time, path)
        }
        None => {
            let none = context.stages.is_some()
                || requests_of(raw).is_some()
                || context.load.is_some_and(LoadModel::is_clients);
            let default = match none {
                true => (WarmUpUntil::Duration, Duration::ZERO),
                false => (WarmUpUntil::Steady, WARM_UP_TIMEOUT),
            };
            return checker.value_or_default(None, &WARM_UP, default);
        }
    };
    let until = until?;
    let time = checker.check_bounds(time?, path, (Duration::ZERO, PHASE.1))?;
    if !time.is_zero() && context.load.is_some_and(LoadModel::is_clients) {
        let what =
            "schedule.warm_up belongs to a load that does not end by itself; this one is clients";
        let expected = "no warm_up; a load of prepare can send requests before";
        checker.report(Finding::new(checker.position_of(path), what).with_expected(expected));
        return None;
    }
    let (intervals, why) = match until {
        WarmUpUntil::Steady => (
            MIN_WARM_UP_INTERVALS,
            "until: steady cannot be judged sooner",
        ),
        WarmUpUntil::Duration if time.is_zero() => (0, ""),
        WarmUpUntil::Duration | WarmUpUntil::Requests(_) => (1, "a warm-up lasts at least one"),
    };
    if let Some(shortest) = context
        .interval
        .map(|interval| interval * intervals)
        .filter(|shortest| time < *shortest)
    {
        let what = format!(
            "{} is {}, shorter than {intervals} × schedule.interval",
            path_text(path),
            format_duration(time)
        );
        let expected = format!("at least {}: {why}", format_duration(shortest));
        checker.report(Finding::new(checker.position_of(path), what).with_expected(expected));
    }
    Some((until, time))
}

/// What ends a warm-up that the study describes: one thing.
fn warm_up_end(
    checker: &mut Checker<'_>,
    given: &raw::WarmUpUntil,
    has_stages: bool,
) -> Option<WarmUpUntil> {
    let path = |key: &'static str| [WARM_UP[0], WARM_UP[1], key];
    let ends = [
        ("duration", given.duration.is_some()),
        ("until", given.until.is_some()),
        ("requests", given.requests.is_some()),
    ];
    if ends.iter().any(|(key, _)| checker.is_invalid(&path(key))) {
        return None;
    }
    let mut named = ends.into_iter().filter(|(_, given)| *given);
    if let (Some((first, _)), Some((second, _))) = (named.next(), named.next()) {
        let what = format!("schedule.warm_up has both {first} and {second}");
        let position = checker.key(&path(second));
        checker.report(Finding::new(position, what).with_expected("one of the two"));
        return None;
    }
    if let Some(requests) = given.requests {
        return Some(WarmUpUntil::Requests(requests));
    }
    if given.duration.is_some() {
        return Some(WarmUpUntil::Duration);
    }
    if has_stages {
        let what =
            "schedule.warm_up ends when the system is steady, and a load with stages never is";
        let position = checker.position_of(&path("until"));
        checker.report(Finding::new(position, what).with_expected("warm_up: a duration"));
    }
    Some(WarmUpUntil::Steady)
}

/// How long a warm-up takes at most, with the path of its key.
fn warm_up_time(
    checker: &mut Checker<'_>,
    given: &raw::WarmUpUntil,
    until: WarmUpUntil,
) -> (Option<Duration>, &'static [&'static str]) {
    const TIMEOUT: [&str; 3] = ["schedule", "warm_up", "timeout"];
    const DURATION: [&str; 3] = ["schedule", "warm_up", "duration"];
    let time = |given: Option<raw::DurationText>| given.map(|raw::DurationText(time)| time);
    if until != WarmUpUntil::Duration {
        if given.timeout.is_none() && !checker.is_invalid(&TIMEOUT) {
            let what = "schedule.warm_up lacks the key \"timeout\"";
            let expected = "timeout: a duration such as 250ms, 10s, 2m or 1h, at most 168h";
            checker.report(Finding::new(checker.key(&WARM_UP), what).with_expected(expected));
        }
        return (time(given.timeout), &TIMEOUT);
    }
    if given.timeout.is_some() {
        let what = "schedule.warm_up has both duration and timeout";
        checker.report(Finding::new(checker.key(&TIMEOUT), what).with_expected("one of the two"));
    }
    (time(given.duration), &DURATION)
}

/// The ramp-up of the warm-up, if the study has one.
fn ramp_up_of(raw: &raw::Schedule) -> Option<&raw::RampUp> {
    match raw.warm_up.as_ref()? {
        raw::WarmUp::Time(_) => None,
        raw::WarmUp::Until(given) => given.ramp_up.as_ref(),
    }
}

/// Whether a warm-up has a ramp-up.
pub(super) fn has_ramp_up(raw: &raw::Schedule) -> bool {
    ramp_up_of(raw).is_some()
}

/// How long the measured phase may take, after a warm-up of this length.
fn measure_phase(
    checker: &mut Checker<'_>,
    raw: &raw::Schedule,
    context: &ScheduleContext<'_>,
    warm_up: Duration,
) -> Option<Duration> {
    let rest = context.stages.map(|stages| stages.saturating_sub(warm_up));
    let time = match &raw.measure {
        Some(raw::Measured::Time(raw::DurationText(time))) => {
            whole_intervals(checker, *time, &MEASURE, context.interval)?
        }
        Some(raw::Measured::Requests(given)) => {
            refuse_unknown_length(checker, raw);
            if context.load.is_some_and(LoadModel::is_clients) {
                let what = "schedule.measure is a number of requests, and each client has its own";
                let expected = "the longest time that the load may take, e.g. 10m; load.requests is the number";
                let position = checker.position_of(&MEASURE);
                checker.report(Finding::new(position, what).with_expected(expected));
                return None;
            }
            measure_timeout(checker, given, context.interval?, rest)?
        }
        None if checker.is_invalid(&MEASURE) => return None,
        // It ends with its clients.
        None if context.load.is_some_and(LoadModel::is_clients) => {
            longest_measure(context.interval?, None)
        }
        None => match rest {
            Some(rest) => whole_intervals(checker, rest, &["load", "stages"], context.interval)?,
            None => {
                let what = "schedule lacks the key \"measure\"";
                let expected =
                    "measure: a duration such as 250ms, 10s, 2m or 1h, or { requests: 10000 }";
                let position = checker.key(&["schedule"]);
                checker.report(Finding::new(position, what).with_expected(expected));
                return None;
            }
        },
    };
    if let Some(stages) = context.stages {
        refuse_phases_after_stages(checker, warm_up + time, stages);
    }
    Some(time)
}

/// The number of requests that ends the measured phase.
fn requests_of(raw: &raw::Schedule) -> Option<u64> {
    match &raw.measure {
        Some(raw::Measured::Requests(given)) => given.requests,
        Some(raw::Measured::Time(_)) | None => None,
    }
}

/// The limit of a phase that ends by its requests, in whole intervals; without one, the `rest` of the stages.
fn measure_timeout(
    checker: &mut Checker<'_>,
    given: &raw::MeasuredRequests,
    interval: Duration,
    rest: Option<Duration>,
) -> Option<Duration> {
    let path = ["schedule", "measure", "timeout"];
    let time = match given.timeout {
        Some(raw::DurationText(time)) => whole_intervals(checker, time, &path, Some(interval))?,
        None => longest_measure(interval, rest),
    };
    checker.value_or_default(Some(time), &path, time)
}

/// The longest time of a phase that ends by itself, if the study does not give one.
fn longest_measure(interval: Duration, rest: Option<Duration>) -> Duration {
    let longest = interval.saturating_mul(MAX_INTERVALS);
    let time = rest.unwrap_or(MEASURE_TIMEOUT).min(longest);
    let intervals = time.as_nanos() / interval.as_nanos().max(1);
    interval * u32::try_from(intervals.max(1)).unwrap_or(u32::MAX)
}

/// Reports recovery and faults in a study whose measured phase ends by its requests: both need an instant that is known before
/// the load starts.
fn refuse_unknown_length(checker: &mut Checker<'_>, raw: &raw::Schedule) {
    let has_faults = checker.root().child("faults").is_some();
    let given = [
        (&["schedule", "recovery"][..], raw.recovery.is_some()),
        (&["faults"][..], has_faults),
    ];
    for (path, _) in given.into_iter().filter(|(_, given)| *given) {
        let what = format!(
            "{} needs a measured phase of fixed duration, and this one ends by its requests",
            path.join(".")
        );
        let position = checker.key(path);
        checker.report(Finding::new(position, what).with_expected("schedule.measure: a duration"));
    }
}

/// Checks the ramp-up; `warm_up` is what ends the warm-up, and how long it takes.
fn ramp_up(
    checker: &mut Checker<'_>,
    given: &raw::RampUp,
    context: &ScheduleContext<'_>,
    warm_up: Option<(WarmUpUntil, Duration)>,
) -> Option<RampUp> {
    let given_level = GivenLevel {
        path: &RAMP_UP,
        rate: given.rate,
        users: given.users,
        does: "lets the load rise",
    };
    let level = context
        .load
        .and_then(|load| given_level.level(checker, load));
    let path = [&RAMP_UP[..], &["duration"]].concat();
    let duration = given.duration.and_then(|raw::DurationText(time)| {
        whole_intervals(checker, time, &path, context.interval)
    })?;
    if let Some((until, time)) = warm_up.filter(|(_, time)| duration >= *time) {
        let what = format!("{} is {}", path_text(&path), format_duration(duration));
        let key = match until {
            WarmUpUntil::Duration => "duration",
            WarmUpUntil::Steady | WarmUpUntil::Requests(_) => "timeout",
        };
        let expected = format!(
            "less than schedule.warm_up.{key}, {}: the rest of it is at the load's own level",
            format_duration(time)
        );
        checker.report(Finding::new(checker.position_of(&path), what).with_expected(expected));
    }
    let (level, _) = level?;
    Some(RampUp { level, duration })
}

/// A phase that is counted in intervals.
pub(super) fn whole_intervals(
    checker: &mut Checker<'_>,
    time: Duration,
    path: &[&str],
    interval: Option<Duration>,
) -> Option<Duration> {
    let time = checker.check_bounds(time, path, PHASE)?;
    let interval = interval?;
    let what = format!("{} is {}", path_text(path), format_duration(time));
    if time < interval || !time.as_nanos().is_multiple_of(interval.as_nanos()) {
        let expected = format!(
            "a whole multiple of schedule.interval, {}",
            format_duration(interval)
        );
        checker.report(Finding::new(checker.position_of(path), what).with_expected(expected));
    } else if time.as_nanos() / interval.as_nanos() > u128::from(MAX_INTERVALS) {
        let expected = format!(
            "at most {MAX_INTERVALS} intervals of {}",
            format_duration(interval)
        );
        checker.report(Finding::new(checker.position_of(path), what).with_expected(expected));
    }
    Some(time)
}

/// How long a drain may take, and for how long nothing new arrives before it ends.
fn drain(
    checker: &mut Checker<'_>,
    raw: &raw::Schedule,
    delivery: Option<&Delivery>,
) -> Option<(Duration, Duration)> {
    let path = ["schedule", "drain", "timeout"];
    let default = if delivery.is_some() {
        DRAIN_TIMEOUT
    } else {
        Duration::ZERO
    };
    let timeout = match &raw.drain {
        Some(drain) => checker.check_bounds(drain.timeout?.0, &path, (Duration::ZERO, PHASE.1))?,
        None => checker.value_or_default(None, &["schedule", "drain"], default)?,
    };
    if let Some(poll) = delivery
        .map(|delivery| delivery.poll_interval)
        .filter(|poll| timeout < *poll)
    {
        let what = format!(
            "schedule.drain.timeout is {}, shorter than delivery.poll_interval",
            format_duration(timeout)
        );
        let expected = format!(
            "at least {}, or the last records are never looked for",
            format_duration(poll)
        );
        checker.report(Finding::new(checker.position_of(&path), what).with_expected(expected));
    }
    let path = ["schedule", "drain", "quiet_period"];
    let quiet_period = raw.drain.as_ref().and_then(|drain| drain.quiet_period);
    let quiet_period = match quiet_period {
        Some(raw::DurationText(time)) => {
            checker.check_bounds(time, &path, (Duration::ZERO, timeout))?
        }
        None => checker.value_or_default(None, &path, QUIET_PERIOD.min(timeout))?,
    };
    Some((timeout, quiet_period))
}
