//! `waggle load --scenario` against a shop with a token per session: counts of each step match those of the shop. Also a server
//! that stops answering.

use std::{
    collections::HashSet,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::Value;
use waggle_testkit::http::{self, Reply, Server};

use crate::{
    exit_codes::load_result,
    workspace::{Workspace, output_text},
};

const SCENARIO: &str = r#"
name: shopping
feeds:
  - { name: people, file: people.csv, order: cycle }
flows:
  - name: buy
    steps:
      - name: login
        post: /login
        headers: { Content-Type: application/json }
        body: '{"name":"{{people.name}}"}'
        check: [ { json: $.name, equals: "{{people.name}}" } ]
        capture: { token: { json: $.token } }
      - repeat: 2
        steps:
          - name: order
            post: /orders/{{token}}
            expect: { status: 201 }
"#;
const PEOPLE: &str = "name\nann\nbob\n";

/// Counts of the shop.
#[derive(Debug, Default)]
struct ShopLog {
    logins: AtomicU64,
    orders: AtomicU64,
    /// Orders with an unknown token.
    strangers: AtomicU64,
    tokens: Mutex<HashSet<u64>>,
    /// Bodies of orders.
    kept: Mutex<Vec<String>>,
}

/// A shop.
fn shop() -> (Server, Arc<ShopLog>) {
    let seen = Arc::new(ShopLog::default());
    let shared = Arc::clone(&seen);
    let server =
        Server::start(move |request| Reply::Answer(answer(&request.path, request.text(), &shared)));
    (server, seen)
}

fn answer(path: &str, body: &str, seen: &ShopLog) -> Vec<u8> {
    if path == "/login" {
        let token = seen.logins.fetch_add(1, Ordering::Relaxed);
        seen.tokens.lock().unwrap().insert(token);
        let name: Value = serde_json::from_str(body).unwrap();
        let body = format!(r#"{{"name":{},"token":{token}}}"#, name["name"]);
        return http::ok(&body);
    }
    if path == "/keep" {
        seen.kept.lock().unwrap().push(body.to_owned());
        return http::answer(201, "", "");
    }
    let token = path
        .strip_prefix("/orders/")
        .and_then(|token| token.parse().ok());
    let is_known = token.is_some_and(|token: u64| seen.tokens.lock().unwrap().contains(&token));
    if is_known {
        seen.orders.fetch_add(1, Ordering::Relaxed);
        http::answer(201, "", "")
    } else {
        seen.strangers.fetch_add(1, Ordering::Relaxed);
        http::answer(404, "", "")
    }
}

fn workspace(scenario: &str) -> Workspace {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path().join("shop")).unwrap();
    std::fs::write(workspace.path().join("shop/shopping.yaml"), scenario).unwrap();
    std::fs::write(workspace.path().join("shop/people.csv"), PEOPLE).unwrap();
    workspace
}

fn count(result: &Value, pointer: &str) -> u64 {
    result
        .pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("{pointer} of {result}"))
}

#[test]
fn each_step_counts_what_the_server_counts() {
    let check = |flags: &[&str], model: &str| {
        let (workspace, (server, seen)) = (workspace(SCENARIO), shop());
        let url = format!("http://{}", server.address);
        let flags = [
            &[
                "load",
                &url,
                "--scenario",
                "shop/shopping.yaml",
                "--json",
                "--quiet",
                "--threshold",
                "failed == 0",
                "--threshold",
                "order.failed==0",
                "--threshold",
                "sessions.failed == 0",
                "--threshold",
                "login.response_time.p95<1h",
            ],
            flags,
        ]
        .concat();
        let output = workspace.output(&flags);
        let result = load_result(&output);
        let (logins, orders) = (
            seen.logins.load(Ordering::Relaxed),
            seen.orders.load(Ordering::Relaxed),
        );
        assert_eq!(result["model"], model);
        assert_eq!(result["settings"]["scenario"], "shopping");
        assert_eq!(result["steps"][0]["name"], "login");
        assert_eq!(count(&result, "/steps/0/succeeded"), logins, "{result}");
        assert_eq!(count(&result, "/steps/1/succeeded"), orders, "{result}");
        assert_eq!(count(&result, "/sent"), logins + orders);
        assert_eq!(count(&result, "/sessions/started"), logins);
        assert!(count(&result, "/sessions/completed") > 0, "{result}");
        assert_eq!(count(&result, "/sessions/failed"), 0, "{result}");
        // A login expects any 2xx, an order 201.
        let statuses = serde_json::json!({ "2xx": logins, "201": orders });
        assert_eq!(result["statuses"], statuses, "{result}");
        assert_eq!(seen.strangers.load(Ordering::Relaxed), 0);
        for step in ["/steps/0", "/steps/1"] {
            let succeeded = count(&result, &format!("{step}/succeeded"));
            for times in ["response_time_us", "service_time_us"] {
                assert_eq!(count(&result, &format!("{step}/{times}/count")), succeeded);
            }
        }
        for zero in 0..3 {
            assert_eq!(result["thresholds"][zero]["observed"], 0.0);
        }
        assert_eq!(
            result["thresholds"][3]["observed"].as_f64(),
            result["steps"][0]["response_time_us"]["p95"].as_f64()
        );
        result
    };
    let result = check(&["-c", "2", "-n", "30"], "closed");
    assert_eq!(count(&result, "/sent"), 30);
    check(&["-c", "2", "-d", "3s"], "closed");
    check(
        &["--users", "3", "--think-time", "5ms", "-d", "3s"],
        "users",
    );
    check(&["-R", "100", "-c", "8", "-d", "3s"], "open");
}

#[test]
fn failed_step_ends_its_session_and_is_shown() {
    let wrong = SCENARIO.replace("/orders/{{token}}", "/orders/x{{token}}");
    let (workspace, (server, seen)) = (workspace(&wrong), shop());
    let url = format!("http://{}", server.address);
    let flags = ["load", &url, "--scenario", "shop/shopping.yaml"];
    let output = workspace.output(&[&flags[..], &["-c", "1", "-n", "10", "-s"]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(seen.strangers.load(Ordering::Relaxed), 5, "{text}");
    for part in [
        "scenario shopping on http://",
        "5 started, 0 completed, 5 failed",
        "failed: 5 × status 404",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn an_answer_that_fails_a_check_has_its_status() {
    let wrong = SCENARIO.replace("equals: \"{{people.name}}\"", "equals: unknown");
    let (workspace, (server, _)) = (workspace(&wrong), shop());
    let url = format!("http://{}", server.address);
    let flags = ["load", &url, "--scenario", "shop/shopping.yaml", "--json"];
    let output = workspace.output(&[&flags[..], &["-c", "1", "-n", "10", "-s"]].concat());
    let result = load_result(&output);
    assert_eq!(count(&result, "/failures/check_failed"), 10, "{result}");
    assert_eq!(result["statuses"], serde_json::json!({ "2xx": 10 }));
    let remarks = result["remarks"].as_array().unwrap();
    let mismatch = r#"over the whole load, step login: 10 × check failed (such as json $.name: expected "unknown", found "ann"; row 1 of feed people)"#;
    assert!(remarks.iter().any(|remark| remark == mismatch), "{result}");
}

#[test]
fn an_answer_with_a_secret_of_the_environment_is_shown_without_it() {
    let scenario = r#"
name: asking
flows:
  - name: ask
    steps:
      - name: ask
        get: /
        headers: { X-Token: "${env.SHOP_TOKEN}" }
        check: [ { json: $.token, equals: other } ]
"#;
    let server = Server::start(|request| {
        let token = request.header("x-token").unwrap_or_default();
        let body = format!("{{\"token\":\"{token}\"}}");
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        Reply::Answer((head + &body).into_bytes())
    });
    let workspace = workspace(scenario);
    let url = format!("http://{}", server.address);
    let flags = ["load", &url, "--scenario", "shop/shopping.yaml", "--json"];
    let mut command = workspace.waggle(&[&flags[..], &["-c", "1", "-n", "10"]].concat());
    let output = command.env("SHOP_TOKEN", "hush-hush-9").output().unwrap();
    let said = output_text(&output);
    assert!(!said.contains("hush-hush"), "{said}");
    let message = r#"expected \"other\", found \"[secret env.SHOP_TOKEN]\""#;
    assert!(said.contains(message), "{said}");
}

#[test]
fn records_have_unique_keys_and_times_and_the_run_id() {
    let keeping = r#"
name: keeping
flows:
  - name: keep
    steps:
      - name: keep
        put: /keep
        body: '{{record.run}} {{record.key}} {{record.time}}'
"#;
    let (workspace, (server, seen)) = (workspace(keeping), shop());
    let url = format!("http://{}", server.address);
    let flags = ["load", &url, "--scenario", "shop/shopping.yaml", "--json"];
    for _ in 0..2 {
        load_result(&workspace.output(&[&flags[..], &["-s", "-c", "4", "-n", "20"]].concat()));
    }
    let kept = seen.kept.lock().unwrap();
    let parts = kept.iter().map(|body| body.split(' ').collect::<Vec<_>>());
    let (mut marks, mut stamps) = (HashSet::new(), HashSet::new());
    for part in parts {
        marks.insert(part[0]);
        assert!(stamps.insert((part[0], part[1])), "{part:?}");
        assert!(stamps.insert((part[0], part[2])), "{part:?}");
        assert_eq!((part[1].len(), part[2].len()), (18, 19), "{part:?}");
    }
    assert_eq!((kept.len(), marks.len()), (40, 2));
}

#[test]
fn flags_that_conflict_with_a_scenario_are_refused() {
    let (workspace, (server, seen)) = (workspace(SCENARIO), shop());
    let check = |path: &str, flags: &[&str], expected: &str| {
        let url = format!("http://{}{path}", server.address);
        let all = [&["load", &url, "--scenario", "shop/shopping.yaml"], flags].concat();
        let output = workspace.output(&all);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
        assert!(text.contains(expected), "{expected}: {text}");
    };
    for flags in [
        &["-X", "PUT"][..],
        &["-H", "A: b"],
        &["--body", "x"],
        &["--data", "x"],
        &["--records", "r.lp"],
        &["--expect", "200"],
        &["--timeout", "1s"],
        &["--disable-keepalive"],
    ] {
        check("", flags, "cannot be used with");
    }
    check(
        "",
        &["--threshold", "logn.failed == 0"],
        "did you mean \"login.failed\"?",
    );
    check("", &["-p", "4"], "--pipelining must be 1");
    check("/shop", &[], "each step has its own path");
    check("", &["--scenario", "shop/none.yaml"], "cannot be used");
    let broken = SCENARIO.replace("{{token}}", "{{tokn}}");
    std::fs::write(workspace.path().join("shop/shopping.yaml"), broken).unwrap();
    check("", &[], "tokn");
    assert_eq!(seen.logins.load(Ordering::Relaxed), 0);
}

/// A server that stops answering after twenty answers.
fn stops_answering() -> Server {
    Server::start(|request| match request.number {
        ..20 => Reply::Answer(http::ok("")),
        _ => Reply::Silence,
    })
}

#[test]
fn load_on_a_server_that_stops_answering_is_not_valid() {
    let workspace = Workspace::new();
    let server = stops_answering();
    let url = format!("http://{}", server.address);
    let mut child = workspace
        .waggle(&[
            "load",
            &url,
            "-c",
            "2",
            "-d",
            "60s",
            "--timeout",
            "5s",
            "--json",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    for _ in 0..10 {
        lines.next().unwrap().unwrap();
    }
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.unwrap().success());
    // Keeps a reader of the progress until the end.
    lines.by_ref().for_each(drop);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", output_text(&output));
    let result = load_result(&output);
    assert_eq!(count(&result, "/succeeded"), 20);
    let reasons = result["verdict_reasons"].to_string();
    assert!(
        reasons.contains("unsteady: no request succeeded for"),
        "{result}"
    );
    assert_ne!(result["verdict"], "valid");
}
