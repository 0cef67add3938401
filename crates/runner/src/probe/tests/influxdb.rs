//! The probe by time on a real InfluxDB.

use waggle_load::key_of;
use waggle_study::{Extract, ProbeKind, ProbeQuery};
use waggle_system::http::{client::HttpConnector, peer::Peer};
use waggle_testkit::Influxdb;

use super::{Bench, Depth, Network, ProbeReader, RUN, SECOND_NS, account, poll_until};

const SENT: u64 = 2_000;
/// Records per write.
const STEP: u64 = 100;

fn bench(influxdb: &Influxdb, token: &str, bucket: &str) -> Bench {
    let headers = [
        ("Authorization", format!("Token {token}")),
        ("Content-Type", "application/vnd.flux".to_owned()),
        ("Accept", "application/csv".to_owned()),
    ];
    let body = format!(
        "from(bucket: \"{bucket}\") |> range(start: time(v: ${{from}}), stop: time(v: ${{to}})) \
         |> filter(fn: (r) => r._field == \"waggle_key\" and r.waggle_run == \"${{run}}\") \
         |> keep(columns: [\"_time\", \"_value\"])"
    );
    let query = ProbeQuery {
        method: "POST".to_owned(),
        path: format!("/api/v2/query?org={}", influxdb.org()),
        headers: headers
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec(),
        body,
    };
    Bench::new(
        ProbeKind::Query { query, limit: 400 },
        Extract::Columns {
            key: "_value".to_owned(),
            time: "_time".to_owned(),
            run: None,
        },
    )
}

fn write(influxdb: &Influxdb, lines: &[String]) {
    let path = format!(
        "/api/v2/write?org={}&bucket={}&precision=ns",
        influxdb.org(),
        influxdb.bucket()
    );
    let (status, answer) = influxdb.post(&path, &lines.join("\n"));
    assert_eq!(status, 204, "{answer}");
}

#[tokio::test]
async fn every_record_of_a_bucket_is_accounted_for() {
    let influxdb = Influxdb::start();
    let bench = bench(&influxdb, influxdb.token(), influxdb.bucket());
    let mut reader = bench.reader(influxdb.address());
    let is_lost = |sequence: &u64| [17, 1_500].contains(sequence);
    let is_late = |sequence: &u64| sequence % 500 == 3;
    let (mut held_back, mut at_once) = (Vec::new(), 0);
    for step in 0..SENT / STEP {
        let sequences = (step * STEP..(step + 1) * STEP).filter(|sequence| !is_lost(sequence));
        let (late, now): (Vec<u64>, Vec<u64>) = sequences.partition(is_late);
        let lines: Vec<String> = now
            .iter()
            .map(|sequence| bench.line(*sequence, 0))
            .collect();
        write(&influxdb, &lines);
        if step % 5 == 0 {
            // The same records again, which the store keeps once.
            write(&influxdb, &lines);
        }
        held_back.extend(late.iter().map(|sequence| bench.line(*sequence, 0)));
        at_once += now.len() as u64;
        poll_until(&mut reader, at_once).await;
    }
    tokio::time::sleep(super::LATE_AFTER + super::LATE_AFTER / 2).await;
    write(&influxdb, &held_back);
    write(&influxdb, &[bench.line(17, 0).replace(RUN, "t1x2b")]);
    let known = at_once + held_back.len() as u64;
    poll_until(&mut reader, known).await;
    // To the end: missing records are missing at any depth.
    reader.restart();
    while reader.poll(Depth::Whole).await.unwrap() {}
    let ledger = account(&reader, SENT);
    assert_eq!(
        (ledger.delivered, ledger.missing, &ledger.missing_keys[..]),
        (SENT - 2, 2, &[key_of(0, 17), key_of(0, 1_500)][..])
    );
    assert_eq!((ledger.duplicates, ledger.unexpected), (0, 0));
    assert!(ledger.late >= held_back.len() as u64);
    assert!(ledger.out_of_order >= held_back.len() as u64);
    assert_eq!(
        reader.log(|log| log.delay_histograms(false).delivery.len()),
        SENT - 2
    );
    let pace = reader.pace();
    // Rows are not read repeatedly without need.
    assert!(pace.rows_read < 20 * SENT, "{pace:?}");
    assert!(pace.longest_gap >= super::LATE_AFTER / 20, "{pace:?}");
    // A second read gives the same account, plus the record that came meanwhile.
    write(&influxdb, &[bench.line(1_500, 0)]);
    reader.forget();
    assert_eq!(reader.log(|log| log.seen.distinct), 0);
    while reader.poll(Depth::Whole).await.unwrap() {}
    let ledger = account(&reader, SENT);
    assert_eq!((ledger.delivered, ledger.missing), (SENT - 1, 1));
    assert_eq!(
        reader.log(|log| log.delay_histograms(false).delivery.len()),
        SENT - 1
    );
}

#[tokio::test]
async fn a_refusal_of_the_store_is_reported() {
    let influxdb = Influxdb::start();
    for (token, bucket, expected) in [
        ("wrong", influxdb.bucket(), "401"),
        (influxdb.token(), "none", "404"),
    ] {
        let bench = bench(&influxdb, token, bucket);
        let mut reader = bench.reader(influxdb.address());
        let problem = reader.poll(Depth::Turn).await.unwrap_err().to_string();
        assert!(problem.contains(expected), "{problem}");
    }
}

#[tokio::test]
async fn one_store_of_several_is_refused() {
    let influxdb = Influxdb::start();
    let bench = bench(&influxdb, influxdb.token(), influxdb.bucket());
    let connection = |peer: &Peer| Network.connection(peer);
    let both = [influxdb.address().into(), influxdb.address().into()];
    let failure = ProbeReader::new(&bench.start_probe(), &both, connection).unwrap_err();
    assert!(failure.reason.contains("2 replicas"), "{failure:?}");
}

#[tokio::test]
async fn a_record_far_back_out_of_order_is_found() {
    let influxdb = Influxdb::start();
    let bench = bench(&influxdb, influxdb.token(), influxdb.bucket());
    let mut reader = bench.reader(influxdb.address());
    // One half has a send time five seconds before the other.
    let early: Vec<String> = (0..500)
        .map(|sequence| bench.line(sequence, 5 * SECOND_NS))
        .collect();
    let recent: Vec<String> = (500..1_000)
        .map(|sequence| bench.line(sequence, 0))
        .collect();
    write(&influxdb, &recent);
    poll_until(&mut reader, 500).await;
    write(&influxdb, &early);
    poll_until(&mut reader, 1_000).await;
    let ledger = account(&reader, 1_000);
    assert!(ledger.missing == 0 && ledger.late >= 500, "{ledger:?}");
}
