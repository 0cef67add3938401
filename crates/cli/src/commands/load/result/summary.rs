//! The result of one load as one plain value. Text, JSON and CSV are rendered from it and compute nothing. The published
//! schema is generated from these types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use waggle_results::FailureKind;

use crate::trial::phase::Phase;

/// The version of the JSON object. Fields may be added without a new version; a field never changes its meaning.
pub(crate) const FORMAT: u32 = 1;

/// One load: its settings, its metrics, and whether the result is reliable.
///
/// Counts include the measured phase and the answers after it, so every request is accounted for:
/// `sent + in_flight_at_start = succeeded + failed + in_flight_at_end`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "waggle load")]
pub(crate) struct LoadResult {
    /// Version of this format.
    pub(crate) format: u32,
    /// Version of the program that wrote it.
    pub(crate) waggle_version: String,
    /// URL of the requests, without name and password.
    pub(crate) url: String,
    /// Load model.
    pub(crate) model: ModelName,
    /// Start of the load: RFC 3339, UTC.
    pub(crate) started_utc: String,
    /// Settings of the load, defaults included.
    pub(crate) settings: Settings,
    /// Seed of arrivals and think times.
    pub(crate) seed: u64,
    /// True if the load was ended by Ctrl-C; the metrics are those up to then.
    pub(crate) interrupted: bool,
    /// Length of the measured phase in seconds: while requests were sent, without the warm-up.
    pub(crate) seconds: f64,
    /// Requests that fell due. Closed load and users: the same as sent.
    pub(crate) due: u64,
    /// Requests that were sent.
    pub(crate) sent: u64,
    /// Requests whose answer was as expected.
    pub(crate) succeeded: u64,
    /// Requests that were sent and failed.
    pub(crate) failed: u64,
    /// Open load: requests that fell due and were not sent.
    pub(crate) skipped: u64,
    /// Requests in flight at the start of the measured phase (0 without warm-up).
    pub(crate) in_flight_at_start: u64,
    /// Requests that neither succeeded nor failed until the end.
    pub(crate) in_flight_at_end: u64,
    /// Requests that succeeded or failed after the measured phase.
    pub(crate) answered_after_end: u64,
    /// Failed requests by kind. They add up to `failed`.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub(crate) failures: BTreeMap<FailureKind, u64>,
    /// Attempts to connect that failed, and connections that ended wrongly while no request was in flight. They are no requests, and
    /// are not in `failed`.
    pub(crate) connections_failed: u64,
    /// The same by kind.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub(crate) connection_failures: BTreeMap<FailureKind, u64>,
    /// Answers by status. Answers that were as expected are counted under the expected status: `201`; `200/204` if several
    /// are expected; `2xx` if any is; `expected` if requests of one step expect different ones.
    pub(crate) statuses: BTreeMap<String, u64>,
    /// Requests that succeeded in the measured phase, per second.
    pub(crate) goodput_per_s: f64,
    /// Requests that succeeded or failed in the measured phase, per second.
    pub(crate) throughput_per_s: f64,
    /// Failed requests as a share of those that succeeded or failed, 0 to 1.
    pub(crate) error_rate: f64,
    /// Bytes of requests.
    pub(crate) bytes_sent: u64,
    /// Bytes of answers, including status line and headers.
    pub(crate) bytes_received: u64,
    /// Bytes received in the measured phase, per second.
    pub(crate) bytes_received_per_s: f64,
    /// Bytes sent in the measured phase, per second.
    pub(crate) bytes_sent_per_s: f64,
    /// From due to the complete answer, of requests that succeeded, in µs.
    pub(crate) response_time_us: Times,
    /// From sent to the complete answer, of requests that succeeded, in µs.
    pub(crate) service_time_us: Times,
    /// From due to the failure, of requests that failed with an answer or by a timeout, in µs.
    pub(crate) failed_time_us: Times,
    /// Requests that were sent once more over a new connection, because the server closed the old one with an answer before theirs, or
    /// over HTTP/2 said that it had not processed them, in the whole run. Each is in `sent` once.
    pub(crate) resent: u64,
    /// Connections that were opened, in the whole run.
    pub(crate) connects: u64,
    /// Those of them that spoke HTTP/2.
    pub(crate) http2_connections: u64,
    /// From the attempt to the open connection, in µs, in the whole run.
    pub(crate) connect_time_us: Times,
    /// TLS handshakes that were completed.
    pub(crate) handshakes: u64,
    /// TLS handshakes that resumed an earlier session.
    pub(crate) handshakes_resumed: u64,
    /// From the open connection to the completed TLS handshake, in µs.
    pub(crate) handshake_time_us: Times,
    /// Sessions of a scenario; null without one.
    pub(crate) sessions: Option<SessionsResult>,
    /// The steps of a scenario, in the order of its file; empty without one.
    pub(crate) steps: Vec<StepResult>,
    /// What the load generator measured about itself.
    pub(crate) generator: GeneratorFacts,
    /// The whole run, warm-up included: the counts that the server should have.
    pub(crate) totals: Totals,
    /// Whether the result is reliable: `valid`, or the kind of problem.
    pub(crate) verdict: String,
    /// Why the verdict is not `valid`; empty if it is.
    pub(crate) verdict_reasons: Vec<String>,
    /// Where the reasons come from, with what may be done, as far as that is known.
    pub(crate) verdict_causes: Vec<String>,
    /// Remarks that do not affect the verdict.
    pub(crate) remarks: Vec<String>,
    /// The thresholds.
    pub(crate) thresholds: Vec<ThresholdResult>,
    /// The machine of the load generator.
    pub(crate) host: HostFacts,
    /// The time series, with `--series`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) intervals: Option<Vec<Row>>,
}

/// What makes the next request due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum ModelName {
    #[default]
    Closed,
    Open,
    Users,
}

/// Settings of a load, defaults included.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Settings {
    /// In JSON it is a field of the result.
    #[serde(skip)]
    pub(crate) model: ModelName,
    /// Connections; null with users, who have one each.
    pub(crate) connections: Option<u32>,
    /// Maximum of requests in flight on each connection.
    pub(crate) pipelining: Option<u32>,
    /// Open load: requests per second.
    pub(crate) rate_per_s: Option<f64>,
    /// Open load: `poisson` or `uniform`.
    pub(crate) arrivals: Option<String>,
    /// Number of users.
    pub(crate) users: Option<u32>,
    /// Think time of users, as given.
    pub(crate) think_time: Option<String>,
    /// Stages of the load; empty if it is constant.
    pub(crate) stages: Vec<StageSettings>,
    /// Length of the measured phase in seconds; null if only `max_requests` limits it.
    pub(crate) duration_s: Option<f64>,
    /// Maximum number of requests.
    pub(crate) max_requests: Option<u64>,
    /// Length of the warm-up in seconds.
    pub(crate) warm_up_s: f64,
    /// The address that connections go to.
    pub(crate) address: String,
    /// `http/1.1`, `h2`, or `auto`: over TLS what the server chose, see `http2_connections`.
    pub(crate) protocol: String,
    /// Whether connections use TLS.
    pub(crate) tls: bool,
    /// Method of the request; null with a scenario.
    pub(crate) method: Option<String>,
    /// Name of the scenario; null without one.
    pub(crate) scenario: Option<String>,
    /// Length of the request body in bytes.
    pub(crate) body_bytes: u64,
    /// Records per request; 0 without records.
    pub(crate) records_per_request: u32,
    /// Timeout of a request in seconds; with a scenario, the largest of its steps.
    pub(crate) timeout_s: f64,
    /// Statuses that count as success; empty: any 2xx.
    pub(crate) expect_status: Vec<u16>,
    /// Worker threads.
    pub(crate) workers: u32,
    /// CPUs that the worker threads are pinned to; empty: none.
    pub(crate) pinned_cpus: Vec<usize>,
    /// Length of an interval of the load generator, in seconds.
    pub(crate) interval_s: f64,
    /// Settings that were not given, as text.
    pub(crate) defaults: Vec<String>,
}

/// One stage of a load.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct StageSettings {
    /// Length in seconds; 0: a jump.
    pub(crate) duration_s: f64,
    /// Requests per second, or users, at the end of the stage.
    pub(crate) target: f64,
}

/// A distribution of times in µs. Fields are null without samples.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Times {
    /// Number of samples.
    pub(crate) count: u64,
    /// Mean.
    pub(crate) mean: Option<f64>,
    /// Minimum.
    pub(crate) min: Option<u64>,
    /// Median.
    pub(crate) p50: Option<u64>,
    /// 90th percentile.
    pub(crate) p90: Option<u64>,
    /// 95th percentile.
    pub(crate) p95: Option<u64>,
    /// 99th percentile.
    pub(crate) p99: Option<u64>,
    /// 99.9th percentile.
    pub(crate) p99_9: Option<u64>,
    /// 99.99th percentile.
    pub(crate) p99_99: Option<u64>,
    /// Maximum.
    pub(crate) max: Option<u64>,
    /// Percentiles with fewer than ten samples above them: not reliable.
    pub(crate) thin: Vec<String>,
    /// Histogram whose bounds grow by a constant ratio. Empty without samples.
    pub(crate) spectrum: Vec<Bar>,
}

/// One bar of the histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Bar {
    /// Upper bound in µs.
    pub(crate) up_to_us: u64,
    /// Number of samples.
    pub(crate) count: u64,
}

/// Sessions of a scenario, from the start of the measured phase to the last answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct SessionsResult {
    /// Sessions that started.
    pub(crate) started: u64,
    /// Sessions that completed their flow.
    pub(crate) completed: u64,
    /// Sessions that ended early because a request or the connection failed, or because a loop reached `max_rounds`. The others were
    /// running when sending stopped.
    pub(crate) failed: u64,
    /// Those of them that ended by no failed request or connection, by kind.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub(crate) failures: BTreeMap<FailureKind, u64>,
    /// Sessions completed in the measured phase, per second.
    pub(crate) goodput_per_s: f64,
    /// From due to the end of the flow, of completed sessions, pauses included.
    pub(crate) duration_us: Times,
}

/// The requests of one step of a scenario.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct StepResult {
    /// Name of the step.
    pub(crate) name: String,
    /// Requests that were sent.
    pub(crate) sent: u64,
    /// Requests whose answer was as expected, with all checks and captures successful.
    pub(crate) succeeded: u64,
    /// Requests that were sent and failed.
    pub(crate) failed: u64,
    /// Failures by kind.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub(crate) failures: BTreeMap<FailureKind, u64>,
    /// Requests that succeeded in the measured phase, per second.
    pub(crate) goodput_per_s: f64,
    /// Requests that succeeded or failed in the measured phase, per second.
    pub(crate) throughput_per_s: f64,
    /// Failed requests as a share of those that succeeded or failed, 0 to 1.
    pub(crate) error_rate: f64,
    /// From due to the complete answer, of requests that succeeded, in µs. A step is due at the end of the previous
    /// step and its think time.
    pub(crate) response_time_us: Times,
    /// From sent to the complete answer, of requests that succeeded, in µs.
    pub(crate) service_time_us: Times,
    /// From due to the failure, of requests that failed with an answer or by a timeout, in µs.
    pub(crate) failed_time_us: Times,
}

/// What the load generator measured about itself in the measured phase.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct GeneratorFacts {
    /// Worker threads with connections, over all generators.
    pub(crate) workers: u32,
    /// CPU time of all threads per request sent, in µs.
    pub(crate) cpu_us_per_request: f64,
    /// CPU utilization of the busiest thread, in percent.
    pub(crate) utilization_percent: f64,
    /// The same including the time in the run queue of its CPU, in percent.
    pub(crate) utilization_wanted_percent: f64,
    /// How late requests were sent, relative to the earliest possible instant: p99 in µs.
    pub(crate) lag_us_p99: f64,
    /// Mean wait in the run queue of the CPU, in µs.
    pub(crate) run_queue_wait_us_mean: f64,
    /// Mean of requests in flight.
    pub(crate) in_flight_mean: f64,
    /// Connections that were requested.
    pub(crate) connections_asked: u64,
    /// Minimum of open connections at the end of an interval.
    pub(crate) connections_open_min: u64,
    /// Peak memory of the program, without several generators, in bytes; null if the kernel does not report it.
    pub(crate) memory_peak_bytes: Option<u64>,
    /// Each of several generators that made the load together; absent if it was one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) generators: Vec<GeneratorPartFacts>,
}

/// One of several generators in the measured phase.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct GeneratorPartFacts {
    /// Requests that it sent.
    pub(crate) sent: u64,
    /// CPU utilization of its busiest thread, in percent.
    pub(crate) utilization_percent: f64,
    /// The same including the time in the run queue of its CPU, in percent.
    pub(crate) utilization_wanted_percent: f64,
    /// How late it sent, relative to the earliest possible instant: p99 in µs.
    pub(crate) lag_us_p99: f64,
    /// Mean wait in the run queue of the CPU, in µs.
    pub(crate) run_queue_wait_us_mean: f64,
}

/// The whole run, including warm-up and last answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Totals {
    /// Length until the last answer, in seconds.
    pub(crate) seconds: f64,
    /// Requests that fell due.
    pub(crate) due: u64,
    /// Requests that were sent.
    pub(crate) sent: u64,
    /// Requests whose answer was as expected.
    pub(crate) succeeded: u64,
    /// Requests that were sent and failed.
    pub(crate) failed: u64,
    /// Requests that fell due and were not sent.
    pub(crate) skipped: u64,
}

/// A threshold, and whether it holds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ThresholdResult {
    /// The condition, as given.
    pub(crate) condition: String,
    /// Whether it holds.
    pub(crate) holds: bool,
    /// Whether the result leaves open if it holds: the metric is doubtful, or there is none.
    pub(crate) undecided: bool,
    /// Value of the metric: times in µs, sizes in bytes, rates per second, shares from 0 to 1; null if there is none.
    pub(crate) observed: Option<f64>,
    /// Why it does not hold, if the value does not explain it.
    pub(crate) reason: Option<String>,
}

/// The machine of the load generator.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct HostFacts {
    /// Host name.
    pub(crate) name: String,
    /// Kernel release.
    pub(crate) kernel: String,
    /// CPU model.
    pub(crate) cpu_model: String,
    /// CPUs that this program may use.
    pub(crate) cpus: u32,
    /// Memory in bytes.
    pub(crate) memory_bytes: u64,
    /// Limit on open files.
    pub(crate) open_files_max: u64,
    /// Whether loops of the idle scheduling class kept the CPUs from halting (`--idle-poll`).
    pub(crate) idle_poll: bool,
    /// CPU steal: CPU time in the measured phase that the hypervisor took from this virtual machine, in percent; null if unknown.
    pub(crate) cpu_steal_percent: Option<f64>,
    /// Idle CPU time in the measured phase, in percent, idle polling included; null if unknown.
    pub(crate) cpu_idle_percent: Option<f64>,
    /// CPUs that the processes of the server used in the measured phase, if it runs on this machine; null if unknown.
    pub(crate) system_cores: Option<f64>,
    /// CPUs that other programs used in the measured phase; null if unknown.
    pub(crate) other_cores: Option<f64>,
}

/// One row of the time series.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Row {
    /// Start, in seconds since the start of the load.
    pub(crate) start_s: f64,
    /// Length in seconds.
    pub(crate) seconds: f64,
    /// Phase of the load.
    pub(crate) phase: Phase,
    /// Requests that fell due.
    pub(crate) due: u64,
    /// Requests that were sent.
    pub(crate) sent: u64,
    /// Requests whose answer was as expected.
    pub(crate) succeeded: u64,
    /// Requests that failed.
    pub(crate) failed: u64,
    /// Requests that fell due and were not sent.
    pub(crate) skipped: u64,
    /// Requests in flight at the end.
    pub(crate) in_flight: u64,
    /// Connections open at the end.
    pub(crate) connections_open: u64,
    /// Requests that succeeded, per second.
    pub(crate) goodput_per_s: f64,
    /// Median of the response time in µs; null if no request succeeded.
    pub(crate) response_p50_us: Option<u64>,
    /// 90th percentile of the response time in µs.
    pub(crate) response_p90_us: Option<u64>,
    /// 99th percentile of the response time in µs.
    pub(crate) response_p99_us: Option<u64>,
    /// 99.9th percentile of the response time in µs.
    pub(crate) response_p99_9_us: Option<u64>,
    /// Maximum of the response time in µs.
    pub(crate) response_max_us: Option<u64>,
    /// Median of the service time in µs.
    pub(crate) service_p50_us: Option<u64>,
    /// 99th percentile of the service time in µs.
    pub(crate) service_p99_us: Option<u64>,
    /// Bytes of answers.
    pub(crate) bytes_received: u64,
    /// CPU utilization of the busiest thread of the load generator, in percent.
    pub(crate) generator_utilization_percent: f64,
    /// How late requests were sent: p99 in µs.
    pub(crate) generator_lag_us_p99: f64,
}

/// JSON Schema (2020-12) of the object that `--json` prints.
pub(crate) fn schema() -> serde_json::Value {
    schemars::generate::SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<LoadResult>()
        .to_value()
}
