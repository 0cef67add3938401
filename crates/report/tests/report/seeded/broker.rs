//! What a trial has where its records go by a broker: the intermediate probe, and the lag of its reader.

use hdrhistogram::Histogram;
use waggle_results::{
    BacklogRow, DelayHistograms, DeliveryInfo, InstantsInfo, LedgerInfo, MeasuredRecords,
    ProbeInfo, SampleInfo, SystemMetricRow, TrialInfo, TrialWriter,
};

/// Of one that was started.
pub(super) const REPLICAS: [&str; 2] = ["kafka-0", "kafka-1"];
/// What each of them uses, whatever comes.
pub(super) const CORES: f64 = 0.1;

/// Records that the broker has by an instant, a little more at each look.
const PER_LOOK: u64 = 500;

fn delays(us: u64) -> Histogram<u64> {
    let mut histogram = Histogram::new(3).unwrap();
    for share in 1..=1_000 {
        histogram.record(us * share / 500).unwrap();
    }
    histogram
}

/// The broker shows what was accepted at once; its reader lags by a few messages.
pub(super) fn write(out: &mut TrialWriter, load_end: f64) {
    let mut at_s = 0.1;
    let mut looks = 0;
    while at_s < load_end {
        looks += 1;
        let visible = looks * PER_LOOK;
        out.intermediate_backlog(0, &BacklogRow { at_s, visible })
            .unwrap();
        out.metric(&SystemMetricRow {
            at_s,
            metric: "lag".to_owned(),
            value: (looks % 5) as f64,
        })
        .unwrap();
        at_s += 0.1;
    }
    out.intermediate_delays(
        0,
        &DelayHistograms {
            delivery: &delays(4_000),
            earliest: Some(&delays(2_500)),
            earliest_end_to_end: None,
            end_to_end: None,
            arrival: Some(&delays(2_000)),
        },
    )
    .unwrap();
}

/// The account at the broker: all that was accepted.
pub(super) fn probe(whole: &TrialInfo) -> ProbeInfo {
    let ledger = whole.ledger.clone().unwrap();
    ProbeInfo {
        ledger: LedgerInfo {
            delivered: ledger.accepted,
            missing: 0,
            missing_keys: Vec::new(),
            ..ledger.clone()
        },
        delivery: DeliveryInfo {
            probe: "broker".to_owned(),
            resolution_ms: 1.0,
            drain_time_s: Some(0.1),
            polls: 100,
            bytes_read: 1_000,
            sample: Some(SampleInfo {
                followed: 1_000,
                of: ledger.accepted,
            }),
            measured: Some(MeasuredRecords {
                found: ledger.accepted,
                windows: Some(1_500),
            }),
            instants: Some(InstantsInfo {
                resolution_ns: 1_000_000,
                ends_delay: false,
            }),
            ..DeliveryInfo::default()
        },
    }
}
