//! The files of a run: any bytes give a value or a mistake with its position; values that were read can be written and read
//! again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use waggle_results::{
    TextError, read_backlog, read_histograms, read_intervals, read_resources, read_run_info,
    read_trial_info,
};

fuzz_target!(|text: &[u8]| {
    if let Some(info) = check(read_run_info(text), text) {
        let written = serde_json::to_vec(&info).expect("it is JSON again");
        read_run_info(&written).expect("what was written can be read");
    }
    if let Some(info) = check(read_trial_info(text), text) {
        let written = serde_json::to_vec(&info).expect("it is JSON again");
        read_trial_info(&written).expect("what was written can be read");
    }
    check(read_intervals(text), text);
    check(read_resources(text), text);
    check(read_backlog(text), text);
    if let Some(log) = check(read_histograms(text), text) {
        let counts: Vec<u64> = log.iter().map(|logged| logged.histogram.len()).collect();
        assert_eq!(counts.len(), log.len());
        let all = log.merge_range(f64::NEG_INFINITY, f64::INFINITY);
        let sum = counts
            .iter()
            .fold(0_u64, |sum, count| sum.saturating_add(*count));
        assert_eq!(all.len(), sum);
    }
});

/// A mistake has a position in the text and can be shown.
fn check<T>(read: Result<T, TextError>, text: &[u8]) -> Option<T> {
    let error = match read {
        Ok(value) => return Some(value),
        Err(error) => error,
    };
    if let TextError::At { line, .. } = error {
        let lines = 2 + text.iter().filter(|&&byte| byte == b'\n').count();
        assert!((1..=lines).contains(&line), "{error}");
    }
    assert!(!error.to_string().is_empty());
    None
}
