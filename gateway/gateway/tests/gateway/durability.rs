//! A 204 means durable: after kill -9, after SIGTERM, and with a full disk.

use std::{
    collections::HashSet,
    io::{Read, Write},
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
    sync::mpsc,
};

use crate::support::{Client, Gateway, command, put, store};

const WRITERS: usize = 4;
const PIPELINED: usize = 8;
/// Most records that a writer sends between two kills.
const RECORDS_MAX: usize = 20_000;

/// Sends keyed records until the gateway ends; returns the keys that were answered with 204. Reports each answered turn.
fn write_until_gone(
    address: SocketAddr,
    writer: usize,
    life: usize,
    sent: &mpsc::Sender<usize>,
) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let Ok(mut client) = Client::connect(address) else {
        return acknowledged;
    };
    for turn in 0..RECORDS_MAX / PIPELINED {
        let key = |index: usize| format!("{life}-{writer}-{}", turn * PIPELINED + index);
        let requests: String = (0..PIPELINED)
            .map(|index| put("t", &format!("m,w={writer} key=\"{}\"", key(index))))
            .collect();
        if client.socket().write_all(requests.as_bytes()).is_err() {
            break;
        }
        for index in 0..PIPELINED {
            let Some(answer) = client.answer() else {
                return acknowledged;
            };
            assert_eq!(answer.status, 204, "{}", answer.body);
            acknowledged.push(key(index));
        }
        if sent.send(PIPELINED).is_err() {
            break;
        }
    }
    acknowledged
}

fn keys(gateway: &Gateway) -> Vec<String> {
    let key = |line: &String| {
        line.split("\"key\":\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap()
            .to_owned()
    };
    gateway.records("t").iter().map(key).collect()
}

#[test]
fn acknowledged_records_survive_ten_kills_under_load() {
    let (_folder, file) = store();
    let mut acknowledged = Vec::new();
    for life in 0..10 {
        let mut gateway = Gateway::start(&file, &["--workers=2", "--wal-max-bytes=262144"]);
        let (sent, received) = mpsc::channel();
        let address = gateway.address;
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let sent = sent.clone();
                std::thread::spawn(move || write_until_gone(address, writer, life, &sent))
            })
            .collect();
        drop(sent);
        // Each kill at another moment: after some dozens to some thousands of answers.
        let enough = 40 + life * life * 60;
        let mut answered = 0;
        while answered < enough {
            answered += received
                .recv()
                .expect("writers go on until the gateway is gone");
        }
        gateway.kill();
        drop(received);
        for writer in writers {
            acknowledged.extend(writer.join().unwrap());
        }
        let gateway = Gateway::start(&file, &[]);
        let stored = keys(&gateway);
        let unique: HashSet<&String> = stored.iter().collect();
        assert_eq!(unique.len(), stored.len(), "a record is stored twice");
        let missing = acknowledged
            .iter()
            .filter(|key| !unique.contains(key))
            .count();
        assert_eq!(
            missing,
            0,
            "of {} acknowledged records, in life {life}",
            acknowledged.len()
        );
    }
    assert!(
        acknowledged.len() > 10_000 / 2,
        "too few records to mean anything: {}",
        acknowledged.len()
    );
}

#[test]
fn offsets_continue_after_a_restart() {
    let (_folder, file) = store();
    for life in 0..3 {
        let gateway = Gateway::start(&file, &[]);
        assert_eq!(
            gateway
                .put("t", &format!("m f=1 {life}\nm f=2 {life}"))
                .status,
            204
        );
        assert_eq!(gateway.put(&format!("u{life}"), "m f=1").status, 204);
        let records = gateway.records("t");
        assert_eq!(records.len(), 2 * (life + 1));
        for (offset, record) in records.iter().enumerate() {
            assert!(
                record.starts_with(&format!("{{\"offset\":{offset},\"time\":{},", offset / 2)),
                "{record}"
            );
        }
    }
}

#[test]
fn at_sigterm_open_requests_are_answered() {
    let (_folder, file) = store();
    for signal in ["TERM", "INT"] {
        // The commit waits for more records, so that requests are open at the signal.
        let mut gateway = Gateway::start(&file, &["--commit-delay=1h"]);
        let mut client = gateway.client();
        client.send(put("t", "m f=1").repeat(20).as_bytes());
        while !gateway
            .get("/metrics")
            .body
            .contains("waggle_gateway_in_flight_bytes 100\n")
        {}
        let mut idle = gateway.client();
        gateway.signal(signal);
        for _ in 0..20 {
            assert_eq!(
                client
                    .answer()
                    .expect("an answer to all that was taken in")
                    .status,
                204
            );
        }
        assert!(client.answer().is_none() && idle.answer().is_none());
        assert!(gateway.wait().success());
        assert!(Client::connect(gateway.address).is_err());
    }
    assert_eq!(Gateway::start(&file, &[]).records("t").len(), 40);
}

#[test]
fn at_sigterm_a_body_that_is_being_sent_is_still_accepted() {
    let (_folder, file) = store();
    let mut gateway = Gateway::start(&file, &["--drain-timeout=1m"]);
    let mut idle = gateway.client();
    idle.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(idle.answer().unwrap().status, 200);
    let request = put("t", "m f=1");
    let (first, rest) = request.split_at(request.len() - 2);
    let mut client = gateway.client();
    client.send(first.as_bytes());
    while !gateway
        .get("/metrics")
        .body
        .contains("waggle_gateway_in_flight_bytes 3\n")
    {}
    gateway.signal("TERM");
    // Its end shows that the signal has arrived.
    assert!(idle.answer().is_none());
    client.send(rest.as_bytes());
    assert_eq!(client.answer().expect("an answer").status, 204);
    assert!(client.answer().is_none());
    assert!(gateway.wait().success());
    assert_eq!(Gateway::start(&file, &[]).records("t").len(), 1);
}

#[test]
fn a_store_of_its_largest_size_is_answered_with_507() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--store-max-bytes=400000"]);
    let body = format!("m f=\"{}\"", "x".repeat(50_000));
    let mut taken = 0;
    let refused = loop {
        let answer = gateway.put("t", &body);
        if answer.status != 204 {
            break answer;
        }
        taken += 1;
        assert!(taken < 100, "the store never fills");
    };
    assert_eq!(refused.status, 507);
    assert_eq!(refused.header("retry-after"), None);
    assert_eq!(gateway.get("/readyz").status, 503);
    assert_eq!(gateway.get("/healthz").status, 200);
    assert_eq!(gateway.records("t").len(), taken);
    let metrics = gateway.get("/metrics").body;
    for line in ["commit_failures_total 1\n", "store_is_full 1\n"] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    drop(gateway);
    let roomier = Gateway::start(&file, &[]);
    assert_eq!(roomier.put("t", &body).status, 204);
    assert_eq!(roomier.get("/readyz").status, 200);
    assert_eq!(roomier.records("t").len(), taken + 1);
}

#[test]
fn a_full_disk_loses_no_acknowledged_record_and_recovers() {
    let (_folder, file) = store();
    let gateway = command(&file, &[]);
    // Files may grow to about a megabyte, without a signal.
    let mut limited = std::process::Command::new("sh");
    limited
        .args(["-c", "ulimit -S -f 1000; trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(gateway.get_program())
        .args(gateway.get_args())
        .stderr(std::process::Stdio::piped());
    let mut gateway = Gateway::start_by(&mut limited);
    let mut said = gateway.stderr();
    let body = |number: usize| format!("m key=\"{number}\",f=\"{}\"", "x".repeat(20_000));
    let mut acknowledged = Vec::new();
    let mut refusals = 0;
    for number in 0..2_000 {
        match gateway.put("t", &body(number)).status {
            204 => acknowledged.push(number.to_string()),
            503 => refusals += 1,
            other => panic!("answered {other}"),
        }
        if refusals == 50 {
            break;
        }
    }
    assert_eq!(refusals, 50, "there is always room");
    assert_eq!(gateway.get("/readyz").status, 503);
    assert_eq!(gateway.get("/healthz").status, 200);
    assert_eq!(keys(&gateway), acknowledged);
    let lifted = std::process::Command::new("prlimit")
        .args(["--fsize=unlimited", "--pid", &gateway.id().to_string()])
        .status()
        .unwrap();
    assert!(lifted.success());
    while gateway.get("/readyz").status != 200 {}
    assert_eq!(gateway.put("t", &body(9_999)).status, 204);
    acknowledged.push("9999".to_owned());
    gateway.kill();
    let mut lines = String::new();
    said.read_to_string(&mut lines).unwrap();
    assert!(lines.contains("warning: writing 1 records"), "{lines}");
    assert!(lines.lines().count() < refusals, "a line per refusal");
    assert_eq!(keys(&Gateway::start(&file, &[])), acknowledged);
}

/// A gateway whose syncs fail while this path exists.
fn start_with_failing_sync(file: &Path, fails: &Path) -> Gateway {
    let library = file.with_extension("so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gateway/failing_sync.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]);
    compiler.arg(&library).arg(source);
    assert!(compiler.status().unwrap().success());
    let mut command = command(file, &[]);
    command.env("LD_PRELOAD", library).env("FAIL_SYNC", fails);
    Gateway::start_by(&mut command)
}

#[test]
fn what_a_failed_commit_wrote_is_not_found_after_a_crash() {
    let (folder, file) = store();
    let fails = folder.path().join("fails");
    let mut gateway = start_with_failing_sync(&file, &fails);
    assert_eq!(gateway.put("t", "m key=\"1\"").status, 204);
    for _ in 0..3 {
        std::fs::write(&fails, "").unwrap();
        let refused = gateway.put("t", &"m key=\"refused\"\n".repeat(500));
        assert_eq!(refused.status, 503);
        let said = "nothing of this request was stored";
        assert!(refused.body.contains(said), "{}", refused.body);
    }
    gateway.kill();
    let mut gateway = start_with_failing_sync(&file, &fails);
    assert_eq!(keys(&gateway), ["1"]);
    std::fs::write(&fails, "").unwrap();
    assert_eq!(gateway.put("t", "m key=\"refused\"").status, 503);
    assert_eq!(gateway.put("t", "m key=\"2\"").status, 204);
    gateway.kill();
    assert_eq!(keys(&Gateway::start(&file, &[])), ["1", "2"]);
}

#[test]
fn a_commit_that_cannot_be_overwritten_is_not_said_to_have_stored_nothing() {
    let (folder, file) = store();
    let fails = folder.path().join("fails");
    let mut gateway = start_with_failing_sync(&file, &fails);
    assert_eq!(gateway.put("t", "m key=\"1\"").status, 204);
    std::fs::create_dir(&fails).unwrap();
    let refused = gateway.put("t", "m key=\"2\"");
    assert_eq!(refused.status, 503);
    let said = "records of this request may be in the log";
    assert!(refused.body.contains(said), "{}", refused.body);
    assert_eq!(gateway.get("/readyz").status, 503);
    assert_eq!(keys(&gateway), ["1"]);
    std::fs::remove_dir(&fails).unwrap();
    while gateway.get("/readyz").status != 200 {}
    // The next commit has taken its place.
    assert_eq!(gateway.put("t", "m key=\"3\"").status, 204);
    gateway.kill();
    assert_eq!(keys(&Gateway::start(&file, &[])), ["1", "3"]);
}

#[test]
fn the_write_ahead_log_is_bounded() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--wal-max-bytes=262144"]);
    let body = format!("m f=\"{}\"", "x".repeat(20_000));
    for _ in 0..200 {
        assert_eq!(gateway.put("t", &body).status, 204);
    }
    let size = std::fs::metadata(file.with_extension("db-wal"))
        .unwrap()
        .len();
    assert!(size < 1_000_000, "{size} bytes");
}

#[test]
fn special_names_of_sqlite_are_plain_files() {
    let (folder, _) = store();
    for name in [":memory:", "file:x.db?mode=memory"] {
        for records in 1..=2 {
            let gateway = Gateway::start_by(
                command(std::path::Path::new(name), &[]).current_dir(folder.path()),
            );
            assert_eq!(gateway.put("t", "m f=1").status, 204);
            assert_eq!(gateway.records("t").len(), records);
        }
        assert!(folder.path().join(name).is_file());
    }
}

#[test]
fn a_read_only_store_is_refused_at_the_start() {
    let (_folder, file) = store();
    drop(Gateway::start(&file, &[]));
    let mut permissions = std::fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&file, permissions).unwrap();
    // For root no file is read-only.
    if std::fs::File::options().write(true).open(&file).is_ok() {
        assert_eq!(Gateway::start(&file, &[]).put("t", "m f=1").status, 204);
    } else {
        check_refused(&file, &[], "can be read but not written");
    }
}

/// The error of a gateway that does not start.
#[track_caller]
fn check_refused(store: &std::path::Path, flags: &[&str], expected: &str) {
    let mut process = command(store, flags)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    process
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(!process.wait().unwrap().success());
    assert!(said.contains(expected), "{said}");
}

#[test]
fn the_files_of_a_store_are_its_owners_alone() {
    let (folder, file) = store();
    let gateway = Gateway::start(&file, &[]);
    assert_eq!(gateway.put("t", "m f=1").status, 204);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?} has mode {mode:o}", entry.file_name());
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["store.db", "store.db-shm", "store.db-wal"]);
}

#[test]
fn an_unusable_store_is_refused_at_the_start() {
    let (folder, file) = store();
    let _gateway = Gateway::start(&file, &[]);
    check_refused(&file, &[], "in use");
    let text = folder.path().join("text.db");
    std::fs::write(&text, "this is a text, not a store; ".repeat(100)).unwrap();
    check_refused(&text, &[], "not a database");
    check_refused(
        &folder.path().join("no/such/folder/x.db"),
        &[],
        "no/such/folder",
    );
    let other_name = folder.path().join("other.db");
    std::os::unix::fs::symlink(&file, &other_name).unwrap();
    check_refused(&other_name, &[], "in use");
    let hard_link = folder.path().join("link.db");
    std::fs::hard_link(&file, &hard_link).unwrap();
    check_refused(&hard_link, &[], "in use");
    check_refused(std::path::Path::new("/"), &[], "/");
    check_refused(&file, &["--workers=0"], "--workers");
    check_refused(&file, &["--body-max-bytes=x"], "--body-max-bytes");
    check_refused(&file, &["--head-timeout=10"], "unit");
}
