//! GOAWAY: requests that the server has not processed go over the next connection, and nothing is lost (RFC 9113, section 6.8).

use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    sync::{Arc, Mutex},
    time::Duration,
};

use waggle_load::{Failure, Job, RequestOutcome, StepRequest, What, key_of};
use waggle_testkit::frames::{
    FrameServer, FrameSocket, Request,
    block::STATUS_200,
    frame::{ENHANCE_YOUR_CALM, HEADERS, NO_ERROR, go_away, headers, last_data, settings},
};

use super::{Counted, await_close, hostile_job, is_shown, keyed_put, ok};
use crate::support::{
    requests, run,
    scenarios::{flow, request, scenario, step, text},
};

const REQUESTS: u64 = 200;
const IN_FLIGHT: usize = 8;
/// The largest stream number.
const LAST_STREAM: u32 = (1 << 31) - 1;

/// The bodies of the requests that were answered, and how often.
#[derive(Debug, Clone, Default)]
struct Processed(Arc<Mutex<BTreeMap<Vec<u8>, u64>>>);

impl Processed {
    fn answer(&self, socket: &mut FrameSocket, request: &Request) {
        *self
            .0
            .lock()
            .unwrap()
            .entry(request.body.clone())
            .or_default() += 1;
        socket.finish_stream(request.stream, &ok(request.stream));
    }

    fn answer_all(&self, socket: &mut FrameSocket, requests: &[Request]) {
        for request in requests {
            self.answer(socket, request);
        }
    }
}

/// Each of the first `leaving` connections waits for eight requests and then does `leave`; later ones answer everything. Every
/// request succeeds, was answered once, and is counted once.
fn check(
    leaving: u64,
    resent: RangeInclusive<u64>,
    leave: impl Fn(&mut FrameSocket, &[Request], &Processed) + Send + Sync + 'static,
) {
    let processed = Processed::default();
    let theirs = processed.clone();
    let server = FrameServer::start(move |socket| {
        socket.send_settings(&[]);
        if socket.connection < leaving {
            let requests = socket.next_requests(IN_FLIGHT);
            assert_eq!(requests.len(), IN_FLIGHT, "the client has closed early");
            return leave(socket, &requests, &theirs);
        }
        while let Some(request) = socket.next_request() {
            theirs.answer(socket, &request);
        }
    });
    let mut job = hostile_job(&server, IN_FLIGHT);
    job.max_requests = Some(REQUESTS);
    *requests(&mut job) = vec![keyed_put()];
    let ended = run(job);
    let counted = Counted::new(&ended);
    assert_eq!(
        (counted.sent, counted.succeeded, &counted.failures),
        (REQUESTS, REQUESTS, &Vec::new())
    );
    assert_eq!(ended.other_failures(), []);
    assert_eq!(counted.connects, leaving + 1);
    assert!(resent.contains(&counted.resent), "{counted:?}");
    let log = server.finish();
    assert_eq!(log.requests.len() as u64, REQUESTS + counted.resent);
    let processed = processed.0.lock().unwrap();
    assert_eq!(processed.len() as u64, REQUESTS);
    let account = &ended.outcome.request_outcomes[0];
    assert_eq!(account.sent_count(), REQUESTS);
    for index in 0..REQUESTS {
        assert_eq!(account.state(index), Some(RequestOutcome::Accepted));
        let key = key_of(0, index).to_string().into_bytes();
        assert_eq!(processed.get(&key), Some(&1), "request {index}");
    }
}

#[test]
fn requests_above_the_last_stream_are_sent_again() {
    check(1, 4..=4, |socket, requests, processed| {
        socket.send(&go_away(requests[3].stream, NO_ERROR));
        processed.answer_all(socket, &requests[..4]);
    });
}

#[test]
fn the_client_closes_a_connection_that_has_gone_away() {
    check(1, 4..=4, |socket, requests, processed| {
        socket.send(&go_away(requests[3].stream, NO_ERROR));
        for request in requests[..4].iter().rev() {
            processed.answer(socket, request);
        }
        await_close(socket);
    });
}

#[test]
fn every_request_is_sent_again_if_none_was_processed() {
    check(1, 8..=8, |socket, _, _| {
        socket.send(&go_away(0, NO_ERROR));
        await_close(socket);
    });
}

#[test]
fn nothing_is_sent_again_if_everything_was_processed() {
    check(1, 0..=0, |socket, requests, processed| {
        socket.send(&go_away(requests[7].stream, NO_ERROR));
        processed.answer_all(socket, requests);
    });
}

#[test]
fn a_graceful_shutdown_announces_itself_first() {
    check(1, 2..=2, |socket, requests, processed| {
        socket.send(&go_away(LAST_STREAM, NO_ERROR));
        processed.answer_all(socket, &requests[..3]);
        let frames = socket.synchronize(1);
        assert!(
            frames.iter().all(|frame| frame.kind != HEADERS),
            "a stream was opened after GOAWAY"
        );
        socket.send(&go_away(requests[5].stream, NO_ERROR));
        processed.answer_all(socket, &requests[3..6]);
        await_close(socket);
    });
}

#[test]
fn answers_before_and_around_a_go_away_count() {
    // Up to three requests may have followed the answers before GOAWAY.
    check(1, 4..=7, |socket, requests, processed| {
        processed.answer_all(socket, &requests[..2]);
        processed.answer(socket, &requests[3]);
        let stream = requests[2].stream;
        socket.send(&headers(stream, STATUS_200));
        socket.send(&go_away(requests[3].stream, NO_ERROR));
        *processed
            .0
            .lock()
            .unwrap()
            .entry(requests[2].body.clone())
            .or_default() += 1;
        socket.finish_stream(stream, &last_data(stream, b"ok"));
        while socket.next_request().is_some() {}
    });
}

#[test]
fn requests_are_sent_again_as_often_as_servers_go_away() {
    check(10, 40..=40, |socket, requests, processed| {
        socket.send(&go_away(requests[3].stream, NO_ERROR));
        processed.answer_all(socket, &requests[..4]);
    });
}

#[test]
fn a_server_that_always_goes_away_does_not_keep_the_run() {
    let server = FrameServer::start(|socket| {
        socket.send_settings(&[]);
        if socket.next_request().is_some() {
            socket.send(&go_away(0, NO_ERROR));
        }
        await_close(socket);
    });
    let mut job = hostile_job(&server, IN_FLIGHT);
    job.max_requests = Some(IN_FLIGHT as u64);
    job.limits.request_timeout = Duration::from_millis(500);
    *requests(&mut job) = vec![keyed_put()];
    let ended = run(job);
    ended.check_sums();
    assert_eq!(ended.failures(), [(Failure::TimedOut, IN_FLIGHT as u64)]);
}

#[test]
fn a_server_that_goes_away_at_once_is_tried_again() {
    let server = FrameServer::start(|socket| {
        if socket.connection == 0 {
            socket.send(&[settings(&[]), go_away(0, NO_ERROR)].concat());
            return await_close(socket);
        }
        socket.send_settings(&[]);
        super::serve_ok(socket);
    });
    let ended = run(hostile_job(&server, IN_FLIGHT));
    let counted = Counted::new(&ended);
    assert_eq!(
        (counted.sent, counted.succeeded, counted.connects),
        (super::REQUESTS, super::REQUESTS, 2)
    );
}

/// Sessions of two steps, each of whose requests has a body that no other one has.
fn session_job(server: &FrameServer) -> Job {
    let put = |number| {
        request(StepRequest {
            body: text("{{session}} {{random.uuid}}"),
            ..step(number, "PUT /")
        })
    };
    let scenario = scenario(2, vec![flow("two", 1, vec![put(0), put(1)])], Vec::new());
    let mut job = hostile_job(server, IN_FLIGHT);
    job.what = What::Scenario(Arc::new(scenario));
    job.max_requests = Some(REQUESTS);
    job.max_tracked_requests = None;
    job
}

#[test]
fn requests_of_sessions_are_sent_again_as_they_were_and_the_sessions_go_on() {
    const LEAVING: u64 = 3;
    let processed = Processed::default();
    let theirs = processed.clone();
    let unprocessed = Arc::new(Mutex::new(Vec::new()));
    let left = Arc::clone(&unprocessed);
    let server = FrameServer::start(move |socket| {
        socket.send_settings(&[]);
        if socket.connection < LEAVING {
            let requests = socket.next_requests(IN_FLIGHT);
            let (first, others) = requests.split_at(3);
            socket.send(&go_away(first[2].stream, NO_ERROR));
            left.lock()
                .unwrap()
                .extend(others.iter().map(|request| request.body.clone()));
            theirs.answer_all(socket, first);
            return await_close(socket);
        }
        while let Some(request) = socket.next_request() {
            theirs.answer(socket, &request);
        }
    });
    let ended = run(session_job(&server));
    ended.check_sums_of_streams(IN_FLIGHT as u64);
    let counts = ended.counts();
    assert_eq!((counts.sent, counts.succeeded), (REQUESTS, REQUESTS));
    assert_eq!(
        (counts.resent, counts.connects),
        (5 * LEAVING, LEAVING + 1),
        "{counts:?}"
    );
    assert_eq!(counts.sessions.failed, 0, "{:?}", counts.sessions);
    let processed = processed.0.lock().unwrap();
    assert_eq!(processed.len() as u64, REQUESTS);
    assert!(processed.values().all(|times| *times == 1));
    let unprocessed = unprocessed.lock().unwrap();
    assert!(unprocessed.iter().all(|body| processed.contains_key(body)));
}

#[test]
fn sessions_do_not_wait_for_a_server_that_always_goes_away_longer_than_their_timeout() {
    let server = FrameServer::start(|socket| {
        socket.send_settings(&[]);
        if socket.next_request().is_some() {
            socket.send(&go_away(0, NO_ERROR));
        }
        await_close(socket);
    });
    let mut job = session_job(&server);
    job.max_requests = Some(IN_FLIGHT as u64);
    job.limits.request_timeout = Duration::from_millis(500);
    let ended = run(job);
    ended.check_sums_of_streams(IN_FLIGHT as u64);
    let lost = IN_FLIGHT as u64;
    assert_eq!(ended.failures(), [(Failure::TimedOut, lost)]);
    assert_eq!(ended.counts().sessions.failed, lost);
}

/// The first connection waits for eight requests and then does `leave`: how those count.
fn check_lost(
    failure: Failure,
    leave: impl Fn(&mut FrameSocket, &[Request]) + Send + Sync + 'static,
) {
    let server = FrameServer::start(move |socket| {
        socket.send_settings(&[]);
        if socket.connection == 0 {
            let requests = socket.next_requests(IN_FLIGHT);
            return leave(socket, &requests);
        }
        super::serve_ok(socket);
    });
    let ended = run(hostile_job(&server, IN_FLIGHT));
    let right = Counted {
        connects: 2,
        ..Counted::on_one_connection(super::REQUESTS, &[(failure, IN_FLIGHT as u64)])
    };
    assert_eq!(Counted::new(&ended), right);
    // An error of the server is shown with its code; of a closed connection there is nothing to say.
    assert_eq!(
        is_shown(&ended, failure),
        failure == Failure::Protocol,
        "{:?}",
        ended.outcome.examples
    );
    server.finish();
}

#[test]
fn requests_are_lost_if_the_server_blames_the_client() {
    check_lost(Failure::Protocol, |socket, requests| {
        socket.send(&go_away(requests[3].stream, ENHANCE_YOUR_CALM));
    });
    check_lost(Failure::Protocol, |socket, _| {
        socket.send(&go_away(LAST_STREAM, ENHANCE_YOUR_CALM));
    });
}

#[test]
fn requests_are_lost_if_a_server_that_goes_away_closes_before_their_answers() {
    check_lost(Failure::Reset, |socket, requests| {
        socket.send(&go_away(requests[7].stream, NO_ERROR));
    });
    check_lost(Failure::Reset, |socket, requests| {
        socket.send(&go_away(LAST_STREAM, NO_ERROR));
        socket.send(&headers(requests[0].stream, STATUS_200));
    });
}

#[test]
fn requests_are_lost_if_the_connection_is_closed_without_go_away() {
    check_lost(Failure::Reset, |_, _| {});
    check_lost(Failure::Reset, |socket, requests| {
        socket.send(&headers(requests[2].stream, STATUS_200));
    });
    check_lost(Failure::Reset, |socket, requests| {
        // In the middle of a frame.
        let answer = ok(requests[2].stream);
        socket.send(&answer[..answer.len() - 1]);
    });
}
