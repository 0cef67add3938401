//! Streams that the server resets, and limits on their number that change.

use waggle_load::Failure;
use waggle_testkit::frames::{
    FrameServer, FrameSocket, Refill, Request,
    block::STATUS_200,
    frame::{
        CANCEL, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, INTERNAL_ERROR, MAX_CONCURRENT_STREAMS,
        NO_ERROR, REFUSED_STREAM, data, headers, reset,
    },
};

use super::{
    Counted, Differences, IN_FLIGHT, REQUESTS, check_answer, hostile_job, ok, put, serve_ok,
};
use crate::support::{requests, run};

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
