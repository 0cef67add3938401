//! Searches from the study or the flags to the answer. The runner's tests with a fake system and clock check the answers
//! themselves.

use std::time::Duration;

use serde_json::Value;
use waggle_load::NullServer;
use waggle_testkit::http::{Reply, Server};

use crate::{
    exit_codes::find_code,
    workspace::{Parts, Workspace, output_text},
};

const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

#[test]
fn search_of_a_study_reports_its_answer() {
    let workspace = Workspace::new();
    workspace.study(&Parts {
        load: "model: open, arrivals: uniform, connections: 4",
        measure: "500ms",
        search: Some(
            "maximize: rate, start: 20/s, min: 10/s, max: 40/s, confirmations: 1, max_trials: 4, \
             conditions: [put-readings.failed == 0, delivery.missing == 0]",
        ),
        ..Parts::default()
    });
    let output = workspace.output(&["run", "study.yaml"]);
    let model = workspace.report_of(&output);
    let search = &model.search.as_ref().unwrap().cells[0];
    assert_eq!(model.trials[0].info.level, Some(20.0));
    assert_eq!(search.steps.len(), model.trials.len());
    for (step, trial) in search.steps.iter().zip(&model.trials) {
        assert_eq!(
            (step.key, Some(step.level)),
            (trial.info.key, trial.info.level)
        );
        assert!(
            (10.0..=40.0).contains(&step.level),
            "{}",
            output_text(&output)
        );
    }
    let again = workspace.output(&["report", workspace.run_folder().to_str().unwrap()]);
    assert_eq!(again.status.code(), output.status.code());
}

#[test]
fn load_search_tries_levels() {
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap();
    let workspace = Workspace::new();
    let url = format!("http://{}/", server.address());
    let flags = [
        "--search",
        "rate",
        "--start",
        "20",
        "--max",
        "80",
        "--confirmations",
        "1",
        "-d",
        "300ms",
        "--warm-up",
        "100ms",
        "--arrivals",
        "uniform",
        "--json",
        "--quiet",
    ];
    let search = |conditions: &[&str]| {
        let output = workspace.output(&[&["load", &url], &flags[..], conditions].concat());
        let result: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", output_text(&output)));
        assert_eq!(output.status.code(), Some(find_code(&result)), "{result}");
        result
    };
    let result = search(&["--condition", "failed == 0"]);
    assert_eq!(result["maximize"], "rate");
    let steps = result["steps"].as_array().unwrap();
    assert_eq!(steps[0]["level"], 20.0);
    for step in steps {
        let rate = &step["result"]["settings"]["rate_per_s"];
        assert_eq!(rate.as_f64(), step["level"].as_f64());
        assert_ne!(step["evidence"], "fails", "{step}");
    }
    // No answer over a socket is as fast as this threshold.
    let result = search(&["--min", "10", "--condition", "response_time.p50 < 1us"]);
    assert_eq!(result["holds_at"], Value::Null);
    assert_ne!(result["ended"], "found");
    for step in result["steps"].as_array().unwrap() {
        assert_ne!(step["evidence"], "holds", "{step}");
    }
}

#[test]
fn flags_that_conflict_with_a_search_are_refused() {
    let workspace = Workspace::new();
    let check = |flags: &[&str], expected: &str| {
        let output =
            workspace.output(&[&["load", "http://127.0.0.1:9/", "--search"], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
        assert!(
            output_text(&output).contains(expected),
            "{}",
            output_text(&output)
        );
    };
    check(&["speed"], "possible values: rate, users, connections");
    check(
        &["rate", "--condition", "respons_time.p99 < 1s"],
        "did you mean \"response_time.p99\"?",
    );
    check(&["rate", "--stages", "1s:10"], "cannot be used with");
    check(
        &["rate", "--threshold", "failed == 0"],
        "cannot be used with",
    );
}

/// A server that takes 50 ms and serves any number at once: five connections are good for 100/s, and are not its capacity.
#[test]
fn connections_that_are_the_limit_are_no_capacity_of_the_server() {
    let server = Server::start(|_| Reply::After(Duration::from_millis(50), ANSWER.to_vec()));
    let workspace = Workspace::new();
    let url = format!("http://{}/", server.address);
    let search = |flags: &[&str]| {
        let common = [
            "load",
            &url,
            "-c",
            "5",
            "--search",
            "rate",
            "--start",
            "50",
            "--max",
            "200",
            "--precision",
            "50%",
            "--confirmations",
            "1",
            "-d",
            "1s",
            "--warm-up",
            "100ms",
            "--arrivals",
            "uniform",
            "--condition",
            "achieved_ratio >= 95%",
            "--json",
            "--quiet",
        ];
        let output = workspace.output(&[&common[..], flags].concat());
        let result: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", output_text(&output)));
        assert_eq!(output.status.code(), Some(find_code(&result)), "{result}");
        result
    };
    let steps = |result: &Value| result["steps"].as_array().unwrap().clone();
    let connections = |step: &Value| step["connections"].as_u64().unwrap();
    // A machine that is busy may make any load say nothing; none says that the server was the limit.
    let kept = search(&["--max-connections", "5"]);
    assert_eq!(kept["fails_at"], Value::Null, "{kept}");
    assert_ne!(kept["ended"], "found", "{kept}");
    assert!(steps(&kept).iter().all(|step| connections(step) == 5));
    let grown = search(&[]);
    assert_eq!(grown["fails_at"], Value::Null, "{grown}");
    for (step, next) in steps(&grown).iter().zip(&steps(&grown)[1..]) {
        let is_limited = step["evidence"] == "connections were the limit";
        let (before, after) = (connections(step), connections(next));
        assert_eq!(after > before, is_limited, "{step} {next}");
    }
}
