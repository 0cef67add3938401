//! A cell of the study → a job of the load engine. Pure.

use std::time::Duration;

use waggle_load::{self as load, Job, Limits, Target, Transport, What};
use waggle_spec::{LoadModel, LoadStage, Protocol, WarmUpUntil};
use waggle_study as study;
use waggle_study::{BodyExpect, Cell, Schedule};
use waggle_system::http::peer::Peer;

/// Limit on the records of one worker in the ledger; the load ends when it is reached.
pub(crate) const RECORDS_PER_WORKER_MAX: u64 = 400_000_000;
/// Margin of the load beyond warm-up and measured phase before it ends by itself.
const SPARE: Duration = Duration::from_secs(30);

/// The parts of a job that do not come from its cell.
#[derive(Debug)]
pub(crate) struct Parts {
    /// All are reached in the same way.
    pub(crate) targets: Vec<Peer>,
    pub(crate) what: What,
    pub(crate) workers: Vec<Option<usize>>,
    pub(crate) seed: u64,
}

pub(crate) fn job(cell: &Cell, parts: Parts) -> Job {
    let schedule = &cell.schedule;
    let tls = parts.targets.first().and_then(|peer| peer.tls.clone());
    Job {
        name: cell.name().to_owned(),
        targets: parts
            .targets
            .into_iter()
            .map(|peer| Target {
                address: peer.address,
            })
            .collect(),
        transport: Transport {
            protocol: match cell.protocol {
                // There is nothing to choose by; and HTTP/1.1 can be calibrated.
                Protocol::Auto if tls.is_none() => Protocol::Http1,
                asked => asked,
            },
            tls,
            source_addresses: cell.source_addresses.clone(),
        },
        model: cell.load.clone(),
        stages: stages(cell),
        max_tracked_requests: cell.delivery.as_ref().map(|_| requests_accounted(cell)),
        what: parts.what,
        limits: Limits {
            request_timeout: cell.timeout(),
            connect_timeout: cell.connect_timeout,
            finish: finish(cell),
            ..limits(cell)
        },
        workers: parts.workers,
        interval: cell.schedule.interval,
        max_duration: ends_after(cell)
            .unwrap_or(schedule.warm_up + schedule.measure + schedule.recovery_duration() + SPARE),
        max_requests: schedule.requests_in_all(),
        seed: parts.seed,
    }
}

/// What a load that is not the measured one has of its own.
#[derive(Debug)]
pub(crate) struct OtherLoad<'a> {
    pub(crate) name: &'a str,
    pub(crate) model: LoadModel,
    pub(crate) request_timeout: Duration,
    pub(crate) max_duration: Duration,
}

/// The job of a load that is not the measured one, with connections as the measured load has them.
pub(crate) fn other_job(cell: &Cell, parts: Parts, other: OtherLoad<'_>) -> Job {
    Job {
        name: other.name.to_owned(),
        model: other.model,
        stages: Vec::new(),
        limits: Limits {
            request_timeout: other.request_timeout,
            connect_timeout: cell.connect_timeout,
            finish: other.request_timeout,
            ..limits(cell)
        },
        max_duration: other.max_duration,
        max_requests: None,
        max_tracked_requests: None,
        ..job(cell, parts)
    }
}

/// The default limits, with those on heads that the study sets.
fn limits(cell: &Cell) -> Limits {
    let study::HeaderLimits {
        max_bytes,
        max_fields,
    } = cell.header_limits;
    Limits {
        head_max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX),
        head_max_fields: max_fields as usize,
        ..Limits::default()
    }
}

/// How long to wait for outstanding answers: as long as they may take.
pub(crate) fn finish(cell: &Cell) -> Duration {
    cell.timeout().max(Limits::default().finish)
}

/// Records of each request in the ledger.
pub(crate) fn records_per_request(cell: &Cell) -> u32 {
    match &cell.what {
        study::What::Request(request) => request.records(),
        study::What::Scenario(_) => 1,
    }
}

/// The conditions of a success, in the engine's form.
pub(crate) fn expect(expect: &study::Expect) -> load::Expect {
    load::Expect {
        status: expect.status.clone(),
        body: body_check(&expect.body),
    }
}

/// What is measured of answers, in the engine's form.
pub(crate) fn inspect(inspect: &study::Inspect) -> load::Inspect {
    load::Inspect {
        count: inspect.count.clone(),
    }
}

fn requests_accounted(cell: &Cell) -> u64 {
    RECORDS_PER_WORKER_MAX / u64::from(records_per_request(cell).max(1))
}

/// The number of intervals in a time, rounded to the nearest: the engine's own intervals begin and end at multiples.
pub(crate) fn intervals_in(time: Duration, interval: Duration) -> u64 {
    let interval = interval.as_nanos().max(1);
    u64::try_from((time.as_nanos() + interval / 2) / interval).unwrap_or(u64::MAX)
}

/// The intervals of a warm-up that lasts until its timeout.
pub(crate) fn warms_up_for(cell: &Cell) -> u64 {
    intervals_in(cell.schedule.warm_up, cell.schedule.interval)
}

/// Whether the load ends by itself: with its stages, with the last of its requests, or with its clients.
pub(crate) fn ends_by_itself(cell: &Cell) -> bool {
    !cell.stages.is_empty() || cell.schedule.requests_in_all().is_some() || cell.load.is_clients()
}

/// The latest end of the load, if it is known before the start: the engine then sends nothing that falls due later. A number of
/// requests can only end it earlier.
fn ends_after(cell: &Cell) -> Option<Duration> {
    let Schedule {
        warm_up_until,
        measure,
        recovery,
        ..
    } = &cell.schedule;
    let is_known = *warm_up_until == WarmUpUntil::Duration && recovery.is_none();
    let measured = intervals_in(*measure, cell.schedule.interval).max(1);
    let intervals = u32::try_from(warms_up_for(cell) + measured).ok()?;
    is_known.then(|| cell.schedule.interval.saturating_mul(intervals))
}

/// The interval at which the load drops, counted from 0: the first after the measured phase. `None` if it does not drop.
pub(crate) fn falls_with(cell: &Cell) -> Option<u64> {
    let measured = intervals_in(cell.schedule.measure, cell.schedule.interval).max(1);
    cell.schedule
        .recovery
        .map(|_| warms_up_for(cell) + measured)
}

/// The time from the start of the load until it drops.
pub(crate) fn falls_after(cell: &Cell) -> Option<Duration> {
    let intervals = u32::try_from(falls_with(cell)?).unwrap_or(u32::MAX);
    Some(cell.schedule.interval.saturating_mul(intervals))
}

/// How the level of a cell's load changes; empty if it does not.
fn stages(cell: &Cell) -> Vec<LoadStage> {
    if !cell.stages.is_empty() {
        return cell.stages.clone();
    }
    let Some(cell_level) = cell.load.changing_level() else {
        return Vec::new();
    };
    let stretches = stretches(cell, cell_level).into_iter();
    let jump_and_stay =
        |(target, time)| [Duration::ZERO, time].map(|duration| LoadStage { duration, target });
    stretches.flat_map(jump_and_stay).collect()
}

/// The levels of a load and how long each lasts; the runner ends it before the last is over. Empty if it is `cell_level` all the time.
fn stretches(cell: &Cell, cell_level: f64) -> Vec<(f64, Duration)> {
    let schedule = &cell.schedule;
    let ramp_up = schedule
        .ramp_up
        .filter(|ramp_up| ramp_up.level < cell_level);
    let falls_after = falls_after(cell);
    if ramp_up.is_none() && falls_after.is_none() {
        return Vec::new();
    }
    let ends = falls_after.unwrap_or(schedule.warm_up + schedule.measure + SPARE);
    let recovery = schedule.recovery.map(|recovery| recovery.level);
    let control = schedule.control();
    // Each level with its end.
    let levels = [
        ramp_up.map(|ramp_up| (ramp_up.level, ramp_up.duration)),
        // A ramp-up that changes nothing.
        control.map(|(from, _)| (cell_level, from)),
        recovery.zip(control).map(|(level, (_, to))| (level, to)),
        Some((cell_level, ends)),
        recovery.map(|level| (level, ends + schedule.recovery_duration() + SPARE)),
    ];
    let mut before = Duration::ZERO;
    let stretches = levels.into_iter().flatten().map(|(level, end)| {
        let over = end.saturating_sub(before);
        before = end;
        (level, over)
    });
    stretches.filter(|(_, over)| !over.is_zero()).collect()
}

fn body_check(expect: &BodyExpect) -> load::BodyCheck {
    match expect {
        BodyExpect::Any => load::BodyCheck::Any,
        BodyExpect::Equals(text) => load::BodyCheck::Equals(text.clone().into_bytes()),
        BodyExpect::Contains(texts) => {
            let texts = texts.iter().map(|text| text.clone().into_bytes());
            load::BodyCheck::Contains(texts.collect())
        }
    }
}
