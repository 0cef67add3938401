//! The result of one load as one plain value. Text, JSON and CSV are rendered from it and compute nothing; the published
//! schema is that of these types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use waggle_results::FailureKind;

use crate::trial::phase::Phase;

/// The version of the JSON object. A field may be added under the same number; one is never given another meaning.
pub(crate) const FORMAT: u32 = 1;

/// One load, with what it was asked to do and whether it may be believed.
///
/// Counts are those of the measured time and of the answers that came after it, so that every request has its fate:
/// `sent + in_flight_at_start = succeeded + failed + in_flight_at_end`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "waggle load")]
pub(crate) struct LoadResult {
    /// Version of this object.
    pub(crate) format: u32,
    /// The program that wrote it.
    pub(crate) waggle_version: String,
    /// Where requests went, without name and password.
    pub(crate) url: String,
    /// How requests came about.
    pub(crate) model: ModelName,
    /// When the load started: RFC 3339, UTC.
    pub(crate) started_utc: String,
    /// What was asked for, with what was filled in.
    pub(crate) settings: Settings,
    /// Decides arrivals and pauses: the same seed gives the same ones.
    pub(crate) seed: u64,
    /// True where the load was ended by Ctrl-C; the numbers are those up to then.
    pub(crate) interrupted: bool,
    /// Length of the measured time in seconds: while requests were sent, warm-up left out.
    pub(crate) seconds: f64,
    /// Requests that fell due. Closed load and users: the same as sent.
    pub(crate) due: u64,
    /// Requests that were sent.
    pub(crate) sent: u64,
    /// Requests whose answer was as expected.
    pub(crate) succeeded: u64,
    /// Requests that were sent and failed.
    pub(crate) failed: u64,
    /// Open load: requests that fell due and were never sent.
    pub(crate) due_unsent: u64,
    /// Requests that were under way when the measured time began (0 without warm-up).
    pub(crate) in_flight_at_start: u64,
    /// Requests that were never answered nor given up.
    pub(crate) in_flight_at_end: u64,
    /// Of those that succeeded or failed: after the measured time was over.
    pub(crate) answered_after_end: u64,
    /// Failures by kind. `refused`, `connect_failed`, `no_port` and `handshake_…` count attempts to connect, which are no requests.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub(crate) failures: BTreeMap<FailureKind, u64>,
    /// Answers by status. Of one that was as expected only that is known, so it stands under the status that was expected:
    /// `201`, `200/204` where several were, `2xx` where any was, `expected` where requests of one step expect different ones.
    pub(crate) statuses: BTreeMap<String, u64>,
    /// Requests that succeeded within the measured time, per second: goodput.
    pub(crate) rate_per_s: f64,
    /// Requests that succeeded or failed within the measured time, per second.
    pub(crate) throughput_per_s: f64,
    /// Failed requests as a share of all that ended, 0 to 1.
    pub(crate) error_share: f64,
    /// Bytes of requests.
    pub(crate) bytes_sent: u64,
    /// Bytes of answers, heads included.
    pub(crate) bytes_received: u64,
    /// Those of them that came within the measured time, per second.
    pub(crate) bytes_received_per_s: f64,
    /// Bytes of requests that were sent within the measured time, per second.
    pub(crate) bytes_sent_per_s: f64,
    /// From due to the whole answer, of requests that succeeded, in µs.
    pub(crate) response_time_us: Times,
    /// From sent to the whole answer, of requests that succeeded, in µs.
    pub(crate) service_time_us: Times,
    /// From due to the failure, of requests that failed with an answer or in time, in µs.
    pub(crate) failed_time_us: Times,
    /// Connections that were opened, over the whole run.
    pub(crate) connects: u64,
    /// From the attempt to the open connection, in µs, over the whole run.
    pub(crate) connect_time_us: Times,
    /// TLS handshakes that came to their end.
    pub(crate) handshakes: u64,
    /// How many of them went on with an earlier session.
    pub(crate) handshakes_resumed: u64,
    /// From the open connection until TLS stood, in µs.
    pub(crate) handshake_time_us: Times,
    /// Sessions of a scenario; null where each request stands for itself.
    pub(crate) sessions: Option<SessionsResult>,
    /// The steps of a scenario, in the order of its file; empty where each request stands for itself.
    pub(crate) steps: Vec<StepResult>,
    /// What the load generator says of itself.
    pub(crate) engine: EngineFacts,
    /// The whole run, warm-up included: what the server should have counted.
    pub(crate) totals: Totals,
    /// Whether the result may be believed: `valid`, or why not.
    pub(crate) verdict: String,
    /// Why it is not valid, with the numbers; empty where it is.
    pub(crate) verdict_reasons: Vec<String>,
    /// Worth knowing, and no reason to doubt the result.
    pub(crate) remarks: Vec<String>,
    /// The conditions that were given.
    pub(crate) thresholds: Vec<ThresholdResult>,
    /// The machine that made the load.
    pub(crate) host: HostFacts,
    /// The time series, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) intervals: Option<Vec<Row>>,
}

/// How requests come about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum ModelName {
    #[default]
    Closed,
    Open,
    Users,
}

/// What was asked for, with what was filled in.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Settings {
    /// Stands in the result itself.
    #[serde(skip)]
    pub(crate) model: ModelName,
    /// Connections; null for users, who have one each.
    pub(crate) connections: Option<u32>,
    /// Most requests under way on each connection.
    pub(crate) pipelining: Option<u32>,
    /// Open load: requests per second.
    pub(crate) rate_per_s: Option<f64>,
    /// Open load: `poisson` or `uniform`.
    pub(crate) arrivals: Option<String>,
    /// Users.
    pub(crate) users: Option<u32>,
    /// How long users think, as it was written.
    pub(crate) think: Option<String>,
    /// Stages of a load that changes; empty where it does not.
    pub(crate) stages: Vec<StageSettings>,
    /// Measured time asked for in seconds; null where only a count was.
    pub(crate) duration_s: Option<f64>,
    /// Most requests.
    pub(crate) requests_at_most: Option<u64>,
    /// Load before the measured time, in seconds.
    pub(crate) warm_up_s: f64,
    /// The address that was connected to.
    pub(crate) address: String,
    /// `http/1.1` or `h2`.
    pub(crate) protocol: String,
    /// Whether connections are by TLS.
    pub(crate) tls: bool,
    /// Method of the request; null with a scenario.
    pub(crate) method: Option<String>,
    /// Name of the scenario; null where there is none.
    pub(crate) scenario: Option<String>,
    /// Length of its body.
    pub(crate) body_bytes: u64,
    /// Records in its body; 0 where it carries none.
    pub(crate) records_per_request: u32,
    /// Longest wait for an answer, in seconds; with a scenario, that of its most patient step.
    pub(crate) timeout_s: f64,
    /// Statuses that are good; empty: any 2xx.
    pub(crate) expect_status: Vec<u16>,
    /// Threads that make the load.
    pub(crate) workers: u32,
    /// The CPUs they stay on; empty: any.
    pub(crate) pinned_cpus: Vec<usize>,
    /// Length of an interval of the engine, in seconds.
    pub(crate) interval_s: f64,
    /// What was not asked for and filled in.
    pub(crate) defaults: Vec<String>,
}

/// One stage of a load that changes.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct StageSettings {
    /// Its length in seconds; 0: a jump.
    pub(crate) over_s: f64,
    /// Requests per second, or users, at its end.
    pub(crate) to: f64,
}

/// A distribution of times in µs. Null where there is no sample.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Times {
    /// How many samples.
    pub(crate) count: u64,
    /// The mean.
    pub(crate) mean: Option<f64>,
    /// The smallest.
    pub(crate) min: Option<u64>,
    /// The median.
    pub(crate) p50: Option<u64>,
    /// 90 % took no longer.
    pub(crate) p90: Option<u64>,
    /// 95 % took no longer.
    pub(crate) p95: Option<u64>,
    /// 99 % took no longer.
    pub(crate) p99: Option<u64>,
    /// 99.9 % took no longer.
    pub(crate) p99_9: Option<u64>,
    /// 99.99 % took no longer.
    pub(crate) p99_99: Option<u64>,
    /// The largest.
    pub(crate) max: Option<u64>,
    /// Percentiles with fewer than ten samples beyond them: as good as chance.
    pub(crate) thin: Vec<String>,
    /// How many samples lie where; bounds rise by equal ratios. Empty without samples.
    pub(crate) spectrum: Vec<Bar>,
}

/// One bar of a spectrum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Bar {
    /// Largest time in it, in µs.
    pub(crate) up_to_us: u64,
    /// Samples in it.
    pub(crate) count: u64,
}

/// Sessions of a scenario, of the measured time and until the last answer.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct SessionsResult {
    /// Begun.
    pub(crate) started: u64,
    /// Gone through their flow to its end.
    pub(crate) completed: u64,
    /// Ended early by a request that failed, or with their connection. What is left was under way when sending stopped.
    pub(crate) failed: u64,
    /// Sessions that were gone through within the measured time, per second.
    pub(crate) rate_per_s: f64,
}

/// The requests of one step of a scenario.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct StepResult {
    /// As the file names it.
    pub(crate) name: String,
    /// Requests that were sent.
    pub(crate) sent: u64,
    /// Requests whose answer was as expected, with checks that hold and captures that were found.
    pub(crate) succeeded: u64,
    /// Requests that were sent and failed.
    pub(crate) failed: u64,
    /// Failures by kind.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub(crate) failures: BTreeMap<FailureKind, u64>,
    /// Requests that succeeded within the measured time, per second.
    pub(crate) rate_per_s: f64,
    /// Requests that succeeded or failed within the measured time, per second.
    pub(crate) throughput_per_s: f64,
    /// Failed requests as a share of all that ended, 0 to 1.
    pub(crate) error_share: f64,
    /// From due to the whole answer, of requests that succeeded, in µs. A step is due when the one before it has ended, and
    /// its pause.
    pub(crate) response_time_us: Times,
    /// From sent to the whole answer, of requests that succeeded, in µs.
    pub(crate) service_time_us: Times,
    /// From due to the failure, of requests that failed with an answer or in time, in µs.
    pub(crate) failed_time_us: Times,
}

/// What the load generator says of itself, over the measured time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct EngineFacts {
    /// Threads that had connections.
    pub(crate) workers: u32,
    /// CPU time of all threads for one request that was sent, in µs.
    pub(crate) cpu_us_per_request: f64,
    /// Share of its CPU that the busiest thread used, in percent.
    pub(crate) busy_percent: f64,
    /// The same with the time it waited for its CPU, in percent.
    pub(crate) wanted_percent: f64,
    /// How late it was in sending, against the instant at which that was possible: p99 in µs.
    pub(crate) lag_us_p99: f64,
    /// Mean wait for the CPU before each turn on it, in µs.
    pub(crate) turn_wait_us_mean: f64,
    /// Requests under way on average.
    pub(crate) in_flight_mean: f64,
    /// Connections asked for.
    pub(crate) connections_asked: u64,
    /// Fewest open at the end of an interval.
    pub(crate) connections_open_min: u64,
    /// Largest memory of the whole program, in bytes; null where the kernel does not tell.
    pub(crate) memory_peak_bytes: Option<u64>,
}

/// The whole run, warm-up and the last answers included.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Totals {
    /// Seconds until the last answer.
    pub(crate) seconds: f64,
    /// Requests that fell due.
    pub(crate) due: u64,
    /// Requests that were sent.
    pub(crate) sent: u64,
    /// Requests whose answer was as expected.
    pub(crate) succeeded: u64,
    /// Requests that were sent and failed.
    pub(crate) failed: u64,
    /// Requests that fell due and were never sent.
    pub(crate) due_unsent: u64,
}

/// A condition, and whether it holds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ThresholdResult {
    /// As it was written.
    pub(crate) condition: String,
    /// Whether it holds.
    pub(crate) holds: bool,
    /// The number: times in µs, sizes in bytes, rates per second, shares of 1; null where there is none.
    pub(crate) observed: Option<f64>,
    /// Why it does not hold where the number alone does not say so.
    pub(crate) reason: Option<String>,
}

/// The machine that made the load.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct HostFacts {
    /// Its name.
    pub(crate) name: String,
    /// Release of its kernel.
    pub(crate) kernel: String,
    /// Its CPU.
    pub(crate) cpu_model: String,
    /// CPUs that this program may use.
    pub(crate) cpus: u32,
    /// Its memory.
    pub(crate) memory_bytes: u64,
    /// Files that may be open at once.
    pub(crate) open_files_max: u64,
    /// Whether loops of the idle class kept its CPUs from halting.
    pub(crate) kept_awake: bool,
    /// Share of the CPUs' time in the measured time that the host of a virtual machine took although there was something to do,
    /// in percent; null where it is not known.
    pub(crate) stolen_percent: Option<f64>,
    /// The same for the time without work; loops that kept the CPUs awake are none.
    pub(crate) idle_percent: Option<f64>,
}

/// One row of the time series.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Row {
    /// Since the start of the load, in seconds.
    pub(crate) start_s: f64,
    /// Its length in seconds.
    pub(crate) seconds: f64,
    /// Where in the run it lies.
    pub(crate) phase: Phase,
    /// Requests that fell due.
    pub(crate) due: u64,
    /// Requests that were sent.
    pub(crate) sent: u64,
    /// Requests whose answer was as expected.
    pub(crate) succeeded: u64,
    /// Requests that failed.
    pub(crate) failed: u64,
    /// Requests that fell due and were given up.
    pub(crate) due_unsent: u64,
    /// Under way at its end.
    pub(crate) in_flight: u64,
    /// Connections open at its end.
    pub(crate) connections_open: u64,
    /// Requests that succeeded, per second.
    pub(crate) rate_per_s: f64,
    /// Response time in µs; null where nothing succeeded.
    pub(crate) response_p50_us: Option<u64>,
    /// Its p90.
    pub(crate) response_p90_us: Option<u64>,
    /// Its p99.
    pub(crate) response_p99_us: Option<u64>,
    /// Its p99.9.
    pub(crate) response_p99_9_us: Option<u64>,
    /// Its maximum.
    pub(crate) response_max_us: Option<u64>,
    /// Service time in µs: its median.
    pub(crate) service_p50_us: Option<u64>,
    /// Its p99.
    pub(crate) service_p99_us: Option<u64>,
    /// Bytes of answers.
    pub(crate) bytes_received: u64,
    /// Share of its CPU that the generator's busiest thread used, in percent.
    pub(crate) engine_busy_percent: f64,
    /// How late the generator was: p99 in µs.
    pub(crate) engine_lag_us_p99: f64,
}

/// JSON Schema (2020-12) of the object that `--json` prints.
pub(crate) fn schema() -> serde_json::Value {
    schemars::generate::SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<LoadResult>()
        .to_value()
}
