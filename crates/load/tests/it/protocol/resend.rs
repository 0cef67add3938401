//! Requests behind an answer with which the server closes the connection: each is processed once, over another connection.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
    time::Duration,
};

use waggle_load::{Failure, Job, KEY_DIGITS, RequestOutcome, TIME_DIGITS, key_of};
use waggle_spec::{Arrivals, LoadModel};
use waggle_testkit::{Listener, Socket};

use crate::support::{OK, closed_model, job, requests, run, stamped::stamped_request};

const REQUESTS: u64 = 200;

/// How an answer says that its connection ends.
const CLOSING: [&[u8]; 3] = [
    b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\n\r\nto the end",
];

/// Answers each request, counts it by its key, and closes each connection with its answer number `every`.
fn serve(mut socket: Socket, (every, closing): (u64, &[u8]), done: &Mutex<BTreeMap<u64, u64>>) {
    let length = stamped_request().bytes.len();
    let mut request = vec![0; length];
    for number in 1.. {
        if socket.read_exact(&mut request).is_err() {
            return;
        }
        let key = &request[length - KEY_DIGITS - TIME_DIGITS..length - TIME_DIGITS];
        let key: u64 = std::str::from_utf8(key).unwrap().parse().unwrap();
        *done.lock().unwrap().entry(key).or_default() += 1;
        let is_last = number == every;
        let answer = if is_last { closing } else { OK };
        if socket.write_all(answer).is_err() {
            return;
        }
        if is_last {
            return socket.close_in_order();
        }
    }
}

fn check(model: LoadModel, every: u64, closing: &'static [u8]) {
    let done = Arc::new(Mutex::new(BTreeMap::new()));
    let theirs = Arc::clone(&done);
    let server = Listener::start(move |socket, _| serve(socket, (every, closing), &theirs));
    let what = format!("{model:?}, {every}, {}", closing.escape_ascii());
    let pipelining = model.pipelining() as u64;
    let mut job = stamped_job(job(server.address, model));
    job.max_requests = Some(REQUESTS);
    let ended = run(job);
    ended.check_sums();
    let counts = ended.counts();
    assert_eq!(
        (counts.sent, counts.succeeded),
        (REQUESTS, REQUESTS),
        "{what}"
    );
    assert_eq!(ended.failures(), [], "{what}");
    assert_eq!(ended.other_failures(), [], "{what}");
    if pipelining == 1 {
        assert_eq!(counts.resent, 0, "{what}");
    }
    // A request is behind others at most as often as the pipeline is long.
    assert!(
        counts.resent <= (pipelining - 1) * REQUESTS,
        "{what}: {counts:?}"
    );
    server.finish();
    let done = done.lock().unwrap();
    let mut keys = 0;
    for (worker, account) in ended.outcome.request_outcomes.iter().enumerate() {
        for index in 0..account.sent_count() {
            assert_eq!(
                account.state(index),
                Some(RequestOutcome::Accepted),
                "{what}"
            );
            assert_eq!(
                done.get(&key_of(worker, index)),
                Some(&1),
                "{what}: {index}"
            );
            keys += 1;
        }
    }
    assert_eq!((keys, done.len() as u64), (REQUESTS, REQUESTS), "{what}");
}

fn stamped_job(mut job: Job) -> Job {
    *requests(&mut job) = vec![stamped_request()];
    job.max_tracked_requests = Some(100_000);
    job
}

#[test]
fn requests_behind_a_closing_answer_are_processed_once() {
    let open = LoadModel::Open {
        rate_per_s: 5_000.0,
        arrivals: Arrivals::Uniform,
        connections: 2,
        pipelining: 8,
    };
    for closing in CLOSING {
        for every in [1, 2, 10] {
            check(closed_model(1, 1), every, closing);
            check(closed_model(2, 4), every, closing);
            check(open.clone(), every, closing);
        }
    }
}

#[test]
fn requests_that_find_no_new_connection_time_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Nobody accepts from now on, before the answer says that the connection ends.
        drop(listener);
        let mut request = vec![0; stamped_request().bytes.len()];
        stream.read_exact(&mut request).unwrap();
        stream.write_all(CLOSING[0]).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    });
    let mut job = stamped_job(job(address, closed_model(1, 4)));
    job.max_requests = Some(4);
    job.limits.request_timeout = Duration::from_millis(300);
    let ended = run(job);
    serving.join().unwrap();
    ended.check_sums();
    assert_eq!(ended.counts().succeeded, 1);
    assert_eq!(ended.failures(), [(Failure::TimedOut, 3)]);
    let others = ended.other_failures();
    assert!(
        matches!(others[..], [(Failure::Refused, 1..)]),
        "{others:?}"
    );
    let account = &ended.outcome.request_outcomes[0];
    let states: Vec<_> = (0..4).map(|index| account.state(index).unwrap()).collect();
    let unknown = RequestOutcome::Unknown;
    assert_eq!(
        states,
        [RequestOutcome::Accepted, unknown, unknown, unknown]
    );
}
