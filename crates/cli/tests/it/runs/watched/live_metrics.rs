//! Metrics while a study runs: scraped by a real Prometheus, pushed by OTLP to a receiver of the test, and held against the report.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    net::{SocketAddr, TcpListener},
    path::Path,
    process::Stdio,
};

use serde_json::Value;
use waggle_results::Run;
use waggle_testkit::{
    Prometheus, free_port,
    http::{self, Reply, Request, Server, answer, ok},
};

use crate::workspace::{Parts, Workspace, output_text};

const TOKEN: &str = "token-that-is-written-nowhere";

/// Two cells of two trials with records; in the second cell some requests are refused.
fn write_study(workspace: &Workspace) {
    let text = "\
study: watched
question: Does Prometheus see what the report says?
system: { use: faulty }
factors: { path: [/records, /busy] }
load:
  model: open
  rate: 200/s
  arrivals: uniform
  connections: 4
  request:
    name: put-readings
    put: ${path}
    records: { file: readings.lp, per_request: 2 }
    expect: { status: 204 }
schedule: { warm_up: 1s, measure: 4s, interval: 250ms, drain: { timeout: 60s }, repeat: 2 }
delivery: { probes: store, poll_interval: 50ms, late_threshold: 60s }
";
    fs::write(workspace.path().join("watched.yaml"), text).unwrap();
}

/// A receiver of OTLP that accepts everything.
fn receiver() -> Server {
    Server::start(|request: &Request| {
        assert_eq!(request.path, "/v1/metrics");
        assert_eq!(request.header("content-type"), Some("application/json"));
        let expected = format!("Bearer {TOKEN}");
        assert_eq!(request.header("authorization"), Some(&*expected));
        Reply::Answer(ok("{\"partialSuccess\":{}}"))
    })
}

/// Counts of the measured phase by cell: succeeded and failed requests.
fn reported_counts(report: &Value) -> BTreeMap<String, (u64, u64)> {
    let mut counts = BTreeMap::new();
    for trial in report["trials"].as_array().unwrap() {
        let count = |name: &str| exact(&trial["metrics"][name]);
        let sum: &mut (u64, u64) = counts.entry(trial["cell"].to_string()).or_default();
        sum.0 += count("succeeded");
        sum.1 += count("failed");
    }
    counts
}

/// A whole number, as JSON's number or text.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of a test"
)]
fn exact(value: &Value) -> u64 {
    let number = value.as_f64().or_else(|| value.as_str()?.parse().ok());
    let number = number.unwrap_or_else(|| panic!("{value} is no number"));
    assert_eq!(number.fract(), 0.0, "{value}");
    number as u64
}

fn encode(query: &str) -> String {
    query.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The last values of a query, by the labels that are asked for.
fn last_values(prometheus: &Prometheus, query: &str, labels: &[&str]) -> BTreeMap<String, u64> {
    let answer = prometheus.get(&format!("/api/v1/query?query={}", encode(query)));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let series = answer["data"]["result"].as_array().unwrap().iter();
    let value = |entry: &Value| {
        let labels = labels.iter().map(|name| entry["metric"][name].as_str());
        let labels: Vec<_> = labels.map(Option::unwrap_or_default).collect();
        (labels.join(" "), exact(&entry["value"][1]))
    };
    series.map(value).collect()
}

/// The sums of a metric in the last push, by one attribute, of the series that have all of `filters`.
fn pushed_sums(
    push: &Value,
    name: &str,
    by: &str,
    filters: &[(&str, &str)],
) -> BTreeMap<String, u64> {
    let metrics = push["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
        .as_array()
        .unwrap();
    let metric = metrics
        .iter()
        .find(|metric| metric["name"] == name)
        .unwrap();
    assert_eq!(metric["sum"]["aggregationTemporality"], 2);
    assert_eq!(metric["sum"]["isMonotonic"], true);
    let attribute = |point: &Value, key: &str| {
        let mut attributes = point["attributes"].as_array().unwrap().iter();
        let pair = attributes.find(|attribute| attribute["key"] == key);
        pair.unwrap()["value"]["stringValue"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let mut sums = BTreeMap::new();
    for point in metric["sum"]["dataPoints"].as_array().unwrap() {
        if filters
            .iter()
            .all(|(key, value)| attribute(point, key) == *value)
        {
            let count: &mut u64 = sums.entry(attribute(point, by)).or_default();
            *count += point["asInt"].as_str().unwrap().parse::<u64>().unwrap();
        }
    }
    sums
}

/// Each query of the dashboard has a result over the time of the run, as a panel asks for it.
fn check_dashboard(prometheus: &Prometheus) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grafana/waggle.json");
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let queries: Vec<&str> = targets
        .map(|target| target["expr"].as_str().unwrap())
        .collect();
    assert!(queries.len() >= 20, "{queries:?}");
    let now = last_values(prometheus, "floor(vector(time()))", &[])[""];
    for query in queries {
        let query = query
            .replace("$__rate_interval", "10s")
            .replace("$instance", ".*")
            .replace("$cell", ".*");
        assert!(!query.contains('$'), "{query}");
        let path = format!(
            "/api/v1/query_range?query={}&start={}&end={now}&step=1",
            encode(&query),
            now - 3_600
        );
        let answer: Value = serde_json::from_str(&prometheus.get(&path)).unwrap();
        let series = answer["data"]["result"].as_array().unwrap();
        let values = series
            .iter()
            .flat_map(|element| element["values"].as_array().unwrap());
        let is_number = |value: &Value| value[1] != "NaN";
        assert!(values.into_iter().any(is_number), "{query}: {answer}");
    }
}

/// A run that was scraped and pushed.
struct Watched {
    workspace: Workspace,
    prometheus: Prometheus,
    last_push: Value,
    report: Value,
    /// What the program printed.
    output: String,
}

impl Watched {
    fn run() -> Self {
        let workspace = Workspace::new();
        write_study(&workspace);
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let prometheus = Prometheus::start(address);
        let receiver = receiver();
        let listen = address.to_string();
        let otlp = format!("http://{}", receiver.address);
        let flags = ["--quiet", "--metrics-listen", &listen, "--otlp", &otlp];
        let mut command = workspace.waggle(&[&["run", "watched.yaml"][..], &flags].concat());
        let headers = format!("authorization=Bearer%20{TOKEN}");
        let command = command.env("OTEL_EXPORTER_OTLP_HEADERS", headers);
        let output = command.output().unwrap();
        workspace.report_of(&output);
        let report = fs::read_to_string(workspace.run_folder().join("report.json")).unwrap();
        Self {
            workspace,
            prometheus,
            last_push: serde_json::from_str(receiver.bodies().last().unwrap()).unwrap(),
            report: serde_json::from_str(&report).unwrap(),
            output: output_text(&output),
        }
    }

    /// Checks the last value of a metric, by labels.
    fn check_last(&self, metric: &str, labels: &[&str], expected: &BTreeMap<String, u64>) {
        let last = format!("max_over_time({metric}[1h])");
        let values = last_values(&self.prometheus, &last, labels);
        assert_eq!(values, *expected, "{metric}\n{}", self.output);
    }

    /// Requests of the measured phase, by cell.
    fn check_measured(&self, succeeded: &BTreeMap<String, u64>, failed: &BTreeMap<String, u64>) {
        let check = |metric: &str, labels: &[&str], expected| {
            let measured = format!("{metric}{{phase=\"measure\"}}");
            self.check_last(&measured, labels, expected);
        };
        for metric in [
            "waggle_requests_succeeded_total",
            "http_client_request_duration_seconds_count",
            "waggle_request_response_time_seconds_count",
        ] {
            check(metric, &["cell"], succeeded);
        }
        check("waggle_requests_failed_total", &["cell"], failed);
        let refused = BTreeMap::from([("2 503".to_owned(), failed["2"])]);
        check("waggle_errors_total", &["cell", "error_type"], &refused);
        let filters = [("phase", "measure")];
        let pushed = |name: &str| pushed_sums(&self.last_push, name, "cell", &filters);
        assert_eq!(pushed("waggle.requests.succeeded"), *succeeded);
        assert_eq!(pushed("waggle.requests.failed"), *failed);
    }

    /// All phases together are the whole load.
    fn check_all_phases(&self) {
        let run = Run::read(&self.workspace.run_folder()).unwrap();
        let sent: u64 = run.trials.iter().map(|trial| trial.info.totals.sent).sum();
        let query = "sum(max_over_time(waggle_requests_sent_total[1h]))";
        assert_eq!(last_values(&self.prometheus, query, &[])[""], sent);
    }

    /// The account is that of the report.
    fn check_records(&self) {
        let query = "sum by (outcome) (max_over_time(waggle_records_total[1h]))";
        let scraped = last_values(&self.prometheus, query, &["outcome"]);
        let pushed = pushed_sums(&self.last_push, "waggle.records", "outcome", &[]);
        for outcome in ["accepted", "delivered", "missing", "rejected", "duplicates"] {
            let reported = exact(&self.report["account"][outcome]);
            assert_eq!(scraped[outcome], reported, "{outcome}");
            assert_eq!(pushed[outcome], reported, "{outcome}");
        }
        assert!(scraped["delivered"] > 0, "{scraped:?}");
    }

    fn check_trials(&self) {
        let finished = BTreeMap::from([("completed".to_owned(), 4), ("failed".to_owned(), 0)]);
        self.check_last("waggle_trials_finished_total", &["outcome"], &finished);
        let planned = BTreeMap::from([(String::new(), 4)]);
        self.check_last("waggle_trials_planned", &[], &planned);
    }
}

#[test]
fn prometheus_and_otlp_have_what_the_report_says() {
    let watched = Watched::run();
    let reported = reported_counts(&watched.report);
    let pick = |pick: fn(&(u64, u64)) -> u64| {
        let counts = reported.iter();
        let counts = counts.map(|(cell, counts)| (cell.clone(), pick(counts)));
        counts.collect::<BTreeMap<_, _>>()
    };
    let (succeeded, failed) = (pick(|counts| counts.0), pick(|counts| counts.1));
    assert!(failed["1"] == 0 && failed["2"] > 0, "{failed:?}");
    watched.check_measured(&succeeded, &failed);
    watched.check_all_phases();
    watched.check_records();
    watched.check_trials();
    check_dashboard(&watched.prometheus);
    assert_token_is_nowhere(watched.workspace.path());
    assert!(!watched.output.contains(TOKEN));
}

fn assert_token_is_nowhere(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => assert_token_is_nowhere(&entry.path()),
            false => {
                let bytes = fs::read(entry.path()).unwrap();
                let text = String::from_utf8_lossy(&bytes);
                assert!(!text.contains(TOKEN), "{}", entry.path().display());
            }
        }
    }
}

/// A study of a second.
fn write_short_study(workspace: &Workspace) {
    workspace.study(&Parts {
        measure: "1s",
        ..Parts::default()
    });
}

#[test]
fn the_last_values_are_served_until_a_scrape() {
    let workspace = Workspace::new();
    write_short_study(&workspace);
    let mut command = workspace.waggle(&["run", "study.yaml", "--metrics-listen", "127.0.0.1:0"]);
    let piped = command.stderr(Stdio::piped()).stdout(Stdio::null());
    let mut child = piped.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let url = lines.find_map(|line| Some(line.strip_prefix("metrics: http://")?.to_owned()));
    let address: SocketAddr = url
        .unwrap()
        .strip_suffix("/metrics")
        .unwrap()
        .parse()
        .unwrap();
    let page = || http::get(address, "/metrics").unwrap();
    assert!(
        page()
            .header("content-type")
            .unwrap()
            .starts_with("application/openmetrics-text")
    );
    assert_eq!(http::get(address, "/").unwrap().status, 404);
    assert!(lines.any(|line| line.contains("waiting for a scrape")));
    let page = page().body;
    let finished = "waggle_trials_finished_total{outcome=\"completed\"} 1\n";
    assert!(page.contains(finished), "{page}");
    assert!(
        page.contains("waggle_trial_cell 0\n") && page.ends_with("# EOF\n"),
        "{page}"
    );
    assert!(child.wait().unwrap().code().is_some());
}

#[test]
fn mistakes_are_explained_before_anything_starts() {
    let workspace = Workspace::new();
    write_short_study(&workspace);
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let check = |flags: &[&str], expected: &str| {
        let output = workspace.output(&[&["run", "study.yaml"], flags].concat());
        let text = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected), "{text}");
        assert!(!workspace.path().join("runs").exists(), "{text}");
    };
    let in_use = format!("--metrics-listen: cannot listen on {taken}: ");
    check(&["--metrics-listen", &taken], &in_use);
    check(&["--metrics-listen", "9464"], "invalid socket address");
    check(&["--otlp", "https://otel.example"], "expected http://");
    check(
        &["--otlp", "otel.example"],
        "a URL like http://127.0.0.1:4318",
    );
}

#[test]
fn a_receiver_that_fails_changes_no_result() {
    let refusing = format!("http://127.0.0.1:{}", free_port());
    let silent = Server::start(|_: &Request| Reply::Silence);
    let silent = format!("http://{}", silent.address);
    let unable = Server::start(|_: &Request| Reply::Answer(answer(503, "", "")));
    let unable = format!("http://{}/other/path", unable.address);
    for url in [refusing, silent, unable] {
        let workspace = Workspace::new();
        write_short_study(&workspace);
        let output = workspace.output(&["run", "study.yaml", "--otlp", &url]);
        workspace.report_of(&output);
        let text = output_text(&output);
        let failed = text
            .lines()
            .filter(|line| line.contains("pushes of metrics to http://"));
        assert_eq!(failed.count(), 1, "{text}");
        assert!(
            text.matches("metrics were not pushed").count() <= 1,
            "{text}"
        );
    }
}
