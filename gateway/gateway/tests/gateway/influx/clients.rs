//! Real clients of InfluxDB write through the gateway: Telegraf, and the official libraries for Python, Go and Java. Each writes the
//! same records, compressed by gzip, and each record must be in the topic once, and none besides.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use waggle_testkit::{Telegraf, free_port, http};

use super::{Lab, lab};
use crate::support::wait_until;

/// Records that each client writes, in batches of 100.
const RECORDS: i64 = 1050;
const FIRST_NS: i64 = 1_700_000_000_000_000_000;

/// A record of the gateway's answer, without its offset.
fn record(index: i64) -> Value {
    json!({
        "time": FIRST_NS + index * 1000,
        "measurement": "reading",
        "tags": { "machine": format!("press {}", index % 5) },
        "fields": {
            "value": index as f64 + 0.5,
            "count": index,
            "text": format!("said \"{index}\", ok"),
            "ok": index % 2 == 0,
        },
    })
}

fn line(index: i64) -> String {
    let machine = index % 5;
    let (value, is_even) = (index as f64 + 0.5, index % 2 == 0);
    let time = FIRST_NS + index * 1000;
    format!(
        r#"reading,machine=press\ {machine} value={value},count={index}i,text="said \"{index}\", ok",ok={is_even} {time}"#
    )
}

/// Every record is in the topic once, and none besides.
#[track_caller]
fn check_ledger(lab: &Lab, topic: &str) {
    let mut records = lab.records(topic);
    for record in &mut records {
        record.as_object_mut().unwrap().remove("offset").unwrap();
    }
    records.sort_by_key(|record| record["time"].as_i64());
    assert_eq!(records.len() as i64, RECORDS, "{topic}");
    for (index, stored) in (0..).zip(&records) {
        assert_eq!(stored, &record(index), "{topic}");
    }
}

/// The folder of the clients.
fn clients() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/influx/fetch");
    let said = Command::new(script).arg("--folder").output().unwrap();
    let folder = PathBuf::from(String::from_utf8(said.stdout).unwrap().trim());
    let is_there = folder.join("bin").is_dir();
    assert!(
        is_there,
        "clients are not there: `tests/influx/fetch` installs them"
    );
    folder
}

/// Runs a client's program, which ends with an error if the gateway's answers are not as the client expects them.
#[track_caller]
fn check_client(name: &str, arguments: &[&str], topic: &str) {
    let lab = lab();
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "300"]);
    command
        .arg(clients().join("bin").join(name))
        .args(arguments);
    command.arg(format!("http://{}", lab.gateway.address));
    command.args([&*lab.token, topic, &RECORDS.to_string()]);
    let output = command.env("no_proxy", "127.0.0.1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {arguments:?}: {said}");
    check_ledger(&lab, topic);
}

#[test]
fn the_python_client_of_version_1_writes_each_record_once() {
    check_client("python", &["v1"], "plant.python-1");
}

#[test]
fn the_python_client_of_version_2_writes_each_record_once() {
    check_client("python", &["v2"], "plant.python-2");
}

#[test]
fn the_python_client_of_version_3_writes_each_record_once() {
    check_client("python", &["v3"], "plant.python-3");
}

#[test]
fn the_go_client_writes_each_record_once() {
    check_client("go", &[], "plant.go");
}

#[test]
fn the_java_client_writes_each_record_once() {
    check_client("java", &[], "plant.java");
}

/// Telegraf takes the records by its listener and writes each of them by both outputs, as they are by default but for the addresses
/// and the pace.
#[test]
fn telegraf_writes_each_record_once_by_both_outputs() {
    let lab = lab();
    let port = free_port();
    let (gateway, token) = (lab.gateway.address, &lab.token);
    let mut telegraf = Telegraf::start(&format!(
        r#"
[agent]
interval = "100ms"
flush_interval = "100ms"
metric_batch_size = 100
omit_hostname = true
[[inputs.influxdb_v2_listener]]
service_address = "127.0.0.1:{port}"
[[outputs.influxdb]]
urls = ["http://{gateway}"]
database = "plant.telegraf-1"
username = "any"
password = "{token}"
[[outputs.influxdb_v2]]
urls = ["http://{gateway}"]
organization = "any"
bucket = "plant.telegraf-2"
token = "{token}"
"#
    ));
    let address = ([127, 0, 0, 1], port).into();
    telegraf.wait_until("listen", || http::get(address, "/api/v2/ready").is_ok());
    let indexes: Vec<i64> = (0..RECORDS).collect();
    for batch in indexes.chunks(50) {
        let mut body = String::new();
        for index in batch {
            writeln!(body, "{}", line(*index)).unwrap();
        }
        let request = format!(
            "POST /api/v2/write?bucket=any HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(
            http::Connection::ask(address, &request).unwrap().status,
            204
        );
    }
    for topic in ["plant.telegraf-1", "plant.telegraf-2"] {
        let count = || lab.records(topic).len() as i64;
        telegraf.wait_until("write all", || count() >= RECORDS);
    }
    let log = telegraf.log_end();
    assert!(
        !log.contains(" E! ") && !log.contains(" W! [outputs."),
        "{log}"
    );
    telegraf.kill();
    for topic in ["plant.telegraf-1", "plant.telegraf-2"] {
        check_ledger(&lab, topic);
    }
    wait_until("nothing is in flight", || {
        let metrics = lab.ask("GET", "/metrics").body;
        metrics.contains("waggle_gateway_in_flight_bytes 0\n")
    });
}
