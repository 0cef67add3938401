//! How each kind of answer is counted.

use std::time::Duration;

use crate::support::{
    OK, Reply, Server, closed_model, count_failures, expect, get, job, requests, run, run_until,
};
use waggle_load::{BodyCheck, Expect, Failure, Job, Prepared, RequestOutcome, RequestOutcomes};
use waggle_testkit::free_port;

/// Ten requests of one connection, each answered like this: failures by kind, and how many connections it took.
fn check(
    reply: Reply,
    change: impl Fn(&mut Job),
    failures: &[(Failure, u64)],
    connects: u64,
) -> RequestOutcomes {
    let server = Server::start({
        let reply = reply.clone();
        move |_| reply.clone()
    });
    let mut job = job(server.address, closed_model(1, 1));
    job.max_requests = Some(10);
    job.max_tracked_requests = Some(1_000);
    let is_awaited = failures.iter().any(|(kind, _)| *kind == Failure::TimedOut);
    job.limits.request_timeout = Duration::from_millis(if is_awaited { 50 } else { 60_000 });
    job.limits.head_max_bytes = 200;
    job.limits.body_max_bytes = 1_000;
    job.limits.reconnect_max = Duration::from_millis(5);
    change(&mut job);
    let ended = run(job);
    ended.check_sums();
    assert_eq!(ended.failures(), failures, "{reply:?}");
    assert_eq!(
        ended.counts().succeeded + failures.iter().map(|(_, count)| count).sum::<u64>(),
        10,
        "{reply:?}"
    );
    assert_eq!(ended.counts().connects, connects, "{reply:?}");
    ended.outcome.request_outcomes[0].clone()
}

fn answer(text: &str) -> Reply {
    Reply::Answer(text.as_bytes().to_vec())
}

fn states(account: &RequestOutcomes) -> Vec<RequestOutcome> {
    (0..account.sent_count())
        .filter_map(|index| account.state(index))
        .collect()
}

#[test]
fn every_good_answer_is_a_success() {
    let good = |reply: Reply, connects| {
        let account = check(reply, |_| {}, &[], connects);
        assert_eq!(states(&account), [RequestOutcome::Accepted; 10]);
    };
    good(Reply::Answer(OK.to_vec()), 1);
    good(answer("HTTP/1.1 204 No Content\r\n\r\n"), 1);
    good(
        answer(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\nabc\r\n0\r\nT: x\r\n\r\n",
        ),
        1,
    );
    good(
        answer(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        ),
        1,
    );
    good(
        answer("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx"),
        1,
    );
    good(
        Reply::Last(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx".to_vec()),
        10,
    );
    good(
        Reply::Last(b"HTTP/1.1 200 OK\r\n\r\nuntil the end".to_vec()),
        10,
    );
    good(
        Reply::Last(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx".to_vec()),
        10,
    );
}

#[test]
fn an_answer_to_head_has_no_body() {
    let head = Prepared {
        bytes: b"HEAD / HTTP/1.1\r\n\r\n".to_vec(),
        is_head: true,
        ..get()
    };
    let change = move |job: &mut Job| *requests(job) = vec![head.clone()];
    check(
        answer("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
        change.clone(),
        &[],
        1,
    );
    check(
        answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        change,
        &[],
        1,
    );
    let change = |job: &mut Job| expect(job).status = vec![304];
    check(
        answer("HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n"),
        change,
        &[],
        1,
    );
}

#[test]
fn unexpected_answers_are_failures_that_keep_the_connection() {
    let refused = "HTTP/1.1 503 Unavailable\r\nContent-Length: 3\r\n\r\nno!";
    let account = check(answer(refused), |_| {}, &[(Failure::Status(503), 10)], 1);
    assert_eq!(states(&account), [RequestOutcome::Rejected; 10]);
    let other = |job: &mut Job| {
        *expect(job) = Expect {
            status: vec![200],
            body: BodyCheck::Equals(b"no".to_vec()),
        }
    };
    let account = check(
        Reply::Answer(OK.to_vec()),
        other,
        &[(Failure::WrongBody, 10)],
        1,
    );
    assert_eq!(states(&account), [RequestOutcome::Unknown; 10]);
    let part = |job: &mut Job| expect(job).body = BodyCheck::Contains(vec![b"k".to_vec()]);
    check(Reply::Answer(OK.to_vec()), part, &[], 1);
}

#[test]
fn answers_that_are_none_end_the_connection() {
    let bad = |reply: Reply, failure| {
        let account = check(reply, |_| {}, &[(failure, 10)], 10);
        assert_eq!(states(&account), [RequestOutcome::Unknown; 10]);
    };
    bad(answer("SSH-2.0-OpenSSH_9.2\r\n"), Failure::Malformed);
    bad(
        answer("HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n"),
        Failure::Malformed,
    );
    bad(
        answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n"),
        Failure::Malformed,
    );
    bad(
        answer(&format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(300))),
        Failure::Malformed,
    );
    bad(
        answer("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"),
        Failure::Malformed,
    );
    bad(Reply::Cut(Vec::new()), Failure::Reset);
    bad(
        Reply::Cut(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhal".to_vec()),
        Failure::Reset,
    );
    bad(
        Reply::Cut(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n".to_vec()),
        Failure::Reset,
    );
    bad(Reply::Silence, Failure::TimedOut);
    bad(
        answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhal"),
        Failure::TimedOut,
    );
}

#[test]
fn unsolicited_bytes_end_the_connection() {
    let server = Server::start(|_| answer("HTTP/1.1 204 No Content\r\n\r\nmore"));
    let mut job = job(server.address, closed_model(1, 1));
    job.max_requests = Some(1);
    let ended = run(job);
    let counts = ended.counts();
    assert_eq!((counts.sent, counts.succeeded, counts.failed), (1, 1, 0));
    assert_eq!(ended.other_failures(), [(Failure::UnsolicitedAnswer, 1)]);
}

#[test]
fn requests_on_a_connection_that_ends_unannounced_are_reset_and_unknown() {
    let server = Server::start(|_| Reply::Last(OK.to_vec()));
    let mut job = job(server.address, closed_model(1, 4));
    job.max_requests = Some(4);
    job.max_tracked_requests = Some(4);
    let ended = run(job);
    assert_eq!(ended.failures(), [(Failure::Reset, 3)]);
    let unknown = RequestOutcome::Unknown;
    assert_eq!(
        states(&ended.outcome.request_outcomes[0]),
        [RequestOutcome::Accepted, unknown, unknown, unknown]
    );
}

#[test]
fn a_timeout_counts_apart_from_the_requests_lost_with_it() {
    // The second request is sent when the first is answered, so it is younger when the third answer is missing.
    let server = Server::start(|request| match request.on_connection {
        0 => Reply::After(Duration::from_secs(2), OK.to_vec()),
        _ => Reply::Silence,
    });
    let mut job = job(server.address, closed_model(1, 2));
    job.max_requests = Some(3);
    job.limits.request_timeout = Duration::from_secs(4);
    let ended = run(job);
    ended.check_sums();
    assert_eq!(ended.counts().succeeded, 1);
    assert_eq!(
        ended.failures(),
        [(Failure::Reset, 1), (Failure::TimedOut, 1)]
    );
}

#[test]
fn failed_connections_are_no_requests() {
    let mut job = job(([127, 0, 0, 1], free_port()).into(), closed_model(2, 1));
    job.limits.reconnect_first = Duration::from_millis(5);
    let ended = run_until(job, |counts| count_failures(counts) >= 6);
    ended.check_sums();
    assert_eq!(ended.counts().sent, 0);
    let failures = ended.other_failures();
    // Each of the two waits for 5 ms at least between its attempts.
    let most = 2 * (ended.outcome.ran_for.as_millis() / 5 + 1);
    assert!(
        matches!(failures[..], [(Failure::Refused, count)] if u128::from(count) <= most),
        "{failures:?}, at most {most}"
    );
}

#[test]
fn requests_without_an_answer_at_the_end_are_in_flight() {
    let server = Server::start(|_| Reply::Silence);
    let mut job = job(server.address, closed_model(3, 2));
    job.max_duration = Duration::from_millis(50);
    job.limits.finish = Duration::from_millis(50);
    let ended = run(job);
    ended.check_sums();
    assert_eq!((ended.counts().sent, ended.counts().in_flight), (6, 6));
}

#[test]
fn the_first_failure_of_each_kind_is_an_example() {
    let check = |reply: Reply, expected: &[(Failure, &str)]| {
        let server = Server::start({
            let reply = reply.clone();
            move |_| reply.clone()
        });
        let mut job = job(server.address, closed_model(2, 1));
        job.max_requests = Some(10);
        expect(&mut job).status = vec![200];
        expect(&mut job).body = BodyCheck::Contains(vec![b"fine".to_vec()]);
        let examples = run(job).outcome.examples;
        let examples = examples.iter();
        let failures: Vec<_> = examples
            .map(|example| (example.failure, &*example.text))
            .collect();
        assert_eq!(failures, expected, "{reply:?}");
    };
    check(
        answer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"),
        &[],
    );
    check(
        answer("HTTP/1.1 401 No\r\nContent-Length: 17\r\n\r\n{\"error\":\r\n\"who\"}"),
        &[(Failure::Status(401), "401 {\"error\": \"who\"}")],
    );
    check(
        answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbad\r\n0\r\n\r\n"),
        &[(Failure::WrongBody, "200 bad")],
    );
    check(
        answer("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"),
        &[],
    );
    check(
        answer(
            "HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfull\r\n7\r\n, later\r\n0\r\n\r\n",
        ),
        &[(Failure::Status(503), "503 full, later")],
    );
    check(
        Reply::Cut(b"HTTP/1.0 500 Oops\r\n\r\nline 7\nof main".to_vec()),
        &[(Failure::Status(500), "500 line 7 of main")],
    );
    check(
        answer("HTTP/1.1 200 OK\r\nA: b\r\nno colon\r\n\r\n"),
        &[(
            Failure::Malformed,
            "head, line 3: a header has no colon: `no colon`",
        )],
    );
    check(Reply::Cut(Vec::new()), &[]);
}
