//! Clients that leave while their reads run or wait.

use std::time::Duration;

use socket2::SockRef;

use crate::support::{Client, Gateway, put, store, wait_until};

const QUERY: &str =
    "GET /api/v1/query?topic=t&measurement=m&aggregate=mean HTTP/1.1\r\nHost: a\r\n\r\n";

/// A gateway that has one read run at a time, and enough records that it takes some time.
fn start() -> (tempfile::TempDir, Gateway) {
    let (folder, file) = store();
    let flags = ["--query-concurrency=1", "--read-timeout=1h"];
    let gateway = Gateway::start(&file, &flags);
    let records: String = (0..100_000)
        .map(|time| format!("m f=1.5 {time}\n"))
        .collect();
    let mut client = gateway.client();
    client.send(put("t", &records).repeat(4).as_bytes());
    for _ in 0..4 {
        assert_eq!(client.answer().unwrap().status, 204);
    }
    (folder, gateway)
}

fn metric(gateway: &Gateway, name: &str) -> u64 {
    let page = gateway.get("/metrics").body;
    let start = format!("waggle_gateway_{name} ");
    let value = page.lines().find_map(|line| line.strip_prefix(&start));
    value
        .unwrap_or_else(|| panic!("no {name} in {page}"))
        .parse()
        .unwrap()
}

/// Nothing is held, and other clients are served.
#[track_caller]
fn check_is_free(gateway: &Gateway) {
    wait_until("memory is free", || metric(gateway, "answer_bytes") == 0);
    let mut client = gateway.client();
    client.send(QUERY.as_bytes());
    let answer = client.answer().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(
        answer.body.contains("\"truncated\":false"),
        "{}",
        answer.body
    );
}

#[test]
fn a_query_stops_when_its_connection_is_reset() {
    let (_folder, gateway) = start();
    wait_until("a query has stopped", || {
        let mut client = gateway.client();
        client.send(QUERY.as_bytes());
        wait_until("it runs or has ended", || {
            metric(&gateway, "answer_bytes") > 0 || metric(&gateway, "records_looked_at_total") > 0
        });
        let linger = Some(Duration::ZERO);
        SockRef::from(&*client.socket()).set_linger(linger).unwrap();
        drop(client);
        metric(&gateway, "reads_stopped_total") > 0
    });
    assert!(metric(&gateway, "requests_abandoned_total") > 0);
    check_is_free(&gateway);
}

#[test]
fn queries_that_wait_end_soon_after_their_clients_have_closed() {
    let (_folder, gateway) = start();
    wait_until("some have ended", || {
        let mut clients: Vec<Client> = (0..10).map(|_| gateway.client()).collect();
        for client in &mut clients {
            client.send(QUERY.as_bytes());
        }
        drop(clients);
        // Half of a connection is enough to read an answer from.
        let mut half = gateway.client();
        half.send(b"GET /api/v1/topics/t/latest?series=m HTTP/1.1\r\nHost: a\r\n\r\n");
        half.socket().shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(half.answer().unwrap().status, 200);
        metric(&gateway, "requests_abandoned_total") > 0
    });
    check_is_free(&gateway);
}
