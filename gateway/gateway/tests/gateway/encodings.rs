//! Bodies in gzip and zstd: they are taken as plain ones are, and what is small when sent cannot take much.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::{
    kafka::shared_broker,
    support::{Answer, Gateway, kafka_command, store, wait_until},
};

const RECORDS: &str = "/api/v1/topics/t/records";

pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

fn start(flags: &[&str]) -> (tempfile::TempDir, Gateway) {
    let (folder, file) = store();
    let gateway = Gateway::start(&file, flags);
    (folder, gateway)
}

fn request(target: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("POST {target} HTTP/1.1\r\nHost: a\r\n{fields}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn send(gateway: &Gateway, target: &str, coding: &str, body: &[u8]) -> Answer {
    let fields = format!("Content-Encoding: {coding}\r\n");
    let mut client = gateway.client();
    client.send(&request(target, &fields, body));
    client.answer().expect("an answer")
}

/// Bytes of bodies that the gateway counts as not answered.
fn in_flight(gateway: &Gateway) -> String {
    let metrics = gateway.get("/metrics").body;
    let mut lines = metrics.lines();
    let line = lines.find(|line| line.starts_with("waggle_gateway_in_flight_bytes "));
    line.unwrap().to_owned()
}

/// Distinct records that compress badly enough.
fn lines(count: usize) -> Vec<u8> {
    let line = |index: usize| format!("m,h=a{} f={}i {index}\n", index % 7, index * 7919 % 10_007);
    (0..count).map(line).collect::<String>().into_bytes()
}

#[test]
fn coded_bodies_are_taken_by_every_call_that_writes() {
    let (_folder, gateway) = start(&[]);
    let text = lines(5000);
    let mut written = 0;
    for target in [
        RECORDS,
        "/write?db=t",
        "/api/v2/write?bucket=t",
        "/api/v3/write_lp?db=t&precision=nanosecond",
    ] {
        let halves = text.split_at(text.len() / 2);
        for (coding, body) in [
            ("gzip", gzip(&text)),
            ("x-gzip", [gzip(halves.0), gzip(halves.1)].concat()),
            ("zstd", zstd(&text)),
            // With a frame without content between the others.
            (
                "ZSTD",
                [
                    zstd(halves.0),
                    b"\x50\x2A\x4D\x18\x03\0\0\0abc".to_vec(),
                    zstd(halves.1),
                ]
                .concat(),
            ),
            ("identity", text.clone()),
        ] {
            let answer = send(&gateway, target, coding, &body);
            assert_eq!(answer.status, 204, "{target} {coding}: {}", answer.body);
            written += 5000;
        }
    }
    assert_eq!(gateway.records("t").len(), written);
    let json = gzip(br#"[{"measurement":"j","fields":{"f":1}}]"#);
    let fields = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    let mut client = gateway.client();
    // Pipelined, one coded and one not.
    let mut requests = request("/api/v1/topics/j/records", fields, &json);
    requests.extend(request("/api/v1/topics/j/records", "", b"m f=1"));
    client.send(&requests);
    assert_eq!(client.answer().unwrap().status, 204);
    assert_eq!(client.answer().unwrap().status, 204);
    assert_eq!(gateway.records("j").len(), 2);
    assert_eq!(in_flight(&gateway), "waggle_gateway_in_flight_bytes 0");
}

#[test]
fn bodies_that_are_not_what_they_say_store_nothing() {
    let (_folder, gateway) = start(&[]);
    let text = lines(100);
    let broken = |coded: &[u8]| {
        let mut broken = coded.to_vec();
        let last = broken.len() - 6;
        broken[last] ^= 0x55;
        broken
    };
    let (gzipped, packed) = (gzip(&text), zstd(&text));
    for (coding, body) in [
        ("gzip", text.clone()),
        ("zstd", text.clone()),
        ("gzip", packed.clone()),
        ("zstd", gzipped.clone()),
        ("gzip", gzipped[..gzipped.len() - 1].to_vec()),
        ("zstd", packed[..packed.len() - 1].to_vec()),
        ("gzip", broken(&gzipped)),
        ("zstd", broken(&packed)),
        ("gzip", [&*gzipped, b"x"].concat()),
        ("zstd", [&*packed, b"x"].concat()),
        ("zstd", b"\x50\x2A\x4D\x18\xFF\xFF\xFF\xFFabc".to_vec()),
        ("gzip", gzip(b"").repeat(1001)),
        ("zstd", zstd(b"").repeat(1001)),
        ("gzip", Vec::new()),
    ] {
        let answer = send(&gateway, RECORDS, coding, &body);
        assert_eq!(answer.status, 400, "{coding} {body:x?}: {}", answer.body);
    }
    let several = "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n";
    let mut client = gateway.client();
    client.send(&request(RECORDS, several, &gzip(&gzipped)));
    assert_eq!(client.answer().unwrap().status, 415);
    for coding in ["gzip, gzip", "deflate", "br"] {
        assert_eq!(send(&gateway, RECORDS, coding, &gzipped).status, 415);
    }
    assert_eq!(gateway.records("t"), Vec::<String>::new());
    assert_eq!(in_flight(&gateway), "waggle_gateway_in_flight_bytes 0");
}

#[test]
fn what_is_small_when_sent_cannot_take_much() {
    let (_folder, gateway) = start(&["--body-max-bytes=1000000", "--body-max-ratio=20"]);
    let check = |coding: &str, body: &[u8], status: u16, expected: &str| {
        for target in [RECORDS, "/write?db=t", "/api/v2/write?bucket=t"] {
            let answer = send(&gateway, target, coding, body);
            assert_eq!(answer.status, status, "{coding}: {}", answer.body);
            assert!(answer.body.contains(expected), "{}", answer.body);
            assert_eq!(in_flight(&gateway), "waggle_gateway_in_flight_bytes 0");
        }
    };
    let blanks = |bytes: usize| {
        let mut text = vec![b'\n'; bytes];
        text.extend_from_slice(b"m f=1 1");
        text
    };
    let (small, large) = (blanks(60_000), blanks(100_000_000));
    check("gzip", &gzip(&small), 204, "");
    check("zstd", &zstd(&small), 204, "");
    check("gzip", &gzip(&blanks(70_000)), 413, "--body-max-ratio");
    check("zstd", &zstd(&blanks(70_000)), 413, "--body-max-ratio");
    // By a ratio that is allowed the size is above the maximum.
    check("gzip", &gzip(&large), 413, "--body-max-bytes");
    let badly = lines(100_000);
    assert!(badly.len() > 1_000_000);
    check("gzip", &gzip(&badly), 413, "--body-max-bytes");
    check("zstd", &zstd(&badly), 413, "--body-max-bytes");
    // A window of 16 MiB, and one of 3.75 TiB.
    let window = |byte: u8| [0x28, 0xB5, 0x2F, 0xFD, 0x00, byte, 0x01, 0, 0];
    check("zstd", &window(14 << 3), 413, "window");
    check("zstd", &window(0xFF), 413, "window");
    assert_eq!(gateway.records("t").len(), 6);
}

#[test]
fn decoded_bytes_count_as_in_flight() {
    let flags = ["--in-flight-max-bytes=200000", "--body-max-ratio=1000"];
    let (_folder, gateway) = start(&flags);
    let text = lines(15_000);
    assert!(text.len() > 200_000 && gzip(&text).len() < 150_000);
    for (coding, body) in [("gzip", gzip(&text)), ("zstd", zstd(&text))] {
        let answer = send(&gateway, RECORDS, coding, &body);
        assert_eq!(answer.status, 503, "{coding}: {}", answer.body);
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert_eq!(in_flight(&gateway), "waggle_gateway_in_flight_bytes 0");
    assert_eq!(
        send(&gateway, RECORDS, "gzip", &gzip(&lines(1000))).status,
        204
    );
    assert_eq!(gateway.records("t").len(), 1000);
}

/// The body waits, coded, while Kafka is asked for the topic, and is decoded again.
#[test]
fn coded_bodies_create_topics_of_kafka() {
    let kafka = shared_broker();
    let brokers = kafka.brokers();
    let flags = ["--kafka-partitions=1"];
    let gateway = Gateway::start_by(&mut kafka_command(&brokers, &flags));
    wait_until("Kafka is reached", || gateway.get("/readyz").status == 200);
    let text = lines(1000);
    for (target, coding, body) in [
        ("/write?db=coded-1", "gzip", gzip(&text)),
        ("/api/v2/write?bucket=coded-2", "zstd", zstd(&text)),
    ] {
        let answer = send(&gateway, target, coding, &body);
        assert_eq!(answer.status, 204, "{target}: {}", answer.body);
    }
    let metrics = gateway.get("/metrics").body;
    let accepted = "waggle_gateway_records_accepted_total 2000\n";
    assert!(metrics.contains(accepted), "{metrics}");
    assert_eq!(in_flight(&gateway), "waggle_gateway_in_flight_bytes 0");
}
