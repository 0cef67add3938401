//! The calls of InfluxDB's clients: parameters, units, forms of errors, authentication. Real clients are in `clients`.

mod clients;

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Answer, Gateway, command, kafka_command, store};

/// The three calls that write, to the topic `t`.
const WRITES: [&str; 3] = [
    "/write?db=t",
    "/api/v2/write?org=o&bucket=t",
    "/api/v3/write_lp?db=t",
];

fn post(target: &str, fields: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {target} HTTP/1.1\r\nHost: a\r\n{fields}Content-Length: {length}\r\n\r\n{body}")
}

fn start(flags: &[&str]) -> (tempfile::TempDir, Gateway) {
    let (folder, file) = store();
    let gateway = Gateway::start(&file, flags);
    (folder, gateway)
}

/// The text of an error in the form of a call, whose fields are checked.
#[track_caller]
fn error_text(target: &str, answer: &Answer) -> String {
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    if target.starts_with("/api/v2") {
        let code = answer.header("x-platform-error-code").map(str::to_owned);
        assert_eq!(code, Some(text("code")), "{}", answer.body);
        return text("message");
    }
    if target.starts_with("/api/v3") {
        assert!(body["data"].is_array() || body["data"].is_null());
        return text("error");
    }
    let version = answer.header("x-influxdb-version").unwrap();
    assert!(version.starts_with("waggle-gateway-"), "{version}");
    let error = text("error");
    assert_eq!(answer.header("x-influxdb-error"), Some(&*error));
    error
}

#[track_caller]
fn check_error(gateway: &Gateway, target: &str, body: &str, status: u16, expected: &str) {
    let answer = gateway.ask(&post(target, "", body));
    assert_eq!(answer.status, status, "{target}: {}", answer.body);
    let text = error_text(target, &answer);
    assert!(text.contains(expected), "{target}: {text}");
}

fn times(gateway: &Gateway, topic: &str) -> Vec<i64> {
    let records = gateway.records(topic);
    let time = |line: &String| serde_json::from_str::<Value>(line).unwrap()["time"].as_i64();
    records.iter().filter_map(time).collect()
}

#[test]
fn records_come_into_the_topic_in_the_unit_that_is_named() {
    let (_folder, gateway) = start(&[]);
    let write = |target: &str, body: &str| {
        let answer = gateway.ask(&post(target, "Content-Type: application/json\r\n", body));
        assert_eq!(answer.status, 204, "{target}: {}", answer.body);
        assert_eq!(answer.header("content-length"), None);
        let version = answer.header("x-influxdb-version");
        assert_eq!(version.is_some(), !target.starts_with("/api/v3"));
    };
    for (unit, ns) in [
        ("", 1),
        ("n", 1),
        ("ns", 1),
        ("u", 1000),
        ("us", 1000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ] {
        write(&format!("/write?db=v1{unit}&precision={unit}"), "m f=1 3");
        assert_eq!(times(&gateway, &format!("v1{unit}")), [3 * ns], "{unit}");
    }
    for (unit, ns) in [
        ("ns", 1),
        ("us", 1000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
    ] {
        write(
            &format!("/api/v2/write?bucket=v2{unit}&precision={unit}"),
            "m f=1 3",
        );
        assert_eq!(times(&gateway, &format!("v2{unit}")), [3 * ns], "{unit}");
    }
    let second = 1_700_000_000_000_000_000;
    for (unit, time) in [
        ("second", "1700000000"),
        ("millisecond", "1700000000000"),
        ("microsecond", "1700000000000000"),
        ("nanosecond", "1700000000000000000"),
    ] {
        for name in [unit, "auto", ""] {
            write(
                &format!(
                    "/api/v3/write_lp?db=v3{unit}&precision={name}&no_sync=true&accept_partial=true"
                ),
                &format!("m f=1 {time}"),
            );
        }
        assert_eq!(times(&gateway, &format!("v3{unit}")), [second; 3], "{unit}");
    }
    // Retention policies have topics of their own, and the default one has the database's.
    write("/write?db=plant&rp=autogen", "m f=1 1");
    write("/api/v2/write?bucket=plant%2Fautogen", "m f=1 2");
    write(
        "http://a/write?db=plant&rp=week&u=x&p=y&consistency=all",
        "m f=1 3",
    );
    write("/api/v2/write?bucket=plant/week", "m f=1 4");
    assert_eq!(times(&gateway, "plant"), [1, 2]);
    assert_eq!(times(&gateway, "plant.week"), [3, 4]);
}

#[test]
fn records_without_a_time_get_the_gateways() {
    let (_folder, gateway) = start(&[]);
    for target in WRITES {
        let answer = gateway.ask(&post(target, "", "m f=1\nm f=2"));
        assert_eq!(answer.status, 204, "{}", answer.body);
    }
    let mut times = times(&gateway, "t");
    times.dedup();
    assert_eq!(times.len(), 6);
    assert!(times.is_sorted() && times[0] > 1_700_000_000_000_000_000);
}

#[test]
fn a_mistake_in_a_line_stores_nothing_and_is_said_in_the_form_of_the_call() {
    let (_folder, gateway) = start(&[]);
    let body = "m f=1 1\nm f= 2\r\nm f=3 3\nm é=x 4";
    for target in WRITES {
        let expected = if target.contains("v3") {
            "parsing failed for write_lp endpoint"
        } else {
            "unable to parse 'm f= 2': line 2, column 5: "
        };
        check_error(&gateway, target, body, 400, expected);
    }
    let partial = "/api/v3/write_lp?db=t&accept_partial=true";
    let answer = gateway.ask(&post(partial, "", body));
    let error: Value = serde_json::from_str(&answer.body).unwrap();
    let data = error["data"].as_array().unwrap();
    assert_eq!(data.len(), 2, "{error}");
    assert_eq!(data[0]["original_line"], "m f= 2");
    assert_eq!(data[0]["line_number"], 2);
    assert_eq!(data[1]["original_line"], "m é=x 4");
    assert_eq!(data[1]["line_number"], 4);
    let said = data[1]["error_message"].as_str().unwrap();
    assert!(said.contains("column 5"), "{said}");
    let answer = gateway.ask(&post(WRITES[1], "", body));
    let error: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(error["line"], 2);
    for target in WRITES {
        let expected = if target.contains("v3") {
            "parsing failed"
        } else {
            "at least one record"
        };
        check_error(&gateway, target, "\n# a comment\n", 400, expected);
    }
    let long = format!("m f=1 1\nm f={}", "é".repeat(1000));
    let answer = gateway.ask(&post(WRITES[0], "", &long));
    assert_eq!(answer.status, 400);
    assert!(answer.header("x-influxdb-error").unwrap().len() <= 500);
    assert_eq!(gateway.records("t"), Vec::<String>::new());
}

#[test]
fn what_cannot_be_served_is_refused_in_the_form_of_the_call() {
    let flags = [
        "--body-max-bytes=1000",
        "--head-max-bytes=400",
        "--topics-max=1",
    ];
    let (_folder, gateway) = start(&flags);
    let check = |target: &str, status, expected: &str| {
        check_error(&gateway, target, "m f=1", status, expected);
    };
    check("/write", 400, "database is required");
    check("/api/v2/write?org=o", 400, "bucket is required");
    check("/api/v3/write_lp", 400, "database is required");
    check(
        "/write?db=a%20b",
        400,
        "database \"a b\" stands for no topic",
    );
    check("/api/v2/write?bucket=a%0Ab", 400, "stands for no topic");
    check("/api/v3/write_lp?db=..", 400, "stands for no topic");
    check(
        "/write?db=t&precision=d",
        400,
        "invalid precision \"d\" (use n,",
    );
    check(
        "/api/v2/write?bucket=t&precision=m",
        400,
        "invalid precision",
    );
    check(
        "/api/v3/write_lp?db=t&precision=s",
        400,
        "invalid precision",
    );
    check(
        "/api/v3/write_lp?db=t&accept_partial=yes",
        400,
        "true, false",
    );
    check("/api/v3/write_lp?db=t&no_sync=1", 400, "true, false");
    for target in WRITES {
        let large = "x".repeat(1001);
        check_error(
            &gateway,
            target,
            &large,
            413,
            "larger than this gateway allows",
        );
        let pad = format!("{target}&precision={}", "x".repeat(400));
        check(&pad, 431, "larger than this gateway allows");
        let coded = gateway.ask(&post(target, "Content-Encoding: br\r\n", "x"));
        assert_eq!(coded.status, 415);
        assert!(error_text(target, &coded).contains("gzip, zstd and identity"));
        let put = gateway.ask(&post(target, "", "x").replacen("POST", "PUT", 1));
        assert_eq!(put.status, 405);
        assert_eq!(put.header("allow"), Some("POST"));
        error_text(target, &put);
    }
    assert_eq!(gateway.put("t", "m f=1").status, 204);
    check("/write?db=u", 507, "--topics-max");
    check("/api/v2/write?bucket=u", 507, "--topics-max");
}

#[test]
fn probes_are_answered_as_clients_expect() {
    let (_folder, gateway) = start(&[]);
    for target in ["/ping", "/ping?verbose=true"] {
        let answer = gateway.get(target);
        assert_eq!(answer.status, 204);
        let version = answer.header("x-influxdb-version").unwrap();
        assert!(version.starts_with("waggle-gateway-"));
    }
    let mut client = gateway.client();
    client.send(b"HEAD /ping HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer().unwrap().status, 204);
    let health = gateway.get("/health");
    assert_eq!(health.status, 200);
    let health: Value = serde_json::from_str(&health.body).unwrap();
    assert_eq!(health["status"], "pass");
    assert_eq!(health["name"], "waggle-gateway");
    // Kafka was never reached.
    let gateway = Gateway::start_by(&mut kafka_command("127.0.0.1:1", &[]));
    let health = gateway.get("/health");
    assert_eq!(health.status, 503);
    let health: Value = serde_json::from_str(&health.body).unwrap();
    assert_eq!(health["status"], "fail");
    assert!(!health["message"].as_str().unwrap().is_empty());
    assert_eq!(gateway.get("/ping").status, 204);
}

/// A statement in a form, as Telegraf sends it.
fn statement(text: &str) -> String {
    let text = text.replace(' ', "+").replace('"', "%22");
    let fields = "Content-Type: application/x-www-form-urlencoded\r\n";
    post("/query", fields, &format!("q={text}"))
}

#[test]
fn the_creation_of_a_database_says_whether_its_topic_can_be_written() {
    let (_folder, gateway) = start(&[]);
    let created = gateway.ask(&statement("CREATE DATABASE \"plant\""));
    assert_eq!(created.status, 200, "{}", created.body);
    let results: Value = serde_json::from_str(&created.body).unwrap();
    assert_eq!(results, json!({"results": [{"statement_id": 0}]}));
    let in_query = gateway.ask(&post("/query?q=create%20database%20plant", "", ""));
    assert_eq!(in_query.status, 200);
    for (text, expected) in [
        ("SHOW DATABASES", "CREATE DATABASE"),
        ("CREATE DATABASE \"a/b\"", "stands for no topic"),
    ] {
        let refused = gateway.ask(&statement(text));
        assert_eq!(refused.status, 400);
        assert!(error_text("/query", &refused).contains(expected));
    }
    let refused = gateway.ask(&post("/query", "", ""));
    assert_eq!(refused.status, 400);
    assert!(error_text("/query", &refused).contains("\"q\""));
    let refused = gateway.get("/query?q=SHOW+DATABASES");
    assert_eq!(refused.status, 405);
    error_text("/query", &refused);
    let mut command = Command::new(env!("CARGO_BIN_EXE_waggle-gateway"));
    command.args(["serve", "--listen=127.0.0.1:0", "--backend=kafka"]);
    command
        .args(["--kafka-brokers=127.0.0.1:1"])
        .stderr(Stdio::null());
    let on_kafka = Gateway::start_by(&mut command);
    let result = on_kafka.ask(&statement("CREATE DATABASE \"plant\""));
    assert_eq!(result.status, 200);
    assert!(result.body.contains("--kafka-create-topics"));
}

/// Tokens, rights and budgets of two clients.
pub(crate) struct Lab {
    pub(crate) gateway: Gateway,
    /// May write to topics that begin with `plant.`, and read all.
    pub(crate) token: String,
    /// May write to every topic, and create none.
    tenant: String,
    /// Of a client with a budget of one request in a second.
    limited: String,
    _folder: tempfile::TempDir,
}

/// A gateway with clients.
pub(crate) fn lab() -> Lab {
    let (folder, file) = store();
    let (mut tokens, mut entries) = (Vec::new(), "clients:\n".to_owned());
    for (name, rights) in [
        ("press", "  write: [plant.*]\n  read: ['*']\n"),
        ("tenant", "  write: ['*']\n  create: []\n"),
        ("slow", "  write: ['*']\n  requests_per_second: 1\n"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_waggle-gateway"));
        let made = command.args(["token", "new", name]).output().unwrap();
        let entry = String::from_utf8(made.stderr).unwrap();
        tokens.push(String::from_utf8(made.stdout).unwrap().trim().to_owned());
        entries += entry.split_once("  write").unwrap().0;
        entries += rights;
    }
    let clients = folder.path().join("clients.yaml");
    std::fs::write(&clients, entries).unwrap();
    let mut start = command(&file, &[]);
    start.arg("--clients").arg(&clients).stderr(Stdio::piped());
    Lab {
        gateway: Gateway::start_by(&mut start),
        limited: tokens.pop().unwrap(),
        tenant: tokens.pop().unwrap(),
        token: tokens.pop().unwrap(),
        _folder: folder,
    }
}

impl Lab {
    /// The answer to a request with the token and without a body.
    pub(crate) fn ask(&self, method: &str, target: &str) -> Answer {
        let token = &self.token;
        self.gateway.ask(&format!(
            "{method} {target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n"
        ))
    }

    /// The first records of a topic, as many as an answer has.
    pub(crate) fn records(&self, topic: &str) -> Vec<Value> {
        let target = format!("/api/v1/topics/{topic}/records?limit=100000");
        let answer = self.ask("GET", &target);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let lines = answer.body.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn write(&self, target: &str, authorization: &str) -> Answer {
        let field = format!("Authorization: {authorization}\r\n");
        let fields = if authorization.is_empty() { "" } else { &field };
        self.gateway.ask(&post(target, fields, "m f=1"))
    }
}

#[test]
fn tokens_rights_and_budgets_apply_and_secrets_are_written_nowhere() {
    let mut lab = lab();
    let token = lab.token.clone();
    let (v1, v2, v3) = (
        "/write?db=plant.1",
        "/api/v2/write?bucket=plant.1",
        "/api/v3/write_lp?db=plant.1",
    );
    for target in [v1, v2, v3] {
        for scheme in ["Token", "Bearer"] {
            let answer = lab.write(target, &format!("{scheme} {token}"));
            assert_eq!(answer.status, 204, "{target} {scheme}: {}", answer.body);
        }
        for authorization in ["", "Token wgw_x"] {
            let refused = lab.write(target, authorization);
            assert_eq!(refused.status, 401, "{target}");
            assert!(refused.header("www-authenticate").is_some());
            error_text(target, &refused);
        }
        let other = lab.write(
            &target.replace("plant.1", "other"),
            &format!("Token {token}"),
        );
        assert_eq!(other.status, 403);
        assert!(error_text(target, &other).contains("topic other"));
    }
    let escaped = token.replace('_', "%5F");
    for parameters in [format!("&u=press&p={token}"), format!("&p={escaped}")] {
        assert_eq!(lab.write(&format!("{v1}{parameters}"), "").status, 204);
    }
    // One connection, several senders.
    let mut client = lab.gateway.client();
    for (target, status) in [
        (format!("{v1}&p={token}"), 204),
        (v1.to_owned(), 401),
        (format!("{v1}&p={token}"), 204),
        (format!("{v1}&p={token}x"), 401),
        (format!("{v1}&p={token}&precision=%ff"), 400),
        (format!("{v1}&{token}={token}"), 401),
        (format!("{v2}&p={token}"), 401),
    ] {
        client.send(post(&target, "", "m f=1").as_bytes());
        assert_eq!(client.answer().unwrap().status, status, "{target}");
    }
    let create = format!("/query?p={token}&q=CREATE+DATABASE+");
    assert_eq!(lab.write(&format!("{create}%22plant.2%22"), "").status, 200);
    assert_eq!(lab.write(&format!("{create}other"), "").status, 403);
    assert_eq!(lab.write("/query?q=CREATE+DATABASE+other", "").status, 401);
    let create = format!("/query?p={}&q=CREATE+DATABASE+", lab.tenant);
    assert_eq!(lab.write(&format!("{create}%22plant.1%22"), "").status, 200);
    for target in [&*format!("{create}%22plant.9%22"), "/write?db=plant.9"] {
        let refused = lab.write(target, &format!("Token {}", lab.tenant));
        assert_eq!(refused.status, 403, "{}", refused.body);
        assert!(error_text(target, &refused).contains("create"));
    }
    for probe in ["/ping", "/health"] {
        assert!(lab.gateway.get(probe).status < 300);
    }
    check_budget(&lab);
    let lines = lab.gateway.end();
    assert!(lines.contains("\"audit\":\"refused\""), "{lines}");
    for secret in [&*token, &escaped, &lab.limited, &token[4..]] {
        assert!(!lines.contains(secret), "{lines}");
    }
}

/// A client above its budget: 429, but 503 in version 1, whose clients drop what is answered by 4xx.
#[track_caller]
fn check_budget(lab: &Lab) {
    for (target, status) in [(WRITES[0], 503), (WRITES[1], 429), (WRITES[2], 429)] {
        let fields = format!("Authorization: Token {}\r\n", lab.limited);
        let mut client = lab.gateway.client();
        client.send(post(target, &fields, "m f=1").repeat(50).as_bytes());
        let answers: Vec<Answer> = (0..50).map(|_| client.answer().unwrap()).collect();
        let refused = answers.iter().find(|answer| answer.status != 204);
        let refused = refused.expect("one above the budget");
        assert_eq!(refused.status, status, "{}", refused.body);
        assert_eq!(refused.header("retry-after"), Some("1"));
        assert!(error_text(target, refused).contains("requests per second"));
    }
}
