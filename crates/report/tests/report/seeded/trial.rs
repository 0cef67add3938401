//! One made-up trial: half-second warm-up ramp, three measured seconds, finish, drain.
// long: one trial with everything that a trial can have, each part made from the parts before it.

use hdrhistogram::Histogram;
use waggle_results::{
    BacklogRow, CellInfo, ClientEndInfo, ClientInfo, CountsRow, CpuLimit, DelayHistograms,
    DeliveryInfo, FORMAT, FailureCount, FailureKind, FaultInfo, GeneratorInfo, InspectedCounts,
    IntervalHistograms, IntervalRow, LedgerInfo, LimitInfo, LimitMeans, LoadStart, MachineInfo,
    MemoryLimit, NetworkCounts, NetworkInfo, PhaseInfo, PhaseName, RecoveryInfo, ResourceRow,
    SessionsInfo, StepCounts, StepInfo, ThrottlingInfo, TrialEnd, TrialInfo, TrialKey, TrialWriter,
};
use waggle_spec::{TimeKind, Times};

use super::{
    Chance, Machine, Seeded, Wrong, broker, cluster, growth, load_drop,
    side_loads::with_side_loads,
    steps::{Steps, sessions_of},
    technologies, transports,
};

const INTERVAL_S: f64 = 0.25;
const WARM_UP: usize = 6;
const MEASURED: usize = 12;
/// The intervals in which a killed gateway is away.
const KILLED: std::ops::Range<usize> = WARM_UP + 4..WARM_UP + 7;

/// What a trial is made from.
pub(crate) struct Made {
    key: TrialKey,
    position: u32,
    /// Requests in flight, as the connections and the pipelining of the cell give them.
    in_flight: f64,
    connections: u64,
    wrong: Option<Wrong>,
    /// How quick it is, where 1 is usual, and the share of its requests that fail.
    pace: (f64, f64),
    /// How late records are in the store, µs, without the time of their request.
    late_us: f64,
    /// Where one is searched for.
    level: Option<f64>,
    seed: u64,
}

impl Made {
    pub(crate) fn new(cell: &CellInfo, key: TrialKey, place: usize, wrong: Option<Wrong>) -> Self {
        let level = |name: &str, other: f64| {
            let entry = cell.levels.iter().find(|(factor, _)| factor == name);
            entry
                .and_then(|(_, level)| level.parse().ok())
                .unwrap_or(other)
        };
        let connections: f64 = level("connections", level("users", 10.0));
        Self {
            key,
            position: u32::try_from(place + 1).unwrap(),
            in_flight: connections * level("pipelining", 1.0),
            connections: connections as u64,
            wrong,
            pace: technologies::pace(cell, key)
                .or_else(|| growth::pace(cell))
                .unwrap_or_else(|| transports::pace(cell)),
            late_us: late_us(cell),
            level: None,
            seed: u64::from(key.cell) * 1000 + u64::from(key.repetition),
        }
    }

    /// The same with so many connections, which are searched for.
    pub(crate) fn at_level(self, connections: f64) -> Self {
        let pipelining = self.in_flight / self.connections as f64;
        Self {
            in_flight: connections * pipelining,
            connections: connections as u64,
            level: Some(connections),
            ..self
        }
    }

    /// The same in another draw.
    pub(crate) fn draw(self, draw: u64) -> Self {
        if draw == 0 {
            return self;
        }
        let seed = self.seed.wrapping_add(draw.wrapping_mul(1_000_003));
        let mut chance = Chance::new(seed);
        let spread = 0.15 * Chance::new(draw).share();
        Self {
            pace: (self.pace.0 * chance.jitter(spread), self.pace.1),
            late_us: self.late_us * chance.jitter(spread),
            seed,
            ..self
        }
    }

    /// How long an answer takes in an interval, at its rate.
    fn typical_us(&self, seeded: &Seeded, place: usize, rate: f64) -> f64 {
        let control = seeded.recovery.and_then(|recovery| recovery.control);
        let start_s = place as f64 * INTERVAL_S;
        if control.is_some_and(|control| (control.start_s..control.end_s).contains(&start_s)) {
            return load_drop::control_us(self.key, place);
        }
        match place.checked_sub(WARM_UP + MEASURED) {
            Some(interval) => load_drop::typical_us(self.key, interval),
            None => self.in_flight / rate * 1e6,
        }
    }

    fn has_fault(&self, wrong: Wrong) -> bool {
        self.wrong == Some(wrong)
    }

    /// Group commit: a sync takes 1.2 ms whatever it carries, each request 19 µs of CPU.
    fn rate_per_s(&self) -> f64 {
        self.pace.0 * self.in_flight / (0.0012 + self.in_flight * 19e-6)
    }
}

/// One writer waits for its interval and is quick besides; the other one waits for nothing.
fn late_us(cell: &CellInfo) -> f64 {
    let level = |name: &str| cell.levels.iter().find(|(factor, _)| factor == name);
    match (level("writer"), level("flush_interval")) {
        (Some((_, writer)), Some((_, interval))) if writer == "telegraf" => {
            20e3 + 800.0 * interval.trim_end_matches(" ms").parse::<f64>().unwrap()
        }
        _ => 55e3,
    }
}

/// Sums of what was written, for `trial.json`.
#[derive(Default)]
struct Sums {
    measured: CountsRow,
    totals: CountsRow,
    /// Records of each interval.
    accepted: Vec<u64>,
    /// Measured and in all.
    steps: Vec<(StepCounts, StepCounts)>,
}

impl Sums {
    fn add_steps(&mut self, steps: &[StepCounts], measured: bool) {
        self.steps.resize_with(steps.len(), Default::default);
        for (sum, counts) in self.steps.iter_mut().zip(steps) {
            sum.1.follow(counts);
            if measured {
                sum.0.follow(counts);
            }
        }
    }
}

pub(crate) fn write(mut out: TrialWriter, seeded: &Seeded, made: &Made) {
    let mut chance = Chance::new(made.seed);
    let fails = made.has_fault(Wrong::Fails) && made.key.repetition == seeded.repeat;
    if fails || made.has_fault(Wrong::DiesWhenKilled) {
        out.finish(&failed_trial(seeded, made)).unwrap();
        return;
    }
    out.load_started(&LoadStart {
        name: "put-readings",
        steps: &seeded.step_names(),
        intermediate_probes: &seeded.intermediate_probes(),
        started_unix_ns: 1_768_210_200_000_000_000,
    })
    .unwrap();
    let scatter = if made.has_fault(Wrong::Scatters) {
        [0.7, 1.0, 1.4][(made.key.repetition as usize - 1) % 3]
    } else {
        1.0
    };
    let whole = scatter * chance.jitter(0.012);
    let mut sums = Sums::default();
    for place in 0..WARM_UP + MEASURED {
        let ramp = if place < 2 {
            0.45 + 0.25 * place as f64
        } else {
            1.0
        };
        let slow = if made.has_fault(Wrong::Slows) && place >= WARM_UP + MEASURED / 2 {
            0.5
        } else {
            1.0
        };
        let base_rate = made.rate_per_s() * whole * ramp * slow * chance.jitter(0.02);
        let rate = base_rate * seeded.machine.pace(made.seed, place);
        interval(&mut out, seeded, made, (place, rate), &mut sums);
    }
    let dropped = seeded.recovery.map_or(0, |_| load_drop::INTERVALS);
    for place in (WARM_UP + MEASURED..).take(dropped) {
        interval(
            &mut out,
            seeded,
            made,
            (place, load_drop::RATE_PER_S),
            &mut sums,
        );
    }
    let load_end = (WARM_UP + MEASURED + dropped) as f64 * INTERVAL_S;
    let drained = if made.has_fault(Wrong::FallsBehind) {
        6.0
    } else {
        0.3
    };
    resources(&mut out, (seeded, made), load_end + drained, &mut chance);
    backlog(&mut out, made, &sums, load_end, drained);
    if seeded.steps.is_empty() {
        write_delays(&mut out, seeded, &delays(made, &sums, &mut chance));
    }
    if seeded.has_broker {
        broker::write(&mut out, load_end);
    }
    out.finish(&completed_trial(seeded, made, sums, (load_end, drained)))
        .unwrap();
}

fn is_away(made: &Made, place: usize) -> bool {
    made.has_fault(Wrong::Killed) && KILLED.contains(&place)
}

/// Of so many requests those that fail.
fn failures(made: &Made, place: usize, answered: u64) -> Vec<FailureCount> {
    let failure = |kind, count| FailureCount { kind, count };
    if made.has_fault(Wrong::Errors) && place.is_multiple_of(3) {
        vec![
            failure(FailureKind::Status(503), 4),
            failure(FailureKind::Reset, 1),
        ]
    } else if made.has_fault(Wrong::Refuses) {
        vec![failure(FailureKind::Status(503), answered)]
    } else if is_away(made, place) {
        vec![failure(FailureKind::Reset, 10)]
    } else {
        // A little more in each repetition.
        let scatter = 0.9 + 0.05 * f64::from(made.key.repetition);
        transports::failures((answered as f64 * made.pace.1 * scatter) as u64)
    }
}

/// Attempts to connect that fail.
fn other_failures(made: &Made, place: usize) -> Vec<FailureCount> {
    let refused = FailureCount {
        kind: FailureKind::Refused,
        count: 30,
    };
    is_away(made, place)
        .then_some(refused)
        .into_iter()
        .collect()
}

fn interval(
    out: &mut TrialWriter,
    seeded: &Seeded,
    made: &Made,
    (place, rate): (usize, f64),
    sums: &mut Sums,
) {
    let is_away = is_away(made, place);
    let share = if is_away { 0.0 } else { 1.0 };
    let answered = (rate * INTERVAL_S * share).round() as u64;
    let failures = failures(made, place, answered);
    let failed: u64 = failures.iter().map(|failure| failure.count).sum();
    let succeeded = answered.saturating_sub(failed);
    let typical_us = made.typical_us(seeded, place, rate);
    let service = spread(succeeded, typical_us);
    let response = if seeded.waits {
        spread(succeeded, 2.0 * typical_us)
    } else {
        service.clone()
    };
    let failed_time = spread(failed, 900.0);
    let first_byte_time = spread(succeeded, 0.4 * typical_us);
    let miscounts = made.has_fault(Wrong::Miscounts) && place == WARM_UP + 1;
    let lost_count = if miscounts { 2 } else { 0 };
    let counts = CountsRow {
        seconds: INTERVAL_S,
        due: succeeded + failed,
        sent: succeeded + failed + lost_count,
        succeeded,
        failed,
        skipped: 0,
        in_flight_change: 0,
        records_succeeded: succeeded,
        bytes_sent: succeeded * 260,
        bytes_received: succeeded * 90,
        failures,
        other_failures: other_failures(made, place),
        inspected: seeded.inspects.then(|| inspected_counts(succeeded)),
    };
    let steps = Steps::new(seeded, &counts, typical_us);
    let session_duration = steps.session_duration(typical_us);
    let cpu = engine_cpu(made, rate);
    let row = IntervalRow {
        start_s: place as f64 * INTERVAL_S,
        counts: counts.clone(),
        in_flight: (made.in_flight * share) as u64,
        connections_open: if is_away { 0 } else { made.connections },
        engine_cpu_s: cpu * INTERVAL_S,
        engine_cpu_busiest_s: cpu * INTERVAL_S,
        lag_p99_us: 12.0,
        in_flight_mean: made.in_flight * share,
        steps: steps.counts.clone(),
        sessions: steps.sessions(),
    };
    let lag = spread(succeeded, 8.0);
    let histograms = IntervalHistograms {
        times: Times::from_fn(|kind| match kind {
            TimeKind::Response => Some(&response),
            TimeKind::Service => Some(&service),
            TimeKind::Failed => Some(&failed_time),
            TimeKind::Lag => Some(&lag),
            TimeKind::Connect | TimeKind::Handshake => None,
            TimeKind::FirstByte => seeded.inspects.then_some(&first_byte_time),
            TimeKind::Session => session_duration.as_ref(),
        }),
        steps: &steps.histograms(),
    };
    out.interval(&row, histograms).unwrap();
    sums.accepted.push(succeeded);
    let is_measured = (WARM_UP..WARM_UP + MEASURED).contains(&place);
    sums.add_steps(&steps.counts, is_measured);
    sums.totals.follow(&counts);
    if is_measured {
        sums.measured.follow(&counts);
    }
}

fn inspected_counts(answers: u64) -> InspectedCounts {
    InspectedCounts {
        answers,
        body_bytes: answers * 40,
        decoded_bytes: answers * 160,
        items: Some(answers * 8),
    }
}

fn engine_cpu(made: &Made, rate: f64) -> f64 {
    if made.has_fault(Wrong::Starved) {
        0.985
    } else {
        (rate * 2.4e-6).min(0.75)
    }
}

/// `count` values around `typical`, skewed as waiting times are, so that their mean is `typical`.
pub(super) fn spread(count: u64, typical: f64) -> Histogram<u64> {
    let mut histogram = Histogram::new(3).unwrap();
    let steps = count.min(400);
    let mut left = count;
    let shape = |q: f64| 0.9 + 0.05 * -(1.0 - q).ln() + 0.008 * (1.0 / (1.0 - q)).sqrt();
    let mean: f64 = (0..steps)
        .map(|k| shape((k as f64 + 0.5) / steps as f64))
        .sum::<f64>()
        / steps.max(1) as f64;
    for step in 0..steps {
        let now = left / (steps - step);
        left -= now;
        let value = typical * shape((step as f64 + 0.5) / steps as f64) / mean;
        histogram
            .record_n(value.max(1.0).round() as u64, now)
            .unwrap();
    }
    histogram
}

fn resources(
    out: &mut TrialWriter,
    (seeded, made): (&Seeded, &Made),
    end_s: f64,
    chance: &mut Chance,
) {
    let load_end = (WARM_UP + MEASURED) as f64 * INTERVAL_S;
    let rate = made.rate_per_s();
    let mut at_s = INTERVAL_S;
    let mut place = 0;
    while at_s <= end_s {
        place += 1;
        let busy = if at_s <= load_end { 1.0 } else { 0.08 };
        let system = ((rate * 18e-6 + 0.02) * busy * chance.jitter(0.03)).min(1.0);
        let load = engine_cpu(made, rate) * busy + 0.01;
        let mut rows = vec![
            ("gateway-0", system, 38u64 << 20),
            ("waggle", load, 14 << 20),
        ];
        if seeded.starts_broker() {
            rows.extend(broker::REPLICAS.map(|name| (name, broker::CORES * busy, 200 << 20)));
        }
        let is_late = seeded.cluster.is_some() && place % cluster::READ_EVERY > 0;
        rows.retain(|(component, ..)| *component == "waggle" || !is_late);
        for (component, cpu_cores, rss) in rows {
            let rss_bytes = rss + (at_s * 1e5) as u64 * 4;
            out.resource(&ResourceRow {
                at_s,
                component: component.to_owned(),
                cpu_cores,
                rss_bytes,
                threads: 3,
            })
            .unwrap();
        }
        at_s += INTERVAL_S;
    }
}

/// The store shows what was accepted a little while ago; one that falls behind, ever longer ago.
fn backlog(out: &mut TrialWriter, made: &Made, sums: &Sums, load_end: f64, drained: f64) {
    let accepted_by = |at_s: f64| -> f64 {
        let share = |place: usize| (at_s / INTERVAL_S - place as f64).clamp(0.0, 1.0);
        sums.accepted
            .iter()
            .enumerate()
            .map(|(place, accepted)| share(place) * *accepted as f64)
            .sum()
    };
    let mut at_s = 0.1;
    while at_s < load_end + drained + 0.1 {
        let behind_s = if made.has_fault(Wrong::FallsBehind) {
            at_s * drained / (load_end + drained)
        } else {
            0.12
        };
        let visible = (accepted_by(at_s - behind_s) as u64).saturating_sub(lost_records(made));
        out.backlog(&BacklogRow { at_s, visible }).unwrap();
        at_s += 0.1;
    }
}

fn lost_records(made: &Made) -> u64 {
    match made.wrong {
        Some(Wrong::Loses) if made.key.repetition == 2 => 3,
        // A search would end where something is missing.
        Some(Wrong::Killed) if made.level.is_none() => 17,
        _ => 0,
    }
}

fn delays(made: &Made, sums: &Sums, chance: &mut Chance) -> Histogram<u64> {
    let typical = if made.has_fault(Wrong::FallsBehind) {
        2.6e6
    } else {
        made.late_us + made.in_flight / made.rate_per_s() * 1e6
    };
    spread(
        sums.totals.records_succeeded - lost_records(made),
        typical * chance.jitter(0.04),
    )
}

fn completed_trial(
    seeded: &Seeded,
    made: &Made,
    sums: Sums,
    (load_end, drained): (f64, f64),
) -> TrialInfo {
    let mut whole = of_records(made, &sums, (load_end, drained));
    whole.machine = machine(seeded, made);
    whole.limits = limits(seeded, true);
    whole.network = network(seeded, true);
    if let Some(cluster) = seeded.cluster {
        cluster::add_trial(cluster, &mut whole);
    }
    if let Some(recovery) = seeded.recovery {
        add_recovery_phase(&mut whole, recovery, load_end);
    }
    let steps: Vec<StepInfo> = seeded
        .step_names()
        .into_iter()
        .zip(sums.steps)
        .map(|(name, (measured, totals))| StepInfo {
            name,
            measured,
            totals,
        })
        .collect();
    let Some(last) = steps.last() else {
        let probes = seeded.has_broker.then(|| broker::probe(&whole));
        return TrialInfo {
            clients: clients(seeded),
            intermediate_probes: probes.into_iter().collect(),
            ..whole
        };
    };
    let sent = TrialInfo {
        agents: Vec::new(),
        pods: Vec::new(),
        ledger: None,
        delivery: None,
        sessions: Some(SessionsInfo {
            measured: sessions_of(&last.measured),
            totals: sessions_of(&last.totals),
        }),
        steps,
        ..whole
    };
    with_side_loads(made.key, sent)
}

/// The load, which was open, went on after the measured phase.
fn add_recovery_phase(info: &mut TrialInfo, recovery: RecoveryInfo, load_end: f64) {
    let offered = info.measured.due as f64 / info.measured.seconds;
    info.generator.as_mut().unwrap().offered_per_s = Some(offered);
    let dropped_at_s = (WARM_UP + MEASURED) as f64 * INTERVAL_S;
    let (phase, load_drop) = load_drop::load_drop_info(recovery, dropped_at_s, load_end);
    let mut phases = info.phases.iter_mut();
    let measure = phases.find(|phase| phase.phase == PhaseName::Measure);
    measure.unwrap().end_s = dropped_at_s;
    let finish = info
        .phases
        .iter()
        .position(|phase| phase.phase == PhaseName::Finish);
    info.phases.insert(finish.unwrap(), phase);
    info.load_drop = Some(load_drop);
}

fn of_records(made: &Made, sums: &Sums, (load_end, drained): (f64, f64)) -> TrialInfo {
    let measure_start = WARM_UP as f64 * INTERVAL_S;
    let (accepted, missing) = (sums.totals.records_succeeded, lost_records(made));
    let rate = made.rate_per_s();
    let phase = |phase, start_s, end_s| PhaseInfo {
        phase,
        start_s,
        end_s,
    };
    let started_utc = format!("2026-01-12T09:{:02}:00Z", 30 + made.position % 30);
    TrialInfo {
        phases: vec![
            phase(PhaseName::Up, -0.31, -0.28),
            phase(PhaseName::Ready, -0.28, -0.05),
            phase(PhaseName::Verify, -0.05, 0.0),
            phase(PhaseName::WarmUp, 0.0, measure_start),
            phase(PhaseName::Measure, measure_start, load_end),
            phase(PhaseName::Finish, load_end, load_end + 0.05),
            phase(PhaseName::Drain, load_end + 0.05, load_end + drained),
            phase(
                PhaseName::Collect,
                load_end + drained,
                load_end + drained + 0.02,
            ),
            phase(
                PhaseName::Down,
                load_end + drained + 0.02,
                load_end + drained + 0.2,
            ),
        ],
        warm_up_steady: Some(true),
        generator: Some(engine(made, rate)),
        ledger: Some(ledger(made, &sums.totals)),
        delivery: Some(DeliveryInfo {
            probe: "store".to_owned(),
            resolution_ms: 5.0,
            probe_lag_s: 0.0,
            unread: false,
            negative_delays: 0,
            drain_time_s: (missing == 0).then_some(drained),
            polls: 52,
            bytes_read: accepted * 310,
            probe_cpu_s: Some(0.001),
            ..DeliveryInfo::default()
        }),
        measured: sums.measured.clone(),
        totals: sums.totals.clone(),
        level: made.level,
        faults: faults(made),
        ..TrialInfo::new(made.key, made.position, started_utc)
    }
}

/// What became of the records of the whole load.
fn ledger(made: &Made, totals: &CountsRow) -> LedgerInfo {
    let (accepted, missing) = (totals.records_succeeded, lost_records(made));
    let is_killed = made.has_fault(Wrong::Killed);
    LedgerInfo {
        sent: accepted + totals.failed,
        accepted,
        rejected: totals.failed / 5 * 4,
        unknown: totals.failed / 5,
        delivered: accepted - missing,
        missing,
        duplicates: u64::from(is_killed || made.has_fault(Wrong::Doubles)),
        // What was written and not answered any more, or answered with an error.
        unknown_delivered: if is_killed { 4 } else { 0 },
        rejected_delivered: if is_killed { 2 } else { 0 },
        unexpected: if is_killed { 2 } else { 0 },
        missing_keys: (0..missing).map(|key| 4_711 + key).collect(),
        ..LedgerInfo::default()
    }
}

/// A gateway that is killed is away for three intervals, and every repetition a little longer.
fn faults(made: &Made) -> Vec<FaultInfo> {
    let late = f64::from(made.key.repetition) / 50.0;
    let is_killed = made.has_fault(Wrong::Killed) || made.has_fault(Wrong::DiesWhenKilled);
    let killed = is_killed.then(|| FaultInfo {
        component: "gateway".to_owned(),
        replica: Some(0),
        begun_s: 1.001,
        started_s: Some(1.502),
        ready_s: made.has_fault(Wrong::Killed).then_some(1.7 + late),
        ..FaultInfo::default()
    });
    killed.into_iter().collect()
}

impl Machine {
    /// How fast the system is in an interval, where 1 is alone.
    fn pace(self, seed: u64, place: usize) -> f64 {
        match self {
            Self::Unknown | Self::Quiet => 1.0,
            Self::Noise(share) => Chance::new(seed ^ place as u64).jitter(share),
            Self::Neighbour | Self::OnOff => 1.0 - 0.45 * self.busy(seed, place),
        }
    }

    /// Whether another program runs in an interval: 0 or 1.
    fn busy(self, seed: u64, place: usize) -> f64 {
        match self {
            Self::Neighbour => 1.0,
            Self::OnOff => {
                let mut chance = Chance::new(seed);
                let (mut until, mut is_on) = (0, chance.share() < 0.5);
                while until <= place {
                    until += 2 + (6.0 * chance.share()) as usize;
                    is_on = !is_on;
                }
                f64::from(u8::from(is_on))
            }
            Self::Unknown | Self::Quiet | Self::Noise(_) => 0.0,
        }
    }

    fn info(self, seed: u64) -> Option<MachineInfo> {
        let measured = WARM_UP..WARM_UP + MEASURED;
        let busy: f64 = measured.map(|place| self.busy(seed, place)).sum();
        let other_cores = 0.02 + 0.9 * busy / MEASURED as f64;
        (self != Self::Unknown).then_some(MachineInfo {
            cpu_steal: 0.0,
            cpu_idle: ((1.0 - other_cores) / 2.0).max(0.0),
            own_cores: Some(0.25),
            system_cores: Some(0.7),
            other_cores: Some(other_cores),
        })
    }
}

/// Noted where the machine's host takes a part of it, and where the study says what the machine does.
fn machine(seeded: &Seeded, made: &Made) -> Option<MachineInfo> {
    let known = seeded.machine.info(made.seed);
    let stolen = made.has_fault(Wrong::Stolen).then_some(MachineInfo {
        cpu_steal: 0.25,
        cpu_idle: 0.5,
        own_cores: Some(0.25),
        system_cores: Some(0.125),
        other_cores: Some(0.0625),
    });
    stolen.or(known)
}

fn engine(made: &Made, rate: f64) -> GeneratorInfo {
    let present = if made.has_fault(Wrong::Killed) {
        1.0 - KILLED.len() as f64 / MEASURED as f64
    } else {
        1.0
    };
    GeneratorInfo {
        workers: 1,
        connections_asked: made.connections,
        connections_open_min: made.connections,
        cpu_us_per_request: engine_cpu(made, rate) / rate * 1e6,
        utilization: engine_cpu(made, rate),
        utilization_wanted: engine_cpu(made, rate),
        run_queue_wait_mean_us: 0.0,
        lag_p99_us: if made.has_fault(Wrong::Stolen) {
            40_000.0
        } else {
            12.0
        },
        offered_per_s: None,
        in_flight_mean: made.in_flight * present,
        in_flight_unexplained: made.in_flight * made.pace.1,
        capacity_per_s: Some(1_000_000.0),
        ..GeneratorInfo::default()
    }
}

fn limits(seeded: &Seeded, is_measured: bool) -> Vec<LimitInfo> {
    if !seeded.has_limits {
        return Vec::new();
    }
    let by = LimitMeans::CgroupV2;
    vec![LimitInfo {
        replica: "gateway-0".to_owned(),
        cpus: Some(CpuLimit { cpus: 0.16, by }),
        memory: Some(MemoryLimit {
            bytes: 512 << 20,
            by,
            oom_kills: 0,
        }),
        throttling: is_measured.then_some(ThrottlingInfo {
            periods: 100,
            throttled_periods: 25,
            throttled_s: 1.2,
        }),
    }]
}

/// Trials with limits have a network, too.
fn network(seeded: &Seeded, is_measured: bool) -> Option<NetworkInfo> {
    let setting = ("net.core.somaxconn".to_owned(), "128".to_owned());
    seeded.has_limits.then(|| NetworkInfo {
        rate_bits_per_s: Some(100_000_000),
        delay_s: 0.001,
        loss: 0.0,
        mtu: 1500,
        sysctl: [setting].into(),
        counts: is_measured.then_some(NetworkCounts {
            listen_overflows: 5,
            listen_drops: 7,
            syn_cookies: 0,
            retransmissions: 12,
            resets: 1,
        }),
    })
}

fn failed_trial(seeded: &Seeded, made: &Made) -> TrialInfo {
    TrialInfo {
        format: FORMAT,
        key: made.key,
        agents: Vec::new(),
        pods: Vec::new(),
        position: made.position,
        started_utc: "2026-01-12T09:59:00Z".to_owned(),
        end: TrialEnd::Failed {
            phase: PhaseName::Ready,
            reason: "gateway-0 was not ready within 10 s; it ended with exit code 1".to_owned(),
            log_tail: vec!["opening store.db".to_owned(), seeded.log_line.clone()],
        },
        phases: vec![
            PhaseInfo {
                phase: PhaseName::Up,
                start_s: -10.1,
                end_s: -10.0,
            },
            PhaseInfo {
                phase: PhaseName::Ready,
                start_s: -10.0,
                end_s: 0.0,
            },
        ],
        warm_up_steady: None,
        measured: CountsRow::default(),
        totals: CountsRow::default(),
        generator: Some(GeneratorInfo::default()),
        ledger: None,
        delivery: None,
        remarks: vec!["its log says why".to_owned()],
        level: made.level,
        steps: Vec::new(),
        sessions: None,
        clients: Vec::new(),
        connecting: None,
        intermediate_probes: Vec::new(),
        faults: faults(made),
        load_drop: None,
        machine: None,
        stages: Vec::new(),
        stopped: None,
        limits: limits(seeded, false),
        network: network(seeded, false),
        preparation: None,
        loads: Vec::new(),
        absent_loads: Vec::new(),
        cool_down: None,
        quiet_wait: None,
        imported: None,
    }
}

fn write_delays(out: &mut TrialWriter, seeded: &Seeded, delays: &Histogram<u64>) {
    out.delays(&DelayHistograms {
        delivery: delays,
        earliest: None,
        earliest_end_to_end: None,
        end_to_end: seeded.recovery.map(|_| delays),
        arrival: None,
    })
    .unwrap();
}

/// Two clients, one of which was cut.
fn clients(seeded: &Seeded) -> Vec<ClientInfo> {
    if !seeded.has_clients {
        return Vec::new();
    }
    let client = |completed, seconds, end| ClientInfo {
        sent: completed,
        completed,
        succeeded: completed - 1,
        seconds,
        end,
    };
    vec![
        client(100, 2.0, ClientEndInfo::Finished),
        client(40, 0.5, ClientEndInfo::Failed(FailureKind::Reset)),
    ]
}
