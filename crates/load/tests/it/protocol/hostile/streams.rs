//! Streams that the server resets, and limits on their number that change.

use std::{sync::Arc, time::Duration};

use waggle_load::{Action, Example, Failure, What};
use waggle_spec::Think;
use waggle_testkit::frames::{
    FrameServer, FrameSocket, Refill, Request,
    block::{STATUS_200, field},
    frame::{
        CANCEL, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, INTERNAL_ERROR, MAX_CONCURRENT_STREAMS,
        NO_ERROR, REFUSED_STREAM, STREAM_CLOSED, data, headers, last_data, last_headers, reset,
    },
};

use super::{
    Counted, Differences, IN_FLIGHT, REQUESTS, await_close, check_answer, errors, hostile_job,
    is_shown, ok, put, serve_ok,
};
use crate::support::{
    requests, run, run_until,
    scenarios::{flow, plain, scenario},
};

#[test]
fn a_reset_ends_one_request() {
    let mut differences = Differences::default();
    let codes = [
        NO_ERROR,
        CANCEL,
        INTERNAL_ERROR,
        REFUSED_STREAM,
        0xdead_beef,
    ];
    for code in codes {
        let right = Err(Failure::Reset);
        let case = format!("code {code}, before the answer");
        check_answer(&mut differences, &case, right, move |stream| {
            reset(stream, code)
        });
        let case = format!("code {code}, after the head");
        check_answer(&mut differences, &case, right, move |stream| {
            [headers(stream, STATUS_200), reset(stream, code)].concat()
        });
        let case = format!("code {code}, in the body");
        check_answer(&mut differences, &case, right, move |stream| {
            let parts = [
                headers(stream, STATUS_200),
                data(stream, b"o"),
                reset(stream, code),
            ];
            parts.concat()
        });
        let case = format!("code {code}, after the answer");
        check_answer(&mut differences, &case, Ok(()), move |stream| {
            [ok(stream), reset(stream, code)].concat()
        });
    }
    differences.check();
}

type FramesOf = fn(u32) -> Vec<u8>;

/// What must not follow the end of an answer.
const LATE: [(&str, FramesOf); 7] = [
    ("a second head", |stream| headers(stream, STATUS_200)),
    ("a second answer", |stream| last_headers(stream, STATUS_200)),
    ("an interim answer", |stream| {
        headers(stream, &field(":status", "103"))
    }),
    ("trailers", |stream| {
        last_headers(stream, &field("x-late", "1"))
    }),
    ("DATA", |stream| data(stream, b"late")),
    ("the last DATA", |stream| last_data(stream, b"late")),
    ("empty DATA", |stream| data(stream, b"")),
];

/// Of the only four requests the second ends as `right` says, and something late follows: the other three are [`Failure::Protocol`].
fn check_late(
    differences: &mut Differences,
    case: &str,
    (end, right): (FramesOf, Result<(), Failure>),
    late: FramesOf,
) {
    let server = FrameServer::start(move |socket| {
        socket.send_settings(&[]);
        if let Some(second) = socket.next_requests(IN_FLIGHT).get(1) {
            let stream = second.stream;
            socket.finish_stream(stream, &[end(stream), late(stream)].concat());
        }
        await_close(socket);
    });
    let mut job = hostile_job(&server, IN_FLIGHT);
    job.max_requests = Some(IN_FLIGHT as u64);
    let ended = run(job);
    let log = server.finish();
    let mut failures: Vec<_> = right.err().map(|kind| (kind, 1)).into_iter().collect();
    failures.push((Failure::Protocol, 3));
    ended.check_sums();
    differences.compare(case, ended.counts().sent, IN_FLIGHT as u64);
    differences.compare(case, ended.failures(), failures);
    differences.compare(case, errors(&log), vec![STREAM_CLOSED]);
    let mut examples = ended.outcome.examples.iter();
    let is_named = |example: &Example| {
        example.failure == Failure::Protocol && example.text.contains("(STREAM_CLOSED)")
    };
    differences.compare(case, examples.any(is_named), true);
}

#[test]
fn nothing_may_follow_the_end_of_an_answer() {
    let ends: [(&str, FramesOf, Result<(), Failure>); 4] = [
        ("a body", ok, Ok(())),
        (
            "a head alone",
            |stream| last_headers(stream, STATUS_200),
            Ok(()),
        ),
        (
            "trailers",
            |stream| {
                let trailers = last_headers(stream, &field("x-end", "1"));
                let parts = [headers(stream, STATUS_200), data(stream, b"ok"), trailers];
                parts.concat()
            },
            Ok(()),
        ),
        (
            "a reset",
            |stream| reset(stream, INTERNAL_ERROR),
            Err(Failure::Reset),
        ),
    ];
    let mut differences = Differences::default();
    for (end_case, end, right) in ends {
        for (case, late) in LATE {
            let case = format!("{case} after {end_case}");
            check_late(&mut differences, &case, (end, right), late);
        }
    }
    differences.check();
}

#[test]
fn what_follows_the_last_answer_is_a_failure_of_the_connection() {
    for (case, late) in LATE {
        let server = FrameServer::start(move |socket| {
            socket.send_settings(&[]);
            if socket.connection == 0
                && let Some(request) = socket.next_request()
            {
                socket.finish_stream(request.stream, &ok(request.stream));
                // The answer is taken.
                socket.synchronize(1);
                socket.send(&late(request.stream));
            }
            await_close(socket);
        });
        // On a connection nothing is sent after the first request.
        let pause = Action::Pause(Think::Fixed(Duration::from_secs(3_600)));
        let actions = vec![plain(0, "GET /"), pause, plain(0, "GET /")];
        let scenario = scenario(1, vec![flow("one", 1, actions)], Vec::new());
        let mut job = hostile_job(&server, 1);
        job.what = What::Scenario(Arc::new(scenario));
        job.max_tracked_requests = None;
        job.max_duration = Duration::from_secs(60);
        job.limits.finish = Duration::ZERO;
        let ended = run_until(job, |counts| !counts.other_failures.0.is_empty());
        ended.check_sums();
        let counts = ended.counts();
        assert_eq!((counts.succeeded, counts.failed), (1, 0), "{case}");
        let failures = ended.other_failures();
        assert_eq!(failures, [(Failure::Protocol, 1)], "{case}");
        assert!(is_shown(&ended, Failure::Protocol), "{case}");
        assert_eq!(errors(&server.finish()), [STREAM_CLOSED], "{case}");
    }
}

/// Requests whose bodies do not fit into the window are answered before they are complete (RFC 9113, section 8.1).
fn check_early_answers(answer: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) {
    let server = FrameServer::start(move |socket| {
        socket.refill = Refill::Nothing;
        socket.send_settings(&[(INITIAL_WINDOW_SIZE, 10)]);
        while let Some(frame) = socket.next_frame() {
            if frame.kind == HEADERS {
                assert!(!frame.has_flag(END_STREAM), "the request has a body");
                socket.finish_stream(frame.stream, &answer(frame.stream));
            }
        }
    });
    let mut job = hostile_job(&server, IN_FLIGHT);
    *requests(&mut job) = vec![put(&[b'x'; 1_000])];
    let ended = run(job);
    assert_eq!(
        Counted::new(&ended),
        Counted::on_one_connection(REQUESTS, &[])
    );
    server.finish();
}

#[test]
fn an_answer_is_whole_although_the_rest_of_the_request_is_refused() {
    check_early_answers(|stream| [ok(stream), reset(stream, NO_ERROR)].concat());
}

#[test]
fn an_answer_is_whole_although_the_rest_of_the_request_is_not_read() {
    check_early_answers(ok);
}

fn answer_all(socket: &mut FrameSocket, held: Vec<Request>) {
    for request in held {
        socket.finish_stream(request.stream, &ok(request.stream));
    }
}

/// The server sets each limit in turn, and answers only when that many requests wait, this many times. It panics if there are more.
fn check_limits(phases: &'static [(u32, u64)]) {
    let server = FrameServer::start(move |socket| {
        let mut held = Vec::new();
        for &(limit, rounds) in phases {
            socket.send_settings(&[(MAX_CONCURRENT_STREAMS, limit)]);
            if limit == 0 {
                answer_all(socket, std::mem::take(&mut held));
                let frames = socket.synchronize(7);
                let opened = frames.iter().filter(|frame| frame.kind == HEADERS);
                assert_eq!(opened.count(), 0, "streams are opened although none may be");
            }
            for _ in 0..rounds {
                answer_all(socket, std::mem::take(&mut held));
                held = socket.next_requests(limit as usize);
                assert_eq!(socket.open_streams(), held.len());
            }
        }
        answer_all(socket, held);
        serve_ok(socket);
    });
    let mut job = hostile_job(&server, 16);
    let sent = phases
        .iter()
        .map(|(limit, rounds)| u64::from(*limit) * rounds);
    let sent = sent.sum();
    job.max_requests = Some(sent);
    let ended = run(job);
    assert_eq!(Counted::new(&ended), Counted::on_one_connection(sent, &[]));
    assert_eq!(ended.counts().narrow_connections, 1);
    server.finish();
}

#[test]
fn one_stream_at_a_time() {
    check_limits(&[(1, 100)]);
}

#[test]
fn the_limit_on_streams_changes_during_the_run() {
    check_limits(&[(1, 20), (10, 10), (2, 40)]);
}

#[test]
fn no_stream_is_opened_while_the_limit_is_zero() {
    check_limits(&[(5, 10), (0, 0), (5, 30)]);
}

#[test]
fn the_limit_on_streams_may_begin_at_zero() {
    check_limits(&[(0, 0), (5, 20)]);
}
