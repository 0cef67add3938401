//! The limits of the machine: open files, local ports, memory. Each in its own process, so that its limits do not affect other
//! tests.

use std::{
    io::{Read, Write},
    net::TcpListener,
    time::Duration,
};

use crate::support::{
    Ended, OK,
    child::{self, command, memory_peak, report, role, run_to_end},
    closed_model, job, run, run_until, stop_when,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use waggle_load::{Failure, NullServer, StartError, reserve_files, start};

const MIB: u64 = 1024 * 1024;
/// Longer than any run here, so that there are the histograms of one interval only.
const ONE_INTERVAL: Duration = Duration::from_secs(600);

fn limit_files(now: u64, max_duration: u64) {
    let limit = Rlimit {
        current: Some(now),
        maximum: Some(max_duration),
    };
    setrlimit(Resource::Nofile, limit).unwrap();
}

fn null_server() -> NullServer {
    NullServer::start("127.0.0.1:0".parse().unwrap(), OK).unwrap()
}

/// Runs until `connections` are open, then stops.
fn run_until_open(connections: u64, job: waggle_load::Job) -> Result<Ended, StartError> {
    let running = start(job)?;
    Ok(stop_when(running, |counts| {
        counts.connections_open == connections
    }))
}

#[test]
fn ten_thousand_connections_are_opened_or_refused_with_a_reason() {
    const TEST: &str = "machine::ten_thousand_connections_are_opened_or_refused_with_a_reason";
    const CONNECTIONS: u64 = 10_000;
    // As in a login shell: a low soft limit that a program may raise.
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let first = most.min(1_024);
    match role().as_deref() {
        Some("server") => {
            limit_files(most, most);
            let server = null_server();
            report("address", server.address());
            server.wait();
        }
        Some(address) => {
            limit_files(first, most);
            let mut job = job(
                address.parse().unwrap(),
                closed_model(usize::try_from(CONNECTIONS).unwrap(), 1),
            );
            // Opened 64 at a time; the rest is a reserve for a busy machine.
            job.max_duration = Duration::from_secs(50);
            match run_until_open(CONNECTIONS, job) {
                Err(error) => report("error", error),
                Ok(ended) => {
                    ended.check_sums();
                    report("open", ended.counts().connections_open);
                    report("in_flight", ended.counts().in_flight);
                    report("failures", format!("{:?}", ended.failures()));
                }
            }
        }
        None => {
            let mut server = child::Server::start(command(TEST, "server", &[]));
            let address = server.expect_report("address");
            let reported = run_to_end(command(TEST, &address, &[]));
            if most < CONNECTIONS + 100 {
                assert!(
                    reported["error"].contains("open files and the limit is"),
                    "{reported:?}"
                );
                return;
            }
            assert_eq!(reported["open"], CONNECTIONS.to_string(), "{reported:?}");
            assert_eq!(
                (&*reported["in_flight"], &*reported["failures"]),
                ("0", "[]"),
                "{reported:?}"
            );
        }
    }
}

#[test]
fn more_connections_than_files_are_refused_before_anything_is_sent() {
    const TEST: &str = "machine::more_connections_than_files_are_refused_before_anything_is_sent";
    if role().is_none() {
        let reported = run_to_end(command(TEST, "client", &[]));
        assert_eq!((&*reported["open"], &*reported["failures"]), ("200", "[]"));
        let error = &reported["many"];
        // Files that are open already count: the server may not have closed all of its 200 connections yet.
        let needed = error
            .strip_prefix("the load needs ")
            .and_then(|rest| {
                rest.strip_suffix(" open files and the limit is 500; raise it with ulimit -n")
            })
            .unwrap_or_else(|| panic!("{error}"));
        let needed: u64 = needed.parse().unwrap();
        assert!((500..800).contains(&needed), "{error}");
        assert!(
            reported["both"].contains("open files and the limit is 500"),
            "{reported:?}"
        );
        assert_eq!(reported["answered"], reported["succeeded"]);
        return;
    }
    let server = null_server();
    limit_files(100, 500);
    // The server is in this process too, and needs a file for each connection. The current limit is raised for these.
    let ended = run_until_open(200, job(server.address(), closed_model(200, 1))).unwrap();
    ended.check_sums();
    report("open", ended.counts().connections_open);
    report("succeeded", ended.counts().succeeded);
    report("failures", format!("{:?}", ended.failures()));
    report(
        "many",
        run_until_open(500, job(server.address(), closed_model(500, 1)))
            .err()
            .unwrap(),
    );
    // Either of two jobs has its files, both together have not.
    let half = job(server.address(), closed_model(245, 1));
    reserve_files([&half]).unwrap();
    report("both", reserve_files([&half, &half]).unwrap_err());
    report("answered", server.stop());
}

#[test]
fn ports_that_run_out_are_a_failure_of_their_own_kind() {
    const TEST: &str = "machine::ports_that_run_out_are_a_failure_of_their_own_kind";
    const PORTS: u64 = 10;
    if role().is_some() {
        let server = null_server();
        let job = job(server.address(), closed_model(30, 1));
        // Until those without a port have failed, and the open ones continue.
        let ended = run_until(job, |counts| {
            let no_port = counts.other_failures.0.iter();
            let no_port = no_port.filter(|(kind, _)| *kind == Failure::NoPort);
            let no_port: u64 = no_port.map(|(_, count)| count).sum();
            no_port >= 30 - PORTS && counts.sent > counts.connections_open
        });
        ended.check_sums();
        let counts = ended.counts();
        report("open", counts.connections_open);
        report("connects", counts.connects);
        report("sent", counts.sent);
        report("succeeded", counts.succeeded);
        report("answered", server.stop());
        for (failure, count) in [ended.failures(), ended.other_failures()].concat() {
            report(&format!("{failure:?}"), count);
        }
        return;
    }
    // A network namespace with ten ports; needs user namespaces or sudo.
    let set_up = "ip link set lo up && echo 50000 50009 > /proc/sys/net/ipv4/ip_local_port_range";
    let ways: [&[&str]; 2] = [&["unshare", "-rn"], &["sudo", "-nE", "unshare", "-n"]];
    let is_allowed = |way: &&&[&str]| {
        let output = std::process::Command::new(way[0])
            .args(&way[1..])
            .args(["sh", "-c", set_up])
            .output();
        output.is_ok_and(|output| output.status.success())
    };
    let way = ways.iter().find(is_allowed);
    let way = way.expect("a network of its own: user namespaces must be allowed to this user");
    let script = format!("{set_up} && exec \"$0\" \"$@\"");
    let before = [way, &["sh", "-c", &*script][..]].concat();
    let reported = run_to_end(command(TEST, "client", &before));
    let reported = |name: &str| reported.get(name).map_or(0, |value| value.parse().unwrap());
    // The listener has one of the ten.
    assert!(
        (PORTS - 1..=PORTS).contains(&reported("open")),
        "{} open",
        reported("open")
    );
    assert_eq!(reported("connects"), reported("open"));
    assert!(reported("NoPort") >= 30 - PORTS, "{}", reported("NoPort"));
    assert_eq!(reported("ConnectFailed"), 0);
    assert_eq!(reported("sent"), reported("succeeded"));
    assert_eq!(reported("answered"), reported("sent"));
    assert!(
        reported("sent") > reported("open"),
        "those that are open work on"
    );
}

#[test]
fn memory_does_not_grow_with_requests() {
    const TEST: &str = "machine::memory_does_not_grow_with_requests";
    const FEW: u64 = 200_000;
    if let Some(requests) = role() {
        let server = null_server();
        let mut job = job(server.address(), closed_model(20, 50));
        job.max_requests = Some(requests.parse().unwrap());
        job.max_duration = Duration::from_secs(120);
        job.interval = ONE_INTERVAL;
        let running = start(job).unwrap();
        while !running.has_ended() {
            drop(running.next_interval(Duration::from_secs(1)));
        }
        report("succeeded", running.join().totals.succeeded);
        report("memory", memory_peak());
        return;
    }
    let peak = |requests: u64| {
        let reported = run_to_end(command(TEST, &requests.to_string(), &[]));
        assert_eq!(reported["succeeded"], requests.to_string());
        reported["memory"].parse::<u64>().unwrap()
    };
    let (few, many) = (peak(FEW), peak(10 * FEW));
    // One byte more for each request would be nearly two megabytes.
    assert!(
        many < few + MIB,
        "{few} bytes for {FEW} requests, {many} for ten times as many"
    );
    assert!(many < 64 * MIB, "{many} bytes");
}

/// Answers `answers` requests with `length` bytes each, piece by piece.
fn send_body(
    listener: &TcpListener,
    answers: usize,
    head: &[u8],
    pieces: usize,
    piece: &[u8],
    end: &[u8],
) {
    let (mut stream, _) = listener.accept().unwrap();
    for _ in 0..answers {
        let mut request = [0; 1_024];
        assert!(stream.read(&mut request).unwrap() > 0);
        stream.write_all(head).unwrap();
        for _ in 0..pieces {
            stream.write_all(piece).unwrap();
        }
        stream.write_all(end).unwrap();
    }
}

#[test]
fn a_body_of_a_gigabyte_passes_through_and_is_not_kept() {
    const TEST: &str = "machine::a_body_of_a_gigabyte_passes_through_and_is_not_kept";
    const GB: u64 = 1_000_000_000;
    if let Some(address) = role() {
        let mut job = job(address.parse().unwrap(), closed_model(1, 1));
        job.max_requests = Some(2);
        job.limits.request_timeout = Duration::from_secs(100);
        job.max_duration = Duration::from_secs(200);
        job.limits.finish = Duration::from_secs(200);
        job.interval = ONE_INTERVAL;
        let before = memory_peak();
        let ended = run(job);
        ended.check_sums();
        report("succeeded", ended.counts().succeeded);
        report("bytes", ended.counts().bytes_received);
        report("memory", memory_peak() - before);
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let piece = vec![b'x'; 1_000_000];
    let chunk = [b"f4240\r\n", &piece[..], b"\r\n"].concat();
    let framings: [(&str, &[u8], &[u8]); 2] = [
        ("Content-Length: 1000000000", &piece, b""),
        ("Transfer-Encoding: chunked", &chunk, b"0\r\n\r\n"),
    ];
    for (framing, piece, end) in framings {
        let head = format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n");
        let reported = std::thread::scope(|threads| {
            threads.spawn(|| send_body(&listener, 2, head.as_bytes(), 1_000, piece, end));
            run_to_end(command(TEST, &address, &[]))
        });
        assert_eq!(reported["succeeded"], "2", "{framing}");
        assert!(
            reported["bytes"].parse::<u64>().unwrap() >= 2 * GB,
            "{framing}: {reported:?}"
        );
        let memory: u64 = reported["memory"].parse().unwrap();
        assert!(
            memory < 16 * MIB,
            "{framing}: {memory} bytes more than before"
        );
    }
}
