//! Streams beside each other: no order, windows, drain.

use waggle_testkit::stream_client::StreamClient;
use waggle_wire::http2::{
    error::ErrorCode,
    frame::{self, END_STREAM, Kind},
};

use super::{
    frames::{Raw, frame, headers},
    *,
};
use crate::support::wait_until;

#[test]
fn a_hundred_streams_are_answered() {
    let mut lab = Lab::start(&[]);
    let bodies = (0..100).map(|number| format!("m f={number}"));
    let requests: Vec<Request> = bodies.map(|body| put(&body)).collect();
    for answer in lab.client.ask_all(requests) {
        assert_eq!(answer.unwrap().status, 204);
    }
    let latest = "/api/v1/topics/t/latest";
    for answer in lab.client.ask_all(vec![get(latest); 100]) {
        assert_eq!(answer.unwrap().body.lines().count(), 1);
    }
    let read = lab.check(get(RECORDS), 200, "");
    assert_eq!(read.body.lines().count(), 100);
}

#[test]
fn streams_above_the_limit_wait_for_their_turn() {
    let mut lab = Lab::start(&["--pipelining-max=3"]);
    // The client knows the limit from the settings, which come with the first answer.
    lab.check(get("/healthz"), 200, "");
    for answer in lab.client.ask_all(vec![put("m f=1"); 50]) {
        assert_eq!(answer.unwrap().status, 204);
    }
}

#[test]
fn a_request_is_answered_before_an_earlier_one_that_is_incomplete() {
    let mut lab = Lab::start(&[]);
    let mut first = lab.client.open(head("PUT", RECORDS, &[]), false).unwrap();
    lab.client
        .send(&mut first, "m f=1\n".into(), false)
        .unwrap();
    lab.check(put("m f=2"), 204, "");
    lab.client.send(&mut first, "m f=3\n".into(), true).unwrap();
    assert_eq!(lab.client.answer(first).unwrap().status, 204);
    let read = lab.check(get(RECORDS), 200, "");
    assert_eq!(read.body.lines().count(), 3);
}

#[test]
fn large_pages_go_through_small_windows() {
    let mut lab = Lab::start(&["--answers-max-bytes=20000000"]);
    let records: String = (0..20_000)
        .map(|number| format!("m f={number}\n"))
        .collect();
    for _ in 0..3 {
        lab.check(put(&records), 204, "");
    }
    let whole = lab.gateway.get(&format!("{RECORDS}?limit=60000")).body;
    assert!(whole.len() > 4_000_000, "{}", whole.len());
    for (stream, connection) in [(1_000, 65_535), (65_535, 65_535), (16 << 20, 16 << 20)] {
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(stream);
        builder.initial_connection_window_size(connection);
        let mut client = StreamClient::connect_with(lab.gateway.address, &builder);
        let page = get(&format!("{RECORDS}?limit=60000"));
        for answer in client.ask_all(vec![page.clone(), get("/healthz"), page]) {
            let answer = answer.unwrap();
            assert_eq!(answer.status, 200);
            assert!(answer.body == whole || answer.body.len() < 10);
        }
    }
}

#[test]
fn large_bodies_arrive_in_parts() {
    let mut lab = Lab::start(&[]);
    let body = "m f=1\n".repeat(500_000);
    let requests = vec![put(&body), put("m f=1"), put(&body)];
    for answer in lab.client.ask_all(requests) {
        assert_eq!(answer.unwrap().status, 204);
    }
    let page = lab.check(get("/metrics"), 200, "").body;
    assert!(page.contains("waggle_gateway_stored_records_total 1000001\n"));
    assert!(page.contains("waggle_gateway_in_flight_bytes 0\n"));
}

#[test]
fn a_client_that_expects_it_is_told_to_continue() {
    let mut lab = Lab::start(&["--body-max-bytes=10"]);
    let expects = [("expect", "100-continue"), ("content-length", "5")];
    let mut stream = lab
        .client
        .open(head("PUT", RECORDS, &expects), false)
        .unwrap();
    let informed = lab.client.wait_for_informed(&mut stream).unwrap();
    assert_eq!(informed, 100);
    lab.client.send(&mut stream, "m f=1".into(), true).unwrap();
    assert_eq!(lab.client.answer(stream).unwrap().status, 204);
    // It need not send a body that is not taken.
    let expects = [("expect", "100-continue"), ("content-length", "11")];
    let stream = lab
        .client
        .open(head("PUT", RECORDS, &expects), false)
        .unwrap();
    assert_eq!(lab.client.answer(stream).unwrap().status, 413);
}

#[test]
fn a_drain_finishes_open_streams() {
    let mut lab = Lab::start(&["--drain-timeout=60s"]);
    let mut open = lab.client.open(head("PUT", RECORDS, &[]), false).unwrap();
    lab.client.send(&mut open, "m f=1\n".into(), false).unwrap();
    lab.check(put("m f=2"), 204, "");
    lab.gateway.signal("TERM");
    // From the GOAWAY on no further stream is opened.
    wait_until("the connection is drained", || {
        lab.client.ask(get("/healthz")).is_err()
    });
    lab.client.send(&mut open, "m f=3\n".into(), true).unwrap();
    assert_eq!(lab.client.answer(open).unwrap().status, 204);
    lab.client.wait_for_end().unwrap();
    assert!(lab.gateway.wait().success());
    let file = lab.folder.path().join("store.db");
    let gateway = Gateway::start(&file, &[]);
    assert_eq!(gateway.records("t").len(), 3);
}

#[test]
fn requests_that_were_complete_are_answered_after_the_client_has_ended() {
    let lab = Lab::start(&[]);
    let mut raw = frames::Raw::connect(&lab.gateway);
    raw.send(&frames::get(1, "/healthz"));
    raw.send(&frames::get(3, "/nowhere"));
    raw.end();
    let frames = raw.read_to_end();
    assert_eq!(frames::statuses(&frames), [(1, 200), (3, 404)]);
}

#[test]
fn what_was_complete_before_a_mistake_is_answered() {
    let lab = Lab::start(&[]);
    let mut raw = Raw::connect(&lab.gateway);
    let mistake = frame(Kind::DATA, 0, 0, b"x");
    let requests = [
        headers(1, 0, "PUT", RECORDS),
        frame(Kind::DATA, END_STREAM, 1, b"m f=1"),
        frames::get(3, "/healthz"),
        headers(5, 0, "PUT", RECORDS),
        frame(Kind::DATA, 0, 5, b"m f=2"),
    ];
    raw.send(&[&requests.concat()[..], &mistake].concat());
    let frames = raw.read_to_end();
    assert_eq!(frames::statuses(&frames), [(1, 204), (3, 200)]);
    let (head, payload) = frames.last().unwrap();
    let away = frame::go_away(*head, payload).unwrap();
    assert_eq!(
        (away.code, away.last_stream),
        (ErrorCode::PROTOCOL_ERROR, 5)
    );
    assert_eq!(lab.gateway.records("t").len(), 1);

    // An answer that the client's windows hold back ends where they have shut.
    let mut shut = Raw::connect_with(&lab.gateway, &[0, 4, 0, 0, 0, 0]);
    shut.send(&[frames::get(1, RECORDS), mistake].concat());
    assert_eq!(shut.read_code(), Some(ErrorCode::PROTOCOL_ERROR));
}
