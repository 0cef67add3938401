//! Intermediate probes and the system's metrics: written and read again.

use hdrhistogram::Histogram;
use waggle_results::{
    BacklogRow, DelayHistograms, DeliveryInfo, LedgerInfo, LoadStart, ProbeInfo, Run,
    SystemMetricRow, TrialInfo, WriteError,
};

use crate::sample;

const PROBES: [&str; 2] = ["broker", "a/strange name"];

fn delays(values: &[u64]) -> Histogram<u64> {
    let mut histogram = Histogram::new(3).unwrap();
    for value in values {
        histogram.record(*value).unwrap();
    }
    histogram
}

fn probe_info(name: &str) -> ProbeInfo {
    ProbeInfo {
        ledger: LedgerInfo {
            sent: 3,
            ..LedgerInfo::default()
        },
        delivery: DeliveryInfo {
            probe: name.to_owned(),
            ..DeliveryInfo::default()
        },
    }
}

#[test]
fn intermediate_probes_and_metrics_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = sample::create(folder.path());
    let mut writer = run.begin(sample::key(2, 1)).unwrap();
    let row = BacklogRow {
        at_s: 0.5,
        visible: 7,
    };
    assert!(matches!(
        writer.intermediate_backlog(0, &row),
        Err(WriteError::NotStarted { .. })
    ));
    writer
        .load_started(&LoadStart {
            name: "put",
            steps: &[],
            intermediate_probes: &PROBES.map(str::to_owned),
            started_unix_ns: 1,
        })
        .unwrap();
    writer.intermediate_backlog(1, &row).unwrap();
    assert!(writer.intermediate_backlog(2, &row).is_err());
    let (arrival, visible) = (delays(&[1_000]), delays(&[2_000, 3_000]));
    let (earliest, end_to_end) = (delays(&[900, 1_900]), delays(&[4_000, 4_100]));
    let all = DelayHistograms {
        delivery: &visible,
        earliest: Some(&earliest),
        end_to_end: Some(&end_to_end),
        earliest_end_to_end: None,
        arrival: Some(&arrival),
    };
    writer.intermediate_delays(0, &all).unwrap();
    writer
        .intermediate_delays(1, &sample::delays(&arrival))
        .unwrap();
    writer.delays(&all).unwrap();
    let lag = SystemMetricRow {
        at_s: 1.0,
        metric: "lag".to_owned(),
        value: 12.0,
    };
    writer.metric(&lag).unwrap();
    let info = TrialInfo {
        intermediate_probes: PROBES.map(probe_info).to_vec(),
        ..sample::trial_info(sample::key(2, 1), 1)
    };
    writer.finish(&info).unwrap();

    let read = Run::read(folder.path()).unwrap();
    let trial = &read.trials[0];
    assert_eq!(trial.info.intermediate_probes, info.intermediate_probes);
    let [broker, strange] = &trial.intermediate_probes[..] else {
        panic!("{:?}", trial.intermediate_probes);
    };
    assert_eq!(broker.delivery_delay.as_ref(), Some(&visible));
    assert_eq!(broker.arrival_delay.as_ref(), Some(&arrival));
    let both = (Some(&earliest), Some(&end_to_end));
    let actual = (&broker.earliest_delay, &broker.end_to_end_delay);
    assert_eq!((actual.0.as_ref(), actual.1.as_ref()), both);
    let actual = (&trial.earliest_delay, &trial.end_to_end_delay);
    assert_eq!((actual.0.as_ref(), actual.1.as_ref()), both);
    assert!(strange.earliest_delay.is_none() && strange.end_to_end_delay.is_none());
    assert!(broker.backlog.is_empty() && strange.arrival_delay.is_none());
    assert_eq!(strange.delivery_delay.as_ref(), Some(&arrival));
    assert_eq!(strange.backlog, [row]);
    assert_eq!(trial.arrival_delay.as_ref(), Some(&arrival));
    assert_eq!(trial.metrics, [lag]);
}
