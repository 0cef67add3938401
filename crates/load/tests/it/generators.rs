//! Several generators make one load: what they send, record and report is that of one generator with as many workers.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, PipeReader, PipeWriter},
    thread::{self, JoinHandle},
    time::Duration,
};

use waggle_load::{
    Generators, GeneratorsError, Job, KEY_DIGITS, Link, Preparation, RequestOutcome, Retries,
    ServeError, Share, serve, shares, worker_and_sequence,
};
use waggle_spec::{Arrivals, FeedOrder, LoadModel, LoadStage, Think, TimeKind};
use waggle_testkit::http::answer;

use crate::support::{
    Ended, OK, Reply, Server, closed_model, job, requests,
    scenarios::{self, capture, feed, flow, json, scenario, shopping_scenario, text},
    shop::Shop,
    stamped::stamped_request,
};

const WAIT: Duration = Duration::from_millis(100);
const REQUESTS: u64 = 2_000;

/// A generator that runs in a thread of this process.
pub(crate) struct Served(JoinHandle<Result<(), ServeError>>);

fn start_server() -> (Served, Link) {
    let (orders, to_send) = io::pipe().unwrap();
    let (reports, to_report) = io::pipe().unwrap();
    let thread = thread::spawn(move || serve(orders, to_report));
    (Served(thread), link(to_send, reports))
}

fn link(orders: PipeWriter, reports: PipeReader) -> Link {
    Link {
        orders: Box::new(orders),
        reports: Box::new(reports),
        clock_offset_ns: 0,
        agent: None,
        round_trip: Duration::ZERO,
        ending: Box::new(|| Some("by the test".to_owned())),
    }
}

/// Starts a job on this many generators.
pub(crate) fn start(job: &Job, generators: usize) -> (Generators, Vec<Served>) {
    let (served, links) = (0..generators).map(|_| start_server()).unzip();
    (Generators::start(job, links).unwrap(), served)
}

pub(crate) fn take_all(mut running: Generators, served: Vec<Served>) -> Ended {
    let mut intervals = Vec::new();
    while !running.has_ended() {
        intervals.extend(running.next_interval(WAIT).unwrap());
    }
    let outcome = running.join().unwrap();
    for Served(thread) in served {
        thread.join().unwrap().unwrap();
    }
    Ended { outcome, intervals }
}

fn run(job: &Job, generators: usize) -> Ended {
    let (running, served) = start(job, generators);
    let ended = take_all(running, served);
    ended.check_sums();
    for interval in &ended.intervals {
        assert_eq!(interval.generators.len(), generators);
        let parts = interval.generators.iter();
        let sent: u64 = parts.clone().map(|part| part.sent).sum();
        let late: u64 = parts.clone().map(|part| part.lag.len()).sum();
        let busiest = parts.map(|part| part.engine_cpu_busiest).max().unwrap();
        assert_eq!(
            (sent, late),
            (interval.counts.sent, interval.times[TimeKind::Lag].len()),
            "{interval:?}"
        );
        assert!(busiest <= interval.counts.engine_cpu_busiest);
    }
    ended
}

#[test]
fn every_request_is_sent_once_and_answered_in_every_model() {
    let pause = Duration::from_micros(200);
    let open = |arrivals| LoadModel::Open {
        rate_per_s: 10_000.0,
        arrivals,
        connections: 8,
        pipelining: 2,
    };
    let users = LoadModel::Users {
        users: 5,
        think_time: Think::Exponential(pause),
    };
    let models = [
        closed_model(7, 4),
        open(Arrivals::Uniform),
        open(Arrivals::Poisson),
        users,
    ];
    for model in models {
        for (generators, workers) in [(2, 2), (3, 4)] {
            let server = Server::start(|_| Reply::Answer(OK.to_vec()));
            let mut job = job(server.address, model.clone());
            job.workers = vec![None; workers];
            job.max_requests = Some(REQUESTS);
            let ended = run(&job, generators);
            let counts = ended.counts();
            let totals = (
                counts.sent,
                counts.succeeded,
                server.received_count(),
                server.answered_count(),
                ended.outcome.connections_asked,
            );
            let connections = model.connections() as u64;
            assert_eq!(
                totals,
                (REQUESTS, REQUESTS, REQUESTS, REQUESTS, connections),
                "{model:?}, {generators} generators"
            );
            assert_eq!(counts.connects, connections, "{model:?}");
        }
    }
}

#[test]
fn no_two_records_share_a_key_or_a_time_and_each_has_its_outcome() {
    const WORKERS: usize = 5;
    let server = Server::start(|request| {
        let key: u64 = request.text()[..KEY_DIGITS].parse().unwrap();
        match worker_and_sequence(key).unwrap().1 % 3 {
            0 => Reply::Answer(b"HTTP/1.1 429 Later\r\nContent-Length: 0\r\n\r\n".to_vec()),
            _ => Reply::Answer(OK.to_vec()),
        }
    });
    let mut job = job(server.address, closed_model(10, 4));
    *requests(&mut job) = vec![stamped_request()];
    job.workers = vec![None; WORKERS];
    job.max_requests = Some(3_000);
    job.max_tracked_requests = Some(10_000);
    let ended = run(&job, 3);
    let mut keys: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    let mut times = BTreeSet::new();
    for body in server.bodies() {
        let (key, time) = body.split_at(KEY_DIGITS);
        let (worker, sequence) = worker_and_sequence(key.parse().unwrap()).unwrap();
        let time: u64 = time.parse().unwrap();
        assert!(keys.entry(worker).or_default().insert(sequence), "{key}");
        assert!(times.insert(time), "time {time} twice");
        assert_eq!(time % WORKERS as u64, worker as u64);
        assert!(time >= ended.outcome.started_unix_ns);
    }
    assert_eq!(ended.outcome.request_outcomes.len(), WORKERS);
    for (worker, account) in ended.outcome.request_outcomes.iter().enumerate() {
        assert_eq!(account.sent_count(), 600, "worker {worker}");
        assert_eq!(keys[&worker], (0..600).collect(), "worker {worker}");
        for sequence in 0..600 {
            let expected = match sequence % 3 {
                0 => RequestOutcome::Rejected,
                _ => RequestOutcome::Accepted,
            };
            assert_eq!(account.state(sequence), Some(expected));
        }
    }
}

/// How often each row of a feed was used.
fn rows_used(order: FeedOrder, rows: usize, sessions: u64) -> BTreeMap<String, u32> {
    let server = Server::start(|_| Reply::Answer(OK.to_vec()));
    let mut order_row = scenarios::step(0, "PUT /rows");
    order_row.body = text("{{f.name}}");
    let actions = vec![scenarios::request(order_row)];
    let scenario = scenario(1, vec![flow("f", 1, actions)], vec![feed("f", rows, order)]);
    let mut job = scenarios::job(server.address, closed_model(6, 1), scenario);
    job.workers = vec![None; 4];
    job.max_requests = Some(sessions);
    let ended = run(&job, 3);
    let is_used_up = !ended.outcome.feeds_used_up.is_empty();
    assert_eq!(is_used_up, order == FeedOrder::Once);
    let mut used = BTreeMap::new();
    for row in server.bodies() {
        *used.entry(row).or_default() += 1;
    }
    used
}

#[test]
fn rows_of_a_feed_are_divided_without_overlap() {
    let once = rows_used(FeedOrder::Once, 1_001, 10_000);
    assert_eq!(once.len(), 1_001);
    assert!(once.values().all(|times| *times == 1), "{once:?}");
    // As often as there are sessions for each row, whatever the speed of a generator.
    let cycle = rows_used(FeedOrder::Cycle, 100, 1_000);
    assert_eq!(cycle.len(), 100);
    assert!(cycle.values().all(|times| *times == 10), "{cycle:?}");
}

#[test]
fn sessions_keep_their_users_and_steps_over_all_generators() {
    let shop = Shop::start(|_| None);
    let model = closed_model(4, 1);
    let mut job = scenarios::job(shop.server.address, model, shopping_scenario());
    job.workers = vec![None; 2];
    job.max_requests = Some(300);
    let ended = run(&job, 2);
    let counts = ended.counts();
    assert_eq!((counts.sent, counts.failed), (300, 0), "{counts:?}");
    assert_eq!(ended.outcome.steps.len(), 3);
}

#[test]
fn what_sessions_keep_is_in_the_order_of_all_sessions() {
    let server = Server::start(|request| {
        let object = request.path.rsplit('/').next().unwrap();
        let body = format!("{{\"id\": \"id-{object}\"}}");
        Reply::Answer(answer(200, "", &body))
    });
    let mut make = scenarios::step(0, "POST /objects/{{session}}");
    make.captures = vec![capture("id", json("$.id"))];
    let actions = vec![scenarios::request(make)];
    let mut scenario = scenario(1, vec![flow("make", 1, actions)], Vec::new());
    scenario.preparation = Some(Preparation {
        done: 5,
        sessions: 100,
        retries: Retries {
            max: 0,
            pause: Duration::ZERO,
            pause_max: Duration::ZERO,
            any_answer: false,
        },
        keeps: vec!["id".to_owned()],
    });
    let mut job = scenarios::job(server.address, closed_model(6, 1), scenario);
    job.workers = vec![None; 4];
    let ended = run(&job, 3);
    let kept = &ended.outcome.kept;
    let ids = (0..kept.len()).map(|row| String::from_utf8_lossy(kept.value(row, 0)).into_owned());
    let expected = (6..=105).map(|object| format!("id-{object}"));
    assert_eq!(ids.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn open_load_has_the_rate_of_all_generators_together() {
    let server = Server::start(|_| Reply::Answer(OK.to_vec()));
    let model = LoadModel::Open {
        rate_per_s: 1_000.0,
        arrivals: Arrivals::Uniform,
        connections: 9,
        pipelining: 4,
    };
    let mut job = job(server.address, model);
    job.workers = vec![None; 3];
    job.max_duration = Duration::from_secs(1);
    let ended = run(&job, 3);
    assert_eq!(ended.counts().due, 1_000);
    // Every interval has its part: all began at the same instant of the schedule.
    for interval in ended.intervals.iter().take(20) {
        assert_eq!(interval.counts.connections_open, 9);
    }
}

#[test]
fn users_start_and_stop_by_the_stages_of_the_whole_load() {
    let server = Server::start(|_| Reply::Answer(OK.to_vec()));
    let stage = |target, ms| LoadStage {
        target,
        duration: Duration::from_millis(ms),
    };
    let model = LoadModel::Users {
        users: 6,
        think_time: Think::Fixed(Duration::from_millis(5)),
    };
    let mut job = job(server.address, model);
    job.stages = vec![
        stage(6.0, 200),
        stage(6.0, 200),
        stage(1.0, 0),
        stage(1.0, 300),
    ];
    job.workers = vec![None; 3];
    let ended = run(&job, 3);
    let sent = |from: u64, to: u64| -> u64 {
        let intervals = ended.intervals.iter();
        let range = intervals.filter(|interval| (from..to).contains(&interval.index));
        range.map(|interval| interval.counts.sent).sum()
    };
    // Six users, then the first alone, who belongs to one generator.
    assert!(sent(4, 8) > sent(10, 14), "{} {}", sent(4, 8), sent(10, 14));
    let alone = ended
        .intervals
        .iter()
        .filter(|interval| interval.index >= 10);
    for interval in alone {
        let parts = interval.generators.iter();
        assert!(parts.skip(1).all(|part| part.sent == 0), "{interval:?}");
    }
}

#[test]
fn stopping_stops_every_generator() {
    let server = Server::start(|_| Reply::Answer(OK.to_vec()));
    let mut job = job(server.address, closed_model(4, 1));
    job.workers = vec![None; 2];
    let (mut running, served) = start(&job, 2);
    let mut sent = [0, 0];
    while sent.contains(&0) {
        if let Some(interval) = running.next_interval(WAIT).unwrap() {
            for (sum, part) in sent.iter_mut().zip(&interval.generators) {
                *sum += part.sent;
            }
        }
    }
    running.stop_handle().stop();
    let outcome = take_all(running, served).outcome;
    assert_eq!(outcome.totals.sent, server.received_count());
    assert_eq!(outcome.totals.in_flight, 0);
}

#[test]
fn what_ends_the_run_for_one_worker_ends_it_for_all_generators() {
    let server = Server::start(|_| Reply::Answer(OK.to_vec()));
    let mut job = job(server.address, closed_model(4, 1));
    job.workers = vec![None; 2];
    job.max_tracked_requests = Some(500);
    let ended = run(&job, 2);
    assert!(ended.outcome.request_outcomes_full);
}

#[test]
fn a_generator_that_ends_early_is_named_and_the_others_end_with_the_load() {
    let server = Server::start(|_| Reply::Answer(OK.to_vec()));
    let mut job = job(server.address, closed_model(4, 1));
    job.workers = vec![None; 3];
    let (first, first_link) = start_server();
    let (orders, to_send) = io::pipe().unwrap();
    let (reports, to_report) = io::pipe().unwrap();
    let (last, last_link) = start_server();
    // The one in the middle talks through this pipe, until the test cuts it.
    let (cut, from_generator) = {
        let (own_reports, own_to_report) = io::pipe().unwrap();
        let thread = thread::spawn(move || serve(orders, own_to_report));
        (thread, own_reports)
    };
    let forward = thread::spawn(move || forward_until(from_generator, to_report, 20_000));
    let links = vec![first_link, link(to_send, reports), last_link];
    let mut running = Generators::start(&job, links).unwrap();
    let error = loop {
        match running.next_interval(WAIT) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(
        error.to_string(),
        "generator 2 of 3 ended by the test before its results were complete"
    );
    drop(running);
    forward.join().unwrap();
    for served in [first.0, cut, last.0] {
        assert!(served.join().unwrap().is_err());
    }
}

/// Passes this many bytes on and then closes both ends.
fn forward_until(from: PipeReader, mut to: PipeWriter, bytes: u64) {
    io::copy(&mut io::Read::take(from, bytes), &mut to).unwrap();
}

#[test]
fn what_a_generator_cannot_do_is_an_error_that_names_it() {
    let server = Server::start(|_| Reply::Answer(OK.to_vec()));
    let mut job = job(server.address, closed_model(4, 1));
    job.workers = vec![None, Some(100_000)];
    let (served, links): (Vec<Served>, Vec<Link>) = (0..2).map(|_| start_server()).unzip();
    let error = Generators::start(&job, links).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("generator 2 of 2: pinning a worker to cpu 100000"),
        "{text}"
    );
    for Served(thread) in served {
        assert!(thread.join().unwrap().is_err());
    }
    // A job that is impossible needs no generator.
    job.workers = Vec::new();
    let error = Generators::start(&job, Vec::new()).unwrap_err();
    assert!(matches!(error, GeneratorsError::Job(_)), "{error}");
}

#[test]
fn noise_in_place_of_a_job_or_of_reports_is_an_error() {
    for noise in [&[0xff; 64][..], &[3, 0, 0, 0, 9, 9, 9], b"", &[1, 0]] {
        let ended = serve(noise, io::sink());
        assert!(ended.is_err(), "{noise:?}");
        let server = Server::start(|_| Reply::Answer(OK.to_vec()));
        let link = Link {
            orders: Box::new(io::sink()),
            reports: Box::new(noise),
            clock_offset_ns: 0,
            agent: None,
            round_trip: Duration::ZERO,
            ending: Box::new(|| None),
        };
        let job = job(server.address, closed_model(1, 1));
        let error = Generators::start(&job, vec![link]).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("generator 1 of 1 ended"), "{text}");
    }
}

#[test]
fn shares_are_as_even_as_workers_allow() {
    let check = |connections, workers, generators, expected: &[(usize, usize)]| {
        let address = "127.0.0.1:1".parse().unwrap();
        let mut job = job(address, closed_model(connections, 1));
        job.workers = vec![None; workers];
        let expected: Vec<Share> = expected
            .iter()
            .map(|&(first_worker, workers)| Share {
                first_worker,
                workers,
            })
            .collect();
        assert_eq!(shares(&job, generators), expected);
    };
    check(10, 4, 1, &[(0, 4)]);
    check(10, 5, 3, &[(0, 2), (2, 2), (4, 1)]);
    check(10, 3, 3, &[(0, 1), (1, 1), (2, 1)]);
    // No generator without a worker, and no worker without a connection.
    check(2, 4, 3, &[(0, 1), (1, 1)]);
}
