//! Places on the records' way and watches: written and read again.

use hdrhistogram::Histogram;
use waggle_results::{
    BacklogRow, DeliveryInfo, LedgerInfo, LoadStart, PlaceInfo, Run, TrialInfo, WatchRow,
    WriteError,
};

use crate::sample;

const PLACES: [&str; 2] = ["broker", "a/strange name"];

fn delays(values: &[u64]) -> Histogram<u64> {
    let mut histogram = Histogram::new(3).unwrap();
    for value in values {
        histogram.record(*value).unwrap();
    }
    histogram
}

#[test]
fn places_on_the_way_and_watches_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = sample::create(folder.path());
    let mut writer = run.begin(sample::key(2, 1)).unwrap();
    let row = BacklogRow {
        at_s: 0.5,
        visible: 7,
    };
    assert!(matches!(
        writer.backlog_on_the_way(0, &row),
        Err(WriteError::NotStarted { .. })
    ));
    writer
        .load_started(&LoadStart {
            name: "put",
            steps: &[],
            on_the_way: &PLACES.map(str::to_owned),
            started_unix_ns: 1,
        })
        .unwrap();
    writer.backlog_on_the_way(1, &row).unwrap();
    assert!(writer.backlog_on_the_way(2, &row).is_err());
    let (arrival, visible) = (delays(&[1_000]), delays(&[2_000, 3_000]));
    writer
        .delays_on_the_way(0, &visible, Some(&arrival))
        .unwrap();
    writer.delays_on_the_way(1, &arrival, None).unwrap();
    writer.delivery_delay(&visible, Some(&arrival)).unwrap();
    let watched = WatchRow {
        at_s: 1.0,
        watch: "lag".to_owned(),
        value: 12.0,
    };
    writer.watch(&watched).unwrap();
    let place = |name: &str| PlaceInfo {
        ledger: LedgerInfo {
            sent: 3,
            ..LedgerInfo::default()
        },
        delivery: DeliveryInfo {
            probe: name.to_owned(),
            ..DeliveryInfo::default()
        },
    };
    let info = TrialInfo {
        on_the_way: PLACES.map(place).to_vec(),
        ..sample::trial_info(sample::key(2, 1), 1)
    };
    writer.finish(&info).unwrap();

    let read = Run::read(folder.path()).unwrap();
    let trial = &read.trials[0];
    assert_eq!(trial.info.on_the_way, info.on_the_way);
    let [broker, strange] = &trial.on_the_way[..] else {
        panic!("{:?}", trial.on_the_way);
    };
    assert_eq!(broker.delivery_delay.as_ref(), Some(&visible));
    assert_eq!(broker.arrival_delay.as_ref(), Some(&arrival));
    assert!(broker.backlog.is_empty() && strange.arrival_delay.is_none());
    assert_eq!(strange.delivery_delay.as_ref(), Some(&arrival));
    assert_eq!(strange.backlog, [row]);
    assert_eq!(trial.arrival_delay.as_ref(), Some(&arrival));
    assert_eq!(trial.watches, [watched]);
}
