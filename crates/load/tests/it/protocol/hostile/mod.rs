//! HTTP/2 against servers that break its rules, or use them to their limits. What is right is taken from RFC 9113, RFC 7541 and
//! RFC 9110; the servers send raw frames and share no code with the engine.

mod floods;
mod framing;
mod go_away;
mod header_blocks;
mod messages;
mod streams;
mod windows;

use std::{fmt, time::Duration};

use waggle_load::{Failure, Job, KEY_DIGITS, Prepared, Slot, Stamp};
use waggle_spec::Protocol;
use waggle_testkit::frames::{
    FrameServer, FrameSocket, Log,
    block::STATUS_200,
    frame::{NO_ERROR, headers, last_data},
};

use crate::support::{Ended, closed_model, expect, get, job, requests, run};

const REQUESTS: u64 = 40;
const IN_FLIGHT: usize = 4;

/// What differs from what is right: all cases of a table run before the test fails.
#[derive(Debug, Default)]
struct Differences(Vec<String>);

impl Differences {
    fn compare<T: PartialEq + fmt::Debug>(&mut self, case: &str, actual: T, right: T) {
        if actual != right {
            self.0
                .push(format!("{case}: {actual:?}; right is {right:?}"));
        }
    }

    fn check(self) {
        assert!(self.0.is_empty(), "\n{}", self.0.join("\n"));
    }
}

/// The counts of a run that are compared.
#[derive(Debug, PartialEq, Eq)]
struct Counted {
    sent: u64,
    succeeded: u64,
    failures: Vec<(Failure, u64)>,
    resent: u64,
    connects: u64,
}

impl Counted {
    fn new(ended: &Ended) -> Self {
        ended.check_sums();
        let counts = ended.counts();
        Self {
            sent: counts.sent,
            succeeded: counts.succeeded,
            failures: ended.failures(),
            resent: counts.resent,
            connects: counts.connects,
        }
    }

    /// All of `requests` succeeded over one connection, except `failures`.
    fn on_one_connection(requests: u64, failures: &[(Failure, u64)]) -> Self {
        let failed: u64 = failures.iter().map(|(_, count)| count).sum();
        Self {
            sent: requests,
            succeeded: requests - failed,
            failures: failures.to_vec(),
            resent: 0,
            connects: 1,
        }
    }
}

/// A job over one connection that expects status 200.
fn hostile_job(server: &FrameServer, pipelining: usize) -> Job {
    let mut job = job(server.address, closed_model(1, pipelining));
    job.transport.protocol = Protocol::Http2;
    job.max_requests = Some(REQUESTS);
    job.max_tracked_requests = Some(10_000);
    job.limits.request_timeout = Duration::from_secs(15);
    job.limits.connect_timeout = Duration::from_secs(15);
    job.limits.head_max_bytes = 4_000;
    job.limits.head_max_fields = 20;
    job.limits.reconnect_first = Duration::from_millis(1);
    job.limits.reconnect_max = Duration::from_millis(20);
    expect(&mut job).status = vec![200];
    job
}

/// A complete answer in two frames.
fn ok(stream: u32) -> Vec<u8> {
    [headers(stream, STATUS_200), last_data(stream, b"ok")].concat()
}

/// Answers all further requests.
fn serve_ok(socket: &mut FrameSocket) {
    while let Some(request) = socket.next_request() {
        socket.finish_stream(request.stream, &ok(request.stream));
    }
}

/// Reads until the client closes the connection.
fn await_close(socket: &mut FrameSocket) {
    while socket.next_frame().is_some() {}
}

fn put(body: &[u8]) -> Prepared {
    let length = body.len();
    let head = format!("PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n\r\n");
    Prepared {
        bytes: [head.as_bytes(), body].concat(),
        ..get()
    }
}

/// A request whose body is its key.
fn keyed_put() -> Prepared {
    let mut request = put(&[b'0'; KEY_DIGITS]);
    request.slots = vec![Slot {
        at: request.bytes.len() - KEY_DIGITS,
        stamp: Stamp::Key { record: 0 },
    }];
    request.records = 1;
    request
}

/// Error codes with which the client has ended connections.
fn errors(log: &Log) -> Vec<u32> {
    let codes = log.go_aways.iter().copied();
    codes.filter(|code| *code != NO_ERROR).collect()
}

/// Whether there is an example of this kind, with a text.
fn is_shown(ended: &Ended, failure: Failure) -> bool {
    let mut examples = ended.outcome.examples.iter();
    examples.any(|example| example.failure == failure && !example.text.is_empty())
}

/// The first connection gets `bad` while four requests wait, the argument being the stream of the second: all four are
/// [`Failure::Protocol`], the client ends the connection with this error code, and the next one serves the rest.
fn check_fatal(
    differences: &mut Differences,
    case: &str,
    code: u32,
    bad: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static,
) {
    let server = FrameServer::start(move |socket| {
        socket.send_settings(&[]);
        if socket.connection > 0 {
            return serve_ok(socket);
        }
        if let Some(second) = socket.next_requests(IN_FLIGHT).get(1) {
            socket.send(&bad(second.stream));
        }
        await_close(socket);
    });
    let ended = run(hostile_job(&server, IN_FLIGHT));
    let log = server.finish();
    let right = Counted {
        connects: 2,
        ..Counted::on_one_connection(REQUESTS, &[(Failure::Protocol, 4)])
    };
    differences.compare(case, Counted::new(&ended), right);
    differences.compare(case, errors(&log), vec![code]);
    differences.compare(case, is_shown(&ended, Failure::Protocol), true);
}

/// The requests 3, 13, 23 and 33 are answered by `answer`, given their stream: only they end as `right` says, on one connection.
fn check_answer(
    differences: &mut Differences,
    case: &str,
    right: Result<(), Failure>,
    answer: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static,
) {
    check_answer_of(differences, case, (get(), right), answer);
}

/// The same for another request than a GET.
fn check_answer_of(
    differences: &mut Differences,
    case: &str,
    (request, right): (Prepared, Result<(), Failure>),
    answer: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static,
) {
    let is_head = request.is_head;
    let server = FrameServer::answering(&[], move |socket, request| {
        let stream = request.stream;
        let bytes = match request.number % 10 {
            3 => answer(stream),
            _ if is_head => waggle_testkit::frames::frame::last_headers(stream, STATUS_200),
            _ => ok(stream),
        };
        socket.finish_stream(stream, &bytes);
    });
    let mut job = hostile_job(&server, IN_FLIGHT);
    *requests(&mut job) = vec![request];
    let ended = run(job);
    let log = server.finish();
    let failures: Vec<_> = right
        .err()
        .map(|failure| (failure, 4))
        .into_iter()
        .collect();
    let counted = Counted::on_one_connection(REQUESTS, &failures);
    differences.compare(case, Counted::new(&ended), counted);
    differences.compare(case, errors(&log), Vec::new());
    if right == Err(Failure::Malformed) {
        differences.compare(case, is_shown(&ended, Failure::Malformed), true);
    }
}
