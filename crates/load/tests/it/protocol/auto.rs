//! The version of HTTP that a server chooses, and connections that are used once.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use waggle_load::{Job, Roots, Target, Tls, TlsOptions};
use waggle_spec::{Arrivals, LoadModel, Protocol};
use waggle_testkit::{
    http::{Reply, Server, ok},
    streams::{self, Settings, StreamServer},
    tls::Authority,
};

use crate::support::{
    Ended, closed_model, job, requests, run,
    scenarios::{self, flow, plain, scenario},
};

const REQUESTS: u64 = 400;

fn stream_server(authority: &Authority, alpn: &[&[u8]]) -> StreamServer {
    let mut config = authority.server();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let settings = Settings {
        tls: Some(Arc::new(config)),
        ..Settings::default()
    };
    StreamServer::start(settings, |_| fine())
}

fn fine() -> streams::Reply {
    streams::Reply::Answer {
        status: 200,
        body: Bytes::from_static(b"ok"),
    }
}

/// A server of HTTP/1.1 that takes part in ALPN with these names, or not at all.
fn secure_server(authority: &Authority, alpn: &[&[u8]]) -> Server {
    let mut config = authority.server();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Server::start_secure(config, |_| Reply::Answer(ok("ok")))
}

fn trust(authority: &Authority) -> Tls {
    let options = TlsOptions {
        server_name: "localhost".to_owned(),
        roots: Roots::Pem(authority.pem.clone().into_bytes()),
        ..TlsOptions::default()
    };
    Tls::new(options).unwrap()
}

fn auto(mut job: Job, tls: Option<Tls>) -> Job {
    job.transport.protocol = Protocol::Auto;
    job.transport.tls = tls;
    job.max_requests = Some(REQUESTS);
    job.limits.reconnect_first = Duration::from_micros(100);
    job
}

/// All requests succeed, over this many connections, of which so many speak HTTP/2.
fn check(job: Job, (connections, http2): (u64, u64)) -> Ended {
    let lanes = u64::from(job.model.pipelining());
    let ended = run(job);
    ended.check_sums_of_streams(lanes);
    let counts = ended.counts();
    assert_eq!(
        (counts.succeeded, counts.connects, counts.http2_connections),
        (REQUESTS, connections, http2),
        "{counts:?}"
    );
    ended
}

#[test]
fn the_server_chooses_the_version() {
    let ours = Authority::new("ours");
    for pipelining in [1, 6] {
        let model = || closed_model(2, pipelining);
        let both = stream_server(&ours, &[b"h2", b"http/1.1"]);
        check(auto(job(both.address, model()), Some(trust(&ours))), (2, 2));
        let only = stream_server(&ours, &[b"h2"]);
        check(auto(job(only.address, model()), Some(trust(&ours))), (2, 2));
        for alpn in [&[&b"http/1.1"[..]][..], &[]] {
            let server = secure_server(&ours, alpn);
            check(
                auto(job(server.address, model()), Some(trust(&ours))),
                (2, 0),
            );
        }
        let plain = Server::start(|_| Reply::Answer(ok("ok")));
        check(auto(job(plain.address, model()), None), (2, 0));
    }
}

#[test]
fn servers_of_one_load_may_choose_differently() {
    let ours = Authority::new("ours");
    let (newer, older) = (
        stream_server(&ours, &[b"h2"]),
        secure_server(&ours, &[b"http/1.1"]),
    );
    for model in [
        closed_model(4, 3),
        LoadModel::Open {
            rate_per_s: 4_000.0,
            arrivals: Arrivals::Uniform,
            connections: 4,
            pipelining: 3,
        },
    ] {
        let mut job = auto(job(newer.address, model), Some(trust(&ours)));
        job.targets.push(Target {
            address: older.address,
        });
        job.workers = vec![None; 2];
        check(job, (4, 2));
    }
}

#[test]
fn sessions_go_by_what_the_server_chooses() {
    let ours = Authority::new("ours");
    let steps = || {
        let actions = vec![plain(0, "GET /open"), plain(1, "PUT /open/{{session}}")];
        scenario(2, vec![flow("one", 1, actions)], Vec::new())
    };
    let over = |address| {
        let job = scenarios::job(address, closed_model(2, 5), steps());
        auto(job, Some(trust(&ours)))
    };
    let newer = stream_server(&ours, &[b"h2", b"http/1.1"]);
    check(over(newer.address), (2, 2));
    // Over HTTP/1.1 a connection has one session at a time.
    let older = secure_server(&ours, &[b"http/1.1"]);
    let ended = check(over(older.address), (2, 0));
    for interval in &ended.intervals {
        assert!(interval.counts.in_flight <= 2, "{:?}", interval.counts);
    }
}

#[test]
fn each_request_has_a_connection_of_its_own_if_it_says_so() {
    let check = |server: &StreamServer, tls: Option<Tls>, protocol, workers: usize| {
        let mut job = auto(job(server.address, closed_model(3, 1)), tls);
        job.transport.protocol = protocol;
        job.workers = vec![None; workers];
        requests(&mut job)[0].bytes =
            b"GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n".to_vec();
        let ended = run(job);
        ended.check_sums();
        let counts = ended.counts();
        assert_eq!(counts.succeeded, REQUESTS, "{counts:?}");
        // At the end, connections may have been opened for requests that are not sent any more.
        assert!(
            (REQUESTS..=REQUESTS + 3).contains(&counts.http2_connections),
            "{counts:?}"
        );
        let accepted = server.get(|counted| &counted.connections);
        assert!(
            (REQUESTS..=REQUESTS + 3).contains(&accepted),
            "{accepted} connections"
        );
    };
    let plain = StreamServer::start(Settings::default(), |seen| {
        let has_field = seen.head.headers().contains_key("connection");
        assert!(!has_field, "a field of the connection in HTTP/2");
        fine()
    });
    check(&plain, None, Protocol::Http2, 2);
    let ours = Authority::new("ours");
    let secure = stream_server(&ours, &[b"h2"]);
    check(&secure, Some(trust(&ours)), Protocol::Auto, 1);
}
