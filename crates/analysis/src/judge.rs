//! The joint with statistics: what a trial's results say, put as the plain facts that are judged there.

use waggle_metrics::Metric;
use waggle_results::{
    self as results, CountsRow, DisturbanceInfo, EngineInfo, IntervalRow, LedgerInfo, MachineInfo,
    PhaseName, RunInfo, Trial, TrialEnd, TrialHistograms,
};
use waggle_stats::{
    Counts, Engine, Findings, Killed, Ledger, LoadCourse, LoadModel, Machine, RunningTotals,
    Served, SteadyBins, TrialFacts,
};

use crate::{INSTRUMENT, distribution::as_f64, path, series::accepted_by};

/// Bins of a second, as the method asks, where so many of them fit into the measured phase; else one an interval.
pub const SECOND_BINS_FROM: f64 = 8.0;

/// Every check of one trial.
pub(crate) fn trial(trial: &Trial, times: &TrialHistograms, info: &RunInfo) -> Findings {
    let span = Span::of(trial);
    let disturbances = killed(&trial.info.disturbances);
    let mean = |histogram: &hdrhistogram::Histogram<u64>| {
        (!histogram.is_empty()).then(|| histogram.mean())
    };
    waggle_stats::check(&TrialFacts {
        model: load_model(info),
        failed: match &trial.info.end {
            TrialEnd::Completed => None,
            TrialEnd::Failed { reason, .. } => Some(reason.clone()),
        },
        measured: counts(&trial.info.measured),
        totals: counts(&trial.info.totals),
        engine: engine(
            &trial.info.engine,
            span.connections_open_median
                .unwrap_or(trial.info.engine.connections_open_min),
        ),
        machine: trial
            .info
            .machine
            .map(|told| machine(&told, info.host.kept_awake)),
        offered_per_s: trial.info.engine.offered_per_s,
        response_p50_us: (!times.response_time.is_empty())
            .then(|| as_f64(times.response_time.value_at_quantile(0.5))),
        service_mean_us: mean(&times.service_time),
        time_bound_us: info.find.as_ref().and_then(|find| {
            time_bound_us(find.conditions.iter().map(|condition| Bound {
                number: &condition.number,
                is_upper: condition.op.is_upper_bound(),
                value: condition.value,
            }))
        }),
        ledger: trial.info.ledger.as_ref().map(ledger),
        delivery: span.delivery.totals(),
        // Whichever probe was behind: its place's delays are its own.
        probe_behind_s: trial
            .info
            .on_the_way
            .iter()
            .map(|place| &place.delivery)
            .chain(&trial.info.delivery)
            .map(|delivery| delivery.behind_s)
            .reduce(f64::max),
        store_unread: trial
            .info
            .delivery
            .as_ref()
            .is_some_and(|delivery| delivery.unread),
        answers: span.answers.totals(),
        bins: SteadyBins {
            throughput: &span.bins.throughput,
            p50: &span.bins.p50,
            p99: &span.bins.p99,
            cpu: &span.bins.cpu,
            least_change_of_times: 0.0,
        },
        bin_s: span.bins.length_s,
        bins_from_s: 0.0,
        served: &span.served,
        warm_up_steady: trial.info.warm_up_steady,
        disturbances: &disturbances,
        course: match trial.info.stages[..] {
            [] => LoadCourse::Constant,
            _ => LoadCourse::Stages,
        },
    })
}

fn ledger(ledger: &LedgerInfo) -> Ledger {
    Ledger {
        sent: ledger.sent,
        accepted: ledger.accepted,
        rejected: ledger.rejected,
        unknown: ledger.unknown,
        delivered: ledger.delivered,
        missing: ledger.missing,
        rejected_delivered: ledger.rejected_delivered,
        unexpected: ledger.unexpected,
        missing_keys: ledger.missing_keys.clone(),
    }
}

/// A condition of a search: the path of its number, and what it is held against.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'a> {
    pub number: &'a [String],
    pub is_upper: bool,
    pub value: f64,
}

/// The strictest upper bound on response and service times among the conditions of a search, in microseconds.
pub fn time_bound_us<'a>(conditions: impl Iterator<Item = Bound<'a>>) -> Option<f64> {
    conditions
        .filter(|condition| {
            let metric = path::metric(condition.number);
            condition.is_upper && matches!(metric, Some(Metric::ResponseTime | Metric::ServiceTime))
        })
        .map(|condition| condition.value)
        .min_by(f64::total_cmp)
}

fn killed(disturbances: &[DisturbanceInfo]) -> Vec<Killed> {
    let one = |of: &DisturbanceInfo| Killed {
        name: of.name(),
        at_s: of.killed_s,
    };
    disturbances.iter().map(one).collect()
}

fn load_model(info: &RunInfo) -> LoadModel {
    match info.load_model {
        results::LoadModel::Closed => LoadModel::Closed,
        results::LoadModel::Open => LoadModel::Open,
        results::LoadModel::Users => LoadModel::Users,
    }
}

/// Counts as they are judged.
#[must_use]
pub fn counts(row: &CountsRow) -> Counts {
    Counts {
        seconds: row.seconds,
        due: row.due,
        sent: row.sent,
        succeeded: row.succeeded,
        failed: row.failed,
        skipped: row.skipped,
        in_flight_change: row.in_flight_change,
        records_succeeded: row.records_succeeded,
    }
}

/// What the engine says of itself, as it is judged; with the median over intervals of the connections open.
#[must_use]
pub fn engine(engine: &EngineInfo, connections_open_median: u64) -> Engine {
    Engine {
        workers: engine.workers,
        busy_share: engine.busy_share,
        wanted_share: engine.wanted_share,
        turn_wait_mean_us: engine.turn_wait_mean_us,
        cpu_us_per_request: engine.cpu_us_per_request,
        lag_p99_us: engine.lag_p99_us,
        possible_per_s: engine.possible_per_s,
        connections_asked: engine.connections_asked,
        connections_open_min: engine.connections_open_min,
        connections_open_median,
        in_flight_mean: engine.in_flight_mean,
        in_flight_beside: engine.in_flight_beside,
    }
}

/// What the CPUs did, as it is judged.
#[must_use]
pub fn machine(told: &MachineInfo, kept_awake: bool) -> Machine {
    Machine {
        stolen_share: told.stolen_share,
        idle_share: told.idle_share,
        kept_awake,
    }
}

/// An interval, as the search for silences takes it.
#[must_use]
pub fn served(row: &IntervalRow) -> Served {
    let before = row
        .in_flight
        .checked_add_signed(row.counts.in_flight_change.saturating_neg());
    Served {
        seconds: row.counts.seconds,
        succeeded: row.counts.succeeded,
        waited: row.connections_open == 0
            || (row.in_flight > 0 && before.is_some_and(|before| before > 0)),
    }
}

/// The measured phase as series; empty where the trial did not get that far.
#[derive(Default)]
struct Span {
    connections_open_median: Option<u64>,
    delivery: Totals,
    answers: Totals,
    served: Vec<Served>,
    bins: Bins,
}

/// Two running totals at the same instants.
#[derive(Default)]
struct Totals {
    at_s: Vec<f64>,
    asked: Vec<f64>,
    done: Vec<f64>,
}

impl Totals {
    fn totals(&self) -> RunningTotals<'_> {
        RunningTotals {
            at_s: &self.at_s,
            asked: &self.asked,
            done: &self.done,
        }
    }

    fn push(&mut self, at_s: f64, asked: f64, done: f64) {
        self.at_s.push(at_s);
        self.asked.push(asked);
        self.done.push(done);
    }
}

/// One value a bin.
#[derive(Default)]
struct Bins {
    length_s: f64,
    throughput: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    cpu: Vec<f64>,
}

impl Span {
    fn of(trial: &Trial) -> Self {
        let Some(measure) = trial.info.phase(PhaseName::Measure) else {
            return Self::default();
        };
        let rows: Vec<&IntervalRow> = trial
            .intervals_within(measure.start_s, measure.end_s)
            .collect();
        let mut open: Vec<u64> = rows.iter().map(|row| row.connections_open).collect();
        open.sort_unstable();
        let mut delivery = Totals::default();
        let looks = trial
            .backlog
            .iter()
            .filter(|look| look.at_s >= measure.start_s && look.at_s <= measure.end_s);
        for look in looks {
            delivery.push(
                look.at_s,
                accepted_by(trial, look.at_s),
                as_f64(look.visible),
            );
        }
        let mut answers = Totals::default();
        let (mut due, mut done) = (0, 0);
        for row in &rows {
            due += row.counts.due;
            done += row.counts.succeeded + row.counts.failed;
            answers.push(row.start_s + row.counts.seconds, as_f64(due), as_f64(done));
        }
        Self {
            connections_open_median: open.get(open.len() / 2).copied(),
            delivery,
            answers,
            served: rows.iter().map(|row| served(row)).collect(),
            bins: Bins::of(trial, &rows),
        }
    }
}

impl Bins {
    fn of(trial: &Trial, rows: &[&IntervalRow]) -> Self {
        let seconds: f64 = rows.iter().map(|row| row.counts.seconds).sum();
        let in_a_second = rows
            .iter()
            .take_while(|row| row.start_s + row.counts.seconds - rows[0].start_s <= 1.0 + 1e-6);
        let merge = if seconds >= SECOND_BINS_FROM {
            in_a_second.count().max(1)
        } else {
            1
        };
        let mut bins = Self::default();
        for bin in rows.chunks_exact(merge) {
            let (start_s, last) = (bin[0].start_s, bin[merge - 1]);
            let end_s = last.start_s + last.counts.seconds;
            bins.length_s = end_s - start_s;
            let succeeded: u64 = bin.iter().map(|row| row.counts.succeeded).sum();
            let times = trial.response_time.merged(start_s, end_s);
            let at = |quantile| {
                if times.is_empty() {
                    f64::NAN
                } else {
                    as_f64(times.value_at_quantile(quantile))
                }
            };
            bins.throughput.push(as_f64(succeeded) / bins.length_s);
            bins.p50.push(at(0.5));
            bins.p99.push(at(0.99));
            bins.cpu.push(system_cores(trial, start_s, end_s));
        }
        bins
    }
}

/// Mean over the samples that ended within the bin, of all components together; not a number where there is none.
fn system_cores(trial: &Trial, from_s: f64, to_s: f64) -> f64 {
    let mut components: Vec<(&str, f64, f64)> = Vec::new();
    let rows = trial
        .resources
        .iter()
        .filter(|row| row.at_s > from_s && row.at_s <= to_s);
    for row in rows.filter(|row| row.component != INSTRUMENT) {
        match components
            .iter_mut()
            .find(|(name, ..)| *name == row.component)
        {
            Some((_, cores, samples)) => {
                *cores += row.cpu_cores;
                *samples += 1.0;
            }
            None => components.push((&row.component, row.cpu_cores, 1.0)),
        }
    }
    if components.is_empty() {
        f64::NAN
    } else {
        components
            .iter()
            .map(|(_, cores, samples)| cores / samples)
            .sum()
    }
}
