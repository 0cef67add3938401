//! A number that is read is the one that was written, to its last digit: also very small ones, which a fast parser gets wrong.

use proptest::prelude::*;
use waggle_results::{ResourceRow, read_resources};

fn row(cpu_cores: f64) -> ResourceRow {
    ResourceRow {
        at_s: 1.0,
        component: "gateway-0".to_owned(),
        cpu_cores,
        rss_bytes: 1,
        threads: 1,
    }
}

#[track_caller]
fn check_number(written: f64) {
    let text = serde_json::to_string(&row(written)).unwrap();
    let read = read_resources(format!("{text}\n").as_bytes()).unwrap()[0].cpu_cores;
    assert_eq!(read.to_bits(), written.to_bits(), "{written:e}");
}

#[test]
fn small_and_long_numbers_come_back() {
    for written in [
        5.634_561_964_968_647e-7,
        3.408_295_711_394_213e-6,
        1.234_567_890_123_456_7e-17,
        0.1 + 0.2,
        123_456.789_012_345_67,
        f64::MIN_POSITIVE,
        f64::MAX,
        -0.0,
    ] {
        check_number(written);
    }
}

proptest! {
    #[test]
    fn any_number_comes_back(written in any::<f64>().prop_filter("no JSON", |value| value.is_finite())) {
        check_number(written);
    }
}
