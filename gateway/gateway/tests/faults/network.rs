//! The network between gateway and Kafka is slow, drops data, and cuts connections.

use std::{net::SocketAddr, thread, time::Duration};

use tempfile::TempDir;
use waggle_testkit::{
    Kafka, Link, Process, Proxy,
    faults::StoredKeys,
    free_port, wait_until,
    writers::{Load, Writers},
};

/// Timeout of waits, for a busy machine.
const PATIENCE: Duration = Duration::from_mins(5);
const TOPIC: &str = "plant";

/// A gateway that reaches its broker through the proxy alone.
fn behind_a_proxy() -> (Proxy, Kafka, Process, SocketAddr, TempDir) {
    let proxy = Proxy::start();
    let answers = format!("PLAINTEXT://{}", proxy.address());
    let kafka = Kafka::start_with(&[("advertised.listeners", &answers)]);
    proxy.lead_to(kafka.address());
    let folder = TempDir::new().unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let command = [
        env!("CARGO_BIN_EXE_waggle-gateway"),
        "serve",
        &format!("--listen={address}"),
        "--backend=kafka",
        &format!("--kafka-brokers={}", proxy.address()),
        "--kafka-partitions=2",
        "--kafka-create-topics",
    ];
    let mut gateway = Process::start("gateway", folder.path(), &command, &[]);
    gateway.wait_for(address);
    (proxy, kafka, gateway, address, folder)
}

#[test]
fn network_faults_do_not_make_answers_wrong() {
    let (proxy, kafka, gateway, address, _folder) = behind_a_proxy();
    let writers = Writers::start(Load {
        gateway: address,
        topic: TOPIC.to_owned(),
        writers: 4,
        pipelined: 8,
        filling: 50,
    });
    let goes_on = |what: &str| {
        let back = writers.wait_for_more(1_000, PATIENCE);
        assert!(back.is_some(), "not after {what}: {}", gateway.log_end());
    };
    goes_on("the start");
    for round in 0..3 {
        for _ in 0..4 {
            thread::sleep(Duration::from_millis(50 + 70 * round));
            proxy.cut();
        }
        goes_on("cuts");
        // Every second delay is above the gateway's timeout.
        proxy.set(Link::Slow(Duration::from_millis(100 + 900 * (round % 2))));
        thread::sleep(Duration::from_secs(2));
        proxy.set(Link::Open);
        goes_on("delay");
        let refused = writers.counts().refused;
        let link = [Link::Swallow, Link::Closed, Link::Swallow][usize::try_from(round).unwrap()];
        proxy.set(link);
        wait_until(&format!("requests are refused: {link:?}"), || {
            writers.counts().refused >= refused + 100
        });
        proxy.set(Link::Open);
        goes_on("an outage");
    }
    let logs = writers.stop();
    let unexpected = logs.iter().find_map(|log| log.unexpected.as_ref());
    assert_eq!(unexpected, None);
    let balance = StoredKeys::in_kafka(&kafka.brokers(), TOPIC).balance(&logs);
    assert_eq!(balance.missing, 0, "{balance:?}");
    assert_eq!(balance.refused_but_stored, 0, "{balance:?}");
}
