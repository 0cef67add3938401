//! Names of the exported metrics: those of OpenTelemetry's semantic conventions for HTTP clients if they have one, else `waggle.…`.
//! The name in Prometheus is the other one with its unit, by OpenTelemetry's rules.

use super::buckets::Buckets;

/// The name of a metric.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) prometheus: &'static str,
    /// In UCUM, as OpenTelemetry asks.
    pub(super) unit: &'static str,
    pub(super) help: &'static str,
}

/// The name of a label: an attribute in OpenTelemetry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) name: &'static str,
    pub(super) prometheus: &'static str,
}

/// Names and values of the labels of a series.
pub(super) type Labels = Vec<(Label, String)>;

/// A metric with the values of its series.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) metric: &'static Metric,
    pub(super) series: Series,
}

#[derive(Debug)]
pub(super) enum Series {
    Counter(Vec<(Labels, u64)>),
    Gauge(Vec<(Labels, i64)>),
    Histogram(Vec<(Labels, Buckets)>),
}

const fn label(name: &'static str, prometheus: &'static str) -> Label {
    Label { name, prometheus }
}

pub(super) const CELL: Label = label("cell", "cell");
pub(super) const PHASE: Label = label("phase", "phase");
pub(super) const STEP: Label = label("step", "step");
pub(super) const OUTCOME: Label = label("outcome", "outcome");
pub(super) const NAME: Label = label("name", "name");
pub(super) const STUDY: Label = label("study", "study");
pub(super) const RUN: Label = label("run", "run");
pub(super) const VERSION: Label = label("version", "version");
pub(super) const ERROR_TYPE: Label = label("error.type", "error_type");
pub(super) const METHOD: Label = label("http.request.method", "http_request_method");
pub(super) const STATUS: Label = label("http.response.status_code", "http_response_status_code");
pub(super) const SERVER: Label = label("server.address", "server_address");

macro_rules! metrics {
    ($($constant:ident $name:literal $prometheus:literal $unit:literal $help:literal;)*) => {
        $(pub(super) const $constant: Metric = Metric {
            name: $name,
            prometheus: $prometheus,
            unit: $unit,
            help: $help,
        };)*
        /// All metrics.
        #[cfg(test)]
        pub(super) const ALL: &[Metric] = &[$($constant),*];
    };
}

metrics! {
    RUN_INFO "waggle.run.info" "waggle_run_info" "1" "The study, the folder of the run, and the version of waggle; always 1";
    CELL_INFO "waggle.cell.info" "waggle_cell_info" "1" "The name of a cell, or its levels; always 1";
    TRIALS_PLANNED "waggle.trials.planned" "waggle_trials_planned" "{trial}" "Trials of the run, with those that were added so far";
    TRIALS_RESUMED "waggle.trials.resumed" "waggle_trials_resumed" "{trial}" "Trials that an earlier, interrupted run finished";
    TRIALS_FINISHED "waggle.trials.finished" "waggle_trials_finished_total" "{trial}" "Trials that ended in this process";
    TRIAL_POSITION "waggle.trial.position" "waggle_trial_position" "1" "Position of the running trial in the order of execution; 0: none";
    TRIAL_CELL "waggle.trial.cell" "waggle_trial_cell" "1" "Number of the cell of the running trial; 0: none";
    TRIAL_REPETITION "waggle.trial.repetition" "waggle_trial_repetition" "1" "Repetition of the running trial; 0: none";
    RUN_PHASE "waggle.trial.phase" "waggle_trial_phase" "1" "1 for the phase of the running trial, 0 for the others";
    DURATION "http.client.request.duration" "http_client_request_duration_seconds" "s" "Duration of HTTP client requests that succeeded: from sent to answered in full";
    RESPONSE_TIME "waggle.request.response_time" "waggle_request_response_time_seconds" "s" "Response time of requests that succeeded: from due to answered in full";
    ACTIVE_REQUESTS "http.client.active_requests" "http_client_active_requests" "{request}" "Requests that were sent and not answered at the end of the last interval";
    CONNECTIONS_OPEN "waggle.connections.open" "waggle_connections_open" "{connection}" "Connections that were open at the end of the last interval";
    CONNECTIONS_OPENED "waggle.connections.opened" "waggle_connections_opened_total" "{connection}" "Connections that were established";
    DUE "waggle.requests.due" "waggle_requests_due_total" "{request}" "Requests that fell due";
    SENT "waggle.requests.sent" "waggle_requests_sent_total" "{request}" "Requests that were sent";
    SUCCEEDED "waggle.requests.succeeded" "waggle_requests_succeeded_total" "{request}" "Requests that were answered as expected";
    FAILED "waggle.requests.failed" "waggle_requests_failed_total" "{request}" "Requests that were sent and failed";
    SKIPPED "waggle.requests.skipped" "waggle_requests_skipped_total" "{request}" "Requests of an open load that fell due and were never sent";
    ERRORS "waggle.errors" "waggle_errors_total" "{error}" "Failures by kind; with attempts to connect, which are not requests";
    BYTES_SENT "waggle.bytes.sent" "waggle_bytes_sent_total" "By" "Bytes of HTTP that were sent, with framing";
    BYTES_RECEIVED "waggle.bytes.received" "waggle_bytes_received_total" "By" "Bytes of HTTP that were received, with framing";
    SESSIONS "waggle.sessions" "waggle_sessions_total" "{session}" "Sessions of a scenario: started, completed, ended early by a failure";
    STEP_REQUESTS "waggle.step.requests" "waggle_step_requests_total" "{request}" "Requests of a step of a scenario: sent, answered as expected, failed";
    PREPARATION "waggle.preparation.sessions" "waggle_preparation_sessions" "{session}" "Sessions of the load of the preparation that runs: planned, and done so far";
    RECORDS_SUCCEEDED "waggle.records.succeeded" "waggle_records_succeeded_total" "{record}" "Records in requests that succeeded";
    RECORDS "waggle.records" "waggle_records_total" "{record}" "The account of the records of trials that ended";
    DRAIN "waggle.drain.records" "waggle_drain_records" "{record}" "Records of the trial that drains: accepted, and visible in the store so far";
    PUSHES "waggle.otlp.pushes" "waggle_otlp_pushes_total" "{push}" "Pushes of metrics by OTLP";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_prometheus_follow_from_those_of_opentelemetry() {
        for metric in ALL {
            let base = metric.name.replace('.', "_");
            let unit = if metric.unit == "s" { "_seconds" } else { "" };
            let expected = [format!("{base}{unit}"), format!("{base}{unit}_total")];
            assert!(
                expected.iter().any(|name| name == metric.prometheus),
                "{metric:?}"
            );
        }
        for label in [CELL, PHASE, ERROR_TYPE, METHOD, STATUS, SERVER] {
            assert_eq!(label.name.replace('.', "_"), label.prometheus);
        }
    }
}
