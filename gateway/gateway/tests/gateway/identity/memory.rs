//! Requests that are judged by their heads, and memory that is counted by who sends them.

use std::net::Ipv4Addr;

use super::lab::{ALL_RIGHTS, Lab, RECORDS, request, token, write_clients};
use crate::{
    limits::answer_bytes,
    support::{Client, Gateway, kafka_command, wait_until},
};

const OTHER_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// The head of a request to write a body of this length.
fn head(target: &str, fields: &str, length: usize) -> String {
    format!("POST {target} HTTP/1.1\r\nHost: a\r\n{fields}Content-Length: {length}\r\n\r\n")
}

/// A gateway with a second client beside that of the lab, and the field with its token.
fn start_with_another_client(flags: &[&str]) -> (Lab, String) {
    let (token, digest) = token("oven");
    let rights = format!("{ALL_RIGHTS}- name: oven\n  tokens: [{digest}]\n{ALL_RIGHTS}");
    let lab = Lab::start(&rights, flags);
    (lab, format!("Authorization: Bearer {token}\r\n"))
}

/// Waits for a metric of the gateway.
fn wait_for(lab: &Lab, line: &str) {
    let line = format!("waggle_gateway_{line}\n");
    wait_until(&line, || {
        let metrics = lab.ask_with_token("GET", "/metrics", "");
        metrics.status == 200 && metrics.body.contains(&line)
    });
}

fn unread_answer_bytes(lab: &Lab) -> usize {
    answer_bytes(&lab.ask_with_token("GET", "/metrics", "").body)
}

#[test]
fn a_client_has_the_same_memory_for_bodies_from_all_addresses() {
    let (lab, other) = start_with_another_client(&["--client-in-flight-max-bytes=1000"]);
    let part = |fields: &str, bytes: usize| head(RECORDS, fields, 2000) + &"\n".repeat(bytes);
    let mut first = lab.gateway.client();
    first.send(part(&lab.bearer(), 990).as_bytes());
    wait_for(&lab, "in_flight_bytes 990");
    let address = lab.gateway.address;
    let mut refused = Client::connect_from(OTHER_ADDRESS, address);
    refused.send(part(&lab.bearer(), 20).as_bytes());
    let answer = refused.answer().unwrap();
    assert_eq!(answer.status, 429, "{}", answer.body);
    assert_eq!(answer.header("retry-after"), Some("1"));
    // From the addresses of the first.
    let mut others = [
        lab.gateway.client(),
        Client::connect_from(OTHER_ADDRESS, address),
    ];
    for client in &mut others {
        client.send(part(&other, 490).as_bytes());
    }
    wait_for(&lab, "in_flight_bytes 1970");
    drop(first);
    wait_for(&lab, "in_flight_bytes 980");
    let mut again = Client::connect_from(OTHER_ADDRESS, address);
    again.send(part(&lab.bearer(), 990).as_bytes());
    wait_for(&lab, "in_flight_bytes 1970");
    drop((others, again));
    wait_for(&lab, "in_flight_bytes 0");
}

#[test]
fn a_client_has_the_same_memory_for_answers_from_all_addresses() {
    let (lab, other) = start_with_another_client(&["--client-answers-max-bytes=600000"]);
    let body = format!("m f=\"{}\"\n", "x".repeat(60_000)).repeat(40);
    assert_eq!(lab.ask_with_token("PUT", RECORDS, &body).status, 204);
    let read = |fields: &str| request("GET", RECORDS, fields, "");
    let start_greedy = || {
        let mut greedy = lab.gateway.client();
        greedy.send(read(&lab.bearer()).repeat(20).as_bytes());
        wait_until("a part waits for its client", || {
            unread_answer_bytes(&lab) > 0
        });
        greedy
    };
    let ask_from_elsewhere = |fields: &str| {
        let mut client = Client::connect_from(OTHER_ADDRESS, lab.gateway.address);
        client.send(read(fields).as_bytes());
        client.answer().unwrap().status
    };
    let mut greedy = start_greedy();
    wait_until("its client is refused elsewhere", || {
        let is_refused = ask_from_elsewhere(&lab.bearer()) == 429;
        if !is_refused {
            // This read may have had the memory while those of the greedy client were refused for it.
            greedy = start_greedy();
        }
        is_refused
    });
    assert_eq!(ask_from_elsewhere(&other), 200);
    assert_eq!(lab.gateway.ask(&read(&other)).status, 200);
    drop(greedy);
    wait_for(&lab, "answer_bytes 0");
    assert_eq!(ask_from_elsewhere(&lab.bearer()), 200);
}

#[test]
fn a_request_is_refused_by_its_head_and_counted_once() {
    let mut lab = Lab::start("  write: [plant.*]\n  read: ['*']\n", &[]);
    let influx = "/api/v2/write?bucket=other";
    let stranger = "Authorization: Bearer x\r\n";
    let page = "Sec-Fetch-Site: cross-site\r\n";
    let bearer = lab.bearer();
    for (target, fields, status) in [
        (RECORDS, "", 401),
        (RECORDS, stranger, 401),
        (RECORDS, page, 403),
        ("/api/v1/topics/other/records", &*bearer, 403),
        (influx, &*bearer, 403),
    ] {
        for expectation in ["", "Expect: 100-continue\r\n"] {
            let mut client = lab.gateway.client();
            // The body is never sent.
            client.send(head(target, &format!("{fields}{expectation}"), 100_000).as_bytes());
            let answer = client.answer().unwrap();
            assert_eq!(answer.status, status, "{target} {fields}: {}", answer.body);
            assert!(client.answer().is_none(), "{target} {fields}");
        }
    }
    let metrics = lab.ask_with_token("GET", "/metrics", "").body;
    for line in [
        "{call=\"put_records\",status=\"401\",http_version=\"1\"} 4\n",
        "{call=\"put_records\",status=\"403\",http_version=\"1\"} 4\n",
    ] {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
    assert!(metrics.contains("waggle_gateway_in_flight_bytes 0\n"));
    let (said, events) = lab.end();
    let refused = events.iter().filter(|event| event["audit"] == "refused");
    let count: u64 = refused
        .map(|event| 1 + event["left_out"].as_u64().unwrap_or(0))
        .sum();
    assert_eq!(count, 10, "{said}");
}

#[test]
fn a_query_that_is_passed_on_is_refused_by_its_head() {
    let folder = tempfile::tempdir().unwrap();
    let (token, digest) = token("press");
    let clients = folder.path().join("clients.yaml");
    write_clients(&clients, &digest, "  read: [plant.7]\n");
    let clients = format!("--clients={}", clients.display());
    // Neither is there; nothing is sent to them.
    let flags = [
        "--influxdb-url=http://127.0.0.1:1",
        "--influxdb-org=lab",
        "--influxdb-bucket=b",
        "--query-pass-through",
        &clients,
    ];
    let mut command = kafka_command("127.0.0.1:1", &flags);
    let gateway = Gateway::start_by(command.env("INFLUX_TOKEN", "t"));
    let bearer = format!("Authorization: Bearer {token}\r\n");
    for target in ["/api/v1/query", "/api/v1/query?x=1"] {
        let mut client = gateway.client();
        client.send(head(target, &bearer, 100).as_bytes());
        let answer = client.answer().unwrap();
        assert_eq!(answer.status, 403, "{}", answer.body);
        assert!(answer.body.contains("all topics"), "{}", answer.body);
        assert!(client.answer().is_none());
    }
}

#[test]
fn a_body_is_asked_for_after_its_head_is_judged() {
    let lab = Lab::start(ALL_RIGHTS, &[]);
    let fields = format!("{}Expect: 100-continue\r\n", lab.bearer());
    let mut client = lab.gateway.client();
    client.send(head(RECORDS, &fields, 5).as_bytes());
    assert_eq!(client.answer().unwrap().status, 100);
    client.send(b"m f=1");
    assert_eq!(client.answer().unwrap().status, 204);
    // The connection goes on, also if the next body comes in pieces.
    client.send((head(RECORDS, &lab.bearer(), 10) + "m f=2").as_bytes());
    wait_for(&lab, "in_flight_bytes 5");
    client.send(b"\n\n\n\n\n");
    assert_eq!(client.answer().unwrap().status, 204);
    client.send(request("PUT", RECORDS, "", "m f=3").as_bytes());
    assert_eq!(client.answer().unwrap().status, 401);
    let records = lab.ask_with_token("GET", RECORDS, "").body;
    assert_eq!(records.lines().count(), 2, "{records}");
}

#[test]
fn a_request_in_pieces_takes_its_budget_once() {
    let rights = format!("{ALL_RIGHTS}  requests_per_second: 1\n");
    let lab = Lab::start(&rights, &[]);
    let mut client = lab.gateway.client();
    let asks = format!("{}Expect: 100-continue\r\n", lab.bearer());
    client.send(head(RECORDS, &asks, 5).as_bytes());
    assert_eq!(client.answer().unwrap().status, 100);
    client.send(b"m f=1");
    assert_eq!(client.answer().unwrap().status, 204);
    // Above the budget, the head is refused alone. In which second a request comes is not known.
    wait_until("two requests in a second", || {
        let mut client = lab.gateway.client();
        client.send(head(RECORDS, &asks, 5).as_bytes());
        let first = client.answer().unwrap().status;
        assert!(matches!(first, 100 | 429), "{first}");
        first == 429
    });
}
