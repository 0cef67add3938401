//! The observed load → its result. Pure, except for the description of the machine.

use std::{collections::BTreeMap, time::SystemTime};

use hdrhistogram::Histogram;
use waggle_report::wording::{
    causes::{self, Place},
    findings,
};
use waggle_results::{CountsRow, FailureCount, FailureKind, GeneratorPartInfo};
use waggle_spec::{Threshold, TimeKind};
use waggle_stats::Findings;
use waggle_system::{cpus::Shares, host::host};

use super::{drive::Observations, step_results};
use crate::{
    commands::load::{
        result::{
            conditions,
            summary::{
                Bar, FORMAT, GeneratorFacts, GeneratorPartFacts, HostFacts, LoadResult, Settings,
                Times, Totals,
            },
        },
        study::planned::Planned,
    },
    trial::{
        aggregate::{as_f64, quantile},
        judge,
        so_far::{SoFar, ratio as share},
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
    pub(crate) with_series: bool,
}

/// Computes the result.
pub(crate) fn result(
    planned: &Planned,
    observed: Observations,
    inputs: ResultInputs<'_>,
) -> LoadResult {
    let so_far = &observed.so_far;
    let settings = inputs.settings;
    let findings = match &observed.findings {
        Some(findings) if judge::nothing_succeeded(so_far).is_none() => findings.clone(),
        _ => judge::findings(so_far),
    };
    let verdict = waggle_stats::verdict_of(&findings.reasons);
    let (all, measured) = (so_far.all.counts(), so_far.measured.counts());
    let answered = |row: &CountsRow| row.succeeded + row.failed;
    let remarks = remarks(inputs.remarks, &findings, &observed);
    let connection_failures = by_kind(&all.other_failures, |kind| !kind.is_of_session());
    let mut result = LoadResult {
        format: FORMAT,
        waggle_version: env!("CARGO_PKG_VERSION").to_owned(),
        url: inputs.url.to_owned(),
        model: settings.model,
        started_utc: utc(observed.started),
        settings,
        seed: planned.seed,
        interrupted: so_far.interrupted,
        seconds: measured.seconds,
        due: all.due,
        sent: all.sent,
        succeeded: all.succeeded,
        failed: all.failed,
        skipped: all.skipped,
        in_flight_at_start: so_far.in_flight_at_start,
        in_flight_at_end: so_far.in_flight,
        answered_after_end: answered(&all) - answered(&measured),
        statuses: statuses(&so_far.shape, &all, &so_far.all.steps()),
        failures: by_kind(&all.failures, |_| true),
        connections_failed: connection_failures.values().sum(),
        connection_failures,
        goodput_per_s: share(as_f64(measured.succeeded), measured.seconds),
        throughput_per_s: share(as_f64(answered(&measured)), measured.seconds),
        error_rate: share(as_f64(all.failed), as_f64(answered(&all))),
        bytes_sent: all.bytes_sent,
        bytes_received: all.bytes_received,
        bytes_received_per_s: share(as_f64(measured.bytes_received), measured.seconds),
        bytes_sent_per_s: share(as_f64(measured.bytes_sent), measured.seconds),
        response_time_us: times(&so_far.all.times(TimeKind::Response)),
        service_time_us: times(&so_far.all.times(TimeKind::Service)),
        failed_time_us: times(&so_far.all.times(TimeKind::Failed)),
        resent: so_far.whole.counts.resent,
        connects: so_far.whole.counts.connects,
        connect_time_us: times(&so_far.whole.times[TimeKind::Connect]),
        handshakes: so_far.whole.counts.handshakes,
        handshakes_resumed: so_far.whole.counts.handshakes_resumed,
        handshake_time_us: times(&so_far.whole.times[TimeKind::Handshake]),
        sessions: (!so_far.shape.steps.is_empty()).then(|| step_results::sessions(so_far)),
        steps: step_results::results(so_far),
        generator: generator(so_far),
        totals: totals(so_far),
        verdict: verdict.name().to_owned(),
        verdict_reasons: (findings.reasons.iter().map(findings::named_reason)).collect(),
        verdict_causes: cause_lines(&findings),
        remarks,
        thresholds: Vec::new(),
        host: host_facts(so_far),
        intervals: inputs.with_series.then_some(observed.rows),
    };
    result.thresholds = inputs
        .thresholds
        .iter()
        .map(|threshold| conditions::threshold(threshold, &result, &findings.reasons))
        .collect();
    result
}

/// Those from before the load, of the findings, and of the trial.
fn remarks(before: Vec<String>, findings: &Findings, observed: &Observations) -> Vec<String> {
    let sentences = findings.remarks.iter().map(findings::sentence);
    let of_trial = observed.info.iter().flat_map(|info| &info.remarks);
    let all = before.into_iter().chain(sentences);
    all.chain(of_trial.cloned()).collect()
}

fn cause_lines(findings: &Findings) -> Vec<String> {
    let causes = findings.causes.iter();
    causes
        .map(|cause| causes::sentence(*cause, Place::Flags))
        .collect()
}

fn utc(instant: SystemTime) -> String {
    jiff::Timestamp::try_from(instant)
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

fn generator(so_far: &SoFar) -> GeneratorFacts {
    let engine = so_far.engine();
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

fn totals(so_far: &SoFar) -> Totals {
    let totals = &so_far.whole.counts;
    Totals {
        seconds: so_far.ran_for.as_secs_f64(),
        due: totals.due,
        sent: totals.sent,
        succeeded: totals.succeeded,
        failed: totals.failed,
        skipped: totals.skipped,
    }
}

fn host_facts(so_far: &SoFar) -> HostFacts {
    let host = host(&Shares::default());
    let percent = |share: f64| 100.0 * share;
    HostFacts {
        name: host.name,
        kernel: host.kernel,
        cpu_model: host.cpu_model,
        cpus: host.cpus,
        memory_bytes: host.memory_bytes,
        open_files_max: host.open_files_max,
        idle_poll: so_far.idle_poll,
        cpu_steal_percent: so_far.cpus.map(|cpus| percent(cpus.cpu_steal)),
        cpu_idle_percent: so_far.cpus.map(|cpus| percent(cpus.cpu_idle)),
        system_cores: so_far.cpus.and_then(|cpus| cpus.system_cores),
        other_cores: so_far.cpus.and_then(|cpus| cpus.other_cores),
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
