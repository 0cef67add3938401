//! A load that has ended → its result. Pure, except for the memory of this process.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use waggle_analysis::{EndedLoad, TrialRemark};
use waggle_report::wording::{
    causes::{self, Place},
    findings,
};
use waggle_results::{CountsRow, FailureCount, FailureKind, GeneratorPartInfo};
use waggle_spec::{Threshold, TimeKind};

use super::step_results;
use crate::{
    commands::load::{
        result::{
            conditions,
            summary::{
                Bar, FORMAT, GeneratorFacts, GeneratorPartFacts, HostFacts, LoadResult, Row,
                Settings, Times, Totals,
            },
        },
        study::planned::Planned,
    },
    trial::{
        aggregate::{as_f64, quantile},
        so_far::ratio as share,
        statuses::statuses,
    },
};

/// Maximum number of bars of a histogram.
const BARS: u32 = 12;

/// Further inputs of the result.
#[derive(Debug)]
pub(crate) struct ResultInputs<'a> {
    pub(crate) url: &'a str,
    pub(crate) settings: Settings,
    pub(crate) thresholds: &'a [Threshold],
    /// Remarks from before the load.
    pub(crate) remarks: Vec<String>,
    pub(crate) interrupted: bool,
    pub(crate) intervals: Option<Vec<Row>>,
}

/// Computes the result.
pub(crate) fn result(planned: &Planned, load: &EndedLoad, inputs: ResultInputs<'_>) -> LoadResult {
    let EndedLoad {
        trial, sums, model, ..
    } = load;
    let (info, numbers, settings) = (&trial.info, load.numbers(), inputs.settings);
    let all = &sums.counts;
    let answered = |row: &CountsRow| row.succeeded + row.failed;
    let in_flight = trial.intervals.last().map_or(0, |row| row.in_flight);
    let times_measured = trial.measured_histograms();
    let times_in_all = |kind| times(&trial.times[kind].merge_range(0.0, f64::INFINITY));
    let connecting = info.connecting.unwrap_or_default();
    let connection_failures = by_kind(&all.other_failures, |kind| !kind.is_of_session());
    let conditions = inputs.thresholds.iter();
    LoadResult {
        format: FORMAT,
        waggle_version: env!("CARGO_PKG_VERSION").to_owned(),
        url: inputs.url.to_owned(),
        model: settings.model,
        started_utc: utc(trial.times[TimeKind::Response].started_unix_s),
        settings,
        seed: planned.seed,
        interrupted: inputs.interrupted,
        seconds: numbers.counts.seconds,
        due: all.due,
        sent: all.sent,
        succeeded: all.succeeded,
        failed: all.failed,
        skipped: all.skipped,
        in_flight_at_start: in_flight.saturating_add_signed(-all.in_flight_change),
        in_flight_at_end: in_flight,
        answered_after_end: answered(all) - answered(&info.measured),
        statuses: statuses(&planned.shape, all, &sums.steps),
        failures: by_kind(&all.failures, |_| true),
        connections_failed: connection_failures.values().sum(),
        connection_failures,
        goodput_per_s: numbers.goodput_per_s,
        throughput_per_s: numbers.throughput_per_s,
        error_rate: share(as_f64(all.failed), as_f64(answered(all))),
        bytes_sent: all.bytes_sent,
        bytes_received: all.bytes_received,
        bytes_received_per_s: numbers.bytes_received_per_s,
        bytes_sent_per_s: numbers.bytes_sent_per_s,
        response_time_us: times(&times_measured[TimeKind::Response]),
        service_time_us: times(&times_measured[TimeKind::Service]),
        failed_time_us: times(&times_measured[TimeKind::Failed]),
        resent: connecting.resent,
        connects: connecting.connects,
        http2_connections: connecting.http2_connections.unwrap_or(0),
        connect_time_us: times_in_all(TimeKind::Connect),
        handshakes: connecting.handshakes,
        handshakes_resumed: connecting.handshakes_resumed,
        handshake_time_us: times_in_all(TimeKind::Handshake),
        sessions: (!planned.shape.steps.is_empty())
            .then(|| step_results::sessions(load, &times_measured[TimeKind::Session])),
        steps: step_results::results(load),
        generator: generator(load),
        totals: totals(&info.totals),
        verdict: model.verdict.name().to_owned(),
        verdict_reasons: (model.reasons.iter().map(findings::named_reason)).collect(),
        verdict_causes: (model.causes.iter())
            .map(|cause| causes::sentence(*cause, Place::Flags))
            .collect(),
        remarks: remarks(inputs.remarks, load),
        thresholds: conditions
            .map(|threshold| conditions::threshold(threshold, load))
            .collect(),
        host: host_facts(load),
        intervals: inputs.intervals,
    }
}

/// Those from before the load, of the checks, and of the runner.
fn remarks(before: Vec<String>, load: &EndedLoad) -> Vec<String> {
    let sentences = load.model.remarks.iter().filter_map(|remark| match remark {
        TrialRemark::Found(finding) => Some(findings::sentence(finding)),
        TrialRemark::Seen(_) => None,
    });
    let all = before.into_iter().chain(sentences);
    all.chain(load.trial.info.remarks.iter().cloned()).collect()
}

fn utc(since_1970_s: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "seconds since 1970 are below 2^53"
    )]
    let instant = jiff::Timestamp::from_second(since_1970_s as i64);
    instant
        .map(|instant| instant.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_default()
}

/// The failures of those kinds.
pub(crate) fn by_kind(
    failures: &[FailureCount],
    is_asked: fn(FailureKind) -> bool,
) -> BTreeMap<FailureKind, u64> {
    let asked = failures.iter().filter(|failure| is_asked(failure.kind));
    asked.map(|failure| (failure.kind, failure.count)).collect()
}

fn generator(load: &EndedLoad) -> GeneratorFacts {
    let engine = load.trial.info.generator.clone().unwrap_or_default();
    GeneratorFacts {
        workers: engine.workers,
        cpu_us_per_request: engine.cpu_us_per_request,
        utilization_percent: 100.0 * engine.utilization,
        utilization_wanted_percent: 100.0 * engine.utilization_wanted,
        lag_us_p99: engine.lag_p99_us,
        run_queue_wait_us_mean: engine.run_queue_wait_mean_us,
        in_flight_mean: engine.in_flight_mean,
        connections_asked: engine.connections_asked,
        connections_open_min: engine.connections_open_min,
        memory_peak_bytes: memory_peak_bytes(),
        generators: engine.generators.iter().map(generator_part).collect(),
    }
}

fn generator_part(part: &GeneratorPartInfo) -> GeneratorPartFacts {
    GeneratorPartFacts {
        sent: part.sent,
        utilization_percent: 100.0 * part.utilization,
        utilization_wanted_percent: 100.0 * part.utilization_wanted,
        lag_us_p99: part.lag_p99_us,
        run_queue_wait_us_mean: part.run_queue_wait_mean_us,
    }
}

/// `VmHWM` of this process, which the kernel counts in units of 1024 bytes.
fn memory_peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

fn totals(totals: &CountsRow) -> Totals {
    Totals {
        seconds: totals.seconds,
        due: totals.due,
        sent: totals.sent,
        succeeded: totals.succeeded,
        failed: totals.failed,
        skipped: totals.skipped,
    }
}

fn host_facts(load: &EndedLoad) -> HostFacts {
    let (host, machine) = (&load.run.host, load.trial.info.machine);
    HostFacts {
        name: host.name.clone(),
        kernel: host.kernel.clone(),
        cpu_model: host.cpu_model.clone(),
        cpus: host.cpus,
        memory_bytes: host.memory_bytes,
        open_files_max: host.open_files_max,
        idle_poll: host.idle_poll,
        cpu_steal_percent: machine.map(|machine| 100.0 * machine.cpu_steal),
        cpu_idle_percent: machine.map(|machine| 100.0 * machine.cpu_idle),
        system_cores: machine.and_then(|machine| machine.system_cores),
        other_cores: machine.and_then(|machine| machine.other_cores),
    }
}

/// Summarizes a histogram.
pub(crate) fn times(histogram: &Histogram<u64>) -> Times {
    if histogram.is_empty() {
        return Times::default();
    }
    let count = histogram.len();
    let percentile = |wanted: f64| quantile(histogram, wanted);
    let thin = [
        ("p50", 0.5),
        ("p90", 0.9),
        ("p95", 0.95),
        ("p99", 0.99),
        ("p99_9", 0.999),
        ("p99_99", 0.9999),
    ];
    Times {
        count,
        mean: Some(histogram.mean()),
        min: Some(histogram.min()),
        p50: percentile(0.5),
        p90: percentile(0.9),
        p95: percentile(0.95),
        p99: percentile(0.99),
        p99_9: percentile(0.999),
        p99_99: percentile(0.9999),
        max: Some(histogram.max()),
        thin: thin
            .into_iter()
            .filter(|(_, wanted)| waggle_stats::thin_tail(count, *wanted).is_some())
            .map(|(name, _)| name.to_owned())
            .collect(),
        spectrum: spectrum(histogram),
    }
}

/// Bars whose bounds grow by a constant ratio, because times vary by orders of magnitude.
fn spectrum(histogram: &Histogram<u64>) -> Vec<Bar> {
    let (least, most) = (histogram.min().max(1), histogram.max().max(1));
    let ratio = as_f64(most) / as_f64(least);
    let mut bars: Vec<Bar> = Vec::new();
    for bar in 1..=BARS {
        let bound = as_f64(least) * ratio.powf(f64::from(bar) / f64::from(BARS));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between the smallest and the largest time"
        )]
        let up_to_us = if bar == BARS {
            most
        } else {
            bound.round() as u64
        };
        if bars.last().is_none_or(|last| last.up_to_us < up_to_us) {
            bars.push(Bar { up_to_us, count: 0 });
        }
    }
    for step in histogram.iter_recorded() {
        // The steps are in order, and none is above the largest time.
        let value = step.value_iterated_to().min(most);
        let index = bars.partition_point(|bar| bar.up_to_us < value);
        bars[index].count += step.count_since_last_iteration();
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::aggregate::histogram;

    fn histogram_from(values: &[u64]) -> Histogram<u64> {
        let mut filled = histogram();
        for value in values {
            filled.record(*value).unwrap();
        }
        filled
    }

    #[test]
    fn each_sample_is_in_one_bar() {
        let check = |values: &[u64], bars: usize| {
            let all_bars = spectrum(&histogram_from(values));
            let counted: u64 = all_bars.iter().map(|bar| bar.count).sum();
            assert_eq!(counted, values.len() as u64, "{all_bars:?}");
            assert_eq!(all_bars.len(), bars, "{all_bars:?}");
            assert!(
                all_bars
                    .windows(2)
                    .all(|two| two[0].up_to_us < two[1].up_to_us)
            );
            assert!(all_bars.last().unwrap().count > 0);
        };
        check(&[5], 1);
        check(&[5, 5, 6], 2);
        check(&[1, 10, 100, 1_000, 10_000, 1_000_000], 12);
        check(&(100..5_000).collect::<Vec<_>>(), 12);
    }

    #[test]
    fn empty_histogram_has_no_values() {
        let times = times(&histogram());
        assert_eq!((times.count, times.p50, times.mean), (0, None, None));
        assert!(times.spectrum.is_empty());
    }
}
