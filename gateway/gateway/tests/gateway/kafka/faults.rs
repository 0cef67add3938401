//! The broker stops and restarts, the gateway is killed: acknowledged records are in the log.

use std::{
    collections::HashSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use waggle_testkit::Kafka;

use super::cluster::{lines, wait_for_leaders};
use crate::support::{Answer, Client, Gateway, kafka_command, put, wait_until};

const WRITERS: usize = 4;
const PIPELINED: usize = 8;
/// The gateway answers 503 within a second; on a busy machine it may take longer.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// The gateway accepts records within 5 s of the broker's restart; on a busy machine it may take longer.
const BACK_WITHIN: Duration = Duration::from_secs(180);
/// Extra memory that a gateway may need while it refuses requests.
const AWAY_MAX_BYTES: usize = 32 * 1024 * 1024;

/// Results of the writers.
#[derive(Default)]
struct Score {
    stop: AtomicBool,
    acknowledged: AtomicUsize,
    refused: AtomicUsize,
}

impl Score {
    /// Waits until `more` further records are acknowledged.
    fn wait_for_more(&self, more: usize) {
        let enough = self.acknowledged.load(Ordering::Relaxed) + more;
        wait_until("more are acknowledged", || {
            self.acknowledged.load(Ordering::Relaxed) >= enough
        });
    }
}

/// An exclusive broker; one at a time, because several on a busy machine would be too slow for the guaranteed times.
fn exclusive_broker() -> (MutexGuard<'static, ()>, Kafka) {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    (alone, Kafka::start())
}

/// Sends keyed records until stopped or until the gateway ends; returns the keys that were answered with 204.
fn write(gateway: &Gateway, writer: &str, score: &Score) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let Ok(mut client) = Client::connect(gateway.address) else {
        return acknowledged;
    };
    for turn in 0.. {
        if score.stop.load(Ordering::Relaxed) {
            break;
        }
        let key = |index: usize| format!("{writer}-{}", turn * PIPELINED + index);
        let requests: String = (0..PIPELINED)
            .map(|index| put("t", &format!("m,w={writer} key=\"{}\"", key(index))))
            .collect();
        let sent = Instant::now();
        if std::io::Write::write_all(client.socket(), requests.as_bytes()).is_err() {
            break;
        }
        for index in 0..PIPELINED {
            let Some(answer) = client.answer() else {
                return acknowledged;
            };
            if answer.status == 204 {
                score.acknowledged.fetch_add(1, Ordering::Relaxed);
                acknowledged.push(key(index));
            } else {
                check_refused(&answer, sent);
                score.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    acknowledged
}

#[track_caller]
fn check_refused(answer: &Answer, sent: Instant) {
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert!(sent.elapsed() < ANSWER_WITHIN, "{:?}", sent.elapsed());
}

#[track_caller]
fn check_nothing_is_missing(kafka: &Kafka, acknowledged: &[String]) {
    let lines = lines(&kafka.brokers(), "t");
    let keys: HashSet<&str> = lines
        .iter()
        .filter_map(|line| line.split('"').nth(1))
        .collect();
    let missing = acknowledged.iter().filter(|key| !keys.contains(&***key));
    assert_eq!(missing.count(), 0, "of {}", acknowledged.len());
}

/// The gateway's resident memory.
fn memory_bytes(gateway: &Gateway) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_ascii_whitespace().nth(1));
    kib.unwrap().parse::<usize>().unwrap() * 1024
}

/// Runs writers while `meddle` runs; returns the acknowledged keys.
fn write_while(gateway: &Gateway, name: &str, score: &Score, meddle: impl FnOnce()) -> Vec<String> {
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let name = format!("{name}-{writer}");
                scope.spawn(move || write(gateway, &name, score))
            })
            .collect();
        score.wait_for_more(500);
        meddle();
        score.stop.store(true, Ordering::Relaxed);
        writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect()
    })
}

#[test]
fn a_killed_and_restarted_broker_has_every_acknowledged_record() {
    let (_alone, mut kafka) = exclusive_broker();
    let flags = ["--workers=2", "--kafka-partitions=3"];
    let gateway = Gateway::start_by(&mut kafka_command(&kafka.brokers(), &flags));
    let score = Score::default();
    let acknowledged = write_while(&gateway, "k", &score, || {
        for _ in 0..2 {
            let refused = score.refused.load(Ordering::Relaxed);
            let memory = memory_bytes(&gateway);
            kafka.kill();
            wait_until("many are refused", || {
                score.refused.load(Ordering::Relaxed) > refused + 5000
            });
            let more = memory_bytes(&gateway).saturating_sub(memory);
            assert!(more < AWAY_MAX_BYTES, "{more} bytes more");
            let ready = gateway.get("/readyz");
            assert_eq!(ready.status, 503);
            assert!(ready.body.contains("Kafka"), "{}", ready.body);
            assert_eq!(gateway.get("/healthz").status, 200);
            kafka.restart();
            wait_for_leaders(&kafka.brokers(), "t");
            let back = Instant::now();
            score.wait_for_more(500);
            assert!(back.elapsed() < BACK_WITHIN, "{:?}", back.elapsed());
            wait_until("ready again", || gateway.get("/readyz").status == 200);
        }
    });
    check_nothing_is_missing(&kafka, &acknowledged);
}

#[test]
fn a_stopped_broker_causes_quick_refusals() {
    let (_alone, kafka) = exclusive_broker();
    let gateway = Gateway::start_by(&mut kafka_command(&kafka.brokers(), &[]));
    let score = Score::default();
    let acknowledged = write_while(&gateway, "f", &score, || {
        kafka.suspend();
        wait_until("some are refused", || {
            score.refused.load(Ordering::Relaxed) > 100
        });
        let sent = Instant::now();
        check_refused(&gateway.put("new", "m f=1"), sent);
        kafka.resume();
        score.wait_for_more(500);
    });
    check_nothing_is_missing(&kafka, &acknowledged);
}

#[test]
fn a_killed_gateway_has_acknowledged_only_records_in_the_log() {
    let (_alone, kafka) = exclusive_broker();
    let mut acknowledged = Vec::new();
    for life in 0..5 {
        // Nothing here is about time.
        let flags = [
            "--workers=2",
            "--kafka-partitions=2",
            "--kafka-delivery-timeout=1m",
        ];
        let gateway = Gateway::start_by(&mut kafka_command(&kafka.brokers(), &flags));
        let score = Score::default();
        acknowledged.extend(write_while(&gateway, &life.to_string(), &score, || {
            score.wait_for_more(life * 700);
            gateway.signal("KILL");
        }));
    }
    assert!(acknowledged.len() > 2500, "{}", acknowledged.len());
    check_nothing_is_missing(&kafka, &acknowledged);
}

#[test]
fn at_sigterm_it_answers_what_it_took_in_and_ends() {
    let (_alone, kafka) = exclusive_broker();
    let mut gateway = Gateway::start_by(&mut kafka_command(
        &kafka.brokers(),
        &["--kafka-delivery-timeout=1m"],
    ));
    wait_until("a record is taken", || {
        gateway.put("t", "m f=0").status == 204
    });
    // Accepted records wait for the broker, so that requests are open when the signal arrives.
    kafka.suspend();
    let mut client = gateway.client();
    client.send(put("t", "m f=1").repeat(20).as_bytes());
    wait_until("20 requests are open", || {
        let metrics = gateway.get("/metrics").body;
        metrics.contains("waggle_gateway_in_flight_bytes 100\n")
    });
    gateway.signal("TERM");
    kafka.resume();
    for _ in 0..20 {
        let answer = client.answer().expect("an answer to all that was taken in");
        assert!(matches!(answer.status, 204 | 503), "{}", answer.body);
    }
    assert!(client.answer().is_none());
    assert!(gateway.wait().success());
}

#[test]
fn without_a_broker_it_starts_says_so_and_ends() {
    let mut gateway = Gateway::start_by(&mut kafka_command("127.0.0.1:1", &[]));
    // Not ready from the start, long before a timeout shows that the broker does not answer.
    let ready = gateway.get("/readyz");
    assert_eq!(ready.status, 503);
    assert!(ready.body.contains("Kafka"), "{}", ready.body);
    let sent = Instant::now();
    check_refused(&gateway.put("t", "m f=1"), sent);
    assert_eq!(gateway.get("/readyz").status, 503);
    assert_eq!(gateway.get("/healthz").status, 200);
    gateway.signal("TERM");
    assert!(gateway.wait().success());
}
