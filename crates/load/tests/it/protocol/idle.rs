//! What a server says on a connection with nothing in flight.

use std::{io::Write, time::Duration};

use crate::support::{OK, closed_model, job, run};
use waggle_load::Failure;
use waggle_testkit::{Listener, Socket};

const REQUESTS: u64 = 40;

/// Each answer has these bytes behind it: the failures of connections, and how many connections the requests took.
fn check(bytes: &'static [u8], failures: &[(Failure, u64)], connects: u64) {
    let server = Listener::start(move |mut socket: Socket, _| {
        while read_head(&mut socket) {
            if socket.write_all(&[OK, bytes].concat()).is_err() {
                return;
            }
        }
    });
    let mut job = job(server.address, closed_model(1, 1));
    job.max_requests = Some(REQUESTS);
    job.limits.reconnect_first = Duration::from_micros(100);
    let ended = run(job);
    ended.check_sums();
    let counts = ended.counts();
    let what = bytes.escape_ascii();
    assert_eq!(
        (counts.sent, counts.succeeded),
        (REQUESTS, REQUESTS),
        "{what}"
    );
    assert_eq!(ended.other_failures(), failures, "{what}");
    assert_eq!(counts.connects, connects, "{what}");
}

fn read_head(socket: &mut Socket) -> bool {
    use std::io::Read;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}

#[test]
fn a_request_timeout_ends_an_idle_connection_and_is_no_failure() {
    check(b"", &[], 1);
    for end in [
        &b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"[..],
        b"HTTP/1.0 408 Request Time-out\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n<html></html>",
        b"HTTP/1.1 408 \r\n",
    ] {
        check(end, &[], REQUESTS);
    }
}

#[test]
fn other_bytes_are_a_failure_of_the_connection() {
    for bytes in [
        &b"x"[..],
        b"\r\n",
        b"HTTP/1.1 4080 Odd\r\n\r\n",
        b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ] {
        let failures = [(Failure::UnsolicitedAnswer, REQUESTS)];
        check(bytes, &failures, REQUESTS);
    }
}
