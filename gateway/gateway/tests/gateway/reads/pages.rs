//! Large pages of records: kept whole while there is memory, else in parts.

use std::io::Read;

use crate::{
    limits::{answer_bytes, greedy},
    support::{Gateway, store, wait_until},
};

/// Too little memory for more than a part of a page.
const SCARCE: &str = "--answers-max-bytes=1500000";

#[test]
fn a_large_answer_is_read_in_parts_as_its_client_takes_them() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &[SCARCE]);
    let mut greedy = greedy(&gateway);
    // Six megabytes are asked for eight times, and one part is in memory.
    wait_until("a part waits for its client", || {
        answer_bytes(&gateway.get("/metrics").body) > 0
    });
    assert!(answer_bytes(&gateway.get("/metrics").body) < 1_000_000);
    let whole = gateway.records("large").join("\n") + "\n";
    for _ in 0..8 {
        let answer = greedy.answer().expect("a whole answer");
        assert_eq!(answer.header("waggle-next-offset"), Some("100"));
        assert!(
            answer.body == whole,
            "{} bytes of {}",
            answer.body.len(),
            whole.len()
        );
    }
    let target = "/api/v1/topics/large/records?from=0&select=g";
    greedy.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
    assert!(greedy.answer().unwrap().body.ends_with("\"fields\":{}}\n"));
    let head = "HEAD /api/v1/topics/large/records HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let mut client = gateway.client();
    client.send(head.as_bytes());
    let mut answer = String::new();
    client.socket().read_to_string(&mut answer).unwrap();
    assert!(
        answer.contains(&format!("content-length: {}\r\n", whole.len())),
        "{answer}"
    );
    assert!(answer.ends_with("\r\n\r\n"));
}

#[test]
fn a_large_answer_is_kept_whole_while_there_is_memory() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &[]);
    let mut greedy = greedy(&gateway);
    wait_until("an answer waits for its client", || {
        answer_bytes(&gateway.get("/metrics").body) > 0
    });
    assert!((6_000_000..7_000_000).contains(&answer_bytes(&gateway.get("/metrics").body)));
    let whole = gateway.records("large").join("\n") + "\n";
    for _ in 0..8 {
        let answer = greedy.answer().expect("a whole answer");
        assert_eq!(answer.header("waggle-next-offset"), Some("100"));
        assert!(answer.body == whole, "{} bytes", answer.body.len());
    }
    wait_until("its memory is free", || {
        answer_bytes(&gateway.get("/metrics").body) == 0
    });
}

#[test]
fn pages_end_at_their_limits_kept_whole_or_in_parts() {
    for memory in [&[][..], &[SCARCE]] {
        check_pages(memory);
    }
}

/// Pages of a gateway with this memory for answers.
#[track_caller]
fn check_pages(memory: &[&str]) {
    let (_folder, file) = store();
    let flags = [&["--answer-max-bytes=2000000"], memory].concat();
    let gateway = Gateway::start(&file, &flags);
    let body: String = (0..60_000)
        .map(|time| format!("m,a=b f={time}i {time}\n"))
        .collect();
    assert_eq!(gateway.put("t", &body).status, 204);
    let check = |query: &str, times: std::ops::Range<usize>, next: &str| {
        let answer = gateway.get(&format!("/api/v1/topics/t/records?{query}"));
        let expected: String = times
            .map(|time| {
                let rest = format!(
                    "\"measurement\":\"m\",\"tags\":{{\"a\":\"b\"}},\"fields\":{{\"f\":{time}}}}}"
                );
                format!("{{\"offset\":{time},\"time\":{time},{rest}\n")
            })
            .collect();
        assert!(
            answer.body == expected,
            "{query}: {} bytes",
            answer.body.len()
        );
        assert_eq!(answer.header("waggle-next-offset"), Some(next), "{query}");
    };
    check("limit=20000", 0..20_000, "20000");
    check("limit=20000&offset=31&from=0", 31..20_031, "20031");
    check("limit=100000&offset=40000", 40_000..60_000, "60000");
    check("limit=100000&from=30000&to=50000", 30_000..50_000, "60000");
    check("limit=100000&from=59000", 59_000..60_000, "60000");
    let cut = gateway.get("/api/v1/topics/t/records?limit=100000");
    let (next, lines) = (
        cut.header("waggle-next-offset").unwrap(),
        cut.body.lines().count(),
    );
    assert_eq!(next, lines.to_string());
    assert!(
        (2_000_000..2_000_100).contains(&cut.body.len()),
        "{}",
        cut.body.len()
    );
    let committed = gateway.get("/api/v1/topics/t/records?limit=10000&committed=true");
    assert_eq!(committed.body.lines().count(), 10_000);
    assert!(
        committed
            .body
            .lines()
            .all(|line| line.contains("\"committed\":"))
    );
}
