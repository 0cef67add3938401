//! Limits: memory for bodies and answers, reads, connections and topics, for all clients and for one.

use std::{
    io::{Read, Write},
    path::Path,
    process::Stdio,
    time::Duration,
};

use crate::support::{Client, Gateway, command, put, store, wait_until};

const READ: &str = "GET /api/v1/topics/t/records HTTP/1.1\r\nHost: a\r\n\r\n";

/// A request to write whose body has this length and begins with `part`.
fn request_part(length: usize, part: &str) -> Vec<u8> {
    let target = "/api/v1/topics/t/records";
    format!("PUT {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{part}").into()
}

fn wait_for_in_flight(gateway: &Gateway, bytes: usize) {
    let line = format!("waggle_gateway_in_flight_bytes {bytes}\n");
    while !gateway.get("/metrics").body.contains(&line) {}
}

#[test]
fn bodies_that_are_announced_and_not_sent_take_no_memory_from_others() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--in-flight-max-bytes=100000"]);
    let silent: Vec<Client> = (0..20)
        .map(|_| {
            let mut client = gateway.client();
            client.send(&request_part(90_000, "m"));
            client
        })
        .collect();
    wait_for_in_flight(&gateway, silent.len());
    assert_eq!(gateway.put("t", &"m f=1\n".repeat(10_000)).status, 204);
}

#[test]
fn large_bodies_leave_room_for_small_ones() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--in-flight-max-bytes=400000"]);
    let mut large: Vec<Client> = (0..2).map(|_| gateway.client()).collect();
    let part = "m f=1\n".repeat(30_000);
    large[0].send(&request_part(200_000, &part));
    wait_for_in_flight(&gateway, part.len());
    large[1].send(&request_part(200_001, &part));
    assert_eq!(large[1].answer().unwrap().status, 503);
    assert_eq!(gateway.put("t", &part).status, 503);
    assert_eq!(gateway.put("t", &part[..60_000]).status, 204);
}

#[test]
fn a_client_has_limits_of_its_own() {
    let (_folder, file) = store();
    let flags = [
        "--client-in-flight-max-bytes=1000",
        "--client-connections-max=4",
    ];
    let gateway = start_with_stderr(&file, &flags);
    let mut slow = gateway.client();
    slow.send(&request_part(2000, &"\n".repeat(990)));
    wait_for_in_flight(&gateway, 990);
    let mut second = gateway.client();
    second.send(&request_part(2000, &"\n".repeat(20)));
    let refused = second.answer().unwrap();
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(second.answer().is_none());
    drop(slow);
    // A body that arrives at once is no part of one.
    assert_eq!(gateway.put("t", &"m f=1\n".repeat(500)).status, 204);
    wait_for_in_flight(&gateway, 0);
    let mut third = gateway.client();
    third.send(&request_part(990, &format!("m f=1{}", "\n".repeat(980))));
    wait_for_in_flight(&gateway, 985);
    third.send(b"\n\n\n\n\n");
    assert_eq!(third.answer().unwrap().status, 204);
    expect_refusal(gateway, 429, "bodies that are not complete");
}

/// A gateway whose stderr is read at its end.
fn start_with_stderr(store: &Path, flags: &[&str]) -> Gateway {
    Gateway::start_by(command(store, flags).stderr(Stdio::piped()))
}

/// The audit of the gateway, which ends, has the refusal and the address.
fn expect_refusal(mut gateway: Gateway, status: u16, words: &str) {
    let said = gateway.end();
    let start = format!("{{\"audit\":\"refused\",\"status\":{status},");
    let line = said.lines().find(|line| line.starts_with(&start));
    let line = line.unwrap_or_else(|| panic!("no refusal in {said}"));
    let is_whole = line.contains(words) && line.contains("\"client\":\"127.0.0.1\"");
    assert!(is_whole, "{words} in {line}");
}

#[test]
fn connections_of_one_client_are_limited_and_the_refusal_arrives() {
    let (_folder, file) = store();
    let gateway = start_with_stderr(&file, &["--client-connections-max=2"]);
    let mut open: Vec<Client> = (0..2).map(|_| gateway.client()).collect();
    for client in &mut open {
        client.send(READ.as_bytes());
        assert_eq!(client.answer().unwrap().status, 200);
    }
    for _ in 0..20 {
        let mut refused = gateway.client();
        // It may have been answered already.
        let _ = refused.socket().write_all(READ.as_bytes());
        let answer = refused.answer().expect("an answer and no reset");
        assert_eq!(answer.status, 429, "{}", answer.body);
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    open.clear();
    while gateway
        .client()
        .socket()
        .write_all(READ.as_bytes())
        .is_err()
    {}
    expect_refusal(gateway, 429, "too many connections of this client");
}

#[test]
fn a_request_that_does_not_arrive_is_in_the_audit() {
    let (_folder, file) = store();
    let gateway = start_with_stderr(&file, &["--head-timeout=2s"]);
    let mut slow = gateway.client();
    slow.send(b"GET / HTTP/1.1\r\n");
    assert_eq!(slow.answer().unwrap().status, 408);
    expect_refusal(gateway, 408, "did not arrive in time");
}

#[test]
fn a_body_may_take_longer_than_its_timeout_as_long_as_it_arrives() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--body-timeout=2s", "--body-min-rate=1"]);
    let mut client = gateway.client();
    client.send(&request_part(5 + 50, "m f=1"));
    // Five seconds, in steps that are far shorter than the timeout.
    for _ in 0..50 {
        std::thread::sleep(std::time::Duration::from_millis(100));
        client.send(b"\n");
    }
    assert_eq!(client.answer().unwrap().status, 204);
    let gateway = Gateway::start(&file.with_extension("2"), &["--body-timeout=300ms"]);
    let mut client = gateway.client();
    client.send(&request_part(5 + 1000, "m f=1"));
    // Each byte is progress, but too little.
    while client.socket().write_all(b"\n").is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn bytes_in_flight_are_limited() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--in-flight-max-bytes=1000"]);
    let mut slow = gateway.client();
    let part = format!("m f=1{}", "\n".repeat(985));
    slow.send(&request_part(1000, &part));
    wait_for_in_flight(&gateway, 990);
    let refused = gateway.put("t", "m f=1 1234567890");
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), Some("1"));
    let mut second = gateway.client();
    second.send(&request_part(100, "m f=1 1234567890"));
    let refused = second.answer().unwrap();
    assert_eq!(
        (refused.status, refused.header("connection")),
        (503, Some("close"))
    );
    slow.send(&[b'\n'; 10]);
    assert_eq!(slow.answer().unwrap().status, 204);
    assert_eq!(gateway.put("t", "m f=1 1234567890").status, 204);
    assert!(
        gateway
            .get("/metrics")
            .body
            .contains("waggle_gateway_in_flight_bytes 0\n")
    );
}

#[test]
fn disconnected_clients_release_their_bytes_in_flight() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--body-max-bytes=1000", "--body-timeout=1s"]);
    let put = "PUT /api/v1/topics/t/records HTTP/1.1\r\nHost: a\r\n";
    let nowhere = "GET /nowhere HTTP/1.1\r\nHost: a\r\n";
    for unfinished in [
        format!("{put}Content-Length: 990\r\n\r\nm f=1"),
        format!("{put}Content-Length: 990\r\nExpect: 100-continue\r\n\r\n"),
        format!("{put}Transfer-Encoding: chunked\r\n\r\n5\r\nm f=1\r\n3c0\r\n"),
        format!("{put}Transfer-Encoding: chunked\r\n\r\n5\r\nm f=1\r\nxyz\r\n"),
        format!("{put}Transfer-Encoding: chunked\r\n\r\n5\r\nm f=1\r\nfff\r\n"),
        format!("{put}Content-Length: 5\r\n\r\nm f=1").repeat(5),
        format!("{nowhere}Content-Length: 900\r\n\r\nm f=1"),
        format!(
            "{nowhere}Content-Length: 900\r\n\r\n{}{put}",
            "x".repeat(900)
        ),
    ] {
        gateway.client().send(unfinished.as_bytes());
    }
    // This one stays connected and gets a 408.
    let mut slow = gateway.client();
    slow.send(format!("{put}Content-Length: 990\r\n\r\n").as_bytes());
    assert_eq!(slow.answer().unwrap().status, 408);
    while !gateway
        .get("/metrics")
        .body
        .contains("waggle_gateway_in_flight_bytes 0\n")
    {}
}

#[test]
fn records_that_wait_for_the_store_are_limited() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--queue-max-records=10", "--commit-delay=1h"]);
    let mut waiting = gateway.client();
    waiting.send(put("t", &"m f=1\n".repeat(5)).as_bytes());
    while !gateway
        .get("/metrics")
        .body
        .contains("waggle_gateway_in_flight_bytes 30\n")
    {}
    let refused = gateway.put("t", &"m f=1\n".repeat(6));
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), Some("1"));
    gateway.signal("TERM");
    assert_eq!(waiting.answer().unwrap().status, 204);
}

/// A client that requests more than sockets hold, and reads nothing.
pub(crate) fn greedy(gateway: &Gateway) -> Client {
    let body = format!("m f=\"{}\"\n", "x".repeat(60_000)).repeat(100);
    assert_eq!(gateway.put("large", &body).status, 204);
    let mut client = gateway.client();
    let ask = "GET /api/v1/topics/large/records HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send(ask.repeat(8).as_bytes());
    while gateway
        .get("/metrics")
        .body
        .contains("waggle_gateway_records_read_total 0\n")
    {}
    client
}

#[test]
fn unread_answers_are_limited() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--answers-max-bytes=600000"]);
    let greedy = greedy(&gateway);
    // Memory for the largest answer is reserved first.
    let refused = gateway.get("/api/v1/topics/large/records?limit=1");
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(
        gateway
            .get("/api/v1/query?topic=large&measurement=m&limit=1")
            .status,
        503
    );
    drop(greedy);
    while !gateway
        .get("/metrics")
        .body
        .contains("waggle_gateway_answer_bytes 0\n")
    {}
    assert_eq!(
        gateway.get("/api/v1/topics/large/records?limit=1").status,
        200
    );
}

/// Memory of answers, by a page of metrics.
pub(crate) fn answer_bytes(metrics: &str) -> usize {
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("waggle_gateway_answer_bytes "));
    line.unwrap().parse().unwrap()
}

#[test]
fn one_client_cannot_hold_all_memory_for_answers() {
    let (_folder, file) = store();
    let gateway = start_with_stderr(&file, &["--client-answers-max-bytes=600000"]);
    let greedy = greedy(&gateway);
    wait_until("a part waits for its client", || {
        answer_bytes(&gateway.get("/metrics").body) > 0
    });
    for target in [
        "/api/v1/topics/large/records",
        "/api/v1/query?topic=large&measurement=m",
    ] {
        let refused = gateway.get(target);
        assert_eq!(refused.status, 429, "{target}: {}", refused.body);
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    drop(greedy);
    wait_until("its memory is free", || {
        answer_bytes(&gateway.get("/metrics").body) == 0
    });
    assert_eq!(gateway.get("/api/v1/topics/large/records").status, 200);
    expect_refusal(gateway, 429, "has not read too many answers");
}

#[test]
fn a_read_ends_with_what_it_has_when_its_time_is_over() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--read-timeout=1ns", "--commit-delay=0s"]);
    // Chunks of their own, each a block of a scan.
    for time in 0..50 {
        assert_eq!(gateway.put("t", &format!("m f=1 {time}")).status, 204);
    }
    let (mut offset, mut lines) = ("0".to_owned(), 0);
    while lines < 50 {
        let page = gateway.get(&format!("/api/v1/topics/t/records?offset={offset}"));
        assert_eq!(page.status, 200, "{}", page.body);
        let count = page.body.lines().count();
        assert!((1..50).contains(&count), "{count} records");
        lines += count;
        offset = page.header("waggle-next-offset").unwrap().to_owned();
    }
    let query = gateway.get("/api/v1/query?topic=t&measurement=m&aggregate=count");
    assert!(query.body.contains("\"truncated\":true"), "{}", query.body);
}

#[test]
fn new_topics_of_one_client_are_limited() {
    let (_folder, file) = store();
    let gateway = start_with_stderr(&file, &["--client-topics-max=3"]);
    let statuses: Vec<u16> = (0..5)
        .map(|number| gateway.put(&format!("t{number}"), "m f=1").status)
        .collect();
    // A minute may begin in between, but not twice.
    let refused = statuses.iter().filter(|status| **status == 429).count();
    assert!((1..=2).contains(&refused), "{statuses:?}");
    assert_eq!(gateway.put("t0", "m f=1").status, 204);
    expect_refusal(gateway, 429, "--client-topics-max");
}

#[test]
fn a_client_that_reads_slowly_is_not_disconnected() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--write-timeout=10s"]);
    let mut greedy = greedy(&gateway);
    // Much less than the buffers of the kernel in the time of a timeout, and for two of them.
    let (mut received, mut block) = (0, [0; 10_000]);
    for _ in 0..100 {
        received += greedy.socket().read(&mut block).unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(received <= 1_000_000);
    let mut block = vec![0; 1 << 20];
    while received < 40_000_000 {
        let count = greedy.socket().read(&mut block).unwrap();
        assert!(count > 0, "the connection ended after {received} bytes");
        received += count;
    }
}

#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--write-timeout=100ms"]);
    let _greedy = greedy(&gateway);
    // The remaining connection is that of the request for metrics.
    while !gateway
        .get("/metrics")
        .body
        .contains("waggle_gateway_connections 1\n")
    {}
}

#[test]
fn a_client_that_does_not_read_does_not_delay_the_shutdown() {
    let (_folder, file) = store();
    let mut gateway = Gateway::start(&file, &["--drain-timeout=100ms", "--write-timeout=1h"]);
    let _greedy = greedy(&gateway);
    gateway.signal("TERM");
    assert!(gateway.wait().success());
}

#[test]
fn an_answer_stops_at_its_limits_with_the_next_offset() {
    let (_folder, file) = store();
    let flags = [
        "--answer-max-records=3",
        "--answer-max-bytes=130",
        "--query-max-records=4",
    ];
    let gateway = Gateway::start(&file, &flags);
    assert_eq!(
        gateway
            .put("t", "m f=1 1\nm f=2 2\nm f=3 3\nm f=4 4\nm f=5 5")
            .status,
        204
    );
    let page = gateway.get("/api/v1/topics/t/records?limit=1000");
    assert_eq!(page.header("waggle-limit"), Some("3"));
    assert_eq!(page.header("waggle-next-offset"), Some("2"));
    assert_eq!(page.body.lines().count(), 2);
    assert_eq!(gateway.records("t").len(), 5);
    let nothing_yet = gateway.get("/api/v1/topics/t/records?from=5");
    assert_eq!(nothing_yet.body, "");
    assert_eq!(nothing_yet.header("waggle-next-offset"), Some("4"));
    let response = gateway.get("/api/v1/topics/t/records?from=5&offset=4");
    assert_eq!(response.body.lines().count(), 1);
    let rows = gateway.get("/api/v1/query?topic=t&measurement=m&aggregate=sum&window=1ns");
    assert!(
        rows.body.contains("\"truncated\":true") && rows.body.matches("\"time\"").count() == 3,
        "{}",
        rows.body
    );
    let sum = gateway.get("/api/v1/query?topic=t&measurement=m&aggregate=sum");
    assert!(
        sum.body.contains("\"truncated\":true") && sum.body.contains("\"f\":10.0"),
        "{}",
        sum.body
    );
}

#[test]
fn a_record_of_a_far_future_hides_no_later_ones() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--time-ahead-max=1h"]);
    let hour = 3_600_000_000_000;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = i64::try_from(now.unwrap().as_nanos()).unwrap();
    let (soon, late) = (now + hour / 2, now + 2 * hour);
    let body = format!("m f=1 {soon}\nm f=2 {late}");
    let refused = gateway.put("t", &body);
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("\"line\":2"), "{}", refused.body);
    assert!(
        refused.body.contains("--time-ahead-max"),
        "{}",
        refused.body
    );
    let json = format!("{{\"measurement\":\"m\",\"fields\":{{\"f\":1}},\"time\":{late}}}");
    let request = put("t", &json).replace("Host", "Content-Type: application/json\r\nHost");
    assert_eq!(gateway.ask(&request).status, 400);
    assert_eq!(gateway.put("t", &format!("m f=3 {soon}")).status, 204);
    assert_eq!(gateway.put("t", "m f=4").status, 204);
    let latest = gateway.get("/api/v1/topics/t/latest?series=m");
    assert!(latest.body.contains("\"f\":3"), "{}", latest.body);
}
