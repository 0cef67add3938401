//! What a client may cost: bodies, resets, floods, windows that stay shut, time.

use std::net::Ipv4Addr;

use waggle_wire::http2::{
    error::ErrorCode,
    frame::{END_STREAM, Kind, PREFACE},
};

use super::{
    frames::{Raw, frame, headers, reset},
    *,
};
use crate::support::wait_until;

fn wait_for_in_flight(gateway: &Gateway, bytes: usize) {
    let line = format!("waggle_gateway_in_flight_bytes {bytes}\n");
    wait_until("that many bytes are in flight", || {
        gateway.get("/metrics").body.contains(&line)
    });
}

#[test]
fn bodies_have_the_limits_of_all_others() {
    let mut lab = Lab::start(&["--body-max-bytes=1000"]);
    // Announced, and not.
    let long = [("content-length", "1001")];
    let stream = lab.client.open(head("PUT", RECORDS, &long), false).unwrap();
    assert_eq!(lab.client.answer(stream).unwrap().status, 413);
    for is_end in [false, true] {
        let mut stream = lab.client.open(head("PUT", RECORDS, &[]), false).unwrap();
        lab.client
            .send(&mut stream, vec![b'\n'; 900].into(), false)
            .unwrap();
        wait_for_in_flight(&lab.gateway, 900);
        lab.client
            .send(&mut stream, vec![b'\n'; 101].into(), is_end)
            .unwrap();
        assert_eq!(lab.client.answer(stream).unwrap().status, 413);
        wait_for_in_flight(&lab.gateway, 0);
    }
    lab.check(put("m f=1"), 204, "");
}

#[test]
fn memory_for_bodies_is_limited_by_client() {
    let mut lab = Lab::start(&["--client-in-flight-max-bytes=1000"]);
    let open = |lab: &mut Lab, length: usize| {
        let mut stream = lab.client.open(head("PUT", RECORDS, &[]), false).unwrap();
        let part = vec![b'\n'; length];
        lab.client.send(&mut stream, part.into(), false).unwrap();
        stream
    };
    let first = open(&mut lab, 990);
    wait_for_in_flight(&lab.gateway, 990);
    let second = open(&mut lab, 20);
    let refused = lab.client.answer(second).unwrap();
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), Some("1"));
    // A body that arrives at once is no part of one.
    lab.check(put("m f=1"), 204, "");
    lab.client.reset(first);
    wait_for_in_flight(&lab.gateway, 0);
    open(&mut lab, 990);
    wait_for_in_flight(&lab.gateway, 990);
    let Lab {
        gateway, client, ..
    } = lab;
    drop(client);
    wait_for_in_flight(&gateway, 0);
}

#[test]
fn a_client_that_resets_its_streams_again_and_again_is_closed() {
    let mut lab = Lab::start(&[]);
    let mut raw = Raw::connect(&lab.gateway);
    for number in 0..100_000 {
        let stream = 2 * number + 1;
        let bytes = [frames::get(stream, RECORDS), reset(stream)].concat();
        if !raw.try_send(&bytes) {
            break;
        }
    }
    // What it sent behind that may have reset the connection before the code was read.
    if let Some(code) = raw.read_code() {
        assert_eq!(code, ErrorCode::ENHANCE_YOUR_CALM);
    }
    lab.check(put("m f=1"), 204, "");
    wait_for_in_flight(&lab.gateway, 0);

    let mut raw = Raw::connect(&lab.gateway);
    // As many as may be open, and a hundred more.
    let enough: Vec<u8> = (0..128 + 101)
        .flat_map(|number| {
            let stream = 2 * number + 1;
            [headers(stream, 0, "PUT", RECORDS), reset(stream)].concat()
        })
        .collect();
    raw.send(&enough);
    assert_eq!(raw.read_code(), Some(ErrorCode::ENHANCE_YOUR_CALM));
    lab.check(put("m f=1"), 204, "");
}

#[test]
fn floods_end_their_connection() {
    let mut lab = Lab::start(&[]);
    let floods = [
        frame(Kind::PING, 0, 0, &[0; 8]),
        frame(Kind::SETTINGS, 0, 0, b""),
        frame(Kind::PRIORITY, 0, 3, &[0; 5]),
        frame(Kind(99), 0, 0, b""),
        frame(Kind::WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]),
        frame(Kind::DATA, 0, 1, b""),
    ];
    for flood in floods {
        let mut raw = Raw::connect(&lab.gateway);
        raw.send(&headers(1, 0, "PUT", RECORDS));
        raw.send(&flood.repeat(1000));
        assert_eq!(raw.read_code(), Some(ErrorCode::ENHANCE_YOUR_CALM));
    }
    lab.check(put("m f=1"), 204, "");
}

#[test]
fn an_answer_whose_window_stays_shut_is_given_up() {
    let mut lab = Lab::start(&["--write-timeout=1s"]);
    lab.check(put("m f=1"), 204, "");
    // No stream may send anything.
    let shut = [0, 4, 0, 0, 0, 0];
    let mut raw = Raw::connect_with(&lab.gateway, &shut);
    raw.send(&frames::get(1, RECORDS));
    raw.send(&headers(3, 0, "PUT", "/api/v1/topics/t/records"));
    let mut statuses = Vec::new();
    loop {
        let (head, payload) = raw.read().expect("the connection goes on");
        assert_ne!(head.kind, Kind::DATA);
        if head.kind == Kind::HEADERS {
            statuses.push(head.stream);
        }
        if head.kind == Kind::RST_STREAM {
            assert_eq!((head.stream, &payload[..]), (1, &[0, 0, 0, 8][..]));
            break;
        }
    }
    assert_eq!(statuses, [1]);
    // Others are not concerned.
    raw.send(&frame(Kind::DATA, END_STREAM, 3, b"m f=2"));
    raw.end();
    let frames = raw.read_to_end();
    assert!(
        frames
            .iter()
            .any(|(head, _)| head.stream == 3 && head.kind == Kind::HEADERS)
    );
    assert_eq!(lab.gateway.records("t").len(), 2);
}

#[test]
fn times_of_heads_bodies_and_idle_connections_end() {
    let flags = [
        "--head-timeout=1s",
        "--body-timeout=1s",
        "--idle-timeout=1s",
    ];
    let lab = Lab::start(&flags);
    // A part of a frame; nothing more. PING does not keep a connection.
    for part in [
        &frames::get(1, RECORDS)[..20],
        &frame(Kind::PING, 0, 0, &[0; 8]),
        b"",
    ] {
        let mut raw = Raw::connect(&lab.gateway);
        raw.send(part);
        assert_eq!(raw.read_code(), Some(ErrorCode::NO_ERROR));
    }
    let mut raw = Raw::connect(&lab.gateway);
    raw.send(&headers(1, 0, "PUT", RECORDS));
    raw.send(&frame(Kind::DATA, 0, 1, b"m f=1"));
    let frames = raw.read_to_end();
    assert_eq!(frames::statuses(&frames), [(1, 408)]);
    wait_for_in_flight(&lab.gateway, 0);
}

#[test]
fn settings_that_are_not_acknowledged_end_their_connection() {
    let mut lab = Lab::start(&["--head-timeout=1s"]);
    // It acknowledges them while it is asked.
    lab.check(put("m f=1"), 204, "");
    let settings = frame(Kind::SETTINGS, 0, 0, b"");
    for start in [
        &[][..],
        &settings,
        &[&settings[..], &frames::get(1, RECORDS)].concat(),
    ] {
        let mut raw = Raw::open(&lab.gateway);
        raw.send(PREFACE);
        raw.send(start);
        assert_eq!(raw.read_code(), Some(ErrorCode::SETTINGS_TIMEOUT));
    }
    lab.check(put("m f=1"), 204, "");
}

#[test]
fn a_client_has_one_limit_of_resets_and_floods_for_all_of_its_connections() {
    let mut lab = Lab::start(&["--client-flood-max=50"]);
    let resets = |raw: &mut Raw| {
        let streams = (0..20).map(|number| 2 * number + 1);
        let pairs = streams.map(|stream| [headers(stream, 0, "PUT", RECORDS), reset(stream)]);
        let ping = frame(Kind::PING, 0, 0, &[0; 8]);
        let all: Vec<Vec<u8>> = pairs.flatten().chain([ping]).collect();
        raw.send(&all.concat());
    };
    let is_alive = |raw: &mut Raw| {
        let mut frames = std::iter::from_fn(|| raw.read());
        frames.any(|(head, _)| head.kind == Kind::PING)
    };
    // One after the other, and the first ones are closed.
    for _ in 0..2 {
        let mut raw = Raw::connect(&lab.gateway);
        resets(&mut raw);
        assert!(is_alive(&mut raw));
    }
    let mut other = Raw::connect_from(Ipv4Addr::new(127, 0, 0, 2), &lab.gateway);
    resets(&mut other);
    assert!(is_alive(&mut other));
    for _ in 0..2 {
        let mut raw = Raw::connect(&lab.gateway);
        resets(&mut raw);
        assert_eq!(raw.read_code(), Some(ErrorCode::ENHANCE_YOUR_CALM));
    }
    other.send(&frame(Kind::PING, 0, 0, &[0; 8]));
    assert!(is_alive(&mut other));
    // What it does not do in vain is served.
    lab.check(put("m f=1"), 204, "");
}

#[test]
fn a_client_that_does_not_read_is_not_read_from() {
    let lab = Lab::start(&["--write-timeout=1s"]);
    let mut raw = Raw::connect(&lab.gateway);
    // Each is answered by a head and a body of some hundred bytes; a client that reads none of it gets no further.
    let mut sent = 0;
    while sent < 1_000_000 && raw.try_send(&frames::get(2 * sent + 1, "/nowhere")) {
        sent += 1;
    }
    assert!(sent < 1_000_000, "the connection was closed");
    assert_eq!(lab.gateway.get("/healthz").status, 200);
}
