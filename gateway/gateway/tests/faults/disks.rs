//! Full disks, with small file systems: below Kafka, and below the embedded store.

use std::{net::SocketAddr, time::Duration};

use tempfile::TempDir;
use waggle_testkit::{
    Kafka, Process, SmallDisk,
    faults::StoredKeys,
    free_port,
    http::{Connection, put},
    try_for, wait_until,
    writers::{Fate, Load, WriterLog, Writers, key},
};

/// Timeout of waits, for a busy machine.
const PATIENCE: Duration = Duration::from_mins(5);
const TOPIC: &str = "plant";
const MIB: u64 = 1024 * 1024;

struct Gateway {
    process: Process,
    address: SocketAddr,
    _folder: TempDir,
}

impl Gateway {
    fn start(before: &[String], flags: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let listen = format!("--listen={address}");
        let words = [env!("CARGO_BIN_EXE_waggle-gateway"), "serve", &listen];
        let before = before.iter().map(String::as_str);
        let command: Vec<&str> = before.chain(words).chain(flags.iter().copied()).collect();
        let mut process = Process::start("gateway", folder.path(), &command, &[]);
        process.wait_for(address);
        Self {
            process,
            address,
            _folder: folder,
        }
    }

    /// Waits until the answer to a record has this status and text.
    fn wait_for(&self, status: u16, said: &str) {
        let mut answer = None;
        let response = try_for(PATIENCE, || {
            let response = Connection::ask(self.address, &put("other", "m f=1")).unwrap();
            let is_it = response.status == status && response.body.contains(said);
            answer = Some(response);
            is_it.then_some(())
        });
        assert!(response.is_some(), "{answer:?}: {}", self.process.log_end());
    }

    /// Writes until records are refused, makes room and continues; returns the answer for each record.
    fn fill(&self, filling: usize, make_room: impl FnOnce()) -> Vec<WriterLog> {
        let writers = Writers::start(Load {
            gateway: self.address,
            topic: TOPIC.to_owned(),
            writers: 4,
            pipelined: 4,
            filling,
        });
        wait_until("there is no more room", || writers.counts().refused >= 100);
        make_room();
        let back = writers.wait_for_more(50, PATIENCE);
        assert!(back.is_some(), "not again: {}", self.process.log_end());
        let logs = writers.stop();
        let unexpected = logs.iter().find_map(|log| log.unexpected.as_ref());
        assert_eq!(unexpected, None);
        logs
    }
}

#[test]
fn a_full_disk_below_kafka_is_reported_and_loses_no_acknowledged_record() {
    let disk = SmallDisk::start(32 * MIB);
    let settings = [("log.segment.bytes", "2097152")];
    let mut kafka = Kafka::start_on(&disk, &settings);
    let brokers = format!("--kafka-brokers={}", kafka.brokers());
    let flags = [
        "--backend=kafka",
        &brokers,
        "--kafka-compression=none",
        "--kafka-create-topics",
    ];
    let gateway = Gateway::start(&[], &flags);
    gateway.wait_for(204, "");
    let logs = gateway.fill(20_000, || {
        gateway.wait_for(503, "Kafka");
        disk.resize(256 * MIB);
        // A broker that cannot write to its only folder ends itself.
        kafka.restart();
    });
    let keys = StoredKeys::in_kafka(&kafka.brokers(), TOPIC);
    let balance = keys.balance(&logs);
    assert_eq!(balance.missing, 0, "{balance:?}");
    assert_eq!(balance.refused_but_stored, 0, "{balance:?}");
}

#[test]
fn a_full_disk_below_the_store_is_reported_and_loses_no_acknowledged_record() {
    let disk = SmallDisk::start(4 * MIB);
    let store = disk.path().join("store.db");
    let store = format!("--store={}", store.display());
    let mut gateway = Gateway::start(&disk.enter(), &[&store]);
    let logs = gateway.fill(2_000, || {
        gateway.wait_for(503, "the store cannot write at the moment");
        let ready = "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n";
        let ready = Connection::ask(gateway.address, ready).unwrap();
        assert_eq!(ready.status, 503, "{ready:?}");
        disk.resize(64 * MIB);
    });
    // Includes the answers while the disk was full, checked against the file.
    gateway.process.kill();
    let gateway = Gateway::start(&disk.enter(), &[&store]);
    let stored = keys(&gateway);
    let unique: std::collections::HashSet<u64> = stored.iter().copied().collect();
    for log in &logs {
        for (sequence, fate) in log.fates.iter().enumerate() {
            let is_there = unique.contains(&key(log.writer, sequence));
            match fate {
                Fate::Acknowledged => assert!(is_there, "{} {sequence}", log.writer),
                Fate::Refused => assert!(!is_there, "{} {sequence}", log.writer),
                Fate::Unknown => {}
            }
        }
    }
}

/// The keys of all records in the store.
fn keys(gateway: &Gateway) -> Vec<u64> {
    let (mut keys, mut offset) = (Vec::new(), 0);
    loop {
        let request = format!(
            "GET /api/v1/topics/{TOPIC}/records?offset={offset}&limit=10000&select=key HTTP/1.1\r\nHost: a\r\n\r\n"
        );
        let answer = Connection::ask(gateway.address, &request).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        if answer.body.is_empty() {
            return keys;
        }
        for line in answer.body.lines() {
            let key = line.split_once("\"key\":").expect("a key").1;
            let digits = key.split(|digit: char| !digit.is_ascii_digit()).next();
            keys.push(digits.unwrap().parse().unwrap());
            offset += 1;
        }
    }
}
