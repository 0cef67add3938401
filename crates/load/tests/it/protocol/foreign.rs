//! TLS and HTTP/2 against servers that share no code with the engine: those of Node (18 or newer, which `scripts/test` ensures).

use std::{
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use waggle_load::{BodyCheck, Job, Prepared, Roots, Tls, TlsOptions};
use waggle_spec::Protocol;
use waggle_testkit::tls::Authority;

use crate::support::{Ended, closed_model, expect, get, job, requests, run};

const REQUESTS: u64 = 500;

struct Node {
    address: SocketAddr,
    authority: Authority,
    child: Child,
    says: BufReader<ChildStdout>,
}

/// What the server counted.
#[derive(Debug)]
struct Counted {
    received: u64,
    answered: u64,
    body_bytes: u64,
    sessions: u64,
    resumed: u64,
}

impl Node {
    fn start(mode: &str, close_after: u64) -> Self {
        let authority = Authority::new("ours");
        let signed = authority.sign("localhost", 2090);
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/it/support/node_server.mjs"
        );
        let mut child = Command::new("node")
            .args([script, mode])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("these tests need node 18 or newer: scripts/test installs it");
        let line = serde_json::json!({
            "certificate": signed.certificate, "key": signed.key, "closeAfter": close_after
        });
        writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut says = BufReader::new(child.stdout.take().unwrap());
        let mut port = String::new();
        says.read_line(&mut port).unwrap();
        Self {
            address: format!("127.0.0.1:{}", port.trim()).parse().unwrap(),
            authority,
            child,
            says,
        }
    }

    fn job(&self, protocol: Protocol, is_tls: bool, connections: usize, pipelining: usize) -> Job {
        let mut job = job(self.address, closed_model(connections, pipelining));
        job.transport.protocol = protocol;
        job.transport.tls = is_tls.then(|| {
            Tls::new(TlsOptions {
                server_name: "localhost".to_owned(),
                roots: Roots::Pem(self.authority.pem.clone().into_bytes()),
                ..TlsOptions::default()
            })
            .unwrap()
        });
        job.max_requests = Some(REQUESTS);
        expect(&mut job).body = BodyCheck::Equals(b"ok".to_vec());
        job
    }

    /// Stops the server; returns its counts.
    fn stop_and_count(mut self) -> Counted {
        drop(self.child.stdin.take());
        let mut line = String::new();
        self.says.read_line(&mut line).unwrap();
        assert!(self.child.wait().unwrap().success());
        let counts: serde_json::Value = serde_json::from_str(&line).unwrap();
        let number = |name: &str| counts[name].as_u64().unwrap();
        Counted {
            received: number("received"),
            answered: number("answered"),
            body_bytes: number("bodyBytes"),
            sessions: number("sessions"),
            resumed: number("resumed"),
        }
    }
}

fn request(line: &str, body: &[u8], more: &str) -> Prepared {
    let mut request = get();
    let length = body.len();
    request.bytes =
        format!("{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{more}\r\n")
            .into_bytes();
    request.bytes.extend_from_slice(body);
    request
}

fn check_all(ended: &Ended, counted: &Counted, expected: u64) {
    ended.check_sums();
    let totals = ended.counts();
    assert_eq!(
        (
            totals.sent,
            totals.succeeded,
            counted.received,
            counted.answered
        ),
        (expected, expected, expected, expected),
        "{totals:?} {:?}",
        ended.outcome.examples
    );
}

#[test]
fn streams_in_the_clear_and_over_tls() {
    for (mode, is_tls) in [("http2", false), ("http2-tls", true)] {
        for (connections, pipelining) in [(3, 1), (2, 20), (1, 100)] {
            let node = Node::start(mode, 0);
            let mut job = node.job(Protocol::Http2, is_tls, connections, pipelining);
            *requests(&mut job) = vec![request("PUT /", &[b'x'; 3_000], "")];
            let ended = run(job);
            let counted = node.stop_and_count();
            check_all(&ended, &counted, REQUESTS);
            assert_eq!(counted.body_bytes, 3_000 * REQUESTS);
            assert_eq!(counted.sessions, connections as u64);
            let handshakes = if is_tls { connections as u64 } else { 0 };
            assert_eq!(ended.counts().handshakes, handshakes);
        }
    }
}

#[test]
fn large_bodies_both_ways() {
    for (mode, is_tls) in [("http2", false), ("http2-tls", true)] {
        let node = Node::start(mode, 0);
        let mut job = node.job(Protocol::Http2, is_tls, 1, 3);
        let body = vec![b'x'; 8 * 1024 * 1024];
        *requests(&mut job) = vec![request("PUT /large", &body, "")];
        expect(&mut job).body = BodyCheck::Equals(vec![b'y'; 8 * 1024 * 1024]);
        job.max_requests = Some(4);
        job.limits.request_timeout = Duration::from_secs(110);
        job.max_duration = Duration::from_secs(120);
        let ended = run(job);
        let counted = node.stop_and_count();
        check_all(&ended, &counted, 4);
        assert_eq!(counted.body_bytes, 4 * body.len() as u64);
    }
}

#[test]
fn sessions_that_close_in_mid_run_are_opened_again() {
    let node = Node::start("http2", 50);
    let ended = run(node.job(Protocol::Http2, false, 2, 5));
    ended.check_sums();
    let counted = node.stop_and_count();
    let totals = ended.counts();
    assert_eq!(totals.sent, REQUESTS);
    assert!(
        counted.sessions > 2 && totals.connects >= counted.sessions,
        "{counted:?}"
    );
    assert!(
        totals.succeeded <= counted.answered && counted.received <= totals.sent,
        "{totals:?} {counted:?}"
    );
    // Only requests that a closing session refused may fail.
    assert!(totals.failed <= 5 * totals.connects, "{totals:?}");
}

#[test]
fn http1_over_tls_with_pipelines_and_resumed_sessions() {
    let node = Node::start("http1-tls", 0);
    let ended = run(node.job(Protocol::Http1, true, 3, 4));
    check_all(&ended, &node.stop_and_count(), REQUESTS);

    let node = Node::start("http1-tls", 0);
    let mut job = node.job(Protocol::Http1, true, 3, 1);
    *requests(&mut job) = vec![request("PUT /", b"abc", "Connection: close\r\n")];
    let ended = run(job);
    let counted = node.stop_and_count();
    check_all(&ended, &counted, REQUESTS);
    let totals = ended.counts();
    assert!(totals.handshakes >= REQUESTS);
    // Those in flight at the end are known only to the server.
    let known_to_server_alone = counted.resumed.saturating_sub(totals.handshakes_resumed);
    assert!(known_to_server_alone <= 3, "{counted:?} {totals:?}");
    // Node gives two tickets for a whole handshake and none for a resumed one: two of three are resumed.
    assert!(
        2 * totals.handshakes_resumed >= totals.handshakes,
        "{totals:?}"
    );
}
