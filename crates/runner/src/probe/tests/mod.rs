//! Probes on real servers: records that come late, twice or never are accounted for as such.

mod influxdb;
mod kafka;

use std::time::Duration;

use tokio::sync::watch;
use waggle_load::{RequestOutcome, RequestOutcomes, key_of};
use waggle_results::LedgerInfo;
use waggle_study::{Delivery, Extract, Probe, ProbeKind};
use waggle_system::{
    http::{
        client::{HttpConnection, HttpConnector, Network},
        peer::Peer,
    },
    secrets::words::Secrets,
};

use super::{Depth, ProbeConfig, ProbeReader, SampleLimits, Window};
use crate::{clock::Clock, trial::beside::ledger::ledger};

pub(super) const RUN: &str = "t1x2a";
const LATE_AFTER: Duration = Duration::from_secs(1);
/// Timeout for a store to show all records.
const ALL_WITHIN: Duration = Duration::from_secs(120);
const SECOND_NS: u64 = 1_000_000_000;

/// The configuration of a probe for a trial whose records are all measured.
pub(super) struct Bench {
    probe: Probe,
    delivery: Delivery,
    clock: Clock,
    secrets: Secrets,
    window: watch::Sender<Option<Window>>,
}

impl Bench {
    pub(super) fn new(kind: ProbeKind, extract: Extract) -> Self {
        Self {
            probe: Probe {
                name: "place".to_owned(),
                when: waggle_study::When::default(),
                component: "server".to_owned(),
                port: "port".to_owned(),
                backed_by: Vec::new(),
                kind,
                extract,
            },
            delivery: Delivery {
                probes: vec!["place".to_owned()],
                poll_interval: Duration::from_millis(50),
                late_threshold: Some(LATE_AFTER),
            },
            clock: Clock::start(),
            secrets: Secrets::default(),
            window: watch::channel(Some(Window { from: 0, to: 1_000 })).0,
        }
    }

    pub(super) fn kind(&self) -> ProbeKind {
        self.probe.kind.clone()
    }

    pub(super) fn start_probe(&self) -> ProbeConfig<'_> {
        ProbeConfig {
            has_others: false,
            probe: &self.probe,
            delivery: &self.delivery,
            run: RUN.to_owned(),
            workers: 1,
            sequence_max: 1_000_000,
            interval: Duration::from_secs(1),
            clock: self.clock,
            // Records that are late on purpose have an earlier send time.
            since_ns: self.clock.start_unix_ns() - 10 * SECOND_NS,
            sample_limits: SampleLimits::default(),
            secrets: &self.secrets,
            due_instants: None,
            window: self.window.subscribe(),
        }
    }

    fn reader(&self, address: std::net::SocketAddr) -> ProbeReader<HttpConnection> {
        let connection = |peer: &Peer| Network.connection(peer);
        ProbeReader::new(&self.start_probe(), &[address.into()], connection).unwrap()
    }

    /// A record in the load's format, sent `ago_ns` before now.
    fn line(&self, sequence: u64, ago_ns: u64) -> String {
        let key = key_of(0, sequence);
        let time = self.clock.unix_ns() - ago_ns;
        let host = sequence % 3;
        format!("m,host=h{host},waggle_run={RUN} value={sequence},waggle_key={key}i {time}")
    }
}

/// Polls until this many records were seen.
async fn poll_until(reader: &mut ProbeReader<HttpConnection>, distinct: u64) {
    let start = tokio::time::Instant::now();
    while reader.log(|log| log.seen.distinct) < distinct {
        let polled = reader.poll(Depth::Turn).await;
        assert!(
            start.elapsed() < ALL_WITHIN,
            "{polled:?}: {:?} of {distinct}",
            reader.log(|log| log.seen.distinct)
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The ledger of `sent` records that were all accepted.
fn account(reader: &ProbeReader<HttpConnection>, sent: u64) -> LedgerInfo {
    let mut account = RequestOutcomes::default();
    for _ in 0..sent {
        let request = account.send();
        account.note(request, RequestOutcome::Accepted);
    }
    let info = reader.log(|log| ledger(&[account], 1, &log.seen, log.late));
    assert_eq!(reader.log(|log| log.negative_delays), 0);
    info
}
