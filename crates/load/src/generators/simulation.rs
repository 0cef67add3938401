//! A thousand generators that are simulated: what each sends is there from the beginning, as it would come over a network.

use std::{
    io::{self, Cursor},
    time::Duration,
};

use waggle_spec::{LoadModel, TimeKind};

use super::{
    collect::Generators,
    link::Link,
    message::{self, Report},
};
use crate::{
    job::{Job, Limits, Target, What},
    recording::outcome::{Counts, Interval, Outcome},
    requests::expect::{BodyCheck, Expect},
    scenario::kept::KeptRows,
    transport::settings::Transport,
};

const AGENTS: usize = 1_000;
const INTERVALS: u64 = 5;
const INTERVAL: Duration = Duration::from_millis(10);

fn job() -> Job {
    Job {
        name: "get".to_owned(),
        targets: vec![Target {
            address: "127.0.0.1:1".parse().unwrap(),
        }],
        transport: Transport::default(),
        model: LoadModel::Closed {
            connections: u32::try_from(AGENTS).unwrap(),
            pipelining: 1,
        },
        stages: Vec::new(),
        what: What::Requests {
            requests: vec![crate::requests::prepared::Prepared {
                bytes: b"GET / HTTP/1.1\r\nHost: test\r\n\r\n".to_vec(),
                slots: Vec::new(),
                records: 0,
                is_head: false,
            }],
            expect: Expect {
                status: Vec::new(),
                body: BodyCheck::Any,
            },
            inspect: None,
        },
        limits: Limits::default(),
        workers: vec![None; AGENTS],
        interval: INTERVAL,
        max_duration: Duration::from_secs(600),
        max_requests: None,
        max_tracked_requests: None,
        seed: 7,
    }
}

fn outcome(number: u64) -> Outcome {
    Outcome {
        totals: Counts {
            sent: INTERVALS,
            succeeded: INTERVALS,
            ..Counts::default()
        },
        started_unix_ns: 0,
        ran_for: INTERVAL,
        first_sent: Some(Duration::from_micros(number)),
        first_sent_by_each: Vec::new(),
        connections_asked: AGENTS as u64,
        request_outcomes: Vec::new(),
        steps: Vec::new(),
        feeds_used_up: Vec::new(),
        clients: Vec::new(),
        kept: KeptRows::default(),
        mismatches: Vec::new(),
        examples: Vec::new(),
        request_outcomes_full: false,
        skipped_under_load: false,
        unconnected_for: None,
    }
}

/// What a generator sends that makes one request in each interval.
fn reports(digest: u64, number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    message::write(&mut bytes, &Report::Ready { digest }).unwrap();
    for index in 0..INTERVALS {
        let start = INTERVAL * u32::try_from(index).unwrap();
        let mut interval = Interval::new(index, start, 0);
        interval.length = INTERVAL;
        interval.counts.sent = 1;
        interval.counts.succeeded = 1;
        let times = &mut interval.times[TimeKind::Response];
        times.record(1 + number % 100).unwrap();
        message::write(&mut bytes, &Report::Interval(Box::new(interval))).unwrap();
    }
    message::write(&mut bytes, &Report::Kept(Vec::new())).unwrap();
    message::write(&mut bytes, &Report::End(Box::new(outcome(number)))).unwrap();
    bytes
}

#[test]
fn a_thousand_links_are_merged_to_the_last_count() {
    let job = job();
    let digest = message::digest(&job).unwrap();
    let links = (0..AGENTS as u64).map(|number| Link {
        orders: Box::new(io::sink()),
        reports: Box::new(Cursor::new(reports(digest, number))),
        agent: Some(format!("host-{number}")),
        clock_offset_ns: 0,
        round_trip: Duration::ZERO,
        ending: Box::new(|| None),
    });
    let mut running = Generators::start(&job, links.collect()).unwrap();
    let mut merged = Vec::new();
    while !running.has_ended() {
        merged.extend(running.next_interval(Duration::from_secs(30)).unwrap());
    }
    let counts: Vec<u64> = merged.iter().map(|interval| interval.counts.sent).collect();
    assert_eq!(counts, [AGENTS as u64; 5]);
    for interval in &merged {
        let times = &interval.times[TimeKind::Response];
        let seen = (times.len(), times.max(), interval.generators.len());
        assert_eq!(seen, (1_000, 100, AGENTS));
    }
    let outcome = running.join().unwrap();
    assert_eq!(outcome.totals.succeeded, AGENTS as u64 * INTERVALS);
    let last = outcome.first_sent_by_each[AGENTS - 1];
    assert_eq!(last, Some(Duration::from_micros(999)));
}

/// Bytes that a generator sends for an interval with this many steps, each of which 150 requests have done, no two in the same time.
fn interval_bytes(steps: usize) -> usize {
    const KINDS: [TimeKind; 2] = [TimeKind::Response, TimeKind::Service];
    let mut interval = Interval::new(0, Duration::ZERO, steps);
    for kind in KINDS {
        record_spread(&mut interval.times[kind]);
        for step in &mut interval.steps {
            record_spread(&mut step.times[kind]);
        }
    }
    let mut bytes = Vec::new();
    message::write(&mut bytes, &Report::Interval(Box::new(interval))).unwrap();
    bytes.len()
}

fn record_spread(histogram: &mut hdrhistogram::Histogram<u64>) {
    for value in 1..=150_u64 {
        histogram.record(value * value * 17).unwrap();
    }
}

/// Ten agents, an interval a second: 15,000 requests of each in it.
#[test]
fn a_scenario_of_a_hundred_steps_stays_below_a_megabyte_per_second() {
    let (request, scenario) = (interval_bytes(0), interval_bytes(100));
    assert!(10 * scenario < 1_000_000, "{scenario} bytes");
    assert!(request < 10_000, "{request} bytes");
}
