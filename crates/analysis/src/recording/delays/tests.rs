//! Which records the delays of a trial are known of.

use hdrhistogram::Histogram;
use waggle_results::{DeliveryInfo, InstantsInfo, MeasuredRecords, SampleInfo};

use super::*;

fn delays_of(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
    let mut histogram = histogram::empty();
    for value in values {
        histogram.record(value).unwrap();
    }
    histogram
}

/// A store that stalls for 30 ms in 3 % of the time: what all records show, and what a window between two stalls does.
fn stalled_delays() -> [Histogram<u64>; 2] {
    let all = delays_of((0..10_000).map(|index| {
        if index % 100 < 3 {
            10_000 * (1 + index % 3)
        } else {
            2_500
        }
    }));
    let windows = delays_of((0..300).map(|index| 2_500 + index));
    [all, windows]
}

struct Case {
    info: DeliveryInfo,
    /// The later and the earlier end of what was followed, and the store's instants.
    delivery: Histogram<u64>,
    earliest: Option<Histogram<u64>>,
    arrival: Option<Histogram<u64>>,
}

impl Case {
    fn logs(&self) -> DelayLogs<'_> {
        DelayLogs {
            info: &self.info,
            delivery: Some(&self.delivery),
            earliest: self.earliest.as_ref(),
            end_to_end: None,
            earliest_end_to_end: None,
            arrival: self.arrival.as_ref(),
        }
    }
}

fn sampled_delays() -> Case {
    let [all, windows] = stalled_delays();
    Case {
        info: DeliveryInfo {
            sample: Some(SampleInfo {
                followed: 500,
                of: 14_000,
            }),
            ..DeliveryInfo::default()
        },
        delivery: windows.clone(),
        earliest: Some(windows),
        arrival: Some(all),
    }
}

fn noted_delays(records: u64, windows: u64, ends_delay: bool) -> DeliveryInfo {
    DeliveryInfo {
        measured: Some(MeasuredRecords {
            found: records,
            windows: Some(windows),
        }),
        instants: Some(InstantsInfo {
            resolution_ns: 1,
            ends_delay,
        }),
        ..sampled_delays().info
    }
}

#[test]
fn instants_that_cover_the_records_are_the_delay() {
    let check = |case: Case, by: KnownBy, (known, total): (u64, u64), p99_us: f64| {
        let delays = case.logs().percentiles();
        let source = DelaySource {
            by,
            known,
            of: total,
        };
        assert_eq!(delays.source, source, "{:?}", case.info);
        let p99 = delays.delay.unwrap().p99.unwrap();
        // Histograms have three digits.
        assert!((p99.us / p99_us - 1.0).abs() < 2e-3, "{}", p99.us);
        assert_eq!(p99.thin.is_some(), matches!(by, KnownBy::Windows(_)));
    };
    let info = |records, ends_delay| Case {
        info: noted_delays(records, 7, ends_delay),
        ..sampled_delays()
    };
    check(
        info(10_050, true),
        KnownBy::Instants,
        (10_000, 10_050),
        20_000.0,
    );
    let few = (300, 11_000);
    check(info(11_000, true), KnownBy::Windows(Some(7)), few, 2_796.0);
    check(
        info(10_000, false),
        KnownBy::Windows(Some(7)),
        (300, 10_000),
        2_796.0,
    );
    let without = Case {
        arrival: None,
        ..info(11_000, true)
    };
    check(without, KnownBy::Windows(Some(7)), few, 2_796.0);
}

#[test]
fn a_sample_of_nearly_all_records_is_no_sample() {
    let case = Case {
        info: noted_delays(302, 1, false),
        arrival: None,
        ..sampled_delays()
    };
    let source = case.logs().source();
    assert_eq!(
        (source.by, source.known, source.of),
        (KnownBy::Reads, 300, 302)
    );
}

#[test]
fn coarse_instants_leave_a_range() {
    let mut case = sampled_delays();
    case.info = noted_delays(10_000, 7, true);
    case.info.instants = Some(InstantsInfo {
        resolution_ns: 1_000_000,
        ends_delay: true,
    });
    let delays = case.logs().percentiles();
    let p50 = |all: Option<TrialPercentiles>| all.unwrap().p50.unwrap().us;
    let (earliest, latest) = (p50(delays.earliest), p50(delays.delay));
    assert!((2_499.0..2_502.0).contains(&earliest), "{earliest}");
    assert_eq!(latest - earliest, 1_000.0);
}
