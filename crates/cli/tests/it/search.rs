//! Searches from the file to the answer, on a system whose capacity is known by its construction: sixteen requests at a
//! time, 400 ms each, are 40 a second and no more.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value;
use waggle_report::{CellSearch, Model};
use waggle_stats::{End, Evidence};

use crate::desk::{Desk, Parts, shown};

const CAPACITY_PER_S: f64 = 40.0;
/// A rate this far above it is kept up with for the few seconds of a trial by letting the queue grow, and still within
/// the condition on the response time.
const MARGIN: f64 = 1.25;

/// Runs a search on that system; its one cell, the exit code, and what was said.
fn searched(find: &str) -> (Model, Option<i32>, String) {
    let desk = Desk::new();
    desk.study(&Parts {
        fault: "slots",
        load: "model: open, arrivals: uniform, connections: 200",
        find: Some(find),
        ..Parts::default()
    });
    let output = desk.output(&["run", "study.yaml"]);
    desk.assert_none_left();
    (desk.model(), output.status.code(), shown(&output))
}

fn only(model: &Model) -> &CellSearch {
    &model.find.as_ref().unwrap().cells[0]
}

#[test]
fn the_answer_lies_at_the_capacity() {
    let (model, code, said) = searched(
        "rate: highest, from: 20/s, at_least: 5/s, at_most: 320/s, precision: 30%, confirm: 2, \
         where: [put-readings.response_time.p99 < 1s, put-readings.failed == 0, delivery.missing == 0]",
    );
    let search = only(&model);
    let answer = &search.answer;
    // A machine that is too busy for the generator says so, and then nothing more is known than what did hold.
    let busy = matches!(answer.end, End::InstrumentLimited | End::Silent);
    assert!(answer.end == End::Found || busy, "{said}");
    let held = answer.holds.map(|held| held.level);
    assert!(
        held.is_none_or(|level| level <= CAPACITY_PER_S * MARGIN),
        "more than the system can do: {said}"
    );
    let beyond = search
        .steps
        .iter()
        .filter(|step| step.level > CAPACITY_PER_S * MARGIN);
    assert!(
        beyond.clone().all(|step| step.evidence != Evidence::Met),
        "{said}"
    );
    if !busy {
        assert_eq!(code, Some(0), "{said}");
        assert!(
            held.is_some_and(|level| level >= CAPACITY_PER_S / 2.0),
            "{said}"
        );
        assert!(said.contains("highest rate lies between"), "{said}");
        // The cell's numbers are those at the answer.
        let cell = &model.cells[0];
        assert_eq!((cell.ran, cell.counted), (2, 2));
        let goodput = cell.goodput.unwrap().point;
        assert!(
            (goodput / held.unwrap() - 1.0).abs() < 0.2,
            "{goodput}: {said}"
        );
    }
}

#[test]
fn conditions_that_cannot_be_met_are_said_to_be_so() {
    let (model, code, said) = searched(
        "rate: highest, from: 8/s, at_least: 4/s, where: [put-readings.response_time.p99 < 350ms]",
    );
    let search = only(&model);
    assert_eq!(search.answer.holds, None, "{said}");
    let all_of_it = search
        .steps
        .iter()
        .all(|step| step.evidence != Evidence::Met);
    assert!(all_of_it, "{said}");
    match search.answer.end {
        End::NeverMet => {
            assert_eq!(code, Some(3), "{said}");
            assert!(
                said.contains("the conditions are not met even at 4/s"),
                "{said}"
            );
            let why = &search.answer.why[0];
            assert!(
                why.starts_with("put-readings.response_time.p99 < 350ms: it was 4"),
                "{why}"
            );
        }
        // A machine too busy to tell.
        End::InstrumentLimited | End::Silent => assert_eq!(code, Some(4), "{said}"),
        other => panic!("{other:?}: {said}"),
    }
}

/// `waggle load --find` on a server that answers one request at a time, each after 40 ms: 25 a second are all it can do.
#[test]
fn a_quick_search_finds_what_a_server_can_do() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    std::thread::spawn(move || {
        let desk = Arc::new(Mutex::new(()));
        for stream in server.incoming() {
            let desk = Arc::clone(&desk);
            std::thread::spawn(move || one_at_a_time(stream.unwrap(), &desk));
        }
    });
    let desk = Desk::new();
    let url = format!("http://{address}/");
    let flags = [
        "--find",
        "rate",
        "--from",
        "10",
        "--at-most",
        "160",
        "--precision",
        "50%",
        "--confirm",
        "1",
        "-d",
        "2s",
        "--warm-up",
        "500ms",
        "--arrivals",
        "uniform",
        "--json",
        "--quiet",
    ];
    let search = |conditions: &[&str]| {
        let output = desk.output(&[&["load", &url], &flags[..], conditions].concat());
        let found: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)));
        (found, output.status.code())
    };
    let (found, code) = search(&["--where", "response_time.p99 < 500ms"]);
    let steps = found["steps"].as_array().unwrap();
    assert_eq!(found["find"], "rate");
    for step in steps {
        let level = step["level"].as_f64().unwrap();
        assert_eq!(
            step["result"]["settings"]["rate_per_s"].as_f64(),
            Some(level)
        );
        assert!(level < 40.0 || step["evidence"] != "met", "{step}");
    }
    // A busy machine may be the limit itself.
    if found["ended"] == "found" {
        assert_eq!(code, Some(0));
        assert!(
            (10.0..40.0).contains(&found["holds_at"].as_f64().unwrap()),
            "{found}"
        );
    } else {
        assert!(
            ["instrument-limited", "silent"]
                .map(Value::from)
                .contains(&found["ended"]),
            "{found}"
        );
    }
    let never = ["--at-least", "5", "--where", "response_time.p50 < 20ms"];
    let (found, code) = search(&never);
    assert_eq!(found["holds_at"], Value::Null);
    assert!(matches!(code, Some(3 | 4)), "{found}");
    assert!(found["ended"] != "found", "{found}");
}

fn one_at_a_time(stream: TcpStream, desk: &Mutex<()>) {
    let mut writer = stream.try_clone().unwrap();
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(line)) = lines.next() {
        if line.is_empty() {
            let turn = desk.lock().unwrap();
            std::thread::sleep(Duration::from_millis(40));
            drop(turn);
            if writer
                .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
                .is_err()
            {
                return;
            }
        }
    }
}

#[test]
fn what_a_search_cannot_have_is_refused() {
    let desk = Desk::new();
    let check = |flags: &[&str], expected: &str| {
        let output = desk.output(&[&["load", "http://127.0.0.1:9/", "--find"], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains(expected), "{}", shown(&output));
    };
    check(&["speed"], "possible values: rate, users, connections");
    check(
        &["rate", "--where", "respons_time.p99 < 1s"],
        "did you mean \"response_time.p99\"?",
    );
    check(&["rate", "--stages", "1s:10"], "cannot be used with");
    check(
        &["rate", "--threshold", "failed == 0"],
        "cannot be used with",
    );
}
