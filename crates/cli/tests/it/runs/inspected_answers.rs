//! Answers that are inspected while they stream: in results, tables and report.

use std::fs;

use waggle_analysis::{Model, TrialNumbers, TrialPercentiles};
use waggle_results::FailureKind;
use waggle_spec::TimeKind;
use waggle_testkit::http::{Reply, Server};

use crate::workspace::{Workspace, output_text};

const LIST: &str =
    r#"{"kind":"List","items":[{"name":"a"},{"name":"b]"},{"name":"c","items":[1,2]}]}"#;
/// [`LIST`] in gzip.
const ZIPPED: [u8; 71] = [
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56, 0xca, 0xce, 0xcc, 0x4b,
    0x51, 0xb2, 0x52, 0xf2, 0xc9, 0x2c, 0x2e, 0x51, 0xd2, 0x51, 0xca, 0x2c, 0x49, 0xcd, 0x2d, 0x56,
    0xb2, 0x8a, 0xae, 0x56, 0xca, 0x4b, 0xcc, 0x4d, 0x05, 0x8a, 0x27, 0x2a, 0xd5, 0xea, 0xc0, 0x39,
    0x49, 0xb1, 0xc8, 0xbc, 0x64, 0x24, 0xf5, 0x86, 0x3a, 0x46, 0xb1, 0xb5, 0xb1, 0xb5, 0x00, 0x07,
    0xc1, 0x74, 0x70, 0x4f, 0x00, 0x00, 0x00,
];

/// The body in two chunks, with this content coding.
fn answer_in_chunks(coding: &str, body: &[u8]) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: ";
    let mut answer = format!("{head}{coding}\r\n\r\n").into_bytes();
    let (half, other) = body.split_at(body.len() / 2);
    for piece in [half, other] {
        answer.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        answer.extend_from_slice(piece);
        answer.extend_from_slice(b"\r\n");
    }
    answer.extend_from_slice(b"0\r\n\r\n");
    answer
}

/// Runs a study whose answers are all this one; returns its model, its table and its report.
fn run(answer: Vec<u8>) -> (Model, String, String) {
    let server = Server::start(move |_| Reply::Answer(answer.clone()));
    let text = format!(
        "study: answers\nquestion: How large are lists?\nsystem: {{ url: 'http://{}', smoke_test: false }}\n\
         load:\n  model: closed\n  connections: 1\n  request:\n    name: list\n    get: /list\n    \
         headers: {{ Accept-Encoding: gzip }}\n    inspect: {{ count: $.items }}\n\
         schedule: {{ warm_up: 0s, measure: {{ requests: 20, timeout: 60s }}, repeat: 1, interval: 100ms }}\n\
         asks: [list.first_byte_time.p50, list.decoded_bytes_per_answer]\n\
         thresholds: ['list.items_per_answer == 3']\n",
        server.address
    );
    let workspace = Workspace::new();
    fs::write(workspace.path().join("study.yaml"), text).unwrap();
    let ran = workspace.output(&["run", "study.yaml", "--quiet"]);
    let model = workspace.report_of(&ran);
    let read = |name: &str| {
        let text = fs::read_to_string(workspace.run_folder().join(name));
        text.unwrap_or_else(|error| panic!("{name}: {error}: {}", output_text(&ran)))
    };
    (model, read("tables.csv"), read("report.md"))
}

fn numbers(model: &Model) -> &TrialNumbers {
    model.trials[0].numbers.as_ref().unwrap()
}

#[test]
fn a_study_has_what_was_measured_of_its_answers() {
    let (model, table, report) = run(answer_in_chunks("gzip", &ZIPPED));
    let numbers = numbers(&model);
    let inspected = numbers.counts.inspected.unwrap();
    assert!(inspected.answers > 0);
    assert_eq!(inspected.answers, numbers.counts.succeeded);
    assert_eq!(
        inspected.body_bytes,
        inspected.answers * ZIPPED.len() as u64
    );
    assert_eq!(
        inspected.decoded_bytes,
        inspected.answers * LIST.len() as u64
    );
    assert_eq!(inspected.items, Some(inspected.answers * 3));
    let (first, service) = (
        &numbers.times[TimeKind::FirstByte],
        &numbers.times[TimeKind::Service],
    );
    let mean = |times: &Option<TrialPercentiles>| {
        let times = times.as_ref().unwrap();
        (times.count, times.mean_us.unwrap())
    };
    assert_eq!(mean(first).0, mean(service).0);
    assert!(mean(first).1 <= mean(service).1);
    let answers = model.cells[0].answers.as_ref().unwrap();
    assert!((answers.items.unwrap().point - 3.0).abs() < 1e-9);
    let head = table.lines().next().unwrap();
    for column in [
        "first_byte_time_p50_us",
        "body_bytes_per_answer",
        "decoded_bytes_per_answer",
        "items_per_answer",
    ] {
        assert!(head.split(',').any(|name| name == column), "{head}");
    }
    assert!(report.contains("Answers"), "{report}");
}

#[test]
fn answers_that_cannot_be_read_fail_with_their_reason() {
    let (model, _, report) = run(answer_in_chunks("br", &ZIPPED));
    let numbers = numbers(&model);
    assert_eq!(
        (numbers.counts.succeeded, numbers.counts.inspected),
        (0, None)
    );
    let kinds: Vec<FailureKind> = numbers
        .counts
        .failures
        .iter()
        .map(|failure| failure.kind)
        .collect();
    assert_eq!(kinds, [FailureKind::UnknownEncoding]);
    assert!(report.contains("unknown encoding"), "{report}");
}
