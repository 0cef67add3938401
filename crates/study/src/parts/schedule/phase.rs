//! What the phases of a trial share: the parts of a study that they must fit, their bounds, and the intervals that they consist of.

use std::time::Duration;

use waggle_spec::LoadModel;
use waggle_units::format_duration;

use crate::{
    Delivery, System,
    at::{At, Bounds, Place},
    check::Checker,
    raw::UseSystem,
};

/// Most histogram intervals of a phase that is counted in them.
pub const MAX_INTERVALS: u32 = 100_000;
/// Longest time of a phase.
pub const MAX_PHASE: Duration = Duration::from_secs(24 * 3600);
/// Shortest and longest time of a phase.
pub(crate) const PHASE: Bounds = Bounds(Duration::from_millis(10), MAX_PHASE);
/// The same of a phase that may be left out.
pub(crate) const PHASE_OR_NONE: Bounds = Bounds(Duration::ZERO, MAX_PHASE);
/// The range of the histograms of response times.
pub(super) const RESPONSE_TIME: Bounds =
    Bounds(Duration::from_micros(1), Duration::from_secs(3600));

/// The parts of a study that its schedule must fit; a field is `None` if its part is missing or has a mistake.
#[derive(Debug, Clone)]
pub(crate) struct ScheduleContext<'a> {
    pub interval: Option<Duration>,
    pub sampling_interval: Option<Duration>,
    pub delivery: Option<&'a Delivery>,
    pub load: Option<&'a LoadModel>,
    /// How long the stages of the load take; `None`: it has none.
    pub stages: Option<At<Duration>>,
    /// The configured system.
    pub system: Option<&'a System>,
    /// The part of the study that names it.
    pub of_system: Option<&'a UseSystem>,
    /// Whether the load goes to a server that runs already; `None`: not known.
    pub is_external: Option<bool>,
}

impl ScheduleContext<'_> {
    /// Whether the load ends by itself, with its clients.
    pub(super) fn has_clients(&self) -> bool {
        self.load.is_some_and(LoadModel::is_clients)
    }
}

/// The time of a phase that is counted in intervals.
pub(super) fn whole_intervals(
    checker: &mut Checker<'_>,
    time: Duration,
    place: &Place,
    interval: Option<Duration>,
) -> Option<Duration> {
    let time = place.check_bounds(time, PHASE, &mut checker.findings)?;
    let interval = interval?;
    let is_whole = time >= interval && time.as_nanos().is_multiple_of(interval.as_nanos());
    let shown = format_duration(interval);
    let expected = if !is_whole {
        format!("a whole multiple of schedule.interval, {shown}")
    } else if time.as_nanos() / interval.as_nanos() > u128::from(MAX_INTERVALS) {
        format!("at most {MAX_INTERVALS} intervals of {shown}")
    } else {
        return Some(time);
    };
    let mistake = place.mistake(format!("is {}", format_duration(time)));
    checker.report(mistake.with_expected(expected));
    Some(time)
}
