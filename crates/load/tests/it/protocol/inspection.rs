//! Answers that are measured while they stream, over a connection.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use waggle_load::{Failure, Inspect, InspectedCounts, InspectionFailure, Job, What};
use waggle_spec::{Protocol, TimeKind};
use waggle_testkit::streams::{self, Settings, StreamServer};

use crate::support::{Ended, OK, Reply, Server, closed_model, job, run};

const LIST: &str = r#"{"items":[{"a":[1,2]},{"a":"],["},3]}"#;

fn gzip(body: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// An answer with these header lines, in chunks of a few bytes.
fn answer_in_chunks(lines: &str, body: &[u8]) -> Vec<u8> {
    let mut answer =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{lines}\r\n").into_bytes();
    for piece in body.chunks(7) {
        answer.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        answer.extend_from_slice(piece);
        answer.extend_from_slice(b"\r\n");
    }
    answer.extend_from_slice(b"0\r\n\r\n");
    answer
}

fn with_length(status: &str, lines: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut answer =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{lines}\r\n").into_bytes();
    answer.extend_from_slice(body);
    answer
}

/// Ten requests whose answers are inspected; elements are counted of the array with this name.
fn run_inspecting(mut job: Job, array: Option<&str>) -> Ended {
    job.max_requests = Some(10);
    let What::Requests { inspect, .. } = &mut job.what else {
        panic!("the job has requests");
    };
    *inspect = Some(Inspect {
        count: array.map(|name| vec![name.to_owned()]),
    });
    let ended = run(job);
    ended.check_sums();
    ended
}

/// Two requests at a time with this answer: what is found, or the kind of failure of all.
fn check(reply: Reply, array: Option<&str>, expected: Result<InspectedCounts, Failure>) {
    let server = Server::start(move |_| reply.clone());
    let ended = run_inspecting(job(server.address, closed_model(1, 2)), array);
    check_found(&ended, expected);
}

/// The same over HTTP/2.
fn check_streams(
    reply: streams::Reply,
    array: Option<&str>,
    expected: Result<InspectedCounts, Failure>,
) {
    let server = StreamServer::start(Settings::default(), move |_| reply.clone());
    let mut job = job(server.address, closed_model(1, 3));
    job.transport.protocol = Protocol::Http2;
    check_found(&run_inspecting(job, array), expected);
}

fn check_found(ended: &Ended, expected: Result<InspectedCounts, Failure>) {
    let first_byte_time = ended.merge(|interval| &interval.times[TimeKind::FirstByte]);
    let counts = ended.counts().inspected;
    assert_eq!(first_byte_time.len(), counts.answers);
    match expected {
        Ok(expected) => {
            assert!(ended.failures().is_empty(), "{:?}", ended.failures());
            assert_eq!(counts, expected);
            let service_time = ended.merge(|interval| &interval.times[TimeKind::Service]);
            assert!(first_byte_time.max() <= service_time.max());
        }
        Err(failure) => {
            assert_eq!(ended.failures(), [(failure, 10)]);
            assert_eq!(counts, InspectedCounts::default());
        }
    }
}

fn of_ten(body: usize, decoded: usize, items: Option<u64>) -> Result<InspectedCounts, Failure> {
    Ok(InspectedCounts {
        answers: 10,
        body_bytes: 10 * body as u64,
        decoded_bytes: 10 * decoded as u64,
        items: items.map(|items| 10 * items),
    })
}

#[test]
fn bodies_are_measured_without_their_framing_and_after_decompression() {
    let plain = LIST.as_bytes();
    let length = plain.len();
    let answer = Reply::Answer(with_length("200 OK", "", plain));
    check(
        answer.clone(),
        Some("items"),
        of_ten(length, length, Some(3)),
    );
    check(answer, None, of_ten(length, length, None));
    let zipped = gzip(LIST);
    let coding = "Content-Encoding: gzip\r\n";
    for answer in [
        answer_in_chunks(coding, &zipped),
        with_length("201 Created", coding, &zipped),
    ] {
        let answer = Reply::Answer(answer);
        check(answer, Some("items"), of_ten(zipped.len(), length, Some(3)));
    }
    check(Reply::Answer(OK.to_vec()), None, of_ten(2, 2, None));
}

#[test]
fn bodies_that_cannot_be_read_are_failures_of_their_kinds() {
    let check = |answer: Vec<u8>, failure| {
        let failed = Err(Failure::Inspection(failure));
        check(Reply::Answer(answer), Some("items"), failed);
    };
    let zipped = gzip(LIST);
    let coding = "Content-Encoding: gzip\r\n";
    let cut = &zipped[..zipped.len() - 9];
    check(answer_in_chunks(coding, cut), InspectionFailure::Truncated);
    let cut = &LIST.as_bytes()[..20];
    check(with_length("200 OK", "", cut), InspectionFailure::Truncated);
    let plain = LIST.as_bytes();
    check(
        answer_in_chunks(coding, plain),
        InspectionFailure::InvalidEncoding,
    );
    let br = answer_in_chunks("Content-Encoding: br\r\n", plain);
    check(br, InspectionFailure::UnknownEncoding);
    check(OK.to_vec(), InspectionFailure::NotJson);
    check(answer_in_chunks("", b"{}"), InspectionFailure::NoArray);
}

#[test]
fn an_unexpected_status_is_the_error_whatever_the_body_is() {
    let answer = with_length("503 Busy", "Content-Encoding: br\r\n", b"busy");
    check(
        Reply::Answer(answer),
        Some("items"),
        Err(Failure::Status(503)),
    );
}

#[test]
fn a_body_that_ends_with_its_connection_is_inspected_too() {
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
    let with =
        |body: &[u8], coding: &str| [format!("{head}{coding}\r\n").as_bytes(), body].concat();
    let zipped = gzip(LIST);
    let coding = "Content-Encoding: gzip\r\n";
    let check = |bytes: Vec<u8>, expected| {
        let server = Server::start(move |_| Reply::Last(bytes.clone()));
        let ended = run_inspecting(job(server.address, closed_model(1, 1)), None);
        check_found(&ended, expected);
    };
    let whole = of_ten(zipped.len(), LIST.len(), None);
    check(with(&zipped, coding), whole);
    let failed = Failure::Inspection(InspectionFailure::Truncated);
    check(with(&zipped[..30], coding), Err(failed));
}

#[test]
fn streams_of_http2_are_inspected_each_by_itself() {
    let length = LIST.len();
    let answer = |body: &str| streams::Reply::Answer {
        status: 200,
        body: body.to_owned().into(),
    };
    let encoded = |coding, body: &[u8]| streams::Reply::Encoded(coding, body.to_vec().into());
    let counted = of_ten(length, length, Some(3));
    check_streams(answer(LIST), Some("items"), counted);
    let zipped = gzip(LIST);
    let counted = of_ten(zipped.len(), length, Some(3));
    check_streams(encoded("gzip", &zipped), Some("items"), counted);
    let check = |reply, failure| {
        check_streams(reply, Some("items"), Err(Failure::Inspection(failure)));
    };
    check(answer(&LIST[..9]), InspectionFailure::Truncated);
    check(answer(""), InspectionFailure::NotJson);
    check(encoded("gzip", &zipped[..30]), InspectionFailure::Truncated);
    check(encoded("gzip", b"none"), InspectionFailure::InvalidEncoding);
    check(encoded("br", b"none"), InspectionFailure::UnknownEncoding);
}
