//! Networks of trials and the addresses of the load: what they are in each cell, and every mistake.

use std::{path::Path, time::Duration};

use waggle_study::{Network, Study, read_study};

use super::{STUDY, change_text, mistakes::answered_table, source, system};

const NETWORK: &str = "network:
  rate: ${rate}
  delay: 2ms
  loss: 0.5%
  sysctl: { net.core.somaxconn: \"${queue}\", net.ipv4.tcp_rmem: 4096 8192 16384 }
load:
  model: closed
  source_addresses: [127.0.0.2, 127.0.0.4-127.0.0.5]
";

fn text() -> String {
    let changes = [
        ("load:\n  model: closed\n", NETWORK),
        (
            "  workers: [1, 2]",
            "  rate: [none, 100mbit]\n  queue: [16, 128]",
        ),
    ];
    change_text(STUDY, &changes)
}

fn study(changes: &[(&str, &str)]) -> Study {
    let text = source("study.yaml", change_text(&text(), changes));
    read_study(&text, &system()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[test]
fn each_part_of_a_network_may_be_a_factor() {
    let study = study(&[]);
    let expected = |rate: Option<u64>, queue: &str| {
        let settings = [
            ("net.core.somaxconn", queue),
            ("net.ipv4.tcp_rmem", "4096 8192 16384"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Some(Network {
            rate_bits_per_s: rate,
            delay: Duration::from_millis(2),
            loss: 0.005,
            mtu: None,
            sysctl: settings.into(),
        })
    };
    let networks: Vec<_> = study
        .cells
        .iter()
        .map(|cell| cell.network.clone())
        .collect();
    let presence = |rate, queue| networks.contains(&expected(rate, queue));
    assert!(
        presence(None, "16") && presence(None, "128"),
        "{networks:#?}"
    );
    assert!(presence(Some(100_000_000), "16") && presence(Some(100_000_000), "128"));
    let addresses = study.cells[0].source_addresses.iter();
    let addresses: Vec<String> = addresses.map(ToString::to_string).collect();
    assert_eq!(addresses, ["127.0.0.2", "127.0.0.4", "127.0.0.5"]);
}

#[test]
fn packets_are_those_of_a_link_if_it_is_one() {
    let check = |network: Network, expected: u32| {
        assert_eq!(network.packet_bytes(), expected, "{network:?}");
    };
    check(Network::default(), 65_536);
    let rate = Network {
        rate_bits_per_s: Some(1_000_000),
        ..Network::default()
    };
    check(rate.clone(), 1500);
    let delay = Network {
        delay: Duration::from_millis(1),
        ..Network::default()
    };
    check(delay, 1500);
    let link = Network {
        mtu: Some(9000),
        ..rate
    };
    check(link, 9000);
}

#[test]
fn every_mistake_of_a_network() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/network-mistakes.txt");
    let system = system();
    answered_table(&path, &text(), &|text| {
        read_study(&source("study.yaml", text), &system).err()
    });
}
