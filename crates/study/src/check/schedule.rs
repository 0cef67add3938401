//! The phases of a trial, and how often each cell is tried.

use std::time::Duration;

use waggle_units::format_duration;

use super::{
    Checker,
    level::Asked,
    path_text,
    recovery::recovery,
    stages::{refuse_longer, refuse_other_levels},
    stop_when::stop_when,
};
use crate::{
    Delivery, First, Fresh, LoadModel, Order, Schedule, WarmUpUntil, mistake::Finding, raw,
};

/// Intervals that a test of steadiness needs to say anything; a warm-up that may end when steady must be that long.
pub const MIN_STEADY_INTERVALS: u32 = 4;
/// Most histogram intervals of a phase that is counted in them.
pub const MAX_INTERVALS: u32 = 100_000;
/// Longest time of a phase.
pub const MAX_PHASE: Duration = Duration::from_secs(24 * 3600);
/// Shortest and longest time of a phase.
pub(super) const PHASE: (Duration, Duration) = (Duration::from_millis(10), MAX_PHASE);

const WARM_UP: Duration = Duration::from_secs(20);
const DRAIN: Duration = Duration::from_secs(30);
const QUIET: Duration = Duration::from_secs(2);
const READY: Duration = Duration::from_secs(30);
const REPEAT: u32 = 5;
const MEASURE_AT_MOST: Duration = Duration::from_secs(3600);
const MEASURE: [&str; 2] = ["schedule", "measure"];
const FIRST: [&str; 3] = ["schedule", "warm_up", "first"];

/// What a schedule has to fit; nothing where that is wrong itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beside<'a> {
    pub interval: Option<Duration>,
    pub delivery: Option<&'a Delivery>,
    pub load: Option<&'a LoadModel>,
    /// How long the stages of the load take; `None`: it has none.
    pub stages: Option<Duration>,
    /// Whether the load goes to a server that somebody else runs; `None`: not known.
    pub is_external: Option<bool>,
}

/// The phases.
pub(crate) fn schedule(
    checker: &mut Checker<'_>,
    raw: &raw::Schedule,
    beside: &Beside<'_>,
) -> Option<Schedule> {
    let warm_up = warm_up(checker, raw, beside);
    let first = match raw
        .warm_up
        .as_ref()
        .and_then(|warm_up| warm_up.first.as_ref())
    {
        Some(given) => {
            ramp_up(checker, given, beside, warm_up.map(|(_, at_most)| at_most)).map(Some)
        }
        None => checker.value_or_default(None, &FIRST, None),
    };
    let measure = warm_up.and_then(|(_, at_most)| measure_phase(checker, raw, beside, at_most));
    if beside.stages.is_some() {
        refuse_other_levels(checker, raw);
    }
    let recovery = match &raw.recovery {
        Some(given) => recovery(checker, raw, given, beside).map(Some),
        None => checker.value_or_default(None, &["schedule", "recovery"], None),
    };
    let stop_when = stop_when(checker, raw, beside.is_external);
    let drain = drain(checker, raw, beside.delivery);
    let ready = ready(checker, raw);
    let cool_down = checker.value_or_default(
        raw.cool_down.map(|raw::Span(time)| time),
        &["schedule", "cool_down"],
        Duration::ZERO,
    )?;
    let cool_down = checker.check_bounds(
        cool_down,
        &["schedule", "cool_down"],
        (Duration::ZERO, PHASE.1),
    );
    let (warm_up_until, warm_up_at_most) = warm_up?;
    let (drain_at_most, drain_quiet) = drain?;
    Some(Schedule {
        warm_up_until,
        warm_up_at_most,
        first: first?,
        measure: measure?,
        requests: requests_of(raw),
        recovery: recovery?,
        stop_when: stop_when?,
        drain_at_most,
        drain_quiet,
        ready_at_most: ready?,
        cool_down: cool_down?,
    })
}

/// How long the system has to become ready.
fn ready(checker: &mut Checker<'_>, raw: &raw::Schedule) -> Option<Duration> {
    match &raw.ready {
        Some(raw::Ready {
            at_most: Some(raw::Span(time)),
        }) => checker.check_bounds(*time, &["schedule", "ready", "at_most"], PHASE),
        Some(_) => None,
        None => checker.value_or_default(None, &["schedule", "ready"], READY),
    }
}

/// How often, and in which order; the same for every cell.
pub(crate) fn repeat_and_order(raw: &raw::Schedule) -> (u32, Order) {
    let order = match raw.order {
        Some(raw::Order::AsListed) => Order::AsListed,
        Some(raw::Order::Shuffled) | None => Order::Shuffled,
    };
    (raw.repeat.unwrap_or(REPEAT), order)
}

/// How often the system is started anew; the same for every cell.
pub(crate) fn fresh(raw: Option<&raw::Schedule>) -> Fresh {
    match raw.and_then(|raw| raw.fresh) {
        Some(raw::Fresh::Cell) => Fresh::Cell,
        Some(raw::Fresh::Trial) | None => Fresh::Trial,
    }
}

/// What ends the warm-up, and the longest that it may take.
fn warm_up(
    checker: &mut Checker<'_>,
    raw: &raw::Schedule,
    beside: &Beside<'_>,
) -> Option<(WarmUpUntil, Duration)> {
    let path = ["schedule", "warm_up", "at_most"];
    let Some(given) = &raw.warm_up else {
        let none = beside.stages.is_some() || requests_of(raw).is_some();
        let default = match none {
            true => (WarmUpUntil::Time, Duration::ZERO),
            false => (WarmUpUntil::Steady, WARM_UP),
        };
        return checker.value_or_default(None, &["schedule", "warm_up"], default);
    };
    let at_most = given
        .at_most
        .and_then(|raw::Span(time)| checker.check_bounds(time, &path, (Duration::ZERO, PHASE.1)));
    let until = warm_up_end(checker, given, beside.stages.is_some());
    let (until, at_most) = (until?, at_most?);
    let (intervals, why) = match until {
        WarmUpUntil::Steady => (
            MIN_STEADY_INTERVALS,
            "until: steady cannot be judged sooner",
        ),
        WarmUpUntil::Time if at_most.is_zero() => (0, ""),
        WarmUpUntil::Time | WarmUpUntil::Requests(_) => (1, "a warm-up lasts at least one"),
    };
    if let Some(shortest) = beside
        .interval
        .map(|interval| interval * intervals)
        .filter(|shortest| at_most < *shortest)
    {
        let what = format!(
            "schedule.warm_up.at_most is {}, shorter than {intervals} × measure.interval",
            format_duration(at_most)
        );
        let expected = format!("at least {}: {why}", format_duration(shortest));
        checker.report(Finding::new(checker.position_of(&path), what).with_expected(expected));
    }
    Some((until, at_most))
}

/// What ends a warm-up that the study describes.
fn warm_up_end(
    checker: &mut Checker<'_>,
    given: &raw::WarmUp,
    has_stages: bool,
) -> Option<WarmUpUntil> {
    let path = ["schedule", "warm_up", "until"];
    let requests = ["schedule", "warm_up", "requests"];
    if let Some(requests_given) = given.requests {
        if given.until.is_some() {
            let what = "schedule.warm_up has both until and requests";
            checker
                .report(Finding::new(checker.key(&requests), what).with_expected("one of the two"));
        }
        return Some(WarmUpUntil::Requests(requests_given));
    }
    if checker.is_wild(&requests) {
        return None;
    }
    let is_none = given.at_most.is_some_and(|raw::Span(time)| time.is_zero());
    let default = match has_stages || is_none {
        true => raw::WarmUpUntil::Time,
        false => raw::WarmUpUntil::Steady,
    };
    match checker.value_or_default(given.until, &path, default)? {
        raw::WarmUpUntil::Time => Some(WarmUpUntil::Time),
        raw::WarmUpUntil::Steady => {
            if has_stages {
                let what = "schedule.warm_up.until is steady, and a load with stages never is";
                checker
                    .report(Finding::new(checker.position_of(&path), what).with_expected("time"));
            }
            Some(WarmUpUntil::Steady)
        }
    }
}

/// How long is measured at most, behind a warm-up.
fn measure_phase(
    checker: &mut Checker<'_>,
    raw: &raw::Schedule,
    beside: &Beside<'_>,
    warm_up: Duration,
) -> Option<Duration> {
    let rest = beside.stages.map(|stages| stages.saturating_sub(warm_up));
    let time = match &raw.measure {
        Some(raw::Measured::Time(raw::Span(time))) => {
            whole_intervals(checker, *time, &MEASURE, beside.interval)?
        }
        Some(raw::Measured::Requests(given)) => {
            refuse_unknown_length(checker, raw);
            at_most_of(checker, given, beside.interval?, rest)?
        }
        None if checker.is_wild(&MEASURE) => return None,
        None => match rest {
            Some(rest) => whole_intervals(checker, rest, &["load", "stages"], beside.interval)?,
            None => {
                let what = "schedule lacks the key \"measure\"";
                let expected =
                    "measure: a duration such as 250ms, 10s, 2m or 1h, or { requests: 10000 }";
                let place = checker.key(&["schedule"]);
                checker.report(Finding::new(place, what).with_expected(expected));
                return None;
            }
        },
    };
    if let Some(stages) = beside.stages {
        refuse_longer(checker, warm_up + time, stages);
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
fn at_most_of(
    checker: &mut Checker<'_>,
    given: &raw::MeasuredRequests,
    interval: Duration,
    rest: Option<Duration>,
) -> Option<Duration> {
    let path = ["schedule", "measure", "at_most"];
    let time = match given.at_most {
        Some(raw::Span(time)) => whole_intervals(checker, time, &path, Some(interval))?,
        None => {
            let longest = interval.saturating_mul(MAX_INTERVALS);
            let time = rest.unwrap_or(MEASURE_AT_MOST).min(longest);
            let intervals = time.as_nanos() / interval.as_nanos().max(1);
            interval * u32::try_from(intervals.max(1)).unwrap_or(u32::MAX)
        }
    };
    checker.value_or_default(Some(time), &path, time)
}

/// What is told beforehand when to happen needs phases of known length.
fn refuse_unknown_length(checker: &mut Checker<'_>, raw: &raw::Schedule) {
    let disturbs = checker.root().child("disturb").is_some();
    let given = [
        (&["schedule", "recovery"][..], raw.recovery.is_some()),
        (&["disturb"][..], disturbs),
    ];
    for (path, _) in given.into_iter().filter(|(_, given)| *given) {
        let what = format!(
            "{} needs a measured phase whose length is known, and this one ends by its requests",
            path.join(".")
        );
        let place = checker.key(path);
        checker.report(Finding::new(place, what).with_expected("schedule.measure: a duration"));
    }
}

/// The level with which the warm-up begins.
fn ramp_up(
    checker: &mut Checker<'_>,
    given: &raw::First,
    beside: &Beside<'_>,
    warm_up_at_most: Option<Duration>,
) -> Option<First> {
    let asked = Asked {
        path: &FIRST,
        rate: given.rate,
        users: given.users,
        does: "lets the load rise",
    };
    let level = beside.load.and_then(|load| asked.level(checker, load));
    let path = [&FIRST[..], &["for"]].concat();
    let time = given
        .time
        .and_then(|raw::Span(time)| whole_intervals(checker, time, &path, beside.interval))?;
    if let Some(at_most) = warm_up_at_most.filter(|at_most| time >= *at_most) {
        let what = format!("{} is {}", path_text(&path), format_duration(time));
        let expected = format!(
            "less than schedule.warm_up.at_most, {}: the rest of it is at the load's own level",
            format_duration(at_most)
        );
        checker.report(Finding::new(checker.position_of(&path), what).with_expected(expected));
    }
    let (level, _) = level?;
    Some(First { level, time })
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
    let told = format!("{} is {}", path_text(path), format_duration(time));
    if time < interval || !time.as_nanos().is_multiple_of(interval.as_nanos()) {
        let expected = format!(
            "a whole multiple of measure.interval, {}",
            format_duration(interval)
        );
        checker.report(Finding::new(checker.position_of(path), told).with_expected(expected));
    } else if time.as_nanos() / interval.as_nanos() > u128::from(MAX_INTERVALS) {
        let expected = format!(
            "at most {MAX_INTERVALS} intervals of {}",
            format_duration(interval)
        );
        checker.report(Finding::new(checker.position_of(path), told).with_expected(expected));
    }
    Some(time)
}

/// How long a drain may take, and for how long nothing new comes before it ends.
fn drain(
    checker: &mut Checker<'_>,
    raw: &raw::Schedule,
    delivery: Option<&Delivery>,
) -> Option<(Duration, Duration)> {
    let path = ["schedule", "drain", "at_most"];
    let default = if delivery.is_some() {
        DRAIN
    } else {
        Duration::ZERO
    };
    let at_most = match &raw.drain {
        Some(drain) => checker.check_bounds(drain.at_most?.0, &path, (Duration::ZERO, PHASE.1))?,
        None => checker.value_or_default(None, &["schedule", "drain"], default)?,
    };
    if let Some(poll) = delivery
        .map(|delivery| delivery.poll)
        .filter(|poll| at_most < *poll)
    {
        let what = format!(
            "schedule.drain.at_most is {}, shorter than measure.delivery.poll",
            format_duration(at_most)
        );
        let expected = format!(
            "at least {}, or the last records are never looked for",
            format_duration(poll)
        );
        checker.report(Finding::new(checker.position_of(&path), what).with_expected(expected));
    }
    let path = ["schedule", "drain", "quiet"];
    let quiet = raw.drain.as_ref().and_then(|drain| drain.quiet);
    let quiet = match quiet {
        Some(raw::Span(time)) => checker.check_bounds(time, &path, (Duration::ZERO, at_most))?,
        None => checker.value_or_default(None, &path, QUIET.min(at_most))?,
    };
    Some((at_most, quiet))
}
