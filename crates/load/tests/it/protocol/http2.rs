//! HTTP/2: every request on its own stream, with the counts of the server.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use h2::Reason;
use waggle_load::{
    BodyCheck, Failure, HandshakeFailure, Job, Prepared, Roots, Slot, Stamp, Tls, TlsOptions,
    key_of, start,
};
use waggle_spec::{Arrivals, LoadModel, Protocol, Think};
use waggle_testkit::{
    http::Server,
    streams::{ReceivedRequest, Reply, Settings, StreamServer},
    tls::Authority,
};

use crate::support::{Ended, closed_model, expect, get, job, requests, run, run_until};

const REQUESTS: u64 = 1_000;

fn ok() -> Reply {
    Reply::Answer {
        status: 200,
        body: Bytes::from_static(b"ok"),
    }
}

fn http2_job(server: &StreamServer, model: LoadModel) -> Job {
    let mut job = job(server.address, model);
    job.transport.protocol = Protocol::Http2;
    job.max_requests = Some(REQUESTS);
    job.limits.reconnect_first = Duration::from_micros(100);
    job
}

fn put(body: &[u8]) -> Prepared {
    let mut request = get();
    request.bytes = format!(
        "PUT /here HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    request.bytes.extend_from_slice(body);
    request
}

fn check_all_answered(server: &StreamServer, ended: &Ended, requests: u64) {
    ended.check_sums();
    let counts = ended.counts();
    let theirs = (
        server.get(|counted| &counted.received),
        server.get(|counted| &counted.answered),
    );
    assert_eq!(
        (counts.sent, counts.succeeded, theirs),
        (requests, requests, (requests, requests)),
        "{counts:?}"
    );
}

#[test]
fn every_request_is_answered_once_in_every_model() {
    let open = |pipelining| LoadModel::Open {
        rate_per_s: 10_000.0,
        arrivals: Arrivals::Poisson,
        connections: 3,
        pipelining,
    };
    let users = LoadModel::Users {
        users: 5,
        think_time: Think::Fixed(Duration::from_micros(200)),
    };
    let models = [
        closed_model(1, 1),
        closed_model(3, 7),
        closed_model(1, 100),
        open(1),
        open(16),
        users,
    ];
    for model in models {
        let server = StreamServer::start(Settings::default(), |_| ok());
        let mut job = http2_job(&server, model.clone());
        expect(&mut job).body = BodyCheck::Equals(b"ok".to_vec());
        job.workers = vec![None; 2];
        job.max_tracked_requests = Some(REQUESTS);
        let ended = run(job);
        check_all_answered(&server, &ended, REQUESTS);
        assert_eq!(
            ended.counts().connects,
            server.get(|counted| &counted.connections),
            "{model:?}"
        );
    }
}

#[test]
fn streams_share_a_connection_up_to_the_lesser_of_both_limits() {
    let check = |pipelining: usize, streams_max: Option<u32>, most: u64| {
        let settings = Settings {
            streams_max,
            ..Settings::default()
        };
        let server = StreamServer::start(settings, |_| ok());
        let ended = run(http2_job(&server, closed_model(1, pipelining)));
        check_all_answered(&server, &ended, REQUESTS);
        let peak = server.get(|counted| &counted.most_under_way);
        assert!(peak <= most, "{peak} streams at once, {most} allowed");
        assert_eq!(ended.counts().connects, 1);
    };
    check(10, Some(1), 1);
    check(1, Some(10), 1);
    check(10, Some(3), 3);
    check(100, None, 100);
}

#[test]
fn heads_are_sent_as_they_were_written() {
    let server = StreamServer::start(Settings::default(), |seen: &ReceivedRequest| {
        let head = &seen.head;
        let is_right = head.method() == "PUT"
            && head.uri() == "http://test/here"
            && head
                .headers()
                .get("content-length")
                .is_some_and(|length| length == "3")
            && !head.headers().contains_key("host");
        Reply::Answer {
            status: if is_right { 204 } else { 400 },
            body: Bytes::new(),
        }
    });
    let mut job = http2_job(&server, closed_model(2, 2));
    *requests(&mut job) = vec![put(b"abc")];
    let ended = run(job);
    check_all_answered(&server, &ended, REQUESTS);
    assert_eq!(server.get(|counted| &counted.body_bytes), 3 * REQUESTS);
}

#[test]
fn stamps_are_written_into_heads_and_bodies() {
    let server = StreamServer::start(Settings::default(), |seen: &ReceivedRequest| {
        let key = seen.head.uri().path().trim_start_matches('/').to_owned();
        let body = seen.head.headers().get("x-key").unwrap().to_str().unwrap();
        let is_right = key.parse::<u64>().is_ok_and(|key| key >= key_of(0, 0)) && key == body;
        Reply::Answer {
            status: if is_right { 200 } else { 400 },
            body: Bytes::from(key),
        }
    });
    let digits = "0".repeat(waggle_load::KEY_DIGITS);
    let mut request = get();
    request.bytes =
        format!("GET /{digits} HTTP/1.1\r\nHost: test\r\nX-Key: {digits}\r\n\r\n").into_bytes();
    let positions = [5, 5 + digits.len() + 9 + 2 + 12 + 7];
    request.slots = positions
        .map(|position| Slot {
            at: position,
            stamp: Stamp::Key { record: 0 },
        })
        .to_vec();
    request.records = 1;
    let mut job = http2_job(&server, closed_model(2, 3));
    *requests(&mut job) = vec![request];
    check_all_answered(&server, &run(job), REQUESTS);
}

/// Runs requests of which the server answers every tenth with `reply`: how those end.
fn check_tenth(reply: Reply, expected: Result<(), Failure>) -> (StreamServer, Ended) {
    let server = StreamServer::start(Settings::default(), move |seen| {
        if seen.number % 10 == 3 {
            reply.clone()
        } else {
            ok()
        }
    });
    let mut job = http2_job(&server, closed_model(2, 5));
    job.max_requests = Some(REQUESTS);
    job.limits.request_timeout = Duration::from_secs(60);
    job.limits.head_max_bytes = 4_000;
    job.limits.head_max_fields = 20;
    job.limits.body_max_bytes = 100_000;
    job.max_tracked_requests = Some(REQUESTS);
    let ended = run(job);
    ended.check_sums();
    assert_eq!(server.get(|counted| &counted.received), REQUESTS);
    let failures = match expected {
        Ok(()) => Vec::new(),
        Err(failure) => vec![(failure, REQUESTS / 10)],
    };
    assert_eq!(ended.failures(), failures);
    (server, ended)
}

#[test]
fn failure_of_a_stream_does_not_affect_others() {
    let half = Bytes::from_static(b"half");
    let cases = [
        (Reply::Reset(Reason::INTERNAL_ERROR), Err(Failure::Reset)),
        (Reply::Reset(Reason::REFUSED_STREAM), Err(Failure::Reset)),
        (
            Reply::HalfThenReset(half.clone(), Reason::CANCEL),
            Err(Failure::Reset),
        ),
        (
            Reply::Answer {
                status: 503,
                body: half.clone(),
            },
            Err(Failure::Status(503)),
        ),
        (Reply::Informed(half.clone()), Ok(())),
        (Reply::Trailers(half.clone()), Ok(())),
        (Reply::Announced(4, half.clone()), Ok(())),
        (Reply::Announced(5, half), Err(Failure::Malformed)),
        (Reply::LongHead(8_000), Err(Failure::Malformed)),
        (
            Reply::Answer {
                status: 200,
                body: Bytes::from(vec![b'x'; 200_000]),
            },
            Err(Failure::Malformed),
        ),
    ];
    for (reply, expected) in cases {
        let (_server, ended) = check_tenth(reply.clone(), expected);
        assert_eq!(ended.counts().connects, 2, "{reply:?}");
        let examples = ended.outcome.examples.iter();
        let said = examples.map(|example| (example.failure, &*example.text));
        let said: Vec<_> = said.filter(|(failure, _)| failure.is_answer()).collect();
        match expected {
            Err(failure @ Failure::Status(_)) => assert_eq!(said, [(failure, "503 half")]),
            _ => assert_eq!(said, []),
        }
    }
}

#[test]
fn a_wrong_body_is_shown() {
    let server = StreamServer::start(Settings::default(), |_| Reply::Answer {
        status: 200,
        body: Bytes::from_static(b"bad"),
    });
    let mut job = http2_job(&server, closed_model(1, 1));
    job.max_requests = Some(3);
    expect(&mut job).body = BodyCheck::Contains(vec![b"fine".to_vec()]);
    let ended = run(job);
    let examples = ended.outcome.examples.iter();
    let said: Vec<_> = examples
        .map(|example| (example.failure, &*example.text))
        .collect();
    assert_eq!(said, [(Failure::WrongBody, "200 bad")]);
}

#[test]
fn a_request_that_is_not_answered_times_out_alone() {
    let server = StreamServer::start(Settings::default(), |seen| {
        if seen.number == 3 {
            Reply::Silence
        } else {
            ok()
        }
    });
    let mut job = http2_job(&server, closed_model(1, 5));
    job.max_requests = None;
    job.limits.request_timeout = Duration::from_secs(8);
    let ended = run_until(job, |counts| !counts.failures.0.is_empty());
    ended.check_sums();
    assert_eq!(ended.failures(), [(Failure::TimedOut, 1)]);
    assert_eq!(ended.counts().connects, 1);
    assert!(ended.counts().succeeded > 0);
}

#[test]
fn a_connection_that_says_nothing_is_opened_again() {
    let server = StreamServer::start(Settings::default(), |seen| {
        if seen.number < 5 {
            Reply::Silence
        } else {
            ok()
        }
    });
    let mut job = http2_job(&server, closed_model(1, 5));
    job.limits.request_timeout = Duration::from_secs(2);
    let ended = run(job);
    ended.check_sums();
    assert_eq!(ended.failures(), [(Failure::TimedOut, 5)]);
    assert_eq!(ended.counts().connects, 2);
}

#[test]
fn a_server_without_pending_answers_is_not_silent() {
    // Each pause is longer than the timeout of an answer, and each answer takes longer than the interval of timeout checks.
    let ok = Bytes::from_static(b"ok");
    let server = StreamServer::start(Settings::default(), move |_| {
        Reply::After(Duration::from_millis(50), ok.clone())
    });
    let users = LoadModel::Users {
        users: 2,
        think_time: Think::Fixed(Duration::from_millis(2_250)),
    };
    let mut job = http2_job(&server, users);
    job.max_requests = Some(4);
    job.limits.request_timeout = Duration::from_secs(2);
    let ended = run(job);
    check_all_answered(&server, &ended, 4);
    assert_eq!(ended.counts().connects, 2);
}

#[test]
fn connections_that_go_away_are_opened_again() {
    let check = |reply: Reply, kinds: &[Failure]| {
        let server = StreamServer::start(Settings::default(), move |seen| {
            if seen.number % 100 == 50 {
                reply.clone()
            } else {
                ok()
            }
        });
        let ended = run(http2_job(&server, closed_model(2, 8)));
        ended.check_sums();
        let counts = ended.counts();
        assert!(counts.connects > 2, "{counts:?}");
        assert_eq!(counts.sent, REQUESTS);
        for (kind, _) in ended.failures() {
            assert!(kinds.contains(&kind), "{kind:?}");
        }
        assert!(counts.succeeded <= server.get(|counted| &counted.answered));
        assert!(server.get(|counted| &counted.received) <= counts.sent);
        counts.failed
    };
    let bye = Reply::GoAway(Bytes::from_static(b"ok"));
    check(bye, &[Failure::Reset]);
    assert!(
        check(
            Reply::Abort(Reason::ENHANCE_YOUR_CALM),
            &[Failure::Protocol]
        ) > 0
    );
    assert!(check(Reply::Drop, &[Failure::Reset]) > 0);
}

#[test]
fn bodies_wait_for_the_window() {
    let check = |window: Option<u32>, length: usize, max_requests: u64, pipelining: usize| {
        let settings = Settings {
            window,
            ..Settings::default()
        };
        let server = StreamServer::start(settings, |_| ok());
        let mut job = http2_job(&server, closed_model(1, pipelining));
        *requests(&mut job) = vec![put(&vec![b'x'; length])];
        job.max_requests = Some(max_requests);
        check_all_answered(&server, &run(job), max_requests);
        let bytes = length as u64 * max_requests;
        assert_eq!(server.get(|counted| &counted.body_bytes), bytes);
    };
    check(Some(1), 50, 4, 2);
    check(None, 16 * 1024 * 1024, 2, 2);
    check(Some(100_000), 300_000, 20, 10);
}

#[test]
fn large_answers_come_whole() {
    let body = Bytes::from(vec![b'y'; 16 * 1024 * 1024]);
    let expected = body.to_vec();
    let server = StreamServer::start(Settings::default(), move |_| Reply::Answer {
        status: 200,
        body: body.clone(),
    });
    let mut job = http2_job(&server, closed_model(1, 3));
    expect(&mut job).body = BodyCheck::Equals(expected);
    job.max_requests = Some(6);
    check_all_answered(&server, &run(job), 6);
}

#[test]
fn an_answer_before_the_whole_body_ends_the_request() {
    let settings = Settings {
        window: Some(1_000),
        ..Settings::default()
    };
    let server = StreamServer::start(settings, |_| Reply::Early(Bytes::from_static(b"ok")));
    let mut job = http2_job(&server, closed_model(1, 4));
    *requests(&mut job) = vec![put(&vec![b'x'; 1_000_000])];
    job.max_requests = Some(100);
    let ended = run(job);
    check_all_answered(&server, &ended, 100);
    assert_eq!(ended.counts().connects, 1);
}

#[test]
fn an_answer_to_head_has_no_body() {
    let server = StreamServer::start(Settings::default(), |seen| {
        if seen.head.method() == "HEAD" {
            Reply::Announced(10, Bytes::new())
        } else {
            Reply::Reset(Reason::INTERNAL_ERROR)
        }
    });
    let mut job = http2_job(&server, closed_model(1, 4));
    let mut head = get();
    head.bytes = b"HEAD / HTTP/1.1\r\nHost: test\r\n\r\n".to_vec();
    head.is_head = true;
    *requests(&mut job) = vec![head];
    check_all_answered(&server, &run(job), REQUESTS);
}

#[test]
fn http2_is_used_over_tls_if_the_server_agrees() {
    let ours = Authority::new("ours");
    let mut config = ours.server();
    config.alpn_protocols = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    let settings = Settings {
        tls: Some(Arc::new(config)),
        ..Settings::default()
    };
    let server = StreamServer::start(settings, |_| ok());
    let mut job = http2_job(&server, closed_model(2, 50));
    let options = TlsOptions {
        server_name: "localhost".to_owned(),
        roots: Roots::Pem(ours.pem.clone().into_bytes()),
        ..TlsOptions::default()
    };
    job.transport.tls = Some(Tls::new(options).unwrap());
    *requests(&mut job) = vec![put(&vec![b'x'; 10_000]), get()];
    let ended = run(job);
    check_all_answered(&server, &ended, REQUESTS);
    assert_eq!((ended.counts().handshakes, ended.counts().connects), (2, 2));
}

#[test]
fn a_server_that_does_not_speak_it_is_refused() {
    let server = Server::start(|_| panic!("no request of HTTP/1.1"));
    let mut job = job(server.address, closed_model(1, 1));
    job.transport.protocol = Protocol::Http2;
    let ended = run_until(job, |counts| !counts.other_failures.0.is_empty());
    let kinds: Vec<Failure> = ended
        .other_failures()
        .iter()
        .map(|(kind, _)| *kind)
        .collect();
    let expected = Failure::Handshake(HandshakeFailure::NoProtocol);
    assert_eq!((kinds, ended.counts().sent), (vec![expected], 0));
}

#[test]
fn requests_that_http2_cannot_carry_are_refused_before_the_start() {
    let mut job = job("127.0.0.1:9".parse().unwrap(), closed_model(1, 1));
    job.transport.protocol = Protocol::Http2;
    requests(&mut job)[0].bytes = b"GET / HTTP/1.1\r\n\r\n".to_vec();
    let message = start(job).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        message,
        "request 0 cannot be sent over HTTP/2: it has no Host"
    );
}
