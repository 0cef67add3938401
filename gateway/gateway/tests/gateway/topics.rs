//! Topics: who may create and delete them, and what a deletion leaves.

use std::{path::Path, process::Stdio};

use crate::support::{Answer, Gateway, command, store, wait_until};

/// Two clients, with the SHA-256 of their tokens.
const CLIENTS: &str = "clients:
- name: owner
  tokens: [2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b]
  write: ['*']
  read: ['*']
  delete: [plant.*]
- name: writer
  tokens: [b93006774cbdd4b299389a03ac3d88c3a76b460d538795bc12718011a909fba5]
  write: ['*']
  create: [line.*]
";
const OWNER: &str = "secret";
const WRITER: &str = "writer";

fn start(folder: &Path, file: &Path, flags: &[&str]) -> Gateway {
    let clients = folder.join("clients.yaml");
    std::fs::write(&clients, CLIENTS).unwrap();
    let mut start = command(file, flags);
    start.arg("--clients").arg(&clients).stderr(Stdio::null());
    Gateway::start_by(&mut start)
}

fn ask(gateway: &Gateway, token: &str, method: &str, target: &str, body: &str) -> Answer {
    gateway.ask(&request(token, method, target, body))
}

fn request(token: &str, method: &str, target: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} /api/v1/topics/{target} HTTP/1.1\r\nHost: a\r\nAuthorization: Token {token}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn records(gateway: &Gateway, topic: &str) -> Vec<String> {
    let target = format!("{topic}/records?limit=100000");
    let read = ask(gateway, OWNER, "GET", &target, "");
    assert_eq!(read.status, 200, "{}", read.body);
    read.body.lines().map(str::to_owned).collect()
}

#[test]
fn a_topic_is_created_and_deleted_with_the_right_to_it() {
    let (folder, file) = store();
    let gateway = start(folder.path(), &file, &[]);
    let check = |token: &str, method: &str, target: &str, status: u16| {
        let answer = ask(&gateway, token, method, target, "m f=1");
        assert_eq!(answer.status, status, "{method} {target}: {}", answer.body);
    };
    check(WRITER, "PUT", "plant.7/records", 403);
    check(WRITER, "PUT", "line.7/records", 204);
    check(OWNER, "PUT", "plant.7/records", 204);
    // It exists now.
    check(WRITER, "PUT", "plant.7/records", 204);
    check(WRITER, "DELETE", "plant.7", 403);
    check(OWNER, "DELETE", "line.7", 403);
    check(OWNER, "DELETE", "plant.8", 404);
    check(OWNER, "DELETE", "plant%207", 400);
    check(OWNER, "DELETE", "plant.7", 204);
    check(OWNER, "DELETE", "plant.7", 404);
    check(WRITER, "PUT", "plant.7/records", 403);
    assert!(records(&gateway, "plant.7").is_empty());
    check(OWNER, "GET", "plant.7/latest?series=m", 404);
    // Without clients nobody may.
    let other = file.with_extension("2");
    let open = Gateway::start(&other, &[]);
    let refused = open.ask("DELETE /api/v1/topics/a HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(refused.status, 404);
    assert!(refused.body.contains("--clients"), "{}", refused.body);
}

#[test]
fn a_deleted_topic_begins_again_without_its_records_and_makes_room() {
    let (folder, file) = store();
    let flags = ["--topics-max=2", "--store-max-bytes=8000000"];
    let mut gateway = start(folder.path(), &file, &flags);
    let text = "x".repeat(100_000);
    let mut filled = 0;
    let full = loop {
        let body = format!("m,n={filled} text=\"{text}\" {filled}");
        let answer = ask(&gateway, OWNER, "PUT", "plant.a/records", &body);
        if answer.status != 204 {
            break answer;
        }
        filled += 1;
        assert!(filled < 200);
    };
    assert_eq!(full.status, 507, "{}", full.body);
    assert!(full.body.contains("--store-max-bytes"), "{}", full.body);
    assert_eq!(full.header("retry-after"), None);
    assert_eq!(records(&gateway, "plant.a").len(), filled);
    assert_eq!(ask(&gateway, OWNER, "DELETE", "plant.a", "").status, 204);
    wait_until("there is room again", || {
        let body = format!("m,n=0 text=\"{text}\" 7");
        ask(&gateway, OWNER, "PUT", "plant.b/records", &body).status == 204
    });
    // The number of topics is that of those that exist.
    let small = |topic: &str| {
        ask(
            &gateway,
            OWNER,
            "PUT",
            &format!("{topic}/records"),
            "m f=1 1",
        )
        .status
    };
    assert_eq!(small("plant.a"), 204);
    assert_eq!(small("plant.c"), 507);
    let again = records(&gateway, "plant.a");
    assert_eq!(again.len(), 1, "{again:?}");
    assert!(again[0].starts_with("{\"offset\":0,"), "{again:?}");
    // Also after a crash in the middle of it.
    gateway.kill();
    let gateway = start(folder.path(), &file, &flags);
    assert_eq!(records(&gateway, "plant.a"), again);
    assert_eq!(records(&gateway, "plant.b").len(), 1);
    // As much as before fits again: nothing of the deleted topic is left.
    for number in 2..filled - 2 {
        let body = format!("m,n={number} text=\"{text}\" 8");
        wait_until("the rest is removed", || {
            ask(&gateway, OWNER, "PUT", "plant.b/records", &body).status == 204
        });
    }
}

#[test]
fn records_that_are_sent_while_a_topic_is_deleted_have_one_outcome() {
    let (folder, file) = store();
    let gateway = start(folder.path(), &file, &["--workers=2"]);
    for round in 0..20 {
        let mut client = gateway.client();
        let sent: String = (0..200)
            .map(|number| {
                let body = format!("m n={number}i {}", number + 1);
                request(OWNER, "PUT", "plant.x/records", &body)
            })
            .collect();
        client.send(sent.as_bytes());
        let deleted = ask(&gateway, OWNER, "DELETE", "plant.x", "").status;
        assert!(matches!(deleted, 204 | 404), "{deleted}");
        let accepted = (0..200).filter(|_| client.answer().unwrap().status == 204);
        assert_eq!(accepted.count(), 200);
        // What is there are the last ones, numbered from 0 if any were deleted.
        let left = records(&gateway, "plant.x");
        for (offset, line) in left.iter().enumerate() {
            assert!(
                line.starts_with(&format!("{{\"offset\":{offset},")),
                "{round}: {line}"
            );
        }
        let first = 200 - left.len();
        for (number, line) in (first..).zip(&left) {
            assert!(
                line.contains(&format!("\"n\":{number}}}")),
                "{round}: {line}"
            );
        }
        let gone = ask(&gateway, OWNER, "DELETE", "plant.x", "").status;
        assert!(matches!(gone, 204 | 404), "{gone}");
        assert!(records(&gateway, "plant.x").is_empty());
    }
}
