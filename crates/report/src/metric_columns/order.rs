//! Which columns of `tables.csv` stand first, and in which order: programs may rely on it. A metric that is not named here comes
//! behind all of these, so nothing is added here when the catalogue grows.

use super::text::{self, Text};
use crate::metric_columns;
use waggle_analysis::{Model, TrialNumbers, bottleneck_of_trial};

/// A column with its text; without one it is the number of the catalogue whose column has the name.
pub(super) type First<'a> = (String, Option<Text<'a>>);

const LOAD: [&str; 20] = [
    "measured_s",
    "goodput_per_s",
    "throughput_requests_per_s",
    "achieved_ratio",
    "offered_requests_per_s",
    "succeeded",
    "failed",
    "skipped",
    "response_time_p50_us",
    "response_time_p90_us",
    "response_time_p99_us",
    "response_time_p99_9_us",
    "response_time_max_us",
    "response_time_mean_us",
    "service_time_p50_us",
    "service_time_p99_us",
    "service_time_max_us",
    "service_time_mean_us",
    "failed_time_p50_us",
    "failed_time_max_us",
];

const DELIVERY: [&str; 22] = [
    "records_sent",
    "records_accepted",
    "records_rejected",
    "records_unknown",
    "records_delivered",
    "records_missing",
    "records_unknown_delivered",
    "records_rejected_delivered",
    "records_unexpected",
    "records_duplicates",
    "records_late",
    "records_out_of_order",
    "delivery_delay_p50_us",
    "delivery_delay_p90_us",
    "delivery_delay_p99_us",
    "delivery_delay_max_us",
    "delivery_delay_mean_us",
    "delivery_backlog_max",
    "delivery_resolution_ms",
    "delivery_negative_delays",
    "drain_time_s",
    "probe_cpu_s",
];

const COST: [&str; 11] = [
    "system_cpu_us_per_request",
    "generator_cpu_us_per_request",
    "generator_utilization",
    "generator_lag_p99_us",
    "cpu_steal",
    "cpu_idle",
    "other_cores",
    "generator_capacity_per_s",
    "system_rss_max_bytes",
    "bytes_sent",
    "bytes_received",
];

const SESSIONS: [&str; 3] = ["sessions_started", "sessions_completed", "sessions_failed"];

/// Of each step; the step's failures follow.
const STEP: [&str; 11] = [
    "goodput_per_s",
    "succeeded",
    "failed",
    "response_time_p50_us",
    "response_time_p90_us",
    "response_time_p99_us",
    "response_time_p99_9_us",
    "response_time_max_us",
    "response_time_mean_us",
    "service_time_p50_us",
    "service_time_p99_us",
];

/// Of the probe where records must arrive.
const ARRIVAL: [&str; 3] = [
    "arrival_delay_p50_us",
    "arrival_delay_p99_us",
    "arrival_delay_mean_us",
];

/// Of each intermediate probe.
const INTERMEDIATE_PROBE: [&str; 17] = [
    "records_delivered",
    "records_missing",
    "records_unexpected",
    "records_duplicates",
    "records_late",
    "records_out_of_order",
    "delivery_delay_p50_us",
    "delivery_delay_p90_us",
    "delivery_delay_p99_us",
    "delivery_delay_max_us",
    "delivery_delay_mean_us",
    "arrival_delay_p50_us",
    "arrival_delay_p99_us",
    "arrival_delay_mean_us",
    "delivery_backlog_max",
    "delivery_resolution_ms",
    "drain_time_s",
];

const SYSTEM_METRIC: [&str; 3] = ["mean", "max", "end"];

/// The columns that stand first in the table of this run.
pub(super) fn leading_columns(model: &Model) -> Vec<First<'_>> {
    let mut all: Vec<First<'_>> = texts(&text::PLAN).collect();
    // A factor may be called like a column of ours.
    all.extend(model.factors.iter().map(|factor| {
        let head = format!("factor_{}", factor.name);
        (head, Some(Text::Level(&factor.name)))
    }));
    all.extend(model.info.derived.iter().map(|derived| {
        let head = format!("derived_{}", derived.name);
        (head, Some(Text::Derived(&derived.name)))
    }));
    all.extend(texts(&text::VERDICT));
    if model.best_and_worst.is_some() {
        all.extend(texts(&text::BEST_AND_WORST));
    }
    all.extend(
        numbers(&LOAD)
            .chain(numbers(&DELIVERY))
            .chain(numbers(&COST)),
    );
    all.extend(texts(&text::TOLD));
    all.extend(scenario(model));
    if any_trial(model, |numbers| numbers.arrival.is_some()) {
        all.extend(numbers(&ARRIVAL));
    }
    let probes = model.info.intermediate_probes.iter();
    all.extend(
        probes.flat_map(|probe| INTERMEDIATE_PROBE.map(|head| (format!("{probe}.{head}"), None))),
    );
    let metrics = model.info.metrics.iter();
    all.extend(metrics.flat_map(|metric| {
        SYSTEM_METRIC.map(|head| (format!("metric_{}_{head}", metric.name), None))
    }));
    if any_trial(model, |numbers| bottleneck_of_trial(numbers).is_some()) {
        all.extend(texts(&text::BUSIEST));
    }
    if !model.faults.is_empty() {
        all.extend(texts(&text::KILLED));
        all.extend(numbers(&[
            "time_to_ready_s",
            "longest_outage_s",
            "failed_whole_load",
        ]));
        all.extend(texts(&text::KILLED_FAILURES));
    }
    if let Some(recovery) = model.info.schedule.recovery {
        all.extend(texts(&text::RECOVERED));
        all.extend(numbers(&["recovery_time_s"]));
        all.extend(texts(&text::LOOKED_FOR));
        let control = recovery.control.map(|_| texts(&text::CONTROL));
        all.extend(control.into_iter().flatten());
    }
    if model.search.is_some() {
        all.extend(texts(&text::SEARCH));
    }
    if !model.operating_points.is_empty() {
        all.extend(texts(&text::OPERATING_POINT));
    }
    all
}

fn scenario(model: &Model) -> Vec<First<'_>> {
    let names = metric_columns::step_names(model);
    if names.is_empty() {
        return Vec::new();
    }
    let steps = names.into_iter().flat_map(|name| {
        let failures = (format!("{name}.failures"), Some(Text::Failures(name)));
        let numbers = STEP.map(|head| (format!("{name}.{head}"), None));
        numbers.into_iter().chain([failures])
    });
    numbers(&SESSIONS).chain(steps).collect()
}

fn numbers<'a>(heads: &[&str]) -> impl Iterator<Item = First<'a>> {
    heads.iter().map(|head| ((*head).to_owned(), None))
}

fn texts<'a>(all: &'static [text::Named]) -> impl Iterator<Item = First<'a>> {
    all.iter()
        .map(|(head, text)| ((*head).to_owned(), Some(Text::Of(*text))))
}

fn any_trial(model: &Model, has: impl Fn(&TrialNumbers) -> bool) -> bool {
    let mut all = model
        .trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref());
    all.any(has)
}
