//! Identity: tokens, rights by topic, budgets, and what keeps web pages and other hosts away.

use std::io::{BufRead, BufReader};

use super::lab::{
    ALL_RIGHTS, LATEST, Lab, QUERY, RECORDS, request, run, text, token, write_clients,
};
use crate::support::{Answer, Gateway, store, wait_until};

#[test]
fn without_a_known_token_nothing_but_probes_is_served() {
    let lab = Lab::start(ALL_RIGHTS, &[]);
    let stranger = token("press").0;
    let calls = [
        ("PUT", RECORDS),
        ("GET", RECORDS),
        ("GET", LATEST),
        ("GET", QUERY),
    ];
    for authorization in [
        String::new(),
        "Authorization: Bearer x\r\n".to_owned(),
        format!("Authorization: Bearer {stranger}\r\n"),
        format!("Authorization: {}\r\n", lab.token),
    ] {
        for (method, target) in calls {
            let refused = lab.ask(method, target, &authorization, "m f=1");
            assert_eq!(refused.status, 401, "{authorization:?} {target}");
            let challenge = refused.header("www-authenticate").unwrap();
            assert!(challenge.starts_with("Bearer "), "{challenge}");
        }
        assert_eq!(lab.ask("GET", "/metrics", &authorization, "").status, 401);
        assert_eq!(lab.ask("GET", "/readyz", &authorization, "").status, 200);
    }
    assert_eq!(lab.ask_with_token("PUT", RECORDS, "m f=1").status, 204);
    for (method, target) in &calls[1..] {
        let answer = lab.ask_with_token(method, target, "");
        assert_eq!(answer.status, 200, "{target}: {}", answer.body);
    }
    let token = format!("Authorization: Token {}\r\n", lab.token);
    assert_eq!(lab.ask("GET", RECORDS, &token, "").status, 200);
    let twice = lab.bearer().repeat(2);
    assert_eq!(lab.ask("GET", RECORDS, &twice, "").status, 400);
}

#[test]
fn rights_are_by_topic_and_refusals_are_in_the_audit() {
    let mut lab = Lab::start("  write: [plant.*]\n  read: [plant.7]\n", &[]);
    let target = |topic: &str, call: &str| format!("/api/v1/topics/{topic}/{call}");
    let query = |topic: &str| format!("/api/v1/query?topic={topic}&measurement=m");
    for (method, target, status) in [
        ("PUT", target("plant.7", "records"), 204),
        ("PUT", target("plant.8", "records"), 204),
        ("PUT", target("other", "records"), 403),
        ("GET", target("plant.7", "records"), 200),
        ("GET", target("plant.8", "records"), 403),
        ("GET", target("plant.8", "latest?series=m"), 403),
        ("GET", target("plant.7", "latest?series=m"), 200),
        ("GET", query("plant.8"), 403),
        ("GET", query("plant.7"), 200),
    ] {
        let answer = lab.ask_with_token(method, &target, "m f=1");
        assert_eq!(answer.status, status, "{method} {target}: {}", answer.body);
    }
    // One connection, several senders.
    let mut client = lab.gateway.client();
    let good = request("PUT", RECORDS, &lab.bearer(), "m f=1");
    let unknown = request("PUT", RECORDS, "", "m f=1");
    client.send([&*good, &unknown, &good].concat().as_bytes());
    let statuses: Vec<u16> = (0..3).map(|_| client.answer().unwrap().status).collect();
    assert_eq!(statuses, [204, 401, 204]);
    let (lines, events) = lab.end();
    let refused = events
        .iter()
        .find(|event| event["status"] == 403)
        .expect("a line");
    assert_eq!(refused["audit"], "refused");
    assert_eq!(refused["identity"], "press");
    assert_eq!(refused["client"], "127.0.0.1");
    assert!(refused["detail"].as_str().unwrap().contains("topic other"));
    let created = events
        .iter()
        .find(|event| event["audit"] == "topic_created");
    assert_eq!(created.expect("a line")["topic"], "plant.7");
    assert!(!lines.contains(&lab.token), "{lines}");
}

#[test]
fn budgets_are_answered_429() {
    let rights = format!("{ALL_RIGHTS}  requests_per_second: 5\n");
    let lab = Lab::start(&rights, &[]);
    let pipelined = request("PUT", RECORDS, &lab.bearer(), "m f=1").repeat(100);
    let mut client = lab.gateway.client();
    client.send(pipelined.as_bytes());
    let answers: Vec<Answer> = (0..100).map(|_| client.answer().unwrap()).collect();
    let refused = answers.iter().filter(|answer| answer.status == 429);
    assert!(refused.count() > 0);
    let refused = answers.iter().find(|answer| answer.status == 429).unwrap();
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(
        refused.body.contains("requests per second"),
        "{}",
        refused.body
    );
    let stored = answers.iter().filter(|answer| answer.status == 204).count();
    wait_until("the next second", || {
        let records = lab.ask_with_token("GET", RECORDS, "");
        records.status == 200 && records.body.lines().count() == stored
    });
    let rights = format!("{ALL_RIGHTS}  bytes_per_second: 10\n  connections: 1\n");
    let lab = Lab::start(&rights, &[]);
    let mut client = lab.gateway.client();
    client.send(
        request("PUT", RECORDS, &lab.bearer(), "m f=1")
            .repeat(50)
            .as_bytes(),
    );
    let statuses: Vec<u16> = (0..50).map(|_| client.answer().unwrap().status).collect();
    assert!(
        statuses.contains(&429) && statuses.contains(&204),
        "{statuses:?}"
    );
    let second = lab.ask_with_token("GET", RECORDS, "");
    assert_eq!(second.status, 429);
    assert!(second.body.contains("open connections"), "{}", second.body);
    drop(client);
    wait_until("the connection has ended", || {
        lab.ask_with_token("GET", RECORDS, "").status == 200
    });
}

#[test]
fn the_file_is_read_again_and_a_mistake_leaves_what_was_in_force() {
    let mut lab = Lab::start("  write: [plant.*]\n", &[]);
    let mut said = BufReader::new(lab.gateway.stderr());
    let mut wait_for = |expected: &str| {
        let mut line = String::new();
        while !line.contains(expected) {
            line.clear();
            assert!(
                said.read_line(&mut line).unwrap() > 0,
                "{expected:?} was not said"
            );
        }
    };
    let mut client = lab.gateway.client();
    let mut put = |lab: &Lab| {
        client.send(request("PUT", RECORDS, &lab.bearer(), "m f=1").as_bytes());
        client.answer().unwrap().status
    };
    assert_eq!(put(&lab), 204);
    write_clients(&lab.clients, &lab.digest, "  write: [other]\n");
    wait_for("clients are read again");
    assert_eq!(put(&lab), 403);
    write_clients(
        &lab.clients,
        &lab.digest,
        "  write: [plant.*]\n  rihgts: x\n",
    );
    wait_for("rihgts");
    assert_eq!(put(&lab), 403);
    write_clients(
        &lab.clients,
        &lab.digest,
        "  write: [plant.*]\n  read: ['*']\n",
    );
    lab.gateway.signal("HUP");
    wait_for("clients are read again");
    assert_eq!(put(&lab), 204);
    let metrics = lab.ask_with_token("GET", "/metrics", "").body;
    assert!(metrics.contains("waggle_gateway_clients_file_is_in_force 1\n"));
    write_clients(&lab.clients, &token("press").1, "");
    wait_for("clients are read again");
    assert_eq!(put(&lab), 401);
}

#[test]
fn a_file_with_a_mistake_and_an_open_address_are_refused_at_the_start() {
    let (folder, file) = store();
    let clients = folder.path().join("clients.yaml");
    std::fs::write(&clients, "clients:\n- name: a\n  tokens: [x]\n").unwrap();
    let serve = |flags: &[&str]| {
        let arguments = ["serve", "--store", file.to_str().unwrap()];
        let ended = run(&[&arguments[..], flags].concat());
        (ended.status.code(), text(&ended.stderr))
    };
    let (code, said) = serve(&[
        "--listen=127.0.0.1:0",
        "--clients",
        clients.to_str().unwrap(),
    ]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("client 1 (\"a\")"), "{said}");
    let (code, said) = serve(&["--listen=127.0.0.1:0", "--clients=/no/such/file"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("/no/such/file"), "{said}");
    let (code, said) = serve(&["--listen=0.0.0.0:0"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--insecure"), "{said}");
}

#[test]
fn web_pages_of_other_origins_are_refused() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--allowed-origins=https://panel.example"]);
    let check = |gateway: &Gateway, fields: &str, status: u16| {
        let write = request("POST", RECORDS, fields, "m f=1");
        assert_eq!(gateway.ask(&write).status, status, "{fields:?}");
    };
    check(&gateway, "Origin: https://evil.example\r\n", 403);
    check(&gateway, "Origin: null\r\n", 403);
    check(&gateway, "Sec-Fetch-Site: cross-site\r\n", 403);
    check(&gateway, "Sec-Fetch-Site: same-origin\r\n", 204);
    check(&gateway, "Sec-Fetch-Site: none\r\n", 204);
    check(&gateway, "Origin: http://a\r\n", 204);
    check(
        &gateway,
        "Origin: https://panel.example\r\nSec-Fetch-Site: cross-site\r\n",
        204,
    );
    let read = request("GET", LATEST, "Sec-Fetch-Site: cross-site\r\n", "");
    assert_eq!(gateway.ask(&read).status, 403);
    let other = file.with_extension("2");
    let gateway = Gateway::start(&other, &["--allowed-hosts=a,gateway.plant,[::1]"]);
    check(&gateway, "", 204);
    for (host, status) in [
        ("gateway.plant:8080", 204),
        ("[::1]:8080", 204),
        ("[::1]", 204),
        ("rebind.evil.example", 421),
        ("gateway.plant.evil.example", 421),
    ] {
        let write =
            request("POST", RECORDS, "", "m f=1").replace("Host: a", &format!("Host: {host}"));
        assert_eq!(gateway.ask(&write).status, status, "{host}");
    }
}
