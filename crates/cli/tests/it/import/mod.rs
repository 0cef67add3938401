//! `waggle import`: results of other tools have the totals that the tools say, and mistakes have file, line and column.
//!
//! Where the files come from is in `tests/import/README.md`.

// long: a table of files of every tool, and of the mistakes in them

mod formats;

use std::{fs, path::Path, process::Command};

use waggle_analysis::{Model, TrialModel, TrialNumbers, TrialPercentile};
use waggle_load::NullServer;
use waggle_spec::TimeKind;
use waggle_stats::{Aspect, Bias, Verdict};

use crate::workspace::{Workspace, output_text};

const CSV: [&str; 8] = [
    "--column",
    "start=begun",
    "--column",
    "duration=took:s",
    "--column",
    "status=code",
    "--column",
    "label=what",
];
/// ab keeps a connection only if the answer says so.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok";

/// A folder with the files of `tests/import`.
pub(crate) fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import");
    for entry in fs::read_dir(all).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, workspace.path().join(path.file_name().unwrap())).unwrap();
    }
    workspace
}

/// Imports what the words say; the report's model, and the report as Markdown.
pub(crate) fn import_in(workspace: &Workspace, words: &str, more: &[&str]) -> (Model, String) {
    let words: Vec<&str> = ["import"].into_iter().chain(words.split(' ')).collect();
    let output = workspace.output(&[&words, more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let report = workspace.run_folder().join("report.md");
    (workspace.model(), fs::read_to_string(report).unwrap())
}

fn import(words: &str, more: &[&str]) -> (Model, String) {
    import_in(&workspace(), words, more)
}

pub(crate) fn numbers(trial: &TrialModel) -> &TrialNumbers {
    trial.numbers.as_ref().unwrap()
}

/// Succeeded and failed requests of each trial.
pub(crate) fn counts(model: &Model) -> Vec<(u64, u64)> {
    let trials = model.trials.iter().map(numbers);
    trials
        .map(|numbers| (numbers.counts.succeeded, numbers.counts.failed))
        .collect()
}

/// A percentile of the response time of the first trial, in µs; `None`: it is not known.
pub(crate) fn response(model: &Model, percentile: &str) -> Option<f64> {
    let times = numbers(&model.trials[0]).times[TimeKind::Response]
        .as_ref()
        .unwrap();
    let us = |value: &Option<TrialPercentile>| value.as_ref().map(|value| value.us);
    match percentile {
        "p50" => us(&times.p50),
        "p99" => us(&times.p99),
        "p999" => us(&times.p999),
        "max" => us(&times.max),
        _ => times.mean_us,
    }
}

#[track_caller]
pub(crate) fn assert_near(value: f64, expected: f64, share: f64) {
    let apart = (value - expected).abs() / expected;
    assert!(apart <= share, "{value} is not {expected}");
}

#[test]
fn the_text_of_ab_has_counts_and_quantiles() {
    let (model, report) = import("ab ab-slow.txt", &[]);
    assert_eq!(counts(&model), [(816, 0)]);
    assert_near(numbers(&model.trials[0]).counts.seconds, 6.012, 1e-9);
    assert_eq!(response(&model, "p50"), Some(39_000.0));
    assert_eq!(response(&model, "p99"), Some(44_000.0));
    assert_eq!(response(&model, "max"), Some(47_000.0));
    assert_eq!(response(&model, "mean"), Some(29_000.0));
    assert_eq!(response(&model, "p999"), None);
    for part in [
        "Imported from ab 2.3",
        "coordinated omission",
        "Times have a resolution of 1.00 ms",
        "single requests, hence steadiness",
        "Trials of which only quantiles are known have no line here",
        "Not known: the results of ab 2.3 have no CPU and memory",
        "every check that the results allow passed",
    ] {
        assert!(report.contains(part), "no {part:?} in {report}");
    }
}

#[test]
fn quantiles_of_ab_are_finer_than_its_text() {
    let (model, _) = import("ab ab.txt,ab.csv", &[]);
    assert_eq!(counts(&model), [(600, 0)]);
    assert_near(response(&model, "p99").unwrap(), 201.0, 1e-9);
    assert_near(response(&model, "max").unwrap(), 957.0, 1e-9);
    assert_eq!(numbers(&model.trials[0]).counts.bytes_received, 46_800);
}

#[test]
fn failures_of_ab_are_counted_by_kind() {
    let (model, report) = import("ab ab-failed.txt", &[]);
    assert_eq!(counts(&model), [(450, 50)]);
    assert!(report.contains("wrong body"), "{report}");
    let remark = "which requests failed: times are those of failed requests too";
    assert!(report.contains(remark), "{report}");
}

#[test]
fn single_requests_of_ab_have_intervals_and_a_distribution() {
    let (model, report) = import("ab ab-slow.txt,ab-slow.tsv", &[]);
    assert_eq!(counts(&model), [(816, 0)]);
    let trial = &model.trials[0];
    assert_near(numbers(trial).counts.seconds, 6.012, 1e-9);
    assert_near(response(&model, "p50").unwrap(), 39_000.0, 1e-3);
    assert_near(response(&model, "p999").unwrap(), 46_000.0, 0.03);
    let rates: Vec<f64> = trial
        .series
        .points
        .iter()
        .map(|point| point.succeeded_per_s)
        .collect();
    // The first and the last second are parts of one.
    assert!(
        rates.iter().all(|rate| (100.0..230.0).contains(rate)),
        "{rates:?}"
    );
    assert_eq!(numbers(trial).counts.bytes_received, 63_648);
    assert!(!report.contains("single requests, hence"), "{report}");
}

#[test]
fn jmeter_has_cells_steps_and_failures() {
    let words =
        "jmeter to=ok jmeter-ok.jtl to=failed jmeter-failed.jtl to=refused jmeter-refused.jtl";
    let (model, report) = import(words, &[]);
    assert_eq!(counts(&model), [(240, 0), (228, 12), (120, 120)]);
    let steps: Vec<(&str, u64, u64)> = numbers(&model.trials[1])
        .steps
        .iter()
        .map(|step| {
            (
                step.name.as_str(),
                step.counts.succeeded,
                step.counts.failed,
            )
        })
        .collect();
    assert_eq!(steps, [("list, \"all\"", 120, 0), ("show", 108, 12)]);
    assert!(report.contains("not connected"), "{report}");
    assert!(report.contains("status 500"), "{report}");
    // Each answer of the null server has 78 bytes, and each request 122.
    let ok = numbers(&model.trials[0]);
    assert_eq!(
        (ok.counts.bytes_received, ok.counts.bytes_sent),
        (240 * 78, 240 * 122)
    );
    assert!(
        model
            .trials
            .iter()
            .all(|trial| trial.verdict == Verdict::Valid)
    );
}

#[test]
fn jmeter_has_the_delimiter_of_its_header() {
    for delimiter in [';', '\t', '|'] {
        let workspace = workspace();
        let rows = [
            "timeStamp,elapsed,label,success",
            "1700000000000,5,a,true",
            "1700000000100,7,a,false",
        ];
        let text = rows.join("\n").replace(',', &delimiter.to_string());
        fs::write(workspace.path().join("f.jtl"), text).unwrap();
        let (model, _) = import_in(&workspace, "jmeter f.jtl", &[]);
        assert_eq!(counts(&model), [(1, 1)], "{delimiter:?}");
    }
}

#[test]
fn files_of_a_cell_are_its_repetitions() {
    let (model, report) = import("jmeter jmeter-ok.jtl jmeter-failed.jtl", &[]);
    assert_eq!(model.cells.len(), 1);
    assert_eq!(counts(&model), [(240, 0), (228, 12)]);
    assert!(model.cells[0].goodput.as_ref().unwrap().interval.is_some());
    assert!(report.contains("up to 2 files per cell"), "{report}");
}

#[test]
fn k6_has_steps_failures_and_what_it_dropped() {
    let (model, _) = import("k6 k6.json --load-model open", &[]);
    assert_eq!(counts(&model), [(56, 4)]);
    let kinds: Vec<String> = numbers(&model.trials[0])
        .counts
        .failures
        .iter()
        .map(|failure| format!("{} {}", failure.count, failure.kind))
        .collect();
    assert_eq!(kinds, ["3 status_503", "1 timed_out"]);
    assert_near(response(&model, "max").unwrap(), 16_125.0, 1e-3);
    let remarks = format!("{:?}", model.trials[0].remarks);
    assert!(remarks.contains("k6 dropped 4 iterations"), "{remarks}");
}

#[test]
fn csv_files_are_read_by_their_columns() {
    let (model, _) = import("csv requests.csv --name mine", &CSV);
    assert_eq!(model.info.study, "mine");
    assert_eq!(counts(&model), [(36, 4)]);
    assert_near(response(&model, "max").unwrap(), 30_500.0, 1e-3);
}

#[test]
fn a_warm_up_is_in_no_number() {
    let (model, report) = import("jmeter jmeter-ok.jtl --warm-up 1s", &[]);
    let trial = numbers(&model.trials[0]);
    assert!(
        (1..240).contains(&trial.counts.succeeded),
        "{}",
        trial.counts.succeeded
    );
    assert!(
        report.contains("warm-up 1 s, as given at the import"),
        "{report}"
    );
    assert!(!report.contains("where the warm-up ends"), "{report}");
}

#[test]
fn what_is_not_known_is_no_number() {
    let workspace = workspace();
    let (model, _) = import_in(&workspace, "ab ab-slow.txt,ab-slow.tsv", &[]);
    let table = fs::read_to_string(workspace.run_folder().join("tables.csv")).unwrap();
    let mut lines = table.lines();
    let (header, row) = (lines.next().unwrap(), lines.next().unwrap());
    // A column that no trial has a value of is not in the table.
    let value = |name: &str| {
        let index = header.split(',').position(|column| column == name);
        index.map_or("", |index| row.split(',').nth(index).unwrap())
    };
    for column in [
        "achieved_ratio",
        "offered_requests_per_s",
        "skipped",
        "generator_cpu_us_per_request",
        "generator_utilization",
        "generator_lag_p99_us",
        "generator_capacity_per_s",
        "cpu_steal",
        "system_cpu_us_per_request",
        "bytes_sent",
        "records_sent",
    ] {
        assert_eq!(value(column), "", "{column}");
    }
    assert_eq!(value("succeeded"), "816");
    let remarks = format!("{:?}", model.trials[0].remarks);
    assert!(remarks.contains("NotKnown"), "{remarks}");
}

/// What is written to the error stream; nothing is left in the folder of runs.
pub(crate) fn mistake(workspace: &Workspace, words: &[&str]) -> String {
    let output = workspace.output(&[&["import"], words].concat());
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    let runs = workspace.path().join("runs");
    let is_left = fs::read_dir(runs).is_ok_and(|mut entries| entries.next().is_some());
    assert!(!is_left, "{words:?} left something");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn mistakes_are_told_before_anything_is_written() {
    let workspace = workspace();
    let check = |words: &str, expected: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let message = mistake(&workspace, &words);
        assert_eq!(message.trim_end(), expected, "{words:?}");
    };
    check(
        "ab ab-slow.tsv",
        "ab-slow.tsv does not say which requests failed: add ab's text output, as TEXT,ab-slow.tsv; if none failed, --all-succeeded",
    );
    check(
        "ab ab-failed.txt,ab-failed.tsv",
        "ab-failed.tsv does not say which 50 requests failed: import the text output alone",
    );
    check(
        "ab ab.txt,ab-slow.tsv",
        "ab-slow.tsv has 816 requests, but the text output 600: they are not of the same test",
    );
    check(
        "ab ab.csv",
        "ab.csv has neither counts nor a duration: add ab's text output, as TEXT,ab.csv",
    );
    check(
        "ab ab.txt --warm-up 1s",
        "ab.txt has no single requests, so --warm-up cannot leave any out: add the file of ab -g",
    );
    check(
        "jmeter jmeter-ok.jtl jmeter-ok.jtl",
        "jmeter-ok.jtl is named twice",
    );
    check(
        "csv requests.csv",
        "csv requires one --column start=NAME[:UNIT] or end=NAME[:UNIT]",
    );
    check(
        "csv requests.csv --column start=begun --column duration=took:s",
        "csv requires --column success=NAME or status=NAME; if no request of the file failed, --all-succeeded",
    );
    check(
        "csv requests.csv --column start=when --column duration=took:s --column status=code",
        "requests.csv:1:1: expected a column \"when\", found \"begun\", \"took\", \"code\", \"what\"",
    );
}

#[test]
fn broken_files_are_told_with_line_and_column() {
    let workspace = workspace();
    let check = |words: &str, text: &[u8], expected: &str| {
        fs::write(workspace.path().join("f"), text).unwrap();
        let words: Vec<&str> = words.split(' ').collect();
        let message = mistake(&workspace, &words);
        assert_eq!(message.trim_end(), expected, "{words:?}");
    };
    check(
        "jmeter f",
        b"timeStamp,elapsed,success\n1700000000000,5,true\n1700000000001,five,true\n",
        "f:3:15: expected a count of milliseconds, found \"five\"",
    );
    check(
        "jmeter f",
        b"timeStamp,elapsed,success\n2024/01/01 10:00:00,5,true\n",
        "f:2:1: expected milliseconds since 1970 (jmeter.save.saveservice.timestamp_format=ms), found \"2024/01/01 10:00:00\"",
    );
    check(
        "jmeter f",
        b"timeStamp,elapsed,success\n1700000000000,5,yes\n",
        "f:2:17: expected true or false, found \"yes\"",
    );
    check(
        "jmeter f",
        b"timeStamp,elapsed,success\n1700000000000,5\n",
        "f:2:15: expected 3 cells as in the header, found 2",
    );
    check(
        "jmeter f",
        b"1700000000000,5,true\n",
        "f:1:1: expected a header row with timeStamp and elapsed, found a row of 3 cells, which are not the columns that JMeter writes by default: put the header row of these results above it (jmeter.save.saveservice.print_field_names=true writes it)",
    );
    check(
        "jmeter f",
        b"",
        "f:1:1: expected a header row with timeStamp and elapsed, found an empty file",
    );
    check(
        "jmeter f",
        b"timeStamp,elapsed,success\n1700000000000,0,true\n",
        "f: its 1 requests span less than 1 ms, so they have no rate",
    );
    check(
        "k6 f",
        b"{\"type\":\"Point\",\"metric\":\"http_req_duration\",\"data\":{\"time\":\"noon\",\"value\":1}}\n",
        "f:1:1: expected data.time to be a time as in RFC 3339",
    );
    check(
        "ab f",
        b"This is ApacheBench, Version 2.3 <$Revision$>\nComplete requests:      6x0\n",
        "f:2:25: expected a count, found \"6x0\"",
    );
    check(
        "ab f",
        b"This is ApacheBench, Version 2.3 <$Revision$>\nThis is ApacheBench, Version 2.3 <$Revision$>\n",
        "f:2:1: expected \"Complete requests:\" before the output of the next test: did ab end its test?",
    );
    check(
        "ab f",
        b"hello\n",
        "f:1:1: expected ab's text output, or a file of ab -e or ab -g, found \"hello\"",
    );
    let columns = "csv f --column start=t:ms --column duration=d:ms --column success=s";
    check(
        columns,
        b"t,d,s\n1700000000000,-1,1\n",
        "f:2:15: expected a number that is a time in the unit of --column, found \"-1\"",
    );
    check(columns, b"t,d,s\n1,2,\xff\n", "f:2:5: not UTF-8 text");
}

/// A JTL file of ten threads over 20 s, whose answers take 20 to 34 ms; from 8 s on none comes for so long.
fn write_closed_jtl(path: &Path, seed: u64, stall_ms: u64) {
    let mut random = seed;
    let mut next = |below: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let mut rows = Vec::new();
    for _ in 0..10 {
        let mut now_ms = 0;
        while now_ms < 20_000 {
            let mut elapsed_ms = 20 + next(15);
            if now_ms < 8_000 && now_ms + elapsed_ms >= 8_000 {
                elapsed_ms += stall_ms;
            }
            rows.push((now_ms, elapsed_ms));
            now_ms += elapsed_ms + next(2);
        }
    }
    write_jtl(path, &rows);
}

/// Start and duration of each sample, in ms.
fn write_jtl(path: &Path, rows: &[(u64, u64)]) {
    let rows = rows
        .iter()
        .map(|(start, elapsed)| format!("{},{elapsed},true\n", 1_700_000_000_000 + start));
    let text = format!("timeStamp,elapsed,success\n{}", rows.collect::<String>());
    fs::write(path, text).unwrap();
}

#[test]
fn a_stall_of_a_closed_load_is_in_every_form_of_the_report() {
    let workspace = workspace();
    for seed in 1..=3 {
        let path = workspace.path().join(format!("s{seed}.jtl"));
        write_closed_jtl(&path, seed, 2_000);
    }
    let (model, report) = import_in(&workspace, "jmeter s1.jtl s2.jtl s3.jtl", &[]);
    assert_eq!(model.cells[0].verdict, Some(Verdict::Unsteady));
    assert_eq!(
        model.cells[0].doubts,
        [(Aspect::Times, vec![Bias::AtLeast])]
    );
    let p99 = numbers(&model.trials[0]).time_weighted.as_ref().unwrap();
    // 1 % of 20 s are left when all but 1 % have been answered.
    assert_near(p99.p99.as_ref().unwrap().us, 1.8e6, 0.02);
    assert_near(response(&model, "p99").unwrap(), 34e3, 0.05);
    let folder = workspace.run_folder();
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    for text in [&report, &text("report.html"), &text("report.json")] {
        assert!(text.contains("no request succeeded for up to"), "{text}");
        assert!(text.contains("arrivals at random instants"), "{text}");
    }
    assert!(report.contains("## Stalls"), "{report}");
    let csv = text("tables.csv");
    for column in [
        "time_weighted_response_time_p99_us",
        "longest_stall_s",
        "stalled_ratio",
    ] {
        assert!(csv.contains(column), "no {column} in {csv}");
    }
    let junit = waggle_report::junit(&model);
    assert!(junit.contains("no request succeeded for"), "{junit}");
    let terminal = waggle_report::terminal(&model, None);
    assert!(terminal.contains("time-weighted p99"), "{terminal}");
}

#[test]
fn an_open_load_is_not_believed_of_a_file_with_a_closed_one() {
    let workspace = workspace();
    write_closed_jtl(&workspace.path().join("closed.jtl"), 4, 0);
    let message = mistake(
        &workspace,
        &["jmeter", "closed.jtl", "--load-model", "open"],
    );
    assert!(
        message.contains("closed.jtl: --load-model open, but the file shows a closed load: "),
        "{message}"
    );
    assert!(message.contains("10 requests were in flight"), "{message}");
    let message = mistake(&workspace, &["ab", "ab.txt", "--load-model", "open"]);
    assert!(message.contains("--load-model is not for ab"), "{message}");
    // Twenty arrivals per second, every 50 ms or so, one of 40 ms after the other.
    let light: Vec<(u64, u64)> = (0..400)
        .map(|index| (index * 50 + index * 7 % 30, 40))
        .collect();
    write_jtl(&workspace.path().join("light.jtl"), &light);
    let (model, _) = import_in(&workspace, "jmeter light.jtl --load-model open", &[]);
    assert!(numbers(&model.trials[0]).time_weighted.is_none());
}

/// ab is in Debian's apache2-utils, which `scripts/test` installs.
#[test]
fn a_fresh_test_of_ab_is_imported_to_the_last_count() {
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap();
    let workspace = workspace();
    let url = format!("http://{}/", server.address());
    let output = Command::new("ab")
        .args(["-q", "-k", "-c", "2", "-n", "2000", "-g", "g.tsv", &url])
        .current_dir(workspace.path())
        .output()
        .unwrap();
    fs::write(workspace.path().join("fresh.txt"), &output.stdout).unwrap();
    let (model, _) = import_in(&workspace, "ab fresh.txt,g.tsv", &[]);
    assert_eq!(counts(&model), [(2_000, 0)]);
    assert_eq!(server.stop(), 2_000);
}
