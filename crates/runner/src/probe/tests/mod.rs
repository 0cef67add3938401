//! What a probe is told in tests; and probes on real servers: records that come late, twice or never are in the account as what they are.

mod influxdb;
mod kafka;

use std::time::Duration;

use tokio::sync::watch;
use waggle_load::{RequestOutcome, RequestOutcomes, key_of};
use waggle_results::LedgerInfo;
use waggle_study::{Delivery, Extract, Probe, ProbeKind};

use super::{Depth, Follower, Following, Window};
use crate::{
    clock::Clock,
    ledger::ledger,
    secrets::Secrets,
    web::{HttpLine, Network, Web},
};

const RUN: &str = "t1x2a";
const LATE_AFTER: Duration = Duration::from_secs(1);
/// A place must have everything by then.
const ALL_WITHIN: Duration = Duration::from_secs(120);
const SECOND_NS: u64 = 1_000_000_000;

/// What a probe is told of a trial whose every record is measured.
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

    pub(super) fn start_probe(&self) -> Following<'_> {
        Following {
            has_others: false,
            probe: &self.probe,
            delivery: &self.delivery,
            run: RUN.to_owned(),
            workers: 1,
            sequence_max: 1_000_000,
            interval: Duration::from_secs(1),
            clock: self.clock,
            // Records that are late on purpose say that they were sent before.
            since_ns: self.clock.start_unix_ns() - 10 * SECOND_NS,
            secrets: &self.secrets,
            window: self.window.subscribe(),
        }
    }

    fn follower(&self, address: std::net::SocketAddr) -> Follower<HttpLine> {
        let line = |address| Network.line(address);
        Follower::new(&self.start_probe(), &[address], line).unwrap()
    }

    /// A record as the load writes it, sent `ago_ns` before now.
    fn line(&self, sequence: u64, ago_ns: u64) -> String {
        let key = key_of(0, sequence);
        let time = self.clock.unix_ns() - ago_ns;
        let host = sequence % 3;
        format!("m,host=h{host},waggle_run={RUN} value={sequence},waggle_key={key}i {time}")
    }
}

/// Looks until so many records were seen.
async fn look_until(follower: &mut Follower<HttpLine>, distinct: u64) {
    let start = tokio::time::Instant::now();
    while follower.notes(|notes| notes.seen.distinct) < distinct {
        let looked = follower.look(Depth::Turn).await;
        assert!(
            start.elapsed() < ALL_WITHIN,
            "{looked:?}: {:?} of {distinct}",
            follower.notes(|notes| notes.seen.distinct)
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The account of `sent` records that were all accepted.
fn account(follower: &Follower<HttpLine>, sent: u64) -> LedgerInfo {
    let mut account = RequestOutcomes::default();
    for _ in 0..sent {
        let request = account.send();
        account.note(request, RequestOutcome::Accepted);
    }
    let info = follower.notes(|notes| ledger(&[account], 1, &notes.seen, notes.late));
    assert_eq!(follower.notes(|notes| notes.negative_delays), 0);
    info
}
