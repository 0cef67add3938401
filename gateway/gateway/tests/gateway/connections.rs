//! Connections: pipelining and its order, limits, timeouts, early ends.

use std::io::{BufRead, Read, Write};

use crate::support::{Client, Gateway, command, put, store, wait_until};

/// Sends the bytes on one connection and collects the answers until the gateway closes it, as "status status …".
#[track_caller]
fn check(gateway: &Gateway, bytes: &str, expected: &str) {
    let mut client = gateway.client();
    client.send(bytes.as_bytes());
    client.socket().shutdown(std::net::Shutdown::Write).unwrap();
    let statuses: Vec<String> = std::iter::from_fn(|| client.answer())
        .map(|answer| answer.status.to_string())
        .collect();
    let asked: String = bytes.chars().take(300).collect();
    assert_eq!(statuses.join(" "), expected, "to {asked:?}");
}

const READ: &str = "GET /api/v1/topics/t/records HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--pipelining-max=4"]);
    let (good, bad) = (put("t", "m f=1"), put("t", "m f="));
    check(&gateway, &[&*good, &*bad, &*good].concat(), "204 400 204");
    check(
        &gateway,
        &[
            &*bad,
            READ,
            &*good,
            "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n",
            &*bad,
            &*good,
        ]
        .concat(),
        "400 200 204 404 400 204",
    );
    check(&gateway, &good.repeat(50), &["204"; 50].join(" "));
    check(&gateway, &READ.repeat(9), &["200"; 9].join(" "));
}

#[test]
fn a_read_sees_what_was_written_before_it_in_the_pipeline() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &[]);
    let mut client = gateway.client();
    for round in 1..=20 {
        let written = put("t", "m f=1").repeat(3);
        client.send(format!("{written}{READ}").as_bytes());
        let answers: Vec<_> = (0..4).map(|_| client.answer().unwrap()).collect();
        assert_eq!(answers[3].body.lines().count(), round * 3);
    }
}

#[test]
fn a_request_with_an_uncertain_end_closes_the_connection() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--body-max-bytes=100"]);
    let good = put("t", "m f=1");
    let smuggled = "PUT /api/v1/topics/t/records HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    check(&gateway, &[&*good, smuggled, &*good].concat(), "204 400");
    let close = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    check(&gateway, &[close, close].concat(), "200");
    check(
        &gateway,
        &[&*good.replace("Host", "Connection: close\r\nHost"), &*good].concat(),
        "204",
    );
    check(
        &gateway,
        &[&*good, "GET / HTTP/1.1\nHost: a\r\n\r\n", &*good].concat(),
        "204 400",
    );
    check(
        &gateway,
        &[&*put("t", &"x".repeat(101)), &*good].concat(),
        "413",
    );
    check(&gateway, &good[..good.len() - 1], "");
    check(&gateway, "", "");
    assert_eq!(gateway.records("t").len(), 3);
}

#[test]
fn a_refused_head_request_has_no_body_in_its_answer() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &[]);
    for refused in [
        "HEAD / HTTP/1.1\r\n\r\n",
        "\r\nHEAD / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n",
    ] {
        let mut client = gateway.client();
        client.send(refused.as_bytes());
        let mut answer = String::new();
        client.socket().read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 4"), "{answer}");
        assert!(!head.contains("content-length: 0"), "{answer}");
        assert_eq!(body, "", "{answer}");
    }
}

#[test]
fn expect_continue_is_answered_with_100() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &[]);
    let mut client = gateway.client();
    let head = "PUT /api/v1/topics/t/records HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    for _ in 0..2 {
        client.send(head.as_bytes());
        assert_eq!(client.answer().unwrap().status, 100);
        client.send(b"m f=1");
        assert_eq!(client.answer().unwrap().status, 204);
    }
}

#[test]
fn clients_of_http_1_0_learn_that_the_connection_stays() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &[]);
    let mut client = gateway.client();
    let asks = "Connection: Keep-Alive\r\n";
    let write =
        format!("POST /api/v1/topics/t/records HTTP/1.0\r\n{asks}Content-Length: 5\r\n\r\nm f=1");
    let check = |client: &mut Client, request: &str, status: u16, connection: Option<&str>| {
        client.send(request.as_bytes());
        let answer = client.answer().unwrap();
        let said = (answer.status, answer.header("connection"));
        assert_eq!(said, (status, connection), "{request:?}");
    };
    let latest = "/api/v1/topics/t/latest?series=m";
    for _ in 0..2 {
        check(&mut client, &write, 204, Some("keep-alive"));
        let wrong = write.replace("m f=1", "m f=x");
        check(&mut client, &wrong, 400, Some("keep-alive"));
        for target in ["/healthz", latest] {
            let read = format!("GET {target} HTTP/1.0\r\n{asks}\r\n");
            check(&mut client, &read, 200, Some("keep-alive"));
            let read = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
            check(&mut client, &read, 200, None);
        }
    }
    let last = "GET /healthz HTTP/1.0\r\n\r\n";
    check(&mut client, last, 200, Some("close"));
    assert!(client.answer().is_none());
}

#[test]
fn connections_are_limited() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--connections-max=2"]);
    let mut open: Vec<Client> = (0..2).map(|_| gateway.client()).collect();
    for client in &mut open {
        client.send(READ.as_bytes());
        assert_eq!(client.answer().unwrap().status, 200);
    }
    let mut third = gateway.client();
    let refused = third.answer().unwrap();
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(third.answer().is_none());
    open.pop();
    let served = |mut client: Client| {
        // The gateway may have refused this one before it saw the other one close.
        let sent = client.socket().write_all(READ.as_bytes());
        sent.is_ok() && client.answer().is_some_and(|answer| answer.status == 200)
    };
    while !served(gateway.client()) {}
}

#[test]
fn admin_listener_answers_while_clients_use_all_connections() {
    let (_folder, file) = store();
    let flags = ["--connections-max=2", "--admin-listen=127.0.0.1:0"];
    let mut gateway =
        Gateway::start_by(command(&file, &flags).stderr(std::process::Stdio::piped()));
    let mut said = String::new();
    std::io::BufReader::new(gateway.stderr())
        .read_line(&mut said)
        .unwrap();
    let (_, address) = said.trim().split_once("http://").expect("the address");
    let ask = |target: &str| {
        let mut client = Client::connect(address.parse().unwrap()).unwrap();
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        client.answer().unwrap()
    };
    let mut open: Vec<Client> = (0..2).map(|_| gateway.client()).collect();
    for client in &mut open {
        client.send(READ.as_bytes());
        assert_eq!(client.answer().unwrap().status, 200);
    }
    assert_eq!(gateway.client().answer().unwrap().status, 503);
    // More connections than are served at once: each is answered, also after silent ones.
    let _silent: Vec<Client> = (0..10)
        .map(|_| Client::connect(address.parse().unwrap()).unwrap())
        .collect();
    for target in ["/healthz", "/readyz", "/metrics"].repeat(30) {
        assert_eq!(ask(target).status, 200, "{target}");
    }
    // Silent ones do not keep a further one waiting until they are given up: it takes the place of the oldest alone.
    let mut silent: Vec<Client> = (0..64)
        .map(|_| Client::connect(address.parse().unwrap()).unwrap())
        .collect();
    assert_eq!(ask("/healthz").status, 200);
    silent[40].send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(silent[40].answer().expect("it is open").status, 200);
    drop(open);
    wait_until("there is room for a connection", || {
        let mut client = gateway.client();
        let request = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
        let is_sent = client.socket().write_all(request).is_ok();
        is_sent && client.answer().is_some_and(|answer| answer.status == 404)
    });
    assert_eq!(ask("/api/v1/topics/t/records").status, 404);
    assert_eq!(ask("/documentation").status, 404);
}

#[test]
fn slow_clients_are_disconnected() {
    let (_folder, file) = store();
    // Long enough for this test, which connects first and then sends.
    let flags = [
        "--head-timeout=10s",
        "--body-timeout=10ms",
        "--idle-timeout=10ms",
    ];
    let gateway = Gateway::start(&file, &flags);
    let started = |bytes: &str| {
        let mut client = gateway.client();
        client.send(bytes.as_bytes());
        client
    };
    let mut in_its_head = started("GET / HT");
    let mut in_its_body = started(&put("t", "m f=1")[..72]);
    let mut silent = gateway.client();
    let mut done = started(READ);
    assert_eq!(done.answer().unwrap().status, 200);
    assert!(done.answer().is_none());
    for client in [&mut in_its_body, &mut in_its_head] {
        assert_eq!(client.answer().unwrap().status, 408);
        assert!(client.answer().is_none());
    }
    assert!(silent.answer().is_none());
}
