//! Queries with a log on Kafka: InfluxDB answers the same as the embedded store. No broker is needed.

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use serde_json::Value;
use waggle_testkit::{Influxdb, TlsTerminator, tls::Authority};

use crate::support::{Answer, Gateway, kafka_command, store, wait_until};

fn gateway_with(influxdb: &Influxdb, token: &str, flags: &[&str]) -> Gateway {
    let url = format!("--influxdb-url={}", influxdb.url());
    let org = format!("--influxdb-org={}", influxdb.org());
    let bucket = format!("--influxdb-bucket={}", influxdb.bucket());
    let flags = [&[&*url, &*org, &*bucket], flags].concat();
    let mut command = kafka_command("127.0.0.1:1", &flags);
    Gateway::start_by(command.env("INFLUX_TOKEN", token))
}

fn gateway(influxdb: &Influxdb, flags: &[&str]) -> Gateway {
    gateway_with(influxdb, influxdb.token(), flags)
}

fn write(influxdb: &Influxdb, lines: &str) {
    let path = format!(
        "/api/v2/write?org={}&bucket={}&precision=ns",
        influxdb.org(),
        influxdb.bucket()
    );
    let (status, answer) = influxdb.post(&path, lines);
    assert_eq!(status, 204, "{answer}");
}

fn percent_encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn post(gateway: &Gateway, content_type: &str, text: &str) -> Answer {
    gateway.ask(&format!(
        "POST /api/v1/query HTTP/1.1\r\nHost: a\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    ))
}

/// Series, types and times, common and uncommon ones.
fn data() -> String {
    let second = 1_000_000_000_i64;
    let base = 1_700_000_000 * second;
    let mut lines = String::new();
    for n in 0..40_i64 {
        let time = base + n * 3 * second + n;
        for host in ["a", "b"] {
            lines += &format!(
                "cpu,host={host},zone=z\\ 1 user={}.5,threads={n}i,up={},name=\"n {n}\" {time}\n",
                n % 7,
                n % 3 == 0
            );
        }
        // A record with few fields, a record without tags.
        lines += &format!("cpu user={n} {}\n", time + 1);
        if n % 4 == 0 {
            lines += &format!("cpu,host=c threads={n}i {}\n", time + 2);
        }
        lines += &format!("other,host=a user=1 {}\n", time + 3);
    }
    lines += &format!(
        "cpu,host=a count=18446744073709551615u {}\n",
        base + 500 * second
    );
    lines += "cpu,host=old user=1.5 -5\ncpu,host=old user=2.5 5\n";
    lines
}

/// The queries for both backends.
const QUERIES: [&str; 31] = [
    "",
    "&limit=1",
    "&limit=7",
    "&limit=100000",
    "&tag.host=a",
    "&tag.host=a&tag.zone=z%201",
    "&tag.host=missing",
    "&tag.host=",
    "&tag._field=user",
    "&fields=user",
    "&fields=threads,name&limit=9",
    "&fields=nothing",
    "&from=1700000010000000003",
    "&from=1700000010000000003&to=1700000040000000000",
    "&to=1700000000000000000",
    "&from=5&to=5",
    "&from=9223372036854775807",
    "&aggregate=count",
    "&aggregate=mean",
    "&aggregate=sum&fields=user,threads",
    "&aggregate=min",
    "&aggregate=max&tag.host=b",
    "&aggregate=first&tag.host=a",
    "&aggregate=last&tag.host=b",
    "&aggregate=mean&window=10s&from=1700000000000000000",
    "&aggregate=count&window=7s&from=1700000005000000000&to=1700000060000000000",
    "&aggregate=sum&window=1m&tag.host=c",
    "&aggregate=max&window=10s&limit=3&from=1700000000000000000",
    "&aggregate=last&window=30s&tag.host=a&fields=name,up&from=1700000000000000000",
    "&aggregate=min&window=1h",
    "&window=10s&from=1700000000000000000",
];

#[test]
fn both_backends_answer_the_same() {
    let influxdb = Influxdb::start();
    let lines = data();
    write(&influxdb, &lines);
    let on_kafka = gateway(&influxdb, &[]);
    let (_folder, file) = store();
    let embedded = Gateway::start(&file, &[]);
    // The log is in the order of time, so that both give the same order.
    let time = |line: &&str| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap();
    let mut sorted: Vec<&str> = lines.lines().collect();
    sorted.sort_by_key(time);
    assert_eq!(embedded.put("t", &sorted.join("\n")).status, 204);
    for query in QUERIES {
        let target = format!("/api/v1/query?topic=t&measurement=cpu{query}");
        let answers = [&embedded, &on_kafka].map(|gateway| {
            let answer = gateway.get(&target);
            assert_eq!(answer.status, 200, "{query}: {}", answer.body);
            serde_json::from_str::<Value>(&answer.body).unwrap()
        });
        let [mut expected, actual] = answers;
        if query.contains("window=10s&limit=3") {
            // The store stops at the first record without a window left; both answers are truncated.
            assert_eq!(actual["truncated"], true);
            expected["truncated"] = true.into();
        }
        assert_eq!(actual, expected, "{query}");
    }
    // Errors are the same too.
    for query in ["&limit=0", "&window=0s", "&aggregate=median", "&x=1"] {
        let target = format!("/api/v1/query?topic=t&measurement=cpu{query}");
        let [expected, actual] = [&embedded, &on_kafka].map(|gateway| gateway.get(&target));
        assert_eq!(
            (actual.status, actual.body),
            (400, expected.body),
            "{query}"
        );
    }
}

#[test]
fn parameters_of_clients_cannot_change_the_query() {
    let influxdb = Influxdb::start();
    let hostile = [
        "\" or true) //",
        "\") |> yield(name: \"x\") //",
        "${1 + 1}",
        "a\\",
        "a\\\" == \"a\\",
        "\u{fc}\u{1f41d}",
        "x |> y",
        "'; DROP MEASUREMENT \"secret\"",
    ];
    // Values that line protocol escapes in several ways are only queried, not written.
    let can_be_a_name = |text: &str| !text.contains(['\\', ',', '=']);
    let escaped = |text: &str| text.replace(' ', "\\ ");
    write(&influxdb, "secret,t=x f=1 1");
    for text in hostile {
        if !can_be_a_name(text) {
            continue;
        }
        let name = escaped(text);
        write(&influxdb, &format!("m{name},{name}={name} {name}=7 1"));
    }
    let gateway = gateway(&influxdb, &[]);
    for text in hostile {
        let (value, measurement) = (percent_encode(text), percent_encode(&format!("m{text}")));
        let ask = |query: String| {
            let answer = gateway.get(&format!("/api/v1/query?topic=t&{query}"));
            assert_eq!(answer.status, 200, "{text}: {}", answer.body);
            let answer: Value = serde_json::from_str(&answer.body).unwrap();
            answer["rows"].as_array().unwrap().clone()
        };
        // A value that does not occur.
        assert!(
            ask(format!("measurement=secret&tag.t={value}")).is_empty(),
            "{text}"
        );
        assert!(
            ask(format!(
                "measurement=secret&fields={}",
                value.replace("%2C", "%20")
            ))
            .is_empty()
        );
        assert!(
            ask(format!("measurement=secret&tag.{value}=x")).is_empty(),
            "{text}"
        );
        assert!(ask(format!("measurement={value}")).is_empty(), "{text}");
        if !can_be_a_name(text) {
            continue;
        }
        // A value that occurs.
        let rows = ask(format!(
            "measurement={measurement}&tag.{value}={value}&fields={value}"
        ));
        assert_eq!(rows.len(), 1, "{text}");
        assert_eq!(rows[0]["tags"][text], text);
        assert_eq!(rows[0]["fields"][text], 7.0);
    }
}

#[test]
fn queries_are_passed_on_if_that_is_allowed() {
    let influxdb = Influxdb::start();
    write(&influxdb, "m,t=x f=1.5 1000");
    let flux = format!("from(bucket: \"{}\") |> range(start: 0)", influxdb.bucket());
    let (in_flux, in_influxql) = ("application/vnd.flux", "application/vnd.influxql");
    let closed = gateway(&influxdb, &[]);
    assert_eq!(post(&closed, in_flux, &flux).status, 405);
    let flags = ["--query-pass-through", "--answer-max-bytes=5000"];
    let open = gateway(&influxdb, &flags);
    let answer = post(&open, in_flux, &flux);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(
        answer
            .header("content-type")
            .unwrap()
            .starts_with("text/csv")
    );
    assert!(answer.body.contains(",1.5,f,m,x"), "{}", answer.body);
    let answer = post(&open, in_influxql, "SELECT f FROM m WHERE t = 'x'");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let said: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(
        said["results"][0]["series"][0]["values"][0],
        serde_json::json!([1000, 1.5])
    );
    for language in [in_flux, in_influxql] {
        let wrong = post(&open, language, "from from");
        assert_eq!(wrong.status, 400, "{}", wrong.body);
        assert!(wrong.body.contains("application/problem") || wrong.body.contains("detail"));
    }
    assert_eq!(post(&open, "text/plain", &flux).status, 415);
    assert_eq!(post(&open, in_flux, &"x".repeat(65 * 1024)).status, 413);
    let many: String = (1..200).map(|n| format!("m,t=y f=1 {n}\n")).collect();
    write(&influxdb, &many);
    let too_large = post(&open, in_flux, &flux);
    assert_eq!(too_large.status, 422, "{}", too_large.body);
    // Bodies release their bytes in flight.
    let metrics = open.get("/metrics").body;
    for gauge in ["in_flight_bytes 0", "answer_bytes 0"] {
        assert!(
            metrics.contains(&format!("waggle_gateway_{gauge}\n")),
            "{metrics}"
        );
    }
}

#[test]
fn a_database_that_does_not_answer_is_reported_soon() {
    let mut influxdb = Influxdb::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "wrong").unwrap();
    let flag = format!("--influxdb-token-file={}", file.display());
    let gateway = gateway_with(&influxdb, "", &[&flag]);
    let ask = || gateway.get("/api/v1/query?topic=t&measurement=m");
    let refused = ask();
    assert_eq!(refused.status, 502, "{}", refused.body);
    assert!(refused.body.contains("token") && !refused.body.contains("wrong"));
    std::fs::write(&file, influxdb.token()).unwrap();
    assert_eq!(ask().status, 200);
    influxdb.kill();
    let away = ask();
    assert_eq!(away.status, 502, "{}", away.body);
    influxdb.restart();
    wait_until("it answers again", || ask().status == 200);
}

#[test]
fn slow_queries_time_out_and_do_not_block_other_calls() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("--influxdb-url=http://{}", silent.local_addr().unwrap());
    let flags = [
        &*url,
        "--influxdb-org=o",
        "--influxdb-bucket=b-{topic}",
        "--query-timeout=10s",
        "--query-concurrency=1",
    ];
    let mut command = kafka_command("127.0.0.1:1", &flags);
    let gateway = Gateway::start_by(command.env("INFLUX_TOKEN", "x"));
    let asked = Instant::now();
    let mut waiting: Vec<_> = (0..18).map(|_| gateway.client()).collect();
    let request = "GET /api/v1/query?topic=t&measurement=m HTTP/1.1\r\nHost: a\r\n\r\n";
    for client in &mut waiting {
        client.send(request.as_bytes());
    }
    for _ in 0..100 {
        assert_eq!(gateway.get("/healthz").status, 200);
    }
    let mut statuses: Vec<u16> = waiting
        .iter_mut()
        .map(|client| client.answer().unwrap().status)
        .collect();
    statuses.sort_unstable();
    // One runs, sixteen wait, one is too many.
    assert_eq!(statuses, [&[429][..], &[504; 17]].concat());
    assert!(
        asked.elapsed() < Duration::from_secs(180),
        "{:?}",
        asked.elapsed()
    );
}

#[test]
fn a_database_over_https_is_queried_if_its_authority_is_trusted() {
    let influxdb = Influxdb::start();
    write(&influxdb, "m f=1i 1700000000000000000");
    let authority = Authority::new("authority of InfluxDB");
    let terminator = TlsTerminator::start(authority.server(), influxdb.address());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let check = |pem: &str, expected: u16| {
        std::fs::write(&file, pem).unwrap();
        let flags = [
            format!(
                "--influxdb-url=https://localhost:{}",
                terminator.address().port()
            ),
            format!("--influxdb-org={}", influxdb.org()),
            format!("--influxdb-bucket={}", influxdb.bucket()),
            format!("--influxdb-ca={}", file.display()),
        ];
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut command = kafka_command("127.0.0.1:1", &flags);
        let gateway = Gateway::start_by(command.env("INFLUX_TOKEN", influxdb.token()));
        let answer = gateway.get("/api/v1/query?topic=t&measurement=m");
        assert_eq!(answer.status, expected, "{}", answer.body);
    };
    check(&authority.pem, 200);
    check(&Authority::new("another").pem, 502);
}

#[test]
fn a_bucket_that_topics_share_is_for_clients_that_may_read_them_all() {
    let (_folder, file) = store();
    let clients = file.with_extension("yaml");
    // The SHA-256 of `secret` and of `writer`.
    let text = "clients:
- name: one
  tokens: [2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b]
  read: [t]
- name: all
  tokens: [b93006774cbdd4b299389a03ac3d88c3a76b460d538795bc12718011a909fba5]
  read: ['*']
";
    std::fs::write(&clients, text).unwrap();
    // Nothing answers at this address.
    for (bucket, of_one) in [("shared", 403), ("of-{topic}", 502)] {
        let bucket = format!("--influxdb-bucket={bucket}");
        let flags = [
            "--influxdb-url=http://127.0.0.1:1",
            "--influxdb-org=o",
            &bucket,
        ];
        let mut command = kafka_command("127.0.0.1:1", &flags);
        command.arg("--clients").arg(&clients);
        let gateway = Gateway::start_by(command.env("INFLUX_TOKEN", "x"));
        for (token, expected) in [("secret", of_one), ("writer", 502)] {
            let answer = gateway.ask(&format!(
                "GET /api/v1/query?topic=t&measurement=m HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n"
            ));
            assert_eq!(answer.status, expected, "{bucket} {token}: {}", answer.body);
        }
    }
}

#[test]
fn missing_flags_are_named() {
    let (_folder, file) = store();
    let kafka = |flags: &[&str]| kafka_command("127.0.0.1:1", flags);
    let all = [
        "--influxdb-url=http://a",
        "--influxdb-org=o",
        "--influxdb-bucket=b",
    ];
    for (mut command, expected) in [
        (kafka(&all[..2]), "--influxdb-bucket"),
        (kafka(&all[1..]), "--influxdb-url"),
        (kafka(&all), "INFLUX_TOKEN"),
        (
            kafka(&[&all[..], &["--influxdb-token-file=/nowhere"]].concat()),
            "/nowhere",
        ),
        (
            kafka(&["--influxdb-url=ftp://a", all[1], all[2]]),
            "http://",
        ),
        (
            kafka(&[&all[..], &["--influxdb-ca=/no-authorities"]].concat()),
            "https://",
        ),
        (
            kafka(&[
                "--influxdb-url=https://a",
                all[1],
                all[2],
                "--influxdb-ca=/no-authorities",
            ]),
            "reading /no-authorities",
        ),
        (kafka(&["--query-pass-through"]), "--influxdb-url"),
        (kafka(&["--query-concurrency=3"]), "--influxdb-url"),
        (crate::support::command(&file, &all), "cannot be used with"),
    ] {
        let output = command
            .env_remove("INFLUX_TOKEN")
            .stderr(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && said.contains(expected),
            "{said}"
        );
    }
}
