//! Keys and times in requests: unique over all workers, and the outcome of each.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{OK, Reply, Server, closed_model, job, requests, run};
use waggle_load::{
    KEY_DIGITS, Prepared, RequestOutcome, Slot, Stamp, TIME_DIGITS, worker_and_sequence,
};

const RECORDS: u32 = 3;
const WORKERS: usize = 2;

/// A request with three records: `key time` each on a line.
fn request() -> Prepared {
    let line = format!("{} {}\n", "0".repeat(KEY_DIGITS), "0".repeat(TIME_DIGITS));
    let length = line.len() * RECORDS as usize;
    let head = format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
    let slots = (0..RECORDS)
        .flat_map(|record| {
            let offset = head.len() + record as usize * line.len();
            [
                Slot {
                    at: offset,
                    stamp: Stamp::Key { record },
                },
                Slot {
                    at: offset + KEY_DIGITS + 1,
                    stamp: Stamp::Time,
                },
            ]
        })
        .collect();
    let bytes = (head + &line.repeat(RECORDS as usize)).into_bytes();
    Prepared {
        bytes,
        slots,
        records: RECORDS,
        is_head: false,
    }
}

#[test]
fn no_two_records_share_a_key_or_a_time() {
    // The body decides, so that the outcomes can be compared with the answer to each request.
    let server = Server::start(|request| {
        let key: u64 = request.text()[..KEY_DIGITS].parse().unwrap();
        let (_, sequence) = worker_and_sequence(key).unwrap();
        match sequence / u64::from(RECORDS) % 3 {
            0 => Reply::Answer(b"HTTP/1.1 429 Later\r\nContent-Length: 0\r\n\r\n".to_vec()),
            _ => Reply::Answer(OK.to_vec()),
        }
    });
    let mut job = job(server.address, closed_model(4, 8));
    *requests(&mut job) = vec![request(), request()];
    job.workers = vec![None; WORKERS];
    job.max_requests = Some(3_000);
    job.max_tracked_requests = Some(10_000);
    let ended = run(job);
    ended.check_sums();
    let mut keys: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    let mut times = BTreeSet::new();
    for line in server.bodies().iter().flat_map(|body| body.lines()) {
        let (key, time) = line.split_once(' ').unwrap();
        let (worker, sequence) = worker_and_sequence(key.parse().unwrap()).unwrap();
        let time: u64 = time.parse().unwrap();
        assert!(
            keys.entry(worker).or_default().insert(sequence),
            "key {key} twice"
        );
        assert!(times.insert(time), "time {time} twice");
        assert_eq!(time % WORKERS as u64, worker as u64);
        let ran_for = u64::try_from(ended.outcome.ran_for.as_nanos()).unwrap();
        assert!(
            (ended.outcome.started_unix_ns..=ended.outcome.started_unix_ns + ran_for)
                .contains(&time)
        );
    }
    for (worker, account) in ended.outcome.request_outcomes.iter().enumerate() {
        assert_eq!(account.sent_count(), 1_500);
        let all: BTreeSet<u64> = (0..account.sent_count() * u64::from(RECORDS)).collect();
        assert_eq!(keys[&worker], all, "worker {worker}");
        for index in 0..account.sent_count() {
            let expected = if index.is_multiple_of(3) {
                RequestOutcome::Rejected
            } else {
                RequestOutcome::Accepted
            };
            assert_eq!(account.state(index), Some(expected));
        }
    }
}

#[test]
fn the_limit_of_tracked_requests_ends_the_run() {
    let server = Server::start(|_| Reply::Answer(OK.to_vec()));
    let mut job = job(server.address, closed_model(2, 4));
    job.workers = vec![None; WORKERS];
    job.max_tracked_requests = Some(100);
    let ended = run(job);
    ended.check_sums();
    assert!(ended.outcome.request_outcomes_full);
    assert!(
        ended
            .outcome
            .request_outcomes
            .iter()
            .all(|account| account.sent_count() <= 100)
    );
    assert!(
        ended
            .outcome
            .request_outcomes
            .iter()
            .any(|account| account.sent_count() == 100)
    );
    assert_eq!(ended.counts().succeeded, ended.counts().sent);
}
